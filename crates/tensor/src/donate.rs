//! Tensors that a call of a function writes where they lie: weights, and the state of an optimizer.
//!
//! A call gives such a tensor another value. Where nobody else has a hold on the memory of the present one, the run of
//! the plan writes there, so that a step of training takes no more memory than its results: copy on write, by ownership. Until
//! the run has ended, the handle is locked, and there is no other way to the memory.

use parking_lot::RwLockWriteGuard;
use svod_device::Buffer;
use svod_ir::graph::{Leaf, Named, UOp};
use svod_runtime::Memory;

use crate::error::Result;
use crate::in_place::is_own;
use crate::tensor::Tensor;

/// A handle whose memory nobody else can come to.
pub(crate) struct Taken<'a> {
    tensor: &'a Tensor,
    node: RwLockWriteGuard<'a, Named>,
}

impl<'a> Taken<'a> {
    /// A handle, if its memory is the buffer that a run was given, which holds it once, and nobody else has a hold on that.
    pub(crate) fn new(tensor: &'a Tensor, given: &Buffer) -> Option<Taken<'a>> {
        if !tensor.is_writable() {
            return None;
        }
        // Another thread that has it now may take the value.
        let node = tensor.try_lock()?;
        let leaves = node.sole_leaves()?;
        let leaf = node.op().leaf().filter(|leaf| leaf.class().is_constant())?;
        let memory = leaf.downcast::<Memory>()?;
        let same = std::ptr::eq(&**memory.buffer(), given) && memory.symbolic_shape().is_none();
        let sole = is_own(leaf, memory, leaves, 2) && given.storage().is_sole_owner();
        (same && sole).then_some(Taken { tensor, node })
    }

    /// Makes the handle stand for what was written to its memory, and gives that.
    pub(crate) fn written(mut self) -> Result<Tensor> {
        let fresh = {
            let leaf = self.node.op().leaf().expect("it was a leaf when it was taken");
            leaf.downcast::<Memory>().into_iter().for_each(Memory::bump_version);
            UOp::leaf(Leaf::new(leaf.data().clone(), leaf.offset(), leaf.dtype(), leaf.shape().clone()))?
        };
        let own = self.tensor.as_variable(&fresh)?;
        let old = std::mem::replace(&mut *self.node, Named::new(own));
        drop(self.node);
        drop(old);
        Ok(Tensor::from_uop(fresh))
    }
}
