"""Reading a model's folder."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from svod._svod import FileError, FormatError, Tensor, UnsupportedError, get_default_device
from svod._weights import load_safetensors
from svod.models.bert import Bert
from svod.models.gpt2 import GPT2
from svod.models.llama import Llama
from svod.nn import Module, StateError

# Classes by the `model_type` of a configuration.
ARCHITECTURES: dict[str, type[Bert] | type[GPT2] | type[Llama]] = {
    "bert": Bert,
    "gpt2": GPT2,
    "llama": Llama,
    "mistral": Llama,
    "qwen2": Llama,
    "qwen3": Llama,
}
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"


def load(folder: str | os.PathLike[str], dtype: Any = None, device: str | None = None) -> Any:
    """The model of a folder: `config.json` beside `model.safetensors`, or beside the parts that
    `model.safetensors.index.json` names.

    Weights have the types that they have in the files; with a `dtype`, those of floats are converted. They are computed
    with on a `device`, by default that of `svod.set_default_device`.

    Raises `svod.FileError` for a file that is not there, `svod.FormatError` for one that is no JSON or no safetensors,
    or whose numbers make no model, `svod.UnsupportedError` for an architecture or an option that svod has not, and
    `svod.nn.StateError` where the weights are not those of the configuration.
    """
    path = Path(folder)
    config = read_json(path / "config.json")
    kind = config.get("model_type")
    if kind not in ARCHITECTURES:
        raise UnsupportedError(
            f"{path / 'config.json'}: a model of {kind!r}; svod has {', '.join(sorted(ARCHITECTURES))}"
        )
    architecture = ARCHITECTURES[kind]
    weights = read_weights(path)
    own = {own: tensor for name, tensor in weights.items() if (own := architecture.own_name(name)) is not None}
    model = architecture.from_config(config, own)
    check(path, model, own)
    model.load_state_dict(own, assign=True)
    model.eval()
    place = get_default_device() if device is None else device
    return model if dtype is None and place == "CPU" else model.to(device=place, dtype=dtype)


def check(path: Path, model: Module, given: Mapping[str, Tensor]) -> None:
    """An error unless the weights are those of the model, by names and shapes."""
    wanted = model.state_dict()
    for what, names in (("lacks", wanted.keys() - given.keys()), ("has no place for", given.keys() - wanted.keys())):
        if names:
            listed = ", ".join(sorted(names)[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
            whose = "the folder" if what == "lacks" else f"a {type(model).__name__} of this configuration"
            raise StateError(f"{path}: {whose} {what} {listed}")
    for name, tensor in given.items():
        if tuple(tensor.shape) != tuple(wanted[name].shape):
            raise StateError(f"{path}: {name} is {tuple(tensor.shape)}, by config.json {tuple(wanted[name].shape)}")


def read_json(path: Path) -> dict[str, Any]:
    """A file's object."""
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise FormatError(f"{path}: {error}") from error
    if not isinstance(found, dict):
        raise FormatError(f"{path}: an object is expected, not {type(found).__name__}")
    return found


def read_weights(folder: Path) -> dict[str, Tensor]:
    """All tensors of a folder, by the names that they have in its files."""
    if (folder / WEIGHTS).exists() or not (folder / INDEX).exists():
        return dict(load_safetensors(folder / WEIGHTS))
    places = read_json(folder / INDEX).get("weight_map")
    if not isinstance(places, dict):
        raise FormatError(f"{folder / INDEX}: weight_map is no object")
    files = sorted(set(map(str, places.values())))
    for file in files:
        # A part lies beside its index.
        if not re.fullmatch(r"[\w.-]+", file) or file.startswith("."):
            raise FormatError(f"{folder / INDEX}: {file!r} is no file of the folder")
    parts = {file: load_safetensors(folder / file) for file in files}
    return {name: parts[str(file)][name] for name, file in places.items()}
