//! GPUs that are simulated on this machine, so that what runs on them is tested where there is none.
//!
//! Code is that of the kernels themselves, compiled for this machine ([`Runner::Simulator`]); `warp` runs its threads.
//! Memory has addresses that only the simulator can follow: whoever else does crashes, as with a GPU's.

mod memory;
mod warp;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use smallvec::SmallVec;
use svod_codegen::gpu::{Call, Runner};
use svod_codegen::load::{Address, Code};
use svod_device::{DeviceError, DeviceSpec, Result};

use crate::driver::{Driver, Gpu, Graph, Info, Kernel, Launch, Module};
use memory::Memory;

/// Bytes that a simulated GPU has.
const BYTES: usize = 16 << 30;

/// Number of simulated GPUs.
const COUNT: u32 = 2;

/// Blocks of a launch at most: any number of them does all tasks.
const BLOCKS: u64 = 48;

/// A driver of simulated GPUs.
#[derive(Clone, Debug)]
pub(crate) struct Simulator {
    capability: (u32, u32),
    multiprocessors: usize,
    seed: u64,
}

impl Simulator {
    /// What a text asks for: `sim:sm_80` or `sim:sm_90`, and perhaps `:` and a seed, by which the order of threads is
    /// another one.
    pub fn parse(text: &str) -> Option<Simulator> {
        let mut parts = text.strip_prefix("sim:")?.split(':');
        let (capability, multiprocessors) = match parts.next()? {
            "sm_80" => ((8, 0), 108),
            "sm_90" | "sm_90a" => ((9, 0), 132),
            _ => return None,
        };
        let seed = parts.next().map_or(Some(0), |seed| seed.parse().ok())?;
        parts.next().is_none().then_some(Simulator { capability, multiprocessors, seed })
    }

    fn check(number: u32) -> Result<()> {
        match number < COUNT {
            true => Ok(()),
            false => Err(DeviceError::UnknownDevice {
                given: DeviceSpec::Cuda(number).to_string(),
                expected: format!("CUDA:0 to CUDA:{}", COUNT - 1),
            }),
        }
    }
}

impl Driver for Simulator {
    fn runner(&self) -> Runner {
        Runner::Simulator
    }

    fn count(&self) -> Result<u32> {
        Ok(COUNT)
    }

    fn info(&self, number: u32) -> Result<Info> {
        Simulator::check(number)?;
        let (major, minor) = self.capability;
        Ok(Info {
            name: format!("simulator of sm_{major}{minor}"),
            memory: BYTES,
            capability: self.capability,
            multiprocessors: self.multiprocessors,
            l2: 0,
            shared: 0,
            clock: 0,
            bandwidth: 0,
        })
    }

    fn open(&self, number: u32) -> Result<Arc<dyn Gpu>> {
        Simulator::check(number)?;
        let device = DeviceSpec::Cuda(number);
        let memory = Memory::new(BYTES).ok_or_else(|| DeviceError::NoDriver {
            kind: "CUDA",
            why: "there are no addresses for the memory of a simulated GPU".into(),
        })?;
        let (lost, launches) = (Mutex::new(None), AtomicU64::new(self.seed));
        Ok(Arc::new(SimulatedGpu(Arc::new(Open { device, memory: Mutex::new(memory), lost, launches }))))
    }
}

#[derive(Debug)]
struct SimulatedGpu(Arc<Open>);

#[derive(Debug)]
struct Open {
    device: DeviceSpec,
    memory: Mutex<Memory>,
    /// What went wrong in a kernel: nothing is done any more.
    lost: Mutex<Option<DeviceError>>,
    /// Number of launches, by which their orders differ.
    launches: AtomicU64,
}

impl Open {
    fn check(&self) -> Result<()> {
        match &*self.lost.lock() {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    fn trap(&self, kernel: &str, message: String) -> DeviceError {
        let kernels = vec![kernel.to_owned()];
        let error = DeviceError::Trapped { device: self.device.clone(), kernels, message };
        self.lost.lock().get_or_insert(error).clone()
    }

    /// Where the simulator finds the bytes at an address, which are of one block.
    fn host(&self, address: u64, bytes: usize) -> Result<*mut u8> {
        self.check()?;
        let found = self.memory.lock().host(address, bytes);
        found.ok_or_else(|| self.trap("copy", format!("{bytes} bytes at {address:#x} are not of a block")))
    }
}

impl Gpu for SimulatedGpu {
    fn free_memory(&self) -> Result<(usize, usize)> {
        self.0.check()?;
        Ok((self.0.memory.lock().free_bytes(), BYTES))
    }

    fn alloc(&self, bytes: usize) -> Result<Option<u64>> {
        self.0.check()?;
        Ok(self.0.memory.lock().alloc(bytes))
    }

    unsafe fn free(&self, address: u64) {
        if let Err(message) = self.0.memory.lock().free(address) {
            let _ = self.0.trap("of those that used a block that is freed", message);
        }
    }

    unsafe fn copy_in(&self, dst: u64, src: *const u8, bytes: usize) -> Result<()> {
        let to = self.0.host(dst, bytes)?;
        // SAFETY: the caller's promise.
        unsafe { to.copy_from_nonoverlapping(src, bytes) };
        Ok(())
    }

    unsafe fn copy_out(&self, dst: *mut u8, src: u64, bytes: usize) -> Result<()> {
        let from = self.0.host(src, bytes)?;
        // SAFETY: the caller's promise.
        unsafe { dst.copy_from_nonoverlapping(from, bytes) };
        Ok(())
    }

    unsafe fn copy_within(&self, dst: u64, src: u64, bytes: usize) -> Result<()> {
        let (to, from) = (self.0.host(dst, bytes)?, self.0.host(src, bytes)?);
        // SAFETY: the caller's promise.
        unsafe { to.copy_from_nonoverlapping(from, bytes) };
        Ok(())
    }

    unsafe fn copy_across(&self, dst: u64, from: &dyn Gpu, src: u64, bytes: usize) -> Option<Result<()>> {
        let other = from.as_any().downcast_ref::<SimulatedGpu>()?;
        let found = self.0.host(dst, bytes).and_then(|to| Ok((to, other.0.host(src, bytes)?)));
        // SAFETY: the caller's promise; memory of two GPUs does not overlap.
        Some(found.map(|(to, from)| unsafe { to.copy_from_nonoverlapping(from, bytes) }))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn begin_recording(&self) -> Result<()> {
        self.0.check()?;
        RECORDED.set(Some(Vec::new()));
        Ok(())
    }

    fn end_recording(&self) -> Result<Box<dyn Graph>> {
        Ok(Box::new(SimulatedGraph { launches: RECORDED.take().unwrap_or_default() }))
    }

    fn load(&self, name: &str, code: &[u8]) -> Result<Arc<dyn Module>> {
        self.0.check()?;
        let fibers = Cell::new(false);
        let resolve = |name: &str| {
            fibers.set(fibers.get() || warp::calls_warp(name));
            symbol(name)
        };
        let code = Code::load(name, code, &resolve).map_err(|error| DeviceError::Load {
            device: self.0.device.clone(),
            name: name.into(),
            message: error.to_string(),
        })?;
        Ok(Arc::new(SimulatedModule { gpu: self.0.clone(), code, fibers: fibers.get(), name: name.into() }))
    }

    fn synchronize(&self) -> Result<()> {
        self.0.check()
    }
}

/// A launch that is to be: the kernel, its blocks and the words of its arguments.
type Recorded = (SimulatedKernel, u32, SmallVec<[u64; 16]>);

thread_local! {
    /// What this thread has launched since it began to record, where it does.
    static RECORDED: RefCell<Option<Vec<Recorded>>> = const { RefCell::new(None) };
}

#[derive(Debug)]
struct SimulatedGraph {
    launches: Vec<Recorded>,
}

impl Graph for SimulatedGraph {
    unsafe fn launch(&self) -> Result<()> {
        // SAFETY: the caller's promise.
        self.launches.iter().try_for_each(|(kernel, blocks, words)| unsafe { kernel.run(*blocks, words) })
    }
}

/// What code calls.
fn symbol(name: &str) -> Option<Address> {
    match name {
        "memcpy" => Some(Address(libc::memcpy as *const () as usize)),
        "memmove" => Some(Address(libc::memmove as *const () as usize)),
        "memset" => Some(Address(libc::memset as *const () as usize)),
        _ => warp::symbol(name),
    }
}

#[derive(Debug)]
struct SimulatedModule {
    gpu: Arc<Open>,
    code: Code,
    /// Whether its threads ask something of each other.
    fibers: bool,
    name: String,
}

impl Module for SimulatedModule {
    fn kernel(self: Arc<Self>, entry: &str, threads: u32) -> Result<Arc<dyn Kernel>> {
        let missing = || DeviceError::Load {
            device: self.gpu.device.clone(),
            name: self.name.clone(),
            message: format!("there is no entry point {entry}"),
        };
        let address = self.code.address(entry).ok_or_else(missing)?;
        Ok(Arc::new(SimulatedKernel { name: entry.into(), address, threads, module: self }))
    }
}

#[derive(Clone, Debug)]
struct SimulatedKernel {
    name: String,
    address: Address,
    threads: u32,
    /// Keeps `address` callable.
    module: Arc<SimulatedModule>,
}

impl Kernel for SimulatedKernel {
    unsafe fn launch(&self, launch: &Launch) -> Result<()> {
        let gpu = &*self.module.gpu;
        gpu.check()?;
        let mut words: SmallVec<[u64; 16]> = SmallVec::new();
        {
            let memory = gpu.memory.lock();
            words.extend(launch.buffers.iter().map(|b| memory.shifted(b.addr() as u64)));
            words.extend(launch.values.iter().map(|v| *v as u64));
            words.push(memory.shifted(launch.memory));
        }
        let mut words = Some(words);
        RECORDED.with_borrow_mut(|recorded| {
            if let Some(recorded) = recorded {
                recorded.extend(words.take().map(|words| (self.clone(), launch.blocks, words)));
            }
        });
        // SAFETY: the caller's promise.
        words.map_or(Ok(()), |words| unsafe { self.run(launch.blocks, &words) })
    }

    unsafe fn launch_whole(&self, _call: &Call, _buffers: &[*mut u8], _scratch: u64) -> Result<()> {
        // Its kernels are compiled as loops.
        let what = "a kernel that is written as a whole".into();
        Err(DeviceError::Unsupported { device: self.module.gpu.device.clone(), what })
    }
}

impl SimulatedKernel {
    /// Runs it on arguments whose addresses are the simulator's own.
    ///
    /// # Safety
    /// As for [`Kernel::launch`].
    unsafe fn run(&self, blocks: u32, words: &[u64]) -> Result<()> {
        let gpu = &*self.module.gpu;
        gpu.check()?;
        let seed = gpu.launches.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let blocks = u64::from(blocks).min(1 + (seed >> 32) % BLOCKS) as u32;
        // SAFETY: the caller's promise; the addresses are those of the simulator's own mapping.
        let done = unsafe { warp::run(self.address, words, (blocks, self.threads), self.module.fibers, seed) };
        done.map_err(|message| gpu.trap(&self.name, message))
    }
}
