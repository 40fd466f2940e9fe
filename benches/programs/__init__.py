"""Everyday programs, each written once over a few functions that the libraries have in common.

A program takes the library and a generator of random numbers, and gives its results as numbers. It is
written as one would write it for NumPy, without a word for any of the libraries: values are read where
the program needs them, and buffers are written where it is natural.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import buffers, iterations, learning, sequences
from .library import LIBRARIES, Array, Library

Program = Callable[[Library, np.random.Generator], Array]

PROGRAMS: dict[str, Program] = {
    program.__name__: program for module in (iterations, buffers, sequences, learning) for program in module.PROGRAMS
}

__all__ = ["LIBRARIES", "PROGRAMS", "Program"]
