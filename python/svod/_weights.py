"""Named tensors of a file."""

from __future__ import annotations

import os
from typing import NoReturn

from svod import _svod
from svod._svod import Error, Tensor


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


def load_safetensors(path: str | os.PathLike[str]) -> Weights:
    """The tensors of a safetensors file, by name: memory-mapped, on device ``DISK``.

    A view into the file costs nothing; computing with one on the CPU reads its pages in place.

    Raises `svod.FileError` where the file cannot be read, `svod.FormatError` where it is not a
    valid safetensors file, and `svod.MissingTensorError`, a `KeyError`, for a name that it lacks.
    """
    return Weights(_svod.load_safetensors(path), os.fspath(path))
