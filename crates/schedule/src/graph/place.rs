//! Values that are on no device, such as what follows from constants, get that of their readers.
//!
//! Afterwards a [`Op::Copy`] is a transfer between two devices, or stands directly over an operand-less
//! operation and only says where that is computed ([`is_transfer`] tells them apart). A value that
//! several devices read is computed by each of them.

use crate::graph::rewritten::Rewritten;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Device, Graph, GraphError, Op, UOp};

/// Whether a node moves memory from one device to another.
pub(crate) fn is_transfer(graph: &Graph, node: NodeIndex) -> bool {
    let of = |n: NodeIndex| &graph.nodes()[n as usize];
    matches!(of(node).op(), Op::Copy(_)) && memory(of(graph.sources(node)[0])).is_some()
}

/// Where the memory of a value is, or will be: that of a literal, which is on no device, is the host's.
fn memory(node: &UOp) -> Option<Device> {
    let literal = || node.op().leaf().map(|leaf| leaf.data().device());
    node.device().cloned().or_else(literal)
}

/// The device of a graph that has just one, counting where literals are: what is made of these alone, such as checks of
/// indices, reads them there.
pub(crate) fn only_device(graph: &Graph) -> Option<Device> {
    let mut devices = graph.nodes().iter().filter_map(memory);
    let first = devices.next()?;
    devices.all(|d| d == first).then_some(first)
}

/// The graph with its values placed; nothing where all are on one device.
pub(crate) fn place(graph: &Graph) -> Result<Option<Rewritten>, GraphError> {
    let copies = graph.nodes().iter().any(|n| matches!(n.op(), Op::Copy(_)));
    let mut devices = graph.nodes().iter().filter_map(memory);
    let first = devices.next();
    if !copies && devices.all(|other| Some(other) == first) {
        return Ok(None);
    }
    let wanted = wanted(graph);
    // What each node is: on its own device, and where others want it.
    let mut placed: FxHashMap<(NodeIndex, Option<&Device>), UOp> = FxHashMap::default();
    for at in 0..graph.len() as NodeIndex {
        let node = &graph.nodes()[at as usize];
        let own = [node.device()];
        let places: &[Option<&Device>] = if node.device().is_some() { &own } else { &wanted[at as usize] };
        for &device in places {
            let source = |s: &NodeIndex| {
                let has_own = graph.nodes()[*s as usize].device();
                let known = placed.get(&(*s, has_own.or(device))).or_else(|| placed.get(&(*s, has_own)));
                known.cloned().unwrap_or_else(|| graph.nodes()[*s as usize].clone())
            };
            let sources: SmallVec<[UOp; 3]> = graph.sources(at).iter().map(source).collect();
            let new = match (node.op(), device) {
                (Op::Copy(to), _) if memory(&sources[0]).as_ref() == Some(to) => sources[0].clone(),
                (Op::Leaf(leaf), Some(device)) if leaf.data().device() != *device => node.copy_to(device)?,
                (Op::Leaf(_), _) => node.clone(),
                (_, Some(device)) if sources.is_empty() => node.copy_to(device)?,
                _ if sources.is_empty() => node.clone(),
                _ => UOp::new(node.op().clone(), &sources)?,
            };
            new.inherit_origin(node);
            placed.insert((at, device), new);
        }
    }
    let mut became: FxHashMap<u64, UOp> = FxHashMap::default();
    for (&(at, _), new) in &placed {
        became.entry(graph.nodes()[at as usize].id()).or_insert_with(|| new.clone());
    }
    // A root is memory. Who computes a constant for itself elsewhere reads none of it.
    let root = |r: &NodeIndex| {
        let node = &graph.nodes()[*r as usize];
        let own = placed[&(*r, node.device())].clone();
        let shared = node.device().is_none() && graph.sources(*r).is_empty() && wanted[*r as usize].len() > 1;
        if shared { own.contiguous() } else { Ok(own) }
    };
    let roots: Vec<UOp> = graph.roots().iter().map(root).collect::<Result<_, _>>()?;
    Ok(Some(Rewritten { graph: Graph::new(&roots), became: vec![became.into()], decisions: Vec::new() }))
}

/// Where the readers of each node that is on no device want it; `None` of a root.
fn wanted(graph: &Graph) -> Vec<SmallVec<[Option<&Device>; 2]>> {
    let mut wanted: Vec<SmallVec<[Option<&Device>; 2]>> = vec![SmallVec::new(); graph.len()];
    let want = |wanted: &mut Vec<SmallVec<[Option<_>; 2]>>, at: NodeIndex, device| {
        let list = &mut wanted[at as usize];
        if !list.contains(&device) {
            list.push(device);
        }
    };
    for &root in graph.roots() {
        want(&mut wanted, root, None);
    }
    for at in (0..graph.len() as NodeIndex).rev() {
        let devices = match graph.nodes()[at as usize].device() {
            Some(device) => SmallVec::from_elem(Some(device), 1),
            None => wanted[at as usize].clone(),
        };
        for &source in graph.sources(at) {
            let below = &graph.nodes()[source as usize];
            if below.device().is_none() {
                devices.iter().for_each(|d| want(&mut wanted, source, *d));
            }
        }
    }
    wanted
}
