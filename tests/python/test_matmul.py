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
    want = a.astype(np.float64) @ b
    before = svod.get_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            svod.set_threads(threads)
            results.append((x @ (y.T if transposed else y)).numpy())
    finally:
        svod.set_threads(before)
    bound = 4 * np.abs(a @ b - want).max() + 1e-5
    assert np.abs(results[0] - want).max() <= bound
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])
