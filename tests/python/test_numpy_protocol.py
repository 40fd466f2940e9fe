"""Functions of NumPy and JAX that are given a tensor: svod's where it has them, NumPy's of the values elsewhere."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
from svod import _numpy

A = np.float32([[1, 2, 3], [4, -5, 6]])
B = np.float32([[2, 2, 1], [1, 3, 2]])
M, N = np.int32([[1, 2, 3], [4, 5, 6]]), np.int32([[1, 1, 2], [2, 3, 1]])
NUMBERS = dict.fromkeys(_numpy.ELEMENTWISE, (A, B))
NUMBERS |= {name: (np.abs(A), B) for name in ("log", "log2", "sqrt", "power")}
NUMBERS |= dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"), (M, N))
NUMBERS |= dict.fromkeys(("logical_and", "logical_or", "logical_xor", "logical_not"), (A > 1, B > 1))
NUMBERS |= dict.fromkeys(("arccos", "arcsin", "arctanh"), (A / 8, B))
NUMBERS |= dict.fromkeys(("arccosh", "log10", "log1p"), (np.abs(A), B))
NUMBERS["matmul"] = (A, B.T.copy())
NUMBERS |= {"matvec": (A, B[0].copy()), "vecmat": (A[:, 0].copy(), B), "bitwise_count": (M, N)}


@pytest.mark.parametrize("name", _numpy.ELEMENTWISE)
def test_elementwise_functions_are_svod_s(name: str) -> None:
    theirs = getattr(np, name)
    arrays = NUMBERS[name][: theirs.nin]
    tensors = [svod.Tensor(a) for a in arrays]
    wanted = theirs(*arrays)
    if theirs.nout == 2:
        for one, other in zip(theirs(*tensors), wanted, strict=True):
            assert isinstance(one, svod.Tensor) and (one.dtype, one.shape) == (str(other.dtype), other.shape)
            np.testing.assert_allclose(one.numpy(), other, rtol=1e-6)
        return
    mixed = [tensors] + ([[arrays[0], tensors[1]], [tensors[0], arrays[1]]] if theirs.nin == 2 else [])
    for operands in mixed:
        found = theirs(*operands)
        assert isinstance(found, svod.Tensor)
        assert (found.dtype, found.shape) == (str(wanted.dtype), wanted.shape)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)


CALLS: dict[str, list[Callable[[Any], Any]]] = {
    "all": [lambda x: np.all(x > 0, axis=1)],
    "amax": [lambda x: np.amax(x, 1)],
    "amin": [lambda x: np.amin(x, 1)],
    "any": [lambda x: np.any(x > 5, axis=0, keepdims=True)],
    "argmax": [lambda x: np.argmax(x, 1)],
    "argmin": [lambda x: np.argmin(x)],
    "argsort": [lambda x: np.argsort(x), lambda x: np.argsort(x, 0)],
    "broadcast_to": [lambda x: np.broadcast_to(x, (2, 2, 3))],
    "clip": [lambda x: np.clip(x, 0, 3), lambda x: np.clip(x, None, 2), lambda x: np.clip(x, min=2, max=3)],
    "choose": [lambda x: np.choose(x > 2, [x, 1]), lambda x: np.choose(x > 2, [x, 1], mode="wrap")],
    "compress": [lambda x: np.compress([True, False], x, axis=0), lambda x: np.compress([False, True], x)],
    "concatenate": [lambda x: np.concatenate([x, x]), lambda x: np.concatenate((x, A), axis=1)],
    "count_nonzero": [lambda x: np.count_nonzero(x > 1, axis=0), lambda x: np.count_nonzero(x, axis=1, keepdims=True)],
    "cumulative_prod": [lambda x: np.cumulative_prod(x, axis=1)],
    "cumulative_sum": [lambda x: np.cumulative_sum(x, axis=0)],
    "diff": [lambda x: np.diff(x), lambda x: np.diff(x, 1, 0), lambda x: np.diff(x, axis=1, prepend=x[:, :1])],
    "ediff1d": [lambda x: np.ediff1d(x), lambda x: np.ediff1d(x, to_begin=x[0])],
    "extract": [lambda x: np.extract(x > 2, x)],
    "expand_dims": [lambda x: np.expand_dims(x, 1)],
    "flip": [lambda x: np.flip(x), lambda x: np.flip(x, 1)],
    "full_like": [lambda x: np.full_like(x, 3), lambda x: np.full_like(x, 2.5, dtype="float64")],
    "isin": [lambda x: np.isin(x, [1.0, 5.0]), lambda x: np.isin(x, A[0], invert=True)],
    "matrix_transpose": [lambda x: np.matrix_transpose(x)],
    "max": [lambda x: np.max(x), lambda x: np.max(axis=1, a=x)],
    "mean": [lambda x: np.mean(x, 0), lambda x: np.mean(x, keepdims=True)],
    "min": [lambda x: np.min(x, axis=(0, 1))],
    "moveaxis": [lambda x: np.moveaxis(x, 0, 1)],
    "nanmax": [lambda x: np.nanmax(x, 1), lambda x: np.nanmax(x, initial=9)],
    "nanmean": [lambda x: np.nanmean(x, 0), lambda x: np.nanmean(x, where=A > 1)],
    "nanmin": [lambda x: np.nanmin(x, axis=(0, 1))],
    "nanprod": [lambda x: np.nanprod(x, 1, keepdims=True)],
    "nanstd": [lambda x: np.nanstd(x, 1), lambda x: np.nanstd(x, ddof=1)],
    "nansum": [lambda x: np.nansum(x, 0), lambda x: np.nansum(x, dtype=np.float64, initial=2)],
    "nanvar": [lambda x: np.nanvar(x, axis=0, where=A > -9)],
    "nonzero": [lambda x: np.nonzero(x)[1]],
    "ones_like": [lambda x: np.ones_like(x)],
    "packbits": [lambda x: np.packbits(x > 2), lambda x: np.packbits(x > 2, axis=1, bitorder="little")],
    "prod": [lambda x: np.prod(x, 1)],
    "repeat": [lambda x: np.repeat(x, 2), lambda x: np.repeat(x, [2, 1], axis=0)],
    "reshape": [lambda x: np.reshape(x, (3, 2)), lambda x: np.reshape(x, -1)],
    "resize": [lambda x: np.resize(x, (2, 5))],
    "roll": [lambda x: np.roll(x, 1, 1), lambda x: np.roll(x, 2)],
    "searchsorted": [
        lambda x: np.searchsorted(np.sort(x[0]), x[1]),
        lambda x: np.searchsorted(x[0], 2.0, side="right"),
    ],
    "sort": [lambda x: np.sort(x), lambda x: np.sort(x, axis=0)],
    "squeeze": [lambda x: np.squeeze(x[:1]), lambda x: np.squeeze(x[:, :1], 1)],
    "stack": [lambda x: np.stack([x, x], 1)],
    "std": [lambda x: np.std(x), lambda x: np.std(x, 1, ddof=1), lambda x: np.std(x, keepdims=True)],
    "sum": [lambda x: np.sum(x), lambda x: np.sum(x, 0, keepdims=True), lambda x: np.sum(x, dtype=np.float64)],
    "take": [lambda x: np.take(x, [0, 1], 1), lambda x: np.take(x, [5, 0])],
    "take_along_axis": [lambda x: np.take_along_axis(x, np.array([[0], [1]]), axis=1)],
    "tensordot": [lambda x: np.tensordot(x, x), lambda x: np.tensordot(x, x.T, 1)],
    "tile": [lambda x: np.tile(x, 2), lambda x: np.tile(x, (2, 1, 1))],
    "transpose": [lambda x: np.transpose(x), lambda x: np.transpose(x, (1, 0))],
    "tril": [lambda x: np.tril(x), lambda x: np.tril(x, 1)],
    "triu": [lambda x: np.triu(x, k=-1)],
    "unpackbits": [lambda x: np.unpackbits(x.astype("uint8"), axis=0, count=5)],
    "var": [lambda x: np.var(x, axis=0), lambda x: np.var(x, correction=1)],
    "where": [lambda x: np.where(x > 2, x, 0), lambda x: np.where(A > 2, x, B)],
    "zeros_like": [lambda x: np.zeros_like(x), lambda x: np.zeros_like(x, dtype="int32")],
}


def test_every_row_is_called() -> None:
    assert CALLS.keys() == _numpy.FUNCTIONS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_functions_are_svod_s(name: str) -> None:
    for call in CALLS[name]:
        wanted, found = call(A), call(svod.Tensor(A))
        assert isinstance(found, svod.Tensor)
        assert (found.dtype, found.shape) == (str(wanted.dtype), wanted.shape)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)


ELSEWHERE: dict[str, Callable[[Any], Any]] = {
    "a function that svod lacks": lambda x: np.heaviside(x, 2),
    "a module's function": lambda x: np.linalg.norm(x),
    "a method": lambda x: np.subtract.reduce(x),
    "an option": lambda x: np.std(x, mean=np.float32(2)),
    "a type": lambda x: np.nanmean(x, dtype=np.float64),
    "an option of an elementwise function": lambda x: np.add(x, x, dtype=np.float64),
    "a condition alone": lambda x: np.where(x > 2)[0],
    "tensors in a list": lambda x: np.vstack([x, x]),
    "several results": lambda x: np.array_split(x, 2, axis=1)[1],
    "a named pair": lambda x: np.linalg.eigh(x @ x.T).eigenvalues,
    "numbers of another kind": lambda x: np.sort_complex(x),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_svod_lacks_is_numpy_s_of_the_values(name: str) -> None:
    found, wanted = ELSEWHERE[name](svod.Tensor(A)), ELSEWHERE[name](A)
    assert isinstance(found, svod.Tensor) and found.dtype == str(wanted.dtype)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6, atol=1e-6)


def test_arrays_that_numpy_is_given_to_write_stay_arrays() -> None:
    out = np.zeros_like(A)
    assert np.add(svod.Tensor(A), A, out=out) is out and np.cumsum(svod.Tensor(A), 1, out=out) is out
    np.testing.assert_allclose(out, A.cumsum(1), rtol=1e-6)


def test_what_is_no_array_stays_what_it_is() -> None:
    x = svod.Tensor(A)
    assert np.shape(x) == A.shape and np.ndim(x) == 2 and np.allclose(x, A) is True
    assert isinstance(np.array2string(x), str) and np.result_type(x, np.float64) == np.float64


def test_numpy_does_not_write_tensors() -> None:
    x = svod.Tensor(A)
    for write in (
        lambda: np.add(A, A, out=x),
        lambda: np.sum(A, axis=0, out=svod.zeros(3)),
        lambda: np.add.at(x, 0, 1),
    ):
        with pytest.raises(TypeError, match="a tensor is a value"):
            write()
    np.testing.assert_array_equal(x.numpy(), A)


@pytest.mark.parametrize(
    "apply",
    [operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.eq, operator.ne, operator.mod],
)
def test_operators_of_an_array_and_a_tensor_give_tensors(apply: Callable[[Any, Any], Any]) -> None:
    x = svod.Tensor(B)
    for left in (A, np.float32(3), np.float64(3), np.int64(3)):
        for found, wanted in ((apply(left, x), apply(left, B)), (apply(x, left), apply(B, left))):
            assert isinstance(found, svod.Tensor)
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)


def test_an_array_stays_one_that_a_tensor_is_added_to() -> None:
    a = A.copy()
    before = a
    a += svod.Tensor(B)
    assert a is before
    np.testing.assert_array_equal(a, A + B)


def test_functions_of_numpy_are_traced() -> None:
    f = svod.jit(lambda x: np.sum(np.exp(x), axis=0))
    for _ in range(2):
        np.testing.assert_allclose(f(svod.Tensor(A)).numpy(), np.exp(A).sum(0), rtol=1e-6)
    with pytest.raises(svod.TraceError):
        svod.jit(lambda x: svod.Tensor(np.heaviside(x, 1)))(svod.Tensor(A))


def test_jax_takes_tensors() -> None:
    jnp = pytest.importorskip("jax.numpy")
    x = svod.Tensor(A)
    for tensor, wanted in ((x, A), (x + 1, A + 1), (x.int(), A.astype("int32")), (x > 1, A > 1)):
        found = jnp.asarray(tensor)
        assert (str(found.dtype), found.shape) == (str(wanted.dtype), wanted.shape)
        np.testing.assert_array_equal(np.asarray(found), wanted)
    assert str(jnp.asarray(x.to("bfloat16")).dtype) == "bfloat16"


def test_what_is_like_a_tensor_has_the_type_and_device_that_are_named() -> None:
    x = svod.Tensor([[1, 2]])
    for made, wanted in (
        (svod.full_like(x, 2.5, dtype=svod.float64), 2.5),
        (svod.ones_like(x, dtype="float64"), 1),
        (svod.zeros_like(x, dtype=float), 0),
    ):
        assert (made.dtype, made.shape, made.device) == (svod.float64, (1, 2), "CPU")
        assert made.tolist() == [[wanted] * 2]
    for made in (svod.full_like(x, 2), svod.ones_like(x), svod.zeros_like(x), svod.zeros_like(x, device="CPU")):
        assert (made.dtype, made.shape, made.device) == (x.dtype, (1, 2), "CPU")


def test_integers_that_do_not_fit_are_typed_errors() -> None:
    x = svod.Tensor(A)
    for call in (
        lambda: svod.manual_seed(1 << 70),
        lambda: svod.randint(0, 1 << 70, 3),
        lambda: x.sum(1 << 70),
        lambda: x.sum((0, 1 << 70)),
        lambda: x.softmax(1 << 70),
    ):
        with pytest.raises(svod.ArgumentError, match=r"64 bits"):
            call()
    svod.manual_seed(-1)
    first = svod.rand(3).tolist()
    svod.manual_seed((1 << 64) - 1)
    assert svod.rand(3).tolist() == first
