//! Who is at work on an instance of a plan: a run that would wait for itself, or for a thread that a fork has
//! left behind, is told instead.

use crate::pool::fork;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// The contents that this thread writes, by address, the innermost run last.
    static RUNNING: RefCell<SmallVec<[usize; 8]>> = RefCell::default();
}

/// The outputs of an instance: held exclusively while a run writes them, shared by those who read them.
#[derive(Debug, Default)]
pub(crate) struct Content {
    lock: RwLock<()>,
    /// Which process ([`fork::generation`]) the last to hold the instance or to write was of.
    process: AtomicU64,
}

impl Content {
    /// Notes that this process holds the instance.
    pub(crate) fn claim(&self) {
        self.process.store(fork::generation(), Ordering::Relaxed);
    }

    /// Whether whoever holds the instance, if anybody does, is a thread that this process does not have: it
    /// was at work when the process forked.
    pub(crate) fn is_lost(&self) -> bool {
        self.process.load(Ordering::Relaxed) != fork::generation()
    }

    /// Keeps readers away.
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, ()> {
        self.lock.write()
    }

    /// Keeps runs from writing, after one that is at it. None where there is nothing to wait for, and the content is
    /// not valid: this thread itself runs the plan, or one that a fork has left behind.
    pub(crate) fn read(self: &Arc<Self>) -> Option<RwLockReadGuard<'_, ()>> {
        if is_running(self) {
            return None;
        }
        // Recursive: a writer that waits must not come between two holds of one thread.
        self.lock.try_read_recursive().or_else(|| (!self.is_lost()).then(|| self.lock.read_recursive()))
    }
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
