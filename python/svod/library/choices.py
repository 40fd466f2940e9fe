"""Values chosen by conditions, and functions applied along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from svod._svod import ArgumentError, DTypeError, IndexError, ShapeError, Tensor, _operands, _tensor, stack, where
from svod.library._axes import axis_of
from svod.library._spelling import beside
from svod.library.indexed import placed
from svod.library.manipulation import broadcast_arrays, broadcast_shapes

__all__ = ["apply_along_axis", "choose", "compress", "extract", "piecewise"]


def apply_along_axis(func1d: Callable[..., Any], axis: int, x: Tensor, /, *args: Any, **kwargs: Any) -> Tensor:
    """What a function makes of each line of a tensor along an axis, in the place of that axis.

    The function is called once for each line. Where it is made of svod's operations, `svod.vmap` calls it once.

    >>> import svod
    >>> svod.apply_along_axis(svod.max, 1, svod.Tensor([[1, 5], [7, 2]])).tolist()
    [5, 7]
    """
    at = axis_of("apply_along_axis", axis, x.ndim)
    lines = x.movedim(axis, -1)
    if lines.numel() == 0:
        raise ArgumentError(f"apply_along_axis: shape {x.shape} has no lines")
    outer = lines.shape[:-1]
    made = [_tensor(func1d(line, *args, **kwargs)) for line in lines.reshape(-1, lines.shape[-1])]
    result = stack(made, 0).reshape(*outer, *made[0].shape)
    last = range(len(outer), result.ndim)
    return result.permute(*range(at), *last, *range(at, len(outer)))


def choose(x: Tensor, choices: Any, /, *, mode: str = "raise") -> Tensor:
    """For each element, an integer, the element there of the choice of this number; all of them broadcast.

    Numbers of no choice are an error where they are known: in memory, when no function is traced. With `mode="wrap"`
    they count modulo the number of choices, with `"clip"` they are the nearest one.

    >>> import svod
    >>> svod.choose(svod.Tensor([0, 1, 0]), [[1, 2, 3], [-1, -2, -3]]).tolist()
    [1, -2, 3]
    """
    if x.dtype.is_floating_point or x.is_complex():
        raise DTypeError(f"choose: x: integers are expected, not {x.dtype.name}")
    several = broadcast_arrays(*_operands(*choices)) if len(choices) else []
    if not several:
        raise ArgumentError("choose: choices: at least one is expected")
    at = placed("choose", x, len(several), mode)
    shape = broadcast_shapes(at.shape, several[0].shape)
    every = stack([one.expand(*shape) for one in several], 0)
    return every.take_along_dim(at.expand(*shape).unsqueeze(0), 0)[0]


def compress(condition: Any, x: Tensor, /, axis: int | None = None) -> Tensor:
    """What is along an axis, or in the flat tensor, where a condition holds, which may be shorter; computed now.

    >>> import svod
    >>> svod.compress([False, True], svod.Tensor([[1, 2], [3, 4]]), axis=1).tolist()
    [[2], [4]]
    """
    holds = _tensor(condition)
    if holds.ndim != 1:
        raise ShapeError(f"compress: condition: truth values along one axis are expected, not shape {holds.shape}")
    x, axis = (x.flatten(), 0) if axis is None else (x, axis_of("compress", axis, x.ndim))
    return _at(holds, x, axis, "compress")


def extract(condition: Any, x: Tensor, /) -> Tensor:
    """The elements of the flat tensor where those of a condition are not zero; computed now.

    >>> import svod
    >>> x = svod.arange(6)
    >>> svod.extract(x % 2 == 0, x).tolist()
    [0, 2, 4]
    """
    return _at(_tensor(condition).flatten(), x.flatten(), 0, "extract")


def piecewise(x: Tensor, condlist: Any, funclist: Sequence[Any], /, *args: Any, **kwargs: Any) -> Tensor:
    """By conditions, what functions make of a tensor's elements, or numbers; of the tensor's type.

    Of several conditions that hold the last counts. One function more than conditions is for where none does; without
    it that is 0. Each function is called with the whole tensor.

    >>> import svod
    >>> x = svod.Tensor([-2.0, 3.0])
    >>> svod.piecewise(x, [x < 0, x >= 0], [lambda v: -v, 0.5]).tolist()
    [2.0, 0.5]
    """
    several = isinstance(condlist, list | tuple) and not all(isinstance(one, bool) for one in condlist)
    conditions = [_tensor(one).bool() for one in (condlist if several else [condlist])]
    otherwise: Any = 0
    functions = list(funclist)
    if len(functions) == len(conditions) + 1:
        otherwise = functions.pop()
    if len(functions) != len(conditions):
        message = f"{len(conditions)} or {len(conditions) + 1} functions are expected, not {len(functions)}"
        raise ArgumentError(f"piecewise: with {len(conditions)} conditions {message}")

    def of(function: Any) -> Any:
        made = function(x, *args, **kwargs) if callable(function) else function
        return beside(made, [x]).cast(x.dtype)

    result: Tensor = of(otherwise).expand(*x.shape)
    for condition, function in zip(conditions, functions, strict=True):
        result = where(condition, of(function), result)
    return result


def _at(condition: Tensor, x: Tensor, axis: int, name: str) -> Tensor:
    """What is where a condition holds, along an axis that may be longer."""
    found: Tensor = condition.nonzero(as_tuple=True)[0]
    extent = x.shape[axis]
    if condition.shape[0] > extent and found.numel() and found[-1].item() >= extent:
        raise IndexError(
            f"{name}: condition: it holds at {found[-1].item()}, which is outside of an extent of {extent}"
        )
    return x.take(found, axis)
