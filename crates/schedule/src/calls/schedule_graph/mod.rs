//! A schedule as a graph: calls of kernels on buffers, loops around them, and order between them.
//!
//! A node is a call or what a call refers to. Data flows through buffers, so that order is not in the
//! buffers themselves: `After(value, dependencies)` stands for the value once the dependencies have
//! run. In `After(x, K, After(y, J))`, where `K` and `J` are calls, `K` runs after `J`.
//!
//! A loop is a `Range` that an `End` closes. Its calls are those that list it among their `ranges`; each
//! iteration, from the first value to the last one inclusive, runs all of them, on the same buffers.
//! A call learns the value through `Bind(DefineVar, Range)`. A range of kind [`RangeKind::User`] is no
//! loop: its value is the variable's, given by whoever runs the schedule.
//!
//! [`ScheduleGraph::linearize`] checks the graph, orders it and unrolls the loops: the result is a
//! [`PreSchedule`], a flat list of invocations.

mod order;
mod unroll;

use crate::calls::preschedule::{BufferSpec, Item, PreSchedule, Slot};
use crate::costs::Decision;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use svod_dtype::DType;
use svod_ir::graph::complex::of_pairs;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::kernel::Kernel;
use svod_ir::size::{Size, Variable};

/// A node of a [`ScheduleGraph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub usize);

/// Whose a range's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeKind {
    /// A loop's: from the first to the last.
    Loop,
    /// The user's: one value a run.
    User,
}

/// A node: a call, or what calls refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A leaf of the tensor graph, or a buffer of the schedule's own.
    Buffer(Slot),
    /// Memory that only the call has that it is an argument of; sized for its variables' maxima.
    Scratch {
        /// Element type.
        dtype: DType,
        /// Number of elements, where it is known.
        count: Option<Size>,
    },
    /// Parts of one value on several devices.
    Stack(Vec<NodeId>),
    /// A part of a [`Node::Stack`].
    Select(NodeId, usize),
    /// A variable of kernels.
    DefineVar(Variable),
    /// A number.
    Const(i64),
    /// The values of a loop, or of a user's variable, both bounds inclusive.
    Range {
        /// The first value.
        min: Size,
        /// The last value.
        max: Size,
        /// Whose the values are.
        kind: RangeKind,
    },
    /// A variable with the value of a [`Node::Const`] or a [`Node::Range`].
    Bind {
        /// A [`Node::DefineVar`].
        var: NodeId,
        /// Its value.
        value: NodeId,
    },
    /// One step: an item on its arguments, buffers first as the item wants them, then bound variables.
    Call {
        /// What it does.
        item: Item,
        /// On what.
        args: Vec<NodeId>,
        /// The loops that it is in, outermost first.
        ranges: Vec<NodeId>,
    },
    /// The end of the loops of a call.
    End {
        /// A [`Node::Call`] inside.
        call: NodeId,
        /// One loop.
        ranges: Vec<NodeId>,
    },
    /// A call's effect on a buffer; it orders nothing.
    Store {
        /// The buffer.
        buffer: NodeId,
        /// The call.
        call: NodeId,
    },
    /// A value, once all dependencies have run.
    After {
        /// What it stands for.
        value: NodeId,
        /// Calls, ends of loops, stores, and other such nodes, whose dependencies the calls follow.
        dependencies: Vec<NodeId>,
    },
}

/// Calls of kernels, in loops, ordered. See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct ScheduleGraph {
    /// Each distinct kernel once.
    pub kernels: Vec<Arc<Kernel>>,
    /// Intermediate buffers and outputs.
    pub buffers: Vec<BufferSpec>,
    /// The nodes; ties in the order of calls go to the earlier one.
    pub nodes: Vec<Node>,
    /// What the schedule is for.
    pub outputs: Vec<NodeId>,
    /// Why kernels are as many as they are.
    pub decisions: Vec<Decision>,
    /// Of calls, the nodes of the user's graph that they compute.
    pub computes: FxHashMap<NodeId, Vec<NodeIndex>>,
}

/// A schedule graph that has no order, or refers to what is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleGraphError {
    /// A dependency that is neither a call, the end of a loop, a store nor an `after`.
    #[error("node {node} depends on node {dependency}, {kind}: expected call, end, store or after")]
    IllegalDependency {
        /// The `after`.
        node: usize,
        /// What it names.
        dependency: usize,
        /// What that is.
        kind: &'static str,
    },
    /// A dependency on a call that is not there.
    #[error("node {node} depends on call {call}, which is unknown")]
    UnknownCall {
        /// Which one depends.
        node: usize,
        /// On what.
        call: usize,
    },
    /// Calls that wait for one another.
    #[error("a cycle: calls {0:?} wait for one another")]
    Cycle(Vec<usize>),
    /// A kernel that is not there.
    #[error("call {call} runs kernel {kernel}, which is unknown: there are {count}")]
    UnknownKernel {
        /// The call.
        call: usize,
        /// The kernel.
        kernel: usize,
        /// How many there are.
        count: usize,
    },
    /// A buffer that is not there.
    #[error("buffer not found: node {node} stands for buffer {buffer} of {count}")]
    BufferNotFound {
        /// The node.
        node: usize,
        /// The buffer.
        buffer: usize,
        /// How many there are.
        count: usize,
    },
    /// An argument that is neither memory nor a bound variable.
    #[error("unsupported argument: argument {position} of call {call} is node {node}, {kind}")]
    UnsupportedArgument {
        /// The call.
        call: usize,
        /// Position of the argument.
        position: usize,
        /// What it is.
        node: usize,
        /// Of which kind.
        kind: &'static str,
    },
    /// Something that stands for no memory.
    #[error("node {node} is {kind}: expected memory")]
    NotMemory {
        /// The node.
        node: usize,
        /// Of which kind.
        kind: &'static str,
    },
    /// A node that stands, by way of others or not, for itself.
    #[error("node {node} stands for itself: expected memory")]
    OwnMemory {
        /// The node.
        node: usize,
    },
    /// A part that a stack does not have.
    #[error("node {node} selects part {part} of {count}")]
    UnknownPart {
        /// The node.
        node: usize,
        /// The part.
        part: usize,
        /// How many there are.
        count: usize,
    },
    /// A value that is bound to something that is no variable.
    #[error("bind without define_var: node {bind} binds node {var}, {kind}")]
    BindWithoutDefineVar {
        /// The bind.
        bind: usize,
        /// What it binds.
        var: usize,
        /// What that is.
        kind: &'static str,
    },
    /// A variable with two values, or with one outside of its bounds.
    #[error("variable {name}: {value} {why}")]
    BadValue {
        /// The variable.
        name: String,
        /// The value.
        value: i64,
        /// What is wrong with it.
        why: String,
    },
    /// Memory of a call's own whose size is not known.
    #[error("scratch node {0} is not a sized pointer: its number of elements is unknown")]
    UnsizedScratch(usize),
    /// A loop without end.
    #[error("loop {0} is never closed")]
    NeverClosed(usize),
    /// The end of a loop that its call is not in.
    #[error("end {end} closes loop {range}, which is not active at call {call}")]
    InactiveEnd {
        /// The end.
        end: usize,
        /// The loop.
        range: usize,
        /// The call.
        call: usize,
    },
    /// The end of something that is no call.
    #[error("end {end} is that of node {call}, which is no call")]
    EndOfUnknownCall {
        /// The end.
        end: usize,
        /// What it names.
        call: usize,
    },
    /// One end for several loops, or for none.
    #[error("end {end} closes {count} loops: expected one")]
    SeveralLoops {
        /// The end.
        end: usize,
        /// How many it names.
        count: usize,
    },
    /// A loop that is not declared.
    #[error("call {call} refers to loop {range}, which is not declared")]
    UndeclaredLoop {
        /// The call.
        call: usize,
        /// What it names.
        range: usize,
    },
    /// A variable bound to a loop that the call is not in.
    #[error("call {call} binds variable {var} to loop {range}, which is not active there")]
    InactiveLoop {
        /// The call.
        call: usize,
        /// The variable's name.
        var: String,
        /// The loop.
        range: usize,
    },
    /// Bounds that are no numbers.
    #[error("loop {range} runs from {min} to {max}: its bounds are not constant")]
    SymbolicBounds {
        /// The loop.
        range: usize,
        /// The first value.
        min: Size,
        /// The last value.
        max: Size,
    },
    /// A loop without iterations.
    #[error("loop {range} runs from {min} to {max}: it has no iteration")]
    EmptyLoop {
        /// The loop.
        range: usize,
        /// The first value.
        min: i64,
        /// The last value.
        max: i64,
    },
    /// A loop that is inside of different ones.
    #[error("call {call} has loop {range} inside of other loops than an earlier call")]
    Nesting {
        /// The call.
        call: usize,
        /// The loop.
        range: usize,
    },
    /// More invocations than a plan should have.
    #[error(
        "iterate: loops are unrolled when a plan is made, of {} iterations, with more than {limit} steps; make a plan of \
         one iteration, or of some, and run that",
        products(iterations)
    )]
    TooLong {
        /// The most steps there may be.
        limit: usize,
        /// Of the loops that are too long, outermost first.
        iterations: Vec<i64>,
    },
}

/// Counts of loops inside of each other, as text.
fn products(counts: &[i64]) -> String {
    counts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" x ")
}

impl ScheduleGraph {
    /// Adds a node.
    pub fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() - 1)
    }

    /// Makes the buffer that a value is in, of pairs of real numbers, one of complex numbers, where these are its type.
    /// Two results may be in one buffer, as a value and what it is without its gradient.
    pub fn as_typed(&mut self, value: NodeId, dtype: DType) {
        if let (true, Ok(Slot::Buffer(at))) = (dtype.is_complex(), self.memory(value))
            && !self.buffers[at].dtype.is_complex()
        {
            let spec = &mut self.buffers[at];
            spec.shape = of_pairs(&spec.shape).to_vec();
            spec.dtype = dtype;
        }
    }

    /// The node of a leaf or of a buffer.
    pub fn slot(&mut self, slot: Slot) -> NodeId {
        self.add(Node::Buffer(slot))
    }

    /// A buffer of the schedule's own.
    pub fn buffer(&mut self, spec: BufferSpec) -> NodeId {
        self.buffers.push(spec);
        self.slot(Slot::Buffer(self.buffers.len() - 1))
    }

    /// A loop, both bounds inclusive.
    pub fn range(&mut self, min: impl Into<Size>, max: impl Into<Size>) -> NodeId {
        self.add(Node::Range { min: min.into(), max: max.into(), kind: RangeKind::Loop })
    }

    /// A variable with the value of a loop.
    pub fn bind(&mut self, var: &Variable, value: NodeId) -> NodeId {
        let var = self.add(Node::DefineVar(var.clone()));
        self.add(Node::Bind { var, value })
    }

    /// A call inside of these loops, outermost first.
    pub fn call(&mut self, item: Item, args: Vec<NodeId>, ranges: &[NodeId]) -> NodeId {
        self.add(Node::Call { item, args, ranges: ranges.to_vec() })
    }

    /// The end of a loop of a call.
    pub fn end(&mut self, call: NodeId, range: NodeId) -> NodeId {
        self.add(Node::End { call, ranges: vec![range] })
    }

    /// A value, once all dependencies have run.
    pub fn after(&mut self, value: NodeId, dependencies: &[NodeId]) -> NodeId {
        self.add(Node::After { value, dependencies: dependencies.to_vec() })
    }

    /// Makes call `later` run after `earlier`, a call or the end of a loop, with no data between them.
    pub fn run_after(&mut self, later: NodeId, earlier: NodeId) {
        let nothing = self.add(Node::Const(0));
        let first = self.after(nothing, &[earlier]);
        self.after(nothing, &[later, first]);
    }

    /// The memory that a node stands for: of parts on several devices the first one.
    ///
    /// # Errors
    /// A node that is no memory or stands for itself, a buffer or part that is not there.
    pub fn memory(&self, node: NodeId) -> Result<Slot, ScheduleGraphError> {
        let (mut at, mut part) = (node, 0);
        // No way goes through a node twice.
        for _ in 0..=self.nodes.len() {
            match self.nodes.get(at.0) {
                Some(Node::Buffer(slot)) => {
                    let (Slot::Buffer(buffer), count) = (*slot, self.buffers.len()) else { return Ok(*slot) };
                    let known = (buffer < count).then_some(*slot);
                    return known.ok_or(ScheduleGraphError::BufferNotFound { node: at.0, buffer, count });
                }
                Some(Node::After { value, .. }) => at = *value,
                Some(Node::Select(stack, selected)) => (at, part) = (*stack, *selected),
                Some(Node::Stack(parts)) => {
                    let unknown = ScheduleGraphError::UnknownPart { node: at.0, part, count: parts.len() };
                    at = *parts.get(part).ok_or(unknown)?;
                    part = 0;
                }
                other => {
                    let kind = other.map_or("nothing", Node::kind);
                    return Err(ScheduleGraphError::NotMemory { node: at.0, kind });
                }
            }
        }
        Err(ScheduleGraphError::OwnMemory { node: at.0 })
    }

    /// Whether a node is a call.
    pub(crate) fn is_call(&self, node: NodeId) -> bool {
        matches!(self.nodes.get(node.0), Some(Node::Call { .. }))
    }

    /// The calls from node `begin` on that a memory is an argument of.
    pub(crate) fn readers(&self, memory: NodeId, begin: usize) -> Vec<NodeId> {
        let slot = self.memory(memory);
        let names = |at: &usize| match &self.nodes[*at] {
            Node::Call { args, .. } => args.iter().any(|arg| self.memory(*arg) == slot),
            _ => false,
        };
        (begin..self.nodes.len()).filter(names).map(NodeId).collect()
    }

    /// The flat list of invocations: checked, ordered (Kahn 1962; among calls that are ready, the
    /// earliest in the graph first), loops unrolled.
    ///
    /// # Errors
    /// [`ScheduleGraphError`], which names the nodes.
    pub fn linearize(self) -> Result<PreSchedule, ScheduleGraphError> {
        let order = order::order(&self)?;
        unroll::unroll(self, &order)
    }
}

impl Node {
    /// What it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Node::Buffer(_) => "a buffer",
            Node::Scratch { .. } => "scratch",
            Node::Stack(_) => "a stack",
            Node::Select(..) => "a select",
            Node::DefineVar(_) => "a variable",
            Node::Const(_) => "a constant",
            Node::Range { .. } => "a range",
            Node::Bind { .. } => "a bind",
            Node::Call { .. } => "a call",
            Node::End { .. } => "an end",
            Node::Store { .. } => "a store",
            Node::After { .. } => "an after",
        }
    }
}

#[cfg(test)]
mod tests;
