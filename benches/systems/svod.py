"""svod, in two manners: a plan with its own outputs, and a function under `jit` whose results are fresh."""

from __future__ import annotations

from math import sqrt
from typing import Any

import svod
from svod.nn import functional as F
from systems import base, spelled
from systems.base import Array, Job, Ready, as_tuple


class Ops(base.Methods):
    def to_f32(self, x: Any) -> Any:
        return x.float()

    def reshape(self, x: Any, shape: Any) -> Any:
        return x.reshape(*shape)

    def permute(self, x: Any, axes: Any) -> Any:
        return x.permute(*axes)

    def permute_copy(self, x: Any, axes: Any) -> Any:
        return x.permute(*axes).contiguous()

    def transpose(self, x: Any) -> Any:
        return x.mT

    def concat(self, tensors: Any, axis: int) -> Any:
        return svod.cat(tensors, axis)

    def copy(self, x: Any) -> Any:
        return x.clone()

    def mean_var(self, x: Any, axis: int | None = None) -> Any:
        return x.mean(axis), svod.var(x, axis=axis)

    def sqrt(self, x: Any) -> Any:
        return x.sqrt()

    def relu(self, x: Any) -> Any:
        return x.relu()

    def gelu(self, x: Any) -> Any:
        return x.gelu()

    def softmax(self, x: Any, axis: int) -> Any:
        return x.softmax(axis)

    def nll(self, logits: Any, labels: Any) -> Any:
        return -logits.log_softmax(-1).gather(1, labels.unsqueeze(1)).mean()

    def layer_norm(self, x: Any, weight: Any, bias: Any, eps: float) -> Any:
        return F.layer_norm(x, weight.shape, weight, bias, eps)

    def rms_norm(self, x: Any, weight: Any, eps: float) -> Any:
        return x.rms_norm(weight, eps)

    def group_norm(self, x: Any, groups: int, weight: Any, bias: Any, eps: float) -> Any:
        return F.group_norm(x, groups, weight, bias, eps)

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        return F.linear(x, weight, bias)

    def attention(self, query: Any, key: Any, value: Any, bias: Any = None, causal: bool = False) -> Any:
        if causal:
            return query.scaled_dot_product_attention(key, value, is_causal=True)
        # The plain composition, which has to be recognised.
        scores = query @ key.mT * (1 / sqrt(query.shape[-1]))
        return F.softmax(scores if bias is None else scores + bias, -1) @ value

    def conv2d(self, x: Any, weight: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
        return F.conv2d(x, weight, stride=stride, padding=padding, groups=groups)

    def take(self, table: Any, ids: Any) -> Any:
        return F.embedding(ids, table)

    def scatter_add(self, size: int, ids: Any, values: Any) -> Any:
        return svod.zeros(size).scatter_add(0, ids, values)

    def sort(self, x: Any) -> Any:
        return x.sort()[0]

    def gradients(self, loss: Any, tensors: Any) -> Any:
        return tuple(loss(*tensors).gradient(*tensors))

    def named(self, name: str) -> Any:
        return spelled.svod(name)

    def topk(self, x: Any, k: int) -> Any:
        return x.topk(k)[0]


def fetch(result: Any) -> list[Array]:
    return [tensor.numpy() for tensor in result]


def passes() -> dict[str, tuple[int, float]]:
    """Of each pass of the compiler, how often it ran and the seconds that it took."""
    return svod.compile_times()


def place(operand: Any, device: str) -> svod.Tensor:
    """An operand in the memory of a device."""
    return operand if isinstance(operand, svod.Tensor) else svod.Tensor(operand, device=device)


def wait(result: Any, device: str) -> None:
    """Until what was started on the device has ended."""
    svod.synchronize()


def ready(job: Job) -> Ready:
    """The plan's own outputs: each call overwrites them."""
    inputs = [place(operand, job.device) for operand in job.inputs]
    weights = [place(operand, job.device) for operand in job.weights]
    outputs = as_tuple(job.program(Ops(), *inputs, *weights))
    plan = svod.prepare(*outputs, inputs=inputs)
    return Ready(plan.execute, lambda _: fetch(plan.outputs))


def fresh(job: Job) -> Ready:
    """Outputs of their own for each call: a function under `jit`."""
    inputs = [place(operand, job.device) for operand in job.inputs]
    weights = [place(operand, job.device) for operand in job.weights]
    ops = Ops()

    def program(*tensors: Any) -> tuple[Any, ...]:
        return as_tuple(job.program(ops, *tensors, *weights))

    step = svod.jit(program)
    return Ready(lambda: step(*inputs), fetch)
