//! The derivative of windows: what overlaps is summed.
//!
//! An element is read by the windows `p` at their elements `t` with `p * stride + t * dilation` its position. So the sum at a
//! position goes over the elements `t` of shifted windows: it is itself a fold of windows, over the cotangent with zeros
//! around it. Where the cotangent is a sum of products, as that of a convolution's input is, both sums are one,
//! and the whole is a contraction again: nothing like columns of the input is ever in memory. Where one factor is the
//! same in every window, as weights are, and the other at every element of a window, that contraction is a convolution
//! with the weights turned round.

use svod_dtype::Const;
use svod_ir::alu::Alu;
use svod_ir::graph::{Op, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

use super::algebra::{mul, padded, sum};
use crate::error::Result;

/// The transpose of windows of `size` along an axis of `extent` elements, of a cotangent with one dimension more.
pub fn overlapped(g: &UOp, axis: usize, size: &Size, (stride, dilation): (usize, usize), extent: &Size) -> Result<UOp> {
    let rank = g.rank() - 1;
    let (terms, summed, dtype) = as_sum(g)?;
    let terms = Terms::new(&terms, axis, rank)?;
    // Elements of windows, then what is summed besides, at the end.
    let (spread, step) = match (stride, dilation) {
        (1, _) => (terms.shifted(axis, rank, size, dilation)?, 1),
        // With an element for each phase of the stride, windows lie side by side.
        (_, 0 | 1) => (terms.phased(axis, rank, size, stride)?, stride),
        // Zeros between the windows.
        _ => (terms.apart(axis, stride)?.shifted(axis, rank, size, dilation)?, 1),
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

/// Windows, `[.., p, .., t, rest..]`: the terms that are summed where they overlap.
enum Terms {
    /// Any.
    Whole(UOp),
    /// The product of a value that is the same at every element `t` of a window, and one that is the same in every window
    /// `p`, if there is such a one: each with an extent of 1 there.
    Product(UOp, Option<UOp>),
}

impl Terms {
    fn new(terms: &UOp, axis: usize, taps: usize) -> Result<Terms> {
        if is_repeated(terms, taps) {
            return Ok(Terms::Product(first(terms, taps)?, None));
        }
        let Some((a, b)) = as_product(terms)? else { return Ok(Terms::Whole(terms.clone())) };
        let product = |moving: &UOp, fixed: &UOp| Ok(Terms::Product(first(moving, taps)?, Some(first(fixed, axis)?)));
        if is_repeated(&a, taps) && is_repeated(&b, axis) {
            product(&a, &b)
        } else if is_repeated(&b, taps) && is_repeated(&a, axis) {
            product(&b, &a)
        } else {
            Ok(Terms::Whole(terms.clone()))
        }
    }

    /// Windows of stride 1 as what each position sums: `[.., p + t * dilation, .., t, rest..]`.
    fn shifted(&self, axis: usize, taps: usize, size: &Size, dilation: usize) -> Result<UOp> {
        let reach = (size - 1) * Size::from(dilation);
        let windows = |terms: &UOp| -> Result<UOp> {
            Ok(padded(terms, axis, reach.clone(), reach.clone())?.window(axis, size.clone(), 1, dilation)?)
        };
        match self {
            // Position i reads at window element t' what lies t' * dilation behind it, of the tap that lies as far before
            // the last.
            Terms::Whole(terms) => {
                let windows = windows(terms)?;
                let last = windows.rank() - 1;
                diagonal(&windows.flip(&[last])?, taps, last)
            }
            Terms::Product(moving, fixed) => {
                let windows = windows(moving)?;
                let last = windows.rank() - 1;
                let mut order: Vec<usize> = (0..last).collect();
                order[taps] = last;
                order.push(taps);
                let windows = windows.permute(&order)?;
                let windows = windows.reshape(windows.shape()[..last].to_vec())?;
                let Some(fixed) = fixed else { return Ok(windows) };
                let at = |axis: usize| match windows.shape()[axis] == Size::ONE {
                    true => fixed.shape()[axis].clone(),
                    false => windows.shape()[axis].clone(),
                };
                let shape: Vec<Size> = (0..last).map(at).collect();
                mul(&windows.expand(shape.clone())?, &fixed.flip(&[taps])?.expand(shape)?)
            }
        }
    }

    /// Windows of a stride, with `t = u * stride + phase`, as what each phase of each position sums:
    /// `[.., p + u, .., phase, u, rest..]`.
    fn phased(&self, axis: usize, taps: usize, size: &Size, stride: usize) -> Result<UOp> {
        let stride = Size::from(stride);
        let rounds = size.ceil_div(stride.clone());
        let apart = |terms: &UOp| -> Result<UOp> {
            let whole = padded(terms, taps, Size::ZERO, &rounds * &stride - size)?;
            let (before, after) = (&whole.shape()[..taps], &whole.shape()[taps + 1..]);
            let apart = whole.reshape([before, &[rounds.clone(), stride.clone()], after].concat())?;
            let mut order: Vec<usize> = (0..apart.rank()).collect();
            order.swap(taps, taps + 1);
            Ok(apart.permute(&order)?)
        };
        let phases = match self {
            Terms::Whole(terms) => Terms::Whole(apart(terms)?),
            Terms::Product(moving, fixed) => {
                let fixed = match fixed {
                    Some(fixed) => fixed.clone(),
                    // Ones, since beyond the taps is nothing.
                    None => {
                        let mut shape = vec![Size::ONE; moving.rank()];
                        shape[taps] = size.clone();
                        UOp::full(Const::one(moving.dtype()), &shape.into())?
                    }
                };
                let (before, after) = (&moving.shape()[..taps], &moving.shape()[taps..]);
                let moving = moving.reshape([before, &[Size::ONE], after].concat())?;
                Terms::Product(moving, Some(apart(&fixed)?))
            }
        };
        phases.shifted(axis, taps + 1, &rounds, 1)
    }

    /// Windows with the zeros between them that a stride leaves.
    fn apart(&self, axis: usize, stride: usize) -> Result<Terms> {
        Ok(match self {
            Terms::Whole(terms) => Terms::Whole(apart(terms, axis, stride)?),
            Terms::Product(moving, fixed) => Terms::Product(apart(moving, axis, stride)?, fixed.clone()),
        })
    }
}

/// The elements at the first position of an axis, which stays.
fn first(x: &UOp, axis: usize) -> Result<UOp> {
    let kept = |i: usize| (Size::ZERO, if i == axis { Size::ONE } else { x.shape()[i].clone() });
    Ok(x.shrink((0..x.rank()).map(kept).collect::<Vec<_>>())?)
}

/// The factors of a product that was only moved.
fn as_product(x: &UOp) -> Result<Option<(UOp, UOp)>> {
    let (mut node, mut above) = (x.clone(), Vec::new());
    while let (Op::Reshape(_) | Op::Permute(_), Some(source)) = (node.op(), node.source()) {
        above.push(node.op().clone());
        node = source;
    }
    let Op::Alu(Alu::Mul) = node.op() else { return Ok(None) };
    let moved = |factor: &UOp| -> Result<UOp> {
        above.iter().rev().try_fold(factor.clone(), |value, op| match op {
            Op::Reshape(shape) => Ok(value.reshape(shape.clone())?),
            Op::Permute(axes) => Ok(value.permute(axes)?),
            _ => Ok(value),
        })
    };
    let factors = node.sources();
    Ok(Some((moved(&factors[0])?, moved(&factors[1])?)))
}

/// Whether all elements along an axis are known to be one value, which movements repeated.
fn is_repeated(x: &UOp, axis: usize) -> bool {
    let (mut node, mut axis) = (x.clone(), axis);
    loop {
        if node.shape()[axis] == Size::ONE {
            return true;
        }
        let Some(source) = node.source() else { return false };
        match node.op() {
            Op::Expand(_) => {
                let new = node.rank() - source.rank();
                if axis < new || source.shape()[axis - new] != node.shape()[axis] {
                    return true;
                }
                axis -= new;
            }
            Op::Permute(axes) => axis = axes[axis],
            Op::Pad(by, _) if by[axis] != (Size::ZERO, Size::ZERO) => return false,
            // The elements of windows are others than the windows.
            Op::Window(..) if axis == source.rank() => return false,
            Op::Reshape(_) => {
                // The same extent behind as many elements is the same axis.
                let before = |shape: &[Size], axis: usize| -> Size { shape[..axis].iter().product() };
                let (extent, at) = (&node.shape()[axis], before(node.shape(), axis));
                let same = |i: &usize| source.shape()[*i] == *extent && before(source.shape(), *i) == at;
                match (0..source.rank()).find(same) {
                    Some(found) => axis = found,
                    None => return false,
                }
            }
            Op::Cast(_) | Op::Contiguous | Op::Pad(..) | Op::Window(..) | Op::Shrink(_) | Op::Flip(_) => {}
            _ => return false,
        }
        node = source;
    }
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
