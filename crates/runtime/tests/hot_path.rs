//! D1: a run allocates nothing. A binary of its own, because it counts the process's allocations.
#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use svod_ir::size::Size;
use svod_runtime::plan::{ExecutionPlanBuilder, PlanOp, Role};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls go on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Adds 1 to the element of the task.
unsafe extern "C" fn count(buffers: *const *mut u8, vals: *const i64) {
    // SAFETY: a pointer to as many floats as there are tasks; the task is the only value.
    unsafe { *(*buffers).cast::<f32>().add(*vals as usize) += 1.0 };
}

#[test]
fn d1_a_run_allocates_nothing() {
    let (context, _) = interpreting();
    context.set_threads(2);
    let code = |tasks| {
        let kernel = Kernel::new("count", count, 1, 64);
        Kernel { ins: vec![0], tasks: Size::from(tasks), scratch: 100, ..kernel }.code(&context)
    };
    let mut builder = ExecutionPlanBuilder::new(&context);
    for tasks in [1, 1, 64, 1, 64] {
        let out = builder.buffer(buffer(&context, 64), Role::Output);
        builder.op(PlanOp::kernel(code(tasks), vec![out]));
    }
    builder.op(PlanOp::kernel(code(64), vec![0]));
    builder.op(PlanOp::copy(1, 2));
    builder.outputs(vec![0, 2]);
    let plan = builder.build().unwrap();
    // The pool starts its threads at the first run; a thread allocates while it comes up.
    plan.execute().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    plan.execute().unwrap();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    (0..100).for_each(|_| plan.execute().unwrap());
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
    assert_eq!(output(&plan, 1), [102.; 64]);
}
