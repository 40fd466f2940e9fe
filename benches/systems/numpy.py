"""NumPy; with SciPy's error function. Also the reference, where operands are widened to f64."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from systems import base, spelled
from systems.base import Array, Job, Ready, Unsupported, as_tuple

# How far apart the points of a difference quotient are.
STEP = 1e-5


class Ops(base.Ops):
    def to_f32(self, x: Array) -> Array:
        return x.astype(np.float32)

    def gradients(self, loss: Any, tensors: Any) -> Any:
        """By central differences: for references in f64."""
        if tensors[0].dtype != np.float64:
            raise Unsupported("it has no gradients")
        found = []
        for i, tensor in enumerate(tensors):
            gradient = np.zeros(tensor.shape)
            for at in np.ndindex(tensor.shape):
                sides = []
                for step in (STEP, -STEP):
                    moved = tensor.copy()
                    moved[at] += step
                    sides.append(float(loss(*tensors[:i], moved, *tensors[i + 1 :])))
                gradient[at] = (sides[0] - sides[1]) / (2 * STEP)
            found.append(gradient)
        return tuple(found)

    def reshape(self, x: Array, shape: Any) -> Array:
        return x.reshape(shape)

    def permute(self, x: Array, axes: Any) -> Array:
        return x.transpose(axes)

    def permute_copy(self, x: Array, axes: Any) -> Array:
        return np.ascontiguousarray(x.transpose(axes))

    def transpose(self, x: Array) -> Array:
        return x.swapaxes(-1, -2)

    def concat(self, tensors: Any, axis: int) -> Array:
        return np.concatenate(tensors, axis)

    def every_other(self, x: Array) -> Array:
        return x[:, ::2]

    def copy(self, x: Array) -> Array:
        return x.copy()

    def sum(self, x: Array, axis: int | None = None) -> Any:
        return x.sum(axis)

    def max(self, x: Array, axis: int) -> Any:
        return x.max(axis=axis)

    def argmax(self, x: Array, axis: int) -> Any:
        return x.argmax(axis)

    def mean_var(self, x: Array, axis: int | None = None) -> Any:
        return x.mean(axis), x.var(axis)

    def cumsum(self, x: Array, axis: int) -> Array:
        return x.cumsum(axis)

    def sqrt(self, x: Array) -> Any:
        return np.sqrt(x)

    def relu(self, x: Array) -> Any:
        return np.maximum(x, 0)

    def gelu(self, x: Array) -> Any:
        try:
            from scipy.special import erf
        except ImportError as error:
            raise Unsupported("it has no erf (SciPy is not installed)") from error
        return 0.5 * x * (1 + erf(x * x.dtype.type(1 / sqrt(2))))

    def softmax(self, x: Array, axis: int) -> Array:
        e = np.exp(x - x.max(axis=axis, keepdims=True))
        e /= e.sum(axis, keepdims=True)
        return np.asarray(e)

    def nll(self, logits: Array, labels: Array) -> Any:
        top = logits.max(axis=-1)
        total = np.exp(logits - top[:, None]).sum(-1)
        picked = logits[np.arange(len(labels)), labels]
        return (np.log(total) + top - picked).mean()

    def layer_norm(self, x: Array, weight: Array, bias: Array, eps: float) -> Any:
        centered = x - x.mean(-1, keepdims=True)
        return centered / np.sqrt((centered * centered).mean(-1, keepdims=True) + eps) * weight + bias

    def rms_norm(self, x: Array, weight: Array, eps: float) -> Any:
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight

    def group_norm(self, x: Array, groups: int, weight: Array, bias: Array, eps: float) -> Any:
        rows = x.reshape(len(x), groups, -1)
        centered = rows - rows.mean(-1, keepdims=True)
        scaled = centered / np.sqrt((centered * centered).mean(-1, keepdims=True) + eps)
        return scaled.reshape(x.shape) * weight[:, None, None] + bias[:, None, None]

    def linear(self, x: Array, weight: Array, bias: Array) -> Any:
        return x @ weight.T + bias

    def attention(self, query: Array, key: Array, value: Array, bias: Any = None, causal: bool = False) -> Any:
        scores = query @ key.swapaxes(-1, -2) * (1 / sqrt(query.shape[-1]))
        if bias is not None:
            scores = scores + bias
        if causal:
            length, keys = scores.shape[-2:]
            scores = np.where(np.tri(length, keys, dtype=np.bool_), scores, scores.dtype.type(-np.inf))
        return self.softmax(scores, -1) @ value

    def conv2d(self, x: Array, weight: Array, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
        out, channels, *kernel = weight.shape
        padded = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
        windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, (2, 3))[:, :, ::stride, ::stride]
        batch, _, height, width = windows.shape[:4]
        windows = windows.reshape(batch, groups, channels, height, width, *kernel)
        # [group, batch · place, channel · tap] · [group, channel · tap, out]
        columns = windows.transpose(1, 0, 3, 4, 2, 5, 6).reshape(groups, batch * height * width, -1)
        product = columns @ weight.reshape(groups, out // groups, -1).swapaxes(-1, -2)
        return (
            product.reshape(groups, batch, height, width, -1)
            .transpose(1, 0, 4, 2, 3)
            .reshape(batch, out, height, width)
        )

    def take(self, table: Array, ids: Array) -> Array:
        return np.take(table, ids, axis=0)

    def scatter_add(self, size: int, ids: Array, values: Array) -> Array:
        return np.bincount(ids, values, size).astype(values.dtype)

    def sort(self, x: Array) -> Array:
        return np.sort(x)

    def named(self, name: str) -> Any:
        return spelled.numpy(name)

    def topk(self, x: Array, k: int) -> Array:
        return np.sort(np.partition(x, len(x) - k)[len(x) - k :])[::-1]


def ready(job: Job) -> Ready:
    """NumPy computes as it is called."""
    ops = Ops()
    operands = [*job.inputs, *job.weights]
    return Ready(lambda: job.program(ops, *operands), lambda result: [np.asarray(r) for r in as_tuple(result)])


# Beyond so many elements, widening would take more memory and time than it is worth.
WIDENED = 1 << 25


def reference(job: Job) -> list[Array]:
    """The results in f64, or in f32 where operands are very large."""
    operands = [*job.inputs, *job.weights]
    exact = sum(operand.size for operand in operands) <= WIDENED

    def wide(operand: Array) -> Array:
        if operand.dtype.kind in "iub":
            return operand
        return operand.astype(np.float64 if exact else np.float32)

    result = job.program(Ops(), *map(wide, operands))
    return [np.asarray(r) for r in as_tuple(result)]
