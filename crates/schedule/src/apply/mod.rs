//! Applying a schedule to a kernel, step by step: each succeeds or says why not.
//!
//! The result, a [`Scheduled`] kernel, still has no loop tree: for each stage it lists the loops in
//! order, and where the stage is computed. [`crate::lower`] makes loops of it.
//!
//! Invariants of a [`Scheduled`]: the loops of one axis appear outer to inner; the steps of an
//! axis's loops divide one another; a vector loop is the last of its stage; task loops are the
//! first; lanes of a group are a known number, and each reduces into an accumulator of its own; a stage is
//! placed in a loop of a later stage, or nowhere.

mod check;
mod combine;
mod copies;
mod direct_store;
mod fetch;
mod split_reduction;
mod tile;

pub(crate) use direct_store::copied_by;
pub(crate) use split_reduction::cut as cut_in_parts;

use crate::costs::limits::steps::{LARGEST, MAX_COPIES, MAX_GROUP, MAX_LANES, MAX_WARP};
use crate::kernel::contraction::{self, Contraction};
use crate::language::{Layout, LoopRef, Opt, Schedule, Tail, To, Written};
use crate::reduction::corrected_variance::correct_variances_of_parts;
use svod_ir::expr::{ExprId, Mem, ParamId};
use svod_ir::kernel::{AxisId, Body, Emit, Kernel, Monoid, Out, Stage};
use svod_ir::size::Size;

/// How a loop runs, as far as the schedule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    Serial,
    Unroll,
    Vector,
    Task,
    /// Lanes of a group, which is a task: side by side where a target has groups of threads, else in order.
    Lane,
}

/// One loop of a stage.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoopState {
    pub axis: AxisId,
    pub part: u32,
    /// Points of the axis that one iteration covers.
    pub step: u64,
    /// What happens where `step` does not divide what is left; meaningless for step 1.
    pub tail: Tail,
    pub runs: Runs,
    pub rfactor: bool,
    /// The schedule's step that bound it.
    pub bound: usize,
}

/// The loops of a stage, outermost first, and where it is computed.
#[derive(Clone, Debug)]
pub(crate) struct StageState {
    pub loops: Vec<LoopState>,
    /// The stage and loop inside which it is computed.
    pub at: Option<(usize, AxisId, u32)>,
    /// The schedule's step that placed it there.
    placed: usize,
    /// The generated tile that computes the innermost loops.
    pub micro: Option<MicroTile>,
    /// The output that the tile writes itself.
    pub direct_store: Option<DirectStore>,
    /// How its temporary is laid out.
    pub layout: Layout,
    /// Where the copies of a contraction's operands are.
    operands: [Option<Operand>; 2],
    /// Whether its outputs go past the caches.
    pub stream: bool,
    /// What its loops fetch ahead.
    pub prefetches: Vec<Prefetch>,
}

/// The copy of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Operand {
    mem: Mem,
    layout: Layout,
}

/// A generated tile that computes the innermost loops of a contraction: one over rows, one over
/// columns, and those over the depth; and the schedule's step that chose it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MicroTile {
    pub rows: u32,
    pub cols: u32,
    /// Number of loops over the depth.
    pub depth: usize,
    pub step: usize,
}

/// The output that a contraction's tiles write, in place of the stage that copies them there; and the
/// schedule's step that says so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectStore {
    pub output: usize,
    pub step: usize,
}

/// A load, of a parameter, that a round of a serial loop fetches for a later one.
#[derive(Clone, Debug)]
pub(crate) struct Prefetch {
    pub axis: AxisId,
    pub part: u32,
    pub load: ExprId,
    /// Rounds ahead.
    pub ahead: u32,
    /// The schedule's step that asks for it.
    pub step: usize,
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
    /// Whether reductions keep their order and products and sums are rounded one by one.
    pub strict: bool,
    /// Whether no loop is cut, or ends early.
    pub whole: bool,
    /// The reductions that have been cut in parts.
    cuts: Vec<split_reduction::Split>,
}

/// Why a step of a schedule is illegal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {why}", self.place())]
pub struct ScheduleError {
    /// Counted from 1, as the schedule was written; 0 for strictness that was asked for besides.
    pub step: usize,
    /// The step's text, as it was written.
    pub opt: String,
    /// Of several steps that it stands for, the one.
    pub part: Option<String>,
    /// The reason.
    pub why: String,
}

impl ScheduleError {
    /// That of the step at a position.
    pub(crate) fn new(schedule: &Schedule, step: usize, why: String) -> Self {
        let Written { number, text, step: part } = schedule.written(step);
        ScheduleError { step: number, opt: text, part, why }
    }

    /// The step by its number and text.
    pub(crate) fn place(&self) -> String {
        let part = self.part.as_ref().map_or(String::new(), |part| format!(" (its `{part}`)"));
        match self.step {
            0 => format!("`{}`, which comes before the schedule", self.opt),
            step => format!("step {step} of the schedule, `{}`{part}", self.opt),
        }
    }
}

/// Applies every step in order to a kernel that has what parts are put together with, then checks what only the whole can tell.
pub(crate) fn apply(kernel: &Kernel, schedule: &Schedule) -> Result<Scheduled, ScheduleError> {
    let mut state = Scheduled::new(kernel.clone());
    for opt in &schedule.0 {
        if let Opt::SplitReduction { at, .. } = opt
            && let Ok(stage) = state.stage(&at.stage)
        {
            correct_variances_of_parts(&mut state.kernel, stage);
        }
    }
    let error = |step: usize, why| ScheduleError::new(schedule, step, why);
    for (i, opt) in schedule.0.iter().enumerate() {
        state.step(i, opt).map_err(|why| error(i, why))?;
    }
    state.check().map_err(|(step, why)| error(step, why))?;
    Ok(state)
}

const STRICT: &str = "a strict schedule keeps the order of additions, and their rounding";

type Applied<T = ()> = Result<T, String>;

/// What a loop may be split by: points of a round.
fn factor(by: u64) -> Applied<u64> {
    match by {
        0 => Err("a split needs a factor of at least 1, not 0".into()),
        1..=LARGEST => Ok(by),
        _ => Err(format!("a round of a split loop has at most {LARGEST} points")),
    }
}

impl StageState {
    fn new(stage: &Stage) -> Self {
        let mut own = contraction::axes_of_stage(stage);
        // The rows of a sort come before what is sorted.
        own.sort_by_key(|axis| stage.sorts(*axis));
        let serial = |&axis| LoopState {
            axis,
            part: 0,
            step: 1,
            tail: Tail::Exact,
            runs: Runs::Serial,
            rfactor: false,
            bound: 0,
        };
        StageState {
            loops: own.iter().map(serial).collect(),
            at: None,
            placed: 0,
            micro: None,
            direct_store: None,
            layout: Layout::Rows,
            operands: [None; 2],
            stream: false,
            prefetches: Vec::new(),
        }
    }
}

impl Scheduled {
    fn new(kernel: Kernel) -> Self {
        let stages = kernel.stages.iter().map(StageState::new).collect();
        let order = (0..kernel.stages.len()).collect();
        let (packs, workspaces, cuts) = (Vec::new(), Vec::new(), Vec::new());
        Scheduled { kernel, stages, order, packs, workspaces, strict: false, whole: false, cuts }
    }

    fn step(&mut self, number: usize, opt: &Opt) -> Applied {
        match opt {
            Opt::Split { at, by, tail } => self.split(at, *by, *tail),
            Opt::Reorder { stage, order } => self.reorder(stage, order),
            Opt::Bind { at, to } => self.bind(at, *to, number),
            Opt::At { stage, at } => self.at(stage, at, number),
            Opt::Stage { stage, read, layout, home } => self.stage_read(stage, read, *layout, *home),
            Opt::Rfactor { at } => self.rfactor(at),
            Opt::SplitReduction { at, by } => self.parts(at, *by),
            Opt::Pairs { stage } => self.pairs(stage),
            Opt::Turn { stage } => self.turn(stage),
            Opt::Micro { stage, rows, cols } => self.micro(number, stage, *rows, *cols),
            Opt::DirectStore { stage, output } => self.store_directly(number, stage, output),
            Opt::Stream { stage } => self.stream(stage),
            Opt::Prefetch { at, read, ahead } => self.prefetch(number, at, read, *ahead),
            Opt::Whole if self.whole => Err("the loops are whole already".into()),
            Opt::Whole => {
                self.whole = true;
                Ok(())
            }
            Opt::Strict if number > 0 => Err("it is the first step of a schedule".into()),
            Opt::Strict => {
                self.strict = true;
                Ok(())
            }
        }
    }

    fn stage(&self, name: &str) -> Applied<usize> {
        let found = self.kernel.stages.iter().position(|s| s.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.kernel.stages.iter().map(|s| s.name.as_str()).collect();
            format!("there is no stage `{name}`, only {}", names.join(", "))
        })
    }

    fn find(&self, at: &LoopRef) -> Applied<(usize, usize)> {
        let stage = self.stage(&at.stage)?;
        let named = |l: &LoopState| l.part == at.part && self.kernel.axes[l.axis.index()].var.name() == at.axis;
        let found = self.stages[stage].loops.iter().position(named);
        found.map(|l| (stage, l)).ok_or_else(|| format!("stage `{}` has no loop `{at}`", at.stage))
    }

    fn reduces(&self, stage: usize, axis: AxisId) -> bool {
        matches!(&self.kernel.stages[stage].body, Body::Reduce { axes, .. } if axes.contains(&axis))
    }

    fn split(&mut self, at: &LoopRef, by: u64, tail: Tail) -> Applied {
        let (stage, at) = self.find(at)?;
        let by = factor(by)?;
        let loops = &mut self.stages[stage].loops;
        let old = loops[at].clone();
        if old.runs != Runs::Serial {
            return Err("only a serial loop can be split; bind after splitting".into());
        }
        let step = factor(old.step.saturating_mul(by))?;
        if tail == Tail::Exact {
            let whole = step as i64;
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
        let full_rounds = matches!(tail, Tail::Mask | Tail::PadScratch);
        if full_rounds && matches!(self.kernel.stages[stage].body, Body::Sort { .. }) {
            return Err("a sort moves what is there; its rounds cannot run over the end".into());
        }
        let short = |l: &&LoopState| l.axis == old.axis && !l.step.is_multiple_of(step);
        if let (true, Some(outer)) = (full_rounds, loops[..at].iter().rev().find(short)) {
            let round = outer.step;
            return Err(format!("full rounds of {step} points would run over the end of the outer loop's {round}"));
        }
        let part = 1 + loops.iter().filter(|l| l.axis == old.axis).map(|l| l.part).max().unwrap_or(0);
        loops[at] = LoopState { step, tail, ..old.clone() };
        loops.insert(at + 1, LoopState { part, ..old });
        Ok(())
    }

    fn reorder(&mut self, stage: &str, order: &[LoopRef]) -> Applied {
        let index = self.stage(stage)?;
        let mut picked = Vec::new();
        for at in order {
            let (s, l) = self.find(at)?;
            if s != index || picked.contains(&l) {
                return Err(format!("`{at}` is of another stage, or named twice"));
            }
            picked.push(l);
        }
        let mut places = picked.clone();
        places.sort_unstable();
        let loops = &self.stages[index].loops;
        let mut new = loops.clone();
        for (place, l) in places.iter().zip(&picked) {
            new[*place] = loops[*l].clone();
        }
        for (i, a) in new.iter().enumerate() {
            if new[i + 1..].iter().any(|b| b.axis == a.axis && b.step > a.step) {
                return Err("an inner part of a split axis would run outside its outer part".into());
            }
            let sorted = |l: &LoopState| self.kernel.stages[index].sorts(l.axis);
            if sorted(a) && a.runs != Runs::Task && !new[i + 1..].iter().all(sorted) {
                return Err("the rows of a sort are outside of what is sorted".into());
            }
            if a.runs == Runs::Task && new[..i].iter().any(|b| b.runs != Runs::Task) {
                return Err("task loops come first".into());
            }
            if a.runs == Runs::Vector && i + 1 != new.len() {
                return Err("a vector loop is the innermost of its stage".into());
            }
        }
        if let Some(ordered) = self.ordered_axes(index) {
            let places = new.iter().filter_map(|l| ordered.iter().position(|a| *a == l.axis));
            if !places.is_sorted() {
                return Err("the result depends on the order of these axes".into());
            }
        }
        self.stages[index].loops = new;
        Ok(())
    }

    fn bind(&mut self, at: &LoopRef, to: To, number: usize) -> Applied {
        let runs = match to {
            To::Unroll => Runs::Unroll,
            To::Vector => Runs::Vector,
            // A task is a group of lanes.
            To::Task | To::Block => Runs::Task,
            To::Warp | To::Lane => Runs::Lane,
        };
        let (stage, l) = self.find(at)?;
        let old = self.stages[stage].loops[l].clone();
        if old.runs != Runs::Serial {
            return Err("the loop is bound already".into());
        }
        if self.stages.iter().any(|s| s.at == Some((stage, old.axis, old.part))) && runs != Runs::Task {
            return Err("a stage is computed inside the loop".into());
        }
        match runs {
            Runs::Task => self.may_be_tasks(stage, l)?,
            _ => self.may_be_laid_out(stage, l, runs)?,
        }
        if to == To::Vector && l + 1 != self.stages[stage].loops.len() {
            return Err("a vector loop is the innermost of its stage".into());
        }
        let loops = &mut self.stages[stage].loops;
        loops[l].runs = runs;
        loops[l].bound = number;
        Ok(())
    }

    /// Whether the rounds of a loop may be tasks.
    fn may_be_tasks(&self, stage: usize, l: usize) -> Applied {
        let old = &self.stages[stage].loops[l];
        let (name, axis) = (&self.kernel.stages[stage].name, self.kernel.axes[old.axis.index()].var.name());
        if self.reduces(stage, old.axis) {
            return Err(format!(
                "stage `{name}` reduces axis `{axis}`, and tasks share no accumulators; \
                 tasks divide kept axes, `split_reduction` divides what is reduced"
            ));
        }
        if self.may_meet(stage, old.axis) {
            return Err(format!("points of the scatter `{name}` along `{axis}` may meet in one element"));
        }
        if !self.writes(stage) {
            return Err(format!("stage `{name}` writes no output; tasks divide the stages that do"));
        }
        if self.stages[stage].at.is_some() {
            return Err(format!("stage `{name}` is computed inside a loop of another, whose tasks it shares"));
        }
        if self.stages[stage].loops[..l].iter().any(|l| l.runs != Runs::Task) {
            return Err("task loops come first".into());
        }
        let uneven = |o: &LoopState| {
            let extent = &self.kernel.axes[o.axis.index()].extent;
            o.axis == old.axis && o.tail == Tail::Rest && extent.divisible_by(o.step as i64) != Some(true)
        };
        if self.stages[stage].loops[..l].iter().any(uneven) {
            return Err("a grid of tasks is the same everywhere; the last round of the outer loop is shorter".into());
        }
        Ok(())
    }

    /// Whether the rounds of a loop may be copies of its body, or lanes of a vector or of a group.
    fn may_be_laid_out(&self, stage: usize, l: usize, runs: Runs) -> Applied {
        let axis = self.stages[stage].loops[l].axis;
        let rounds = self.rounds(stage, l).as_const().filter(|n| *n >= 0).map(|n| n as u64);
        let Some(rounds) = rounds else {
            let extent = &self.kernel.axes[axis.index()].extent;
            return Err(format!("the loop's extent {extent} is not a constant; split it first"));
        };
        let all = || {
            let loops = &self.stages[stage].loops;
            let same = (0..loops.len()).filter(|i| loops[*i].runs == runs);
            let known = same.map(|i| self.rounds(stage, i).as_const().unwrap_or(1).max(1) as u64);
            known.fold(rounds, u64::saturating_mul)
        };
        match runs {
            Runs::Unroll if all() > MAX_COPIES => {
                return Err(format!("the stage's body would be laid out more than {MAX_COPIES} times"));
            }
            Runs::Vector if rounds > MAX_LANES => {
                return Err(format!("a vector of {rounds} lanes; at most {MAX_LANES} are possible"));
            }
            Runs::Lane if all() > MAX_GROUP => {
                return Err(format!("a group of {} lanes; at most {MAX_GROUP} are possible", all()));
            }
            Runs::Vector | Runs::Lane if !self.sorts_in(stage, axis, runs, rounds) => {
                return Err(format!(
                    "a sort brings its own loops, but for vectors of its points, of 2 to {MAX_WARP} lanes, a power of two"
                ));
            }
            Runs::Vector | Runs::Lane if self.may_meet(stage, axis) => {
                return Err("lanes of a scatter may meet in one element".into());
            }
            _ => {}
        }
        Ok(())
    }

    fn at(&mut self, stage: &str, at: &LoopRef, number: usize) -> Applied {
        let producer = self.stage(stage)?;
        let (consumer, l) = self.find(at)?;
        let position = |s: usize| self.order.iter().position(|o| *o == s);
        if position(producer) >= position(consumer) {
            return Err(format!("stage `{stage}` is not computed before `{}`", at.stage));
        }
        let shared = |o: &Out| matches!(o, Out::Param { param, .. } if self.workspaces.contains(param));
        let early = |s: usize| self.kernel.stages[s].outs.iter().any(shared);
        if early(producer) && !early(consumer) {
            return Err(format!("all tasks read what stage `{stage}` writes, so it has a phase before them"));
        }
        if matches!(self.stages[consumer].loops[l].runs, Runs::Unroll | Runs::Vector) {
            return Err("nothing can be computed inside an unrolled or vector loop".into());
        }
        let l = &self.stages[consumer].loops[l];
        self.stages[producer].at = Some((consumer, l.axis, l.part));
        self.stages[producer].placed = number;
        Ok(())
    }

    fn rfactor(&mut self, at: &LoopRef) -> Applied {
        let (stage, l) = self.find(at)?;
        let Body::Reduce { axes, carries, emit, .. } = &self.kernel.stages[stage].body else {
            return Err("the stage is not a reduction".into());
        };
        let target = &self.stages[stage].loops[l];
        if !axes.contains(&target.axis) {
            return Err("the stage does not reduce the axis".into());
        }
        if *emit != Emit::Last {
            if target.runs != Runs::Vector {
                return Err("a scan visits its axis in order, but for the lanes of a vector".into());
            }
            if *emit == Emit::Exclusive || !self.kernel.is_plain_reduction(stage) {
                return Err("only inclusive scans whose running values are apart go in lanes of a vector".into());
            }
        }
        if carries.iter().any(|c| c.op.alu().is_none() || c.fix.is_some()) {
            return Err("only sum, prod, max, min, any and all can be split over accumulators".into());
        }
        if self.strict {
            return Err(STRICT.into());
        }
        if target.rfactor {
            return Err("its rounds have accumulators of their own already".into());
        }
        let accumulators = |i: usize| self.rounds(stage, i).upper_bound().unwrap_or(i64::MAX).max(1);
        let loops = &self.stages[stage].loops;
        let others = (0..loops.len()).filter(|i| loops[*i].rfactor && *i != l).map(accumulators);
        if others.fold(accumulators(l), i64::saturating_mul) > MAX_LANES as i64 {
            return Err(format!("more than {MAX_LANES} accumulators"));
        }
        self.stages[stage].loops[l].rfactor = true;
        Ok(())
    }

    /// The number of rounds of a stage's loop, at most.
    pub(crate) fn rounds(&self, stage: usize, l: usize) -> Size {
        let loops = &self.stages[stage].loops;
        let around = loops[..l].iter().rev().find(|o| o.axis == loops[l].axis);
        let points = match around {
            Some(outer) => Size::from(outer.step as i64),
            None => self.kernel.axes[loops[l].axis.index()].extent.clone(),
        };
        points.ceil_div(loops[l].step as i64)
    }

    /// Whether the points of an axis may be lanes, as far as sorts are concerned.
    fn sorts_in(&self, stage: usize, axis: AxisId, runs: Runs, rounds: u64) -> bool {
        let Body::Sort { along, .. } = self.kernel.stages[stage].body else { return true };
        runs == Runs::Vector && axis == along && rounds.is_power_of_two() && (2..=MAX_WARP).contains(&rounds)
    }

    /// Whether points along an axis of a scatter may go to one element.
    fn may_meet(&self, stage: usize, axis: AxisId) -> bool {
        let scatter = matches!(self.kernel.stages[stage].body, Body::Scatter { .. });
        scatter && contraction::scattered_axes(&self.kernel, stage).1.contains(&axis)
    }

    /// The axes whose loops must keep their order, where the stage has such: those of a reduction that
    /// tells where its maximum is, those of points that may meet at one element, and all that are reduced where rounding must not change.
    fn ordered_axes(&self, stage: usize) -> Option<Vec<AxisId>> {
        match &self.kernel.stages[stage].body {
            Body::Reduce { axes, carries, .. } => {
                let first = carries.iter().any(|c| matches!(c.op, Monoid::ArgMax | Monoid::ArgMin));
                (first || self.strict).then(|| axes.clone())
            }
            Body::Scatter { .. } => Some(contraction::scattered_axes(&self.kernel, stage).1),
            Body::Sort { .. } | Body::Map(_) => None,
        }
    }

    /// Whether a stage writes to memory.
    pub(crate) fn writes(&self, stage: usize) -> bool {
        self.kernel.stages[stage].outs.iter().any(|o| matches!(o, Out::Param { .. }))
    }

    fn contraction(&self, stage: usize) -> Applied<Contraction> {
        let found = |s: usize| contraction::recognise(&self.kernel, s);
        found(stage).ok_or_else(|| {
            let names = |s: usize| format!("`{}`", self.kernel.stages[s].name);
            let others: Vec<String> =
                (0..self.kernel.stages.len()).filter(|s| found(*s).is_some()).map(names).collect();
            let others = match &others[..] {
                [] => "no stage of this kernel is".to_owned(),
                others => format!("{} is", others.join(", ")),
            };
            format!("stage {} is not a contraction of two operands; {others}", names(stage))
        })
    }
}
