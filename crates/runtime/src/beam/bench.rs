//! What a worker does with candidates: compile them, and time them on memory of its own.

use super::measure::{Rules, Timed, paired, score};
use super::message::{Compiled, Dropped, Reason, Subject};
use crate::code::{Job, KernelCode, Optimizer, compile};
use crate::context::{Context, max_count};
use crate::error::{Error, Result};
use crate::plan::{ExecutionPlan, ExecutionPlanBuilder, PlanOp, Role};
use crate::prepack;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use svod_device::{Buffer, Device, DeviceError, Listing};
use svod_dtype::DType;
use svod_ir::buffer::HostBuffer;
use svod_ir::kernel::Kernel;
use svod_ir::lowered::Lowered;
use svod_ir::lowered::cost::Rounds;
use svod_ir::size::BoundVariable;
use svod_ir::target::Target;
use svod_schedule::{Schedule, lower};

/// What a worker can do with candidates.
pub trait Bench {
    /// Compiles a candidate.
    ///
    /// # Errors
    /// Why it is out of the search.
    fn compile(&mut self, subject: &Subject, schedule: &Schedule) -> Result<Compiled, Dropped>;

    /// Times candidates: one by itself, where `best` is the best time so far, several in turn.
    ///
    /// # Errors
    /// Why they are out of the search.
    fn time(
        &mut self,
        subject: &Subject,
        schedules: &[Schedule],
        best: Option<Duration>,
    ) -> Result<Vec<Duration>, Dropped>;
}

/// Candidates on this process's devices.
#[derive(Default)]
pub(super) struct Native {
    /// Those of the kernel that was timed last: large ones take longer to fill than to use.
    arguments: Option<Arguments>,
}

impl Bench for Native {
    fn compile(&mut self, subject: &Subject, schedule: &Schedule) -> Result<Compiled, Dropped> {
        let Job { kernel, device, target, .. } = &job(subject, schedule)?;
        let program = lower(kernel, schedule).map_err(|e| Dropped::new(Reason::Linearize, e))?;
        let work = work(&program.lowered, target);
        if work > subject.most_work {
            let detail = format!("{work} slots, of at most {}", subject.most_work);
            return Err(Dropped::new(Reason::Compute, detail));
        }
        let backend = device.primary().map_err(|e| Dropped::new(Reason::Compile, e))?;
        let listing = backend.renderer.listing(&program.lowered, Listing::Linear);
        let linear = listing.map_err(|e| Dropped::new(Reason::Linearize, e))?.unwrap_or_default();
        check_length(&linear, subject.max_uops)?;
        let failed = |e: DeviceError| Dropped::new(Reason::Compile, e);
        let spec = backend.renderer.render(&Arc::new(program.lowered), None).map_err(failed)?;
        let code = device.compile(&spec, &*backend.compiler).map_err(failed)?;
        let text = code.source().map(str::as_bytes).or(code.bytes()).unwrap_or_default();
        // A schedule may also differ in what it packs beforehand.
        let packs = program.packs.iter().map(|p| p.kernel.to_string());
        let mut hasher = blake3::Hasher::new();
        hasher.update(text).update(packs.collect::<String>().as_bytes());
        Ok(Compiled { digest: hasher.finalize().to_hex().to_string(), work })
    }

    fn time(
        &mut self,
        subject: &Subject,
        schedules: &[Schedule],
        best: Option<Duration>,
    ) -> Result<Vec<Duration>, Dropped> {
        let context = Context::global();
        let mut runs = Vec::new();
        for schedule in schedules {
            let job = job(subject, schedule)?;
            let code = compile(context, &job).map_err(|e| Dropped::new(Reason::Compile, e))?;
            let failed = |e: Error| Dropped::new(Reason::Run, e);
            let arguments = match self.arguments.take().filter(|a| a.kernel == subject.kernel) {
                Some(known) => known,
                None => Arguments::new(context, &job, subject).map_err(failed)?,
            };
            runs.push(arguments.run(context, &code, subject.threads).map_err(failed)?);
            self.arguments = Some(arguments);
        }
        let rules = target(subject).map(|target| Rules::of(&target))?;
        let times = match &mut runs[..] {
            [one] => score(one, &rules, best).map(|time| vec![time]),
            all => paired(all, &rules),
        };
        times.map_err(|e| Dropped::new(Reason::Run, e))
    }
}

#[cfg(test)]
impl Native {
    /// The variables' values in what was timed last.
    pub(super) fn bindings(&self) -> Vec<BoundVariable> {
        self.arguments.as_ref().map(|a| a.bindings.clone()).unwrap_or_default()
    }

    /// Whether a run after another finds its operands as the first one did.
    pub(super) fn is_restored(&self, subject: &Subject) -> Result<bool> {
        let (context, Some(arguments)) = (Context::global(), &self.arguments) else { return Ok(false) };
        let content = || arguments.buffers.iter().map(|b| Ok(b.to_vec()?)).collect::<Result<Vec<_>>>();
        let job = job(subject, &Schedule::default()).map_err(|e| Error::Unsupported(e.to_string()))?;
        let mut run = arguments.run(context, &compile(context, &job)?, 1)?;
        let before = content()?;
        run.run(None)?;
        let changed = content()? != before && !run.changed.is_empty();
        run.restore()?;
        Ok(changed && run.changed.iter().all(|(b, was)| b.to_vec().is_ok_and(|now| now == *was)))
    }
}

fn target(subject: &Subject) -> Result<Target, Dropped> {
    subject.target.parse().map_err(|e| Dropped::new(Reason::Run, e))
}

fn job(subject: &Subject, schedule: &Schedule) -> Result<Job, Dropped> {
    let (context, target) = (Context::global(), target(subject)?);
    let kernel = Kernel::parse(&subject.kernel).map_err(|e| Dropped::new(Reason::Linearize, e))?;
    let device = context.devices().open(&subject.device).map_err(|e| Dropped::new(Reason::Compile, e))?;
    let device = context.device_for(&device, &target);
    Ok(Job { kernel: Arc::new(kernel), device, target, optimizer: Optimizer::Given(schedule.clone().into()) })
}

/// What all tasks do, in slots, at the variables' maxima.
fn work(lowered: &Lowered, target: &Target) -> u64 {
    let costs = lowered.costs(&|_| None, target.into(), Rounds::Middle);
    costs.iter().map(|c| c.tasks * c.slots).sum::<f64>() as u64
}

/// Refuses a linear list of more than `most` instructions, with what there are most of.
fn check_length(linear: &str, most: usize) -> Result<(), Dropped> {
    /// Kinds of instruction that are named.
    const NAMED: usize = 4;
    /// What gives no value.
    const EFFECTS: [&str; 6] = ["store", "write", "if", "barrier", "tile", "prefetch"];
    let mut counts: FxHashMap<&str, usize> = FxHashMap::default();
    for line in linear.lines().map(str::trim) {
        // One instruction a line: `v3: f32x8 = mul v1, v2`.
        let value = line.strip_prefix('v').and_then(|l| l.split_once(": "));
        let inst = match value.filter(|(number, _)| number.bytes().all(|b| b.is_ascii_digit())) {
            Some((_, typed)) => typed.split_once(" = ").map(|(_, inst)| inst),
            None => Some(line).filter(|l| EFFECTS.iter().any(|e| l.starts_with(e))),
        };
        if let Some(kind) = inst.and_then(|i| i.split_whitespace().next()) {
            *counts.entry(kind).or_default() += 1;
        }
    }
    let count: usize = counts.values().sum();
    if count <= most {
        return Ok(());
    }
    let mut top: Vec<(&str, usize)> = counts.into_iter().collect();
    top.sort_by_key(|(word, n)| (std::cmp::Reverse(*n), *word));
    let top: Vec<String> = top.iter().take(NAMED).map(|(word, n)| format!("{word} {n}")).collect();
    let detail = format!("{count} of at most {most}; most are {}", top.join(", "));
    Err(Dropped::new(Reason::TooManyUops, detail))
}

/// Memory for a kernel's own parameters.
struct Arguments {
    kernel: String,
    buffers: Vec<Arc<Buffer>>,
    /// The kernel's variables in the middle of their ranges.
    bindings: Vec<BoundVariable>,
}

impl Arguments {
    fn new(context: &Context, job: &Job, subject: &Subject) -> Result<Arguments> {
        let buffer = |(i, param): (usize, &svod_ir::kernel::Param)| {
            let buffer = context.buffer(job.device.spec(), param.dtype, max_count(&param.shape)?)?;
            buffer.copy_in(&content(param.dtype, buffer.bytes(), i))?;
            Ok(Arc::new(buffer))
        };
        let buffers = job.kernel.params.iter().enumerate().map(buffer).collect::<Result<_>>()?;
        let middle = |v: &svod_ir::size::Variable| v.bind(v.min() + (v.max() - v.min()) / 2).ok();
        let bindings = job.kernel.vars.iter().filter_map(middle).collect();
        Ok(Arguments { kernel: subject.kernel.clone(), buffers, bindings })
    }

    /// A plan that runs a candidate on the arguments.
    fn run(&self, context: &Arc<Context>, code: &Arc<KernelCode>, threads: usize) -> Result<Run> {
        let spec = code.spec();
        let mut builder = ExecutionPlanBuilder::new(context);
        builder.threads(threads);
        let role = |i: usize| if spec.outs.contains(&i) { Role::Output } else { Role::Given };
        let own = self.buffers.iter().enumerate();
        let mut slots: Vec<usize> = own.map(|(i, b)| builder.buffer(b.clone(), role(i))).collect();
        for (at, param) in spec.ast.params.iter().enumerate().skip(self.buffers.len()) {
            slots.push(match code.packs().iter().find(|p| p.param == at) {
                Some(pack) => builder.buffer(prepack::pack(context, pack, &self.buffers, &[])?, Role::Given),
                None => {
                    let own = context.buffer(code.device().spec(), param.dtype, max_count(&param.shape)?)?;
                    builder.buffer(Arc::new(own), Role::Intermediate)
                }
            });
        }
        let outputs = spec.outs.iter().filter(|o| **o < self.buffers.len()).map(|o| slots[*o]).collect();
        builder.op(PlanOp::kernel(code.clone(), slots));
        builder.outputs(outputs);
        builder.bind(&self.bindings);
        // Content that a run changes and reads: without it, the next run would do other work.
        let both = spec.outs.iter().filter(|o| spec.ins.contains(o));
        let changed = both.filter_map(|o| self.buffers.get(*o)).map(|b| Ok((b.clone(), b.to_vec()?)));
        Ok(Run { changed: changed.collect::<Result<_>>()?, plan: builder.build()?, device: code.device().clone() })
    }
}

/// Elements of a type, from a pattern: between -1 and 1, or small integers.
fn content(dtype: DType, bytes: usize, seed: usize) -> Vec<u8> {
    const PERIOD: usize = 4093;
    let values = (0..PERIOD).map(|i| (i * 7919 + seed * 104_729) % 2003);
    let pattern = match dtype.is_float() {
        true => HostBuffer::from_f64(dtype, values.map(|v| v as f64 / 1001.0 - 1.0)),
        false => HostBuffer::from_i64(dtype, values.map(|v| (v % 5) as i64)),
    };
    pattern.bytes().iter().copied().cycle().take(bytes).collect()
}

/// A candidate that is ready to run.
struct Run {
    plan: ExecutionPlan,
    /// What it reads and writes, as it was.
    changed: Vec<(Arc<Buffer>, Vec<u8>)>,
    device: Arc<Device>,
}

impl Timed for Run {
    type Error = Error;

    fn restore(&mut self) -> Result<()> {
        self.changed.iter().try_for_each(|(buffer, before)| Ok(buffer.copy_in(before)?))
    }

    fn flush(&mut self) -> Result<()> {
        Err(Error::Unsupported("emptying the caches of a device".into()))
    }

    fn grid(&self) -> Option<[usize; 3]> {
        None
    }

    fn run(&mut self, _grid: Option<[usize; 3]>) -> Result<Duration> {
        let start = Instant::now();
        self.plan.execute()?;
        self.device.allocator().synchronize()?;
        Ok(start.elapsed())
    }
}
