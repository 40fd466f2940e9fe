//! Values that are computed again for their derivatives, instead of being kept (Griewank and Walther 2000; Chen et al. 2016).
//!
//! A derivative needs values that were computed on the way forward. Between the arguments and the result of a
//! checkpointed function these are made anew: the same expressions over [`Op::After`] of the arguments, which nothing reads
//! before the cotangent of the result is there. So they are other nodes, computed later, and memory for the first ones is free
//! in between. What follows from no argument is used as it is.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use svod_ir::graph::{Op, Sources, UOp};

use super::given::{Pulled, derived};
use super::walk::{Target, Walk, origin};
use crate::error::Result;
use crate::tensor::Tensor;

impl Tensor {
    /// This value, a function's of some arguments: its derivatives compute what lies between again. The value
    /// itself where nothing does.
    ///
    /// # Errors
    /// None that a program could make.
    pub fn checkpointed(&self, name: &str, arguments: &[&Tensor]) -> Result<Tensor> {
        let value = self.uop();
        if !value.dtype().is_inexact() {
            return Ok(self.clone());
        }
        let mut operands: Vec<UOp> = Vec::new();
        for argument in arguments.iter().map(|argument| argument.uop()).filter(|node| node.uniform().is_none()) {
            if !operands.iter().any(|known| same(known, &argument)) {
                operands.push(argument);
            }
        }
        let count = operands.len();
        if !beside(&value, &mut operands) {
            return Ok(self.clone());
        }
        let (of, own) = (value.clone(), operands.clone());
        let pull = move |g: &Tensor, now: &[UOp]| -> Pulled {
            pulled(&of, &own, now, count, &g.uop()).map_err(|error| Arc::new(error) as _)
        };
        Ok(Tensor::from_uop(derived(name, &value, &operands, pull)?))
    }
}

fn same(a: &UOp, b: &UOp) -> bool {
    a.resolved().id() == b.resolved().id()
}

/// A node, what computed it, and of what.
struct Place {
    node: UOp,
    op: Op,
    sources: Sources,
}

/// The nodes of a value's graph that follow from some others, operands first.
fn inside(value: &UOp, from: &[UOp]) -> Vec<Place> {
    enum Visit {
        Open(UOp),
        Close(Place),
    }
    // Whether what was looked at follows from them.
    let mut follows: FxHashMap<u64, bool> = from.iter().map(|node| (node.resolved().id(), true)).collect();
    let (mut found, mut work) = (Vec::new(), vec![Visit::Open(value.resolved())]);
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
                if place.sources.iter().any(|s| follows[&s.resolved().id()]) {
                    follows.insert(place.node.id(), true);
                    found.push(place);
                }
            }
        }
    }
    found
}

/// Adds to the arguments of a value what else it is computed of that may have a derivative; says whether there is
/// anything between it and them.
fn beside(value: &UOp, operands: &mut Vec<UOp>) -> bool {
    let inside = inside(value, operands);
    let own = inside.iter().map(|place| &place.node).chain(&*operands).map(|node| node.resolved().id());
    let mut known: FxHashSet<u64> = own.collect();
    for source in inside.iter().flat_map(|place| &place.sources).map(UOp::resolved) {
        if source.dtype().is_inexact() && source.uniform().is_none() && known.insert(source.id()) {
            operands.push(source);
        }
    }
    !inside.is_empty()
}

/// The cotangents of operands, the first `count` of which are the arguments: what lies between these and the value is
/// computed anew, of the operands that there are `now`.
fn pulled(value: &UOp, own: &[UOp], now: &[UOp], count: usize, g: &UOp) -> Result<Vec<Option<Tensor>>> {
    let mut operands = now.to_vec();
    for argument in &mut operands[..count] {
        *argument = argument.after(g)?;
    }
    let others = own.iter().zip(&operands).map(|(own, other)| (own.resolved().id(), other.clone()));
    let mut made: FxHashMap<u64, UOp> = others.collect();
    for Place { node, op, sources } in inside(value, &own[..count]) {
        let sources: Vec<UOp> = sources.iter().map(|s| made.get(&s.resolved().id()).unwrap_or(s).clone()).collect();
        let again = UOp::new(op, &sources)?;
        again.inherit_origin(&node);
        made.insert(node.id(), again);
    }
    let Some(again) = made.remove(&value.resolved().id()) else { return Ok(vec![None; own.len()]) };
    let differentiable = operands.iter().filter(|node| node.dtype().is_inexact());
    let targets: Vec<Target> = differentiable.map(Target::of).collect();
    let found = Walk::down_to(std::slice::from_ref(&again), &targets)?.pull(&[(again, g.clone())], &targets)?;
    let mut found = found.into_iter();
    let mut one = |node: &UOp| if node.dtype().is_inexact() { found.next().flatten() } else { None };
    Ok(operands.iter().map(|node| one(node).map(Tensor::from_uop)).collect())
}
