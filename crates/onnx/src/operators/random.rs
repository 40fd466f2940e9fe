//! Random numbers, from svod's generator: a `seed` starts a sequence of its own.

use svod_dtype::DType;
use svod_tensor::{Size, Tensor};

use super::{Row, row};
use crate::call::{Call, Outcome, invalid, one};
use crate::error::Fault;

pub(super) const ROWS: &[Row] = &[
    row("Bernoulli", 15, |c| {
        let x = c.tensor(0)?;
        let dtype = c.dtype("dtype")?.unwrap_or(x.dtype());
        one(Tensor::rand(&x.shape(), Some(DType::F32))?.lt(x.cast(DType::F32)?)?.cast(dtype)?)
    }),
    row("Multinomial", 7, multinomial),
    row("RandomNormal", 1, |c| normal(c, &shape(c)?, DType::F32)),
    row("RandomNormalLike", 1, |c| {
        let x = c.tensor(0)?;
        normal(c, &x.shape(), x.dtype())
    }),
    row("RandomUniform", 1, |c| uniform(c, &shape(c)?, DType::F32)),
    row("RandomUniformLike", 1, |c| {
        let x = c.tensor(0)?;
        uniform(c, &x.shape(), x.dtype())
    }),
];

fn shape(c: &Call<'_>) -> Result<Vec<Size>, Fault> {
    match c.ints("shape")? {
        Some(shape) => Ok(shape.into_iter().map(Size::from).collect()),
        None => invalid("attribute 'shape' is missing"),
    }
}

fn normal(c: &Call<'_>, shape: &[Size], dtype: DType) -> Outcome {
    let dtype = c.dtype("dtype")?.unwrap_or(dtype);
    let (mean, scale) = (c.float("mean", 0.0)?, c.float("scale", 1.0)?);
    one(Tensor::randn(shape, Some(DType::F32))?.mul(scale)?.add(mean)?.cast(dtype)?)
}

fn uniform(c: &Call<'_>, shape: &[Size], dtype: DType) -> Outcome {
    let dtype = c.dtype("dtype")?.unwrap_or(dtype);
    let (low, high) = (c.float("low", 0.0)?, c.float("high", 1.0)?);
    one(Tensor::rand(shape, Some(DType::F32))?.mul(high - low)?.add(low)?.cast(dtype)?)
}

/// Classes drawn by their logarithms: the greatest of each with a Gumbel number added.
fn multinomial(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?.cast(DType::F32)?;
    let count = c.int("sample_size", 1)?;
    let shape = x.shape();
    let [batch, classes] = &shape[..] else { return invalid(format!("{} is not of rank 2", x.described())) };
    let uniform = Tensor::rand(&[batch.clone(), count.into(), classes.clone()], Some(DType::F32))?;
    let gumbel = uniform.maximum(1e-30)?.log()?.neg()?.log()?.neg()?;
    let drawn = x.unsqueeze(1)?.add(gumbel)?.argmax(Some(-1), false)?;
    one(drawn.cast(c.dtype("dtype")?.unwrap_or(DType::I32))?)
}
