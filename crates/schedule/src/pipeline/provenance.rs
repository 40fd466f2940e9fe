//! Which nodes of the user's graph a kernel computes, through all that rewriting did to them.

use crate::fusion::fuse::Fate;
use crate::graph::rewritten::Rewritten;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, Op};

/// For each node of a graph that is scheduled, the nodes of the user's graph that it stands for.
pub(crate) struct Provenance {
    from: Vec<Vec<NodeIndex>>,
    /// Of each node of the user's graph, whether it is what a kernel is for, rather than what is done on the way.
    main: Vec<bool>,
}

impl Provenance {
    /// The provenance of the rewritten graph's nodes, or, where there is none, of the graph's own. A node
    /// that only rewriting made stands for what its first user stands for.
    pub fn new(graph: &Graph, rewritten: Option<&Rewritten>) -> Provenance {
        let main = graph.nodes().iter().map(|node| is_main(node.op())).collect();
        // Of an output there is a kernel, whatever it depends on.
        let mut constant = constants(graph);
        graph.roots().iter().for_each(|root| constant[*root as usize] = false);
        let counts = |i: &NodeIndex| !constant[*i as usize];
        let Some(Rewritten { graph: new, became, .. }) = rewritten else {
            let own = |i: NodeIndex| Some(i).filter(counts).into_iter().collect();
            return Provenance { from: (0..graph.len() as NodeIndex).map(own).collect(), main };
        };
        let at: FxHashMap<u64, usize> = new.nodes().iter().enumerate().map(|(i, n)| (n.id(), i)).collect();
        let mut from: Vec<Vec<NodeIndex>> = vec![Vec::new(); new.len()];
        for i in (0..graph.len() as NodeIndex).filter(counts) {
            let start = graph.nodes()[i as usize].id();
            let mut ends: SmallVec<[u64; 2]> = smallvec![start];
            for step in became {
                ends = ends.iter().flat_map(|id| step.of(*id)).collect();
            }
            let mut to: SmallVec<[usize; 2]> = ends.iter().filter_map(|id| at.get(id)).copied().collect();
            if to.is_empty() {
                // A root that turned out to be memory stayed as it was.
                to.extend(at.get(&start).copied());
            }
            to.iter().for_each(|to| from[*to].push(i));
        }
        let constant = constants(new);
        let made: Vec<bool> = (0..new.len()).map(|i| from[i].is_empty() && !constant[i]).collect();
        for user in (0..new.len()).rev() {
            for &operand in new.sources(user as NodeIndex) {
                // Of several users the first comes last.
                if made[operand as usize] {
                    from[operand as usize] = from[user].clone();
                }
            }
        }
        Provenance { from, main }
    }

    /// The user's nodes that the kernel of some realized nodes computes: first the one that it is for, then all
    /// others in their order.
    pub fn of_kernel(&self, graph: &Graph, fates: &[Fate], outputs: &[NodeIndex]) -> Vec<NodeIndex> {
        let mut seen = FxHashSet::default();
        let mut work = outputs.to_vec();
        let mut found = Vec::new();
        while let Some(at) = work.pop() {
            if matches!(graph.nodes()[at as usize].op(), Op::Leaf(_) | Op::Const(_)) || !seen.insert(at) {
                continue;
            }
            found.extend(&self.from[at as usize]);
            let inside = |s: &&NodeIndex| !matches!(fates[**s as usize], Fate::Realize | Fate::Alias);
            work.extend(graph.sources(at).iter().filter(inside));
        }
        found.sort_unstable();
        found.dedup();
        let main = found.iter().rposition(|i| self.main[*i as usize]).or(found.len().checked_sub(1));
        if let Some(main) = main {
            found[..=main].rotate_right(1);
        }
        found
    }
}

/// Whether an operation is more than arithmetic on elements, or moving them.
fn is_main(op: &Op) -> bool {
    let marks = op.is_mark() || matches!(op, Op::Contiguous | Op::Copy(_));
    !(op.is_elementwise() || op.is_movement() || marks || matches!(op, Op::Const(_) | Op::Leaf(_) | Op::Size(_)))
}

/// Whether each node depends on no memory: such a node is shared by whatever mentions its value.
fn constants(graph: &Graph) -> Vec<bool> {
    let mut constant: Vec<bool> = Vec::with_capacity(graph.len());
    for (node, sources) in graph.iter() {
        let alone = match node.op() {
            Op::Leaf(_) | Op::Range(_) | Op::Rand(_) => false,
            _ => sources.iter().all(|s| constant[*s as usize]),
        };
        constant.push(alone);
    }
    constant
}
