"""What the array API standard asks of the namespace itself, and of tensors as its arrays."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import svod
from svod._svod import ArgumentError, DType, PrepareConfig, Tensor
from svod.library.dtypes import KINDS, isdtype

__all__ = ["__array_namespace__", "__array_namespace_info__", "to_device"]

# The versions of the standard that are followed; each holds those before it.
_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


class NamespaceInfo:
    """What svod can do, as the array API standard asks for it."""

    def capabilities(self) -> dict[str, Any]:
        """What programs may rely on. A tensor has any number of dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> str:
        """The device of new tensors."""
        return PrepareConfig().device or "CPU"

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """The types of what is made without one."""
        names = {"real floating": "float32", "integral": "int64", "indexing": "int64", "complex floating": "complex64"}
        return {kind: getattr(svod, name) for kind, name in names.items()}

    def devices(self) -> list[str]:
        """The devices that there are."""
        return list(svod.devices())

    def dtypes(self, *, device: str | None = None, kind: Any = None) -> dict[str, DType]:
        """The standard's types by name, all or those of a kind, as `isdtype` has it."""
        standard = [
            name for names in KINDS.values() for name in names if not name.startswith(("bfloat", "float8", "float16"))
        ]
        every = {name: getattr(svod, name) for name in standard}
        return {name: dtype for name, dtype in every.items() if kind is None or isdtype(dtype, kind)}


def __array_namespace__(x: Tensor, /, *, api_version: str | None = None) -> ModuleType:
    """The module of a tensor's functions, by the array API standard: `svod`."""
    if api_version is not None and api_version not in _VERSIONS:
        raise ArgumentError(f"__array_namespace__: svod follows versions {', '.join(_VERSIONS)}, not {api_version!r}")
    return svod


def __array_namespace_info__() -> NamespaceInfo:
    """What svod can do: devices, types and capabilities, by the array API standard.

    >>> import svod
    >>> svod.__array_namespace_info__().default_dtypes()["real floating"]
    svod.float32
    """
    return NamespaceInfo()


def to_device(x: Tensor, device: str, /, *, stream: Any = None) -> Tensor:
    """The tensor on another device, by the array API's name; see `to`."""
    if stream is not None:
        raise ArgumentError("to_device: devices of svod have no streams")
    return x.to(device)
