//! The rate that others are compared with, and the clock of all of them.

use std::time::Duration;
use svod_codegen::load::Code;
use svod_codegen::{host, machine, tile};
use svod_dtype::DType;
use svod_ir::linear::TileSpec;

/// The processor time of this thread where it works alone, so that other work on the machine does not
/// count; else the time of the clock.
pub fn now(threads: usize) -> Duration {
    let clock = if threads == 1 { libc::CLOCK_THREAD_CPUTIME_ID } else { libc::CLOCK_MONOTONIC };
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a place for the answer.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// GFLOP/s of this core's contraction tile on panels in its first-level cache: the peak of the same run,
/// since clock rates drift.
pub fn peak() -> f64 {
    const CALLS: u32 = 2000;
    let target = host::target();
    let (rows, cols, depth) = (4u32, 3 * target.lanes(4) as u32, 128usize);
    let spec = TileSpec {
        rows,
        cols,
        dtype: DType::F32,
        pairs: false,
        acc: DType::F32,
        a_panel: false,
        b_offsets: false,
        fetches: 0,
    };
    let object = machine::object("tile", &tile::render(&spec, &target), &target).expect("the tile compiles");
    let code = Code::load("tile", &object, &|_| None).expect("the tile loads");
    let address = code.address(&tile::symbol(&spec)).expect("it holds the tile").0;
    type Tile = unsafe extern "C" fn(*mut f32, *const f32, *const f32, i64, i64, i64, i64, i64);
    // SAFETY: the code generator gave the function this signature.
    let run = unsafe { std::mem::transmute::<usize, Tile>(address) };
    let (a, b) = (vec![0.5f32; rows as usize * depth], vec![0.25f32; cols as usize * depth]);
    let mut c = vec![0f32; (rows * cols) as usize];
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let start = now(1);
        for _ in 0..CALLS {
            let stride = i64::from(cols);
            // SAFETY: the operands have the sizes that depth, strides and tile imply.
            unsafe { run(c.as_mut_ptr(), a.as_ptr(), b.as_ptr(), depth as i64, 0, stride, depth as i64, stride) };
        }
        best = best.min(now(1) - start);
    }
    2.0 * f64::from(rows * cols) * depth as f64 * f64::from(CALLS) / best.as_secs_f64() / 1e9
}
