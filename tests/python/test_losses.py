"""Losses read their logits once, whatever the spelling: that of a label is looked up in rows that are read anyway."""

from typing import Any

import numpy as np
import pytest
from passes import asked_for, check, draw, keep, log_sum_exp, row_log_softmax

import svod


def losses(x: Any, labels: Any) -> list[Any]:
    """The negative log-likelihood of labels, in three spellings."""
    at = labels.unsqueeze(1)
    peak = keep(x, "max", 1)
    logsumexp = (x - peak).exp().sum(1, keepdim=True).log() + peak
    hot = svod.arange(x.shape[1]).reshape(1, -1) == at
    return [
        -x.log_softmax(-1).gather(1, at).mean(),
        (logsumexp - x.gather(1, at)).mean(),
        -(x.log_softmax(-1) * hot).sum(1).mean(),
    ]


@pytest.mark.parametrize("spelling", [0, 1, 2])
def test_a_loss_reads_its_logits_once(spelling: int) -> None:
    x, labels = draw(80, 300), np.random.default_rng(1).integers(0, 300, 80)
    e = np.log(np.exp(x.astype(np.float64)).sum(1)) - x[np.arange(80), labels]
    plan = svod.prepare(losses(svod.Tensor(x), svod.Tensor(labels))[spelling])
    # The second kernel looks up one logit a row.
    rows = [kernel for kernel in plan.kernels if kernel.name == "rows_80x300"]
    assert len(plan.kernels) == 2 and len(rows) == 1
    assert asked_for(plan) < 1.1 * x.nbytes
    plan.execute()
    np.testing.assert_allclose(plan.outputs[0].numpy(), e.mean(), rtol=1e-5)


@pytest.mark.parametrize("spelling", range(3))
def test_label_smoothing_reads_its_logits_once(spelling: int) -> None:
    x, labels = draw(40, 130), np.random.default_rng(1).integers(0, 130, 40)
    t, y = svod.Tensor(x), svod.Tensor(labels)
    logs = row_log_softmax(t) if spelling == 1 else t.log_softmax(1)
    picked = logs.gather(1, y.unsqueeze(1)).squeeze(1)
    hot = svod.arange(130).reshape(1, -1) == y.unsqueeze(1)
    loss = [
        -0.9 * picked - 0.1 * logs.mean(1),
        0.9 * -picked + 0.1 * -(logs.sum(1) / 130),
        -(logs * (hot * 0.9 + 0.1 / 130)).sum(1),
    ][spelling]
    right = x.astype(np.float64) - np.log(np.exp(x.astype(np.float64)).sum(1, keepdims=True))
    expected = -0.9 * right[np.arange(40), labels] - 0.1 * right.mean(1)
    # Logits are looked up in the rows that the kernel reads.
    check([loss], [expected], moves=x.nbytes + 8 * 40 + 4 * 40)


def picked(x: svod.Tensor, labels: Any) -> list[svod.Tensor]:
    """The element of each row that its label names, as PyTorch and NumPy write it, and as a gather."""
    n = x.shape[0]
    at = svod.Tensor(labels)
    return [
        x[svod.arange(n), at],
        x[np.arange(n), at],
        x[list(range(n)), at],
        x[svod.arange(n, dtype="int32"), at],
        x.gather(1, at.reshape(n, 1)).reshape(n),
    ]


@pytest.mark.parametrize("spelling", range(5))
def test_a_loss_that_indexes_rows_reads_its_logits_once(spelling: int) -> None:
    n, classes = 40, 700
    x, labels = draw(n, classes), np.random.default_rng(1).integers(-classes, classes, n)
    losses = log_sum_exp(x, 1)[:, 0] - x[np.arange(n), labels]
    t = svod.Tensor(x)
    read = x.nbytes + 8 * n
    check([t.logsumexp(1) - picked(t, labels)[spelling]], [losses], moves=read + 4 * n, tolerance=1e-4)
    t = svod.Tensor(x)
    plan = svod.prepare((t.logsumexp(1) - picked(t, labels)[spelling]).mean())
    names = [k.name for k in plan.kernels]
    assert names == [k.name for k in svod.prepare((t.logsumexp(1) - picked(t, labels)[-1]).mean()).kernels]
    plan.execute()
    np.testing.assert_allclose(plan.outputs[0].item(), losses.mean(), rtol=1e-5)


@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.1}, {"weight": [0.5, 1.0, 2.0]}])
def test_a_batch_without_labels_has_no_gradient(options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).standard_normal((2, 3))
    results = []
    for library, tensor in ((torch.nn.functional, torch.tensor), (svod.nn.functional, svod.Tensor)):
        given = tensor(x).requires_grad_()
        more = {k: tensor(np.array(v)) if k == "weight" else v for k, v in options.items()}
        loss = library.cross_entropy(given, tensor(np.array([-100, -100])), **more)
        loss.backward()
        results.append((loss.detach().numpy(), given.grad.numpy()))
    for theirs, mine in zip(*results, strict=True):
        np.testing.assert_array_equal(theirs, mine)
    assert not results[1][1].any()


def test_logits_of_ignored_labels_may_be_infinite() -> None:
    logs = svod.Tensor([[-np.inf, 0.0], [-1.0, -2.0]]).requires_grad_()
    loss = svod.nn.functional.nll_loss(logs, svod.Tensor([-100, 1]))
    loss.backward()
    assert loss.item() == 2.0
    assert logs.grad is not None
    assert logs.grad.tolist() == [[0.0, 0.0], [0.0, -1.0]]


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8"])
@pytest.mark.parametrize("ignored", [-100, -1, 2])
@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
def test_labels_below_0_are_no_classes(name: str, ignored: int, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    x, labels = draw(4, 3), np.array([0, 1, ignored, 1])
    theirs = getattr(torch.nn.functional, name)(torch.tensor(x), torch.tensor(labels), ignore_index=ignored)

    def loss(x: Any, labels: Any, weight: Any = None) -> Any:
        return getattr(svod.nn.functional, name)(x, labels, weight, ignore_index=ignored)

    given = svod.Tensor(x)
    np.testing.assert_allclose(loss(given, svod.Tensor(labels.astype(dtype))).item(), theirs.item(), rtol=1e-6)
    for wrong in (-2, -3, 3):
        labels[0] = wrong
        with pytest.raises(IndexError):
            getattr(torch.nn.functional, name)(torch.tensor(x), torch.tensor(labels), ignore_index=ignored)
        those = svod.Tensor(labels.astype(dtype))
        for weight in (None, svod.ones(3)):
            with pytest.raises(svod.IndexError):
                loss(given, those, weight).item()
        for compute in (svod.grad(loss), svod.jit(svod.grad(loss))):
            with pytest.raises(svod.IndexError):
                compute(given, those).tolist()


def test_labels_of_few_bits_and_many_classes() -> None:
    x = draw(2, 300)
    labels = np.array([3, 127])
    mine = [svod.nn.functional.cross_entropy(svod.Tensor(x), svod.Tensor(labels.astype(t))).item() for t in "blB"]
    assert mine[0] == mine[1] == mine[2]
    with pytest.raises(svod.IndexError):
        svod.nn.functional.cross_entropy(svod.Tensor(x), svod.Tensor(np.array([-1, 3], np.int8))).item()


def test_margins_of_labels_below_0() -> None:
    x = svod.arange(6.0).reshape(2, 3)
    assert svod.nn.functional.multi_margin_loss(x, svod.Tensor([0, 1])).item() == pytest.approx(7 / 6)
    with pytest.raises(svod.IndexError):
        svod.nn.functional.multi_margin_loss(x, svod.Tensor([-1, 1])).item()
