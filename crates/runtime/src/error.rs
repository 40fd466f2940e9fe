//! What can go wrong between a graph and its results.

use crate::plan::BuildError;
use std::sync::Arc;
use svod_device::{DeviceError, DeviceSpec, bytes_text, held_text};
use svod_ir::graph::key::BindMismatch;
use svod_ir::graph::{GraphError, Origin};
use svod_schedule::{LowerError, PreScheduleError, RangeifyError, ScheduleGraphError};

/// The result of a runtime operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong between a graph and its results.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The graph has nothing to compute.
    #[error("no kernel found: the graph has nothing to compute")]
    NoKernels,
    /// A schedule without steps.
    #[error("empty schedule")]
    EmptySchedule,
    /// A plan that cannot be built.
    #[error(transparent)]
    Build(BuildError),
    /// An argument that has no memory.
    #[error("buffer not found: {0}")]
    BufferNotFound(String),
    /// One variable with two values.
    #[error(transparent)]
    BindMismatch(#[from] BindMismatch),
    /// A batch that gives another number of outputs than it has tensors.
    #[error("batch mismatch: {tensors} tensors but {outputs} outputs")]
    BatchMismatch {
        /// Number of tensors.
        tensors: usize,
        /// Number of outputs.
        outputs: usize,
    },
    /// A shape that has no upper bound, or no value.
    #[error("unknown shape: {0}")]
    UnknownShape(String),
    /// A value for a variable that it cannot have.
    #[error(transparent)]
    Variable(#[from] VariableError),
    /// No device has this name.
    #[error("unknown device '{given}': expected {expected}")]
    UnknownDevice {
        /// The name asked for.
        given: String,
        /// The names there are.
        expected: String,
    },
    /// A graph that cannot be rewritten.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A part of the graph that has no kernel form.
    #[error("rangeify: {0}")]
    Rangeify(RangeifyError),
    /// Calls of kernels, or loops around them, that cannot be ordered.
    #[error(transparent)]
    ScheduleGraph(#[from] ScheduleGraphError),
    /// A schedule that does not fit its kernel.
    #[error("optimize: {0}")]
    Optimize(#[from] LowerError),
    /// A schedule that was given and does not fit its kernel.
    #[error("kernel {kernel}: {why}")]
    Schedule {
        /// The kernel's name.
        kernel: String,
        /// The step and the reason.
        why: Box<LowerError>,
    },
    /// Schedules that were given with conditions that cannot be, or not in this order.
    #[error("kernel {kernel}: schedule for '{when}': {why}")]
    Guard {
        /// The kernel's name.
        kernel: String,
        /// The condition.
        when: String,
        /// The reason.
        why: String,
    },
    /// A schedule that was given for a kernel that the plan does not have.
    #[error("a schedule was given for kernel {given}, but the plan has {known}")]
    UnknownKernel {
        /// Its name or position.
        given: String,
        /// The kernels there are.
        known: String,
    },
    /// A fold that has no value of nothing, at sizes at which there is nothing to fold.
    #[error(transparent)]
    NoElement(Box<NoElement>),
    /// A renderer failed.
    #[error(transparent)]
    Render(DeviceError),
    /// A compiler failed.
    #[error(transparent)]
    Compile(DeviceError),
    /// Compiled code cannot be loaded.
    #[error(transparent)]
    Load(DeviceError),
    /// An op of a plan failed while it ran.
    #[error("op {op} ({name}){}: {message}", from_lines(origins))]
    Execute {
        /// Its position in the plan.
        op: usize,
        /// What it is: a kernel's name, `copy`, or the kind of a custom function.
        name: String,
        /// The lines of the user's program that it computes, as far as they are known.
        origins: Arc<[Origin]>,
        /// Why.
        message: String,
    },
    /// A run that was to look for NaN has found one.
    #[error("op {op} ({name}){}: {found}{}", from_lines(origins), made_by(made))]
    NaN {
        /// The position in the plan of the op that wrote it.
        op: usize,
        /// What it is: a kernel's name, `copy`, or the kind of a custom function.
        name: String,
        /// The lines of the user's program that it computes, as far as they are known.
        origins: Arc<[Origin]>,
        /// Where in its result, and whether what it reads has NaN already.
        found: String,
        /// Whether it does.
        is_given: bool,
        /// The name of the operation among those that it computes whose result is the first with NaN, and where that is
        /// called, once that was asked for.
        made: Option<(String, Box<Origin>)>,
    },
    /// A custom function failed with an error of its own.
    #[error("{name}{}: {error}", from_lines(origins))]
    Raised {
        /// Its position in the plan.
        op: usize,
        /// Its kind.
        name: String,
        /// The lines of the user's program that it computes, as far as they are known.
        origins: Arc<[Origin]>,
        /// What it says.
        error: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// An allocation that cannot be had.
    #[error("out of memory on {device}: cannot allocate {text}{}", held_text(held), text = bytes_text(*bytes))]
    OutOfMemory {
        /// Its size; `usize::MAX` where that overflows.
        bytes: usize,
        /// Where.
        device: DeviceSpec,
        /// Who holds how much of the memory, in words; empty where that is not known.
        held: String,
    },
    /// Outputs that are read before a run made them, or after a run that failed.
    #[error("the plan's outputs hold no result: it was not executed, or its last run did not finish")]
    Stale,
    /// A function that a plan calls comes back to what is being computed by it.
    #[error("a function uses the plan or the value that it is called to compute")]
    Reentrant,
    /// Threads that would wait for one another for ever.
    #[error("threads would wait for one another: for {}", .0.join(", for "))]
    Deadlock(
        /// What they wait for, this thread first.
        Vec<String>,
    ),
    /// A plan that another thread ran when the process was forked: this process does not have that thread.
    #[error(
        "the plan was running in another thread when this process was forked, so that its state is lost here: use an \
         instance() made before, or prepare it anew"
    )]
    Forked,
    /// Something that is not supported.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// Anything else that a device says.
    #[error(transparent)]
    Device(DeviceError),
}

/// [`Error::kind_text`] of a value outside of its variable's bounds.
pub const OUT_OF_RANGE: &str = "variable out of range";

/// [`Error::kind_text`] of a variable without a value.
pub const UNBOUND: &str = "unbound variable";

impl Error {
    /// The kind in a few words that stay, by which callers tell failures of one sort apart; none where the sort says
    /// it all.
    pub fn kind_text(&self) -> Option<&'static str> {
        use ScheduleGraphError as Graph;
        Some(match self {
            Error::NoKernels => "no kernels",
            Error::EmptySchedule => "empty schedule",
            Error::Build(BuildError::Cycle { .. }) | Error::ScheduleGraph(Graph::Cycle(_)) => "cycle",
            Error::BufferNotFound(_) | Error::ScheduleGraph(Graph::BufferNotFound { .. }) => "buffer not found",
            Error::ScheduleGraph(Graph::UnsupportedArgument { .. }) => "unsupported argument",
            Error::ScheduleGraph(Graph::BindWithoutDefineVar { .. }) => "bind without variable",
            Error::ScheduleGraph(Graph::UnsizedScratch(_)) => "unsized scratch",
            Error::ScheduleGraph(Graph::TooLong { .. }) | Error::Unsupported(_) => "unsupported",
            Error::Build(_) | Error::ScheduleGraph(_) => "build",
            Error::BindMismatch(_) => "bind mismatch",
            Error::BatchMismatch { .. } => "batch mismatch",
            Error::UnknownShape(_) => "unknown shape",
            Error::Variable(VariableError::Unknown(..)) => "unknown variable",
            Error::Variable(VariableError::OutOfRange { .. }) => OUT_OF_RANGE,
            Error::Variable(VariableError::Fixed(_)) => "fixed variable",
            Error::Variable(VariableError::Input { .. }) => "input of another size",
            Error::Variable(VariableError::Unbound(_)) => UNBOUND,
            Error::UnknownDevice { .. } => "unknown device",
            Error::Rangeify(_) => "rangeify",
            Error::Optimize(_) => "optimize",
            Error::UnknownKernel { .. } => "unknown kernel",
            Error::Render(_) => "render",
            Error::Compile(_) => "compile",
            Error::Load(_) => "load",
            Error::Execute { .. } | Error::NaN { .. } | Error::Raised { .. } => "execute",
            Error::OutOfMemory { .. } => "out of memory",
            Error::Stale => "not executed",
            Error::Reentrant => "reentrant",
            Error::Deadlock(_) => "deadlock",
            Error::Forked => "forked",
            Error::Interrupted => "interrupted",
            Error::Device(error) => return device_kind_text(error),
            Error::Graph(_) | Error::Schedule { .. } | Error::Guard { .. } | Error::NoElement(_) => return None,
        })
    }
}

/// [`Error::kind_text`] of what a device says.
pub fn device_kind_text(error: &DeviceError) -> Option<&'static str> {
    Some(match error {
        DeviceError::UnknownDevice { .. } => "unknown device",
        DeviceError::Render { .. } | DeviceError::Program(_) => "render",
        DeviceError::Compile { .. } => "compile",
        DeviceError::Load { .. } => "load",
        DeviceError::Execute { .. } => "execute",
        DeviceError::NoDriver { .. } => "no driver",
        DeviceError::OldDriver { .. } => "old driver",
        DeviceError::UnsupportedArchitecture { .. } => "unsupported architecture",
        DeviceError::Trapped { .. } => "trapped",
        DeviceError::Forked { .. } => "forked",
        _ => return None,
    })
}

/// A fold that has no value of nothing, at sizes at which there is nothing to fold.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{op}{}: no element along axis {axis} of {operand}{}", at(line), where_values(values))]
pub struct NoElement {
    /// The fold.
    pub op: String,
    /// The axis.
    pub axis: usize,
    /// Type and extents of what is folded.
    pub operand: String,
    /// The values of the extent's variables, each as `n = 0`.
    pub values: Vec<String>,
    /// The line of the user's program that folds, where it is known.
    pub line: Option<Origin>,
}

/// A value for a variable that it cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VariableError {
    /// No kernel of the plan has a variable of this name.
    #[error("unknown variable '{0}': the plan has {1}")]
    Unknown(String, String),
    /// A value outside the bounds.
    #[error("variable {name}: {value} is outside [{min}, {max}]")]
    OutOfRange {
        /// The variable.
        name: String,
        /// The value given.
        value: i64,
        /// Its lower bound.
        min: i64,
        /// Its upper bound.
        max: i64,
    },
    /// A variable whose value is the plan's own business.
    #[error("variable '{0}' is fixed by the plan")]
    Fixed(String),
    /// An input that keeps a content of another size.
    #[error(
        "variable {name}: input {input} has the content of a run at {name} = {was}; give it anew for {name} = {value}"
    )]
    Input {
        /// The input.
        input: usize,
        /// The variable.
        name: String,
        /// Its value when the input was given.
        was: i64,
        /// Its new value.
        value: i64,
    },
    /// A variable that has no value yet.
    #[error("variable '{0}' has no value")]
    Unbound(String),
}

/// `, from a.py:3`: the first line, as a message goes on.
pub(crate) fn from_lines(origins: &[Origin]) -> String {
    origins.first().map(|origin| format!(", from {origin}")).unwrap_or_default()
}

/// ``; the first is made by `log`, at a.py:3``, as a message goes on.
fn made_by(made: &Option<(String, Box<Origin>)>) -> String {
    let Some((name, origin)) = made else { return String::new() };
    let of = if origin.is_derivative { "the derivative of " } else { "" };
    format!("; the first is made by {of}`{name}`, at {origin}")
}

/// ` at a.py:3`, as a message goes on.
fn at(line: &Option<Origin>) -> String {
    line.as_ref().map(|line| format!(" at {line}")).unwrap_or_default()
}

/// `, where n = 0`.
fn where_values(values: &[String]) -> String {
    if values.is_empty() { String::new() } else { format!(", where {}", values.join(" and ")) }
}

impl From<DeviceError> for Error {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::UnknownDevice { given, expected } => Error::UnknownDevice { given, expected },
            DeviceError::OutOfMemory { bytes, device, held } => Error::OutOfMemory { bytes, device, held },
            DeviceError::Render { .. } | DeviceError::Program(_) => Error::Render(error),
            DeviceError::Compile { .. } => Error::Compile(error),
            DeviceError::Load { .. } => Error::Load(error),
            DeviceError::Unsupported { .. } => Error::Unsupported(error.to_string()),
            _ => Error::Device(error),
        }
    }
}

impl From<BuildError> for Error {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Other(error) => *error,
            error => Error::Build(error),
        }
    }
}

impl From<PreScheduleError> for Error {
    fn from(error: PreScheduleError) -> Self {
        match error {
            PreScheduleError::NoKernels => Error::NoKernels,
            PreScheduleError::Rangeify(error) => Error::Rangeify(error),
            PreScheduleError::Order(error) => Error::ScheduleGraph(error),
            PreScheduleError::Graph(error) => Error::Graph(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What only a fault of the compiler's own choice brings about.
    #[test]
    fn c2_a_choice_that_does_not_fit_is_of_the_kind_optimize() {
        let error = Error::from(LowerError::TooMany { kernel: "map".into(), given: 9 });
        assert_eq!(error.kind_text(), Some("optimize"));
        assert!(error.to_string().starts_with("optimize: kernel `map`: 9 schedules"), "{error}");
    }
}
