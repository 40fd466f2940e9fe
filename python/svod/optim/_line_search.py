"""Steps along a direction that go far enough, and not too far."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

from svod._svod import Tensor

__all__ = ["Point", "strong_wolfe"]

# What a step has to lower the loss by, and the slope to, as shares of what the slope at the start says.
_LOWER = 1e-4
_FLATTER = 0.9
# A bracket in which no element moves by more.
_NARROW = 1e-9


class Point(NamedTuple):
    """A place on the way: how far it is, and the loss there with its gradient and its slope in the direction."""

    at: float
    loss: float
    gradient: Tensor
    slope: float


def strong_wolfe(
    evaluate: Callable[[float], Point], start: Point, first: float, reach: float, most: int
) -> tuple[Point, int]:
    """A place that meets the strong Wolfe conditions, or the best one that was found, and how many were looked at.

    Nocedal and Wright 2006, algorithms 3.5 and 3.6, with cubic interpolation. `first` is tried first, and `most` more
    after it; `reach` is the largest element of the direction.
    """

    def is_too_high(place: Point) -> bool:
        return place.loss > start.loss + _LOWER * place.at * start.slope

    def is_flat(place: Point) -> bool:
        return abs(place.slope) <= -_FLATTER * start.slope

    # Out, until a place that is wanted lies between two.
    before, now, tried = start, evaluate(first), 0
    bracket = [start, now]
    while tried < most:
        if is_too_high(now) or (tried > 1 and now.loss >= before.loss):
            bracket = [before, now]
            break
        if is_flat(now):
            return now, tried + 1
        if now.slope >= 0:
            bracket = [before, now]
            break
        at = _lowest(before, now, now.at + 0.01 * (now.at - before.at), 10 * now.at)
        before, now, tried = now, evaluate(at), tried + 1
        bracket = [start, now]

    # In: the lower end stays one that goes down towards the other.
    low = 0 if bracket[0].loss <= bracket[1].loss else 1
    is_slow = False
    while tried < most:
        left, right = sorted(place.at for place in bracket)
        if (right - left) * reach < _NARROW:
            break
        at, margin = _lowest(bracket[0], bracket[1], left, right), 0.1 * (right - left)
        is_near = min(right - at, at - left) < margin
        if is_near and (is_slow or not left < at < right):
            at = right - margin if right - at < at - left else left + margin
            is_near = False
        is_slow = is_near
        now, tried = evaluate(at), tried + 1
        if is_too_high(now) or now.loss >= bracket[low].loss:
            bracket[1 - low] = now
            low = 0 if bracket[0].loss <= bracket[1].loss else 1
            continue
        if is_flat(now):
            return now, tried + 1
        if now.slope * (bracket[1 - low].at - bracket[low].at) >= 0:
            bracket[1 - low] = bracket[low]
        bracket[low] = now
    return bracket[low], tried + 1


def _lowest(one: Point, other: Point, least: float, most: float) -> float:
    """Where the cubic through two places with their slopes is lowest, between bounds; halfway if nowhere."""
    left, right = (one, other) if one.at <= other.at else (other, one)
    width = right.at - left.at
    if width > 0:
        mean = left.slope + right.slope - 3 * (right.loss - left.loss) / width
        square = mean * mean - left.slope * right.slope
        if square >= 0:
            root = sqrt(square)
            below = right.slope - left.slope + 2 * root
            if below != 0:
                return min(max(right.at - width * ((right.slope + root - mean) / below), least), most)
    return (least + most) / 2
