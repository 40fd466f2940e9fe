"""What has no gradient is an error at the line that asks for it, of a type that says what the mistake is."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod


def leaf() -> svod.Tensor:
    return svod.Tensor([1.0, 2.0]).requires_grad_()


def twice() -> None:
    w = leaf()
    loss = (w * w).sum()
    loss.backward()
    loss.backward()


def of_a_part() -> None:
    w = leaf()
    w[0] = 3.0


MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "no scalar": (lambda: (leaf() * 2).backward(), svod.ShapeError, r"backward: float32\[2\] is no scalar"),
    "no scalar of a function": (
        lambda: svod.grad(lambda x: x * 2)(svod.ones(2)), svod.ShapeError, r"grad: float32\[2\] is no scalar",
    ),
    "integers": (lambda: svod.Tensor([1]).requires_grad_(), svod.DTypeError, r"only floats .* not int64\[1\]"),
    "integers of a function": (
        lambda: svod.grad(lambda x: x.sum())(svod.Tensor([1])), svod.DTypeError, r"grad: only floats .* int64\[1\]",
    ),
    "bools": (lambda: svod.grad(lambda x: x.sum())(svod.Tensor([True])), svod.DTypeError, r"not bool\[1\]"),
    "a function of Python": (
        lambda: svod.grad(lambda x: svod.custom(np.sort, x).sum())(svod.ones(2)),
        svod.UnsupportedError, r"the function sort of float32\[2\] has no derivative",
    ),
    "a factorization": (
        lambda: svod.grad(lambda x: svod.linalg.qr(x, "complete")[0].sum())(svod.ones(3, 2)),
        svod.ArgumentError, "qr: the complete factors",
    ),
    "history let go": (twice, svod.ArgumentError, "an earlier `backward` without `retain_graph`"),
    "cut off": (lambda: leaf().detach().sum().backward(), svod.ArgumentError, r"float32\[\] requires no gradient"),
    "a cotangent's shape": (
        lambda: (leaf() * 2).backward(svod.ones(3)), svod.ShapeError, r"float32\[3\] does not fit float32\[2\]",
    ),
    "a cotangent's type": (
        lambda: (leaf() * 2).backward(svod.ones(2, dtype=svod.int64)),
        svod.DTypeError, r"int64\[2\] does not fit float32\[2\]",
    ),
    "a cotangent of a function": (
        lambda: svod.vjp(lambda x: x * 2, svod.ones(2))[1](svod.ones(3)),
        svod.ShapeError, r"vjp: the cotangent float32\[3\]",
    ),
    "a complex loss": (
        lambda: svod.grad(lambda z: (z * z).sum())(svod.Tensor([1 + 2j])),
        svod.DTypeError, r"grad: complex64\[\] is no real number: give the cotangent, or a real loss",
    ),
    "no tensor": (lambda: svod.grad(lambda x: 3.0)(svod.ones(1)), svod.ArgumentTypeError, "gives float, which is"),
    "an assigned leaf": (lambda: leaf().assign(svod.ones(2)), svod.ArgumentError, "assign: .* under `no_grad`"),
    "a part of a leaf": (of_a_part, svod.ArgumentError, "setitem: .* write it under `no_grad`"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_errors_at_their_lines(mistake: str) -> None:
    make, kind, message = MISTAKES[mistake]
    with pytest.raises(kind, match=message) as raised:
        make()
    assert isinstance(raised.value, svod.Error)
    frames = traceback.extract_tb(raised.value.__traceback__)
    assert any(frame.filename == __file__ and frame.name in ("<lambda>", make.__name__) for frame in frames)


def test_what_backward_needs_is_a_value() -> None:
    """Nothing that is assigned later changes what a gradient is computed of."""
    w, x = leaf(), svod.Tensor([3.0, 4.0])
    loss = (w * x).sum()
    x[0] = 100.0
    loss.backward()
    assert w.grad is not None and w.grad.tolist() == [3.0, 4.0]


@pytest.mark.parametrize("constant", [lambda: svod.eye(3)[0], lambda: svod.arange(3.0), lambda: svod.arange(3.0) * 2])
def test_computed_constants_are_not_told_from_equal_ones(constant: Callable[[], svod.Tensor]) -> None:
    """A factor that is equal to what a derivative is taken by would count as that."""
    x = constant()
    with pytest.raises(svod.ArgumentError, match="is a constant, and so is each equal one"):
        (x * constant()).sum().gradient(x)
    x = constant().realize()
    np.testing.assert_array_equal((x * constant()).sum().gradient(x)[0].numpy(), constant().numpy())
    x = constant().requires_grad_()
    np.testing.assert_array_equal((x * constant()).sum().gradient(x)[0].numpy(), constant().numpy())
    np.testing.assert_array_equal(svod.grad(lambda x: (x * constant()).sum())(constant()).numpy(), constant().numpy())
