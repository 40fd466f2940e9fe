"""Products, histograms, distances, curves, draws and layers by the names of PyTorch and NumPy, compared with both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_torch_names import I8, INT, A, B, Call, D, F, M, agree, numpy_array, of

import svod
import svod.nn.functional as functional

SQUARE = np.float64([[2, 1, 0], [1, 3, -1], [0, 5, 4]])
IMAGE = np.float32(np.sin(np.arange(2 * 3 * 6 * 5)).reshape(2, 3, 6, 5))
LINE = IMAGE.reshape(2, 3, 30)
VOLUME = IMAGE.reshape(2, 3, 5, 3, 2)
POINTS = np.float32(np.cos(np.arange(2 * 4 * 3 * 2)).reshape(2, 4, 3, 2) * 1.3)

BOTH: dict[str, Call] = {
    "bincount": lambda xp, x: [xp.bincount(x(of(INT, [1, 3, 1]))), xp.bincount(x(of(INT, [0, 2])), minlength=5)],
    "bincount of weights": lambda xp, x: xp.bincount(x(of(INT, [1, 3, 1])), x(of(D, [0.5, 2, 1]))),
    "cross": lambda xp, x: [xp.cross(x(SQUARE[:2]), x(SQUARE[1:])), xp.cross(x(SQUARE[:1]), x(SQUARE[:2]))],
    "gradient": lambda xp, x: [xp.gradient(x(SQUARE[0])), xp.gradient(x(SQUARE)), xp.gradient(x(SQUARE), edge_order=2)],
    "histogram": lambda xp, x: [
        xp.histogram(x(of(D, [1, 2, 1, 4, 2.5])), 4),
        xp.histogram(x(of(D, [1, 2, 1, 4, 9])), 3, range=(0.0, 4.0)),
        xp.histogram(x(of(D, [1, 2, 1, 4, 9])), x(of(D, [0, 1, 1.5, 4]))),
        xp.histogram(x(of(D, [1, 2, 1, 4, 9])), 3, density=True),
    ],
    "inner": lambda xp, x: [xp.inner(x(M), x(M)), xp.inner(x(M[0]), x(M[1])), xp.inner(x(M[0]), x(M))],
    "kron": lambda xp, x: [
        xp.kron(x(M), x(SQUARE.astype(F))),
        xp.kron(x(of(INT, [1, 2])), x(of(INT, [[3], [4]]))),
        xp.kron(x(of(I8, 3)), x(of(I8, [[3], [4]]))),
    ],
    "trapezoid": lambda xp, x: [
        xp.trapezoid(x(SQUARE)),
        xp.trapezoid(x(SQUARE), x(of(D, [0, 1, 4]))),
        xp.trapezoid(x(SQUARE[0]), dx=0.5),
    ],
    "unique": lambda xp, x: [xp.unique(x(A)), *xp.unique(x(A), return_inverse=True, return_counts=True)],
    "vdot": lambda xp, x: [xp.vdot(x(M[0]), x(M[1])), xp.vdot(x(np.complex64([1j, 2])), x(np.complex64([1j, 1 + 1j])))],
}

NUMPY: dict[str, Call] = {
    "convolve": lambda xp, x: [
        made(x(of(D, a)), x(of(D, b)), mode=mode)
        for made in (xp.convolve, xp.correlate)
        for a, b in (([1, 2, 3, 4], [1, 0.5]), ([1, 2], [3, 1, 2]), ([2], [3]), ([1, 2, 3], [0, 1, 0.5]))
        for mode in ("full", "same", "valid")
    ],
    "digitize": lambda xp, x: [
        xp.digitize(x(of(D, [0, 1, 2.5, 7])), x(of(D, [1, 2, 3])), right=right) for right in (False, True)
    ],
    "interp": lambda xp, x: [
        xp.interp(x(of(D, [-1, 0, 0.5, 1, 3, 4, 9])), x(of(D, [0, 1, 4])), x(of(D, [0, 10, -2]))),
        xp.interp(x(of(D, [-1, 9])), x(of(D, [0, 1])), x(of(D, [3, 4])), left=7.0, right=8.0),
    ],
    "unique_index": lambda xp, x: xp.unique(x(of(INT, [3, 1, 3])), return_index=True),
}

TORCH: dict[str, Call] = {
    "addmm": lambda xp, x: [
        xp.addmm(x(M), x(M[:, :2]), x(M), beta=0.5, alpha=2),
        xp.addmv(x(M[:, 0]), x(M), x(M[0])),
        xp.addr(x(M), x(M[:, 0]), x(M[0]), alpha=3),
        xp.addbmm(x(np.ones((3, 4), F)), x(of(F)[:, :, :2].copy()), x(of(F)[:, :2])),
        xp.baddbmm(x(of(F)), x(of(F)[:, :, :3].copy()), x(of(F))),
        x(M).addmm(x(M[:, :2]), x(M), beta=0),
    ],
    "addmm of NaN": lambda xp, x: xp.addmm(x(np.full((2, 3), np.nan, F)), x(M[:, :2]), x(M), beta=0),
    "bmm": lambda xp, x: [xp.bmm(x(of(F)), x(of(F).mT.copy())), xp.mm(x(M), x(M.T.copy())), xp.mv(x(M), x(M[0]))],
    "chain_matmul": lambda xp, x: (
        xp.linalg.multi_dot([x(M), x(M.T.copy()), x(M)])
        if xp is not svod
        else xp.chain_matmul(x(M), x(M.T.copy()), x(M))
    ),
    "cross with dim": lambda xp, x: xp.cross(x(SQUARE), x(SQUARE.T.copy()), dim=0),
    "bucketize": lambda xp, x: [
        xp.bucketize(x(of(F, [0, 1, 2.5, 7])), x(of(F, [1, 2, 3])), out_int32=True, right=right)
        for right in (False, True)
    ],
    "cdist": lambda xp, x: [
        xp.cdist(x(of(F)), x(of(F)[:, 1:].copy()), p=p) for p in (0.0, 1.0, 2.0, 3.0, float("inf"))
    ],
    "cumulative_trapezoid": lambda xp, x: [
        xp.cumulative_trapezoid(x(SQUARE), dim=0),
        xp.cumulative_trapezoid(x(SQUARE), x(of(D, [0, 1, 4]))),
    ],
    "dist": lambda xp, x: [xp.dist(x(M), x(M[::-1].copy()), p) for p in (0, 1, 2, 3.0, float("inf"))],
    "histc": lambda xp, x: [xp.histc(x(M), 4), xp.histc(x(M), bins=3, min=0, max=4), xp.histc(x(np.ones(3, F)), 2)],
    "logcumsumexp": lambda xp, x: [
        xp.logcumsumexp(x(SQUARE * 100), 1),
        xp.logcumsumexp(x(of(F, [-np.inf, -1000, 1000, 0, np.inf])), dim=0),
    ],
    "msort": lambda xp, x: xp.msort(x(A)),
    "pdist": lambda xp, x: (
        [xp.nn.functional.pdist(x(SQUARE), p) for p in (0.0, 1.0, 2.0)]
        if xp is not svod
        else [xp.pdist(x(SQUARE), p) for p in (0.0, 1.0, 2.0)]
    ),
    "renorm": lambda xp, x: xp.renorm(x(SQUARE), 2, 1, 3.0),
    "unique_consecutive": lambda xp, x: [
        *xp.unique_consecutive(x(of(INT, [[1, 1, 2], [2, 2, 1]])), return_inverse=True, return_counts=True),
        xp.unique_consecutive(x(of(B, [True, True, False]))),
    ],
}

LAYERS: dict[str, Call] = {
    "affine_grid": lambda F, x: [
        F.affine_grid(x(np.float32([[[1, 0.5, 0], [0, 2, -1]]])), (1, 3, 4, 5), align_corners=align)
        for align in (False, True)
    ],
    "affine_grid of volumes": lambda F, x: F.affine_grid(
        x(np.ones((1, 3, 4), "float32")), (1, 1, 2, 3, 1), align_corners=False
    ),
    "fold": lambda F, x: [
        F.fold(F.unfold(x(IMAGE), (2, 3), 1, 1, 2), (6, 5), (2, 3), 1, 1, 2),
        F.fold(F.unfold(x(IMAGE), 2, dilation=2), (6, 5), 2, dilation=2),
    ],
    "grid_sample": lambda F, x: [
        F.grid_sample(x(IMAGE), x(POINTS), mode, pads, align)
        for mode in ("bilinear", "nearest")
        for pads in ("zeros", "border", "reflection")
        for align in (False, True)
    ],
    "local_response_norm": lambda F, x: [F.local_response_norm(x(IMAGE), n, 0.1, 0.5, 2.0) for n in (1, 2, 3)],
    "lp_pool": lambda F, x: [
        F.lp_pool1d(x(np.abs(LINE)), 2.0, 3),
        F.lp_pool2d(x(np.abs(IMAGE)), 3.0, (2, 3), stride=1),
        F.lp_pool2d(x(np.abs(IMAGE)), 2.0, 2, ceil_mode=True),
    ],
    "max_pool with indices": lambda F, x: [
        F.max_pool1d(x(LINE), 4, 3, 1, 2, return_indices=True),
        F.max_pool2d(x(IMAGE), (2, 3), return_indices=True),
        F.max_pool2d(x(IMAGE), 3, 2, 1, ceil_mode=True, return_indices=True),
        F.max_pool3d(x(VOLUME), 2, 1, return_indices=True),
    ],
    "max_unpool": lambda F, x: [
        F.max_unpool2d(*F.max_pool2d(x(IMAGE), 2, return_indices=True), 2, output_size=(6, 5)),
        F.max_unpool1d(*F.max_pool1d(x(LINE), 4, return_indices=True), 4, output_size=(30,)),
    ],
    "multi_margin_loss": lambda F, x: [
        F.multi_margin_loss(x(M), x(of(INT, [2, 0])), p, 0.7, x(np.float32([1, 2, 3])), reduction=kind)
        for p in (1, 2)
        for kind in ("mean", "sum", "none")
    ],
    "multilabel_margin_loss": lambda F, x: F.multilabel_margin_loss(x(M), x(of(INT, [[2, 0, -1], [1, -1, 0]]))),
    "one_hot": lambda F, x: [F.one_hot(x(of(INT, [0, 2, 1]))), F.one_hot(x(of(INT, [[1]])), 3)],
    "rrelu": lambda F, x: F.rrelu(x(M)),
    "triplets": lambda F, x: F.triplet_margin_with_distance_loss(x(M), x(M + 1), x(M * 2), margin=2.0, swap=True),
}


@pytest.mark.parametrize("name", BOTH | NUMPY)
def test_numpy_agrees(name: str) -> None:
    call = (BOTH | NUMPY)[name]
    wanted = call(np, numpy_array)
    agree(call(svod, svod.Tensor), wanted, types=name not in {"histogram", "unique"})


@pytest.mark.parametrize("name", BOTH | TORCH)
def test_torch_agrees(name: str) -> None:
    torch = pytest.importorskip("torch")
    call = (BOTH | TORCH)[name]
    agree(call(svod, svod.Tensor), call(torch, lambda array: torch.from_numpy(np.array(array))))


@pytest.mark.parametrize("name", LAYERS)
def test_torch_s_layers_agree(name: str) -> None:
    torch = pytest.importorskip("torch")
    call = LAYERS[name]
    agree(call(functional, svod.Tensor), call(torch.nn.functional, lambda array: torch.from_numpy(np.array(array))))


def test_windows_of_what_is_there_come_back_added() -> None:
    ones = functional.fold(functional.unfold(svod.ones(1, 1, 3, 3), 2), (3, 3), 2)
    assert ones.squeeze((0, 1)).tolist() == [[1, 2, 1], [2, 4, 2], [1, 2, 1]]


def test_the_points_of_an_image_are_its_elements() -> None:
    grid = functional.affine_grid(svod.Tensor([[[1.0, 0, 0], [0, 1, 0]]]).expand(2, 2, 3), IMAGE.shape)
    np.testing.assert_allclose(functional.grid_sample(svod.Tensor(IMAGE), grid).numpy(), IMAGE, atol=1e-5)


# Of the numbers that each method draws: mean and deviation, or none.
DRAWN: dict[str, tuple[Any, float, float]] = {
    "exponential_": (lambda x: x.exponential_(2.0), 0.5, 0.5),
    "geometric_": (lambda x: x.geometric_(0.25), 4.0, np.sqrt(12)),
    "log_normal_": (lambda x: x.log_normal_(0.0, 0.5), np.exp(0.125), np.sqrt((np.exp(0.25) - 1) * np.exp(0.25))),
    "normal_": (lambda x: x.normal_(3.0, 2.0), 3.0, 2.0),
    "random_": (lambda x: x.random_(0, 5), 2.0, np.sqrt(2)),
    "uniform_": (lambda x: x.uniform_(-1.0, 3.0), 1.0, 4 / np.sqrt(12)),
}


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_draws_have_their_mean_and_deviation(name: str, dtype: str) -> None:
    fill, mean, deviation = DRAWN[name]
    n = 40_000
    svod.manual_seed(11)
    x = svod.zeros(n, dtype=dtype)
    assert fill(x) is x and x.dtype == dtype
    drawn = x.numpy()
    assert abs(drawn.mean() - mean) < 5 * deviation / np.sqrt(n)
    assert abs(drawn.std() - deviation) < 0.05 * deviation


def test_cauchy_s_quarters() -> None:
    svod.manual_seed(11)
    drawn = svod.zeros(40_000).cauchy_(1.0, 2.0).numpy()
    np.testing.assert_allclose(np.quantile(drawn, [0.25, 0.5, 0.75]), [-1, 1, 3], atol=0.1)


def test_gumbel_s_classes_have_the_probabilities() -> None:
    svod.manual_seed(5)
    logits = svod.Tensor([0.0, 1.0, 2.0]).expand(20_000, 3)
    hard = functional.gumbel_softmax(logits, hard=True).numpy()
    assert set(np.unique(hard)) <= {0.0, 1.0} or np.allclose(hard.round(), hard, atol=1e-6)
    np.testing.assert_allclose(hard.mean(0), np.exp([0, 1, 2]) / np.exp([0, 1, 2]).sum(), atol=0.02)
    np.testing.assert_allclose(functional.gumbel_softmax(logits, 0.5).sum(-1).numpy(), 1, rtol=1e-5)


def test_slopes_of_rrelu_are_between_its_bounds() -> None:
    drawn = functional.rrelu(svod.full((1000,), -1.0), 0.2, 0.4, training=True).numpy()
    assert -0.4 <= drawn.min() < drawn.max() <= -0.2


def test_errors_name_the_function() -> None:
    for act, message in (
        (lambda: svod.bmm(svod.ones(2, 2), svod.ones(2, 2)), "bmm"),
        (lambda: svod.addmm(svod.ones(5), svod.ones(2, 3), svod.ones(3, 2)), "addmm"),
        (lambda: svod.cross(svod.ones(2), svod.ones(2)), "cross"),
        (lambda: svod.pdist(svod.ones(2)), "pdist"),
        (lambda: svod.convolve(svod.ones(0), svod.ones(1)), "convolve"),
        (lambda: functional.fold(svod.ones(1, 3, 4), 3, 2), "fold"),
        (lambda: svod.zeros(3).geometric_(2.0), "geometric_"),
        (lambda: svod.gcd(1.5, 2), "gcd"),
        (lambda: svod.quantile(svod.ones(2), 0.5, interpolation="x"), "quantile"),
    ):
        with pytest.raises(svod.Error, match=message):
            act()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64"])
def test_common_divisors_of_the_ends_of_types(dtype: str) -> None:
    ends = np.iinfo(dtype)
    few = np.array([0, 1, 2, 3, 6, 28, ends.max, ends.max - 1, ends.max // 2, ends.min], dtype)
    made = svod.gcd(svod.Tensor(few[:, None]), svod.Tensor(few)).numpy()
    np.testing.assert_array_equal(made, np.gcd(few[:, None], few))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distances_of_many_rows_are_those_of_few(dtype: str) -> None:
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal((2, 40, 7)).astype(dtype), rng.standard_normal((1, 9, 7)).astype(dtype)
    tolerance = {"rtol": 1e-4 if dtype == "float32" else 1e-11, "atol": 1e-3 if dtype == "float32" else 1e-7}
    # Also of points that are far from 0, which lie side by side beside that.
    for far in (0.0, 1000.0):
        x, y = (a + far).astype(dtype), (b + far).astype(dtype)
        wanted = np.linalg.norm(x[:, :, None].astype(np.float64) - y[:, None], axis=-1)
        for mode in (
            None,
            "use_mm_for_euclid_dist_if_necessary",
            "use_mm_for_euclid_dist",
            "donot_use_mm_for_euclid_dist",
        ):
            made = svod.cdist(svod.Tensor(x), svod.Tensor(y), compute_mode=mode)
            assert made.dtype == dtype
            np.testing.assert_allclose(made.numpy(), wanted, **tolerance, err_msg=f"{mode} {far}")
        np.testing.assert_allclose(svod.cdist(svod.Tensor(x), svod.Tensor(x)).numpy()[0].diagonal(), 0, atol=1e-2)
    with_edges = a[0].copy()
    with_edges[3, 2], with_edges[5, 1] = np.inf, np.nan
    made = svod.cdist(svod.Tensor(with_edges), svod.Tensor(b[0])).numpy()
    assert np.isinf(made[3]).all() and np.isnan(made[5]).all() and np.isfinite(np.delete(made, [3, 5], 0)).all()
    assert svod.cdist(svod.zeros(40, 0), svod.zeros(3, 0)).tolist() == [[0.0] * 3] * 40
    assert svod.cdist(svod.zeros(40, 2), svod.zeros(0, 2)).shape == (40, 0)
    slope = svod.grad(lambda x: svod.cdist(x, x).sum())(svod.Tensor(a[0]))
    assert np.isfinite(slope.numpy()).all()
    with pytest.raises(svod.ArgumentError, match="cdist: compute_mode is one of"):
        svod.cdist(svod.Tensor(a), svod.Tensor(b), compute_mode="exact")
