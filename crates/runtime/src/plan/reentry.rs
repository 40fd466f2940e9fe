//! Who is at work on an instance of a plan: a run that would wait for itself, by way of others or not, or for a
//! thread that a fork has left behind, is told instead.

use super::op::{OpKind, PlanOp};
use super::output::Content;
use crate::error::{Error, Result};
use crate::pool::fork;
use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use svod_ir::waiting::{self, Held, Refused, Thread};

/// Who holds an instance, which is what those wait for who want to run it or to read what it computes.
#[derive(Debug)]
pub(super) struct Holder {
    /// What the plan is called in messages.
    name: String,
    /// Which process ([`fork::generation`]) the last to hold the instance was of.
    process: AtomicU64,
    /// The number of the thread that holds it, or 0.
    thread: AtomicU64,
}

impl Holder {
    /// Of an instance of a plan with these ops, which are what it is known by: that of who calls functions.
    pub(super) fn new(ops: &[PlanOp]) -> Arc<Holder> {
        let mut calls = ops.iter().filter(|op| matches!(op.kind, OpKind::Custom(_)));
        let name = match calls.next().or(ops.last()) {
            Some(op) => format!("the plan of `{}`", op.name()),
            None => "a plan with nothing to do".into(),
        };
        Arc::new(Holder { name, process: AtomicU64::default(), thread: AtomicU64::default() })
    }

    /// Whether whoever holds the instance, if anybody does, is a thread that this process does not have: it
    /// was at work when the process forked.
    pub(super) fn is_lost(&self) -> bool {
        self.process.load(Ordering::Relaxed) != fork::generation()
    }

    /// Holds what belongs to the instance exclusively. `stop` may end the wait for another thread that does.
    ///
    /// # Errors
    /// [`Error::Deadlock`] where that thread waits for this one; [`Error::Forked`]; [`Error::Interrupted`].
    pub(super) fn hold<'a, T>(
        self: &'a Arc<Self>,
        of: &'a Mutex<T>,
        stop: &dyn Fn() -> bool,
    ) -> Result<Holding<'a, T>> {
        let guard = match of.try_lock() {
            Some(guard) => guard,
            None if self.is_lost() => return Err(Error::Forked),
            None => self.wait(stop, |patience| of.try_lock_for(patience))?,
        };
        Ok(self.held(guard))
    }

    /// Holds what belongs to the instance, unless somebody else does.
    pub(super) fn try_hold<'a, T>(&'a self, of: &'a Mutex<T>) -> Option<Holding<'a, T>> {
        of.try_lock().map(|guard| self.held(guard))
    }

    /// Notes that this thread holds the instance.
    fn held<'a, T>(&'a self, guard: MutexGuard<'a, T>) -> Holding<'a, T> {
        self.process.store(fork::generation(), Ordering::Relaxed);
        self.thread.store(Thread::current().number(), Ordering::Release);
        Holding { guard, holder: self }
    }

    /// Waits until `attempt`, which tries for as long as it is told, gives something.
    ///
    /// # Errors
    /// [`Error::Deadlock`] where who holds the instance waits for this thread; [`Error::Interrupted`].
    pub(super) fn wait<T>(
        self: &Arc<Self>,
        stop: &dyn Fn() -> bool,
        attempt: impl FnMut(Duration) -> Option<T>,
    ) -> Result<T> {
        waiting::wait(|| self.clone(), stop, attempt).map_err(|refused| match refused {
            Refused::Stopped => Error::Interrupted,
            Refused::Cycle(names) => Error::Deadlock(names),
        })
    }
}

impl Held for Holder {
    fn holder(&self) -> Option<Thread> {
        Thread::from_number(self.thread.load(Ordering::Acquire))
    }

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// What belongs to an instance, held exclusively.
pub(super) struct Holding<'a, T> {
    guard: MutexGuard<'a, T>,
    holder: &'a Holder,
}

impl<T> Deref for Holding<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Holding<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T> Drop for Holding<'_, T> {
    fn drop(&mut self) {
        // Before another thread can hold it.
        self.holder.thread.store(0, Ordering::Release);
    }
}

thread_local! {
    /// The contents that this thread writes, by address, the innermost run last.
    static RUNNING: RefCell<SmallVec<[usize; 8]>> = RefCell::default();
}

/// A run of this thread.
pub(super) struct Running(());

impl Running {
    /// Notes that the thread runs the instance with this content, until it is dropped.
    pub(super) fn enter(content: &Arc<Content>) -> Running {
        RUNNING.with_borrow_mut(|running| running.push(Arc::as_ptr(content) as usize));
        Running(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.with_borrow_mut(|running| running.pop());
    }
}

/// Whether this thread runs the instance with this content.
pub(crate) fn is_running(content: &Arc<Content>) -> bool {
    RUNNING.with_borrow(|running| running.contains(&(Arc::as_ptr(content) as usize)))
}
