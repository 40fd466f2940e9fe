//! Long sums, block by block.
//!
//! Added up one after the other, n numbers of like size lose up to n units in the last place. A
//! cascade of two levels loses about 2 √n: an accumulator takes the numbers of one block, and its
//! sum is added to a total where the block ends. With the lanes of a vectorized reduction that makes
//! sums as accurate as pairwise ones. See Higham, The accuracy of floating point summation (1993).
//!
//! Sums of numbers far from zero are all off in one direction, by up to an eighth of a unit for each
//! addition: totals of binary32 are binary64, which costs something only at the end of a block.

use super::reduction::{Accumulators, entered, places, points, rounds};
use super::{Lowerer, Nest};
use crate::apply::{LoopState, Runs};
use crate::costs::limits::{registers, sums};
use crate::reduction::accumulator::{cascades, longest_sum, totalled_in};
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::expr::Mem;
use svod_ir::kernel::{AxisId, Carry};
use svod_ir::lowered::Stmt;

/// Where the blocks of a sum end, and what their sums are added to.
pub(super) struct Cascade {
    /// Which of the nest's loops it is of which each round is a block, and its axis and part.
    pub position: usize,
    pub at: (AxisId, u32),
    pub totals: Accumulators,
}

impl Lowerer<'_> {
    /// The cascade that the loops of a reduction allow, if it is worth one: at the loop that leaves the
    /// fewest additions to its busiest accumulator. Inside of a kept loop there, each of whose rounds then has
    /// accumulators for itself.
    pub(super) fn cascade(&mut self, nest: &Nest, carries: &[Carry], loops: &[(LoopState, u64)]) -> Option<Cascade> {
        if self.s.strict || !cascades(carries) {
            return None;
        }
        let reduced = |l: &LoopState| self.reduces(nest.stage, l.axis);
        let serial: Vec<usize> =
            (0..nest.loops.len()).filter(|i| reduced(&nest.loops[*i]) && !nest.loops[*i].rfactor).collect();
        let rounds: Vec<i64> = serial
            .iter()
            .map(|i| {
                let points = points(nest, *i).upper_bound().unwrap_or(i64::MAX).max(1) as u64;
                points.div_ceil(nest.loops[*i].step) as i64
            })
            .collect();
        let product = |of: &[i64]| of.iter().fold(1, |n: i64, r| n.saturating_mul(*r));
        let total = product(&rounds);
        let exprs = &self.s.kernel.exprs;
        if total <= longest_sum(exprs, carries) {
            return None;
        }
        let busiest = |n: usize| product(&rounds[..=n]).max(product(&rounds[n + 1..]));
        let blocks = (0..rounds.len()).filter(|n| nest.loops[serial[*n]].runs == Runs::Serial);
        let best = blocks.min_by_key(|n| busiest(*n)).filter(|n| busiest(*n) <= total / 2)?;
        // What is laid out shares its loads, so that stores in between would cost them again.
        let kept = |l: &&LoopState| !reduced(l) && l.runs == Runs::Serial;
        let position = serial[best] + nest.loops[serial[best] + 1..].iter().take_while(kept).count();
        let own = |(l, _): &&(LoopState, u64)| {
            let inside = nest.loops[position + 1..].iter().any(|i| (i.axis, i.part) == (l.axis, l.part));
            inside && l.runs == Runs::Unroll
        };
        let sums: u64 = loops.iter().filter(own).map(|(_, n)| n).product();
        if total <= sums::LONGEST && sums > registers::SUMS_IN_FLIGHT as u64 {
            return None;
        }
        let at = &nest.loops[position];
        let at = (at.axis, at.part);
        let dtypes = totalled_in(exprs, carries);
        // A block's sums side by side become one first: fewer totals, that need not leave their registers.
        let of_totals = loops.iter().filter(|l| !(l.0.rfactor && own(l))).cloned().collect();
        let totals = self.allocate(nest, dtypes, of_totals, false, ["_total", "_total_tail", ""]);
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
            let place_in = |of: &[(LoopState, u64)], l: &LoopState| {
                of.iter().position(|(i, _)| (i.axis, i.part) == (l.axis, l.part))
            };
            let kept: Vec<(LoopState, u64)> =
                inner.iter().filter(|(l, _)| place_in(&all, l).is_some()).cloned().collect();
            body.extend(self.over(nest.stage, &kept, &mut |this, at| {
                let counter = |l: &LoopState| place_in(&kept, l).map(|i| at[i].clone());
                let from = places(&inner, |l, n| counter(l).map_or_else(|| rounds(n), |at| vec![at]));
                let to = places(&all, |l, _| vec![counter(l).unwrap_or_else(|| entered(nest, l))]).swap_remove(0);
                let to = this.indices(&to);
                let add = |(((part, whole), carry), dtype): (((&_, &_), &Carry), &DType)| {
                    let part = this.tree(carry, carry.dtype, *part, &from);
                    let pool = &mut this.phase.exprs;
                    let part = pool.cast(*dtype, part);
                    let old = pool.load(*dtype, Mem::Temp(*whole, 0), &to);
                    let value = pool.alu(carry.op.alu().unwrap_or(Alu::Add), &[old, part]);
                    Stmt::Store { to: Mem::Temp(*whole, 0), index: to.clone(), value, valid: None }
                };
                parts.iter().zip(wholes).zip(carries).zip(&totals.dtypes).map(add).collect()
            }));
        }
        body
    }
}
