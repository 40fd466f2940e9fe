"""Activations and losses, functions and layers: against their formulas in NumPy, and against PyTorch.

Gradients are compared with differences of the formulas, and with PyTorch's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import erf, log, pi
from typing import Any

import numpy as np
import pytest

import svod
import svod.nn.functional as F
from svod import nn

Array = np.ndarray


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def softmax(x: Any, axis: int) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def softplus(x: Any) -> Any:
    return np.logaddexp(0, x)


PHI = np.vectorize(lambda x: (1 + erf(x / np.sqrt(2))) / 2)

# Function, layer, options in the order of both, formula.
ACTIVATIONS: list[tuple[str, str, tuple[Any, ...], Callable[[Any], Any]]] = [
    ("relu", "ReLU", (), lambda x: np.maximum(x, 0)),
    ("relu6", "ReLU6", (), lambda x: np.clip(x, 0, 6)),
    ("hardtanh", "Hardtanh", (-0.5, 0.75), lambda x: np.clip(x, -0.5, 0.75)),
    ("hardsigmoid", "Hardsigmoid", (), lambda x: np.clip(x + 3, 0, 6) / 6),
    ("hardswish", "Hardswish", (), lambda x: x * np.clip(x + 3, 0, 6) / 6),
    ("leaky_relu", "LeakyReLU", (0.2,), lambda x: np.where(x > 0, x, 0.2 * x)),
    ("elu", "ELU", (1.5,), lambda x: np.where(x > 0, x, 1.5 * np.expm1(np.minimum(x, 0)))),
    ("celu", "CELU", (1.5,), lambda x: np.where(x > 0, x, 1.5 * np.expm1(np.minimum(x, 0) / 1.5))),
    (
        "selu",
        "SELU",
        (),
        lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0))),
    ),
    ("gelu", "GELU", (), lambda x: x * PHI(x)),
    ("silu", "SiLU", (), lambda x: x * sigmoid(x)),
    ("mish", "Mish", (), lambda x: x * np.tanh(softplus(x))),
    ("softplus", "Softplus", (2.0, 4.0), lambda x: np.where(2 * x > 4, x, softplus(2 * x) / 2)),
    ("softsign", "Softsign", (), lambda x: x / (1 + np.abs(x))),
    ("sigmoid", "Sigmoid", (), sigmoid),
    ("logsigmoid", "LogSigmoid", (), lambda x: -softplus(-x)),
    ("tanh", "Tanh", (), np.tanh),
    ("tanhshrink", "Tanhshrink", (), lambda x: x - np.tanh(x)),
    ("hardshrink", "Hardshrink", (0.7,), lambda x: np.where(np.abs(x) > 0.7, x, 0)),
    ("softshrink", "Softshrink", (0.7,), lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.7, 0)),
    ("threshold", "Threshold", (0.3, -2.0), lambda x: np.where(x > 0.3, x, -2.0)),
    ("glu", "GLU", (1,), lambda x: x[:, :2] * sigmoid(x[:, 2:])),
    ("softmax", "Softmax", (1,), lambda x: softmax(x, 1)),
    ("softmin", "Softmin", (0,), lambda x: softmax(-x, 0)),
    ("log_softmax", "LogSoftmax", (1,), lambda x: np.log(softmax(x, 1))),
]
NAMED = [name for name, *_ in ACTIVATIONS]


def differences(f: Callable[..., Any], arrays: list[Array], at: int, cotangent: Array) -> Array:
    """The gradient of `(f * cotangent).sum()` by one of its arguments, by central differences."""
    step, found = 1e-6, np.zeros_like(arrays[at])
    for place in np.ndindex(arrays[at].shape):
        moved = []
        for sign in (1, -1):
            changed = [a.copy() for a in arrays]
            changed[at][place] += sign * step
            moved.append(np.sum(f(*changed) * cotangent))
        found[place] = (moved[0] - moved[1]) / (2 * step)
    return found


def is_variable(array: Array) -> bool:
    """Whether an argument has a gradient: labels and signs have none."""
    return array.dtype.kind == "f" and not np.isin(array, (-1.0, 1.0)).all()


def gradients(f: Callable[..., svod.Tensor], arrays: list[Array]) -> tuple[Array, Array, list[Array]]:
    """The value of a function, a cotangent, and the gradients by its variables."""
    tensors = [svod.Tensor(a) for a in arrays]
    floats = [t.requires_grad_() for t, a in zip(tensors, arrays) if is_variable(a)]
    value = f(*tensors)
    cotangent = np.asarray(np.random.default_rng(9).standard_normal(value.shape), dtype=value.numpy().dtype)
    value.backward(svod.Tensor(cotangent))
    return value.numpy(), cotangent, [t.grad.numpy() for t in floats]


def theirs(f: Callable[..., Any], arrays: list[Array], cotangent: Array) -> tuple[Array, list[Array]]:
    torch = pytest.importorskip("torch")
    tensors = [torch.tensor(a) for a in arrays]
    floats = [t.requires_grad_() for t, a in zip(tensors, arrays) if is_variable(a)]
    value = f(*tensors)
    value.backward(torch.tensor(cotangent))
    return value.detach().numpy(), [t.grad.numpy() for t in floats]


def points(dtype: Any = np.float64) -> Array:
    return (np.random.default_rng(3).standard_normal((5, 4)) * 3).astype(dtype)


@pytest.mark.parametrize(("function", "layer", "options", "formula"), ACTIVATIONS, ids=NAMED)
def test_activations_are_their_formulas(function: str, layer: str, options: Any, formula: Any) -> None:
    x = points()
    value, cotangent, (by_x,) = gradients(lambda t: getattr(F, function)(t, *options), [x])
    np.testing.assert_allclose(value, formula(x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(by_x, differences(formula, [x], 0, cotangent), rtol=1e-6, atol=1e-8)
    made = getattr(nn, layer)(*options)
    np.testing.assert_array_equal(made(svod.Tensor(x)).numpy(), value)
    assert repr(made).startswith(layer + "(") and not made.state_dict()


@pytest.mark.parametrize(("function", "layer", "options", "formula"), ACTIVATIONS, ids=NAMED)
def test_activations_are_pytorchs(function: str, layer: str, options: Any, formula: Any) -> None:
    torch = pytest.importorskip("torch")
    # Kinks, infinities and what overflows are among the points.
    x = np.concatenate([points(np.float32), np.float32([[0, -0.0, 1, -1], [6, -3, 3, 0.5], [100, -100, 30, -30]])])
    value, cotangent, (by_x,) = gradients(getattr(nn, layer)(*options), [x])
    right, (other,) = theirs(getattr(torch.nn, layer)(*options), [x], cotangent)
    np.testing.assert_allclose(value, right, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(by_x, other, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("weights", [1, 4])
def test_prelu(weights: int) -> None:
    x, w = points(), np.linspace(-0.5, 0.7, weights)
    layer = nn.PReLU(weights, init=0.3)
    assert layer.weight.tolist() == pytest.approx([0.3] * weights)

    def formula(x: Array, w: Array) -> Array:
        return np.where(x > 0, x, w * x)

    value, cotangent, found = gradients(F.prelu, [x, w])
    np.testing.assert_allclose(value, formula(x, w), rtol=1e-12)
    for at in (0, 1):
        np.testing.assert_allclose(found[at], differences(formula, [x, w], at, cotangent), rtol=1e-6)
    assert nn.PReLU(3)(svod.ones(2, 3, 4, 5)).shape == (2, 3, 4, 5)
    # No channel has no weight.
    assert F.prelu(svod.ones(2, 0, 3, 3), svod.ones(0)).tolist() == [[], []]


rng = np.random.default_rng(5)
X, Y = rng.standard_normal((6, 4)), rng.standard_normal((6, 4))
P, Q = softmax(X, 1), softmax(Y, 1)
BITS = rng.integers(0, 2, (6, 4)).astype(np.float64)
SIGNS = np.where(rng.random(6) < 0.5, 1.0, -1.0)
LABELS = np.array([0, 3, 1, 1, 2, 0])
IGNORED = np.array([0, 3, -100, 1, -100, 0])
WEIGHT = np.array([0.5, 1.0, 2.0, 0.25])
X3 = rng.standard_normal((2, 4, 3))
LABELS3 = np.array([[0, 3, 1], [2, 2, 0]])


def at_labels(logs: Any, labels: Array, weight: Any = None, ignore: int = -100, smoothing: float = 0.0) -> Any:
    """Losses of rows at labels, and the weights of the mean."""
    weight = np.ones(logs.shape[1]) if weight is None else weight
    kept = labels != ignore
    safe = np.where(kept, labels, 0)
    counts = weight[safe] * kept
    even = -(logs * weight).sum(1) * kept
    losses = -logs[np.arange(len(safe)), safe] * counts
    return losses * (1 - smoothing) + even * smoothing / logs.shape[1], counts


def entropy(**options: Any) -> Callable[..., Any]:
    def losses(x: Any, labels: Array) -> Any:
        return at_labels(np.log(softmax(x, 1)), labels, **options)

    return losses


def cosine(a: Any, b: Any) -> Any:
    return (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))


def far(a: Any, b: Any, p: float = 2.0) -> Any:
    return (np.abs(a - b + 1e-6) ** p).sum(1) ** (1 / p)


def stirling(y: Array) -> Array:
    return np.where(y > 1, y * np.log(np.where(y > 1, y, 1)) - y + 0.5 * np.log(2 * pi * np.where(y > 1, y, 1)), 0)


COUNTS = np.array([[0.5, 1.5, 2, 5]] * 6)
SPREAD = np.abs(Y) + 0.1

# Function, layer, options, arguments, losses of elements (with the weights of their mean, where there are any).
LOSSES: list[tuple[str, str, dict[str, Any], list[Array], Callable[..., Any]]] = [
    ("mse_loss", "MSELoss", {}, [X, Y], lambda x, y: (x - y) ** 2),
    ("l1_loss", "L1Loss", {}, [X, Y], lambda x, y: abs(x - y)),
    (
        "smooth_l1_loss",
        "SmoothL1Loss",
        {"beta": 0.7},
        [X, Y],
        lambda x, y: np.where(abs(x - y) < 0.7, (x - y) ** 2 / 1.4, abs(x - y) - 0.35),
    ),
    (
        "huber_loss",
        "HuberLoss",
        {"delta": 0.7},
        [X, Y],
        lambda x, y: np.where(abs(x - y) <= 0.7, (x - y) ** 2 / 2, 0.7 * (abs(x - y) - 0.35)),
    ),
    ("cross_entropy", "CrossEntropyLoss", {}, [X, LABELS], entropy()),
    ("cross_entropy", "CrossEntropyLoss", {"weight": WEIGHT}, [X, LABELS], entropy(weight=WEIGHT)),
    ("cross_entropy", "CrossEntropyLoss", {"ignore_index": 1}, [X, LABELS], entropy(ignore=1)),
    ("cross_entropy", "CrossEntropyLoss", {"label_smoothing": 0.2}, [X, IGNORED], entropy(smoothing=0.2)),
    (
        "cross_entropy",
        "CrossEntropyLoss",
        {"weight": WEIGHT, "label_smoothing": 0.3},
        [X, IGNORED],
        entropy(weight=WEIGHT, smoothing=0.3),
    ),
    ("cross_entropy", "CrossEntropyLoss", {}, [X, Q], lambda x, q: -(q * np.log(softmax(x, 1))).sum(1)),
    (
        "cross_entropy",
        "CrossEntropyLoss",
        {"weight": WEIGHT, "label_smoothing": 0.2},
        [X, Q],
        lambda x, q: -((q * 0.8 + 0.05) * WEIGHT * np.log(softmax(x, 1))).sum(1),
    ),
    (
        "cross_entropy",
        "CrossEntropyLoss",
        {},
        [X3, LABELS3],
        lambda x, y: -np.take_along_axis(np.log(softmax(x, 1)), y[:, None], 1)[:, 0],
    ),
    ("cross_entropy", "CrossEntropyLoss", {}, [X[0], LABELS[1]], lambda x, y: -np.log(softmax(x, 0))[int(y)]),
    ("nll_loss", "NLLLoss", {"weight": WEIGHT}, [X, IGNORED], lambda x, y: at_labels(x, y, WEIGHT)),
    (
        "binary_cross_entropy",
        "BCELoss",
        {"weight": WEIGHT},
        [P, BITS],
        lambda p, y: -(y * np.log(p) + (1 - y) * np.log(1 - p)) * WEIGHT,
    ),
    (
        "binary_cross_entropy_with_logits",
        "BCEWithLogitsLoss",
        {"weight": WEIGHT, "pos_weight": WEIGHT + 1},
        [X, Q],
        lambda x, y: ((1 - y) * softplus(x) + y * (WEIGHT + 1) * softplus(-x)) * WEIGHT,
    ),
    ("kl_div", "KLDivLoss", {}, [X, Q], lambda x, q: q * (np.log(q) - x)),
    ("kl_div", "KLDivLoss", {"log_target": True}, [X, Y], lambda x, y: np.exp(y) * (y - x)),
    ("poisson_nll_loss", "PoissonNLLLoss", {}, [X, COUNTS], lambda x, y: np.exp(x) - y * x),
    (
        "poisson_nll_loss",
        "PoissonNLLLoss",
        {"log_input": False, "full": True},
        [SPREAD, COUNTS],
        lambda x, y: x - y * np.log(x + 1e-8) + stirling(y),
    ),
    (
        "gaussian_nll_loss",
        "GaussianNLLLoss",
        {"full": True},
        [X, Y, SPREAD],
        lambda x, y, v: (np.log(v) + (x - y) ** 2 / v + log(2 * pi)) / 2,
    ),
    (
        "hinge_embedding_loss",
        "HingeEmbeddingLoss",
        {"margin": 0.5},
        [X[:, 0], SIGNS],
        lambda x, y: np.where(y == 1, x, np.maximum(0, 0.5 - x)),
    ),
    ("soft_margin_loss", "SoftMarginLoss", {}, [X[:, 1], SIGNS], lambda x, y: np.log1p(np.exp(-x * y))),
    (
        "multilabel_soft_margin_loss",
        "MultiLabelSoftMarginLoss",
        {"weight": WEIGHT},
        [X, BITS],
        lambda x, y: (((1 - y) * softplus(x) + y * softplus(-x)) * WEIGHT).mean(1),
    ),
    (
        "margin_ranking_loss",
        "MarginRankingLoss",
        {"margin": 0.3},
        [X[:, 0], Y[:, 0], SIGNS],
        lambda a, b, y: np.maximum(0, 0.3 - y * (a - b)),
    ),
    (
        "cosine_embedding_loss",
        "CosineEmbeddingLoss",
        {"margin": 0.1},
        [X, Y, SIGNS],
        lambda a, b, y: np.where(y == 1, 1 - cosine(a, b), np.maximum(0, cosine(a, b) - 0.1)),
    ),
    (
        "triplet_margin_loss",
        "TripletMarginLoss",
        {"margin": 2.0},
        [X, Y, Y[::-1].copy()],
        lambda a, b, c: np.maximum(0, 2 + far(a, b) - far(a, c)),
    ),
    (
        "triplet_margin_loss",
        "TripletMarginLoss",
        {"p": 3.0, "swap": True},
        [X, Y, Y[::-1].copy()],
        lambda a, b, c: np.maximum(0, 1 + far(a, b, 3) - np.minimum(far(a, c, 3), far(b, c, 3))),
    ),
]
SPELT = [f"{name}-{'-'.join(options)}" for name, _, options, *_ in LOSSES]


def of_library(options: dict[str, Any], array: Callable[[Array], Any]) -> dict[str, Any]:
    return {name: array(value) if isinstance(value, Array) else value for name, value in options.items()}


@pytest.mark.parametrize(("function", "layer", "options", "arguments", "formula"), LOSSES, ids=SPELT)
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_losses_are_their_formulas(
    function: str, layer: str, options: Any, arguments: list[Array], formula: Any, reduction: str
) -> None:
    def reduced(*given: Array) -> Any:
        found = formula(*given)
        losses, counts = found if isinstance(found, tuple) else (found, None)
        if reduction == "mean":
            return losses.mean() if counts is None else losses.sum() / counts.sum()
        return losses.sum() if reduction == "sum" else losses

    own = of_library(options, svod.Tensor)
    value, cotangent, found = gradients(lambda *t: getattr(F, function)(*t, reduction=reduction, **own), arguments)
    np.testing.assert_allclose(value, reduced(*arguments), rtol=1e-6)
    for at in range(len(found)):
        np.testing.assert_allclose(found[at], differences(reduced, arguments, at, cotangent), rtol=1e-5, atol=1e-8)
    made = getattr(nn, layer)(reduction=reduction, **own)
    np.testing.assert_array_equal(made(*map(svod.Tensor, arguments)).numpy(), value)
    assert set(made.state_dict()) == {name for name in options if name in ("weight", "pos_weight")}


@pytest.mark.parametrize(("function", "layer", "options", "arguments", "formula"), LOSSES, ids=SPELT)
@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_losses_are_pytorchs(
    function: str, layer: str, options: Any, arguments: list[Array], formula: Any, reduction: str
) -> None:
    torch = pytest.importorskip("torch")
    made = getattr(nn, layer)(reduction=reduction, **of_library(options, svod.Tensor))
    other = getattr(torch.nn, layer)(reduction=reduction, **of_library(options, torch.tensor))
    assert list(made.state_dict()) == list(other.state_dict())
    value, cotangent, found = gradients(made, arguments)
    right, expected = theirs(other, arguments, cotangent)
    np.testing.assert_allclose(value, right, rtol=1e-6)
    for at, (mine, gradient) in enumerate(zip(found, expected)):
        np.testing.assert_allclose(mine, gradient, rtol=1e-6, atol=1e-9, err_msg=f"by argument {at}")


def test_distances_and_angles() -> None:
    np.testing.assert_allclose(F.cosine_similarity(svod.Tensor(X), svod.Tensor(Y)).numpy(), cosine(X, Y), rtol=1e-9)
    long = svod.Tensor(np.full((1, 3000), 8, np.float16))
    assert F.cosine_similarity(long, long).item() == 1
    assert nn.CosineSimilarity(dim=0)(svod.ones(3), svod.zeros(3)).item() == 0
    given = nn.PairwiseDistance(p=3.0, keepdim=True)(svod.Tensor(X), svod.Tensor(Y))
    np.testing.assert_allclose(given.numpy()[:, 0], far(X, Y, 3), rtol=1e-9)


def test_what_is_no_loss_is_refused() -> None:
    x, labels = svod.zeros(3, 4), svod.zeros(3, dtype="int64")
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: F.mse_loss(x, x[0]), r"mse_loss: an input of shape \(3, 4\), a target of \(4,\)"),
        (lambda: F.mse_loss(x, x, reduction="max"), "reduction is"),
        (lambda: F.cross_entropy(x, labels[:2]), r"labels of shape \(2,\) for an input of \(3, 4\)"),
        (lambda: F.nll_loss(x, x), "labels are integers, not float32"),
        (lambda: F.cross_entropy(x, x, svod.ones(3)), r"weights of shape \(3,\) for 4 classes"),
        (lambda: F.glu(svod.zeros(3)), "has no halves"),
        (lambda: F.log_softmax(x), "log_softmax: along which dim"),
    ]
    for made, says in cases:
        with pytest.raises(svod.Error, match=says):
            made()


def test_derivatives_of_sigmoids_do_not_overflow() -> None:
    x = np.float32([0, 1, -1, 30, -30, 60, -60, 90, -90, 1e4, -1e4, np.inf, -np.inf])
    wide = x.astype(np.float64)
    s = np.where(wide >= 0, 1 / (1 + np.exp(-abs(wide))), np.exp(-abs(wide)) / (1 + np.exp(-abs(wide))))
    cases: list[tuple[Callable[[svod.Tensor], svod.Tensor], Array]] = [
        (lambda t: t.sigmoid(), s * (1 - s)),
        (lambda t: t.softplus(), s),
        (lambda t: t[:8].sigmoid().log(), np.pad(1 - s[:8], (0, 5))),
    ]
    for f, expected in cases:
        t = svod.Tensor(x).requires_grad_()
        f(t).sum().backward()
        np.testing.assert_allclose(t.grad.numpy(), expected, rtol=1e-5, atol=1e-7)


def readings(log_probs: Array, labels: list[int], blank: int) -> float:
    """The probability of labels, by all ways of reading them."""
    total = 0.0
    for way in itertools.product(range(log_probs.shape[1]), repeat=len(log_probs)):
        merged = [c for c, _ in itertools.groupby(way)]
        if [c for c in merged if c != blank] == labels:
            total += np.exp(sum(log_probs[t, c] for t, c in enumerate(way)))
    return total


def test_ctc_sums_all_ways_to_read_labels() -> None:
    logs = np.log(softmax(np.random.default_rng(2).standard_normal((5, 4, 3)), 2))
    targets, lengths, counts = np.array([[1, 1], [2, 1], [1, 2], [2, 2]]), [5, 4, 5, 2], [2, 2, 1, 2]
    for blank in (0, 2):
        given = (svod.Tensor(logs), svod.Tensor(np.where(targets == blank, 0, targets)), lengths, counts, blank)
        losses = F.ctc_loss(*given, reduction="none").numpy()
        for item, count in enumerate(counts):
            labels = [0 if c == blank else int(c) for c in targets[item, :count]]
            with np.errstate(divide="ignore"):
                expected = -np.log(readings(logs[: lengths[item], item], labels, blank))
            np.testing.assert_allclose(losses[item], expected, rtol=1e-6)
    # Two alike need a blank between: two steps are not enough.
    assert np.isinf(losses[3]) and nn.CTCLoss(zero_infinity=True)(*given[:4]).item() > 0
    assert F.ctc_loss(*given, reduction="none", zero_infinity=True).numpy()[3] == 0
    with pytest.raises(svod.ShapeError, match="for a batch of 4"):
        F.ctc_loss(svod.Tensor(logs), svod.Tensor(targets[:2]), lengths, counts)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_ctc_is_pytorchs(reduction: str) -> None:
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(2).standard_normal((12, 3, 5))
    targets, lengths, counts = np.array([[1, 1, 3], [2, 4, 4], [1, 2, 3]]), [12, 7, 9], [3, 2, 0]

    def mine(t: svod.Tensor) -> svod.Tensor:
        return nn.CTCLoss(reduction=reduction)(t.log_softmax(2), svod.Tensor(targets), lengths, counts)

    def other(t: Any) -> Any:
        made = torch.nn.CTCLoss(reduction=reduction)
        return made(t.log_softmax(2), torch.tensor(targets), torch.tensor(lengths), torch.tensor(counts))

    value, cotangent, (by_x,) = gradients(mine, [x])
    right, (expected,) = theirs(other, [x], cotangent)
    np.testing.assert_allclose(value, right, rtol=1e-6)
    np.testing.assert_allclose(by_x, expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_layers_of_margins_are_pytorchs(reduction: str) -> None:
    torch = pytest.importorskip("torch")
    scores, rng = X.astype(np.float32), np.random.default_rng(0)
    count, classes = scores.shape
    listed = np.array([[*rng.permutation(classes)[:2], -1, *[0] * classes][:classes] for _ in range(count)])
    for name, options, arguments in (
        ("MultiMarginLoss", {"margin": 0.7}, [scores, rng.integers(0, classes, count)]),
        ("MultiMarginLoss", {"p": 2}, [scores, rng.integers(0, classes, count)]),
        ("MultiLabelMarginLoss", {}, [scores, listed]),
        ("TripletMarginWithDistanceLoss", {"margin": 0.4, "swap": True}, [scores, scores[::-1].copy(), scores * 0.5]),
    ):
        mine = getattr(nn, name)(**options, reduction=reduction)(*map(svod.Tensor, arguments))
        theirs = getattr(torch.nn, name)(**options, reduction=reduction)(*map(torch.tensor, arguments))
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


def test_what_would_give_other_numbers_in_silence_is_an_error() -> None:
    """PyTorch refuses these, too."""
    image, kernel, rows = svod.ones(1, 1, 4, 4), svod.ones(1, 1, 3, 3), svod.ones(2, 3)
    for of in (lambda: F.interpolate(image, 8, mode="bilnear"), lambda: svod.nn.Upsample(scale_factor=2, mode="foo")):
        with pytest.raises(svod.ArgumentError, match=r"mode is one of 'nearest', .*'bilinear'"):
            of()
    for of in (
        lambda: F.conv2d(image, kernel, padding="same", stride=2),
        lambda: F.conv2d(image, kernel, padding="same", stride=(1, 2)),
        lambda: svod.nn.Conv2d(1, 1, 3, padding="same", stride=2),
    ):
        with pytest.raises(svod.ArgumentError, match='padding="same" is for a stride of 1'):
            of()
    assert F.conv2d(image, kernel, padding="same", stride=[1, 1]).shape == image.shape
    for of in (lambda: svod.cdist(rows, rows, p=-1), lambda: svod.pdist(rows, p=-1)):
        with pytest.raises(svod.ArgumentError, match="p=-1 is below 0"):
            of()
