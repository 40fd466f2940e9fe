"""Schedules: the rate of each group of parameters as a function of the number of steps.

A schedule sets `group["lr"]` when it is made and at each `step()`, which goes after the optimizer's:

>>> import svod
>>> optimizer = svod.optim.SGD([svod.zeros(2).requires_grad_()], lr=1.0)
>>> schedule = svod.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
>>> rates = []
>>> for _ in range(5):
...     rates += schedule.get_last_lr()
...     optimizer.step()
...     schedule.step()
>>> rates
[1.0, 1.0, 0.5, 0.5, 0.25]
"""

from svod.optim.lr_scheduler._combined import ChainedScheduler, SequentialLR
from svod.optim.lr_scheduler._cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from svod.optim.lr_scheduler._plateau import ReduceLROnPlateau
from svod.optim.lr_scheduler._schedules import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
