//! Execution plans: ops in order, with code, buffers and pointers at hand, to be run many times.
//!
//! What all instances of a plan share (`Shared`: ops, order, levels, code) never changes. What a
//! run changes (buffers, variables' values, scratch memory) belongs to an [`ExecutionPlan`], one
//! *instance*, and is held exclusively while it runs; [`ExecutionPlan::instance`] makes another.
//!
//! Invariants:
//! * any execution equals running the ops in the order in which they were added;
//! * what has seen an output keeps it: a run writes only memory that nobody else owns ([`output`]);
//! * a run of a plan whose buffers are allocated allocates nothing, hashes nothing, and takes no
//!   lock that another plan holds for longer than it takes to copy a pointer, but for memory in place of
//!   an output's that somebody else has come to own;
//! * a run that fails leaves inputs and variables as they were before;
//! * the pointers that kernels get stay valid while a run lasts, for buffers are released, and moved, only by
//!   the holder of the instance.

mod analysis;
mod builder;
mod certain;
mod donate;
mod gpu;
mod inspect;
mod instance;
mod joined;
mod lend;
mod memory_plan;
mod need;
mod op;
mod order;
mod output;
mod recompute;
mod reentry;
mod required;
mod run;

pub use builder::{BuildError, ExecutionPlanBuilder, PlanInput, Role};
pub use donate::{Donated, Donation};
pub use inspect::{PlanKernel, Profile, Timing};
pub use memory_plan::MemoryReport;
pub use op::{CustomArgs, CustomError, CustomFunction, OpKind, PlanOp};
pub use output::{Awaited, PlanOutput};
pub(crate) use required::Required;

use crate::config::Planner;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::pool::Pool;
use order::Order;
use output::Written;
use parking_lot::Mutex;
use reentry::{Holding, Running, is_running};
use run::Run;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::sync::Arc;
use svod_device::{Buffer, DeviceSpec, StorageId};
use svod_ir::graph::{Leaf, Shape, UOp};
use svod_ir::size::{BoundVariable, Variable};

/// What all instances of a plan share.
pub(crate) struct Shared {
    context: Arc<Context>,
    /// The plan's own pool, where it has a number of threads of its own.
    pool: Option<Arc<Pool>>,
    ops: Vec<PlanOp>,
    order: Order,
    roles: Vec<Role>,
    outputs: Vec<usize>,
    /// Extents of the outputs, where they are known.
    output_shapes: Vec<Shape>,
    input_shapes: Vec<Shape>,
    /// The variables of each input's extents.
    input_vars: Vec<Vec<usize>>,
    /// Free variables of all kernels and shapes, by name, with the bounds that suit all of them.
    vars: Vec<Variable>,
    /// Values that the memory of constants has fixed.
    fixed: Vec<BoundVariable>,
    /// What sizes have to satisfy.
    required: Vec<Required>,
    /// Where each op's kernel gets its variables' values from.
    sources: Vec<Vec<run::Value>>,
    /// Scratch bytes that a task of any kernel needs.
    scratch: usize,
    planner: Planner,
    report: MemoryReport,
    lending: lend::Lending,
    /// Whether a run has nothing to fail by once its memory is there, if it is short.
    certain: bool,
    /// Whether runs look for NaN in what each step writes.
    checks_numbers: bool,
    donations: donate::Donations,
    /// Keeps the leaves' memory as it is.
    _leaves: Vec<Leaf>,
}

impl Shared {
    /// The threads that runs are handed out to.
    fn pool(&self) -> Arc<Pool> {
        self.pool.clone().unwrap_or_else(|| self.context.pool())
    }
}

/// A prepared computation, to be run many times.
///
/// A value of this type is one instance of the plan: it has its own inputs, intermediates and
/// outputs. Runs of one instance take turns; [`ExecutionPlan::instance`] makes another one that
/// shares code and constants, for concurrent use. Outputs are the plan's own memory: each run
/// overwrites them, where nobody else has come to own what the last one wrote.
pub struct ExecutionPlan {
    shared: Arc<Shared>,
    buffers: Vec<Arc<Buffer>>,
    outputs: Vec<Arc<PlanOutput>>,
    inputs: Vec<Arc<Memory>>,
    run: Mutex<Run>,
    content: Written,
    profile: Mutex<Option<Profile>>,
}

/// New content for one input of a run.
#[derive(Clone, Copy, Debug)]
pub enum Feed<'a> {
    /// As it was.
    Keep,
    /// Bytes of the host.
    Bytes(&'a [u8]),
    /// A copy of a buffer, on whichever device.
    Buffer(&'a Buffer),
}

/// Reads an output of a run, by its position.
pub type ReadOutput<'a> = dyn Fn(usize) -> Result<Vec<u8>> + 'a;

impl ExecutionPlan {
    /// Runs all ops; the outputs then hold the results.
    ///
    /// # Errors
    /// The first error stops the run and names the op; the outputs are then not valid.
    pub fn execute(&self) -> Result<()> {
        self.execute_with(&[], &[])
    }

    /// Runs all ops with new values for some variables, which keep them in later runs.
    ///
    /// # Errors
    /// An unknown name, or one that the plan fixes, and a value out of bounds: before anything
    /// changes. A variable without a value.
    pub fn execute_with_vars(&self, vars: &[(&str, i64)]) -> Result<()> {
        self.execute_with(&[], vars)
    }

    /// Runs all ops with new content for the inputs, in order (those not given stay), and new
    /// values for some variables.
    ///
    /// # Errors
    /// As [`ExecutionPlan::execute_with_vars`], and content that does not fit its input: before
    /// anything changes. Inputs and variables of a run that fails are as they were before it.
    pub fn execute_with(&self, inputs: &[Feed], vars: &[(&str, i64)]) -> Result<()> {
        if crate::config::debug_level() == 0
            && let Some(done) = self.execute_certain(inputs, vars)?
        {
            return Ok(done);
        }
        self.execute_accepted(inputs, vars, |_| Ok(()))
    }

    /// [`ExecutionPlan::execute_with`], a run that only succeeds if `accept` does, which may read outputs.
    ///
    /// # Errors
    /// Those of `accept` too.
    pub fn execute_accepted<E: From<Error>>(
        &self,
        inputs: &[Feed],
        vars: &[(&str, i64)],
        accept: impl FnOnce(&ReadOutput) -> Result<(), E>,
    ) -> Result<(), E> {
        if crate::config::debug_level() > 0 {
            self.profiled(inputs, vars, accept)?;
            eprintln!("{self}");
            return Ok(());
        }
        self.locked(inputs, vars, |run| {
            run.run(&self.shared, &self.buffers, |run| accept(&|i| self.content_of(run, i)))
        })
    }

    /// [`ExecutionPlan::execute_accepted`], and the memory of each output, which no later run overwrites,
    /// with its extents.
    fn execute_taken<E: From<Error>>(
        &self,
        inputs: &[Feed],
        vars: &[(&str, i64)],
        accept: impl FnOnce(&ReadOutput) -> Result<(), E>,
    ) -> Result<Vec<(Buffer, Vec<usize>)>, E> {
        self.locked(inputs, vars, |run| -> Result<_, E> {
            run.run(&self.shared, &self.buffers, |run| accept(&|i| self.content_of(run, i)))?;
            let take = |(i, output): (usize, &Arc<PlanOutput>)| {
                let whole = output.buffer();
                let extents = match self.shared.output_shapes.get(i) {
                    Some(shape) => run.extents(&self.shared, shape, &[])?,
                    None => vec![whole.count()],
                };
                Ok((output::shared(whole, extents.iter().product())?, extents))
            };
            Ok(self.outputs.iter().enumerate().map(take).collect::<Result<_>>()?)
        })
    }

    /// Runs all ops one by one, and takes the time of each.
    pub fn execute_profiled(&self) -> Result<Profile> {
        self.execute_with_profiled(&[], &[])
    }

    /// [`ExecutionPlan::execute_profiled`] with new values for some variables.
    pub fn execute_with_vars_profiled(&self, vars: &[(&str, i64)]) -> Result<Profile> {
        self.execute_with_profiled(&[], vars)
    }

    /// [`ExecutionPlan::execute_with`], one op at a time, with the time of each.
    pub fn execute_with_profiled(&self, inputs: &[Feed], vars: &[(&str, i64)]) -> Result<Profile> {
        self.profiled(inputs, vars, |_| Ok(()))
    }

    /// [`ExecutionPlan::execute_accepted`], one op at a time, with the time of each.
    ///
    /// # Errors
    /// Those of `accept` too.
    pub fn profiled<E: From<Error>>(
        &self,
        inputs: &[Feed],
        vars: &[(&str, i64)],
        accept: impl FnOnce(&ReadOutput) -> Result<(), E>,
    ) -> Result<Profile, E> {
        let profile = self.locked(inputs, vars, |run| -> Result<Profile, E> {
            let profile = run.run_profiled(&self.shared, &self.buffers)?;
            accept(&|i| self.content_of(run, i))?;
            Ok(profile)
        })?;
        *self.profile.lock() = Some(profile.clone());
        Ok(profile)
    }

    /// Sets the content of an input for later runs, and variables: those of its shape say how many
    /// elements it has.
    ///
    /// # Errors
    /// As [`ExecutionPlan::execute_with`].
    pub fn set_input(&self, i: usize, feed: Feed, vars: &[(&str, i64)]) -> Result<()> {
        let mut run = self.hold()?;
        run.check_vars(&self.shared, vars)?;
        let bytes = self.check_feed(&run, i, feed, vars)?;
        run.save(&self.shared);
        run.set_vars(&self.shared, vars);
        let done = self.feed(&mut run, i, feed, bytes);
        if done.is_err() {
            run.restore(&self.shared);
        }
        run.trim_spares();
        done
    }

    /// Reads an output.
    ///
    /// # Errors
    /// [`Error::Stale`] where no run made it, or the last one failed.
    pub fn read_output(&self, i: usize) -> Result<Vec<u8>> {
        let run = self.hold()?;
        if self.output(i).is_some() && !self.valid() {
            return Err(Error::Stale);
        }
        self.content_of(&run, i)
    }

    /// What an output holds.
    fn content_of(&self, run: &Run, i: usize) -> Result<Vec<u8>> {
        let output = self.output(i).ok_or_else(|| Error::BufferNotFound(format!("output {i}")))?;
        // At the values of the run that wrote it, which need not be the last one.
        let shape = self.outputs[i].bound_shape().or_else(|| self.shared.output_shapes.get(i).cloned());
        Ok(match shape {
            Some(shape) => output.view(0, output.dtype(), run.count(&self.shared, &shape, &[])?)?.to_vec()?,
            None => output.to_vec()?,
        })
    }

    /// The variables of the user that have a value.
    pub fn values(&self) -> Result<Vec<BoundVariable>> {
        Ok(self.hold()?.values(&self.shared))
    }

    /// A copy of an input, at the present values of the variables in its extents, and these.
    pub fn read_input(&self, i: usize) -> Result<(Buffer, Vec<usize>)> {
        let run = self.hold()?;
        let input = self.inputs.get(i).ok_or_else(|| Error::BufferNotFound(format!("input {i}")))?.buffer();
        let extents = run.extents(&self.shared, &self.shared.input_shapes[i], &[])?;
        // One that was never given holds what happens to be there.
        input.allocate()?;
        let part = input.view(0, input.dtype(), extents.iter().product())?;
        let content = part.to_device(self.shared.context.devices().get(&DeviceSpec::CPU)?.allocator())?;
        drop(run);
        Ok((content, extents))
    }

    /// A copy of any buffer, as the last run left it: an intermediate where the planner was
    /// [`Planner::Disabled`](crate::Planner::Disabled), for others share their memory.
    ///
    /// # Errors
    /// [`Error::BufferNotFound`]; [`Error::Unsupported`] of an intermediate that may have been overwritten;
    /// [`Error::Stale`] of what runs write, where the last one did not finish.
    pub fn read_buffer(&self, i: usize) -> Result<Buffer> {
        let run = self.hold()?;
        let count = self.buffers.len();
        let buffer = self.buffers.get(i).ok_or_else(|| Error::BufferNotFound(format!("buffer {i} of {count}")))?;
        let role = self.shared.roles[i];
        if role == Role::Intermediate && self.shared.planner != Planner::Disabled {
            let message = format!("buffer {i} shares its memory with others; prepare with the planner disabled");
            return Err(Error::Unsupported(message));
        }
        if matches!(role, Role::Intermediate | Role::Output) && !(self.valid() && buffer.is_allocated()) {
            return Err(Error::Stale);
        }
        buffer.allocate()?;
        let content = buffer.to_device(self.shared.context.devices().get(&DeviceSpec::CPU)?.allocator())?;
        drop(run);
        Ok(content)
    }

    /// Whose each buffer is.
    pub fn roles(&self) -> &[Role] {
        &self.shared.roles
    }

    /// Another instance: it shares code and constants, and has inputs, intermediates and outputs of
    /// its own. The inputs' content and the variables' values are those of this one.
    pub fn instance(&self) -> Result<ExecutionPlan> {
        instance::another(self)
    }

    /// Whether the outputs hold the result of the last run.
    pub fn valid(&self) -> bool {
        self.content.is_valid()
    }

    /// The first output.
    pub fn first_output(&self) -> Option<&Arc<Buffer>> {
        self.output(0)
    }

    /// The `i`-th output.
    pub fn output(&self, i: usize) -> Option<&Arc<Buffer>> {
        self.outputs.get(i).map(|m| m.buffer())
    }

    /// All outputs, in the order of the roots.
    pub fn outputs(&self) -> Vec<Arc<Buffer>> {
        self.outputs.iter().map(|m| m.buffer().clone()).collect()
    }

    /// Number of outputs.
    pub fn output_count(&self) -> usize {
        self.outputs.len()
    }

    /// The outputs as what follows the plan, and gives the memory of its latest run.
    pub fn output_cells(&self) -> &[Arc<PlanOutput>] {
        &self.outputs
    }

    /// Says what its outputs are, by position, as long as no run has succeeded: handles that follow the plan, and what was made
    /// of them, are made of these once the plan is dropped.
    pub fn stands_for(&self, expressions: Vec<UOp>) {
        self.content.set_expressions(expressions);
    }

    /// The inputs, writable between runs. While another thread may run the plan,
    /// [`ExecutionPlan::set_input`] is the way.
    pub fn inputs(&self) -> Vec<Arc<Buffer>> {
        self.inputs.iter().map(|m| m.buffer().clone()).collect()
    }

    /// All buffers: leaves, inputs, intermediates and outputs, as kernels index them.
    pub fn buffers(&self) -> &[Arc<Buffer>] {
        &self.buffers
    }

    /// The device of the first output, else the CPU.
    pub fn device(&self) -> DeviceSpec {
        self.first_output().map_or(DeviceSpec::CPU, |b| b.device().clone())
    }

    /// The ops, in the order in which they were added.
    pub fn ops(&self) -> &[PlanOp] {
        &self.shared.ops
    }

    /// Positions of the ops in the order in which they run.
    pub fn order(&self) -> &[usize] {
        &self.shared.order.order
    }

    /// The level of each op: ops of one level are independent.
    pub fn levels(&self) -> &[usize] {
        &self.shared.order.levels
    }

    /// The free variables of the user.
    pub fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.shared.vars.iter().filter(|v| !v.is_internal())
    }

    /// All free variables, those that no user knows included.
    pub(crate) fn all_variables(&self) -> &[Variable] {
        &self.shared.vars
    }

    /// What the memory planner did.
    pub fn memory_report(&self) -> MemoryReport {
        self.shared.report
    }

    /// Bytes of scratch memory that a task of its kernels needs.
    pub(crate) fn scratch(&self) -> usize {
        self.shared.scratch
    }

    /// Gives the memory of intermediates back; the next run allocates again. Says how many were
    /// released.
    ///
    /// # Errors
    /// [`Error::Reentrant`], also of the others that need the instance.
    pub fn release_intermediates(&self) -> Result<usize> {
        self.release(|role| role == Role::Intermediate)
    }

    /// Gives the memory of intermediates and outputs back, inputs excepted.
    pub fn release_all(&self) -> Result<usize> {
        self.release(|role| matches!(role, Role::Intermediate | Role::Output))
    }

    /// Holds the instance exclusively.
    fn hold(&self) -> Result<Holding<'_, Run>> {
        if is_running(&self.content) {
            return Err(Error::Reentrant);
        }
        self.content.holder.hold(&self.run, &|| self.shared.context.is_stopped())
    }

    fn release(&self, which: impl Fn(Role) -> bool) -> Result<usize> {
        let mut run = self.hold()?;
        run.unready();
        let roles = || self.shared.roles.iter().zip(&self.buffers);
        // A view is where what stays is, whatever is made of it.
        let kept: FxHashSet<StorageId> =
            roles().filter(|(role, _)| !which(**role)).map(|(_, buffer)| buffer.storage_id()).collect();
        let mut released = 0;
        for (role, buffer) in roles().filter(|(role, _)| which(**role)) {
            if !kept.contains(&buffer.storage_id()) && buffer.storage().release() {
                released += 1;
                if *role == Role::Output {
                    self.content.set_valid(false);
                }
            }
        }
        Ok(released)
    }

    /// Holds the instance, sets inputs and variables, and runs. Where that fails, these are as before.
    fn locked<T, E: From<Error>>(
        &self,
        inputs: &[Feed],
        vars: &[(&str, i64)],
        run_it: impl FnOnce(&mut Run) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut run = self.hold()?;
        let bytes = self.check(&run, inputs, vars)?;
        run.save(&self.shared);
        let mut fed = 0;
        let done = self.feed_all(&mut run, inputs, &bytes, vars, &mut fed).map_err(E::from);
        let done = done.and_then(|()| self.write_outputs(&mut run, run_it));
        if done.is_err() {
            let given = |i: &usize| !matches!(inputs[*i], Feed::Keep);
            (0..fed).filter(given).for_each(|i| run.unfeed(i, self.inputs[i].buffer()));
            run.restore(&self.shared);
        }
        run.trim_spares();
        done
    }

    /// Sets variables and inputs, and counts those that are set.
    fn feed_all(
        &self,
        run: &mut Run,
        inputs: &[Feed],
        bytes: &[usize],
        vars: &[(&str, i64)],
        fed: &mut usize,
    ) -> Result<()> {
        run.set_vars(&self.shared, vars);
        for (i, (feed, bytes)) in inputs.iter().zip(bytes).enumerate() {
            self.feed(run, i, *feed, *bytes)?;
            *fed = i + 1;
        }
        Ok(())
    }

    /// Runs, which is what outputs are written by.
    fn write_outputs<T, E: From<Error>>(
        &self,
        run: &mut Run,
        run_it: impl FnOnce(&mut Run) -> Result<T, E>,
    ) -> Result<T, E> {
        let _writing = self.content.write();
        self.content.set_valid(false);
        let values = if run.tell() { self.values_of(run) } else { None };
        self.outputs.iter().for_each(|output| output.begin(values.as_ref()));
        let running = Running::enter(&self.content);
        let done = run_it(run)?;
        drop(running);
        self.content.finish(&self.outputs)?;
        Ok(done)
    }

    /// The values at which the elements of outputs will lie, where there are variables.
    fn values_of(&self, run: &Run) -> Option<Arc<[BoundVariable]>> {
        (!self.shared.vars.is_empty()).then(|| run.values(&self.shared).into())
    }

    /// Checks what a run is given, and gives the number of bytes of each content.
    fn check(&self, run: &Run, inputs: &[Feed], vars: &[(&str, i64)]) -> Result<SmallVec<[usize; 8]>> {
        run.check_vars(&self.shared, vars)?;
        let one = |(i, feed): (usize, &Feed)| self.check_feed(run, i, *feed, vars);
        let bytes = inputs.iter().enumerate().map(one).collect::<Result<_>>()?;
        run.check_kept(&self.shared, inputs, vars)?;
        run.check_required(&self.shared, vars)?;
        Ok(bytes)
    }

    /// Checks that a content fits, and gives its number of bytes.
    fn check_feed(&self, run: &Run, i: usize, feed: Feed, vars: &[(&str, i64)]) -> Result<usize> {
        let Some(input) = self.inputs.get(i) else {
            let message = format!("input {i}: the plan has {}", self.inputs.len());
            return Err(Error::BufferNotFound(message));
        };
        let given = match feed {
            Feed::Keep => return Ok(0),
            Feed::Bytes(bytes) => bytes.len(),
            Feed::Buffer(buffer) => buffer.bytes(),
        };
        let count = run.count(&self.shared, &self.shared.input_shapes[i], vars)?;
        let expected = count * input.buffer().dtype().bytes();
        match given == expected {
            true => Ok(expected),
            false => Err(svod_device::DeviceError::SizeMismatch { expected, given }.into()),
        }
    }

    fn feed(&self, run: &mut Run, i: usize, feed: Feed, bytes: usize) -> Result<()> {
        if matches!(feed, Feed::Keep) {
            return Ok(());
        }
        let input = &self.inputs[i];
        let whole = input.buffer();
        run.feed(i, whole, &self.buffers, |memory| {
            let part = memory.view(0, whole.dtype(), bytes / whole.dtype().bytes())?;
            match feed {
                Feed::Keep => {}
                Feed::Bytes(bytes) => part.copy_in(bytes)?,
                Feed::Buffer(buffer) => part.copy_from(buffer)?,
            }
            Ok(())
        })?;
        input.bump_version();
        run.note_feed(&self.shared, i);
        Ok(())
    }
}
