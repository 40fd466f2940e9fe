"""Named tensors of a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from svod import _svod
from svod._arguments import checked
from svod._svod import ArgumentError, ArgumentTypeError, Error, Tensor, realize

# What the format calls the types of elements.
_NAMES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "uint32": "U32",
    "int32": "I32",
    "uint64": "U64",
    "int64": "I64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
}
# Types that NumPy does not have are written by their bits.
_BITS = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}


class MissingTensorError(Error, KeyError):
    """A name that a file of tensors does not hold."""

    kind = "missing tensor"

    def __str__(self) -> str:
        return str(self.args[0])


class Weights(dict[str, Tensor]):
    """The tensors of one file, by name."""

    def __init__(self, tensors: dict[str, Tensor], path: str) -> None:
        super().__init__(tensors)
        self.path = path

    def __missing__(self, name: str) -> NoReturn:
        known = ", ".join(sorted(self)[:8]) + (", …" if len(self) > 8 else "")
        raise MissingTensorError(f"{self.path} holds no tensor {name!r}; it holds {len(self)}: {known}")


@checked
def load_safetensors(path: str | os.PathLike[str]) -> Weights:
    """The tensors of a safetensors file, by name: on the CPU, in pages of the file that are read when they are used.

    To load costs nothing. What is assigned to one of them goes to memory of its own: the file stays as it is. Nothing
    is to write the file as long as they are in use (`save_safetensors` puts another one in its place); a `clone()`, and
    whatever is computed, is memory of its own.

    Raises `svod.FileError` where the file cannot be read, `svod.FormatError` where it is not a
    valid safetensors file, and `svod.MissingTensorError`, a `KeyError`, for a name that it lacks.
    """
    return Weights(_svod.load_safetensors(path), os.fspath(path))


@checked
def save_safetensors(
    tensors: Mapping[str, Tensor], path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None
) -> None:
    """Writes tensors by name, such as a state dict, to a safetensors file; what was there is replaced at once.

    `metadata` is text by name. Wide elements come first, so that all are aligned.

    >>> import svod, tempfile
    >>> path = tempfile.mkdtemp() + "/model.safetensors"
    >>> svod.save_safetensors(svod.nn.LayerNorm(3).state_dict(), path)
    >>> svod.load_safetensors(path)["weight"].tolist()
    [1.0, 1.0, 1.0]

    Raises `svod.ArgumentTypeError` for what is no tensor, `svod.ArgumentError` for a name that the format has given
    away, and `OSError` where the file cannot be written.
    """
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ArgumentTypeError(f"save_safetensors: {name!r} is {type(tensor).__name__}, not a tensor")
    if "__metadata__" in tensors:
        raise ArgumentError("save_safetensors: a tensor cannot be named '__metadata__'")
    realize(*tensors.values())
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    header: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    end = 0
    for name, tensor in ordered:
        start, end = end, end + int(tensor.nbytes)
        shape = [int(extent) for extent in tensor.shape]
        header[name] = {"dtype": _NAMES[str(tensor.dtype)], "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    # The data begins at a multiple of 8.
    text += b" " * (-len(text) % 8)
    target = Path(path)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for _, tensor in ordered:
                bits = _BITS.get(str(tensor.dtype))
                elements = (tensor if bits is None else tensor.bitcast(bits)).numpy()
                file.write(elements.astype(elements.dtype.newbyteorder("<"), copy=False).tobytes())
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
