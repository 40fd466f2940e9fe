//! Running compiled kernels: the task pool.

pub mod pool;
