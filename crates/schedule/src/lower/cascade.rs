//! Long sums, block by block.
//!
//! Added up one after the other, n numbers of like size lose up to n units in the last place. A
//! cascade of two levels loses about 2 √n: an accumulator takes the numbers of one block, and its
//! sum is added to a total where the block ends. With the lanes of a vectorized fold that makes
//! sums as accurate as pairwise ones. See Higham, The accuracy of floating point summation (1993).

use super::fold::{Accumulators, entered, points};
use super::{Lowerer, Nest};
use crate::apply::{LoopState, Runs};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, Mem};
use svod_ir::kernel::{AxisId, Carry, Monoid};
use svod_ir::lowered::Stmt;
use svod_ir::size::Size;

/// Additions that one accumulator takes without a cascade.
pub(crate) const LONGEST_SUM: i64 = 128;
/// As [`LONGEST_SUM`], of products: libraries add those up in fours and eights before they are added to a sum.
const LONGEST_SUM_OF_PRODUCTS: i64 = 12;
/// Sums side by side for which a cascade of so few products is worth it: more have no registers in a block.
const SIDE_BY_SIDE: u64 = 12;

/// Where the blocks of a sum end, and what their sums are added to.
pub(super) struct Cascade {
    /// Which of the nest's loops it is of which each round is a block, and its axis and part.
    pub position: usize,
    pub at: (AxisId, u32),
    pub totals: Accumulators,
}

/// Whether the order of additions matters, and is free.
pub(crate) fn cascades(carries: &[Carry]) -> bool {
    let long = |c: &Carry| c.op == Monoid::Sum && c.dtype.is_float();
    carries.iter().any(long) && carries.iter().all(Carry::is_plain)
}

impl Lowerer<'_> {
    /// The cascade that the loops of a fold allow, if it is worth one: at the loop that leaves the
    /// fewest additions to its busiest accumulator. Inside of a kept loop there, each of whose rounds then has
    /// accumulators for itself.
    pub(super) fn cascade(&mut self, nest: &Nest, carries: &[Carry], loops: &[(LoopState, u64)]) -> Option<Cascade> {
        if self.s.strict || !cascades(carries) {
            return None;
        }
        let folded = |l: &LoopState| self.folds(nest.stage, l.axis);
        let serial: Vec<usize> =
            (0..nest.loops.len()).filter(|i| folded(&nest.loops[*i]) && !nest.loops[*i].rfactor).collect();
        let rounds: Vec<i64> = serial
            .iter()
            .map(|i| {
                let points = points(nest, *i).upper_bound().unwrap_or(i64::MAX).max(1) as u64;
                points.div_ceil(nest.loops[*i].step) as i64
            })
            .collect();
        let product = |of: &[i64]| of.iter().fold(1, |n: i64, r| n.saturating_mul(*r));
        let total = product(&rounds);
        let of_products = |c: &Carry| matches!(self.s.kernel.exprs.get(c.element), Expr::Alu(Alu::Mul, _));
        let longest = if carries.iter().all(of_products) { LONGEST_SUM_OF_PRODUCTS } else { LONGEST_SUM };
        if total <= longest {
            return None;
        }
        let busiest = |n: usize| product(&rounds[..=n]).max(product(&rounds[n + 1..]));
        let blocks = (0..rounds.len()).filter(|n| nest.loops[serial[*n]].runs == Runs::Serial);
        let best = blocks.min_by_key(|n| busiest(*n)).filter(|n| busiest(*n) <= total / 2)?;
        // What is laid out shares its loads, so that stores in between would cost them again.
        let kept = |l: &&LoopState| !folded(l) && l.runs == Runs::Serial;
        let position = serial[best] + nest.loops[serial[best] + 1..].iter().take_while(kept).count();
        let own = |(l, _): &&(LoopState, u64)| {
            let inside = nest.loops[position + 1..].iter().any(|i| (i.axis, i.part) == (l.axis, l.part));
            inside && l.runs == Runs::Unroll
        };
        let sums: u64 = loops.iter().filter(own).map(|(_, n)| n).product();
        if total <= LONGEST_SUM && sums > SIDE_BY_SIDE {
            return None;
        }
        let at = &nest.loops[position];
        let at = (at.axis, at.part);
        let totals = self.allocate(nest, carries, loops.to_vec(), false, ["_total", "_total_tail", ""]);
        Some(Cascade { position, at, totals })
    }

    /// Combines the accumulators of a block with the totals.
    pub(super) fn end_of_block(
        &mut self,
        nest: &Nest,
        carries: &[Carry],
        acc: &Accumulators,
        totals: &Accumulators,
    ) -> Vec<Stmt> {
        let mut body = Vec::new();
        for ((parts, inner), (wholes, all)) in acc.sets().zip(totals.sets()) {
            body.extend(self.over(nest.stage, &inner, &mut |this, at| {
                let counter = |l: &LoopState| {
                    let inside = inner.iter().position(|(i, _)| (i.axis, i.part) == (l.axis, l.part));
                    inside.map_or_else(|| entered(nest, l), |i| at[i].clone())
                };
                let mut place: Vec<Size> = all.iter().map(|(l, _)| counter(l)).collect();
                if place.is_empty() {
                    place.push(Size::ZERO);
                }
                let [from, to] = [at, &place].map(|at| this.indices(at));
                let add = |((part, whole), carry): ((&_, &_), &Carry)| {
                    let pool = &mut this.phase.exprs;
                    let part = pool.load(carry.dtype, Mem::Temp(*part, 0), &from);
                    let old = pool.load(carry.dtype, Mem::Temp(*whole, 0), &to);
                    let value = pool.alu(carry.op.alu().unwrap_or(Alu::Add), &[old, part]);
                    Stmt::Store { to: Mem::Temp(*whole, 0), index: to.clone(), value, valid: None }
                };
                parts.iter().zip(wholes).zip(carries).map(add).collect()
            }));
        }
        body
    }
}
