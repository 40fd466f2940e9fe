//! Runs loop trees compiled, in the linear interpreter and in the reference interpreter.
#![allow(dead_code, clippy::unwrap_used)]

use svod_codegen::{compile, host, load, lower};
use svod_ir::buffer::HostBuffer;
use svod_ir::lowered::Lowered;
use svod_ir::size::BoundVariable;
use svod_ir::target::Target;

/// Number of tasks of each phase.
pub fn tasks(kernel: &Lowered, vars: &[BoundVariable]) -> Vec<i64> {
    let phases = kernel.phases.iter();
    phases.map(|p| p.grid.iter().map(|l| l.extent.eval_bound(vars).unwrap().max(0)).product()).collect()
}

/// Runs compiled code for this machine.
pub fn run(kernel: &Lowered, vars: &[BoundVariable], buffers: &mut [HostBuffer]) {
    let target = host::native();
    let object = compile(kernel, &target).unwrap_or_else(|e| panic!("{e}\n{kernel}"));
    let code = load(&kernel.name, &object.bytes, &object.tiles, &target).unwrap();
    let mut vals: Vec<i64> = vars.iter().map(|v| v.value()).collect();
    vals.push(0);
    let last = vals.len() - 1;
    for (phase, tasks) in object.phases.iter().zip(tasks(kernel, vars)) {
        let entry = code.entry(&phase.entry).unwrap();
        let mut scratch = vec![[0u8; 64]; (phase.scratch_bytes as usize).div_ceil(64) + 1];
        // A block of cache lines on a boundary of one.
        let skip = (64 - scratch.as_ptr() as usize % 64) % 64;
        let mut pointers: Vec<*mut u8> = buffers.iter_mut().map(|b| b.bytes_mut().as_mut_ptr()).collect();
        pointers.push(scratch.as_mut_ptr().cast::<u8>().wrapping_add(skip));
        for task in 0..tasks {
            vals[last] = task;
            // SAFETY: the buffers are those the kernel declares, and `scratch` is large enough.
            unsafe { entry(pointers.as_ptr(), vals.as_ptr()) };
        }
    }
}

/// Runs the linear lists in their interpreter.
pub fn run_linear(kernel: &Lowered, vars: &[BoundVariable], buffers: &mut [HostBuffer], target: &Target) {
    let mut vals: Vec<i64> = vars.iter().map(|v| v.value()).collect();
    vals.push(0);
    let last = vals.len() - 1;
    let lists = lower::linearize(kernel, target).unwrap();
    for (list, tasks) in lists.iter().zip(tasks(kernel, vars)) {
        let text = list.to_string();
        assert_eq!(svod_ir::linear::Linear::parse(&text).unwrap(), *list, "{text}");
        for task in 0..tasks {
            vals[last] = task;
            list.interpret(&vals, buffers).unwrap_or_else(|e| panic!("{e}\n{list}"));
        }
    }
}

/// Fails unless compiled code and both interpreters agree, within `tolerance` relative to 1 and to
/// the value.
pub fn check(text: &str, vars: &[i64], buffers: Vec<HostBuffer>, tolerance: f64) -> Vec<HostBuffer> {
    let kernel = Lowered::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    kernel.verify().unwrap_or_else(|e| panic!("{e}\n{text}"));
    let vars: Vec<BoundVariable> = kernel.vars.iter().zip(vars).map(|(v, n)| v.bind(*n).unwrap()).collect();
    let mut expected = buffers.clone();
    kernel.interpret(&vars, &mut expected).unwrap_or_else(|e| panic!("{e}\n{text}"));
    for name in ["x86-64-v2", "x86-64-v3"] {
        let mut linear = buffers.clone();
        run_linear(&kernel, &vars, &mut linear, &Target::named(name).unwrap());
        compare(&linear, &expected, tolerance, name, text);
    }
    let mut compiled = buffers;
    run(&kernel, &vars, &mut compiled);
    compare(&compiled, &expected, tolerance, "compiled", text);
    compiled
}

fn compare(found: &[HostBuffer], expected: &[HostBuffer], tolerance: f64, how: &str, text: &str) {
    for (p, (found, expected)) in found.iter().zip(expected).enumerate() {
        for (i, (f, e)) in found.iter().zip(expected.iter()).enumerate() {
            let (x, y) = (f.as_f64(), e.as_f64());
            let close = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance * y.abs().max(1.0);
            assert!(close, "{how}: p{p}[{i}] is {f}, not {e}\n{text}");
        }
    }
}
