"""`svod.detect_nan`: the first NaN of a run is an error that names the kernel and its lines; nothing else changes."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
from svod import nn, optim
from svod.nn import functional as F


def line() -> int:
    """The number of the caller's line."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def test_the_line_and_the_place_are_named() -> None:
    x = svod.Tensor(np.ones((3, 4), np.float32)) * svod.Tensor([1.0, 2.0, 0.0, 3.0])
    x.realize()
    y, at = (x / x).sum(0), line()
    with svod.detect_nan(), pytest.raises(svod.ExecutionError) as raised:
        y.numpy()
    told = str(raised.value)
    assert f"{os.path.basename(__file__)}:{at}" in told
    assert "NaN at [2] of its result float32[4]; what it reads has none" in told


def test_a_nan_that_is_given_is_told_from_one_that_is_made() -> None:
    given = svod.Tensor([1.0, np.nan])
    with svod.detect_nan():
        with pytest.raises(svod.ExecutionError, match="a tensor that it reads has NaN already"):
            (given + 1).numpy()
        x = svod.empty(2)
        plan = (x + 1).prepare(inputs=[x])
    plan.execute(np.float32([1, 2]))
    with pytest.raises(svod.ExecutionError, match=r"NaN at \[0\] of its result float32\[2\]; input 0 has NaN already"):
        plan.execute(np.float32([np.nan, 2]))
    # What runs next is sound, and so is what does not look.
    plan.execute(np.float32([3, 4]))
    assert plan.outputs[0].tolist() == [4, 5]
    assert np.isnan((given + 1).numpy()[1])


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "float64", "float8_e5m2", "float8_e4m3fn", "complex64", "complex128"]
)
def test_types_that_have_nan(dtype: str) -> None:
    x = svod.Tensor([0.0, 1.0, 2.0]).cast(dtype)
    sound = (x + x).cast(dtype)
    with svod.detect_nan():
        assert sound.tolist() == [0, 2, 4]
        with pytest.raises(svod.ExecutionError, match="NaN"):
            (x / svod.Tensor([0.0, 1.0, 1.0]).cast(dtype)).realize()
        # Infinities are numbers.
        (svod.Tensor([1.0]) / svod.Tensor([0.0])).realize()
        (svod.Tensor([2**31 - 1]) + 1).realize()


def test_only_what_sizes_reach_is_looked_at() -> None:
    n = svod.Variable("n", 1, 8)
    x = svod.empty(n)
    with svod.detect_nan():
        plan = svod.prepare((x.log() * 2).contiguous(), x.log().sort()[0], inputs=[x])
    with pytest.raises(svod.ExecutionError, match=r"NaN at \[5\] of its result float32\[6\]"):
        plan.execute(np.float32([1, 1, 1, 1, 1, -1]))
    for count in (3, 5, 1):
        plan.execute(np.ones(count, np.float32))
        assert plan.outputs[0].tolist() == [0] * count
    with pytest.raises(svod.ExecutionError, match="NaN"):
        plan.execute(-np.ones(2, np.float32))


def steps(**options: Any) -> tuple[nn.Module, Callable[[Any], svod.Tensor]]:
    """A model and a jitted step of its training, which divides by the mean of a batch."""
    svod.manual_seed(0)
    model = nn.Linear(3, 2).requires_grad_()
    optimizer = optim.Adam(model.parameters(), lr=0.1)

    @svod.jit
    def step(x: svod.Tensor) -> svod.Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x / x.mean()), svod.ones(4, 2))
        loss.backward()
        optimizer.step()
        return loss

    return model, step


def test_a_step_that_fails_changes_nothing() -> None:
    batches = [np.random.default_rng(i).random((4, 3), np.float32) for i in range(4)]
    model, step = steps()
    with svod.detect_nan():
        for batch in batches[:2]:
            step(batch)
        before = {name: value.numpy().copy() for name, value in model.state_dict().items()}
        with pytest.raises(svod.ExecutionError, match=rf"{os.path.basename(__file__)}.*NaN"):
            step(np.zeros((4, 3), np.float32))
        for name, value in model.state_dict().items():
            np.testing.assert_array_equal(value.numpy(), before[name])
        losses = [step(batch).item() for batch in batches[2:]]
    other, plain = steps()
    expected = [plain(batch).item() for batch in batches]
    np.testing.assert_allclose(losses, expected[2:], rtol=1e-5)
    for name, value in other.state_dict().items():
        np.testing.assert_allclose(value.numpy(), model.state_dict()[name].numpy(), rtol=1e-4, atol=1e-6)


def test_functions_of_python_and_copies_are_looked_at() -> None:
    x = svod.Tensor([1.0, 2.0])
    with svod.detect_nan():
        with pytest.raises(svod.ExecutionError, match=r"NaN at \[1\]"):
            svod.custom(lambda a: np.where(a > 1.5, np.nan, a), x * 1).numpy()
        with pytest.raises(svod.ExecutionError, match="NaN"):
            (x * svod.Tensor([1.0, np.nan])).to("CPU:1").numpy()


def test_the_switch_is_an_option_and_a_variable() -> None:
    x = svod.Tensor([-1.0])
    with pytest.raises(svod.ExecutionError, match="NaN"):
        x.sqrt().realize(detect_nan=True)
    with svod.PrepareConfig(detect_nan=True) as config:
        assert config.detect_nan and "detect_nan=on" in repr(config)
        with svod.detect_nan(False):
            assert np.isnan(x.sqrt().item())
    assert not svod.PrepareConfig().detect_nan
    program = "import svod; print(svod.Tensor([-1.0]).sqrt().tolist())"
    for value, fails in (("1", True), ("0", False)):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env=os.environ | {"SVOD_DETECT_NAN": value}
        )
        assert (done.returncode != 0) is fails
        assert ("ExecutionError" in done.stderr) is fails


def told(compute: Callable[[], Any]) -> str:
    with svod.detect_nan(), pytest.raises(svod.ExecutionError) as raised:
        compute()
    return str(raised.value)


def made_by(name: str, at: int) -> str:
    return f"the first is made by `{name}`, at {__file__}:{at}"


def test_the_operation_within_a_kernel_is_named() -> None:
    x = svod.Tensor([4.0, -1.0, 9.0])
    # All of this is one kernel.
    scaled = x * 2
    root, at = scaled.sqrt(), line()
    loss = ((root + 1).exp() - root.abs()).sum()
    assert made_by("sqrt", at) in told(loss.item)
    scale = svod.Tensor([1.0, 0.0])
    # 0 times minus infinity: the logarithm is a number.
    product, at = svod.log(scale) * scale, line()
    assert made_by("*", at) in told((product + 1).sum().item)
    # What is masked is not what fails.
    safe = svod.where(x > 0, x.log(), 0.0)
    quotient, at = (safe - safe) / (safe - safe), line()
    assert made_by("/", at) in told(quotient.cos().numpy)


def test_functions_of_the_package_and_modules_are_named() -> None:
    logits = svod.Tensor([[np.inf, np.inf], [0.0, 1.0]]) * 1
    weights, at = F.softmax(logits, -1), line()
    assert made_by("softmax", at) in told((weights * 2).sum().item)

    class Net(nn.Module):
        def forward(self, x: svod.Tensor) -> svod.Tensor:
            return x.acos() + 1

    at = inspect.getsourcelines(Net.forward)[1] + 1
    assert f"{made_by('acos', at)} (Net)" in told(Net()(svod.Tensor([2.0])).sum().item)


def test_derivatives_are_named_by_what_they_are_of() -> None:
    x = svod.Tensor([0.0, 1.0]).requires_grad_()
    root, at = x.sqrt(), line()
    (root * svod.Tensor([0.0, 1.0])).sum().backward()
    assert x.grad is not None
    assert f"made by the derivative of `sqrt`, at {__file__}:{at}" in told(x.grad.numpy)


def test_the_operation_is_named_in_plans_of_any_size_and_in_steps() -> None:
    n = svod.Variable("n", 1, 8)
    x, y = svod.empty(n), svod.ones(1).realize()
    shifted, at = (x + y).log(), line()
    with svod.detect_nan():
        plan = svod.prepare((shifted * 2).sum(), inputs=[x, y])
    assert plan.run(np.zeros(3, np.float32), np.ones(1, np.float32))[0].item() == 0
    with pytest.raises(svod.ExecutionError) as raised:
        plan.execute(np.float32([0, -3, 0, 0, 0]), np.ones(1, np.float32))
    assert made_by("log", at) in str(raised.value)
    # What a run keeps from before is what it was given then.
    plan.execute(np.zeros(2, np.float32), np.ones(1, np.float32))
    plan.inputs[1].copy_(np.float32([-1.5]))
    with pytest.raises(svod.ExecutionError) as raised:
        plan.execute()
    assert made_by("log", at) in str(raised.value)
    _, step = steps()
    with svod.detect_nan():
        step(np.ones((4, 3), np.float32))
        with pytest.raises(svod.ExecutionError, match=rf"made by `/`, at {__file__}:\d+"):
            step(np.zeros((4, 3), np.float32))


def test_sizes_that_a_run_has_for_itself_alone() -> None:
    n = svod.Variable("n", 1, 8)
    lines, at = svod.jit(lambda x: x.log(), shapes={"x": (n,)}), line()
    with svod.detect_nan():
        for count in (3, 5, 2):
            assert lines(np.ones(count, np.float32)).tolist() == [0] * count
            with pytest.raises(svod.ExecutionError) as raised:
                lines(np.float32([1] * (count - 1) + [-1]))
            said = str(raised.value)
            assert f"NaN at [{count - 1}] of its result float32[{count}]" in said and made_by("log", at) in said
    x = svod.empty(n)
    with svod.detect_nan():
        plan = x.log().prepare(inputs=[x])
    # What the plan's own memory holds at other sizes is not looked at.
    with pytest.raises(svod.ExecutionError, match=r"NaN at \[5\] of its result float32\[6\]"):
        plan.execute(np.float32([1, 1, 1, 1, 1, -1]))
    assert plan.run(np.ones(2, np.float32))[0].tolist() == [0, 0]
    with pytest.raises(svod.ExecutionError, match=r"NaN at \[7\] of its result float32\[8\]"):
        plan.run(np.float32([1] * 7 + [-1]))
