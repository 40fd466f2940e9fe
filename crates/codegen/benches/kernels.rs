//! Kernels written by hand under the heuristic's schedule, on one thread: time, and how long each
//! step of compiling took.
//!
//! `cargo bench -p svod-codegen --bench kernels`

mod peak;
#[path = "../../ir/tests/support/samples.rs"]
mod samples;

use peak::{now, peak};
use std::time::{Duration, Instant};
use svod_codegen::load::{Address, Code};
use svod_codegen::{host, llvm, lower, machine, tile};
use svod_dtype::DType;
use svod_ir::kernel::Kernel;
use svod_ir::size::{BoundVariable, Size, Variable};
use svod_schedule::{heuristic, lower as loops};

fn count(shape: &[Size], vars: &[BoundVariable]) -> usize {
    shape.iter().map(|s| s.eval_bound(vars).expect("all variables are bound") as usize).product()
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let value = run();
    (value, start.elapsed())
}

/// Processor time of this thread.
fn busy(run: impl FnOnce()) -> Duration {
    let start = now(1);
    run();
    now(1) - start
}

fn bench(name: &str, kernel: &Kernel, vars: &[BoundVariable], work: f64, unit: &str) {
    let target = host::target();
    let (schedule, choose) = timed(|| heuristic(kernel, &target));
    let (program, lowering) = timed(|| loops(kernel, &schedule).expect("the heuristic's schedule is legal"));
    let lowered = &program.lowered;
    let (lists, linear) = timed(|| lower::linearize(lowered, &target).expect("the loop tree is well formed"));
    let (text, write) = timed(|| llvm::module(&lists, &target, llvm::Entry::task(&target)));
    if std::env::var_os("SVOD_PRINT").is_some() {
        println!("{schedule}\n{lowered}\n{text}");
    }
    let (object, compile) = timed(|| machine::object(&lowered.name, &text, &target).expect("the text is valid"));
    let tiles: Vec<(String, Code)> = lists
        .iter()
        .flat_map(|l| l.tiles())
        .map(|spec| {
            let object = machine::object("tile", &tile::render(&spec, &target), &target).expect("the tile compiles");
            (tile::symbol(&spec), Code::load("tile", &object, &|_| None).expect("the tile loads"))
        })
        .collect();
    let resolve =
        |name: &str| -> Option<Address> { tiles.iter().find(|(n, _)| n == name).and_then(|(n, c)| c.address(n)) };
    let code = Code::load(&lowered.name, &object, &resolve).expect("the object loads");
    let mut buffers: Vec<Vec<u64>> =
        lowered.params.iter().map(|p| vec![0u64; (count(&p.shape, vars) * p.dtype.bytes()).div_ceil(8) + 8]).collect();
    let scratch = lists.iter().map(|l| l.scratch_bytes()).max().unwrap_or(0) as usize;
    let mut scratch = vec![0u64; scratch / 8 + 16];
    let at = scratch.as_mut_ptr().cast::<u8>();
    let mut pointers: Vec<*mut u8> = buffers.iter_mut().map(|b| b.as_mut_ptr().cast()).collect();
    pointers.push(at.wrapping_add(at.align_offset(64)));
    let mut best = Duration::MAX;
    for _ in 0..9 {
        let time = busy(|| {
            for (list, phase) in lists.iter().zip(&lowered.phases) {
                let entry = code.entry(&list.name).expect("the object holds the phase");
                let tasks: i64 = phase.grid.iter().map(|l| l.extent.eval_bound(vars).expect("bound")).product();
                for task in 0..tasks {
                    let value = |v: &Variable| vars.iter().find(|b| b.variable() == v).expect("bound").value();
                    let vals: Vec<i64> = lowered.vars.iter().map(value).chain([task]).collect();
                    // SAFETY: buffers have the parameters' sizes, the scratch block the lists'.
                    unsafe { entry(pointers.as_ptr(), vals.as_ptr()) };
                }
            }
        });
        best = best.min(time);
    }
    let rate = work / best.as_secs_f64() / 1e9;
    println!(
        "{name:<34} {best:>10.2?} {rate:7.1} {unit:<8} compile: {choose:.0?} + {lowering:.0?} + {linear:.0?} + {write:.0?} + LLVM {compile:.1?}"
    );
}

fn convolutions() {
    let slide = |size, taps, stride, padding| samples::Slide { size, taps, stride, padding, dilation: 1 };
    for (name, batch, channels, window) in [
        ("conv 3x3, 4 x 64 x 56 x 56", 4, [1, 64, 64], slide(56, 3, 1, 1)),
        ("conv 7x7/2, 2 x 3 x 224 x 224", 2, [1, 3, 64], slide(224, 7, 2, 3)),
        ("conv 3x3, 1 x 256 x 14 x 14", 1, [1, 256, 256], slide(14, 3, 1, 1)),
        ("conv 3x3/2, 1 x 128 x 28 x 28", 1, [1, 128, 256], slide(28, 3, 2, 1)),
        ("conv 1x1/2, 4 x 256 x 56 x 56", 4, [1, 256, 128], slide(56, 1, 2, 0)),
        ("conv 3x3, 8 groups, 4 x 64 x 56 x 56", 4, [8, 8, 8], slide(56, 3, 1, 1)),
    ] {
        let kernel = samples::convolution(DType::F32, &Size::from(batch), channels, &[window, window]);
        let points = batch * window.windows() * window.windows() * channels.iter().product::<i64>();
        bench(name, &kernel, &[], (2 * points * window.taps * window.taps) as f64, "GFLOP/s");
    }
    // As it is after normalization: rows and columns of an image are one axis.
    let points = samples::convolution(DType::F32, &Size::from(4), [1, 256, 64], &[slide(56 * 56, 1, 1, 0)]);
    bench("conv 1x1, 4 x 256 x 56 x 56", &points, &[], f64::from(2 * 4 * 56 * 56 * 256 * 64), "GFLOP/s");
    for window in [slide(56, 3, 1, 1), slide(56, 3, 2, 1)] {
        let kernel = samples::convolution(DType::F32, &Size::from(4), [128, 1, 1], &[window, window]);
        let points = 4 * 128 * (56 * 56 + window.windows() * window.windows());
        bench(
            &format!("depthwise 3x3/{}, 4 x 128 x 56 x 56", window.stride),
            &kernel,
            &[],
            (4 * points) as f64,
            "GB/s",
        );
    }
}

fn main() {
    let only = std::env::args().nth(1).filter(|a| !a.starts_with('-'));
    if only.as_deref() == Some("conv") {
        println!("peak of this core in this run: {:.1} GFLOP/s", peak());
        convolutions();
        return;
    }
    println!("peak of this core in this run: {:.1} GFLOP/s", peak());
    let s = |n: i64| Size::from(n);
    for constant in [false, true] {
        for n in [128, 512, 1024] {
            let mut kernel = samples::matmul_bias(&s(n), &s(n), &s(n), false);
            kernel.params[1].constant = constant;
            let name = format!("matmul {n} + bias{}", if constant { ", packed" } else { "" });
            bench(&name, &kernel, &[], 2.0 * (n as f64).powi(3), "GFLOP/s");
        }
    }
    let rows = Variable::new("rows", 1, 2048).expect("a name and a range");
    let bound = [rows.bind(1023).expect("in range")];
    for constant in [false, true] {
        let mut kernel = samples::matmul_bias(&Size::from(&rows), &s(777), &s(513), true);
        kernel.params[1].constant = constant;
        let name = format!("1023 x 777 x 513 + gelu{}", if constant { ", packed" } else { "" });
        bench(&name, &kernel, &bound, 2.0 * 1023.0 * 777.0 * 513.0, "GFLOP/s");
    }
    let square = 4096.0 * 4096.0 * 4.0;
    bench("softmax 4096 x 4096", &samples::softmax(&s(4096), &s(4096)), &[], 2.0 * square, "GB/s");
    bench("layernorm 8192 x 768", &samples::layernorm(&s(8192), &s(768)), &[], 2.0 * 8192.0 * 768.0 * 4.0, "GB/s");
    bench("mean and variance 4096 x 4096", &samples::mean_variance(&s(4096), &s(4096)), &[], square, "GB/s");
    bench("cumsum 4096 x 4096", &samples::cumsum(&s(4096), &s(4096), false), &[], 2.0 * square, "GB/s");
    convolutions();
    let attention = samples::attention(&s(48), &s(256), &s(256), &s(64), false);
    bench("attention 48 x 256 x 64", &attention, &[], 4.0 * 48.0 * 256.0 * 256.0 * 64.0, "GFLOP/s");
}
