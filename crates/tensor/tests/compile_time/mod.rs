//! No pass looks at more than 2.2 times as much in twice the graph. Visits, which debug builds count, not time.

use super::support::*;
use std::sync::Arc;
use svod_codegen::compile;
use svod_ir::pass::{PIPELINE, Pass, visited};
use svod_runtime::{Context, PrepareConfig};
use svod_tensor::{Index, Result, Tensor};

/// Visits that do not count: those of one kernel, as their number is rounded up.
const FEW: u64 = 5_000;

/// Passes that do nothing for code that is on disk.
const GENERATE: [Pass; 5] = [Pass::Linear, Pass::Text, Pass::Parse, Pass::Optimize, Pass::Emit];

/// What each pass visits to prepare a value. Code is generated once more, as it may be on disk.
fn visits(value: &Tensor) -> [u64; PIPELINE.len()] {
    let config = PrepareConfig { disable_schedule_cache: true, ..PrepareConfig::default() };
    let before = visited();
    let plan = value.prepare_with(&[], &config).unwrap();
    let generated = GENERATE.map(|pass| visited()[pass as usize] - before[pass as usize]);
    let codes: Vec<_> = plan.execution().ops().iter().filter_map(|op| op.code()).collect();
    for (at, code) in codes.iter().enumerate() {
        if !codes[..at].iter().any(|c| Arc::ptr_eq(c, code)) {
            compile(&code.spec().ast, Context::global().target()).unwrap();
        }
    }
    let mut after = visited();
    GENERATE.iter().zip(generated).for_each(|(pass, count)| after[*pass as usize] -= count);
    after.iter_mut().zip(before).for_each(|(after, before)| *after -= before);
    after
}

/// Prepares graphs of `size` steps, and of twice as many: of other extents, as their kernels are not to be
/// known. `passes` are some of those that have to be at work in both.
fn doubles(size: usize, extents: [usize; 2], passes: &[Pass], make: impl Fn(usize, usize) -> Result<Tensor> + Sync) {
    // On a thread of this pool kernels are compiled one after the other, where visits are counted.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let run = |size, extent| pool.install(|| visits(&make(size, extent).unwrap()));
    let (once, twice) = (run(size, extents[0]), run(2 * size, extents[1]));
    for (row, (once, twice)) in PIPELINE.iter().zip(once.into_iter().zip(twice)) {
        assert!(!passes.contains(&row.pass) || once > 0, "{} visits nothing", row.name);
        let most = once * 22 / 10 + FEW;
        assert!(twice <= most, "{}: {once} visits of {size} steps, {twice} of twice as many", row.name);
    }
}

/// Passes that are at work wherever something is compiled.
const ALL: [Pass; 13] = [
    Pass::Walk,
    Pass::Key,
    Pass::Algebra,
    Pass::Fuse,
    Pass::Trace,
    Pass::Rangeify,
    Pass::Normalize,
    Pass::Order,
    Pass::Lower,
    Pass::Linear,
    Pass::Emit,
    Pass::Attach,
    Pass::Plan,
];

#[test]
fn a_long_chain_is_linear() {
    doubles(10_000, [64, 72], &ALL, |operations, extent| {
        let x = iota(&[extent]);
        (0..operations / 2).try_fold(x.clone(), |y, _| y.add(&x)?.mul(0.999))
    });
}

#[test]
fn a_deep_network_is_linear() {
    doubles(48, [24, 40], &ALL, |layers, extent| {
        let layer = |x: Tensor| x.matmul(&iota(&[extent, extent]))?.add(iota(&[extent]))?.relu();
        (0..layers).try_fold(iota(&[8, extent]), |x, _| layer(x))
    });
}

#[test]
fn what_doubles_at_each_step_is_linear() {
    doubles(30, [48, 56], &ALL, |steps, extent| {
        (0..steps).try_fold(iota(&[extent]), |x, _| x.add(&x.flip(Some(&[0]))?))
    });
    doubles(30, [80, 88], &ALL, |steps, extent| (0..steps).try_fold(iota(&[extent]), |x, _| x.add(&x)));
}

#[test]
fn what_reads_its_neighbours_at_each_step_is_linear() {
    doubles(24, [40, 48], &ALL, |steps, extent| (0..steps).try_fold(iota(&[extent, 7]), |x, _| x.roll(1, 0)));
    // A part of each step is read at one position only.
    doubles(24, [56, 64], &ALL, |steps, extent| {
        let half = extent as i64 / 2;
        (0..steps).try_fold(iota(&[extent]), |x, _| {
            let halves = x.split(&[half, half], 0)?;
            Tensor::cat(&[&halves[1], &halves[0].mul(0.5)?], 0)
        })
    });
    doubles(12, [20, 24], &ALL, |steps, extent| {
        (0..steps).try_fold(iota(&[extent, extent]), |x, _| {
            let along = |axis| x.roll(1, axis)?.add(x.roll(-1, axis)?);
            x.add(along(0)?.add(along(1)?)?.sub(x.mul(4.0)?)?.mul(0.1)?)
        })
    });
    doubles(12, [28, 32], &ALL, |steps, extent| {
        (0..steps).try_fold(iota(&[extent, extent]), |x, _| {
            let (wide, size) = (x.pad(&[(1, 1), (1, 1)], 0.0)?, extent as i64);
            let at = |row: i64, column: i64| wide.shrink(&[(row, row + size), (column, column + size)]);
            let around = at(0, 1)?.add(at(2, 1)?)?.add(at(1, 0)?)?.add(at(1, 2)?)?;
            x.add(around.sub(x.mul(4.0)?)?.mul(0.1)?)
        })
    });
}

#[test]
fn movements_of_many_dimensions_are_linear() {
    doubles(24, [3, 5], &ALL, |steps, last| {
        let mut shape = [2; 10];
        shape[9] = last;
        (0..steps).try_fold(iota(&shape), |x, step| {
            let by = 1 + step as i64 % 8;
            let axes: Vec<i64> = (0..9).map(|d| (d + by) % 9).chain([9]).collect();
            x.add(&x.permute(&axes)?)
        })
    });
}

#[test]
fn what_is_joined_step_by_step_is_linear() {
    doubles(128, [5, 6], &ALL, |steps, extent| {
        let part = iota(&[4, extent]);
        (0..steps).try_fold(part.clone(), |x, _| Tensor::cat(&[&x, &part], 0))
    });
    // In the order 0, 3, 6, ...: many positions between others are left for the first ones. Shorter rows would be computed
    // one by one, when they are written.
    doubles(128, [4099, 4103], &ALL, |steps, extent| {
        let whole = iota(&[steps, extent]);
        for step in 0..steps {
            let at = (3 * step) % steps;
            whole.set(&[Index::from(at as i64)], iota(&[extent]).mul(step as f64)?)?;
        }
        Ok(whole)
    });
}
