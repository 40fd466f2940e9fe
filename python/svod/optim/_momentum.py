"""Rules that follow the gradient, or the average of those so far, at one rate for all elements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import sqrt
from typing import Any, ClassVar, Unpack

from svod._svod import ArgumentError, Tensor, where
from svod.optim._optimizer import Optimizer, ParamGroup
from svod.optim._switches import Switches

__all__ = ["ASGD", "SGD", "Muon"]


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum (Sutskever, Martens, Dahl and Hinton 2013).

    g ← g + weight_decay·p
    b ← momentum·b + (1 - dampening)·g        (b ← g in the first step)
    p ← p - lr·b                              (Nesterov: p ← p - lr·(g + momentum·b))
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        **switches: Unpack[Switches],
    ) -> None:
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ArgumentError("SGD: Nesterov's step needs a momentum, and no dampening")
        super().__init__(
            params,
            lr=lr,
            momentum=momentum,
            dampening=dampening,
            weight_decay=weight_decay,
            nesterov=nesterov,
            maximize=maximize,
            switches=switches,
        )

    def _buffers(self, group: ParamGroup) -> Mapping[str, float]:
        return {"momentum_buffer": 0.0} if group["momentum"] else {}

    def _advance(self, h: Any, clock: Any) -> tuple[Mapping[str, Tensor], Mapping[str, Any]]:
        step = clock.step + 1
        fresh = where(step == 1, 1.0, 1 - h.dampening)
        return {"step": step}, {
            "lr": h.lr,
            "momentum": h.momentum,
            "fresh": fresh,
            "decay": h.weight_decay,
            "nesterov": h.nesterov,
        }

    def _update(self, p: Tensor, g: Tensor, s: Any, k: Any) -> tuple[Tensor, Mapping[str, Tensor]]:
        g = g + k.decay * p
        if not hasattr(s, "momentum_buffer"):
            return p - k.lr * g, {}
        b = k.momentum * s.momentum_buffer + k.fresh * g
        return p - k.lr * (g + k.momentum * b if k.nesterov else b), {"momentum_buffer": b}


class ASGD(Optimizer):
    """Stochastic gradient descent at a falling rate, with the average of the parameters (Polyak and Juditsky 1992).

    g ← g + weight_decay·p
    p ← (1 - lambd·η)·p - η·g
    a ← a + μ·(p - a)                         `ax` of the state
    η ← lr / (1 + lambd·lr·t)^alpha           (lr in the first step)
    μ ← 1 / max(1, t - t0)                    (1 in the first step)

    >>> import svod
    >>> w = svod.Tensor([1.0])
    >>> optimizer = svod.optim.ASGD([w], lr=0.5, lambd=0.0)
    >>> optimizer.step([svod.Tensor([1.0])])
    >>> w.tolist(), optimizer.state_dict()["state"][0]["ax"].tolist()
    ([0.5], [0.5])
    """

    _clock: ClassVar[Mapping[str, float]] = {"step": 0.0, "eta": 0.0, "mu": 1.0}
    _fractions = frozenset()

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        **switches: Unpack[Switches],
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            lambd=lambd,
            alpha=alpha,
            t0=t0,
            weight_decay=weight_decay,
            maximize=maximize,
            switches=switches,
        )

    def _buffers(self, group: ParamGroup) -> Mapping[str, float]:
        return {"ax": 0.0}

    def _advance(self, h: Any, clock: Any) -> tuple[Mapping[str, Tensor], Mapping[str, Any]]:
        step = clock.step + 1
        eta = where(step == 1, h.lr, clock.eta)
        after = {"eta": h.lr / (1 + h.lambd * h.lr * step) ** h.alpha, "mu": 1 / (step - h.t0).maximum(1.0)}
        return {"step": step, **after}, {
            "eta": eta,
            "mu": clock.mu,
            "keep": 1 - h.lambd * eta,
            "decay": h.weight_decay,
        }

    def _update(self, p: Tensor, g: Tensor, s: Any, k: Any) -> tuple[Tensor, Mapping[str, Tensor]]:
        p = k.keep * p - k.eta * (g + k.decay * p)
        return p, {"ax": s.ax.lerp(p, k.mu)}


class Muon(Optimizer):
    """Momentum of matrices, made orthogonal (Jordan et al. 2024, "Muon: An optimizer for hidden layers").

        b ← momentum·b + (1 - momentum)·g
        u = b                                     (Nesterov: momentum·b + (1 - momentum)·g)
        p ← (1 - lr·weight_decay)·p - lr·r·orthogonal(u)

    `orthogonal` is `ns_steps` steps of `x ← a·x + (b·xxᵀ + c·(xxᵀ)²)·x` from `u / |u|` (Newton and Schulz), which moves
    all singular values to about 1. `r` is `sqrt(max(1, rows / columns))`, or `0.2·sqrt(max(rows, columns))` with
    `adjust_lr_fn="match_rms_adamw"`. Parameters have two dimensions: others, and embeddings, are for `AdamW`.
    """

    _structural: ClassVar[frozenset[str]] = frozenset({"ns_steps", "ns_coefficients"})

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            weight_decay=weight_decay,
            momentum=momentum,
            nesterov=nesterov,
            ns_coefficients=ns_coefficients,
            eps=eps,
            ns_steps=ns_steps,
            adjust_lr_fn=adjust_lr_fn,
        )

    def _check(self, group: ParamGroup) -> None:
        for parameter in group.params:
            if parameter.ndim != 2:
                raise ArgumentError(f"Muon: a parameter of shape {tuple(parameter.shape)}, which is no matrix")
        if group["adjust_lr_fn"] not in (None, "original", "match_rms_adamw"):
            raise ArgumentError(f"Muon: adjust_lr_fn={group['adjust_lr_fn']!r}")

    def _buffers(self, group: ParamGroup) -> Mapping[str, float]:
        return {"momentum_buffer": 0.0}

    def _advance(self, h: Any, clock: Any) -> tuple[Mapping[str, Tensor], Mapping[str, Any]]:
        return {"step": clock.step + 1}, {
            "lr": h.lr,
            "keep": 1 - h.lr * h.weight_decay,
            "momentum": h.momentum,
            "new": 1 - h.momentum,
            "eps": h.eps,
            "nesterov": h.nesterov,
            "coefficients": h.ns_coefficients,
            "steps": h.ns_steps,
            "adjust": h.adjust_lr_fn,
        }

    def _update(self, p: Tensor, g: Tensor, s: Any, k: Any) -> tuple[Tensor, Mapping[str, Tensor]]:
        rows, columns = p.shape
        b = s.momentum_buffer.lerp(g, k.new)
        x = g.lerp(b, k.momentum) if k.nesterov else b
        x = x.T if rows > columns else x
        x = x / x.square().sum().sqrt().maximum(k.eps)
        first, third, fifth = k.coefficients
        for _ in range(k.steps):
            gram = x @ x.T
            x = first * x + (third * gram + fifth * (gram @ gram)) @ x
        x = x.T if rows > columns else x
        ratio = sqrt(max(1, rows / columns)) if k.adjust != "match_rms_adamw" else 0.2 * sqrt(max(rows, columns))
        return k.keep * p - k.lr * ratio * x, {"momentum_buffer": b}
