//! From a scheduled kernel to its loop tree.
//!
//! Each output stage that is not placed in another becomes a phase. Loops are emitted outside in;
//! an [`Env`] holds, per axis, how far the enclosing loops have narrowed it: where it starts and
//! how many points remain. At each loop the stages placed there are emitted first, each for just
//! the region that its consumers will read inside ([`region`]).
//!
//! Tails need no test for divisibility: a split whose step does not provably divide what remains
//! either shortens its inner loop, or emits its body twice (full steps, then what is left in
//! narrower ones), or masks, as the split says.

mod attribution;
mod cascade;
mod convert;
mod index_sets;
mod micro;
mod reduction;
mod region;
mod scatter;
mod sort;
mod tail;
mod tighten;
mod variants;

use crate::costs::limits::steps;
use tighten::size_of;
pub use variants::{lower_variants, values_at};

use crate::kernel::access::reads;

use crate::apply::{LoopState, Prefetch, Runs, Scheduled, apply};
use crate::apply::{PackJob, ScheduleError};
use crate::kernel::contraction::{layout_index, layout_shape};
use crate::language::{Layout, LoopRef, MAX_VARIANTS, Schedule, Tail};
use rustc_hash::FxHashMap;
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, Mem, ParamId, TempId};
use svod_ir::kernel::{AxisId, Body, Kernel, Out};
use svod_ir::lowered::{Home, Loop, LoopKind, Lowered, Phase, Stmt, Temp, VerifyError};
use svod_ir::pass::Artifact;
use svod_ir::size::{Size, Variable};

/// Why a kernel has no loop tree under a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LowerError {
    /// A step of the schedule is illegal.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The loops break a rule of loop trees, as listed there: a bug of the compiler, since no step was refused.
    #[error("kernel `{kernel}`, under {cause}: {fault}")]
    Loops {
        /// The kernel's name.
        kernel: String,
        /// The step without which they would not.
        cause: String,
        /// Which rule.
        fault: VerifyError,
    },
    /// One of several variants cannot be applied.
    #[error("{when}: {why}")]
    Variant {
        /// Which.
        when: String,
        /// The reason.
        why: Box<LowerError>,
    },
    /// More variants than a kernel may have.
    #[error("kernel `{kernel}`: {given} schedules, where at most {MAX_VARIANTS} are possible")]
    TooMany {
        /// The kernel's name.
        kernel: String,
        /// Number given.
        given: usize,
    },
    /// Loops that cannot be made, whatever the schedule.
    #[error("stage `{stage}` of kernel `{kernel}`: {why}")]
    Stage {
        /// The kernel's name.
        kernel: String,
        /// The stage's name.
        stage: String,
        /// The reason.
        why: String,
    },
}

/// A kernel's loops, and the copies of constant operands that they read.
#[derive(Clone, Debug)]
pub struct Program {
    /// The loops. Parameters after the kernel's own are packed operands and workspaces.
    pub lowered: Lowered,
    /// What makes the packed operands.
    pub packs: Vec<PackJob>,
    /// Parameters that an earlier phase writes for a later one; their content is undefined at the start.
    pub workspaces: Vec<ParamId>,
}

impl Artifact for Program {
    fn verify(&self) -> Result<(), String> {
        Artifact::verify(&self.lowered)
    }

    fn text(&self) -> Option<String> {
        self.lowered.text()
    }
}

/// Applies a schedule to a kernel.
///
/// # Errors
/// [`LowerError`] names the step of the schedule and the reason.
pub fn lower(kernel: &Kernel, schedule: &Schedule) -> Result<Program, LowerError> {
    loops(kernel, schedule).map_err(|fault| match (attribution::attribute(kernel, schedule, &fault), fault) {
        (Some(step), LowerError::Stage { why, .. }) => ScheduleError::new(schedule, step, why).into(),
        (Some(step), LowerError::Loops { kernel, fault, .. }) => {
            LowerError::Loops { kernel, cause: ScheduleError::new(schedule, step, String::new()).place(), fault }
        }
        (_, fault) => fault,
    })
}

/// The loops of a kernel under a schedule. Of a fault that only they show, the step that it is due to is not known.
fn loops(kernel: &Kernel, schedule: &Schedule) -> Result<Program, LowerError> {
    let scheduled = apply(kernel, schedule)?;
    let roots: Vec<usize> = scheduled.order.iter().copied().filter(|s| is_root(&scheduled, *s)).collect();
    let (mut phases, mut shared, mut computed) = (Vec::new(), Vec::new(), Vec::new());
    for root in roots {
        computed.extend(Lowerer::new(&scheduled).needed(root));
        let emitted = if sort::in_blocks(&scheduled, root) {
            sort::blocks(&scheduled, root).map(|(emitted, used)| {
                shared.extend(used);
                emitted
            })
        } else {
            Lowerer::new(&scheduled).phase(root).map(|phase| vec![phase])
        };
        phases.extend(emitted.map_err(|why| LowerError::Stage {
            kernel: kernel.name.clone(),
            stage: scheduled.kernel.stages[root].name.clone(),
            why,
        })?);
    }
    if let Some(stage) = scheduled.order.iter().copied().find(|s| scheduled.writes(*s) && !computed.contains(s)) {
        let (kernel, stage) = (kernel.name.clone(), scheduled.kernel.stages[stage].name.clone());
        return Err(LowerError::Stage { kernel, stage, why: "an output that no loops compute".into() });
    }
    if !scheduled.whole {
        phases.iter_mut().for_each(index_sets::cut);
    }
    let strict = scheduled.strict;
    let Kernel { name, mut params, vars, .. } = scheduled.kernel;
    let (packs, mut workspaces) = (scheduled.packs, scheduled.workspaces);
    workspaces.extend((params.len()..params.len() + shared.len()).map(|p| ParamId(p as u32)));
    params.extend(shared);
    let lowered = Lowered { name, params, vars, strict, guards: Vec::new(), phases };
    let broken = |fault| LowerError::Loops { kernel: lowered.name.clone(), cause: "no step".into(), fault };
    lowered.verify().map_err(broken)?;
    Ok(Program { lowered, packs, workspaces })
}

fn is_root(s: &Scheduled, stage: usize) -> bool {
    let read = s.kernel.stages[stage].outs.contains(&Out::Temp);
    s.stages[stage].at.is_none() && s.writes(stage) && !read
}

type Made<T = Vec<Stmt>> = Result<T, String>;

/// How far the enclosing loops have narrowed an axis.
#[derive(Clone, Debug)]
struct Span {
    base: Size,
    remaining: Size,
    /// Whether `base + remaining` may lie beyond the axis's end.
    masked: bool,
}

/// The spans of a stage's axes.
type Env = FxHashMap<AxisId, Span>;

/// Where a stage's values have been computed: temporaries, and the region that they cover.
#[derive(Clone, Debug)]
struct Placed {
    /// One a value; none for those that go to memory.
    temps: Vec<Option<TempId>>,
    base: Vec<Size>,
    extents: Vec<Size>,
    /// Where the region ends along each axis, for tiles that must not write beyond.
    ends: Option<Vec<Size>>,
    layout: Layout,
    /// Whether the region is all of some axis, so that a reader's surplus points lie outside.
    whole: bool,
    /// The stage in whose loops it is computed, if these have full rounds that run over the region's end.
    overrun: Option<usize>,
    /// How far each step of the depth lies from the first, where a tile's columns are read from
    /// here at no constant stride.
    offsets: Option<TempId>,
}

impl Placed {
    /// The temporary that holds a value.
    fn temp(&self, value: usize) -> Made<TempId> {
        self.temps
            .get(value)
            .copied()
            .flatten()
            .ok_or_else(|| "a value that goes to memory is read from a temporary".into())
    }

    /// A point relative to the region's start. Along an axis of which the region has one point,
    /// that is 0, whatever the index says.
    fn relative(&self, point: &[Size]) -> Vec<Size> {
        let bases = self.base.iter().zip(&self.extents);
        let one = |extent: &Size| extent.as_const() == Some(1);
        point.iter().zip(bases).map(|(p, (base, n))| if one(n) { Size::ZERO } else { p - base }).collect()
    }
}

struct Lowerer<'s> {
    s: &'s Scheduled,
    phase: Phase,
    placed: FxHashMap<usize, Placed>,
    counters: usize,
}

/// What is left to emit of one stage.
#[derive(Clone)]
struct Nest {
    stage: usize,
    loops: Vec<LoopState>,
    env: Env,
    /// Counters of the loops entered so far that index accumulators.
    entered: Vec<((AxisId, u32), Size)>,
}

impl Nest {
    /// Moves the point along an axis.
    fn advance(&mut self, axis: AxisId, by: Size) {
        if let Some(span) = self.env.get_mut(&axis) {
            span.base = &span.base + by;
        }
    }
}

impl<'s> Lowerer<'s> {
    fn new(s: &'s Scheduled) -> Self {
        Lowerer { s, phase: Phase::default(), placed: FxHashMap::default(), counters: 0 }
    }

    fn phase(mut self, root: usize) -> Made<Phase> {
        let mut env = self.full_env(root);
        self.check_padding(root, &env)?;
        let loops = &self.s.stages[root].loops;
        let tasks = loops.iter().take_while(|l| l.runs == Runs::Task).count();
        for at in 0..tasks {
            let span = env[&loops[at].axis].clone();
            let step = Size::from(loops[at].step as i64);
            let exact = span.remaining.divisible_by(loops[at].step as i64) == Some(true);
            let full = matches!(loops[at].tail, Tail::Mask | Tail::PadScratch);
            if !exact && !full && self.needs_full(root, &loops[at], &loops[at + 1..]) {
                let task = self.name_of(root, &loops[at]);
                return Err(format!(
                    "the last task of `{task}` has fewer points than the others: the loop over them is serial, and outside of reductions"
                ));
            }
            let count = span.remaining.ceil_div(&step);
            let counter = self.counter(root, &loops[at], &count);
            let mut inner = inner_span(&span, &Size::from(&counter), &step);
            if full {
                inner = Span { remaining: step, masked: span.masked || !exact, ..inner };
            }
            env.insert(loops[at].axis, inner);
            self.phase.grid.push(Loop { var: counter, extent: count, kind: LoopKind::Serial });
        }
        let mut body = Vec::new();
        for stage in self.needed(root) {
            if stage != root && self.s.stages[stage].at.is_none() {
                let region = self.full_env(stage);
                body.extend(self.stage(stage, region)?);
            }
        }
        for l in &loops[..tasks] {
            body.extend(self.producers(root, l, &env)?);
        }
        body.extend(self.nest(Nest { stage: root, loops: loops[tasks..].to_vec(), env, entered: Vec::new() })?);
        self.phase.body = body;
        let streams = self.needed(root).into_iter().filter(|stage| self.s.stages[*stage].stream);
        let outs = streams.flat_map(|stage| &self.s.kernel.stages[stage].outs);
        self.phase.streams =
            outs.filter_map(|o| if let Out::Param { param, .. } = o { Some(*param) } else { None }).collect();
        Ok(self.phase)
    }

    /// The stages that `root` and the outputs inside its loops read, directly or not, producers first.
    fn needed(&self, root: usize) -> Vec<usize> {
        let mut wanted = vec![root];
        for &stage in self.s.order.iter().rev() {
            let inside = self.s.stages[stage].at.is_some_and(|(of, ..)| of == root) && self.s.writes(stage);
            if !wanted.contains(&stage) && (inside || wanted.iter().any(|w| reads(&self.s.kernel, *w, stage))) {
                wanted.push(stage);
            }
        }
        self.s.order.iter().copied().filter(|s| wanted.contains(s)).collect()
    }

    fn full_env(&self, stage: usize) -> Env {
        let axes = self.s.stages[stage].loops.iter().map(|l| l.axis);
        let whole = |a: AxisId| Span { base: Size::from(0), remaining: self.axis_extent(a), masked: false };
        axes.map(|a| (a, whole(a))).collect()
    }

    fn axis_extent(&self, axis: AxisId) -> Size {
        self.s.kernel.axes[axis.index()].extent.clone()
    }

    fn reduces(&self, stage: usize, axis: AxisId) -> bool {
        matches!(&self.s.kernel.stages[stage].body, Body::Reduce { axes, .. } if axes.contains(&axis))
    }

    /// A loop, as schedules name it.
    fn name_of(&self, stage: usize, l: &LoopState) -> LoopRef {
        let axis = self.s.kernel.axes[l.axis.index()].var.name();
        LoopRef::new(&self.s.kernel.stages[stage].name, axis, l.part)
    }

    /// A new counter for a loop, unique in the phase.
    fn counter(&mut self, stage: usize, l: &LoopState, count: &Size) -> Variable {
        let stage = self.s.kernel.stages[stage].name.replace('.', "_");
        let axis = self.s.kernel.axes[l.axis.index()].var.name().to_owned();
        let name = self.numbered(&format!("{stage}_{axis}_{}", l.part));
        Variable::counter(&name, count).expect("stage and axis names are identifiers")
    }

    /// A name for a counter, unique in the phase, which no variable of the kernel has.
    fn numbered(&mut self, stem: &str) -> String {
        loop {
            let name = format!("{stem}_{}", self.counters);
            self.counters += 1;
            if self.s.kernel.vars.iter().all(|var| var.name() != name) {
                return name;
            }
        }
    }

    fn temp(&mut self, name: String, dtype: svod_dtype::DType, shape: Vec<Size>, home: Home) -> TempId {
        let base = name.replace('.', "_");
        let taken = |n: &str| self.phase.temps.iter().any(|t| t.name == n);
        let numbered = (1..).map(|i| format!("{base}_{i}"));
        let name = std::iter::once(base.clone()).chain(numbered).find(|n| !taken(n)).unwrap_or(base.clone());
        self.phase.temps.push(Temp { name, dtype, shape, home });
        TempId(self.phase.temps.len() as u32 - 1)
    }

    /// Computes a temporary stage over a region of its axes.
    fn stage(&mut self, stage: usize, region: Env) -> Made {
        self.check_padding(stage, &region)?;
        let state = &self.s.stages[stage];
        let over = &self.s.kernel.stages[stage].dims();
        let mut extents = Vec::new();
        for axis in over {
            let span = &region[axis];
            let bound = span.remaining.upper_bound().ok_or("a scratch extent has no upper bound")?.max(0) as u64;
            let round = self.round(stage, *axis);
            extents.push(Size::from(bound.div_ceil(round) as i64 * round as i64));
        }
        let one = extents.iter().all(|e| e.as_const() == Some(1));
        let home = if one && state.micro.is_none() { Home::Register } else { Home::Scratch };
        let shape = if over.is_empty() { vec![Size::from(1)] } else { layout_shape(&extents, state.layout) };
        let name = &self.s.kernel.stages[stage].name;
        let dtypes = convert::result_types(&self.s.kernel, stage);
        let outs = &self.s.kernel.stages[stage].outs;
        let into = state.direct_store.is_some();
        let temp = |(dtype, out): (&svod_dtype::DType, &Out)| {
            (*out == Out::Temp && !into).then(|| self.temp(name.clone(), *dtype, shape.clone(), home))
        };
        let temps = dtypes.iter().zip(outs).map(temp).collect();
        let base = over.iter().map(|a| region[a].base.clone()).collect();
        let whole = over.iter().any(|a| !region[a].masked && region[a].remaining == self.axis_extent(*a));
        let end = |a: &AxisId| {
            let Span { base, remaining, masked } = &region[a];
            if *masked { (base + remaining).min(self.axis_extent(*a)) } else { base + remaining }
        };
        let ends = state.micro.is_some().then(|| over.iter().map(end).collect());
        let placed = Placed { temps, base, extents, ends, layout: state.layout, whole, overrun: None, offsets: None };
        self.placed.insert(stage, placed);
        let mut body = self.nest(Nest { stage, loops: state.loops.clone(), env: region, entered: Vec::new() })?;
        body.extend(self.offsets(stage)?);
        Ok(body)
    }

    /// The points of an axis that the loops of a stage visit are a multiple of this.
    fn round(&self, stage: usize, axis: AxisId) -> u64 {
        let loops = self.s.stages[stage].loops.iter();
        let full = loops.filter(|l| l.axis == axis && matches!(l.tail, Tail::PadScratch | Tail::Mask));
        full.map(|l| l.step).max().unwrap_or(1)
    }

    /// Refuses full rounds that visit far more points than the region of a stage has: its work and scratch grow with them.
    fn check_padding(&self, stage: usize, region: &Env) -> Made<()> {
        let of_axis = |(axis, span): (&AxisId, &Span)| {
            let points = span.remaining.upper_bound().unwrap_or(i64::MAX).max(1) as f64;
            let round = self.round(stage, *axis) as f64;
            (points / round).ceil() * round / points
        };
        let times: f64 = region.iter().map(of_axis).product();
        let most = steps::MAX_PADDING;
        if times <= most {
            return Ok(());
        }
        let name = &self.s.kernel.stages[stage].name;
        Err(format!("full rounds of `{name}` would visit {times:.0} times the points there are; {most} is the most"))
    }

    /// The stages placed at loop `l` of `consumer`, each for the region read inside.
    fn producers(&mut self, consumer: usize, l: &LoopState, env: &Env) -> Made {
        let here = (consumer, l.axis, l.part);
        let placed: Vec<usize> = self.s.order.iter().copied().filter(|s| self.s.stages[*s].at == Some(here)).collect();
        let regions = self.regions(consumer, env, &placed)?;
        let mut body = Vec::new();
        for (stage, region) in placed.into_iter().zip(regions) {
            body.extend(self.stage(stage, region)?);
            let overrun = self.overruns(consumer, l, env, stage).then_some(consumer);
            if let Some(placed) = self.placed.get_mut(&stage) {
                placed.overrun = overrun;
            }
        }
        Ok(body)
    }

    /// The loops of a stage that are left, and what is inside.
    fn nest(&mut self, nest: Nest) -> Made {
        if self.stored_by_tiles(&nest) {
            return Ok(Vec::new());
        }
        let Some(head) = nest.loops.first() else { return self.point(&nest) };
        if self.s.kernel.stages[nest.stage].sorts(head.axis) {
            return self.sort_row(&nest);
        }
        if self.s.stages[nest.stage].micro.is_some() {
            if self.s.stages[nest.stage].micro.is_some_and(|m| nest.loops.len() == 2 + m.depth) {
                return self.tile(&nest);
            }
        } else if self.reduces(nest.stage, head.axis) {
            return self.reduce(nest);
        }
        self.each(nest, &mut |this, inner| this.nest(inner))
    }

    /// Emits the first loop of a nest around what `inside` gives for the loops that remain.
    fn each(&mut self, nest: Nest, inside: &mut dyn FnMut(&mut Self, Nest) -> Made) -> Made {
        let head = nest.loops[0].clone();
        let span = nest.env[&head.axis].clone();
        let step = Size::from(head.step as i64);
        let exact = span.remaining.divisible_by(head.step as i64) == Some(true);
        // A tile's sums begin at the first step of the depth: there is one round, of no step, where a run has none.
        let begins = self.s.stages[nest.stage].micro.is_some() && self.reduces(nest.stage, head.axis);
        let count = |rounds: Size| if begins && rounds.bounds().0 < 1 { rounds.max(1) } else { rounds };
        if head.step == 1 {
            return self.rounds(
                &nest,
                &head,
                count(span.remaining.clone()),
                &mut |s, c| inner_span(s, c, &Size::from(1)),
                inside,
            );
        }
        if matches!(head.tail, Tail::Mask | Tail::PadScratch) {
            let full = |s: &Span, c: &Size| Span {
                remaining: step.clone(),
                masked: s.masked || !exact,
                ..inner_span(s, c, &step)
            };
            return self.rounds(&nest, &head, count(span.remaining.ceil_div(&step)), &mut { full }, inside);
        }
        if exact || !self.needs_full(nest.stage, &head, &nest.loops[1..]) {
            return self.rounds(
                &nest,
                &head,
                count(span.remaining.ceil_div(&step)),
                &mut |s, c| inner_span(s, c, &step),
                inside,
            );
        }
        let rounds = span.remaining.floordiv(&step);
        let mut body = Vec::new();
        if rounds.as_const() != Some(0) {
            let full = |s: &Span, c: &Size| Span { remaining: step.clone(), ..inner_span(s, c, &step) };
            body = self.rounds(&nest, &head, rounds.clone(), &mut { full }, inside)?;
        }
        let rest = Span { base: &span.base + &(&rounds * &step), remaining: span.remaining.modulo(&step), ..span };
        let mut nest = nest;
        nest.env.insert(head.axis, rest);
        nest.loops.remove(0);
        let next = nest.loops.iter().position(|l| l.axis == head.axis).ok_or("a split loop has lost its inner part")?;
        let narrowed = nest.loops.remove(next);
        nest.loops.insert(0, LoopState { runs: Runs::Serial, rfactor: false, ..narrowed });
        // What remains is the loop's last round: what is computed in each round is computed in it too.
        let some = nest.env[&head.axis].remaining.clone();
        let mut last = self.producers(nest.stage, &head, &nest.env)?;
        let produces = !last.is_empty();
        last.extend(self.each(nest, inside)?);
        if produces && some.bounds().0 < 1 {
            let (zero, some) = (self.phase.exprs.index(0i64), self.phase.exprs.index(some));
            last = vec![Stmt::If(self.phase.exprs.alu(Alu::Lt, &[zero, some]), last)];
        }
        body.extend(last);
        Ok(body)
    }

    /// Whether the next part of a loop's axis always runs in full: it is laid out, or indexes
    /// accumulators by its rounds.
    fn needs_full(&self, stage: usize, head: &LoopState, inner: &[LoopState]) -> bool {
        let Some(next) = inner.iter().position(|l| l.axis == head.axis) else { return false };
        let split = inner[next].step > 1 && inner[next].tail == Tail::Rest;
        let reduced = inner[..next].iter().any(|l| self.reduces(stage, l.axis));
        let micro = self.s.stages[stage].micro.is_some();
        // A scan's line of running values is indexed by point, whatever the rounds.
        let line = self.is_scan(stage);
        matches!(inner[next].runs, Runs::Unroll | Runs::Vector) || (split && reduced && !micro && !line)
    }

    /// `count` rounds of loop `head`; `narrow` gives the span inside round `c`.
    fn rounds(
        &mut self,
        nest: &Nest,
        head: &LoopState,
        count: Size,
        narrow: &mut dyn FnMut(&Span, &Size) -> Span,
        inside: &mut dyn FnMut(&mut Self, Nest) -> Made,
    ) -> Made {
        let span = &nest.env[&head.axis];
        let constant = count.as_const();
        if constant.is_some_and(|c| c <= 0) {
            return Ok(Vec::new());
        }
        let kind = match head.runs {
            Runs::Serial | Runs::Task | Runs::Lane => LoopKind::Serial,
            _ if constant.is_none() => {
                let (name, most) = (self.name_of(nest.stage, head), count.bounds().1);
                return Err(format!(
                    "`{name}` has up to {most} rounds there, and not always as many, as what is unrolled or a vector has"
                ));
            }
            Runs::Unroll => LoopKind::Unroll,
            Runs::Vector => LoopKind::Vector,
        };
        let counter = (constant != Some(1)).then(|| self.counter(nest.stage, head, &count));
        let at = counter.as_ref().map_or(Size::from(0), Size::from);
        let mut inner = nest.clone();
        inner.loops.remove(0);
        inner.env.insert(head.axis, narrow(span, &at));
        if head.rfactor || !self.reduces(nest.stage, head.axis) {
            inner.entered.push(((head.axis, head.part), at));
        }
        let mut body = self.prefetches(nest.stage, head, &inner.env);
        body.extend(self.producers(nest.stage, head, &inner.env)?);
        body.extend(inside(self, inner)?);
        Ok(match counter {
            Some(var) if !body.is_empty() => vec![Stmt::Loop(Loop { var, extent: count, kind }, body)],
            _ => body,
        })
    }

    /// What a round of a loop fetches ahead.
    fn prefetches(&self, stage: usize, l: &LoopState, env: &Env) -> Vec<Stmt> {
        if self.s.stages[stage].micro.is_some() {
            return Vec::new();
        }
        let here = self.s.stages[stage].prefetches.iter().filter(|p| (p.axis, p.part) == (l.axis, l.part));
        let kernel = &self.s.kernel;
        let fetch = |p: &Prefetch| {
            let Expr::Load { from: Mem::Param(from), index, .. } = kernel.exprs.get(p.load) else { return None };
            let at = |v: &Variable| {
                let axis = AxisId(kernel.axes.iter().position(|a| a.var == *v)? as u32);
                let ahead = if axis == l.axis { i64::from(p.ahead) * l.step as i64 } else { 0 };
                env.get(&axis).map(|span| &span.base + ahead)
            };
            let index = index.iter().map(|i| match kernel.exprs.get(*i) {
                Expr::Index(size) => Some(size.substitute(&at)),
                _ => None,
            });
            Some(Stmt::Prefetch { from: *from, index: index.collect::<Option<_>>()? })
        };
        here.filter_map(fetch).collect()
    }

    /// The value of a map or scatter at one point.
    fn point(&mut self, nest: &Nest) -> Made {
        let stage = &self.s.kernel.stages[nest.stage];
        match (&stage.body, &stage.outs[..]) {
            (Body::Map(values), _) => {
                let values = values.iter().map(|v| self.convert(*v, nest, &[])).collect::<Made<Vec<_>>>()?;
                self.store(nest, &values)
            }
            (Body::Scatter { value, combine }, [Out::Param { param, index }]) => {
                self.scatter(nest, *param, index, *value, *combine)
            }
            _ => Err("a reduction over no axes, or a scatter to a temporary".into()),
        }
    }

    /// Stores a stage's values at the current point of its axes.
    fn store(&mut self, nest: &Nest, values: &[ExprId]) -> Made {
        let stage = &self.s.kernel.stages[nest.stage];
        let mut body = Vec::new();
        for (field, (out, value)) in stage.outs.iter().zip(values).enumerate() {
            body.push(match out {
                Out::Temp => {
                    let point: Vec<Size> = stage.dims().iter().map(|a| nest.env[a].base.clone()).collect();
                    let index = self.temp_index(nest.stage, &point)?;
                    let index = index.into_iter().map(|i| self.phase.exprs.index(i)).collect();
                    Stmt::Store {
                        to: Mem::Temp(self.placed[&nest.stage].temp(field)?, 0),
                        index,
                        value: *value,
                        valid: None,
                    }
                }
                Out::Param { param, index } => {
                    let index = index.iter().map(|i| self.convert(*i, nest, &[])).collect::<Result<_, _>>()?;
                    Stmt::Store { to: Mem::Param(*param), index, value: *value, valid: self.guard(nest) }
                }
            });
        }
        Ok(body)
    }

    /// Where a point of a stage's axes lies in its temporary.
    fn temp_index(&self, stage: usize, point: &[Size]) -> Made<Vec<Size>> {
        let placed = self.placed.get(&stage).ok_or("a stage is read outside the loop it is computed in")?;
        if point.is_empty() {
            return Ok(vec![Size::from(0)]);
        }
        Ok(layout_index(&placed.relative(point), placed.layout))
    }
}

/// The span inside round `c` of a loop of `step` points: shorter in the last round, where the
/// step does not provably divide what remains.
fn inner_span(span: &Span, c: &Size, step: &Size) -> Span {
    let done = c * step;
    let exact = step.as_const().is_some_and(|s| span.remaining.divisible_by(s) == Some(true));
    let remaining = if exact { step.clone() } else { (&span.remaining - &done).min(step) };
    Span { base: &span.base + &done, remaining, masked: span.masked }
}
