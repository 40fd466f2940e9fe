"""Calls of PyTorch's functions in their rarer forms, as its own samples make them, compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_torch_names import as_arrays

import svod
import svod.nn.functional

RNG = np.random.default_rng(3)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


def complexes(*shape: int) -> np.ndarray[Any, Any]:
    return (floats(*shape) + 1j * floats(*shape)).astype(np.complex64)


V, M, A, IMAGE = floats(5), floats(3, 4), floats(3, 3, 3), floats(2, 3, 9, 9)
C, CM, CUBE = complexes(4), complexes(3, 4), complexes(3, 4, 4).astype(np.complex128)
STACK, SIX = floats(2, 3, 3).astype(np.float64), floats(2, 3, 6).astype(np.float64)
BYTES = RNG.integers(0, 256, (2, 3, 8, 9)).astype(np.uint8)
INTS = RNG.integers(-9, 9, (2, 3, 3))
COORDINATES = [np.float32([1, 3, 4.5]), np.float32([-2, 2.5, 6])]

# Of `xp`, PyTorch or svod, its functional part, and what makes its tensors.
Calls = Callable[[Any, Any, Callable[..., Any]], Any]

SAMPLES: dict[str, Calls] = {
    "sums of products keep their type": lambda xp, F, x: [
        xp.addbmm(x(INTS[0].astype(dtype)), x(INTS.astype(dtype)), x(INTS.astype(dtype)))
        for dtype in (np.uint8, np.int32, np.int64)
    ],
    "distances by any method": lambda xp, F, x: [
        xp.cdist(x(M), x(M + 1), 2.0, "use_mm_for_euclid_dist"),
        xp.cdist(x(M), x(M + 1), compute_mode="donot_use_mm_for_euclid_dist"),
    ],
    "covariances of complex numbers": lambda xp, F, x: [
        xp.cov(x(CM), aweights=x(np.float32([1, 2, 0.5, 3]))),
        xp.cov(x(CM), correction=0, fweights=x(np.array([1, 2, 0, 3]))),
    ],
    "no differences": lambda xp, F, x: [xp.diff(x(A), 0, 2, x(A[..., :1]), x(A[..., :1]))],
    "spectra of parts": lambda xp, F, x: [
        xp.stft(x(floats(100)), n_fft=10, window=xp.ones(10), return_complex=False),
        xp.istft(x(complexes(10, 5)), n_fft=10, window=xp.ones(10)),
        xp.istft(x(complexes(7, 6)), n_fft=7, window=xp.ones(7), onesided=False),
        xp.istft(x(complexes(2, 6, 6)), n_fft=10, window=xp.ones(10)),
    ],
    "slopes between coordinates": lambda xp, F, x: [
        xp.gradient(x(A), dim=dim, spacing=[x(one) for one in COORDINATES], edge_order=order)
        for dim in ((0, -1), (1, 0))
        for order in (1, 2)
    ]
    + [xp.gradient(x(M), dim=None, spacing=None, edge_order=2), xp.gradient(x(CM), spacing=(0.5, 2.0))],
    "a mask that is larger": lambda xp, F, x: [
        xp.masked_scatter(x(V), x(np.arange(10).reshape(2, 5) % 3 == 0), x(floats(2, 5))),
    ],
    "unbiased": lambda xp, F, x: [
        xp.std_mean(x(M), True),
        xp.var_mean(x(M), False),
        xp.var_mean(x(M), 1, False, True),
        xp.std_mean(x(M), dim=(0, 1), unbiased=True, keepdim=True),
        xp.var_mean(x(CM), dim=1, correction=0),
    ],
    "grids of lists": lambda xp, F, x: [
        *xp.meshgrid([x(V), x(np.float32(3))], indexing="ij"),
        *xp.meshgrid((x(V), x(V[:2]), x(V[:3])), indexing="xy"),
    ],
    "convolutions of complex numbers": lambda xp, F, x: [
        F.conv1d(x(complexes(1, 3, 4)), x(complexes(3, 3, 3)), x(complexes(3)), stride=(2,), padding=2),
        F.conv2d(x(complexes(4, 8, 8)), x(complexes(2, 2, 3, 3)), x(complexes(2)), (3, 2), (2, 1), groups=2),
        F.conv3d(x(complexes(1, 1, 4, 4, 4)), x(complexes(1, 1, 1, 2, 1)), padding="same"),
        F.conv_transpose2d(x(complexes(1, 3, 4, 4)), x(complexes(3, 3, 3, 3)), x(complexes(3)), stride=2),
    ],
    "padding by complex numbers": lambda xp, F, x: [
        F.pad(x(CM), (1, 2), value=1.5),
        xp.constant_pad_nd(x(CM), (1, -1, 0, 1), 1 + 2j),
        xp.constant_pad_nd(x(CM[:0]), (1, 1), 1 + 0j),
    ],
    "margins of one class": lambda xp, F, x: [
        F.multi_margin_loss(x(np.float32(-3.7)), x(np.array(0))),
        F.multilabel_margin_loss(x(np.float32(5.2)), x(np.array(0))),
    ],
    "windows by one number": lambda xp, F, x: [
        F.avg_pool2d(x(IMAGE), (3,), (1, 1), (1,), True, False, 2),
        F.avg_pool2d(x(IMAGE), (2, 2), (), (0,), False, True, -2),
    ],
    "factors": lambda xp, F, x: [
        xp.linalg.eigvalsh(x(CUBE), UPLO="L"),
        xp.linalg.eigvalsh(x(CUBE), UPLO="U"),
        xp.linalg.solve(x(STACK), x(STACK[..., 0].copy())),
        xp.linalg.solve(x(STACK), x(STACK[:, :2].copy()), left=False),
        *(
            xp.linalg.lu_solve(*xp.linalg.lu_factor(x(CUBE)), x(CUBE[:, ::-1].copy()), left=left, adjoint=adjoint)
            for left in (True, False)
            for adjoint in (True, False)
        ),
        xp.linalg.householder_product(*xp.geqrf(x(STACK))),
        xp.linalg.lstsq(x(STACK), x(STACK), driver="gelsy")[0],
        xp.linalg.lu(x(STACK), pivot=True)[2],
        xp.linalg.diagonal(x(A), offset=1, dim1=0, dim2=1),
    ],
    "tensors as matrices": lambda xp, F, x: [
        xp.linalg.tensorinv(x(SIX), ind=2),
        xp.linalg.tensorsolve(x(SIX), x(SIX[..., 0].copy())),
        xp.linalg.tensorsolve(x(SIX.swapaxes(1, 2).copy()), x(SIX[..., 0].copy()), (1,)),
        xp.linalg.vander(x(M)),
        xp.linalg.vander(x(INTS), N=3),
    ],
    "norms": lambda xp, F, x: [
        xp.norm(x(M)),
        xp.norm(x(A), "fro", (0, 1)),
        xp.norm(x(A), "nuc", (1, 2)),
        xp.norm(x(M), p=1, dim=1, keepdim=True),
        xp.norm(x(M), dtype=xp.float64),
        x(M).norm("fro"),
        x(M).norm(2, 0, True),
        xp.linalg.matrix_norm(x(A), "fro", (-2, -1), True),
        xp.linalg.matrix_norm(x(A), 1, (0, 1)),
    ],
    "spectra along some axes": lambda xp, F, x: [
        xp.fft.fftn(x(A), dim=-2),
        xp.fft.rfft2(x(A), dim=1),
        xp.fft.irfftn(x(CUBE), s=7, dim=-2),
        *(
            transform(x(of), norm=norm)
            for norm in (None, "forward", "ortho")
            for transform, of in (
                (xp.fft.hfftn, CUBE),
                (xp.fft.hfft2, CUBE),
                (xp.fft.ihfftn, A),
                (xp.fft.ihfft2, A),
            )
        ),
        xp.fft.hfftn(x(CUBE), s=(4, 7), dim=(0, 2)),
    ],
    "like complex numbers, real": lambda xp, F, x: [
        xp.zeros_like(x(C), dtype=xp.float64),
        xp.full_like(x(C), 2.5, dtype=xp.float32),
    ],
    "types of positions": lambda xp, F, x: [
        xp.tril_indices(3, 4, dtype=xp.int32),
        xp.triu_indices(4, 4, 1, dtype=xp.int64),
        *xp.unravel_index(x(np.uint8([3, 250])), (2, 300)),
        xp.scalar_tensor(2, dtype=xp.float64, requires_grad=False),
    ],
    "counts": lambda xp, F, x: [
        *xp.histogram(x(np.float32(-8.4)), 4),
        *xp.histogram(x(floats(5, 0)), 2),
        xp.bincount(x(np.array([1, 3, 1])), weights=x(np.array([2, 3, 4]))),
        x(np.array([1, 3, 1])).bincount(minlength=6),
        *x(INTS).unique(return_inverse=True, return_counts=True),
        x(INTS).unique(sorted=True),
    ],
    "elements without dimensions": lambda xp, F, x: [
        xp.index_fill(x(np.float32(3)), 0, x(np.array([0])), 5.0),
        xp.index_reduce(x(np.float32(3)), 0, x(np.array([0])), x(np.float32(2)), "prod"),
    ]
    + [
        made
        for dim in (0, -1)
        for one in [x(np.float32(3))]
        for made in (
            *xp.sort(one, dim=dim, descending=True),
            xp.argsort(one, dim=dim),
            *xp.topk(one, 1, dim),
            *xp.kthvalue(one, 1, dim),
            *xp.median(one, dim),
            xp.cumsum(one, dim),
            xp.cumprod(one, dim),
            *xp.cummax(one, dim),
            *xp.cummin(one, dim),
            xp.softmax(one, dim),
            xp.log_softmax(one, dim),
            xp.gather(one, dim, x(np.array(0))),
            xp.gather(one, dim, x(np.array([0]))),
            xp.index_select(one, dim, x(np.array([0]))),
            xp.index_add(one, dim, x(np.array([0])), x(np.float32(2))),
            xp.index_copy(one, dim, x(np.array([0])), x(np.float32(2))),
            xp.scatter(one, dim, x(np.array(0)), x(np.float32(2))),
            xp.scatter(one, dim, x(np.array(0)), 2.0),
            xp.scatter_add(one, dim, x(np.array(0)), x(np.float32(2))),
            xp.scatter_reduce(one, dim, x(np.array(0)), x(np.float32(2)), "prod"),
            one.unfold(dim, 1, 1),
            one.unfold(dim, 0, 1),
            xp.transpose(one, dim, 0),
            xp.logsumexp(one, dim),
            xp.logcumsumexp(one, dim),
            xp.flip(one, ()),
        )
    ],
    "combined with what is there": lambda xp, F, x: [
        xp.scatter(x(M), 1, x(np.array([[0, 0, 3]])), x(floats(1, 3)), reduce="add"),
        xp.scatter(x(M), 1, x(np.array([[0, 0, 3]])), x(floats(1, 3)), reduce="multiply"),
        xp.scatter(x(M), 0, x(np.array([[2, 0, 1]])), 1.5, reduce="add"),
        xp.scatter(x(M), 0, index=x(np.array([[2, 0, 1]])), value=1.5),
        x(INTS).scatter_(2, x(INTS % 3), x(INTS), reduce="multiply"),
        xp.index_add(x(M), 0, x(np.array([2, 0])), x(floats(2, 4)), alpha=2),
        x(M).index_add(1, x(np.array([2, 0])), x(floats(3, 2)), alpha=-0.5),
        xp.index_add(x(INTS), 0, x(np.array([1, 1])), x(INTS), alpha=3),
    ],
    "the first by position": lambda xp, F, x: [
        *xp.topk(x(M), 2, 0, True, True),
        *x(M).topk(2, -1, False, True),
    ],
    "to another type or device": lambda xp, F, x: [
        x(M).to("cpu", xp.float64, False, True),
        x(M).to(xp.float64, True),
        x(M).to(x(INTS)),
        x(M).to("cpu", non_blocking=True),
        x(M).to(device="cpu", dtype=xp.int32, copy=True),
        x(M).to(xp.float16, copy=False),
        x(M).to("cpu"),
    ],
    "deviations by a flag": lambda xp, F, x: [
        xp.std(x(M), False),
        xp.var(x(M), True),
        xp.std(x(M), unbiased=False),
        x(M).std(True),
        x(M).var(False),
        x(M).std(0, unbiased=False),
        x(CM).std(False),
    ],
    "from where a tensor says": lambda xp, F, x: [
        xp.narrow(x(M), 1, x(np.array(1)), 2),
        xp.narrow(x(M), 0, x(np.array(-2)), 2),
        x(M).narrow(-1, x(np.int32(0)), 4),
        xp.narrow(x(A), 1, x(np.array(2)), 0),
    ],
    "beside nothing": lambda xp, F, x: [
        xp.cat([x(floats(0)), x(M), x(M)], 1),
        xp.cat([x(M), x(floats(0)).to(xp.float64)]),
        xp.cat([x(np.array([], np.int64)), x(A)], -1),
        xp.cat([x(floats(0)), x(V)]),
        xp.cat([x(floats(0)), x(floats(0))]),
        xp.cat([x(floats(0)), x(floats(0, 3))]),
    ],
    "repeated to an extent": lambda xp, F, x: [
        xp.repeat_interleave(x(M), x(np.array([1, 0, 2])), 0, output_size=3),
        xp.repeat_interleave(x(M), 2, 1, output_size=8),
        x(V).repeat_interleave(3, output_size=15),
    ],
    "windows of integers": lambda xp, F, x: [
        F.avg_pool1d(x(INTS), 2, 1),
        F.avg_pool2d(x(INTS * 5), 2, 1, 1),
        F.avg_pool2d(x(INTS * 5), 2, 1, 1, count_include_pad=False),
        F.avg_pool2d(x(INTS * 5), (3, 2), (1, 1), (1, 0), True, divisor_override=4),
        F.avg_pool3d(x(INTS[None] * 7), 2, 1),
        F.avg_pool3d(x(INTS[None] * 7), 2, 1, divisor_override=-3),
    ],
    "functions of complex numbers": lambda xp, F, x: [
        made
        for one in (x(CM), x(CUBE), x(np.complex64(1 - 2j)), x(np.zeros((0, 2), np.complex64)))
        for made in (
            xp.sigmoid(one),
            one.sigmoid(),
            F.silu(one),
            xp.sinc(one),
            xp.sinc(one * 0),
            xp.logaddexp(one, 2 - one),
            xp.logaddexp(one, one),
            xp.logcumsumexp(one, -1),
            xp.logsumexp(one, -1),
            xp.logsumexp(one, (-1,), True),
            xp.ldexp(one, x(np.array(3))),
            xp.ldexp(one, x(np.float32(-1.5))),
        )
    ],
    "norms of complex numbers": lambda xp, F, x: [
        F.rms_norm(x(CM), (4,), None, 0.01),
        F.rms_norm(x(CUBE), (4, 4), x(CUBE[0]), 0.01),
        F.rms_norm(x(CM), (4,)),
    ],
    "sums of infinite and undefined numbers": lambda xp, F, x: [
        xp.logaddexp(x(np.array([a, b, b, 1], np.complex128)), x(np.array([b, a, b, a], np.complex128)))
        for a in (-np.inf, complex(-np.inf, 2), 0j)
        for b in (-np.inf, 1 + 1j)
    ],
    "factors that say where there are none": lambda xp, F, x: [
        made
        for one in (STACK @ STACK.swapaxes(1, 2) + np.eye(3), np.eye(3, dtype=np.complex64)[None] * 2)
        for made in (
            *xp.linalg.cholesky_ex(x(one)),
            *xp.linalg.cholesky_ex(x(one), upper=True, check_errors=True),
            *xp.linalg.inv_ex(x(one)),
            *xp.linalg.inv_ex(x(one), check_errors=True),
            *xp.linalg.solve_ex(x(one), x(one[:, :, :2].copy())),
            *xp.linalg.solve_ex(x(one), x(one[:, 0].copy())),
            *xp.linalg.solve_ex(x(one), x(one[:, :2].copy()), left=False),
            *xp.linalg.lu_factor_ex(x(one)),
        )
    ],
    "which minors and pivots are none": lambda xp, F, x: [
        made
        for at in (0, 1, 4)
        for singular in [np.stack([np.diag(np.where(np.arange(5) == at, 0, 2.0)), np.eye(5)])]
        for made in (
            xp.linalg.cholesky_ex(x(singular)).info,
            xp.linalg.cholesky_ex(x(singular)).L[1],
            xp.linalg.cholesky_ex(x(-singular)).info,
            xp.linalg.inv_ex(x(singular)).info,
            xp.linalg.inv_ex(x(singular)).inverse[1],
            xp.linalg.solve_ex(x(singular), x(singular)).info,
            xp.linalg.solve_ex(x(singular), x(singular)).result[1],
            *xp.linalg.lu_factor_ex(x(singular)),
            xp.linalg.lu_factor_ex(x(singular[:, :3].copy())).info,
        )
    ],
    "softmax in another type": lambda xp, F, x: [
        xp.softmax(x(M), 1, xp.float64),
        x(M).softmax(0, xp.float64),
        x(INTS).log_softmax(-1, xp.float64),
        xp.log_softmax(x(INTS), 1, dtype=xp.float32),
    ],
}  # fmt: skip


def test_factors_that_there_are_not_are_no_numbers() -> None:
    singular = np.stack([np.diag([1.0, 0, 2]), np.eye(3)])
    for made, _ in (
        svod.linalg.cholesky_ex(singular),
        svod.linalg.inv_ex(singular),
        svod.linalg.solve_ex(singular, singular),
        svod.linalg.solve_ex(singular, singular[0], left=False),
    ):
        assert np.isnan(made.numpy()[0]).all() and not np.isnan(made.numpy()[1]).any()
    for act in (svod.linalg.cholesky_ex, svod.linalg.inv_ex, svod.linalg.lu_factor_ex):
        with pytest.raises(svod.ExecutionError, match=r"singular|positive definite"):
            svod.Tensor(act(singular, check_errors=True)[0]).realize()


def test_what_has_an_inverse_has_the_derivative_of_inv() -> None:
    for make in (lambda x: svod.linalg.inv_ex(x).inverse, svod.linalg.inv):
        a = svod.Tensor(STACK).requires_grad_()
        (make(a) ** 2).sum().backward()
        np.testing.assert_allclose(a.grad.numpy(), expected_slope(STACK), rtol=1e-9)


def expected_slope(of: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The derivative of the sum of squares of the inverses."""
    inverse = np.linalg.inv(of)
    turned = inverse.swapaxes(1, 2)
    return -turned @ (2 * inverse) @ turned


def test_parts_that_do_not_fit_are_errors() -> None:
    x = svod.Tensor(M)
    for act, message in (
        (lambda: x.narrow(1, svod.Tensor([1]), 2), "narrow: start: an integer without dimensions"),
        (lambda: x.narrow(1, svod.Tensor(1.5), 2), "narrow: start: an integer without dimensions"),
        (lambda: x.narrow(1, svod.Tensor(1), 5), "narrow: 5 elements of axis 1"),
        (lambda: x.scatter(0, svod.Tensor([[0]]), 1.0, reduce="mean"), "scatter: reduce: 'mean' is neither"),
        (lambda: x.repeat_interleave(2, 0, output_size=5), "repeat_interleave: output_size: 5"),
        (lambda: x.std(True, unbiased=False), "std: dim: axes are expected beside correction or unbiased, not True"),
        (lambda: svod.cat([svod.zeros(0, 2), x]), "cat: extents off axis 0 differ"),
    ):
        with pytest.raises(svod.Error, match=message):
            act()
    with pytest.raises(svod.IndexError, match="narrow: index 3 is out of range for axis 1 with extent 4"):
        x.narrow(1, svod.Tensor(3), 2)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SAMPLES)
def test_calls_in_rarer_forms(name: str) -> None:
    torch = pytest.importorskip("torch")
    global RNG
    RNG = np.random.default_rng(5)
    wanted = as_arrays(SAMPLES[name](torch, torch.nn.functional, torch.tensor))
    RNG = np.random.default_rng(5)
    made = as_arrays(SAMPLES[name](svod, svod.nn.functional, svod.Tensor))
    assert len(made) == len(wanted)
    for mine, theirs in zip(made, wanted, strict=True):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("how", [{"size": (5, 4)}, {"scale_factor": 1.7}, {"size": (9, 3), "align_corners": True}])
def test_images_of_integers_are_rounded(mode: str, how: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    made = svod.nn.functional.interpolate(svod.Tensor(BYTES), mode=mode, **how)
    wanted = torch.nn.functional.interpolate(torch.tensor(BYTES), mode=mode, **how)
    assert made.dtype == "uint8"
    # PyTorch's weights are integers of few bits, so that another number may be the nearest.
    np.testing.assert_allclose(made.numpy().astype(int), wanted.numpy().astype(int), atol=1)
