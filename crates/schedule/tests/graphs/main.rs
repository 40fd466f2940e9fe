//! Graphs cut into kernels and lowered give what the graph interpreter gives.
#![allow(clippy::unwrap_used)]

mod attention;
mod cut;
mod layers;
mod linear_work;
mod random_graphs;
mod reductions;
#[path = "../../../ir/tests/support/mod.rs"]
mod support;

use layers::{conv_layer, float, keep, layer_norm, matmul, op, random, softmax};
use support::{Memory, leaf, shape};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::buffer::HostBuffer;
use svod_ir::graph::key::GraphKey;
use svod_ir::graph::{Graph, UOp};
use svod_ir::kernel::{Body, Monoid, Stage};
use svod_ir::size::BoundVariable;
use svod_ir::target::Target;
use svod_schedule::{
    Caches, Item, PreSchedule, Purpose, Schedule, Slot, create_pre_schedule, heuristic, lower, strict_heuristic,
};

/// Schedules, lowers and interprets; gives the schedule.
fn check(roots: &[UOp]) -> PreSchedule {
    let graph = Graph::new(roots);
    let key = GraphKey::new(&graph).unwrap();
    let want: Vec<Vec<f64>> = roots.iter().map(|r| support::value(r, &[]).data.to_f64()).collect();
    for prepared in [false, true] {
        let schedule = create_pre_schedule(&graph, &key, Purpose { prepared, ..Purpose::default() }).unwrap();
        let mut buffers: Vec<HostBuffer> = schedule
            .buffers
            .iter()
            .map(|b| HostBuffer::zeros(b.dtype, b.shape.iter().map(|e| e.as_const().unwrap() as usize).product()))
            .collect();
        for step in &schedule.invocations {
            let Item::Kernel(kernel) = step.item else { panic!("no copies here") };
            let kernel = &schedule.kernels[kernel];
            kernel.verify().unwrap_or_else(|e| panic!("{e}\n{kernel}"));
            let get = |slot: &Slot, buffers: &[HostBuffer]| match slot {
                Slot::Leaf(i) => key.leaves[*i].downcast::<Memory>().unwrap().data.clone(),
                Slot::Buffer(i) => buffers[*i].clone(),
                Slot::Numbers(i) => {
                    let numbers = &schedule.numbers[*i];
                    HostBuffer::from_f64(numbers[0].dtype(), numbers.iter().map(|n| n.as_f64()))
                }
            };
            let value = |(name, value): &(String, i64)| {
                kernel.vars.iter().find(|v| v.name() == name).unwrap().bind(*value).unwrap()
            };
            let values: Vec<BoundVariable> = step.fixed.iter().map(value).collect();
            let args: Vec<HostBuffer> = step.args.iter().map(|s| get(s, &buffers)).collect();
            let mut direct = args.clone();
            kernel.interpret(&values, &mut direct).unwrap_or_else(|e| panic!("{e}\n{kernel}"));
            let chosen = heuristic(kernel, &Target::named("x86-64-v3").unwrap());
            let program = lower(kernel, &chosen).unwrap_or_else(|e| panic!("{e}\n{kernel}\n{chosen}"));
            program.lowered.verify().unwrap_or_else(|e| panic!("{e}\n{}", program.lowered));
            let mut all = args.clone();
            for (at, param) in program.lowered.params.iter().enumerate().skip(args.len()) {
                let count = param.shape.iter().map(|e| e.as_const().unwrap() as usize).product();
                let mut inputs = args.clone();
                inputs.push(HostBuffer::zeros(param.dtype, count));
                if let Some(pack) = program.packs.iter().find(|p| p.packed.index() == at) {
                    lower(&pack.kernel, &Schedule::default()).unwrap().lowered.interpret(&values, &mut inputs).unwrap();
                }
                all.push(inputs.pop().unwrap());
            }
            program
                .lowered
                .interpret(&values, &mut all)
                .unwrap_or_else(|e| panic!("{e}\n{kernel}\n{chosen}\n{}", program.lowered));
            for out in kernel.written() {
                let out = out.index();
                close(&direct[out].to_f64(), &all[out].to_f64(), &format!("{kernel}\n{chosen}\n{}", program.lowered));
                let Slot::Buffer(to) = step.args[out] else { panic!("a kernel writes a buffer") };
                buffers[to] = all[out].clone();
            }
        }
        for (slot, want) in schedule.outputs.iter().zip(&want) {
            let Slot::Buffer(i) = slot else { continue };
            let text: String = schedule.kernels.iter().map(|k| k.to_string()).collect();
            close(want, &buffers[*i].to_f64(), &text);
        }
    }
    create_pre_schedule(&graph, &key, Purpose::default()).unwrap()
}

fn close(want: &[f64], got: &[f64], text: &str) {
    assert_eq!(want.len(), got.len());
    for (i, (a, b)) in want.iter().zip(got).enumerate() {
        let equal = (a - b).abs() <= 1e-4 * (1.0 + a.abs()) || a == b || (a.is_nan() && b.is_nan());
        assert!(equal, "element {i}: {a} expected, {b} computed\n{text}");
    }
}

#[test]
fn elementwise_and_movement() {
    let (a, b) = (random(&[3, 5], 1), random(&[5, 3], 2));
    let sum = op(Alu::Add, &[&a, &b.permute(&[1, 0]).unwrap()]);
    check(std::slice::from_ref(&sum));
    let flipped = op(Alu::Mul, &[&sum, &sum.flip(&[1]).unwrap()]);
    check(std::slice::from_ref(&flipped));
    let by = [(1i64.into(), 2i64.into()), (0i64.into(), 1i64.into())];
    let padded = flipped.pad(by.to_vec(), Const::f64(DType::F32, 7.0)).unwrap();
    check(std::slice::from_ref(&padded));
    check(&[padded.reshape(shape(&[4, 9])).unwrap(), sum]);
    check(&[padded.reshape(shape(&[36])).unwrap().shrink(vec![(3i64.into(), 30i64.into())]).unwrap()]);
    check(&[random(&[2, 3, 4, 5], 3).permute(&[2, 0, 3, 1]).unwrap().reshape(shape(&[8, 15])).unwrap()]);
}

#[test]
fn rows_become_one_kernel() {
    for extents in [&[4, 33][..], &[2, 3, 40], &[16, 7]] {
        let x = random(extents, 4);
        let n = check(&[softmax(&x)]).invocations.len();
        assert_eq!(n, 1, "softmax of {extents:?}");
        let last = [extents[extents.len() - 1]];
        let n = check(&[layer_norm(&x, &random(&last, 5), &random(&last, 6))]).invocations.len();
        assert_eq!(n, 1, "layer norm of {extents:?}");
    }
}

#[test]
fn reductions() {
    let x = random(&[5, 6, 7], 7);
    for axes in [&[0][..], &[1], &[2], &[0, 1], &[1, 2], &[0, 2], &[0, 1, 2]] {
        for by in [Monoid::Sum, Monoid::Max, Monoid::Prod] {
            check(&[x.reduce(by, axes).unwrap()]);
        }
    }
    check(&[x.reduce(Monoid::ArgMax, &[1]).unwrap(), x.reduce(Monoid::ArgMin, &[2]).unwrap()]);
    for axis in 0..3 {
        check(&[x.scan(Monoid::Sum, axis, true).unwrap(), x.scan(Monoid::Max, axis, false).unwrap()]);
    }
    let mean = op(Alu::Div, &[&keep(&x, Monoid::Sum, 0), &float(5.0)]);
    check(&[op(Alu::Sub, &[&x, &mean])]);
}

#[test]
fn contractions_with_epilogue() {
    let (x, w, b) = (random(&[2, 9, 24], 8), random(&[24, 40], 9), random(&[40], 10));
    let wide = w.expand(shape(&[2, 24, 40])).unwrap();
    let y = op(Alu::Add, &[&matmul(&x, &wide), &b]);
    let g = op(Alu::Mul, &[&y, &op(Alu::Add, &[&op(Alu::Erf, &[&y]), &float(1.0)])]);
    assert_eq!(check(&[g]).invocations.len(), 1);
    check(&[matmul(&random(&[33, 17], 1), &random(&[17, 50], 2))]);
    check(&[matmul(&random(&[1, 64], 1), &random(&[64, 20], 2)), matmul(&random(&[20, 64], 1), &random(&[64, 1], 2))]);
}

/// Compares the kernels of a graph with a golden file.
fn golden(name: &str, schedule: &PreSchedule) {
    let text: Vec<String> = schedule.kernels.iter().map(|k| k.to_string()).collect();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.txt"));
    if std::env::var_os("SVOD_BLESS").is_some() {
        std::fs::write(&path, text.join("\n")).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(known, text.join("\n"), "{} differs; `make bless` rewrites it", path.display());
}

#[test]
fn convolutions_with_epilogue() {
    let one = |name: &str, y: UOp| {
        let schedule = check(&[y]);
        let text: String = schedule.kernels.iter().map(|k| k.to_string()).collect();
        assert_eq!(schedule.invocations.len(), 1, "{text}");
        golden(name, &schedule);
    };
    let x = random(&[2, 4, 7, 6], 1);
    one("conv", conv_layer(&x, &random(&[5, 4, 3, 3], 2), 1, 1, 1, 1));
    one("conv_strided", conv_layer(&x, &random(&[5, 4, 2, 3], 2), 1, 2, 1, 2));
    one("conv_pointwise", conv_layer(&x, &random(&[5, 4, 1, 1], 2), 1, 1, 0, 1));
    one("conv_groups", conv_layer(&x, &random(&[6, 2, 3, 3], 2), 2, 1, 1, 1));
    one("conv_depthwise", conv_layer(&x, &random(&[4, 1, 3, 3], 2), 4, 1, 1, 1));
    one("conv_1d", conv_layer(&random(&[2, 3, 9], 1), &random(&[5, 3, 3], 2), 1, 1, 1, 1));
    one("conv_3d", conv_layer(&random(&[2, 2, 4, 4, 5], 1), &random(&[5, 2, 2, 3, 2], 2), 1, 1, 1, 1));
    // The residual joins as well.
    let y = conv_layer(&x, &random(&[4, 4, 3, 3], 2), 1, 1, 1, 1);
    assert_eq!(check(&[op(Alu::Add, &[&y, &x])]).invocations.len(), 1);
}

#[test]
fn convolutions_in_a_row() {
    let x = random(&[1, 4, 6, 6], 1);
    let layer = |x: &UOp, seed| conv_layer(x, &random(&[4, 4, 3, 3], seed), 1, 1, 1, 1);
    // Each layer's bias and rectification are computed with it, not at each of the nine reads.
    let first = layer(&x, 2);
    let schedule = check(&[layer(&first, 3)]);
    assert_eq!((schedule.invocations.len(), schedule.kernels.len()), (2, 1));
    // With a residual connection, which reads the first layer as well.
    assert_eq!(check(&[op(Alu::Add, &[&layer(&first, 3), &first])]).invocations.len(), 2);
}

#[test]
fn attention_block() {
    let (heads, s, d) = (3, 10, 8);
    let x = random(&[2, s, heads * d], 11);
    let split = |x: &UOp| x.reshape(shape(&[2, s, heads, d])).unwrap().permute(&[0, 2, 1, 3]).unwrap();
    let project = |seed: u64| {
        let w = random(&[heads * d, heads * d], seed);
        matmul(&x, &w.expand(shape(&[2, heads * d, heads * d])).unwrap())
    };
    let (q, k, v) = (split(&project(12)), split(&project(13)), split(&project(14)));
    let mask = random(&[2, 1, 1, s], 15);
    let scores = op(Alu::Add, &[&op(Alu::Mul, &[&matmul(&q, &k.permute(&[0, 1, 3, 2]).unwrap()), &float(0.3)]), &mask]);
    let mixed =
        matmul(&softmax(&scores), &v).permute(&[0, 2, 1, 3]).unwrap().reshape(shape(&[2, s, heads * d])).unwrap();
    let out = matmul(&mixed, &random(&[heads * d, heads * d], 16).expand(shape(&[2, heads * d, heads * d])).unwrap());
    let normed = layer_norm(&op(Alu::Add, &[&out, &x]), &random(&[heads * d], 17), &random(&[heads * d], 18));
    let schedule = check(&[normed]);
    let text: String = schedule.kernels.iter().map(|k| k.to_string()).collect();
    assert!(schedule.invocations.len() <= 8, "{} kernels\n{text}", schedule.invocations.len());
}

/// `softmax(q @ kᵀ * s + m) @ v` is one kernel, however it is spelled and whatever its sizes.
#[test]
fn attention_is_one_kernel() {
    let spellings: [fn(&UOp) -> UOp; 5] = [
        softmax,
        |x| {
            let e = op(Alu::Exp, &[&op(Alu::Sub, &[x, &keep(x, Monoid::Max, 3)])]);
            op(Alu::Mul, &[&e, &op(Alu::Recip, &[&keep(&e, Monoid::Sum, 3)])])
        },
        |x| {
            let e = op(Alu::Exp, &[x]);
            op(Alu::Div, &[&e, &keep(&e, Monoid::Sum, 3)])
        },
        |x| {
            let shifted = op(Alu::Sub, &[x, &keep(x, Monoid::Max, 3)]);
            op(
                Alu::Exp,
                &[&op(Alu::Sub, &[&shifted, &op(Alu::Log, &[&keep(&op(Alu::Exp, &[&shifted]), Monoid::Sum, 3)])])],
            )
        },
        |x| {
            let e = op(Alu::Max, &[x, &float(0.0)]);
            op(Alu::Div, &[&e, &op(Alu::Add, &[&keep(&e, Monoid::Sum, 3), &float(1.0)])])
        },
    ];
    let sizes = [(2, 3, 10, 27, 8, 20), (1, 1, 33, 40, 16, 16), (3, 1, 5, 9, 4, 7)];
    for (n, spelling) in spellings.iter().enumerate() {
        // All sizes of one spelling: interpreting takes long.
        for (b, h, rows, keys, depth, columns) in sizes.into_iter().skip(if n == 0 { 0 } else { 2 }) {
            let q = random(&[b, h, rows, depth], 1);
            let k = random(&[b, h, keys, depth], 2).permute(&[0, 1, 3, 2]).unwrap();
            let v = random(&[b, h, keys, columns], 3);
            let scores = op(Alu::Mul, &[&matmul(&q, &k), &float(0.4)]);
            let masked = op(Alu::Add, &[&scores, &random(&[b, 1, 1, keys], 4)]);
            let mixed = matmul(&spelling(&masked), &v);
            let shifted = op(Alu::Add, &[&mixed, &random(&[columns], 5)]);
            for root in [mixed, shifted] {
                let schedule = check(&[root]);
                let text: String = schedule.kernels.iter().map(|k| k.to_string()).collect();
                assert_eq!(schedule.invocations.len(), 1, "spelling {n} of {rows}x{keys}x{depth}x{columns}\n{text}");
            }
        }
    }
    // Rows that see a part of the keys, read through a condition on positions.
    let (q, k, v) = (random(&[1, 2, 140, 4], 1), random(&[1, 2, 4, 150], 2), random(&[1, 2, 150, 5], 3));
    let row = UOp::range(140i64).unwrap().reshape(shape(&[140, 1])).unwrap().expand(shape(&[140, 150])).unwrap();
    let column = UOp::range(150i64).unwrap().expand(shape(&[140, 150])).unwrap();
    let seen = UOp::alu(Alu::Le, &[column, row]).unwrap();
    let hidden = op(Alu::Where, &[&seen, &matmul(&q, &k), &float(f64::NEG_INFINITY)]);
    let schedule = check(&[matmul(&softmax(&hidden), &v)]);
    assert_eq!(schedule.invocations.len(), 1);
    let kernel = &schedule.kernels[0];
    let loops = lower(kernel, &heuristic(kernel, &Target::named("x86-64-v3").unwrap())).unwrap().lowered.to_string();
    assert!(loops.contains("min(150, "), "nothing is skipped\n{loops}");
    // Reductions from left to right do not change what is computed where.
    let mut buffers: Vec<HostBuffer> = (1..)
        .zip(&kernel.params)
        .map(|(seed, p)| {
            let extents: Vec<i64> = p.shape.iter().map(|e| e.as_const().unwrap()).collect();
            support::value(&random(&extents, seed), &[]).data
        })
        .collect();
    let mut direct = buffers.clone();
    kernel.interpret(&[], &mut direct).unwrap();
    let strict = strict_heuristic(kernel, &Target::named("x86-64-v3").unwrap());
    lower(kernel, &strict).unwrap().lowered.interpret(&[], &mut buffers).unwrap();
    close(&direct[3].to_f64(), &buffers[3].to_f64(), &strict.to_string());
    // Weights that something else wants too are memory.
    let (q, k) = (random(&[1, 2, 8, 8], 6), random(&[1, 2, 8, 8], 7));
    let weights = softmax(&matmul(&q, &k));
    check(&[matmul(&weights, &random(&[1, 2, 8, 8], 8)), weights]);
}

#[test]
fn indexing() {
    let table = random(&[10, 6], 19);
    let ids = leaf(HostBuffer::from_i64(DType::I64, [3, 0, 9, 11, -1, 5]), &[2, 3]);
    check(&[table.take(0, &ids).unwrap(), table.take(1, &ids).unwrap()]);
    let along = leaf(HostBuffer::from_i64(DType::I64, [3, 0, 9, 2, 1, 5]), &[1, 6]);
    check(&[table.gather(0, &along).unwrap()]);
    let (key, offset) =
        (leaf(HostBuffer::from_i64(DType::U64, [42]), &[]), leaf(HostBuffer::from_i64(DType::U64, [7]), &[]));
    check(&[UOp::rand(&key, &offset, shape(&[3, 5])).unwrap()]);
    check(&[UOp::range(7i64).unwrap()]);
}

#[test]
fn graphs_that_blow_up_elsewhere() {
    let count = |roots: &[UOp]| {
        let graph = Graph::new(roots);
        let key = GraphKey::new(&graph).unwrap();
        create_pre_schedule(&graph, &key, Purpose::default()).unwrap()
    };
    let x = random(&[4, 8], 20);
    let mut chain = x.clone();
    for i in 0..10_000 {
        chain = op(if i % 2 == 0 { Alu::Add } else { Alu::Mul }, &[&chain, &float(1.0 + f64::from(i % 3))]);
    }
    let schedule = count(&[chain]);
    assert!(schedule.invocations.len() <= 120, "{} kernels", schedule.invocations.len());
    let (mut double, mut mirrored) = (x.clone(), x);
    for _ in 0..30 {
        double = op(Alu::Add, &[&double, &double]);
        mirrored = op(Alu::Add, &[&mirrored, &mirrored.flip(&[1]).unwrap()]);
    }
    assert_eq!(count(&[double]).invocations.len(), 1);
    let schedule = count(&[mirrored.clone()]);
    assert!(schedule.invocations.len() <= 30);
    assert!(schedule.kernels.iter().all(|k| k.exprs.len() < 200));
    check(&[mirrored]);
}

/// A deep network is many invocations of few kernels, and twice the depth is twice the work.
#[test]
fn a_48_layer_network_has_few_kernels() {
    let build = |layers: u64| {
        let mut x = random(&[16, 32], 1);
        for i in 0..layers {
            let y = op(Alu::Add, &[&matmul(&x, &random(&[32, 32], 2 + i)), &random(&[32], 99 + i)]);
            x = op(Alu::Max, &[&y, &float(0.0)]);
        }
        let graph = Graph::new(&[x]);
        let key = GraphKey::new(&graph).unwrap();
        (graph.len(), create_pre_schedule(&graph, &key, Purpose { prepared: true, ..Purpose::default() }).unwrap())
    };
    let (nodes, half) = build(24);
    let (twice, whole) = build(48);
    assert!(twice as f64 <= 2.2 * nodes as f64);
    assert!(whole.invocations.len() as f64 <= 2.2 * half.invocations.len() as f64);
    assert!(whole.kernels.len() <= 3, "{} distinct kernels", whole.kernels.len());
    assert!(whole.invocations.len() <= 49, "{} invocations", whole.invocations.len());
}

/// Layers that differ in float constants, and parts of one tensor at other offsets, are calls of one kernel with
/// other arguments.
#[test]
fn kernels_that_differ_only_in_numbers_are_one() {
    let kernels = |roots: &[UOp]| {
        let schedule = check(roots);
        (schedule.kernels.len(), schedule.invocations.len(), schedule)
    };
    let mut y = random(&[6, 40], 1);
    for i in 0..10i32 {
        let scaled = op(Alu::Mul, &[&y, &float(0.31 + 0.1 * f64::from(i))]);
        let moved = op(Alu::Add, &[&scaled, &float(0.71 - 0.01 * f64::from(i * i))]);
        y = op(Alu::Sub, &[&moved, &keep(&moved, Monoid::Max, i as usize % 2)]).contiguous().unwrap();
    }
    let (distinct, calls, schedule) = kernels(&[y]);
    assert!(distinct <= 3 && calls >= 5, "{distinct} kernels in {calls} calls");
    assert!(!schedule.numbers.is_empty());

    let x = random(&[128, 8], 2);
    let part = |i: i64, rows: i64| {
        let part = x.shrink(vec![((i * rows).into(), ((i + 1) * rows).into()), (0i64.into(), 8i64.into())]).unwrap();
        op(Alu::Mul, &[&part, &keep(&part, Monoid::Sum, 0)])
    };
    let parts: Vec<UOp> = (0..32).map(|i| part(i, 4)).collect();
    let (distinct, calls, schedule) = kernels(&parts);
    assert!(distinct <= 2 && calls > distinct, "{distinct} kernels in {calls} calls");
    assert!(schedule.invocations.iter().all(|call| !call.fixed.is_empty()));

    // What occurs once stays as it is, and so does what all have.
    let alone = op(Alu::Mul, &[&random(&[5, 7], 3), &float(0.3)]);
    assert!(kernels(&[alone]).2.numbers.is_empty());
    let same =
        |seed: u64, by: f64| op(Alu::Div, &[&op(Alu::Mul, &[&random(&[300, 7], seed), &float(0.3)]), &float(by)]);
    let (_, _, schedule) = kernels(&[same(4, 3.0), same(5, 7.0)]);
    assert!(schedule.numbers.iter().all(|numbers| numbers.len() == 1), "{:?}", schedule.numbers);
}

/// Running values of the reductions of a variance's kernel, on a machine with a last cache of so many bytes.
fn running_values(x: &UOp, l3: usize) -> Vec<usize> {
    let variance = layer_norm(x, &float(1.0), &float(0.0));
    let graph = Graph::new(&[variance]);
    let key = GraphKey::new(&graph).unwrap();
    let how = Purpose { caches: Caches { l3, ..Caches::default() }, ..Purpose::default() };
    let schedule = create_pre_schedule(&graph, &key, how).unwrap();
    assert_eq!(schedule.kernels.len(), 1);
    let carries = |stage: &Stage| match &stage.body {
        Body::Reduce { carries, .. } => Some(carries.len()),
        _ => None,
    };
    schedule.kernels[0].stages.iter().filter_map(carries).collect()
}

#[test]
fn deviations_are_summed_where_that_hides_behind_memory() {
    let x = random(&[8, 64], 3);
    assert_eq!(running_values(&x, 8 * 64 * 4), [1, 1]);
    assert_eq!(running_values(&x, 8 * 64 * 4 - 1), [1, 2]);
}
