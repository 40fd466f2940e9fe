//! How a kernel's work is divided among tasks.

use super::Choice;
use crate::language::{LoopRef, Tail};
use svod_ir::target::Target;

/// Scalar operations that are worth handing to another thread.
pub(super) const TASK: i64 = 1 << 16;

/// Tasks of one kernel at most: more only cost time to hand out.
pub(super) const MAX_TASKS: i64 = 256;

/// The same where groups of threads do tasks: a scheduler in hardware hands them out, and only many of them hide how long
/// memory takes.
const TASK_OF_GROUPS: i64 = 1 << 9;
const MAX_TASKS_OF_GROUPS: i64 = 1 << 20;

/// Tasks that so much work, in scalar operations, is worth.
pub(super) fn worth(target: &Target, work: i64) -> i64 {
    (work / task(target)).clamp(1, most(target))
}

/// Scalar operations that are worth a task.
pub(super) fn task(target: &Target) -> i64 {
    if target.groups.is_some() { TASK_OF_GROUPS } else { TASK }
}

/// Tasks of a kernel at most.
pub(super) fn most(target: &Target) -> i64 {
    if target.groups.is_some() { MAX_TASKS_OF_GROUPS } else { MAX_TASKS }
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
