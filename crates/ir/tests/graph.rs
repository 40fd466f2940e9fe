//! Nodes, thunks, walks, keys, text and values of the tensor graph.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use support::{Memory, leaf, memory, numbers, shape, value};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::buffer::HostBuffer;
use svod_ir::graph::key::GraphKey;
use svod_ir::graph::outline::{Outline, Replacements, Role};
use svod_ir::graph::unshare::Unshared;
use svod_ir::graph::verify::{Phase, verify};
use svod_ir::graph::*;
use svod_ir::kernel::Monoid;
use svod_ir::size::{Size, Variable};

fn add(a: &UOp, b: &UOp) -> UOp {
    UOp::alu(Alu::Add, &[a.clone(), b.clone()]).unwrap()
}

fn mul(a: &UOp, b: &UOp) -> UOp {
    UOp::alu(Alu::Mul, &[a.clone(), b.clone()]).unwrap()
}

#[test]
fn a_structure_is_of_operations_sizes_names_and_runs_but_of_no_memory() {
    let of = |node: &UOp| Structure::of(&Graph::new(std::slice::from_ref(node)));
    let (a, b, longer) = (numbers(&[4]), numbers(&[4]), numbers(&[5]));
    let (x, y) = (add(&a, &a), add(&b, &b));
    assert!(of(&x).is_some());
    assert_eq!(of(&x), of(&y));
    for other in [mul(&a, &a), add(&a, &b), add(&longer, &longer), add(&x, &a)] {
        assert_ne!(of(&x), of(&other));
    }
    let named = Named::new(y.clone());
    assert_ne!(of(&x), of(&y));
    drop(named);
    assert_eq!(of(&x), of(&y));
    y.note_run();
    assert_ne!(of(&x), of(&y));
    let awaited = Memory { class: LeafClass::Awaited, ..memory(HostBuffer::from_i64(DType::F32, 0..4)) };
    let awaited = UOp::leaf(Leaf::new(Arc::new(awaited), 0, DType::F32, shape(&[4]))).unwrap();
    assert_eq!(of(&add(&awaited, &awaited)), None);
}

#[test]
fn equal_expressions_are_one_node() {
    let (x, y) = (numbers(&[4]), numbers(&[4]));
    assert_ne!(x, y);
    assert_eq!(add(&x, &y), add(&x, &y));
    assert_ne!(add(&x, &y), add(&y, &x));
    let id = add(&x, &y).id();
    assert_ne!(add(&x, &y).id(), id, "the node was dropped, and ids are never used again");
    let constant = |v| UOp::constant(Const::f64(DType::F32, v)).unwrap();
    assert_ne!(constant(0.0), constant(-0.0));
    assert_eq!(constant(f64::NAN), constant(f64::NAN));
}

#[test]
fn a_chain_of_a_million_nodes_builds_walks_and_drops() {
    let x = numbers(&[2]);
    let mut y = x.clone();
    for _ in 0..1_000_000 {
        y = add(&y, &x);
    }
    assert_eq!(walk::count(&[y.clone()]), 1_000_001);
    let other = y.clone();
    let handle = thread::spawn(move || drop(other));
    drop(y);
    handle.join().unwrap();
    assert_eq!(walk::count(&[x]), 1);
}

#[test]
fn shared_graphs_drop_from_several_threads() {
    let x = numbers(&[3]);
    let mut y = x.clone();
    let mut handles = Vec::new();
    for _ in 0..20_000 {
        y = add(&y, &y);
        handles.push(y.clone());
    }
    thread::scope(|s| {
        for part in handles.chunks(5_000) {
            let part = part.to_vec();
            s.spawn(move || part.into_iter().rev().for_each(drop));
        }
        handles = Vec::new();
        drop(y);
    });
    assert_eq!(walk::count(&[x]), 1);
}

#[test]
fn threads_agree_on_nodes() {
    let x = numbers(&[5]);
    let build = |x: UOp| (0..1000).fold(x.clone(), |y, i| if i % 3 == 0 { add(&y, &y) } else { mul(&y, &x) });
    let built: Vec<UOp> = thread::scope(|s| {
        let threads: Vec<_> = (0..4).map(|_| s.spawn(|| build(x.clone()))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(built.iter().all(|b| *b == built[0]));
}

#[test]
fn a_forced_node_drops_its_history() {
    let x = numbers(&[4]);
    let y = add(&x, &x);
    let z = mul(&y, &x);
    let before = y.sources()[0].id();
    assert_eq!(before, x.id());
    let data = numbers(&[4]);
    assert_eq!(y.force(data.clone()).unwrap(), data);
    assert!(matches!(y.state(), Thunk::Forced(leaf) if leaf == data));
    assert!(y.sources().is_empty());
    assert_eq!(z.sources()[0], data);
    assert_ne!(add(&x, &x), y, "an equal expression is a new one");
    assert_eq!(mul(&y, &x), mul(&data, &x), "what is built on it is built on the leaf");
    assert_eq!(walk::count(&[z]), 3);
    assert_eq!(y.force(numbers(&[4])).unwrap(), data, "the first value stays");
    assert!(x.force(y.clone()).unwrap() == x, "a leaf is its own value");
    let w = add(&x, &data);
    assert!(w.force(add(&x, &x)).unwrap_err().to_string().contains("neither memory nor constant"));
    assert!(w.force(numbers(&[5])).unwrap_err().to_string().contains("another type or shape"));
    let claim = w.claim(&|| false);
    assert!(matches!(claim, Claimed::Mine(_)), "released by the errors");
    assert!(
        matches!(w.claim(&|| false), Claimed::Held) && w.force(w.clone()).is_err(),
        "a thread does not wait for itself"
    );
    drop(claim);
}

#[test]
fn one_thread_forces_and_others_wait() {
    let x = numbers(&[4]);
    let y = add(&x, &x);
    // Error or panic releases.
    let panicked = thread::scope(|s| {
        s.spawn(|| {
            let _claim = y.claim(&|| false);
            std::panic::resume_unwind(Box::new("while computing"));
        })
        .join()
    });
    assert!(panicked.is_err());
    let computed = AtomicUsize::new(0);
    let leaves: Vec<UOp> = thread::scope(|s| {
        let force = || {
            let mut claimed = UOp::claim_all(&[y.clone(), x.clone(), y.clone()], &|| false);
            assert_eq!(claimed.len(), 2);
            let (_, of_y) = claimed.remove(1);
            match of_y {
                Claimed::Done(leaf) => leaf,
                Claimed::Mine(claim) => {
                    computed.fetch_add(1, Ordering::Relaxed);
                    let data = numbers(&[4]);
                    claim.force(data.clone()).unwrap();
                    data
                }
                other => panic!("each thread claims once, and is not stopped: {other:?}"),
            }
        };
        let threads: Vec<_> = (0..4).map(|_| s.spawn(force)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(computed.into_inner(), 1);
    assert!(leaves.iter().all(|l| *l == leaves[0]));
}

#[test]
fn rules_reject_what_does_not_fit() {
    let x = numbers(&[2, 3]);
    let n = Size::from(Variable::new("n", 1, 8).unwrap());
    let message = |r: Result<UOp, GraphError>| r.unwrap_err().to_string();
    let i = UOp::range(2).unwrap();
    assert_eq!(message(x.reshape(shape(&[5]))), "reshape of float32[2, 3]: 6 elements do not fit [5] of 5");
    assert_eq!(message(x.permute(&[0, 0])), "permute of float32[2, 3]: axis 0 is out of range or repeated (rank 2)");
    assert_eq!(
        message(UOp::alu(Alu::Add, &[x.clone(), i.clone()])),
        "add of float32[2, 3], int64[2]: expected operands of one type"
    );
    assert!(message(UOp::alu(Alu::Add, std::slice::from_ref(&x))).ends_with("expected 2 operands"));
    assert!(message(UOp::alu(Alu::Add, &[x.clone(), numbers(&[3, 2])])).ends_with("must have equal shapes"));
    assert!(message(x.expand(shape(&[2, 4]))).ends_with("extent 3 cannot become 4; only 1 expands"));
    assert!(message(x.expand(vec![n.clone(), 3.into()])).contains("cannot become n"));
    assert!(message(x.shrink(vec![(0.into(), n.clone()), (0.into(), 3.into())])).contains("may be outside"));
    assert!(message(x.window(1, 2, 1, 3)).ends_with("over 4 elements is or may be larger than extent 3 of axis 1"));
    assert!(message(x.window(1, n.clone(), 1, 1)).contains("may be larger than extent 3"));
    assert!(message(x.window(1, 2, 0, 1)).ends_with("stride 0 and dilation 1 must be at least 1"));
    assert!(message(UOp::range(&n - 4)).contains("may be negative"));
    assert!(message(UOp::range(1i64 << 40).unwrap().expand(shape(&[1 << 40, 1 << 40]))).contains("overflows"));
    assert!(message(x.reduce(Monoid::Any, &[0])).ends_with("expected bools"));
    assert!(message(x.reduce(Monoid::ArgMax, &[0, 1])).ends_with("expected a single axis"));
    assert!(message(x.take(0, &x)).ends_with("expected an integer index"));
    assert!(message(UOp::constant(Const::i64(DType::Index, 1))).contains("not index"));
    let gpu = x.copy_to(&Device::new("CUDA")).unwrap();
    assert!(message(UOp::alu(Alu::Add, &[x.clone(), gpu])).contains("are on CPU and CUDA"));
}

#[test]
fn e2_values() {
    let x = numbers(&[2, 3]);
    let f64s = |u: &UOp| value(u, &[]).data.to_f64();
    assert_eq!(f64s(&x.permute(&[1, 0]).unwrap()), [0., 3., 1., 4., 2., 5.]);
    assert_eq!(f64s(&x.flip(&[1]).unwrap()), [2., 1., 0., 5., 4., 3.]);
    assert_eq!(f64s(&x.reduce(Monoid::Sum, &[1]).unwrap()), [3., 12.]);
    assert_eq!(f64s(&x.reduce(Monoid::Max, &[0, 1]).unwrap()), [5.]);
    assert_eq!(f64s(&x.reduce(Monoid::ArgMax, &[1]).unwrap()), [2., 2.]);
    assert_eq!(f64s(&x.scan(Monoid::Sum, 1, true).unwrap()), [0., 1., 3., 3., 7., 12.]);
    assert_eq!(f64s(&x.scan(Monoid::Prod, 0, false).unwrap()), [1., 1., 1., 0., 1., 2.]);
    let one = (Size::ONE, Size::ZERO);
    let nine = Const::f64(DType::F32, 9.0);
    let padded = x.pad(vec![(Size::ZERO, Size::ZERO), one.clone()], nine).unwrap();
    assert_eq!(f64s(&padded), [9., 0., 1., 2., 9., 3., 4., 5.]);
    assert_eq!(f64s(&x.shrink(vec![(1.into(), 2.into()), (1.into(), 3.into())]).unwrap()), [4., 5.]);
    assert_eq!(f64s(&numbers(&[2, 1]).expand(shape(&[2, 2, 3])).unwrap()).len(), 12);
    let windows = x.window(1, 2, 1, 1).unwrap();
    assert_eq!(windows.shape(), [2.into(), 2.into(), 2.into()]);
    assert_eq!(f64s(&windows), [0., 1., 1., 2., 3., 4., 4., 5.]);
    assert_eq!(f64s(&x.window(1, 2, 1, 2).unwrap()), [0., 2., 3., 5.]);
    assert_eq!(f64s(&x.window(1, 1, 2, 1).unwrap()), [0., 2., 3., 5.]);
    let index = leaf(HostBuffer::from_i64(DType::I64, [2, 7, 0, -1]), &[2, 2]);
    assert_eq!(f64s(&x.take(1, &index).unwrap()), [2., 0., 0., 0., 5., 0., 3., 0.]);
    assert_eq!(f64s(&x.gather(1, &index).unwrap()), [2., 0., 3., 0.]);
    let ones = UOp::full(Const::one(DType::F32), &shape(&[2, 2])).unwrap();
    assert_eq!(f64s(&x.scatter(1, &index, &ones, Some(Monoid::Sum)).unwrap()), [0., 1., 3., 4., 4., 5.]);
    assert_eq!(f64s(&x.scatter(1, &index, &ones, None).unwrap()), [0., 1., 1., 1., 4., 5.]);
    let scalar = |v| UOp::constant(Const::from_bits(DType::U64, v)).unwrap();
    let bits = UOp::rand(&scalar(3), &scalar(u64::from(u32::MAX)), shape(&[2])).unwrap();
    let stream = |i| f64::from(random_bits(3, u64::from(u32::MAX) + i));
    assert_eq!(f64s(&bits), [stream(0), stream(1)]);
    let nan = leaf(HostBuffer::from_f64(DType::F32, [1., f64::NAN, 3., f64::NAN]), &[4]);
    assert_eq!(f64s(&nan.reduce(Monoid::ArgMin, &[0]).unwrap()), [1.]);
}

#[test]
fn e6_symbolic_sizes_take_the_values_bound() {
    let n = Variable::new("n", 1, 8).unwrap();
    let bound = UOp::bind(n.bind(3).unwrap()).unwrap();
    let x = UOp::range(&n).unwrap();
    let y = add(&x, &bound.expand(x.shape_arc().clone()).unwrap());
    assert_eq!(value(&y, &[]).data.to_i64(), [3, 4, 5]);
    assert_eq!(value(&y, &[n.bind(2).unwrap()]).data.to_i64(), [2, 3]);
}

#[test]
fn the_text_is_the_same_for_equal_structures() {
    let text = |x: UOp| {
        let y = x.permute(&[1, 0]).unwrap().reduce(Monoid::Sum, &[0]).unwrap();
        let half = UOp::full(Const::f64(DType::F32, 0.5), y.shape_arc()).unwrap();
        let z = mul(&y, &half);
        z.set_origin(&Origin::new("a.py", 3));
        z.set_origin(&Origin::new("b.py", 4));
        verify(&Graph::new(std::slice::from_ref(&z)), Phase::Simplified).unwrap();
        print::print(&[z, y])
    };
    let first = text(numbers(&[2, 3]));
    assert_eq!(
        first,
        "%0: f32[2, 3] = leaf data storage=0 offset=0 device=\"CPU\"\n\
         %1: f32[3, 2] = permute %0 axes=[1, 0]\n\
         %2: f32[2] = reduce %1 by=sum axes=[0]\n\
         %3: f32[] = const value=f32(0.5)\n\
         %4: f32[2] = expand %3 shape=[2]\n\
         %5: f32[2] = mul %2, %4  # a.py:3\n\
         return %5, %2\n"
    );
    assert_eq!(first, text(numbers(&[2, 3])));
}

#[test]
fn keys_keep_structure_and_leave_out_identity() {
    let key = |roots: &[UOp]| GraphKey::new(&Graph::new(roots)).unwrap();
    let sum = |a: &UOp, b: &UOp| key(&[add(a, b)]);
    let (a, b, c) = (numbers(&[4]), numbers(&[4]), numbers(&[4]));
    assert_eq!(sum(&a, &b).hash, sum(&b, &c).hash);
    assert_ne!(sum(&a, &b).hash, sum(&a, &a).hash);
    assert_ne!(sum(&a, &b).hash, sum(&numbers(&[5]), &numbers(&[5])).hash);
    let leaves = sum(&a, &b).leaves;
    assert_eq!(leaves.len(), 2);
    assert!(matches!(a.op(), Op::Leaf(l) if *l == leaves[0]));

    let shared: Arc<Memory> = Arc::new(memory(HostBuffer::zeros(DType::F32, 100)));
    let part = |offset| UOp::leaf(Leaf::new(shared.clone(), offset, DType::F32, shape(&[4]))).unwrap();
    assert_ne!(sum(&part(0), &part(16)).hash, sum(&a, &b).hash, "one storage is not two");
    assert_ne!(sum(&part(0), &part(16)).hash, sum(&part(0), &part(8)).hash, "nor does it overlap alike");
    assert_eq!(sum(&part(64), &part(80)).hash, sum(&part(0), &part(16)).hash);
    let input = Memory { class: LeafClass::Input(0), ..memory(HostBuffer::zeros(DType::F32, 4)) };
    let input = UOp::leaf(Leaf::new(Arc::new(input), 0, DType::F32, shape(&[4]))).unwrap();
    assert_ne!(sum(&input, &b).hash, sum(&a, &b).hash);

    let n = Variable::new("n", 1, 8).unwrap();
    let bind = |v: &Variable, value| UOp::bind(v.bind(value).unwrap()).unwrap();
    assert_eq!(key(&[bind(&n, 3)]).hash, key(&[bind(&n, 4)]).hash);
    assert_eq!(key(&[bind(&n, 4)]).bindings, [n.bind(4).unwrap()]);
    assert_ne!(key(&[bind(&n, 3)]).hash, key(&[bind(&Variable::new("n", 1, 9).unwrap(), 3)]).hash);
    let conflict = GraphKey::new(&Graph::new(&[bind(&n, 3), bind(&n, 4)])).unwrap_err();
    assert_eq!(conflict.to_string(), "bind mismatch: n=3 and n=4 in one graph");
}

#[test]
fn e2_the_text_parses_back_to_the_same_nodes() {
    let n = Variable::new("n", 1, 8).unwrap();
    let x = numbers(&[2, 3]);
    let rows = UOp::range(&n).unwrap();
    let one = (Size::ONE, Size::from(&n) * 2 - 1);
    let padded = x.pad(vec![one, (Size::ZERO, Size::ZERO)], Const::f64(DType::F32, f64::NAN)).unwrap();
    let index = leaf(HostBuffer::from_i64(DType::I64, [0, 1]), &[2]);
    let there = x.copy_to(&Device::new("GPU:/a \"b\"\\c")).unwrap();
    let roots = [
        x.permute(&[1, 0]).unwrap().reduce(Monoid::Sum, &[0]).unwrap(),
        rows.with_values(&[n.bind(3).unwrap()]).unwrap(),
        UOp::bind(n.bind(2).unwrap()).unwrap(),
        UOp::size(Size::from(&n).floordiv(2) + 1).unwrap(),
        padded,
        x.take(1, &index).unwrap(),
        x.scan(Monoid::Max, 0, false).unwrap().flip(&[1]).unwrap(),
        x.window(1, 2, 1, 1).unwrap(),
        UOp::range(Size::from(&n) - 1).unwrap().non_empty(Monoid::Max, &[0]).unwrap(),
        there,
        x.clone(),
    ];
    let graph = Graph::new(&roots);
    let leaves = GraphKey::new(&Graph::new(&roots[..1])).unwrap().leaves;
    let all: Vec<Leaf> = graph.nodes().iter().filter_map(|node| node.op().leaf().cloned()).collect();
    let parsed = Graph::parse(&graph.to_string(), &mut Given { leaves: &all, ..Given::default() }).unwrap();
    assert_eq!(parsed.nodes(), graph.nodes(), "{graph}");
    assert_eq!(parsed.roots(), graph.roots());
    let without = Graph::parse(&graph.to_string(), &mut Declared::default()).unwrap();
    assert_eq!(without.to_string(), graph.to_string());
    let too_few = Graph::parse(&graph.to_string(), &mut Given { leaves: &leaves, ..Given::default() }).unwrap_err();
    assert!(too_few.message.contains("only 1 leaves"), "{too_few}");
}

#[test]
fn e2_texts_that_are_no_graph_say_where() {
    let leaf = "%0: f32[4] = leaf data storage=0 offset=0 device=\"CPU\"\n";
    let message =
        |rest: &str| Graph::parse(&format!("{leaf}{rest}"), &mut Declared::default()).unwrap_err().to_string();
    assert_eq!(message("%2: f32[4] = exp %0\nreturn %1\n"), "2:2: nodes are numbered in order: expected %1");
    assert_eq!(message("%1: f32[4] = sine %0\nreturn %1\n"), "2:14: no operation is named 'sine'");
    assert_eq!(message("%1: f32[5] = exp %0\nreturn %1\n"), "2:14: it is f32[4], not f32[5]");
    assert_eq!(message("%1: f32[4] = exp %7\nreturn %1\n"), "2:19: %7 is not defined before");
    assert_eq!(message("%1: f32[m] = exp %0\nreturn %1\n").split(": ").next(), Some("2:9"));
    assert_eq!(message("%1: f32[] = reduce %0 by=add axes=[0]\nreturn %1\n"), "2:26: no monoid is named 'add'");
    assert!(
        message("%1: f32[] = reduce %0 by=sum axes=[3]\nreturn %1\n").starts_with("2:13: reduce of float32[4]: axis 3")
    );
    assert_eq!(message("%1: f32[4] = exp %0\n"), "3:1: expected 'return'");
}

/// A graph of some twenty random nodes over random operands; what the table rejects is left out.
fn random_graph(seed: u64) -> Graph {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut below = move |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % n
    };
    let n = Variable::new("n", 1, 5).unwrap();
    let mut nodes = vec![
        numbers(&[2, 3]),
        numbers(&[3]),
        leaf(HostBuffer::from_i64(DType::I64, [0, 1, 1]), &[3]),
        UOp::range(&n).unwrap(),
        UOp::bind(n.bind(2).unwrap()).unwrap(),
    ];
    while nodes.len() < 24 {
        let a = nodes[below(nodes.len())].clone();
        let b = nodes[below(nodes.len())].clone();
        let axis = below(2);
        let pair = (Size::from(below(2)), Size::from(below(3)));
        let pairs = vec![pair; a.rank()];
        let monoid = Monoid::ALL[below(Monoid::ALL.len())];
        let made = match below(16) {
            0 => UOp::alu(Alu::Add, &[a, b]),
            1 => UOp::alu(Alu::Lt, &[a, b]),
            2 => UOp::alu(Alu::Exp, &[a]),
            3 => a.cast(DType::ALL[below(DType::ALL.len())]),
            4 => a.reduce(monoid, &[axis]),
            5 => a.scan(monoid, axis, below(2) == 0),
            6 => a.pad(pairs, Const::i64(a.dtype(), -1)),
            7 => a.shrink(pairs),
            8 => a.flip(&[axis]),
            9 => a.permute(&[1, 0]),
            10 => a.expand(vec![Size::from(&n) + below(2), 2.into(), 3.into()]),
            11 => a.take(axis, &b),
            12 => a.gather(axis, &b),
            13 => a.sort(axis, below(2) == 0, 1 + below(3)),
            14 => a.window(axis, Size::from(1 + below(2)), 1, 1),
            _ => a.with_values(&[n.bind(2).unwrap()]),
        };
        nodes.push(match made {
            Ok(node) => node,
            Err(_) => nodes[below(5)].clone(),
        });
    }
    Graph::new(&nodes[nodes.len() - 8..])
}

#[test]
fn e2_random_graphs_parse_back_to_the_same_nodes() {
    for seed in 1..300 {
        let graph = random_graph(seed);
        let leaves: Vec<Leaf> = graph.nodes().iter().filter_map(|node| node.op().leaf().cloned()).collect();
        let parsed = Graph::parse(&graph.to_string(), &mut Given { leaves: &leaves, ..Given::default() })
            .unwrap_or_else(|e| panic!("{e}\n{graph}"));
        assert_eq!((parsed.nodes(), parsed.roots()), (graph.nodes(), graph.roots()), "{graph}");
    }
}

/// A function of the host that gives what it is given.
struct Same;

impl HostFunction for Same {
    fn name(&self) -> &str {
        "<lambda>"
    }

    fn infer(&self, operands: &[(DType, &[Size])]) -> Result<Vec<(DType, Shape)>, String> {
        Ok(operands.iter().map(|(dtype, shape)| (*dtype, (*shape).into())).collect())
    }
}

/// What a value of two numbers becomes in a loop, in whose body another loop is around a function.
fn loops() -> Vec<UOp> {
    let param = |value: &UOp, slot: u32| {
        let none = memory(HostBuffer::from_i64(value.dtype(), []));
        let data = Arc::new(Memory { class: LeafClass::Input(slot), ..none });
        Ok::<Leaf, Box<dyn std::error::Error>>(Leaf::new(data, 0, value.dtype(), value.shape().into()))
    };
    let x = numbers(&[2]);
    let (outer, inner) = (Variable::new("i", 1, 3).unwrap(), Variable::new("j", 0, 4).unwrap());
    let (carried, other) = (param(&x, 0).unwrap(), param(&x, 0).unwrap());
    let (a, b) = (UOp::leaf(carried.clone()).unwrap(), UOp::leaf(other.clone()).unwrap());
    let number = UOp::size(Size::from(&outer) * &Size::from(&inner)).unwrap();
    let number = number.cast(DType::F32).unwrap().expand(shape(&[2])).unwrap();
    let called = UOp::host(Arc::new(Same), &[UOp::alu(Alu::Add, &[b, number]).unwrap()]).unwrap();
    let within = UOp::iterate(&inner, &[a], vec![other], &called, &mut |n, slot| param(n, slot)).unwrap();
    let results = UOp::iterate(&outer, &[x], vec![carried], &within, &mut |n, slot| param(n, slot)).unwrap();
    let again = UOp::host(Arc::new(Same), &[results[0].clone(), results[0].clone()]).unwrap();
    [results, again].concat()
}

#[test]
fn e2_loops_and_functions_parse_back() {
    let graph = Graph::new(&loops());
    let text = graph.to_string();
    let leaves: Vec<Leaf> = graph.nodes().iter().filter_map(|node| node.op().leaf().cloned()).collect();
    let functions = graph.functions();
    let names: Vec<&str> = functions.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["<lambda>", "<lambda>#2"]);
    let parsed = Graph::parse(&text, &mut Given { leaves: &leaves, functions: &functions }).unwrap();
    assert_eq!((parsed.nodes(), parsed.roots()), (graph.nodes(), graph.roots()), "{text}");
    let without = Graph::parse(&text, &mut Declared::default()).unwrap();
    assert_eq!(Graph::parse(&without.to_string(), &mut Declared::default()).unwrap().len(), graph.len());
    let unknown = Graph::parse(&text, &mut Given { leaves: &leaves, ..Given::default() }).unwrap_err();
    assert!(unknown.message.contains("no function is named '<lambda>"), "{unknown}");
    for (from, to, message) in [
        ("body=b0 for", "body=b7 for", "bodies of loops are numbered in order: expected b0"),
        ("body=b1 for", "body=b0 for", "the body of b0 is still open"),
        ("parameter", "leaf", "expected data, borrowed"),
        ("results=[f32[2]]", "results=[]", "axis 0 is out of range"),
    ] {
        assert!(text.contains(from), "{text}");
        let error = Graph::parse(&text.replace(from, to), &mut Declared::default()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let deep = "%0: f32[] = loop output=0 body=b0 for i = 0..=1 {".repeat(1000);
    assert!(Graph::parse(&deep, &mut Declared::default()).is_err());
}

/// `(x * a)[from .. from + count] + b` of a new leaf.
fn scaled_part(n: i64, a: f64, b: f64, from: i64, count: i64) -> Graph {
    let x = numbers(&[n]);
    let full = |v: f64, n: i64| UOp::full(Const::f64(DType::F32, v), &shape(&[n])).unwrap();
    let part = mul(&x, &full(a, n)).shrink([(Size::from(from), Size::from(from + count))]).unwrap();
    Graph::new(&[add(&part, &full(b, count))])
}

#[test]
fn an_outline_leaves_numbers_out() {
    let one = Outline::new(&scaled_part(9, 3.5, 4.5, 2, 4));
    assert_eq!(one.constants.iter().map(|c| c.value.as_f64()).collect::<Vec<_>>(), [3.5, 4.5]);
    let sizes: Vec<(Role, i64)> = one.sizes.iter().map(|s| (s.role, s.value)).collect();
    assert_eq!(sizes, [(Role::Extent, 9), (Role::Start, 2), (Role::Extent, 4)]);
    for same in [(9, 3.5, 3.5, 2, 4), (9, 0.0, 1.0, 0, 4), (12, 3.5, 4.5, 2, 7)] {
        let (n, a, b, from, count) = same;
        assert_eq!(Outline::new(&scaled_part(n, a, b, from, count)).hash, one.hash, "{same:?}");
    }
    for other in [(9, f64::INFINITY, 4.5, 2, 4), (9, 3.5, f64::NAN, 2, 4), (9, 3.5, 4.5, 2, 1), (9, 3.5, 4.5, 0, 9)] {
        let (n, a, b, from, count) = other;
        assert_ne!(Outline::new(&scaled_part(n, a, b, from, count)).hash, one.hash, "{other:?}");
    }
}

#[test]
fn numbers_of_an_outline_are_replaced() {
    let graph = scaled_part(9, 3.5, 4.5, 2, 4);
    let outline = Outline::new(&graph);
    let kept = Replacements { constants: &[None, None], sizes: &[None, None, None] };
    assert_eq!(outline.replace(&graph, &kept).unwrap(), graph.nodes());
    let at = Size::from(Variable::new("at", 0, 5).unwrap());
    let scale = numbers(&[]);
    let by = Replacements { constants: &[Some(scale), None], sizes: &[None, Some(at.clone()), None] };
    let nodes = outline.replace(&graph, &by).unwrap();
    let shrunk = nodes.iter().find(|n| matches!(n.op(), Op::Shrink(_))).unwrap();
    assert_eq!(*shrunk.op(), Op::Shrink(vec![(at.clone(), &at + 4)].into()));
    let key = GraphKey::new(&Graph::new(&nodes[nodes.len() - 1..])).unwrap();
    assert_eq!((key.leaves.len(), key.variables.len()), (2, 1));
    // A part that may be outside.
    let far = Size::from(Variable::new("far", 0, 6).unwrap());
    let by = Replacements { constants: &[None, None], sizes: &[None, Some(far), None] };
    assert!(outline.replace(&graph, &by).is_err());
}

#[test]
fn fills_taps_and_folded_constants_are_numbers() {
    let x = numbers(&[9]);
    let number = |v: f64| Const::f64(DType::F32, v);
    let padded = |fill: f64, taps: i64, folded: f64| {
        let pad = x.pad([(Size::from(1), Size::from(2))], number(fill)).unwrap();
        let total = UOp::full(number(folded), &shape(&[4])).unwrap().reduce(Monoid::Sum, &[0]).unwrap();
        Graph::new(&[pad.window(0, taps, 1, 1).unwrap(), total])
    };
    let graph = padded(3.5, 4, 7.5);
    let one = Outline::new(&graph);
    assert_eq!(one.constants.iter().map(|c| (c.operand, c.value.as_f64())).collect::<Vec<_>>(), [(1, 3.5), (0, 7.5)]);
    assert!(one.sizes.iter().any(|s| (s.role, s.value) == (Role::Taps, 4)));
    assert_eq!(Outline::new(&padded(-2.5, 6, 1.0)).hash, one.hash);
    for other in [padded(0.0, 4, 7.5), padded(f64::NEG_INFINITY, 4, 7.5), padded(3.5, 1, 7.5)] {
        assert_ne!(Outline::new(&other).hash, one.hash);
    }
    let none = vec![None; one.sizes.len()];
    let by = Replacements { constants: &[Some(numbers(&[])), Some(numbers(&[]))], sizes: &none };
    let nodes = one.replace(&graph, &by).unwrap();
    let roots: Vec<UOp> = graph.roots().iter().map(|root| nodes[*root as usize].clone()).collect();
    let replaced = Graph::new(&roots);
    assert_eq!(GraphKey::new(&replaced).unwrap().leaves.len(), 3);
    // What is added is chosen by a mask, whose own fill is structure.
    let pads: Vec<&Op> = replaced.nodes().iter().map(UOp::op).filter(|op| matches!(op, Op::Pad(..))).collect();
    assert_eq!(pads.len(), 2);
    assert!(pads.iter().all(|op| matches!(op, Op::Pad(_, fill) if *fill == Const::zero(fill.dtype()))));
}

#[test]
fn what_is_read_elsewhere_is_known_by_its_handles() {
    let x = numbers(&[9]);
    let squared = mul(&x, &x);
    let (id, roots) = (squared.id(), [add(&squared, &mul(&add(&x, &x), &squared))]);
    let found = || {
        let graph = Graph::new(&roots);
        let at = graph.nodes().iter().position(|node| node.id() == id).unwrap();
        (graph.read_elsewhere()[at], graph.nodes()[at].clone())
    };
    // The handle here is one more.
    assert!(found().0);
    drop(squared);
    assert!(!found().0);
    let other = add(&found().1, &x);
    assert!(found().0);
    drop(other);
    let named = Named::new(found().1);
    assert!(!found().0 && named.is_named());
}

#[test]
fn reshapes_and_expansions_follow_their_operands() {
    let x = numbers(&[4, 6, 1]);
    let flat = x.reshape(shape(&[24])).unwrap();
    let parts = x.expand(shape(&[3, 4, 6, 5])).unwrap();
    let values = |roots: &[UOp]| Outline::new(&Graph::new(roots)).sizes.iter().map(|s| s.value).collect::<Vec<_>>();
    assert_eq!(values(&[flat]), [4, 6]);
    assert_eq!(values(&[parts]), [4, 6, 3, 5]);
    assert_eq!(values(&[x.reshape(shape(&[2, 2, 6])).unwrap()]), [4, 6, 2, 2]);
}

/// A sum of `step(x == a)` over some numbers.
fn hits(x: &UOp, numbers: &[f64]) -> Graph {
    let full = |v: f64| UOp::full(Const::f64(DType::F32, v), x.shape_arc()).unwrap();
    let hit = |v: &f64| {
        UOp::alu(Alu::Where, &[UOp::alu(Alu::Eq, &[x.clone(), full(*v)]).unwrap(), full(7.5), full(9.5)]).unwrap()
    };
    let sum = |so_far: UOp, v: &f64| add(&mul(&so_far, &so_far), &hit(v));
    Graph::new(&[numbers.iter().fold(mul(x, x), sum)])
}

#[test]
fn numbers_that_are_equal_by_accident_make_no_other_outline() {
    let x = numbers(&[9]);
    let of = |numbers: &[f64]| {
        let graph = hits(&x, numbers);
        let unshared = Unshared::new(&graph);
        let outline = Outline::new(unshared.graph());
        let same = |at: usize| unshared.graph().nodes()[at] == graph.nodes()[unshared.original(at as u32) as usize];
        assert!((0..unshared.graph().len()).all(same));
        let kept =
            Replacements { constants: &vec![None; outline.constants.len()], sizes: &vec![None; outline.sizes.len()] };
        let nodes = outline.replace(unshared.graph(), &kept).unwrap();
        assert_eq!(nodes[unshared.graph().roots()[0] as usize], graph.nodes()[graph.roots()[0] as usize]);
        (outline.hash, outline.constants.iter().map(|c| c.value.as_f64()).filter(|v| *v < 7.0).collect::<Vec<_>>())
    };
    let (hash, values) = of(&[1.5, 2.5, 3.5, 4.5]);
    assert_eq!(values, [1.5, 2.5, 3.5, 4.5]);
    for other in [[1.5, 2.5, 1.5, 2.5], [1.5, 1.5, 1.5, 2.5], [2.5, 1.5, 1.5, 1.5]] {
        assert_eq!(of(&other), (hash, other.to_vec()));
    }
    assert_ne!(of(&[1.5, 2.5, 3.5]).0, hash);
}

#[test]
fn what_is_there_once_stays_shared() {
    let x = numbers(&[9]);
    let moved = add(&x, &UOp::full(Const::f64(DType::F32, 1.5), x.shape_arc()).unwrap());
    let graph = Graph::new(&[add(&mul(&moved, &moved), &moved)]);
    assert_eq!(Unshared::new(&graph).graph().len(), graph.len());
}
