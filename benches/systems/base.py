"""What a system of the comparison is: how it runs a program, and how it spells each operation.

A program is a function `program(ops, *inputs, *weights)` of one `Ops` and the system's own
tensors, and gives a tensor or a tuple of them. Arithmetic, `@`, indexing and comparison are the
tensors' own operators; everything else is asked of `ops`, where each system uses what its own
documentation recommends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Program = Callable[..., Any]


class Unsupported(Exception):
    """A system cannot express a case; the text says what is missing."""


@dataclass(frozen=True)
class Job:
    """A program with its operands. Inputs are given at each call; weights never change.

    Operands are arrays, or what the system's `place` made of them on `device`. `name` is the case's, for systems that
    have a kernel by hand for some.
    """

    program: Program
    inputs: Sequence[Any]
    weights: Sequence[Any]
    threads: int
    device: str = "CPU"
    name: str = ""


@dataclass(frozen=True)
class Ready:
    """A job set up: `call` runs it to the end, `fetch` makes arrays of what `call` gave.

    On a GPU `call` may return before the end, which a system's `wait` waits for; where it must not, `start` does.
    """

    call: Callable[[], Any]
    fetch: Callable[[Any], list[Array]]
    start: Callable[[], Any] | None = None


def as_tuple(result: Any) -> tuple[Any, ...]:
    """The tensors that a program gave."""
    return tuple(result) if isinstance(result, tuple | list) else (result,)


class Ops:
    """The operations that programs use, and their meaning; all are missing until a system has them."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(Spelling, name):
            raise AttributeError(name)
        raise Unsupported(f"it has no {name}")

    def adam(self, parameters: Any, gradients: Any, means: Any, squares: Any, rate: float) -> Any:
        """New parameters, means and squares of Adam's first step; lists of tensors all."""
        beta1, beta2, eps = 0.9, 0.999, 1e-8
        updated = []
        for p, g, m, v in zip(parameters, gradients, means, squares, strict=True):
            m = m * beta1 + g * (1 - beta1)
            v = v * beta2 + g * g * (1 - beta2)
            step = (m * (rate / (1 - beta1))) / (self.sqrt(v * (1 / (1 - beta2))) + eps)
            updated.append((p - step, m, v))
        return tuple(tensor for kind in zip(*updated, strict=True) for tensor in kind)


class Methods(Ops):
    """For tensors that have these operations as methods, as NumPy's arrays do."""

    def reshape(self, x: Any, shape: Any) -> Any:
        return x.reshape(shape)

    def every_other(self, x: Any) -> Any:
        return x[:, ::2]

    def sum(self, x: Any, axis: int | None = None) -> Any:
        return x.sum(axis)

    def max(self, x: Any, axis: int) -> Any:
        return x.max(axis=axis)

    def argmax(self, x: Any, axis: int) -> Any:
        return x.argmax(axis)

    def cumsum(self, x: Any, axis: int) -> Any:
        return x.cumsum(axis)


class Spelling:
    """The vocabulary: signature and meaning of each operation; `axis=None` is all axes."""

    def to_f32(self, x: Any) -> Any:
        """Integers as f32."""

    def gradients(self, loss: Callable[..., Any], tensors: Sequence[Any]) -> Any:
        """The gradients of a function of these tensors by each of them."""

    def reshape(self, x: Any, shape: Sequence[int]) -> Any:
        """The same elements under other extents."""

    def permute(self, x: Any, axes: Sequence[int]) -> Any:
        """Axes reordered; a view where the system has views."""

    def permute_copy(self, x: Any, axes: Sequence[int]) -> Any:
        """Axes reordered, as a dense result."""

    def transpose(self, x: Any) -> Any:
        """The last two axes exchanged."""

    def concat(self, tensors: Sequence[Any], axis: int) -> Any:
        """Tensors one after the other."""

    def every_other(self, x: Any) -> Any:
        """Columns 0, 2, 4 … of a matrix."""

    def copy(self, x: Any) -> Any:
        """The same elements elsewhere in memory."""

    def sum(self, x: Any, axis: int | None = None) -> Any:
        """Sum over an axis."""

    def max(self, x: Any, axis: int) -> Any:
        """Maximum over an axis."""

    def argmax(self, x: Any, axis: int) -> Any:
        """Position of the first maximum of an axis."""

    def mean_var(self, x: Any, axis: int | None = None) -> Any:
        """Mean, and variance without Bessel's correction."""

    def cumsum(self, x: Any, axis: int) -> Any:
        """Sums of all elements up to each."""

    def sqrt(self, x: Any) -> Any:
        """Square root."""

    def relu(self, x: Any) -> Any:
        """max(x, 0)."""

    def gelu(self, x: Any) -> Any:
        """GELU with the exact error function."""

    def softmax(self, x: Any, axis: int) -> Any:
        """exp(x) scaled to sum 1 along an axis."""

    def nll(self, logits: Any, labels: Any) -> Any:
        """Mean of -log_softmax(logits)[i, labels[i]]."""

    def layer_norm(self, x: Any, weight: Any, bias: Any, eps: float) -> Any:
        """Rows of mean 0 and variance 1, times weight plus bias."""

    def rms_norm(self, x: Any, weight: Any, eps: float) -> Any:
        """Rows of mean square 1, times weight."""

    def group_norm(self, x: Any, groups: int, weight: Any, bias: Any, eps: float) -> Any:
        """Groups of channels of mean 0 and variance 1, times weight plus bias by channel; x is NCHW."""

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        """x · weightᵀ + bias; weight is [out, in]."""

    def attention(self, query: Any, key: Any, value: Any, bias: Any = None, causal: bool = False) -> Any:
        """softmax(q · kᵀ / √size + bias) · v over [batch, heads, length, size]."""

    def conv2d(self, x: Any, weight: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
        """Cross-correlation of NCHW with OIHW."""

    def take(self, table: Any, ids: Any) -> Any:
        """Rows of a table."""

    def scatter_add(self, size: int, ids: Any, values: Any) -> Any:
        """`size` sums, value i added to that of ids[i]."""

    def sort(self, x: Any) -> Any:
        """A vector in ascending order."""

    def named(self, name: str) -> Any:
        """A function of the family `library`; see `systems.spelled`."""

    def topk(self, x: Any, k: int) -> Any:
        """The k largest elements of a vector, largest first."""
