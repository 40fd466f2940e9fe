//! The pipeline: every pass from a graph to a plan, in one table, and the runner that all go through.
//!
//! The runner ([`Pass::run`]) measures time ([`times`]), prints what goes in and what comes out where
//! `SVOD_DUMP` names the pass, checks in debug builds what comes out against the rules of its
//! representation ([`Artifact::verify`]), and counts what the pass looks at ([`visited`]).
//! Passes that only make code better can be switched off by name ([`PassSet`]), or from one of their runs on
//! ([`bisect`]).
//!
//! Passes over kernels that are compiled side by side add up, so that the sum of times may exceed the
//! time that passed. A pass's time includes no other pass's.

mod artifact;
pub mod bisect;
mod set;
mod visits;

pub use artifact::Artifact;
pub use set::{PassSet, UnknownPass};
pub use visits::{visit, visited};

use std::cell::Cell;
use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a pass reads or gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// What the user built.
    Tensors,
    /// A picture of a graph.
    Graph,
    /// A graph, and what becomes of each node.
    Cut,
    /// What is computed, without loops.
    Kernel,
    /// Kernels, and the calls of them in order: a `PreSchedule`.
    Calls,
    /// How a kernel is computed: a list of steps.
    Schedule,
    /// A loop tree.
    Loops,
    /// A linear list.
    Linear,
    /// LLVM's intermediate form.
    Llvm,
    /// Object code.
    Object,
    /// Code that can be called.
    Code,
    /// Memory and order.
    Plan,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The pass.
    pub pass: Pass,
    /// What it is called.
    pub name: &'static str,
    /// What it reads.
    pub from: Phase,
    /// What it gives.
    pub to: Phase,
    /// Whether everything is right without it, only slower.
    pub optional: bool,
    /// What it does, and why it stands where it stands.
    pub why: &'static str,
}

macro_rules! passes {
    (@optional needed) => { false };
    (@optional optional) => { true };
    ($($pass:ident $name:literal $from:ident => $to:ident, $kind:ident: $why:literal;)*) => {
        /// A step on the way from a graph to a plan.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Pass { $(#[doc = $why] $pass,)* }

        /// The passes, in the order in which they run.
        pub const PIPELINE: [Row; [$($name),*].len()] = [$(Row {
            pass: Pass::$pass,
            name: $name,
            from: Phase::$from,
            to: Phase::$to,
            optional: passes!(@optional $kind),
            why: $why,
        }),*];
    };
}

passes! {
    Walk      "walk"      Tensors  => Graph,    needed:   "Takes the picture that all others read, since threads may force nodes meanwhile.";
    Key       "key"       Graph    => Graph,    needed:   "Names the structure before anything is done to it: what is known skips all up to `attach`.";
    Arguments "arguments" Graph => Graph,   optional: "Makes numbers in which graphs differ arguments of what they share, once it is known that there is no schedule for these.";
    Share     "share"     Graph    => Graph,    optional: "Equal values that a program tells apart, for derivatives, are computed once, before anything is said of them.";
    Concat    "concat"    Graph    => Graph,    needed:   "Many parts one after the other become choices by position, which is all that the others know.";
    Complex   "complex"   Graph    => Graph,    needed:   "Complex values become pairs of real ones, which is all that the others know.";
    Shard     "shard"     Graph    => Graph,    needed:   "Values spread over devices become values of single ones, which is all that the others know.";
    Join      "join"      Graph    => Graph,    optional: "Joins at once what was joined step by step; before algebra, which looks at a few steps at a time.";
    Algebra   "algebra"   Graph    => Graph,    optional: "Simplifies before anything is decided: what vanishes needs no kernel.";
    Blocks    "blocks"    Graph    => Graph,    optional: "Cuts long scans and folds in blocks, which are kernels of their own; after algebra, which may drop them.";
    TwoStage  "two-stage" Graph    => Graph,    optional: "Reduces everything by rows that something else reads as well; after `blocks`, which changes what is read.";
    Place     "place"     Graph    => Graph,    needed:   "Gives what is on no device that of its readers; last on graphs, as rewriting makes constants.";
    Fuse      "fuse"      Graph    => Cut,      needed:   "Says of each node whether it is memory, once nothing changes nodes any more.";
    Trace     "trace"     Cut      => Cut,      needed:   "Notes which lines of the user each node stands for, through all that rewriting did.";
    Rangeify  "rangeify"  Cut      => Kernel,   needed:   "Evaluates the nodes of a kernel at its indices, so that movement vanishes.";
    Merge     "merge"     Kernel   => Kernel,   optional: "Makes one kernel of those that share what they read; on kernels, where reads can be compared.";
    PostponeDivision "postpone-division" Kernel => Kernel, optional: "Divides after a sum; before normal form, as a stage may go away.";
    CorrectVariance "correct-variance" Kernel => Kernel, optional: "Corrects sums of squared deviations for the rounding of the mean; before `hoist`, which makes results of it.";
    Hoist     "hoist"     Kernel   => Kernel,   optional: "Computes what a reduction's results alone decide with them, once a row; after `postpone-division`, which moves divisions.";
    Normalize "normalize" Kernel   => Kernel,   needed:   "Gives equal kernels equal texts; last on kernels.";
    Identify  "identify"  Kernel   => Kernel,   needed:   "Names each kernel and finds its equals, by the text in normal form.";
    Order     "order"     Kernel   => Calls,    needed:   "Orders the calls, and opens loops, once all kernels are there.";
    Parameterise "parameterise" Calls => Calls, optional: "Makes numbers in which kernels differ arguments of one kernel, once all kernels are there.";
    Heuristic "heuristic" Kernel   => Schedule, needed:   "Chooses a schedule for each distinct kernel.";
    Lower     "lower"     Schedule => Loops,    needed:   "Applies the schedule and makes the loops.";
    Render    "render"    Loops    => Loops,    needed:   "Prints the loops, by whose text code is found on disk, and derives the arguments.";
    Disk      "disk"      Loops    => Object,   needed:   "Looks for the code before making it, and keeps it afterwards.";
    Linear    "linear"    Loops    => Linear,   needed:   "Lays out vectors, unrolled loops and elementary functions.";
    Text      "text"      Linear   => Llvm,     needed:   "Writes LLVM's text.";
    Parse     "parse"     Llvm     => Llvm,     needed:   "Reads and verifies the text, so that a mistake is an error.";
    Optimize  "optimize"  Llvm     => Llvm,     needed:   "LLVM's passes: registers for accumulators.";
    Emit      "emit"      Llvm     => Object,   needed:   "Selects instructions and registers.";
    Load      "load"      Object   => Code,     needed:   "Makes the code callable.";
    Attach    "attach"    Calls    => Plan,     needed:   "Gives each argument of each call a buffer, packed constants included, once the code says which.";
    Plan      "plan"      Plan     => Plan,     needed:   "Hazards, levels, shared memory: last, as it needs the memory of all calls.";
}

struct Counter {
    count: AtomicU64,
    nanoseconds: AtomicU64,
}

static COUNTERS: [Counter; PIPELINE.len()] =
    [const { Counter { count: AtomicU64::new(0), nanoseconds: AtomicU64::new(0) } }; PIPELINE.len()];

thread_local! {
    /// Time that passes took which ran inside the one that runs.
    static INSIDE: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

impl Pass {
    /// Its row of the table.
    pub fn row(self) -> &'static Row {
        &PIPELINE[self as usize]
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Runs it: `work` makes what it gives of `from`.
    ///
    /// # Panics
    /// In debug builds, where the result breaks a rule of its representation: a fault of the pass.
    pub fn run<I: Artifact + ?Sized, T: Artifact>(self, from: &I, work: impl FnOnce() -> T) -> T {
        if dumped().contains(self) {
            self.dump("before", from);
        }
        self.finish(self.time(work))
    }

    fn finish<T: Artifact>(self, made: T) -> T {
        if dumped().contains(self) {
            self.dump("after", &made);
        }
        if cfg!(debug_assertions)
            && let Err(fault) = made.verify()
        {
            panic!("pass {self} broke a rule: {fault}\n{}", made.text().unwrap_or_default());
        }
        made
    }

    /// Runs it on what it takes over.
    pub fn run_on<T: Artifact>(self, from: T, work: impl FnOnce(T) -> T) -> T {
        if dumped().contains(self) {
            self.dump("before", &from);
        }
        self.finish(self.time(|| work(from)))
    }

    /// Runs a part of it whose result is no representation.
    pub fn time<T>(self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let around = INSIDE.replace(Duration::ZERO);
        let done = visits::within(self, work);
        let took = start.elapsed();
        let own = took.saturating_sub(INSIDE.replace(around + took));
        let counter = &COUNTERS[self as usize];
        counter.count.fetch_add(1, Ordering::Relaxed);
        counter.nanoseconds.fetch_add(own.as_nanos() as u64, Ordering::Relaxed);
        done
    }

    fn dump(self, when: &str, what: &(impl Artifact + ?Sized)) {
        if let Some(text) = what.text() {
            eprintln!("svod: {when} {self}\n{text}");
        }
    }
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The passes that `SVOD_DUMP` names, separated by commas, or `all`.
fn dumped() -> PassSet {
    static DUMPED: LazyLock<PassSet> = LazyLock::new(|| {
        let named = std::env::var("SVOD_DUMP").unwrap_or_default();
        PassSet::named(&named, |_| true).unwrap_or_else(|unknown| {
            eprintln!("svod: SVOD_DUMP: {unknown}");
            PassSet::default()
        })
    });
    *DUMPED
}

/// What a pass took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassTime {
    /// Which one.
    pub pass: Pass,
    /// How often it ran.
    pub count: u64,
    /// For how long, altogether.
    pub time: Duration,
}

/// What each pass took since the process began, in order.
pub fn times() -> [PassTime; PIPELINE.len()] {
    PIPELINE.map(|Row { pass, .. }| {
        let Counter { count, nanoseconds } = &COUNTERS[pass as usize];
        let time = Duration::from_nanos(nanoseconds.load(Ordering::Relaxed));
        PassTime { pass, count: count.load(Ordering::Relaxed), time }
    })
}

/// What was added to `before`, as a table.
pub fn table(before: &[PassTime]) -> String {
    let mut text = String::new();
    for (now, then) in times().iter().zip(before) {
        let (count, time) = (now.count - then.count, now.time - then.time);
        if count > 0 {
            let milliseconds = time.as_secs_f64() * 1e3;
            text += &format!("  {:<18}{count:>6} × {milliseconds:>10.3} ms\n", now.pass.name());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn passes_are_timed_without_what_runs_inside() {
        let before = times();
        let long = Duration::from_millis(20);
        let slept = Pass::Load.time(|| {
            Pass::Plan.time(|| std::thread::sleep(long));
            7
        });
        assert_eq!(slept, 7);
        let took = |pass: Pass| times()[pass as usize].time - before[pass as usize].time;
        assert!(took(Pass::Plan) >= long && times()[Pass::Load as usize].count > before[Pass::Load as usize].count);
        assert!(took(Pass::Load) < took(Pass::Plan), "{:?}", took(Pass::Load));
        assert!(table(&before).contains("load"));
    }

    #[test]
    fn each_pass_reads_what_an_earlier_one_gives() {
        for (at, row) in PIPELINE.iter().enumerate() {
            assert_eq!(row.pass as usize, at);
            let given = |phase: Phase| phase == Phase::Tensors || PIPELINE[..at].iter().any(|r| r.to == phase);
            assert!(given(row.from), "{} reads {:?}", row.name, row.from);
            assert!(
                row.why.ends_with('.') && row.name.chars().all(|c| c.is_ascii_lowercase() || c == '-'),
                "{}",
                row.name
            );
            assert!(!row.optional || row.from == row.to, "{}: what is left out must change no phase", row.name);
        }
    }

    #[test]
    #[should_panic(expected = "pass fuse broke a rule")]
    #[cfg(debug_assertions)]
    fn what_a_pass_gives_is_verified() {
        struct Wrong;
        impl Artifact for Wrong {
            fn verify(&self) -> Result<(), String> {
                Err("it is wrong".into())
            }
        }
        Pass::Fuse.run(&(), || Wrong);
    }

    #[test]
    #[cfg(debug_assertions)]
    fn visits_count_for_the_pass_that_runs() {
        visit(1);
        let before = visited();
        Pass::Fuse.time(|| {
            visit(2);
            Pass::Merge.time(|| visit(3));
            visit(4);
        });
        let seen = |pass: Pass| visited()[pass as usize] - before[pass as usize];
        assert_eq!((seen(Pass::Fuse), seen(Pass::Merge)), (6, 3));
    }
}
