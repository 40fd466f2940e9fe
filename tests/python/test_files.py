"""Files of tensors: what is read from good ones, and what is said of bad ones."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import svod


def safetensors(path: Path, header: Any, data: bytes = b"", length: int | None = None) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)
    return path


def entry(begin: int, end: int, shape: list[int], dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


BAD_FILES: list[tuple[str, dict[str, Any], str]] = [
    ("header beyond the file", {"header": {}, "length": 1 << 20}, "header should have 1048576 bytes"),
    ("huge header", {"header": {}, "length": (1 << 64) - 1}, "18446744073709551615"),
    ("no JSON", {"header": b"{nope"}, "header is not valid"),
    ("undecodable name", {"header": b'{"\xff\xfe": 1}'}, "header"),
    ("truncated data", {"header": {"a": entry(0, 16, [4])}, "data": bytes(8)}, r"\[0, 16\].*8 bytes"),
    ("backwards", {"header": {"a": entry(8, 4, [1])}, "data": bytes(8)}, r"\[8, 4\]"),
    ("wrong size", {"header": {"a": entry(0, 8, [4])}, "data": bytes(8)}, "needs 16 bytes"),
    ("overlap", {"header": {"a": entry(0, 8, [2]), "b": entry(4, 12, [2])}, "data": bytes(12)}, "inside the tensor"),
    ("hole", {"header": {"a": entry(0, 4, [1]), "b": entry(8, 12, [1])}, "data": bytes(12)}, "no tensor"),
    ("huge shape", {"header": {"a": entry(0, 4, [1 << 62, 1 << 62])}, "data": bytes(4)}, "too large"),
    ("unknown dtype", {"header": {"a": entry(0, 4, [1], "F31")}, "data": bytes(4)}, "F31"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD_FILES, ids=[b[0] for b in BAD_FILES])
def test_bad_safetensors(tmp_path: Path, name: str, content: dict[str, Any], message: str) -> None:
    path = safetensors(tmp_path / "bad.safetensors", **content)
    with pytest.raises(svod.FormatError, match=message) as raised:
        svod.load_safetensors(path)
    assert "bad.safetensors" in str(raised.value)


def test_short_file(tmp_path: Path) -> None:
    for size in range(8):
        path = tmp_path / "short"
        path.write_bytes(bytes(size))
        with pytest.raises(svod.FormatError, match=f"{size} bytes"):
            svod.load_safetensors(path)


def test_good_safetensors(tmp_path: Path) -> None:
    values = np.arange(6, dtype=np.float32)
    header = {"a": entry(0, 16, [2, 2]), "b": entry(16, 24, [2]), "none": entry(24, 24, [0, 3])}
    loaded = svod.load_safetensors(safetensors(tmp_path / "good", header, values.tobytes()))
    assert loaded["a"].tolist() == [[0, 1], [2, 3]] and (loaded["b"] + 1).tolist() == [5, 6]
    assert loaded["none"].shape == (0, 3)
    with pytest.raises(KeyError):
        loaded["missing"]


def test_a_missing_tensor_names_file_and_name(tmp_path: Path) -> None:
    path = safetensors(tmp_path / "weights.safetensors", {"a": entry(0, 4, [1])}, struct.pack("<f", 1.5))
    weights = svod.load_safetensors(path)
    assert weights["a"].to("CPU").tolist() == [1.5]
    with pytest.raises(svod.MissingTensorError, match=r"weights\.safetensors holds no tensor 'b'.*: a") as error:
        weights["b"]
    assert isinstance(error.value, svod.Error) and isinstance(error.value, KeyError)


def test_what_is_saved_is_what_was_there(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    tensors = {
        f"{dtype}.{at}": svod.Tensor(rng.integers(0, 2, shape)).cast(dtype)
        for at, shape in enumerate([(3, 5), (), (0, 2), (7,)])
        for dtype in ["bool", "uint8", "int16", "int64", "float8_e4m3fn", "float16", "bfloat16", "float32", "float64"]
    }
    tensors["spread é"] = svod.arange(6).shard(["CPU", "CPU:1"], axis=0)
    tensors["strided"] = svod.arange(12).reshape(3, 4).T
    path = tmp_path / "all.safetensors"
    svod.save_safetensors(tensors, path, metadata={"from": "a test"})
    loaded = svod.load_safetensors(path)
    assert set(loaded) == set(tensors)
    for name, tensor in tensors.items():
        assert loaded[name].dtype == tensor.dtype and loaded[name].shape == tensor.shape
        np.testing.assert_array_equal(loaded[name].to("CPU").double().numpy(), tensor.to("CPU").double().numpy())
    # A file may be replaced by what was loaded from it, and nothing else is left behind.
    svod.save_safetensors(loaded, path)
    np.testing.assert_array_equal(svod.load_safetensors(path)["strided"].numpy(), tensors["strided"].numpy())
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    model, other = svod.nn.Linear(3, 2), svod.nn.Linear(3, 2)
    svod.save_safetensors(model.state_dict(), path)
    other.load_state_dict(svod.load_safetensors(path))
    np.testing.assert_array_equal(other(svod.ones(3)).numpy(), model(svod.ones(3)).numpy())


def test_what_cannot_be_saved_is_refused(tmp_path: Path) -> None:
    with pytest.raises(svod.ArgumentTypeError, match="'w' is ndarray, not a tensor"):
        svod.save_safetensors({"w": np.zeros(2)}, tmp_path / "a")  # type: ignore[dict-item]
    with pytest.raises(svod.ArgumentError, match="__metadata__"):
        svod.save_safetensors({"__metadata__": svod.zeros(1)}, tmp_path / "a")
    with pytest.raises(FileNotFoundError):
        svod.save_safetensors({}, tmp_path / "no" / "such")
    assert not list(tmp_path.iterdir())


def test_other_readers_take_what_is_saved(tmp_path: Path) -> None:
    reader = pytest.importorskip("safetensors.numpy")
    svod.save_safetensors({"a": svod.arange(3), "b": svod.ones(2, 2)}, tmp_path / "a", {"key": "value"})
    loaded = reader.load_file(tmp_path / "a")
    assert loaded["a"].tolist() == [0, 1, 2] and loaded["b"].dtype == np.float32
