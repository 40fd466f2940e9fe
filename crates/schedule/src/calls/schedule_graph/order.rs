//! The order of calls (Kahn 1962): each after what it reads and after what it was told to follow; among
//! those that are ready, the earliest in the graph first.
//!
//! A loop is a scope: once it is entered, its calls come without others between them, until it is left.
//! What a call inside follows that is outside comes before the loop, and what follows a call inside
//! without being there comes after it.

use super::{Node, NodeId, RangeKind, ScheduleGraph, ScheduleGraphError};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use svod_ir::pass::visit;

/// One thing after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Event {
    /// A loop, by its range, begins.
    Open(usize),
    /// A call.
    Call(usize),
    /// A loop ends.
    Close(usize),
}

/// The order, and for each call in it the calls whose results it reads and those that it follows.
pub(super) struct Order {
    pub events: Vec<Event>,
    pub edges: FxHashMap<usize, Edges>,
}

/// What a call follows, by node; a loop's end is a call of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Edges {
    pub reads: Vec<usize>,
    pub after: Vec<usize>,
}

pub(super) fn order(graph: &ScheduleGraph) -> Result<Order, ScheduleGraphError> {
    let loops = Loops::of(graph)?;
    let edges = edges(graph)?;
    let events = sort(graph, &loops, &edges)?;
    let follows = |(call, edges): (usize, Vec<(Cause, bool)>)| {
        let mut own = Edges::default();
        for (cause, data) in edges {
            let list = if data { &mut own.reads } else { &mut own.after };
            list.push(cause.call);
        }
        for list in [&mut own.reads, &mut own.after] {
            list.sort_unstable();
            list.dedup();
        }
        (call, own)
    };
    Ok(Order { events, edges: edges.into_iter().map(follows).collect() })
}

/// The loops of a graph: by range, those around it.
struct Loops(FxHashMap<usize, Vec<usize>>);

impl Loops {
    /// The loops, checked by themselves and against calls and ends.
    fn of(graph: &ScheduleGraph) -> Result<Loops, ScheduleGraphError> {
        let mut around: FxHashMap<usize, Option<Vec<usize>>> = FxHashMap::default();
        for (at, node) in graph.nodes.iter().enumerate() {
            if let Node::Range { min, max, kind: RangeKind::Loop } = node {
                let (Some(first), Some(last)) = (min.as_const(), max.as_const()) else {
                    let (min, max) = (min.clone(), max.clone());
                    return Err(ScheduleGraphError::SymbolicBounds { range: at, min, max });
                };
                if last < first {
                    return Err(ScheduleGraphError::EmptyLoop { range: at, min: first, max: last });
                }
                around.insert(at, None);
            }
        }
        for (call, node) in graph.nodes.iter().enumerate() {
            let Node::Call { ranges, .. } = node else { continue };
            for (depth, range) in ranges.iter().enumerate() {
                let outer: Vec<usize> = ranges[..depth].iter().map(|r| r.0).collect();
                let known = around.get_mut(&range.0).filter(|_| !outer.contains(&range.0));
                match known.ok_or(ScheduleGraphError::UndeclaredLoop { call, range: range.0 })? {
                    Some(known) if *known == outer => {}
                    Some(_) => return Err(ScheduleGraphError::Nesting { call, range: range.0 }),
                    unknown => *unknown = Some(outer),
                }
            }
        }
        let mut open: Vec<usize> = around.keys().copied().collect();
        open.sort_unstable();
        for (end, node) in graph.nodes.iter().enumerate() {
            let Node::End { call, ranges } = node else { continue };
            let Some(Node::Call { ranges: inside, .. }) = graph.nodes.get(call.0) else {
                return Err(ScheduleGraphError::EndOfUnknownCall { end, call: call.0 });
            };
            let [range] = ranges[..] else {
                return Err(ScheduleGraphError::SeveralLoops { end, count: ranges.len() });
            };
            if !inside.contains(&range) {
                return Err(ScheduleGraphError::InactiveEnd { end, range: range.0, call: call.0 });
            }
            open.retain(|r| *r != range.0);
        }
        match open.first() {
            Some(range) => Err(ScheduleGraphError::NeverClosed(*range)),
            None => Ok(Loops(around.into_iter().map(|(range, outer)| (range, outer.unwrap_or_default())).collect())),
        }
    }

    /// The loops around an event, outermost first.
    fn around(&self, graph: &ScheduleGraph, event: Event) -> Vec<usize> {
        match event {
            Event::Open(range) | Event::Close(range) => self.0[&range].clone(),
            Event::Call(call) => match &graph.nodes[call] {
                Node::Call { ranges, .. } => ranges.iter().map(|r| r.0).collect(),
                _ => Vec::new(),
            },
        }
    }
}

/// What something follows: a call, or a loop of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Cause {
    event: Event,
    call: usize,
}

/// What each call follows, and whether it reads a result of it.
fn edges(graph: &ScheduleGraph) -> Result<FxHashMap<usize, Vec<(Cause, bool)>>, ScheduleGraphError> {
    let mut edges: FxHashMap<usize, Vec<(Cause, bool)>> = FxHashMap::default();
    let inside = calls_inside(graph);
    for (at, node) in graph.nodes.iter().enumerate() {
        visit(1);
        match node {
            Node::Call { args, .. } => {
                let found = causes(graph, at, args.iter().copied())?;
                edges.entry(at).or_default().extend(found);
            }
            Node::After { dependencies, .. } => {
                dependencies.iter().try_for_each(|d| legal(graph, at, *d))?;
                let calls: Vec<Cause> = dependencies.iter().filter_map(|d| cause(graph, *d)).collect();
                let others = dependencies.iter().copied().filter(|d| cause(graph, *d).is_none());
                for (earlier, _) in causes(graph, at, others)? {
                    for later in &calls {
                        // Of a loop, all calls follow.
                        let own = [later.call];
                        let followers = match later.event {
                            Event::Close(range) => inside.get(&range).map_or(&[][..], Vec::as_slice),
                            _ => &own,
                        };
                        visit(followers.len());
                        for call in followers {
                            edges.entry(*call).or_default().push((earlier, false));
                        }
                    }
                }
            }
            Node::Store { call, .. } if !graph.is_call(*call) => {
                return Err(ScheduleGraphError::UnknownCall { node: at, call: call.0 });
            }
            _ => {}
        }
    }
    for (call, causes) in &mut edges {
        causes.retain(|(cause, _)| cause.event != Event::Call(*call));
    }
    Ok(edges)
}

/// The calls inside of each loop, however deep.
fn calls_inside(graph: &ScheduleGraph) -> FxHashMap<usize, Vec<usize>> {
    let mut inside: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for (at, node) in graph.nodes.iter().enumerate() {
        if let Node::Call { ranges, .. } = node {
            ranges.iter().for_each(|range| inside.entry(range.0).or_default().push(at));
        }
    }
    inside
}

/// The call or the end of a loop that a node is.
fn cause(graph: &ScheduleGraph, node: NodeId) -> Option<Cause> {
    match graph.nodes.get(node.0)? {
        Node::Call { .. } => Some(Cause { event: Event::Call(node.0), call: node.0 }),
        Node::End { call, ranges } => Some(Cause { event: Event::Close(ranges.first()?.0), call: call.0 }),
        _ => None,
    }
}

/// Whether an `after` may name this.
fn legal(graph: &ScheduleGraph, node: usize, dependency: NodeId) -> Result<(), ScheduleGraphError> {
    let dependency = dependency.0;
    match graph.nodes.get(dependency) {
        None => Err(ScheduleGraphError::UnknownCall { node, call: dependency }),
        Some(Node::Call { .. } | Node::End { .. } | Node::Store { .. } | Node::After { .. }) => Ok(()),
        Some(other) => Err(ScheduleGraphError::IllegalDependency { node, dependency, kind: other.kind() }),
    }
}

/// What the values below these nodes wait for, and whether that makes them: values that a node only has to come after
/// are not read by who reads the node.
fn causes(
    graph: &ScheduleGraph,
    of: usize,
    nodes: impl Iterator<Item = NodeId>,
) -> Result<Vec<(Cause, bool)>, ScheduleGraphError> {
    let mut work: Vec<(NodeId, bool)> = nodes.map(|node| (node, true)).collect();
    let mut found: Vec<(Cause, bool)> = Vec::new();
    let mut seen: FxHashSet<(NodeId, bool)> = FxHashSet::default();
    while let Some((node, data)) = work.pop() {
        visit(1);
        if !seen.insert((node, data)) {
            continue;
        }
        match graph.nodes.get(node.0) {
            Some(Node::After { value, dependencies }) => {
                work.push((*value, data));
                for dependency in dependencies {
                    match cause(graph, *dependency) {
                        Some(cause) => found.push((cause, data)),
                        None => work.push((*dependency, false)),
                    }
                }
            }
            Some(Node::Stack(parts)) => work.extend(parts.iter().map(|part| (*part, data))),
            Some(Node::Select(stack, _)) => work.push((*stack, data)),
            Some(_) => {}
            None => return Err(ScheduleGraphError::UnknownCall { node: of, call: node.0 }),
        }
    }
    Ok(found)
}

fn sort(
    graph: &ScheduleGraph,
    loops: &Loops,
    edges: &FxHashMap<usize, Vec<(Cause, bool)>>,
) -> Result<Vec<Event>, ScheduleGraphError> {
    let mut followers: FxHashMap<Event, Vec<Event>> = FxHashMap::default();
    let mut waits: FxHashMap<Event, usize> = FxHashMap::default();
    let mut edge = |from: Event, to: Event| {
        followers.entry(from).or_default().push(to);
        *waits.entry(to).or_default() += 1;
        waits.entry(from).or_default();
    };
    for (range, outer) in &loops.0 {
        edge(Event::Open(*range), Event::Close(*range));
        if let Some(parent) = outer.last() {
            edge(Event::Open(*parent), Event::Open(*range));
            edge(Event::Close(*range), Event::Close(*parent));
        }
    }
    let calls = (0..graph.nodes.len()).filter(|at| matches!(graph.nodes[*at], Node::Call { .. }));
    let calls: Vec<usize> = calls.collect();
    for &call in &calls {
        let inside = loops.around(graph, Event::Call(call));
        if let Some(range) = inside.last() {
            edge(Event::Open(*range), Event::Call(call));
            edge(Event::Call(call), Event::Close(*range));
        }
        for (cause, _) in edges.get(&call).into_iter().flatten() {
            let outside = loops.around(graph, cause.event);
            let common = inside.iter().zip(&outside).take_while(|(a, b)| a == b).count();
            let from = outside.get(common).map_or(cause.event, |range| Event::Close(*range));
            let to = inside.get(common).map_or(Event::Call(call), |range| Event::Open(*range));
            edge(from, to);
        }
    }
    for &call in &calls {
        waits.entry(Event::Call(call)).or_default();
    }

    // A scope's events that are ready, by position; the key of no loop is none.
    type Ready = BinaryHeap<Reverse<(usize, Event)>>;
    let scope = |event: Event| match event {
        Event::Close(range) => Some(range),
        _ => loops.around(graph, event).last().copied(),
    };
    let key = |event: Event| match event {
        Event::Open(at) | Event::Call(at) => (at, event),
        Event::Close(_) => (usize::MAX, event),
    };
    let mut ready: FxHashMap<Option<usize>, Ready> = FxHashMap::default();
    for (event, _) in waits.iter().filter(|(_, waits)| **waits == 0) {
        ready.entry(scope(*event)).or_default().push(Reverse(key(*event)));
    }
    let mut inside: Vec<usize> = Vec::new();
    let mut order = Vec::with_capacity(waits.len());
    while let Some(Reverse((_, event))) = ready.get_mut(&inside.last().copied()).and_then(BinaryHeap::pop) {
        order.push(event);
        match event {
            Event::Open(range) => inside.push(range),
            Event::Close(_) => drop(inside.pop()),
            Event::Call(_) => {}
        }
        for next in followers.remove(&event).unwrap_or_default() {
            let left = waits.entry(next).or_default();
            *left -= 1;
            if *left == 0 {
                ready.entry(scope(next)).or_default().push(Reverse(key(next)));
            }
        }
    }
    if order.len() < waits.len() {
        let done = |call: &usize| !order.contains(&Event::Call(*call));
        return Err(ScheduleGraphError::Cycle(calls.into_iter().filter(done).collect()));
    }
    Ok(order)
}
