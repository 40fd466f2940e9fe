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

/// Parts of work that threads take one by one, at most.
const MOST_TASKS: usize = 64;

/// Calls a function for each row of the operand and the result, groups of rows in parallel. A row takes so many operations.
fn rows<T: Sync, R: Send>(
    operand: (&[T], usize),
    result: (&mut [R], usize),
    operations: usize,
    parallel: &Parallel<'_>,
    work: impl Fn(&[T], &mut [R]) + Sync,
) {
    /// Operations that are worth another thread.
    const WORTH: usize = 1 << 16;
    let ((from, wide), (to, narrow)) = (operand, result);
    let count = from.len().checked_div(wide).unwrap_or(0);
    let tasks = (count.saturating_mul(operations) / WORTH).clamp(1, MOST_TASKS).min(count.max(1));
    let each = count.div_ceil(tasks).max(1);
    let parts = from.chunks(each * wide.max(1)).zip(to.chunks_mut(each * narrow.max(1)));
    let parts: Vec<Mutex<(&[T], &mut [R])>> = parts.map(Mutex::new).collect();
    parallel(parts.len(), &|task| {
        let mut part = parts[task].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (from, to) = &mut *part;
        from.chunks(wide.max(1)).zip(to.chunks_mut(narrow.max(1))).for_each(|(from, to)| work(from, to));
    });
}
