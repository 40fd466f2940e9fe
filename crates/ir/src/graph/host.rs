//! Functions of the host as nodes of the graph.

use super::error::Reason;
use super::iterate::LoopBody;
use super::op::{Op, Shape};
use super::uop::UOp;
use super::walk::Graph;
use crate::size::{Size, Variable};
use rustc_hash::FxHashMap;
use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use svod_dtype::DType;

/// A function of the host: what it is called, and which values it makes. Whoever runs the graph gets
/// the rest by downcasting.
pub trait HostFunction: Any + Send + Sync {
    /// Its name, for listings and errors.
    fn name(&self) -> &str;

    /// Types and shapes of its results, at least one, over these operands.
    ///
    /// # Errors
    /// Why it cannot be called with them.
    fn infer(&self, operands: &[(DType, &[Size])]) -> Result<Vec<(DType, Shape)>, String>;

    /// The variables whose values it reads in a run, besides those of its operands' shapes.
    fn variables(&self) -> Vec<Variable> {
        Vec::new()
    }

    /// Whether one more dimension, the first of all operands and results, is that of many examples, computed each by itself.
    fn takes_batches(&self) -> bool {
        false
    }
}

/// A function as part of a node: the same where it is the very same function.
#[derive(Clone)]
pub struct HostCall(Arc<dyn HostFunction>);

impl HostCall {
    /// A call of a function.
    pub fn new(function: Arc<dyn HostFunction>) -> HostCall {
        HostCall(function)
    }

    /// The function.
    pub fn function(&self) -> &Arc<dyn HostFunction> {
        &self.0
    }

    /// Where it is: its identity, as long as it lives.
    pub(super) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).cast::<()>() as usize
    }

    /// The function as what it is; `None` where it is something else.
    pub fn downcast<T: HostFunction>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// Types and shapes of all results.
    pub fn outputs(&self, sources: &[UOp]) -> Result<Vec<(DType, Shape)>, Reason> {
        let operands: Vec<(DType, &[Size])> = sources.iter().map(|s| (s.dtype(), s.shape())).collect();
        // Kernels and functions of the host know real values only.
        if let Some(complex) = sources.iter().find(|s| s.dtype().is_complex()) {
            return Err(Reason::DType { expected: format!("the pair of a value of {}", complex.dtype()) });
        }
        let outputs = self.0.infer(&operands).map_err(|why| Reason::Shape(format!("{}: {why}", self.0.name())))?;
        for (dtype, shape) in &outputs {
            super::infer::real(*dtype)?;
            super::infer::extents(shape)?;
        }
        Ok(outputs)
    }

    /// Type and shape of one result.
    pub(super) fn output(&self, at: usize, sources: &[UOp]) -> Result<(DType, Shape), Reason> {
        let outputs = self.outputs(sources)?;
        let count = outputs.len();
        outputs.into_iter().nth(at).ok_or(Reason::Axis { axis: at, rank: count })
    }
}

/// The functions that one owner keeps alive alone, for collectors of garbage that ask it what it holds: a function with
/// another owner may not count as this one's.
///
/// References are counted as the owner is walked: what a node holds is the owner's once it has been reached by as many
/// references as there are, so that a value which is used twice within one graph counts as one that is used once.
#[derive(Default)]
pub struct HeldFunctions {
    /// By identity, as the others: the function, and how often the owner holds it.
    calls: FxHashMap<usize, (HostCall, usize)>,
    nodes: FxHashMap<usize, (UOp, usize)>,
    bodies: FxHashMap<usize, (LoopBody, usize)>,
}

impl HeldFunctions {
    /// Notes that the owner, and nobody else, holds what holds this.
    pub fn hold(&mut self, call: &HostCall) {
        self.calls.entry(call.address()).or_insert_with(|| (call.clone(), 0)).1 += 1;
    }

    /// Notes what the owner of this handle holds by it.
    pub fn hold_node(&mut self, node: &UOp) {
        let mut work: Vec<usize> = self.count(node).into_iter().collect();
        while let Some(address) = work.pop() {
            let node = self.nodes[&address].0.clone();
            match node.op() {
                Op::Host(call, ..) => self.hold(call),
                Op::Loop(body, _) => self.hold_body(body, &mut work),
                _ => {}
            }
            // Somebody who is at work on the node is another owner.
            if let Some(state) = node.0.state.try_lock() {
                work.extend(state.sources.iter().filter_map(|source| self.count(source)));
            }
        }
    }

    /// Notes what the owner of this graph holds by its list of nodes.
    pub fn hold_graph(&mut self, graph: &Graph) {
        graph.nodes().iter().for_each(|node| self.hold_node(node));
    }

    /// The functions that nobody else holds, each once.
    pub fn alone(&self) -> impl Iterator<Item = &HostCall> {
        // One more is held here.
        let alone = |(call, held): &&(HostCall, usize)| Arc::strong_count(&call.0) == held + 1;
        self.calls.values().filter(alone).map(|(call, _)| call)
    }

    /// Counts a reference to a node, and gives its address if that was the last one.
    fn count(&mut self, node: &UOp) -> Option<usize> {
        if !node.0.calls {
            return None;
        }
        let address = Arc::as_ptr(&node.0) as usize;
        let (node, found) = self.nodes.entry(address).or_insert_with(|| (node.clone(), 0));
        *found += 1;
        (Arc::strong_count(&node.0) == *found + 1).then_some(address)
    }

    /// Counts a reference to the body of a loop, and what that holds if it was the last one.
    fn hold_body(&mut self, body: &LoopBody, work: &mut Vec<usize>) {
        let (body, found) = self.bodies.entry(body.address()).or_insert_with(|| (body.clone(), 0));
        *found += 1;
        if body.owners() != *found + 1 {
            return;
        }
        let body = body.clone();
        body.key().functions.iter().for_each(|call| self.hold(call));
        work.extend(body.results().iter().filter_map(|result| self.count(result)));
    }
}

impl PartialEq for HostCall {
    fn eq(&self, other: &Self) -> bool {
        self.address() == other.address()
    }
}

impl Eq for HostCall {}

impl Hash for HostCall {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address().hash(state);
    }
}

impl fmt::Display for HostCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl fmt::Debug for HostCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostCall({})", self.0.name())
    }
}

impl UOp {
    /// The results of a function of the host on these operands.
    pub fn host(function: Arc<dyn HostFunction>, operands: &[UOp]) -> Result<Vec<UOp>, super::GraphError> {
        let call = HostCall::new(function);
        let op = |output| Op::Host(call.clone(), operands.len(), output);
        let resolved: Vec<UOp> = operands.iter().map(UOp::resolved).collect();
        let count = call.outputs(&resolved).map_err(|reason| super::GraphError::new(&op(0), &resolved, reason))?.len();
        (0..count).map(|output| UOp::new(op(output), operands)).collect()
    }
}
