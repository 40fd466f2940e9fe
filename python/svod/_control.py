"""Branches, loops while a condition holds, and scans, as parts of graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from svod._arguments import checked
from svod._svod import ArgumentError, ArgumentTypeError, Size, Tensor, Variable, _cond, _scan, _while_loop
from svod._tree import Slot, places, rebuilt, taken

__all__ = ["cond", "scan", "while_loop"]


@checked
def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any) -> Any:
    """What `true_fn(*operands)` gives where `pred`, of one element, is true, else what `false_fn(*operands)` gives.

    Only the branch that is taken is computed, in each run anew. Both functions are called once, to learn what they
    compute; they give the same structure, shapes and types. Operands and results may be nested dicts, lists, tuples
    and dataclasses of tensors. What a function reads besides its operands and was there before is computed in any
    case; all that it makes itself is part of its branch. The branches may assign to what they make, not to tensors
    from outside (`TraceError`). Gradients go through the branch that is taken.

    >>> import svod
    >>> x = svod.Tensor([1.0, 4.0])
    >>> svod.cond(x.sum() > 3, lambda x: x.sqrt(), lambda x: x * 0, x).tolist()
    [1.0, 2.0]
    """
    for name, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        _check_function("cond", name, function)
    values: list[Any] = []
    arguments = taken(tuple(map(_numbers, operands)), values)
    found: list[Any] = []

    def branch(function: Callable[..., Any]) -> Callable[[Sequence[Tensor]], list[Tensor]]:
        def call(inside: Sequence[Tensor]) -> list[Tensor]:
            given: list[Any] = []
            found.append(taken(_numbers(function(*rebuilt(arguments, inside))), given))
            if len(found) == 2 and found[0] != found[1]:
                raise ArgumentError(f"cond: `true_fn` gives {_text(found[0])}, `false_fn` {_text(found[1])}")
            return _tensors(given)

        return call

    pred = pred if isinstance(pred, Tensor) else Tensor(pred)
    results = _cond(pred, _tensors(values), branch(true_fn), branch(false_fn))
    return rebuilt(found[0], results)


@checked
def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], state: Any) -> Any:
    """What `state` becomes when `body_fn(state)` gives it anew for as long as `cond_fn(state)`, one element, is true.

    How often that is, the run decides from the data, without a call of either function, which are called to learn
    what they compute. The state is a tensor, or nested dicts, lists, tuples and dataclasses of tensors; its
    structure, shapes and types stay. A number that is the state, or an item of a tuple, list or dict that is,
    becomes a tensor. Ctrl-C ends a loop whose condition always holds. There is no derivative: `svod.scan` and
    `svod.iterate`, whose iterations are known when a run begins, have one.

    >>> import svod
    >>> svod.while_loop(lambda x: x.sum() < 100, lambda x: x * 2, svod.Tensor([1, 3])).tolist()
    [32, 96]
    >>> i, total = svod.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] + s[0]), (0, 0))
    >>> total.item()
    10
    """
    _check_function("while_loop", "cond_fn", cond_fn)
    _check_function("while_loop", "body_fn", body_fn)
    values: list[Any] = []
    structure = taken(_numbers(state), values)
    if not values:
        raise ArgumentError(f"while_loop: state: no tensors in {state!r}")

    def condition(inside: Sequence[Tensor]) -> Tensor:
        holds = cond_fn(rebuilt(structure, inside))
        return holds if isinstance(holds, Tensor) else Tensor(holds)

    def body(inside: Sequence[Tensor]) -> list[Tensor]:
        given: list[Any] = []
        found = taken(_numbers(body_fn(rebuilt(structure, inside))), given)
        if found != structure:
            raise ArgumentError(f"while_loop: `body_fn` gives {_text(found)} for {_text(structure)}")
        return _tensors(given)

    results = _while_loop(_tensors(values), list(places(structure, "state")), condition, body)
    return rebuilt(structure, results)


@checked
def scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: int | Size | Variable | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """A loop over the rows of `xs` with a carry: the last carry, and what each row gives, stacked.

    `f(carry, x)` gives the next carry and what is stacked, `x` being a row, `x[i]`, of each tensor in `xs`, as in
    `jax.lax.scan`. Both are tensors, or nested dicts, lists, tuples and dataclasses of tensors; `None` where there
    is nothing to carry or to stack. The carry keeps its structure, shapes and types. Without `xs`, `length` says
    how often, and `x` is `None`. Lengths may be symbolic. `reverse` goes from the last row to the first; results
    lie as their rows do.

    `f` is called once; the loop is one step of the plan, whose body is a plan. What depends neither on the carry nor on
    the row is computed once, random numbers among it. Gradients are scans that go the other way, over the carries,
    which are kept: one of each row.

    >>> import svod
    >>> total, sums = svod.scan(lambda total, x: (total + x, total + x), svod.Tensor(0.0), svod.Tensor([1.0, 2.0, 3.0]))
    >>> total.item(), sums.tolist()
    (6.0, [1.0, 3.0, 6.0])
    """
    _check_function("scan", "f", f)
    values: list[Any] = []
    carry = taken(_numbers(init), values)
    rows: list[Any] = []
    sliced = taken(xs, rows)
    rows = _tensors(rows)
    if length is None and not rows:
        raise ArgumentError("scan: without `xs`, `length` says how often")
    for name, row in zip(places(sliced, "xs"), rows, strict=True):
        if row.ndim == 0:
            raise ArgumentError(f"scan: `{name}` is a scalar, and has no rows")
    stacked: list[Any] = []

    def body(_: Size, inside: Sequence[Tensor], row: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        result = f(rebuilt(carry, inside), rebuilt(sliced, row))
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise ArgumentError(f"scan: `f` gives the next carry and what is stacked, not {_text(taken(result, []))}")
        given: list[Any] = []
        found = taken(_numbers(result[0]), given)
        if found != carry:
            raise ArgumentError(f"scan: `f` gives {_text(found)} for the carry {_text(carry)}")
        made: list[Any] = []
        stacked.append(taken(_numbers(result[1]), made))
        return _tensors(given), _tensors(made)

    names = list(places(carry, "init"))
    last, made = _scan(_tensors(values), rows, length, bool(reverse), names, body)
    return rebuilt(carry, last), rebuilt(stacked[0], made)


def _check_function(op: str, name: str, function: Any) -> None:
    if not callable(function):
        raise ArgumentTypeError(f"{op}: {name}: a function is expected, not {function!r}")


def _number(value: Any) -> Any:
    """A number as a tensor; all else as it is."""
    return Tensor(value) if isinstance(value, (bool, int, float, complex, Size, Variable)) else value


def _numbers(value: Any) -> Any:
    """Likewise, also of those that are an item of a plain container."""
    if type(value) in (tuple, list):
        return type(value)(map(_number, value))
    if type(value) is dict:
        return {name: _number(item) for name, item in value.items()}
    return _number(value)


def _tensors(values: Sequence[Any]) -> list[Tensor]:
    return [value if isinstance(value, Tensor) else Tensor(value) for value in values]


def _text(structure: Any) -> str:
    """A structure with its tensors left out."""
    if isinstance(structure, dict):
        return "{" + ", ".join(f"{key!r}: {_text(item)}" for key, item in structure.items()) + "}"
    if isinstance(structure, (list, tuple)):
        return f"{type(structure).__name__}({', '.join(map(_text, structure))})"
    return "tensor" if isinstance(structure, Slot) else repr(structure)
