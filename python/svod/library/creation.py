"""Making tensors, and tensors like others."""

from __future__ import annotations

from typing import Any

from svod._svod import Tensor

__all__ = ["asarray", "full_like", "ones_like", "tril", "triu", "zeros_like"]


def asarray(obj: Any, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """`obj` as a tensor: a copy, unless it is one."""
    return Tensor(obj, dtype, device)


def _like(x: Tensor, dtype: Any, device: str | None) -> Tensor:
    """What has the shape, type and device that a new tensor is to have."""
    return x if dtype is None and device is None else x.to(dtype=dtype, device=device)


def full_like(x: Tensor, /, fill_value: Any, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """One value in a tensor's shape, and in its type and on its device, unless others are named."""
    return _like(x, dtype, device).full_like(fill_value)


def ones_like(x: Tensor, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Ones in a tensor's shape, and in its type and on its device, unless others are named."""
    return _like(x, dtype, device).ones_like()


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The elements on and below a diagonal, zeros above."""
    return x.tril(k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The elements on and above a diagonal, zeros below."""
    return x.triu(k)


def zeros_like(x: Tensor, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Zeros in a tensor's shape, and in its type and on its device, unless others are named."""
    return _like(x, dtype, device).zeros_like()
