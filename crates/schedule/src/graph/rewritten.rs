//! A graph after a pass over it, and what became of its nodes.

use crate::costs::Decision;
use rustc_hash::FxHashMap;
use svod_ir::graph::{Graph, UOp};
use svod_ir::pass::Artifact;

/// A graph after rewriting.
pub(crate) struct Rewritten {
    /// What it became.
    pub graph: Graph,
    /// By rewriting, in turn: what became of each node.
    pub became: Vec<Became>,
    /// What was decided where there was a choice, and why.
    pub decisions: Vec<Decision>,
}

/// What nodes became, by their ids: one node each, or, of a value that is spread over devices, several.
#[derive(Default)]
pub(crate) struct Became {
    nodes: FxHashMap<u64, UOp>,
    further: FxHashMap<u64, Vec<UOp>>,
}

impl Became {
    /// Notes what a node became.
    pub fn add(&mut self, id: u64, to: &[UOp]) {
        if let Some((first, further)) = to.split_first() {
            self.nodes.insert(id, first.clone());
            if !further.is_empty() {
                self.further.insert(id, further.to_vec());
            }
        }
    }

    /// Ids of the nodes that a node became.
    pub fn of(&self, id: u64) -> impl Iterator<Item = u64> {
        self.nodes.get(&id).into_iter().chain(self.further.get(&id).into_iter().flatten()).map(UOp::id)
    }
}

impl From<FxHashMap<u64, UOp>> for Became {
    fn from(nodes: FxHashMap<u64, UOp>) -> Self {
        Became { nodes, further: FxHashMap::default() }
    }
}

impl Rewritten {
    /// Both rewritings in turn, where they changed anything.
    pub fn then(earlier: Option<Rewritten>, next: Option<Rewritten>) -> Option<Rewritten> {
        match (earlier, next) {
            (Some(Rewritten { mut became, mut decisions, .. }), Some(next)) => {
                became.extend(next.became);
                decisions.extend(next.decisions);
                Some(Rewritten { graph: next.graph, became, decisions })
            }
            (earlier, next) => next.or(earlier),
        }
    }
}

impl Artifact for Rewritten {
    fn verify(&self) -> Result<(), String> {
        self.graph.verify()
    }

    fn text(&self) -> Option<String> {
        self.graph.text()
    }
}
