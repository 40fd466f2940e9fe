//! Sorts: rows side by side, and the points of few, long rows in blocks.
//!
//! Where groups of threads do tasks, a warp has a row, or a block of a long one, and takes as many points at a time as it
//! has threads; a row of a few points is a thread's.

use super::Choice;
use super::tasks::{Tasks, worth};
use crate::costs::limits::{groups, sorts, tasks};
use crate::kernel::access::{extent, round_up};
use crate::language::{LoopRef, Opt, Tail, To};
use svod_ir::kernel::AxisId;

impl Choice<'_> {
    /// As [`Choice::sort`], where groups of threads do tasks.
    pub(super) fn sort_of_groups(&mut self, stage: usize, along: AxisId, to: AxisId) {
        let k = self.kernel;
        let rows = k.stages[stage].over.iter().copied().filter(|a| *a != to);
        let mut tasks: Vec<LoopRef> = rows.map(|a| self.at(stage, a, 0)).collect();
        let (n, mut points) = (extent(k, along), self.at(stage, along, 0));
        let warp = self.target.groups.map_or(1, |g| g.warp as i64);
        if n > groups::BLOCK_OF_ROW {
            self.split(points.clone(), groups::BLOCK_OF_ROW, Tail::Rest);
            tasks.push(points.clone());
            points = points.inner();
        }
        let mut inner = vec![self.at(stage, to, 0), points.clone()];
        if n > warp {
            self.split(points.clone(), warp, Tail::Rest);
            points = points.with_part(points.part + 1);
            inner.push(points.clone());
        }
        let order = tasks.iter().cloned().chain(inner).collect();
        self.opts.push(Opt::Reorder { stage: k.stages[stage].name.clone(), order });
        tasks.into_iter().for_each(|at| self.bind(at, To::Task));
        if n > warp {
            self.bind(points, To::Vector);
        }
    }

    /// The loops of a sort of axis `along` into the places of `to`.
    pub(super) fn sort(&mut self, stage: usize, along: AxisId, to: AxisId) {
        let k = self.kernel;
        let rows: Vec<AxisId> = k.stages[stage].over.iter().copied().filter(|a| *a != to).collect();
        let count = rows.iter().map(|a| extent(k, *a)).fold(1, i64::saturating_mul);
        let n = extent(k, along);
        let whole = [to, along].map(|a| self.at(stage, a, 0));
        let name = k.stages[stage].name.clone();
        if count < tasks::CPU.results && n >= 2 * sorts::BLOCK && extent(k, to) == n {
            // Every row axis, and blocks of the points, are tasks.
            let block = round_up((n + sorts::BLOCKS - 1) / sorts::BLOCKS, sorts::FEW).max(sorts::BLOCK);
            let [to, along] = whole;
            self.split(along.clone(), block, Tail::Rest);
            let tasks: Vec<LoopRef> = rows.iter().map(|a| self.at(stage, *a, 0)).chain([along.clone()]).collect();
            let points = along.with_part(1);
            let order = tasks.iter().cloned().chain([to, points]).collect();
            self.opts.push(Opt::Reorder { stage: name, order });
            tasks.into_iter().for_each(|at| self.bind(at, To::Task));
            return;
        }
        let mut wanted = Tasks { left: worth(self.target, count.saturating_mul(n).saturating_mul(sorts::COST)) };
        let (mut tasks, mut inner) = (Vec::new(), Vec::new());
        for row in rows {
            let rows = extent(k, row);
            let at = self.at(stage, row, 0);
            match if rows > 1 { wanted.cut(self, &at, rows, |even| even) } else { None } {
                Some(inside) => {
                    inner.push(inside);
                    tasks.push(at);
                }
                None => inner.push(at),
            }
        }
        let order = tasks.iter().cloned().chain(inner).chain(whole).collect();
        self.opts.push(Opt::Reorder { stage: name, order });
        tasks.into_iter().for_each(|at| self.bind(at, To::Task));
    }
}
