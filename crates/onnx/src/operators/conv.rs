//! Convolutions.

use svod_dtype::DType;
use svod_tensor::{Conv, Padding, Tensor};

use super::{Row, row};
use crate::call::{Call, Outcome, extents, invalid, one, spatial_extents, unsupported};
use crate::error::Fault;

pub(super) const ROWS: &[Row] = &[
    row("Conv", 1, |c| one(convolved(c, &c.tensor(0)?, &c.tensor(1)?, c.optional(2)?.as_ref())?)),
    row("ConvInteger", 10, conv_integer),
    row("ConvTranspose", 1, conv_transpose),
];

/// The greatest number that says something of windows: products of two fit 64 bits.
const LARGEST: i64 = 1 << 31;
/// How far a window may reach whatever it moves over, where padding follows from it.
const WIDEST: i64 = 1 << 12;

/// What windows do along each dimension, as attributes of a node say.
pub(super) struct Windows {
    pub stride: Vec<i64>,
    pub dilation: Vec<i64>,
    pub padding: Vec<(i64, i64)>,
}

impl Windows {
    /// Of windows of these extents over dimensions of those.
    pub fn of(c: &Call<'_>, over: &[i64], kernel: &[i64]) -> Result<Windows, Fault> {
        let rank = kernel.len();
        if over.len() != rank {
            return invalid(format!("windows of {rank} dimensions over {}", over.len()));
        }
        if over.iter().chain(kernel).any(|n| !(0..=LARGEST).contains(n)) {
            return invalid(format!("windows of {kernel:?} over {over:?}"));
        }
        let list = |name: &str| -> Result<Vec<i64>, Fault> {
            let given = c.ints(name)?.unwrap_or_else(|| vec![1; rank]);
            match given.len() == rank && given.iter().all(|n| (1..=LARGEST).contains(n)) {
                true => Ok(given),
                false => invalid(format!("attribute '{name}' should be {rank} positive integers, not {given:?}")),
            }
        };
        let (stride, dilation) = (list("strides")?, list("dilations")?);
        let auto = c.text("auto_pad", "NOTSET")?;
        let padding = match auto {
            "SAME_UPPER" | "SAME_LOWER" => (0..rank)
                .map(|d| {
                    let positions = (over[d] + stride[d] - 1) / stride[d];
                    let reach = dilation[d] * (kernel[d] - 1) + 1;
                    if reach > WIDEST.max(4 * over[d]) {
                        return unsupported(format!("windows that reach {reach} over {}", over[d]));
                    }
                    let all = ((positions - 1) * stride[d] + reach - over[d]).max(0);
                    let less = all / 2;
                    Ok(if auto == "SAME_UPPER" { (less, all - less) } else { (all - less, less) })
                })
                .collect::<Result<_, Fault>>()?,
            "VALID" => vec![(0, 0); rank],
            _ => {
                let pads = c.ints("pads")?.unwrap_or_else(|| vec![0; 2 * rank]);
                if pads.len() != 2 * rank || pads.iter().any(|n| n.abs() > LARGEST) {
                    return invalid(format!("attribute 'pads' should be {} integers, not {pads:?}", 2 * rank));
                }
                (0..rank).map(|d| (pads[d], pads[rank + d])).collect()
            }
        };
        Ok(Windows { stride, dilation, padding })
    }
}

/// The extents behind batch and channels, as far as padding asks for them.
pub(super) fn spatial(c: &Call<'_>, x: &Tensor) -> Result<Vec<i64>, Fault> {
    match c.text("auto_pad", "NOTSET")? {
        "SAME_UPPER" | "SAME_LOWER" => Ok(spatial_extents(x)?[2..].to_vec()),
        _ => Ok(vec![0; x.rank().saturating_sub(2)]),
    }
}

fn how(c: &Call<'_>, x: &Tensor, weight: &Tensor) -> Result<Conv, Fault> {
    let kernel = extents(weight)?;
    let windows = Windows::of(c, &spatial(c, x)?, kernel.get(2..).unwrap_or_default())?;
    let groups = c.int("group", 1)?;
    Ok(Conv { stride: windows.stride, padding: Padding::Pairs(windows.padding), dilation: windows.dilation, groups })
}

/// One number for each channel, with so many dimensions behind.
pub(super) fn channels_first(by: &Tensor, behind: usize) -> svod_tensor::Result<Tensor> {
    by.reshape(&[vec![-1i64], vec![1; behind]].concat())
}

pub(super) fn convolved(c: &Call<'_>, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor, Fault> {
    Ok(x.conv(weight, bias, &how(c, x, weight)?)?)
}

fn conv_integer(c: &Call<'_>) -> Outcome {
    let (mut x, mut weight) = (c.tensor(0)?.cast(DType::I32)?, c.tensor(1)?.cast(DType::I32)?);
    if let Some(zero) = c.optional(2)? {
        x = x.sub(zero.cast(DType::I32)?)?;
    }
    if let Some(zero) = c.optional(3)? {
        let zero = zero.cast(DType::I32)?;
        spatial_extents(&weight)?;
        weight = weight.sub(if zero.rank() == 0 { zero } else { channels_first(&zero, weight.rank() - 1)? })?;
    }
    one(convolved(c, &x, &weight, None)?)
}

fn conv_transpose(c: &Call<'_>) -> Outcome {
    let (x, weight, bias) = (c.tensor(0)?, c.tensor(1)?, c.optional(2)?);
    let kernel = extents(&weight)?;
    let kernel = kernel.get(2..).unwrap_or_default();
    let rank = kernel.len();
    let windows = Windows::of(c, &spatial(c, &x)?, kernel)?;
    let (stride, dilation, mut padding) = (windows.stride, windows.dilation, windows.padding);
    let mut added = c.ints("output_padding")?.unwrap_or_else(|| vec![0; rank]);
    let auto = c.text("auto_pad", "NOTSET")?;
    if let Some(to) = c.ints("output_shape")?.or(match auto {
        "SAME_UPPER" | "SAME_LOWER" => Some(spatial(c, &x)?.iter().zip(&stride).map(|(n, s)| n * s).collect()),
        _ => None,
    }) {
        let own = spatial_extents(&x)?;
        let to = &to[to.len().saturating_sub(rank)..];
        let fits = to.len() == rank && added.len() == rank && own.len() == rank + 2;
        if !fits || to.iter().chain(&added).any(|n| !(0..=LARGEST).contains(n)) {
            return invalid("the extents of the result are not as many as dimensions");
        }
        for d in 0..rank {
            let whole = stride[d] * (own[2 + d] - 1) + added[d] + (kernel[d] - 1) * dilation[d] + 1;
            let cut = whole - to[d];
            // More than there is comes behind.
            if cut < 0 {
                added[d] -= cut;
                padding[d] = (0, 0);
                continue;
            }
            let less = cut / 2;
            padding[d] = if auto == "SAME_UPPER" { (less, cut - less) } else { (cut - less, less) };
        }
    }
    // What is put behind beyond a stride is the bias alone.
    let limit: Vec<i64> = stride.iter().zip(&dilation).map(|(s, d)| s.max(d) - 1).collect();
    if added.len() == rank && added.iter().zip(&limit).any(|(a, most)| a > most) {
        let how = Conv { stride, padding: Padding::Pairs(padding), dilation, groups: c.int("group", 1)? };
        let inner = x.conv_transpose(&weight, None, &how, &vec![0; rank])?;
        let by: Vec<(i64, i64)> = [0, 0].iter().chain(&added).map(|n| (0, *n)).collect();
        let whole = inner.pad(&by, 0)?;
        return one(match bias {
            Some(bias) => whole.add(channels_first(&bias, rank)?)?,
            None => whole,
        });
    }
    let how = Conv { stride, padding: Padding::Pairs(padding), dilation, groups: c.int("group", 1)? };
    one(x.conv_transpose(&weight, bias.as_ref(), &how, &added)?)
}
