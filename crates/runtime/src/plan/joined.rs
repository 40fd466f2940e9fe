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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::code::KernelCode;
    use svod_device::program::Metadata;
    use svod_device::{Allocator, CpuAllocator, Device, DeviceSpec, ProgramSpec};
    use svod_dtype::DType;
    use svod_ir::kernel::Param;
    use svod_ir::lowered::{Lowered, Phase};
    use svod_ir::size::Size;
    use svod_schedule::Joined;

    /// Elements of a part: whole cache lines.
    const PART: usize = 16;

    /// Ops on buffers, as a plan has them.
    struct Parts {
        device: Arc<Device>,
        ops: Vec<PlanOp>,
        buffers: Vec<Arc<Buffer>>,
        roles: Vec<Role>,
    }

    impl Parts {
        fn new() -> Parts {
            let allocator: Arc<dyn Allocator> = Arc::new(CpuAllocator::new(DeviceSpec::CPU));
            Parts { device: Arc::new(Device::new(allocator)), ops: vec![], buffers: vec![], roles: vec![] }
        }

        fn buffer(&mut self, parts: usize, role: Role) -> usize {
            let made = Buffer::new(self.device.allocator(), DType::F32, parts * PART).unwrap();
            self.buffers.push(Arc::new(made));
            self.roles.push(role);
            self.buffers.len() - 1
        }

        /// An op that writes the first of these buffers, of the others.
        fn op(&mut self, buffers: &[usize]) -> KernelCode {
            let extent = |at: &usize| vec![Size::from(self.buffers[*at].count() as i64)];
            let param = |at: &usize| Param { dtype: DType::F32, shape: extent(at), constant: false };
            let ast = Arc::new(Lowered {
                name: "by hand".into(),
                params: buffers.iter().map(param).collect(),
                vars: vec![],
                strict: false,
                guards: vec![],
                phases: vec![Phase::default()],
            });
            let metadata = Metadata { outs: vec![0], ins: (1..buffers.len()).collect(), ..Metadata::default() };
            let spec = ProgramSpec::derive(&ast, String::new(), DeviceSpec::CPU, metadata).unwrap();
            KernelCode::new(self.device.clone(), spec, Vec::new().into())
        }

        fn makes(&mut self, out: usize, of: &[usize]) {
            let buffers = [&[out], of].concat();
            let code = self.op(&buffers);
            self.ops.push(PlanOp::kernel(Arc::new(code), buffers));
        }

        /// An op that puts buffers one after the other.
        fn joins(&mut self, out: usize, of: &[usize]) {
            let buffers = [&[out], of].concat();
            let mut at = 0;
            let parts = of.iter().zip(1..).map(|(part, param)| {
                let begins = at;
                at += self.buffers[*part].count();
                Joined { param, at: begins }
            });
            let parts: Vec<Joined> = parts.collect();
            let code = self.op(&buffers).joining(parts);
            self.ops.push(PlanOp::kernel(Arc::new(code), buffers));
        }

        fn made_in_place(&mut self) {
            super::made_in_place(&mut self.ops, &mut self.buffers, &self.roles);
        }

        /// Where a buffer lies, in parts, if that is in the memory of another one.
        fn place(&self, buffer: usize, of: usize) -> Option<usize> {
            let (own, whole) = (&self.buffers[buffer], &self.buffers[of]);
            Arc::ptr_eq(own.storage(), whole.storage()).then(|| (own.offset() - whole.offset()) / (PART * 4))
        }
    }

    #[test]
    fn parts_are_made_in_the_result() {
        let mut plan = Parts::new();
        let given = plan.buffer(1, Role::Given);
        let parts = [plan.buffer(1, Role::Intermediate), plan.buffer(2, Role::Intermediate)];
        let (joined, out) = (plan.buffer(3, Role::Intermediate), plan.buffer(3, Role::Output));
        parts.iter().for_each(|part| plan.makes(*part, &[given]));
        plan.joins(joined, &parts);
        plan.makes(out, &[joined]);
        plan.ops[3].after = vec![1];
        plan.made_in_place();
        assert_eq!(plan.ops.len(), 3);
        assert_eq!(parts.map(|part| plan.place(part, joined)), [Some(0), Some(1)]);
        // Names stay, and so does what others wait for.
        assert_eq!(plan.ops.iter().map(|op| op.id).collect::<Vec<_>>(), [Some(0), Some(1), Some(3)]);
        assert_eq!(plan.ops[2].after, [1]);
    }

    #[test]
    fn joins_of_joins_are_one() {
        let mut plan = Parts::new();
        let given = plan.buffer(1, Role::Given);
        let parts: Vec<usize> = (0..4).map(|_| plan.buffer(1, Role::Intermediate)).collect();
        let halves = [plan.buffer(2, Role::Intermediate), plan.buffer(2, Role::Intermediate)];
        let (all, out) = (plan.buffer(4, Role::Intermediate), plan.buffer(4, Role::Output));
        parts.iter().for_each(|part| plan.makes(*part, &[given]));
        plan.joins(halves[0], &parts[..2]);
        plan.joins(halves[1], &parts[2..]);
        plan.joins(all, &halves);
        plan.makes(out, &[all, halves[1]]);
        plan.made_in_place();
        assert_eq!(plan.ops.len(), 5);
        let places: Vec<Option<usize>> = parts.iter().chain(&halves).map(|part| plan.place(*part, all)).collect();
        assert_eq!(places, [0, 1, 2, 3, 0, 2].map(Some));
    }

    #[test]
    fn what_others_own_or_write_stays_where_it_is() {
        // A part that is given, one that comes twice, a result of the plan, and a part that is written afterwards.
        for case in 0..4 {
            let mut plan = Parts::new();
            let given = plan.buffer(1, Role::Given);
            let made = plan.buffer(1, Role::Intermediate);
            let role = if case == 2 { Role::Output } else { Role::Intermediate };
            let (joined, out) = (plan.buffer(2, role), plan.buffer(2, Role::Output));
            plan.makes(made, &[given]);
            let other = plan.buffer(1, Role::Intermediate);
            plan.makes(other, &[given]);
            plan.joins(joined, &[made, [given, made, other, other][case]]);
            plan.makes(out, &[joined]);
            if case == 3 {
                plan.makes(made, &[out]);
            }
            let before = plan.ops.len();
            plan.made_in_place();
            assert_eq!((plan.ops.len(), plan.place(made, joined)), (before, None), "case {case}");
        }
    }

    #[test]
    fn parts_that_do_not_begin_at_a_cache_line_are_copied() {
        let mut plan = Parts::new();
        let given = plan.buffer(1, Role::Given);
        let odd = Buffer::new(plan.device.allocator(), DType::F32, PART + 1).unwrap();
        plan.buffers.push(Arc::new(odd));
        plan.roles.push(Role::Intermediate);
        let (odd, even) = (plan.buffers.len() - 1, plan.buffer(1, Role::Intermediate));
        let joined = plan.buffer(3, Role::Intermediate);
        let out = plan.buffer(3, Role::Output);
        plan.makes(odd, &[given]);
        plan.makes(even, &[given]);
        plan.joins(joined, &[odd, even]);
        plan.makes(out, &[joined]);
        plan.made_in_place();
        assert_eq!(plan.ops.len(), 4);
    }
}
