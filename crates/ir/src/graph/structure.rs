//! The structure of a graph as bytes: all that a read of it decides by, so that the next read like it decides nothing.
//!
//! It is what a [key](super::key) is made of and, for each operation, whether a handle names it, how many runs
//! computed it and, once there were any, whether something else is made of it: by these a read chooses what it keeps. It is
//! for caches of this process, which compare it whole.

use super::key::{Bytes, Functions, Storages, hash_node};
use super::leaf::LeafClass;
use super::op::Op;
use super::sharding::Place;
use super::uop::UOp;
use super::walk::Graph;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// Nodes of a graph that has a structure at most: some megabyte of bytes.
const MOST_NODES: usize = 1 << 14;

/// See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structure {
    digest: u64,
    bytes: Box<[u8]>,
    looks_up: bool,
}

impl Structure {
    /// The structure of a graph, in one walk. None of a large one, nor where its steps follow from more than structure:
    /// of symbolic sizes, values on several devices, loops, functions of the host, and what is to be given or awaited.
    pub fn of(graph: &Graph) -> Option<Structure> {
        if graph.len() > MOST_NODES {
            return None;
        }
        let mut bytes = Bytes::with_capacity(graph.len() * 64);
        let (mut storages, mut functions) = (Storages::default(), Functions::default());
        let mut looks_up = false;
        let elsewhere =
            if graph.nodes().iter().any(|node| node.runs() > 0) { graph.read_elsewhere() } else { Vec::new() };
        for (at, (node, sources)) in graph.iter().enumerate() {
            if !is_plain(node) {
                return None;
            }
            if let Op::Leaf(leaf) = node.op() {
                storages.hash_leaf(node, leaf, &mut bytes);
                leaf.shape().hash(&mut bytes);
                continue;
            }
            looks_up |= matches!(node.op(), Op::Take(_) | Op::Gather(_) | Op::Scatter(..));
            (node.is_named(), node.runs(), elsewhere.get(at)).hash(&mut bytes);
            hash_node(node.op(), sources, &Vec::new, &mut functions, &mut bytes);
        }
        graph.roots().hash(&mut bytes);
        let bytes = bytes.into_bytes().into_boxed_slice();
        let mut hasher = FxHasher::default();
        hasher.write(&bytes);
        Some(Structure { digest: hasher.finish(), bytes, looks_up })
    }

    /// A number that is the same for equal structures.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Whether indices are looked up, which may be outside of their dimension.
    pub fn looks_up(&self) -> bool {
        self.looks_up
    }
}

/// Whether everything about a node that a plan depends on is in its operation, its operands and its leaf's memory.
fn is_plain(node: &UOp) -> bool {
    let of_numbers = node.shape().iter().all(|n| n.as_const().is_some());
    let on_one = !matches!(node.place(), Some(Place::Many(_)));
    let own = match node.op() {
        Op::Leaf(leaf) => leaf.class().is_constant() || leaf.class() == LeafClass::Borrowed,
        Op::Loop(..) | Op::Host(..) | Op::Let(_) | Op::Bind(_) | Op::Size(_) => false,
        _ => true,
    };
    of_numbers && on_one && own
}
