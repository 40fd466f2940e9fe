"""ONNX Runtime: a program builds a model of fixed shapes, operators as exporters write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnx import helper, numpy_helper, shape_inference
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented

from systems import base
from systems.base import Array, Job, Ready, Unsupported, as_tuple

OPSET, IR_VERSION = 23, 11


def ints(*values: int) -> Array:
    """A constant of axes, extents or positions."""
    return np.array(values, np.int64)


class Value:
    """A value of the graph that is being built."""

    def __init__(self, graph: Graph, name: str, array: Array | None = None) -> None:
        self.graph, self.name, self.array = graph, name, array

    def __add__(self, other: Any) -> Value:
        return self.graph.node("Add", self, other)

    def __sub__(self, other: Any) -> Value:
        return self.graph.node("Sub", self, other)

    def __mul__(self, other: Any) -> Value:
        return self.graph.node("Mul", self, other)

    def __truediv__(self, other: Any) -> Value:
        return self.graph.node("Div", self, other)

    def __matmul__(self, other: Any) -> Value:
        return self.graph.node("MatMul", self, other)

    def __getitem__(self, item: Any) -> Value:
        if not isinstance(item, int) and not (isinstance(item, slice) and item.step is None):
            raise Unsupported("an index other than a row or a range of rows")
        if isinstance(item, int):
            return self.graph.node("Gather", self, np.array(item, np.int64), axis=0)
        return self.graph.node("Slice", self, ints(item.start or 0), ints(item.stop), ints(0))


class Graph:
    """Nodes and constants of a model."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, Array] = {}

    def constant(self, array: Any) -> Value:
        # Python's numbers are f32, as every operand of arithmetic is.
        array = np.asarray(array, np.float32) if isinstance(array, float | int) else np.asarray(array)
        value = Value(self, f"constant_{len(self.constants)}", array)
        self.constants[value.name] = np.ascontiguousarray(array).reshape(array.shape)
        return value

    def nodes_of(self, op: str, outputs: int, *inputs: Any, **attributes: Any) -> list[Value]:
        names = [(x if isinstance(x, Value) else self.constant(x)).name if x is not None else "" for x in inputs]
        results = [Value(self, f"{op}_{len(self.nodes)}_{i}") for i in range(outputs)]
        self.nodes.append(helper.make_node(op, names, [r.name for r in results], **attributes))
        return results

    def node(self, op: str, *inputs: Any, **attributes: Any) -> Value:
        return self.nodes_of(op, 1, *inputs, **attributes)[0]


class Ops(base.Ops):
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.node = graph.node

    def to_f32(self, x: Value) -> Value:
        return self.node("Cast", x, to=helper.np_dtype_to_tensor_dtype(np.dtype(np.float32)))

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        return self.node("Reshape", x, ints(*shape))

    def permute(self, x: Value, axes: Sequence[int]) -> Value:
        return self.node("Transpose", x, perm=list(axes))

    def permute_copy(self, x: Value, axes: Sequence[int]) -> Value:
        return self.permute(x, axes)

    def transpose(self, x: Value) -> Value:
        if x.array is not None:
            return self.graph.constant(x.array.swapaxes(-1, -2))
        return self.node("Transpose", x, perm=[1, 0])

    def concat(self, tensors: Sequence[Value], axis: int) -> Value:
        return self.node("Concat", *tensors, axis=axis)

    def every_other(self, x: Value) -> Value:
        return self.node("Slice", x, ints(0), ints(2**62), ints(1), ints(2))

    def _reduce(self, op: str, x: Value, axis: int | None) -> Value:
        return self.node(op, x, None if axis is None else ints(axis), keepdims=0)

    def sum(self, x: Value, axis: int | None = None) -> Value:
        return self._reduce("ReduceSum", x, axis)

    def max(self, x: Value, axis: int) -> Value:
        return self._reduce("ReduceMax", x, axis)

    def argmax(self, x: Value, axis: int) -> Value:
        return self.node("ArgMax", x, axis=axis, keepdims=0)

    def mean_var(self, x: Value, axis: int | None = None) -> Any:
        axes = None if axis is None else ints(axis)
        centered = x - self.node("ReduceMean", x, axes, keepdims=1)
        return self._reduce("ReduceMean", x, axis), self._reduce("ReduceMean", centered * centered, axis)

    def cumsum(self, x: Value, axis: int) -> Value:
        return self.node("CumSum", x, np.array(axis, np.int64))

    def sqrt(self, x: Value) -> Value:
        return self.node("Sqrt", x)

    def relu(self, x: Value) -> Value:
        return self.node("Relu", x)

    def gelu(self, x: Value) -> Value:
        return self.node("Gelu", x)

    def softmax(self, x: Value, axis: int) -> Value:
        return self.node("Softmax", x, axis=axis)

    def nll(self, logits: Value, labels: Value) -> Value:
        return self.node("SoftmaxCrossEntropyLoss", logits, labels)

    def layer_norm(self, x: Value, weight: Value, bias: Value, eps: float) -> Value:
        return self.node("LayerNormalization", x, weight, bias, axis=-1, epsilon=eps)

    def rms_norm(self, x: Value, weight: Value, eps: float) -> Value:
        return self.node("RMSNormalization", x, weight, axis=-1, epsilon=eps)

    def group_norm(self, x: Value, groups: int, weight: Value, bias: Value, eps: float) -> Value:
        return self.node("GroupNormalization", x, weight, bias, num_groups=groups, epsilon=eps)

    def linear(self, x: Value, weight: Value, bias: Value) -> Value:
        return x @ self.transpose(weight) + bias

    def attention(self, query: Value, key: Value, value: Value, bias: Any = None, causal: bool = False) -> Value:
        if causal:
            return self.node("Attention", query, key, value, bias, is_causal=1)
        # As exporters write it; the runtime folds the shape.
        size = self.to_f32(self.node("Gather", self.node("Shape", query), np.array(3, np.int64), axis=0))
        scores = query @ self.node("Transpose", key, perm=[0, 1, 3, 2]) / self.sqrt(size)
        return self.softmax(scores if bias is None else scores + bias, -1) @ value

    def conv2d(self, x: Value, weight: Value, stride: int = 1, padding: int = 0, groups: int = 1) -> Value:
        return self.node("Conv", x, weight, strides=[stride] * 2, pads=[padding] * 4, group=groups)

    def take(self, table: Value, ids: Value) -> Value:
        return self.node("Gather", table, ids, axis=0)

    def scatter_add(self, size: int, ids: Value, values: Value) -> Value:
        return self.node("ScatterElements", np.zeros(size, np.float32), ids, values, axis=0, reduction="add")

    def sort(self, x: Value) -> Value:
        raise Unsupported("it has no sort (TopK over the whole vector is no peer's sort)")

    def topk(self, x: Value, k: int) -> Value:
        return self.graph.nodes_of("TopK", 2, x, ints(k))[0]


def model(job: Job) -> tuple[bytes, int]:
    """The serialized model of a job, whose inputs are x0, x1, …, and the number of its outputs y0, y1, …."""
    graph = Graph()
    inputs = [Value(graph, f"x{i}") for i in range(len(job.inputs))]
    weights = [graph.constant(array) for array in job.weights]
    outputs = as_tuple(job.program(Ops(graph), *inputs, *weights))
    for i, output in enumerate(outputs):
        graph.nodes.append(helper.make_node("Identity", [output.name], [f"y{i}"]))
    used = {name for node in graph.nodes for name in node.input}
    proto = helper.make_graph(
        graph.nodes,
        "case",
        [
            helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for i, array in enumerate(job.inputs)
        ],
        [helper.make_empty_tensor_value_info(f"y{i}") for i in range(len(outputs))],
        [numpy_helper.from_array(array, name) for name, array in graph.constants.items() if name in used],
    )
    whole = helper.make_model(proto, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    return shape_inference.infer_shapes(whole).SerializeToString(), len(outputs)


def ready(job: Job) -> Ready:
    """A session, its operands bound as the runtime's own values; outputs are fresh at each run."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = job.threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    proto, count = model(job)
    try:
        session = onnxruntime.InferenceSession(proto, options, providers=["CPUExecutionProvider"])
    except NotImplemented as error:
        raise Unsupported(str(error)) from error
    feeds = {f"x{i}": onnxruntime.OrtValue.ortvalue_from_numpy(array) for i, array in enumerate(job.inputs)}
    names = [f"y{i}" for i in range(count)]
    return Ready(
        lambda: session.run_with_ort_values(names, feeds), lambda results: [result.numpy() for result in results]
    )
