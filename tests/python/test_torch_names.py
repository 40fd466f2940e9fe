"""Functions by the names of PyTorch and NumPy: a table of calls that are the same in all of them, and their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

F, D, INT, I8, B = "float32", "float64", "int64", "int8", "bool"
A = np.arange(24).reshape(2, 3, 4) % 7 - 2
M = np.float32([[3, 1, 2], [-1, 5, 5]])
SPECIAL = np.float32([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 3.0, 1e-40])
G = np.float32([[3, np.nan, 2, 4], [-1, 5, np.nan, 0], [np.nan, np.nan, 1, 7]])
C = [[1, 2, 4, 3], [3, 1, 0, 5], [2, 2, 1, 1]]

# A call of a namespace `xp` that has NumPy's names, or PyTorch's; `x` makes one of its arrays.
Call = Callable[[Any, Callable[..., Any]], Any]


def of(dtype: str, array: Any = A) -> np.ndarray[Any, Any]:
    return np.asarray(array).astype(dtype)


def how(xp: Any) -> str:
    """NumPy's name for PyTorch's `interpolation`."""
    return "method" if xp is np else "interpolation"


def as_arrays(made: Any) -> list[np.ndarray[Any, Any]]:
    """Results as arrays, several one by one."""
    if isinstance(made, (list, tuple)):
        return [array for one in made for array in as_arrays(one)]
    if hasattr(made, "detach"):
        made = made.detach().resolve_conj() if hasattr(made, "resolve_conj") else made.detach()
        return [made.numpy()]
    return [np.asarray(made)]


def agree(ours: Any, theirs: Any, types: bool = True) -> None:
    ours, theirs = as_arrays(ours), as_arrays(theirs)
    assert len(ours) == len(theirs)
    for mine, wanted in zip(ours, theirs, strict=True):
        assert mine.shape == wanted.shape
        if types:
            assert mine.dtype == wanted.dtype
        # NumPy computes some functions in single precision, where svod does in double.
        np.testing.assert_allclose(mine, wanted, rtol=3e-6, atol=1e-7)


# What NumPy and PyTorch both have by these names.
BOTH: dict[str, Call] = {
    "atleast": lambda xp, x: [
        made(x(of(F, array)))
        for made in (xp.atleast_1d, xp.atleast_2d, xp.atleast_3d)
        for array in (3, [1, 2], [[1, 2]], A)
    ],
    "column_stack": lambda xp, x: xp.column_stack((x(of(INT, [1, 2])), x(of(INT, [[3, 4], [5, 6]])))),
    "hstack": lambda xp, x: [xp.hstack((x(M), x(M))), xp.hstack((x(of(F, [1])), x(of(F, [2, 3]))))],
    "vstack": lambda xp, x: [xp.vstack((x(M), x(M))), xp.vstack((x(of(F, [1, 4])), x(of(F, [2, 3]))))],
    "dstack": lambda xp, x: [xp.dstack((x(M), x(M))), xp.dstack((x(A), x(A)))],
    "hsplit": lambda xp, x: [xp.hsplit(x(A), 3), xp.hsplit(x(of(INT, [1, 2, 3])), [1]), xp.hsplit(x(A), [1, 2])],
    "vsplit": lambda xp, x: [xp.vsplit(x(A), 2), xp.vsplit(x(A), [0, 1, 1])],
    "dsplit": lambda xp, x: [xp.dsplit(x(A), 4), xp.dsplit(x(A), [3])],
    "fliplr": lambda xp, x: [xp.fliplr(x(A)), xp.flipud(x(A))],
    "ravel": lambda xp, x: [xp.ravel(x(A)), xp.ravel(x(of(F, 2.0))), xp.ravel(x(A[:0]))],
    "rot90": lambda xp, x: [xp.rot90(x(A), k, (0, 2)) for k in range(-1, 5)],
    "diag": lambda xp, x: [xp.diag(x(M), k) for k in (-1, 0, 2, 3)],
    "diag of a vector": lambda xp, x: [xp.diag(x(of(t, [1, 0, 2])), k) for t in (F, INT, B) for k in (-2, 0, 1)],
    "diagflat": lambda xp, x: xp.diagflat(x(M), 1),
    "diagonal": lambda xp, x: [xp.diagonal(x(A), k, 2, 0) for k in (-1, 0, 1, 5)],
    "trace": lambda xp, x: [xp.trace(x(M)), xp.trace(x(of(INT, M)))],
    "argwhere": lambda xp, x: [xp.argwhere(x(A)), xp.argwhere(x(of(B)))],
    "unravel_index": lambda xp, x: xp.unravel_index(x(of(INT, [0, 5, 23])), (2, 3, 4)),
    "degrees": lambda xp, x: [xp.deg2rad(x(M)), xp.rad2deg(x(M))],
    "fix": lambda xp, x: xp.fix(x(SPECIAL)),
    "float_power": lambda xp, x: [xp.float_power(x(of(INT, [1, 2])), 0.5), xp.float_power(x(M), 2)],
    "fmax": lambda xp, x: [made(x(SPECIAL), x(SPECIAL[::-1].copy())) for made in (xp.fmax, xp.fmin)],
    "fmod": lambda xp, x: [
        xp.fmod(x(of(t, [7, -7, 7, -7, 0])), x(of(t, [3, 3, -3, -3, 5]))) for t in (F, D, INT, I8, "int32")
    ],
    "fmod of floats": lambda xp, x: xp.fmod(
        x(of(F, [1e10, -5.3, 5.3, np.inf, 1, 2, np.nan, -0.0, 6])),
        x(of(F, [0.7, 1.1, -np.inf, 2, 0, np.nan, 1, 1, -3])),
    ),
    "frexp": lambda xp, x: xp.frexp(x(of(D, [0.0, 1, -6, 0.3, np.inf, 1e-310, 1e300]))),
    "gcd": lambda xp, x: [
        made(x(of(t, [12, 0, -8, 127, 21, 0])), x(of(t, [18, 5, 12, 89, 34, 0])))
        for made in (xp.gcd, xp.lcm)
        for t in (INT, "int32", I8)
    ],
    "gcd of many steps": lambda xp, x: xp.gcd(x(np.int64([7540113804746346429])), x(np.int64([4660046610375530309]))),
    "heaviside": lambda xp, x: [xp.heaviside(x(of(F, [-1, 0, 2, np.inf])), x(of(F, [0.5])))],
    "isclose": lambda xp, x: [
        xp.isclose(x(SPECIAL), x(SPECIAL + np.float32(1e-9)), equal_nan=nan) for nan in (False, True)
    ],
    "isclose of integers": lambda xp, x: xp.isclose(x(of(INT, [100, 1000])), x(of(INT, [101, 1001])), rtol=5e-3),
    "signs of infinities": lambda xp, x: [xp.isneginf(x(SPECIAL)), xp.isposinf(x(SPECIAL)), xp.isreal(x(SPECIAL))],
    "ldexp": lambda xp, x: xp.ldexp(x(of(F, [0.75, 1, 2e-38])), x(of("int32", [3, 127, 140]))),
    "logaddexp2": lambda xp, x: xp.logaddexp2(x(of(F, [1, 1000, -np.inf])), x(of(F, [2, 999, -np.inf]))),
    "nan_to_num": lambda xp, x: [xp.nan_to_num(x(SPECIAL)), xp.nan_to_num(x(SPECIAL), nan=1.0, posinf=2.0, neginf=3.0)],
    "sinc": lambda xp, x: xp.sinc(x(of(F, [0, 0.25, 0.5, 1.25, -3.5]))),
    "true_divide": lambda xp, x: [xp.true_divide(x(M), x(M[:1])), xp.true_divide(x(M), 2)],
    "nansum": lambda xp, x: [
        made(x(G), **{axis: 1}) for made in (xp.nansum, xp.nanmean) for axis in (["axis"] if xp is np else ["dim"])
    ],
    "quantile": lambda xp, x: [
        made(x(of(D, M)), x(of(D, [0, 0.3, 1])), 1, **{how(xp): kind})
        for made in (xp.quantile, xp.nanquantile)
        for kind in ("linear", "lower", "higher", "nearest", "midpoint")
    ],
    "quantile of all": lambda xp, x: [
        xp.quantile(x(of(D, M)), 0.4),
        xp.quantile(x(of(D, G)), 0.4),
        xp.nanquantile(x(of(D, G)), 0.4),
    ],
    "nanquantile": lambda xp, x: xp.nanquantile(x(of(D, G)), x(of(D, [0.2, 0.9])), 0),
    "corrcoef": lambda xp, x: [xp.corrcoef(x(of(D, C))), xp.cov(x(of(D, C))), xp.cov(x(of(D, [1, 2, 4])))],
    "cov": lambda xp, x: xp.cov(x(of(D, C)), fweights=x(of(INT, [1, 2, 3, 1])), aweights=x(of(D, [1, 0.5, 2, 1]))),
    "vander": lambda xp, x: [xp.vander(x(of(F, [1, 2, 3])), n, increasing=up) for n in (2, 4) for up in (False, True)],
    "positions of triangles": lambda xp, x: (
        [np.stack(xp.tril_indices(3, 1, 4)), np.stack(xp.triu_indices(3, 0, 2))]
        if xp is np
        else [xp.tril_indices(3, 4, 1), xp.triu_indices(3, 2, 0)]
    ),
}
# What only NumPy has.
NUMPY: dict[str, Call] = {
    "average": lambda xp, x: [
        xp.average(x(M)),
        xp.average(x(M), 1, weights=x(of(F, [1, 2, 3]))),
        xp.average(x(M), weights=x(M)),
    ],
    "nan": lambda xp, x: [
        made(x(of(D, G)), axis=axis, keepdims=keepdims)
        for made in (xp.nanmax, xp.nanmin, xp.nanprod, xp.nanstd, xp.nanvar)
        for axis in (None, 0, -1)
        for keepdims in (False, True)
    ],
    "percentile": lambda xp, x: [
        xp.percentile(x(of(D, M)), x(of(D, [0, 10, 99])), axis=0),
        xp.percentile(x(of(D, M)), 30),
    ],
    "ptp": lambda xp, x: [xp.ptp(x(A)), xp.ptp(x(A), axis=1), xp.ptp(x(M), axis=-1, keepdims=True)],
    "array_split": lambda xp, x: [xp.array_split(x(A), 3, axis=2), xp.array_split(x(A), [1, 2], axis=1)],
    "rollaxis": lambda xp, x: [xp.rollaxis(x(A), 2), xp.rollaxis(x(A), 0, 3), xp.rollaxis(x(A), -1, 1)],
    "array": lambda xp, x: [xp.array([1, 2]), xp.array([[1.5]], dtype=xp.float32), xp.identity(3, dtype=xp.int8)],
    "geomspace": lambda xp, x: [
        xp.geomspace(1, 256, 9, dtype=xp.float64),
        xp.geomspace(-2.0, -1, 4, endpoint=False, dtype=xp.float32),
    ],
}

# What only PyTorch has.
TORCH: dict[str, Call] = {
    "adjoint": lambda xp, x: [x(A).adjoint(), xp.adjoint(x(np.complex64([[1 + 2j, 3]])))],
    "broadcast_tensors": lambda xp, x: xp.broadcast_tensors(x(of(F, [[1], [2]])), x(of(F, [3, 4, 5]))),
    "cartesian_prod": lambda xp, x: [
        xp.cartesian_prod(x(of(INT, [1, 2])), x(of(INT, [3, 4, 5])), x(of(INT, [6]))),
        xp.cartesian_prod(x(of(INT, [1, 2]))),
    ],
    "channel_shuffle": lambda xp, x: xp.channel_shuffle(x(np.arange(24.0).reshape(1, 6, 2, 2)), 3),
    "combinations": lambda xp, x: [
        xp.combinations(x(of(INT, [1, 2, 3])), r=r, with_replacement=again)
        for r in (1, 2, 3)
        for again in (False, True)
    ],
    "as another": lambda xp, x: [x(A[:1]).expand_as(x(A)), x(A).reshape_as(x(A.reshape(6, 4)))],
    "movedim": lambda xp, x: [xp.movedim(x(A), (0, 1), (1, 2)), xp.swapdims(x(A), 0, -1)],
    "split_with_sizes": lambda xp, x: xp.split_with_sizes(x(A), [1, 0, 3], dim=2),
    "sum_to_size": lambda xp, x: [x(A).sum_to_size(3, 1), x(A).sum_to_size((1, 3, 4)), x(A).sum_to_size(2, 3, 4)],
    "tensor_split": lambda xp, x: [xp.tensor_split(x(A), n, dim=2) for n in (1, 3, 5, (1, 3), (-1,), (3, 1))],
    "unbind": lambda xp, x: [xp.unbind(x(A)), x(A).unbind(-1)],
    "block_diag": lambda xp, x: xp.block_diag(x(M), x(of(F, 3)), x(of(F, [1, 2]))),
    "diag_embed": lambda xp, x: [
        xp.diag_embed(x(A), offset=k, dim1=a, dim2=b) for k in (-1, 0, 2) for a, b in ((-2, -1), (0, 2), (3, 1))
    ],
    "diagonal_scatter": lambda xp, x: [
        xp.diagonal_scatter(x(M), x(of(F, [7, 8])), 0),
        xp.diagonal_scatter(x(M), x(of(F, [7])), -1),
        xp.diagonal_scatter(x(M), x(of(F, [7, 8])), 1),
    ],
    "fill_diagonal_": lambda xp, x: [
        x(M.copy()).fill_diagonal_(9),
        x(np.zeros((7, 2), F)).fill_diagonal_(9, wrap=True),
    ],
    "fill_diagonal_ of three": lambda xp, x: x(np.zeros((3, 3, 3), INT)).fill_diagonal_(9),
    "as_strided": lambda xp, x: [xp.as_strided(x(A), (2, 2), (1, 5), 3), xp.as_strided(x(A), (), (), 4)],
    "index_fill": lambda xp, x: [xp.index_fill(x(A), 1, x(of(INT, [0, 2])), 9), x(M).index_fill(-1, x(of(INT, [])), 9)],
    "index_put": lambda xp, x: [
        xp.index_put(x(M), (x(of(INT, [0, 1])), x(of(INT, [2, 0]))), x(of(F, [7, 8]))),
        xp.index_put(x(M), (x(of(INT, [0, 0, -1])),), x(of(F, 5)), accumulate=True),
        xp.index_put(x(M), (x(M > 2),), x(of(F, 5)), accumulate=True),
    ],
    "masked_scatter": lambda xp, x: [
        xp.masked_scatter(x(M), x(M > 1), x(of(F, [7, 8, 9, 10, 11]))),
        x(M).masked_scatter(x(of(B, [True, False, True])), x(-M)),
    ],
    "put": lambda xp, x: [
        x(M).put(x(of(INT, [0, 4])), x(of(F, [7, 8]))),
        x(M).put(x(of(INT, [1, 1])), x(of(F, [7, 8])), True),
    ],
    "select": lambda xp, x: [xp.select(x(A), 1, -1), x(A).select(-1, 0)],
    "select_scatter": lambda xp, x: xp.select_scatter(x(M), x(of(F, [7, 8])), 1, -1),
    "slice_scatter": lambda xp, x: [
        xp.slice_scatter(x(M), x(of(F, [[7], [8]])), 1, 0, 2, 2),
        xp.slice_scatter(x(M), x(-M[:1]), start=1),
    ],
    "addcdiv": lambda xp, x: [
        xp.addcdiv(x(M), x(M + 1), x(M * 2 + 1), value=0.5),
        x(M).addcmul(x(M), x(M), value=2),
        xp.addcmul(x(of(INT)), x(of(INT)), x(of(INT))),
    ],
    "clamp_max": lambda xp, x: [xp.clamp_max(x(M), 2), xp.clamp_min(x(of(INT)), 1), x(M).clamp_max(x(M[:1]))],
    "frac": lambda xp, x: xp.frac(x(of(F, [1.5, -1.5, 3, 1e20]))),
    "logit": lambda xp, x: [xp.logit(x(of(F, [0, 0.1, 0.5, 1, 2]))), xp.logit(x(of(F, [0, 0.1, 1])), eps=1e-3)],
    "mvlgamma": lambda xp, x: xp.mvlgamma(x(of(F, [2, 3.5, 10])), 3),
    "rsub": lambda xp, x: [xp.rsub(x(M), 2), xp.rsub(x(M), x(M[:1]), alpha=3)],
    "sgn": lambda xp, x: xp.sgn(x(of(F, [-2, 0, 3]))),
    "windows": lambda xp, x: [
        made(n, periodic=periodic)
        for made in (xp.bartlett_window, xp.blackman_window, xp.hamming_window, xp.hann_window)
        for n in (0, 1, 7, 8)
        for periodic in (False, True)
    ],
    "hamming_window": lambda xp, x: xp.hamming_window(5, True, 0.6, 0.4),
    "kaiser_window": lambda xp, x: [xp.kaiser_window(9, False, 5.0), xp.kaiser_window(8)],
    "logspace": lambda xp, x: [xp.logspace(0, 3, 4), xp.logspace(-1, 1, 5, base=2.0)],
    "scalar_tensor": lambda xp, x: xp.scalar_tensor(2),
    "new": lambda xp, x: [
        x(of(INT)).new_zeros(2, 3),
        x(M).new_ones((2,)),
        x(M).new_full((2, 1), 7),
        x(M).new_tensor([1.0, 2]),
    ],
    "aminmax": lambda xp, x: [list(xp.aminmax(x(M))), list(xp.aminmax(x(M), dim=1, keepdim=True))],
    "mode": lambda xp, x: [list(xp.mode(x(A), dim)) for dim in (0, 1, -1)] + [list(xp.mode(x(M), 1, True))],
    "nanmedian": lambda xp, x: [
        xp.nanmedian(x(G)),
        xp.nanmedian(x(A)),
        xp.nanmedian(x(M), 1)[0],
        list(xp.nanmedian(x(M), 1, True)),
        xp.nanmedian(x(G), 0)[0],
    ],
    "quantile with keepdim": lambda xp, x: [
        xp.quantile(x(M), 0.3, 1, True),
        xp.quantile(x(M), x(of(F, [0.3, 0.5])), None, True),
    ],
    "std_mean": lambda xp, x: [
        xp.std_mean(x(M), dim=1),
        xp.var_mean(x(M), dim=(0, 1), correction=0, keepdim=True),
        xp.std_mean(x(M)),
    ],
    "tensor": lambda xp, x: [xp.tensor([1, 2]), xp.as_tensor([1.5], dtype=xp.float64), xp.tensor([True])],
    "functions of methods": lambda xp, x: [
        xp.chunk(x(A), 2, 1),
        xp.clamp(x(M), 0, 2),
        xp.cummax(x(M), 1),
        xp.cumsum(x(M), dim=0),
        xp.div(x(M), 2),
        xp.dot(x(M[0]), x(M[1])),
        xp.flatten(x(A), 1),
        xp.gather(x(M), 1, x(of(INT, [[2], [0]]))),
        xp.index_select(x(A), 2, x(of(INT, [3, 1]))),
        xp.kthvalue(x(M[0]), 2),
        xp.lerp(x(M), x(M + 1), 0.5),
        xp.log_softmax(x(M), 1),
        xp.masked_fill(x(M), x(M > 1), 0.0),
        xp.masked_select(x(M), x(M > 1)),
        xp.narrow(x(A), 2, 1, 2),
        xp.numel(x(A)),
        xp.outer(x(M[0]), x(M[1])),
        xp.permute(x(A), (2, 0, 1)),
        xp.scatter_add(x(M), 1, x(of(INT, [[2], [0]])), x(M[:, :1])),
        xp.softmax(x(M), dim=-1),
        xp.split(x(A), 3, 2),
        xp.topk(x(M), 2),
        xp.transpose(x(A), 0, 2),
        xp.unflatten(x(A), 2, (2, 2)),
        xp.unsqueeze(x(M), 0),
    ],
    "functions of layers": lambda xp, x: [
        xp.celu(x(M)),
        xp.selu(x(M)),
        xp.conv1d(x(of(F)), x(np.ones((2, 3, 2), F))),
        xp.layer_norm(x(M), (3,)),
        xp.max_pool1d(x(of(F)), 2),
        xp.pixel_shuffle(x(np.arange(8.0).reshape(1, 4, 1, 2)), 2),
        x(M).hardshrink(),
        x(M).prelu(x(of(F, [0.25]))),
    ],
    "assigned": lambda xp, x: [
        x(M.copy()).addcmul_(x(M), x(M)),
        x(M.copy()).cos_(),
        x(M.copy()).eq_(1),
        x(M.copy()).index_fill_(0, x(of(INT, [1])), 4),
        x(M.copy()).masked_fill_(x(M > 1), -1),
        x(M.copy()).clamp_min_(2),
        x(M.copy()).tril_(),
        x(M.copy()).cumsum_(1),
        x(M.copy()).index_put_((x(of(INT, [0])),), x(of(F, 3.0))),
    ],
}


def numpy_array(made: Any) -> Any:
    return np.array(made)


# Where PyTorch has another result than NumPy, which svod has.
NUMPYS = {"fix": "0 has a sign", "frexp": "types", "heaviside": "NaN"}
# Where NumPy's result is of another type or form.
FORMS = {"vander", "float_power", "gcd of many steps", "ldexp", "trace", "frexp"}


@pytest.mark.parametrize("name", BOTH | NUMPY)
def test_numpy_agrees(name: str) -> None:
    call = (BOTH | NUMPY)[name]
    with np.errstate(all="ignore"):
        wanted = call(np, numpy_array)
    agree(call(svod, svod.Tensor), wanted, types=name not in FORMS)


@pytest.mark.parametrize("name", BOTH | TORCH)
def test_torch_agrees(name: str) -> None:
    torch = pytest.importorskip("torch")
    call = (BOTH | TORCH)[name]
    agree(call(svod, svod.Tensor), call(torch, lambda array: torch.from_numpy(np.array(array))))


def test_what_a_tensor_is() -> None:
    torch = pytest.importorskip("torch")
    for array in (A, M, of(I8), of(B), np.float64(3)):
        mine, theirs = svod.Tensor(array), torch.from_numpy(np.array(array))
        for name in (
            "element_size",
            "is_contiguous",
            "is_floating_point",
            "is_signed",
            "ndimension",
            "nelement",
            "stride",
        ):
            assert getattr(mine, name)() == getattr(theirs, name)(), name
    assert svod.Tensor(A).stride(-2) == 4 and svod.is_same_size(svod.ones(2), svod.zeros(2))
    assert svod.is_nonzero(svod.Tensor([[3]])) and not svod.is_nonzero(svod.Tensor(False))
    with pytest.raises(svod.ShapeError, match="is_nonzero"):
        svod.is_nonzero(svod.ones(2))
    for a in ("int8", "uint8", "int64", "float16", "bfloat16", "float64", "bool", "complex64"):
        for b in ("int16", "float32", "bool", "complex128", "bfloat16"):
            wanted = str(torch.promote_types(getattr(torch, a), getattr(torch, b))).removeprefix("torch.")
            assert svod.promote_types(getattr(svod, a), getattr(svod, b)).name == wanted
    x = svod.Tensor(M)
    assert x.type_as(svod.ones(1, dtype="float64")).dtype == "float64" and x.view_as(svod.ones(3, 2)).shape == (3, 2)
    assert (x.byte().dtype, x.char().dtype, x.cpu().device) == ("uint8", "int8", "CPU")
