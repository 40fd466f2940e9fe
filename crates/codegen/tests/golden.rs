//! The linear list and the LLVM text of some kernels, on frozen targets. `SVOD_BLESS=1` rewrites
//! the files. Also: every operation compiles for every target and calls nothing.
#![allow(clippy::unwrap_used)]

mod units;

use object::{Object, ObjectSymbol};
use std::collections::BTreeSet;
use std::path::Path;
use svod_codegen::gpu::{self, Alignment, Runner};
use svod_codegen::{assembly, compile, llvm, lower, tile};
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::kernel::Kernel;
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

/// Kernels for GPUs, whose warps share vectors.
const WARPS: [&str; 2] = [
    "lowered soft_rows
param p0: f32[100, 1024]
param p1: f32[100, 1000]

phase
grid r < 100
temp peak: f32[128] register
temp top: f32[1] register
temp row: f32[1000] scratch
{
  vector a < 128 {
    peak[a] = f32(-inf)
  }
  serial i < 7 {
    vector b < 128 {
      peak[b] = max(peak[b], p0[r, i*128 + b])
    }
  }
  vector c < 128 {
    peak[c] = max(peak[c], p0[r, c + 896]) if c < 104
  }
  top[0] = lanes(max, d < 128, peak[d])
  serial k < 8 {
    vector e < 128 {
      row[k*128 + e] = exp(p0[r, k*128 + e] - top[0]) if k*128 + e < 1000
    }
  }
  serial m < 8 {
    vector f < 128 {
      p1[r, m*128 + f] = row[999 - m*128 - f] if m*128 + f < 1000
    }
  }
}
",
    "lowered wide_rows
param p0: f32[100, 2000]
param p1: f32[100, 2000]

phase
grid r < 100
temp acc: f32[512] register
temp total: f32[1] register
{
  vector a < 512 {
    acc[a] = f32(0.0)
  }
  unroll i < 4 {
    vector b < 512 {
      acc[b] = acc[b] + where({i*512 + b} < 2000, p0[r, i*512 + b if {i*512 + b} < 2000 else f32(0.0)], f32(0.0))
    }
  }
  total[0] = lanes(add, c < 512, acc[c])
  unroll k < 4 {
    vector d < 512 {
      p1[r, k*512 + d] = p0[r, k*512 + d if {k*512 + d} < 2000 else f32(0.0)] / total[0] if {k*512 + d} < 2000
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
            check(&format!("{}.{name}.txt", kernel.name), &llvm::module(&lists, &target, llvm::Entry::task(&target)));
        }
    }
}

#[test]
fn texts_for_gpus_are_as_recorded() {
    let target = Target::named("cuda-sm90").unwrap();
    for text in KERNELS.iter().chain(&WARPS) {
        let kernel = Lowered::parse(text).unwrap();
        kernel.verify().unwrap();
        let code = gpu::compile(&kernel, &target, Runner::Driver, Alignment::Widest).unwrap();
        check(&format!("{}.cuda-sm90.txt", kernel.name), &code.source);
        let ptx = String::from_utf8(code.bytes).unwrap();
        assert!(ptx.contains(".target sm_90"), "{ptx}");
        if let Some(folder) = std::env::var_os("SVOD_PTX") {
            std::fs::write(Path::new(&folder).join(format!("{}.ptx", kernel.name)), ptx).unwrap();
        }
        for alignment in [Alignment::Widest, Alignment::Element] {
            gpu::compile(&kernel, &target, Runner::Simulator, alignment).unwrap();
        }
    }
}

/// What is chosen for GPUs, as the golden files of schedules have it, becomes code.
#[test]
fn schedules_for_gpus_become_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schedule/tests/golden/groups");
    let target = Target::named("cuda-sm90").unwrap();
    let mut seen = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let kernel = Lowered::parse(&text[text.find("\nlowered ").unwrap() + 1..]).unwrap();
        let code = gpu::compile(&kernel, &target, Runner::Driver, Alignment::Widest).unwrap();
        let ptx = String::from_utf8(code.bytes).unwrap();
        assert!(code.phases.iter().all(|phase| ptx.contains(&phase.entry)), "{}", path.display());
        if let Some(folder) = std::env::var_os("SVOD_PTX") {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            std::fs::write(Path::new(&folder).join(format!("{name}.ptx")), ptx).unwrap();
        }
        seen += 1;
    }
    assert!(seen > 8, "{seen}");
}

/// The tiles that the heuristic chooses for products of many shapes.
fn chosen(target: &Target, dtype: DType) -> BTreeSet<TileSpec> {
    let mut specs = BTreeSet::new();
    let lanes = target.lanes(dtype.bytes()) as i64;
    for m in [1, 2, 3, 4, 5, 6, 8, 9, 12, 13, 26, 30, 384, 1000] {
        for n in [1, 2, 3, 5, 7, 40].map(|vectors| vectors * lanes) {
            for order in ["i, k", "k, i"] {
                let (shape, index) = if order == "i, k" { ([m, 64], "i, k") } else { ([64, m], "k, i") };
                let t = dtype.short();
                let text = format!(
                    "kernel mm\nparam p0: {t}{shape:?}\nparam p1: {t}[64, {n}]\nparam p2: {t}[{m}, {n}]\n\
                     axis i < {m}\naxis j < {n}\naxis k < 64\n\nstage mm[i, j] = reduce k\n  \
                     carry.0: {t} = sum(p0[{index}] * p1[k, j])\n  mm = carry.0\n\nstage out[i, j] = map\n  p2[i, j] = mm[i, j]\n"
                );
                let kernel = Kernel::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
                let program = svod_schedule::lower(&kernel, &svod_schedule::heuristic(&kernel, target)).unwrap();
                for list in lower::linearize(&program.lowered, target).unwrap() {
                    specs.extend(list.tiles());
                }
            }
        }
    }
    specs
}

/// The main loop of a tile that the heuristic chooses moves no vector to or from the stack: checked as
/// text, since this machine may not run it.
#[test]
fn tiles_do_not_touch_the_stack_checked_as_text_for_machines_not_here() {
    for name in TARGETS {
        let target = Target::named(name).unwrap();
        for dtype in [DType::F32, DType::F64] {
            let specs = chosen(&target, dtype);
            assert!(specs.len() >= 6, "{name}: {}", specs.len());
            let fetching: Vec<TileSpec> = specs.iter().map(|spec| TileSpec { fetches: 1, ..*spec }).collect();
            for spec in specs.into_iter().chain(fetching) {
                let text = assembly(&tile::render(&spec, &target), &target).unwrap();
                let lines: Vec<&str> = text.lines().collect();
                let multiplies = |l: &&str| ["mulp", "vfmadd", "fmla"].iter().any(|m| l.contains(m));
                let jumps = |l: &&str| ["\tj", "\tb.", "\tcbnz"].iter().any(|jump| l.starts_with(jump));
                let first = lines.iter().position(multiplies).unwrap();
                let start = lines[..first].iter().rposition(|l| l.starts_with('.') && l.contains(':')).unwrap();
                let main = &lines[start..first + lines[first..].iter().position(jumps).unwrap()];
                let vectors = spec.cols.div_ceil(target.lanes(spec.acc.bytes()) as u32);
                let sums = main.iter().filter(|l| multiplies(l)).count() as u32;
                assert!(sums > 0 && sums.is_multiple_of(spec.rows * vectors), "{name} {spec:?}: {sums}");
                let is_vector = |l: &&&str| match name {
                    "aarch64" => l.contains("[sp") && (l.contains("\tq") || l.contains("\td")),
                    // With an index, %rbp is no frame pointer.
                    _ => (l.contains("(%rsp") || l.contains("(%rbp)")) && l.contains("mm"),
                };
                let spilled: Vec<&&str> = main.iter().filter(is_vector).collect();
                assert!(spilled.is_empty(), "{name} {spec:?}: {spilled:#?}");
            }
        }
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
    let dtypes = DType::ALL.iter().copied().filter(|d| d.is_real());
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
        for &to in DType::ALL.iter().filter(|d| d.is_real()) {
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
