"""Several devices in one process: values on them, between them, and errors."""

import copy
import pickle

import numpy as np
import pytest
from threads import in_threads

import svod

DEVICES = ["CPU", "CPU:1", "CPU:2"]


def data(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def live(device):
    return svod.memory().get(device, {"live": 0})["live"]


@pytest.mark.parametrize("device", DEVICES)
def test_a7_constructors_take_a_device(device):
    x = data(3, 5)
    made = {
        "Tensor": (svod.Tensor(x, device=device), x),
        "scalar": (svod.Tensor(2.5, device=device), np.float32(2.5)),
        "cast": (svod.Tensor(x, "int32", device), x.astype(np.int32)),
        "asarray": (svod.asarray(x, device=device), x),
        "zeros": (svod.zeros(2, 3, device=device), np.zeros((2, 3), np.float32)),
        "ones": (svod.ones((2, 3), device=device), np.ones((2, 3), np.float32)),
        "full": (svod.full((4,), 7, device=device), np.full(4, 7)),
        "arange": (svod.arange(2, 9, 3, device=device), np.arange(2, 9, 3)),
        "linspace": (svod.linspace(0, 1, 5, device=device), np.linspace(0, 1, 5, dtype=np.float32)),
        "eye": (svod.eye(3, 4, device=device), np.eye(3, 4, dtype=np.float32)),
        "none": (svod.zeros(0, 3, device=device), np.zeros((0, 3), np.float32)),
    }
    for name, (tensor, expected) in made.items():
        assert tensor.device == device, name
        np.testing.assert_array_equal(tensor.numpy(), expected, err_msg=name)
        assert tensor.realize().device == device, name
    drawn = svod.rand(4, 4, device=device), svod.randn(9, device=device), svod.randint(0, 5, (6,), device=device)
    assert [t.realize().device for t in drawn] == [device] * 3
    assert svod.empty(3, device=device).device == device


def test_a7_randomness_is_the_same_on_every_device():
    drawn = []
    for device in DEVICES:
        svod.manual_seed(3)
        drawn.append(svod.randn(50, device=device).numpy())
    assert all((d == drawn[0]).all() for d in drawn)


def test_a6_kernels_run_where_their_buffers_are():
    a, b = data(33, 17), data(17, 9, seed=1)
    for device in DEVICES:
        x, y = svod.Tensor(a, device=device), svod.Tensor(b, device=device)
        # What is on no device joins in, also where it is worth a buffer.
        z = (x @ y + svod.arange(9)).softmax(-1) * svod.arange(33).reshape(33, 1).cumsum(0)
        assert z.device == device
        plan = z.prepare()
        plan.execute()
        assert {k.device for k in plan.kernels} == {device}
        logits = a @ b + np.arange(9)
        soft = np.exp(logits - logits.max(axis=-1, keepdims=True))
        expected = soft / soft.sum(-1, keepdims=True) * np.arange(33).reshape(33, 1).cumsum(0)
        np.testing.assert_allclose(z.numpy(), expected, rtol=2e-4, atol=1e-5)


def test_a11_copies_between_devices_are_ops_of_the_plan():
    a = data(64, 5)
    x = svod.Tensor(a)
    there = (x * 2).to("CPU:1")
    back = (there.sum(0) + 1).to("CPU:2")
    assert (there.device, back.device) == ("CPU:1", "CPU:2")
    plan = back.prepare(inputs=[x])
    profile = plan.execute_profiled()
    np.testing.assert_allclose(back.numpy(), (a * 2).sum(0) + 1, rtol=1e-5)
    assert [k.device for k in plan.kernels] == ["CPU", "CPU:1"]
    assert [t.name for t in profile.others] == ["copy", "copy"]
    plan.execute(a + 1)
    np.testing.assert_allclose(back.numpy(), ((a + 1) * 2).sum(0) + 1, rtol=1e-5)


def test_a11_copying_to_the_same_device_and_back_is_no_work():
    x = svod.Tensor(data(4))
    assert "copy" not in x.to("CPU").graph()
    y = (x.to("CPU:1").to("CPU") + 1).prepare()
    y.execute()
    assert len(y.kernels) == 1 and not y.execute_profiled().others


def test_a11_views_of_other_devices_are_copied():
    a = data(6, 8)
    for make in [
        lambda t: t[1:4],
        lambda t: t.T,
        lambda t: t[:, ::-2],
        lambda t: t.reshape(8, 6),
        lambda t: t[0].expand(5, 8),
        lambda t: t[:0],
    ]:
        got = make(svod.Tensor(a)).to("CPU:1").numpy()
        expected = make(a) if make(svod.Tensor(a)).shape != (5, 8) else np.broadcast_to(a[0], (5, 8))
        np.testing.assert_array_equal(got, expected)


def test_a11_memory_is_counted_per_device():
    before = live("CPU:2")
    x = svod.Tensor(np.zeros(1 << 20, np.float32), device="CPU:2")
    assert live("CPU:2") - before >= 4 << 20
    y = (x + 1).realize()
    assert live("CPU:2") - before >= 8 << 20 and y.device == "CPU:2"
    del x, y
    assert live("CPU:2") - before < 1 << 20
    assert svod.memory()["CPU:2"]["peak"] >= 8 << 20


def test_a7_mixed_devices_are_an_error_that_names_both():
    x, y = svod.Tensor([1.0, 2.0]), svod.Tensor([1.0, 2.0], device="CPU:1")
    for mix in [
        lambda: x + y,
        lambda: y @ x,
        lambda: svod.cat([x, y]),
        lambda: svod.where(x > 0, y, x),
        lambda: x[y.cast("int32")],
    ]:
        with pytest.raises(svod.DeviceError, match=r"CPU and CPU:1|CPU:1 and CPU"):
            mix()


def rows_assigned(a):
    a = a.clone()
    a[[0, 5]] = 0.0
    a[np.arange(6) > 3] = 1.0
    return a


GRID = np.arange(24, dtype=np.float32).reshape(6, 4)
WITH_NUMBERS_OF_THE_HOST = {
    "mask": lambda a: a[a > 20],
    "array mask": lambda a: a[GRID > 20],
    "masked_select": lambda a: a.masked_select(a > 3),
    "unique": lambda a: a.unique(),
    "list": lambda a: a[[5, -1, 0]],
    "array": lambda a: a[np.array([5, 0]), np.array([1, 2])],
    "assignment": rows_assigned,
    "embedding": lambda a: a.embedding([1, 2]),
    "index_select": lambda a: a.index_select(0, [1, 2]),
    "gather": lambda a: a.gather(1, [[0], [1], [2], [3], [0], [1]]),
    "scatter": lambda a: a.scatter(0, np.zeros((1, 4), np.int64), GRID[:1] + 50),
    "index_add": lambda a: a.index_add(0, [0, 1], GRID[:2]),
    "add": lambda a: a + GRID,
    "add to": lambda a: GRID + a,
    "matmul": lambda a: a @ GRID.T,
    "linear": lambda a: a.linear(GRID[:3]),
    "einsum": lambda a: svod.einsum("ij,kj->ik", a, GRID),
    "where": lambda a: svod.where(GRID > 3, a, 0),
    "cat": lambda a: svod.cat([a, GRID]),
    "searchsorted": lambda a: a.flatten().searchsorted([1.0, 2.5]),
    "like": lambda a: a * a.full_like(3) + a.zeros_like(),
    "random": lambda a: a + 0 * svod.rand(6, 4),
}


@pytest.mark.parametrize("operation", WITH_NUMBERS_OF_THE_HOST)
@pytest.mark.parametrize("spread", ["one", "rows", "columns", "whole"])
def test_a7_numbers_of_the_host_go_where_they_are_used(operation, spread):
    make, x = WITH_NUMBERS_OF_THE_HOST[operation], svod.Tensor(GRID)
    axis = {"rows": 0, "columns": 1}.get(spread)
    there = x.to("CPU:1") if spread == "one" else x.shard(["CPU:2", "CPU:1"], axis)
    result = make(there)
    assert result.device == ("CPU:1" if spread == "one" else ("CPU:2", "CPU:1"))
    np.testing.assert_array_equal(result.numpy(), make(x).numpy())


def test_a7_copies_of_a_value_stay_where_it_is():
    x = svod.Tensor(GRID)
    for there in [x, x.to("CPU:1"), x.shard(["CPU", "CPU:1"], 1), x.shard(["CPU", "CPU:1"])]:
        for same in [pickle.loads(pickle.dumps(there)), copy.deepcopy(there), there.ones_like() * GRID]:
            assert (same.device, same.shard_axis) == (there.device, there.shard_axis)
            np.testing.assert_array_equal(same.numpy(), GRID)
    assert (x.to("CPU:1") > 3).nonzero()[0].device == "CPU:1"


@pytest.mark.parametrize("name", ["", "tpu", "CPU:x", "Metal", "DISK", "CPU:-1"])
def test_a7_an_unknown_device_is_an_error_that_says_what_there_is(name):
    for make in [
        lambda: svod.zeros(2, device=name),
        lambda: svod.Tensor([1], device=name),
        lambda: svod.ones(2).to(name),
    ]:
        with pytest.raises(svod.DeviceError, match=r"unknown device.*expected"):
            make()


def test_a7_files_cannot_be_written(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"hello")
    with pytest.raises(svod.UnsupportedError, match="read-only"):
        svod.ones(2).to(f"DISK:{path}")


def test_a7_aliases_name_the_same_device():
    x = svod.Tensor([1.0], device="cpu:0")
    assert x.device == "CPU"
    assert (x + svod.Tensor([1.0], device="host")).item() == 2.0
    assert svod.zeros(1, device="cpu:01").device == "CPU:1"


def test_a7_values_that_no_argument_places_go_where_the_configuration_says():
    with svod.PrepareConfig(device="CPU:1"):
        x = (svod.arange(5) * 2).realize()
        assert (x.device, svod.rand(3).realize().device) == ("CPU:1", "CPU:1")
    assert (svod.arange(5) * 2).realize().device == "CPU"


def test_a11_assignment_keeps_the_device():
    x, y = svod.Tensor(data(4, 3), device="CPU:1"), data(3, seed=2)
    x[1] = svod.Tensor(y)
    assert x.device == "CPU:1" and (x.numpy()[1] == y).all()
    x.assign(svod.Tensor(data(4, 3, seed=5)))
    assert x.device == "CPU:1" and (x.numpy() == data(4, 3, seed=5)).all()


def test_a6_the_same_graph_on_two_devices_is_scheduled_for_each():
    def run(device):
        x = svod.Tensor(data(19, 23), device=device)
        return (x.softmax(-1) @ x.T).realize()

    results = [run(d) for d in ["CPU", "CPU:1", "CPU", "CPU:1"]]
    assert [r.device for r in results] == ["CPU", "CPU:1"] * 2
    assert all((r.numpy() == results[0].numpy()).all() for r in results)


def test_a1_threads_share_devices():
    a = data(40, 30)
    expected = np.tanh(a @ a.T).sum(0)

    def work(i):
        for step in range(25):
            x = svod.Tensor(a, device=f"CPU:{(i + step) % 2 + 1}")
            y = (x @ x.T).tanh().sum(0)
            back = y.to(f"CPU:{i % 2 + 1}")
            np.testing.assert_allclose(back.numpy(), expected, rtol=1e-4, atol=1e-4)

    in_threads(work)


def test_a1_threads_run_shared_plans_over_two_devices():
    x = svod.Tensor(data(16, 16))
    y = ((x + 1).to("CPU:1") * 2).to("CPU")
    plan = y.prepare(inputs=[x])

    def work(i):
        own = plan.instance()
        for step in range(50):
            a = data(16, 16, seed=i * 100 + step)
            own.execute(a)
            np.testing.assert_allclose(own.outputs[0].numpy(), (a + 1) * 2, rtol=1e-6)

    in_threads(work)


def test_c8_functions_read_copies_of_files(tmp_path):
    """Issue 6: a file is read-only, and where it is already it may be moved to."""
    numbers = np.arange(12, dtype=np.float32).reshape(3, 4)
    numbers.tofile(tmp_path / "numbers")
    x = svod.empty(3, 4, device=f"DISK:{tmp_path / 'numbers'}")
    assert svod.custom(lambda a: a * 2, x).tolist() == (numbers * 2).tolist()
    assert x.to(x.device).device == x.device
    for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert twin.device == "CPU" and twin.tolist() == numbers.tolist()


@pytest.mark.parametrize("constant", ["square", "log2", "fill"])
def test_a7_a_result_that_turns_out_to_be_a_constant_is_not_read_on_another_device(constant):
    made = {
        "square": lambda: svod.zeros().square(),
        "log2": lambda: svod.log2(svod.ones()),
        "fill": lambda: svod.zeros(3) * 2,
    }[constant]
    result, one = made(), svod.Tensor(np.array([-1.0, 0.0, 2.0], np.float32)).to("CPU:1")
    svod.realize(result, one.relu() + made(), one.maximum(0))
    assert float(result.sum()) == 0 and result.device == "CPU"
    there = one.relu() + made()
    plan = svod.prepare(made(), there)
    plan.execute()
    assert [output.device for output in plan.outputs] == ["CPU", "CPU:1"]
    assert plan.outputs[1].tolist() == [0, 0, 2]


def test_a7_parts_of_an_empty_value_stay_parts_of_their_axis():
    a = np.arange(16.0, dtype=np.float32).reshape(1, 1, 4, 4)
    x = svod.Tensor(a).shard(["CPU", "CPU:1"], 3)
    for index in [
        np.index_exp[-1, :-1:3, 1:-1, None, -3:2],
        np.index_exp[:0, :, 1:3, 1:3],
        np.index_exp[:, :0, None, :, 3:],
        np.index_exp[:, :, :0, None, :],
    ]:
        expected = a[index]
        assert x[index].numpy().shape == expected.shape
        assert x[index].reshape(*expected.shape, 1).numpy().shape == (*expected.shape, 1)
        assert x[index].reshape(-1).tolist() == expected.reshape(-1).tolist()
    target, b = svod.Tensor(data(3, 1, 6, 6)).shard(["CPU", "CPU:1"], 0), data(3, 1, 6, 6)
    target[:4:2, 1:0:2, 0:-2] = svod.zeros(2, 0, 4, 6).shard(["CPU", "CPU:1"], 0)
    np.testing.assert_array_equal(target.numpy(), b)


ON_NO_DEVICE = {
    "eye": lambda: svod.eye(4),
    "arange": lambda: svod.arange(16.0).reshape(4, 4),
    "linspace": lambda: svod.linspace(0, 1, 4).reshape(4, 1) * svod.arange(4),
    "tril": lambda: svod.ones(4, 4).tril(),
    "empty": lambda: svod.eye(4)[:, :0],
}


@pytest.mark.parametrize("name", ON_NO_DEVICE)
def test_a7_what_is_on_no_device_stays_so_when_it_is_read(name):
    """Issue 22: an expression of it was an error once it had been read by itself."""
    make = ON_NO_DEVICE[name]
    expected, rows = make().numpy(), svod.Tensor([2, 0]).to("CPU:1")
    before = make()
    late = before[rows]
    assert before.numpy().shape == expected.shape
    np.testing.assert_array_equal(late.numpy(), expected[[2, 0]])
    read = make().realize()
    assert read.device == "CPU" and late.device == "CPU:1"
    np.testing.assert_array_equal(read[rows].numpy(), expected[[2, 0]])
    np.testing.assert_array_equal((read + read.to("CPU:1")).numpy(), expected * 2)
    read[:1] = 7
    assert (read[:1].numpy() == 7).all() and (before.numpy() == expected).all()
