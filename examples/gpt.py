"""A transformer that writes Python, a character at a time: trained on the sources of the standard library.

    python examples/gpt.py [--steps 300] [--write 400]

What is written comes from one plan, whatever the length of the text so far: keys and values of earlier characters are
kept, and the number of them is a variable.
"""

from __future__ import annotations

import argparse
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np

import svod
from svod import nn, optim
from svod.nn import functional as F
from training import progress, save_curve

# What text is made of; anything else is read as "?".
CHARACTERS = "\n" + "".join(map(chr, range(32, 127)))


def encode(text: str) -> np.ndarray:
    """Characters as numbers."""
    known = {character: i for i, character in enumerate(CHARACTERS)}
    return np.array([known.get(character, known["?"]) for character in text])


def decode(ids: Any) -> str:
    """Numbers as characters."""
    return "".join(CHARACTERS[int(i)] for i in ids)


def sources(most: int = 2_000_000) -> np.ndarray:
    """The characters of the standard library's modules, in order of their names."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    text = ""
    for path in sorted(folder.glob("*.py")):
        text += path.read_text(encoding="utf-8", errors="replace").expandtabs(4)
        if len(text) >= most:
            break
    return encode(text[:most])


class GPT(nn.Module):
    """A transformer that sees earlier characters only, and tells the logits of the next (Radford et al. 2018)."""

    def __init__(self, width: int = 256, layers: int = 4, heads: int = 4, context: int = 128) -> None:
        self.heads, self.context = heads, context
        self.characters = nn.Embedding(len(CHARACTERS), width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, len(CHARACTERS))
        for table in (self.characters, self.positions):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, ids: svod.Tensor) -> svod.Tensor:
        x = self.characters(ids) + self.positions.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x, is_causal=True)
        return self.head(self.norm(x))

    def following(
        self, character: svod.Tensor, keys: svod.Tensor, values: svod.Tensor
    ) -> tuple[svod.Tensor, svod.Tensor, svod.Tensor]:
        """The logits behind one more character, and keys and values, `(layers, heads, n, depth)`, with its own."""
        n = keys.shape[2]
        x = self.characters(character) + self.positions.weight[n : n + 1]
        all_keys, all_values = [], []
        for layer, block in enumerate(self.blocks):
            attention = block.self_attn
            projected = block.norm1(x).linear(attention.in_proj_weight, attention.in_proj_bias)
            query, key, value = (part.reshape(self.heads, 1, -1) for part in projected.chunk(3, -1))
            all_keys.append(svod.cat([keys[layer], key], 1))
            all_values.append(svod.cat([values[layer], value], 1))
            found = F.scaled_dot_product_attention(query, all_keys[-1], all_values[-1])
            x = x + attention.out_proj(found.reshape(1, -1))
            x = x + block.linear2(block.activation(block.linear1(block.norm2(x))))
        return self.head(self.norm(x))[0], svod.stack(all_keys), svod.stack(all_values)


def batches(data: np.ndarray, length: int, count: int, seed: int) -> Any:
    """Pieces of text and, for each character, the one that follows it."""
    rng = np.random.default_rng(seed)
    while True:
        starts = rng.integers(0, len(data) - length - 1, count)
        rows = data[starts[:, None] + np.arange(length + 1)]
        yield rows[:, :-1], rows[:, 1:]


def train(
    model: GPT, data: np.ndarray, steps: int, batch: int = 16, rate: float = 1e-3, seed: int = 0, quiet: bool = False
) -> list[float]:
    """Trains with AdamW, a warm-up and gradients of norm 1 at most; gives the loss at each step."""
    model.requires_grad_()
    optimizer = optim.AdamW(model.parameters(), lr=rate)
    warm_up = optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=20)
    pieces = batches(data, model.context, batch, seed)
    losses: list[float] = []
    for _ in progress(range(steps), losses, quiet):
        ids, following = next(pieces)
        optimizer.zero_grad()
        logits = model(svod.Tensor(ids))
        loss = F.cross_entropy(logits.flatten(0, 1), svod.Tensor(following.reshape(-1)))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warm_up.step()
        losses.append(loss.item())
    return losses


class Writer:
    """Writes with a model: one plan for texts of all lengths."""

    def __init__(self, model: GPT) -> None:
        self.model = model
        attention = model.blocks[0].self_attn
        layers, depth = len(model.blocks), attention.embed_dim // model.heads
        self._empty = np.zeros((layers, model.heads, 0, depth), np.float32)
        n = svod.Variable("n", 0, model.context - 1)
        cache = (layers, model.heads, n, depth)
        self.next = svod.jit(shapes={"keys": cache, "values": cache})(model.following)

    def write(self, start: str, count: int, temperature: float = 0.0, seed: int = 0) -> str:
        """A text with `count` more characters, the likeliest or, with a temperature, drawn."""
        rng = np.random.default_rng(seed)
        ids = [int(i) for i in encode(start)]
        if not 0 < len(ids) <= len(ids) + count <= self.model.context:
            raise ValueError(f"{len(ids)} and {count} characters for a context of {self.model.context}")
        keys = values = svod.Tensor(self._empty)
        for at in range(len(ids) + count - 1):
            with svod.no_grad():
                logits, keys, values = self.next(svod.Tensor([ids[at]]), keys, values)
            if at + 1 == len(ids):
                scores = logits.numpy()
                if temperature:
                    scores = scores / temperature + rng.gumbel(size=scores.shape)
                ids.append(int(scores.argmax()))
        return decode(ids)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--write", type=int, default=100)
    options = parser.parse_args()
    svod.manual_seed(0)
    model = GPT()
    losses = train(model, sources(), options.steps)
    save_curve(losses, "gpt.png")
    print(Writer(model).write("def ", options.write, temperature=0.7))


if __name__ == "__main__":
    main()
