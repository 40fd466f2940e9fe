//! Comparisons, truth values and bits.

use svod_dtype::DType;
use svod_tensor::Tensor;

use super::{Row, row};
use crate::call::{Call, Outcome, one};

pub(super) const ROWS: &[Row] = &[
    row("And", 7, |c| c.zip(Tensor::logical_and)),
    row("BitwiseAnd", 18, |c| c.zip(Tensor::bitwise_and)),
    row("BitwiseNot", 18, |c| c.map(Tensor::bitwise_not)),
    row("BitwiseOr", 18, |c| c.zip(Tensor::bitwise_or)),
    row("BitwiseXor", 18, |c| c.zip(Tensor::bitwise_xor)),
    row("Equal", 7, |c| c.zip(Tensor::eq)),
    row("Greater", 7, |c| c.zip(Tensor::gt)),
    row("GreaterOrEqual", 12, |c| c.zip(Tensor::ge)),
    row("IsInf", 10, is_infinite),
    row("IsNaN", 9, |c| c.map(Tensor::isnan)),
    row("Less", 7, |c| c.zip(Tensor::lt)),
    row("LessOrEqual", 12, |c| c.zip(Tensor::le)),
    row("Not", 1, |c| c.map(Tensor::logical_not)),
    row("Or", 7, |c| c.zip(Tensor::logical_or)),
    row("Where", 9, |c| one(Tensor::select(&c.tensor(0)?, c.tensor(1)?, c.tensor(2)?)?)),
    row("Xor", 7, |c| c.zip(Tensor::logical_xor)),
];

fn is_infinite(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let none = || x.ne(&x)?.bitwise_and(x.eq(&x)?);
    let found = match (c.flag("detect_positive", true)?, c.flag("detect_negative", true)?) {
        (true, true) => x.isinf()?,
        (true, false) => x.eq(f64::INFINITY)?,
        (false, true) => x.eq(f64::NEG_INFINITY)?,
        (false, false) => none()?,
    };
    one(found.cast(DType::Bool)?)
}
