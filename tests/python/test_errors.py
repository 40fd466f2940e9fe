"""What bad input gets: a typed exception, raised at the line that did it, naming what was given."""

from __future__ import annotations

import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import svod
from svod import nn
from svod.nn import functional as F

x = svod.Tensor(np.zeros((3, 4), np.float32))


def plan() -> svod.ExecutionPlan:
    given = svod.Tensor(np.zeros((3, 4), np.float32))
    return (given + 1).prepare(inputs=[given])


def twice_prepared() -> list[svod.ExecutionPlan]:
    y = x + 1
    return [y.prepare(), y.prepare()]


BUILD: list[tuple[str, Callable[[], Any], type[Exception], type[Exception], str]] = [
    ("broadcast", lambda: x + np.zeros((2, 4), np.float32), svod.ShapeError, ValueError, r"\[3, 4\].*\[2, 4\]"),
    ("matmul", lambda: x @ x, svod.ShapeError, ValueError, r"matmul.*4 and 3 differ"),
    ("reshape", lambda: x.reshape(5, 2), svod.ShapeError, ValueError, r"reshape.*12 elements.*\[5, 2\]"),
    ("reshape -1", lambda: x.reshape(-1, 5), svod.ShapeError, ValueError, r"\[-1, 5\]"),
    ("two -1", lambda: x.reshape(-1, -1), svod.ShapeError, ValueError, "more than one -1"),
    ("axis", lambda: x.sum(2), svod.ShapeError, ValueError, "axis 2 is out of range for rank 2"),
    ("negative axis", lambda: x.softmax(-3), svod.ShapeError, ValueError, "axis -3"),
    ("permute", lambda: x.permute(0, 0), svod.Error, ValueError, "permute"),
    ("expand", lambda: x.expand(4, 4), svod.ShapeError, ValueError, r"\[3, 4\].*\[4, 4\]"),
    ("negative extent", lambda: svod.zeros(2, -1), svod.ShapeError, ValueError, "-1"),
    ("concat", lambda: svod.cat([x, svod.zeros(3, 5)]), svod.ShapeError, ValueError, "cat"),
    ("empty max", lambda: svod.zeros(0).max(), svod.Error, ValueError, "no element"),
    ("bits of floats", lambda: x & x, svod.DTypeError, TypeError, "float32"),
    ("neg of bool", lambda: -svod.Tensor([True]), svod.DTypeError, TypeError, "bool"),
    ("condition", lambda: svod.where(x, x, x), svod.DTypeError, TypeError, "bool"),
    ("float index", lambda: x[svod.Tensor([1.0])], svod.DTypeError, TypeError, "integers"),
    ("index", lambda: x[3], svod.IndexError, IndexError, "index 3 .* extent 3"),
    ("negative index", lambda: x[0, -5], svod.IndexError, IndexError, "index -5 .* extent 4"),
    ("too many indices", lambda: x[0, 0, 0], svod.IndexError, IndexError, "3 indices"),
    ("index list", lambda: x[[0, 7]], svod.IndexError, IndexError, "index 7"),
    ("realized index", lambda: x[svod.Tensor([0, -4])], svod.IndexError, IndexError, "index -4"),
    ("embedding", lambda: x.embedding(svod.Tensor([[1, 3]])), svod.IndexError, IndexError, "index 3"),
    ("string index", lambda: x["a"], svod.IndexError, IndexError, "str"),
    ("slice step", lambda: x[::0], svod.Error, ValueError, "step"),
    ("assignment", lambda: x.__setitem__(0, np.zeros(5, np.float32)), svod.ShapeError, ValueError, r"\[5\]"),
    ("scalar range", lambda: svod.Tensor([1], dtype="int8") + 1000, svod.Error, ValueError, "1000 does not fit int8"),
    ("object array", lambda: svod.Tensor(np.array([object()])), svod.DTypeError, TypeError, "object"),
    ("wide float", lambda: svod.Tensor(np.zeros(2, np.longdouble)), svod.DTypeError, TypeError, "longdouble|float128"),
    ("text", lambda: svod.Tensor("abc"), svod.DTypeError, TypeError, "float32"),
    ("dates", lambda: svod.Tensor(np.zeros(2, "datetime64[s]")), svod.DTypeError, TypeError, "datetime64"),
    ("None", lambda: svod.Tensor(None), svod.DTypeError, TypeError, "NoneType"),
    ("ragged", lambda: svod.Tensor([[1, 2], [3]]), svod.ShapeError, ValueError, "inhomogeneous"),
    ("dtype name", lambda: svod.zeros(2, dtype="float31"), svod.DTypeError, TypeError, "float31"),
    ("big-endian borrow", lambda: svod.from_numpy(np.zeros(2, ">f4")), svod.DTypeError, TypeError, ">f4"),
    ("strided borrow", lambda: svod.from_numpy(np.zeros((2, 3)).T), svod.Error, ValueError, "strides"),
    ("object borrow", lambda: svod.from_numpy(np.array([None])), svod.DTypeError, TypeError, "object"),
    ("borrowed list", lambda: svod.from_numpy([1, 2]), TypeError, TypeError, "ndarray"),  # type: ignore[arg-type]
    ("device", lambda: x.to("TPU"), svod.DeviceError, RuntimeError, "unknown device 'TPU'"),
    ("device argument", lambda: svod.Tensor([1], device="gpu7"), svod.DeviceError, RuntimeError, "gpu7"),
    ("absent device", lambda: x.to("CUDA:99"), svod.DeviceError, RuntimeError, "CUDA"),
    ("item", lambda: x.item(), svod.Error, ValueError, r"not the 12 of float32\[3, 4\]"),
    ("truth", lambda: bool(x), svod.Error, ValueError, r"12 elements .*any"),
    ("float as index", lambda: [1][svod.Tensor(0.0)], svod.DTypeError, TypeError, "float32"),
    ("axis and dim", lambda: x.sum(axis=0, dim=1), TypeError, TypeError, "axis and dim"),
    ("gelu", lambda: x.gelu("exact"), svod.Error, ValueError, "exact"),
    ("no inputs in memory", lambda: svod.prepare(x), svod.Error, ValueError, "nothing is pending"),
    ("number as matrix", lambda: x @ 3, svod.ShapeError, ValueError, "a number has no dimension to sum over"),
    ("matrix of a number", lambda: 3 @ x, svod.ShapeError, ValueError, r"`\*` multiplies by one"),
    ("prepared twice", lambda: twice_prepared(), svod.ArgumentError, ValueError, "prepared before and has not run"),
    ("threads", lambda: svod.set_threads(0), svod.Error, ValueError, "not 0"),
    ("threads", lambda: svod.set_threads(-1), svod.ArgumentError, ValueError, "not -1"),
    ("threads", lambda: svod.set_threads(10**12), svod.ArgumentError, ValueError, "from 1 to 1024 threads"),
    (
        "plan shape",
        lambda: plan().execute(np.zeros((4, 3), np.float32)),
        svod.ShapeError,
        ValueError,
        r"\[3, 4\].*\[4, 3\]",
    ),
    ("plan dtype", lambda: plan().execute(np.zeros((3, 4))), svod.DTypeError, TypeError, "float32.*float64"),
    ("plan tensor", lambda: plan().execute(svod.zeros(3)), svod.ShapeError, ValueError, r"\[3\]"),
    (
        "plan count",
        lambda: plan().execute(*[np.zeros((3, 4), np.float32)] * 2),
        svod.Error,
        ValueError,
        "1 inputs, but 2",
    ),
    ("plan variable", lambda: plan().execute(n=3), svod.Error, ValueError, "unknown variable 'n'"),
    ("input shape", lambda: plan().inputs[0].copy_(np.zeros(3, np.float32)), svod.ShapeError, ValueError, r"\[3\]"),
    ("missing file", lambda: svod.load_safetensors("/no/such"), svod.FileError, OSError, "/no/such"),
    ("foreign operand", lambda: x + "a", TypeError, TypeError, "unsupported operand"),  # type: ignore[operator]
]


@pytest.mark.parametrize(("name", "act", "kind", "builtin", "message"), BUILD, ids=[b[0] for b in BUILD])
def test_typed_and_named(
    name: str, act: Callable[[], Any], kind: type[Exception], builtin: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message) as raised:
        act()
    assert isinstance(raised.value, builtin)


zeros = svod.zeros
image, weight = zeros(1, 4, 5, 5), zeros(2, 4, 3, 3)

# What contractions, windows and layers are given that does not fit: all operands' types and shapes are named.
CONTRACTIONS: list[tuple[str, Callable[[], Any], type[Exception], str]] = [
    (
        "matmul, batch",
        lambda: zeros(2, 3, 4) @ zeros(3, 4, 5),
        svod.ShapeError,
        "matmul: float32[2, 3, 4], float32[3, 4, 5]: dimensions before the last two do not broadcast, "
        "extents 2 and 3 differ and neither is 1",
    ),
    (
        "matmul, vectors",
        lambda: zeros(3) @ zeros(4),
        svod.ShapeError,
        "matmul: float32[3], float32[4]: inner extents 3 and 4 differ",
    ),
    (
        "einsum",
        lambda: svod.einsum("ij,jk->ik", x, x),
        svod.ShapeError,
        "einsum: \"ij,jk->ik\" of float32[3, 4], float32[3, 4]: 'j' has the extents 4 and 3",
    ),
    (
        "linear",
        lambda: F.linear(x, zeros(5, 3)),
        svod.ShapeError,
        "linear: float32[3, 4], float32[5, 3]: the input has 4 features, the weight takes 3",
    ),
    (
        "bias of linear",
        lambda: F.linear(x, zeros(5, 4), zeros(4)),
        svod.ShapeError,
        "linear: float32[3, 4], float32[5, 4]: the bias must have one element for each output, not be float32[4]",
    ),
    (
        "layer",
        lambda: nn.Linear(3, 5)(x),
        svod.ShapeError,
        "linear: float32[3, 4], float32[5, 3]: the input has 4 features, the weight takes 3",
    ),
    (
        "conv1d, stride 0",
        lambda: F.conv1d(zeros(1, 4, 9), zeros(2, 4, 3), stride=0),
        svod.ArgumentError,
        "conv1d: stride [0] of windows of [3] over float32[1, 4, 9] must be at least 1",
    ),
    (
        "conv3d, dilation 0",
        lambda: F.conv3d(zeros(1, 1, 4, 5, 6), zeros(2, 1, 2, 2, 2), dilation=(1, 0, 1)),
        svod.ArgumentError,
        "conv3d: dilation [1, 0, 1] of windows of [2, 2, 2] over float32[1, 1, 4, 5, 6] must be at least 1",
    ),
    (
        "conv2d, larger than the input",
        lambda: nn.Conv2d(4, 2, 8, padding=1)(image),
        svod.ShapeError,
        "conv2d: a kernel of [8, 8] that covers [8, 8] elements is larger than the padded input [7, 7] of "
        "float32[1, 4, 5, 5]",
    ),
    (
        "conv2d, groups",
        lambda: F.conv2d(image, weight, groups=3),
        svod.ShapeError,
        "conv2d: float32[1, 4, 5, 5], float32[2, 4, 3, 3]: 3 groups do not divide 4 input channels",
    ),
    (
        "conv2d, groups of outputs",
        lambda: F.conv2d(image, zeros(3, 2, 3, 3), groups=2),
        svod.ShapeError,
        "conv2d: float32[1, 4, 5, 5], float32[3, 2, 3, 3]: 2 groups do not divide 3 output channels",
    ),
    (
        "layer, groups",
        lambda: nn.Conv2d(4, 8, 3, groups=3),
        svod.ArgumentError,
        "Conv2d: 3 groups do not divide 4 input and 8 output channels",
    ),
    (
        "transposed, stride 0",
        lambda: F.conv_transpose2d(image, zeros(4, 3, 2, 2), stride=0),
        svod.ArgumentError,
        "conv_transpose2d: stride [0] of windows of [2, 2] over float32[1, 4, 5, 5] must be at least 1",
    ),
    (
        "transposed, channels",
        lambda: F.conv_transpose2d(image, zeros(3, 4, 2, 2)),
        svod.ShapeError,
        "conv_transpose2d: float32[1, 4, 5, 5], float32[3, 4, 2, 2]: the input has 4 channels, the weight takes 3",
    ),
    (
        "attention, heads",
        lambda: F.scaled_dot_product_attention(zeros(1, 3, 5, 8), zeros(1, 2, 6, 8), zeros(1, 2, 6, 8)),
        svod.ShapeError,
        "scaled_dot_product_attention: dimensions before the last two of float32[1, 3, 5, 8], float32[1, 2, 6, 8], "
        "float32[1, 2, 6, 8] do not broadcast, extents 3 and 2 differ and neither is 1",
    ),
    (
        "attention, mask",
        lambda: F.scaled_dot_product_attention(zeros(2, 5, 8), zeros(2, 6, 8), zeros(2, 6, 8), zeros(4, 6)),
        svod.ShapeError,
        "scaled_dot_product_attention: scores and mask, float32[2, 5, 6], float32[4, 6], do not broadcast, "
        "extents 5 and 4 differ and neither is 1",
    ),
    (
        "pooling, stride 0",
        lambda: F.max_pool2d(image, 2, stride=0),
        svod.ArgumentError,
        "max_pool2d: stride [0] of windows of [2, 2] over float32[1, 4, 5, 5] must be at least 1",
    ),
    (
        "pooling, no window",
        lambda: F.avg_pool2d(image, 0),
        svod.ShapeError,
        "avg_pool2d: a kernel of [0, 0] over float32[1, 4, 5, 5] must not be empty",
    ),
    (
        "pooling, larger than the input",
        lambda: F.avg_pool1d(zeros(1, 2, 5), 7),
        svod.ShapeError,
        "avg_pool1d: a kernel of [7] that covers [7] elements is larger than the padded input [5] of float32[1, 2, 5]",
    ),
    (
        "pooling, no parts",
        lambda: F.adaptive_avg_pool2d(image, 0),
        svod.ShapeError,
        "adaptive_avg_pool2d: dimension 2 of float32[1, 4, 5, 5] has no 0 parts of at least one element",
    ),
]


@pytest.mark.parametrize(("name", "act", "kind", "message"), CONTRACTIONS, ids=[c[0] for c in CONTRACTIONS])
def test_contractions_and_windows_name_what_does_not_fit(
    name: str, act: Callable[[], Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as raised:
        act()
    assert message in str(raised.value)


def test_errors_end_with_the_users_line() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            self.first = nn.Conv2d(3, 4, 3)

        def forward(self, x: svod.Tensor) -> svod.Tensor:
            return self.first(x)

    def last_line(act: Callable[[], Any]) -> tuple[str, int]:
        with pytest.raises(svod.Error) as raised:
            act()
        printed = "".join(traceback.format_exception(raised.value)).splitlines()
        own = [frame for frame in traceback.extract_tb(raised.value.__traceback__) if frame.filename == __file__]
        return printed[-1], own[-1].lineno or 0

    line, own = last_line(lambda: F.conv2d(image, weight, stride=0))
    assert line == f"at {__file__}:{own}"
    line, own = last_line(lambda: Net().forward(image))
    assert line == f"at {__file__}:{own} (Net.first)"
    # Where the user's line is the traceback's last, nothing is added.
    line, _ = last_line(lambda: x @ x)
    assert line.startswith("svod.ShapeError: matmul")


def test_the_tree() -> None:
    leaves = {
        svod.ArgumentError: ValueError,
        svod.ShapeError: ValueError,
        svod.DTypeError: TypeError,
        svod.IndexError: IndexError,
        svod.DeviceError: RuntimeError,
        svod.FileError: OSError,
        svod.FormatError: ValueError,
        svod.OutOfMemoryError: MemoryError,
        svod.UnsupportedError: NotImplementedError,
        svod.CompileError: RuntimeError,
        svod.ExecutionError: RuntimeError,
        svod.StaleError: svod.ExecutionError,
    }
    for leaf, base in leaves.items():
        assert issubclass(leaf, svod.Error) and issubclass(leaf, base)
        assert leaf.__module__ == "svod" and leaf.__doc__


def test_nothing_is_half_changed() -> None:
    t = svod.Tensor(np.arange(4, dtype=np.float32))
    with pytest.raises(svod.ShapeError):
        t[1:3] = np.zeros(3, np.float32)
    assert t.tolist() == [0, 1, 2, 3]
    p = plan()
    p.execute(np.ones((3, 4), np.float32))
    with pytest.raises(svod.DTypeError):
        p.execute(np.zeros((3, 4), np.int32))
    assert p.outputs[0].tolist() == [[2] * 4] * 3


# Operations made of others are named by their own names, and take PyTorch's keywords

nine = svod.Tensor([0, 9])
NAMES: dict[str, Callable[[], Any]] = {
    "index_add": lambda: x.index_add(0, nine, zeros(2, 4)),
    "index_copy": lambda: x.index_copy(0, nine, zeros(2, 4)),
    "index_select": lambda: x.index_select(0, nine),
    "embedding": lambda: x.embedding(nine),
    "take_along_dim": lambda: x.take_along_dim(svod.Tensor([[9]]), 1),
    "scatter_add": lambda: x.scatter_add(0, svod.Tensor([[9]]), zeros(1, 1)),
}


@pytest.mark.parametrize("name", NAMES)
def test_indices_outside_are_told_by_the_operation_that_was_called(name: str) -> None:
    with pytest.raises(svod.IndexError, match=rf"^{name}: index 9 is out of range for axis \d with extent [34]"):
        NAMES[name]()


def test_late_indices_outside_are_told_with_their_line() -> None:
    ids = svod.Tensor([0, 1])
    plan = x.index_select(0, ids).prepare(inputs=[ids])
    with pytest.raises(svod.IndexError, match=r"^lookup at .*test_errors.py:\d+: index 7"):
        plan.execute(np.array([0, 7]))
    with pytest.raises(svod.IndexError, match=r"^write at .*test_errors.py:\d+: a computed index"):
        x.index_add(0, ids + 5, zeros(2, 4)).realize()


MISFITS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: x.index_copy(0, svod.Tensor([0, 1]), zeros(2, 5)), svod.ShapeError, r"index_copy of float32\[3, 4\]"),
    (lambda: x.repeat_interleave(svod.Tensor([1, 2]), 0), svod.ShapeError, r"each of 3 elements .*int64\[2\]"),
    (lambda: x.repeat_interleave([1, -2, 3], 0), svod.ArgumentError, "-2 times"),
    (lambda: x.repeat_interleave(svod.Tensor([0.5]), 0), svod.Error, r"1-d integers, not float32\[1\]"),
    (lambda: x.repeat_interleave(1.5, 0), svod.ArgumentTypeError, "an integer is expected, not float"),  # type: ignore[arg-type]
    (lambda: x.cumsum(), svod.ArgumentError, r"along which axis of float32\[3, 4\]"),
    (lambda: x.pad([(1, 1)]), svod.ShapeError, r"a pair for each axis of float32\[3, 4\], not 1"),
    (lambda: x.argmax((0, 1)), svod.ArgumentTypeError, r"an integer is expected, not \(0, 1\)"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("at", range(len(MISFITS)))
def test_misfits_name_what_was_given(at: int) -> None:
    act, kind, message = MISFITS[at]
    with pytest.raises(kind, match=message):
        act()


def test_keywords_of_pytorch() -> None:
    t = svod.Tensor([[3, 1, 2], [0, 5, 0]])
    assert t.sort(1, stable=True)[1].tolist() == t.argsort(dim=1, stable=False).tolist() == [[1, 2, 0], [0, 2, 1]]
    assert t.topk(2, dim=1, sorted=False)[0].tolist() == [[3, 2], [5, 0]]
    assert t.cumsum(1, dtype="float64").dtype == t.cumprod(1, dtype="float64").dtype == "float64"
    assert t.nonzero(as_tuple=False).tolist() == [list(at) for at in zip(*np.nonzero(t.numpy()), strict=True)]
    assert [svod.Tensor(n).nonzero(as_tuple=False).shape for n in (0, 3)] == [(0, 0), (1, 0)]
    assert t.repeat_interleave(svod.Tensor([2, 0, 1]), 1).tolist() == [[3, 3, 2], [0, 0, 0]]
    assert t.repeat_interleave([2, 1], dim=0).tolist() == [[3, 1, 2], [3, 1, 2], [0, 5, 0]]
    assert t.repeat_interleave([2]).tolist() == np.repeat(t.numpy(), 2).tolist()


# Indices that are known late


def test_index_of_a_plan_input_is_checked_before_the_run() -> None:
    ids = svod.Tensor(np.zeros(3, np.int64))
    p = svod.Tensor(np.arange(5.0)).take(ids).prepare(inputs=[ids])
    p.execute(np.array([4, -5, 0]))
    assert p.outputs[0].tolist() == [4, 0, 0]
    with pytest.raises(svod.IndexError, match="index 5"):
        p.execute(np.array([0, 5, 0]))
    assert p.outputs[0].tolist() == [4, 0, 0]


def test_computed_index_raises_after_the_run() -> None:
    ids = svod.Tensor(np.zeros(3, np.int64))
    table = svod.Tensor(np.arange(5.0))
    p = table.take(ids * 2).prepare(inputs=[ids])
    p.execute(np.array([0, 1, 2]))
    assert p.outputs[0].tolist() == [0, 2, 4]
    with pytest.raises(svod.IndexError, match="extent 5"):
        p.execute(np.array([0, 1, 3]))
    with pytest.raises(svod.StaleError):
        p.outputs[0].numpy()
    with pytest.raises(svod.IndexError):
        table.take(svod.Tensor([4]) + 1).realize()


def test_d4_arguments_of_wrong_types_are_named() -> None:
    """Issue 6: they are errors of svod's, and say which argument it is."""
    n = svod.Variable("n", 1, 8)
    x = svod.empty(n, 2)
    plan = (x * 2).prepare(inputs=[x])
    rows = np.ones((2, 2), np.float32)
    for call, message in [
        (lambda: plan.execute(rows, n=2.0), "variable n: an integer is expected, not float"),
        (lambda: plan.execute(rows, n="2"), "variable n: an integer is expected, not str"),
        (lambda: plan.execute(rows, n=True), "variable n: an integer is expected, not bool"),
        (lambda: plan.execute(x=rows), "x: inputs are given by position"),
        (lambda: n.bind("3"), "n.bind: an integer is expected, not str"),
        (lambda: n.bind(True), "n.bind: an integer is expected, not bool"),
        (lambda: svod.Variable("m", 1.5, 3), "Variable 'm', min: an integer is expected, not float"),
        (lambda: svod.set_threads("2"), "set_threads: threads: an integer is expected, not str"),
        (lambda: svod.prepare([x * 2]), r"prepare: pass tensors, not a list: prepare\(\*tensors\)"),  # type: ignore[arg-type]
        (lambda: svod.realize((x, x)), r"realize: pass tensors, not a tuple: realize\(\*tensors\)"),  # type: ignore[arg-type]
        (lambda: svod.prepare({"a": x}), "prepare: a tensor is expected, not dict"),  # type: ignore[arg-type]
        (lambda: svod.realize(x * 2, rows), "realize: a tensor is expected, not ndarray"),  # type: ignore[arg-type]
    ]:
        with pytest.raises(svod.ArgumentTypeError, match=message) as raised:
            call()
        assert isinstance(raised.value, TypeError) and isinstance(raised.value, svod.ArgumentError)
    for argument, wrong, message in [
        ("dim", lambda: x.sum("a"), "an integer, or several, is expected, not 'a'"),
        ("dim", lambda: x.softmax(0).sum(0.5), "an integer, or several, is expected, not 0.5"),
        ("devices", lambda: x.shard(3, 0), "a name, or several, is expected, not 3"),
        ("inputs", lambda: (x * 2).prepare(inputs=[3]), r"a tensor, or several, is expected, not \[3\]"),
        ("n_rows", lambda: svod.eye("3"), "a size is an integer, .*, not str"),
        ("start", lambda: x.narrow(0, 1.5, 2), "a size is an integer, .*, not float"),
        (None, lambda: x.reshape(2, "a"), "a size is an integer, .*, not str"),
        (None, lambda: x.permute("a", 1), r"an integer, or several, is expected, not \('a', 1\)"),
        (None, lambda: svod.zeros(2, 2.5), "a size is an integer, .*, not float"),
    ]:
        with pytest.raises(svod.ArgumentTypeError, match=message) as raised:
            wrong()
        noted = getattr(raised.value, "__notes__", [])
        assert argument is None or f"while processing '{argument}'" in noted
    for call, message in [
        (lambda: n.bind(2**70), "n.bind: .* does not fit 64 bits"),
        (lambda: svod.Variable("m", 1, 2**70), "Variable 'm', max: .* does not fit 64 bits"),
        (lambda: svod.set_threads(2**70), "set_threads: .* does not fit 64 bits"),
        (lambda: svod.set_threads(10**9), "set_threads: from 1 to 1024 threads"),
        (lambda: plan.execute(np.ma.masked_equal(rows, 1)), "a masked array has elements without a value"),
    ]:
        with pytest.raises(svod.ArgumentError, match=message):
            call()
    plan.execute(np.ma.masked_equal(rows, 0), n=np.int32(2))
    assert plan.outputs[0].tolist() == [[2.0, 2.0], [2.0, 2.0]]
    for given in (plan.inputs[0], {"x": 1}, None):
        with pytest.raises(svod.DTypeError, match=f"execute: input 0: .*of {type(given).__name__}"):
            plan.execute(given)
    with pytest.raises(svod.IndexError, match="input 0: index 99 is out of bounds"):
        plan.inputs[0][99] = 1


def test_c8_functions_are_named_where_they_give_no_array() -> None:
    def forgets(a: np.ndarray) -> None:
        return None

    def waits(a: np.ndarray) -> Iterator[np.ndarray]:
        yield a

    for function, given in (
        (forgets, r"forgets: float32\[2\] was declared, .* gave None"),
        (waits, "waits: .*numbers are expected, not generator"),
    ):
        with pytest.raises(svod.DTypeError, match=given):
            svod.custom(function, svod.ones(2)).numpy()


def test_jit_names_the_parameter_that_does_not_fit() -> None:
    n = svod.Variable("n", 1, 8)
    f = svod.jit(shapes={"b": (n, 2)})(lambda a, b, *, c: a["x"].sum() + b + c.sum())
    x = np.ones((3, 3), np.float32)
    with pytest.raises(svod.ShapeError, match=r"jit: .*<lambda>: b is float32\[n, 2\], but float32\[3, 3\] was given"):
        f({"x": x, "y": x}, x, c=x[:, :2])


def test_e2_leaves_of_a_text_are_as_many_as_it_reads() -> None:
    x = svod.Tensor([1.0, 2.0])
    graph = svod.Graph(x * x + svod.Tensor([1.0, 3.0]))
    text = str(graph)
    with pytest.raises(svod.ArgumentError, match="3 leaves are given, and the text reads 2"):
        svod.Graph.parse(text, [*graph.leaves, x])
    assert svod.Graph.parse(text, [svod.Tensor([2.0, 2.0]), svod.full((2,), 1.0)]).roots[0].tolist() == [5.0, 5.0]
    for use in (lambda t: t.numpy(), lambda t: t.prepare().execute()):
        with pytest.raises(svod.Error, match="without its leaves"):
            use(svod.Graph.parse(text).roots[0])


n8 = svod.Variable("n", 1, 8)
long = svod.Variable("long", 1, 1 << 62)


def failed_custom() -> None:
    def wrong(a: Any) -> Any:
        return a[:1]

    svod.custom(wrong, svod.ones(3)).realize()


def unwritten() -> None:
    value = svod.Tensor([1.0, 2.0, 3.0]) * 2
    plan = value.prepare()
    value.numpy()
    plan.execute()


KINDS: list[tuple[str, type[Exception], Callable[[], Any]]] = [
    ("argument", svod.ArgumentError, lambda: svod.set_threads(0)),
    ("argument type", svod.ArgumentTypeError, lambda: svod.zeros("a")),  # type: ignore[arg-type]
    ("shape", svod.ShapeError, lambda: zeros(2) + zeros(3)),
    ("dtype", svod.DTypeError, lambda: svod.zeros(2, dtype="float31")),
    ("index", svod.IndexError, lambda: zeros(2)[3]),
    ("file", svod.FileError, lambda: svod.load_safetensors("/no/such")),
    ("nothing pending", svod.ArgumentError, lambda: svod.prepare(x)),
    ("unknown device", svod.DeviceError, lambda: x.to("TPU")),
    ("unknown device", svod.DeviceError, lambda: svod.PrepareConfig(device="Metal:0")),
    ("variable out of range", svod.ArgumentError, lambda: n8.bind(9)),
    ("variable out of range", svod.ArgumentError, lambda: bound_plan().execute(n=9)),
    ("variable out of range", svod.ArgumentError, lambda: bound_plan().execute(np.ones(9, np.float32))),
    ("unknown variable", svod.ArgumentError, lambda: bound_plan().execute(q=1)),
    ("unbound variable", svod.ArgumentError, lambda: svod.arange(8)[:n8].realize()),
    ("unbound variable", svod.ArgumentError, lambda: int(n8)),
    ("bind mismatch", svod.ArgumentError, lambda: n8.bind(2) + n8.bind(3)),
    (
        "bind mismatch",
        svod.ArgumentError,
        lambda: (svod.arange(8)[: n8.bind(3)].sum() + svod.arange(8)[: n8.bind(4)].sum()).realize(),
    ),
    ("bind mismatch", svod.ArgumentError, lambda: svod.jit(lambda a, b: zeros(a) + b)(n8.bind(1), n8.bind(2))),
    ("rangeify", svod.CompileError, lambda: zeros(long * 4).prepare()),
    ("unknown shape", svod.ShapeError, lambda: zeros(long, 4).prepare()),
    ("unknown kernel", svod.ScheduleError, lambda: (x + 1).prepare(schedules={"other": ""})),
    ("not executed", svod.StaleError, unwritten),
    ("trace", svod.TraceError, lambda: svod.jit(lambda a: a.item())(svod.ones(1))),
    ("out of memory", svod.OutOfMemoryError, lambda: svod.zeros(1 << 30, 1 << 30).contiguous().realize()),
]


def bound_plan() -> svod.ExecutionPlan:
    given = svod.empty(n8)
    return (given + 1).prepare(inputs=[given])


@pytest.mark.parametrize(("kind", "of", "act"), KINDS, ids=[f"{i}-{kind}" for i, (kind, *_) in enumerate(KINDS)])
def test_kinds_tell_failures_of_one_class_apart(kind: str, of: type[Exception], act: Callable[[], Any]) -> None:
    with pytest.raises(of) as raised:
        act()
    assert isinstance(raised.value, svod.Error) and raised.value.kind == kind, str(raised.value)


def test_the_kinds_of_classes() -> None:
    assert svod.Error.kind == "error" and svod.MissingTensorError.kind == "missing tensor"
    classes = [c for c in vars(svod).values() if isinstance(c, type) and issubclass(c, svod.Error)]
    assert len({c.kind for c in classes}) == len(classes), "each class has a kind of its own"


def test_a_prepared_tensor_that_was_not_run_is_named_with_its_line() -> None:
    value = svod.ones(3) * svod.arange(3)
    plan = svod.prepare(value)
    for use in (value.numpy, lambda: (value + 1).numpy(), lambda: value.tolist()):
        with pytest.raises(svod.StaleError, match=r"float32\[3\] at .*test_errors\.py:\d+ .*prepared.*executed"):
            use()
    plan.execute()
    assert value.tolist() == [0.0, 1.0, 2.0]


def test_numbers_are_formatted_and_other_tensors_are_text() -> None:
    assert f"{svod.ones(3).sum():.2f} {svod.arange(3).sum():03d} {svod.Tensor(True):d}" == "3.00 003 1"
    row = svod.Tensor([1.0, 2.0])
    assert f"{row}" == str(row)
    with pytest.raises(svod.ArgumentTypeError, match=r"format: '\.2f' is for a number, which Tensor\("):
        f"{row:.2f}"
    with pytest.raises(svod.TraceError, match=r"format\(\)"):
        svod.jit(lambda a: f"{a:.1f}")(svod.ones(2).sum())


# Arrays of 1 GB, of which no copy fits.
NO_MEMORY = """
import resource
import numpy as np
import svod

x, index = svod.ones(3).realize(), svod.Tensor([0])
big = np.empty(1 << 28, np.float32)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 29), resource.RLIM_INFINITY))
for act in (
    lambda: svod.Tensor(big),
    lambda: svod.sum(big),
    lambda: x.index_add(0, index, big),
    lambda: svod.maximum(x, big),
    lambda: svod.cat([x, big]),
):
    try:
        act()
    except svod.OutOfMemoryError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_what_a_device_fails_at_is_no_error_of_the_argument() -> None:
    ran = subprocess.run([sys.executable, "-c", NO_MEMORY], capture_output=True, text=True, check=True)
    assert ran.stdout.count("out of memory on CPU: cannot allocate 1073741824 bytes") == 5, ran.stdout + ran.stderr
    assert all(line.startswith(("out of memory on CPU", "CPU")) for line in ran.stdout.splitlines()), ran.stdout
    # What is about the argument names it.
    with pytest.raises(svod.DTypeError, match=r"^Tensor: data: "):
        svod.Tensor(np.array(["a"]))
    with pytest.raises(svod.DeviceError, match=r"^unknown device"):
        svod.Tensor([1], device="TPU")


def test_steps_are_called_what_users_call_them() -> None:
    parts = svod.Tensor([3.0, 1.0]).shard(["CPU", "CPU:1"], 0)
    with pytest.raises(svod.DeviceError, match=r"custom of float32\[2\]: it takes values of one device.*with `to`"):
        svod.custom(np.sort, parts)
    outside = svod.Tensor([True] * 4)
    with pytest.raises(
        svod.ShapeError, match=r"^iterate of float32\[3\], float32\[4\]: carried value 0 is float32\[3\]"
    ):
        svod.iterate(3, lambda i, u, v: (u.sum() + outside.sum(), v), svod.ones(3), svod.ones(4))
    given = svod.empty(n8)
    with pytest.raises(svod.ArgumentError, match=r"prepare: input 0, float32\[n\], is no memory but an expression"):
        (given * 2).prepare(inputs=[given + 1])
    with pytest.raises(svod.ShapeError, match=r"^copy_: input 0 is float32\[3, 4\], but float32\[3\] was given"):
        plan().inputs[0].copy_(np.ones(3, np.float32))
    a, b = svod.Tensor([1.0, 2.0]), svod.Tensor([1, 2, 3])
    assert "inputs        0: float32 x 2, unused input 1: int64 x 3" in str(
        (a * 2).prepare(inputs=[a, b], unused_inputs=True)
    )


def test_a_computed_start_is_counted_from_the_end_once() -> None:
    x, start = svod.Tensor([0, 1, 2, 3, 4]), svod.Tensor(0).realize()
    plan = x.narrow(0, start, 2).prepare(inputs=[start])
    plan.execute(np.array(-2))
    assert plan.outputs[0].tolist() == [3, 4]
    for outside in (-7, 4):
        with pytest.raises(svod.IndexError):
            plan.execute(np.array(outside))


def test_errors_name_what_was_called_and_its_parameter() -> None:
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: svod.nonzero(["a"]), "nonzero: x: an array of <U1 cannot be a tensor"),
        (lambda: svod.hypot([None], 1), "hypot: x1: numbers are expected in a list, not NoneType"),
        (
            lambda: svod.masked_scatter(svod.ones(2), 2**200, svod.ones(2)),
            "masked_scatter: mask: an integer of at most 64 bits",
        ),
        (lambda: svod.concat([["a"], svod.ones(1)]), "concat: an array of <U1"),
        (lambda: svod.diag([[1, 2], [3]]), "diag: x: setting an array element with a sequence"),
        (lambda: svod.randint(0, 5, 2, dtype="real"), "randint: dtype: 'real' is not an element type"),
        (lambda: svod.custom(np.sort, 2**200, shape=(3,), dtype="float32"), "custom: operands: an integer of at most"),
    ]
    for call, message in calls:
        with pytest.raises(svod.Error) as caught:
            call()
        assert str(caught.value).startswith(message), str(caught.value)
