//! Schedules and loop trees as texts, fuzzed: see `mutate.rs`.
#![allow(clippy::unwrap_used)]

#[path = "../../ir/tests/support/mutate.rs"]
mod mutate;
#[path = "../../ir/tests/support/samples.rs"]
mod samples;

use mutate::{fuzz_text, reads_back};
use svod_ir::kernel::Kernel;
use svod_ir::lowered::Lowered;
use svod_ir::target::Target;
use svod_schedule::{Schedule, heuristic, lower};

/// Small kernels, and the schedules that the heuristic gives them.
fn scheduled() -> Vec<(Kernel, Schedule)> {
    let target = Target::named("x86-64-v3").unwrap();
    samples::all_small().into_iter().map(|kernel| (kernel.clone(), heuristic(&kernel, &target))).collect()
}

#[test]
fn schedules() {
    let texts: Vec<String> = scheduled().iter().map(|(_, schedule)| schedule.to_string()).collect();
    fuzz_text("schedule", &texts, |text| {
        if let Ok(schedule) = text.parse::<Schedule>() {
            reads_back(&schedule, str::parse::<Schedule>);
        }
    });
}

/// What is read is a program: it is refused by name or applied.
#[test]
fn schedules_of_kernels() {
    let scheduled = scheduled();
    for (kernel, schedule) in &scheduled {
        fuzz_text(&format!("schedule of {}", kernel.name), &[schedule.to_string()], |text| {
            if let Ok(schedule) = text.parse::<Schedule>() {
                let _ = lower(kernel, &schedule);
            }
        });
    }
}

#[test]
fn loop_trees() {
    let lowered = |(kernel, schedule): &(Kernel, Schedule)| lower(kernel, schedule).unwrap().lowered.to_string();
    let texts: Vec<String> = scheduled().iter().map(lowered).collect();
    fuzz_text("loop tree", &texts, |text| {
        if let Ok(lowered) = Lowered::parse(text) {
            reads_back(&lowered, Lowered::parse);
            let _ = lowered.verify();
        }
    });
}
