//! Values that a program names are told from equal ones, for derivatives that are taken by one of them.
//!
//! Equal expressions are one node as long as it lives. A value that was there already when a program computes it, and that another
//! handle names, becomes a node of its own, of the same operation and operands: `h, k = w * 2, w * 2` are two values, as they are
//! in PyTorch. Schedules are made of the graph in which both are one (`Pass::Share`), so that neither is computed twice
//! by one run. Where nothing names what was there, such as the `w * 2` of an expression, the two stay one node, which knows that it was
//! asked for again: a derivative by it, if that is a sum, is an error.

use std::cell::Cell;

use svod_ir::graph::identity;
use svod_ir::graph::{Op, UOp};

use crate::tensor::Tensor;

thread_local! {
    /// The node of the latest handle that this thread made, if it was there before, and whether it was asked for again for the
    /// first time then.
    static AGAIN: Cell<(u64, bool)> = const { Cell::new((0, false)) };
}

/// Notes the node of a handle that is made.
pub(crate) fn note(node: &UOp) {
    if node.was_found() {
        AGAIN.set((node.id(), !node.set_asked_again(true)));
        identity::begin();
    } else if AGAIN.get().0 != node.id() {
        forget();
    }
}

/// Forgets what the latest handle was made for: what is made next is something else.
pub(crate) fn forget() {
    AGAIN.set((0, false));
}

impl Tensor {
    /// The value as a program gets it by an operation: told from that of another handle, if it was there before.
    #[must_use]
    pub fn told_apart(self) -> Tensor {
        let (again, is_first) = AGAIN.replace((0, false));
        if again == 0 {
            return self;
        }
        let own = self.with_node(|node| {
            let is_again = node.id() == again && node.names() > 1 && self.handle().view().is_none();
            if !is_again || !is_expression(node) {
                return None;
            }
            if is_first {
                node.set_asked_again(false);
            }
            Some(node.apart())
        });
        if let Some(own) = own {
            self.rebind(own);
        }
        self
    }

    /// A constant of its own, which no equal one is, if it is of floats: what a program makes to compute with.
    #[must_use]
    pub fn own_constant(self) -> Tensor {
        let own = self.with_node(|node| (node.dtype().is_inexact() && node.uniform().is_some()).then(|| node.apart()));
        if let Some(own) = own {
            self.rebind(own);
        }
        self
    }
}

/// Whether a derivative may be taken by a node, which is an expression over memory.
fn is_expression(node: &UOp) -> bool {
    let op = node.op();
    let is_plain = op.is_elementwise()
        || op.is_movement()
        || op.is_join()
        || matches!(
            op,
            Op::Reduce(..)
                | Op::Scan(..)
                | Op::Take(_)
                | Op::Gather(_)
                | Op::Scatter(..)
                | Op::Sort(..)
                | Op::Contiguous
                | Op::Detach
                | Op::Copy(_)
        );
    is_plain && node.dtype().is_inexact() && node.place().is_some() && !node.is_value()
}
