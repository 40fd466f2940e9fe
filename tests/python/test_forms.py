"""Forms of arguments, errors and memory that users of NumPy, PyTorch, JAX and the array API standard expect."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
from svod.nn import functional as F

try:
    import torch as _torch
except ImportError:
    _torch = None  # type: ignore[assignment]

needs_torch = pytest.mark.skipif(_torch is None, reason="PyTorch is not installed")


def array(x: Any) -> np.ndarray[Any, Any]:
    return np.asarray(x)


# Memory.


def address(x: Any) -> int:
    """Where the elements of what NumPy reads are."""
    found: int = np.asarray(x).__array_interface__["data"][0]
    return found


@pytest.mark.parametrize("borrow", [svod.from_numpy, svod.from_dlpack, lambda a: svod.asarray(a, copy=False)])
def test_borrowed_memory_is_handed_on_without_a_copy(borrow: Callable[[Any], svod.Tensor]) -> None:
    theirs = np.arange(6.0, dtype="float32").reshape(2, 3)
    x, at = borrow(theirs), theirs.__array_interface__["data"][0]
    handed = [
        np.from_dlpack(x),
        np.from_dlpack(x, copy=False),
        np.asarray(x),
        np.asarray(x, copy=False),
        np.asarray(memoryview(x)),
        np.from_dlpack(svod.from_dlpack(x)),
    ]
    assert [address(one) for one in handed] == [at] * len(handed)
    # Through what is handed out nobody writes who asks.
    assert not any(one.flags.writeable for one in handed)
    theirs[0, 0] = 7
    assert x.tolist()[0][0] == 7 and handed[0][0, 0] == 7
    # `numpy()` and `clone()` are values.
    kept, cloned = x.numpy(), x.clone()
    assert address(kept) != at and kept.flags.writeable and address(np.from_dlpack(x, copy=True)) != at
    theirs[0, 0] = 8
    assert kept[0, 0] == 7 and cloned.tolist()[0][0] == 7


@needs_torch
def test_memory_of_pytorch_goes_back_to_it() -> None:
    theirs = _torch.arange(6.0)
    x = svod.from_dlpack(theirs)
    assert _torch.from_dlpack(x).data_ptr() == theirs.data_ptr()
    assert address(x) == theirs.data_ptr()
    # What is computed is svod's own.
    assert _torch.from_dlpack(x + 0).data_ptr() != theirs.data_ptr()


def test_consumers_from_before_version_1_share_what_others_may_write() -> None:
    class Old:
        """Asks as consumers did before capsules had versions."""

        def __init__(self, x: svod.Tensor) -> None:
            self.x = x

        def __dlpack__(self, **_: Any) -> Any:
            return self.x.__dlpack__()

        def __dlpack_device__(self) -> Any:
            return self.x.__dlpack_device__()

    theirs = np.arange(3.0)
    assert address(np.from_dlpack(Old(svod.from_numpy(theirs)))) == address(theirs)
    # A value, and what is borrowed to be read only, they might write: they get a copy.
    value = svod.ones(3).realize()
    assert address(np.from_dlpack(Old(value))) != address(value)
    fixed = np.arange(3.0)
    fixed.flags.writeable = False
    assert address(np.from_dlpack(Old(svod.from_numpy(fixed)))) != address(fixed)
    with pytest.raises(BufferError, match="copy=False"):
        value.__dlpack__(copy=False)


def test_what_dlpack_is_asked_for_and_cannot_do_is_an_error() -> None:
    x = svod.ones(3)
    with pytest.raises(RuntimeError, match="stream"):
        x.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="device"):
        x.__dlpack__(dl_device=(2, 0))
    assert np.from_dlpack(x, device="cpu").tolist() == [1, 1, 1]
    # The caller may have no name.
    eval("x.__dlpack__()", {"x": x})


def test_a_file_is_copied_unless_that_is_refused(tmp_path: Any) -> None:
    path = tmp_path / "x.safetensors"
    svod.save_safetensors({"x": svod.ones(3)}, path)
    (x,) = svod.load_safetensors(path).values()
    assert np.from_dlpack(x).tolist() == np.asarray(x).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, copy=False)
    with pytest.raises(BufferError, match="copy=False"):
        np.from_dlpack(x, copy=False)


def test_asarray_without_a_copy() -> None:
    theirs = np.arange(3.0)
    assert address(svod.asarray(theirs, copy=False)) == address(theirs)
    assert address(svod.asarray(theirs, copy=False, dtype="float64", device="CPU")) == address(theirs)
    assert address(svod.asarray(memoryview(theirs), copy=False)) == address(theirs)
    # A tensor is a value, which memory that others write is not.
    for copied in (None, True):
        assert address(svod.asarray(theirs, copy=copied)) != address(theirs)
    for wrong in ({"dtype": "float32"}, {"device": "CPU:1"}):
        with pytest.raises(ValueError, match="copy=False"):
            svod.asarray(theirs, copy=False, **wrong)  # type: ignore[arg-type]
    for given in ([1, 2], 1.5, theirs[::2]):
        with pytest.raises(ValueError, match=r"copy=False|row-major"):
            svod.asarray(given, copy=False)


# Numbers beside tensors in lists.


@pytest.mark.parametrize("make", [svod.asarray, svod.tensor, svod.Tensor])
def test_pythons_numbers_in_lists_are_weak(make: Callable[[Any], svod.Tensor]) -> None:
    half, single, double = (svod.ones(2, dtype=kind)[0] for kind in ("float16", "float32", "float64"))
    short, byte, flag = svod.ones(2, dtype="int32")[0], svod.ones(2, dtype="uint8")[0], svod.ones(2)[0] > 0
    rows: list[tuple[list[Any], str]] = [
        ([single, 2.0], "float32"),
        ([2.0, single], "float32"),
        ([[single, 2.0], [0.0, 1]], "float32"),
        ([half, 2.0], "float16"),
        ([2.0, double], "float64"),
        ([double, 1], "float64"),
        ([short, 2], "int32"),
        ([short, 2.5], "float32"),
        ([byte, True], "uint8"),
        ([flag, 2], "int64"),
        ([flag, True], "bool"),
        ([single, 2j], "complex64"),
        ([double, 2j], "complex128"),
        ([short, single], "float32"),
        ([np.float32(1), 2.0], "float32"),
        ([2.0, np.float64(1)], "float64"),
        ([np.ones(2, "float32"), [2.0, 3.0]], "float32"),
        ([1, 2.5], "float32"),
        ([1, 2], "int64"),
        ([], "float32"),
    ]
    assert [make(given).dtype.name for given, _ in rows] == [kind for _, kind in rows]
    np.testing.assert_array_equal(array(make([double, 0.1])), [1, 0.1])
    assert make([svod.ones(3).size, 0.5]).dtype == "float32"
    with pytest.raises(OverflowError):
        make([byte, 300])


# `x[flag, ...]`.


@pytest.mark.parametrize("flag", [True, False])
def test_a_single_bool_in_an_index(flag: bool) -> None:
    a = np.arange(6.0, dtype="float32").reshape(2, 3)
    reads: list[Any] = [
        (..., flag),
        (flag, ...),
        (slice(None), flag),
        (flag, 1),
        (flag, slice(0, 1)),
        (flag, None),
        flag,
    ]
    for index in reads:
        ours = index if isinstance(index, tuple) else (index,)
        ours = tuple(svod.asarray(one) if one is flag else one for one in ours)
        np.testing.assert_array_equal(array(svod.asarray(a)[ours]), a[index], err_msg=str(index))
        for value in (7.0, a[index] + 10):
            want, x = a.copy(), svod.asarray(a)
            want[index] = value
            x[ours] = value if isinstance(value, float) else svod.asarray(value)
            np.testing.assert_array_equal(array(x), want, err_msg=str(index))
    x = svod.ones(3)
    x[svod.asarray(flag), ...] = svod.asarray([4.0, 5.0, 6.0])
    assert x.tolist() == ([4, 5, 6] if flag else [1, 1, 1])
    mask = svod.asarray([True, False, True])
    x[mask, ...] = 0.0
    assert x.tolist()[::2] == [0, 0]


def test_masks_are_assigned_to_while_a_function_is_traced() -> None:
    @svod.jit
    def clipped(x: svod.Tensor) -> svod.Tensor:
        y = x.clone()
        y[x.sum() > 3, ...] = 0.0
        return y

    assert clipped(svod.ones(3)).tolist() == [1, 1, 1]
    assert clipped(svod.ones(3) * 2).tolist() == [0, 0, 0]


# `x.size`.


def test_size_is_a_number_that_can_be_called() -> None:
    x = svod.ones(2, 3)
    assert x.size == 6 and x.size > 5 and x.size + 1 == 7 and isinstance(x.size, int) and f"{x.size}" == "6"
    assert x.size() == (2, 3) and x.size(0) == 2 and x.size(-1) == 3 and x.size(dim=1) == 3 and x.size(axis=0) == 2
    assert svod.ones(()).size == 1 and svod.ones(()).size() == () and svod.ones(0, 3).size == 0
    assert list(range(svod.ones(3).size)) == [0, 1, 2] and svod.zeros(x.size).shape == (6,)
    assert type(pickle.loads(pickle.dumps(x.size))) is int and copy.copy(x.size) == 6 and {6: "six"}[x.size] == "six"
    assert (x * x.size).dtype == "float32" and x.size * 0.5 == 3.0
    with pytest.raises(IndexError, match="size: axis 2"):
        x.size(2)
    with pytest.raises(TypeError, match="one argument"):
        x.size(0, axis=0)
    for wrong in ("a", True, 1.5):
        with pytest.raises(TypeError, match="size: dim"):
            x.size(wrong)  # type: ignore[arg-type]


def test_size_of_symbolic_extents() -> None:
    n = svod.Variable("n", 1, 8)
    x = svod.ones(8, 3)[: n.bind(4)]
    assert str(x.size) == "n*3" and isinstance(x.size, svod.Size)
    assert x.size(1) == 3 and x.size(0) == n and x.size()[1] == 3
    assert x.size > 2 and (x.sum() / x.size).item() == 1.0

    @svod.jit
    def mean(x: svod.Tensor) -> svod.Tensor:
        return x.sum() / x.size

    assert mean(svod.ones(2, 2)).item() == 1.0 and mean(svod.ones(5, 2)).item() == 1.0


# Errors.


def test_a_mask_of_a_wrong_length_is_an_index_error() -> None:
    x, mask = svod.ones(2, 2), svod.asarray([True, False, True])
    with pytest.raises(IndexError, match="mask"):
        x[mask]
    for value in (1.0, svod.ones(2)):
        with pytest.raises(IndexError, match="mask"):
            x[mask] = value


def test_matrices_without_factors_are_linalg_errors() -> None:
    calls: list[Callable[[], Any]] = [
        lambda: svod.linalg.inv(svod.zeros(2, 2)),
        lambda: svod.linalg.solve(svod.zeros(2, 2), svod.ones(2)),
        lambda: svod.linalg.cholesky(-svod.eye(2)),
        lambda: svod.linalg.inv(svod.zeros(20, 20)),
    ]
    for call in calls:
        for kind in (svod.linalg.LinAlgError, np.linalg.LinAlgError, svod.ExecutionError, RuntimeError, ValueError):
            with pytest.raises(kind, match=r"the matrix is") as found:
                call().numpy()
            assert "test_forms.py" in str(found.value) + "".join(getattr(found.value, "__notes__", ()))
    error = pickle.loads(pickle.dumps(found.value))
    assert type(error) is svod.linalg.LinAlgError


def test_numbers_that_do_not_fit_are_overflow_errors() -> None:
    byte = svod.ones(2, dtype="uint8")
    calls: list[Callable[[], Any]] = [
        lambda: byte + 300,
        lambda: byte - (-1) * 300,
        lambda: svod.full((2,), 300, dtype="uint8"),
        lambda: svod.Tensor(2**70),
        lambda: svod.ones(2, dtype="int64") + 2**63,
        lambda: svod.where(byte > 0, byte, -1),
        lambda: svod.asarray([1, 300], dtype="uint8"),
        lambda: svod.Tensor([[-1]], dtype="uint8"),
        lambda: svod.asarray([2**70]),
    ]
    for call in calls:
        for kind in (OverflowError, svod.OverflowError, svod.ArgumentError, ValueError):
            with pytest.raises(kind):
                call()
    # What has a type is cast, and wraps.
    assert svod.asarray(np.asarray([300]), dtype="uint8").tolist() == [44]
    assert svod.asarray([0, 255], dtype="uint8").tolist() == [0, 255]


@pytest.mark.parametrize("q", [2.0, -0.1, [0.5, 1.5], float("nan"), svod.asarray(2.0).realize()])
def test_parts_beyond_the_whole_are_errors_at_the_call(q: Any) -> None:
    x = svod.asarray([1.0, 2.0])
    for name in ("quantile", "nanquantile"):
        with pytest.raises(ValueError, match=f"{name}: q"):
            getattr(svod, name)(x, q)
    for name in ("percentile", "nanpercentile"):
        with pytest.raises(ValueError, match=f"{name}: q"):
            getattr(svod, name)(x, [100 * one for one in q] if isinstance(q, list) else svod.asarray(q * 100).realize())


def test_shapes_that_do_not_fit_are_errors_of_either_library() -> None:
    for kind in (ValueError, RuntimeError, svod.ShapeError):
        with pytest.raises(kind):
            svod.ones(2) + svod.ones(3)
        with pytest.raises(kind):
            svod.ones(2, 3) @ svod.ones(2, 3)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("concat", lambda: svod.concat([svod.ones(2), svod.ones(2, 2)])),
        ("broadcast_to", lambda: svod.broadcast_to(svod.ones(2), (3,))),
        ("permute_dims", lambda: svod.permute_dims(svod.ones(2), (1,))),
        ("expand_dims", lambda: svod.expand_dims(svod.ones(2), axis=5)),
        ("unique", lambda: svod.unique(svod.ones(2), dim=5)),
        ("fft2", lambda: svod.fft.fft2(svod.ones(2))),
        ("fftshift", lambda: svod.fft.fftshift(svod.ones(2), axes=(-2,))),
        ("repeat", lambda: svod.ones(2, 2).repeat(2)),
        ("max", lambda: svod.max(svod.ones(2, dtype="complex64"))),
        ("hstack", lambda: svod.hstack([svod.ones(2), svod.ones(2, 2)])),
        ("expand_as", lambda: svod.ones(2).expand_as(svod.ones(3))),
        ("mse_loss", lambda: F.mse_loss(svod.ones(2), svod.ones(3))),
        ("inv", lambda: svod.linalg.inv(svod.ones(2, 3))),
        ("outer", lambda: svod.linalg.outer(svod.ones(2, 3), svod.ones(2))),
        ("median", lambda: svod.ones(2, dtype="complex64").median()),
        ("topk", lambda: svod.ones(2).topk(3)),
        ("eye", lambda: svod.eye(-1)),
    ],
)
def test_errors_name_the_function_that_was_called(name: str, call: Callable[[], Any]) -> None:
    with pytest.raises((svod.Error, TypeError)) as found:
        call()
    assert str(found.value).startswith((f"{name}: ", f"{name} of ")), str(found.value)


def test_the_warning_of_where_is_of_the_users_line() -> None:
    x, mask = svod.ones(2), np.asarray([True, False])
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        made = np.add(x, 1, where=mask)
    assert made.tolist()[0] == 2 and [one.filename for one in given] == [__file__]


# Forms.


def test_fourier_transforms_have_axes_that_are_there() -> None:
    line = svod.arange(3.0)
    for name in ("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"):
        with pytest.raises(IndexError, match=name):
            getattr(svod.fft, name)(line)
    for wrong in ({"axes": (-2,)}, {"s": (3, 3)}, {"axes": (1,)}):
        for name in ("fftn", "ifftn", "rfftn", "irfftn"):
            with pytest.raises(IndexError, match=name):
                getattr(svod.fft, name)(line, **wrong)
    np.testing.assert_allclose(
        array(svod.fft.fftn(line, s=(2,), axes=(-1,))), np.fft.fftn(np.arange(3.0), s=(2,), axes=(-1,))
    )


def test_random_takes_bounds() -> None:
    svod.manual_seed(0)
    assert set(svod.empty(200).random_(5).tolist()) == {0, 1, 2, 3, 4}
    assert set(svod.empty(200).random_(2, 5).tolist()) == {2, 3, 4}
    assert set(svod.empty(200).random_(to=3).tolist()) == {0, 1, 2}
    assert min(svod.empty(5, dtype="int64").random_(low=7).tolist()) >= 7
    assert max(svod.empty(50, dtype="int64").random_().tolist()) > 2**40
    for wrong in ((0,), (5, 5), (1, 2, 3)):
        with pytest.raises(ValueError, match="random_"):
            svod.empty(2).random_(*wrong)
    with pytest.raises(ValueError, match="random_"):
        svod.empty(2).random_(1, to=3)


@pytest.mark.parametrize(("low", "high"), [(0, 2**40), (-(2**62), 2**62), (-(2**63), 2**63 - 1), (5, 5 + 2**33)])
def test_integers_over_wide_ranges(low: int, high: int) -> None:
    svod.manual_seed(1)
    drawn = np.asarray(svod.randint(low, high, (20_000,)))
    assert drawn.min() >= low and drawn.max() < high
    part = (drawn.astype("float64") - low) / (float(high) - low)
    # A uniform distribution: means of it and of its squares, to five deviations.
    assert abs(part.mean() - 1 / 2) < 0.0103 and abs((part**2).mean() - 1 / 3) < 0.0106
    # Low bits as well.
    assert abs((drawn & 1).mean() - 0.5) < 0.018


def test_einsum_takes_numbers_and_lists() -> None:
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    x, y = svod.asarray(a), svod.asarray(b)
    want = a @ b
    np.testing.assert_array_equal(array(svod.einsum(x, [0, 1], y, [1, 2], [0, 2])), want)
    np.testing.assert_array_equal(array(svod.einsum(x, [0, 1], y, [1, 2])), np.einsum(a, [0, 1], b, [1, 2]))
    np.testing.assert_array_equal(array(svod.einsum(x, [..., 1], [...])), np.einsum(a, [..., 1], [...]))
    np.testing.assert_array_equal(array(svod.einsum(a, (0, 51), (51, 0))), a.T)
    np.testing.assert_array_equal(array(svod.einsum("ij,jk", [x, y])), want)
    np.testing.assert_array_equal(array(svod.einsum("ij,jk->ik", (x, y))), want)
    np.testing.assert_array_equal(array(svod.einsum("ij->j", [x])), a.sum(0))
    # One list that is a matrix.
    assert svod.einsum("ij->j", [[1, 2], [3, 4]]).tolist() == [4, 6]
    for wrong in ((x, [0, 52], y, [1, 2]), (x, [0, "a"]), (x, 0), (5,), (x,), ()):
        with pytest.raises((TypeError, ValueError), match=r"einsum|argument"):
            svod.einsum(*wrong)  # type: ignore[arg-type]


def test_deviations_take_pytorchs_positions() -> None:
    a = np.random.default_rng(0).normal(size=(3, 4))
    x = svod.asarray(a)
    np.testing.assert_allclose(array(x.std(1, False)), a.std(1), rtol=1e-6)
    np.testing.assert_allclose(array(x.var(0, True, True)), a.var(0, ddof=1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(array(x.std(False)), a.std(), rtol=1e-6)
    np.testing.assert_allclose(array(x.std(1, unbiased=True, keepdim=True)), a.std(1, ddof=1, keepdims=True), rtol=1e-6)


def test_a_size_is_made_of_numbers() -> None:
    assert svod.Size([1, 2]) == (1, 2) == svod.ones(1, 2).shape and svod.Size() == ()


@needs_torch
def test_types_of_pytorch_are_types() -> None:
    for name in ("float32", "float64", "int8", "bool", "bfloat16", "complex64", "uint16"):
        kind = getattr(_torch, name)
        assert (
            svod.zeros(2, dtype=kind).dtype == name == svod.ones(2).to(kind).dtype
            and svod.zeros(1, dtype=name).dtype == kind
        )
    with pytest.raises(TypeError, match="not an element type"):
        svod.zeros(2, dtype=_torch.qint8)


@pytest.mark.parametrize(
    ("former", "reduction"),
    [
        ({"reduce": False}, "none"),
        ({"reduce": True}, "mean"),
        ({"size_average": False}, "sum"),
        ({"size_average": True, "reduce": False}, "none"),
        ({"size_average": False, "reduce": True}, "sum"),
    ],
)
def test_losses_take_what_reduction_was_before(former: dict[str, bool], reduction: str) -> None:
    x, y = svod.asarray([0.1, 0.9, 0.4]), svod.asarray([0.0, 1.0, 1.0])
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "binary_cross_entropy", "soft_margin_loss", "kl_div"):
        made = getattr(F, name)(x, y, **former)
        np.testing.assert_array_equal(array(made), array(getattr(F, name)(x, y, reduction=reduction)), err_msg=name)


def test_copies_keep_that_a_gradient_is_required() -> None:
    x = svod.asarray([1.0, 2.0]).requires_grad_()
    for made in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert made.requires_grad and made.is_leaf and made.tolist() == [1, 2]
    assert not pickle.loads(pickle.dumps(svod.ones(2))).requires_grad
    # What was pickled before.
    assert svod.Tensor._restore(np.ones(2), ["CPU"], None).requires_grad is False


# Symbolic rows.


@pytest.mark.parametrize("rows", [2, 5, 8])
@pytest.mark.parametrize(
    ("name", "ours", "theirs"),
    [
        ("logcumsumexp", lambda x: svod.logcumsumexp(x, 0), lambda a: np.log(np.cumsum(np.exp(a), 0))),
        ("quantile", lambda x: svod.quantile(x, [0.3, 0.5], axis=0), lambda a: np.quantile(a, [0.3, 0.5], axis=0)),
        ("nanquantile", lambda x: svod.nanquantile(x, 0.4, axis=0), lambda a: np.nanquantile(a, 0.4, axis=0)),
        (
            "reflect",
            lambda x: F.pad(x.T, (1, 1), mode="reflect").T,
            lambda a: np.pad(a, ((1, 1), (0, 0)), mode="reflect"),
        ),
        (
            "replicate",
            lambda x: F.pad(x.T, (3, 1), mode="replicate").T,
            lambda a: np.pad(a, ((3, 1), (0, 0)), mode="edge"),
        ),
        (
            "circular",
            lambda x: F.pad(x.T, (2, 1), mode="circular").T,
            lambda a: np.pad(a, ((2, 1), (0, 0)), mode="wrap"),
        ),
        ("nearest", lambda x: F.interpolate(x.T[None], scale_factor=2), lambda a: np.repeat(a.T[None], 2, -1)),
        ("pinv", svod.linalg.pinv, np.linalg.pinv),
        ("norm", lambda x: x.sum() / x.size, lambda a: a.mean()),
    ],
)
def test_symbolic_rows(name: str, ours: Callable[..., Any], theirs: Callable[..., Any], rows: int) -> None:
    a = np.random.default_rng(rows).normal(size=(8, 3)).astype("float32")
    n = svod.Variable("n", 2, 8)
    x = svod.asarray(a)[: n.bind(rows)]
    np.testing.assert_allclose(array(ours(x)), theirs(a[:rows]), rtol=2e-5, atol=2e-6)


@needs_torch
@pytest.mark.parametrize("rows", [2, 5, 8])
@pytest.mark.parametrize(
    "options",
    [
        {"scale_factor": 2.0, "mode": "linear"},
        {"scale_factor": 1.5, "mode": "linear", "align_corners": True},
        {"scale_factor": 0.5, "mode": "nearest-exact"},
        {"size": 5, "mode": "linear"},
        {"size": 5, "mode": "nearest"},
        {"scale_factor": 2.0, "mode": "linear", "recompute_scale_factor": True},
    ],
    ids=str,
)
def test_symbolic_extents_are_resized(options: dict[str, Any], rows: int) -> None:
    a = np.random.default_rng(rows).normal(size=(1, 3, 8)).astype("float32")
    n = svod.Variable("n", 2, 8)
    made = F.interpolate(svod.asarray(a)[..., : n.bind(rows)], **options)
    want = _torch.nn.functional.interpolate(_torch.from_numpy(a[..., :rows].copy()), **options)
    np.testing.assert_allclose(array(made), want.numpy(), rtol=1e-5, atol=1e-5)
