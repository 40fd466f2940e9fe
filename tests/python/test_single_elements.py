"""One element at a constant position of memory is read where it lies: it is always that of this moment."""

import threading

import numpy as np
import pytest

import svod

DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_of_each_type_and_by_any_movement(dtype: str) -> None:
    x = (np.arange(24).reshape(2, 3, 4) * 9 - 70).astype(dtype)
    y = svod.Tensor(x)
    for i, j, k in np.ndindex(2, 3, 4):
        assert y[i, j, k].item() == x[i, j, k].item()
        assert y.permute(2, 0, 1)[k, i, j].item() == x[i, j, k].item()
        assert y.flip(1)[i, 2 - j, k].item() == x[i, j, k].item()
        assert y[i][j][k : k + 1].item() == x[i, j, k].item()
        assert y.reshape(24)[12 * i + 4 * j + k].item() == x[i, j, k].item()
        assert bool(y[i, j, k]) == bool(x[i, j, k])
        assert y[..., ::2][i, j, k // 2].item() == x[i, j, k - k % 2].item()
    assert svod.Tensor(np.array(5, dtype)).expand(1, 1).item() == np.array(5, dtype).item()


def test_values_that_have_no_order_or_no_end() -> None:
    y = svod.Tensor(np.float32([np.nan, np.inf, -np.inf, -0.0]))
    assert np.isnan(float(y[0])) and float(y[1]) == np.inf and float(y[2]) == -np.inf
    assert np.signbit(float(y[3])) and bool(y[0]) and not bool(y[3])


def test_writes_between_reads() -> None:
    x = svod.zeros(10).realize()
    view, copy = x[3], x[3] * 1
    assert float(x[3]) == 0
    for step in range(1, 20):
        x[3] = float(step)
        assert float(x[3]) == step
        assert float(x[2]) == 0
    # What was taken before keeps its value.
    assert float(view) == 0 and float(copy) == 0
    x.assign(svod.ones(10) * 7)
    assert float(x[3]) == 7 and float(view) == 0


def test_memory_of_others_is_read_as_it_is_now() -> None:
    array = np.zeros(4, np.float32)
    x = svod.from_numpy(array)
    for step in range(5):
        array[2] = step
        assert float(x[2]) == step


def test_outputs_of_a_plan_before_between_and_after_runs() -> None:
    x = svod.Tensor(np.float32([1, 2, 3]))
    y = x * 2
    plan = y.prepare(inputs=[x])
    with pytest.raises(svod.Error):
        float(y[1])
    early = y[1]
    plan.execute()
    held = y[1]
    assert float(y[1]) == 4 and float(held) == 4 and float(early) == 4
    plan.execute(np.float32([5, 6, 7]))
    assert float(y[1]) == 12 and float(held) == 4
    plan.release_all()
    assert float(held) == 4


def test_what_is_pending_is_computed_and_what_is_traced_is_refused() -> None:
    x = svod.Tensor(np.arange(5, dtype=np.float32))
    assert float((x * 3)[2]) == 6
    assert [float(v) for v in x * x] == [0, 1, 4, 9, 16]

    @svod.jit
    def refused(x: svod.Tensor) -> svod.Tensor:
        return x * float(x[0])

    with pytest.raises(svod.TraceError):
        refused(x)
    with pytest.raises(svod.Error):
        x[1:3].item()
    with pytest.raises(svod.Error):
        bool(x[1:3])


def test_threads_read_while_others_write() -> None:
    x, wrong = svod.zeros(8).realize(), []

    def read() -> None:
        last = 0.0
        for _ in range(300):
            now = float(x[5])
            if now < last or now != int(now):
                wrong.append((last, now))
            last = now

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for step in range(300):
        x[5] = float(step)
    for reader in readers:
        reader.join()
    assert not wrong and float(x[5]) == 299


def test_gradients_pass_through_elements_that_were_read() -> None:
    w = svod.Tensor(np.float32([2, 3])).requires_grad_()
    part = w[1]
    assert float(part) == 3
    (part * part).backward()
    assert w.grad is not None
    np.testing.assert_array_equal(w.grad.numpy(), [0, 6])


def test_comparisons_and_single_operations_of_elements_need_no_kernel() -> None:
    values = np.random.default_rng(8).standard_normal(60).astype(np.float32)
    x = svod.Tensor(values).realize()
    before = svod.compile_times().get("render", (0, 0.0))[0]
    assert float(min(x)) == values.min()
    assert float(max(x)) == values.max()
    assert [float(v) for v in sorted(x)] == sorted(values.tolist())
    for a, b in zip(range(60), range(59, -1, -1), strict=True):
        assert float(x[a] * x[b]) == values[a] * values[b]
        assert float(x[a] / x[b]) == values[a] / values[b]
        assert float(abs(x[a] - 1)) == abs(values[a] - np.float32(1))
        assert bool((x[a] < x[b]) & (x[b] > 0)) == (values[a] < values[b] and values[b] > 0)
        assert int(x[a].int() * 3 + x[b].int()) == int(values[a]) * 3 + int(values[b])
    assert svod.compile_times().get("render", (0, 0.0))[0] == before
    product, wide = x[3] * x[4], values[3] * values[4]
    assert float(product) == wide
    assert (product + svod.zeros(2)).tolist() == [wide, wide]
    assert float(product) == wide


def test_what_looks_for_nan_finds_it_in_elements() -> None:
    x = svod.Tensor([np.inf, 1.0]).realize()
    assert np.isnan(float(x[0] - x[0]))
    with svod.detect_nan(), pytest.raises(svod.ExecutionError):
        float(x[0] - x[0])


def test_writes_at_positions_that_are_elements_are_in_place() -> None:
    at = np.random.default_rng(0).integers(-20, 20, 40)
    positions, rows = svod.Tensor(at).realize(), svod.Tensor(np.arange(40) % 3).realize()
    counted, table, named = svod.zeros(20), svod.zeros(3, 20), svod.zeros(20, dtype="int64")
    expected, of_table = np.zeros(20), np.zeros((3, 20))
    for i, t in enumerate(positions):
        counted[t] += 1
        table[rows[i], t] += 2
        named[t] = i
        expected[at[i]] += 1
        of_table[i % 3, at[i]] += 2
    for written in (counted, named):
        assert "scatter" not in str(svod.Graph(written))
    np.testing.assert_array_equal(counted.numpy(), expected)
    np.testing.assert_array_equal(table.numpy(), of_table)
    assert named[at[-1]].item() == 39
    # Views taken earlier keep what they saw, and positions that are not there are an error.
    before = counted * 1
    counted[positions[0]] = 50
    assert counted[at[0]].item() == 50 and before.tolist() == expected.tolist()
    outside = svod.Tensor([20])
    counted[outside[0]] = 1
    with pytest.raises(IndexError):
        counted.numpy()


def test_a_plan_refuses_what_was_written_at_positions_of_its_input() -> None:
    positions, counted = svod.Tensor([0, 1, 2] * 10), svod.zeros(3)
    first = svod.zeros(3)
    first[positions[2]] = 4.0
    assert first.prepare(inputs=[positions]).run(np.zeros(30, np.int64))[0].tolist() == [4, 0, 0]
    for t in positions:
        counted[t] += 1
    with pytest.raises(svod.ArgumentError, match="no output depends on"):
        counted.prepare(inputs=[positions])
