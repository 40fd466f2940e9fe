"""Packed factors, layers with weights as arguments, pools with positions and rarer functions, compared with PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_torch_names import INT, A, Call, D, F, M, as_arrays, of

import svod
import svod.nn.functional as functional

RNG = np.random.default_rng(5)
IMAGE = np.float32(np.sin(np.arange(2 * 3 * 6 * 5)).reshape(2, 3, 6, 5))
VOLUME = IMAGE.reshape(2, 3, 5, 3, 2)
LINE = IMAGE.reshape(2, 3, 30)
TALL = RNG.standard_normal((2, 5, 3))
SQUARE = RNG.standard_normal((2, 4, 4))
DEFINITE = SQUARE @ SQUARE.swapaxes(-1, -2) + np.eye(4)
GATES = {1: RNG.standard_normal((4, 3)).astype(F), 3: RNG.standard_normal((12, 3)).astype(F)}
GATES[4] = RNG.standard_normal((16, 3)).astype(F)
STATES = {n: RNG.standard_normal((4 * n, 4)).astype(F) for n in (1, 3, 4)}
BIAS = {n: RNG.standard_normal(4 * n).astype(F) for n in (1, 3, 4)}
SEQUENCE, STATE = RNG.standard_normal((5, 2, 3)).astype(F), RNG.standard_normal((1, 2, 4)).astype(F)
ROWS = RNG.standard_normal((6, 4)).astype(F)
TOKENS = RNG.standard_normal((3, 2, 8)).astype(F)


def layers(xp: Any) -> Any:
    return functional if xp is svod else xp.nn.functional


def cell(xp: Any, x: Any, name: str, gates: int) -> Any:
    state = (x(STATE[0]), x(STATE[0] * 2)) if gates == 4 else x(STATE[0])
    weights = [x(GATES[gates]), x(STATES[gates]), x(BIAS[gates]), x(BIAS[gates] * 2)]
    made = getattr(xp, name)
    return [made(x(SEQUENCE[0]), state, *weights), made(x(SEQUENCE[0]), state, *weights[:2])]


def recurrent(xp: Any, x: Any, name: str, gates: int) -> Any:
    two = [x(np.concatenate([STATE] * 2)), x(np.concatenate([STATE * 2] * 2))]
    weights = [x(GATES[gates]), x(STATES[gates]), x(BIAS[gates]), x(BIAS[gates] * 2)]
    return [
        getattr(xp, name)(
            x(SEQUENCE.swapaxes(0, 1).copy() if first else SEQUENCE),
            two if gates == 4 else two[0],
            [*(weights if biased else weights[:2])] * 2,
            biased,
            1,
            0.0,
            False,
            True,
            first,
        )
        for biased in (True, False)
        for first in (True, False)
    ]


def attended(xp: Any, x: Any, **how: Any) -> Any:
    weights = [x(np.float32(np.cos(np.arange(n)).reshape(-1, 8) / 3)) for n in (24 * 8, 8 * 8)]
    bias = [x(np.float32(np.sin(np.arange(n)))) for n in (24, 8)]
    extra = how.pop("extra", False)
    more = [x(np.full((1, 1, 8), v, F)) if extra else None for v in (0.3, -0.2)]
    given = [x(TOKENS)] * 3 if not how.pop("other", False) else [x(TOKENS[:2].copy()), x(TOKENS), x(TOKENS * 2)]
    return layers(xp).multi_head_attention_forward(
        *given, 8, 2, weights[0], bias[0], *more, extra, 0.0, weights[1], bias[1], training=False, **how
    )


TORCH: dict[str, Call] = {
    "frobenius_norm": lambda xp, x: [xp.frobenius_norm(x(M), 1), xp.frobenius_norm(x(M), (0, 1), True)],
    "nuclear_norm": lambda xp, x: [xp.nuclear_norm(x(TALL), (1, 2)), xp.nuclear_norm(x(M))],
    "geqrf": lambda xp, x: [*xp.geqrf(x(TALL)), *xp.geqrf(x(TALL.mT.copy())), *x(SQUARE).geqrf()],
    "orgqr": lambda xp, x: [xp.orgqr(*xp.geqrf(x(TALL))), xp.orgqr(*xp.geqrf(x(SQUARE)))],
    "ormqr": lambda xp, x: [
        xp.ormqr(*xp.geqrf(x(SQUARE)), x(SQUARE * 2), left, transpose)
        for left in (True, False)
        for transpose in (True, False)
    ],
    "lu": lambda xp, x: [xp.lu(x(SQUARE), get_infos=True), xp.lu(x(TALL)), xp.lu(x(TALL.mT.copy()))],
    "lu_unpack": lambda xp, x: [
        xp.lu_unpack(*xp.lu(x(SQUARE))),
        xp.lu_unpack(*xp.lu(x(TALL))),
        xp.lu_unpack(*xp.lu(x(TALL.mT.copy()))),
    ],
    "lu_solve": lambda xp, x: xp.lu_solve(x(TALL[:, :4]), *xp.lu(x(SQUARE))),
    "triangular_solve": lambda xp, x: [
        list(xp.triangular_solve(x(TALL[:, :4]), x(SQUARE), upper, transpose, unit))
        for upper in (True, False)
        for transpose in (True, False)
        for unit in (True, False)
    ],
    "as_strided_scatter": lambda xp, x: xp.as_strided_scatter(x(M), x(of(F, [[7, 8]])), (1, 2), (1, 2), 1),
    "index_reduce": lambda xp, x: [
        xp.index_reduce(x(M), 1, x(of(INT, [0, 2, 0])), x(M * 3), how, include_self=own)
        for how in ("prod", "mean", "amax", "amin")
        for own in (True, False)
    ],
    "nonzero_static": lambda xp, x: (
        [xp.nonzero_static(x(A), size=n, fill_value=-7) for n in (0, 3, 30)]
        + [xp.nonzero_static(x(of(F, [0, 3])), size=2)]
    ),
    "histogramdd": lambda xp, x: [
        [made, *edges]
        for made, edges in (
            xp.histogramdd(x(TALL[0]), bins=[2, 3, 4]),
            xp.histogramdd(x(TALL[0]), bins=[2, 2, 2], range=[-1.0, 1, -1, 1, -2, 2], density=True),
            xp.histogramdd(x(TALL), bins=[x(of(D, [-1, 0, 2]))] * 3, weight=x(np.abs(TALL[..., 0]))),
        )
    ],
    "segment_reduce": lambda xp, x: [
        xp.segment_reduce(x(TALL[0]), how, lengths=x(of(INT, [2, 0, 3])), axis=0, unsafe=True)
        for how in ("sum", "mean", "max", "min", "prod")
    ],
    "segment_reduce of rows": lambda xp, x: [
        xp.segment_reduce(x(TALL[0]), "sum", offsets=x(of(INT, [0, 2, 5])), axis=0, initial=2.0),
        xp.segment_reduce(x(TALL), "max", lengths=x(of(INT, [[2, 3], [4, 1]])), axis=1),
    ],
    "ger": lambda xp, x: xp.ger(x(M[0]), x(M[1])),
    "H": lambda xp, x: [x(M).H, x(A).mH, x(np.complex64([[1 + 2j, 3]])).H],
    "grouped_mm": lambda xp, x: [
        layers(xp).grouped_mm(x(a).bfloat16(), x(b).bfloat16(), offs=x(of("int32", [16, 32]))).float()
        for a, b in (
            (np.ones((32, 16), F), np.arange(2 * 16 * 16).reshape(2, 16, 16).astype(F) % 5),
            (np.arange(2 * 16 * 16).reshape(2, 16, 16).astype(F) % 3, np.ones((16, 32), F)),
            (np.arange(16 * 32).reshape(16, 32).astype(F) % 3, np.ones((32, 16), F)),
        )
    ],
    "norm_except_dim": lambda xp, x: [xp.norm_except_dim(x(of(F)), 2, d) for d in (0, 1, 2, -1)],
    "constant_pad_nd": lambda xp, x: xp.constant_pad_nd(x(M), (1, -1, 2, 0), 5.0),
    "frombuffer": lambda xp, x: xp.frombuffer(bytearray(range(16)), dtype=xp.int32, count=2, offset=4),
    "gru_cell": lambda xp, x: cell(xp, x, "gru_cell", 3),
    "lstm_cell": lambda xp, x: cell(xp, x, "lstm_cell", 4),
    "rnn_cell": lambda xp, x: [cell(xp, x, "rnn_relu_cell", 1), cell(xp, x, "rnn_tanh_cell", 1)],
    "gru": lambda xp, x: recurrent(xp, x, "gru", 3),
    "lstm": lambda xp, x: recurrent(xp, x, "lstm", 4),
    "rnn": lambda xp, x: [recurrent(xp, x, "rnn_relu", 1), recurrent(xp, x, "rnn_tanh", 1)],
    "batch_norm": lambda xp, x: [
        xp.batch_norm(
            x(IMAGE), x(of(F, [1, 2, 3])), None, x(of(F, [0, 1, 0])), x(of(F, [1, 2, 1])), train, 0.1, 1e-5, True
        )
        for train in (True, False)
    ],
    "instance_norm": lambda xp, x: xp.instance_norm(
        x(IMAGE), x(of(F, [1, 2, 3])), None, None, None, True, 0.1, 1e-5, True
    ),
    "convolution": lambda xp, x: [
        xp.convolution(x(IMAGE), x(np.ones((3, 1, 2, 2), F)), None, [1, 2], [0, 1], [1, 1], turned, [0, 0], 3)
        for turned in (True, False)
    ],
    "embedding": lambda xp, x: xp.embedding(x(M), x(of(INT, [[1, 0]]))),
    "embedding_bag": lambda xp, x: [
        layers(xp).embedding_bag(
            x(of(INT, [0, 1, 1, 0])), x(M), x(of(INT, [0, 1, 4])), mode=mode, include_last_offset=True
        )
        for mode in ("sum", "mean", "max")
    ],
    "embedding_renorm_": lambda xp, x: xp.embedding_renorm_(x(ROWS.copy()), x(of(INT, [1, 3])), 0.5, 2.0),
    "embedding with max_norm": lambda xp, x: layers(xp).embedding(x(of(INT, [1, 3])), x(ROWS.copy()), None, 0.5, 1.0),
    "grid_sampler": lambda xp, x: [
        made(x(IMAGE), x(np.float32(np.cos(np.arange(36)).reshape(2, 3, 3, 2))), mode, pads, True)
        for made in (xp.grid_sampler, xp.grid_sampler_2d)
        for mode, pads in ((0, 0), (1, 1), (0, 2))
    ],
    "grid_sampler_3d": lambda xp, x: xp.grid_sampler_3d(
        x(VOLUME), x(np.float32(np.cos(np.arange(48)).reshape(2, 2, 2, 2, 3))), 0, 0, False
    ),
    "affine_grid_generator": lambda xp, x: xp.affine_grid_generator(
        x(np.float32([[[1, 0, 0.5], [0, 2, 0]]])), [1, 1, 3, 4], False
    ),
    "adaptive_max_pool": lambda xp, x: [
        layers(xp).adaptive_max_pool1d(x(LINE), 7, return_indices=True),
        layers(xp).adaptive_max_pool2d(x(IMAGE), (4, 2), return_indices=True),
        layers(xp).adaptive_max_pool2d(x(IMAGE), (None, 3), return_indices=True),
        layers(xp).adaptive_max_pool3d(x(VOLUME), (3, 2, 1), return_indices=True),
        layers(xp).adaptive_max_pool2d_with_indices(x(IMAGE), (5, 4)),
        xp.adaptive_max_pool1d(x(LINE), 4),
        layers(xp).adaptive_max_pool2d(x(IMAGE), 3),
    ],
    "fractional_max_pool": lambda xp, x: [
        layers(xp).fractional_max_pool2d(
            x(IMAGE),
            2,
            output_size=(4, 3),
            return_indices=True,
            _random_samples=x(np.float32(np.abs(np.sin(np.arange(12.0)))).reshape(2, 3, 2)),
        ),
        layers(xp).fractional_max_pool2d(
            x(IMAGE), (2, 1), output_ratio=(0.5, 0.7), _random_samples=x(np.full((2, 3, 2), 0.3, F))
        ),
        layers(xp).fractional_max_pool3d(
            x(VOLUME),
            (2, 1, 1),
            output_size=(3, 2, 1),
            return_indices=True,
            _random_samples=x(np.float32(np.abs(np.cos(np.arange(18.0)))).reshape(2, 3, 3)),
        ),
    ],
    "avg_pool with divisor_override": lambda xp, x: (
        [layers(xp).avg_pool2d(x(IMAGE), 2, 2, 1, ceil, pads, 3) for ceil in (True, False) for pads in (True, False)]
        + [layers(xp).avg_pool3d(x(VOLUME), 2, 1, 1, True, False, 5)]
    ),
    "channel_shuffle": lambda xp, x: layers(xp).channel_shuffle(x(np.arange(24.0).reshape(1, 6, 2, 2)), 3),
    "pdist": lambda xp, x: [layers(xp).pdist(x(ROWS), p) for p in (1.0, 2.0, 3.0)],
    "conv_tbc": lambda xp, x: layers(xp).conv_tbc(x(SEQUENCE), x(np.ones((2, 3, 4), F)), x(BIAS[1]), 1),
    "linear_cross_entropy": lambda xp, x: [
        layers(xp).linear_cross_entropy(
            x(ROWS), x(GATES[1][:, :1] * ROWS[:4]), x(of(INT, [0, 1, 3, 2, 1, 0])), linear_bias=x(BIAS[1])
        ),
    ],
    "pad of negative widths": lambda xp, x: [
        layers(xp).pad(x(LINE), pads, mode=mode)
        for mode in ("constant", "reflect", "replicate", "circular")
        for pads in ((-1, 2), (3, -4), (-2, -2), (2, 3))
    ],
    "pools of windows beyond the input": lambda xp, x: [
        *layers(xp).max_pool1d(x(LINE[..., :3].copy()), 4, 2, ceil_mode=True, return_indices=True),
        layers(xp).max_pool2d(x(IMAGE[..., :3, :4].copy()), (4, 3), 3, 1, ceil_mode=True),
        *(
            layers(xp).avg_pool2d(x(IMAGE[..., :3, :4].copy()), 4, 3, (1, 0), True, counted, by)
            for counted in (True, False)
            for by in (None, 3)
        ),
    ],
    "pad to nothing": lambda xp, x: layers(xp).pad(x(LINE[..., :1].copy()), (0, -1), mode="circular"),
    "upsample": lambda xp, x: [
        layers(xp).upsample(x(IMAGE), scale_factor=2),
        layers(xp).upsample_bilinear(x(IMAGE), size=(8, 9)),
        layers(xp).upsample_nearest(x(IMAGE), size=(8, 9)),
    ],
    "attention": lambda xp, x: [
        attended(xp, x),
        attended(xp, x, other=True, average_attn_weights=False),
        attended(xp, x, extra=True, key_padding_mask=x(np.array([[False, True, False], [False, False, True]]))),
        attended(xp, x, attn_mask=x(np.triu(np.ones((3, 3), bool), 1)), is_causal=True),
        attended(xp, x, attn_mask=x(np.float32(np.sin(np.arange(36)).reshape(4, 3, 3)))),
        attended(xp, x, need_weights=False)[0],
    ],
    "alpha": lambda xp, x: [
        xp.add(x(M), x(M), alpha=2),
        xp.sub(x(A), x(A), alpha=3),
        xp.subtract(x(M), 1, alpha=0.5),
        x(M).add(2, alpha=3),
        x(M.copy()).add_(x(M), alpha=-1),
        x(M.copy()).sub_(x(M), alpha=2),
    ],
    "functions that assign": lambda xp, x: [
        xp.cos_(x(M.copy())),
        xp.clamp_(x(M.copy()), 0, 2),
        xp.zero_(x(M.copy())),
        xp.fill_(x(M.copy()), 3),
        xp.nan_to_num_(x(np.float32([np.nan, 1]))),
        layers(xp).relu_(x(M.copy())),
        layers(xp).elu_(x(M.copy()), 0.5),
        layers(xp).leaky_relu_(x(M.copy()), 0.5),
        xp.celu_(x(M.copy())),
    ],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TORCH)
def test_torch_agrees(name: str) -> None:
    torch = pytest.importorskip("torch")
    call = TORCH[name]
    wanted = call(torch, lambda array: torch.from_numpy(np.array(array)))
    made = as_arrays(call(svod, svod.Tensor))
    for mine, theirs in zip(made, as_arrays(wanted), strict=True):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-6)


def test_factors_make_the_matrix() -> None:
    for x in (TALL, SQUARE, TALL.mT.copy(), (TALL + 1j * TALL[::-1]), np.zeros((0, 3, 2)), np.zeros((2, 0, 2))):
        t = svod.Tensor(x)
        p, lower, upper = svod.lu_unpack(*svod.lu(t))
        np.testing.assert_allclose((p @ lower @ upper).numpy(), x, atol=1e-12)
        if x.shape[-2] >= x.shape[-1]:
            q, r = svod.orgqr(*svod.geqrf(t)), svod.geqrf(t).a.triu()[..., : x.shape[-1], :]
            np.testing.assert_allclose((q @ r).numpy(), x, atol=1e-12)


def test_few_singular_values() -> None:
    svod.manual_seed(3)
    low = RNG.standard_normal((20, 3)) @ RNG.standard_normal((3, 12))
    exact = np.linalg.svd(low, compute_uv=False)
    u, s, v = svod.svd_lowrank(svod.Tensor(low), q=5)
    np.testing.assert_allclose(s.numpy()[:3], exact[:3], rtol=1e-8)
    np.testing.assert_allclose((u * s @ v.T).numpy(), low, atol=1e-8)
    centred = low - low.mean(0)
    u, s, v = svod.pca_lowrank(svod.Tensor(low), q=4)
    np.testing.assert_allclose((u * s @ v.T).numpy(), centred, atol=1e-8)


@pytest.mark.parametrize("largest", [True, False])
def test_few_eigenvalues(largest: bool) -> None:
    scipy = pytest.importorskip("scipy.linalg")
    b = DEFINITE[0] + np.diag([1.0, 2, 3, 4])
    values, vectors = svod.lobpcg(svod.Tensor(DEFINITE[1]), k=2, B=svod.Tensor(b), largest=largest)
    right = scipy.eigh(DEFINITE[1], b, eigvals_only=True)
    np.testing.assert_allclose(values.numpy(), right[::-1][:2] if largest else right[:2], rtol=1e-10)
    np.testing.assert_allclose(DEFINITE[1] @ vectors.numpy(), b @ vectors.numpy() * values.numpy(), atol=1e-9)


def test_binomial_is_distributed_as_it_says() -> None:
    svod.manual_seed(11)
    for n, p in ((5.0, 0.3), (1000.0, 0.002), (100.0, 0.4), (1e5, 0.7), (40.0, 0.99), (3.0, 1.0), (0.0, 0.5)):
        drawn = svod.binomial(svod.full((20_000,), n), svod.Tensor(p)).numpy().astype(float)
        assert drawn.min() >= 0 and drawn.max() <= n and (drawn == drawn.round()).all()
        spread = np.sqrt(n * p * (1 - p))
        assert abs(drawn.mean() - n * p) <= 5 * spread / np.sqrt(20_000) + 1e-9 * n
        assert abs(drawn.std() - spread) <= 0.05 * spread + 1e-9
    made = svod.zeros(4000).bernoulli_(0.25).numpy()
    assert set(made) == {0, 1} and abs(made.mean() - 0.25) < 0.05


def test_features_are_dropped_whole() -> None:
    svod.manual_seed(2)
    for made in (
        svod.feature_dropout(svod.ones(3, 8, 4), 0.5, True),
        functional.feature_alpha_dropout(svod.ones(3, 8, 4), 0.5, True),
    ):
        rows = made.numpy()
        assert (rows == rows[..., :1]).all() and 1 < len(np.unique(rows)) <= 2
    x = svod.ones(3, 8, 4)
    assert svod.feature_dropout_(x, 1.0, True) is x and not x.any()
    x = svod.ones(3)
    assert svod.dropout_(x, 1.0, True) is x and not x.any()


def test_gradients_of_rows_are_divided_by_their_number() -> None:
    torch = pytest.importorskip("torch")
    ids = [[0, 2], [2, 2]]
    table = torch.tensor(ROWS, requires_grad=True)
    torch.nn.functional.embedding(torch.tensor(ids), table, scale_grad_by_freq=True).square().sum().backward()
    slope = svod.grad(lambda w: functional.embedding(svod.Tensor(ids), w, scale_grad_by_freq=True).square().sum())(
        svod.Tensor(ROWS)
    )
    np.testing.assert_allclose(slope.numpy(), table.grad.numpy(), rtol=1e-6)
    with pytest.raises(svod.UnsupportedError, match="sparse"):
        functional.embedding(svod.Tensor(ids), svod.Tensor(ROWS), sparse=True)


def test_a_file_is_read() -> None:
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        file.write(np.arange(5, dtype="f").tobytes())
        file.flush()
        assert svod.from_file(file.name, size=3).tolist() == [0, 1, 2]
        with pytest.raises(svod.ArgumentError, match="shared"):
            svod.from_file(file.name, True)
    with pytest.raises(svod.ArgumentError, match="frombuffer"):
        svod.frombuffer(b"abc", dtype="int16")


def test_errors_say_what_does_not_fit() -> None:
    x = svod.ones(3)
    for wrong, message in (
        (lambda: svod.lu(x), "lu: matrices"),
        (lambda: svod.lu(svod.ones(2, 2), pivot=False), "pivot is True"),
        (lambda: svod.orgqr(svod.ones(2, 3), x), "orgqr: reflections"),
        (lambda: svod.lobpcg(svod.ones(2, 2), k=3), "lobpcg: 3 eigenvalues"),
        (lambda: svod.svd_lowrank(svod.ones(2, 2), q=3), "svd_lowrank: q=3"),
        (lambda: svod.index_reduce(x, 0, svod.Tensor([0]), x, "prod"), "index_reduce: index"),
        (lambda: svod.index_reduce(x, 0, svod.Tensor([0, 1, 2]), x, "sum"), "reduce is"),
        (lambda: svod.segment_reduce(x, "sum"), "either lengths or offsets"),
        (lambda: svod.segment_reduce(x, "median", lengths=svod.Tensor([3])), "reduce is"),
        (lambda: svod.grouped_mm(svod.ones(2, 2), svod.ones(2, 2)), "grouped_mm: stacks, or offs"),
        (lambda: functional.fractional_max_pool2d(svod.ones(1, 4, 4), 2), "either output_size or output_ratio"),
        (lambda: functional.fractional_max_pool2d(svod.ones(1, 4, 4), 2, 4), "4 windows of 2"),
        (lambda: functional.avg_pool2d(svod.ones(1, 1, 4, 4), 2, divisor_override=0), "divisor_override"),
        (lambda: svod.nonzero_static(x, size=-1), "nonzero_static: size"),
        (lambda: svod.ones(1, 1, 1).H, "H: 2 dimensions"),
        (
            lambda: svod.gru(svod.ones(1, 1, 3), svod.ones(1, 1, 4), [], True, 1, 0.0, False, False, True),
            "gru: 0 parameters",
        ),
    ):
        with pytest.raises(svod.Error, match=message):
            wrong()
