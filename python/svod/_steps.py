"""Loops over tensors, and Python functions as parts of graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from svod._arguments import checked
from svod._control import _text
from svod._svod import (
    ArgumentError,
    ArgumentTypeError,
    Size,
    Tensor,
    Variable,
    _custom,
    _iterate,
    _scan,
    float32,
)
from svod._tree import rebuilt, taken

__all__ = ["custom", "iterate"]

_NUMBERS = (Size, Variable, bool, int, float)


@checked
def iterate(times: int | range | Size | Variable, body: Callable[..., Any], *init: Any) -> Any:
    """What `init` becomes when `body` computes it anew for each number of `times`.

    `body(i, *values)` gives the next values, in the same structure, shapes and types: a tensor where one value is
    given, else a tuple. Values may be nested dicts, lists, tuples and dataclasses of tensors. A number that is a
    value becomes a tensor; numbers inside of such structures stay as they are. The body is called once; the loop is
    part of the graph and of its plans. A few iterations are written out when a plan is made; of more, and of a symbolic
    number, the loop is one step of the plan. `i` is a size, for indices, shapes and arithmetic. What
    depends neither on it nor on the values is computed once, random numbers among it: those that the body draws are
    the same in each iteration. The body may assign to its values and to what it makes, not to tensors from outside
    (`TraceError`).

    >>> import svod
    >>> x = svod.Tensor([1.0, 2.0])
    >>> svod.iterate(range(1, 5), lambda i, x: x * i, x).tolist()
    [24.0, 48.0]
    >>> a, b = svod.iterate(10, lambda i, a, b: (b, a + b), svod.Tensor(0), svod.Tensor(1))
    >>> a.item(), b.item()
    (55, 89)
    """
    symbolic = isinstance(times, (Size, Variable))
    if not symbolic and not isinstance(times, (range, int)):
        raise ArgumentError(f"iterate: a number or a range of iterations is expected, not {times!r}")
    numbers = times if isinstance(times, range) else range(0 if symbolic else times)
    if not init:
        raise ArgumentError("iterate: no values to begin with")
    found: list[Any] = []
    # A number that is itself a value is carried; one among others is part of the structure.
    init = tuple(Tensor(value) if isinstance(value, (int, float)) else value for value in init)
    structure = taken(init, found, _as_it_is)
    if not found:
        raise ArgumentError(f"iterate: no tensors among the values to begin with, {init!r}")
    tensors = [value if isinstance(value, Tensor) else Tensor(value) for value in found]

    def step(at: Size, values: Sequence[Tensor]) -> list[Tensor]:
        i = numbers.start + at * numbers.step if numbers.step != 1 else at
        results = body(i, *rebuilt(structure, values))
        if len(init) > 1 and not isinstance(results, (tuple, list)):
            raise ArgumentError(f"iterate: the body gives one {type(results).__name__} for {len(init)} values")
        results = [results] if len(init) == 1 else results
        results = tuple(Tensor(value) if isinstance(value, (int, float)) else value for value in results)
        given: list[Any] = []
        shape = taken(results, given, _as_it_is)
        if shape != structure:
            raise ArgumentError(f"iterate: the body gives {_text(shape)} for {_text(structure)}")
        return [value if isinstance(value, Tensor) else Tensor(value) for value in given]

    start = numbers.start if numbers.step == 1 else 0
    if isinstance(times, (Size, Variable)):
        names = [f"value {at}" for at in range(len(tensors))]
        last, _ = _scan(tensors, [], times, False, names, lambda at, values, _: (step(at, values), []))
    else:
        last = _iterate(start, start + len(numbers), tensors, step)
    results = rebuilt(structure, last)
    return results[0] if len(init) == 1 else tuple(results)


def _as_it_is(value: Any) -> Any:
    return value


@checked
def custom(
    function: Callable[..., Any],
    *inputs: Any,
    shape: Any = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """What a Python function gives for these inputs, as a lazy tensor.

    The function is called whenever the result is computed, in plans and loops too, with a NumPy array for
    each input, its own to keep. What it gave to a read of anything that follows from it is kept.
    It gives an array of the declared `shape` and `dtype`; without them, of those of the first input. `shape`
    may be a function of the inputs' shapes, and a list of shapes, with
    a list of types or one type, declares a tuple of results. Sizes and variables are inputs as well: the
    function gets their values in the run, those of loops included, as numbers.

    An exception of the function reaches whoever computes the result, as it is.

    The tensor holds the function, and the function whatever it refers to. An object that holds a tensor whose function
    refers to the object (`self.y = svod.custom(self.f, self.x)`) is collected as other cycles are, unless several
    tensors or plans that live on share the function: then set these to `None`, or refer to the object weakly.

    >>> import numpy as np, svod
    >>> x = svod.Tensor([3.0, 1.0, 2.0])
    >>> y = svod.custom(np.sort, x + 1)
    >>> (y * 10).tolist()
    [20.0, 30.0, 40.0]
    >>> values, counts = svod.custom(
    ...     lambda a: np.unique(a, return_counts=True), svod.Tensor([1, 1, 5]), shape=[(2,), (2,)], dtype=svod.int64
    ... )
    >>> counts.tolist()
    [2, 1]
    """
    if not callable(function):
        raise ArgumentTypeError(f"custom: function: a function is expected, not {function!r}")
    operands = [value if isinstance(value, (Tensor, *_NUMBERS)) else Tensor(value) for value in inputs]
    tensors = [value for value in operands if isinstance(value, Tensor)]
    if shape is None:
        if not tensors:
            raise ArgumentError("custom: without an input that is a tensor, shape must be given")
        shape = tuple(tensors[0].shape)
    elif callable(shape):
        shape = shape(*(tuple(value.shape) if isinstance(value, Tensor) else () for value in operands))
    if dtype is None:
        dtype = tensors[0].dtype if tensors else float32
    several = isinstance(shape, list) and all(isinstance(one, (list, tuple)) for one in shape)
    shapes = shape if several else [shape]
    dtypes = list(dtype) if isinstance(dtype, (list, tuple)) else [dtype] * len(shapes)
    if len(dtypes) != len(shapes):
        raise ArgumentError(f"custom: {len(shapes)} shapes, but {len(dtypes)} types")
    name = name or getattr(function, "__name__", None) or type(function).__name__
    numbers = [isinstance(value, _NUMBERS) for value in operands]

    def call(*arrays: Any) -> Any:
        return function(*(array.item() if number else array for array, number in zip(arrays, numbers, strict=True)))

    results = _custom(call if any(numbers) else function, name, operands, list(zip(shapes, dtypes, strict=True)))
    return tuple(results) if several else results[0]
