"""Rules with a rate of each element's own, from the squares of its gradients so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from svod._svod import Tensor
from svod.optim._optimizer import Optimizer, ParamGroup
from svod.optim._switches import Switches

__all__ = ["Adadelta", "Adagrad", "RMSprop"]


class Adagrad(Optimizer):
    """Rates from the sum of squared gradients (Duchi, Hazan and Singer 2011).

    g ← g + weight_decay·p
    v ← v + g²
    p ← p - lr / (1 + (t - 1)·lr_decay) · g / (√v + eps)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
        **switches: Unpack[Switches],
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
            maximize=maximize,
            switches=switches,
        )

    def _buffers(self, group: ParamGroup) -> Mapping[str, float]:
        return {"sum": group["initial_accumulator_value"]}

    def _advance(self, h: Any, clock: Any) -> tuple[Mapping[str, Tensor], Mapping[str, Any]]:
        rate = h.lr / (1 + clock.step * h.lr_decay)
        return {"step": clock.step + 1}, {"lr": rate, "decay": h.weight_decay, "eps": h.eps}

    def _update(self, p: Tensor, g: Tensor, s: Any, k: Any) -> tuple[Tensor, Mapping[str, Tensor]]:
        g = g + k.decay * p
        v = s.sum + g * g
        return p - k.lr * g / (v.sqrt() + k.eps), {"sum": v}


class Adadelta(Optimizer):
    """Steps in the unit of the parameters: gradients over their size, times the size of steps so far (Zeiler 2012).

    g ← g + weight_decay·p
    v ← ρ·v + (1 - ρ)·g²
    u = √(d + eps) / √(v + eps)·g
    d ← ρ·d + (1 - ρ)·u²
    p ← p - lr·u

    >>> import svod
    >>> w = svod.Tensor([1.0])
    >>> svod.optim.Adadelta([w], lr=1.0, rho=0.0, eps=1.0).step([svod.Tensor([0.0])])
    >>> w.tolist()
    [1.0]
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        **switches: Unpack[Switches],
    ) -> None:
        super().__init__(
            params, lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize, switches=switches
        )

    def _buffers(self, group: ParamGroup) -> Mapping[str, float]:
        return {"square_avg": 0.0, "acc_delta": 0.0}

    def _advance(self, h: Any, clock: Any) -> tuple[Mapping[str, Tensor], Mapping[str, Any]]:
        return {"step": clock.step + 1}, {
            "lr": h.lr,
            "rho": h.rho,
            "new": 1 - h.rho,
            "eps": h.eps,
            "decay": h.weight_decay,
        }

    def _update(self, p: Tensor, g: Tensor, s: Any, k: Any) -> tuple[Tensor, Mapping[str, Tensor]]:
        g = g + k.decay * p
        v = k.rho * s.square_avg + k.new * g * g
        u = (s.acc_delta + k.eps).sqrt() / (v + k.eps).sqrt() * g
        return p - k.lr * u, {"square_avg": v, "acc_delta": k.rho * s.acc_delta + k.new * u * u}


class RMSprop(Optimizer):
    """Rates from a moving average of squared gradients (Tieleman and Hinton 2012; centered: Graves 2013).

    g ← g + weight_decay·p
    v ← α·v + (1 - α)·g²
    a ← α·a + (1 - α)·g,  r = √(v - a²)       (not centered: r = √v)
    b ← momentum·b + g / (r + eps)
    p ← p - lr·b
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
        **switches: Unpack[Switches],
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            alpha=alpha,
            eps=eps,
            weight_decay=weight_decay,
            momentum=momentum,
            centered=centered,
            maximize=maximize,
            switches=switches,
        )

    def _buffers(self, group: ParamGroup) -> Mapping[str, float]:
        used = {"square_avg": True, "grad_avg": group["centered"], "momentum_buffer": group["momentum"]}
        return {name: 0.0 for name, wanted in used.items() if wanted}

    def _advance(self, h: Any, clock: Any) -> tuple[Mapping[str, Tensor], Mapping[str, Any]]:
        return {"step": clock.step + 1}, {
            "lr": h.lr,
            "alpha": h.alpha,
            "new": 1 - h.alpha,
            "eps": h.eps,
            "decay": h.weight_decay,
            "momentum": h.momentum,
        }

    def _update(self, p: Tensor, g: Tensor, s: Any, k: Any) -> tuple[Tensor, Mapping[str, Tensor]]:
        g = g + k.decay * p
        v = k.alpha * s.square_avg + k.new * g * g
        after, spread = {"square_avg": v}, v
        if hasattr(s, "grad_avg"):
            after["grad_avg"] = s.grad_avg.lerp(g, k.new)
            spread = v - after["grad_avg"].square()
        b = g / (spread.sqrt() + k.eps)
        if hasattr(s, "momentum_buffer"):
            after["momentum_buffer"] = b = k.momentum * s.momentum_buffer + b
        return p - k.lr * b, after
