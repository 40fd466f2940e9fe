"""What training does with gradients before a step, and with sequences of different lengths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite

from svod._arguments import checked
from svod._svod import ArgumentError, ShapeError, Tensor, cat, full, stack

__all__ = ["clip_grad_norm_", "clip_grad_value_", "pad_sequence"]


@checked
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scales the gradients of parameters so that the norm of all together is at most `max_norm`; gives what it was.

    Pascanu, Mikolov and Bengio 2013. With `error_if_nonfinite` the norm is computed now, and `svod.ArgumentError`
    raised where it is no number.

    >>> import svod
    >>> w = svod.Tensor([3.0, 4.0]).requires_grad_()
    >>> (w * w).sum().backward()
    >>> svod.nn.utils.clip_grad_norm_([w], 5.0).item()
    10.0
    >>> w.grad.round().tolist()
    [3.0, 4.0]
    """
    found = [(parameter, parameter.grad) for parameter in _several(parameters)]
    graded = [(parameter, gradient) for parameter, gradient in found if gradient is not None]
    if not graded:
        return Tensor(0.0)
    each = stack([gradient.flatten().norm(norm_type) for _, gradient in graded])
    total = each.norm(norm_type)
    if error_if_nonfinite and not isfinite(total.item()):
        raise ArgumentError(f"clip_grad_norm_: the {norm_type}-norm of the gradients is {total.item()}")
    scale = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for parameter, gradient in graded:
        parameter.grad = gradient * scale.cast(gradient.dtype)
    return total


@checked
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Puts each element of the gradients of parameters between `-clip_value` and `clip_value`."""
    for parameter in _several(parameters):
        if parameter.grad is not None:
            parameter.grad = parameter.grad.clamp(-clip_value, clip_value)


@checked
def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences of different lengths side by side, the shorter ones with `padding_value` behind them, or before them on
    the `"left"`: of shape `(length, batch, ...)`, with `batch_first` of `(batch, length, ...)`.

    >>> import svod
    >>> svod.nn.utils.pad_sequence([svod.Tensor([1, 2]), svod.Tensor([3])], batch_first=True).tolist()
    [[1, 2], [3, 0]]
    """
    if padding_side not in ("right", "left"):
        raise ArgumentError(f"pad_sequence: padding_side is 'right' or 'left', not {padding_side!r}")
    if not len(sequences):
        raise ArgumentError("pad_sequence: at least one sequence is expected")
    rest = sequences[0].shape[1:]
    if any(one.ndim == 0 or one.shape[1:] != rest for one in sequences):
        shapes = [tuple(one.shape) for one in sequences]
        raise ShapeError(f"pad_sequence: shapes that differ in their first extent are expected, not {shapes}")
    longest = max(one.shape[0] for one in sequences)
    rows = []
    for one in sequences:
        more = full((longest - one.shape[0], *rest), padding_value, dtype=one.dtype)
        rows.append(cat([one, more] if padding_side == "right" else [more, one], 0))
    return stack(rows, 0 if batch_first else 1)


def _several(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)
