"""Models that tell the next token, and texts that they write.

A text is written by two plans: one computes the scores behind a text of any length and the keys and values of its
tokens, the other those of one more token, however many there were. Lengths are variables, so neither is compiled again;
keys and values are memory that the second plan reads and that one row a token is written to.
"""

from __future__ import annotations

import functools
from collections import UserDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

import svod
from svod import nn
from svod._svod import ArgumentError, ArgumentTypeError, Generator, Size, Tensor, UnsupportedError, Variable, cat, stack
from svod.models._config import Config
from svod.nn import functional as F

# A text's memory has room for a power of two of tokens, this many at least.
_ROOM = 256


class Cache:
    """Keys and values while a model runs: those of earlier tokens, and those that it makes, layer by layer."""

    def __init__(self, past: Tensor | None = None, length: Size | int = 0) -> None:
        """`past` is `(2, layers, batch, heads, room, depth)`, of which the first `length` are filled."""
        self.length = length
        self._past = past
        self._made: list[Tensor] = []

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Attention of new tokens to each other, causally, or of one to all earlier ones and itself."""
        layer = len(self._made)
        self._made.append(stack([key, value]))
        shared = query.shape[1] != key.shape[1]
        if self._past is None:
            return F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=shared)
        keys, values = (cat([self._past[i, layer, :, :, : self.length], new], 2) for i, new in enumerate((key, value)))
        return F.scaled_dot_product_attention(query, keys, values, enable_gqa=shared)

    def made(self) -> Tensor:
        """Keys and values of the new tokens, `(2, layers, batch, heads, tokens, depth)`."""
        return stack(self._made, 1)


class Decoder(nn.Module):
    """Base of models that tell the next token; a subclass defines `hidden` and `scores`."""

    def __init__(self, config: Config, context: int) -> None:
        self.context = context
        """How many tokens a text may have."""
        ends = config.get("eos_token_id", ())
        self._ends = (ends,) if isinstance(ends, int) else tuple(ends)
        # No dict, which would be part of what the plans are traced with.
        self._steps: UserDict[tuple[int, int], tuple[Callable[..., Any], Callable[..., Any], Variable]] = UserDict()

    def __getstate__(self) -> dict[str, Any]:
        # A copy compiles plans of its own.
        return {**self.__dict__, "_steps": UserDict()}

    def hidden(self, ids: Tensor, cache: Cache) -> Tensor:
        """What the last layer gives for tokens behind those of the cache, `(batch, length, width)`."""
        raise NotImplementedError

    def scores(self, x: Tensor) -> Tensor:
        """The scores of all tokens as the next one."""
        raise NotImplementedError

    def forward(self, input_ids: Tensor) -> Tensor:
        if len(input_ids.shape) != 2:
            raise ArgumentError(f"{type(self).__name__}: input_ids are (batch, length), not {tuple(input_ids.shape)}")
        if input_ids.shape[1] > self.context:
            raise ArgumentError(
                f"{type(self).__name__}: {input_ids.shape[1]} tokens for a context of {self.context} at most"
            )
        return self.scores(self.hidden(input_ids, Cache()))

    def generate(
        self,
        input_ids: Any,
        max_new_tokens: int = 20,
        *,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        eos_token_id: int | Iterable[int] | None = None,
        progress: bool = False,
    ) -> Tensor:
        """Texts with up to `max_new_tokens` more tokens, `(batch, length)` of `int64`.

        `input_ids` are texts of one length, `(batch, length)`. A `temperature` of 0 takes the likeliest token each
        time; else one is drawn, from the `top_k` likeliest, or from the fewest whose probabilities add to `top_p`
        (Holtzman et al. 2020), by `seed`, or by the common generator. A text ends at a token of `eos_token_id`, by
        default those of the model's configuration, and is filled with it. `progress` shows a bar, with the package
        `tqdm`.
        """
        ids = _texts(input_ids)
        made = self.stream(
            ids,
            max_new_tokens,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
            eos_token_id=eos_token_id,
        )
        if progress:
            made = _bar(made, max_new_tokens)
        return Tensor(np.concatenate([ids, *(tokens[:, None] for tokens in made)], axis=1))

    def stream(
        self,
        input_ids: Any,
        max_new_tokens: int = 20,
        *,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        eos_token_id: int | Iterable[int] | None = None,
    ) -> Iterator[np.ndarray]:
        """As `generate`, token by token: arrays of one for each text."""
        ids = _texts(input_ids)
        length = ids.shape[1]
        if max_new_tokens < 1 or length + max_new_tokens > self.context:
            raise ArgumentError(
                f"generate: {length} tokens and {max_new_tokens} more, for a context of {self.context} at most"
            )
        choose = _chooser(temperature, top_k, top_p, seed)
        ends = self._ends if eos_token_id is None else eos_token_id
        return self._written(ids, max_new_tokens, choose, (ends,) if isinstance(ends, int) else tuple(ends))

    def _written(
        self, ids: np.ndarray, count: int, choose: Callable[[Tensor], np.ndarray], ends: tuple[int, ...]
    ) -> Iterator[np.ndarray]:
        batch, length = ids.shape
        begin, follow, n = self._plans(batch, length + count)
        scores, past = begin(self, ids)
        over = np.zeros(batch, bool)
        for at in range(length, length + count):
            tokens = choose(scores)
            if ends:
                tokens = np.where(over, ends[0], tokens)
                over |= np.isin(tokens, ends)
            yield tokens
            if over.all() or at + 1 == length + count:
                return
            scores, made = follow(self, tokens[:, None], past, n.bind(at))
            past[:, :, :, :, at : at + 1] = made

    def _plans(self, batch: int, tokens: int) -> tuple[Callable[..., Any], Callable[..., Any], Variable]:
        """What begins texts and what goes on with them, for a batch of up to so many tokens; their number so far."""
        room = min(max(_ROOM, 1 << (tokens - 1).bit_length()), self.context)
        if (batch, room) not in self._steps:
            length, n = Variable("length", 1, room), Variable("n", 1, max(1, room - 1))

            # The model is an argument: its weights are those that it has at the call.
            def begin(model: Decoder, ids: Tensor) -> tuple[Tensor, Tensor]:
                cache = Cache()
                x = model.hidden(ids, cache)
                last = x[:, ids.shape[1] - 1]
                return model.scores(last), cache.made().pad([(0, 0)] * 4 + [(0, room - ids.shape[1]), (0, 0)])

            def follow(model: Decoder, ids: Tensor, past: Tensor, n: Size) -> tuple[Tensor, Tensor]:
                cache = Cache(past, n)
                return model.scores(model.hidden(ids, cache)[:, 0]), cache.made()

            self._steps[batch, room] = svod.jit(shapes={"ids": (batch, length)})(begin), svod.jit(follow), n
        return self._steps[batch, room]


def _texts(ids: Any) -> np.ndarray:
    """Texts of one length, as integers."""
    try:
        found = np.asarray(ids)
    except ValueError:
        raise ArgumentError("generate: texts of one length are expected, lists of as many tokens each") from None
    if found.dtype.kind not in "iu":
        raise ArgumentTypeError(f"generate: tokens are integers, not {found.dtype}")
    if found.ndim != 2 or 0 in found.shape:
        raise ArgumentError(f"generate: input_ids are (batch, length), not {found.shape}")
    return found.astype(np.int64)


def _chooser(
    temperature: float, top_k: int | None, top_p: float | None, seed: int | None
) -> Callable[[Tensor], np.ndarray]:
    """What chooses a token of each row of scores."""
    if not 0 <= temperature < float("inf"):
        raise ArgumentError(f"generate: temperature={temperature}, not a number from 0")
    if top_k is not None and top_k < 1:
        raise ArgumentError(f"generate: top_k={top_k}, not a number from 1")
    if top_p is not None and not 0 < top_p <= 1:
        raise ArgumentError(f"generate: top_p={top_p}, not a number above 0, up to 1")
    if temperature == 0:
        return lambda scores: scores.argmax(-1).numpy()
    generator = None if seed is None else Generator(seed)
    heat, drawn = Tensor(np.float32(temperature)), _drawn(top_k, top_p)

    def draw(scores: Tensor) -> np.ndarray:
        # Not 0, whose logarithm is infinite.
        noise = 1 - svod.rand(*scores.shape, generator=generator)
        return drawn(scores, noise, heat).numpy()

    return draw


@functools.lru_cache(maxsize=64)
def _drawn(top_k: int | None, top_p: float | None) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """What draws a token of each row of scores: compiled once for all texts."""

    @svod.jit
    def drawn(scores: Tensor, noise: Tensor, temperature: Tensor) -> Tensor:
        scores = scores.float() / temperature
        if top_k is not None and top_k < scores.shape[-1]:
            scores = svod.where(scores < svod.topk(scores, top_k)[0][:, -1:], -svod.inf, scores)
        if top_p is not None and top_p < 1:
            ordered = scores.sort(-1, descending=True).values
            chances = ordered.softmax(-1)
            kept = chances.cumsum(-1) - chances < top_p
            scores = svod.where(scores < svod.where(kept, ordered, svod.inf).amin(-1, keepdim=True), -svod.inf, scores)
        # The greatest of scores with noise of Gumbel's distribution is a draw by their softmax.
        return (scores - (-noise.log()).log()).argmax(-1)

    return drawn


def _bar(steps: Iterator[np.ndarray], total: int) -> Iterator[np.ndarray]:
    try:
        from tqdm import tqdm  # type: ignore[import-untyped]
    except ImportError:
        raise UnsupportedError("generate: a progress bar needs the package tqdm") from None
    return iter(tqdm(steps, total=total, unit="token"))
