"""Recurrent layers: a cell, and layers of cells over sequences.

A layer multiplies all of a sequence by the input's weights at once; its steps, which are part of one graph, multiply
the state. Parameters have PyTorch's names and shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any, ClassVar

from svod._module import Module, check_layers
from svod._svod import ArgumentError, ArgumentTypeError, ShapeError, Tensor, cat, rand, stack, where, zeros
from svod.nn import functional as F
from svod.nn._drawn import redraw

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"]

# A state: of an LSTM hidden and cell, else the hidden one.
_State = tuple[Tensor, ...]


def _tanh_step(x: Tensor, h: Tensor, state: _State) -> _State:
    return ((x + h).tanh(),)


def _relu_step(x: Tensor, h: Tensor, state: _State) -> _State:
    return ((x + h).relu(),)


def _lstm_step(x: Tensor, h: Tensor, state: _State) -> _State:
    i, f, g, o = (x + h).chunk(4, -1)
    cell = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def _gru_step(x: Tensor, h: Tensor, state: _State) -> _State:
    (of_r, of_z, of_n), (hr, hz, hn) = x.chunk(3, -1), h.chunk(3, -1)
    r, z = (of_r + hr).sigmoid(), (of_z + hz).sigmoid()
    n = (of_n + r * hn).tanh()
    return (n + z * (state[0] - n),)


class _Recurrent(Module):
    """What cells and layers share: how many gates there are, and how a step goes from gates to a state."""

    gates: ClassVar[int]
    states: ClassVar[int] = 1
    _step: Callable[[Tensor, Tensor, _State], _State]

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return (rand(shape) * 2 - 1) * (1 / sqrt(self.hidden_size))

    def reset_parameters(self) -> None:
        """Draws the parameters anew, as those of a new layer; they stay the tensors that they are."""
        redraw(self, 1 / sqrt(self.hidden_size))

    hidden_size: int

    def _nonlinear(self, nonlinearity: str) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ArgumentError(f'{type(self).__name__}: nonlinearity is "tanh" or "relu", not {nonlinearity!r}')
        self.nonlinearity = nonlinearity
        self._step = _tanh_step if nonlinearity == "tanh" else _relu_step

    def _given(self, state: Any) -> _State:
        """A state as a tuple of its tensors."""
        given = tuple(state) if isinstance(state, (tuple, list)) else (state,)
        if len(given) != self.states:
            raise ArgumentError(f"{type(self).__name__}: a state of {self.states} tensors, not of {len(given)}")
        return given

    def _shown(self, state: _State) -> Any:
        return state if self.states > 1 else state[0]


class _Cell(_Recurrent):
    """One step: from `(batch, input_size)` and a state `(batch, hidden_size)` to the next state."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        self.input_size, self.hidden_size = input_size, hidden_size
        rows = self.gates * hidden_size
        self.weight_ih = self._draw((rows, input_size))
        self.weight_hh = self._draw((rows, hidden_size))
        self.bias_ih = self._draw((rows,)) if bias else None
        self.bias_hh = self._draw((rows,)) if bias else None

    def forward(self, x: Tensor, state: Any = None) -> Any:
        """The next state, of `x` `(batch, input_size)` and a state of `(batch, hidden_size)`, by default zeros.

        A state of an `LSTMCell` is a pair of these. Both may be without a batch.
        """
        if state is None:
            state = [zeros((*x.shape[:-1], self.hidden_size), dtype=x.dtype)] * self.states
        given = self._given(state)
        of_input = x.linear(self.weight_ih, self.bias_ih)
        return self._shown(self._step(of_input, given[0].linear(self.weight_hh, self.bias_hh), given))

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}"


class RNNCell(_Cell):
    """`tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh)` (Elman 1990), or `relu` of it."""

    gates = 1

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh") -> None:
        super().__init__(input_size, hidden_size, bias)
        self._nonlinear(nonlinearity)


class LSTMCell(_Cell):
    """A step of `LSTM`: a state is a pair, hidden and cell."""

    gates, states = 4, 2
    _step = staticmethod(_lstm_step)


class GRUCell(_Cell):
    """A step of `GRU`."""

    gates = 3
    _step = staticmethod(_gru_step)


class _Layers(_Recurrent):
    """Layers of cells, each over the sequence that the one before gives; `bidirectional` ones also from its end.

    In training elements between layers are dropped with probability `dropout`. Shapes are those of `forward`.
    """

    # Of the hidden state, where that is projected; also of layers that were pickled without.
    proj_size: int = 0

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
    ) -> None:
        check_layers(type(self).__name__, "num_layers", num_layers)
        if proj_size and self.states == 1:
            raise ArgumentError(f"{type(self).__name__}: proj_size={proj_size}: only nn.LSTM projects its results")
        if not 0 <= proj_size < hidden_size:
            raise ArgumentError(f"{type(self).__name__}: proj_size: from 0 to below {hidden_size}, not {proj_size}")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, dropout, bidirectional
        self.proj_size = proj_size
        rows, directions, given = self.gates * hidden_size, 1 + bidirectional, proj_size or hidden_size
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else given * directions
            for suffix in self._suffixes(layer):
                setattr(self, f"weight_ih{suffix}", self._draw((rows, inputs)))
                setattr(self, f"weight_hh{suffix}", self._draw((rows, given)))
                if bias:
                    setattr(self, f"bias_ih{suffix}", self._draw((rows,)))
                    setattr(self, f"bias_hh{suffix}", self._draw((rows,)))
                if proj_size:
                    setattr(self, f"weight_hr{suffix}", self._draw((proj_size, hidden_size)))

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", f"_l{layer}_reverse"][: 1 + self.bidirectional]

    def forward(
        self, x: Tensor, state: Any = None, lengths: Tensor | Sequence[int] | None = None
    ) -> tuple[Tensor, Any]:
        """The results of the last layer at each step, and the last states of all layers.

        `x` is `(length, batch, input_size)`, with `batch_first` `(batch, length, input_size)`, or without a batch
        `(length, input_size)`. Results have `directions * hidden_size` in place of `input_size`, with `proj_size`
        `directions * proj_size`; `directions` is 2 where the layer is bidirectional, else 1.

        `state` is what the layers begin with, by default zeros: of shape `(num_layers * directions, batch,
        hidden_size)`, without a batch `(num_layers * directions, hidden_size)`; of an `LSTM` a pair of these, of which
        the first, with `proj_size`, has that in place of `hidden_size`. The last states have the same shapes.
        `lengths` are those of the sequences of a batch, integers `(batch,)`: behind them results are 0, states stay.

        Raises `ShapeError` for other shapes, and for sequences of no step.
        """
        name, has_batch = type(self).__name__, x.ndim == 3
        if x.ndim not in (2, 3) or x.shape[-1] != self.input_size:
            raise ShapeError(f"{name}: sequences of {self.input_size} features are expected, not {tuple(x.shape)}")
        axis = 1 if has_batch and self.batch_first else 0
        steps = int(x.shape[axis])
        if steps == 0:
            raise ShapeError(f"{name}: sequences of at least one step are expected, not {tuple(x.shape)}")
        items = tuple(extent for at, extent in enumerate(x.shape[:-1]) if at != axis)
        count = self.num_layers * (1 + self.bidirectional)
        widths = [self.proj_size or self.hidden_size, self.hidden_size][: self.states]
        if state is None:
            state = [zeros((count, *items, width), dtype=x.dtype) for width in widths]
        first = self._given(state)
        for tensor, width in zip(first, widths, strict=True):
            if tuple(tensor.shape) != (count, *items, width):
                raise ShapeError(f"{name}: a state of shape {tuple(tensor.shape)}, not {(count, *items, width)}")
        inside = None
        if lengths is not None:
            given = self._checked_lengths(lengths, steps, items)
            inside = [(given > at).unsqueeze(-1) for at in range(steps)]
        last: list[_State] = []
        for layer in range(self.num_layers):
            along: list[Tensor] = []
            for direction, suffix in enumerate(self._suffixes(layer)):
                start = tuple(tensor[len(last)] for tensor in first)
                results, end = self._over(x, axis, steps, start, suffix, direction == 1, inside)
                along.append(stack(results, axis))
                last.append(end)
            x = along[0] if len(along) == 1 else cat(along, -1)
            if layer + 1 < self.num_layers:
                x = F.dropout(x, self.dropout, self.training)
        return x, self._shown(tuple(stack(list(states)) for states in zip(*last, strict=True)))

    def _checked_lengths(self, lengths: Any, steps: int, items: tuple[Any, ...]) -> Tensor:
        """The lengths of the sequences of a batch, which are looked at where they are numbers."""
        name = type(self).__name__
        numbers = [] if isinstance(lengths, Tensor) else list(lengths)
        given = lengths if isinstance(lengths, Tensor) else Tensor(numbers)
        if (given.dtype.is_floating_point or given.dtype.is_complex) and 0 not in given.shape:
            raise ArgumentTypeError(f"{name}: lengths: integers are expected, not {given.dtype}")
        if len(given.shape) != len(items) or any(
            isinstance(extent, int) and isinstance(rows, int) and extent != rows
            for extent, rows in zip(given.shape, items, strict=True)
        ):
            raise ShapeError(f"{name}: lengths: one for each of a batch {items}, not of shape {tuple(given.shape)}")
        for length in numbers:
            if not isinstance(length, Tensor) and not 0 <= length <= steps:
                raise ArgumentError(f"{name}: lengths: from 0 to {steps} steps, not {length}")
        return given

    def _over(
        self, x: Tensor, axis: int, steps: int, state: _State, suffix: str, back: bool, inside: list[Tensor] | None
    ) -> tuple[list[Tensor], _State]:
        """A cell's results at each step of a sequence, and its last state."""
        of_input = x.linear(getattr(self, f"weight_ih{suffix}"), getattr(self, f"bias_ih{suffix}", None))
        weight, bias = getattr(self, f"weight_hh{suffix}"), getattr(self, f"bias_hh{suffix}", None)
        projection = getattr(self, f"weight_hr{suffix}", None)
        results: list[Tensor] = []
        for at in reversed(range(steps)) if back else range(steps):
            now = of_input[:, at] if axis == 1 else of_input[at]
            after = self._step(now, state[0].linear(weight, bias), state)
            if projection is not None:
                after = (after[0].linear(projection), *after[1:])
            if inside is None:
                results.append(after[0])
            else:
                results.append(where(inside[at], after[0], 0.0))
                after = tuple(where(inside[at], new, old) for new, old in zip(after, state, strict=True))
            state = after
        return results[::-1] if back else results, state

    def extra_repr(self) -> str:
        told = [f"{self.input_size}, {self.hidden_size}"]
        options = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        options |= {"proj_size": 0}
        told += [f"{name}={getattr(self, name)}" for name, usual in options.items() if getattr(self, name) != usual]
        return ", ".join(told)


class RNN(_Layers):
    """`h ← tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh)` (Elman 1990), or `relu` of it.

    Called with a sequence `(length, batch, input_size)`, with `batch_first` `(batch, length, input_size)`, it gives
    results `(length, batch, hidden_size)` and the last state `(num_layers, batch, hidden_size)`; see `forward`.

    >>> import svod
    >>> results, last = svod.nn.RNN(3, 4, batch_first=True)(svod.zeros(2, 5, 3))
    >>> results.shape, last.shape
    ((2, 5, 4), (1, 2, 4))
    """

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)
        self._nonlinear(nonlinearity)


class LSTM(_Layers):
    """Long short-term memory (Hochreiter and Schmidhuber 1997; forget gate: Gers, Schmidhuber and Cummins 2000).

        i, f, g, o = the quarters of x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh
        c ← σ(f)·c + σ(i)·tanh(g)
        h ← σ(o)·tanh(c)

    A state is a pair, `h` and `c`. With `proj_size`, `h` is `weight_hr @ h`, of that size (Sak, Senior and Beaufays
    2014).

    Called with a sequence `(length, batch, input_size)`, with `batch_first` `(batch, length, input_size)`, it gives
    results `(length, batch, hidden_size)` and the last states, each `(num_layers, batch, hidden_size)`; see `forward`.

    >>> import svod
    >>> results, (h, c) = svod.nn.LSTM(3, 4, num_layers=2, bidirectional=True)(svod.zeros(5, 2, 3))
    >>> results.shape, h.shape, c.shape
    ((5, 2, 8), (4, 2, 4), (4, 2, 4))
    """

    gates, states = 4, 2
    _step = staticmethod(_lstm_step)

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size)


class GRU(_Layers):
    """Gated recurrent units (Cho et al. 2014), with the reset gate behind the product.

    xr, xz, xn = the thirds of x @ weight_ih.T + bias_ih,  hr, hz, hn = those of h @ weight_hh.T + bias_hh
    r = σ(xr + hr),  z = σ(xz + hz),  n = tanh(xn + r·hn)
    h ← (1 - z)·n + z·h

    Called with a sequence `(length, batch, input_size)`, with `batch_first` `(batch, length, input_size)`, it gives
    results `(length, batch, hidden_size)` and the last state `(num_layers, batch, hidden_size)`; see `forward`.

    >>> import svod
    >>> results, last = svod.nn.GRU(3, 4)(svod.zeros(5, 2, 3))
    >>> results.shape, last.shape
    ((5, 2, 4), (1, 2, 4))
    """

    gates = 3
    _step = staticmethod(_gru_step)
