//! From a kernel to code that a plan can call.

use crate::config::debug_level;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::interrupt::{INTERVAL, Watch};
use crate::sized::Sized;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use svod_device::program::decompose;
use svod_device::{Device, DeviceSpec, HostEntry, Listing, ProgramSpec, Programs};
use svod_ir::Key;
use svod_ir::kernel::Kernel;
use svod_ir::lowered::cost::{Cost, Registers, Rounds};
use svod_ir::lowered::{Lowered, Phase};
use svod_ir::pass::Pass;
use svod_ir::size::Variable;
use svod_ir::target::Target;
use svod_schedule::{
    Joined, Program, Schedule, Variants, heuristic_variants, lower_variants, strict_heuristic, values_at,
};

/// A kernel, compiled and loaded. It has no state: plans share it.
pub struct KernelCode {
    device: Arc<Device>,
    spec: ProgramSpec,
    programs: Programs,
    /// The phases' functions, where the host runs them.
    hosts: Option<Vec<HostEntry>>,
    /// Slots of a task of each phase, at the largest sizes of its variant; see [`svod_ir::lowered::cost`].
    work: Vec<f64>,
    /// What it computes, where that is known.
    kernel: Option<Arc<Kernel>>,
    variants: Option<Variants>,
    packs: Vec<Pack>,
    /// Parameters that only this code's own phases write and read.
    workspaces: Vec<usize>,
    /// Parameters that results may take the place of.
    replaceable: Vec<(usize, usize)>,
    /// The parameters that it only joins, if it does nothing else.
    joined: Option<Vec<Joined>>,
    /// Code for certain sizes, where it may have any.
    sized: Option<Sized>,
    compile_time: Duration,
}

/// What makes one packed operand: its own parameters are the kernel's, and the packed one last.
#[derive(Clone, Debug)]
pub(crate) struct Pack {
    pub code: Arc<KernelCode>,
    /// Names the layout.
    pub key: Key,
    /// The kernel's parameter that it makes.
    pub param: usize,
}

/// What compiled code depends on.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct KernelKey {
    kernel: Key,
    /// In full: code is shared by devices of a kind, what is loaded is not.
    device: DeviceSpec,
    compiler: String,
    optimizer: Optimizer,
}

/// Where a kernel's schedule comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Optimizer {
    #[default]
    Heuristic,
    Strict,
    /// They were given.
    Given(Variants),
}

impl Optimizer {
    pub(crate) fn variants(&self, kernel: &Kernel, target: &Target) -> Variants {
        match self {
            Optimizer::Heuristic => heuristic_variants(kernel, target),
            Optimizer::Strict => strict_heuristic(kernel, target).into(),
            Optimizer::Given(variants) => variants.clone(),
        }
    }

    /// The loops of a kernel, and its schedules.
    fn lower(&self, kernel: &Kernel, target: &Target) -> Result<(Program, Variants)> {
        let variants = Pass::Heuristic.time(|| self.variants(kernel, target));
        let program = match (Pass::Lower.run(kernel, || lower_variants(kernel, &variants)), self) {
            (Err(why), Optimizer::Given(_)) => {
                return Err(Error::Schedule { kernel: kernel.name.clone(), why: Box::new(why) });
            }
            (program, _) => program?,
        };
        // Loops over the kernel's own axes leave its indices as they are.
        if !matches!(self, Optimizer::Given(_)) && program.lowered.has_faulty_index() {
            let plain = Schedule::default();
            let plain = Variants::from(if variants.rest.is_strict() { plain.strictly() } else { plain });
            return Ok((lower_variants(kernel, &plain)?, plain));
        }
        Ok((program, variants))
    }
}

/// One kernel to be compiled: for which machine, by which schedule.
#[derive(Clone)]
pub(crate) struct Job {
    pub kernel: Arc<Kernel>,
    pub device: Arc<Device>,
    pub target: Target,
    pub optimizer: Optimizer,
}

impl Job {
    /// The loops of another kernel by the same means, if there are any.
    pub fn lowered(&self, kernel: &Kernel) -> Option<Lowered> {
        Some(self.optimizer.lower(kernel, &self.target).ok()?.0.lowered)
    }
}

impl KernelCode {
    /// Loaded programs, one per phase, with their spec.
    pub fn new(device: Arc<Device>, spec: ProgramSpec, programs: Programs) -> Self {
        let hosts = programs.iter().map(|p| p.host_entry()).collect();
        let work = work(&spec, REGISTERS);
        KernelCode {
            device,
            spec,
            programs,
            hosts,
            work,
            kernel: None,
            variants: None,
            packs: Vec::new(),
            workspaces: Vec::new(),
            replaceable: Vec::new(),
            joined: None,
            sized: None,
            compile_time: Duration::ZERO,
        }
    }

    /// The same, as what puts parameters one after the other.
    #[cfg(test)]
    pub(crate) fn joining(self, parts: Vec<Joined>) -> Self {
        KernelCode { joined: Some(parts), ..self }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Where it runs.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The rendered kernel: its loop tree, arguments, variables and launch sizes.
    pub fn spec(&self) -> &ProgramSpec {
        &self.spec
    }

    /// The schedules that made the loop tree.
    pub fn variants(&self) -> Option<&Variants> {
        self.variants.as_ref()
    }

    /// Time that scheduling, compiling and loading took.
    pub fn compile_time(&self) -> Duration {
        self.compile_time
    }

    /// A text about the code; `None` where the device has no such text.
    pub fn listing(&self, what: Listing) -> Result<Option<String>> {
        Ok(self.device.primary()?.renderer.listing(&self.spec.ast, what)?)
    }

    pub(crate) fn programs(&self) -> &Programs {
        &self.programs
    }

    pub(crate) fn hosts(&self) -> Option<&[HostEntry]> {
        self.hosts.as_deref()
    }

    /// What it computes, where that is known.
    pub fn kernel(&self) -> Option<&Arc<Kernel>> {
        self.kernel.as_ref()
    }

    /// Slots of a task of a phase, at the largest sizes of its variant.
    pub(crate) fn work(&self, phase: usize) -> f64 {
        self.work[phase]
    }

    pub(crate) fn packs(&self) -> &[Pack] {
        &self.packs
    }

    pub(crate) fn workspaces(&self) -> &[usize] {
        &self.workspaces
    }

    /// The parameters that a result, the parameter `written`, may be written over: they are read only where it is written, before.
    pub(crate) fn replaceable(&self, written: usize) -> impl Iterator<Item = usize> + Clone {
        self.replaceable.iter().filter(move |(to, _)| *to == written).map(|(_, from)| *from)
    }

    /// The parameters that it puts one after the other, where it does nothing else.
    pub(crate) fn joined(&self) -> Option<&[Joined]> {
        self.joined.as_deref()
    }

    /// The code for these values of its variables, if the device has one that is better; it takes the kernel's own arguments,
    /// and no values.
    pub(crate) fn at(&self, context: &Context, values: &[i64]) -> Option<Arc<KernelCode>> {
        self.sized.as_ref()?.at(context, &self.spec.vars, values)
    }

    /// Bytes of scratch memory that a task needs.
    pub(crate) fn scratch(&self) -> usize {
        self.hosts().map_or(0, |hosts| hosts.iter().map(|h| h.scratch).max().unwrap_or(0))
    }
}

impl fmt::Debug for KernelCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.name(), self.device.spec())
    }
}

/// Vectors of machines that nothing is known of.
const REGISTERS: Registers = Registers { bytes: 16, count: 16 };

/// Slots of a task of each phase, at the largest sizes of its variant. One without statements does not tell, so
/// that it counts as very much.
fn work(spec: &ProgramSpec, registers: Registers) -> Vec<f64> {
    let of_variant = |variant: usize| {
        let guard = spec.ast.guards.get(variant);
        let most = guard.and_then(|guard| Some(values_at(&guard.left, guard.right.as_const()?)));
        let value = |v: &Variable| most.iter().flatten().find(|(known, _)| known == v).map(|(_, value)| *value);
        spec.ast.costs(&value, registers, Rounds::Middle)
    };
    let costs: Vec<Vec<Cost>> = (0..=spec.ast.guards.len()).map(of_variant).collect();
    let slots = |(at, phase): (usize, &Phase)| match phase.body.is_empty() {
        true => f64::INFINITY,
        false => costs[phase.variant][at].task(),
    };
    spec.ast.phases.iter().enumerate().map(slots).collect()
}

/// The code of one kernel, compiled unless it is known.
pub(crate) fn compile(context: &Context, job: &Job) -> Result<Arc<KernelCode>> {
    let Job { kernel, device, target, optimizer } = job;
    let backend = device.primary()?;
    let key = KernelKey {
        kernel: kernel.key(),
        device: device.spec().clone(),
        compiler: backend.compiler.cache_key(),
        optimizer: optimizer.clone(),
    };
    context.kernels.get_or_make(&key, || {
        let start = Instant::now();
        let (program, variants) = optimizer.lower(kernel, target)?;
        let lowered = Arc::new(decompose(program.lowered, backend.renderer.decompositions()));
        let spec = Pass::Render.time(|| backend.renderer.render(&lowered, None))?;
        let programs = device.load(&spec, &*backend.compiler)?;
        let pack = |pack: &svod_schedule::PackJob| {
            let optimizer = Optimizer::default();
            let job = Job { kernel: Arc::new(pack.kernel.clone()), optimizer, ..job.clone() };
            Ok(Pack { code: compile(context, &job)?, key: pack.kernel.key(), param: pack.packed.index() })
        };
        let packs = program.packs.iter().map(pack).collect::<Result<_>>()?;
        let workspaces = program.workspaces.iter().map(|p| p.index()).collect();
        let compile_time = start.elapsed();
        let variants = Some(variants);
        let code = KernelCode::new(device.clone(), spec, programs);
        let work = work(&code.spec, target.into());
        let replaceable = svod_schedule::replaceable(kernel);
        let joined = svod_schedule::joined(kernel);
        let what = Some(kernel.clone());
        let sized = Sized::of(job);
        let code = KernelCode {
            variants,
            packs,
            workspaces,
            replaceable,
            joined,
            sized,
            compile_time,
            work,
            kernel: what,
            ..code
        };
        tell(kernel, &code);
        Ok(Arc::new(code))
    })
}

/// The code of several kernels, compiled side by side.
pub(crate) fn compile_all(context: &Context, jobs: &[Job], watch: &Watch) -> Result<Vec<Arc<KernelCode>>> {
    // A worker of rayon must not wait for others that may not exist, nor a forked child for the
    // workers that it does not have.
    if jobs.len() < 2 || rayon::current_thread_index().is_some() || forked() {
        let one = |job: &Job| match watch.poll() {
            true => Err(Error::Interrupted),
            false => compile(context, job),
        };
        return jobs.iter().map(one).collect();
    }
    let mut codes = vec![None; jobs.len()];
    let stop = AtomicBool::new(false);
    rayon::in_place_scope(|scope| {
        let (send, receive) = channel();
        for (i, job) in jobs.iter().enumerate() {
            let (send, stop) = (send.clone(), &stop);
            scope.spawn(move |_| {
                if !stop.load(Ordering::Relaxed) {
                    // Nobody listens after a failure.
                    let _ = send.send((i, compile(context, job)));
                }
            });
        }
        drop(send);
        loop {
            let failure = match receive.recv_timeout(INTERVAL) {
                Ok((i, Ok(code))) => {
                    codes[i] = Some(code);
                    None
                }
                Ok((_, Err(error))) => Some(error),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            let failure = failure.or_else(|| watch.poll().then_some(Error::Interrupted));
            if let Some(error) = failure {
                stop.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
    })?;
    let all: Option<Vec<_>> = codes.into_iter().collect();
    all.ok_or_else(|| Error::Unsupported("a compile job ended without a result".into()))
}

/// Whether this process was forked from one that has compiled.
fn forked() -> bool {
    static FIRST: OnceLock<u32> = OnceLock::new();
    *FIRST.get_or_init(std::process::id) != std::process::id()
}

/// Tells about a kernel on stderr, as much as `SVOD_DEBUG` asks for.
fn tell(kernel: &Kernel, code: &KernelCode) {
    let level = debug_level();
    if level >= 1 {
        eprintln!("svod: compiled {} in {:.3?}", code.name(), code.compile_time);
    }
    if let (true, Some(variants)) = (level >= 2, &code.variants) {
        eprintln!("{kernel}\n{variants}");
    }
    if level >= 3 {
        eprintln!("{}", code.spec.ast);
    }
    let listings = [(4, Listing::Linear), (4, Listing::Source), (5, Listing::Assembly)];
    for (_, what) in listings.into_iter().filter(|(from, _)| level >= *from) {
        match code.listing(what) {
            Ok(text) => eprintln!("{}", text.unwrap_or_default()),
            Err(error) => eprintln!("svod: no listing of {}: {error}", code.name()),
        }
    }
}
