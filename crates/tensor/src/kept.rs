//! What a read computes on its way is kept, where that is worth memory.
//!
//! `loss.item()` computes the loss, and before that the weights that a program still has a name for. If these were
//! forgotten, the next read would compute them again from the very beginning. Kept is
//!
//! * what a handle names, if writing it costs little beside the run: a value is *small*, or no larger than the largest
//!   memory that it is made of and written in a part of the run's time ([`LITTLE`]). Scores of an attention that
//!   somebody has named are neither;
//! * what an earlier run computed and this one would compute again, if reading it from memory takes no longer; of what it
//!   computes again on the way to that, what is small and other expressions are made of: a program that reads a list of results
//!   from the last one to the first asks for these next;
//! * what a function of the host gave, and a loop that no derivative follows: these are in memory in any case, and dear to compute
//!   again. All results of one step are computed at once, and those that something refers to are kept together.
//!
//! A handle names what has its elements in memory: of a transposed, padded or checkpointed value, its operand, unless that is many
//! such steps away: a program that only moves a value, as a delay line does, goes on from where it was. Values on
//! several devices are kept in their parts, and so are copies between devices.
//!
//! A read that wants a part of a value only, such as one element, computes all of it if that takes no longer than a few
//! kernels take to be compiled, more of them with every such read.
//!
//! Costs are bytes moved; operations count as so many bytes as are moved meanwhile, as when kernels are cut. Where a run
//! takes long, so that it matters how kernels are cut, what is named is kept only if the schedule with it moves
//! little more than the one without; graphs of several devices are not compared. What follows from memory that may change or from
//! variables is never kept. Decisions follow from the graph, from names, from what else is made of its nodes and from counts of
//! runs: they are the same in every run of a program.

use rustc_hash::FxHashSet;
use svod_device::host_memory;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, Op, Place, UOp};
use svod_ir::lowered::cost::slots_of;
use svod_runtime::{Context, OPERATIONS_PER_BYTE, PrepareConfig};

use crate::error::Result;

/// Bytes of a value that is always kept: writing them takes less than to call a kernel.
pub(crate) const SMALL: f64 = 16384.0;

/// The part of a run's cost, and of what its schedule moves, that is spent on what is named.
const LITTLE: f64 = 0.125;

/// Cost of a run from which on schedules are compared, and how many.
const LONG: f64 = (1 << 20) as f64;
const COMPARED: usize = 4;

/// What may be computed beyond what was asked for, for each run that wanted a part: as long as it takes to compile
/// a kernel.
const WHOLE: f64 = (1 << 22) as f64;

/// Part of the machine's memory that a value may fill to be kept, and all those that are computed again.
pub(crate) const SHARE: usize = 8;

/// Operations for each element of what is neither elementwise nor a fold.
const SORTED: f64 = 32.0;
const DRAWN: f64 = 24.0;

/// Cost of each byte that a function of the host, or a loop, reads or gives.
const DEAR: f64 = 32.0;

/// Operations that runs have computed again and again, from which on what follows from literals is worth memory, and movements
/// from which on a value is: a program builds on it step by step.
const STEPS: u32 = 8;

/// What is known of a node.
#[derive(Clone, Copy, Default)]
struct Fact {
    /// Whether every run finds the same value.
    lasting: bool,
    /// Whether memory or random numbers are below it, or a long chain: what follows from literals in a few steps stays
    /// in the kernels.
    found: bool,
    /// Operations one after the other that earlier runs computed and this one would compute again.
    steps: u32,
    /// Movements one after the other, back to what has its elements in memory.
    moves: u32,
    /// Cost of computing it; what several read is divided among them.
    cost: f64,
    /// The part of that which is the same for a part of its elements as for all: of functions of the host and loops.
    dear: f64,
    /// Bytes of the largest memory that it is made of.
    largest: f64,
    /// The part of it that is wanted: none of what a derivative would be taken by.
    part: f64,
    /// Whether something reads it that no run has computed yet, or that is asked for.
    again: bool,
    /// Whether it is asked for.
    is_root: bool,
    /// Whether a handle names it, or what has its elements.
    named: bool,
}

/// What is known of a graph's nodes, and whether they are on several devices.
struct Facts {
    of: Vec<Fact>,
    apart: bool,
}

/// The nodes that are to be computed as further roots of a graph, which a read computes.
pub(crate) fn kept(graph: &Graph, config: &PrepareConfig) -> Result<Vec<NodeIndex>> {
    let Some(Facts { of: mut facts, apart }) = facts(graph) else { return Ok(Vec::new()) };
    let total: f64 = graph.roots().iter().map(|root| facts[*root as usize].cost).sum();
    let (mut room, most) = (LITTLE * total, (host_memory() / SHARE) as f64);
    let mut left = most;
    let elsewhere = if facts.iter().any(|fact| fact.steps > 0) { graph.read_elsewhere() } else { Vec::new() };
    for root in graph.roots() {
        let fact = &mut facts[*root as usize];
        (fact.part, fact.again, fact.is_root) = (1.0, true, true);
    }
    let (mut chosen, mut with_names) = (Vec::new(), Vec::new());
    for at in (0..graph.len()).rev() {
        let (node, fact) = (&graph.nodes()[at], facts[at]);
        let named = fact.named || node.is_named();
        let shared = elsewhere.get(at) == Some(&true) && (node.runs() > 0 || passes(node));
        let passed = passes(node) && !(node.is_named() && fact.moves >= STEPS);
        // What earlier runs computed is made of what they computed for it.
        let mut again = (fact.again || shared) && (fact.is_root || passes(node)) || !passes(node) && node.runs() == 0;
        let wanted = fact.part > 0.0 && (!apart || node.place().is_some());
        if fact.lasting && fact.found && wanted && !fact.is_root && !passed && !node.is_value() {
            let (own, beyond) = (bytes(node), (fact.cost - fact.dear) * (1.0 - fact.part));
            let small = own <= SMALL && beyond <= WHOLE;
            let spares = small || 2.0 * own <= fact.cost && beyond <= WHOLE * f64::from(node.runs());
            let little = fact.part == 1.0 && 2.0 * own <= room && own <= fact.largest;
            let written = is_written(node);
            let spared = node.runs() > 0 && own <= left && (fact.again && (spares || written) || shared && small);
            if own > most {
                again |= fact.again || shared;
            } else if is_dear(node) || named && written || spared {
                left -= own;
                chosen.push(at as NodeIndex);
            } else if named && (small || little) {
                room -= if small { 0.0 } else { 2.0 * own };
                with_names.push(at as NodeIndex);
            } else {
                again |= fact.again || shared;
            }
        }
        // Of a mark, only the first operand is computed.
        let read = if node.op().is_mark() { 1 } else { usize::MAX };
        for &source in graph.sources(at as NodeIndex).iter().take(read) {
            let whole = elements(&graph.nodes()[source as usize]).max(1.0);
            let part = if let Op::Shrink(_) = node.op() { elements(node) / whole } else { 1.0 };
            let below = &mut facts[source as usize];
            below.again |= again;
            below.part = below.part.max(fact.part * part);
            below.named |= named && passed;
        }
    }
    if total <= LONG || apart {
        chosen.extend(with_names);
        return Ok(chosen);
    }
    with_little_traffic(graph, chosen, with_names, config)
}

/// Those of the named nodes with which the schedule moves little more than without.
fn with_little_traffic(
    graph: &Graph,
    mut chosen: Vec<NodeIndex>,
    named: Vec<NodeIndex>,
    config: &PrepareConfig,
) -> Result<Vec<NodeIndex>> {
    let traffic = |more: &[NodeIndex]| {
        let all = graph.roots().iter().chain(more).map(|root| graph.nodes()[*root as usize].clone());
        Context::global().traffic(&all.collect::<Vec<_>>(), config)
    };
    if named.is_empty() {
        return Ok(chosen);
    }
    let most = (1.0 + LITTLE) * traffic(&chosen)?;
    let all = [&chosen[..], &named[..]].concat();
    if traffic(&all)? <= most {
        return Ok(all);
    }
    for node in named.into_iter().take(COMPARED) {
        chosen.push(node);
        if traffic(&chosen)? > most {
            chosen.pop();
        }
    }
    Ok(chosen)
}

/// Whether all of a value, of this graph, should be computed where a part of it is read.
pub(crate) fn is_whole_worth(base: &UOp, graph: &Graph) -> bool {
    let Some(facts) = facts(graph) else { return false };
    let fact = facts.of[graph.roots()[0] as usize];
    let fits = bytes(base) * SHARE as f64 <= host_memory() as f64;
    fact.lasting && fact.found && fits && fact.cost - fact.dear <= WHOLE * f64::from(1 + base.runs())
}

/// Whether the roots of a graph have the same value in every run that computes them.
pub(crate) fn are_lasting(graph: &Graph) -> bool {
    facts(graph).is_some_and(|facts| graph.roots().iter().all(|root| facts.of[*root as usize].lasting))
}

/// The other results of a graph's loops and functions of the host that something outside of it refers to: they are
/// computed with those that are in it, and kept.
pub(crate) fn beside(graph: &Graph) -> Vec<UOp> {
    if !graph.nodes().iter().any(|node| is_step(node.op())) {
        return Vec::new();
    }
    let Some(facts) = facts(graph) else { return Vec::new() };
    let (mut met, mut found) = (FxHashSet::default(), Vec::new());
    for (node, fact) in graph.nodes().iter().zip(&facts.of) {
        if !fact.lasting || node.is_value() || !is_dear(node) {
            continue;
        }
        for other in other_results(node) {
            let wanted = !other.is_sole() && !other.is_value() && other.shape().iter().all(|n| n.as_const().is_some());
            if wanted && met.insert(other.id()) && !graph.nodes().contains(&other) {
                found.push(other);
            }
        }
    }
    found
}

/// The other results of the loop or the function of the host of which a node is one, that are wanted still. Operands may have
/// been forced since all were made.
fn other_results(node: &UOp) -> Vec<UOp> {
    let (count, own) = match node.op() {
        Op::Loop(body, own) => (body.results().len(), *own),
        Op::Host(call, _, own) => (call.outputs(&node.sources()).map_or(0, |outputs| outputs.len()), *own),
        _ => return Vec::new(),
    };
    let result = |output: usize| match node.op() {
        Op::Loop(body, _) => node.beside(&Op::Loop(body.clone(), output)),
        Op::Host(call, operands, _) => node.beside(&Op::Host(call.clone(), *operands, output)),
        _ => None,
    };
    (0..count).filter(|output| *output != own).filter_map(result).collect()
}

/// Notes that a run computed the values of a graph.
pub(crate) fn note_run(graph: &Graph) {
    graph.nodes().iter().filter(|node| !passes(node) && !node.is_value()).for_each(UOp::note_run);
}

/// What is known from below; none where the graph has variables.
fn facts(graph: &Graph) -> Option<Facts> {
    let mut facts: Vec<Fact> = Vec::with_capacity(graph.len());
    let mut readers = vec![0u32; graph.len()];
    graph.iter().for_each(|(_, sources)| sources.iter().for_each(|s| readers[*s as usize] += 1));
    let (mut place, mut apart): (Option<&Place>, bool) = (None, false);
    for (node, sources) in graph.iter() {
        apart |= match node.place() {
            Some(Place::Many(_)) => true,
            Some(one) => **place.get_or_insert(one) != *one,
            None => false,
        };
        if is_open(node) {
            return None;
        }
        let below = || sources.iter().map(|s| &facts[*s as usize]);
        let lasting = lasts(node, below().map(|f| f.lasting));
        let ran = !passes(node) && !node.is_value() && node.runs() > 0;
        let steps = below().map(|f| f.steps).max().unwrap_or(0) + u32::from(ran);
        let given = node.place().is_some() || matches!(node.op(), Op::Rand(_) | Op::Leaf(_)) || is_step(node.op());
        let moves = if node.op().is_movement() { 1 + below().map(|f| f.moves).max().unwrap_or(0) } else { 0 };
        let found = given || steps >= STEPS || below().any(|f| f.found);
        let share = |cost: fn(&Fact) -> f64| -> f64 {
            let of = |s: &NodeIndex| cost(&facts[*s as usize]) / f64::from(readers[*s as usize].max(1));
            sources.iter().map(of).sum()
        };
        let cost = own_cost(node, sources, graph) + share(|f| f.cost);
        let dear = if is_step(node.op()) { cost } else { share(|f| f.dear) };
        let own = if node.op().leaf().is_some() || is_written(node) { bytes(node) } else { 0.0 };
        let largest = below().map(|f| f.largest).fold(own, f64::max);
        facts.push(Fact { lasting, found, steps, moves, cost, dear, largest, ..Fact::default() });
    }
    Some(Facts { of: facts, apart })
}

/// Whether a node has variables, or extents that are.
pub(crate) fn is_open(node: &UOp) -> bool {
    let fixed = node.shape().iter().all(|n| n.as_const().is_some());
    !fixed || matches!(node.op(), Op::Size(_) | Op::Bind(_) | Op::Let(_))
}

/// Whether every run finds the same value, where that is known of the operands.
pub(crate) fn lasts(node: &UOp, mut below: impl Iterator<Item = bool>) -> bool {
    match node.op() {
        Op::Leaf(leaf) => leaf.class().is_constant(),
        Op::Loop(body, _) if !body.key().bindings.is_empty() => false,
        _ => below.all(|lasting| lasting),
    }
}

/// Cost of a node beyond that of its operands, in bytes that are moved meanwhile.
fn own_cost(node: &UOp, sources: &[NodeIndex], graph: &Graph) -> f64 {
    let folded = || sources.first().map_or(0.0, |s| elements(&graph.nodes()[*s as usize]));
    let operations = match node.op() {
        Op::Leaf(_) | Op::Copy(_) | Op::Shard(_) => return bytes(node),
        Op::Loop(..) | Op::Host(..) => {
            let read: f64 = sources.iter().map(|s| bytes(&graph.nodes()[*s as usize])).sum();
            return DEAR * (read + bytes(node));
        }
        Op::Alu(op) => elements(node) * slots_of(*op, node.dtype().is_float(), 1.0),
        Op::Cast(_) | Op::Concat(..) | Op::Stack(..) => elements(node),
        Op::Reduce(..) | Op::Scan(..) => folded(),
        Op::Sort(..) | Op::ArgSort(..) => folded() * SORTED,
        Op::Rand(_) => elements(node) * DRAWN,
        Op::Take(_) | Op::Gather(_) | Op::Scatter(..) => elements(node) + folded(),
        _ => 0.0,
    };
    operations / OPERATIONS_PER_BYTE
}

/// Whether a node has the elements of its operand, so that the operand is kept in its place. A value whose derivative is given
/// holds what that is taken by, and lets go of it where it is kept itself; so does a detached one, of what its operand is made of.
pub(crate) fn passes(node: &UOp) -> bool {
    holds_the_same(node.op()) && !ends_history(node)
}

fn holds_the_same(op: &Op) -> bool {
    let moved = matches!(op, Op::Contiguous | Op::After | Op::Multi(_) | Op::Part(..));
    let is_mark = op.is_mark() && !matches!(op, Op::Derived(..));
    op.is_movement() || is_mark || moved || matches!(op, Op::Leaf(_) | Op::Const(_) | Op::Range(_))
}

/// Whether a node detaches a value that is yet to be computed, and that has no name of its own.
fn ends_history(node: &UOp) -> bool {
    let mut below = node.source().filter(|_| matches!(node.op(), Op::Detach));
    while let Some(value) = below {
        if value.is_named() || value.is_value() {
            return false;
        }
        if !holds_the_same(value.op()) {
            return true;
        }
        below = value.source();
    }
    false
}

/// Whether a node is one of the results of what is no kernel.
fn is_step(op: &Op) -> bool {
    matches!(op, Op::Loop(..) | Op::Host(..))
}

/// Whether a value is in memory in any case, where it is computed: not a copy of a file, which is read where it is.
fn is_written(node: &UOp) -> bool {
    match node.op() {
        Op::Copy(_) | Op::Shard(_) => node.source().is_some_and(|source| !source.is_file()),
        op => is_step(op),
    }
}

/// Whether a value is kept whoever names it: histories of derivatives hold loops, whose values would stay with them.
fn is_dear(node: &UOp) -> bool {
    matches!(node.op(), Op::Host(..)) || is_step(node.op()) && !node.is_watched()
}

fn elements(node: &UOp) -> f64 {
    node.numel().as_const().unwrap_or(i64::MAX) as f64
}

pub(crate) fn bytes(node: &UOp) -> f64 {
    elements(node) * node.dtype().bytes() as f64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::STEPS;
    use crate::tensor::Tensor;
    use svod_dtype::{Const, DType};

    #[test]
    fn a_value_that_only_moves_is_kept_after_some_steps() {
        let elements: Vec<f32> = (1..31).map(|n| n as f32).collect();
        let mut x = Tensor::from_slice(&elements, &[30]).unwrap();
        let mut since = 0;
        for i in 1..=28usize {
            // A delay line.
            let longer = x.uop().pad(vec![(1.into(), 0.into())], Const::zero(DType::F32)).unwrap();
            x = Tensor::from_uop(longer).narrow(0, 0, 30).unwrap();
            let total: f32 = elements[..30 - i].iter().sum();
            assert_eq!(x.sum(None, false).unwrap().item::<f32>().unwrap(), total);
            since = if x.is_realized() { 0 } else { since + 1 };
            assert!(since <= STEPS);
        }
        assert_eq!(x.to_vec::<f32>().unwrap()[26..], [0.0, 0.0, 1.0, 2.0]);
    }
}
