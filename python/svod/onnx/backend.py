"""svod as a backend of the package `onnx`, which its tests run on.

import onnx.backend.test
import svod.onnx.backend

onnx.backend.test.BackendTest(svod.onnx.backend, __name__)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx.backend.base import Backend, BackendRep

import svod
from svod.onnx._model import Model, load


class Prepared(BackendRep):  # type: ignore[misc]
    """A model of the backend."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The results as arrays, lists of them, or None."""
        results = self.model(**inputs) if isinstance(inputs, dict) else self.model(*inputs)
        return tuple(map(_array, results))


class SvodBackend(Backend):  # type: ignore[misc]
    """`onnx.backend.base.Backend` by svod, on the CPU."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> Prepared:
        """The model, checked and ready to run."""
        super().prepare(model, device, **kwargs)
        return Prepared(load(model))

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """The results of a model."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: Any,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """The results of a single node."""
        from onnx import helper

        version = int(kwargs.pop("opset_version", 0)) or None
        names = [name for name in node.input if name]
        given = [np.asarray(value) for value in inputs]
        infos = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for name, value in zip(names, given, strict=True)
        ]
        results = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = helper.make_graph([node], "node", infos, results)
        opsets = [helper.make_opsetid(node.domain, version)] if version else None
        # What results are is not known: the checker of models would miss it.
        return Prepared(load(helper.make_model(graph, opset_imports=opsets))).run(given)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models run on this device."""
        return device.split(":")[0] == "CPU"


prepare = SvodBackend.prepare
run_model = SvodBackend.run_model
run_node = SvodBackend.run_node
supports_device = SvodBackend.supports_device
is_compatible = SvodBackend.is_compatible


def _array(value: Any) -> Any:
    if isinstance(value, list):
        return [_array(one) for one in value]
    return value.numpy() if isinstance(value, svod.Tensor) else value
