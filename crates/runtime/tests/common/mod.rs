//! A CPU that interprets loop trees, kernels written by hand, and graphs to run.
#![allow(dead_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use svod_device::program::{Code, Metadata};
use svod_device::*;
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::buffer::HostBuffer;
use svod_ir::graph::{Leaf, LeafClass, UOp};
use svod_ir::kernel::Param;
use svod_ir::lowered::{Loop, LoopKind, Lowered, Phase};
use svod_ir::size::{Size, Variable};
use svod_ir::target::Target;
use svod_runtime::{Context, ExecutionPlan, KernelCode, Memory};

/// Renders kernels as their text, "compiles" by counting, and interprets.
#[derive(Debug)]
pub struct Interpreter {
    device: DeviceSpec,
    pub compiled: AtomicUsize,
}

impl Renderer for Interpreter {
    fn device(&self) -> &DeviceSpec {
        &self.device
    }

    fn render(&self, kernel: &Arc<Lowered>, name: Option<&str>) -> Result<ProgramSpec> {
        let name = name.unwrap_or_default().to_owned();
        Ok(ProgramSpec::derive(
            kernel,
            kernel.to_string(),
            self.device.clone(),
            Metadata { name, ..Metadata::default() },
        )?)
    }
}

impl Compiler for Interpreter {
    fn cache_key(&self) -> String {
        "interpreter".into()
    }

    fn compile(&self, program: &ProgramSpec) -> Result<CompiledSpec> {
        self.compiled.fetch_add(1, Ordering::Relaxed);
        Ok(program.compiled(Code::Source(program.source.as_str().into())))
    }
}

impl RuntimeFactory for Interpreter {
    fn load(&self, device: &DeviceSpec, code: &CompiledSpec) -> Result<Vec<Arc<dyn Program>>> {
        let spec = ProgramSpec::derive(&code.ast, String::new(), device.clone(), Metadata::default())?;
        let program = |phase: &Phase| {
            let kernel = Lowered { phases: vec![phase.clone()], ..Lowered::clone(&code.ast) };
            Arc::new(Interpreted { kernel, spec: spec.clone() }) as Arc<dyn Program>
        };
        Ok(code.ast.phases.iter().map(program).collect())
    }
}

/// Interprets a kernel over copies of its buffers, which are read and written by their position among
/// the program's pointers.
pub fn interpret(
    kernel: &Lowered,
    spec: &ProgramSpec,
    vals: &[i64],
    read: impl Fn(usize, usize) -> Vec<u8>,
    write: impl Fn(usize, &[u8]),
) {
    let bound: Vec<_> = kernel.vars.iter().zip(vals).map(|(v, n)| v.bind(*n).unwrap()).collect();
    let mut params = Vec::new();
    for (slot, param) in kernel.params.iter().enumerate() {
        let count: Size = param.shape.iter().product();
        let bytes = count.eval_bound(&bound).unwrap() as usize * param.dtype.bytes();
        let content = match spec.globals.iter().position(|g| *g == slot) {
            Some(at) => read(at, bytes),
            None => vec![0; bytes],
        };
        params.push(HostBuffer::from_bytes(param.dtype, content).unwrap());
    }
    kernel.interpret(&bound, &mut params).unwrap();
    for (at, slot) in spec.globals.iter().enumerate().filter(|(_, slot)| spec.outs.contains(slot)) {
        write(at, params[*slot].bytes());
    }
}

#[derive(Debug)]
struct Interpreted {
    kernel: Lowered,
    spec: ProgramSpec,
}

impl Program for Interpreted {
    fn name(&self) -> &str {
        &self.kernel.name
    }

    unsafe fn run(
        &self,
        buffers: &[*mut u8],
        vals: &[i64],
        _global: Option<[usize; 3]>,
        _local: Option<[usize; 3]>,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        let read = |at: usize, bytes| unsafe { std::slice::from_raw_parts(buffers[at], bytes) }.to_vec();
        // SAFETY: as above.
        let write = |at: usize, to: &[u8]| unsafe { buffers[at].copy_from_nonoverlapping(to.as_ptr(), to.len()) };
        interpret(&self.kernel, &self.spec, vals, read, write);
        Ok(())
    }
}

/// A context whose CPU interprets, and what counts its compilations.
pub fn interpreting() -> (Arc<Context>, Arc<Interpreter>) {
    let cpu = Arc::new(Interpreter { device: DeviceSpec::CPU, compiled: AtomicUsize::new(0) });
    let (devices, backend) = (Devices::new(), cpu.clone());
    devices.register("CPU", move |spec| {
        let memory = Arc::new(CpuAllocator::new(spec.clone()));
        Ok(Device::new(memory).with_backend(backend.clone(), backend.clone()).with_runtime(backend.clone()))
    });
    (Context::new(devices, Target::named("x86-64-v3").unwrap()), cpu)
}

/// A leaf with these values.
pub fn leaf(context: &Context, values: &[f32]) -> UOp {
    let memory = context.buffer(&DeviceSpec::CPU, DType::F32, values.len()).unwrap();
    memory.copy_in(&bytes(values)).unwrap();
    let memory = Arc::new(Memory::new(Arc::new(memory), LeafClass::Data));
    UOp::leaf(Leaf::new(memory, 0, DType::F32, vec![Size::from(values.len() as i64)].into())).unwrap()
}

/// The leaf behind a node.
pub fn leaf_of(node: &UOp) -> Leaf {
    match node.op() {
        svod_ir::graph::Op::Leaf(leaf) => leaf.clone(),
        _ => panic!("{node:?} is no leaf"),
    }
}

pub fn add(a: &UOp, b: &UOp) -> UOp {
    UOp::alu(Alu::Add, &[a.clone(), b.clone()]).unwrap()
}

pub fn mul(a: &UOp, b: &UOp) -> UOp {
    UOp::alu(Alu::Mul, &[a.clone(), b.clone()]).unwrap()
}

/// Floats as bytes.
pub fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// Bytes as floats.
pub fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

/// An output's values.
pub fn output(plan: &ExecutionPlan, i: usize) -> Vec<f32> {
    floats(&plan.read_output(i).unwrap())
}

/// Memory of `count` floats.
pub fn buffer(context: &Context, count: usize) -> Arc<Buffer> {
    Arc::new(context.buffer(&DeviceSpec::CPU, DType::F32, count).unwrap())
}

pub type Function = unsafe extern "C" fn(*const *mut u8, *const i64);

#[derive(Debug)]
struct ByHand(HostEntry);

impl Program for ByHand {
    fn name(&self) -> &str {
        "by hand"
    }

    unsafe fn run(&self, _: &[*mut u8], _: &[i64], _: Option<[usize; 3]>, _: Option<[usize; 3]>) -> Result<()> {
        unreachable!("plans call host entries themselves")
    }

    fn host_entry(&self) -> Option<HostEntry> {
        Some(self.0)
    }
}

/// A kernel written by hand.
pub struct Kernel {
    pub name: &'static str,
    pub function: Function,
    pub params: usize,
    pub outs: Vec<usize>,
    pub ins: Vec<usize>,
    /// Elements of each parameter.
    pub count: usize,
    pub tasks: Size,
    pub vars: Vec<Variable>,
    pub scratch: usize,
}

impl Kernel {
    /// Parameter 0 is written, the others are read.
    pub fn new(name: &'static str, function: Function, params: usize, count: usize) -> Kernel {
        let (outs, ins, tasks) = (vec![0], (1..params).collect(), Size::from(1));
        Kernel { name, function, params, outs, ins, count, tasks, vars: vec![], scratch: 0 }
    }

    pub fn code(self, context: &Context) -> Arc<KernelCode> {
        let param = Param { dtype: DType::F32, shape: vec![Size::from(self.count as i64)], constant: false };
        let most = self.tasks.upper_bound().unwrap();
        let axis = Loop {
            var: Variable::new("t", 0, most.max(1) - 1).unwrap(),
            extent: self.tasks.clone(),
            kind: LoopKind::Serial,
        };
        let ast = Arc::new(Lowered {
            name: self.name.into(),
            params: vec![param; self.params],
            vars: self.vars,
            strict: false,
            guards: Vec::new(),
            phases: vec![Phase { grid: vec![axis], ..Phase::default() }],
        });
        let metadata = Metadata { outs: self.outs, ins: self.ins, ..Metadata::default() };
        let spec = ProgramSpec::derive(&ast, "by hand".into(), DeviceSpec::CPU, metadata).unwrap();
        let program = ByHand(HostEntry { call: self.function, scratch: self.scratch });
        let device = context.devices().get(&DeviceSpec::CPU).unwrap();
        Arc::new(KernelCode::new(device, spec, vec![Arc::new(program) as Arc<dyn Program>].into()))
    }
}
