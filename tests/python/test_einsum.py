"""Einstein sums against NumPy."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import svod

rng = np.random.default_rng(9)

EXTENTS = {"b": 2, "h": 3, "i": 4, "j": 5, "k": 6, "l": 7, "m": 1, "n": 17}


def operand(term: str, extra: tuple[int, ...] = ()) -> np.ndarray:
    before, dots, after = term.partition("...")
    shape = [EXTENTS[c] for c in before] + (list(extra) if dots else []) + [EXTENTS[c] for c in after]
    return rng.standard_normal(shape).astype("float32")


@pytest.mark.parametrize(
    "text",
    [
        "i->i", "i->", "ij->ji", "ij", "ji", "ii", "ii->i", "iij->ji", "iji->j", "bii->b", "iii->i",
        "i,i", "i,i->i", "i,j", "ij,j", "ij,jk->ik", "ij,jk->ki", "ij,kj->ik", "ji,jk->ik", "ij,jk", "ij,ij->",
        "bij,bjk->bik", "bhik,bhjk->bhij", "bij,jk->bik", "bhij,hjk->bik", "ijk,jkl->il", "ij,kl->ijkl", "bij,bij->b",
        "ij,jk,kl->il", "ij,jk,kl,ln->in", "i,j,k->ijk", "bij,bjk,bkl->bl", "ij,i,j->", "ii,ij->j",
        "mi,ij->mj", "mm,mi->i", "ijn,kjn->ik", "...", "...->...", "...i->...", "...ij,...jk->...ik", "...ij->...ji",
        "i...,i...->...", "b...i,ij->b...j",
    ],
)  # fmt: skip
def test_like_numpy(text: str) -> None:
    arrays = [operand(term, (2, 3)) for term in text.split("->")[0].split(",")]
    expected = np.einsum(text, *[a.astype("float64") for a in arrays])
    result = svod.einsum(text, *arrays)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("operands", ["aij,ajk", "jai,kja", "bixy,ioxy", "bqhd,bkhd"])
def test_axes_of_products_are_kept_in_any_order(operands: str) -> None:
    """Also axes that both operands have after those of one: rows of a tile are then no neighbours."""
    extents = {"a": 3, "b": 5, "i": 20, "j": 24, "k": 33, "x": 3, "y": 2, "o": 30, "q": 21, "h": 3, "d": 24}
    terms = operands.split(",")
    left, right = (rng.standard_normal([extents[c] for c in term]).astype("float32") for term in terms)
    summed = {"aij,ajk": "j", "jai,kja": "a", "bixy,ioxy": "i", "bqhd,bkhd": "d"}[operands]
    for kept in permutations(sorted({*"".join(terms)} - {summed})):
        text = f"{operands}->{''.join(kept)}"
        expected = np.einsum(text, left.astype("float64"), right.astype("float64"))
        np.testing.assert_allclose(svod.einsum(text, left, right).numpy(), expected, rtol=1e-4, atol=1e-4, err_msg=text)


def test_axes_that_no_operand_reads_repeat_the_product() -> None:
    a, b = (rng.standard_normal(shape).astype("float32") for shape in ((1, 20, 24), (6, 24, 1)))
    product = svod.Tensor(a).expand(6, 20, 24) @ svod.Tensor(b).expand(6, 24, 32)
    expected = np.broadcast_to(a, (6, 20, 24)).astype("float64") @ np.broadcast_to(b, (6, 24, 32))
    np.testing.assert_allclose(product.numpy(), expected, rtol=1e-5, atol=1e-5)
    x, w = (rng.standard_normal(shape).astype("float32") for shape in ((3, 33, 1), (40, 33, 3)))
    row = np.einsum("bc,oc->bo", x[:, :, 0].astype("float64"), w.sum(2).astype("float64"))
    same = svod.Tensor(x).expand(3, 33, 50).conv1d(svod.Tensor(w)).numpy()
    np.testing.assert_allclose(same, np.broadcast_to(row[:, :, None], (3, 40, 48)), rtol=1e-4, atol=1e-4)


def test_extents_of_one_repeat() -> None:
    a, b = operand("ij"), rng.standard_normal((1, 6)).astype("float32")
    np.testing.assert_allclose(svod.einsum("ij,jk->ik", a, b).numpy(), np.einsum("ij,jk->ik", a, b), rtol=1e-5)
    x, y = operand("...ij", (2, 1)), operand("...jk", (3,))
    np.testing.assert_allclose(
        svod.einsum("...ij,...jk->...ik", x, y).numpy(), np.einsum("...ij,...jk->...ik", x, y), rtol=1e-4, atol=1e-5
    )


def test_types_and_empty_dimensions() -> None:
    a, b = rng.integers(-9, 9, (3, 4)).astype("int32"), rng.integers(-9, 9, (4, 2)).astype("int32")
    result = svod.einsum("ij,jk->ik", a, b)
    assert result.dtype == "int32"
    np.testing.assert_array_equal(result.numpy(), a @ b)
    halves = svod.Tensor(np.array([2048, 1, 1], "float16"))
    result = svod.einsum("i,i->", halves, svod.ones(3, dtype="float16"))
    assert result.dtype == "float16" and result.item() == 2050
    assert svod.einsum("ij,jk->ik", svod.zeros(2, 0), svod.zeros(0, 3)).tolist() == [[0.0] * 3] * 2
    assert svod.einsum("ij,jk->ik", svod.zeros(0, 2), svod.zeros(2, 3)).shape == (0, 3)
    assert np.isnan(svod.einsum("ii->i", np.array([[np.nan, 1], [1, 2]], "float32")).numpy()).tolist() == [True, False]


def test_a_contraction_is_one_kernel() -> None:
    q, k = svod.Tensor(operand("bhik")), svod.Tensor(operand("bhjk"))
    assert len((svod.einsum("bhik,bhjk->bhij", q, k) * 0.5).relu().prepare().kernels) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("aij,ajk->ika", (5, 33, 24), (5, 24, 40)),
        ("aij,ajk->kia", (5, 33, 24), (5, 24, 40)),
        ("bqhd,bkhd->bqkh", (2, 20, 6, 24), (2, 32, 6, 24)),
        ("bixy,ioxy->boxy", (20, 32, 4, 5), (32, 32, 4, 5)),
        ("tbhd,sbhd->tsbh", (20, 2, 4, 16), (30, 2, 4, 16)),
        ("nchw,ochw->nohw", (16, 32, 7, 7), (24, 32, 7, 7)),
        ("bts,bsd->tdb", (3, 20, 16), (3, 16, 24)),
    ],
)
def test_axes_after_rows_and_columns(text: str, first: tuple[int, ...], second: tuple[int, ...], dtype: str) -> None:
    """A batch may be the last axis of the result, or lie between its rows and columns."""
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in (first, second))
    exact = np.einsum(text, a.astype("float64"), b.astype("float64"))
    np.testing.assert_allclose(svod.einsum(text, a, b).numpy(), exact, rtol=1e-4, atol=1e-4)
    # An axis that neither operand has.
    wide = svod.Tensor(a.reshape(-1, a.shape[-1])[:20]).reshape(1, 20, -1).expand(6, 20, a.shape[-1])
    tall = svod.Tensor(np.ones((6, a.shape[-1], 1), dtype)).expand(6, a.shape[-1], 32)
    result = (wide @ tall).numpy()
    np.testing.assert_allclose(result, wide.numpy().sum(-1, keepdims=True).repeat(32, -1), rtol=1e-3, atol=1e-4)


def test_errors_name_subscripts_and_shapes() -> None:
    a, b = svod.zeros(2, 3), svod.zeros(3, 2)
    for text, operands, kind, words in [
        ("ij", (a, b), svod.ArgumentError, "'ij' of float32[2, 3], float32[3, 2]: 1 subscripts for 2 operands"),
        ("ij,k->i", (a, b), svod.ArgumentError, "does not name 2 dimensions"),
        ("ij,ik", (a, b), svod.ShapeError, "'i' has the extents 2 and 3"),
        ("ij,jk->l", (a, b), svod.ArgumentError, "which no operand has"),
        ("ij->jj", (a,), svod.ArgumentError, "twice"),
        ("i+->i", (a,), svod.ArgumentError, "neither a letter"),
        ("", (), svod.ArgumentError, "no operand"),
    ]:
        with pytest.raises(kind) as error:
            svod.einsum(text, *operands)
        assert words.replace("'ij' of", '"ij" of') in str(error.value)
