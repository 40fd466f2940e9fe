//! Who is at work on an instance of a plan: a run that would wait for itself, or for a thread that a fork has
//! left behind, is told instead.

use super::output::Content;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::Arc;

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
