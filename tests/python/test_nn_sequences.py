"""Recurrent layers and transformers: PyTorch's with its state dicts; without it, their equations in NumPy."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
from svod import nn

Array = np.ndarray


def draw(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def rnn(x: Array, h: Array, state: list[Array]) -> list[Array]:
    return [np.tanh(x + h)]


def lstm(x: Array, h: Array, state: list[Array]) -> list[Array]:
    i, f, g, o = np.split(x + h, 4, -1)
    c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    return [sigmoid(o) * np.tanh(c), c]


def gru(x: Array, h: Array, state: list[Array]) -> list[Array]:
    (xr, xz, xn), (hr, hz, hn) = np.split(x, 3, -1), np.split(h, 3, -1)
    z = sigmoid(xz + hz)
    return [(1 - z) * np.tanh(xn + sigmoid(xr + hr) * hn) + z * state[0]]


CELLS: list[tuple[str, Callable[..., list[Array]], int]] = [("RNN", rnn, 1), ("LSTM", lstm, 2), ("GRU", gru, 1)]


def parts(state: Any) -> list[Any]:
    return list(state) if isinstance(state, (tuple, list)) else [state]


def given(state: list[Array], array: Callable[[Array], Any]) -> Any:
    made = tuple(array(s) for s in state)
    return made if len(made) > 1 else made[0]


@pytest.mark.parametrize(("name", "step", "states"), CELLS)
def test_recurrent_layers_are_their_equations(name: str, step: Any, states: int) -> None:
    layer = getattr(nn, name)(3, 4, num_layers=2, batch_first=True, bidirectional=True)
    weights = {key: p.numpy().astype(np.float64) for key, p in layer.named_parameters()}
    x, lengths = draw(2, 5, 3), [5, 3]
    start = [draw(4, 2, 4, seed=s) for s in range(states)]
    y, last = layer(svod.Tensor(x), given(start, svod.Tensor), lengths=lengths)
    for item, length in enumerate(lengths):
        below: Array = x[item, :length].astype(np.float64)
        for index in range(2):
            directions = []
            for back, suffix in enumerate((f"_l{index}", f"_l{index}_reverse")):
                state = [s[2 * index + back, item].astype(np.float64) for s in start]
                found = []
                for row in below[::-1] if back else below:
                    of_x = row @ weights[f"weight_ih{suffix}"].T + weights[f"bias_ih{suffix}"]
                    of_h = state[0] @ weights[f"weight_hh{suffix}"].T + weights[f"bias_hh{suffix}"]
                    state = step(of_x, of_h, state)
                    found.append(state[0])
                directions.append(np.stack(found[::-1] if back else found))
                for mine, right in zip(parts(last), state):
                    np.testing.assert_allclose(mine.numpy()[2 * index + back, item], right, rtol=1e-4, atol=1e-6)
            below = np.concatenate(directions, -1)
        np.testing.assert_allclose(y.numpy()[item, :length], below, rtol=1e-4, atol=1e-6)
        assert not y.numpy()[item, length:].any()


def with_state_of(theirs: Any, mine: Any) -> None:
    state = {key: value.numpy().copy() for key, value in theirs.state_dict().items()}
    assert list(mine.state_dict()) == list(state)
    mine.load_state_dict(state)


def same_gradients(mine: Any, theirs: Any, pairs: list[tuple[Any, Any]], tolerance: float = 1e-4) -> None:
    for p, q in [*zip(mine.parameters(), theirs.parameters()), *pairs]:
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=tolerance, atol=2e-5)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_layers": 2, "bidirectional": True, "batch_first": True},
        {"bias": False, "num_layers": 3, "dropout": 0.0},
    ],
)
def test_recurrent_layers_are_pytorchs(name: str, options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    theirs, mine = (getattr(library, name)(3, 4, **options) for library in (torch.nn, nn))
    with_state_of(theirs, mine)
    assert repr(mine) == repr(theirs)
    for p in mine.parameters():
        p.requires_grad_()
    x, count = draw(2, 5, 3), options.get("num_layers", 1) * (1 + options.get("bidirectional", False))
    batch = 2 if options.get("batch_first") else 5
    start = [draw(count, batch, 4, seed=s + 1) for s in range(1 + (name == "LSTM"))]
    a, b = svod.Tensor(x).requires_grad_(), torch.tensor(x, requires_grad=True)
    (y, last), (right, end) = mine(a, given(start, svod.Tensor)), theirs(b, given(start, torch.tensor))
    for one, other in [(y, right), *zip(parts(last), parts(end))]:
        np.testing.assert_allclose(one.numpy(), other.detach().numpy(), rtol=1e-4, atol=1e-6)
    (y.square().sum() + sum(s.sum() for s in parts(last))).backward()
    (right.square().sum() + sum(s.sum() for s in parts(end))).backward()
    same_gradients(mine, theirs, [(a, b)])
    # Without a batch, and without a state.
    np.testing.assert_allclose(
        mine(svod.Tensor(x[0]))[0].numpy(), theirs(torch.tensor(x[0]))[0].detach().numpy(), rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_lengths_are_pytorchs_packed_sequences(name: str) -> None:
    torch = pytest.importorskip("torch")
    theirs, mine = (getattr(library, name)(3, 4, bidirectional=True) for library in (torch.nn, nn))
    with_state_of(theirs, mine)
    x, lengths = draw(6, 3, 3), [2, 6, 4]
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.tensor(x), lengths, enforce_sorted=False)
    right, end = theirs(packed)
    right, _ = torch.nn.utils.rnn.pad_packed_sequence(right)
    y, last = mine(svod.Tensor(x), lengths=svod.Tensor(lengths))
    np.testing.assert_allclose(y.numpy(), right.detach().numpy(), rtol=1e-4, atol=1e-6)
    for one, other in zip(parts(last), parts(end)):
        np.testing.assert_allclose(one.numpy(), other.detach().numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_an_lstm_projects_what_it_gives(bidirectional: bool) -> None:
    torch = pytest.importorskip("torch")
    options = {"num_layers": 2, "bidirectional": bidirectional, "proj_size": 3}
    theirs, mine = (library.LSTM(5, 8, **options) for library in (torch.nn, nn))
    with_state_of(theirs, mine)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    x, count = draw(6, 2, 5), 2 * (1 + bidirectional)
    start = [draw(count, 2, 3, seed=1), draw(count, 2, 8, seed=2)]
    y, last = mine(svod.Tensor(x), tuple(svod.Tensor(one) for one in start))
    right, end = theirs(torch.tensor(x), tuple(torch.tensor(one) for one in start))
    for one, other in zip((y, *last), (right, *end), strict=True):
        np.testing.assert_allclose(one.numpy(), other.detach().numpy(), rtol=1e-4, atol=1e-6)
    with pytest.raises(svod.ArgumentError, match="LSTM: proj_size: from 0 to below 8, not 8"):
        nn.LSTM(5, 8, proj_size=8)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_cells_are_steps_of_layers(name: str) -> None:
    layer, cell = getattr(nn, name)(3, 4), getattr(nn, name + "Cell")(3, 4)
    cell.load_state_dict({key.removesuffix("_l0"): p for key, p in layer.state_dict().items()})
    x = svod.Tensor(draw(3, 2, 3))
    state = None
    for at in range(3):
        state = cell(x[at], state)
    np.testing.assert_allclose(parts(state)[0].numpy(), layer(x)[0][-1].numpy(), rtol=1e-5, atol=1e-7)
    if name == "RNN":
        relu = nn.RNNCell(3, 4, nonlinearity="relu")
        assert (relu(x[0]).numpy() >= 0).all()


def test_dropout_is_between_layers() -> None:
    svod.manual_seed(0)
    x = svod.Tensor(draw(5, 2, 3))
    one, two = nn.GRU(3, 4, dropout=0.5), nn.GRU(3, 4, 2, dropout=0.5)
    assert one(x)[0].tolist() == one(x)[0].tolist()
    assert two(x)[0].tolist() != two(x)[0].tolist()
    two.eval()
    assert two(x)[0].tolist() == two(x)[0].tolist()


def test_a_recurrent_layer_is_compiled_once_for_all_steps() -> None:
    svod.clear_caches()
    layer = nn.LSTM(8, 16)
    counts = []
    for steps in (4, 12):
        before = svod.compile_times()["lower"][0]
        layer(svod.Tensor(draw(steps, 2, 8)))[0].realize()
        counts.append(svod.compile_times()["lower"][0] - before)
    # Steps have kernels in common: three times as many need hardly any more.
    assert counts[1] <= counts[0]


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_attention_is_its_equation() -> None:
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    layer.in_proj_bias = svod.Tensor(draw(24, seed=9))
    q, k, v = draw(2, 3, 8), draw(2, 5, 8, seed=1), draw(2, 5, 8, seed=2)
    hidden = np.array([[False] * 5, [False, False, True, False, True]])
    w, b = layer.in_proj_weight.numpy(), layer.in_proj_bias.numpy()
    heads = [
        (x @ w[8 * i : 8 * i + 8].T + b[8 * i : 8 * i + 8]).reshape(2, -1, 2, 4).transpose(0, 2, 1, 3)
        for i, x in enumerate((q, k, v))
    ]
    scores = heads[0] @ heads[1].swapaxes(-1, -2) / 2
    weights = softmax(np.where(hidden[:, None, None], -np.inf, scores))
    joined = (weights @ heads[2]).transpose(0, 2, 1, 3).reshape(2, 3, 8)
    expected = joined @ layer.out_proj.weight.numpy().T
    for need in (True, False):
        y, found = layer(*map(svod.Tensor, (q, k, v)), svod.Tensor(hidden), need)
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-4, atol=1e-5)
        assert (found is not None) == need
    found = layer(*map(svod.Tensor, (q, k, v)), svod.Tensor(hidden), average_attn_weights=False)[1]
    np.testing.assert_allclose(found.numpy(), weights, rtol=1e-4, atol=1e-5)
    x = svod.Tensor(q)
    causal = svod.Tensor(np.triu(np.ones((3, 3), bool), 1))
    results = [layer(x, x, x, need_weights=n, attn_mask=m, is_causal=c)[0].numpy() for n, m, c in (
        (False, None, True), (True, None, True), (True, causal, False), (False, causal, False)
    )]  # fmt: skip
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
def test_attention_is_pytorchs(batch_first: bool, need_weights: bool) -> None:
    torch = pytest.importorskip("torch")
    theirs, mine = (lib.MultiheadAttention(8, 2, batch_first=batch_first) for lib in (torch.nn, nn))
    with_state_of(theirs, mine)
    for p in mine.parameters():
        p.requires_grad_()
    q, k = draw(3, 4, 8), draw(3, 4, 8, seed=1)
    length, batch = (4, 3) if batch_first else (3, 4)
    masks: list[dict[str, Array]] = [
        {},
        {"attn_mask": draw(length, length)},
        {"attn_mask": draw(batch * 2, length, length), "key_padding_mask": np.eye(batch, length) > 0},
    ]
    for how in masks:
        y, w = mine(
            *map(svod.Tensor, (q, k, k)), need_weights=need_weights, **{n: svod.Tensor(m) for n, m in how.items()}
        )
        mask = {n: torch.tensor(m) for n, m in how.items()}
        if len(mask) == 2:
            mask["key_padding_mask"] = torch.zeros(batch, length).masked_fill(mask["key_padding_mask"], -torch.inf)
        right, weights = theirs(*map(torch.tensor, (q, k, k)), need_weights=need_weights, **mask)
        np.testing.assert_allclose(y.numpy(), right.detach().numpy(), rtol=1e-4, atol=1e-5)
        if need_weights:
            np.testing.assert_allclose(w.numpy(), weights.detach().numpy(), rtol=1e-4, atol=1e-5)
    y.square().sum().backward()
    right.square().sum().backward()
    same_gradients(mine, theirs, [])


OTHERS = [
    {"kdim": 3, "vdim": 5},
    {"kdim": 3},
    {"vdim": 5, "bias": False},
    {"kdim": 8, "vdim": 8},
    {"add_bias_kv": True},
    {"add_zero_attn": True},
    {"add_bias_kv": True, "add_zero_attn": True, "kdim": 3, "vdim": 5},
]


@pytest.mark.parametrize("more", OTHERS)
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
def test_attention_over_other_features_is_pytorchs(more: dict[str, Any], batch_first: bool, need_weights: bool) -> None:
    torch = pytest.importorskip("torch")
    theirs, mine = (lib.MultiheadAttention(8, 2, batch_first=batch_first, **more) for lib in (torch.nn, nn))
    assert [name for name, _ in mine.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    with_state_of(theirs, mine)
    mine.requires_grad_()
    batch, queries, keys = 3, 4, 6
    given = [draw(batch, queries, 8), draw(batch, keys, more.get("kdim", 8), seed=1)]
    given.append(draw(batch, keys, more.get("vdim", 8), seed=2))
    if not batch_first:
        given = [x.swapaxes(0, 1).copy() for x in given]
    padding = np.zeros((batch, keys), bool)
    padding[1, 4:] = padding[2, :2] = True
    masks: list[dict[str, Array]] = [
        {},
        {"attn_mask": draw(queries, keys)},
        {"attn_mask": draw(queries, keys, seed=5) > 0.5, "key_padding_mask": padding},
        {"attn_mask": draw(batch * 2, queries, keys)},
    ]
    for how in masks:
        own = [svod.Tensor(x).requires_grad_() for x in given]
        others = [torch.tensor(x, requires_grad=True) for x in given]
        mine.zero_grad()
        theirs.zero_grad()
        y, w = mine(*own, need_weights=need_weights, **{n: svod.Tensor(m) for n, m in how.items()})
        right, weights = theirs(*others, need_weights=need_weights, **{n: torch.tensor(m) for n, m in how.items()})
        np.testing.assert_allclose(y.numpy(), right.detach().numpy(), rtol=1e-4, atol=1e-5)
        if need_weights:
            assert w.shape == tuple(weights.shape)
            np.testing.assert_allclose(w.numpy(), weights.detach().numpy(), rtol=1e-4, atol=1e-5)
        y.square().sum().backward()
        right.square().sum().backward()
        same_gradients(mine, theirs, [])
        for x, other in zip(own, others, strict=True):
            np.testing.assert_allclose(x.grad.numpy(), other.grad.numpy(), rtol=1e-3, atol=1e-5)


def test_what_stands_behind_a_sequence_is_seen_by_causal_queries() -> None:
    layer = nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True)
    x = svod.Tensor(draw(5, 2, 8))
    results = [layer(x, x, x, need_weights=need, is_causal=True) for need in (True, False)]
    np.testing.assert_allclose(results[0][0].numpy(), results[1][0].numpy(), rtol=1e-4, atol=1e-5)
    weights = results[0][1].numpy()
    assert weights.shape == (2, 5, 7) and (weights[..., 5:] > 0).all() and (np.triu(weights[0, :, :5], 1) == 0).all()


ENCODERS = [
    {},
    {"norm_first": True, "activation": "gelu", "batch_first": True},
    {"bias": False, "dim_feedforward": 16},
]


@pytest.mark.parametrize("options", ENCODERS)
def test_transformers_are_pytorchs(options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    how = {"dim_feedforward": 12, "dropout": 0.0, **options}
    theirs, mine = (lib.Transformer(8, 2, 2, 1, **how) for lib in (torch.nn, nn))
    with_state_of(theirs, mine)
    for p in mine.parameters():
        p.requires_grad_()
    src, tgt = draw(4, 5, 8), draw(4, 5, 8, seed=1)
    length = 5 if options.get("batch_first") else 4
    mask = np.triu(np.full((length, length), -np.inf, np.float32), 1)
    y = mine(svod.Tensor(src), svod.Tensor(tgt), tgt_mask=svod.Tensor(mask))
    right = theirs(torch.tensor(src), torch.tensor(tgt), tgt_mask=torch.tensor(mask))
    np.testing.assert_allclose(y.numpy(), right.detach().numpy(), rtol=1e-4, atol=2e-5)
    y.square().mean().backward()
    right.square().mean().backward()
    same_gradients(mine, theirs, [], 1e-3)


def test_layers_of_a_transformer_begin_alike_and_learn_apart() -> None:
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, nn.LayerNorm(8))
    layers: Any = list(encoder.layers)
    assert layers[0].linear1.weight is not layers[1].linear1.weight
    np.testing.assert_array_equal(layers[0].linear1.weight.numpy(), layers[1].linear1.weight.numpy())
    x = svod.Tensor(draw(2, 3, 8))
    svod.manual_seed(0)
    assert encoder(x).tolist() != encoder(x).tolist()
    encoder.eval()
    assert encoder(x).tolist() == encoder(x).tolist()
    # A causal encoder does not see what follows.
    changed = svod.cat([x[:, :2], x[:, 2:] + 1], 1)
    np.testing.assert_allclose(
        encoder(x, is_causal=True)[:, :2].numpy(), encoder(changed, is_causal=True)[:, :2].numpy(), atol=1e-5
    )


def test_what_does_not_fit_is_refused() -> None:
    x = svod.zeros(2, 3, 4)
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: nn.LSTM(5, 4)(x), r"LSTM: sequences of 5 features are expected, not \(2, 3, 4\)"),
        (lambda: nn.LSTM(4, 4)(x, svod.zeros(1, 3, 4)), "a state of 2 tensors, not of 1"),
        (lambda: nn.GRU(4, 4)(x, svod.zeros(1, 2, 4)), r"a state of shape \(1, 2, 4\), not \(1, 3, 4\)"),
        (lambda: nn.RNN(4, 4, nonlinearity="gelu"), "nonlinearity is"),
        (lambda: nn.GRU(4, 4, 0), "GRU: num_layers: from 1 to 65536 layers, not 0"),
        (lambda: nn.MultiheadAttention(8, 3), "8 features in 3 heads"),
        (lambda: nn.MultiheadAttention(8, 2)(x, x, x), "8 features are expected"),
        (lambda: nn.MultiheadAttention(4, 2, kdim=3)(x, x, x), "key: 3 features are expected"),
        (lambda: nn.TransformerEncoderLayer(8, 2, activation="tanh"), "activation is"),
    ]
    for made, says in cases:
        with pytest.raises(svod.Error, match=says):
            made()


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_lengths_that_do_not_fit_are_errors(name: str) -> None:
    layer, x = getattr(nn, name)(3, 4, batch_first=True), svod.ones(2, 5, 3)
    wrong: list[tuple[Any, type[Exception], str]] = [
        ([9, 1], svod.ArgumentError, "from 0 to 5 steps, not 9"),
        (np.array([5, 6]), svod.ArgumentError, "from 0 to 5 steps, not 6"),
        ([-1, 1], svod.ArgumentError, "from 0 to 5 steps, not -1"),
        ([1.5, 2], svod.ArgumentTypeError, "integers are expected, not float"),
        (svod.ones(2), svod.ArgumentTypeError, "integers are expected, not float32"),
        ([1, 1, 1], svod.ShapeError, r"one for each of a batch \(2,\), not of shape \(3,\)"),
        (svod.Tensor([[1, 1]]), svod.ShapeError, r"not of shape \(1, 2\)"),
    ]
    for lengths, error, says in wrong:
        with pytest.raises(error, match=f"{name}: lengths: .*{says}"):
            layer(x, lengths=lengths)
    for right in ([5, 0], (5, 0), np.array([5, 0]), svod.Tensor([5, 0]), [svod.Tensor(5), svod.Tensor(0)]):
        assert layer(x, lengths=right)[0][1].abs().max().item() == 0
    jitted = svod.jit(lambda x, lengths: layer(x, lengths=lengths)[0])
    np.testing.assert_array_equal(jitted(x, svod.Tensor([2, 3])).numpy(), layer(x, lengths=[2, 3])[0].numpy())


def test_only_lstms_project() -> None:
    for name in ("GRU", "RNN"):
        for library in (nn, importlib.import_module("torch").nn if importlib.util.find_spec("torch") else nn):
            with pytest.raises((TypeError, ValueError), match="proj_size"):
                getattr(library, name)(4, 8, proj_size=2)
