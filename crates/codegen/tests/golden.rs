//! The linear list and the LLVM text of some kernels, on frozen targets. `SVOD_BLESS=1` rewrites
//! the files. Also: every operation compiles for every target and calls nothing.
#![allow(clippy::unwrap_used)]

use object::{Object, ObjectSymbol};
use std::path::Path;
use svod_codegen::{assembly, compile, llvm, lower, tile};
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::linear::{Linear, TileSpec};
use svod_ir::lowered::Lowered;
use svod_ir::target::Target;

const TARGETS: [&str; 4] = ["x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"];

const KERNELS: &[&str] = &[
    "lowered add_relu
var n = 1..=4096
param p0: f32[n]
param p1: f32[n]
param p2: f32[n]

phase
grid t < (n + 63)//64
{
  serial i < min(8, (n - t*64 + 7)//8) {
    vector j < 8 {
      p2[t*64 + i*8 + j] = max(p0[t*64 + i*8 + j if {t*64 + i*8 + j} < n else f32(0.0)] + p1[t*64 + i*8 + j if {t*64 + i*8 + j} < n else f32(0.0)], f32(0.0)) if {t*64 + i*8 + j} < n
    }
  }
}
",
    "lowered row_sums
param p0: f32[4, 64]
param p1: f32[4]

phase
grid r < 4
temp acc: f32[2, 8] register
{
  unroll a < 2 {
    vector b < 8 {
      acc[a, b] = f32(0.0)
    }
  }
  serial k < 4 {
    unroll c < 2 {
      vector d < 8 {
        acc[c, d] = acc[c, d] + p0[r, k*16 + c*8 + d]
      }
    }
  }
  p1[r] = lanes(add, l < 8, acc[0, l] + acc[1, l])
}
",
    "lowered scale_past_caches strict
param p0: f32[64, 64]
param p1: f32[64, 64]

phase
grid t < 64
stream p1
{
  serial i < 8 {
    prefetch p0[t, i*8 + 32]
    vector j < 8 {
      p1[t, i*8 + j] = p0[t, i*8 + j] * f32(2.0) + f32(1.0)
    }
  }
}
",
    "lowered matmul
param p0: f32[6, 64]
param p1: f32[64, 16] constant
param p2: bf16[6, 16]

phase
temp c: f32[6, 16] scratch
{
  micro 6 x 16 f32 -> f32 depth 64 start 0 (c[0, 0] stride 16) (p0[0, 0] stride 64) (p1[0, 0] stride 16)
  serial i < 6 {
    serial j < 2 {
      vector l < 8 {
        p2[i, j*8 + l] = cast(bf16, exp(c[i, j*8 + l]))
      }
    }
  }
}
",
];

fn check(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("SVOD_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{name} has changed; SVOD_BLESS=1 accepts\n{found}");
}

#[test]
fn texts_are_as_recorded() {
    for text in KERNELS {
        let kernel = Lowered::parse(text).unwrap();
        kernel.verify().unwrap();
        let target = Target::named("x86-64-v3").unwrap();
        let lists = lower::linearize(&kernel, &target).unwrap();
        let linear = lists.iter().map(Linear::to_string).collect::<String>();
        check(&format!("{}.linear.txt", kernel.name), &linear);
        for name in TARGETS {
            let target = Target::named(name).unwrap();
            let lists = lower::linearize(&kernel, &target).unwrap();
            check(&format!("{}.{name}.txt", kernel.name), &llvm::module(&lists, &target));
        }
    }
}

/// Tiles, by rows, vectors and whether A is in panels, whose main loop must not touch the stack: text
/// only, since this machine may not run them. Not here are those that LLVM spills: 4 x 3 without a
/// multiply-add, and 12 x 2 with A in rows where there are 32 registers.
#[test]
fn tiles_do_not_touch_the_stack_checked_as_text_for_machines_not_here() {
    for (name, rows, vectors, a_panel, multiply) in [
        ("x86-64-v2", 4, 2, false, "mulps"),
        ("x86-64-v2", 4, 2, true, "mulps"),
        ("x86-64-v3", 4, 3, false, "vfmadd"),
        ("x86-64-v3", 4, 3, true, "vfmadd"),
        ("x86-64-v4", 8, 3, false, "vfmadd"),
        ("x86-64-v4", 8, 3, true, "vfmadd"),
        ("x86-64-v4", 12, 2, true, "vfmadd"),
        ("aarch64", 12, 2, true, "fmla"),
    ] {
        let target = Target::named(name).unwrap();
        let cols = vectors * target.lanes(4) as u32;
        let spec = TileSpec { rows, cols, dtype: DType::F32, acc: DType::F32, a_panel, b_offsets: false };
        let text = assembly(&tile::render(&spec, &target), &target).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let is = |l: &&str| l.contains(multiply);
        let (first, last) = (lines.iter().position(&is).unwrap(), lines.iter().rposition(&is).unwrap());
        // One multiplication a row and vector, in the four steps of the main loop and the one of the rest.
        assert_eq!(lines.iter().filter(|l| is(l)).count() as u32, 5 * rows * vectors, "{name}");
        let main = &lines[first..last];
        let jumps = |l: &&str| ["\tj", "\tb.", "\tcbnz"].iter().any(|jump| l.starts_with(jump));
        let end = main.iter().position(jumps).unwrap_or(main.len());
        let stack = main[..end].iter().find(|l| l.contains("[sp") || (l.contains("(%rsp") && l.contains("mm")));
        assert!(stack.is_none(), "{name} {rows} x {vectors}: {}", stack.unwrap());
    }
}

/// The functions that an object calls and does not hold.
fn calls(object: &[u8]) -> Vec<String> {
    let file = object::read::elf::ElfFile64::<object::Endianness>::parse(object).unwrap();
    let undefined = file.symbols().filter(|s| s.is_undefined()).map(|s| s.name().unwrap().to_owned());
    undefined.filter(|name| !name.is_empty()).collect()
}

#[test]
fn every_target_compiles_and_only_tiles_are_called() {
    for text in KERNELS {
        let kernel = Lowered::parse(text).unwrap();
        for name in TARGETS {
            let target = Target::named(name).unwrap();
            let object = compile(&kernel, &target).unwrap_or_else(|e| panic!("{name}: {e}"));
            let called = calls(&object.bytes);
            assert!(called.iter().all(|c| c.starts_with("svod_tile_")), "{name} {}: {called:?}", kernel.name);
            assert!(assembly(&object.source, &target).unwrap().contains(&kernel.name));
        }
    }
}

#[test]
fn no_operation_calls_a_library() {
    let dtypes = DType::ALL.iter().copied().filter(|d| !matches!(d, DType::Void | DType::Index));
    for dtype in dtypes {
        let mut text = String::new();
        for i in 0..3 {
            text += &format!("param p{i}: {}[64]\n", dtype.short());
        }
        text += "param p3: bool[64]\n";
        let mut body = String::new();
        let (mut next, mut outs) = (4, String::new());
        let mut store = |dtype: DType, value: String| {
            outs += &format!("param p{next}: {}[64]\n", dtype.short());
            body += &format!(
                "  vector v{next} < 8 {{\n    p{next}[v{next}] = {}\n  }}\n",
                value.replace("AT", &format!("v{next}"))
            );
            body += &format!("  p{next}[9] = {}\n", value.replace("AT", "9"));
            next += 1;
        };
        for op in Alu::ALL {
            if let Some(out) = op.result(&vec![dtype; op.arity()]) {
                let args = ["p0[AT]", "p1[AT]", "p2[AT]"];
                store(out, format!("{}({})", op.name(), args[..op.arity()].join(", ")));
            }
        }
        store(dtype, "where(p3[AT], p0[AT], p1[AT])".to_owned());
        for &to in DType::ALL.iter().filter(|d| !matches!(d, DType::Void | DType::Index)) {
            store(to, format!("cast({}, p0[AT])", to.short()));
        }
        let text = format!("lowered all_{}\n{text}{outs}\nphase\n{{\n{body}}}\n", dtype.short());
        let kernel = Lowered::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        for name in TARGETS {
            let object = compile(&kernel, &Target::named(name).unwrap()).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(calls(&object.bytes).is_empty(), "{name} {dtype}: {:?}", calls(&object.bytes));
        }
    }
}
