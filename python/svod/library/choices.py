"""Values chosen by conditions, and functions applied along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from svod._svod import ArgumentError, Tensor, _tensor, stack, where
from svod.library._axes import axis_of
from svod.library._spelling import beside

__all__ = ["apply_along_axis", "piecewise"]


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
