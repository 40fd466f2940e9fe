"""Every family of operations at a symbolic size: one plan, run at the least, a middle and the largest value, against
NumPy at that size; what cannot work is a typed error that names operation and size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import svod
from svod.nn import functional as F

Array = npt.NDArray[Any]
N = svod.Variable("n", 1, 9)
SIZES = (1, 5, 9)


def data(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


FIXED = data(9, 4, seed=1)
WEIGHT = data(4, 3, seed=2)


def softmax(a: Array, axis: int = -1) -> Array:
    e = np.exp(a - a.max(axis=axis, keepdims=True))
    result: Array = e / e.sum(axis, keepdims=True)
    return result


def windows(a: Array, size: int, stride: int, axis: int) -> Array:
    view = np.lib.stride_tricks.sliding_window_view(a, size, axis)
    return np.take(view, np.arange(0, view.shape[axis], stride), axis)


def one_hot(index: Array, classes: int) -> Array:
    return (index[..., None] == np.arange(classes)).astype(np.int64)


def put(a: Array, index: Array, value: Array) -> Array:
    out = a.copy()
    np.put_along_axis(out, index, value, 0)
    return out


def add_at(index: Array, value: Array, rows: int) -> Array:
    out = np.zeros((rows, *value.shape[1:]), value.dtype)
    np.add.at(out, index, value)
    return out


def conv2d(x: Array, w: Array) -> Array:
    view = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
    return np.einsum("bchwij,ocij->bohw", view, w)


def attention(x: Array, causal: bool) -> Array:
    scores = x @ x.swapaxes(-1, -2) / np.float32(np.sqrt(x.shape[-1]))
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, np.float32(-np.inf))
    return softmax(scores) @ x


KERNEL, FILTER = data(2, 3, 3, 3, seed=3), data(5, 4, 3, seed=4)
Case = tuple[Callable[..., Any], Callable[..., Any]]

# Of `x`, float32[n, 4]: what svod computes, and what NumPy does.
ROWS: dict[str, Case] = {
    "reshape": (lambda x: x.reshape(N * 2, 2), lambda a: a.reshape(-1, 2)),
    "flatten": (lambda x: x.flatten(), lambda a: a.ravel()),
    "permute": (lambda x: x.T.contiguous(), lambda a: a.T),
    "expand": (lambda x: x.unsqueeze(0).expand(3, N, 4) * 1, lambda a: np.broadcast_to(a, (3, *a.shape))),
    "pad": (lambda x: x.pad([(1, 2), (0, 1)], 7.0), lambda a: np.pad(a, ((1, 2), (0, 1)), constant_values=7)),
    "shrink": (lambda x: svod.Tensor(FIXED)[:N] + x, lambda a: FIXED[: len(a)] + a),
    "shrink from the end": (lambda x: x[N - 1 :], lambda a: a[-1:]),
    "strided": (lambda x: x[::2], lambda a: a[::2]),
    "strided backward": (lambda x: x[::-2] + x[::-1][::2], lambda a: 2 * a[::-2]),
    "flip": (lambda x: x.flip(0), lambda a: a[::-1]),
    "flip all": (lambda x: x.flip((0, 1)), lambda a: a[::-1, ::-1]),
    "cat": (lambda x: svod.cat([x, svod.Tensor(FIXED), x]), lambda a: np.concatenate([a, FIXED, a])),
    "stack": (lambda x: svod.stack([x, x * 2], 1), lambda a: np.stack([a, a * 2], 1)),
    "roll": (lambda x: x.roll(1, 0), lambda a: np.roll(a, 1, 0)),
    "repeat": (lambda x: x.repeat(2, 1), lambda a: np.tile(a, (2, 1))),
    "elementwise": (lambda x: (x * 2 + x.exp()).tanh(), lambda a: np.tanh(a * 2 + np.exp(a))),
    "where": (lambda x: svod.where(x > 0, x, -1.0), lambda a: np.where(a > 0, a, np.float32(-1))),
    "sum of rows": (lambda x: x.sum(0), lambda a: a.sum(0)),
    "sum of columns": (lambda x: x.sum(1), lambda a: a.sum(1)),
    "sum of all": (lambda x: x.sum(), lambda a: a.sum()),
    "mean": (lambda x: x.mean(0), lambda a: a.mean(0)),
    "var": (lambda x: x.var(0, correction=0), lambda a: a.var(0)),
    "prod": (lambda x: x.prod(0), lambda a: a.prod(0)),
    "max": (lambda x: x.max(axis=0), lambda a: a.max(axis=0)),
    "any": (lambda x: (x > 1).any(0), lambda a: (a > 1).any(0)),
    "argmax": (lambda x: x.argmax(0), lambda a: a.argmax(0)),
    "argmax of all": (lambda x: x.argmax(), lambda a: a.argmax()),
    "argmin": (lambda x: x.argmin(0), lambda a: a.argmin(0)),
    "cumsum": (lambda x: x.cumsum(0), lambda a: a.cumsum(0)),
    "cumprod": (lambda x: x.cumprod(0), lambda a: a.cumprod(0)),
    "cummax": (lambda x: x.cummax(axis=0), lambda a: np.maximum.accumulate(a, 0)),
    "sort": (lambda x: x.sort(0)[0], lambda a: np.sort(a, 0)),
    "argsort": (lambda x: x.argsort(0), lambda a: np.argsort(a, 0, kind="stable")),
    "topk of columns": (lambda x: x.topk(2, 1)[0], lambda a: -np.sort(-a, 1)[:, :2]),
    "topk of rows": (lambda x: x.topk(1, 0)[0], lambda a: -np.sort(-a, 0)[:1]),
    "softmax of rows": (lambda x: x.softmax(0), lambda a: softmax(a, 0)),
    "softmax": (lambda x: x.softmax(1), lambda a: softmax(a, 1)),
    "log softmax": (lambda x: x.log_softmax(0), lambda a: np.log(softmax(a, 0))),
    "logsumexp": (lambda x: x.logsumexp(0), lambda a: np.log(np.exp(a).sum(0))),
    "layer norm": (
        lambda x: F.layer_norm(x, (4,)),
        lambda a: (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5),
    ),
    "matmul rows": (lambda x: x @ svod.Tensor(WEIGHT), lambda a: a @ WEIGHT),
    "matmul columns": (lambda x: svod.Tensor(WEIGHT).T @ x.T, lambda a: WEIGHT.T @ a.T),
    "matmul depth": (lambda x: x.T @ x, lambda a: a.T @ a),
    "matmul both": (lambda x: x @ x.T, lambda a: a @ a.T),
    "matvec": (lambda x: x @ svod.Tensor(WEIGHT[:, 0]), lambda a: a @ WEIGHT[:, 0]),
    "einsum": (lambda x: svod.einsum("ij,kj->ik", x, x), lambda a: np.einsum("ij,kj->ik", a, a)),
    "einsum of a diagonal": (lambda x: svod.einsum("ij,ij->i", x, x), lambda a: (a * a).sum(1)),
    "take": (lambda x: x.take(svod.Tensor([0, 0]), 0), lambda a: a[[0, 0]]),
    "take columns": (lambda x: x.take(svod.Tensor([3, 0]), 1), lambda a: a[:, [3, 0]]),
    "rows by index": (lambda x: svod.Tensor(FIXED)[x.argsort(0)[:, 0]], lambda a: FIXED[np.argsort(a, 0)[:, 0]]),
    "gather": (
        lambda x: x.gather(0, x.argsort(0)),
        lambda a: np.take_along_axis(a, np.argsort(a, 0, kind="stable"), 0),
    ),
    "scatter": (
        lambda x: svod.zeros(N, 4).scatter(0, x.argsort(0), x),
        lambda a: put(np.zeros_like(a), np.argsort(a, 0, kind="stable"), a),
    ),
    "scatter by sum": (
        lambda x: svod.zeros(3, 4).index_add(0, svod.arange(N) % 3, x),
        lambda a: add_at(np.arange(len(a)) % 3, a, 3),
    ),
    "one hot": (lambda x: (svod.arange(N) % 3).one_hot(3), lambda a: one_hot(np.arange(len(a)) % 3, 3)),
    "one hot of n": (lambda x: svod.arange(N).one_hot(N), lambda a: one_hot(np.arange(len(a)), len(a))),
    "arange": (lambda x: svod.arange(N) * 2, lambda a: np.arange(len(a)) * 2),
    "arange from n": (lambda x: svod.arange(N, N + 3), lambda a: np.arange(len(a), len(a) + 3)),
    "eye": (lambda x: svod.eye(N), lambda a: np.eye(len(a), dtype=np.float32)),
    "zeros": (lambda x: svod.zeros(N, 2), lambda a: np.zeros((len(a), 2), np.float32)),
    "full": (lambda x: svod.full((2, N), 3.5), lambda a: np.full((2, len(a)), 3.5, np.float32)),
    "tril": (lambda x: (x @ x.T).tril(), lambda a: np.tril(a @ a.T)),
    "triu": (lambda x: (x @ x.T).triu(1), lambda a: np.triu(a @ a.T, 1)),
    "size as value": (lambda x: x * N, lambda a: a * len(a)),
    "unfold": (
        lambda x: x.pad([(0, 2), (0, 0)]).unfold(0, 3, 1),
        lambda a: windows(np.pad(a, ((0, 2), (0, 0))), 3, 1, 0),
    ),
    "unfold with stride": (
        lambda x: x.pad([(0, 2), (0, 0)]).unfold(0, 3, 2),
        lambda a: windows(np.pad(a, ((0, 2), (0, 0))), 3, 2, 0),
    ),
    "masked fill": (lambda x: x.masked_fill(x > 0, 0.0), lambda a: np.where(a > 0, np.float32(0), a)),
    "cast": (lambda x: x.cast("int32"), lambda a: a.astype(np.int32)),
    "split": (lambda x: x.split(2, 1)[1], lambda a: a[:, 2:]),
    "chunk": (lambda x: x.chunk(2, 1)[0], lambda a: a[:, :2]),
    "roll by n": (lambda x: x.roll(N // 2, 0), lambda a: np.roll(a, len(a) // 2, 0)),
    "roll of a fixed axis by n": (lambda x: x.roll(-N, 1), lambda a: np.roll(a, -len(a), 1)),
    "roll of all by n": (lambda x: x.roll(N), lambda a: np.roll(a, len(a))),
    "tril of n": (lambda x: x.tril(N - 3), lambda a: np.tril(a, len(a) - 3)),
    "triu of n": (lambda x: x.triu(1 - N // 3), lambda a: np.triu(a, 1 - len(a) // 3)),
    "topk of n": (lambda x: x.topk(N, 0)[0], lambda a: -np.sort(-a, 0)),
    "positions of half": (
        lambda x: x.topk((N + 1) // 2, 0, largest=False)[1],
        lambda a: np.argsort(a, 0, kind="stable")[: (len(a) + 1) // 2],
    ),
    "kthvalue of n": (lambda x: x.kthvalue((N + 1) // 2, 0)[0], lambda a: np.sort(a, 0)[(len(a) + 1) // 2 - 1]),
    "linspace of n": (
        lambda x: x[:, 0] + svod.linspace(-1, 2, N),
        lambda a: a[:, 0] + np.linspace(-1, 2, len(a), dtype=np.float32),
    ),
    "repeat interleave": (lambda x: x.repeat_interleave(N, 1), lambda a: np.repeat(a, len(a), 1)),
    "split by n": (lambda x: svod.cat([x, x * 2]).split(N, 0)[1], lambda a: a * 2),
    "chunks of 2 n": (lambda x: svod.cat([x, x * 2]).chunk(2, 0)[1], lambda a: a * 2),
    "take at n": (lambda x: x.take(N - 1, 0), lambda a: a[-1]),
    "prefix": (lambda x: svod.cat([x[:1] * 2, x]), lambda a: np.concatenate([a[:1] * 2, a])),
}

# Of `x`, float32[2, 3, n, 5]: images and heads.
IMAGES: dict[str, Case] = {
    "conv2d": (lambda x: F.conv2d(x, svod.Tensor(KERNEL), padding=1), lambda a: conv2d(a, KERNEL)),
    "conv2d over the batch": (
        lambda x: F.conv2d(x.permute(2, 1, 0, 3), svod.Tensor(KERNEL), padding=1),
        lambda a: conv2d(a.transpose(2, 1, 0, 3), KERNEL),
    ),
    "max pool": (
        lambda x: F.max_pool2d(x, 3, 1, padding=1),
        lambda a: np.lib.stride_tricks.sliding_window_view(
            np.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf), (3, 3), (2, 3)
        ).max(axis=(-1, -2)),
    ),
    "avg pool": (
        lambda x: F.avg_pool2d(x, (1, 5)),
        lambda a: a.mean(-1, keepdims=True),
    ),
    "adaptive pool over the batch": (
        lambda x: F.adaptive_avg_pool2d(x.permute(2, 1, 0, 3), (2, 3)),
        lambda a: np.stack([a[..., :2].mean(-1), a[..., 1:4].mean(-1), a[..., 3:].mean(-1)], -1).transpose(2, 1, 0, 3),
    ),
    "adaptive pool to one": (
        lambda x: F.adaptive_avg_pool2d(x, 1),
        lambda a: a.mean((2, 3), keepdims=True),
    ),
    "adaptive pool of what divides": (
        lambda x: F.adaptive_avg_pool2d(svod.cat([x, x * 2], 2), (2, None)),
        lambda a: np.concatenate([a, a * 2], 2).reshape(2, 3, 2, -1, 5).mean(3),
    ),
    "attention": (lambda x: F.scaled_dot_product_attention(x, x, x), lambda a: attention(a, False)),
    "causal attention": (
        lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
        lambda a: attention(a, True),
    ),
    "attention written out": (
        lambda x: (x @ x.transpose(-1, -2) / 5**0.5).softmax(-1) @ x,
        lambda a: attention(a, False),
    ),
    "heads": (
        lambda x: x.permute(0, 2, 1, 3).reshape(2, N, 15) @ svod.Tensor(data(15, 2)),
        lambda a: a.transpose(0, 2, 1, 3).reshape(2, -1, 15) @ data(15, 2),
    ),
}


def check(case: Case, shape: Callable[[Any], tuple[Any, ...]]) -> None:
    """One plan gives NumPy's values at all sizes, and the same as without a plan."""
    ours, theirs = case
    x = svod.empty(*shape(N))
    plan = ours(x).prepare(inputs=[x])
    for size in (*SIZES, SIZES[0]):
        a = data(*shape(size), seed=size)
        expected = np.asarray(theirs(a))
        if plan.inputs and len(plan.inputs) == 1:
            plan.execute(a, n=size)
        (out,) = plan.outputs
        assert out.dtype == expected.dtype.name and tuple(out.shape) == expected.shape
        np.testing.assert_allclose(out.numpy(), expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", ROWS)
def test_a9_rows(name: str) -> None:
    check(ROWS[name], lambda n: (n, 4))


@pytest.mark.parametrize("name", IMAGES)
def test_a9_images(name: str) -> None:
    check(IMAGES[name], lambda n: (2, 3, n, 5))


@pytest.mark.parametrize(
    ("name", "refused", "message"),
    [
        ("masked select", lambda x: x[x > 0], r"\bn\b"),
        ("nonzero", lambda x: x.nonzero(), r"\bn\b"),
        ("split of n", lambda x: x.split(2, 0), "split: how many parts of extent 2 axis 0 of float32.n, 4. has"),
        ("chunk of n", lambda x: x.chunk(2, 0), "chunk: how many parts .* n"),
        ("linspace of fewer than none", lambda x: svod.linspace(0, 1, N - 3), "linspace: extent .*n"),
        ("topk of n columns", lambda x: x.topk(N, 1), "topk: n elements"),
        ("nonzero of n", lambda x: x.nonzero(), "nonzero: .*n"),
        ("unique of n", lambda x: x.unique(), "unique: .*n"),
        ("chunks", lambda x: x.chunk(N, 1), "chunk|variable n is not bound"),
        ("topk of more than the least", lambda x: x.topk(3, 0), r"\bn\b"),
        ("reshape to other extents", lambda x: x.reshape(5, -1), r"\bn\b"),
        ("index beyond the least", lambda x: x[3], r"\bn\b"),
        ("conv wider than the least", lambda x: x.reshape(1, 4, N).conv1d(svod.Tensor(FILTER)), r"\bn\b"),
        ("sum with another size", lambda x: x + svod.ones(svod.Variable("m", 1, 9), 4), r"\bn\b"),
    ],
)
def test_a9_what_cannot_work_names_operation_and_size(name: str, refused: Callable[..., Any], message: str) -> None:
    with pytest.raises(svod.Error, match=message) as error:
        refused(svod.empty(N, 4))
    assert isinstance(error.value, (svod.ShapeError, svod.UnsupportedError, ValueError, IndexError)), type(error.value)


def test_a9_slices_of_a_symbolic_axis_are_those_of_its_size() -> None:
    n = svod.Variable("n", 0, 12)
    whole = np.arange(12)
    slices = [
        slice(*ends, step)
        for ends in ((None, None), (2, 5), (-5, -2), (-3, None), (9, 2))
        for step in (1, 2, 3, -1, -2)
    ]
    source = svod.Tensor(whole)
    plan = svod.prepare(*[source[: n.bind(9)][cut] for cut in slices])
    for size in (9, 0, 1, 2, 5, 12):
        plan.execute(n=size)
        for cut, found in zip(slices, plan.outputs, strict=True):
            np.testing.assert_array_equal(found.numpy(), whole[:size][cut], err_msg=f"{cut} of {size}")


def test_a9_slices_of_a_symbolic_axis_are_set() -> None:
    n = svod.Variable("n", 0, 12)
    whole = np.arange(12)
    slices = [slice(*ends, step) for ends in ((None, None), (2, 5), (-5, -2), (-3, None)) for step in (1, 2, 3, -1, -2)]
    changed = []
    for cut in slices:
        t = svod.Tensor(whole)[: n.bind(9)]
        t[cut] = t[cut] * 10 + 1
        t[cut] = -t[cut]
        changed.append(t)
    plan = svod.prepare(*changed)
    for size in (9, 0, 1, 2, 5, 12):
        plan.execute(n=size)
        for cut, found in zip(slices, plan.outputs, strict=True):
            expected = whole[:size].copy()
            expected[cut] = -(expected[cut] * 10 + 1)
            np.testing.assert_array_equal(found.numpy(), expected, err_msg=f"{cut} of {size}")


def test_e6_searchsorted_of_a_symbolic_length() -> None:
    n = svod.Variable("n", 0, 40)
    a = np.sort(np.random.default_rng(0).standard_normal(40).astype(np.float32))
    values = np.float32([-9, 0.1, a[3], a[0], 9, np.nan])
    for right in (False, True):
        plan = svod.Tensor(a)[: n.bind(7)].searchsorted(svod.Tensor(values), right=right).prepare()
        for count in (7, 0, 1, 2, 33, 40):
            plan.execute(n=count)
            expected = np.searchsorted(a[:count], values, "right" if right else "left")
            np.testing.assert_array_equal(plan.outputs[0].numpy(), expected)


def test_d4_what_an_array_leaves_open_is_to_be_named() -> None:
    n, m = svod.Variable("n", 1, 9), svod.Variable("m", 1, 9)
    for extent in (n + m, n * m):
        x = svod.empty(extent)
        plan = x.sum().prepare(inputs=[x])
        with pytest.raises(svod.ShapeError, match=r"does not tell m and n; give m=\.\.\., n=\.\.\."):
            plan.execute(np.ones(6, np.float32))
        plan.execute(np.ones(6, np.float32), m=2)
        assert plan.outputs[0].item() == 6


@pytest.mark.parametrize("most", [40, 900])
@pytest.mark.parametrize("width", [16, 37])
@pytest.mark.parametrize("epilogue", [False, True])
def test_e6_a_product_of_depth_0_at_a_run_is_0(most: int, width: int, epilogue: bool) -> None:
    n = svod.Variable("n", 0, most)
    x = svod.empty(n, width)
    product = x.T @ x
    plan = (product.relu() + 1.0 if epilogue else product).prepare(inputs=[x])
    for count in (5, 0, most, 0):
        plan.execute(np.ones((count, width), np.float32))
        np.testing.assert_array_equal(plan.outputs[0].numpy(), np.full((width, width), count + epilogue, np.float32))


EMPTY: list[tuple[str, Callable[[svod.Tensor], svod.Tensor]]] = [
    ("max", lambda x: x.max(axis=0)),
    ("min", lambda x: x.min(axis=0, keepdim=True)),
    ("max", lambda x: (x > 0).max(axis=0)),
    ("max", lambda x: (x * 2).max().exp()),
    ("argmax", lambda x: x.argmax(0)),
    ("argmin", lambda x: x.argmin()),
    ("max", lambda x: x[:, 1:3].max(axis=(0, 1)).relu()),
    ("max", lambda x: svod.iterate(2, lambda i, v: v + x.max(axis=0), svod.zeros(4))),
    ("max", lambda x: svod.iterate(2, lambda i, v: v * x.max(), x).sum(0)),
]


@pytest.mark.parametrize(("op", "fold"), EMPTY)
def test_d4_a_fold_of_nothing_is_refused_by_the_run_as_when_it_is_built(
    op: str, fold: Callable[[svod.Tensor], svod.Tensor]
) -> None:
    z = svod.Variable("z", 0, 9)
    x = svod.empty(z, 4)
    plan = fold(x).prepare(inputs=[x])
    for size in (9, 1):
        given = svod.Tensor(FIXED[:size])
        plan.execute(FIXED[:size])
        np.testing.assert_allclose(plan.outputs[0].numpy(), fold(given).numpy(), rtol=1e-6)
    before = plan.outputs[0].numpy()
    refused = rf"^{op}.*: no element along axis [01] of \w+\[.*z.*\], where z = 0$"
    for run in (plan.execute, plan.run, plan.execute_profiled):
        with pytest.raises(svod.ArgumentError, match=refused):
            run(FIXED[:0])
    np.testing.assert_array_equal(plan.outputs[0].numpy(), before)
    assert plan.variables == {"z": 1}
    with pytest.raises(svod.ArgumentError, match=f"{op}: no element along axis"):
        fold(svod.zeros(0, 4))
    with pytest.raises(svod.ArgumentError, match=refused):
        fold(svod.arange(36).cast("float32").reshape(9, 4)[: z.bind(0)]).numpy()


def test_d4_a_fold_of_nothing_that_has_a_value_runs() -> None:
    z = svod.Variable("z", 0, 9)
    x = svod.empty(z, 4)
    folds = (lambda x: x.softmax(0), lambda x: x.logsumexp(0), lambda x: x.sum(0), lambda x: x.cummax(axis=0))
    plan = svod.prepare(*(fold(x) for fold in folds), inputs=[x])
    for size in (0, 5, 0):
        plan.execute(FIXED[:size])
        for output, fold in zip(plan.outputs, folds, strict=True):
            np.testing.assert_allclose(output.numpy(), fold(svod.Tensor(FIXED[:size])).numpy(), rtol=1e-5)
    # Of rows that are not folded there may be none.
    plan = x.max(axis=1).prepare(inputs=[x])
    plan.execute(FIXED[:0])
    assert plan.outputs[0].shape == (0,)


def test_a9_numbers_with_a_value_are_numbers_of_operations() -> None:
    n = svod.Variable("n", 1, 9)
    x = svod.arange(12).reshape(3, 4)
    assert svod.arange(9).take(n.bind(5)).item() == 5
    assert svod.arange(9).roll(n.bind(2), 0).tolist() == np.roll(np.arange(9), 2).tolist()
    assert x.tril(n.bind(1)).tolist() == np.tril(np.arange(12).reshape(3, 4), 1).tolist()
    values, _ = svod.arange(9).topk(n.bind(2))
    assert (values.tolist(), values.shape) == ([8, 7], (2,))
    assert svod.linspace(0, 1, n.bind(3)).tolist() == [0.0, 0.5, 1.0]
    plan = svod.linspace(1, 3, n.bind(1)).prepare()
    for count, expected in ((1, [1.0]), (2, [1.0, 3.0]), (5, [1.0, 1.5, 2.0, 2.5, 3.0])):
        plan.execute(n=count)
        assert plan.outputs[0].tolist() == expected
    assert [part.shape for part in svod.empty(4, 2 * n).split(n, 1)] == [(4, n), (4, n)]
    assert [part.shape for part in svod.empty(4, 2 * n).chunk(2, 1)] == [(4, n), (4, n)]
    assert [part.shape for part in svod.empty(n, 7).split(3, 1)] == [(n, 3), (n, 3), (n, 1)]


def test_the_number_of_chunks_is_one() -> None:
    n, x = svod.Variable("n", 1, 8), svod.ones(6)
    with pytest.raises(svod.ArgumentError, match="chunk: so many tensors are given, of which n is no number"):
        x.chunk(n)
    with pytest.raises(svod.ArgumentError, match="chunk: -1 parts"):
        x.chunk(-1)
    assert len(x.chunk(n.bind(3))) == 3
