"""Rarer functions of NumPy that `jax.numpy` has too, beside NumPy: values, shapes and types, gradients, in `jit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

RNG = np.random.default_rng(1)
I = RNG.integers(-5, 6, (3, 4))  # noqa: E741
A = RNG.standard_normal((3, 4)) * 4
B = RNG.random((3, 5)) < 0.5
Z = A + 1j * A[::-1]
AT = RNG.integers(0, 3, (3, 4))
SPECIAL = np.array([0.0, -0.0, 1.5, -1.5, 2.0**60, 1e-310, -np.inf, np.inf, np.nan])
EMPTY = np.zeros((0, 4))
WIDE = np.array([0, 1, -1, 5, 2**62, -(2**63), 2**63 - 1])
LIMITS = np.array([0.0, 5e-324, 1.0, -1.0, 1e300, 1.7976931348623157e308, -np.inf, np.nan, -0.0])


def _put(np: Any, x: Any, *given: Any, axis: int | None) -> Any:
    """What is put along an axis of a copy, which NumPy gives no name."""
    made = np.copy(x)
    np.put_along_axis(made, *given, axis)
    return made


# Calls of either namespace; `x` makes one of its arrays. Those in `LAZY` may be traced.
CALLS: dict[str, Callable[[Any, Callable[[Any], Any]], Any]] = {
    "block": lambda np, x: [
        np.block([[x(A), x(A[:, :1])], [x(A[:1]), x([[9.0]])]]),
        np.block([x(I[0]), 3, x(I[1])]),
        np.block([[x(I[0])], [x(I[1])]]),
        np.block(x(A)),
        np.block([[[x(I), x(I)]], [[x(I), x(I)]]]),
        np.block([x(EMPTY), x(EMPTY)]),
        np.block([1, 2.5]),
        np.block([[x(I), x(A)]]),
    ],
    "put_along_axis": lambda np, x: [
        _put(np, x(A), x(AT[:, :1]), 9, axis=1),
        _put(np, x(A), x(AT[:1]), x(A[1:2]), axis=0),
        _put(np, x(I), x(AT[:, :2] - 3), x(I[:, :2]), axis=-1),
        _put(np, x(I), x([0, 5, 11]), x([7, 8, 9]), axis=None),
        _put(np, x(I), x([[0], [1], [2]]), 2.7, axis=1),
        _put(np, x(EMPTY), x(np.zeros((0, 1), dtype="int64")), 1.0, axis=1),
    ],
    "ravel_multi_index": lambda np, x: [
        np.ravel_multi_index((x(AT), x(AT[::-1])), (3, 5)),
        np.ravel_multi_index((x(AT), 1), (3, 5), order="F"),
        np.ravel_multi_index((x(AT), x(AT), x(AT[0])), (4, 3, 5)),
        np.ravel_multi_index((x(I), x(I)), (3, 4), mode="wrap"),
        np.ravel_multi_index((x(I), x(I)), (3, 4), mode=("clip", "wrap")),
        np.ravel_multi_index(x(AT[:2]), (3, 3)),
        np.ravel_multi_index((3, 1), (4, 5)),
    ],
    "choose": lambda np, x: [
        np.choose(x(AT), [x(A), x(A * 2), -1.0]),
        np.choose(x(AT), x(RNG_CHOICES)),
        np.choose(x(I), [x(A), x(A[0])], mode="wrap"),
        np.choose(x(I), [x(I), 7], mode="clip"),
        np.choose(1, [x(A), x(A) * 2]),
        np.choose(x(B), [1, 2]),
        np.choose(x(AT[:0]), [1, 2]),
    ],
    "compress": lambda np, x: [
        np.compress([True, False, True], x(A), axis=0),
        np.compress([False, True], x(A), axis=1),
        np.compress([1, 0, 1, 0, 0, 1], x(A)),
        np.compress(x(B[0, :4]), x(A), axis=-1),
        np.compress([False] * 9, x(A), axis=0),
        np.compress([], x(A), axis=0),
    ],
    "extract": lambda np, x: [
        np.extract(x(A) > 0, x(A)),
        np.extract(x(B[:, :4]), x(I)),
        np.extract([1, 0, 1], x(A)),
        np.extract(x(A) > 99, x(A)),
    ],
    "modf": lambda np, x: [*np.modf(x(A)), *np.modf(x(SPECIAL)), *np.modf(x(I)), *np.modf(x(EMPTY)), *np.modf(2.5)],
    "divmod": lambda np, x: [
        *np.divmod(x(A), 1.7),
        *np.divmod(x(I), 3),
        *np.divmod(7.0, x(A)),
        *np.divmod(x(I), x([[2], [-3], [4]])),
    ],
    "ediff1d": lambda np, x: [
        np.ediff1d(x(A)),
        np.ediff1d(x(I), to_begin=x(I[0]), to_end=[1, 2]),
        np.ediff1d(x(A), to_end=0.5),
        np.ediff1d(x(EMPTY)),
        np.ediff1d(x([3])),
    ],
    "bitwise_count": lambda np, x: [
        *(np.bitwise_count(x(I.astype(t))) for t in ("int8", "int16", "int32", "int64")),
        *(np.bitwise_count(x(abs(WIDE[:-2]).astype(t))) for t in ("uint8", "uint16", "uint32", "uint64")),
        np.bitwise_count(x(WIDE)),
        np.bitwise_count(x(np_all_bytes)),
        np.bitwise_count(x(np_all_bytes.view("int8"))),
        np.bitwise_count(x(AT[:0])),
    ],
    "packbits": lambda np, x: [
        *(np.packbits(x(B), axis=a, bitorder=o) for a in (None, 0, 1, -1) for o in ("big", "little")),
        np.packbits(x(AT)),
        np.packbits(x(np_all_bytes.astype("uint8")), bitorder="little"),
        np.packbits(x(B[:0]), axis=1),
        np.packbits(x(B[:0])),
    ],
    "unpackbits": lambda np, x: [
        *(np.unpackbits(x(np_bytes), axis=a, bitorder=o) for a in (None, 0, -1) for o in ("big", "little")),
        *(np.unpackbits(x(np_bytes), axis=1, count=c) for c in (0, 3, 20, 40, -3, -32)),
        np.unpackbits(x(np_bytes[:0]), axis=1),
        np.unpackbits(x(np_bytes), count=100),
    ],
    "trim_zeros": lambda np, x: [
        *(np.trim_zeros(x(np_sparse), t) for t in ("fb", "f", "b", "bf", "FB")),
        np.trim_zeros(x(np_sparse * 0)),
        np.trim_zeros(x(np_sparse.astype("float64"))),
        np.trim_zeros(x(np_sparse.reshape(3, 4)), axis=0),
        np.trim_zeros(x(np_sparse.reshape(3, 4))),
        np.trim_zeros(x(np_sparse.reshape(3, 4)), "f", axis=(0, 1)),
    ],
    "resize": lambda np, x: [
        *(np.resize(x(A), s) for s in (5, (2, 3), (5, 4), (4, 9), (0, 3), ())),
        np.resize(x(EMPTY), (2, 2)),
        np.resize(x(3), 4),
    ],
    "poly": lambda np, x: [
        np.poly(x(A[0])),
        np.poly(x([1, 2, 3])),
        np.poly(x(A[:, :3])),
        np.poly(x(A[0, :0])),
        np.poly(x(np_hermitian)),
    ],
    "array_equiv": lambda np, x: [
        np.array_equiv(x(a), x(b))
        for a, b in (([1, 2], [1, 2]), ([1, 2], [[1, 2], [1, 2]]), ([1, 2], [1, 3]), ([1, 2], [1, 2, 3]), ([[]], []))
    ],
    "diag_indices": lambda np, x: [
        *np.diag_indices(4),
        *np.diag_indices(2, 3),
        *np.diag_indices(0),
        *np.diag_indices_from(x(A[:, :3])),
        x(A)[np.diag_indices(3)],
    ],
    "tril_indices_from": lambda np, x: [
        *(one for k in (-1, 0, 2) for one in np.tril_indices_from(x(A), k)),
        *(one for k in (-1, 0, 2) for one in np.triu_indices_from(x(A), k)),
        x(A)[np.tril_indices_from(x(A))],
    ],
    "iscomplex": lambda np, x: [np.iscomplex(x(Z)), np.iscomplex(x(A)), np.iscomplex(x(A + 0j)), np.isreal(x(Z))],
    "matvec": lambda np, x: [
        np.matvec(x(A), x(A[0])),
        np.matvec(x(I), x(I)) if np is svod else np.matvec(I, I),
        np.matvec(x(Z), x(Z[0])),
        np.matvec(x(A[None, :, :]), x(A[:, None, :])),
        np.matvec(x(EMPTY), x(A[0])),
        np.matvec(x(A[:, :0]), x(A[0, :0])),
    ],
    "vecmat": lambda np, x: [
        np.vecmat(x(A[:, 0]), x(A)),
        np.vecmat(x(Z[:, 0]), x(Z)),
        np.vecmat(x(I.T), x(I)),
        np.vecmat(x(A[:0, 0]), x(EMPTY)),
    ],
    "spacing": lambda np, x: [np.spacing(x(A)), np.spacing(x(LIMITS)), np.spacing(x(A.astype("float32")))],
}
RNG_CHOICES = RNG.standard_normal((3, 3, 4))
np_all_bytes = np.arange(256, dtype="uint8")
np_bytes = RNG.integers(0, 256, (3, 4)).astype("uint8")
np_sparse = np.array([0, 0, 0, 0, 0, 3, 0, 1, 0, 0, 0, 0])
np_hermitian = np.array([[2.0, 1.0], [1.0, 3.0]])


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
        tight = mine.dtype == other.dtype
        # NumPy's floats of what is no array, and of integers, are of 64 bits.
        assert tight or mine.dtype == "float32", (i, mine.dtype, other.dtype)
        np.testing.assert_allclose(
            mine, other, rtol=1e-9 if tight else 1e-5, atol=1e-12 if tight else 1e-5, err_msg=str(i)
        )
        if mine.dtype.kind == "f" and name in ("modf", "spacing"):
            np.testing.assert_array_equal(np.signbit(mine), np.signbit(other))


@pytest.mark.parametrize(("u", "v"), [(7, 3), (3, 3), (2, 4), (5, 1), (1, 1)])
def test_polynomials_are_divided(u: int, v: int) -> None:
    first, second = RNG.standard_normal(u), RNG.standard_normal(v)
    second[0] = 2
    quotient, rest = svod.polydiv(svod.Tensor(first), svod.Tensor(second))
    wanted, left = np.polydiv(first, second)
    np.testing.assert_allclose(quotient.numpy(), wanted)
    np.testing.assert_allclose(np.polysub(rest.numpy(), left), np.zeros(max(rest.shape[0], len(left))), atol=1e-9)
    assert rest.shape == (max(v - 1, 1) if u >= v else u,)
    whole = svod.polyadd(svod.polymul(quotient, svod.Tensor(second)), rest).numpy()
    np.testing.assert_allclose(whole[len(whole) - u :], first)


# Functions of one tensor, to be traced and derived.
LAZY: dict[str, Callable[[svod.Tensor], Any]] = {
    "block": lambda x: svod.block([[x, x[:, :1]], [x[:1], svod.ones(1, 1, dtype=x.dtype)]]),
    "put_along_axis": lambda x: svod.put_along_axis(x, svod.Tensor(AT[:, :1]), x[:, :1] * 2, 1, inplace=False),
    "choose": lambda x: svod.choose(svod.Tensor(AT), [x, x * 2, x * x]),
    "modf": lambda x: svod.modf(x)[0],
    "divmod": lambda x: svod.divmod(x, 1.5)[1],
    "ediff1d": lambda x: svod.ediff1d(x, to_end=1.0) ** 2,
    "resize": lambda x: svod.resize(x, (4, 9)) ** 2,
    "poly": lambda x: svod.poly(x[0]),
    "polydiv": lambda x: svod.cat([*svod.polydiv(x[0], x[1, :2])], 0),
    "matvec": lambda x: svod.matvec(x, x[0]),
    "vecmat": lambda x: svod.vecmat(x[:, 0], x),
}


@pytest.mark.parametrize("name", LAZY)
def test_they_are_lazy_and_derived(name: str) -> None:
    function, x = LAZY[name], svod.Tensor(A)
    made = svod.jit(function)(x)
    np.testing.assert_allclose(made.numpy(), function(x).numpy())
    weights = svod.Tensor(np.linspace(1, 2, made.numel()).reshape(made.shape))
    found = svod.grad(lambda x: (function(x) * weights).sum())(x).numpy()
    step = 1e-6
    for at in ((0, 0), (1, 1), (2, 3), (0, 3)):
        more, less = A.copy(), A.copy()
        more[at] += step
        less[at] -= step
        ends = [(function(svod.Tensor(one)) * weights).sum().item() for one in (more, less)]
        np.testing.assert_allclose(found[at], (ends[0] - ends[1]) / (2 * step), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["bitwise_count", "packbits", "unpackbits"])
def test_bits_are_traced(name: str) -> None:
    x = svod.Tensor(np_bytes)
    function = getattr(svod, name)
    np.testing.assert_array_equal(svod.jit(function)(x).numpy(), getattr(np, name)(np_bytes))


def test_positions_of_what_is_traced() -> None:
    flat = svod.jit(lambda i, j: svod.ravel_multi_index((i, j), (3, 5)))(svod.Tensor(AT), svod.Tensor(AT))
    np.testing.assert_array_equal(flat.numpy(), np.ravel_multi_index((AT, AT), (3, 5)))
    n = svod.Variable("n", 1, 8)
    rows = svod.empty(n, 2)
    made = svod.matvec(rows, svod.Tensor([1.0, 2.0]))
    plan = made.prepare(inputs=[rows])
    plan.execute(svod.ones(3, 2))
    assert made.tolist() == [3, 3, 3]


def test_what_is_put_is_assigned_as_numpy_does() -> None:
    x = svod.Tensor([[1, 2], [3, 4]])
    other = x
    made = svod.put_along_axis(x, svod.Tensor([[0], [1]]), 9, axis=1)
    assert made is x and other.tolist() == [[9, 2], [3, 9]]
    again = svod.put_along_axis(x, svod.Tensor([[0], [0]]), 5, axis=1, inplace=False)
    assert (x.tolist(), again.tolist()) == ([[9, 2], [3, 9]], [[5, 2], [5, 9]])


def test_numpys_functions_of_a_tensor_are_these() -> None:
    x = svod.Tensor(A)
    for made in (
        *(*np.modf(x), *np.divmod(x, 2.0), np.spacing(x), np.matvec(x, x[0]), np.vecmat(x[:, 0], x)),
        *(np.ediff1d(x), np.compress([True, False], x, axis=1), np.extract(x > 0, x), np.resize(x, (2, 2))),
        *(np.bitwise_count(svod.Tensor(I)), np.packbits(svod.Tensor(B), axis=1), np.choose(svod.Tensor(AT), [1, 2, 3])),
    ):
        assert isinstance(made, svod.Tensor)
    np.testing.assert_array_equal(np.extract(x > 0, x).numpy(), A[A > 0])


ERRORS: list[tuple[Callable[[svod.Tensor], Any], type[Exception], str]] = [
    (lambda x: svod.block([x, [x]]), svod.ArgumentError, "block: arrays: lists are nested deeper at some places"),
    (lambda x: svod.block([[x], []]), svod.ArgumentError, "block: arrays: a list without blocks"),
    (lambda x: svod.block((x, x)), svod.ArgumentTypeError, "block: arrays: nested lists are expected, not a tuple"),
    (lambda x: svod.block([[x, x[:1]]]), svod.ShapeError, "extents off axis 1 differ"),
    (lambda x: svod.choose(x, [x]), svod.DTypeError, "choose: x: integers are expected, not float32"),
    (lambda x: svod.choose(svod.Tensor([0, 2]), [1, 2]), svod.IndexError, "choose: 2 is outside of an extent of 2"),
    (lambda x: svod.choose(svod.Tensor([0]), []), svod.ArgumentError, "choose: choices: at least one"),
    (lambda x: svod.choose(svod.Tensor([0]), [1], mode="no"), svod.ArgumentError, "mode is 'raise', 'wrap' or 'clip'"),
    (lambda x: svod.compress([True] * 3, x, axis=0), svod.IndexError, "it holds at 2, .* outside of an extent of 2"),
    (lambda x: svod.compress(x, x), svod.ShapeError, "compress: condition: truth values along one axis"),
    (lambda x: svod.compress([True], x, axis=2), svod.AxisError, "compress: axis 2 is out of range"),
    (lambda x: svod.ravel_multi_index((3, 1), (3, 5)), svod.IndexError, "ravel_multi_index: 3 is outside of .* 3"),
    (lambda x: svod.ravel_multi_index((1,), (3, 5)), svod.ArgumentError, "each of 2 dimensions .*, not along 1"),
    (lambda x: svod.ravel_multi_index((x, 1), (3, 5)), svod.DTypeError, "integers are expected, not float32"),
    (lambda x: svod.put_along_axis(x, svod.Tensor([1]), 1, 0), svod.ShapeError, "put_along_axis: indices: 2 axes"),
    (lambda x: svod.bitwise_count(x), svod.DTypeError, "bitwise_count: integers are expected, not float32"),
    (lambda x: svod.packbits(x), svod.DTypeError, "packbits: truth values or integers are expected, not float32"),
    (lambda x: svod.packbits(x > 0, bitorder="b"), svod.ArgumentError, "bitorder is 'big' or 'little', not 'b'"),
    (lambda x: svod.unpackbits(x), svod.DTypeError, "unpackbits: uint8 is expected, not float32"),
    (lambda x: svod.unpackbits(svod.ones(1, dtype="uint8"), count=-9), svod.ShapeError, "9 bits less than the 8"),
    (lambda x: svod.trim_zeros(x, "x"), svod.ArgumentError, "trim is 'f', 'b' or both, not 'x'"),
    (lambda x: svod.resize(x, -1), svod.ArgumentError, "resize: new_shape: extents that are not negative"),
    (lambda x: svod.poly(x), svod.ShapeError, "poly: roots along one axis, or a square matrix"),
    (lambda x: svod.polydiv(x, [1]), svod.ShapeError, "polydiv: coefficients along one axis"),
    (lambda x: svod.ediff1d(svod.arange(3), to_end=0.5), svod.DTypeError, "to_end: what int64 can hold .*, not float"),
    (lambda x: svod.diag_indices_from(x), svod.ShapeError, "at least two dimensions of one extent"),
    (lambda x: svod.tril_indices_from(x[0]), svod.ShapeError, "tril_indices_from: a matrix is expected"),
    (lambda x: svod.matvec(x[0], x), svod.ShapeError, "matvec: matrices and vectors are expected"),
    (lambda x: svod.vecmat(x, x[0]), svod.ShapeError, "vecmat: vectors and matrices are expected"),
    (lambda x: svod.modf(x + 1j), svod.DTypeError, "modf: real numbers are expected, not complex64"),
]


@pytest.mark.parametrize("at", range(len(ERRORS)))
def test_errors_say_what_was_given(at: int) -> None:
    call, kind, message = ERRORS[at]
    with pytest.raises(kind, match=message):
        call(svod.Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))


def test_what_they_make_is_where_the_tensor_is() -> None:
    x, i = svod.Tensor(A).to("CPU:1"), svod.Tensor(AT).to("CPU:1")
    made = [
        *(svod.block([[x, x]]), svod.put_along_axis(x, i[:, :1], 9.0, 1, inplace=False), svod.choose(i, [x, 2.0, x])),
        *(svod.ravel_multi_index((i, i), (3, 3)), svod.compress([True, False], x, axis=0), svod.extract(i > 0, x)),
        *(svod.modf(x)[0], svod.ediff1d(x, to_end=[1.0]), svod.bitwise_count(i), svod.packbits(i, 1)),
        *(svod.unpackbits(i.cast("uint8"), 1), svod.trim_zeros(i), svod.resize(x, (4, 9)), svod.resize(x[:0], 3)),
        *(svod.poly(x[0]), *svod.polydiv(x[0], x[1, :1]), svod.iscomplex(x), svod.isreal(x), svod.spacing(x)),
        *(*svod.diag_indices_from(x[:, :3]), *svod.tril_indices_from(x), svod.matvec(x, x[0]), svod.vecmat(x[:, 0], x)),
    ]
    assert {one.device for one in made} == {"CPU:1"}
    svod.realize(*made)


METHODS = [
    "linear", "lower", "higher", "nearest", "midpoint", "inverted_cdf", "averaged_inverted_cdf", "closest_observation",
    "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased",
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_methods_of_quantiles(method: str) -> None:
    parts = [0, 0.1, 0.2, 0.25, 0.3, 0.5, 0.6, 0.75, 1]
    for n in (1, 2, 3, 5, 8):
        x = np.random.default_rng(n).random((2, n))
        for name in ("quantile", "nanquantile"):
            ours = getattr(svod, name)(svod.Tensor(x), parts, axis=1, method=method)
            np.testing.assert_allclose(ours.numpy(), getattr(np, name)(x, parts, axis=1, method=method), rtol=1e-12)
    x[:, 0] = np.nan
    ours, theirs = svod.nanquantile(x, parts, axis=1, method=method), np.nanquantile(x, parts, axis=1, method=method)
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-12)


def test_quantiles_of_nothing() -> None:
    for name in ("quantile", "nanquantile", "percentile", "nanpercentile"):
        with pytest.raises(svod.ArgumentError, match=rf"{name}: no element of float32\[0\]"):
            getattr(svod, name)(svod.zeros(0), 0.5)
        with pytest.raises(svod.ArgumentError, match=rf"{name}: no element along axis 1 of float32\[2, 0\]"):
            getattr(svod, name)(svod.zeros(2, 0), 0.5, axis=1)
        assert getattr(svod, name)(svod.zeros(0, 2), 0.5, axis=1).shape == (0,)


def test_sparse_grids() -> None:
    lines = [np.arange(3), np.arange(4.0), np.arange(2)]
    for count in range(4):
        for indexing in ("xy", "ij"):
            ours = svod.meshgrid(*map(svod.Tensor, lines[:count]), indexing=indexing, sparse=True)
            theirs = np.meshgrid(*lines[:count], indexing=indexing, sparse=True)  # type: ignore[call-overload]
            assert len(ours) == len(theirs)
            for one, other in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(one.numpy(), other)
                assert one.shape == other.shape
