//! Copies that need none: what a loop carries on from a buffer whose content is not read again is the next
//! iteration's where it is, and the two buffers trade places.
//!
//! Loops are unrolled by then, so that each invocation may name other buffers than the last one of its call.

use crate::calls::preschedule::{Item, KernelInvocation, PreSchedule, Slot};
use rustc_hash::FxHashSet;

/// The schedule without copies of what is not read again, between buffers that are alike.
pub(crate) fn rotate_buffers(mut schedule: PreSchedule) -> PreSchedule {
    let rotated = rotated(&schedule);
    if !rotated.contains(&true) {
        return schedule;
    }
    let calls: FxHashSet<usize> =
        schedule.invocations.iter().zip(&rotated).filter(|(_, t)| **t).map(|(invocation, _)| invocation.call).collect();
    // Where each buffer's content is.
    let mut place: Vec<usize> = (0..schedule.buffers.len()).collect();
    let invocations = std::mem::take(&mut schedule.invocations);
    for (mut invocation, rotated) in invocations.into_iter().zip(rotated) {
        if let (true, Some((to, from))) = (rotated, ends(&invocation)) {
            place.swap(to, from);
            continue;
        }
        invocation.args.iter_mut().for_each(|slot| move_to(slot, &place));
        // What the copies brought is in buffers, by which everything is ordered.
        invocation.dependencies.retain(|call| !calls.contains(call));
        invocation.after.retain(|call| !calls.contains(call));
        schedule.invocations.push(invocation);
    }
    schedule.outputs.iter_mut().for_each(|slot| move_to(slot, &place));
    schedule
}

fn move_to(slot: &mut Slot, place: &[usize]) {
    if let Slot::Buffer(at) = slot {
        *at = place[*at];
    }
}

/// The buffers of the schedule's own that a copy is to and from.
fn ends(invocation: &KernelInvocation) -> Option<(usize, usize)> {
    match (&invocation.item, &invocation.args[..]) {
        (Item::Copy, [Slot::Buffer(to), Slot::Buffer(from)]) if to != from => Some((*to, *from)),
        _ => None,
    }
}

/// For each invocation whether it is a copy whose source is written before it is read again, if ever.
fn rotated(schedule: &PreSchedule) -> Vec<bool> {
    let mut rotated = vec![false; schedule.invocations.len()];
    if !schedule.invocations.iter().any(|invocation| ends(invocation).is_some()) {
        return rotated;
    }
    // Views share memory with what they are of.
    let views = schedule.invocations.iter().filter(|invocation| matches!(invocation.item, Item::View { .. }));
    let shared: FxHashSet<Slot> = views.flat_map(|invocation| invocation.args.iter().copied()).collect();
    let mut read: FxHashSet<Slot> = schedule.outputs.iter().copied().collect();
    for (at, invocation) in schedule.invocations.iter().enumerate().rev() {
        rotated[at] = ends(invocation).is_some_and(|(to, from)| {
            let alike = schedule.buffers[to] == schedule.buffers[from];
            let alone = |at| !shared.contains(&Slot::Buffer(at));
            alike && alone(to) && alone(from) && !read.contains(&Slot::Buffer(from))
        });
        let written = invocation.item.written(&schedule.kernels, invocation.args.len());
        // A row leaves the others as they are.
        if !matches!(invocation.item, Item::Row { .. }) {
            for slot in &invocation.args[written.clone()] {
                read.remove(slot);
            }
        }
        let operands = invocation.args.iter().enumerate().filter(|(i, _)| !written.contains(i));
        read.extend(operands.map(|(_, slot)| *slot));
    }
    rotated
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::preschedule::BufferSpec;
    use svod_dtype::DType;

    fn call(item: Item, call: usize, args: [usize; 2], dependencies: Vec<usize>) -> KernelInvocation {
        let args = args.map(Slot::Buffer).to_vec();
        KernelInvocation { item, args, call, dependencies, after: vec![], fixed: vec![], nodes: vec![] }
    }

    /// Three iterations that make buffer 1 of buffer 0, and carry it on by a copy.
    fn looped(outputs: &[usize], extent: i64) -> PreSchedule {
        let spec = |n: i64| BufferSpec { dtype: DType::F32, shape: vec![n.into()], device: None };
        let step = Item::Host { function: 0, outputs: 1, shapes: [].into() };
        let once = [call(step, 0, [1, 0], vec![1]), call(Item::Copy, 1, [0, 1], vec![0])];
        PreSchedule {
            buffers: vec![spec(4), spec(extent)],
            invocations: vec![once; 3].concat(),
            outputs: outputs.iter().map(|at| Slot::Buffer(*at)).collect(),
            ..PreSchedule::default()
        }
    }

    fn args(schedule: &PreSchedule) -> Vec<Vec<Slot>> {
        schedule.invocations.iter().map(|invocation| invocation.args.clone()).collect()
    }

    #[test]
    fn b4_two_buffers_trade_places() {
        let schedule = rotate_buffers(looped(&[0], 4));
        let there = vec![Slot::Buffer(1), Slot::Buffer(0)];
        let back = vec![Slot::Buffer(0), Slot::Buffer(1)];
        assert_eq!(args(&schedule), [there.clone(), back, there]);
        assert_eq!(schedule.outputs, [Slot::Buffer(1)]);
        assert!(schedule.invocations.iter().all(|invocation| invocation.dependencies.is_empty()));
    }

    #[test]
    fn b4_what_is_read_again_is_copied() {
        // The last result is wanted in both.
        let schedule = rotate_buffers(looped(&[0, 1], 4));
        assert_eq!(schedule.invocations.iter().filter(|i| i.item == Item::Copy).count(), 1);
        assert_eq!(schedule.invocations.last().map(|i| i.call), Some(1));
        // Other buffers cannot trade places.
        let other = looped(&[0], 5);
        assert_eq!(args(&rotate_buffers(other.clone())), args(&other));
    }
}
