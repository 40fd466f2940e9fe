//! Contract A1, A3 to A6: a device is what its traits say, and nothing here knows the CPU.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use common::*;
use svod_device::program::{Decomposition, decompose};
use svod_device::*;
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::buffer::HostBuffer;
use svod_ir::expr::{ExprId, ExprPool};
use svod_ir::lowered::Lowered;
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
}

#[test]
fn a4_operations_that_a_target_lacks_are_made_of_others() {
    #[derive(Debug)]
    struct Plain(DeviceSpec);
    impl Renderer for Plain {
        fn device(&self) -> &DeviceSpec {
            &self.0
        }
        fn render(&self, _: &Arc<Lowered>, _: Option<&str>) -> Result<ProgramSpec> {
            Err(DeviceError::Unsupported { device: self.0.clone(), what: "rendering".into() })
        }
    }
    assert!(Plain(DeviceSpec::CPU).decompositions().is_empty());

    let kernel = map_kernel(4, Alu::Abs);
    assert_eq!(decompose(kernel.clone(), &[]).to_string(), kernel.to_string());
    let rewrite: fn(&mut ExprPool, &[ExprId]) -> ExprId = |pool, x| {
        let minus = pool.alu(Alu::Neg, x);
        pool.alu(Alu::Max, &[x[0], minus])
    };
    let rules = [Decomposition { op: Alu::Abs, rewrite }];
    let made = decompose(kernel, &rules);
    made.verify().unwrap();
    assert!(made.to_string().contains("max") && !made.to_string().contains("abs"));
    let mut memory = [HostBuffer::zeros(DType::F32, 4), HostBuffer::from_f64(DType::F32, [1.0, 2.0, -3.0, 4.0])];
    made.interpret(&[], &mut memory).unwrap();
    assert_eq!(memory[0].iter().map(|c| c.as_f64()).collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn a3_keys_tell_the_compilers_of_one_device_apart() {
    #[derive(Debug)]
    struct Named(Arc<FakeGpu>, &'static str);
    impl Compiler for Named {
        fn cache_key(&self) -> String {
            self.1.into()
        }
        fn compile(&self, program: &ProgramSpec) -> Result<CompiledSpec> {
            self.0.compile(program)
        }
    }
    let gpu = FakeGpu::new();
    let (fast, small) = (Arc::new(Named(gpu.clone(), "fast")), Arc::new(Named(gpu.clone(), "small")));
    let device = Device::new(hidden(0))
        .with_backend(gpu.clone(), fast.clone())
        .with_backend(gpu.clone(), small.clone())
        .with_runtime(Arc::new(FakeRuntime));
    // The first pair is the primary one.
    assert_eq!((device.backends().len(), device.primary().unwrap().compiler.cache_key()), (2, "fast".into()));
    let spec = gpu.render(&Arc::new(map_kernel(4, Alu::Neg)), None).unwrap();
    for (compiler, compiled) in [(&fast, 1), (&small, 2), (&fast, 2), (&small, 2)] {
        device.load(&spec, &**compiler).unwrap();
        assert_eq!(gpu.compiled.load(Ordering::Relaxed), compiled);
    }
}

#[test]
fn a1_a_program_is_shared_by_threads() {
    let gpu = FakeGpu::new();
    let device = fake_devices(&gpu).open("cuda:0").unwrap();
    let spec = gpu.render(&Arc::new(map_kernel(3, Alu::Abs)), None).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (device, spec, gpu) = (&device, &spec, &gpu);
            scope.spawn(move || {
                let program = &device.load(spec, &**gpu).unwrap()[0];
                let x =
                    Buffer::from_bytes(device.allocator(), DType::F32, &bytes(&[-1.0, -2.0, thread as f32])).unwrap();
                let y = Buffer::from_bytes(device.allocator(), DType::F32, &bytes(&[0.0; 3])).unwrap();
                let pointers = [y.allocate().unwrap().as_ptr(), x.allocate().unwrap().as_ptr()];
                for _ in 0..100 {
                    // SAFETY: two buffers of three floats each, which only this thread knows.
                    unsafe { program.run(&pointers, &[0], Some([3, 1, 1]), None).unwrap() };
                    assert_eq!(y.to_vec().unwrap(), bytes(&[1.0, 2.0, thread as f32]));
                }
            });
        }
    });
    assert_eq!(gpu.compiled.load(Ordering::Relaxed), 1, "threads that ask at once wait for one");
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
