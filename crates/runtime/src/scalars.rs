//! Numbers that differ from one graph to the next, such as a learning rate, become arguments.
//!
//! Constants are part of a graph's structure, since code that has them is the best code. Where a graph
//! comes that differs from an earlier one only in float constants, those that differ are put into memory, 0-d
//! leaves, so that from the third value on nothing is compiled. What is computed stays the same, bit for bit: a
//! number that only other constants are computed with, or that code generation looks at, stays a constant.

use crate::memory::Memory;
use parking_lot::Mutex;
use std::sync::Arc;
use svod_device::{Buffer, Device};
use svod_dtype::Const;
use svod_ir::alu::Alu;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Device as Place, Graph, GraphError, Leaf, LeafClass, Op, UOp};

/// The constants of the first graph of a structure, and which of them others had other values of.
pub(crate) type Seen = Arc<Mutex<Vec<(Const, bool)>>>;

/// Values that rules of rewriting and instructions know.
const COMMON: [f64; 6] = [0.0, 1.0, -1.0, 2.0, -2.0, 0.5];

/// The constants of a graph that could as well be arguments.
pub(crate) fn scalars(graph: &Graph) -> Vec<NodeIndex> {
    let users = graph.users();
    let mut constant: Vec<bool> = Vec::with_capacity(graph.len());
    for (node, sources) in graph.iter() {
        let own = matches!(node.op(), Op::Const(_));
        let moved = node.op().is_movement() && !matches!(node.op(), Op::Pad(..));
        constant.push(own || moved && sources.iter().all(|s| constant[*s as usize]));
    }
    // Whether all that reads it computes with something that is no constant.
    let mut free = vec![true; graph.len()];
    graph.roots().iter().for_each(|root| free[*root as usize] = false);
    for at in (0..graph.len()).rev().filter(|at| constant[*at]) {
        free[at] &= users[at].iter().all(|&user| match graph.nodes()[user as usize].op() {
            _ if constant[user as usize] => free[user as usize],
            Op::Alu(op) => *op != Alu::Pow && graph.sources(user).iter().any(|s| !constant[*s as usize]),
            _ => false,
        });
    }
    let known = |value: f64| !value.is_finite() || COMMON.contains(&value);
    let scalar = |at: &NodeIndex| match graph.nodes()[*at as usize].op() {
        Op::Const(value) => free[*at as usize] && value.dtype().is_float() && !known(value.as_f64()),
        _ => false,
    };
    (0..graph.len() as NodeIndex).filter(scalar).collect()
}

/// The device of a graph all of whose values are on it.
pub(crate) fn only_place(graph: &Graph) -> Option<&Place> {
    let mut places = graph.nodes().iter().filter_map(UOp::device);
    let first = places.next()?;
    let apart = graph.nodes().iter().any(|n| n.sharding().is_some() || matches!(n.op(), Op::Copy(_)));
    (!apart && places.all(|place| place == first)).then_some(first)
}

/// Those of the scalars that are to be arguments: that have had several values.
pub(crate) fn varying(graph: &Graph, scalars: &[NodeIndex], seen: &Seen) -> Vec<NodeIndex> {
    let value = |at: &NodeIndex| match graph.nodes()[*at as usize].op() {
        Op::Const(value) => Some(*value),
        _ => None,
    };
    let mut seen = seen.lock();
    if seen.is_empty() {
        seen.extend(scalars.iter().filter_map(value).map(|value| (value, false)));
    }
    let mut found = Vec::new();
    for (at, (first, varies)) in scalars.iter().zip(seen.iter_mut()) {
        *varies |= value(at) != Some(*first);
        found.extend(varies.then_some(*at));
    }
    found
}

/// A 0-d leaf that holds a constant.
pub(crate) fn leaf(device: &Device, node: &UOp) -> Result<UOp, crate::Error> {
    let Op::Const(value) = node.op() else { return Ok(node.clone()) };
    let bytes = &value.to_le_bytes()[..value.dtype().bytes()];
    let buffer = Buffer::from_bytes(device.allocator(), value.dtype(), bytes)?;
    let memory = Memory::new(Arc::new(buffer), LeafClass::Data);
    let leaf = UOp::leaf(Leaf::new(Arc::new(memory), 0, value.dtype(), node.shape_arc().clone()));
    Ok(leaf.map_err(|error: GraphError| error)?)
}
