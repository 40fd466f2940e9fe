"""Small PyTorch models with random weights: known architectures, of the package transformers, and some of our own.

`ZOO[name]()` gives a `Sample`: the module, arguments for inference, and arguments for a training step.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

WORDS, BATCH, LENGTH = 128, 2, 16


@dataclasses.dataclass
class Sample:
    model: nn.Module
    arguments: dict[str, Any]
    training: dict[str, Any]
    # Of each argument, the axes whose extents may be others in another call.
    moving: dict[str, tuple[int, ...]] = dataclasses.field(default_factory=dict)


def words(batch: int = BATCH, length: int = LENGTH) -> torch.Tensor:
    return torch.randint(3, WORDS, (batch, length))


def mask() -> torch.Tensor:
    found = torch.ones(BATCH, LENGTH, dtype=torch.int64)
    found[0, -3:] = 0
    return found


ENCODER = {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
ENCODER |= {"intermediate_size": 64, "max_position_embeddings": 64}
DECODER = ENCODER | {"num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
PICTURES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
PICTURES |= {"image_size": 32, "patch_size": 8, "num_labels": 10}
SEQUENCES = {"vocab_size": WORDS, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4}
SEQUENCES |= {"decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}

TEXT_AXES = {"input_ids": (0, 1), "attention_mask": (0, 1)}


def of_texts(config: str, model: str, options: dict[str, Any], **given: Any) -> Callable[[], Sample]:
    """A model that reads words and tells words."""

    def made() -> Sample:
        import transformers

        module = getattr(transformers, model)(getattr(transformers, config)(**options))
        arguments = {"input_ids": words(), "attention_mask": mask(), **given}
        return Sample(module, arguments, arguments | {"labels": words()}, TEXT_AXES)

    return made


def of_pictures(config: str, model: str, extent: int, options: dict[str, Any]) -> Callable[[], Sample]:
    """A model that tells the class of a picture."""

    def made() -> Sample:
        import transformers

        module = getattr(transformers, model)(getattr(transformers, config)(**options))
        arguments = {"pixel_values": torch.randn(BATCH, 3, extent, extent)}
        return Sample(module, arguments, arguments | {"labels": torch.randint(0, 10, (BATCH,))}, {"pixel_values": (0,)})

    return made


def of_sequences(
    config: str, model: str, options: dict[str, Any], read: Callable[[], dict[str, Any]]
) -> Callable[[], Sample]:
    """A model that reads something and writes words."""

    def made() -> Sample:
        import transformers

        module = getattr(transformers, model)(getattr(transformers, config)(**options))
        given = read() | {"use_cache": False}
        return Sample(module, given | {"decoder_input_ids": words(length=8)}, given | {"labels": words(length=8)})

    return made


def _text() -> dict[str, Any]:
    return {"input_ids": words(), "attention_mask": mask()}


class Recurrent(nn.Module):
    """Words through a recurrent layer."""

    def __init__(self, layer: type[nn.RNNBase], both_ways: bool) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, 16)
        self.layer = layer(16, 24, 2, batch_first=True, bidirectional=both_ways)
        self.out = nn.Linear(48 if both_ways else 24, WORDS)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.layer(self.embed(x))[0])


class Encoder(nn.Module):
    """PyTorch's transformer, with padding."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
        # What is computed of padding is nobody's.
        return self.encoder(x, src_key_padding_mask=padding).masked_fill(padding[..., None], 0)


class Twice(nn.Sequential):
    """Two convolutions with batch norms."""

    def __init__(self, inputs: int, outputs: int) -> None:
        layers: list[nn.Module] = []
        for channels in (inputs, outputs):
            layers += [
                nn.Conv2d(channels, outputs, 3, padding=1, bias=False),
                nn.BatchNorm2d(outputs),
                nn.ReLU(inplace=True),
            ]
        super().__init__(*layers)


class UNet(nn.Module):
    """A picture made smaller and larger again (Ronneberger et al. 2015)."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.down = nn.ModuleList([Twice(3, width), Twice(width, 2 * width), Twice(2 * width, 4 * width)])
        self.turn = nn.ModuleList(
            [nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), nn.ConvTranspose2d(2 * width, width, 2, 2)]
        )
        self.up = nn.ModuleList([Twice(4 * width, 2 * width), Twice(2 * width, width)])
        self.out = nn.Conv2d(width, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.down[0](x)
        second = self.down[1](F.max_pool2d(first, 2))
        y = self.down[2](F.max_pool2d(second, 2))
        for turn, up, beside in zip(self.turn, self.up, (second, first)):
            y = up(torch.cat([turn(y), beside], 1))
        return self.out(y)


class Perceptron(nn.Module):
    """Two linear layers with a batch norm and a loss."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.GELU(), nn.Linear(32, 10))

    def forward(self, x: torch.Tensor, labels: torch.Tensor | None = None) -> torch.Tensor:
        scores = self.layers(x)
        return scores if labels is None else F.cross_entropy(scores, labels)


class Wave(nn.Module):
    """Gated convolutions whose reach doubles (van den Oord et al. 2016), with normed weights."""

    def __init__(self, width: int = 16, layers: int = 6) -> None:
        super().__init__()
        self.read = nn.Conv1d(1, width, 1)
        reach = [2 ** (layer % 4) for layer in range(layers)]
        gated = (nn.Conv1d(width, 2 * width, 2, dilation=far) for far in reach)
        self.gated = nn.ModuleList(nn.utils.parametrizations.weight_norm(layer) for layer in gated)
        self.mixed = nn.ModuleList(nn.Conv1d(width, 2 * width, 1) for _ in reach)
        self.reach = reach
        self.out = nn.Sequential(nn.ReLU(), nn.Conv1d(width, width, 1), nn.ReLU(), nn.Conv1d(width, 32, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.read(x)
        total = torch.zeros_like(x)
        for gated, mixed, far in zip(self.gated, self.mixed, self.reach):
            kept, gate = gated(F.pad(x, (far, 0))).chunk(2, 1)
            more, skipped = mixed(kept.tanh() * gate.sigmoid()).chunk(2, 1)
            x, total = x + more, total + skipped
        return self.out(total)


class Perceiver(nn.Module):
    """Few learned queries read an input of any length (Jaegle et al. 2021)."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.queries = nn.Parameter(torch.randn(8, width))
        self.read, self.norm = nn.Linear(5, width), nn.LayerNorm(width)
        self.cross = nn.MultiheadAttention(width, 4, batch_first=True)
        self.own = nn.MultiheadAttention(width, 4, batch_first=True)
        self.inner = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))
        self.out = nn.Linear(width, 3)

    def forward(self, x: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
        seen = self.read(x)
        query = self.queries.expand(x.shape[0], -1, -1)
        y = query + self.cross(self.norm(query), seen, seen, key_padding_mask=padding, need_weights=False)[0]
        y = y + self.own(self.norm(y), y, y, need_weights=False)[0]
        return self.out((y + self.inner(self.norm(y))).mean(1))


class Graph(nn.Module):
    """Messages along edges, weighed by an attention over the edges of each node, into a recurrent cell."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.message, self.weigh = nn.Linear(2 * width, width), nn.Linear(2 * width, 1)
        self.cell, self.out = nn.GRUCell(width, width), nn.Linear(width, 4)

    def forward(self, nodes: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        source, target = edges
        for _ in range(3):
            ends = torch.cat([nodes[source], nodes[target]], -1)
            scores = self.weigh(ends).squeeze(-1)
            most = torch.full(nodes.shape[:1], -1e30).scatter_reduce(0, target, scores, "amax")
            weights = (scores - most[target]).exp()
            totals = torch.zeros(nodes.shape[0]).index_add(0, target, weights)
            messages = F.relu(self.message(ends)) * (weights / (totals[target] + 1e-9))[:, None]
            nodes = self.cell(torch.zeros_like(nodes).index_add(0, target, messages), nodes)
        return self.out(nodes.sum(0))


def _plain(
    model: Callable[[], nn.Module], arguments: Callable[[], dict[str, Any]], **more: Any
) -> Callable[[], Sample]:
    def made() -> Sample:
        given = arguments()
        return Sample(model(), given, given, **more)

    return made


def _perceptron() -> Sample:
    x = torch.randn(8, 16)
    return Sample(Perceptron(), {"x": x}, {"x": x, "labels": torch.randint(0, 10, (8,))}, {"x": (0,)})


ZOO: dict[str, Callable[[], Sample]] = {
    "bert": of_texts("BertConfig", "BertForMaskedLM", ENCODER),
    "roberta": of_texts("RobertaConfig", "RobertaForMaskedLM", ENCODER),
    "xlm-roberta": of_texts("XLMRobertaConfig", "XLMRobertaForMaskedLM", ENCODER),
    "distilbert": of_texts(
        "DistilBertConfig",
        "DistilBertForMaskedLM",
        {"vocab_size": WORDS, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "max_position_embeddings": 64},
    ),
    "albert": of_texts("AlbertConfig", "AlbertForMaskedLM", ENCODER | {"embedding_size": 16}),
    "gpt2": of_texts(
        "GPT2Config",
        "GPT2LMHeadModel",
        {
            "vocab_size": WORDS,
            "n_embd": 32,
            "n_layer": 2,
            "n_head": 4,
            "n_positions": 64,
            "bos_token_id": 1,
            "eos_token_id": 2,
        },
        use_cache=False,
    ),
    "llama": of_texts("LlamaConfig", "LlamaForCausalLM", DECODER, use_cache=False),
    "qwen2": of_texts("Qwen2Config", "Qwen2ForCausalLM", DECODER, use_cache=False),
    "mistral": of_texts("MistralConfig", "MistralForCausalLM", DECODER | {"sliding_window": 8}, use_cache=False),
    "gemma": of_texts("GemmaConfig", "GemmaForCausalLM", DECODER | {"head_dim": 8}, use_cache=False),
    "mamba": of_texts(
        "MambaConfig",
        "MambaForCausalLM",
        {"vocab_size": WORDS, "hidden_size": 32, "state_size": 4, "num_hidden_layers": 2, "time_step_rank": 4},
        use_cache=False,
    ),
    "t5": of_sequences(
        "T5Config",
        "T5ForConditionalGeneration",
        {
            "vocab_size": WORDS,
            "d_model": 32,
            "d_kv": 8,
            "d_ff": 64,
            "num_layers": 2,
            "num_heads": 4,
            "decoder_start_token_id": 0,
        },
        _text,
    ),
    "bart": of_sequences(
        "BartConfig", "BartForConditionalGeneration", SEQUENCES | {"max_position_embeddings": 64}, _text
    ),
    "whisper": of_sequences(
        "WhisperConfig",
        "WhisperForConditionalGeneration",
        SEQUENCES
        | {"num_mel_bins": 16, "max_source_positions": 50, "max_target_positions": 32, "pad_token_id": 0}
        | {"bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1},
        lambda: {"input_features": torch.randn(BATCH, 16, 100)},
    ),
    "vit": of_pictures("ViTConfig", "ViTForImageClassification", 32, PICTURES),
    "deit": of_pictures("DeiTConfig", "DeiTForImageClassification", 32, PICTURES),
    "swin": of_pictures(
        "SwinConfig",
        "SwinForImageClassification",
        32,
        {
            "image_size": 32,
            "patch_size": 2,
            "embed_dim": 16,
            "depths": [2, 2],
            "num_heads": [2, 4],
            "window_size": 4,
            "num_labels": 10,
        },
    ),
    "convnext": of_pictures(
        "ConvNextConfig",
        "ConvNextForImageClassification",
        64,
        {"num_stages": 4, "hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 2, 1], "num_labels": 10},
    ),
    "resnet": of_pictures(
        "ResNetConfig",
        "ResNetForImageClassification",
        64,
        {"embedding_size": 8, "hidden_sizes": [16, 32], "depths": [2, 1], "num_labels": 10},
    ),
    "mobilenet_v2": of_pictures(
        "MobileNetV2Config", "MobileNetV2ForImageClassification", 64, {"depth_multiplier": 0.35, "num_labels": 10}
    ),
    "nn.LSTM": _plain(lambda: Recurrent(nn.LSTM, True), lambda: {"x": words()}, moving={"x": (0,)}),
    "nn.GRU": _plain(lambda: Recurrent(nn.GRU, False), lambda: {"x": words()}, moving={"x": (0,)}),
    "nn.TransformerEncoder": _plain(Encoder, lambda: {"x": torch.randn(BATCH, LENGTH, 32), "padding": mask() == 0}),
    "unet": _plain(UNet, lambda: {"x": torch.randn(BATCH, 3, 32, 32)}, moving={"x": (0,)}),
    "mlp": _perceptron,
    "wave": _plain(Wave, lambda: {"x": torch.randn(BATCH, 1, 64)}, moving={"x": (2,)}),
    "perceiver": _plain(
        Perceiver,
        lambda: {"x": torch.randn(BATCH, LENGTH, 5), "padding": mask() == 0},
        moving={"x": (1,), "padding": (1,)},
    ),
    "graph": _plain(
        Graph, lambda: {"nodes": torch.randn(10, 16), "edges": torch.randint(0, 10, (2, 40))}, moving={"edges": (1,)}
    ),
}

# Those for which the package transformers is not needed.
OWN = {"nn.LSTM", "nn.GRU", "nn.TransformerEncoder", "unet", "mlp", "wave", "perceiver", "graph"}
