//! Attaching buffers to a schedule: from a PreSchedule to a plan.

use crate::beam;
use crate::code::{Job, KernelCode, Optimizer, compile_all};
use crate::config::{KernelRef, PrepareConfig, Strategy, debug_level};
use crate::context::{Context, count_of, max_count};
use crate::control::{Control, ControlStep};
use crate::error::{Error, Result};
use crate::host::{self, HostStep};
use crate::interrupt::Watch;
use crate::memory::Memory;
use crate::plan::{
    BuildError, CustomFunction, Donated, ExecutionPlan, ExecutionPlanBuilder, PlanInput, PlanOp, Required, Role,
};
use crate::prepack;
use crate::rows::Row;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, OnceLock};
use svod_device::{Buffer, Device, DeviceSpec, StorageId};
use svod_dtype::DType;
use svod_ir::graph::key::GraphKey;
use svod_ir::graph::walk::Graph;
use svod_ir::graph::{Leaf, LeafClass, Origin, Shape, UOp};
use svod_ir::pass::{Pass, visit};
use svod_ir::size::{BoundVariable, Size, Variable};
use svod_schedule::{Item, KernelInvocation, PreSchedule, Purpose, Slot, Variants, create_pre_schedule, pre_schedule};

/// A schedule and, once it was used, the code of its steps.
pub(crate) struct Scheduled {
    pre: PreSchedule,
    /// For each kernel, where its schedule comes from.
    optimizers: Vec<Optimizer>,
    steps: OnceLock<Vec<Step>>,
}

/// What one invocation needs, all of which follows from the schedule.
#[derive(Clone)]
enum Step {
    /// It makes no elements.
    Nothing,
    Kernel(Arc<KernelCode>),
    Copy,
    View {
        offset: usize,
    },
    Row {
        var: Variable,
        each: Size,
    },
    Host {
        /// Position among the functions of the graph.
        function: usize,
        outputs: usize,
        shapes: Arc<[Shape]>,
    },
}

impl Scheduled {
    /// The schedule of a graph. Where nothing has to be computed it has outputs only.
    pub(crate) fn new(graph: &Graph, key: &GraphKey, how: Purpose, config: &PrepareConfig) -> Result<Scheduled> {
        let pre = pre_schedule(graph, key, how)?;
        if debug_level() > 1 {
            pre.decisions.iter().for_each(|decision| eprintln!("fuse {decision}"));
        }
        Ok(Scheduled::of(pre, config))
    }

    /// One whose calls are known.
    pub(crate) fn of(pre: PreSchedule, config: &PrepareConfig) -> Scheduled {
        let chosen = match config.strategy {
            _ if config.strict => Optimizer::Strict,
            Strategy::Heuristic | Strategy::Beam { .. } => Optimizer::Heuristic,
            Strategy::None => Optimizer::Given(Variants::default()),
        };
        Scheduled { optimizers: vec![chosen; pre.kernels.len()], pre, steps: OnceLock::new() }
    }

    /// The calls.
    pub(crate) fn pre(&self) -> &PreSchedule {
        &self.pre
    }

    /// Bytes that the steps move, each argument once a step; `key` is that of the graph.
    pub(crate) fn traffic(&self, key: &GraphKey) -> Result<f64> {
        let of = |slot: &Slot| match *slot {
            Slot::Leaf(i) => Ok(max_count(key.leaves[i].shape())? * key.leaves[i].dtype().bytes()),
            Slot::Buffer(i) => Ok(max_count(&self.pre.buffers[i].shape)? * self.pre.buffers[i].dtype.bytes()),
            Slot::Numbers(_) => Ok(0),
        };
        let all = self.pre.invocations.iter().filter(|i| !matches!(i.item, Item::View { .. })).flat_map(|i| &i.args);
        all.map(|slot| of(slot).map(|bytes| bytes as f64)).sum()
    }

    /// The same with the schedules that the configuration gives; `plan` is that of the same.
    pub(crate) fn with_given(&self, plan: &ExecutionPlan, config: &PrepareConfig) -> Result<Scheduled> {
        let mut optimizers = self.optimizers.clone();
        let order: Vec<usize> = plan.kernels().iter().filter_map(|k| self.kernel_of(plan.ops()[k.op].id?)).collect();
        for (at, schedules) in &config.schedules {
            let (given, chosen): (String, Vec<usize>) = match at {
                KernelRef::Index(i) => (i.to_string(), order.get(*i).copied().into_iter().collect()),
                KernelRef::Name(name) => {
                    let named = |k: &usize| self.pre.kernels[*k].name == *name;
                    (format!("'{name}'"), (0..optimizers.len()).filter(named).collect())
                }
            };
            if chosen.is_empty() {
                let names: Vec<&str> = order.iter().map(|k| self.pre.kernels[*k].name.as_str()).collect();
                let known = match names.len() {
                    0 => "no kernels".into(),
                    1 => format!("one kernel: {}", names[0]),
                    n => format!("{n} kernels: {}", names.join(", ")),
                };
                return Err(Error::UnknownKernel { given, known });
            }
            for k in chosen {
                optimizers[k] = Optimizer::Given(schedules.variants(&self.pre.kernels[k], config.strict)?);
            }
        }
        Ok(Scheduled { pre: self.pre.clone(), optimizers, steps: OnceLock::new() })
    }

    /// The kernel of an op, by the number of its invocation.
    fn kernel_of(&self, id: u64) -> Option<usize> {
        let call = usize::try_from(id).ok()?;
        match self.pre.invocations.iter().find(|i| i.call == call)?.item {
            Item::Kernel(k) => Some(k),
            _ => None,
        }
    }
}

/// The elements of a leaf.
pub(crate) fn leaf_buffer(leaf: &Leaf, fixed: &[BoundVariable]) -> Result<Arc<Buffer>> {
    let Some(memory) = leaf.downcast::<Memory>() else {
        return Err(Error::BufferNotFound(format!("a leaf ({leaf}) that is no memory of this runtime")));
    };
    let (count, offset) = (count_of(leaf.shape(), fixed)?, leaf.offset() as usize);
    let whole = memory.buffer();
    if (whole.offset(), whole.count(), whole.dtype()) == (offset, count, leaf.dtype()) {
        return Ok(whole.clone());
    }
    Ok(Arc::new(Buffer::over(whole.storage().clone(), offset, leaf.dtype(), count)?))
}

/// The graph that a schedule is used for.
pub(crate) struct Use<'a> {
    /// Its leaves, functions and bound variables.
    pub key: &'a GraphKey,
    /// Extents of its roots: a buffer may hold a root under others.
    pub shapes: &'a [Shape],
    /// What runs are given anew.
    pub inputs: &'a [PlanInput],
    /// Where its nodes were made.
    pub origins: &'a [Option<&'a Origin>],
    /// What sizes have to satisfy.
    pub required: &'a [Required],
    /// What runs may write over inputs.
    pub donated: &'a Donated,
    /// Whether all runs are on memory of others, as far as that is possible.
    pub lent: bool,
}

/// A plan that runs `scheduled` for a graph.
pub(crate) fn instantiate(
    context: &Arc<Context>,
    scheduled: &Scheduled,
    graph: &Use,
    config: &PrepareConfig,
    watch: &Watch,
) -> Result<ExecutionPlan> {
    let pre = &scheduled.pre;
    let leaves = graph.key.leaves.iter().map(|leaf| leaf_buffer(leaf, &graph.key.fixed)).collect::<Result<Vec<_>>>()?;
    let devices = devices(context, pre, &leaves, config)?;
    check_addressable(pre, &devices, &graph.key.fixed)?;
    let steps = match scheduled.steps.get() {
        Some(steps) => steps,
        None => {
            let steps = steps(context, scheduled, &devices, config, watch)?;
            scheduled.steps.get_or_init(|| steps)
        }
    };
    let builder = Pass::Attach.time(|| attach(context, &scheduled.pre, steps, &leaves, &devices, graph, config))?;
    Ok(Pass::Plan.time(|| builder.build())?)
}

/// Refuses buffers that no machine has memory for, before kernels are made for them.
fn check_addressable(pre: &PreSchedule, devices: &FxHashMap<Slot, Arc<Device>>, fixed: &[BoundVariable]) -> Result<()> {
    const MOST: usize = 1 << 47;
    for (i, spec) in pre.buffers.iter().enumerate() {
        let bytes = count_of(&spec.shape, fixed)?.saturating_mul(spec.dtype.bytes());
        if bytes > MOST {
            let device = devices.get(&Slot::Buffer(i)).map_or(DeviceSpec::CPU, |device| device.spec().clone());
            return Err(Error::OutOfMemory { bytes, device, held: String::new() });
        }
    }
    Ok(())
}

/// The calls of a schedule, on buffers.
fn attach(
    context: &Arc<Context>,
    pre: &PreSchedule,
    steps: &[Step],
    leaves: &[Arc<Buffer>],
    devices: &FxHashMap<Slot, Arc<Device>>,
    graph: &Use,
    config: &PrepareConfig,
) -> Result<ExecutionPlanBuilder> {
    let Use { key, shapes, inputs, origins, required, donated, lent } = *graph;
    let mut builder = ExecutionPlanBuilder::new(context);
    builder
        .planner(config.planner)
        .memory_budget(config.memory_budget)
        .require(required.to_vec())
        .donate(donated.clone())
        .lend(lent);
    builder.check_numbers(config.detect_nan);
    if let Some(threads) = config.threads {
        builder.threads(threads);
    }
    let functions = key.functions.iter().map(host::owned).collect::<Result<Vec<_>>>()?;
    let mut table = Table { at: FxHashMap::default(), buffers: Vec::new() };
    for (i, buffer) in leaves.iter().enumerate() {
        let role = if matches!(key.leaves[i].class(), LeafClass::Input(_)) { Role::Input } else { Role::Given };
        table.add(&mut builder, Slot::Leaf(i), buffer.clone(), role);
    }
    builder.keep(key.leaves.clone());
    let outputs: FxHashSet<Slot> = pre.outputs.iter().copied().collect();
    let mut volatile: FxHashSet<StorageId> = {
        let all = leaves.iter().zip(&key.leaves).filter(|(_, leaf)| !leaf.class().is_value());
        all.map(|(buffer, _)| buffer.storage_id()).collect()
    };
    let runs: FxHashSet<usize> = {
        let all = pre.invocations.iter().zip(steps);
        all.filter(|(_, step)| !matches!(step, Step::Nothing)).map(|(invocation, _)| invocation.call).collect()
    };
    let mut writes: FxHashMap<Slot, usize> = FxHashMap::default();
    for slot in pre.invocations.iter().flat_map(|i| pre.written(i)) {
        *writes.entry(*slot).or_default() += 1;
    }
    for (invocation, step) in pre.invocations.iter().zip(steps) {
        let out = first_written(pre, invocation)?;
        let device = &devices[&out];
        match (step, out) {
            (Step::Copy, Slot::Buffer(_)) if writes[&out] == 1 => {
                let source = &table.buffers[table.get(invocation.args[1])?];
                let mapped = source.device().is_disk().then(|| source.borrow_on(device.allocator()));
                // A file that the host sees needs no copy, unless it is misaligned there.
                if let Some(Ok(Some(mapped))) = mapped {
                    volatile.insert(mapped.storage_id());
                    table.add(&mut builder, out, Arc::new(mapped), Role::Given);
                    continue;
                }
            }
            (Step::View { offset }, Slot::Buffer(i)) => {
                let (base, spec) = (&table.buffers[table.get(invocation.args[1])?], &pre.buffers[i]);
                let start = base.offset().saturating_add(offset.saturating_mul(base.dtype().bytes()));
                let count = count_of(&spec.shape, &key.fixed)?;
                let view = Buffer::over(base.storage().clone(), start, spec.dtype, count);
                let view = view.map_err(|error| BuildError::View {
                    op: invocation.call,
                    offset: offset.saturating_mul(base.dtype().bytes()),
                    bytes: count.saturating_mul(spec.dtype.bytes()),
                    base_bytes: base.bytes(),
                    found: error.to_string(),
                })?;
                let is_own = outputs.contains(&out) && !volatile.contains(&view.storage_id());
                let role = if is_own { Role::Output } else { Role::Intermediate };
                table.add(&mut builder, out, Arc::new(view), role);
            }
            _ => {}
        }
        for slot in pre.written(invocation) {
            if let (Slot::Buffer(i), false) = (*slot, table.at.contains_key(slot)) {
                let spec = &pre.buffers[i];
                let buffer = Buffer::new(device.allocator(), spec.dtype, count_of(&spec.shape, &key.fixed)?)?;
                let role = if outputs.contains(slot) { Role::Output } else { Role::Intermediate };
                table.add(&mut builder, *slot, Arc::new(buffer), role);
            }
        }
        for slot in &invocation.args {
            if let (Slot::Numbers(i), false) = (*slot, table.at.contains_key(slot)) {
                let numbers = &pre.numbers[i];
                let dtype = numbers.first().map_or(DType::F32, |number| number.dtype());
                let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()[..dtype.bytes()].to_vec()).collect();
                let buffer = Buffer::from_bytes(device.allocator(), dtype, &bytes)?;
                table.add(&mut builder, *slot, Arc::new(buffer), Role::Given);
            }
        }
        visit(invocation.args.len());
        let mut args = invocation.args.iter().map(|a| table.get(*a)).collect::<Result<Vec<_>>>()?;
        let mut op = match step {
            Step::Nothing => continue,
            Step::Copy => PlanOp::copy(args[0], args[1]),
            Step::View { offset } => PlanOp::view(args[0], args[1], *offset),
            Step::Row { var, each } => {
                PlanOp::custom(Arc::new(Row { var: var.clone(), each: each.clone() }), args, vec![0])
            }
            Step::Host { function, outputs, shapes } => {
                let (function, count) = (*function, key.functions.len());
                let missing = || Error::BufferNotFound(format!("function {function} of {count}"));
                let call = functions.get(function).ok_or_else(missing)?;
                let (call, shapes) = (call.clone(), shapes.clone());
                let step: Arc<dyn CustomFunction> = match call.downcast::<Control>() {
                    Some(_) => {
                        let operands = invocation.args.iter().skip(*outputs);
                        let value = |slot: &Slot| leaf_of(key, *slot).filter(|leaf| leaf.class().is_value());
                        let constants: Vec<Option<&Leaf>> = operands.map(value).collect();
                        let (spec, outputs) = (device.spec(), *outputs);
                        Arc::new(ControlStep::new(call, outputs, shapes, &constants, context, spec, config)?)
                    }
                    None => Arc::new(HostStep::new(call, *outputs, shapes)),
                };
                PlanOp::custom(step, args, (0..*outputs).collect())
            }
            Step::Kernel(code) => {
                table.reachable(&mut builder, &mut args, device)?;
                let own: Vec<Arc<Buffer>> = args.iter().map(|a| table.buffers[*a].clone()).collect();
                let constants: Vec<Option<&Leaf>> = invocation.args.iter().map(|a| leaf_of(key, *a)).collect();
                let params = &code.spec().ast.params;
                for (at, param) in params.iter().enumerate().skip(args.len()) {
                    args.push(match code.packs().iter().find(|p| p.param == at) {
                        Some(pack) => {
                            let packed = prepack::packed(context, pack, &own, &constants, &key.fixed)?;
                            table.push(&mut builder, packed, Role::Given)
                        }
                        None => {
                            let own =
                                Buffer::new(device.allocator(), param.dtype, count_of(&param.shape, &key.fixed)?)?;
                            table.push(&mut builder, Arc::new(own), Role::Intermediate)
                        }
                    });
                }
                PlanOp::kernel(code.clone(), args)
            }
        };
        op.id = Some(invocation.call as u64);
        op.origins = lines(invocation, origins);
        if let Some(code) = op.code() {
            context.lines.note(code, &op.origins);
        }
        // What an invocation reads orders it anyway.
        op.dependencies = invocation.after.iter().filter(|e| runs.contains(e)).map(|e| *e as u64).collect();
        op.fixed = invocation.fixed.clone();
        builder.op(op);
    }
    let mut own = |slot: &Slot| table.owned(&mut builder, *slot, &volatile);
    let outputs = pre.outputs.iter().map(&mut own).collect::<Result<_>>()?;
    builder.outputs(outputs);
    builder.output_shapes(shapes.to_vec());
    builder.inputs(inputs);
    builder.bind(&[&key.bindings[..], &pre.bindings].concat());
    builder.fix(&key.fixed);
    Ok(builder)
}

/// Attaches memory to a schedule: its leaves, functions and variables are those of `key`, in their order;
/// other buffers are allocated. `inputs` is the memory of those leaves that runs of the plan are given anew.
///
/// # Errors
/// [`Error::EmptySchedule`] where there is nothing to run, and whatever compiling, allocating or
/// ordering meets.
pub fn instantiate_schedule(
    context: &Arc<Context>,
    pre: &PreSchedule,
    key: &GraphKey,
    inputs: &[PlanInput],
    config: &PrepareConfig,
) -> Result<ExecutionPlan> {
    if pre.invocations.is_empty() {
        return Err(Error::EmptySchedule);
    }
    let scheduled = Scheduled::of(pre.clone(), config);
    let shape = |slot: &Slot| match *slot {
        Slot::Leaf(i) => key.leaves[i].shape().clone(),
        Slot::Buffer(i) => pre.buffers[i].shape.clone().into(),
        Slot::Numbers(i) => vec![Size::from(pre.numbers[i].len() as i64)].into(),
    };
    let shapes: Vec<Shape> = pre.outputs.iter().map(shape).collect();
    let graph =
        Use { key, shapes: &shapes, inputs, origins: &[], required: &[], donated: &Donated::default(), lent: false };
    instantiate(context, &scheduled, &graph, config, &Watch::new(context.stop_check()))
}

/// Schedules a graph and attaches its leaves' memory: [`create_pre_schedule`] and
/// [`instantiate_schedule`] in one. [`Context::plan`] does the same through the caches.
///
/// # Errors
/// [`Error::NoKernels`] where there is nothing to compute, and those of the two.
pub fn create_schedule(context: &Arc<Context>, roots: &[UOp], config: &PrepareConfig) -> Result<ExecutionPlan> {
    let graph = Graph::new(roots);
    let key = GraphKey::new(&graph)?;
    let pre = create_pre_schedule(&graph, &key, context.purpose(&graph, config))?;
    instantiate_schedule(context, &pre, &key, &[], config)
}

/// The plan's buffers, by what they stand for.
struct Table {
    at: FxHashMap<Slot, usize>,
    buffers: Vec<Arc<Buffer>>,
}

impl Table {
    fn push(&mut self, builder: &mut ExecutionPlanBuilder, buffer: Arc<Buffer>, role: Role) -> usize {
        self.buffers.push(buffer.clone());
        builder.buffer(buffer, role)
    }

    fn add(&mut self, builder: &mut ExecutionPlanBuilder, slot: Slot, buffer: Arc<Buffer>, role: Role) {
        let at = self.push(builder, buffer, role);
        self.at.insert(slot, at);
    }

    fn get(&self, slot: Slot) -> Result<usize> {
        self.at.get(&slot).copied().ok_or_else(|| Error::BufferNotFound(format!("{slot:?} is read before it is made")))
    }

    /// The buffer of an output, or, where it is memory that others may write, a copy of it that is the plan's.
    fn owned(
        &mut self,
        builder: &mut ExecutionPlanBuilder,
        slot: Slot,
        volatile: &FxHashSet<StorageId>,
    ) -> Result<usize> {
        let at = self.get(slot)?;
        let buffer = self.buffers[at].clone();
        if !volatile.contains(&buffer.storage_id()) {
            return Ok(at);
        }
        let copy = Buffer::new(buffer.storage().allocator(), buffer.dtype(), buffer.count())?;
        let own = self.push(builder, Arc::new(copy), Role::Output);
        builder.op(PlanOp::copy(own, at));
        Ok(own)
    }

    /// Puts arguments that are files into the kernel's reach.
    fn reachable(
        &mut self,
        builder: &mut ExecutionPlanBuilder,
        args: &mut [usize],
        device: &Arc<Device>,
    ) -> Result<()> {
        for arg in args {
            let buffer = &self.buffers[*arg];
            if buffer.device() == device.spec() {
                continue;
            }
            let mapped = if buffer.device().is_disk() { buffer.borrow_on(device.allocator())? } else { None };
            let Some(mapped) = mapped else {
                let (from, to) = (buffer.device(), device.spec());
                return Err(Error::Unsupported(format!("a kernel on {to} that reads memory of {from}")));
            };
            *arg = self.push(builder, Arc::new(mapped), Role::Given);
        }
        Ok(())
    }
}

/// A constant leaf, if the slot is one.
fn leaf_of(key: &GraphKey, slot: Slot) -> Option<&Leaf> {
    match slot {
        Slot::Leaf(i) => key.leaves.get(i).filter(|l| l.class().is_constant()),
        Slot::Buffer(_) | Slot::Numbers(_) => None,
    }
}

/// The first argument that an invocation writes, which says where it runs.
fn first_written(pre: &PreSchedule, invocation: &KernelInvocation) -> Result<Slot> {
    let first = pre.written(invocation).first().copied();
    first.ok_or_else(|| Error::BufferNotFound("a step that writes nothing".into()))
}

/// The lines that an invocation computes, each once, first the one that it is for.
fn lines(invocation: &KernelInvocation, origins: &[Option<&Origin>]) -> Arc<[Origin]> {
    let mut lines: Vec<Origin> = Vec::new();
    for origin in invocation.nodes.iter().filter_map(|node| *origins.get(*node as usize)?) {
        if !lines.contains(origin) {
            lines.push(origin.clone());
        }
    }
    lines.into()
}

/// The device of each slot: its own, else that of the first argument that is not a file, else the
/// one that the configuration chooses, else CPU.
fn devices(
    context: &Context,
    pre: &PreSchedule,
    leaves: &[Arc<Buffer>],
    config: &PrepareConfig,
) -> Result<FxHashMap<Slot, Arc<Device>>> {
    let chosen = config.device.as_ref().unwrap_or(&DeviceSpec::CPU);
    let mut devices: FxHashMap<Slot, Arc<Device>> = FxHashMap::default();
    for (i, leaf) in leaves.iter().enumerate() {
        devices.insert(Slot::Leaf(i), context.devices().get(leaf.device())?);
    }
    for invocation in &pre.invocations {
        for out in pre.written(invocation) {
            let Slot::Buffer(i) = *out else { continue };
            if devices.contains_key(out) {
                continue;
            }
            let device = match &pre.buffers[i].device {
                Some(device) => context.devices().open(device.name())?,
                None => {
                    let mut args = invocation.args.iter().filter_map(|a| devices.get(a));
                    match args.find(|d| !d.spec().is_disk()) {
                        Some(device) => device.clone(),
                        None => context.devices().get(chosen)?,
                    }
                }
            };
            // Kernels cannot write files: their results are wherever the CPU computes them.
            let device = if device.spec().is_disk() { context.devices().get(&DeviceSpec::CPU)? } else { device };
            devices.insert(*out, device);
        }
    }
    Ok(devices)
}

/// Compiles what the invocations need, each kernel once a device.
fn steps(
    context: &Context,
    scheduled: &Scheduled,
    devices: &FxHashMap<Slot, Arc<Device>>,
    config: &PrepareConfig,
    watch: &Watch,
) -> Result<Vec<Step>> {
    let pre = &scheduled.pre;
    let target = config.target.as_ref().unwrap_or(context.target());
    let mut jobs = Vec::new();
    let mut known: FxHashMap<(usize, DeviceSpec), usize> = FxHashMap::default();
    // What each step is, a kernel by its job.
    let mut plan: Vec<std::result::Result<usize, Step>> = Vec::with_capacity(pre.invocations.len());
    for invocation in &pre.invocations {
        let out = first_written(pre, invocation)?;
        let mut empty = true;
        for out in pre.written(invocation) {
            empty &= match *out {
                Slot::Buffer(i) => max_count(&pre.buffers[i].shape)? == 0,
                Slot::Leaf(_) | Slot::Numbers(_) => false,
            };
        }
        plan.push(match &invocation.item {
            Item::Host { function, outputs, shapes } => {
                Err(Step::Host { function: *function, outputs: *outputs, shapes: shapes[..].into() })
            }
            _ if empty => Err(Step::Nothing),
            Item::Copy => Err(Step::Copy),
            Item::View { offset } => Err(Step::View { offset: *offset }),
            Item::Row { var, each } => Err(Step::Row { var: var.clone(), each: each.clone() }),
            Item::Kernel(k) => Ok({
                let device = &devices[&out];
                *known.entry((*k, device.spec().clone())).or_insert_with(|| {
                    let (kernel, optimizer) = (pre.kernels[*k].clone(), scheduled.optimizers[*k].clone());
                    let (device, target) = match device.target() {
                        Some(own) => (device.clone(), own.clone()),
                        None => (context.device_for(device, target), target.clone()),
                    };
                    jobs.push(Job { kernel, device, target, optimizer });
                    jobs.len() - 1
                })
            }),
        });
    }
    if let Some(search) = config.search(context) {
        beam::choose(context, &mut jobs, &search, watch)?;
    }
    let codes = compile_all(context, &jobs, watch)?;
    let step = |step: std::result::Result<usize, Step>| match step {
        Ok(job) => Step::Kernel(codes[job].clone()),
        Err(step) => step,
    };
    Ok(plan.into_iter().map(step).collect())
}
