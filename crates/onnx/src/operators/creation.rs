//! Constants, ranges, and tensors like others.

use svod_dtype::DType;
use svod_tensor::{Operand, Size, Tensor};

use super::{Row, row};
use crate::call::{Call, Outcome, axis_of, counting, counting_along, invalid, one, unsupported};
use crate::graph::Attribute;
use crate::value::{Sizes, Value};

pub(super) const ROWS: &[Row] = &[
    row("Constant", 1, constant),
    row("ConstantOfShape", 9, constant_of_shape),
    row("EyeLike", 9, eye_like),
    row("OneHot", 9, one_hot),
    row("Range", 11, range),
];

fn constant(c: &Call<'_>) -> Outcome {
    let given = ["value", "value_int", "value_float", "value_ints", "value_floats", "sparse_value"];
    let Some(value) = given.iter().find_map(|name| c.attribute(name)) else {
        return unsupported("a constant without a value, or of strings");
    };
    Ok(vec![match value {
        Attribute::Value(value) => value.clone(),
        Attribute::Int(number) => Sizes::scalar((*number).into()).into(),
        Attribute::Ints(numbers) => {
            let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
            Value::constant(&bytes, DType::I64, &[numbers.len()])?
        }
        Attribute::Float(number) => crate::constants::number(*number, DType::F32)?.into(),
        Attribute::Floats(numbers) => {
            let numbers: Vec<f32> = numbers.iter().map(|n| *n as f32).collect();
            Tensor::from_slice(&numbers, &[numbers.len()])?.into()
        }
        _ => return invalid("the value is of another kind than the attribute's name says"),
    }])
}

fn constant_of_shape(c: &Call<'_>) -> Outcome {
    let shape = c.sizes(0)?.elements;
    let value = match c.attribute("value") {
        Some(Attribute::Value(value)) => value.clone(),
        _ => crate::constants::number(0.0, DType::F32)?.into(),
    };
    let count = shape.first().and_then(Size::as_usize).filter(|n| shape.len() == 1 && *n <= 16);
    // Of integers with which shapes are computed.
    if let (Value::Sizes(one), Some(count)) = (&value, count)
        && let [number] = &one.elements[..]
    {
        return Ok(vec![Sizes::vector(vec![number.clone(); count]).into()]);
    }
    one(value.tensor()?.reshape::<i64>(&[])?.broadcast_to(&shape)?)
}

fn eye_like(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let dtype = c.dtype("dtype")?.unwrap_or(x.dtype());
    let [rows, columns] = &x.shape()[..] else { return invalid(format!("{} is not of rank 2", x.described())) };
    let k = c.int("k", 0)?;
    let number = |n: &Size| counting(n.clone());
    one(number(columns)?.sub(k)?.eq(number(rows)?.unsqueeze(1)?)?.cast(dtype)?)
}

fn range(c: &Call<'_>) -> Outcome {
    let dtype = c.value(0)?.dtype().unwrap_or(DType::F32);
    if dtype.is_int() {
        let size = |at| match c.value(at)?.sizes()?.elements.into_iter().next() {
            Some(size) => Ok(size),
            None => invalid(format!("operand {at} has no element")),
        };
        let (start, stop, step) = (size(0)?, size(1)?, size(2)?);
        let Some(step) = step.as_const() else { return unsupported("a range in symbolic steps") };
        let bound = |size: Size| size.as_const().map_or_else(|| Operand::from(size.clone()), Operand::from);
        return one(Tensor::arange(bound(start), bound(stop), step.into(), Some(dtype))?);
    }
    let (start, stop, step) = (c.number(0)?, c.number(1)?, c.number(2)?);
    let count = ((stop - start) / step).ceil().max(0.0);
    if !count.is_finite() || count > 1e15 {
        return invalid(format!("a range of {count} elements"));
    }
    let numbers = counting(count as i64)?;
    one(numbers.cast(DType::F64)?.mul(step)?.add(start)?.cast(dtype)?)
}

fn one_hot(c: &Call<'_>) -> Outcome {
    let (index, values) = (c.tensor(0)?, c.tensor(2)?);
    let depth = c.number(1)? as i64;
    let rank = index.rank() as i64 + 1;
    let axis = c.int("axis", -1)?;
    let at = axis_of(axis, rank as usize)?;
    let index = index.cast(DType::I64)?;
    let index = Tensor::select(&index.lt(0)?, index.add(depth)?, &index)?.unsqueeze(at as i64)?;
    let numbers = counting_along(depth, at, rank as usize)?;
    let value = |at: i64| values.narrow(0, at, 1)?.reshape::<i64>(&[]);
    one(Tensor::select(&index.eq(numbers)?, value(1)?, value(0)?)?)
}
