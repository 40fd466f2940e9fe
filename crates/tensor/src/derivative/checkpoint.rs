//! Values that are computed again for their derivatives, instead of being kept (Griewank and Walther 2000; Chen et al. 2016).
//!
//! A derivative needs values that were computed on the way forward. Between the arguments and the result of a
//! checkpointed function these are made anew: the same expressions over [`Op::After`] of the arguments, which nothing reads
//! before the cotangent of the result is there. So they are other nodes, computed later, and memory for the first ones is free
//! in between. What follows from no argument is used as it is.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use svod_ir::graph::UOp;

use super::given::{Pulled, derived};
use super::remade::{Now, again, inside};
use super::walk::{Target, Walk};
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
        let pull = move |g: &Tensor, now: &Now<'_>| -> Pulled {
            pulled(&of, &own, now, count, &g.uop()).map_err(|error| Arc::new(error) as _)
        };
        Ok(Tensor::from_uop(derived(name, &value, &operands, pull)?))
    }
}

fn same(a: &UOp, b: &UOp) -> bool {
    a.resolved().id() == b.resolved().id()
}

/// Adds to the arguments of a value what else it is computed of that may have a derivative, or is another in each iteration of
/// a loop; says whether there is anything between it and them.
fn beside(value: &UOp, operands: &mut Vec<UOp>) -> bool {
    let inside = inside(std::slice::from_ref(value), operands, &[], &[]);
    let own = inside.iter().map(|place| &place.node).chain(&*operands).map(|node| node.resolved().id());
    let mut known: FxHashSet<u64> = own.collect();
    for source in inside.iter().flat_map(|place| &place.sources).map(UOp::resolved) {
        let may_differ = source.dtype().is_inexact() && source.uniform().is_none() || source.trace() != 0;
        if may_differ && known.insert(source.id()) {
            operands.push(source);
        }
    }
    !inside.is_empty()
}

/// The cotangents of operands, the first `count` of which are the arguments: what lies between these and the value is
/// computed anew, of the operands that there are `now`.
fn pulled(value: &UOp, own: &[UOp], now: &Now<'_>, count: usize, g: &UOp) -> Result<Vec<Option<Tensor>>> {
    let mut operands = now.operands.to_vec();
    for argument in &mut operands[..count] {
        *argument = argument.after(g)?;
    }
    let value = std::slice::from_ref(value);
    let between = inside(value, &own[..count], &own[count..], now.numbers);
    let again = again(value, between, own.iter().zip(&operands), now.numbers)?.swap_remove(0);
    let differentiable = operands.iter().filter(|node| node.dtype().is_inexact());
    let targets: Vec<Target> = differentiable.map(Target::of).collect();
    let found = Walk::down_to(std::slice::from_ref(&again), &targets)?.pull(&[(again, g.clone())], &targets)?;
    let mut found = found.into_iter();
    let mut one = |node: &UOp| if node.dtype().is_inexact() { found.next().flatten() } else { None };
    Ok(operands.iter().map(|node| one(node).map(Tensor::from_uop)).collect())
}
