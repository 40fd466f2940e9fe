"""Schedules of schedules."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from svod._arguments import checked
from svod._svod import ArgumentError
from svod.optim._optimizer import Optimizer
from svod.optim.lr_scheduler._plateau import ReduceLROnPlateau
from svod.optim.lr_scheduler._schedules import LRScheduler

__all__ = ["ChainedScheduler", "SequentialLR"]


class SequentialLR(LRScheduler):
    """Schedules one after the other, such as a warm-up before an annealing: the next begins at each milestone."""

    _chains = False

    def __init__(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int]) -> None:
        if len(schedulers) != len(milestones) + 1 or list(milestones) != sorted(milestones):
            raise ArgumentError(f"SequentialLR: {len(schedulers)} schedules for the milestones {list(milestones)}")
        _check("SequentialLR", optimizer, schedulers)
        self._schedulers, self.milestones = list(schedulers), list(milestones)
        for group, base in zip(optimizer.param_groups, schedulers[0].base_lrs, strict=True):
            group["lr"] = base
        super().__init__(optimizer)
        for schedule in schedulers:
            schedule.base_lrs = list(self.base_lrs)

    def _rate(self, base: float, step: int, group: int) -> float:
        part = bisect_right(self.milestones, step)
        return self._schedulers[part]._rate(base, step - (self.milestones[part - 1] if part else 0), group)


class ChainedScheduler(LRScheduler):
    """Schedules at the same time: each multiplies the rate.

    >>> import svod
    >>> optimizer = svod.optim.SGD([svod.zeros(2)], lr=1.0)
    >>> scheduler = svod.optim.lr_scheduler
    >>> halves = scheduler.ConstantLR(optimizer, factor=0.5, total_iters=1)
    >>> schedule = scheduler.ChainedScheduler([halves, scheduler.ExponentialLR(optimizer, gamma=0.5)])
    >>> rates = schedule.get_last_lr()
    >>> schedule.step()
    >>> rates + schedule.get_last_lr()
    [0.5, 0.5]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if not schedulers:
            raise ArgumentError("ChainedScheduler: no schedules")
        self.optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        _check("ChainedScheduler", self.optimizer, schedulers)
        self._schedulers = list(schedulers)
        self.last_epoch, self.base_lrs = schedulers[0].last_epoch, list(schedulers[0].base_lrs)
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    @checked
    def step(self) -> None:
        """Sets the rates of the next step."""
        for schedule in self._schedulers:
            schedule.step()
        self.last_epoch += 1
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """The states of the schedules, and the rates that were set last."""
        return {"_schedulers": [one.state_dict() for one in self._schedulers], "_last_lr": list(self._last_lr)}

    @checked
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on where another schedule of the same kinds was."""
        for schedule, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            schedule.load_state_dict(state)
        self.last_epoch = self._schedulers[0].last_epoch
        self._set(state_dict["_last_lr"])


def _check(name: str, optimizer: Optimizer, schedulers: Sequence[LRScheduler]) -> None:
    for at, schedule in enumerate(schedulers):
        if isinstance(schedule, ReduceLROnPlateau):
            raise ArgumentError(f"{name}: schedule {at}, ReduceLROnPlateau, takes a metric with each step")
        if schedule.optimizer is not optimizer:
            raise ArgumentError(f"{name}: schedule {at}, {type(schedule).__name__}, is one of another optimizer")
