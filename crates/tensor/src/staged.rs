//! Reads of what functions of the host compute, one step after the other.
//!
//! What a function is called with is a read of its own, and so is what is made of its results: graphs of kernels alone, which
//! find the plans of earlier ones like them, and whose numbers become arguments. Shapes with which a function is called
//! are part of its schedule, and kernels in it would be compiled for each of them.

use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, Op, Place, UOp};

/// The nodes to compute one after the other before the roots of a graph, so that what is left of that calls no function with
/// what is still to be computed: for each function its operands, then one of its results. None where steps depend on
/// more than memory and structure, such as on sizes that variables give.
pub(crate) fn steps(graph: &Graph) -> Vec<Vec<UOp>> {
    if !graph.nodes().iter().all(is_plain) {
        return Vec::new();
    }
    let needed = needed(graph);
    let mut steps = Vec::new();
    for (at, (node, sources)) in graph.iter().enumerate() {
        if !matches!(node.op(), Op::Host(..)) || !needed[at] {
            continue;
        }
        let pending = sources.iter().map(|s| &graph.nodes()[*s as usize]);
        let pending: Vec<UOp> = pending.filter(|s| !s.is_memory() && s.uniform().is_none()).cloned().collect();
        if !pending.is_empty() {
            steps.push(pending);
        }
        if !graph.roots().contains(&(at as NodeIndex)) {
            steps.push(vec![node.clone()]);
        }
    }
    steps
}

fn is_plain(node: &UOp) -> bool {
    let own = match node.op() {
        Op::Leaf(leaf) => leaf.class().is_constant(),
        op => !matches!(op, Op::Let(_) | Op::Bind(_) | Op::Size(_) | Op::Multi(_) | Op::Loop(..)),
    };
    let on_one = !matches!(node.place(), Some(Place::Many(_)));
    own && on_one && node.shape().iter().all(|n| n.as_const().is_some())
}

/// Which nodes the roots are computed from: of a mark only the first operand is.
fn needed(graph: &Graph) -> Vec<bool> {
    let mut needed = vec![false; graph.len()];
    graph.roots().iter().for_each(|root| needed[*root as usize] = true);
    for at in (0..graph.len()).rev().filter(|at| graph.nodes()[*at].calls()) {
        if needed[at] {
            let read = if graph.nodes()[at].op().is_mark() { 1 } else { usize::MAX };
            graph.sources(at as NodeIndex).iter().take(read).for_each(|s| needed[*s as usize] = true);
        }
    }
    needed
}
