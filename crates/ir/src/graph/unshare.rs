//! Graphs in which numbers that are equal by accident share nothing.
//!
//! Equal expressions are one node, so which numbers of a program are equal is part of its graph: of `word == letter` for the
//! letters of another word there are as many nodes as different letters. An [outline](super::outline) would be another one for
//! each such pattern. So it is made of a graph that has a copy for each user of what is *small*, a few cheap operations on
//! constants and memory, and that is there with other constants as well. What is there once is shared on
//! purpose, and stays.

use super::op::Op;
use super::walk::{Graph, NodeIndex};
use crate::alu::Alu;
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use svod_dtype::DType;

/// Operations of a small expression at most.
const MOST: usize = 8;

/// A graph with copies of small expressions in the places of those that its nodes share.
pub struct Unshared<'a> {
    graph: Cow<'a, Graph>,
    /// For each node that of the given graph; none where they are the same.
    of: Option<Vec<NodeIndex>>,
}

/// What is known of an expression of constants and memory.
#[derive(Clone, Copy)]
struct Small {
    /// Operations that it takes; constants and what follows from them alone take none.
    count: usize,
    constants: bool,
    memory: bool,
    /// A hash of all but its constants.
    shape: u64,
}

enum Step {
    Open(NodeIndex),
    Close(NodeIndex),
}

impl<'a> Unshared<'a> {
    /// The graph with a copy of each small expression for each node that reads it.
    pub fn new(graph: &'a Graph) -> Unshared<'a> {
        let copied = copied(graph);
        let mut reads = vec![0u32; graph.len()];
        for (_, sources) in graph.iter() {
            distinct(sources).for_each(|s| reads[s as usize] += 1);
        }
        graph.roots().iter().for_each(|root| reads[*root as usize] += 1);
        if !copied.iter().zip(&reads).any(|(copied, reads)| *copied && *reads > 1) {
            return Unshared { graph: Cow::Borrowed(graph), of: None };
        }
        // Operands before users, in the order of a walk over a graph in which they are not shared to begin with.
        let mut known: Vec<Option<NodeIndex>> = vec![None; graph.len()];
        let (mut nodes, mut all, mut of) = (Vec::new(), Vec::new(), Vec::new());
        let mut values: Vec<NodeIndex> = Vec::new();
        let mut work: Vec<Step> = graph.roots().iter().rev().copied().map(Step::Open).collect();
        while let Some(step) = work.pop() {
            match step {
                Step::Open(at) => match known[at as usize].filter(|_| !copied[at as usize]) {
                    Some(value) => values.push(value),
                    None => {
                        work.push(Step::Close(at));
                        let own: SmallVec<[NodeIndex; 3]> = distinct(graph.sources(at)).collect();
                        work.extend(own.into_iter().rev().map(Step::Open));
                    }
                },
                Step::Close(at) => {
                    let own = graph.sources(at);
                    let each: SmallVec<[NodeIndex; 3]> = distinct(own).collect();
                    let made = values.split_off(values.len() - each.len());
                    let value = |source: &NodeIndex| made[each.iter().position(|s| s == source).unwrap_or(0)];
                    let here = nodes.len() as NodeIndex;
                    all.push(own.iter().map(value).collect());
                    nodes.push(graph.nodes()[at as usize].clone());
                    of.push(at);
                    known[at as usize] = Some(here);
                    values.push(here);
                }
            }
        }
        Unshared { graph: Cow::Owned(Graph::of_parts(nodes, all, values)), of: Some(of) }
    }

    /// The graph with copies.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Which node of the given graph a node of this one is.
    pub fn original(&self, at: NodeIndex) -> NodeIndex {
        self.of.as_ref().map_or(at, |of| of[at as usize])
    }
}

/// The operands of a node, each once, in order.
fn distinct(sources: &[NodeIndex]) -> impl Iterator<Item = NodeIndex> + '_ {
    sources.iter().enumerate().filter(|(i, s)| !sources[..*i].contains(s)).map(|(_, s)| *s)
}

/// Whether each node is small, and there with other constants as well.
fn copied(graph: &Graph) -> Vec<bool> {
    let mut found: Vec<Option<Small>> = Vec::with_capacity(graph.len());
    for (at, (node, sources)) in graph.iter().enumerate() {
        let below: Option<SmallVec<[Small; 3]>> = sources.iter().map(|s| found[*s as usize]).collect();
        found.push(below.and_then(|below| small(at, node.op(), node.dtype(), &below)));
    }
    let whole = |small: &&Small| small.constants && small.memory;
    let mut shapes: FxHashMap<u64, u32> = FxHashMap::default();
    found.iter().flatten().filter(whole).for_each(|small| *shapes.entry(small.shape).or_default() += 1);
    found.iter().map(|small| small.as_ref().filter(whole).is_some_and(|small| shapes[&small.shape] > 1)).collect()
}

fn small(at: usize, op: &Op, dtype: DType, below: &[Small]) -> Option<Small> {
    let (own, constants, memory) = match op {
        Op::Const(_) => (0, true, false),
        Op::Leaf(_) => (0, false, true),
        Op::Cast(_) => (1, false, false),
        Op::Alu(alu) if is_cheap(*alu) => (1, false, false),
        op if op.is_movement() => (1, false, false),
        _ => return None,
    };
    let mut hasher = FxHasher::default();
    match op {
        Op::Const(_) => dtype.hash(&mut hasher),
        Op::Leaf(_) => at.hash(&mut hasher),
        op => op.hash(&mut hasher),
    }
    below.iter().for_each(|small| small.shape.hash(&mut hasher));
    let memory = memory || below.iter().any(|small| small.memory);
    let count = if memory { own + below.iter().map(|small| small.count).sum::<usize>() } else { 0 };
    let constants = constants || below.iter().any(|small| small.constants);
    (count <= MOST).then(|| Small { count, constants, memory, shape: hasher.finish() })
}

/// Whether it is as well computed again as kept.
fn is_cheap(alu: Alu) -> bool {
    !alu.is_transcendental() && !matches!(alu, Alu::IDiv | Alu::Rem | Alu::FloorDiv | Alu::FloorMod)
}
