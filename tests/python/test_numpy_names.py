"""Functions that NumPy has and the array API standard has not, beside NumPy: values, shapes and types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

RNG = np.random.default_rng(0)
V = RNG.integers(-5, 6, 12)
W = RNG.integers(-5, 6, 9)
A = RNG.standard_normal((3, 4, 5))
HOLES = np.where(RNG.random((4, 6)) < 0.4, np.nan, RNG.standard_normal((4, 6)))
HOLES[:, 0] = [1, np.nan, 2, np.nan]
HOLES[0, 0] = -np.inf

# Calls of either namespace; `x` makes one of its arrays.
CALLS: dict[str, Callable[[Any, Callable[[Any], Any]], Any]] = {
    "append": lambda np, x: [np.append(x(V), [1, 2]), np.append(x(A), x(A[:, :1]), axis=1), np.append(x(A), 3.0)],
    "copy": lambda np, x: [np.copy(x(A)), x(A).copy()],
    "delete": lambda np, x: (
        [np.delete(x(A), i, axis=1) for i in (0, -1, [1, 3], slice(1, None, 2), [])]
        + [np.delete(x(V), 3), np.delete(x(A), 7), np.delete(x(V), [True, False] * 6)]
    ),
    "insert": lambda np, x: [
        *(np.insert(x(V), i, v) for i, v in ((0, 9), (-1, 9), (12, 9), ([0, 4], [7, 8]), ([3, 3], 1), (2, [1, 2, 3]))),
        *(np.insert(x(V), i, v) for i, v in (([5, 1, 5], [1, 2, 3]), (slice(0, 4, 2), 9), ([1], [4, 5]), ([], []))),
        *(np.insert(x(A), i, v, axis=1) for i, v in ((1, 0.5), (1, A[:, 0]), ([0, 2], A[:, :2]), ([1], A[:, :2]))),
        np.insert(x(A), 2, 1.0),
        np.insert(x(V), 1, 2.7),
    ],
    "pad": lambda np, x: (
        [np.pad(x(A), w) for w in (2, (1, 3), ((0, 1), (2, 0), (1, 1)), [1], ((2,), (0,), (1,)))]
        + [np.pad(x(A), 4, mode=m) for m in ("edge", "reflect", "symmetric", "wrap")]
        + [np.pad(x(V), (9, 30), mode=m) for m in ("edge", "reflect", "symmetric", "wrap")]
        + [np.pad(x(V), 1, constant_values=c) for c in (3, (4, 5))]
        + [np.pad(x(A), 1, constant_values=((1, 2), (3, 4), (5, 6))), np.pad(x(A + 1j), 1), np.pad(x(V > 0), 1)]
        + [np.pad(x(A), ((0, 0), (1, 0), (0, 0)), mode="reflect"), np.pad(x(V), 0)]
    ),
    "apply_along_axis": lambda np, x: [
        *(np.apply_along_axis(lambda line: line.sum(), i, x(A)) for i in (0, 1, -1)),
        *(np.apply_along_axis(lambda line: line[:2] * 2, i, x(A)) for i in (0, 1, 2)),
        np.apply_along_axis(lambda line: line[:2].reshape(2, 1) * line[:3], 1, x(A)),
    ],
    "piecewise": lambda np, x: [
        np.piecewise(x(A), [x(A) < 0, x(A) >= 0], [lambda v: v**2, 0.5]),
        np.piecewise(x(V), [x(V) < 0, x(V) > 2], [-1, lambda v: v * 2, 7]),
        np.piecewise(x(V), [x(V) < 3], [lambda v, by: v * by], 3),
        np.piecewise(x(V), x(V) < 3, [1, 2]),
    ],
    "select": lambda np, x: [
        np.select([x(V) < 0, x(V) < 3], [x(V) * 10, x(V) + 1], default=-7),
        np.select([x(A) < 0, x(A) < 0.5], [x(A), x(A) ** 2]),
        np.select([x(V) < 0], [x(V)], 4),
    ],
    "bartlett": lambda np, x: [np.bartlett(n) for n in (0, 1, 2, 7)],
    "blackman": lambda np, x: [np.blackman(n) for n in (0, 1, 2, 7)],
    "hamming": lambda np, x: [np.hamming(n) for n in (0, 1, 2, 8)],
    "hanning": lambda np, x: [np.hanning(n) for n in (0, 1, 2, 8)],
    "kaiser": lambda np, x: [np.kaiser(n, 8.6) for n in (0, 1, 2, 7)],
    "fromfunction": lambda np, x: [
        np.fromfunction(lambda i, j: i * 3 + j, (3, 4), dtype=int),
        np.fromfunction(lambda i: i / 2, (5,), dtype=float),
    ],
    "indices": lambda np, x: [
        np.indices((3, 4)),
        np.indices([5]),
        np.indices((2, 0)),
        np.indices((2, 3), dtype="int8"),
    ],
    "ix_": lambda np, x: [
        *np.ix_([0, 2], [1, 3, 0]),
        x(A)[np.ix_([0, 2], [1, 3, 0])],
        x(A)[np.ix_(x(np.array([True, False, True])) if np is svod else [True, False, True], [0])],
    ],
    "tri": lambda np, x: [np.tri(3), np.tri(3, 5, 1), np.tri(4, 2, -1, dtype="int64")],
    "polyadd": lambda np, x: [np.polyadd(x(V), x(W)), np.polyadd([1, 2], [3]), np.polyadd(x(A[0, 0]), [1, 2])],
    "polyder": lambda np, x: [np.polyder(x(V)), np.polyder(x(A[0, 0]), 2), np.polyder([4, 3], 1), np.polyder(x(V), 0)],
    "polyfit": lambda np, x: [
        np.polyfit(x(np.arange(9.0) if np is not svod else svod.arange(9.0).numpy()), x(W), 2).round(4),
        np.polyfit(x(A[0, 0]), x(A[0, 1]), 1),
        np.polyfit(x(A[0, 0]), x(A[0, 1:3].T), 2),
        np.polyfit(x(A[0, 0]), x(A[0, 1]), 2, w=x(abs(A[1, 1]))),
        np.polyfit(x(A[0, 0] * 1e6), x(A[0, 1]), 3),
    ],
    "polyint": lambda np, x: [np.polyint(x(A[0, 0])), np.polyint(x(A[0, 0]), 2, k=3), np.polyint(x(A[0, 0]), 0)],
    "polymul": lambda np, x: [np.polymul(x(A[0, 0]), x(A[0, 1, :2])), np.polymul(x(V), [2, 3]), np.polymul([2], [3])],
    "polysub": lambda np, x: [np.polysub(x(W), x(V)), np.polysub([1.5], x(A[0, 0]))],
    "polyval": lambda np, x: [np.polyval(x(V), x(W)), np.polyval([1.0, 0, 2], x(A)), np.polyval(x(A[0, 0]), 2.0)],
    "around": lambda np, x: [np.around(x(A), 1), np.around(x(A)), np.around(x(A), decimals=2)],
    "cbrt": lambda np, x: [np.cbrt(x(A)), np.cbrt(x([0.0, -0.0, 1e300, -1e-300, np.inf, -np.inf, np.nan]))],
    "conjugate": lambda np, x: [np.conjugate(x(A + 2j)), x(A + 2j).conjugate()],
    "degrees": lambda np, x: [np.degrees(x(A)), np.radians(x(A))],
    "fabs": lambda np, x: [np.fabs(x(A))],
    "invert": lambda np, x: [np.invert(x(V)), np.invert(x(V > 0))],
    "left_shift": lambda np, x: [np.left_shift(x(abs(V)), 2), np.right_shift(x(V), 1), np.left_shift(1, x(abs(W)))],
    "mod": lambda np, x: [np.mod(x(V), 3), np.mod(x(A), -0.7), np.mod(7, x(abs(W) + 1))],
    "power": lambda np, x: [np.power(x(V), 2), np.power(2.0, x(A)), np.power(x(abs(A)), x(A))],
    "rint": lambda np, x: [np.rint(x(A * 3))],
    "argpartition": lambda np, x: [
        np.take_along_axis(x(A), np.argpartition(x(A), 2, axis=1), axis=1)[:, 2],
        np.sort(x(V)[np.argpartition(x(V), -3)[-3:]]),
    ],
    "partition": lambda np, x: [np.partition(x(A), 2, axis=1)[:, 2], np.partition(x(A), 7, axis=None)[7]],
    "flatnonzero": lambda np, x: [np.flatnonzero(x(V) > 0), np.flatnonzero(x(A) > 0), np.flatnonzero(x(V) > 99)],
    "lexsort": lambda np, x: [
        np.lexsort((x(V[:9]), x(W))),
        np.lexsort((x(W),)),
        np.lexsort(x(RNG_KEYS)),
        np.lexsort((x(RNG_KEYS), x(RNG_KEYS[::-1])), axis=0),
    ],
    "argsort kind": lambda np, x: [np.argsort(x(V), kind="stable"), np.sort(x(V), kind="mergesort")],
    "intersect1d": lambda np, x: [
        *(np.intersect1d(x(V), x(W)), np.intersect1d(x(V), [99]), np.intersect1d(x(A), x(A[0]))),
        *np.intersect1d(x(V), x(W), return_indices=True),
    ],
    "setdiff1d": lambda np, x: [np.setdiff1d(x(V), x(W)), np.setdiff1d(x(V), x(W), assume_unique=True)],
    "setxor1d": lambda np, x: [np.setxor1d(x(V), x(W)), np.setxor1d(x(V), x(V)), np.setxor1d([1, 2], [2, 3])],
    "union1d": lambda np, x: [np.union1d(x(V), x(W)), np.union1d(x(A), x(A)), np.union1d([3, 1], [2])],
    "nancumsum": lambda np, x: [np.nancumsum(x(HOLES), axis=a) for a in (None, 0, 1, -1)] + [np.nancumsum(x(V))],
    "nancumprod": lambda np, x: [np.nancumprod(x(HOLES), axis=a) for a in (None, 0, 1)],
    "nanargmax": lambda np, x: [np.nanargmax(x(HOLES), axis=a) for a in (None, 0, 1)] + [np.nanargmax(x(V))],
    "nanargmin": lambda np, x: [np.nanargmin(x(HOLES), axis=a) for a in (None, 0, 1)] + [np.nanargmin(x(A), axis=1)],
    "nanpercentile": lambda np, x: [
        np.nanpercentile(x(HOLES[1:]), 30, axis=0),
        np.nanpercentile(x(HOLES[1:]), [10, 90], axis=1),
        np.nanpercentile(x(HOLES[1:]), 50, method="lower", keepdims=True),
    ],
    "unwrap": lambda np, x: [
        np.unwrap(x(A.cumsum(1) * 4), axis=1),
        np.unwrap(x(A.ravel() * 9)),
        np.unwrap(x(V * 3), period=4),
        np.unwrap(x(V * 3), period=5),
        np.unwrap(x(A * 5), discont=5.0),
        np.unwrap(x(A * 5), period=3.0, axis=0),
        np.unwrap(x(V[:0] * 1.0)),
    ],
    "histogram2d": lambda np, x: [
        *np.histogram2d(x(A.ravel()), x(A.ravel()[::-1].copy()), bins=4),
        *np.histogram2d(x(A.ravel()), x(A.ravel() ** 2), bins=[2, 3], range=[[-1, 1], [0, 2]]),
        *np.histogram2d(x(V), x(V[::-1].copy()), bins=3, density=True),
        *np.histogram2d(x(A.ravel()), x(A.ravel()), bins=3, weights=x(abs(A).ravel())),
    ],
}
RNG_KEYS = RNG.integers(0, 3, (4, 7))


def _flat(made: Any) -> list[Any]:
    if isinstance(made, list | tuple):
        return [one for part in made for one in _flat(part)]
    return [made.numpy() if isinstance(made, svod.Tensor) else np.asarray(made)]


@pytest.mark.parametrize("name", CALLS)
def test_values_and_shapes_are_those_of_numpy(name: str) -> None:
    ours = _flat(CALLS[name](svod, lambda array: svod.Tensor(np.asarray(array))))
    with np.errstate(all="ignore"):
        theirs = _flat(CALLS[name](np, np.asarray))
    assert len(ours) == len(theirs)
    for i, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        assert mine.shape == other.shape, i
        kinds = {mine.dtype.kind, other.dtype.kind}
        assert len(kinds) == 1 or kinds <= {"u", "i"} or mine.dtype == "float32", (i, mine.dtype, other.dtype)
        tight = mine.dtype == other.dtype
        np.testing.assert_allclose(
            mine, other, rtol=1e-8 if tight else 1e-5, atol=1e-9 if tight else 1e-6, err_msg=str(i)
        )


def test_roots_are_those_of_numpy_in_any_order() -> None:
    for p in ([1, -6, 11, -6], [0, 0, 2.0, 3.0, 0, 0], [5.0], [0.0], [1, 0, 1], [1 + 1j, 2, 3j], [2.0, 0.0]):
        ours, theirs = svod.roots(p).numpy(), np.roots(p)
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(
            np.sort_complex(ours.round(4)), np.sort_complex(theirs.astype(complex).round(4)), atol=1e-3
        )


def test_where_all_are_nan_there_is_no_greatest_element() -> None:
    assert svod.nanargmax(svod.Tensor([[np.nan, np.nan], [np.nan, -np.inf]]), axis=1).tolist() == [-1, 1]
    assert svod.nanargmin(svod.Tensor([np.nan])).item() == -1


def test_results_have_the_types_of_their_operands() -> None:
    x = svod.Tensor([1.0, 2.0, 3.0])
    for made in (
        *(svod.pad(x, 1), svod.insert(x, 0, 1), svod.delete(x, 0), svod.append(x, 1), svod.cbrt(x), svod.unwrap(x)),
        *(svod.piecewise(x, [x > 1], [1]), svod.polyfit(x, x, 1), svod.polyval([1, 2], x), svod.select([x > 1], [x])),
        *(svod.nancumsum(x), svod.nanpercentile(x, 50), svod.union1d(x, x), svod.partition(x, 1), svod.power(x, 2)),
    ):
        assert made.dtype == svod.float32
    assert svod.power(svod.Tensor([2], dtype="int8"), 2).dtype == svod.int8


ERRORS: list[tuple[Callable[[svod.Tensor], Any], type[Exception], str]] = [
    (lambda x: svod.pad(x, -1), svod.ArgumentError, "pad_width: numbers that are not negative"),
    (lambda x: svod.pad(x, (1, 2, 3)), svod.ArgumentError, "a pair for each of 2 axes"),
    (lambda x: svod.pad(x, 1, mode="mean"), svod.ArgumentError, r"mode is one of \['constant', 'edge'"),
    (lambda x: svod.pad(x[:0], 1, mode="edge"), svod.ShapeError, "has nothing that 'edge' could repeat"),
    (lambda x: svod.delete(x, 7, axis=0), svod.IndexError, "obj: 7 is no part of axis 0, whose extent is 2"),
    (lambda x: svod.insert(x, 7, 1, axis=0), svod.IndexError, "obj: 7 is no part of axis 0, whose extent is 2"),
    (lambda x: svod.insert(x, 0, svod.ones(4), axis=0), svod.ShapeError, r"insert: values: shape \(1, 4\)"),
    (lambda x: svod.append(x, svod.ones(2), axis=0), svod.ShapeError, "do not have the same number of axes"),
    (
        lambda x: svod.apply_along_axis(svod.sum, 3, x),
        svod.ShapeError,
        "axis 3 is out of range for rank 2, which takes -2 to 2",
    ),
    (lambda x: svod.piecewise(x, [x > 0], [1, 2, 3]), svod.ArgumentError, "1 or 2 functions are expected, not 3"),
    (lambda x: svod.select([x > 0], [x, x]), svod.ArgumentError, "as many conditions as choices"),
    (lambda x: svod.select(x, 0), svod.ArgumentTypeError, "select: index: an integer is expected"),
    (lambda x: svod.polyfit(x, x, 1), svod.ShapeError, "points of one coordinate"),
    (lambda x: svod.polyfit(x[0], x[0], -1), svod.ArgumentError, "deg: a number that is not negative"),
    (lambda x: svod.polyval(x, 1), svod.ShapeError, "polyval: coefficients along one axis"),
    (lambda x: svod.ix_([0], x), svod.ShapeError, "indices along one axis"),
    (lambda x: svod.lexsort([x, x[0]]), svod.ShapeError, "keys of one shape"),
    (lambda x: svod.partition(x, 9), svod.IndexError, "kth: 9 is no place on axis -1, whose extent is 3"),
    (lambda x: svod.argsort(x, kind="bubble"), svod.ArgumentError, "kind is one of"),
    (lambda x: svod.histogram2d(x, x), svod.ShapeError, "as many x as y"),
    (lambda x: svod.fabs(x + 1j), svod.DTypeError, "fabs: real numbers are expected"),
    (lambda x: svod.hanning(-1), svod.ArgumentError, "-1 points"),
]


@pytest.mark.parametrize("at", range(len(ERRORS)))
def test_errors_say_what_was_given(at: int) -> None:
    call, kind, message = ERRORS[at]
    with pytest.raises(kind, match=message):
        call(svod.Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))


def test_derivatives_pass_through() -> None:
    x = svod.Tensor([1.0, 8.0, 27.0], dtype="float64")
    np.testing.assert_allclose(svod.grad(lambda v: svod.cbrt(v).sum())(x).numpy(), [1 / 3, 1 / 12, 1 / 27])
    assert svod.grad(lambda v: svod.pad(v, 2, mode="edge").sum())(x).tolist() == [3, 1, 3]
    assert svod.grad(lambda v: svod.insert(svod.delete(v, 1), 0, 9).sum())(x).tolist() == [1, 0, 1]
    assert svod.grad(lambda v: svod.polyval(v, 2.0))(x).tolist() == [4, 2, 1]


def test_edits_are_made_where_the_tensor_is() -> None:
    a = np.arange(6.0).reshape(2, 3)
    x = svod.Tensor(a).to("CPU:1")
    for made, wanted in (
        (svod.delete(x, 1, axis=1), np.delete(a, 1, axis=1)),
        (svod.insert(x, 1, 7.0, axis=0), np.insert(a, 1, 7.0, axis=0)),
        (svod.pad(x, 1, mode="edge"), np.pad(a, 1, mode="edge")),
    ):
        assert made.device == "CPU:1"
        np.testing.assert_array_equal(made.numpy(), wanted)


def test_edges_of_grids_are_lists_or_arrays() -> None:
    x, y = np.array([0.0, 1.0, 1.5]), np.array([0.5, 1.0, 0.1])
    for bins in ([[0.0, 1.0, 2.0], [0.0, 0.5, 1.0]], np.array([0.0, 1.0, 2.0]), np.int64(3)):
        ours, theirs = svod.histogram2d(svod.Tensor(x), svod.Tensor(y), bins), np.histogram2d(x, y, bins)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a.numpy(), b)
