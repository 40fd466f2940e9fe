//! Normalization layers.

use svod_dtype::DType;
use svod_tensor::{Padding, Size, Tensor};

use super::{Row, row};
use crate::call::{Call, Outcome, axis_of, extents, invalid, one};

pub(super) const ROWS: &[Row] = &[
    row("BatchNormalization", 9, batch),
    // In early versions only training leaves elements out, which a model does not say.
    row("Dropout", 7, |c| {
        let x = c.tensor(0)?;
        Ok(vec![x.clone().into(), Tensor::full(&x.shape(), true, Some(DType::Bool))?.into()])
    }),
    row("Dropout", 12, dropout),
    row("GroupNormalization", 18, group),
    row("InstanceNormalization", 6, |c| {
        let epsilon = c.float("epsilon", 1e-5)?;
        one(c.tensor(0)?.instance_norm(Some(&c.tensor(1)?), Some(&c.tensor(2)?), epsilon)?)
    }),
    row("LRN", 1, local_response),
    row("LayerNormalization", 17, layer),
    row("LpNormalization", 1, |c| {
        let (axis, p) = (c.int("axis", -1)?, c.int("p", 2)?);
        let x = c.tensor(0)?;
        let norm = x.norm(p as f64, Some(&[axis]), true)?;
        // Where all elements are 0, so is the result.
        one(Tensor::select(&norm.eq(0)?, 0, x.div(&norm)?)?.cast(x.dtype())?)
    }),
    row("MeanVarianceNormalization", 9, mean_variance),
    row("RMSNormalization", 23, root_mean_square),
];

fn batch(c: &Call<'_>) -> Outcome {
    let (x, scale, bias) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let (mean, variance) = (c.tensor(3)?, c.tensor(4)?);
    let epsilon = c.float("epsilon", 1e-5)?;
    if !c.flag("training_mode", false)? {
        return one(x.batch_norm(Some((&mean, &variance)), Some(&scale), Some(&bias), epsilon)?);
    }
    let momentum = c.float("momentum", 0.9)?;
    let own = x.channel_statistics()?;
    let result = x.batch_norm(Some((&own.0, &own.1)), Some(&scale), Some(&bias), epsilon)?;
    let running = |old: &Tensor, new: &Tensor| old.mul(momentum)?.add(new.cast(old.dtype())?.mul(1.0 - momentum)?);
    Ok(vec![result.into(), running(&mean, &own.0)?.into(), running(&variance, &own.1)?.into()])
}

fn group(c: &Call<'_>) -> Outcome {
    let (x, scale, bias) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let Some(groups) = c.maybe_int("num_groups")?.filter(|n| *n > 0) else { return invalid("num_groups is missing") };
    let epsilon = c.float("epsilon", 1e-5)?;
    let channels = extents(&x)?.get(1).copied().unwrap_or(0);
    // In early versions each group has one scale.
    let per_channel = |t: Tensor| match t.shape()[..] == [Size::from(channels)] {
        true => Ok(t),
        false => t.repeat_interleave(channels / groups, 0),
    };
    one(x.group_norm(groups, Some(&per_channel(scale)?), Some(&per_channel(bias)?), epsilon)?)
}

/// Over the last axes, from one on; with mean and inverse deviation.
fn layer(c: &Call<'_>) -> Outcome {
    let (x, scale, bias) = (c.tensor(0)?, c.tensor(1)?, c.optional(2)?);
    let first = axis_of(c.int("axis", -1)?, x.rank())?;
    let axes: Vec<i64> = (first as i64..x.rank() as i64).collect();
    let epsilon = c.float("epsilon", 1e-5)?;
    let carried = c.dtype("stash_type")?.unwrap_or(DType::F32);
    let wide = if x.dtype() == DType::F64 { x.clone() } else { x.cast(carried)? };
    let mean = wide.mean(Some(&axes), true)?;
    let centred = wide.sub(&mean)?;
    let inverse = centred.square()?.mean(Some(&axes), true)?.add(epsilon)?.rsqrt()?;
    let scaled = centred.mul(&inverse)?.cast(x.dtype())?.mul(scale)?;
    let shifted = match bias {
        Some(bias) => scaled.add(bias)?,
        None => scaled,
    };
    Ok(vec![shifted.into(), mean.into(), inverse.into()])
}

fn root_mean_square(c: &Call<'_>) -> Outcome {
    let (x, scale) = (c.tensor(0)?, c.tensor(1)?);
    let first = axis_of(c.int("axis", -1)?, x.rank())?;
    let axes: Vec<i64> = (first as i64..x.rank() as i64).collect();
    let carried = c.dtype("stash_type")?.unwrap_or(DType::F32);
    let wide = if x.dtype() == DType::F64 { x.clone() } else { x.cast(carried)? };
    let inverse = wide.square()?.mean(Some(&axes), true)?.add(c.float("epsilon", 1e-5)?)?.rsqrt()?;
    one(wide.mul(inverse)?.cast(x.dtype())?.mul(&scale)?.cast(scale.dtype())?)
}

fn mean_variance(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let axes = c.ints("axes")?.unwrap_or_else(|| vec![0, 2, 3]);
    let centred = x.sub(x.mean(Some(&axes), true)?)?;
    let deviation = centred.square()?.mean(Some(&axes), true)?.sqrt()?;
    one(centred.div(deviation.add(1e-9)?)?)
}

/// Divided by a power of the mean square of some channels around each (Krizhevsky, Sutskever and Hinton 2012).
fn local_response(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let Some(size) = c.maybe_int("size")?.filter(|n| *n > 0) else { return invalid("size is missing") };
    let (alpha, beta, bias) = (c.float("alpha", 1e-4)?, c.float("beta", 0.75)?, c.float("bias", 1.0)?);
    let squares = x.square()?.movedim(1, -1)?;
    // Channels as the dimension that windows go along, no further than there are any.
    let shape = squares.shape();
    let channels = shape[shape.len() - 1].clone();
    let most = channels.bounds().1;
    let (before, after) = (((size - 1) / 2).min(most), (size / 2).min(most));
    let padding = Padding::Pairs(vec![(before, after)]);
    let rows: Size = shape[..shape.len() - 1].iter().product();
    let flat = squares.reshape(&[rows, Size::ONE, channels])?;
    let weight = Tensor::ones(&[1, 1, before + 1 + after], x.dtype())?;
    let how = svod_tensor::Conv { padding, ..svod_tensor::Conv::default() };
    let sums = flat.conv(&weight, None, &how)?.reshape(&shape)?.movedim(-1, 1)?;
    one(x.div(sums.mul(alpha / size as f64)?.add(bias)?.pow(beta)?)?)
}

/// Elements left out at random while training, the rest scaled up; with which of them stay.
fn dropout(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let ratio = if c.has(1) { c.number(1)? } else { 0.5 };
    let trains = c.has(2) && c.number(2)? != 0.0;
    let all = || Tensor::full(&x.shape(), true, Some(DType::Bool));
    if !trains || ratio == 0.0 {
        return Ok(vec![x.clone().into(), all()?.into()]);
    }
    let kept = Tensor::rand(&x.shape(), Some(DType::F32))?.ge(ratio)?;
    let scaled = Tensor::select(&kept, x.div(1.0 - ratio)?, 0)?;
    Ok(vec![scaled.into(), kept.into()])
}
