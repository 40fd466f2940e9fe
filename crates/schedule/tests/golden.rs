//! The text of kernels, schedules and loop trees on a frozen target. `SVOD_BLESS=1` rewrites it.
#![allow(clippy::unwrap_used)]

#[path = "../../ir/tests/support/samples.rs"]
mod samples;

use std::path::Path;
use svod_dtype::DType;
use svod_ir::kernel::Kernel;
use svod_ir::size::{Size, Variable};
use svod_ir::target::{MatrixUnits, Target};
use svod_schedule::{heuristic_variants, lower_variants};

fn check(name: &str, kernel: &Kernel) {
    check_on(&Target::named("x86-64-v3").unwrap(), name, kernel);
}

fn check_on(target: &Target, name: &str, kernel: &Kernel) {
    let variants = heuristic_variants(kernel, target);
    let lowered = lower_variants(kernel, &variants).unwrap().lowered;
    let text = format!("{kernel}\n{variants}\n{lowered}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.txt"));
    if std::env::var_os("SVOD_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(known, text, "{} differs; `make bless` rewrites it", path.display());
}

/// A product of matrices, of which the second is indexed so.
fn products([m, n, k]: [i64; 3], second: &str) -> Kernel {
    let shape = if second == "k, j" { format!("{k}, {n}") } else { format!("{n}, {k}") };
    let text = format!(
        "kernel product\nparam p0: f32[{m}, {k}]\nparam p1: f32[{shape}]\nparam p2: f32[{m}, {n}]\naxis i < {m}\n\
         axis j < {n}\naxis k < {k}\nstage s[i, j] = reduce k\n  carry.0: f32 = sum(p0[i, k] * p1[{second}])\n  \
         s = carry.0\nstage out[i, j] = map\n  p2[i, j] = s[i, j]\n"
    );
    Kernel::parse(&text).unwrap()
}

#[test]
fn loop_trees() {
    let (n, rows) = (|n: i64| Size::from(n), Variable::new("rows", 1, 2048).unwrap());
    check("softmax", &samples::softmax(&n(64), &n(100)));
    check("softmax_columns", &samples::softmax_columns(&n(100), &n(64)));
    check("add_transposed", &samples::add_transposed(&n(300), &n(500)));
    check("layernorm", &samples::layernorm(&n(64), &n(384)));
    check("mean_variance", &samples::mean_variance(&n(8), &n(64)));
    check("cumsum", &samples::cumsum(&n(8), &n(64), false));
    check("embedding", &samples::embedding(&n(32), &n(1000), &n(384)));
    check("matmul", &samples::matmul_bias(&n(256), &n(384), &n(1536), true));
    check("matmul_narrow", &samples::matmul_bias(&n(512), &n(3), &n(1024), false));
    check("matmul_symbolic", &samples::matmul_bias(&Size::from(&rows), &n(777), &n(513), true));
    let mut product = samples::matmul_bias(&Size::from(&rows), &n(1024), &n(512), false);
    product.params[1].constant = false;
    check("matmul_variants", &product);
    check("matmul_few_rows", &products([4, 1024, 512], "k, j"));
    check("matmul_few_rows_transposed", &products([2, 1024, 512], "j, k"));
    check("attention", &samples::attention(&n(4), &n(16), &n(24), &n(32), true));
    let window = samples::Slide { padding: 1, ..samples::Slide::new(56, 3) };
    check("convolution", &samples::convolution(DType::F32, &n(4), [1, 64, 64], &[window, window]));
    let window = samples::Slide { stride: 2, ..window };
    check("depthwise", &samples::convolution(DType::F32, &n(4), [128, 1, 1], &[window, window]));
}

/// Three reductions of the same points are read along memory, as one is, however many results they write along another axis.
#[test]
fn reductions_of_the_same_points() {
    let stage = |over: &str, reduced: &str| {
        format!(
            "stage out{over} = reduce {reduced}\n  carry.0: f32 = sum(p0[i, j])\n  carry.1: f32 = max(p0[i, j])\n  \
             carry.2: f32 = min(p0[i, j])\n  p1{over} = carry.0\n  p2{over} = carry.1\n  p3{over} = carry.2\n"
        )
    };
    for (name, shape, over, reduced) in [("fold_three", "", "[]", "i, j"), ("fold_three_of_rows", "2048", "[i]", "j")] {
        let params: String = (1..=3).map(|p| format!("param p{p}: f32[{shape}]\n")).collect();
        let text = format!(
            "kernel folds\nparam p0: f32[2048, 512]\n{params}axis i < 2048\naxis j < 512\n{}",
            stage(over, reduced)
        );
        check(name, &Kernel::parse(&text).unwrap());
    }
}

/// Weights that are constant are read in vectors where an image has few points: those of a product, of windows, and of strides.
#[test]
fn turned() {
    let target = Target::named("x86-64-v4").unwrap();
    let turned = |name: &str, image: &str, axes: &[&str], taps: [&str; 2], at: &str| {
        let (points, shape) = if axes[0] == "h < 49" { ("h", "49") } else { ("h, w", "7, 7") };
        let axes: String = axes.iter().map(|a| format!("axis {a}\n")).collect();
        let [taps, extents] = taps;
        let text = format!(
            "kernel turned\nparam p0: f32[192, {image}]\nparam p1: f32[256, 192{extents}] constant\nparam p2: f32[256] constant\n\
             param p3: f32[256, {shape}]\naxis o < 256\naxis c < 192\n{axes}stage s[o, {points}] = reduce c{taps}\n  \
             carry.0: f32 = sum(p1[o, c{taps}] * p0[c, {at}])\n  s = carry.0\n\
             stage out[o, {points}] = map\n  p3[o, {points}] = max(s[o, {points}] + p2[o], f32(0.0))\n"
        );
        let kernel = Kernel::parse(&text).unwrap();
        assert!(heuristic_variants(&kernel, &target).rest.to_string().starts_with("turn s\n"), "{name}");
        check_on(&target, name, &kernel);
    };
    let (image, taps) = (["h < 7", "w < 7", "r < 3", "t < 3"], [", r, t", ", 3, 3"]);
    turned("turned", "49", &["h < 49"], ["", ""], "h");
    turned("turned_strided", "14, 14", &image[..2], ["", ""], "2*h, 2*w");
    turned("turned_windows", "9, 9", &image, taps, "h + r, w + t");
}

/// A product of bf16 where machines multiply pairs, in vectors and in registers of tiles.
#[test]
fn pairs() {
    let text = "kernel product\nparam p0: bf16[200, 301]\nparam p1: bf16[301, 96]\nparam p2: bf16[200, 96]\n\
                axis i < 200\naxis j < 96\naxis k < 301\n\n\
                stage mm[i, j] = reduce k\n  carry.0: f32 = sum(cast(f32, p0[i, k]) * cast(f32, p1[k, j]))\n  mm = carry.0\n\n\
                stage out[i, j] = map\n  p2[i, j] = cast(bf16, mm[i, j])\n";
    let kernel = Kernel::parse(text).unwrap();
    for (name, tiles) in [("pairs", false), ("pairs_tiles", true)] {
        let matrix = MatrixUnits { bf16_dot: true, tiles, ..MatrixUnits::default() };
        check_on(&Target { matrix, ..Target::named("x86-64-v4").unwrap() }, name, &kernel);
    }
}

fn size(n: i64) -> Size {
    Size::from(n)
}

/// Kernels for a GPU, whose warps share vectors of 512 bytes.
#[test]
fn groups_of_threads() {
    let n = size;
    let target = Target::named("cuda-sm90").unwrap();
    let check = |name: &str, kernel: &Kernel| check_on(&target, &format!("groups/{name}"), kernel);
    check("softmax", &samples::softmax(&n(8192), &n(4096)));
    check("add_transposed", &samples::add_transposed(&n(4096), &n(4096)));
    check("layernorm", &samples::layernorm(&n(16384), &n(1000)));
    check("cumsum", &samples::cumsum(&n(512), &n(5000), false));
    let columns = "kernel columns\nparam p0: f32[100, 5000]\nparam p1: f32[100, 5000]\naxis i < 100\naxis j < 5000\n\
                   stage out[j] = scan i\n  carry.0: f32 = max(p0[i, j])\n  p1[i, j] = carry.0\n";
    check("cummax_of_columns", &Kernel::parse(columns).unwrap());
    let sort = "kernel sort\nparam p0: u16[N]\nparam p1: u16[N]\naxis j < N\naxis k < N\n\
                stage out[k] = sort j to k\n  carry.0: u16 = key(p0[j])\n  p1[k] = carry.0\n";
    for (name, n) in [("sort_of_a_warp", "1000"), ("sort_in_blocks", "100000")] {
        check(name, &Kernel::parse(&sort.replace('N', n)).unwrap());
    }
    check("matmul", &samples::matmul_bias(&n(1024), &n(1024), &n(1024), true));
    check("matmul_transposed", &products([512, 512, 512], "j, k"));
    check("matmul_few_rows_transposed", &products([1, 4096, 4096], "j, k"));
    let few = [1, 2, 3, 5, 7, 8, 16, 31, 33, 64, 65, 100, 129, 257, 1000];
    for (m, n) in few.iter().flat_map(|m| few.map(|n| (*m, n))) {
        let mut kernels = vec![products([m, n, 30], "k, j"), products([m, n, 30], "j, k")];
        kernels.push(samples::softmax(&size(m), &size(n)));
        kernels.push(samples::softmax_columns(&size(m), &size(n)));
        kernels.push(samples::layernorm(&size(m), &size(n)));
        kernels.push(samples::add_transposed(&size(m), &size(n)));
        kernels.push(samples::cumsum(&size(m), &size(n), false));
        kernels.push(samples::argmax(&size(m), &size(n)));
        kernels.push(samples::matmul_bias(&size(m), &size(n), &size(40), true));
        for kernel in kernels {
            let chosen = heuristic_variants(&kernel, &target);
            lower_variants(&kernel, &chosen).unwrap_or_else(|e| panic!("{e}\n{chosen}"));
        }
    }
    let map = "kernel map\nparam p0: f32[4096, 4096]\nparam p1: f32[4096, 4096]\naxis i < 4096\naxis j < 4096\n\
               stage out[i, j] = map\n  p1[i, j] = exp(p0[i, j])\n";
    check("map", &Kernel::parse(map).unwrap());
    for (name, over, reduced) in [("sum", "", "i, j"), ("sum_of_columns", "j", "i"), ("sum_of_rows", "i", "j")] {
        let shape = if over.is_empty() { "" } else { "4096" };
        let text = format!(
            "kernel sum\nparam p0: f32[4096, 4096]\nparam p1: f32[{shape}]\naxis i < 4096\naxis j < 4096\n\
             stage out[{over}] = reduce {reduced}\n  carry.0: f32 = sum(p0[i, j])\n  p1[{over}] = carry.0\n"
        );
        check(name, &Kernel::parse(&text).unwrap());
    }
}
