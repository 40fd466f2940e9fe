"""What plans tell about themselves: the user's lines, the graph as text, the analysis of kernels."""

from __future__ import annotations

import inspect
import json
import os
import platform
import subprocess
import sys
import threading
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np
import pytest

import svod
import svod.analysis
from svod import nn

HERE = Path(__file__).name


def line() -> int:
    """The line that calls this."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def origins(plan: svod.ExecutionPlan) -> set[tuple[str, int, str | None]]:
    return {(Path(file).name, at, module) for k in plan.kernels for file, at, module in k.origins}


class Block(nn.Module):
    def __init__(self) -> None:
        self.norm = nn.LayerNorm(8)
        self.heads = [nn.Linear(8, 8), nn.Linear(8, 8)]
        svod.realize(*self.parameters())

    def __call__(self, x: svod.Tensor) -> svod.Tensor:
        self.first = line() + 1
        h = self.norm(x)
        return self.heads[0](h) + self.heads[1](h)


def test_kernels_name_lines_and_modules() -> None:
    block, x = Block(), svod.Tensor(np.ones((4, 8), np.float32))
    last = line() + 1
    y = block(x).softmax(-1)
    found = origins(y.prepare(inputs=[x]))
    first = block.first
    assert (HERE, first, "Block.norm") in found
    assert {(HERE, first + 1, f"Block.heads.{i}") for i in (0, 1)} <= found
    assert {(HERE, first + 1, "Block"), (HERE, last, None)} <= found
    assert len(found) == 5


def test_a_kernel_names_first_what_it_is_for() -> None:
    """The product or norm, not what was fused into it; constants of several layers are one node, and nobody's."""

    class Layer(nn.Module):
        def __init__(self) -> None:
            self.norm, self.up = nn.LayerNorm(8), nn.Linear(8, 8)

        def __call__(self, x: svod.Tensor) -> svod.Tensor:
            return x + nn.functional.gelu(self.up(self.norm(x)))

    class Net(nn.Module):
        def __init__(self) -> None:
            self.layers = [Layer(), Layer()]
            self.head = nn.Linear(8, 3)
            svod.realize(*self.parameters())

        def __call__(self, x: svod.Tensor) -> svod.Tensor:
            for layer in self.layers:
                x = layer(x)
            return self.head(x).softmax(-1)

    net, x = Net(), svod.Tensor(np.ones((40, 8), np.float32))
    plan = net(x).prepare(inputs=[x])
    first = [kernel.origins[0][2] for kernel in plan.kernels]
    layers = [f"Net.layers.{i}.{part}" for i in (0, 1) for part in ("norm", "up")]
    assert first == [*layers, "Net.head", "Net"]
    for kernel, path in zip(plan.kernels[:4], layers, strict=True):
        layer = path.rsplit(".", 1)[0]
        assert all(module in ("Net", None) or module.startswith(layer) for _, _, module in kernel.origins)
        assert path in str(plan) and path in plan.explain()


def test_a_cached_schedule_names_the_lines_of_the_graph_it_is_used_for() -> None:
    def one(x: svod.Tensor) -> svod.Tensor:
        return (x * 3).exp()

    def other(x: svod.Tensor) -> svod.Tensor:
        return (x * 3).exp()

    plans = []
    for function in (one, other):
        x = svod.Tensor(np.ones(7, np.float32))
        plans.append((function(x).prepare(inputs=[x]), function.__code__.co_firstlineno + 1))
    for plan, at in plans:
        assert origins(plan) == {(HERE, at, None)}
    assert plans[0][0].kernels[0].source == plans[1][0].kernels[0].source


def test_kernels_inside_of_jitted_functions_and_loops_name_their_lines() -> None:
    block, x = Block(), svod.Tensor(np.ones((4, 8), np.float32))
    head = nn.Linear(8, 8)
    svod.realize(*block.parameters(), *head.parameters())
    lines: dict[str, int] = {}

    def step(i: svod.Size, v: svod.Tensor) -> svod.Tensor:
        lines["step"] = line() + 1
        return head(block(v)) * i + v

    def outer(i: svod.Size, v: svod.Tensor) -> svod.Tensor:
        lines["outer"] = line() + 1
        return svod.iterate(2, step, v).exp()

    @svod.jit
    def whole(x: svod.Tensor) -> svod.Tensor:
        lines["whole"] = line() + 1
        return svod.iterate(3, outer, x).softmax(-1)

    found = origins(whole.plan(x))
    assert {(HERE, block.first, "Block.norm"), (HERE, lines["step"], "Linear")} <= found
    assert {(HERE, block.first + 1, f"Block.heads.{i}") for i in (0, 1)} <= found
    assert {(HERE, lines["step"], None), (HERE, lines["outer"], None), (HERE, lines["whole"], None)} <= found


def test_kernels_of_all_shards_name_lines() -> None:
    x = svod.Tensor(np.ones((6, 4), np.float32)).shard(["CPU", "CPU:1"], 0)
    at = line() + 1
    plan = (x * 2).sum(1).prepare(inputs=[x])
    assert len(plan.kernels) == 2
    assert [[at for _, at, _ in kernel.origins] for kernel in plan.kernels] == [[at], [at]]
    assert [text in str(plan) for text in ("CPU:1", "=written")] == [True, True]


def test_plans_and_errors_name_lines() -> None:
    x, i = svod.Tensor(np.ones(4, np.float32)), svod.Tensor(np.arange(4))
    at = line() + 1
    y = x.take(i * 2)
    plan = y.prepare(inputs=[i])
    assert f"{HERE}:{at}" in str(plan)
    with pytest.raises(svod.IndexError, match=f"{HERE}:{at}: a computed index"):
        plan.execute()


def test_modules_are_told_apart_by_thread_and_left_on_errors() -> None:
    class Fails(nn.Module):
        def __call__(self, x: svod.Tensor) -> svod.Tensor:
            return x.reshape(5)

    with pytest.raises(svod.ShapeError):
        Fails()(svod.zeros(4))
    found = []

    def work() -> None:
        x = svod.Tensor(np.ones(3, np.float32))
        found.append(origins((x + 1).prepare(inputs=[x])))

    class Waits(nn.Module):
        def forward(self) -> None:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()

    Waits().forward()
    assert [module for _, _, module in found[0]] == [None]


def bare(graph: svod.Graph) -> list[str]:
    """Its lines without the places that made the nodes: constants that other graphs share have those of the first."""
    return [line.split("  #")[0] for line in str(graph).splitlines()]


def test_e2_the_text_of_a_graph_parses_back_to_the_same_nodes() -> None:
    n = svod.Variable("n", 1, 4)
    x = svod.Tensor(np.arange(12, dtype=np.float32).reshape(4, 3))
    y, z = (x[: n.bind(2)] + 1).softmax(-1), x.T.cumsum(0).sort()[0]
    graph = svod.Graph(y, z)
    again = svod.Graph.parse(str(graph), graph.leaves)
    assert again == graph and hash(again) == hash(graph) and str(again) == str(graph)
    np.testing.assert_array_equal(again.roots[1].numpy(), z.numpy())
    without = svod.Graph.parse(str(graph))
    assert bare(without) == bare(graph) and without != graph
    with pytest.raises(svod.Error, match="without its leaves"):
        without.roots[0].realize()


def test_e2_loops_and_functions_parse_back() -> None:
    n = svod.Variable("n", 1, 4)
    x = svod.Tensor(np.arange(12, dtype=np.float32).reshape(4, 3))[: n.bind(3)].realize()

    def body(i: svod.Size, a: svod.Tensor, b: svod.Tensor) -> tuple[svod.Tensor, svod.Tensor]:
        a = svod.iterate(2, lambda j, a: svod.custom(np.sort, a + i * j), a)
        return a + x.exp(), b + a.sum()

    values = svod.iterate(range(1, 4), body, x * 2, svod.Tensor(0.0))
    low, high = svod.custom(lambda a: (a.min(axis=0), a.max(axis=0)), values[0], shape=[(3,), (3,)], name="extremes")
    graph = svod.Graph(low, high, *values)
    assert {name: f.name for name, f in graph.functions.items()} == {"sort": "sort", "extremes": "extremes"}
    again = svod.Graph.parse(str(graph), graph.leaves, graph.functions)
    # The text has no lines of programs.
    assert again == graph and hash(again) == hash(graph)
    assert str(svod.Graph.parse(str(again), again.leaves, again.functions)) == str(again)
    # Other functions of these names.
    calls = {"sort": lambda a: -np.sort(-a), "extremes": lambda a: (a.max(axis=0), a.min(axis=0))}
    other = svod.Graph.parse(str(graph), graph.leaves, calls)
    assert other != graph
    largest, smallest = (root.numpy() for root in other.roots[:2])
    assert (largest > smallest).all()
    for root, value in zip(again.roots, (low, high, *values), strict=True):
        np.testing.assert_array_equal(root.numpy(), value.numpy())
    with pytest.raises(svod.ArgumentError, match="no function is given for 'extremes'"):
        svod.Graph.parse(str(graph), graph.leaves, {"sort": np.sort})
    assert bare(svod.Graph.parse(str(graph))) == bare(graph)
    with pytest.raises(svod.UnsupportedError, match="sort, which is declared only"):
        svod.Graph.parse(str(graph), graph.leaves).roots[2].realize()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%0: f32[2] = lief\nreturn %0", "1:14: no operation is named 'lief'"),
        ("%0: f32[] = const value=f32(1.0)\n%1: f32[2] = exp %0\nreturn %1", r"2:14: it is f32\[\], not f32\[2\]"),
        ("%0: f32[] = const value=f32(1.0)\n", "2:1: expected 'return'"),
    ],
)
def test_e2_a_text_that_is_no_graph_says_where(text: str, message: str) -> None:
    with pytest.raises(svod.ArgumentError, match=message):
        svod.Graph.parse(text)


def model() -> tuple[svod.ExecutionPlan, int]:
    rng = np.random.default_rng(0)
    x = svod.Tensor(rng.standard_normal((64, 96), np.float32))
    w = svod.Tensor(rng.standard_normal((96, 128), np.float32))
    at = line() + 1
    y = (x @ w).softmax(-1).sum(0)
    return y.prepare(inputs=[x], planner="disabled"), at


def test_e3_items_have_spaces_memory_and_dependencies() -> None:
    plan, at = model()
    analysis = plan.analysis()
    assert json.loads(json.dumps(analysis)) == analysis
    items, buffers = analysis["items"], analysis["buffers"]
    kernels = [item for item in items if "kernel" in item["what"]]
    assert [item["name"] for item in kernels] == [kernel.name for kernel in plan.kernels]
    barriers = [item for item in items if "kernel" not in item["what"]]
    assert len(barriers) == len(kernels) - 1 and len(kernels) > 1
    assert {json.dumps(item["what"]) for item in barriers} == {
        json.dumps({"synchronization": {"what": "barrier", "scope": "device"}})
    }
    product = items[0]["what"]["kernel"]
    roles = {axis["name"]: (axis["extent"], axis["role"]) for axis in product["space"]["axes"]}
    assert ("96", "reduction") in roles.values() and ("128", "normal") in roles.values()
    assert len(product["space"]["tiles"]) == len(roles)
    assert {loop["axis"] for loop in product["space"]["mapping"]} == set(range(len(roles)))
    assert product["reductions"][0]["by"] == "sum" and product["schedule"]
    assert any("vectorize" in hint for item in kernels for hint in item["what"]["kernel"]["hints"])
    for i, item in enumerate(items):
        assert all(before < i for before in item["data"] + item["control"])
        assert item["origins"] == ([f"{__file__}:{at}"] if item in kernels else [])
        for buffer in item["reads"] + item["writes"]:
            first, last = buffers[buffer]["lifetime"]
            assert first <= i <= last
    assert (kernels[1]["data"], kernels[1]["control"]) == ([0], [1]), "the product, and the barrier after it"
    assert sum(buffer["output"] for buffer in buffers) == 1
    assert all(buffer["scope"] == "global" and buffer["layout"]["alignment"] >= 16 for buffer in buffers)
    out = next(buffer for buffer in buffers if buffer["output"])
    assert (out["layout"]["shape"], out["layout"]["strides"], out["bytes"]) == (["128"], ["1"], 512)


def test_e4_work_time_and_memory_are_estimated_and_measured() -> None:
    plan, _ = model()
    first = plan.analysis()
    assert first["measured_total_ns"] is None and first["items"][0]["analysis"]["measured_ns"] is None
    costs = first["items"][0]["analysis"]
    # Padding of the tile counts as well.
    assert 2 * 64 * 96 * 128 <= costs["flops"] <= 3 * 64 * 96 * 128
    assert costs["bytes_written"] >= 4 * 64 * 128
    for costs in (item["analysis"] for item in first["items"] if item["analysis"] is not None):
        assert 0 <= costs["occupancy"] <= 1 and costs["registers"] >= 0 and costs["scratch_bytes"] >= 0
        assert 0 < costs["least_ns"] <= costs["estimated_ns"] * 1.5
    path = first["critical_path"]
    costs_on_path = [first["items"][i]["analysis"] for i in path]
    total = sum(1 if costs is None else max(1, costs["estimated_ns"]) for costs in costs_on_path)
    assert first["estimated_total_ns"] == pytest.approx(total)
    assert 0 < first["peak_bytes"] <= first["held_bytes"]
    plan.execute_profiled()
    assert plan.analysis()["items"][0]["analysis"]["measured_ns"] > 0


def test_e4_flops_bytes_and_peak_by_hand() -> None:
    x = svod.Tensor(np.ones((64, 32), np.float32))
    plan = (x * 2 + 1).sum(1).cumsum(0).prepare(inputs=[x], planner="disabled")
    analysis = plan.analysis()
    assert [item["context"]["stream"] for item in analysis["items"]] == [0, 1, 1]
    first, _, second = (item["analysis"] for item in analysis["items"])
    # A product and two sums for each element, and some to combine the running sums; then a sum for each row.
    assert 3 * 64 * 32 <= first["flops"] <= 4 * 64 * 32 and second["flops"] == 64
    assert (first["bytes_read"], first["bytes_written"]) == (4 * 64 * 32, 4 * 64)
    assert (second["bytes_read"], second["bytes_written"]) == (4 * 64, 4 * 64)
    # The input lives throughout, beside the sums and the result.
    assert analysis["peak_bytes"] == 4 * (64 * 32 + 64 + 64) == analysis["held_bytes"]
    assert analysis["critical_path"] == [0, 1, 2]
    (found,) = analysis["opportunities"]
    assert (found["producer"], found["consumer"], found["kind"]) == (0, 2, "mixed")
    assert found["bytes_saved"] == 2 * 4 * 64


def test_e4_what_might_be_fused_is_told() -> None:
    plan, _ = model()
    found = plan.analysis()["opportunities"]
    assert found and found[0]["kind"] in {"elementwise", "reduction", "mixed"}
    # The maxima and the sums of the rows, which the last kernel reads.
    assert found[0]["bytes_saved"] == 2 * 2 * 4 * 64 and 0 < found[0]["benefit"] <= 1


def fits(value: Any, kind: Any) -> bool:
    """Whether a value has a type of `svod.analysis`."""
    if is_typeddict(kind):
        if not isinstance(value, dict):
            return False
        hints = get_type_hints(kind)
        known = set(value) == set(hints) if kind.__total__ else set(value) <= set(hints)
        return known and all(fits(item, hints[key]) for key, item in value.items())
    origin, args = get_origin(kind), get_args(kind)
    if origin is Literal:
        return value in args
    if origin in (Union, types.UnionType):
        return any(fits(value, arg) for arg in args)
    if origin is list:
        return isinstance(value, list) and all(fits(item, args[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(k, args[0]) and fits(v, args[1]) for k, v in value.items())
    return isinstance(value, (int, float) if kind is float else kind)


def test_e3_analyses_have_the_types_that_are_told() -> None:
    x = svod.Tensor(np.ones((64, 32), np.float32))
    other = svod.Tensor(np.ones((64, 32), np.float32), device="CPU:1")
    y = svod.custom(np.sort, x @ x.T).softmax(-1) + svod.iterate(2, lambda i, a: a * i, (other.to("CPU") + 1).sum(1))
    plan = y.prepare(inputs=[x, other])
    plan.execute_profiled()
    analysis = plan.analysis()
    assert fits(analysis, svod.analysis.Analysis)
    found = {
        what if isinstance(what, str) else next(iter(what)) for what in (item["what"] for item in analysis["items"])
    }
    assert found == {"kernel", "transfer", "synchronization", "host_callback"}
    assert not fits(analysis | {"items": [{}]}, svod.analysis.Analysis)


def test_e4_what_cores_pack_is_shared() -> None:
    rng = np.random.default_rng(0)
    a, b = (svod.Tensor(rng.standard_normal((512, 512), np.float32)) for _ in range(2))
    analysis = (a @ b).prepare(inputs=[a, b]).analysis()
    one, eight, many = (sum(item["analysis"]["packed_bytes"][i] for item in analysis["items"]) for i in range(3))
    # Both operands at least once, each of them at most a few times over.
    assert 2 * 4 * 512 * 512 <= one <= 8 * 4 * 512 * 512
    assert many <= eight < one


def test_e4_an_empty_plan_has_an_empty_path() -> None:
    analysis = svod.zeros(3).prepare().analysis()
    assert (analysis["items"], analysis["critical_path"], analysis["estimated_total_ns"]) == ([], [], 0)
    assert "0 kernels" in svod.zeros(3).prepare().explain()


def test_e4_explain_is_a_table() -> None:
    plan, at = model()
    plan.execute_profiled()
    text = plan.explain()
    assert plan.kernels[0].name in text and f"{HERE}:{at}" in text
    assert all(word in text for word in ("estimate", "measured", "roofline", "flops", "memory:", "might be fused"))


def test_e6_estimates_follow_the_values_of_variables() -> None:
    n = svod.Variable("n", 1, 1024)
    x = svod.Tensor(np.ones((1024, 64), np.float32))
    plan = (x[: n.bind(8)] * 2).exp().sum(1).prepare()
    flops = []
    for rows in (8, 1024):
        plan.execute(n=rows)
        flops.append(plan.analysis()["items"][0]["analysis"]["flops"])
    assert flops[1] >= 64 * flops[0]
    assert any(axis["extent"] == "n" for axis in plan.analysis()["items"][0]["what"]["kernel"]["space"]["axes"])


def test_e3_one_number_of_an_operation_everywhere() -> None:
    x = svod.Tensor(np.ones((6, 4), np.float32)).shard(["CPU", "CPU:1"], 0)
    plan = ((x * 2).sum(0).sort()[0].cumsum(0) @ svod.ones(4, 3).to("CPU").shard(["CPU", "CPU:1"])).prepare(inputs=[x])
    profile = plan.execute_profiled()
    items = [item for item in plan.analysis()["items"] if item["op"] is not None]
    by_op = {item["op"]: item["name"] for item in items}
    assert sorted(by_op) == list(range(len(items)))
    listed = [line.split() for line in str(plan).splitlines() if line.split(" ")[0] == "" and line.split()[0].isdigit()]
    assert {int(cells[0]): cells[2] for cells in listed} == by_op
    assert {kernel.op: kernel.name for kernel in plan.kernels}.items() <= by_op.items()
    assert {timing.op: timing.name for timing in [*profile.kernels, *profile.others]} == by_op
    table = [line.split() for line in plan.explain().splitlines()[1 : len(items) + 1]]
    assert [int(cells[0].lstrip("*")) for cells in table] == [item["op"] for item in items]
    assert {"CPU", "CPU:1"} <= {cell for cells in table for cell in cells}
    assert [profile[-1].op, *(t.op for t in profile[:2])] == [profile.kernels[i].op for i in (-1, 0, 1)]
    with pytest.raises(svod.IndexError):
        profile[-len(profile) - 1]


def test_e3_explain_tells_all_of_an_operation() -> None:
    n = svod.Variable("n", 1, 512)
    x, w = svod.empty(n, 64), svod.Tensor(np.ones((64, 96), np.float32))
    plan = ((x @ w).softmax(-1) * 2).prepare(inputs=[x], skip="merge")
    plan.execute(np.ones((5, 64), np.float32))
    texts = [plan.explain(kernel.op) for kernel in plan.kernels]
    for label in ("from", "axis", "tasks", "reduces", "hints", "uses", "work", "time", "reads", "writes", "schedule"):
        assert any(f"\n  {label} " in text for text in texts), label
    assert "strides [" in texts[0] and "registers" in texts[0] and "on CPU, level 0" in texts[0]
    with pytest.raises(svod.IndexError, match="op 99 of a plan with"):
        plan.explain(99)


def test_e4_everything_follows_the_present_sizes() -> None:
    n = svod.Variable("n", 1, 4096)
    x = svod.empty(n, 64)
    plan = (x.cumsum(1).sort(1)[0] * 2).prepare(inputs=[x])
    found: dict[int, tuple[float, list[int]]] = {}
    for count in (4, 4096):
        plan.execute(np.ones((count, 64), np.float32))
        analysis = plan.analysis()
        tasks = [
            int(np.prod([int(size) for size in launch]))
            for item in analysis["items"]
            if isinstance(item["what"], dict) and "kernel" in item["what"]
            for launch in item["what"]["kernel"]["launches"]
        ]
        found[count] = (sum(pair["bytes_saved"] for pair in analysis["opportunities"]), tasks)
    assert found[4096][0] == 1024 * found[4][0] > 0
    assert sum(found[4][1]) < sum(found[4096][1])


def test_c5_the_environment_is_told() -> None:
    def run(**variables: str) -> subprocess.CompletedProcess[str]:
        program = "import svod; print(svod.PrepareConfig()); svod.ones(3).exp().numpy()"
        environment = {**os.environ, **variables}
        return subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )

    known = "aarch64" if platform.machine() == "aarch64" else "x86-64-v2"
    done = run(SVOD_TARGET=known)
    assert f"target={known}" in done.stdout and not done.stderr
    done = run(SVOD_DISABLE_SCHEDULE_CACHE="true", SVOD_AMX="x", SVOD_PROGRESS="yes")
    assert "target" not in done.stdout
    assert [done.stderr.count(name) for name in ("SVOD_DISABLE_SCHEDULE_CACHE", "SVOD_AMX", "SVOD_PROGRESS")] == [
        1,
        1,
        1,
    ]


def test_e4_rates_of_the_machine_are_measured_and_forgotten(tmp_path: Path) -> None:
    program = """
import svod, sys
x = svod.Tensor([1.0] * 64)
plan = (x + 1).prepare(inputs=[x])
assumed = svod.measure_machine(forget=True)
assert assumed["noise"] == 0 and "assumed" in plan.explain()
found = svod.measure_machine()
assert found["flops"] > 0 and found["bandwidth"] > 0 and found["noise"] >= 0
assert plan.analysis()["machine"]["noise"] == found["noise"] and "machine, measured" in plan.explain()
assert svod.measure_machine(forget=True) == assumed and "assumed" in plan.explain()
"""
    subprocess.run([sys.executable, "-c", program], env=os.environ | {"SVOD_CACHE_DIR": str(tmp_path)}, check=True)


def test_e4_kernels_that_svod_adds_name_the_line_that_needs_them() -> None:
    given = svod.empty(4, 8)
    spread = given.shard(["CPU:1", "CPU:2"], 0)
    length = svod.Variable("length", 2, 37)
    rows = svod.empty(4, length)
    for result, read in (
        (spread.T @ spread, given),  # Adds up the products of the parts.
        (spread.max(axis=0), given),
        (spread.sum(0) * 2, given),
        (rows.topk(2, 1)[0], rows),  # Checks indices.
        (rows[0].sort(0)[0].searchsorted(rows[1]), rows),
    ):
        plan = result.prepare(inputs=[read])
        assert all(kernel.origins for kernel in plan.kernels), plan.kernels


def test_e4_a_function_of_the_host_names_its_own_line() -> None:
    given = svod.empty(4, 8)
    ordered = svod.custom(np.sort, given + 1)
    at = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    later = ordered.contiguous()
    for result in (ordered, later * 2):
        (op,) = (op for op in result.prepare(inputs=[given]).analysis()["items"] if op["name"] == "sort")
        assert op["origins"] == [f"{__file__}:{at}"]
