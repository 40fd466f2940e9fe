//! Fourier transforms and linear algebra over rows of memory: what the host computes of a tensor, by the crates `rustfft`,
//! `realfft` and `faer`.
//!
//! It knows nothing of tensors, and depends on no other crate of svod, so that it is compiled once. Many rows are
//! divided among threads, which the caller gives ([`Parallel`]).

pub mod fft;
pub mod linalg;
mod small;

use std::sync::Mutex;

/// Runs a function for each number below the first argument, on whichever threads.
pub type Parallel<'a> = dyn Fn(usize, &(dyn Fn(usize) + Sync)) + 'a;

/// How many of `count` pieces of work, at least one, a thread takes at a time; a piece takes so many operations.
pub fn group_of(count: usize, operations: usize) -> usize {
    /// Operations that are worth another thread, and groups at most.
    const WORTH: usize = 1 << 16;
    const MOST: usize = 64;
    let groups = (count.saturating_mul(operations) / WORTH).clamp(1, MOST).min(count.max(1));
    count.div_ceil(groups).max(1)
}

/// Calls a function for each row of the operand and the result, groups of rows in parallel. A row takes so many operations.
fn rows<T: Sync, R: Send>(
    operand: (&[T], usize),
    result: (&mut [R], usize),
    operations: usize,
    parallel: &Parallel<'_>,
    work: impl Fn(&[T], &mut [R]) + Sync,
) {
    let ((from, wide), (to, narrow)) = (operand, result);
    let count = from.len().checked_div(wide).unwrap_or(0);
    let each = group_of(count, operations);
    let parts = from.chunks(each * wide.max(1)).zip(to.chunks_mut(each * narrow.max(1)));
    let parts: Vec<Mutex<(&[T], &mut [R])>> = parts.map(Mutex::new).collect();
    parallel(parts.len(), &|task| {
        let mut part = parts[task].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (from, to) = &mut *part;
        from.chunks(wide.max(1)).zip(to.chunks_mut(narrow.max(1))).for_each(|(from, to)| work(from, to));
    });
}
