"""Layers: with PyTorch's state dicts, values and gradients those of its layers; without it, against their formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
import svod.nn.functional as F
from svod import nn, optim

Array = np.ndarray


def draw(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def ids(*shape: int, below: int = 7) -> Array:
    return np.random.default_rng(1).integers(0, below, shape)


# Layer, arguments of its class, and of its call.
LAYERS: list[tuple[str, tuple[Any, ...], dict[str, Any], list[Array]]] = [
    ("Linear", (4, 3), {}, [draw(5, 4)]),
    ("Bilinear", (4, 3, 2), {}, [draw(5, 4), draw(5, 3)]),
    ("Bilinear", (4, 3, 2), {"bias": False}, [draw(2, 5, 4), draw(2, 5, 3)]),
    ("Embedding", (7, 3), {}, [ids(2, 5)]),
    ("Embedding", (7, 3), {"padding_idx": 2}, [ids(3, 5)]),
    ("EmbeddingBag", (7, 3), {}, [ids(4, 5)]),
    ("EmbeddingBag", (7, 3), {"mode": "sum", "padding_idx": 3}, [ids(4, 5)]),
    ("EmbeddingBag", (7, 3), {"mode": "max"}, [ids(4, 5)]),
    ("RReLU", (0.25, 0.25), {}, [draw(3, 4)]),
    ("Softmax2d", (), {}, [draw(2, 3, 4, 2)]),
    ("EmbeddingBag", (7, 3), {}, [ids(9), np.array([0, 2, 2, 5])]),
    ("PReLU", (3,), {}, [draw(2, 3, 4)]),
    ("Conv1d", (4, 6, 3), {"padding": 1, "groups": 2}, [draw(2, 4, 9)]),
    ("Conv2d", (3, 4, 3), {"stride": 2, "bias": False}, [draw(2, 3, 8, 7)]),
    ("Conv3d", (2, 3, 2), {"dilation": 2}, [draw(1, 2, 5, 4, 5)]),
    ("ConvTranspose1d", (4, 2, 3), {"stride": 2, "output_padding": 1}, [draw(2, 4, 5)]),
    ("ConvTranspose2d", (4, 2, 3), {"padding": 1, "groups": 2}, [draw(2, 4, 5, 4)]),
    ("ConvTranspose3d", (2, 2, 2), {}, [draw(1, 2, 3, 3, 2)]),
    ("LayerNorm", (4,), {}, [draw(3, 4)]),
    ("LayerNorm", ((3, 4),), {"bias": False}, [draw(2, 3, 4)]),
    ("LayerNorm", (4,), {"elementwise_affine": False, "eps": 0.1}, [draw(3, 4)]),
    ("RMSNorm", (4,), {}, [draw(3, 4)]),
    ("GroupNorm", (2, 4), {}, [draw(2, 4, 5)]),
    ("BatchNorm1d", (4,), {}, [draw(5, 4)]),
    ("BatchNorm1d", (4,), {"momentum": None}, [draw(5, 4, 3)]),
    ("BatchNorm2d", (3,), {"momentum": 0.3, "eps": 0.01}, [draw(4, 3, 5, 2)]),
    ("BatchNorm2d", (3,), {"track_running_stats": False, "affine": False}, [draw(4, 3, 5, 2)]),
    ("BatchNorm3d", (2,), {}, [draw(2, 2, 3, 2, 2)]),
    ("InstanceNorm1d", (3,), {}, [draw(2, 3, 6)]),
    ("InstanceNorm2d", (3,), {"affine": True, "track_running_stats": True}, [draw(2, 3, 4, 4)]),
    ("InstanceNorm3d", (2,), {"affine": True}, [draw(2, 2, 3, 2, 2)]),
    ("MaxPool1d", (3, 2), {}, [draw(2, 3, 8)]),
    ("MaxPool2d", (2,), {"padding": 1}, [draw(2, 3, 6, 5)]),
    ("MaxPool3d", (2,), {}, [draw(1, 2, 4, 4, 4)]),
    ("AvgPool1d", (3,), {"stride": 1}, [draw(2, 3, 8)]),
    ("AvgPool2d", (2,), {"padding": 1, "count_include_pad": False}, [draw(2, 3, 6, 5)]),
    ("AvgPool3d", (2,), {}, [draw(1, 2, 4, 4, 4)]),
    ("AdaptiveAvgPool1d", (3,), {}, [draw(2, 3, 8)]),
    ("AdaptiveAvgPool2d", ((3, None),), {}, [draw(2, 3, 7, 5)]),
    ("AdaptiveAvgPool3d", (2,), {}, [draw(1, 2, 4, 5, 3)]),
    ("AdaptiveMaxPool1d", (3,), {}, [draw(2, 3, 8)]),
    ("AdaptiveMaxPool2d", ((3, None),), {}, [draw(2, 3, 7, 5)]),
    ("AdaptiveMaxPool3d", (2,), {}, [draw(1, 2, 4, 5, 3)]),
    ("ConstantPad1d", ((1, 2), 3.0), {}, [draw(2, 3, 4)]),
    ("ConstantPad2d", ((1, -1, 0, 2), 3.0), {}, [draw(2, 3, 4, 4)]),
    ("ConstantPad3d", (1, 0.5), {}, [draw(1, 2, 2, 3, 2)]),
    ("ZeroPad1d", (2,), {}, [draw(2, 3, 4)]),
    ("ZeroPad2d", ((0, 1, 2, 0),), {}, [draw(2, 3, 4, 4)]),
    ("ZeroPad3d", (1,), {}, [draw(1, 2, 2, 3, 2)]),
    ("ReflectionPad1d", ((3, 1),), {}, [draw(2, 3, 4)]),
    ("ReflectionPad2d", ((1, 2, 0, 3),), {}, [draw(2, 3, 4, 4)]),
    ("ReflectionPad3d", (1,), {}, [draw(1, 2, 3, 2, 3)]),
    ("ReplicationPad1d", ((3, 5),), {}, [draw(2, 3, 4)]),
    ("ReplicationPad2d", ((1, 2, 0, 3),), {}, [draw(2, 3, 4, 4)]),
    ("ReplicationPad3d", (1,), {}, [draw(1, 2, 3, 2, 3)]),
    ("CircularPad1d", ((3, 4),), {}, [draw(2, 3, 4)]),
    ("CircularPad2d", ((1, 2, 0, 3),), {}, [draw(2, 3, 4, 4)]),
    ("CircularPad3d", (1,), {}, [draw(1, 2, 3, 2, 3)]),
    ("Upsample", (), {"scale_factor": 2}, [draw(2, 3, 4)]),
    ("Upsample", (), {"size": (7, 3), "mode": "nearest"}, [draw(2, 3, 4, 5)]),
    ("Upsample", (), {"size": 7, "mode": "nearest-exact"}, [draw(2, 3, 4, 5)]),
    ("Upsample", (), {"scale_factor": 2.6, "mode": "linear"}, [draw(2, 3, 4)]),
    ("Upsample", (), {"scale_factor": 2, "mode": "bilinear", "align_corners": True}, [draw(2, 3, 4, 5)]),
    ("Upsample", (), {"size": (3, 9), "mode": "bilinear"}, [draw(2, 3, 4, 5)]),
    ("Upsample", (), {"scale_factor": (1.5, 2.0), "mode": "bicubic"}, [draw(2, 3, 4, 5)]),
    ("Upsample", (), {"size": (3, 9), "mode": "bicubic", "align_corners": True}, [draw(2, 3, 4, 5)]),
    ("Upsample", (), {"scale_factor": 2, "mode": "trilinear"}, [draw(1, 2, 2, 3, 2)]),
    ("PixelShuffle", (2,), {}, [draw(2, 8, 3, 2)]),
    ("PixelUnshuffle", (2,), {}, [draw(2, 2, 4, 6)]),
    *(
        (f"Conv{len(extents)}d", (2, 3, 3, 2, padding), {"padding_mode": mode, "dilation": 2}, [draw(2, 2, *extents)])
        for extents in ((7,), (7, 6), (6, 7, 6))
        for padding in (2, (1, 2, 0)[: len(extents)])
        for mode in ("reflect", "replicate", "circular")
    ),
    ("Conv2d", (2, 3, (2, 3)), {"padding": "same", "padding_mode": "circular"}, [draw(2, 2, 4, 5)]),
    ("Conv2d", (2, 3, 2), {"padding": "valid", "padding_mode": "reflect"}, [draw(2, 2, 4, 5)]),
    ("ChannelShuffle", (2,), {}, [draw(2, 6, 3, 2)]),
    ("Unfold", ((2, 3),), {"padding": 1, "stride": 2}, [draw(2, 3, 5, 4)]),
    ("Fold", ((4, 5), (2, 3)), {"padding": 1}, [draw(2, 12, 25)]),
    ("LPPool1d", (2.0, 3), {"stride": 2}, [draw(2, 3, 8)]),
    ("LPPool2d", (3.0, 2), {"ceil_mode": True}, [abs(draw(2, 3, 5, 4)) + 0.1]),
    ("LPPool3d", (2.0, 2), {}, [draw(1, 2, 4, 4, 4)]),
    ("LocalResponseNorm", (3,), {"alpha": 0.1, "beta": 0.5, "k": 2.0}, [draw(2, 5, 3, 4)]),
    ("FeatureAlphaDropout", (0.0,), {}, [draw(2, 3, 4)]),
    ("Flatten", (), {}, [draw(2, 3, 4)]),
    ("Unflatten", (1, (2, 3)), {}, [draw(4, 6)]),
    ("Identity", (), {}, [draw(2, 3)]),
    ("Dropout", (0.0,), {}, [draw(2, 3)]),
]
IDS = [f"{name}-{'-'.join(map(str, options))}" for name, _, options, _ in LAYERS]


@pytest.mark.parametrize(("name", "args", "options", "inputs"), LAYERS, ids=IDS)
def test_layers_are_pytorchs(name: str, args: Any, options: Any, inputs: list[Array]) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    theirs, mine = (getattr(library, name)(*args, **options) for library in (torch.nn, nn))
    with torch.no_grad():
        for p in theirs.parameters():
            # What begins with ones or zeros is something else here.
            p.add_(torch.randn(p.shape) * 0.1)
    of_theirs = {key: value.numpy().copy() for key, value in theirs.state_dict().items()}
    assert list(mine.state_dict()) == list(of_theirs)
    mine.load_state_dict(of_theirs)
    for step in range(2):
        for p in (*mine.parameters(), *theirs.parameters()):
            p.requires_grad_().grad = None
        given = [svod.Tensor(x) for x in inputs]
        others = [torch.tensor(x) for x in inputs]
        for x in (*given, *others):
            if "float" in str(x.dtype):
                x.requires_grad_()
        value, right = mine(*given), theirs(*others)
        np.testing.assert_allclose(value.numpy(), right.detach().numpy(), rtol=1e-4, atol=2e-5)
        cotangent = draw(*right.shape, seed=2)
        if right.requires_grad:
            value.backward(svod.Tensor(cotangent))
            right.backward(torch.tensor(cotangent))
        for x, y in [*zip(given, others), *zip(mine.parameters(), theirs.parameters())]:
            if y.grad is not None:
                np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-4, atol=2e-5)
        # Buffers follow in training, and are used out of it.
        for key, buffer in theirs.state_dict().items():
            np.testing.assert_allclose(mine.state_dict()[key].numpy(), buffer.numpy(), rtol=1e-5, atol=1e-6)
        if step == 0:
            mine.eval()
            theirs.eval()


@pytest.mark.parametrize(("name", "args", "options", "inputs"), LAYERS, ids=IDS)
def test_parameters_are_distributed_as_pytorchs(name: str, args: Any, options: Any, inputs: Any) -> None:
    torch = pytest.importorskip("torch")
    svod.manual_seed(0)
    torch.manual_seed(0)
    many = 200
    mine, theirs = (
        [dict(getattr(library, name)(*args, **options).named_parameters()) for _ in range(many)]
        for library in (nn, torch.nn)
    )
    for key in mine[0]:
        of_mine = np.stack([p[key].numpy() for p in mine])
        of_theirs = np.stack([p[key].detach().numpy() for p in theirs])
        assert of_mine.dtype == of_theirs.dtype
        assert abs(of_mine.std() - of_theirs.std()) <= 0.15 * of_theirs.std() + 1e-7, key
        assert abs(np.abs(of_mine).max() - np.abs(of_theirs).max()) <= 0.4 * np.abs(of_theirs).max(), key


# The same without PyTorch: what NumPy makes of an input.
PADS: list[tuple[str, Any, dict[str, Any]]] = [
    ("ConstantPad2d", ((1, 2, 0, 3), 3.0), {"mode": "constant", "constant_values": 3.0}),
    ("ZeroPad2d", ((1, 2, 0, 3),), {"mode": "constant"}),
    ("ReflectionPad2d", ((1, 2, 0, 3),), {"mode": "reflect"}),
    ("ReplicationPad2d", ((1, 2, 0, 3),), {"mode": "edge"}),
    ("CircularPad2d", ((1, 2, 0, 3),), {"mode": "wrap"}),
]


@pytest.mark.parametrize(("name", "args", "how"), PADS)
def test_padding_is_numpys(name: str, args: Any, how: dict[str, Any]) -> None:
    x = draw(2, 3, 4, 5)
    expected = np.pad(x, [(0, 0), (0, 0), (0, 3), (1, 2)], **how)
    np.testing.assert_array_equal(getattr(nn, name)(*args)(svod.Tensor(x)).numpy(), expected)


def test_pooling_to_a_given_size() -> None:
    x = draw(2, 3, 7)
    for size in (1, 3, 5, 7):
        parts = [x[..., i * 7 // size : -(-(i + 1) * 7 // size)] for i in range(size)]
        for layer, fold in ((nn.AdaptiveMaxPool1d, np.max), (nn.AdaptiveAvgPool1d, np.mean)):
            expected = np.stack([fold(part, -1) for part in parts], -1)
            np.testing.assert_allclose(layer(size)(svod.Tensor(x)).numpy(), expected, rtol=1e-6)


def test_interpolation_of_a_line() -> None:
    x = np.arange(5, dtype=np.float32).reshape(1, 1, 5)
    t = svod.Tensor(x)
    np.testing.assert_allclose(
        F.interpolate(t, 9, mode="linear", align_corners=True).numpy()[0, 0], np.linspace(0, 4, 9), atol=1e-6
    )
    centres = np.clip((np.arange(10) + 0.5) / 2 - 0.5, 0, 4)
    np.testing.assert_allclose(F.interpolate(t, scale_factor=2, mode="linear").numpy()[0, 0], centres, atol=1e-6)
    assert F.interpolate(t, 10).tolist()[0][0] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert F.interpolate(svod.ones(1, 1, 4, 4), 2, mode="area").tolist() == [[[[1, 1], [1, 1]]]]
    # A cubic through the points of a line is the line, but at the ends.
    image = svod.Tensor(np.broadcast_to(x[..., None, :], (1, 1, 5, 5)).copy())
    cubic = F.interpolate(image, (5, 9), mode="bicubic", align_corners=True).numpy()[0, 0, 2]
    np.testing.assert_allclose(cubic[2:-2], np.linspace(0, 4, 9)[2:-2], atol=1e-5)


def test_pixels_become_channels_and_back() -> None:
    x = svod.Tensor(draw(2, 8, 3, 2))
    shuffled = nn.PixelShuffle(2)(x)
    assert shuffled.shape == (2, 2, 6, 4)
    np.testing.assert_array_equal(shuffled.numpy()[0, 1, 1::2, ::2], x.numpy()[0, 6])
    np.testing.assert_array_equal(nn.PixelUnshuffle(2)(shuffled).numpy(), x.numpy())


def test_batch_norm_follows_batches_in_training_only() -> None:
    layer, (a, b) = nn.BatchNorm1d(2, momentum=0.25), (draw(6, 2) * 3 + 1, draw(6, 2, seed=1))
    mean, var = np.zeros(2), np.ones(2)
    for x in (a, b):
        wide = x.astype(np.float64)
        expected = (wide - wide.mean(0)) / np.sqrt(wide.var(0) + 1e-5)
        np.testing.assert_allclose(layer(svod.Tensor(x)).numpy(), expected, rtol=1e-4, atol=1e-5)
        mean, var = mean * 0.75 + wide.mean(0) * 0.25, var * 0.75 + wide.var(0, ddof=1) * 0.25
    np.testing.assert_allclose(layer.running_mean.numpy(), mean, rtol=1e-5)
    np.testing.assert_allclose(layer.running_var.numpy(), var, rtol=1e-5)
    assert layer.num_batches_tracked.item() == 2
    out = layer.eval()(svod.Tensor(a)).numpy()
    np.testing.assert_allclose(out, (a - mean) / np.sqrt(var + 1e-5), rtol=1e-4, atol=1e-5)
    assert layer.num_batches_tracked.item() == 2
    with pytest.raises(svod.ShapeError, match="BatchNorm1d: 2 or 3 dimensions with 2 channels"):
        layer(svod.zeros(2, 3))


def test_statistics_are_computed_with_the_step_and_pile_up_nothing() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
    model.requires_grad_()
    made = optim.SGD(model.parameters(), lr=0.1)
    norm: Any = model[1]
    sizes = []
    for step in range(5):
        made.zero_grad()
        loss = model(svod.Tensor(draw(8, 3, seed=step))).square().mean()
        loss.backward()
        assert not norm.running_mean.is_realized
        made.step()
        assert norm.running_mean.is_realized and norm.num_batches_tracked.is_realized
    # Passes without a step: no more than two batches are in an expression.
    for step in range(5):
        model(svod.Tensor(draw(8, 3, seed=step)))
        sizes.append(len(norm.running_mean.graph()))
    assert max(sizes[1:]) < 1.5 * sizes[0]
    assert norm.num_batches_tracked.item() == 10


def test_dropout_drops_in_training_only() -> None:
    svod.manual_seed(3)
    x = svod.ones(100, 200)
    for p in (0.1, 0.6):
        y = F.dropout(x, p).numpy()
        assert set(np.unique(y)) == {0, np.float32(1 / np.float32(1 - p))}
        assert (y == 0).mean() == pytest.approx(p, abs=0.02)
    assert F.dropout(x, 0.5, training=False) is x and F.dropout(x, 1.0).sum().item() == 0
    channels = nn.Dropout2d(0.5)(svod.ones(8, 32, 3, 3)).numpy()
    assert (channels.reshape(256, 9).std(1) == 0).all() and 0.3 < (channels[:, :, 0, 0] == 0).mean() < 0.7
    assert nn.Dropout1d(0.5)(svod.ones(4, 5, 3)).shape == nn.Dropout3d(0.5).eval()(svod.ones(4, 5, 3)).shape
    alpha = nn.AlphaDropout(0.2)(svod.randn(400, 400)).numpy()
    assert abs(alpha.mean()) < 0.02 and alpha.std() == pytest.approx(1, abs=0.02)
    t = svod.ones(50).requires_grad_()
    dropped = nn.Dropout(0.5)(t)
    dropped.sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), dropped.numpy())
    drawn = svod.jit(nn.Dropout(0.5))
    assert drawn(svod.ones(64)).tolist() != drawn(svod.ones(64)).tolist()
    with pytest.raises(svod.ArgumentError, match=r"Dropout: p=1\.5"):
        nn.Dropout(1.5)


def test_attention_with_dropout() -> None:
    svod.manual_seed(0)
    q, k, v = (svod.Tensor(draw(2, 4, 6, 8, seed=s)) for s in range(3))
    mask = np.tril(np.ones((6, 6), bool))
    for how in ({"is_causal": True}, {"attn_mask": svod.Tensor(mask)}, {"attn_mask": svod.Tensor(draw(6, 6))}, {}):
        without = F.scaled_dot_product_attention(q, k, v, **how)
        many = [F.scaled_dot_product_attention(q, k, v, dropout_p=0.2, **how).numpy() for _ in range(200)]
        np.testing.assert_allclose(np.mean(many, 0), without.numpy(), atol=0.35)
        assert np.std(many, 0).max() > 0.1
    grouped = F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], dropout_p=1e-9, enable_gqa=True)
    right = F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True)
    np.testing.assert_allclose(grouped.numpy(), right.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["mean", "sum", "max"])
def test_bags(mode: str) -> None:
    table, flat, starts = draw(7, 3), ids(9), np.array([0, 2, 2, 5])
    bags = np.split(table[flat], starts[1:])
    fold = {"mean": np.mean, "sum": np.sum, "max": np.max}[mode]
    expected = [fold(bag, 0) if len(bag) else np.zeros(3) for bag in bags]
    given = F.embedding_bag(svod.Tensor(flat), svod.Tensor(table), svod.Tensor(starts), mode=mode)
    np.testing.assert_allclose(given.numpy(), expected, rtol=1e-5, atol=1e-6)
    if mode == "sum":
        w = draw(9, seed=3)
        weighted = F.embedding_bag(
            svod.Tensor(flat), svod.Tensor(table), svod.Tensor(starts), mode=mode, per_sample_weights=svod.Tensor(w)
        )
        right = [(bag * part[:, None]).sum(0) for bag, part in zip(bags, np.split(w, starts[1:]))]
        np.testing.assert_allclose(weighted.numpy(), right, rtol=1e-5, atol=1e-6)


def test_bilinear_and_padding_rows() -> None:
    layer, a, b = nn.Bilinear(4, 3, 2), draw(5, 4), draw(5, 3)
    expected = np.einsum("ni,kij,nj->nk", a, layer.weight.numpy(), b) + layer.bias.numpy()
    np.testing.assert_allclose(layer(svod.Tensor(a), svod.Tensor(b)).numpy(), expected, rtol=1e-4, atol=1e-6)
    table = nn.Embedding(5, 2, padding_idx=-1)
    assert table.weight.numpy()[4].tolist() == [0, 0] and table.weight.numpy()[:4].all()
    table.weight.requires_grad_()
    table(svod.Tensor([4, 1, 4])).sum().backward()
    assert table.weight.grad.numpy()[:, 0].tolist() == [0, 1, 0, 0, 0]


def test_modes_are_of_all_modules_below() -> None:
    model = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.BatchNorm1d(2)))
    assert model.training and model.eval() is model
    assert not any(module.training for module in model.modules())
    assert all(module.training for module in model.train().modules())


def test_what_does_not_fit_is_refused() -> None:
    x = svod.zeros(1, 3, 4)
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: F.pad(x, (1,)), "no pairs"),
        (lambda: F.pad(x, (4, 0), mode="reflect"), "more than axis 2"),
        (lambda: F.pad(x, (1, 0), mode="mirror"), "mode is one of"),
        (lambda: nn.ZeroPad2d((1, 2)), "2 pairs are expected"),
        (lambda: F.interpolate(x), "either size or scale_factor"),
        (lambda: F.interpolate(x, 2, mode="bilinear"), r"bilinear of a tensor of shape \(1, 3, 4\)"),
        (lambda: F.interpolate(x, scale_factor=0.1), "the sizes"),
        (lambda: F.pixel_shuffle(svod.zeros(1, 3, 2, 2), 2), "3 channels"),
        (lambda: F.pixel_unshuffle(svod.zeros(1, 3, 3, 2), 2), "3 x 2"),
        (lambda: F.adaptive_max_pool1d(x, (2, 2)), "the sizes"),
        (lambda: F.embedding_bag(svod.zeros(3, dtype="int64"), svod.zeros(2, 2)), "1 dimension with offsets"),
        (lambda: nn.Embedding(3, 2, padding_idx=3), "padding_idx=3 in a table of 3 rows"),
    ]
    for made, says in cases:
        with pytest.raises(svod.Error, match=says):
            made()


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("p", [-0.5, 1.5, float("nan")])
def test_what_is_no_probability_is_an_error(p: float, training: bool) -> None:
    x = svod.ones(2, 3, 4, 4)
    for name in ("dropout", "dropout1d", "dropout2d", "alpha_dropout"):
        with pytest.raises(svod.ArgumentError, match=f"{name}: p=.* is no probability"):
            getattr(F, name)(x[0] if name == "dropout1d" else x, p, training)
    with pytest.raises(svod.ArgumentError, match=r"scaled_dot_product_attention: dropout_p=.* is no probability"):
        F.scaled_dot_product_attention(x, x, x, dropout_p=p)


def test_numbers_that_a_function_is_not_defined_for_are_errors() -> None:
    x = svod.ones(2, 3)
    calls = {
        "alpha": lambda: F.celu(x, 0.0),
        "min_val": lambda: F.hardtanh(x, 1.0, -1.0),
        "delta": lambda: F.huber_loss(x, x, delta=0.0),
        "beta": lambda: F.smooth_l1_loss(x, x, beta=-1.0),
        "lower": lambda: F.rrelu(x, 1.0, 0.5),
    }
    for name, call in calls.items():
        with pytest.raises(svod.ArgumentError, match=name):
            call()


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_maxima_go_back_to_where_they_were(spatial: int) -> None:
    torch = pytest.importorskip("torch")
    x = draw(2, 3, *(6, 5, 7)[:spatial])
    results = []
    for library, tensor in ((nn, svod.Tensor), (torch.nn, torch.tensor)):
        pool = getattr(library, f"MaxPool{spatial}d")(2, return_indices=True)
        unpool = getattr(library, f"MaxUnpool{spatial}d")(2)
        given = tensor(x).requires_grad_()
        maxima, places = pool(given)
        back = unpool(maxima * maxima, places, output_size=x.shape)
        back.sum().backward()
        results.append([places.numpy(), back.detach().numpy(), given.grad.numpy()])
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)


@pytest.mark.parametrize("spatial", [2, 3])
def test_windows_at_random_places_have_maxima(spatial: int) -> None:
    pool = getattr(nn, f"FractionalMaxPool{spatial}d")(2, output_size=3, return_indices=True)
    x = svod.Tensor(draw(1, 2, *[7] * spatial))
    maxima, places = pool(x)
    assert maxima.shape == (1, 2, *[3] * spatial)
    np.testing.assert_array_equal(x.flatten(2).gather(2, places.flatten(2)).numpy(), maxima.flatten(2).numpy())


def test_padding_modes_that_are_not_known_are_told() -> None:
    with pytest.raises(svod.ArgumentError, match="padding_mode is one of"):
        nn.Conv1d(1, 1, 1, padding_mode="mirror")
    with pytest.raises(svod.ArgumentError, match="zeros"):
        nn.ConvTranspose1d(1, 1, 1, padding_mode="reflect")


def test_a_convolution_tells_its_padding_mode() -> None:
    layer = nn.Conv2d(2, 3, 3, padding=1, bias=False, padding_mode="circular")
    told = "Conv2d(2, 3, kernel_size=(3, 3), stride=(1, 1), padding=1, bias=False, padding_mode=circular)"
    assert repr(layer) == told


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in nn.__all__
        if isinstance(layer := getattr(nn, name), type)
        and issubclass(layer, nn.Module)
        and name not in ("Module", "ModuleDict", "ModuleList")
    ],
)
def test_a_forward_of_ones_own_is_called(name: str) -> None:
    layer: Any = getattr(nn, name)
    assert callable(layer.forward)

    def made() -> Any:
        class Own(layer):
            def __init__(self) -> None:
                pass

            def forward(self, x: svod.Tensor) -> svod.Tensor:
                return x * 0 + 7

        return Own()

    x, seen = svod.ones(2), []
    one, other = made(), made()
    assert one(x).tolist() == [7.0, 7.0]
    other.forward = lambda x: x + 1
    other.register_forward_hook(lambda module, args, result: seen.append(result.tolist()))
    assert other(x).tolist() == [2.0, 2.0] and seen == [[2.0, 2.0]]
    del other.forward
    assert other(x).tolist() == [7.0, 7.0]


def test_a_forward_that_is_put_in_the_place_of_a_layers_is_seen_by_jit() -> None:
    layer, x = nn.Linear(2, 2), svod.ones(1, 2)
    jitted = svod.jit(lambda x: layer(x))
    assert jitted(x).tolist() == layer.forward(x).tolist()
    layer.forward = lambda x: x * 0 - 1  # type: ignore[method-assign]
    assert jitted(x).tolist() == [[-1.0, -1.0]]


@pytest.mark.parametrize(("name", "shape"), [("1d", (1, 3)), ("1d", (1, 3, 1)), ("2d", (1, 3, 1, 1))])
def test_statistics_of_one_value_are_an_error(name: str, shape: tuple[int, ...]) -> None:
    layer = getattr(nn, f"BatchNorm{name}")(3)
    with pytest.raises(ValueError, match=rf"BatchNorm{name}: more than one value per channel.* got \(1, 3") as error:
        layer(svod.ones(shape))
    assert error.type is svod.ShapeError and layer.num_batches_tracked.item() == 0
    assert layer.running_var.tolist() == [1.0] * 3
    with pytest.raises(svod.ShapeError, match="batch_norm: more than one"):
        F.batch_norm(svod.ones(shape), None, None, training=True)
    assert layer.eval()(svod.ones(shape)).shape == shape
    with pytest.raises(svod.ShapeError, match="instance_norm: more than one spatial element"):
        nn.InstanceNorm1d(3, track_running_stats=True)(svod.ones(2, 3, 1))


@pytest.mark.parametrize(("name", "shape"), [("1d", (0, 3)), ("2d", (0, 3, 2, 2)), ("2d", (1, 3, 0, 2))])
def test_a_batch_of_nothing_leaves_statistics_as_they_are(name: str, shape: tuple[int, ...]) -> None:
    layer = getattr(nn, f"BatchNorm{name}")(3)
    assert layer(svod.ones(shape)).shape == shape and layer.num_batches_tracked.item() == 1
    assert layer.running_var.tolist() == [1.0] * 3 and layer.running_mean.tolist() == [0.0] * 3
    torch = pytest.importorskip("torch")
    theirs = getattr(torch.nn, f"BatchNorm{name}")(3)
    theirs(torch.ones(shape))
    assert theirs.running_var.tolist() == [1.0] * 3 and theirs.num_batches_tracked.item() == 1
