//! Scans: running values of many rows at once.
//!
//! A scan visits its axis in order, so that what runs side by side are its rows. Where a row axis is
//! contiguous in memory, its points are lanes, and the running values a line of scratch that is
//! swept once a step. Where the scanned axis itself is, some rows run interleaved: their chains of
//! dependent operations overlap, and each is a stream of its own.

use super::Choice;
use super::rows::stage_vector;
use super::tasks::{Tasks, worth};
use crate::kernel::access::{cost, extent, round_up};
use crate::language::{LoopRef, Opt, Tail, To};
use svod_ir::kernel::AxisId;

/// Rows that run interleaved: as many chains as hide the latency of an addition, and no more. Rows are often a
/// power of two apart, so that their streams share a set of the first-level cache.
const ROWS: i64 = 4;

/// Running values of one task, at least and at most: they stay in the first-level cache, and each step
/// reads and writes as many contiguous elements.
const LINE: (i64, i64) = (256, 2048);
/// The least where they come from memory and go there: longer runs are read in fewer pages.
const STREAMED_LINE: i64 = 512;

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
            let together = if line.is_none() && Some(row) == last { ROWS.min(n) } else { 1 };
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
            let least = if streamed { STREAMED_LINE } else { LINE.0 };
            let block = round_up(((n + wanted.left - 1) / wanted.left).clamp(least, LINE.1), 4 * lanes);
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
}
