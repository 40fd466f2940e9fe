//! Fourier transforms and linear algebra over rows of memory: what the host computes of a tensor, by the crates `rustfft`,
//! `realfft` and `faer`.
//!
//! It knows nothing of tensors, and depends on no other crate of svod, so that it is compiled once. Many rows are
//! divided among threads, which the caller gives ([`Parallel`]).

mod balance;
mod composed;
mod eigen;
pub mod fft;
pub mod linalg;
mod repair;
mod small;

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
