"""`svod.vmap` against JAX's, and what it composes with."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import svod

RNG = np.random.default_rng(0)
X = RNG.standard_normal((5, 3, 4)).astype(np.float32)
Y = RNG.standard_normal((5, 4)).astype(np.float32)
POSITIONS = RNG.integers(0, 3, (5, 2))


def close(found, expected, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=tolerance, atol=tolerance)


# Of one example: a matrix of 3 × 4, a vector of 4, two positions below 3; svod's spelling and JAX's.
FUNCTIONS = {
    "elementwise": (lambda x, y, i: (x * y).exp() + 1, lambda x, y, i: jnp.exp(x * y) + 1),
    "cast": (lambda x, y, i: x.cast("int32") + i.sum(), lambda x, y, i: x.astype(jnp.int32) + i.sum()),
    "reshape": (lambda x, y, i: x.reshape(2, 6).T, lambda x, y, i: x.reshape(2, 6).T),
    "expand": (lambda x, y, i: y.expand(2, 3, 4) + x, lambda x, y, i: jnp.broadcast_to(y, (2, 3, 4)) + x),
    "pad": (lambda x, y, i: x.pad([(1, 0), (0, 2)]), lambda x, y, i: jnp.pad(x, [(1, 0), (0, 2)])),
    "slice": (lambda x, y, i: x[1:, ::2].flip(0), lambda x, y, i: x[1:, ::2][::-1]),
    "sum": (lambda x, y, i: x.sum(0) + x.amax(), lambda x, y, i: x.sum(0) + x.max()),
    "argmax": (lambda x, y, i: x.argmax(1), lambda x, y, i: x.argmax(1)),
    "scan": (lambda x, y, i: x.cumsum(1), lambda x, y, i: x.cumsum(1)),
    "matmul": (lambda x, y, i: x @ y, lambda x, y, i: x @ y),
    "outer": (lambda x, y, i: x @ x.T, lambda x, y, i: x @ x.T),
    "softmax": (lambda x, y, i: x.softmax(-1), lambda x, y, i: jax.nn.softmax(x, -1)),
    "sort": (lambda x, y, i: x.sort(1)[0], lambda x, y, i: jnp.sort(x, 1)),
    "argsort": (lambda x, y, i: x.argsort(1), lambda x, y, i: jnp.argsort(x, 1)),
    "take": (lambda x, y, i: x[i], lambda x, y, i: x[i]),
    "take_inner": (lambda x, y, i: x[:, i], lambda x, y, i: x[:, i]),
    "take_shared": (lambda x, y, i: svod.Tensor(Y)[i], lambda x, y, i: jnp.asarray(Y)[i]),
    "take_shared_inner": (lambda x, y, i: svod.Tensor(Y)[:, i], lambda x, y, i: jnp.asarray(Y)[:, i]),
    "take_fixed": (lambda x, y, i: x[svod.Tensor([2, 0, 0])], lambda x, y, i: x[jnp.array([2, 0, 0])]),
    "gather": (lambda x, y, i: x.gather(0, i.reshape(1, 2)), lambda x, y, i: x[i, jnp.arange(2)][None]),
    "scatter": (
        lambda x, y, i: x.index_add(0, i, svod.stack([y, y])),
        lambda x, y, i: x.at[i].add(jnp.stack([y, y])),
    ),
    "where": (lambda x, y, i: svod.where(x > 0, x, y), lambda x, y, i: jnp.where(x > 0, x, y)),
    "none_used": (lambda x, y, i: svod.arange(3) * 2, lambda x, y, i: jnp.arange(3) * 2),
    "range": (lambda x, y, i: x + svod.arange(4), lambda x, y, i: x + jnp.arange(4)),
    "window": (
        lambda x, y, i: x.reshape(1, 3, 4).conv1d(svod.ones(2, 3, 2)),
        lambda x, y, i: (x[:, :-1] + x[:, 1:]).sum(0)[None, None].repeat(2, 1),
    ),
    "loop": (
        lambda x, y, i: svod.iterate(3, lambda k, c: c * 2 + k, y),
        lambda x, y, i: ((y * 2) * 2 + 1) * 2 + 2,
    ),
    "gradient": (
        lambda x, y, i: svod.grad(lambda x, y: ((x @ y) ** 2).sum(), argnums=(0, 1))(x, y),
        lambda x, y, i: jax.grad(lambda x, y: ((x @ y) ** 2).sum(), argnums=(0, 1))(x, y),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_jaxs(name):
    ours, theirs = FUNCTIONS[name]
    found = svod.vmap(ours)(svod.Tensor(X), svod.Tensor(Y), svod.Tensor(POSITIONS))
    expected = jax.vmap(theirs)(X, Y, POSITIONS)
    found, expected = (value if isinstance(value, tuple) else (value,) for value in (found, expected))
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        close(a.numpy(), b)


@pytest.mark.parametrize("in_axes", [(1, None), (None, 0), (-1, 1), ((1, 0))])
@pytest.mark.parametrize("out_axes", [0, 1, -1])
def test_axes_are_jaxs(in_axes, out_axes):
    x, y = RNG.standard_normal((4, 4)).astype(np.float32), RNG.standard_normal((4, 4)).astype(np.float32)
    found = svod.vmap(lambda x, y: x * y.sum() + y, in_axes, out_axes)(svod.Tensor(x), svod.Tensor(y))
    close(found.numpy(), jax.vmap(lambda x, y: x * y.sum() + y, in_axes, out_axes)(x, y))


def test_containers_as_arguments_and_results():
    arguments = {"w": svod.Tensor(X[0]), "b": svod.Tensor(Y)}
    mapped = svod.vmap(lambda p, s: {"sum": p["w"].sum() + p["b"] * s, "same": s}, in_axes=({"w": None, "b": 0}, None))
    result = mapped(arguments, 2.0)
    close(result["sum"].numpy(), X[0].sum() + Y * 2)
    assert result["same"].tolist() == [2.0] * 5
    assert svod.vmap(lambda x: (x, 1.0), out_axes=(0, None))(svod.Tensor(Y))[1].item() == 1.0


def test_gradients_of_each_example_are_one_batch_of_kernels():
    def loss(w, x, y):
        return ((x @ w - y) ** 2).mean()

    w, x, y = svod.Tensor(Y[0]), svod.Tensor(X), svod.Tensor(X.sum(2))
    result = svod.vmap(svod.grad(loss), in_axes=(None, 0, 0))(w, x, y)
    expected = jax.vmap(jax.grad(lambda w, x, y: ((x @ w - y) ** 2).mean()), in_axes=(None, 0, 0))(Y[0], X, X.sum(2))
    plan = result.prepare()
    plan.execute()
    assert len(plan.kernels) <= 3
    close(result.numpy(), expected)


def test_derivatives_of_a_map_and_maps_of_maps():
    f = svod.vmap(svod.vmap(lambda x, y: (x * y).sin(), in_axes=(0, None)), in_axes=(None, 0))
    g = jax.vmap(jax.vmap(lambda x, y: jnp.sin(x * y), in_axes=(0, None)), in_axes=(None, 0))
    x, y = Y[0], Y[1]
    close(f(svod.Tensor(x), svod.Tensor(y)).numpy(), g(x, y))
    ours = svod.grad(lambda x: f(x, svod.Tensor(y)).sum())(svod.Tensor(x))
    close(ours.numpy(), jax.grad(lambda x: g(x, y).sum())(x))
    hessian = svod.vmap(svod.hessian(lambda x: (x**3).sum() * x[0]))(svod.Tensor(Y))
    close(hessian.numpy(), jax.vmap(jax.hessian(lambda x: (x**3).sum() * x[0]))(Y), 1e-4)


def test_derivatives_of_maps_of_derivatives():
    x, f = svod.Tensor([1.0, 2.0]), lambda x: x**3
    assert svod.grad(lambda x: svod.vmap(svod.grad(f))(x).sum())(x).tolist() == [6.0, 12.0]
    leaf = svod.Tensor([1.0, 2.0]).requires_grad_()
    svod.vmap(svod.grad(f))(leaf).sum().backward()
    assert leaf.grad.tolist() == [6.0, 12.0]


def test_requires_grad_passes_through():
    w = svod.Tensor(Y[0]).requires_grad_()
    svod.vmap(lambda x: (x @ w).sum())(svod.Tensor(X)).sum().backward()
    close(w.grad.numpy(), X.sum((0, 1)))


def test_within_and_around_jit_and_in_plans():
    f = svod.jit(lambda x: (x * 2).sum())
    batch = svod.Tensor(Y)
    close(svod.vmap(f)(batch).numpy(), Y.sum(1) * 2, 1e-4)
    mapped = svod.jit(svod.vmap(lambda x: (x * 2).sum()))
    for _ in range(2):
        close(mapped(batch).numpy(), Y.sum(1) * 2, 1e-4)
    n = svod.Variable("n", 1, 8)
    x = svod.empty(n, 4)
    y = svod.vmap(lambda row: row.softmax(0))(x)
    plan = y.prepare(inputs=[x])
    for rows in (1, 5):
        plan.execute(Y[:rows])
        close(y.numpy(), jax.nn.softmax(Y[:rows], -1))


def test_modules_are_the_same_for_all_examples():
    layer = svod.nn.Linear(4, 2)
    close(svod.vmap(layer)(svod.Tensor(Y)).numpy(), layer(svod.Tensor(Y)).numpy())


def test_no_examples_and_one():
    f = svod.vmap(lambda x: x.sum() + x)
    assert f(svod.zeros(0, 3)).shape == (0, 3)
    assert f(svod.ones(1, 2)).tolist() == [[3, 3]]


def test_random_numbers_are_the_same_for_all_examples():
    rows = svod.vmap(lambda x: x + svod.rand(3))(svod.zeros(4, 3)).numpy()
    assert (rows == rows[0]).all()


def test_errors_say_what_to_do():
    def twice(a):
        return a * 2

    x = svod.Tensor(Y)
    with pytest.raises(svod.TraceError, match="looks at the elements"):
        svod.vmap(lambda x: x * float(x.sum()))(x)
    with pytest.raises(svod.ArgumentError, match="names no axis"):
        svod.vmap(lambda x: x, in_axes=None)(x)
    with pytest.raises(svod.ArgumentError, match="entries"):
        svod.vmap(lambda x: x, in_axes=(0, 0))(x)
    with pytest.raises(svod.ArgumentError, match="out of range"):
        svod.vmap(lambda x: x, in_axes=2)(x)
    with pytest.raises(svod.ArgumentError, match="one size"):
        svod.vmap(lambda x, y: x)(x, svod.ones(3))
    with pytest.raises(svod.ArgumentError, match="differs"):
        svod.vmap(lambda x: x, out_axes=None)(x)
    with pytest.raises(svod.ArgumentTypeError, match="no tensor"):
        svod.vmap(lambda x: "text")(x)
    with pytest.raises(svod.ArgumentTypeError, match="function"):
        svod.vmap(3)
    with pytest.raises(svod.UnsupportedError, match="`twice` is not there for batches"):
        svod.vmap(lambda x: svod.custom(twice, x, shape=x.shape, dtype=x.dtype))(x)
    with pytest.raises(
        svod.UnsupportedError, match="`cond` is not there for batches; `where` chooses for each example"
    ):
        svod.vmap(lambda x: svod.cond(x.sum() > 0, lambda x: x, lambda x: -x, x))(x)
    with pytest.raises(svod.UnsupportedError, match="`scan` is not there for batches; loop over all examples at once"):
        svod.vmap(lambda x: svod.scan(lambda c, row: (c + row, c), x[0], x)[0])(x)


def test_values_whose_derivative_is_given() -> None:
    @svod.custom_gradient
    def clipped(x: svod.Tensor) -> tuple[svod.Tensor, Callable[[svod.Tensor], svod.Tensor]]:
        return x.exp(), lambda g: (g * x).clamp(-1, 1)

    x = np.random.default_rng(3).normal(size=(4, 3)).astype(np.float32)
    scale = np.arange(1, 5, dtype=np.float32)

    def loss(x: svod.Tensor, scale: svod.Tensor) -> svod.Tensor:
        return (clipped(x) * scale).sum()

    got = svod.vmap(svod.grad(loss))(x, scale)
    np.testing.assert_allclose(got.numpy(), np.clip(scale[:, None] * x, -1, 1), rtol=1e-6)
    of_map = svod.grad(lambda x: svod.vmap(loss)(x, scale).sum())(svod.Tensor(x))
    np.testing.assert_allclose(of_map.numpy(), np.clip(scale[:, None] * x, -1, 1), rtol=1e-6)
    # A cotangent that is the same for all examples.
    same = svod.grad(lambda x: svod.vmap(clipped)(x).sum())(svod.Tensor(x))
    np.testing.assert_allclose(same.numpy(), np.clip(x, -1, 1), rtol=1e-6)


def test_complex_numbers() -> None:
    random = np.random.default_rng(4)
    x = (random.normal(size=(4, 3)) + 1j * random.normal(size=(4, 3))).astype(np.complex64)

    def function(x: svod.Tensor) -> svod.Tensor:
        return (x * x.conj().exp()).sum() + x.real.max()

    want = np.stack([function(svod.Tensor(row)).numpy() for row in x])
    np.testing.assert_allclose(svod.vmap(function)(x).numpy(), want, rtol=1e-5)
    each = np.stack([svod.grad(lambda x: function(x).abs())(svod.Tensor(row)).numpy() for row in x])
    got = svod.vmap(svod.grad(lambda x: function(x).abs()))(svod.Tensor(x))
    np.testing.assert_allclose(got.numpy(), each, rtol=1e-5)


def test_pytorchs_names_of_axes() -> None:
    x = svod.Tensor(np.arange(6.0).reshape(2, 3))
    by_columns = svod.vmap(lambda x, w: x * w, in_dims=(1, None), out_dims=1)(x, svod.Tensor([1.0, 2.0]))
    np.testing.assert_array_equal(by_columns.numpy(), x.numpy() * [[1.0], [2.0]])
    assert svod.vmap(lambda x: x.sum(), in_axes=1, in_dims=1)(x).tolist() == [3.0, 5.0, 7.0]
    with pytest.raises(svod.ArgumentError, match="in_axes=1 and in_dims=-1 are the same"):
        svod.vmap(lambda x: x.sum(), in_axes=1, in_dims=-1)
