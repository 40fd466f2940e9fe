"""Lists of tensors that grow, and what is joined of them: read each time."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

READS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "stack": (lambda vs: svod.stack(vs).sum(), lambda vs: np.stack(vs).sum()),
    "stack, last": (lambda vs: svod.stack(vs, -1).max(-1).values.sum(), lambda vs: np.stack(vs, -1).max(-1).sum()),
    "cat": (lambda vs: (svod.cat(vs) * 2).max(), lambda vs: np.concatenate(vs).max() * 2),
    "of rows": (lambda vs: svod.cat([v[1:3] for v in vs]).sum(), lambda vs: np.concatenate([v[1:3] for v in vs]).sum()),
    "product": (lambda vs: (svod.stack(vs) @ svod.stack(vs).T).sum(), lambda vs: (np.stack(vs) @ np.stack(vs).T).sum()),
    "of sums": (lambda vs: svod.stack([v.sum() for v in vs]).std(), lambda vs: np.std([v.sum() for v in vs], ddof=1)),
    "asarray": (lambda vs: svod.stack(vs).numpy().mean(), lambda vs: np.stack(vs).mean()),
}


def counted(grow: Callable[[int, Any], Any], read: Callable[[Any], Any], rounds: int) -> tuple[list[float], int, int]:
    svod.clear_caches()
    parts: list[svod.Tensor] = []
    found = []
    for i in range(rounds):
        parts.append(grow(i, parts))
        found.append(float(read(parts)))
    caches = svod.caches()
    return found, caches["schedules"], caches["kernels"]


@pytest.mark.parametrize("read", [name for name in READS if name != "of sums"])
@pytest.mark.parametrize("realized", [False, True])
def test_a_list_that_grows_has_no_schedule_for_each_length(read: str, realized: bool) -> None:
    w = np.arange(1, 9, dtype=np.float32) / 8
    x = svod.Tensor(w)

    def grow(i: int, parts: list[svod.Tensor]) -> svod.Tensor:
        made = x * (i + 0.5)
        return made.realize() if realized else made

    found, schedules, kernels = counted(grow, READS[read][0], 40)
    lists = [[w * np.float32(k + 0.5) for k in range(i + 1)] for i in range(40)]
    np.testing.assert_allclose(found, [READS[read][1](one) for one in lists], rtol=1e-5)
    assert schedules <= 16 and kernels <= 24, (schedules, kernels)


def test_scalars_and_what_is_made_of_the_last_one_are_kept_in_one_memory() -> None:
    w = svod.Tensor(np.arange(8, dtype=np.float32))
    found, schedules, _ = counted(lambda i, _: (w * i).sum(), lambda ls: svod.stack(ls).mean(), 60)
    np.testing.assert_allclose(found, [14.0 * i for i in range(60)], rtol=1e-5)
    assert schedules <= 12, schedules

    a = svod.Tensor(np.eye(6, k=1, dtype=np.float32) + np.eye(6, dtype=np.float32) / 2)
    first = svod.Tensor(np.ones(6, np.float32))
    step = lambda _, vs: a @ vs[-1] if vs else first  # noqa: E731
    found, schedules, _ = counted(step, lambda vs: (svod.stack(vs) @ svod.stack(vs).T).sum(), 40)
    vs, expected = [np.ones(6, np.float32)], []
    for _ in range(40):
        k = np.stack(vs)
        expected.append((k @ k.T).sum())
        vs.append(a.numpy() @ vs[-1])
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert schedules <= 18, schedules


def test_parts_of_many_lengths_and_large_ones() -> None:
    rng = np.random.default_rng(3)
    x = rng.random((5, 30_000), dtype=np.float32)
    given = [svod.Tensor(row) for row in x]
    svod.clear_caches()
    for _ in range(30):
        ends = rng.integers(1, 30_000, 5)
        parts = [row[:end] for row, end in zip(given, ends.tolist(), strict=True)]
        expected = np.concatenate([row[:end] for row, end in zip(x, ends, strict=True)])
        np.testing.assert_allclose(float((svod.cat(parts) * 2).sum()), expected.sum() * 2, rtol=1e-4)
    assert svod.caches()["schedules"] <= 6


def test_types_numbers_and_empty_parts() -> None:
    a, b = svod.Tensor([1, 2]), svod.Tensor([0.5])
    made = svod.cat([a, b, svod.zeros(0), svod.ones(2), a * 2, b])
    assert made.dtype == svod.float32
    assert (made + 0).tolist() == [1, 2, 0.5, 1, 1, 2, 4, 0.5]
    flags = svod.stack([svod.Tensor([True, False])] * 3 + [svod.Tensor([False, False])] * 3)
    assert flags.sum(0).tolist() == [3, 0]
    pairs = svod.cat([svod.Tensor([1j])] * 6)
    assert (pairs * 2).tolist() == [2j] * 6
    of_rows = svod.cat([svod.Tensor([[1.0], [2.0]])] * 6, 1)
    assert of_rows.sum(1).tolist() == [6, 12] and of_rows.T[2].tolist() == [1, 2]


def test_gradients_go_to_the_parts_whether_the_join_was_read_or_not() -> None:
    for read in (False, True):
        parts = [svod.Tensor([float(i), 1.0], dtype="float32").requires_grad_() for i in range(7)]
        whole = svod.stack(parts)
        loss = (whole * whole * svod.Tensor([[float(i)] for i in range(7)])).sum()
        if read:
            assert float(loss) == sum(i * (i * i + 1) for i in range(7))
            assert whole.sum().item() == 28
        loss.backward()
        for i, part in enumerate(parts):
            assert part.grad is not None
            assert part.grad.tolist() == [2.0 * i * i, 2.0 * i]

    w = svod.Tensor([1.0, 2.0]).requires_grad_()
    losses = []
    for i in range(9):
        losses.append((w * i).sum())
        total = svod.stack(losses).mean()
        assert float(total) == 3 * i / 2
    total.backward()
    assert w.grad is not None
    assert w.grad.tolist() == [4, 4]


def test_plans_and_jit_follow_each_part() -> None:
    xs = [svod.Tensor([float(i)] * 3) for i in range(6)]
    plan = svod.cat(xs).sum().prepare(inputs=xs)
    assert plan(*[np.full(3, i, np.float32) for i in range(6)])[0].item() == 45
    assert plan(*[np.full(3, 1, np.float32)] * 6)[0].item() == 18
    f = svod.jit(lambda *parts: svod.stack(parts).max(0).values)
    for shift in range(4):
        assert f(*[x + shift for x in xs]).tolist() == [5 + shift] * 3
    g = svod.jit(lambda *parts: svod.cat(parts).cumsum(0))
    for n in range(1, 8):
        parts = [np.arange(n + k, dtype=np.float32) for k in range(5)]
        np.testing.assert_allclose(g(*map(svod.Tensor, parts)).numpy(), np.concatenate(parts).cumsum())
    # What was made of a part by a read is refused, as of any other expression.
    whole = svod.stack(xs)
    float((whole + 1).sum())
    with pytest.raises(svod.ArgumentError, match="earlier value"):
        (whole * 2).prepare(inputs=[xs[0]])


def test_batches_devices_and_views() -> None:
    f = lambda x: svod.stack([x * i for i in range(6)]).sum(0)  # noqa: E731
    assert svod.vmap(f)(svod.ones(3, 2)).tolist() == [[15, 15]] * 3
    x = svod.ones(8, 3).shard(["CPU", "CPU:1"], axis=0)
    assert svod.cat([x] * 6, 1).sum(1).tolist() == [18] * 8
    assert svod.cat([x] * 6, 0).sum(0).tolist() == [48] * 3
    parts = [svod.ones(3) * i for i in range(6)]
    on_another = svod.stack([part.to("CPU:1") for part in parts])
    assert on_another.device == "CPU:1" and on_another.sum(1).tolist() == [3.0 * i for i in range(6)]
    whole = svod.stack(parts)
    float(whole.sum())
    parts[2] += 1
    parts[3][0] = 50
    assert whole.sum(1).tolist() == [3.0 * i for i in range(6)]
    assert svod.stack(parts).sum(1).tolist() == [0, 3, 9, 56, 12, 15]


def test_threads_that_read_what_shares_parts() -> None:
    from concurrent.futures import ThreadPoolExecutor

    w = svod.Tensor(np.arange(16, dtype=np.float32))
    for _ in range(20):
        parts = [(w * i).sum() for i in range(12)]
        float(svod.stack(parts[:10]).sum())
        whole = svod.stack(parts)
        with ThreadPoolExecutor(4) as pool:
            reads = [pool.submit(lambda k=k, whole=whole: float((whole + k).sum())) for k in range(8)]
            assert [read.result() for read in reads] == [120.0 * 66 + 12 * k for k in range(8)]
