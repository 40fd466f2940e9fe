"""The examples learn: short runs against closed solutions, PyTorch and one device; long ones with SVOD_TEST_FULL=1."""

from __future__ import annotations

import copy
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import svod

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

import digits
import gpt
import regression
from training import save_curve

FULL = os.environ.get("SVOD_TEST_FULL") == "1"


def test_regression_finds_the_closed_solution() -> None:
    x, y = regression.data()
    weight, bias, losses = regression.fit(x, y, quiet=True)
    right = np.linalg.lstsq(np.column_stack([x, np.ones(len(x))]), y, rcond=None)[0]
    np.testing.assert_allclose([*weight, bias], right, atol=1e-6)
    assert losses[-1] < 0.02 < losses[0]


def test_regression_is_that_of_scikit_learn() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    x, y = regression.data(seed=3)
    weight, bias, _ = regression.fit(x, y, quiet=True)
    right = linear_model.LinearRegression().fit(x, y)
    np.testing.assert_allclose([*weight, bias], [*right.coef_, right.intercept_], atol=1e-6)


def shapes(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten pictures of 8 x 8 with noise, in place of digits that somebody wrote."""
    pictures = np.random.default_rng(0).random((10, 1, 8, 8)) < 0.4
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, count)
    noise = 0.3 * rng.standard_normal((count, 1, 8, 8))
    return (pictures[labels] + noise).astype(np.float32), labels


@pytest.mark.parametrize("model", ["mlp", "convnet"])
def test_models_learn_pictures(model: str) -> None:
    svod.manual_seed(0)
    made = getattr(digits, model)()
    losses = digits.fit(made, *shapes(256, 1), epochs=6, batch=32, quiet=True)
    assert losses[-1] < 0.1 * losses[0]
    assert digits.accuracy(made, *shapes(200, 2)) >= 0.98


@pytest.mark.parametrize(("model", "least"), [("mlp", 0.95), ("convnet", 0.98)])
def test_models_learn_digits(model: str, least: float) -> None:
    pytest.importorskip("sklearn")
    svod.manual_seed(0)
    learned, held = digits.digits()
    made = getattr(digits, model)()
    epochs = 12 if FULL or model == "mlp" else 3
    digits.fit(made, *learned, epochs=epochs, quiet=True)
    assert digits.accuracy(made, *held) >= (least if FULL or model == "mlp" else 0.95)


@pytest.mark.parametrize("arguments", [["mlp"], ["mlp", "--devices", "2"]])
def test_the_digits_are_learned_by_the_script(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    digits.main(arguments)
    assert "images that were held out" in capsys.readouterr().out


def test_the_regression_is_learned_by_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    regression.main()


def test_two_devices_learn_what_one_does() -> None:
    svod.manual_seed(0)
    one, two = digits.mlp(), digits.mlp()
    two.load_state_dict({name: tensor.clone() for name, tensor in one.state_dict().items()})
    images, labels = shapes(256, 1)
    losses = [
        digits.fit(model, images, labels, epochs=3, batch=32, devices=devices, quiet=True)
        for model, devices in ((one, ()), (two, ("CPU", "CPU:1")))
    ]
    np.testing.assert_allclose(*losses, rtol=1e-4, atol=1e-6)
    for name, tensor in two.state_dict().items():
        assert tensor.device == ("CPU", "CPU:1")
        np.testing.assert_allclose(tensor.numpy(), one.state_dict()[name].numpy(), atol=1e-5)


def small(**sizes: int) -> gpt.GPT:
    svod.manual_seed(0)
    return gpt.GPT(**{"width": 32, "layers": 2, "heads": 2, "context": 24, **sizes})


TEXT = gpt.encode("def square(x):\n    return x * x\n\n\ndef cube(x):\n    return x * square(x)\n\n" * 20)


def test_a_transformer_learns_text_and_writes_it_from_one_plan() -> None:
    model = small()
    losses = gpt.train(model, TEXT, 300 if FULL else 40, batch=8, rate=3e-3, quiet=True)
    assert losses[0] > 4 and losses[-1] < 0.75 * losses[0]
    writer = gpt.Writer(model)
    written = writer.write("def ", 16)
    # The likeliest characters, each from the whole text before it.
    ids = gpt.encode(written)
    likeliest = model(svod.Tensor([ids])).numpy()[0].argmax(1)
    assert written.startswith("def ") and len(ids) == 20
    np.testing.assert_array_equal(ids[4:], likeliest[3:-1])
    writer.write("square", 10, temperature=1.0)
    assert writer.next.traces == 1
    with pytest.raises(ValueError, match="for a context of 24"):
        writer.write("def ", 21)


def of_torch(model: gpt.GPT, torch: Any) -> Any:
    """The same model of PyTorch's layers."""
    layer = model.blocks[0].self_attn
    width, heads = layer.embed_dim, layer.num_heads

    class Theirs(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            nn = torch.nn
            self.characters = nn.Embedding(len(gpt.CHARACTERS), width)
            self.positions = nn.Embedding(model.context, width)
            self.blocks = nn.ModuleList(
                nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
                for _ in range(len(model.blocks))
            )
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, len(gpt.CHARACTERS))

        def forward(self, ids: Any) -> Any:
            length = ids.shape[1]
            x = self.characters(ids) + self.positions.weight[:length]
            mask = torch.nn.Transformer.generate_square_subsequent_mask(length)
            for block in self.blocks:
                x = block(x, mask, is_causal=True)
            return self.head(self.norm(x))

    theirs = Theirs()
    theirs.load_state_dict({name: torch.tensor(tensor.numpy().copy()) for name, tensor in model.state_dict().items()})
    return theirs


def test_losses_follow_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    steps, batch = (100, 16) if FULL else (12, 4)
    model = gpt.GPT() if FULL else small()
    data = gpt.sources(200_000) if FULL else TEXT
    theirs = of_torch(model, torch)
    optimizer = torch.optim.AdamW(theirs.parameters(), lr=1e-3)
    warm_up = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=20)
    pieces = gpt.batches(data, model.context, batch, 0)
    expected = []
    for _ in range(steps):
        ids, following = next(pieces)
        optimizer.zero_grad()
        logits = theirs(torch.tensor(ids))
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), torch.tensor(following).flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        optimizer.step()
        warm_up.step()
        expected.append(loss.item())
    losses = gpt.train(model, data, steps, batch, quiet=True)
    np.testing.assert_allclose(losses, expected, rtol=0.01)


def test_sources_are_text_of_the_alphabet() -> None:
    data = gpt.sources(5000)
    assert len(data) == 5000 and data.max() < len(gpt.CHARACTERS)
    assert "import" in gpt.decode(data) and gpt.decode(gpt.encode("a\tb é")) == "a?b ?"


def test_the_curve_is_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert save_curve([3.0, 2.0, 1.0], tmp_path / "loss.png")
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")


def test_a_model_of_pytorchs_learns_as_in_eager_mode() -> None:
    torch = pytest.importorskip("torch")
    import torch_model

    torch.manual_seed(0)
    model = torch_model.network()
    expected, _ = torch_model.fit(copy.deepcopy(model), 12, "eager", quiet=True)
    losses, _ = torch_model.fit(model, 12, "svod", quiet=True)
    assert losses == pytest.approx(expected, rel=1e-3) and losses[-1] < losses[0]


def test_a_model_of_onnx_runs_on_batches_of_all_sizes() -> None:
    pytest.importorskip("onnx")
    import onnx_model

    model = svod.onnx.load(onnx_model.made())
    assert len(onnx_model.serve(model, [3, 40, 5], quiet=True)) == 3
    (chances,) = model(*onnx_model.inputs(model, 7))
    assert chances.shape == (7, 4)
    np.testing.assert_allclose(chances.sum(1).numpy(), 1, rtol=1e-5)


def test_a_model_writes_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    import generate_text

    generate_text.main(["--tokens", "12"])
    told = capsys.readouterr()
    written = [int(token) for token in told.out.split()]
    assert written[:3] == [1, 2, 3] and len(written) == 15
    assert "tokens a second" in told.err
