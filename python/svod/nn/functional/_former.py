"""Arguments of losses that PyTorch had before `reduction`, and still takes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from svod._arguments import checked

__all__ = ["loss"]

P = ParamSpec("P")
R = TypeVar("R")


def loss(function: Callable[P, R]) -> Callable[P, R]:
    """The loss, `checked`, which takes `size_average` and `reduce` by name too; they say what `reduction` is."""
    made = checked(function)

    @functools.wraps(function)
    def call(*args: Any, size_average: bool | None = None, reduce: bool | None = None, **kwargs: Any) -> R:
        if size_average is not None or reduce is not None:
            folded = "sum" if size_average is False else "mean"
            kwargs["reduction"] = "none" if reduce is False else folded
        return made(*args, **kwargs)

    return call  # type: ignore[return-value]
