//! The memory planner: intermediates that are not needed at the same time share memory.
//!
//! Levels are barriers. A buffer whose last use is in an earlier level than another's first use may
//! give its memory to it, and the order of the levels is all the order that this needs.

use super::builder::Role;
use super::op::{OpKind, PlanOp};
use super::order::Order;
use crate::config::Planner;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use svod_device::{Block, Buffer, DeviceSpec, Storage, StorageId};

/// What the memory planner did with the intermediates that it may move. Sizes are in bytes, at the
/// upper bounds of variables, each buffer rounded up to a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryReport {
    /// Buffers that use memory of another one.
    pub buffers: usize,
    /// Memory that need not be allocated because of that: `before - after`.
    pub bytes: usize,
    /// Memory with a buffer for each.
    pub before: usize,
    /// Memory as planned.
    pub after: usize,
    /// The most that is needed at one time, below which no plan can go.
    pub bound: usize,
}

/// A buffer that may be moved, and the levels of its first and last use.
struct Tenant {
    first: usize,
    last: usize,
    buffer: usize,
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
        devices.entry(buffers[tenant.buffer].device().clone()).or_default().push(tenant);
    }
    let mut report = MemoryReport::default();
    for mut tenants in devices.into_values() {
        let before: usize = tenants.iter().map(|t| t.bytes).sum();
        report.before += before;
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

/// The buffers that may be moved.
fn tenants(ops: &[PlanOp], order: &Order, roles: &[Role], buffers: &[Arc<Buffer>]) -> Vec<Tenant> {
    let mut spans: Vec<Option<(usize, usize)>> = vec![None; buffers.len()];
    let mut eligible: Vec<bool> = roles.iter().map(|r| *r == Role::Intermediate).collect();
    let mut holders: FxHashMap<StorageId, usize> = FxHashMap::default();
    for buffer in buffers {
        *holders.entry(buffer.storage_id()).or_default() += 1;
    }
    for (i, buffer) in buffers.iter().enumerate() {
        eligible[i] &= holders[&buffer.storage_id()] == 1 && !buffer.is_view() && !buffer.is_allocated();
    }
    for &at in &order.order {
        let (op, level) = (&ops[at], order.levels[at]);
        let written: Vec<usize> = op.accesses().filter(|(_, write)| *write).map(|(buffer, _)| buffer).collect();
        for (buffer, _) in op.accesses() {
            match &mut spans[buffer] {
                Some((_, last)) => *last = level,
                // What is read before it is written holds something from outside the plan. An op that
                // does both, such as a sum by blocks, writes first: nothing was there.
                None => {
                    eligible[buffer] &= written.contains(&buffer);
                    spans[buffer] = Some((level, level));
                }
            }
        }
        if matches!(op.kind, OpKind::View { .. } | OpKind::Custom(_)) {
            op.buffers.iter().for_each(|b| eligible[*b] = false);
        }
    }
    let tenant = |buffer: usize| {
        let (first, last) = spans[buffer].filter(|_| eligible[buffer])?;
        Some(Tenant { first, last, buffer, bytes: buffers[buffer].bytes().next_multiple_of(Block::ALIGN) })
    };
    (0..buffers.len()).filter_map(tenant).collect()
}

/// The bytes that are needed in the level that needs most.
fn most_alive(tenants: &[Tenant], levels: usize) -> usize {
    let mut alive = vec![0usize; levels];
    for tenant in tenants {
        alive[tenant.first..=tenant.last].iter_mut().for_each(|bytes| *bytes += tenant.bytes);
    }
    alive.into_iter().max().unwrap_or(0)
}

/// Whole storages, used again by the next buffer that fits. Gives how many buffers have an earlier
/// one's, and the bytes of all storages.
fn remap(tenants: &mut [Tenant], buffers: &mut [Arc<Buffer>]) -> (usize, usize) {
    tenants.sort_unstable_by_key(|t| (t.first, t.last, t.buffer));
    let (mut shared, mut total) = (0, 0);
    // Free storages by size, and those in use by the level after which they are free.
    let mut free: BTreeMap<usize, Vec<Arc<Storage>>> = BTreeMap::new();
    let mut busy: BTreeMap<usize, Vec<Arc<Storage>>> = BTreeMap::new();
    for tenant in tenants {
        let still = busy.split_off(&tenant.first);
        for storage in std::mem::replace(&mut busy, still).into_values().flatten() {
            free.entry(storage.bytes()).or_default().push(storage);
        }
        let buffer = &mut buffers[tenant.buffer];
        let size = free.range(buffer.bytes()..).next().map(|(size, _)| *size);
        let storage = size.and_then(|size| {
            let storages = free.get_mut(&size)?;
            let storage = storages.pop();
            if storages.is_empty() {
                free.remove(&size);
            }
            storage
        });
        match storage.and_then(|s| Buffer::over(s, 0, buffer.dtype(), buffer.count()).ok()) {
            Some(view) => {
                shared += 1;
                *buffer = Arc::new(view);
            }
            None => total += tenant.bytes,
        }
        busy.entry(tenant.last).or_default().push(buffer.storage().clone());
    }
    (shared, total)
}

/// One storage for all, in which buffers that are needed at one time lie apart: the largest first,
/// each in the smallest gap between those it meets that are placed already (Pisarchyk and Lee 2020,
/// "greedy by size"). Gives how many buffers lie where another one does at another time, and the
/// bytes of the storage.
fn arena(tenants: &mut [Tenant], buffers: &mut [Arc<Buffer>]) -> (usize, usize) {
    let Some(allocator) = tenants.first().map(|t| buffers[t.buffer].storage().allocator().clone()) else {
        return (0, 0);
    };
    tenants.sort_by_key(|t| (std::cmp::Reverse(t.bytes), t.first, t.buffer));
    // By offset.
    let mut placed: Vec<(usize, &Tenant)> = Vec::with_capacity(tenants.len());
    let (mut total, mut shared) = (0, 0);
    for tenant in tenants.iter() {
        let meets = |other: &Tenant| other.first <= tenant.last && tenant.first <= other.last;
        let (mut end, mut best) = (0usize, None);
        for &(offset, other) in placed.iter().filter(|(_, other)| meets(other)) {
            let gap = offset.saturating_sub(end);
            if gap >= tenant.bytes && best.is_none_or(|(least, _)| gap < least) {
                best = Some((gap, end));
            }
            end = end.max(offset + other.bytes);
        }
        let offset = best.map_or(end, |(_, offset)| offset);
        shared += usize::from(placed.iter().any(|(o, t)| *o < offset + tenant.bytes && offset < o + t.bytes));
        total = total.max(offset + tenant.bytes);
        placed.insert(placed.partition_point(|(o, _)| *o <= offset), (offset, tenant));
    }
    let storage = Storage::new(&allocator, total);
    for (offset, tenant) in placed {
        let buffer = &mut buffers[tenant.buffer];
        // Offsets are multiples of a cache line and ends at most the total: the view fits.
        if let Ok(view) = Buffer::over(storage.clone(), offset, buffer.dtype(), buffer.count()) {
            *buffer = Arc::new(view);
        }
    }
    (shared, total)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
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
            buffer,
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
        }
    }

    #[test]
    fn c7_a_chain_needs_two_buffers() {
        let chain: Vec<(usize, usize, usize)> = (0..9).map(|i| (1024, i, i + 1)).collect();
        assert_eq!(planned(&chain, arena), (2048, 2048));
        assert_eq!(planned(&chain, remap), (2048, 2048));
    }
}
