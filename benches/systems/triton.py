"""Triton: a kernel by hand for the cases for which one is short, in the manner of its own tutorials."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import torch
import triton
import triton.language as tl

from systems.base import Job, Ready, Unsupported, as_tuple
from systems.torch import array, events, place, release, wait

__all__ = ["events", "place", "ready", "release", "wait"]

# Rows of output that are computed side by side, so that what they read is still in cache.
GROUP = 8


@triton.jit  # type: ignore[untyped-decorator]
def _gelu(a, b, out, count, SCALE: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(a + at, mask=at < count).to(tl.float32)
    right = tl.load(b + at, mask=at < count).to(tl.float32)
    x = left * right + left
    tl.store(out + at, 0.5 * x * (1.0 + tl.erf(x * SCALE)), mask=at < count)


@triton.jit  # type: ignore[untyped-decorator]
def _softmax(x, out, width, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    start = tl.program_id(0).to(tl.int64) * width
    at = tl.arange(0, BLOCK)
    row = tl.load(x + start + at, mask=at < width, other=float("-inf")).to(tl.float32)
    powers = tl.exp(row - tl.max(row, 0))
    tl.store(out + start + at, powers / tl.sum(powers, 0), mask=at < width)


@triton.jit  # type: ignore[untyped-decorator]
def _norm(x, scale, shift, out, width, eps, CENTERED: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    start = tl.program_id(0).to(tl.int64) * width
    at = tl.arange(0, BLOCK)
    row = tl.load(x + start + at, mask=at < width, other=0.0).to(tl.float32)
    if CENTERED:
        row = tl.where(at < width, row - tl.sum(row, 0) / width, 0.0)
    row = row / tl.sqrt(tl.sum(row * row, 0) / width + eps)
    row = row * tl.load(scale + at, mask=at < width, other=0.0).to(tl.float32)
    if CENTERED:
        row = row + tl.load(shift + at, mask=at < width, other=0.0).to(tl.float32)
    tl.store(out + start + at, row, mask=at < width)


@triton.jit  # type: ignore[untyped-decorator]
def _matmul(  # type: ignore[no-untyped-def]
    a,
    b,
    out,
    m,
    n,
    k: tl.constexpr,
    a_row,
    a_column,
    b_row,
    b_column,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    GROUP: tl.constexpr,
):
    down, across = tl.cdiv(m, M), tl.cdiv(n, N)
    tile = tl.program_id(0)
    group = tile // (GROUP * across)
    height = min(down - group * GROUP, GROUP)
    i = group * GROUP + tile % (GROUP * across) % height
    j = tile % (GROUP * across) // height
    rows, columns, depth = i * M + tl.arange(0, M), j * N + tl.arange(0, N), tl.arange(0, K)
    # Rows and columns past the end are read again from the start, and not stored.
    left = a + (rows % m)[:, None] * a_row + depth[None, :] * a_column
    right = b + depth[:, None] * b_row + (columns % n)[None, :] * b_column
    total = tl.zeros((M, N), tl.float32)
    for done in range(0, k, K):
        inside = depth < k - done
        total = tl.dot(
            tl.load(left, mask=inside[None, :], other=0.0),
            tl.load(right, mask=inside[:, None], other=0.0),
            total,
            input_precision="ieee",
        )
        left += K * a_column
        right += K * b_row
    to = out + rows[:, None].to(tl.int64) * n + columns[None, :]
    tl.store(to, total.to(out.dtype.element_ty), mask=(rows < m)[:, None] & (columns < n)[None, :])


def gelu(a: Any, b: Any) -> Any:
    out = torch.empty_like(a)
    _gelu[(triton.cdiv(a.numel(), 1024),)](a, b, out, a.numel(), 1 / sqrt(2), 1024)
    return out


def softmax(x: Any) -> Any:
    out, block = torch.empty_like(x), triton.next_power_of_2(x.shape[1])
    _softmax[(x.shape[0],)](x, out, x.shape[1], block, num_warps=8)
    return out


def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    out, block = torch.empty_like(x), triton.next_power_of_2(x.shape[1])
    _norm[(x.shape[0],)](x, scale, shift, out, x.shape[1], 1e-5, True, block, num_warps=8)
    return out


def rms_norm(x: Any, scale: Any) -> Any:
    out, block = torch.empty_like(x), triton.next_power_of_2(x.shape[1])
    _norm[(x.shape[0],)](x, scale, scale, out, x.shape[1], 1e-6, False, block, num_warps=8)
    return out


def matmul(a: Any, b: Any) -> Any:
    if a.ndim != 2 or a.shape[0] < 64 <= a.shape[1]:
        raise Unsupported("the kernel is for products of two matrices of many rows")
    (m, k), n = a.shape, b.shape[1]
    out = torch.empty((m, n), dtype=a.dtype, device=a.device)
    wide, deep = (128, 32) if a.dtype == torch.float32 else (256, 64)
    tiles = triton.cdiv(m, 128) * triton.cdiv(n, wide)
    strides = (*a.stride(), *b.stride())
    _matmul[(tiles,)](a, b, out, m, n, k, *strides, 128, wide, deep, GROUP, num_warps=8, num_stages=3)
    return out


# By the beginning of a case's name.
KERNELS: dict[str, Callable[..., Any]] = {
    "gelu-": gelu,
    "softmax-": softmax,
    "layernorm-": layer_norm,
    "rmsnorm-": rms_norm,
    "matmul-": matmul,
}


def ready(job: Job) -> Ready:
    """The case's kernel, where it has one."""
    kernel = next((kernel for start, kernel in KERNELS.items() if job.name.startswith(start)), None)
    if kernel is None or job.name.endswith("t"):
        raise Unsupported("no kernel by hand")
    operands = [place(operand, job.device) for operand in (*job.inputs, *job.weights)]
    return Ready(lambda: kernel(*operands), lambda result: [array(r) for r in as_tuple(result)])
