"""Tensors and arrays of other libraries: shared memory both ways, and functions of others that take any array."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import svod

DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]


def address(array: np.ndarray[Any, Any]) -> int:
    return int(array.__array_interface__["data"][0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_shares_memory_by_dlpack(dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    mine = svod.from_dlpack(array)
    assert (mine.dtype, mine.shape) == (dtype, (2, 3))
    array[0, 0] = 1
    np.testing.assert_array_equal((mine + 0 if dtype != "bool" else mine).numpy(), array)
    x = (svod.Tensor(array) | svod.Tensor(array) if dtype == "bool" else svod.Tensor(array) * 1).realize()
    there = np.from_dlpack(x)
    np.testing.assert_array_equal(there, array)
    assert address(there) == address(x.numpy()) and not there.flags.writeable


def test_copies_are_made_when_they_are_asked_for() -> None:
    array = np.arange(4.0)
    copy = svod.from_dlpack(array, copy=True)
    shared = svod.from_dlpack(array, copy=False, device="CPU")
    array[0] = 9
    assert (copy[0].item(), shared[0].item()) == (0, 9)
    x = svod.Tensor([1.0, 2.0])
    there = np.from_dlpack(x, copy=True)
    assert there.flags.writeable and address(there) != address(x.numpy())
    with pytest.raises(svod.ArgumentError, match="copy=False"):
        svod.from_dlpack(array, copy=False, device="CPU:1")
    assert svod.from_dlpack(array, device="CPU:1").device == "CPU:1"


def test_memory_that_is_not_dense_is_copied() -> None:
    array = np.arange(12.0).reshape(3, 4)
    for part in (array.T, array[:, ::2], array[::-1], np.broadcast_to(array[0], (2, 4))):
        np.testing.assert_array_equal(svod.from_dlpack(part).numpy(), part)
        with pytest.raises(svod.ArgumentError):
            svod.from_dlpack(part, copy=False)


@pytest.mark.parametrize(
    "options", [{}, {"max_version": (1, 0)}, {"max_version": (1, 1), "copy": True}, {"dl_device": (1, 0)}]
)
def test_capsules(options: dict[str, Any]) -> None:
    x = svod.Tensor([1.0, 2.0])
    kind = "dltensor_versioned" if "max_version" in options else "dltensor"
    assert f'"{kind}"' in repr(x.__dlpack__(**options))
    assert x.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float32", "float64", "bool"])
def test_pytorch_shares_memory_by_dlpack(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.from_numpy(np.arange(6).reshape(2, 3).astype(dtype))
    mine = svod.from_dlpack(theirs)
    theirs[0, 0] = 1
    assert mine.numpy().tolist() == theirs.tolist()
    x = svod.Tensor(np.arange(6).astype(dtype)).realize()
    there = torch.from_dlpack(x)
    assert there.tolist() == x.tolist() and there.data_ptr() == address(x.numpy())


@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8"])
def test_jax_shares_memory_by_dlpack(dtype: str) -> None:
    jax = pytest.importorskip("jax")
    theirs = jax.numpy.arange(6).astype(dtype)
    mine = svod.from_dlpack(theirs)
    assert mine.tolist() == theirs.tolist()
    assert address(np.from_dlpack(theirs)) == address(np.from_dlpack(jax.numpy.from_dlpack(theirs)))
    x = svod.Tensor(np.arange(64).astype(dtype)).realize()
    there = jax.numpy.from_dlpack(x)
    assert there.tolist() == x.tolist() and there.unsafe_buffer_pointer() == address(x.numpy())
    # What JAX is told it may use up stays as it is.
    used = jax.jit(lambda x: x + 1, donate_argnums=0)(there)
    assert used.tolist() == [n + 1 for n in range(64)] and x.tolist() == [*range(64)]
    # Nobody else is given memory that it may write: without a version of DLPack there is a copy.
    capsule = x.__dlpack__()
    assert "dltensor_versioned" not in str(capsule)
    assert np.asarray(x).ctypes.data == address(x.numpy())


def test_the_buffer_protocol() -> None:
    x = svod.Tensor(np.arange(6, dtype=np.int16).reshape(2, 3)).realize()
    view = memoryview(x)
    assert (view.shape, view.format, view.readonly) == ((2, 3), "h", True) and view.tolist() == x.tolist()
    assert svod.asarray(memoryview(b"abc")).tolist() == [97, 98, 99]
    assert bytes(memoryview(svod.Tensor([1, 2], "uint8"))) == b"\x01\x02"


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_types_of_ml_dtypes(dtype: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([1.0, -2.0, 0.5], getattr(ml_dtypes, dtype))
    x = svod.asarray(array)
    assert x.dtype == dtype == svod.result_type(x, 1.0)
    assert x.numpy().dtype == array.dtype and pickle.loads(pickle.dumps(x)).tolist() == [1.0, -2.0, 0.5]
    np.testing.assert_array_equal((x * 2).numpy().astype("float32"), [2, -4, 1])


# Functions of SciPy that ask their arguments for a namespace.
SCIPY = {
    "pearsonr": "stats.pearsonr(x[:, 0], x[:, 1]).statistic",
    "variation": "stats.variation(x)",
    "cramervonmises": "stats.cramervonmises(x[:, 0], special.ndtr).statistic",
    "special.logsumexp": "special.logsumexp(x, axis=1)",
    "special.softmax": "special.softmax(x, axis=1)",
    "special.log_softmax": "special.log_softmax(x, axis=1)",
    "special.xlogy": "special.xlogy(abs(x), abs(x))",
    "stats.zscore": "stats.zscore(x, axis=0)",
    "stats.skew": "stats.skew(x, axis=0)",
    "stats.kurtosis": "stats.kurtosis(x, axis=0)",
    "stats.gmean": "stats.gmean(abs(x), axis=1)",
    "stats.circmean": "stats.circmean(x, axis=0)",
    "stats.sem": "stats.sem(x, axis=0)",
    "stats.entropy": "stats.entropy(abs(x), axis=0)",
    "integrate.trapezoid": "integrate.trapezoid(x, axis=1)",
    "integrate.cumulative_trapezoid": "integrate.cumulative_trapezoid(x, axis=1)",
    "cluster.vq.whiten": "cluster.vq.whiten(x)",
    "cluster.vq.vq": "cluster.vq.vq(x, x[:2])[0]",
    "signal.detrend": "signal.detrend(x, axis=0)",
}


def test_functions_of_scipy_take_tensors() -> None:
    pytest.importorskip("scipy", minversion="1.15")
    script = f"""
import numpy as np, svod
from scipy import cluster, integrate, signal, special, stats
import scipy.cluster.vq
array = np.random.default_rng(0).normal(size=(5, 4))
for name, call in {SCIPY!r}.items():
    result, right = eval(call, globals(), {{"x": svod.Tensor(array)}}), eval(call, globals(), {{"x": array}})
    assert isinstance(result, svod.Tensor), (name, type(result))
    np.testing.assert_allclose(result.numpy(), right, rtol=1e-9, atol=1e-12, err_msg=name)
"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr


SKLEARN = {
    "StandardScaler": "preprocessing.StandardScaler().fit(x).transform(x)",
    "MinMaxScaler": "preprocessing.MinMaxScaler().fit(x).transform(x)",
    "normalize": "preprocessing.normalize(x)",
    "euclidean_distances": "metrics.pairwise.euclidean_distances(x)",
    "r2_score": "metrics.r2_score(x[:, 0], x[:, 1])",
}


def test_functions_of_scikit_learn_take_tensors() -> None:
    pytest.importorskip("sklearn", minversion="1.6")
    script = f"""
import numpy as np, svod
from sklearn import config_context, metrics, preprocessing
array = np.random.default_rng(0).normal(size=(30, 4))
for name, call in {SKLEARN!r}.items():
    right = eval(call, globals(), {{"x": array}})
    with config_context(array_api_dispatch=True):
        result = eval(call, globals(), {{"x": svod.Tensor(array)}})
    assert isinstance(result, float if name == "r2_score" else svod.Tensor), (name, type(result))
    np.testing.assert_allclose(np.asarray(result), right, rtol=1e-6, atol=1e-7, err_msg=name)
"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
