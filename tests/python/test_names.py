"""Names, order and meaning of arguments: PyTorch's by method, the array API's by function, in either spelling."""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import svod
import svod.nn.functional as F

SPELLINGS = [("axis", "dim"), ("axis0", "dim0"), ("axis1", "dim1"), ("keepdims", "keepdim")]


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    for owner, of in (("Tensor.", svod.Tensor), ("svod.", svod), ("F.", F)):
        for name, item in vars(of).items():
            is_type = inspect.isclass(item) or isinstance(item, svod.DType)
            if not name.startswith("_") and callable(item) and not is_type:
                yield owner + name, item
    for owner, of in (("nn.", svod.nn), ("init.", svod.nn.init), ("utils.", svod.nn.utils), ("optim.", svod.optim)):
        for name in of.__all__:
            item = getattr(of, name)
            if callable(item) and not (inspect.isclass(item) and issubclass(item, (BaseException, tuple))):
                yield owner + name, item


@pytest.mark.parametrize(("name", "item"), list(public()), ids=[name for name, _ in public()])
def test_what_takes_one_spelling_takes_the_other(name: str, item: Callable[..., Any]) -> None:
    parameters = inspect.signature(item).parameters
    for a, b in SPELLINGS:
        assert (a in parameters) == (b in parameters), f"{name}: {a} and {b}"


X = np.float32([[3, 1, 2], [1, 5, 5]])
FOLDS = [
    *("all", "amax", "amin", "any", "argmax", "argmin", "max", "mean", "min"),
    *("prod", "std", "sum", "var", "logsumexp"),
]


@pytest.mark.parametrize("name", FOLDS)
def test_spellings_of_folds_agree(name: str) -> None:
    x = svod.Tensor(X)
    function, method = getattr(svod, name), getattr(x, name)
    for fold, args in ((function, (x,)), (method, ())):
        wanted = fold(*args, axis=1, keepdims=True).numpy()
        assert wanted.shape == (2, 1)
        for how in ({"dim": 1, "keepdim": True}, {"dim": 1, "keepdims": True}, {"axis": 1, "keepdim": True}):
            given = fold(*args, **how)
            if isinstance(given, svod.ValuesAndIndices):
                given = given.values
            np.testing.assert_array_equal(given.numpy(), wanted)
        with pytest.raises(svod.ArgumentTypeError, match="axis and dim"):
            fold(*args, axis=1, dim=1)


AT_AN_AXIS: dict[str, Callable[[svod.Tensor, dict[str, int]], Any]] = {
    "cumsum": lambda x, at: x.cumsum(**at),
    "cumprod": lambda x, at: x.cumprod(**at),
    "softmax": lambda x, at: x.softmax(**at),
    "log_softmax": lambda x, at: x.log_softmax(**at),
    "sort": lambda x, at: x.sort(**at).values,
    "argsort": lambda x, at: x.argsort(**at),
    "topk": lambda x, at: x.topk(1, **at).values,
    "norm": lambda x, at: x.norm(**at),
    "normalize": lambda x, at: x.normalize(**at),
    "flip": lambda x, at: x.flip(**at),
    "roll": lambda x, at: x.roll(1, **at),
    "repeat_interleave": lambda x, at: x.repeat_interleave(2, **at),
    "split": lambda x, at: x.split(1, **at)[1],
    "chunk": lambda x, at: x.chunk(2, **at)[1],
    "take": lambda x, at: x.take([1], **at),
    "take_along_dim": lambda x, at: x.take_along_dim(svod.Tensor([[1], [0]]), **at),
    "index_select": lambda x, at: x.index_select(index=[1, 0], **at),
    "gather": lambda x, at: x.gather(index=[[1], [0]], **at),
    "scatter": lambda x, at: x.scatter(index=[[1], [0]], src=7.0, **at),
    "scatter_add": lambda x, at: x.scatter_add(index=[[1], [0]], src=7.0, **at),
    "scatter_reduce": lambda x, at: x.scatter_reduce(index=[[1], [0]], src=7.0, reduce="amax", **at),
    "index_add": lambda x, at: x.index_add(index=[1, 0], source=svod.ones(2, 2), **at),
    "index_copy": lambda x, at: x.index_copy(index=[1, 0], source=svod.ones(2, 2), **at),
    "squeeze": lambda x, at: x[:, :1].squeeze(**at),
    "unsqueeze": lambda x, at: x.unsqueeze(**at),
    "unflatten": lambda x, at: x.unflatten(sizes=[-1, 1], **at),
    "narrow": lambda x, at: x.narrow(start=0, length=1, **at),
    "unfold": lambda x, at: x.unfold(size=2, step=1, **at),
    "size": lambda x, at: svod.Tensor(x.size(**at)),
    "cat": lambda x, at: svod.cat([x, x], **at),
    "stack": lambda x, at: svod.stack([x, x], **at),
    "F.softmax": lambda x, at: F.softmax(x, **at),
    "F.normalize": lambda x, at: F.normalize(x, **at),
    "svod.sort": lambda x, at: (lambda y: getattr(y, "values", y))(svod.sort(x, **at)),
    "svod.argsort": lambda x, at: svod.argsort(x, **at),
    "svod.flip": lambda x, at: svod.flip(x, **at),
    "svod.roll": lambda x, at: svod.roll(x, 1, **at),
    "svod.take": lambda x, at: svod.take(x, svod.Tensor([1]), **at),
    "svod.take_along_axis": lambda x, at: svod.take_along_axis(x, svod.Tensor([[1], [0]]), **at),
    "svod.cumulative_sum": lambda x, at: svod.cumulative_sum(x, **at),
    "svod.cumulative_prod": lambda x, at: svod.cumulative_prod(x, **at),
    "svod.expand_dims": lambda x, at: svod.expand_dims(x, **at),
}


@pytest.mark.parametrize("name", AT_AN_AXIS)
def test_spellings_of_an_axis_agree(name: str) -> None:
    x = svod.Tensor(X[:, :2].copy())
    apply = AT_AN_AXIS[name]
    np.testing.assert_array_equal(apply(x, {"axis": 1}).numpy(), apply(x, {"dim": 1}).numpy())


def test_a_missing_argument_is_named() -> None:
    x = svod.Tensor(X)
    with pytest.raises(svod.ArgumentTypeError, match=r"gather.*index"):
        x.gather(1)
    with pytest.raises(svod.ArgumentError, match=r"scatter.*axis"):
        x.scatter(index=[[0]], src=1)


PAIRED: dict[str, Callable[[Any], Any]] = {
    "max": lambda x: x.max(1),
    "max by name": lambda x: x.max(dim=0, keepdim=True),
    "min": lambda x: x.min(-1),
    "median": lambda x: x.median(1),
    "median by name": lambda x: x.median(dim=0, keepdim=True),
    "kthvalue": lambda x: x.kthvalue(2, 1),
    "kthvalue by name": lambda x: x.kthvalue(1, dim=0, keepdim=True),
    "cummax": lambda x: x.cummax(1),
    "cummin": lambda x: x.cummin(dim=0),
    "sort": lambda x: x.sort(1, descending=True),
    "topk": lambda x: x.topk(2, dim=1),
}
NAN = float("nan")
GIVEN = {
    "distinct": np.float32([[3, 1, 2, 9], [1, 5, 7, 4], [0, -1, 8, 2]]),
    "one column": np.float32([[3], [1]]),
    "integers": np.int32([[3, 1, 2], [1, 5, 4]]),
    "wide": np.random.default_rng(0).permutation(3 * 41).reshape(3, 41).astype("float64"),
    "three": np.random.default_rng(1).permutation(60).reshape(3, 4, 5).astype("float32"),
}


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("name", PAIRED)
def test_pairs_are_those_of_pytorch(name: str, given: str) -> None:
    torch = pytest.importorskip("torch")
    array = GIVEN[given]
    if array.shape[1] < 2 and name in ("kthvalue", "topk"):
        array = np.concatenate([array, array + 10], 1)
    wanted, mine = PAIRED[name](torch.from_numpy(array)), PAIRED[name](svod.Tensor(array))
    assert isinstance(mine, svod.ValuesAndIndices)
    for part in ("values", "indices"):
        right = getattr(wanted, part).numpy()
        result = getattr(mine, part).numpy()
        assert (result.dtype, result.shape) == (right.dtype, right.shape)
        np.testing.assert_array_equal(result, right)


@pytest.mark.parametrize("name", ["cummax", "cummin", "median"])
def test_pairs_of_ties_and_nan_are_those_of_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    array = np.float32([[1, 3, 3, 0, 3], [2, NAN, 9, NAN, 1], [5, 5, 4, 4, 6]])
    wanted, mine = getattr(torch.from_numpy(array), name)(1), getattr(svod.Tensor(array), name)(1)
    np.testing.assert_array_equal(mine.values.numpy(), wanted.values.numpy())
    rows = [0, 2] if name == "median" else [0, 1, 2]
    found = np.take_along_axis(array, mine.indices.numpy().reshape(3, -1), 1).reshape(mine.values.shape)
    np.testing.assert_array_equal(found, wanted.values.numpy())
    if name != "median":
        np.testing.assert_array_equal(mine.indices.numpy()[rows], wanted.indices.numpy()[rows])


def test_by_axis_extremes_are_values() -> None:
    x = svod.Tensor(GIVEN["distinct"])
    values, indices = x.max(dim=1)
    assert values.tolist() == x.max(axis=1).tolist() == x.max(dim=(1,)).tolist() == [9, 7, 8]
    assert indices.tolist() == [3, 2, 2]
    assert svod.max(x, axis=1).tolist() == [9, 7, 8]
    assert svod.max(x, dim=1).indices.tolist() == [3, 2, 2]
    assert x.max().item() == 9
    assert x.max((0, 1)).item() == 9
    assert x.max(svod.full((3, 4), 4.0)).tolist() == np.maximum(GIVEN["distinct"], 4).tolist()
    assert x.median(axis=1).tolist() == [2, 4, 0]
    assert (x.median().item(), x.kthvalue(1, axis=1).tolist()) == (2, [1, 1, -1])
    assert x.cummax(axis=1).tolist() == np.maximum.accumulate(GIVEN["distinct"], 1).tolist()
    with pytest.raises(svod.ArgumentError):
        svod.zeros(2, 0).median(1)


def test_a_pair_passes_through_jit() -> None:
    found = svod.jit(lambda x: x.max(1))(svod.Tensor(X))
    assert (found.values.tolist(), found.indices.tolist()) == ([3, 5], [0, 1])


def torch_names(name: str) -> list[tuple[str, Any]]:
    """Names and defaults of the parameters of a function of `torch.nn.functional`."""
    torch = pytest.importorskip("torch")
    function = getattr(torch.nn.functional, name)
    if inspect.isfunction(function):
        # One that also returns indices is told apart by a flag.
        function = inspect.getclosurevars(function).nonlocals.get("if_false", function)
    try:
        parameters = inspect.signature(function).parameters.values()
        return [(p.name, p.default) for p in parameters]
    except ValueError:
        line = re.search(rf"{name}\((.*?)\) ?->", (function.__doc__ or "").replace("\n", " "))
        assert line is not None, name
        scope = {"None": None, "True": True, "False": False}
        found = []
        for one in line[1].split(","):
            if one.strip() == "*":
                continue
            key, _, value = one.partition("=")
            found.append((key.strip(), eval(value, scope) if value else inspect.Parameter.empty))
        return found


# Where a default is left out that PyTorch is about to give up.
OTHER_DEFAULTS = {("normalize", "dim")}
OF_PYTORCH = [name for name in F.__all__ if name not in (
    "adaptive_avg_pool", "avg_pool", "conv", "conv_transpose", "max_pool", "mean_pool",
    # In PyTorch functions of `torch` alone, and one without a signature.
    "alpha_dropout_", "dropout_", "feature_alpha_dropout_", "conv_tbc",
)]  # fmt: skip


@pytest.mark.parametrize("name", OF_PYTORCH)
def test_functions_have_the_arguments_of_pytorch_in_its_order(name: str) -> None:
    wanted = [(n, d) for n, d in torch_names(name) if not n.startswith("_")]
    mine = inspect.signature(getattr(F, name)).parameters.values()
    positional = [(p.name, p.default) for p in mine if p.kind is p.POSITIONAL_OR_KEYWORD and p.name[0] != "_"]
    assert [n for n, _ in positional] == [n for n, _ in wanted][: len(positional)]
    for (parameter, own), (_, theirs) in zip(positional, wanted, strict=False):
        if (name, parameter) not in OTHER_DEFAULTS:
            assert own == theirs or own is theirs, f"{name}: {parameter} is {own}, PyTorch's {theirs}"


def test_batch_norm_is_that_of_pytorch_with_running_statistics() -> None:
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).normal(2, 3, (4, 3, 5)).astype("float32")
    for name, how in (
        ("batch_norm", {"training": True, "momentum": 0.3}),
        ("batch_norm", {"training": False}),
        ("instance_norm", {"use_input_stats": True, "momentum": 0.3}),
        ("instance_norm", {"use_input_stats": False}),
    ):
        mean, variance = np.float32([1, 2, 3]), np.float32([4, 5, 6])
        theirs = [torch.from_numpy(a.copy()) for a in (x, mean, variance)]
        mine = [svod.Tensor(a) for a in (x, mean, variance)]
        right = getattr(torch.nn.functional, name)(*theirs, **how)
        np.testing.assert_allclose(getattr(F, name)(*mine, **how).numpy(), right.numpy(), rtol=1e-4, atol=1e-5)
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)


def test_normalize_and_rms_norm_are_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32") * 1e-3
    for args in ((), (1.0,), (3.0, -1)):
        right = torch.nn.functional.normalize(torch.from_numpy(x), *args).numpy()
        np.testing.assert_allclose(F.normalize(svod.Tensor(x), *args).numpy(), right, rtol=1e-5)
    right = torch.nn.functional.rms_norm(torch.from_numpy(x), (4,)).numpy()
    np.testing.assert_allclose(F.rms_norm(svod.Tensor(x), (4,)).numpy(), right, rtol=1e-5)
    with pytest.raises(svod.ArgumentError, match="dim"):
        F.softmax(svod.Tensor(x))
    q = svod.zeros(1, 2, 4)
    assert F.scaled_dot_product_attention(q, q, q, None, 0.5).shape == q.shape


def test_rms_norm_of_integers_needs_an_epsilon() -> None:
    x = svod.Tensor([[3, 4]])
    with pytest.raises(svod.DTypeError, match=r"rms_norm: a tensor of floats is expected, or `eps`, not int64"):
        F.rms_norm(x, (2,))
    np.testing.assert_allclose(F.rms_norm(x, (2,), eps=0.0).numpy(), np.array([[3, 4]]) / 12.5**0.5, rtol=1e-6)


def test_what_libraries_order_otherwise_goes_by_name() -> None:
    x = svod.Tensor(X)
    # As PyTorch has it, the divisor: `keepdim` of other folds is behind it.
    np.testing.assert_array_equal(x.std(0, False).numpy(), x.std(0, correction=0).numpy())
    # Functions too take a flag behind the axis for it, whatever their default.
    for function in (svod.std, svod.var):
        for unbiased in (False, True):
            found = function(x, 0, unbiased)
            np.testing.assert_array_equal(found.numpy(), function(x, 0, correction=int(unbiased)).numpy())


@pytest.mark.parametrize("spelling", [float, "float", np.float64, "float64", svod.float64, np.dtype(float)])
def test_float_is_float64(spelling: Any) -> None:
    assert svod.zeros(2, dtype=spelling).dtype == svod.float64
    assert svod.Tensor([1, 2]).to(spelling).dtype == svod.float64
    assert svod.asarray([1.0], dtype=spelling).dtype == svod.float64


def test_int_and_bool_are_numpy_s() -> None:
    assert (svod.zeros(2, dtype=int).dtype, svod.zeros(2, dtype=bool).dtype) == (svod.int64, svod.bool)


BINARY = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "divide": operator.truediv,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "pow": operator.pow, "equal": operator.eq,
    "not_equal": operator.ne, "less": operator.lt, "less_equal": operator.le, "greater": operator.gt,
    "greater_equal": operator.ge,
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_scalars_and_lists_are_operands_on_either_side(name: str) -> None:
    a = np.float32([[1, 2, 3], [4, 5, 6]])
    x, apply, function = svod.Tensor(a), BINARY[name], getattr(svod, name)
    for other in (2, 2.5, [1, 2, 3], (1.0, 2.0, 3.0), [[1], [2]]):
        for mine, right in (
            (apply(x, other), apply(a, np.asarray(other, np.float32))),
            (apply(other, x), apply(np.asarray(other, np.float32), a)),
            (function(x, other), apply(a, np.asarray(other, np.float32))),
            (function(other, x), apply(np.asarray(other, np.float32), a)),
        ):
            np.testing.assert_allclose(mine.numpy(), right, rtol=1e-5)
            assert mine.dtype == right.dtype


def test_scalars_on_the_left_take_the_type_that_they_meet() -> None:
    for dtype in ("int8", "float16", "float64"):
        assert svod.maximum(0, svod.ones(2, dtype=dtype)).dtype == dtype
    assert svod.maximum(0.5, svod.ones(2, dtype="int8")).dtype == svod.float32
    assert svod.maximum(2, 3).item() == 3
    assert svod.exp([0, 0]).tolist() == [1, 1]
    assert svod.sum([[1, 2], [3, 4]], axis=0).tolist() == [4, 6]


def test_membership() -> None:
    x = svod.Tensor([[1, 2], [3, 4]])
    assert 3 in x
    assert 7 not in x
    assert "a" not in x
    assert None not in x
    assert [1, 2] in x
    assert svod.Tensor(4) in x


IN_PLACE: dict[str, Callable[[Any], Any]] = {
    "add_": lambda x: x.add_(2), "sub_": lambda x: x.sub_(2), "mul_": lambda x: x.mul_(x), "div_": lambda x: x.div_(2),
    "pow_": lambda x: x.pow_(2), "remainder_": lambda x: x.remainder_(2), "fill_": lambda x: x.fill_(3),
    "zero_": lambda x: x.zero_(), "clamp_": lambda x: x.clamp_(2, 3), "neg_": lambda x: x.neg_(),
    "abs_": lambda x: x.abs_(), "exp_": lambda x: x.exp_(), "log_": lambda x: x.log_(), "sqrt_": lambda x: x.sqrt_(),
    "reciprocal_": lambda x: x.reciprocal_(), "floor_": lambda x: x.floor_(), "ceil_": lambda x: x.ceil_(),
    "round_": lambda x: x.round_(), "relu_": lambda x: x.relu_(), "sigmoid_": lambda x: x.sigmoid_(),
    "tanh_": lambda x: x.tanh_(), "floor_divide_": lambda x: x.floor_divide_(2),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_PLACE)
def test_methods_that_assign(name: str) -> None:
    torch = pytest.importorskip("torch")
    a = np.float32([[1.5, 2, 3], [4, 0.25, 6]])
    x, theirs = svod.Tensor(a), torch.from_numpy(a.copy())
    earlier = x * 1
    assert IN_PLACE[name](x) is x
    np.testing.assert_allclose(x.numpy(), IN_PLACE[name](theirs).numpy(), rtol=1e-5)
    np.testing.assert_array_equal(earlier.numpy(), a)
    view = x[0]
    with pytest.raises(svod.ArgumentError, match="view"):
        IN_PLACE[name](view)


def test_methods_that_assign_keep_type_and_shape() -> None:
    with pytest.raises(svod.DTypeError, match=r"add_.*float32.*int32"):
        svod.ones(2, dtype="int32").add_(1.5)
    with pytest.raises(svod.ShapeError, match="add_"):
        svod.ones(3).add_(svod.ones(2, 3))
    x = svod.ones(2, dtype="float16")
    assert x.add_(svod.ones(2)).dtype == svod.float16


def test_messages_say_what_to_write_instead() -> None:
    x = svod.Tensor(X)
    with pytest.raises(svod.ArgumentError, match=r"\.any\(\).*\.all\(\)"):
        bool(x > 2)
    with pytest.raises(svod.ArgumentError, match=r"\.any\(\)"):
        assert x == 1
    with pytest.raises(svod.DTypeError, match=r"\^.*logical_xor"):
        (x > 1) - (x > 2)
    with pytest.raises(svod.DTypeError, match=r"~.*logical_not"):
        operator.neg(x > 1)
    with pytest.raises(svod.DTypeError, match=r"\.int\(\)"):
        (x > 1) // (x > 2)


LAYERS: list[tuple[Callable[..., Any], tuple[int, ...], dict[str, Any]]] = [
    (svod.nn.Softmax, (2, 4), {"dim": 0}),
    (svod.nn.LogSoftmax, (2, 4), {"dim": 0}),
    (svod.nn.Softmin, (2, 4), {"dim": 0}),
    (svod.nn.GLU, (2, 4), {"dim": 0}),
    (svod.nn.Unflatten, (2, 4), {"dim": 1, "unflattened_size": (2, 2)}),
]


@pytest.mark.parametrize(("layer", "shape", "options"), LAYERS, ids=[layer[0].__name__ for layer in LAYERS])
def test_layers_take_either_spelling(
    layer: Callable[..., Any], shape: tuple[int, ...], options: dict[str, Any]
) -> None:
    x = svod.arange(8).reshape(shape).cast("float32")
    axis = {"axis" if name == "dim" else name: value for name, value in options.items()}
    np.testing.assert_array_equal(layer(**options)(x).numpy(), layer(**axis)(x).numpy())
    if layer is not svod.nn.GLU:
        with pytest.raises(svod.ArgumentTypeError, match="axis and dim"):
            layer(**options, axis=0)


def test_losses_take_either_spelling() -> None:
    x, y = svod.arange(6).reshape(2, 3).cast("float32"), svod.ones(2, 3)
    assert svod.nn.CosineSimilarity(axis=0)(x, y).tolist() == svod.nn.CosineSimilarity(dim=0)(x, y).tolist()
    assert svod.nn.PairwiseDistance(keepdims=True)(x, y).shape == (2, 1)


def test_medians_alone_are_those_beside_positions() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(2)
    for x in (rng.integers(0, 5, (3, 8)).astype(np.float32), rng.standard_normal((3, 9)), rng.integers(0, 9, (2, 5))):
        for bad in (False, True):
            given = x.copy()
            if bad and given.dtype.kind == "f":
                given[1, 2] = np.nan
            t, other = svod.Tensor(given), torch.from_numpy(given)
            np.testing.assert_array_equal(t.median().numpy(), other.median().numpy())
            np.testing.assert_array_equal(t.median(axis=1).numpy(), other.median(1).values.numpy())
            np.testing.assert_array_equal(t.median(axis=1, keepdims=True).numpy(), t.median(1, True).values.numpy())
    slopes = svod.grad(lambda t: t.median())(svod.Tensor([3.0, 1.0, 2.0, 5.0]))
    assert slopes.tolist() == [0, 0, 1, 0]
