"""Layers as PyTorch's namespace `torch` has them: arguments are in another order than in `svod.nn.functional`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from svod import nn
from svod._svod import ArgumentError, Tensor
from svod.nn import functional as F
from svod.nn.functional.dropout import _features
from svod.nn.functional.embedding import _bags, _renormed

__all__ = [
    "adaptive_max_pool1d",
    "affine_grid_generator",
    "batch_norm",
    "constant_pad_nd",
    "convolution",
    "embedding",
    "embedding_bag",
    "embedding_renorm_",
    "feature_alpha_dropout",
    "feature_dropout",
    "feature_dropout_",
    "grid_sampler",
    "grid_sampler_2d",
    "grid_sampler_3d",
    "gru",
    "gru_cell",
    "instance_norm",
    "lstm",
    "lstm_cell",
    "norm_except_dim",
    "rnn_relu",
    "rnn_relu_cell",
    "rnn_tanh",
    "rnn_tanh_cell",
]


# The modes of `grid_sample` by PyTorch's numbers.
_MODES, _PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


def adaptive_max_pool1d(x: Tensor, /, output_size: int | Sequence[int | None]) -> tuple[Tensor, Tensor]:
    """The maxima of so many parts that cover the last axis, and their positions.

    >>> import svod
    >>> [part.tolist() for part in svod.adaptive_max_pool1d(svod.Tensor([[1.0, 3.0, 2.0, 0.0]]), 2)]
    [[[3.0, 2.0]], [[1, 2]]]
    """
    made: tuple[Tensor, Tensor] = F.adaptive_max_pool1d(x, output_size, return_indices=True)
    return made


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool, /) -> Tensor:
    """As `svod.nn.functional.affine_grid`.

    >>> import svod
    >>> svod.affine_grid_generator(svod.zeros(1, 2, 3), (1, 1, 2, 2), True).shape
    (1, 2, 2, 2)
    """
    return F.affine_grid(theta, size, align_corners)


def batch_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
    /,
) -> Tensor:
    """As `svod.nn.functional.batch_norm`, whose statistics come before weight and bias.

    >>> import svod
    >>> svod.batch_norm(svod.Tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0).tolist()
    [[-1.0], [1.0]]
    """
    return F.batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps)


def constant_pad_nd(x: Tensor, pad: Sequence[int], value: float = 0, /) -> Tensor:
    """More elements before and after the last axes: as `svod.nn.functional.pad`.

    >>> import svod
    >>> svod.constant_pad_nd(svod.ones(2), (1, 0), 5).tolist()
    [5.0, 1.0, 1.0]
    """
    return F.pad(x, pad, value=value)


def convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: int | Sequence[int],
    padding: int | Sequence[int],
    dilation: int | Sequence[int],
    transposed: bool,
    output_padding: int | Sequence[int],
    groups: int,
    /,
) -> Tensor:
    """A convolution over any number of axes, or a transposed one.

    >>> import svod
    >>> svod.convolution(svod.ones(1, 1, 4), svod.ones(1, 1, 2), None, [1], [0], [1], False, [0], 1).tolist()
    [[[2.0, 2.0, 2.0]]]
    """
    if transposed:
        return F.conv_transpose(x, weight, bias, stride, padding, output_padding, groups, dilation)
    return F.conv(x, weight, bias, stride, padding, dilation, groups)


def embedding(
    weight: Tensor, indices: Tensor, /, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """Rows of a table by index: as `svod.nn.functional.embedding`, which takes the indices first.

    >>> import svod
    >>> svod.embedding(svod.Tensor([[1.0], [2.0]]), svod.Tensor([1, 1])).tolist()
    [[2.0], [2.0]]
    """
    skipped = padding_idx if padding_idx >= 0 else None
    return F.embedding(indices, weight, skipped, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    /,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums (mode 0), means (1) or maxima (2) of rows: `svod.nn.functional.embedding_bag`, and what backward needs.

    That is the bag of each index; how many rows each bag has, which sums leave at 0; the index that each maximum is
    of, in other modes the numbers of rows again.

    >>> import svod
    >>> made = svod.embedding_bag(svod.Tensor([[1.0], [2.0]]), svod.Tensor([0, 1, 1]), svod.Tensor([0, 2]), mode=1)
    >>> [one.tolist() for one in made]
    [[[1.5], [2.0]], [0, 0, 1], [2, 1], [2, 1]]
    """
    if mode not in (0, 1, 2):
        raise ArgumentError(f"embedding_bag: mode is 0, 1 or 2, for sums, means or maxima, not {mode!r}")
    how = ("sum", "mean", "max")[mode]
    made = _bags(
        indices,
        weight,
        offsets,
        None,
        2.0,
        scale_grad_by_freq,
        how,
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )
    counts = made.counts.squeeze(-1).cast(offsets.dtype) if mode else offsets.zeros_like()
    return made.result, made.bag, counts, counts if made.maxima is None else made.maxima


def embedding_renorm_(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float, /) -> Tensor:
    """The table, of which rows that are named, and longer, become `max_norm` long; it is changed.

    >>> import svod
    >>> rows = svod.Tensor([[3.0, 4.0], [3.0, 4.0]])
    >>> svod.embedding_renorm_(rows, svod.Tensor([1]), 1.0, 2.0).sum(1).round().tolist()
    [7.0, 1.0]
    """
    return _renormed(weight, indices, max_norm, norm_type)


def feature_alpha_dropout(x: Tensor, p: float, train: bool, /) -> Tensor:
    """As `svod.nn.functional.feature_alpha_dropout`.

    >>> import svod
    >>> svod.feature_alpha_dropout(svod.ones(1, 2, 2), 0.5, False).tolist()
    [[[1.0, 1.0], [1.0, 1.0]]]
    """
    return F.feature_alpha_dropout(x, p, train)


def feature_dropout(x: Tensor, p: float, train: bool, /) -> Tensor:
    """`dropout` of whole channels, the second axis, if it is to `train`.

    >>> import svod
    >>> svod.feature_dropout(svod.ones(1, 2, 2), 0.5, False).tolist()
    [[[1.0, 1.0], [1.0, 1.0]]]
    """
    return _features("feature_dropout", x, p, train)


def feature_dropout_(x: Tensor, p: float, train: bool, /) -> Tensor:
    """The tensor becomes what `feature_dropout` makes of it.

    >>> import svod
    >>> svod.feature_dropout_(svod.ones(1, 2), 0.5, False).tolist()
    [[1.0, 1.0]]
    """
    return x._become("feature_dropout_", feature_dropout(x, p, train))


def grid_sampler(x: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool, /) -> Tensor:
    """As `svod.nn.functional.grid_sample`, by numbers: 0 and 1 bilinear and nearest; 0, 1, 2 zeros, border, reflection.

    >>> import svod
    >>> svod.grid_sampler(svod.ones(1, 1, 2, 2), svod.zeros(1, 1, 1, 2), 0, 0, True).tolist()
    [[[[1.0]]]]
    """
    if interpolation_mode not in range(3) or padding_mode not in range(3):
        raise ArgumentError(f"grid_sampler: modes are 0, 1 or 2, not {interpolation_mode!r} and {padding_mode!r}")
    return F.grid_sample(x, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners)


def grid_sampler_2d(
    x: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool, /
) -> Tensor:
    """As `grid_sampler`, of images.

    >>> import svod
    >>> svod.grid_sampler_2d(svod.ones(1, 1, 2, 2), svod.zeros(1, 1, 1, 2), 0, 0, True).tolist()
    [[[[1.0]]]]
    """
    return grid_sampler(x, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(
    x: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool, /
) -> Tensor:
    """As `grid_sampler`, of volumes.

    >>> import svod
    >>> svod.grid_sampler_3d(svod.ones(1, 1, 2, 2, 2), svod.zeros(1, 1, 1, 1, 3), 0, 0, True).tolist()
    [[[[[1.0]]]]]
    """
    return grid_sampler(x, grid, interpolation_mode, padding_mode, align_corners)


def gru(
    x: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    /,
) -> tuple[Tensor, Tensor]:
    """`svod.nn.GRU` with these parameters, in its order: the results, and the last states.

    >>> import svod
    >>> layer, x = svod.nn.GRU(3, 4), svod.ones(5, 2, 3)
    >>> made = svod.gru(x, svod.zeros(1, 2, 4), layer.parameters(), True, 1, 0.0, False, False, False)
    >>> svod.allclose(made[0], layer(x)[0])
    True
    """
    made: tuple[Tensor, Tensor] = _layers(
        nn.GRU, x, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    )
    return made


def gru_cell(
    x: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None, /
) -> Tensor:
    """A step of `svod.nn.GRUCell` with these parameters.

    >>> import svod
    >>> svod.gru_cell(svod.ones(1, 2), svod.zeros(1, 1), svod.zeros(3, 2), svod.zeros(3, 1)).tolist()
    [[0.0]]
    """
    made: Tensor = _cell(nn.GRUCell, x, hx, w_ih, w_hh, b_ih, b_hh)
    return made


def instance_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
    /,
) -> Tensor:
    """As `svod.nn.functional.instance_norm`, whose statistics come before weight and bias.

    >>> import svod
    >>> svod.instance_norm(svod.Tensor([[[1.0, 3.0]]]), None, None, None, None, True, 0.1, 0.0).tolist()
    [[[-1.0, 1.0]]]
    """
    return F.instance_norm(x, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def lstm(
    x: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    /,
) -> tuple[Tensor, Tensor, Tensor]:
    """`svod.nn.LSTM` with these parameters, in its order: the results, and the last hidden and cell states.

    >>> import svod
    >>> layer, x = svod.nn.LSTM(3, 4), svod.ones(5, 2, 3)
    >>> state = (svod.zeros(1, 2, 4), svod.zeros(1, 2, 4))
    >>> made = svod.lstm(x, state, layer.parameters(), True, 1, 0.0, False, False, False)
    >>> svod.allclose(made[0], layer(x)[0])
    True
    """
    results, (h, c) = _layers(
        nn.LSTM, x, tuple(hx), params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    )
    return results, h, c


def lstm_cell(
    x: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    /,
) -> tuple[Tensor, Tensor]:
    """A step of `svod.nn.LSTMCell` with these parameters.

    >>> import svod
    >>> zero = svod.zeros(1, 1)
    >>> [part.tolist() for part in svod.lstm_cell(svod.ones(1, 2), (zero, zero), svod.zeros(4, 2), svod.zeros(4, 1))]
    [[[0.0]], [[0.0]]]
    """
    h, c = _cell(nn.LSTMCell, x, tuple(hx), w_ih, w_hh, b_ih, b_hh)
    return h, c


def norm_except_dim(v: Tensor, /, pow: float = 2, axis: int = 0) -> Tensor:
    """The norms of the slices along an axis, which stays; of all elements with an axis of -1.

    >>> import svod
    >>> svod.norm_except_dim(svod.Tensor([[3.0, 4.0], [0.0, 2.0]])).tolist()
    [[5.0], [2.0]]
    """
    if axis == -1:
        return v.norm(pow)
    if not 0 <= axis < v.ndim:
        raise ArgumentError(f"norm_except_dim: no axis {axis} in {tuple(v.shape)}")
    return v.norm(pow, tuple(one for one in range(v.ndim) if one != axis), True)


def rnn_relu(
    x: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    /,
) -> tuple[Tensor, Tensor]:
    """As `rnn_tanh`, with `relu`.

    >>> import svod
    >>> layer, x = svod.nn.RNN(3, 4, nonlinearity="relu"), svod.ones(5, 2, 3)
    >>> made = svod.rnn_relu(x, svod.zeros(1, 2, 4), layer.parameters(), True, 1, 0.0, False, False, False)
    >>> svod.allclose(made[0], layer(x)[0])
    True
    """
    how = (has_biases, num_layers, dropout, train, bidirectional, batch_first)
    made: tuple[Tensor, Tensor] = _layers(nn.RNN, x, hx, params, *how, nonlinearity="relu")
    return made


def rnn_relu_cell(
    x: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None, /
) -> Tensor:
    """As `rnn_tanh_cell`, with `relu`.

    >>> import svod
    >>> svod.rnn_relu_cell(svod.ones(1, 2), svod.zeros(1, 1), svod.ones(1, 2), svod.zeros(1, 1)).tolist()
    [[2.0]]
    """
    made: Tensor = _cell(nn.RNNCell, x, hx, w_ih, w_hh, b_ih, b_hh, nonlinearity="relu")
    return made


def rnn_tanh(
    x: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    /,
) -> tuple[Tensor, Tensor]:
    """`svod.nn.RNN` with these parameters, in its order: the results, and the last states.

    >>> import svod
    >>> layer, x = svod.nn.RNN(3, 4), svod.ones(5, 2, 3)
    >>> made = svod.rnn_tanh(x, svod.zeros(1, 2, 4), layer.parameters(), True, 1, 0.0, False, False, False)
    >>> svod.allclose(made[0], layer(x)[0])
    True
    """
    made: tuple[Tensor, Tensor] = _layers(
        nn.RNN, x, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    )
    return made


def rnn_tanh_cell(
    x: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None, /
) -> Tensor:
    """A step of `svod.nn.RNNCell` with these parameters.

    >>> import svod
    >>> svod.rnn_tanh_cell(svod.zeros(1, 2), svod.zeros(1, 1), svod.ones(1, 2), svod.zeros(1, 1)).tolist()
    [[0.0]]
    """
    made: Tensor = _cell(nn.RNNCell, x, hx, w_ih, w_hh, b_ih, b_hh)
    return made


def _cell(
    kind: type[Any],
    x: Tensor,
    state: Any,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
    nonlinearity: str = "tanh",
) -> Any:
    """A step of a cell of `svod.nn`, which is made around parameters that are there."""
    cell: Any = object.__new__(kind)
    cell.input_size, cell.hidden_size = w_ih.shape[1], w_hh.shape[1]
    cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh = w_ih, w_hh, b_ih, b_hh
    if kind is nn.RNNCell:
        cell._nonlinear(nonlinearity)
    return cell(x, state)


def _layers(
    kind: type[Any],
    x: Tensor,
    state: Any,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    nonlinearity: str = "tanh",
) -> Any:
    """Layers of `svod.nn`, which are made around parameters that are there."""
    params = [*params]
    each = 4 if has_biases else 2
    if len(params) != each * num_layers * (1 + bidirectional):
        raise ArgumentError(
            f"{kind.__name__.lower()}: {len(params)} parameters for {num_layers} layers, {each} for each"
        )
    layers: Any = object.__new__(kind)
    layers.input_size, layers.hidden_size, layers.num_layers = params[0].shape[1], params[1].shape[1], num_layers
    layers.bias, layers.batch_first, layers.dropout = has_biases, batch_first, dropout
    layers.bidirectional, layers.training = bidirectional, train
    if kind is nn.RNN:
        layers._nonlinear(nonlinearity)
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")[:each]
    suffixes = [suffix for layer in range(num_layers) for suffix in layers._suffixes(layer)]
    for name, value in zip([name + suffix for suffix in suffixes for name in names], params, strict=True):
        setattr(layers, name, value)
    return layers(x, state)
