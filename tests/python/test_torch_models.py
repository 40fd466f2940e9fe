"""PyTorch's models through svod, each against PyTorch: inference, other sizes, bf16, a training step, and as ONNX.

`make test` has a few of them, `make test-full` (`SVOD_TEST_FULL=1`) all.
"""

from __future__ import annotations

import copy
import importlib.util
import io
import os
import warnings
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import zoo  # noqa: E402

import svod.onnx  # noqa: E402
import svod.torch  # noqa: E402

FEW = ["gpt2", "unet", "mlp", "wave", "perceiver", "graph"]
NAMES = list(zoo.ZOO) if os.environ.get("SVOD_TEST_FULL") == "1" else FEW

# PyTorch's own gradients move as much where an input moves by its rounding: ReLU6 has kinks.
KINKS = {"mobilenet_v2": 0.15}


@pytest.fixture(autouse=True)
def fresh() -> Any:
    torch._dynamo.reset()
    svod.torch.reset()
    yield
    torch._dynamo.reset()


def sample(name: str) -> zoo.Sample:
    if name not in zoo.OWN:
        pytest.importorskip("transformers")
    torch.manual_seed(0)
    made = zoo.ZOO[name]()
    made.model.eval()
    return made


def tensors(results: Any) -> list[Any]:
    """The tensors of results, in containers of any kind."""
    if isinstance(results, torch.Tensor):
        return [results]
    if isinstance(results, dict):
        results = list(results.values())
    return [found for one in results for found in tensors(one)] if isinstance(results, (list, tuple)) else []


def agree(found: Any, expected: Any, tolerance: float = 1e-4) -> None:
    found, expected = tensors(found), tensors(expected)
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected):
        assert one.dtype == other.dtype and one.shape == other.shape
        # Relative to the largest element.
        scale = max(float(other.detach().abs().max()) if other.numel() else 0, 1.0)
        torch.testing.assert_close(one / scale, other / scale, rtol=0, atol=tolerance)


def moved(made: zoo.Sample, by: int) -> dict[str, Any]:
    """The arguments with larger extents where these may be others."""
    arguments = dict(made.arguments)
    for name, axes in made.moving.items():
        for axis in axes if name in arguments else ():
            extent = arguments[name].shape[axis]
            arguments[name] = torch.cat([arguments[name]] * (by + 1), axis).narrow(axis, 0, extent + by)
    return arguments


@pytest.mark.parametrize("name", NAMES)
def test_inference(name: str) -> None:
    made = sample(name)
    with torch.no_grad():
        agree(torch.compile(made.model, backend="svod")(**made.arguments), made.model(**made.arguments))


@pytest.mark.parametrize("name", NAMES)
def test_inference_at_other_sizes(name: str) -> None:
    made = sample(name)
    run = torch.compile(made.model, backend="svod", dynamic=True)
    with torch.no_grad():
        for by in (0, 3):
            arguments = moved(made, by)
            agree(run(**arguments), made.model(**arguments))


@pytest.mark.parametrize("name", NAMES)
def test_inference_in_bf16(name: str) -> None:
    if name == "graph":
        pytest.skip("it makes float32 zeros of its own, which PyTorch itself refuses beside bf16")
    made = sample(name)
    model = made.model.to(torch.bfloat16)

    def floats_in(dtype: torch.dtype) -> dict[str, Any]:
        is_float = lambda value: isinstance(value, torch.Tensor) and value.is_floating_point()  # noqa: E731
        return {key: value.to(dtype) if is_float(value) else value for key, value in made.arguments.items()}

    with torch.no_grad():
        found = tensors(torch.compile(model, backend="svod")(**floats_in(torch.bfloat16)))
        rounded = tensors(model(**floats_in(torch.bfloat16)))
        exact = tensors(copy.deepcopy(model).float()(**floats_in(torch.float32)))
    for one, other, best in zip(found, rounded, exact, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        scale = float(best.abs().max())
        error, eager = (float((x.float() - best).abs().max()) / scale for x in (one, other))
        # As near to the numbers of float32 as eager mode is.
        assert error < max(2 * eager, 0.02), (error, eager)


@pytest.mark.parametrize("name", NAMES)
def test_a_training_step(name: str) -> None:
    made = sample(name)
    eager, compiled = made.model.train(), copy.deepcopy(made.model)
    for model in (eager, compiled):
        for module in model.modules():
            # Random numbers are others than eager mode's.
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
    for model, run in ((eager, eager), (compiled, torch.compile(compiled, backend="svod"))):
        results = run(**made.training)
        loss = results["loss"] if isinstance(results, dict) else tensors(results)[0].square().mean()
        loss.backward()
        model.told = loss.detach()
    agree(compiled.told, eager.told)
    most = max(float(p.grad.abs().max()) for p in eager.parameters() if p.grad is not None)
    for (path, one), other in zip(compiled.named_parameters(), eager.parameters()):
        # Compiled graphs give zeros where eager mode gives none.
        expected = torch.zeros_like(one) if other.grad is None else other.grad
        found = torch.zeros_like(one) if one.grad is None else one.grad
        worst = float((found - expected).abs().max()) / most
        assert worst < KINKS.get(name, 1e-4), (path, worst)
    agree(dict(compiled.named_buffers()) or [torch.ones(1)], dict(eager.named_buffers()) or [torch.ones(1)])


@pytest.mark.parametrize("name", NAMES)
def test_as_onnx(name: str) -> None:
    pytest.importorskip("onnx")
    if importlib.util.find_spec("onnxscript") is None:
        pytest.skip("PyTorch's exporter needs the package onnxscript")
    made = sample(name)
    arguments = {key: value for key, value in made.arguments.items() if isinstance(value, torch.Tensor)}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = tensors(made.model(**made.arguments))
        file = io.BytesIO()
        exported = torch.onnx.export(made.model, (), kwargs=made.arguments, dynamo=True, verbose=False)
        exported.save(file)
    model = svod.onnx.load(file.getvalue())
    given = model(**{port.name: arguments[port.name].numpy() for port in model.inputs})
    assert len(given) == len(expected)
    for one, other in zip(given, expected):
        scale = max(float(other.abs().max()), 1.0)
        np.testing.assert_allclose(one.numpy() / scale, other.numpy() / scale, rtol=0, atol=1e-4)
