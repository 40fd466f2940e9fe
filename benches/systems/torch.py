"""PyTorch, eager and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from systems import base, spelled
from systems.base import Array, Job, Ready, as_tuple


class Ops(base.Methods):
    def to_f32(self, x: Any) -> Any:
        return x.float()

    def permute(self, x: Any, axes: Any) -> Any:
        return x.permute(axes)

    def permute_copy(self, x: Any, axes: Any) -> Any:
        return x.permute(axes).contiguous()

    def transpose(self, x: Any) -> Any:
        return x.mT

    def concat(self, tensors: Any, axis: int) -> Any:
        return torch.cat(tensors, axis)

    def max(self, x: Any, axis: int) -> Any:
        return x.amax(axis)

    def copy(self, x: Any) -> Any:
        return x.clone()

    def mean_var(self, x: Any, axis: int | None = None) -> Any:
        var, mean = torch.var_mean(x, axis, correction=0)
        return mean, var

    def sqrt(self, x: Any) -> Any:
        return x.sqrt()

    def relu(self, x: Any) -> Any:
        return F.relu(x)

    def gelu(self, x: Any) -> Any:
        return F.gelu(x)

    def softmax(self, x: Any, axis: int) -> Any:
        return F.softmax(x, axis)

    def nll(self, logits: Any, labels: Any) -> Any:
        return F.cross_entropy(logits, labels)

    def layer_norm(self, x: Any, weight: Any, bias: Any, eps: float) -> Any:
        return F.layer_norm(x, weight.shape, weight, bias, eps)

    def rms_norm(self, x: Any, weight: Any, eps: float) -> Any:
        return F.rms_norm(x, weight.shape, weight, eps)

    def group_norm(self, x: Any, groups: int, weight: Any, bias: Any, eps: float) -> Any:
        return F.group_norm(x, groups, weight, bias, eps)

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        return F.linear(x, weight, bias)

    def attention(self, query: Any, key: Any, value: Any, bias: Any = None, causal: bool = False) -> Any:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=bias, is_causal=causal)

    def conv2d(self, x: Any, weight: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
        return F.conv2d(x, weight, stride=stride, padding=padding, groups=groups)

    def take(self, table: Any, ids: Any) -> Any:
        return F.embedding(ids, table)

    def scatter_add(self, size: int, ids: Any, values: Any) -> Any:
        return torch.zeros(size).scatter_add_(0, ids, values)

    def sort(self, x: Any) -> Any:
        return torch.sort(x).values

    def gradients(self, loss: Any, tensors: Any) -> Any:
        # In inference mode all derivatives would be zeros.
        with torch.inference_mode(False):
            return torch.func.grad(loss, argnums=tuple(range(len(tensors))))(*tensors)

    def named(self, name: str) -> Any:
        return spelled.torch(name)

    def topk(self, x: Any, k: int) -> Any:
        return torch.topk(x, k).values


def tensor(array: Array) -> Any:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def array(result: Any) -> Array:
    return np.asarray((result.float() if result.dtype == torch.bfloat16 else result).cpu().numpy())


def place(operand: Any, device: str) -> Any:
    """An operand in the memory of a device."""
    return operand if isinstance(operand, torch.Tensor) else tensor(operand).to(device.lower())


def wait(result: Any, device: str) -> None:
    """Until what was started on the device has ended."""
    if device != "CPU":
        torch.cuda.synchronize()


def events(begin: Callable[[], Any], count: int) -> float:
    """Seconds a call, by the GPU's own clock."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(count):
        begin()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / 1e3 / count


def release() -> None:
    """Gives the device's memory back that no tensor is in."""
    torch.compiler.reset()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def ready(job: Job, compiled: bool = False, **options: Any) -> Ready:
    """Eager PyTorch, in inference mode; `options` are those of `torch.compile`."""
    torch.set_num_threads(job.threads)
    ops = Ops()
    operands = [place(operand, job.device) for operand in (*job.inputs, *job.weights)]

    def program(*tensors: Any) -> Any:
        return job.program(ops, *tensors)

    function = torch.compile(program, **options) if compiled else program

    def call() -> Any:
        with torch.inference_mode():
            return function(*operands)

    return Ready(call, lambda result: [array(r) for r in as_tuple(result)])


def compiled(job: Job) -> Ready:
    """`torch.compile` with its default settings; a second set-up in a process compiles again."""
    torch.compiler.reset()
    return ready(job, compiled=True)


def graphs(job: Job) -> Ready:
    """`torch.compile` that captures CUDA graphs; each call overwrites the outputs of the last one."""
    return ready(job, compiled=True, mode="reduce-overhead")


def attended(job: Job, backend: str) -> Ready:
    """Eager PyTorch with one of the implementations of attention that it chooses from."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    inner = ready(job)

    def call() -> Any:
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return inner.call()

    return Ready(call, inner.fetch)


def flash(job: Job) -> Ready:
    """FlashAttention."""
    return attended(job, "FLASH_ATTENTION")


def cudnn(job: Job) -> Ready:
    """cuDNN's attention."""
    return attended(job, "CUDNN_ATTENTION")


def exact(job: Job) -> list[Array]:
    """The results in f64, computed on the device; numbers that are no floats stay as they are."""

    def widened(operand: Any) -> Any:
        return operand.double() if operand.is_floating_point() else operand

    operands = [widened(place(operand, job.device)) for operand in (*job.inputs, *job.weights)]
    with torch.inference_mode():
        return [array(r) for r in as_tuple(job.program(Ops(), *operands))]
