//! Contract A1, A3 to A6: a device is what its traits say, and nothing here knows the CPU.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use common::*;
use svod_device::*;
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::expr::ExprPool;
use svod_ir::size::Size;

#[test]
fn a1_a_kernel_goes_all_the_way_on_a_device_of_ones_own() {
    let gpu = FakeGpu::new();
    let device = fake_devices(&gpu).open("cuda:0").unwrap();
    let n = Variable::new("n", 1, 8).unwrap();
    let kernel = Arc::new(map_kernel(Size::from(n), Alu::Neg));

    let backend = device.primary().unwrap();
    let spec = backend.renderer.render(&kernel, Some("negate")).unwrap();
    let programs = device.load(&spec, &*backend.compiler).unwrap();
    let program = &programs[0];
    assert_eq!((programs.len(), program.name()), (1, "negate"));

    let x = Buffer::from_bytes(device.allocator(), DType::F32, &bytes(&[1.0, -2.0, 3.0])).unwrap();
    let y = Buffer::from_bytes(device.allocator(), DType::F32, &bytes(&[0.0; 3])).unwrap();
    let vals = [3, 0];
    let dims = resolve_launch_dims(&spec.launches[0], &spec.var_names(), &vals).unwrap();
    assert_eq!(dims, ConcreteLaunchDims { global: [3, 1, 1], local: None });
    let pointers = [y.allocate().unwrap().as_ptr(), x.allocate().unwrap().as_ptr()];
    // SAFETY: two buffers of three floats each, which only this thread knows.
    unsafe { program.run(&pointers, &vals, Some(dims.global), dims.local).unwrap() };
    assert_eq!(y.to_vec().unwrap(), bytes(&[-1.0, 2.0, -3.0]));
}

#[test]
fn a4_a_renderer_names_kernels_and_says_what_it_cannot_do() {
    let gpu = FakeGpu::new();
    let render = |op, name| gpu.render(&Arc::new(map_kernel(4, op)), name);
    assert_eq!(render(Alu::Neg, None).unwrap().name, "map");
    let unnamed = svod_ir::lowered::Lowered { name: String::new(), ..map_kernel(4, Alu::Neg) };
    assert_eq!(gpu.render(&Arc::new(unnamed), None).unwrap().name, "kernel");
    assert!(matches!(render(Alu::Sin, None), Err(DeviceError::Render { .. })));

    let mut pool = ExprPool::new();
    let x = pool.constant(svod_dtype::Const::i64(DType::I32, 5));
    let rule = gpu.decompositions().iter().find(|d| d.op == Alu::Sub).unwrap();
    let difference = (rule.rewrite)(&mut pool, &[x, x]);
    assert_eq!(pool.dtype(difference), DType::I32);
}

#[test]
fn a6_code_is_shared_by_devices_of_a_kind_and_programs_are_not() {
    let gpu = FakeGpu::new();
    let devices = fake_devices(&gpu);
    let (first, second) = (devices.open("CUDA:0").unwrap(), devices.open("CUDA:1").unwrap());
    assert_eq!((first.base(), second.base()), ("CUDA", "CUDA"));
    assert!(Arc::ptr_eq(&first, &devices.open("gpu").unwrap()));

    let spec = gpu.render(&Arc::new(map_kernel(4, Alu::Abs)), None).unwrap();
    let load = |device: &Device| device.load(&spec, &*gpu).unwrap();
    let (a, b) = (load(&first), load(&second));
    assert_eq!(gpu.compiled.load(Ordering::Relaxed), 1);
    assert!(Arc::ptr_eq(&a, &load(&first)) && !Arc::ptr_eq(&a, &b));

    // The same source with another grid is the same code, but not the same launch.
    let longer = gpu.render(&Arc::new(map_kernel(9, Alu::Abs)), None).unwrap();
    let compiled = first.compile(&longer, &*gpu).unwrap();
    assert_eq!(gpu.compiled.load(Ordering::Relaxed), 1);
    assert_eq!(compiled.launches[0].global[0].as_const(), Some(9));

    first.trim();
    load(&first);
    assert_eq!(gpu.compiled.load(Ordering::Relaxed), 2);
    assert_eq!(a[0].name(), "map");
}

#[test]
fn a6_an_unknown_device_and_one_without_compiler_are_errors() {
    let devices = fake_devices(&FakeGpu::new());
    for name in ["CPU", "Metal", "CUDA:7", "tpu"] {
        assert!(matches!(devices.open(name), Err(DeviceError::UnknownDevice { .. })), "{name}");
    }
    let error = devices.open("metal").unwrap_err().to_string();
    assert_eq!(error, "unknown device 'Metal:0': expected a device of kind CUDA or DISK");
    let missing = devices.open("DISK:/no/such/file").unwrap_err();
    assert!(matches!(missing, DeviceError::Io { .. }), "{missing}");
    assert!(matches!(devices.open("DISK:/"), Err(DeviceError::Io { .. })));

    let memory_only = Device::new(cpu());
    assert!(matches!(memory_only.primary(), Err(DeviceError::Unsupported { .. })));
    assert!(matches!(memory_only.runtime(), Err(DeviceError::Unsupported { .. })));
}
