//! Kernels of a GPU: rendered, compiled, loaded and launched.
//!
//! The source of a program is the text of its loop tree, so that code that was compiled before is found without generating
//! any. The compiled form is a header in text, a line for each phase, and after an empty line the code.

use std::fmt::{self, Write};
use std::sync::Arc;

use smallvec::SmallVec;
use svod_codegen::{CompileError, host};
use svod_device::program::{CORE_ID, Code, Metadata, entry_name};
use svod_device::{
    Allocator, CompiledSpec, Compiler, DeviceError, DeviceSpec, Listing, Program, ProgramSpec, Renderer, Result,
    RuntimeFactory,
};
use svod_ir::lowered::Lowered;
use svod_ir::pass::Pass;
use svod_ir::target::Target;

use crate::driver::{Gpu, Kernel, Launch};
use crate::gpu::{self, PhaseCode, Runner};
use crate::machine::CodeCache;

/// Bytes of scratch memory that the tasks of a launch have together, unless one block needs more.
const SCRATCH: u64 = 256 << 20;

/// Blocks of a launch at most: what the driver takes.
const MOST_BLOCKS: u64 = i32::MAX as u64;

/// Renders, compiles and loads for one GPU.
#[derive(Debug)]
pub(crate) struct Cuda {
    device: DeviceSpec,
    target: Target,
    gpu: Arc<dyn Gpu>,
    runner: Runner,
    memory: Arc<dyn Allocator>,
    cache: Arc<dyn CodeCache>,
}

impl Cuda {
    pub fn new(
        device: DeviceSpec,
        target: Target,
        gpu: Arc<dyn Gpu>,
        runner: Runner,
        memory: Arc<dyn Allocator>,
        cache: Arc<dyn CodeCache>,
    ) -> Cuda {
        Cuda { device, target, gpu, runner, memory, cache }
    }

    fn failed(&self, name: &str, error: &CompileError) -> DeviceError {
        DeviceError::Compile { device: self.device.clone(), name: name.to_owned(), message: error.to_string() }
    }

    fn generate(&self, program: &ProgramSpec) -> Result<Vec<u8>> {
        let object =
            gpu::compile(&program.ast, &self.target, self.runner).map_err(|e| self.failed(&program.name, &e))?;
        let header = Header { phases: object.phases }.to_string();
        Ok([header.as_bytes(), &object.bytes].concat())
    }
}

impl Renderer for Cuda {
    fn device(&self) -> &DeviceSpec {
        &self.device
    }

    fn render(&self, kernel: &Arc<Lowered>, name: Option<&str>) -> Result<ProgramSpec> {
        let renamed = name.filter(|n| *n != kernel.name).map(|name| {
            let mut kernel = Lowered::clone(kernel);
            kernel.name = name.to_owned();
            Arc::new(kernel)
        });
        let kernel = renamed.as_ref().unwrap_or(kernel);
        // All parameters are passed, used or not: the code finds them by their position.
        let metadata = Metadata { globals: (0..kernel.params.len()).collect(), ..Metadata::default() };
        Ok(ProgramSpec::derive(kernel, kernel.to_string(), self.device.clone(), metadata)?)
    }

    fn listing(&self, kernel: &Lowered, what: Listing) -> Result<Option<String>> {
        let _ = (kernel, what);
        Ok(None)
    }
}

impl Compiler for Cuda {
    fn cache_key(&self) -> String {
        let Target { cpu, features, .. } = &self.target;
        format!("{:?} {cpu} {features}", self.runner)
    }

    fn compile(&self, program: &ProgramSpec) -> Result<CompiledSpec> {
        let (major, minor, patch) = host::llvm_version();
        let llvm = format!("{major}.{minor}.{patch}");
        let (target, runner) = (format!("{:?}", self.target), format!("{:?}", self.runner));
        let parts = [llvm.as_str(), &target, &runner, &program.source];
        let known = Pass::Disk.time(|| self.cache.get(&parts)).filter(|code| Header::parse(code).is_some());
        let bytes = match known {
            Some(known) => known,
            None => {
                let made = self.generate(program)?;
                Pass::Disk.time(|| self.cache.put(&parts, &made));
                made
            }
        };
        Ok(program.compiled(Code::Bytes(bytes.into())))
    }
}

impl RuntimeFactory for Cuda {
    fn load(&self, device: &DeviceSpec, code: &CompiledSpec) -> Result<Vec<Arc<dyn Program>>> {
        let damaged = || DeviceError::Load {
            device: device.clone(),
            name: code.name.clone(),
            message: "this is no code of CUDA's compiler".into(),
        };
        let (header, bytes) = code.bytes().and_then(Header::parse).ok_or_else(damaged)?;
        let module = Pass::Load.time(|| self.gpu.load(&code.name, bytes))?;
        let task = code.var_names.iter().position(|n| n == CORE_ID);
        let program = |(phase, code_of): (usize, &PhaseCode)| {
            Ok(Arc::new(CudaProgram {
                name: entry_name(&code.name, phase),
                device: device.clone(),
                kernel: module.clone().kernel(&code_of.entry, code_of.threads)?,
                block_tasks: u64::from(code_of.block_tasks),
                scratch: code_of.scratch_bytes,
                task,
                memory: self.memory.clone(),
            }) as _)
        };
        header.phases.iter().enumerate().map(program).collect()
    }
}

/// What stands in front of the code.
#[derive(Debug)]
struct Header {
    phases: Vec<PhaseCode>,
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for PhaseCode { entry, threads, block_tasks, scratch_bytes } in &self.phases {
            writeln!(f, "phase {entry} {threads} {block_tasks} {scratch_bytes}")?;
        }
        f.write_char('\n')
    }
}

impl Header {
    /// The header, which has a phase, and what follows it.
    fn parse(bytes: &[u8]) -> Option<(Header, &[u8])> {
        let end = bytes.windows(2).position(|w| w == b"\n\n")?;
        let phase = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
            ["phase", entry, threads, tasks, scratch] => Some(PhaseCode {
                entry: entry.to_owned(),
                threads: threads.parse().ok().filter(|n| *n > 0)?,
                block_tasks: tasks.parse().ok().filter(|n| *n > 0)?,
                scratch_bytes: scratch.parse().ok()?,
            }),
            _ => None,
        };
        let phases: Vec<PhaseCode> =
            std::str::from_utf8(&bytes[..end]).ok()?.lines().map(phase).collect::<Option<_>>()?;
        (!phases.is_empty()).then_some((Header { phases }, &bytes[end + 2..]))
    }
}

/// One phase of a kernel, loaded.
#[derive(Debug)]
struct CudaProgram {
    name: String,
    device: DeviceSpec,
    kernel: Arc<dyn Kernel>,
    /// Tasks that a block does at once.
    block_tasks: u64,
    /// Bytes of scratch memory of a task.
    scratch: u64,
    /// Position of the task's index among the values, which the code is not given.
    task: Option<usize>,
    memory: Arc<dyn Allocator>,
}

/// Number of blocks for so many tasks, and bytes of their scratch memory; `None` where that overflows.
fn grid(tasks: u64, block_tasks: u64, scratch: u64) -> Option<(u32, usize)> {
    let of_block = scratch.checked_mul(block_tasks)?;
    let most = SCRATCH.checked_div(of_block).unwrap_or(MOST_BLOCKS).clamp(1, MOST_BLOCKS);
    let blocks = tasks.div_ceil(block_tasks).min(most);
    Some((u32::try_from(blocks).ok()?, usize::try_from(of_block.checked_mul(blocks)?).ok()?))
}

impl Program for CudaProgram {
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
        let Some(sizes) = global else {
            let what = "running one task of a kernel by itself".into();
            return Err(DeviceError::Unsupported { device: self.device.clone(), what });
        };
        let tasks = sizes.iter().try_fold(1u64, |n, size| n.checked_mul(*size as u64));
        let tasks = tasks.and_then(|n| i64::try_from(n).ok());
        let too_many = || DeviceError::Execute {
            device: self.device.clone(),
            name: self.name.clone(),
            message: format!("{sizes:?} tasks are more than can be counted"),
        };
        let tasks = tasks.ok_or_else(too_many)?;
        if tasks == 0 {
            return Ok(());
        }
        let (blocks, bytes) = grid(tasks as u64, self.block_tasks, self.scratch).ok_or_else(too_many)?;
        let given = vals.iter().enumerate().filter(|(at, _)| Some(*at) != self.task).map(|(_, value)| *value);
        let values: SmallVec<[i64; 8]> = given.chain([tasks]).collect();
        if bytes == 0 {
            // SAFETY: the caller's promise.
            return unsafe { self.kernel.launch(&Launch { blocks, buffers, values: &values, memory: 0 }) };
        }
        let block = self.memory.alloc(bytes)?;
        let memory = block.ptr.as_ptr().addr() as u64;
        // SAFETY: the caller's promise; the scratch memory is as large as so many blocks need. Whoever is given it next
        // uses it later in the stream.
        unsafe {
            let done = self.kernel.launch(&Launch { blocks, buffers, values: &values, memory });
            self.memory.free(block);
            done
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn grids_have_a_block_for_some_tasks_within_the_scratch_memory() {
        assert_eq!(grid(1, 256, 0), Some((1, 0)));
        assert_eq!(grid(257, 256, 0), Some((2, 0)));
        assert_eq!(grid(1 << 40, 1, 0), Some((i32::MAX as u32, 0)));
        assert_eq!(grid(10, 4, 64), Some((3, 3 * 4 * 64)));
        assert_eq!(grid(1 << 40, 1, 1 << 20), Some((256, 256 << 20)));
        // A block that needs more than that has it.
        assert_eq!(grid(5, 1, 1 << 30), Some((1, 1 << 30)));
        assert_eq!(grid(5, 1 << 40, 1 << 40), None);
    }

    #[test]
    fn headers_come_back_as_they_were() {
        let phase =
            |entry: &str, scratch_bytes| PhaseCode { entry: entry.into(), threads: 128, block_tasks: 4, scratch_bytes };
        let text = Header { phases: vec![phase("a", 0), phase("a_1", 64)] }.to_string();
        let whole = format!("{text}.version 8.3\n\n.target");
        let (header, code) = Header::parse(whole.as_bytes()).unwrap();
        assert_eq!((header.to_string(), code), (text, &b".version 8.3\n\n.target"[..]));
        for damaged in ["", "\n\n", "phase a 1 1\n\n", "phase a 0 1 0\n\n", "phase a 1 0 0\n\n", "phase a 1 1 x\n\n"] {
            assert!(Header::parse(damaged.as_bytes()).is_none(), "{damaged:?}");
        }
    }
}
