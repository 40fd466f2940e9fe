"""Makes the small models of `tests/python/data/models`, and what the package transformers (5.24.0) computes with them.

    python scripts/small_models.py

Each folder is what `save_pretrained` writes; `expected.npz` has ids, a mask, results, and 12 more tokens of each text.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
import transformers as t

HERE = Path(__file__).parents[1] / "tests/python/data/models"
WORDS = 31
ENCODER = {
    "vocab_size": WORDS,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 20,
}
DECODER = {
    "vocab_size": WORDS,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 40,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
MODELS = {
    "bert": lambda: t.BertModel(t.BertConfig(**ENCODER)),
    "bert-words": lambda: t.BertForMaskedLM(t.BertConfig(**ENCODER, hidden_act="relu")),
    "bert-classes": lambda: t.BertForSequenceClassification(t.BertConfig(**ENCODER, num_labels=3)),
    "gpt2": lambda: t.GPT2LMHeadModel(t.GPT2Config(vocab_size=WORDS, n_positions=40, n_embd=16, n_layer=2, n_head=2)),
    "llama": lambda: t.LlamaForCausalLM(t.LlamaConfig(**DECODER)),
    "llama3": lambda: t.LlamaForCausalLM(
        t.LlamaConfig(**DECODER, attention_bias=True, mlp_bias=True, tie_word_embeddings=True, rope_parameters=LLAMA3)
    ),
    "mistral": lambda: t.MistralForCausalLM(t.MistralConfig(**DECODER, head_dim=8, sliding_window=32)),
    "qwen2": lambda: t.Qwen2ForCausalLM(t.Qwen2Config(**DECODER, tie_word_embeddings=True)),
    "qwen3": lambda: t.Qwen3ForCausalLM(t.Qwen3Config(**DECODER, head_dim=8)),
}


def main() -> None:
    for name, make in MODELS.items():
        torch.manual_seed(len(name))
        model = make().eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(torch.randn_like(parameter) * 0.3)
        model.save_pretrained(HERE / name, max_shard_size="6kB" if name == "qwen2" else "1GB")
        (HERE / name / "generation_config.json").unlink(missing_ok=True)
        config = json.loads((HERE / name / "config.json").read_text())
        # What names no number of the model.
        for key in ("transformers_version", "dtype", "eos_token_id", "bos_token_id", "pad_token_id"):
            config.pop(key, None)
        (HERE / name / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
        # Not 0, which `generate` would take for padding.
        ids = np.random.default_rng(0).integers(1, WORDS, (2, 9))
        mask = np.ones_like(ids)
        results: dict[str, np.ndarray] = {}
        with torch.no_grad():
            if name.startswith("bert"):
                mask[1, 6:] = 0
                given = model(torch.from_numpy(ids), attention_mask=torch.from_numpy(mask))
                results = {key: value.numpy() for key, value in given.items()}
            else:
                results["logits"] = model(torch.from_numpy(ids)).logits.numpy()
                results["text"] = model.generate(
                    torch.from_numpy(ids), max_new_tokens=12, do_sample=False, pad_token_id=0, eos_token_id=None
                ).numpy()
        np.savez_compressed(HERE / name / "expected.npz", ids=ids, mask=mask, **results)


if __name__ == "__main__":
    main()
