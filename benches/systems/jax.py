"""JAX under `jit`; all operands, weights too, are arguments."""

from __future__ import annotations

from math import sqrt
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from systems import base, spelled
from systems.base import Job, Ready, as_tuple


class Ops(base.Methods):
    def to_f32(self, x: Any) -> Any:
        return x.astype(jnp.float32)

    def permute(self, x: Any, axes: Any) -> Any:
        return x.transpose(axes)

    def permute_copy(self, x: Any, axes: Any) -> Any:
        return x.transpose(axes)

    def transpose(self, x: Any) -> Any:
        return x.mT

    def concat(self, tensors: Any, axis: int) -> Any:
        return jnp.concatenate(tensors, axis)

    def copy(self, x: Any) -> Any:
        return jnp.copy(x)

    def mean_var(self, x: Any, axis: int | None = None) -> Any:
        return x.mean(axis), x.var(axis)

    def sqrt(self, x: Any) -> Any:
        return jnp.sqrt(x)

    def relu(self, x: Any) -> Any:
        return jax.nn.relu(x)

    def gelu(self, x: Any) -> Any:
        return jax.nn.gelu(x, approximate=False)

    def softmax(self, x: Any, axis: int) -> Any:
        return jax.nn.softmax(x, axis)

    def nll(self, logits: Any, labels: Any) -> Any:
        picked = jnp.take_along_axis(logits, labels[:, None], axis=1)[:, 0]
        return (jax.nn.logsumexp(logits, axis=-1) - picked).mean()

    def layer_norm(self, x: Any, weight: Any, bias: Any, eps: float) -> Any:
        centered = x - x.mean(-1, keepdims=True)
        return centered * jax.lax.rsqrt((centered * centered).mean(-1, keepdims=True) + eps) * weight + bias

    def rms_norm(self, x: Any, weight: Any, eps: float) -> Any:
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + eps) * weight

    def group_norm(self, x: Any, groups: int, weight: Any, bias: Any, eps: float) -> Any:
        rows = x.reshape(len(x), groups, -1)
        centered = rows - rows.mean(-1, keepdims=True)
        scaled = centered * jax.lax.rsqrt((centered * centered).mean(-1, keepdims=True) + eps)
        return scaled.reshape(x.shape) * weight[:, None, None] + bias[:, None, None]

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        return x @ weight.T + bias

    def attention(self, query: Any, key: Any, value: Any, bias: Any = None, causal: bool = False) -> Any:
        scores = query @ key.mT * (1 / sqrt(query.shape[-1]))
        if bias is not None:
            scores = scores + bias
        if causal:
            length, keys = scores.shape[-2:]
            scores = jnp.where(jnp.tri(length, keys, dtype=bool), scores, -jnp.inf)
        return jax.nn.softmax(scores) @ value

    def conv2d(self, x: Any, weight: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
        return jax.lax.conv_general_dilated(
            x, weight, (stride, stride), [(padding, padding)] * 2, feature_group_count=groups
        )

    def take(self, table: Any, ids: Any) -> Any:
        return table[ids]

    def scatter_add(self, size: int, ids: Any, values: Any) -> Any:
        return jnp.zeros(size, values.dtype).at[ids].add(values)

    def sort(self, x: Any) -> Any:
        return jnp.sort(x)

    def gradients(self, loss: Any, tensors: Any) -> Any:
        return jax.grad(loss, argnums=tuple(range(len(tensors))))(*tensors)

    def named(self, name: str) -> Any:
        return spelled.jax(name)

    def topk(self, x: Any, k: int) -> Any:
        return jax.lax.top_k(x, k)[0]


def place(operand: Any, device: str) -> Any:
    """An operand in the memory of the platform's device, of which JAX has one kind a process."""
    return jnp.asarray(operand)


def wait(result: Any, device: str) -> None:
    """Until what was started has ended."""
    jax.block_until_ready(result)


def ready(job: Job) -> Ready:
    """A new function under `jit`."""
    if any(operand.dtype == np.float64 for operand in job.inputs):
        jax.config.update("jax_enable_x64", True)
    ops = Ops()
    operands = [place(operand, job.device) for operand in (*job.inputs, *job.weights)]
    step = jax.jit(lambda *tensors: job.program(ops, *tensors))
    return Ready(
        lambda: jax.block_until_ready(step(*operands)),
        lambda result: [np.asarray(r.astype(jnp.float32) if r.dtype == jnp.bfloat16 else r) for r in as_tuple(result)],
        lambda: step(*operands),
    )
