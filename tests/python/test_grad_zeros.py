"""Derivatives that are 0 everywhere are zeros to `backward`, `gradient` and `grad`; without a path there are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
from svod import optim

Made = Callable[[Any, Any, Any], Any]

# Operations whose result follows from `p` by operations on floats, none of which passes anything on.
ZEROS: dict[str, Made] = {
    "floor": lambda lib, p, q: p.floor(),
    "ceil": lambda lib, p, q: p.ceil(),
    "round": lambda lib, p, q: p.round(),
    "round to decimals": lambda lib, p, q: lib.round(p, decimals=1),
    "trunc": lambda lib, p, q: p.trunc(),
    "fix": lambda lib, p, q: lib.fix(p),
    "sign": lambda lib, p, q: p.sign(),
    "copysign": lambda lib, p, q: lib.copysign(q.detach(), p),
    "floor of a quotient": lambda lib, p, q: lib.div(p, q.detach(), rounding_mode="floor"),
    "trunc of a quotient": lambda lib, p, q: lib.div(p, q.detach(), rounding_mode="trunc"),
    "floor of a product": lambda lib, p, q: (p * q).floor(),
    "floor in a product": lambda lib, p, q: p.floor() * q,
    "sign in a sum": lambda lib, p, q: p.sign() + q,
    "through half": lambda lib, p, q: p.half().floor().float(),
    "moved": lambda lib, p, q: p.reshape(3, 1).expand(3, 2).ceil().permute(1, 0)[:, 1:],
    "twice": lambda lib, p, q: (p.floor() * 3).cos().round(),
    "cumsum": lambda lib, p, q: p.cumsum(0).floor(),
    "gather": lambda lib, p, q: p.floor().gather(0, lib.arange(3)),
    "sort": lambda lib, p, q: p.trunc().sort()[0],
    "where": lambda lib, p, q: lib.where(q > 0, p.round(), q),
}
# What has a derivative beside that.
OTHERS: dict[str, Made] = {
    "frac": lambda lib, p, q: lib.frac(p),
    "fmod": lambda lib, p, q: lib.fmod(p, q.detach()),
    "straight through": lambda lib, p, q: p + (p.round() - p).detach(),
    "copysign's size": lambda lib, p, q: lib.copysign(p, q.detach()),
    "floor and itself": lambda lib, p, q: p.floor() * p,
}
# What does not follow from `p` by operations on floats.
NONE: dict[str, Made] = {
    "comparison": lambda lib, p, q: (p > 0).float() * q,
    "argmax": lambda lib, p, q: p.argmax() * q,
    "sorted positions": lambda lib, p, q: p.argsort() * q,
    "integers": lambda lib, p, q: p.long() * q,
    "detach": lambda lib, p, q: p.detach().floor() * q,
    "condition": lambda lib, p, q: lib.where(p > 0, q, 2 * q),
    "zeros like it": lambda lib, p, q: lib.zeros_like(p) + q,
}


def operands(lib: Any) -> tuple[Any, Any]:
    made = lib.tensor if hasattr(lib, "tensor") and lib is not svod else svod.Tensor
    return made([1.5, -0.5, 2.7]).requires_grad_(), made([2.0, 3.0, -1.0]).requires_grad_()


@pytest.mark.parametrize("name", [*ZEROS, *OTHERS, *NONE])
def test_as_pytorch_has_it(name: str) -> None:
    torch = pytest.importorskip("torch")
    made = {**ZEROS, **OTHERS, **NONE}[name]
    p, q = operands(torch)
    made(torch, p, q).sum().backward()
    own, other = operands(svod)
    made(svod, own, other).sum().backward()
    for found, right in ((own.grad, p.grad), (other.grad, q.grad)):
        assert (found is None) == (right is None)
        if right is not None:
            np.testing.assert_allclose(found.numpy(), right.numpy(), rtol=1e-5)
    assert (own.grad is None) == (name in NONE)
    assert name not in ZEROS or (own.grad.numpy() == 0).all()


@pytest.mark.parametrize("name", ZEROS)
def test_gradient_and_grad_say_the_same(name: str) -> None:
    p, q = operands(svod)
    (found,) = ZEROS[name](svod, p, q).sum().gradient(p)
    assert found.shape == (3,) and found.tolist() == [0, 0, 0]
    assert svod.grad(lambda p: ZEROS[name](svod, p, q).sum())(p).tolist() == [0, 0, 0]
    # Nothing that is 0 is made NaN by an infinite derivative on its way.
    assert svod.grad(lambda p: ZEROS[name](svod, (p - p).sqrt(), q).sum())(p).tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", NONE)
def test_without_a_path_gradient_is_an_error(name: str) -> None:
    p, q = operands(svod)
    with pytest.raises(svod.ArgumentError, match="does not follow from"):
        NONE[name](svod, p, q).sum().gradient(p)


def test_signs_are_what_they_were() -> None:
    x = [-2.0, -0.0, 0.0, 3.0, svod.nan, -svod.inf]
    p = svod.Tensor(x).requires_grad_()
    np.testing.assert_array_equal(p.sign().numpy(), np.sign(x))
    assert not np.signbit(p.sign().numpy()[1:3]).any()
    np.testing.assert_array_equal(svod.copysign(svod.Tensor(x), p).numpy(), np.copysign(x, x))


def test_weight_decay_acts_where_a_derivative_is_zero() -> None:
    p, q = svod.Tensor([1.5]).requires_grad_(), svod.Tensor([2.0]).requires_grad_()
    optimizer = optim.SGD([p, q], lr=0.1, weight_decay=0.5)
    (p.floor() * q).sum().backward()
    optimizer.step()
    np.testing.assert_allclose(p.detach().numpy(), [1.425], rtol=1e-6)


def test_a_path_through_checkpoints_loops_and_rules() -> None:
    p = svod.Tensor([1.5, 2.5]).requires_grad_()
    svod.checkpoint(lambda p: p.floor() * 2)(p).sum().backward()
    assert p.grad is not None and p.grad.tolist() == [0, 0]

    for count in (3, 200):
        p.grad = None
        svod.iterate(count, lambda i, c: (c + 1).floor(), p).sum().backward()
        assert p.grad is not None and p.grad.tolist() == [0, 0]

    # What a rule passes on is what it says.
    @svod.custom_gradient
    def first(x: svod.Tensor, y: svod.Tensor) -> Any:
        return x * y, lambda g: (g * y, None)

    q = svod.Tensor([3.0, 4.0]).requires_grad_()
    p.grad = None
    first(p, q).sum().backward()
    assert p.grad is not None and p.grad.tolist() == [3, 4]
    assert q.grad is None


def test_parts_without_elements_that_are_joined() -> None:
    x = svod.Tensor([1.0, 2.0]).requires_grad_()
    for parts, expected in (
        ([x[:0], svod.ones(3)], [0, 0]),
        ([x, svod.ones(3), x[:0]], [1, 1]),
        ([x[:0]] * 20 + [svod.ones(3)], [0, 0]),
    ):
        x.grad = None
        svod.cat(parts).sum().backward()
        assert x.grad is not None and x.grad.tolist() == expected
    none = svod.ones((0,)).requires_grad_()
    svod.cat([none, x]).sum().backward()
    assert none.grad is not None and none.grad.tolist() == []


def test_what_is_written_over_with_a_constant() -> None:
    x = svod.Tensor([1.0, 2.0]).requires_grad_()
    for write in (lambda y: y.fill_(3.0), lambda y: y.zero_()):
        x.grad = None
        y = x * 2
        write(y)
        assert y.requires_grad and y.tolist() in ([3, 3], [0, 0])
        (y * y).sum().backward()
        assert x.grad is not None and x.grad.tolist() == [0, 0]
        with svod.no_grad():
            z = x * 2
            write(z)
            assert not z.requires_grad
