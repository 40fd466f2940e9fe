//! What a read computes its values from; see [`svod_runtime::Sources`].

use svod_ir::graph::{Graph, Leaf, Op, UOp};
use svod_runtime::{Memory, Sources, sources_of};

use crate::error::{Result, TensorError, show_typed};
use crate::tensor::Tensor;

/// The sources of each root of a graph, from the leaves that it reads.
pub(crate) fn of_roots(graph: &Graph) -> Vec<Sources> {
    let leaves: Vec<&Leaf> = graph.nodes().iter().filter_map(|node| node.op().leaf()).collect();
    if let [_] = graph.roots() {
        return vec![sources_of(leaves.into_iter())];
    }
    // For each node a set of the leaves below it: a bit for each.
    let words = leaves.len().div_ceil(64);
    let mut below = vec![0u64; graph.len() * words];
    let mut next = 0;
    for (at, (node, sources)) in graph.iter().enumerate() {
        let (before, own) = below.split_at_mut(at * words);
        if let Op::Leaf(_) = node.op() {
            own[next / 64] |= 1 << (next % 64);
            next += 1;
        }
        for source in sources {
            let from = *source as usize * words;
            own.iter_mut().zip(&before[from..from + words]).for_each(|(to, from)| *to |= from);
        }
    }
    let of = |root: usize| {
        let bits = &below[root * words..][..words];
        let is_below = |i: &usize| bits[i / 64] >> (i % 64) & 1 == 1;
        sources_of((0..leaves.len()).filter(is_below).map(|i| leaves[i]))
    };
    graph.roots().iter().map(|root| of(*root as usize)).collect()
}

/// Notes what a read computed a value from, in each of its parts.
pub(crate) fn note(value: &UOp, sources: &Sources) -> Result<()> {
    for part in value.parts()? {
        if let Some(memory) = part.op().leaf().and_then(Leaf::downcast::<Memory>) {
            memory.set_sources(sources.clone());
        }
    }
    Ok(())
}

/// Makes values that reads computed constants of their own, as their program has asked for them.
pub(crate) fn forget(tensors: &[&Tensor]) -> Result<()> {
    let none = Sources::from([]);
    tensors.iter().try_for_each(|tensor| note(&tensor.uop(), &none))
}

/// Checks that no value of a graph was computed, by a read, from one of the inputs, which a plan would not follow.
pub(crate) fn check_followed(graph: &Graph, inputs: &[Leaf], position: impl Fn(usize) -> usize) -> Result<()> {
    for node in graph.nodes() {
        let Some(leaf) = node.op().leaf().filter(|leaf| !inputs.contains(leaf)) else { continue };
        let Some(memory) = leaf.downcast::<Memory>() else { continue };
        if let Some(i) = inputs.iter().position(|input| memory.is_made_of(input)) {
            let made = node.origin().map(|line| format!(", made at {line},")).unwrap_or_default();
            let (value, input) = (show_typed(node.dtype(), node.shape()), position(i));
            let message = format!(
                "a value {value}{made} was made of input {input} before, by a read or a copy, so that the plan would not \
                 follow the input: build it anew and prepare it before it is read, or call its realize() to make it a constant"
            );
            return Err(TensorError::value("prepare", message));
        }
    }
    Ok(())
}
