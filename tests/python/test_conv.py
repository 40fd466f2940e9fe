"""Convolutions against PyTorch, and against NumPy where that is missing; their errors; normalisation by channel."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
from svod import nn
from svod.nn import functional as F

rng = np.random.default_rng(7)


def data(*shape: int, dtype: str = "float32") -> np.ndarray:
    if dtype.startswith("int"):
        return rng.integers(-9, 10, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def close(actual: svod.Tensor, expected: Any, atol: float = 2e-5) -> None:
    expected = np.asarray(expected)
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual.numpy(), expected, rtol=atol, atol=atol)


def reference(
    x: np.ndarray, w: np.ndarray, stride: int | tuple[int, ...], pads: list[tuple[int, int]], dilation: int, groups: int
) -> np.ndarray:
    """The definition, one position at a time, in float64."""
    x = np.pad(x.astype("float64"), [(0, 0), (0, 0), *pads])
    spatial = w.shape[2:]
    strides = (stride,) * len(spatial) if isinstance(stride, int) else stride
    covered = [dilation * (k - 1) + 1 for k in spatial]
    counts = [(n - c) // s + 1 for n, c, s in zip(x.shape[2:], covered, strides, strict=True)]
    out = np.zeros((x.shape[0], w.shape[0], *counts))
    ins, outs = w.shape[1], w.shape[0] // groups
    for position in itertools.product(*map(range, counts)):
        at: Any = position
        starts: Any = zip((p * s for p, s in zip(position, strides, strict=True)), spatial, strict=True)
        taps: Any = [slice(s, s + dilation * (k - 1) + 1, dilation) for s, k in starts]
        part = x[:, :, *taps]
        for o in range(w.shape[0]):
            g = o // outs
            product = part[:, g * ins : (g + 1) * ins] * w[o].astype("float64")
            out[:, o][:, *at] = product.sum(tuple(range(1, product.ndim)))
    return out


CASES = [
    # batch, in, out, groups, extents, kernel, stride, padding, dilation
    (2, 3, 5, 1, (7,), (3,), 1, 1, 1),
    (1, 4, 6, 2, (11,), (4,), 3, 2, 2),
    (2, 3, 5, 1, (7, 6), (3, 3), 1, 1, 1),
    (1, 1, 1, 1, (1, 1), (1, 1), 1, 0, 1),
    (3, 8, 4, 1, (5, 9), (1, 1), 1, 0, 1),
    (2, 8, 4, 1, (5, 9), (1, 1), 2, 0, 1),
    (1, 3, 16, 1, (23, 19), (7, 7), 2, 3, 1),
    (2, 6, 9, 3, (8, 7), (3, 2), 2, 1, 1),
    (2, 6, 6, 6, (9, 17), (3, 3), 1, 1, 1),
    (1, 6, 12, 6, (9, 8), (3, 3), 2, 1, 2),
    (0, 3, 4, 1, (6, 6), (3, 3), 1, 1, 1),
    (1, 2, 3, 1, (5, 4, 6), (3, 2, 3), 1, 1, 1),
    (2, 4, 4, 2, (5, 5, 5), (2, 2, 2), 2, 0, 2),
    (1, 2, 3, 1, (4, 3, 4, 3), (2, 2, 2, 2), 1, 1, 1),
    (1, 33, 65, 1, (13, 17), (3, 3), 1, 1, 1),
    # One channel: taps go from phase to phase of the plane, and are the whole depth.
    (1, 1, 16, 1, (100,), (10,), 5, 0, 1),
    (2, 1, 9, 1, (57,), (7,), 3, 2, 2),
    # Windows side by side: a plain contraction over several axes.
    (2, 3, 9, 1, (33, 27), (9, 9), 9, 0, 1),
    (1, 5, 70, 1, (25, 31), (2, 2), 2, 0, 1),
    (1, 2, 17, 1, (8, 16, 24), (2, 4, 8), (2, 4, 8), 0, 1),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_forward_is_the_definition(case: tuple[Any, ...]) -> None:
    batch, ins, outs, groups, extents, kernel, stride, padding, dilation = case
    x, w, b = data(batch, ins, *extents), data(outs, ins // groups, *kernel), data(outs)
    expected = reference(x, w, stride, [(padding, padding)] * len(extents), dilation, groups)
    expected += b.reshape(-1, *[1] * len(extents))
    function = F.conv if len(extents) > 3 else getattr(F, f"conv{len(extents)}d")
    close(function(svod.Tensor(x), svod.Tensor(w), svod.Tensor(b), stride, padding, dilation, groups), expected, 1e-4)


@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize(
    "case",
    [
        # in, out, groups, extents, kernel, stride, padding, dilation
        (32, 128, 1, (7, 7), 1, 1, 0, 1),
        (70, 50, 1, (13, 11), 1, 1, 0, 1),
        (24, 64, 1, (14, 14), 1, 2, 0, 1),
        (48, 96, 1, (9, 9), 1, 3, 0, 1),
        (32, 64, 1, (7, 7), 3, 1, 1, 1),
        (33, 65, 1, (7, 14), 3, 1, 1, 1),
        (16, 64, 1, (14, 14), 3, 2, 1, 1),
        (20, 48, 1, (13, 13), 3, 1, 1, 1),
        (16, 64, 1, (7, 7), 3, 1, 2, 2),
        (16, 48, 1, (14, 7), (3, 1), 1, (1, 0), 1),
        (64, 64, 2, (7, 7), 3, 1, 1, 1),
        (40, 64, 1, (21,), 3, 1, 1, 1),
        (40, 64, 1, (1, 5), (1, 3), 1, (0, 1), 1),
    ],
    ids=str,
)
def test_constant_weights_are_the_definition(case: tuple[Any, ...], batch: int) -> None:
    """Plans with the weights as constants, which may have vectors of channels, and what follows a convolution."""
    ins, outs, groups, extents, kernel, stride, padding, dilation = case
    kernel, padding = (n if isinstance(n, tuple) else (n,) * len(extents) for n in (kernel, padding))
    x, w, b = data(batch, ins, *extents), data(outs, ins // groups, *kernel) / np.float32(ins**0.5), data(outs)
    expected = reference(x, w, stride, [(p, p) for p in padding], dilation, groups)
    other = data(*expected.shape)
    expected = np.maximum(expected + b.reshape(-1, *[1] * len(extents)) + other, 0)
    given = svod.empty(*x.shape), svod.empty(*other.shape)
    function = getattr(F, f"conv{len(extents)}d")
    y = function(given[0], svod.Tensor(w), svod.Tensor(b), stride, padding, dilation, groups)
    plan = (y + given[1]).relu().prepare(inputs=given)
    plan.execute(x, other)
    close(plan.outputs[0], expected, 1e-4)
    y = y.transpose(1, -1).prepare(inputs=given[:1])
    y.execute(x)
    expected = reference(x, w, stride, [(p, p) for p in padding], dilation, groups)
    close(y.outputs[0], np.swapaxes(expected + b.reshape(-1, *[1] * len(extents)), 1, -1), 1e-4)
    # Weights that are an argument.
    inputs = svod.Tensor(x), svod.Tensor(w)
    plan = function(*inputs, None, stride, padding, dilation, groups).prepare(inputs=inputs)
    plan.execute()
    close(plan.outputs[0], expected, 1e-4)


@pytest.mark.parametrize(("extent", "kernel", "stride"), [(7, 3, 1), (14, 3, 2), (7, 1, 1), (14, 1, 2)], ids=str)
def test_gradients_of_many_channels_like_torch(extent: int, kernel: int, stride: int) -> None:
    torch = pytest.importorskip("torch")
    x, w = data(8, 32, extent, extent), data(64, 32, kernel, kernel) / np.float32(6)
    given = [torch.tensor(a, requires_grad=True) for a in (x, w)]
    y = torch.nn.functional.conv2d(*given, stride=stride, padding=kernel // 2)
    (y * y).sum().backward()
    found = svod.grad(lambda x, w: (x.conv2d(w, stride=stride, padding=kernel // 2) ** 2).sum(), (0, 1))(x, w)
    for a, b in zip(found, given, strict=True):
        np.testing.assert_allclose(a.numpy(), b.grad.numpy(), rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("pads", [((0, 2), (1, 0)), "same", "valid", (2, 1)])
def test_paddings(pads: Any) -> None:
    x, w = data(1, 2, 6, 7), data(3, 2, 3, 4)
    explicit = {"same": [(1, 1), (1, 2)], "valid": [(0, 0), (0, 0)], (2, 1): [(2, 2), (1, 1)]}
    expected = reference(x, w, 1, explicit.get(pads, list(pads)), 1, 1)
    close(svod.Tensor(x).conv2d(w, padding=pads), expected)


@pytest.mark.parametrize("case", CASES[:-2], ids=str)
@pytest.mark.parametrize("extra", [0, 1])
def test_transposed_like_torch(case: tuple[Any, ...], extra: int) -> None:
    torch = pytest.importorskip("torch")
    batch, ins, outs, groups, extents, kernel, stride, padding, dilation = case
    if len(extents) > 3 or extra >= max(stride, dilation) or 2 * padding > dilation * (min(kernel) - 1) + extra:
        pytest.skip("not a transposed convolution")
    x, w, b = data(batch, ins, *extents), data(ins, outs // groups, *kernel), data(outs)
    name = f"conv_transpose{len(extents)}d"
    how = (stride, padding, extra, groups, dilation)
    expected = getattr(torch.nn.functional, name)(*map(torch.tensor, (x, w, b)), *how).numpy()
    close(getattr(F, name)(*map(svod.Tensor, (x, w, b)), *how), expected, 1e-4)


def test_taps_far_from_one_another_are_scheduled_as_near_ones() -> None:
    """How many columns of zeros there are between them is not found one by one."""
    x, w, far = data(1, 1, 3, 3), data(1, 1, 2, 2), 3_000_000
    found = svod.Tensor(x).conv_transpose2d(svod.Tensor(w), dilation=(2, far)).numpy()
    expected = np.zeros((1, 1, 5, far + 3), np.float32)
    for i, j in np.ndindex(2, 2):
        expected[:, :, 2 * i : 2 * i + 3, far * j : far * j + 3] += x * w[0, 0, i, j]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf], ids=str)
@pytest.mark.parametrize(
    ("extents", "kernel", "stride", "padding", "dilation", "extra", "groups"),
    [
        ((7,), (1,), 3, 0, 1, 2, 1),
        ((7,), (2,), 3, 1, 1, 0, 2),
        ((7,), (5,), 3, 1, 1, 1, 1),
        ((7,), (5,), 3, 1, 2, 2, 1),
        ((7,), (4,), 2, 2, 3, 1, 2),
        ((5,), (3,), 3, 0, 3, 2, 1),
        ((5,), (5,), 4, 3, 6, 5, 1),
        ((1,), (1,), 1, 2, 5, 4, 1),
        ((9, 8), (3, 3), 2, 1, 1, 1, 1),
        ((5, 4), (5, 2), (3, 2), (2, 0), 1, (1, 0), 2),
        ((5, 4), (3, 3), 2, 0, 2, 1, 1),
        ((4, 3), (1, 4), (2, 3), 0, (1, 2), 0, 1),
        ((3, 4, 3), (3, 2, 3), (2, 3, 1), (1, 0, 1), 1, 0, 1),
    ],
)
def test_transposed_reads_only_what_its_taps_reach(
    extents: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: Any,
    padding: Any,
    dilation: Any,
    extra: Any,
    groups: int,
    value: float,
) -> None:
    torch = pytest.importorskip("torch")
    x, w, b = data(2, 4, *extents), data(4, 6 // groups, *kernel), data(6)
    # At a corner, and inside.
    x[0, 0][(0,) * len(extents)] = value
    x[1, 3][tuple(n // 2 for n in extents)] = value
    name, how = f"conv_transpose{len(extents)}d", (stride, padding, extra, groups, dilation)
    expected = getattr(torch.nn.functional, name)(*map(torch.tensor, (x, w, b)), *how).numpy()
    close(getattr(F, name)(*map(svod.Tensor, (x, w, b)), *how), expected, 1e-4)
    if value is np.nan and groups == 1:
        without = getattr(torch.nn.functional, name)(torch.tensor(x[0]), torch.tensor(w), None, *how).numpy()
        close(getattr(F, name)(svod.Tensor(x[0]), svod.Tensor(w), None, *how), without, 1e-4)


def test_transposed_has_two_convolutions_a_dimension_at_most() -> None:
    x = svod.Tensor(data(1, 4, 5, 5))

    def contractions(kernel: int, stride: int, dilation: int = 1) -> int:
        return kernels(x.conv_transpose2d(svod.Tensor(data(4, 6, kernel, kernel)), None, stride, dilation=dilation)) - 1

    assert [contractions(k, 2) for k in (1, 2, 3, 4)] == [1, 1, 4, 1]
    assert contractions(7, 5, 3) == 4 and contractions(3, 2, 2) == 1


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32", "int8"])
def test_types(dtype: str) -> None:
    x, w = data(2, 3, 6, 5, dtype=dtype), data(4, 3, 3, 3, dtype=dtype)
    expected = reference(x, w, 1, [(1, 1)] * 2, 1, 1)
    result = svod.Tensor(x).conv2d(w, padding=1)
    assert result.dtype == dtype
    if dtype.startswith("int"):
        np.testing.assert_array_equal(result.numpy(), expected.astype("int64").astype(dtype))
    else:
        close(result, expected, 1e-2 if dtype == "float16" else 1e-12)


def test_bfloat16_is_summed_in_float32() -> None:
    x = svod.Tensor(np.array([[[256.0] + [1.0] * 31]], "float32")).to(svod.bfloat16)
    result = x.conv1d(svod.ones(1, 1, 32, dtype=svod.bfloat16))
    assert result.dtype == svod.bfloat16
    assert result.to(svod.float32).tolist() == [[[288.0]]]


def test_views_and_special_values() -> None:
    x, w = data(2, 9, 8, 4), data(5, 4, 3, 3)
    expected = reference(x.transpose(0, 3, 1, 2)[:, :, ::-1], w, 1, [(1, 1)] * 2, 1, 1)
    close(svod.Tensor(x).permute(0, 3, 1, 2).flip(2).conv2d(w, padding=1), expected)
    x = np.zeros((1, 1, 4, 4), "float32")
    x[0, 0, 0, 0], x[0, 0, 3, 3] = np.inf, np.nan
    result = svod.Tensor(x).conv2d(np.ones((1, 1, 2, 2), "float32")).numpy()
    assert np.isinf(result[0, 0, 0, 0]) and np.isnan(result[0, 0, 2, 2]) and result[0, 0, 1, 1] == 0


def kernels(tensor: svod.Tensor) -> int:
    return len(tensor.prepare().kernels)


@pytest.mark.parametrize("groups", [1, 2, 8])
def test_epilogues_are_part_of_the_kernel(groups: int) -> None:
    x, w, b = svod.Tensor(data(2, 8, 9, 7)), svod.Tensor(data(8, 8 // groups, 3, 3)), svod.Tensor(data(8))
    assert kernels(x.conv2d(w, b, groups=groups, padding=1).relu()) == 1
    assert kernels((x.conv2d(w, b, groups=groups, padding=1) + x).relu()) == 1


def test_a_residual_block_has_two_kernels() -> None:
    x, w = svod.Tensor(data(1, 8, 6, 6)), svod.Tensor(data(8, 8, 3, 3))
    mean, var = svod.Tensor(data(8)), svod.Tensor(np.abs(data(8)) + 0.5)

    def layer(y: svod.Tensor) -> svod.Tensor:
        return F.batch_norm(F.conv2d(y, w, padding=1), mean, var)

    block = (layer(layer(x).relu()) + x).relu()
    assert kernels(block) == 2


def test_errors_name_shapes() -> None:
    x, w = svod.zeros(1, 4, 5, 5), svod.zeros(2, 4, 3, 3)
    cases: list[tuple[Callable[[], Any], type[svod.Error], str]] = [
        (lambda: x.conv2d(svod.zeros(2, 3, 3, 3)), svod.ShapeError, "4 channels, the weight takes 3"),
        (
            lambda: x.conv2d(w, stride=0),
            svod.ArgumentError,
            "stride [0] of windows of [3, 3] over float32[1, 4, 5, 5] must",
        ),
        (lambda: x.conv2d(w, dilation=(1, -2)), svod.ArgumentError, "dilation [1, -2]"),
        (lambda: x.conv2d(w, padding=-1), svod.ArgumentError, "must not be negative"),
        (lambda: x.conv2d(w, padding="full"), svod.ArgumentError, 'conv2d: padding: numbers, "same" or "valid" are'),
        (
            lambda: x.conv2d(w, stride=1.5),
            svod.ArgumentTypeError,
            "conv2d: stride: an integer, or several, is expected",
        ),
        (lambda: x.conv2d(w, groups=1.5), svod.ArgumentTypeError, "conv2d: groups: an integer is expected, not float"),
        (lambda: x.conv_transpose2d(w, dilation="a"), svod.ArgumentTypeError, "conv_transpose2d: dilation: an integer"),
        (lambda: x.max_pool2d(2.5), svod.ArgumentTypeError, "max_pool2d: kernel_size: an integer, or several, is"),
        (lambda: x.avg_pool2d(2, stride="a"), svod.ArgumentTypeError, "avg_pool2d: stride: an integer, or several, is"),
        (lambda: x.conv2d(w, stride=(1, 1, 1)), svod.ArgumentError, "3 numbers for 2 spatial"),
        (
            lambda: x.conv2d(w, dilation=3),
            svod.ShapeError,
            "larger than the padded input [5, 5] of float32[1, 4, 5, 5]",
        ),
        (lambda: x.conv2d(w, groups=3), svod.ShapeError, "3 groups do not divide 4 input channels"),
        (lambda: x.conv2d(w, svod.zeros(3)), svod.ShapeError, "the bias must be [2]"),
        (lambda: x.conv2d(svod.zeros(2, 4, 3)), svod.ShapeError, "2 + 2 dimensions"),
        (lambda: x.conv1d(w), svod.ShapeError, "2 + 1 dimensions"),
        (lambda: x.conv_transpose2d(w.transpose(0, 1), output_padding=1), svod.ArgumentError, "output padding [1, 1]"),
        (lambda: x.conv_transpose2d(w.transpose(0, 1), padding=4), svod.ShapeError, "would have extents [-1, -1]"),
        (lambda: x.group_norm(3), svod.ShapeError, "3 groups do not divide the 4 channels"),
        (lambda: x.batch_norm(svod.zeros(3), svod.zeros(4)), svod.ShapeError, "the mean must be [4]"),
        (lambda: x.batch_norm(svod.zeros(4)), svod.ArgumentError, "come together"),
    ]
    for call, kind, words in cases:
        with pytest.raises(kind) as error:
            call()
        assert words in str(error.value)


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (lambda: nn.Conv2d(4, 6, 0), "Conv2d: kernel_size 0 must be at least 1"),
        (lambda: nn.Conv1d(4, 6, 3, stride=0), "Conv1d: stride 0 must be at least 1"),
        (lambda: nn.Conv2d(4, 6, 3, dilation=(1, -1)), r"Conv2d: dilation \(1, -1\) must be at least 1"),
        (lambda: nn.Conv2d(4, 6, (3, 3, 3)), "Conv2d: kernel_size has 3 numbers for 2 spatial dimensions"),
        (lambda: nn.Conv2d(4, 6, 3, stride=1.5), "Conv2d: stride: an integer, or several, is expected, not 1.5"),
        (lambda: nn.Conv2d(4, 6, 3, padding="full"), 'Conv2d: padding: numbers, "same" or "valid" are expected'),
        (lambda: nn.Conv2d(4, 6, 3, padding=-1), "Conv2d: padding -1 must be at least 0"),
        (lambda: nn.Conv2d(4, 6, 3, padding=[(1, 2), (0, -1)]), r"Conv2d: padding \(2, -1\) must be at least 0"),
        (lambda: nn.Conv2d(4, 6, 3, padding=[(1, 2), 3]), "Conv2d: padding: .* is expected, not"),
        (lambda: nn.Conv2d(-4, 6, 3), "Conv2d: -4 input and 6 output channels must not be negative"),
        (lambda: nn.ConvTranspose2d(4, 6, 3, stride=0), "ConvTranspose2d: stride 0 must be at least 1"),
        (lambda: nn.ConvTranspose2d(4, 6, 3, output_padding=-1), "ConvTranspose2d: output_padding -1 must be"),
        (lambda: nn.MaxPool2d(0), "MaxPool2d: kernel_size 0 must be at least 1"),
        (lambda: nn.AvgPool3d(2, stride=(1, 2)), "AvgPool3d: stride has 2 numbers for 3 spatial dimensions"),
    ],
)
def test_layers_refuse_what_makes_no_sense_when_they_are_built(layer: Callable[[], Any], message: str) -> None:
    with pytest.raises(svod.ArgumentError, match=message):
        layer()


def test_layers_take_all_paddings() -> None:
    x = svod.zeros(1, 2, 7, 7)
    for padding, shape in [
        ("same", (7, 7)),
        ("valid", (5, 5)),
        (1, (7, 7)),
        ((1, 2), (7, 9)),
        ([(1, 0), (0, 2)], (6, 7)),
    ]:
        assert nn.Conv2d(2, 3, 3, padding=padding)(x).shape == (1, 3, *shape)


def test_normalisations_like_torch() -> None:
    torch = pytest.importorskip("torch")
    x, w, b = data(3, 6, 5, 4), data(6), data(6)
    mean, var = data(6), np.abs(data(6)) + 0.1
    t, s = (torch.tensor(x), torch.tensor(w), torch.tensor(b)), (svod.Tensor(x), svod.Tensor(w), svod.Tensor(b))
    given = torch.nn.functional.batch_norm(t[0], torch.tensor(mean), torch.tensor(var), t[1], t[2])
    close(F.batch_norm(s[0], svod.Tensor(mean), svod.Tensor(var), s[1], s[2]), given)
    batch = torch.nn.functional.batch_norm(t[0], None, None, t[1], t[2], training=True)
    close(F.batch_norm(s[0], None, None, s[1], s[2], training=True), batch)
    close(F.group_norm(s[0], 3, s[1], s[2]), torch.nn.functional.group_norm(t[0], 3, t[1], t[2]))
    close(
        F.instance_norm(s[0], weight=s[1], bias=s[2]), torch.nn.functional.instance_norm(t[0], weight=t[1], bias=t[2])
    )
    row = data(7, 6)
    expected = torch.nn.functional.rms_norm(torch.tensor(row), (6,), t[1], 1e-6)
    close(F.rms_norm(svod.Tensor(row), 6, s[1], 1e-6), expected)


def test_modules_take_torch_state_dicts() -> None:
    torch = pytest.importorskip("torch")
    pairs: list[tuple[Any, Any, tuple[int, ...]]] = [
        (torch.nn.Conv1d(4, 6, 3, 2, 1, groups=2), nn.Conv1d(4, 6, 3, 2, 1, groups=2), (2, 4, 9)),
        (torch.nn.Conv2d(4, 6, (3, 2), bias=False), nn.Conv2d(4, 6, (3, 2), bias=False), (2, 4, 7, 6)),
        (torch.nn.Conv3d(2, 3, 2, padding=1), nn.Conv3d(2, 3, 2, padding=1), (1, 2, 3, 4, 5)),
        (torch.nn.ConvTranspose1d(4, 6, 3, 2, 1, 1), nn.ConvTranspose1d(4, 6, 3, 2, 1, 1), (2, 4, 5)),
        (torch.nn.ConvTranspose2d(4, 6, 3, 2, groups=2), nn.ConvTranspose2d(4, 6, 3, 2, groups=2), (2, 4, 5, 4)),
        (torch.nn.GroupNorm(2, 4), nn.GroupNorm(2, 4), (2, 4, 5, 4)),
        (torch.nn.BatchNorm2d(4).eval(), nn.BatchNorm2d(4).eval(), (2, 4, 5, 4)),
        (torch.nn.InstanceNorm2d(4), nn.InstanceNorm2d(4), (2, 4, 5, 4)),
        (torch.nn.RMSNorm(4, 1e-6), nn.RMSNorm(4), (2, 4)),
        (torch.nn.MaxPool2d(2, ceil_mode=True), nn.MaxPool2d(2, ceil_mode=True), (2, 4, 5, 4)),
        (torch.nn.AvgPool2d(2, padding=1), nn.AvgPool2d(2, padding=1), (2, 4, 5, 4)),
    ]
    for theirs, ours, shape in pairs:
        x = data(*shape)
        assert list(ours.state_dict()) == list(theirs.state_dict())
        ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
        close(ours(svod.Tensor(x)), theirs(torch.tensor(x)).detach())


def test_a_convolution_of_a_reshaped_signal_is_wanted_twice() -> None:
    a = np.random.default_rng(0).standard_normal((2, 4)).astype(np.float32)
    y = svod.Tensor(a).reshape(1, 1, 8).conv1d(svod.Tensor(np.float32([[[1, -2, 1]]])), padding=1)
    repeated = y[None].expand(3, *y.shape)
    svod.realize(y, repeated)
    expected = np.convolve(a.ravel(), [1, -2, 1], "same")[None, None]
    np.testing.assert_allclose(y.numpy(), expected, atol=1e-6)
    np.testing.assert_allclose(repeated.numpy(), np.stack([expected] * 3), atol=1e-6)


def test_arguments_come_in_the_order_of_pytorch() -> None:
    x, w = svod.rand(1, 2, 9, 9), svod.rand(4, 2, 3, 3)
    assert x.conv2d(w, None, 2, 1).shape == x.conv2d(w, stride=2, padding=1).shape == (1, 4, 5, 5)
    assert x.max_pool2d(3, 2, 1).shape == x.avg_pool2d(3, 2, 1).shape == (1, 2, 5, 5)
    assert x.conv_transpose2d(svod.rand(2, 4, 3, 3), None, 2, 1, 1).shape == (1, 4, 18, 18)


@pytest.mark.parametrize(
    "case", [(4, 16, 32, 28, 3, 1), (3, 9, 12, 13, 3, 1), (8, 32, 20, 14, 5, 2), (2, 3, 16, 17, 3, 0)]
)
def test_gradients_of_kernels_are_products_of_channels(case: tuple[int, ...]) -> None:
    batch, channels, out, size, kernel, padding = case
    x, after = data(batch, channels, size, size), size + 2 * padding - kernel + 1
    dy = data(batch, out, after, after)
    images, of_result = svod.Tensor(x), svod.Tensor(dy)
    gradient = images.permute(1, 0, 2, 3).conv2d(of_result.permute(1, 0, 2, 3), padding=padding)
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding))).astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (after, after), (2, 3))
    expected = np.einsum("bcijyx,boyx->coij", windows, dy.astype(np.float64))
    plan = gradient.prepare(inputs=[images, of_result])
    plan.execute()
    np.testing.assert_allclose(plan.outputs[0].numpy(), expected, rtol=1e-3, atol=1e-3)
    assert len(plan.kernels) == 1 and plan.kernels[0].name.startswith("matmul")


@pytest.mark.parametrize(
    "case", [(1, 3, 8, (20, 20), (16, 16), 4), (2, 2, 4, (9, 8, 8), (7, 7, 7), 1), (1, 5, 6, (300,), (250,), 3)]
)
def test_kernels_of_many_taps_that_are_no_constants(case: tuple[Any, ...]) -> None:
    batch, ins, outs, extents, taps, stride = case
    x, w = data(batch, ins, *extents), data(outs, ins, *taps)
    convolve = getattr(F, f"conv{len(extents)}d")
    expected = reference(x, w, stride, [(0, 0)] * len(extents), 1, 1)
    close(convolve(svod.Tensor(x), svod.Tensor(w), stride=stride), expected, atol=2e-4)


@pytest.mark.parametrize("taps", [(3, 3), (11,), (2, 3, 3)])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("last", [False, True])
def test_weights_that_are_no_constants_are_packed_once_for_all_images(
    taps: tuple[int, ...], groups: int, last: bool
) -> None:
    images, weights = data(3, 20, *(max(9, 2 * n) for n in taps)), data(30, 20 // groups, *taps)
    x, w = svod.Tensor(images), svod.Tensor(weights)
    if last:  # Channels of the output are last in memory.
        w = svod.Tensor(np.moveaxis(weights, 0, -1).copy()).permute(len(taps) + 1, *range(len(taps) + 1))
    plan = getattr(F, f"conv{len(taps)}d")(x, w, padding=1, groups=groups).prepare(inputs=[x, w])
    plan.execute()
    assert " shared" in str(plan.kernels[0].schedule)
    close(plan.outputs[0], reference(images, weights, 1, [(1, 1)] * len(taps), 1, groups), atol=2e-4)


def test_rows_of_any_width_are_one_task_where_caches_hold_what_they_read() -> None:
    height, width = svod.Variable("h", 4, 200), svod.Variable("w", 4, 200)
    weights = data(24, 16, 3, 3)
    x, w = svod.empty(2, 16, height, width), svod.Tensor(weights)
    with svod.target("x86-64-v3"):
        plan = F.conv2d(x, w, padding=1).prepare(inputs=[x])
    blocks = [line.split() for line in str(plan.kernels[0].schedule).splitlines() if line.startswith("split out.")]
    assert max(int(by) for _, _, _, by, _ in blocks) >= 200
    for h, v in [(4, 4), (17, 5), (33, 200), (200, 31)]:
        images = data(2, 16, h, v)
        plan.execute(images)
        close(plan.outputs[0], reference(images, weights, 1, [(1, 1), (1, 1)], 1, 1), atol=2e-4)


DEPTH_IN_BLOCKS = """stage s0 1 plane:32 task
split out.a0.0 by 32 rest
split out.a1.0 by 224 rest
split out.a1.1 by 16 rest
reorder out out.a0.0 out.a1.0 out.a0.1 out.a1.1 out.a1.2
bind out.a0.0 task
bind out.a1.0 task
bind out.a1.2 vector
at s0 out.a1.0
split s0.a0.0 by 32 rest
split s0.a0.1 by 8 pad
split s0.a1.0 by 32 pad
split s0.a2.0 by {} rest
split s0.a2.1 by 16 rest
reorder s0 s0.a2.0 s0.a2.1 s0.a0.0 s0.a1.0 s0.a0.1 s0.a0.2 s0.a1.1 s0.a2.2
stage s0 0 panels:8 prepared
at s0.plane s0.a2.0
split s0.plane.a1_plane.0 by 16 rest
bind s0.plane.a1_plane.1 vector
micro s0 8 32"""


@pytest.mark.parametrize(("block", "fits"), [(24, True), (20, False), (36, False)])
def test_blocks_of_taps_begin_in_one_phase_however_often_they_are_cut(block: int, fits: bool) -> None:
    x, w = data(1, 1, 1680), data(32, 1, 64)
    schedule = svod.Schedule(DEPTH_IN_BLOCKS.format(block))
    made = F.conv1d(svod.Tensor(x), svod.Tensor(w), stride=8)
    if fits:
        plan = made.prepare(schedules={0: schedule})
        plan.execute()
        close(plan.outputs[0], reference(x, w, 8, [(0, 0)], 1, 1), 1e-3)
    else:
        with pytest.raises(svod.ScheduleError, match="different phases"):
            made.prepare(schedules={0: schedule})
