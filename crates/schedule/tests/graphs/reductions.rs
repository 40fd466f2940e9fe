//! Golden text of how reductions are computed, on each frozen description of a CPU: kernels, their schedules and loops.
//! Whoever changes a mechanism of reductions sees here what else changes.

use crate::attention::on_gpu;
use crate::layers::{dims, float, keep, layer_norm, matmul, op, softmax};
use crate::support::{leaf, shape};
use std::fmt::Write;
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::buffer::HostBuffer;
use svod_ir::graph::key::GraphKey;
use svod_ir::graph::{Graph, UOp};
use svod_ir::kernel::{Kernel, Monoid};
use svod_ir::target::Target;
use svod_schedule::{Caches, Purpose, create_pre_schedule, heuristic_variants, lower_variants};

const TARGETS: [&str; 4] = ["x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"];

fn argument(extents: &[i64]) -> UOp {
    leaf(HostBuffer::zeros(DType::F32, extents.iter().product::<i64>() as usize), extents)
}

fn golden(name: &str, roots: &[UOp]) {
    let graph = Graph::new(roots);
    let key = GraphKey::new(&graph).unwrap();
    for target in TARGETS {
        let target = Target::named(target).unwrap();
        let purpose = Purpose { caches: Caches::from(&target), ..Purpose::default() };
        let schedule = create_pre_schedule(&graph, &key, purpose).unwrap();
        let mut text = String::new();
        for kernel in &schedule.kernels {
            let variants = heuristic_variants(kernel, &target);
            let lowered = lower_variants(kernel, &variants).unwrap().lowered;
            writeln!(text, "{kernel}\n{variants}\n{lowered}").unwrap();
        }
        for (at, call) in schedule.invocations.iter().enumerate() {
            writeln!(text, "{at}: {:?} {:?}", call.item, call.args).unwrap();
        }
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/reductions");
        let path = folder.join(format!("{name}.{}.txt", target.name));
        if std::env::var_os("SVOD_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(known, text, "{} differs; `make bless` rewrites it", path.display());
    }
}

/// `sum((x - mean)^2) / n` along an axis.
fn variance(x: &UOp, axis: usize) -> UOp {
    let n = float(dims(x)[axis] as f64);
    let mean = op(Alu::Div, &[&keep(x, Monoid::Sum, axis), &n]);
    let centred = op(Alu::Sub, &[x, &mean]);
    op(Alu::Div, &[&keep(&op(Alu::Mul, &[&centred, &centred]), Monoid::Sum, axis), &n])
}

/// `log(sum(exp(x - max))) + max` along an axis.
fn log_sum_exp(x: &UOp, axis: usize) -> UOp {
    let greatest = keep(x, Monoid::Max, axis);
    let sum = keep(&op(Alu::Exp, &[&op(Alu::Sub, &[x, &greatest])]), Monoid::Sum, axis);
    op(Alu::Add, &[&op(Alu::Log, &[&sum]), &greatest])
}

#[test]
fn variances() {
    let x = argument(&[1 << 20]);
    golden("variance_of_all", &[variance(&x, 0)]);
    let x = argument(&[300, 1000]);
    golden("variance_of_rows", &[variance(&x, 1)]);
    golden("variance_of_columns", &[variance(&x, 0)]);
}

#[test]
fn sums_of_exponentials() {
    golden("log_sum_exp_of_all", &[log_sum_exp(&argument(&[1 << 20]), 0)]);
    golden("log_sum_exp_of_rows", &[log_sum_exp(&argument(&[300, 1000]), 1)]);
    golden("log_sum_exp_of_short_rows", &[log_sum_exp(&argument(&[5000, 10]), 1)]);
    golden("softmax_of_rows", &[softmax(&argument(&[300, 1000]))]);
    golden("softmax_of_a_long_row", &[softmax(&argument(&[1, 1 << 20]))]);
}

#[test]
fn attention() {
    let [q, k, v] = [[2, 100, 64], [2, 64, 120], [2, 120, 64]].map(|extents| argument(&extents));
    let scores = op(Alu::Mul, &[&matmul(&q, &k), &float(0.125)]);
    golden("attention", &[matmul(&softmax(&scores), &v)]);
}

#[test]
fn positions_of_extrema() {
    golden("argmax_of_all", &[argument(&[1 << 20]).reduce(Monoid::ArgMax, &[0]).unwrap()]);
    golden("argmax_of_rows", &[argument(&[300, 1000]).reduce(Monoid::ArgMax, &[1]).unwrap()]);
}

#[test]
fn sums() {
    golden("sum_of_all", &[argument(&[1 << 22]).reduce(Monoid::Sum, &[0]).unwrap()]);
    golden("sum_of_rows", &[argument(&[300, 1000]).reduce(Monoid::Sum, &[1]).unwrap()]);
    // A total beside what reads the same rows: in two stages.
    let x = argument(&[2000, 1000]);
    let flat = x.reshape(shape(&[2_000_000])).unwrap();
    golden("sum_beside_a_map", &[flat.reduce(Monoid::Sum, &[0]).unwrap(), op(Alu::Mul, &[&x, &float(2.0)])]);
}

#[test]
fn products_of_long_depth() {
    golden("product_of_split_depth", &[matmul(&argument(&[16, 1 << 16]), &argument(&[1 << 16, 16]))]);
    golden("row_times_matrix", &[matmul(&argument(&[1, 4096]), &argument(&[4096, 1000]))]);
}

/// A task of a GPU keeps a row in registers: what adds up something of many rows does not compute their statistics.
#[test]
fn what_adds_up_rows_on_a_gpu_is_no_part_of_their_reduction() {
    let target = Target::named("cuda-sm90").unwrap();
    let purpose = Purpose { caches: Caches::from(&target), matrix: target.matrix, ..Purpose::default() };
    let kernels = |x: &UOp| {
        let weights = |seed| on_gpu(DType::F32, &[x.shape()[2].as_const().unwrap()], seed);
        let pooled = keep(&layer_norm(x, &weights(1), &weights(2)), Monoid::Sum, 1);
        let graph = Graph::new(std::slice::from_ref(&pooled));
        create_pre_schedule(&graph, &GraphKey::new(&graph).unwrap(), purpose).unwrap().kernels
    };
    let made = kernels(&on_gpu(DType::F32, &[64, 128, 384], 3));
    let rows = |kernel: &Kernel| -> i64 {
        let over = &kernel.stages.last().unwrap().over;
        over.iter().map(|axis| kernel.axes[axis.index()].extent.as_const().unwrap()).product()
    };
    assert!(made.len() > 1 && made.iter().all(|kernel| rows(kernel) >= 64 * 128), "{made:?}");
}
