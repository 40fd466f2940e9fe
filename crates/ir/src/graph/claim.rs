//! Forcing: claim, compute, done. One thread computes a node's value, others wait for it.

use super::error::{GraphError, Reason};
use super::intern;
use super::op::Op;
use super::uop::{Node, State, UOp};
use crate::waiting::{self, Held, Refused, Thread};
use std::mem;
use std::sync::Arc;

/// Who has claimed a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    thread: Thread,
    process: u64,
}

impl Owner {
    fn current() -> Owner {
        Owner { thread: Thread::current(), process: waiting::process() }
    }

    /// Whether it is a thread that a fork has left behind: nobody computes the node here.
    fn is_lost(self) -> bool {
        self.process != waiting::process() && self.thread != Thread::current()
    }
}

impl State {
    /// Whether a thread of this process computes the node.
    fn is_claimed(&self) -> bool {
        self.claimed.is_some_and(|owner| !owner.is_lost())
    }
}

impl Held for Node {
    fn holder(&self) -> Option<Thread> {
        self.state.lock().claimed.map(|owner| owner.thread)
    }

    fn name(&self) -> String {
        format!("a value of {}", self.op.name())
    }
}

/// What came of claiming a node.
#[derive(Debug)]
pub enum Claimed {
    /// It is this thread's to compute.
    Mine(Claim),
    /// It has a value already: this leaf.
    Done(UOp),
    /// This thread has claimed it already, and would wait for itself.
    Held,
    /// The thread that has it waits, by way of others perhaps, for this one: names of what they all wait for.
    Cycle(Vec<String>),
    /// It was asked to stop while it waited.
    Stopped,
}

/// The exclusive right to force a node. Dropped without [`Claim::force`], by an error or a panic,
/// it leaves the node an expression for the next thread to claim.
#[derive(Debug)]
#[must_use = "a claim is released when dropped"]
pub struct Claim {
    node: UOp,
}

impl UOp {
    /// Claims the node, waiting while another thread has it, until `stop` says not to. To hold several, use
    /// [`UOp::claim_all`].
    pub fn claim(&self, stop: &dyn Fn() -> bool) -> Claimed {
        if self.is_value() {
            return Claimed::Done(self.resolved());
        }
        let own = Owner::current();
        let attempt = |patience| {
            let mut state = self.0.state.lock();
            if state.claimed.is_some_and(|owner| owner.thread == own.thread) {
                return Some(Claimed::Held);
            }
            if state.is_claimed() {
                self.0.released.wait_for(&mut state, patience);
            }
            if state.is_claimed() {
                return None;
            }
            Some(match self.0.forced.get() {
                Some(leaf) => Claimed::Done(leaf.clone()),
                None => {
                    state.claimed = Some(own);
                    Claimed::Mine(Claim { node: self.clone() })
                }
            })
        };
        waiting::wait(|| self.0.clone() as Arc<dyn Held>, stop, attempt).unwrap_or_else(|refused| match refused {
            Refused::Cycle(names) => Claimed::Cycle(names),
            Refused::Stopped => Claimed::Stopped,
        })
    }

    /// Claims the node if it has no value and no thread computes it.
    pub fn try_claim(&self) -> Option<Claim> {
        if self.is_value() {
            return None;
        }
        let mut state = self.0.state.lock();
        if state.is_claimed() || self.0.forced.get().is_some() {
            return None;
        }
        state.claimed = Some(Owner::current());
        drop(state);
        Some(Claim { node: self.clone() })
    }

    /// Claims several nodes, each once, in an order that cannot deadlock with another thread's
    /// `claim_all`. Gives each distinct node with its outcome, in order of id, up to the first that cannot be had.
    pub fn claim_all(nodes: &[UOp], stop: &dyn Fn() -> bool) -> Vec<(UOp, Claimed)> {
        let mut nodes = nodes.to_vec();
        nodes.sort_by_key(UOp::id);
        nodes.dedup();
        let mut claimed = Vec::with_capacity(nodes.len());
        for node in nodes {
            let one = node.claim(stop);
            let over = matches!(one, Claimed::Held | Claimed::Cycle(_) | Claimed::Stopped);
            claimed.push((node, one));
            if over {
                break;
            }
        }
        claimed
    }

    /// Claims the node and forces it to `leaf`, unless it has a value already. Gives its value.
    pub fn force(&self, leaf: UOp) -> Result<UOp, GraphError> {
        match self.claim(&|| false) {
            Claimed::Done(value) => Ok(value),
            Claimed::Mine(claim) => claim.force(leaf).map(|()| self.resolved()),
            Claimed::Held | Claimed::Cycle(_) | Claimed::Stopped => {
                Err(GraphError::new(self.op(), &[], Reason::Node("forced while this thread computes it")))
            }
        }
    }
}

impl Claim {
    /// The claimed node.
    pub fn node(&self) -> &UOp {
        &self.node
    }

    /// Makes `value`, memory or a constant of the node's type and shape, the node's value: the
    /// node drops its sources and leaves the table. What is watched remembers how it was computed ([`UOp::history`]).
    pub fn force(self, value: UOp) -> Result<(), GraphError> {
        let node = &self.node.0;
        let value = value.resolved();
        if !value.is_memory() && !matches!(value.op(), Op::Const(_)) {
            let reason = Reason::Node("forced to something that is neither memory nor constant");
            return Err(GraphError::new(&node.op, &[value], reason));
        }
        if value.dtype() != node.dtype || value.shape() != &*node.shape {
            let reason = Reason::Node("forced to a value of another type or shape");
            return Err(GraphError::new(&node.op, &[self.node.clone(), value], reason));
        }
        let value = if node.watched { value.remembering(&self.node)? } else { value };
        value.named_as(&self.node);
        let sources = {
            let mut state = node.state.lock();
            node.forced.set(value).expect("only the holder of the claim forces, and once");
            mem::take(&mut state.sources)
        };
        intern::remove(node.hash, node.id);
        drop(sources);
        Ok(())
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.node.0.state.lock().claimed = None;
        self.node.0.released.notify_all();
    }
}
