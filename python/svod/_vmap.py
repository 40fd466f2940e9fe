"""`vmap`: a function of one example, for a batch of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from svod._place import place_of
from svod._signature import takes_the_same
from svod._svod import (
    ArgumentError,
    ArgumentTypeError,
    Tensor,
    TraceError,
    _batched,
    _custom,
    _variables,
    view_as_complex,
    view_as_real,
)
from svod._tree import rebuilt, taken

__all__ = ["is_batching", "vmap"]

_state = threading.local()


def is_batching() -> bool:
    """Whether this thread runs a function of one example: what it calls must not look at elements."""
    return getattr(_state, "depth", 0) > 0


def vmap(
    function: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, *, in_dims: Any = 0, out_dims: Any = 0
) -> Callable[..., Any]:
    """A function of batches, made of one of a single example: it computes all examples at once.

    `in_axes` says along which axis of each positional argument the examples lie, or None for what is the same for all:
    one for all arguments, or a tuple of one for each, in which a container may stand for that of an argument. Tensors
    given by name are the same for all examples, as are modules and what a function finds outside of its
    arguments. `out_axes` says along which axis of the results the batch is to lie. Nested containers of tensors are
    arguments and results. `in_dims` and `out_dims` are PyTorch's names of the two.

    The function runs once, for an example that has a shape and no elements: to read them, or to branch on them, is an
    error. Random numbers are the same for all examples. Works inside and outside of `grad`, `jit` and `vmap`.
    Source: the vectorizing map of JAX (Frostig, Johnson and Leary 2018).

    >>> import svod
    >>> distances = svod.vmap(svod.vmap(lambda x, y: ((x - y) ** 2).sum(), in_axes=(None, 0)), in_axes=(0, None))
    >>> distances(svod.Tensor([[0.0, 0.0], [3.0, 4.0]]), svod.Tensor([[0.0, 1.0]])).tolist()
    [[1.0], [18.0]]
    >>> w = svod.Tensor([1.0, 2.0])
    >>> loss = lambda w, x: (w * x).sum() ** 2
    >>> svod.vmap(svod.grad(loss), in_axes=(None, 0))(w, svod.Tensor([[1.0, 0.0], [0.0, 1.0]])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    if not callable(function):
        raise ArgumentTypeError(f"vmap: a function is to be mapped, not {type(function).__name__}")
    name = getattr(function, "__name__", type(function).__name__)
    in_axes, out_axes = _either("in", in_axes, in_dims), _either("out", out_axes, out_dims)

    @takes_the_same(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        examples: list[Tensor] = []
        batches: list[Tensor] = []

        def example_of(value: Any, axis: int) -> Tensor:
            batch = value if isinstance(value, Tensor) else Tensor(value)
            batch = batch.movedim(_checked(axis, batch.ndim, "in_axes"), 0)
            if batches and str(batch.shape[0]) != str(batches[0].shape[0]):
                raise ArgumentError(
                    f"vmap: batches of one size are mapped, not of {batches[0].shape[0]} and {batch.shape[0]} examples"
                )
            is_complex = batch.dtype.is_complex
            if is_complex:
                # What follows from complex numbers may follow from their pairs at once.
                batch = view_as_real(batch)
            (example,) = _custom(_unreadable(name), "vmap", [], [(batch.shape[1:], batch.dtype)])
            place = place_of(batch)
            if isinstance(place, str) and place != example.device:
                example = example.to(place)
            if batch.requires_grad:
                # What is differentiated within keeps what it follows from, for derivatives that are taken outside.
                (example,) = _variables("vmap", [example])
            examples.append(example)
            batches.append(batch)
            return view_as_complex(example) if is_complex else example

        of_arguments = _each(in_axes, len(args), name)
        given = [_mapped(value, axes, example_of) for value, axes in zip(args, of_arguments, strict=True)]
        if not batches:
            raise ArgumentError(f"vmap: in_axes {in_axes!r} names no axis of any tensor among the arguments of {name}")
        _state.depth = getattr(_state, "depth", 0) + 1
        try:
            result = function(*given, **kwargs)
        finally:
            _state.depth -= 1
        return _of_batch(result, out_axes, name, examples, batches)

    return mapped


def _either(what: str, axes: Any, dims: Any) -> Any:
    """What is given by one of two names, of which each is 0 without."""
    if axes not in (0, dims) and dims != 0:
        raise ArgumentError(f"vmap: {what}_axes={axes!r} and {what}_dims={dims!r} are the same: give one of them")
    return dims if axes == 0 else axes


def _unreadable(name: str) -> Callable[[], NoReturn]:
    """What computing the elements of an example comes to."""

    def read() -> NoReturn:
        raise TraceError(
            f"vmap: {name} looks at the elements of an example, of which there are none: it runs once for all"
        )

    return read


def _each(axes: Any, count: int, name: str) -> Sequence[Any]:
    """The axes of each argument."""
    if not isinstance(axes, (tuple, list)):
        return [axes] * count
    if len(axes) != count:
        raise ArgumentError(f"vmap: in_axes has {len(axes)} entries for the {count} arguments of {name}")
    return axes


def _mapped(value: Any, axes: Any, one: Callable[[Any, int], Tensor]) -> Any:
    """A value with examples in place of tensors whose axis is named."""
    if axes is None:
        return value
    found: list[Any] = []
    structure = taken(value, found)
    return rebuilt(
        structure, [each if axis is None else one(each, axis) for each, axis in _with_axes(value, axes, found)]
    )


def _with_axes(value: Any, axes: Any, found: Sequence[Any]) -> Iterator[tuple[Any, int | None]]:
    """Each tensor of a value with its axis: one for all, or from a container of the same form."""
    if axes is None or (isinstance(axes, int) and not isinstance(axes, bool)):
        yield from ((tensor, axes) for tensor in found)
        return
    if isinstance(value, dict) and isinstance(axes, dict) and value.keys() == axes.keys():
        parts = [(value[name], axes[name]) for name in value]
    elif isinstance(value, (list, tuple)) and isinstance(axes, (list, tuple)) and len(value) == len(axes):
        parts = list(zip(value, axes, strict=True))
    else:
        raise ArgumentTypeError(
            f"vmap: axes {axes!r} are neither an int or None, nor of the form of {type(value).__name__}"
        )
    for part, axis in parts:
        inner: list[Any] = []
        taken(part, inner)
        yield from _with_axes(part, axis, inner)


def _of_batch(result: Any, axes: Any, name: str, examples: list[Tensor], batches: list[Tensor]) -> Any:
    """The results of one example as those of the batch."""
    found: list[Any] = []

    def other(value: Any) -> Any:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return taken(Tensor(value), found)
        if value is None:
            return value
        raise ArgumentTypeError(f"vmap: {name} gives {type(value).__name__}, which is no tensor")

    structure = taken(result, found, other)
    values = [value if isinstance(value, Tensor) else Tensor(value) for value in found]
    if isinstance(axes, int) or axes is None:
        places: list[int | None] = [axes] * len(values)
    else:
        places = [axis for _, axis in _with_axes(rebuilt(structure, values), axes, values)]
    count = batches[0].shape[0]
    moved = []
    for value, batch, axis in zip(values, _batched(values, examples, batches), places, strict=True):
        if axis is None:
            if batch is not None:
                raise ArgumentError(
                    f"vmap: out_axes is None for a result of {name} that differs from example to example"
                )
            moved.append(value)
            continue
        whole = value.unsqueeze(0).expand((count, *value.shape)) if batch is None else batch
        moved.append(whole.movedim(0, _checked(axis, whole.ndim, "out_axes")))
    return rebuilt(structure, moved)


def _checked(axis: Any, rank: int, name: str) -> int:
    if not isinstance(axis, int) or isinstance(axis, bool):
        raise ArgumentTypeError(f"vmap: {name} are integers or None, not {axis!r}")
    if not -rank <= axis < rank:
        raise ArgumentError(f"vmap: {name} {axis} is out of range for {rank} axes, of which the batch is one")
    return axis
