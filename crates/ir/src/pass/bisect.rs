//! Which optional rewrite makes a compilation wrong: `SVOD_BISECT=n` runs the first `n` of each schedule's alone.
//!
//! A rewrite is one run of an optional pass: over a graph, or over one of its kernels. The schedule of a graph counts its
//! own, in an order that is always the same, so that halving `n` finds the one that matters; its pass and place are
//! told as it runs.

use super::Pass;
use std::cell::Cell;
use std::sync::LazyLock;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

/// How many rewrites run, if not all.
fn most() -> Option<u64> {
    static MOST: LazyLock<Option<u64>> = LazyLock::new(|| {
        let given = std::env::var("SVOD_BISECT").ok()?;
        let most = given.trim().parse().ok();
        if most.is_none() && !given.trim().is_empty() {
            eprintln!("svod: SVOD_BISECT: {given:?} is no number of rewrites");
        }
        most
    });
    *MOST
}

/// Counts the rewrites of another schedule on this thread: from the first one.
pub fn begin() {
    ASKED.set(0);
}

/// Whether the next rewrite, a run of an optional pass, is among the first that run. Tells of the last one.
pub fn runs(pass: Pass) -> bool {
    let Some(most) = most() else { return true };
    let (runs, last) = counts(ASKED.get(), most);
    ASKED.set(ASKED.get() + 1);
    if last {
        eprintln!("svod: SVOD_BISECT: rewrite {most} is {pass}");
    }
    runs
}

/// Whether a rewrite that so many came before is among the first `most`, and whether it is the last of them.
fn counts(before: u64, most: u64) -> (bool, bool) {
    (before < most, before + 1 == most)
}

#[cfg(test)]
mod tests {
    use super::counts;

    #[test]
    fn the_first_rewrites_run() {
        assert_eq!(counts(0, 0), (false, false));
        assert_eq!(counts(0, 2), (true, false));
        assert_eq!(counts(1, 2), (true, true));
        assert_eq!(counts(2, 2), (false, false));
    }
}
