//! Several devices in one plan, none of which the host's memory model explains. Contract rows A5, A6, A11, B5, C8, D3.

mod gpu;

use crate::common::*;
use gpu::{Gpu, Vram};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use svod_device::{Allocator, Buffer, DeviceSpec};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{Device, Leaf, LeafClass, Sharding, ShardingError, Split, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::size::{Size, Variable};
use svod_runtime::{Context, Error, Feed, Memory, Planner, PrepareConfig};

fn with_gpus() -> (Arc<Context>, Arc<Gpu>, [Arc<Vram>; 2]) {
    let (context, _) = interpreting();
    let (gpu, memories) = gpu::register(context.devices());
    (context, gpu, memories)
}

fn config() -> PrepareConfig {
    PrepareConfig::default()
}

fn on(name: &str) -> Device {
    Device::new(name)
}

fn leaf_on(context: &Context, device: &str, values: &[f32]) -> UOp {
    let memory = context.buffer(&device.parse().unwrap(), DType::F32, values.len()).unwrap();
    memory.copy_in(&bytes(values)).unwrap();
    let memory = Arc::new(Memory::new(Arc::new(memory), LeafClass::Data));
    UOp::leaf(Leaf::new(memory, 0, DType::F32, vec![Size::from(values.len() as i64)].into())).unwrap()
}

#[test]
fn a5_a_graph_runs_on_a_device_whose_memory_the_host_cannot_touch() {
    let (context, gpu, [memory, _]) = with_gpus();
    let (a, b) = (leaf_on(&context, "CUDA:0", &[1., 2., 3.]), leaf_on(&context, "CUDA:0", &[4., 5., 6.]));
    let sum = mul(&a, &b).reduce(Monoid::Sum, &[0]).unwrap().expand(vec![Size::from(3)]).unwrap();
    let plan = context.plan(&[add(&a, &sum)], &[leaf_of(&a)], &config()).unwrap();
    plan.execute().unwrap();
    assert_eq!(output(&plan, 0), [33., 34., 35.]);
    assert!(plan.kernels().iter().all(|k| k.device == DeviceSpec::Cuda(0)));
    assert!(gpu.compiled.load(Ordering::Relaxed) >= 1 && memory.runs.load(Ordering::Relaxed) >= 1);
    plan.execute_with(&[Feed::Bytes(&bytes(&[0., 0., 1.]))], &[]).unwrap();
    assert_eq!(output(&plan, 0), [6., 6., 7.]);

    let live = memory.stats().live;
    drop(plan);
    assert!(memory.stats().live < live);
    drop((a, b, sum));
    assert_eq!(memory.stats().live, 0);
}

#[test]
fn a6_code_is_compiled_once_for_devices_of_a_kind_and_loaded_for_each() {
    let (context, gpu, memories) = with_gpus();
    for device in ["CUDA:0", "CUDA:1", "CUDA:0"] {
        let a = leaf_on(&context, device, &[1., 2.]);
        let plan = context.plan(&[add(&a, &a)], &[], &config()).unwrap();
        plan.execute().unwrap();
        assert_eq!(output(&plan, 0), [2., 4.]);
        assert_eq!(plan.kernels()[0].device.to_string(), device);
    }
    assert_eq!(gpu.compiled.load(Ordering::Relaxed), 1);
    assert_eq!(memories.each_ref().map(|m| m.runs.load(Ordering::Relaxed)), [2, 1]);
    assert_eq!(context.stats().kernels, 2);
}

#[test]
fn c8_copies_between_all_devices_are_ops_of_a_plan() {
    let (context, _, memories) = with_gpus();
    let a = leaf(&context, &[1., 2., 3.]);
    let mut value = a.clone();
    let tour = ["CUDA:0", "CUDA:1", "CPU:1", "CPU", "CUDA:1"];
    for device in tour {
        value = add(&value.copy_to(&on(device)).unwrap(), &leaf_on(&context, device, &[10.; 3]));
    }
    for planner in [Planner::Arena, Planner::Remap, Planner::Disabled] {
        let config = PrepareConfig { planner, ..config() };
        let plan = context.plan(std::slice::from_ref(&value), &[leaf_of(&a)], &config).unwrap();
        let profile = plan.execute_profiled().unwrap();
        assert_eq!(output(&plan, 0), [51., 52., 53.]);
        assert_eq!(profile.kernels.iter().map(|k| k.device.to_string()).collect::<Vec<_>>(), tour);
        assert_eq!(profile.others.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["copy"; 5]);
        plan.execute_with(&[Feed::Bytes(&bytes(&[0.; 3]))], &[]).unwrap();
        assert_eq!(output(&plan, 0), [50.; 3]);
    }
    assert!(memories.iter().all(|m| m.copies.load(Ordering::Relaxed) > 0));
    assert_eq!(context.stats().memory.keys().collect::<Vec<_>>(), ["CPU", "CPU:1", "CUDA:0", "CUDA:1"]);
}

#[test]
fn b5_what_is_on_no_device_is_computed_where_it_is_read() {
    let (context, _, _) = with_gpus();
    let count = |n: i64| UOp::range(Size::from(n)).unwrap().cast(DType::F32).unwrap();
    // Worth a buffer of its own, and wanted by two devices.
    let table = mul(&count(4), &count(4)).scan(Monoid::Sum, 0, true).unwrap().contiguous().unwrap();
    let total = table.reduce(Monoid::Sum, &[0]).unwrap().expand(vec![Size::from(4)]).unwrap();
    let on_first = add(&leaf_on(&context, "CUDA:0", &[1.; 4]), &add(&table, &total));
    let on_second = add(&leaf_on(&context, "CUDA:1", &[2.; 4]), &table);
    let roots = [on_first, on_second, table.copy_to(&on("CPU:1")).unwrap()];
    let plan = context.plan(&roots, &[], &config()).unwrap();
    let profile = plan.execute_profiled().unwrap();
    assert_eq!(output(&plan, 0), [21., 22., 26., 35.]);
    assert_eq!(output(&plan, 1), [2., 3., 7., 16.]);
    assert_eq!(output(&plan, 2), [0., 1., 5., 14.]);
    assert!(profile.others.is_empty(), "{profile:?}");
    let of_first: Vec<_> = plan.output_cells().iter().map(|m| m.buffer().device().to_string()).collect();
    assert_eq!(of_first, ["CUDA:0", "CUDA:1", "CPU:1"]);
}

#[test]
fn b5_what_nothing_places_goes_to_the_device_of_the_configuration() {
    let (context, _, _) = with_gpus();
    let seven = UOp::range(Size::from(3)).unwrap();
    let config = PrepareConfig { device: Some(DeviceSpec::Cuda(1)), ..config() };
    let plan = context.plan(&[UOp::alu(Alu::Mul, &[seven.clone(), seven]).unwrap()], &[], &config).unwrap();
    plan.execute().unwrap();
    assert_eq!(plan.output_cells()[0].buffer().device(), &DeviceSpec::Cuda(1));
}

#[test]
fn a9_symbolic_sizes_work_on_a_device() {
    let (context, _, _) = with_gpus();
    let n = Variable::new("n", 1, 4).unwrap();
    let a = leaf_on(&context, "CUDA:0", &[1., 2., 3., 4.]);
    let part = a.shrink(vec![(Size::ZERO, Size::from(&n))]).unwrap().with_values(&[n.bind(2).unwrap()]).unwrap();
    let there = add(&part, &part).copy_to(&on("CUDA:1")).unwrap();
    let sum = mul(&there, &there).reduce(Monoid::Sum, &[0]).unwrap();
    let plan = context.plan(&[sum], &[], &config()).unwrap();
    plan.execute().unwrap();
    assert_eq!(output(&plan, 0), [20.]);
    plan.execute_with(&[], &[("n", 4)]).unwrap();
    assert_eq!(output(&plan, 0), [120.]);
}

#[test]
fn a6_devices_that_are_not_there_are_errors() {
    let (context, _, _) = with_gpus();
    let a = leaf(&context, &[1.]);
    for name in ["CUDA:9", "Metal:0", "nonsense"] {
        let error = context.plan(&[a.copy_to(&on(name)).unwrap()], &[], &config()).unwrap_err();
        assert!(matches!(error, Error::UnknownDevice { .. }), "{error}");
    }
    let b = leaf_on(&context, "CUDA:0", &[1.]);
    let mixed = UOp::alu(Alu::Add, &[a, b]).unwrap_err().to_string();
    assert!(mixed.contains("CPU and CUDA:0"), "{mixed}");
}

#[test]
fn a11_empty_values_need_no_copy() {
    let (context, _, _) = with_gpus();
    let a = leaf(&context, &[1., 2.]);
    let none = a.shrink(vec![(Size::ZERO, Size::ZERO)]).unwrap().copy_to(&on("CUDA:0")).unwrap();
    let padded = none.pad(vec![(Size::ONE, Size::ONE)], Const::f64(DType::F32, 7.)).unwrap();
    let plan = context.plan(&[padded], &[], &config()).unwrap();
    plan.execute().unwrap();
    assert_eq!(output(&plan, 0), [7., 7.]);
}

#[test]
fn a1_threads_share_devices() {
    let (context, _, _) = with_gpus();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let context = &context;
            scope.spawn(move || {
                for step in 0..20 {
                    let (from, to) =
                        [("CUDA:0", "CUDA:1"), ("CUDA:1", "CUDA:0"), ("CPU", "CUDA:0")][(thread + step) % 3];
                    let a = leaf_on(context, from, &[thread as f32, step as f32]);
                    let there = add(&a, &a).copy_to(&on(to)).unwrap();
                    let plan = context.plan(&[mul(&there, &there)], &[], &config()).unwrap();
                    plan.execute().unwrap();
                    let expected = [thread, step].map(|v| (4 * v * v) as f32);
                    assert_eq!(output(&plan, 0), expected);
                }
            });
        }
    });
}

#[test]
fn a11_buffers_are_copied_past_the_host_in_pieces() {
    let (_, _, [one, two]) = with_gpus();
    let content: Vec<u8> = (0..(9usize << 20) + 5).map(|i| (i % 253) as u8).collect();
    let [one, two]: [Arc<dyn Allocator>; 2] = [one, two];
    let a = Buffer::from_bytes(&one, DType::U8, &content).unwrap();
    let b = a.to_device(&two).unwrap();
    assert!(b.to_vec().unwrap() == content);
    assert!(a.borrow_on(&two).unwrap().is_none());
}

#[test]
fn e2_values_spread_over_devices_are_ordinary_graphs() {
    let (context, _, [one, two]) = with_gpus();
    let values: Vec<f32> = (0..12).map(|i| i as f32).collect();
    let whole = leaf(&context, &values).reshape([4.into(), 3.into()]).unwrap();
    let devices = vec![on("CUDA:0"), on("CPU:1"), on("CUDA:1")];
    let to = Sharding::new(devices, Some(Split::even(0, 4, 3))).unwrap();
    let spread = whole.shard(&to).unwrap();
    let doubled = add(&spread, &spread);
    let total = doubled.reduce(Monoid::Sum, &[0]).unwrap();
    assert_eq!(total.sharding().unwrap().split(), None);
    let roots = [doubled.parts().unwrap(), total.parts().unwrap(), vec![doubled.copy_to(&on("CPU")).unwrap()]].concat();
    let plan = context.plan(&roots, &[leaf_of(&whole.source().unwrap())], &config()).unwrap();
    for scale in [1., 3.] {
        let given: Vec<f32> = values.iter().map(|v| v * scale).collect();
        plan.execute_with(&[Feed::Bytes(&bytes(&given))], &[]).unwrap();
        let expected: Vec<f32> = given.iter().map(|v| v * 2.).collect();
        let sums: Vec<f32> = (0..3).map(|c| expected.iter().skip(c).step_by(3).sum()).collect();
        assert_eq!([output(&plan, 0), output(&plan, 1), output(&plan, 2)].concat(), expected);
        (3..6).for_each(|i| assert_eq!(output(&plan, i), sums));
        assert_eq!(output(&plan, 6), expected);
    }
    let places: Vec<_> = plan.output_cells().iter().map(|m| m.buffer().device().to_string()).collect();
    assert_eq!(places, ["CUDA:0", "CPU:1", "CUDA:1", "CUDA:0", "CPU:1", "CUDA:1", "CPU"]);
    assert!([one, two].iter().all(|m| m.runs.load(Ordering::Relaxed) > 0));
}

#[test]
fn b5_parts_of_a_stack_are_what_was_stacked() {
    let (context, gpu, _) = with_gpus();
    let parts = [leaf_on(&context, "CUDA:0", &[1., 2.]), leaf_on(&context, "CUDA:1", &[3.])];
    let of = Split { axis: 0, extents: vec![2.into(), 1.into()] };
    let of = Sharding::new(vec![on("CUDA:0"), on("CUDA:1")], Some(of)).unwrap();
    let stack = UOp::multi(&parts, &of).unwrap();
    assert!(stack.is_memory() && stack.is_value());
    assert_eq!((stack.numel(), of.real()), (3.into(), vec![true, true]));
    assert_eq!(stack.parts().unwrap(), parts);
    let second = UOp::new(svod_ir::graph::Op::Part(of.clone(), 1), std::slice::from_ref(&stack)).unwrap();
    let plan = context.plan(&[second, parts[0].clone()], &[], &config()).unwrap();
    plan.execute().unwrap();
    assert_eq!((output(&plan, 0), output(&plan, 1)), (vec![3.], vec![1., 2.]));
    // Nothing is allocated or compiled for it.
    assert!(plan.kernels().is_empty() && gpu.compiled.load(Ordering::Relaxed) == 0);

    let error = |parts: &[UOp]| UOp::multi(parts, &of).unwrap_err().to_string();
    assert!(error(&[parts[1].clone(), parts[0].clone()]).contains("CUDA:0"));
    assert!(error(&parts[..1]).contains("expected 2 operands"));
    let three = leaf_on(&context, "CUDA:1", &[1., 2., 3.]);
    assert!(error(&[parts[0].clone(), three]).contains("part 1"));
    assert_eq!(Sharding::new(vec![], None).unwrap_err(), ShardingError::NoDevice);
    assert_eq!(Sharding::new(vec![on("CPU"), on("CPU")], None).unwrap_err(), ShardingError::Twice(on("CPU")));
    let uneven = Some(Split { axis: 0, extents: vec![1.into()] });
    assert_eq!(
        Sharding::new(of.devices().to_vec(), uneven).unwrap_err(),
        ShardingError::Parts { parts: 1, devices: 2 }
    );
}
