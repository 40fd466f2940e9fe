//! From graphs to results: caches, inputs, constants. Contract rows B2, B5, B6, C2, C6, D1.
#![allow(clippy::unwrap_used)]

mod common;
mod devices;

use common::*;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use svod_dtype::{Const, DType};
use svod_ir::graph::key::GraphKey;
use svod_ir::graph::{GraphError, HostCall, Shape, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::size::{Size, Variable};
use svod_runtime::plan::CustomError;
use svod_runtime::schedule_graph::Node;
use svod_runtime::{Error, Feed, Planner, PrepareConfig, ScheduleGraph};
use svod_schedule::{BufferSpec, Item, PreSchedule, PreScheduleError, Slot};

fn config() -> PrepareConfig {
    PrepareConfig::default()
}

#[test]
fn d1_a_plan_works_when_its_tensors_are_gone() {
    let (context, _) = interpreting();
    let plan = {
        let (a, b) = (leaf(&context, &[1., 2., 3.]), leaf(&context, &[10., 20., 30.]));
        context.plan(&[add(&a, &b)], &[], &config()).unwrap()
    };
    assert!(!plan.valid());
    assert!(matches!(plan.read_output(0), Err(Error::Stale)));
    for _ in 0..3 {
        plan.execute().unwrap();
        assert_eq!(output(&plan, 0), [11., 22., 33.]);
    }
    assert_eq!(plan.output_cells()[0].buffer().count(), 3);
}

#[test]
fn c2_inputs_are_given_anew_and_stay() {
    let (context, _) = interpreting();
    let (a, b) = (leaf(&context, &[1., 2.]), leaf(&context, &[10., 20.]));
    let plan = context.plan(&[add(&a, &b)], &[leaf_of(&a)], &config()).unwrap();
    plan.execute().unwrap();
    assert_eq!(output(&plan, 0), [11., 22.]);
    plan.execute_with(&[Feed::Bytes(&bytes(&[5., 6.]))], &[]).unwrap();
    assert_eq!(output(&plan, 0), [15., 26.]);
    plan.execute().unwrap();
    assert_eq!(output(&plan, 0), [15., 26.]);
    plan.inputs()[0].copy_in(&bytes(&[0., 0.])).unwrap();
    plan.execute().unwrap();
    assert_eq!(output(&plan, 0), [10., 20.]);
    // The tensor itself is as it was.
    let tensor = context.plan(&[add(&a, &a)], &[], &config()).unwrap();
    tensor.execute().unwrap();
    assert_eq!(output(&tensor, 0), [2., 4.]);
    let wrong = plan.execute_with(&[Feed::Bytes(&[0; 4])], &[]).unwrap_err();
    assert_eq!(wrong.to_string(), "cannot copy 4 bytes to or from a buffer of 8 bytes");
    assert!(plan.valid(), "nothing ran");
    assert!(plan.execute_with(&[Feed::Keep, Feed::Keep], &[]).is_err());
    let twice = context.plan(&[add(&a, &b)], &[leaf_of(&a), leaf_of(&a)], &config());
    assert!(matches!(twice, Err(Error::Unsupported(_))));
}

#[test]
fn d1_instances_share_code_and_nothing_that_changes() {
    let (context, cpu) = interpreting();
    let (a, b) = (leaf(&context, &[1., 2.]), leaf(&context, &[10., 20.]));
    let plan = context.plan(&[mul(&add(&a, &b), &b)], &[leaf_of(&a)], &config()).unwrap();
    plan.execute().unwrap();
    let other = plan.instance().unwrap();
    let compiled = cpu.compiled.load(Ordering::Relaxed);
    assert!(!other.valid());
    other.execute_with(&[Feed::Bytes(&bytes(&[0., 0.]))], &[]).unwrap();
    assert_eq!(output(&other, 0), [100., 400.]);
    assert_eq!(output(&plan, 0), [110., 440.]);
    plan.execute().unwrap();
    assert_eq!((output(&plan, 0), output(&other, 0)), (vec![110., 440.], vec![100., 400.]));
    assert_eq!(cpu.compiled.load(Ordering::Relaxed), compiled);
    std::thread::scope(|scope| {
        for plan in [&plan, &plan, &other, &other] {
            scope.spawn(move || (0..20).for_each(|_| plan.execute().unwrap()));
        }
    });
    assert_eq!((output(&plan, 0), output(&other, 0)), (vec![110., 440.], vec![100., 400.]));
}

#[test]
fn b6_same_structure_other_data_is_a_hit() {
    let (context, cpu) = interpreting();
    for (x, y) in [(1., 2.), (3., 4.), (5., 6.)] {
        let (a, b) = (leaf(&context, &[x, x]), leaf(&context, &[y, y]));
        let plan = context.plan(&[add(&a, &b)], &[], &config()).unwrap();
        plan.execute().unwrap();
        assert_eq!(output(&plan, 0), [x + y; 2]);
    }
    assert_eq!((context.stats().schedules, cpu.compiled.load(Ordering::Relaxed)), (1, 1));
    // `a + a` is not `a + b`.
    let a = leaf(&context, &[1., 2.]);
    let plan = context.plan(&[add(&a, &a)], &[], &config()).unwrap();
    plan.execute().unwrap();
    assert_eq!((output(&plan, 0), context.stats().schedules), (vec![2., 4.], 2));
}

#[test]
fn b6_off_and_on_give_equal_results() {
    let (context, cpu) = interpreting();
    let off = PrepareConfig { disable_schedule_cache: true, ..config() };
    for config in [off.clone(), off, config()] {
        let (a, b) = (leaf(&context, &[1., 2.]), leaf(&context, &[3., 4.]));
        let plan = context.plan(&[mul(&a, &add(&a, &b))], &[], &config).unwrap();
        plan.execute().unwrap();
        assert_eq!(output(&plan, 0), [4., 12.]);
    }
    assert_eq!(context.stats().schedules, 1);
    assert_eq!(cpu.compiled.load(Ordering::Relaxed), 1, "C6: identical kernels compile once");
}

#[test]
fn b6_one_variable_with_two_values_is_a_mismatch() -> Result<(), GraphError> {
    let (context, _) = interpreting();
    let n = Variable::new("n", 1, 8).unwrap();
    let bound = |value| UOp::bind(n.bind(value).unwrap());
    let sum = add(&bound(2)?, &bound(3)?);
    let plan = context.plan(&[sum], &[], &config());
    assert!(matches!(plan, Err(Error::BindMismatch(_))), "{plan:?}");
    let wider = UOp::bind(Variable::new("n", 1, 9).unwrap().bind(2).unwrap());
    let plan = context.plan(&[add(&bound(2)?, &wider?)], &[], &config());
    let message = "bind mismatch: n in [1, 8] and n in [1, 9] in one graph";
    assert!(plan.is_err_and(|error| error.to_string() == message));
    Ok(())
}

#[test]
fn c6_identical_kernels_compile_once_across_threads() {
    let (context, cpu) = interpreting();
    std::thread::scope(|scope| {
        for i in 0..8 {
            let context = &context;
            scope.spawn(move || {
                let (a, b) = (leaf(context, &[i as f32; 5]), leaf(context, &[1.; 5]));
                let plan = context.plan(&[add(&a, &b)], &[], &config()).unwrap();
                plan.execute().unwrap();
                assert_eq!(output(&plan, 0), [i as f32 + 1.; 5]);
            });
        }
    });
    assert_eq!(cpu.compiled.load(Ordering::Relaxed), 1);
    let a = leaf(&context, &[1.; 5]);
    let plan = context.plan(&[add(&a, &a)], &[], &config()).unwrap();
    context.clear_caches();
    plan.execute().unwrap();
    assert_eq!(output(&plan, 0), [2.; 5]);
    assert_eq!((context.stats().schedules, context.stats().kernels), (0, 0));
}

#[test]
fn c2_realized_constant_and_empty_tensors_work() -> Result<(), GraphError> {
    let (context, cpu) = interpreting();
    let a = leaf(&context, &[1., 2.]);
    let nothing = context.plan(std::slice::from_ref(&a), &[], &config()).unwrap();
    assert!(nothing.valid() && nothing.ops().is_empty());
    nothing.execute().unwrap();
    assert_eq!(output(&nothing, 0), [1., 2.]);

    let constant = UOp::full(Const::f64(DType::F32, 7.0), &vec![Size::from(3)].into())?;
    let plan = context.plan(&[constant], &[], &config()).unwrap();
    plan.execute().unwrap();
    assert_eq!(output(&plan, 0), [7.; 3]);

    let before = cpu.compiled.load(Ordering::Relaxed);
    let empty = leaf(&context, &[]);
    let plan = context.plan(&[add(&empty, &empty)], &[], &config()).unwrap();
    plan.execute().unwrap();
    assert_eq!(output(&plan, 0), [0.; 0]);
    assert_eq!(cpu.compiled.load(Ordering::Relaxed), before, "zero elements need no kernel");
    Ok(())
}

#[test]
fn b5_a_leaf_of_another_runtime_is_an_error() -> Result<(), GraphError> {
    #[derive(Debug)]
    struct Foreign;
    impl svod_ir::graph::LeafData for Foreign {
        fn storage_id(&self) -> u64 {
            u64::MAX
        }
        fn version(&self) -> u64 {
            0
        }
        fn class(&self) -> svod_ir::graph::LeafClass {
            svod_ir::graph::LeafClass::Data
        }
        fn device(&self) -> svod_ir::graph::Device {
            svod_ir::graph::Device::new("CPU")
        }
        fn alignment(&self) -> u64 {
            4
        }
    }
    let (context, _) = interpreting();
    let foreign = UOp::leaf(svod_ir::graph::Leaf::new(Arc::new(Foreign), 0, DType::F32, vec![Size::from(2)].into()))?;
    let plan = context.plan(&[add(&foreign, &foreign)], &[], &config());
    assert!(matches!(plan, Err(Error::BufferNotFound(_))), "{plan:?}");
    Ok(())
}

/// A chain of reductions and maps, which is several kernels.
fn chain(a: &UOp, b: &UOp, steps: usize) -> UOp {
    (0..steps).fold(a.clone(), |x, _| {
        let n = x.shape()[0].clone();
        let sum = x.reduce(Monoid::Sum, &[0]).unwrap().reshape(vec![Size::from(1)]).unwrap();
        let mean = sum.contiguous().unwrap().expand(vec![n]).unwrap();
        mul(&add(&x, &mean), b).contiguous().unwrap()
    })
}

#[test]
fn c7_planners_give_equal_results() {
    let (context, _) = interpreting();
    let (a, b) = (leaf(&context, &[1., 2., 3., 4.]), leaf(&context, &[0.5; 4]));
    let result = |planner| {
        let plan = context.plan(&[chain(&a, &b, 6)], &[], &PrepareConfig { planner, ..config() }).unwrap();
        plan.execute().unwrap();
        plan.execute().unwrap();
        (output(&plan, 0), plan.memory_report())
    };
    let (plain, none) = result(Planner::Disabled);
    assert_eq!((none.buffers, none.bytes, none.before), (0, 0, none.after));
    for planner in [Planner::Remap, Planner::Arena] {
        let (shared, report) = result(planner);
        assert_eq!(plain, shared);
        assert!(report.buffers > 0 && report.bytes > 0 && report.after >= report.bound, "{report:?}");
        assert_eq!((report.before, report.peak), (none.before, none.peak));
        assert!(report.bound <= report.peak && none.in_place == 0, "{report:?}");
    }
}

#[test]
fn d5_d6_profiles_and_tables() {
    let (context, _) = interpreting();
    let (a, b) = (leaf(&context, &[1., 2.]), leaf(&context, &[3., 4.]));
    let plan = context.plan(&[chain(&a, &b, 2)], &[leaf_of(&a)], &config()).unwrap();
    let kernels = plan.kernels();
    assert!(kernels.len() > 1);
    let profile = plan.execute_profiled().unwrap();
    let names = |i: usize| (&kernels[i].name, &kernels[i].buffers, kernels[i].op);
    for (i, timing) in profile.kernels.iter().enumerate() {
        assert_eq!((&timing.name, &timing.buffers, timing.op), names(i));
    }
    assert_eq!(profile.kernels.len(), kernels.len());
    assert!(profile.others.is_empty());
    let table = plan.to_string();
    assert!(table.starts_with(&format!("plan: {} ops in", kernels.len())), "{table}");
    assert!(table.contains("time") && table.contains("total"), "{table}");
    assert_eq!(kernels[0].outputs.len(), 1);
    assert!(kernels[0].lowered().contains("lowered"));
    assert!(!kernels[0].source().unwrap().is_empty());
    assert!(plan.output(1).is_none() && plan.output_count() == 1);
    assert_eq!(plan.device(), svod_device::DeviceSpec::CPU);
}

#[test]
fn d7_released_memory_comes_back() {
    let (context, _) = interpreting();
    let (a, b) = (leaf(&context, &[1., 2.]), leaf(&context, &[3., 4.]));
    let plan = context.plan(&[chain(&a, &b, 3)], &[leaf_of(&a)], &config()).unwrap();
    plan.execute().unwrap();
    let before = output(&plan, 0);
    assert!(plan.release_intermediates().unwrap() > 0);
    assert_eq!(output(&plan, 0), before);
    plan.execute().unwrap();
    assert_eq!(output(&plan, 0), before);
    plan.release_all().unwrap();
    assert!(matches!(plan.read_output(0), Err(Error::Stale)));
    plan.execute().unwrap();
    assert_eq!(output(&plan, 0), before);
}

#[test]
fn b5_a_schedule_is_attached_to_memory_and_ordering_edges_hold() {
    let (context, _) = interpreting();
    let (a, b) = (leaf(&context, &[1., 2.]), leaf(&context, &[10., 20.]));
    let sum = add(&a, &b);
    let plan = svod_runtime::create_schedule(&context, std::slice::from_ref(&sum), &config()).unwrap();
    plan.execute().unwrap();
    assert_eq!(output(&plan, 0), [11., 22.]);

    // Of other operands, so that they stay two kernels.
    let product = mul(&leaf(&context, &[1., 2.]), &leaf(&context, &[10., 20.]));
    let graph = svod_ir::graph::Graph::new(&[sum, product]);
    let key = GraphKey::new(&graph).unwrap();
    let purpose = svod_runtime::Purpose::default();
    let mut schedule = svod_runtime::create_schedule_graph(&graph, &key, purpose).unwrap();
    let is_call = |at: &usize| matches!(schedule.nodes[*at], svod_runtime::schedule_graph::Node::Call { .. });
    let calls: Vec<usize> = (0..schedule.nodes.len()).filter(is_call).collect();
    let node = svod_runtime::schedule_graph::NodeId;
    schedule.run_after(node(calls[0]), node(calls[1]));
    let pre = schedule.linearize().unwrap();
    let plan = svod_runtime::instantiate_schedule(&context, &pre, &key, &[], &config()).unwrap();
    plan.execute().unwrap();
    assert_eq!((output(&plan, 0), output(&plan, 1)), (vec![11., 22.], vec![10., 40.]));
    assert_eq!(plan.levels(), [0, 1], "independent, but ordered");

    let empty = svod_schedule::PreSchedule::default();
    let nothing = svod_runtime::instantiate_schedule(&context, &empty, &GraphKey::default(), &[], &config());
    assert!(matches!(nothing, Err(Error::EmptySchedule)));
}

/// Adds a number to its operand.
fn plus(number: f32) -> Arc<svod_runtime::Function> {
    let same = |operands: &[(DType, &[Size])]| Ok(vec![(operands[0].0, operands[0].1.into())]);
    svod_runtime::Function::new("plus", same, move |args| {
        let failed = |e: svod_device::DeviceError| CustomError::Failed(e.to_string());
        let values = floats(&args.operands[0].buffer.to_vec().map_err(failed)?);
        let sums: Vec<f32> = values.iter().map(|v| v + number).collect();
        args.results[0].buffer.copy_in(&bytes(&sums)).map_err(failed)
    })
}

#[test]
fn b6_functions_of_the_host_are_named_by_position() -> Result<(), GraphError> {
    let (context, _) = interpreting();
    let x = leaf(&context, &[1., 2.]);
    let of = |functions: [&Arc<svod_runtime::Function>; 2]| -> Result<Vec<f32>, GraphError> {
        let inner = UOp::host(functions[0].clone(), std::slice::from_ref(&x))?.remove(0);
        let outer = UOp::host(functions[1].clone(), &[mul(&inner, &inner)])?;
        let plan = context.plan(&outer, &[], &config()).unwrap();
        plan.execute().unwrap();
        Ok(output(&plan, 0))
    };
    let (one, two, three) = (plus(1.), plus(2.), plus(3.));
    assert_eq!((of([&one, &two])?, context.stats().schedules), (vec![6., 11.], 1));
    assert_eq!((of([&two, &one])?, context.stats().schedules), (vec![10., 17.], 1));
    assert_eq!((of([&three, &two])?, context.stats().schedules), (vec![18., 27.], 1));
    assert_eq!(Arc::strong_count(&three), 1, "the cache keeps no function alive");
    // One function twice is another graph than two functions.
    assert_eq!((of([&one, &one])?, context.stats().schedules), (vec![5., 10.], 2));
    Ok(())
}

/// Adds the value of variable `i` to its operand.
fn add_i() -> Arc<svod_runtime::Function> {
    let same = |operands: &[(DType, &[Size])]| Ok(vec![(operands[0].0, operands[0].1.into())]);
    svod_runtime::Function::new("add_i", same, |args| {
        let failed = |e: svod_device::DeviceError| CustomError::Failed(e.to_string());
        let i = args.var("i").ok_or_else(|| CustomError::Failed("no i".into()))?;
        let values = floats(&args.operands[0].buffer.to_vec().map_err(failed)?);
        let sums: Vec<f32> = values.iter().map(|v| v + i as f32).collect();
        args.results[0].buffer.copy_in(&bytes(&sums)).map_err(failed)
    })
}

#[test]
fn c8_copies_views_and_functions_are_items_also_inside_loops() {
    let (context, _) = interpreting();
    let x = leaf(&context, &[1., 2., 3.]);
    let vector = |n: i64| BufferSpec { dtype: DType::F32, shape: vec![Size::from(n)], device: None };
    let build = |offset: usize, first: i64| {
        let mut s = ScheduleGraph::default();
        let (input, sum, next, tail) =
            (s.slot(Slot::Leaf(0)), s.buffer(vector(3)), s.buffer(vector(3)), s.buffer(vector(2)));
        let begin = s.call(Item::Copy, vec![sum, input], &[]);
        let range = s.range(first, 3);
        let i = s.bind(&Variable::new("i", 0, 9).unwrap(), range);
        let shape: Shape = vec![Size::from(3)].into();
        let host = Item::Host { function: 0, outputs: 1, shapes: vec![shape.clone(), shape] };
        let so_far = s.after(sum, &[begin]);
        let added = s.call(host, vec![next, so_far, i], &[range]);
        let ready = s.after(next, &[added]);
        let back = s.call(Item::Copy, vec![sum, ready], &[range]);
        let end = s.end(back, range);
        let done = s.after(sum, &[end]);
        let view = s.call(Item::View { offset }, vec![tail, done], &[]);
        s.outputs = vec![s.after(tail, &[view]), done];
        let (leaves, functions) = (vec![leaf_of(&x)], vec![HostCall::new(add_i())]);
        let key = GraphKey { leaves, functions, ..GraphKey::default() };
        svod_runtime::instantiate_schedule(&context, &s.linearize().unwrap(), &key, &[], &config())
    };
    let plan = build(1, 1).unwrap();
    for _ in 0..2 {
        plan.execute().unwrap();
        assert_eq!((output(&plan, 0), output(&plan, 1)), (vec![8., 9.], vec![7., 8., 9.]));
    }
    let profile = plan.execute_profiled().unwrap();
    let names: Vec<&str> = profile.others.iter().map(|t| t.name.as_str()).collect();
    // A view is where it is from the start.
    let steps: Vec<&str> = names.iter().copied().filter(|name| *name != "view").collect();
    assert_eq!(steps, ["copy", "add_i", "copy", "add_i", "copy", "add_i", "copy"]);
    assert_eq!(names.len(), steps.len() + 1);
    assert!(plan.execute_with_vars(&[("i", 2)]).is_err_and(|e| e.to_string() == "variable 'i' is fixed by the plan"));
    let past = build(2, 1).unwrap_err();
    let message = past.to_string();
    assert!(message.contains("a view of 8 bytes at byte 8 of a base of 12 bytes"), "{message}");
}

#[test]
fn d3_a_function_that_comes_back_to_its_plan_is_told() {
    let (context, _) = interpreting();
    let plan: Arc<std::sync::OnceLock<svod_runtime::ExecutionPlan>> = Arc::default();
    let own = plan.clone();
    let same = |operands: &[(DType, &[Size])]| Ok(vec![(operands[0].0, operands[0].1.into())]);
    let function = svod_runtime::Function::new("again", same, move |_| {
        let plan = own.get().ok_or(CustomError::Unsupported)?;
        Err(CustomError::Raised(Arc::new(plan.execute().unwrap_err())))
    });
    let y = UOp::host(function, &[leaf(&context, &[1., 2.])]).unwrap();
    plan.set(context.plan(&y, &[], &config()).unwrap()).unwrap();
    let error = plan.get().unwrap().execute().unwrap_err();
    let Error::Raised { name, error, .. } = &error else { panic!("{error}") };
    assert!(name == "again" && matches!(error.downcast_ref(), Some(Error::Reentrant)));
    assert!(matches!(plan.get().unwrap().read_output(0), Err(Error::Stale)));
}

fn scheduled(graph: &svod_ir::graph::Graph) -> Result<PreSchedule, PreScheduleError> {
    let key = GraphKey::new(graph).unwrap();
    svod_runtime::create_pre_schedule(graph, &key, svod_runtime::Purpose::default())
}

#[test]
fn b1_movements_vanish_and_kernels_are_calls_on_buffers_and_bound_variables() -> Result<(), GraphError> {
    let (context, _) = interpreting();
    let a = leaf(&context, &[1., 2., 3., 4.]);
    let moved = a.reshape(vec![Size::from(2), Size::from(2)])?.permute(&[1, 0])?.flip(&[0])?;
    let graph = svod_ir::graph::Graph::new(&[add(&moved, &moved)]);
    let key = GraphKey::new(&graph).unwrap();
    let calls = svod_runtime::create_schedule_graph(&graph, &key, svod_runtime::Purpose::default()).unwrap();
    let is_call = |node: &&Node| matches!(node, Node::Call { item: Item::Kernel(0), args, .. } if args.len() == 2);
    assert_eq!((calls.nodes.iter().filter(is_call).count(), calls.kernels.len()), (1, 1));
    assert!(matches!(calls.nodes[calls.outputs[0].0], Node::After { .. }), "ordering is carried by after");
    let pre = calls.linearize().unwrap();
    assert_eq!(pre.invocations[0].args, [Slot::Leaf(0), Slot::Buffer(0)]);
    let plan = svod_runtime::instantiate_schedule(&context, &pre, &key, &[], &config()).unwrap();
    plan.execute().unwrap();
    assert_eq!(output(&plan, 0), [4., 8., 2., 6.]);
    Ok(())
}

#[test]
fn b2_outputs_are_in_order_may_repeat_and_alias_an_input() {
    let (context, _) = interpreting();
    let (a, b) = (leaf(&context, &[1., 2.]), leaf(&context, &[10., 20.]));
    let sum = add(&a, &b);
    let pre = scheduled(&svod_ir::graph::Graph::new(&[sum.clone(), a.clone(), sum.clone()])).unwrap();
    assert_eq!(pre.outputs[0], pre.outputs[2]);
    assert!(matches!(pre.outputs[1], Slot::Leaf(_)) && pre.invocations.len() == 1);
    let plan = context.plan(&[sum.clone(), a.clone(), sum], &[], &config()).unwrap();
    plan.execute().unwrap();
    assert_eq!((output(&plan, 0), output(&plan, 1), output(&plan, 2)), (vec![11., 22.], vec![1., 2.], vec![11., 22.]));
    assert!(matches!(scheduled(&svod_ir::graph::Graph::new(&[a])), Err(PreScheduleError::NoKernels)));
}
