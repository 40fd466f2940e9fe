//! What a plan is and costs, derived from its ops: see [`svod_schedule::analysis`].

use super::builder::Role;
use super::gpu::Gpu;
use super::op::{OpKind, PlanOp};
use super::{ExecutionPlan, order};
use crate::code::KernelCode;
use crate::context::Context;
use crate::error::Result;
use crate::machine::MachineSpeed;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::time::Duration;
use svod_cuda::Info;
use svod_device::{Buffer, DeviceSpec, LaunchSizes, StorageId};
use svod_ir::kernel::{Body, Kernel};
use svod_ir::lowered::cost::{self, Cost, Machine, Rounds};
use svod_ir::lowered::{LoopKind, Phase, Stmt};
use svod_ir::size::{BoundVariable, Size, Variable};
use svod_schedule::analysis::{
    Analysis, BufferInfo, Fusion, Item, ItemAnalysis, ItemContext, KernelInfo, Layout, MachineInfo, MemoryScope,
    Opportunity, PACKING_CORES, Scope, Synchronization, What, hints, iteration_space, reductions,
};

impl ExecutionPlan {
    /// What the plan is and costs, at the present values of its variables (those without one count with
    /// their upper bounds), with the times of the last profiled run.
    ///
    /// # Errors
    /// As [`ExecutionPlan::values`].
    pub fn analysis(&self) -> Result<Analysis> {
        let context = &self.shared.context;
        let threads = self.shared.pool.as_ref().map_or(context.threads(), |pool| pool.threads());
        let speed = context.machine(threads);
        let values = self.values()?;
        let ops = self.ops();
        let run = self.order();
        let (data, control) = order::edges(ops, &self.buffers, run);
        let profile = self.last_profile();
        let measured = |at: usize| -> Option<f64> {
            let profile = profile.as_ref()?;
            let timing = profile.kernels.iter().chain(&profile.others).find(|t| t.op == at)?;
            Some(nanoseconds(timing.time))
        };
        let gpus = self.gpus();
        // Where the op at a place of the order is among the items, which have a barrier before each level.
        let place_of = |place: usize| place + self.levels()[run[place]];
        let places = |list: &[usize]| list.iter().map(|place| place_of(*place)).collect::<Vec<_>>();
        let item = |place: usize, barrier: Option<usize>| {
            let at = run[place];
            let op = &ops[at];
            let mut read: Vec<usize> = op.accesses().filter(|(_, write)| !*write).map(|(b, _)| b).collect();
            let mut written: Vec<usize> = op.accesses().filter(|(_, write)| *write).map(|(b, _)| b).collect();
            [&mut read, &mut written].into_iter().for_each(|list| {
                list.sort_unstable();
                list.dedup();
            });
            Item {
                op: Some(at),
                name: op.name().to_owned(),
                what: what(op, &values),
                context: self.item_context(at, op, &values),
                reads: read,
                writes: written,
                data: places(&data[place]),
                control: places(&control[place]).into_iter().chain(barrier).collect(),
                origins: op.origins.to_vec(),
                analysis: self
                    .costs(op, &values, &speed.machine, &gpus)
                    .map(|a| ItemAnalysis { measured_ns: measured(at), ..a }),
            }
        };
        let mut items: Vec<Item> = Vec::with_capacity(run.len());
        let mut kernels: Vec<Option<&Kernel>> = Vec::with_capacity(run.len());
        for (level, range) in self.shared.order.ranges.iter().enumerate() {
            if level > 0 {
                items.push(barrier(&items, level));
                kernels.push(None);
            }
            let barrier = items.len().checked_sub(1);
            items.extend(range.clone().map(|place| item(place, barrier)));
            kernels.extend(
                range.clone().map(|place| ops[run[place]].code().and_then(|code| code.kernel()).map(AsRef::as_ref)),
            );
        }
        let buffers = self.buffer_infos(&items);
        let present: Vec<f64> =
            self.buffers.iter().zip(&buffers).map(|(b, info)| present_bytes(b, &info.layout.shape, &values)).collect();
        let (critical_path, estimated_total_ns) = Analysis::longest(&items)
            .expect("a plan that was built has an order, and items wait for those that run before them");
        let storages: FxHashMap<StorageId, usize> =
            self.buffers.iter().map(|b| (b.storage_id(), b.storage().bytes())).collect();
        Ok(Analysis {
            opportunities: self.opportunities(&items, &kernels, &present, &speed, estimated_total_ns),
            critical_path,
            estimated_total_ns,
            measured_total_ns: profile.map(|p| nanoseconds(p.total)),
            held_bytes: storages.into_values().sum::<usize>() as u64,
            peak_bytes: Analysis::peak(&buffers, items.len()),
            machine: MachineInfo {
                threads,
                flops: speed.machine.peak(4),
                bandwidth: speed.machine.levels.last().map_or(0.0, |l| l.all),
                measured: speed.measured,
                noise: speed.noise,
                gpus: gpus.into_values().map(|gpu| gpu.info).collect(),
            },
            items,
            buffers,
        })
    }

    /// [`ExecutionPlan::analysis`] as a table.
    ///
    /// # Errors
    /// As [`ExecutionPlan::values`].
    pub fn explain(&self) -> Result<String> {
        Ok(self.analysis()?.to_string())
    }

    /// What the analysis says of one operation, by its number in [`ExecutionPlan`]'s listing: iteration
    /// space, mapping, reductions, hints, resources, buffers and schedule.
    ///
    /// Nothing where no operation has the number.
    ///
    /// # Errors
    /// As [`ExecutionPlan::values`].
    pub fn explain_op(&self, op: usize) -> Result<Option<String>> {
        let analysis = self.analysis()?;
        let item = analysis.items.iter().position(|item| item.op == Some(op));
        Ok(item.map(|item| analysis.detail(item)))
    }

    fn item_context(&self, at: usize, op: &PlanOp, values: &[BoundVariable]) -> ItemContext {
        let device = op.buffers.first().map(|b| self.buffers[*b].device().to_string()).unwrap_or_default();
        let (mut dims, mut upcasted) = (0, 0);
        let phases = op.code().into_iter().flat_map(|code| {
            let variant = variant(code, op, values);
            code.spec().ast.phases.iter().filter(move |phase| phase.variant == variant)
        });
        for phase in phases {
            let mut open: Vec<&Stmt> = phase.body.iter().collect();
            dims += phase.grid.len();
            while let Some(stmt) = open.pop() {
                match stmt {
                    Stmt::Loop(l, body) => {
                        dims += 1;
                        upcasted += usize::from(l.kind != LoopKind::Serial);
                        open.extend(body);
                    }
                    Stmt::If(_, body) => open.extend(body),
                    _ => {}
                }
            }
        }
        ItemContext { device, stream: self.levels()[at], dims, upcasted }
    }

    /// The GPUs that ops run on.
    fn gpus(&self) -> BTreeMap<DeviceSpec, Gpu> {
        let mut gpus = BTreeMap::new();
        let mut told: Option<Vec<(DeviceSpec, Info)>> = None;
        for device in self.ops().iter().filter_map(|op| op.code()).map(|code| code.device()) {
            let Some(target) = device.target().filter(|target| target.groups.is_some()) else { continue };
            if gpus.contains_key(device.spec()) {
                continue;
            }
            let told = told.get_or_insert_with(|| Context::gpus().unwrap_or_default());
            let info = told.iter().find(|(spec, _)| spec == device.spec()).map(|(_, info)| info);
            gpus.extend(Gpu::new(device.spec(), target, info).map(|gpu| (device.spec().clone(), gpu)));
        }
        gpus
    }

    /// What an op costs: nothing is known of functions of the host.
    fn costs(
        &self,
        op: &PlanOp,
        values: &[BoundVariable],
        machine: &Machine,
        gpus: &BTreeMap<DeviceSpec, Gpu>,
    ) -> Option<ItemAnalysis> {
        match &op.kind {
            OpKind::Kernel(code) => {
                let sizes: Vec<f64> = op.buffers.iter().map(|b| self.buffers[*b].bytes() as f64).collect();
                Some(of_kernel(code, op, values, machine, gpus.get(code.device().spec()).map(|gpu| (gpu, &sizes[..]))))
            }
            OpKind::View { .. } => Some(ItemAnalysis { occupancy: 1.0, ..ItemAnalysis::default() }),
            OpKind::Copy => {
                let bytes = self.buffers[op.buffers[0]].bytes() as f64;
                let there = gpus.get(self.buffers[op.buffers[0]].device());
                if let Some(gpu) =
                    there.filter(|_| self.buffers[op.buffers[1]].device() == self.buffers[op.buffers[0]].device())
                {
                    return Some(gpu.copy(bytes));
                }
                let rate = machine.levels.last().map_or(f64::INFINITY, |l| l.single);
                let ns = 2.0 * bytes / rate * 1e9;
                Some(ItemAnalysis {
                    bytes_read: bytes,
                    bytes_written: bytes,
                    occupancy: 1.0 / machine.threads as f64,
                    estimated_ns: ns,
                    least_ns: ns,
                    ..ItemAnalysis::default()
                })
            }
            OpKind::Custom(_) => None,
        }
    }

    fn buffer_infos(&self, items: &[Item]) -> Vec<BufferInfo> {
        let mut spans: Vec<Option<(usize, usize)>> = vec![None; self.buffers.len()];
        for (at, item) in items.iter().enumerate() {
            for &buffer in item.reads.iter().chain(&item.writes) {
                spans[buffer] = Some(spans[buffer].map_or((at, at), |(first, _)| (first, at)));
            }
        }
        let mut groups: FxHashMap<StorageId, usize> = FxHashMap::default();
        let mut infos = Vec::with_capacity(self.buffers.len());
        for (at, (buffer, role)) in self.buffers.iter().zip(&self.shared.roles).enumerate() {
            let fresh = groups.len();
            let end = items.len().saturating_sub(1);
            let output = self.shared.outputs.contains(&at);
            let lifetime = spans[at].map(|(first, last)| match role {
                Role::Given | Role::Input => (0, end),
                _ if output => (first, end),
                _ => (first, last),
            });
            infos.push(BufferInfo {
                dtype: buffer.dtype().name().to_owned(),
                layout: Layout { alignment: svod_device::Block::ALIGN, ..Layout::row_major(&self.shape(at)) },
                scope: MemoryScope::Global,
                device: buffer.device().to_string(),
                bytes: buffer.bytes() as u64,
                input: matches!(role, Role::Given | Role::Input),
                output,
                lifetime,
                alias_group: *groups.entry(buffer.storage_id()).or_insert(fresh),
                offset: buffer.offset() as u64,
            });
        }
        infos
    }

    /// The extents in which a buffer is seen: those of the kernel that writes it, else the first that
    /// reads it.
    fn shape(&self, buffer: usize) -> Vec<Size> {
        let param = |op: &PlanOp| {
            let slots = op.outputs.iter().copied().chain(0..op.buffers.len());
            let slot = slots.into_iter().find(|s| op.buffers[*s] == buffer)?;
            Some(op.code()?.spec().ast.params.get(slot)?.shape.clone())
        };
        let writes = |op: &&PlanOp| op.outputs.iter().any(|o| op.buffers[*o] == buffer);
        let found = self.ops().iter().filter(writes).find_map(param).or_else(|| self.ops().iter().find_map(param));
        found.unwrap_or_else(|| vec![Size::from(self.buffers[buffer].count())])
    }

    /// Pairs of kernels: all that one passes through memory to the other, and to nobody else. Buffers have
    /// these numbers of bytes.
    fn opportunities(
        &self,
        items: &[Item],
        kernels: &[Option<&Kernel>],
        bytes: &[f64],
        speed: &MachineSpeed,
        total: f64,
    ) -> Vec<Opportunity> {
        let mut readers: FxHashMap<usize, FxHashSet<usize>> = FxHashMap::default();
        for (at, item) in items.iter().enumerate() {
            for &buffer in &item.reads {
                readers.entry(buffer).or_default().insert(at);
            }
        }
        let rate = speed.machine.levels.last().map_or(f64::INFINITY, |l| l.all);
        let mut passed: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for (producer, item) in items.iter().enumerate().filter(|(_, item)| item.kernel().is_some()) {
            for &buffer in item.writes.iter().filter(|b| self.shared.roles[**b] == Role::Intermediate) {
                let Some(readers) = readers.get(&buffer).filter(|r| r.len() == 1) else { continue };
                let Some(&consumer) = readers.iter().next().filter(|c| **c > producer) else { continue };
                *passed.entry((producer, consumer)).or_default() += 2.0 * bytes[buffer];
            }
        }
        let opportunity = |((producer, consumer), bytes_saved): ((usize, usize), f64)| {
            let kind = match (is_map(kernels[producer]?), is_map(kernels[consumer]?)) {
                (true, true) => Fusion::Elementwise,
                (true, false) | (false, true) => Fusion::Reduction,
                (false, false) => Fusion::Mixed,
            };
            let saved = bytes_saved / rate * 1e9 + speed.machine.call * 1e9;
            let benefit = if total > 0.0 { (saved / total).min(1.0) } else { 0.0 };
            Some(Opportunity { producer, consumer, kind, benefit, bytes_saved })
        };
        let mut found: Vec<Opportunity> = passed.into_iter().filter_map(opportunity).collect();
        found.sort_by(|a, b| b.benefit.total_cmp(&a.benefit));
        found
    }
}

/// The bytes of a buffer that elements of this shape take at these values; variables without one count with
/// their upper bounds.
fn present_bytes(buffer: &Buffer, shape: &[Size], values: &[BoundVariable]) -> f64 {
    let value = |v: &Variable| values.iter().find(|b| b.variable() == v).map(|b| Size::from(b.value()));
    let count: Size = shape.iter().map(|n| n.substitute(&value)).product();
    let bytes = count.upper_bound().map(|n| n.max(0) as f64 * buffer.dtype().bytes() as f64);
    bytes.unwrap_or(f64::INFINITY).min(buffer.bytes() as f64)
}

/// Whether a kernel only maps.
fn is_map(kernel: &Kernel) -> bool {
    kernel.stages.iter().all(|s| matches!(s.body, Body::Map(_)))
}

/// The barrier before a level: all items since the last one are done.
fn barrier(items: &[Item], level: usize) -> Item {
    let start = items.iter().rposition(Item::is_synchronization).unwrap_or(0);
    let before = &items[start..];
    let device = before[0].context.device.clone();
    let scope = if before.iter().all(|item| item.context.device == device) { Scope::Device } else { Scope::System };
    Item {
        op: None,
        name: "barrier".into(),
        what: What::Synchronization { what: Synchronization::Barrier, scope },
        context: ItemContext { device, stream: level, dims: 0, upcasted: 0 },
        reads: Vec::new(),
        writes: Vec::new(),
        data: Vec::new(),
        control: (start..items.len()).collect(),
        origins: Vec::new(),
        analysis: None,
    }
}

fn what(op: &PlanOp, values: &[BoundVariable]) -> What {
    match &op.kind {
        OpKind::Kernel(code) => {
            let mut info = KernelInfo { launches: launches(code, op, values), ..KernelInfo::default() };
            if let (Some(kernel), Some(variants)) = (code.kernel(), code.variants()) {
                let schedule = variants.get(variant(code, op, values));
                info.space = iteration_space(kernel, schedule);
                info.hints = hints(kernel, schedule);
                info.reductions = reductions(kernel, schedule);
                info.schedule = variants.to_string();
            }
            What::Kernel(Box::new(info))
        }
        OpKind::Copy => What::Transfer { asynchronous: false, strided: None },
        OpKind::View { offset } => What::View { offset: *offset },
        OpKind::Custom(_) => What::HostCallback,
    }
}

/// The tasks of the phases that run at these values: numbers, where these give them.
fn launches(code: &KernelCode, op: &PlanOp, values: &[BoundVariable]) -> Vec<[String; 3]> {
    let (ast, variant) = (&code.spec().ast, variant(code, op, values));
    let phases = ast.phases.iter().zip(&code.spec().launches).filter(|(phase, _)| phase.variant == variant);
    let texts = |(_, launch): (&Phase, &LaunchSizes)| {
        let named = |name: &str| {
            let variable = ast.vars.iter().find(|v| v.name() == name)?;
            value_of(variable, op, values)
        };
        launch.global.each_ref().map(|size| match size.eval(&named) {
            Ok(number) => number.to_string(),
            Err(_) => size.to_string(),
        })
    };
    phases.map(texts).collect()
}

/// The value of a variable of an op, if it has one.
fn value_of(v: &Variable, op: &PlanOp, values: &[BoundVariable]) -> Option<i64> {
    let fixed = op.fixed.iter().find(|(name, _)| name == v.name()).map(|(_, value)| *value);
    fixed.or_else(|| values.iter().find(|b| b.variable().name() == v.name()).map(BoundVariable::value))
}

/// The variant of a kernel that runs at these values; variables without one count with their upper bounds.
fn variant(code: &KernelCode, op: &PlanOp, values: &[BoundVariable]) -> usize {
    let chosen = code.spec().ast.variant(&|v| value_of(v, op, values).or(Some(v.max())));
    chosen.unwrap_or(code.spec().ast.guards.len())
}

/// What a kernel costs; on a GPU by that, with the sizes of its arguments.
fn of_kernel(
    code: &KernelCode,
    op: &PlanOp,
    values: &[BoundVariable],
    machine: &Machine,
    gpu: Option<(&Gpu, &[f64])>,
) -> ItemAnalysis {
    let variant = variant(code, op, values);
    let registers = gpu.map_or(machine.registers, |(gpu, _)| gpu.registers);
    let costs = code.spec().ast.costs(&|v| value_of(v, op, values), registers, Rounds::All);
    let phases = code.spec().ast.phases.iter().zip(costs);
    let costs: Vec<Cost> = phases.filter(|(phase, _)| phase.variant == variant).map(|(_, cost)| cost).collect();
    let analysis = of_costs(code, &costs, machine);
    let Some((gpu, sizes)) = gpu else { return analysis };
    let ast = &code.spec().ast;
    let phases: Vec<_> = ast.phases.iter().filter(|phase| phase.variant == variant).zip(costs).collect();
    gpu.kernel(ast, &phases, sizes, analysis)
}

/// What phases cost that the host runs.
fn of_costs(code: &KernelCode, costs: &[Cost], machine: &Machine) -> ItemAnalysis {
    let total = |of: &dyn Fn(&Cost) -> f64| cost::total(costs.iter().map(of));
    let seconds = machine.call + total(&|c| c.seconds(machine));
    // Phases take turns: each counts as long as it takes.
    let busy = total(&|c| c.occupancy(machine) * c.seconds(machine));
    ItemAnalysis {
        flops: total(&|c| c.flops),
        bytes_read: total(&|c| c.bytes(false)),
        bytes_written: total(&|c| c.bytes(true)),
        packed_bytes: PACKING_CORES.map(|cores| total(&|c| c.packed_per_core(cores))),
        registers: costs.iter().map(|c| c.registers).max().unwrap_or(0),
        scratch_bytes: costs.iter().map(|c| c.scratch).max().unwrap_or(0).max(code.scratch() as u64),
        occupancy: rounded((busy / (seconds - machine.call).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)),
        estimated_ns: seconds * 1e9,
        measured_ns: None,
        least_ns: total(&|c| machine.least(c)) * 1e9,
        gpu: None,
    }
}

/// A share, without digits that say nothing.
fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

fn nanoseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}
