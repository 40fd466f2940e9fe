//! Where compile time goes: how often each stage of the way from graph to code ran in this process,
//! and for how long.
//!
//! Stages of kernels that are compiled side by side add up, so that the sum may exceed the time that
//! passed. A stage's time includes no other stage's.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

macro_rules! stages {
    ($($(#[$doc:meta])* $stage:ident $name:literal,)*) => {
        /// A part of the way from graph to code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Stage { $($(#[$doc])* $stage,)* }

        impl Stage {
            /// All of them, in order.
            pub const ALL: [Stage; [$($name),*].len()] = [$(Stage::$stage),*];

            /// What it is called.
            pub fn name(self) -> &'static str {
                match self { $(Stage::$stage => $name,)* }
            }
        }
    };
}

stages! {
    /// Naming a graph for the schedule cache.
    Key "key",
    /// Rules that simplify a graph.
    Algebra "algebra",
    /// Cutting a graph into kernels.
    Fuse "fuse",
    /// From nodes to the expressions of a kernel.
    Rangeify "rangeify",
    /// Kernels that share what they read become one.
    Merge "merge",
    /// Dimensions and axes of a kernel that say nothing.
    Normalize "normalize",
    /// Choosing a schedule.
    Heuristic "heuristic",
    /// From kernel and schedule to loops.
    Lower "lower",
    /// The loops' text and arguments, by which code is found on disk.
    Render "render",
    /// Reading and writing the on-disk cache.
    Disk "disk",
    /// From loops to the linear list.
    Linear "linear",
    /// From the linear list to LLVM's text.
    Text "text",
    /// Reading and verifying the text.
    Parse "parse",
    /// LLVM's passes over its intermediate form.
    Passes "passes",
    /// Selection of instructions, registers, object code.
    Emit "emit",
    /// Object code to memory.
    Load "load",
    /// Ordering, planning and allocating a plan's memory.
    Plan "plan",
}

struct Counter {
    count: AtomicU64,
    nanoseconds: AtomicU64,
}

static COUNTERS: [Counter; Stage::ALL.len()] =
    [const { Counter { count: AtomicU64::new(0), nanoseconds: AtomicU64::new(0) } }; Stage::ALL.len()];

impl Stage {
    /// Does what belongs to the stage.
    pub fn time<T>(self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = work();
        let counter = &COUNTERS[self as usize];
        counter.count.fetch_add(1, Ordering::Relaxed);
        counter.nanoseconds.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        done
    }
}

/// What a stage took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageTime {
    /// Which one.
    pub stage: Stage,
    /// How often it ran.
    pub count: u64,
    /// For how long, altogether.
    pub time: Duration,
}

/// What each stage took since the process began, in order.
pub fn times() -> [StageTime; Stage::ALL.len()] {
    Stage::ALL.map(|stage| {
        let Counter { count, nanoseconds } = &COUNTERS[stage as usize];
        let time = Duration::from_nanos(nanoseconds.load(Ordering::Relaxed));
        StageTime { stage, count: count.load(Ordering::Relaxed), time }
    })
}

/// What was added to `before`, as a table.
pub fn table(before: &[StageTime]) -> String {
    let mut text = String::new();
    for (now, then) in times().iter().zip(before) {
        let (count, time) = (now.count - then.count, now.time - then.time);
        if count > 0 {
            let milliseconds = time.as_secs_f64() * 1e3;
            text += &format!("  {:<10}{count:>6} × {milliseconds:>10.3} ms\n", now.stage.name());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_counted() {
        let before = times();
        assert_eq!(Stage::Load.time(|| 7), 7);
        let after = times()[Stage::Load as usize];
        assert!(after.count > before[Stage::Load as usize].count);
        assert!(table(&before).contains("load"));
        assert_eq!(Stage::ALL.map(Stage::name)[0], "key");
    }
}
