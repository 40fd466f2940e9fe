"""Schedules beside PyTorch's: the rates and momenta of each step, alone, one after the other, and together."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
from svod import optim

torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
STEPS = 25

Made = Callable[[Any, Any], Any]
# Of the schedules' module and an optimizer of two groups, which begin at 0.2 and 0.7.
SCHEDULES: dict[str, Made] = {
    "StepLR": lambda s, o: s.StepLR(o, 3, 0.5),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda step: 0.5 + 1 / (1 + step)),
    "MultiplicativeLR of groups": lambda s, o: s.MultiplicativeLR(o, [lambda t: 0.9, lambda t: 1.1]),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o),
    "PolynomialLR power": lambda s, o: s.PolynomialLR(o, 10, 2.5),
    "CosineAnnealingLR beyond": lambda s, o: s.CosineAnnealingLR(o, 7, 0.01),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 4),
    "CosineAnnealingWarmRestarts longer": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.1, 0.9, 4),
    "CyclicLR triangular2": lambda s, o: s.CyclicLR(o, [0.1, 0.2], [0.9, 0.8], 3, 5, "triangular2"),
    "CyclicLR exp_range": lambda s, o: s.CyclicLR(o, 0.1, 0.9, 3, mode="exp_range", gamma=0.9, max_momentum=0.95),
    "CyclicLR scale_fn": lambda s, o: s.CyclicLR(
        o, 0.1, 0.9, 3, scale_fn=lambda x: 1 / (1 + x), scale_mode="iterations", cycle_momentum=False
    ),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, [0.5, 0.8], STEPS),
    "OneCycleLR three_phase": lambda s, o: s.OneCycleLR(o, 0.5, STEPS, three_phase=True, pct_start=0.4),
    "OneCycleLR linear": lambda s, o: s.OneCycleLR(
        o, 0.5, epochs=5, steps_per_epoch=5, anneal_strategy="linear", three_phase=True
    ),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler(
        [s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9), s.CosineAnnealingLR(o, 30, 0.01)]
    ),
    "ChainedScheduler of steps": lambda s, o: s.ChainedScheduler([s.LinearLR(o, 0.3, 1.0, 6), s.StepLR(o, 5)]),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 5), s.PolynomialLR(o, 12), s.ConstantLR(o, 0.5, 2)], [5, 17]
    ),
    "SequentialLR of cycles": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 4), s.CyclicLR(o, 0.01, 0.5, 3), s.ExponentialLR(o, 0.9)], [4, 15]
    ),
    "SequentialLR from a cycle": lambda s, o: s.SequentialLR(
        o, [s.CyclicLR(o, 0.01, 0.5, 3), s.ExponentialLR(o, 0.9)], [7]
    ),
    "SequentialLR to one cycle": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 4), s.OneCycleLR(o, 0.5, 21)], [4]
    ),
    "SequentialLR from one cycle": lambda s, o: s.SequentialLR(
        o, [s.OneCycleLR(o, 0.5, 10), s.ConstantLR(o, 0.5, 3)], [9]
    ),
    "SequentialLR of products": lambda s, o: s.SequentialLR(
        o, [s.MultiplicativeLR(o, lambda t: 0.9), s.MultiplicativeLR(o, lambda t: 0.7 + t / 20), s.StepLR(o, 2)], [3, 7]
    ),
    "SequentialLR to products": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 5), s.MultiplicativeLR(o, lambda t: 0.9)], [4]
    ),
    "SequentialLR to restarts": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 4), s.CosineAnnealingWarmRestarts(o, 3, 2)], [4]
    ),
    "SequentialLR of many": lambda s, o: s.SequentialLR(
        o,
        [
            s.LinearLR(o, 0.1),
            s.CosineAnnealingLR(o, 10, 0.01),
            s.LambdaLR(o, lambda t: 1 / (1 + t)),
            s.MultiStepLR(o, [2]),
        ],
        [4, 10, 14],
    ),
    "SequentialLR of empty parts": lambda s, o: s.SequentialLR(
        o, [s.StepLR(o, 2), s.ExponentialLR(o, 0.9), s.StepLR(o, 3), s.PolynomialLR(o, 9)], [0, 6, 6]
    ),
    "ChainedScheduler of SequentialLR": lambda s, o: s.ChainedScheduler(
        [s.SequentialLR(o, [s.LinearLR(o, 0.1), s.ExponentialLR(o, 0.9)], [4]), s.StepLR(o, 3, 0.5)]
    ),
    "ReduceLROnPlateau": lambda s, o: s.ReduceLROnPlateau(o, patience=1, factor=0.5),
    "ReduceLROnPlateau max": lambda s, o: s.ReduceLROnPlateau(
        o, "max", 0.5, 2, 0.1, "abs", cooldown=2, min_lr=[0.05, 0.3]
    ),
    "ReduceLROnPlateau rel": lambda s, o: s.ReduceLROnPlateau(o, "max", 0.7, 0, 0.2, eps=0.05),
}
METRICS = np.abs(np.random.default_rng(0).standard_normal(STEPS)) + np.linspace(2, 1, STEPS)


def optimizer(library: Any, rule: str) -> Any:
    zeros = (
        [svod.zeros(1).requires_grad_() for _ in "ab"]
        if library is svod
        else [torch.zeros(1, requires_grad=True) for _ in "ab"]
    )
    options = {"momentum": 0.9} if rule == "SGD" else {}
    return getattr(library.optim, rule)([{"params": [zeros[0]]}, {"params": [zeros[1]], "lr": 0.7}], lr=0.2, **options)


def step(schedule: Any, at: int) -> None:
    schedule.step(*([METRICS[at]] if "Plateau" in type(schedule).__name__ else []))


def numbers(made: Any, schedule: Any) -> list[float]:
    groups = made.param_groups
    rates = [group["lr"] for group in groups]
    assert list(schedule.get_last_lr()) == rates
    return rates + [group["betas"][0] if "betas" in group else group["momentum"] for group in groups]


def run(library: Any, rule: str, make: Made) -> list[list[float]]:
    made = optimizer(library, rule)
    schedule = make(library.optim.lr_scheduler, made)
    found = []
    for at in range(STEPS):
        found.append(numbers(made, schedule))
        made.step()
        if at < STEPS - 1:
            step(schedule, at)
    return found


@pytest.mark.skipif(torch is None, reason="needs PyTorch")
@pytest.mark.parametrize("rule", ["SGD", "AdamW"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_are_pytorchs(name: str, rule: str) -> None:
    mine, theirs = (run(library, rule, SCHEDULES[name]) for library in (svod, torch))
    np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-15)


@pytest.mark.skipif(torch is None, reason="needs PyTorch")
@pytest.mark.parametrize("name", [name for name in SCHEDULES if "Plateau" not in name])
def test_a_schedule_goes_on_from_pytorchs_state(name: str) -> None:
    theirs = optimizer(torch, "AdamW")
    schedule = SCHEDULES[name](torch.optim.lr_scheduler, theirs)
    for at in range(9):
        theirs.step()
        step(schedule, at)
    made = optimizer(svod, "AdamW")
    again = SCHEDULES[name](optim.lr_scheduler, made)
    made.load_state_dict(theirs.state_dict())
    again.load_state_dict(schedule.state_dict())
    for at in range(9, STEPS - 1):
        np.testing.assert_allclose(numbers(made, again), numbers(theirs, schedule), rtol=1e-11, atol=1e-15)
        step(schedule, at)
        step(again, at)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_resumed_schedule_goes_on(name: str) -> None:
    made = optimizer(svod, "AdamW")
    schedule = SCHEDULES[name](optim.lr_scheduler, made)
    for at in range(9):
        step(schedule, at)
    other = optimizer(svod, "AdamW")
    again = SCHEDULES[name](optim.lr_scheduler, other)
    other.load_state_dict(made.state_dict())
    again.load_state_dict(schedule.state_dict())
    for at in range(9, STEPS - 1):
        assert numbers(made, schedule) == numbers(other, again)
        step(schedule, at)
        step(again, at)


@pytest.mark.skipif(torch is None, reason="needs PyTorch")
@pytest.mark.parametrize("factor", [1, 2])
def test_places_on_the_way_of_warm_restarts(factor: int) -> None:
    found = []
    for library in (svod, torch):
        made = optimizer(library, "SGD")
        schedule = library.optim.lr_scheduler.CosineAnnealingWarmRestarts(made, 3, factor)
        rates = []
        for place in np.arange(0, 40, 0.25):
            schedule.step(float(place))
            rates.append(made.param_groups[0]["lr"])
        found.append(rates)
    np.testing.assert_allclose(*found, rtol=1e-11, atol=1e-15)


@pytest.mark.skipif(torch is None, reason="needs PyTorch")
def test_a_rate_that_a_program_changes_is_what_the_next_step_goes_by() -> None:
    found = []
    for library in (svod, torch):
        made = optimizer(library, "SGD")
        schedule = library.optim.lr_scheduler.ExponentialLR(made, 0.5)
        schedule.step()
        made.param_groups[0]["lr"] = 4.0
        schedule.step()
        found.append([group["lr"] for group in made.param_groups])
    np.testing.assert_allclose(*found)
    assert found[0][0] == 2.0


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda s, o: s.CyclicLR(o, 0.1, 0.9, mode="round"), "CyclicLR: mode is one of"),
        (lambda s, o: s.CyclicLR(o, [0.1], 0.9), "CyclicLR: 1 rates for 2 groups"),
        (lambda s, o: s.CyclicLR(optim.Adagrad([svod.zeros(1)]), 0.1, 0.9), "Adagrad has no momentum to cycle"),
        (lambda s, o: s.OneCycleLR(o, 0.1), "total_steps, or epochs and steps_per_epoch"),
        (lambda s, o: s.CosineAnnealingWarmRestarts(o, 0), "T_0=0"),
        (lambda s, o: s.MultiplicativeLR(o, [abs]), "1 functions for 2 groups"),
        (lambda s, o: s.ReduceLROnPlateau(o, factor=1.0), r"factor=1\.0: less than 1"),
        (lambda s, o: s.ReduceLROnPlateau(o, "least"), "mode is one of"),
        (lambda s, o: s.ChainedScheduler([]), "no schedules"),
        (lambda s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]), "takes a metric with each step"),
        (lambda s, o: s.ChainedScheduler([s.StepLR(o, 1)], optimizer(svod, "SGD")), "one of another optimizer"),
        (lambda s, o: s.SequentialLR(o, [s.StepLR(o, 1)], [2]), r"SequentialLR: 1 schedules for the milestones \[2\]"),
        (lambda s, o: s.SequentialLR(o, [], []), "SequentialLR: 0 schedules for"),
        (
            lambda s, o: s.SequentialLR(o, [s.StepLR(o, 1)], [], 3),
            "SequentialLR: last_epoch=3: a schedule that goes on",
        ),
        (
            lambda s, o: s.ChainedScheduler([s.StepLR(o, 1)]).load_state_dict({"_schedulers": [], "_last_lr": []}),
            "ChainedScheduler: 1 schedules, but states of 0",
        ),
        (lambda s, o: s.StepLR(o, 1, last_epoch=4), "last_epoch=4 of an optimizer that has no rate to begin with"),
    ],
)
def test_what_does_not_fit_is_refused(make: Made, says: str) -> None:
    with pytest.raises(svod.ArgumentError, match=says):
        make(optim.lr_scheduler, optimizer(svod, "SGD"))


def test_resumed_schedules_of_one_optimizer_leave_its_rate() -> None:
    """The rate is part of the optimizer's state, and several schedules have changed it."""

    def made(library: Any, parameter: Any) -> tuple[Any, list[Any]]:
        optimizer = library.optim.SGD([parameter], lr=1.0)
        kinds = library.optim.lr_scheduler
        return optimizer, [kinds.ConstantLR(optimizer, 0.5, 3), kinds.ExponentialLR(optimizer, 0.9)]

    optimizer, schedules = made(svod, svod.zeros(2))
    for _ in range(2):
        [schedule.step() for schedule in schedules]
    again, resumed = made(svod, svod.zeros(2))
    again.load_state_dict(optimizer.state_dict())
    for schedule, other in zip(resumed, schedules, strict=True):
        schedule.load_state_dict(other.state_dict())
        assert schedule.get_last_lr() == other.get_last_lr()
    assert float(again.param_groups[0]["lr"]) == pytest.approx(0.405)
    [schedule.step() for schedule in resumed + schedules]
    assert float(again.param_groups[0]["lr"]) == pytest.approx(float(optimizer.param_groups[0]["lr"]))


def test_a_cycle_after_a_warm_up_leaves_it_its_rate() -> None:
    optimizer = svod.optim.SGD([svod.zeros(2)], lr=1.0, momentum=0.9)
    kinds = svod.optim.lr_scheduler
    parts = [kinds.LinearLR(optimizer, 0.1, 1, 3), kinds.CyclicLR(optimizer, 0.01, 0.5, 2)]
    schedule = kinds.SequentialLR(optimizer, parts, [3])
    rates = []
    for _ in range(6):
        rates += schedule.get_last_lr()
        schedule.step()
    np.testing.assert_allclose(rates, [0.1, 0.4, 0.7, 0.01, 0.255, 0.5])


def test_a_part_that_is_several_schedules_begins_as_they_do_alone() -> None:
    """PyTorch counts one step of such a part before its first."""
    kinds = svod.optim.lr_scheduler

    def chained(optimizer: Any) -> Any:
        return kinds.ChainedScheduler([kinds.ConstantLR(optimizer, 0.1, 2), kinds.ExponentialLR(optimizer, 0.9)])

    def one_after_the_other(optimizer: Any) -> Any:
        return kinds.SequentialLR(optimizer, [kinds.ConstantLR(optimizer, 0.1, 2), chained(optimizer)], [3])

    for part in (chained, one_after_the_other):
        alone = optimizer(svod, "SGD")
        schedule = part(alone)
        wanted = []
        for _ in range(8):
            wanted.append(numbers(alone, schedule)[:2])
            schedule.step()
        for before in (0, 2):
            made = optimizer(svod, "SGD")
            parts = [kinds.ConstantLR(made, 0.3, 9), part(made), kinds.StepLR(made, 2)]
            schedule = kinds.SequentialLR(made, parts, [before, before + 8])
            found = []
            for _ in range(before + 10):
                found.append(numbers(made, schedule)[:2])
                schedule.step()
            np.testing.assert_allclose(found[before : before + 8], wanted, rtol=1e-12)
            np.testing.assert_allclose(found[-2:], [[0.2, 0.7]] * 2)


def test_one_cycle_ends_with_the_last_step_of_a_training() -> None:
    optimizer = svod.optim.SGD([svod.zeros(2)], lr=1.0)
    schedule = svod.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, epochs=3, steps_per_epoch=4)
    for _ in range(12):
        optimizer.step([svod.ones(2)])
        schedule.step()
    with pytest.raises(svod.ArgumentError, match="step 13 of 12"):
        schedule.step()
