//! Which operands of a kernel its result may take the place of.
//!
//! An elementwise kernel reads an element and then writes the one at the same place: of what is never
//! read again, the result may be written over it. So it is of the last stage of several, as in the step of an optimizer
//! that a weight's gradient ends in: no other stage reads the weight.

use crate::calls::preschedule::{Item, Slot};
use crate::calls::schedule_graph::{Node, NodeId, ScheduleGraph};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::kernel::{Body, Kernel, Out, Stage};

/// Parameters that a kernel's last stage writes, each with one that it may be written over: of that only this stage reads
/// an element, where it writes one, in the type that it writes, before it writes it.
///
/// Of several results each has to be computed of the element that it takes the place of, by arithmetic that no compiler does
/// without: then each load is before the store, though others read the element as well.
pub fn replaceable(kernel: &Kernel) -> Vec<(usize, usize)> {
    let Some((last, others)) = kernel.stages.split_last() else { return Vec::new() };
    let Stage { body: Body::Map(values), outs, .. } = last else { return Vec::new() };
    let elsewhere = kernel.exprs.loads(&others.iter().flat_map(Stage::roots).collect::<Vec<_>>());
    let mut pairs = Vec::new();
    for (value, out) in values.iter().zip(outs) {
        let Out::Param { param, index } = out else { return Vec::new() };
        let written = &kernel.params[param.index()];
        let fits = |at: &usize| {
            let read = &kernel.params[*at];
            let there = |expr: &Expr| reads(expr, *at).is_none_or(|own| own[..] == index[..]);
            *at != param.index()
                && (read.dtype, &read.shape) == (written.dtype, &written.shape)
                && kernel.exprs.iter().all(|(_, expr)| there(expr))
                && elsewhere.iter().all(|load| reads(kernel.exprs.get(*load), *at).is_none())
                && (values.len() == 1 || follows(kernel, *value, *at))
        };
        pairs.extend((0..kernel.params.len()).filter(fits).map(|at| (param.index(), at)));
    }
    pairs
}

/// The index at which an expression reads a parameter, if it does.
fn reads(expr: &Expr, param: usize) -> Option<&[ExprId]> {
    match expr {
        Expr::Load { from: Mem::Param(p), index, .. } if p.index() == param => Some(index),
        _ => None,
    }
}

/// Whether a value is computed of a parameter's element whatever the others are: what is chosen by a comparison of the element is.
fn follows(kernel: &Kernel, value: ExprId, param: usize) -> bool {
    use Alu::{Add, Div, Eq, Lt, Max, Min, Mul, MulAdd, Ne, Neg, Recip, Sqrt, Sub, Where};
    let mut follows = vec![false; value.index() + 1];
    for (id, expr) in kernel.exprs.iter().take(follows.len()) {
        let float = kernel.exprs.dtype(id).is_float();
        follows[id.index()] = match expr {
            Expr::Load { valid: None, .. } => float && reads(expr, param).is_some(),
            Expr::Cast(_, operand) => float && follows[operand.index()],
            Expr::Alu(Add | Sub | Mul | Div | MulAdd | Neg | Recip | Sqrt | Max | Min, operands) => {
                float && operands.iter().any(|operand| follows[operand.index()])
            }
            Expr::Alu(Eq | Ne | Lt, operands) => operands.iter().any(|operand| follows[operand.index()]),
            Expr::Alu(Where, operands) => follows[operands[0].index()],
            _ => false,
        };
    }
    follows[value.index()]
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
    let last = slots.len().saturating_sub(1);
    let reads = (0..last).filter(|at| slots[*at] == place).all(|at| allowed.contains(&(last, at)));
    let own = slots.last() == Some(&Slot::Buffer(new)) && ranges == loops;
    let (spec, old_spec) = (&schedule.buffers[new], &schedule.buffers[at]);
    let same = (spec.dtype, &spec.shape) == (old_spec.dtype, &old_spec.shape);
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
        args[last] = ready;
    }
    true
}
