"""Counts in bins, and orders of all elements, compared with NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
DTYPES = ["uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"]


def integers(dtype: str, count: int = 1000) -> np.ndarray[Any, Any]:
    if dtype == "bool":
        return RNG.random(count) < 0.3
    info = np.iinfo(dtype)
    return RNG.integers(max(info.min, -(2**40)), min(info.max, 2**40), count, dtype=dtype, endpoint=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("density", [False, True])
def test_histograms_of_integers_are_numpys(dtype: str, density: bool) -> None:
    x = integers(dtype)
    plain = x.astype("uint8") if dtype == "bool" else x
    for bins in (1, 2, 4, 7):
        counts, edges = svod.histogram(svod.Tensor(x), bins, density=density)
        wanted, lines = np.histogram(plain, bins, density=density)
        assert counts.dtype.name == wanted.dtype.name and edges.dtype == "float64"
        np.testing.assert_allclose(counts.numpy(), wanted, rtol=1e-12)
        np.testing.assert_allclose(edges.numpy(), lines, rtol=1e-12)
        np.testing.assert_allclose(svod.histogram_bin_edges(svod.Tensor(x), bins).numpy(), lines, rtol=1e-12)


def test_bytes_that_a_reader_counted() -> None:
    x = np.random.default_rng(0).integers(0, 256, 10_000, dtype="uint8")
    counts, edges = svod.histogram(svod.Tensor(x), 4)
    assert counts.tolist() == np.histogram(x, 4)[0].tolist()
    assert edges.tolist() == np.histogram(x, 4)[1].tolist()
    counted = svod.histc(svod.zeros(300, dtype="int8"), 1, -1, 1)
    assert counted.tolist() == [300] and counted.dtype == "int64"
    assert svod.histc(svod.Tensor(x), 16, 0, 255).tolist() == np.histogram(x, 16, (0, 255))[0].tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_counts_of_small_floats_are_exact(dtype: str) -> None:
    x = svod.ones(70_001, dtype=dtype)
    for counts in (svod.histogram(x, 1, range=(0.0, 2.0))[0], svod.histc(x, 1, 0, 2)):
        assert counts.dtype == "float32" and counts.tolist() == [70_001]


@pytest.mark.parametrize("edges", [[0, 10, 100, 200], [0.5, 10.5, 254.5]])
def test_edges_may_be_lists_and_arrays(edges: list[Any]) -> None:
    x = integers("uint8")
    wanted = np.histogram(x, edges)[0].tolist()
    for bins in (edges, np.array(edges), svod.Tensor(np.array(edges))):
        assert svod.histogram(svod.Tensor(x), bins=bins)[0].tolist() == wanted
        assert svod.Tensor(x).histogram(bins)[0].tolist() == wanted
        assert svod.histogram_bin_edges(svod.Tensor(x), bins).tolist() == edges


def test_weights_of_integers_are_summed_as_numpy_does() -> None:
    x, whole, parts = integers("uint8"), RNG.integers(0, 9, 1000), RNG.random(1000)
    for weights in (whole, parts):
        found = svod.histogram(svod.Tensor(x), 5, weight=svod.Tensor(weights))[0].numpy()
        wanted = np.histogram(x, 5, weights=weights)[0]
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    with pytest.raises(svod.ShapeError, match="histogram: weight"):
        svod.histogram(svod.Tensor(x), 5, weight=svod.ones(3))


@pytest.mark.parametrize("density", [False, True])
def test_boxes_of_integers_are_numpys(density: bool) -> None:
    x, y = integers("uint8"), integers("uint8")
    found = svod.histogram2d(svod.Tensor(x), svod.Tensor(y), (3, 4), density=density)
    for ours, theirs in zip(found, np.histogram2d(x, y, (3, 4), density=density), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-12)
    counts, edges = svod.histogramdd(svod.Tensor(np.stack([x, y], 1)), (3, 4), density=density)
    wanted, lines = np.histogramdd(np.stack([x, y], 1), (3, 4), density=density)
    np.testing.assert_allclose(counts.numpy(), wanted, rtol=1e-12)
    for ours, theirs in zip(edges, lines, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-12)


def test_bins_that_are_none() -> None:
    for bins in (0, -1):
        with pytest.raises(svod.ArgumentError, match="histogram: bins"):
            svod.histogram(svod.ones(3), bins)
    with pytest.raises(svod.ShapeError, match="histogram: bins"):
        svod.histogram(svod.ones(3), [1.0])
    with pytest.raises(svod.ArgumentTypeError, match="histogram: bins"):
        svod.histogram(svod.ones(3), "auto")


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("bins", [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [2.0, 2.0], [2.0]])
def test_bins_of_elements_fall_or_rise(right: bool, bins: list[float]) -> None:
    x = np.array([0, 1, 1.5, 2, 2.5, 3, 4])
    wanted = np.digitize(x, bins, right=right).tolist()
    assert svod.digitize(svod.Tensor(x), svod.Tensor(bins), right=right).tolist() == wanted


X = np.array([[3, 1, 2], [0, 5, 4]])
FLAT: dict[str, Callable[[Any, Any], Any]] = {
    "sort": lambda xp, x: xp.sort(x, axis=None),
    "argsort": lambda xp, x: xp.argsort(x, axis=None),
    "concatenate": lambda xp, x: xp.concatenate([x, x], axis=None),
    "take_along_axis": lambda xp, x: xp.take_along_axis(x, x[0], axis=None),
    "sort along an axis": lambda xp, x: xp.sort(x, axis=0),
    "sort of the last axis": lambda xp, x: xp.sort(x),
    "concatenate along an axis": lambda xp, x: xp.concatenate([x, x], 1),
}


@pytest.mark.parametrize("name", FLAT)
def test_without_an_axis_a_tensor_is_flat(name: str) -> None:
    call = FLAT[name]
    wanted = call(np, X).tolist()
    for xp in (svod, np):
        found = call(xp, svod.Tensor(X))
        assert isinstance(found, svod.Tensor) and found.tolist() == wanted


def test_pytorchs_sort_is_a_pair() -> None:
    found = svod.sort(svod.Tensor(X), dim=0)
    assert [part.tolist() for part in found] == [part.tolist() for part in torch.sort(torch.tensor(X), dim=0)]
    with pytest.raises(svod.ArgumentTypeError, match="one argument"):
        svod.sort(svod.Tensor(X), dim=0, axis=1)


OBSERVED, OTHERS = RNG.random((3, 7)), RNG.random((2, 7))
OPTIONS: dict[str, Callable[[Any, Callable[[Any], Any]], Any]] = {
    "cov": lambda xp, x: xp.cov(x(OBSERVED), x(OTHERS)),
    "cov of vectors": lambda xp, x: xp.cov(x(OBSERVED[0]), x(OTHERS[0])),
    "cov of columns": lambda xp, x: xp.cov(x(OBSERVED.T), x(OTHERS.T), rowvar=False),
    "cov of weights": lambda xp, x: xp.cov(x(OBSERVED), x(OTHERS[0]), aweights=np.arange(1.0, 8)),
    "corrcoef": lambda xp, x: xp.corrcoef(x(OBSERVED), x(OTHERS)),
    "corrcoef of vectors": lambda xp, x: xp.corrcoef(x(OBSERVED[0]), x(OTHERS[0])),
    "corrcoef of columns": lambda xp, x: xp.corrcoef(x(OBSERVED.T), x(OTHERS.T), rowvar=False),
    "average": lambda xp, x: xp.average(x(OBSERVED), axis=1, returned=True),
    "average of weights": lambda xp, x: xp.average(x(OBSERVED), axis=0, weights=[1.0, 2.0, 3.0], returned=True),
    "interp": lambda xp, x: xp.interp(x(np.array([-180.0, 0, 45, 200, 365])), x(DEGREES), x(HEIGHTS), period=360),
    "interp of a negative period": lambda xp, x: xp.interp(x(np.array([1.0, 700])), x(DEGREES), x(HEIGHTS), period=-90),
    **{
        f"{name} {axis} {keep}": lambda xp, x, name=name, axis=axis, keep=keep: getattr(xp, name)(
            x(CUBE), [0.2, 0.9], axis=axis, keepdims=keep
        )
        for name in ("quantile", "nanquantile", "percentile", "nanpercentile")
        for axis in ((0, 1), (2, 0), (-1,), (0, 1, 2))
        for keep in (False, True)
    },
    "quantile of one part": lambda xp, x: xp.quantile(x(CUBE), 0.3, axis=(0, -1)),
}
DEGREES, HEIGHTS = np.array([350.0, 5, 100, 190]), np.array([1.0, 2, 5, 3])
CUBE = RNG.random((3, 4, 5))


@pytest.mark.parametrize("name", OPTIONS)
def test_numpys_options(name: str) -> None:
    ours, theirs = OPTIONS[name](svod, svod.Tensor), OPTIONS[name](np, lambda a: a)
    if not isinstance(theirs, tuple):
        ours, theirs = (ours,), (theirs,)
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == np.shape(other)
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-12, atol=1e-14)


def test_observations_do_not_fit() -> None:
    for call in (svod.cov, svod.corrcoef):
        with pytest.raises(svod.ShapeError, match=f"{call.__name__}: y: 7 observations"):
            call(svod.ones(3, 7), svod.ones(2, 6))


def test_a_list_of_edges_beside_integers_keeps_its_digits() -> None:
    numbers, edges = np.array([16777216, 16777217, 16777218]), [16777217.0, 16777219.0]
    counts, found = svod.histogram(svod.Tensor(numbers), edges)
    np.testing.assert_array_equal(counts.numpy(), np.histogram(numbers, edges)[0])
    np.testing.assert_array_equal(found.numpy(), edges)
