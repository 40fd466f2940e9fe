//! How a kernel's work is divided among tasks.

use super::Choice;
use crate::costs::limits::tasks::Division;
use crate::language::{LoopRef, Tail};
use svod_ir::target::Target;

/// Tasks that so much work, in scalar operations, is worth.
pub(super) fn worth(target: &Target, work: i64) -> i64 {
    let division = Division::of(target);
    (work / division.task).clamp(1, division.most)
}

/// Tasks that the axes which are still to come have to make, if there is more than one.
pub(super) struct Tasks {
    pub left: i64,
}

impl Tasks {
    /// Cuts an axis of `n` points into blocks that are tasks, if some are wanted: each of an even share, which `block`
    /// makes a multiple of something. Gives the loop inside of a block.
    pub(super) fn cut(
        &mut self,
        choice: &mut Choice,
        at: &LoopRef,
        n: i64,
        block: impl FnOnce(i64) -> i64,
    ) -> Option<LoopRef> {
        if self.left <= 1 {
            return None;
        }
        let block = block((n + self.left - 1) / self.left);
        choice.split(at.clone(), block, Tail::Rest);
        self.left = (self.left * block / n.max(1)).max(1);
        Some(at.inner())
    }
}
