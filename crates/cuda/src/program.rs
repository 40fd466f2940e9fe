//! Kernels of a GPU: rendered, compiled, loaded and launched.
//!
//! The source of a program is the text of its loop tree, so that code that was compiled before is found without generating
//! any. The compiled form is a header in text, a line for each phase, and after an empty line the code.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::{self, Write};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use smallvec::{SmallVec, smallvec};
use svod_codegen::gpu::{self, Alignment, Call, PhaseCode, Runner, Texts};
use svod_codegen::{CompileError, host};
use svod_device::program::{CORE_ID, Code, entry_name};
use svod_device::{
    Allocator, Block, CompiledSpec, Compiler, DeviceError, DeviceSpec, Listing, Program, ProgramSpec, Recorded,
    Renderer, Result, RuntimeFactory,
};
use svod_ir::lowered::Lowered;
use svod_ir::pass::Pass;
use svod_ir::target::Target;

use crate::driver::{Gpu, Graph, Kernel, Launch, Module};
use crate::machine::CodeCache;

/// Bytes of scratch memory that the tasks of a launch have together, unless one block needs more.
const SCRATCH: u64 = 256 << 20;

/// Tasks that all blocks of a launch do at one time, at most: code counts them in 32 bits.
const MOST_AT_ONCE: u64 = i32::MAX as u64;

/// Renders, compiles and loads for one GPU.
#[derive(Debug)]
pub(crate) struct Cuda(pub Arc<Compute>);

/// What all programs of a GPU need.
#[derive(Debug)]
pub(crate) struct Compute {
    pub device: DeviceSpec,
    pub target: Target,
    pub gpu: Arc<dyn Gpu>,
    pub runner: Runner,
    pub memory: Arc<dyn Allocator>,
    pub cache: Arc<dyn CodeCache>,
    pub made: Made,
}

/// What was made before, and serves kernels of the same text.
#[derive(Debug, Default)]
pub(crate) struct Made {
    texts: Texts,
    modules: Mutex<HashMap<Vec<u8>, Place>>,
}

/// A module while something uses it; locked by whoever loads it.
type Place = Arc<Mutex<Option<Weak<dyn Module>>>>;

impl Made {
    /// The module of a text, which is loaded unless it is in use.
    fn module(&self, code: &[u8], load: impl FnOnce() -> Result<Arc<dyn Module>>) -> Result<Arc<dyn Module>> {
        let place = {
            let mut modules = self.modules.lock();
            // Those that nobody uses any more, and nobody is about to.
            let used = |place: &Place| place.lock().as_ref().is_some_and(|module| module.strong_count() > 0);
            modules.retain(|_, place| Arc::strong_count(place) > 1 || used(place));
            match modules.get(code) {
                Some(place) => place.clone(),
                None => modules.entry(code.to_vec()).or_default().clone(),
            }
        };
        let mut known = place.lock();
        if let Some(module) = known.as_ref().and_then(Weak::upgrade) {
            return Ok(module);
        }
        let module = load()?;
        *known = Some(Arc::downgrade(&module));
        Ok(module)
    }
}

impl Compute {
    fn failed(&self, name: &str, error: &CompileError) -> DeviceError {
        DeviceError::Compile { device: self.device.clone(), name: name.to_owned(), message: error.to_string() }
    }

    /// A kernel's header and code, from the cache where that has it; `source` is the kernel's text.
    fn code(&self, name: &str, source: &str, kernel: &Lowered, alignment: Alignment) -> Result<Vec<u8>> {
        let (major, minor, patch) = host::llvm_version();
        let llvm = format!("{major}.{minor}.{patch}");
        let (target, form) = (format!("{:?}", self.target), format!("{:?} {alignment:?}", self.runner));
        let parts = [llvm.as_str(), &target, &form, source];
        let known = Pass::Disk.time(|| self.cache.get(&parts)).filter(|code| Header::parse(code).is_some());
        if let Some(known) = known {
            return Ok(known);
        }
        let object = gpu::compile_with(kernel, &self.target, self.runner, alignment, &self.made.texts);
        let object = object.map_err(|e| self.failed(name, &e))?;
        let header = Header { phases: object.phases }.to_string();
        let made = [header.as_bytes(), &object.bytes].concat();
        Pass::Disk.time(|| self.cache.put(&parts, &made));
        Ok(made)
    }

    /// The module of code, which is loaded once for all kernels that have it.
    fn module(&self, name: &str, code: &[u8]) -> Result<Arc<dyn Module>> {
        self.made.module(code, || self.load_module(name, code))
    }

    /// Loads code: as machine code where that is known, or is made apart from loading.
    fn load_module(&self, name: &str, code: &[u8]) -> Result<Arc<dyn Module>> {
        let (Some(assembler), Ok(text)) = (self.gpu.assembler(), std::str::from_utf8(code)) else {
            return self.gpu.load(name, code);
        };
        let parts = ["machine code", assembler.as_str(), text];
        let known = self.cache.get(&parts).and_then(|known| self.gpu.load(name, &known).ok());
        if let Some(module) = known {
            return Ok(module);
        }
        let Some(made) = self.gpu.assemble(code) else { return self.gpu.load(name, code) };
        let module = self.gpu.load(name, &made).or_else(|_| self.gpu.load(name, code))?;
        self.cache.put(&parts, &made);
        Ok(module)
    }

    /// The kernels of a header and code, with what stands in the header.
    fn load(&self, name: &str, code: &[u8]) -> Result<Vec<Launches>> {
        let (header, bytes) = Header::parse(code).ok_or_else(|| DeviceError::Load {
            device: self.device.clone(),
            name: name.to_owned(),
            message: "this is no code of CUDA's compiler".into(),
        })?;
        // Kernels that are written as wholes have a text each.
        let texts: Vec<&[u8]> = match header.phases.iter().all(|phase| phase.whole.is_some()) {
            true => bytes.split(|byte| *byte == 0).collect(),
            false => vec![bytes],
        };
        let mut launches: Vec<Launches> = Vec::new();
        for (n, phase) in header.phases.into_iter().enumerate() {
            if phase.whole.as_ref().is_some_and(|call| call.blocks == 0) {
                launches.push(Launches::new());
                continue;
            }
            let text = texts[n.min(texts.len() - 1)];
            let module = Pass::Load.time(|| self.module(name, text))?;
            let kernel = module.kernel(&phase.entry, phase.threads)?;
            match launches.last_mut().filter(|_| phase.whole.as_ref().is_some_and(|call| call.follows)) {
                Some(before) => before.push((phase, kernel)),
                None => launches.push(smallvec![(phase, kernel)]),
            }
        }
        Ok(launches)
    }
}

impl Renderer for Cuda {
    fn device(&self) -> &DeviceSpec {
        &self.0.device
    }

    fn render(&self, kernel: &Arc<Lowered>, name: Option<&str>) -> Result<ProgramSpec> {
        Ok(ProgramSpec::of_loops(kernel, name, self.0.device.clone())?)
    }

    fn listing(&self, kernel: &Lowered, what: Listing) -> Result<Option<String>> {
        let Compute { target, .. } = &*self.0;
        let failed = |e: CompileError| self.0.failed(&kernel.name, &e);
        let text = match what {
            Listing::Linear => gpu::linear(kernel, target).map_err(failed)?,
            Listing::Source | Listing::Assembly => {
                // Also of a device that is simulated.
                let object = gpu::compile(kernel, target, Runner::Driver, Alignment::Widest).map_err(failed)?;
                match what {
                    Listing::Source => object.source,
                    _ => String::from_utf8_lossy(&object.bytes).replace('\0', "\n"),
                }
            }
        };
        Ok(Some(text))
    }
}

impl Compiler for Cuda {
    fn cache_key(&self) -> String {
        let Target { cpu, features, .. } = &self.0.target;
        format!("{:?} {cpu} {features}", self.0.runner)
    }

    fn compile(&self, program: &ProgramSpec) -> Result<CompiledSpec> {
        let bytes = self.0.code(&program.name, &program.source, &program.ast, Alignment::Widest)?;
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
        let loaded = self.0.load(&code.name, code.bytes().ok_or_else(damaged)?)?;
        let task = code.var_names.iter().position(|n| n == CORE_ID);
        let (name, ast) = (code.name.clone(), code.ast.clone());
        let whole = Arc::new(Whole { compute: self.0.clone(), name, ast, unaligned: Mutex::new(None) });
        let program = |(phase, launches): (usize, Launches)| {
            let name = entry_name(&whole.name, phase);
            Arc::new(CudaProgram { name, phase, launches, task, whole: whole.clone() }) as _
        };
        Ok(loaded.into_iter().enumerate().map(program).collect())
    }

    fn record(&self, runs: &mut dyn FnMut() -> Result<()>) -> Result<Option<Box<dyn Recorded>>> {
        let compute = &*self.0;
        compute.gpu.begin_recording()?;
        SCRATCH_BLOCKS.set(Some(Vec::new()));
        let done = runs();
        let blocks = SCRATCH_BLOCKS.take().unwrap_or_default();
        let graph = compute.gpu.end_recording();
        let scratch = Held { memory: compute.memory.clone(), blocks };
        done?;
        Ok(Some(Box::new(Recording { graph: graph?, _scratch: scratch })))
    }
}

thread_local! {
    /// Scratch memory of the launches that this thread records, where it does: they have it as long as the recording.
    static SCRATCH_BLOCKS: RefCell<Option<Vec<Block>>> = const { RefCell::new(None) };
}

/// Launches, and the scratch memory that they use. The graph goes first: then nothing uses that any more.
#[derive(Debug)]
struct Recording {
    graph: Box<dyn Graph>,
    _scratch: Held,
}

impl Recorded for Recording {
    unsafe fn run(&self) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.graph.launch() }
    }
}

/// Blocks of memory, until this is dropped.
#[derive(Debug)]
struct Held {
    memory: Arc<dyn Allocator>,
    blocks: Vec<Block>,
}

impl Drop for Held {
    fn drop(&mut self) {
        for block in self.blocks.drain(..) {
            // SAFETY: the memory made it. What still runs comes before whatever is given it next in the stream.
            unsafe { self.memory.free(block) };
        }
    }
}

/// What stands in front of the code.
#[derive(Debug)]
struct Header {
    phases: Vec<PhaseCode>,
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for PhaseCode { entry, threads, block_tasks, scratch_bytes, whole } in &self.phases {
            write!(f, "phase {entry} {threads} {block_tasks} {scratch_bytes}")?;
            whole.iter().try_for_each(|call| write!(f, " whole {call}"))?;
            f.write_char('\n')?;
        }
        f.write_char('\n')
    }
}

impl Header {
    /// The header, which has a phase, and what follows it.
    fn parse(bytes: &[u8]) -> Option<(Header, &[u8])> {
        let end = bytes.windows(2).position(|w| w == b"\n\n")?;
        let phase = |line: &str| {
            let (line, whole) = match line.split_once(" whole ") {
                Some((line, call)) => (line, Some(Call::parse(call)?)),
                None => (line, None),
            };
            Some(PhaseCode { whole, ..plain(line)? })
        };
        fn plain(line: &str) -> Option<PhaseCode> {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["phase", entry, threads, tasks, scratch] => Some(PhaseCode {
                    entry: entry.to_owned(),
                    threads: threads.parse().ok().filter(|n| *n > 0)?,
                    block_tasks: tasks.parse().ok().filter(|n| *n > 0)?,
                    scratch_bytes: scratch.parse().ok()?,
                    whole: None,
                }),
                _ => None,
            }
        }
        let phases: Vec<PhaseCode> =
            std::str::from_utf8(&bytes[..end]).ok()?.lines().map(phase).collect::<Option<_>>()?;
        (!phases.is_empty()).then_some((Header { phases }, &bytes[end + 2..]))
    }
}

/// The launches of a phase: one, or several of kernels that are written as wholes; none where an earlier phase does its work.
type Launches = SmallVec<[(PhaseCode, Arc<dyn Kernel>); 1]>;

/// A kernel of which phases are loaded.
#[derive(Debug)]
struct Whole {
    compute: Arc<Compute>,
    name: String,
    ast: Arc<Lowered>,
    /// Its phases for arguments of which nothing is known but the alignment of their elements, made when there are some.
    unaligned: Mutex<Option<Arc<[Launches]>>>,
}

impl Whole {
    fn unaligned(&self) -> Result<Arc<[Launches]>> {
        let mut made = self.unaligned.lock();
        if let Some(made) = &*made {
            return Ok(made.clone());
        }
        let code = self.compute.code(&self.name, &self.ast.to_string(), &self.ast, Alignment::Element)?;
        Ok(made.insert(self.compute.load(&self.name, &code)?.into()).clone())
    }
}

/// One phase of a kernel, loaded.
#[derive(Debug)]
struct CudaProgram {
    name: String,
    phase: usize,
    launches: Launches,
    /// Position of the task's index among the values, which the code is not given.
    task: Option<usize>,
    whole: Arc<Whole>,
}

/// Number of blocks for so many tasks, and bytes of their scratch memory; `None` where that overflows.
fn grid(tasks: u64, block_tasks: u64, scratch: u64) -> Option<(u32, usize)> {
    let of_block = scratch.checked_mul(block_tasks)?;
    let most = SCRATCH.checked_div(of_block).unwrap_or(MOST_AT_ONCE).min(MOST_AT_ONCE / block_tasks).max(1);
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
        let device = &self.whole.compute.device;
        let Some(sizes) = global else {
            let what = "running one task of a kernel by itself".into();
            return Err(DeviceError::Unsupported { device: device.clone(), what });
        };
        let tasks = sizes.iter().try_fold(1u64, |n, size| n.checked_mul(*size as u64));
        let tasks = tasks.and_then(|n| i64::try_from(n).ok());
        let too_many = || DeviceError::Execute {
            device: device.clone(),
            name: self.name.clone(),
            message: format!("{sizes:?} tasks are more than can be counted"),
        };
        let tasks = tasks.ok_or_else(too_many)?;
        if tasks == 0 {
            return Ok(());
        }
        let unaligned = buffers.iter().any(|b| !b.addr().is_multiple_of(Alignment::BYTES));
        let unaligned = if unaligned { Some(self.whole.unaligned()?) } else { None };
        let unaligned = unaligned.as_ref().and_then(|phases| phases.get(self.phase));
        let launches = unaligned.unwrap_or(&self.launches);
        // Phases are the same in both, and so are their threads, but for kernels that are written as wholes.
        let Some((code, kernel)) = launches.first() else { return Ok(()) };
        if let Some(first) = &code.whole {
            let bytes = usize::try_from(first.scratch).map_err(|_| too_many())?;
            return self.with_scratch(bytes, |scratch| {
                let calls = launches.iter().filter_map(|(code, kernel)| Some((code.whole.as_ref()?, kernel)));
                for (call, kernel) in calls {
                    // SAFETY: the caller's promise; scratch memory is as large as the calls need.
                    unsafe { kernel.launch_whole(call, buffers, scratch)? };
                }
                Ok(())
            });
        }
        let (each, scratch) = (u64::from(code.block_tasks), code.scratch_bytes);
        let (blocks, bytes) = grid(tasks as u64, each, scratch).ok_or_else(too_many)?;
        let given = vals.iter().enumerate().filter(|(at, _)| Some(*at) != self.task).map(|(_, value)| *value);
        let values: SmallVec<[i64; 8]> = given.chain([tasks]).collect();
        self.with_scratch(bytes, |memory| {
            // SAFETY: the caller's promise; the scratch memory is as large as so many blocks need.
            unsafe { kernel.launch(&Launch { blocks, buffers, values: &values, memory }) }
        })
    }
}

impl CudaProgram {
    /// Launches with the address of so much scratch memory, 0 for none. Whoever is given it next uses it later in the stream.
    fn with_scratch(&self, bytes: usize, launch: impl FnOnce(u64) -> Result<()>) -> Result<()> {
        if bytes == 0 {
            return launch(0);
        }
        let memory = &self.whole.compute.memory;
        let block = memory.alloc(bytes)?;
        let done = launch(block.ptr.as_ptr().addr() as u64);
        let mut block = Some(block);
        SCRATCH_BLOCKS.with_borrow_mut(|held| {
            if let Some(held) = held {
                held.extend(block.take());
            }
        });
        if let Some(block) = block {
            // SAFETY: the memory made it, and nothing else is launched with it.
            unsafe { memory.free(block) };
        }
        done
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
        // All tasks that are done at one time are counted in 32 bits.
        assert_eq!(grid(1 << 40, 128, 0), Some((i32::MAX as u32 / 128, 0)));
        assert_eq!(grid(10, 4, 64), Some((3, 3 * 4 * 64)));
        assert_eq!(grid(1 << 40, 1, 1 << 20), Some((256, 256 << 20)));
        // A block that needs more than that has it.
        assert_eq!(grid(5, 1, 1 << 30), Some((1, 1 << 30)));
        assert_eq!(grid(5, 1 << 40, 1 << 40), None);
    }

    #[test]
    fn headers_come_back_as_they_were() {
        let phase = |entry: &str, scratch_bytes| PhaseCode {
            entry: entry.into(),
            threads: 128,
            block_tasks: 4,
            scratch_bytes,
            whole: None,
        };
        let call = Call::parse("132 1 4096 64 0;map bf16 0 32 8 9 10 16 144 64 128 1;pointer 2 4;number -7;scratch 64")
            .unwrap();
        let whole = PhaseCode { whole: Some(call), ..phase("b", 0) };
        let text = Header { phases: vec![phase("a", 0), phase("a_1", 64), whole] }.to_string();
        let whole = format!("{text}.version 8.3\n\n.target");
        let (header, code) = Header::parse(whole.as_bytes()).unwrap();
        assert_eq!((header.to_string(), code), (text, &b".version 8.3\n\n.target"[..]));
        for damaged in ["", "\n\n", "phase a 1 1\n\n", "phase a 0 1 0\n\n", "phase a 1 0 0\n\n", "phase a 1 1 x\n\n"] {
            assert!(Header::parse(damaged.as_bytes()).is_none(), "{damaged:?}");
        }
    }
}
