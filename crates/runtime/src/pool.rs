//! The task pool on which kernels run.
//!
//! A kernel's task grid is fixed by its shapes; the pool maps tasks to threads. A run is one
//! *region*. The calling thread, which is worker 0, and the pool's own threads each have a share of its tasks, one after
//! the other, and take them one at a time; who is done first helps with the shares of others. So a worker
//! mostly finds in its core's caches what it has written for an earlier region of as many rows.
//!
//! Invariants:
//!
//! - A pool holds at most one region at a time. A second caller, and a run from inside a task,
//!   work through their tasks on their own thread; nobody waits for a region of somebody else.
//! - [`Pool::run`] returns only after the last call of the task function has returned. It does not
//!   wait for a worker that is still waking up: a worker that comes late finds the region closed.
//! - After the first run nothing on the run path allocates.
//! - Workers spin for a short window after a region, so that the next one is handed over in well
//!   under a microsecond, and then sleep.
//! - In a forked child, where the workers no longer exist, the first run starts new ones and
//!   touches no lock that another thread could have held at the fork.

mod affinity;
mod crew;
pub(crate) mod fork;

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::panic::resume_unwind;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use crew::Crew;

/// A task function, called as `f(worker, task)`.
pub type TaskFn<'a> = dyn Fn(usize, usize) + Sync + 'a;

/// Upper limit of [`Pool::threads`], so that a mistyped number cannot exhaust the system.
pub const MAX_THREADS: usize = 1024;

thread_local! {
    /// Whether this thread is working on a region, of whichever pool.
    static IN_REGION: Cell<bool> = const { Cell::new(false) };
}

/// Value of [`Pool::owner`] while no region runs.
const FREE: u64 = 0;

/// A fixed number of threads that work through the tasks of one region at a time.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use svod_runtime::pool::Pool;
///
/// let pool = Pool::new(2);
/// let sum = AtomicUsize::new(0);
/// pool.run(10, &|_worker, task| {
///     sum.fetch_add(task, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 45);
/// ```
pub struct Pool {
    threads: usize,
    /// `FREE`, or the fork generation in which the present region began. A value of an earlier
    /// generation belongs to a thread that this process does not have.
    owner: AtomicU64,
    /// The workers, started by the first parallel run.
    crew: UnsafeCell<Option<Crew>>,
}

// SAFETY: `crew` is accessed only by the thread that moved `owner` from `FREE` (or from a dead
// generation) to its own generation, which one compare-and-swap grants to one thread, or through
// `&mut self`. All that it holds is Send.
unsafe impl Sync for Pool {}

impl Pool {
    /// A pool of `threads` threads, the caller of [`Pool::run`] included: it starts `threads - 1`
    /// workers, and none before the first run that needs them. 0 counts as 1, and
    /// [`MAX_THREADS`] is the most.
    pub fn new(threads: usize) -> Self {
        fork::watch();
        Self { threads: threads.clamp(1, MAX_THREADS), owner: AtomicU64::new(FREE), crew: UnsafeCell::new(None) }
    }

    /// The number of threads, the calling one included; every worker index is below it.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Changes the number of threads; the old workers end before this returns.
    ///
    /// It takes `&mut self` because callers size their per-worker scratch by [`Pool::threads`]:
    /// where a pool is shared, put a new one in its place instead.
    pub fn set_threads(&mut self, threads: usize) {
        *self = Self::new(threads);
    }

    /// Calls `f(worker, task)` once for each task below `tasks`, in no particular order, and
    /// returns when all calls have returned.
    ///
    /// `worker` is below [`Pool::threads`], and no two calls that overlap in time have the same,
    /// so that it can index scratch that belongs to this run. Worker 0 is the calling thread.
    /// The calling thread does all the tasks itself if there is one task or one thread, if the
    /// pool is busy with a region of another thread, or if it is itself inside a task.
    ///
    /// # Panics
    ///
    /// If a task panics, the tasks not yet begun are skipped and the first panic goes on in the
    /// caller after the others have returned. The pool stays usable. A task must not fork the
    /// process and go on in the child, which has none of the other workers: the child panics.
    pub fn run(&self, tasks: usize, f: &TaskFn) {
        if tasks <= 1 || self.threads == 1 || IN_REGION.get() || !self.acquire() {
            return (0..tasks).for_each(|task| f(0, task));
        }
        // SAFETY: `acquire` made this thread the only one to use `crew`, until `owner` is freed.
        let crew = unsafe { &mut *self.crew.get() }.get_or_insert_with(|| Crew::new(self.threads));
        IN_REGION.set(true);
        let panic = crew.run(tasks, f);
        IN_REGION.set(false);
        self.owner.store(FREE, Ordering::Release);
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }

    /// Makes this thread the owner of the pool unless another thread is.
    fn acquire(&self) -> bool {
        let generation = fork::generation();
        let owner = self.owner.load(Ordering::Relaxed);
        if owner == generation
            || self.owner.compare_exchange(owner, generation, Ordering::Acquire, Ordering::Relaxed).is_err()
        {
            return false;
        }
        // SAFETY: this thread owns `crew` now. It is read only if its last owner of this or an
        // earlier generation let go of it; otherwise that owner was lost in a fork, perhaps in
        // the middle of a write.
        let stale =
            owner != FREE || unsafe { &*self.crew.get() }.as_ref().is_some_and(|crew| crew.generation() != generation);
        if stale {
            // SAFETY: this thread owns `crew`. The old value is leaked, for its threads are gone.
            unsafe { self.crew.get().write(None) };
        }
        true
    }
}

impl Default for Pool {
    /// A pool of [`default_threads`] threads.
    fn default() -> Self {
        Self::new(default_threads())
    }
}

impl Drop for Pool {
    /// Ends the workers and waits for them.
    fn drop(&mut self) {
        if !self.acquire() {
            unreachable!("a pool is dropped while no region borrows it");
        }
        if let Some(crew) = self.crew.get_mut().take() {
            crew.join();
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({})", self.threads)
    }
}

/// The number of threads that a pool has unless it is told otherwise: `SVOD_THREADS` if that is
/// set to a positive number, else [`available_threads`]. A value that is not one, and ignored, or larger than
/// [`MAX_THREADS`], which is then used, is reported once, on stderr.
pub fn default_threads() -> usize {
    static WARNING: Once = Once::new();
    let Some(value) = std::env::var_os("SVOD_THREADS") else {
        return available_threads();
    };
    let value = value.to_string_lossy();
    let (threads, fault) = match parse_threads(&value) {
        Some(threads) if threads <= MAX_THREADS => (threads, None),
        Some(_) => (MAX_THREADS, Some("more than a pool may have")),
        None => (available_threads(), Some("not a positive number")),
    };
    if let Some(fault) = fault {
        WARNING.call_once(|| eprintln!("svod: SVOD_THREADS={value:?} is {fault}; using {threads} threads"));
    }
    threads
}

/// The number of threads that this process may run at once: the smaller of its CPU affinity and
/// its cgroup's quota (version 1 or 2, rounded down), at least 1.
pub fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn parse_threads(value: &str) -> Option<usize> {
    value.trim().parse().ok().filter(|threads| *threads >= 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_numbers() {
        assert_eq!(parse_threads(" 3 "), Some(3));
        assert_eq!(parse_threads("99999999"), Some(99_999_999));
        for bad in ["", "0", "-1", "2.5", "many"] {
            assert_eq!(parse_threads(bad), None, "{bad:?}");
        }
    }
}
