"""Steps that go by the curvature, of which the last gradients tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from svod._arguments import checked
from svod._grad import enable_grad, no_grad
from svod._module import StateError
from svod._svod import (
    ArgumentError,
    ArgumentTypeError,
    Tensor,
    TraceError,
    _Before,
    _is_tracing,
    cat,
    float32,
    float64,
    realize,
)
from svod.nn._statistics import pending, restore, settled
from svod.optim._line_search import Point, strong_wolfe
from svod.optim._optimizer import MASTER, Optimizer, ParamGroup

__all__ = ["LBFGS"]

# Rows of the history that one run goes through.
_ROWS = 8
# A curvature that is too small to be remembered.
_FLAT = 1e-10

# What is remembered, by PyTorch's names.
_STATE = frozenset(
    {"func_evals", "n_iter", "d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss", "al"}
)


class LBFGS(Optimizer):
    """Newton's steps, with an inverse of the Hessian from the last `history_size` differences of gradients (Liu and
    Nocedal 1989; the two loops: Nocedal 1980).

    One `step` makes up to `max_iter` iterations, with at most `max_eval` calls (without it `1.25 * max_iter`) of a
    closure that clears the gradients, computes the loss, calls `backward` and gives the loss. It ends before where
    no element of the gradient is larger than `tolerance_grad`, and where loss or parameters change by less than
    `tolerance_change`. An iteration goes `lr` along its direction, or with `line_search_fn="strong_wolfe"` as far as
    the strong Wolfe conditions ask for. Whether to go on depends on losses: a step is no part of a traced function.

        y = g - g',  s = p - p',  ρ = 1 / yᵀs         (g', p' those before; none is remembered where yᵀs is tiny)
        q ← g;  α = ρ·sᵀq, q ← q - α·y                (from the last row of the history to the first)
        q ← yᵀs / yᵀy·q;  q ← q + (α - ρ·yᵀq)·s       (from the first row to the last)
        p ← p - lr·q

    >>> import svod
    >>> w = svod.Tensor([4.0, -2.0]).requires_grad_()
    >>> optimizer = svod.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 1) ** 2 * svod.Tensor([1.0, 10.0])).sum()
    ...     loss.backward()
    ...     return loss
    >>> loss = optimizer.step(closure)
    >>> loss.item(), w.round(decimals=3).tolist()
    (99.0, [1.0, 1.0])
    """

    _structural: ClassVar[frozenset[str]] = frozenset(
        {"max_iter", "max_eval", "tolerance_grad", "tolerance_change", "history_size", "line_search_fn"}
    )
    _clock: ClassVar[Mapping[str, float]] = {}

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if line_search_fn not in (None, "strong_wolfe"):
            raise ArgumentError(f'LBFGS: line_search_fn is "strong_wolfe" or None, not {line_search_fn!r}')
        for name, value, least in (("max_iter", max_iter, 1), ("history_size", history_size, 1)):
            if value < least:
                raise ArgumentError(f"LBFGS: {name}={value}: at least {least} is expected")
        # What PyTorch's state holds of the first parameter.
        self._known: dict[str, Any] = {"func_evals": 0, "n_iter": 0}
        super().__init__(
            params,
            lr=lr,
            max_iter=max_iter,
            max_eval=max_iter * 5 // 4 if max_eval is None else max_eval,
            tolerance_grad=tolerance_grad,
            tolerance_change=tolerance_change,
            history_size=history_size,
            line_search_fn=line_search_fn,
        )

    def _buffers(self, group: ParamGroup) -> Mapping[str, float]:
        return {}

    def _check(self, group: ParamGroup) -> None:
        if self.param_groups:
            raise ArgumentError("LBFGS: all parameters are of one group")

    @checked
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Writes the parameters anew, after calls of a closure that computes the loss and its gradients.

        Gives what the first call gave, the loss before the step.
        """
        if not callable(closure):
            raise ArgumentTypeError("LBFGS.step: closure: a function that computes the loss is expected")
        if _is_tracing():
            raise TraceError("LBFGS.step goes by the values of losses, which a traced function has not")
        with no_grad():
            self._follow()
            before = _Before(list(self._own()))
            known = {name: list(value) if isinstance(value, list) else value for name, value in self._known.items()}
            try:
                return self._iterate(closure)
            except BaseException:
                before.restore()
                self._known.clear()
                self._known.update(known)
                restore()
                raise

    def _iterate(self, closure: Callable[[], Any]) -> Any:
        """Iterations until something says that these are enough."""
        group, known = self.param_groups[0], self._known
        lr, most, calls = group["lr"], group["max_iter"], group["max_eval"]
        given, loss, gradient, largest = self._evaluated(closure)
        known["func_evals"] += 1
        if largest <= group["tolerance_grad"]:
            return given
        done, called = 0, 1
        while done < most:
            done += 1
            known["n_iter"] += 1
            direction = self._direction(gradient, group["history_size"])
            known["prev_flat_grad"], known["prev_loss"] = gradient, loss
            first = known["n_iter"] == 1
            t = (min(1.0, 1.0 / gradient.abs().sum().item()) if first else 1.0) * lr
            slope, reach = _read((gradient * direction).sum(), direction.abs().max())
            known["d"], known["t"] = direction, t
            if slope > -group["tolerance_change"]:
                break
            before, more = loss, 0
            if group["line_search_fn"] is not None:
                start = Point(0.0, loss, gradient, slope)
                found, more = self._searched(closure, direction, start, t, reach, calls - called)
                loss, gradient, t = found.loss, found.gradient, found.at
                known["t"] = t
                largest = gradient.abs().max().item()
            else:
                self._move(self._weights(), direction, t)
                if done != most:
                    _, loss, gradient, largest = self._evaluated(closure)
                    more = 1
            called += more
            known["func_evals"] += more
            if (
                called >= calls
                or largest <= group["tolerance_grad"]
                or reach * abs(t) <= group["tolerance_change"]
                or abs(loss - before) < group["tolerance_change"]
            ):
                break
        return given

    def _searched(
        self, closure: Callable[[], Any], direction: Tensor, start: Point, first: float, reach: float, most: int
    ) -> tuple[Point, int]:
        """A place in a direction, to which the parameters are moved, and how many calls that took."""
        weights = [weight.detach() for weight in self._weights()]

        def evaluate(at: float) -> Point:
            self._move(weights, direction, at)
            _, loss, gradient, _ = self._evaluated(closure)
            return Point(at, loss, gradient, (gradient * direction).sum().item())

        found, tried = strong_wolfe(evaluate, start, first, reach, most)
        self._move(weights, direction, found.at)
        return found, tried

    def _evaluated(self, closure: Callable[[], Any]) -> tuple[Any, float, Tensor, float]:
        """What a closure gives, as a number too, and the gradient of all parameters with its largest element."""
        with enable_grad():
            given = closure()
        self._check_left_behind(False)
        self._check_required()
        if not isinstance(given, (Tensor, float, int)):
            raise ArgumentTypeError(
                f"LBFGS.step: closure: its loss is a tensor or a number, not {type(given).__name__}"
            )
        gradient = self._flat(lambda p: p.detach().zeros_like() if p.grad is None else p.grad).detach()
        largest = gradient.abs().max()
        realize(gradient, largest, *([given] if isinstance(given, Tensor) else []), *pending())
        settled()
        return given, float(given), gradient, largest.item()

    def _direction(self, gradient: Tensor, history: int) -> Tensor:
        """Where to go, of the gradient and what is remembered of those before."""
        known = self._known
        if known["n_iter"] == 1:
            known.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
            return (-gradient).realize()
        y, s = gradient - known["prev_flat_grad"], known["d"] * _number(known["t"], gradient)
        realize(y, s)
        ys, yy = _read((y * s).sum(), (y * y).sum())
        rows = [known[name] for name in ("old_dirs", "old_stps", "ro")]
        if ys > _FLAT:
            for row, value in zip(rows, (y, s, _number(1.0 / ys, gradient)), strict=True):
                row.append(value)
                del row[:-history]
            known["H_diag"] = ys / yy
        past = list(zip(*rows, strict=True))
        q, shares = -gradient, []
        for block in _blocks(past[::-1]):
            made = []
            for y, s, ro in block:
                made.append((s * q).sum() * ro)
                q = q - made[-1] * y
            realize(q, *made)
            shares += made
        q = q * _number(known["H_diag"], gradient)
        for block in _blocks(list(zip(past, reversed(shares), strict=True))):
            for (y, s, ro), share in block:
                q = q + (share - (y * q).sum() * ro) * s
            realize(q)
        return q.realize()

    def _weights(self) -> list[Tensor]:
        """The parameters, those of 16 bits as they are in 32."""
        group = self.param_groups[0]
        return [state.get(MASTER, p) for p, state in zip(group.params, group._states, strict=True)]

    def _move(self, weights: list[Tensor], direction: Tensor, t: float) -> None:
        """Puts parameters at a distance from given weights."""
        group, by = self.param_groups[0], _number(t, direction)
        parts = direction.split([p.numel() for p in group.params])
        written: list[Tensor] = []
        for p, own, weight, part in zip(group.params, self._weights(), weights, parts, strict=True):
            written.append(own.assign(weight + (by * part).reshape(p.shape).cast(weight.dtype)))
            if own is not p:
                written.append(p.assign(own))
        realize(*written)

    def state_dict(self) -> dict[str, Any]:
        """What is remembered, as state of the first parameter, and the numbers of the group: as PyTorch's.

        Later steps do not change what is in it.
        """
        made = super().state_dict()
        made["state"][0].update(
            {name: list(value) if isinstance(value, list) else value for name, value in self._known.items()}
        )
        return made

    @checked
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes on the state of another `LBFGS`, svod's or PyTorch's, over parameters alike.

        Raises `svod.nn.StateError` where groups, parameters or shapes are others.
        """
        states = state_dict["state"]
        own = {at: {name: value for name, value in of.items() if name in _STATE - {"al"}} for at, of in states.items()}
        others = {at: {name: value for name, value in of.items() if name not in _STATE} for at, of in states.items()}
        super().load_state_dict({**state_dict, "state": others})
        given = own.get(state_dict["param_groups"][0]["params"][0], {})
        like = self._flat(lambda p: p.detach())

        def vector(name: str, value: Any) -> Tensor:
            made = value if isinstance(value, Tensor) else Tensor(value)
            if made.shape != like.shape:
                raise StateError(f"LBFGS: {name} has shape {tuple(made.shape)}, not {tuple(like.shape)}")
            return made.detach().to(device=str(like.device)).cast(like.dtype)

        def read(name: str, value: Any) -> Any:
            if name in ("func_evals", "n_iter"):
                return int(value)
            if name in ("t", "H_diag", "prev_loss"):
                return float(value)
            if name == "ro":
                return [_number(float(one), like) for one in value]
            return [vector(name, row) for row in value] if name.startswith("old_") else vector(name, value)

        self._known = {"func_evals": 0, "n_iter": 0, **{name: read(name, value) for name, value in given.items()}}

    def _flat(self, of: Callable[[Tensor], Tensor]) -> Tensor:
        """Something of each parameter, as one vector of the type that steps are computed in."""
        params = self.param_groups[0].params
        dtype = float64 if any(p.dtype == float64 for p in params) else float32
        return cat([of(p).reshape(-1).cast(dtype) for p in params])


def _blocks(rows: list[Any]) -> Iterator[list[Any]]:
    """Rows that one run goes through: one by one, then as many at a time as the others are."""
    alone = len(rows) % _ROWS
    yield from ([row] for row in rows[:alone])
    yield from (rows[at : at + _ROWS] for at in range(alone, len(rows), _ROWS))


def _read(*values: Tensor) -> list[float]:
    """Numbers that one run computes."""
    realize(*values)
    return [value.item() for value in values]


def _number(value: float, like: Tensor) -> Tensor:
    """A number that what is compiled has as an argument."""
    return Tensor(float(value), dtype=like.dtype).to(device=str(like.device)).realize()
