"""Models of full size with random weights, as PyTorch modules: made from configurations, nothing is fetched."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
import transformers as t
from torch import nn


@dataclasses.dataclass
class Work:
    """A module and the arguments of a call."""

    model: nn.Module
    arguments: dict[str, Any]


def words(batch: int, length: int, count: int = 30000) -> torch.Tensor:
    return torch.randint(1, count, (batch, length))


def pictures(batch: int, extent: int) -> torch.Tensor:
    return torch.randn(batch, 3, extent, extent)


def bert(batch: int) -> Work:
    return Work(t.BertModel(t.BertConfig()), {"input_ids": words(batch, 128)})


def gpt2() -> Work:
    return Work(t.GPT2LMHeadModel(t.GPT2Config()), {"input_ids": words(1, 128), "use_cache": False})


class OneToken(nn.Module):  # type: ignore[misc]
    """GPT-2 and one more token behind 128, whose keys and values are arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.model = t.GPT2LMHeadModel(t.GPT2Config())

    def forward(self, token: torch.Tensor, past: torch.Tensor) -> torch.Tensor:
        cache = t.DynamicCache(((keys, values) for keys, values in past))
        return self.model(input_ids=token, past_key_values=cache, use_cache=True).logits


def llama() -> Work:
    """8 layers, 512 wide."""
    config = t.LlamaConfig(
        hidden_size=512,
        num_hidden_layers=8,
        num_attention_heads=8,
        num_key_value_heads=4,
        intermediate_size=1408,
        max_position_embeddings=256,
    )
    return Work(t.LlamaForCausalLM(config), {"input_ids": words(1, 128), "use_cache": False})


def whisper() -> Work:
    model = t.WhisperForConditionalGeneration(t.WhisperConfig(encoder_layers=4, decoder_layers=4))
    return Work(
        model, {"input_features": torch.randn(1, 80, 3000), "decoder_input_ids": words(1, 8), "use_cache": False}
    )


class Twice(nn.Sequential):  # type: ignore[misc]
    """Two convolutions with batch norms."""

    def __init__(self, inputs: int, outputs: int) -> None:
        layers: list[nn.Module] = []
        for channels in (inputs, outputs):
            layers += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs)]
            layers += [nn.ReLU(inplace=True)]
        super().__init__(*layers)


class UNet(nn.Module):  # type: ignore[misc]
    """A picture made smaller three times and larger again (Ronneberger et al. 2015)."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        widths = [width, 2 * width, 4 * width, 8 * width]
        self.down = nn.ModuleList(map(Twice, [3, *widths[:-1]], widths))
        self.turn = nn.ModuleList(nn.ConvTranspose2d(2 * n, n, 2, 2) for n in reversed(widths[:-1]))
        self.up = nn.ModuleList(Twice(2 * n, n) for n in reversed(widths[:-1]))
        self.out = nn.Conv2d(width, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        beside = []
        for at, down in enumerate(self.down):
            x = down(x if at == 0 else F.max_pool2d(x, 2))
            beside.append(x)
        for turn, up, other in zip(self.turn, self.up, reversed(beside[:-1]), strict=True):
            x = up(torch.cat([turn(x), other], 1))
        return self.out(x)


def of_pictures(name: str, batch: int = 1, **options: Any) -> Work:
    module = getattr(t, f"{name}ForImageClassification")(getattr(t, f"{name}Config")(**options))
    return Work(module, {"pixel_values": pictures(batch, 224)})


def one_token() -> Work:
    return Work(OneToken(), {"token": words(1, 1), "past": torch.randn(12, 2, 1, 12, 128, 64)})


INFERENCE: dict[str, Callable[[], Work]] = {
    "bert-base 1x128": lambda: bert(1),
    "bert-base 8x128": lambda: bert(8),
    "gpt2 1x128": gpt2,
    "gpt2 one token": one_token,
    "llama 8 layers of 512": llama,
    "resnet-50": lambda: of_pictures("ResNet"),
    "vit-base": lambda: of_pictures("ViT"),
    "convnext-tiny": lambda: of_pictures("ConvNext"),
    "whisper-tiny": whisper,
    "unet 256": lambda: Work(UNet(), {"x": pictures(1, 256)}),
}


def with_labels(made: Work, labels: torch.Tensor) -> Work:
    return Work(made.model, made.arguments | {"labels": labels})


def bert_step() -> Work:
    return with_labels(Work(t.BertForMaskedLM(t.BertConfig()), bert(1).arguments), words(1, 128))


TRAINING: dict[str, Callable[[], Work]] = {
    "bert-base 1x128, step": bert_step,
    "gpt2 1x128, step": lambda: with_labels(gpt2(), words(1, 128)),
    "resnet-50 4, step": lambda: with_labels(of_pictures("ResNet", 4), torch.randint(0, 2, (4,))),
}

MODELS = INFERENCE | TRAINING

# Models that write texts, from files.
TEXTS: dict[str, Callable[[], nn.Module]] = {
    "gpt2": lambda: gpt2().model,
    "llama 8 layers of 512": lambda: llama().model,
}
