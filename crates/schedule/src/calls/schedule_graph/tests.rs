#![allow(clippy::unwrap_used)]

use super::*;
use crate::calls::preschedule::KernelInvocation;
use ScheduleGraphError as E;

/// A graph with kernels `0..kernels`, and a buffer for each.
struct Built {
    graph: ScheduleGraph,
    buffers: Vec<NodeId>,
}

impl Built {
    fn new(kernels: usize) -> Built {
        let mut graph = ScheduleGraph { kernels: vec![Arc::default(); kernels], ..ScheduleGraph::default() };
        let spec = BufferSpec { dtype: DType::F32, shape: vec![Size::from(4)], device: None };
        let buffers = (0..kernels).map(|_| graph.buffer(spec.clone())).collect();
        Built { graph, buffers }
    }

    /// A call of kernel `k`, which reads these values and writes buffer `k`, and that buffer after it.
    fn call(&mut self, k: usize, reads: &[NodeId], ranges: &[NodeId]) -> (NodeId, NodeId) {
        let args = [reads, &[self.buffers[k]]].concat();
        let call = self.graph.call(Item::Kernel(k), args, ranges);
        (call, self.graph.after(self.buffers[k], &[call]))
    }

    fn bound(&mut self, name: &str, bounds: (i64, i64), value: NodeId) -> NodeId {
        let var = Variable::new(name, bounds.0, bounds.1).unwrap();
        self.graph.bind(&var, value)
    }

    fn order(self) -> Vec<usize> {
        kernels(&self.graph.linearize().unwrap())
    }

    fn refused(self) -> E {
        self.graph.linearize().unwrap_err()
    }
}

fn kernels(schedule: &PreSchedule) -> Vec<usize> {
    let kernel = |i: &KernelInvocation| match i.item {
        Item::Kernel(k) => k,
        _ => usize::MAX,
    };
    schedule.invocations.iter().map(kernel).collect()
}

#[test]
fn b3_data_edges_decide_and_ties_go_to_the_earliest() {
    let mut b = Built::new(4);
    let third = b.graph.add(Node::After { value: b.buffers[2], dependencies: vec![] });
    let (first, _) = b.call(0, &[third], &[]);
    let (_, one) = b.call(1, &[], &[]);
    let (second, _) = b.call(2, &[], &[]);
    b.graph.nodes[third.0] = Node::After { value: b.buffers[2], dependencies: vec![second] };
    let zero = b.graph.after(b.buffers[0], &[first]);
    b.call(3, &[zero, one], &[]);
    let schedule = b.graph.linearize().unwrap();
    assert_eq!(kernels(&schedule), [1, 2, 0, 3]);
    assert_eq!(schedule.invocations[3].dependencies, [0, 2]);
}

#[test]
fn b3_in_after_of_x_k_after_of_j_k_runs_after_j() {
    let mut b = Built::new(3);
    let (k, _) = b.call(0, &[], &[]);
    let (j, after_j) = b.call(1, &[], &[]);
    let (x, y) = (b.buffers[2], b.buffers[0]);
    b.graph.after(x, &[k, after_j]);
    // The inner value may be anything.
    let chained = b.graph.after(y, &[j]);
    b.graph.after(x, &[k, chained]);
    b.call(2, &[], &[]);
    let schedule = b.graph.linearize().unwrap();
    assert_eq!(kernels(&schedule), [1, 0, 2]);
    assert_eq!((&schedule.invocations[1].after[..], &schedule.invocations[1].dependencies[..]), (&[0][..], &[][..]));
}

#[test]
fn b3_stores_order_nothing_and_self_edges_are_dropped() {
    let mut b = Built::new(2);
    let (first, _) = b.call(0, &[], &[]);
    let (second, _) = b.call(1, &[], &[]);
    let store = b.graph.add(Node::Store { buffer: b.buffers[1], call: second });
    let stored = b.graph.after(b.buffers[1], &[store]);
    b.graph.after(b.buffers[0], &[first, stored]);
    let own = b.graph.after(b.buffers[0], &[first]);
    b.graph.after(b.buffers[0], &[first, own]);
    b.graph.run_after(first, first);
    assert_eq!(b.order(), [0, 1]);
}

#[test]
fn b3_any_other_kind_of_dependency_is_an_error_that_names_it() {
    let of = |node: &dyn Fn(&mut Built) -> NodeId| {
        let mut b = Built::new(1);
        let (call, _) = b.call(0, &[], &[]);
        let dependency = node(&mut b);
        let at = b.graph.after(b.buffers[0], &[call, dependency]);
        (b.refused(), at.0, dependency.0)
    };
    let (error, node, dependency) = of(&|b| b.buffers[0]);
    assert_eq!(error, E::IllegalDependency { node, dependency, kind: "a buffer" });
    let (error, node, dependency) = of(&|b| b.graph.add(Node::Const(3)));
    assert_eq!(error, E::IllegalDependency { node, dependency, kind: "a constant" });
    let (error, ..) = of(&|b| b.graph.range(0, 1));
    // A loop without calls and end.
    assert!(matches!(error, E::NeverClosed(_)), "{error}");
    fn n() -> Variable {
        Variable::new("n", 1, 8).unwrap()
    }
    type Make = Box<dyn Fn(&mut Built) -> NodeId>;
    let others: [(&str, Make); 7] = [
        ("scratch", Box::new(|b| b.graph.add(Node::Scratch { dtype: DType::F32, count: None }))),
        ("a stack", Box::new(|b| b.graph.add(Node::Stack(b.buffers.clone())))),
        ("a select", Box::new(|b| b.graph.add(Node::Select(b.buffers[0], 0)))),
        ("a variable", Box::new(|b| b.graph.add(Node::DefineVar(n())))),
        ("a bind", Box::new(|b| b.bound("n", (1, 8), b.buffers[0]))),
        ("a buffer", Box::new(|b| b.graph.slot(Slot::Leaf(3)))),
        (
            "a range",
            Box::new(|b| b.graph.add(Node::Range { min: 1.into(), max: Size::from(&n()), kind: RangeKind::User })),
        ),
    ];
    for (expected, node) in others {
        let (error, ..) = of(&*node);
        assert!(matches!(error, E::IllegalDependency { kind, .. } if kind == expected), "{expected}: {error}");
    }
    let (error, node, call) = of(&|_| NodeId(99));
    assert_eq!(error, E::UnknownCall { node, call });
    assert_eq!(error.to_string(), format!("node {node} depends on call 99, which is unknown"));
    let (error, _, store) = of(&|b| b.graph.add(Node::Store { buffer: b.buffers[0], call: NodeId(98) }));
    assert_eq!(error, E::UnknownCall { node: store, call: 98 });
    let (error, node, _) = of(&|b| b.graph.after(NodeId(97), &[]));
    assert!(matches!(error, E::UnknownCall { call: 97, .. }), "{node}: {error}");
}

#[test]
fn b3_what_stands_for_itself_is_an_error() {
    let mut b = Built::new(2);
    let own = b.graph.after(b.buffers[1], &[]);
    b.graph.nodes[own.0] = Node::After { value: own, dependencies: vec![] };
    assert_eq!(b.graph.memory(own), Err(E::OwnMemory { node: own.0 }));
    let stack = b.graph.add(Node::Stack(vec![own]));
    let selected = b.graph.add(Node::Select(stack, 0));
    b.graph.nodes[own.0] = Node::After { value: selected, dependencies: vec![] };
    assert!(matches!(b.graph.memory(selected), Err(E::OwnMemory { .. })));
    b.call(0, &[own], &[]);
    assert!(matches!(b.refused(), E::OwnMemory { .. }));
}

#[test]
fn b3_a_cycle_names_its_calls() {
    let mut b = Built::new(3);
    b.call(2, &[], &[]);
    let later = b.graph.after(b.buffers[1], &[]);
    let (first, zero) = b.call(0, &[later], &[]);
    let (second, _) = b.call(1, &[zero], &[]);
    b.graph.nodes[later.0] = Node::After { value: b.buffers[1], dependencies: vec![second] };
    assert_eq!(b.refused(), E::Cycle(vec![first.0, second.0]));
}

/// A loop of two kernels, the second of which reads what the first writes.
fn looped(min: i64, max: i64) -> (Built, NodeId, [NodeId; 2]) {
    let mut b = Built::new(4);
    let range = b.graph.range(min, max);
    let i = b.bound("i", (0, 9), range);
    let (first, zero) = b.call(0, &[i], &[range]);
    let (second, _) = b.call(1, &[zero], &[range]);
    (b, range, [first, second])
}

#[test]
fn b4_each_iteration_runs_all_kernels_in_order_and_bounds_are_inclusive() {
    let (mut b, range, [_, second]) = looped(2, 4);
    let end = b.graph.end(second, range);
    let done = b.graph.after(b.buffers[1], &[end]);
    b.call(2, &[done], &[]);
    let schedule = b.graph.linearize().unwrap();
    assert_eq!(kernels(&schedule), [0, 1, 0, 1, 0, 1, 2]);
    let fixed: Vec<&[(String, i64)]> = schedule.invocations.iter().map(|i| &i.fixed[..]).collect();
    assert_eq!(fixed[0], [("i".to_owned(), 2)]);
    assert_eq!(fixed[4], [("i".to_owned(), 4)]);
    assert!(fixed[1].is_empty() && fixed[6].is_empty());
    let calls: Vec<usize> = schedule.invocations.iter().map(|i| i.call).collect();
    assert_eq!(calls, [0, 1, 0, 1, 0, 1, 2]);
    assert_eq!(schedule.invocations[6].dependencies, [1]);
    assert_eq!(schedule.invocations[0].args, schedule.invocations[2].args, "the same buffers");
}

#[test]
fn b4_what_follows_a_call_inside_comes_after_the_loop_and_what_it_follows_before() {
    let (mut b, range, [first, second]) = looped(0, 1);
    b.graph.end(first, range);
    b.graph.end(second, range);
    // Reads a result of the loop, without waiting for its end.
    let inside = b.graph.after(b.buffers[0], &[first]);
    b.call(2, &[inside], &[]);
    let (outside, _) = b.call(3, &[], &[]);
    b.graph.run_after(second, outside);
    assert_eq!(b.order(), [3, 0, 1, 0, 1, 2]);
}

#[test]
fn b4_loops_nest() {
    let mut b = Built::new(3);
    let (outer, inner) = (b.graph.range(0, 1), b.graph.range(5, 6));
    let (i, j) = (b.bound("i", (0, 9), outer), b.bound("j", (0, 9), inner));
    let (first, zero) = b.call(0, &[i], &[outer]);
    let (second, one) = b.call(1, &[zero, i, j], &[outer, inner]);
    let ended = b.graph.end(second, inner);
    let done = b.graph.after(one, &[ended]);
    let (third, _) = b.call(2, &[done], &[outer]);
    b.graph.end(first, outer);
    b.graph.end(third, outer);
    let schedule = b.graph.linearize().unwrap();
    assert_eq!(kernels(&schedule), [0, 1, 1, 2, 0, 1, 1, 2]);
    let values: Vec<i64> = schedule.invocations.iter().flat_map(|i| i.fixed.iter().map(|(_, v)| *v)).collect();
    assert_eq!(values, [0, 0, 5, 0, 6, 1, 1, 5, 1, 6]);
}

#[test]
fn b4_a_range_of_a_user_variable_is_no_loop() {
    let mut b = Built::new(1);
    let n = Variable::new("n", 1, 8).unwrap();
    let (min, max, kind) = (Size::from(1), Size::from(&n), RangeKind::User);
    let range = b.graph.add(Node::Range { min, max, kind });
    let bound = b.bound("n", (1, 8), range);
    b.call(0, &[bound], &[]);
    let schedule = b.graph.linearize().unwrap();
    assert_eq!((kernels(&schedule), schedule.invocations[0].fixed.len()), (vec![0], 0));
}

#[test]
fn b4_every_error_names_the_loop() {
    let (b, range, _) = looped(0, 1);
    assert_eq!(b.refused(), E::NeverClosed(range.0));

    let (mut b, range, [first, _]) = looped(0, 1);
    b.graph.end(first, range);
    let (outside, _) = b.call(2, &[], &[]);
    let end = b.graph.end(outside, range);
    assert_eq!(b.refused(), E::InactiveEnd { end: end.0, range: range.0, call: outside.0 });

    for call in [NodeId(77), NodeId(0)] {
        let (mut b, range, _) = looped(0, 1);
        let end = b.graph.end(call, range);
        assert_eq!(b.refused(), E::EndOfUnknownCall { end: end.0, call: call.0 });
    }

    let mut b = Built::new(1);
    let value = b.graph.slot(Slot::Leaf(0));
    let bound = b.bound("i", (0, 9), value);
    let (call, _) = b.call(0, &[bound], &[]);
    assert_eq!(b.refused(), E::UndeclaredLoop { call: call.0, range: value.0 });
    let mut b = Built::new(1);
    let (call, _) = b.call(0, &[], &[NodeId(50)]);
    assert_eq!(b.refused(), E::UndeclaredLoop { call: call.0, range: 50 });

    let (mut b, range, [first, _]) = looped(0, 1);
    b.graph.end(first, range);
    let i = b.bound("i", (0, 9), range);
    let (call, _) = b.call(2, &[i], &[]);
    assert_eq!(b.refused(), E::InactiveLoop { call: call.0, var: "i".into(), range: range.0 });

    let mut b = Built::new(1);
    let n = Size::from(&Variable::new("n", 1, 8).unwrap());
    let range = b.graph.range(0, n.clone());
    assert_eq!(b.refused(), E::SymbolicBounds { range: range.0, min: Size::ZERO, max: n });

    let (b, range, _) = looped(3, 2);
    assert_eq!(b.refused(), E::EmptyLoop { range: range.0, min: 3, max: 2 });

    let mut b = Built::new(1);
    let (outer, inner) = (b.graph.range(0, 1), b.graph.range(0, 1));
    let (call, _) = b.call(0, &[], &[outer, inner]);
    let end = b.graph.add(Node::End { call, ranges: vec![inner, outer] });
    assert_eq!(b.refused(), E::SeveralLoops { end: end.0, count: 2 });

    let (mut b, _, [first, _]) = looped(0, 1);
    let end = b.graph.add(Node::End { call: first, ranges: vec![] });
    assert_eq!(b.refused(), E::SeveralLoops { end: end.0, count: 0 });

    let (mut b, range, [first, _]) = looped(0, 1);
    b.graph.end(first, range);
    let nowhere = b.bound("i", (0, 9), NodeId(66));
    let (call, _) = b.call(2, &[nowhere], &[]);
    assert_eq!(b.refused(), E::UndeclaredLoop { call: call.0, range: 66 });

    let mut b = Built::new(2);
    let (outer, inner) = (b.graph.range(0, 1), b.graph.range(0, 1));
    b.call(0, &[], &[outer, inner]);
    let (call, _) = b.call(1, &[], &[inner]);
    assert_eq!(b.refused(), E::Nesting { call: call.0, range: inner.0 });

    let (mut b, range, [first, _]) = looped(0, 1);
    let end = b.graph.end(first, range);
    // Inside of the loop that it waits for.
    let done = b.graph.after(b.buffers[0], &[end]);
    let (waiting, _) = b.call(2, &[done], &[range]);
    assert!(matches!(b.refused(), E::Cycle(calls) if calls.contains(&waiting.0)));

    let (mut b, range, [first, _]) = looped(0, 9);
    b.graph.end(first, range);
    b.graph.nodes[range.0] = Node::Range { min: 0.into(), max: 12.into(), kind: RangeKind::Loop };
    assert_eq!(b.refused().to_string(), "variable i: 12 is outside [0, 9]");

    let mut b = Built::new(1);
    let range = b.graph.range(0, i64::MAX);
    let (call, _) = b.call(0, &[], &[range]);
    b.graph.end(call, range);
    assert!(matches!(b.refused(), E::TooLong { .. }));
}

#[test]
fn b5_arguments_are_memory_or_bound_variables() {
    let refused = |arg: &dyn Fn(&mut Built) -> NodeId| {
        let mut b = Built::new(1);
        let arg = arg(&mut b);
        b.call(0, &[arg], &[]);
        b.refused()
    };
    let error = refused(&|b| b.graph.add(Node::Const(1)));
    assert!(matches!(error, E::UnsupportedArgument { position: 0, kind: "a constant", .. }), "{error}");
    let error = refused(&|b| b.graph.slot(Slot::Buffer(5)));
    assert!(matches!(error, E::BufferNotFound { buffer: 5, count: 1, .. }), "{error}");
    let error = refused(&|b| {
        let value = b.graph.add(Node::Const(1));
        b.graph.add(Node::Bind { var: value, value })
    });
    assert!(matches!(error, E::BindWithoutDefineVar { kind: "a constant", .. }), "{error}");
    let error = refused(&|b| {
        let value = b.graph.add(Node::Const(1));
        b.graph.add(Node::Bind { var: NodeId(88), value })
    });
    assert!(matches!(error, E::BindWithoutDefineVar { var: 88, kind: "nothing", .. }), "{error}");
    let error = refused(&|_| NodeId(77));
    assert!(matches!(error, E::UnknownCall { call: 77, .. }), "{error}");
    for kind in ["a call", "an end", "a store", "a range", "a variable"] {
        let error = refused(&|b| match kind {
            "a variable" => b.graph.add(Node::DefineVar(Variable::new("n", 1, 8).unwrap())),
            "a range" => b.graph.add(Node::Range { min: 1.into(), max: 2.into(), kind: RangeKind::User }),
            _ => {
                let range = b.graph.range(0, 1);
                let call = b.graph.call(Item::Copy, vec![b.buffers[0]; 2], &[range]);
                let end = b.graph.end(call, range);
                let store = b.graph.add(Node::Store { buffer: b.buffers[0], call });
                [("a call", call), ("an end", end), ("a store", store)].into_iter().find(|n| n.0 == kind).unwrap().1
            }
        });
        assert!(matches!(error, E::UnsupportedArgument { kind: k, .. } if k == kind), "{kind}: {error}");
    }
    let error = refused(&|b| b.graph.add(Node::Scratch { dtype: DType::F32, count: None }));
    assert!(matches!(error, E::UnsizedScratch(_)), "{error}");
    let mut b = Built::new(1);
    b.graph.call(Item::Kernel(4), vec![b.buffers[0]], &[]);
    assert!(matches!(b.refused(), E::UnknownKernel { kernel: 4, count: 1, .. }));
}

#[test]
fn b5_stacks_scratch_and_bound_values_resolve() {
    let mut b = Built::new(4);
    let stack = b.graph.add(Node::Stack(b.buffers[..3].to_vec()));
    let second = b.graph.add(Node::Select(stack, 1));
    let scratch = b.graph.add(Node::Scratch { dtype: DType::I32, count: Some(Size::from(7)) });
    let value = b.graph.add(Node::Const(5));
    let n = b.bound("n", (1, 8), value);
    b.call(3, &[stack, second, scratch, n], &[]);
    b.graph.outputs = vec![b.buffers[3]];
    let schedule = b.graph.linearize().unwrap();
    let slots = [0, 1, 4, 3].map(Slot::Buffer);
    assert_eq!((&schedule.invocations[0].args[..], &schedule.outputs[..]), (&slots[..], &slots[3..]));
    assert_eq!((schedule.buffers[4].dtype, &schedule.buffers[4].shape[..]), (DType::I32, &[Size::from(7)][..]));
    assert_eq!(schedule.bindings[0].to_string(), "n=5");

    let mut b = Built::new(1);
    let stack = b.graph.add(Node::Stack(b.buffers.clone()));
    let part = b.graph.add(Node::Select(stack, 3));
    b.call(0, &[part], &[]);
    assert!(matches!(b.refused(), E::UnknownPart { part: 3, count: 1, .. }));

    let mut b = Built::new(1);
    let nine = b.graph.add(Node::Const(9));
    let n = b.bound("n", (1, 8), nine);
    b.call(0, &[n], &[]);
    assert_eq!(b.refused().to_string(), "variable n: 9 is outside [1, 8]");

    let mut b = Built::new(1);
    let (five, six) = (b.graph.add(Node::Const(5)), b.graph.add(Node::Const(6)));
    let (a, c) = (b.bound("n", (1, 8), five), b.bound("n", (1, 8), six));
    b.call(0, &[a, c], &[]);
    assert_eq!(b.refused().to_string(), "variable n: 6 is bound to 5 as well");
}
