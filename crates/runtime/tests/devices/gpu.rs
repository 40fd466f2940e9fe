//! A pretended GPU. Its memory has addresses that mean nothing to the host: whoever follows one
//! crashes. Its code is text, from which alone the runtime makes programs.

use crate::common::interpret;
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use svod_device::program::{Code, Metadata};
use svod_device::*;
use svod_ir::lowered::{Lowered, Phase};

/// Addresses from here on are not canonical on any machine that this runs on.
const FIRST: usize = 1 << 60;

/// Memory by its first address; freed blocks are gone, and addresses are never used again.
#[derive(Debug)]
pub struct Vram {
    device: DeviceSpec,
    blocks: Mutex<(usize, BTreeMap<usize, Vec<u8>>)>,
    pub copies: AtomicUsize,
    /// Number of program runs.
    pub runs: AtomicUsize,
    peak: AtomicUsize,
}

impl Vram {
    pub fn new(device: DeviceSpec) -> Arc<Vram> {
        let blocks = Mutex::new((FIRST, BTreeMap::new()));
        let [copies, runs, peak] = [0; 3].map(AtomicUsize::new);
        Arc::new(Vram { device, blocks, copies, runs, peak })
    }

    /// What lies at an address.
    fn at<T>(&self, address: usize, bytes: usize, access: impl FnOnce(&mut [u8]) -> T) -> T {
        let (_, blocks) = &mut *self.blocks.lock().unwrap();
        let (start, block) = blocks.range_mut(..=address).next_back().expect("memory of this device");
        access(&mut block[address - start..][..bytes])
    }
}

impl Allocator for Vram {
    fn device(&self) -> &DeviceSpec {
        &self.device
    }

    fn alloc(&self, bytes: usize) -> Result<Block> {
        let (next, blocks) = &mut *self.blocks.lock().unwrap();
        let start = *next;
        *next += bytes.next_multiple_of(256) + 4096;
        blocks.insert(start, vec![0xAB; bytes]);
        let live = blocks.values().map(Vec::len).sum();
        self.peak.fetch_max(live, Ordering::Relaxed);
        Ok(Block { ptr: NonNull::new(std::ptr::without_provenance_mut(start)).unwrap(), bytes })
    }

    unsafe fn free(&self, block: Block) {
        self.blocks.lock().unwrap().1.remove(&block.ptr.as_ptr().addr()).expect("freed once");
    }

    unsafe fn copy_in(&self, dst: NonNull<u8>, src: *const u8, bytes: usize) -> Result<()> {
        self.copies.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        let src = unsafe { std::slice::from_raw_parts(src, bytes) };
        self.at(dst.as_ptr().addr(), bytes, |to| to.copy_from_slice(src));
        Ok(())
    }

    unsafe fn copy_out(&self, dst: *mut u8, src: NonNull<u8>, bytes: usize) -> Result<()> {
        self.copies.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        let dst = unsafe { std::slice::from_raw_parts_mut(dst, bytes) };
        self.at(src.as_ptr().addr(), bytes, |from| dst.copy_from_slice(from));
        Ok(())
    }

    fn host_visible(&self) -> bool {
        false
    }

    fn read_only(&self) -> bool {
        false
    }

    fn stats(&self) -> MemoryStats {
        let live = self.blocks.lock().unwrap().1.values().map(Vec::len).sum();
        MemoryStats { live, cached: 0, peak: self.peak.load(Ordering::Relaxed) }
    }

    fn trim(&self) {}
}

/// Renders and compiles for all GPUs of a context.
#[derive(Debug)]
pub struct Gpu {
    device: DeviceSpec,
    pub compiled: AtomicUsize,
}

impl Renderer for Gpu {
    fn device(&self) -> &DeviceSpec {
        &self.device
    }

    fn render(&self, kernel: &Arc<Lowered>, name: Option<&str>) -> Result<ProgramSpec> {
        let metadata = Metadata { name: name.unwrap_or_default().into(), ..Metadata::default() };
        Ok(ProgramSpec::derive(kernel, kernel.to_string(), self.device.clone(), metadata)?)
    }
}

impl Compiler for Gpu {
    fn cache_key(&self) -> String {
        "pretended".into()
    }

    fn compile(&self, program: &ProgramSpec) -> Result<CompiledSpec> {
        self.compiled.fetch_add(1, Ordering::Relaxed);
        Ok(program.compiled(Code::Bytes(program.source.as_bytes().into())))
    }
}

#[derive(Debug)]
struct GpuRuntime(Arc<Vram>);

impl RuntimeFactory for GpuRuntime {
    fn load(&self, device: &DeviceSpec, code: &CompiledSpec) -> Result<Vec<Arc<dyn Program>>> {
        assert_eq!(device, &self.0.device);
        let text = std::str::from_utf8(code.bytes().unwrap()).unwrap();
        let kernel = Arc::new(Lowered::parse(text).unwrap());
        let spec = ProgramSpec::derive(&kernel, String::new(), device.clone(), Metadata::default())?;
        let program = |phase: &Phase| {
            let kernel = Lowered { phases: vec![phase.clone()], ..Lowered::clone(&kernel) };
            Arc::new(GpuProgram { kernel, spec: spec.clone(), memory: self.0.clone() }) as Arc<dyn Program>
        };
        Ok(kernel.phases.iter().map(program).collect())
    }
}

#[derive(Debug)]
struct GpuProgram {
    kernel: Lowered,
    spec: ProgramSpec,
    memory: Arc<Vram>,
}

impl Program for GpuProgram {
    fn name(&self) -> &str {
        &self.kernel.name
    }

    unsafe fn run(
        &self,
        buffers: &[*mut u8],
        vals: &[i64],
        global: Option<[usize; 3]>,
        _local: Option<[usize; 3]>,
    ) -> Result<()> {
        assert!(global.is_some_and(|g| g.iter().all(|n| *n > 0)));
        self.memory.runs.fetch_add(1, Ordering::Relaxed);
        let read = |at: usize, bytes| self.memory.at(buffers[at].addr(), bytes, |b| b.to_vec());
        let write = |at: usize, to: &[u8]| self.memory.at(buffers[at].addr(), to.len(), |b| b.copy_from_slice(to));
        interpret(&self.kernel, &self.spec, vals, read, write);
        Ok(())
    }
}

/// Adds two GPUs to a context's devices; gives their compiler and memories.
pub fn register(devices: &Devices) -> (Arc<Gpu>, [Arc<Vram>; 2]) {
    let gpu = Arc::new(Gpu { device: DeviceSpec::Cuda(0), compiled: AtomicUsize::new(0) });
    let memories = [0, 1].map(|n| Vram::new(DeviceSpec::Cuda(n)));
    let (backend, known) = (gpu.clone(), memories.clone());
    devices.register("CUDA", move |spec| match known.iter().find(|m| m.device() == spec) {
        Some(memory) => Ok(Device::new(memory.clone())
            .with_backend(backend.clone(), backend.clone())
            .with_runtime(Arc::new(GpuRuntime(memory.clone())))),
        None => Err(DeviceError::UnknownDevice { given: spec.to_string(), expected: "CUDA:0 or CUDA:1".into() }),
    });
    (gpu, memories)
}
