//! Handles that follow a plan.
//!
//! The tensor given to `prepare`, and those that a plan gives as its outputs, show what its latest run has written, and
//! own nothing. Their nodes are leaves of class `Output`, which are in no other graph: whatever is made of such a handle is
//! made of the memory of one run, which it owns from then on ([`svod_runtime::PlanOutput`]), or, while there is none, of
//! what the next run will write.

use std::any::Any;
use std::sync::Arc;

use svod_ir::graph::{Graph, Leaf, LeafClass, LeafData, Op, UOp};
use svod_runtime::{Awaited, PlanOutput, sources_of};

use crate::devices::joined;
use crate::error::{Result, TensorError, show_typed};
use crate::memory::{bound_leaf, device_of, host};
use crate::pieces;
use crate::read::buffer_of;
use crate::realize::{is_stopped, seen};
use crate::sources;
use crate::tensor::Tensor;

/// The node of a handle that follows these parts of an output, which is of this node's type and place.
pub(crate) fn handle(of: &UOp, parts: &[Arc<PlanOutput>]) -> Result<UOp> {
    joined(of, parts.iter().map(|part| Ok(UOp::leaf(part.handle())?)).collect::<Result<_>>()?)
}

/// Whether a node is that of a handle that follows a plan.
pub(crate) fn follows(node: &UOp) -> bool {
    match node.op() {
        Op::Leaf(leaf) => leaf.class() == LeafClass::Output,
        Op::Multi(_) => node.sources().first().is_some_and(follows),
        _ => false,
    }
}

/// What a handle that follows a plan stands for now; nothing of any other one.
pub(crate) fn latest(node: &UOp) -> Option<UOp> {
    if !follows(node) {
        return None;
    }
    let parts = node.parts().ok()?;
    let cells: Vec<Arc<PlanOutput>> = parts.iter().map(|part| cell(part.op().leaf()?)).collect::<Option<_>>()?;
    let leaves = PlanOutput::latest(&cells.iter().collect::<Vec<_>>()).ok()?;
    leaves.iter().for_each(|leaf| leaf.inherit_origin(node));
    joined(node, leaves).ok()
}

fn cell(leaf: &Leaf) -> Option<Arc<PlanOutput>> {
    let data: Arc<dyn LeafData> = leaf.data().clone();
    let any: Arc<dyn Any + Send + Sync> = data;
    any.downcast().ok()
}

/// What a node is awaited as, if it is: it has no value before a run has succeeded.
fn awaited(node: &UOp) -> Option<&Awaited> {
    node.op().leaf().filter(|leaf| leaf.class() == LeafClass::Awaited)?.downcast()
}

/// Whether a node is what the next run of a plan will write, and none is at work.
pub(crate) fn is_awaited(node: &UOp) -> bool {
    node.parts().is_ok_and(|parts| parts.iter().any(|part| awaited(part).is_some() && !part.is_value()))
}

/// Waits for what a graph awaits from runs that are at work, and says whether there was anything: then the graph is
/// another one now.
///
/// # Errors
/// Where no run is at work, or the one that was failed; where this thread is to stop, or the run waits for it.
pub(crate) fn await_runs(graph: &Graph) -> Result<bool> {
    let mut any = false;
    for node in graph.nodes() {
        let Some(run) = awaited(node) else { continue };
        run.wait(&is_stopped)?;
        if !node.is_value() {
            // Of a plan that was dropped before it ran, it is what that would have computed.
            let Some(expression) = run.instead() else { return Err(unwritten(node)) };
            let value = value_of(expression)?;
            // It is computed with the extents that the output has, where these are variables.
            let known = value.op().leaf().filter(|_| value.shape() != node.shape());
            let shaped = |leaf: &Leaf| {
                UOp::leaf(Leaf::new(leaf.data().clone(), leaf.offset(), leaf.dtype(), node.shape_arc().clone()))
            };
            node.force(known.map(shaped).transpose()?.unwrap_or(value.clone()))?;
        }
        any = true;
    }
    Ok(any)
}

/// [`await_runs`] of a node that is another shape of what is awaited.
pub(crate) fn await_run(node: &UOp) -> Result<()> {
    // The node itself: once a run has forced it, an equal leaf is another node, which nobody forces.
    match seen(node).filter(|node| awaited(node).is_some()) {
        Some(node) => await_runs(&Graph::new(&[node])).map(|_| ()),
        None => Ok(()),
    }
}

/// The value as it is now: the same expression over copies of the memory that its owner may write; of a part of a file a
/// copy. What follows from the arguments of a function that is traced stays, for it is computed before the call ends.
pub(crate) fn kept(node: UOp) -> Result<UOp> {
    let node = node.resolved();
    if node.trace() != 0 {
        return Ok(node);
    }
    if let Some(leaf) = pieces::moved(&node).op().leaf().filter(|leaf| leaf.class() == LeafClass::File) {
        return if let Op::Leaf(_) = node.op() { own_copy(&node, leaf) } else { value_of(node) };
    }
    if !node.borrows() {
        return Ok(node);
    }
    let graph = Graph::new(&[node]);
    let nodes = with_leaves(&graph, |node, leaf| {
        if leaf.class() != LeafClass::Borrowed {
            return Ok(None);
        }
        own_copy(node, leaf).map(Some)
    })?;
    Ok(nodes[graph.roots()[0] as usize].clone())
}

/// A copy of a leaf's memory, where the host can write it, as the variable that the leaf's node is. A plan that is given the
/// memory anew would not follow it.
fn own_copy(node: &UOp, leaf: &Leaf) -> Result<UOp> {
    let buffer = buffer_of(leaf)?;
    let device = if node.is_file() { host()? } else { device_of(node)? };
    let copy = Arc::new(buffer.to_device(device.allocator())?);
    let copy = bound_leaf(copy, LeafClass::Data, leaf.shape().clone(), &leaf.bindings())?;
    sources::note(&copy, &sources_of(std::iter::once(leaf)))?;
    Ok(match node.history().map(UOp::op) {
        Some(Op::Watch(variable)) => copy.watch(variable)?,
        _ => copy,
    })
}

/// What a read computes of a node, which stays an expression for all who have it but one that is computed.
fn value_of(node: UOp) -> Result<UOp> {
    let value = Tensor::from_uop(node);
    value.compute()?;
    Ok(value.uop())
}

/// The nodes of a graph with other values in place of the leaves for which there is one.
pub(crate) fn with_leaves(graph: &Graph, of: impl Fn(&UOp, &Leaf) -> Result<Option<UOp>>) -> Result<Vec<UOp>> {
    let mut nodes: Vec<UOp> = Vec::with_capacity(graph.len());
    for (node, sources) in graph.iter() {
        let own: Vec<UOp> = sources.iter().map(|s| nodes[*s as usize].clone()).collect();
        let other = match node.op() {
            Op::Leaf(leaf) => of(node, leaf)?,
            _ => None,
        };
        let made = match other {
            Some(other) => other,
            None if own.iter().zip(sources).all(|(own, s)| *own == graph.nodes()[*s as usize]) => node.clone(),
            None => UOp::new(node.op().clone(), &own)?,
        };
        made.inherit_origin(node);
        nodes.push(made);
    }
    Ok(nodes)
}

/// The error of an output that no run has written.
pub(crate) fn unwritten(node: &UOp) -> TensorError {
    TensorError::Unwritten { value: show_typed(node.dtype(), node.shape()), line: node.origin().cloned() }
}
