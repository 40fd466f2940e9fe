//! Threads that wait for one another: for a value that another one computes, a plan that it runs, an output that it reads.
//!
//! Who waits may be asked to stop, such as by Ctrl-C, and is told where nothing would ever come: where what it waits for is
//! held by a thread that waits, by way of others perhaps, for what it holds itself. Functions of the host make such cycles:
//! they run while the plan that calls them is held, and may run other plans.
//!
//! What is waited for says who holds it ([`Held`]). A thread that waits for long is entered in a table, and follows
//! holders and what these wait for. An entry may be that of a thread which has just been given what it waited for; what it
//! waited for then says that it is the holder, so that no cycle is found that is none.

use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// How long a thread waits between two looks around.
pub const INTERVAL: Duration = Duration::from_millis(50);

/// How long a thread sleeps between two attempts, once it has waited for [`INTERVAL`].
const NAP: Duration = Duration::from_millis(2);

static SLEEP: OnceLock<fn(Duration)> = OnceLock::new();

/// Makes threads that wait for long sleep by `sleep`, which takes at least the time it is given. While they sleep they are in
/// none of svod's locks, and hold nothing but plans and values. Only the first call has an effect.
pub fn sleep_by(sleep: fn(Duration)) {
    SLEEP.get_or_init(|| sleep);
}

static PROCESS: AtomicU64 = AtomicU64::new(1);

/// The number of forks between the first process and this one, plus 1, as far as [`forked`] was called.
pub fn process() -> u64 {
    PROCESS.load(Ordering::Relaxed)
}

/// Says that this is a forked child. Async-signal-safe.
pub fn forked() {
    PROCESS.fetch_add(1, Ordering::Relaxed);
}

/// A thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Thread(u64);

impl Thread {
    /// This one. In a forked child it is the one that forked.
    pub fn current() -> Thread {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        thread_local! {
            static OWN: Cell<u64> = const { Cell::new(0) };
        }
        OWN.with(|own| {
            if own.get() == 0 {
                own.set(NEXT.fetch_add(1, Ordering::Relaxed));
            }
            Thread(own.get())
        })
    }

    /// The same as a number, which is not 0.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The thread of a number; none of 0.
    pub fn from_number(number: u64) -> Option<Thread> {
        (number != 0).then_some(Thread(number))
    }
}

/// What threads wait for.
pub trait Held: Send + Sync {
    /// Who holds it now.
    fn holder(&self) -> Option<Thread>;

    /// What it is, for messages.
    fn name(&self) -> String;
}

/// Why a thread does not wait any longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It was asked to stop.
    Stopped,
    /// It would wait for itself: names of what it waits for, of what who holds that waits for, and so on.
    Cycle(Vec<String>),
}

/// What each thread that has waited for long waits for.
static WAITING: Mutex<FxHashMap<Thread, Arc<dyn Held>>> = Mutex::new(FxHashMap::with_hasher(FxBuildHasher));

/// Waits for `held` until `attempt`, which tries for as long as it is told, gives something. Who waits for long tries now
/// and then, and sleeps meanwhile ([`sleep_by`]).
///
/// # Errors
/// [`Refused::Stopped`] once `stop`, asked each [`INTERVAL`], says so; [`Refused::Cycle`].
pub fn wait<T>(
    held: impl FnOnce() -> Arc<dyn Held>,
    stop: &dyn Fn() -> bool,
    mut attempt: impl FnMut(Duration) -> Option<T>,
) -> Result<T, Refused> {
    if let Some(found) = attempt(INTERVAL) {
        return Ok(found);
    }
    let entry = Entry::new(held());
    let sleep = SLEEP.get().copied().unwrap_or(thread::sleep);
    loop {
        if let Some(names) = entry.cycle() {
            return Err(Refused::Cycle(names));
        }
        if stop() {
            return Err(Refused::Stopped);
        }
        let looked = Instant::now();
        while looked.elapsed() < INTERVAL {
            sleep(NAP);
            if let Some(found) = attempt(Duration::ZERO) {
                return Ok(found);
            }
        }
    }
}

/// This thread's entry in the table. A thread waits for one thing at a time, but a check whether to stop may wait for
/// another meanwhile.
struct Entry(Option<Arc<dyn Held>>);

impl Entry {
    fn new(held: Arc<dyn Held>) -> Entry {
        Entry(WAITING.lock().insert(Thread::current(), held))
    }

    /// What the threads of a cycle wait for, if what this one waits for is held by one that waits for what it holds.
    fn cycle(&self) -> Option<Vec<String>> {
        let waiting = WAITING.lock();
        let own = Thread::current();
        let (mut names, mut at) = (Vec::new(), own);
        // Each waits for one thing, which one thread holds: there is one way to follow, of as many steps as there
        // are threads unless it goes around among others.
        for _ in 0..waiting.len() {
            let held = waiting.get(&at)?;
            names.push(held.name());
            at = held.holder()?;
            if at == own {
                return Some(names);
            }
        }
        None
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut waiting = WAITING.lock();
        match self.0.take() {
            Some(outer) => waiting.insert(Thread::current(), outer),
            None => waiting.remove(&Thread::current()),
        };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicBool;

    /// A lock that says who holds it.
    #[derive(Default)]
    struct Lock {
        lock: Mutex<()>,
        holder: AtomicU64,
    }

    impl Held for Lock {
        fn holder(&self) -> Option<Thread> {
            Thread::from_number(self.holder.load(Ordering::Acquire))
        }

        fn name(&self) -> String {
            "a lock".into()
        }
    }

    impl Lock {
        fn with<T>(self: &Arc<Self>, stop: &dyn Fn() -> bool, work: impl FnOnce() -> T) -> Result<T, Refused> {
            let guard = wait(|| self.clone(), stop, |patience| self.lock.try_lock_for(patience))?;
            self.holder.store(Thread::current().number(), Ordering::Release);
            let done = work();
            self.holder.store(0, Ordering::Release);
            drop(guard);
            Ok(done)
        }
    }

    #[test]
    fn one_of_the_threads_of_a_cycle_is_told_and_the_others_go_on() {
        for length in [2, 3, 5] {
            let locks: Vec<Arc<Lock>> = (0..length).map(|_| Arc::default()).collect();
            let start = Barrier::new(length);
            let results: Vec<_> = std::thread::scope(|scope| {
                let one = |i: usize| {
                    let (own, next) = (&locks[i], &locks[(i + 1) % length]);
                    let both = || {
                        start.wait();
                        next.with(&|| false, || ())
                    };
                    own.with(&|| false, both).unwrap()
                };
                let threads: Vec<_> = (0..length).map(|i| scope.spawn(move || one(i))).collect();
                threads.into_iter().map(|t| t.join().unwrap()).collect()
            });
            let told: Vec<_> = results.iter().filter(|r| r.is_err()).collect();
            assert_eq!(told, [&Err(Refused::Cycle(vec!["a lock".into(); length]))]);
        }
    }

    #[test]
    fn a_thread_that_waits_for_itself_is_told() {
        let lock = Arc::new(Lock::default());
        assert_eq!(
            lock.with(&|| false, || lock.with(&|| false, || ())),
            Ok(Err(Refused::Cycle(vec!["a lock".into()])))
        );
    }

    #[test]
    fn who_waits_can_be_stopped() {
        let lock = Arc::new(Lock::default());
        let (start, stopped) = (Barrier::new(2), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let hold = || {
                    start.wait();
                    while !stopped.load(Ordering::Acquire) {
                        std::thread::yield_now();
                    }
                };
                lock.with(&|| false, hold).unwrap();
            });
            start.wait();
            assert_eq!(lock.with(&|| true, || ()), Err(Refused::Stopped));
            stopped.store(true, Ordering::Release);
        });
    }
}
