//! The contraction tile on packed panels in cache, beside this core's peak.
//!
//! `cargo bench -p svod-codegen --bench tile`; with `-- --peak THREADS` only that many cores' peak,
//! as a number of GFLOP/s that `benches/compare.py` reads.

use std::sync::Barrier;
use std::time::Instant;
use svod_codegen::load::Code;
use svod_codegen::{host, machine, tile};
use svod_dtype::DType;
use svod_ir::linear::{LINE, TileSpec};
use svod_ir::target::Target;

type Tile = unsafe extern "C" fn(*mut f32, *const f32, *const f32, i64, i64, i64, i64, i64);

/// So many numbers and a cache line more.
fn aligned(of: f32, count: usize) -> Vec<f32> {
    vec![of; count + LINE as usize / size_of::<f32>()]
}

/// Those from the first cache line on.
fn line_of(numbers: &[f32]) -> &[f32] {
    &numbers[numbers.as_ptr().align_offset(LINE as usize)..]
}

/// The best rate of some rounds, in GFLOP/s.
fn best(flops: f64, rounds: usize, mut run: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    flops / (0..rounds).map(time).fold(f64::INFINITY, f64::min) / 1e9
}

/// The rate of twelve chains of multiply-adds that touch no memory, on so many threads at once.
fn peak(target: &Target, threads: usize) -> f64 {
    const CHAINS: usize = 12;
    let lanes = target.lanes(4);
    let ty = format!("<{lanes} x float>");
    let mut text = format!(
        "define void @peak(ptr %out, i64 %n) {{\nentry:\n  %x = load {ty}, ptr %out, align 4\n  br label %run\nrun:\n"
    );
    text += "  %i = phi i64 [ 0, %entry ], [ %next, %run ]\n";
    for c in 0..CHAINS {
        text += &format!("  %a{c} = phi {ty} [ %x, %entry ], [ %b{c}, %run ]\n");
    }
    for c in 0..CHAINS {
        text += &format!("  %b{c} = call {ty} @llvm.fma.v{lanes}f32({ty} %x, {ty} %x, {ty} %a{c})\n");
    }
    text +=
        "  %next = add i64 %i, 1\n  %more = icmp slt i64 %next, %n\n  br i1 %more, label %run, label %done\ndone:\n";
    for c in 0..CHAINS {
        text += &format!("  %at{c} = getelementptr {ty}, ptr %out, i64 {c}\n  store {ty} %b{c}, ptr %at{c}, align 4\n");
    }
    text += &format!("  ret void\n}}\ndeclare {ty} @llvm.fma.v{lanes}f32({ty}, {ty}, {ty})\n");
    let object = machine::object("peak", &text, target).expect("the text is valid");
    let code = Code::load("peak", &object, &|_| None).expect("it calls nothing");
    let address = code.address("peak").expect("it holds the function").0;
    // SAFETY: the text above gives the function this signature.
    let run = unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(*mut f32, i64)>(address) };
    const STEPS: i64 = 1_000_000;
    let start = Barrier::new(threads);
    let one = || {
        let mut out = vec![0.5f32; CHAINS * lanes];
        start.wait();
        // SAFETY: `out` holds a vector for each chain.
        best(2.0 * (CHAINS * lanes) as f64 * STEPS as f64, 20, || unsafe { run(out.as_mut_ptr(), STEPS) })
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        workers.into_iter().map(|w| w.join().expect("multiply-adds do not panic")).sum()
    })
}

/// The number after `--peak`.
fn asked_for_peak() -> Option<usize> {
    let arguments: Vec<String> = std::env::args().collect();
    let at = arguments.iter().position(|argument| argument == "--peak")?;
    arguments.get(at + 1)?.parse().ok().filter(|threads| *threads > 0)
}

/// The rate on rows of B that lie like the taps of a convolution: three by three, in a plane.
fn offsets(spec: &TileSpec, target: &Target) -> f64 {
    type Tile = unsafe extern "C" fn(*mut f32, *const f32, *const f32, i64, i64, i64, i64, *const i32);
    let text = tile::render(spec, target);
    if std::env::var_os("SVOD_PRINT").is_some() {
        println!("{}", machine::assembly("tile", &text, target).expect("the tile compiles"));
    }
    let object = machine::object("tile", &text, target).expect("the tile compiles");
    let code = Code::load("tile", &object, &|_| None).expect("the tile loads");
    let address = code.address(&tile::symbol(spec)).expect("it holds the tile").0;
    // SAFETY: the code generator gave the function this signature.
    let run = unsafe { std::mem::transmute::<usize, Tile>(address) };
    let (rows, cols, width, plane) = (spec.rows as usize, spec.cols as usize, 58, 950);
    let table: Vec<i32> = (0..288).map(|k| k / 9 * plane + k % 9 / 3 * width + k % 3).collect();
    let (a, mut c) = (vec![0.5f32; rows * 288], vec![0f32; rows * cols]);
    let b = vec![0.25f32; 32 * plane as usize + cols];
    let stride = if spec.a_panel { rows } else { 288 } as i64;
    best(2.0 * (rows * cols * 288) as f64 * 2000.0, 7, || {
        for _ in 0..2000 {
            let (a, b, table) = (a.as_ptr(), b.as_ptr(), table.as_ptr());
            // SAFETY: the operands have the sizes that depth, table and tile imply.
            unsafe { run(c.as_mut_ptr(), a, b, 288, 0, cols as i64, stride, table) };
        }
    })
}

fn main() {
    let target = host::target();
    if let Some(threads) = asked_for_peak() {
        println!("{:.1}", peak(&target, threads));
        return;
    }
    println!("{} with vectors of {} bytes", target.cpu, target.vector_bytes);
    println!("independent multiply-adds: {:.1} GFLOP/s", peak(&target, 1));
    let lanes = target.lanes(4) as u32;
    let shapes = if target.vector_registers >= 32 {
        vec![(12, 2), (14, 2), (8, 3), (6, 4)]
    } else {
        vec![(6, 2), (4, 3), (4, 2)]
    };
    for (rows, vectors) in shapes {
        for a_panel in [false, true] {
            let cols = vectors * lanes;
            let spec = TileSpec {
                rows,
                cols,
                dtype: DType::F32,
                pairs: false,
                acc: DType::F32,
                a_panel,
                b_offsets: false,
                fetches: 0,
            };
            let start = Instant::now();
            let object = machine::object("tile", &tile::render(&spec, &target), &target).expect("the tile compiles");
            let compile = start.elapsed();
            let code = Code::load("tile", &object, &|_| None).expect("the tile loads");
            let address = code.address(&tile::symbol(&spec)).expect("it holds the tile").0;
            // SAFETY: the code generator gave the function this signature.
            let run = unsafe { std::mem::transmute::<usize, Tile>(address) };
            let (depth, cols) = (256usize, spec.cols as usize);
            let (a, b) = (aligned(0.5, rows as usize * depth), aligned(0.25, cols * depth));
            let (a, b) = (line_of(&a), line_of(&b));
            let mut c = vec![0f32; rows as usize * cols];
            let stride = if a_panel { rows as usize } else { depth } as i64;
            let rate = |b_stride: i64, c: &mut [f32]| {
                best(2.0 * rows as f64 * (cols * depth) as f64 * 2000.0, 7, || {
                    for _ in 0..2000 {
                        // SAFETY: the operands have the sizes that depth, strides and tile imply.
                        unsafe {
                            run(c.as_mut_ptr(), a.as_ptr(), b.as_ptr(), depth as i64, 0, cols as i64, stride, b_stride)
                        };
                    }
                })
            };
            let panel = rate(cols as i64, &mut c);
            assert!((c[0] - 0.125 * depth as f32).abs() < 1e-3, "{}", c[0]);
            let line = rate(0, &mut c);
            let offsets = offsets(&TileSpec { b_offsets: true, ..spec }, &target);
            println!(
                "{rows:>2} x {cols:<2} {:<6} {panel:7.1} GFLOP/s on panels, {line:7.1} on one line of B, {offsets:7.1} on taps, compiled in {compile:.1?}",
                if a_panel { "panel" } else { "row" }
            );
        }
    }
}
