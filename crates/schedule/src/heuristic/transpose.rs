//! Maps that read along one axis what they write along another: small blocks of both.
//!
//! A cache line of a transposed operand holds the values of several rows of the result. Inside a block
//! of one line's points of that axis, all that is read is used while it is in the first-level cache.

use super::cost::{extent, round_up, step_along};
use super::rows::MAX_TASKS;
use super::{Choice, TASK};
use crate::opt::{LoopRef, Opt, Tail, To};
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::kernel::{AxisId, Kernel};
use svod_ir::linear::LINE;

/// Points of the vector's axis in a block: what is read of them should stay in the first-level cache.
const BLOCK: i64 = 256;

/// Elements from one point to the next at most where a line of memory holds a few.
const CLOSE: i64 = 4;

/// Whether an index moves along an axis in small steps, forwards or backwards.
fn walks_along(k: &Kernel, index: ExprId, axis: AxisId) -> bool {
    step_along(k, index, axis).is_some_and(|step| step != 0 && step.abs() <= CLOSE)
}

/// The axis along which an operand lies close together that varies with the vector's axis elsewhere.
pub(super) fn crossed(k: &Kernel, stage: usize, vector: AxisId) -> Option<AxisId> {
    let name = &k.axes[vector.index()].var;
    let mut found = None;
    for e in k.exprs.reachable(&k.stages[stage].roots()) {
        let Expr::Load { index, from: Mem::Param(_), .. } = k.exprs.get(e) else { continue };
        let Some((last, outer)) = index.split_last() else { continue };
        let names_it = |i: &_| matches!(k.exprs.get(*i), Expr::Index(size) if size.variables().contains(name));
        if outer.iter().any(names_it) && !names_it(last) {
            let along = k.stages[stage].over.iter().copied().filter(|a| walks_along(k, *last, *a));
            found = along.chain(found).max_by_key(|a| extent(k, *a));
        }
    }
    found
}

impl Choice<'_> {
    /// A map of two directions: tasks and blocks of both axes, vectors along the one that is written.
    pub(super) fn transposed(&mut self, stage: usize, vector: AxisId, across: AxisId, work: i64) {
        let k = self.kernel;
        let full = self.lanes(stage);
        let line = i64::from(LINE) * full / self.target.vector_bytes as i64;
        let lanes = full.min(1 << extent(k, vector).ilog2());
        let (v, a) = (self.at(stage, vector, 0), self.at(stage, across, 0));
        let part = |l: &LoopRef, part| LoopRef { part, ..l.clone() };
        let block = round_up(BLOCK.min(extent(k, vector)), lanes);
        let rows = round_up((BLOCK / 4).min(extent(k, across)), line);
        self.split(v.clone(), block, Tail::Rest);
        self.split(part(&v, 1), lanes, Tail::Rest);
        self.split(a.clone(), rows, Tail::Rest);
        self.split(part(&a, 1), line, Tail::Rest);
        let others = k.stages[stage].over.iter().filter(|x| ![vector, across].contains(x));
        let grid: Vec<LoopRef> = others.map(|x| self.at(stage, *x, 0)).chain([a.clone(), v.clone()]).collect();
        let inner = [part(&a, 1), part(&v, 1), part(&a, 2), part(&v, 2)];
        let order = grid.iter().chain(&inner).cloned().collect();
        self.opts.push(Opt::Reorder { stage: k.stages[stage].name.clone(), order });
        let points = |l: &LoopRef| match (l == &a, l == &v) {
            (true, _) => (extent(k, across) + rows - 1) / rows,
            (_, true) => (extent(k, vector) + block - 1) / block,
            _ => k.axes.iter().find(|x| x.var.name() == l.axis).and_then(|x| x.extent.upper_bound()).unwrap_or(1),
        };
        let mut tasks = 1;
        for l in grid {
            if tasks < MAX_TASKS.min(work / TASK) {
                tasks *= points(&l);
                self.bind(l, To::Task);
            }
        }
        self.bind(part(&v, 2), To::Vector);
    }
}
