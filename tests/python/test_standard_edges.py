"""Edges of the array API standard beside NumPy: zeros with a sign, complex numbers, the greatest numbers, nothing."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import svod

FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")


def same(ours: svod.Tensor, theirs: Any) -> None:
    """Equal in type, shape and each bit of a zero."""
    mine, wanted = ours.numpy(), np.asarray(theirs)
    assert (mine.dtype, mine.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(mine, wanted)
    for part in ("real", "imag"):
        a, b = getattr(mine, part), getattr(wanted, part)
        known = ~np.isnan(b)
        np.testing.assert_array_equal(np.signbit(a)[known], np.signbit(b)[known])


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX)
def test_the_sign_of_zeros_is_zero_without_one(dtype: str) -> None:
    array = np.array([0.0, -0.0, 2.0, -3.0, np.inf, -np.inf, np.nan]).astype(dtype)
    same(svod.sign(svod.asarray(array)), np.sign(array))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_numbers_are_rounded_by_parts(dtype: str) -> None:
    parts = np.array([0.5, 1.5, -0.5, -2.5, -0.0, 1e10, np.inf, np.nan])
    array = np.empty((8, 8), dtype)
    array.real, array.imag = parts[:, None], parts
    same(svod.round(svod.asarray(array)), np.round(array))
    finite = np.array([1.234 - 5.678j, -0.055 + 17j], dtype)
    np.testing.assert_allclose(svod.asarray(finite).round(decimals=1).numpy(), np.round(finite, 1), rtol=1e-6)


@pytest.mark.parametrize("target", ["native", "x86-64-v2"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_quotients_of_the_greatest_numbers_are_numbers(dtype: str, target: str) -> None:
    limits = np.finfo(dtype)
    rng = np.random.default_rng(0)
    digits = limits.maxexp - 1
    small = (rng.uniform(1, 2, 300) * 2.0 ** rng.uniform(-digits, digits, 300)).astype(dtype)
    below = [limits.max / n for n in (1, 3, 5, 7, 11)] + [np.nextafter(limits.max / np.array(3, dtype), limits.max)]
    divisors = np.concatenate([small, -small, np.array(below, dtype)])
    tops = np.array([limits.max, -limits.max, np.nextafter(limits.max, 0)], dtype)[:, None]
    x, y = svod.asarray(tops), svod.asarray(divisors)
    plan = svod.prepare(x % y, x // y, target=target)
    plan.execute()
    rests, quotients = (output.numpy() for output in plan.outputs)
    np.testing.assert_array_equal(rests, tops % divisors)
    with np.errstate(over="ignore"):
        wanted = tops.astype(np.longdouble) // divisors.astype(np.longdouble)
        np.testing.assert_allclose(quotients, wanted.astype(dtype), rtol=2 * limits.eps)


def test_lines_of_complex_numbers() -> None:
    for count, options in ((5, {}), (1, {}), (0, {}), (4, {"endpoint": False})):
        wanted = np.linspace(1j, 2 + 3j, count, **options)
        for made in (svod.linspace(1j, 2 + 3j, count, dtype="complex128", **options),):
            np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-15)
    assert svod.linspace(0, np.complex64(1j), 3).dtype == "complex64"
    assert svod.linspace(np.complex64(1), svod.Tensor(2.0), 3).tolist() == [1.0, 1.5, 2.0]
    with pytest.raises(svod.DTypeError):
        svod.linspace(0, 1j, 3, dtype="float32")


def test_casts_of_integers_are_safe_where_numpy_says_so() -> None:
    numbers = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    for given in numbers:
        for wanted in ("float16", *FLOATS, *COMPLEX):
            assert svod.can_cast(getattr(svod, given), getattr(svod, wanted)) == np.can_cast(given, wanted)


def test_norms_of_nothing() -> None:
    for shape in ((0,), (0, 3), (3, 0), (0, 0)):
        none = svod.zeros(*shape)
        same(svod.linalg.vector_norm(none, ord=np.inf), np.float32(0))
        if len(shape) == 2:
            for ord in (1, 2, np.inf):
                same(svod.linalg.matrix_norm(none, ord=ord), np.linalg.matrix_norm(none.numpy(), ord=ord))
    same(svod.linalg.vector_norm(svod.zeros(2, 0), ord=np.inf, axis=1), np.zeros(2, np.float32))


def test_what_has_no_dimensions_has_no_index() -> None:
    with pytest.raises(svod.ShapeError, match="nonzero: at least one dimension"):
        svod.nonzero(svod.Tensor(3.0))


def test_nothing_was_written_to_an_empty_tensor_and_it_is_read() -> None:
    for x in (svod.empty(2, 3), svod.empty_like(svod.ones(2, 3)), svod.empty((2, 3), "int8")):
        assert x.numpy().shape == (2, 3) and len(x.tolist()) == 2
        np.testing.assert_array_equal(x.numpy(), x.numpy())
        assert "shape=(2, 3)" in repr(x)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
@pytest.mark.parametrize("dtype", [int, float, bool, complex, "int16", svod.float16, np.int8, np.dtype("uint8")])
def test_types_are_given_behind_shapes_as_numpy_takes_them(name: str, dtype: Any) -> None:
    make, wanted = getattr(svod, name), svod.zeros(1, dtype=dtype).dtype
    for shape in ((2, 3), [2, 3], 2, ()):
        x = make(shape, dtype)
        assert x.dtype == wanted and x.shape == np.zeros(shape).shape
    assert make(2, 3).shape == (2, 3)
    with pytest.raises(svod.DTypeError, match=f"{name}: dtype"):
        make((2, 3), "int3")


def test_types_are_given_behind_numbers_as_numpy_takes_them() -> None:
    same(svod.full((2,), 3, "int8"), np.full((2,), 3, "int8"))
    same(svod.arange(0, 6, 2, "int16"), np.arange(0, 6, 2, "int16"))
    same(svod.eye(3, 2, -1, "int16"), np.eye(3, 2, -1, "int16"))


def test_generators_have_the_device_that_pytorch_asks_for() -> None:
    for made in (svod.Generator(device="CPU"), svod.Generator("CPU"), svod.Generator(7, device="CPU")):
        assert made.device == "CPU" and pickle.loads(pickle.dumps(made)).device == "CPU"
    assert svod.Generator("CPU").manual_seed(7).initial_seed() == 7
    with pytest.raises(svod.DeviceError):
        svod.Generator(device="TPU")


def test_medians_of_one_number_keep_no_dimension() -> None:
    torch = pytest.importorskip("torch")
    x, theirs = svod.Tensor(3.0), torch.tensor(3.0)
    for call in (
        lambda x: x.median(0, True),
        lambda x: x.kthvalue(1, 0, True),
        lambda x: (x.quantile(0.5, 0), x.quantile(0.5, -1, True), x.nanquantile(0.5, 0)),
    ):
        for ours, wanted in zip(call(x), call(theirs), strict=True):
            assert ours.shape == tuple(wanted.shape) and ours.item() == wanted.item()


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_of_hermitian_matrices_the_lower_triangle_is_read(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    array = rng.normal(size=(3, 4, 4)).astype(dtype)
    if dtype == "complex128":
        array = array + 1j * rng.normal(size=(3, 4, 4))
    array[1, 3], array[1, :, 3] = 0, 0
    wanted = torch.linalg.pinv(torch.from_numpy(array), hermitian=True).numpy()
    np.testing.assert_allclose(svod.linalg.pinv(array, hermitian=True).numpy(), wanted, atol=1e-10)


def test_dimensions_are_solved_for_by_either_name() -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 3, 6)), np.ones((2, 3))
    for options in ({"axes": (0,)}, {"dims": (0,)}):
        made = svod.linalg.tensorsolve(svod.asarray(a).permute(2, 0, 1), b, **options)
        np.testing.assert_allclose(made.numpy(), np.linalg.tensorsolve(a.transpose(2, 0, 1), b, axes=(0,)), rtol=1e-8)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_numbers_are_drawn_by_parts(dtype: str) -> None:
    g = svod.Generator(3)
    normal, uniform = (draw(20_000, dtype=dtype, generator=g).numpy() for draw in (svod.randn, svod.rand))
    assert normal.dtype == uniform.dtype == dtype
    assert abs(normal.mean()) < 0.02 and abs(np.abs(normal).std() ** 2 + np.abs(normal).mean() ** 2 - 1) < 0.05
    assert abs(np.corrcoef(normal.real, normal.imag)[0, 1]) < 0.03
    assert uniform.real.min() >= 0 and uniform.imag.max() < 1 and abs(uniform.mean() - (0.5 + 0.5j)) < 0.02


def test_integers_are_drawn_as_floats() -> None:
    for x in (svod.randint(2, 5, (1000,), dtype="float64"), svod.randint(2, 5, (1000,), dtype=svod.bfloat16)):
        assert x.is_floating_point() and sorted({*x.tolist()}) == [2.0, 3.0, 4.0]


def test_numbers_without_dimensions_along_their_axis() -> None:
    x = svod.Tensor(3)
    assert svod.cumulative_sum(x, axis=0, include_initial=True).tolist() == [0, 3]
    assert svod.cumulative_prod(x, include_initial=True).tolist() == [1, 3]
    assert svod.repeat(x, 2, axis=0).tolist() == x.repeat_interleave(2, -1).tolist() == [3, 3]
    assert svod.squeeze(x, axis=0).shape == ()
    with pytest.raises(svod.ShapeError):
        svod.squeeze(x, axis=1)
