"""Schedules that go up and down, some of them with the momentum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import cos, floor, inf, log, pi
from typing import Any

from svod._arguments import checked
from svod._svod import ArgumentError
from svod.optim._optimizer import Optimizer
from svod.optim.lr_scheduler._schedules import LRScheduler, each

__all__ = ["CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR"]


class _WithMomentum(LRScheduler):
    """Schedules of the rate, and of the momentum, or β₁, the other way round."""

    _chains = False

    def _cycle(self, optimizer: Optimizer, wanted: bool, base: Any, most: Any) -> None:
        """Finds which number is the momentum, and the ends of its way in each group."""
        name, options = type(self).__name__, optimizer.defaults
        self._momentum = next((name for name in ("betas", "momentum") if name in options), None)
        if wanted and self._momentum is None:
            raise ArgumentError(f"{name}: {type(optimizer).__name__} has no momentum to cycle")
        self.cycle_momentum = wanted
        self.base_momentums = each(name, "momenta", base, optimizer)
        self.max_momentums = each(name, "momenta", most, optimizer)

    def _momentum_at(self, step: int, group: int) -> float:
        raise NotImplementedError

    def _set(self, rates: Sequence[float]) -> None:
        super()._set(rates)
        if not self.cycle_momentum or self._momentum is None:
            return
        for at, group in enumerate(self.optimizer.param_groups):
            momentum = self._momentum_at(self.last_epoch, at)
            group[self._momentum] = (momentum, *group["betas"][1:]) if self._momentum == "betas" else momentum


class OneCycleLR(_WithMomentum):
    """From `max_lr / div_factor` up to `max_lr`, then down to that over `final_div_factor` (Smith and Topin 2019).

    It takes `total_steps`, or `epochs * steps_per_epoch`, of which the share `pct_start` goes up. With `three_phase` it
    goes down to where it began as fast as up, and from there to the end. With `cycle_momentum` the momentum, or β₁,
    goes from `max_momentum` down to `base_momentum` and up again.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(f'OneCycleLR: anneal_strategy is "cos" or "linear", not {anneal_strategy!r}')
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ArgumentError("OneCycleLR: total_steps, or epochs and steps_per_epoch, are expected")
            total_steps = epochs * steps_per_epoch
        if total_steps < 1 or not 0 <= pct_start <= 1:
            raise ArgumentError(f"OneCycleLR: total_steps={total_steps}, pct_start={pct_start}")
        self.max_lrs = each("OneCycleLR", "rates", max_lr, optimizer)
        self.total_steps, self.div_factor, self.final_div_factor = total_steps, div_factor, final_div_factor
        self._is_linear = anneal_strategy == "linear"
        self._cycle(optimizer, cycle_momentum, base_momentum, max_momentum)
        # Where each part ends, and the levels there: of the rate 0 at the start, 1 at the peak, 2 at the end.
        peak = pct_start * total_steps - 1
        turns = [(peak, 1), (2 * peak, 0)] if three_phase else [(peak, 1)]
        self._parts = [*turns, (total_steps - 1, 2)]
        if last_epoch == -1:
            # What schedules that are made later begin with, as in PyTorch.
            for group, most in zip(optimizer.param_groups, self.max_lrs, strict=True):
                group["lr"] = group._initial["lr"] = most / div_factor
        super().__init__(optimizer, last_epoch)

    def _between(self, levels: Sequence[float], step: int) -> float:
        # The last step of a training is followed by one of the schedule.
        if step > self.total_steps:
            raise ArgumentError(f"OneCycleLR: step {step} of {self.total_steps}")
        begin, before = 0.0, 0
        for end, level in self._parts[:-1]:
            if step <= end:
                break
            begin, before = end, level
        else:
            end, level = self._parts[-1]
        share = min((step - begin) / (end - begin), 1.0) if end != begin else 0.0
        one, other = levels[before], levels[level]
        return other + (one - other) * ((1 - share) if self._is_linear else (1 + cos(pi * share)) / 2)

    def _rate(self, base: float, step: int, group: int) -> float:
        peak = self.max_lrs[group]
        start = peak / self.div_factor
        return self._between([start, peak, start / self.final_div_factor], step)

    def _momentum_at(self, step: int, group: int) -> float:
        high, low = self.max_momentums[group], self.base_momentums[group]
        return self._between([high, low, high], step)


class CyclicLR(_WithMomentum):
    """From `base_lr` to `max_lr` in `step_size_up` steps and back in `step_size_down`, again and again (Smith 2017).

    The height of a cycle is halved with each one in the mode "triangular2", and times `gamma ** step` in "exp_range";
    `scale_fn` gives it of the cycle's number, or of the step's with the `scale_mode` "iterations". With
    `cycle_momentum` the momentum, or β₁, goes the other way.

    >>> import svod
    >>> optimizer = svod.optim.SGD([svod.zeros(2)], momentum=0.9)
    >>> schedule = svod.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.0, max_lr=1.0, step_size_up=2)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += schedule.get_last_lr()
    ...     schedule.step()
    >>> rates
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.8,
        max_momentum: float | Sequence[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        scales: dict[str, Callable[[float], float]] = {
            "triangular": lambda cycle: 1.0,
            "triangular2": lambda cycle: 1 / 2.0 ** (cycle - 1),
            "exp_range": lambda step: gamma**step,
        }
        if scale_fn is None and mode not in scales:
            raise ArgumentError(f"CyclicLR: mode is one of {', '.join(scales)}, not {mode!r}")
        if scale_mode not in ("cycle", "iterations"):
            raise ArgumentError(f'CyclicLR: scale_mode is "cycle" or "iterations", not {scale_mode!r}')
        self._lowest = each("CyclicLR", "rates", base_lr, optimizer)
        self.max_lrs = each("CyclicLR", "rates", max_lr, optimizer)
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = step_size_up + down
        self.step_ratio = step_size_up / self.total_size
        self._scale = scales[mode] if scale_fn is None else scale_fn
        self._by_cycle = scale_mode == "cycle" if scale_fn is not None else mode != "exp_range"
        self._cycle(optimizer, cycle_momentum, base_momentum, max_momentum)
        if last_epoch == -1:
            # What schedules begin with, if this is the first one of the optimizer, as in PyTorch.
            for group, low in zip(optimizer.param_groups, self._lowest, strict=True):
                group["lr"] = low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = list(self._lowest)

    def _height(self, step: int) -> float:
        """The share of the way from the one end to the other."""
        cycle = floor(1 + step / self.total_size)
        x = 1.0 + step / self.total_size - cycle
        share = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        return share * self._scale(cycle if self._by_cycle else step)

    def _rate(self, base: float, step: int, group: int) -> float:
        low = self._lowest[group]
        return float(low + (self.max_lrs[group] - low) * self._height(step))

    def _momentum_at(self, step: int, group: int) -> float:
        high, low = self.max_momentums[group], self.base_momentums[group]
        momentum: float = high - (high - low) * self._height(step)
        return momentum


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from the rate to `eta_min` in `T_0` steps, again and again, `T_mult` times as long each time
    (Loshchilov and Hutter 2017). `step` takes a place on the way, such as the epoch with a share of the next.

    >>> import svod
    >>> optimizer = svod.optim.SGD([svod.zeros(2)], lr=1.0)
    >>> schedule = svod.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates += schedule.get_last_lr()
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 1.0]
    """

    _chains = False

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 < 1 or T_mult < 1:
            raise ArgumentError(f"CosineAnnealingWarmRestarts: T_0={T_0}, T_mult={T_mult}: at least 1 is expected")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        self.T_cur, self.T_i = self._place(last_epoch + 1)
        super().__init__(optimizer, last_epoch)

    def _start(self) -> None:
        self.T_cur, self.T_i = self._place(0)
        super()._start()

    def _place(self, at: float) -> tuple[float, int]:
        """How far a place on the way is from the last restart, and from there to the next."""
        if self.T_mult == 1:
            return at % self.T_0, self.T_0
        # Of rounded logarithms one may be that of the part before, or behind.
        part = int(log(at / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
        begins = [self.T_0 * (self.T_mult**n - 1) // (self.T_mult - 1) for n in (part, part + 1)]
        part, begin = (part + 1, begins[1]) if at >= begins[1] else (part, begins[0])
        return at - begin, self.T_0 * self.T_mult**part

    def _rate(self, base: float, step: float, group: int) -> float:
        at, length = self._place(step)
        return self.eta_min + (base - self.eta_min) * (1 + cos(pi * at / length)) / 2

    @checked
    def step(self, epoch: float | None = None) -> None:
        """Sets the rates of the next step, or of a place on the way."""
        at = self.last_epoch + 1 if epoch is None else epoch
        if not 0 <= at < inf:
            raise ArgumentError(f"CosineAnnealingWarmRestarts.step: epoch={epoch}")
        self.last_epoch, (self.T_cur, self.T_i) = floor(at), self._place(at)
        self._set([self._rate(base, at, group) for group, base in enumerate(self.base_lrs)])

    def state_dict(self) -> dict[str, Any]:
        """The number of steps, the rates at the start, and the place on the way."""
        return {**super().state_dict(), "T_cur": self.T_cur, "T_i": self.T_i}

    @checked
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on where another schedule of the same kind was."""
        super().load_state_dict(state_dict)
        self.T_cur, self.T_i = state_dict.get("T_cur", self.T_cur), state_dict.get("T_i", self.T_i)
