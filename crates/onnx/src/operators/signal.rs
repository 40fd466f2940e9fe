//! Fourier transforms, and windows for them.

use std::f64::consts::PI;

use svod_dtype::DType;
use svod_tensor::Tensor;

use super::{Row, row};
use crate::call::{Call, Outcome, axis_of, counting, extents, invalid, one, ranked};
use crate::error::Fault;

pub(super) const ROWS: &[Row] = &[
    row("BlackmanWindow", 17, |c| window(c, &[0.42, -0.5, 0.08])),
    row("DFT", 17, |c| dft(c, c.int("axis", 1)?)),
    row("DFT", 20, |c| dft(c, c.maybe_numbers(2)?.and_then(|all| all.first().copied()).unwrap_or(-2))),
    row("HammingWindow", 17, |c| window(c, &[25.0 / 46.0, -21.0 / 46.0])),
    row("HannWindow", 17, |c| window(c, &[0.5, -0.5])),
    row("MelWeightMatrix", 17, mel),
    row("STFT", 17, stft),
];

/// A sum of cosines over a period.
fn window(c: &Call<'_>, coefficients: &[f64]) -> Outcome {
    let [size] = c.numbers(0)?[..] else { return invalid("the size should be one number") };
    let dtype = c.dtype("output_datatype")?.unwrap_or(DType::F32);
    let period = if c.flag("periodic", true)? { size } else { size - 1 };
    let angle = counting(size)?.cast(DType::F64)?.mul(2.0 * PI / period.max(1) as f64)?;
    let mut sum = angle.full_like(coefficients[0])?;
    for (n, coefficient) in coefficients.iter().enumerate().skip(1) {
        sum = sum.add(angle.mul(n as f64)?.cos()?.mul(*coefficient)?)?;
    }
    one(sum.cast(dtype)?)
}

/// Cosines and sines of a transform of `length` elements at `bins` frequencies: `[length, bins]`.
fn matrices(length: i64, bins: i64, period: i64, dtype: DType) -> svod_tensor::Result<(Tensor, Tensor)> {
    // Products modulo the period keep angles small, and thus exact.
    let product = counting(length)?.unsqueeze(1)?.mul(counting(bins)?)?.modulo(period.max(1))?;
    let angle = product.cast(DType::F64)?.mul(2.0 * PI / period.max(1) as f64)?;
    Ok((angle.cos()?.cast(dtype)?, angle.sin()?.cast(dtype)?))
}

/// The transform along the last axis, of a real and maybe an imaginary part; `sign` is that of the exponent.
fn transformed(
    (real, imaginary): (&Tensor, Option<&Tensor>),
    bins: i64,
    period: i64,
    sign: f64,
) -> Result<(Tensor, Tensor), Fault> {
    let length = extents(real)?.last().copied().unwrap_or(0);
    let (cos, sin) = matrices(length, bins, period, real.dtype())?;
    let sin = sin.mul(sign)?;
    let (mut re, mut im) = (real.matmul(&cos)?, real.matmul(&sin)?);
    if let Some(imaginary) = imaginary {
        re = re.sub(imaginary.matmul(&sin)?)?;
        im = im.add(imaginary.matmul(&cos)?)?;
    }
    Ok((re, im))
}

/// The parts of a signal whose last dimension is 1 of real numbers, or 2 of complex ones.
fn parts(x: &Tensor) -> Result<(Tensor, Option<Tensor>), Fault> {
    let part = |at: i64| x.narrow(-1, at, 1)?.squeeze(Some(&[-1]));
    match extents(x)?.last() {
        Some(1) => Ok((part(0)?, None)),
        Some(2) => Ok((part(0)?, Some(part(1)?))),
        _ => invalid(format!("{} is neither real nor complex", x.described())),
    }
}

/// The first elements of the last axis, or zeros behind.
fn fitted(x: &Tensor, length: i64) -> svod_tensor::Result<Tensor> {
    let axis = x.rank() - 1;
    let own = x.shape()[axis].as_const().unwrap_or(length);
    let mut by = vec![(0i64, 0i64); x.rank()];
    by[axis].1 = (length - own).max(0);
    x.narrow(-1, 0, own.min(length))?.pad(&by, 0)
}

/// The discrete Fourier transform along an axis.
fn dft(c: &Call<'_>, axis: i64) -> Outcome {
    let x = c.tensor(0)?;
    let axis = axis_of(axis, x.rank())?;
    if axis + 1 == x.rank() {
        return invalid("the axis should not be that of real and imaginary parts");
    }
    let (inverse, half) = (c.flag("inverse", false)?, c.flag("onesided", false)?);
    let (real, imaginary) = parts(&x)?;
    let moved = |t: &Tensor| t.movedim(axis as i64, -1);
    let own = extents(&x)?[axis];
    let given = c.maybe_numbers(1)?.and_then(|all| all.first().copied());
    let back = |t: Tensor| t.movedim(-1, axis as i64);
    if inverse && half {
        // The other half of a real signal's transform is its mirror image.
        let length = given.unwrap_or(2 * (own - 1));
        let (real, imaginary) = (moved(&real)?, moved(&imaginary.unwrap_or(real.full_like(0)?))?);
        let (first, rest) = (length / 2 + 1, (length - 1) / 2);
        let whole = |t: &Tensor, sign: f64| {
            let t = fitted(t, first)?;
            let mirror = t.narrow(-1, 1, rest)?.flip(Some(&[-1]))?.mul(sign)?;
            Tensor::cat(&[&t, &mirror], -1)
        };
        let (re, im) = (whole(&real, 1.0)?, whole(&imaginary, -1.0)?);
        let (re, _) = transformed((&re, Some(&im)), length, length, 1.0)?;
        return one(back(re.div(length as f64)?)?.unsqueeze(-1)?);
    }
    let length = given.unwrap_or(own);
    let bins = if half { length / 2 + 1 } else { length };
    let real = fitted(&moved(&real)?, length)?;
    let imaginary = imaginary.map(|t| fitted(&moved(&t)?, length)).transpose()?;
    let sign = if inverse { 1.0 } else { -1.0 };
    let (mut re, mut im) = transformed((&real, imaginary.as_ref()), bins, length, sign)?;
    if inverse {
        (re, im) = (re.div(length as f64)?, im.div(length as f64)?);
    }
    one(Tensor::stack(&[&back(re)?, &back(im)?], -1)?)
}

/// Transforms of windows that move over a signal.
fn stft(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let [step] = c.numbers(1)?[..] else { return invalid("the step should be one number") };
    let weights = c.optional(2)?;
    let length = match (c.maybe_numbers(3)?.as_deref(), &weights) {
        (Some([length]), _) => *length,
        (_, Some(weights)) => ranked::<1>(weights)?[0],
        _ => return invalid("a window or the length of a frame is needed"),
    };
    if step < 1 || length < 1 {
        return invalid(format!("frames of {length} elements in steps of {step}"));
    }
    let frames = |t: &Tensor| {
        let framed = t.unfold(1, length, step)?;
        match &weights {
            Some(weights) => framed.mul(weights),
            None => Ok(framed),
        }
    };
    let (real, imaginary) = parts(&x)?;
    let bins = if c.flag("onesided", true)? && imaginary.is_none() { length / 2 + 1 } else { length };
    let imaginary = imaginary.map(|t| frames(&t)).transpose()?;
    let (re, im) = transformed((&frames(&real)?, imaginary.as_ref()), bins, length, -1.0)?;
    one(Tensor::stack(&[&re, &im], -1)?)
}

/// Triangles over the frequencies of a transform, at equal distances in mels.
fn mel(c: &Call<'_>) -> Outcome {
    let (bands, length) = (c.number(0)? as i64, c.number(1)? as i64);
    let (rate, low, high) = (c.number(2)?, c.number(3)?, c.number(4)?);
    let dtype = c.dtype("output_datatype")?.unwrap_or(DType::F32);
    if bands < 0 || length < 0 || bands.saturating_mul(length) > 1 << 28 {
        return invalid(format!("{bands} bands over {length} elements"));
    }
    let to_mel = |f: f64| 2595.0 * (1.0 + f / 700.0).log10();
    let from_mel = |m: f64| 700.0 * (10f64.powf(m / 2595.0) - 1.0);
    let step = (to_mel(high) - to_mel(low)) / (bands + 2) as f64;
    let bin = |n: i64| ((length + 1) as f64 * from_mel(to_mel(low) + n as f64 * step) / rate).floor() as i64;
    let rows = length / 2 + 1;
    let mut weights = vec![0f64; (rows * bands) as usize];
    for band in 0..bands {
        let (first, centre, last) = (bin(band), bin(band + 1), bin(band + 2));
        let mut set = |row: i64, weight: f64| {
            if (0..rows).contains(&row) {
                weights[(row * bands + band) as usize] = weight;
            }
        };
        if first == centre {
            set(centre, 1.0);
        } else {
            (first..=centre).for_each(|row| set(row, (row - first) as f64 / (centre - first) as f64));
        }
        if last > centre {
            (centre..last).for_each(|row| set(row, (last - row) as f64 / (last - centre) as f64));
        }
    }
    one(Tensor::from_slice(&weights, &[rows as usize, bands as usize])?.cast(dtype)?)
}
