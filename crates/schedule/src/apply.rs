//! Applying a schedule to a kernel: a fold over its loops, each step succeeds or says why not.
//!
//! The result, a [`Scheduled`] kernel, still has no loop tree: for each stage it lists the loops in
//! order, and where the stage is computed. [`crate::lower`] makes loops of it.
//!
//! Invariants of a [`Scheduled`]: the loops of one axis appear outer to inner; the steps of an
//! axis's loops divide one another; a vector loop is the last of its stage; task loops are the
//! first; a stage is placed in a loop of a later stage, or nowhere.

use crate::contraction::{self, Contraction};
use crate::opt::{Layout, LoopRef, Opt, Schedule, StageHome, Tail, To};
use svod_ir::expr::{Expr, ExprId, Mem, ParamId, TempId};
use svod_ir::kernel::{AxisId, Body, Kernel, Out, Param, Stage};
use svod_ir::size::Size;

/// How a loop runs, as far as the schedule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    Serial,
    Unroll,
    Vector,
    Task,
}

/// One loop of a stage.
#[derive(Clone, Debug)]
pub(crate) struct LoopState {
    pub axis: AxisId,
    pub part: u32,
    /// Points of the axis that one iteration covers.
    pub step: u64,
    /// What happens where `step` does not divide what is left; meaningless for step 1.
    pub tail: Tail,
    pub runs: Runs,
    pub rfactor: bool,
}

/// The loops of a stage, outermost first, and where it is computed.
#[derive(Clone, Debug)]
pub(crate) struct StageState {
    pub loops: Vec<LoopState>,
    /// The stage and loop inside which it is computed.
    pub at: Option<(usize, AxisId, u32)>,
    /// Rows and columns of the generated tile that computes the innermost loops.
    pub micro: Option<(u32, u32)>,
    /// How its temporary is laid out.
    pub layout: Layout,
}

/// A copy of a constant operand that is made once, when a plan is prepared.
#[derive(Clone, Debug)]
pub struct PackJob {
    /// Computes parameter `packed` of the main kernel as its only output, its last parameter; its
    /// other parameters are those of the main kernel.
    pub kernel: Kernel,
    /// The parameter of the main kernel that holds the copy.
    pub packed: ParamId,
}

/// A kernel with the loops of each stage decided.
#[derive(Clone, Debug)]
pub(crate) struct Scheduled {
    pub kernel: Kernel,
    pub stages: Vec<StageState>,
    /// Stages, producers before consumers.
    pub order: Vec<usize>,
    pub packs: Vec<PackJob>,
    /// Parameters that hold copies shared by all tasks.
    pub workspaces: Vec<ParamId>,
}

/// Why a step of a schedule is illegal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("step {step} of the schedule, `{opt}`: {why}")]
pub struct ScheduleError {
    /// Counted from 1.
    pub step: usize,
    /// The step's text.
    pub opt: String,
    /// The reason.
    pub why: String,
}

/// Applies every step in order.
pub(crate) fn apply(kernel: &Kernel, schedule: &Schedule) -> Result<Scheduled, ScheduleError> {
    let mut state = Scheduled::new(kernel.clone());
    for (i, opt) in schedule.0.iter().enumerate() {
        state.step(opt).map_err(|why| ScheduleError { step: i + 1, opt: opt.to_string(), why })?;
    }
    Ok(state)
}

type Step<T = ()> = Result<T, String>;

impl StageState {
    fn new(stage: &Stage) -> Self {
        let own = contraction::axes_of_stage(stage);
        let serial =
            |&axis| LoopState { axis, part: 0, step: 1, tail: Tail::Exact, runs: Runs::Serial, rfactor: false };
        StageState { loops: own.iter().map(serial).collect(), at: None, micro: None, layout: Layout::Rows }
    }
}

impl Scheduled {
    fn new(kernel: Kernel) -> Self {
        let stages = kernel.stages.iter().map(StageState::new).collect();
        let order = (0..kernel.stages.len()).collect();
        Scheduled { kernel, stages, order, packs: Vec::new(), workspaces: Vec::new() }
    }

    fn step(&mut self, opt: &Opt) -> Step {
        match opt {
            Opt::Split { at, by, tail } => self.split(at, *by, *tail),
            Opt::Reorder { stage, order } => self.reorder(stage, order),
            Opt::Bind { at, to } => self.bind(at, *to),
            Opt::At { stage, at } => self.at(stage, at),
            Opt::Stage { stage, operand, layout, home } => self.stage_operand(stage, *operand, *layout, *home),
            Opt::Rfactor { at } => self.rfactor(at),
            Opt::Micro { stage, rows, cols } => self.micro(stage, *rows, *cols),
        }
    }

    fn stage(&self, name: &str) -> Step<usize> {
        let found = self.kernel.stages.iter().position(|s| s.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.kernel.stages.iter().map(|s| s.name.as_str()).collect();
            format!("there is no stage `{name}`, only {}", names.join(", "))
        })
    }

    fn find(&self, at: &LoopRef) -> Step<(usize, usize)> {
        let stage = self.stage(&at.stage)?;
        let named = |l: &LoopState| l.part == at.part && self.kernel.axes[l.axis.index()].var.name() == at.axis;
        let found = self.stages[stage].loops.iter().position(named);
        found.map(|l| (stage, l)).ok_or_else(|| format!("stage `{}` has no loop `{at}`", at.stage))
    }

    fn folds(&self, stage: usize, axis: AxisId) -> bool {
        matches!(&self.kernel.stages[stage].body, Body::Fold { axes, .. } if axes.contains(&axis))
    }

    fn split(&mut self, at: &LoopRef, by: u64, tail: Tail) -> Step {
        let (stage, at) = self.find(at)?;
        if by == 0 {
            return Err("a split by 0".into());
        }
        if contraction::scans(&self.kernel, stage, self.stages[stage].loops[at].axis) {
            return Err("a scan visits its axis in order; it cannot be split".into());
        }
        let loops = &mut self.stages[stage].loops;
        let old = loops[at].clone();
        if old.runs != Runs::Serial {
            return Err("only a serial loop can be split; bind after splitting".into());
        }
        if tail == Tail::Exact {
            let whole = old.step as i64 * by as i64;
            // Inside a loop whose rounds are always full, the points of a round; else all points.
            let around = loops[..at].iter().rev().find(|l| l.axis == old.axis).filter(|l| l.tail != Tail::Rest);
            let points = match around {
                Some(outer) => Size::from(outer.step as i64),
                None => self.kernel.axes[old.axis.index()].extent.clone(),
            };
            if points.divisible_by(whole) != Some(true) {
                return Err(format!("{whole} does not provably divide the extent {points}"));
            }
        }
        let part = 1 + loops.iter().filter(|l| l.axis == old.axis).map(|l| l.part).max().unwrap_or(0);
        let step = old.step.checked_mul(by).ok_or("the split's factor is too large")?;
        loops[at] = LoopState { step, tail, ..old.clone() };
        loops.insert(at + 1, LoopState { part, ..old });
        Ok(())
    }

    fn reorder(&mut self, stage: &str, order: &[LoopRef]) -> Step {
        let index = self.stage(stage)?;
        let mut picked = Vec::new();
        for at in order {
            let (s, l) = self.find(at)?;
            if s != index || picked.contains(&l) {
                return Err(format!("`{at}` is of another stage, or named twice"));
            }
            picked.push(l);
        }
        let loops = &self.stages[index].loops;
        if picked.len() != loops.len() {
            return Err(format!("all {} loops of the stage must be named, {} are", loops.len(), picked.len()));
        }
        let new: Vec<LoopState> = picked.iter().map(|l| loops[*l].clone()).collect();
        for (i, a) in new.iter().enumerate() {
            if new[i + 1..].iter().any(|b| b.axis == a.axis && b.step > a.step) {
                return Err("an inner part of a split axis would run outside its outer part".into());
            }
        }
        self.stages[index].loops = new;
        Ok(())
    }

    fn bind(&mut self, at: &LoopRef, to: To) -> Step {
        let (stage, l) = self.find(at)?;
        let folds = self.folds(stage, self.stages[stage].loops[l].axis);
        let loops = &mut self.stages[stage].loops;
        if to == To::Task {
            if folds || matches!(self.kernel.stages[stage].outs[..], [Out::Temp]) {
                return Err("tasks divide the axes of an output".into());
            }
            if loops[..l].iter().any(|l| l.runs != Runs::Task) {
                return Err("task loops come first".into());
            }
        } else if !loops.iter().any(|o| o.axis == loops[l].axis && o.part != loops[l].part && o.step > loops[l].step) {
            let extent = &self.kernel.axes[loops[l].axis.index()].extent;
            if extent.as_const().is_none() || loops[l].step != 1 {
                return Err(format!("the loop's extent {extent} is not a constant; split it first"));
            }
        }
        if to == To::Vector && l + 1 != loops.len() {
            return Err("a vector loop is the innermost of its stage".into());
        }
        loops[l].runs = match to {
            To::Unroll => Runs::Unroll,
            To::Vector => Runs::Vector,
            To::Task => Runs::Task,
        };
        Ok(())
    }

    fn at(&mut self, stage: &str, at: &LoopRef) -> Step {
        let producer = self.stage(stage)?;
        let (consumer, l) = self.find(at)?;
        let position = |s: usize| self.order.iter().position(|o| *o == s);
        if position(producer) >= position(consumer) {
            return Err(format!("stage `{stage}` is not computed before `{}`", at.stage));
        }
        if matches!(self.stages[consumer].loops[l].runs, Runs::Unroll | Runs::Vector) {
            return Err("nothing can be computed inside an unrolled or vector loop".into());
        }
        let l = &self.stages[consumer].loops[l];
        self.stages[producer].at = Some((consumer, l.axis, l.part));
        Ok(())
    }

    fn rfactor(&mut self, at: &LoopRef) -> Step {
        let (stage, l) = self.find(at)?;
        let Body::Fold { axes, carries, .. } = &self.kernel.stages[stage].body else {
            return Err("the stage is not a fold".into());
        };
        let target = &self.stages[stage].loops[l];
        if !axes.contains(&target.axis) || contraction::scans(&self.kernel, stage, target.axis) {
            return Err("the axis is not reduced".into());
        }
        if carries.iter().any(|c| c.op.alu().is_none() || c.fix.is_some()) {
            return Err("only sum, prod, max, min, any and all can be split over accumulators".into());
        }
        if !matches!(target.runs, Runs::Unroll | Runs::Vector) {
            return Err("the loop is neither unrolled nor a vector".into());
        }
        self.stages[stage].loops[l].rfactor = true;
        Ok(())
    }

    fn contraction(&self, stage: usize) -> Step<Contraction> {
        contraction::recognise(&self.kernel, stage)
            .ok_or_else(|| "the stage is not a contraction of two operands".into())
    }

    fn stage_operand(&mut self, stage: &str, operand: u8, layout: Layout, home: StageHome) -> Step {
        let index = self.stage(stage)?;
        let found = self.contraction(index)?;
        let (side, value) = match operand {
            0 => ("a", found.a),
            1 => ("b", found.b),
            _ => return Err("a contraction has operands 0 and 1".into()),
        };
        let over = found.operand_axes(&self.kernel, operand, layout);
        let dtype = self.kernel.exprs.dtype(value);
        let index_of = |k: &mut Kernel, a: AxisId| {
            let size = Size::from(&k.axes[a.index()].var);
            k.exprs.index(size)
        };
        let copy = match home {
            StageHome::Task => {
                let at: Vec<ExprId> = over.iter().map(|a| index_of(&mut self.kernel, *a)).collect();
                let temp = TempId(self.kernel.stages.len() as u32);
                let name = format!("{stage}.{side}");
                self.add_copy(index, Stage { name, over, body: Body::Map(value), outs: vec![Out::Temp] }, layout)?;
                self.kernel.exprs.load(dtype, Mem::Temp(temp, 0), &at)
            }
            StageHome::Shared => {
                let outside = |e: &ExprId| !matches!(self.kernel.exprs.get(*e), Expr::Load { from: Mem::Temp(..), .. });
                if !self.kernel.exprs.reachable(&[value]).iter().all(outside) {
                    return Err("an operand that reads another stage cannot be shared by all tasks".into());
                }
                let extents: Vec<Size> = over.iter().map(|a| self.kernel.axes[a.index()].extent.clone()).collect();
                let param = ParamId(self.kernel.params.len() as u32);
                let shape = contraction::layout_shape(&extents, layout);
                self.kernel.params.push(Param { dtype, shape, constant: false });
                self.workspaces.push(param);
                let at = contraction::packed_index(&mut self.kernel, &over, layout);
                let (name, outs) = (format!("{stage}.{side}"), vec![Out::Param { param, index: at.clone() }]);
                self.add_copy(index, Stage { name, over, body: Body::Map(value), outs }, layout)?;
                self.kernel.exprs.load(dtype, Mem::Param(param), &at)
            }
            StageHome::Prepared => {
                let pack = contraction::pack_kernel(&self.kernel, value, &over, layout).map_err(String::from)?;
                let packed = ParamId(self.kernel.params.len() as u32);
                let shape = pack.params[pack.params.len() - 1].shape.clone();
                self.kernel.params.push(Param { dtype, shape, constant: true });
                let at = contraction::packed_index(&mut self.kernel, &over, layout);
                self.packs.push(PackJob { kernel: pack, packed });
                self.kernel.exprs.load(dtype, Mem::Param(packed), &at)
            }
        };
        contraction::replace_operand(&mut self.kernel, index, operand, copy);
        Ok(())
    }

    /// Adds the stage that copies an operand of stage `of`.
    fn add_copy(&mut self, of: usize, copy: Stage, layout: Layout) -> Step {
        self.stages.push(StageState { layout, ..StageState::new(&copy) });
        let position = self.order.iter().position(|o| *o == of).ok_or("the stage is not in order")?;
        self.order.insert(position, self.kernel.stages.len());
        self.kernel.stages.push(copy);
        Ok(())
    }

    fn micro(&mut self, stage: &str, rows: u32, cols: u32) -> Step {
        let index = self.stage(stage)?;
        let found = self.contraction(index)?;
        let loops = &self.stages[index].loops;
        let [.., i, j, k] = &loops[..] else { return Err("the stage has fewer than three loops".into()) };
        let ends = (i.axis, j.axis, k.axis) == (found.m, found.n, found.k) && [i, j, k].iter().all(|l| l.step == 1);
        if !ends {
            return Err("the innermost loops must be the innermost parts of rows, columns and depth".into());
        }
        let padded = |axis: AxisId, by: u32| {
            loops.iter().any(|l| l.axis == axis && l.step == u64::from(by) && l.tail == Tail::PadScratch)
        };
        if !padded(found.m, rows) || !padded(found.n, cols) {
            return Err(format!("rows and columns must be split by {rows} and {cols} with padded scratch"));
        }
        let direct = |e: ExprId| matches!(self.kernel.exprs.get(e), Expr::Load { valid: None, .. });
        if !direct(found.a) || !direct(found.b) {
            return Err("both operands must be staged first".into());
        }
        self.stages[index].micro = Some((rows, cols));
        Ok(())
    }
}
