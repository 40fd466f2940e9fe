"""Schedules: the rate of each group of parameters as a function of the number of steps.

A schedule sets `group["lr"]` when it is made and at each `step()`, which goes after the optimizer's:

>>> import svod
>>> optimizer = svod.optim.SGD([svod.zeros(2)], lr=1.0)
>>> schedule = svod.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
>>> rates = []
>>> for _ in range(5):
...     rates += schedule.get_last_lr()
...     optimizer.step()
...     schedule.step()
>>> rates
[1.0, 1.0, 0.5, 0.5, 0.25]
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from math import cos, pi
from typing import Any

from svod._arguments import checked, checked_init
from svod._svod import ArgumentError
from svod.optim._optimizer import Optimizer

__all__ = [
    "ConstantLR",
    "CosineAnnealingLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "OneCycleLR",
    "SequentialLR",
    "StepLR",
]


class LRScheduler:
    """Base of schedules: `_rate` gives the rate of a group at a step, from the group's own at the start."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.startswith("svod.") and "__init__" in cls.__dict__:
            type.__setattr__(cls, "__init__", checked_init(cls.__dict__["__init__"]))

    @checked_init
    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.last_epoch = 0
        self.base_lrs: list[float] = [group["lr"] for group in optimizer.param_groups]
        self._write()

    def _rate(self, base: float, step: int, group: int) -> float:
        raise NotImplementedError

    def _write(self) -> None:
        self._last_lr = [self._rate(base, self.last_epoch, at) for at, base in enumerate(self.base_lrs)]
        for group, rate in zip(self.optimizer.param_groups, self._last_lr, strict=True):
            group["lr"] = rate

    @checked
    def step(self) -> None:
        """Sets the rates of the next step."""
        self.last_epoch += 1
        self._write()

    def get_last_lr(self) -> list[float]:
        """The rates, by group, that were set last."""
        return list(self._last_lr)

    def state_dict(self) -> dict[str, Any]:
        """The number of steps and the rates at the start."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    @checked
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on where another schedule of the same kind was."""
        self.last_epoch, self.base_lrs = state_dict["last_epoch"], list(state_dict["base_lrs"])
        self._write()


class LambdaLR(LRScheduler):
    """The rate times `lr_lambda(step)`: one function for all groups, or one for each."""

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]]
    ) -> None:
        groups = len(optimizer.param_groups)
        self._factors = list(lr_lambda) if isinstance(lr_lambda, Sequence) else [lr_lambda] * groups
        if len(self._factors) != groups:
            raise ArgumentError(f"LambdaLR: {len(self._factors)} functions for {groups} groups")
        super().__init__(optimizer)

    def _rate(self, base: float, step: int, group: int) -> float:
        return base * self._factors[group](step)


class StepLR(LRScheduler):
    """The rate times `gamma` every `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer)

    def _rate(self, base: float, step: int, group: int) -> float:
        return float(base * self.gamma ** (step // self.step_size))


class MultiStepLR(LRScheduler):
    """The rate times `gamma` at each of `milestones`."""

    def __init__(self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer)

    def _rate(self, base: float, step: int, group: int) -> float:
        return float(base * self.gamma ** bisect_right(self.milestones, step))


class ConstantLR(LRScheduler):
    """The rate times `factor` for `total_iters` steps, then the rate itself."""

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5) -> None:
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer)

    def _rate(self, base: float, step: int, group: int) -> float:
        return base * (self.factor if step < self.total_iters else 1.0)


class LinearLR(LRScheduler):
    """Warm-up: the rate times a factor that goes from `start_factor` to `end_factor` in `total_iters` steps."""

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5
    ) -> None:
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer)

    def _rate(self, base: float, step: int, group: int) -> float:
        share = min(step, self.total_iters) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * share)


class ExponentialLR(LRScheduler):
    """The rate times `gamma` every step."""

    def __init__(self, optimizer: Optimizer, gamma: float) -> None:
        self.gamma = gamma
        super().__init__(optimizer)

    def _rate(self, base: float, step: int, group: int) -> float:
        return float(base * self.gamma**step)


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the rate to `eta_min` in `T_max` steps (Loshchilov and Hutter 2017)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer)

    def _rate(self, base: float, step: int, group: int) -> float:
        return self.eta_min + (base - self.eta_min) * (1 + cos(pi * step / self.T_max)) / 2


class OneCycleLR(LRScheduler):
    """From `max_lr / div_factor` up to `max_lr`, then down to that over `final_div_factor` (Smith and Topin 2019).

    It takes `total_steps`, of which the share `pct_start` goes up. With `cycle_momentum` the momentum, or β₁, goes from
    `max_momentum` down to `base_momentum` and up again.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(f'OneCycleLR: anneal_strategy is "cos" or "linear", not {anneal_strategy!r}')
        groups = optimizer.param_groups
        self.max_lrs = list(max_lr) if isinstance(max_lr, Sequence) else [max_lr] * len(groups)
        if len(self.max_lrs) != len(groups):
            raise ArgumentError(f"OneCycleLR: {len(self.max_lrs)} rates for {len(groups)} groups")
        self.total_steps, self.div_factor, self.final_div_factor = total_steps, div_factor, final_div_factor
        self.momenta = (max_momentum, base_momentum)
        self._momentum = next((name for name in ("betas", "momentum") if name in groups[0]), None)
        if cycle_momentum and self._momentum is None:
            raise ArgumentError(f"OneCycleLR: {type(optimizer).__name__} has no momentum to cycle")
        self.cycle_momentum, self._is_linear = cycle_momentum, anneal_strategy == "linear"
        self._peak = pct_start * total_steps - 1
        super().__init__(optimizer)

    def _between(self, start: float, peak: float, end: float, step: int) -> float:
        if step > self.total_steps - 1:
            raise ArgumentError(f"OneCycleLR: step {step} of {self.total_steps}")
        rising = step <= self._peak
        at, length = (step, self._peak) if rising else (step - self._peak, self.total_steps - 1 - self._peak)
        share = at / length if length else 0.0
        one, other = (start, peak) if rising else (peak, end)
        return other + (one - other) * ((1 - share) if self._is_linear else (1 + cos(pi * share)) / 2)

    def _rate(self, base: float, step: int, group: int) -> float:
        peak = self.max_lrs[group]
        start = peak / self.div_factor
        return self._between(start, peak, start / self.final_div_factor, step)

    def _write(self) -> None:
        super()._write()
        if not self.cycle_momentum or self._momentum is None:
            return
        high, low = self.momenta
        momentum = self._between(high, low, high, self.last_epoch)
        for group in self.optimizer.param_groups:
            rest = group["betas"][1:] if self._momentum == "betas" else None
            group[self._momentum] = momentum if rest is None else (momentum, *rest)


class SequentialLR(LRScheduler):
    """Schedules one after the other, such as a warm-up before an annealing: the next begins at each milestone."""

    def __init__(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int]) -> None:
        if len(schedulers) != len(milestones) + 1 or list(milestones) != sorted(milestones):
            raise ArgumentError(f"SequentialLR: {len(schedulers)} schedules for the milestones {list(milestones)}")
        self._schedulers, self.milestones = list(schedulers), list(milestones)
        for group, base in zip(optimizer.param_groups, schedulers[0].base_lrs, strict=True):
            group["lr"] = base
        super().__init__(optimizer)
        for schedule in schedulers:
            schedule.base_lrs = list(self.base_lrs)

    def _rate(self, base: float, step: int, group: int) -> float:
        part = bisect_right(self.milestones, step)
        return self._schedulers[part]._rate(base, step - (self.milestones[part - 1] if part else 0), group)
