"""Shapes, types and order: the same elements elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from svod._svod import ArgumentError, ArgumentTypeError, ShapeError, Tensor, _operands, _tensor, cat
from svod.library._axes import axis_of
from svod.library._spelling import together

__all__ = [
    "astype",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "diff",
    "expand_dims",
    "flip",
    "matmul",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "tile",
    "unstack",
]


def astype(x: Tensor, dtype: Any, /, *, copy: bool = True, device: str | None = None) -> Tensor:
    """Each value as another type: floats truncate and saturate to integers, NaN is 0, integers wrap.

    NumPy leaves what does not fit undefined. A tensor is a value, so that whether it is copied shows only where it is
    written to.

    >>> import svod
    >>> svod.astype(svod.Tensor([1.7, 300.0, float("nan")]), svod.uint8).tolist()
    [1, 255, 0]
    """
    return x.to(dtype=dtype, device=device, copy=copy)


def broadcast_arrays(*arrays: Any) -> list[Tensor]:
    """The tensors expanded to their common shape, each of its own type.

    >>> import svod
    >>> [x.shape for x in svod.broadcast_arrays(svod.ones(3, 1), svod.ones(2))]
    [(3, 2), (3, 2)]
    """
    tensors = [_tensor(one) for one in arrays]
    shape = broadcast_shapes(*(one.shape for one in tensors))
    return [one.expand(shape) for one in tensors]


def broadcast_shapes(*shapes: Any) -> tuple[Any, ...]:
    """The shape to which all of these broadcast.

    >>> import svod
    >>> svod.broadcast_shapes((3, 1), (2,))
    (3, 2)
    """
    shapes = tuple((shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes)
    rank = max(map(len, shapes), default=0)
    common: list[Any] = [1] * rank
    for shape in shapes:
        for at, extent in enumerate(shape, rank - len(shape)):
            if common[at] == 1:
                common[at] = extent
            elif extent not in (1, common[at]):
                raise ShapeError(
                    f"broadcast_shapes: extents {common[at]} and {extent} of {shapes} differ, neither is 1"
                )
    return tuple(common)


def broadcast_to(x: Tensor, /, shape: Sequence[int]) -> Tensor:
    """Dimensions of extent 1 repeated to these extents."""
    return x.broadcast_to(*_extents(shape))


def concat(arrays: Sequence[Any], /, axis: int | None = 0) -> Tensor:
    """The tensors one after the other along an axis, in the type in which they meet; with None, flat.

    >>> import svod
    >>> svod.concat([svod.Tensor([[1], [2]]), svod.Tensor([[3.0]])], axis=None).tolist()
    [1.0, 2.0, 3.0]
    """
    return cat([one.flatten() for one in together(arrays)], 0) if axis is None else cat(together(arrays), axis)


def diff(
    x: Tensor, /, n: int = 1, axis: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The `n`-th differences of neighbours along an axis, `n` fewer; of bools whether they differ.

    `prepend` and `append` go before and behind `x` along the axis first; NumPy's scalars are repeated.

    >>> import svod
    >>> svod.diff(svod.Tensor([1, 4, 9, 16])).tolist()
    [3, 5, 7]
    """
    if n < 0:
        raise ArgumentError(f"diff: n is the number of differences to take, not {n}")
    if n == 0:
        return x.clone()
    edges = [one if one is None or one.ndim else one.expand(_one_slice(x, axis)) for one in (prepend, append)]
    parts = [one for one in (edges[0], x, edges[1]) if one is not None]
    whole = cat(parts, axis) if len(parts) > 1 else x
    for _ in range(n):
        length = whole.size(axis)
        if length == 0:
            break
        later, earlier = whole.narrow(axis, 1, length - 1), whole.narrow(axis, 0, length - 1)
        whole = later != earlier if whole.dtype == "bool" else later - earlier
    return whole


def expand_dims(x: Tensor, /, axis: int | Sequence[int] = 0) -> Tensor:
    """New dimensions of extent 1 at these positions of the result.

    >>> import svod
    >>> svod.expand_dims(svod.ones(3), axis=(0, 2)).shape
    (1, 3, 1)
    """
    if isinstance(axis, int):
        return x.unsqueeze(axis)
    rank = x.ndim + len(axis)
    new = sorted(one + rank if one < 0 else one for one in axis)
    if len(set(new)) < len(new) or not all(0 <= one < rank for one in new):
        raise ShapeError(f"expand_dims: axes {tuple(axis)} are not different ones of a result of rank {rank}")
    for one in new:
        x = x.unsqueeze(one)
    return x


def flip(x: Tensor, /, axis: int | Sequence[int] | None = None) -> Tensor:
    """These dimensions in reverse order, by default all."""
    return x.flip(axis=axis)


def matmul(x1: Any, x2: Any, /) -> Tensor:
    """The matrix product, by NumPy's rules."""
    left, right = _operands(x1, x2)
    return left.matmul(right)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two dimensions exchanged."""
    return x.mT


def moveaxis(x: Tensor, source: int | Sequence[int], destination: int | Sequence[int], /) -> Tensor:
    """These dimensions moved to other positions; the others keep their order.

    >>> import svod
    >>> svod.moveaxis(svod.ones(2, 3, 4), 0, -1).shape
    (3, 4, 2)
    """
    moved = [(one,) if isinstance(one, int) else tuple(one) for one in (source, destination)]
    from_, to = ([axis_of("moveaxis", axis, x.ndim) for axis in of] for of in moved)
    if any(len(set(of)) != len(of) for of in (from_, to)) or len(from_) != len(to):
        raise ShapeError(f"moveaxis: {source} and {destination} are not as many different axes of {x.shape}")
    order = [axis for axis in range(x.ndim) if axis not in from_]
    for at, axis in sorted(zip(to, from_, strict=True)):
        order.insert(at, axis)
    return x.permute(*order)


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """Dimension `i` of the result is dimension `axes[i]`."""
    return x.permute(*axes)


def repeat(x: Tensor, repeats: Any, /, axis: int | None = None) -> Tensor:
    """Each element of an axis repeated, each so often or as its own integer says; without an axis the flat tensor's.

    >>> import svod
    >>> svod.repeat(svod.Tensor([1, 2]), svod.Tensor([2, 1])).tolist()
    [1, 1, 2]
    """
    return x.flatten().repeat_interleave(repeats, 0) if axis is None else x.repeat_interleave(repeats, axis)


def reshape(x: Tensor, /, shape: Sequence[int], *, copy: bool | None = None) -> Tensor:
    """The same elements in row-major order under other extents; one -1 is inferred.

    A tensor is a value, so that whether it is copied shows only where it is
    written to.
    """
    return x.reshape(_extents(shape))


def roll(x: Tensor, /, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Tensor:
    """The elements of axes moved towards their ends, those beyond to the start; without axes those of the flat tensor.

    >>> import svod
    >>> svod.roll(svod.Tensor([[1, 2], [3, 4]]), (1, 1), axis=(0, 1)).tolist()
    [[4, 3], [2, 1]]
    """
    if axis is None:
        if isinstance(shift, Sequence):
            raise ArgumentError(f"roll: shifts {shift} are of axes, which are not named")
        return x.roll(shift)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shifts = tuple(shift) if isinstance(shift, Sequence) else (shift,) * len(axes)
    if len(axes) == 1:
        shifts = (sum(shifts),)
    if len(shifts) != len(axes):
        raise ArgumentError(f"roll: as many shifts as axes are expected, not {shifts} for {axes}")
    for by, along in zip(shifts, axes, strict=True):
        x = x.roll(by, axis=along)
    return x


def squeeze(x: Tensor, /, axis: int | Sequence[int] | None = None, *, dim: int | Sequence[int] | None = None) -> Tensor:
    """Without these dimensions of extent 1, by default all of them. With `dim`, as PyTorch has it, others stay."""
    if dim is not None:
        if axis is not None:
            raise ArgumentTypeError("squeeze: axis and dim are one argument: give only one of them")
        return x.squeeze(dim)
    axes = () if axis is None else (axis,) if isinstance(axis, int) else axis
    for one in axes if x.ndim or any(one not in (0, -1) for one in axes) else ():
        if x.shape[axis_of("squeeze", one, x.ndim)] != 1:
            raise ShapeError(f"squeeze: axis {one} of {x.shape} is not one of extent 1")
    return x.squeeze(axis)


def tile(x: Tensor, repetitions: int | Sequence[int], /) -> Tensor:
    """The whole repeated along each dimension; missing dimensions and numbers of repetitions are 1 and come first.

    >>> import svod
    >>> svod.tile(svod.Tensor([1, 2]), (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    times = (repetitions,) if isinstance(repetitions, int) else tuple(repetitions)
    return x.repeat(*(1,) * (x.ndim - len(times)), *times)


def unstack(x: Tensor, /, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, without it.

    >>> import svod
    >>> [part.tolist() for part in svod.unstack(svod.Tensor([[1, 2], [3, 4]]), axis=1)]
    [[1, 3], [2, 4]]
    """
    return tuple(x.movedim(axis, 0))


def _extents(shape: int | Sequence[int]) -> tuple[Any, ...]:
    """A shape that may be one extent."""
    return tuple(shape) if isinstance(shape, Sequence) else (shape,)


def _one_slice(x: Tensor, axis: int) -> tuple[Any, ...]:
    """The shape of one slice across an axis."""
    shape = [*x.shape]
    shape[axis] = 1
    return tuple(shape)
