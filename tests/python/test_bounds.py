"""Kernels read what they are given and nothing beside it: operands that end, or begin, at pages that cannot be read."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest

import svod
from svod.nn import functional as F

PAGE = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

Program = Callable[..., svod.Tensor]


def between_guards(array: np.ndarray, first: bool) -> np.ndarray:
    """A copy of an array in memory that starts just behind a page that cannot be read, or ends just before one."""
    pages = -(-array.nbytes // PAGE) * PAGE
    base = libc.mmap(None, pages + 2 * PAGE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANON, -1, 0)
    for guard in (base, base + PAGE + pages):
        assert libc.mprotect(guard, PAGE, 0) == 0
    at = base + PAGE + (0 if first else pages - array.nbytes)
    memory = (ctypes.c_char * array.nbytes).from_address(at)
    copy = np.frombuffer(memory, dtype=array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def convolutions() -> Iterator[tuple[str, Program, list[tuple[int, ...]]]]:
    for extents in [(33,), (16, 17), (33, 20), (9, 8, 7)]:
        rank = len(extents)
        names = (f"conv{rank}d", f"conv_transpose{rank}d")
        for taps in (1, 2, 3, 5):
            for stride in (1, 2, 3):
                for padding in sorted({0, taps // 2}):
                    at = {"stride": stride, "padding": padding}
                    plain, transposed = (partial(getattr(F, name), **at) for name in names)
                    x, w = (2, 4, *extents), (8, 4, *[taps] * rank)
                    yield f"{names[0]} {extents} {taps} {at}", plain, [x, w]
                    yield f"{names[1]} {extents} {taps} {at}", transposed, [x, (4, 8, *[taps] * rank)]
                    if rank == 2:
                        deep = partial(plain, groups=4)
                        yield f"depthwise {extents} {taps} {at}", deep, [x, (4, 1, taps, taps)]


def others() -> Iterator[tuple[str, Program, list[tuple[int, ...]]]]:
    for shape in [(33, 65), (64, 64), (5, 1000), (129, 3)]:
        last = shape[1]
        yield f"every second {shape}", lambda x: x[:, ::2] + 1, [shape]
        yield f"every third from one {shape}", lambda x: x[1:, 1::3] + 1, [shape]
        yield f"flip {shape}", lambda x: x.flip(1) * 2, [shape]
        yield f"permute {shape}", lambda x: x.T + 1, [shape]
        yield f"interleave {shape}", lambda x, y: svod.stack([x, y], 2).flatten(1).sum(1), [shape, shape]
        yield f"pad {shape}", lambda x: x.pad([(1, 2), (3, 0)]) + 1, [shape]
        yield f"softmax {shape}", lambda x: x.softmax(0), [shape]
        yield f"cumsum {shape}", lambda x: x.cumsum(1), [shape]
        yield f"product {shape}", lambda x, y: x @ y, [shape, (last, 37)]
        yield f"transposed product {shape}", lambda x, y: x @ y.T, [shape, (37, last)]
        yield f"attention {shape}", lambda q, k: q.scaled_dot_product_attention(k, k), [shape, (50, last)]
        yield f"pool {shape}", lambda x: x.reshape(1, 1, *x.shape).max_pool2d(2, 2, 1), [shape]


def movements() -> Iterator[tuple[str, Program, list[tuple[int, ...]]]]:
    """Some arrays stacked or concatenated, and then steps that move elements, drawn at random."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        shape = tuple(int(n) for n in rng.integers(1, (40, 12)[seed % 2], 1 + seed % 3))
        steps = [(int(kind), int(which)) for kind, which in rng.integers(0, [8, 1 << 20], (4, 2))]
        yield f"{shape} {steps}", partial(moved, steps), [shape] * (1 + seed % 3)


def moved(steps: list[tuple[int, int]], *parts: svod.Tensor) -> svod.Tensor:
    axis = steps[0][1] % parts[0].ndim
    x = svod.stack(list(parts), axis + 1).flatten(axis, axis + 1) if len(parts) > 1 else parts[0]
    for kind, which in steps:
        axis = which % x.ndim
        extent, by = x.shape[axis], 2 + which % 3
        if kind == 0:
            x = svod.stack([x] * by, axis + 1).flatten(axis, axis + 1)
        elif kind == 1 and extent > 3:
            x = x.permute([axis, *(d for d in range(x.ndim) if d != axis)])[which % 3 : extent - 1 : by]
        elif kind == 2:
            x = x.flip(axis)
        elif kind == 3:
            x = x.permute(list(range(x.ndim))[::-1])
        elif kind == 4:
            x = x.pad([(which % 2, by)] * x.ndim)
        elif kind == 5 and x.ndim > 1:
            x = x.flatten(0, 1)
        elif kind == 6:
            x = svod.cat([x, x.flip(axis)], axis)
        elif kind == 7:
            wide = (svod.arange(extent) % by < 1).reshape([extent if d == axis else 1 for d in range(x.ndim)])
            x = svod.where(wide, x, x.flip(axis))
    return x + 1 if steps[0][0] % 2 else x.sum(x.ndim - 1)


def run(name: str, program: Program, shapes: list[tuple[int, ...]], first: bool) -> None:
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    beside = [between_guards(array, first) for array in arrays]
    with svod.PrepareConfig(threads=1):
        found = program(*map(svod.from_numpy, beside)).numpy()
        expected = program(*map(svod.Tensor, arrays)).numpy()
    # A shape that was met before has kernels of any extent, which may add in another order.
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=name)


def main(kind: str) -> None:
    for name, program, shapes in {"convolutions": convolutions, "others": others, "movements": movements}[kind]():
        for first in (False, True):
            print(name, "behind a guard" if first else "before a guard", flush=True)
            run(name, program, shapes, first)


@pytest.mark.skipif(os.name != "posix", reason="pages are guarded by mprotect")
@pytest.mark.parametrize("kind", ["convolutions", "others", "movements"])
def test_nothing_beside_an_operand_is_read(kind: str) -> None:
    done = subprocess.run([sys.executable, __file__, kind], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout.splitlines()[-1:]} {done.stderr[-2000:]}"


if __name__ == "__main__":
    main(sys.argv[1])
