"""A schedule that goes by how well the training does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, SupportsFloat

from svod._arguments import checked
from svod._svod import ArgumentError
from svod.optim._optimizer import Optimizer
from svod.optim.lr_scheduler._schedules import LRScheduler, each

__all__ = ["ReduceLROnPlateau"]

# What goes on is these numbers.
_STATE = ("best", "num_bad_epochs", "cooldown_counter", "last_epoch")


class ReduceLROnPlateau(LRScheduler):
    """The rate times `factor` once a metric has not improved for more than `patience` steps.

    `mode` says whether less of it, "min", or more, "max", is better: by more than `threshold`, a share of the best one
    so far ("rel") or a distance from it ("abs"). After that nothing counts for `cooldown` steps. A rate is no less than
    `min_lr`, and stays where it would change by no more than `eps`.

    >>> import svod
    >>> optimizer = svod.optim.SGD([svod.zeros(2)], lr=1.0)
    >>> schedule = svod.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> for loss in (3.0, 2.0, 2.0, 2.0):
    ...     schedule.step(loss)
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1:
            raise ArgumentError(f"ReduceLROnPlateau: factor={factor}: less than 1 is expected")
        for name, given, known in (("mode", mode, ("min", "max")), ("threshold_mode", threshold_mode, ("rel", "abs"))):
            if given not in known:
                raise ArgumentError(f"ReduceLROnPlateau: {name} is one of {known}, not {given!r}")
        self.optimizer, self.mode, self.threshold_mode = optimizer, mode, threshold_mode
        self.factor, self.patience, self.threshold = factor, patience, threshold
        self.cooldown, self.eps = cooldown, eps
        self.min_lrs = each("ReduceLROnPlateau", "rates", min_lr, optimizer)
        self.best = inf if mode == "min" else -inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0
        self.base_lrs = [group["lr"] for group in optimizer.param_groups]
        self._last_lr = list(self.base_lrs)

    @checked
    def step(self, metrics: SupportsFloat) -> None:  # type: ignore[override]
        """Notes how well the training does, and sets the rates."""
        value = float(metrics)
        self.last_epoch += 1
        if self._is_better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                new = max(group["lr"] * self.factor, least)
                if group["lr"] - new > self.eps:
                    group["lr"] = new
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def _is_better(self, value: float) -> bool:
        by = self.threshold if self.mode == "max" else -self.threshold
        bound = self.best * (1 + by) if self.threshold_mode == "rel" else self.best + by
        return value > bound if self.mode == "max" else value < bound

    def state_dict(self) -> dict[str, Any]:
        """The best metric, what was counted since, and the rates."""
        return {**{name: getattr(self, name) for name in _STATE}, "_last_lr": list(self._last_lr)}

    @checked
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on where another schedule of the same kind was; the rates are those of the optimizer's state."""
        for name in _STATE:
            setattr(self, name, state_dict[name])
        self._last_lr = list(state_dict["_last_lr"])
