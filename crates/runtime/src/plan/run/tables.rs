//! Laying out the tables of a run: pointers when buffers are allocated, values, numbers of tasks and steps when
//! a variable changes, memory of its own for each worker.

use super::together::Together;
use super::{KernelRun, Lane, LaneState, NONE, PhaseCall, PhaseRun, Run, Step, Value};
use crate::code::KernelCode;
use crate::error::{Error, Result, VariableError};
use crate::plan::Shared;
use crate::plan::builder::BuildError;
use crate::plan::op::{OpKind, PlanOp};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::Arc;
use svod_device::program::CORE_ID;
use svod_device::{Block, Buffer, Program, resolve_launch_dims};
use svod_ir::lowered::Phase;
use svod_ir::size::Variable;

/// Makes `var` one of `vars`, with bounds that suit all of its name, and gives its position.
fn join(vars: &mut Vec<Variable>, var: &Variable) -> Result<usize, BuildError> {
    let Some(at) = vars.iter().position(|v| v.name() == var.name()) else {
        vars.push(var.clone());
        return Ok(vars.len() - 1);
    };
    let known = &vars[at];
    let (min, max) = (known.min().max(var.min()), known.max().min(var.max()));
    vars[at] = Variable::internal(var.name(), min, max).map_err(|_| BuildError::Bounds(var.name().to_owned()))?;
    Ok(at)
}

/// The free variables of all kernels and these, and where each kernel's values come from.
pub(in crate::plan) fn variables(
    ops: &[PlanOp],
    others: impl Iterator<Item = Variable>,
) -> Result<(Vec<Variable>, Vec<Vec<Value>>), BuildError> {
    let mut vars: Vec<Variable> = Vec::new();
    let mut sources = Vec::with_capacity(ops.len());
    for op in ops {
        let own = op.code().map_or(&[][..], |code| &code.spec().vars);
        let mut values = Vec::with_capacity(own.len());
        for var in own {
            if let Some((_, value)) = op.fixed.iter().find(|(name, _)| name == var.name()) {
                values.push(Value::Fixed(*value));
            } else if var.name() == CORE_ID {
                values.push(Value::Task);
            } else {
                values.push(Value::Plan(join(&mut vars, var)?));
            }
        }
        sources.push(values);
    }
    for op in ops {
        let OpKind::Custom(function) = &op.kind else { continue };
        let own = function.variables().into_iter();
        for var in own.filter(|var| !op.fixed.iter().any(|(name, _)| name == var.name())) {
            join(&mut vars, &var)?;
        }
    }
    for var in others {
        join(&mut vars, &var)?;
    }
    Ok((vars, sources))
}

/// The same steps, with kernels in a row that run on one device other than the host as one step.
fn together(shared: &Shared, steps: Vec<Step>) -> Vec<Step> {
    let device = |step: &Step| match step {
        Step::Alone(op) => shared.ops[*op].code().map(|code| code.device().spec()),
        _ => None,
    };
    let alike = |a: &Step, b: &Step| device(a).is_some() && device(a) == device(b);
    let mut all = Vec::with_capacity(steps.len());
    for row in steps.chunk_by(alike) {
        let op = |step: &Step| if let Step::Alone(op) = step { Some(*op) } else { None };
        match row {
            [_] => all.extend_from_slice(row),
            _ => all.push(Step::Together(Arc::new(Together::new(row.iter().filter_map(op).collect())))),
        }
    }
    all
}

/// The phases of a kernel with these values of its variables.
fn phases(code: &KernelCode, vals: &[i64], sized: Option<usize>) -> Result<Vec<PhaseRun>> {
    let names: Vec<&str> = code.spec().vars.iter().map(Variable::name).collect();
    let value = |v: &Variable| names.iter().position(|n| *n == v.name()).map(|at| vals[at]);
    let variant = code.spec().ast.variant(&value).map_err(|e| Error::UnknownShape(e.to_string()))?;
    let phase = |(at, phase): (usize, &Phase)| -> Result<PhaseRun> {
        // Phases of other variants have no tasks in this run.
        let mut tasks = usize::from(phase.variant == variant);
        for axis in phase.grid.iter().take(tasks * phase.grid.len()) {
            let extent = axis.extent.eval(&value).map_err(|e| Error::UnknownShape(e.to_string()))?;
            tasks = tasks.saturating_mul(usize::try_from(extent).unwrap_or(0));
        }
        let call = match code.hosts() {
            Some(hosts) => PhaseCall::Host(hosts[at]),
            None => {
                let program = code.programs()[at].clone();
                let launch = &code.spec().launches[at];
                let dims = match tasks {
                    0 => None,
                    _ => Some(resolve_launch_dims(launch, &names, vals).map_err(svod_device::DeviceError::from)?),
                };
                let (global, local) = dims.map_or(([0; 3], None), |d| (d.global, d.local));
                PhaseCall::Device { program, global, local, sized }
            }
        };
        Ok(PhaseRun { call, tasks, work: code.work(at) * tasks as f64 })
    };
    code.spec().ast.phases.iter().enumerate().map(phase).collect()
}

/// The phases of a device's kernel that does nothing.
fn phases_of_none(code: &KernelCode) -> impl Iterator<Item = PhaseRun> {
    let phase = |program: &Arc<dyn Program>| {
        let call = PhaseCall::Device { program: program.clone(), global: [0; 3], local: None, sized: None };
        PhaseRun { call, tasks: 0, work: 0.0 }
    };
    code.programs().iter().map(phase)
}

impl Run {
    /// Makes the tables, unless they are there, and allocates what no run may replace.
    pub(in crate::plan) fn prepare(&mut self, shared: &Shared, buffers: &[Arc<Buffer>], threads: usize) -> Result<()> {
        if !self.ready {
            for (i, buffer) in buffers.iter().enumerate() {
                if !shared.lending.may_replace(i) {
                    buffer.allocate()?;
                }
            }
            self.lay_out_pointers(shared, buffers)?;
            self.ready = true;
            self.owning = false;
            self.lanes.clear();
        }
        if !self.laid_out {
            self.lay_out_values(shared)?;
            self.laid_out = true;
            self.lanes.iter_mut().for_each(|lane| lane.0.get_mut().op = NONE);
        }
        if self.lanes.len() < threads {
            self.make_lanes(shared, threads)?;
        }
        Ok(())
    }

    /// Puts the plan's own memory in the place of what the last run replaced, and fresh memory in the place of outputs
    /// that somebody else has come to own.
    pub(in crate::plan) fn own(&mut self, shared: &Shared, buffers: &[Arc<Buffer>]) -> Result<()> {
        if !self.owning {
            let own = |i: &usize| Ok((*i, buffers[*i].allocate()?.as_ptr()));
            let own = shared.lending.replaceable().iter().map(own).collect::<Result<Vec<_>>>()?;
            self.replace(&own);
            self.owning = true;
        }
        self.own_outputs(buffers)
    }

    /// Puts pointers in place of those of some buffers.
    pub(super) fn replace(&mut self, memory: &[(usize, *mut u8)]) {
        for (buffer, ptr) in memory {
            let start = self.replaceable.partition_point(|(b, _)| b < buffer);
            for (_, at) in self.replaceable[start..].iter().take_while(|(b, _)| b == buffer) {
                self.ptrs[*at] = *ptr;
            }
        }
        self.lanes.iter_mut().for_each(|lane| lane.0.get_mut().op = NONE);
    }

    fn lay_out_pointers(&mut self, shared: &Shared, buffers: &[Arc<Buffer>]) -> Result<()> {
        self.ptrs.clear();
        self.replaceable.clear();
        self.kernels.clear();
        let mut vals = 0;
        let mut phases = 0;
        for (op, values) in shared.ops.iter().zip(&shared.sources) {
            let Some(code) = op.code() else {
                self.kernels.push(None);
                continue;
            };
            let start = self.ptrs.len();
            for slot in &code.spec().globals {
                let buffer = op.buffers[*slot];
                if shared.lending.may_replace(buffer) {
                    self.replaceable.push((buffer, self.ptrs.len()));
                    self.ptrs.push(null_mut());
                } else {
                    self.ptrs.push(buffers[buffer].allocate()?.as_ptr());
                }
            }
            let count = code.programs().len();
            let kernel = KernelRun {
                ptrs: start..self.ptrs.len(),
                vals: vals..vals + values.len(),
                phases: phases..phases + count,
                task: values.iter().position(|v| matches!(v, Value::Task)),
            };
            (vals, phases) = (kernel.vals.end, kernel.phases.end);
            self.kernels.push(Some(kernel));
        }
        self.replaceable.sort_unstable();
        self.lay_out_cells(shared, buffers);
        Ok(())
    }

    fn lay_out_values(&mut self, shared: &Shared) -> Result<()> {
        self.vals.clear();
        self.phases.clear();
        for (op, values) in shared.ops.iter().zip(&shared.sources) {
            let Some(code) = op.code() else { continue };
            let start = self.vals.len();
            for value in values {
                self.vals.push(match value {
                    Value::Fixed(value) => *value,
                    Value::Task => 0,
                    Value::Plan(at) => {
                        self.vars[*at].ok_or_else(|| VariableError::Unbound(shared.vars[*at].name().to_owned()))?
                    }
                });
            }
            let vals = &self.vals[start..];
            let made = match code.at(&shared.context, vals) {
                Some(sized) => {
                    shared.context.lines.note(&sized, &op.origins);
                    let mut made = phases(&sized, &[], Some(sized.spec().globals.len()))?;
                    // Those of the code for any sizes have no tasks in this run.
                    let rest = phases_of_none(code).skip(made.len());
                    made.extend(rest);
                    made
                }
                None => phases(code, vals, None)?,
            };
            self.phases.extend(made);
        }
        self.lay_out_steps(shared);
        Ok(())
    }

    fn lay_out_steps(&mut self, shared: &Shared) {
        self.steps.clear();
        self.singles.clear();
        let (mut checked, mut gate) = (None, None);
        for (at, level) in shared.order.ranges.iter().enumerate() {
            if at == shared.donations.checked {
                checked = Some(self.steps.len());
            }
            if at == shared.donations.gate {
                gate = Some(self.steps.len());
            }
            let level = &shared.order.order[level.clone()];
            let start = self.singles.len();
            let mut rest = Vec::new();
            for &op in level {
                let host = shared.ops[op].code().is_some_and(|code| code.hosts().is_some());
                let most = self.phases_of(op).map(|p| self.phases[p].tasks).max().unwrap_or(0);
                match (host, most) {
                    (true, 0) => {}
                    (true, 1) => self.singles.push(op),
                    (true, _) => rest.push(Step::Grid(op)),
                    (false, _) if matches!(shared.ops[op].kind, OpKind::View { .. }) => {}
                    (false, _) => rest.push(Step::Alone(op)),
                }
            }
            if self.singles.len() > start {
                let phases = self.singles[start..].iter().flat_map(|op| self.phases_of(*op));
                let work = phases.map(|p| self.phases[p].work).sum();
                self.steps.push(Step::Singles(start..self.singles.len(), work));
            }
            self.steps.extend(rest);
        }
        self.gate = gate.unwrap_or(self.steps.len());
        self.checked = checked.unwrap_or(self.steps.len());
        // What is checked after each kernel runs kernel by kernel.
        if !shared.checks_numbers {
            let written = self.steps.split_off(self.gate);
            let between = self.steps.split_off(self.checked);
            self.steps = together(shared, std::mem::take(&mut self.steps));
            self.checked = self.steps.len();
            self.steps.extend(together(shared, between));
            self.gate = self.steps.len();
            self.steps.extend(together(shared, written));
        }
    }

    fn make_lanes(&mut self, shared: &Shared, threads: usize) -> Result<()> {
        // Whole pages, so that no two workers write to one cache line or its neighbour.
        let stride = shared.scratch.checked_next_multiple_of(4096).unwrap_or(usize::MAX);
        let scratch = match stride {
            0 => None,
            _ => {
                let bytes = stride.saturating_mul(threads);
                let cpu = svod_device::DeviceSpec::CPU;
                Some(shared.context.buffer(&cpu, svod_dtype::DType::U8, bytes)?)
            }
        };
        let base = scratch.as_ref().map(|s| s.allocate()).transpose()?.map_or(null_mut(), |p| p.as_ptr());
        debug_assert!((base as usize).is_multiple_of(Block::ALIGN));
        let longest = |of: fn(&KernelRun) -> usize| self.kernels.iter().flatten().map(of).max().unwrap_or(0);
        let (ptrs, vals) = (longest(|k| k.ptrs.len()) + 1, longest(|k| k.vals.len()));
        self.lanes = (0..threads)
            .map(|lane| {
                let scratch = base.wrapping_add(lane * stride);
                Lane(UnsafeCell::new(LaneState { op: NONE, ptrs: vec![scratch; ptrs], vals: vec![0; vals], scratch }))
            })
            .collect();
        self.scratch = scratch;
        Ok(())
    }
}
