//! Reductions across rows of memory: sums of columns, a vector times a matrix.
//!
//! Memory is contiguous along an axis that is kept, and the reduction goes from row to row. Each step takes
//! a few rows of a chunk of columns, whose accumulators stay in the first-level cache, so that memory
//! is read in long runs. Where there are too few columns to divide among tasks in long runs, tasks are
//! parts of the reduction. A product with few rows is such a reduction, too: all its rows, `together`, take the same
//! vectors of memory.

use super::Choice;
use super::rows::stage_vector;
use super::tasks::{Tasks, worth};
use crate::apply::cut_in_parts;
use crate::costs::limits::tasks::{Division, FEWEST_PARTS};
use crate::costs::limits::{groups, registers};
use crate::kernel::access::{cost, extent, round, round_up};
use crate::kernel::contraction::stage_axes;
use crate::language::{LoopRef, Opt, Tail, To};
use std::cmp::Reverse;
use svod_ir::kernel::{AxisId, Body, Emit, Out};

/// Which axes of a reduction across rows are inside of its tasks.
#[derive(Clone, Copy)]
struct Across {
    /// Along which memory is contiguous.
    column: AxisId,
    /// All of whose points take what is read at one time.
    together: Option<AxisId>,
}

impl Across {
    fn has(&self, axis: AxisId) -> bool {
        axis == self.column || self.together == Some(axis)
    }
}

impl Choice<'_> {
    /// Chooses for a reduction across rows, alone or with one map of its results; says whether the kernel
    /// is of that kind. `together` is an axis that is kept, all points of which take what is read at one time.
    pub(super) fn columns(&mut self, together: Option<AxisId>) -> bool {
        let k = self.kernel;
        let out = k.stages.len() - 1;
        if out > 1 || !k.is_plain_reduction(0) {
            return false;
        }
        let Body::Reduce { axes, emit: Emit::Last, .. } = &k.stages[0].body else { return false };
        let over = &k.stages[out].over;
        let mapped = out == 0 || (matches!(k.stages[1].body, Body::Map(_)) && k.stages[0].over == *over);
        let Some(column) = stage_vector(k, 0).filter(|a| over.contains(a) && k.stages[0].over.contains(a)) else {
            return false;
        };
        let (n, lanes) = (extent(k, column), self.lanes_across(0, column));
        let depth: i64 = axes.iter().map(|a| extent(k, *a)).fold(1, i64::saturating_mul);
        let written = k.stages[out].outs.iter().all(|o| matches!(o, Out::Param { .. }));
        // Columns alone, or of whole warps, and not those of a convolution's lines, say.
        let alone = over.iter().all(|a| *a == column || extent(k, *a) == 1);
        let even = lanes >= groups::WARP && n % lanes == 0;
        let narrow = if self.target.groups.is_some() && (alone || even) { lanes.max(2) } else { 4 * self.lanes(0) };
        if !mapped
            || !written
            || n < narrow
            || lanes < 2
            || depth < registers::STEPS
            || !(together.is_some() || stage_vector(k, out) == Some(column))
        {
            return false;
        }

        let points = over.iter().map(|a| extent(k, *a)).fold(depth, i64::saturating_mul);
        let mut tasks = worth(self.target, points.saturating_mul(cost(k)));
        if self.target.groups.is_some() {
            tasks = tasks.max(Division::of(self.target).results);
        }
        let how = Across { column, together };
        if let Some((axis, by)) = self.parts(&how, axes, tasks) {
            let mut kernel = k.clone();
            if let Ok(cut) = cut_in_parts(&mut kernel, 0, axis, by as u64) {
                let at = self.at(0, axis, 0);
                self.opts.push(Opt::SplitReduction { at, by: by as u64 });
                let parts = kernel.stages.len();
                kernel.stages.push(cut.stage);
                let opts = std::mem::take(&mut self.opts);
                let mut inner = Choice { kernel: &kernel, opts, ..*self };
                inner.across(parts, parts, &how, Some(cut.block), Division::of(self.target).most);
                let tasks = (n / (Division::of(self.target).vectors * lanes)).clamp(1, tasks);
                inner.across(0, out, &Across { together: None, ..how }, None, tasks);
                self.opts = inner.opts;
                return true;
            }
        }
        self.across(0, out, &how, None, tasks);
        true
    }

    /// The axis of the reduction to cut in parts, and points of a part, where its columns do not give enough
    /// tasks that read memory in long runs.
    fn parts(&self, how: &Across, reduced: &[AxisId], tasks: i64) -> Option<(AxisId, i64)> {
        let k = self.kernel;
        let others = k.stages[0].over.iter().filter(|a| !how.has(**a));
        let kept: i64 = others.map(|a| extent(k, *a)).product();
        let columns = (extent(k, how.column) / self.most_columns(how)).max(1);
        let of = |axis: AxisId| self.parts_of(axis, reduced, kept * columns, tasks);
        if self.target.groups.is_none() {
            return reduced.first().and_then(|axis| Some((*axis, of(*axis)?)));
        }
        // The axis with whose parts a task has the fewest rounds.
        let rounds = |(axis, by): &(AxisId, i64)| -> i64 {
            let of = |a: &AxisId| if a == axis { *by } else { extent(k, *a) };
            let inside = |a: &AxisId| (of(a) + registers::STEPS - 1) / registers::STEPS;
            reduced.split_last().map_or(0, |(last, outer)| outer.iter().map(of).product::<i64>() * inside(last))
        };
        let found = reduced.iter().filter_map(|axis| Some((*axis, of(*axis)?)));
        found.min_by_key(|found| (rounds(found), Reverse(extent(k, found.0)), found.0))
    }

    /// Points of an axis of the reduction in a part, if it is to be cut, where so many results have tasks anyway.
    fn parts_of(&self, axis: AxisId, reduced: &[AxisId], results: i64, tasks: i64) -> Option<i64> {
        let k = self.kernel;
        let rows: i64 = reduced.iter().filter(|a| **a != axis).map(|a| extent(k, *a)).product();
        let division = Division::of(self.target);
        let depth = extent(k, axis);
        let most = (tasks / results).min(division.parts_of_rows);
        let of = |rows_of_part: i64| most.min(depth / (rows_of_part / rows).max(1));
        let mut parts = of(division.rows_of_part);
        if self.target.groups.is_some() && parts.saturating_mul(results) < division.results {
            // As many rows in a part as there are parts: neither they nor their sums take longer.
            parts = of((depth.saturating_mul(rows).isqrt() as u64).next_power_of_two() as i64);
        }
        // A few rows are laid out at a time: those of the innermost axis.
        let inside = self.target.groups.is_some() && reduced.last() != Some(&axis);
        let steps = if inside { 1 } else { registers::STEPS };
        (parts >= FEWEST_PARTS).then(|| round(depth, (depth + parts - 1) / parts, steps))
    }

    /// Columns of a vector. Groups of threads divide also those of fewer, evenly.
    fn lanes_across(&self, stage: usize, column: AxisId) -> i64 {
        let (n, lanes) = (extent(self.kernel, column), self.lanes(stage));
        if self.target.groups.is_some() && n < lanes { 1 << n.trailing_zeros() } else { lanes }
    }

    /// Columns of a chunk at most: their accumulators fill half of the first-level cache.
    fn most_columns(&self, how: &Across) -> i64 {
        let bytes = self.target.vector_bytes as i64 / self.lanes(0).max(1);
        let rows = how.together.map_or(1, |axis| extent(self.kernel, axis));
        if self.target.groups.is_some() {
            return self.lanes_across(0, how.column);
        }
        (self.target.l1 as i64 / 2 / bytes.max(1) / rows).max(1)
    }

    /// The loops of a reduction across rows and of the output `out` that it is, or that maps its results.
    /// Tasks are points of the axis `first`, if any, then of the other kept ones, and chunks of columns.
    fn across(&mut self, reduction: usize, out: usize, how: &Across, first: Option<AxisId>, tasks: i64) {
        let k = self.kernel;
        let column = how.column;
        let (n, lanes) = (extent(k, column), self.lanes_across(reduction, column));
        let mut wanted = Tasks { left: tasks };
        let mut tasks = Vec::new();
        let mut serial = Vec::new();
        let groups = self.target.groups.is_some();
        for axis in k.stages[out].over.iter().filter(|a| !how.has(**a)) {
            let at = self.at(out, *axis, 0);
            // Where each point can be a task, no loop is left between it and the tasks that chunks of columns are.
            if Some(*axis) == first || (groups && wanted.left >= extent(k, *axis)) {
                tasks.push(at);
                wanted.left /= extent(k, *axis).max(1);
            } else if let Some(inside) = wanted.cut(self, &at, extent(k, *axis), |even| even) {
                tasks.push(at);
                serial.push(inside);
            } else {
                serial.push(at);
            }
        }
        let most = self.most_columns(how);
        let fewest = (Division::of(self.target).vectors * lanes).min(round_up(n, lanes));
        let each = if first.is_some() { most } else { n / wanted.left.max(1) };
        let block = chunk(n, each.clamp(fewest, most.max(fewest)), lanes);
        let at = self.at(out, column, 0);
        self.split(at.clone(), block, Tail::Rest);
        if wanted.left > 1 && serial.is_empty() {
            tasks.push(at.clone());
        } else {
            serial.push(at.clone());
        }
        let outer: Vec<LoopRef> = tasks.iter().chain(&serial).cloned().collect();
        if out == reduction {
            return self.reduce_across(reduction, how, block, lanes, 1, outer, &tasks);
        }
        let inner = at.with_part(1);
        self.split(inner.clone(), lanes, Tail::Rest);
        let vector = at.with_part(2);
        let rows = how.together.map(|axis| self.at(out, axis, 0));
        let order = outer.into_iter().chain(rows).chain([inner, vector.clone()]).collect();
        self.opts.push(Opt::Reorder { stage: k.stages[out].name.clone(), order });
        tasks.into_iter().for_each(|task| self.bind(task, To::Task));
        self.bind(vector, To::Vector);
        self.opts.push(Opt::At { stage: k.stages[reduction].name.clone(), at });
        let kept =
            k.stages[reduction].over.iter().filter(|a| !how.has(**a)).map(|a| self.at(reduction, *a, 0)).collect();
        self.reduce_across(reduction, how, block, lanes, 0, kept, &[]);
    }

    /// The loops of the reduction, inside `outer`: chunks of columns from part `part` of their axis on, rows,
    /// vectors of a chunk, and in each a few rows.
    #[allow(clippy::too_many_arguments)]
    fn reduce_across(
        &mut self,
        reduction: usize,
        how: &Across,
        chunk: i64,
        lanes: i64,
        part: u32,
        outer: Vec<LoopRef>,
        tasks: &[LoopRef],
    ) {
        let k = self.kernel;
        let mut reduced: Vec<LoopRef> = stage_axes(k, reduction)
            .into_iter()
            .filter(|a| !k.stages[reduction].over.contains(a))
            .map(|a| self.at(reduction, a, 0))
            .collect();
        let (Some(row), Some(axis)) = (reduced.last().cloned(), stage_axes(k, reduction).last().copied()) else {
            return;
        };
        let at = self.at(reduction, how.column, part);
        self.split(at.clone(), chunk, Tail::Rest);
        let vectors = at.with_part(part + 1);
        self.split(vectors.clone(), lanes, Tail::Rest);
        let (mut rows, vector) = (row.clone(), at.with_part(part + 2));
        let depth = extent(k, axis);
        if let Some(inside) = self.blocks_of_sums(&row, depth, 1) {
            rows = inside;
            reduced.push(rows.clone());
        }
        self.split(rows.clone(), registers::STEPS, Tail::Rest);
        rows.part += 1;
        let mut order = outer;
        order.push(at);
        if let Some(axis) = how.together {
            // Laid out in full even where there may be fewer points.
            let at = self.at(reduction, axis, 0);
            self.split(at.clone(), extent(k, axis), Tail::Mask);
            order.push(at);
        }
        order.append(&mut reduced);
        let together = how.together.map(|axis| LoopRef { part: 1, ..self.at(reduction, axis, 0) });
        order.push(vectors);
        order.extend(together.clone());
        order.extend([rows.clone(), vector.clone()]);
        self.opts.push(Opt::Reorder { stage: k.stages[reduction].name.clone(), order });
        tasks.iter().for_each(|task| self.bind(task.clone(), To::Task));
        together.into_iter().for_each(|rows| self.bind(rows, To::Unroll));
        self.bind(rows, To::Unroll);
        self.bind(vector, To::Vector);
    }
}

/// Columns of a chunk, of about `each`: an equal share, or whole vectors, so many that fewer vectors than there are
/// chunks are left over. Those are read vector by vector, across memory.
fn chunk(n: i64, each: i64, lanes: i64) -> i64 {
    let share = round(n, each, lanes);
    if n % share == 0 {
        return share;
    }
    let vectors = (n / lanes).max(1);
    let chunks = ((n + each - 1) / each).clamp(1, vectors);
    vectors / chunks * lanes
}
