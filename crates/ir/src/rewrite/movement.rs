//! Movement, conversions, folds and marks: merges of two in a row, and removal of what does
//! nothing.

use super::Family;
use crate::alu::Alu;
use crate::graph::{Axes, Device, GraphError, Op, UOp};
use crate::kernel::Monoid;
use crate::size::Size;
use svod_dtype::{Const, DType};

/// Sound for every type: these move elements, and compute nothing or what they computed before.
pub const MOVEMENT: Family = Family { name: "movement", holds_for: |_| true, equations: "", function: Some(apply) };

type Found = Result<Option<(&'static str, UOp)>, GraphError>;

fn apply(node: &UOp) -> Found {
    let Some(source) = node.source() else { return Ok(None) };
    match node.op() {
        op if op.is_movement() => movement(node, &source),
        Op::Cast(_) | Op::Bitcast(_) => conversion(node, &source),
        Op::Reduce(by, axes) => reduce(node, &source, *by, axes),
        Op::Detach => Ok(Some(("detach", source))),
        Op::Watch(_) => Ok(Some(("watch", source))),
        Op::Derived(..) => Ok(Some(("derived", source))),
        Op::Let(_) => Ok(Some(("let", source))),
        Op::ContiguousBackward => Ok(Some(("contiguous-backward", source))),
        // A constant is computed from the start.
        Op::After if node.sources()[1].uniform().is_some() || source.uniform().is_some() => {
            Ok(Some(("after-constant", source)))
        }
        // The plan has what it asks for from the graph that was given.
        Op::NonEmpty(..) => Ok(Some(("non-empty", source))),
        Op::Contiguous if matches!(source.op(), Op::Contiguous | Op::Leaf(_) | Op::Copy(_)) => {
            Ok(Some(("contiguous-already", source)))
        }
        Op::Copy(to) => copy(&source, to),
        _ => Ok(None),
    }
}

fn copy(source: &UOp, to: &Device) -> Found {
    if source.device() == Some(to) {
        return Ok(Some(("copy-to-same-device", source.clone())));
    }
    let Some(below) = source.source() else { return Ok(None) };
    let after = match source.op() {
        // Memory is copied as it is, and no element twice.
        Op::Reshape(shape) => ("copy-reshape", below.copy_to(to)?.reshape(shape.clone())?),
        Op::Expand(shape) => ("copy-expand", below.copy_to(to)?.expand(shape.clone())?),
        Op::Copy(_) if below.device() == Some(to) => ("copy-there-and-back", below),
        _ => return Ok(None),
    };
    Ok(Some(after))
}

fn movement(node: &UOp, source: &UOp) -> Found {
    // Through the builder, which gives the source itself where a movement does nothing.
    let again = match node.op() {
        Op::Reshape(shape) => source.reshape(shape.clone())?,
        Op::Permute(axes) => source.permute(axes)?,
        Op::Expand(shape) => source.expand(shape.clone())?,
        Op::Pad(by, fill) => source.pad(by.clone(), *fill)?,
        Op::Shrink(to) => source.shrink(to.clone())?,
        Op::Flip(axes) => {
            let moving: Axes = axes.iter().copied().filter(|&a| source.shape()[a] != Size::ONE).collect();
            source.flip(&moving)?
        }
        Op::Window(axis, size, stride, dilation) => source.window(*axis, size.clone(), *stride, *dilation)?,
        _ => return Ok(None),
    };
    if again != *node {
        return Ok(Some(("idle-movement", again)));
    }
    if !matches!(node.op(), Op::Pad(..))
        && let Some(value) = source.uniform()
    {
        return Ok(Some(("movement-of-constant", UOp::full(value, node.shape_arc())?)));
    }
    let Some(below) = source.source() else { return Ok(None) };
    let merged = match (node.op(), source.op()) {
        (Op::Reshape(shape), Op::Reshape(_)) => ("reshape-reshape", below.reshape(shape.clone())?),
        // Permuting dimensions of extent 1 only moves no element: row-major order stays.
        (Op::Reshape(shape), Op::Permute(axes)) if keeps_order(axes, below.shape()) => {
            ("reshape-permute", below.reshape(shape.clone())?)
        }
        (Op::Permute(outer), Op::Permute(inner)) => {
            let axes: Axes = outer.iter().map(|&a| inner[a]).collect();
            ("permute-permute", below.permute(&axes)?)
        }
        (Op::Expand(shape), Op::Expand(_)) => ("expand-expand", below.expand(shape.clone())?),
        (Op::Flip(outer), Op::Flip(inner)) => {
            let axes: Axes = (0..node.rank()).filter(|a| outer.contains(a) != inner.contains(a)).collect();
            ("flip-flip", below.flip(&axes)?)
        }
        (Op::Shrink(outer), Op::Shrink(inner)) => {
            let shifted = outer.iter().zip(inner.iter()).map(|((a, b), (first, _))| (first + a, first + b));
            ("shrink-shrink", below.shrink(shifted.collect::<Vec<_>>())?)
        }
        (Op::Pad(outer, fill), Op::Pad(inner, inner_fill)) if fill == inner_fill => {
            let sums = outer.iter().zip(inner.iter()).map(|((a, b), (c, d))| (a + c, b + d));
            ("pad-pad", below.pad(sums.collect::<Vec<_>>(), *fill)?)
        }
        // What was just padded is cut off again.
        (Op::Shrink(to), Op::Pad(by, _)) => {
            let exactly = to.iter().zip(by.iter()).zip(below.shape());
            let mut exactly = exactly.map(|(((a, b), (before, _)), n)| a == before && *b == before + n);
            if !exactly.all(|same| same) {
                return Ok(None);
            }
            ("shrink-pad", below)
        }
        _ => return Ok(None),
    };
    Ok(Some(merged))
}

/// Whether the dimensions that are not 1 stay in order.
fn keeps_order(axes: &[usize], shape: &[Size]) -> bool {
    axes.iter().filter(|&&a| shape[a] != Size::ONE).is_sorted()
}

fn conversion(node: &UOp, source: &UOp) -> Found {
    if source.dtype() == node.dtype() {
        return Ok(Some(("idle-conversion", source.clone())));
    }
    let Some(below) = source.source() else { return Ok(None) };
    match (node.op(), source.op()) {
        (Op::Cast(to), Op::Cast(middle))
            if preserves(below.dtype(), *middle) && converts_alike(below.dtype(), *middle, *to) =>
        {
            Ok(Some(("cast-cast", below.cast(*to)?)))
        }
        (Op::Bitcast(to), Op::Bitcast(_)) => Ok(Some(("bitcast-bitcast", below.bitcast(*to)?))),
        _ => Ok(None),
    }
}

/// Whether `to` makes the same of a value of `from` as of its equal in `middle`: integers wrap, but
/// floats saturate.
fn converts_alike(from: DType, middle: DType, to: DType) -> bool {
    from.is_float() || !middle.is_float() || !to.is_int() || preserves(from, to)
}

/// Whether every value of `from` is one of `to`.
fn preserves(from: DType, to: DType) -> bool {
    let digits = |float| match float {
        DType::F64 => 53,
        DType::F32 => 24,
        DType::F16 => 11,
        DType::BF16 => 8,
        _ => 3,
    };
    match (from.int_range(), to.int_range()) {
        (Some((a, b)), Some((least, greatest))) => to != DType::Bool && least <= a && b <= greatest,
        // Every integer of that many bits, and none of these floats overflows at it.
        (Some((a, b)), None) => to.is_float() && (b - a).ilog2() < digits(to) && digits(to) > 3,
        (None, None) => {
            from == DType::F8E5M2 && to.bits() > 8
                || from == DType::F8E4M3 && to.bits() > 8
                || matches!((from, to), (DType::F16 | DType::BF16, DType::F32 | DType::F64) | (DType::F32, DType::F64))
        }
        (None, Some(_)) => false,
    }
}

fn reduce(node: &UOp, source: &UOp, by: Monoid, axes: &[usize]) -> Found {
    let idempotent = matches!(by, Monoid::Max | Monoid::Min | Monoid::Any | Monoid::All);
    let any_order = idempotent || by.alu().is_some() && !source.dtype().is_float();
    if by.alu().is_some() && axes.iter().all(|&a| source.shape()[a] == Size::ONE) {
        let shape = node.shape_arc();
        let value = source.reshape(shape.clone())?;
        // 0 + -0 is 0.
        let to = if by == Monoid::Sum && source.dtype().is_float() {
            UOp::alu(Alu::Add, &[value, UOp::full(Const::zero(source.dtype()), shape)?])?
        } else {
            value
        };
        return Ok(Some(("reduce-of-one", to)));
    }
    let (Op::Reduce(inner, below_axes), Some(below)) = (source.op(), source.source()) else { return Ok(None) };
    if *inner != by || !any_order {
        return Ok(None);
    }
    let kept: Axes = (0..below.rank()).filter(|a| !below_axes.contains(a)).collect();
    let all: Axes = axes.iter().map(|&a| kept[a]).chain(below_axes.iter().copied()).collect();
    Ok(Some(("reduce-reduce", below.reduce(by, &all)?)))
}
