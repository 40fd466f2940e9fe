//! Products of matrices.

use svod_dtype::DType;
use svod_tensor::{Factor, Tensor};

use super::{Row, row};
use crate::call::{Call, Outcome, invalid, one};

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
    if let Some(other) = [&a, &b].into_iter().find(|x| x.rank() != 2) {
        return invalid(format!("{} should be a matrix", other.described()));
    }
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
    let found = x.cast(DType::F64)?.factors(Factor::Slogdet, None)?;
    let [sign, log] = &found[..] else {
        return invalid("a determinant is a sign and a logarithm");
    };
    one(sign.mul(log.exp()?)?.cast(x.dtype())?)
}
