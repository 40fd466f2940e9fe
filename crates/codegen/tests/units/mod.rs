//! Tiles by instructions that few machines have: as text, by models of what the instructions do, and, where
//! this machine has one, by running it.

mod model;

use model::{tdpbf16ps, vdpbf16ps};
use svod_codegen::load::{Address, Code};
use svod_codegen::{assembly, host, machine, tile, tile_address};
use svod_dtype::DType;
use svod_ir::linear::TileSpec;
use svod_ir::target::{MatrixUnits, Target};

/// A target with more instructions than its name says.
fn with(name: &str, features: &str, matrix: MatrixUnits) -> Target {
    Target { features: features.into(), matrix, ..Target::named(name).unwrap() }
}

fn dot() -> Target {
    with("x86-64-v4", "+avx512bf16", MatrixUnits { bf16_dot: true, ..MatrixUnits::default() })
}

fn amx() -> Target {
    let matrix = MatrixUnits { bf16_dot: true, tiles: true, ..MatrixUnits::default() };
    with("x86-64-v4", "+avx512bf16,+amx-tile,+amx-bf16", matrix)
}

fn pairs(rows: u32, cols: u32) -> TileSpec {
    let (dtype, acc) = (DType::BF16, DType::F32);
    TileSpec { rows, cols, dtype, pairs: true, acc, a_panel: false, b_offsets: false, fetches: 0 }
}

fn count(text: &str, word: &str) -> usize {
    text.lines().filter(|l| l.trim_start().starts_with(word)).count()
}

/// One instruction for a vector of sums and a step of the depth, with nothing widened.
#[test]
fn pairs_are_multiplied_by_one_instruction_checked_as_text() {
    for (target, instruction, widening) in [
        (dot(), "vdpbf16ps", "vpslld"),
        (with("aarch64", "+bf16", MatrixUnits { bf16_dot: true, ..MatrixUnits::default() }), "bfdot", "shll"),
    ] {
        let lanes = target.lanes(4) as u32;
        for (rows, vectors) in [(6, 4), (12, 2), (8, 3)] {
            let text = assembly(&tile::render(&pairs(rows, vectors * lanes), &target), &target).unwrap();
            assert_eq!(count(&text, instruction), (rows * vectors) as usize, "{text}");
            assert_eq!(count(&text, widening), 0, "{text}");
            let spilled = |l: &&str| l.contains("mm") && (l.contains("(%rsp") || l.contains("(%rbp"));
            assert_eq!(text.lines().filter(spilled).count(), 0, "{text}");
        }
    }
}

/// Without such instructions, and of f16, halves are widened and multiplied one after the other.
#[test]
fn pairs_are_multiplied_by_halves_elsewhere_checked_as_text() {
    let v3 = Target::named("x86-64-v3").unwrap();
    for (spec, target, widening) in
        [(pairs(4, 16), v3, "vpslld"), (TileSpec { dtype: DType::F16, ..pairs(4, 16) }, dot(), "vcvtph2ps")]
    {
        let text = assembly(&tile::render(&spec, &target), &target).unwrap();
        assert_eq!((count(&text, "vdpbf16ps"), count(&text, "bfdot")), (0, 0));
        assert!(count(&text, widening) > 0 && count(&text, "vfmadd") > 0, "{text}");
    }
}

/// Registers of sums, of rows and of columns, as many as the sides have parts; what does not fit, by vectors.
#[test]
fn c10_tiles_of_registers_checked_as_text() {
    for (rows, cols, sums, operands) in [(32, 32, 4, 4), (16, 32, 2, 3), (7, 16, 1, 2), (20, 9, 2, 3)] {
        let text = assembly(&tile::render(&pairs(rows, cols), &amx()), &amx()).unwrap();
        let found = ["tdpbf16ps", "tilezero", "tilestored", "tileloadd", "ldtilecfg", "tilerelease"];
        let found = found.map(|word| count(&text, word));
        // The loop and the last step; sums are loaded at the start and for the last step.
        assert_eq!(found, [2 * sums, sums, 2 * sums, 2 * operands + 2 * sums, 2, 1], "{rows} x {cols}\n{text}");
    }
    let fetching = TileSpec { fetches: 2, ..pairs(16, 16) };
    let text = assembly(&tile::render(&fetching, &amx()), &amx()).unwrap();
    assert_eq!(count(&text, "prefetcht0"), 2 * 16, "two lines for each word of a round\n{text}");
    for spec in
        [TileSpec { a_panel: true, ..pairs(16, 32) }, pairs(8, 48), TileSpec { b_offsets: true, ..pairs(8, 32) }]
    {
        let text = assembly(&tile::render(&spec, &amx()), &amx()).unwrap();
        assert!(count(&text, "tdpbf16ps") == 0 && count(&text, "vdpbf16ps") > 0, "{text}");
    }
}

/// Words of numbers of many sizes.
fn words(n: usize, seed: u32) -> Vec<u32> {
    let mut state = seed | 1;
    let mut half = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let exponent = 117 + (state >> 8) % 16;
        (state & 0x807F) | (exponent << 7)
    };
    (0..n).map(|_| half() | half() << 16).collect()
}

/// The sum of the products of two rows of words, and that of their magnitudes.
fn exact(a: &[u32], b: &[u32]) -> (f64, f64) {
    let halves = a.iter().zip(b).flat_map(|(a, b)| [false, true].map(|u| (model::bf16(*a, u), model::bf16(*b, u))));
    let products = halves.map(|(a, b)| f64::from(a) * f64::from(b));
    products.fold((0.0, 0.0), |(sum, size), p| (sum + p, size + p.abs()))
}

/// The bound that [`svod_codegen::tile`] states, without subnormals.
fn bound(n: usize, size: f64) -> f64 {
    n as f64 * 2f64.powi(-23) * size
}

const DEPTH: usize = 300;

type Entry = unsafe extern "C" fn(*mut f32, *const u32, *const u32, i64, i64, i64, i64, i64);

/// Runs a tile of `spec` on words, in rows of `DEPTH` and in columns.
fn run(spec: &TileSpec, target: &Target, a: &[u32], b: &[u32]) -> Vec<f32> {
    let address = tile_address(spec, target).unwrap();
    let mut c = vec![f32::NAN; (spec.rows * spec.cols) as usize];
    call(spec, address, &mut c, (a, b), 0);
    c
}

/// Calls a tile; its rows of sums are as far apart as `c` has room for.
fn call(spec: &TileSpec, address: Address, c: &mut [f32], (a, b): (&[u32], &[u32]), start: i64) {
    let (rows, cols) = (spec.rows as usize, spec.cols as usize);
    assert!(c.len() >= rows * cols && a.len() >= rows * DEPTH && b.len() >= DEPTH * cols);
    // SAFETY: that is the signature of a tile.
    let entry: Entry = unsafe { std::mem::transmute(address.0) };
    let (depth, c_stride, cols) = (DEPTH as i64, (c.len() / rows) as i64, cols as i64);
    // SAFETY: the three matrices are as large as the tile reads and writes with these strides.
    unsafe { entry(c.as_mut_ptr(), a.as_ptr(), b.as_ptr(), depth, start, c_stride, depth, cols) };
}

/// The sum at a row and column of C, whose words are given.
type Sum<'a> = &'a dyn Fn(usize, usize, &[u32], &[u32]) -> f32;

/// Fails unless each sum is within the bound.
fn check_sums(spec: &TileSpec, a: &[u32], b: &[u32], sum: Sum) {
    let (rows, cols) = (spec.rows as usize, spec.cols as usize);
    for r in 0..rows {
        for j in 0..cols {
            let row = &a[r * DEPTH..][..DEPTH];
            let column: Vec<u32> = b.iter().skip(j).step_by(cols).copied().collect();
            let (want, size) = exact(row, &column);
            let found = sum(r, j, row, &column);
            assert!((f64::from(found) - want).abs() <= bound(2 * DEPTH, size), "[{r}, {j}]: {found}, not {want}");
        }
    }
}

/// The tile for AMX, run with a model in place of each instruction: what is configured, read and written.
#[test]
fn c10_tiles_of_registers_run_on_a_model_of_them() {
    let native = host::native();
    for (rows, cols) in [(32, 32), (16, 32), (7, 16), (20, 9)] {
        let spec = pairs(rows, cols);
        let text = tile::render(&spec, &amx()).replace("llvm.x86.", "").replace(" immarg", "");
        let own = text.find("attributes #0").unwrap();
        let object =
            machine::object("amx", &format!("{}attributes #0 = {{ nounwind }}\n", &text[..own]), &native).unwrap();
        let code = Code::load("amx", &object, &model::address).unwrap();
        let address = code.address(&tile::symbol(&spec)).unwrap();
        let (a, b) = (words(rows as usize * DEPTH, 3), words(cols as usize * DEPTH, 4));
        let stride = cols as usize + 5;
        let mut found = vec![f32::NAN; rows as usize * stride];
        for start in [0, 1] {
            call(&spec, address, &mut found, (&a, &b), start);
            // The second time, twice of everything.
            let scale = 1.0 / (1 + start) as f32;
            check_sums(&spec, &a, &b, &|r, j, _, _| found[r * stride + j] * scale);
        }
        assert!(found.chunks(stride).all(|row| row[cols as usize..].iter().all(|x| x.is_nan())));
    }
}

/// What the instructions do, as their manual has it, and what this machine does stay within the bound.
#[test]
fn sums_of_pairs_are_within_their_bound() {
    let spec = pairs(20, 32);
    let (a, b) = (words(20 * DEPTH, 7), words(32 * DEPTH, 8));
    let dots = |a: &[u32], b: &[u32]| a.iter().zip(b).fold(0.0, |sum, (a, b)| vdpbf16ps(sum, *a, *b));
    check_sums(&spec, &a, &b, &|_, _, a, b| dots(a, b));
    let blocks = |a: &[u32], b: &[u32]| a.chunks(16).zip(b.chunks(16)).fold(0.0, |sum, (a, b)| tdpbf16ps(sum, a, b));
    check_sums(&spec, &a, &b, &|_, _, a, b| blocks(a, b));
    let native = host::native();
    let halves = Target { matrix: MatrixUnits::default(), ..native.clone() };
    let found = run(&spec, &halves, &a, &b);
    check_sums(&spec, &a, &b, &|r, j, _, _| found[r * 32 + j]);

    // The same, by the instructions themselves.
    let dot = MatrixUnits { bf16_dot: true, ..MatrixUnits::default() };
    let mut units = Vec::new();
    match host::has_bf16_dot() {
        true => units.push(dot),
        false => eprintln!("skipped, since this machine has none: dot products of bf16 in vectors"),
    }
    match host::grants_tiles() {
        true => units.push(MatrixUnits { tiles: true, ..dot }),
        false => eprintln!("skipped, since this machine has none: AMX"),
    }
    for matrix in units {
        let found = run(&spec, &Target { matrix, ..native.clone() }, &a, &b);
        check_sums(&spec, &a, &b, &|r, j, _, _| found[r * 32 + j]);
    }
}
