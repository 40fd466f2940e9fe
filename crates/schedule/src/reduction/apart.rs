//! A sum of several products of matrices, each of which is a sum of its own.
//!
//! A value that several products take has one cotangent of them all: where the products repeat it to the same dimensions, one
//! sum of all their elements. No tile of a product computes that.
//!
//! ```text
//! sum(a·b + c·d + rest)  =  sum(a·b) + sum(c·d) + sum(rest)
//! ```

use crate::costs::limits::{kernels, registers};
use svod_ir::alu::Alu;
use svod_ir::graph::{GraphError, Op, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::rewrite::own_dimensions;

/// The sums one by one, where at least one of the terms is a product of matrices.
pub(super) fn products_apart(node: &UOp, reduced: &[usize]) -> Result<Option<UOp>, GraphError> {
    let Some(source) = node.source().filter(|s| *s.op() == Op::Alu(Alu::Add) && s.dtype().is_float()) else {
        return Ok(None);
    };
    let Some(terms) = terms(&source) else { return Ok(None) };
    let (products, rest): (Vec<UOp>, Vec<UOp>) = terms.into_iter().partition(|term| is_product(term, reduced));
    if products.is_empty() {
        return Ok(None);
    }
    let add = |a: UOp, b: UOp| UOp::alu(Alu::Add, &[a, b]);
    let mut rest = rest.into_iter();
    let rest = match rest.next() {
        Some(first) => Some(rest.try_fold(first, add)?),
        None => None,
    };
    let sums = products.iter().chain(&rest).map(|term| term.reduce(Monoid::Sum, reduced));
    let sums = sums.collect::<Result<Vec<UOp>, _>>()?;
    sums.into_iter().map(Ok).reduce(|a, b| add(a?, b?)).transpose()
}

/// What a value is the sum of; nothing where that is much.
fn terms(sum: &UOp) -> Option<Vec<UOp>> {
    let (mut open, mut found) = (vec![sum.clone()], Vec::new());
    while let Some(node) = open.pop() {
        match node.op() {
            Op::Alu(Alu::Add) => open.extend(node.sources().into_iter().rev()),
            _ => found.push(node),
        }
        if open.len() + found.len() > kernels::MAX_SEEN {
            return None;
        }
    }
    Some(found)
}

/// Whether the sum of a value is a product of matrices that has tiles: some rows and some columns.
fn is_product(term: &UOp, reduced: &[usize]) -> bool {
    if *term.op() != Op::Alu(Alu::Mul) {
        return false;
    }
    let own: Vec<Vec<usize>> = term.sources().iter().map(own_dimensions).collect();
    let [a, b] = &own[..] else { return false };
    let kept = |of: &[usize], other: &[usize]| {
        let dims = of.iter().filter(|d| !reduced.contains(d) && !other.contains(d));
        dims.fold(1i64, |n, d| n.saturating_mul(term.shape()[*d].upper_bound().unwrap_or(i64::MAX)))
    };
    reduced.iter().any(|d| a.contains(d) && b.contains(d)) && kept(a, b).min(kept(b, a)) >= registers::FEWEST_LANES
}
