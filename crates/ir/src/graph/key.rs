//! The cache key of a graph: its structure, with identities and bound values left out.
//!
//! Leaves are numbered by first visit, and so are their storages. Kept are: operations with their
//! data, sizes, types, devices, names and bounds of variables, and of each leaf the class, how far
//! it is aligned, and who shares a storage with whom, at which distance. Left out are node ids,
//! storage ids, versions, the values of binds, which variables are watched, and which functions of the host are called: these are
//! numbered by first visit too.

use super::host::HostCall;
use super::leaf::{Leaf, LeafClass};
use super::op::Op;
use super::uop::UOp;
use super::walk::{Graph, NodeIndex};
use crate::size::{BoundVariable, Variable};
use rustc_hash::FxHashMap;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Alignment beyond this many bytes is all the same to kernels.
const MAX_ALIGNMENT: u64 = 64;

/// The key and what it left out, by position.
#[derive(Clone, Debug, Default)]
pub struct GraphKey {
    /// A hash of the structure. It is the same in another process of the same build.
    pub hash: [u8; 32],
    /// The leaves in the order of the first visit.
    pub leaves: Vec<Leaf>,
    /// The variables that have a value, each once, in the order of the first visit.
    pub bindings: Vec<BoundVariable>,
    /// All variables, those of its loops' bodies included, in ascending order.
    pub variables: Vec<Variable>,
    /// Those with a value, whose value the memory of a leaf has fixed.
    pub fixed: Vec<BoundVariable>,
    /// The functions of the host that it calls, those in bodies of loops included, each once, in the order
    /// of the first visit.
    pub functions: Vec<HostCall>,
}

/// Two values, or two ranges, of one name in one graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindMismatch {
    /// A variable with two values.
    #[error("bind mismatch: {0} and {1} in one graph")]
    Values(BoundVariable, BoundVariable),
    /// Two variables of one name.
    #[error("bind mismatch: {} and {} in one graph", Ranged(_0), Ranged(_1))]
    Ranges(Variable, Variable),
}

/// A variable with its bounds.
struct Ranged<'a>(&'a Variable);

impl fmt::Display for Ranged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in [{}, {}]", self.0, Variable::min(self.0), Variable::max(self.0))
    }
}

impl GraphKey {
    /// The key of a graph, in one walk.
    ///
    /// # Errors
    /// [`BindMismatch`] where a variable is bound to two values, or two variables have one name.
    pub fn new(graph: &Graph) -> Result<GraphKey, BindMismatch> {
        let mut bytes = Bytes::with_capacity(graph.len() * 32);
        let mut key = GraphKey::default();
        let mut storages = Storages::default();
        let mut functions = Functions::default();
        for (node, sources) in graph.iter() {
            match node.op() {
                Op::Leaf(leaf) => {
                    storages.hash_leaf(node, leaf, &mut bytes);
                    leaf.shape().hash(&mut bytes);
                    key.leaves.push(leaf.clone());
                    for bound in leaf.bindings() {
                        key.bind(&bound)?;
                        if !matches!(leaf.class(), LeafClass::Input(_)) && !key.fixed.contains(&bound) {
                            key.fixed.push(bound);
                        }
                    }
                }
                Op::Let(bound) | Op::Bind(bound) => key.bind(bound)?,
                Op::Loop(body, _) => {
                    body.key().bindings.iter().try_for_each(|bound| key.bind(bound))?;
                    key.variables.extend(body.key().variables.iter().filter(|var| *var != body.var()).cloned());
                }
                Op::Host(function, ..) => key.variables.extend(function.function().variables()),
                _ => {}
            }
            if !matches!(node.op(), Op::Leaf(_)) {
                let below = || sources.iter().map(|s| graph.nodes()[*s as usize].clone()).collect();
                hash_node(node.op(), sources, &below, &mut functions, &mut bytes);
            }
        }
        graph.roots().hash(&mut bytes);
        key.variables.extend(graph.variables());
        key.variables.sort();
        key.variables.dedup();
        // They are sorted by name first.
        if let Some(pair) = key.variables.windows(2).find(|pair| pair[0].name() == pair[1].name()) {
            return Err(BindMismatch::Ranges(pair[0].clone(), pair[1].clone()));
        }
        key.functions = functions.all;
        key.hash = bytes.digest();
        Ok(key)
    }

    fn bind(&mut self, bound: &BoundVariable) -> Result<(), BindMismatch> {
        match self.bindings.iter().find(|b| b.variable().name() == bound.variable().name()) {
            None => self.bindings.push(bound.clone()),
            Some(known) if known == bound => {}
            Some(known) if known.variable() != bound.variable() => {
                return Err(BindMismatch::Ranges(known.variable().clone(), bound.variable().clone()));
            }
            Some(known) => return Err(BindMismatch::Values(known.clone(), bound.clone())),
        }
        Ok(())
    }
}

/// The power of two that the leaf's first byte is a multiple of, as far as it matters.
fn alignment(leaf: &Leaf) -> u64 {
    let of_offset = 1 << leaf.offset().trailing_zeros().min(MAX_ALIGNMENT.trailing_zeros());
    leaf.data().alignment().min(of_offset)
}

/// Writes an operation that is no leaf and its operands, which are known by numbers. `below` gives the operands.
pub(super) fn hash_node(
    op: &Op,
    operands: &[NodeIndex],
    below: &dyn Fn() -> Vec<UOp>,
    functions: &mut Functions,
    bytes: &mut Bytes,
) {
    match op {
        Op::Let(bound) => ("let", bound.variable(), operands).hash(bytes),
        Op::Bind(bound) => ("bind", bound.variable()).hash(bytes),
        Op::Loop(body, output) => {
            ("loop", body.pattern(), output, operands).hash(bytes);
            for function in &body.key().functions {
                functions.number(function).hash(bytes);
            }
        }
        Op::Host(function, count, output) => {
            ("host", functions.number(function), count, output, operands).hash(bytes);
            // Of all results, also those that nobody wants: they are written.
            function.outputs(&below()).unwrap_or_default().hash(bytes);
        }
        Op::Watch(_) => ("watch", operands).hash(bytes),
        Op::Derived(_, count) => ("derived", count, operands).hash(bytes),
        op => (op, operands).hash(bytes),
    }
}

/// Storages by the order in which they were met, and where in each its first leaf begins.
#[derive(Default)]
pub(super) struct Storages(FxHashMap<u64, (usize, u64)>);

impl Storages {
    /// Writes what a leaf is, but for its extents.
    pub(super) fn hash_leaf(&mut self, node: &UOp, leaf: &Leaf, bytes: &mut Bytes) {
        let fresh = self.0.len();
        let (storage, base) = *self.0.entry(leaf.storage()).or_insert((fresh, leaf.offset()));
        let distance = leaf.offset().wrapping_sub(base);
        ("leaf", leaf.class(), storage, distance, alignment(leaf)).hash(bytes);
        (leaf.dtype(), node.place()).hash(bytes);
    }
}

/// Functions by the order in which they were met.
#[derive(Default)]
pub(super) struct Functions {
    all: Vec<HostCall>,
    known: FxHashMap<HostCall, usize>,
}

impl Functions {
    fn number(&mut self, function: &HostCall) -> usize {
        *self.known.entry(function.clone()).or_insert_with(|| {
            self.all.push(function.clone());
            self.all.len() - 1
        })
    }
}

/// Collects what is hashed, to be digested at once.
pub(super) struct Bytes(Vec<u8>);

impl Bytes {
    pub(super) fn with_capacity(bytes: usize) -> Bytes {
        Bytes(Vec::with_capacity(bytes))
    }

    pub(super) fn digest(&self) -> [u8; 32] {
        *blake3::hash(&self.0).as_bytes()
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}
