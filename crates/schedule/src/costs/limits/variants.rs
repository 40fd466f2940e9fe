//! Schedules by size. Set by: products of few rows.

/// Schedules of one kernel at most.
pub const MAX_VARIANTS: usize = 3;
/// Candidates, which are chosen for sizes a factor of four apart, from 1 on.
pub(crate) const CANDIDATES: u32 = 4;
/// Rows that are laid out together of which a part may be all that there is, at most: for more there is a candidate for fewer.
pub(crate) const HALVED: u64 = 4;
/// What a variant must save, as the logarithm of a ratio of times, at each size: estimates are not better than that.
pub(crate) const CERTAIN: f64 = 0.1;
/// Threads that times are estimated for, as a mean. The machine's own number must not enter.
pub(crate) const THREADS: [usize; 2] = [1, 4];
/// By how much caches may be faster than described, as a mean as well: what waits for them in one machine waits for
/// its instructions in another.
pub(crate) const CACHES: [f64; 2] = [1.0, 2.0];
