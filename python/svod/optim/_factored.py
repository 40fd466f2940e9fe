"""Rates from squares of gradients that are kept by rows and columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import sqrt
from typing import Any, Unpack

from svod._svod import ArgumentError, Tensor, float64
from svod.library.dtypes import finfo
from svod.optim._optimizer import Optimizer, ParamGroup
from svod.optim._switches import Switches

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Rates from averages of squared gradients, of matrices those of rows and columns (Shazeer and Stern 2018).

        share = t^beta2_decay,  rms(x) = |x| / √n
        r ← r + share·(mean of g² by rows - r),  c ← c + share·(mean of g² by columns - c)
        v = r·c / max(mean of r, eps₁)            (of vectors v ← v + share·(g² - v))
        u = g / √max(v, eps₁²)
        p ← (1 - lr·weight_decay)·p - max(eps₂, rms(p))·min(lr, 1 / √t)·u / max(1, rms(u) / d)

    Where `eps[0]` is None, eps₁ is the distance of 1 to the next number of the parameter's type.

    >>> import svod
    >>> w = svod.Tensor([1.0])
    >>> svod.optim.Adafactor([w], lr=0.5).step([svod.Tensor([3.0])])
    >>> w.tolist()
    [0.5]
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        **switches: Unpack[Switches],
    ) -> None:
        if d < 1:
            raise ArgumentError(f"Adafactor: d={d}: at least 1 is expected")
        super().__init__(
            params,
            lr=lr,
            beta2_decay=beta2_decay,
            eps=eps,
            d=d,
            weight_decay=weight_decay,
            maximize=maximize,
            switches=switches,
        )

    def _option(self, name: str, value: Any) -> Any:
        if name == "beta2_decay" and not isinstance(value, Tensor):
            if value > 0:
                raise ArgumentError(f"Adafactor: beta2_decay={value}: at most 0 is expected")
            return Tensor(float(value), dtype=float64).realize()
        if name == "eps" and value[0] is None:
            return (None, super()._option(name, value[1]))
        return super()._option(name, value)

    def _buffers(self, group: ParamGroup) -> Mapping[str, float]:
        return {"row_var": 0.0, "col_var": 0.0, "variance": 0.0}

    def _shape(self, name: str, parameter: Tensor) -> tuple[int, ...] | None:
        shape = tuple(parameter.shape)
        if len(shape) < 2:
            return shape if name == "variance" else None
        by_name = {"row_var": (*shape[:-1], 1), "col_var": (*shape[:-2], 1, shape[-1])}
        return by_name.get(name)

    def _advance(self, h: Any, clock: Any) -> tuple[Mapping[str, Tensor], Mapping[str, Any]]:
        step = clock.step + 1
        return {"step": step}, {
            "share": step**h.beta2_decay,
            "rate": (1 / step.sqrt()).minimum(h.lr),
            "keep": 1 - h.lr * h.weight_decay,
            "eps1": h.eps[0],
            "eps2": h.eps[1],
            "d": h.d,
        }

    def _update(self, p: Tensor, g: Tensor, s: Any, k: Any) -> tuple[Tensor, Mapping[str, Tensor]]:
        eps = finfo(p.dtype).eps if k.eps1 is None else k.eps1
        root = sqrt(p.numel())
        rate = (p.square().sum().sqrt() / root).maximum(k.eps2) * k.rate
        squares = g.square()
        after: dict[str, Tensor] = {}
        if hasattr(s, "variance"):
            after["variance"] = v = s.variance.lerp(squares, k.share)
        else:
            after["row_var"] = rows = s.row_var.lerp(squares.mean(-1, keepdims=True), k.share)
            after["col_var"] = columns = s.col_var.lerp(squares.mean(-2, keepdims=True), k.share)
            v = rows * columns / rows.mean(-2, keepdims=True).maximum(eps)
        u = g / v.maximum(eps * eps).sqrt()
        too_long = (u.square().sum().sqrt() / (root * k.d)).maximum(1.0)
        return k.keep * p - rate / too_long * u, after
