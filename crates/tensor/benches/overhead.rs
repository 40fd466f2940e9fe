//! What svod itself costs around its kernels: building a graph, preparing it, starting a run.
//!
//! `cargo bench -p svod-tensor --bench overhead`

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use std::hint::black_box;
use svod_runtime::PrepareConfig;
use svod_tensor::{Result, Tensor};

/// Additions and multiplications, one after the other.
fn chain(x: &Tensor, operations: usize) -> Result<Tensor> {
    (0..operations / 2).try_fold(x.clone(), |y, _| y.add(x)?.mul(0.999))
}

fn input(count: usize) -> Tensor {
    Tensor::from_slice(&vec![0.5f32; count], &[count]).expect("the shape has as many elements")
}

/// Time an operation while a graph is built, and let go again.
fn building(c: &mut Criterion) {
    let x = input(64);
    let mut group = c.benchmark_group("build");
    for operations in [100, 10_000] {
        group.throughput(Throughput::Elements(operations as u64));
        group.bench_function(BenchmarkId::from_parameter(operations), |b| {
            b.iter(|| black_box(chain(&x, operations).expect("shapes are equal")));
        });
    }
    group.finish();
}

/// Time an operation while a plan is prepared: of a graph that is known, and scheduled anew of kernels that are.
fn preparing(c: &mut Criterion) {
    let x = input(64);
    let known = PrepareConfig::default().for_plan();
    let anew = PrepareConfig { disable_schedule_cache: true, ..known.clone() };
    for (name, config) in [("prepare/known", known), ("prepare/scheduled anew", anew)] {
        let mut group = c.benchmark_group(name);
        group.sample_size(10);
        for operations in [2, 100, 1000, 2000, 10_000] {
            group.throughput(Throughput::Elements(operations as u64));
            group.bench_function(BenchmarkId::from_parameter(operations), |b| {
                b.iter_batched(
                    || chain(&x, operations).expect("shapes are equal"),
                    |y| y.prepare_with(&[&x], &config).expect("it compiles"),
                    BatchSize::SmallInput,
                );
            });
        }
        group.finish();
    }
}

/// A run of one small kernel: from a plan, from a plan that is given its input, and a value realized anew.
fn running(c: &mut Criterion) {
    let mut group = c.benchmark_group("run");
    for count in [1, 1000] {
        let (x, other) = (input(count), input(count));
        let y = x.add(1.0).expect("a number fits");
        let plan = y.prepare(&[&x]).expect("it compiles");
        group.bench_function(BenchmarkId::new("plan", count), |b| b.iter(|| plan.execute().expect("it runs")));
        group.bench_function(BenchmarkId::new("plan, input given", count), |b| {
            b.iter(|| plan.execute_on(&[&other], &[]).expect("it runs"));
        });
        group.bench_function(BenchmarkId::new("realize", count), |b| {
            b.iter(|| x.add(1.0).and_then(|y| y.realize()).expect("it runs"));
        });
    }
    group.finish();
}

/// A run of so many small kernels, each of which reads what the one before wrote.
fn kernels(c: &mut Criterion) {
    let mut apart = PrepareConfig::default().for_plan();
    apart.set("skip", "merge").expect("it is an optional pass");
    let mut group = c.benchmark_group("run/kernel");
    for count in [1, 10, 100] {
        let x = input(64);
        let y = (0..count).try_fold(x.clone(), |y, _| y.add(&x)?.contiguous()).expect("shapes are equal");
        let plan = y.prepare_with(&[&x], &apart).expect("it compiles");
        assert_eq!(plan.execution().kernels().len(), count as usize, "a kernel an operation");
        group.throughput(Throughput::Elements(count));
        group.bench_function(BenchmarkId::from_parameter(count), |b| b.iter(|| plan.execute().expect("it runs")));
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    building(&mut criterion);
    preparing(&mut criterion);
    running(&mut criterion);
    kernels(&mut criterion);
    criterion.final_summary();
}
