//! The table of derivatives: for each operation of the graph the cotangents of its operands.
//!
//! With `y = f(x)`, and `g` the derivative of a result by `y`, a row gives that by each operand, `gᵀ ∂y/∂x`. Every row is
//! linear in `g`. An operation without a row passes nothing on: its result does not change with small changes
//! of the operands (comparisons, positions, rounding), or is not of floats.

use svod_ir::graph::{Op, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

use super::algebra::{inverse, padded, repeated, sum, zeros};
use super::cropped::cropped;
use super::{folds, indexed, scalars, windows};
use crate::error::{Result, TensorError, show_operands};

/// An operation as it was computed, and the cotangent of its result.
pub struct Step<'a> {
    /// The operation.
    pub op: &'a Op,
    /// Its result.
    pub y: &'a UOp,
    /// Its operands.
    pub x: &'a [UOp],
    /// The cotangent of the result: of its type and shape.
    pub g: &'a UOp,
}

/// The cotangent of operand `i`; none where nothing passes.
///
/// # Errors
/// An operation that has a derivative which svod does not know.
pub fn cotangent(step: &Step<'_>, i: usize) -> Result<Option<UOp>> {
    let Step { op, y, x, g } = *step;
    let source = &x[i];
    Ok(Some(match op {
        // Elementwise.
        Op::Alu(alu) => return scalars::cotangent(step, *alu, i),
        Op::Cast(_) => g.cast(source.dtype())?,
        Op::AsReal => g.as_complex()?,
        Op::AsComplex => g.as_real()?,
        // Movement is linear: its transpose puts each element back, and sums what was repeated.
        Op::Reshape(_) => g.reshape(source.shape_arc().clone())?,
        Op::Permute(axes) => g.permute(&inverse(axes))?,
        Op::Expand(_) => unexpanded(g, source)?,
        Op::Pad(by, _) => {
            let kept = by.iter().zip(source.shape()).map(|((before, _), n)| (before.clone(), before + n));
            cropped(g, &kept.collect::<Vec<_>>())?
        }
        Op::Shrink(to) => {
            let mut back = g.clone();
            for (axis, (first, last)) in to.iter().enumerate() {
                back = padded(&back, axis, first.clone(), &source.shape()[axis] - last)?;
            }
            back
        }
        Op::Flip(axes) => g.flip(axes)?,
        Op::Concat(axis, _) => {
            let begin: Size = x[..i].iter().map(|part| &part.shape()[*axis]).sum();
            let mut kept: Vec<(Size, Size)> = source.shape().iter().map(|n| (Size::ZERO, n.clone())).collect();
            kept[*axis] = (begin.clone(), &begin + &source.shape()[*axis]);
            cropped(g, &kept)?
        }
        Op::Stack(axis, _) => {
            let mut kept: Vec<(Size, Size)> = g.shape().iter().map(|n| (Size::ZERO, n.clone())).collect();
            kept[*axis] = (i.into(), (i + 1).into());
            cropped(g, &kept)?.reshape(source.shape_arc().clone())?
        }
        Op::Window(..) => windows::overlapped(step)?,
        // Folds.
        Op::Reduce(Monoid::Sum, axes) => repeated(g, axes, source)?,
        Op::Reduce(Monoid::Prod, axes) => folds::product(source, g, axes)?,
        Op::Reduce(Monoid::Max | Monoid::Min, axes) => folds::extremum(source, y, g, axes)?,
        Op::Scan(Monoid::Sum, axis, inclusive) => {
            g.flip(&[*axis])?.scan(Monoid::Sum, *axis, *inclusive)?.flip(&[*axis])?
        }
        Op::Scan(Monoid::Prod, axis, inclusive) => folds::running_product(source, g, *axis, *inclusive)?,
        Op::Scan(by @ (Monoid::Max | Monoid::Min), axis, inclusive) => {
            folds::running_extremum(source, g, *by, *axis, *inclusive)?
        }
        // Indexing. Positions have no derivative.
        Op::Take(_) | Op::Gather(_) if i == 1 => return Ok(None),
        Op::Scatter(..) if i == 1 => return Ok(None),
        Op::Take(axis) => indexed::taken(source, &x[1], g, *axis)?,
        Op::Gather(axis) => zeros(source)?.scatter(*axis, &x[1], g, Some(Monoid::Sum))?,
        Op::Scatter(axis, by) => indexed::scattered(step, *axis, *by, i)?,
        Op::Sort(axis, descending, count) => {
            let from = source.argsort(*axis, *descending, count.clone())?;
            zeros(source)?.scatter(*axis, &from, g, None)?
        }
        // Marks, and moves between devices.
        Op::After if i == 1 => return Ok(None),
        Op::After => g.clone(),
        Op::Contiguous | Op::Watch(_) | Op::Let(_) | Op::NonEmpty(..) => g.clone(),
        Op::ContiguousBackward => g.contiguous()?,
        Op::Copy(_) | Op::Shard(_) => placed_like(g, source)?,
        Op::Multi(of) => match (of.split(), i) {
            (None, 1..) => return Ok(None),
            _ => g.shard(of)?.parts()?.swap_remove(i),
        },
        Op::Part(of, at) => {
            let zeros = |shape: &[Size]| UOp::full(svod_dtype::Const::zero(g.dtype()), &shape.into());
            let mut parts = Vec::new();
            for (k, device) in of.devices().iter().enumerate() {
                let whole = of.split().is_none();
                let shape = UOp::new(Op::Part(of.clone(), k), std::slice::from_ref(source))?;
                parts.push(if whole || k == *at {
                    g.copy_to(device)?
                } else {
                    zeros(shape.shape())?.copy_to(device)?
                });
            }
            UOp::multi(&parts, of)?
        }
        Op::Reduce(..) | Op::Scan(..) | Op::Detach => return Ok(None),
        Op::Host(function, ..) => {
            let message = format!(
                "the function {function} of {} has no derivative: give it one by `custom_gradient`, or stop at it by `detach`",
                show_operands(x)
            );
            return Err(TensorError::unsupported("gradient", message));
        }
        op => {
            let message = format!("{} of {} has no derivative", op.name(), show_operands(x));
            return Err(TensorError::unsupported("gradient", message));
        }
    }))
}

/// Whether the result of an operation is one of operand `i`, though its derivative by that may be 0 everywhere.
pub fn follows_from(op: &Op, i: usize) -> bool {
    match op {
        Op::After | Op::Take(_) | Op::Gather(_) | Op::Scatter(..) => i != 1,
        // Its value; of the others the program says.
        Op::Derived(..) => i != 0,
        Op::Multi(of) => i == 0 || of.split().is_some(),
        _ => true,
    }
}

/// The sum over what `Expand` repeated.
pub(super) fn unexpanded(g: &UOp, source: &UOp) -> Result<UOp> {
    let axes: Vec<usize> = repeated_axes(g, source).collect();
    Ok(sum(g, &axes)?.reshape(source.shape_arc().clone())?)
}

/// The axes along which `Expand` repeats a source to the shape of a value.
pub(super) fn repeated_axes(value: &UOp, source: &UOp) -> impl Iterator<Item = usize> {
    let new = value.rank() - source.rank();
    let repeated = move |axis: usize| source.shape()[axis - new] == Size::ONE && value.shape()[axis] != Size::ONE;
    (0..value.rank()).filter(move |axis| *axis < new || repeated(*axis))
}

/// A cotangent where the value is that it belongs to.
fn placed_like(g: &UOp, source: &UOp) -> Result<UOp> {
    Ok(match (source.device(), source.sharding()) {
        (Some(device), _) => g.copy_to(device)?,
        (_, Some(of)) => g.shard(of)?,
        _ => g.clone(),
    })
}
