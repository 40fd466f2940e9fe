//! The memory planner: intermediates that are not needed at the same time share memory.
//!
//! Levels are barriers. A buffer whose last use is in an earlier level than another's first use may
//! give its memory to it, and the order of the levels is all the order that this needs. A kernel that reads
//! an element only where it writes one may write over what it alone reads last: such buffers are one
//! *tenant*, from the first use of the first to the last use of the last.

mod spans;

use super::builder::Role;
use super::op::{OpKind, PlanOp};
use super::order::Order;
use crate::config::Planner;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use spans::{Spans, Taken};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::mem::take;
use std::ops::Range;
use std::sync::Arc;
use svod_device::{Block, Buffer, DeviceSpec, Storage, StorageId};
use svod_ir::pass::visit;

/// What the memory planner did with the intermediates that it may move. Sizes are in bytes, at the
/// upper bounds of variables, each buffer rounded up to a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryReport {
    /// Buffers that use memory of another one.
    pub buffers: usize,
    /// Those of them that are written over what the same kernel reads.
    pub in_place: usize,
    /// Memory that need not be allocated because of that: `before - after`.
    pub bytes: usize,
    /// Memory with a buffer for each.
    pub before: usize,
    /// Memory as planned.
    pub after: usize,
    /// The most that was needed at one time with a buffer for each.
    pub peak: usize,
    /// The most that is needed at one time as planned, below which no order of the memory can go.
    pub bound: usize,
}

/// Buffers of one size that may be moved to one place, and the levels of their first and last use.
struct Tenant {
    first: usize,
    last: usize,
    /// In the order in which they are written over each other.
    buffers: SmallVec<[usize; 1]>,
    bytes: usize,
}

/// Lets intermediates share memory, by putting views of common storages in their place. Inputs,
/// outputs, views and what is viewed stay as they are.
pub(super) fn plan(
    mode: Planner,
    ops: &[PlanOp],
    order: &Order,
    roles: &[Role],
    buffers: &mut [Arc<Buffer>],
) -> MemoryReport {
    let mut devices: FxHashMap<DeviceSpec, Vec<Tenant>> = FxHashMap::default();
    for tenant in tenants(ops, order, roles, buffers) {
        devices.entry(buffers[tenant.buffers[0]].device().clone()).or_default().push(tenant);
    }
    let mut report = MemoryReport::default();
    for mut tenants in devices.into_values() {
        let before: usize = tenants.iter().map(|t| t.bytes).sum();
        report.before += before;
        report.peak += most_alive(&tenants, order.ranges.len());
        if mode != Planner::Disabled {
            let merged = write_in_place(&mut tenants, ops, order, buffers);
            report.in_place += merged;
            report.buffers += merged;
        }
        report.bound += most_alive(&tenants, order.ranges.len());
        let (shared, after) = match mode {
            Planner::Disabled => (0, before),
            Planner::Remap => remap(&mut tenants, buffers),
            Planner::Arena => arena(&mut tenants, buffers),
        };
        report.buffers += shared;
        report.after += after;
    }
    report.bytes = report.before - report.after;
    report
}

/// The bytes of intermediates that each level needs, as they are planned where they may be moved.
pub(super) fn alive(ops: &[PlanOp], order: &Order, roles: &[Role], buffers: &[Arc<Buffer>]) -> Vec<usize> {
    let mut tenants = tenants(ops, order, roles, buffers);
    write_in_place(&mut tenants, ops, order, buffers);
    alive_in(&tenants, order.ranges.len())
}

/// The buffers that may be moved; those of one storage together.
fn tenants(ops: &[PlanOp], order: &Order, roles: &[Role], buffers: &[Arc<Buffer>]) -> Vec<Tenant> {
    let mut spans: Vec<Option<(usize, usize)>> = vec![None; buffers.len()];
    let mut eligible: Vec<bool> = roles.iter().map(|r| *r == Role::Intermediate).collect();
    let mut holders: FxHashMap<StorageId, SmallVec<[usize; 1]>> = FxHashMap::default();
    for (i, buffer) in buffers.iter().enumerate() {
        holders.entry(buffer.storage_id()).or_default().push(i);
        eligible[i] &= !buffer.is_allocated();
    }
    // What is written of storages that several buffers have.
    let mut written_of: FxHashMap<StorageId, Written> = FxHashMap::default();
    for &at in &order.order {
        let (op, level) = (&ops[at], order.levels[at]);
        let written: Vec<usize> = op.accesses().filter(|(_, write)| *write).map(|(buffer, _)| buffer).collect();
        for (buffer, write) in op.accesses() {
            let (storage, range) = (buffers[buffer].storage_id(), buffers[buffer].byte_range());
            let shares = holders[&storage].len() > 1;
            match &mut spans[buffer] {
                Some((_, last)) => *last = level,
                // What is read before it is written holds something from outside the plan. An op that
                // does both, such as a sum by blocks, writes first: nothing was there.
                None => {
                    let is_there = || written_of.get(&storage).is_some_and(|known| known.covers(&range));
                    eligible[buffer] &= written.contains(&buffer) || shares && is_there();
                    spans[buffer] = Some((level, level));
                }
            }
            if write && shares {
                written_of.entry(storage).or_default().add(range);
            }
        }
        if matches!(op.kind, OpKind::View { .. } | OpKind::Custom(_)) {
            op.buffers.iter().for_each(|b| eligible[*b] = false);
        }
    }
    let tenant = |buffer: usize| {
        let storage = &buffers[buffer];
        let mut all = holders[&storage.storage_id()].clone();
        // The whole storage first: it says how much memory that is.
        all.sort_by_key(|one| (buffers[*one].is_view(), *one));
        let is_first = all[0] == buffer && !storage.is_view();
        if !is_first || !all.iter().all(|one| eligible[*one]) {
            return None;
        }
        let used = || all.iter().filter_map(|one| spans[*one]);
        let (first, last) = (used().map(|s| s.0).min()?, used().map(|s| s.1).max()?);
        let bytes = storage.bytes().next_multiple_of(Block::ALIGN);
        Some(Tenant { first, last, buffers: all, bytes })
    };
    (0..buffers.len()).filter_map(tenant).collect()
}

/// The parts of a storage that were written, which touch nowhere.
#[derive(Default)]
struct Written(Vec<Range<usize>>);

impl Written {
    fn add(&mut self, range: Range<usize>) {
        let (mut apart, touching): (Vec<_>, Vec<_>) =
            take(&mut self.0).into_iter().partition(|one| one.end < range.start || range.end < one.start);
        let start = touching.iter().map(|one| one.start).fold(range.start, usize::min);
        apart.push(start..touching.iter().map(|one| one.end).fold(range.end, usize::max));
        self.0 = apart;
    }

    fn covers(&self, range: &Range<usize>) -> bool {
        self.0.iter().any(|one| one.start <= range.start && range.end <= one.end)
    }
}

/// Makes one tenant of those of which a kernel writes one over the other, and gives how often.
fn write_in_place(tenants: &mut Vec<Tenant>, ops: &[PlanOp], order: &Order, buffers: &[Arc<Buffer>]) -> usize {
    let mut of: FxHashMap<usize, usize> = FxHashMap::default();
    // What others have parts of stays as it is.
    for (at, tenant) in tenants.iter().enumerate().filter(|(_, tenant)| tenant.buffers.len() == 1) {
        of.insert(tenant.buffers[0], at);
    }
    let mut merged = 0;
    for level in &order.ranges {
        let level = &order.order[level.clone()];
        let mut users: FxHashMap<usize, usize> = FxHashMap::default();
        for &op in level {
            let mut own: SmallVec<[usize; 8]> = ops[op].accesses().map(|(buffer, _)| buffer).collect();
            own.sort_unstable();
            own.dedup();
            own.into_iter().for_each(|buffer| *users.entry(buffer).or_default() += 1);
        }
        for &at in level {
            let (op, level) = (&ops[at], order.levels[at]);
            let (Some(code), [slot]) = (op.code(), &op.outputs[..]) else { continue };
            let to = op.buffers[*slot];
            let Some(&new) = of.get(&to).filter(|new| tenants[**new].first == level && users[&to] == 1) else {
                continue;
            };
            let slots = |buffer: usize| (0..op.buffers.len()).filter(move |s| op.buffers[*s] == buffer);
            let dies_here = |from: &usize| {
                let only = users.get(from) == Some(&1)
                    && slots(*from).all(|s| code.replaceable(*slot).any(|other| other == s));
                let same = buffers[*from].bytes() == buffers[to].bytes() && *from != to;
                only && same && of.get(from).is_some_and(|old| tenants[*old].last == level)
            };
            let mut read = code.replaceable(*slot).filter_map(|slot| op.buffers.get(slot).copied());
            let Some(old) = read.find(dies_here).map(|from| of[&from]) else { continue };
            let gone = std::mem::take(&mut tenants[new].buffers);
            of.extend(gone.iter().map(|buffer| (*buffer, old)));
            tenants[old].last = tenants[new].last;
            tenants[old].buffers.extend(gone);
            merged += 1;
        }
    }
    tenants.retain(|tenant| !tenant.buffers.is_empty());
    merged
}

/// Puts a tenant's buffers at a place of a storage.
fn settle(tenant: &Tenant, storage: &Arc<Storage>, offset: usize, buffers: &mut [Arc<Buffer>]) {
    for &at in &tenant.buffers {
        let buffer = &mut buffers[at];
        // Offsets are multiples of a cache line, and the storage is large enough: the view fits.
        if let Ok(view) = Buffer::over(storage.clone(), offset + buffer.offset(), buffer.dtype(), buffer.count()) {
            *buffer = Arc::new(view);
        }
    }
}

/// The bytes that are needed in the level that needs most.
fn most_alive(tenants: &[Tenant], levels: usize) -> usize {
    alive_in(tenants, levels).into_iter().max().unwrap_or(0)
}

/// The bytes that are needed in each level.
fn alive_in(tenants: &[Tenant], levels: usize) -> Vec<usize> {
    let mut changes = vec![(0usize, 0usize); levels + 1];
    for tenant in tenants {
        visit(1);
        changes[tenant.first].0 += tenant.bytes;
        changes[tenant.last + 1].1 += tenant.bytes;
    }
    let alive = changes.into_iter().scan(0usize, |alive, (begun, ended)| {
        *alive = *alive + begun - ended;
        Some(*alive)
    });
    alive.take(levels).collect()
}

/// Whole storages, used again by the next buffer that fits. They cannot be divided, so that more is needed than is
/// alive at one time: where six small buffers are alive at once, and at another time two of them and one that is four
/// times as large (MiniLM's attention and feed-forward layer), there are five small storages and a large one, 1.5
/// times the bytes of either. Gives how many buffers have an earlier
/// one's, and the bytes of all storages.
fn remap(tenants: &mut [Tenant], buffers: &mut [Arc<Buffer>]) -> (usize, usize) {
    tenants.sort_unstable_by_key(|t| (t.first, t.last, t.buffers[0]));
    let (mut shared, mut total) = (0, 0);
    // Free storages by size, and those in use by the level after which they are free.
    let mut free: BTreeMap<usize, Vec<Arc<Storage>>> = BTreeMap::new();
    let mut busy: BTreeMap<usize, Vec<Arc<Storage>>> = BTreeMap::new();
    for tenant in tenants {
        let still = busy.split_off(&tenant.first);
        for storage in std::mem::replace(&mut busy, still).into_values().flatten() {
            free.entry(storage.bytes()).or_default().push(storage);
        }
        let own = &buffers[tenant.buffers[0]];
        let size = free.range(own.bytes()..).next().map(|(size, _)| *size);
        let known = size.and_then(|size| {
            let storages = free.get_mut(&size)?;
            let storage = storages.pop();
            if storages.is_empty() {
                free.remove(&size);
            }
            storage
        });
        let storage = match known {
            Some(storage) => {
                shared += 1;
                storage
            }
            None => {
                total += tenant.bytes;
                own.storage().clone()
            }
        };
        settle(tenant, &storage, 0, buffers);
        busy.entry(tenant.last).or_default().push(storage);
    }
    (shared, total)
}

/// What decides which tenants are placed before which others: the larger number first.
const ORDERS: [fn(&Tenant) -> usize; 4] = [
    |tenant| tenant.bytes,
    |tenant| tenant.bytes.saturating_mul(tenant.last + 1 - tenant.first),
    |tenant| tenant.last - tenant.first,
    |tenant| usize::MAX - tenant.first,
];

/// A total that is near enough to the bound for no other order to be tried.
fn is_near(total: usize, bound: usize) -> bool {
    total <= bound + bound / 20
}

/// Where tenants lie in one storage, and its bytes.
struct Packing {
    offsets: Vec<usize>,
    total: usize,
    /// How many lie where another one does at another time.
    shared: usize,
}

/// One storage for all, in which buffers that are needed at one time lie apart. The largest are placed first; where
/// that leaves more than a twentieth of the bytes that are needed at one time unused, other orders are tried,
/// and the best is taken. Gives how many buffers lie where another one does at another time, and the
/// bytes of the storage.
fn arena(tenants: &mut [Tenant], buffers: &mut [Arc<Buffer>]) -> (usize, usize) {
    let Some(allocator) = tenants.first().map(|t| buffers[t.buffers[0]].storage().allocator().clone()) else {
        return (0, 0);
    };
    let bound = most_alive(tenants, tenants.iter().map(|t| t.last + 1).max().unwrap_or(0));
    let mut best: Option<Packing> = None;
    for first in ORDERS {
        if best.as_ref().is_some_and(|known| is_near(known.total, bound)) {
            break;
        }
        let mut order: Vec<usize> = (0..tenants.len()).collect();
        order.sort_by_key(|at| {
            let tenant = &tenants[*at];
            (Reverse(first(tenant)), Reverse(tenant.bytes), tenant.first, tenant.buffers[0])
        });
        let packing = packed(tenants, &order);
        if best.as_ref().is_none_or(|known| packing.total < known.total) {
            best = Some(packing);
        }
    }
    let Some(Packing { offsets, total, shared }) = best else { return (0, 0) };
    let storage = Storage::new(&allocator, total);
    for (offset, tenant) in offsets.into_iter().zip(tenants.iter()) {
        settle(tenant, &storage, offset, buffers);
    }
    (shared, total)
}

/// Tenants placed in this order, each in the smallest gap between those it meets that are placed already
/// (Pisarchyk and Lee 2020, "greedy by size"). Each is compared with those that it meets only.
fn packed(tenants: &[Tenant], order: &[usize]) -> Packing {
    let mut packing = Packing { offsets: vec![0; tenants.len()], total: 0, shared: 0 };
    let mut spans = Spans::new(tenants.iter().map(|t| t.last + 1).max().unwrap_or(0));
    let mut taken = Taken::default();
    for &at in order {
        let tenant = &tenants[at];
        let met = spans.meeting(tenant.first, tenant.last).into_iter();
        let mut met: Vec<(usize, usize)> = met.map(|other| (packing.offsets[other], tenants[other].bytes)).collect();
        visit(met.len() + 1);
        met.sort_unstable();
        let (mut end, mut best) = (0usize, None);
        for (offset, bytes) in met {
            let gap = offset.saturating_sub(end);
            if gap >= tenant.bytes && best.is_none_or(|(least, _)| gap < least) {
                best = Some((gap, end));
            }
            end = end.max(offset + bytes);
        }
        let offset = best.map_or(end, |(_, offset)| offset);
        packing.shared += usize::from(taken.take(offset, offset + tenant.bytes));
        packing.total = packing.total.max(offset + tenant.bytes);
        packing.offsets[at] = offset;
        spans.insert(at, tenant.first, tenant.last);
    }
    packing
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use smallvec::smallvec;
    use svod_device::{Allocator, CpuAllocator};
    use svod_dtype::DType;

    type By = fn(&mut [Tenant], &mut [Arc<Buffer>]) -> (usize, usize);

    /// Buffers of these bytes, needed from and to these levels.
    fn planned(needs: &[(usize, usize, usize)], by: By) -> (usize, usize) {
        let allocator: Arc<dyn Allocator> = Arc::new(CpuAllocator::new(DeviceSpec::CPU));
        let new = |&(bytes, _, _): &(usize, usize, usize)| Arc::new(Buffer::new(&allocator, DType::U8, bytes).unwrap());
        let mut buffers: Vec<Arc<Buffer>> = needs.iter().map(new).collect();
        let tenant = |(buffer, &(bytes, first, last)): (usize, &(usize, usize, usize))| Tenant {
            first,
            last,
            buffers: smallvec![buffer],
            bytes: bytes.next_multiple_of(64),
        };
        let mut tenants: Vec<Tenant> = needs.iter().enumerate().map(tenant).collect();
        let bound = most_alive(&tenants, 1 + needs.iter().map(|n| n.2).max().unwrap());
        let (_, total) = by(&mut tenants, &mut buffers);
        for (a, x) in needs.iter().zip(&buffers) {
            for (b, y) in needs.iter().zip(&buffers) {
                let apart = a.2 < b.1 || b.2 < a.1;
                assert!(apart || Arc::ptr_eq(x, y) || !x.overlaps(y), "{a:?} and {b:?} share bytes");
            }
        }
        (total, bound)
    }

    #[test]
    fn c7_what_is_needed_at_one_time_lies_apart() {
        // A linear congruential generator: the same sequence everywhere.
        let mut state = 1u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % below) as usize
        };
        let (mut near, mut ratios) = (0, 0.0);
        for _ in 0..200 {
            let needs: Vec<(usize, usize, usize)> = (0..1 + next(24))
                .map(|_| {
                    let first = next(12);
                    (1 + next(3000), first, first + next(4))
                })
                .collect();
            let (arena, bound) = planned(&needs, arena);
            let (remapped, _) = planned(&needs, remap);
            let before: usize = needs.iter().map(|n| n.0.next_multiple_of(64)).sum();
            assert!(bound <= arena && arena <= before && remapped <= before, "{bound} {arena} {before}");
            near += usize::from(is_near(arena, bound));
            ratios += arena as f64 / bound as f64;
        }
        // The largest first alone is near the bound in 167 of 200.
        assert!(near >= 180 && ratios / 200.0 < 1.02, "{near} near, mean {}", ratios / 200.0);
    }

    #[test]
    fn c7_a_chain_needs_two_buffers() {
        let chain: Vec<(usize, usize, usize)> = (0..9).map(|i| (1024, i, i + 1)).collect();
        assert_eq!(planned(&chain, arena), (2048, 2048));
        assert_eq!(planned(&chain, remap), (2048, 2048));
    }
}
