//! Building plans, and what is refused.

use super::donate::{Asked, Donated};
use super::joined;
use super::lend::Lending;
use super::op::{OpKind, PlanOp};
use super::recompute::{self, Parts};
use super::required::Required;
use super::run::{self, Run};
use super::{ExecutionPlan, Shared, instance, memory_plan, order};
use crate::config::Planner;
use crate::context::{Context, count_of};
use crate::error::Error;
use crate::memory::Memory;
use std::fmt;
use std::mem::take;
use std::sync::Arc;
use svod_device::Buffer;
use svod_ir::graph::{Leaf, Shape};
use svod_ir::lowered::cost::Machine;
use svod_ir::size::{BoundVariable, Size, Variable};

/// Whose a plan's buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Memory from outside, shared by all instances: constants, leaves, packed operands.
    Given,
    /// Set anew between runs.
    Input,
    /// The plan's own business.
    Intermediate,
    /// What a run is for.
    Output,
}

/// Collects buffers and ops, and makes a plan of them.
pub struct ExecutionPlanBuilder {
    context: Arc<Context>,
    threads: Option<usize>,
    planner: Planner,
    memory_budget: Option<usize>,
    checks_numbers: bool,
    buffers: Vec<Arc<Buffer>>,
    roles: Vec<Role>,
    ops: Vec<PlanOp>,
    outputs: Option<Vec<usize>>,
    output_shapes: Vec<Shape>,
    inputs: Vec<PlanInput>,
    bindings: Vec<BoundVariable>,
    fixed: Vec<BoundVariable>,
    leaves: Vec<Leaf>,
    required: Vec<Required>,
    donated: Donated,
    lent: bool,
}

/// What runs are given anew.
#[derive(Clone, Debug)]
pub struct PlanInput {
    /// The plan's own memory, sized for the shape's variables' maxima.
    pub memory: Arc<Memory>,
    /// Extents.
    pub shape: Shape,
    /// Whether the memory has a content already, at the memory's values of variables.
    pub filled: bool,
}

/// A plan that cannot be built.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BuildError {
    /// An op that writes nothing.
    #[error("op {op} ({name}) has no outputs")]
    NoOutputs {
        /// Its position.
        op: usize,
        /// What it is.
        name: String,
    },
    /// An op whose output is none of its arguments.
    #[error("op {op}: output {index} is out of range of its {len} buffers")]
    OutputOutOfRange {
        /// Its position.
        op: usize,
        /// The output.
        index: usize,
        /// Number of its arguments.
        len: usize,
    },
    /// An op whose argument is no buffer of the plan.
    #[error("op {op}: buffer {index} is out of range of the plan's {len}")]
    BufferOutOfRange {
        /// Its position.
        op: usize,
        /// The argument.
        index: usize,
        /// Number of the plan's buffers.
        len: usize,
    },
    /// An output that is no buffer of the plan.
    #[error("plan output {index} is out of range of the plan's {len} buffers")]
    PlanOutputOutOfRange {
        /// The output.
        index: usize,
        /// Number of the plan's buffers.
        len: usize,
    },
    /// Buffers, but nothing that a run is for.
    #[error("the plan has {0} buffers but no outputs")]
    OutputsNotSet(usize),
    /// A dependency on an op that is not there.
    #[error("op {op} depends on {dependency}, which is unknown")]
    UnknownDependency {
        /// Its position.
        op: usize,
        /// What it names.
        dependency: u64,
    },
    /// An op that depends on itself.
    #[error("op {op} depends on itself")]
    SelfDependency {
        /// Its position.
        op: usize,
    },
    /// A dependency on a repeated op, all of whose instances come later.
    #[error("op {op} depends on {dependency}, which is repeated and comes only later")]
    ForwardDependency {
        /// Its position.
        op: usize,
        /// What it names.
        dependency: u64,
    },
    /// Ops that wait for each other.
    #[error("a cycle blocks op {}", .blocked.join(", op "))]
    Cycle {
        /// The ops that can never run.
        blocked: Vec<String>,
    },
    /// Another number of things than expected.
    #[error("op {op} ({name}) has {given} {what} where {expected} are expected")]
    Mismatch {
        /// Its position.
        op: usize,
        /// What it is.
        name: String,
        /// What is counted.
        what: &'static str,
        /// The number given.
        given: usize,
        /// The number expected.
        expected: usize,
    },
    /// A view that is not where it should be.
    #[error("op {op}: a view of {bytes} bytes at byte {offset} of a base of {base_bytes} bytes does not match {found}")]
    View {
        /// Its position.
        op: usize,
        /// Where it should start, in bytes after the base's start.
        offset: usize,
        /// Its size.
        bytes: usize,
        /// Size of the base.
        base_bytes: usize,
        /// What the destination is.
        found: String,
    },
    /// Variables of one name whose bounds have nothing in common.
    #[error("variable '{0}' has bounds without a common value")]
    Bounds(String),
    /// A shape without a bound, memory that cannot be had.
    #[error("{0}")]
    Other(Box<Error>),
}

impl ExecutionPlanBuilder {
    /// An empty plan.
    pub fn new(context: &Arc<Context>) -> Self {
        ExecutionPlanBuilder {
            context: context.clone(),
            threads: None,
            planner: Planner::Disabled,
            memory_budget: None,
            checks_numbers: false,
            buffers: Vec::new(),
            roles: Vec::new(),
            ops: Vec::new(),
            outputs: None,
            output_shapes: Vec::new(),
            inputs: Vec::new(),
            bindings: Vec::new(),
            fixed: Vec::new(),
            leaves: Vec::new(),
            required: Vec::new(),
            donated: Donated::default(),
            lent: false,
        }
    }

    /// How intermediates share memory; they do not, unless this says so.
    pub fn planner(&mut self, planner: Planner) -> &mut Self {
        self.planner = planner;
        self
    }

    /// Bytes of intermediates that the plan should have in memory at a time: what is cheap to compute again is let go, where
    /// intermediates share memory.
    pub fn memory_budget(&mut self, bytes: Option<usize>) -> &mut Self {
        self.memory_budget = bytes;
        self
    }

    /// Whether runs look for NaN in what each step writes, and fail at the first.
    pub fn check_numbers(&mut self, on: bool) -> &mut Self {
        self.checks_numbers = on;
        self
    }

    /// Runs the plan on so many threads instead of the context's.
    pub fn threads(&mut self, threads: usize) -> &mut Self {
        self.threads = Some(threads);
        self
    }

    /// Adds a buffer, and gives its position.
    pub fn buffer(&mut self, buffer: Arc<Buffer>, role: Role) -> usize {
        self.buffers.push(buffer);
        self.roles.push(role);
        self.buffers.len() - 1
    }

    /// Adds an op, and gives its position.
    pub fn op(&mut self, op: PlanOp) -> usize {
        self.ops.push(op);
        self.ops.len() - 1
    }

    /// Sets the buffers that a run is for.
    pub fn outputs(&mut self, outputs: Vec<usize>) -> &mut Self {
        self.outputs = Some(outputs);
        self
    }

    /// Sets the extents of the outputs; without, an output is its whole buffer.
    pub fn output_shapes(&mut self, shapes: Vec<Shape>) -> &mut Self {
        self.output_shapes = shapes;
        self
    }

    /// Sets the inputs, in the order in which runs are given them.
    pub fn inputs(&mut self, inputs: &[PlanInput]) -> &mut Self {
        self.inputs = inputs.to_vec();
        self
    }

    /// Sets values of variables.
    pub fn bind(&mut self, bindings: &[BoundVariable]) -> &mut Self {
        self.bindings = bindings.to_vec();
        self
    }

    /// Sets values of variables that no run may change.
    pub fn fix(&mut self, fixed: &[BoundVariable]) -> &mut Self {
        self.fixed = fixed.to_vec();
        self
    }

    /// Keeps leaves, and with them their memory, as long as the plan lives.
    pub fn keep(&mut self, leaves: Vec<Leaf>) -> &mut Self {
        self.leaves = leaves;
        self
    }

    /// Sets what sizes have to satisfy in each run.
    pub(crate) fn require(&mut self, required: Vec<Required>) -> &mut Self {
        self.required = required;
        self
    }

    /// Sets what runs may write over inputs.
    pub(crate) fn donate(&mut self, donated: Donated) -> &mut Self {
        self.donated = donated;
        self
    }

    /// Sets whether all runs are on memory of others, as far as that is possible: then the plan takes none for inputs and outputs.
    pub(crate) fn lend(&mut self, lent: bool) -> &mut Self {
        self.lent = lent;
        self
    }

    /// The plan: checked, ordered, its memory allocated. Without ops it does nothing.
    pub fn build(mut self) -> Result<ExecutionPlan, BuildError> {
        for (i, op) in self.ops.iter().enumerate() {
            self.check(i, op)?;
        }
        let outputs = self.outputs.take().unwrap_or_default();
        if outputs.is_empty() && !self.buffers.is_empty() {
            return Err(BuildError::OutputsNotSet(self.buffers.len()));
        }
        if let Some(&index) = outputs.iter().find(|i| **i >= self.buffers.len()) {
            return Err(BuildError::PlanOutputOutOfRange { index, len: self.buffers.len() });
        }
        if self.planner != Planner::Disabled {
            joined::made_in_place(&mut self.ops, &mut self.buffers, &self.roles);
        }
        if let Some(budget) = self.memory_budget.filter(|_| self.planner != Planner::Disabled) {
            let threads = self.threads.unwrap_or_else(|| self.context.threads());
            let machine = Machine::described(self.context.target(), threads);
            let (ops, buffers, roles) = (take(&mut self.ops), take(&mut self.buffers), take(&mut self.roles));
            let parts = Parts { ops, buffers, roles };
            Parts { ops: self.ops, buffers: self.buffers, roles: self.roles } =
                recompute::within(budget, parts, &machine)?;
        }
        let asked = Asked::new(&self.donated, &mut self.ops, &self.buffers, &self.inputs, &outputs);
        let order = order::order(&self.ops, &self.buffers)?;
        let donations = asked.ordered(&order);
        let report = memory_plan::plan(self.planner, &self.ops, &order, &self.roles, &mut self.buffers);
        let lending = Lending::new(&self.ops, &order, &self.buffers, &self.roles, &self.inputs, &outputs);
        let shapes = self.inputs.iter().map(|i| &i.shape).chain(&self.output_shapes);
        let sized = shapes.flat_map(|shape| shape.iter()).flat_map(Size::variables);
        let required = self.required.iter().flat_map(|one| one.variables().iter().cloned());
        let (vars, sources) = run::variables(&self.ops, sized.chain(required))?;
        let of_shape = |input: &PlanInput| -> Vec<usize> {
            let named = input.shape.iter().flat_map(Size::variables);
            named.filter_map(|var| vars.iter().position(|v: &Variable| v.name() == var.name())).collect()
        };
        let input_vars = self.inputs.iter().map(of_shape).collect();
        let scratch = self.ops.iter().filter_map(|op| op.code()).map(|code| code.scratch()).max().unwrap_or(0);
        let certain = !self.checks_numbers && lending.is_possible() && self.ops.iter().all(PlanOp::is_sure);
        let shared = Arc::new(Shared {
            pool: self.threads.map(|threads| self.context.pool_of(threads)),
            context: self.context,
            ops: self.ops,
            order,
            roles: self.roles,
            outputs,
            output_shapes: self.output_shapes,
            input_shapes: self.inputs.iter().map(|i| i.shape.clone()).collect(),
            input_vars,
            fixed: self.fixed,
            vars,
            required: self.required,
            sources,
            scratch,
            planner: self.planner,
            report,
            lending,
            certain,
            checks_numbers: self.checks_numbers,
            donations,
            _leaves: self.leaves,
        });
        // What was only traced for inputs that are still to come is called on those, if it is run.
        let awaited = self.lent || !self.inputs.is_empty() && self.inputs.iter().all(|i| !i.filled);
        let run = Run::new(&shared, &self.bindings, &self.inputs);
        let inputs = self.inputs.into_iter().map(|i| i.memory).collect();
        instance::plan(shared, self.buffers, inputs, run, !awaited).map_err(BuildError::from)
    }

    /// Checks one op by itself.
    fn check(&self, op: usize, it: &PlanOp) -> Result<(), BuildError> {
        let len = self.buffers.len();
        if let Some(&index) = it.buffers.iter().find(|b| **b >= len) {
            return Err(BuildError::BufferOutOfRange { op, index, len });
        }
        let len = it.buffers.len();
        if let Some(&index) = it.outputs.iter().find(|o| **o >= len) {
            return Err(BuildError::OutputOutOfRange { op, index, len });
        }
        let name = it.name().to_owned();
        let expect = |what, given, expected| match given == expected {
            true => Ok(()),
            false => Err(BuildError::Mismatch { op, name: name.clone(), what, given, expected }),
        };
        match &it.kind {
            OpKind::Kernel(code) => {
                if it.outputs.is_empty() {
                    return Err(BuildError::NoOutputs { op, name });
                }
                let params = &code.spec().ast.params;
                expect("buffers", len, params.len())?;
                expect("programs", code.programs().len(), code.spec().ast.phases.len())?;
                let named = |(name, value): &(String, i64)| {
                    let variable = code.spec().ast.vars.iter().find(|v| v.name() == name)?;
                    variable.bind(*value).ok()
                };
                let fixed: Vec<BoundVariable> =
                    self.fixed.iter().cloned().chain(it.fixed.iter().filter_map(named)).collect();
                for &slot in &code.spec().globals {
                    let needed = count_of(&params[slot].shape, &fixed)?.saturating_mul(params[slot].dtype.bytes());
                    let given = self.buffers[it.buffers[slot]].bytes();
                    if given < needed {
                        expect("bytes in a buffer", given, needed)?;
                    }
                }
            }
            OpKind::Copy => {
                expect("buffers", len, 2)?;
                expect("bytes", self.buffers[it.buffers[0]].bytes(), self.buffers[it.buffers[1]].bytes())?;
            }
            OpKind::View { offset } => {
                expect("buffers", len, 2)?;
                self.check_view(op, it, *offset)?;
            }
            OpKind::Custom(_) => {}
        }
        Ok(())
    }

    fn check_view(&self, op: usize, it: &PlanOp, offset: usize) -> Result<(), BuildError> {
        let (view, base) = (&self.buffers[it.buffers[0]], &self.buffers[it.buffers[1]]);
        let offset = offset.saturating_mul(base.dtype().bytes());
        let fits = offset.checked_add(view.bytes()).is_some_and(|end| end <= base.bytes());
        let there = view.storage_id() == base.storage_id() && view.offset() == base.offset().saturating_add(offset);
        match fits && there {
            true => Ok(()),
            false => Err(BuildError::View {
                op,
                offset,
                bytes: view.bytes(),
                base_bytes: base.bytes(),
                found: format!("{view:?}"),
            }),
        }
    }
}

impl From<Error> for BuildError {
    fn from(error: Error) -> Self {
        match error {
            Error::Build(error) => error,
            error => BuildError::Other(Box::new(error)),
        }
    }
}

impl fmt::Debug for ExecutionPlanBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a plan of {} ops on {} buffers", self.ops.len(), self.buffers.len())
    }
}
