"""Resampling, values at points, bags of rows, copies of views and rarer functions, compared with PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_torch_names import INT, A, Call, D, F, M, as_arrays, of

import svod
import svod.nn.functional as functional

RNG = np.random.default_rng(7)
BAGS = of(INT, [0, 3, 1, 1, 2])
TABLE = np.float32([[1, 9, -2], [4, 5, 6], [7, -8, 6], [0, np.inf, 3]])
COMPLEX = np.complex64([[1 + 2j, 3], [-1j, 0]])

TORCH: dict[str, Call] = {
    "copies": lambda xp, x: [
        xp.alias_copy(x(A)),
        xp.as_strided_copy(x(A), (2, 2), (1, 5), 3),
        xp.detach_copy(x(A)),
        xp.diagonal_copy(x(A), 1, 2, 0),
        xp.diagonal_copy(x(A), offset=-1, dim1=0, dim2=1),
        xp.expand_copy(x(A[:1]), (2, -1, 4)),
        xp.narrow_copy(x(A), 2, 1, 2),
        x(A).narrow_copy(-1, 0, 0),
        xp.permute_copy(x(A), (2, 0, -2)),
        xp.select_copy(x(A), 1, -1),
        *(xp.slice_copy(x(A), dim, *cut) for dim in (0, -1) for cut in ((), (1,), (-3, -1), (0, 9, 2), (3, 1))),
        xp.split_copy(x(A), 3, 2),
        xp.split_with_sizes_copy(x(A), [1, 0, 3], 2),
        xp.squeeze_copy(x(A[:1])),
        xp.squeeze_copy(x(A[:1]), 0),
        xp.t_copy(x(M)),
        xp.transpose_copy(x(A), 0, -1),
        xp.unbind_copy(x(A), 1),
        xp.unfold_copy(x(A), 2, 2, 1),
        xp.unsqueeze_copy(x(A), -1),
        xp.view_as_real_copy(x(COMPLEX)),
        xp.view_as_complex_copy(x(of(F, [[1, 2], [3, 4]]))),
        xp.view_copy(x(A), (4, -1)),
    ],
    "unsafe": lambda xp, x: [
        xp.unsafe_chunk(x(A), 2, 1),
        x(A).unsafe_chunk(3, -1),
        xp.unsafe_split(x(A), 3, 2),
        xp.unsafe_split_with_sizes(x(A), [1, 0, 3], 2),
    ],
    "places": lambda xp, x: [
        xp.fill(x(A), 3),
        xp.fill(x(M), x(of(D, 2.5))),
        x(A.copy()).apply_(lambda one: one * 2 + 1),
        x(M.copy()).map_(x(M[:1].copy()), lambda a, b: a * b),
        x(M.copy()).map2_(x(M), x(M + 1), lambda a, b, c: a - b * c),
        x(M[:0].copy()).apply_(lambda one: one),
    ],
    "resolved": lambda xp, x: [xp.resolve_conj(x(COMPLEX).conj()), x(M).resolve_neg(), xp.resolve_neg(x(A))],
    "bags": lambda xp, x: [
        made
        for mode in (0, 1, 2)
        for padding in (-1, 1)
        for more in (False, True)
        for made in xp.embedding_bag(x(TABLE), x(BAGS), x(of(INT, [0, 2, 2])), False, mode, False, None, more, padding)
    ],
    "weighted bags": lambda xp, x: [
        *xp.embedding_bag(x(TABLE), x(BAGS), x(of(INT, [0, 2])), False, 0, False, x(of(F, [1, 0.5, 2, 1, -1])))[:1]
    ],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TORCH)
def test_torch_agrees(name: str) -> None:
    torch = pytest.importorskip("torch")
    call = TORCH[name]
    wanted = as_arrays(call(torch, lambda array: torch.from_numpy(np.array(array))))
    made = as_arrays(call(svod, svod.Tensor))
    assert len(made) == len(wanted)
    for mine, theirs in zip(made, wanted, strict=True):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(mine, theirs, rtol=2e-6)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int64", "bool"])
def test_hashes_are_those_of_the_bits(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    x = (RNG.standard_normal((3, 5, 7)) * 50).astype(dtype)
    for options in ({}, {"dim": 1}, {"dim": (0, -1), "keepdim": True}):
        wanted = torch.hash_tensor(torch.from_numpy(x), **options).numpy()
        made = svod.hash_tensor(svod.Tensor(x), **options).numpy()
        assert made.dtype == wanted.dtype and (made == wanted).all()
    assert svod.hash_tensor(svod.zeros(0, 2), dim=0).tolist() == [0, 0]
    with pytest.raises(svod.ArgumentError, match="hash_tensor: mode"):
        svod.hash_tensor(svod.ones(1), mode=1)
    with pytest.raises(svod.DTypeError, match=r"hash_tensor.*complex64"):
        svod.hash_tensor(svod.Tensor(COMPLEX))


SIZES: list[dict[str, Any]] = [
    *({"size": size} for size in ((1, 2), (3, 7), (40, 9), (5, 16), (2, 33))),
    *({"scale_factor": by, "recompute_scale_factor": again} for by in (0.5, 2, 1.3, (0.4, 2.7)) for again in (0, 1)),
]


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest", "nearest-exact", "area"])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("align", [None, True])
def test_images_at_another_size(mode: str, antialias: bool, align: bool | None) -> None:
    torch = pytest.importorskip("torch")
    smooth = mode in ("bilinear", "bicubic")
    if not smooth and (antialias or align):
        with pytest.raises(svod.ArgumentError, match="antialias"):
            functional.interpolate(svod.ones(1, 1, 4, 4), 2, mode=mode, antialias=True)
        return
    for extents in ((5, 16), (30, 4), (13, 31), (1, 7)):
        # One channel: PyTorch takes several of images one wide for channels that come last.
        x = RNG.standard_normal((2, 1, *extents))
        for options in SIZES:
            how = {"mode": mode, "antialias": antialias, "align_corners": align, **options}
            if min(int(n * f) for n, f in zip(extents, np.broadcast_to(how.get("scale_factor", 1), 2), strict=True)):
                wanted = torch.nn.functional.interpolate(torch.from_numpy(x), **how).numpy()
                made = functional.interpolate(svod.Tensor(x), **how).numpy()
                np.testing.assert_allclose(made, wanted, rtol=1e-6, atol=1e-7, err_msg=f"{extents} {how}")


def test_an_element_of_a_smaller_image_is_the_mean_of_what_it_covers() -> None:
    x = svod.arange(8.0).reshape(1, 1, 1, 8)
    made = functional.interpolate(x, (1, 4), mode="bilinear", antialias=True)
    # A triangle of four elements, cut off at the edges.
    assert made.flatten().tolist() == pytest.approx([5 / 7, 2.5, 4.5, 7 - 5 / 7])
    slope = svod.grad(lambda x: functional.interpolate(x, (1, 2), mode="bicubic", antialias=True).sum())(x)
    assert slope.sum().item() == pytest.approx(2.0)
    with pytest.raises(svod.ArgumentError, match="recompute_scale_factor"):
        functional.interpolate(x, (1, 2), recompute_scale_factor=True)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [None, True])
@pytest.mark.parametrize("extents", [(1, 1), (3, 5), (2, 1), (3, 1, 4)])
def test_values_at_points(mode: str, padding: str, align: bool | None, extents: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch")
    rank = len(extents)
    x = RNG.standard_normal((2, 3, *extents))
    grid = RNG.uniform(-3, 3, (2, 4, *(3,) * (rank - 1), rank))
    if mode == "bicubic" and rank != 2:
        with pytest.raises(svod.ShapeError, match="bicubic"):
            functional.grid_sample(svod.Tensor(x), svod.Tensor(grid), mode)
        return
    if padding != "zeros" and rank == 2:
        # As said in PyTorch's documentation, NaN is the first element.
        grid.flat[3] = np.nan
        grid.flat[7] = -np.inf
    wanted = torch.nn.functional.grid_sample(*map(torch.from_numpy, (x, grid)), mode, padding, align).numpy()
    made = functional.grid_sample(svod.Tensor(x), svod.Tensor(grid), mode, padding, align).numpy()
    np.testing.assert_allclose(made, wanted, rtol=1e-6, atol=1e-9)


def test_bicubic_values_have_slopes() -> None:
    torch = pytest.importorskip("torch")
    x, grid = RNG.standard_normal((1, 2, 4, 5)), RNG.uniform(-1.2, 1.2, (1, 3, 3, 2))
    of_x, of_grid = (torch.from_numpy(one).requires_grad_() for one in (x, grid))
    (torch.nn.functional.grid_sample(of_x, of_grid, "bicubic", align_corners=False) ** 2).sum().backward()
    slopes = svod.grad(lambda x, grid: (functional.grid_sample(x, grid, "bicubic") ** 2).sum(), (0, 1))(
        svod.Tensor(x), svod.Tensor(grid)
    )
    for mine, theirs in zip(slopes, (of_x.grad, of_grid.grad), strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-9)


def test_what_a_tensor_is() -> None:
    x = svod.Tensor(COMPLEX).conj()
    assert not x.is_conj() and not svod.is_neg(-x) and x.dim_order() == (0, 1) and svod.ones(1).get_device() == -1
    assert svod.empty_strided((2, 3), (1, 2)).shape == svod.empty_permuted((2, 3), (1, 0), dtype="int8").shape == (2, 3)
    assert svod.Tensor(A).new_empty_strided((4,), (1,)).dtype == svod.Tensor(A).dtype
    with pytest.raises(svod.ArgumentError, match="empty_strided: 1 strides"):
        svod.empty_strided((2, 3), (1,))
    with pytest.raises(svod.ArgumentError, match="empty_permuted"):
        svod.empty_permuted((2, 3), (1, 1))
    with pytest.raises(svod.ShapeError, match="fill: value"):
        svod.fill(svod.ones(2), [1.0, 2.0])
    with pytest.raises(svod.ShapeError, match="slice_copy: axis 2"):
        svod.slice_copy(svod.ones(2), 2)
