//! Functions of each element.

use svod_dtype::DType;
use svod_tensor::{Operand, Result, Tensor};

use super::{Row, row};
use crate::call::{Call, Outcome, invalid, one};
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    row("Abs", 6, |c| c.map(Tensor::abs)),
    row("Acos", 7, |c| c.map(|x| in_f32(x, acos))),
    row("Acosh", 9, |c| c.map(|x| in_f32(x, acosh))),
    row("Add", 7, |c| c.zip(Tensor::add)),
    row("Asin", 7, |c| c.map(|x| in_f32(x, asin))),
    row("Asinh", 9, |c| c.map(|x| in_f32(x, asinh))),
    row("Atan", 7, |c| c.map(Tensor::atan)),
    row("Atanh", 9, |c| c.map(|x| in_f32(x, atanh))),
    row("BitShift", 11, shifted),
    row("BitCast", 26, bitcast),
    row("Cast", 6, cast),
    row("CastLike", 15, cast_like),
    row("Ceil", 6, |c| c.map(Tensor::ceil)),
    row("Clip", 11, clipped),
    row("Cos", 7, |c| c.map(Tensor::cos)),
    row("Cosh", 9, |c| c.map(|x| in_f32(x, |x| x.exp()?.add(x.neg()?.exp()?)?.mul(0.5)))),
    row("Div", 7, |c| one(divided(&c.tensor(0)?, &c.tensor(1)?)?)),
    row("Erf", 9, |c| c.map(Tensor::erf)),
    row("Exp", 6, |c| c.map(Tensor::exp)),
    row("Floor", 6, |c| c.map(Tensor::floor)),
    row("Identity", 1, |c| one(c.value(0)?.clone())),
    row("Log", 6, |c| c.map(Tensor::log)),
    row("Max", 8, |c| folded(c, Tensor::maximum)),
    row("Mean", 8, |c| {
        let count = c.inputs.len() as f64;
        let Value::Tensor(sum) = folded(c, Tensor::add)?.remove(0) else { return invalid("no tensor") };
        one(sum.div(count)?)
    }),
    row("Min", 8, |c| folded(c, Tensor::minimum)),
    row("Mod", 10, modulo),
    row("Mul", 7, |c| c.zip(Tensor::mul)),
    row("Neg", 6, |c| c.map(Tensor::neg)),
    row("Pow", 7, |c| one(power(&c.tensor(0)?, &c.tensor(1)?)?)),
    row("Reciprocal", 6, |c| c.map(Tensor::reciprocal)),
    row("Round", 11, |c| c.map(Tensor::round)),
    row("Sign", 9, |c| c.map(Tensor::sign)),
    row("Sin", 7, |c| c.map(Tensor::sin)),
    row("Sinh", 9, |c| c.map(|x| in_f32(x, sinh))),
    row("Sqrt", 6, |c| c.map(Tensor::sqrt)),
    row("Sub", 7, |c| c.zip(Tensor::sub)),
    row("Sum", 8, |c| folded(c, Tensor::add)),
    row("Tan", 7, |c| c.map(Tensor::tan)),
    row("Tanh", 6, |c| c.map(Tensor::tanh)),
];

/// All operands, one after the other.
fn folded(c: &Call<'_>, f: impl Fn(&Tensor, Operand) -> Result<Tensor>) -> Outcome {
    let mut all = c.tensors()?.into_iter();
    let Some(first) = all.next() else { return invalid("an operand is missing") };
    one(all.try_fold(first, |folded, next| f(&folded, next.into()))?)
}

/// What is computed of narrow floats in `float32`, and rounded once.
pub(super) fn in_f32(x: &Tensor, f: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let dtype = x.dtype();
    let wide = if dtype.is_float() && dtype.bits() < 32 { x.cast(DType::F32)? } else { x.clone() };
    f(&wide)?.cast(dtype)
}

/// A quotient in the operands' type: of integers it is rounded towards 0.
pub(super) fn divided(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if !a.dtype().is_int() || a.dtype().is_unsigned() {
        return if a.dtype().is_int() { a.floor_div(b) } else { a.div(b) };
    }
    let down = a.floor_div(b)?;
    let is_inexact = a.sub(down.mul(b)?)?.ne(0)?;
    let is_negative = a.lt(0)?.bitwise_xor(b.lt(0)?)?;
    // A quotient by 0 is 0, and stays it.
    let is_up = is_inexact.bitwise_and(is_negative)?.bitwise_and(b.ne(0)?)?;
    down.add(is_up.cast(a.dtype())?)
}

fn modulo(c: &Call<'_>) -> Outcome {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    let rest = a.modulo(&b)?;
    if !c.flag("fmod", false)? || a.dtype().is_unsigned() {
        return one(rest);
    }
    // Of the dividend's sign rather than of the divisor's.
    let is_other = rest.ne(0)?.bitwise_and(a.lt(0)?.bitwise_xor(b.lt(0)?)?)?;
    one(Tensor::select(&is_other, rest.sub(&b)?, rest)?)
}

/// A power in the type of the base.
fn power(base: &Tensor, exponent: &Tensor) -> Result<Tensor> {
    let dtype = base.dtype();
    if exponent.dtype().is_float() || !dtype.is_float() {
        return base.pow(exponent)?.cast(dtype);
    }
    base.pow(exponent.cast(dtype)?)
}

fn shifted(c: &Call<'_>) -> Outcome {
    match c.text("direction", "")? {
        "LEFT" => c.zip(Tensor::shl),
        "RIGHT" => {
            // What is shifted out of a signed number leaves its sign.
            let (x, by) = (c.tensor(0)?, c.tensor(1)?);
            let shifted = x.shr(&by)?;
            if x.dtype().is_unsigned() {
                return one(shifted);
            }
            let most = x.dtype().bits() as i64 - 1;
            let beyond = by.gt(most)?.logical_or(by.lt(0)?)?;
            one(Tensor::select(&beyond, x.shr(most)?, shifted)?)
        }
        other => invalid(format!("attribute 'direction' should be LEFT or RIGHT, not '{other}'")),
    }
}

fn bitcast(c: &Call<'_>) -> Outcome {
    let Some(to) = c.dtype("to")? else { return invalid("attribute 'to' is missing") };
    c.map(|x| x.bitcast(to))
}

fn cast(c: &Call<'_>) -> Outcome {
    let Some(to) = c.dtype("to")? else { return invalid("attribute 'to' is missing") };
    one(converted(&c.tensor(0)?, to, c.flag("saturate", true)?)?)
}

fn cast_like(c: &Call<'_>) -> Outcome {
    one(converted(&c.tensor(0)?, c.tensor(1)?.dtype(), c.flag("saturate", true)?)?)
}

/// A value in another type. To floats of 8 bits, what is too large becomes the largest, unless it is not to saturate.
pub(super) fn converted(x: &Tensor, to: DType, saturate: bool) -> Result<Tensor> {
    let from = x.dtype();
    if !(from.is_float() && to.is_float() && to.bits() == 8) {
        // C++ wraps what does not fit a narrow integer.
        let narrow = from.is_float() && to.is_int() && to.bits() < 32;
        return if narrow { x.cast(DType::I32)?.cast(to) } else { x.cast(to) };
    }
    if !saturate {
        return x.cast(to);
    }
    let most = svod_dtype::Const::max_finite(to).as_f64();
    x.clamp(Some(Operand::Float(-most)), Some(Operand::Float(most)))?.cast(to)
}

fn clipped(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let bound = |at| Ok::<_, crate::error::Fault>(c.optional(at)?.map(Operand::Tensor));
    one(x.clamp(bound(1)?, bound(2)?)?.cast(x.dtype())?)
}

fn asin(x: &Tensor) -> Result<Tensor> {
    let dtype = x.dtype();
    let x = x.cast(DType::F64)?;
    let other = x.mul(&x)?.rsub(1.0)?.sqrt()?;
    // At ±1 the quotient is infinite, whose inverse tangent is a right angle.
    x.div(other)?.atan()?.cast(dtype)
}

fn acos(x: &Tensor) -> Result<Tensor> {
    let dtype = x.dtype();
    asin(&x.cast(DType::F64)?)?.rsub(std::f64::consts::FRAC_PI_2)?.cast(dtype)
}

fn asinh(x: &Tensor) -> Result<Tensor> {
    let dtype = x.dtype();
    let wide = x.cast(DType::F64)?;
    let size = wide.abs()?;
    let found = size.add(size.mul(&size)?.add(1.0)?.sqrt()?)?.log()?;
    found.mul(wide.sign()?)?.cast(dtype)
}

fn acosh(x: &Tensor) -> Result<Tensor> {
    let dtype = x.dtype();
    let x = x.cast(DType::F64)?;
    x.add(x.mul(&x)?.sub(1.0)?.sqrt()?)?.log()?.cast(dtype)
}

fn atanh(x: &Tensor) -> Result<Tensor> {
    let dtype = x.dtype();
    let x = x.cast(DType::F64)?;
    x.log1p()?.sub(x.neg()?.log1p()?)?.mul(0.5)?.cast(dtype)
}

fn sinh(x: &Tensor) -> Result<Tensor> {
    let dtype = x.dtype();
    let x = x.cast(DType::F64)?;
    x.exp()?.sub(x.neg()?.exp()?)?.mul(0.5)?.cast(dtype)
}
