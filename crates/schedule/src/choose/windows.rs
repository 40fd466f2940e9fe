//! Reductions of a few neighbours each, such as those of a pool's windows: results side by side are the lanes of a vector.
//!
//! What is reduced is too short to be cut into vectors. Its loop is laid out, and each of its points is read for all
//! lanes at once: these lie close together, so that the code generator takes them out of a few whole vectors.

use super::Choice;
use crate::costs::limits::registers;
use crate::kernel::access::{extent, step_along};
use svod_ir::expr::{Expr, Mem};
use svod_ir::kernel::{AxisId, Body, Emit, Out};

impl Choice<'_> {
    /// The axis whose results are lanes, where a stage reduces few points of the axis along which it reads.
    pub(super) fn beside(&self, stage: usize, read_along: Option<AxisId>) -> Option<AxisId> {
        let k = self.kernel;
        let Body::Reduce { axes, emit: Emit::Last, .. } = &k.stages[stage].body else { return None };
        let few = read_along.filter(|a| axes.contains(a))?;
        let points = k.axes[few.index()].extent.as_const()?;
        let lanes = self.lanes(stage);
        if points > lanes.min(registers::FARTHEST) {
            return None;
        }
        let written_along = |axis: AxisId, out: &Out| match out {
            Out::Param { index, .. } => index.last().is_some_and(|last| step_along(k, *last, axis) == Some(1)),
            Out::Temp => false,
        };
        let along = |a: &AxisId| k.stages[stage].outs.iter().all(|out| written_along(*a, out));
        let axis = k.stages[stage].over.iter().copied().find(along).filter(|a| extent(k, *a) >= lanes)?;
        let close = |e| match k.exprs.get(e) {
            Expr::Load { from: Mem::Param(p), index, .. } => {
                let mut each = 1i64;
                let mut step = Some(0i64);
                for (at, n) in index.iter().zip(&k.params[p.index()].shape).rev() {
                    step =
                        step.zip(step_along(k, *at, axis)).map(|(all, by)| all.saturating_add(by.saturating_mul(each)));
                    each = each.saturating_mul(n.upper_bound().unwrap_or(i64::MAX));
                }
                step.is_some_and(|step| (0..=registers::FARTHEST).contains(&step))
            }
            _ => true,
        };
        k.exprs.loads(&k.stages[stage].roots()).into_iter().all(close).then_some(axis)
    }
}
