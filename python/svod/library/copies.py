"""PyTorch's names for copies of what would be views there: each is the other function, and may be written to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from svod._svod import Tensor, view_as_complex, view_as_real
from svod.library._axes import axis_of
from svod.library.arrangement import split_with_sizes, unbind
from svod.library.diagonals import diagonal
from svod.library.indexed import as_strided, select

__all__ = [
    "alias_copy",
    "as_strided_copy",
    "detach_copy",
    "diagonal_copy",
    "expand_copy",
    "narrow_copy",
    "permute_copy",
    "select_copy",
    "slice_copy",
    "split_copy",
    "split_with_sizes_copy",
    "squeeze_copy",
    "t_copy",
    "transpose_copy",
    "unbind_copy",
    "unfold_copy",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "unsqueeze_copy",
    "view_as_complex_copy",
    "view_as_real_copy",
    "view_copy",
]


def alias_copy(x: Tensor, /) -> Tensor:
    """The same value.

    >>> import svod
    >>> svod.alias_copy(svod.Tensor([1, 2])).tolist()
    [1, 2]
    """
    return x.clone()


def as_strided_copy(x: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int = 0, /) -> Tensor:
    """As `as_strided`.

    >>> import svod
    >>> svod.as_strided_copy(svod.arange(4), (2, 2), (1, 1)).tolist()
    [[0, 1], [1, 2]]
    """
    return as_strided(x, size, stride, storage_offset).clone()


def detach_copy(x: Tensor, /) -> Tensor:
    """As `detach`.

    >>> import svod
    >>> svod.detach_copy(svod.Tensor([1, 2])).tolist()
    [1, 2]
    """
    return x.detach().clone()


def diagonal_copy(x: Tensor, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """As `diagonal`.

    >>> import svod
    >>> svod.diagonal_copy(svod.Tensor([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    return diagonal(x, offset, axis1, axis2).clone()


def expand_copy(x: Tensor, size: Sequence[int], /, implicit: bool = False) -> Tensor:
    """As `Tensor.expand`; `implicit` says who asked for it, and changes nothing.

    >>> import svod
    >>> svod.expand_copy(svod.Tensor([1, 2]), (2, -1)).tolist()
    [[1, 2], [1, 2]]
    """
    return x.expand(*size).clone()


def narrow_copy(x: Tensor, axis: int, start: int, length: int, /) -> Tensor:
    """As `narrow`.

    >>> import svod
    >>> svod.narrow_copy(svod.arange(4), 0, 1, 2).tolist()
    [1, 2]
    """
    return x.narrow(axis, start, length).clone()


def permute_copy(x: Tensor, dims: Sequence[int], /) -> Tensor:
    """As `permute`.

    >>> import svod
    >>> svod.permute_copy(svod.ones(2, 3, 4), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return x.permute(*dims).clone()


def select_copy(x: Tensor, axis: int, index: int, /) -> Tensor:
    """As `select`.

    >>> import svod
    >>> svod.select_copy(svod.Tensor([[1, 2], [3, 4]]), 1, -1).tolist()
    [2, 4]
    """
    return select(x, axis, index).clone()


def slice_copy(x: Tensor, /, axis: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """The elements from `start` to before `end` along an axis, every `step`-th, as Python's slices take them.

    >>> import svod
    >>> svod.slice_copy(svod.arange(6), 0, 1, -1, 2).tolist()
    [1, 3]
    """
    return x[(*[slice(None)] * axis_of("slice_copy", axis, x.ndim), slice(start, end, step))].clone()


def split_copy(x: Tensor, split_size: int, /, axis: int = 0) -> tuple[Tensor, ...]:
    """As `split`.

    >>> import svod
    >>> [part.tolist() for part in svod.split_copy(svod.arange(3), 2)]
    [[0, 1], [2]]
    """
    return _copies(x.split(split_size, axis))


def split_with_sizes_copy(x: Tensor, sizes: Sequence[int], /, axis: int = 0) -> tuple[Tensor, ...]:
    """As `split_with_sizes`.

    >>> import svod
    >>> [part.tolist() for part in svod.split_with_sizes_copy(svod.arange(3), [1, 2])]
    [[0], [1, 2]]
    """
    return _copies(split_with_sizes(x, sizes, axis))


def squeeze_copy(x: Tensor, /, axis: int | Sequence[int] | None = None) -> Tensor:
    """As `squeeze`.

    >>> import svod
    >>> svod.squeeze_copy(svod.ones(1, 2, 1)).shape
    (2,)
    """
    return x.squeeze(axis).clone()


def t_copy(x: Tensor, /) -> Tensor:
    """As `t`.

    >>> import svod
    >>> svod.t_copy(svod.Tensor([[1, 2], [3, 4]])).tolist()
    [[1, 3], [2, 4]]
    """
    return x.t().clone()


def transpose_copy(x: Tensor, axis1: int, axis2: int, /) -> Tensor:
    """As `transpose`.

    >>> import svod
    >>> svod.transpose_copy(svod.ones(2, 3), 0, 1).shape
    (3, 2)
    """
    return x.transpose(axis1, axis2).clone()


def unbind_copy(x: Tensor, /, axis: int = 0) -> tuple[Tensor, ...]:
    """As `unbind`.

    >>> import svod
    >>> [part.tolist() for part in svod.unbind_copy(svod.Tensor([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """
    return _copies(unbind(x, axis))


def unfold_copy(x: Tensor, axis: int, size: int, step: int, /) -> Tensor:
    """As `Tensor.unfold`.

    >>> import svod
    >>> svod.unfold_copy(svod.arange(4), 0, 2, 1).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    return x.unfold(axis, size, step).clone()


def unsafe_chunk(x: Tensor, chunks: int, /, axis: int = 0) -> tuple[Tensor, ...]:
    """As `chunk`.

    >>> import svod
    >>> [part.tolist() for part in svod.unsafe_chunk(svod.arange(3), 2)]
    [[0, 1], [2]]
    """
    return tuple(x.chunk(chunks, axis))


def unsafe_split(x: Tensor, split_size: int, /, axis: int = 0) -> tuple[Tensor, ...]:
    """As `split`.

    >>> import svod
    >>> [part.tolist() for part in svod.unsafe_split(svod.arange(3), 2)]
    [[0, 1], [2]]
    """
    return tuple(x.split(split_size, axis))


def unsafe_split_with_sizes(x: Tensor, sizes: Sequence[int], /, axis: int = 0) -> tuple[Tensor, ...]:
    """As `split_with_sizes`.

    >>> import svod
    >>> [part.tolist() for part in svod.unsafe_split_with_sizes(svod.arange(3), [1, 2])]
    [[0], [1, 2]]
    """
    return tuple(split_with_sizes(x, sizes, axis))


def unsqueeze_copy(x: Tensor, axis: int, /) -> Tensor:
    """As `unsqueeze`.

    >>> import svod
    >>> svod.unsqueeze_copy(svod.ones(2), 0).shape
    (1, 2)
    """
    return x.unsqueeze(axis).clone()


def view_as_complex_copy(x: Tensor, /) -> Tensor:
    """As `view_as_complex`.

    >>> import svod
    >>> svod.view_as_complex_copy(svod.Tensor([[1.0, 2.0]])).tolist()
    [(1+2j)]
    """
    return view_as_complex(x).clone()


def view_as_real_copy(x: Tensor, /) -> Tensor:
    """As `view_as_real`.

    >>> import svod
    >>> svod.view_as_real_copy(svod.Tensor([1 + 2j])).tolist()
    [[1.0, 2.0]]
    """
    return view_as_real(x).clone()


def view_copy(x: Tensor, size: Any, /) -> Tensor:
    """As `Tensor.view`.

    >>> import svod
    >>> svod.view_copy(svod.arange(4), (2, 2)).tolist()
    [[0, 1], [2, 3]]
    """
    return x.view(size).clone()


def _copies(parts: Iterable[Tensor]) -> tuple[Tensor, ...]:
    return tuple(part.clone() for part in parts)
