//! What tells equal values apart.
//!
//! Equal expressions are one node while it lives, which is what derivatives by a value cannot do with: by the one that a program
//! has named they are not those by its equal. So it is known of a node whether a program asked for it more than once,
//! and a node may be *apart*: no expression that is built later is this node, however equal. A schedule is made of the graph in
//! which all of them are shared.

use super::intern;
use super::uop::UOp;
use std::cell::Cell;
use std::sync::atomic::Ordering;

thread_local! {
    /// The node that this thread's latest expression was found to be; 0 where that is new.
    static FOUND: Cell<u64> = const { Cell::new(0) };
}

/// Notes that an expression was found to be a node that was there.
pub(super) fn note_found(node: &UOp) {
    FOUND.set(node.id());
}

/// Forgets what the expression before was found to be.
pub fn begin() {
    FOUND.set(0);
}

impl UOp {
    /// Whether the node was there when this thread built it, since [`begin`].
    pub fn was_found(&self) -> bool {
        FOUND.get() == self.id()
    }

    /// Whether a program asked for it more than once.
    pub fn is_asked_again(&self) -> bool {
        self.0.again.load(Ordering::Relaxed)
    }

    /// Says whether a program asked for it more than once, and gives what was known before.
    pub fn set_asked_again(&self, again: bool) -> bool {
        self.0.again.swap(again, Ordering::Relaxed)
    }

    /// Takes over whether a program asked more than once for the node that this is the memory of, if nothing names it.
    pub(super) fn named_as(&self, node: &UOp) {
        if node.is_asked_again() && self.is_memory() && !self.is_named() {
            self.set_asked_again(true);
        }
    }

    /// Whether no expression that is built is this node.
    pub fn is_apart(&self) -> bool {
        self.0.apart.load(Ordering::Relaxed)
    }

    /// Keeps the node from being what an equal expression is.
    pub fn set_apart(&self) {
        self.0.apart.store(true, Ordering::Relaxed);
    }

    /// An equal node that is apart from this one; of a node that is forced its memory.
    pub fn apart(&self) -> UOp {
        let sources = self.sources();
        match self.resolved() == *self {
            true => intern::twin(&self.0, sources),
            false => self.resolved(),
        }
    }
}
