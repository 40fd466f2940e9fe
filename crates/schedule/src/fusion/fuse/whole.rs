//! Attention that code generation has a kernel of its own for: a softmax of 16-bit queries and keys, times values.
//!
//! Elsewhere than on a host, rows beside a product are slower than a product by itself, unless tensor cores compute both:
//! then a chain has to be one that they have a kernel for, and what it reads has to be in memory, as it is.

use super::chain::{Chain, Role};
use super::is_source;
use super::shapes::repeated_dims;
use crate::costs::limits::kernels;
use crate::fusion::Purpose;
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::graph::shape::squeezed;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, Op};
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

/// The chain below a sum of products, with its operands, if there is a kernel for it. What is `kept` is read from memory as it
/// is, whatever it was converted from.
pub(super) fn whole(
    graph: &Graph,
    node: NodeIndex,
    mut chain: Chain,
    how: Purpose,
    kept: &dyn Fn(NodeIndex) -> bool,
) -> Option<Chain> {
    let op = |n: NodeIndex| graph.nodes()[n as usize].op();
    let of = |n: NodeIndex| graph.nodes()[n as usize].shape();
    let scores = chain.iter().find(|(_, role)| *role == Role::Scores)?.0;
    let inside = |n: &NodeIndex| chain.iter().any(|(own, _)| own == n);
    let count = |is: &dyn Fn(&Op) -> bool| chain.iter().filter(|(n, _)| *n != scores && is(op(*n))).count();
    let reduces = |monoid| count(&|op| matches!(op, Op::Reduce(m, _) if *m == monoid));
    // A softmax: one maximum, one exponential, one total. The weights are the exponential, divided or not.
    let all = count(&|op| matches!(op, Op::Reduce(..)));
    let mut exponentials = chain.iter().map(|(n, _)| *n).filter(|n| matches!(op(*n), Op::Alu(Alu::Exp)));
    let exponential = exponentials.next()?;
    if (all, reduces(Monoid::Max), reduces(Monoid::Sum)) != (2, 1, 1) || exponentials.next().is_some() || how.strict {
        return None;
    }
    let is_exponential = |n: NodeIndex| below(graph, n) == exponential;
    let sum = chain.iter().map(|(n, _)| *n).find(|n| *n != scores && matches!(op(*n), Op::Reduce(Monoid::Sum, _)))?;
    let weights = chain.iter().find(|(n, role)| *role == Role::Stage && !matches!(op(*n), Op::Reduce(..)))?.0;
    let divided = match op(weights) {
        Op::Alu(Alu::Div) => is_exponential(graph.sources(weights)[0]),
        Op::Alu(Alu::Mul) => graph.sources(weights).iter().any(|n| is_exponential(*n)),
        _ => weights == exponential,
    };
    if !divided || !is_exponential(graph.sources(sum)[0]) {
        return None;
    }
    let (last, first) = (graph.sources(node)[0], graph.sources(scores)[0]);
    // Sizes that are variables are numbers by the time that a kernel is made.
    let known = |n: NodeIndex| of(n).iter().all(|extent| extent.upper_bound().is_some_and(|n| n > 0));
    let (Op::Reduce(_, depth), Op::Reduce(_, keys)) = (op(scores), op(node)) else { return None };
    if !known(last) || !known(first) || depth.len() != 1 || keys.len() != 1 {
        return None;
    }
    let values = graph.sources(last).iter().copied().find(|factor| !inside(factor))?;
    let lacks = repeated_dims(graph, graph.sources(last).iter().copied().find(&inside)?);
    // What is side by side: columns of the values, the depth of queries and keys.
    let column = (0..of(last).len()).rfind(|d| lacks >> d & 1 != 0 && *d != keys[0] && of(last)[*d] != Size::ONE)?;
    let [query, key] = [0, 1].map(|n| narrow(graph, graph.sources(first)[n], depth[0], kept));
    let operands = [narrow(graph, values, column, kept)?, query?, key?];
    let dtype = operands[0].1;
    let [depth, columns] = [of(first)[depth[0]].as_const()?, of(last)[column].as_const()?];
    let has = how.matrix.have_attention(dtype, depth, columns);
    if !has || operands.iter().any(|(_, other)| *other != dtype) {
        return None;
    }
    let computed = operands.into_iter().map(|(n, _)| n).filter(|n| !is_source(op(*n)));
    chain.extend(computed.map(|n| (n, Role::Operand)));
    Some(chain)
}

/// A value below conversions and movements.
fn below(graph: &Graph, node: NodeIndex) -> NodeIndex {
    let moves = |op: &Op| matches!(op, Op::Cast(_) | Op::Reshape(_) | Op::Permute(_) | Op::Expand(_)) || op.is_mark();
    let mut at = node;
    for _ in 0..kernels::MAX_SEEN {
        match graph.sources(at).first().filter(|_| moves(graph.nodes()[at as usize].op())) {
            Some(source) => at = *source,
            None => break,
        }
    }
    at
}

/// What a factor is a view of, whose elements along a dimension are side by side, and the type of 16 bits that it has.
fn narrow(
    graph: &Graph,
    factor: NodeIndex,
    along: usize,
    kept: &dyn Fn(NodeIndex) -> bool,
) -> Option<(NodeIndex, DType)> {
    let (mut at, mut along) = (factor, along);
    let mut widened = None;
    for _ in 0..kernels::MAX_SEEN {
        let value = &graph.nodes()[at as usize];
        let Some(source) = graph.sources(at).first().copied() else { break };
        let inner = graph.nodes()[source as usize].shape();
        match value.op() {
            Op::Cast(_) if widened.is_none() && !kept(at) => widened = Some(graph.nodes()[source as usize].dtype()),
            Op::Permute(axes) => along = axes[along],
            Op::Expand(_) => along = along.checked_sub(value.rank() - inner.len())?,
            Op::Reshape(_) => along = before(value.shape(), inner, along)?,
            Op::Shrink(_) => {}
            op if op.is_mark() => {}
            _ => break,
        }
        at = source;
    }
    is_innermost(graph.nodes()[at as usize].shape(), along).then_some((at, widened?))
}

/// The dimension that a reshape's dimension was, or was the innermost part of.
fn before(outer: &[Size], inner: &[Size], along: usize) -> Option<usize> {
    if let Some(same) = squeezed(outer, inner) {
        return same.iter().position(|d| *d == Some(along));
    }
    let last = innermost(inner).filter(|_| is_innermost(outer, along))?;
    (inner[last].modulo(outer[along].clone()) == Size::ZERO).then_some(last)
}

/// The last dimension of several points.
fn innermost(shape: &[Size]) -> Option<usize> {
    shape.iter().rposition(|n| *n != Size::ONE)
}

fn is_innermost(shape: &[Size], dimension: usize) -> bool {
    innermost(shape).is_none_or(|last| last == dimension)
}
