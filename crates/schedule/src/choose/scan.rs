//! Scans: running values of many rows at once.
//!
//! A scan visits its axis in order, so that what runs side by side are its rows. Where a row axis is
//! contiguous in memory, its points are lanes, and the running values a line of scratch that is
//! swept once a step. Where the scanned axis itself is, some rows run interleaved: their chains of
//! dependent operations overlap, and each is a stream of its own.
//!
//! Where groups of threads do tasks, a row is scanned by threads that share its vectors, as many as keep the machine
//! busy; of columns, a task has a vector, and steps are laid out so that several loads are under way.

use super::Choice;
use super::rows::stage_vector;
use super::tasks::{Tasks, worth};
use crate::costs::limits::{groups, memory, registers};
use crate::kernel::access::{cost, extent, round_up};
use crate::language::{LoopRef, Opt, Tail, To};
use svod_ir::kernel::{AxisId, Body, Emit};

impl Choice<'_> {
    /// The loops of a scan along `axis`.
    pub(super) fn scan(&mut self, stage: usize, axis: AxisId) {
        let k = self.kernel;
        let over = &k.stages[stage].over;
        let lanes = self.lanes(stage);
        let line = stage_vector(k, stage).filter(|a| *a != axis && extent(k, *a) >= lanes);
        let streamed = self.goes_past_caches(stage, line);
        let rows = over.iter().copied().filter(|a| Some(*a) != line);
        let points = over.iter().map(|a| extent(k, *a)).fold(extent(k, axis), i64::saturating_mul);
        let mut wanted = Tasks { left: worth(self.target, points.saturating_mul(cost(k))) };

        let (mut tasks, mut outer, mut inner, mut binds) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let last = rows.clone().next_back();
        for row in rows {
            let n = extent(k, row);
            let mut at = self.at(stage, row, 0);
            let together = if line.is_none() && Some(row) == last { registers::CHAINS.min(n) } else { 1 };
            if n > together
                && let Some(inside) = wanted.cut(self, &at, n, |even| round_up(even, together))
            {
                tasks.push(std::mem::replace(&mut at, inside));
            }
            outer.push(at.clone());
            if together > 1 {
                self.split(at.clone(), together, Tail::Rest);
                let one = at.inner();
                inner.push(one.clone());
                binds.push(Opt::Bind { at: one, to: To::Unroll });
            }
        }
        if let Some(line) = line {
            let n = extent(k, line);
            let at = self.at(stage, line, 0);
            let least = if streamed { memory::SHORTEST_STREAMED } else { memory::SHORTEST_LINE };
            let block = round_up(((n + wanted.left - 1) / wanted.left).clamp(least, memory::LONGEST_LINE), 4 * lanes);
            self.split(at.clone(), block, Tail::Rest);
            let [part, lane] = [1, 2].map(|part| LoopRef { part, ..at.clone() });
            self.split(part.clone(), lanes, Tail::Rest);
            if outer.is_empty() {
                tasks.push(at)
            } else {
                outer.push(at)
            }
            inner.extend([part, lane.clone()]);
            binds.push(Opt::Bind { at: lane, to: To::Vector });
        }
        let scanned = self.at(stage, axis, 0);
        let bound = tasks.iter().map(|at| Opt::Bind { at: at.clone(), to: To::Task }).chain(binds).collect::<Vec<_>>();
        let order = tasks.into_iter().chain(outer).chain([scanned]).chain(inner).collect();
        self.opts.push(Opt::Reorder { stage: k.stages[stage].name.clone(), order });
        self.opts.extend(bound);
        if streamed {
            self.opts.push(Opt::Stream { stage: k.stages[stage].name.clone() });
        }
        for row in 0..stage {
            self.stage_of_row(row, &k.stages[row].over, None);
        }
    }
    /// The loops of a scan along `axis` where groups of threads do tasks.
    pub(super) fn scan_of_groups(&mut self, stage: usize, axis: AxisId) {
        let k = self.kernel;
        let over = &k.stages[stage].over;
        let (n, widest, along) = (extent(k, axis), self.lanes(stage), stage_vector(k, stage));
        let rows = over.iter().map(|a| extent(k, *a)).fold(1, i64::saturating_mul);
        let (warp, warps) = self.target.groups.map_or((1, 1), |g| (g.warp as i64, g.warps() as i64));
        let busy = warps * self.target.cores as i64;
        let plain = matches!(&k.stages[stage].body, Body::Reduce { emit: Emit::Inclusive, .. })
            && k.is_plain_reduction(stage)
            && !self.strict;
        let name = k.stages[stage].name.clone();
        let scanned = self.at(stage, axis, 0);
        let mut tasks: Vec<LoopRef> = over.iter().map(|a| self.at(stage, *a, 0)).collect();
        let mut inner = vec![scanned.clone()];
        let mut binds = Vec::new();
        if plain && along == Some(axis) && n >= groups::SHARED_ROW {
            let warps = power(busy / rows.max(1)).clamp(1, warps);
            self.split(scanned.clone(), (widest * warps).min(power(n)), Tail::Mask);
            let vector = scanned.inner();
            inner.push(vector.clone());
            binds.extend([Opt::Bind { at: vector.clone(), to: To::Vector }, Opt::Rfactor { at: vector }]);
        } else {
            self.split(scanned.clone(), registers::STEPS, Tail::Rest);
            inner.push(scanned.inner());
            binds.push(Opt::Bind { at: scanned.inner(), to: To::Unroll });
            if let Some(column) = along.filter(|a| *a != axis && extent(k, *a) >= warp) {
                let columns = extent(k, column);
                let tasks_of = |lanes: i64| (rows / columns).saturating_mul((columns + lanes - 1) / lanes);
                let mut lanes = widest.min(power(columns)).max(warp);
                while lanes > warp && tasks_of(lanes) < busy {
                    lanes /= 2;
                }
                let at = self.at(stage, column, 0);
                self.split(at.clone(), lanes, Tail::Mask);
                inner.push(at.inner());
                binds.push(Opt::Bind { at: at.inner(), to: To::Vector });
                // Columns side by side are tasks side by side.
                tasks.retain(|task| *task != at);
                tasks.push(at);
            }
        }
        let order = tasks.iter().cloned().chain(inner).collect();
        self.opts.push(Opt::Reorder { stage: name, order });
        tasks.into_iter().for_each(|at| self.bind(at, To::Task));
        self.opts.extend(binds);
        for row in 0..stage {
            self.stage_of_row(row, &k.stages[row].over, None);
        }
    }
}

/// The least power of two that is not less.
fn power(n: i64) -> i64 {
    n.max(1).unsigned_abs().next_power_of_two() as i64
}
