"""Writes to what PyTorch shares memory with are errors that say what to write; what it copies is a tensor of its own.

Each row of the tables is a spelling that both libraries have. PyTorch, where it is installed, says which results share
the memory of their operand, for operands of every layout and origin.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import svod

# Either library, and a tensor of it.
Operation = Callable[[Any, Any], Any]

VIEWS: dict[str, Operation] = {
    "[0]": lambda m, x: x[0],
    "[:, 1:]": lambda m, x: x[:, 1:],
    "[None]": lambda m, x: x[None],
    "[...]": lambda m, x: x[...],
    "[::2]": lambda m, x: x[::2],
    "iter": lambda m, x: next(iter(x)),
    "+": lambda m, x: +x,
    "T": lambda m, x: x.T,
    "mT": lambda m, x: x.mT,
    "H": lambda m, x: x.H,
    "mH": lambda m, x: x.mH,
    "adjoint": lambda m, x: x.adjoint(),
    "as_strided": lambda m, x: x.as_strided((2,), (1,)),
    "atleast_1d": lambda m, x: m.atleast_1d(x),
    "atleast_2d": lambda m, x: m.atleast_2d(x),
    "atleast_3d": lambda m, x: m.atleast_3d(x),
    "atleast_1d of several": lambda m, x: m.atleast_1d(x, x)[1],
    "broadcast_to": lambda m, x: x.broadcast_to((4, *x.shape)),
    "broadcast_to, the same": lambda m, x: x.broadcast_to(tuple(x.shape)),
    "cartesian_prod of one": lambda m, x: m.cartesian_prod(x[0]),
    "chunk": lambda m, x: x.chunk(2)[0],
    "conj": lambda m, x: x.conj(),
    "conj, a function": lambda m, x: m.conj(x),
    "cpu": lambda m, x: x.cpu(),
    "detach": lambda m, x: x.detach(),
    "diagonal": lambda m, x: x.diagonal(),
    "dsplit": lambda m, x: x.reshape(1, *x.shape).dsplit([1])[0],
    "einsum, a diagonal": lambda m, x: m.einsum("ii->i", x[:, :2]),
    "einsum, transposed": lambda m, x: m.einsum("ij->ji", x),
    "expand": lambda m, x: x.expand(4, *x.shape),
    "expand_as": lambda m, x: x.expand_as(x),
    "flatten of one": lambda m, x: x[0, 0].flatten(),
    "float": lambda m, x: x.float(),
    "hsplit": lambda m, x: x.hsplit([1])[0],
    "moveaxis": lambda m, x: x.moveaxis(0, 1),
    "movedim": lambda m, x: x.movedim(0, 1),
    "narrow": lambda m, x: x.narrow(0, 0, 1),
    "permute": lambda m, x: x.permute(1, 0),
    "positive": lambda m, x: x.positive(),
    "real": lambda m, x: x.real,
    "real, a function": lambda m, x: m.real(x),
    "select": lambda m, x: x.select(0, 1),
    "split": lambda m, x: x.split(1)[1],
    "squeeze": lambda m, x: x.squeeze(),
    "squeeze, a dimension": lambda m, x: x.squeeze(0),
    "swapaxes": lambda m, x: x.swapaxes(0, 1),
    "swapdims": lambda m, x: x.swapdims(0, 1),
    "t": lambda m, x: x.t(),
    "tensor_split": lambda m, x: x.tensor_split(2)[0],
    "to, a device": lambda m, x: x.to("cpu"),
    "to, a type": lambda m, x: x.to(x.dtype),
    "transpose": lambda m, x: x.transpose(0, 1),
    "type_as": lambda m, x: x.type_as(x),
    "unbind": lambda m, x: x.unbind()[0],
    "unflatten": lambda m, x: x.unflatten(0, (1, -1)),
    "unfold": lambda m, x: x.unfold(0, 2, 1),
    "unsafe_chunk": lambda m, x: x.unsafe_chunk(2)[0],
    "unsqueeze": lambda m, x: x.unsqueeze(0),
    "view": lambda m, x: x.view(-1),
    "view_as": lambda m, x: x.view_as(x),
    "vsplit": lambda m, x: x.vsplit(2)[0],
}

# By the strides of the operand views or copies.
BY_LAYOUT: dict[str, Operation] = {
    "contiguous": lambda m, x: x.contiguous(),
    "contiguous row": lambda m, x: x[1].contiguous(),
    "contiguous, transposed": lambda m, x: x.T.contiguous(),
    "contiguous, expanded": lambda m, x: x.expand(4, *x.shape).contiguous(),
    "flatten": lambda m, x: x.flatten(),
    "flatten, transposed": lambda m, x: x.T.flatten(),
    "ravel": lambda m, x: x.ravel(),
    "ravel, transposed": lambda m, x: x.T.ravel(),
    "reshape": lambda m, x: x.reshape(3, 2),
    "reshape, columns": lambda m, x: x[:, 1:].reshape(-1),
    "reshape, a new dimension": lambda m, x: x[:, 1:].reshape(2, 1, 2),
    "reshape_as": lambda m, x: x.reshape_as(x.T),
}

COPIES: dict[str, Operation] = {
    "arithmetic": lambda m, x: x + 0,
    "by positions": lambda m, x: x[[0, 1]],
    "by a mask": lambda m, x: x[x > -1],
    "alias_copy": lambda m, x: m.alias_copy(x),
    "as_strided_copy": lambda m, x: m.as_strided_copy(x, (2,), (1,)),
    "clamp": lambda m, x: x.clamp(-9),
    "clone": lambda m, x: x.clone(),
    "conj_physical": lambda m, x: (x * 1j).conj_physical(),
    "cumsum": lambda m, x: x.cumsum(0),
    "detach_copy": lambda m, x: m.detach_copy(x),
    "diagonal_copy": lambda m, x: m.diagonal_copy(x),
    "diff of none": lambda m, x: x.diff(n=0),
    "det": lambda m, x: m.linalg.det(x[:1, :1]),
    "double": lambda m, x: x.double(),
    "expand_copy": lambda m, x: m.expand_copy(x, (4, *x.shape)),
    "fill": lambda m, x: m.fill(x[0, 0], x[0, 0]),
    "flip": lambda m, x: x.flip(0),
    "index_select": lambda m, x: x.index_select(0, _positions(m)),
    "logcumsumexp of one": lambda m, x: x[0, 0].logcumsumexp(0),
    "mode of one": lambda m, x: x[0, 0].mode()[0],
    "msort of one": lambda m, x: x[0, 0].msort(),
    "nan_to_num": lambda m, x: x.nan_to_num(),
    "nan_to_num of integers": lambda m, x: x.int().nan_to_num(),
    "nanmedian of one": lambda m, x: x[0, 0].nanmedian(0)[0],
    "narrow_copy": lambda m, x: x.narrow_copy(0, 0, 1),
    "permute_copy": lambda m, x: m.permute_copy(x, (1, 0)),
    "repeat": lambda m, x: x.repeat(1, 1),
    "roll": lambda m, x: x.roll(0, 0),
    "rot90 of none": lambda m, x: x.rot90(0),
    "round": lambda m, x: x.round(),
    "select_copy": lambda m, x: m.select_copy(x, 0, 1),
    "slice_copy": lambda m, x: m.slice_copy(x, 0, 1),
    "split_copy": lambda m, x: m.split_copy(x, 1)[0],
    "squeeze_copy": lambda m, x: m.squeeze_copy(x),
    "sum of none": lambda m, x: x[0, 0].sum(),
    "t_copy": lambda m, x: m.t_copy(x),
    "tile": lambda m, x: x.tile(1),
    "to, copied": lambda m, x: x.to(x.dtype, copy=True),
    "transpose_copy": lambda m, x: m.transpose_copy(x, 0, 1),
    "tril": lambda m, x: x.tril(9),
    "unbind_copy": lambda m, x: m.unbind_copy(x)[0],
    "unfold_copy": lambda m, x: m.unfold_copy(x, 0, 2, 1),
    "unsqueeze_copy": lambda m, x: m.unsqueeze_copy(x, 0),
    "view_copy": lambda m, x: m.view_copy(x + 0, (3, 2)),
}

BASES: dict[str, Callable[[Any], Any]] = {
    "memory": lambda m: _floats(m),
    "zeros": lambda m: m.zeros(2, 3),
    "full": lambda m: m.full((2, 3), 2.0),
    "positions": lambda m: m.arange(6.0).reshape(2, 3).clone(),
    "pending": lambda m: m.ones(2, 3) + m.arange(3.0),
    "a sum": lambda m: m.ones(2, 3, 4).sum(2),
    "joined": lambda m: m.cat([m.ones(1, 3), m.zeros(1, 3)]),
    "a product": lambda m: m.ones(2, 3) @ m.ones(3, 3),
    "padded": lambda m: m.nn.functional.pad(m.ones(1, 3), (0, 0, 1, 0)),
    "flipped": lambda m: m.arange(6.0).reshape(2, 3).flip(1),
    "repeated": lambda m: m.arange(3.0).repeat(2, 1),
    "rolled": lambda m: _floats(m).roll(1, 0),
}

# Operands that are views themselves, of a tensor that is kept.
PARTS: dict[str, tuple[Callable[[Any], Any], Operation]] = {
    "rows": (lambda m: m.arange(12.0).reshape(4, 3).clone(), lambda m, x: x[1:3]),
    "columns": (lambda m: m.arange(8.0).reshape(2, 4).clone(), lambda m, x: x[:, 1:]),
    "transposed": (lambda m: m.arange(6.0).reshape(3, 2).clone(), lambda m, x: x.T),
    "expanded": (lambda m: m.arange(3.0), lambda m, x: x.expand(2, 3)),
    "zeros, transposed": (lambda m: m.zeros(3, 2), lambda m, x: x.T),
    "ones, expanded": (lambda m: m.ones(1), lambda m, x: x.expand(2, 3)),
}

OPERATIONS = VIEWS | BY_LAYOUT | COPIES


def _floats(m: Any) -> Any:
    return (m.Tensor if m is svod else m.tensor)([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])


def _positions(m: Any) -> Any:
    return (m.Tensor if m is svod else m.tensor)([0, 1])


WRITES: tuple[Callable[[svod.Tensor], Any], ...] = (
    lambda part: part.__setitem__(..., 1),
    lambda part: part.copy_(part * 0),
    lambda part: part.fill_(1),
    lambda part: part.add_(1),
)


@pytest.fixture(autouse=True)
def only_young_garbage() -> Iterator[None]:
    """A write that is refused collects garbage before."""
    gc.freeze()
    yield
    gc.unfreeze()


def _is_refused(part: svod.Tensor, writes: tuple[Callable[[svod.Tensor], Any], ...] = WRITES) -> bool:
    """Whether ways to write to a tensor are errors that tell of a view; what is none is written."""
    refused = []
    for write in writes:
        try:
            write(part)
            refused.append("")
        except svod.ArgumentError as error:
            refused.append(str(error))
    assert all("is a view" in message and "clone()" in message for message in refused) or not any(refused), refused
    return bool(refused[0])


@pytest.mark.parametrize("operation", [*VIEWS, *COPIES])
def test_a_write_is_refused_where_it_would_be_lost(operation: str) -> None:
    for name, base in BASES.items():
        whole, before = base(svod), base(svod).tolist()
        part = OPERATIONS[operation](svod, whole)
        assert _is_refused(part, WRITES if name == "memory" else WRITES[:1]) == (operation in VIEWS), name
        assert whole.tolist() == before


@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_shares_memory_in_pytorch_is_refused(operation: str) -> None:
    torch = pytest.importorskip("torch")

    def check(name: str, whole: Callable[[Any], Any], of: Operation) -> None:
        theirs, ours = whole(torch), whole(svod)
        part, own = of(torch, theirs), of(svod, ours)
        try:
            made = OPERATIONS[operation](torch, part)
        except RuntimeError:  # `view` of what is not dense.
            return
        shares = made.untyped_storage().data_ptr() == theirs.untyped_storage().data_ptr()
        refused = _is_refused(OPERATIONS[operation](svod, own), WRITES[:1])
        # `ravel` copies an element that is repeated, which `reshape` sees as a row.
        is_repeated = name == "ones, expanded" and operation.startswith("ravel")
        assert refused == (shares or is_repeated), name

    for name, make in BASES.items():
        check(name, make, lambda m, x: x)
    for name, (make, take) in PARTS.items():
        check(name, make, take)


def test_a_fresh_value_is_dense() -> None:
    for x in (svod.zeros(2, 3), svod.arange(6.0).reshape(2, 3).flip(1)):
        with pytest.raises(svod.ArgumentError, match=r"a view, by contiguous, of another one, float32\[2, 3\]"):
            x.contiguous()[0] = 1


def test_a_value_that_nobody_else_has_is_written() -> None:
    x = svod.zeros(3, 3).contiguous()
    x[0] = 1
    assert x.tolist() == [[1, 1, 1], [0, 0, 0], [0, 0, 0]]
    row = svod.arange(6.0).reshape(2, 3)[1].contiguous()
    row[0] = 9
    assert row.tolist() == [9, 4, 5]
    flat = svod.arange(6.0).reshape(2, 3).T.reshape(-1)
    flat[1] = 9
    assert flat.tolist() == [0, 9, 1, 4, 2, 5]


def test_what_is_clipped_by_nothing_may_be_written() -> None:
    x = svod.Tensor([1.0, 2.0])
    svod.clip(x)[0] = 5
    assert x.tolist() == [1, 2]


def test_complex_parts_are_views() -> None:
    z, pairs = svod.Tensor([1 + 2j, 3 + 4j]), svod.Tensor([[1.0, 2.0]])
    for part in (
        svod.real(z),
        svod.imag(z),
        z.real,
        z.imag,
        svod.view_as_real(z),
        z.conj(),
        svod.view_as_complex(pairs),
    ):
        assert _is_refused(part)
    assert not _is_refused(svod.view_as_real_copy(z)) and not _is_refused(z.conj_physical())
    assert (z.tolist(), pairs.tolist()) == ([1 + 2j, 3 + 4j], [[1, 2]])
