//! Expressions of numbers alone: they are computed where they are read, as rules of rewriting fold them, and need no kernel.
//!
//! A program that iterates with numbers, such as Newton's method, would have a kernel compiled for each value that it reads.

use svod_dtype::Const;
use svod_ir::graph::outline::uniform;
use svod_ir::graph::{Graph, Op, UOp};

use crate::error::Result;

/// What every element of an expression of numbers is; none of any other one. The single numbers that handles name on the way
/// become constants, so that the next read, of what a program has made of them, begins there.
pub(crate) fn constant(node: &UOp) -> Result<Option<Const>> {
    if let Some(value) = node.uniform() {
        return Ok(Some(value));
    }
    if node.trace() != 0 || node.is_watched() || !begins_with_number(node) {
        return Ok(None);
    }
    let graph = Graph::new(std::slice::from_ref(node));
    let values = uniform(&graph);
    let Some(value) = values[graph.roots()[0] as usize] else { return Ok(None) };
    for (node, value) in graph.nodes().iter().zip(values) {
        let Some(value) = value.filter(|_| node.rank() == 0 && node.is_named()) else { continue };
        if let Some(claim) = node.try_claim() {
            claim.force(UOp::constant(value)?)?;
        }
    }
    Ok(Some(value))
}

/// Whether what is found below a node, along its first operands, is a number: most expressions of memory end here.
fn begins_with_number(node: &UOp) -> bool {
    let mut node = node.resolved();
    loop {
        match node.op() {
            Op::Const(_) => return true,
            Op::Alu(_) | Op::Cast(_) | Op::Bitcast(_) => {}
            op if op.is_movement() && !matches!(op, Op::Pad(..)) => {}
            _ => return false,
        }
        let Some(first) = node.sources().first().cloned() else { return false };
        node = first;
    }
}
