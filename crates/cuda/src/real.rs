//! NVIDIA's driver: the GPUs that it has, their memory and streams. What they run is in `code`, machine code of it is made in
//! `assembler`, copies from and to the host are in `staging`.

mod assembler;
mod code;
mod staging;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ffi::{CStr, c_int, c_uint, c_void};
use std::fmt;
use std::ptr::null_mut;
use std::sync::{Arc, OnceLock};

use cudarc::driver::sys;
use parking_lot::Mutex;
use svod_codegen::gpu::Runner;
use svod_device::{DeviceError, DeviceSpec, Result};

use crate::api::{Api, Code, Missing, check};
use crate::driver::{Driver, Gpu, Graph, Info, Module};
use code::{RealGraph, RealModule};
use staging::Lanes;

/// The oldest driver that knows the instructions of generated code, as it counts versions.
const OLDEST: c_int = 12_000;

/// Kernels that are named where one trapped.
const NAMED: usize = 32;

/// How events are made that only order work.
const DISABLE_TIMING: c_uint = 2;

/// The driver of this process.
pub(crate) struct Real {
    api: Api,
    /// As it counts versions.
    version: c_int,
    /// Number of GPUs.
    count: u32,
    /// The process that began to use it; one that was forked from it cannot.
    process: u32,
}

/// The driver, asked for once.
pub(crate) fn driver() -> Result<Arc<Real>> {
    static FOUND: OnceLock<Result<Arc<Real>>> = OnceLock::new();
    FOUND.get_or_init(|| Real::load().map(Arc::new)).clone()
}

impl Real {
    fn load() -> Result<Real> {
        let none = |why: String| DeviceError::NoDriver { kind: "CUDA", why };
        let old = |found: String| DeviceError::OldDriver {
            kind: "CUDA",
            found,
            needed: format!("{} or newer", version_text(OLDEST)),
        };
        let api = Api::load().map_err(|missing| match missing {
            Missing::Library => none("libcuda, which is part of NVIDIA's driver, was not found".into()),
            Missing::Function(name) => old(format!("one without {name}")),
        })?;
        let mut version = 0;
        // SAFETY: a pointer to a number, which the driver writes.
        check(unsafe { (api.driver_version)(&mut version) }).map_err(|code| none(api.text(code)))?;
        if version < OLDEST {
            return Err(old(version_text(version)));
        }
        let mut count = 0;
        // SAFETY: the call has no preconditions; then as above.
        let status = unsafe {
            match (api.init)(0) {
                0 => (api.device_count)(&mut count),
                status => status,
            }
        };
        match check(status) {
            Ok(()) | Err(Code::NO_DEVICE) => {}
            Err(code) => return Err(none(api.text(code))),
        }
        Ok(Real { api, version, count: u32::try_from(count).unwrap_or(0), process: std::process::id() })
    }

    fn check_process(&self) -> Result<()> {
        match self.process == std::process::id() {
            true => Ok(()),
            false => Err(DeviceError::Forked { kind: "CUDA" }),
        }
    }

    fn check(&self, number: u32, what: &str, status: c_int) -> Result<()> {
        check(status).map_err(|code| DeviceError::Execute {
            device: DeviceSpec::Cuda(number),
            name: what.into(),
            message: self.api.text(code),
        })
    }

    /// The driver's handle of a GPU.
    fn device(&self, number: u32) -> Result<sys::CUdevice> {
        self.check_process()?;
        if number >= self.count {
            let expected = match self.count {
                0 => "a GPU of this machine, but it has none that this process may use".into(),
                1 => "CUDA:0".into(),
                n => format!("CUDA:0 to CUDA:{}", n - 1),
            };
            return Err(DeviceError::UnknownDevice { given: DeviceSpec::Cuda(number).to_string(), expected });
        }
        let mut device = 0;
        // SAFETY: a pointer to a handle, which the driver writes.
        self.check(number, "cuDeviceGet", unsafe { (self.api.device)(&mut device, number as c_int) })?;
        Ok(device)
    }
}

impl Driver for Real {
    fn runner(&self) -> Runner {
        Runner::Driver
    }

    fn count(&self) -> Result<u32> {
        self.check_process()?;
        Ok(self.count)
    }

    fn info(&self, number: u32) -> Result<Info> {
        let device = self.device(number)?;
        let mut name = [0; 256];
        // SAFETY: the driver writes at most so many bytes, with a 0 at the end.
        let status = unsafe { (self.api.device_name)(name.as_mut_ptr(), name.len() as c_int, device) };
        self.check(number, "cuDeviceGetName", status)?;
        let bytes = name.map(|c| c as u8);
        let name = CStr::from_bytes_until_nul(&bytes).map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let mut memory = 0;
        // SAFETY: a pointer to a number, which the driver writes.
        self.check(number, "cuDeviceTotalMem", unsafe { (self.api.device_memory)(&mut memory, device) })?;
        let attribute = |which: sys::CUdevice_attribute| {
            let mut value = 0;
            // SAFETY: as above.
            let status = unsafe { (self.api.device_attribute)(&mut value, which as c_int, device) };
            self.check(number, "cuDeviceGetAttribute", status).map(|()| u32::try_from(value).unwrap_or(0))
        };
        use sys::CUdevice_attribute as Attribute;
        // In thousands of cycles; a driver may not tell.
        let thousands = |which| attribute(which).unwrap_or(0) as usize * 1000;
        let bus = attribute(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH).unwrap_or(0) as usize;
        Ok(Info {
            name,
            memory,
            capability: (
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as usize,
            l2: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)? as usize,
            shared: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as usize,
            clock: thousands(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
            // Its bits move twice a cycle.
            bandwidth: thousands(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) * 2 * bus / 8,
        })
    }

    fn open(&self, number: u32) -> Result<Arc<dyn Gpu>> {
        let (device, capability) = (self.device(number)?, self.info(number)?.capability);
        let mut context = null_mut();
        // SAFETY: a pointer to a handle, which the driver writes. The context stays as long as the process.
        self.check(number, "cuDevicePrimaryCtxRetain", unsafe { (self.api.retain)(&mut context, device) })?;
        let mut open = Open {
            driver: driver()?,
            spec: DeviceSpec::Cuda(number),
            capability,
            context,
            stream: null_mut(),
            recording: null_mut(),
            recorder: Mutex::new(()),
            lost: OnceLock::new(),
            recent: Mutex::default(),
            reached: Mutex::default(),
            staging: Mutex::default(),
        };
        let mut stream = null_mut();
        const NON_BLOCKING: c_uint = 1;
        // SAFETY: as above.
        open.call("cuStreamCreate", |api| unsafe { (api.stream)(&mut stream, NON_BLOCKING) })?;
        open.stream = stream;
        // SAFETY: as above.
        open.call("cuStreamCreate", |api| unsafe { (api.stream)(&mut stream, NON_BLOCKING) })?;
        open.recording = stream;
        Ok(Arc::new(RealGpu(Arc::new(open))))
    }
}

impl fmt::Debug for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NVIDIA's driver, {} GPUs", self.count)
    }
}

/// `12.4` of 12040.
fn version_text(version: c_int) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// A GPU with its primary context, which other libraries of the process use as well, and a stream.
#[derive(Debug)]
struct RealGpu(Arc<Open>);

impl RealGpu {
    /// The name of its processor, with what follows it.
    fn processor(&self, kind: &str) -> String {
        let (major, minor) = self.0.capability;
        format!("sm_{major}{minor}{kind}")
    }
}

struct Open {
    driver: Arc<Real>,
    spec: DeviceSpec,
    capability: (u32, u32),
    context: sys::CUcontext,
    stream: sys::CUstream,
    /// A stream to which nothing is handed but while it records.
    recording: sys::CUstream,
    /// Held by the thread that records.
    recorder: Mutex<()>,
    /// Why the context cannot be used any more.
    lost: OnceLock<DeviceError>,
    /// Kernels that were launched since the stream was last waited for: the latest ones.
    recent: Mutex<VecDeque<Arc<str>>>,
    /// GPUs whose memory this one was let read, where it can.
    reached: Mutex<Vec<DeviceSpec>>,
    /// Pinned memory that copies go through.
    staging: Mutex<Lanes>,
}

// SAFETY: the handles are the driver's, which takes them from any thread.
unsafe impl Send for Open {}
// SAFETY: as above.
unsafe impl Sync for Open {}

thread_local! {
    /// The stream that records what this thread launches; null where none does.
    static RECORDS: Cell<sys::CUstream> = const { Cell::new(null_mut()) };
    /// The names of the kernels that it recorded.
    static RECORDED: RefCell<Vec<Arc<str>>> = const { RefCell::new(Vec::new()) };
}

/// Makes a context the calling thread's current one, and the one that was current so again in the end.
struct Current<'a> {
    api: &'a Api,
    before: sys::CUcontext,
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        if !self.before.is_null() {
            // SAFETY: it was current when this was made, on this thread. A failure leaves the other context.
            unsafe { (self.api.set_current)(self.before) };
        }
    }
}

impl Open {
    /// Calls the driver with the context being current.
    fn call(&self, what: &str, call: impl FnOnce(&Api) -> c_int) -> Result<()> {
        self.try_call(what, call)?.map_err(|code| self.failed(what, code))
    }

    /// Has what one stream gets from now on wait for what another got before; one of the two is ours, the other of this
    /// context, and named by its owner.
    fn order(&self, first: sys::CUstream, then: sys::CUstream) -> Result<()> {
        let mut event = null_mut();
        // SAFETY: the driver writes the handle, our stream lives as long as this, and the other one is its owner's, who named
        // it. An event that is waited for lives as long as it is.
        self.call("cuStreamWaitEvent", |api| unsafe {
            match (api.event)(&mut event, DISABLE_TIMING) {
                0 => {}
                status => return status,
            }
            let status = match (api.record)(event, first) {
                0 => (api.wait_event)(then, event, 0),
                status => status,
            };
            (api.free_event)(event);
            status
        })
    }

    /// As [`Open::call`], where the caller looks at failures that leave the context as it was.
    fn try_call(&self, what: &str, call: impl FnOnce(&Api) -> c_int) -> Result<Result<(), Code>> {
        self.driver.check_process()?;
        if let Some(lost) = self.lost.get() {
            return Err(lost.clone());
        }
        let api = &self.driver.api;
        let mut before = null_mut();
        // SAFETY: a pointer to a handle, which the driver writes.
        check(unsafe { (api.current)(&mut before) }).map_err(|code| self.failed(what, code))?;
        let _current = if before == self.context {
            None
        } else {
            // SAFETY: the context is retained as long as the process.
            check(unsafe { (api.set_current)(self.context) }).map_err(|code| self.failed(what, code))?;
            Some(Current { api, before })
        };
        match check(call(api)) {
            Err(code) if code.is_sticky() => Err(self.failed(what, code)),
            done => Ok(done),
        }
    }

    /// The error of a result. One by which the context is lost is what all later calls give.
    fn failed(&self, what: &str, code: Code) -> DeviceError {
        let message = self.driver.api.text(code);
        if !code.is_sticky() {
            return DeviceError::Execute { device: self.spec.clone(), name: what.into(), message };
        }
        let kernels = self.recent.lock().iter().map(|name| name.to_string()).collect();
        let lost = DeviceError::Trapped { device: self.spec.clone(), kernels, message };
        self.lost.get_or_init(|| lost).clone()
    }

    /// Notes kernels that are handed over.
    fn note(&self, kernels: &[Arc<str>]) {
        let mut recent = self.recent.lock();
        let latest = &kernels[kernels.len().saturating_sub(NAMED)..];
        let forgotten = (recent.len() + latest.len()).saturating_sub(NAMED);
        recent.drain(..forgotten);
        recent.extend(latest.iter().cloned());
    }

    /// Waits for the stream.
    fn wait(&self) -> Result<()> {
        // SAFETY: the stream lives as long as this.
        self.call("cuStreamSynchronize", |api| unsafe { (api.synchronize)(self.stream) })?;
        self.recent.lock().clear();
        Ok(())
    }

    /// Lets this GPU read the other's memory by itself, where the machine can do that: else copies go another way.
    fn reach(&self, other: &Open) -> Result<()> {
        let mut reached = self.reached.lock();
        if !reached.contains(&other.spec) {
            // SAFETY: the context is retained as long as the process.
            let _ = self.try_call("cuCtxEnablePeerAccess", |api| unsafe { (api.enable_peer)(other.context, 0) })?;
            reached.push(other.spec.clone());
        }
        Ok(())
    }
}

impl Gpu for RealGpu {
    fn free_memory(&self) -> Result<(usize, usize)> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: pointers to numbers, which the driver writes.
        self.0.call("cuMemGetInfo", |api| unsafe { (api.free_memory)(&mut free, &mut total) })?;
        Ok((free, total))
    }

    fn alloc(&self, bytes: usize) -> Result<Option<u64>> {
        let mut address = 0;
        // SAFETY: a pointer to an address, which the driver writes.
        match self.0.try_call("cuMemAlloc", |api| unsafe { (api.alloc)(&mut address, bytes) })? {
            Ok(()) => Ok(Some(address)),
            Err(Code::OUT_OF_MEMORY) => Ok(None),
            Err(code) => Err(self.0.failed("cuMemAlloc", code)),
        }
    }

    unsafe fn free(&self, address: u64) {
        // What fails here is memory of a context that is lost, or of another process.
        if self.0.wait().is_ok() {
            // SAFETY: the caller's promise; the stream is done with it.
            let _ = self.0.call("cuMemFree", |api| unsafe { (api.free)(address) });
        }
    }

    unsafe fn copy_in(&self, dst: u64, src: *const u8, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        if unsafe { self.0.stage_in(dst, src, bytes)? } {
            return Ok(());
        }
        let open = &*self.0;
        // SAFETY: the caller's promise, for the stream is waited for.
        open.call("cuMemcpyHtoDAsync", |api| unsafe { (api.copy_in)(dst, src.cast(), bytes, open.stream) })?;
        open.wait()
    }

    unsafe fn copy_out(&self, dst: *mut u8, src: u64, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        if !unsafe { self.0.stage_out(dst, src, bytes)? } {
            let open = &*self.0;
            // SAFETY: the caller's promise, for the stream is waited for.
            open.call("cuMemcpyDtoHAsync", |api| unsafe { (api.copy_out)(dst.cast(), src, bytes, open.stream) })?;
        }
        self.0.wait()
    }

    unsafe fn copy_within(&self, dst: u64, src: u64, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        self.0.call("cuMemcpyDtoDAsync", |api| unsafe { (api.copy_within)(dst, src, bytes, self.0.stream) })
    }

    unsafe fn copy_across(&self, dst: u64, from: &dyn Gpu, src: u64, bytes: usize) -> Option<Result<()>> {
        let (open, from) = (&*self.0, from.as_any().downcast_ref::<RealGpu>()?);
        let other = &*from.0;
        let copy = || {
            open.reach(other)?;
            from.precede(open.stream.addr())?;
            // SAFETY: the caller's promise; both contexts are retained as long as the process.
            open.call("cuMemcpyPeerAsync", |api| unsafe {
                (api.copy_peer)(dst, open.context, src, other.context, bytes, open.stream)
            })?;
            self.precede(other.stream.addr())
        };
        Some(copy())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn begin_recording(&self) -> Result<()> {
        let open = &*self.0;
        // The driver then waits for each launch, and so tells which kernel traps: of a graph it would not.
        if std::env::var_os("CUDA_LAUNCH_BLOCKING").is_some_and(|set| set == "1") {
            let what = "recording while CUDA_LAUNCH_BLOCKING is set".into();
            return Err(DeviceError::Unsupported { device: open.spec.clone(), what });
        }
        // Others go on meanwhile, and this thread may allocate: what it allocates is no part of what is recorded.
        const RELAXED: c_int = 2;
        let held = open.recorder.lock();
        // SAFETY: the stream lives as long as the process, and nothing else is handed to it.
        open.call("cuStreamBeginCapture", |api| unsafe { (api.begin_capture)(open.recording, RELAXED) })?;
        RECORDED.take();
        RECORDS.set(open.recording);
        // Until the recording ends, on this thread.
        std::mem::forget(held);
        Ok(())
    }

    fn end_recording(&self) -> Result<Box<dyn Graph>> {
        let open = &*self.0;
        RECORDS.set(null_mut());
        let mut graph = null_mut();
        // SAFETY: a pointer to a handle, which the driver writes.
        let ended = open.call("cuStreamEndCapture", |api| unsafe { (api.end_capture)(open.recording, &mut graph) });
        // SAFETY: `begin_recording` locked it on this thread.
        unsafe { open.recorder.force_unlock() };
        ended?;
        let mut instance = null_mut();
        // SAFETY: a pointer to a handle, which the driver writes; the instance needs the graph no more.
        open.call("cuGraphInstantiate", |api| unsafe {
            let status = (api.instantiate)(&mut instance, graph, 0);
            (api.free_graph)(graph);
            status
        })?;
        Ok(Box::new(RealGraph { gpu: self.0.clone(), instance, kernels: RECORDED.take() }))
    }

    fn assembler(&self) -> Option<String> {
        let version = self.0.driver.version;
        assembler::is_there().then(|| format!("{} by driver {version}", self.processor("")))
    }

    fn assemble(&self, text: &[u8]) -> Option<Vec<u8>> {
        // Instructions of one architecture alone are those of a processor whose name says so.
        let plain = self.processor("");
        let target = format!(".target {plain}a");
        let alone = text.windows(target.len()).any(|at| at == target.as_bytes());
        assembler::assemble(text, &if alone { self.processor("a") } else { plain })
    }

    fn load(&self, name: &str, code: &[u8]) -> Result<Arc<dyn Module>> {
        let failed = |message| DeviceError::Load { device: self.0.spec.clone(), name: name.into(), message };
        // A text ends with a 0.
        let code = [code, &[0]].concat();
        let mut log = [0u8; 8192];
        use sys::CUjit_option_enum as Jit;
        let mut options = [Jit::CU_JIT_ERROR_LOG_BUFFER as c_int, Jit::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES as c_int];
        // A number is passed as the pointer's own value.
        let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(log.len() - 1)];
        let mut handle = null_mut();
        // SAFETY: code and options live as long as the call, which writes the handle and at most so many bytes of text.
        let loaded = self.0.try_call("cuModuleLoadDataEx", |api| unsafe {
            (api.load)(&mut handle, code.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr())
        })?;
        match loaded {
            Ok(()) => Ok(Arc::new(RealModule { gpu: self.0.clone(), handle, name: name.into() })),
            Err(Code::UNSUPPORTED_PTX_VERSION) => Err(DeviceError::OldDriver {
                kind: "CUDA",
                found: "one that does not know the instructions of the code".into(),
                needed: "12.3 or newer".into(),
            }),
            Err(code) => {
                let text = self.0.driver.api.text(code);
                let log = CStr::from_bytes_until_nul(&log).map(|l| l.to_string_lossy()).unwrap_or_default();
                Err(failed(format!("{text}\n{log}").trim_end().to_owned()))
            }
        }
    }

    fn synchronize(&self) -> Result<()> {
        self.0.wait()
    }

    fn await_all(&self) -> Result<()> {
        // SAFETY: the call has no preconditions but a current context.
        self.0.call("cuCtxSynchronize", |api| unsafe { (api.synchronize_all)() })
    }

    fn precede(&self, stream: usize) -> Result<()> {
        self.0.order(self.0.stream, std::ptr::without_provenance_mut(stream))
    }

    fn follow(&self, stream: usize) -> Result<()> {
        self.0.order(std::ptr::without_provenance_mut(stream), self.0.stream)
    }

    fn stream(&self) -> usize {
        self.0.stream.addr()
    }
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.spec)
    }
}
