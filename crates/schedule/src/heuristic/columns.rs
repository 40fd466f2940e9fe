//! Folds across rows of memory: sums of columns, a vector times a matrix.
//!
//! Memory is contiguous along an axis that is kept, and the fold goes from row to row. Each step takes
//! a few rows of a chunk of columns, whose accumulators stay in the first-level cache, so that memory
//! is read in long runs.

use super::cost::{cost, extent, round, round_up};
use super::rows::{simple_fold, stage_vector};
use super::{Choice, TASK};
use crate::contraction::stage_axes;
use crate::lower::LONGEST_SUM;
use crate::opt::{LoopRef, Opt, Tail, To};
use svod_ir::kernel::{AxisId, Body, Emit, Out};

/// Rows of memory that one step takes.
const ROWS: i64 = 8;
/// Columns of a chunk, in vectors: long runs of memory, and accumulators that leave room for them.
const FEWEST_VECTORS: i64 = 32;
const MOST_VECTORS: i64 = 128;
/// Tasks of one kernel at most.
const MAX_TASKS: i64 = 256;

impl Choice<'_> {
    /// Chooses for a fold across rows, alone or with one map of its results; says whether the kernel
    /// is of that kind.
    pub(super) fn columns(&mut self) -> bool {
        let k = self.kernel;
        let out = k.stages.len() - 1;
        if out > 1 || !simple_fold(k, 0) {
            return false;
        }
        let Body::Fold { axes, emit: Emit::Last, .. } = &k.stages[0].body else { return false };
        let over = &k.stages[out].over;
        let mapped = out == 0 || (matches!(k.stages[1].body, Body::Map(_)) && k.stages[0].over == *over);
        let Some(column) = stage_vector(k, 0).filter(|a| over.contains(a) && k.stages[0].over.contains(a)) else {
            return false;
        };
        let (n, lanes) = (extent(k, column), self.lanes(0));
        let depth: i64 = axes.iter().map(|a| extent(k, *a)).fold(1, i64::saturating_mul);
        let several = matches!(k.stages[out].outs[..], [Out::Param { .. }]);
        if !mapped || !several || n < 4 * lanes || depth < ROWS || stage_vector(k, out) != Some(column) {
            return false;
        }

        let points = over.iter().map(|a| extent(k, *a)).fold(depth, i64::saturating_mul);
        let mut left = (points.saturating_mul(cost(k)) / TASK).clamp(1, MAX_TASKS);
        let mut tasks = Vec::new();
        let mut serial = Vec::new();
        for axis in over.iter().filter(|a| **a != column) {
            let at = self.at(out, *axis, 0);
            if left > 1 {
                let block = (extent(k, *axis) + left - 1) / left;
                self.split(at.clone(), block, Tail::Rest);
                tasks.push(at.clone());
                serial.push(LoopRef { part: 1, ..at });
                left = left * block / extent(k, *axis).max(1);
            } else {
                serial.push(at);
            }
        }
        let fewest = (FEWEST_VECTORS * lanes).min(round_up(n, lanes));
        let block = round(n, (n / left.max(1)).clamp(fewest, MOST_VECTORS * lanes), lanes);
        let at = self.at(out, column, 0);
        self.split(at.clone(), block, Tail::Rest);
        if left > 1 && serial.is_empty() {
            tasks.push(at.clone());
        } else {
            serial.push(at.clone());
        }
        let outer: Vec<LoopRef> = tasks.iter().chain(&serial).cloned().collect();
        if out == 0 {
            self.fold_across(column, block, lanes, 1, outer, &tasks);
            return true;
        }
        let inner = LoopRef { part: 1, ..at.clone() };
        self.split(inner.clone(), lanes, Tail::Rest);
        let vector = LoopRef { part: 2, ..at.clone() };
        let order = outer.into_iter().chain([inner, vector.clone()]).collect();
        self.opts.push(Opt::Reorder { stage: k.stages[out].name.clone(), order });
        tasks.into_iter().for_each(|task| self.bind(task, To::Task));
        self.bind(vector, To::Vector);
        self.opts.push(Opt::At { stage: k.stages[0].name.clone(), at });
        let kept = k.stages[0].over.iter().filter(|a| **a != column).map(|a| self.at(0, *a, 0)).collect();
        self.fold_across(column, block, lanes, 0, kept, &[]);
        true
    }

    /// The loops of the fold, inside `outer`: chunks of columns from part `part` of their axis on, rows,
    /// vectors of a chunk, and in each a few rows.
    fn fold_across(
        &mut self,
        column: AxisId,
        chunk: i64,
        lanes: i64,
        part: u32,
        outer: Vec<LoopRef>,
        tasks: &[LoopRef],
    ) {
        let k = self.kernel;
        let mut folded: Vec<LoopRef> =
            stage_axes(k, 0).into_iter().filter(|a| !k.stages[0].over.contains(a)).map(|a| self.at(0, a, 0)).collect();
        let (Some(row), Some(axis)) = (folded.last().cloned(), stage_axes(k, 0).last().copied()) else { return };
        let at = self.at(0, column, part);
        self.split(at.clone(), chunk, Tail::Rest);
        let vectors = LoopRef { part: part + 1, ..at.clone() };
        self.split(vectors.clone(), lanes, Tail::Rest);
        let (mut rows, vector) = (row.clone(), LoopRef { part: part + 2, ..at.clone() });
        let depth = extent(k, axis);
        if depth > LONGEST_SUM {
            // Blocks of rows, at whose ends accumulators cascade.
            self.split(rows.clone(), (depth.isqrt() as u64).next_power_of_two() as i64, Tail::Rest);
            rows = LoopRef { part: 1, ..row };
            folded.push(rows.clone());
        }
        self.split(rows.clone(), ROWS, Tail::Rest);
        rows.part += 1;
        let mut order = outer;
        order.push(at);
        order.append(&mut folded);
        order.extend([vectors, rows.clone(), vector.clone()]);
        self.opts.push(Opt::Reorder { stage: k.stages[0].name.clone(), order });
        tasks.iter().for_each(|task| self.bind(task.clone(), To::Task));
        self.bind(rows, To::Unroll);
        self.bind(vector, To::Vector);
    }
}
