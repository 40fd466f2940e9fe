"""Devices, numbers and a check that tests of spread values share."""

import numpy as np

TWO = ["CPU:1", "CPU:2"]
THREE = ["CPU", "CPU:1", "CPU:2"]
FOUR = ["CPU:1", "CPU:2", "CPU:3", "CPU:4"]


def data(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def check(tensor, expected, *, devices=None, axis=None, rtol=1e-5, atol=1e-5):
    """The tensor has this value, also as it lies on each device."""
    expected = np.asarray(expected)
    if devices is not None:
        assert (tensor.device, tensor.shard_axis) == (tuple(devices), axis)
    assert tensor.shape == expected.shape and tensor.dtype == expected.dtype.name
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=rtol, atol=atol)
    if devices is None:
        return
    shards = tensor.shards
    assert [s.device for s in shards] == list(devices)
    parts = [s.numpy() for s in shards]
    if axis is None:
        assert all((p.tobytes() == parts[0].tobytes()) for p in parts), "all devices have equal bits"
        np.testing.assert_allclose(parts[0], expected, rtol=rtol, atol=atol)
    else:
        np.testing.assert_allclose(np.concatenate(parts, axis), expected, rtol=rtol, atol=atol)
