"""Functions that are composed of tensor operations, each loaded when it is first asked for; see `docs/library.md`."""

from svod.library._load import function as __getattr__  # noqa: F401
from svod.library._table import FUNCTIONS

__all__ = sorted(FUNCTIONS)


def __dir__() -> list[str]:
    return __all__
