"""Models of ONNX: what they are called with, what is compiled, and what is refused."""

from __future__ import annotations

import os
import pathlib

import numpy as np
import pytest

import svod
import svod.onnx

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import svod.onnx.backend  # noqa: E402

HEAD = '<ir_version: 10, opset_import: ["": 21, "local": 1]>\n'


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(HEAD + text)


def load(text: str) -> svod.onnx.Model:
    return svod.onnx.load(parsed(text))


def array(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_inputs_are_given_in_order_or_by_name() -> None:
    model = load("f (float[n, 3] a, float[3] b) => (float[n, 3] c, float[n, 3] d) { c = Sub(a, b) d = Mul(a, b) }")
    assert [port.name for port in model.inputs] == ["a", "b"]
    assert model.inputs[0] == svod.onnx.Port("a", svod.float32, ("n", 3))
    assert [port.name for port in model.outputs] == ["c", "d"]
    a, b = array((2, 3)), array((3,), 1)
    for results in (model(a, b), model(b=b, a=a), model(a, b=svod.Tensor(b))):
        assert isinstance(results, tuple)
        np.testing.assert_allclose(results[0].numpy(), a - b)
        np.testing.assert_allclose(results[1].numpy(), a * b)


def test_lists_take_the_type_of_the_input() -> None:
    assert load("f (int64[n] a) => (int64[n] b) { b = Neg(a) }")([1, 2])[0].tolist() == [-1, -2]


@pytest.mark.parametrize(
    ("arguments", "named", "told"),
    [
        ([], {}, "'a' is missing"),
        ([array((3,))] * 2, {}, "has 1 input, but 2"),
        ([array((3,))], {"b": 1}, "'b'"),
        ([np.ones(3)], {}, "input 'a' is of float32, but float64 is given"),
        ([array((4,))], {}, r"input 'a' has extents \[3\]"),
        ([array((3, 1))], {}, "input 'a' has extents"),
    ],
)
def test_what_does_not_fit_is_an_error_that_names_the_input(arguments: list, named: dict, told: str) -> None:
    model = load("f (float[3] a) => (float[3] b) { b = Neg(a) }")
    with pytest.raises(svod.Error, match=told):
        model(*arguments, **named)


def test_a_plan_serves_the_sizes_that_a_model_names() -> None:
    model = load(
        """f (float[batch, length, 4] x) => (float[batch, wide] y) {
            shape = Shape(x)
            first = Constant<value_ints = [0]>()
            minus = Constant<value_ints = [-1]>()
            batch = Gather(shape, first)
            to = Concat<axis = 0>(batch, minus)
            flat = Reshape(x, to)
            y = Softmax(flat)
        }"""
    )
    for batch, length in [(3, 7), (4, 5), (1, 8), (2, 1)]:
        x = array((batch, length, 4))
        expected = np.exp(flat := x.reshape(batch, -1)) / np.exp(flat).sum(1, keepdims=True)
        np.testing.assert_allclose(model(x)[0].numpy(), expected, rtol=1e-5)
    assert model._model.plans() == 1
    assert model(array((5, 3, 4)))[0].shape == (5, 12)
    assert model._model.plans() == 2


def test_elements_that_decide_on_shapes_are_constants_of_a_plan() -> None:
    model = load("f (float[2, 6] x, int64[k] shape) => (float[] y) { y = Reshape(x, shape) }")
    x = array((2, 6))
    for shape in ([3, 4], [12], [3, 4], [2, 3, 2]):
        np.testing.assert_array_equal(model(x, np.int64(shape))[0].numpy(), x.reshape(shape))
    assert model._model.plans() == 3


def test_data_decides_on_results_step_by_step() -> None:
    model = load("f (float[n] x) => (int64[1, m] y) { big = Add(x, x) y = NonZero(big) }")
    for seed in range(2):
        x = np.maximum(array((2000,), seed), 0)
        np.testing.assert_array_equal(model(x)[0].numpy(), np.nonzero(x))
    assert model._model.plans() == 0


def test_a_model_without_inputs_and_constant_results() -> None:
    assert load("f () => (int64[2] y) { y = Constant<value_ints = [3, 4]>() }")()[0].tolist() == [3, 4]


def test_functions_are_computed_as_their_bodies() -> None:
    model = parsed("f (float[3] x) => (float[3] y) { y = local.scaled<by = 3.0>(x) }")
    body = [
        onnx.parser.parse_node("factor = Constant<value_float: float = @by>()"),
        onnx.parser.parse_node("y = Mul(x, factor)"),
    ]
    function = helper.make_function("local", "scaled", ["x"], ["y"], body, [helper.make_opsetid("", 21)], ["by"])
    model.functions.append(function)
    assert svod.onnx.load(model)(np.float32([1, 2, 3]))[0].tolist() == [3, 6, 9]


def test_prepare_gives_the_plan() -> None:
    model = load("f (float[batch, 2] x, float[] y) => (float[batch, 2] z) { z = Add(x, y) }")
    plan = model.prepare(batch=3, y=())
    assert plan.run(np.ones((3, 2), np.float32), np.float32(2))[0].tolist() == [[3, 3]] * 3


def external(folder: pathlib.Path, location: str, **entries: str) -> onnx.ModelProto:
    model = parsed("f (float[4] x) => (float[4] y) <float[4] w = {0, 0, 0, 0}> { y = Add(x, w) }")
    weight = model.graph.initializer[0]
    weight.ClearField("float_data")
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        weight.external_data.add(key=key, value=value)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return model


@pytest.mark.parametrize("offset", [0, 64, 3])
def test_external_tensors_are_read_from_the_models_folder(tmp_path: pathlib.Path, offset: int) -> None:
    weight = np.arange(4, dtype=np.float32)
    (tmp_path / "weights").write_bytes(b"\1" * offset + weight.tobytes() + b"\1")
    external(tmp_path, "weights", offset=str(offset), length="16")
    (result,) = svod.onnx.load(tmp_path / "model.onnx")(np.ones(4, np.float32))
    assert result.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("location", "entries", "told"),
    [
        ("../outside", {}, "not in the model's folder"),
        ("/etc/hostname", {}, "not in the model's folder"),
        ("link", {}, "leaves the model's folder"),
        ("missing", {}, "missing"),
        ("inside", {"offset": "8"}, "needs 16 bytes"),
        ("inside", {"offset": "-1"}, "no size"),
        ("inside", {"length": str(2**62)}, "needs 16 bytes"),
    ],
)
def test_external_tensors_elsewhere_are_errors(tmp_path: pathlib.Path, location: str, entries: dict, told: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "outside").write_bytes(bytes(16))
    (folder / "inside").write_bytes(bytes(16))
    os.symlink(tmp_path / "outside", folder / "link")
    model = external(folder, location, **entries)
    with pytest.raises(svod.FormatError, match=f"tensor 'w': .*{told}"):
        svod.onnx.load(folder / "model.onnx")
    with pytest.raises(svod.FormatError, match="not loaded from a file"):
        svod.onnx.load(model)


def broken(kind: str) -> onnx.ModelProto:
    model = parsed("f (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { h = Add(x, w) y = Neg(h) }")
    graph = model.graph
    weight = graph.initializer[0]
    match kind:
        case "cycle":
            graph.node[0].input[1] = "y"
        case "missing":
            del graph.initializer[0]
        case "twice":
            graph.node[1].output[0] = "h"
        case "output":
            graph.output[0].name = "z"
        case "operator":
            graph.node[1].op_type = "Nag"
        case "domain":
            graph.node[1].domain = "elsewhere"
        case "short":
            weight.CopyFrom(numpy_helper.from_array(np.float32([1, 2]), "w"))
            weight.dims[0] = 3
        case "huge":
            weight.dims[0] = 2**62
        case "negative":
            weight.dims[0] = -2
        case "string":
            weight.data_type = TensorProto.STRING
        case "newer":
            model.opset_import[0].version = 1000
        case "nothing":
            model.ClearField("graph")
    return model


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("cycle", r"node 0 \(Add\) reads 'y', which only a later node gives"),
        ("missing", r"node 0 \(Add\) reads 'w', which is no input"),
        ("twice", r"node 1 \(Neg\) gives 'h', which is there already"),
        ("output", "output 'z' is the result of no node"),
        ("operator", r"node 1 \(Nag\): operator Nag of ai.onnx is not supported"),
        ("domain", r"node 1 \(Neg\): the model imports no operator set 'elsewhere'"),
        ("short", r"tensor 'w': float32\[3\] has 12 bytes, but 8 are given"),
        ("huge", r"tensor 'w': extents \[4611686018427387904\] are those of no tensor"),
        ("negative", r"tensor 'w': extents \[-2\]"),
        ("string", "tensor 'w': elements of type string are not supported"),
        ("newer", "version 1000 of the operator set ai.onnx is not supported"),
        ("nothing", "there is no graph"),
    ],
)
def test_models_that_cannot_be_computed_are_refused_when_loaded(kind: str, told: str) -> None:
    with pytest.raises(svod.Error, match=told):
        svod.onnx.load(broken(kind))


def test_no_model_at_all() -> None:
    with pytest.raises(svod.FormatError, match="not an ONNX model"):
        svod.onnx.load(b"\xff" * 20)
    with pytest.raises(svod.FileError, match=r"none\.onnx"):
        svod.onnx.load("none.onnx")
    with pytest.raises(svod.ArgumentTypeError, match="not int"):
        svod.onnx.load(3)


def test_an_error_of_a_node_names_it() -> None:
    model = load('f (float[n] x, float[m] y) => (float[n] z) { ["sum"] z = Add(x, y) }')
    with pytest.raises(svod.ShapeError, match=r"node 'sum' \(Add\): "):
        model(np.ones(2, np.float32), np.ones(3, np.float32))


def test_the_backend_runs_models_and_nodes() -> None:
    backend = svod.onnx.backend
    assert backend.supports_device("CPU") and not backend.supports_device("CUDA:1")
    assert issubclass(backend.SvodBackend, onnx.backend.base.Backend)
    x, y = array((2, 3)), array((2, 3), 1)
    model = parsed("f (float[2, 3] x, float[2, 3] y) => (float[2, 3] z) { z = Add(x, y) }")
    np.testing.assert_allclose(backend.run_model(model, [x, y])[0], x + y)
    np.testing.assert_allclose(backend.prepare(model).run([x, y])[0], x + y)
    np.testing.assert_allclose(backend.run_node(helper.make_node("Mul", ["a", "b"], ["c"]), [x, y])[0], x * y)


def test_results_are_values_of_their_own() -> None:
    model = load(
        """f (float[n] x) => (float[n] same, float[2] known, int64[1, m] at) {
            same = Identity(x)
            known = Constant<value_floats = [1.0, 2.0]>()
            at = NonZero(x)
        }"""
    )
    x = svod.Tensor([1.0, 0.0, 3.0])
    for result in model(x):
        result[...] = 7
    assert x.tolist() == [1, 0, 3]
    assert [result.tolist() for result in model(x)] == [[1, 0, 3], [1, 2], [[0, 2]]]
    known = load("f () => (float[2] y) { y = Constant<value_floats = [1.0, 2.0]>() }")
    known()[0][...] = 7
    assert known()[0].tolist() == [1, 2]


@pytest.mark.parametrize(
    "text",
    [
        "f (float[] x, uint8[] w, uint8[] z) => (int32[] y) { a = Cast<to = 2>(x) y = ConvInteger(a, w, z, z) }",
        "f (int64[2] x, int64[] d, float[2] v) => (float[] y) { y = OneHot<axis = -5>(x, d, v) }",
    ],
)
def test_operands_of_other_ranks_are_errors(text: str) -> None:
    model = load(text)
    given = {"x": np.zeros(2, np.int64), "d": np.int64(3), "v": np.float32([0, 1])}
    scalars = {"x": np.float32(0), "w": np.uint8(0), "z": np.uint8(0)}
    with pytest.raises(svod.Error, match=r"node [01] "):
        model(**(given if len(model.inputs[0].shape or ()) else scalars))


@pytest.mark.parametrize("size", [1, 4, 9, 2**40])
def test_windows_over_channels_go_no_further_than_there_are_any(size: int) -> None:
    x = array((2, 5, 3))
    (found,) = load(f"f (float[2, 5, 3] x) => (float[2, 5, 3] y) {{ y = LRN<size = {size}>(x) }}")(x)
    squares = np.stack([(x[:, max(0, c - (size - 1) // 2) : c + size // 2 + 1] ** 2).sum(1) for c in range(5)], 1)
    np.testing.assert_allclose(found.numpy(), x / (1 + 1e-4 / size * squares) ** 0.75, rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "shape", "told"),
    [
        ('y = Resize<mode = "cubic">(x, , , to)', (1, 1, 0, 4), "dimension 2 has no elements of which 9"),
        (
            'y = AveragePool<auto_pad = "SAME_UPPER", kernel_shape = [2147483648, 2]>(x)',
            (1, 1, 4, 4),
            "windows that reach",
        ),
        ("y, at = MaxPool<kernel_shape = [100, 100]>(x)", (1, 1, 100, 100), "positions in windows of 10000 elements"),
    ],
)
def test_work_that_no_model_asks_for_is_refused(text: str, shape: tuple[int, ...], told: str) -> None:
    to = "to = Constant<value_ints = [1, 1, 9, 10]>()"
    model = load(f"f (float[a, b, c, d] x) => (float[e, f, g, h] y) {{ {to} {text} }}")
    with pytest.raises(svod.Error, match=rf"node \d \(\w+\): .*{told}"):
        model(np.zeros(shape, np.float32))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_determinants(n: int, dtype: type) -> None:
    x = np.random.default_rng(n).standard_normal((2, 3, n, n)).astype(dtype)
    kind = "double" if dtype is np.float64 else "float"
    (found,) = load(f"f ({kind}[2, 3, {n}, {n}] x) => ({kind}[2, 3] y) {{ y = Det(x) }}")(x)
    np.testing.assert_allclose(found.numpy(), np.linalg.det(x.astype(np.float64)), rtol=1e-4 if n > 5 else 1e-5)
    singular = np.zeros((1, 4, 4), np.float32)
    assert load("f (float[1, 4, 4] x) => (float[1] y) { y = Det(x) }")(singular)[0].tolist() == [0]


@pytest.mark.parametrize("length", [1, 2, 5, 8, 101])
@pytest.mark.parametrize("kind", ["float", "double", "float16"])
def test_transforms_are_numpys(length: int, kind: str) -> None:
    rng = np.random.default_rng(length)
    dtype = {"float": np.float32, "double": np.float64, "float16": np.float16}[kind]
    tolerance = {"float": 1e-4, "double": 1e-10, "float16": 3e-2}[kind]
    real, pairs = rng.standard_normal((3, length, 2, 1)), rng.standard_normal((3, length, 2, 2))

    def of(x: np.ndarray, options: str) -> np.ndarray:
        shape, out = ", ".join(map(str, x.shape)), x.astype(dtype)
        body = f"at = Constant<value_int = 1>() y = DFT{options}(x, , at)"
        return load(f"f ({kind}[{shape}] x) => ({kind}[a, b, c, d] y) {{ {body} }}")(out)[0].numpy().astype(np.float64)

    def close(found: np.ndarray, wanted: np.ndarray) -> None:
        wanted = np.stack([wanted.real, wanted.imag], -1)
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * max(1, np.abs(wanted).max()))

    given, numbers = (x.astype(dtype).astype(np.float64) for x in (real, pairs))
    numbers = numbers[..., 0] + 1j * numbers[..., 1]
    close(of(real, ""), np.fft.fft(given[..., 0], axis=1))
    close(of(real, "<onesided = 1>"), np.fft.rfft(given[..., 0], axis=1))
    close(of(pairs, ""), np.fft.fft(numbers, axis=1))
    close(of(pairs, "<inverse = 1>"), np.fft.ifft(numbers, axis=1))


@pytest.mark.parametrize("at_corners", [0, 1])
@pytest.mark.parametrize("beyond", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(
    ("between", "mode"), [("linear", "bilinear"), ("nearest", "nearest"), ("cubic", "bicubic")], ids=lambda name: name
)
def test_pictures_are_sampled_at_positions(between: str, mode: str, beyond: str, at_corners: int) -> None:
    from svod.nn.functional import grid_sample

    model = load(
        "f (float[n, c, h, w] x, float[n, a, b, 2] at) => (float[n, c, a, b] y) "
        f'{{ y = GridSample<mode="{between}", padding_mode="{beyond}", align_corners={at_corners}>(x, at) }}'
    )
    for extents in ((4, 5), (1, 5), (2, 2), (8, 3)):
        x, at = array((2, 3, *extents)), array((2, 9, 7, 2), 1) * 1.5
        expected = grid_sample(svod.Tensor(x), svod.Tensor(at), mode, beyond, bool(at_corners))
        np.testing.assert_allclose(model(x, at)[0].numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_arrays_have_64_dimensions_at_most() -> None:
    with pytest.raises(svod.ArgumentError, match="at most 64 dimensions, not 65"):
        svod.ones(*[1] * 65).numpy()


BRANCH = """f (float[n] x) => (float[n] y) {
  total = ReduceSum <keepdims = 0> (x)
  zero = Constant <value_float = 0.0> ()
  holds = Greater (total, zero)
  y = If (holds) <
    then_branch = a () => (float[n] t) { t = Exp (x) },
    else_branch = b () => (float[n] e) { e = Neg (x) }
  >
}"""

WHILE = """f (float[2] x, int64 most, bool begins) => (float[2] y) {
  y = Loop (most, begins, x) <body = b (int64 i, bool goes, float[2] now) => (bool next, float[2] then) {
    two = Constant <value_float = 2.0> ()
    limit = Constant <value_float = 50.0> ()
    then = Mul (now, two)
    total = ReduceSum <keepdims = 0> (then)
    next = Less (total, limit)
  }>
}"""

SCAN = """f (float[n, 3] x) => (float[3] last, float[n, 3] sums) {
  zero = Constant <value = float[3] {0.0, 0.0, 0.0}> ()
  last, sums = Scan <num_scan_inputs = 1, body = b (float[3] now, float[3] row) => (float[3] then, float[3] out) {
    then = Add (now, row)
    out = Identity (then)
  }> (zero, x)
}"""


def test_a_run_decides_on_a_branch() -> None:
    model = load(BRANCH)
    for a in (np.array([1, 2], np.float32), np.array([-1, -2, 0], np.float32)):
        np.testing.assert_allclose(model(a)[0].numpy(), np.exp(a) if a.sum() > 0 else -a, rtol=1e-6)


def test_a_run_decides_on_iterations() -> None:
    model = load(WHILE)
    x = np.array([1, 2], np.float32)
    for most, begins, factor in ((100, True, 32), (3, True, 8), (0, True, 1), (100, False, 1)):
        (y,) = model(x, np.array(most), np.array(begins))
        np.testing.assert_allclose(y.numpy(), x * factor)


def test_one_plan_scans_all_lengths() -> None:
    model = load(SCAN)
    for rows in (1, 20, 33):
        a = array((rows, 3))
        last, sums = model(a)
        np.testing.assert_allclose(sums.numpy(), a.cumsum(0), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(last.numpy(), a.sum(0), rtol=1e-4, atol=1e-4)


def lstm(x: np.ndarray, w: np.ndarray, r: np.ndarray, b: np.ndarray, lengths: list[int]) -> np.ndarray:
    """One direction, gates in ONNX's order, forward; zeros behind the end of each sequence."""
    steps, batch, _ = x.shape
    hidden = r.shape[1]
    sigmoid = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
    out = np.zeros((steps, batch, hidden))
    for at in range(batch):
        h, c = np.zeros(hidden), np.zeros(hidden)
        for t in range(lengths[at]):
            i, o, f, g = np.split(w @ x[t, at] + r @ h + b[: 4 * hidden] + b[4 * hidden :], 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            out[t, at] = h
    return out


def test_recurrent_layers_are_loops_over_sequences_of_any_length() -> None:
    w, r, b = array((2, 20, 3)) / 2, array((2, 20, 5), 1) / 2, array((2, 40), 2) / 2
    given = [numpy_helper.from_array(value, name) for value, name in ((w, "w"), (r, "r"), (b, "b"))]
    node = helper.make_node("LSTM", ["x", "w", "r", "b", "lengths"], ["y"], hidden_size=5, direction="bidirectional")
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2, 3]),
        helper.make_tensor_value_info("lengths", TensorProto.INT32, [2]),
    ]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2, 2, 5])
    graph = helper.make_graph([node], "layer", inputs, [output], given)
    model = svod.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))
    for steps in (1, 4, 9, 300, 5000):
        x, lengths = array((steps, 2, 3), steps), [steps, (steps + 1) // 2]
        (y,) = model(x, np.array(lengths, np.int32))
        forward = lstm(x, w[0], r[0], b[0], lengths)
        turned, backward = x.copy(), np.zeros_like(forward)
        for at, length in enumerate(lengths):
            turned[:length, at] = x[:length, at][::-1]
        of_turned = lstm(turned, w[1], r[1], b[1], lengths)
        for at, length in enumerate(lengths):
            backward[:length, at] = of_turned[:length, at][::-1]
        np.testing.assert_allclose(y.numpy(), np.stack([forward, backward], 1), rtol=1e-4, atol=1e-5)


STACKED = """f (float[k] x, int64 most, bool begins) => (float[k] y, float[m, k] all, int64[m] at) {
  y, all, at = Loop (most, begins, x) <body = b (int64 i, bool goes, float[k] now) => (bool next, float[k] then, float[k] row, int64 at) {
    then = Add (now, now)
    row = Neg (then)
    next = Identity (goes)
    at = Identity (i)
  }>
}"""  # noqa: E501


@pytest.mark.parametrize(("most", "begins"), [(0, True), (0, False), (5, False), (-1, True), (2, True)])
def test_loops_of_no_iterations_stack_no_rows(most: int, begins: bool) -> None:
    model = load(STACKED)
    count = max(most, 0) if begins else 0
    for size in (3, 2):
        y, rows, at = model(array((size,)), np.int64(most), np.bool_(begins))
        assert (rows.shape, at.shape, rows.dtype, at.dtype) == ((count, size), (count,), svod.float32, svod.int64)
        np.testing.assert_array_equal(y.numpy(), array((size,)) * 2**count)


def test_a_loop_that_never_runs_stacks_no_rows() -> None:
    head, loop = "f (float[k] x) => (float[k] y, float[m, k] all, int64[m] at) {\n", STACKED.split("\n", 1)[1]
    model = load(f"{head} most = Constant<value_int = 0>() begins = Constant<value = bool {{1}}>()\n{loop}")
    assert [result.shape for result in model(array((3,)))] == [(3,), (0, 3), (0,)]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_a_scan_of_nothing_stacks_no_rows(axis: int) -> None:
    model = load(SCAN.replace("num_scan_inputs = 1,", f"num_scan_inputs = 1, scan_output_axes = [{axis}],"))
    last, sums = model(np.zeros((0, 3), np.float32))
    assert last.tolist() == [0, 0, 0]
    assert sums.shape == ((0, 3) if axis == 0 else (3, 0))


@pytest.mark.parametrize("count", [0, 1, 5])
def test_zeros_and_nothing_are_quantised_over_a_range_of_1(count: int) -> None:
    text = "f (float[n] x) => (uint8[n] y, float[] scale, uint8[] zero) { y, scale, zero = DynamicQuantizeLinear(x) }"
    y, scale, zero = load(text)(np.zeros(count, np.float32))
    assert (y.tolist(), zero.item()) == ([0] * count, 0)
    assert scale.item() == np.float32(1) / np.float32(255)
