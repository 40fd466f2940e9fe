//! The workers of a pool and the gate through which they enter a region.

use std::any::Any;
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::mem::{forget, transmute};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::{IN_REGION, TaskFn, affinity, available_threads, fork};

/// How long a worker that has nothing to do keeps its core to itself.
const SPIN: Duration = Duration::from_micros(20);
/// How long, counted from the same moment, it stays awake and yields to others.
const AWAKE: Duration = Duration::from_micros(100);
/// Looks at the gate between two looks at the clock.
const LOOKS: usize = 32;
/// Explicit, so that a start in a forked child does not read the environment, which has a lock.
const STACK: usize = 2 << 20;

/// Layout of the gate: the region's number, whether the workers shall end, whether the region can
/// still be entered, and the number of workers inside.
const REGION: u64 = 1 << 32;
const STOP: u64 = 1 << 31;
const OPEN: u64 = 1 << 30;
const INSIDE: u64 = OPEN - 1;

fn region(gate: u64) -> u32 {
    (gate / REGION) as u32
}

type Panic = Box<dyn Any + Send>;

/// The threads of a pool in one process.
pub(super) struct Crew {
    generation: u64,
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

impl Crew {
    /// Starts the workers 1 to `threads - 1`, or as many as the system allows, and waits until they run: the standard
    /// library holds a lock while a thread starts, which a fork meanwhile would leave locked in the child.
    pub(super) fn new(threads: usize) -> Self {
        let shared = Arc::new(Shared {
            gate: Line(AtomicU64::new(0)),
            next: (0..threads).map(|_| Line(AtomicUsize::new(0))).collect(),
            started: AtomicUsize::new(0),
            job: UnsafeCell::new(None),
            panic: Mutex::new(None),
            spin: if threads <= available_threads() { SPIN } else { Duration::ZERO },
            may_sleep: AtomicBool::new(false),
            sleep: Mutex::new(()),
            waker: AtomicUsize::new(usize::MAX),
            wake: Condvar::new(),
        });
        let start = |worker| {
            let shared = shared.clone();
            thread::Builder::new()
                .name(format!("svod-{worker}"))
                .stack_size(STACK)
                .spawn(move || shared.work(worker))
                .ok()
        };
        let workers: Vec<_> = (1..threads).map_while(start).collect();
        while shared.started.load(Ordering::Acquire) < workers.len() {
            thread::yield_now();
        }
        Self { generation: fork::generation(), shared, workers }
    }

    /// The fork generation whose process has these threads.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Runs one region, this thread taking part as worker 0, and returns the first panic of a
    /// task. `&mut`: one region at a time.
    pub(super) fn run(&mut self, tasks: usize, f: &TaskFn) -> Option<Panic> {
        let shared = &*self.shared;
        // SAFETY: only the lifetime changes. `f` is called by workers inside the region only, and
        // `close` below waits until none is.
        let f = unsafe { transmute::<&TaskFn, &'static TaskFn<'static>>(f) };
        let job = Job { tasks, f };
        // SAFETY: the gate is closed and nobody inside, so no worker reads the job.
        unsafe { *shared.job.get() = Some(job) };
        for (worker, next) in shared.next.iter().enumerate() {
            next.0.store(job.share(worker, shared.next.len()).start, Ordering::Relaxed);
        }
        shared.open();
        shared.drain(0, job);
        shared.close(self.generation);
        lock(&shared.panic).take()
    }

    /// Ends the workers.
    pub(super) fn join(self) {
        self.shared.gate.0.fetch_or(STOP, Ordering::SeqCst);
        self.shared.wake_all();
        for worker in self.workers {
            if worker.join().is_err() {
                unreachable!("a worker catches the panics of its tasks");
            }
        }
    }
}

/// What the tasks of the present region are.
#[derive(Clone, Copy)]
struct Job {
    tasks: usize,
    f: *const TaskFn<'static>,
}

impl Job {
    /// The tasks that a worker does first: as many as the others, and one after the other.
    fn share(&self, worker: usize, workers: usize) -> Range<usize> {
        let start = |worker: usize| worker * (self.tasks / workers) + worker.min(self.tasks % workers);
        start(worker)..start(worker + 1)
    }
}

/// A value that shares its cache lines (two are fetched together) with no other.
#[repr(align(128))]
struct Line<T>(T);

struct Shared {
    gate: Line<AtomicU64>,
    /// Of each worker's share, the next task that nobody has taken.
    next: Vec<Line<AtomicUsize>>,
    /// Workers that run.
    started: AtomicUsize,
    /// Written by the region's owner while the gate is closed and nobody inside; read by those
    /// inside.
    job: UnsafeCell<Option<Job>>,
    panic: Mutex<Option<Panic>>,
    /// `SPIN`, or zero if there are more workers than cores to spin on.
    spin: Duration,
    /// Whether a worker may be waiting for `wake`. Set before its last look at the gate.
    may_sleep: AtomicBool,
    // These are the standard library's because they have no state outside of themselves: what a
    // fork leaves locked is leaked with the crew.
    sleep: Mutex<()>,
    /// The core of the thread that last woke the workers, or `usize::MAX`.
    waker: AtomicUsize,
    wake: Condvar,
}

// SAFETY: `job` is the only field that is not Sync, or Send; the protocol of the gate orders its
// one writer before its readers and those before the next write, and what it points to is Sync.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl Shared {
    /// Opens the gate to the next region.
    fn open(&self) {
        let last = self.gate.0.load(Ordering::Relaxed);
        let next = (last & !(REGION - 1)).wrapping_add(REGION) | OPEN;
        // Sequentially consistent, as in `sleep_after`: either this thread sees that a worker may
        // sleep, or that worker sees the new region.
        self.gate.0.store(next, Ordering::SeqCst);
        if self.may_sleep.load(Ordering::SeqCst) {
            if let Some(core) = affinity::current_core() {
                self.waker.store(core, Ordering::Relaxed);
            }
            self.wake_all();
            // A worker that was woken on this core gets to move away from it.
            thread::yield_now();
        }
    }

    /// Closes the gate and waits until nobody is inside.
    fn close(&self, generation: u64) {
        let mut gate = self.gate.0.fetch_and(!OPEN, Ordering::AcqRel);
        let mut looks = 0;
        while gate & INSIDE != 0 {
            pause(&mut looks, self.spin);
            assert_eq!(fork::generation(), generation, "a task forked the process and went on in the child");
            gate = self.gate.0.load(Ordering::Acquire);
        }
    }

    /// Takes and runs tasks until there are none: those of the worker's own share, then those that are left of others'.
    fn drain(&self, worker: usize, job: Job) {
        let tasks = || {
            // SAFETY: the caller is inside the region, so the function is still borrowed.
            let f = unsafe { &*job.f };
            let workers = self.next.len();
            for of in (worker..workers).chain(0..worker) {
                let end = job.share(of, workers).end;
                loop {
                    let task = self.next[of].0.fetch_add(1, Ordering::Relaxed);
                    if task >= end {
                        break;
                    }
                    f(worker, task);
                }
            }
        };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(tasks)) {
            self.next.iter().for_each(|next| next.0.store(job.tasks, Ordering::Relaxed));
            let mut first = lock(&self.panic);
            if first.is_none() {
                *first = Some(payload);
            } else {
                // Its drop may panic, and must not do so in a worker.
                forget(payload);
            }
        }
    }

    /// The life of a worker.
    fn work(&self, worker: usize) {
        IN_REGION.set(true);
        self.started.fetch_add(1, Ordering::Release);
        let mut seen = 0;
        while self.enter(&mut seen) {
            // SAFETY: this worker is inside, where the job is not written.
            let job = unsafe { *self.job.get() };
            self.drain(worker, job.expect("a region is opened after its job is set"));
            self.gate.0.fetch_sub(1, Ordering::Release);
        }
    }

    /// Waits for a region other than the one last `seen` and enters it; false: the end.
    fn enter(&self, seen: &mut u32) -> bool {
        loop {
            if let Some(entered) = self.enter_awake(seen) {
                return entered;
            }
            self.sleep_after(*seen);
            affinity::leave_core(self.waker.load(Ordering::Relaxed));
        }
    }

    /// As `enter`, but gives up (None) after the window in which no region opened.
    fn enter_awake(&self, seen: &mut u32) -> Option<bool> {
        let mut start = Instant::now();
        loop {
            for _ in 0..LOOKS {
                let gate = self.gate.0.load(Ordering::Acquire);
                if gate & STOP != 0 {
                    return Some(false);
                }
                if region(gate) == *seen {
                    spin_loop();
                } else if gate & OPEN == 0 {
                    // Missed, but the pool is in use: begin the window anew.
                    *seen = region(gate);
                    start = Instant::now();
                } else if self
                    .gate
                    .0
                    .compare_exchange_weak(gate, gate + 1, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
                {
                    *seen = region(gate);
                    return Some(true);
                }
            }
            let idle = start.elapsed();
            if idle >= AWAKE {
                return None;
            }
            if idle >= self.spin {
                thread::yield_now();
            }
        }
    }

    /// Sleeps until there is a region other than `seen`, or the end.
    fn sleep_after(&self, seen: u32) {
        let mut guard = lock(&self.sleep);
        loop {
            self.may_sleep.store(true, Ordering::SeqCst);
            let gate = self.gate.0.load(Ordering::SeqCst);
            if region(gate) != seen || gate & STOP != 0 {
                return;
            }
            guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn wake_all(&self) {
        let guard = lock(&self.sleep);
        self.may_sleep.store(false, Ordering::Relaxed);
        drop(guard);
        self.wake.notify_all();
    }
}

/// One step of a wait that is expected to be short.
fn pause(looks: &mut usize, spin: Duration) {
    // A pause takes some 10 to 50 ns.
    if *looks < 1000 && !spin.is_zero() {
        *looks += 1;
        spin_loop();
    } else {
        thread::yield_now();
    }
}

/// No panic can leave these mutexes' values half-changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
