"""Layers against the formulas they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import svod
from svod import nn
from svod.nn import functional


@pytest.mark.parametrize("axes", [1, 2])
def test_layer_norm_over_the_last_axes(axes: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 5, 4)).astype(np.float32)
    shape = x.shape[-axes:]
    weight, bias = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    last = tuple(range(-axes, 0))
    wide = x.astype(np.float64)
    below = wide - wide.mean(last, keepdims=True)
    expected = below / np.sqrt((below**2).mean(last, keepdims=True) + 1e-5) * weight + bias
    given = functional.layer_norm(svod.Tensor(x), shape, svod.Tensor(weight), svod.Tensor(bias))
    np.testing.assert_allclose(given.numpy(), expected, rtol=1e-5, atol=1e-5)
    layer = nn.LayerNorm(shape if axes > 1 else shape[0])
    np.testing.assert_allclose(layer(svod.Tensor(x)).numpy(), (expected - bias) / weight, rtol=1e-3, atol=1e-4)
    scaled = wide / np.sqrt((wide**2).mean(last, keepdims=True) + 1e-6) * weight
    given = functional.rms_norm(svod.Tensor(x), shape, svod.Tensor(weight))
    np.testing.assert_allclose(given.numpy(), scaled, rtol=1e-5, atol=1e-5)
    assert nn.RMSNorm(shape)(svod.Tensor(x)).shape == x.shape


def test_layer_norm_names_what_does_not_fit() -> None:
    x = svod.zeros((2, 3))
    with pytest.raises(svod.ShapeError, match=r"layer_norm: the last axes of \(2, 3\) are not \(4,\)"):
        functional.layer_norm(x, 4)
    with pytest.raises(svod.ShapeError, match=r"rms_norm: a parameter of shape \(2,\) for axes \(3,\)"):
        functional.rms_norm(x, 3, svod.ones((2,)))


def test_layer_norm_says_that_the_weight_comes_first() -> None:
    n = svod.Variable("n", 1, 8)
    x = svod.zeros((5, 2))
    shapes: list[Any] = [1024, [1024], (5, 2), n, [n, 2]]
    for shape in shapes:
        for norm in ("layer_norm", "rms_norm"):
            says = (
                rf"^{norm}: the first argument is the weight, .*, not a shape as .*: svod\.nn\.functional\.{norm}\(x, "
            )
            with pytest.raises(svod.ArgumentTypeError, match=says):
                getattr(x, norm)(shape)
    assert x.layer_norm(None).shape == x.layer_norm([1.0, 2.0]).shape == x.rms_norm(np.array([1, 2])).shape == (5, 2)
    with pytest.raises(svod.ArgumentTypeError, match="layer_norm"):
        x.layer_norm(2, svod.ones(2))
