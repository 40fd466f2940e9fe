//! Attention on a GPU: what has a kernel there is one kernel, whose loops are known, and what has none is several.

use crate::layers::{dims, float, keep, matmul, op};
use crate::support::{Memory, memory, shape, value};
use std::sync::Arc;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::buffer::HostBuffer;
use svod_ir::graph::key::GraphKey;
use svod_ir::graph::{Device, Graph, Leaf, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::lowered::{Attention, Lowered};
use svod_ir::size::Size;
use svod_ir::target::{MatrixUnits, Target};
use svod_schedule::{Caches, Purpose, Slot, create_pre_schedule, heuristic, lower};

/// Numbers of a type on a GPU.
pub fn on_gpu(dtype: DType, extents: &[i64], seed: u64) -> UOp {
    let n = extents.iter().product::<i64>() as u64;
    let number = |i: u64| ((i + 1).wrapping_mul((2 * seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)) >> 52) as f64;
    let data = HostBuffer::from_f64(dtype, (0..n).map(|i| number(i) / 1024.0 - 2.0));
    let memory = Memory { device: Device::new("CUDA:0"), ..memory(data) };
    UOp::leaf(Leaf::new(Arc::new(memory), 0, dtype, shape(extents))).unwrap()
}

fn wide(x: &UOp) -> UOp {
    x.cast(DType::F32).unwrap()
}

fn turned(x: &UOp) -> UOp {
    let mut order: Vec<usize> = (0..x.rank()).collect();
    order.swap(x.rank() - 2, x.rank() - 1);
    x.permute(&order).unwrap()
}

fn scaled(q: &UOp, k: &UOp, scale: f64) -> UOp {
    op(Alu::Mul, &[&matmul(&wide(q), &wide(&turned(k))), &float(scale)])
}

fn softmax(x: &UOp) -> UOp {
    let last = x.rank() - 1;
    let e = op(Alu::Exp, &[&op(Alu::Sub, &[x, &keep(x, Monoid::Max, last)])]);
    op(Alu::Div, &[&e, &keep(&e, Monoid::Sum, last)])
}

/// As [`softmax`], with zeros for a row of -∞.
fn softmax_of_seen(x: &UOp) -> UOp {
    let last = x.rank() - 1;
    let greatest = op(Alu::Max, &[&keep(x, Monoid::Max, last), &float(f64::from(f32::MIN))]);
    let e = op(Alu::Exp, &[&op(Alu::Sub, &[x, &greatest])]);
    op(Alu::Div, &[&e, &op(Alu::Max, &[&keep(&e, Monoid::Sum, last), &float(0.5)])])
}

/// Scores of keys that come after their query are -∞.
fn causal(scores: &UOp) -> UOp {
    let all = dims(scores);
    let (rows, keys) = (all[all.len() - 2], all[all.len() - 1]);
    let row = UOp::range(Size::from(rows)).unwrap().reshape(shape(&[rows, 1])).unwrap();
    let column = UOp::range(Size::from(keys)).unwrap();
    let extents = shape(&[rows, keys]);
    let seen = UOp::alu(Alu::Le, &[column.expand(extents.clone()).unwrap(), row.expand(extents).unwrap()]).unwrap();
    let least = UOp::constant(Const::f64(DType::F32, f64::NEG_INFINITY)).unwrap();
    let [seen, least] = [seen, least].map(|x| x.expand(scores.shape_arc().clone()).unwrap());
    UOp::alu(Alu::Where, &[seen, scores.clone(), least]).unwrap()
}

/// What the one kernel of a graph is on a GPU, whose loops give what the graph does.
fn known(root: &UOp) -> Attention {
    let (text, lowered) = one(root);
    lowered.attention().unwrap_or_else(|| panic!("{text}"))
}

fn one(root: &UOp) -> (String, Lowered) {
    let target = Target::named("cuda-sm90").unwrap();
    let graph = Graph::new(std::slice::from_ref(root));
    let key = GraphKey::new(&graph).unwrap();
    let how = Purpose { caches: Caches::from(&target), matrix: target.matrix, ..Purpose::default() };
    let schedule = create_pre_schedule(&graph, &key, how).unwrap();
    let text: String = schedule.kernels.iter().map(|k| k.to_string()).collect();
    let [call] = &schedule.invocations[..] else { panic!("{text}") };
    let kernel = &schedule.kernels[0];
    let chosen = heuristic(kernel, &target);
    let lowered = lower(kernel, &chosen).unwrap_or_else(|e| panic!("{e}\n{kernel}\n{chosen}")).lowered;
    let text = format!("{kernel}\n{chosen}\n{lowered}");
    let want = value(root, &[]).data;
    let argument = |slot: &Slot| match slot {
        Slot::Leaf(i) => key.leaves[*i].downcast::<Memory>().unwrap().data.clone(),
        _ => HostBuffer::zeros(root.dtype(), want.len()),
    };
    let mut arguments: Vec<HostBuffer> = call.args.iter().map(argument).collect();
    lowered.interpret(&[], &mut arguments).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let found = arguments.last().unwrap().to_f64();
    for (a, b) in found.iter().zip(want.to_f64()) {
        assert!((a - b).abs() <= 0.02 * b.abs().max(1.0) || (a.is_nan() && b.is_nan()), "{a} {b}\n{text}");
    }
    (text, lowered)
}

fn narrow(x: &UOp) -> UOp {
    x.cast(DType::BF16).unwrap()
}

fn mixed(weights: &UOp, v: &UOp) -> UOp {
    narrow(&matmul(weights, &wide(v)))
}

#[test]
fn attention_is_one_kernel_on_a_gpu() {
    let operand = |extents: &[i64], seed| on_gpu(DType::BF16, extents, seed);
    let (q, k, v) = (operand(&[2, 3, 10, 8], 1), operand(&[2, 3, 13, 8], 2), operand(&[2, 3, 13, 16], 3));
    let sizes = [1, 6, 1, 10, 13, 8, 16];
    let plain = mixed(&softmax(&scaled(&q, &k, 0.4)), &v);
    let (text, _) = one(&plain);
    golden("attention", &text);
    let found = known(&plain);
    assert_eq!((found.sizes, found.scale, found.diagonal), (sizes, 0.4, None));
    assert_eq!(found.operands.map(|o| o.strides), [[0, 80, 8], [0, 104, 8], [0, 208, 16], [0, 160, 16]]);
    assert!(found.score.is_none() && found.value.is_none());

    let found = known(&mixed(&softmax(&causal(&scaled(&q, &k, 0.4))), &v));
    assert_eq!((found.sizes, found.scale, found.diagonal, found.score.is_none()), (sizes, 0.4, Some(0), true));

    let mask = on_gpu(DType::F32, &[2, 1, 10, 13], 4);
    let masked = op(Alu::Add, &[&scaled(&q, &k, 0.4), &mask]);
    let found = known(&mixed(&softmax_of_seen(&masked), &v));
    assert_eq!((found.sizes[..5].to_vec(), found.scale), (vec![1, 6, 1, 10, 13], 1.0));
    assert_eq!(found.heads.iter().map(|(_, n)| *n).collect::<Vec<_>>(), [2, 3]);
    assert!(found.score.is_some() && found.value.is_some());
    let found = known(&mixed(&softmax_of_seen(&causal(&masked)), &v));
    assert!(found.score.is_some() && found.diagonal == Some(0));

    // One row of each head, and rows of 16 bits between the steps.
    let found = known(&mixed(&softmax(&scaled(&operand(&[2, 3, 1, 8], 1), &k, 0.4)), &v));
    assert_eq!(found.sizes, [1, 6, 1, 1, 13, 8, 16]);
    let scores = wide(&narrow(&op(Alu::Mul, &[&wide(&narrow(&scaled(&q, &k, 1.0))), &float(0.4)])));
    let found = known(&mixed(&wide(&narrow(&softmax(&scores))), &v));
    assert_eq!((found.scale, found.score.is_none(), found.value.is_none()), (0.4, true, true));
}

#[test]
fn operands_of_attention_lie_as_they_lie() {
    // The parts of one product, and heads that are joined, as a layer of a decoder has them.
    let all = on_gpu(DType::BF16, &[2, 10, 72], 5).reshape(shape(&[2, 10, 3, 3, 8])).unwrap();
    let all = all.permute(&[2, 0, 3, 1, 4]).unwrap();
    let part = |n: i64| {
        let from = [n, 0, 0, 0, 0].map(Size::from);
        let to = [n + 1, 2, 3, 10, 8].map(Size::from);
        all.shrink(from.into_iter().zip(to).collect::<Vec<_>>()).unwrap().reshape(shape(&[2, 3, 10, 8])).unwrap()
    };
    let joined = mixed(&softmax(&causal(&scaled(&part(0), &part(1), 0.4))), &part(2)).permute(&[0, 2, 1, 3]).unwrap();
    let found = known(&joined.contiguous().unwrap());
    assert_eq!(found.sizes, [2, 3, 1, 10, 10, 8, 8]);
    let read = [720, 8, 72];
    assert_eq!(found.operands.map(|o| o.strides), [read, read, read, [240, 8, 24]]);
    assert_eq!(found.operands.map(|o| o.offset), [0, 24, 48, 0]);

    // Two heads of queries for each of keys are its rows, unless these see different keys.
    let (k, v) = (on_gpu(DType::F16, &[2, 3, 1, 13, 8], 2), on_gpu(DType::F16, &[2, 3, 1, 13, 8], 3));
    let wider = |x: &UOp| x.expand(shape(&[2, 3, 2, 13, 8])).unwrap();
    for (rows, sizes) in [(5, [1, 6, 1, 10, 13, 8, 8]), (1, [1, 6, 1, 2, 13, 8, 8])] {
        let q = on_gpu(DType::F16, &[2, 3, 2, rows, 8], 1);
        let scores = scaled(&q, &wider(&k), 0.4);
        let result = |scores: &UOp| matmul(&softmax(scores), &wide(&wider(&v))).cast(DType::F16).unwrap();
        assert_eq!(known(&result(&scores)).sizes, sizes);
        if rows > 1 {
            let found = known(&result(&causal(&scores)));
            assert_eq!((found.sizes, found.diagonal), ([1, 12, 2, 5, 13, 8, 8], Some(0)));
        }
    }
}

#[test]
fn what_has_no_kernel_is_no_kernel_of_its_own() {
    let target = Target::named("cuda-sm90").unwrap();
    let kernels = |dtype: DType, depth: i64, spelled: fn(&UOp) -> UOp, matrix| {
        let operand = |extents: &[i64], seed| on_gpu(dtype, extents, seed);
        let (q, k, v) = (operand(&[6, 10, depth], 1), operand(&[6, 13, depth], 2), operand(&[6, 13, 16], 3));
        let root = matmul(&spelled(&scaled(&q, &k, 0.4)), &wide(&v)).cast(dtype).unwrap();
        let graph = Graph::new(std::slice::from_ref(&root));
        let how = Purpose { caches: Caches::from(&target), matrix, ..Purpose::default() };
        create_pre_schedule(&graph, &GraphKey::new(&graph).unwrap(), how).unwrap().kernels.len()
    };
    let units = target.matrix;
    assert_eq!(kernels(DType::F16, 8, softmax, units), 1);
    for (dtype, depth) in [(DType::F32, 8), (DType::BF16, 9), (DType::BF16, 264)] {
        assert!(kernels(dtype, depth, softmax, units) > 1, "{dtype} {depth}");
    }
    assert!(kernels(DType::F16, 8, softmax, MatrixUnits::default()) > 1);
    let squared = |x: &UOp| op(Alu::Div, &[&op(Alu::Mul, &[x, x]), &keep(&op(Alu::Mul, &[x, x]), Monoid::Sum, 2)]);
    assert!(kernels(DType::F16, 8, squared, units) > 1);
}

fn golden(name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/groups/{name}.txt"));
    if std::env::var_os("SVOD_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(known, text, "{} differs; `make bless` rewrites it", path.display());
}
