//! Which operands of a kernel its result may take the place of.
//!
//! An elementwise kernel reads an element and then writes the one at the same place: of what is never
//! read again, the result may be written over it.

use crate::preschedule::{Item, Slot};
use crate::schedule_graph::{Node, NodeId, ScheduleGraph};
use svod_ir::expr::{Expr, Mem, ParamId};
use svod_ir::kernel::{Body, Kernel, Out};

/// The parameters, the last one being written, that the kernel reads only at the place that it writes,
/// in the type that it writes, before it writes it.
pub fn replaceable(kernel: &Kernel) -> Vec<usize> {
    let [stage] = &kernel.stages[..] else { return Vec::new() };
    let (Body::Map(_), [Out::Param { param, index }]) = (&stage.body, &stage.outs[..]) else { return Vec::new() };
    let written = &kernel.params[param.index()];
    let fits = |at: &usize| {
        let read = &kernel.params[*at];
        let there = |expr: &Expr| match expr {
            Expr::Load { from: Mem::Param(ParamId(p)), index: own, .. } if *p as usize == *at => own[..] == index[..],
            _ => true,
        };
        *at != param.index()
            && (read.dtype, &read.shape) == (written.dtype, &written.shape)
            && kernel.exprs.iter().all(|(_, expr)| there(expr))
    };
    (0..kernel.params.len()).filter(fits).collect()
}

/// Lets the call that makes `result` write it over `old`, where that is the last call from node `begin` on
/// that reads `old`, reads it only where it writes, and is in just these loops.
pub(crate) fn write(schedule: &mut ScheduleGraph, result: NodeId, old: NodeId, begin: usize, loops: &[NodeId]) -> bool {
    let (Ok(Slot::Buffer(new)), Ok(place)) = (schedule.memory(result), schedule.memory(old)) else { return false };
    let Slot::Buffer(at) = place else { return false };
    let Some(&maker) = schedule.readers(result, begin).first() else { return false };
    let Node::Call { item: Item::Kernel(kernel), args, ranges } = &schedule.nodes[maker.0] else { return false };
    let slots: Vec<Slot> = args.iter().filter_map(|arg| schedule.memory(*arg).ok()).collect();
    let allowed = replaceable(&schedule.kernels[*kernel]);
    let reads = (0..slots.len().saturating_sub(1)).filter(|at| slots[*at] == place).all(|at| allowed.contains(&at));
    let own = slots.last() == Some(&Slot::Buffer(new)) && ranges == loops;
    let (spec, old_spec) = (&schedule.buffers[new], &schedule.buffers[at]);
    let same = (spec.dtype, &spec.shape) == (old_spec.dtype, &old_spec.shape);
    let written = slots.len().saturating_sub(1);
    let mut readers = schedule.readers(old, begin);
    if !(reads && own && same) || readers.iter().any(|reader| *reader > maker) {
        return false;
    }
    for node in &mut schedule.nodes[begin..] {
        if *node == Node::Buffer(Slot::Buffer(new)) {
            *node = Node::Buffer(place);
        }
    }
    readers.retain(|reader| *reader != maker);
    let memory = schedule.slot(place);
    let ready = schedule.after(memory, &readers);
    if let Node::Call { args, .. } = &mut schedule.nodes[maker.0] {
        args[written] = ready;
    }
    true
}
