"""tinygrad under `TinyJit`, on its CPU device."""

from __future__ import annotations

from typing import Any

import numpy as np
from tinygrad import Device, Tensor, TinyJit, dtypes

from systems import base
from systems.base import Array, Job, Ready, as_tuple


class Ops(base.Methods):
    def to_f32(self, x: Any) -> Any:
        return x.float()

    def permute(self, x: Any, axes: Any) -> Any:
        return x.permute(axes)

    def permute_copy(self, x: Any, axes: Any) -> Any:
        return x.permute(axes).contiguous()

    def transpose(self, x: Any) -> Any:
        return x.transpose(-1, -2)

    def concat(self, tensors: Any, axis: int) -> Any:
        return Tensor.cat(*tensors, dim=axis)

    def mean_var(self, x: Any, axis: int | None = None) -> Any:
        return x.mean(axis), x.var(axis, correction=0)

    def sqrt(self, x: Any) -> Any:
        return x.sqrt()

    def relu(self, x: Any) -> Any:
        return x.relu()

    def gelu(self, x: Any) -> Any:
        # Its own gelu is the approximation by tanh.
        return 0.5 * x * (1 + (x * 0.5**0.5).erf())

    def softmax(self, x: Any, axis: int) -> Any:
        return x.softmax(axis)

    def nll(self, logits: Any, labels: Any) -> Any:
        return logits.sparse_categorical_crossentropy(labels)

    def layer_norm(self, x: Any, weight: Any, bias: Any, eps: float) -> Any:
        return x.layernorm(eps=eps) * weight + bias

    def rms_norm(self, x: Any, weight: Any, eps: float) -> Any:
        return x * (x.square().mean(-1, keepdim=True) + eps).rsqrt() * weight

    def group_norm(self, x: Any, groups: int, weight: Any, bias: Any, eps: float) -> Any:
        scaled = x.reshape(x.shape[0], groups, -1).layernorm(eps=eps).reshape(x.shape)
        return scaled * weight.reshape(-1, 1, 1) + bias.reshape(-1, 1, 1)

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        return x.linear(weight.T, bias)

    def attention(self, query: Any, key: Any, value: Any, bias: Any = None, causal: bool = False) -> Any:
        return query.scaled_dot_product_attention(key, value, attn_mask=bias, is_causal=causal)

    def conv2d(self, x: Any, weight: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
        return x.conv2d(weight, stride=stride, padding=padding, groups=groups)

    def take(self, table: Any, ids: Any) -> Any:
        return table[ids]

    def scatter_add(self, size: int, ids: Any, values: Any) -> Any:
        return Tensor.zeros(size).contiguous().scatter_reduce(0, ids, values, "sum")

    def sort(self, x: Any) -> Any:
        return x.sort()[0]

    def topk(self, x: Any, k: int) -> Any:
        return x.topk(k)[0]


def tensor(array: Array) -> Any:
    if array.dtype.name == "bfloat16":
        return Tensor(array.astype(np.float32)).cast(dtypes.bfloat16).realize()
    return Tensor(array).realize()


def ready(job: Job) -> Ready:
    """A new function under `TinyJit`, waited for at each call."""
    ops = Ops()
    operands = [tensor(operand) for operand in (*job.inputs, *job.weights)]

    def compute(*tensors: Any) -> tuple[Any, ...]:
        results = as_tuple(job.program(ops, *tensors))
        Tensor.realize(*results)
        return results

    step = TinyJit(compute)
    device = Device[Device.DEFAULT]

    def call() -> Any:
        results = step(*operands)
        device.synchronize()
        return results

    return Ready(
        call, lambda result: [(r.float() if r.dtype == dtypes.bfloat16 else r).numpy() for r in as_tuple(result)]
    )
