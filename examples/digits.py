"""Handwritten digits: a multilayer perceptron or a convolutional net on scikit-learn's 1,797 images of 8 x 8.

    python examples/digits.py [mlp|convnet] [--devices 2]

With several devices each has a part of every batch, and the whole model: gradients are summed between them.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import svod
from svod import nn, optim
from svod.nn import functional as F
from training import progress, save_curve

Images = tuple[np.ndarray, np.ndarray]


def digits(seed: int = 0) -> tuple[Images, Images]:
    """Images and labels to learn from, and a fifth that is held out."""
    from sklearn.datasets import load_digits

    found = load_digits()
    images = (found.images[:, None] / 16).astype(np.float32)
    order = np.random.default_rng(seed).permutation(len(images))
    held, rest = np.split(order, [len(order) // 5])
    return (images[rest], found.target[rest]), (images[held], found.target[held])


def mlp() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))


def convnet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(32 * 16, 10),
    )


def fit(
    model: nn.Module,
    images: np.ndarray,
    labels: np.ndarray,
    epochs: int = 12,
    batch: int = 64,
    rate: float = 0.01,
    devices: Sequence[str] = (),
    seed: int = 0,
    quiet: bool = False,
) -> list[float]:
    """Trains a model, and gives the loss at each step. A batch that would be smaller is left out."""
    if devices:
        model.load_state_dict({name: tensor.shard(list(devices)) for name, tensor in model.state_dict().items()})
    model.requires_grad_()
    steps = len(images) // batch
    optimizer = optim.AdamW(model.parameters(), lr=rate)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=rate, total_steps=epochs * steps)
    rng, losses = np.random.default_rng(seed), []
    model.train()
    for step in progress(range(epochs * steps), losses, quiet):
        if step % steps == 0:
            order = rng.permutation(len(images))
        chosen = order[step % steps * batch :][:batch]
        x, y = svod.Tensor(images[chosen]), svod.Tensor(labels[chosen])
        if devices:
            x, y = x.shard(list(devices), axis=0), y.shard(list(devices), axis=0)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if step + 1 < epochs * steps:
            schedule.step()
        losses.append(loss.item())
    return losses


def accuracy(model: nn.Module, images: np.ndarray, labels: np.ndarray) -> float:
    """The share of images that a model knows."""
    return float((model.eval()(svod.Tensor(images)).numpy().argmax(1) == labels).mean())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", choices=["mlp", "convnet"], default="convnet")
    parser.add_argument("--devices", type=int, default=1)
    options = parser.parse_args(arguments)
    svod.manual_seed(0)
    learned, held = digits()
    make = mlp if options.model == "mlp" else convnet
    model = make()
    names = ["CPU", *(f"CPU:{i}" for i in range(1, options.devices))] if options.devices > 1 else []
    losses = fit(model, *learned, devices=names)
    if names:
        # Parameters stay where they are: what was learned goes to a model on one device.
        learned_by_all, model = model, make()
        model.load_state_dict({name: tensor.to(device="CPU") for name, tensor in learned_by_all.state_dict().items()})
    share = accuracy(model, *held)
    print(f"{options.model}: {share:.1%} of {len(held[0])} images that were held out")
    save_curve(losses, f"digits-{options.model}.png")
    assert share >= (0.98 if options.model == "convnet" else 0.95)


if __name__ == "__main__":
    main()
