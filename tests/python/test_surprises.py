"""What would be a silent surprise to who comes from NumPy, PyTorch or JAX does what they expect, or is an error that
says what to write."""

from __future__ import annotations

import contextlib
import operator
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import svod


def test_a_pair_is_no_tensor() -> None:
    x = svod.Tensor([[1.0, 3.0], [4.0, 2.0]])
    pair = x.max(-1)
    operators: list[Callable[[], Any]] = [
        *(lambda: pair * 2, lambda: 2 * pair, lambda: pair + 1, lambda: 1.5 - pair, lambda: pair / np.ones(2)),
        *(lambda: pair > 0, lambda: pair == 3, lambda: -pair, lambda: abs(pair), lambda: float(pair)),
        *(lambda: x - pair, lambda: pair - x, lambda: x == pair, lambda: x @ pair, lambda: svod.add(x, pair)),
        *(lambda: np.ones(2) - pair, lambda: np.ones((2, 2)) @ pair, lambda: svod.exp(pair)),
    ]
    for act in operators:
        with pytest.raises(svod.ArgumentTypeError, match=r"ValuesAndIndices.*write `\.values`"):
            act()
    for act in (lambda: pair.sum(), lambda: pair.shape, lambda: pair.numpy()):
        with pytest.raises(AttributeError, match=r"'ValuesAndIndices' object has no attribute '\w+': .*`\.values`"):
            act()
    with pytest.raises(AttributeError, match=r"attribute 'nothing'$"):
        _ = pair.nothing


def test_a_pair_is_a_tuple() -> None:
    pair = svod.Tensor([[1.0, 3.0]]).max(-1)
    values, indices = pair
    assert values is pair.values and indices is pair[1] and len(pair) == 2
    assert operator.add(pair, ("more",))[2] == "more" and operator.add(("less",), pair)[0] == "less"
    assert pair == pair and pair != (1, 2, 3) and hash(pair) == hash((values, indices))
    again = pickle.loads(pickle.dumps(pair))
    assert isinstance(again, svod.ValuesAndIndices) and again.values.tolist() == [3.0]
    assert repr(pair).startswith("ValuesAndIndices(values=") and pair._replace(indices=None).indices is None
    assert [x.tolist() for x in svod.jit(lambda x: x.max(-1))(svod.ones(2, 2))] == [[1.0, 1.0], [0, 0]]


@pytest.mark.parametrize("dtype", ["float64", "int8", "bool_", "complex64", "bfloat16"])
def test_types_make_tensors(dtype: str) -> None:
    made = getattr(svod, dtype.removesuffix("_") if dtype != "bool_" else "bool")
    for data in (1, [0, 1], np.float32([[2.0]]), svod.Tensor([3, 4])):
        found, expected = made(data), svod.Tensor(data, made)
        assert found.dtype == made and found.shape == expected.shape
        assert found.tolist() == expected.tolist()
    assert svod.float64(0.1).item() == 0.1
    with pytest.raises(TypeError):
        made()
    with pytest.raises(svod.DTypeError, match="numbers are expected, not object"):
        made(object())


VIEWS: dict[str, Callable[[svod.Tensor], svod.Tensor]] = {
    "an index": lambda x: x[0],
    "a slice": lambda x: x[:, 1:],
    "a new axis": lambda x: x[None],
    "an ellipsis": lambda x: x[...],
    "an index of an index": lambda x: x[0][1],
    "a row": lambda x: next(iter(x)),
    "view": lambda x: x.view(-1),
    "reshape": lambda x: x.reshape(3, 2),
    "permute": lambda x: x.permute(1, 0),
    "transpose": lambda x: x.transpose(0, 1),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "t": lambda x: x.t(),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "movedim": lambda x: x.movedim(0, 1),
    "flatten": lambda x: x.flatten(),
    "unflatten": lambda x: x.unflatten(1, [3, 1]),
    "squeeze": lambda x: x.squeeze(),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "expand": lambda x: x.expand(4, 2, 3),
    "broadcast_to": lambda x: x.broadcast_to(4, 2, 3),
    "shrink": lambda x: x.shrink([(0, 1), (0, 2)]),
    "narrow": lambda x: x.narrow(1, 0, 2),
    "split": lambda x: x.split(1)[1],
    "chunk": lambda x: x.chunk(2)[0],
    "unfold": lambda x: x.unfold(1, 2, 1),
    "detach": lambda x: x.detach(),
    "diagonal": lambda x: x.diagonal(),
    "the diagonal, a function": lambda x: svod.diagonal(x, offset=1),
    "of another type": lambda x: x.view(svod.int32),
    "on its device": lambda x: x.to("CPU"),
    "cpu": lambda x: x.cpu(),
    "in its type": lambda x: x.to(x.dtype),
    "float": lambda x: x.float(),
    "cast": lambda x: x.cast("float32"),
    "type": lambda x: x.type(x.dtype),
    "type_as": lambda x: x.type_as(svod.ones(1)),
    "contiguous": lambda x: x.contiguous(),
    "contiguous, a function": lambda x: svod.contiguous(x),
    "contiguous rows": lambda x: x[1:].contiguous(),
}

WRITES: dict[str, Callable[[svod.Tensor], Any]] = {
    "an item": lambda v: v.__setitem__(0, 5),
    "all": lambda v: v.__setitem__(slice(None), 5),
    "by a mask": lambda v: v.__setitem__(v > 2, 5),
    "assign": lambda v: v.assign(5),
    "copy_": lambda v: v.copy_(5),
}


@pytest.mark.parametrize("view", VIEWS)
def test_assigning_to_a_view_is_an_error_that_says_what_to_write(view: str) -> None:
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = svod.Tensor(numbers)
    part = VIEWS[view](x)
    for write in WRITES.values():
        if part.ndim == 0 and write is not WRITES["assign"]:
            continue
        with pytest.raises(svod.ArgumentError, match=r"view.*float32\[2, 3\].*h\[0, 1\] = 5"):
            write(part)
    np.testing.assert_array_equal(x.numpy(), numbers)


@pytest.mark.parametrize("view", VIEWS)
def test_a_part_whose_whole_is_gone_is_a_tensor_like_any_other(view: str) -> None:
    part = VIEWS[view](svod.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3)))
    part.assign(7)
    assert (part == 7).all()


class Held(svod.nn.Module):
    """Tensors in an attribute, in a list and in an object."""

    def __init__(self) -> None:
        super().__init__()
        self.w = svod.Tensor(np.arange(6, dtype=np.float32))
        self.parts = [svod.Tensor(np.arange(6, dtype=np.float32))]
        self.scale = 1

    def forward(self, x: svod.Tensor) -> svod.Tensor:
        return x * self.w.sum() * self.scale + self.parts[0].sum()


@pytest.mark.parametrize("by", ["reshape", "part", "detach"])
def test_what_only_a_trace_holds_is_not_in_use(by: str) -> None:
    views: dict[str, Callable[[svod.Tensor], svod.Tensor]] = {
        "reshape": lambda w: w.reshape(2, 3),
        "part": lambda w: w[2:],
        "detach": lambda w: w.detach(),
    }
    m, x = Held(), svod.Tensor([1.0, 2.0])
    f = svod.jit(m)
    for scale in (1, 2):
        m.scale = scale
        for _ in range(3):
            np.testing.assert_allclose(f(x).numpy(), m(x).numpy())
    m.w, m.parts = views[by](m.w), [views[by](m.parts[0])]
    m.w[0] = 50
    m.parts[0][1] = 70
    np.testing.assert_allclose(f(x).numpy(), m(x).numpy())
    m.scale = 1
    np.testing.assert_allclose(f(x).numpy(), m(x).numpy())
    # What the program still has is in use.
    whole = m.w
    m.w = views[by](m.w)
    with pytest.raises(svod.ArgumentError, match="view"):
        m.w[0] = 1
    assert whole is not m.w
    np.testing.assert_allclose(f(x).numpy(), m(x).numpy())


def test_what_only_garbage_holds_is_not_in_use() -> None:
    class Pair:
        pass

    one, other = Pair(), Pair()
    one.other, other.other, one.whole = other, one, svod.Tensor([1.0, 2.0, 3.0])  # type: ignore[attr-defined]
    part = one.whole[1:]  # type: ignore[attr-defined]
    del one, other
    part[0] = 5
    assert part.tolist() == [5, 3]


def test_what_rebinds_or_copies_is_no_write_to_a_view() -> None:
    x = svod.Tensor([[1.0, 2.0], [3.0, 4.0]])
    y = x[0]
    y += 1
    y[0] = 9
    own = x[0].clone()
    own[0] = 5
    looked_up = x[[0]]
    looked_up[0, 0] = 6
    chosen = x[x > 1]
    chosen[0] = 7
    assert x.tolist() == [[1, 2], [3, 4]]
    assert (y.tolist(), own.tolist()) == ([9, 3], [5, 2])
    assert (looked_up.tolist(), chosen.tolist()) == ([[6, 2]], [7, 3, 4])


def test_parts_of_complex_numbers_are_views_and_what_is_moved_or_copied_is_none() -> None:
    z = svod.Tensor([1 + 2j, 3 + 4j])
    for part in (z.real, z.imag):
        with pytest.raises(svod.ArgumentError, match="view"):
            part[0] = 5
    x = svod.Tensor([1.0, 2.0])
    for other in (x.to("float64"), x.to("CPU:1"), x.to("CPU", copy=True), svod.astype(x, "float32"), x.clone()):
        other[0] = 5
        assert other.tolist() == [5, 2]
    assert x.tolist() == [1, 2]


def test_what_is_not_dense_or_of_another_type_is_copied() -> None:
    x = svod.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    copies = (x.T.contiguous(), x[:, 1:].contiguous(), x[0].expand(2, 3).contiguous(), x.double(), x.astype("float32"))
    for copy in copies:
        copy[0] = 9
        assert (copy[0] == 9).all()
    np.testing.assert_array_equal(x.numpy(), np.arange(6).reshape(2, 3))


def test_what_gathers_a_gradient_of_its_own_is_no_view() -> None:
    whole = svod.ones(3)
    moved = whole.to("CPU").requires_grad_()
    optimizer = svod.optim.SGD([moved], lr=0.25)
    (moved * moved).sum().backward()
    optimizer.step()
    assert (moved.tolist(), whole.tolist()) == ([0.5] * 3, [1.0] * 3)


def test_a_write_by_one_index_leaves_views_taken_earlier() -> None:
    x = svod.Tensor([[1.0, 2.0], [3.0, 4.0]])
    row = x[0]
    x[0, 1] = 5
    x[:] = x * 2
    assert (x.tolist(), row.tolist()) == ([[2, 10], [6, 8]], [1, 2])


def test_a_second_name_is_left_by_an_augmented_assignment() -> None:
    x = svod.Tensor([1.0])
    y = x
    x += 1
    assert (x.tolist(), y.tolist()) == ([2], [1])


ASSIGNED: dict[str, Callable[[Any, Any], Any]] = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv, "//=": operator.ifloordiv,
    "%=": operator.imod, "**=": operator.ipow, "&=": operator.iand, "|=": operator.ior, "^=": operator.ixor,
    "<<=": operator.ilshift, ">>=": operator.irshift,
}  # fmt: skip


@pytest.mark.parametrize("sign", ASSIGNED)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "float64", "complex64"])
def test_augmented_assignments_keep_type_and_shape_as_pytorch_keeps_them(sign: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    act = ASSIGNED[sign]
    made = np.array([[1, 3], [2, 1]]).astype(dtype)
    others = [2, 1.5, True, np.array([1, 2]), np.array([[1.5], [2.0]]), np.ones((3, 2, 2), np.int64), np.ones(2) > 0]
    for other in others:
        theirs, ours = torch.tensor(made), svod.Tensor(made)
        given = torch.tensor(other) if isinstance(other, np.ndarray) else other
        try:
            wanted = act(theirs, given)
        except (RuntimeError, TypeError):
            # Some PyTorch has not for these types.
            with contextlib.suppress(svod.Error, TypeError):
                kept = act(ours, svod.Tensor(other) if isinstance(other, np.ndarray) else other)
                assert (kept.dtype.name, kept.shape) == (dtype, made.shape)
            continue
        try:
            kept = act(ours, svod.Tensor(other) if isinstance(other, np.ndarray) else other)
        except svod.DTypeError as error:
            # Some svod has not, whichever sign is written.
            if ": takes " in str(error):
                continue
            raise
        assert kept.dtype.name == dtype
        np.testing.assert_allclose(kept.numpy(), wanted.numpy(), rtol=1e-6)
        assert ours.tolist() == made.tolist()


def test_what_a_type_cannot_hold_is_not_assigned() -> None:
    x = svod.arange(3)
    with pytest.raises(svod.DTypeError, match=r"\+=: the result is float32, which int64 cannot hold: write `x = x \+"):
        x += 1.5
    with pytest.raises(svod.DTypeError, match="/=: the result is float32"):
        x /= 2
    mask = x > 1
    with pytest.raises(svod.DTypeError, match=r"\+=: the result is int64, which bool cannot hold"):
        mask += 1
    with pytest.raises(svod.ShapeError, match=r"\*=: the result has shape \(2, 3\), not \(3,\)"):
        x *= svod.ones(2, 3, dtype="int64")
    with pytest.raises(TypeError, match=r"\+="):
        x += "a"  # type: ignore[arg-type]
    assert x.tolist() == [0, 1, 2]
    half = svod.ones(2, dtype="bfloat16")
    half += svod.Tensor([0.5, 0.25])
    assert (half.dtype, half.tolist()) == ("bfloat16", [1.5, 1.25])
    row = svod.ones(3)
    row += np.arange(3)
    assert row.tolist() == [1, 2, 3]

    class Other:
        def __radd__(self, left: object) -> str:
            return "theirs"

    row += Other()  # type: ignore[arg-type]
    assert row == "theirs"


def test_augmented_assignments_of_parameters_write_them_where_no_gradients_are_recorded() -> None:
    w = svod.ones(2, 2).requires_grad_()
    (w * 3).sum().backward()
    other = w
    with svod.no_grad():
        w -= 0.5 * w.grad
        w *= 2
    assert other is w and w.requires_grad and w.is_leaf and w.tolist() == [[-1, -1]] * 2
    assert w.grad is not None and w.grad.tolist() == [[3, 3]] * 2
    # What is recorded, or no parameter, is another tensor as ever.
    w = other + 0
    w += 1
    assert other.tolist() == [[-1, -1]] * 2 and w.requires_grad and not w.is_leaf
    with svod.no_grad(), pytest.raises(svod.ShapeError, match="-="):
        other -= svod.ones(3, 2, 2)


def test_augmented_assignments_of_symbolic_sizes_and_in_jit() -> None:
    n = svod.Variable("n", 1, 8)
    x = svod.empty(n, 2)
    y = x * 1
    y += x
    y -= svod.ones(2)
    plan = y.prepare(inputs=[x])
    plan.execute(svod.ones(3, 2))
    assert y.tolist() == [[1, 1]] * 3

    @svod.jit
    def f(x: svod.Tensor) -> svod.Tensor:
        x *= 2
        x += x
        return x

    assert f(svod.ones(2)).tolist() == [4, 4]
    assert svod.vmap(f)(svod.ones(2, 3)).tolist() == [[4] * 3] * 2
    assert svod.grad(lambda x: f(x).sum())(svod.ones(2)).tolist() == [4, 4]


def test_bytes_are_those_of_the_elements() -> None:
    for dtype in ("bool", "int8", "int64", "float32", "complex64"):
        for a in (np.ones(1, dtype), np.arange(6).astype(dtype).reshape(2, 3), np.zeros(0, dtype), np.array(3, dtype)):
            assert bytes(svod.Tensor(a)) == svod.Tensor(a).tobytes() == a.tobytes()
    assert bytes(svod.ones(1, dtype="bfloat16")) == b"\x80?"
    assert svod.Tensor([[1, 2], [3, 4]]).T.tobytes() == np.array([[1, 2], [3, 4]]).T.tobytes()
    with pytest.raises(svod.TraceError):
        svod.jit(lambda x: bytes(x) and x)(svod.ones(2))


def test_axes_that_are_not_there_are_errors_of_indices_and_of_values() -> None:
    x = svod.ones(2, 3)
    calls: list[Callable[[], Any]] = [
        lambda: x.sum(5),
        lambda: x.permute(0, 5),
        lambda: x.unsqueeze(7),
        lambda: svod.flip(x, 4),
        lambda: svod.concat([x, x], axis=3),
        lambda: svod.moveaxis(x, 5, 0),
        lambda: svod.rollaxis(x, 0, 4),
        lambda: svod.vecdot(x, x, axis=2),
        lambda: svod.cross(x, x, axis=3),
        lambda: svod.partition(x, 0, axis=5),
        lambda: svod.fft.fft(x, axis=5),
    ]
    for call in calls:
        for kind in (IndexError, ValueError, svod.ShapeError, svod.IndexError, svod.AxisError):
            with pytest.raises(kind, match=r"axis \d is out of range for rank [23]"):
                call()
    with pytest.raises(svod.ShapeError) as caught:
        x + svod.ones(4)
    assert not isinstance(caught.value, IndexError)
    assert type(pickle.loads(pickle.dumps(svod.AxisError("x: axis 1")))) is svod.AxisError


def test_a_view_in_a_jitted_function_is_one() -> None:
    @svod.jit
    def f(x: svod.Tensor) -> svod.Tensor:
        x[0][1] = 5
        return x

    with pytest.raises(svod.ArgumentError, match="view"):
        f(svod.ones(2, 2))


def test_files_are_only_read(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    np.arange(4, dtype=np.float32).tofile(path)
    x = svod.empty(4, device=f"DISK:{path}")
    for write in WRITES.values():
        with pytest.raises(svod.UnsupportedError, match=re.escape(str(path)) + r".*read-only.*\.to\(.CPU.\)"):
            write(x)
    own = x.to("CPU")
    own[0] = 5
    assert (own.tolist(), x.tolist()) == ([5, 1, 2, 3], [0, 1, 2, 3])


def test_lists_are_rounded_once_to_the_type_in_which_operands_meet() -> None:
    tenth, narrow = svod.Tensor([0.1], dtype="float64"), svod.Tensor([0.1], dtype="float32")
    one = svod.Tensor([1.0], dtype="float64")
    for made in (one * [0.1], [0.1] * one, svod.multiply(one, [0.1]), svod.maximum([0.1], one * 0), one * (0.1,)):
        assert made.dtype == svod.float64 and made.tolist() == [0.1]
    assert (one @ [0.1]).item() == ([0.1] @ one).item() == 0.1
    assert (tenth == [0.1]).tolist() == [True] and (narrow == [0.1]).tolist() == [True]
    assert svod.where(svod.Tensor([True]), [0.1], one).tolist() == [0.1]
    target = svod.zeros(2, dtype="float64")
    target[:] = [0.1, 0.2]
    assert target.tolist() == [0.1, 0.2]
    target[target > 0.15] = [0.3]
    assert target.tolist() == [0.1, 0.3]
    # By itself a list has the default type, and a wider one than what it meets.
    assert (narrow * [0.1]).dtype == svod.maximum([0.1], [0.2]).dtype == svod.float32
    assert (svod.ones(1, dtype="float16") * [0.1]).dtype == svod.float32
    assert (svod.ones(1, dtype="int64") * [0.1]).dtype == svod.float32
    assert (one * np.float32([0.1])).tolist() == [np.float32(0.1).item()]
    assert (narrow * np.array([0.1])).dtype == svod.float64


F64 = np.random.default_rng(0).random((3, 4))

# Python's numbers beside a tensor of 64-bit floats, in either namespace.
NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "average": lambda np, a: np.average(a, axis=1, weights=[0.1, 0.2, 0.3, 0.4]),
    "cov": lambda np, a: np.cov(a, aweights=[0.1, 0.2, 0.3, 0.4]),
    "trapezoid": lambda np, a: np.trapezoid(a, x=[0.1, 0.2, 0.3, 0.4]),
    "interp": lambda np, a: np.interp(a, [0.1, 0.3, 0.7], [0.1, 0.2, 0.7], left=0.1),
    "kron": lambda np, a: np.kron(a, [0.1, 0.2]),
    "convolve": lambda np, a: np.convolve(a[0], [0.1, 0.2]),
    "correlate": lambda np, a: np.correlate(a[0], [0.1, 0.2]),
    "concatenate": lambda np, a: np.concatenate([a[0], [0.1, 0.2]]),
    "vstack": lambda np, a: np.vstack([a, [0.1, 0.2, 0.3, 0.4]]),
    "hstack": lambda np, a: np.hstack([[0.1], a[0]]),
    "dstack": lambda np, a: np.dstack([a[0], [0.1, 0.2, 0.3, 0.4]]),
    "column_stack": lambda np, a: np.column_stack([[0.1, 0.2, 0.3], a[:, 0]]),
    "diff": lambda np, a: np.diff(a[0], prepend=0.1, append=[0.3]),
    "solve": lambda np, a: np.linalg.solve(a[:, :3], [0.1, 0.2, 0.3]),
    "lstsq": lambda np, a: np.linalg.lstsq(a.T, [0.1, 0.2, 0.3, 0.4], rcond=None)[0],
    "quantile": lambda np, a: np.quantile(a, [0.1, 0.3], axis=1),
    "percentile": lambda np, a: np.percentile(a, 30),
    "nanquantile": lambda np, a: np.nanquantile(a, 0.3),
    "nanpercentile": lambda np, a: np.nanpercentile(a, (10, 30)),
    "insert": lambda np, a: np.insert(a[0], 0, [0.1, 0.3]),
    "piecewise": lambda np, a: np.piecewise(a, [a > 0.5], [0.1, 0.3]),
    "select": lambda np, a: np.select([a > 0.5], [a], default=0.1),
    "append": lambda np, a: np.append(a, [0.1]),
    "pad": lambda np, a: np.pad(a, 1, constant_values=(0.1, 0.3)),
    "polyval": lambda np, a: np.polyval([0.1, 0.3], a),
    "polyfit": lambda np, a: np.polyfit([0.1, 0.2, 0.3, 0.4], a[0], 1),
    "union1d": lambda np, a: np.union1d(a, [0.1]),
    "stack": lambda np, a: np.stack([a[0], [0.1, 0.2, 0.3, 0.4]]),
    "dot": lambda np, a: np.dot(a, [0.1, 0.2, 0.3, 0.4]),
    "matmul": lambda np, a: np.matmul(a, [0.1, 0.2, 0.3, 0.4]),
    "outer": lambda np, a: np.outer(a[0], [0.1, 0.2]),
    "hstack of arrays": lambda np, a: np.hstack([F64[0], [0.1]]),
    "einsum": lambda np, a: np.einsum("ij,j->i", a, [0.1, 0.2, 0.3, 0.4]),
    "isin": lambda np, a: np.isin(a * 0 + 0.1, [0.1]),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_python_have_all_their_digits_beside_64_bit_floats(name: str) -> None:
    ours, theirs = NUMBERS[name](svod, svod.Tensor(F64)).numpy(), NUMBERS[name](np, F64)
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=1e-13)


def test_layers_and_steps_between_take_numbers_of_python_with_all_their_digits() -> None:
    x = svod.Tensor(F64)
    weight, bias = [[0.1, 0.2, 0.3, 0.7]], [0.1]
    wanted = F64 @ np.array(weight).T + np.array(bias)
    np.testing.assert_allclose(x.linear(weight, bias).numpy(), wanted, rtol=1e-13)
    for end in ([0.1, 0.2, 0.3, 0.7], 0.1):
        wanted = F64 + 0.25 * (np.array(end) - F64)
        np.testing.assert_allclose(x.lerp(end, 0.25).numpy(), wanted, rtol=1e-13, atol=1e-16)


def test_what_tells_singular_matrices_solves_with_all_digits() -> None:
    found = svod.linalg.solve_ex(svod.Tensor(F64[:, :3]), [0.1, 0.2, 0.3]).result
    np.testing.assert_allclose(found.numpy(), np.linalg.solve(F64[:, :3], [0.1, 0.2, 0.3]), rtol=1e-13)


def test_several_axes_are_rolled_at_once() -> None:
    a = np.arange(24).reshape(2, 3, 4)
    x = svod.Tensor(a)
    for shifts, dims in (((1, 2), (0, 1)), ([-1, 5], [2, 0]), (1, (0, 2)), ((3,), (1,)), (2, 1)):
        np.testing.assert_array_equal(x.roll(shifts, dims).numpy(), np.roll(a, shifts, dims))
        np.testing.assert_array_equal(x.roll(shifts=shifts, dim=dims).numpy(), np.roll(a, shifts, dims))
    np.testing.assert_array_equal(x.roll(5).numpy(), np.roll(a, 5))
    with pytest.raises(svod.ArgumentError, match="not named"):
        x.roll((1, 2))
    with pytest.raises(svod.ArgumentError, match="as many shifts as axes"):
        x.roll((1, 2, 3), (0, 1))
    with pytest.raises(svod.ArgumentTypeError, match="roll: shifts"):
        x.roll(None, 0)  # type: ignore[arg-type]


ELSEWHERE = ["autograd", "compile", "device", "distributions", "inference_mode", "load", "random", "save", "sparse"]


def test_what_numpy_has_and_svod_has_not_says_what_to_use() -> None:
    for name in dir(np):
        if name.startswith("_") or hasattr(svod, name):
            continue
        with pytest.raises(AttributeError, match=f"no attribute '{name}': ."):
            getattr(svod, name)
    for name in ("ubyte", "ushort", "intc", "uintc", "longlong", "ulonglong", "intp", "byte"):
        assert getattr(svod, name) == np.dtype(getattr(np, name)).name


@pytest.mark.parametrize("name", [*ELSEWHERE, "utils"])
def test_what_is_elsewhere_by_another_name_says_so(name: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}': .*svod"):
        getattr(svod, name)


def test_lists_of_parameters_are_lists_in_an_attribute_and_the_hint_says_so() -> None:
    with pytest.raises(AttributeError, match="no attribute 'ParameterList': a list or dict of tensors"):
        svod.nn.ParameterList  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"'svod\.nn' has no attribute 'Linea'$") as caught:
        svod.nn.Linea  # type: ignore[attr-defined]  # noqa: B018
    assert caught.value.obj is svod.nn and caught.value.name == "Linea"


def test_types_have_pytorchs_second_names_and_stars_import_none_of_them() -> None:
    assert svod.zeros(2, dtype=svod.long).dtype == svod.int64  # type: ignore[attr-defined]
    assert svod.half == "float16" and svod.double == "float64" and svod.float == "float32"  # type: ignore[attr-defined]
    assert not {"long", "float", "int", "half"} & set(svod.__all__)


def test_sequences_are_padded_as_pytorch_pads_them() -> None:
    torch = pytest.importorskip("torch")
    rows = [np.arange(n * 2, dtype=np.float32).reshape(n, 2) + 1 for n in (3, 1, 4)]
    several: list[dict[str, Any]] = [{}, {"batch_first": True}, {"padding_value": 7.0}]
    for options in (*several, {"batch_first": True, "padding_side": "left"}):
        ours = svod.nn.utils.pad_sequence([svod.Tensor(row) for row in rows], **options)
        theirs = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], **options)
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    with pytest.raises(svod.ShapeError, match="pad_sequence: shapes that differ in their first extent"):
        svod.nn.utils.pad_sequence([svod.ones(2, 3), svod.ones(2, 2)])


@pytest.mark.parametrize("number", [np.int64, np.array, svod.Tensor])
def test_integers_that_are_not_pythons_are_read(number: Any) -> None:
    x = svod.arange(12.0).reshape(3, 4)
    assert svod.roll(x, number(1), axis=number(0)).tolist() == svod.roll(x, 1, axis=0).tolist()
    assert svod.moveaxis(x, number(0), number(1)).shape == (4, 3)
    assert svod.expand_dims(x, number(0)).shape == (1, 3, 4)
    assert svod.tile(x, (number(2), 1)).shape == (6, 4)
    assert svod.nn.functional.avg_pool2d(x[None, None], number(2)).shape == (1, 1, 1, 2)
    assert svod.nn.Linear(number(4), number(2))(x).shape == (3, 2)
    assert svod.nn.LayerNorm((number(4),))(x).shape == (3, 4)
    with pytest.raises(svod.ArgumentTypeError, match="roll: shift: an integer, or several, is expected"):
        svod.roll(x, svod.Tensor(1.5), axis=0)
    with pytest.raises(svod.TraceError):
        svod.jit(lambda x, n: svod.tile(x, (n, 1)))(x, svod.Tensor(2))


def test_a_parameter_is_written_as_its_error_says() -> None:
    p = svod.nn.Parameter(svod.Tensor([1.0, 2.0]))
    with pytest.raises(svod.Error, match=r"`with svod\.no_grad\(\): p\[0\] = 5`"):
        p[0] = 5
    with svod.no_grad():
        p[0] = 5
    assert (p.tolist(), p.requires_grad, p.is_leaf) == ([5, 2], True, True)
    (p * p).sum().backward()
    assert p.grad is not None and p.grad.tolist() == [10, 4]


def test_parameters_are_told_by_isinstance() -> None:
    p = svod.nn.Parameter(svod.Tensor([1.0, 2.0]))
    fixed, layer = svod.nn.Parameter([1.0], requires_grad=False), svod.nn.Linear(2, 3)
    assert all(isinstance(x, svod.nn.Parameter) for x in (p, fixed, layer.weight))
    assert not any(isinstance(x, svod.nn.Parameter) for x in (p * 2, 1.0, layer, np.ones(2)))
    with pytest.raises(svod.ArgumentTypeError, match=r"^Parameter: data: a tensor is expected"):
        svod.nn.Parameter("x")  # type: ignore[arg-type]


def test_messages_name_what_was_called() -> None:
    t = svod.ones(2, 3).contiguous().realize()
    for axis in (0, 1):
        with pytest.raises(svod.ArgumentError, match=r"a view, by an index, of another one, float32\[2, 3\]"):
            t.unbind(axis)[0][:] = 9
    assert [part.tolist() for part in t.unbind(-1)] == [[1, 1]] * 3
    with pytest.raises(svod.AxisError, match=r"^unbind: axis 2"):
        t.unbind(2)
    with pytest.raises(svod.AxisError, match=r"^transpose: axis 2"):
        t.transpose(0, 1, 2)
    with pytest.raises(svod.ShapeError, match=r"^transpose: axes"):
        t.transpose((0,))
    kept = svod.ones(2, 3, 4).contiguous().realize()
    with pytest.raises(svod.ArgumentError, match="view, by transpose, of another one"):
        kept.transpose(2, 0, 1)[0] = 1
    x = svod.ones(3).contiguous().realize()
    with pytest.raises(svod.ArgumentError, match="no output depends on; the outputs were built of an earlier value"):
        (t * 2).prepare(inputs=[x])


def test_round_is_that_of_numpy() -> None:
    values = np.float32([0.5, 1.5, 2.5, -1.25, 1234.567])
    x = svod.Tensor(values)
    for digits in (None, 0, 1, -2):
        np.testing.assert_allclose(round(x, digits).numpy(), np.round(values, digits or 0), rtol=1e-6)
    assert round(svod.Tensor(2.5)).item() == 2 and round(svod.Tensor([7, 3])).tolist() == [7, 3]


@pytest.mark.parametrize("axis", [-7, 0, -1, 1, 2**40])
def test_transforms_of_a_number_are_errors(axis: int) -> None:
    for transform in (svod.Tensor._rfft, svod.Tensor._fft, svod.Tensor._irfft):
        more = [] if transform is svod.Tensor._rfft else [True]
        with pytest.raises(svod.AxisError):
            transform(svod.Tensor(1.0), axis, *more)


def test_what_is_no_number_and_what_is_too_large_says_so() -> None:
    for made in (svod.asarray, svod.Tensor, lambda x: svod.add(x, 1)):
        with pytest.raises(TypeError, match="numbers are expected in a list, not NoneType"):
            made([1, None])
        with pytest.raises(TypeError, match="numbers are expected in a list, not object"):
            made([[1.5], [object()]])
        with pytest.raises(OverflowError, match="an integer of at most 64 bits is expected in a list"):
            made([1, 2**64])
        # Of integers that fit no one type, which NumPy rounds to floats.
        with pytest.raises(OverflowError, match="-1 out of bounds for uint64"):
            made([-1, 2**63])
    for wrong in (None, object(), {1: 2}):
        with pytest.raises(TypeError, match=f"numbers are expected, not {type(wrong).__name__}"):
            svod.asarray(wrong)
    for listed in ([1, 2**63], [[2**63], [5]], (0, 2**64 - 1)):
        made_of = svod.asarray(listed)
        assert made_of.dtype == svod.uint64 and made_of.tolist() == np.array(listed, np.uint64).tolist()
    assert svod.asarray([-1, 2**63], dtype="float64").tolist() == [-1.0, 2.0**63]
    assert svod.asarray([1, 2.5]).dtype == svod.float32


@pytest.mark.parametrize("name", ["std", "var"])
def test_axes_come_second_and_a_flag_there_is_unbiased(name: str) -> None:
    x = np.random.default_rng(3).random((3, 4, 5))
    of, theirs, t = getattr(svod, name), getattr(np, name), svod.Tensor(x)
    for axis in (0, -1, (0, 2), [1, 2], None, ()):
        axes = tuple(axis) if isinstance(axis, list) else axis
        for found in (of(t, axis), of(t, axis=axis), of(t, dim=axis)):
            np.testing.assert_allclose(found.numpy(), theirs(x, axes), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(of(t, 1, correction=1).numpy(), theirs(x, 1, ddof=1), rtol=1e-12)
    np.testing.assert_allclose(of(t, 1, True).numpy(), theirs(x, 1, ddof=1), rtol=1e-12)
    np.testing.assert_allclose(of(t, 1, False, True).numpy(), theirs(x, 1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(of(t, 1, unbiased=True, keepdim=True).numpy(), theirs(x, 1, ddof=1, keepdims=True))
    for flag in (True, False):
        np.testing.assert_allclose(of(t, flag).item(), theirs(x, ddof=int(flag)), rtol=1e-12)
        np.testing.assert_allclose(of(t, unbiased=flag).item(), theirs(x, ddof=int(flag)), rtol=1e-12)
        with pytest.raises(svod.ArgumentTypeError, match=f"{name}: dim: axes are expected beside"):
            of(t, flag, correction=1)
    with pytest.raises(svod.ArgumentTypeError, match="only one of them"):
        of(t, 0, dim=1)


def test_methods_that_assign_are_named_and_hold_no_complex_numbers() -> None:
    x = svod.ones(3)
    for act, message in (
        (lambda: x.add_(1j), r"add_: the result is complex64, which float32\[3\] cannot hold"),
        (lambda: x.mul_(svod.Tensor([1j, 1, 1])), r"mul_: the result is complex64, which float32\[3\] cannot hold"),
        (lambda: x.floor_divide_(1j), "floor_divide_: takes real numbers"),
        (lambda: x.remainder_(1j), "remainder_: takes real numbers"),
        (lambda: x.copy_(svod.Tensor([1j, 1, 1])), r"copy_ of complex64\[3\]"),
    ):
        with pytest.raises(svod.DTypeError, match=message):
            act()
    with pytest.raises(svod.ShapeError, match=r"copy_: a value float32\[5\] does not fit the shape \[3\]"):
        x.copy_(svod.ones(5))


def test_unsigned_integers_meet_negative_numbers_in_floats() -> None:
    x = svod.Tensor([3, 4], dtype="uint32")
    for name in ("divide", "true_divide", "hypot", "arctan2", "logaddexp", "copysign", "float_power"):
        for operands in ((x, -1), (-1, x)):
            wanted = getattr(np, name)(*(one.numpy() if isinstance(one, svod.Tensor) else one for one in operands))
            np.testing.assert_allclose(getattr(svod, name)(*operands).numpy(), wanted, rtol=1e-6, err_msg=name)


def test_float_powers_take_numbers_with_all_their_digits() -> None:
    x = np.float32([2, 3])
    np.testing.assert_allclose(svod.float_power(svod.Tensor(x), 0.1).numpy(), np.float_power(x, 0.1), rtol=1e-15)


def test_operands_of_composed_functions_meet_before_they_are_computed_with() -> None:
    x, u, d = svod.Tensor([5, 200], dtype="uint8"), np.uint8([5, 200]), np.float64([2.5, 1])
    assert svod.rsub(x, 2.5).tolist() == [-2.5, -197.5] and svod.rsub(x, svod.Tensor(d), alpha=2).tolist() == [
        -7.5,
        -399,
    ]
    for one in (d, np.float32(d)):
        for value in (1, 2, -1):
            product = svod.addcmul(svod.Tensor(one), x, x, value=value)
            assert product.dtype == str(one.dtype) and product.tolist() == (one + value * u.astype(float) ** 2).tolist()
            assert svod.addcdiv(svod.Tensor(one), x, x, value=value).tolist() == (one + value).tolist()
    half = svod.Tensor([300.0], dtype="float16")
    assert svod.addcmul(svod.Tensor([1.0]), half, half).item() == 90001


def test_no_number_is_none_of_complex_ones() -> None:
    x = np.array([complex(np.nan, 1), complex(1, np.inf), complex(-np.inf, np.nan), 2 - 1j])
    for options in ({}, {"nan": 3.0, "posinf": 5.0, "neginf": -7.0}):
        np.testing.assert_array_equal(svod.nan_to_num(svod.Tensor(x), **options).numpy(), np.nan_to_num(x, **options))


def test_pivots_are_rows_from_one_on() -> None:
    # What SciPy's `lu_factor` gives counts from 0.
    def solution(pivots: svod.Tensor) -> Any:
        return svod.linalg.lu_solve(svod.ones(2, 2), pivots, svod.ones(2, 1)).tolist()

    for given, message in (([0, 1], "from 1 to 2, but these are from 0 to 1"), ([3, 2], "from 2 to 3")):
        pivots = svod.Tensor(given, dtype="int32")
        unpacked = svod.lu_unpack(svod.ones(2, 2), pivots).P
        assert unpacked is not None
        for act in (unpacked.tolist, lambda: solution(pivots)):  # noqa: B023
            with pytest.raises(svod.ArgumentError, match=message):
                act()
    for wrong in (svod.ones(2), svod.Tensor([1], dtype="int32"), svod.Tensor([[1, 2]], dtype="int32")):
        with pytest.raises(svod.ShapeError, match="lu_unpack: pivots are an int32 for each of the 2 columns"):
            svod.lu_unpack(svod.ones(2, 2), wrong)
