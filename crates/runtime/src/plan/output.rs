//! Outputs of plans, and what stands for their values.
//!
//! A tensor is a value, and an output is a cell that shows the latest one of many. What refers to the cell, a
//! [`PlanOutput`], follows the plan and owns nothing. Whatever is made of it takes the memory of one run instead, by a
//! counted reference ([`Storage::share`]): it goes on seeing what it saw, and the next run, which finds that it is not the
//! only owner ([`Storage::own`]), writes to fresh memory. Where nobody took anything, a run writes in place.
//!
//! While there is no value, before the first run, after one that failed, and while one is at work, what is made of an
//! output is [`Awaited`]: a node without a value, which the end of the next run that succeeds forces to the memory of that
//! run. Nobody waits to build an expression; who reads it waits for a run that is at work, and is told if there is none. Where
//! the instance is dropped before any, its outputs are the expressions that it was made of ([`ExecutionPlan::stands_for`]).
//!
//! [`ExecutionPlan::stands_for`]: super::ExecutionPlan::stands_for
//! [`Storage::share`]: svod_device::Storage::share
//! [`Storage::own`]: svod_device::Storage::own

use super::op::PlanOp;
use super::reentry::{Holder, is_running};
use crate::error::Result;
use crate::memory::Memory;
use parking_lot::{Mutex, RwLock, RwLockWriteGuard};
use std::mem;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use svod_device::{Block, Buffer};
use svod_ir::graph::{Device, Leaf, LeafClass, LeafData, Shape, UOp};
use svod_ir::size::BoundVariable;

/// What all outputs of an instance have in common.
#[derive(Debug)]
pub(crate) struct Content {
    /// Who holds the instance.
    pub(super) holder: Arc<Holder>,
    /// Held exclusively while a run writes the outputs.
    lock: RwLock<()>,
    /// Only locked for as long as it takes to copy a pointer.
    state: Mutex<State>,
}

/// Where an instance is in its life.
#[derive(Debug, Default)]
struct State {
    /// Number of runs that succeeded.
    runs: u64,
    /// Whether the outputs hold the result of the last run.
    valid: bool,
    /// Whether somebody waits for the next one.
    awaited: bool,
    /// What the outputs are as long as no run has succeeded, where that is known.
    expressions: Vec<UOp>,
    /// Whether there will be no further run.
    dropped: bool,
}

impl State {
    /// What an output is where no run has written it, nor will.
    fn instead(&self, output: usize) -> Option<&UOp> {
        self.expressions.get(output).filter(|_| self.dropped)
    }
}

/// The content as its instance has it: no run writes it once this is gone.
#[derive(Debug)]
pub(crate) struct Written(Arc<Content>);

impl Written {
    pub(super) fn new(content: Arc<Content>) -> Written {
        Written(content)
    }
}

impl Deref for Written {
    type Target = Arc<Content>;

    fn deref(&self) -> &Arc<Content> {
        &self.0
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        self.0.state.lock().dropped = true;
    }
}

impl Content {
    /// Of an instance of a plan with these ops.
    pub(super) fn new(ops: &[PlanOp]) -> Arc<Content> {
        Arc::new(Content { holder: Holder::new(ops), lock: RwLock::default(), state: Mutex::default() })
    }

    /// Keeps those away who wait for the end of a run. They never hold the lock for long.
    pub(super) fn write(&self) -> RwLockWriteGuard<'_, ()> {
        self.lock.write()
    }

    /// Waits for a run that is at work, unless there is nothing to wait for, and the content is not valid: this
    /// thread itself runs the plan, or one that a fork has left behind.
    ///
    /// # Errors
    /// Those of [`Holder::wait`].
    fn wait(self: &Arc<Self>, stop: &dyn Fn() -> bool) -> Result<()> {
        if is_running(self) {
            return Ok(());
        }
        if self.lock.try_read().is_some() || self.holder.is_lost() {
            return Ok(());
        }
        self.holder.wait(stop, |patience| self.lock.try_read_for(patience).map(drop))
    }

    /// Whether the outputs hold the result of the last run.
    pub(super) fn is_valid(&self) -> bool {
        self.state.lock().valid
    }

    /// Says whether they do.
    pub(super) fn set_valid(&self, valid: bool) {
        self.state.lock().valid = valid;
    }

    /// Says what the outputs are, by position, if no run ever succeeds.
    pub(super) fn set_expressions(&self, expressions: Vec<UOp>) {
        self.state.lock().expressions = expressions;
    }

    /// Counts a run that succeeded, whose result the outputs hold, and forces what was awaited to it.
    pub(super) fn finish(self: &Arc<Self>, outputs: &[Arc<PlanOutput>]) -> Result<()> {
        let (before, awaited, expressions) = {
            let mut state = self.state.lock();
            state.valid = true;
            state.runs += 1;
            (state.runs - 1, mem::take(&mut state.awaited), mem::take(&mut state.expressions))
        };
        drop(expressions);
        if awaited {
            for output in outputs {
                let value = output.take()?;
                UOp::leaf(output.awaited(before))?.force(UOp::leaf(output.leaf(value, output.shape.clone()))?)?;
            }
        }
        Ok(())
    }
}

/// An output of an instance of a plan: the cell that its runs write.
#[derive(Debug)]
pub struct PlanOutput {
    memory: Memory,
    /// Extents, as they are computed with.
    shape: Shape,
    /// Tells it from other cells over the same memory from outside.
    number: u64,
    /// Its position among the outputs of its instance.
    at: usize,
    /// Whether it is memory from outside, which no run writes.
    given: bool,
    content: Arc<Content>,
    /// The memory of the latest run, while somebody has it.
    taken: Mutex<Weak<Memory>>,
}

impl PlanOutput {
    /// The `at`-th output of an instance.
    pub(super) fn new(
        at: usize,
        buffer: Arc<Buffer>,
        shape: Option<&Shape>,
        given: bool,
        content: &Arc<Content>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let shape = shape.cloned().unwrap_or_else(|| vec![(buffer.count() as i64).into()].into());
        let memory = Memory::new(buffer, LeafClass::Output).with_shape(Some(&shape));
        PlanOutput { memory, shape, number, at, given, content: content.clone(), taken: Mutex::default() }
    }

    /// The plan's own memory, which runs write: of less elements than there is room for, where extents are variables.
    pub fn buffer(&self) -> &Arc<Buffer> {
        self.memory.buffer()
    }

    /// Extents of the result of the latest run, where variables give them.
    pub(super) fn bound_shape(&self) -> Option<Shape> {
        self.memory.bound_shape()
    }

    /// Notes that a run is about to write it, at these values of variables if they are others than before.
    pub(super) fn begin(&self, values: Option<&Arc<[BoundVariable]>>) {
        *self.taken.lock() = Weak::new();
        if let Some(values) = values {
            self.memory.set_bindings(values.clone());
        }
    }

    /// The leaf that a handle has which follows the plan: it is only looked at. Its extents are those that are
    /// computed with.
    pub fn handle(self: &Arc<Self>) -> Leaf {
        Leaf::at(self.clone(), self.number, self.buffer().offset() as u64, self.buffer().dtype(), self.shape.clone())
    }

    /// Nodes that stand for the present values of outputs of one instance: the memory of its latest run, what is
    /// awaited from the next one, or, where there will be none, what it would compute.
    pub fn latest(outputs: &[&Arc<PlanOutput>]) -> Result<Vec<UOp>> {
        let Some(first) = outputs.first() else { return Ok(Vec::new()) };
        // Nodes are made under the lock: the end of a run forces those that are awaited, and has to find them.
        let mut state = first.content.state.lock();
        let one = |output: &&Arc<PlanOutput>| {
            debug_assert!(Arc::ptr_eq(&output.content, &first.content));
            if let Some(expression) = state.instead(output.at) {
                return Ok(expression.clone());
            }
            // What cannot be had is awaited, and whoever reads it is told.
            let taken = if state.valid && state.runs > 0 { output.take().ok() } else { None };
            Ok(UOp::leaf(match taken {
                Some(memory) => {
                    let shape = memory.bound_shape().unwrap_or_else(|| output.shape.clone());
                    output.leaf(memory, shape)
                }
                None => {
                    state.awaited = true;
                    output.awaited(state.runs)
                }
            })?)
        };
        outputs.iter().map(one).collect()
    }

    /// The memory of the latest run, by a reference that counts.
    fn take(&self) -> Result<Arc<Memory>> {
        let mut taken = self.taken.lock();
        if let Some(known) = taken.upgrade() {
            return Ok(known);
        }
        let buffer = match self.given {
            true => self.buffer().clone(),
            false => Arc::new(shared(self.buffer(), self.buffer().count())?),
        };
        let memory = Memory::new(buffer, LeafClass::Data).with_bindings(&self.memory.bindings());
        let memory = Arc::new(memory.with_shape(Some(&self.shape)));
        *taken = Arc::downgrade(&memory);
        Ok(memory)
    }

    fn leaf(&self, memory: Arc<Memory>, shape: Shape) -> Leaf {
        Leaf::new(memory, self.buffer().offset() as u64, self.buffer().dtype(), shape)
    }

    /// What stands for the value of the next run after this number of them.
    fn awaited(&self, runs: u64) -> Leaf {
        let buffer = self.buffer();
        let storage = buffer.storage_id().as_u64();
        let awaited = Awaited { storage, device: self.memory.device(), at: self.at, content: self.content.clone() };
        Leaf::at(Arc::new(awaited), runs, buffer.offset() as u64, buffer.dtype(), self.shape.clone())
    }
}

/// The first elements of a buffer, in memory that counts its owners.
pub(super) fn shared(buffer: &Buffer, count: usize) -> Result<Buffer> {
    Ok(Buffer::over(buffer.storage().share()?, buffer.offset(), buffer.dtype(), count)?)
}

impl LeafData for PlanOutput {
    fn storage_id(&self) -> u64 {
        self.memory.storage_id()
    }

    fn version(&self) -> u64 {
        self.number
    }

    fn class(&self) -> LeafClass {
        LeafClass::Output
    }

    fn device(&self) -> Device {
        self.memory.device()
    }

    fn alignment(&self) -> u64 {
        self.memory.alignment()
    }
}

/// What the next run of a plan will write.
#[derive(Debug)]
pub struct Awaited {
    storage: u64,
    device: Device,
    /// The position of the output.
    at: usize,
    content: Arc<Content>,
}

impl Awaited {
    /// Waits for the run that is at work, if there is one: unless it fails, it forces the leaf's node. A thread that runs
    /// the plan itself, and waits for a function that the plan calls, does not wait. `stop` may end the wait.
    ///
    /// # Errors
    /// [`Error::Interrupted`]; [`Error::Deadlock`] where the run waits, by way of others perhaps, for this thread.
    ///
    /// [`Error::Interrupted`]: crate::Error::Interrupted
    /// [`Error::Deadlock`]: crate::Error::Deadlock
    pub fn wait(&self, stop: &dyn Fn() -> bool) -> Result<()> {
        self.content.wait(stop)
    }

    /// What the run would have computed, where there will be none.
    pub fn instead(&self) -> Option<UOp> {
        self.content.state.lock().instead(self.at).cloned()
    }
}

impl LeafData for Awaited {
    fn storage_id(&self) -> u64 {
        self.storage
    }

    fn version(&self) -> u64 {
        self.content.state.lock().runs
    }

    fn class(&self) -> LeafClass {
        LeafClass::Awaited
    }

    fn device(&self) -> Device {
        self.device.clone()
    }

    fn alignment(&self) -> u64 {
        Block::ALIGN as u64
    }
}
