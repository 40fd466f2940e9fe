"""A convnet written in PyTorch, trained through svod and in eager mode, from the same weights.

python examples/torch_model.py
"""

from __future__ import annotations

import copy
import time

import torch
from torch import nn

from training import progress


def network() -> nn.Sequential:
    """Two convolutions and a linear layer for pictures of 16 × 16 points in four classes."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 4),
    )


def pictures(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Noise, and a bright bar: flat or upright, near one edge or the other."""
    kinds = torch.randint(0, 4, (count,))
    x = 0.5 * torch.randn(count, 1, 16, 16)
    for kind, (rows, columns) in enumerate([(slice(2, 4), slice(None)), (slice(12, 14), slice(None))]):
        x[kinds == kind, :, rows, columns] += 1
        x[kinds == kind + 2, :, columns, rows] += 1
    return x, kinds


def fit(model: nn.Module, steps: int, backend: str, quiet: bool = False) -> tuple[list[float], float]:
    """The loss at each step, and the seconds that the steps after the first two took."""
    run = torch.compile(model, backend=backend)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses: list[float] = []
    began = 0.0
    torch.manual_seed(1)
    for step in progress(range(steps), losses, quiet):
        if step == 2:
            began = time.perf_counter()
        x, kinds = pictures(64)
        loss = nn.functional.cross_entropy(run(x), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, time.perf_counter() - began


def main() -> None:
    torch.manual_seed(0)
    model = network()
    eager, compiled = copy.deepcopy(model), model
    expected, seconds = fit(eager, 100, "eager")
    losses, less = fit(compiled, 100, "svod")
    apart = max(abs(a - b) for a, b in zip(losses, expected, strict=True))
    print(f"loss {losses[-1]:.4f}, at most {apart:.1e} from eager mode's; {less:.2f} s, eager mode {seconds:.2f} s")
    assert losses[-1] < 0.2 < losses[0]


if __name__ == "__main__":
    main()
