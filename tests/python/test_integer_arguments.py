"""Integers in tensors and NumPy's, in the place of Python's, of every public function and method."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from calls import CALLS, Call

import svod

KINDS: dict[str, Callable[[int], Any]] = {"tensor": lambda n: svod.Tensor(n), "numpy": np.int64}
# Where a tensor means something else than its number, and where numbers are given as they are.
OTHERWISE = {
    "svod.broadcast_shapes", "svod.histogram_bin_edges", "svod.normal", "svod.polygamma", "x.max", "x.min", "x.narrow",
    "x.polygamma", "x.repeat_interleave",
}  # fmt: skip
SETTINGS = {"threads", "max_traces"}


def _is_whole(given: Any) -> bool:
    return type(given) is int


def _listed(given: Any) -> bool:
    return type(given) in (list, tuple) and len(given) > 0 and all(map(_is_whole, given))


def cases() -> Iterator[tuple[Call, int | str]]:
    for call in CALLS:
        _, args, named = call.arguments()
        for place in call.places:
            given = args[place] if isinstance(place, int) else named[place]
            if (_is_whole(given) or _listed(given)) and place not in SETTINGS:
                yield call, place


def _values(made: Any) -> Any:
    """What is compared of a result: of a tensor what it holds."""
    if isinstance(made, svod.Tensor):
        return (tuple(made.shape), made.dtype.name, made.tolist())
    if isinstance(made, (list, tuple)):
        return [_values(one) for one in made]
    return int(made) if isinstance(made, numbers.Integral) else type(made)


def complaint(call: Call, place: int | str, kind: str) -> str | None:
    callee, args, named = call.arguments()
    svod.manual_seed(0)
    wanted = repr(_values(callee(*args, **named)))
    callee, args, named = call.arguments()
    held: Any = args if isinstance(place, int) else named
    given, make = held[place], KINDS[kind]
    held[place] = make(given) if _is_whole(given) else type(given)(map(make, given))
    svod.manual_seed(0)
    try:
        got = repr(_values(callee(*args, **named)))
    except Exception as error:
        return f"{call.text} {place}: {type(error).__name__}: {error}"
    return None if got == wanted else f"{call.text} {place}: {got} is not {wanted}"


@pytest.mark.parametrize("kind", KINDS)
def test_integers_may_be_in_tensors(kind: str) -> None:
    told = [complaint(call, place, kind) for call, place in cases() if kind != "tensor" or call.name not in OTHERWISE]
    wrong = [one for one in told if one is not None]
    assert not wrong, "\n".join(wrong)


def test_what_is_no_integer_and_what_has_no_value() -> None:
    for wrong in (svod.Tensor(1.5), svod.Tensor(True), svod.Tensor([1, 2]), np.array([[1, 2]]), np.float64(2)):
        for call in (lambda n: svod.zeros(n, n), lambda n: svod.ones(4).reshape(n, -1), lambda n: svod.eye(n)):
            with pytest.raises(svod.ArgumentError):
                call(wrong)
    # Lines of integers are shapes.
    assert svod.zeros(svod.Tensor([2, 3])).shape == svod.ones(np.array([2, 3])).shape == (2, 3)
    assert svod.ones(6).reshape(svod.Tensor([3, -1])).shape == (3, 2)
    with pytest.raises(svod.TraceError):
        svod.jit(lambda n: svod.zeros(n))(svod.Tensor(3))
    with pytest.raises(svod.TraceError):
        svod.vmap(lambda n: svod.zeros(n))(svod.Tensor([3, 4]))


def test_sizes_beside_tensors_are_tensors() -> None:
    n, t = svod.Variable("n", 1, 8), svod.Tensor(2)
    for made in (n + t, n * t, n - t, t + n, n // t, n % t):
        assert isinstance(made, svod.Tensor)


def test_numbers_of_ranges_may_be_in_tensors() -> None:
    for number in (svod.Tensor, np.array, np.int64):
        assert svod.arange(number(1), number(7), number(2)).tolist() == [1, 3, 5]
        assert svod.arange(number(3)).dtype == svod.int64
    assert svod.arange(svod.Tensor(0.5), svod.Tensor(2.0)).tolist() == [0.5, 1.5]
    with pytest.raises(svod.Error):
        svod.arange(svod.Tensor([1, 2]))
    with pytest.raises(svod.TraceError):
        svod.jit(lambda n: svod.arange(n))(svod.Tensor(3))
