//! Parts of contractions, computed by themselves.
//!
//! What a convolution lies over has zeros around it, of which nobody asks for the cotangent. The part that is asked for is
//! the contraction of parts of the operands, so that no sum is computed to be dropped.

use std::ops::Range;

use svod_ir::graph::{Op, Pairs, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

use crate::error::Result;

/// What is kept of each axis: a part, or all of it.
type Kept = Vec<Option<Range<i64>>>;

/// The part of a cotangent between some positions of each axis.
pub fn cropped(g: &UOp, to: &[(Size, Size)]) -> Result<UOp> {
    let part = |(axis, (first, last)): (usize, &(Size, Size))| match (first == &Size::ZERO, last == &g.shape()[axis]) {
        (true, true) => Some(None),
        _ => Some(Some(first.as_const()?..last.as_const()?)),
    };
    let kept: Option<Kept> = to.iter().enumerate().map(part).collect();
    if let Some(kept) = kept
        && kept.iter().flatten().all(|part| !part.is_empty())
        && let Some(part) = of_contraction(g, &kept)?
    {
        return Ok(part);
    }
    Ok(g.shrink(to.to_vec())?)
}

/// The part of a sum of products, if the value is one that was only moved.
fn of_contraction(value: &UOp, kept: &Kept) -> Result<Option<UOp>> {
    let Some(source) = value.source() else { return Ok(None) };
    if let Some(moved) = moved(value, &source, kept) {
        return of_contraction(&source, &moved)?.map(|part| again(value, &part, kept)).transpose();
    }
    let Op::Reduce(Monoid::Sum, axes) = value.op() else { return Ok(None) };
    let mut rest = kept.iter().cloned();
    let inside: Kept =
        (0..source.rank()).map(|axis| if axes.contains(&axis) { None } else { rest.next().flatten() }).collect();
    Ok(Some(of_terms(&source, &inside, false)?.reduce(Monoid::Sum, axes)?))
}

/// The part of what is summed, by parts of what it was moved from, and of both factors if it is a product.
fn of_terms(value: &UOp, kept: &Kept, is_factor: bool) -> Result<UOp> {
    if kept.iter().all(Option::is_none) {
        return Ok(value.clone());
    }
    if let (Op::Alu(op), false) = (value.op(), is_factor) {
        let operands = value.sources().iter().map(|x| of_terms(x, kept, true)).collect::<Result<Vec<_>>>()?;
        return Ok(UOp::alu(*op, &operands)?);
    }
    if let Some(source) = value.source()
        && let Some(below) = moved(value, &source, kept)
    {
        return again(value, &of_terms(&source, &below, is_factor)?, kept);
    }
    let to = |(axis, part): (usize, &Option<Range<i64>>)| match part {
        Some(part) => (Size::from(part.start), Size::from(part.end)),
        None => (Size::ZERO, value.shape()[axis].clone()),
    };
    Ok(value.shrink(kept.iter().enumerate().map(to).collect::<Pairs>())?)
}

/// The part of a movement's source that has what is kept of its result; none where that is no part of it.
fn moved(value: &UOp, source: &UOp, kept: &Kept) -> Option<Kept> {
    let mut below = vec![None; source.rank()];
    match value.op() {
        Op::Cast(_) => return Some(kept.clone()),
        Op::Permute(axes) => axes.iter().zip(kept).for_each(|(axis, part)| below[*axis].clone_from(part)),
        Op::Expand(_) => {
            let new = value.rank() - source.rank();
            for (axis, part) in below.iter_mut().enumerate() {
                if source.shape()[axis] == value.shape()[axis + new] {
                    part.clone_from(&kept[axis + new]);
                }
            }
        }
        Op::Reshape(_) => {
            // Only dimensions of one element come and go.
            let some = |node: &UOp| -> Vec<usize> {
                (0..node.rank()).filter(|axis| node.shape()[*axis] != Size::ONE).collect()
            };
            let (from, to) = (some(source), some(value));
            let is_same = |(from, to): (&usize, &usize)| source.shape()[*from] == value.shape()[*to];
            let ones = (0..kept.len()).filter(|axis| !to.contains(axis));
            if from.len() != to.len()
                || !from.iter().zip(&to).all(is_same)
                || ones.into_iter().any(|i| kept[i].is_some())
            {
                return None;
            }
            from.iter().zip(&to).for_each(|(from, to)| below[*from].clone_from(&kept[*to]));
        }
        Op::Window(axis, size, 1, dilation) => {
            let reach = (size.as_const()? - 1) * *dilation as i64;
            below.clone_from_slice(&kept[..source.rank()]);
            if kept[source.rank()].is_some() {
                return None;
            }
            below[*axis] = below[*axis].take().map(|part| part.start..part.end + reach);
        }
        Op::Pad(by, _) => {
            for (axis, part) in kept.iter().enumerate() {
                if let Some(part) = part {
                    let (before, extent) = (by[axis].0.as_const()?, source.shape()[axis].as_const()?);
                    let inside = |at: i64| (at - before).clamp(0, extent);
                    below[axis] = Some(inside(part.start)..inside(part.end));
                }
            }
        }
        _ => return None,
    }
    Some(below)
}

/// A movement of the part of its source.
fn again(value: &UOp, part: &UOp, kept: &Kept) -> Result<UOp> {
    let shape: Vec<Size> = value
        .shape()
        .iter()
        .zip(kept)
        .map(|(extent, part)| part.as_ref().map_or_else(|| extent.clone(), |part| Size::from(part.end - part.start)))
        .collect();
    Ok(match value.op() {
        Op::Cast(to) => part.cast(*to)?,
        Op::Permute(axes) => part.permute(axes)?,
        Op::Expand(_) => part.expand(shape)?,
        Op::Reshape(_) => part.reshape(shape)?,
        Op::Window(axis, size, stride, dilation) => part.window(*axis, size.clone(), *stride, *dilation)?,
        Op::Pad(by, with) => {
            let zeros = |(axis, (before, after)): (usize, &(Size, Size))| match (&kept[axis], before.as_const()) {
                (Some(kept), Some(first)) => {
                    let before = (first - kept.start).clamp(0, kept.end - kept.start);
                    let behind = &shape[axis] - before - &part.shape()[axis];
                    (Size::from(before), behind)
                }
                _ => (before.clone(), after.clone()),
            };
            part.pad(by.iter().enumerate().map(zeros).collect::<Pairs>(), *with)?
        }
        _ => value.clone(),
    })
}
