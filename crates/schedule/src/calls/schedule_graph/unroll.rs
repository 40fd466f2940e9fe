//! From calls in order to invocations: arguments resolved, loops unrolled ahead of time.

use super::order::{Event, Order};
use super::{Node, NodeId, RangeKind, ScheduleGraph, ScheduleGraphError};
use crate::calls::preschedule::{BufferSpec, Item, KernelInvocation, PreSchedule, Slot};
use crate::costs::limits::kernels;
use rustc_hash::FxHashMap;
use svod_ir::size::{BoundVariable, Variable};

/// A call with its arguments resolved.
struct Call {
    invocation: KernelInvocation,
    /// Variables that have the value of a loop.
    loops: Vec<(String, usize)>,
}

pub(super) fn unroll(mut graph: ScheduleGraph, order: &Order) -> Result<PreSchedule, ScheduleGraphError> {
    let call = |event: &Event| if let Event::Call(at) = event { Some(*at) } else { None };
    let calls: Vec<usize> = order.events.iter().filter_map(call).collect();
    let number: FxHashMap<usize, usize> = calls.iter().enumerate().map(|(number, at)| (*at, number)).collect();
    let mut bindings: Vec<BoundVariable> = Vec::new();
    let mut resolved: FxHashMap<usize, Call> = FxHashMap::default();
    for &at in &calls {
        let Node::Call { item, args, ranges } = graph.nodes[at].clone() else { continue };
        if let Item::Kernel(kernel) = item
            && kernel >= graph.kernels.len()
        {
            return Err(ScheduleGraphError::UnknownKernel { call: at, kernel, count: graph.kernels.len() });
        }
        let (mut slots, mut loops) = (Vec::new(), Vec::new());
        for (position, arg) in args.into_iter().enumerate() {
            match argument(&mut graph, at, position, arg)? {
                Argument::Slot(slot) => slots.push(slot),
                Argument::Variable(var, Value::Loop(range)) => {
                    if !ranges.contains(&NodeId(range)) {
                        let var = var.name().to_owned();
                        return Err(ScheduleGraphError::InactiveLoop { call: at, var, range });
                    }
                    check_bounds(&graph, &var, range)?;
                    loops.push((var.name().to_owned(), range));
                }
                Argument::Variable(_, Value::User) => {}
                Argument::Variable(var, Value::Number(value)) => bind(&mut bindings, &var, value)?,
            }
        }
        let edges = order.edges.get(&at);
        let numbers = |calls: &Vec<usize>| -> Vec<usize> {
            let mut numbers: Vec<usize> = calls.iter().map(|call| number[call]).collect();
            numbers.sort_unstable();
            numbers
        };
        let invocation = KernelInvocation {
            item,
            args: slots,
            call: number[&at],
            dependencies: edges.map(|e| numbers(&e.reads)).unwrap_or_default(),
            after: edges.map(|e| numbers(&e.after)).unwrap_or_default(),
            fixed: Vec::new(),
            nodes: graph.computes.get(&NodeId(at)).cloned().unwrap_or_default(),
        };
        resolved.insert(at, Call { invocation, loops });
    }
    let invocations = run(&graph, &order.events, &resolved)?;
    let outputs = graph.outputs.iter().map(|node| graph.memory(*node)).collect::<Result<_, _>>()?;
    let ScheduleGraph { kernels, buffers, decisions, .. } = graph;
    Ok(PreSchedule { kernels, buffers, numbers: Vec::new(), invocations, outputs, bindings, decisions })
}

/// Follows the events, each loop as often as it says.
fn run(
    graph: &ScheduleGraph,
    events: &[Event],
    calls: &FxHashMap<usize, Call>,
) -> Result<Vec<KernelInvocation>, ScheduleGraphError> {
    let bounds = |range: usize| match &graph.nodes[range] {
        Node::Range { min, max, .. } => (min.as_const().unwrap_or(0), max.as_const().unwrap_or(0)),
        _ => (0, 0),
    };
    // Where each open loop began, and its value.
    let mut open: Vec<(usize, usize, i64)> = Vec::new();
    let mut invocations = Vec::new();
    let mut at = 0;
    while let Some(event) = events.get(at) {
        at += 1;
        match *event {
            Event::Open(range) => open.push((range, at, bounds(range).0)),
            Event::Close(range) => {
                if let Some((_, begin, value)) = open.last_mut() {
                    if *value < bounds(range).1 {
                        *value += 1;
                        at = *begin;
                    } else {
                        open.pop();
                    }
                }
            }
            Event::Call(call) => {
                let Call { invocation, loops } = &calls[&call];
                let value = |range: usize| open.iter().find(|(r, ..)| *r == range).map(|(_, _, value)| *value);
                let fixed = loops.iter().filter_map(|(name, range)| Some((name.clone(), value(*range)?))).collect();
                invocations.push(KernelInvocation { fixed, ..invocation.clone() });
                if invocations.len() > kernels::MAX_CALLS {
                    let iterations = open.iter().map(|(range, ..)| {
                        let (min, max) = bounds(*range);
                        max.saturating_sub(min).saturating_add(1)
                    });
                    let iterations = iterations.collect();
                    return Err(ScheduleGraphError::TooLong { limit: kernels::MAX_CALLS, iterations });
                }
            }
        }
    }
    Ok(invocations)
}

/// What an argument of a call is.
enum Argument {
    Slot(Slot),
    Variable(Variable, Value),
}

/// Where a variable's value comes from.
enum Value {
    Loop(usize),
    User,
    Number(i64),
}

fn argument(
    graph: &mut ScheduleGraph,
    call: usize,
    position: usize,
    node: NodeId,
) -> Result<Argument, ScheduleGraphError> {
    let unsupported = |kind| ScheduleGraphError::UnsupportedArgument { call, position, node: node.0, kind };
    match graph.nodes.get(node.0) {
        Some(Node::Bind { var, value }) => {
            let (var, value) = (*var, *value);
            let var = match graph.nodes.get(var.0) {
                Some(Node::DefineVar(variable)) => variable.clone(),
                other => {
                    let kind = other.map_or("nothing", Node::kind);
                    return Err(ScheduleGraphError::BindWithoutDefineVar { bind: node.0, var: var.0, kind });
                }
            };
            let value = match graph.nodes.get(value.0) {
                Some(Node::Const(number)) => Value::Number(*number),
                Some(Node::Range { kind: RangeKind::Loop, .. }) => Value::Loop(value.0),
                Some(Node::Range { kind: RangeKind::User, .. }) => Value::User,
                _ => return Err(ScheduleGraphError::UndeclaredLoop { call, range: value.0 }),
            };
            Ok(Argument::Variable(var, value))
        }
        Some(Node::Scratch { dtype, count }) => {
            let (dtype, count) = (*dtype, count.clone().ok_or(ScheduleGraphError::UnsizedScratch(node.0))?);
            graph.buffers.push(BufferSpec { dtype, shape: vec![count], device: None });
            Ok(Argument::Slot(Slot::Buffer(graph.buffers.len() - 1)))
        }
        Some(Node::Buffer(_) | Node::Stack(_) | Node::Select(..) | Node::After { .. }) => {
            graph.memory(node).map(Argument::Slot)
        }
        other => Err(unsupported(other.map_or("nothing", Node::kind))),
    }
}

/// Checks that a variable may have all values of a loop.
fn check_bounds(graph: &ScheduleGraph, var: &Variable, range: usize) -> Result<(), ScheduleGraphError> {
    let Node::Range { min, max, .. } = &graph.nodes[range] else { return Ok(()) };
    let outside = [min, max].into_iter().filter_map(|n| n.as_const()).find(|n| var.check(*n).is_err());
    match outside {
        None => Ok(()),
        Some(value) => Err(out_of_bounds(var, value)),
    }
}

fn out_of_bounds(var: &Variable, value: i64) -> ScheduleGraphError {
    let why = format!("is outside [{}, {}]", var.min(), var.max());
    ScheduleGraphError::BadValue { name: var.name().to_owned(), value, why }
}

fn bind(bindings: &mut Vec<BoundVariable>, var: &Variable, value: i64) -> Result<(), ScheduleGraphError> {
    match bindings.iter().find(|b| b.variable().name() == var.name()) {
        Some(known) if known.value() != value => {
            let why = format!("is bound to {} as well", known.value());
            return Err(ScheduleGraphError::BadValue { name: var.name().to_owned(), value, why });
        }
        Some(_) => {}
        None => bindings.push(var.bind(value).map_err(|_| out_of_bounds(var, value))?),
    }
    Ok(())
}
