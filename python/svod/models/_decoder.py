"""Models that tell the next token, and texts that they write.

A text is written by two plans: one computes the scores behind a text of any length and the keys and values of its
tokens, the other those of one more token, however many there were. Lengths are variables, so neither is compiled again;
keys and values are memory that the second plan reads and that one row a token is written to.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

import svod
from svod import nn
from svod._grad import no_grad
from svod._place import device_of, made_beside
from svod._reach import Memo
from svod._svod import (
    ArgumentError,
    ArgumentTypeError,
    Generator,
    IndexError,
    Size,
    Tensor,
    UnsupportedError,
    Variable,
    arange,
    cat,
    stack,
)
from svod.models._config import Config
from svod.nn import functional as F

# What begins texts, what goes on with them, and the number of tokens so far.
_Steps = tuple[Callable[..., Any], Callable[..., Any], Variable]

# A text's memory has room for a power of two of tokens, this many at least.
_ROOM = 256


class Cache:
    """Keys and values while a model runs: those of earlier tokens, and those that it makes, layer by layer."""

    def __init__(
        self,
        past: Tensor | None = None,
        length: Size | int = 0,
        first: Tensor | None = None,
        windows: Sequence[int | None] = (),
    ) -> None:
        """`past` is `(2, layers, batch, heads, room, depth)`, of which the first `length` are filled.

        `first` tells where each text of a batch begins, behind its padding. A layer with a window sees as many back.
        """
        self.length = length
        self._past, self._first, self._windows = past, first, windows
        self._made: list[Tensor] = []
        self._masks: dict[int | None, Tensor] = {}

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Attention of new tokens to each other, causally, or of one to all earlier ones and itself."""
        layer = len(self._made)
        self._made.append(stack([key, value]))
        shared = query.shape[1] != key.shape[1]
        if self._past is not None:
            key, value = (
                cat([self._past[i, layer, :, :, : self.length], new], 2) for i, new in enumerate((key, value))
            )
        window = self._windows[layer] if self._windows else None
        if window is None and self._first is None:
            return F.scaled_dot_product_attention(query, key, value, is_causal=self._past is None, enable_gqa=shared)
        mask = self._mask(window, query.shape[2])
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, enable_gqa=shared)

    def positions(self, count: Size | int) -> Tensor:
        """Positions of new tokens in their texts, `(count,)`, or `(batch, count)` where texts begin at others."""
        positions = arange(count) + self.length
        return positions if self._first is None else (positions - self._first[:, None]).maximum(0)

    def _mask(self, window: int | None, count: Size | int) -> Tensor:
        """Which tokens each new one sees."""
        if window not in self._masks:
            keys = arange(self.length + count)
            back = (arange(count) + self.length)[:, None] - keys
            seen = back >= 0 if window is None else (back >= 0) & (back < window)
            if self._first is not None:
                seen = seen & (keys >= self._first[:, None])[:, None, None]
            self._masks[window] = seen
        return self._masks[window]

    def made(self) -> Tensor:
        """Keys and values of the new tokens, `(2, layers, batch, heads, tokens, depth)`."""
        return stack(self._made, 1)


class Decoder(nn.Module):
    """Base of models that tell the next token; a subclass defines `hidden` and `scores`."""

    def __init__(self, config: Config, context: int, windows: Sequence[int | None] = ()) -> None:
        self.context = context
        """How many tokens a text may have."""
        self._windows = tuple(windows)
        self._padding = config.get("pad_token_id")
        ends = config.get("eos_token_id", ())
        self._ends = (ends,) if isinstance(ends, int) else tuple(ends)
        self._steps: Memo[tuple[int, int, bool], tuple[Callable[..., Any], Callable[..., Any], Variable]] = Memo()

    def __getstate__(self) -> dict[str, Any]:
        # A copy compiles plans of its own.
        return {**self.__dict__, "_steps": Memo()}

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
        return self.scores(self.hidden(input_ids, Cache(windows=self._windows_of(input_ids.shape[1]))))

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
        pad_token_id: int | None = None,
        attention_mask: Any = None,
        progress: bool = False,
    ) -> Tensor:
        """Texts with up to `max_new_tokens` more tokens, `(batch, length)` of `int64`.

        `input_ids` are `(batch, length)`, or lists of any lengths, which are filled up in front with `pad_token_id`, by
        default that of the model's configuration, else 0. Of an array that is filled up already, `attention_mask`,
        of its shape, is 0 there. No token sees padding, and it counts in no position.

        A `temperature` of 0 takes the likeliest token each time; else one is drawn, from the `top_k` likeliest, or from
        the fewest whose probabilities add to `top_p` (Holtzman et al. 2020), by `seed`, or by the common generator. A
        text ends at a token of `eos_token_id`, by default those of the model's configuration, and is filled with it, or
        with a `pad_token_id` that is given. `progress` shows a bar, with the package `tqdm`.
        """
        ids, mask = self._texts(input_ids, attention_mask, pad_token_id)
        made = self.stream(
            ids,
            max_new_tokens,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
            eos_token_id=eos_token_id,
            pad_token_id=pad_token_id,
            attention_mask=mask,
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
        pad_token_id: int | None = None,
        attention_mask: Any = None,
    ) -> Iterator[np.ndarray]:
        """As `generate`, token by token: arrays of one for each text."""
        ids, mask = self._texts(input_ids, attention_mask, pad_token_id)
        length = ids.shape[1]
        if max_new_tokens < 1:
            raise ArgumentError(f"generate: max_new_tokens={max_new_tokens}, not a number from 1")
        if length + max_new_tokens > self.context:
            raise ArgumentError(
                f"generate: {length} tokens and {max_new_tokens} more, for a context of {self.context} at most"
            )
        choose = _chooser(temperature, top_k, top_p, seed)
        ends = self._ends if eos_token_id is None else eos_token_id
        ends = (ends,) if isinstance(ends, int) else tuple(ends)
        filler = pad_token_id if pad_token_id is not None else next(iter(ends), 0)
        return self._written(ids, None if mask is None else (mask == 0).sum(1), max_new_tokens, choose, ends, filler)

    def _written(
        self,
        ids: np.ndarray,
        first: np.ndarray | None,
        count: int,
        choose: Callable[[Tensor], np.ndarray],
        ends: tuple[int, ...],
        filler: int,
    ) -> Iterator[np.ndarray]:
        batch, length = ids.shape
        begin, follow, n = self._plans(batch, length + count, first is not None)
        # Texts are read where the weights are.
        weight = next(iter(self.parameters()))
        padding = {} if first is None else {"first": made_beside(weight, first)}
        with no_grad():
            scores, past = begin(self, made_beside(weight, ids), **padding)
        over = np.zeros(batch, bool)
        for at in range(length, length + count):
            tokens = choose(scores)
            if ends:
                tokens = np.where(over, filler, tokens)
                over |= np.isin(tokens, ends)
            yield tokens
            if over.all() or at + 1 == length + count:
                return
            with no_grad():
                scores, made = follow(self, made_beside(weight, tokens[:, None]), past, n.bind(at), **padding)
            past[:, :, :, :, at : at + 1] = made

    def _windows_of(self, tokens: Size | int) -> Sequence[int | None]:
        """The windows of layers that are shorter than so many tokens; none where all see everything."""
        most = tokens if isinstance(tokens, int) else self.context
        return self._windows if any(window is not None and window < most for window in self._windows) else ()

    def _plans(self, batch: int, tokens: int, is_padded: bool) -> _Steps:
        """What begins texts and what goes on with them, for a batch of up to so many tokens; their number so far."""
        room = min(max(_ROOM, 1 << (tokens - 1).bit_length()), self.context)
        if (batch, room, is_padded) not in self._steps:
            length, n = Variable("length", 1, room), Variable("n", 1, max(1, room - 1))
            windows = self._windows_of(room)

            # The model is an argument: its weights are those that it has at the call.
            def begin(model: Decoder, ids: Tensor, first: Tensor | None = None) -> tuple[Tensor, Tensor]:
                cache = Cache(first=first, windows=windows)
                x = model.hidden(ids, cache)
                last = x[:, ids.shape[1] - 1]
                return model.scores(last), cache.made().pad([(0, 0)] * 4 + [(0, room - ids.shape[1]), (0, 0)])

            def follow(
                model: Decoder, ids: Tensor, past: Tensor, n: Size, first: Tensor | None = None
            ) -> tuple[Tensor, Tensor]:
                cache = Cache(past, n, first, windows)
                return model.scores(model.hidden(ids, cache)[:, 0]), cache.made()

            steps = svod.jit(shapes={"ids": (batch, length)})(begin), svod.jit(follow), n
            self._steps[batch, room, is_padded] = steps
        return self._steps[batch, room, is_padded]

    def _texts(self, ids: Any, mask: Any, padding: int | None) -> tuple[np.ndarray, np.ndarray | None]:
        """Texts as integers of one length, and which of them are no padding; none where all are."""
        filler = next(number for number in (padding, self._padding, 0) if number is not None)
        if mask is None and _differ(ids):
            longest = max(map(len, ids))
            mask = np.array([[0] * (longest - len(text)) + [1] * len(text) for text in ids])
            ids = [[filler] * (longest - len(text)) + list(text) for text in ids]
        try:
            found = np.asarray(ids)
        except ValueError:
            raise ArgumentError("generate: input_ids are lists of tokens") from None
        if found.ndim != 2 or 0 in found.shape:
            raise ArgumentError(f"generate: input_ids are (batch, length), not {found.shape}")
        if found.dtype.kind not in "iu":
            raise ArgumentTypeError(f"generate: tokens are integers, not {found.dtype}")
        if found.min() < 0:
            raise IndexError(f"generate: a token {found.min()}, but tokens count from 0")
        if mask is None:
            return found.astype(np.int64), None
        told = np.asarray(mask) != 0
        if told.shape != found.shape:
            raise ArgumentError(f"generate: an attention_mask of {told.shape} for input_ids of {found.shape}")
        if not told[:, -1].all() or (told[:, :-1] & ~told[:, 1:]).any():
            raise ArgumentError("generate: padding is in front of texts, where attention_mask is 0")
        return found.astype(np.int64), None if told.all() else told


def _differ(texts: Any) -> bool:
    """Whether these are lists of tokens, none of them empty, of more than one length."""
    if not isinstance(texts, (list, tuple)):
        return False
    lengths = {len(text) if isinstance(text, (list, tuple, np.ndarray)) else 0 for text in texts}
    return len(lengths) > 1 and 0 not in lengths


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
    heat, drawn = np.float32(temperature), _drawn(top_k, top_p)

    def draw(scores: Tensor) -> np.ndarray:
        # Not 0, whose logarithm is infinite.
        noise = 1 - svod.rand(*scores.shape, device=device_of(scores), generator=generator)
        return drawn(scores, noise, made_beside(scores, heat)).numpy()

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
