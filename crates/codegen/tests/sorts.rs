//! Loop trees that are sorts of long rows, as kernels of their own: results in a simulator, beside those of the loops.
#![allow(clippy::unwrap_used)]

mod simulator;

use svod_codegen::gpu::sort::whole;
use svod_codegen::gpu::{self, Alignment, Runner};
use svod_dtype::DType;
use svod_ir::buffer::HostBuffer;
use svod_ir::kernel::Kernel;
use svod_ir::lowered::Lowered;
use svod_ir::target::Target;

fn target() -> Target {
    Target::named("cuda-sm90").unwrap()
}

/// A sort of so many rows of points: where the first of these are, or they themselves.
fn loops(dtype: &str, rows: i64, points: i64, places: i64, positions: bool) -> Lowered {
    let (params, stores) = if positions {
        ("param p1: i64[R, P]", "  p1[i, k] = carry.1\n")
    } else {
        ("param p1: T[R, P]", "  p1[i, k] = carry.0\n")
    };
    let text = format!(
        "kernel sort\nparam p0: T[R, N]\n{params}\naxis i < R\naxis j < N\naxis k < P\n\
         stage out[i, k] = sort j to k\n  carry.0: T = key(p0[i, j])\n{stores}"
    );
    let text = text.replace('T', dtype).replace('R', &rows.to_string());
    let text = text.replace('N', &points.to_string()).replace('P', &places.to_string());
    let kernel = Kernel::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    svod_schedule::lower(&kernel, &svod_schedule::heuristic(&kernel, &target())).unwrap().lowered
}

/// Keys, of which many are alike in some of their digits.
fn keys(dtype: DType, count: usize) -> HostBuffer {
    let mixed = |i: u64| (i + 7).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
    let key = |i: u64| if i.is_multiple_of(5) { -1 } else { (mixed(i) & mixed(3 * i) & 0x7F1F_3FFF_0F7F_FF7F) as i64 };
    HostBuffer::from_i64(dtype, (0..count as u64).map(key))
}

fn check(lowered: &Lowered, blocks: usize, seed: u64) {
    let found = lowered.sort().unwrap_or_else(|| panic!("{lowered}"));
    let kernels = whole(lowered, &found, &target(), Runner::Simulator).unwrap().unwrap();
    let count = |n: usize| lowered.params[n].shape.iter().map(|e| e.as_const().unwrap() as usize).product();
    let mut arguments: Vec<HostBuffer> = (0..lowered.params.len())
        .map(|n| {
            if n == 0 {
                keys(lowered.params[0].dtype, count(0))
            } else {
                HostBuffer::zeros(lowered.params[n].dtype, count(n))
            }
        })
        .collect();
    let mut memory = arguments.clone();
    lowered.interpret(&[], &mut arguments).unwrap();
    let launched: Vec<_> = kernels
        .iter()
        .map(|(kernel, call)| {
            // Blocks that run at one time, as many as divide their number.
            let cluster = (1..=blocks).rev().find(|n| (call.blocks as usize).is_multiple_of(*n)).unwrap();
            let (entry, object) = (kernel.entry.as_str(), kernel.code().unwrap());
            (simulator::Program { entry, object, threads: kernel.threads as usize, cluster }, call)
        })
        .collect();
    simulator::loops::launch(&launched, &mut memory, seed);
    assert!(memory[1] == arguments[1], "{lowered}");
}

#[test]
fn kernels_give_what_the_loops_give() {
    for (dtype, rows, points, places, positions) in [
        ("u32", 1, 12_300, 12_300, true),
        ("u16", 3, 5_000, 5_000, true),
        ("u8", 1, 9_001, 9_001, true),
        ("u64", 1, 8_193, 8_193, false),
        ("u16", 1, 10_000, 100, false),
        // Rows of a block.
        ("u32", 3, 640, 640, true),
        ("u64", 1, 4_096, 4_096, false),
        ("u16", 3, 640, 7, true),
        ("u8", 2, 256, 256, true),
    ] {
        check(&loops(dtype, rows, points, places, positions), 4, 3);
    }
}

#[test]
fn plans_have_the_kernels() {
    let lowered = loops("u32", 1, 1 << 20, 1 << 20, true);
    let object = gpu::compile(&lowered, &target(), Runner::Driver, Alignment::Widest).unwrap();
    assert_eq!(
        object.phases.iter().filter(|phase| phase.whole.as_ref().is_some_and(|call| call.blocks > 0)).count(),
        6
    );
    assert_eq!(
        object.phases.iter().filter(|phase| !phase.whole.as_ref().unwrap().follows).count(),
        lowered.phases.len()
    );
    let ptx = String::from_utf8(object.bytes).unwrap();
    assert!(ptx.contains("vote.sync.ballot") && !ptx.contains("call.uni") && !ptx.contains(".local"), "{ptx}");
    if let Some(folder) = std::env::var_os("SVOD_PTX") {
        for (n, text) in ptx.split('\0').enumerate().filter(|(_, text)| !text.is_empty()) {
            std::fs::write(std::path::Path::new(&folder).join(format!("sort{n}.ptx")), text).unwrap();
        }
    }
}
