"""Where values are made."""

from __future__ import annotations

from svod._svod import Tensor

__all__ = ["place_of"]


def place_of(x: Tensor) -> str | tuple[str, ...]:
    """The device, or devices, of what is made like a tensor: where that is, and on the CPU if that is a file."""
    return "CPU" if isinstance(x.device, str) and x.device.startswith("DISK:") else x.device
