"""`torch.compile(backend="svod")` on a GPU: as it is where PyTorch has one, else its graphs on a simulated one.

A PyTorch for CPUs traces graphs, which are told here that they are on a GPU, and are run with svod's own tensors.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

torch = pytest.importorskip("torch")
if "SVOD_CUDA" not in os.environ and "CUDA:0" not in svod.devices():
    os.environ["SVOD_CUDA"] = "sim:sm_90"

from torch import nn  # noqa: E402
from torch._functorch.aot_autograd import make_boxed_func  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.fx import Graph, GraphModule  # noqa: E402

from svod.torch._program import Program  # noqa: E402

CUDA = torch.device("cuda:0")
aten = torch.ops.aten


def moved(value: Any, mode: FakeTensorMode) -> Any:
    """What PyTorch knows of a tensor on the host, of the same on a GPU."""
    if isinstance(value, (list, tuple)):
        return type(value)(moved(one, mode) for one in value)
    if not isinstance(value, torch.Tensor):
        return value
    with mode:
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=CUDA)


def on_gpu(module: GraphModule) -> GraphModule:
    """A graph for the host as PyTorch traces it for a GPU."""
    mode = FakeTensorMode()
    for node in module.graph.nodes:
        if "val" in node.meta:
            node.meta["val"] = moved(node.meta["val"], mode)
        if "device" in node.kwargs:
            node.kwargs = {**node.kwargs, "device": CUDA}
    return module


def computed(module: GraphModule, args: list[Any]) -> dict[int, Any]:
    """What a program for a GPU gives, of PyTorch's tensors on the host, by the number of the result."""
    program = Program(module)
    program.prepare()
    (version,) = program._versions
    laid = [arg.detach().permute(order).contiguous() for arg, order in zip(args, version.orders, strict=True)]
    given = [svod.Tensor(arg.numpy(), device="CUDA") for arg in laid]
    results = version.plan.run(*given, *program._keys(version.keys))
    assert all(result.device == "CUDA:0" for result in results)
    found = {at: torch.tensor(result.numpy()) for at, result in zip(program._computed, results, strict=True)}
    orders = {at: order for at, order in program._orders.items() if order is not None}
    return {
        at: x.permute([orders[at].index(i) for i in range(x.ndim)]) if at in orders else x for at, x in found.items()
    }


def traced(function: Callable[..., Any], *args: Any) -> list[GraphModule]:
    """The graphs of PyTorch's core operations that a function's calls have, forward and backward."""
    from torch._dynamo.backends.common import aot_autograd

    from svod.torch._backend import _decompositions

    graphs: list[GraphModule] = []

    def kept(graph: GraphModule, _: Any) -> Any:
        graphs.append(graph)
        return make_boxed_func(graph)

    torch._dynamo.reset()
    backend = aot_autograd(
        fw_compiler=kept, bw_compiler=kept, inference_compiler=kept, decompositions=_decompositions()
    )
    result = torch.compile(function, backend=backend, fullgraph=True, dynamic=False)(*args)
    if isinstance(result, torch.Tensor) and result.requires_grad:
        result.backward()
    return graphs


def check(graph: GraphModule, args: list[Any]) -> None:
    """A graph on the GPU gives what PyTorch gives on the host."""
    wanted = torch.fx.Interpreter(graph).run(*args)
    found = computed(on_gpu(graph), args)
    assert found
    for at, value in found.items():
        np.testing.assert_allclose(value.numpy(), wanted[at].detach().numpy(), 1e-4, 1e-5)


def operands(graph: GraphModule, seed: int = 0) -> list[Any]:
    torch.manual_seed(seed)
    of = [node.meta["val"] for node in graph.graph.nodes if node.op == "placeholder"]
    return [
        torch.randn(fake.shape, dtype=fake.dtype) if fake.dtype.is_floating_point else torch.randint(0, 3, fake.shape)
        for fake in of
    ]


class Net(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.LayerNorm(12), nn.Linear(12, 5))

    def forward(self, x: Any) -> Any:
        return self.inner(x)


def test_a_model_is_computed_on_the_gpu() -> None:
    x = torch.randn(7, 6)
    with torch.no_grad():
        (graph,) = traced(Net().eval(), x)
    check(graph, operands(graph))


def test_gradients_are_computed_on_the_gpu() -> None:
    model = Net()

    def loss(x: Any) -> Any:
        return model(x).square().mean()

    forward, backward = traced(loss, torch.randn(7, 6))
    for graph in (forward, backward):
        check(graph, operands(graph))


def test_what_a_graph_makes_itself_is_on_the_gpu() -> None:
    def f(x: Any) -> tuple[Any, ...]:
        n = x.shape[0]
        return (
            torch.arange(n, device=x.device),
            torch.ones(3, device=x.device),
            x[torch.tensor([1, 0])] + torch.tensor(2.0),
        )

    with torch.no_grad():
        (graph,) = traced(f, torch.randn(4, 3))
    mode = FakeTensorMode()
    placed = on_gpu(graph)
    # Constants stay where the program has them.
    for node in placed.graph.nodes:
        if node.op == "get_attr" and isinstance(node.meta.get("val"), torch.Tensor):
            with mode:
                node.meta["val"] = torch.empty(node.meta["val"].shape, dtype=node.meta["val"].dtype)
    x = torch.randn(4, 3)
    first, second, third = computed(placed, [x]).values()
    assert first.tolist() == [0, 1, 2, 3] and second.tolist() == [1, 1, 1]
    np.testing.assert_allclose(third.numpy(), (x[[1, 0]] + 2).numpy(), 1e-6)


def attention_graph(forward: Any, kind: str, q: Any, k: Any, v: Any, bias: Any, causal: bool) -> GraphModule:
    """The operation that PyTorch takes for attention on a GPU, with its results as its documentation has them."""
    mode = FakeTensorMode()
    graph = Graph()
    given = [q, k, v] if bias is None else [q, k, v, bias]
    places = []
    for number, tensor in enumerate(given):
        node = graph.placeholder(f"x{number}")
        node.meta["val"] = moved(tensor, mode)
        places.append(node)
    batch, heads, rows, _ = q.shape
    with mode:
        out = torch.empty(q.shape, dtype=q.dtype, device=CUDA)
        padded = (rows + 31) // 32 * 32 if kind == "efficient" else rows
        shape = (batch, heads, rows, 1) if kind == "cudnn" else (batch, heads, padded)
        statistics = torch.empty(shape, dtype=torch.float32, device=CUDA)
        seed = torch.empty((), dtype=torch.int64, device=CUDA)
        states = torch.empty((2,), dtype=torch.uint64, device=CUDA)
    if kind == "flash":
        call = graph.call_function(forward, (*places, 0.0, causal))
        call.meta["val"] = (out, statistics, None, None, rows, k.shape[-2], states, seed, seed)
    elif kind == "efficient":
        call = graph.call_function(forward, (*places[:3], None if bias is None else places[3], True, 0.0, causal))
        call.meta["val"] = (out, statistics, seed, seed)
    else:
        call = graph.call_function(forward, (*places[:3], None if bias is None else places[3], True, 0.0, causal))
        call.meta["val"] = (out, statistics, None, None, rows, k.shape[-2], seed, seed, seed)
    parts = []
    for number in (0, 1):
        part = graph.call_function(operator.getitem, (call, number))
        part.meta["val"] = call.meta["val"][number]
        parts.append(part)
    graph.output(tuple(parts))
    return GraphModule(torch.nn.Module(), graph)


FORWARD = {
    "flash": "_scaled_dot_product_flash_attention",
    "efficient": "_scaled_dot_product_efficient_attention",
    "cudnn": "_scaled_dot_product_cudnn_attention",
}


@pytest.mark.parametrize("kind", list(FORWARD))
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_attention_is_what_pytorch_takes_on_a_gpu(kind: str, causal: bool, masked: bool) -> None:
    if masked and (causal or kind == "flash"):
        pytest.skip("PyTorch has no such call")
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 3, 5, 8) for _ in range(3))
    bias = torch.randn(2, 3, 5, 5) if masked else None
    graph = attention_graph(getattr(aten, FORWARD[kind]).default, kind, q, k, v, bias, causal)
    out, statistics = computed(graph, [q, k, v] if bias is None else [q, k, v, bias]).values()
    scores = q @ k.mT / 8**0.5 + (0 if bias is None else bias)
    if causal:
        scores = scores.masked_fill(torch.ones(5, 5, dtype=torch.bool).triu(1), float("-inf"))
    np.testing.assert_allclose(out.numpy(), (scores.softmax(-1) @ v).numpy(), 1e-4, 1e-5)
    found = statistics.reshape(2, 3, -1)[..., :5]
    np.testing.assert_allclose(found.numpy(), scores.logsumexp(-1).numpy(), 1e-4, 1e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch has no GPU here")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_compiled_models_are_pytorchs(dtype: Any) -> None:
    torch.manual_seed(0)
    model = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True).to(CUDA, dtype)
    compiled = torch.compile(model, backend="svod")
    tolerance = 1e-4 if dtype == torch.float32 else 3e-2
    for _ in range(3):
        x = torch.randn(3, 17, 64, device=CUDA, dtype=dtype, requires_grad=True)
        wanted, found = model(x), compiled(x)
        torch.testing.assert_close(found, wanted, rtol=tolerance, atol=tolerance)
        (gradient,) = torch.autograd.grad(wanted.square().sum(), x)
        (other,) = torch.autograd.grad(found.square().sum(), x)
        torch.testing.assert_close(other, gradient, rtol=10 * tolerance, atol=10 * tolerance)
