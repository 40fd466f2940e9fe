"""Options of functions that PyTorch, tinygrad and DLPack have: running folds, padding, pools of variables, exchange."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import svod
import svod.nn.functional as F


def running(x: Any, fold: Any, exclusive: bool, reverse: bool) -> Any:
    """A running fold along the first axis by its definition."""
    turned = x[::-1] if reverse else x
    made = [fold(turned[: i + (not exclusive)], axis=0) for i in range(len(x))]
    made = np.stack(made) if made else np.zeros_like(x)
    return made[::-1] if reverse else made


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "complex64", "float16"])
@pytest.mark.parametrize("extent", [0, 1, 5, 70])
def test_running_folds(exclusive: bool, reverse: bool, dtype: str, extent: int) -> None:
    x = (np.arange(extent * 3).reshape(extent, 3) % 3 + (0.5j if "complex" in dtype else 0.0)).astype(dtype)
    how = {"exclusive": exclusive, "reverse": reverse}
    for name, fold in (("cumsum", np.sum), ("cumprod", np.prod)):
        x = x if name == "cumsum" else x[:6]
        result = getattr(svod.Tensor(x), name)(0, **how).numpy()
        right = running(x, fold, exclusive, reverse)
        np.testing.assert_allclose(result, right.astype(result.dtype), rtol=1e-3)
    along = svod.cumsum(svod.Tensor(x), axis=-1, **how).numpy()
    np.testing.assert_allclose(along, running(x.T, np.sum, exclusive, reverse).T.astype(along.dtype), rtol=1e-3)


def test_running_folds_have_derivatives() -> None:
    x = svod.Tensor([1.0, 2.0, 3.0])
    weights = svod.Tensor([1.0, 10.0, 100.0])
    slope = svod.grad(lambda x: (x.cumsum(0, exclusive=True) * weights).sum())(x)
    assert slope.tolist() == [110.0, 100.0, 0.0]
    slope = svod.grad(lambda x: (x.cumprod(0, reverse=True) * weights).sum())(x)
    assert slope.tolist() == [6.0, 3.0 + 30.0, 2.0 + 20.0 + 100.0]


def test_padding_cuts_off_where_it_is_negative() -> None:
    x = np.arange(12).reshape(3, 4)
    t = svod.Tensor(x)
    assert t.pad([(-1, 0), (1, -2)], 9).tolist() == [[9, 4, 5], [9, 8, 9]]
    assert t.pad([(-1, -2), (0, 0)]).shape == (0, 4)
    slope = svod.grad(lambda x: (x.pad([(-1, 2)]) * svod.arange(4)).sum())(svod.Tensor([1.0, 2.0, 3.0]))
    assert slope.tolist() == [0.0, 0.0, 1.0]
    with pytest.raises(svod.ShapeError):
        t.pad([(-4, 0), (0, 0)])


def parts(x: Any, count: int, fold: Any) -> Any:
    """Folds of parts that cover the last axis, by their definition."""
    n = x.shape[-1]
    return np.stack([fold(x[..., i * n // count : -(-(i + 1) * n // count)], axis=-1) for i in range(count)], -1)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_adaptive_pools_of_variables(count: int) -> None:
    n = svod.Variable("n", 1, 12)
    x = svod.empty(1, 2, n)
    mean, greatest, at = svod.prepare(
        x.adaptive_avg_pool1d(count), *F.adaptive_max_pool1d(x, count, return_indices=True), inputs=[x]
    ).outputs
    plan = svod.prepare(x.adaptive_avg_pool1d(count), *F.adaptive_max_pool1d(x, count, return_indices=True), inputs=[x])
    for extent in (1, 2, 4, 7, 12):
        values = np.random.default_rng(extent).standard_normal((1, 2, extent)).astype(np.float32)
        plan.execute(values)
        mean, greatest, at = (one.numpy() for one in plan.outputs)
        np.testing.assert_allclose(mean, parts(values, count, np.mean), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(greatest, parts(values, count, np.max))
        np.testing.assert_array_equal(np.take_along_axis(values, at, -1), greatest)


@pytest.mark.parametrize("by", [2, 4, 5])
def test_sizes_prove_what_windows_pad(by: int) -> None:
    m = svod.Variable("m", 1, 20)
    x = svod.empty(m)
    n = x.shape[0]
    windows = x.pad([(0, (by - n % by) % by)]).reshape((n + (by - n % by) % by) // by, by)
    same = x.pad([(0, -n % by)]).reshape(-1, by)
    plan = svod.prepare(windows.sum(1), same.sum(1), inputs=[x])
    for extent in (1, by - 1, by, by + 1, 20):
        values = np.arange(extent, dtype=np.float32) + 1
        plan.execute(values)
        right = np.pad(values, (0, -extent % by)).reshape(-1, by).sum(1)
        assert all(one.tolist() == right.tolist() for one in plan.outputs)


def test_a_size_is_a_value_of_a_graph() -> None:
    n = svod.Variable("n", 1, 8)
    x = svod.empty(n, 2)
    size = svod.asarray(x.shape[0], dtype=svod.float32)
    plan = svod.prepare(x.sum(0) / size, x * x.shape[0] ** 0.5, size.log(), inputs=[x])
    plan.execute(np.ones((4, 2), np.float32))
    assert plan.outputs[0].tolist() == [1.0, 1.0] and plan.outputs[1].tolist() == [[2.0, 2.0]] * 4
    assert plan.outputs[2].item() == pytest.approx(math.log(4))
    with pytest.raises(svod.ArgumentError, match=r"svod\.asarray"):
        float(x.shape[0])


FOREIGN = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]


@pytest.mark.parametrize("dtype", FOREIGN)
def test_exchange_of_types_that_numpy_has_not(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("ml_dtypes")
    theirs = torch.arange(12.0).reshape(3, 4).to(getattr(torch, dtype))
    ours = svod.from_dlpack(theirs)
    assert ours.dtype == dtype and ours.float().tolist() == theirs.float().tolist()
    assert (
        svod.from_dlpack(theirs.T[::2] if dtype == "bfloat16" else theirs.T).float().tolist()
        == (theirs.T[::2] if dtype == "bfloat16" else theirs.T).float().tolist()
    )
    assert svod.from_dlpack(theirs, copy=True).float().tolist() == theirs.float().tolist()
    back = torch.from_dlpack(ours)
    assert back.dtype == theirs.dtype and back.float().tolist() == theirs.float().tolist()
    # Memory is shared both ways.
    if dtype == "bfloat16":
        theirs[0, 0] = 7
        assert (ours + 0).float()[0, 0].item() == 7 and svod.ones(2).bfloat16().realize() is not None


def test_exchange_of_what_is_not_dense() -> None:
    torch = pytest.importorskip("torch")
    for theirs in (torch.arange(12.0).reshape(3, 4)[:, ::2], torch.ones(3, 1).expand(3, 4), torch.ones(2, 3).T):
        assert svod.from_dlpack(theirs).tolist() == theirs.tolist()
        with pytest.raises((svod.ArgumentError, BufferError)):
            svod.from_dlpack(theirs, copy=False)
    with pytest.raises((svod.Error, RuntimeError, BufferError)):
        svod.from_dlpack(torch.ones(2, dtype=torch.float32).to_sparse())


def test_multiples_of_operands() -> None:
    x, y = svod.Tensor([1, 2], "int32"), svod.Tensor([3, 4], "int32")
    assert x.add(y, alpha=2).tolist() == [7, 10] and x.add(y, alpha=2).dtype == "int32"
    assert svod.sub(10, y, alpha=3).tolist() == [1, -2]
    assert x.add(y, alpha=0.5).dtype == "float32"
    assert svod.add(x, y, alpha=svod.Tensor(2, "int32")).tolist() == [7, 10]
    with pytest.raises((TypeError, svod.Error)):
        x.add(y, alpha="2")
