//! Functions of the host as nodes of the graph.

use super::error::Reason;
use super::op::Shape;
use super::uop::UOp;
use crate::size::Size;
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
        let outputs = self.0.infer(&operands).map_err(|why| Reason::Shape(format!("{}: {why}", self.0.name())))?;
        for (dtype, shape) in &outputs {
            super::infer::element(*dtype)?;
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
#[derive(Default)]
pub struct HeldFunctions {
    /// By identity: the function, and how often the owner holds it.
    found: FxHashMap<usize, (HostCall, usize)>,
}

impl HeldFunctions {
    /// Notes that the owner, and nobody else, holds what holds this.
    pub fn hold(&mut self, call: &HostCall) {
        self.found.entry(call.address()).or_insert_with(|| (call.clone(), 0)).1 += 1;
    }

    /// Notes what the owner of this handle holds by it: all that is reached by nodes without another owner.
    pub fn hold_node(&mut self, node: &UOp) {
        let alone = |node: &UOp| node.0.calls && Arc::strong_count(&node.0) == 1;
        let mut work: Vec<UOp> = Vec::new();
        let mut look = |node: &UOp, work: &mut Vec<UOp>| {
            if let super::Op::Host(call, ..) = node.op() {
                self.hold(call);
            }
            // Somebody who is at work on the node is another owner.
            if let Some(state) = node.0.state.try_lock() {
                work.extend(state.sources.iter().filter(|s| alone(s)).cloned());
            }
        };
        if alone(node) {
            look(node, &mut work);
        }
        while let Some(node) = work.pop() {
            look(&node, &mut work);
        }
    }

    /// The functions that nobody else holds, each once.
    pub fn alone(&self) -> impl Iterator<Item = &HostCall> {
        // One more is held here.
        let alone = |(call, held): &&(HostCall, usize)| Arc::strong_count(&call.0) == held + 1;
        self.found.values().filter(alone).map(|(call, _)| call)
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
        let op = |output| super::Op::Host(call.clone(), operands.len(), output);
        let resolved: Vec<UOp> = operands.iter().map(UOp::resolved).collect();
        let count = call.outputs(&resolved).map_err(|reason| super::GraphError::new(&op(0), &resolved, reason))?.len();
        (0..count).map(|output| UOp::new(op(output), operands)).collect()
    }
}
