//! Attention: a contraction whose operand is rows of weights, made from another contraction.
//!
//! In `softmax(q @ kᵀ * s + m) @ v`, in whatever spelling, the scores `q @ kᵀ` are needed a block of
//! rows at a time: by the row's reductions, and by the product with `v`. One kernel therefore holds
//! both contractions, and the scores of all rows are never in memory (Rabe and Staats 2021; Dao et
//! al. 2022). What is looked for is structure only: two contractions, and between them operations
//! along one row and a reduction of it, or scores of several heads that outgrow what they are made of.
//! With one row, one query of a decoder, each of the two is a product of a matrix and a vector.

use super::is_contraction;
use super::shapes::repeated_dims;
use crate::costs::limits::{kernels, products, tasks};
use rustc_hash::FxHashMap;
use svod_ir::alu::Alu;
use svod_ir::graph::shape::squeezed;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, Op};
use svod_ir::kernel::Monoid;

/// What a node is to the chain that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Between the weights and the last product: a movement or conversion.
    Path,
    /// An operation along the row.
    Row,
    /// The weights, or a reduction of a row.
    Stage,
    /// The scores.
    Scores,
    /// What a kernel reads that is written as a whole: it comes from memory.
    Operand,
}

/// The nodes of a chain.
pub(super) type Chain = Vec<(NodeIndex, Role)>;

/// The dimension of the weights that each dimension of a node is.
type Dims = Vec<Option<usize>>;

/// The nodes that the kernel of the sum of products `node` computes row by row; none where its operands
/// are no such rows, or where something else wants one of them. Single rows are worth it where they keep threads busy, or
/// `always`.
pub(super) fn chain(graph: &Graph, users: &[Vec<NodeIndex>], node: NodeIndex, always: bool) -> Option<Chain> {
    let Op::Reduce(_, axes) = graph.nodes()[node as usize].op() else { return None };
    let (&[axis], Some(lacks)) = (&axes[..], lacking(graph, node)) else { return None };
    let product = graph.sources(node)[0];
    let factors = graph.sources(product);
    // The weights lack the columns.
    let mut sides = (0..2).filter(|side| lacks[*side] != 0);
    sides.find_map(|side| {
        let tile = lacks[1 - side] != 0;
        rows_below(graph, users, product, factors[side], axis, (tile, always))
    })
}

/// The chain below one factor of a product that is summed over `axis`: of several rows in a `tile`, or of one.
fn rows_below(
    graph: &Graph,
    users: &[Vec<NodeIndex>],
    product: NodeIndex,
    factor: NodeIndex,
    axis: usize,
    (tile, always): (bool, bool),
) -> Option<Chain> {
    let (mut found, weights, dims) = path_to_weights(graph, factor)?;
    let keys = dims.iter().position(|d| *d == Some(axis))?;
    let Below { known, scores } = values_below(graph, weights, keys)?;
    let several = lacking(graph, scores)?.iter().all(|lacks| *lacks != 0);
    let most_keys = || graph.nodes()[weights as usize].shape()[keys].upper_bound();
    if several != tile || !(tile || always || worth_a_kernel(graph, scores, most_keys()?)) {
        return None;
    }

    let members = led_to(graph, &known, scores);
    let reduces = |n: &NodeIndex| *n != scores && is_reduction(graph, *n);
    let fits =
        |n: &NodeIndex| known[n].as_ref().is_some_and(|dims| !reduces(n) || dims.iter().flatten().all(|d| *d != keys));
    let rows = members.iter().any(reduces) || (tile && outgrow_operands(graph, scores));
    if !members.contains(&weights) || !rows || !members.iter().all(fits) {
        return None;
    }
    found.extend(members.iter().map(|n| {
        let role = if *n == weights || is_reduction(graph, *n) { Role::Stage } else { Role::Row };
        (*n, if *n == scores { Role::Scores } else { role })
    }));
    let own = |n: &NodeIndex| *n == product || found.iter().any(|(f, _)| f == n);
    let closed = found.iter().all(|(n, _)| users[*n as usize].iter().all(own) && !graph.roots().contains(n));
    (closed && copied(graph, product, axis, scores) <= products::MOST_COPIED).then_some(found)
}

fn is_reduction(graph: &Graph, node: NodeIndex) -> bool {
    matches!(graph.nodes()[node as usize].op(), Op::Reduce(..))
}

/// From a factor through movements and conversions to the weights: the path, these, and what their dimensions are.
fn path_to_weights(graph: &Graph, factor: NodeIndex) -> Option<(Chain, NodeIndex, Dims)> {
    let op = |n: NodeIndex| graph.nodes()[n as usize].op();
    let (mut path, mut weights) = (Vec::new(), factor);
    let mut dims: Dims = (0..graph.nodes()[factor as usize].rank()).map(Some).collect();
    while moves(op(weights)) || matches!(op(weights), Op::Cast(_)) {
        path.push((weights, Role::Path));
        (weights, dims) = below(graph, weights, &dims)?;
    }
    matches!(op(weights), Op::Alu(_)).then_some((path, weights, dims))
}

/// What weights are made of.
struct Below {
    /// Every node below, with the dimensions of the weights that its own are; none where it is read through several.
    known: FxHashMap<NodeIndex, Option<Dims>>,
    /// The one product of sums that has all dimensions.
    scores: NodeIndex,
}

/// Looks for the scores below weights.
fn values_below(graph: &Graph, weights: NodeIndex, keys: usize) -> Option<Below> {
    let shape = graph.nodes()[weights as usize].shape();
    let mut known: FxHashMap<NodeIndex, Option<Dims>> = FxHashMap::default();
    let mut scores: Option<NodeIndex> = None;
    let mut work = vec![(weights, (0..shape.len()).map(Some).collect::<Dims>())];
    while let Some((n, mut dims)) = work.pop() {
        // Dimensions of extent 1 come and go with reshapes.
        let long = graph.nodes()[n as usize].shape().iter().map(|e| e.as_const() != Some(1));
        dims.iter_mut().zip(long).filter(|(_, long)| !long).for_each(|(d, _)| *d = None);
        if let Some(before) = known.get_mut(&n) {
            if before.as_ref() != Some(&dims) {
                *before = None;
            }
            continue;
        }
        if known.len() == kernels::MAX_WEIGHTS {
            return None;
        }
        let value = &graph.nodes()[n as usize];
        let covers = |d: usize| shape[d].as_const() == Some(1) || dims.contains(&Some(d));
        let full = (0..shape.len()).all(covers);
        known.insert(n, Some(dims.clone()));
        match value.op() {
            _ if full && lacking(graph, n).is_some() => {
                if scores.replace(n).is_some() {
                    return None;
                }
            }
            Op::Reduce(_, axes) if axes.len() == 1 && !is_contraction(graph, n) => {
                let mut wide = dims;
                wide.insert(axes[0], Some(keys));
                work.push((graph.sources(n)[0], wide));
            }
            Op::Alu(_) | Op::Cast(_) => work.extend(graph.sources(n).iter().map(|s| (*s, dims.clone()))),
            op if moves(op) => work.extend(below(graph, n, &dims)),
            // Read from memory, unless it follows from the scores: then there is no chain.
            _ => {
                known.insert(n, None);
            }
        }
    }
    Some(Below { known, scores: scores? })
}

/// Those that the scores lead to; the others (masks, say) are read as anywhere else.
fn led_to(graph: &Graph, known: &FxHashMap<NodeIndex, Option<Dims>>, scores: NodeIndex) -> Vec<NodeIndex> {
    let mut inside: Vec<NodeIndex> = known.keys().copied().filter(|n| *n > scores).collect();
    inside.sort_unstable();
    let mut members = vec![scores];
    for n in inside {
        if graph.sources(n).iter().any(|s| members.contains(s)) {
            members.push(n);
        }
    }
    members
}

/// Whether each element is one of the operand's, found through its dimensions.
fn moves(op: &Op) -> bool {
    matches!(op, Op::Reshape(_) | Op::Permute(_) | Op::Expand(_) | Op::Detach | Op::ContiguousBackward)
}

/// The operand of a movement or conversion, and what its dimensions are.
fn below(graph: &Graph, node: NodeIndex, dims: &Dims) -> Option<(NodeIndex, Dims)> {
    let value = &graph.nodes()[node as usize];
    let source = graph.sources(node)[0];
    let inner = graph.nodes()[source as usize].shape();
    let dims = match value.op() {
        Op::Reshape(_) => squeezed(value.shape(), inner)?.into_iter().map(|d| d.and_then(|d| dims[d])).collect(),
        Op::Permute(axes) => {
            let mut moved = vec![None; dims.len()];
            axes.iter().zip(dims).for_each(|(a, d)| moved[*a] = *d);
            moved
        }
        Op::Expand(_) => {
            let new = value.rank() - inner.len();
            let kept = |d: usize| if inner[d] == value.shape()[d + new] { dims[d + new] } else { None };
            (0..inner.len()).map(kept).collect()
        }
        _ => dims.clone(),
    };
    Some((source, dims))
}

/// The kept dimensions, a bit each, that either operand of a sum of products lacks, if that is what a node is and
/// one lacks any.
fn lacking(graph: &Graph, node: NodeIndex) -> Option<[u64; 2]> {
    let value = &graph.nodes()[node as usize];
    let Op::Reduce(Monoid::Sum, axes) = value.op() else { return None };
    let product = graph.sources(node)[0];
    let shape = graph.nodes()[product as usize].shape();
    let multiplies = matches!(graph.nodes()[product as usize].op(), Op::Alu(Alu::Mul));
    if !multiplies || !value.dtype().is_float() || shape.len() >= 64 {
        return None;
    }
    let kept = (0..shape.len()).filter(|d| !axes.contains(d) && shape[*d].as_const() != Some(1));
    let kept = kept.fold(0u64, |bits, d| bits | 1 << d);
    let factors = graph.sources(product);
    let lacks = [0, 1].map(|f| repeated_dims(graph, factors[f]) & kept);
    (lacks != [0, 0]).then_some(lacks)
}

/// Whether the heads of single rows keep threads busy, or are little work.
fn worth_a_kernel(graph: &Graph, scores: NodeIndex, keys: i64) -> bool {
    let most = |node: NodeIndex| graph.nodes()[node as usize].numel().upper_bound().unwrap_or(i64::MAX);
    most(scores) / keys.max(1) >= tasks::FEW || most(graph.sources(scores)[0]) <= tasks::CPU.task
}

/// Whether scores without a reduction of their rows are those of an attention all the same: of several heads, each
/// with keys of its own, and more than queries and keys together. Two products with the same weights for all rows
/// are two layers of a network, whose values between are worth their memory.
fn outgrow_operands(graph: &Graph, scores: NodeIndex) -> bool {
    let (Op::Reduce(_, axes), Some([left, right])) = (graph.nodes()[scores as usize].op(), lacking(graph, scores))
    else {
        return false;
    };
    let shape = graph.nodes()[graph.sources(scores)[0] as usize].shape();
    let count = |dims: &dyn Fn(usize) -> bool| {
        let of = (0..shape.len()).filter(|d| dims(*d)).map(|d| shape[d].upper_bound().unwrap_or(i64::MAX));
        of.fold(1, i64::saturating_mul)
    };
    let has = |bits: u64, d: usize| bits >> d & 1 != 0;
    let heads = count(&|d| !axes.contains(&d) && !has(left | right, d));
    let operands = count(&|d| !has(left, d)).saturating_add(count(&|d| !has(right, d)));
    heads > 1 && count(&|d| !axes.contains(&d)) > operands
}

/// Elements of a row's values and keys.
fn copied(graph: &Graph, product: NodeIndex, axis: usize, scores: NodeIndex) -> i64 {
    let largest = |n: &svod_ir::size::Size| n.upper_bound().unwrap_or(i64::MAX);
    let of = |node: NodeIndex| graph.nodes()[node as usize].shape();
    let last = |node: NodeIndex| of(node).iter().rev().find(|e| e.as_const() != Some(1)).map_or(1, largest);
    let keys = largest(&of(product)[axis]);
    let columns = of(product).iter().enumerate().rev().find(|(d, _)| *d != axis).map_or(1, |(_, e)| largest(e));
    let depth = last(graph.sources(scores)[0]);
    keys.saturating_mul(columns.saturating_add(depth))
}
