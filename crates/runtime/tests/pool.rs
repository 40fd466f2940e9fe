//! The task pool under stress: many callers, panics, nesting, `fork`, idleness.
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::thread;
use std::time::{Duration, Instant};

use svod_runtime::pool::{MAX_THREADS, Pool, available_threads};

/// The system's allocator, counting the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Held for reading by tests that start and end threads, for writing by those that fork: the standard library holds a lock
/// while a thread starts or ends, which a child would find locked for ever.
static THREADS: RwLock<()> = RwLock::new(());

fn beside_others() -> RwLockReadGuard<'static, ()> {
    THREADS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `tasks` tasks and checks that each ran once, under a valid worker index, and that no two
/// at once had the same index.
fn check(pool: &Pool, tasks: usize) {
    let runs: Vec<_> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
    let taken: Vec<_> = (0..pool.threads()).map(|_| AtomicBool::new(false)).collect();
    pool.run(tasks, &|worker, task| {
        assert!(!taken[worker].swap(true, Ordering::Acquire));
        runs[task].fetch_add(1, Ordering::Relaxed);
        taken[worker].store(false, Ordering::Release);
    });
    assert!(runs.iter().all(|n| n.load(Ordering::Relaxed) == 1), "{tasks} tasks");
}

/// Whether a region in which each thread must take a task ends within `limit`.
fn all_workers_help(pool: &Pool, limit: Duration) -> bool {
    let arrived = AtomicUsize::new(0);
    let start = Instant::now();
    pool.run(pool.threads(), &|_, _| {
        arrived.fetch_add(1, Ordering::AcqRel);
        while arrived.load(Ordering::Acquire) < pool.threads() && start.elapsed() < limit {
            thread::yield_now();
        }
        if start.elapsed() >= limit {
            arrived.store(0, Ordering::Release);
        }
    });
    arrived.load(Ordering::Acquire) >= pool.threads()
}

const LONG: Duration = Duration::from_secs(20);

#[test]
fn every_task_runs_once() {
    let _threads = beside_others();
    for threads in [1, 2, 3, 8] {
        let pool = Pool::new(threads);
        for round in 0..2000 {
            check(&pool, round % 67);
        }
        check(&pool, 100_000);
    }
}

#[test]
fn each_worker_begins_with_a_share_of_its_own() {
    let _threads = beside_others();
    let pool = Pool::new(3);
    // As soon as all have begun, that is: who comes late may find its share taken by others.
    let begun = [const { AtomicUsize::new(usize::MAX) }; 3];
    let start = Instant::now();
    pool.run(11, &|worker, task| {
        let _ = begun[worker].compare_exchange(usize::MAX, task, Ordering::AcqRel, Ordering::Acquire);
        while begun.iter().any(|b| b.load(Ordering::Acquire) == usize::MAX) && start.elapsed() < LONG {
            thread::yield_now();
        }
    });
    assert_eq!(begun.map(AtomicUsize::into_inner), [0, 4, 8]);
}

#[test]
fn regions_with_pauses_between() {
    let _threads = beside_others();
    let pool = Pool::new(2);
    for round in 0..200 {
        thread::sleep(Duration::from_micros(round * 2));
        assert!(all_workers_help(&pool, LONG));
    }
}

#[test]
fn eight_callers() {
    let _threads = beside_others();
    let pool = Pool::new(2);
    thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| (0..2000).for_each(|round| check(&pool, round % 9)));
        }
    });
    assert!(all_workers_help(&pool, LONG));
}

#[test]
fn a_second_caller_does_not_wait() {
    let _threads = beside_others();
    let pool = Pool::new(2);
    let release = AtomicBool::new(false);
    let started = AtomicUsize::new(0);
    thread::scope(|s| {
        s.spawn(|| {
            pool.run(2, &|_, _| {
                started.fetch_add(1, Ordering::Release);
                while !release.load(Ordering::Acquire) {
                    thread::yield_now();
                }
            });
        });
        while started.load(Ordering::Acquire) == 0 {
            spin_loop();
        }
        let caller = thread::current().id();
        pool.run(5, &|worker, _| assert_eq!((worker, thread::current().id()), (0, caller)));
        release.store(true, Ordering::Release);
    });
}

#[test]
fn nested_runs_stay_on_their_thread() {
    let _threads = beside_others();
    let (pool, other) = (Pool::new(3), Pool::new(2));
    let count = AtomicUsize::new(0);
    pool.run(50, &|_, _| {
        let outer = thread::current().id();
        for pool in [&pool, &other] {
            pool.run(10, &|worker, _| {
                assert_eq!((worker, thread::current().id()), (0, outer));
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(count.into_inner(), 1000);
}

#[test]
fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
    let _threads = beside_others();
    let pool = Pool::new(3);
    for bad in 0..100 {
        let running = AtomicUsize::new(0);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.run(100, &|_, task| {
                running.fetch_add(1, Ordering::Relaxed);
                if task == bad {
                    running.fetch_sub(1, Ordering::Relaxed);
                    std::panic::resume_unwind(Box::new(task));
                }
                running.fetch_sub(1, Ordering::Release);
            });
        }));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&bad));
        assert_eq!(running.load(Ordering::Acquire), 0);
        check(&pool, 20);
    }
    assert!(all_workers_help(&pool, LONG));
}

#[test]
fn thread_counts() {
    let _threads = beside_others();
    assert_eq!(Pool::new(0).threads(), 1);
    assert_eq!(Pool::new(usize::MAX).threads(), MAX_THREADS);
    assert!(available_threads() >= 1);
    let mut pool = Pool::new(1);
    for threads in [4, 1, 2] {
        pool.set_threads(threads);
        assert_eq!(pool.threads(), threads);
        check(&pool, 100);
        assert!(all_workers_help(&pool, LONG));
    }
}

#[test]
fn running_allocates_nothing() {
    let _threads = beside_others();
    let pool = Pool::new(2);
    let counts = [0, 1].map(|_| AtomicUsize::new(0));
    let region = || {
        let arrived = AtomicUsize::new(0);
        pool.run(2, &|worker, _| {
            arrived.fetch_add(1, Ordering::AcqRel);
            while arrived.load(Ordering::Acquire) < 2 {
                thread::yield_now();
            }
            counts[worker].store(ALLOCATIONS.get(), Ordering::Relaxed);
        });
        [0, 1].map(|worker| counts[worker].load(Ordering::Relaxed))
    };
    let first = region();
    for _ in 0..100 {
        assert_eq!(region(), first);
    }
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::sync::{Barrier, RwLockWriteGuard};

    /// Runs `child` in a forked process and returns its exit code, or None if it did not end.
    fn in_fork(child: impl FnOnce() -> bool) -> Option<i32> {
        // SAFETY: the child only uses what survives a fork of a threaded process (the allocator,
        // new threads, the pool) and leaves through `_exit`.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0);
        if pid == 0 {
            let right = catch_unwind(AssertUnwindSafe(child)).unwrap_or(false);
            // SAFETY: ends the process.
            unsafe { libc::_exit(if right { 0 } else { 1 }) };
        }
        let start = Instant::now();
        let mut status = 0;
        // SAFETY: `pid` is a child of this process, `status` is writable.
        while unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) } == 0 {
            if start.elapsed() > 2 * LONG {
                // SAFETY: as above; the child is not reaped yet, so its id is still its own.
                unsafe {
                    libc::kill(pid, libc::SIGKILL);
                    libc::waitpid(pid, &mut status, 0);
                }
                return None;
            }
            thread::sleep(Duration::from_millis(1));
        }
        libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status))
    }

    fn alone() -> RwLockWriteGuard<'static, ()> {
        THREADS.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn works(pool: &Pool) -> bool {
        check(pool, 100);
        all_workers_help(pool, LONG)
    }

    #[test]
    fn a_forked_child_has_workers_of_its_own() {
        let _threads = alone();
        let pool = Pool::new(2);
        assert_eq!(in_fork(|| works(&pool)), Some(0), "forked before the first run");
        assert!(works(&pool));
        assert_eq!(in_fork(|| works(&pool)), Some(0), "forked while hot");
        thread::sleep(Duration::from_millis(5));
        let grandchild = || works(&pool) && in_fork(|| works(&pool)) == Some(0) && works(&pool);
        assert_eq!(in_fork(grandchild), Some(0), "forked while asleep, and again");
        assert!(works(&pool));
    }

    #[test]
    fn a_child_forked_while_the_pool_is_busy() {
        let _threads = alone();
        let pool = Pool::new(2);
        let (started, done) = (Barrier::new(3), AtomicBool::new(false));
        assert!(works(&pool));
        thread::scope(|s| {
            for pause in [0, 120] {
                let (pool, started, done) = (&pool, &started, &done);
                s.spawn(move || {
                    started.wait();
                    while !done.load(Ordering::Relaxed) {
                        check(pool, 8);
                        thread::sleep(Duration::from_micros(pause));
                    }
                });
            }
            started.wait();
            let codes: Vec<_> = (0..100).map(|_| in_fork(|| works(&pool))).collect();
            done.store(true, Ordering::Relaxed);
            assert_eq!(codes, [Some(0); 100]);
        });
    }

    #[test]
    fn a_child_may_drop_its_parents_pool() {
        let _threads = alone();
        let pool = Pool::new(3);
        assert!(works(&pool));
        let mut slot = Some(pool);
        let child = || {
            drop(slot.take());
            works(&Pool::new(2))
        };
        assert_eq!(in_fork(child), Some(0));
        assert!(works(&slot.unwrap()));
    }

    /// In a child, so that no other test's threads are counted.
    #[test]
    fn an_idle_pool_uses_no_cpu() {
        let _threads = alone();
        let child = || {
            let pool = Pool::new(4);
            let helped = all_workers_help(&pool, LONG);
            thread::sleep(Duration::from_millis(100));
            let before = cpu_time();
            thread::sleep(Duration::from_millis(200));
            helped && cpu_time() - before < Duration::from_millis(20)
        };
        assert_eq!(in_fork(child), Some(0));
    }

    fn cpu_time() -> Duration {
        // SAFETY: all zero is a value of this struct.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is writable.
        assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) }, 0);
        [usage.ru_utime, usage.ru_stime].map(|t| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000)).iter().sum()
    }
}
