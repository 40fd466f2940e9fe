"""Where values are made, and which are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from svod._svod import Tensor, _is_tracing

__all__ = ["known", "place_of"]


def known(x: Tensor) -> np.ndarray[Any, Any] | None:
    """The elements of a tensor whose values are known: that is in the memory of the host, outside of what is traced."""
    if not x.is_realized or x.device != "CPU" or _is_tracing() or not all(isinstance(one, int) for one in x.shape):
        return None
    return x.detach().numpy()


def place_of(x: Tensor) -> str | tuple[str, ...]:
    """The device, or devices, of what is made like a tensor: where that is, and on the CPU if that is a file."""
    return "CPU" if isinstance(x.device, str) and x.device.startswith("DISK:") else x.device
