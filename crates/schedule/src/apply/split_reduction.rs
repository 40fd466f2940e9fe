//! Reductions in parts: what runs of points along a reduced axis give is a stage of its own, written to a
//! workspace by tasks, in a phase before the one that reduces the parts.
//!
//! This is how a reduction with few results and many points is divided among tasks. Where parts begin and end
//! is in the schedule, so that the order of additions does not depend on the number of threads.
//!
//! A reduction may need what an earlier one gives: deviations from a mean, exponentials of differences from a
//! maximum, the position of an extremum. Where its parts can be combined once that is known ([`combine`]), they
//! take the part's own value instead, in the pass that computes it: memory is read once. Otherwise each
//! task reduces the earlier parts again, of which there are few.

use super::combine::{Local, local};
use super::{Applied, STRICT, Scheduled, StageState, factor};
use crate::kernel::access::reads;
use crate::kernel::contraction;
use crate::language::{Layout, LoopRef};
use crate::reduction::accumulator::totalled_in;
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, ParamId, TempId};
use svod_ir::kernel::{Axis, AxisId, Body, Carry, Emit, Kernel, Out, Param, Stage};
use svod_ir::size::{Size, Variable};

/// A reduction that has been cut in parts.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// Which part; the only axis that the reduction has left.
    pub block: AxisId,
    /// The stage that computes the parts.
    pub stage: Stage,
    /// What holds them, one for each carry: an axis over the parts, then those that the reduction keeps.
    pub workspaces: Vec<ParamId>,
    /// Points that a part has.
    pub points: Size,
}

/// A stage whose reduction was cut, as a later one that wants the same parts finds it.
#[derive(Clone, Debug)]
pub(super) struct Split {
    /// The reduction.
    pub stage: usize,
    /// The stage that computes its parts.
    pub parts: usize,
    /// The reduction as it was.
    pub before: Stage,
    /// Which of its axes was cut, into parts of how many points.
    place: usize,
    by: u64,
    pub done: Parts,
    /// Whether another reduction takes the parts' own values, inside its loops.
    taken: bool,
}

/// Cuts the reduced axis `axis` of a stage in parts of `by` points.
pub(crate) fn cut(kernel: &mut Kernel, stage: usize, axis: AxisId, by: u64) -> Result<Parts, String> {
    cut_along(kernel, stage, axis, by, None)
}

/// As [`cut`], into the parts that `block` counts, if given.
fn cut_along(kernel: &mut Kernel, stage: usize, axis: AxisId, by: u64, block: Option<AxisId>) -> Result<Parts, String> {
    let Stage { name, over, body, .. } = kernel.stages[stage].clone();
    let Body::Reduce { axes, carries, emit: Emit::Last, .. } = body else {
        return Err("the stage is no reduction".into());
    };
    if !axes.contains(&axis) {
        return Err("the stage does not reduce the axis".into());
    }
    if carries.iter().any(|c| !c.is_plain()) {
        return Err("only sum, prod, max, min, any and all can be reduced in parts".into());
    }
    let by = factor(by)? as i64;

    let Axis { var, extent } = kernel.axes[axis.index()].clone();
    let block = match block {
        Some(block) => block,
        None => contraction::add_axis(kernel, &format!("{}_block", var.name()), &extent.ceil_div(by))?,
    };
    let point = contraction::add_axis(kernel, &format!("{}_point", var.name()), &Size::from(by))?;
    let first = Size::from(&kernel.axes[block.index()].var) * by;
    let at = &first + &Size::from(&kernel.axes[point.index()].var);

    // What a part has beyond the axis's end is the identity, and reads nothing.
    let from = kernel.exprs.clone();
    let whole = extent.divisible_by(by) == Some(true);
    let valid = (!whole).then(|| {
        let (at, end) = (kernel.exprs.index(at.clone()), kernel.exprs.index(extent.clone()));
        kernel.exprs.alu(Alu::Lt, &[at, end])
    });
    let masked = |pool: &mut ExprPool, node: Expr, dtype: DType| match (node, valid) {
        (Expr::Load { from: from @ Mem::Param(_), ref index, valid: own, other }, Some(valid)) => {
            let valid = own.map_or(valid, |own| pool.alu(Alu::And, &[own, valid]));
            pool.load_valid(dtype, from, index, Some(valid), other)
        }
        (node, _) => pool.add(node, dtype),
    };
    let elements: Vec<ExprId> = carries.iter().map(|c| c.element).collect();
    let moved = kernel.exprs.copy_with(&from, &elements, &|v: &Variable| (*v == var).then(|| at.clone()), masked);

    let kept: Vec<AxisId> = [block].into_iter().chain(over).collect();
    let index = indices(kernel, &kept);
    let shape: Vec<Size> = kept.iter().map(|a| kernel.axes[a.index()].extent.clone()).collect();
    let (mut inner, mut results, mut workspaces) = (Vec::new(), Vec::new(), Vec::new());
    for (i, (carry, value)) in carries.iter().zip(moved).enumerate() {
        let element = valid.map_or(value, |valid| {
            let identity = kernel.exprs.constant(carry.op.identity(carry.dtype));
            kernel.exprs.alu(Alu::Where, &[valid, value, identity])
        });
        inner.push(Carry { element, ..carry.clone() });
        results.push(kernel.exprs.add(Expr::Carry(i as u8, carry.dtype), carry.dtype));
        workspaces.push(ParamId(kernel.params.len() as u32));
        kernel.params.push(Param { dtype: carry.dtype, shape: shape.clone(), constant: false });
    }
    let loads: Vec<ExprId> = carries
        .iter()
        .zip(&workspaces)
        .map(|(c, param)| kernel.exprs.load(c.dtype, Mem::Param(*param), &index))
        .collect();
    if let Body::Reduce { axes, carries, .. } = &mut kernel.stages[stage].body {
        *axes = vec![block];
        carries.iter_mut().zip(loads).for_each(|(c, load)| c.element = load);
    }
    let others = axes.iter().filter(|a| **a != axis).map(|a| kernel.axes[a.index()].extent.clone());
    let points = others.fold((&extent - &first).min(by), |n, extent| n * extent);
    let axes = axes.into_iter().map(|a| if a == axis { point } else { a }).collect();
    let stage = Stage {
        name: format!("{name}.parts"),
        over: kept,
        body: Body::Reduce { axes, carries: inner, emit: Emit::Last, results },
        outs: workspaces.iter().map(|param| Out::Param { param: *param, index: index.clone() }).collect(),
    };
    Ok(Parts { block, stage, workspaces, points })
}

/// Axes as an index.
pub(super) fn indices(kernel: &mut Kernel, axes: &[AxisId]) -> Vec<ExprId> {
    let at = |a: &AxisId| Size::from(&kernel.axes[a.index()].var);
    let sizes: Vec<Size> = axes.iter().map(at).collect();
    sizes.into_iter().map(|size| kernel.exprs.index(size)).collect()
}

impl Scheduled {
    /// The step `parts`.
    pub(super) fn parts(&mut self, at: &LoopRef, by: u64) -> Applied {
        let (stage, l) = self.find(at)?;
        if self.strict {
            return Err(STRICT.into());
        }
        self.check_untouched(stage, "a reduction is cut in parts")?;
        let axis = self.stages[stage].loops[l].axis;
        if contraction::scans(&self.kernel, stage, axis) {
            return Err("a scan visits its axis in order; it cannot be cut in parts".into());
        }
        let before = self.kernel.stages[stage].clone();
        let place = before.body.inner().iter().position(|a| *a == axis).ok_or("the stage does not reduce the axis")?;
        let wide = match &before.body {
            Body::Reduce { carries, .. } => totalled_in(&self.kernel.exprs, carries),
            _ => Vec::new(),
        };
        let (found, along) = match self.same_parts(stage, place, by) {
            Some((cut, found)) => (found, Some(cut)),
            None => {
                self.repeat_earlier(stage)?;
                (Vec::new(), None)
            }
        };
        if let Body::Reduce { carries, .. } = &mut self.kernel.stages[stage].body {
            carries.iter_mut().zip(&found).for_each(|(c, local)| c.element = local.element);
        }
        let block = along.map(|c| self.cuts[c].done.block);
        let done = cut_along(&mut self.kernel, stage, axis, by, block)?;
        self.combine(stage, &found);
        self.widen(stage, &wide);
        self.workspaces.extend(&done.workspaces);
        self.stages[stage].loops = StageState::new(&self.kernel.stages[stage]).loops;
        let parts = self.kernel.stages.len();
        self.add_copy(stage, done.stage.clone(), Layout::Rows)?;
        self.cuts.push(Split { stage, parts, before, place, by, done, taken: false });
        Ok(())
    }

    /// An earlier reduction of the same points that was cut into the same parts, and what the elements of
    /// `stage` are with the parts' own values. It then gives these values.
    fn same_parts(&mut self, stage: usize, place: usize, by: u64) -> Option<(usize, Vec<Local>)> {
        let extents = |k: &Kernel, axes: &[AxisId]| -> Vec<Size> {
            axes.iter().map(|a| k.axes[a.index()].extent.clone()).collect()
        };
        let own = &self.kernel.stages[stage];
        let fits = |cut: &Split| {
            (cut.place, cut.by, cut.taken) == (place, by, false)
                && cut.before.over == own.over
                && extents(&self.kernel, cut.before.body.inner()) == extents(&self.kernel, own.body.inner())
                && reads(&self.kernel, stage, cut.stage)
        };
        let cut = self.cuts.iter().position(fits)?;
        let found = local(&mut self.kernel, stage, &self.cuts[cut])?;
        self.cuts[cut].taken = true;
        // The results of the whole, of a part.
        let Split { before, parts, .. } = &self.cuts[cut];
        if let (Body::Reduce { results: of_whole, .. }, Body::Reduce { results, .. }) =
            (&before.body, &mut self.kernel.stages[*parts].body)
        {
            results.extend(of_whole);
            self.kernel.stages[*parts].outs.extend(before.outs.iter().map(|_| Out::Temp));
        }
        Some((cut, found))
    }

    /// Gives a stage whose parts are tasks stages of its own in place of those that it reads, and of those that they read.
    fn repeat_earlier(&mut self, stage: usize) -> Applied {
        let earlier = self.earlier(stage);
        if earlier.iter().any(|of| !self.cuts.iter().any(|c| c.stage == *of)) {
            return Err(
                "a reduction that reads another stage, which is not in parts, cannot be divided among tasks".into()
            );
        }
        let mut own: Vec<(usize, usize)> = Vec::with_capacity(earlier.len());
        for &of in &earlier {
            let name = format!("{}.{}", self.kernel.stages[stage].name, self.kernel.stages[of].name);
            let outs = vec![Out::Temp; self.kernel.stages[of].outs.len()];
            let copy = Stage { name, outs, ..self.kernel.stages[of].clone() };
            let to = self.kernel.stages.len();
            self.add_copy(stage, copy, Layout::Rows)?;
            self.read_instead(to, &own);
            own.push((of, to));
        }
        self.read_instead(stage, &own);
        earlier.into_iter().rev().for_each(|of| self.drop_unread(of));
        Ok(())
    }

    /// The stages that a stage reads, and those that they read, in their order.
    fn earlier(&self, stage: usize) -> Vec<usize> {
        let (mut open, mut found) = (vec![stage], Vec::new());
        while let Some(at) = open.pop() {
            let read = (0..at).filter(|of| reads(&self.kernel, at, *of));
            let new: Vec<usize> = read.filter(|of| !found.contains(of)).collect();
            found.extend(&new);
            open.extend(new);
        }
        found.sort_unstable();
        found
    }

    /// Makes a stage read others instead of some, pair by pair.
    fn read_instead(&mut self, stage: usize, pairs: &[(usize, usize)]) {
        let old = self.kernel.exprs.clone();
        let renamed = |pool: &mut ExprPool, node: Expr, dtype: DType| match node {
            Expr::Load { from: Mem::Temp(t, n), ref index, valid, other } => {
                let to = pairs.iter().find(|(from, _)| *from == t.index()).map_or(t, |(_, to)| TempId(*to as u32));
                pool.load_valid(dtype, Mem::Temp(to, n), index, valid, other)
            }
            node => pool.add(node, dtype),
        };
        let exprs = &mut self.kernel.exprs;
        let mut change = |root: &mut ExprId| *root = exprs.copy_with(&old, &[*root], &|_| None, renamed)[0];
        self.kernel.stages[stage].for_each_root(&mut change);
    }

    /// Of a reduction that no stage reads any more, what it writes to memory is left: a stage with readers waits for them.
    fn drop_unread(&mut self, reduction: usize) {
        if (0..self.kernel.stages.len()).any(|reader| reads(&self.kernel, reader, reduction)) || !self.writes(reduction)
        {
            return;
        }
        let Stage { body: Body::Reduce { results, .. }, outs, .. } = &mut self.kernel.stages[reduction] else { return };
        let mut written = outs.iter().map(|out| matches!(out, Out::Param { .. }));
        results.retain(|_| written.next() == Some(true));
        outs.retain(|out| matches!(out, Out::Param { .. }));
    }

    /// Reduces parts as they are with the value of the whole.
    fn combine(&mut self, stage: usize, found: &[Local]) {
        let Body::Reduce { carries, .. } = &self.kernel.stages[stage].body else { return };
        let parts: Vec<ExprId> = carries.iter().map(|c| c.element).collect();
        let each = found.iter().enumerate();
        let combined: Vec<ExprId> =
            each.map(|(own, local)| local.rebase.rebased(&mut self.kernel.exprs, own, &parts)).collect();
        if let Body::Reduce { carries, .. } = &mut self.kernel.stages[stage].body {
            carries.iter_mut().zip(combined).for_each(|(c, value)| c.element = value);
        }
    }

    /// Adds up parts in the types in which totals of such sums are added up.
    fn widen(&mut self, stage: usize, dtypes: &[DType]) {
        let Body::Reduce { carries, results, .. } = &mut self.kernel.stages[stage].body else { return };
        let exprs = &mut self.kernel.exprs;
        let narrow: Vec<ExprId> = carries
            .iter_mut()
            .zip(dtypes)
            .enumerate()
            .map(|(n, (c, &dtype))| {
                let own = c.dtype;
                (c.dtype, c.element) = (dtype, exprs.cast(dtype, c.element));
                let value = exprs.add(Expr::Carry(n as u8, dtype), dtype);
                exprs.cast(own, value)
            })
            .collect();
        let old = exprs.clone();
        let swap = |pool: &mut ExprPool, node: Expr, dtype: DType| match node {
            Expr::Carry(n, _) => narrow[usize::from(n)],
            node => pool.add(node, dtype),
        };
        *results = exprs.copy_with(&old, results, &|_| None, swap);
    }
}
