//! Long sums, block by block.
//!
//! Added up one after the other, n numbers of like size lose up to n units in the last place. A
//! cascade of two levels loses about 2 √n: an accumulator takes the numbers of one block, and its
//! sum is added to a total where the block ends. With the lanes of a vectorized fold that makes
//! sums as accurate as pairwise ones. See Higham, The accuracy of floating point summation (1993).

use super::fold::{Accumulators, points};
use super::{Lowerer, Nest};
use crate::apply::Runs;
use svod_ir::alu::Alu;
use svod_ir::expr::Mem;
use svod_ir::kernel::{AxisId, Carry, Monoid};
use svod_ir::lowered::Stmt;

/// Additions that one accumulator takes without a cascade.
pub(crate) const LONGEST_SUM: i64 = 128;

/// Where the blocks of a sum end, and what their sums are added to.
pub(super) struct Cascade {
    /// The axis and part of the loop of which each round is a block.
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
    /// fewest additions to its busiest accumulator.
    pub(super) fn cascade(&mut self, nest: &Nest, carries: &[Carry], acc: &Accumulators) -> Option<Cascade> {
        if self.s.strict || !cascades(carries) {
            return None;
        }
        let serial = |i: &usize| self.folds(nest.stage, nest.loops[*i].axis) && !nest.loops[*i].rfactor;
        let serial: Vec<usize> = (0..nest.loops.len()).filter(serial).collect();
        let rounds: Vec<i64> = serial
            .iter()
            .map(|i| {
                let points = points(nest, *i).upper_bound().unwrap_or(i64::MAX).max(1) as u64;
                points.div_ceil(nest.loops[*i].step) as i64
            })
            .collect();
        let product = |of: &[i64]| of.iter().fold(1, |n: i64, r| n.saturating_mul(*r));
        let total = product(&rounds);
        if total <= LONGEST_SUM {
            return None;
        }
        let busiest = |n: usize| product(&rounds[..=n]).max(product(&rounds[n + 1..]));
        let blocks = (0..rounds.len()).filter(|n| nest.loops[serial[*n]].runs == Runs::Serial);
        let best = blocks.min_by_key(|n| busiest(*n)).filter(|n| busiest(*n) <= total / 2)?;
        let at = &nest.loops[serial[best]];
        let at = (at.axis, at.part);
        let totals = self.allocate(nest, carries, acc.loops.clone(), false, ["_total", "_total_tail", ""]);
        Some(Cascade { at, totals })
    }

    /// Combines the accumulators with the totals, and clears them.
    pub(super) fn end_of_block(
        &mut self,
        nest: &Nest,
        carries: &[Carry],
        acc: &Accumulators,
        totals: &Accumulators,
    ) -> Vec<Stmt> {
        let mut body = Vec::new();
        for ((parts, over), (wholes, _)) in acc.sets().zip(totals.sets()) {
            body.extend(self.over(nest.stage, &over, &mut |this, at| {
                let add = |((part, whole), carry): ((&_, &_), &Carry)| {
                    let index = this.indices(at);
                    let pool = &mut this.phase.exprs;
                    let [part, old] = [*part, *whole].map(|t| pool.load(carry.dtype, Mem::Temp(t, 0), &index));
                    let value = pool.alu(carry.op.alu().unwrap_or(Alu::Add), &[old, part]);
                    Stmt::Store { to: Mem::Temp(*whole, 0), index, value, valid: None }
                };
                parts.iter().zip(wholes).zip(carries).map(add).collect()
            }));
        }
        body.extend(self.initial(nest, carries, acc));
        body
    }
}
