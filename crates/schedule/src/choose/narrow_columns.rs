//! Reductions down a few columns that lie side by side: sums over the first axis of a narrow matrix.
//!
//! All columns are in registers, as vectors of a width that divides their number, and rows are read one after the
//! other: memory is read in one run. A loop down each vector of columns would wait for its own additions, and read
//! memory as often as there are vectors.

use super::Choice;
use super::rows::stage_vector;
use crate::costs::limits::{memory, registers};
use crate::kernel::access::extent;
use crate::kernel::contraction::stage_axes;
use crate::language::{LoopRef, Opt, Tail, To};
use svod_ir::kernel::{AxisId, Body, Emit};

impl Choice<'_> {
    /// Fewer columns than this are narrow.
    pub(super) fn fewest_wide(&self, stage: usize) -> i64 {
        memory::COLUMNS.max(memory::WIDE * self.lanes(stage))
    }

    /// The axis of a stage that goes over such columns: all of its results but for those of other tasks.
    pub(super) fn narrow_columns(&self, stage: usize) -> Option<AxisId> {
        let k = self.kernel;
        let reduction =
            matches!(k.stages[stage].body, Body::Reduce { emit: Emit::Last, .. }) && k.is_plain_reduction(stage);
        let column = stage_vector(k, stage).filter(|a| reduction && k.stages[stage].over.contains(a))?;
        let columns = k.axes[column.index()].extent.as_const()?;
        (columns < self.fewest_wide(stage)).then_some(column)
    }

    /// Chooses for a kernel whose last stage computes parts of such a reduction, a task for each point of its first axis,
    /// and takes from the others statistics of the part; says whether it is one.
    pub(super) fn narrow_parts(&mut self) -> bool {
        let k = self.kernel;
        let last = k.stages.len() - 1;
        let columns: Option<Vec<AxisId>> = (0..=last).map(|s| self.narrow_columns(s)).collect();
        let (Some(columns), Some(part)) = (columns, k.stages[last].over.first()) else { return false };
        if columns.contains(part) {
            return false;
        }
        let task = self.at(last, *part, 0);
        self.reduce_narrow_columns(last, columns[last], Some(&task));
        for (stage, column) in columns.into_iter().enumerate().take(last) {
            self.opts.push(Opt::At { stage: k.stages[stage].name.clone(), at: task.clone() });
            self.reduce_narrow_columns(stage, column, None);
        }
        true
    }

    /// The loops of one such reduction: a few rows at once, where its columns leave registers for that.
    fn reduce_narrow_columns(&mut self, stage: usize, column: AxisId, task: Option<&LoopRef>) {
        let k = self.kernel;
        let Body::Reduce { carries, .. } = &k.stages[stage].body else { return };
        let over = &k.stages[stage].over;
        let n = extent(k, column);
        let lanes = (1 << n.trailing_zeros()).min(self.lanes(stage));
        let rows =
            (registers::ACCUMULATORS * lanes / (n * carries.len() as i64).max(1)).clamp(1, registers::ACCUMULATORS);
        let rows = 1 << rows.ilog2();
        let (kept, reduced): (Vec<AxisId>, Vec<AxisId>) =
            stage_axes(k, stage).into_iter().filter(|a| *a != column).partition(|a| over.contains(a));
        let mut order: Vec<LoopRef> = kept.into_iter().chain(reduced).map(|a| self.at(stage, a, 0)).collect();
        let mut laid_out = Vec::new();
        if let (true, Some(row)) = (rows > 1, order.last().cloned()) {
            self.split(row.clone(), rows, Tail::Rest);
            laid_out.push(row.inner());
        }
        let summed = laid_out.clone();
        let mut vectors = self.at(stage, column, 0);
        if lanes > 1 && lanes < n {
            self.split(vectors.clone(), lanes, Tail::Rest);
            laid_out.push(vectors.clone());
            vectors.part += 1;
        }
        order.extend(laid_out.iter().cloned());
        order.push(vectors.clone());
        self.opts.push(Opt::Reorder { stage: k.stages[stage].name.clone(), order: order.clone() });
        task.into_iter().for_each(|at| self.bind(at.clone(), To::Task));
        laid_out.into_iter().for_each(|at| self.bind(at, To::Unroll));
        self.bind(vectors, if lanes > 1 { To::Vector } else { To::Unroll });
        self.opts.extend(summed.into_iter().map(|at| Opt::Rfactor { at }));
        self.cascade(stage, &order);
    }
}
