//! The CPU as a device: its renderer, compiler and runtime, over the code generator.
//!
//! The source of a program is the text of its loop tree, so that code in the on-disk cache is found
//! without generating any. The compiled form is a header in text, which names entry points, scratch
//! sizes and contraction tiles, and after an empty line the object code.

use crate::disk_cache::{DiskCache, DiskKey};
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use std::sync::Arc;
use svod_codegen::load::{Code, Entry};
use svod_codegen::{CompileError, host, llvm, lower, tile};
use svod_device::program::{CORE_ID, Code as ProgramCode, entry_name};
use svod_device::{
    Block, CachingAllocator, CompiledSpec, Compiler, CpuAllocator, Device, DeviceError, DeviceSpec, Devices, HostEntry,
    Listing, Program, ProgramSpec, Renderer, Result, RuntimeFactory, host_memory,
};
use svod_ir::linear::TileSpec;
use svod_ir::lowered::Lowered;
use svod_ir::pass::Pass;
use svod_ir::target::Target;

/// Part of the memory that this process may use which is kept for reuse once it is freed.
const KEPT: usize = 8;

/// Devices of this kind at most: a larger number is a mistake.
const MOST: u32 = 1024;

/// A description of this machine.
pub(crate) fn host_target() -> Target {
    host::target()
}

/// Lets `devices` open CPUs, with the user's on-disk cache.
pub(crate) fn register(devices: &Devices, target: &Target) {
    let cache = DiskCache::user("code").map(Arc::new);
    let shared = Arc::new(Shared { target: target.clone(), cache, tiles: Mutex::default() });
    devices.register("CPU", move |spec| {
        if let DeviceSpec::Cpu(number) = spec
            && *number >= MOST
        {
            let expected = format!("CPU:0 to CPU:{}", MOST - 1);
            return Err(DeviceError::UnknownDevice { given: spec.to_string(), expected });
        }
        let memory = CachingAllocator::new(Arc::new(CpuAllocator::new(spec.clone())), host_memory() / KEPT);
        let cpu = Arc::new(Cpu { device: spec.clone(), shared: shared.clone() });
        Ok(Device::new(Arc::new(memory)).with_backend(cpu.clone(), cpu.clone()).with_runtime(cpu))
    });
}

/// A CPU's memory, with a compiler for this machine.
pub(crate) fn device_for(device: &Device, target: &Target) -> Device {
    let cache = DiskCache::user("code").map(Arc::new);
    let shared = Arc::new(Shared { target: target.clone(), cache, tiles: Mutex::default() });
    let cpu = Arc::new(Cpu { device: device.spec().clone(), shared });
    let device = Device::new(device.allocator().clone()).with_code_of(device);
    device.with_backend(cpu.clone(), cpu.clone()).with_runtime(cpu)
}

/// Renders, compiles and loads for one CPU.
#[derive(Debug)]
struct Cpu {
    device: DeviceSpec,
    shared: Arc<Shared>,
}

/// What all CPU devices share.
#[derive(Debug)]
struct Shared {
    target: Target,
    cache: Option<Arc<DiskCache>>,
    /// Contraction tiles that are loaded.
    tiles: Mutex<FxHashSet<TileSpec>>,
}

impl Renderer for Cpu {
    fn device(&self) -> &DeviceSpec {
        &self.device
    }

    fn render(&self, kernel: &Arc<Lowered>, name: Option<&str>) -> Result<ProgramSpec> {
        Ok(ProgramSpec::of_loops(kernel, name, self.device.clone())?)
    }

    fn listing(&self, kernel: &Lowered, what: Listing) -> Result<Option<String>> {
        let target = &self.shared.target;
        let failed = |e: CompileError| self.failed(&kernel.name, &e);
        let lists = lower::linearize(kernel, target).map_err(|e| failed(e.into()))?;
        let source = || llvm::module(&lists, target, llvm::Entry::task(target));
        let text = match what {
            Listing::Linear => lower::listing(&lists),
            Listing::Source => source(),
            Listing::Assembly => svod_codegen::assembly(&source(), target).map_err(failed)?,
        };
        Ok(Some(text))
    }
}

impl Compiler for Cpu {
    fn cache_key(&self) -> String {
        let Target { cpu, features, .. } = &self.shared.target;
        format!("llvm {cpu} {features}")
    }

    fn compile(&self, program: &ProgramSpec) -> Result<CompiledSpec> {
        let make = || {
            let object = svod_codegen::compile(&program.ast, &self.shared.target)?;
            let phases = object.phases.into_iter().map(|p| (p.entry, p.scratch_bytes)).collect();
            let header = Header { phases, tiles: object.tiles }.to_string();
            Ok([header.as_bytes(), &object.bytes].concat())
        };
        let bytes = self.cached(&program.source, make).map_err(|e| self.failed(&program.name, &e))?;
        Ok(program.compiled(ProgramCode::Bytes(bytes.into())))
    }
}

impl RuntimeFactory for Cpu {
    fn load(&self, device: &DeviceSpec, code: &CompiledSpec) -> Result<Vec<Arc<dyn Program>>> {
        let failed = |message: String| DeviceError::Load { device: device.clone(), name: code.name.clone(), message };
        let damaged = || failed("this is no code of the CPU's compiler".into());
        let (header, object) = code.bytes().and_then(Header::parse).ok_or_else(damaged)?;
        self.load_tiles(&header.tiles).map_err(|e| failed(e.to_string()))?;
        let loaded = Pass::Load.time(|| svod_codegen::load(&code.name, object, &header.tiles, &self.shared.target));
        let loaded = Arc::new(loaded.map_err(|e| failed(e.to_string()))?);
        let task = code.var_names.iter().position(|n| n == CORE_ID);
        let program = |(phase, (name, scratch)): (usize, &(String, u64))| {
            let entry = loaded.entry(name).ok_or_else(damaged)?;
            let scratch = usize::try_from(*scratch).map_err(|_| damaged())?;
            let (name, code) = (entry_name(&code.name, phase), loaded.clone());
            Ok(Arc::new(CpuProgram { name, entry, scratch, task, device: device.clone(), _code: code }) as _)
        };
        header.phases.iter().enumerate().map(program).collect()
    }
}

impl Cpu {
    /// What `make` makes of a source, from the on-disk cache where it is there.
    fn cached(
        &self,
        source: &str,
        make: impl FnOnce() -> Result<Vec<u8>, CompileError>,
    ) -> Result<Vec<u8>, CompileError> {
        let Some(cache) = &self.shared.cache else { return make() };
        let (major, minor, patch) = host::llvm_version();
        let llvm = format!("{major}.{minor}.{patch}");
        let key = DiskKey::new(&[&llvm, &format!("{:?}", self.shared.target), source]);
        if let Some(known) = Pass::Disk.time(|| cache.get(key)) {
            return Ok(known);
        }
        let made = make()?;
        Pass::Disk.time(|| cache.put(key, &made));
        Ok(made)
    }

    /// Loads the contraction tiles that are not loaded yet.
    fn load_tiles(&self, tiles: &[TileSpec]) -> Result<(), CompileError> {
        let target = &self.shared.target;
        // Held while compiling: whoever wants the same tile waits for it.
        let mut loaded = self.shared.tiles.lock();
        for spec in tiles {
            if !loaded.contains(spec) {
                let bytes = self.cached(&tile::symbol(spec), || svod_codegen::tile_object(spec, target))?;
                svod_codegen::install_tile(spec, target, &bytes)?;
                loaded.insert(*spec);
            }
        }
        Ok(())
    }

    fn failed(&self, name: &str, error: &CompileError) -> DeviceError {
        DeviceError::Compile { device: self.device.clone(), name: name.to_owned(), message: error.to_string() }
    }
}

/// What stands in front of the object code.
#[derive(Debug, PartialEq, Eq)]
struct Header {
    /// Entry point and scratch bytes of each phase.
    phases: Vec<(String, u64)>,
    tiles: Vec<TileSpec>,
}

impl std::fmt::Display for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (entry, scratch) in &self.phases {
            writeln!(f, "phase {entry} {scratch}")?;
        }
        for TileSpec { rows, cols, dtype, pairs, acc, a_panel, b_offsets, fetches } in &self.tiles {
            writeln!(f, "tile {rows} {cols} {dtype} {pairs} {acc} {a_panel} {b_offsets} {fetches}")?;
        }
        writeln!(f)
    }
}

impl Header {
    /// The header, which has a phase, and what follows it.
    fn parse(bytes: &[u8]) -> Option<(Header, &[u8])> {
        let end = bytes.windows(2).position(|w| w == b"\n\n")?;
        let mut header = Header { phases: Vec::new(), tiles: Vec::new() };
        for line in std::str::from_utf8(&bytes[..end]).ok()?.lines() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["phase", entry, scratch] => header.phases.push((entry.to_owned(), scratch.parse().ok()?)),
                ["tile", rows, cols, dtype, pairs, acc, a_panel, b_offsets, fetches] => header.tiles.push(TileSpec {
                    rows: rows.parse().ok()?,
                    cols: cols.parse().ok()?,
                    dtype: dtype.parse().ok()?,
                    pairs: pairs.parse().ok()?,
                    acc: acc.parse().ok()?,
                    a_panel: a_panel.parse().ok()?,
                    b_offsets: b_offsets.parse().ok()?,
                    fetches: fetches.parse().ok()?,
                }),
                _ => return None,
            }
        }
        (!header.phases.is_empty()).then_some((header, &bytes[end + 2..]))
    }
}

/// One phase of a kernel, loaded.
#[derive(Debug)]
struct CpuProgram {
    name: String,
    device: DeviceSpec,
    entry: Entry,
    scratch: usize,
    /// Position of the task's index among the values.
    task: Option<usize>,
    /// Keeps `entry` callable.
    _code: Arc<Code>,
}

impl Program for CpuProgram {
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
        let mut scratch: Vec<Line> = Vec::new();
        let lines = self.scratch.div_ceil(Block::ALIGN);
        let none = DeviceError::OutOfMemory { bytes: self.scratch, device: self.device.clone(), held: String::new() };
        scratch.try_reserve_exact(lines).map_err(|_| none)?;
        let mut pointers = buffers.to_vec();
        pointers.push(scratch.as_mut_ptr().cast());
        let mut vals = vals.to_vec();
        let mut call = |task: Option<usize>| {
            if let (Some(at), Some(task)) = (self.task, task) {
                vals[at] = task as i64;
            }
            // SAFETY: the caller's promise; the scratch memory is aligned and as large as needed.
            unsafe { (self.entry)(pointers.as_ptr(), vals.as_ptr()) };
        };
        match global {
            Some(sizes) => (0..sizes.iter().product()).for_each(|task| call(Some(task))),
            None => call(None),
        }
        Ok(())
    }

    fn host_entry(&self) -> Option<HostEntry> {
        Some(HostEntry { call: self.entry, scratch: self.scratch })
    }
}

/// Memory aligned as scratch memory must be.
#[repr(align(64))]
struct Line(#[allow(dead_code)] [u8; Block::ALIGN]);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::mutate::fuzz_bytes;
    use svod_dtype::DType;

    /// The header of two phases and a tile.
    fn header() -> Header {
        let (dtype, acc) = (DType::F16, DType::F32);
        let tile = TileSpec { rows: 6, cols: 16, dtype, pairs: true, acc, a_panel: true, b_offsets: false, fetches: 2 };
        Header { phases: vec![("mm".into(), 64), ("mm_1".into(), 0)], tiles: vec![tile] }
    }

    #[test]
    fn fuzzed_headers_are_refused_or_come_back_as_they_were() {
        let short = Header { phases: vec![("sum".into(), 0)], tiles: Vec::new() };
        let samples = [header(), short].map(|header| [header.to_string().as_bytes(), b"\x7fELF\n\n"].concat());
        fuzz_bytes("header of code", &samples, |bytes| {
            if let Some((header, object)) = Header::parse(bytes) {
                let printed = [header.to_string().as_bytes(), object].concat();
                assert_eq!(Header::parse(&printed), Some((header, object)));
            }
        });
    }

    #[test]
    fn headers_come_back_as_they_were() {
        let header = header();
        let bytes = [header.to_string().as_bytes(), b"\x7fELF\n\n"].concat();
        assert_eq!(Header::parse(&bytes), Some((header, &b"\x7fELF\n\n"[..])));
        assert_eq!(Header::parse(b"phase a\n\n"), None);
        assert_eq!(Header::parse(b"\n\n"), None);
        assert_eq!(Header::parse(b""), None);
    }
}
