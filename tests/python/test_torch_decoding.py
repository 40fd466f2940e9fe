"""Language models write texts through `torch.compile(backend="svod")`, with caches that grow and with static ones."""

from __future__ import annotations

import os
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import zoo  # noqa: E402

from svod.torch import _program  # noqa: E402

TOKENS = 64


def model_of(name: str) -> Any:
    torch.manual_seed(0)
    options = {"initializer_range": 0.3}
    if name == "gpt2":
        sizes = {"vocab_size": zoo.WORDS, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 96}
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, **options)).eval()
    config = transformers.LlamaConfig(**(zoo.DECODER | {"max_position_embeddings": 96}), **options)
    return transformers.LlamaForCausalLM(config).eval()


def cache_of(kind: str, model: Any) -> Any:
    if kind == "dynamic":
        return transformers.DynamicCache(config=model.config)
    return transformers.StaticCache(config=model.config, max_cache_len=96)


def written(model: Any, run: Any, cache: Any, ids: Any) -> Any:
    """The likeliest tokens, one after the other, through a cache, and their scores."""
    text, given, scores = ids, ids, []
    for at in range(ids.shape[1], ids.shape[1] + TOKENS):
        positions = torch.arange(at - given.shape[1], at)
        out = run(input_ids=given, past_key_values=cache, position_ids=positions[None], use_cache=True)
        scores.append(out.logits[:, -1])
        given = out.logits[:, -1:].argmax(-1)
        text = torch.cat([text, given], 1)
    return text, torch.stack(scores)


@pytest.mark.parametrize("kind", ["dynamic", "static"])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_texts_are_those_of_eager_mode(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if (name, kind) != ("llama", "dynamic") and os.environ.get("SVOD_TEST_FULL") != "1":
        pytest.skip("one of the four is enough; all with SVOD_TEST_FULL=1")
    torch._dynamo.reset()
    # All of it is svod's.
    monkeypatch.setenv("SVOD_TORCH_STRICT", "1")
    plans: list[Any] = []
    traced = _program.Program._traced

    def counted(self: Any, *args: Any) -> Any:
        plans.append(args)
        return traced(self, *args)

    monkeypatch.setattr(_program.Program, "_traced", counted)
    model = model_of(name)
    ids = torch.randint(3, zoo.WORDS, (2, 7))
    with torch.no_grad():
        run = torch.compile(model, backend="svod")
        found, scores = written(model, run, cache_of(kind, model), ids)
        expected, wanted = written(model, model, cache_of(kind, model), ids)
    assert torch.equal(found, expected)
    torch.testing.assert_close(scores, wanted, rtol=1e-3, atol=1e-3)
    # The prompt, one token, and lengths that vary, up to powers of two: nothing is compiled for each token.
    assert len(plans) < 16
