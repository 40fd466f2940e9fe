"""Schedules that are a factor of the rate at the start, and what all schedules share."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from math import cos, pi
from typing import Any, ClassVar

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
    "MultiplicativeLR",
    "PolynomialLR",
    "StepLR",
    "each",
]


class LRScheduler:
    """Base of schedules: `_rate` gives the rate of a group at a step, from the group's own at the start.

    Schedules that follow from the rate before multiply where an optimizer has several, as PyTorch's do; those that
    follow from the step alone, such as `LambdaLR` and `OneCycleLR`, set the rate.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.startswith("svod.") and "__init__" in cls.__dict__:
            type.__setattr__(cls, "__init__", checked_init(cls.__dict__["__init__"]))

    # Whether the rate at a step is that of the step before times a factor, so that others may change it besides.
    _chains: ClassVar[bool] = True
    # What the rate less this is multiplied by that factor of.
    _floor: float = 0.0

    @checked_init
    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        self.last_epoch = last_epoch + 1
        groups = optimizer.param_groups
        for group in groups:
            if last_epoch == -1:
                group._initial.setdefault("lr", group["lr"])
            elif "lr" not in group._initial:
                raise ArgumentError(
                    f"{type(self).__name__}: last_epoch={last_epoch} of an optimizer that has no rate to begin with: "
                    "a schedule that goes on is made without, and loads a state"
                )
        self.base_lrs: list[float] = [group._initial["lr"] for group in groups]
        self._last_lr: list[float] = []
        self._advance()

    def _rate(self, base: float, step: int, group: int) -> float:
        raise NotImplementedError

    def _next(self, rate: float, base: float, step: int, group: int) -> float:
        """The rate at a step, of the one before, which other schedules may have changed."""
        new = self._rate(base, step, group)
        if not self._chains:
            return new
        before = self._rate(base, step - 1, group) if step else base
        if rate == before or before == self._floor:
            return new
        return self._floor + (rate - self._floor) * ((new - self._floor) / (before - self._floor))

    def _set(self, rates: Sequence[float]) -> None:
        self._last_lr = list(rates)
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate

    def _advance(self) -> None:
        groups, step = self.optimizer.param_groups, self.last_epoch
        pairs = enumerate(zip(groups, self.base_lrs, strict=True))
        self._set([self._next(group["lr"], base, step, at) for at, (group, base) in pairs])

    def _start(self) -> None:
        """Sets the rates of the first step, from those that are there."""
        self.last_epoch = 0
        self._advance()

    def _follow(self) -> None:
        """Sets the rates of the first step, where another schedule has changed the rates until now."""
        for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
            group["lr"] = base
        self._start()

    @checked
    def step(self) -> None:
        """Sets the rates of the next step."""
        self.last_epoch += 1
        self._advance()

    def get_last_lr(self) -> list[float]:
        """The rates, by group, that were set last."""
        return list(self._last_lr)

    def state_dict(self) -> dict[str, Any]:
        """The number of steps, the rates at the start and those that were set last."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs), "_last_lr": list(self._last_lr)}

    @checked
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on where another schedule of the same kind was; the rate itself is part of the optimizer's state."""
        self.last_epoch, self.base_lrs = state_dict["last_epoch"], list(state_dict["base_lrs"])
        rates = [group["lr"] for group in self.optimizer.param_groups]
        self._last_lr = list(state_dict.get("_last_lr", rates))


def each(name: str, what: str, given: Any, optimizer: Optimizer) -> list[Any]:
    """One for each group, of a list of them, or of one for all."""
    groups = len(optimizer.param_groups)
    several = list(given) if isinstance(given, Sequence) else [given] * groups
    if len(several) != groups:
        raise ArgumentError(f"{name}: {len(several)} {what} for {groups} groups")
    return several


class _Factors(LRScheduler):
    """Factors of the rate that functions give: one for all groups, or one for each."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self._factors = each(type(self).__name__, "functions", lr_lambda, optimizer)
        super().__init__(optimizer, last_epoch)


class LambdaLR(_Factors):
    """The rate times `lr_lambda(step)`: one function for all groups, or one for each."""

    _chains = False

    def _rate(self, base: float, step: int, group: int) -> float:
        return float(base * self._factors[group](step))


class StepLR(LRScheduler):
    """The rate times `gamma` every `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, step: int, group: int) -> float:
        return float(base * self.gamma ** (step // self.step_size))


class MultiStepLR(LRScheduler):
    """The rate times `gamma` at each of `milestones`."""

    def __init__(
        self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, step: int, group: int) -> float:
        return float(base * self.gamma ** bisect_right(self.milestones, step))


class ConstantLR(LRScheduler):
    """The rate times `factor` for `total_iters` steps, then the rate itself."""

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, step: int, group: int) -> float:
        return base * (self.factor if step < self.total_iters else 1.0)


class LinearLR(LRScheduler):
    """Warm-up: the rate times a factor that goes from `start_factor` to `end_factor` in `total_iters` steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, step: int, group: int) -> float:
        share = min(step, self.total_iters) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * share)


class ExponentialLR(LRScheduler):
    """The rate times `gamma` every step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, step: int, group: int) -> float:
        return float(base * self.gamma**step)


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the rate to `eta_min` in `T_max` steps (Loshchilov and Hutter 2017)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        self._floor = eta_min
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, step: int, group: int) -> float:
        return self.eta_min + (base - self.eta_min) * (1 + cos(pi * step / self.T_max)) / 2


class MultiplicativeLR(_Factors):
    """The rate of the step before times `lr_lambda(step)`: one function for all groups, or one for each.

    >>> import svod
    >>> optimizer = svod.optim.SGD([svod.zeros(2)], lr=1.0)
    >>> schedule = svod.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda step: 0.5)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def _next(self, rate: float, base: float, step: int, group: int) -> float:
        return float(rate * self._factors[group](step)) if step else rate

    def _follow(self) -> None:
        # As PyTorch's: from the rates that are there.
        self.last_epoch = 0
        self._set(
            [group["lr"] * factor(0) for group, factor in zip(self.optimizer.param_groups, self._factors, strict=True)]
        )


class PolynomialLR(LRScheduler):
    """The rate times `(1 - step / total_iters) ** power`, which ends at 0.

    >>> import svod
    >>> optimizer = svod.optim.SGD([svod.zeros(2)], lr=1.0)
    >>> schedule = svod.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, step: int, group: int) -> float:
        return float(base * (1 - min(step, self.total_iters) / self.total_iters) ** self.power)
