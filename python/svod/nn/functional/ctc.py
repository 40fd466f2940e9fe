"""Connectionist temporal classification."""

from __future__ import annotations

from collections.abc import Sequence

from svod._arguments import checked
from svod._place import device_of, made_beside
from svod._svod import ArgumentError, ShapeError, Tensor, arange, cat, where, zeros

__all__ = ["ctc_loss"]

# The logarithm of what is impossible: finite, so that derivatives are.
_NEVER = -1e30


@checked
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The negative logarithm of the probability of all ways to read `targets` from a longer sequence (Graves 2006).

    A way gives each step a class, the same several times or `blank` between. `log_probs` is `(length, batch, classes)`,
    or lacks the batch; `targets` `(batch, labels)`. Behind `input_lengths` and `target_lengths` nothing counts. The
    mean is of losses divided by the number of labels. What cannot be read is infinite, or with `zero_infinity` 0.
    """
    if log_probs.ndim == 2:
        log_probs, targets = log_probs.unsqueeze(1), targets.unsqueeze(0)
        loss = ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)
        return loss.squeeze(0) if reduction == "none" else loss
    steps, batch, _ = log_probs.shape
    if targets.ndim != 2 or targets.shape[0] != batch:
        raise ShapeError(f"ctc_loss: targets of shape {tuple(targets.shape)} for a batch of {batch}")
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError(f'ctc_loss: reduction is "mean", "sum" or "none", not {reduction!r}')
    lengths, labels = (_lengths(given, batch, log_probs) for given in (input_lengths, target_lengths))
    places = 2 * targets.shape[1] + 1
    # A blank before, between and behind labels.
    read = zeros((batch, places), dtype=targets.dtype) + blank
    read[:, 1::2] = targets
    # A blank may be left out between different labels.
    before = cat([zeros((batch, 2), dtype=read.dtype) + blank, read[:, : places - 2]], 1)[:, :places]
    may_skip = (read != blank) & (read != before)
    at_place = log_probs.gather(2, read.unsqueeze(0).expand(steps, batch, places))
    reached = where(arange(places) < 2, at_place[0], _NEVER)
    for step in range(1, steps):
        one, two = (reached.pad([(0, 0), (back, 0)], _NEVER)[:, :places] for back in (1, 2))
        ways = _sum([reached, one, where(may_skip, two, _NEVER)]) + at_place[step]
        reached = where((lengths > step).unsqueeze(1), ways, reached)
    last = (2 * labels).unsqueeze(1)
    ends = [reached.gather(1, last), where(last > 0, reached.gather(1, (last - 1).maximum(0)), _NEVER)]
    losses = -_sum(ends).squeeze(1)
    losses = where(losses > -_NEVER / 2, 0.0 if zero_infinity else float("inf"), losses)
    if reduction == "mean":
        return (losses / labels.maximum(1)).mean()
    return losses.sum() if reduction == "sum" else losses


def _sum(logs: list[Tensor]) -> Tensor:
    """The logarithm of a sum."""
    most = logs[0]
    for log in logs[1:]:
        most = most.maximum(log)
    most = most.detach()
    total = (logs[0] - most).exp()
    for log in logs[1:]:
        total = total + (log - most).exp()
    return most + total.log()


def _lengths(given: Tensor | Sequence[int], batch: int, log_probs: Tensor) -> Tensor:
    place = device_of(log_probs)
    lengths = given if isinstance(given, Tensor) else made_beside(log_probs, given)
    lengths = lengths if place is None else lengths.to(place)
    lengths = lengths.reshape(1) if lengths.ndim == 0 else lengths
    if tuple(lengths.shape) != (batch,):
        raise ShapeError(f"ctc_loss: lengths of shape {tuple(lengths.shape)} for a batch of {batch}")
    return lengths
