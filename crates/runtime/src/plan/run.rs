//! Running one instance.
//!
//! Everything that a run needs is laid out when the instance is made or a variable changes ([`tables`]):
//! pointers and values in flat tables, numbers of tasks, and the steps of each level. Each worker of
//! the pool has a [`Lane`], into which an op's pointers and values are copied at its first task.

mod cells;
mod numbers;
mod tables;
mod together;

pub(super) use tables::variables;

use self::cells::Cells;
use self::together::Together;
use super::builder::PlanInput;
use super::inspect::{Profile, Timing};
use super::op::{CustomArgs, CustomError, OpKind};
use super::{Feed, Shared};
use crate::error::{Error, Result, VariableError};
use crate::interrupt::Watch;
use crate::pool::{Pool, TaskFn};
use std::cell::UnsafeCell;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;
use svod_device::program::CORE_ID;
use svod_device::{Buffer, DeviceError, HostEntry, Program};
use svod_ir::graph::{LeafData, Shape};
use svod_ir::lowered::cost::WORTH_A_THREAD;
use svod_ir::size::{BoundVariable, Size, SizeError, Variable};

/// Where a kernel's variable has its value from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    /// The op fixes it.
    Fixed(i64),
    /// A variable of the plan.
    Plan(usize),
    /// The index of a task.
    Task,
}

/// What a run changes.
pub(crate) struct Run {
    /// The variables' values, as [`Shared::vars`]: those that this run sees.
    vars: Vec<Option<i64>>,
    /// Those that stay for later runs, which are not told others.
    own: Vec<Option<i64>>,
    /// Of each input that has a content, the values at which its elements lie.
    fed: Vec<Option<Vec<Option<i64>>>>,
    kernels: Vec<Option<KernelRun>>,
    /// Pointers of all kernels.
    ptrs: Vec<*mut u8>,
    /// The buffers that a run may replace, and their positions in `ptrs`, in ascending order.
    replaceable: Vec<(usize, usize)>,
    /// Values of all kernels.
    vals: Vec<i64>,
    phases: Vec<PhaseRun>,
    steps: Vec<Step>,
    /// How many of them are done before nothing tells any more whether the run fails.
    checked: usize,
    /// How many of them are done before the first that writes over an input.
    gate: usize,
    /// Ops that [`Step::Singles`] runs.
    singles: Vec<usize>,
    lanes: Vec<Lane>,
    scratch: Option<Buffer>,
    /// Whether buffers are allocated and `ptrs` are theirs, replaceable ones excepted.
    ready: bool,
    /// Whether replaceable buffers are, too.
    owning: bool,
    /// Whether the outputs know `own`.
    told: bool,
    /// Whether `vals`, `phases` and `steps` suit `vars`.
    laid_out: bool,
    /// Memory that moves from run to run: see [`cells`].
    cells: Cells,
    /// `own` as it was before the run that is at work.
    saved_own: Vec<Option<i64>>,
    /// Likewise `fed`.
    saved_fed: Vec<Option<Vec<Option<i64>>>>,
}

// SAFETY: the pointers are addresses of the instance's buffers, which may be used from any thread;
// whoever holds `Run` exclusively holds the instance.
unsafe impl Send for Run {}
// SAFETY: as above; the only shared references are those of the pool's tasks during a run, which
// write through them to the lane of their own worker alone.
unsafe impl Sync for Run {}

/// The parts of the tables that belong to one kernel.
struct KernelRun {
    ptrs: Range<usize>,
    vals: Range<usize>,
    phases: Range<usize>,
    /// Position of the task's index among the values.
    task: Option<usize>,
}

/// One phase of a kernel.
struct PhaseRun {
    call: PhaseCall,
    tasks: usize,
    /// Slots of all tasks, at the variables' maxima.
    work: f64,
}

/// Runs tasks, on several threads if there is work enough for them.
fn hand_out(pool: &Pool, work: f64, tasks: usize, f: &TaskFn) {
    if work < WORTH_A_THREAD {
        return (0..tasks).for_each(|task| f(0, task));
    }
    pool.run(tasks, f);
}

enum PhaseCall {
    Host(HostEntry),
    /// Of another device; `sized` has the sizes of this run, and takes the kernel's own arguments alone.
    Device {
        program: Arc<dyn Program>,
        global: [usize; 3],
        local: Option<[usize; 3]>,
        sized: Option<usize>,
    },
}

/// What the waiting thread does next.
#[derive(Clone)]
enum Step {
    /// Kernels of one task each, side by side, and their work.
    Singles(Range<usize>, f64),
    /// A kernel whose tasks run side by side.
    Grid(usize),
    /// An op that runs alone: a copy, a custom function, a kernel of another device.
    Alone(usize),
    /// Several kernels of one other device.
    Together(Arc<Together>),
}

/// A worker's own pointers and values, a cache line away from those of others.
#[repr(align(128))]
struct Lane(UnsafeCell<LaneState>);

struct LaneState {
    /// The op whose pointers and values these are.
    op: usize,
    ptrs: Vec<*mut u8>,
    vals: Vec<i64>,
    scratch: *mut u8,
}

/// Slots of a run that takes some milliseconds.
const SHORT: f64 = 1e7;

/// No op.
const NONE: usize = usize::MAX;

impl Run {
    /// The state of an instance that has not run.
    pub(super) fn new(shared: &Shared, bindings: &[BoundVariable], inputs: &[PlanInput]) -> Run {
        let values = |bound: &[BoundVariable]| -> Vec<Option<i64>> {
            let value = |v: &Variable| bound.iter().find(|b| b.variable().name() == v.name()).map(BoundVariable::value);
            shared.vars.iter().map(value).collect()
        };
        let fed = inputs.iter().map(|i| i.filled.then(|| values(&i.memory.bindings()))).collect();
        Run { fed, ..Run::with_vars(values(bindings)) }
    }

    /// The state of another instance, with the same values.
    pub(super) fn another(&self) -> Run {
        Run { fed: self.fed.clone(), ..Run::with_vars(self.own.clone()) }
    }

    fn with_vars(own: Vec<Option<i64>>) -> Run {
        Run {
            vars: own.clone(),
            own,
            fed: Vec::new(),
            kernels: Vec::new(),
            ptrs: Vec::new(),
            replaceable: Vec::new(),
            vals: Vec::new(),
            phases: Vec::new(),
            steps: Vec::new(),
            checked: 0,
            gate: 0,
            singles: Vec::new(),
            lanes: Vec::new(),
            scratch: None,
            ready: false,
            owning: false,
            told: false,
            laid_out: false,
            cells: Cells::default(),
            saved_own: Vec::new(),
            saved_fed: Vec::new(),
        }
    }

    /// Remembers the values of variables, for the case that what follows fails.
    pub(super) fn save(&mut self, shared: &Shared) {
        if !shared.vars.is_empty() {
            self.saved_own.clone_from(&self.own);
            self.saved_fed.clone_from(&self.fed);
        }
    }

    /// Gives the variables the values that were saved.
    pub(super) fn restore(&mut self, shared: &Shared) {
        if !shared.vars.is_empty() {
            self.own.clone_from(&self.saved_own);
            self.fed.clone_from(&self.saved_fed);
            self.told = false;
            self.lend_vars(shared, &[]);
        }
    }

    /// Forgets pointers, because buffers are about to be released.
    pub(super) fn unready(&mut self) {
        self.ready = false;
        self.cells.release_spares();
    }

    /// Checks new values of variables.
    pub(super) fn check_vars(&self, shared: &Shared, new: &[(&str, i64)]) -> Result<()> {
        for &(name, value) in new {
            let by_loop = || shared.ops.iter().any(|op| op.fixed.iter().any(|(n, _)| n == name));
            let by_memory = || shared.fixed.iter().any(|b| b.variable().name() == name);
            if shared.fixed.iter().any(|b| (b.variable().name(), b.value()) == (name, value)) {
                continue;
            }
            let Some(at) = shared.vars.iter().position(|v| v.name() == name) else {
                let known = shared.vars.iter().filter(|v| !v.is_internal()).map(Variable::name).collect::<Vec<_>>();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let fixed = name == CORE_ID || by_loop() || by_memory();
                let name = name.to_owned();
                let error = if fixed { VariableError::Fixed(name) } else { VariableError::Unknown(name, known) };
                return Err(error.into());
            };
            let var: &Variable = &shared.vars[at];
            let (min, max) = (var.min(), var.max());
            if !(min..=max).contains(&value) {
                return Err(VariableError::OutOfRange { name: name.to_owned(), value, min, max }.into());
            }
            if by_memory() {
                return Err(VariableError::Fixed(name.to_owned()).into());
            }
        }
        Ok(())
    }

    /// Checks that every variable will have a value, and that inputs which keep their content have
    /// as many elements as the new values say.
    pub(super) fn check_kept(&self, shared: &Shared, feeds: &[Feed], new: &[(&str, i64)]) -> Result<()> {
        for (at, var) in shared.vars.iter().enumerate() {
            if self.value(shared, at, new).is_none() {
                return Err(VariableError::Unbound(var.name().to_owned()).into());
            }
        }
        for (i, fed) in self.fed.iter().enumerate() {
            let (Some(fed), Feed::Keep) = (fed, feeds.get(i).unwrap_or(&Feed::Keep)) else { continue };
            for &at in &shared.input_vars[i] {
                if let (Some(was), Some(value)) = (fed[at], self.value(shared, at, new))
                    && was != value
                {
                    let name = shared.vars[at].name().to_owned();
                    return Err(VariableError::Input { input: i, name, was, value }.into());
                }
            }
        }
        Ok(())
    }

    /// Checks what else sizes have to satisfy.
    pub(super) fn check_required(&self, shared: &Shared, new: &[(&str, i64)]) -> Result<()> {
        let value = |var: &Variable| {
            let at = shared.vars.iter().position(|known| known.name() == var.name())?;
            self.value(shared, at, new)
        };
        shared.required.iter().try_for_each(|required| required.check(&value))
    }

    /// Sets values of variables, which were checked, for this run and later ones.
    pub(super) fn set_vars(&mut self, shared: &Shared, new: &[(&str, i64)]) {
        for (name, value) in new {
            let Some(at) = shared.vars.iter().position(|v| v.name() == *name) else { continue };
            self.told &= self.own[at] == Some(*value);
            self.own[at] = Some(*value);
        }
        self.lend_vars(shared, &[]);
    }

    /// Sets values of variables, which were checked, for this run alone.
    pub(super) fn lend_vars(&mut self, shared: &Shared, new: &[(&str, i64)]) {
        for at in 0..self.vars.len() {
            let value = self.value(shared, at, new);
            self.laid_out &= self.vars[at] == value;
            self.vars[at] = value;
        }
    }

    /// Whether the plan's own outputs are to be told the values that they will lie at; they are
    /// told but once.
    pub(super) fn tell(&mut self) -> bool {
        !std::mem::replace(&mut self.told, true)
    }

    /// Notes that an input has a content at the present values.
    pub(super) fn note_feed(&mut self, shared: &Shared, input: usize) {
        if !shared.vars.is_empty() {
            self.fed[input] = Some(self.own.clone());
        }
    }

    /// The variables of the user that have a value.
    pub(super) fn values(&self, shared: &Shared) -> Vec<BoundVariable> {
        let bound = |(var, value): (&Variable, &Option<i64>)| var.bind((*value)?).ok();
        shared.vars.iter().zip(&self.own).filter(|(var, _)| !var.is_internal()).filter_map(bound).collect()
    }

    /// The extents of a shape at the present values and these new ones.
    pub(super) fn extents(&self, shared: &Shared, shape: &Shape, new: &[(&str, i64)]) -> Result<Vec<usize>> {
        shape.iter().map(|n| self.extent(shared, n, new)).collect()
    }

    /// Number of elements of a shape at the present values and these new ones.
    pub(super) fn count(&self, shared: &Shared, shape: &Shape, new: &[(&str, i64)]) -> Result<usize> {
        shape.iter().try_fold(1usize, |count, n| Ok(count.saturating_mul(self.extent(shared, n, new)?)))
    }

    /// The extents of a shape in the run that goes on, whose values may be lent to it alone.
    fn extents_now(&self, shared: &Shared, shape: &[Size]) -> Result<Vec<usize>> {
        shape.iter().map(|n| Run::extent_by(shared, n, |at| self.vars[at])).collect()
    }

    fn extent(&self, shared: &Shared, extent: &Size, new: &[(&str, i64)]) -> Result<usize> {
        Run::extent_by(shared, extent, |at| self.value(shared, at, new))
    }

    fn extent_by(shared: &Shared, extent: &Size, value: impl Fn(usize) -> Option<i64>) -> Result<usize> {
        if let Some(known) = extent.as_usize() {
            return Ok(known);
        }
        let lookup = |v: &Variable| value(shared.vars.iter().position(|known| known.name() == v.name())?);
        let value = extent.eval(&lookup).map_err(|error| match error {
            SizeError::Unbound(name) => VariableError::Unbound(name).into(),
            error => Error::UnknownShape(error.to_string()),
        })?;
        usize::try_from(value).map_err(|_| Error::UnknownShape(format!("extent {extent} is {value}")))
    }

    fn value(&self, shared: &Shared, at: usize, new: &[(&str, i64)]) -> Option<i64> {
        let given = new.iter().rfind(|(name, _)| *name == shared.vars[at].name());
        given.map(|(_, value)| *value).or(self.own[at])
    }

    /// Runs all ops, as far as `accept` does once those have run that tell whether the run fails.
    pub(super) fn run<E: From<Error>>(
        &mut self,
        shared: &Shared,
        buffers: &[Arc<Buffer>],
        accept: impl FnOnce(&Run) -> Result<(), E>,
    ) -> Result<(), E> {
        let pool = shared.pool();
        self.prepare(shared, buffers, pool.threads())?;
        self.own(shared, buffers)?;
        self.steps_accepted(shared, buffers, &pool, accept)
    }

    /// Runs all ops on memory that is prepared and the instance's own, and does not ask whether to stop.
    pub(super) fn finish(&mut self, shared: &Shared, buffers: &[Arc<Buffer>]) -> Result<()> {
        self.steps(shared, buffers, &shared.pool(), &Watch::new(None))
    }

    /// Whether the kernels of a run, whose tables are there, take so little time that nobody asks it to stop.
    pub(super) fn is_short(&self) -> bool {
        self.phases.iter().map(|phase| phase.work).sum::<f64>() <= SHORT
    }

    /// [`Run::run`] with this memory in place of buffers that may be replaced, all of them.
    pub(super) fn run_on<E: From<Error>>(
        &mut self,
        shared: &Shared,
        buffers: &[Arc<Buffer>],
        memory: &[(usize, *mut u8)],
        accept: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let pool = shared.pool();
        self.prepare(shared, buffers, pool.threads())?;
        self.owning = false;
        self.replace(memory);
        self.steps_accepted(shared, buffers, &pool, |_| accept())
    }

    /// [`Run::run_on`] once more, of ops which do not fail: the tables are there.
    #[inline]
    pub(super) fn run_again(
        &mut self,
        shared: &Shared,
        buffers: &[Arc<Buffer>],
        memory: &[(usize, *mut u8)],
        pool: &Pool,
        watch: &Watch,
    ) -> Result<()> {
        self.owning = false;
        self.replace(memory);
        self.steps(shared, buffers, pool, watch)
    }

    /// [`Run::run_on`], asking at the gate for more memory in place of buffers. From there on nothing stops the run, and
    /// nothing fails.
    pub(super) fn run_through<E: From<Error>>(
        &mut self,
        shared: &Shared,
        buffers: &[Arc<Buffer>],
        memory: &[(usize, *mut u8)],
        accept: impl FnOnce() -> Result<(), E>,
        at_gate: impl FnOnce() -> Result<Vec<(usize, *mut u8)>, E>,
    ) -> Result<(), E> {
        let pool = shared.pool();
        self.prepare(shared, buffers, pool.threads())?;
        self.owning = false;
        self.replace(memory);
        let watch = Watch::new(shared.context.stop_check());
        self.steps_of(0..self.checked, shared, buffers, &pool, &watch)?;
        accept()?;
        self.steps_of(self.checked..self.gate, shared, buffers, &pool, &watch)?;
        let more = at_gate()?;
        self.replace(&more);
        Ok(self.steps_of(self.gate..self.steps.len(), shared, buffers, &pool, &Watch::new(None))?)
    }

    /// Runs all steps, as far as `accept` does.
    fn steps_accepted<E: From<Error>>(
        &self,
        shared: &Shared,
        buffers: &[Arc<Buffer>],
        pool: &Pool,
        accept: impl FnOnce(&Run) -> Result<(), E>,
    ) -> Result<(), E> {
        let watch = Watch::new(shared.context.stop_check());
        self.steps_of(0..self.checked, shared, buffers, pool, &watch)?;
        accept(self)?;
        Ok(self.steps_of(self.checked..self.steps.len(), shared, buffers, pool, &watch)?)
    }

    /// Runs all steps on the memory that the tables name.
    fn steps(&self, shared: &Shared, buffers: &[Arc<Buffer>], pool: &Pool, watch: &Watch) -> Result<()> {
        self.steps_of(0..self.steps.len(), shared, buffers, pool, watch)
    }

    fn steps_of(
        &self,
        steps: Range<usize>,
        shared: &Shared,
        buffers: &[Arc<Buffer>],
        pool: &Pool,
        watch: &Watch,
    ) -> Result<()> {
        for step in &self.steps[steps] {
            match step {
                Step::Singles(ops, work) => {
                    let ops = &self.singles[ops.clone()];
                    hand_out(pool, *work, ops.len(), &|worker, task| {
                        if !self.stopped(watch, worker) {
                            self.host_kernel(ops[task], worker);
                        }
                    });
                }
                Step::Grid(op) => self.grid(*op, pool, watch),
                Step::Alone(op) => self.alone(shared, buffers, *op)?,
                Step::Together(kernels) => kernels.run(self, shared, buffers)?,
            }
            if shared.checks_numbers {
                self.check_numbers(step, shared, buffers)?;
            }
            if watch.poll() || watch.stopped() {
                return Err(Error::Interrupted);
            }
        }
        Ok(())
    }

    /// Runs the phases of a kernel of the host, one after the other, each with all its tasks.
    fn grid(&self, op: usize, pool: &Pool, watch: &Watch) {
        for phase in self.phases_of(op) {
            let PhaseRun { call: PhaseCall::Host(entry), tasks, work } = self.phases[phase] else { continue };
            hand_out(pool, work, tasks, &|worker, task| {
                if !self.stopped(watch, worker) {
                    self.call(op, entry, worker, task);
                }
            });
        }
    }

    /// Runs all ops one by one, taking the time of each.
    pub(super) fn run_profiled(&mut self, shared: &Shared, buffers: &[Arc<Buffer>]) -> Result<Profile> {
        let watch = Watch::new(shared.context.stop_check());
        let pool = shared.pool();
        self.prepare(shared, buffers, pool.threads())?;
        self.own(shared, buffers)?;
        let mut profile = Profile::default();
        shared.context.synchronize()?;
        let begin = Instant::now();
        for &at in &shared.order.order {
            let op = &shared.ops[at];
            let start = Instant::now();
            match op.code() {
                Some(code) if code.hosts().is_some() => self.grid(at, &pool, &watch),
                _ => {
                    self.alone(shared, buffers, at)?;
                    // What was handed over takes its time as well.
                    op.buffers.iter().try_for_each(|b| buffers[*b].storage().allocator().synchronize())?;
                }
            }
            let time = start.elapsed();
            let device = buffers[op.buffers.first().copied().unwrap_or_default()].device().clone();
            let timing = Timing { op: at, name: op.name().to_owned(), device, time, buffers: op.buffers.clone() };
            let list = if op.code().is_some() { &mut profile.kernels } else { &mut profile.others };
            list.push(timing);
            if watch.poll() || watch.stopped() {
                return Err(Error::Interrupted);
            }
        }
        profile.total = begin.elapsed();
        Ok(profile)
    }

    fn phases_of(&self, op: usize) -> Range<usize> {
        self.kernels[op].as_ref().map_or(0..0, |k| k.phases.clone())
    }

    /// Whether tasks are to be skipped; the check itself is made on the waiting thread.
    fn stopped(&self, watch: &Watch, worker: usize) -> bool {
        if worker == 0 { watch.poll() } else { watch.stopped() }
    }

    /// Runs a kernel of one task a phase.
    fn host_kernel(&self, op: usize, worker: usize) {
        for phase in self.phases_of(op) {
            if let (PhaseCall::Host(entry), 1..) = (&self.phases[phase].call, self.phases[phase].tasks) {
                self.call(op, *entry, worker, 0);
            }
        }
    }

    /// Calls one task.
    fn call(&self, op: usize, entry: HostEntry, worker: usize, task: usize) {
        let Some(kernel) = &self.kernels[op] else { return };
        // SAFETY: a worker index belongs to one thread at a time, and each has a lane.
        let lane = unsafe { &mut *self.lanes[worker].0.get() };
        let (ptrs, vals) = (&self.ptrs[kernel.ptrs.clone()], &self.vals[kernel.vals.clone()]);
        if lane.op != op {
            lane.ptrs[..ptrs.len()].copy_from_slice(ptrs);
            lane.ptrs[ptrs.len()] = lane.scratch;
            lane.vals[..vals.len()].copy_from_slice(vals);
            lane.op = op;
        }
        if let Some(at) = kernel.task {
            lane.vals[at] = task as i64;
        }
        // SAFETY: the pointers are those of the spec's `globals`, to buffers that the builder found
        // large enough, which this instance holds and keeps allocated while it runs, or to what
        // `run_on` was given in the place of some, as large as the values need and held by its
        // caller; edges keep ops that access the same bytes apart. The scratch memory is the lane's own and as large
        // as any kernel needs. The values are within their variables' bounds.
        unsafe { (entry.call)(lane.ptrs.as_ptr(), lane.vals.as_ptr()) };
    }

    /// Runs an op that is no kernel of the host.
    fn alone(&self, shared: &Shared, buffers: &[Arc<Buffer>], at: usize) -> Result<()> {
        let op = &shared.ops[at];
        let failed = |message: String| op.failed(at, message);
        // What is about the device, or its memory, says so by itself.
        let of_device = |error: DeviceError| match error {
            DeviceError::OutOfMemory { .. } | DeviceError::Trapped { .. } | DeviceError::Forked { .. } => error.into(),
            error => failed(error.to_string()),
        };
        match &op.kind {
            OpKind::View { .. } => Ok(()),
            OpKind::Copy => {
                let (to, from) = (&buffers[op.buffers[0]], &buffers[op.buffers[1]]);
                to.copy_from(from).map_err(of_device)
            }
            OpKind::Custom(function) => {
                let var = |name: &str| {
                    let at = shared.vars.iter().position(|v| v.name() == name)?;
                    self.vars[at]
                };
                let args = CustomArgs { buffers, slots: &op.buffers, fixed: &op.fixed, var: &var };
                function.call(&args).map_err(|error| match error {
                    CustomError::Unsupported => Error::Unsupported(format!("op {at}: custom function '{}'", op.name())),
                    CustomError::Failed(message) => failed(message),
                    CustomError::Run(error) => *error,
                    CustomError::Raised(error) => {
                        Error::Raised { op: at, name: op.name().to_owned(), origins: op.origins.clone(), error }
                    }
                })
            }
            OpKind::Kernel(_) => {
                let Some(kernel) = &self.kernels[at] else { return Ok(()) };
                let (ptrs, vals) = (&self.ptrs[kernel.ptrs.clone()], &self.vals[kernel.vals.clone()]);
                for phase in kernel.phases.clone() {
                    let PhaseRun { call: PhaseCall::Device { program, global, local, sized }, tasks: 1.., .. } =
                        &self.phases[phase]
                    else {
                        continue;
                    };
                    let (ptrs, vals) = sized.map_or((ptrs, vals), |own| (&ptrs[..own], &[][..]));
                    // SAFETY: as in `call`; the sizes are what the spec's launch gives.
                    let done = unsafe { program.run(ptrs, vals, Some(*global), *local) };
                    done.map_err(of_device)?;
                }
                Ok(())
            }
        }
    }
}
