"""What generators of random numbers say of themselves, beside what the compiled class has."""

from __future__ import annotations

from svod._svod import Generator

__all__ = ["install"]


def install() -> None:
    """Gives `Generator` what is here."""
    _initial_seed.__name__, _initial_seed.__qualname__ = "initial_seed", "Generator.initial_seed"
    Generator.initial_seed = _initial_seed  # type: ignore[method-assign]


def _initial_seed(self: Generator, /) -> int:
    """The seed that its numbers follow from; without one, that which nobody knew before.

    >>> import svod
    >>> svod.Generator(7).initial_seed()
    7
    """
    return int(self.get_state()[0])
