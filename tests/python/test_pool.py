"""Pooling and windows against PyTorch and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
from svod.nn import functional as F

rng = np.random.default_rng(8)


def data(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype("float32")


def close(actual: svod.Tensor, expected: Any) -> None:
    expected = np.asarray(expected)
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-5, atol=1e-6)


CASES = [
    # shape, kernel, stride, padding, dilation, ceil_mode
    ((2, 3, 8), 2, None, 0, 1, False),
    ((2, 3, 9), 3, 2, 1, 1, True),
    ((1, 1, 1), 1, None, 0, 1, False),
    ((2, 3, 7, 9), 2, None, 0, 1, True),
    ((2, 3, 7, 9), (3, 2), (2, 3), (1, 0), 1, False),
    ((2, 3, 11, 9), 3, 2, 1, 2, True),
    ((0, 3, 7, 9), 2, None, 0, 1, False),
    ((1, 2, 5, 6, 7), 2, 2, 1, 1, True),
    ((1, 2, 5, 6, 7), (1, 3, 2), None, 0, 1, False),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_pools_like_torch(case: tuple[Any, ...]) -> None:
    torch = pytest.importorskip("torch")
    shape, kernel, stride, padding, dilation, ceil_mode = case
    n = len(shape) - 2
    x = data(*shape)
    name = f"max_pool{n}d"
    expected = getattr(torch.nn.functional, name)(torch.tensor(x), kernel, stride, padding, dilation, ceil_mode)
    close(getattr(F, name)(svod.Tensor(x), kernel, stride, padding, dilation, ceil_mode), expected)
    if dilation != 1:
        return
    name = f"avg_pool{n}d"
    for include in (True, False):
        expected = getattr(torch.nn.functional, name)(torch.tensor(x), kernel, stride, padding, ceil_mode, include)
        close(getattr(F, name)(svod.Tensor(x), kernel, stride, padding, ceil_mode, include), expected)


@pytest.mark.parametrize(
    ("shape", "output"),
    [((2, 3, 8), 4), ((2, 3, 7), 3), ((2, 3, 5, 9), (2, 4)), ((1, 2, 5, 9), (None, 1)), ((1, 1, 3, 4, 5), 2)],
)
def test_adaptive_pools_like_torch(shape: tuple[int, ...], output: Any) -> None:
    torch = pytest.importorskip("torch")
    x = data(*shape)
    name = f"adaptive_avg_pool{len(shape) - 2}d"
    close(getattr(F, name)(svod.Tensor(x), output), getattr(torch.nn.functional, name)(torch.tensor(x), output))


def test_special_values() -> None:
    x = np.array([[[np.nan, 1, -np.inf, -np.inf, np.inf, 2]]], "float32")
    np.testing.assert_array_equal(svod.Tensor(x).max_pool1d(2).numpy(), [[[np.nan, -np.inf, np.inf]]])
    np.testing.assert_array_equal(svod.Tensor(x).avg_pool1d(2).numpy(), [[[np.nan, -np.inf, np.inf]]])
    # Padding never wins, not even over the least value.
    least = np.full((1, 1, 2), -np.inf, "float32")
    np.testing.assert_array_equal(svod.Tensor(least).max_pool1d(2, padding=1).numpy(), np.full((1, 1, 2), -np.inf))
    for dtype in ("int8", "uint8", "int64"):
        x = rng.integers(0, 100, (1, 1, 9)).astype(dtype)
        result = svod.Tensor(x).max_pool1d(3, 2, padding=1)
        assert result.dtype == dtype
        padded = np.pad(x, [(0, 0), (0, 0), (1, 1)], constant_values=0)
        np.testing.assert_array_equal(
            result.numpy(), np.lib.stride_tricks.sliding_window_view(padded, 3, 2)[:, :, ::2].max(axis=-1)
        )


def test_unfold() -> None:
    torch = pytest.importorskip("torch")
    x = data(2, 3, 6, 7)
    expected = torch.nn.functional.unfold(torch.tensor(x), (3, 2), dilation=(1, 2), padding=1, stride=(2, 1))
    close(F.unfold(svod.Tensor(x), (3, 2), dilation=(1, 2), padding=1, stride=(2, 1)), expected)
    close(svod.Tensor(x).unfold(2, 3, 2), torch.tensor(x).unfold(2, 3, 2))


def test_a_pool_is_one_kernel() -> None:
    x = svod.Tensor(data(2, 3, 9, 8))
    assert len(x.max_pool2d(3, 2, padding=1).prepare().kernels) == 1
    assert len(x.avg_pool2d(3, 2, padding=1).prepare().kernels) == 1


def test_errors() -> None:
    x = svod.zeros(1, 2, 5, 5)
    cases: list[tuple[Callable[[], Any], type[svod.Error], str]] = [
        (lambda: x.max_pool2d(6), svod.ShapeError, "larger than the padded input [5, 5] of float32[1, 2, 5, 5]"),
        (lambda: x.max_pool2d(2, 0), svod.ArgumentError, "stride [0] of windows of [2, 2] over float32[1, 2, 5, 5]"),
        (lambda: x.max_pool2d(2, dilation=0), svod.ArgumentError, "dilation [0]"),
        (lambda: x.max_pool2d(2, padding=2), svod.ArgumentError, "more than half of the kernel [2, 2]"),
        (lambda: x.avg_pool2d(2, padding=-1), svod.ArgumentError, "must not be negative"),
        (lambda: x.avg_pool2d((2, 2, 2)), svod.ArgumentError, "3 extents for 2 dimensions"),
        (lambda: x.adaptive_avg_pool2d(0), svod.ShapeError, "at least one element"),
        (lambda: x.unfold(2, 6, 1), svod.ShapeError, "parts of 6 elements"),
        (lambda: x.unfold(2, 2, 0), svod.ArgumentError, "step [0]"),
        (lambda: svod.zeros(4).max_pool2d(2), svod.ShapeError, "fewer than 2 dimensions"),
    ]
    for call, kind, words in cases:
        with pytest.raises(kind) as error:
            call()
        assert words in str(error.value)


@pytest.mark.parametrize(("extent", "parts"), [(5, 3), (3, 5), (4, 6), (7, 7), (1, 4), (8, 1), (6, 4), (10, 7)])
def test_parts_of_adaptive_pooling_are_means(extent: int, parts: int) -> None:
    values = np.random.default_rng(0).standard_normal((2, extent)).astype(np.float32)
    bounds = [(i * extent // parts, -(-(i + 1) * extent // parts)) for i in range(parts)]
    wanted = np.stack([values[:, a:b].mean(1) for a, b in bounds], 1)
    got = svod.Tensor(values).reshape(1, 2, extent).adaptive_avg_pool1d(parts).reshape(2, parts)
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5, atol=1e-6)


def test_more_parts_than_there_are_numbers_are_an_error() -> None:
    with pytest.raises(svod.ShapeError, match="parts of at least one element"):
        svod.ones(2, 3, 8).adaptive_avg_pool1d(1 << 62)
