"""Optimizers step by step: against their published equations in NumPy, and against PyTorch's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import svod
from svod import nn, optim

SHAPES = [(3, 5), (7,), (4, 1), ()]
STEPS = 6


def start(seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.standard_normal(shape)) for shape in SHAPES]


def gradients(seed: int = 1) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    return [[np.asarray(rng.standard_normal(shape)) for shape in SHAPES] for _ in range(STEPS)]


def stepped(made: optim.Optimizer, params: list[svod.Tensor], dtype: Any = np.float64) -> list[list[np.ndarray]]:
    after = []
    for given in gradients():
        made.step([svod.Tensor(g.astype(dtype)) for g in given])
        after.append([p.numpy().astype(np.float64) for p in params])
    return after


# The published equations: a parameter's values after each gradient.


def sgd(p, gs, lr=0.1, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False) -> Iterator[Any]:
    b = None
    for g in gs:
        g = g + weight_decay * p
        b = g if b is None else momentum * b + (1 - dampening) * g
        p = p - lr * (g + momentum * b if nesterov else b)
        yield p


def adam(
    p, gs, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, decoupled=False
) -> Iterator[Any]:
    m = v = largest = 0.0
    for t, g in enumerate(gs, 1):
        if decoupled:
            p = p - lr * weight_decay * p
        else:
            g = g + weight_decay * p
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        largest = np.maximum(largest, v) if amsgrad else v
        p = p - lr * (m / (1 - betas[0] ** t)) / (np.sqrt(largest / (1 - betas[1] ** t)) + eps)
        yield p


def adamw(p, gs, weight_decay=1e-2, **options) -> Iterator[Any]:
    return adam(p, gs, weight_decay=weight_decay, decoupled=True, **options)


def nadam(p, gs, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, momentum_decay=4e-3, decoupled=False):
    m = v = 0.0
    product = 1.0

    def mu(t: int) -> float:
        return betas[0] * (1 - 0.5 * 0.96 ** (t * momentum_decay))

    for t, g in enumerate(gs, 1):
        if decoupled:
            p = p * (1 - lr * weight_decay)
        else:
            g = g + weight_decay * p
        m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g * g
        product *= mu(t)
        average = mu(t + 1) * m / (1 - product * mu(t + 1)) + (1 - mu(t)) * g / (1 - product)
        p = p - lr * average / (np.sqrt(v / (1 - betas[1] ** t)) + eps)
        yield p


def rmsprop(p, gs, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False) -> Iterator[Any]:
    v = a = b = 0.0
    for g in gs:
        g = g + weight_decay * p
        v = alpha * v + (1 - alpha) * g * g
        a = alpha * a + (1 - alpha) * g if centered else 0.0
        b = momentum * b + g / (np.sqrt(v - a * a) + eps)
        p = p - lr * b
        yield p


def adagrad(p, gs, lr=1e-2, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10) -> Iterator[Any]:
    v = initial_accumulator_value
    for t, g in enumerate(gs):
        g = g + weight_decay * p
        v = v + g * g
        p = p - lr / (1 + t * lr_decay) * g / (np.sqrt(v) + eps)
        yield p


def lion(p, gs, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0) -> Iterator[Any]:
    m = 0.0
    for g in gs:
        p = p - lr * (np.sign(betas[0] * m + (1 - betas[0]) * g) + weight_decay * p)
        m = betas[1] * m + (1 - betas[1]) * g
        yield p


def lamb(p, gs, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0) -> Iterator[Any]:
    m = v = 0.0
    for t, g in enumerate(gs, 1):
        m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g * g
        u = m / (1 - betas[0] ** t) / (np.sqrt(v / (1 - betas[1] ** t)) + eps) + weight_decay * p
        of_weights, of_step = np.sqrt((p * p).sum()), np.sqrt((u * u).sum())
        p = p - lr * (of_weights / of_step if of_weights > 0 and of_step > 0 else 1.0) * u
        yield p


RULES: list[tuple[str, Callable[..., Any], dict[str, Any]]] = [
    ("SGD", sgd, {"lr": 0.1}),
    ("SGD", sgd, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    ("SGD", sgd, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    ("SGD", sgd, {"lr": 0.1, "momentum": 0.8, "nesterov": True, "weight_decay": 0.01}),
    ("Adam", adam, {"lr": 0.01}),
    ("Adam", adam, {"lr": 0.01, "betas": (0.7, 0.9), "eps": 1e-3, "weight_decay": 0.2}),
    ("Adam", adam, {"lr": 0.01, "betas": (0.5, 0.6), "amsgrad": True}),
    ("AdamW", adamw, {"lr": 0.01}),
    ("AdamW", adamw, {"lr": 0.01, "weight_decay": 0.3, "amsgrad": True}),
    ("NAdam", nadam, {}),
    ("NAdam", nadam, {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1, "momentum_decay": 0.5}),
    ("RMSprop", rmsprop, {}),
    ("RMSprop", rmsprop, {"alpha": 0.5, "momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    ("Adagrad", adagrad, {}),
    ("Adagrad", adagrad, {"lr": 0.5, "lr_decay": 0.3, "weight_decay": 0.1, "initial_accumulator_value": 0.2}),
    ("Lion", lion, {"lr": 0.01}),
    ("Lion", lion, {"lr": 0.01, "betas": (0.3, 0.5), "weight_decay": 0.2}),
    ("LAMB", lamb, {"lr": 0.01}),
    ("LAMB", lamb, {"lr": 0.01, "betas": (0.6, 0.7), "weight_decay": 0.2}),
]
# PyTorch has neither of these.
THEIRS = [rule for rule in RULES if rule[0] not in ("Lion", "LAMB")]
IDS = [f"{name}-{'-'.join(options)}" for name, _, options in RULES]


@pytest.mark.parametrize(("name", "equations", "options"), RULES, ids=IDS)
def test_steps_follow_the_published_equations(name: str, equations: Callable[..., Any], options: Any) -> None:
    params = [svod.Tensor(p) for p in start()]
    after = stepped(getattr(optim, name)(params, **options), params)
    for at, p in enumerate(start()):
        expected = list(equations(p, [given[at] for given in gradients()], **options))
        for step in range(STEPS):
            np.testing.assert_allclose(after[step][at], expected[step], rtol=1e-11, err_msg=f"{at}, step {step}")


@pytest.mark.parametrize(("name", "equations", "options"), THEIRS, ids=IDS[: len(THEIRS)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_steps_are_pytorchs(name: str, equations: Any, options: Any, dtype: Any) -> None:
    torch = pytest.importorskip("torch")
    params = [svod.Tensor(p.astype(dtype)) for p in start()]
    after = stepped(getattr(optim, name)(params, **options), params, dtype)
    theirs = [torch.tensor(p.astype(dtype), requires_grad=True) for p in start()]
    other = getattr(torch.optim, name)(theirs, **options)
    for step, given in enumerate(gradients()):
        for p, g in zip(theirs, given):
            p.grad = torch.tensor(g.astype(dtype))
        other.step()
        for mine, p in zip(after[step], theirs):
            np.testing.assert_allclose(mine, p.detach().numpy(), rtol=1e-11 if dtype is np.float64 else 2e-5, atol=1e-7)


def orthogonal(x: np.ndarray, steps: int = 5, eps: float = 1e-7) -> np.ndarray:
    a, b, c = 3.4445, -4.775, 2.0315
    y = x.T if x.shape[0] > x.shape[1] else x
    y = y / max(np.sqrt((y * y).sum()), eps)
    for _ in range(steps):
        gram = y @ y.T
        y = a * y + (b * gram + c * gram @ gram) @ y
    return y.T if x.shape[0] > x.shape[1] else y


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5), (1, 3)])
@pytest.mark.parametrize("options", [{}, {"nesterov": False, "adjust_lr_fn": "match_rms_adamw", "momentum": 0.5}])
def test_muon(shape: tuple[int, int], options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    p, gs = rng.standard_normal(shape), rng.standard_normal((STEPS, *shape))
    momentum, b = options.get("momentum", 0.95), np.zeros(shape)
    rows, columns = shape
    adjusted = 0.2 * np.sqrt(max(shape)) if "adjust_lr_fn" in options else np.sqrt(max(1, rows / columns))
    w = svod.Tensor(p)
    made = optim.Muon([w], lr=0.1, **options)
    expected = p
    for g in gs:
        b = momentum * b + (1 - momentum) * g
        u = momentum * b + (1 - momentum) * g if options.get("nesterov", True) else b
        expected = expected * (1 - 0.1 * 0.1) - 0.1 * adjusted * orthogonal(u)
        made.step([svod.Tensor(g)])
        np.testing.assert_allclose(w.numpy(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(6, 4), (3, 8)])
def test_muon_is_pytorchs(shape: tuple[int, int]) -> None:
    torch = pytest.importorskip("torch", minversion="2.9")
    rng = np.random.default_rng(0)
    p, gs = (rng.standard_normal(s).astype(np.float32) for s in (shape, (STEPS, *shape)))
    mine, theirs = svod.Tensor(p), torch.tensor(p, requires_grad=True)
    made, other = optim.Muon([mine], lr=0.1), torch.optim.Muon([theirs], lr=0.1)
    for g in gs:
        theirs.grad = torch.tensor(g)
        other.step()
        made.step([svod.Tensor(g)])
    # PyTorch makes matrices orthogonal in bfloat16.
    np.testing.assert_allclose(mine.numpy(), theirs.detach().numpy(), atol=0.02)


def compiled() -> int:
    return svod.compile_times()["lower"][0]


@pytest.mark.parametrize(
    "name",
    [
        "SGD",
        "Adam",
        "AdamW",
        "NAdam",
        "RMSprop",
        "Adagrad",
        "Lion",
        "LAMB",
        "Muon",
        "ASGD",
        "Adadelta",
        "Adafactor",
        "Adamax",
        "RAdam",
        "Rprop",
    ],
)
def test_nothing_is_compiled_after_the_second_step(name: str) -> None:
    svod.clear_caches()
    rng = np.random.default_rng(0)
    params = [svod.Tensor(rng.standard_normal((5, 4)).astype(np.float32)).requires_grad_() for _ in range(3)]
    options = {"momentum": 0.9} if name == "SGD" else {}
    made = getattr(optim, name)(params, **options)
    schedule = optim.lr_scheduler.CosineAnnealingLR(made, 10)
    counts = []
    for step in range(6):
        made.zero_grad()
        x = svod.Tensor(rng.standard_normal((8, 5)).astype(np.float32))
        loss = sum(((x @ p) ** 2).mean() for p in params)
        loss.backward()
        nn.utils.clip_grad_norm_(params, 1.0)
        made.step()
        schedule.step()
        group = made.param_groups[0]
        group["weight_decay" if "weight_decay" in group else "lr"] = 0.01 * step
        assert np.isfinite(loss.item())
        counts.append(compiled())
    assert counts[1:] == [counts[1]] * 5


def test_all_tensors_are_written_by_few_kernels() -> None:
    params = [svod.Tensor(np.ones((32, 32), np.float32) * k) for k in range(12)]
    made = optim.AdamW(params)
    grads = [svod.Tensor(np.ones((32, 32), np.float32)) for _ in params]
    with svod.no_grad():
        written = made._step(made.param_groups[0], grads)
    plan = svod.prepare(*written)
    # A kernel for the numbers in common, and no more than one for each tensor with its state.
    assert len(plan.kernels) <= 1 + len(params)


def test_groups_have_numbers_of_their_own() -> None:
    a, b = svod.Tensor([1.0, 1.0]), svod.Tensor([1.0])
    made = optim.SGD([{"params": [a]}, {"params": b, "lr": 1}], lr=0.5, momentum=0.5)
    made.step([svod.Tensor([1.0, 2.0]), svod.Tensor([1.0])])
    assert (a.tolist(), b.tolist()) == ([0.5, 0.0], [0.0])
    assert [group["lr"] for group in made.param_groups] == [0.5, 1.0]
    made.param_groups[1]["lr"] = 0.25
    made.add_param_group({"params": [c := svod.Tensor([3.0])], "momentum": 0.0})
    made.step([None, svod.Tensor([2.0]), svod.Tensor([2.0])])
    # The momentum of the second: 0.5·1 + 2.
    assert (a.tolist(), b.tolist(), c.tolist()) == ([0.5, 0.0], [-0.625], [2.0])
    assert "lr=0.25" in repr(made) and set(made.param_groups[0]) >= {"params", "lr", "momentum"}


def test_a_parameter_without_a_gradient_has_its_own_count_of_steps() -> None:
    def run(given: list[list[float | None]]) -> list[float]:
        params = [svod.Tensor([1.0]), svod.Tensor([1.0])]
        made = optim.Adam(params, lr=0.1)
        for row in given:
            made.step([None if g is None else svod.Tensor([g]) for g in row])
        return [p.item() for p in params]

    # Only steps with a gradient count.
    both = run([[1.0, 1.0], [2.0, -1.0], [3.0, 0.5]])
    late = run([[1.0, None], [2.0, 1.0], [3.0, -1.0], [None, 0.5]])
    np.testing.assert_allclose(late, both, rtol=1e-6)


def test_momentum_that_is_turned_on_later() -> None:
    w = svod.Tensor([1.0])
    made = optim.SGD([w], lr=1.0)
    made.step([svod.Tensor([1.0])])
    made.param_groups[0]["momentum"] = 0.5
    for expected in (-1.0, -2.5):
        made.step([svod.Tensor([1.0])])
        assert w.item() == expected


@pytest.mark.parametrize("name", sorted({name for name, _, _ in RULES}))
def test_a_resumed_run_repeats_the_steps_bit_for_bit(name: str) -> None:
    options = {"momentum": 0.9} if name == "SGD" else {}
    given = [[svod.Tensor(g.astype(np.float32)) for g in row] for row in gradients()]
    params = [svod.Tensor(p.astype(np.float32)) for p in start()]
    made = getattr(optim, name)(params, **options)
    for row in given[:3]:
        made.step(row)
    made.param_groups[0]["lr"] = 0.05
    saved, weights = made.state_dict(), [p.clone() for p in params]
    for row in given[3:]:
        made.step(row)
    resumed = [svod.Tensor(p) for p in weights]
    again = getattr(optim, name)(resumed)
    again.load_state_dict(saved)
    assert again.param_groups[0]["lr"] == 0.05
    for row in given[3:]:
        again.step(row)
    for p, q in zip(params, resumed):
        np.testing.assert_array_equal(p.numpy(), q.numpy())


@pytest.mark.parametrize(("name", "equations", "options"), THEIRS, ids=IDS[: len(THEIRS)])
def test_state_of_pytorch_is_loaded(name: str, equations: Any, options: Any) -> None:
    torch = pytest.importorskip("torch")
    theirs = [torch.tensor(p, requires_grad=True) for p in start()]
    other = getattr(torch.optim, name)(theirs, **options)

    def go(steps: slice) -> None:
        for given in gradients()[steps]:
            for p, g in zip(theirs, given):
                p.grad = torch.tensor(g)
            other.step()

    go(slice(0, 3))
    params = [svod.Tensor(p.detach().numpy()) for p in theirs]
    made = getattr(optim, name)(params)
    made.load_state_dict(other.state_dict())
    go(slice(3, None))
    for given in gradients()[3:]:
        made.step([svod.Tensor(g) for g in given])
    for p, q in zip(params, theirs):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_16_bit_parameters_have_weights_in_32_bits(dtype: str) -> None:
    narrow, wide = svod.ones(3, dtype=dtype), svod.ones(3)
    mine, other = optim.SGD([narrow], lr=1e-4), optim.SGD([wide], lr=1e-4)
    for _ in range(40):
        # A step of 1e-4 is lost in 16 bits, 40 of them are not.
        mine.step([svod.ones(3, dtype=dtype)])
        other.step([svod.ones(3)])
    assert str(narrow.dtype) == dtype
    np.testing.assert_array_equal(narrow.numpy(), wide.cast(dtype).numpy())
    assert narrow.float().tolist()[0] < 1
    again = optim.SGD([svod.Tensor(narrow)])
    again.load_state_dict(mine.state_dict())
    np.testing.assert_array_equal(again.state_dict()["state"][0]["master"].numpy(), wide.numpy())


def test_gradients_by_name_and_spread_parameters() -> None:
    layer = nn.Linear(3, 2)
    before = {name: p.numpy().copy() for name, p in layer.named_parameters()}
    made = optim.SGD(layer.named_parameters(), lr=0.5)
    x = svod.ones(4, 3)
    _, grads = svod.value_and_grad(lambda m: (m(x) ** 2).sum())(layer)
    made.step(grads)
    for name, p in layer.named_parameters():
        np.testing.assert_allclose(p.numpy(), before[name] - 0.5 * grads[name].numpy(), rtol=1e-6)
    with pytest.raises(svod.ArgumentError, match="without names: give named_parameters"):
        optim.SGD(layer.parameters()).step(grads)
    spread = svod.Tensor(np.arange(6, dtype=np.float32)).shard(["CPU", "CPU:1"])
    whole = svod.arange(6, dtype="float32")
    for _ in range(2):
        gathered = []
        for p in (spread, whole):
            made = optim.Adam([p], lr=0.1)
            made.step([svod.ones_like(p) if p is whole else svod.ones(6).shard(["CPU", "CPU:1"])])
            gathered.append(p.to(device="CPU").numpy())
        np.testing.assert_array_equal(*gathered)


def test_what_does_not_fit_is_refused() -> None:
    w = svod.zeros(2)
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: optim.SGD([]), "SGD: no parameters"),
        (lambda: optim.SGD([w, w]), "there twice"),
        (lambda: optim.SGD([w], lr=-1.0), r"SGD: lr: .*-1\.0"),
        (lambda: optim.Adam([w], betas=(0.9, 1.0)), r"Adam: betas\[1\]: .*1\.0"),
        (lambda: optim.SGD([svod.arange(3)]), "only floats"),
        (lambda: optim.SGD([np.zeros(2)]), "ndarray is no tensor"),
        (lambda: optim.SGD([w], nesterov=True), "Nesterov"),
        (lambda: optim.Muon([w]), r"Muon: a parameter of shape \(2,\)"),
        (lambda: optim.SGD([{"params": [w], "rate": 1}]), r"SGD has no \['rate'\]"),
        (lambda: optim.SGD([w]).step([w, w]), "2 gradients, 1 parameters"),
        (lambda: optim.SGD([w]).load_state_dict(optim.SGD([w, svod.zeros(1)]).state_dict()), "groups of"),
    ]
    for made, says in cases:
        with pytest.raises(svod.Error, match=says):
            made()
    other = optim.Adam([svod.zeros(3)])
    with pytest.raises(nn.StateError, match=r"exp_avg of parameter 0 has shape \(3,\), not \(2,\)"):
        optim.Adam([w]).load_state_dict(other.state_dict())


def test_gradients_are_clipped() -> None:
    a, b = svod.zeros(2).requires_grad_(), svod.zeros(1).requires_grad_()

    def given() -> None:
        a.grad, b.grad = svod.Tensor([3.0, -4.0]), svod.Tensor([12.0])

    given()
    assert nn.utils.clip_grad_norm_([a, b], 1.3).item() == 13.0
    np.testing.assert_allclose([*a.grad.tolist(), *b.grad.tolist()], [0.3, -0.4, 1.2], rtol=1e-6)
    assert nn.utils.clip_grad_norm_([a, b], 5.0).item() == pytest.approx(1.3)
    np.testing.assert_allclose(a.grad.tolist(), [0.3, -0.4], rtol=1e-6)
    given()
    assert nn.utils.clip_grad_norm_([a, b], 6.0, norm_type=float("inf")).item() == 12.0
    np.testing.assert_allclose(a.grad.tolist(), [1.5, -2.0], rtol=1e-5)
    given()
    assert nn.utils.clip_grad_norm_(b, 6.0, norm_type=1).item() == 12.0
    given()
    nn.utils.clip_grad_value_([a, b], 3.5)
    assert [*a.grad.tolist(), *b.grad.tolist()] == [3.0, -3.5, 3.5]
    a.grad = svod.Tensor([np.nan, 0.0])
    with pytest.raises(svod.ArgumentError, match="norm of the gradients is nan"):
        nn.utils.clip_grad_norm_([a, b], 1.0, error_if_nonfinite=True)


SCHEDULES: list[tuple[str, dict[str, Any]]] = [
    ("StepLR", {"step_size": 3, "gamma": 0.5}),
    ("MultiStepLR", {"milestones": [2, 5], "gamma": 0.1}),
    ("ConstantLR", {"factor": 0.5, "total_iters": 4}),
    ("LinearLR", {"start_factor": 0.1, "total_iters": 4}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("CosineAnnealingLR", {"T_max": 10, "eta_min": 0.01}),
    ("LambdaLR", {"lr_lambda": lambda step: 1 / (1 + step)}),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": 10}),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": 13, "anneal_strategy": "linear", "pct_start": 0.5}),
]


def rates(name: str, options: dict[str, Any], libraries: Any, param: Any) -> list[list[float]]:
    made = libraries.AdamW([param], lr=0.2)
    schedule = getattr(libraries.lr_scheduler, name)(made, **options)
    found = []
    for _ in range(10):
        group = made.param_groups[0]
        assert schedule.get_last_lr() == [group["lr"]]
        found.append([group["lr"], group["betas"][0]])
        if len(found) < 10:
            made.step()
            schedule.step()
    return found


@pytest.mark.parametrize(("name", "options"), SCHEDULES)
def test_schedules_are_pytorchs(name: str, options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    mine = rates(name, options, optim, svod.zeros(1).requires_grad_())
    theirs = rates(name, options, torch.optim, torch.zeros(1, requires_grad=True))
    np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_schedules_are_their_formulas() -> None:
    expected = {
        "StepLR": [0.2 * 0.5 ** (t // 3) for t in range(10)],
        "MultiStepLR": [0.2 * 0.1 ** ((t >= 2) + (t >= 5)) for t in range(10)],
        "ConstantLR": [0.1] * 4 + [0.2] * 6,
        "LinearLR": [0.2 * (0.1 + 0.9 * min(t, 4) / 4) for t in range(10)],
        "ExponentialLR": [0.2 * 0.9**t for t in range(10)],
        "CosineAnnealingLR": [0.01 + 0.19 * (1 + np.cos(np.pi * t / 10)) / 2 for t in range(10)],
        "LambdaLR": [0.2 / (1 + t) for t in range(10)],
    }
    for name, options in SCHEDULES[:7]:
        found = rates(name, options, optim, svod.zeros(1).requires_grad_())
        np.testing.assert_allclose([rate for rate, _ in found], expected[name], rtol=1e-12)
    cycle = rates(*SCHEDULES[7], optim, svod.zeros(1).requires_grad_())
    np.testing.assert_allclose([cycle[0], cycle[2]], [[0.5 / 25, 0.95], [0.5, 0.85]])
    np.testing.assert_allclose(cycle[-1], [0.5 / 25 / 1e4, 0.95])


def test_a_warm_up_before_an_annealing_and_a_resumed_schedule() -> None:
    made = optim.SGD([svod.zeros(1)], lr=1.0)
    scheduler = optim.lr_scheduler
    warm = scheduler.LinearLR(made, start_factor=0.25, total_iters=3)
    after = scheduler.CosineAnnealingLR(made, 4)
    schedule = scheduler.SequentialLR(made, [warm, after], [3])
    found = []
    for _ in range(8):
        found += schedule.get_last_lr()
        saved = schedule.state_dict()
        schedule.step()
    expected = [0.25, 0.5, 0.75, *((1 + np.cos(np.pi * t / 4)) / 2 for t in range(5))]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    # The rate is part of the optimizer's state, and how far a schedule is part of its own.
    other = optim.SGD([svod.zeros(1)], lr=0.125)
    again = scheduler.CosineAnnealingLR(other, 20)
    again.load_state_dict(saved)
    assert (other.param_groups[0]["lr"], again.last_epoch) == (0.125, 7)
    assert again.get_last_lr()[0] == pytest.approx(expected[7])
    cycle = scheduler.OneCycleLR(optim.SGD([svod.zeros(1)], momentum=0.9), 0.1, 10)
    for _ in range(10):
        cycle.step()
    with pytest.raises(svod.ArgumentError, match="step 11 of 10"):
        cycle.step()


def test_rprop_begins_at_the_rate_of_its_first_step() -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    mine = svod.zeros(3, dtype="float64").requires_grad_()
    one, other = svod.optim.Rprop([mine], lr=0.1), torch.optim.Rprop([theirs], lr=0.1)
    for optimizer in (one, other):
        optimizer.param_groups[0]["lr"] = 0.05
    for gradient in ([1.0, -2.0, 0.5], [1.0, 2.0, -0.5], [1.0, 2.0, 0.5]):
        one.step([svod.Tensor(gradient)])
        theirs.grad = torch.tensor(gradient, dtype=torch.float64)
        other.step()
    np.testing.assert_allclose(mine.numpy(), theirs.detach().numpy(), rtol=1e-12)


def test_a_closure_by_its_name() -> None:
    w = svod.Tensor([1.0]).requires_grad_()
    optimizer = svod.optim.ASGD([w], lr=0.5, lambd=0.0, alpha=1.5)

    def closure() -> svod.Tensor:
        optimizer.zero_grad()
        loss = (w * 2).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure=closure).item() == 2.0
    assert w.tolist() == [0.0]


def test_hooks_of_steps_are_called_and_taken_off() -> None:
    w = svod.Tensor([1.0, 2.0]).requires_grad_()
    optimizer = optim.SGD([w], lr=1.0)
    seen: list[str] = []
    before = optimizer.register_step_pre_hook(lambda own, args, kwargs: seen.append(f"before {w.tolist()}"))
    optimizer.register_step_post_hook(lambda own, args, kwargs: seen.append(f"after {w.tolist()} {own is optimizer}"))
    optimizer.step([svod.ones(2)])
    assert seen == ["before [1.0, 2.0]", "after [0.0, 1.0] True"]
    before.remove()
    optimizer.step([svod.ones(2)])
    assert seen[2:] == ["after [-1.0, 0.0] True"]


def test_a_hook_before_a_step_changes_what_it_is_given() -> None:
    w = svod.Tensor([1.0]).requires_grad_()
    optimizer = optim.SGD([w], lr=1.0)
    optimizer.register_step_pre_hook(lambda own, args, kwargs: (([args[0][0] * 2],), kwargs))
    optimizer.step([svod.ones(1)])
    assert w.tolist() == [-1.0]
    step = svod.jit(lambda: optimizer.step([svod.ones(1)]))
    for _ in range(3):
        step()
    assert w.tolist() == [-7.0]


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("dtype", [svod.bfloat16, svod.float16])
def test_a_step_goes_on_from_what_others_wrote(dtype: svod.DType, jitted: bool) -> None:
    """Parameters of 16 bits are rounded from weights of the optimizer's own, which are no longer theirs then."""
    parameter = svod.Tensor([1.0, 2.0, 3.0], dtype=dtype).realize()
    parameter.requires_grad_()
    optimizer = svod.optim.SGD([parameter], lr=0.25)

    def step() -> svod.Tensor:
        optimizer.zero_grad()
        loss = parameter.sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    taken = svod.jit(step) if jitted else step
    taken()
    assert parameter.tolist() == [0.75, 1.75, 2.75]
    with svod.no_grad():
        parameter[1] = 8.0
    taken()
    assert parameter.tolist() == [0.5, 7.75, 2.5]
    model = svod.nn.Linear(2, 1, bias=False).to(dtype)
    model.requires_grad_()
    optimizer = svod.optim.AdamW(model.parameters(), lr=0.0, weight_decay=0.0)
    model.load_state_dict({"weight": np.array([[3.0, -5.0]], np.float32)})
    model(svod.ones(1, 2, dtype=dtype)).sum().backward()
    optimizer.step()
    assert model.weight.tolist() == [[3.0, -5.0]]


@pytest.mark.parametrize("by_name", [False, True])
def test_what_is_to_stay_is_not_moved_by_gradients_that_are_given(by_name: bool) -> None:
    layer = nn.Linear(2, 2).requires_grad_()
    layer.bias.requires_grad_(False)
    optimizer = optim.SGD(layer.named_parameters() if by_name else layer.parameters(), lr=0.1)
    _, gradients = svod.value_and_grad(lambda layer: layer(svod.ones(2)).sum())(layer)
    before = {name: value.numpy() for name, value in layer.state_dict().items()}
    optimizer.step(gradients if by_name else list(gradients.values()))
    np.testing.assert_array_equal(layer.bias.numpy(), before["bias"])
    assert (layer.weight.detach().numpy() != before["weight"]).all()
