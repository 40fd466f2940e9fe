"""Adam and its relatives: averages of gradients, and of their squares or sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Unpack

from svod._svod import Tensor, where
from svod.optim._optimizer import Optimizer, ParamGroup
from svod.optim._switches import Switches

__all__ = ["LAMB", "Adam", "AdamW", "Adamax", "NAdam", "RAdam"]


class _Moments(Optimizer):
    """What Adam and its relatives have in common: averages of gradients and of their squares.

    m ← β₁·m + (1 - β₁)·g
    v ← β₂·v + (1 - β₂)·g²
    """

    def _buffers(self, group: ParamGroup) -> Mapping[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    @staticmethod
    def _constants(h: Any, step: Any) -> dict[str, Any]:
        """Numbers of one step: `root` is that of the correction of `v`."""
        one, two = h.betas
        return {
            "root": (1 - two**step).sqrt(),
            "new1": 1 - one,
            "beta2": two,
            "new2": 1 - two,
            "eps": h.eps,
            "decay": h.weight_decay,
        }

    @staticmethod
    def _decayed(p: Tensor, g: Tensor, k: Any, decoupled: bool) -> tuple[Tensor, Tensor]:
        """The weights and the gradient, of which one is with the decay of weights."""
        return (k.keep * p, g) if decoupled else (p, g + k.decay * p)

    @staticmethod
    def _averaged(g: Tensor, s: Any, k: Any) -> tuple[Tensor, Tensor]:
        """The new `m` and `v`."""
        return s.exp_avg.lerp(g, k.new1), k.beta2 * s.exp_avg_sq + k.new2 * g * g


class Adam(_Moments):
    """Averages of gradients and of their squares (Kingma and Ba 2015; amsgrad: Reddi, Kale and Kumar 2018).

    g ← g + weight_decay·p
    m ← β₁·m + (1 - β₁)·g
    v ← β₂·v + (1 - β₂)·g²
    p ← p - lr / (1 - β₁ᵗ) · m / (√(v / (1 - β₂ᵗ)) + eps)     (amsgrad: with the largest v so far)

    With `decoupled_weight_decay` it is `AdamW`.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        decoupled_weight_decay: bool = False,
        **switches: Unpack[Switches],
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            amsgrad=amsgrad,
            decoupled_weight_decay=decoupled_weight_decay,
            maximize=maximize,
            switches=switches,
        )

    def _buffers(self, group: ParamGroup) -> Mapping[str, float]:
        largest = {"max_exp_avg_sq": 0.0} if group["amsgrad"] else {}
        return {**super()._buffers(group), **largest}

    def _advance(self, h: Any, clock: Any) -> tuple[Mapping[str, Tensor], Mapping[str, Any]]:
        step = clock.step + 1
        return {"step": step}, {
            **self._constants(h, step),
            "lr": h.lr / (1 - h.betas[0] ** step),
            "keep": 1 - h.lr * h.weight_decay,
            "decoupled": h.decoupled_weight_decay,
        }

    def _update(self, p: Tensor, g: Tensor, s: Any, k: Any) -> tuple[Tensor, Mapping[str, Tensor]]:
        p, g = self._decayed(p, g, k, k.decoupled)
        m, v = self._averaged(g, s, k)
        after, largest = {"exp_avg": m, "exp_avg_sq": v}, v
        if hasattr(s, "max_exp_avg_sq"):
            after["max_exp_avg_sq"] = largest = s.max_exp_avg_sq.maximum(v)
        return p - k.lr * m / (largest.sqrt() / k.root + k.eps), after


class AdamW(Adam):
    """Adam with weights that decay apart from the gradient (Loshchilov and Hutter 2019).

    `p ← (1 - lr·weight_decay)·p` takes the place of `g ← g + weight_decay·p` in the equations of `Adam`.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        **switches: Unpack[Switches],
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, decoupled_weight_decay=True, **switches
        )


class NAdam(_Moments):
    """Adam with Nesterov's momentum (Dozat 2016).

    μₜ = β₁·(1 - 0.96^(t·momentum_decay) / 2),  πₜ = μ₁·…·μₜ
    m, v as in `Adam`
    p ← p - lr·((1 - μₜ) / (1 - πₜ)·g + μₜ₊₁ / (1 - πₜ₊₁)·m) / (√(v / (1 - β₂ᵗ)) + eps)
    """

    _clock: ClassVar[Mapping[str, float]] = {"step": 0.0, "mu_product": 1.0}

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
        **switches: Unpack[Switches],
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            momentum_decay=momentum_decay,
            decoupled_weight_decay=decoupled_weight_decay,
            maximize=maximize,
            switches=switches,
        )

    def _advance(self, h: Any, clock: Any) -> tuple[Mapping[str, Tensor], Mapping[str, Any]]:
        step = clock.step + 1
        one = h.betas[0]
        now, then = (one * (1 - 0.5 * 0.96 ** (at * h.momentum_decay)) for at in (step, step + 1))
        product = clock.mu_product * now
        return {"step": step, "mu_product": product}, {
            "of_gradient": h.lr * (1 - now) / (1 - product),
            "of_average": h.lr * then / (1 - product * then),
            **self._constants(h, step),
            "keep": 1 - h.lr * h.weight_decay,
            "decoupled": h.decoupled_weight_decay,
        }

    def _update(self, p: Tensor, g: Tensor, s: Any, k: Any) -> tuple[Tensor, Mapping[str, Tensor]]:
        p, g = self._decayed(p, g, k, k.decoupled)
        m, v = self._averaged(g, s, k)
        moved = (k.of_gradient * g + k.of_average * m) / (v.sqrt() / k.root + k.eps)
        return p - moved, {"exp_avg": m, "exp_avg_sq": v}


class LAMB(_Moments):
    """Adam with steps in proportion to each tensor's norm, for large batches (You et al. 2020).

    m, v as in `Adam`
    u = m / (1 - β₁ᵗ) / (√(v / (1 - β₂ᵗ)) + eps) + weight_decay·p
    p ← p - lr·|p| / |u|·u                    (with 1 for |p| / |u| where either is 0)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize)

    def _advance(self, h: Any, clock: Any) -> tuple[Mapping[str, Tensor], Mapping[str, Any]]:
        step = clock.step + 1
        return {"step": step}, {
            **self._constants(h, step),
            "lr": h.lr,
            "mean": 1 / (1 - h.betas[0] ** step),
        }

    def _update(self, p: Tensor, g: Tensor, s: Any, k: Any) -> tuple[Tensor, Mapping[str, Tensor]]:
        m, v = self._averaged(g, s, k)
        u = k.mean * m / (v.sqrt() / k.root + k.eps) + k.decay * p
        of_weights, of_step = (x.square().sum().sqrt() for x in (p, u))
        trust = where((of_weights > 0) & (of_step > 0), of_weights / of_step, 1.0)
        return p - k.lr * trust * u, {"exp_avg": m, "exp_avg_sq": v}


class Adamax(_Moments):
    """Adam with the largest gradient so far, which is forgotten slowly, in place of squares (Kingma and Ba 2015).

    g ← g + weight_decay·p
    m ← β₁·m + (1 - β₁)·g
    u ← max(β₂·u, |g| + eps)
    p ← p - lr / (1 - β₁ᵗ)·m / u

    >>> import svod
    >>> w = svod.Tensor([1.0])
    >>> svod.optim.Adamax([w], lr=0.5, eps=0.0).step([svod.Tensor([4.0])])
    >>> w.tolist()
    [0.5]
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        **switches: Unpack[Switches],
    ) -> None:
        super().__init__(
            params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize, switches=switches
        )

    def _buffers(self, group: ParamGroup) -> Mapping[str, float]:
        return {"exp_avg": 0.0, "exp_inf": 0.0}

    def _advance(self, h: Any, clock: Any) -> tuple[Mapping[str, Tensor], Mapping[str, Any]]:
        step = clock.step + 1
        return {"step": step}, {**self._constants(h, step), "lr": h.lr / (1 - h.betas[0] ** step)}

    def _update(self, p: Tensor, g: Tensor, s: Any, k: Any) -> tuple[Tensor, Mapping[str, Tensor]]:
        g = g + k.decay * p
        m = s.exp_avg.lerp(g, k.new1)
        u = (k.beta2 * s.exp_inf).maximum(g.abs() + k.eps)
        return p - k.lr * m / u, {"exp_avg": m, "exp_inf": u}


class RAdam(_Moments):
    """Adam whose first steps go by the average alone, until that of squares has seen enough (Liu et al. 2020).

    m, v as in `Adam`
    ρ∞ = 2 / (1 - β₂) - 1,  ρ = ρ∞ - 2·t·β₂ᵗ / (1 - β₂ᵗ)
    r = √((ρ - 4)·(ρ - 2)·ρ∞ / ((ρ∞ - 4)·(ρ∞ - 2)·ρ))
    p ← p - lr·m / (1 - β₁ᵗ)·r·√(1 - β₂ᵗ) / (√v + eps)     (ρ up to 5: p ← p - lr·m / (1 - β₁ᵗ))

    >>> import svod
    >>> w = svod.Tensor([1.0])
    >>> svod.optim.RAdam([w], lr=0.5).step([svod.Tensor([1.0])])
    >>> w.tolist()
    [0.5]
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
        **switches: Unpack[Switches],
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            decoupled_weight_decay=decoupled_weight_decay,
            maximize=maximize,
            switches=switches,
        )

    def _advance(self, h: Any, clock: Any) -> tuple[Mapping[str, Tensor], Mapping[str, Any]]:
        step = clock.step + 1
        one, two = h.betas
        most = 2 / (1 - two) - 1
        seen = most - 2 * step * two**step / (1 - two**step)
        share = (seen - 4) * (seen - 2) * most / ((most - 4) * (most - 2) * seen)
        constants = self._constants(h, step)
        rate, enough = h.lr / (1 - one**step), seen > 5
        return {"step": step}, {
            **constants,
            "by_average": where(enough, 0.0, rate),
            "by_both": where(enough, rate * where(enough, share, 0.0).sqrt() * constants["root"], 0.0),
            "keep": 1 - h.lr * h.weight_decay,
            "decoupled": h.decoupled_weight_decay,
        }

    def _update(self, p: Tensor, g: Tensor, s: Any, k: Any) -> tuple[Tensor, Mapping[str, Tensor]]:
        p, g = self._decayed(p, g, k, k.decoupled)
        m, v = self._averaged(g, s, k)
        return p - k.by_average * m - k.by_both * m / (v.sqrt() + k.eps), {"exp_avg": m, "exp_avg_sq": v}
