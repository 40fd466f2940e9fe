//! Quantised values, and what is computed with them in integers.

use svod_dtype::{Const, DType};
use svod_tensor::{Operand, Size, Tensor};

use super::conv::{channels_first, convolved};
use super::elementwise::converted;
use super::{Row, row};
use crate::call::{Call, Outcome, axis_of, extent_at, invalid, one, spatial_extents};
use crate::error::Fault;
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    row("DequantizeLinear", 10, dequantize),
    row("DynamicQuantizeLinear", 11, dynamic),
    row("MatMulInteger", 10, matmul),
    row("QLinearConv", 10, convolution),
    row("QLinearMatMul", 10, product),
    row("QuantizeLinear", 10, quantize),
];

/// Scales or zero points as they broadcast with an operand: one for all, for each position of an axis, or for each block
/// of an axis.
fn spread(c: &Call<'_>, by: Tensor, x: &Tensor) -> Result<Tensor, Fault> {
    if by.numel() == Size::ONE {
        return Ok(by.reshape::<i64>(&[])?);
    }
    let axis = axis_of(c.int("axis", 1)?, x.rank())?;
    let shape = x.shape();
    match c.int("block_size", 0)? {
        0 => Ok(by.reshape(&extent_at(shape[axis].clone(), axis, shape.len()))?),
        block if block > 0 => {
            Ok(by.repeat_interleave(block, axis as i64)?.narrow(axis as i64, 0, shape[axis].clone())?)
        }
        block => invalid(format!("block_size is {block}")),
    }
}

/// Rounded and shifted, in a type of integers whose bounds it keeps to.
fn saturated(x: &Tensor, zero: Option<&Tensor>, to: DType) -> Result<Tensor, Fault> {
    let mut rounded = x.round()?;
    if let Some(zero) = zero {
        rounded = rounded.add(zero.cast(rounded.dtype())?)?;
    }
    let bound = |number: Const| Some(Operand::Float(number.as_f64()));
    Ok(rounded.clamp(bound(Const::min_value(to)), bound(Const::max_value(to)))?.cast(to)?)
}

fn quantize(c: &Call<'_>) -> Outcome {
    let (x, scale) = (c.tensor(0)?, c.tensor(1)?);
    let zero = c.optional(2)?;
    let to = match &zero {
        Some(zero) => zero.dtype(),
        None => c.dtype_or("output_dtype", DType::U8)?,
    };
    let precision = c.dtype_or("precision", scale.dtype())?;
    let scale = spread(c, scale, &x)?.cast(precision)?;
    let zero = zero.map(|zero| spread(c, zero, &x)).transpose()?;
    let scaled = x.cast(precision)?.div(scale)?;
    // Integers of 16 bits are more than narrow floats hold.
    let scaled = if precision.bits() < 32 { scaled.cast(DType::F32)? } else { scaled };
    one(if to.is_float() {
        let shifted = match zero {
            Some(zero) => scaled.add(zero.cast(scaled.dtype())?)?,
            None => scaled,
        };
        converted(&shifted, to, c.flag("saturate", true)?)?
    } else {
        saturated(&scaled, zero.as_ref(), to)?
    })
}

fn dequantize(c: &Call<'_>) -> Outcome {
    let (x, scale) = (c.tensor(0)?, c.tensor(1)?);
    let to = c.dtype_or("output_dtype", scale.dtype())?;
    let scale = spread(c, scale, &x)?;
    let carried = if x.dtype().is_float() { DType::F32 } else { DType::I32 };
    let mut shifted = x.cast(carried)?;
    if let Some(zero) = c.optional(2)? {
        shifted = shifted.sub(spread(c, zero, &x)?.cast(carried)?)?;
    }
    one(shifted.cast(scale.dtype())?.mul(scale)?.cast(to)?)
}

/// With the scale and the zero point that the values ask for. The range of zeros alone, and of nothing, is 1.
fn dynamic(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let (least, most) = match x.numel() == Size::ZERO {
        true => (Tensor::zeros::<i64>(&[], x.dtype())?, Tensor::zeros::<i64>(&[], x.dtype())?),
        false => (x.min(None, false)?.minimum(0)?, x.max(None, false)?.maximum(0)?),
    };
    let range = most.sub(&least)?;
    let scale = Tensor::select(&range.eq(0)?, 1, &range)?.cast(x.dtype())?.div(255.0)?;
    let zero = saturated(&least.neg()?.div(&scale)?, None, DType::U8)?;
    let quantised = saturated(&x.div(&scale)?, Some(&zero), DType::U8)?;
    Ok(vec![quantised.into(), Value::from(scale), zero.into()])
}

/// An operand of a product less its zero point, of which a list goes along an axis from the end.
fn centred(x: &Tensor, zero: Option<Tensor>, from_end: i64) -> Result<Tensor, Fault> {
    let wide = x.cast(DType::I32)?;
    match zero {
        None => Ok(wide),
        Some(zero) => Ok(wide.sub(along(zero.cast(DType::I32)?, from_end)?)?),
    }
}

/// A list along an axis counted from the end; what is no list stays.
fn along(by: Tensor, from_end: i64) -> Result<Tensor, Fault> {
    match (by.rank(), from_end) {
        (1, -2) => Ok(by.unsqueeze(-1)?),
        _ => Ok(by),
    }
}

fn matmul(c: &Call<'_>) -> Outcome {
    let a = centred(&c.tensor(0)?, c.optional(2)?, -2)?;
    let b = centred(&c.tensor(1)?, c.optional(3)?, -1)?;
    one(a.matmul(&b)?)
}

fn product(c: &Call<'_>) -> Outcome {
    let a = centred(&c.tensor(0)?, Some(c.tensor(2)?), -2)?;
    let b = centred(&c.tensor(3)?, Some(c.tensor(5)?), -1)?;
    let scale = |at: usize, from_end: i64| along(c.tensor(at)?.cast(DType::F32)?, from_end);
    let scaled = a.matmul(&b)?.cast(DType::F32)?.mul(scale(1, -2)?)?.mul(scale(4, -1)?)?.div(scale(6, -2)?)?;
    let zero = along(c.tensor(7)?, -2)?;
    one(saturated(&scaled, Some(&zero), zero.dtype())?)
}

fn convolution(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?.cast(DType::I32)?.sub(c.tensor(2)?.reshape::<i64>(&[])?.cast(DType::I32)?)?;
    let weight = c.tensor(3)?;
    let rank = spatial_extents(&weight)?.len();
    // One for each channel of the result, which is the first dimension of the weights and the second of the result.
    let per_channel = |by: Tensor, behind: usize| match by.numel() == Size::ONE {
        true => by.reshape::<i64>(&[]),
        false => channels_first(&by, behind),
    };
    let weight = weight.cast(DType::I32)?.sub(per_channel(c.tensor(5)?, rank - 1)?.cast(DType::I32)?)?;
    let sums = convolved(c, &x, &weight, c.optional(8)?.as_ref())?;
    let scale = c.tensor(1)?.reshape::<i64>(&[])?.mul(per_channel(c.tensor(4)?, rank - 2)?)?;
    let scaled = sums.cast(DType::F32)?.mul(scale)?.div(c.tensor(6)?.reshape::<i64>(&[])?)?;
    let zero = c.tensor(7)?.reshape::<i64>(&[])?;
    one(saturated(&scaled, Some(&zero), zero.dtype())?)
}
