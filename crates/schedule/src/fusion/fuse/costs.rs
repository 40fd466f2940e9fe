//! What values are made of, if they are computed where they are read.

use super::{is_barrier, is_source};
use crate::costs::limits::kernels::{MAX_COUNTED, MAX_REPEATED};
use crate::graph::place::is_transfer;
use svod_ir::alu::Alu;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, Op, UOp};
use svod_ir::lowered::cost::instructions_of;

/// Of each node: counted as a tree down to memory and to what never is computed twice, saturating. Memory is also
/// what its users are expected to find there: what they read at several positions, and takes too long for that.
pub(super) struct Costs {
    /// Operations that an element takes.
    pub operations: Vec<u32>,
    /// Bytes of memory that all elements are made of.
    pub operands: Vec<i64>,
}

/// Elements of a value at most.
pub(super) fn elements(value: &UOp) -> i64 {
    value.shape().iter().fold(1i64, |n, e| n.saturating_mul(e.upper_bound().unwrap_or(i64::MAX)))
}

impl Costs {
    pub fn of(graph: &Graph, users: &[Vec<NodeIndex>]) -> Costs {
        let mut costs =
            Costs { operations: Vec::with_capacity(graph.len()), operands: Vec::with_capacity(graph.len()) };
        let expected = |costs: &Costs, node: NodeIndex| {
            let users = &users[node as usize];
            let moves = |user: &NodeIndex| {
                let op = graph.nodes()[*user as usize].op();
                matches!(op, Op::Shrink(_) | Op::Pad(..) | Op::Flip(_) | Op::Permute(_) | Op::Window(..))
            };
            costs.operations[node as usize] > MAX_REPEATED && users.len() > 1 && users.iter().any(moves)
        };
        for (at, (node, sources)) in graph.iter().enumerate() {
            let memory = is_source(node.op()) || is_barrier(node.op()) || is_transfer(graph, at as NodeIndex);
            let own = match node.op() {
                _ if memory => 0,
                Op::Alu(alu) if alu.is_transcendental() => 20,
                Op::Alu(Alu::Div | Alu::Sqrt | Alu::Recip | Alu::IDiv | Alu::Rem | Alu::FloorDiv | Alu::FloorMod) => 4,
                Op::Rand(_) => 100,
                op if op.is_movement() && !matches!(op, Op::Pad(..)) => 0,
                _ => 1,
            };
            let operations = |s: &NodeIndex| if expected(&costs, *s) { 0 } else { costs.operations[*s as usize] };
            let below = sources.iter().map(operations).fold(own, u32::saturating_add);
            costs.operations.push(if memory { 0 } else { below.min(MAX_COUNTED) });
            let read = |s: &NodeIndex| {
                let of = elements(&graph.nodes()[*s as usize]);
                let bytes = match expected(&costs, *s) {
                    true => of.saturating_mul(graph.nodes()[*s as usize].dtype().bytes() as i64),
                    false => costs.operands[*s as usize],
                };
                // Of what has more elements than are read, a part.
                let part = (elements(node) as f64 / of.max(1) as f64).min(1.0);
                if node.op().is_movement() || matches!(node.op(), Op::Take(_) | Op::Gather(_)) {
                    (bytes as f64 * part) as i64
                } else {
                    bytes
                }
            };
            let operands = match node.op() {
                Op::Const(_) | Op::Size(_) | Op::Bind(_) => 0,
                _ if memory => elements(node).saturating_mul(node.dtype().bytes() as i64),
                _ => sources.iter().map(read).fold(0, i64::saturating_add),
            };
            costs.operands.push(operands);
        }
        costs
    }
}

/// Vector instructions that compute a node's operation at one position.
pub(super) fn instructions(node: &UOp) -> u32 {
    match node.op() {
        Op::Alu(op) => instructions_of(*op, node.dtype()),
        Op::Rand(_) => 100,
        // Whether a position is inside is compared and chosen by.
        Op::Pad(..) => 2,
        op if op.is_movement() || is_source(op) => 0,
        _ => 1,
    }
}
