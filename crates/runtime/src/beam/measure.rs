//! How a candidate is timed.
//!
//! The score is the least time of several runs. On a CPU caches are warm. On a GPU they are emptied
//! before each run, and a grid that is very large is cut, with the time scaled to what the whole
//! would take.

use std::time::Duration;
use svod_ir::target::Target;

/// What timing depends on besides the candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Whether caches are emptied before each run.
    pub flush: bool,
    /// Groups of threads that are run at most.
    pub most_groups: Option<usize>,
}

/// Something that can be run again and again.
pub trait Timed {
    /// Why it failed.
    type Error;

    /// Puts back what the last run has changed of its own operands.
    fn restore(&mut self) -> Result<(), Self::Error>;

    /// Empties the caches.
    fn flush(&mut self) -> Result<(), Self::Error>;

    /// Groups of threads, by dimension, on devices where less of them may run.
    fn grid(&self) -> Option<[usize; 3]>;

    /// Runs once, on this grid if it has one, and says how long that took.
    fn run(&mut self, grid: Option<[usize; 3]>) -> Result<Duration, Self::Error>;
}

/// Groups of threads beyond which a GPU's grid is cut.
const MOST_GROUPS: usize = 65_536;
/// Dimensions of a grid that are not larger than this stay as they are.
const SMALL: usize = 16;
/// Runs that count, at most and at least, and the time after which there are no more.
const RUNS: usize = 20;
const FEWEST: usize = 3;
const ENOUGH: Duration = Duration::from_millis(40);
/// A candidate that takes as many times the best one's time is not run again.
const HOPELESS: f64 = 1.3;

impl Rules {
    /// Those of a machine.
    pub fn of(target: &Target) -> Rules {
        let gpu = target.groups.is_some();
        Rules { flush: gpu, most_groups: gpu.then_some(MOST_GROUPS) }
    }

    /// A grid that is not too large, and how many times the work of it the whole is: the largest
    /// dimension is halved until it fits, or none is left that is larger than 16.
    pub fn cut(&self, grid: [usize; 3]) -> ([usize; 3], f64) {
        let size = |grid: [usize; 3]| grid.iter().product::<usize>();
        let mut cut = grid;
        while self.most_groups.is_some_and(|most| size(cut) > most) {
            let Some(largest) = cut.iter_mut().filter(|n| **n > SMALL).max_by_key(|n| **n) else { break };
            *largest /= 2;
        }
        (cut, size(grid) as f64 / size(cut).max(1) as f64)
    }
}

/// One run's time, scaled to the whole grid.
fn once<T: Timed + ?Sized>(timed: &mut T, rules: &Rules) -> Result<Duration, T::Error> {
    timed.restore()?;
    if rules.flush {
        timed.flush()?;
    }
    match timed.grid().map(|grid| rules.cut(grid)) {
        Some((grid, scale)) => Ok(timed.run(Some(grid))?.mul_f64(scale)),
        None => timed.run(None),
    }
}

/// The score of a candidate, where `best` is that of the best one so far: one that is much slower is
/// given up early.
pub fn score<T: Timed + ?Sized>(timed: &mut T, rules: &Rules, best: Option<Duration>) -> Result<Duration, T::Error> {
    let hopeless = |time: Duration| best.is_some_and(|best| time.as_secs_f64() > best.as_secs_f64() * HOPELESS);
    // The first run meets cold caches and sleeping threads.
    let first = once(timed, rules)?;
    if best.is_some_and(|best| first > best * 10) {
        return Ok(first);
    }
    let (mut least, mut total) = (Duration::MAX, first);
    for run in 1..=RUNS {
        let time = once(timed, rules)?;
        (least, total) = (least.min(time), total + time);
        if run > 1 && hopeless(least) || run >= FEWEST && total > ENOUGH {
            break;
        }
    }
    Ok(least)
}

/// The scores of several candidates that run in turn, so that what disturbs one disturbs all.
pub fn paired<T: Timed>(timed: &mut [T], rules: &Rules) -> Result<Vec<Duration>, T::Error> {
    for one in timed.iter_mut() {
        once(one, rules)?;
    }
    let mut least = vec![Duration::MAX; timed.len()];
    let mut total = Duration::ZERO;
    for run in 1..=2 * RUNS {
        for (one, least) in timed.iter_mut().zip(&mut least) {
            let time = once(one, rules)?;
            (*least, total) = ((*least).min(time), total + time);
        }
        if run >= 2 * FEWEST && total > 4 * ENOUGH {
            break;
        }
    }
    Ok(least)
}
