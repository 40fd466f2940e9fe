//! The derivative of windows: what overlaps is summed.
//!
//! An element is read by the windows `p` at their elements `t` with `p * stride + t * dilation` its position. So the sum at a
//! position goes over the elements `t` of shifted windows: it is itself a fold of windows, over the cotangent with zeros
//! around it. Where the cotangent is a sum of products, as that of a convolution's input is, both sums are one,
//! and the whole is a contraction again: nothing like columns of the input is ever in memory.

use svod_ir::graph::{Op, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

use super::algebra::{padded, sum};
use crate::error::Result;

/// The transpose of windows of `size` along an axis of `extent` elements, of a cotangent with one dimension more.
pub fn overlapped(g: &UOp, axis: usize, size: &Size, (stride, dilation): (usize, usize), extent: &Size) -> Result<UOp> {
    let rank = g.rank() - 1;
    let (terms, summed, dtype) = as_sum(g)?;
    // Elements of windows, then what is summed besides, at the end.
    let (spread, step) = match (stride, dilation) {
        (1, _) => (shifted(&terms, axis, rank, size, dilation)?, 1),
        // With an element for each phase of the stride, windows lie side by side.
        (_, 0 | 1) => (phased(&terms, axis, rank, size, stride)?, stride),
        // Zeros between the windows.
        _ => (shifted(&apart(&terms, axis, stride)?, axis, rank, size, dilation)?, 1),
    };
    let phases = usize::from(step > 1);
    let folded: Vec<usize> = (rank + phases..rank + phases + 1 + summed).collect();
    let mut total = sum(&spread, &folded)?;
    if step > 1 {
        // [.., q, .., phase] as [.., q, phase, ..], which is the position.
        let mut order: Vec<usize> = (0..rank).collect();
        order.insert(axis + 1, rank);
        let mut shape = total.shape()[..rank].to_vec();
        shape[axis] = &shape[axis] * Size::from(step);
        total = total.permute(&order)?.reshape(shape)?;
    }
    // Elements behind the last window were not read, and those of a phase beyond the end are none.
    let missing = extent - &total.shape()[axis];
    let total = match missing.bounds() {
        (0.., _) => padded(&total, axis, Size::ZERO, missing)?,
        _ => {
            let whole = padded(&total, axis, Size::ZERO, missing.max(Size::ZERO))?;
            let kept = |i: usize| (Size::ZERO, if i == axis { extent.clone() } else { whole.shape()[i].clone() });
            whole.shrink((0..rank).map(kept).collect::<Vec<_>>())?
        }
    };
    Ok(total.cast(dtype)?)
}

/// A value as the sum of a larger one over its last dimensions, so many, and the type to which that sum is converted.
fn as_sum(value: &UOp) -> Result<(UOp, usize, svod_dtype::DType)> {
    let (mut node, mut above, dtype) = (value.clone(), Vec::new(), value.dtype());
    loop {
        let Some(source) = node.source() else { return Ok((value.clone(), 0, dtype)) };
        match node.op() {
            Op::Reshape(_) | Op::Permute(_) => above.push(node.op().clone()),
            Op::Cast(to) if to.is_float() && source.dtype().is_float() && to.bytes() <= source.dtype().bytes() => {}
            Op::Reduce(Monoid::Sum, axes) => {
                let kept = (0..source.rank()).filter(|axis| !axes.contains(axis));
                let order: Vec<usize> = kept.chain(axes.iter().copied()).collect();
                let mut terms = source.permute(&order)?;
                let folded = terms.shape()[node.rank()..].to_vec();
                for op in above.iter().rev() {
                    let rank = terms.rank() - folded.len();
                    terms = match op {
                        Op::Reshape(shape) => terms.reshape([&shape[..], &folded].concat())?,
                        Op::Permute(axes) => {
                            terms.permute(&axes.iter().copied().chain(rank..terms.rank()).collect::<Vec<_>>())?
                        }
                        _ => terms,
                    };
                }
                return Ok((terms, folded.len(), dtype));
            }
            _ => return Ok((value.clone(), 0, dtype)),
        }
        node = source;
    }
}

/// Windows of stride 1, `[.., p, .., t, rest..]`, as what each position sums: `[.., p + t * dilation, .., t, rest..]`.
fn shifted(terms: &UOp, axis: usize, taps: usize, size: &Size, dilation: usize) -> Result<UOp> {
    let reach = (size - 1) * Size::from(dilation);
    let around = padded(terms, axis, reach.clone(), reach)?;
    let last = around.rank();
    let windows = around.window(axis, size.clone(), 1, dilation)?;
    // Position i reads at window element t' what lies t' * dilation behind it, of the tap that lies as far before the last.
    diagonal(&windows.flip(&[last])?, taps, last)
}

/// The elements at equal positions of two dimensions of one extent, of which the last vanishes: every `n + 1`-th of the
/// `n * n`.
fn diagonal(x: &UOp, first: usize, last: usize) -> Result<UOp> {
    let n = x.shape()[first].clone();
    let mut order: Vec<usize> = (0..x.rank()).filter(|axis| *axis != first && *axis != last).collect();
    let others = order.len();
    order.extend([first, last]);
    let moved = x.permute(&order)?;
    let shape = |tail: &[Size]| [&moved.shape()[..others], tail].concat();
    let flat = moved.reshape(shape(&[&n * &n]))?;
    let rows = padded(&flat, others, Size::ZERO, n.clone())?.reshape(shape(&[n.clone(), &n + 1]))?;
    let mut to: Vec<(Size, Size)> = rows.shape().iter().map(|n| (Size::ZERO, n.clone())).collect();
    to[others + 1] = (Size::ZERO, Size::ONE);
    let picked = rows.shrink(to)?.reshape(shape(&[n]))?;
    // Back where the first was.
    let mut back: Vec<usize> = (0..others).collect();
    back.insert(first, others);
    Ok(picked.permute(&back)?)
}

/// Windows of a stride, `[.., p, .., t, rest..]`, with `t = u * stride + phase`, as what each phase of each position sums:
/// `[.., p + u, .., phase, u, rest..]`.
fn phased(terms: &UOp, axis: usize, taps: usize, size: &Size, stride: usize) -> Result<UOp> {
    let stride = Size::from(stride);
    let rounds = size.ceil_div(stride.clone());
    let whole = padded(terms, taps, Size::ZERO, &rounds * &stride - size)?;
    let (before, after) = (&whole.shape()[..taps], &whole.shape()[taps + 1..]);
    let apart = whole.reshape([before, &[rounds.clone(), stride], after].concat())?;
    let mut order: Vec<usize> = (0..apart.rank()).collect();
    order.swap(taps, taps + 1);
    shifted(&apart.permute(&order)?, axis, taps + 1, &rounds, 1)
}

/// Windows with the zeros between them that a stride leaves.
fn apart(terms: &UOp, axis: usize, stride: usize) -> Result<UOp> {
    let shape = terms.shape();
    let (count, stride) = (shape[axis].clone(), Size::from(stride));
    let column = terms.reshape([&shape[..=axis], &[Size::ONE], &shape[axis + 1..]].concat())?;
    let rows = padded(&column, axis + 1, Size::ZERO, &stride - 1)?;
    let mut flat = shape.to_vec();
    flat[axis] = &count * &stride;
    let flat = rows.reshape(flat)?;
    let mut to: Vec<(Size, Size)> = flat.shape().iter().map(|n| (Size::ZERO, n.clone())).collect();
    to[axis].1 = (count - 1) * &stride + 1;
    Ok(flat.shrink(to)?)
}
