//! How much a pass looks at: what tests of linearity count.
//!
//! The places where all passes get at their representations (a graph's operands, an expression of a
//! kernel, an instruction of a linear list) call [`visit`], and so do loops that compare things with each
//! other. Release builds do not count.

use super::{PIPELINE, Pass};
use std::cell::{Cell, RefCell};

thread_local! {
    static RUNNING: Cell<Option<Pass>> = const { Cell::new(None) };
    static VISITED: RefCell<[u64; PIPELINE.len()]> = const { RefCell::new([0; PIPELINE.len()]) };
}

/// Counts so many visits for the pass that runs on this thread, in debug builds.
#[inline(always)]
pub fn visit(count: usize) {
    if cfg!(debug_assertions)
        && let Some(pass) = RUNNING.get()
    {
        VISITED.with_borrow_mut(|visited| visited[pass as usize] += count as u64);
    }
}

/// What passes have visited on this thread, by position in the pipeline; zeros in release builds.
pub fn visited() -> [u64; PIPELINE.len()] {
    VISITED.with_borrow(|visited| *visited)
}

/// Does what belongs to a pass.
pub(super) fn within<T>(pass: Pass, work: impl FnOnce() -> T) -> T {
    if !cfg!(debug_assertions) {
        return work();
    }
    let around = RUNNING.replace(Some(pass));
    let done = work();
    RUNNING.set(around);
    done
}
