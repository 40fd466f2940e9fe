"""Bits of integers: counted, and as truth values, as NumPy's functions have them."""

from __future__ import annotations

from typing import Any

from svod._place import made_beside
from svod._svod import ArgumentError, DTypeError, ShapeError, Tensor
from svod.library._axes import axis_of

__all__ = ["bitwise_count", "packbits", "unpackbits"]


def bitwise_count(x: Tensor, /) -> Tensor:
    """How many bits of an integer's magnitude are 1, as `uint8`.

    By sums of neighbours of 1, 2 and 4 bits, side by side in one number (Wegner 1960).

    >>> import svod
    >>> svod.bitwise_count(svod.Tensor([0, 7, -8])).tolist()
    [0, 3, 1]
    """
    if x.dtype.is_floating_point or x.is_complex():
        raise DTypeError(f"bitwise_count: integers are expected, not {x.dtype.name}")
    if x.dtype == "bool":
        return x.cast("uint8")
    width = 8 * x.dtype.itemsize
    kind = f"uint{width}"
    n = x.abs().bitcast(kind)

    def mask(bits: int) -> Tensor:
        """Groups of so many bits, every other one of them set."""
        return made_beside(n, sum(((1 << bits) - 1) << at for at in range(0, width, 2 * bits)), kind)

    n = n - ((n >> 1) & mask(1))
    n = (n & mask(2)) + ((n >> 2) & mask(2))
    n = (n + (n >> 4)) & mask(4)
    for by in (8, 16, 32):
        n = n + (n >> by) if by < width else n
    return (n & 0x7F).cast("uint8")


def packbits(x: Tensor, /, axis: int | None = None, bitorder: str = "big") -> Tensor:
    """Eight truth values along an axis, of the flat tensor by default, in each `uint8`; zeros behind the last ones.

    The first is the highest bit, with `bitorder="little"` the lowest.

    >>> import svod
    >>> svod.packbits(svod.Tensor([True, False, False, False, False, False, False, True, True])).tolist()
    [129, 128]
    """
    x, axis = (x.flatten(), 0) if axis is None else (x, axis_of("packbits", axis, x.ndim))
    if x.dtype.is_floating_point or x.is_complex():
        raise DTypeError(f"packbits: truth values or integers are expected, not {x.dtype.name}")
    lines = (x != 0).movedim(axis, -1)
    extent = lines.shape[-1]
    rest = -extent % 8
    if isinstance(rest, int) and rest:
        lines = lines.pad([(0, 0)] * (lines.ndim - 1) + [(0, rest)])
    many = (extent + 7) // 8
    octets = lines.reshape(*lines.shape[:-1], many, 8).cast("uint8")
    packed: Tensor = (octets << _places("packbits", octets, bitorder)).sum(-1, dtype="uint8")
    return packed.movedim(-1, axis)


def unpackbits(x: Tensor, /, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Tensor:
    """The eight bits of each `uint8` along an axis, of the flat tensor by default, as `uint8` of 0 and 1.

    Of these the first `count`, with zeros behind them if there are fewer; of a negative one all but so many.

    >>> import svod
    >>> svod.unpackbits(svod.Tensor([5], dtype="uint8"), count=-2).tolist()
    [0, 0, 0, 0, 0, 1]
    """
    if x.dtype != "uint8":
        raise DTypeError(f"unpackbits: uint8 is expected, not {x.dtype.name}")
    x, axis = (x.flatten(), 0) if axis is None else (x, axis_of("unpackbits", axis, x.ndim))
    lines = x.movedim(axis, -1)
    extent = lines.shape[-1] * 8
    bits = ((lines.unsqueeze(-1) >> _places("unpackbits", x, bitorder)) & 1).reshape(*lines.shape[:-1], extent)
    if count is not None:
        kept = extent + count if count < 0 else count
        if kept < 0:
            raise ShapeError(f"unpackbits: count: {-count} bits less than the {extent} that there are")
        bits = bits[..., : min(kept, extent)]
        bits = bits.pad([(0, 0)] * (bits.ndim - 1) + [(0, max(0, kept - extent))])
    return bits.movedim(-1, axis)


def _places(name: str, x: Tensor, bitorder: Any) -> Tensor:
    """By how much each of eight bits is shifted."""
    if bitorder not in ("big", "little"):
        raise ArgumentError(f"{name}: bitorder is 'big' or 'little', not {bitorder!r}")
    return made_beside(x, [7, 6, 5, 4, 3, 2, 1, 0] if bitorder == "big" else [*range(8)], "uint8")
