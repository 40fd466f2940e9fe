"""Arguments by position and by name, as PyTorch and NumPy take them: one call for each form, and its results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_torch_names import INT, A, Call, D, F, G, M, agree, of

import svod
import svod.nn.functional as functional

S = np.float32([[4, 1], [1, 3]])
V = np.float32([1, 2, 3])
B3 = np.float32(np.sin(np.arange(18)).reshape(2, 3, 3))


def layers(xp: Any) -> Any:
    return functional if xp is svod else xp.nn.functional


TORCH: dict[str, Call] = {
    "folds by position": lambda xp, x: [
        getattr(xp, name)(x(M), 1, keep)
        for name in ("sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "all", "any", "logsumexp")
        for keep in (False, True)
    ],
    "folds of several axes": lambda xp, x: [
        xp.sum(x(A), (0, -1)),
        xp.mean(x(of(F)), [0, 1]),
        xp.amax(x(A), (1, 2), True),
    ],
    "folds by name": lambda xp, x: [
        xp.sum(input=x(M), dim=0),
        xp.mean(input=x(M), dim=0, dtype=xp.float64),
        xp.argmax(input=x(M), dim=1, keepdim=True),
        x(M).mean(0, dtype=xp.float64),
        xp.softmax(input=x(M), dim=0),
        xp.softmax(x(M), 1, dtype=xp.float64),
        x(M).log_softmax(-1, dtype=xp.float64),
    ],
    "extremes": lambda xp, x: [
        *xp.max(x(M), 1),
        *xp.min(x(M), -1, True),
        *xp.max(input=x(M), dim=0),
        xp.max(x(M), x(M[:, ::-1].copy())),
        xp.min(input=x(M)),
    ],
    "sorted": lambda xp, x: [
        *xp.sort(x(M), 1),
        *xp.sort(x(M), 0, True),
        *xp.sort(input=x(M), dim=-1, descending=True),
        xp.argsort(x(M), 1, True),
        xp.argsort(input=x(M), dim=0),
    ],
    "deviations": lambda xp, x: [
        x(M).std(1, unbiased=False),
        x(M).var(0, unbiased=True),
        xp.std(x(M), dim=1, unbiased=True),
        xp.var(x(M), dim=(0, 1), unbiased=False),
    ],
    "elementwise": lambda xp, x: [
        xp.add(x(M), other=x(M), alpha=2),
        xp.sub(input=x(M), other=1),
        xp.mul(input=x(M), other=x(M)),
        xp.pow(x(M), exponent=2),
        x(M).pow(exponent=3),
        xp.maximum(x(M), other=x(V)),
        xp.eq(input=x(M), other=1),
        xp.exp(input=x(M)),
        xp.float_power(x(M), exponent=2),
        xp.atan2(input=x(M), other=x(V)),
        xp.heaviside(x(M), values=x(V)),
        xp.lerp(x(M), end=x(M + 1), weight=0.25),
        xp.divide(x(A), x(A * 0 + 3), rounding_mode="floor"),
        xp.where(x(M > 1), input=x(M), other=x(-M)),
        xp.where(x(M > 1)),
        xp.clip(x(M), min=0, max=2),
    ],
    "rounding": lambda xp, x: (
        [xp.round(x(of(D, [1234.5678, -0.125, 2.5])), decimals=d) for d in (-3, -1, 0, 1, 2, 3)]
        + [x(M).round(decimals=1), xp.round(input=x(M))]
    ),
    "arrangement": lambda xp, x: [
        xp.flip(x(A), [0, -1]),
        xp.flip(x(A), dims=(1,)),
        x(A).flip(dims=(0, 2)),
        xp.roll(x(A), 1, 0),
        xp.roll(x(A), shifts=(1, -1), dims=(0, 2)),
        xp.concat([x(A), x(A)], 1),
        xp.cat(tensors=[x(A), x(A)], dim=2),
        xp.permute(x(A), dims=(2, 0, 1)),
        x(A).permute(dims=(2, 0, 1)),
        xp.squeeze(x(A), dim=0),
        xp.squeeze(x(A[:1]), dim=(0, 1)),
        xp.tile(x(A), dims=(2, 1)),
        xp.select(x(A), dim=1, index=-1),
        xp.moveaxis(x(A), source=0, destination=2),
        xp.tensor_split(x(A), sections=2, dim=2),
        xp.narrow(x(A), 2, -2, 1),
        xp.chunk(x(A[:0]), 2),
        xp.tril(x(M), 1),
        xp.triu(x(M), diagonal=-1),
        xp.rot90(x(A), dims=(1, 2)),
        xp.unique(x(of(INT, [[2, 1], [1, 2], [2, 1]])), dim=0, return_inverse=True, return_counts=True),
        xp.unique(x(A % 2), dim=1),
        xp.unique_consecutive(x(of(INT, [[1, 1, 2], [1, 1, 2]])), dim=1, return_inverse=True, return_counts=True),
        xp.take(x(M), index=x(of(INT, [0, 5]))),
        xp.searchsorted(x(V), x(M), right=True),
        xp.searchsorted(sorted_sequence=x(V), input=x(M), out_int32=True),
        *(xp.searchsorted(x(np.sort(M, 1)), x(M[:, ::2].copy()), right=right) for right in (True, False)),
        xp.nonzero(x(M > 1)) if xp is not svod else xp.nonzero(x(M > 1), as_tuple=False),
        xp.nonzero(x(M > 1), as_tuple=True),
        xp.masked_select(x(M), x(M[:1] > 1)),
        x(V)[x(np.bool_(True))],
        x(V)[x(np.bool_(False))],
        x(M).view(xp.int32),
    ],
    "products": lambda xp, x: [
        xp.addmm(input=x(S), mat1=x(S), mat2=x(S)),
        xp.addmm(x(S), mat1=x(S), mat2=x(S), beta=2),
        xp.baddbmm(x(B3), batch1=x(B3), batch2=x(B3)),
        xp.bmm(x(B3), mat2=x(B3)),
        xp.mv(x(S), vec=x(V[:2])),
        xp.tensordot(x(S), x(S), 1),
        xp.tensordot(x(S), x(S), dims=([0], [1])),
        xp.cross(x(V), other=x(V * V), dim=0),
        xp.kron(input=x(S), other=x(S)),
        xp.addcmul(x(S), tensor1=x(S), tensor2=x(S), value=2),
        xp.inner(x(V), other=x(V)),
    ],
    "making": lambda xp, x: [
        xp.zeros(size=(2, 3)),
        xp.ones(size=(2,), dtype=xp.int32),
        xp.full(size=(2, 1), fill_value=3.0),
        xp.arange(end=4),
        xp.arange(start=1, end=9, step=3),
        xp.linspace(0, 1, steps=5),
        xp.linspace(start=1, end=0, steps=3),
        xp.logspace(start=0, end=2, steps=3),
        xp.eye(n=2, m=3),
        xp.hann_window(window_length=5),
        xp.tensor(data=[1.0]),
    ],
    "statistics": lambda xp, x: [
        xp.quantile(x(M), q=0.3, dim=1),
        xp.quantile(input=x(M), q=x(of(F, [0.1, 0.5])), dim=0, interpolation="lower"),
        xp.bucketize(x(M), boundaries=x(V), right=True),
        xp.isin(elements=x(M), test_elements=x(V)),
        xp.trapezoid(y=x(M), dx=2.0),
        xp.trapezoid(x(M), x=x(V)),
        xp.renorm(x(M), p=2, dim=0, maxnorm=1.0),
        xp.polygamma(n=1, input=x(V)),
        xp.cov(x(M[:1])),
        xp.corrcoef(x(M[:1])),
    ],
    "matrices": lambda xp, x: [
        xp.linalg.det(A=x(S)),
        xp.linalg.inv(A=x(S)),
        xp.linalg.solve(A=x(S), B=x(S)),
        xp.linalg.matrix_power(x(S), n=3),
        xp.linalg.solve(x(S), x(M.T.copy()), left=False),
        xp.linalg.solve(x(B3 + np.float32(np.eye(3) * 2)), x(B3), left=False),
        xp.linalg.solve_triangular(x(S), x(M.T.copy()), upper=True, left=False),
        xp.linalg.solve_triangular(x(S), x(S), upper=False, left=True, unitriangular=True),
        xp.linalg.pinv(x(S), atol=2.5),
        xp.linalg.pinv(x(S), hermitian=True),
        xp.linalg.matrix_rank(x(S), atol=2.5),
        xp.linalg.matrix_rank(x(S), atol=0.1, rtol=0.5),
        *(xp.linalg.matrix_norm(x(B3), ord=one, dim=(0, 2)) for one in ("fro", "nuc", 1, 2)),
        xp.linalg.matrix_norm(x(B3), dim=(2, 0), keepdim=True),
        xp.linalg.cond(x(S[:0, :0].copy())),
        xp.cholesky_solve(x(S), input2=x(S)),
        xp.fft.fftn(x(M), dim=(0,)).real,
        xp.fft.fftshift(x(M), dim=1),
        xp.linalg.vecdot(x=x(M), y=x(M)),
    ],
    "in place": lambda xp, x: [
        made
        for name, args in (
            ("relu", ()),
            ("relu6", ()),
            ("elu", (0.5,)),
            ("selu", ()),
            ("celu", ()),
            ("silu", ()),
            ("mish", ()),
            ("leaky_relu", (0.1,)),
            ("hardtanh", ()),
            ("hardswish", ()),
            ("hardsigmoid", ()),
            ("threshold", (0.5, 2.0)),
            ("dropout", (0.5, False)),
        )
        for made in twice(layers(xp), x, name, args)
    ],
}


def twice(space: Any, x: Any, name: str, args: tuple[Any, ...]) -> list[Any]:
    """What a function gives with `inplace`, and what its operand is then."""
    operand = x(M.copy())
    result = getattr(space, name)(operand, *args, inplace=True)
    return [result, operand, getattr(space, name)(x(M.copy()), *args, inplace=False)]


NUMPY: dict[str, Call] = {
    "folds": lambda xp, x: (
        [
            getattr(xp, name)(x(M), 1)
            for name in ("sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "all", "any")
        ]
        + [xp.sum(x(M), 0, keepdims=True)]
    ),
    "arrangement": lambda xp, x: [
        xp.concatenate([x(A), x(A)], 1),
        xp.flip(x(A), 1),
        xp.roll(x(A), 1, 2),
        xp.repeat(x(A), 2, 1),
        xp.take(x(A), x(of(INT, [1, 0])), 1),
        xp.tril(x(M), -1),
        xp.triu(x(M), k=1),
        xp.tile(x(M), reps=(2, 1)),
        xp.rot90(x(A), axes=(0, 2)),
        xp.diag(x(M), k=1),
        xp.unique(x(of(INT, [[2, 1], [1, 2], [2, 1]])), axis=0),
        xp.where(x(M > 1)),
        xp.argsort(x(M), 0),
        xp.moveaxis(x(A), source=0, destination=2),
        xp.squeeze(x(A[:1]), 0),
    ],
    "rounding": lambda xp, x: [
        *(xp.round(x(of(D, [1234.5678, -0.125, 2.5])), d) for d in (-3, -1, 0, 1, 2)),
        *(xp.round(x(of(INT, [15, 25, -15, -25, 149, 5])), d) for d in (-2, -1, 0, 1, -30)),
    ],
    "statistics": lambda xp, x: [
        xp.quantile(x(of(D, M)), q=0.3, method="lower"),
        xp.cov(x(of(D, M)), rowvar=False, bias=True),
        xp.cov(x(of(D, M)), ddof=0),
        xp.cov(x(of(D, M[:1]))),
        xp.corrcoef(x(of(D, M)), rowvar=False),
        xp.searchsorted(x(V), x(M), "right"),
        xp.isclose(a=x(M), b=x(M)),
        xp.linspace(0, 1, dtype=xp.float64),
        xp.clip(x(M), a_min=0, a_max=2),
        xp.vander(x(of("int32", [1, 2, 3]))),
        xp.percentile(x(A).astype(xp.float64), 30),
        xp.array_equal(x(A), x(A)),
        xp.array_equal(x(A), x(A[:1])),
        xp.array_equal(x(G), x(G), equal_nan=True),
        xp.array_equal(x(G), x(G)),
        *divmod(x(A), 3),
        *divmod(7, x(of(INT, [2, -3]))),
        *divmod(x(M), x(of(F, [2, 3, -4]))),
        xp.nanvar(x(of(D, G)), 1),
        xp.interp(x=x(of(D, [1.5])), xp=x(of(D, [1, 2])), fp=x(of(D, [3, 4]))),
    ],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TORCH)
def test_torch_agrees(name: str) -> None:
    torch = pytest.importorskip("torch")
    call = TORCH[name]
    agree(call(svod, svod.Tensor), call(torch, lambda array: torch.from_numpy(np.array(array))))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NUMPY)
def test_numpy_agrees(name: str) -> None:
    call = NUMPY[name]
    agree(call(svod, svod.Tensor), call(np, np.array))


def test_an_argument_is_given_once() -> None:
    x = svod.ones(2, 2)
    for wrong in (
        lambda: svod.add(x, x, other=x),
        lambda: svod.exp(x, input=x),
        lambda: svod.zeros(2, size=(2,)),
        lambda: svod.zeros(shape=(2,), size=(2,)),
        lambda: svod.arange(0, 2, end=3),
        lambda: svod.linspace(0, 1, 3, steps=3),
        lambda: svod.std(x, correction=1, unbiased=True),
        lambda: svod.squeeze(x, 0, dim=0),
        lambda: svod.flip(x, 0, dims=(0,)),
        lambda: x.flip(0, dims=(0,)),
        lambda: svod.sort(x, 0, axis=0),
        lambda: svod.add(x),
        lambda: svod.exp(),
        lambda: svod.full((2,)),
        lambda: svod.bmm(x, mat3=x),
    ):
        with pytest.raises(TypeError):
            wrong()


def test_what_requires_a_gradient_is_made_so() -> None:
    made = [
        svod.zeros(2, requires_grad=True),
        svod.ones(2, requires_grad=True),
        svod.empty(2, requires_grad=True),
        svod.full((2,), 1.0, requires_grad=True),
        svod.arange(2.0, requires_grad=True),
        svod.linspace(0, 1, 2, requires_grad=True),
        svod.eye(2, requires_grad=True),
        svod.rand(2, requires_grad=True),
        svod.randn(size=(2,), requires_grad=True),
    ]
    for x in made:
        assert x.requires_grad and x.is_leaf
        (x * 3).sum().backward()
        assert x.grad is not None and set(x.grad.flatten().tolist()) == {3.0}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_numbers_that_a_type_does_not_hold_have_an_order(dtype: str) -> None:
    x = np.array([0, 1, 100], dtype)
    for number in (-1, 300, -(2**40), 2**40, 2**63, -(2**63)):
        for compare in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
            wanted = [getattr(int(one), compare)(number) for one in x]
            assert getattr(svod.Tensor(x), compare)(number).tolist() == wanted, (number, compare)
        assert (number < svod.Tensor(x)).tolist() == [number < int(one) for one in x]
    assert -1 not in svod.Tensor(x)
    with pytest.raises(svod.ArgumentError, match="does not fit"):
        svod.Tensor(x) + 2**70


def test_multiples_are_of_the_common_type() -> None:
    small, wide = svod.Tensor([100], "int8"), svod.Tensor([1], "int64")
    assert svod.add(wide, small, alpha=3).tolist() == wide.add(small, alpha=3).tolist() == [301]
    assert wide.sub_(small, alpha=3).tolist() == [-299]


def test_cosines_of_vectors_that_broadcast() -> None:
    torch = pytest.importorskip("torch")
    for a, b, dim in (((2, 2, 1), (2, 1, 1), -2), ((2, 3), (3,), -1), ((4, 3), (4, 1), 1), ((1, 5), (5, 5), 0)):
        x, y = (np.random.default_rng(3).standard_normal(shape).astype(np.float32) for shape in (a, b))
        made = functional.cosine_similarity(svod.Tensor(x), svod.Tensor(y), dim=dim).numpy()
        wanted = torch.nn.functional.cosine_similarity(torch.from_numpy(x), torch.from_numpy(y), dim=dim).numpy()
        np.testing.assert_allclose(made, wanted, rtol=1e-5)
        assert (np.abs(made) <= 1 + 1e-6).all()


def test_results_are_as_exact_as_their_type() -> None:
    assert svod.angle(svod.Tensor([-1.0], "float64")).item() == np.pi
    x = svod.Tensor([1e8], "float32")
    assert svod.lerp(x, svod.Tensor([1.0]), 1.0).item() == 1.0 and svod.lerp(x, svod.Tensor([1.0]), 0.0).item() == 1e8
    rows = svod.searchsorted(svod.Tensor([[1.0, np.nan], [2.0, 3.0]]), svod.Tensor([[np.nan, 2.0], [9.0, 2.0]]))
    assert rows.tolist() == [[1, 1], [2, 0]]
    assert svod.percentile(svod.Tensor([1, 2, 4]), 25).item() == 1.5
    assert svod.nanvar(svod.Tensor([1 + 1j, 3 - 1j])).item() == pytest.approx(2.0)
    assert np.isnan(svod.nanvar(svod.Tensor([np.inf, 1.0, np.nan])).item())
    many = np.float16(np.arange(100_000) % 7)
    assert svod.nanmean(svod.Tensor(many)).item() == pytest.approx(many.astype(float).mean(), rel=1e-3)
    assert svod.nanvar(svod.Tensor(many)).item() == pytest.approx(many.astype(float).var(), rel=1e-3)
    assert np.isnan(svod.sinc(svod.Tensor([np.inf])).item())
    assert svod.nanmedian(svod.zeros(0)).isnan().item()
    assert svod.trapezoid(svod.zeros(2, 0)).tolist() == [0, 0]
    with pytest.raises(TypeError, match="int64"):
        svod.logcumsumexp(svod.Tensor([1]), dim=0)
