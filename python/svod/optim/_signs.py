"""Rules that go by the signs of gradients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from svod._svod import ArgumentError, Tensor, where
from svod.optim._optimizer import Optimizer, ParamGroup
from svod.optim._switches import Switches

__all__ = ["Lion", "Rprop"]


class Lion(Optimizer):
    """The sign of an average of gradients (Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms").

    p ← p - lr·(sign(β₁·m + (1 - β₁)·g) + weight_decay·p)
    m ← β₂·m + (1 - β₂)·g
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr=lr, betas=betas, weight_decay=weight_decay, maximize=maximize)

    def _buffers(self, group: ParamGroup) -> Mapping[str, float]:
        return {"exp_avg": 0.0}

    def _advance(self, h: Any, clock: Any) -> tuple[Mapping[str, Tensor], Mapping[str, Any]]:
        one, two = h.betas
        return {"step": clock.step + 1}, {"lr": h.lr, "decay": h.weight_decay, "new1": 1 - one, "new2": 1 - two}

    def _update(self, p: Tensor, g: Tensor, s: Any, k: Any) -> tuple[Tensor, Mapping[str, Tensor]]:
        m = s.exp_avg
        p = p - k.lr * (m.lerp(g, k.new1).sign() + k.decay * p)
        return p, {"exp_avg": m.lerp(g, k.new2)}


class Rprop(Optimizer):
    """Steps of each element's own, longer while its gradient keeps its sign (Riedmiller and Braun 1993).

    d ← d·η₊ where g·g' > 0, d·η₋ where g·g' < 0, within `step_sizes`     (g' the last gradient)
    g ← 0 where g·g' < 0
    p ← p - sign(g)·d,  g' ← g

    >>> import svod
    >>> w = svod.Tensor([1.0, 1.0])
    >>> optimizer = svod.optim.Rprop([w], lr=0.25, etas=(0.5, 2.0))
    >>> for gradient in ([3.0, 3.0], [1.0, -1.0]):
    ...     optimizer.step([svod.Tensor(gradient)])
    >>> w.tolist()
    [0.25, 0.75]
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        *,
        maximize: bool = False,
        **switches: Unpack[Switches],
    ) -> None:
        if not 0 < etas[0] < 1 < etas[1]:
            raise ArgumentError(f"Rprop: etas={etas}: one below 1 and one above are expected")
        super().__init__(params, lr=lr, etas=etas, step_sizes=step_sizes, maximize=maximize, switches=switches)

    def _buffers(self, group: ParamGroup) -> Mapping[str, float]:
        return {"prev": 0.0, "step_size": 0.0}

    def _advance(self, h: Any, clock: Any) -> tuple[Mapping[str, Tensor], Mapping[str, Any]]:
        (shorter, longer), (least, most) = h.etas, h.step_sizes
        numbers = {"shorter": shorter, "longer": longer, "least": least, "most": most}
        return {"step": clock.step + 1}, {**numbers, "lr": h.lr, "first": clock.step == 0}

    def _update(self, p: Tensor, g: Tensor, s: Any, k: Any) -> tuple[Tensor, Mapping[str, Tensor]]:
        same = g * s.prev
        turned = same < 0
        d = where(k.first > 0, k.lr, s.step_size) * where(same > 0, k.longer, where(turned, k.shorter, 1.0))
        d = d.maximum(k.least).minimum(k.most)
        g = where(turned, 0.0, g)
        return p - g.sign() * d, {"prev": g, "step_size": d}
