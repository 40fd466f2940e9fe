//! Pooling.

use svod_dtype::{Const, DType};
use svod_tensor::{Operand, Padding, Pool, Size, Tensor};

use super::conv::{Windows, spatial};
use super::{Row, row};
use crate::call::{Call, Outcome, counting, extents, invalid, one, spatial_extents, unsupported};
use crate::error::Fault;

pub(super) const ROWS: &[Row] = &[
    row("AveragePool", 1, average),
    row("GlobalAveragePool", 1, |c| c.map(|x| x.mean(Some(&behind(x)), true))),
    row("GlobalLpPool", 2, |c| {
        let p = c.int("p", 2)?;
        c.map(|x| x.norm(p as f64, Some(&behind(x)), true))
    }),
    row("GlobalMaxPool", 1, |c| c.map(|x| x.max(Some(&behind(x)), true))),
    row("LpPool", 11, lp),
    row("MaxPool", 1, max),
    row("MaxUnpool", 9, unpool),
];

/// Elements of a window at most of which the position of the maximum is found: each is looked at on its own.
const MOST_TAPS: i64 = 4096;

/// The axes behind batch and channels.
fn behind(x: &Tensor) -> Vec<i64> {
    (2..x.rank() as i64).collect()
}

/// Windows of a node, and what is added behind so that the last ones are whole.
struct Moved {
    kernel: Vec<i64>,
    windows: Windows,
    extra: Vec<i64>,
}

fn moved(c: &Call<'_>, x: &Tensor) -> Result<Moved, Fault> {
    let Some(kernel) = c.ints("kernel_shape")? else { return invalid("attribute 'kernel_shape' is missing") };
    if kernel.iter().any(|n| *n < 1) {
        return invalid(format!("attribute 'kernel_shape' is {kernel:?}"));
    }
    let is_up = c.flag("ceil_mode", false)?;
    let over = if is_up { spatial_extents(x)?[2..].to_vec() } else { spatial(c, x)? };
    let windows = Windows::of(c, &over, &kernel)?;
    let extra = (0..kernel.len()).map(|d| {
        if !is_up {
            return 0;
        }
        let (before, after) = windows.padding[d];
        let reach = windows.dilation[d] * (kernel[d] - 1) + 1;
        let rest = (over[d] + before + after - reach).rem_euclid(windows.stride[d]);
        let more = if rest == 0 { 0 } else { windows.stride[d] - rest };
        // A window begins inside of the input, or before it.
        let begins = over[d] + before + after + more - reach;
        if begins >= over[d] + before { 0 } else { more }
    });
    let extra = extra.collect();
    Ok(Moved { kernel, windows, extra })
}

impl Moved {
    /// The operand with a value around, so that windows need no padding.
    fn padded(&self, x: &Tensor, value: Const) -> svod_tensor::Result<Tensor> {
        let around = self.windows.padding.iter().zip(&self.extra).map(|((a, b), more)| (*a, b + more));
        let by: Vec<(i64, i64)> = [(0, 0), (0, 0)].into_iter().chain(around).collect();
        x.pad(&by, Operand::Tensor(Tensor::constant(value)?))
    }

    fn how(&self) -> Pool {
        let stride = Some(self.windows.stride.clone());
        Pool { stride, padding: Padding::Valid, dilation: self.windows.dilation.clone(), ..Pool::default() }
    }

    /// The sum of each window.
    fn sums(&self, x: &Tensor) -> svod_tensor::Result<Tensor> {
        let count: i64 = self.kernel.iter().product();
        x.avg_pool(&self.kernel, &self.how())?.mul(count as f64)
    }
}

fn average(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let moved = moved(c, &x)?;
    if x.rank() < 2 {
        return invalid(format!("{} has no batch and channels", x.described()));
    }
    let dtype = x.dtype();
    let wide = if dtype.bits() < 32 { x.cast(DType::F32)? } else { x.clone() };
    let sums = moved.sums(&moved.padded(&wide, Const::zero(wide.dtype()))?)?;
    // How many elements of a window count: those of the operand, maybe with the padding, but not what is behind.
    let counted = Tensor::ones(&[&[Size::ONE, Size::ONE], &x.shape()[2..]].concat(), wide.dtype())?;
    let counts = if c.flag("count_include_pad", false)? {
        let by: Vec<_> = [(0, 0), (0, 0)].into_iter().chain(moved.windows.padding.iter().copied()).collect();
        let rest: Vec<_> = [(0, 0), (0, 0)].into_iter().chain(moved.extra.iter().map(|n| (0, *n))).collect();
        moved.sums(&counted.pad(&by, 1)?.pad(&rest, 0)?)?
    } else {
        moved.sums(&moved.padded(&counted, Const::zero(wide.dtype()))?)?
    };
    one(sums.div(counts.round()?)?.cast(dtype)?)
}

fn lp(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let (moved, p) = (moved(c, &x)?, c.int("p", 2)? as f64);
    let powers = moved.padded(&x.abs()?.pow(p)?, Const::zero(x.dtype()))?;
    one(moved.sums(&powers)?.pow(1.0 / p)?)
}

fn max(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let moved = moved(c, &x)?;
    let padded = moved.padded(&x, Const::min_value(x.dtype()))?;
    let most = padded.max_pool(&moved.kernel, &moved.how())?;
    if !c.wants(1) {
        return one(most);
    }
    // The position of the first element of a window that is its maximum, by looking at one tap after the other.
    let count = moved.kernel.iter().fold(1i64, |all, extent| all.saturating_mul(*extent));
    if count > MOST_TAPS {
        return unsupported(format!("positions in windows of {count} elements"));
    }
    let shape = extents(&x)?;
    let over = &shape[2..];
    let mut flat = counting(shape.iter().product::<i64>())?.reshape(&shape)?;
    if c.flag("storage_order", false)? {
        // Positions count along columns.
        let count: i64 = over.iter().product();
        let order: Vec<i64> = [0, 1].into_iter().chain((2..shape.len() as i64).rev()).collect();
        let turned: Vec<i64> = order.iter().map(|d| shape[*d as usize]).collect();
        let within = counting(count)?;
        let within = within.reshape(&turned[2..])?.t()?;
        let first = counting(shape[0] * shape[1])?.mul(count)?;
        let ones: Vec<i64> = shape[..2].iter().copied().chain(vec![1; over.len()]).collect();
        flat = first.reshape(&ones)?.add(within)?;
    }
    let places = moved.padded(&flat, Const::i64(DType::I64, -1))?;
    let result = extents(&most)?;
    let mut found: Option<Tensor> = None;
    for tap in taps(&moved.kernel).into_iter().rev() {
        let part = |t: &Tensor| {
            let mut index = vec![svod_tensor::Index::FULL; 2];
            for (d, at) in tap.iter().enumerate() {
                let (stride, first) = (moved.windows.stride[d], at * moved.windows.dilation[d]);
                let stop = first + (result[2 + d] - 1) * stride + 1;
                let (start, stop) = (Some(first.into()), Some(stop.into()));
                index.push(svod_tensor::Index::Slice { start, stop, step: stride });
            }
            t.get(&index)
        };
        let (value, place) = (part(&padded)?, part(&places)?);
        // Padding is never the maximum.
        let is_it = value.eq(&most)?.bitwise_and(place.ge(0)?)?;
        found = Some(match found {
            None => place,
            Some(later) => Tensor::select(&is_it, place, later)?,
        });
    }
    let Some(found) = found else { return invalid("windows without elements") };
    Ok(vec![most.into(), found.into()])
}

/// All positions in a window, in row-major order.
fn taps(kernel: &[i64]) -> Vec<Vec<i64>> {
    kernel.iter().fold(vec![Vec::new()], |all, extent| {
        let next = |tap: &Vec<i64>| (0..*extent).map(|at| [&tap[..], &[at]].concat()).collect::<Vec<_>>();
        all.iter().flat_map(next).collect()
    })
}

/// The inverse of a `MaxPool`: values at the positions that it gave, zeros elsewhere.
fn unpool(c: &Call<'_>) -> Outcome {
    let (x, places) = (c.tensor(0)?, c.tensor(1)?);
    let shape = spatial_extents(&x)?;
    let Some(kernel) = c.ints("kernel_shape")? else { return invalid("attribute 'kernel_shape' is missing") };
    let windows = Windows::of(c, &shape[2..], &kernel)?;
    let mut own = shape[..2].to_vec();
    for d in 0..kernel.len() {
        let (before, after) = windows.padding[d];
        own.push((shape[2 + d] - 1) * windows.stride[d] + kernel[d] - before - after);
    }
    let count = own.iter().product::<i64>();
    let zeros = Tensor::zeros(&[count], x.dtype())?;
    let spread = zeros.scatter(0, &places.reshape(&[-1])?, &x.reshape(&[-1])?)?.reshape(&own)?;
    // A larger result that is asked for has zeros behind.
    let Some(to) = c.maybe_numbers(2)? else { return one(spread) };
    if to.len() != own.len() {
        return invalid(format!("{} extents for rank {}", to.len(), own.len()));
    }
    let by: Vec<(i64, i64)> = to.iter().zip(&own).map(|(to, own)| (0, to - own)).collect();
    one(spread.pad(&by, 0)?)
}
