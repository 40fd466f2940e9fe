"""`PrepareConfig`: by keyword, scope and environment. Contract row C5."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from threads import in_threads

import svod


def test_c5_configuration_by_keyword_and_scope() -> None:
    x = svod.arange(100).cast("float32")
    for planner in ("arena", "remap", "disabled"):
        y = (x.reshape(10, 10).softmax(1) @ x.reshape(10, 10)).softmax(0)
        with svod.PrepareConfig(planner=planner, threads=2) as outer:
            assert svod.PrepareConfig() == outer
            with svod.PrepareConfig(strategy="none", schedule_cache=False) as inner:
                assert repr(inner) == (
                    f"PrepareConfig(strategy=none planner={planner} schedule_cache=off threads=2 device=default)"
                )
                first = (y + 0).numpy()
            plan = y.prepare()
        plan.execute()
        np.testing.assert_allclose(y.numpy(), first, rtol=1e-4, atol=1e-5)
        assert plan.memory["bytes_saved"] == plan.memory["bytes_before"] - plan.memory["bytes_after"]
        assert plan.memory["bytes_saved"] == 0 or planner != "disabled"
        x = svod.arange(100).cast("float32")
    assert svod.PrepareConfig() == svod.PrepareConfig(planner="arena")
    with svod.strict(), svod.target("native"):
        inner = svod.PrepareConfig(strategy="beam:3", timeout_secs=2, max_uops=500)
        assert (inner.strict, inner.target, inner.width) == (True, "native", 3)
        assert (inner.timeout_secs, inner.max_uops) == (2, 500)
        assert repr(inner).endswith("timeout_secs=2 max_uops=500 strict=on target=native)")
        with svod.strict(False):
            assert not svod.PrepareConfig().strict
        assert svod.PrepareConfig(strict=False) == svod.PrepareConfig(strict="off") != svod.PrepareConfig()
    assert (svod.PrepareConfig().strict, svod.PrepareConfig().width) == (False, None)
    for options, message in [
        ({"planner": "magic"}, 'planner="magic": expected arena, remap or disabled'),
        ({"threads": 0}, 'threads="0": expected a number from 1'),
        ({"strategy": "beam:0"}, "expected none, heuristic, beam"),
        ({"beam": -1}, "expected a width up to 1024"),
        ({"target": "pdp-11"}, "pdp-11"),
        ({"plan": 1}, "expected one of strategy, beam"),
    ]:
        with pytest.raises(svod.ArgumentError, match=message):
            svod.PrepareConfig(**options)
        with pytest.raises(svod.ArgumentError, match=message):
            (svod.ones(3) + 1).prepare(**options)


def test_c5_scopes_are_those_of_who_entered_them() -> None:
    """Issue 6: generators, tasks and threads do not get into each other's configuration."""

    def planner() -> str:
        return svod.PrepareConfig().planner

    def generator() -> Iterator[int]:
        with svod.PrepareConfig(planner="disabled"):
            yield 1

    suspended = generator()
    next(suspended)
    with svod.PrepareConfig(planner="remap"):
        suspended.close()
        assert planner() == "remap"
    assert planner() == "arena"

    async def task(name: str) -> None:
        with svod.PrepareConfig(planner=name), svod.strict():
            await asyncio.sleep(0)
            assert planner() == name and svod.PrepareConfig().strict
            await asyncio.sleep(0)
        assert planner() == "arena" and not svod.PrepareConfig().strict

    async def both() -> None:
        await asyncio.gather(task("disabled"), task("remap"))

    asyncio.run(both())
    found: list[str] = []
    with svod.PrepareConfig(planner="remap"):
        in_threads(lambda i: found.append(planner()))
    assert set(found) == {"arena"}
    for scope in (svod.PrepareConfig(), svod.strict(), svod.target()):
        with pytest.raises(svod.ArgumentError, match="left without being entered"):
            scope.__exit__(None, None, None)
    config = svod.PrepareConfig(planner="disabled")
    with config:
        with pytest.raises(ZeroDivisionError), config:
            raise ZeroDivisionError
        assert planner() == "disabled"
    assert planner() == "arena"


def test_c5_a_configuration_is_given_to_what_prepares() -> None:
    config = svod.PrepareConfig(strict=True, planner="disabled")
    assert svod.PrepareConfig(config=config) == config
    assert svod.PrepareConfig(config=config, planner="remap").planner == "remap"
    data = svod.Tensor([1e8, 1.0, -1e8, 1.0])
    assert data.sum().realize(config=config).item() == 1.0
    total = data.sum()
    svod.realize(total, config=config)
    assert total.item() == 1.0
    for plan in (data.sum().prepare(config=config), svod.prepare(data.sum(), config=config)):
        plan.execute()
        assert plan.outputs[0].item() == 1.0
    f = svod.jit(config=config)(lambda x: x.sum())
    assert f(data).item() == 1.0
    with pytest.raises(svod.ArgumentError, match="a PrepareConfig is expected, not str"):
        data.sum().realize(config="strict")
    with pytest.raises(svod.ArgumentError, match="beam and strategy say the same"):
        svod.PrepareConfig(beam=3, strategy="none")
    with pytest.raises(svod.DeviceError, match="unknown device 'FOO'"):
        data.sum().realize(device="FOO")


def test_c5_configuration_by_environment() -> None:
    code = "import svod; svod.arange(3).numpy(); svod.arange(4).numpy(); print(svod.PrepareConfig())"
    values = {"SVOD_MEMORY_PLANNER": "remap", "SVOD_PLAN_THREADS": "many", "SVOD_DISABLE_SCHEDULE_CACHE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | values
    )
    assert "planner=remap schedule_cache=off threads=default" in done.stdout
    assert done.stderr.count("SVOD_PLAN_THREADS") == 1 and "expected a number" in done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [("100000", "is more than a pool may have; using 1024 threads"), ("none", "not a positive number")],
)
def test_c5_a_number_of_threads_that_is_not_taken_is_said_once(given: str, said: str) -> None:
    program = "import svod; [(svod.ones(9) * n).sum().item() for n in range(3)]"
    env = os.environ | {"SVOD_THREADS": given}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stderr.count("SVOD_THREADS") == 1 and said in done.stderr


def test_c5_a_device_that_there_is_not_is_none() -> None:
    """Issue 6: a device that no value can be on is refused, and one that the environment names is warned of."""
    for name in ("GPU:98", "CUDA:99", "DISK:/tmp/x"):
        with pytest.raises(svod.Error):
            svod.PrepareConfig(device=name)
    assert "device=CPU:1" in repr(svod.PrepareConfig(device="cpu:1"))
    program = "import svod; print(svod.PrepareConfig(), (svod.ones(2) + 1).tolist())"
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={name: value for name, value in os.environ.items() if name != "SVOD_CUDA"} | {"SVOD_DEVICE": "GPU:0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "device=default" in run.stdout and "[2.0, 2.0]" in run.stdout
    assert run.stderr.count("SVOD_DEVICE") == 1, run.stderr
