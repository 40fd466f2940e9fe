"""Axes by name, in the patterns of `einops` (Rogozhnikov 2022)."""

from __future__ import annotations

import math
import re
from typing import Any

from svod._svod import ArgumentError, ShapeError, Tensor

__all__ = ["rearrange"]

# A group of names, a name, an axis of extent 1, or all axes that have no name.
_TOKEN = re.compile(r"\(([^()]*)\)|([A-Za-z_]\w*|1|\.\.\.)")


def rearrange(x: Tensor, pattern: str, /, **lengths: Any) -> Tensor:
    """The axes in another order, split and joined, as a pattern says: `"b (h w) c -> b c h w"`.

    A name is an axis; names in parentheses are parts of one, of which all but one have their extent in `lengths`, or
    where they are named alone. `1` is an axis of extent 1, `...` all axes that have no name.

    >>> import svod
    >>> svod.rearrange(svod.arange(6), "(h w) -> w h", h=2).tolist()
    [[0, 3], [1, 4], [2, 5]]
    """
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ArgumentError(f"rearrange: pattern: one '->' is expected in {pattern!r}")
    left, right = (_groups(side, pattern) for side in sides)
    unnamed = x.ndim - sum(group != ["..."] for group in left)
    left, right = (_spread(side, unnamed) for side in (left, right))
    if len(left) != x.ndim:
        raise ShapeError(f"rearrange: pattern {pattern!r} has {len(left)} axes, but the shape is {x.shape}")
    names = [[name for group in side for name in group if name != "1"] for side in (left, right)]
    if sorted(names[0]) != sorted(set(names[1])) or len(set(names[0])) < len(names[0]) or len(names[1]) > len(names[0]):
        raise ArgumentError(f"rearrange: pattern: both sides of {pattern!r} have each name once")
    extents = dict(lengths)
    for group, extent in zip(left, x.shape, strict=True):
        _solve(group, extent, extents, pattern)
    unknown = lengths.keys() - set(names[0])
    if unknown:
        raise ArgumentError(f"rearrange: {sorted(unknown)} are no names of {pattern!r}")
    apart = x.reshape(tuple(extents[name] for name in names[0]))
    ordered = apart.permute(*(names[0].index(name) for name in names[1])) if names[0] else apart
    return ordered.reshape(tuple(math.prod(extents[name] for name in group if name != "1") for group in right))


def _groups(side: str, pattern: str) -> list[list[str]]:
    """The axes of a side, each as the names of its parts."""
    if _TOKEN.sub("", side).strip():
        raise ArgumentError(f"rearrange: pattern: names, parentheses, 1 and '...' are expected, not {pattern!r}")
    return [found[1].split() if found[2] is None else [found[2]] for found in _TOKEN.finditer(side)]


def _spread(side: list[list[str]], unnamed: int) -> list[list[str]]:
    """A side whose axes without a name have names."""
    made = []
    for group in side:
        whole = [[f"...{i}"] for i in range(max(unnamed, 0))]
        if group == ["..."]:
            made += whole
        else:
            made.append([name for one in group for name in ([part[0] for part in whole] if one == "..." else [one])])
    return made


def _solve(group: list[str], extent: Any, extents: dict[str, Any], pattern: str) -> None:
    """Finds the extents of the parts of an axis."""
    open_ = [name for name in group if name != "1" and name not in extents]
    known = math.prod(extents[name] for name in group if name in extents)
    if len(open_) > 1:
        raise ArgumentError(f"rearrange: the extents of {open_[1:]} in {pattern!r} have to be given")
    if open_ and known != 0 and extent % known == 0:
        extents[open_[0]] = extent // known
    elif open_ or known != extent:
        raise ShapeError(
            f"rearrange: an axis of extent {extent} is no {' x '.join(group)} of {pattern!r} with {extents}"
        )
