"""New tensors by PyTorch's and NumPy's names: of a shape, of a range, of a window, in the type of another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from svod._place import place_of
from svod._svod import ArgumentError, Tensor, arange, empty, eye, float32, full, linspace, ones, zeros
from svod.library.manipulation import _extents
from svod.library.special import i0

__all__ = [
    "array",
    "as_tensor",
    "bartlett_window",
    "blackman_window",
    "empty_permuted",
    "empty_strided",
    "from_file",
    "frombuffer",
    "geomspace",
    "hamming_window",
    "hann_window",
    "identity",
    "kaiser_window",
    "logspace",
    "new_empty",
    "new_empty_strided",
    "new_full",
    "new_ones",
    "new_tensor",
    "new_zeros",
    "scalar_tensor",
    "tensor",
]


def array(object: Any, /, dtype: Any = None, *, device: str | None = None) -> Tensor:
    """A tensor of what NumPy's `array` takes.

    >>> import svod
    >>> svod.array([1, 2]).dtype
    svod.int64
    """
    return Tensor(object, dtype, device)


def as_tensor(data: Any, /, dtype: Any = None, device: str | None = None) -> Tensor:
    """The tensor itself, in this type and on this device; of other data a copy.

    >>> import svod
    >>> svod.as_tensor([1, 2], dtype=svod.float32).tolist()
    [1.0, 2.0]
    """
    if not isinstance(data, Tensor):
        return Tensor(data, dtype, device)
    return data if dtype is None and device is None else data.to(dtype=dtype, device=device)


def bartlett_window(window_length: int, /, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """A triangle from 0 to 1 and back, without its last number if `periodic`.

    >>> import svod
    >>> svod.bartlett_window(4).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    return _window(window_length, periodic, dtype, lambda t: 1 - (2 * t - 1).abs())


def blackman_window(window_length: int, /, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """Blackman's window, a sum of two cosines.

    >>> import svod
    >>> svod.blackman_window(4).shape
    (4,)
    """
    turn = 2 * math.pi
    return _window(
        window_length, periodic, dtype, lambda t: 0.42 - 0.5 * (t * turn).cos() + 0.08 * (t * 2 * turn).cos()
    )


def empty_permuted(
    size: Sequence[int],
    physical_layout: Sequence[int],
    /,
    *,
    dtype: Any = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """As `empty`: elements are row-major, whichever order of dimensions is asked for.

    >>> import svod
    >>> svod.empty_permuted((2, 3), (1, 0)).shape
    (2, 3)
    """
    if sorted(physical_layout) != list(range(len(size))):
        raise ArgumentError(f"empty_permuted: {tuple(physical_layout)} is no order of {len(size)} dimensions")
    return empty(*size, dtype=dtype, device=device, requires_grad=requires_grad)


def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    /,
    *,
    dtype: Any = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """As `empty`: elements are dense and row-major, whichever strides are asked for.

    >>> import svod
    >>> svod.empty_strided((2, 3), (1, 2)).shape
    (2, 3)
    """
    made = _strided("empty_strided", size, stride)
    return empty(*made, dtype=dtype, device=device, requires_grad=requires_grad)


def from_file(filename: str, /, shared: bool | None = None, size: int = 0, *, dtype: Any = None) -> Tensor:
    """The first `size` elements, by default in `float32`, that the bytes of a file are; read now, never `shared`.

    >>> import svod, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = (file.write(bytes([1, 2, 3])), file.flush())
    ...     svod.from_file(file.name, size=2, dtype="uint8").tolist()
    [1, 2]
    """
    if shared:
        raise ArgumentError("from_file: a tensor is a value, which does not change with a file: shared is False")
    with open(filename, "rb") as file:
        return frombuffer(file.read(), dtype=float32 if dtype is None else dtype, count=size)


def frombuffer(buffer: Any, /, dtype: Any = None, count: int = -1, offset: int = 0) -> Tensor:
    """The elements, by default in `float32`, that bytes from `offset` on are, `count` of them or all; a copy.

    >>> import svod
    >>> svod.frombuffer(bytes([1, 0, 2, 0]), dtype=svod.int16).tolist()
    [1, 2]
    """
    kind = np.asarray(zeros(1, dtype=float32 if dtype is None else dtype)).dtype
    try:
        return Tensor(np.frombuffer(buffer, kind, count, offset))
    except ValueError as error:
        raise ArgumentError(f"frombuffer: {error}") from error


def geomspace(start: float, stop: float, num: int = 50, /, *, endpoint: bool = True, dtype: Any = None) -> Tensor:
    """`num` numbers of equal ratio from `start` to `stop`, of one sign; as integers the nearest ones.

    >>> import svod
    >>> svod.geomspace(1.0, 8.0, 4, dtype=svod.int64).tolist()
    [1, 2, 4, 8]
    """
    if start * stop <= 0:
        raise ArgumentError(f"geomspace: start and stop are of one sign and not 0, not {start} and {stop}")
    places = linspace(math.log2(abs(start)), math.log2(abs(stop)), num, dtype="float64", endpoint=endpoint)
    made = places.exp2() * math.copysign(1.0, start)
    return _rounded(made, dtype)


def hamming_window(
    window_length: int,
    /,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
) -> Tensor:
    """Hamming's window, `alpha - beta * cos`.

    >>> import svod
    >>> svod.hamming_window(4).shape
    (4,)
    """
    return _window(window_length, periodic, dtype, lambda t: alpha - beta * (t * (2 * math.pi)).cos())


def hann_window(window_length: int, /, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """Hann's window, one wave of a cosine from 0 to 1.

    >>> import svod
    >>> svod.hann_window(4).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    return _window(window_length, periodic, dtype, lambda t: 0.5 - 0.5 * (t * (2 * math.pi)).cos())


def identity(n: int, /, dtype: Any = None) -> Tensor:
    """The identity matrix.

    >>> import svod
    >>> svod.identity(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return eye(n, dtype=dtype)


def kaiser_window(window_length: int, /, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None) -> Tensor:
    """Kaiser's window, of a Bessel function.

    >>> import svod
    >>> svod.kaiser_window(1).tolist()
    [1.0]
    """

    def shape(t: Tensor) -> Tensor:
        return i0(beta * (1 - (2 * t - 1) ** 2).clamp(min=0).sqrt()) / i0(Tensor(beta, "float64"))

    return _window(window_length, periodic, dtype, shape)


def logspace(
    start: float,
    end: float,
    steps: int = 50,
    /,
    base: float = 10.0,
    *,
    dtype: Any = None,
    endpoint: bool = True,
    device: str | None = None,
) -> Tensor:
    """Powers of `base` whose exponents are at equal distances from `start` to `end`.

    >>> import svod
    >>> svod.logspace(0, 2, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    exponents = linspace(start, end, steps, dtype="float64", device=device, endpoint=endpoint)
    return Tensor(base, "float64", device).pow(exponents).cast(float32 if dtype is None else dtype)


def new_empty(x: Tensor, /, *size: Any, dtype: Any = None, device: str | None = None) -> Tensor:
    """A tensor of this shape, whose elements are arbitrary, in the type and on the device of `x`.

    >>> import svod
    >>> svod.ones(2).new_empty(3).shape
    (3,)
    """
    return empty(_shape(size), **_of(x, dtype, device))


def new_empty_strided(
    x: Tensor, size: Sequence[int], stride: Sequence[int], /, *, dtype: Any = None, device: str | None = None
) -> Tensor:
    """As `new_empty`: elements are dense and row-major, whichever strides are asked for.

    >>> import svod
    >>> svod.Tensor([1]).new_empty_strided((2, 3), (1, 2)).dtype
    svod.int64
    """
    return empty(*_strided("new_empty_strided", size, stride), **_of(x, dtype, device))


def new_full(x: Tensor, size: Any, fill_value: Any, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """One value in this shape, in the type and on the device of `x`.

    >>> import svod
    >>> svod.ones(2).new_full((2,), 3).tolist()
    [3.0, 3.0]
    """
    return full(_extents(size), fill_value, **_of(x, dtype, device))


def new_ones(x: Tensor, /, *size: Any, dtype: Any = None, device: str | None = None) -> Tensor:
    """Ones in this shape, in the type and on the device of `x`.

    >>> import svod
    >>> svod.Tensor([1]).new_ones(2).tolist()
    [1, 1]
    """
    return ones(_shape(size), **_of(x, dtype, device))


def new_tensor(x: Tensor, data: Any, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """A tensor of data, in the type and on the device of `x`.

    >>> import svod
    >>> svod.Tensor([1.0]).new_tensor([2]).tolist()
    [2.0]
    """
    return Tensor(data, **_of(x, dtype, device))


def new_zeros(x: Tensor, /, *size: Any, dtype: Any = None, device: str | None = None) -> Tensor:
    """Zeros in this shape, in the type and on the device of `x`.

    >>> import svod
    >>> svod.Tensor([1]).new_zeros(1, 2).tolist()
    [[0, 0]]
    """
    return zeros(_shape(size), **_of(x, dtype, device))


def scalar_tensor(s: Any, /, *, dtype: Any = None, device: str | None = None, requires_grad: bool = False) -> Tensor:
    """A number as a tensor without dimensions, `float32` unless a type is given.

    >>> import svod
    >>> svod.scalar_tensor(3).item()
    3.0
    """
    made = Tensor(s, float32 if dtype is None else dtype, device)
    return made.requires_grad_() if requires_grad else made


def tensor(data: Any, /, *, dtype: Any = None, device: str | None = None, requires_grad: bool = False) -> Tensor:
    """A tensor of data, by PyTorch's name of `svod.Tensor`.

    >>> import svod
    >>> svod.tensor([1.0, 2.0]).shape
    (2,)
    """
    made = Tensor(data, dtype, device)
    return made.requires_grad_() if requires_grad else made


def _shape(size: tuple[Any, ...]) -> Any:
    """Extents, given one by one or as one sequence."""
    return _extents(size[0]) if len(size) == 1 else size


def _strided(name: str, size: Sequence[int], stride: Sequence[int]) -> Sequence[int]:
    """Extents, for which there have to be as many strides."""
    if len(size) != len(stride):
        raise ArgumentError(f"{name}: {len(stride)} strides for the {len(size)} dimensions of {tuple(size)}")
    return size


def _of(x: Tensor, dtype: Any, device: str | None) -> dict[str, Any]:
    """The type and the device of a tensor that is made by another, unless they are named."""
    return {"dtype": x.dtype if dtype is None else dtype, "device": place_of(x) if device is None else device}


def _rounded(x: Tensor, dtype: Any) -> Tensor:
    """In a type: integers are the nearest ones."""
    made = x.cast(float32 if dtype is None else dtype)
    return made if made.dtype.is_floating_point else x.round().cast(dtype)


def _window(length: int, periodic: bool, dtype: Any, shape: Any) -> Tensor:
    """A window by what it is over 0..1."""
    if length < 0:
        raise ArgumentError(f"window_length: a window has no {length} elements")
    if length < 2:
        return ones(length, dtype=float32 if dtype is None else dtype)
    places = arange(length).cast("float64") / (length if periodic else length - 1)
    made: Tensor = shape(places)
    return made.cast(float32 if dtype is None else dtype)
