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


class _Several(LRScheduler):
    """Schedules of one optimizer, whose states are part of one."""

    def _of(self, optimizer: Optimizer | None, schedulers: Sequence[LRScheduler]) -> None:
        name = type(self).__name__
        if not schedulers:
            raise ArgumentError(f"{name}: no schedules")
        optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        for at, schedule in enumerate(schedulers):
            if isinstance(schedule, ReduceLROnPlateau):
                raise ArgumentError(f"{name}: schedule {at}, ReduceLROnPlateau, takes a metric with each step")
            if schedule.optimizer is not optimizer:
                raise ArgumentError(f"{name}: schedule {at}, {type(schedule).__name__}, is one of another optimizer")
        self.optimizer, self._schedulers = optimizer, list(schedulers)
        self.base_lrs = [group._initial["lr"] for group in optimizer.param_groups]
        self.last_epoch = 0

    def _note(self) -> None:
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """As that of one schedule, with the states of all."""
        return {**super().state_dict(), "_schedulers": [schedule.state_dict() for schedule in self._schedulers]}

    @checked
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on where another schedule of the same kinds was; the rate itself is part of the optimizer's state."""
        of_each = state_dict["_schedulers"]
        if len(of_each) != len(self._schedulers):
            raise ArgumentError(
                f"{type(self).__name__}: {len(self._schedulers)} schedules, but states of {len(of_each)}"
            )
        for schedule, state in zip(self._schedulers, of_each, strict=True):
            schedule.load_state_dict(state)
        # PyTorch counts no steps of schedules at the same time.
        self.last_epoch = state_dict.get("last_epoch", self._schedulers[0].last_epoch)
        self._last_lr = list(state_dict["_last_lr"])


class SequentialLR(_Several):
    """Schedules one after the other, such as a warm-up before an annealing: the next begins at each milestone.

    Each begins from the rate at the start, save `MultiplicativeLR`, which goes on from the one before, as PyTorch's
    does. Schedules of the momentum set it in their turn.

    >>> import svod
    >>> optimizer = svod.optim.SGD([svod.zeros(2)], lr=1.0)
    >>> scheduler = svod.optim.lr_scheduler
    >>> parts = [scheduler.LinearLR(optimizer, 0.5, total_iters=2), scheduler.ExponentialLR(optimizer, gamma=0.5)]
    >>> schedule = scheduler.SequentialLR(optimizer, parts, milestones=[2])
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += schedule.get_last_lr()
    ...     schedule.step()
    >>> rates
    [0.5, 0.75, 1.0, 0.5, 0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        if len(schedulers) != len(milestones) + 1 or list(milestones) != sorted(milestones):
            raise ArgumentError(f"SequentialLR: {len(schedulers)} schedules for the milestones {list(milestones)}")
        if last_epoch != -1:
            raise ArgumentError(
                f"SequentialLR: last_epoch={last_epoch}: a schedule that goes on is made without, and loads a state"
            )
        self._of(optimizer, schedulers)
        self.milestones = list(milestones)
        self._follow()

    def _start(self) -> None:
        self.last_epoch = 0
        self._schedulers[bisect_right(self.milestones, 0)]._start()
        self._note()

    @checked
    def step(self) -> None:
        """Sets the rates of the next step."""
        self.last_epoch += 1
        part = bisect_right(self.milestones, self.last_epoch)
        if part and self.milestones[part - 1] == self.last_epoch:
            self._schedulers[part]._follow()
        else:
            self._schedulers[part].step()
        self._note()


class ChainedScheduler(_Several):
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
        self._of(optimizer, schedulers)
        self._note()

    def _start(self) -> None:
        self.last_epoch = 0
        for schedule in self._schedulers:
            schedule._start()
        self._note()

    @checked
    def step(self) -> None:
        """Sets the rates of the next step."""
        for schedule in self._schedulers:
            schedule.step()
        self.last_epoch += 1
        self._note()
