//! Traces: functions that are called once, with placeholders, to learn which graph they build.
//!
//! A value that depends on a placeholder is one only until its trace ends, and what a function writes to a tensor
//! from outside would be written once, not with each call. So handles know the trace in which they were
//! made, values ([`UOp::trace`]) that of the placeholders they depend on, and an assignment asks both.
//!
//! [`UOp::trace`]: svod_ir::graph::UOp::trace

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use svod_ir::graph::UOp;

use crate::error::{Result, TensorError};

/// What is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traced {
    /// A function of tensors, such as `jit` makes a plan of.
    Function,
    /// The body of a loop.
    Body,
}

impl fmt::Display for Traced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Traced::Function => "a traced function",
            Traced::Body => "the body of a loop",
        })
    }
}

/// A call of a function that is traced, with the placeholders that were made for it.
#[derive(Debug)]
pub struct Trace {
    /// From 1 on; larger for later ones.
    number: u64,
    what: Traced,
}

thread_local! {
    /// The traces that this thread is in, the innermost last.
    static ACTIVE: RefCell<Vec<(u64, Traced)>> = const { RefCell::new(Vec::new()) };
}

impl Trace {
    /// A trace of this kind, which [`Trace::run`] begins.
    pub fn new(what: Traced) -> Trace {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Trace { number: NEXT.fetch_add(1, Ordering::Relaxed), what }
    }

    /// Whether this thread traces something.
    pub fn is_active() -> bool {
        ACTIVE.with_borrow(|active| !active.is_empty())
    }

    /// Calls the function that is traced.
    pub fn run<T>(&self, function: impl FnOnce() -> T) -> T {
        struct Active;
        impl Drop for Active {
            fn drop(&mut self) {
                ACTIVE.with_borrow_mut(Vec::pop);
            }
        }
        ACTIVE.with_borrow_mut(|active| active.push((self.number, self.what)));
        let _active = Active;
        function()
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// How many bodies of loops this thread is in.
    pub(crate) fn depth() -> usize {
        ACTIVE.with_borrow(|active| active.iter().filter(|(_, what)| *what == Traced::Body).count())
    }
}

/// The number of the trace that this thread is in; 0 outside of any.
pub(crate) fn current() -> u64 {
    ACTIVE.with_borrow(|active| active.last().map_or(0, |(number, _)| *number))
}

/// Why a value that depends on a placeholder of a trace cannot be looked at: the trace goes on, or has ended.
pub(crate) fn unknown(trace: u64) -> TensorError {
    let active = ACTIVE.with_borrow(|active| active.iter().any(|(number, _)| *number == trace));
    if active { TensorError::Traced } else { TensorError::Leaked }
}

/// Checks that a handle which was made in the trace `home` may be made to stand for a value.
///
/// # Errors
/// [`TensorError::Outside`] where the handle is from outside of the trace that the thread is in, and
/// [`TensorError::Leaked`] where the value's trace has ended.
pub(crate) fn check_write(op: &'static str, home: u64, value: &UOp) -> Result<()> {
    ACTIVE.with_borrow(|active| {
        if let Some((number, what)) = active.last()
            && home < *number
        {
            return Err(TensorError::Outside { op, what: *what });
        }
        match value.trace() {
            0 => Ok(()),
            of if active.iter().any(|(number, _)| *number == of) => Ok(()),
            _ => Err(TensorError::Leaked),
        }
    })
}
