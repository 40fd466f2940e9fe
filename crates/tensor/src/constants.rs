//! What every run of a plan would compute alike is computed once, when the plan is prepared.
//!
//! It follows from memory that does not change, and from nothing that a run is given: neither an input nor a
//! variable, a caller's array, another plan's output, or a function of the host. Such a value is kept in memory where it
//! was *work* to find, so that kernels would not rather compute it again where they read it: random numbers, long
//! folds, scans, sorts, copies. Literals, ranges, and masks and casts of them stay in the kernels.
//!
//! Nodes are forced, as `realize` forces them: parameters that are still to be drawn are drawn once for all plans
//! that read them.

use std::sync::Arc;

use svod_device::host_memory;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, Leaf, Op, Place, UOp};
use svod_ir::size::Size;
use svod_runtime::{PrepareConfig, Strategy};

use crate::error::{Result, TensorError};
use crate::memory::device_of;
use crate::read::is_known;
use crate::realize::realize;
use crate::tensor::Tensor;

/// Operations that take as long as reading the result of a fold: fewer are done again.
const WORTH: u64 = 10;

/// Part of the machine's memory that a value may fill to be kept.
const SHARE: usize = 8;

/// Computes what is worth it of a graph that reads `inputs` anew in each run, and says whether there was anything: then
/// the graph is another one.
pub(crate) fn compute(graph: &Graph, inputs: &[Leaf], config: &PrepareConfig) -> Result<bool> {
    let found = found(graph, inputs)?;
    if found.is_empty() {
        return Ok(false);
    }
    let strategy = match config.strategy {
        // What runs once is not searched for.
        Strategy::Beam { .. } => Strategy::Heuristic,
        strategy => strategy,
    };
    let config = PrepareConfig { strategy, schedules: Vec::new(), ..config.clone() };
    let values: Vec<Tensor> = found.into_iter().map(Tensor::from_uop).collect();
    match realize(&values.iter().collect::<Vec<_>>(), || Arc::new(config)) {
        // A function that is called to compute one of them prepares this: its runs compute it.
        Err(TensorError::Runtime(svod_runtime::Error::Reentrant | svod_runtime::Error::Deadlock(_))) => Ok(false),
        done => done.map(|()| true),
    }
}

/// What is known of a node.
#[derive(Clone, Copy, Default)]
struct Fact {
    /// Whether every run finds the same value.
    constant: bool,
    /// Of a constant that was work: the bytes that hold all that has to be kept, for the rest to be computed from.
    kept: Option<u64>,
}

/// The nodes to compute: the last ones that are constant and were work, without what makes them larger.
fn found(graph: &Graph, inputs: &[Leaf]) -> Result<Vec<UOp>> {
    let mut facts: Vec<Fact> = Vec::with_capacity(graph.len());
    for (node, sources) in graph.iter() {
        let constant = is_constant(node, inputs) && sources.iter().all(|s| facts[*s as usize].constant);
        let kept = if constant { kept(node, sources, &facts, graph) } else { None };
        facts.push(Fact { constant, kept });
    }
    // Constants that something else reads, from the last one on.
    let mut wanted = vec![false; graph.len()];
    for (at, (_, sources)) in graph.iter().enumerate() {
        if !facts[at].constant {
            sources.iter().for_each(|s| wanted[*s as usize] |= facts[*s as usize].kept.is_some());
        }
    }
    if !wanted.contains(&true) {
        return Ok(Vec::new());
    }
    let (mut all, most) = (Vec::new(), (host_memory() / SHARE) as u64);
    for at in (0..graph.len()).rev() {
        // An output is what runs compute.
        if !wanted[at] || graph.roots().contains(&(at as NodeIndex)) {
            continue;
        }
        let (node, sources) = (&graph.nodes()[at], graph.sources(at as NodeIndex));
        if is_kept(node, facts[at]) {
            all.extend((bytes(node) <= most && !node.is_value()).then(|| node.clone()));
        } else {
            sources.iter().for_each(|s| wanted[*s as usize] |= facts[*s as usize].kept.is_some());
        }
    }
    placed(graph, all)
}

/// Whether every run finds the same value, if it does of the operands.
fn is_constant(node: &UOp, inputs: &[Leaf]) -> bool {
    let own = match node.op() {
        Op::Leaf(leaf) => is_known(leaf) && !inputs.contains(leaf),
        Op::Size(size) => size.as_const().is_some(),
        Op::Bind(_) | Op::Let(_) | Op::Host(..) => false,
        Op::Loop(body, _) => body.key().functions.is_empty() && body.key().bindings.is_empty(),
        _ => true,
    };
    own && node.shape().iter().all(|n| n.as_const().is_some())
}

/// [`Fact::kept`] of a constant.
fn kept(node: &UOp, sources: &[NodeIndex], facts: &[Fact], graph: &Graph) -> Option<u64> {
    let work = match node.op() {
        Op::Rand(_) | Op::Scan(..) | Op::Scatter(..) | Op::Sort(..) | Op::ArgSort(..) | Op::Loop(..) => true,
        Op::Reduce(..) => {
            let folded = graph.nodes()[sources[0] as usize].numel().as_const().unwrap_or(0);
            folded as u64 >= WORTH.saturating_mul(node.numel().as_const().unwrap_or(0).max(1) as u64)
        }
        // Of memory: what is computed is computed where it is wanted.
        Op::Copy(_) | Op::Shard(_) | Op::Contiguous => node.uniform().is_none(),
        _ => false,
    };
    if work {
        return Some(bytes(node));
    }
    let below = sources.iter().filter_map(|s| facts[*s as usize].kept).reduce(u64::saturating_add)?;
    Some(if repeats_or_moves(node.op()) { below } else { bytes(node).min(below) })
}

/// Whether a constant itself is kept, and not what it is computed from.
fn is_kept(node: &UOp, fact: Fact) -> bool {
    !repeats_or_moves(node.op()) && !node.op().is_mark() && fact.kept == Some(bytes(node))
}

/// Whether a value has its operand's elements, all of them.
fn repeats_or_moves(op: &Op) -> bool {
    op.is_movement() && !matches!(op, Op::Shrink(_))
}

/// Bytes of a value of constant extents.
fn bytes(node: &UOp) -> u64 {
    let count: Size = node.numel();
    (count.as_const().unwrap_or(i64::MAX) as u64).saturating_mul(node.dtype().bytes() as u64)
}

/// Those that are where the graph wants them. What is on no device is computed where it is read; it is kept only
/// where all else is on the device on which it would be realized.
fn placed(graph: &Graph, mut all: Vec<UOp>) -> Result<Vec<UOp>> {
    for at in (0..all.len()).rev() {
        if all[at].place().is_some() {
            continue;
        }
        let device = device_of(&all[at])?.spec().to_string();
        let there = |node: &UOp| match node.place() {
            None => true,
            Some(Place::One(one)) => one.name() == device,
            Some(Place::Many(_)) => false,
        };
        if !graph.nodes().iter().all(there) {
            all.swap_remove(at);
        }
    }
    Ok(all)
}
