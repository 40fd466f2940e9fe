//! In which order ops run: edges, levels, order.

use super::builder::BuildError;
use super::op::PlanOp;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;
use svod_device::{Buffer, StorageId};
use svod_ir::pass::visit;

/// The order of a plan's ops.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    /// Positions of the ops, by level and then by position.
    pub order: Vec<usize>,
    /// The level of each op: one more than the highest of those that it follows.
    pub levels: Vec<usize>,
    /// The part of `order` that each level is.
    pub ranges: Vec<Range<usize>>,
}

/// Orders the ops by what they say and by the bytes that they share.
pub(super) fn order(ops: &[PlanOp], buffers: &[Arc<Buffer>]) -> Result<Order, BuildError> {
    let mut before = stated(ops)?;
    hazards(ops, buffers, &mut before);
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); ops.len()];
    let mut waiting = vec![0; ops.len()];
    for (op, before) in before.iter_mut().enumerate() {
        visit(before.len());
        before.sort_unstable();
        before.dedup();
        waiting[op] = before.len();
        before.iter().for_each(|b| after[*b].push(op));
    }

    let mut levels = vec![0; ops.len()];
    let mut ready: Vec<usize> = (0..ops.len()).filter(|op| waiting[*op] == 0).collect();
    let mut order = Vec::with_capacity(ops.len());
    while let Some(op) = ready.pop() {
        order.push(op);
        for &next in &after[op] {
            levels[next] = levels[next].max(levels[op] + 1);
            waiting[next] -= 1;
            if waiting[next] == 0 {
                ready.push(next);
            }
        }
    }
    if order.len() < ops.len() {
        let blocked = (0..ops.len()).filter(|op| waiting[*op] > 0);
        return Err(BuildError::Cycle { blocked: blocked.map(|op| format!("{op} ({})", ops[op].name())).collect() });
    }
    order.sort_by_key(|op| (levels[*op], *op));
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (at, op) in order.iter().enumerate() {
        match ranges.get_mut(levels[*op]) {
            Some(range) => range.end = at + 1,
            None => ranges.push(at..at + 1),
        }
    }
    Ok(Order { order, levels, ranges })
}

/// The ops that each op waits for, all of them in the order in which they run: those whose bytes it
/// reads, and the others. Memory that intermediates share counts, as the planner has laid it out.
pub(super) fn edges(ops: &[PlanOp], buffers: &[Arc<Buffer>], order: &[usize]) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
    let mut place = vec![0; ops.len()];
    order.iter().enumerate().for_each(|(new, old)| place[*old] = new);
    let running: Vec<PlanOp> = order.iter().map(|at| ops[*at].clone()).collect();
    let mut all = vec![Vec::new(); ops.len()];
    hazards(&running, buffers, &mut all);
    let reads = |from: usize, to: usize| {
        let written = running[from].accesses().filter(|(_, write)| *write).map(|(b, _)| &buffers[b]);
        let written: Vec<&Arc<Buffer>> = written.collect();
        let mut read = running[to].accesses().filter(|(_, write)| !*write).map(|(b, _)| &buffers[b]);
        read.any(|r| written.iter().any(|w| Arc::ptr_eq(r, w) || r.overlaps(w)))
    };
    let stated = stated(ops).unwrap_or_default();
    let (mut data, mut control) = (Vec::new(), Vec::new());
    for (to, mut before) in all.into_iter().enumerate() {
        before.extend(stated.get(order[to]).into_iter().flatten().map(|from| place[*from]));
        before.sort_unstable();
        before.dedup();
        let (reads, others) = before.into_iter().partition(|from| reads(*from, to));
        data.push(reads);
        control.push(others);
    }
    (data, control)
}

/// The dependencies that the ops state.
fn stated(ops: &[PlanOp]) -> Result<Vec<Vec<usize>>, BuildError> {
    let mut instances: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
    for (i, op) in ops.iter().enumerate() {
        instances.entry(op.id.unwrap_or(i as u64)).or_default().push(i);
    }
    let mut before: Vec<Vec<usize>> = Vec::with_capacity(ops.len());
    for (i, op) in ops.iter().enumerate() {
        let mut edges = Vec::new();
        for &id in &op.dependencies {
            let all = instances.get(&id).ok_or(BuildError::UnknownDependency { op: i, dependency: id })?;
            if id == op.id.unwrap_or(i as u64) {
                return Err(BuildError::SelfDependency { op: i });
            }
            edges.push(match all[..] {
                [only] => only,
                _ => {
                    let earlier = all.iter().rfind(|at| **at < i);
                    *earlier.ok_or(BuildError::ForwardDependency { op: i, dependency: id })?
                }
            });
        }
        for &at in &op.after {
            match at {
                at if at == i => return Err(BuildError::SelfDependency { op: i }),
                at if at >= ops.len() => {
                    return Err(BuildError::UnknownDependency { op: i, dependency: at as u64 });
                }
                at => edges.push(at),
            }
        }
        before.push(edges);
    }
    Ok(before)
}

/// An access of an earlier op to some bytes of a storage.
struct Access {
    op: usize,
    bytes: Range<usize>,
    write: bool,
}

/// Adds an edge wherever two ops access the same bytes and one of them writes.
fn hazards(ops: &[PlanOp], buffers: &[Arc<Buffer>], before: &mut [Vec<usize>]) {
    let mut storages: FxHashMap<StorageId, Vec<Access>> = FxHashMap::default();
    for (i, op) in ops.iter().enumerate() {
        let own: Vec<(usize, bool)> = op.accesses().collect();
        for (buffer, write) in &own {
            let (storage, bytes) = (buffers[*buffer].storage_id(), buffers[*buffer].byte_range());
            visit(storages.get(&storage).map_or(1, Vec::len));
            let earlier = storages.get(&storage).into_iter().flatten();
            let clash = |a: &&Access| {
                (a.write || *write) && a.bytes.start.max(bytes.start) < a.bytes.end.min(bytes.end) && a.op != i
            };
            before[i].extend(earlier.filter(clash).map(|a| a.op));
        }
        for (buffer, write) in own {
            let (storage, bytes) = (buffers[buffer].storage_id(), buffers[buffer].byte_range());
            let accesses = storages.entry(storage).or_default();
            if write {
                // Whoever follows an access that is overwritten whole also follows this one.
                accesses.retain(|a| a.op == i || a.bytes.start < bytes.start || a.bytes.end > bytes.end);
            }
            accesses.push(Access { op: i, bytes, write });
        }
    }
}
