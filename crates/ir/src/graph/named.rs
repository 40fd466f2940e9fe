//! What is known of a node's future use: how many handles name it, how often it was computed without being kept, and whether
//! other expressions are made of it.
//!
//! A read computes values on its way. Which of them are worth memory is decided by what names them, by whether they
//! were computed before, and by what else is made of them; the first two are counted in the node, and the last one follows from
//! how many handles to it there are, so that nothing has to be registered or searched.

use super::op::Op;
use super::uop::UOp;
use super::walk::Graph;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A handle to a node that a program may ask for again: the node counts those that there are.
#[derive(Debug)]
pub struct Named(UOp);

impl Named {
    /// Names a node.
    pub fn new(node: UOp) -> Named {
        node.0.names.fetch_add(1, Ordering::Relaxed);
        Named(node)
    }
}

impl Deref for Named {
    type Target = UOp;

    fn deref(&self) -> &UOp {
        &self.0
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        self.0.0.names.fetch_sub(1, Ordering::Relaxed);
    }
}

impl UOp {
    /// Whether a handle names the node ([`Named`]).
    pub fn is_named(&self) -> bool {
        self.0.names.load(Ordering::Relaxed) > 0
    }

    /// How many handles name the node.
    pub fn names(&self) -> u32 {
        self.0.names.load(Ordering::Relaxed)
    }

    /// Whether this is the only handle to the node: neither a tensor nor another node has one.
    pub fn is_sole(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// How many leaves name this memory, itself and the one below the variable that it is, where this is the only handle to them.
    pub fn sole_leaves(&self) -> Option<usize> {
        let Some(history) = self.0.history.get() else { return self.is_sole().then_some(1) };
        let below = history.0.state.lock();
        let is_leaf = |node: &UOp| node.is_sole() && node.0.history.get().is_none() && matches!(node.op(), Op::Leaf(_));
        let sole = self.is_sole() && history.is_sole() && below.sources.iter().all(is_leaf);
        (sole && matches!(history.op(), Op::Watch(_))).then_some(1 + below.sources.len())
    }

    /// Whether anything beside the one handle that names this memory holds it, or the leaf below the variable that it is.
    pub fn held_beside(&self) -> bool {
        self.names() != 1 || {
            // The handle's own, and the caller's.
            let Some(history) = self.0.history.get() else { return Arc::strong_count(&self.0) > 2 };
            let below = history.0.state.lock();
            Arc::strong_count(&self.0) > 2 || !history.is_sole() || !below.sources.iter().all(UOp::is_sole)
        }
    }

    /// How many runs computed the node, all of it or in part, on their way to something else.
    pub fn runs(&self) -> u32 {
        self.0.runs.load(Ordering::Relaxed)
    }

    /// Notes that a run computed the node on its way to something else.
    pub fn note_run(&self) {
        self.0.runs.fetch_add(1, Ordering::Relaxed);
    }
}

impl Graph {
    /// For each node whether something that is not in the graph is made of it, and may be asked for; of roots whatever it is,
    /// since who asks for them has them.
    pub fn read_elsewhere(&self) -> Vec<bool> {
        // The graph's own handle to each, and those of its operations.
        let mut known = vec![1; self.len()];
        self.iter().for_each(|(_, sources)| sources.iter().for_each(|source| known[*source as usize] += 1));
        let beyond = |(node, known): (&UOp, usize)| Arc::strong_count(&node.0) > known + node.names() as usize;
        self.nodes().iter().zip(known).map(beyond).collect()
    }
}
