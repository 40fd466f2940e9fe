//! What holds of a graph in each phase, checked.

use super::error::GraphError;
use super::op::Op;
use super::walk::{Graph, NodeIndex};

/// How far a graph has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// As the user built it: anything in the table.
    Built,
    /// After the tensor passes: no marks for gradients, no movement that keeps the shape for nothing.
    Simplified,
}

/// A node that its phase does not allow, or that the table does not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// The table's rules reject the node.
    #[error("node {node}: {error}")]
    Rejected {
        /// Number in the text form.
        node: usize,
        /// Why.
        error: GraphError,
    },
    /// Type or shape are not what the table's rules give.
    #[error("node {node}: {op} has a type or shape other than the rules give")]
    Inferred {
        /// Number in the text form.
        node: usize,
        /// The operation.
        op: &'static str,
    },
    /// The operation does not belong into this phase.
    #[error("node {node}: {op} does not belong into phase {phase:?}")]
    Phase {
        /// Number in the text form.
        node: usize,
        /// The operation.
        op: &'static str,
        /// The phase.
        phase: Phase,
    },
}

/// Checks each node against the table and against the phase's spec.
pub fn verify(graph: &Graph, phase: Phase) -> Result<(), VerifyError> {
    (0..graph.len()).try_for_each(|i| verify_node(graph, i, phase))
}

/// The faults of all nodes, of each the first.
pub fn faults(graph: &Graph, phase: Phase) -> Vec<VerifyError> {
    (0..graph.len()).filter_map(|i| verify_node(graph, i, phase).err()).collect()
}

fn verify_node(graph: &Graph, i: usize, phase: Phase) -> Result<(), VerifyError> {
    let node = &graph.nodes()[i];
    let op = node.op();
    let sources: Vec<_> = graph.sources(i as NodeIndex).iter().map(|&s| graph.nodes()[s as usize].clone()).collect();
    let (dtype, shape) = op.infer(&sources).map_err(|error| VerifyError::Rejected { node: i, error })?;
    if (dtype, &*shape) != (node.dtype(), node.shape()) {
        return Err(VerifyError::Inferred { node: i, op: op.name() });
    }
    let idle = matches!(op, Op::Reshape(_) | Op::Expand(_) | Op::Shrink(_)) && shape == *sources[0].shape_arc();
    if phase == Phase::Simplified && (idle || op.is_mark()) {
        return Err(VerifyError::Phase { node: i, op: op.name(), phase });
    }
    Ok(())
}
