"""What models of ONNX are called with: inputs that have defaults, plans of named extents, copies."""

from __future__ import annotations

import copy
import pathlib
import pickle

import numpy as np
import pytest

import svod
import svod.onnx

onnx = pytest.importorskip("onnx")
from onnx import numpy_helper  # noqa: E402

HEAD = '<ir_version: 10, opset_import: ["": 21]>\n'
NEGATED = "f (float[n] x) => (float[n] y) { y = Neg(x) }"
PAIRS = "f (float[n, m] x, float[m, n] z) => (float[n, n] y) { y = MatMul(x, z) }"


def parsed(text: str, **constants: np.ndarray) -> onnx.ModelProto:
    model = onnx.parser.parse_model(HEAD + text)
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in constants.items())
    return model


def load(text: str, **constants: np.ndarray) -> svod.onnx.Model:
    return svod.onnx.load(parsed(text, **constants))


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


SCALED = "f (float[n] w, float[n] x, float[k] b) => (float[n] y) { h = Mul(x, w) y = Add(h, b) }"


def test_an_input_that_is_a_constant_too_is_a_default() -> None:
    model = load(SCALED, w=np.float32([3]), b=np.float32([5]))
    assert [port.name for port in model.inputs] == ["x"]
    assert [port.name for port in model.defaults] == ["w", "b"]
    x = ones(1)
    assert model(x)[0].tolist() == [8]
    assert model(x, np.float32([4]))[0].tolist() == [9]
    assert model(x, np.float32([4]), np.float32([6]))[0].tolist() == [10]
    assert model(x=x, b=np.float32([6]))[0].tolist() == [9]
    assert model(x, None, np.float32([6]))[0].tolist() == [9]
    assert model(x, b=np.float32([7]))[0].tolist() == [10]
    assert model(x)[0].tolist() == [8]
    with pytest.raises(svod.ArgumentTypeError, match="the input 'x' is missing"):
        model(w=x)
    with pytest.raises(svod.Error, match="input 'w' is of float32, but float64 is given"):
        model(x, w=np.ones(1))
    assert model.prepare(n=1).run(x)[0].tolist() == [8]


def test_defaults_are_in_the_order_of_onnxruntime() -> None:
    runtime = pytest.importorskip("onnxruntime")
    proto = parsed(SCALED, w=np.float32([3]), b=np.float32([5]))
    session = runtime.InferenceSession(proto.SerializeToString())
    model = svod.onnx.load(proto)
    assert [port.name for port in model.inputs] == [one.name for one in session.get_inputs()]
    assert [port.name for port in model.defaults] == [one.name for one in session.get_overridable_initializers()]
    given = {"x": ones(1), "b": np.float32([9])}
    np.testing.assert_array_equal(model(**given)[0].numpy(), session.run(None, given)[0])


def test_shapes_that_a_default_gives_may_be_given() -> None:
    model = load("f (float[2, 3] x, int64[k] to) => (float[a, b] y) { y = Reshape(x, to) }", to=np.int64([3, 2]))
    assert model(ones(2, 3))[0].shape == (3, 2)
    assert model(ones(2, 3), np.int64([1, 6]))[0].shape == (1, 6)
    assert model(ones(2, 3))[0].shape == (3, 2)


def test_constants_of_early_versions_are_no_defaults() -> None:
    proto = parsed(SCALED, w=np.float32([3]), b=np.float32([5]))
    proto.ir_version = 3
    assert svod.onnx.load(proto).defaults == []


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("float[2]", r"tensor 'w': .*\[2\].* float32\[1\]"),
        ("float[1, 1]", r"tensor 'w': .*\[1, 1\]"),
        ("double[1]", r"tensor 'w': .*float64.* float32"),
    ],
)
def test_a_default_is_what_its_input_is_declared_as(declared: str, told: str) -> None:
    with pytest.raises(svod.FormatError, match=told):
        load(f"f ({declared} w, float[n] x) => (float[n] y) {{ y = Identity(x) }}", w=np.float32([1]))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"x": ones(1), "v": ones(1)}, "there is no input 'v': there are x"),
        ({}, "'x' is missing"),
    ],
)
def test_names_of_inputs_are_told(given: dict, told: str) -> None:
    with pytest.raises(svod.ArgumentTypeError, match=told):
        load(NEGATED)(**given)
    with pytest.raises(svod.ArgumentTypeError, match="'x' is given twice"):
        load(NEGATED)(ones(1), x=ones(1))
    with pytest.raises(svod.ArgumentTypeError, match="has 1 input, but 2 are given"):
        load(NEGATED)(ones(1), ones(1))


def test_a_plan_of_extents_that_are_not_given_serves_many() -> None:
    plan = load(NEGATED).prepare()
    for n in (1, 3, 64):
        assert plan.run(ones(n))[0].tolist() == [-1] * n
    plan = load(PAIRS).prepare()
    for n, m in ((2, 3), (3, 3), (64, 1), (64, 64)):
        assert plan.run(ones(n, m), ones(m, n))[0].tolist() == [[m] * n] * n
    plan = load(PAIRS).prepare(m=100)
    assert plan.run(ones(3, 100), ones(100, 3))[0].tolist() == [[100] * 3] * 3


def test_errors_of_a_plan_say_the_models_names() -> None:
    with pytest.raises(svod.Error, match=r"\bn: 9 is outside \[1, 4\]"):
        load(NEGATED).prepare(n=4).run(ones(9))
    # Names that are none of a variable, and equal ones of two.
    text = NEGATED.replace("[n]", "[min]")
    assert load(text).prepare().run(ones(5))[0].shape == (5,)
    proto = parsed(PAIRS)
    for value in (*proto.graph.input, *proto.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            dim.dim_param = {"n": "a-b", "m": "a b"}[dim.dim_param]
    assert svod.onnx.load(proto).prepare().run(ones(2, 3), ones(3, 2))[0].tolist() == [[3, 3], [3, 3]]


@pytest.mark.parametrize(
    ("sizes", "kind", "told"),
    [
        ({"n": "a"}, svod.ArgumentTypeError, "prepare: 'n' should be an integer, not 'a'"),
        ({"n": 2.0}, svod.ArgumentTypeError, "prepare: 'n' should be an integer, not 2.0"),
        ({"n": True}, svod.ArgumentTypeError, "prepare: 'n' should be an integer"),
        ({"n": -1}, svod.ArgumentError, "prepare: 'n' should be a size, not -1"),
        ({"n": 2**70}, svod.ArgumentError, "prepare: 'n' should be a size"),
        ({"n": (2, 3)}, svod.ArgumentTypeError, "'n' is no input"),
        ({"q": 3}, svod.ArgumentTypeError, "no input or extent is called 'q': there are m, n, x, z"),
        ({"x": 3}, svod.ArgumentTypeError, "all extents of input 'x'"),
        ({"x": (3,)}, svod.ShapeError, r"input 'x' has extents \[n, m\], not \[3\]"),
        ({"x": ("a", 2)}, svod.ArgumentTypeError, "'x' should be an integer, not 'a'"),
    ],
)
def test_sizes_of_a_plan_that_make_no_sense(sizes: dict, kind: type, told: str) -> None:
    with pytest.raises(kind, match=told):
        load(PAIRS).prepare(**sizes)


def test_a_plan_that_cannot_be_for_all_sizes_asks_for_them() -> None:
    model = load("f (float[n, m] x) => (float[a] y) { s = Constant<value_ints = [6]>() y = Reshape(x, s) }")
    with pytest.raises(svod.Error, match="n"):
        model.prepare()
    assert model.prepare(n=2, m=3).run(ones(2, 3))[0].shape == (6,)


def test_models_are_copied() -> None:
    model = load(NEGATED)
    for other in (copy.copy(model), copy.deepcopy(model), copy.deepcopy({"of": model})["of"]):
        assert other(ones(2))[0].tolist() == [-1, -1]
    other = copy.deepcopy(model)
    other.inputs.clear()
    assert len(model.inputs) == 1


def test_models_of_files_are_pickled(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proto = parsed(NEGATED)
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    monkeypatch.chdir(tmp_path)
    content = pickle.dumps(svod.onnx.load("model.onnx"))
    monkeypatch.chdir("/")
    assert pickle.loads(content)(ones(2))[0].tolist() == [-1, -1]
    with pytest.raises(svod.ArgumentTypeError, match="pickle the bytes"):
        pickle.dumps(svod.onnx.load(proto))
