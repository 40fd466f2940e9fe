"""Each rule of the backend for `torch.compile` against PyTorch's eager mode."""

import pytest

import svod

torch = pytest.importorskip("torch")
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

import svod.torch._backend as backend  # noqa: E402
from svod.torch._split import split  # noqa: E402
from svod.torch._table import RULES  # noqa: E402

F = torch.nn.functional


def compiled(function, *args):
    """What svod makes of a function's graph; PyTorch may run nothing of it."""

    def leaves(*args):
        return torch.utils._pytree.tree_leaves(function(*args))

    graph = make_fx(leaves, decomposition_table=backend._decompositions(), tracing_mode="fake")(*args)
    graph.graph.eliminate_dead_code()
    assert any(node.target in RULES for node in graph.graph.nodes), "the graph computes nothing"
    results = split(graph, None, strict=True)(list(args))
    return results if isinstance(results, (list, tuple)) else [results]


def close(found, expected, tolerance):
    found, expected = torch.utils._pytree.tree_leaves(found), torch.utils._pytree.tree_leaves(expected)
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert a.dtype == b.dtype and a.shape == b.shape
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


def floats(*shape, dtype=torch.float32, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def integers(*shape, low=-9, high=9, dtype=torch.int64, seed=0):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


UNARY = """
    abs neg exp exp2 log log2 sqrt rsqrt reciprocal sin cos tan tanh sigmoid erf floor ceil trunc sign relu square
    isnan isinf logical_not round
"""
SPECIAL = [0.0, -0.0, 1.0, -1.5, 0.5, 2.5, -2.5, float("inf"), -float("inf"), float("nan"), 1e-8, 30.0]


@pytest.mark.parametrize("name", sorted(set(UNARY.split())))
def test_unary_operations_of_ordinary_and_special_values(name):
    function = getattr(torch, name)
    for x in (torch.tensor(SPECIAL), torch.tensor(SPECIAL, dtype=torch.float64), floats(0, 3), floats(5, 1)):
        close(compiled(function, x), [function(x)], 1e-6)


@pytest.mark.parametrize("name", ["exp", "sqrt", "sin", "sigmoid", "erf", "abs", "neg", "sign", "logical_not"])
def test_unary_operations_of_integers_become_floats_where_pytorchs_do(name):
    function = getattr(torch, name)
    close(compiled(function, integers(3, 4)), [function(integers(3, 4))], 1e-6)


BINARY = {
    "add": lambda x, y: x + y,
    "add_alpha": lambda x, y: torch.add(x, y, alpha=3),
    "sub": lambda x, y: torch.sub(x, y, alpha=2),
    "rsub": lambda x, y: 3 - x * y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "div_floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "div_trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "remainder": torch.remainder,
    "fmod": torch.fmod,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "eq": torch.eq,
    "ne": torch.ne,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (torch.float32, torch.float32),
        (torch.float32, torch.float64),
        (torch.int64, torch.float32),
        (torch.int64, torch.int64),
        (torch.int32, torch.uint8),
        (torch.bfloat16, torch.float32),
        (torch.bfloat16, torch.bfloat16),
    ],
    ids=str,
)
def test_binary_operations_promote_as_pytorchs(name, first, second):
    x = integers(4, 3, dtype=first) if not first.is_floating_point else floats(4, 3, dtype=first)
    y = integers(3, low=1, dtype=second, seed=1) if not second.is_floating_point else floats(3, dtype=second, seed=1)
    function = BINARY[name]
    close(compiled(function, x, y), [function(x, y)], 2e-2 if torch.bfloat16 in (first, second) else 1e-5)


def test_numbers_and_tensors_without_axes_promote_weakly():
    x, half, scalar = floats(3), floats(3, dtype=torch.bfloat16), torch.tensor(2.0, dtype=torch.float64)
    for function in (lambda x: x * 2.5, lambda x: 2 - x, lambda x: x > 0, lambda x: x**2, lambda x: 2**x):
        close(compiled(function, x), [function(x)], 1e-6)
        close(compiled(function, half), [function(half)], 2e-2)
        close(compiled(function, integers(3)), [function(integers(3))], 1e-6) if function(x) is not None else None
    close(compiled(lambda x, y: x * y, half, scalar), [half * scalar], 2e-2)
    close(compiled(lambda x, y: x + y, integers(3), scalar), [integers(3) + scalar], 1e-6)


def test_exact_integers_stay_exact():
    x, y = torch.tensor([2**53 + 1, -(2**53) - 1, 7, -7]), torch.tensor([2, 3, -2, 2])
    for function in (BINARY["div_trunc"], BINARY["div_floor"], BINARY["fmod"], BINARY["remainder"]):
        close(compiled(function, x, y), [function(x, y)], 0)


def case(function, *args, tolerance=1e-5):
    return function, args, tolerance


X, Y = floats(4, 6), floats(4, 6, seed=1)
CASES = {
    "where": case(lambda x, y: torch.where(x > 0, x, y), X, Y),
    "where_number": case(lambda x: torch.where(x > 0, x, 0.5), X),
    "clamp": case(lambda x: x.clamp(-0.5, 0.5), X),
    "clamp_tensor": case(lambda x, y: torch.clamp(x, min=y), X, Y),
    "gelu": case(lambda x: F.gelu(x), X),
    "gelu_tanh": case(lambda x: F.gelu(x, approximate="tanh"), X),
    "leaky_relu": case(lambda x: F.leaky_relu(x), X),
    "elu": case(lambda x: F.elu(x), X),
    "hardtanh": case(lambda x: F.hardtanh(x), X),
    "masked_fill": case(lambda x, y: x.masked_fill(y > 0, -1.0), X, Y),
    "cast": case(lambda x: x.to(torch.int32), X * 10),
    "bits": case(lambda x, y: (x & y, x | y, x ^ y, ~x, x << 2, x >> 1), integers(5), integers(5, seed=1)),
    "full": case(lambda x: (torch.full((2, 3), 1.5) + x, torch.full_like(x, 2), x.new_zeros(4)), torch.tensor(1.0)),
    "arange": case(lambda x: (torch.arange(2, 11, 3) + x, torch.arange(0.5, 2, 0.25) + x), torch.tensor(1)),
    "views": case(lambda x: x.view(2, 12).permute(1, 0).unsqueeze(1).expand(12, 3, 2) + 1, X),
    "transposes": case(lambda x: (x.t() + 1, x.transpose(0, 1) * 2), X),
    "slices": case(lambda x: (x[1:3, ::2] + 1, x[-2:] + 1, x[:, 2] + 1, x[..., -1] + 1), X),
    "cat": case(lambda x, y: torch.cat([x, y, x * 2], 1), X, Y),
    "cat_empty": case(lambda x, y: torch.cat([x, y]), torch.empty(0), X),
    "stack": case(lambda x, y: torch.stack([x, y], -1), X, Y),
    "split": case(lambda x: [part + 1 for part in x.split([1, 2, 3], 1)], X),
    "chunk": case(lambda x: [part + 1 for part in x.chunk(4, 1)], X),
    "unbind": case(lambda x: [part + 1 for part in x.unbind(0)], X),
    "repeat": case(lambda x: x.repeat(2, 1, 3), X),
    "flip": case(lambda x: x.flip(0, 1), X),
    "roll": case(lambda x: (x.roll(2, 1), x.roll(3)), X),
    "pad": case(lambda x: (F.pad(x, (1, 2)), F.pad(x, (-1, 2, 1, -2), value=3.0)), X),
    "diagonal": case(lambda x: (x.diagonal(1) + 1, x.tril(), x.triu(1)), X),
    "unfold": case(lambda x: x.unfold(1, 3, 2) + 1, X),
    "as_strided": case(lambda x: x.as_strided((3, 2), (2, 5), 1) + 1, X),
    "slice_scatter": case(lambda x, y: torch.slice_scatter(x, y[:2], 0, 1, 3), X, Y),
    "slice_scatter_step": case(lambda x, y: torch.slice_scatter(x, y[:2], 0, 0, 4, 2), X, Y),
    "select_scatter": case(lambda x, y: torch.select_scatter(x, y[0], 0, -1), X, Y),
    "sum": case(lambda x: (x.sum(), x.sum(0), x.sum((0, 1), keepdim=True), x.sum(dtype=torch.float64)), X),
    "sum_bools": case(lambda x: ((x > 0).sum(), (x > 0).sum(1)), X),
    "mean": case(lambda x: (x.mean(), x.mean(1, keepdim=True)), X),
    "prod": case(lambda x: (x.prod(), x.prod(1)), X),
    "extrema": case(lambda x: (x.amax(1), x.amin((0, 1)), x.max(), x.min(), x.max(1), x.min(0)), X),
    "positions": case(lambda x: (x.argmax(), x.argmax(1), x.argmin(0, keepdim=True)), X),
    "any": case(lambda x: ((x > 0).any(), (x > 1).any(1), (x > 0).all(0), x.any(1, keepdim=True)), X),
    "variance": case(lambda x: (x.var(), x.var(1, correction=0), x.std(0), torch.var_mean(x, 1)), X),
    "logsumexp": case(lambda x: x.logsumexp(1), X),
    "norm": case(lambda x: [torch.linalg.vector_norm(x, p, 1) for p in (0, 1, 2, 3, float("inf"))], X),
    "scans": case(lambda x: (x.cumsum(1), x.cumprod(0), (x > 0).cumsum(0)), X),
    "sort": case(lambda x: (*x.sort(1), *x.sort(0, descending=True), *x.topk(3, 1)), X),
    "softmax": case(lambda x: (x.softmax(1), x.log_softmax(0)), X),
    "index": case(lambda x, i: (x[i] + 1, x[:, i] + 1, x[i, i] + 1), X, torch.tensor([0, -1, 2])),
    "index_put": case(lambda x, i, y: torch.index_put(x, (i,), y[:2]), X, torch.tensor([0, 2]), Y),
    "index_put_sum": case(lambda x, i: torch.index_put(x, (i,), x[:3], True), X, torch.tensor([1, -1, 1])),
    "index_put_two": case(lambda x, i: torch.index_put(x, (i, i), x[0, :3], True), X, torch.tensor([1, 1, 2])),
    "index_put_inner": case(
        lambda x, i: torch.ops.aten.index_put(x, [None, i], x[:, :3], True), X, torch.tensor([1, -1, 1])
    ),
    "index_put_mask": case(lambda x: torch.index_put(x, (x > 0,), torch.tensor(7.0)), X),
    "gather": case(lambda x, i: (x.gather(1, i), x.scatter(1, i, 9.0), x.scatter(1, i, x)), X, X.argsort(1)[:, :2]),
    "scatter_add": case(lambda x, i: x.scatter_add(1, i, x), X, torch.zeros(4, 3, dtype=torch.int64)),
    "index_select": case(lambda x, i: (x.index_select(1, i), x.index_add(0, i, x[:2])), X, torch.tensor([3, 0])),
    "embedding": case(lambda w, i: F.embedding(i, w), X, torch.tensor([[0, 3], [1, 1]])),
    "histc": case(lambda x: torch.histc(x, 5, -2, 2), X),
    "products": case(
        lambda x, y: (x @ y.t(), torch.mv(x, y[0]), torch.baddbmm(x[None], x[None], (y.t() @ y)[None])), X, Y
    ),
    "addmm": case(lambda x, y: torch.addmm(x[0, :4], x, y.t(), beta=0.5, alpha=2), X, Y),
    "conv": case(
        lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1, groups=2),
        floats(2, 4, 9, 7),
        floats(6, 2, 3, 3, seed=1),
        floats(6, seed=2),
    ),
    "conv1d": case(lambda x, w: F.conv1d(x, w, dilation=2), floats(2, 3, 11), floats(5, 3, 3, seed=1)),
    "conv_transpose": case(
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1),
        floats(2, 3, 4, 5),
        floats(3, 2, 3, 3, seed=1),
    ),
    "layer_norm": case(lambda x, y: F.layer_norm(x, (6,), y[0], y[1]), X, Y),
    "group_norm": case(lambda x, w: F.group_norm(x, 2, w, w), floats(2, 4, 5, 3), floats(4, seed=1)),
    "batch_norm": case(lambda x, w: F.batch_norm(x, w, w.abs(), w, w), floats(2, 4, 5), floats(4, seed=1)),
    "avg_pool": case(lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), floats(2, 3, 8, 7)),
    "avg_pool_inside": case(lambda x: F.avg_pool2d(x, 2, padding=1, count_include_pad=False), floats(2, 3, 8, 7)),
    "adaptive_pool": case(lambda x: F.adaptive_avg_pool2d(x, (3, 2)), floats(2, 3, 8, 7)),
    "max_pool": case(lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), floats(2, 3, 8, 7)),
    "attention": case(
        lambda q, k: F.scaled_dot_product_attention(q, k, k, is_causal=True), floats(1, 2, 5, 8), floats(1, 2, 5, 8)
    ),
    "attention_mask": case(
        lambda q, k: F.scaled_dot_product_attention(q, k, k, attn_mask=(q @ k.mT) * 0.1),
        floats(1, 2, 5, 8),
        floats(1, 2, 5, 8, seed=1),
    ),
    "attention_shared": case(
        lambda q, k: F.scaled_dot_product_attention(q, k, k * 2, enable_gqa=True),
        floats(2, 6, 5, 8),
        floats(2, 2, 7, 8),
    ),
    "attention_nothing_seen": case(
        lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m > 0),
        floats(1, 2, 5, 8),
        torch.tensor([0, 1, 1, 1, 1]).reshape(5, 1) * torch.ones(5, 5),
    ),
    "interpolate": case(
        lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x, (7, 5), mode="bilinear")), floats(1, 2, 4, 3)
    ),
    "scatter_reduce": case(
        lambda x, at: tuple(
            x.scatter_reduce(1, at, x * 2, how, include_self=own)
            for how in ("sum", "prod", "amax", "amin", "mean")
            for own in (True, False)
        ),
        X,
        integers(4, 3, low=0, high=6),
    ),
    "searchsorted": case(
        lambda x, y: (
            torch.searchsorted(x, y),
            torch.searchsorted(x, y, right=True),
            torch.searchsorted(x, y, out_int32=True),
        ),
        torch.arange(5.0),
        torch.tensor([[0.0, 2.5], [4.0, 7.0]]),
    ),
    "logcumsumexp": case(lambda x: (x.logcumsumexp(1), (x * 100).logcumsumexp(0)), X),
    "no_axes": case(lambda x: (x.sum(), x.softmax(0), x.max(), x.cumsum(0), x.reshape(1) + 1), torch.tensor(2.0)),
    "no_elements": case(lambda x: (x.sum(0), x @ x.t(), torch.cat([x, x]) + 1), torch.empty(0, 3)),
    "strides": case(lambda x, y: (x.t() * y.t(), x[:, ::2] + 1), X.t().contiguous().t(), Y[:, [0, 2, 4, 1, 3, 5]]),
}


@pytest.mark.parametrize("name", CASES)
def test_operations(name):
    function, args, tolerance = CASES[name]
    results = function(*args)
    close(compiled(function, *args), results, tolerance)


GRADIENTS = {
    "conv": (lambda x, w: F.conv2d(x, w, stride=2, padding=1), (floats(2, 3, 7, 6), floats(4, 3, 3, 3, seed=1))),
    "conv_groups": (lambda x, w: F.conv1d(x, w, groups=3), (floats(2, 3, 7), floats(3, 1, 3, seed=1))),
    "conv_transpose": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2),
        (floats(2, 3, 4, 3), floats(3, 2, 3, 3, seed=1)),
    ),
    "max_pool": (lambda x: F.max_pool2d(x, 2), (floats(2, 3, 6, 6),)),
    "avg_pool": (lambda x: F.avg_pool2d(x, 3, 2, 1), (floats(2, 3, 6, 6),)),
    "adaptive_pool": (lambda x: F.adaptive_avg_pool2d(x, 2), (floats(2, 3, 6, 5),)),
    "layer_norm": (lambda x, w: F.layer_norm(x, (6,), w, w), (X, floats(6, seed=1))),
    "group_norm": (lambda x, w: F.group_norm(x, 2, w, w), (floats(2, 4, 5), floats(4, seed=1))),
    "softmax": (lambda x: x.softmax(1) * x.log_softmax(0), (X,)),
    "gelu": (lambda x: F.gelu(x) + F.silu(x), (X,)),
    "embedding": (lambda w: F.embedding(torch.tensor([1, 3, 1]), w, padding_idx=3), (X,)),
    "index": (lambda x: x[torch.tensor([0, 1, 1])] * x[:, torch.tensor([2, 2, 0, 1, 1, 1])][:3], (X,)),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        (floats(1, 2, 5, 8), floats(1, 2, 5, 8, seed=1), floats(1, 2, 5, 8, seed=2)),
    ),
    "attention_shared": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True),
        (floats(2, 6, 5, 8), floats(2, 2, 5, 8, seed=1), floats(2, 2, 5, 8, seed=2)),
    ),
    "attention_mask": (
        lambda q, k: F.scaled_dot_product_attention(q, k, k, attn_mask=torch.ones(5, 5).tril().bool()),
        (floats(1, 2, 5, 8), floats(1, 2, 5, 8, seed=1)),
    ),
    "losses": (
        lambda x, y: F.cross_entropy(x, torch.tensor([0, 3, 5, 1])) + F.mse_loss(x, y) + F.l1_loss(x, y),
        (X, Y),
    ),
    "weight_norm": (lambda v, g: torch._weight_norm(v, g, 0), (floats(4, 3, 2), floats(4, 1, 1, seed=1))),
    "sorted": (lambda x: x.sort(1)[0] * x.cumsum(1) + x.amax(1, keepdim=True), (X,)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    function, args = GRADIENTS[name]

    def gradients(*args):
        leaves = [arg.detach().clone().requires_grad_() for arg in args]
        result = function(*leaves)
        weights = torch.linspace(-1, 1, result.numel()).reshape(result.shape)
        return torch.autograd.grad((result * weights).sum(), leaves)

    close(compiled(gradients, *args), gradients(*args), 1e-5)


def test_what_a_rule_does_not_know_is_refused():
    x = floats(3, 3)
    graph = make_fx(lambda x: x[x > 0], tracing_mode="real")(x)
    with pytest.raises(svod.UnsupportedError, match="mask"):
        split(graph, None, strict=True)
