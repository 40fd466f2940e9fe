"""Where values are made, and which are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from svod._svod import Tensor, _is_tracing

__all__ = ["device_of", "known", "made_beside", "place_of"]


def known(x: Tensor) -> np.ndarray[Any, Any] | None:
    """The elements of a tensor whose values are known: that is in the memory of the host, outside of what is traced."""
    if not x.is_realized or x.device != "CPU" or _is_tracing() or not all(isinstance(one, int) for one in x.shape):
        return None
    return x.detach().numpy()


def place_of(x: Tensor) -> str | tuple[str, ...]:
    """The device, or devices, of what is made like a tensor: where that is, and on the CPU if that is a file."""
    return "CPU" if isinstance(x.device, str) and x.device.startswith("DISK:") else x.device


def device_of(x: Tensor) -> str | None:
    """The device of what is made for a tensor: where that is; where it is used, if that is in several places."""
    place = place_of(x)
    return place if isinstance(place, str) else None


def made_beside(x: Tensor, values: Any, dtype: Any = None) -> Tensor:
    """Values of the host where a tensor is."""
    return Tensor(values, dtype, device_of(x))
