//! Maps that read along one axis what they write along another: small blocks of both.
//!
//! A cache line of a transposed operand holds the values of several rows of the result. Inside a block
//! of one line's points of that axis, all that is read is used while it is in the first-level cache. Where the body is
//! short, square blocks of a vector's lanes go through registers: rows of one operand are loaded, columns written.

use super::Choice;
use crate::costs::code_of_stage;
use crate::costs::limits::tasks::Division;
use crate::costs::limits::{code, groups, memory, registers};
use crate::kernel::access::{bytes_of, extent, round_up, step_along};
use crate::kernel::contraction::stage_axes;
use crate::language::{LoopRef, Opt, Tail, To};
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::kernel::{AxisId, Kernel, Out, Param};
use svod_ir::linear::LINE;

/// Whether an index moves along an axis in small steps, forwards or backwards.
fn walks_along(k: &Kernel, index: ExprId, axis: AxisId) -> bool {
    step_along(k, index, axis).is_some_and(|step| step != 0 && step.abs() <= registers::CLOSE)
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
        // Threads that share a vector gather what it reads across memory.
        let groups = self.target.groups.is_some();
        let bytes = if groups { groups::SECTOR } else { i64::from(LINE) };
        let line = (bytes * full / self.target.vector_bytes as i64).max(1);
        let line = if groups { self.columns_across(stage, vector, across, line) } else { line };
        let square = self.square(stage, vector, across).filter(|_| !groups);
        let lanes = square.unwrap_or(full.min(1 << extent(k, vector).ilog2()));
        // Squares beside one another, so that whole lines are written.
        let beside = square.map_or(1, |lanes| (line.min(1 << extent(k, vector).ilog2()) / lanes).max(1));
        let streams = self.goes_past_caches(stage, Some(vector)) && self.writes_lines(stage);
        let (v, a) = (self.at(stage, vector, 0), self.at(stage, across, 0));
        let block = round_up(if groups { lanes } else { memory::TRANSPOSED.min(extent(k, vector)) }, lanes);
        // Past the caches, or where no cache holds it, what is written is written along rows; elsewhere all of two lines that
        // are read side by side is used before the next ones are.
        let by_rows = square.is_none() || self.written(stage) >= self.target.l3 as i64;
        let rows = match groups {
            true => line,
            false => round_up(if by_rows { memory::TRANSPOSED / 4 } else { 2 * line }.min(extent(k, across)), line),
        };
        self.split(v.clone(), block, Tail::Rest);
        if beside > 1 {
            self.split(v.with_part(1), beside * lanes, Tail::Rest);
        }
        let vectors = v.with_part(if beside > 1 { 2 } else { 1 });
        let lane = v.with_part(vectors.part + 1);
        let tail = if groups { Tail::Mask } else { Tail::Rest };
        self.split(vectors.clone(), lanes, tail);
        self.split(a.clone(), rows, Tail::Rest);
        self.split(a.with_part(1), square.unwrap_or(line), tail);
        let others = k.stages[stage].over.iter().filter(|x| ![vector, across].contains(x));
        let grid: Vec<LoopRef> = others.map(|x| self.at(stage, *x, 0)).chain([a.clone(), v.clone()]).collect();
        let mut inner = vec![a.with_part(1), v.with_part(1), a.with_part(2)];
        if !by_rows {
            inner.swap(0, 1);
        }
        inner.extend((beside > 1).then(|| vectors.clone()));
        inner.push(lane.clone());
        let order = grid.iter().chain(&inner).cloned().collect();
        self.opts.push(Opt::Reorder { stage: k.stages[stage].name.clone(), order });
        let points = |l: &LoopRef| match (l == &a, l == &v) {
            (true, _) => (extent(k, across) + rows - 1) / rows,
            (_, true) => (extent(k, vector) + block - 1) / block,
            _ => k.axes.iter().find(|x| x.var.name() == l.axis).and_then(|x| x.extent.upper_bound()).unwrap_or(1),
        };
        let division = Division::of(self.target);
        let mut tasks = 1;
        for l in grid {
            if tasks < division.most.min(work / division.task) {
                tasks *= points(&l);
                self.bind(l, To::Task);
            }
        }
        if square.is_some() || groups {
            self.bind(a.with_part(2), To::Unroll);
        }
        if beside > 1 {
            self.bind(vectors, To::Unroll);
        }
        self.bind(lane, To::Vector);
        if streams {
            self.opts.push(Opt::Stream { stage: k.stages[stage].name.clone() });
        }
    }

    /// Columns of a block of an operand that lies across, where threads share vectors: so many that rows of it are lines, unless
    /// there are then too few tasks, or too much code; else a sector's.
    fn columns_across(&self, stage: usize, vector: AxisId, across: AxisId, least: i64) -> i64 {
        let k = self.kernel;
        let crossing =
            k.exprs.loads(&k.stages[stage].roots()).iter().filter(|e| along(k, **e, across).is_some()).count();
        let (lanes, threads) = (self.lanes(stage), self.target.vector_bytes as i64 / 16);
        let code = i64::from(code_of_stage(k, &k.stages[stage])).max(1) * (lanes / threads).max(1);
        let points = stage_axes(k, stage).iter().map(|a| extent(k, *a)).fold(1, i64::saturating_mul);
        let enough = |columns: &i64| {
            let warps = points / (columns * lanes);
            columns * code <= groups::LAID_OUT_ACROSS
                && warps >= groups::WARPS_ACROSS * self.target.cores as i64
                && extent(k, across) >= *columns
        };
        // Two blocks of as many columns fit what the threads of a block share.
        let full = groups::COLUMNS_ACROSS / crossing.div_ceil(2).next_power_of_two() as i64;
        let mut halves = std::iter::successors(Some(full), |n| Some(n / 2)).take_while(|n| *n >= least);
        let across = crossing > 0 && extent(k, vector) >= lanes;
        halves.find(enough).filter(|_| across).unwrap_or(least)
    }

    /// Bytes that a stage writes.
    fn written(&self, stage: usize) -> i64 {
        self.written_by(stage).map(bytes_of).fold(0, i64::saturating_add)
    }

    /// Whether rows of all that a stage writes are whole lines: several rows are written at once, and no line of one is
    /// held until the rest of it follows.
    fn writes_lines(&self, stage: usize) -> bool {
        self.written_by(stage).all(whole_lines)
    }

    fn written_by(&self, stage: usize) -> impl Iterator<Item = &Param> {
        let k = self.kernel;
        k.stages[stage].outs.iter().filter_map(|o| match o {
            Out::Param { param, .. } => Some(&k.params[param.index()]),
            Out::Temp => None,
        })
    }

    /// Lanes of the square blocks in which a map can be computed: what it reads across its vectors lies in steps of one
    /// element along the other axis. Vectors that lie in two lines take longer than elements where memory is waited for.
    fn square(&self, stage: usize, vector: AxisId, across: AxisId) -> Option<i64> {
        let k = self.kernel;
        let lanes = self.lanes(stage).min(registers::WIDEST);
        let cached = self.written(stage) <= memory::CACHES * self.target.l2 as i64;
        let crosses = |e: &ExprId| along(k, *e, across).is_some_and(|param| cached || whole_lines(param));
        let roots = k.stages[stage].roots();
        let code = i64::from(code_of_stage(k, &k.stages[stage]));
        let points = stage_axes(k, stage).iter().map(|a| extent(k, *a)).fold(code, i64::saturating_mul);
        let worth = code * lanes <= i64::from(code::LAID_OUT) && points >= code::WORTH_MORE;
        let fits = extent(k, vector).min(extent(k, across)) >= lanes;
        (worth && fits && k.exprs.loads(&roots).iter().any(crosses)).then_some(lanes)
    }
}

/// The parameter that a load reads consecutive elements of along an axis, wherever it is.
fn along(k: &Kernel, e: ExprId, across: AxisId) -> Option<&Param> {
    let Expr::Load { from: Mem::Param(param), index, valid: None, .. } = k.exprs.get(e) else { return None };
    let last = index.last()?;
    (step_along(k, *last, across) == Some(1)).then(|| &k.params[param.index()])
}

/// Whether rows of a parameter are whole lines.
fn whole_lines(param: &Param) -> bool {
    let row = param.shape.last().and_then(|n| n.as_const());
    row.is_some_and(|n| n * param.dtype.bytes() as i64 % i64::from(LINE) == 0)
}
