//! Few results of many points: every long reduction is cut in parts, which are divided among tasks.
//!
//! A reduction that needs an earlier one takes the statistics of its own part where these can be combined, in the
//! same pass; a part then stays in the second-level cache from one reading to the next. What is left is
//! scheduled phase by phase, each as if it were a kernel by itself.

use super::Choice;
use super::rows::stage_vector;
use crate::apply::{Scheduled, apply};
use crate::costs::limits::registers;
use crate::costs::limits::tasks::{CPU, Division};
use crate::kernel::access::reads;
use crate::kernel::access::{extent, round};
use crate::kernel::contraction::{recognise, stage_axes};
use crate::language::{LoopRef, Opt};
use svod_ir::expr::{Expr, ExprPool, Mem, ParamId, TempId};
use svod_ir::kernel::{AxisId, Body, Emit, Kernel, Param, Stage};

impl Choice<'_> {
    /// Chooses for a kernel whose long stages are reductions of few results; says whether it is one.
    pub(super) fn in_parts(&mut self) -> bool {
        let k = self.kernel;
        let points = |s: usize| product(k, &stage_axes(k, s));
        let division = Division::of(self.target);
        let shortest = if self.target.groups.is_some() { division.part } else { 4 * CPU.task };
        let long: Vec<usize> = (0..k.stages.len()).filter(|s| points(*s) >= shortest).collect();
        let few = |s: &usize| {
            let reduction =
                matches!(&k.stages[*s].body, Body::Reduce { emit: Emit::Last, .. }) && k.is_plain_reduction(*s);
            let few = match self.narrow_columns(*s) {
                Some(_) => self.fewest_wide(*s),
                None => division.results,
            };
            reduction && product(k, &k.stages[*s].over) < few && recognise(k, *s).is_none()
        };
        if self.strict || long.is_empty() || !long.iter().all(few) {
            return false;
        }
        let steps: Vec<Opt> = long.iter().filter_map(|s| self.part(*s, &long)).collect();
        let Ok(cut) = apply(k, &[self.opts.clone(), steps.clone()].concat().into()) else { return false };
        if steps.is_empty() {
            return false;
        }
        self.opts.extend(steps);
        let (own, all) = (k.stages.len(), cut.kernel.stages.len());
        for at in own..all {
            // Statistics that a later reduction takes are computed in its loops.
            let taken = (at + 1..all).any(|s| reads(&cut.kernel, s, at) && is_part(&cut, s));
            if !taken || !is_part(&cut, at) {
                let inside = (own..at).filter(|s| reads(&cut.kernel, at, *s) && is_part(&cut, *s));
                self.phase(&cut, &inside.chain([at]).collect::<Vec<usize>>());
            }
        }
        self.phase(&cut, &(0..own).collect::<Vec<usize>>());
        true
    }

    /// Where a long reduction is cut: the outermost axis that has as many points, else the longest. Reductions of the same points,
    /// which are among all `long` ones, are cut alike, whatever types they read: parts of one size share a pass.
    fn part(&self, stage: usize, long: &[usize]) -> Option<Opt> {
        let k = self.kernel;
        let axes = k.stages[stage].body.inner();
        let kept = product(k, &k.stages[stage].over).max(1);
        let points = product(k, axes);
        let division = Division::of(self.target);
        let mut each = division.part / kept;
        let mut parts = points / each.max(1);
        if self.target.groups.is_some() {
            // As many parts as each has vectors, so that neither they nor their sums take longer.
            let even = points.isqrt().min(points / (registers::CHAINS * self.lanes(stage)));
            parts = (points / division.part).max(even).min(division.parts / kept).max(1);
        } else if long.len() > 1 {
            let bytes = long.iter().map(|s| self.bytes(*s)).max().unwrap_or(1);
            each = each.min(self.target.l2 as i64 / 2 / bytes).max(1);
            parts = points / each;
        } else {
            parts = parts.min(division.parts);
        }
        let longest = axes.iter().copied().max_by_key(|a| (extent(k, *a), std::cmp::Reverse(*a)))?;
        let axis = axes.iter().copied().find(|a| extent(k, *a) >= parts).unwrap_or(longest);
        let n = extent(k, axis);
        let parts = parts.clamp(1, n);
        let lanes = long.iter().map(|s| self.lanes(*s)).max().unwrap_or(1);
        let whole = if stage_vector(k, stage) == Some(axis) { 4 * lanes } else { 1 };
        let by = round(n, (n + parts - 1) / parts, whole);
        (by < n).then(|| Opt::SplitReduction { at: self.at(stage, axis, 0), by: by as u64 })
    }

    /// Bytes that a stage reads at a point.
    fn bytes(&self, stage: usize) -> i64 {
        let k = self.kernel;
        let loads = k.exprs.loads(&k.stages[stage].roots());
        let read = loads.into_iter().filter(|l| matches!(k.exprs.get(*l), Expr::Load { from: Mem::Param(_), .. }));
        read.map(|l| k.exprs.dtype(l).bytes() as i64).sum::<i64>().max(1)
    }

    /// Chooses for some stages of a kernel, the last of which reads the others.
    fn phase(&mut self, cut: &Scheduled, stages: &[usize]) {
        let kernel = only(&cut.kernel, stages);
        let last = stages.len() - 1;
        let part = stages[last] >= self.kernel.stages.len();
        // Where the last part is shorter than the others, it is no row whose vectors are all laid out.
        let rows_in_registers = self.rows_in_registers && !(part && self.has_a_shorter_part());
        let mut inner = Choice { kernel: &kernel, opts: Vec::new(), rows_in_registers, ..*self };
        match cut.writes(stages[last]) {
            true if part && inner.narrow_parts() => {}
            true => inner.stage(last),
            false => _ = inner.stage_of_row(last, &kernel.stages[last].over, None),
        }
        self.opts.append(&mut inner.opts);
    }

    /// Whether a reduction was cut in parts that do not divide it.
    fn has_a_shorter_part(&self) -> bool {
        let divides = |at: &LoopRef, by: u64| {
            let axis = self.kernel.axes.iter().find(|axis| axis.var.name() == at.axis);
            axis.is_some_and(|axis| axis.extent.divisible_by(by as i64) == Some(true))
        };
        self.opts.iter().any(|opt| matches!(opt, Opt::SplitReduction { at, by } if !divides(at, *by)))
    }
}

fn product(k: &Kernel, axes: &[AxisId]) -> i64 {
    axes.iter().map(|a| extent(k, *a)).fold(1, i64::saturating_mul)
}

/// Whether a stage computes parts of a reduction.
fn is_part(cut: &Scheduled, stage: usize) -> bool {
    cut.writes(stage)
}

/// A kernel of some stages, to which what others give is an argument.
fn only(kernel: &Kernel, stages: &[usize]) -> Kernel {
    let mut new = Kernel { exprs: ExprPool::new(), stages: Vec::new(), ..kernel.clone() };
    let mut arguments: Vec<((TempId, u8), ParamId)> = Vec::new();
    for &s in stages {
        let mut stage: Stage = kernel.stages[s].clone();
        let params = &mut new.params;
        let mut moved = |pool: &mut ExprPool, node: Expr, dtype| match node {
            Expr::Load { from: Mem::Temp(of, n), ref index, valid, other } => {
                let from = match stages.iter().position(|s| *s == of.index()) {
                    Some(at) => Mem::Temp(TempId(at as u32), n),
                    None => {
                        let known = arguments.iter().find(|(value, _)| *value == (of, n)).map(|(_, param)| *param);
                        Mem::Param(known.unwrap_or_else(|| {
                            let over = kernel.stages[of.index()].over.iter();
                            let shape = over.map(|a| kernel.axes[a.index()].extent.clone()).collect();
                            params.push(Param { dtype, shape, constant: false });
                            let param = ParamId(params.len() as u32 - 1);
                            arguments.push(((of, n), param));
                            param
                        }))
                    }
                };
                pool.load_valid(dtype, from, index, valid, other)
            }
            node => pool.add(node, dtype),
        };
        let exprs = &mut new.exprs;
        stage.for_each_root(&mut |root| *root = exprs.copy_with(&kernel.exprs, &[*root], &|_| None, &mut moved)[0]);
        new.stages.push(stage);
    }
    new
}
