"""Complex numbers, beside NumPy's."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

TYPES = [np.complex64, np.complex128]
RANDOM = np.random.default_rng(23)
INF, NAN = np.inf, np.nan
PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-20, INF, -INF, NAN, 700.5, -720.0, 1e200, 1e-300, -1e308]


def draw(*shape: int, dtype: Any = np.complex128) -> np.ndarray:
    """Complex numbers around 0."""
    return (RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape)).astype(dtype)


def close(got: Any, want: Any, ulps: float = 8) -> None:
    """Both parts of each number as good as the same, and the type."""
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_allclose(got, want, rtol=ulps * np.finfo(want.dtype).eps, atol=ulps * np.finfo(want.dtype).eps)


def function(name: str) -> Callable[[svod.Tensor], svod.Tensor]:
    """A function by its name, public or not."""
    own = getattr(svod, name, None)
    return own if own is not None else lambda x: x._complex_function(name)


CIRCULAR = ["sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh"]
FUNCTIONS = [*["exp", "exp2", "log", "log2", "log10", "sqrt"], *CIRCULAR, *["abs", "isinf", "isnan", "isfinite"]]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_at_zeros_infinities_nan_and_far_away(name: str, dtype: Any) -> None:
    """As NumPy has them, but for signs that C99 leaves open: beside NaN, and of zeros made of infinities."""
    with np.errstate(all="ignore"):
        given = np.array([complex(a, b) for a in PARTS for b in PARTS]).astype(dtype)
        # Of narrow numbers only the result is rounded.
        want = getattr(np, name)(given.astype(np.complex128))
        want = want.astype(getattr(np, name)(given).dtype)
    got = function(name)(svod.Tensor(given)).numpy()
    assert got.dtype == want.dtype
    ulps = 64 if dtype is np.complex128 else 2
    odd = ~(np.isfinite(given.real) & np.isfinite(given.imag))
    for mine, theirs, other in ((got.real, want.real, want.imag), (got.imag, want.imag, want.real)):
        open_sign = np.isnan(other) | (odd & (theirs == 0))
        mine, theirs = np.where(open_sign, np.abs(mine), mine), np.where(open_sign, np.abs(theirs), theirs)
        np.testing.assert_allclose(mine, theirs, rtol=ulps * np.finfo(dtype).eps)
        zero = (mine == 0) & (theirs == 0)
        np.testing.assert_array_equal(np.signbit(mine[zero]), np.signbit(theirs[zero]))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", [*FUNCTIONS, "expm1", "log1p", "reciprocal", "square", "sign", "conj", "angle"])
def test_functions_of_usual_numbers(name: str, dtype: Any) -> None:
    given = draw(7, 3, dtype=dtype) * 3
    got = (function(name) if name != "angle" else svod.Tensor.angle)(svod.Tensor(given)).numpy()
    if got.dtype == bool:
        np.testing.assert_array_equal(got, getattr(np, name)(given))
    else:
        close(got, getattr(np, name)(given), 16)


def test_small_numbers_are_not_lost() -> None:
    tiny = np.array([1e-20 + 1e-18j, -1e-17 + 0j, 1e-300j])
    for name in ("expm1", "log1p", "sinh", "tanh", "asin", "asinh", "atan", "atanh", "sin", "tan"):
        got = function(name)(svod.Tensor(tiny)).numpy()
        np.testing.assert_allclose(got.imag, tiny.imag, rtol=1e-14)
        np.testing.assert_allclose(got[:2].real, tiny[:2].real, rtol=1e-14)


def test_nothing_overflows_on_the_way() -> None:
    large = np.array([1e300 + 1e300j, -1e-300 + 1e-300j, 3e307 - 4e307j])
    x = svod.Tensor(large)
    close(abs(x).numpy(), abs(large))
    close((x / x).numpy(), large / large)
    close((1 / x).numpy(), 1 / large)
    close(x.sqrt().numpy() / np.sqrt(large), np.ones(3, complex))
    close(x.log().numpy(), np.log(large))


@pytest.mark.parametrize("a", TYPES)
@pytest.mark.parametrize("b", [*TYPES, np.float32, np.float64, np.int32, bool])
def test_arithmetic_and_its_types(a: Any, b: Any) -> None:
    x, y = draw(4, 1, dtype=a), (np.abs(draw(1, 5) * 3) + 1).astype(b) if b not in TYPES else draw(1, 5, dtype=b)
    sx, sy = svod.Tensor(x), svod.Tensor(y)
    # An integer beside a complex number has its type, as beside a float.
    wide = x.dtype if b in (np.int32, bool) else np.result_type(x, y)
    for op in (lambda p, q: p + q, lambda p, q: p - q, lambda p, q: p * q, lambda p, q: p / q, lambda p, q: q / p):
        close(op(sx, sy).numpy(), op(x, y).astype(wide), 16)
    np.testing.assert_array_equal((sx == sy).numpy(), x == y)
    np.testing.assert_array_equal((sx != sx).numpy(), x != x)


def test_scalars_of_python_are_weak() -> None:
    x = svod.Tensor(draw(3, dtype=np.complex64))
    for made in (x + 1, 2.0 * x, x - 1j, 1 / x, x**2, 2**x):
        assert made.dtype == svod.complex64
    assert (svod.Tensor([1.0, 2.0]) * 1j).dtype == svod.complex64
    assert (svod.Tensor(np.ones(2)) + 1j).dtype == svod.complex128
    assert (svod.Tensor([1, 2]) * 1j).tolist() == [1j, 2j]
    assert svod.Tensor([1j, 2]).dtype == svod.complex64
    assert svod.full((2,), 1 + 2j).tolist() == [1 + 2j] * 2


def test_powers() -> None:
    x, y = draw(6), draw(6)
    for n in (0, 1, 2, 5, 16, -1, -3, 0.5, 1j, 2 - 1j):
        close((svod.Tensor(x) ** n).numpy(), x**n, 200)
    close((svod.Tensor(x) ** svod.Tensor(y)).numpy(), x**y, 200)
    zero = svod.Tensor(np.zeros(3, complex)) ** svod.Tensor(np.array([2.0, 0, 1j]))
    assert zero[:2].tolist() == [0, 1]
    assert svod.isnan(zero[2]).item()


def test_what_has_no_complex_meaning_is_refused() -> None:
    x = svod.Tensor([1j, 2])
    refused = [
        lambda: x < x, lambda: x.max(), lambda: x.sort(), lambda: x.argmax(), lambda: x.floor(), lambda: x & x,
        lambda: x // 2, lambda: x % 2, lambda: x.erf(), lambda: x.softmax(0), lambda: x.astype(svod.float32),
        lambda: float(x[0]), lambda: x.cummax(0), lambda: svod.Tensor([1, 2])[x], lambda: x.bitcast(svod.int64),
        lambda: svod.Tensor([1.0]).assign(x[:1]), lambda: svod.full((2,), 1j, dtype=svod.float32),
    ]  # fmt: skip
    for one in refused:
        with pytest.raises(svod.DTypeError):
            one()


def test_shapes_indices_and_assignments() -> None:
    x = draw(4, 5, dtype=np.complex64)
    t = svod.Tensor(x)
    assert (t.shape, t.ndim, t.nbytes) == ((4, 5), 2, 160)
    close(t.T[1:4, ::2].numpy(), x.T[1:4, ::2])
    close(t.reshape(2, 10).flip(1).numpy(), x.reshape(2, 10)[:, ::-1])
    close(svod.cat([t, 2 * t, svod.Tensor(x.real)], 0).numpy(), np.concatenate([x, 2 * x, x.real]).astype(np.complex64))
    close(t[svod.Tensor([3, 0, 3])].numpy(), x[[3, 0, 3]])
    close(t.gather(1, svod.Tensor([[0], [4], [2], [2]])).numpy(), np.take_along_axis(x, np.array([[0, 4, 2, 2]]).T, 1))
    close(svod.where(svod.Tensor(x.real > 0), t, 1j).numpy(), np.where(x.real > 0, x, np.complex64(1j)))
    close(t.unfold(1, 2, 2).numpy(), np.stack([x[:, 0:2], x[:, 2:4]], 1))
    close(t.pad(((0, 0), (1, 2))).numpy(), np.pad(x, ((0, 0), (1, 2))))
    y, z = t + 0, x.copy()
    for at, value in (((1, 2), 5), (0, 1j), ((slice(None), 3), 2.5), (2, x[1])):
        y[at] = svod.Tensor(value) if isinstance(value, np.ndarray) else value
        z[at] = value
    close(y.numpy(), z)
    added = svod.zeros(3, dtype=svod.complex64).scatter_add(0, svod.Tensor([0, 2, 0]), t[0, :3])
    close(added.numpy(), np.array([x[0, 0] + x[0, 2], 0, x[0, 1]], np.complex64))


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3,), (2, 0), (4, 5)])
def test_folds(shape: tuple[int, ...]) -> None:
    x = draw(*shape)
    t = svod.Tensor(x)
    close(t.sum().numpy(), np.asarray(x.sum()), 64)
    close(t.prod().numpy(), np.asarray(x.prod()), 64)
    np.testing.assert_array_equal(t.any().numpy(), x.any())
    if x.size:
        close(t.mean().numpy(), np.asarray(x.mean()), 64)
        close(t.var(correction=0).numpy(), np.asarray(x.var()), 64)
    if shape:
        close(t.cumsum(-1).numpy(), x.cumsum(-1), 64)
        close(t.cumprod(-1).numpy(), x.cumprod(-1), 64)
        close(t.prod(-1, keepdim=True).numpy(), x.prod(-1, keepdims=True), 64)
        close(t.norm(2).numpy(), np.asarray(np.linalg.norm(x)), 64)


def test_products() -> None:
    a, b, c = draw(3, 4, 5), draw(5, 6), draw(4)
    s, t, u = svod.Tensor(a), svod.Tensor(b), svod.Tensor(c)
    close((s @ t).numpy(), a @ b, 64)
    close((s @ svod.Tensor(b.real)).numpy(), a @ b.real, 64)
    close((svod.Tensor(a.real) @ t).numpy(), a.real @ b, 64)
    close((t.T @ t[:, 0]).numpy(), b.T @ b[:, 0], 64)
    close(svod.einsum("bij,jk,i->bk", s, t, u).numpy(), np.einsum("bij,jk,i->bk", a, b, c), 256)
    close(svod.einsum("ij,i->j", t.real[:4], u).numpy(), np.einsum("ij,i->j", b.real[:4], c), 64)


def test_memory_is_that_of_numpy() -> None:
    x = draw(3, 4)
    t = svod.from_numpy(x)
    assert np.shares_memory(np.asarray(t.numpy()), x) or t.numpy().tolist() == x.tolist()
    x[0, 0] = 9
    assert t[0, 0].item() == 9
    close(svod.from_dlpack(draw(2).astype(np.complex64) * 0).numpy(), np.zeros(2, np.complex64))
    close(np.from_dlpack(svod.Tensor(x)), x)
    close(svod.Tensor(x[::2].T).numpy(), x[::2].T)
    pair = svod.view_as_real(svod.Tensor(x))
    close(pair.numpy(), x.view(np.float64).reshape(3, 4, 2))
    close(svod.view_as_complex(pair).numpy(), x)
    y = svod.Tensor(x) * 2
    both = svod.view_as_real(y)
    svod.realize(y, both)
    close(both.numpy(), (2 * x).view(np.float64).reshape(3, 4, 2))
    close(y.numpy(), 2 * x)


def test_numbers_taken_out() -> None:
    t = svod.Tensor([1 + 2j, 0])
    assert (t[0].item(), complex(t[0]), t.tolist()) == (1 + 2j, 1 + 2j, [1 + 2j, 0j])
    assert (bool(t[0]), bool(t[1])) == (True, False)
    assert f"{t[0]:.1f}" == "1.0+2.0j"
    assert "1.+2.j" in repr(t)
    assert pickle.loads(pickle.dumps(t)).tolist() == t.tolist()
    assert (t.is_complex(), svod.is_complex(t.real), svod.complex64.is_complex) == (True, False, True)
    assert svod.complex(svod.Tensor([1.0]), 2.0).tolist() == [1 + 2j]
    assert svod.Tensor([1.0]).imag.tolist() == [0.0]
    close(svod.polar(2.0, svod.Tensor(np.array([0.5]))).numpy(), 2 * np.exp([0.5j]))


def test_files(tmp_path: Any) -> None:
    t = svod.Tensor(draw(3, 2, dtype=np.complex64))
    svod.save_safetensors({"t": t}, tmp_path / "t.safetensors")
    close(svod.load_safetensors(tmp_path / "t.safetensors")["t"].numpy(), t.numpy())


def test_plans_and_traced_functions() -> None:
    x = draw(4, 3, dtype=np.complex64)
    traced = svod.jit(lambda z: (z * z).conj() + 1)
    for scale in (1, 2j):
        close(traced(svod.Tensor(x * scale)).numpy(), ((x * scale) ** 2).conj() + 1, 16)
    assert traced.traces == 1
    t = svod.Tensor(x)
    y = t * t.conj()
    plan = y.prepare(inputs=[t])
    for scale in (1, 3j):
        plan.execute((x * scale).astype(np.complex64))
        close(plan.outputs[0].numpy(), ((x * scale) * (x * scale).conj()).astype(np.complex64), 16)
    n = svod.Variable("n", 1, 8)
    rows = svod.empty(n, 3, dtype=svod.complex64)
    plan = rows.sum(0).prepare(inputs=[rows])
    for m in (1, 4):
        plan.execute(x[:m])
        close(plan.outputs[0].numpy(), x[:m].sum(0), 16)


def test_elementwise_chains_are_one_kernel() -> None:
    z = svod.Tensor(draw(64, 8, dtype=np.complex64))
    assert len((z * z.conj() + 2 * z).prepare().kernels) == 1


def slope(f: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    """∂L/∂re + i ∂L/∂im by central differences."""
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        for unit in (1, 1j):
            step = np.zeros_like(x)
            step[at] = 1e-6 * unit
            found[at] += unit * (f(x + step) - f(x - step)) / 2e-6
    return found


@pytest.mark.parametrize(
    "name",
    ["exp", "log", "sqrt", *CIRCULAR, "log1p", "expm1", "reciprocal", "square", "abs", "angle", "conj", "sign"],
)
def test_gradients_are_those_of_both_parts(name: str) -> None:
    x = np.array([0.3 + 0.7j, -1.2 + 0.4j, 2.0 - 0.6j])
    weights = np.array([1 - 2j, 0.5j, 1.5])

    def loss(value: svod.Tensor) -> svod.Tensor:
        of = function(name) if name != "angle" else svod.Tensor.angle
        return (of(value) * svod.Tensor(weights)).real.sum()

    t = svod.Tensor(x).requires_grad_()
    loss(t).backward()
    want = slope(lambda v: loss(svod.Tensor(v)).item(), x)
    np.testing.assert_allclose(t.grad.numpy(), want, rtol=2e-6, atol=1e-8)


def test_gradients_of_compositions() -> None:
    x, y = draw(3, 3), draw(3, 3)

    def loss(a: Any, b: Any) -> Any:
        moved = svod.cat([a, b.T], 0)[1:5].pad(((0, 0), (1, 0)))
        return ((a @ b / (a + 3) - moved[:3, :3] ** 2).abs() + (a * b).prod(0).real).sum()

    got = svod.grad(loss, (0, 1))(svod.Tensor(x), svod.Tensor(y))
    np.testing.assert_allclose(
        got[0].numpy(), slope(lambda v: loss(svod.Tensor(v), svod.Tensor(y)).item(), x), rtol=1e-5, atol=1e-7
    )
    np.testing.assert_allclose(
        got[1].numpy(), slope(lambda v: loss(svod.Tensor(x), svod.Tensor(v)).item(), y), rtol=1e-5, atol=1e-7
    )


def test_gradients_are_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    x = draw(4)
    theirs = torch.tensor(x, requires_grad=True)
    (theirs.exp() * theirs.conj() / (theirs.abs() + 1)).real.sum().backward()
    mine = svod.Tensor(x).requires_grad_()
    (mine.exp() * mine.conj() / (mine.abs() + 1)).real.sum().backward()
    close(mine.grad.numpy(), theirs.grad.numpy(), 64)


def test_a_named_value_and_what_it_is_without_gradient_are_one_buffer() -> None:
    named = svod.Tensor(np.complex64([[1 + 2j, 3]])) * 2
    np.testing.assert_array_equal(named.detach().numpy(), np.complex64([[2 + 4j, 6]]))
    np.testing.assert_array_equal(named.numpy(), np.complex64([[2 + 4j, 6]]))


@pytest.mark.parametrize("dtype", TYPES)
def test_variances_and_deviations_are_real(dtype: Any) -> None:
    x = draw(3, 5, dtype=dtype)
    for name in ("var", "std"):
        got, want = getattr(svod, name)(svod.Tensor(x), axis=1), getattr(np, name)(x, axis=1)
        assert got.numpy().dtype == want.dtype
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-5)
    np.testing.assert_allclose(svod.vecdot(x, x).numpy(), np.vecdot(x, x), rtol=1e-5)


def test_plans_of_complex_memory_as_pairs_and_the_other_way() -> None:
    x, y = np.complex64([1 + 2j, 3, -1j]), np.float32([[1, 2], [3, 0], [0, -1]])
    given, pairs = svod.empty(3, dtype=svod.complex64), svod.empty(3, 2)
    for function, into, here, wanted in (
        (svod.view_as_real, given, x, y),
        (lambda x: svod.view_as_real(x).clone(), given, x, y),
        (svod.view_as_complex, pairs, y, x),
    ):
        plan = function(into).prepare(inputs=[into])
        for scale in (1, 2):
            np.testing.assert_array_equal(plan.run(here * np.float32(scale))[0].numpy(), wanted * np.float32(scale))
        np.testing.assert_array_equal(svod.jit(lambda x, f=function: f(x))(svod.Tensor(here)).numpy(), wanted)
