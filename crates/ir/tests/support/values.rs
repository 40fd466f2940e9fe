//! Values for kernels' arguments.
#![allow(dead_code, clippy::unwrap_used)]

use svod_dtype::DType;
use svod_ir::buffer::HostBuffer;
use svod_ir::size::{BoundVariable, Size};

/// Deterministic values: in about -2..2 for floats, small integers for others.
pub fn values(dtype: DType, n: usize, seed: u64) -> HostBuffer {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    if dtype.is_float() {
        HostBuffer::from_f64(dtype, (0..n).map(|_| (next() % 4001) as f64 / 1000.0 - 2.0))
    } else {
        HostBuffer::from_i64(dtype, (0..n).map(|_| (next() % 5) as i64))
    }
}

/// Elements of a shape.
pub fn count(shape: &[Size], vars: &[BoundVariable]) -> usize {
    shape.iter().map(|s| s.eval_bound(vars).unwrap() as usize).product()
}
