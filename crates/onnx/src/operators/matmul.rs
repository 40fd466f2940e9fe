//! Products of matrices.

use svod_dtype::DType;
use svod_tensor::Tensor;

use super::{Row, row};
use crate::call::{Call, Outcome, counting, extents, invalid, one};

pub(super) const ROWS: &[Row] = &[
    row("Det", 11, determinant),
    row("Einsum", 12, |c| {
        let all = c.tensors()?;
        one(Tensor::einsum(c.text("equation", "")?, &all.iter().collect::<Vec<_>>())?)
    }),
    row("Gemm", 7, gemm),
    row("MatMul", 1, |c| one(c.tensor(0)?.matmul(&c.tensor(1)?)?)),
];

fn gemm(c: &Call<'_>) -> Outcome {
    let (mut a, mut b) = (c.tensor(0)?, c.tensor(1)?);
    if c.flag("transA", false)? {
        a = a.t()?;
    }
    if c.flag("transB", false)? {
        b = b.t()?;
    }
    let dtype = a.dtype();
    let scaled = |x: Tensor, by: f64| match (by == 1.0, dtype.is_float()) {
        (true, _) => Ok(x),
        (false, true) => x.mul(by),
        (false, false) => x.cast(DType::F64)?.mul(by)?.cast(dtype),
    };
    let product = scaled(a.matmul(&b)?, c.float("alpha", 1.0)?)?;
    one(match c.optional(2)? {
        Some(addend) => product.add(scaled(addend, c.float("beta", 1.0)?)?)?,
        None => product,
    })
}

/// By elimination, with the greatest element of a column as pivot.
fn determinant(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let dtype = x.dtype();
    let shape = extents(&x)?;
    let [.., rows, columns] = shape[..] else { return invalid(format!("{} is no matrix", x.described())) };
    if rows != columns {
        return invalid(format!("{} is no square matrix", x.described()));
    }
    let batch = &shape[..shape.len() - 2];
    let mut rest = x.cast(DType::F64)?;
    let mut product = Tensor::ones(batch, DType::F64)?;
    for n in (1..=rows).rev() {
        let column = rest.narrow(-1, 0, 1)?;
        let pivot = column.abs()?.argmax(Some(-2), true)?;
        let at = pivot.expand(&[batch, &[1, n]].concat())?;
        let row = rest.gather(-2, &at)?;
        let element = row.narrow(-1, 0, 1)?;
        // The row changes places with the first one, which turns the sign unless it is that.
        let place = pivot.squeeze(Some(&[-1, -2]))?;
        let sign = Tensor::select(&place.eq(0)?, 1.0, -1.0)?.cast(DType::F64)?;
        product = product.mul(element.reshape(batch)?)?.mul(sign)?;
        let places = counting(n)?.unsqueeze(1)?;
        let swapped = Tensor::select(&places.eq(&pivot)?, rest.narrow(-2, 0, 1)?, &rest)?;
        let zero = element.eq(0.0)?;
        let factor = swapped.narrow(-1, 0, 1)?.div(Tensor::select(&zero, 1.0, &element)?)?;
        let less = swapped.sub(factor.mul(&row)?)?;
        if n > 1 {
            rest = less.narrow(-2, 1, n - 1)?.narrow(-1, 1, n - 1)?;
        }
    }
    one(product.cast(dtype)?)
}
