"""JAX under PyTorch's names: as much of layers, functions and optimizers as the steps need.

Parameters are arrays of modules. A step is a jitted function of all of them and of the optimizer's state, which it is
given to keep (`donate_argnums`), with the arrays in their places while JAX traces it.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Array = Any


class Module:
    """What holds parameters and other modules."""

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Array]]:
        for name, value in vars(self).items():
            if isinstance(value, Module):
                yield from value.named_parameters(f"{prefix}{name}.")
            elif isinstance(value, jax.Array):
                yield f"{prefix}{name}", value

    def parameters(self) -> Module:
        # The optimizer finds them by name.
        return self

    def put(self, name: str, value: Array) -> None:
        *path, last = name.split(".")
        owner: Any = self
        for part in path:
            owner = getattr(owner, part)
        setattr(owner, last, value)

    def __call__(self, *inputs: Any) -> Any:
        return self.forward(*inputs)

    def forward(self, *inputs: Any) -> Any:
        raise NotImplementedError


class ModuleList(Module):
    def __init__(self, items: Sequence[Any] = ()) -> None:
        self._count = len(items)
        for i, item in enumerate(items):
            setattr(self, str(i), item)

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, str(i)) for i in range(self._count))


class Sequential(ModuleList):
    def __init__(self, *items: Any) -> None:
        super().__init__(items)

    def forward(self, *inputs: Any) -> Any:
        (x,) = inputs
        for item in self:
            x = item(x)
        return x


class Linear(Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        self.weight, self.bias = jnp.zeros((outputs, inputs)), jnp.zeros(outputs)

    def forward(self, *inputs: Any) -> Any:
        return inputs[0] @ self.weight.T + self.bias


class Conv2d(Module):
    def __init__(
        self, before: int, after: int, kernel: int, stride: int = 1, padding: int = 0, bias: bool = True
    ) -> None:
        self.weight = jnp.zeros((after, before, kernel, kernel))
        if bias:
            self.bias = jnp.zeros(after)
        self._how = (stride, padding, bias)

    def forward(self, *inputs: Any) -> Any:
        stride, padding, bias = self._how
        y = jax.lax.conv_general_dilated(inputs[0], self.weight, (stride, stride), [(padding, padding)] * 2)
        return y + self.bias[:, None, None] if bias else y


class BatchNorm2d(Module):
    """By the batch; its running statistics are not kept, which spares JAX their update."""

    def __init__(self, channels: int) -> None:
        self.weight, self.bias = jnp.ones(channels), jnp.zeros(channels)

    def forward(self, *inputs: Any) -> Any:
        (x,) = inputs
        mean, variance = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
        rows = (x - mean) * jax.lax.rsqrt(variance + 1e-5)
        return rows * self.weight[:, None, None] + self.bias[:, None, None]


class LayerNorm(Module):
    def __init__(self, width: int) -> None:
        self.weight, self.bias = jnp.ones(width), jnp.zeros(width)

    def forward(self, *inputs: Any) -> Any:
        return layer_norm(inputs[0], self.weight.shape, self.weight, self.bias)


class Embedding(Module):
    def __init__(self, words: int, width: int) -> None:
        self.weight = jnp.zeros((words, width))

    def forward(self, *inputs: Any) -> Any:
        return self.weight[inputs[0]]


class LSTM(Module):
    """Layers over a sequence, `(length, batch, width)` (Hochreiter and Schmidhuber 1997), each a scan."""

    def __init__(self, inputs: int, width: int, layers: int) -> None:
        self._layers = layers
        for i in range(layers):
            setattr(self, f"weight_ih_l{i}", jnp.zeros((4 * width, inputs if i == 0 else width)))
            setattr(self, f"weight_hh_l{i}", jnp.zeros((4 * width, width)))
            setattr(self, f"bias_ih_l{i}", jnp.zeros(4 * width))
            setattr(self, f"bias_hh_l{i}", jnp.zeros(4 * width))

    def forward(self, *inputs: Any) -> Any:
        (x,) = inputs
        for i in range(self._layers):
            to, over = getattr(self, f"weight_ih_l{i}"), getattr(self, f"weight_hh_l{i}")
            given = x @ to.T + (getattr(self, f"bias_ih_l{i}") + getattr(self, f"bias_hh_l{i}"))

            def step(state: Any, row: Any, over: Any = over) -> Any:
                h, c = state
                enter, forget, cell, leave = jnp.split(row + h @ over.T, 4, -1)
                c = jax.nn.sigmoid(forget) * c + jax.nn.sigmoid(enter) * jnp.tanh(cell)
                h = jax.nn.sigmoid(leave) * jnp.tanh(c)
                return (h, c), h

            start = jnp.zeros((x.shape[1], over.shape[1]))
            _, x = jax.lax.scan(step, (start, start), given)
        return x, None


def of_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A class of modules that are a function with options."""

    class Layer(Module):
        def __init__(self, *options: Any) -> None:
            self._options = options

        def forward(self, *inputs: Any) -> Any:
            return function(*inputs, *self._options)

    return Layer


def max_pool(x: Any, size: int, stride: int | None = None, padding: int = 0) -> Any:
    stride = stride or size
    edges = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, size, size), (1, 1, stride, stride), edges)


def layer_norm(x: Any, shape: Any, weight: Any, bias: Any) -> Any:
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * weight + bias


def cross_entropy(logits: Any, labels: Any) -> Any:
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


def attention(q: Any, k: Any, v: Any, is_causal: bool = False) -> Any:
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if is_causal:
        scores = jnp.where(jnp.tri(q.shape[-2], k.shape[-2], dtype=bool), scores, -jnp.inf)
    return jax.nn.softmax(scores) @ v


class Optimizer:
    """A rule for one parameter, of its gradient, its state and the number of the step."""

    names: tuple[str, ...] = ()

    def __init__(self, model: Module, lr: float = 1e-3, **options: float) -> None:
        self.model, self.lr, self.options = model, lr, options

    def begin(self) -> dict[str, Any]:
        zeros = {name: jnp.zeros_like(p) for name, p in self.model.named_parameters()}
        return {of: jax.tree.map(jnp.copy, zeros) for of in self.names} | {"step": jnp.zeros(())}

    def all(self, params: dict[str, Any], gradients: dict[str, Any], state: dict[str, Any]) -> Any:
        count = state["step"] + 1
        after: dict[str, Any] = {of: {} for of in self.names}
        moved: dict[str, Any] = {}
        for name, p in params.items():
            moved[name], own = self.one(p, gradients[name], [state[of][name] for of in self.names], count)
            for of, value in zip(self.names, own, strict=True):
                after[of][name] = value
        return moved, after | {"step": count}

    def one(self, p: Any, g: Any, own: list[Any], count: Any) -> tuple[Any, list[Any]]:
        raise NotImplementedError


class SGD(Optimizer):
    names = ("momentum",)

    def one(self, p: Any, g: Any, own: list[Any], count: Any) -> tuple[Any, list[Any]]:
        average = self.options.get("momentum", 0.0) * own[0] + g
        return p - self.lr * average, [average]


class Adam(Optimizer):
    names = ("first", "second")
    decay = 0.0

    def one(self, p: Any, g: Any, own: list[Any], count: Any) -> tuple[Any, list[Any]]:
        first, second = 0.9 * own[0] + 0.1 * g, 0.999 * own[1] + 0.001 * g * g
        root = jnp.sqrt(second / (1 - 0.999**count)) + 1e-8
        return p * (1 - self.lr * self.decay) - self.lr * (first / (1 - 0.9**count)) / root, [first, second]


class AdamW(Adam):
    decay = 0.01


functional = types.SimpleNamespace(
    cross_entropy=cross_entropy,
    relu=jax.nn.relu,
    gelu=lambda x: jax.nn.gelu(x, approximate=False),
    layer_norm=layer_norm,
    embedding=lambda ids, table: table[ids],
    scaled_dot_product_attention=attention,
)
nn = types.SimpleNamespace(
    Module=Module,
    ModuleList=ModuleList,
    Sequential=Sequential,
    Linear=Linear,
    Conv2d=Conv2d,
    BatchNorm2d=BatchNorm2d,
    LayerNorm=LayerNorm,
    Embedding=Embedding,
    LSTM=LSTM,
    ReLU=of_function(jax.nn.relu),
    Flatten=of_function(lambda x: x.reshape(x.shape[0], -1)),
    MaxPool2d=of_function(max_pool),
    AdaptiveAvgPool2d=of_function(lambda x, size: x.mean((2, 3), keepdims=True)),
)
optim = types.SimpleNamespace(SGD=SGD, Adam=Adam, AdamW=AdamW)


def stepped(model: Module, loss: Callable[..., Any], optimizer: Optimizer) -> Callable[..., float]:
    """A step of training."""

    def value(params: dict[str, Any], batch: Any) -> Any:
        for name, p in params.items():
            model.put(name, p)
        return loss(model, *batch)

    def step(params: dict[str, Any], state: Any, batch: Any) -> Any:
        found, gradients = jax.value_and_grad(value)(params, batch)
        return found, *optimizer.all(params, gradients, state)

    jitted = jax.jit(step, donate_argnums=(0, 1))
    held = [dict(model.named_parameters()), optimizer.begin()]

    def take(*batch: Any) -> float:
        found, held[0], held[1] = jitted(held[0], held[1], batch)
        return float(found)

    return take


def updated(optimizer: Optimizer, gradients: Sequence[Any]) -> Callable[[], None]:
    """A step of an optimizer."""
    model = optimizer.model
    held = [dict(model.named_parameters()), optimizer.begin()]
    by_name = dict(zip(held[0], gradients, strict=True))
    jitted = jax.jit(optimizer.all, donate_argnums=(0, 2))

    def take() -> None:
        held[0], held[1] = jax.block_until_ready(jitted(held[0], by_name, held[1]))
        for name, p in held[0].items():
            model.put(name, p)

    return take


def array(values: np.ndarray[Any, Any]) -> Any:
    return jnp.asarray(values)
