//! The tasks of a contraction: blocks of rows and columns, with little copied and fetched for each multiply-add, that
//! any number of threads can share out evenly; and who copies the columns that several of them read.
//!
//! A task copies columns itself where that costs less than another core's copy does: caches of other cores are far.

use crate::costs::limits::{products, tasks};
use svod_ir::target::Target;

/// The tasks of a contraction.
pub(super) struct Grid {
    /// Products of `m` × `n`.
    pub outer: i64,
    pub m: i64,
    /// Whether `m` is the most that there may be.
    pub symbolic: bool,
    pub n: i64,
    /// Contractions of the same rows that a task computes.
    pub several: i64,
    pub depth: i64,
    /// Rows and columns of the tile.
    pub rows: i64,
    pub cols: i64,
    /// Rows and columns of a task at most.
    pub tall: i64,
    pub widest: i64,
    /// Columns of a task at most that it copies itself.
    pub own: i64,
    /// Bytes of a vector.
    pub vector: i64,
    pub costs: Costs,
}

/// What moving an element costs, in multiply-adds.
pub(super) struct Costs {
    /// Copying it.
    pub copy: f64,
    /// Fetching it from a copy: from a task's own, and from another.
    pub fetch: [f64; 2],
    /// Whether the columns were copied when the plan was prepared.
    prepared: bool,
}

impl Costs {
    /// Where operands, copies and result pass through the second-level cache, or do not; of prepared columns, or others.
    pub fn of(target: &Target, passes: bool, prepared: bool) -> Costs {
        let bytes = target.vector_bytes as f64;
        Costs {
            copy: bytes * products::COPY[usize::from(passes)],
            fetch: products::FETCH.map(|cost| bytes * cost),
            prepared,
        }
    }
}

/// Where a task reads its columns.
struct Columns {
    /// Whether from a copy that tasks share: it costs less than one of its own, or the task may make none.
    shared: bool,
    /// What that costs for each multiply-add.
    cost: f64,
}

impl Grid {
    /// Rows and columns of a task: few copies and fetches for each multiply-add, and tasks that any number
    /// of threads can share out evenly. It follows from the shape alone. Where the number of rows may be
    /// any, a single block of rows should be shared out as well.
    pub fn blocks(&self) -> (i64, i64) {
        let across = tiles(self.n, self.cols);
        let tallest = (self.tall / self.rows).clamp(1, tiles(self.m, self.rows));
        let widest = (self.widest / self.cols).clamp(1, across);
        // Widths that cut the columns in equal parts, and are some tiles at least.
        let fewest = tiles(across, widest);
        let parts = (fewest..=fewest.max(across * self.several / products::FEWEST_TILES)).take(tasks::MANY as usize);
        let choices = parts.flat_map(|p| (1..=tallest).map(move |t| (t, tiles(across, p))));
        let few = self.symbolic.then_some(self.m.min(self.tall));
        let cost = |&(t, w): &(i64, i64)| self.cost(self.m, t, w) + few.map_or(0.0, |m| self.cost(m, t, w));
        let (t, w) = choices.min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or((1, 1));
        (t * self.rows, w * self.cols)
    }

    /// Where tasks of so many rows and columns read these, of `m` rows in all.
    fn columns(&self, m: i64, rows: i64, columns: i64) -> Columns {
        let Costs { copy, fetch: [own, other], prepared } = self.costs;
        let ahead = own + (self.vector as f64 * products::AHEAD - rows as f64).max(0.0);
        let (once, other) = if prepared { (0.0, ahead) } else { (copy / m as f64, other) };
        let (own, other) = ((copy + own) / rows as f64, once + other / rows as f64);
        let shared = other < own || prepared || columns > self.own;
        Columns { shared, cost: if shared { other } else { own } }
    }

    /// Whether tasks of so many rows and columns share the copies of these.
    pub fn shares(&self, rows: i64, columns: i64) -> bool {
        rows < self.m && self.columns(self.m, rows, columns).shared
    }

    /// What tasks of so many rows and columns, of `m` rows in all, copy and fetch, in the time of a multiply-add for each of these.
    pub fn copies(&self, m: i64, rows: i64, columns: i64) -> f64 {
        self.costs.copy / (columns * self.several) as f64 + self.columns(m, rows, columns).cost
    }

    /// The time of tasks of `t` × `w` tiles for `m` rows, in that of the multiply-adds alone, as a mean over
    /// numbers of threads.
    fn cost(&self, m: i64, t: i64, w: i64) -> f64 {
        let (down, across) = (tiles(m, self.rows), tiles(self.n, self.cols));
        let work = m.saturating_mul(self.n).saturating_mul(self.depth).saturating_mul(self.outer * self.several);
        // Two threads share what takes some microseconds.
        let few = (work / (2 * tasks::CPU.task)).clamp(1, 2);
        let tasks = (work / tasks::CPU.task).saturating_mul(products::VECTOR) / self.vector;
        let wanted = (tasks / 8).clamp(few, 8).max((tasks / 128).min(tasks::MANY));
        let copies = self.copies(m, t * self.rows, w * self.cols);
        let columns = self.outer.saturating_mul(tiles(across, w));
        let even = (self.outer.saturating_mul(down).saturating_mul(across)) as f64;
        let powers = (1..).map(|p| 1 << p).take_while(|threads| *threads <= wanted);
        // One thread is always even; with many, an uneven share matters where there are so many.
        let (time, weights) = powers.fold((0.125, 0.125), |(time, weights), threads: i64| {
            let weight = 1.0 / threads as f64;
            let last = last_to_end(columns.saturating_mul(down / t), t, columns, down % t, threads);
            (time + weight * last as f64 * (w * threads) as f64 / even, weights + weight)
        });
        (1.0 + copies) * time / weights
    }
}

/// How many pieces of length `side` cover `n`.
fn tiles(n: i64, side: i64) -> i64 {
    (n + side - 1) / side
}

/// When the last of some threads is done that take tasks in order: `full` ones of length `long`, then
/// `others` of length `short`.
pub(super) fn last_to_end(full: i64, long: i64, others: i64, short: i64, threads: i64) -> i64 {
    if full.saturating_add(others) > 64 * threads {
        return (full.saturating_mul(long).saturating_add(others.saturating_mul(short))) / threads;
    }
    let (late, mut left) = (full % threads, if short > 0 { others } else { 0 });
    let (mut first, mut second) = (0, if late > 0 { long } else { 0 });
    while left > 0 {
        if first <= second || late == 0 {
            (first, left) = (first + short, left - (threads - late));
        } else {
            (second, left) = (second + short, left - late);
        }
    }
    full / threads * long + first.max(second)
}
