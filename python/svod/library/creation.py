"""Making tensors, and tensors like others."""

from __future__ import annotations

from typing import Any

import numpy as np

from svod._place import place_of
from svod._svod import ArgumentError, Tensor, _tensor, empty, from_dlpack, from_numpy

__all__ = ["asarray", "empty_like", "full_like", "meshgrid", "ones_like", "tril", "triu", "zeros_like"]


def asarray(obj: Any, /, *, dtype: Any = None, device: str | None = None, copy: bool | None = None) -> Tensor:
    """`obj` as a tensor: itself, if it is one of that type and there, else a copy.

    A tensor is a value, which memory that others may write is not: of their arrays it is a copy. With `copy=False` it
    shares their memory, as `from_numpy` and `from_dlpack` do, and what would have to be copied is an error.

    >>> import numpy as np, svod
    >>> svod.asarray([1, 2]).dtype
    svod.int64
    >>> array = np.zeros(2)
    >>> shared = svod.asarray(array, copy=False)
    >>> array[0] = 5
    >>> shared.tolist()
    [5.0, 0.0]
    """
    if not isinstance(obj, Tensor):
        return _shared(obj, dtype, device) if copy is False else Tensor(obj, dtype, device)
    if dtype is None and device is None:
        return obj.clone() if copy else obj
    made = obj.to(dtype=dtype, device=device, copy=bool(copy))
    if copy is False:
        _check_same(made, obj)
    return made


def _shared(obj: Any, dtype: Any, device: str | None) -> Tensor:
    """A tensor over the memory of an array of another library, or of what has a buffer."""
    if isinstance(obj, np.ndarray):
        shared = from_numpy(obj)
    elif hasattr(obj, "__dlpack__"):
        shared = from_dlpack(obj, copy=False)
    else:
        try:
            shared = from_numpy(np.asarray(memoryview(obj)))
        except TypeError:
            raise ArgumentError(f"asarray: copy=False of {type(obj).__name__}, which has no memory to share") from None
    made = shared.to(dtype=dtype, device=device)
    _check_same(made, shared)
    return made


def _check_same(made: Tensor, given: Tensor) -> None:
    """Says that what is not to be copied has another type or device than is asked for."""
    if made.dtype != given.dtype or made.device != given.device:
        raise ArgumentError(f"asarray: copy=False, but a tensor of {given.dtype} on {given.device} has to be converted")


def empty_like(x: Tensor, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Memory in a tensor's shape, and in its type and on its device, unless others are named."""
    place = place_of(x)
    on = device if device is not None or not isinstance(place, str) else place
    return empty(*x.shape, dtype=x.dtype if dtype is None else dtype, device=on)


def full_like(x: Tensor, /, fill_value: Any, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """One value in a tensor's shape, and in its type and on its device, unless others are named."""
    return _like(x, dtype, device).full_like(fill_value)


def meshgrid(*arrays: Any, indexing: str = "xy", sparse: bool = False) -> list[Tensor]:
    """Coordinates of the points of a grid: one tensor for each of these 1-d ones, or of a list, all of one shape.

    With `indexing="ij"` axis `i` is that of the `i`-th; with `"xy"` the first two are exchanged. Where they are to be
    `sparse`, all other axes have extent 1.

    >>> import svod
    >>> [part.tolist() for part in svod.meshgrid(svod.Tensor([1, 2]), svod.Tensor([3, 4, 5]), indexing="ij")]
    [[[1, 1, 1], [2, 2, 2]], [[3, 4, 5], [3, 4, 5]]]
    """
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}")
    if len(arrays) == 1 and isinstance(arrays[0], list | tuple) and all(isinstance(one, Tensor) for one in arrays[0]):
        (arrays,) = arrays
    lines = [_tensor(one).flatten() for one in arrays]
    shape = tuple(line.shape[0] for line in lines)
    made = []
    for at, line in enumerate(lines):
        grid = line.reshape(tuple(-1 if i == at else 1 for i in range(len(lines))))
        grid = grid if sparse else grid.expand(shape)
        made.append(grid.transpose(0, 1) if indexing == "xy" and len(lines) > 1 else grid)
    return made


def ones_like(x: Tensor, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Ones in a tensor's shape, and in its type and on its device, unless others are named."""
    return _like(x, dtype, device).ones_like()


def tril(x: Tensor, /, k: int = 0) -> Tensor:
    """The elements on and below a diagonal, zeros above."""
    return x.tril(k)


def triu(x: Tensor, /, k: int = 0) -> Tensor:
    """The elements on and above a diagonal, zeros below."""
    return x.triu(k)


def zeros_like(x: Tensor, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Zeros in a tensor's shape, and in its type and on its device, unless others are named."""
    return _like(x, dtype, device).zeros_like()


def _like(x: Tensor, dtype: Any, device: str | None) -> Tensor:
    """What has the shape, type and device that a new tensor is to have."""
    if dtype is not None and x.is_complex():
        # What its numbers are is not asked.
        x = x.real
    return x if dtype is None and device is None else x.to(dtype=dtype, device=device)
