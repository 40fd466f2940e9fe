//! Runs on memory that is not the plan's own: inputs are read where they lie, and outputs written
//! to fresh memory, which stays with the caller.
//!
//! This takes no more than other pointers. It is possible for memory that only kernels touch, through the one buffer that
//! the plan has of it. Where an input or output is anything else (what a copy or a function of the host reads), the plan runs
//! on its own memory and the caller takes that of the outputs, as anybody may ([`super::output`]). Kernels of a GPU may still
//! run when a call returns: memory that is given up meanwhile is given to work that is handed over later only.

use super::builder::{PlanInput, Role};
use super::op::PlanOp;
use super::order::Order;
use super::reentry::{Holding, Running};
use super::run::Run;
use super::{ExecutionPlan, Feed, ReadOutput};
use crate::error::{Error, Result};
use crate::interrupt::Watch;
use crate::pool::Pool;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::ptr::NonNull;
use std::sync::Arc;
use svod_device::{Block, Buffer, Pinned, Storage, StorageId};
use svod_ir::size::BoundVariable;

/// Which buffers of a plan a run may replace: those of all inputs and outputs, or none.
#[derive(Debug, Default)]
pub(super) struct Lending {
    /// Whether they are all replaceable.
    all: bool,
    /// The buffer of each input; none where nothing reads it.
    inputs: Vec<Option<usize>>,
    /// The buffer of each output.
    outputs: Vec<usize>,
    /// Those that may be replaced, in ascending order.
    replaceable: Vec<usize>,
}

impl Lending {
    /// Whether all inputs and outputs may be replaced: then no run writes an input.
    pub(super) fn is_possible(&self) -> bool {
        self.all
    }

    /// What may be replaced in a plan of these parts.
    pub(super) fn new(
        ops: &[PlanOp],
        order: &Order,
        buffers: &[Arc<Buffer>],
        roles: &[Role],
        inputs: &[PlanInput],
        outputs: &[usize],
    ) -> Lending {
        let mut holders: FxHashMap<StorageId, usize> = FxHashMap::default();
        for buffer in buffers {
            *holders.entry(buffer.storage_id()).or_default() += 1;
        }
        let alone = |buffer: &Arc<Buffer>| holders[&buffer.storage_id()] == 1 && !buffer.is_view();
        let mut may: Vec<bool> = buffers.iter().map(alone).collect();
        let mut written = vec![false; buffers.len()];
        for &at in &order.order {
            let op = &ops[at];
            if op.code().is_none() {
                op.buffers.iter().for_each(|b| may[*b] = false);
            }
            let writes: SmallVec<[usize; 4]> = op.accesses().filter(|a| a.1).map(|a| a.0).collect();
            for (buffer, write) in op.accesses() {
                match roles[buffer] {
                    // What is read before it is written was there before the run. An op that does
                    // both, such as a scatter, writes first.
                    Role::Output => may[buffer] &= write || written[buffer] || writes.contains(&buffer),
                    _ => may[buffer] &= !write,
                }
            }
            writes.iter().for_each(|b| written[*b] = true);
        }
        let find = |input: &PlanInput| {
            let storage = input.memory.buffer().storage_id();
            buffers.iter().position(|b| b.storage_id() == storage)
        };
        let inputs: Vec<Option<usize>> = inputs.iter().map(find).collect();
        let distinct: FxHashSet<usize> = outputs.iter().copied().collect();
        let all = distinct.len() == outputs.len()
            && outputs.iter().all(|b| may[*b] && roles[*b] == Role::Output)
            && inputs.iter().flatten().all(|b| may[*b] && roles[*b] == Role::Input);
        let mut replaceable: Vec<usize> = Vec::new();
        if all {
            replaceable.extend(inputs.iter().flatten().chain(outputs));
            replaceable.sort_unstable();
        }
        Lending { all, inputs, outputs: outputs.to_vec(), replaceable }
    }

    /// The buffers that a run may replace, in ascending order.
    pub(super) fn replaceable(&self) -> &[usize] {
        &self.replaceable
    }

    /// Whether a run may have other memory in place of this buffer of the plan.
    pub(super) fn may_replace(&self, buffer: usize) -> bool {
        self.replaceable.binary_search(&buffer).is_ok()
    }
}

/// What a run has made: an output's memory, and its extents.
type Made = (Buffer, Vec<usize>);

impl ExecutionPlan {
    /// Runs all ops on these inputs (those not given are the plan's own), and gives outputs in
    /// memory of their own, with their extents.
    ///
    /// The plan's own inputs, outputs and values of variables stay as they were, unless
    /// [`ExecutionPlan::gives_fresh_outputs`] denies it: then they are as after
    /// [`ExecutionPlan::execute_with`].
    ///
    /// # Errors
    /// As [`ExecutionPlan::execute_with`].
    pub fn call(&self, inputs: &[Feed], vars: &[(&str, i64)]) -> Result<Vec<(Buffer, Vec<usize>)>> {
        self.call_accepted(inputs, vars, |_| Ok(()))
    }

    /// [`ExecutionPlan::call`], which only succeeds if `accept` does, which may read outputs.
    ///
    /// # Errors
    /// Those of `accept` too.
    pub fn call_accepted<E: From<Error>>(
        &self,
        inputs: &[Feed],
        vars: &[(&str, i64)],
        accept: impl FnOnce(&ReadOutput) -> Result<(), E>,
    ) -> Result<Vec<(Buffer, Vec<usize>)>, E> {
        if !self.shared.lending.all {
            return self.execute_taken(inputs, vars, accept);
        }
        let mut run = self.hold()?;
        let mut lent = self.lend(&mut run, inputs, vars)?;
        let outputs = 0..self.shared.lending.outputs.len();
        let fresh = outputs.map(|i| self.fresh(i, &mut lent)).collect::<Result<Vec<_>>>()?;
        let _running = Running::enter(&self.content);
        run.run_on(&self.shared, &self.buffers, &lent.memory, || {
            accept(&|i| {
                let output = fresh.get(i).ok_or_else(|| Error::BufferNotFound(format!("output {i}")))?;
                Ok(output.to_vec()?)
            })
        })?;
        Ok(fresh.into_iter().zip(lent.extents).collect())
    }

    /// [`ExecutionPlan::call_accepted`], which writes outputs over inputs: those of the plan's donations of which `take`,
    /// which is given the output's position and what the input was fed, says that nobody else has a hold on the memory. Of
    /// these it gives none.
    ///
    /// `accept` is asked before anything is overwritten, then `take`, and after that nothing fails or stops the run.
    ///
    /// # Errors
    /// As [`ExecutionPlan::call_accepted`].
    ///
    /// # Safety
    /// Nobody else reads or writes memory that `take` accepts until this returns.
    pub unsafe fn call_writing<E: From<Error>>(
        &self,
        inputs: &[Feed],
        vars: &[(&str, i64)],
        accept: impl FnOnce(&ReadOutput) -> Result<(), E>,
        mut take: impl FnMut(usize, &Buffer) -> bool,
    ) -> Result<Vec<Option<Made>>, E> {
        let (lending, donations) = (&self.shared.lending, &self.shared.donations);
        // A run that may fail at each step writes over nothing.
        if !lending.all || donations.pairs.is_empty() || self.shared.checks_numbers {
            return Ok(self.call_accepted(inputs, vars, accept)?.into_iter().map(Some).collect());
        }
        let mut run = self.hold()?;
        let mut lent = self.lend(&mut run, inputs, vars)?;
        let mut is_open = vec![false; lending.outputs.len()];
        donations.pairs.iter().for_each(|pair| is_open[pair.output] = true);
        let place = |(i, open): (usize, &bool)| if *open { Ok(None) } else { self.fresh(i, &mut lent).map(Some) };
        let fresh = is_open.iter().enumerate().map(place).collect::<Result<Vec<_>>>()?;
        let memory = std::mem::take(&mut lent.memory);
        let mut over: Vec<Option<Buffer>> = is_open.iter().map(|_| None).collect();
        let _running = Running::enter(&self.content);
        let accepted = || {
            accept(&|i| match fresh.get(i) {
                Some(Some(buffer)) => Ok(buffer.to_vec()?),
                _ => Err(Error::BufferNotFound(format!("output {i}"))),
            })
        };
        run.run_through(&self.shared, &self.buffers, &memory, accepted, || -> Result<_, E> {
            for pair in &donations.pairs {
                match (inputs.get(pair.input), lent.starts[pair.input]) {
                    (Some(Feed::Buffer(given)), Some(start)) if take(pair.output, given) => {
                        lent.memory.push((lending.outputs[pair.output], start.as_ptr()));
                    }
                    _ => over[pair.output] = Some(self.fresh(pair.output, &mut lent)?),
                }
            }
            Ok(std::mem::take(&mut lent.memory).into_vec())
        })?;
        let made = fresh.into_iter().zip(over).map(|(fresh, over)| fresh.or(over));
        Ok(made.zip(lent.extents).map(|(buffer, extents)| Some((buffer?, extents))).collect())
    }

    /// Checks what a run is given, and puts the inputs in their places.
    fn lend<'a>(&self, run: &mut Run, inputs: &[Feed<'a>], vars: &[(&str, i64)]) -> Result<Lent<'a>>
    where
        Self: 'a,
    {
        let lending = &self.shared.lending;
        self.check(run, inputs, vars)?;
        run.lend_vars(&self.shared, vars);
        let mut lent = Lent::default();
        for (i, at) in lending.inputs.iter().enumerate() {
            let mut start = None;
            if let Some(at) = *at {
                let own = self.inputs[i].buffer();
                let allocator = own.storage().allocator();
                let mut copied = |copy: Buffer| -> Result<NonNull<u8>> {
                    let start = copy.allocate()?;
                    lent.copies.push(copy);
                    Ok(start)
                };
                let read = match *inputs.get(i).unwrap_or(&Feed::Keep) {
                    Feed::Keep => own.allocate()?,
                    Feed::Buffer(buffer) => match lie(buffer, own) {
                        Some((pin, place)) => {
                            lent.pinned.push(pin);
                            *start.insert(place)
                        }
                        None => copied(buffer.to_device(allocator)?)?,
                    },
                    Feed::Bytes(bytes) => copied(Buffer::from_bytes(allocator, own.dtype(), bytes)?)?,
                };
                lent.memory.push((at, read.as_ptr()));
            }
            lent.starts.push(start);
        }
        for (i, at) in lending.outputs.iter().enumerate() {
            lent.extents.push(match self.shared.output_shapes.get(i) {
                Some(shape) => run.extents(&self.shared, shape, vars)?,
                None => vec![self.buffers[*at].count()],
            });
        }
        Ok(lent)
    }

    /// Fresh memory in the place of an output.
    fn fresh(&self, output: usize, lent: &mut Lent) -> Result<Buffer> {
        let at = self.shared.lending.outputs[output];
        let own = &self.buffers[at];
        let buffer = Buffer::new(own.storage().allocator(), own.dtype(), lent.extents[output].iter().product())?;
        lent.memory.push((at, buffer.allocate()?.as_ptr()));
        Ok(buffer)
    }

    /// Runs all ops on memory from byte offsets of these storages on in place of all inputs, which is of the device
    /// and the alignment that the plan was made for, and gives the outputs, of these numbers of elements. These are what
    /// the outputs' extents say at the values that the variables, all of them, have in this run. None while somebody else
    /// runs the instance.
    ///
    /// # Errors
    /// Memory that is not to be had, and those of a run.
    pub(crate) fn repeat(
        &self,
        inputs: &[(&Arc<Storage>, usize)],
        variables: &[BoundVariable],
        counts: &[usize],
    ) -> Option<Result<Vec<Buffer>>> {
        debug_assert!(self.shared.lending.all && self.shared.lending.outputs.len() == counts.len());
        let mut run = self.content.holder.try_hold(&self.run)?;
        Some(self.repeat_with(&mut run, inputs, variables, counts))
    }

    fn repeat_with(
        &self,
        run: &mut Run,
        inputs: &[(&Arc<Storage>, usize)],
        variables: &[BoundVariable],
        counts: &[usize],
    ) -> Result<Vec<Buffer>> {
        let lending = &self.shared.lending;
        if !self.shared.vars.is_empty() {
            let values: SmallVec<[(&str, i64); 8]> =
                variables.iter().map(|bound| (bound.variable().name(), bound.value())).collect();
            run.lend_vars(&self.shared, &values);
        }
        let mut memory: SmallVec<[(usize, *mut u8); 8]> = SmallVec::new();
        let mut pinned: SmallVec<[Pinned; 8]> = SmallVec::new();
        for (at, (storage, offset)) in lending.inputs.iter().zip(inputs) {
            let Some(at) = *at else { continue };
            let mut pin = storage.pin();
            if pin.as_ptr().is_none() {
                drop(pin);
                storage.allocate()?;
                pin = storage.pin();
            }
            let start = pin.as_ptr().ok_or(Error::Stale)?.as_ptr();
            // SAFETY: the leaf that lies there is inside of its storage.
            memory.push((at, unsafe { start.add(*offset) }));
            pinned.push(pin);
        }
        let fresh = |(at, count): (&usize, &usize)| {
            let own = &self.buffers[*at];
            let buffer = Buffer::new(own.storage().allocator(), own.dtype(), *count)?;
            memory.push((*at, buffer.allocate()?.as_ptr()));
            Ok(buffer)
        };
        let fresh = lending.outputs.iter().zip(counts).map(fresh).collect::<Result<Vec<_>>>()?;
        run.run_on(&self.shared, &self.buffers, &memory, || Ok::<_, Error>(()))?;
        Ok(fresh)
    }

    /// Whether [`ExecutionPlan::call`] runs on memory of others, without a copy.
    pub fn gives_fresh_outputs(&self) -> bool {
        self.shared.lending.all
    }
}

/// An instance that is held for several runs on memory of others.
pub(crate) struct Again<'a> {
    plan: &'a ExecutionPlan,
    run: Holding<'a, Run>,
    pool: Arc<Pool>,
    memory: SmallVec<[(usize, *mut u8); 16]>,
    _running: Running,
}

impl ExecutionPlan {
    /// Whether all that a run reads and writes may be memory of others, and nothing looks at it besides.
    pub(crate) fn is_lent_whole(&self) -> bool {
        self.shared.lending.all && !self.shared.checks_numbers
    }

    /// Holds the instance for several runs.
    ///
    /// # Errors
    /// As [`ExecutionPlan::execute`], before anything is run.
    pub(crate) fn begin(&self) -> Result<Again<'_>> {
        let run = self.hold()?;
        let _running = Running::enter(&self.content);
        Ok(Again { plan: self, run, pool: self.shared.pool(), memory: SmallVec::new(), _running })
    }
}

impl Again<'_> {
    /// Sets the values that all variables have in the runs that follow.
    pub(crate) fn set(&mut self, variables: &[(&str, i64)]) -> Result<()> {
        let ExecutionPlan { shared, buffers, .. } = self.plan;
        self.plan.check(&self.run, &[], variables)?;
        self.run.lend_vars(shared, variables);
        self.run.prepare(shared, buffers, self.pool.threads())
    }

    /// Runs all ops with this memory in place of inputs and outputs.
    ///
    /// # Safety
    /// Each has the elements that the plan's has at the values that were set last, and is aligned as blocks are; outputs
    /// are apart from all others, and nobody else accesses any of them meanwhile.
    pub(crate) unsafe fn run(&mut self, inputs: &[*mut u8], outputs: &[*mut u8], watch: &Watch) -> Result<()> {
        let ExecutionPlan { shared, buffers, .. } = self.plan;
        let lending = &shared.lending;
        self.memory.clear();
        let read = lending.inputs.iter().zip(inputs).filter_map(|(at, start)| Some(((*at)?, *start)));
        self.memory.extend(read);
        self.memory.extend(lending.outputs.iter().copied().zip(outputs.iter().copied()));
        self.run.run_again(shared, buffers, &self.memory, &self.pool, watch)
    }
}

/// What a run is given in place of the plan's own memory.
#[derive(Default)]
struct Lent<'a> {
    /// By position among the plan's buffers.
    memory: SmallVec<[(usize, *mut u8); 8]>,
    /// Of each input where it begins, if it is read where it lies.
    starts: Vec<Option<NonNull<u8>>>,
    /// Of each output.
    extents: Vec<Vec<usize>>,
    pinned: SmallVec<[Pinned<'a>; 8]>,
    copies: Vec<Buffer>,
}

/// The memory of `buffer`, if kernels may read it where they expect `own`: they can reach it, and it
/// is as well aligned as they were told.
fn lie<'a>(buffer: &'a Buffer, own: &Buffer) -> Option<(Pinned<'a>, NonNull<u8>)> {
    let pin = buffer.pin();
    // SAFETY: a buffer lies inside its storage.
    let start = unsafe { pin.as_ptr()?.add(buffer.offset()) };
    let aligned = (start.as_ptr() as usize).is_multiple_of(Block::ALIGN);
    (aligned && buffer.device() == own.device()).then_some((pin, start))
}
