//! Folds in parts: what runs of points along a folded axis give is a stage of its own, written to a
//! workspace by tasks, in a phase before the one that folds the parts.
//!
//! This is how a fold with few results and many points is divided among tasks. Where parts begin and end
//! is in the schedule, so that the order of additions does not depend on the number of threads.

use super::{LARGEST_STEP, STRICT, Scheduled, StageState, Step};
use crate::contraction;
use crate::opt::{Layout, LoopRef};
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, ParamId};
use svod_ir::kernel::{Axis, AxisId, Body, Carry, Emit, Kernel, Out, Param, Stage};
use svod_ir::size::{Size, Variable};

/// A fold that has been cut in parts.
pub(crate) struct Parts {
    /// Which part; the only axis that the fold has left.
    pub block: AxisId,
    /// The stage that computes the parts.
    pub stage: Stage,
    /// What holds them, one for each carry: an axis over the parts, then those that the fold keeps.
    pub workspaces: Vec<ParamId>,
}

/// Cuts the folded axis `axis` of a stage in parts of `by` points.
pub(crate) fn cut(kernel: &mut Kernel, stage: usize, axis: AxisId, by: u64) -> Result<Parts, String> {
    let Stage { name, over, body, .. } = kernel.stages[stage].clone();
    let Body::Fold { axes, carries, emit: Emit::Last, .. } = body else { return Err("the stage is no fold".into()) };
    if !axes.contains(&axis) {
        return Err("the axis is not folded".into());
    }
    if carries.iter().any(|c| c.op.alu().is_none() || c.fix.is_some()) {
        return Err("only sum, prod, max, min, any and all can be folded in parts".into());
    }
    let elements: Vec<ExprId> = carries.iter().map(|c| c.element).collect();
    let of_a_stage = |e: &ExprId| matches!(kernel.exprs.get(*e), Expr::Load { from: Mem::Temp(..), .. });
    if kernel.exprs.reachable(&elements).iter().any(of_a_stage) {
        return Err("a fold that reads another stage cannot be divided among tasks".into());
    }
    let by = i64::try_from(by).ok().filter(|by| (1..=LARGEST_STEP as i64).contains(by)).ok_or("no such part")?;

    let Axis { var, extent } = kernel.axes[axis.index()].clone();
    let blocks = extent.ceil_div(by);
    let block = add_axis(kernel, &format!("{}_block", var.name()), &blocks)?;
    let point = add_axis(kernel, &format!("{}_point", var.name()), &Size::from(by))?;
    let at = Size::from(&kernel.axes[block.index()].var) * by + Size::from(&kernel.axes[point.index()].var);

    // What a part has beyond the axis's end is the identity, and reads nothing.
    let from = kernel.exprs.clone();
    let whole = extent.divisible_by(by) == Some(true);
    let valid = (!whole).then(|| {
        let (at, end) = (kernel.exprs.index(at.clone()), kernel.exprs.index(extent));
        kernel.exprs.alu(Alu::Lt, &[at, end])
    });
    let masked = |pool: &mut ExprPool, node: Expr, dtype: DType| match (node, valid) {
        (Expr::Load { from, ref index, valid: own, other }, Some(valid)) => {
            let valid = own.map_or(valid, |own| pool.alu(Alu::And, &[own, valid]));
            pool.load_valid(dtype, from, index, Some(valid), other)
        }
        (node, _) => pool.add(node, dtype),
    };
    let moved = kernel.exprs.copy_with(&from, &elements, &|v: &Variable| (*v == var).then(|| at.clone()), masked);

    let kept: Vec<AxisId> = [block].into_iter().chain(over).collect();
    let index: Vec<ExprId> = kept
        .iter()
        .map(|a| {
            let at = Size::from(&kernel.axes[a.index()].var);
            kernel.exprs.index(at)
        })
        .collect();
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
    if let Body::Fold { axes, carries, .. } = &mut kernel.stages[stage].body {
        *axes = vec![block];
        carries.iter_mut().zip(loads).for_each(|(c, load)| c.element = load);
    }
    let axes = axes.into_iter().map(|a| if a == axis { point } else { a }).collect();
    let stage = Stage {
        name: format!("{name}.parts"),
        over: kept,
        body: Body::Fold { axes, carries: inner, emit: Emit::Last, results },
        outs: workspaces.iter().map(|param| Out::Param { param: *param, index: index.clone() }).collect(),
    };
    Ok(Parts { block, stage, workspaces })
}

fn add_axis(kernel: &mut Kernel, name: &str, extent: &Size) -> Result<AxisId, String> {
    if kernel.axes.iter().any(|a| a.var.name() == name) {
        return Err(format!("there is an axis `{name}` already"));
    }
    let last = extent.upper_bound().ok_or("an axis without an upper bound")? - 1;
    let var = Variable::new(name, 0, last.max(0)).map_err(|e| e.to_string())?;
    kernel.axes.push(Axis { var, extent: extent.clone() });
    Ok(AxisId(kernel.axes.len() as u32 - 1))
}

impl Scheduled {
    /// The step `parts`.
    pub(super) fn parts(&mut self, at: &LoopRef, by: u64) -> Step {
        let (stage, l) = self.find(at)?;
        if self.strict {
            return Err(STRICT.into());
        }
        let state = &self.stages[stage];
        let new = StageState::new(&self.kernel.stages[stage]);
        if state.loops != new.loops || state.operands.iter().any(Option::is_some) || !state.prefetches.is_empty() {
            return Err("a fold is cut in parts before anything else is done to the stage".into());
        }
        let axis = state.loops[l].axis;
        if contraction::scans(&self.kernel, stage, axis) {
            return Err("a scan visits its axis in order; it cannot be cut in parts".into());
        }
        let parts = cut(&mut self.kernel, stage, axis, by)?;
        self.workspaces.extend(parts.workspaces);
        self.stages[stage].loops = StageState::new(&self.kernel.stages[stage]).loops;
        self.add_copy(stage, parts.stage, Layout::Rows)
    }
}
