//! Loads of long bodies, fetched ahead.
//!
//! A processor looks some hundred instructions ahead. Of a short body that is many rounds, and as many loads wait for
//! memory at once; of a long one it is a few, which do not. A map of a long body that memory is read for fetches
//! what it reads some rounds later. A map or reduction that reads a row again, in a cache since an earlier stage has read it,
//! fetches the next row, for which the earlier stage would wait.

use super::Choice;
use crate::costs::code_of_stage;
use crate::costs::limits::{code, memory};
use crate::kernel::access::{extent, named_reads, steps_along};
use crate::kernel::contraction::axes_of;
use crate::language::{LoopRef, Opt, Read};
use svod_ir::expr::{Expr, ExprId, Mem, ParamId};
use svod_ir::kernel::{AxisId, Body, Emit};
use svod_ir::linear::LINE;

impl Choice<'_> {
    /// Fetches ahead what a stage of a long body reads along its vectors. The last two of the loops
    /// `order` are over vectors and over their lanes.
    pub(super) fn fetch_ahead(&mut self, stage: usize, order: &[LoopRef], vector: Option<AxisId>) {
        let k = self.kernel;
        let (Some(axis), [.., around, _]) = (vector, order) else { return };
        let map = match &k.stages[stage].body {
            Body::Map(_) => true,
            Body::Reduce { axes, emit: Emit::Last, .. } if axes.contains(&axis) => false,
            _ => return,
        };
        let name = k.axes[axis.index()].var.name();
        let by = |part: u32| self.factors(&LoopRef { part, ..around.clone() }).next();
        let at = self.innermost(around);
        let (Some(step), true) = (by(around.part), around.axis == name) else { return };
        let cut = around.part.checked_sub(1).and_then(by).filter(|_| map);
        let rounds = cut.unwrap_or(extent(k, axis)) / step;
        let bound = self.opts.iter().any(|o| matches!(o, Opt::Bind { at, .. } if at == around));
        if self.strict || (map && bound) || code_of_stage(k, &k.stages[stage]) < code::LONG_BODY {
            return;
        }
        for (param, load) in self.lines_of_memory(stage, axis) {
            let round = step * k.params[param.index()].dtype.bytes() as i64;
            let row = rounds * round <= self.target.l2 as i64 / memory::ROWS_AHEAD
                && self.is_a_row(load, axis)
                && cut.is_none();
            let again = row && (0..stage).any(|s| self.reads(s, param));
            let ahead = if again { rounds - 1 } else { (memory::AHEAD / round.max(1)).min(rounds / 2) };
            if round <= i64::from(LINE) && ahead * round >= memory::AHEAD / 2 {
                let read = Read::Load { from: param.to_string(), nth: 0 };
                self.opts.push(Opt::Prefetch { at: at.clone(), read, ahead: ahead as u32 });
            }
        }
    }

    /// The loop whose rounds are as long as those of `l` were when it was first split: a later split leaves them to its
    /// inner part, the axis's last.
    fn innermost(&self, l: &LoopRef) -> LoopRef {
        let axis = |o: &&Opt| matches!(o, Opt::Split { at, .. } if (&at.stage, &at.axis) == (&l.stage, &l.axis));
        let part = if self.factors(l).count() > 1 { self.opts.iter().filter(axis).count() as u32 } else { l.part };
        LoopRef { part, ..l.clone() }
    }

    /// What a stage reads of memory that no second-level cache holds, contiguous along an axis, and in one way only.
    fn lines_of_memory(&self, stage: usize, axis: AxisId) -> Vec<(ParamId, ExprId)> {
        let k = self.kernel;
        let lines = |(param, load): &(ParamId, ExprId)| {
            let Expr::Load { index, .. } = k.exprs.get(*load) else { return false };
            let along = index.last().is_some_and(|last| steps_along(k, *last, axis));
            let points = axes_of(k, *load).iter().map(|a| extent(k, *a)).fold(1, i64::saturating_mul);
            let bytes = points.saturating_mul(k.params[param.index()].dtype.bytes() as i64);
            along && bytes > self.target.l2 as i64
        };
        let mut reads = named_reads(k, &k.stages[stage].roots());
        reads.retain(lines);
        reads
    }

    /// Whether a stage reads a parameter.
    fn reads(&self, stage: usize, param: ParamId) -> bool {
        let k = self.kernel;
        let from = |e: &ExprId| matches!(k.exprs.get(*e), Expr::Load { from: Mem::Param(p), .. } if *p == param);
        k.exprs.loads(&k.stages[stage].roots()).iter().any(from)
    }

    /// Whether a load along an axis reads whole rows, after which the next ones lie.
    fn is_a_row(&self, load: ExprId, axis: AxisId) -> bool {
        let k = self.kernel;
        let Expr::Load { from: Mem::Param(param), .. } = k.exprs.get(load) else { return false };
        let row = k.params[param.index()].shape.last().and_then(|n| n.as_const());
        row == Some(extent(k, axis)) && k.axes[axis.index()].extent.as_const() == row
    }
}
