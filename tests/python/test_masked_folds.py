"""Folds of some elements that begin with a number: `where` and `initial`, as NumPy has them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import svod

RNG = np.random.default_rng(3)
SHAPES = [((), [None]), ((1,), [None, 0]), ((4, 5), [None, 0, -1, (0, 1)]), ((2, 0, 3), [0, 1, 2, None])]
DTYPES = ["bool", "int8", "uint8", "int32", "uint64", "float16", "float32", "float64", "complex64"]
WITH_INITIAL = ["sum", "prod", "min", "max", "amin", "amax", "nansum", "nanprod", "nanmin", "nanmax"]
WITHOUT = ["mean", "std", "var", "any", "all", "nanmean", "nanstd", "nanvar"]
EXTREMES = ["min", "max", "amin", "amax", "nanmin", "nanmax"]


def elements(dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    made = RNG.integers(0 if dtype[0] in "bu" else -3, 4, shape)
    return np.asarray(made + 1j * RNG.integers(-3, 4, shape) if dtype == "complex64" else made).astype(dtype)


def check(name: str, x: np.ndarray[Any, Any], **options: Any) -> None:
    """That svod's function, its method and NumPy's function of the tensor give what NumPy's of the array does."""
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        wanted = np.asarray(getattr(np, name)(x, **options))
    t = svod.Tensor(x)
    ours = dict(options)
    if isinstance(mask := options.get("where"), np.ndarray):
        ours["where"] = svod.Tensor(mask)
    for found in (getattr(svod, name)(t, **ours), getattr(np, name)(t, **ours)):
        assert isinstance(found, svod.Tensor)
        assert found.shape == wanted.shape, (name, options)
        if wanted.dtype != "float64" or x.dtype.kind == "f":
            dtype = str(wanted.dtype)
            signless = name in ("nansum", "nanprod") and x.dtype == "uint8"
            assert found.dtype == ("int64" if signless else dtype), (name, options)
        rtol = 4e-3 if x.dtype == "float16" else 1e-5
        np.testing.assert_allclose(found.numpy(), wanted, rtol=rtol, err_msg=f"{name} {options}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", WITH_INITIAL + WITHOUT)
def test_elements_that_are_taken_fold_as_numpy_has_them(name: str, dtype: str) -> None:
    if dtype == "complex64" and name in EXTREMES:
        return
    for shape, axes in SHAPES:
        x = elements(dtype, shape)
        masks: list[Any] = [RNG.integers(0, 2, shape).astype(bool), False]
        if len(shape) == 2:
            masks += [RNG.integers(0, 2, shape[1:]).astype(bool), RNG.integers(0, 2, (shape[0], 1)).astype(bool)]
        for axis in axes:
            for mask in masks:
                for keepdims in (False, True):
                    initial = {"initial": 2} if name in EXTREMES else {}
                    check(name, x, axis=axis, where=mask, keepdims=keepdims, **initial)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", WITH_INITIAL)
def test_folds_begin_with_a_number_as_numpy_has_it(name: str, dtype: str) -> None:
    if dtype == "complex64" and name in EXTREMES:
        return
    for shape, axes in SHAPES:
        x = elements(dtype, shape)
        for axis in axes:
            for initial in (2, True, 1.5):
                check(name, x, axis=axis, initial=initial)


@pytest.mark.parametrize("name", WITH_INITIAL)
def test_nan_is_left_out_where_it_is_not_taken(name: str) -> None:
    x = np.float32([[1, np.nan, 3], [np.nan, np.nan, np.inf]])
    for initial in (0.5, -np.inf, np.nan):
        check(name, x, axis=1, initial=initial)
        check(name, x, axis=1, initial=initial, where=np.array([[True, False, True], [False, True, False]]))


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
@pytest.mark.parametrize("correction", [1, 2, 5])
def test_spreads_are_of_the_number_of_elements_taken(name: str, correction: int) -> None:
    x = np.float64([[1, 2, 4, 8], [3, 3, 3, 5], [7, 1, 1, 1]])
    mask = np.array([[True, True, False, True], [False, True, True, False], [False, False, False, False]])
    check(name, x, axis=1, where=mask, ddof=correction)


def test_methods_take_them_too() -> None:
    x, mask = svod.Tensor([[1.0, 5.0], [7.0, 2.0]]), svod.Tensor([True, False])
    assert x.sum(1, where=mask, initial=10).tolist() == [11, 17]
    assert x.max(axis=1, where=mask, initial=3).tolist() == [3, 7]
    assert x.max(1, where=mask, initial=3).tolist() == [3, 7]  # Values alone: an initial value has no position.
    assert x.mean(where=mask).item() == 4 and x.var(where=mask).item() == 18
    assert (x > 6).any(1, where=mask).tolist() == [False, True]
    assert svod.logsumexp(x, 1, where=mask).tolist() == [1, 7]


def test_methods_of_numpy_s_functions_are_svod_s() -> None:
    a = np.int32([[3, 1, 2], [-4, 6, 5]])
    mask = np.array([True, False, True])
    for fold in (np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or):
        every: list[dict[str, Any]] = [{}, {"axis": 1}, {"axis": None}, {"axis": (0, 1), "keepdims": True}]
        every.append({"axis": 1, "where": mask} | ({} if "logical" in fold.__name__ else {"initial": 2}))
        for options in every:
            wanted, found = np.asarray(fold.reduce(a, **options)), fold.reduce(svod.Tensor(a), **options)
            assert isinstance(found, svod.Tensor) and found.dtype == str(wanted.dtype), (fold, options)
            np.testing.assert_array_equal(found.numpy(), wanted)
    for fold in (np.add, np.multiply, np.maximum, np.minimum):
        for axis in (0, 1):
            wanted, found = fold.accumulate(a, axis=axis), fold.accumulate(svod.Tensor(a), axis=axis)
            assert isinstance(found, svod.Tensor) and found.dtype == str(wanted.dtype)
            np.testing.assert_array_equal(found.numpy(), wanted)


def test_numpy_s_folds_of_tensors_have_gradients() -> None:
    x = svod.Tensor([1.0, 4.0, 3.0]).requires_grad_()
    (np.sum(x * x, where=[True, False, True], initial=5.0) + np.add.reduce(x)).backward()
    assert x.grad.tolist() == [3, 1, 7]


@pytest.mark.parametrize("name", [*WITH_INITIAL, "mean", "var", "std", "nanmean", "nanvar", "logsumexp"])
def test_gradients_are_of_the_elements_taken(name: str) -> None:
    mask = svod.Tensor([[True, False, True], [True, True, False], [False, False, False]])
    values = svod.Tensor([[0.5, svod.nan, 2.0], [1.5, -1.0, svod.inf], [svod.nan, 1.0, 2.0]], dtype="float64")
    initial = {"initial": 1.25} if name in WITH_INITIAL else {}

    def fold(x: svod.Tensor) -> svod.Tensor:
        made = getattr(svod, name)(x, axis=1, where=mask, **initial)
        assert isinstance(made, svod.Tensor)
        return (
            svod.where(svod.Tensor([True, True, name not in ("mean", "var", "std", "logsumexp")]), made, 0)
            .nan_to_num(0)
            .sum()
        )

    x = values.requires_grad_()
    fold(x).backward()
    found = x.grad.numpy()
    assert (found[~mask.numpy()] == 0).all()
    h = 1e-6
    for i, j in ((0, 0), (0, 2), (1, 0), (1, 1)):
        step = np.zeros((3, 3))
        step[i, j] = h
        slope = (fold(values + step).item() - fold(values - step).item()) / (2 * h)
        np.testing.assert_allclose(found[i, j], slope, rtol=1e-5, atol=1e-8)


def test_sizes_may_be_variables() -> None:
    n = svod.Variable("n", 0, 8)
    x = svod.Tensor(np.arange(8.0, dtype="float32"))[: n.bind(5)]
    assert x.max(initial=2).item() == 4 and x.sum(where=x > 2, initial=1).item() == 8


def test_what_does_not_fit_is_an_error() -> None:
    x = svod.Tensor([[1, 2, 3], [4, 5, 6]], dtype="int32")
    mask = svod.Tensor([True, False, True])
    for name in EXTREMES:
        with pytest.raises(svod.ArgumentError, match="initial"):
            getattr(svod, name)(x, where=mask)
    for name in ("sum", "max", "mean", "any", "nansum"):
        initial = {"initial": 0} if name == "max" else {}
        with pytest.raises(svod.DTypeError, match=r"where must be bool, not int64\[3\]"):
            getattr(svod, name)(x, where=[1, 0, 1], **initial)
        with pytest.raises(svod.ShapeError, match=r"where does not expand .*: bool\[2, 2, 3\], \w+\[2, 3\]"):
            getattr(svod, name)(x, where=svod.ones(2, 2, 3, dtype="bool"), **initial)
    with pytest.raises(svod.OverflowError, match="max: 1099511627776 does not fit int32"):
        svod.max(x, initial=2**40)
    with pytest.raises(svod.ShapeError, match=r"sum: initial is a scalar, not int64\[3\]"):
        svod.sum(x, 0, initial=[1, 2, 3])
    with pytest.raises(svod.ArgumentTypeError, match="max: initial and where are of elements along axes"):
        svod.max(x, x, initial=3)
