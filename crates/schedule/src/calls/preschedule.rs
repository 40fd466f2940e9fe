//! The schedule of a graph, independent of concrete buffers and hence cacheable: which kernels, on
//! which arguments, in which order.

use crate::costs::Decision;
use std::ops::Range;
use std::sync::Arc;
use svod_dtype::{Const, DType};
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Device, Shape};
use svod_ir::kernel::Kernel;
use svod_ir::pass::Artifact;
use svod_ir::size::{BoundVariable, Size, Variable};

/// What an argument of an invocation stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// A leaf of the graph, by the order of the first visit ([`GraphKey::leaves`]).
    Leaf(usize),
    /// A buffer of the schedule's own, by its position in [`PreSchedule::buffers`].
    Buffer(usize),
    /// Numbers that a call gives to its kernel, by their position in [`PreSchedule::numbers`].
    Numbers(usize),
}

/// A buffer that the schedule needs: dense, row-major, sized for its variables' maxima.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferSpec {
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: Vec<Size>,
    /// Where it is; `None` is the device of the kernel's arguments.
    pub device: Option<Device>,
}

/// What one step of a schedule does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// Runs a kernel, by its position in [`PreSchedule::kernels`]; it writes the arguments that
    /// [`Kernel::written`] names, which are its last ones.
    Kernel(usize),
    /// Copies argument 1 to argument 0, on whichever devices.
    Copy,
    /// Makes argument 0, a buffer, a part of argument 1, without a copy.
    View {
        /// Distance of their starts, in elements of argument 1.
        offset: usize,
    },
    /// Copies argument 1 to a row of argument 0, which has one for each value of a loop's variable.
    Row {
        /// The variable.
        var: Variable,
        /// Elements of a row.
        each: Size,
    },
    /// Calls a function of the host, which writes the first arguments and reads the others.
    Host {
        /// The function, by the order of the first visit ([`GraphKey::functions`]).
        function: usize,
        /// Number of arguments that it writes.
        outputs: usize,
        /// Extents of all arguments.
        shapes: Vec<Shape>,
    },
}

impl Item {
    /// Positions of what it writes, among so many arguments.
    pub fn written(&self, kernels: &[Arc<Kernel>], args: usize) -> Range<usize> {
        match self {
            Item::Kernel(k) => args.saturating_sub(kernels.get(*k).map_or(1, |k| k.written().len()))..args,
            Item::Copy | Item::View { .. } | Item::Row { .. } => 0..args.min(1),
            Item::Host { outputs, .. } => 0..args.min(*outputs),
        }
    }
}

/// One step: an item on its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelInvocation {
    /// What it does.
    pub item: Item,
    /// On what.
    pub args: Vec<Slot>,
    /// The call that this is an instance of: its position in the schedule before loops were unrolled.
    pub call: usize,
    /// The calls that it reads from; of one in a loop, the latest instance.
    pub dependencies: Vec<usize>,
    /// Calls that it follows though it reads nothing of theirs.
    pub after: Vec<usize>,
    /// The values of loops' variables.
    pub fixed: Vec<(String, i64)>,
    /// The nodes of the graph that it computes, first the one that it is for, constants left out: by position, so that a
    /// cached schedule tells of whichever graph it is used for.
    pub nodes: Vec<NodeIndex>,
}

/// The kernels of a graph and how they are invoked.
#[derive(Clone, Debug, Default)]
pub struct PreSchedule {
    /// Each distinct kernel once.
    pub kernels: Vec<Arc<Kernel>>,
    /// Intermediate buffers and outputs.
    pub buffers: Vec<BufferSpec>,
    /// Lists of numbers of one type, in which calls of a kernel differ.
    pub numbers: Vec<Vec<Const>>,
    /// Steps, producers before consumers, loops unrolled.
    pub invocations: Vec<KernelInvocation>,
    /// Where each root of the graph is, in order.
    pub outputs: Vec<Slot>,
    /// Values that calls give to variables of the user.
    pub bindings: Vec<BoundVariable>,
    /// Why kernels are as many as they are.
    pub decisions: Vec<Decision>,
}

impl PreSchedule {
    /// The arguments that an invocation writes.
    pub fn written<'a>(&self, invocation: &'a KernelInvocation) -> &'a [Slot] {
        &invocation.args[invocation.item.written(&self.kernels, invocation.args.len())]
    }
}

impl Artifact for PreSchedule {}
