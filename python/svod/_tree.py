"""Nested containers of tensors: dicts, lists, tuples, named tuples and dataclasses."""

from __future__ import annotations

import copy
import dataclasses
import operator
from collections.abc import Callable, Hashable, Iterator, Sequence
from types import MethodType
from typing import Any

import numpy as np

from svod._module import Module
from svod._svod import Size, Tensor, Variable

__all__ = ["Slot", "items", "key", "places", "rebuilder", "rebuilt", "taken"]

_BY_VALUE = frozenset({bool, int, str, bytes, type(None)})
_ARRAY = "array"


@dataclasses.dataclass(frozen=True)
class Slot:
    """Where a tensor stands in a structure."""

    position: int


def _itself(value: Any) -> Any:
    return value


def taken(value: Any, arrays: list[Any], other: Callable[[Any], Any] = _itself) -> Any:
    """The structure of a value: its tensors and arrays, put into `arrays`, become slots.

    What is neither one of them nor a container becomes what `other` gives for it, and stays what it is without.
    """
    if isinstance(value, Tensor) or _is_array(value):
        arrays.append(value)
        return Slot(len(arrays) - 1)
    if isinstance(value, dict):
        return _filled(value, {name: taken(item, arrays, other) for name, item in value.items()})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(taken(item, arrays, other) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)([taken(item, arrays, other) for item in value])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _mapped(value, lambda item: taken(item, arrays, other))
    return other(value)


def items(value: Any) -> dict[Any, Any] | None:
    """What a container holds, by key, position or field; nothing of what is none."""
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, (list, tuple)):
        return dict(enumerate(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def places(structure: Any, name: str) -> Iterator[str]:
    """What a program calls each slot of a structure of this name, in their order: `x`, `x[0]`, `x['a']`."""
    if isinstance(structure, Slot):
        yield name
    elif isinstance(structure, dict):
        for key, item in structure.items():
            yield from places(item, f"{name}[{key!r}]")
    elif isinstance(structure, tuple) and hasattr(structure, "_fields"):
        for field in structure._fields:
            yield from places(getattr(structure, field), f"{name}.{field}")
    elif isinstance(structure, (list, tuple)):
        for i, item in enumerate(structure):
            yield from places(item, f"{name}[{i}]")
    elif dataclasses.is_dataclass(structure) and not isinstance(structure, type):
        for one in dataclasses.fields(structure):
            yield from places(getattr(structure, one.name), f"{name}.{one.name}")


def rebuilt(structure: Any, tensors: Sequence[Any]) -> Any:
    """The value of a structure, with tensors in its slots."""
    if isinstance(structure, Slot):
        return tensors[structure.position]
    if isinstance(structure, dict):
        return _filled(structure, {name: rebuilt(item, tensors) for name, item in structure.items()})
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*(rebuilt(item, tensors) for item in structure))
    if isinstance(structure, (list, tuple)):
        return type(structure)([rebuilt(item, tensors) for item in structure])
    if dataclasses.is_dataclass(structure) and not isinstance(structure, type):
        return _mapped(structure, lambda item: rebuilt(item, tensors))
    return structure


def rebuilder(structure: Any) -> Callable[[Sequence[Any]], Any]:
    """`rebuilt` of one structure, which is looked at here and not at every call."""
    kind = type(structure)
    if kind is Slot:
        return operator.itemgetter(structure.position)
    if kind is dict:
        names, values = list(structure), [rebuilder(item) for item in structure.values()]
        return lambda tensors: dict(zip(names, [value(tensors) for value in values], strict=True))
    if kind is list or kind is tuple:
        items = [rebuilder(item) for item in structure]
        return lambda tensors: kind([item(tensors) for item in items])
    return lambda tensors: rebuilt(structure, tensors)


def key(value: Any, arrays: list[Any], sizes: list[Size], objects: list[Any]) -> Hashable:
    """What tells the structure of a value from others, in one pass that `jit` makes at every call.

    Tensors and arrays are put into `arrays`, in the order of `taken`. Numbers and text count by value, as all that
    is equal to others and may be a key, sizes, which are put into `sizes`, without the values of their variables;
    sets by content; other objects by identity: these are put into `objects`, for what they hold.
    """
    kind = type(value)
    if kind is Tensor or kind is np.ndarray:
        arrays.append(value)
        return _ARRAY
    if kind in _BY_VALUE:
        return kind, value
    if kind is list or kind is tuple:
        return kind, tuple([key(item, arrays, sizes, objects) for item in value])
    if isinstance(value, dict):
        # Of a dict's keys, 1, 1.0 and True are equal.
        names = [name if type(name) is str else (type(name), name) for name in value]
        return kind, tuple(names), tuple([key(item, arrays, sizes, objects) for item in value.values()])
    if _is_array(value):
        arrays.append(np.asarray(value))
        return _ARRAY
    if isinstance(value, (list, tuple)):
        return kind, tuple([key(item, arrays, sizes, objects) for item in value])
    if (known := _by_value(value)) is not None:
        return known
    if isinstance(value, Size):
        sizes.append(value)
        return kind, repr(value._free()), tuple(map(repr, value.variables))
    if isinstance(value, Variable):
        return kind, repr(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, Module)):
        fields = dataclasses.fields(value)
        return kind, tuple([key(getattr(value, field.name), arrays, sizes, objects) for field in fields])
    if kind is slice or kind is range:
        return kind, tuple([key(end, arrays, sizes, objects) for end in (value.start, value.stop, value.step)])
    if isinstance(value, (set, frozenset)):
        # It keeps those alive that are known by identity.
        objects.append(value)
        return kind, frozenset(map(_name, value))
    if kind is MethodType:
        objects.append(value)
        return kind, id(value.__func__), id(value.__self__)
    by_value: Any = kind.__hash__
    if isinstance(value, type) or by_value is None or by_value is object.__hash__:
        objects.append(value)
        return kind, id(value)
    # What says which others are equal to it, and may be a key: an element type, a path, a fraction.
    return kind, value


def _by_value(value: Any) -> Hashable:
    """What tells numbers and text from others; none for other objects."""
    kind = type(value)
    if kind in _BY_VALUE:
        return kind, value
    # 0.0 and -0.0 are equal, NaN is not equal to itself.
    return (kind, repr(value)) if isinstance(value, (bool, int, float, complex, str, bytes)) else None


def _name(name: Any) -> Hashable:
    """A key of a dict, or an item of a set, of which 1, 1.0 and True are equal."""
    return name if type(name) is str else _by_value(name) or id(name)


def _is_array(value: Any) -> bool:
    """Whether this is an array or a scalar of NumPy's. `np.float64` is one of Python's floats, here as elsewhere."""
    return isinstance(value, (np.ndarray, np.number, np.bool_)) and not isinstance(value, (float, complex))


def _filled(value: dict[Any, Any], items: dict[Any, Any]) -> dict[Any, Any]:
    """A dict of the value's own class with other items."""
    if type(value) is dict:
        return items
    other = copy.copy(value)
    other.update(items)
    return other


def _mapped(value: Any, to: Callable[[Any], Any]) -> Any:
    """A dataclass's object with other fields; its constructor might refuse slots."""
    other = copy.copy(value)
    for field in dataclasses.fields(value):
        object.__setattr__(other, field.name, to(getattr(value, field.name)))
    return other
