"""The models that are trained, and the batches that they are trained on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steps.libraries import Array, Library

HALF = "bfloat16"

# A model, its loss over a batch, and its optimizer.
Made = tuple[Any, Callable[..., Any], Any]


@dataclass(frozen=True)
class Step:
    """A step of training: `make` builds the model in a library, `batch` draws what a step is given.

    Of an `update` alone these are the gradients. Parameters, and floats of the batch, are of type `dtype`.
    """

    make: Callable[[Library], Made]
    batch: Callable[[np.random.Generator], Sequence[Array]]
    update: bool = False
    dtype: str = "float32"


def weights(model: Any) -> dict[str, Array]:
    """Values for the parameters of a model by their names, the same in each library."""
    rng = np.random.default_rng(1)
    drawn: dict[str, Array] = {}
    for name, parameter in model.named_parameters():
        shape = tuple(int(n) for n in parameter.shape)
        scale = shape[-1] ** -0.5 if len(shape) > 1 else 0.1
        # Scales of norms are around 1.
        drawn[name] = (scale * rng.standard_normal(shape) + (len(shape) == 1 and name.endswith("weight"))).astype("f4")
    return drawn


def floats(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], Sequence[Array]]:
    return lambda rng: [rng.standard_normal(shape, np.float32) for shape in shapes]


def labelled(classes: int, *shape: int) -> Callable[[np.random.Generator], Sequence[Array]]:
    return lambda rng: [rng.standard_normal(shape, np.float32), rng.integers(0, classes, shape[0])]


def classifier(model: Callable[[Library], Any], optimizer: str, **options: Any) -> Callable[[Library], Made]:
    """A model that tells classes."""

    def make(lib: Library) -> Made:
        made = model(lib)
        loss = lambda model, x, y: lib.functional.cross_entropy(model(x), y)  # noqa: E731
        return made, loss, lib.optimizer(optimizer, made, **options)

    return make


def mlp(lib: Library, inputs: int = 784, hidden: int = 512) -> Any:
    return lib.nn.Sequential(lib.nn.Linear(inputs, hidden), lib.nn.ReLU(), lib.nn.Linear(hidden, 10))


def convnet(lib: Library, widths: Sequence[int] = (32, 64, 128)) -> Any:
    nn = lib.nn
    one, two, three = widths
    return nn.Sequential(
        *(nn.Conv2d(1, one, 3, padding=1), nn.ReLU(), nn.Conv2d(one, two, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(two, three, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(three, 10)),
    )


def resnet(lib: Library, widths: Sequence[int] = (64, 128, 256, 512)) -> Any:
    """ResNet-18's shapes: four stages of two blocks (He et al. 2016)."""
    nn = lib.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(after)
            self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(after)
            same = stride == 1 and before == after
            shortcut = () if same else (nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))
            self.shortcut = nn.Sequential(*shortcut)

        def forward(self, x: Any) -> Any:
            y = self.bn2(self.conv2(lib.functional.relu(self.bn1(self.conv1(x)))))
            return lib.functional.relu(y + self.shortcut(x))

    first = widths[0]
    stem = (nn.Conv2d(3, first, 7, 2, 3, bias=False), nn.BatchNorm2d(first), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
    blocks, before = [], first
    for stage, width in enumerate(widths):
        blocks += [Block(before, width, 2 if stage else 1), Block(width, width, 1)]
        before = width
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 10))


def transformer(lib: Library, layers: int, width: int, heads: int, words: int, length: int, causal: bool) -> Any:
    """Tokens to logits of tokens; blocks are normalized first."""
    nn, functional = lib.nn, lib.functional

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
            self.out, self.up, self.down = (
                nn.Linear(width, width),
                nn.Linear(width, 4 * width),
                nn.Linear(4 * width, width),
            )

        def forward(self, x: Any) -> Any:
            batch = x.shape[0]
            y = self.norm1(x)
            parts = (
                part(y).reshape(batch, length, heads, width // heads) for part in (self.query, self.key, self.value)
            )
            query, key, value = (lib.permute(part, 0, 2, 1, 3) for part in parts)
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
            x = x + self.out(lib.permute(mixed, 0, 2, 1, 3).reshape(batch, length, width))
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    class Transformer(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 96)

        def forward(self, ids: Any) -> Any:
            x = self.words(ids) + self.places.weight
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    return Transformer()


def gpt(layers: int = 4, width: int = 256, batch: int = 8, length: int = 128) -> Step:
    """A language model of characters, each telling the next."""

    def make(lib: Library) -> Made:
        model = transformer(lib, layers, width, 4, 96, length, causal=True)
        loss = lambda model, x, y: lib.functional.cross_entropy(model(x).reshape(-1, 96), y.reshape(-1))  # noqa: E731
        return model, loss, lib.optimizer("AdamW", model, lr=1e-3)

    return Step(make, lambda rng: list(rng.integers(0, 96, (2, batch, length))))


def encoder(layers: int = 6, width: int = 384, batch: int = 8, length: int = 128, words: int = 30522) -> Step:
    """MiniLM's shapes, fine-tuned to tell what a text is about."""

    def make(lib: Library) -> Made:
        model = transformer(lib, layers, width, 12, words, length, causal=False)
        loss = lambda model, x, y: lib.functional.cross_entropy(model(x).mean(1), y)  # noqa: E731
        return model, loss, lib.optimizer("AdamW", model, lr=1e-4)

    return Step(make, lambda rng: [rng.integers(0, words, (batch, length)), rng.integers(0, 96, batch)])


def lstm(width: int = 256, batch: int = 32, length: int = 64) -> Step:
    """Two layers over a sequence."""

    def make(lib: Library) -> Made:
        model = lib.nn.LSTM(width, width, 2)
        loss = lambda model, x: (model(x)[0] ** 2).mean()  # noqa: E731
        return model, loss, lib.optimizer("Adam", model, lr=1e-3)

    return Step(make, floats((length, batch, width)))


def of_parameters(
    shapes: dict[str, tuple[int, ...]], loss: Callable[..., Any], optimizer: str = "SGD"
) -> Callable[[Library], Made]:
    """Parameters of these shapes, moved by an optimizer along the gradient of a function of them."""

    def make(lib: Library) -> Made:
        nn = lib.nn

        class Model(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                for name, shape in shapes.items():
                    setattr(self, name, lib.parameter(np.zeros(shape, np.float32)))

        model = Model()
        return (
            model,
            lambda model, *batch: loss(lib, model, *batch),
            lib.optimizer(optimizer, model, lr=1e-3),
        )

    return make


def attention(shape: tuple[int, ...] = (4, 12, 512, 64)) -> Step:
    """Attention, forward and backward."""

    def loss(lib: Library, model: Any, x: Any) -> Any:
        return (lib.functional.scaled_dot_product_attention(model.q, model.k, model.v) * x).sum()

    return Step(of_parameters(dict.fromkeys("qkv", shape), loss), floats(shape))


def layer_norm(shape: tuple[int, int] = (4096, 1024)) -> Step:
    """Layer norm, forward and backward."""

    def loss(lib: Library, model: Any, x: Any) -> Any:
        return (lib.functional.layer_norm(model.rows, shape[1:], model.scale, model.shift) * x).sum()

    return Step(of_parameters({"rows": shape, "scale": shape[1:], "shift": shape[1:]}, loss), floats(shape))


def embedding(words: int = 100_000, width: int = 64, tokens: int = 32_768) -> Step:
    """Rows of a table, and the gradient by the table."""

    def loss(lib: Library, model: Any, ids: Any, x: Any) -> Any:
        return (lib.functional.embedding(ids, model.table) * x).sum()

    batch = lambda rng: [rng.integers(0, words, tokens), rng.standard_normal((tokens, width), np.float32)]  # noqa: E731
    return Step(of_parameters({"table": (words, width)}, loss), batch)


def update(count: int = 40, width: int = 256) -> Step:
    """AdamW over matrices and vectors, whose gradients are there."""
    shapes: dict[str, tuple[int, ...]] = {f"p{i}": (width, width) if i % 2 == 0 else (width,) for i in range(count)}
    make = of_parameters(shapes, lambda lib, model: None, "AdamW")
    return Step(make, floats(*shapes.values()), update=True)


STEPS: dict[str, Step] = {
    "mlp": Step(classifier(mlp, "SGD", lr=0.01), labelled(10, 256, 784)),
    "convnet": Step(classifier(convnet, "Adam", lr=1e-3), labelled(10, 64, 1, 28, 28)),
    "resnet18": Step(classifier(resnet, "SGD", lr=0.01, momentum=0.9), labelled(10, 8, 3, 64, 64)),
    "gpt": gpt(),
    "lstm": lstm(),
    "minilm": encoder(),
    "attention": attention(),
    "layer-norm": layer_norm(),
    "embedding": embedding(),
    "adamw-40": update(),
}

# Those and larger ones, in the type that tensor cores multiply.
GPU_STEPS: dict[str, Step] = STEPS | {
    "mlp-bf16": replace(
        Step(classifier(lambda lib: mlp(lib, 4096, 16384), "SGD", lr=0.01), labelled(10, 4096, 4096)), dtype=HALF
    ),
    "gpt-bf16": replace(gpt(layers=4, width=768, batch=8, length=512), dtype=HALF),
    "attention-bf16": replace(attention((4, 16, 1024, 64)), dtype=HALF),
}
