"""Axes as functions are given them: counted from the first or, where negative, from behind the last."""

from __future__ import annotations

from svod._errors import AxisError

__all__ = ["axis_of"]


def axis_of(op: str, axis: int, rank: int) -> int:
    """An axis, counted from 0; the error of one that is not there is that of compiled functions."""
    if -rank <= axis < rank:
        return axis % rank
    there = f"which takes -{rank} to {rank} exclusive" if rank else "which has none"
    raise AxisError(f"{op}: axis {axis} is out of range for rank {rank}, {there}")
