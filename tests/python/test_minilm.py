"""all-MiniLM-L6-v2 with real weights: the example's model, its encoder and its command line."""

from __future__ import annotations

import importlib.util
import io
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers")

import svod
import svod.models
import svod.onnx
from svod import nn

ROOT = Path(__file__).parents[2]
TOLERANCE = 1e-4


def import_example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


embed: Any = import_example("embed")


@pytest.fixture(scope="module")
def reference() -> dict[str, np.ndarray]:
    with np.load(ROOT / "tests" / "data" / "minilm_reference.npz") as data:
        return dict(data)


@pytest.fixture(scope="module")
def model() -> Any:
    return embed.load()


@pytest.fixture(scope="module")
def encoder(model: Any) -> Any:
    return embed.Encoder(model, embed.load_tokenizer())


def check(actual: np.ndarray, expected: np.ndarray) -> None:
    assert actual.shape == expected.shape and actual.dtype == np.float32
    np.testing.assert_allclose(actual, expected, rtol=0, atol=TOLERANCE)


def test_batch_with_padding(model: Any, reference: dict[str, np.ndarray]) -> None:
    ids, mask = svod.Tensor(reference["input_ids"]), svod.Tensor(reference["attention_mask"])
    check(model(ids, mask).numpy(), reference["embeddings"])


@pytest.mark.parametrize("index", range(16))
def test_one_at_a_time(encoder: Any, reference: dict[str, np.ndarray], index: int) -> None:
    alone = embed.Encoder(encoder.model, encoder.tokenizer, batch=1)
    check(alone.encode([str(reference["sentences"][index])]), reference["embeddings"][index : index + 1])


@pytest.mark.parametrize("index", [0, 13])
def test_one_without_padding(model: Any, reference: dict[str, np.ndarray], index: int) -> None:
    length = int(reference["attention_mask"][index].sum())
    ids = reference["input_ids"][index : index + 1, :length]
    result = model(svod.Tensor(ids), svod.Tensor(np.ones_like(ids)))
    check(result.numpy(), reference["embeddings"][index : index + 1])


def test_a_prepared_plan_runs_again_with_other_lines(model: Any, reference: dict[str, np.ndarray]) -> None:
    ids = svod.Tensor(np.zeros((4, 128), np.int64))
    mask = svod.Tensor(np.ones((4, 128), np.int64))
    plan = model(ids, mask).prepare(inputs=[ids, mask])
    padded = {name: np.pad(reference[name], ((0, 0), (0, 6))) for name in ("input_ids", "attention_mask")}
    for start in range(0, 16, 4):
        rows = slice(start, start + 4)
        plan.execute(padded["input_ids"][rows], padded["attention_mask"][rows])
        check(plan.outputs[0].numpy(), reference["embeddings"][rows])


def test_d4_one_plan_serves_every_batch_and_length(model: Any, reference: dict[str, np.ndarray]) -> None:
    batch, length = svod.Variable("batch", 1, 32), svod.Variable("length", 1, 256)
    ids, mask = (svod.empty(batch, length, dtype=svod.int64) for _ in range(2))
    plan = model(ids, mask).prepare(inputs=[ids, mask])
    memory = plan.memory
    assert memory["bytes_after"] <= 1.05 * memory["bytes_bound"], "contract C7"
    kernels = svod.caches()["kernels"]
    plan.execute(reference["input_ids"], reference["attention_mask"])
    check(plan.outputs[0].numpy(), reference["embeddings"])
    for rows, width in ((1, 256), (3, 131), (2, 130)):
        padded = {
            name: np.pad(reference[name], ((0, 0), (0, 200)))[:rows, :width] for name in ("input_ids", "attention_mask")
        }
        plan.execute(padded["input_ids"], padded["attention_mask"])
        check(plan.outputs[0].numpy(), reference["embeddings"][:rows])
    for i in range(16):
        width = int(reference["attention_mask"][i].sum())
        plan.execute(reference["input_ids"][i : i + 1, :width], np.ones((1, width), np.int64))
        check(plan.outputs[0].numpy(), reference["embeddings"][i : i + 1])
    assert svod.caches()["kernels"] == kernels


def test_encoder_keeps_the_order_of_lines(encoder: Any, reference: dict[str, np.ndarray]) -> None:
    order = np.random.default_rng(0).permutation(16)
    lines = [str(reference["sentences"][i]) for i in order]
    finished: list[int] = []
    check(encoder.encode(lines, finished.append), reference["embeddings"][order])
    assert sum(finished) == 16


def test_tokens(encoder: Any, reference: dict[str, np.ndarray]) -> None:
    tokens = encoder.tokenize([str(s) for s in reference["sentences"]])
    expected = [ids[mask == 1].tolist() for ids, mask in zip(reference["input_ids"], reference["attention_mask"])]
    assert tokens == expected


def test_long_lines_are_truncated(encoder: Any) -> None:
    (tokens,) = encoder.tokenize(["word " * 1000])
    assert len(tokens) == embed.MAX_TOKENS
    assert (tokens[0], tokens[-1]) == (101, 102)
    a, b = encoder.encode(["word " * 1000, "word " * 999])
    np.testing.assert_array_equal(a, b)


def test_tool_writes_a_row_for_each_line(tmp_path: Path, capsys: Any, reference: dict[str, np.ndarray]) -> None:
    sentences = [str(s) for s in reference["sentences"]]
    text, out = tmp_path / "lines.txt", tmp_path / "out.npy"
    text.write_text("\n".join(sentences) + "\n", encoding="utf-8")
    embed.main([str(text), "--output", str(out), "--query", "cat on a carpet", "--batch", "4"])
    check(np.load(out), reference["embeddings"])
    assert "A cat is sitting on a rug." in capsys.readouterr().out.split("\n")[2]


def test_tool_on_an_empty_file(tmp_path: Path) -> None:
    text, out = tmp_path / "empty.txt", tmp_path / "out.npy"
    text.touch()
    embed.main([str(text), "--output", str(out)])
    assert np.load(out).shape == (0, 384)


def test_demo(capsys: Any) -> None:
    embed.main([])
    printed = capsys.readouterr().out
    assert all(query in printed for query in embed.QUERIES)
    assert all(word in printed for word in ("import", "load", "compile", "run"))


def test_lines(tmp_path: Path) -> None:
    text = tmp_path / "lines.txt"
    text.write_bytes("\ufeffa\r\n\nb\u2028c".encode())
    assert embed.read_lines(text) == ["a", "", "b\u2028c"]


def test_undecodable_text_names_the_line(tmp_path: Path) -> None:
    text = tmp_path / "bad.txt"
    text.write_bytes(b"fine\nalso fine\nno\xfft\n")
    with pytest.raises(SystemExit, match=r"line 3: not UTF-8 text \(byte 0xff at column 3\)"):
        embed.main([str(text), "--output", str(tmp_path / "out.npy")])
    assert not (tmp_path / "out.npy").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["FILE"], "give --output, --query or both"),
        (["FILE", "--output", "out.npy", "--batch", "0"], "at least 1, got 0"),
        (["FILE", "--output", "/no/such/folder/out.npy"], "no folder /no/such/folder"),
    ],
)
def test_usage_errors(arguments: list[str], message: str, capsys: Any) -> None:
    with pytest.raises(SystemExit) as error:
        embed.main(arguments)
    assert error.value.code == 2
    assert message in capsys.readouterr().err


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="No such file"):
        embed.main([str(tmp_path / "none.txt"), "--output", str(tmp_path / "out.npy")])


def test_state_errors_name_the_tensor(model: Any) -> None:
    state = model.state_dict()
    smaller = {name: tensor for name, tensor in state.items() if name != "norm.bias"}
    with pytest.raises(nn.StateError, match=r"missing \['norm\.bias'\]"):
        model.load_state_dict(smaller)
    wrong = state | {"norm.bias": svod.Tensor(np.zeros(3, np.float32))}
    with pytest.raises(nn.StateError, match=r"norm\.bias: expected shape \(384,\), got \(3,\)"):
        model.load_state_dict(wrong)
    extra = state | {"nobody": state["norm.bias"]}
    with pytest.raises(nn.StateError, match=r"unknown \['nobody'\]"):
        model.load_state_dict(extra)
    assert model.load_state_dict(extra, strict=False) == ([], ["nobody"])


@pytest.mark.parametrize("way", ["svod.models", "torch.compile", "onnx"])
def test_real_weights_on_all_ways(way: str, reference: dict[str, np.ndarray]) -> None:
    """Files as they are, the model of transformers compiled, and that model as ONNX give the same embeddings."""
    ids, mask = reference["input_ids"], reference["attention_mask"]
    if way == "svod.models":
        hidden = svod.models.load(embed.package_folder())(svod.Tensor(ids), svod.Tensor(mask)).last_hidden_state
    else:
        torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
        model = transformers.AutoModel.from_pretrained(embed.package_folder()).eval()
        given = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
        with torch.no_grad():
            if way == "torch.compile":
                torch._dynamo.reset()
                hidden = svod.from_dlpack(torch.compile(model, backend="svod")(**given).last_hidden_state)
            else:
                pytest.importorskip("onnxscript")
                file = io.BytesIO()
                torch.onnx.export(model, (), kwargs=given, dynamo=True, verbose=False).save(file)
                # Results are told apart by their extents.
                results = svod.onnx.load(file.getvalue())(**{name: array.numpy() for name, array in given.items()})
                (hidden,) = (result for result in results if result.ndim == 3)
    seen = svod.Tensor(mask).float().unsqueeze(-1)
    pooled = (hidden * seen).sum(1) / seen.sum(1)
    check((pooled / pooled.norm(dim=-1, keepdim=True)).numpy(), reference["embeddings"])
