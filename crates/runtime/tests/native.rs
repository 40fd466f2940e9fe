//! Graphs to machine code of this machine.
#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use svod_dtype::DType;
use svod_ir::graph::UOp;
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;
use svod_runtime::{Context, Feed, PrepareConfig};

fn values(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as f32 / 32768.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn shape(of: &[i64]) -> Vec<Size> {
    of.iter().map(|n| Size::from(*n)).collect()
}

/// Rows of `a` times columns of `b`.
fn matmul(a: &UOp, b: &UOp, [m, k, n]: [i64; 3]) -> UOp {
    let a = a.reshape(shape(&[m, k, 1])).unwrap().expand(shape(&[m, k, n])).unwrap();
    let b = b.reshape(shape(&[1, k, n])).unwrap().expand(shape(&[m, k, n])).unwrap();
    mul(&a, &b).reduce(Monoid::Sum, &[1]).unwrap().reshape(shape(&[m, n])).unwrap()
}

#[test]
fn kernels_of_this_machine_compute_what_they_should() {
    let context = Context::global();
    let (a, b) = (values(1000, 1), values(1000, 2));
    let plan = context.plan(&[add(&leaf(context, &a), &leaf(context, &b))], &[], &PrepareConfig::default()).unwrap();
    plan.execute().unwrap();
    let sums: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    assert_eq!(output(&plan, 0), sums);
    let kernel = &plan.kernels()[0];
    assert!(kernel.source().unwrap().contains("define"), "LLVM IR");
    assert!(kernel.assembly().unwrap().unwrap().contains("ret"));
    assert!(!kernel.linear().unwrap().unwrap().is_empty());
    assert!(!kernel.schedule().is_empty());
}

#[test]
fn constants_are_packed_once_and_shared() {
    let context = Context::global();
    let [m, k, n] = [48, 96, 64];
    let (a, b) = (values((m * k) as usize, 3), values((k * n) as usize, 4));
    let (x, w) = (leaf(context, &a), leaf(context, &b));
    let product = matmul(&x, &w, [m, k, n]);
    let config = PrepareConfig::default().for_plan();
    let plan = context.plan(std::slice::from_ref(&product), &[leaf_of(&x)], &config).unwrap();
    let packs = context.stats().packs;
    assert!(packs > 0, "{}", plan.kernels()[0].schedule());
    let other = context.plan(&[product], &[leaf_of(&x)], &config).unwrap();
    assert_eq!(context.stats().packs, packs, "plans share packed constants");
    let expected = |a: &[f32]| -> Vec<f64> {
        let at = |i: i64| {
            (0..k).map(|p| f64::from(a[(i / n * k + p) as usize]) * f64::from(b[(p * n + i % n) as usize])).sum()
        };
        (0..m * n).map(at).collect()
    };
    let close = |got: Vec<f32>, expected: Vec<f64>| {
        got.iter().zip(expected).for_each(|(g, e)| assert!((f64::from(*g) - e).abs() < 1e-4, "{g} is not {e}"));
    };
    plan.execute().unwrap();
    close(output(&plan, 0), expected(&a));
    let fresh = values((m * k) as usize, 5);
    other.execute_with(&[Feed::Bytes(&bytes(&fresh))], &[]).unwrap();
    close(output(&other, 0), expected(&fresh));
    close(output(&plan, 0), expected(&a));
}

#[test]
fn files_are_read_where_they_are() {
    let context = Context::global();
    let path = std::env::temp_dir().join(format!("svod-native-{}.bin", std::process::id()));
    std::fs::write(&path, bytes(&values(256, 6))).unwrap();
    let device = context.devices().open(&format!("DISK:{}", path.display())).unwrap();
    let file = svod_device::Buffer::new(device.allocator(), DType::F32, 256).unwrap();
    let memory = svod_runtime::Memory::new(file.into(), svod_ir::graph::LeafClass::Data);
    let leaf = svod_ir::graph::Leaf::new(std::sync::Arc::new(memory), 0, DType::F32, shape(&[256]).into());
    let x = UOp::leaf(leaf).unwrap().copy_to(&svod_ir::graph::Device::new("CPU")).unwrap();
    let plan = context.plan(&[add(&x, &x)], &[], &PrepareConfig::default()).unwrap();
    plan.execute().unwrap();
    assert_eq!(plan.ops().len(), 1, "a mapped file needs no copy");
    assert_eq!(output(&plan, 0), values(256, 6).iter().map(|v| v + v).collect::<Vec<_>>());
    std::fs::remove_file(path).unwrap();
}
