//! Values that are made anew: the same expressions, over others in place of what they follow from.

use rustc_hash::FxHashMap;
use svod_ir::graph::{Op, Sources, UOp};

use super::iteration::Number;
use super::walk::origin;
use crate::error::Result;

/// What takes the place of what an expression was written over.
pub struct Now<'a> {
    /// What it follows from.
    pub operands: &'a [UOp],
    /// The numbers of iterations around it.
    pub numbers: &'a [Number],
}

/// A node, what computed it, and of what.
pub struct Place {
    pub node: UOp,
    pub op: Op,
    pub sources: Sources,
}

/// The nodes of the graph of some values that follow from some others, or that are others in iterations of these numbers,
/// operands first. Nothing below `ends` is looked at.
pub fn inside(values: &[UOp], from: &[UOp], ends: &[UOp], numbers: &[Number]) -> Vec<Place> {
    enum Visit {
        Open(UOp),
        Close(Place),
    }
    // Whether what was looked at follows from them.
    let mut follows: FxHashMap<u64, bool> = ends.iter().map(|node| (node.resolved().id(), false)).collect();
    follows.extend(from.iter().map(|node| (node.resolved().id(), true)));
    let changes = |op: &Op| !numbers.is_empty() && Number::all_of(numbers, op).map_or(true, |other| other != *op);
    let mut work: Vec<Visit> = values.iter().rev().map(|value| Visit::Open(value.resolved())).collect();
    let mut found = Vec::new();
    while let Some(visit) = work.pop() {
        match visit {
            Visit::Open(node) if follows.contains_key(&node.id()) => {}
            Visit::Open(node) => {
                follows.insert(node.id(), false);
                let origin = origin(&node);
                let (op, sources) = (origin.op().clone(), origin.sources());
                let below: Vec<Visit> = sources.iter().rev().map(|s| Visit::Open(s.resolved())).collect();
                work.push(Visit::Close(Place { node, op, sources }));
                work.extend(below);
            }
            Visit::Close(place) => {
                if changes(&place.op) || place.sources.iter().any(|s| follows[&s.resolved().id()]) {
                    follows.insert(place.node.id(), true);
                    found.push(place);
                }
            }
        }
    }
    found
}

/// What these values, written over `own`, are now. What lies between is made anew; all else stays as it is.
///
/// # Errors
/// Steps that read the number of an iteration around them.
pub fn remade(values: &[UOp], own: &[UOp], now: &Now<'_>) -> Result<Vec<UOp>> {
    // An equal constant elsewhere is the same node, and none that follows from an operand.
    let is_other = |(own, now): &(&UOp, &UOp)| {
        own.resolved().id() != now.resolved().id() && (own.is_watched() || own.uniform().is_none())
    };
    let (own, others): (Vec<UOp>, Vec<UOp>) =
        own.iter().zip(now.operands).filter(is_other).map(|(own, now)| (own.clone(), now.clone())).unzip();
    if own.is_empty() && now.numbers.is_empty() {
        return Ok(values.to_vec());
    }
    again(values, inside(values, &own, &[], now.numbers), own.iter().zip(&others), now.numbers)
}

/// The values with these places computed once more, where some nodes are others and the numbers of iterations are these.
///
/// # Errors
/// As [`remade`].
pub fn again<'a>(
    values: &[UOp],
    places: Vec<Place>,
    others: impl Iterator<Item = (&'a UOp, &'a UOp)>,
    numbers: &[Number],
) -> Result<Vec<UOp>> {
    let mut made: FxHashMap<u64, UOp> = others.map(|(own, other)| (own.resolved().id(), other.clone())).collect();
    for Place { node, op, sources } in places {
        let sources: Vec<UOp> = sources.iter().map(|s| made.get(&s.resolved().id()).unwrap_or(s).clone()).collect();
        let other = UOp::new(Number::all_of(numbers, &op)?, &sources)?;
        other.inherit_origin(&node);
        made.insert(node.id(), other);
    }
    Ok(values.iter().map(|value| made.get(&value.resolved().id()).unwrap_or(value).clone()).collect())
}
