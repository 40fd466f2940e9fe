//! Walks over a graph with a work list.

use super::intern;
use super::op::Op;
use super::uop::{Thunk, UOp};
use crate::pass::visit;
use crate::size::{Size, Variable};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Position of a node in a [`Graph`].
pub type NodeIndex = u32;

/// A picture of what some roots reach: each node once, operands before users.
///
/// Taken at one moment: a node that another thread forces later keeps its operands here. The order
/// depends on the structure of the graph only.
#[derive(Clone, Debug)]
pub struct Graph {
    nodes: Vec<UOp>,
    sources: Vec<SmallVec<[NodeIndex; 3]>>,
    roots: Vec<NodeIndex>,
}

enum Step {
    Open(UOp),
    /// The operands, which have these ids, are listed.
    Close(UOp, SmallVec<[u64; 3]>),
    /// The node with this id was forced to that leaf.
    Alias(u64, UOp),
}

impl Graph {
    /// The picture below `roots`, cut at forced nodes, in whose place their leaves stand.
    pub fn new(roots: &[UOp]) -> Graph {
        const OPEN: NodeIndex = NodeIndex::MAX;
        let mut graph = Graph { nodes: Vec::new(), sources: Vec::new(), roots: Vec::new() };
        let mut index: FxHashMap<u64, NodeIndex> = FxHashMap::default();
        let mut work: Vec<Step> = roots.iter().rev().cloned().map(Step::Open).collect();
        while let Some(step) = work.pop() {
            visit(1);
            match step {
                Step::Open(node) => {
                    if index.contains_key(&node.id()) {
                        continue;
                    }
                    index.insert(node.id(), OPEN);
                    match node.state() {
                        Thunk::Forced(leaf) => {
                            work.extend([Step::Alias(node.id(), leaf.clone()), Step::Open(leaf)]);
                        }
                        Thunk::Expr(sources) => {
                            work.push(Step::Close(node, sources.iter().map(UOp::id).collect()));
                            let fresh = sources.into_iter().rev().filter(|s| !index.contains_key(&s.id()));
                            work.extend(fresh.map(Step::Open));
                        }
                    }
                }
                Step::Close(node, sources) => {
                    index.insert(node.id(), graph.nodes.len() as NodeIndex);
                    graph.sources.push(sources.iter().map(|s| index[s]).collect());
                    graph.nodes.push(node);
                }
                Step::Alias(id, leaf) => {
                    index.insert(id, index[&leaf.id()]);
                }
            }
        }
        graph.roots = roots.iter().map(|r| index[&r.id()]).collect();
        graph
    }

    /// The same picture with these of its nodes as roots.
    pub fn with_roots(self, roots: Vec<NodeIndex>) -> Graph {
        Graph { roots, ..self }
    }

    /// The nodes, operands before users.
    pub fn nodes(&self) -> &[UOp] {
        &self.nodes
    }

    /// The operands of node `i`.
    pub fn sources(&self, i: NodeIndex) -> &[NodeIndex] {
        visit(1);
        &self.sources[i as usize]
    }

    /// Where the roots are, in the order given.
    pub fn roots(&self) -> &[NodeIndex] {
        &self.roots
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Each node with its operands.
    pub fn iter(&self) -> impl Iterator<Item = (&UOp, &[NodeIndex])> {
        visit(self.len());
        self.nodes.iter().zip(self.sources.iter().map(|s| s.as_slice()))
    }

    /// The users of each node, ascending; one that reads it twice is listed twice.
    pub fn users(&self) -> Vec<Vec<NodeIndex>> {
        visit(self.len());
        let mut users = vec![Vec::new(); self.len()];
        for (i, sources) in self.sources.iter().enumerate() {
            for &s in sources {
                users[s as usize].push(i as NodeIndex);
            }
        }
        users
    }
}

impl Graph {
    /// The variables that it mentions: each is in some extent, or in an operation that stands for it. Bodies
    /// of loops have their own.
    pub fn variables(&self) -> BTreeSet<Variable> {
        let symbolic = |size: &&Size| size.as_const().is_none();
        let mut found = BTreeSet::new();
        let mut add = |size: &Size| found.extend(size.variables());
        for node in &self.nodes {
            node.shape().iter().filter(symbolic).for_each(&mut add);
            match node.op() {
                Op::Size(size) | Op::Window(_, size, ..) => add(size),
                Op::Pad(pairs, _) | Op::Shrink(pairs) => {
                    pairs.iter().flat_map(|(a, b)| [a, b]).filter(symbolic).for_each(&mut add);
                }
                Op::Bind(bound) | Op::Let(bound) => add(&bound.variable().into()),
                _ => {}
            }
        }
        found
    }
}

/// Every node that the roots reach, each once, operands before users.
pub fn topo(roots: &[UOp]) -> Vec<UOp> {
    Graph::new(roots).nodes
}

/// Number of nodes that the roots reach.
pub fn count(roots: &[UOp]) -> usize {
    Graph::new(roots).len()
}

/// Number of nodes alive in the process, for tests and diagnostics.
pub fn live_nodes() -> usize {
    intern::len()
}
