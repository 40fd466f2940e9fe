//! Operands that are laid out anew, so that each device can compute its share of an operation: as parts like
//! those of another operand, else whole on each device.
//!
//! What moves is what there is in memory: a value that repeats another one, or has its elements in another order, is made
//! of that one on each device ([`relaid`]).

use super::error::GraphError;
use super::leaf::Device;
use super::op::Op;
use super::place::{Splits, reshaped, split};
use super::sharding::{Sharding, Split};
use super::uop::{Sources, UOp};
use crate::size::Size;
use std::sync::Arc;

/// The operands of `op`, with copies on the CPU of those that are files: nothing is computed where they are.
pub(super) fn read_from_files(op: &Op, mut sources: Sources) -> Result<Sources, GraphError> {
    if !matches!(op, Op::Copy(_) | Op::Shard(_)) {
        for source in sources.iter_mut().filter(|source| source.is_file()) {
            *source = source.copy_to(&Device::host())?;
        }
    }
    Ok(sources)
}

/// The operands of `op`, of which some are laid out anew so that each device can compute its share; nothing
/// where all are as they have to be, or never will be.
pub(super) fn laid_out_for(op: &Op, sources: &[UOp]) -> Result<Option<Sources>, GraphError> {
    let moves = matches!(
        op,
        Op::Shard(_)
            | Op::Multi(_)
            | Op::Part(..)
            | Op::Copy(_)
            | Op::Loop(..)
            | Op::Host(..)
            | Op::Derived(..)
            | Op::After
    );
    let Some(sharding) = sources.iter().find_map(UOp::sharding).filter(|_| !moves) else { return Ok(None) };
    let here = |s: &UOp| s.place().is_none() || s.sharding().is_some_and(|of| of.devices() == sharding.devices());
    let fit = |sources: &[UOp]| {
        let splits: Splits = sources.iter().map(|s| s.sharding()?.split()).collect();
        splits.iter().all(Option::is_none) || split(op, sources, &splits).is_ok()
    };
    if !sources.iter().all(here) || op.infer(sources).is_err() || fit(sources) {
        return Ok(None);
    }
    let anew = |which: &dyn Fn(usize) -> bool, to: &Arc<Sharding>| -> Result<Sources, GraphError> {
        let one = |(i, s): (usize, &UOp)| match s.sharding().and_then(|of| of.split()) {
            Some(_) if which(i) => relaid(s, to),
            _ => Ok(s.clone()),
        };
        sources.iter().enumerate().map(one).collect()
    };
    let whole = sharding.with_split(None);
    let first = sources.iter().filter_map(UOp::sharding).find(|of| of.split().is_some());
    if let Some(first) = first.filter(|_| op.is_elementwise()) {
        return anew(&|_| true, first).map(Some);
    }
    for i in 0..sources.len() {
        let one = anew(&|at| at == i, &whole)?;
        if fit(&one) {
            return Ok(Some(one));
        }
    }
    anew(&|_| true, &whole).map(Some)
}

/// A value in another layout over its devices.
fn relaid(value: &UOp, to: &Arc<Sharding>) -> Result<UOp, GraphError> {
    let (mut below, mut to, mut above) = (value.clone(), to.clone(), Vec::new());
    while let Some(source) = below.source().filter(|s| s.sharding().is_some_and(|of| of.devices() == to.devices()))
        && let Some(split) = before(below.op(), &source, below.shape(), to.split())
    {
        to = to.with_split(split);
        above.push(below.op().clone());
        below = source;
    }
    above.into_iter().rev().try_fold(below.shard(&to)?, |value, op| UOp::new(op, &[value]))
}

/// How the operand is to be split so that the result is, or each device can take its own part of it; nothing where that
/// would move more, or is not known.
fn before(op: &Op, source: &UOp, shape: &[Size], split: Option<&Split>) -> Option<Option<Split>> {
    let as_many = matches!(op, Op::Permute(_) | Op::Reshape(_) | Op::Expand(_));
    if !as_many && !matches!(op, Op::Cast(to) if to.bytes() >= source.dtype().bytes()) {
        return None;
    }
    let Some(split) = split else { return Some(None) };
    match op {
        Op::Permute(axes) => Some(Some(split.along(axes[split.axis]))),
        Op::Reshape(_) => reshaped(shape, source.shape(), split).map(Some),
        Op::Expand(_) => {
            let own = split.axis.checked_sub(shape.len() - source.rank());
            Some(own.filter(|own| source.shape()[*own] == shape[split.axis]).map(|own| split.along(own)))
        }
        _ => Some(Some(split.clone())),
    }
}
