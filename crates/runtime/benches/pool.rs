//! What a parallel region costs: empty, handed to every worker, after a pause, from many callers.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use criterion::Criterion;
use svod_runtime::pool::{Pool, default_threads};

/// A region that ends only when each thread of the pool has taken a task.
fn meet(pool: &Pool) {
    let threads = pool.threads();
    let arrived = AtomicUsize::new(0);
    pool.run(threads, &|_, _| {
        arrived.fetch_add(1, Ordering::AcqRel);
        while arrived.load(Ordering::Acquire) < threads {
            spin_loop();
        }
    });
}

fn empty(pool: &Pool) {
    pool.run(pool.threads(), &|_, task| {
        black_box(task);
    });
}

fn regions(c: &mut Criterion) {
    let pool = Pool::new(default_threads().max(2));
    let mut group = c.benchmark_group(format!("pool/{}", pool.threads()));
    group.bench_function("empty", |b| b.iter(|| empty(&pool)));
    group.bench_function("hand over to all", |b| b.iter(|| meet(&pool)));
    for idle in [50, 1000].map(Duration::from_micros) {
        group.bench_function(format!("hand over to all after {idle:?}"), |b| {
            b.iter_custom(|rounds| {
                let one = || {
                    let pause = Instant::now();
                    if idle > Duration::from_micros(100) {
                        sleep(idle);
                    }
                    while pause.elapsed() < idle {
                        spin_loop();
                    }
                    let start = Instant::now();
                    meet(&pool);
                    start.elapsed()
                };
                (0..rounds).map(|_| one()).sum()
            });
        });
    }
    group.bench_function("empty beside 7 other callers", |b| {
        let done = AtomicBool::new(false);
        scope(|s| {
            for _ in 0..7 {
                s.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        empty(&pool);
                    }
                });
            }
            b.iter(|| empty(&pool));
            done.store(true, Ordering::Relaxed);
        });
    });
    group.finish();
    c.bench_function("pool/1 thread", |b| {
        let pool = Pool::new(1);
        b.iter(|| empty(&pool));
    });
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    regions(&mut criterion);
    criterion.final_summary();
}
