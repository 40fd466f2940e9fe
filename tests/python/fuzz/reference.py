"""What NumPy has no spelling for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fuzz.numbers import FLOATS, UNSIGNED, Array, rounded


def refuse() -> Array:
    raise ValueError("not defined")


def finite(x: Array) -> Array:
    return x if np.all(np.isfinite(x)) else refuse()


def product(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    """Of factors among which are zeros, and others whose product a narrow float does not hold, the order decides."""
    if x.dtype.kind == "f":
        largest = np.prod(np.maximum(np.abs(x), 1), axis)
        if np.any((largest > 6e4) & np.any(x == 0, axis)):
            refuse()
    return np.prod(x, axis, keepdims=keepdims)


def masked(x: Array, mask: Array) -> Array:
    """Of a mask of other extents NumPy takes some that select nothing."""
    return refuse() if x.shape != mask.shape else x[mask]


def softshrink(x: Array, by: float) -> Array:
    """Zeros have the sign of the operand."""
    return np.where(x > by, x - by, np.where(x < -by, x + by, finite(x) * 0))


def cast(x: Array, dtype: str) -> Array:
    """A float becomes an integer by truncation; what no integer of the type is near stays out of programs."""
    if x.dtype.kind == "f" and dtype not in FLOATS and dtype != "bool":
        bounds = np.iinfo(dtype)
        if not np.all(np.isfinite(x)) or np.any(x < bounds.min) or np.any(x > bounds.max / 2):
            refuse()
    return rounded(x, dtype)


def sign(x: Array) -> Array:
    return x if x.dtype == bool else np.sign(x)


def square(x: Array) -> Array:
    return x * x


def erf(x: Array) -> Array:
    return np.array([math.erf(v) for v in x.ravel()], np.float64).reshape(x.shape)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def gelu(x: Array) -> Array:
    return np.asarray(0.5 * not_far_below(x) * (1 + erf(x / np.sqrt(2))))


def not_far_below(x: Array) -> Array:
    """Where functions that are the difference of near numbers keep most of their digits."""
    return refuse() if np.any(x < -2.5) else x


def gelu_tanh(x: Array) -> Array:
    return np.asarray(0.5 * not_far_below(x) * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))


def floor_divide(x: Array, y: Any) -> Array:
    """Rounded towards minus infinity; an integer divided by zero is zero."""
    return np.floor_divide(x, y) if x.dtype.kind == "f" else np.asarray(np.floor_divide(x, y), x.dtype)


def remainder(x: Array, y: Any) -> Array:
    return np.asarray(np.remainder(x, y))


def power(x: Array, n: int) -> Array:
    result = np.ones_like(x)
    for _ in range(n):
        result = result * x
    return result


def shift_left(x: Array, y: Array) -> Array:
    return np.asarray(np.left_shift(x, shifts(x, y)))


def shift_right(x: Array, y: Array) -> Array:
    return np.asarray(np.right_shift(x, shifts(x, y)))


def shifts(x: Array, y: Array) -> Array:
    """Shifts by fewer bits than there are: others mean something else in each library."""
    return refuse() if np.any(y < 0) or np.any(y >= 8 * x.dtype.itemsize) else y


def logsumexp(x: Array, axis: Any, keepdims: bool) -> Array:
    top = np.max(x, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    total = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return total if keepdims else np.squeeze(total, axis) if axis is not None else total.reshape(())


def softmax(x: Array, axis: int) -> Array:
    powers = np.exp(x - np.max(x, axis, keepdims=True))
    return np.asarray(powers / np.sum(powers, axis, keepdims=True))


def log_softmax(x: Array, axis: int) -> Array:
    """Of probabilities near 1 only the difference from 1 would be left, and nobody computes that."""
    below = x - np.max(x, axis, keepdims=True)
    result = np.asarray(below - np.log(np.sum(np.exp(below), axis, keepdims=True)))
    return refuse() if np.any((result > -1e-2) & (result != 0)) else result


def normalize(x: Array, axis: int) -> Array:
    return x / np.maximum(np.sqrt(np.sum(x * x, axis, keepdims=True)), 1e-12)


def topk(x: Array, k: int, axis: int, largest: bool) -> Array:
    ordered = np.flip(np.sort(x, axis), axis) if largest else np.sort(x, axis)
    return np.take(ordered, np.arange(k), axis)


def median(x: Array, axis: int, keepdims: bool) -> Array:
    """The lower one of two in the middle; NaN where there is one."""
    found = np.take(np.sort(x, axis), [(x.shape[axis] - 1) // 2], axis)
    found = np.where(np.isnan(x).any(axis, keepdims=True), np.nan, found)
    return found if keepdims else np.squeeze(found, axis)


def split(x: Array, size: int, axis: int) -> list[Array]:
    return np.split(x, range(size, x.shape[axis], size), axis)


def unfold(x: Array, axis: int, size: int, step: int) -> Array:
    at = axis % x.ndim
    windows = np.lib.stride_tricks.sliding_window_view(x, size, at)
    return np.take(windows, np.arange(0, windows.shape[at], step), at)


def unflatten(x: Array, axis: int, sizes: tuple[int, ...]) -> Array:
    at = axis % x.ndim
    return x.reshape(x.shape[:at] + sizes + x.shape[at + 1 :])


__all__ = ["UNSIGNED", "cast"]


def scattered(x: Array, index: Array, source: Array, axis: int, function: Any = None) -> Array:
    """Elements at positions along an axis: the last one in row-major order stays, or all are combined."""
    places = list(np.indices(index.shape))
    places[axis] = index
    if any(i.size and i.max() >= extent for i, extent in zip(places, x.shape)):
        refuse()
    result = x.copy()
    if function is None:
        for place in np.ndindex(*index.shape):
            result[tuple(int(i[place]) for i in places)] = source[place]
    else:
        function.at(result, tuple(places), source)
    return result


def indexed(x: Array, index: Array, source: Array, axis: int, function: Any = None) -> Array:
    """The same of whole slices."""
    shape = [1] * x.ndim
    shape[axis] = -1
    return scattered(x, np.broadcast_to(index.reshape(shape), source.shape), source, axis, function)


def _windows(x: Array, kernel: Any, stride: Any, dilation: Any) -> Array:
    """`[.., places.., elements of a window..]` over the last axes."""
    n = len(kernel)
    axes = tuple(range(x.ndim - n, x.ndim))
    sizes = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    windows = np.lib.stride_tricks.sliding_window_view(x, sizes, axes)
    places = [slice(None, None, s) for s in stride]
    return np.asarray(windows[(..., *places, *(slice(None, None, d) for d in dilation))])


def _padded(x: Array, padding: Any, value: float = 0.0) -> Array:
    widths = [(0, 0)] * (x.ndim - len(padding)) + [(p, p) for p in padding]
    return np.pad(x, widths, constant_values=value)


def conv(x: Array, w: Array, b: Array, stride: Any, padding: Any, dilation: Any, groups: int) -> Array:
    n = x.ndim - 2
    windows = _windows(_padded(x, padding), w.shape[2:], stride, dilation)
    out = windows.shape[2 : 2 + n]
    if 0 in out:
        refuse()
    windows = np.moveaxis(windows, 1, 1 + n).reshape(x.shape[0], math.prod(out), groups, -1)
    result = np.einsum("npgk,gok->ngop", windows, w.reshape(groups, w.shape[0] // groups, -1))
    return result.reshape(x.shape[0], w.shape[0], *out) + channel(b, x)


def conv_transpose(
    x: Array, w: Array, b: Array, stride: Any, padding: Any, more: Any, groups: int, dilation: Any
) -> Array:
    kernel = w.shape[2:]
    sizes = [(e - 1) * s + d * (k - 1) + 1 + o for e, s, d, k, o in zip(x.shape[2:], stride, dilation, kernel, more)]
    parts = x.reshape(x.shape[0], groups, -1, *x.shape[2:])
    weights = w.reshape(groups, -1, *w.shape[1:])
    full = np.zeros((x.shape[0], groups, w.shape[1], *sizes))
    for k in np.ndindex(*kernel):
        places = tuple(slice(i * d, i * d + (e - 1) * s + 1, s) for i, d, e, s in zip(k, dilation, x.shape[2:], stride))
        full[(..., *places)] += np.einsum("ngi...,gio->ngo...", parts, weights[(..., *k)])
    cut = tuple(slice(p, size - p) for p, size in zip(padding, sizes))
    result = full.reshape(x.shape[0], groups * w.shape[1], *sizes)[(..., *cut)]
    return refuse() if 0 in result.shape else result + channel(b, x)


def max_pool(x: Array, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Array:
    windows = _windows(_padded(x, padding, -np.inf), kernel, stride, dilation)
    return refuse() if 0 in windows.shape else np.asarray(windows.max(tuple(range(-len(kernel), 0))))


def avg_pool(x: Array, kernel: Any, stride: Any, padding: Any, counted: bool) -> Array:
    axes, ones = tuple(range(-len(kernel), 0)), (1,) * len(kernel)
    windows = _windows(_padded(x, padding), kernel, stride, ones)
    if 0 in windows.shape:
        refuse()
    count = _windows(_padded(np.ones_like(x), padding), kernel, stride, ones)
    return np.asarray(windows.mean(axes) if counted else windows.sum(axes) / count.sum(axes))


def adaptive_avg_pool(x: Array, size: Any) -> Array:
    for axis, parts in zip(range(x.ndim - len(size), x.ndim), size):
        extent = x.shape[axis]
        bounds = [(i * extent // parts, -(-(i + 1) * extent // parts)) for i in range(parts)]
        x = np.stack([np.take(x, np.arange(*b), axis).mean(axis) for b in bounds], axis)
    return x


def im2col(x: Array, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Array:
    windows = _windows(_padded(x, padding), kernel, stride, dilation)
    if 0 in windows.shape:
        refuse()
    n = len(kernel)
    places = math.prod(windows.shape[2 : 2 + n])
    order = (0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n))
    return windows.transpose(order).reshape(x.shape[0], -1, places)


def channel(v: Array, x: Array) -> Array:
    """A number for each channel, broadcast over pictures."""
    return v.reshape(-1, *(1,) * (x.ndim - 2))


def by_channel(x: Array, scale: Array, shift: Array) -> Array:
    return x * channel(scale, x) + channel(shift, x)


def standard(x: Array, axes: tuple[int, ...]) -> Array:
    """Mean 0 and variance 1 over some axes."""
    return np.asarray((x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5))


def group_norm(x: Array, groups: int) -> Array:
    return standard(x.reshape(x.shape[0], groups, -1), (-1,)).reshape(x.shape)


def attention(q: Array, k: Array, v: Array, bias: Any = 0.0) -> Array:
    return np.asarray(softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]) + bias, -1) @ v)


def causal(q: Array, k: Array) -> Array:
    return np.where(np.tri(q.shape[-2], k.shape[-2], dtype=bool), 0.0, -np.inf)


def mean_pool(x: Array, mask: Array) -> Array:
    weight = mask[..., None].astype(np.float64)
    return (x * weight).sum(1) / np.maximum(weight.sum(1), 1e-9)


def assigned(x: Array, value: Array) -> Array:
    return value if x.shape == value.shape and x.ndim else refuse()


def far_from_zero(x: Array, limit: float = 0.3) -> Array:
    """Where a sign is sure, and differences from functions that begin alike keep their digits."""
    return refuse() if np.any(np.abs(x) < limit) else x


def glu(x: Array, axis: int) -> Array:
    one, other = np.split(x, 2, axis)
    return one * sigmoid(other)


def reduced(losses: Array, reduction: str) -> Array:
    return {"mean": np.mean, "sum": np.sum, "none": np.asarray}[reduction](losses)  # type: ignore[operator]


def huber(x: Array, delta: float) -> Array:
    far = np.abs(x)
    return np.where(far <= delta, far * far / 2, delta * (far - delta / 2))


def at_labels(logs: Array, labels: Array) -> Array:
    return np.take_along_axis(logs, np.expand_dims(labels, 1), 1).squeeze(1)


def cosine(x: Array, y: Array) -> Array:
    norms = np.sqrt(np.sum(x * x, -1) * np.sum(y * y, -1))
    return refuse() if np.any(norms < 1e-3) else np.asarray(np.sum(x * y, -1) / norms)


def cosine_losses(x: Array, y: Array, target: Array) -> Array:
    return np.where(target > 0, 1 - cosine(x, y), np.maximum(cosine(x, y), 0))


def distance(x: Array, y: Array) -> Array:
    return np.asarray(np.sqrt(np.sum((x - y + 1e-6) ** 2, -1)))
