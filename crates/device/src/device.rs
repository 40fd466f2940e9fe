//! Devices, and the context that opens them.

use std::fmt::{self, Debug};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::allocator::Allocator;
use crate::cache::Cache;
use crate::disk::DiskAllocator;
use crate::error::{DeviceError, Result};
use crate::program::{Code, CompiledSpec, Compiler, Program, ProgramSpec, Renderer, RuntimeFactory};
use crate::spec::DeviceSpec;
use svod_ir::target::Target;

/// A way from kernel to code.
#[derive(Clone, Debug)]
pub struct Backend {
    /// From kernel to source.
    pub renderer: Arc<dyn Renderer>,
    /// From source to code.
    pub compiler: Arc<dyn Compiler>,
}

/// An open device: memory, and where it can compute, compilers and a runtime.
#[derive(Debug)]
pub struct Device {
    spec: DeviceSpec,
    allocator: Arc<dyn Allocator>,
    backends: Vec<Backend>,
    runtime: Option<Arc<dyn RuntimeFactory>>,
    target: Option<Target>,
    codes: Arc<Cache<CodeKey, Code>>,
    programs: Cache<CodeKey, Programs>,
}

/// The programs of a kernel's phases, in order.
pub type Programs = Arc<[Arc<dyn Program>]>;

/// What compiled code depends on: its kind of device, its compiler and its source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CodeKey {
    base: &'static str,
    compiler: String,
    name: String,
    source: String,
}

/// Codes and programs that are kept, of each sort.
const CACHED_PROGRAMS: usize = 4096;

impl Device {
    /// A device that has memory only.
    pub fn new(allocator: Arc<dyn Allocator>) -> Self {
        Device {
            spec: allocator.device().clone(),
            allocator,
            backends: Vec::new(),
            runtime: None,
            target: None,
            codes: Arc::new(Cache::new(CACHED_PROGRAMS)),
            programs: Cache::new(CACHED_PROGRAMS),
        }
    }

    /// Adds a renderer and its compiler; the first pair is the primary one.
    pub fn with_backend(mut self, renderer: Arc<dyn Renderer>, compiler: Arc<dyn Compiler>) -> Self {
        self.backends.push(Backend { renderer, compiler });
        self
    }

    /// Sets what loads code.
    pub fn with_runtime(mut self, runtime: Arc<dyn RuntimeFactory>) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Describes what kernels for this device are scheduled for, where that is not the context's target.
    pub fn with_target(mut self, target: Target) -> Self {
        self.target = Some(target);
        self
    }

    /// What kernels for this device are scheduled for, if it says so.
    pub fn target(&self) -> Option<&Target> {
        self.target.as_ref()
    }

    /// Shares the compiled code of another device. Both are of one kind.
    pub fn with_code_of(mut self, other: &Device) -> Self {
        self.codes = other.codes.clone();
        self
    }

    /// The device's name.
    pub fn spec(&self) -> &DeviceSpec {
        &self.spec
    }

    /// The device's name without its number.
    pub fn base(&self) -> &'static str {
        self.spec.base()
    }

    /// The device's memory.
    pub fn allocator(&self) -> &Arc<dyn Allocator> {
        &self.allocator
    }

    /// All pairs of renderer and compiler, the primary one first.
    pub fn backends(&self) -> &[Backend] {
        &self.backends
    }

    /// The pair that is used unless another one is asked for.
    pub fn primary(&self) -> Result<&Backend> {
        self.backends.first().ok_or_else(|| self.unsupported("compiling"))
    }

    /// What loads code.
    pub fn runtime(&self) -> Result<&Arc<dyn RuntimeFactory>> {
        self.runtime.as_ref().ok_or_else(|| self.unsupported("running programs"))
    }

    /// Compiles a program, unless a device of the same kind has done so.
    pub fn compile(&self, program: &ProgramSpec, compiler: &dyn Compiler) -> Result<CompiledSpec> {
        let make = || compiler.compile(program).map(|compiled| compiled.code);
        Ok(program.compiled(self.codes.get_or_make(&self.key(program, compiler), make)?))
    }

    /// Compiles and loads a program, unless that is done.
    pub fn load(&self, program: &ProgramSpec, compiler: &dyn Compiler) -> Result<Programs> {
        self.programs.get_or_make(&self.key(program, compiler), || {
            let compiled = self.compile(program, compiler)?;
            Ok(self.runtime()?.load(&self.spec, &compiled)?.into())
        })
    }

    /// Forgets compiled code and loaded programs, and gives freed memory back to the system.
    /// Programs in use live on.
    pub fn trim(&self) {
        self.codes.clear();
        self.programs.clear();
        self.allocator.trim();
    }

    fn key(&self, program: &ProgramSpec, compiler: &dyn Compiler) -> CodeKey {
        CodeKey {
            base: self.base(),
            compiler: compiler.cache_key(),
            name: program.name.clone(),
            source: program.source.clone(),
        }
    }

    fn unsupported(&self, what: &str) -> DeviceError {
        DeviceError::Unsupported { device: self.spec.clone(), what: what.into() }
    }
}

type Open = dyn Fn(&DeviceSpec) -> Result<Device> + Send + Sync;

/// The devices of a program, opened by name.
///
/// Kinds of device are registered; DISK is there from the start. A device is opened once, save
/// files, which are mapped anew each time and closed with their last buffer. Devices of one kind
/// share compiled code.
pub struct Devices {
    kinds: Mutex<FxHashMap<&'static str, Arc<Open>>>,
    open: Mutex<FxHashMap<DeviceSpec, Arc<Device>>>,
    /// The CPU, which nearly everything asks for, once it is open.
    cpu: OnceLock<Arc<Device>>,
    codes: Arc<Cache<CodeKey, Code>>,
}

impl Default for Devices {
    fn default() -> Self {
        Devices::new()
    }
}

impl Devices {
    /// A context that knows DISK only.
    pub fn new() -> Self {
        let (kinds, open, cpu) = (Mutex::default(), Mutex::default(), OnceLock::new());
        let devices = Devices { kinds, open, cpu, codes: Arc::new(Cache::new(CACHED_PROGRAMS)) };
        devices.register("DISK", |spec| match spec.path() {
            Some(path) => Ok(Device::new(Arc::new(DiskAllocator::open(path)?))),
            None => Err(DeviceError::UnknownDevice { given: spec.to_string(), expected: "DISK:path".into() }),
        });
        devices
    }

    /// Registers how to open the devices of a kind, named as [`DeviceSpec::base`] names it.
    /// Devices that are open stay as they are.
    pub fn register(&self, base: &'static str, open: impl Fn(&DeviceSpec) -> Result<Device> + Send + Sync + 'static) {
        self.kinds.lock().insert(base, Arc::new(open));
    }

    /// The device of this name, opened if it is not.
    pub fn open(&self, name: &str) -> Result<Arc<Device>> {
        if name == DeviceSpec::CPU.base() { self.get(&DeviceSpec::CPU) } else { self.get(&name.parse()?) }
    }

    /// The devices that are open.
    pub fn opened(&self) -> Vec<Arc<Device>> {
        self.open.lock().values().cloned().collect()
    }

    /// The device of this spec, opened if it is not.
    pub fn get(&self, spec: &DeviceSpec) -> Result<Arc<Device>> {
        if *spec != DeviceSpec::CPU {
            return self.found(spec);
        }
        if let Some(cpu) = self.cpu.get() {
            return Ok(cpu.clone());
        }
        let cpu = self.found(spec)?;
        Ok(self.cpu.get_or_init(|| cpu).clone())
    }

    fn found(&self, spec: &DeviceSpec) -> Result<Arc<Device>> {
        let kind = self.kinds.lock().get(spec.base()).cloned();
        let Some(kind) = kind else {
            let mut known: Vec<&str> = self.kinds.lock().keys().copied().collect();
            known.sort_unstable();
            let expected = format!("a device of kind {}", known.join(" or "));
            return Err(DeviceError::UnknownDevice { given: spec.to_string(), expected });
        };
        let open = || -> Result<Arc<Device>> {
            let mut device = kind(spec)?;
            device.codes = self.codes.clone();
            Ok(Arc::new(device))
        };
        if spec.is_disk() {
            return open();
        }
        // Opened under the lock, so that no device is opened twice.
        let mut devices = self.open.lock();
        if let Some(device) = devices.get(spec) {
            return Ok(device.clone());
        }
        let device = open()?;
        devices.insert(spec.clone(), device.clone());
        Ok(device)
    }
}

impl Debug for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.open.lock().keys().map(ToString::to_string)).finish()
    }
}
