"""What training does with gradients, with parameters as one vector, and with sequences of different lengths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite

from svod._arguments import checked
from svod._grad import no_grad
from svod._svod import ArgumentError, ShapeError, Tensor, cat, full, stack

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "pad_sequence",
    "parameters_to_vector",
    "vector_to_parameters",
]


@checked
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales the gradients of parameters so that the norm of all together is at most `max_norm`; gives what it was.

    Pascanu, Mikolov and Bengio 2013. With `error_if_nonfinite` the norm is computed now, and `svod.ArgumentError`
    raised where it is no number: gradients are as they were then. `foreach` changes nothing.

    >>> import svod
    >>> w = svod.Tensor([3.0, 4.0]).requires_grad_()
    >>> (w * w).sum().backward()
    >>> svod.nn.utils.clip_grad_norm_([w], 5.0).item()
    10.0
    >>> w.grad.round().tolist()
    [3.0, 4.0]
    """
    given = _several(parameters)
    total = _total("clip_grad_norm_: the {}-norm of the gradients", _gradients(given), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(given, max_norm, total)
    return total


@checked
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of the elements of all tensors together; `foreach` changes nothing.

    >>> import svod
    >>> svod.nn.utils.get_total_norm([svod.Tensor([2.0, 3.0]), svod.Tensor(6.0)]).item()
    7.0
    """
    return _total("get_total_norm: the {}-norm of the tensors", _several(tensors), norm_type, error_if_nonfinite)


@checked
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scales the gradients of parameters by `max_norm / total_norm`, where that is less than 1.

    >>> import svod
    >>> w = svod.Tensor([0.0]).requires_grad_()
    >>> w.grad = svod.Tensor([4.0])
    >>> svod.nn.utils.clip_grads_with_norm_(w, 1.0, svod.Tensor(2.0))
    >>> w.grad.round().tolist()
    [2.0]
    """
    scale = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
    for parameter in _several(parameters):
        if (gradient := parameter.grad) is not None:
            parameter.grad = gradient * scale.cast(gradient.dtype)


@checked
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Puts each element of the gradients of parameters between `-clip_value` and `clip_value`."""
    for parameter in _several(parameters):
        if parameter.grad is not None:
            parameter.grad = parameter.grad.clamp(-clip_value, clip_value)


@checked
def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of parameters one after the other, as one vector; derivatives pass through.

    >>> import svod
    >>> svod.nn.utils.parameters_to_vector([svod.Tensor([[1.0], [2.0]]), svod.Tensor(3.0)]).tolist()
    [1.0, 2.0, 3.0]
    """
    parts = [parameter.reshape(-1) for parameter in parameters]
    if not parts:
        raise ArgumentError("parameters_to_vector: no parameters")
    return cat(parts)


@checked
def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Assigns the elements of a vector to parameters, in the order of `parameters_to_vector`, in each one's type.

    Raises `svod.ShapeError`, before anything is assigned, where there are more or fewer.

    >>> import svod
    >>> w, b = svod.zeros(2, 1), svod.zeros(())
    >>> svod.nn.utils.vector_to_parameters(svod.Tensor([1.0, 2.0, 3.0]), [w, b])
    >>> w.tolist(), b.item()
    ([[1.0], [2.0]], 3.0)
    """
    given = _several(parameters)
    sizes = [parameter.numel() for parameter in given]
    if tuple(vec.shape) != (sum(sizes),):
        raise ShapeError(
            f"vector_to_parameters: {sum(sizes)} elements in a vector are expected, not {tuple(vec.shape)}"
        )
    with no_grad():
        for parameter, part in zip(given, vec.split(sizes), strict=True):
            parameter.assign(part.reshape(parameter.shape).cast(parameter.dtype))


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


def _total(what: str, tensors: Sequence[Tensor], norm_type: float, error_if_nonfinite: bool) -> Tensor:
    """The norm of all elements of tensors; an error where that is asked for, and it is no number."""
    if not tensors:
        return Tensor(0.0)
    total = stack([tensor.flatten().norm(norm_type) for tensor in tensors]).norm(norm_type)
    if error_if_nonfinite and not isfinite(total.item()):
        raise ArgumentError(f"{what.format(norm_type)} is {total.item()}")
    return total


def _gradients(parameters: Iterable[Tensor]) -> list[Tensor]:
    return [gradient for parameter in parameters if (gradient := parameter.grad) is not None]


def _several(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)
