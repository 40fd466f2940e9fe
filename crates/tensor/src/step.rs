//! Steps of training: tensors get new values, all of them or none, and what depends on their old ones is computed with them.
//!
//! An expression over the weights of an earlier step keeps these in memory: the loss, where nobody has read it yet, a sum of
//! losses, an average of weights. If a step left it pending, a program that makes one such value in each step would keep the
//! weights of all of them. So a step computes in its own run, beside what it writes, of the values that a handle names and
//! that are made of memory which it replaces
//!
//! * those that are small, such as losses, what is counted, and the states that a recurrent network goes on from;
//! * those of any size that are made of memory which an earlier step has replaced, such as averages of weights. Gradients and
//!   activations are forgotten before that.
//!
//! Small values that are the end of a long chain are computed as well, whatever they are made of: sums of losses. Where
//! computing these values fails, it is left to whoever asks for them.

use rustc_hash::FxHashSet;
use svod_device::host_memory;
use svod_ir::graph::walk::{CHAIN, NodeIndex, holding, live};
use svod_ir::graph::{Graph, Leaf, Op, UOp};
use svod_runtime::{Memory, PrepareConfig};

use crate::error::{ErrorKind, Result};
use crate::kept::{SHARE, SMALL, bytes, is_open, lasts, passes};
use crate::realize::{realize_beside, viewed};
use crate::sources;
use crate::tensor::Tensor;

/// The values that tensors had before a step.
#[derive(Debug)]
pub struct Before(Vec<(Tensor, UOp)>);

impl Before {
    /// Those that these tensors have now.
    pub fn of(tensors: &[&Tensor]) -> Before {
        Before(tensors.iter().map(|tensor| ((*tensor).clone(), tensor.present())).collect())
    }

    /// Computes the new values, those of `written`, and what depends on the old ones.
    ///
    /// # Errors
    /// Those of the run. The tensors stand for their new values then, until [`Before::restore`].
    pub fn replace(&self, written: &[&Tensor]) -> Result<()> {
        let beside = dependents(&Replaced::of(self.0.iter().map(|(_, node)| node)));
        let run = |beside: &[UOp]| realize_beside(written, beside, PrepareConfig::of_reads);
        match run(&beside) {
            Err(error) if !beside.is_empty() && error.kind() != ErrorKind::Interrupted => run(&[])?,
            done => done?,
        }
        note_replaced(self.memory());
        sources::forget(written)
    }

    /// Makes the tensors stand for their old values.
    pub fn restore(&self) {
        self.0.iter().for_each(|(tensor, node)| tensor.rebind(node.clone()));
    }

    fn memory(&self) -> impl Iterator<Item = Leaf> {
        self.0.iter().flat_map(|(_, node)| leaves(node))
    }
}

/// Computes what depends on the values of tensors that a run is to write, where something beside their handles holds these,
/// so that it can write them where they lie.
pub(crate) fn let_go<'a>(tensors: impl Iterator<Item = &'a Tensor>) {
    let held: Vec<UOp> = tensors.map(Tensor::present).filter(|node| node.is_memory() && node.held_beside()).collect();
    if held.is_empty() {
        return;
    }
    let beside = dependents(&Replaced::of(held.iter()));
    // Whoever asks for one that cannot be computed learns why.
    let _ = realize_beside(&[], &beside, PrepareConfig::of_reads);
}

/// Gives parameters that were written by hand, and whose new values a read could not compute, the values before.
pub(crate) fn undo_failed(tensors: &[&Tensor]) {
    for tensor in tensors.iter().filter(|tensor| tensor.is_unsettled()) {
        // Of several it may be another one that failed.
        if tensors.len() == 1 || realize_beside(&[tensor], &[], PrepareConfig::of_reads).is_err() {
            tensor.undo_writes();
        }
    }
}

/// Notes that the tensors which this memory was stand for other values now.
pub(crate) fn note_replaced(leaves: impl Iterator<Item = Leaf>) {
    leaves.for_each(|leaf| leaf.downcast::<Memory>().into_iter().for_each(Memory::set_replaced));
}

/// The memory that a node is, in its parts.
pub(crate) fn leaves(node: &UOp) -> Vec<Leaf> {
    node.parts().map_or_else(|_| Vec::new(), |parts| parts.iter().filter_map(viewed).collect())
}

/// What is being replaced: memory, and values that are to be computed.
struct Replaced {
    memory: FxHashSet<*const ()>,
    pending: FxHashSet<u64>,
    /// Whether some are values of variables.
    is_watched: bool,
}

impl Replaced {
    fn of<'a>(values: impl Iterator<Item = &'a UOp>) -> Replaced {
        let mut found = Replaced { memory: FxHashSet::default(), pending: FxHashSet::default(), is_watched: false };
        for value in values {
            found.is_watched |= value.is_watched();
            let leaves = leaves(value);
            if leaves.is_empty() {
                // What is made of the value of a variable may be made of what that has.
                let below = value.source().filter(|_| value.op().is_mark());
                found.pending.extend(below.iter().chain([value]).map(UOp::id));
            }
            found.memory.extend(leaves.iter().map(place));
        }
        found
    }

    fn has(&self, node: &UOp) -> bool {
        self.pending.contains(&node.id()) || node.op().leaf().is_some_and(|leaf| self.memory.contains(&place(leaf)))
    }
}

fn place(leaf: &Leaf) -> *const () {
    std::sync::Arc::as_ptr(leaf.data()).cast()
}

/// What is known of a node.
#[derive(Clone, Copy, Default)]
struct Fact {
    /// Whether every run finds the same value.
    lasting: bool,
    /// Whether something that is being replaced is below it.
    replaced_now: bool,
    /// Whether memory that was replaced before is.
    replaced_before: bool,
    /// Operations one after the other.
    chain: u32,
}

/// The pending values that a step which replaces this memory computes.
fn dependents(replaced: &Replaced) -> Vec<UOp> {
    let most = (host_memory() / SHARE) as f64;
    // What is made of parameters that require no gradient is not told from other values.
    let graph = Graph::new(&if replaced.is_watched { holding() } else { live() });
    let named = named(&graph);
    let mut facts: Vec<Fact> = Vec::with_capacity(graph.len());
    let mut found = Vec::new();
    for ((node, sources), is_named) in graph.iter().zip(named) {
        let below = || sources.iter().map(|s| facts[*s as usize]);
        let memory = node.op().leaf().and_then(Leaf::downcast::<Memory>);
        let fact = Fact {
            lasting: !is_open(node) && lasts(node, below().map(|fact| fact.lasting)),
            replaced_now: replaced.has(node) || below().any(|fact| fact.replaced_now),
            replaced_before: memory.is_some_and(Memory::is_replaced) || below().any(|fact| fact.replaced_before),
            chain: below().map(|fact| fact.chain + 1).max().unwrap_or(0),
        };
        facts.push(fact);
        let is_asked_for = fact.lasting && is_named && node.trace() == 0 && !passes(node) && !node.is_value();
        let is_small = bytes(node) <= SMALL && (fact.replaced_now || fact.chain >= CHAIN);
        let is_late = bytes(node) <= most && fact.replaced_before;
        if is_asked_for && (is_small || is_late) && !matches!(node.op(), Op::Leaf(_)) {
            found.push(node.clone());
        }
    }
    found
}

/// Which nodes handles name: themselves, or a movement or mark of them, which has its elements where they have them.
fn named(graph: &Graph) -> Vec<bool> {
    let mut named: Vec<bool> = graph.nodes().iter().map(UOp::is_named).collect();
    for (at, node) in graph.nodes().iter().enumerate().rev() {
        if named[at] && passes(node) {
            // Of a mark, only the first operand is computed.
            let read = if node.op().is_mark() { 1 } else { usize::MAX };
            graph.sources(at as NodeIndex).iter().take(read).for_each(|source| named[*source as usize] = true);
        }
    }
    named
}
