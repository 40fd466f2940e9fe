"""ONNX models: read from a file, checked, compiled when they are called.

    model = svod.onnx.load("model.onnx")
    (logits,) = model(image)

Extents that a model names (`batch`, `sequence`) are variables of what is compiled: one plan serves all sizes up to a
power of two, and the next one is made when a call exceeds it. `docs/onnx.md` says which operators there are.
Nothing of the package `onnx` is needed to load models; `svod.onnx.backend` is the backend that its tests run on.
"""

from __future__ import annotations

from svod.onnx._model import Model, Port, load, operators

__all__ = ["Model", "Port", "load", "operators"]
