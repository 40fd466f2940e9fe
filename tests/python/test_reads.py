"""Reads do not cost a compile: what they compute is kept, positions are copied, numbers are written in place."""

import threading
from typing import Any

import numpy as np
import pytest

import svod


def counts() -> tuple[int, int]:
    """Kernels that were compiled and schedules that were made so far."""
    passes = svod.compile_times()
    return passes.get("render", (0, 0.0))[0], passes.get("shard", (0, 0.0))[0]


def since(before: tuple[int, int]) -> tuple[int, int]:
    return counts()[0] - before[0], counts()[1] - before[1]


def draw(*shape: int) -> Any:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def test_what_a_read_computes_is_not_computed_again() -> None:
    x, y = draw(20, 3), draw(20)
    inputs, wanted, w, expected = svod.Tensor(x), svod.Tensor(y), svod.zeros(3), np.zeros(3)
    for step in range(30):
        if step == 5:
            before = counts()
        error = inputs @ w - wanted
        w = w - 0.01 * (error @ inputs)
        loss = (error * error).sum().item()
        expected_error = x @ expected - y
        expected = expected - 0.01 * (expected_error @ x)
        assert loss == pytest.approx((expected_error**2).sum(), rel=1e-4)
    assert since(before) == (0, 0)
    np.testing.assert_allclose(w.numpy(), expected, rtol=1e-4)


def test_a_read_keeps_what_is_named() -> None:
    x = svod.Tensor(draw(8, 8))
    h = (x @ x).tanh()
    assert isinstance(h.sum().item(), float)
    assert h.is_realized
    unnamed = ((x @ x) * 3).sum()
    unnamed.item()
    assert unnamed.is_realized


def test_what_is_read_twice_is_kept_the_second_time() -> None:
    x = svod.Tensor(draw(300, 300))
    product = x @ x
    rows = [product.sum(0) + i for i in range(3)]
    del product
    first = rows[0].numpy()
    assert "mul" in rows[2].graph()
    np.testing.assert_array_equal(rows[1].numpy(), first + 1)
    assert "mul" not in rows[2].graph()
    np.testing.assert_array_equal(rows[2].numpy(), first + 2)


def test_scores_of_attention_are_not_written() -> None:
    q, k, v = (svod.Tensor(draw(2, 256, 32)) for _ in range(3))
    scores = q @ k.mT * 32**-0.5
    out = scores.softmax(-1) @ v
    wanted = out.numpy()
    assert not scores.is_realized
    again = np.asarray(scores.numpy(), np.float64)
    weights = np.exp(again - again.max(-1, keepdims=True))
    np.testing.assert_allclose(wanted, weights / weights.sum(-1, keepdims=True) @ v.numpy(), atol=1e-5)


def test_what_may_change_is_not_kept() -> None:
    memory = np.ones(4, np.float32)
    x = svod.from_numpy(memory)
    y = x * 2
    assert (y + 1).sum().item() == 12
    memory[:] = 5
    assert y.tolist() == [10.0] * 4


def test_elements_are_read_without_kernels() -> None:
    values = draw(1000)
    x = svod.Tensor(values).realize()
    before = counts()
    assert [float(x[i]) for i in range(1000)] == values.tolist()
    assert [float(v) for v in x] == values.tolist()
    table = svod.Tensor(values.reshape(10, 100))
    assert table.T[3, 1:8:2].tolist() == values.reshape(10, 100).T[3, 1:8:2].tolist()
    assert table.reshape(100, 10).flip(0)[2].tolist() == values.reshape(100, 10)[::-1][2].tolist()
    assert since(before) == (0, 0)


def test_a_pending_value_that_is_read_in_pieces_is_computed_once() -> None:
    values = draw(500)
    x = svod.Tensor(values) * 2
    before = counts()
    assert [x[i].item() for i in range(500)] == (values * 2).tolist()
    assert [float(v) for v in svod.Tensor(values) * 2 + 1] == (values * 2 + 1).tolist()
    assert since(before)[0] <= 2
    large = svod.ones(1 << 24) * svod.Tensor(np.float32(3.0)).realize()
    assert large[5].item() == 3.0
    assert not large.is_realized


def test_rows_at_any_position_share_a_kernel() -> None:
    values = draw(50, 8)
    x, w = svod.Tensor(values), svod.Tensor(draw(8, 4))
    results = []
    for i in range(50):
        if i == 1:
            before = counts()
        results.append((x[i] @ w).numpy())
    assert since(before) == (0, 0)
    np.testing.assert_allclose(results, values @ draw(8, 4), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "uint8", "float16"])
def test_numbers_are_written_in_place(dtype: str) -> None:
    x, wanted = svod.zeros(100, dtype=getattr(svod, dtype)), np.zeros(100, dtype)
    before = counts()
    for i in range(300):
        x[i * 7 % 100] = i % 2
        wanted[i * 7 % 100] = i % 2
    x[3:9] = 1
    wanted[3:9] = 1
    np.testing.assert_array_equal(x.numpy(), wanted)
    assert since(before) == (0, 0)


def test_a_write_changes_nothing_that_was_seen() -> None:
    x = svod.zeros(2, 3)
    x[0, 1] = 1.0
    array, row, twice, copy = x.numpy(), x[0], x * 2, svod.Tensor(x)
    same = x
    x[0] = 7.0
    x[-1, 2] = 8.0
    assert same is x
    assert x.tolist() == [[7.0, 7.0, 7.0], [0.0, 0.0, 8.0]]
    old = [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    assert array.tolist() == old and copy.tolist() == old
    assert row.tolist() == old[0]
    assert twice.tolist() == [[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]


def test_writes_go_past_memory_of_others() -> None:
    memory = np.zeros(4, np.float32)
    x = svod.from_numpy(memory)
    for i in range(20):
        x[i % 4] = float(i)
    assert x.tolist() == [16.0, 17.0, 18.0, 19.0]
    assert memory.tolist() == [0.0] * 4


def test_many_writes_to_a_pending_value_are_made_at_once() -> None:
    x = svod.Tensor(draw(50)) * 2
    wanted = draw(50) * 2
    for i in range(2000):
        x[i % 50] = float(i)
        wanted[i % 50] = i
    assert len(x.graph()) < 500
    np.testing.assert_array_equal(x.numpy(), wanted)


def test_writes_are_part_of_a_traced_function() -> None:
    @svod.jit
    def count(x: Any) -> Any:
        y = x * 1
        for i in range(12):
            y[i % 3] = float(i)
        return y + x

    assert count(svod.Tensor([1.0, 2.0, 3.0, 4.0])).tolist() == [10.0, 12.0, 14.0, 8.0]


def test_errors_of_writes_name_what_does_not_fit() -> None:
    x = svod.zeros(3, dtype=svod.uint8)
    with pytest.raises(svod.Error, match="setitem"):
        x[0] = 300
    with pytest.raises(svod.Error, match="setitem"):
        x[5] = 1
    assert x.tolist() == [0, 0, 0]


def test_threads_that_write_and_read_one_tensor() -> None:
    x = svod.zeros(64)
    x[0] = 0.0
    seen: list[Any] = []

    def read() -> None:
        for _ in range(300):
            array = x.numpy()
            first = array.tolist()
            seen.append(array.tolist() == first)

    def write() -> None:
        for i in range(3000):
            x[i % 64] = float(i)

    threads = [threading.Thread(target=work) for work in (read, write, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(seen) and len(seen) == 600
    assert x[63].item() == 2943.0
