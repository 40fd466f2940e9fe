"""Values that are spread over devices: layouts, operations, collectives, errors."""

import itertools

import numpy as np
import pytest
from sharded import FOUR, THREE, TWO, check, data

import svod


@pytest.mark.parametrize("devices", [["CPU:1"], TWO, THREE, FOUR])
@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_e2_shard_and_gather(devices, axis):
    a = data(7, 5, 3)
    x = svod.Tensor(a).shard(devices, axis)
    check(x, a, devices=devices, axis=None if axis is None else axis % 3)
    for device in {devices[0], devices[-1], "CPU"}:
        whole = x.to(device)
        assert whole.device == device
        np.testing.assert_array_equal(whole.numpy(), a)


@pytest.mark.parametrize("axes", [*itertools.product([0, 1, None], repeat=2)], ids=str)
def test_e2_parts_go_over_other_devices(axes):
    a = data(7, 5)
    for devices in (THREE, ["CPU"], ["CPU:2", "CPU:1"]):
        there = svod.Tensor(a).shard(TWO, axes[0]).shard(devices, axes[1])
        check(there * 2, a * 2, devices=devices, axis=axes[1])


def test_e2_parts_differ_by_at_most_one_and_may_be_empty():
    extents = [s.shape[0] for s in svod.Tensor(data(10)).shard(FOUR, 0).shards]
    assert extents == [3, 3, 2, 2]
    x = svod.Tensor(data(2, 3)).shard(FOUR, 0)
    assert [s.shape for s in x.shards] == [(1, 3), (1, 3), (0, 3), (0, 3)]
    check(x * 2, data(2, 3) * 2, devices=FOUR, axis=0)
    check(x.sum(0), data(2, 3).sum(0), devices=FOUR)
    check(x.max(axis=0), data(2, 3).max(axis=0), devices=FOUR)
    check((x + 1).sum(), (data(2, 3) + 1).sum(), devices=FOUR)
    none = svod.zeros(0, 3).shard(TWO, 0)
    assert none.numpy().shape == (0, 3)
    check(none.sum(0), np.zeros(3, np.float32))


def test_e2_a_realized_sharding_is_memory_on_each_device():
    before = {d: svod.memory().get(d, {"live": 0})["live"] for d in TWO}
    x = svod.Tensor(data(1 << 18)).shard(TWO, 0).realize()
    assert x.is_realized and "device=('CPU:1', 'CPU:2')" in repr(x)
    for device in TWO:
        assert svod.memory()[device]["live"] - before[device] >= 1 << 19
    y = x + 1
    assert not y.is_realized
    check(y, data(1 << 18) + 1, devices=TWO, axis=0)
    assert [s.is_realized for s in x.shards] == [True, True]


def test_e2_elementwise():
    a, b = data(9, 4), data(9, 4, seed=1)
    x, y = svod.Tensor(a).shard(THREE, 0), svod.Tensor(b).shard(THREE, 0)
    check(x * y + 1.5, a * b + 1.5, devices=THREE, axis=0)
    check(svod.where(x > 0, y, -1.0), np.where(a > 0, b, np.float32(-1)), devices=THREE, axis=0)
    check(x.exp().cast("float64"), np.exp(a).astype(np.float64), devices=THREE, axis=0)
    # With copies, with what is on no device, with broadcasting.
    whole = svod.Tensor(b).shard(THREE)
    check(whole - x, b - a, devices=THREE, axis=0)
    check(whole * 2, b * 2, devices=THREE)
    numbers = np.arange(36, dtype=np.float32).reshape(9, 4)
    check(x + svod.arange(36).reshape(9, 4), a + numbers, devices=THREE, axis=0)
    bias = svod.Tensor(b[0]).shard(THREE)
    check(x + bias, a + b[0], devices=THREE, axis=0)
    check(x + svod.Tensor(b[:, :1]).shard(THREE, 0), a + b[:, :1], devices=THREE, axis=0)


@pytest.mark.parametrize("by", ["sum", "max", "min", "prod", "mean", "any", "all", "std"])
@pytest.mark.parametrize("axis", [0, 1, (0, 2), None])
def test_e2_reductions(by, axis):
    a = data(5, 6, 3) if by not in ("any", "all") else data(5, 6, 3) > 0.5
    x = svod.Tensor(a).shard(THREE, 0)
    axes = axis if isinstance(axis, tuple) else (axis,)
    split = None if axis is None or 0 in axes else 0
    options = {"ddof": 1} if by == "std" else {}
    check(getattr(x, by)(axis=axis), getattr(a, by)(axis, **options), devices=THREE, axis=split)
    y = svod.Tensor(a).shard(THREE, 2)
    split = None if axis is None or 2 in axes else 1 if axis in (0, 1) else 0
    check(getattr(y, by)(axis=axis), getattr(a, by)(axis, **options), devices=THREE, axis=split)


def test_e2_softmax_and_layer_norm_along_the_split_axis():
    a = data(6, 10)
    e = np.exp(a - a.max(axis=-1, keepdims=True))
    for axis in (0, 1):
        x = svod.Tensor(a).shard(THREE, axis)
        check(x.softmax(-1), e / e.sum(-1, keepdims=True), devices=THREE, axis=axis)
        normal = (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-5)
        check(svod.nn.functional.layer_norm(x, (10,)), normal, devices=THREE, axis=axis, rtol=1e-4)


@pytest.mark.parametrize("sides", ["rows", "columns", "inner", "whole", "batch"])
def test_e2_matmul(sides):
    a, b = data(3, 8, 10), data(3, 10, 7, seed=1)
    left, right, split = {
        "rows": (1, None, 1),
        "columns": (None, 2, 2),
        "inner": (2, 1, None),
        "whole": (None, None, None),
        "batch": (0, 0, 0),
    }[sides]
    x, y = svod.Tensor(a).shard(THREE, left), svod.Tensor(b).shard(THREE, right)
    check(x @ y, a @ b, devices=THREE, axis=split)


def test_e2_movement():
    a = data(6, 4, 5)
    x = svod.Tensor(a).shard(THREE, 0)
    check(x.permute(2, 0, 1), a.transpose(2, 0, 1), devices=THREE, axis=1)
    check(x.reshape(6, 20), a.reshape(6, 20), devices=THREE, axis=0)
    check(x.reshape(24, 5), a.reshape(24, 5), devices=THREE, axis=0)
    check(x.reshape(3, 2, 20), a.reshape(3, 2, 20), devices=THREE, axis=0)
    check(x.reshape(1, 6, 1, 20), a.reshape(1, 6, 1, 20), devices=THREE, axis=1)
    check(x.unsqueeze(0).expand(2, 6, 4, 5), np.broadcast_to(a, (2, 6, 4, 5)), devices=THREE, axis=1)
    check(x.flip(1), a[:, ::-1], devices=THREE, axis=0)
    check(x[:, 1:3], a[:, 1:3], devices=THREE, axis=0)
    check(x[1:5], a[1:5], devices=THREE, axis=0)
    check(x[3:4], a[3:4], devices=THREE, axis=0)
    check(
        x.pad([(0, 0), (0, 0), (1, 2)], 7.0),
        np.pad(a, ((0, 0), (0, 0), (1, 2)), constant_values=7),
        devices=THREE,
        axis=0,
    )
    check(
        svod.Tensor(a).shard(THREE, 2).pad([(0, 0), (0, 0), (1, 2)], 7.0),
        np.pad(a, ((0, 0), (0, 0), (1, 2)), constant_values=7),
        devices=THREE,
        axis=2,
    )
    check(svod.cat([x, x * 2], 1), np.concatenate([a, a * 2], 1), devices=THREE, axis=0)
    check(x.cumsum(1), a.cumsum(1), devices=THREE, axis=0)
    check(x.sort(2)[0] if isinstance(x.sort(2), tuple) else x.sort(2), np.sort(a, 2), devices=THREE, axis=0)


def test_e2_lookups():
    table, index = data(11, 4), np.random.default_rng(1).integers(0, 11, (7,))
    expected = table[index]
    whole, ids = svod.Tensor(table).shard(THREE), svod.Tensor(index).shard(THREE, 0)
    check(whole[ids], expected, devices=THREE, axis=0)
    check(svod.Tensor(table).shard(THREE, 1)[svod.Tensor(index).shard(THREE)], expected, devices=THREE, axis=1)
    picked = np.take_along_axis(table, table.argsort(1), 1)
    order = svod.Tensor(table.argsort(1))
    check(svod.Tensor(table).shard(THREE, 0).gather(1, order.shard(THREE, 0)), picked, devices=THREE, axis=0)
    check(whole.gather(1, order.shard(THREE, 0)), picked, devices=THREE, axis=0)
    with pytest.raises(svod.IndexError):
        whole[svod.Tensor(index + 11).shard(THREE, 0)].realize()


@pytest.mark.parametrize("to", [0, 1, None])
@pytest.mark.parametrize("given", [0, 1, None])
@pytest.mark.parametrize("devices", [TWO, FOUR])
def test_e2_laying_out_anew(given, to, devices):
    a = data(9, 6)
    x = svod.Tensor(a).shard(devices, given) * 2
    check(x.shard(devices, to), a * 2, devices=devices, axis=to)


@pytest.mark.parametrize("count", [1, 5, 1000, 70_001, 200_000])
@pytest.mark.parametrize("devices", [TWO, THREE, FOUR])
def test_e2_all_reduce_naive_and_in_a_ring(count, devices):
    a = data(len(devices), count)
    x = svod.Tensor(a)
    check(x.shard(devices, 0).sum(0), a.sum(0), devices=devices)
    total = x.shard(devices, 0).sum(0).contiguous()
    plan = total.prepare()
    copies = [t.name for t in plan.execute_profiled().others]
    n, ring = len(devices), len(devices) > 2 and count * 4 >= 256 << 10
    # The parts come from the whole: one copy per device that the whole is not on.
    parts = sum(d != "CPU" for d in devices)
    assert len(copies) == parts + (2 * n * (n - 1) if ring else n * (n - 1))
    first = total.numpy()
    for _ in range(3):
        plan.execute()
        assert total.numpy().tobytes() == first.tobytes()


@pytest.mark.parametrize("count", [12, 100_000])
def test_e2_a_sum_that_is_split_again_is_scattered(count):
    a = data(4, count)
    x = svod.Tensor(a).shard(FOUR, 0).realize()
    check(x.sum(0).shard(FOUR, 0), a.sum(0), devices=FOUR, axis=0)
    plan = x.sum(0).shard(FOUR, 0).prepare()
    assert len(plan.execute_profiled().others) == 4 * 3


@pytest.mark.parametrize("axis", [0, 1])
def test_e2_what_reaches_across_parts_is_gathered_by_itself(axis):
    a = data(7, 5)
    x = svod.Tensor(a).shard(THREE, axis)
    whole = {"devices": THREE, "axis": None}
    check(x.flip(axis), np.flip(a, axis), **whole)
    check(x.cumsum(axis), a.cumsum(axis), **whole)
    check(x.argmax(axis), a.argmax(axis), **whole)
    values, places = x.sort(axis, descending=True)
    check(values, -np.sort(-a, axis), **whole)
    check(places, np.argsort(-a, axis, kind="stable"), **whole)
    picked = svod.Tensor([4, 0, 4])
    check(x.take(picked.shard(THREE), axis), a.take([4, 0, 4], axis), **whole)
    check(x.take(picked.shard(THREE, 0), axis), a.take([4, 0, 4], axis), devices=THREE, axis=axis)
    index = np.flip(np.argsort(a, axis), axis)
    spread = svod.Tensor(index.copy()).shard(THREE, axis)
    check(x.gather(axis, spread), np.take_along_axis(a, index, axis), devices=THREE, axis=axis)
    zeros = svod.zeros(7, 5).shard(THREE, axis)
    scattered = np.zeros_like(a)
    np.put_along_axis(scattered, index, a, axis)
    check(zeros.scatter(axis, spread, x), scattered, **whole)
    check(x.unfold(axis, 3, 1).sum(-1), sum(a.take(range(i, a.shape[axis] - 2 + i), axis) for i in range(3)), **whole)
    check(x.roll(2, axis), np.roll(a, 2, axis))
    check(svod.cat([x, x], axis), np.concatenate([a, a], axis))
    check((x.reshape(35) * 2), a.reshape(35) * 2)
    check(x.T @ svod.Tensor(a).shard(THREE, 1 - axis), a.T @ a)
    one = svod.Tensor(a[:1]).shard(THREE, 0)
    check(one.expand(7, 5) + x, a[:1] + a)
    # Parts of another axis, and of other extents.
    check(x + svod.Tensor(a).shard(THREE, 1 - axis), a + a, devices=THREE, axis=axis)
    check(x.flip(axis) + x, np.flip(a, axis) + a, devices=THREE, axis=axis)
    start = [slice(None)] * 2
    start[axis] = slice(1, None)
    stop = [slice(None)] * 2
    stop[axis] = slice(None, -1)
    check(x[tuple(start)] - x[tuple(stop)], np.diff(a, axis=axis), devices=THREE, axis=axis)
    assert "shard" in svod.Tensor.graph(x.flip(axis)), "the move is a node of its own"


def test_e2_convolutions_over_images_and_channels_that_are_spread():
    images, weight = data(5, 6, 9, 9), data(4, 6, 3, 3, seed=1)
    expected = svod.Tensor(images).conv2d(svod.Tensor(weight), padding=1).numpy()
    for axis, split in [(0, 0), (1, None), (2, None), (3, None)]:
        x = svod.Tensor(images).shard(TWO, axis)
        w = svod.Tensor(weight).shard(TWO, 1 if axis == 1 else None)
        y = x.conv2d(w, padding=1)
        check(y, expected, devices=TWO, axis=split, rtol=1e-4, atol=1e-4)
    y = svod.Tensor(images).shard(TWO).conv2d(svod.Tensor(weight).shard(TWO, 0), padding=1)
    check(y, expected, devices=TWO, axis=1, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_e2_assignments_to_ranges_keep_the_layout(axis):
    a, v = data(7, 4), data(2, 4, seed=1)
    cases = [
        (slice(2, 5), 1.0),
        (slice(0, 7, 2), svod.Tensor(2.0)),
        ((slice(None), slice(1, 3)), 3.0),
        (3, v[0]),
        (slice(2, 4), svod.Tensor(v)),
        (slice(5, None), svod.Tensor(v).shard(THREE, 1)),
        ((slice(4, 6), slice(None)), svod.Tensor(v).shard(THREE)),
    ]
    x, expected = svod.Tensor(a).shard(THREE, axis).realize(), a.copy()
    before = x + 1
    for index, value in cases:
        x[index] = value
        expected[index] = value.numpy() if isinstance(value, svod.Tensor) else value
    x[svod.Tensor([0, 6]).shard(THREE)] = 7.0
    expected[[0, 6]] = 7
    x[x > 5] = -1.0
    expected[expected > 5] = -1
    check(x, expected, devices=THREE, axis=axis)
    check(before, a + 1, devices=THREE, axis=axis)
    for value in (a, svod.Tensor(a), svod.Tensor(a).shard(THREE, 1), x * 0 + svod.Tensor(a).shard(THREE)):
        x.assign(value)
        check(x, a, devices=THREE, axis=axis)


def test_e2_errors_name_the_devices_and_what_to_do():
    x = svod.Tensor(data(6, 4)).shard(TWO, 0)
    with pytest.raises(
        svod.DeviceError, match=r"custom of .*one device.*\[CPU:1, CPU:2\] along axis 0 as.*copy it to one, with `to`"
    ):
        svod.custom(np.sort, x)
    for refused in [
        lambda: x + svod.Tensor(data(6, 4)),
        lambda: x + svod.Tensor(data(6, 4)).shard(["CPU:2", "CPU:1"], 0),
        lambda: x + svod.Tensor(data(6, 4)).shard(FOUR, 0),
    ]:
        with pytest.raises(svod.DeviceError, match=r"\[CPU:1, CPU:2\] along axis 0 as \[3, 3\]"):
            refused()
    for devices, axis, error in [
        ([], 0, ValueError),
        (["CPU", "CPU"], 0, ValueError),
        (["CPU", "TPU"], 0, svod.DeviceError),
        (TWO, 2, svod.ShapeError),
    ]:
        with pytest.raises(error):
            svod.Tensor(data(6, 4)).shard(devices, axis)


def test_e2_random_shardings_of_random_expressions():
    rng = np.random.default_rng(0)
    for _ in range(15):
        devices = [TWO, THREE, FOUR][rng.integers(3)]
        a, b = data(int(rng.integers(1, 9)), int(rng.integers(1, 9)), seed=int(rng.integers(99))), data(1, 1)
        axis = [0, 1, None][rng.integers(3)]
        x, expected = svod.Tensor(a).shard(devices, axis) * float(b[0, 0]), a * b[0, 0]
        for step in rng.integers(0, 5, 4):
            if step == 0:
                x, expected = x.T, expected.T
            elif step == 1:
                x, expected = x + x.sum(0, keepdim=True), expected + expected.sum(0, keepdims=True)
            elif step == 2:
                x, expected = x.shard(devices, 1), expected
            elif step == 3:
                x, expected = x.tanh(), np.tanh(expected)
            else:
                x, expected = x.max(axis=1, keepdim=True) - x, expected.max(axis=1, keepdims=True) - expected
        check(x, expected, rtol=1e-4, atol=1e-4)


def test_b5_parts_of_several_roots_share_work():
    a = data(8, 4)
    x = svod.Tensor(a).shard(TWO, 0)
    y = x.exp()
    roots = [y + 1, y.sum(0), y.to("CPU")]
    svod.realize(*roots)
    for root, expected in zip(roots, [np.exp(a) + 1, np.exp(a).sum(0), np.exp(a)], strict=True):
        assert root.is_realized
        check(root, expected)
    assert len(list(itertools.chain(*(r.shards for r in roots)))) == 5


def test_two_products_of_spread_rows_with_a_softmax_between() -> None:
    """Each device's attention is one kernel, as on one device."""
    q, w, u = (
        np.random.default_rng(n).standard_normal(s).astype("float32")
        for n, s in enumerate(((9, 16), (16, 32), (32, 24)))
    )
    scores = q.astype("float64") @ w
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = weights / weights.sum(1, keepdims=True) @ u
    for between, want in ((lambda x: x.softmax(-1), expected), (lambda x: x / x.abs().sum(-1, keepdim=True), None)):
        mixed = between(svod.Tensor(q).shard(TWO, 0) @ svod.Tensor(w).shard(TWO)) @ svod.Tensor(u).shard(TWO)
        if want is None:
            want = scores / np.abs(scores).sum(1, keepdims=True) @ u
        np.testing.assert_allclose(mixed.numpy(), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "fill",
    [
        lambda x: x * 0,
        lambda x: x & 0,
        lambda x: svod.where(svod.arange(4) >= 2, 3, x),
        lambda x: svod.where(svod.arange(4) < 2, 3, x),
        lambda x: svod.where(svod.arange(4) >= 0, 3, x),
        lambda x: x[:0].pad([(2, 2)]),
    ],
)
def test_e2_what_turns_out_to_be_constant_stays_on_its_device(fill):
    whole = svod.Tensor([0, 1, 2, 3])
    expected = fill(whole).numpy()
    there = fill(whole.to("CPU:1"))
    assert there.realize().device == "CPU:1"
    np.testing.assert_array_equal(there.numpy(), expected)
    again = fill(whole.to("CPU:1"))
    again.prepare().execute()
    assert again.device == "CPU:1"
    spread = fill(whole.shard(["CPU", "CPU:1"], 0))
    placed = spread.device
    np.testing.assert_array_equal(spread.numpy(), expected)
    assert spread.device == placed
    inside = svod.iterate(2, lambda i, x: x * 0, whole.to("CPU:1"))
    assert inside.realize().device == "CPU:1"


def test_e2_a_part_of_a_spread_tensor_is_set():
    for part in (slice(2, None), slice(0, 2), 3, slice(1, 3), slice(None)):
        x, expected = svod.Tensor([0.0, 1.0, 2.0, 3.0]).shard(["CPU", "CPU:1"], 0), np.arange(4, dtype=np.float32)
        x[part] = 3.0
        expected[part] = 3.0
        check(x, expected, devices=["CPU", "CPU:1"], axis=0)


PLACES = {
    "one": lambda t: t.to("CPU:1"),
    "rows": lambda t: t.shard(["CPU", "CPU:1"], 0),
    "columns": lambda t: t.shard(["CPU", "CPU:1"], 1),
    "whole": lambda t: t.shard(["CPU", "CPU:1"]),
}
NUMBERS = {
    "where": lambda x: svod.where(svod.arange(3) >= 1, x, 0),
    "concatenation": lambda x: svod.cat([svod.arange(3).cumsum(0).cast(svod.float32).reshape(1, 3), x], 0),
    "sum": lambda x: x + svod.arange(3).cumsum(0),
    "product": lambda x: x @ svod.eye(3),
    "scatter": lambda x: x.scatter_add(0, svod.zeros(1, 3, dtype=svod.int64), svod.ones(1, 3)),
    "loop": lambda x: svod.iterate(2, lambda i, x: svod.where(svod.arange(3) >= 1, 3.0, x), x),
    "loop of work": lambda x: svod.iterate(2, lambda i, x: x + svod.arange(3).cumsum(0), x),
    "loop and its number": lambda x: svod.iterate(2, lambda i, x: x + (svod.arange(3).cumsum(0) + i), x),
    "loop over rows": lambda x: svod.iterate(2, lambda i, x: x + svod.arange(12).cumsum(0).reshape(4, 3)[i], x),
    "loop of two": lambda x: svod.iterate(
        2,
        lambda i, v: (v[0] + svod.arange(3).cumsum(0), v[1] + svod.arange(3).cumsum(0)),
        (x, svod.ones(3).to("CPU:2")),
    )[0],
    "loop that forgets": lambda x: svod.iterate(
        2, lambda i, x: svod.arange(12).cumsum(0).reshape(4, 3).cast(svod.float32), x
    ),
    "jit": lambda x: svod.jit(lambda x: svod.iterate(2, lambda i, x: x + svod.arange(3).cumsum(0), x))(x),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("made", NUMBERS)
def test_what_is_on_no_device_is_computed_where_it_is_read(made: str, place: str) -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    expected = NUMBERS[made](svod.Tensor(x))
    result = NUMBERS[made](PLACES[place](svod.Tensor(x)))
    assert result.tolist() == expected.tolist()
    if place == "one":
        assert result.device == "CPU:1"


@pytest.mark.parametrize("place", PLACES)
def test_what_is_assigned_lies_where_the_tensor_is(place: str) -> None:
    def assigned(x: svod.Tensor) -> None:
        x.assign(svod.arange(12).reshape(4, 3))

    def item(x: svod.Tensor) -> None:
        x[1] = svod.arange(3)

    def everything(x: svod.Tensor) -> None:
        x[...] = svod.arange(3)

    def masked(x: svod.Tensor) -> None:
        x[svod.arange(4) > 1] = svod.arange(3).sum()

    for write in (assigned, item, everything, masked):
        given, plain = PLACES[place](svod.ones(4, 3)).realize(), svod.ones(4, 3).realize()
        before = given.device
        write(given)
        write(plain)
        assert given.device == before
        assert given.tolist() == plain.tolist()


def test_c8_functions_read_what_lies_whole_on_each_device_once() -> None:
    calls: list[int] = []

    def doubled(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        calls.append(1)
        return a * 2 + b

    x = svod.Tensor([1.0, 2.0]).shard(["CPU", "CPU:1"])
    result = svod.custom(doubled, x, svod.arange(2).cast(svod.float32))
    assert (result + x).tolist() == [3.0, 7.0]
    assert result.device == ("CPU", "CPU:1") and result.shard_axis is None
    assert len(calls) == 1
    with pytest.raises(svod.DeviceError, match="copy it to one, with `to`"):
        svod.custom(doubled, x.shard(["CPU", "CPU:1"], 0), x)
