"""Products of matrices and vectors, of any shape."""

import numpy as np
import pytest

import svod

RNG = np.random.default_rng(11)


def numbers(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(("n", "k"), [(4096, 2048), (1000, 3001), (40, 20000), (8, 7), (1, 5000), (4096, 1)])
@pytest.mark.parametrize("m", [1, 2, 3, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_few_rows_times_a_matrix(m: int, n: int, k: int, transposed: bool) -> None:
    """Those too that are divided along the depth, in parts that are even or not."""
    a, b = numbers(m, k), numbers(n, k) if transposed else numbers(k, n)
    x, y = svod.Tensor(a), svod.Tensor(b)
    b = b.T if transposed else b
    want, terms = a.astype(np.float64) @ b, np.abs(a.astype(np.float64)) @ np.abs(b)
    before = svod.get_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            svod.set_threads(threads)
            results.append((x @ (y.T if transposed else y)).numpy())
    finally:
        svod.set_threads(before)
    # A chain of some hundred roundings, each of half a place, would be twice as much.
    assert (np.abs(results[0] - want) <= 4 * np.finfo(np.float32).eps * terms).all()
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize(
    "shape", [(2, 700, 300), (3, 130, 1001), (8, 520, 77), (16, 300, 260), (700, 5, 299), (2000, 2, 33), (5, 7, 6000)]
)
def test_products_with_few_rows_or_columns(
    shape: tuple[int, int, int], transposed: tuple[bool, bool], dtype: str
) -> None:
    m, n, k = shape
    rng = np.random.default_rng(m * n + k)
    a = rng.standard_normal((k, m) if transposed[0] else (m, k)).astype(dtype)
    b = rng.standard_normal((n, k) if transposed[1] else (k, n)).astype(dtype)
    x, y = svod.empty(*a.shape, dtype=dtype), svod.empty(*b.shape, dtype=dtype)
    plan = ((x.T if transposed[0] else x) @ (y.T if transposed[1] else y)).prepare(inputs=[x, y])
    plan.execute(a, b)
    exact = (a.T if transposed[0] else a).astype(np.float64) @ (b.T if transposed[1] else b).astype(np.float64)
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(plan.outputs[0].numpy(), exact, rtol=tolerance, atol=tolerance * np.sqrt(k))
    # What is not finite stays in its row and column.
    a[(k // 2, m - 1) if transposed[0] else (m - 1, k // 2)] = np.inf
    b[(n - 1, k // 3) if transposed[1] else (k // 3, n - 1)] = np.nan
    plan.execute(a, b)
    got = plan.outputs[0].numpy()
    assert np.isnan(got[:, n - 1]).all() and not np.isfinite(got[m - 1]).any()
    assert np.isfinite(got[: m - 1, : n - 1]).all()


def test_factors_are_lists_and_no_numbers() -> None:
    column = svod.Tensor([[1], [2]])
    for product in (column @ [[3, 4]], column.matmul([[3, 4]]), column @ ((3, 4),)):
        assert product.tolist() == [[3, 4], [6, 8]]
    assert ([[3, 4]] @ column).tolist() == [[11]]
    with pytest.raises(svod.ShapeError, match="a number has no dimension to sum over"):
        column @ 3


@pytest.mark.parametrize("m", [1, 4, 16, 40])
@pytest.mark.parametrize("constant", [False, True])
def test_weights_of_four_bits_that_are_packed_along_the_depth(m: int, constant: bool) -> None:
    rng = np.random.default_rng(0)
    packed = rng.integers(0, 256, (70, 96)).astype(np.uint8)
    x = rng.integers(-8, 8, (m, 192)).astype(np.float32)
    p, t = svod.Tensor(packed), svod.Tensor(x)
    w = svod.stack([p & 15, p >> 4], 2).reshape(70, 192).cast("float32")
    plan = svod.prepare(t @ w.T, inputs=[t] if constant else [t, p])
    plan.execute()
    expected = x @ np.stack([packed & 15, packed >> 4], 2).reshape(70, 192).T.astype(np.float32)
    np.testing.assert_array_equal(plan.outputs[0].numpy(), expected)


@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 20000), (16, 100, 40009), (9, 24, 9000), (128, 128, 16411)])
def test_few_results_of_a_long_depth_are_summed_in_blocks(m: int, n: int, k: int) -> None:
    a, b, bias = numbers(k, m), numbers(k, n), numbers(n)
    x, y, z = map(svod.Tensor, (a, b, bias))
    want, terms = a.T.astype(np.float64) @ b + bias, np.abs(a.T.astype(np.float64)) @ np.abs(b)
    assert len((x.T @ y + z).prepare().kernels) == 2
    before = svod.get_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            svod.set_threads(threads)
            results.append((x.T @ y + z).numpy())
    finally:
        svod.set_threads(before)
    assert all(np.array_equal(results[0], other) for other in results[1:])
    assert (np.abs(results[0] - want) <= 2e-6 * terms + 1e-5).all()
    with svod.strict():
        assert len((x.T @ y).prepare().kernels) == 1
    given = numbers(5, k, m), numbers(5, k, n)
    batch = svod.Tensor(given[0]).mT @ svod.Tensor(given[1])
    np.testing.assert_allclose(
        batch.numpy(), given[0].swapaxes(1, 2).astype(np.float64) @ given[1], rtol=1e-3, atol=1e-2
    )


def test_products_of_several_long_axes_are_summed_in_blocks() -> None:
    """The gradient of a layer's weights: over a batch, and over positions."""
    a, b = (np.random.default_rng(n).integers(-4, 5, (12, 700, n)).astype(np.float32) for n in (24, 40))
    x, y = svod.Tensor(a), svod.Tensor(b)
    plan = svod.einsum("bti,bto->io", x, y).prepare()
    assert len(plan.kernels) == 2
    plan.execute()
    np.testing.assert_array_equal(plan.outputs[0].numpy(), np.einsum("bti,bto->io", a, b))
    centred = x - x.mean(1, keepdim=True)
    found = (centred.mT @ centred).numpy()
    moved = a - a.mean(1, keepdims=True, dtype=np.float64)
    np.testing.assert_allclose(found, moved.swapaxes(1, 2) @ moved, rtol=1e-4, atol=1e-2)


def test_gradients_of_weights_are_summed_in_blocks_where_their_factors_are_products() -> None:
    """Those of a layer whose inputs, and whose outputs' gradients, other layers of the same plan compute."""
    x, g, w, v = numbers(8192, 24), numbers(8192, 40), numbers(24, 32), numbers(40, 48)
    a, b, c, d = map(svod.Tensor, (x, g, w, v))
    active, signal = (a @ c).relu(), (b @ d).softmax(-1)
    features = active - active.mean(1, keepdim=True)
    plan = (features.T @ signal).prepare()
    depth = [kernel for kernel in plan.kernels if kernel.name.startswith("matmul") and "8192" not in kernel.name]
    assert len(depth) == 1
    plan.execute()
    wide = np.maximum(x.astype(np.float64) @ w, 0)
    wide -= wide.mean(1, keepdims=True)
    likely = np.exp(g.astype(np.float64) @ v - (g.astype(np.float64) @ v).max(axis=1, keepdims=True))
    likely /= likely.sum(1, keepdims=True)
    np.testing.assert_allclose(plan.outputs[0].numpy(), wide.T @ likely, rtol=1e-4, atol=1e-2)
    # Weights that are softened along the depth are those of an attention: one kernel has both products.
    few = svod.Tensor(numbers(12, 24)) @ a.T
    assert len((few.softmax(-1) @ b).prepare().kernels) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize(("k", "n"), [(2, 3), (3, 3), (3, 32), (4, 4), (2, 8), (7, 5), (8, 8), (16, 6), (16, 16)])
def test_many_short_rows_go_in_tiles(k: int, n: int, transposed: tuple[bool, bool], constant: bool, dtype: str) -> None:
    """Points times a small matrix: rows shorter than a vector, of which none is computed by itself."""
    m = 1001
    shapes = ((k, m) if transposed[0] else (m, k), (n, k) if transposed[1] else (k, n))
    a, b = (svod.Tensor(numbers(*shape)).cast(dtype) for shape in shapes)
    out = (a.T if transposed[0] else a) @ (b.T if transposed[1] else b)
    plan = out.prepare(inputs=[a] if constant else [a, b])
    plan.execute()
    assert "micro" in str(plan.kernels[0].schedule)
    x, y = (
        t.double().numpy().T if turned else t.double().numpy() for t, turned in zip((a, b), transposed, strict=True)
    )
    # As many roundings as there are terms, each of half a place; of narrower operands the sum is rounded once more.
    sums = {"float64": 2.0**-53}.get(dtype, 2.0**-24) * k * (np.abs(x) @ np.abs(y))
    last = {"float16": 2.0**-11, "bfloat16": 2.0**-8}.get(dtype, 0.0) * np.abs(x @ y)
    assert (np.abs(out.double().numpy() - x @ y) <= sums + 1.01 * last + 2.0**-24).all()
