//! A pretended GPU: its memory is hidden from the host, its code is text that names an operation.
#![allow(dead_code)]

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use svod_device::program::{Code, Decomposition, Metadata};
use svod_device::*;
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::expr::{ExprPool, Mem, ParamId};
use svod_ir::kernel::Param;
use svod_ir::lowered::{Loop, LoopKind, Lowered, Phase, Stmt};
use svod_ir::size::Size;

/// Host memory, as an allocator.
pub fn cpu() -> Arc<dyn Allocator> {
    Arc::new(CpuAllocator::new(DeviceSpec::CPU))
}

/// Memory that the host cannot see, save by copies, which are counted.
#[derive(Debug)]
pub struct HiddenMemory {
    inner: CpuAllocator,
    pub copies: AtomicUsize,
}

pub fn hidden(number: u32) -> Arc<HiddenMemory> {
    let inner = CpuAllocator::new(DeviceSpec::Cuda(number));
    Arc::new(HiddenMemory { inner, copies: AtomicUsize::new(0) })
}

impl Allocator for HiddenMemory {
    fn device(&self) -> &DeviceSpec {
        self.inner.device()
    }
    fn alloc(&self, bytes: usize) -> Result<Block> {
        self.inner.alloc(bytes)
    }
    unsafe fn free(&self, block: Block) {
        // SAFETY: the caller's promise.
        unsafe { self.inner.free(block) }
    }
    unsafe fn copy_in(&self, dst: NonNull<u8>, src: *const u8, bytes: usize) -> Result<()> {
        self.copies.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { self.inner.copy_in(dst, src, bytes) }
    }
    unsafe fn copy_out(&self, dst: *mut u8, src: NonNull<u8>, bytes: usize) -> Result<()> {
        self.copies.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { self.inner.copy_out(dst, src, bytes) }
    }
    fn host_visible(&self) -> bool {
        false
    }
    fn read_only(&self) -> bool {
        false
    }
    fn stats(&self) -> MemoryStats {
        self.inner.stats()
    }
    fn trim(&self) {}
}

/// A kernel of one phase, `p0[i] = f(p1[i])`, with a grid over i.
pub fn map_kernel(extent: impl Into<Size>, op: Alu) -> Lowered {
    let extent = extent.into();
    let i = Variable::new("i", 0, extent.upper_bound().unwrap_or(1) - 1).unwrap();
    let param = Param { dtype: DType::F32, shape: vec![extent.clone()], constant: false };
    let mut exprs = ExprPool::new();
    let index = exprs.index(&i);
    let x = exprs.load(DType::F32, Mem::Param(ParamId(1)), &[index]);
    let value = exprs.alu(op, &[x]);
    let store = Stmt::Store { to: Mem::Param(ParamId(0)), index: vec![index], value, valid: None };
    let grid = vec![Loop { var: i, extent: extent.clone(), kind: LoopKind::Serial }];
    Lowered {
        name: "map".into(),
        params: vec![param.clone(), param],
        vars: extent.variables(),
        strict: false,
        guards: Vec::new(),
        phases: vec![Phase { grid, exprs, body: vec![store], ..Phase::default() }],
    }
}

/// Renders, compiles and runs kernels whose only operation is `neg` or `abs`.
#[derive(Debug)]
pub struct FakeGpu {
    device: DeviceSpec,
    pub compiled: AtomicUsize,
}

impl FakeGpu {
    pub fn new() -> Arc<Self> {
        Arc::new(FakeGpu { device: DeviceSpec::Cuda(0), compiled: AtomicUsize::new(0) })
    }
}

impl Renderer for FakeGpu {
    fn device(&self) -> &DeviceSpec {
        &self.device
    }

    fn render(&self, kernel: &Arc<Lowered>, name: Option<&str>) -> Result<ProgramSpec> {
        let ops = kernel.phases.iter().flat_map(|p| p.exprs.iter()).filter_map(|(_, e)| match e {
            svod_ir::expr::Expr::Alu(op, _) => Some(*op),
            _ => None,
        });
        let source = match ops.collect::<Vec<_>>()[..] {
            [op @ (Alu::Neg | Alu::Abs)] => op.name().to_owned(),
            ref others => {
                let (device, message) = (self.device.clone(), format!("cannot do {others:?}"));
                return Err(DeviceError::Render { device, message });
            }
        };
        let metadata = Metadata { name: name.unwrap_or_default().into(), ..Metadata::default() };
        Ok(ProgramSpec::derive(kernel, source, self.device.clone(), metadata)?)
    }

    fn decompositions(&self) -> &[Decomposition] {
        &[Decomposition {
            op: Alu::Sub,
            rewrite: |pool, args| {
                let minus = pool.alu(Alu::Neg, &args[1..]);
                pool.alu(Alu::Add, &[args[0], minus])
            },
        }]
    }
}

impl Compiler for FakeGpu {
    fn cache_key(&self) -> String {
        "fake".into()
    }

    fn compile(&self, program: &ProgramSpec) -> Result<CompiledSpec> {
        self.compiled.fetch_add(1, Ordering::Relaxed);
        Ok(program.compiled(Code::Bytes(program.source.as_bytes().into())))
    }
}

#[derive(Debug)]
pub struct FakeRuntime;

#[derive(Debug)]
struct FakeProgram {
    name: String,
    op: fn(f32) -> f32,
}

impl RuntimeFactory for FakeRuntime {
    fn load(&self, device: &DeviceSpec, code: &CompiledSpec) -> Result<Vec<Arc<dyn Program>>> {
        let op: fn(f32) -> f32 = match code.bytes() {
            Some(b"neg") => |x| -x,
            Some(b"abs") => f32::abs,
            _ => {
                let (device, name) = (device.clone(), code.name.clone());
                return Err(DeviceError::Load { device, name, message: "unknown code".into() });
            }
        };
        Ok(vec![Arc::new(FakeProgram { name: code.name.clone(), op })])
    }
}

impl Program for FakeProgram {
    fn name(&self) -> &str {
        &self.name
    }

    unsafe fn run(
        &self,
        buffers: &[*mut u8],
        vals: &[i64],
        global: Option<[usize; 3]>,
        _local: Option<[usize; 3]>,
    ) -> Result<()> {
        let tasks = match (global, vals.last()) {
            (Some([tasks, ..]), _) => 0..tasks,
            (None, Some(task)) => *task as usize..*task as usize + 1,
            (None, None) => 0..0,
        };
        for i in tasks {
            // SAFETY: the caller's promise: two buffers of `tasks` floats.
            unsafe {
                let (to, from) = (buffers[0].cast::<f32>(), buffers[1].cast::<f32>());
                *to.add(i) = (self.op)(*from.add(i));
            }
        }
        Ok(())
    }
}

/// A context with the fake GPU.
pub fn fake_devices(gpu: &Arc<FakeGpu>) -> Devices {
    let devices = Devices::new();
    let gpu = gpu.clone();
    devices.register("CUDA", move |spec| match spec {
        DeviceSpec::Cuda(number @ 0..=1) => {
            Ok(Device::new(hidden(*number)).with_backend(gpu.clone(), gpu.clone()).with_runtime(Arc::new(FakeRuntime)))
        }
        _ => Err(DeviceError::UnknownDevice { given: spec.to_string(), expected: "CUDA:0 or CUDA:1".into() }),
    });
    devices
}

/// Floats as bytes.
pub fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}
