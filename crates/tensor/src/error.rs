//! What can go wrong with tensors, by kind.

use std::fmt::Write;
use std::sync::Arc;

use svod_device::DeviceError;
use svod_dtype::DType;
use svod_ir::graph::{GraphError, Origin, Reason, UOp};
use svod_ir::size::{Size, SizeError};

use crate::trace::Traced;

/// The result of a tensor operation.
pub type Result<T, E = TensorError> = std::result::Result<T, E>;

/// What can go wrong with tensors. Each message names the operation, what was given and what was
/// expected; nothing is half-changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// Shapes that do not fit each other or an argument.
    #[error("{op}: {message}")]
    Shape {
        /// The operation.
        op: &'static str,
        /// What was given and what was expected.
        message: String,
    },
    /// Element types that an operation does not take.
    #[error("{op}: {message}")]
    DType {
        /// The operation.
        op: &'static str,
        /// What was given and what was expected.
        message: String,
    },
    /// A dimension that is not there.
    #[error("{op}: axis {axis} is out of range for rank {rank}, {}", axes_of_rank(*rank))]
    Axis {
        /// The operation.
        op: &'static str,
        /// The axis as given.
        axis: i64,
        /// Number of dimensions.
        rank: usize,
    },
    /// An index outside of its dimension.
    #[error("{op}{}: index {index} is out of range for axis {axis} with extent {extent}", at(line))]
    Index {
        /// The operation.
        op: &'static str,
        /// The index as given.
        index: i64,
        /// The axis indexed.
        axis: usize,
        /// Its extent.
        extent: Size,
        /// The line of the user's program that looks up, where that is not the one that raises.
        line: Option<Origin>,
    },
    /// An index that a run computed, outside of its dimension; the value read there was 0.
    #[error("{op}{}: a computed index is out of range for axis {axis} with extent {extent}", at(line))]
    ComputedIndex {
        /// The operation.
        op: &'static str,
        /// The axis indexed.
        axis: usize,
        /// Its extent.
        extent: Size,
        /// The line of the user's program that looks up, where it is known.
        line: Option<Origin>,
    },
    /// A mask of other extents than the dimensions that it is over.
    #[error("{op}: {message}")]
    Mask {
        /// The operation.
        op: &'static str,
        /// What was given and what was expected.
        message: String,
    },
    /// A number of the program's that an element type does not hold.
    #[error("{op}: {message}")]
    Overflow {
        /// The operation.
        op: &'static str,
        /// What was given and what was expected.
        message: String,
    },
    /// More indices than dimensions.
    #[error("{op}: {given} indices for a tensor of rank {rank}")]
    TooManyIndices {
        /// The operation.
        op: &'static str,
        /// Number of indices.
        given: usize,
        /// Number of dimensions.
        rank: usize,
    },
    /// An argument that has no sense.
    #[error("{op}: {message}")]
    Value {
        /// The operation.
        op: &'static str,
        /// What was given and what was expected.
        message: String,
    },
    /// Something that svod does not do.
    #[error("{op}: {message}")]
    Unsupported {
        /// The operation.
        op: &'static str,
        /// What was asked for, and what to do instead.
        message: String,
    },
    /// Several values to prepare, none of which has to be computed.
    #[error(
        "prepare: nothing is pending: all tensors are in memory, or the outputs of an earlier plan, which its `execute` \
         computes; build an expression anew to prepare it again"
    )]
    NothingPending,
    /// What an input is given, which has a variable of its extents outside of the bounds.
    #[error("{op}: {message}")]
    Bounds {
        /// The operation.
        op: &'static str,
        /// What was given and what was expected.
        message: String,
    },
    /// A plan's output that no run has written yet.
    #[error(
        "the output of a plan is read before the plan was executed, or after a run that failed: `execute` that plan first"
    )]
    NotExecuted,
    /// The same of a known tensor.
    #[error(
        "{value}{} stands for the output of a plan since it was prepared, and is read before the plan was executed, after \
         a run that failed, or after its memory was released: `execute` that plan",
        at(line)
    )]
    Unwritten {
        /// Type and extents.
        value: String,
        /// The line of the user's program that made it, where it is known.
        line: Option<Origin>,
    },
    /// Data that is looked at while a function is traced, when there is none.
    #[error(
        "{op} of {value}{}: {what} runs once, to be recorded, and has no data to look at, which differs from {} \
         (`where` chooses by data, `custom` calls a function with it{})",
        following(from), what.differs(), what.static_hint()
    )]
    Traced {
        /// What looks.
        op: &'static str,
        /// Type and extents of what is looked at.
        value: String,
        /// The placeholders that it follows from, as far as they have names.
        from: Vec<String>,
        /// What is traced.
        what: Traced,
    },
    /// A value of a trace that is used after it.
    #[error(
        "a value of a traced function, or of the body of a loop, is used after that has ended: it has no data outside; \
         return it, and use what the call gives"
    )]
    Leaked,
    /// A tensor that is written by a function which does not own it, while that is traced.
    #[error(
        "{op}: {what} writes {tensor}, which would happen once, when it is recorded, and not with each call: return the \
         new value, and assign it where the function is called (or write a `clone()`)"
    )]
    Outside {
        /// The operation.
        op: &'static str,
        /// What is written.
        tensor: String,
        /// What is traced.
        what: Traced,
    },
    /// A derivative that the program gives, and that failed.
    #[error("{name}: its derivative failed: {source}")]
    Rule {
        /// The function whose derivative it is.
        name: String,
        /// Why.
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// A tensor that requires a gradient and is written where that would be recorded.
    #[error(
        "{op}: {tensor} requires a gradient, which would not reach what it stands for from now on: write it under \
         `no_grad`, as in `with svod.no_grad(): p[0] = 5`"
    )]
    Required {
        /// The operation.
        op: &'static str,
        /// Type and extents.
        tensor: String,
    },
    /// An operation that the graph rejects.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A symbolic size or variable.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// Planning, compiling and running.
    #[error(transparent)]
    Runtime(svod_runtime::Error),
    /// Memory, files and devices.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// The sorts of [`TensorError`] that callers tell apart, such as Python's exception classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Shapes and axes.
    Shape,
    /// Element types.
    DType,
    /// Indices.
    Index,
    /// Other arguments.
    Value,
    /// Unknown or failing devices, or operands on different ones.
    Device,
    /// Files.
    File,
    /// A name that a file does not have.
    Missing,
    /// Memory that cannot be had.
    OutOfMemory,
    /// What svod does not do.
    Unsupported,
    /// Schedules that were given and do not fit.
    Schedule,
    /// Planning and compiling.
    Compile,
    /// Running, and reading what did not run.
    Execution,
    /// What a function that is traced may not do.
    Trace,
    /// The user asked to stop.
    Interrupted,
}

impl TensorError {
    /// The sort of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            TensorError::Shape { .. } | TensorError::Axis { .. } => ErrorKind::Shape,
            TensorError::DType { .. } => ErrorKind::DType,
            TensorError::Index { .. } | TensorError::ComputedIndex { .. } => ErrorKind::Index,
            TensorError::Mask { .. } | TensorError::TooManyIndices { .. } => ErrorKind::Index,
            TensorError::Value { .. } | TensorError::Overflow { .. } | TensorError::Size(_) => ErrorKind::Value,
            TensorError::NothingPending | TensorError::Bounds { .. } => ErrorKind::Value,
            TensorError::Unsupported { .. } => ErrorKind::Unsupported,
            TensorError::NotExecuted | TensorError::Unwritten { .. } => ErrorKind::Execution,
            TensorError::Traced { .. } | TensorError::Leaked | TensorError::Outside { .. } => ErrorKind::Trace,
            TensorError::Rule { .. } => ErrorKind::Execution,
            TensorError::Required { .. } => ErrorKind::Value,
            TensorError::Graph(error) => of_graph(error),
            TensorError::Runtime(error) => of_runtime(error),
            TensorError::Device(error) => of_device(error),
        }
    }

    /// The kind in a few words that stay, such as `bind mismatch`, where it is a finer one than [`TensorError::kind`].
    pub fn kind_text(&self) -> Option<&'static str> {
        match self {
            TensorError::NothingPending => Some("nothing pending"),
            TensorError::Bounds { .. } => Some(svod_runtime::OUT_OF_RANGE),
            TensorError::Size(SizeError::OutOfRange { .. }) => Some(svod_runtime::OUT_OF_RANGE),
            TensorError::Size(SizeError::Unbound(_)) => Some(svod_runtime::UNBOUND),
            TensorError::NotExecuted | TensorError::Unwritten { .. } => Some("not executed"),
            TensorError::Runtime(error) => error.kind_text(),
            TensorError::Device(error) => svod_runtime::device_kind_text(error),
            _ => None,
        }
    }

    /// The error of an operation on nodes, by the name that users call it by.
    pub(crate) fn of_step(op: &'static str, own: usize) -> impl Fn(GraphError) -> TensorError {
        move |mut error| {
            error.op = op;
            error.operands.truncate(own);
            TensorError::Graph(error)
        }
    }

    pub(crate) fn shape(op: &'static str, message: impl Into<String>) -> Self {
        TensorError::Shape { op, message: message.into() }
    }

    pub(crate) fn dtype(op: &'static str, message: impl Into<String>) -> Self {
        TensorError::DType { op, message: message.into() }
    }

    pub(crate) fn value(op: &'static str, message: impl Into<String>) -> Self {
        TensorError::Value { op, message: message.into() }
    }

    pub(crate) fn unsupported(op: &'static str, message: impl Into<String>) -> Self {
        TensorError::Unsupported { op, message: message.into() }
    }
}

/// What a step of control flow found in its region is what the region's own check would say.
impl From<svod_runtime::Error> for TensorError {
    fn from(error: svod_runtime::Error) -> Self {
        if let svod_runtime::Error::Raised { error, .. } = &error
            && let Some(TensorError::ComputedIndex { op, axis, extent, line }) = error.downcast_ref()
        {
            return TensorError::ComputedIndex { op, axis: *axis, extent: extent.clone(), line: line.clone() };
        }
        TensorError::Runtime(error)
    }
}

fn of_graph(error: &GraphError) -> ErrorKind {
    match error.reason {
        Reason::DType { .. } => ErrorKind::DType,
        Reason::Shape(_) | Reason::Axis { .. } => ErrorKind::Shape,
        Reason::Device(..) | Reason::Sharding(_) | Reason::Spread(_) => ErrorKind::Device,
        Reason::Arity { .. } | Reason::Node(_) => ErrorKind::Value,
    }
}

fn of_runtime(error: &svod_runtime::Error) -> ErrorKind {
    use svod_runtime::{Error, ScheduleGraphError};
    match error {
        Error::BindMismatch(_) | Error::BatchMismatch { .. } | Error::Variable(_) => ErrorKind::Value,
        Error::BufferNotFound(_) | Error::NoElement(_) => ErrorKind::Value,
        Error::UnknownShape(_) => ErrorKind::Shape,
        Error::UnknownDevice { .. } => ErrorKind::Device,
        Error::Graph(error) => of_graph(error),
        Error::Execute { .. }
        | Error::NaN { .. }
        | Error::Raised { .. }
        | Error::Stale
        | Error::Reentrant
        | Error::Deadlock(_)
        | Error::Forked => ErrorKind::Execution,
        Error::OutOfMemory { .. } => ErrorKind::OutOfMemory,
        Error::Unsupported(_) | Error::ScheduleGraph(ScheduleGraphError::TooLong { .. }) => ErrorKind::Unsupported,
        Error::Interrupted => ErrorKind::Interrupted,
        Error::Schedule { .. } | Error::Guard { .. } | Error::UnknownKernel { .. } => ErrorKind::Schedule,
        Error::Device(error) => of_device(error),
        _ => ErrorKind::Compile,
    }
}

fn of_device(error: &DeviceError) -> ErrorKind {
    use svod_device::safetensors::SafetensorsErrorKind::MissingTensor;
    match error {
        DeviceError::OutOfMemory { .. } => ErrorKind::OutOfMemory,
        DeviceError::Safetensors(error) if matches!(error.kind, MissingTensor { .. }) => ErrorKind::Missing,
        DeviceError::Io { .. } | DeviceError::Safetensors(_) => ErrorKind::File,
        DeviceError::Render { .. } | DeviceError::Compile { .. } | DeviceError::Load { .. } => ErrorKind::Compile,
        DeviceError::Execute { .. } => ErrorKind::Execution,
        DeviceError::Unsupported { .. } => ErrorKind::Unsupported,
        DeviceError::SizeMismatch { .. } | DeviceError::Misaligned { .. } => ErrorKind::Value,
        _ => ErrorKind::Device,
    }
}

/// ` at a.py:3`, as a message goes on.
fn at(line: &Option<Origin>) -> String {
    line.as_ref().map(|line| format!(" at {line}")).unwrap_or_default()
}

/// `, which follows from argument `x``, as a message goes on.
fn following(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(", which follows from {}", names.join(" and ")) }
}

fn axes_of_rank(rank: usize) -> String {
    if rank == 0 { "which has none".into() } else { format!("which takes -{rank} to {}", rank - 1) }
}

/// A shape as `[4, n]`, for messages.
pub(crate) fn show(shape: &[Size]) -> String {
    let mut text = String::from("[");
    for (i, size) in shape.iter().enumerate() {
        let _ = write!(text, "{}{size}", if i == 0 { "" } else { ", " });
    }
    text + "]"
}

/// Operands as `float32[4, n], int64[3]`, for messages.
pub(crate) fn show_operands(operands: &[UOp]) -> String {
    let operands: Vec<String> = operands.iter().map(|o| show_typed(o.dtype(), o.shape())).collect();
    operands.join(", ")
}

pub(crate) fn show_typed(dtype: DType, shape: &[Size]) -> String {
    format!("{dtype}{}", show(shape))
}
