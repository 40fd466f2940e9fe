"""Models that ONNX forbids are refused when they are loaded, by an error that names the node."""

from __future__ import annotations

import numpy as np
import pytest

import svod
import svod.onnx

onnx = pytest.importorskip("onnx")


def load(text: str, opset: int = 21) -> svod.onnx.Model:
    return svod.onnx.load(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]>\n{text}'))


@pytest.mark.parametrize(
    ("node", "told"),
    [
        ("Clip<min = 0.0>(x)", "no attribute 'min' in version 21"),
        ("Gemm<alpa = 3.0>(x, x)", "no attribute 'alpa'"),
        ("Softmax<axes = 0>(x)", "no attribute 'axes'"),
        ("Softmax<axis = 1.0>(x)", "attribute 'axis' should be an integer"),
        ("Cast(x)", "attribute 'to' is missing"),
        ("Relu(x, x)", "has 2 operands, but the operator takes 1"),
        ("Gemm(x)", "has 1 operands, but the operator takes 2 to 3"),
        ("Concat<axis = 0>()", "has 0 operands, but the operator takes at least 1"),
        ('Gelu<approximate = "foo">(x)', "attribute 'approximate' is 'foo', which is none of none, tanh"),
        ('MaxPool<kernel_shape = [1], auto_pad = "FOO">(x)', "attribute 'auto_pad' is 'FOO'"),
        ('DepthToSpace<blocksize = 1, mode = "foo">(x)', "attribute 'mode' is 'foo'"),
        ('Resize<nearest_mode = "foo">(x)', "attribute 'nearest_mode' is 'foo'"),
        ('Pad<mode = "foo">(x, i)', "attribute 'mode' is 'foo'"),
        ("Add(x, i)", "operands 0 and 1 should be of one type, but are of float and int64"),
        ("Sum(x, x, i)", "operands 0 and 2 should be of one type"),
        ("Reshape(x, x)", "operand 1 should be of int64, but is of float"),
        ("And(x, b)", "operand 0 should be of bool, but is of float"),
    ],
)
def test_nodes_that_an_operator_does_not_take(node: str, told: str) -> None:
    op = node.split("<")[0].split("(")[0]
    with pytest.raises(svod.ArgumentError, match=rf"node 0 \({op}\): .*{told}"):
        load(f"f (float[n, m] x, int64[k] i, bool[n, m] b) => (float[a, c] y) {{ y = {node} }}")


def test_too_many_results() -> None:
    with pytest.raises(svod.ArgumentError, match=r"node 0 \(Relu\): it has 2 results, but the operator takes 1"):
        load("f (float[n] x) => (float[n] y) { y, z = Relu(x) }")


def test_attributes_are_those_of_the_version() -> None:
    text = "f (float[n, m] x) => (float[a] y) { y = ReduceMax<axes = [0], keepdims = 0>(x) }"
    assert load(text, 13)(np.float32([[1, 4], [3, 2]]))[0].tolist() == [3, 4]
    with pytest.raises(svod.ArgumentError, match="no attribute 'axes' in version 18"):
        load(text, 18)
    with pytest.raises(svod.ArgumentError, match="no attribute 'round_mode' in version 23"):
        load('f (float[n] x) => (int32[n] y) { y = Cast<to = 6, round_mode = "up">(x) }', 23)
    with pytest.raises(svod.ArgumentError, match="'round_mode' is 'foo'"):
        load('f (float[n] x) => (int32[n] y) { y = Cast<to = 6, round_mode = "foo">(x) }', 24)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("y = Cast<to = 7>(x)", "output 'y' is declared as float, but is of int64"),
        ("y = Shape(x)", "output 'y' is declared as float, but is of int64"),
        ("h = Shape(x) y = Neg(h)", "output 'y' is declared as float, but is of int64"),
        ("y = Greater(x, x)", "output 'y' is declared as float, but is of bool"),
    ],
)
def test_results_are_of_the_declared_type(body: str, told: str) -> None:
    with pytest.raises(svod.FormatError, match=told):
        load(f"f (float[n] x) => (float[n] y) {{ {body} }}")


@pytest.mark.parametrize("declared", ["9", "2, 2", "4, 1"])
def test_results_are_of_the_declared_extents(declared: str) -> None:
    with pytest.raises(svod.FormatError, match=r"output 'y' is declared .*, but is float32\[4\]"):
        load(f"f (float[4] x) => (float[{declared}] y) {{ y = Neg(x) }}")


def test_extents_that_no_call_could_have_are_an_error_at_load() -> None:
    with pytest.raises(svod.ShapeError, match=r"node 1 \(MatMul\)"):
        load("f (float[3, 4] x, float[5, 6] z) => (float[3, 6] y) { h = Neg(x) y = MatMul(h, z) }")
    # What elements decide is known in a call only.
    model = load("f (float[4] x, int64[2] s) => (float[2, 2] y) { y = Reshape(x, s) }")
    assert model(np.ones(4, np.float32), np.array([2, 2]))[0].shape == (2, 2)
    load("f (float[n, 4] x, float[5, m] z) => (float[n, m] y) { y = MatMul(x, z) }")


def test_types_are_known_inside_of_branches() -> None:
    text = """f (bool c, float[2] x, int64[2] i) => (float[2] y) {
        y = If(c) <
            then_branch = t () => (float[2] a) { a = Add(x, i) },
            else_branch = e () => (float[2] b) { b = Neg(x) }
        >
    }"""
    with pytest.raises(svod.ArgumentError, match=r"node 0 \(Add\): operands 0 and 1 should be of one type"):
        load(text)


def test_a_product_of_vectors_is_no_gemm() -> None:
    with pytest.raises(svod.Error, match=r"node 0 \(Gemm\): .* should be a matrix"):
        load("f (float[2] x) => (float[] y) { y = Gemm(x, x) }")(np.ones(2, np.float32))


@pytest.mark.parametrize(
    "node",
    ["ConstantOfShape(n)", "Expand(x, n)", "Tile(x, n)"],
)
def test_what_is_larger_than_memory_names_the_node(node: str) -> None:
    op = node.split("(")[0]
    with pytest.raises(svod.Error, match=rf"node 1 \({op}\)"):
        load(f"f (float[1] x) => (float[a] y) {{ n = Constant<value_ints = [{2**62}]>() y = {node} }}")
    # Less than addresses can tell, more than there is.
    model = load(f"f (float[1] x) => (float[a] y) {{ n = Constant<value_ints = [{2**40}]>() y = {node} }}")
    with pytest.raises(svod.OutOfMemoryError, match=rf"node 1 \({op}\), which gives float32\[{2**40}\]"):
        model(np.ones(1, np.float32))
    model = load(f"f (float[m] x, int64[1] n) => (float[a] y) {{ y = {node} }}")
    with pytest.raises(svod.OutOfMemoryError, match=rf"node 0 \({op}\), which gives"):
        model(np.ones(1, np.float32), np.array([2**40]))


@pytest.mark.parametrize("length", ["5", "n"])
@pytest.mark.parametrize("index", ["i", "k"])
def test_an_index_out_of_range_names_the_node(length: str, index: str) -> None:
    """Whatever computes it; where a name tells the extent, what counts is what it is in the call."""
    body = f"k = Sub(i, j) g = Gather(x, {index}) y = Neg(g)"
    model = load(f"f (float[{length}] x, int64[2] i, int64[2] j) => (float[2] y) {{ {body} }}")
    x, zeros = np.arange(5, dtype=np.float32), np.zeros(2, np.int64)
    assert model(x, np.array([4, -5]), zeros)[0].tolist() == [-4, 0]
    for wrong in (5, 6, 7, 99, -6):
        with pytest.raises(svod.IndexError, match=r"node 1 \(Gather\).*out of range for axis 0"):
            model(x, np.array([0, wrong]), zeros)


@pytest.mark.parametrize("length", ["5", "n"])
def test_an_index_of_the_model_itself_is_looked_at(length: str) -> None:
    text = f"f (float[{length}] x) => (float[2] y) <int64[2] i = {{1, 4}}> {{ y = Gather(x, i) }}"
    model = load(text)
    assert model(np.arange(5, dtype=np.float32))[0].tolist() == [1, 4]
    if length == "n":
        with pytest.raises(svod.IndexError, match=r"node 0 \(Gather\)"):
            model(np.arange(4, dtype=np.float32))
