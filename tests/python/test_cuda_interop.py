"""Memory of GPUs, shared with other libraries: on a real GPU with those that are there, else a simulated one."""

from __future__ import annotations

import ctypes
import gc
import os

import numpy as np
import pytest

import svod

if "SVOD_CUDA" not in os.environ and "CUDA:0" not in svod.devices():
    os.environ["SVOD_CUDA"] = "sim:sm_90"

CUDA = "CUDA:0"
SIMULATED = os.environ.get("SVOD_CUDA", "").startswith("sim")
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64", "complex64", "bfloat16"]
LATEST = {"max_version": (1, 0)}


def tensor(array, dtype=None):
    return svod.Tensor(np.asarray(array), dtype=dtype).to(CUDA).realize()


class Exporter:
    """An exporter of somebody else's: of what another object exports, and perhaps of fewer options."""

    def __init__(self, of, known=("stream", "max_version", "dl_device", "copy")):
        self.of, self.known, self.asked = of, known, []

    def __dlpack_device__(self):
        return self.of.__dlpack_device__()

    def __dlpack__(self, **options):
        if unknown := [name for name in options if name not in self.known]:
            raise TypeError(f"unexpected argument {unknown[0]}")
        self.asked.append(options)
        return self.of.__dlpack__(**options)


class Layout(ctypes.Structure):
    """A tensor of DLPack."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int),
        ("number", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Layout), ("owner", ctypes.c_void_p), ("deleter", DELETER)]


class Strided:
    """An exporter of memory of another tensor's, float32, by strides; it counts what it gave and what came back."""

    def __init__(self, of, shape, strides, offset=0, code=2, device=(2, 0)):
        self.of, self.given, self.back, self.device = of, 0, 0, device
        # Of a plan's output or of what was computed, the value's own memory.
        data = of.__cuda_array_interface__["data"][0]
        numbers = ctypes.c_int64 * len(shape)
        self.kept = numbers(*shape), numbers(*strides), DELETER(self.delete)
        tensor = Layout(data, *device, len(shape), code, 32, 1, self.kept[0], self.kept[1], offset)
        self.managed = Managed(tensor, None, self.kept[2])

    def delete(self, _):
        self.back += 1

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None):
        self.given += 1
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor", None)


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [
        ((4, 6), (6, 1), 0),
        ((6, 4), (1, 6), 0),
        ((2, 3, 4), (4, 8, 1), 0),
        ((4, 1, 6), (6, 77, 1), 0),
        ((4, 3), (6, 2), 4),
        ((2, 2), (12, 3), 8),
        ((3, 4, 2), (2, 6, 1), 0),
        ((5, 4), (0, 1), 0),
        ((3, 3), (1, 1), 0),
        ((), (), 12),
        ((0, 3), (3, 1), 0),
    ],
)
def test_memory_of_any_strides_is_read(shape, strides, offset):
    a = np.arange(24, dtype=np.float32)
    x = tensor(a)
    expected = np.lib.stride_tricks.as_strided(a[offset // 4 :], shape, [4 * s for s in strides])
    for copy in (None, True):
        given = Strided(x, shape, strides, offset)
        made = svod.from_dlpack(given, copy=copy)
        assert (made.device, made.shape) == (CUDA, shape)
        np.testing.assert_array_equal(made.numpy(), expected)
        np.testing.assert_array_equal((made + 1).numpy(), expected + 1)
        del made
        gc.collect()
        svod.clear_caches()
        assert (given.given, given.back) == (1, 1)


def test_memory_that_is_not_dense_is_copied_or_refused():
    x = tensor(np.arange(24, dtype=np.float32))
    assert svod.from_dlpack(Strided(x, (6, 4), (1, 6)), copy=False).shape == (6, 4)
    for strides, copy, told in [((6, 2), False, "copy=False"), ((-6, 1), None, "negative")]:
        given = Strided(x, (4, 3), strides, 0)
        with pytest.raises(svod.ArgumentError, match=told):
            svod.from_dlpack(given, copy=copy)
        gc.collect()
        assert given.back == 1
    with pytest.raises(svod.DTypeError, match="type 7 of 32 bits"):
        svod.from_dlpack(Strided(x, (4,), (1,), code=7))
    with pytest.raises(svod.DeviceError, match="CUDA:9"):
        svod.from_dlpack(Strided(x, (4,), (1,), device=(2, 9)))


@pytest.mark.parametrize("stream", [0, -2, -7])
def test_streams_that_are_none_are_refused(stream):
    with pytest.raises(BufferError, match="stream"):
        tensor([1.0]).__dlpack__(stream=stream)


@pytest.mark.parametrize("stream", [None, 1, 2, -1])
def test_streams_of_the_standard(stream):
    x = tensor([1.0, 2.0])
    given = Exporter(x)
    given.__dlpack__(stream=stream, max_version=(1, 0))
    assert given.asked == [{"stream": stream, "max_version": (1, 0)}]


def test_a_value_is_made_of_memory_on_a_gpu_where_it_is():
    x = tensor(np.arange(6, dtype=np.float32))
    made = svod.Tensor(Strided(x, (2, 3), (3, 1)))
    assert (made.device, made.dtype) == (CUDA, svod.float32)
    assert made.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert svod.Tensor(Strided(x, (3, 2), (1, 3)), dtype="float64").dtype == svod.float64
    assert svod.Tensor(Strided(x, (6,), (1,)), device="CPU").device == "CPU"
    np.testing.assert_array_equal((x + svod.Tensor(Strided(x, (6,), (1,)))).numpy(), np.arange(6) * 2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (4, 1, 3), (0, 3)])
def test_what_is_exported_comes_back(dtype, shape):
    values = np.arange(int(np.prod(shape))).reshape(shape) % 2
    x = tensor(values, dtype)
    back = svod.from_dlpack(x)
    assert (back.device, back.dtype, back.shape) == (CUDA, x.dtype, shape)
    assert back.tolist() == x.tolist()
    assert (back == x).all().item()


def test_memory_is_shared_and_read_only():
    x = tensor(np.arange(6.0))
    shared = svod.from_dlpack(x)
    assert shared.__cuda_array_interface__["data"] != (0, True)
    told = x.__cuda_array_interface__
    assert told["data"] == (x.__cuda_array_interface__["data"][0], True)
    assert (told["shape"], told["typestr"], told["strides"], told["version"]) == ((6,), "<f8", None, 3)
    assert x.__dlpack_device__() == (2, 0)


@pytest.mark.parametrize(
    "options", [{}, LATEST, {**LATEST, "copy": True}, {**LATEST, "dl_device": (2, 0)}, {"stream": -1}]
)
def test_capsules(options):
    x = tensor([1.0, 2.0])
    kind = "dltensor_versioned" if "max_version" in options else "dltensor"
    assert f'"{kind}"' in repr(x.__dlpack__(**options))
    gc.collect()
    assert x.tolist() == [1.0, 2.0]


def test_the_host_gets_a_copy_where_it_asks():
    x = tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    np.testing.assert_array_equal(np.from_dlpack(x, device="cpu"), x.numpy())
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 1))
    with pytest.raises(BufferError):
        x.__dlpack__(copy=False)


def test_a_value_that_was_exported_stays():
    x = tensor(np.zeros(1000, np.float32))
    shared = svod.from_dlpack(x)
    x[:] = 7
    x.realize()
    assert shared.sum().item() == 0 and x.sum().item() == 7000
    del x
    gc.collect()
    # Memory that is given up is used again: not that of what is shared.
    other = tensor(np.full(1000, 3, np.float32))
    assert shared.sum().item() == 0 and other.sum().item() == 3000


def test_memory_that_an_interface_told_of_lives_as_long_as_the_tensor():
    x = tensor(np.zeros(1000, np.float32))
    before = x.__cuda_array_interface__["data"]
    x[:] = 7
    assert x.__cuda_array_interface__["data"] != before
    for device in ("CPU", "CPU:1"):
        with pytest.raises(AttributeError):
            _ = x.to(device).__cuda_array_interface__


def test_memory_goes_back():
    svod.clear_caches()
    before = svod.memory()[CUDA]["live"]
    x = tensor(np.zeros(1 << 18, np.float32))
    exported = [svod.from_dlpack(x), svod.from_dlpack(Exporter(x)), x.__dlpack__(**LATEST), x.__dlpack__()]
    told = x.__cuda_array_interface__
    assert svod.memory()[CUDA]["live"] > before
    del x, exported, told
    gc.collect()
    svod.clear_caches()
    assert svod.memory()[CUDA]["live"] <= before


def test_parts_and_lazy_values_are_exported():
    a = np.arange(24, dtype=np.float32).reshape(4, 6)
    x = tensor(a)
    for made, expected in [
        (x[1:3], a[1:3]),
        (x.T, a.T),
        (x[:, ::2], a[:, ::2]),
        (x * 2 + 1, a * 2 + 1),
        (x[2, 3], a[2, 3]),
    ]:
        np.testing.assert_array_equal(svod.from_dlpack(made).numpy(), expected)
        assert made.__cuda_array_interface__["shape"] == expected.shape


def test_copies_and_devices():
    x = tensor(np.arange(5.0))
    copy = svod.from_dlpack(x, copy=True)
    assert copy.__cuda_array_interface__["data"] != x.__cuda_array_interface__["data"]
    assert svod.from_dlpack(x, device="CPU").device == "CPU"
    assert svod.from_dlpack(x, device="CPU").tolist() == x.tolist() == copy.tolist()
    with pytest.raises(svod.ArgumentError, match="copy=False"):
        svod.from_dlpack(x, device="CPU", copy=False)


def test_exporters_that_know_fewer_options():
    x = tensor(np.arange(4.0))
    old, new = Exporter(x, ("stream",)), Exporter(x)
    assert svod.from_dlpack(old).tolist() == svod.from_dlpack(new).tolist() == x.tolist()
    assert new.asked[0]["max_version"] == (1, 0) and "max_version" not in old.asked[0]
    if not SIMULATED:
        assert new.asked[0]["stream"] == old.asked[0]["stream"] > 2


def test_capsules_are_taken_once():
    x = tensor(np.arange(4.0))
    capsule = x.__dlpack__(**LATEST)

    class Again:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **options):
            return capsule

    assert svod.from_dlpack(Again()).tolist() == x.tolist()
    with pytest.raises(svod.ArgumentError, match="capsule"):
        svod.from_dlpack(Again())


def test_gradients_and_plans_over_borrowed_memory():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = svod.from_dlpack(tensor(a))
    np.testing.assert_allclose(svod.grad(lambda t: (t * t).sum())(x).numpy(), 2 * a)
    y = (x @ x.T).softmax(-1)
    plan = y.prepare(inputs=[x])
    plan.execute()
    scores = np.exp(a @ a.T - (a @ a.T).max(-1, keepdims=True))
    np.testing.assert_allclose(plan.outputs[0].numpy(), scores / scores.sum(-1, keepdims=True), rtol=1e-5)


# Other libraries, on a real GPU.


def library(name):
    if SIMULATED:
        pytest.skip("the memory of a simulated GPU means nothing to others")
    module = pytest.importorskip(name)
    if name == "torch" and not module.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    return module


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float16", "float32", "float64", "bool", "bfloat16"])
def test_pytorch(dtype):
    torch = library("torch")
    theirs = torch.arange(6, device="cuda").reshape(2, 3).to(getattr(torch, dtype))
    mine = svod.from_dlpack(theirs)
    assert (mine.device, mine.dtype) == (CUDA, dtype) and mine.tolist() == theirs.tolist()
    theirs[0, 0] = 1
    torch.cuda.synchronize()
    assert mine.tolist() == theirs.tolist()
    x = (mine == mine) if dtype == "bool" else (mine + mine)
    there = torch.from_dlpack(x)
    assert there.is_cuda and there.tolist() == x.tolist()
    assert there.data_ptr() == x.__cuda_array_interface__["data"][0]


def test_pytorch_on_a_stream_of_its_own():
    torch = library("torch")
    with torch.cuda.stream(torch.cuda.Stream()):
        for i in range(20):
            theirs = torch.full((1 << 22,), float(i), device="cuda")
            mine = svod.from_dlpack(theirs) * 2
            there = torch.from_dlpack(mine) + 1
            assert there.min().item() == there.max().item() == 2 * i + 1
            del theirs, mine, there


def test_pytorch_parts():
    torch = library("torch")
    theirs = torch.arange(40, device="cuda", dtype=torch.float32)
    for start in range(5):
        part = theirs[start : start + 30]
        assert svod.from_dlpack(part).sum().item() == part.sum().item()
    table = theirs.reshape(5, 8)
    for part in (table.T, table[:, ::2], table[1:3, 2:], table[:1].expand(3, 8)):
        assert svod.from_dlpack(part).tolist() == part.tolist()
    with pytest.raises(svod.ArgumentError, match="copy=False"):
        svod.from_dlpack(table[:, ::2], copy=False)


def test_values_of_pytorch():
    torch = library("torch")
    theirs = torch.arange(6, device="cuda", dtype=torch.float32)
    mine = svod.Tensor(theirs)
    theirs += 1
    torch.cuda.synchronize()
    assert mine.device == CUDA and mine.tolist() == [0, 1, 2, 3, 4, 5]
    assert (mine + theirs).tolist() == [1, 3, 5, 7, 9, 11]
    assert (theirs.cpu().numpy() == (mine + 1).numpy()).all()


def test_cupy():
    cupy = library("cupy")
    theirs = cupy.arange(6, dtype=cupy.float32).reshape(2, 3)
    mine = svod.from_dlpack(theirs)
    np.testing.assert_array_equal(mine.numpy(), theirs.get())
    x = (mine * 2).realize()
    there = cupy.asarray(x)
    np.testing.assert_array_equal(there.get(), x.numpy())
    assert there.data.ptr == x.__cuda_array_interface__["data"][0]


def test_jax():
    jax = library("jax")
    if jax.default_backend() == "cpu":
        pytest.skip("JAX sees no GPU")
    theirs = jax.numpy.arange(6, dtype="float32").reshape(2, 3)
    mine = svod.from_dlpack(theirs)
    np.testing.assert_array_equal(mine.numpy(), np.asarray(theirs))
    x = (mine * 2).realize()
    np.testing.assert_array_equal(np.asarray(jax.dlpack.from_dlpack(x)), x.numpy())
