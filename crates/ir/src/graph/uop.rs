//! The handle to a node, and the node as a thunk.

use super::claim::Owner;
use super::error::{GraphError, Reason};
use super::leaf::{Device, LeafClass};
use super::op::{Op, Shape};
use super::origin::Origin;
use super::sharding::{Place, Sharding};
use super::{intern, relay};
use crate::size::Size;
use parking_lot::{Condvar, Mutex};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, OnceLock};
use std::{fmt, mem};
use svod_dtype::DType;

/// The operands of a node.
pub type Sources = SmallVec<[UOp; 3]>;

/// A handle to a hash-consed node. Cloning and comparing are cheap: equality is identity.
///
/// A node is a thunk. It holds its sources until it is forced ([`UOp::claim`]) to a leaf that
/// stands for its value; then it drops them and leaves the table of nodes, so that no history is
/// retained. A node built on a forced one is built on its leaf.
#[derive(Clone)]
pub struct UOp(pub(super) Arc<Node>);

/// What a thunk holds.
#[derive(Clone, Debug)]
pub enum Thunk {
    /// The operands of an operation that is not computed yet.
    Expr(Sources),
    /// The leaf that holds the value.
    Forced(UOp),
}

pub(super) struct Node {
    pub id: u64,
    pub hash: u64,
    pub op: Op,
    pub dtype: DType,
    pub shape: Shape,
    pub place: Option<Place>,
    pub trace: u64,
    /// Whether it is, or follows from, what a function of the host computes.
    pub calls: bool,
    /// Whether memory that its owner may write was below it when it was made.
    pub borrows: bool,
    /// Whether a variable that derivatives may be taken by is below it.
    pub watched: bool,
    /// Whether the value of such a variable is below it, by whatever operations.
    pub holds: bool,
    /// Operations one after the other that led to it when it was made.
    pub depth: u32,
    /// Of memory what it was computed by, where that is watched.
    pub history: OnceLock<UOp>,
    pub forced: OnceLock<UOp>,
    pub state: Mutex<State>,
    /// Signalled when a claim ends.
    pub released: Condvar,
    pub origin: OnceLock<Origin>,
    /// Handles that name it, see [`Named`](super::Named).
    pub names: AtomicU32,
    /// Runs that computed it without keeping it.
    pub runs: AtomicU32,
    /// Whether a program asked for it more than once, see [`identity`](super::identity).
    pub again: AtomicBool,
    /// Whether no equal expression is this node.
    pub apart: AtomicBool,
}

pub(super) struct State {
    /// Empty once forced.
    pub sources: Sources,
    /// Who computes it.
    pub claimed: Option<Owner>,
}

impl UOp {
    /// The node of `op` over `sources`, after the table's rules. Forced sources count as their
    /// leaves. Those that are spread over devices are laid out as the operation needs them; of files, copies on
    /// the CPU are read.
    pub fn new(op: Op, sources: &[UOp]) -> Result<UOp, GraphError> {
        UOp::over(op, sources.iter().map(UOp::resolved).collect())
    }

    /// [`UOp::new`] over sources that are resolved.
    pub(super) fn over(op: Op, sources: Sources) -> Result<UOp, GraphError> {
        let sources = relay::read_from_files(&op, sources)?;
        let anew = relay::laid_out_for(&op, &sources)?;
        intern::node(op, anew.unwrap_or(sources))
    }

    /// The operation, also after the node was forced.
    pub fn op(&self) -> &Op {
        &self.0.op
    }

    /// The operands, forced ones replaced by their leaves; none when this node is forced itself.
    pub fn sources(&self) -> Sources {
        let mut sources = self.0.state.lock().sources.clone();
        for s in &mut sources {
            if s.0.forced.get().is_some() {
                *s = s.resolved();
            }
        }
        sources
    }

    /// The live node of another operation over the very operands of this one, whether these are forced meanwhile or not; none
    /// that is forced itself.
    pub fn beside(&self, op: &Op) -> Option<UOp> {
        let sources = self.0.state.lock().sources.clone();
        intern::known(op, &sources)
    }

    /// The first operand, of an operation that has one and is not forced.
    pub fn source(&self) -> Option<UOp> {
        let first = self.0.state.lock().sources.first().cloned();
        first.map(|s| s.resolved())
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }

    /// Extents.
    pub fn shape(&self) -> &[Size] {
        &self.0.shape
    }

    /// Extents, shared.
    pub fn shape_arc(&self) -> &Shape {
        &self.0.shape
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.shape.len()
    }

    /// Where the value is, where that is known: constants, and what follows from them, are
    /// wherever they are needed.
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// The device of a value that is on one.
    pub fn device(&self) -> Option<&Device> {
        if let Some(Place::One(device)) = self.place() { Some(device) } else { None }
    }

    /// The latest of the traces ([`LeafData::trace`]) whose placeholders the value depends on; 0 where there
    /// is none.
    ///
    /// [`LeafData::trace`]: super::LeafData::trace
    pub fn trace(&self) -> u64 {
        self.0.trace
    }

    /// How the value is spread over devices, if it is.
    pub fn sharding(&self) -> Option<&Arc<Sharding>> {
        if let Some(Place::Many(sharding)) = self.place() { Some(sharding) } else { None }
    }

    /// The value where it is one of the parts that were put together to its source.
    pub fn stacked_part(&self) -> Option<UOp> {
        let (Op::Part(_, i), stack) = (self.op(), self.source()?) else { return None };
        if matches!(stack.op(), Op::Multi(_)) { stack.sources().get(*i).cloned() } else { None }
    }

    /// Whether this is memory on the device of a file.
    pub fn is_file(&self) -> bool {
        matches!(self.op(), Op::Leaf(leaf) if leaf.class() == LeafClass::File)
            && self.device().is_some_and(Device::is_file)
    }

    /// Whether this is memory: a leaf that is not awaited, or such leaves that are parts of one value.
    pub fn is_memory(&self) -> bool {
        let is_memory = |op: &Op| matches!(op, Op::Leaf(leaf) if leaf.class() != LeafClass::Awaited);
        match self.op() {
            Op::Multi(_) => self.sources().iter().all(|s| is_memory(s.op())),
            op => is_memory(op),
        }
    }

    /// Whether it is, or follows from, what a function of the host computes.
    pub fn calls(&self) -> bool {
        self.0.calls
    }

    /// Whether it may follow from memory that its owner may write: some was below it when it was made.
    pub fn borrows(&self) -> bool {
        self.0.borrows
    }

    /// A number that no other node ever has; smaller for nodes built earlier.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// The node as a thunk.
    pub fn state(&self) -> Thunk {
        match self.0.forced.get() {
            Some(leaf) => Thunk::Forced(leaf.clone()),
            // Empty if it was forced in between, then the leaf is there.
            None => {
                let sources = self.sources();
                self.0.forced.get().map_or(Thunk::Expr(sources), |leaf| Thunk::Forced(leaf.clone()))
            }
        }
    }

    /// The leaf, when forced, else the node itself.
    pub fn resolved(&self) -> UOp {
        // A forced value is a leaf or a constant, never forced in turn.
        self.0.forced.get().unwrap_or(self).clone()
    }

    /// Whether the node is forced, or memory or a constant, which need no forcing.
    pub fn is_value(&self) -> bool {
        self.0.forced.get().is_some() || matches!(self.op(), Op::Const(_)) || self.is_memory()
    }

    /// The same operation over other operands; the node itself where they are the same.
    pub fn with_sources(&self, sources: &[UOp]) -> Result<UOp, GraphError> {
        if self.0.forced.get().is_some() {
            let reason = Reason::Node("a forced node has no sources to replace");
            return Err(GraphError::new(self.op(), sources, reason));
        }
        let same = self.0.state.lock().sources.as_slice() == sources;
        if same { Ok(self.clone()) } else { UOp::new(self.op().clone(), sources) }
    }
}

impl PartialEq for UOp {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for UOp {}

impl Hash for UOp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.id);
    }
}

impl fmt::Debug for UOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = super::op::ShowShape(&self.0.shape);
        write!(f, "#{}: {}{shape} = {}{}", self.0.id, self.0.dtype.short(), self.op().name(), self.op().data_text())
    }
}

impl Drop for Node {
    /// Takes the graph below apart with a work list: each node whose last handle goes is emptied
    /// before it is dropped in turn.
    fn drop(&mut self) {
        intern::remove(self.hash, self.id);
        let mut work: SmallVec<[UOp; 8]> = SmallVec::new();
        work.extend(mem::take(&mut self.state.get_mut().sources));
        work.extend(self.forced.take());
        work.extend(self.history.take());
        while let Some(handle) = work.pop() {
            if let Some(mut node) = Arc::into_inner(handle.0) {
                work.extend(mem::take(&mut node.state.get_mut().sources));
                work.extend(node.forced.take());
                work.extend(node.history.take());
            }
        }
    }
}
