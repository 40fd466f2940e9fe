"""Models of known architectures: what their files say, what they compute, the texts that they write, and errors."""

from __future__ import annotations

import copy
import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import svod
from svod import nn
from svod.nn import functional as F

# Made by scripts/small_models.py, with what another library computes.
FOLDERS = Path(__file__).parent / "data/models"
ENCODERS = ["bert", "bert-words", "bert-classes"]
DECODERS = ["gpt2", "llama", "llama3", "mistral", "qwen2", "qwen3"]


def expected(name: str) -> dict[str, Any]:
    return dict(np.load(FOLDERS / name / "expected.npz"))


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_compute_what_others_do(name: str) -> None:
    model, wanted = svod.models.load(FOLDERS / name), expected(name)
    assert isinstance(model, svod.models.Bert) and not model.training
    mask = wanted["mask"]
    given = model(svod.Tensor(wanted["ids"]), svod.Tensor(mask))
    heads = {"last_hidden_state", "pooler_output", "logits"} & wanted.keys()
    assert heads
    for head in heads:
        ours, theirs = getattr(given, head).numpy(), wanted[head]
        # What is computed of padding is nobody's.
        seen = mask > 0 if theirs.shape[:2] == mask.shape else ...
        np.testing.assert_allclose(ours[seen], theirs[seen], rtol=1e-4, atol=1e-5)
    alone = model(svod.Tensor(wanted["ids"][1:, :6]))
    np.testing.assert_allclose(alone.last_hidden_state[0], given.last_hidden_state[1, :6], rtol=1e-4, atol=1e-5)
    kinds = model(svod.Tensor(wanted["ids"]), svod.Tensor(mask), svod.zeros(*mask.shape, dtype=svod.int64))
    np.testing.assert_allclose(kinds.last_hidden_state, given.last_hidden_state, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["bert", "bert-words"])
def test_whether_sentences_follow_each_other(name: str, tmp_path: Path) -> None:
    """The head of BERT's second task, which files have beside that of its first, or alone."""
    config = json.loads((FOLDERS / "bert" / "config.json").read_text())
    heads = ["pooler.", "cls.seq_relationship.", *(["cls.predictions."] if name == "bert-words" else [])]
    made = svod.models.Bert.from_config(config, heads)
    (tmp_path / "config.json").write_text(json.dumps(config))
    names = {"cls": "", "embeddings": "bert.", "encoder": "bert.", "pooler": "bert."}
    weights = {names[own.split(".")[0]] + own: tensor for own, tensor in made.state_dict().items()}
    svod.save_safetensors(weights, tmp_path / "model.safetensors")
    model, ids = svod.models.load(tmp_path), expected("bert")["ids"]
    given = model(svod.Tensor(ids))
    wanted = given.pooler_output @ weights["cls.seq_relationship.weight"].mT + weights["cls.seq_relationship.bias"]
    np.testing.assert_allclose(given.seq_relationship_logits.numpy(), wanted.numpy(), atol=1e-5)
    assert (given.logits is None) == (name == "bert")
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    kind = transformers.BertForNextSentencePrediction if name == "bert" else transformers.BertForPreTraining
    theirs = kind.from_pretrained(tmp_path)(torch.from_numpy(ids))
    told = theirs.logits if name == "bert" else theirs.seq_relationship_logits
    np.testing.assert_allclose(given.seq_relationship_logits.numpy(), told.detach().numpy(), atol=1e-4)


@pytest.mark.parametrize("name", DECODERS)
def test_decoders_compute_what_others_do(name: str) -> None:
    model, wanted = svod.models.load(FOLDERS / name), expected(name)
    logits = model(svod.Tensor(wanted["ids"]))
    np.testing.assert_allclose(logits.numpy(), wanted["logits"], rtol=1e-4, atol=1e-4)
    assert model.generate(wanted["ids"], 12).tolist() == wanted["text"].tolist()


@pytest.mark.parametrize("name", DECODERS)
def test_texts_of_all_lengths_are_written_by_two_plans(name: str) -> None:
    model, wanted = svod.models.load(FOLDERS / name), expected(name)["text"]
    model.generate(wanted[:, :3], 2)
    before = svod.caches()
    for length in (1, 5, 9, 20):
        text = model.generate(wanted[:, :length], 21 - length if length > 1 else 5)
        scores = model(text[:, :-1])
        np.testing.assert_array_equal(text[:, length:].numpy(), scores.argmax(-1)[:, length - 1 :].numpy())
        if length == 9:
            assert text.tolist() == wanted.tolist()
    ((begin, follow, _),) = model._steps.values()
    assert (begin.traces, follow.traces) == (1, 1)
    assert svod.caches()["kernels"] - before["kernels"] < 60  # those of `model(text)`


@pytest.mark.parametrize("name", ["gpt2", "llama3"])
def test_models_of_files_are_those_of_transformers(name: str) -> None:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(FOLDERS / name)
    ids = np.random.default_rng(1).integers(0, 31, (3, 17))
    with torch.no_grad():
        wanted = theirs(torch.from_numpy(ids)).logits.numpy()
    np.testing.assert_allclose(svod.models.load(FOLDERS / name)(svod.Tensor(ids)).numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_weights_have_the_types_of_their_files_or_another() -> None:
    model = svod.models.load(FOLDERS / "gpt2")
    assert {p.dtype for p in model.parameters()} == {svod.float32}
    ids = svod.Tensor(expected("gpt2")["ids"])
    half = svod.models.load(FOLDERS / "gpt2", dtype="bfloat16")
    assert {p.dtype for p in half.parameters()} == {svod.bfloat16}
    np.testing.assert_allclose(half(ids).float().numpy(), model(ids).numpy(), atol=0.4)
    text = half.generate(ids, 6)
    assert text.shape == (2, 15) and text.dtype == svod.int64


def test_models_are_trained_and_saved(tmp_path: Path) -> None:
    model = svod.models.load(FOLDERS / "llama").to("CPU").requires_grad_()
    ids = svod.Tensor(expected("llama")["ids"], device="CPU")
    optimizer = svod.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    text = model.generate(ids, 4)
    shutil.copy(FOLDERS / "llama/config.json", tmp_path)
    svod.save_safetensors(model.state_dict(), tmp_path / "model.safetensors")
    assert svod.models.load(tmp_path).generate(ids, 4).tolist() == text.tolist()


def test_changed_weights_write_other_texts() -> None:
    model = svod.models.load(FOLDERS / "gpt2").to("CPU")
    ids = expected("gpt2")["ids"]
    first = model.generate(ids, 8).tolist()
    model.ln_f.weight = -model.ln_f.weight
    second = model.generate(ids, 8)
    assert second.tolist() != first
    second = second.to("CPU")
    np.testing.assert_array_equal(model(second[:, :-1]).argmax(-1)[:, 8:].numpy(), second[:, 9:].numpy())
    ((begin, follow, _),) = model._steps.values()
    assert (begin.traces, follow.traces) == (1, 1)
    compiled = svod.jit(model)
    before = compiled(svod.Tensor(ids)).numpy()
    model.ln_f.weight = -model.ln_f.weight
    assert not np.allclose(compiled(svod.Tensor(ids)).numpy(), before)
    assert compiled.traces == 1


def test_texts_of_other_numbers_compile_nothing_anew() -> None:
    model, ids = svod.models.load(FOLDERS / "gpt2"), expected("gpt2")["ids"]
    for _ in range(2):
        for batch in (ids, ids[:1], np.concatenate([ids, ids])):
            model.generate(batch, 3)
    assert [step.traces for steps in model._steps.values() for step in steps[:2]] == [1] * 6


def test_copies_are_models_of_their_own() -> None:
    model = svod.models.load(FOLDERS / "gpt2").to("CPU")
    ids = expected("gpt2")["ids"]
    text = model.generate(ids, 4).tolist()
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.generate(ids, 4).tolist() == text


class Scored(svod.models.Decoder):
    """The same scores behind every token, of which the greatest are those of the last tokens."""

    def __init__(self, words: int = 8) -> None:
        super().__init__(svod.models._config.Config({"eos_token_id": [0]}), context=64)
        self.bias = svod.arange(words).float()

    def hidden(self, ids: svod.Tensor, cache: Any) -> svod.Tensor:
        x = ids[:, None, :, None].float()
        cache.attend(x, x, x)
        return ids[:, :, None].float()

    def scores(self, x: svod.Tensor) -> svod.Tensor:
        return x * 0 + self.bias


def drawn(count: int = 60, batch: int = 40, **options: Any) -> np.ndarray:
    texts = Scored().generate([[1]] * batch, count, eos_token_id=(), **options)
    return np.bincount(texts[:, 1:].numpy().ravel(), minlength=8) / (count * batch)


def test_draws_follow_the_probabilities() -> None:
    scores = np.arange(8.0)
    chances = np.exp(scores / 2) / np.exp(scores / 2).sum()
    np.testing.assert_allclose(drawn(temperature=2.0, seed=0), chances, atol=0.03)
    likeliest = np.where(scores >= 5, chances, 0)
    np.testing.assert_allclose(drawn(temperature=2.0, top_k=3, seed=1), likeliest / likeliest.sum(), atol=0.03)
    # 0.40 + 0.24 < 0.7 <= 0.40 + 0.24 + 0.15
    assert (np.cumsum(chances[::-1])[1:3] > [0.6, 0.7]).all() and np.cumsum(chances[::-1])[1] < 0.7
    np.testing.assert_allclose(drawn(temperature=2.0, top_p=0.7, seed=2), likeliest / likeliest.sum(), atol=0.03)
    assert drawn(count=3, temperature=2.0, top_p=1e-6)[7] == 1
    assert drawn(count=3, temperature=0.0)[7] == 1


def test_draws_repeat_by_their_seed() -> None:
    model, ids = svod.models.load(FOLDERS / "gpt2"), expected("gpt2")["ids"]
    texts = [model.generate(ids, 10, temperature=1.5, seed=seed).tolist() for seed in (3, 3, 4)]
    assert texts[0] == texts[1] != texts[2]
    svod.manual_seed(0)
    first = model.generate(ids, 10, temperature=1.5).tolist()
    second = model.generate(ids, 10, temperature=1.5).tolist()
    svod.manual_seed(0)
    assert first == model.generate(ids, 10, temperature=1.5).tolist() != second


def test_texts_end() -> None:
    model = Scored()
    texts = list(model.stream([[3], [4]], 6, eos_token_id=7))
    assert [tokens.tolist() for tokens in texts] == [[7, 7]]
    model.bias = svod.Tensor([5.0] + [1.0] * 7)
    assert model.generate([[3, 2]], 6).tolist() == [[3, 2, 0]]
    model, ids = svod.models.load(FOLDERS / "llama"), expected("llama")["ids"]
    free = model.generate(ids, 12).numpy()
    end = int(free[0, 12])
    ended = model.generate(ids, 12, eos_token_id=end).numpy()
    for text, whole in zip(ended, free[:, : ended.shape[1]], strict=True):
        first = list(whole[9:]).index(end) + 9 if end in whole[9:] else len(whole) - 1
        np.testing.assert_array_equal(text[: first + 1], whole[: first + 1])
        assert (text[first + 1 :] == end).all()


def test_a_stream_is_told_token_by_token(capsys: pytest.CaptureFixture[str]) -> None:
    model, ids = svod.models.load(FOLDERS / "gpt2"), expected("gpt2")["ids"]
    stream = model.stream(ids, 12)
    assert next(stream).tolist() == expected("gpt2")["text"][:, 9].tolist()
    pytest.importorskip("tqdm")
    model.generate(ids, 3, progress=True)
    assert "3/3" in capsys.readouterr().err


def changed(folder: Path, name: str, **config: Any) -> Path:
    """A copy of a model whose configuration says something else."""
    shutil.copytree(FOLDERS / name, folder, dirs_exist_ok=True)
    told = json.loads((folder / "config.json").read_text()) | config
    (folder / "config.json").write_text(json.dumps(told))
    return folder


@pytest.mark.parametrize(
    ("name", "config", "kind", "message"),
    [
        ("gpt2", {"model_type": "mamba"}, svod.UnsupportedError, "a model of 'mamba'; svod has bert, gpt2"),
        ("gpt2", {"activation_function": "swiglu"}, svod.UnsupportedError, "activation_function is 'swiglu'"),
        ("gpt2", {"scale_attn_weights": False}, svod.UnsupportedError, "scale_attn_weights is False"),
        ("gpt2", {"n_layer": "2"}, svod.FormatError, "n_layer is '2', not a positive integer"),
        ("gpt2", {"n_layer": 3}, nn.StateError, r"the folder lacks h\.2\.attn"),
        ("gpt2", {"n_layer": 1}, nn.StateError, r"a GPT2 of this configuration has no place for h\.1\.attn"),
        ("gpt2", {"n_inner": 8}, nn.StateError, r"c_fc\.bias is \(64,\), by config\.json \(8,\)"),
        ("llama", {"num_key_value_heads": 3}, svod.FormatError, "4, is no multiple of num_key_value_heads, 3"),
        ("llama3", {"rope_parameters": {"rope_type": "yarn"}}, svod.UnsupportedError, "rope_type is 'yarn'"),
        ("llama3", {"rope_parameters": {"rope_type": "llama3"}}, svod.FormatError, "factor is None"),
        ("llama", {"rms_norm_eps": -1}, svod.FormatError, "rms_norm_eps is -1, not a positive number"),
        ("bert", {"position_embedding_type": "relative_key"}, svod.UnsupportedError, "position_embedding_type"),
    ],
)
def test_what_makes_no_model_is_named(
    tmp_path: Path, name: str, config: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        svod.models.load(changed(tmp_path, name, **config))


def test_what_is_no_folder_of_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(svod.FileError, match=r"config\.json"):
        svod.models.load(tmp_path)
    folder = changed(tmp_path / "qwen2", "qwen2")
    index = folder / "model.safetensors.index.json"
    told = json.loads(index.read_text())
    first = next(iter(told["weight_map"]))
    (folder / told["weight_map"][first]).unlink()
    with pytest.raises(svod.FileError, match="model-0000"):
        svod.models.load(folder)
    index.write_text(json.dumps({"weight_map": told["weight_map"] | {first: "../gpt2/model.safetensors"}}))
    with pytest.raises(svod.FormatError, match="is no file of the folder"):
        svod.models.load(folder)
    index.write_text("{")
    with pytest.raises(svod.FormatError, match=r"index\.json"):
        svod.models.load(folder)
    (folder / "config.json").write_text("[]")
    with pytest.raises(svod.FormatError, match="an object is expected, not list"):
        svod.models.load(folder)


def test_draws_of_a_kind_are_traced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    traced = 0
    topk = svod.topk

    def counted(*args: Any) -> Any:
        nonlocal traced
        traced += 1
        return topk(*args)

    monkeypatch.setattr(svod, "topk", counted)
    model = svod.models.load(FOLDERS / "gpt2")
    for temperature in (0.5, 1.5):
        model.generate([[1, 2, 3]], 4, temperature=temperature, top_k=3)
    assert traced == 1


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"input_ids": [[1, 2], []]}, svod.ArgumentError, "lists of tokens"),
        ({"attention_mask": [[1, 1]]}, svod.ArgumentError, r"attention_mask of \(1, 2\) for input_ids of \(1, 3\)"),
        ({"attention_mask": [[1, 1, 0]]}, svod.ArgumentError, "padding is in front of texts"),
        ({"attention_mask": [[1, 0, 1]]}, svod.ArgumentError, "padding is in front of texts"),
        ({"input_ids": [[1, 2, 3], [[1]]]}, svod.ArgumentError, "lists of tokens"),
        ({"input_ids": [[0.5]]}, svod.ArgumentTypeError, "tokens are integers, not float64"),
        ({"input_ids": [1, 2]}, svod.ArgumentError, r"input_ids are \(batch, length\)"),
        ({"input_ids": [[]]}, svod.ArgumentError, r"input_ids are \(batch, length\)"),
        ({"input_ids": [[2, -1]]}, svod.IndexError, "a token -1, but tokens count from 0"),
        ({"max_new_tokens": 0}, svod.ArgumentError, "max_new_tokens=0"),
        ({"max_new_tokens": 38}, svod.ArgumentError, "3 tokens and 38 more, for a context of 40 at most"),
        ({"temperature": -1.0}, svod.ArgumentError, "temperature=-1.0"),
        ({"top_k": 0}, svod.ArgumentError, "top_k=0"),
        ({"top_p": 1.5}, svod.ArgumentError, "top_p=1.5"),
    ],
)
def test_what_cannot_be_written_is_an_error(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    model = svod.models.load(FOLDERS / "gpt2")
    with pytest.raises(kind, match=message):
        model.generate(**({"input_ids": [[1, 2, 3]]} | options))


def test_texts_beyond_the_context_are_an_error() -> None:
    model = svod.models.load(FOLDERS / "llama")
    with pytest.raises(svod.ArgumentError, match="Llama: 41 tokens for a context of 40"):
        model(svod.zeros(1, 41, dtype=svod.int64))
    with pytest.raises(svod.ArgumentError, match="Llama: input_ids are"):
        model(svod.zeros(4, dtype=svod.int64))


@pytest.mark.parametrize("name", DECODERS)
def test_padding_changes_no_text(name: str) -> None:
    model, wanted = svod.models.load(FOLDERS / name), expected(name)["text"]
    texts = [wanted[0, :7].tolist(), wanted[0, :2].tolist(), wanted[0, :5].tolist()]
    alone = [model.generate([text], 9)[0, len(text) :].tolist() for text in texts]
    assert model.generate(texts, 9)[:, 7:].tolist() == alone
    ids = [[30] * (7 - len(text)) + text for text in texts]
    mask = [[0] * (7 - len(text)) + [1] * len(text) for text in texts]
    given = model.generate(svod.Tensor(ids), 9, attention_mask=svod.Tensor(mask))
    assert given.tolist() == [text + more for text, more in zip(ids, alone, strict=True)]
    padded = model.generate(texts, 9, pad_token_id=30)
    assert padded.tolist() == given.tolist()
    assert model.generate(ids, 9, attention_mask=np.ones((3, 7))).tolist() == model.generate(ids, 9).tolist()


@pytest.mark.parametrize("name", ["gpt2", "llama3", "mistral"])
def test_padded_texts_are_those_of_transformers(name: str) -> None:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(FOLDERS / name)
    ids = np.random.default_rng(2).integers(3, 30, (3, 6))
    mask = np.array([[1] * 6, [0, 0] + [1] * 4, [0] * 5 + [1]])
    wanted = theirs.generate(
        torch.from_numpy(ids),
        attention_mask=torch.from_numpy(mask),
        max_new_tokens=9,
        do_sample=False,
        eos_token_id=None,
    )
    given = svod.models.load(FOLDERS / name).generate(ids, 9, attention_mask=mask, eos_token_id=())
    assert given.tolist() == wanted.tolist()


def small(**options: Any) -> dict[str, Any]:
    config = {"vocab_size": 40, "hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 4}
    config |= {"num_key_value_heads": 2, "max_position_embeddings": 64, "sliding_window": 5, "num_hidden_layers": 1}
    return config | options


def test_windows_hide_what_is_further_back() -> None:
    ids = np.random.default_rng(3).integers(0, 40, (2, 24))
    other = ids.copy()
    other[:, :12] = (other[:, :12] + 1) % 40
    for options, hides in [
        ({"model_type": "mistral"}, True),
        ({"model_type": "mistral", "sliding_window": None}, False),
        ({"model_type": "qwen2"}, False),
        ({"model_type": "qwen2", "use_sliding_window": True, "max_window_layers": 0}, True),
        ({"model_type": "qwen2", "use_sliding_window": True, "max_window_layers": 1}, False),
        ({"model_type": "mistral", "layer_types": ["full_attention"]}, False),
    ]:
        model = svod.models.Llama.from_config(small(**options))
        one, two = (model(svod.Tensor(x)).numpy() for x in (ids, other))
        # Behind position 16 a window of 5 shows no token before position 12.
        assert np.allclose(one[:, 16:], two[:, 16:], atol=1e-6) == hides
        text = model.generate(ids[:, :4], 20)
        np.testing.assert_array_equal(text[:, 4:].numpy(), model(text[:, :-1]).argmax(-1)[:, 3:].numpy())


@pytest.mark.parametrize("kind", ["mistral", "qwen2"])
def test_texts_beyond_a_window_are_those_of_transformers(kind: str, tmp_path: Path) -> None:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    options = small(num_hidden_layers=3, pad_token_id=0, eos_token_id=None, bos_token_id=1)
    if kind == "mistral":
        theirs = transformers.MistralForCausalLM(transformers.MistralConfig(**options, initializer_range=0.3))
    else:
        options |= {"use_sliding_window": True, "max_window_layers": 1, "initializer_range": 0.3}
        theirs = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**options))
    theirs.eval().save_pretrained(tmp_path)
    ours = svod.models.load(tmp_path)
    ids = np.random.default_rng(4).integers(1, 40, (2, 23))
    with torch.no_grad():
        wanted = theirs(torch.from_numpy(ids)).logits.numpy()
    np.testing.assert_allclose(ours(svod.Tensor(ids)).numpy(), wanted, rtol=1e-4, atol=1e-4)
    text = theirs.generate(torch.from_numpy(ids[:, :8]), max_new_tokens=20, do_sample=False)
    assert ours.generate(ids[:, :8], 20).tolist() == text.tolist()
