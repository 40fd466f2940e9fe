//! The schedules that a search tries next.
#![allow(clippy::unwrap_used)]

#[path = "../../ir/tests/support/samples.rs"]
mod samples;

use svod_ir::kernel::Kernel;
use svod_ir::size::Size;
use svod_ir::target::Target;
use svod_schedule::language::Opt;
use svod_schedule::{Schedule, heuristic, lower, neighbours};

fn words(kernel: &Kernel, schedule: &Schedule) -> (usize, String) {
    let target = Target::named("x86-64-v3").unwrap();
    let all = neighbours(kernel, &target, schedule);
    let legal: Vec<&Schedule> = all.iter().filter(|s| lower(kernel, s).is_ok()).collect();
    let text: String = legal.iter().map(|s| s.to_string()).collect();
    (legal.len(), text)
}

#[test]
fn c9_every_action_is_found() {
    let n = |n: i64| Size::from(n);
    let (_, plain) = words(&samples::softmax(&n(64), &n(256)), &Schedule::default());
    for word in ["unroll", "vector", "task", "reorder", "rfactor", "stage ", "stream", "prefetch", "at "] {
        assert!(plain.contains(word), "{word}\n{plain}");
    }
    let target = Target::named("x86-64-v3").unwrap();
    let kernel = samples::matmul_bias(&n(256), &n(256), &n(256), false);
    let base = heuristic(&kernel, &target);
    let tile = |s: &Schedule| {
        let of = |o: &Opt| matches!(o, Opt::Micro { .. }).then(|| o.to_string());
        s.0.iter().find_map(of)
    };
    let other = |s: &&Schedule| tile(s).is_some_and(|t| Some(t) != tile(&base)) && lower(&kernel, s).is_ok();
    let all = neighbours(&kernel, &target, &base);
    assert!(all.iter().filter(other).count() >= 2, "other tiles with what belongs to them\n{base}");
}

#[test]
fn c9_neighbours_are_other_schedules_and_mostly_legal() {
    let target = Target::named("x86-64-v3").unwrap();
    let n = |n: i64| Size::from(n);
    for kernel in [samples::softmax(&n(64), &n(256)), samples::layernorm(&n(64), &n(256))] {
        let base = heuristic(&kernel, &target);
        let all = neighbours(&kernel, &target, &base);
        let (legal, _) = words(&kernel, &base);
        assert!(legal > 8 && 3 * legal > all.len(), "{legal} of {}\n{base}", all.len());
        assert!(!all.contains(&base));
        let wrong = "bind nowhere.i.0 task".parse().unwrap();
        assert!(neighbours(&kernel, &target, &wrong).is_empty());
    }
}
