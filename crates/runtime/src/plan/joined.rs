//! Intermediates that are made where a later op would put them: the op that joins them, as a stack of the steps of a loop,
//! does not run.
//!
//! What joins joined intermediates is one with these. The largest come first; one whose parts lie side by side then, as
//! all steps but the first do in the stack of all, is a view of what is there.

use super::builder::Role;
use super::op::PlanOp;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::sync::Arc;
use svod_device::{Block, Buffer, Storage, StorageId};

/// An op that joins intermediates: its position, and the parts with their distances from the start in bytes.
struct Join {
    op: usize,
    parts: Vec<(usize, usize)>,
}

/// A buffer of a join, or of one that it joins.
struct Member {
    buffer: usize,
    /// Its distance from the start in bytes.
    at: usize,
    /// The op that joins it.
    op: usize,
}

/// What a join and those that it joins are made of.
#[derive(Default)]
struct Whole {
    leaves: Vec<Member>,
    joined: Vec<Member>,
}

/// Drops ops that only put intermediates one after the other, which become views of the result.
pub(super) fn made_in_place(ops: &mut Vec<PlanOp>, buffers: &mut [Arc<Buffer>], roles: &[Role]) {
    let mut plan = Joins::new(ops, buffers, roles);
    for out in plan.largest_first(buffers) {
        if plan.gone.contains(&plan.of[&out].op) {
            continue;
        }
        let whole = plan.whole(out);
        let Some((storage, begin)) = plan.place(out, &whole, buffers) else { continue };
        for member in whole.leaves.iter().chain(&whole.joined) {
            let old = buffers[member.buffer].clone();
            // Parts lie in the result, side by side; those that lie there already stay.
            if Arc::ptr_eq(old.storage(), &storage) {
                continue;
            }
            for at in plan.holders.remove(&old.storage_id()).unwrap_or_default() {
                let (buffer, start) = (&buffers[at], begin + member.at);
                if let Ok(view) = Buffer::over(storage.clone(), start + buffer.offset(), buffer.dtype(), buffer.count())
                {
                    buffers[at] = Arc::new(view);
                    plan.holders.entry(storage.id()).or_default().push(at);
                }
            }
        }
        let joined: Vec<usize> = whole.joined.iter().map(|member| plan.of[&member.buffer].op).collect();
        plan.gone.extend(joined);
    }
    let gone = plan.gone;
    if gone.is_empty() {
        return;
    }
    let mut places: Vec<usize> = Vec::with_capacity(ops.len());
    let mut left = 0;
    for (at, op) in ops.iter_mut().enumerate() {
        // Ops are named by their positions where they have no name: these change now.
        op.id.get_or_insert(at as u64);
        places.push(left);
        left += usize::from(!gone.contains(&at));
    }
    let mut at = 0..;
    ops.retain(|_| at.next().is_some_and(|at| !gone.contains(&at)));
    // Nobody waits for one that is gone.
    ops.iter_mut().flat_map(|op| &mut op.after).for_each(|after| *after = places[*after]);
}

/// The joins of a plan, by the buffers that they write.
struct Joins<'a> {
    of: FxHashMap<usize, Join>,
    roles: &'a [Role],
    /// The ops that write each buffer.
    writers: Vec<Vec<usize>>,
    /// The buffers that have a storage.
    holders: FxHashMap<StorageId, Vec<usize>>,
    /// Ops that do not run.
    gone: FxHashSet<usize>,
}

impl<'a> Joins<'a> {
    fn new(ops: &[PlanOp], buffers: &[Arc<Buffer>], roles: &'a [Role]) -> Self {
        let mut writers = vec![Vec::new(); buffers.len()];
        for (at, op) in ops.iter().enumerate() {
            op.accesses().filter(|(_, write)| *write).for_each(|(buffer, _)| writers[buffer].push(at));
        }
        let named: FxHashSet<u64> = ops.iter().flat_map(|op| &op.dependencies).copied().collect();
        let awaited: FxHashSet<usize> = ops.iter().flat_map(|op| &op.after).copied().collect();
        let mut holders: FxHashMap<StorageId, Vec<usize>> = FxHashMap::default();
        for (at, buffer) in buffers.iter().enumerate() {
            holders.entry(buffer.storage_id()).or_default().push(at);
        }
        let mut joins = Joins { of: FxHashMap::default(), roles, writers, holders, gone: FxHashSet::default() };
        for (at, op) in ops.iter().enumerate() {
            let (Some(joined), [slot]) = (op.code().and_then(|code| code.joined()), &op.outputs[..]) else { continue };
            let out = op.buffers[*slot];
            let waits = !op.dependencies.is_empty() || !op.after.is_empty();
            let is_named = named.contains(&op.id.unwrap_or(at as u64)) || awaited.contains(&at);
            let alone = joins.writers[out] == [at] && !buffers[out].is_view() && joins.is_free(out, buffers);
            if waits || is_named || !alone {
                continue;
            }
            let size = buffers[out].dtype().bytes();
            let parts = joined.iter().map(|part| (op.buffers[part.param], part.at * size)).collect();
            joins.of.insert(out, Join { op: at, parts });
        }
        joins
    }

    /// Whether a buffer, and whoever else has its storage, is an intermediate.
    fn is_free(&self, buffer: usize, buffers: &[Arc<Buffer>]) -> bool {
        let sharing = &self.holders[&buffers[buffer].storage_id()];
        sharing.iter().all(|other| self.roles[*other] == Role::Intermediate && !buffers[*other].is_allocated())
    }

    fn largest_first(&self, buffers: &[Arc<Buffer>]) -> Vec<usize> {
        let mut all: Vec<usize> = self.of.keys().copied().collect();
        all.sort_unstable_by_key(|out| (Reverse(buffers[*out].bytes()), Reverse(self.of[out].op)));
        all
    }

    /// All that a join is made of, through those joins that still run.
    fn whole(&self, out: usize) -> Whole {
        let mut whole = Whole::default();
        let mut open = vec![Member { buffer: out, at: 0, op: self.of[&out].op }];
        while let Some(member) = open.pop() {
            match self.of.get(&member.buffer).filter(|join| !self.gone.contains(&join.op)) {
                Some(join) => {
                    let below =
                        |(buffer, at): &(usize, usize)| Member { buffer: *buffer, at: member.at + at, op: join.op };
                    open.extend(join.parts.iter().map(below));
                    whole.joined.push(member);
                }
                None => whole.leaves.push(member),
            }
        }
        whole
    }

    /// Where all of it can lie: in the memory of the result, or where its leaves are side by side already.
    fn place(&self, out: usize, whole: &Whole, buffers: &[Arc<Buffer>]) -> Option<(Arc<Storage>, usize)> {
        // Each is written before it is joined, and not afterwards.
        let written = |leaf: &Member| {
            let is_there = !self.writers[leaf.buffer].is_empty();
            let own = &buffers[leaf.buffer];
            let early = |writer: &usize| *writer < leaf.op || self.gone.contains(writer);
            let mut sharing = self.holders[&own.storage_id()].iter().filter(|other| buffers[**other].overlaps(own));
            is_there && sharing.all(|other| self.writers[*other].iter().all(early))
        };
        let fits = |leaf: &Member| {
            let own = &buffers[leaf.buffer];
            own.device() == buffers[out].device() && leaf.at.is_multiple_of(Block::ALIGN) && written(leaf)
        };
        if !whole.leaves.iter().all(fits) {
            return None;
        }
        let mut seen = FxHashSet::default();
        let mut fresh = |leaf: &Member| {
            let own = &buffers[leaf.buffer];
            !own.is_view() && seen.insert(own.storage_id()) && self.is_free(leaf.buffer, buffers)
        };
        if whole.leaves.iter().all(&mut fresh) && whole.joined.iter().all(|one| self.is_free(one.buffer, buffers)) {
            return Some((buffers[out].storage().clone(), 0));
        }
        let first = whole.leaves.first()?;
        let there = &buffers[first.buffer];
        let begin = there.offset().checked_sub(first.at)?;
        let beside = |leaf: &Member| {
            let own = &buffers[leaf.buffer];
            own.storage_id() == there.storage_id() && own.offset() == begin + leaf.at
        };
        let lies = begin.is_multiple_of(Block::ALIGN)
            && begin + buffers[out].bytes() <= there.storage().bytes()
            && whole.leaves.iter().all(beside)
            && self.is_free(first.buffer, buffers);
        lies.then(|| (there.storage().clone(), begin))
    }
}
