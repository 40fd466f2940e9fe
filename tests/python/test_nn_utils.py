"""`svod.nn.utils` beside PyTorch's: norms of gradients, and parameters as one vector."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
import pytest

import svod
from svod.nn import utils

torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
VALUES = [np.array([1.0, -2.0, 0.5]), np.array([[3.0, 4.0]]), np.array(2.0)]


def leaves() -> list[svod.Tensor]:
    made = [svod.Tensor(value).requires_grad_() for value in VALUES]
    for one, value in zip(made, VALUES, strict=True):
        one.grad = svod.Tensor(2 * value)
    return made


def theirs() -> list[Any]:
    made = [torch.tensor(value, requires_grad=True) for value in VALUES]
    for one, value in zip(made, VALUES, strict=True):
        one.grad = torch.tensor(2 * value)
    return made


@pytest.mark.skipif(torch is None, reason="needs PyTorch")
@pytest.mark.parametrize("most", [0.0, 0.1, 7.0, 1e9])
@pytest.mark.parametrize("order", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf"), float("-inf")])
def test_gradients_are_clipped_as_pytorchs_are(order: float, most: float) -> None:
    mine, other = leaves(), theirs()
    found = utils.clip_grad_norm_((p for p in mine), most, order, foreach=True)
    wanted = torch.nn.utils.clip_grad_norm_(other, most, order)
    np.testing.assert_allclose(found.item(), wanted.item(), rtol=1e-12)
    for one, two in zip(mine, other, strict=True):
        np.testing.assert_allclose(one.grad.numpy(), two.grad.numpy(), rtol=1e-12, atol=1e-15)


def test_gradients_are_clipped_by_a_norm_of_more_than_them() -> None:
    mine = leaves()
    total = utils.get_total_norm([p.grad for p in mine])
    assert total.item() == pytest.approx(2 * np.sqrt(sum((value**2).sum() for value in VALUES)))
    utils.clip_grads_with_norm_(mine, 1.0, total * 2)
    np.testing.assert_allclose(mine[1].grad.numpy(), 2 * VALUES[1] / (2 * total.item()), rtol=1e-5)
    utils.clip_grad_value_(mine, 0.1, foreach=False)
    assert all((p.grad.abs() <= 0.1).all().item() for p in mine)
    assert utils.get_total_norm([]).item() == 0.0


def test_what_is_no_number_is_refused_before_anything_is_scaled() -> None:
    mine = leaves()
    mine[2].grad = svod.Tensor(np.array(np.inf))
    with pytest.raises(svod.ArgumentError, match=r"clip_grad_norm_: the 2\.0-norm of the gradients is inf"):
        utils.clip_grad_norm_(mine, 1.0, error_if_nonfinite=True)
    np.testing.assert_array_equal(mine[0].grad.numpy(), 2 * VALUES[0])
    with pytest.raises(svod.ArgumentError, match=r"get_total_norm: the 1\.0-norm of the tensors is inf"):
        utils.get_total_norm([p.grad for p in mine], 1.0, error_if_nonfinite=True)


def test_parameters_are_one_vector_and_back() -> None:
    mine = leaves()
    vector = utils.parameters_to_vector(p for p in mine)
    np.testing.assert_array_equal(vector.numpy(), np.concatenate([value.reshape(-1) for value in VALUES]))
    gradient = svod.grad(lambda w: (utils.parameters_to_vector([w, w * 2]) ** 2).sum())(svod.Tensor([1.0, 3.0]))
    assert gradient.tolist() == [10.0, 30.0]
    utils.vector_to_parameters(vector * 3, (p for p in mine))
    for one, value in zip(mine, VALUES, strict=True):
        np.testing.assert_array_equal(one.numpy(), 3 * value)
        assert one.requires_grad and one.is_leaf
    half = [svod.zeros(2, dtype="float16")]
    utils.vector_to_parameters(svod.Tensor([1.0, 2.0]), half)
    assert half[0].dtype == svod.float16 and half[0].tolist() == [1.0, 2.0]


def test_vectors_that_do_not_fit_are_refused() -> None:
    mine = leaves()
    for given in (svod.zeros(5), svod.zeros(7), svod.zeros(6, 1)):
        with pytest.raises(svod.ShapeError, match="6 elements in a vector are expected"):
            utils.vector_to_parameters(given, mine)
    with pytest.raises(svod.ArgumentError, match="no parameters"):
        utils.parameters_to_vector([])
