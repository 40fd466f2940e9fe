//! `os.fork` waits until no other thread is at work in svod.
//!
//! A child has only the thread that forked. A lock that another one held stays taken in it for good, and what
//! the lock protects may be half-changed: of svod, its compiler and their allocators. svod's locks are taken
//! within *sections* ([`enter`]), in which the interpreter's lock is free, or while it is held, as it is at
//! a fork. So it is enough that no section of another thread is at work, and that none begins, while a process forks.
//!
//! A section that calls a Python function rests meanwhile ([`rest`]), as one does that waits for another thread
//! ([`sleep_at_rest`]): either may take as long as it likes, and what the section holds then are plans and values, which a
//! child that finds them held takes for lost.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// How long a fork waits. Then it goes on: a section may itself wait for the thread that forks.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a thread sleeps that waits.
const NAP: Duration = Duration::from_micros(50);

/// Threads in a section, at work or not.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// Threads at work in a section.
static WORKING: AtomicUsize = AtomicUsize::new(0);

/// Whether a thread forks.
static FORKING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Sections that this thread is in, one inside of the other: a function of the host may use svod.
    static DEPTH: Cell<usize> = const { Cell::new(0) };

    /// Whether this thread is at work in the innermost of them.
    static AT_WORK: Cell<bool> = const { Cell::new(false) };
}

/// A section of this thread, until it is dropped.
pub struct Section {
    /// Whether the thread was at work before.
    worked: bool,
}

/// Begins a section, once nobody forks, with the interpreter's lock held: it may be given back within.
pub fn enter(py: Python<'_>) -> Section {
    let worked = AT_WORK.get();
    if !worked {
        begin(py);
    }
    let depth = DEPTH.replace(DEPTH.get() + 1);
    if depth == 0 {
        INSIDE.fetch_add(1, Ordering::SeqCst);
    }
    Section { worked }
}

impl Drop for Section {
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
        }
        if !self.worked {
            end();
        }
    }
}

/// A Python function that this thread's section has called, until it is dropped.
pub struct Rest<'py> {
    py: Python<'py>,
    worked: bool,
}

/// Rests from the section that the thread is in, if any, with the interpreter's lock held.
pub fn rest(py: Python<'_>) -> Rest<'_> {
    let worked = AT_WORK.get();
    if worked {
        end();
    }
    Rest { py, worked }
}

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        if self.worked {
            begin(self.py);
        }
    }
}

/// Sleeps so long, and as long as somebody forks, as a thread that waits for another one and is therefore without the
/// interpreter's lock.
fn sleep_at_rest(patience: Duration) {
    let worked = AT_WORK.get();
    if worked {
        end();
    }
    sleep(patience);
    while worked && !try_begin() {
        sleep(NAP);
    }
}

/// This thread is at work from now on, once nobody forks.
fn begin(py: Python<'_>) {
    while !try_begin() {
        py.detach(|| {
            while FORKING.load(Ordering::SeqCst) {
                sleep(NAP);
            }
        });
    }
}

/// This thread is at work from now on, unless somebody forks.
fn try_begin() -> bool {
    // Said before it is asked whether somebody forks, who first says so and then asks.
    WORKING.fetch_add(1, Ordering::SeqCst);
    let free = !FORKING.load(Ordering::SeqCst);
    if !free {
        WORKING.fetch_sub(1, Ordering::SeqCst);
    }
    AT_WORK.set(free);
    free
}

/// This thread is no longer at work.
fn end() {
    AT_WORK.set(false);
    WORKING.fetch_sub(1, Ordering::SeqCst);
}

/// Whether a thread is in a section. None can begin one as long as the interpreter's lock is held.
pub fn is_busy() -> bool {
    INSIDE.load(Ordering::SeqCst) > 0
}

/// Waits until no other thread is in a section, and keeps them from beginning one.
#[explained]
#[pyfunction]
pub fn _before_fork(py: Python<'_>) {
    py.detach(|| {
        let start = Instant::now();
        while FORKING.swap(true, Ordering::SeqCst) && start.elapsed() < PATIENCE {
            sleep(NAP);
        }
        while WORKING.load(Ordering::SeqCst) > usize::from(AT_WORK.get()) && start.elapsed() < PATIENCE {
            sleep(NAP);
        }
    });
}

/// Lets sections begin, in the parent, or in the child, which has one thread.
#[explained]
#[pyfunction]
pub fn _after_fork(child: bool) {
    if child {
        INSIDE.store(usize::from(DEPTH.get() > 0), Ordering::SeqCst);
        WORKING.store(usize::from(AT_WORK.get()), Ordering::SeqCst);
    }
    FORKING.store(false, Ordering::SeqCst);
}

/// Makes the interpreter call these, where processes fork, and threads rest that wait.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    svod_ir::waiting::sleep_by(sleep_at_rest);
    let os = py.import("os")?;
    if !os.hasattr("register_at_fork")? {
        return Ok(());
    }
    let after = |child: bool| py.import("functools")?.call_method1("partial", (module.getattr("_after_fork")?, child));
    let hooks = PyDict::new(py);
    hooks.set_item("before", module.getattr("_before_fork")?)?;
    hooks.set_item("after_in_parent", after(false)?)?;
    hooks.set_item("after_in_child", after(true)?)?;
    os.call_method("register_at_fork", (), Some(&hooks))?;
    Ok(())
}
