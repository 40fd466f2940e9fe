"""Attention on a GPU, real or simulated (`SVOD_CUDA`), in one kernel where tensor cores have one, beside PyTorch's."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import svod
import svod.nn.functional as F

torch = pytest.importorskip("torch")

if "SVOD_CUDA" not in os.environ and "CUDA:0" not in svod.devices():
    os.environ["SVOD_CUDA"] = "sim:sm_90"

TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
# Operands have 8 or 11 bits, and weights are rounded to as many.
TOLERANCES = {"bfloat16": 2e-2, "float16": 3e-3, "float32": 1e-5}


def drawn(dtype, *shapes, seed=0):
    """Arrays of numbers that the type has."""
    numbers = np.random.default_rng(seed)
    made = [torch.from_numpy(numbers.standard_normal(shape).astype(np.float32)).to(TYPES[dtype]) for shape in shapes]
    return [m.double() for m in made]


def on(dtype, *arrays):
    """The arrays on the GPU."""
    return [svod.from_dlpack(a.to(TYPES[dtype]).contiguous()).to("CUDA").realize() for a in arrays]


def check(made, expected, dtype):
    assert made.device == "CUDA:0"
    found = made.cast("float32").numpy()
    np.testing.assert_allclose(found, expected.float().numpy(), atol=TOLERANCES[dtype], rtol=TOLERANCES[dtype])


def kernels(made):
    """How many kernels compute a value, which then is computed."""
    plan = made.prepare()
    plan.execute()
    return len(plan.kernels)


def reference(q, k, v, **how):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, **how)


@pytest.mark.parametrize("dtype", list(TYPES))
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("shape", "keys"),
    [((2, 3, 24, 16), 24), ((1, 2, 33, 8), 47), ((1, 1, 70, 64), 70), ((3, 65, 40), 9), ((1, 2, 5, 24), 1)],
)
def test_attention(dtype, causal, shape, keys):
    other = (*shape[:-2], keys, shape[-1])
    q, k, v = drawn(dtype, shape, other, other)
    check(
        F.scaled_dot_product_attention(*on(dtype, q, k, v), is_causal=causal),
        reference(q, k, v, is_causal=causal),
        dtype,
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_attention_is_one_kernel(dtype):
    q, k, v = drawn(dtype, (2, 3, 20, 16), (2, 3, 20, 16), (2, 3, 20, 8))
    x = on(dtype, q, k, v)
    for causal in (False, True):
        made = F.scaled_dot_product_attention(*x, is_causal=causal)
        assert kernels(made) == 1
        check(made, reference(q, k, v, is_causal=causal), dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_attention_with_masks(dtype):
    q, k, v = drawn(dtype, (2, 3, 20, 16), (2, 3, 31, 16), (2, 3, 31, 16))
    x = on(dtype, q, k, v)
    numbers = np.random.default_rng(1)
    for shape in [(20, 31), (2, 1, 1, 31), (2, 3, 20, 31)]:
        hidden = numbers.random(shape) < 0.7
        hidden[..., 0] = True
        made = F.scaled_dot_product_attention(*x, attn_mask=svod.Tensor(hidden, device="CUDA"))
        check(made, reference(q, k, v, attn_mask=torch.from_numpy(hidden)), dtype)
        added = numbers.standard_normal(shape).astype(np.float32)
        made = F.scaled_dot_product_attention(*x, attn_mask=svod.Tensor(added, device="CUDA"), scale=0.3)
        check(made, reference(q, k, v, attn_mask=torch.from_numpy(added).double(), scale=0.3), dtype)
    # A query that sees no key.
    hidden = np.ones((20, 31), bool)
    hidden[7] = False
    made = F.scaled_dot_product_attention(*x, attn_mask=svod.Tensor(hidden, device="CUDA"))
    assert (made.cast("float32").numpy()[:, :, 7] == 0).all()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("rows", [1, 2, 19])
@pytest.mark.parametrize("heads", [(4, 4), (8, 2), (6, 1)])
def test_attention_of_groups_and_few_rows(dtype, rows, heads):
    queries, others = heads
    q, k, v = drawn(dtype, (2, queries, rows, 16), (2, others, 50, 16), (2, others, 50, 16))
    made = F.scaled_dot_product_attention(*on(dtype, q, k, v), enable_gqa=True)
    check(made, reference(q, k, v, enable_gqa=True), dtype)


@pytest.mark.parametrize("dtype", list(TYPES))
def test_attention_that_is_written_out(dtype):
    q, k, v = drawn(dtype, (3, 20, 16), (3, 30, 16), (3, 30, 16))
    x, y, z = on(dtype, q, k, v)
    made = (x @ y.mT / 4).softmax(-1) @ z
    check(made, reference(q, k, v), dtype)
    # With what follows it, and with views of one tensor.
    check(made * 2 + 1, reference(q, k, v) * 2 + 1, dtype)
    (both,) = drawn(dtype, (2, 12, 3 * 2 * 8))
    (x,) = on(dtype, both)
    parts = x.reshape(2, 12, 3, 2, 8).permute(2, 0, 3, 1, 4)
    made = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
    parts = both.reshape(2, 12, 3, 2, 8).permute(2, 0, 3, 1, 4)
    expected = reference(parts[0], parts[1], parts[2], is_causal=True)
    check(made.permute(0, 2, 1, 3).reshape(2, 12, 16), expected.permute(0, 2, 1, 3).reshape(2, 12, 16), dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_scores_are_not_rounded_on_the_way(dtype):
    q, k, v = drawn(dtype, (1, 64, 32), (1, 64, 32), (1, 64, 32))
    x, y, z = on(dtype, q, k, v)
    made = (x @ y.mT * 0.17).softmax(-1) @ z
    # The kernel multiplies its sums by a number, and computes nothing more of a score.
    plan = made.prepare()
    plan.execute()
    assert ".score" not in plan.kernels[0].source
    check(made, reference(q, k, v, scale=0.17), dtype)
    # A bias of 16 bits is added as it is; what is made of it is not rounded.
    (bias,) = drawn(dtype, (64, 64), seed=1)
    (b,) = on(dtype, bias)
    made = (x @ y.mT * 0.17 + b).softmax(-1) @ z
    plan = made.prepare()
    plan.execute()
    assert len(plan.kernels) == 1 and ".score" in plan.kernels[0].source
    check(made, reference(q, k, v, scale=0.17, attn_mask=bias), dtype)


def layer(x, wide, out, rows, attention):
    parts = (x @ wide.mT).reshape(rows, 3, 2, 16).permute(1, 2, 0, 3)
    mixed = attention(parts[0], parts[1], parts[2], is_causal=True)
    return x + mixed.permute(1, 0, 2).reshape(rows, 32) @ out.mT


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_symbolic_sizes_of_a_layer(dtype):
    wide, out = (w / 4 for w in drawn(dtype, (96, 32), (32, 32)))
    wide, out = (w.to(TYPES[dtype]).double() for w in (wide, out))
    b, c = on(dtype, wide, out)
    n = svod.Variable("n", 1, 300)
    given = svod.empty(n, 32, dtype=dtype, device="CUDA")
    made = layer(given, b, c, n, F.scaled_dot_product_attention)
    plan = made.prepare(inputs=[given])
    if dtype == "bfloat16":
        assert len(plan.kernels) == 3
    for size in (70, 1, 128, 70, 2, 300):
        (x,) = drawn(dtype, (size, 32), seed=size)
        for _ in range(3):
            plan.execute(*on(dtype, x))
        expected = layer(x, wide, out, size, reference)
        near = 0.1 if dtype == "bfloat16" else 1e-4
        np.testing.assert_allclose(made.cast("float32").numpy(), expected.float().numpy(), atol=near, rtol=near)


def test_products_of_symbolic_sizes_are_compiled_for_the_sizes_at_hand():
    run = """
import numpy as np, svod
n = svod.Variable("n", 1, 500)
x = svod.empty(n, 64, device="CUDA")
w = svod.Tensor(np.ones((64, 48), np.float32), device="CUDA").realize()
made = x @ w
plan = made.prepare(inputs=[x])
for size in (200, 1, 200):
    plan.execute(svod.Tensor(np.ones((size, 64), np.float32), device="CUDA"))
    assert made.shape[0] == size and (made.numpy() == 64).all()
"""
    env = os.environ | {"SVOD_DEBUG": "1"}
    done = subprocess.run([sys.executable, "-c", run], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "compiled matmul_200x48x64" in done.stderr


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_attention_of_sizes_that_have_no_kernel(dtype):
    q, k, v = drawn(dtype, (2, 20, 9), (2, 31, 9), (2, 31, 7))
    check(F.scaled_dot_product_attention(*on(dtype, q, k, v)), reference(q, k, v), dtype)


def test_attention_between_products_of_a_layer():
    x, wide, out = drawn("bfloat16", (2, 16, 32), (96, 32), (32, 32))
    wide, out = wide / 4, out / 4
    a, b, c = on("bfloat16", x, wide, out)

    def layer(x, wide, out, attention):
        parts = (x @ wide.mT).reshape(2, 16, 3, 2, 16).permute(2, 0, 3, 1, 4)
        mixed = attention(parts[0], parts[1], parts[2], is_causal=True)
        return x + mixed.permute(0, 2, 1, 3).reshape(2, 16, 32) @ out.mT

    made = layer(a, b, c, F.scaled_dot_product_attention)
    assert kernels(made) == 3
    wide, out = (w.to(torch.bfloat16).double() for w in (wide, out))
    expected = layer(x, wide, out, reference)
    np.testing.assert_allclose(made.cast("float32").numpy(), expected.float().numpy(), atol=0.1, rtol=0.05)


def test_strict_attention_keeps_every_operation():
    q, k, v = drawn("bfloat16", (2, 10, 8), (2, 10, 8), (2, 10, 8))
    with svod.strict():
        made = F.scaled_dot_product_attention(*on("bfloat16", q, k, v))
        assert kernels(made) > 1
        check(made, reference(q, k, v), "bfloat16")
