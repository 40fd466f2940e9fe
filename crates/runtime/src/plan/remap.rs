//! The memory planner: whole buffers used again once nothing needs their content.
//!
//! Levels are barriers. A buffer whose last use is in an earlier level than another's first use may
//! give its memory to it, and the order of the levels is all the order that this needs.

use super::MemorySaved;
use super::builder::Role;
use super::op::{OpKind, PlanOp};
use super::order::Order;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use svod_device::{Buffer, DeviceSpec, Storage, StorageId};

/// Lets intermediates share memory, by putting views of earlier ones in the place of later ones.
/// Inputs, outputs, views and what is viewed stay as they are.
pub(super) fn remap(ops: &[PlanOp], order: &Order, roles: &[Role], buffers: &mut [Arc<Buffer>]) -> MemorySaved {
    let mut spans: Vec<Option<(usize, usize)>> = vec![None; buffers.len()];
    let mut eligible: Vec<bool> = roles.iter().map(|r| *r == Role::Intermediate).collect();
    let mut holders: FxHashMap<StorageId, usize> = FxHashMap::default();
    for buffer in buffers.iter() {
        *holders.entry(buffer.storage_id()).or_default() += 1;
    }
    for (i, buffer) in buffers.iter().enumerate() {
        eligible[i] &= holders[&buffer.storage_id()] == 1 && !buffer.is_view() && !buffer.is_allocated();
    }
    for &at in &order.order {
        let (op, level) = (&ops[at], order.levels[at]);
        for (buffer, write) in op.accesses() {
            match &mut spans[buffer] {
                Some((_, last)) => *last = level,
                // What is read first holds something from outside the plan.
                None => {
                    eligible[buffer] &= write;
                    spans[buffer] = Some((level, level));
                }
            }
        }
        if matches!(op.kind, OpKind::View { .. } | OpKind::Custom(_)) {
            op.buffers.iter().for_each(|b| eligible[*b] = false);
        }
    }

    let mut planned: Vec<(usize, usize, usize)> =
        (0..buffers.len()).filter(|i| eligible[*i]).filter_map(|i| spans[i].map(|(f, l)| (f, l, i))).collect();
    planned.sort_unstable();
    let mut saved = MemorySaved::default();
    // Free storages of each device by size, and those in use by the level after which they are free.
    let mut free: FxHashMap<DeviceSpec, BTreeMap<usize, Vec<Arc<Storage>>>> = FxHashMap::default();
    let mut busy: BTreeMap<usize, Vec<Arc<Storage>>> = BTreeMap::new();
    for (first, last, i) in planned {
        let still = busy.split_off(&first);
        for storage in std::mem::replace(&mut busy, still).into_values().flatten() {
            free.entry(storage.device().clone()).or_default().entry(storage.bytes()).or_default().push(storage);
        }
        let need = buffers[i].bytes();
        let fitting = free.get_mut(buffers[i].device()).and_then(|sizes| {
            let (size, storages) = sizes.range_mut(need..).next()?;
            let (size, storage) = (*size, storages.pop()?);
            if storages.is_empty() {
                sizes.remove(&size);
            }
            Some(storage)
        });
        let shared = fitting.and_then(|s| Buffer::over(s, 0, buffers[i].dtype(), buffers[i].count()).ok());
        if let Some(view) = shared {
            saved.buffers += 1;
            saved.bytes += need;
            buffers[i] = Arc::new(view);
        }
        busy.entry(last).or_default().push(buffers[i].storage().clone());
    }
    saved
}
