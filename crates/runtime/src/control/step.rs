//! Control flow in a run: which region, how often, on which memory.

use super::lent::Parts;
use super::memory::Memory;
use super::{Control, Kind, Region, Trips};
use crate::config::PrepareConfig;
use crate::context::{Context, replaced};
use crate::error::{Error, Result};
use crate::host::values_of;
use crate::interrupt::Watch;
use crate::plan::{CustomArgs, CustomError, CustomFunction, ExecutionPlan, Feed};
use parking_lot::Mutex;
use std::sync::Arc;
use svod_device::{Buffer, DeviceSpec};
use svod_ir::graph::{Graph, HostCall, Leaf, Shape, UOp};
use svod_ir::pass::Pass;
use svod_ir::size::{Size, Variable};

/// Control flow as a step of a plan, with the shapes of its arguments.
pub(crate) struct ControlStep {
    call: HostCall,
    outputs: usize,
    shapes: Arc<[Shape]>,
    context: Arc<Context>,
    regions: Vec<Prepared>,
}

/// A region with its plan.
struct Prepared {
    /// None where it computes nothing.
    plan: Option<ExecutionPlan>,
    /// Of each result, then each flag, where it comes from.
    from: Vec<From>,
    /// Instances that no run uses, and buffers of theirs.
    free: Mutex<Vec<Instance>>,
}

/// Where a result comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// An output of the plan.
    Output(usize),
    /// A parameter, as it is.
    Param(usize),
}

/// What one run of a region holds.
#[derive(Default)]
pub(super) struct Instance {
    pub plan: Option<ExecutionPlan>,
    pub memory: Memory,
}

/// Why a step stops.
pub(super) enum Stop {
    Error(Error),
    Flag(usize),
}

impl<E: Into<Error>> std::convert::From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop::Error(error.into())
    }
}

impl Prepared {
    /// The plan of a region; `constants` says which of its parameters are the same in all runs.
    fn new(
        context: &Arc<Context>,
        region: &Region,
        constants: &[Option<&Leaf>],
        config: &PrepareConfig,
    ) -> Result<Prepared> {
        let (mut roots, mut from): (Vec<UOp>, Vec<From>) = (Vec::new(), Vec::new());
        for result in region.results.iter().chain(&region.flags) {
            let result = result.resolved();
            let param = result.op().leaf().and_then(|leaf| region.params.iter().position(|param| param == leaf));
            from.push(match param {
                Some(param) => From::Param(param),
                None => From::Output(roots.iter().position(|root| *root == result).unwrap_or_else(|| {
                    roots.push(result);
                    roots.len() - 1
                })),
            });
        }
        let plan = match roots.is_empty() {
            true => None,
            false => Some(context.plan(&with_constants(&roots, region, constants)?, &region.params, config)?),
        };
        Ok(Prepared { plan, from, free: Mutex::default() })
    }

    /// Runs `f` on an instance of its own.
    fn with<T>(&self, f: impl FnOnce(&mut Instance) -> Result<T, Stop>) -> Result<T, Stop> {
        let free = self.free.lock().pop();
        let mut instance = match (free, &self.plan) {
            (Some(free), _) => free,
            (None, Some(plan)) => Instance { plan: Some(plan.instance()?), ..Instance::default() },
            (None, None) => Instance::default(),
        };
        let done = f(&mut instance);
        self.free.lock().push(instance);
        done
    }
}

/// These values of a region with constants in place of the parameters that stand for them.
fn with_constants(roots: &[UOp], region: &Region, constants: &[Option<&Leaf>]) -> Result<Vec<UOp>> {
    if constants.iter().all(Option::is_none) {
        return Ok(roots.to_vec());
    }
    let constant = |node: &UOp, _: &[UOp]| -> Result<Option<UOp>> {
        let Some(param) = node.op().leaf() else { return Ok(None) };
        let at = region.params.iter().position(|known| known == param);
        let Some(leaf) = at.and_then(|at| constants.get(at).copied().flatten()) else { return Ok(None) };
        let count = |shape: &[Size]| shape.iter().map(Size::as_const).product::<Option<i64>>();
        let same = leaf.dtype() == param.dtype() && leaf.data().device() == param.data().device();
        if !same || count(leaf.shape()).is_none() || count(leaf.shape()) != count(param.shape()) {
            return Ok(None);
        }
        Ok(Some(UOp::leaf(leaf.clone())?.reshape(param.shape().to_vec())?))
    };
    let graph = replaced(&Graph::new(roots), constant)?;
    Ok(graph.roots().iter().map(|root| graph.nodes()[*root as usize].clone()).collect())
}

impl ControlStep {
    /// A step that runs what `call` says on `device`. Of its operands, `constants` are the same in all runs.
    pub(crate) fn new(
        call: HostCall,
        outputs: usize,
        shapes: Arc<[Shape]>,
        constants: &[Option<&Leaf>],
        context: &Arc<Context>,
        device: &DeviceSpec,
        config: &PrepareConfig,
    ) -> Result<ControlStep> {
        let missing = || Error::Unsupported(format!("{call}, which is no control flow of this runtime"));
        let control = call.downcast::<Control>().ok_or_else(missing)?;
        let mut config = PrepareConfig { schedules: Vec::new(), ..config.clone() }.for_plan();
        config.device = Some(device.clone());
        // Numbers stay part of the bodies: a run gives them nothing but memory and variables.
        config.skip.insert(Pass::Arguments);
        let mut constants = constants.get(control.leading()..).unwrap_or_default().to_vec();
        // What is carried changes, and what is sliced is read by rows.
        if let Kind::Loop { carried, sliced, .. } = control.kind() {
            constants.iter_mut().take(carried + sliced).for_each(|constant| *constant = None);
        }
        let prepared = |region: &Region| Prepared::new(context, region, &constants, &config);
        let regions = control.regions().iter().map(prepared).collect::<Result<Vec<_>>>()?;
        Ok(ControlStep { call, outputs, shapes, context: context.clone(), regions })
    }

    fn run(&self, control: &Control, args: &CustomArgs) -> std::result::Result<(), CustomError> {
        let buffers: Vec<Buffer> = values_of(args, &self.shapes)?.into_iter().map(|value| value.buffer).collect();
        let (results, operands) = buffers.split_at(self.outputs);
        let watch = Watch::new(self.context.stop_check());
        let call = Call { args, watch: &watch, params: &operands[control.leading()..], results };
        let (at, done) = match control.kind() {
            // The region taken is run once: all that it gives are rows of one iteration.
            Kind::Branch => {
                let at = usize::from(!is_true(&operands[0]).map_err(failed)?);
                let parts = Parts { carried: 0, sliced: 0, results: results.len() };
                let once = Counted { count: Some(1), begins: true, number: None, backwards: false };
                (at, call.run(&self.regions[at], &parts, &once))
            }
            Kind::Loop { trips, number, carried, sliced, backwards } => {
                let count = match trips {
                    Trips::Count(size) => Some(call.value(size).map_err(failed)?),
                    Trips::While => None,
                };
                let begins = count.is_some() || is_true(&operands[0]).map_err(failed)?;
                let trips = Counted { count, begins, number: number.as_ref(), backwards: *backwards };
                let parts = Parts { carried: *carried, sliced: *sliced, results: results.len() };
                (0, call.run(&self.regions[0], &parts, &trips))
            }
        };
        done.map_err(|stop| match stop {
            Stop::Error(error) => failed(error),
            Stop::Flag(flag) => CustomError::Raised((control.regions()[at].failed)(flag)),
        })
    }
}

fn failed(error: Error) -> CustomError {
    CustomError::Run(Box::new(error))
}

/// How a loop goes in this run.
pub(super) struct Counted<'a> {
    /// None where it goes on while a condition holds.
    pub count: Option<i64>,
    /// Whether there is a first iteration, if there is no count.
    pub begins: bool,
    pub number: Option<&'a Variable>,
    pub backwards: bool,
}

impl Counted<'_> {
    /// The row of an iteration.
    pub fn row(&self, trip: i64) -> i64 {
        match (self.backwards, self.count) {
            (true, Some(count)) => count - 1 - trip,
            _ => trip,
        }
    }

    /// Whether there is one more.
    pub fn goes_on(&self, trip: i64, condition: bool) -> bool {
        self.count.map_or(condition, |count| trip < count)
    }
}

/// One call of a step: on which memory, and what it asks.
pub(super) struct Call<'a> {
    pub args: &'a CustomArgs<'a>,
    pub watch: &'a Watch,
    /// What the parameters stand for; of what is sliced, all rows.
    pub params: &'a [Buffer],
    pub results: &'a [Buffer],
}

impl Call<'_> {
    fn value(&self, size: &Size) -> Result<i64> {
        let value = size.eval(&|v: &Variable| self.args.var(v.name()));
        value.map_err(|error| Error::UnknownShape(error.to_string()))
    }

    /// The values that the variables of a plan have in this run.
    pub fn variables<'p>(&self, plan: &'p ExecutionPlan) -> Vec<(&'p str, i64)> {
        plan.all_variables().iter().filter_map(|v| Some((v.name(), self.args.var(v.name())?))).collect()
    }

    /// Asks whether to stop.
    pub fn check(&self) -> Result<()> {
        if self.watch.poll() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Runs a region as often as `trips` says.
    fn run(&self, region: &Prepared, parts: &Parts, trips: &Counted) -> Result<(), Stop> {
        region.with(|instance| match self.is_lent(instance) {
            true => self.looped_lent(&region.from, instance, parts, trips),
            false => self.looped(&region.from, instance, parts, trips),
        })
    }

    /// Runs a region on copies of its parameters; copies its results to `targets`. What it gives besides are flags.
    fn trip(
        &self,
        from: &[From],
        instance: &Instance,
        params: &[Buffer],
        targets: &[Buffer],
        number: Option<(&str, i64)>,
    ) -> Result<(), Stop> {
        if let Some(plan) = &instance.plan {
            let mut variables = self.variables(plan);
            variables.extend(number.filter(|(name, _)| plan.all_variables().iter().any(|v| v.name() == *name)));
            let feeds: Vec<Feed> = params.iter().map(Feed::Buffer).collect();
            plan.execute_with(&feeds, &variables)?;
        }
        let output = |n: usize| -> Result<&Arc<Buffer>> {
            let plan = instance.plan.as_ref().and_then(|plan| plan.output(n));
            plan.ok_or_else(|| Error::BufferNotFound(format!("output {n} of a region")))
        };
        for (at, from) in from.iter().enumerate().skip(targets.len()) {
            if let From::Output(n) = from
                && output(*n)?.view(0, svod_dtype::DType::U8, 1)?.to_vec()? != [0]
            {
                return Err(Stop::Flag(at - targets.len()));
            }
        }
        for (from, target) in from.iter().zip(targets) {
            match from {
                From::Output(n) => target.copy_from(&output(*n)?.view(0, target.dtype(), target.count())?)?,
                From::Param(n) if target.overlaps(&params[*n]) => {}
                From::Param(n) => target.copy_from(&params[*n])?,
            }
        }
        Ok(())
    }

    /// A loop whose values are copied from trip to trip.
    fn looped(&self, from: &[From], instance: &mut Instance, parts: &Parts, trips: &Counted) -> Result<(), Stop> {
        let Parts { carried, sliced, results } = *parts;
        let like = self.a_value()?;
        let mut own = instance.memory.of_run(like);
        // What is carried, and what takes its place: of values that trade places none is overwritten before it is read.
        let next = |result: &Buffer| own.elements(result, result.dtype(), result.count());
        let spare = self.results[..carried].iter().map(next).collect::<Result<Vec<_>>>()?;
        let flag = match trips.count {
            None => Some(own.elements(like, svod_dtype::DType::Bool, 1)?),
            Some(_) => None,
        };
        let mut params = self.params.iter().map(whole).collect::<Result<Vec<_>>>()?;
        for (result, param) in self.results.iter().zip(&params).take(carried) {
            result.copy_from(param)?;
        }
        for (param, result) in params.iter_mut().zip(&self.results[..carried]) {
            *param = whole(result)?;
        }
        let (mut trip, mut condition) = (0, trips.begins);
        while trips.goes_on(trip, condition) {
            self.check()?;
            let row = trips.row(trip);
            for (param, rows) in params.iter_mut().zip(self.params.iter()).skip(carried).take(sliced) {
                *param = self.row(rows, trips, row)?;
            }
            let mut targets = Vec::with_capacity(from.len());
            for own in spare.iter().chain(&flag) {
                targets.push(whole(own)?);
            }
            for result in &self.results[carried..results] {
                targets.push(self.row(result, trips, row)?);
            }
            self.trip(
                from,
                instance,
                &params,
                &targets,
                trips.number.map(|var| (var.name(), Variable::min(var) + row)),
            )?;
            for (result, spare) in self.results.iter().zip(&spare) {
                result.copy_from(spare)?;
            }
            condition = match &flag {
                Some(flag) => is_true(flag)?,
                None => true,
            };
            trip += 1;
        }
        Ok(())
    }

    /// A row of a buffer that has one for each iteration.
    fn row(&self, buffer: &Buffer, trips: &Counted, row: i64) -> Result<Buffer> {
        let count = usize::try_from(trips.count.unwrap_or(1)).unwrap_or(0).max(1);
        let each = buffer.count() / count;
        Ok(buffer.view(each * row as usize * buffer.dtype().bytes(), buffer.dtype(), each)?)
    }
}

/// Another handle to the same elements.
fn whole(buffer: &Buffer) -> Result<Buffer> {
    Ok(buffer.view(0, buffer.dtype(), buffer.count())?)
}

/// Whether the only element is not 0.
fn is_true(buffer: &Buffer) -> Result<bool> {
    Ok(buffer.to_vec()?.iter().any(|byte| *byte != 0))
}

impl CustomFunction for ControlStep {
    fn kind(&self) -> &str {
        self.call.function().name()
    }

    fn variables(&self) -> Vec<Variable> {
        let own = self.call.downcast::<Control>().map(|control| control.variables.clone()).unwrap_or_default();
        own.into_iter().chain(self.shapes.iter().flat_map(|s| s.iter()).flat_map(Size::variables)).collect()
    }

    fn host(&self) -> Option<&HostCall> {
        Some(&self.call)
    }

    fn regions(&self) -> Vec<&ExecutionPlan> {
        self.regions.iter().filter_map(|region| region.plan.as_ref()).collect()
    }

    fn call(&self, args: &CustomArgs) -> std::result::Result<(), CustomError> {
        let control = self.call.downcast::<Control>().ok_or(CustomError::Unsupported)?;
        self.run(control, args)
    }
}
