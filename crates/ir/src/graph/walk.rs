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

/// Positions of nodes by their ids: a list of a few, such as nearly all graphs that a program reads have, else a map.
#[derive(Default)]
struct Positions {
    /// The latest last.
    few: SmallVec<[(u64, NodeIndex); Positions::FEW]>,
    /// All of them, where they are more.
    many: FxHashMap<u64, NodeIndex>,
}

impl Positions {
    /// Nodes that are found faster in a list.
    const FEW: usize = 24;

    fn get(&self, id: u64) -> Option<NodeIndex> {
        match self.many.is_empty() {
            true => self.few.iter().rev().find(|(known, _)| *known == id).map(|(_, at)| *at),
            false => self.many.get(&id).copied(),
        }
    }

    /// The position of a node that has one.
    fn at(&self, id: u64) -> NodeIndex {
        self.get(id).expect("the operands of a node are listed before it")
    }

    /// Adds a node that has none.
    fn insert(&mut self, id: u64, at: NodeIndex) {
        if self.many.is_empty() && self.few.len() < Self::FEW {
            return self.few.push((id, at));
        }
        if self.many.is_empty() {
            self.many.extend(self.few.drain(..));
        }
        self.many.insert(id, at);
    }

    /// Gives a node that has one another.
    fn set(&mut self, id: u64, at: NodeIndex) {
        match self.few.iter_mut().rev().find(|(known, _)| *known == id) {
            Some((_, known)) => *known = at,
            None => drop(self.many.insert(id, at)),
        }
    }
}

impl Graph {
    /// The picture below `roots`, cut at forced nodes, in whose place their leaves stand.
    pub fn new(roots: &[UOp]) -> Graph {
        const OPEN: NodeIndex = NodeIndex::MAX;
        let few = Positions::FEW;
        let mut graph = Graph { nodes: Vec::with_capacity(few), sources: Vec::with_capacity(few), roots: Vec::new() };
        let mut index = Positions::default();
        let mut work: SmallVec<[Step; Positions::FEW]> = roots.iter().rev().cloned().map(Step::Open).collect();
        while let Some(step) = work.pop() {
            visit(1);
            match step {
                Step::Open(node) => {
                    if index.get(node.id()).is_some() {
                        continue;
                    }
                    index.insert(node.id(), OPEN);
                    match node.state() {
                        Thunk::Forced(leaf) => {
                            work.extend([Step::Alias(node.id(), leaf.clone()), Step::Open(leaf)]);
                        }
                        Thunk::Expr(sources) => {
                            work.push(Step::Close(node, sources.iter().map(UOp::id).collect()));
                            let fresh = sources.into_iter().rev().filter(|s| index.get(s.id()).is_none());
                            work.extend(fresh.map(Step::Open));
                        }
                    }
                }
                Step::Close(node, sources) => {
                    index.set(node.id(), graph.nodes.len() as NodeIndex);
                    graph.sources.push(sources.iter().map(|s| index.at(*s)).collect());
                    graph.nodes.push(node);
                }
                Step::Alias(id, leaf) => {
                    index.set(id, index.at(leaf.id()));
                }
            }
        }
        graph.roots = roots.iter().map(|r| index.at(r.id())).collect();
        graph
    }

    /// A picture of these nodes with their operands, operands before users.
    pub(super) fn of_parts(nodes: Vec<UOp>, sources: Vec<SmallVec<[NodeIndex; 3]>>, roots: Vec<NodeIndex>) -> Graph {
        Graph { nodes, sources, roots }
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

/// The operations of at least which a chain is long, to [`holding`].
pub const CHAIN: u32 = intern::CHAIN;

/// The live nodes without a value that the value of a variable is below, by whatever operations, or that end a long chain: what
/// cannot be found from the values at hand, and may hold memory that is to be written.
pub fn holding() -> Vec<UOp> {
    intern::holding()
}

/// All live nodes without a value, and the leaves.
pub fn live() -> Vec<UOp> {
    intern::live()
}
