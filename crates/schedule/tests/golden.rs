//! The text of kernels, schedules and loop trees on a frozen target. `SVOD_BLESS=1` rewrites it.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use svod_dtype::DType;
use svod_ir::kernel::{Kernel, samples};
use svod_ir::size::{Size, Variable};
use svod_ir::target::Target;
use svod_schedule::{heuristic, lower};

fn check(name: &str, kernel: &Kernel) {
    let schedule = heuristic(kernel, &Target::named("x86-64-v3").unwrap());
    let lowered = lower(kernel, &schedule).unwrap().lowered;
    let text = format!("{kernel}\n{schedule}\n{lowered}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.txt"));
    if std::env::var_os("SVOD_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(known, text, "{} differs; `make bless` rewrites it", path.display());
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
    check("attention", &samples::attention(&n(4), &n(16), &n(24), &n(32), true));
    let window = samples::Slide { padding: 1, ..samples::Slide::new(56, 3) };
    check("convolution", &samples::convolution(DType::F32, &n(4), [1, 64, 64], &[window, window]));
    let window = samples::Slide { stride: 2, ..window };
    check("depthwise", &samples::convolution(DType::F32, &n(4), [128, 1, 1], &[window, window]));
}
