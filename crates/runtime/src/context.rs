//! What plans share: devices, caches and the task pool.

use crate::arguments::{Record, Seen, WithArguments};
use crate::code::{KernelCode, KernelKey};
use crate::config::{Fingerprint, PrepareConfig, kernel_cache_size};
use crate::control;
use crate::error::{Error, Result};
use crate::instantiate::{self, Scheduled, Use};
use crate::interrupt::{StopCheck, Watch};
use crate::lines::Lines;
use crate::machine::MachineSpeed;
use crate::memory::Memory;
use crate::plan::{Donated, ExecutionPlan, PlanInput, Required};
use crate::pool::Pool;
use crate::prepack::PackCache;
use crate::repeat::Repeats;
use crate::schedules;
use parking_lot::{Mutex, RwLock};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::fmt;
use std::iter;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use svod_device::{Buffer, Cache, Device, DeviceError, DeviceSpec, Devices, MemoryStats};
use svod_ir::graph::key::GraphKey;
use svod_ir::graph::outline::Outline;
use svod_ir::graph::unshare::Unshared;
use svod_ir::graph::walk::{Graph, NodeIndex};
use svod_ir::graph::{Leaf, LeafClass, LoopBody, Origin, Shape, UOp};
use svod_ir::pass::{self, Pass, PassTime};
use svod_ir::size::{BoundVariable, Size, Variable};
use svod_ir::target::{MatrixUnits, Target};
use svod_schedule::Purpose;

/// Schedules that are kept.
const SCHEDULE_CACHE: usize = 1024;
/// Bytes of numbers of graphs that are kept at most.
const MOST_NUMBERS: usize = 32 << 20;

/// Devices, a description of the machine, caches and the task pool. Plans made from one context
/// share all of it.
pub struct Context {
    devices: Devices,
    target: Target,
    pool: RwLock<Arc<Pool>>,
    /// Pools of plans that asked for a number of threads of their own.
    pools: Mutex<FxHashMap<usize, Arc<Pool>>>,
    /// Devices that compile for other machines than `target`.
    restricted: Mutex<FxHashMap<(DeviceSpec, Target), Arc<Device>>>,
    schedules: Cache<ScheduleKey, Arc<Scheduled>>,
    /// By outline, the numbers of graphs.
    seen: Cache<ScheduleKey, Seen>,
    /// Bytes of `seen`.
    numbers: Arc<AtomicUsize>,
    /// Whether some of `seen` had sizes with nothing in common.
    unfit: AtomicBool,
    pub(crate) kernels: Cache<KernelKey, Arc<KernelCode>>,
    pub(crate) packs: PackCache,
    pub(crate) repeats: Repeats,
    /// How fast the machine is, by number of threads.
    pub(crate) speeds: Mutex<FxHashMap<usize, MachineSpeed>>,
    stop_check: RwLock<Option<StopCheck>>,
    pub(crate) lines: Lines,
}

/// A graph's structure, whether its constants may be packed, how it is optimized, and the compiler.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ScheduleKey {
    graph: [u8; 32],
    prepared: bool,
    fingerprint: Fingerprint,
    device: Option<DeviceSpec>,
    compiler: String,
}

/// Sizes of what a context holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextStats {
    /// Memory of each device in use, by its name.
    pub memory: BTreeMap<String, MemoryStats>,
    /// Cached schedules.
    pub schedules: usize,
    /// Cached kernels.
    pub kernels: usize,
    /// Packed constants that a plan uses.
    pub packs: usize,
}

impl Context {
    /// A context over these devices, whose kernels are scheduled for `target`.
    pub fn new(devices: Devices, target: Target) -> Arc<Context> {
        Arc::new(Context {
            devices,
            target,
            pool: RwLock::new(Arc::new(Pool::default())),
            pools: Mutex::default(),
            restricted: Mutex::default(),
            schedules: Cache::new(SCHEDULE_CACHE),
            seen: Cache::new(SCHEDULE_CACHE),
            numbers: Arc::default(),
            unfit: AtomicBool::default(),
            kernels: Cache::new(kernel_cache_size()),
            packs: PackCache::default(),
            repeats: Repeats::default(),
            speeds: Mutex::default(),
            stop_check: RwLock::new(None),
            lines: Lines::default(),
        })
    }

    /// The context that programs use unless they make one: this machine's CPU, its GPUs, and files.
    pub fn global() -> &'static Arc<Context> {
        static GLOBAL: OnceLock<Arc<Context>> = OnceLock::new();
        GLOBAL.get_or_init(|| {
            let target = crate::cpu::host_target();
            let devices = Devices::new();
            crate::cpu::register(&devices, &target);
            crate::cuda::register(&devices);
            Context::new(devices, target)
        })
    }

    /// The devices.
    pub fn devices(&self) -> &Devices {
        &self.devices
    }

    /// The machine that kernels are scheduled for.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Number of threads of a run.
    pub fn threads(&self) -> usize {
        self.pool.read().threads()
    }

    /// Changes the number of threads of runs that begin from now on.
    pub fn set_threads(&self, threads: usize) {
        *self.pool.write() = Arc::new(Pool::new(threads));
    }

    /// Sets what asks, during long compiles and runs, whether to stop.
    pub fn set_stop_check(&self, check: Option<StopCheck>) {
        *self.stop_check.write() = check;
    }

    /// A buffer on a device, of `count` elements.
    pub fn buffer(&self, device: &DeviceSpec, dtype: svod_dtype::DType, count: usize) -> Result<Buffer> {
        Ok(Buffer::new(self.devices.get(device)?.allocator(), dtype, count)?)
    }

    /// Memory in use, and sizes of the caches.
    pub fn stats(&self) -> ContextStats {
        // The CPU is there before anything has asked for it.
        let opened = self.devices.opened().into_iter();
        let memory = opened.map(|d| (d.spec().to_string(), d.allocator().stats())).collect();
        let (schedules, kernels) = (self.schedules.len(), self.kernels.len());
        ContextStats { memory, schedules, kernels, packs: self.packs.len() }
    }

    /// Begins the peaks of [`ContextStats::memory`] anew.
    pub fn reset_peaks(&self) {
        self.devices.opened().iter().for_each(|device| device.allocator().reset_peak());
    }

    /// Waits for all work that was handed to devices: what fails in it fails here.
    ///
    /// # Errors
    /// The first failure, once all devices are done.
    pub fn synchronize(&self) -> Result<()> {
        let waited: Vec<_> = self.devices.opened().iter().map(|device| device.allocator().synchronize()).collect();
        Ok(waited.into_iter().collect::<Result<(), _>>()?)
    }

    /// What the error of a device leaves out, to be added to its text: the user's lines of the kernels that it names.
    pub fn lines_of(&self, error: &DeviceError) -> String {
        self.lines.of(error)
    }

    /// The GPUs that there are, opened or not.
    ///
    /// # Errors
    /// Where there is no driver, or one that does not work.
    pub fn gpus() -> Result<Vec<(DeviceSpec, svod_cuda::Info)>> {
        Ok(crate::cuda::list()?)
    }

    /// Empties all caches in memory, and gives freed memory back to the system. Plans live on.
    pub fn clear_caches(&self) {
        self.schedules.clear();
        self.seen.clear();
        self.kernels.clear();
        self.packs.clear();
        self.repeats.clear();
        self.devices.opened().iter().for_each(|device| device.trim());
    }

    /// Prepares the computation of `roots`: schedules, compiles, allocates and orders.
    ///
    /// `inputs` are leaves that the plan's runs are given anew; their content is copied and is what
    /// runs see until it is set. Other leaves of class [`LeafClass::Data`] are constants. Where
    /// nothing has to be computed, the plan does nothing and its outputs are the leaves.
    pub fn plan(self: &Arc<Self>, roots: &[UOp], inputs: &[Leaf], config: &PrepareConfig) -> Result<ExecutionPlan> {
        self.plan_writing(roots, inputs, &Donated::default(), config)
    }

    /// [`Context::plan`] of which runs may write some outputs over inputs ([`ExecutionPlan::call_writing`]).
    pub fn plan_writing(
        self: &Arc<Self>,
        roots: &[UOp],
        inputs: &[Leaf],
        donated: &Donated,
        config: &PrepareConfig,
    ) -> Result<ExecutionPlan> {
        let watch = Watch::new(self.stop_check());
        let _told = tell_times();
        let inputs = inputs.iter().enumerate().map(|(i, l)| self.input(i, l)).collect::<Result<Vec<_>>>()?;
        let graph = Pass::Walk.run(roots, || with_inputs(Graph::new(roots), &inputs))?;
        let required = Required::of(&graph, &graph.bodies());
        let graph = control::as_steps(graph)?;
        let key = Pass::Key.time(|| GraphKey::new(&graph))?;
        let inputs: Vec<PlanInput> = inputs.into_iter().map(|(_, input, _)| input).collect();
        let shape = |root: &u32| graph.nodes()[*root as usize].shape_arc().clone();
        let shapes: Vec<Shape> = graph.roots().iter().map(shape).collect();
        let bodies = graph.bodies();
        let origins = Pass::Trace.time(|| origins_of(&graph, &bodies));
        let attach = |key: &GraphKey, scheduled: &Scheduled, origins: &[Option<&Origin>]| {
            let used =
                Use { key, shapes: &shapes, inputs: &inputs, origins, required: &required, donated, lent: false };
            instantiate::instantiate(self, scheduled, &used, config, &watch)
        };
        if let Some((seen, with)) = self.with_arguments(&graph, &key, &inputs, config) {
            let planned = match with {
                WithArguments::Formed(formed) => {
                    let lines: Vec<_> = formed.nodes.iter().map(|at| origins[(*at)? as usize]).collect();
                    attach(&formed.key, &formed.scheduled, &lines)
                }
                WithArguments::Made(made) => self.schedule(&made.graph, &made.key, config).and_then(|scheduled| {
                    let bodies = made.graph.bodies();
                    let plan = attach(&made.key, &scheduled, &origins_of(&made.graph, &bodies))?;
                    if let Some(form) = made.form(&scheduled) {
                        let mut record = seen.lock();
                        record.add(form);
                        self.count(&mut record);
                    }
                    Ok(plan)
                }),
            };
            match planned {
                // What is refused with arguments may be possible without, or its error tells of the user's numbers.
                Err(error) if !matches!(error, Error::Interrupted) => seen.lock().refuse(),
                done => return done,
            }
        }
        let scheduled = self.schedule(&graph, &key, config)?;
        let chosen = attach(&key, &scheduled, &origins)?;
        if config.schedules.is_empty() {
            return Ok(chosen);
        }
        attach(&key, &scheduled.with_given(&chosen, config)?, &origins)
    }

    /// Bytes that the steps of a graph's schedule move, each argument once a step. Nothing is compiled for it.
    pub fn traffic(&self, roots: &[UOp], config: &PrepareConfig) -> Result<f64> {
        let graph = Pass::Walk.time(|| Graph::new(roots));
        let key = Pass::Key.time(|| GraphKey::new(&graph))?;
        match self.with_arguments(&graph, &key, &[], config) {
            Some((_, WithArguments::Formed(formed))) => formed.scheduled.traffic(&formed.key),
            Some((_, WithArguments::Made(made))) => self.schedule(&made.graph, &made.key, config)?.traffic(&made.key),
            None => self.schedule(&graph, &key, config)?.traffic(&key),
        }
    }

    /// The device, with a compiler for this machine.
    pub(crate) fn device_for(&self, device: &Arc<Device>, target: &Target) -> Arc<Device> {
        if *target == self.target || device.base() != DeviceSpec::CPU.base() {
            return device.clone();
        }
        let key = (device.spec().clone(), target.clone());
        let make = || Arc::new(crate::cpu::device_for(device, target));
        self.restricted.lock().entry(key).or_insert_with(make).clone()
    }

    /// The pool that tasks of kernels run on.
    pub fn pool(&self) -> Arc<Pool> {
        self.pool.read().clone()
    }

    pub(crate) fn pool_of(&self, threads: usize) -> Arc<Pool> {
        self.pools.lock().entry(threads).or_insert_with(|| Arc::new(Pool::new(threads))).clone()
    }

    pub(crate) fn stop_check(&self) -> Option<StopCheck> {
        *self.stop_check.read()
    }

    /// The schedule of a graph, where the cache has it.
    pub(crate) fn known_schedule(&self, key: &GraphKey, config: &PrepareConfig) -> Result<Option<Arc<Scheduled>>> {
        Ok(self.schedule_key(key, config)?.and_then(|key| self.schedules.get(&key)))
    }

    /// Whether a thread that waits is to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop_check().is_some_and(|check| check())
    }

    /// What a graph is scheduled for.
    pub(crate) fn purpose(&self, graph: &Graph, config: &PrepareConfig) -> Purpose {
        let devices: FxHashSet<_> = graph.nodes().iter().filter_map(UOp::device).filter(|d| !d.is_host()).collect();
        let mut units = None;
        for device in devices {
            let known = self.devices.open(device.name()).ok().and_then(|d| d.target().map(|target| target.matrix));
            let of = known.unwrap_or_default();
            // Where they differ, there are none that all have.
            units = Some(if units.is_none_or(|other| other == of) { of } else { MatrixUnits::default() });
        }
        config.purpose(&self.target, units.unwrap_or_default())
    }

    /// The schedule of a graph, from the cache where that is allowed.
    fn schedule(&self, graph: &Graph, key: &GraphKey, config: &PrepareConfig) -> Result<Arc<Scheduled>> {
        let how = self.purpose(graph, config);
        match self.schedule_key(key, config)? {
            Some(known) => self.schedules.get_or_make(&known, || {
                let ScheduleKey { fingerprint, device, compiler, .. } = &known;
                let about = format!("{fingerprint:?} {device:?} {compiler}");
                schedules::scheduled(graph, key, how, config, &about).map(Arc::new)
            }),
            None => Scheduled::new(graph, key, how, config).map(Arc::new),
        }
    }

    /// By what a schedule is found, where one may be kept.
    fn schedule_key(&self, key: &GraphKey, config: &PrepareConfig) -> Result<Option<ScheduleKey>> {
        if config.disable_schedule_cache {
            return Ok(None);
        }
        let compiler = self.devices.get(&DeviceSpec::CPU)?.primary()?.compiler.cache_key();
        Ok(Some(ScheduleKey {
            graph: key.hash,
            prepared: config.prepared,
            fingerprint: config.fingerprint(),
            device: config.device.clone(),
            compiler,
        }))
    }

    /// Whether a graph has no schedule, but one that differs from it in numbers only was read before.
    ///
    /// # Errors
    /// Leaves that no run could read.
    pub fn is_variant(&self, graph: &Graph, config: &PrepareConfig) -> Result<bool> {
        let key = Pass::Key.time(|| GraphKey::new(graph))?;
        Ok(self.seen_like(graph, &key, config)?.is_some())
    }

    /// Whether a graph would have a schedule of its own, as others had that are the same but for sizes, which have nothing in
    /// common.
    ///
    /// # Errors
    /// Leaves that no run could read.
    pub fn is_unfit(&self, graph: &Graph, config: &PrepareConfig) -> Result<bool> {
        if !self.unfit.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let key = Pass::Key.time(|| GraphKey::new(graph))?;
        Ok(self.seen_like(graph, &key, config)?.is_some_and(|(seen, outline)| seen.lock().is_unfit(&outline)))
    }

    /// What is known of graphs that differ in numbers only from one that a read computes, and the outline of all of them;
    /// none where the graph has a schedule of its own.
    pub(crate) fn seen_like(
        &self,
        graph: &Graph,
        key: &GraphKey,
        config: &PrepareConfig,
    ) -> Result<Option<(Seen, Outline)>> {
        if config.skip.contains(Pass::Arguments) || config.prepared || !config.schedules.is_empty() {
            return Ok(None);
        }
        let own = self.schedule_key(key, config)?.filter(|own| !self.schedules.contains(own));
        Ok(own.and_then(|own| {
            let outline = Pass::Arguments.time(|| Outline::new(Unshared::new(graph).graph()));
            Some((self.seen.get(&ScheduleKey { graph: outline.hash, ..own })?, outline))
        }))
    }

    /// The graph with those numbers as arguments in which it differs from others that are the same otherwise, and the
    /// record that says so. A plan that a program prepares is made for its numbers.
    fn with_arguments(
        &self,
        graph: &Graph,
        key: &GraphKey,
        inputs: &[PlanInput],
        config: &PrepareConfig,
    ) -> Option<(Seen, WithArguments)> {
        // What was traced for inputs that are still to come is one call of a function of many.
        let traced = !inputs.is_empty() && inputs.iter().all(|input| !input.filled);
        let skipped = config.skip.contains(Pass::Arguments);
        if skipped || config.prepared && !traced || !config.schedules.is_empty() {
            return None;
        }
        let own = self.schedule_key(key, config).ok()?.filter(|own| !self.schedules.contains(own))?;
        let (sizes, host) = (config.search(self).is_none(), self.devices.get(&DeviceSpec::CPU).ok()?);
        Pass::Arguments.time(|| {
            let unshared = Unshared::new(graph);
            let outline = Outline::new(unshared.graph());
            let alike = ScheduleKey { graph: outline.hash, ..own };
            let seen = self.seen.get_or_make(&alike, || Ok::<_, Error>(Seen::default())).ok()?;
            let mut record = seen.lock();
            let found = record.with_arguments(unshared.graph(), key, &outline, sizes, &host).unwrap_or_else(|_| {
                record.refuse();
                None
            });
            if !matches!(found, Some(WithArguments::Formed(_))) {
                self.count(&mut record);
                self.unfit.fetch_or(record.has_unfit(), Ordering::Relaxed);
            }
            drop(record);
            let mut found = found?;
            if let WithArguments::Formed(formed) = &mut found {
                formed.nodes.iter_mut().flatten().for_each(|at| *at = unshared.original(*at));
            }
            Some((seen, found))
        })
    }

    /// Counts the bytes of a record that grew. Where all of them are too many, all are forgotten.
    fn count(&self, record: &mut Record) {
        if record.count(&self.numbers) > MOST_NUMBERS {
            self.seen.clear();
        }
    }

    /// The plan's own memory for its `i`-th input, with the content of a leaf.
    fn input(&self, i: usize, leaf: &Leaf) -> Result<(Leaf, PlanInput, UOp)> {
        let given = instantiate::leaf_buffer(leaf, &[])?;
        let device = match given.device() {
            DeviceSpec::Disk(_) => &DeviceSpec::CPU,
            device => device,
        };
        let own = Arc::new(self.buffer(device, leaf.dtype(), given.count())?);
        let filled = given.is_allocated() || given.storage().is_read_only();
        if filled {
            own.copy_from(&given)?;
        }
        let slot = u32::try_from(i).map_err(|_| Error::Unsupported(format!("{i} inputs")))?;
        let memory = Arc::new(Memory::new(own, LeafClass::Input(slot)).with_bindings(&leaf.bindings()));
        let node = UOp::leaf(Leaf::new(memory.clone(), 0, leaf.dtype(), leaf.shape().clone()))?;
        Ok((leaf.clone(), PlanInput { memory, shape: leaf.shape().clone(), filled }, node))
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({:?}, {} threads)", self.devices, self.threads())
    }
}

/// Where the nodes of a graph were made, and those of its loops' bodies.
fn origins_of<'a>(graph: &'a Graph, bodies: &'a [(LoopBody, Graph, NodeIndex)]) -> Vec<Option<&'a Origin>> {
    iter::once(graph).chain(bodies.iter().map(|(_, graph, _)| graph)).flat_map(Graph::origins).collect()
}

/// Prints, once it is dropped, what the passes took meanwhile, if `SVOD_DEBUG` asks
/// for that and anything was compiled.
fn tell_times() -> Option<impl Drop> {
    struct Told([PassTime; pass::PIPELINE.len()]);
    impl Drop for Told {
        fn drop(&mut self) {
            if pass::times()[Pass::Lower as usize].count > self.0[Pass::Lower as usize].count {
                eprint!("svod: compiled in\n{}", pass::table(&self.0));
            }
        }
    }
    (crate::config::debug_level() >= 1).then(|| Told(pass::times()))
}

/// The graph, reading the plan's inputs in place of the leaves that they stand for.
fn with_inputs(graph: Graph, inputs: &[(Leaf, PlanInput, UOp)]) -> Result<Graph> {
    if inputs.is_empty() {
        return Ok(graph);
    }
    let mut own: FxHashMap<&Leaf, &UOp> = FxHashMap::default();
    for (leaf, _, node) in inputs {
        if own.insert(leaf, node).is_some() {
            return Err(Error::Unsupported("one tensor as two inputs of a plan".into()));
        }
    }
    let input = |node: &UOp, _: &[UOp]| Ok(node.op().leaf().and_then(|leaf| own.get(leaf)).map(|n| (*n).clone()));
    replaced(&graph, input)
}

/// The graph with other nodes in place of some: what `by` gives for a node and its operands, replaced already.
pub(crate) fn replaced(graph: &Graph, mut by: impl FnMut(&UOp, &[UOp]) -> Result<Option<UOp>>) -> Result<Graph> {
    let mut nodes: Vec<UOp> = Vec::with_capacity(graph.len());
    for (node, sources) in graph.iter() {
        let sources: Vec<UOp> = sources.iter().map(|s| nodes[*s as usize].clone()).collect();
        let replaced = match by(node, &sources)? {
            Some(other) => other,
            None => {
                // A node may be forced by another thread meanwhile; the picture holds its operands.
                let own = if sources.is_empty() { node.clone() } else { UOp::new(node.op().clone(), &sources)? };
                own.inherit_origin(node);
                own
            }
        };
        nodes.push(replaced);
    }
    let roots: Vec<UOp> = graph.roots().iter().map(|r| nodes[*r as usize].clone()).collect();
    Ok(Graph::new(&roots))
}

/// Elements of a shape at its variables' maxima, those that only this plan has at their values.
pub(crate) fn count_of(shape: &[Size], fixed: &[BoundVariable]) -> Result<usize> {
    let internal = |v: &Variable| fixed.iter().find(|b| b.variable() == v).filter(|_| v.is_internal());
    match fixed.iter().any(|b| b.variable().is_internal()) && shape.iter().any(|n| n.as_const().is_none()) {
        true => {
            let value = |v: &Variable| internal(v).map(|b| Size::from(b.value()));
            max_count(&shape.iter().map(|n| n.substitute(&value)).collect::<Vec<_>>())
        }
        false => max_count(shape),
    }
}

/// Elements of a shape at its variables' maxima.
pub(crate) fn max_count(shape: &[Size]) -> Result<usize> {
    let numel: Size = shape.iter().product();
    let bound = numel.upper_bound().and_then(|n| usize::try_from(n.max(0)).ok());
    bound.ok_or_else(|| Error::UnknownShape(format!("{numel} elements have no upper bound")))
}
