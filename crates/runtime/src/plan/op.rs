//! What a plan is made of.

use super::ExecutionPlan;
use crate::code::KernelCode;
use crate::error::Error;
use std::fmt;
use std::sync::Arc;
use svod_device::Buffer;
use svod_ir::graph::{HostCall, Origin};
use svod_ir::size::Variable;

/// One step of a plan, on buffers that it names by their position in the plan.
#[derive(Clone, Debug)]
pub struct PlanOp {
    /// What it does.
    pub kind: OpKind,
    /// Its arguments. Of copies and views: destination, source.
    pub buffers: Vec<usize>,
    /// Positions, in `buffers`, of those that it writes.
    pub outputs: Vec<usize>,
    /// Names the op in `dependencies`; instances of an unrolled loop share one. The builder names
    /// ops that have none by their position.
    pub id: Option<u64>,
    /// Ids of ops that run before it: of several with one id, the latest that is earlier.
    pub dependencies: Vec<u64>,
    /// Positions of ops that run before it.
    pub after: Vec<usize>,
    /// Variables that have one value here, whatever the run says.
    pub fixed: Vec<(String, i64)>,
    /// The lines of the user's program that it computes, as far as they are known, first the one that it is for.
    pub origins: Arc<[Origin]>,
}

/// What an op does.
#[derive(Clone)]
pub enum OpKind {
    /// Runs a compiled kernel.
    Kernel(Arc<KernelCode>),
    /// Copies between buffers, on whichever devices.
    Copy,
    /// Nothing at run time: the destination is a view of the source, so many elements of the
    /// source's type after its start.
    View {
        /// Distance of the starts, in elements of the source.
        offset: usize,
    },
    /// Calls a function of the host.
    Custom(Arc<dyn CustomFunction>),
}

/// A function of the host, as a step of a plan.
pub trait CustomFunction: Send + Sync {
    /// What it is, for listings and errors.
    fn kind(&self) -> &str;

    /// The variables that it asks for, besides those of the plan's kernels and shapes.
    fn variables(&self) -> Vec<Variable> {
        Vec::new()
    }

    /// The function of a graph that it calls, if it is one.
    fn host(&self) -> Option<&HostCall> {
        None
    }

    /// The plans that it runs as its own, for listings.
    fn regions(&self) -> Vec<&ExecutionPlan> {
        Vec::new()
    }

    /// Does it.
    fn call(&self, args: &CustomArgs) -> Result<(), CustomError>;
}

/// What a custom function is called with.
pub struct CustomArgs<'a> {
    pub(super) buffers: &'a [Arc<Buffer>],
    pub(super) slots: &'a [usize],
    pub(super) fixed: &'a [(String, i64)],
    pub(super) var: &'a dyn Fn(&str) -> Option<i64>,
}

/// Why a custom function failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CustomError {
    /// It cannot do this kind of work.
    #[error("unsupported custom function")]
    Unsupported,
    /// Anything else.
    #[error("{0}")]
    Failed(String),
    /// The function's own error, which reaches the caller as it is.
    #[error("{0}")]
    Raised(Arc<dyn std::error::Error + Send + Sync>),
    /// The error of a plan that it ran, which reaches the caller as it is.
    #[error("{0}")]
    Run(Box<Error>),
}

impl PlanOp {
    /// The error of its failure, as the `at`-th op of a plan.
    pub(super) fn failed(&self, at: usize, message: String) -> Error {
        Error::Execute { op: at, name: self.name().to_owned(), origins: self.origins.clone(), message }
    }

    /// A kernel on its arguments, by slot.
    pub fn kernel(code: Arc<KernelCode>, buffers: Vec<usize>) -> PlanOp {
        let outputs = code.spec().outs.clone();
        PlanOp::new(OpKind::Kernel(code), buffers, outputs)
    }

    /// A copy.
    pub fn copy(to: usize, from: usize) -> PlanOp {
        PlanOp::new(OpKind::Copy, vec![to, from], vec![0])
    }

    /// A view, `offset` elements of the source's type after its start.
    pub fn view(to: usize, from: usize, offset: usize) -> PlanOp {
        PlanOp::new(OpKind::View { offset }, vec![to, from], vec![0])
    }

    /// A custom function that writes the arguments at `outputs`.
    pub fn custom(function: Arc<dyn CustomFunction>, buffers: Vec<usize>, outputs: Vec<usize>) -> PlanOp {
        PlanOp::new(OpKind::Custom(function), buffers, outputs)
    }

    fn new(kind: OpKind, buffers: Vec<usize>, outputs: Vec<usize>) -> PlanOp {
        PlanOp {
            kind,
            buffers,
            outputs,
            id: None,
            dependencies: vec![],
            after: vec![],
            fixed: vec![],
            origins: Arc::default(),
        }
    }

    /// What it is, for listings and errors.
    pub fn name(&self) -> &str {
        match &self.kind {
            OpKind::Kernel(code) => code.name(),
            OpKind::Copy => "copy",
            OpKind::View { .. } => "view",
            OpKind::Custom(function) => function.kind(),
        }
    }

    /// The kernel's code, if it is one.
    pub fn code(&self) -> Option<&Arc<KernelCode>> {
        match &self.kind {
            OpKind::Kernel(code) => Some(code),
            _ => None,
        }
    }

    /// Whether nothing fails by it once its memory is there: a view, or a kernel of the host.
    pub(super) fn is_sure(&self) -> bool {
        match self.code() {
            Some(code) => code.hosts().is_some(),
            None => matches!(self.kind, OpKind::View { .. }),
        }
    }

    /// The buffers that it accesses, and whether it writes them; one read and written comes twice.
    pub(super) fn accesses(&self) -> impl Iterator<Item = (usize, bool)> {
        let reads: Vec<usize> = match &self.kind {
            // Nothing is read from a workspace that the op has not written itself.
            OpKind::Kernel(code) => {
                code.spec().ins.iter().copied().filter(|slot| !code.workspaces().contains(slot)).collect()
            }
            OpKind::Copy => vec![1],
            OpKind::View { .. } => vec![],
            // What it reads is its own business.
            OpKind::Custom(_) => (0..self.buffers.len()).collect(),
        };
        let writes = if matches!(self.kind, OpKind::View { .. }) { vec![] } else { self.outputs.clone() };
        let all = reads.into_iter().map(|r| (r, false)).chain(writes.into_iter().map(|w| (w, true)));
        all.map(|(slot, write)| (self.buffers[slot], write))
    }
}

impl CustomArgs<'_> {
    /// The `i`-th argument.
    pub fn buffer(&self, i: usize) -> Option<&Arc<Buffer>> {
        self.slots.get(i).and_then(|slot| self.buffers.get(*slot))
    }

    /// Number of arguments.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are no arguments.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The value of a variable: the op's own, else that of the run.
    pub fn var(&self, name: &str) -> Option<i64> {
        let fixed = self.fixed.iter().find(|(n, _)| n == name).map(|(_, value)| *value);
        fixed.or_else(|| (self.var)(name))
    }
}

impl fmt::Debug for OpKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpKind::Kernel(code) => write!(f, "kernel {}", code.name()),
            OpKind::Copy => f.write_str("copy"),
            OpKind::View { offset } => write!(f, "view at {offset}"),
            OpKind::Custom(function) => write!(f, "custom {}", function.kind()),
        }
    }
}
