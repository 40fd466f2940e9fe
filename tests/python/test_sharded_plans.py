"""Plans, jitted functions, loops and models over several devices (contract E2)."""

import numpy as np
import pytest
from sharded import THREE, TWO, check, data

import svod


def test_e2_inputs_of_plans_are_spread():
    a = data(7, 4)
    for axis in (0, 1, None):
        x = svod.Tensor(a).shard(THREE, axis)
        y, same = (x * 2).sum(1), x + 0
        plan = svod.prepare(y, same, inputs=[x])
        plan.execute()
        check(y, (a * 2).sum(1))
        for seed in range(1, 4):
            b = data(7, 4, seed=seed)
            given = [b, svod.Tensor(b), svod.Tensor(b).shard(THREE, axis), svod.Tensor(b).shard(THREE, 1)][seed]
            plan.execute(given)
            check(y, (b * 2).sum(1), rtol=1e-4)
            check(same, b, devices=THREE, axis=axis)
            np.testing.assert_array_equal(plan.inputs[0].numpy(), b)
            fresh = plan.run(svod.Tensor(a).shard(TWO, 0))
            check(fresh[0], (a * 2).sum(1))
        plan.inputs[0][2:4] = 1.0
        plan.execute()
        b[2:4] = 1
        check(same, b, devices=THREE, axis=axis)
        other = plan.instance()
        other.execute(a)
        check(other.outputs[1], a, devices=THREE, axis=axis)
        check(plan.outputs[1], b, devices=THREE, axis=axis)
        with pytest.raises(svod.ShapeError, match=r"input 0 is float32\[7, 4\], but float32\[6, 4\] was given"):
            plan.execute(a[:6])
        with pytest.raises(svod.ShapeError, match=r"input 0 is float32\[7, 4\], but float32\[4, 7\] was given"):
            plan.execute(svod.Tensor(a.T.copy()).shard(THREE, 0))


def test_e2_loops_carry_what_is_spread():
    a, w = data(7, 4), data(4, 4, seed=1) * 0.3
    expected, total = a, np.zeros(7, np.float32)
    for i in range(1, 4):
        expected = np.tanh(expected @ w) + i
        total = total + expected.sum(1)
    for axis, of_weight in [(0, None), (1, None), (None, 1), (None, 0)]:
        x, weight = svod.Tensor(a).shard(THREE, axis), svod.Tensor(w).shard(THREE, of_weight)
        begin = svod.zeros(7).shard(THREE)

        def step(i, x, t, weight=weight):
            x = (x @ weight).tanh() + i
            return x, t + x.sum(1)

        last, sums = svod.iterate(range(1, 4), step, x, begin)
        check(last, expected, devices=THREE, axis=axis, rtol=1e-4, atol=1e-4)
        check(sums, total, devices=THREE, rtol=1e-4, atol=1e-4)
    with pytest.raises(svod.DeviceError, match=r"iterate.*carried value 0 is on one device and becomes spread over"):
        svod.iterate(2, lambda i, t: t.shard(TWO, 0), svod.Tensor(a))
    with pytest.raises(svod.ShapeError, match=r"carried value 0 is .*\[7, 4\] and becomes .*\[4, 7\]"):
        svod.iterate(2, lambda i, t: t.T, svod.Tensor(a).shard(TWO, 0))


def test_e2_bodies_of_loops_spread_and_gather() -> None:
    x = svod.Tensor(np.float32([1.0, 2.0, 3.0]))

    def body(i: svod.Size, v: svod.Tensor) -> svod.Tensor:
        return (v.shard(["CPU", "CPU:1"], 0) * 2).to("CPU") + i

    assert svod.iterate(3, body, x).tolist() == [12.0, 20.0, 28.0]
    there = svod.iterate(2, lambda i, v: (v.to("CPU:1") + i).to("CPU") * 3, x)
    assert there.tolist() == [12.0, 21.0, 30.0]


def test_e2_a_plan_gives_spread_outputs_for_whole_inputs():
    a, w = data(6, 4), data(4, 3, seed=1)
    x, weight = svod.Tensor(a), svod.Tensor(w).shard(TWO).realize()
    y = (x.shard(TWO, 0) @ weight).tanh()
    total = y.sum(0)
    plan = svod.prepare(y, total, inputs=[x])
    for seed in range(3):
        a = data(6, 4, seed=seed)
        plan.execute(a)
        check(y, np.tanh(a @ w), devices=TWO, axis=0)
        check(total, np.tanh(a @ w).sum(0), devices=TWO)
        np.testing.assert_allclose(plan.outputs[1].numpy(), np.tanh(a @ w).sum(0), rtol=1e-5, atol=1e-5)
        fresh = plan.run(a)
        check(fresh[0], np.tanh(a @ w), devices=TWO, axis=0)
    assert {k.device for k in plan.kernels} >= set(TWO)


def test_e2_jit_over_devices():
    w = svod.Tensor(data(4, 3)).shard(TWO).realize()

    @svod.jit
    def step(x):
        return (x.shard(TWO, 0) @ w).sum(0).to("CPU")

    for seed in range(3):
        a = data(6, 4, seed=seed)
        np.testing.assert_allclose(step(a).numpy(), (a @ data(4, 3)).sum(0), rtol=1e-5, atol=1e-5)
    assert step.traces == 1


def test_e2_jit_takes_what_is_spread():
    @svod.jit
    def step(x, weights, y):
        return {"out": x @ weights["w"] + y, "moments": (x.sum(0), (x * x).sum(0))}

    for seed, (axis, of_weight) in enumerate([(0, None), (0, None), (None, 1), (1, 0)]):
        a, w, b = data(6, 4, seed=seed), data(4, 3, seed=seed + 9), data(3, seed=seed)
        x, y = svod.Tensor(a).shard(TWO, axis), svod.Tensor(b).shard(TWO)
        results = step(x, {"w": svod.Tensor(w).shard(TWO, of_weight)}, y)
        check(results["out"], a @ w + b, devices=TWO, axis={0: 0, None: 1, 1: None}[axis])
        check(results["moments"][0], a.sum(0))
        check(results["moments"][1], (a * a).sum(0))
    assert step.traces == 3


def mlp(seed=0):
    return data(10, 16, seed=seed), data(16, seed=seed + 1), data(16, 4, seed=seed + 2), data(4, seed=seed + 3)


def gradients(x, target, w1, b1, w2, b2, ones):
    """A two-layer perceptron's loss and gradients, written out."""
    hidden = x @ w1 + b1
    active = hidden.maximum(0)
    error = active @ w2 + b2 - target
    loss = (error * error).sum()
    of_output = error * 2
    of_hidden = svod.where(hidden > 0, of_output @ w2.T, 0.0)
    return loss, x.T @ of_hidden, (of_hidden * ones).sum(0), active.T @ of_output, (of_output * ones).sum(0)


@pytest.mark.parametrize("devices", [TWO, THREE])
def test_e2_data_parallel_mlp_gives_the_numbers_of_one_device(devices):
    x, target = svod.Tensor(data(13, 10)), svod.Tensor(data(13, 4, seed=9))
    weights = [svod.Tensor(w) for w in mlp()]
    alone = gradients(x, target, *weights, 1.0)
    spread = gradients(x.shard(devices, 0), target.shard(devices, 0), *(w.shard(devices) for w in weights), 1.0)
    svod.realize(*spread)
    for one, many in zip(alone, spread, strict=True):
        check(many, one.numpy(), devices=devices, rtol=1e-4, atol=1e-4)
    # A step of gradient descent keeps the copies equal.
    stepped = [w.shard(devices) - g * 0.01 for w, g in zip(weights, spread[1:], strict=True)]
    for w, g, s in zip(weights, alone[1:], stepped, strict=True):
        check(s, w.numpy() - g.numpy() * 0.01, devices=devices, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("devices", [TWO, THREE])
def test_e2_tensor_parallel_mlp_gives_the_numbers_of_one_device(devices):
    x, target = svod.Tensor(data(13, 10)), svod.Tensor(data(13, 4, seed=9))
    w1, b1, w2, b2 = (svod.Tensor(w) for w in mlp())
    alone = gradients(x, target, w1, b1, w2, b2, 1.0)
    spread = gradients(
        x.shard(devices),
        target.shard(devices),
        w1.shard(devices, 1),
        b1.shard(devices, 0),
        w2.shard(devices, 0),
        b2.shard(devices),
        1.0,
    )
    for one, many, axis in zip(alone, spread, [None, 1, 0, 0, None], strict=True):
        check(many, one.numpy(), devices=devices, axis=axis, rtol=1e-4, atol=1e-4)


def test_e2_attention_heads_on_devices():
    q, k, v = (data(2, 6, 9, 8, seed=s) for s in range(3))
    attend = svod.nn.functional.scaled_dot_product_attention
    alone = attend(svod.Tensor(q), svod.Tensor(k), svod.Tensor(v), is_causal=True)
    spread = attend(*(svod.Tensor(t).shard(THREE, 1) for t in (q, k, v)), is_causal=True)
    check(spread, alone.numpy(), devices=THREE, axis=1)


@pytest.mark.parametrize("devices", [TWO, THREE])
@pytest.mark.parametrize("parallel", ["data", "tensor"])
def test_e2_one_plan_of_a_spread_mlp_serves_all_batches(devices, parallel):
    n = svod.Variable("n", 3, 40)
    x, target = svod.empty(n, 10), svod.empty(n, 4)
    w1, b1, w2, b2 = (svod.Tensor(w) for w in mlp())
    if parallel == "data":
        inputs = [x.shard(devices, 0), target.shard(devices, 0)]
        weights = [w.shard(devices) for w in (w1, b1, w2, b2)]
    else:
        inputs = [x.shard(devices), target.shard(devices)]
        weights = [w1.shard(devices, 1), b1.shard(devices, 0), w2.shard(devices, 0), b2.shard(devices)]
    ones = svod.ones(n, 1).shard(devices, 0 if parallel == "data" else None)
    spread = gradients(*inputs, *weights, ones)
    rows = (inputs[0] @ weights[0] + weights[1]).maximum(0) @ weights[2]
    plan = svod.prepare(*spread, rows, inputs=inputs)
    for count in (13, 3, 40, 4, 7):
        a, t = data(count, 10, seed=count), data(count, 4, seed=count + 1)
        plan.execute(a, t)
        alone = gradients(svod.Tensor(a), svod.Tensor(t), w1, b1, w2, b2, 1.0)
        np.testing.assert_array_equal(plan.inputs[0].numpy(), a)
        for one, many in zip(alone, plan.outputs[:5], strict=True):
            np.testing.assert_allclose(many.numpy(), one.numpy(), rtol=1e-3, atol=1e-3)
        active = np.maximum(a @ w1.numpy() + b1.numpy(), 0)
        assert plan.outputs[5].shape == (count, 4)
        np.testing.assert_allclose(plan.outputs[5].numpy(), active @ w2.numpy(), rtol=1e-4, atol=1e-4)
        # A tensor that is spread in the same way is fed in its parts.
        given = (svod.Tensor(a).shard(devices, 0 if parallel == "data" else None), svod.Tensor(t))
        (_, *_, again) = plan.run(*given)
        np.testing.assert_array_equal(again.numpy(), plan.outputs[5].numpy())


def test_e2_symbolic_axes_in_parts():
    n = svod.Variable("n", 1, 20)
    a = data(20, 3)
    x = svod.Tensor(a)[: n.bind(7)].shard(THREE, 0)
    assert str(x.shape) == "(n, 3)"
    for make, expected in [
        (lambda x: x * 2 + 1, lambda a: a * 2 + 1),
        (lambda x: x.sum(0), lambda a: a.sum(0)),
        (lambda x: x.T @ x, lambda a: a.T @ a),
        (lambda x: x.reshape(-1), lambda a: a.reshape(-1)),
        (lambda x: x.pad([(1, 2), (0, 0)]), lambda a: np.pad(a, [(1, 2), (0, 0)])),
        (lambda x: x[:, 1:], lambda a: a[:, 1:]),
        (lambda x: x.cumsum(0), lambda a: a.cumsum(0)),
        (lambda x: x.to("CPU:1"), lambda a: a),
        (lambda x: x.shard(THREE, 1), lambda a: a),
        (lambda x: x.shard(THREE), lambda a: a),
        (lambda x: x.softmax(0), lambda a: np.exp(a) / np.exp(a).sum(0)),
    ]:
        y = make(x)
        np.testing.assert_allclose(y.numpy(), expected(a[:7]), rtol=1e-5, atol=1e-5)
        plan = make(svod.Tensor(a)[: n.bind(7)].shard(THREE, 0)).prepare()
        for count in (1, 2, 20):
            plan.execute(n=count)
            np.testing.assert_allclose(plan.outputs[0].numpy(), expected(a[:count]), rtol=1e-5, atol=1e-5)
    y = (svod.Tensor(a)[: n.bind(7)].shard(THREE, 0) * 2).realize()
    assert y.shape == (7, 3) and [part.shape for part in y.shards] == [(3, 3), (2, 3), (2, 3)]
    np.testing.assert_allclose((y + svod.ones(7, 3).shard(THREE, 0)).numpy(), a[:7] * 2 + 1)


def test_a_spread_argument_may_have_a_declared_shape() -> None:
    """One trace for all sizes that are cut evenly, on whichever axis is cut."""
    n = svod.Variable("n", 1, 16)
    devices = ["CPU", "CPU:1"]
    f = svod.jit(shapes={"x": (n, 4)})(lambda x: (x * 2).softmax(-1).sum(0) if x.shape[0] > 3 else x[0])
    for rows in (5, 16, 4, 7, 2, 1):
        x = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
        expected = (svod.Tensor(x) * 2).softmax(-1).sum(0) if rows > 3 else svod.Tensor(x[0])
        for axis in (0, 1, None):
            np.testing.assert_allclose(f(svod.Tensor(x).shard(devices, axis)).to("CPU"), expected, rtol=1e-6)
    assert f.traces == 6
    uneven = svod.ones(8, 4).shard(devices, 0)[3:]
    assert [part.shape[0] for part in uneven.shards] == [1, 4]
    with pytest.raises(svod.ShapeError, match=r"differ by at most 1"):
        f(uneven)


SYMBOLIC_PARTS = {
    "twice": lambda x, s, n: (svod.cat([s, s], 0), lambda v: np.concatenate([v, v])),
    "three times": lambda x, s, n: (svod.cat([s, s, s], 0), lambda v: np.concatenate([v, v, v])),
    "half and whole": lambda x, s, n: (svod.cat([s[: n // 2], s], 0), lambda v: np.concatenate([v[: len(v) // 2], v])),
    "every second": lambda x, s, n: (x[::2].shard(["CPU", "CPU:1"], 0) + 1, lambda v: v[::2] + 1),
    "half": lambda x, s, n: (x[: n // 2].shard(["CPU", "CPU:1"], 0) + 1, lambda v: v[: len(v) // 2] + 1),
    "anew": lambda x, s, n: (s[::2].shard(["CPU", "CPU:1"], 0) + 1, lambda v: v[::2] + 1),
}


@pytest.mark.parametrize("what", SYMBOLIC_PARTS)
def test_e6_parts_of_symbolic_extents_that_are_shares_themselves(what: str) -> None:
    n = svod.Variable("n", 1, 37)
    x = svod.empty(n, 3)
    made, expected = SYMBOLIC_PARTS[what](x, x.shard(["CPU", "CPU:1"], 0), n)
    plan = made.prepare(inputs=[x])
    for rows in (1, 2, 3, 7, 36, 37):
        value = np.arange(3 * rows, dtype=np.float32).reshape(rows, 3)
        plan.execute(value)
        assert plan.outputs[0].tolist() == expected(value).tolist()
