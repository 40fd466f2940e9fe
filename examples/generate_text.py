"""Writes text with a model of a folder: GPT-2, Llama, Mistral, Qwen2 or Qwen3, with its tokenizer.

    python examples/generate_text.py FOLDER "Once upon a time" [--tokens 100] [--temperature 0.8] [--top-p 0.95]

FOLDER holds `config.json`, safetensors and `tokenizer.json`. Without one, a small model with random weights writes
tokens.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from tqdm import tqdm

import svod

# What a model is made of if there is none: about as large as the smallest that people share.
CONFIG = {"model_type": "gpt2", "vocab_size": 8000, "n_positions": 512, "n_embd": 256, "n_layer": 4, "n_head": 4}


def write(model: Any, ids: list[int], count: int, **how: Any) -> tuple[list[int], float]:
    """The tokens of a text and those that follow, and how many a second these were."""
    made: list[int] = []
    # The first token waits for the compiler.
    stream = model.stream([ids], count, **how)
    made.append(int(next(stream)[0]))
    began = time.perf_counter()
    for tokens in tqdm(stream, total=count, initial=1, unit="token", file=sys.stderr):
        made.append(int(tokens[0]))
    return ids + made, (len(made) - 1) / max(time.perf_counter() - began, 1e-9)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("text", nargs="?", default="Once upon a time")
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--top-p", type=float, default=0.95)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    how = {"temperature": options.temperature, "top_p": options.top_p, "seed": options.seed}
    if options.folder is None:
        svod.manual_seed(0)
        text, speed = write(svod.models.GPT2.from_config(CONFIG), [1, 2, 3], options.tokens, **how)
        print(*text)
    else:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(options.folder / "tokenizer.json"))
        model = svod.models.load(options.folder)
        text, speed = write(model, tokenizer.encode(options.text).ids, options.tokens, **how)
        print(tokenizer.decode(text))
    print(f"{speed:.0f} tokens a second", file=sys.stderr)


if __name__ == "__main__":
    main()
