//! Stopping on request, such as Ctrl-C.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Asks, on the thread that waits for a result, whether to stop. It may take a lock such as the
/// Python interpreter's: it is called a few times a second at most.
pub type StopCheck = fn() -> bool;

/// How often a check is made.
pub(crate) const INTERVAL: Duration = Duration::from_millis(50);

/// A check that is made no more often than [`INTERVAL`], and what came of it.
pub(crate) struct Watch {
    check: Option<StopCheck>,
    /// When it was asked first: what is done before that is nothing, and most runs are over before they ask twice.
    start: OnceLock<Instant>,
    /// Nanoseconds from `start` to the next check.
    next: AtomicU64,
    stopped: AtomicBool,
}

impl Watch {
    pub(crate) fn new(check: Option<StopCheck>) -> Self {
        let next = AtomicU64::new(INTERVAL.as_nanos() as u64);
        Watch { check, start: OnceLock::new(), next, stopped: AtomicBool::new(false) }
    }

    /// Makes the check if it is due, and says whether to stop. Called on the waiting thread only.
    pub(crate) fn poll(&self) -> bool {
        let Some(check) = self.check else { return false };
        let Some(start) = self.start.get() else {
            self.start.get_or_init(Instant::now);
            return self.stopped();
        };
        if !self.stopped() && start.elapsed().as_nanos() as u64 >= self.next.load(Ordering::Relaxed) {
            if check() {
                self.stopped.store(true, Ordering::Relaxed);
            }
            let next = start.elapsed() + INTERVAL;
            self.next.store(next.as_nanos() as u64, Ordering::Relaxed);
        }
        self.stopped()
    }

    /// Whether a check said to stop.
    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}
