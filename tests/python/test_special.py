"""Special functions beside arithmetic of more digits, where mpmath or SciPy is there, and identities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import svod

INF, NAN = float("inf"), float("nan")

# Numbers that each function takes, and units in the last place that it may be off in float64; of float32 it is one.
ARGUMENTS: dict[str, tuple[list[float], float]] = {
    "digamma": ([0.1, 0.5, 1.0, 2.5, 7.0, 10.5, 1e3, 1e10, -0.5, -1.25, -7.75, -100.5, 1e-8, -1e-8], 16),
    "erfc": ([-30.0, -2.0, -0.5, -1e-3, 0.0, 1e-3, 0.3, 0.5, 0.6, 1.0, 2.0, 3.3, 5.0, 10.0, 20.0, 26.0], 16),
    "erfinv": ([-0.999, -0.9, -0.5, -0.1, -1e-9, 0.0, 1e-9, 0.1, 0.49, 0.5, 0.51, 0.9, 0.99, 0.999999, 1 - 1e-12], 16),
    "i0": ([-20.0, -1.0, 0.0, 1e-4, 0.5, 1.0, 4.0, 7.9, 8.0, 8.1, 20.0, 100.0, 700.0], 20),
    "lgamma": ([1e-10, 0.1, 0.5, 0.9, 1.5, 2.5, 3.0, 9.5, 10.5, 100.0, 1e5, 1e300, -0.5, -1.5, -3.25, -9.9, -50.5], 16),
}


def exact(name: str, x: float) -> Any:
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workprec(200):
        function = {
            "digamma": lambda x: mpmath.digamma(x),
            "erfc": mpmath.erfc,
            "erfinv": mpmath.erfinv,
            "i0": lambda x: mpmath.besseli(0, x),
            "lgamma": lambda x: mpmath.log(abs(mpmath.gamma(x))) if x < 1e4 else mpmath.loggamma(x),
        }[name]
        return float(function(mpmath.mpf(x)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_values(name: str, dtype: str) -> None:
    numbers, bound = ARGUMENTS[name]
    with np.errstate(over="ignore"):
        x = np.array(numbers, dtype)
    x = x[np.isfinite(x) & ((np.abs(x) < 1) | (name != "erfinv"))]
    right = np.array([exact(name, float(one)) for one in x])
    with np.errstate(over="ignore"):
        right = right.astype(dtype)
    result = getattr(svod, name)(svod.Tensor(x)).numpy()
    assert result.dtype == dtype
    same = result == right
    # Near zeros of these the error is that of numbers near 1.
    size = np.maximum(np.abs(right), 1 if name in ("digamma", "lgamma") and dtype == "float64" else 0)
    with np.errstate(all="ignore"):
        off = np.where(same, 0, np.abs(result.astype("longdouble") - right) / np.spacing(size))
    assert off.max() <= (1 if dtype == "float32" else bound), (off.max(), x[off.argmax()], result[off.argmax()])


SPECIAL = {
    "digamma": [(0.0, -INF), (-0.0, INF), (-1.0, NAN), (INF, INF), (NAN, NAN)],
    "erfc": [(INF, 0.0), (-INF, 2.0), (NAN, NAN), (-0.0, 1.0)],
    "erfinv": [(1.0, INF), (-1.0, -INF), (1.5, NAN), (-2.0, NAN), (NAN, NAN), (-0.0, -0.0)],
    "i0": [(INF, INF), (-INF, INF), (NAN, NAN), (0.0, 1.0), (-0.0, 1.0)],
    "lgamma": [(0.0, INF), (-0.0, INF), (-3.0, INF), (INF, INF), (-INF, INF), (NAN, NAN), (1.0, 0.0), (2.0, 0.0)],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name: str, dtype: str) -> None:
    x, right = np.array(SPECIAL[name], dtype).T
    result = getattr(svod, name)(svod.Tensor(np.ascontiguousarray(x))).numpy()
    np.testing.assert_allclose(result, right, rtol=1e-15)
    np.testing.assert_array_equal(np.signbit(result[result == 0]), np.signbit(right[right == 0]))


def test_derivatives() -> None:
    x = svod.Tensor([0.25, 0.75, -0.5, 3.5], "float64")

    def slope(name: str, x: svod.Tensor) -> np.ndarray[Any, Any]:
        return svod.grad(lambda t: getattr(svod, name)(t).sum())(x).numpy()  # type: ignore[no-any-return]

    np.testing.assert_allclose(slope("lgamma", x), svod.digamma(x).numpy(), rtol=1e-11)
    np.testing.assert_allclose(slope("erfc", x), -2 / math.sqrt(math.pi) * np.exp(-(x.numpy() ** 2)), rtol=1e-11)
    inside = svod.Tensor([0.0, 0.25, -0.75, 0.99], "float64")
    right = math.sqrt(math.pi) / 2 * np.exp(svod.erfinv(inside).numpy() ** 2)
    np.testing.assert_allclose(slope("erfinv", inside), right, rtol=1e-10)
    near = (svod.i0(x + 1e-6) - svod.i0(x - 1e-6)).numpy() / 2e-6
    np.testing.assert_allclose(slope("i0", x), near, rtol=1e-6, atol=1e-8)
    near = (svod.digamma(x + 1e-6) - svod.digamma(x - 1e-6)).numpy() / 2e-6
    np.testing.assert_allclose(slope("digamma", x), near, rtol=1e-6)


def test_xlogy() -> None:
    x, y = np.array([0.0, 0.0, 0.0, 2.0, -1.0, NAN]), np.array([0.0, INF, NAN, 3.0, -1.0, 1.0])
    with np.errstate(all="ignore"):
        right = np.where((x == 0) & ~np.isnan(y), 0.0, x * np.log(y))
    np.testing.assert_allclose(svod.xlogy(svod.Tensor(x), svod.Tensor(y)).numpy(), right, rtol=1e-15)


def test_incomplete_gamma_functions() -> None:
    mpmath = pytest.importorskip("mpmath")
    orders = [1e-10, 1e-3, 0.1, 0.5, 1.0, 2.5, 9.5, 19.9, 20.1, 100.0, 1e4]
    shares = [1e-6, 0.1, 0.9, 1 - 1e-9, 1.0, 1.01, 1.5, 3.0]
    a, x = (np.array(one) for one in zip(*[(order, order * share) for order in orders for share in shares]))
    for name, bounds in (("igamma", lambda x: (0, x)), ("igammac", lambda x: (x, mpmath.inf))):
        with mpmath.workprec(150):
            right = np.array([float(mpmath.gammainc(b, *bounds(y), regularized=True)) for b, y in zip(a, x)])
        result = getattr(svod, name)(svod.Tensor(a), svod.Tensor(x)).numpy()
        np.testing.assert_allclose(result, right, rtol=2e-13, atol=1e-300)
        narrow = getattr(svod, name)(svod.Tensor(a, "float32"), svod.Tensor(x, "float32"))
        assert narrow.dtype == "float32"


def test_incomplete_gamma_functions_at_their_edges() -> None:
    a = svod.Tensor([0.0, 0.0, 2.0, 2.0, INF, INF, -1.0, NAN, 1.0])
    x = svod.Tensor([0.0, 1.0, 0.0, INF, 1.0, INF, 1.0, 1.0, -1.0])
    lower = [NAN, 1.0, 0.0, 1.0, 0.0, NAN, NAN, NAN, NAN]
    np.testing.assert_array_equal(svod.igamma(a, x).numpy(), np.float32(lower))
    np.testing.assert_array_equal(svod.igammac(a, x).numpy(), np.float32([1 - one for one in lower]))
    slope = svod.grad(lambda x: svod.igamma(svod.Tensor(2.0, "float64"), x).sum())(svod.Tensor([0.5, 3.0], "float64"))
    np.testing.assert_allclose(slope.numpy(), [0.5 * math.exp(-0.5), 3 * math.exp(-3)], rtol=1e-10)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 20])
def test_derivatives_of_digamma(n: int) -> None:
    mpmath = pytest.importorskip("mpmath")
    x = np.array([1e-3, 0.1, 0.5, 1.0, 2.5, 7.0, 100.0, 1e5, -0.3, -1.5, -7.25])
    with mpmath.workprec(200):
        right = np.array([float(mpmath.psi(n, mpmath.mpf(one))) for one in x])
    np.testing.assert_allclose(svod.polygamma(n, svod.Tensor(x)).numpy(), right, rtol=1e-12)
    np.testing.assert_allclose(svod.Tensor(x).polygamma(n).numpy(), right, rtol=1e-12)
    edges = svod.polygamma(n, svod.Tensor([0.0, -1.0, INF, NAN])).numpy()
    expected = [-INF, NAN, INF, NAN] if n == 0 else [INF if n % 2 else -INF] * 2 + [0.0, NAN]
    np.testing.assert_array_equal(edges, np.float32(expected))


def test_incomplete_gammas_of_great_numbers() -> None:
    scipy = pytest.importorskip("scipy.special")
    for a in (1e15, 1e20, 1e30, 1e38, 1e300):
        for x in (0.5, a * (1 - 2e-16), a, a * 2, 1e308):
            for ours, theirs in ((svod.igamma, scipy.gammainc), (svod.igammac, scipy.gammaincc)):
                made = ours(svod.Tensor([a], "float64"), svod.Tensor([x], "float64")).item()
                assert made == pytest.approx(theirs(a, x), rel=1e-6), (a, x)


# Computed in double precision, or in single precision within two units in the last place.
@pytest.mark.parametrize(
    ("name", "bound"), [("asinh", 2), ("sinh", 2), ("acosh", 2), ("erfc", 0.6), ("erfinv", 2.2), ("i0", 0.6)]
)
def test_narrow_results_are_near_the_right_ones(name: str, bound: float) -> None:
    special = pytest.importorskip("scipy.special")
    random = np.random.default_rng(9)
    ends = [0, np.inf, np.nan, 1, 1e-45, 89, 3e38, *10.0 ** np.arange(-38, 38)]
    near = {"acosh": 1 + 10.0 ** random.uniform(-7, 9, 5000), "erfinv": np.tanh(random.uniform(-7, 7, 5000))}
    x = np.float32([*ends, *np.negative(ends), *near.get(name, random.uniform(-12, 12, 5000))])
    reference = getattr(np, {"asinh": "arcsinh", "acosh": "arccosh"}.get(name, name), None) or getattr(special, name)
    with np.errstate(all="ignore"):
        right = (special.i0 if name == "i0" else reference)(x.astype(np.float64))
        # SciPy's own is NaN there.
        right = np.where(np.isinf(x), np.inf, right) if name == "i0" else right
        found = getattr(svod, name)(svod.Tensor(x)).numpy()
        off = np.abs(found.astype(np.float64) - right) / np.spacing(np.abs(right.astype(np.float32)))
    same = (found == right.astype(np.float32)) | (np.isnan(found) & np.isnan(right))
    assert np.where(same, 0, off).max() < bound


def test_narrow_results_have_slopes() -> None:
    special = pytest.importorskip("scipy.special")
    at = svod.Tensor([0.0, 0.5, -0.999, 1e-6])
    slope = svod.grad(lambda x: (svod.erfinv(x) + svod.erfc(x) + svod.asinh(x) + svod.sinh(x)).sum())(at).numpy()
    x = at.numpy().astype(np.float64)
    of_erf = 2 / np.sqrt(np.pi) * np.exp(-x * x)
    of_erfinv = np.sqrt(np.pi) / 2 * np.exp(special.erfinv(x) ** 2)
    np.testing.assert_allclose(slope, of_erfinv - of_erf + 1 / np.sqrt(x * x + 1) + np.cosh(x), rtol=1e-4)


def test_functions_of_elements_are_composed_once_for_each_type(monkeypatch: pytest.MonkeyPatch) -> None:
    from svod.library import elementwise

    # Whatever other tests have composed.
    monkeypatch.setattr(elementwise, "_templates", {})
    rng = np.random.default_rng(4)
    a, b = rng.random((3, 1)).astype(np.float32), rng.random(4).astype(np.float32)
    n = svod.Variable("n", 1, 8)
    svod.hypot(svod.Tensor(a), 1)
    known = len(elementwise._templates)
    np.testing.assert_allclose(svod.hypot(svod.Tensor(a), svod.Tensor(b)).numpy(), np.hypot(a, b), rtol=1e-6)
    np.testing.assert_allclose(svod.hypot(svod.Tensor(b), 0.5).numpy(), np.hypot(b, 0.5), rtol=1e-6)
    np.testing.assert_allclose(svod.hypot(2.0, svod.Tensor(3.0)).item(), np.hypot(2, 3), rtol=1e-6)
    np.testing.assert_allclose(svod.jit(svod.hypot)(svod.Tensor(a), svod.Tensor(b)).numpy(), np.hypot(a, b), rtol=1e-6)
    np.testing.assert_allclose(svod.vmap(lambda x: svod.hypot(x, 2))(svod.Tensor(b)).numpy(), np.hypot(b, 2), rtol=1e-6)
    of_size = svod.hypot(svod.Tensor(b)[: n.bind(3)], 1).numpy()
    np.testing.assert_allclose(of_size, np.hypot(b[:3], 1), rtol=1e-6)
    slope = svod.grad(lambda x: svod.hypot(x, svod.Tensor(b)).sum())(svod.Tensor(b + 1))
    np.testing.assert_allclose(slope.numpy(), (b + 1) / np.hypot(b, b + 1), rtol=1e-6)
    parts = svod.Tensor(b).shard(["CPU", "CPU:1"], 0)
    np.testing.assert_allclose(svod.hypot(parts, 1).to("CPU").numpy(), np.hypot(b, 1), rtol=1e-6)
    assert len(elementwise._templates) == known
    svod.hypot(svod.Tensor(a).double(), 1)
    assert len(elementwise._templates) == known + 1
    with pytest.raises(svod.ShapeError, match="hypot"):
        svod.hypot(svod.Tensor(a.reshape(3)), svod.Tensor(b))


def test_functions_of_narrow_types_are_the_nearest_numbers() -> None:
    rng = np.random.default_rng(9)

    def draw(low: float, high: float) -> np.ndarray:
        return (np.exp(rng.uniform(low, high, 50_000)) * rng.choice([-1, 1], 50_000)).astype(np.float32)

    def sums(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.maximum(a, b) + np.log1p(np.exp(-np.abs(a - b)))

    angles, near = (draw(-80, 80), draw(-80, 80)), (draw(-3, 3), draw(-3, 3))
    for made, wanted, operands in (
        (svod.atan2, np.arctan2, angles),
        (svod.atan2, np.arctan2, near),
        # Also where the sum is nearly 0.
        (svod.logaddexp, sums, (draw(-10, 4), draw(-10, 4))),
    ):
        found = made(*map(svod.Tensor, operands)).numpy().astype(np.float64)
        exact = wanted(*(one.astype(np.float64) for one in operands))
        distance = np.spacing(np.abs(exact.astype(np.float32))).astype(np.float64)
        assert (np.abs(found - exact) <= 0.51 * distance).all()
