//! Variables that derivatives are taken by, and how values remember what they were computed from.
//!
//! A node is *watched* where a variable is below it through operations on floats. Memory that a watched node is
//! forced to is told from all other memory, and keeps a twin of the node: its history, which goes when the last
//! handle to that memory goes.

use super::error::GraphError;
use super::intern;
use super::op::Op;
use super::uop::{Sources, UOp};
use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use svod_dtype::DType;

/// Who gathers the derivatives by a variable.
pub type Owner = Weak<dyn Any + Send + Sync>;

/// A variable: equal to itself only.
#[derive(Clone)]
pub struct Watch {
    number: u64,
    owner: Option<Owner>,
    stands_in: bool,
}

static NEXT: AtomicU64 = AtomicU64::new(1);

fn fresh() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Watch {
    /// A new variable, whose derivatives are gathered by whoever `owner` is.
    pub fn new(owner: Option<Owner>) -> Watch {
        Watch { number: fresh(), owner, stands_in: false }
    }

    /// A new variable in place of what a function is given while it is traced: nobody gathers its derivatives.
    pub fn stand_in() -> Watch {
        Watch { number: fresh(), owner: None, stands_in: true }
    }

    /// Whether it is in place of what a function is given.
    pub fn stands_in(&self) -> bool {
        self.stands_in
    }

    /// The variable of a number, as text names it.
    pub(super) fn numbered(number: u64) -> Watch {
        Watch { number, owner: None, stands_in: false }
    }

    /// Its number, which no other has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether somebody was to gather its derivatives.
    pub fn is_owned(&self) -> bool {
        self.owner.is_some()
    }

    /// Who gathers its derivatives, as long as that lives.
    pub fn owner(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.owner.as_ref()?.upgrade()
    }
}

impl PartialEq for Watch {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Watch {}

impl Hash for Watch {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.number);
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watch({})", self.number)
    }
}

/// A derivative that a program gives. Whoever takes derivatives gets the rest by downcasting.
pub trait PullbackRule: Any + Send + Sync {
    /// Its name, for listings and errors.
    fn name(&self) -> &str;
}

/// A derivative as part of a node: the same where it is the very same rule.
#[derive(Clone)]
pub struct Pullback(Arc<dyn PullbackRule>);

impl Pullback {
    /// A derivative by a rule.
    pub fn new(rule: Arc<dyn PullbackRule>) -> Pullback {
        Pullback(rule)
    }

    /// The rule.
    pub fn rule(&self) -> &dyn PullbackRule {
        &*self.0
    }

    /// The rule as what it is; `None` where it is something else.
    pub fn downcast<T: PullbackRule>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    fn address(&self) -> usize {
        Arc::as_ptr(&self.0).cast::<()>() as usize
    }
}

impl PartialEq for Pullback {
    fn eq(&self, other: &Self) -> bool {
        self.address() == other.address()
    }
}

impl Eq for Pullback {}

impl Hash for Pullback {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.address());
    }
}

impl fmt::Debug for Pullback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pullback({})", self.0.name())
    }
}

/// Whether the result of an operation follows from a variable by operations on floats.
pub(super) fn is_watched(op: &Op, dtype: DType, sources: &[UOp]) -> bool {
    match op {
        Op::Watch(_) => true,
        Op::Leaf(leaf) => leaf.watch() != 0,
        Op::Detach => false,
        _ => dtype.is_inexact() && sources.iter().any(UOp::is_watched),
    }
}

/// Whether a variable's value is below the result of an operation, by whatever operations.
pub(super) fn holds(op: &Op, sources: &[UOp]) -> bool {
    match op {
        Op::Watch(_) => true,
        Op::Leaf(leaf) => leaf.watch() != 0,
        _ => sources.iter().any(|source| source.0.holds),
    }
}

impl UOp {
    /// Whether it follows from a variable by operations on floats, and remembers that.
    pub fn is_watched(&self) -> bool {
        self.0.watched
    }

    /// What this memory was computed by, where that is watched: a node that is in no table. Of a variable it is its
    /// [`Op::Watch`].
    pub fn history(&self) -> Option<&UOp> {
        self.0.history.get()
    }

    /// The value as this variable. What is in memory already is there under another name.
    pub fn watch(&self, variable: &Watch) -> Result<UOp, GraphError> {
        let marked = UOp::new(Op::Watch(variable.clone()), std::slice::from_ref(self))?;
        let source = self.resolved();
        let has_data = |node: &UOp| node.op().leaf().is_some_and(|leaf| leaf.data().trace() == 0);
        if !has_data(&source) {
            return Ok(marked);
        }
        let value = source.numbered(variable.number())?;
        let _ = value.0.history.set(intern::twin(&marked.0, [source].into_iter().collect()));
        Ok(value)
    }

    /// This memory as what `node` was computed to: with its operation and operands as the history.
    pub(super) fn remembering(&self, node: &UOp) -> Result<UOp, GraphError> {
        if !self.is_memory() {
            return Ok(self.clone());
        }
        let value = self.numbered(fresh())?;
        let mut sources: Sources = node.0.state.lock().sources.clone();
        if matches!(node.op(), Op::Watch(_)) && !sources.iter().any(UOp::is_watched) {
            // Nothing below the variable is remembered: it is a variable over this memory.
            sources = [self.clone()].into_iter().collect();
        }
        let _ = value.0.history.set(intern::twin(&node.0, sources));
        Ok(value)
    }

    /// This memory without what it was computed by.
    pub fn forgetting(&self) -> Result<UOp, GraphError> {
        self.numbered(0)
    }

    /// This memory, told from others by a number.
    fn numbered(&self, number: u64) -> Result<UOp, GraphError> {
        match self.op() {
            Op::Leaf(leaf) => UOp::leaf(leaf.watched(number)),
            Op::Multi(of) => {
                let parts = self.sources().iter().map(|part| part.numbered(number)).collect::<Result<Vec<_>, _>>()?;
                UOp::multi(&parts, of)
            }
            _ => Ok(self.clone()),
        }
    }
}
