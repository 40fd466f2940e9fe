//! Loops of a known number of iterations that are steps: their calls, written out, would be too long a list.

use super::{Control, Kind, Region, Trips};
use crate::context::replaced;
use crate::error::{Error, Result};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use svod_ir::graph::{Device, Graph, LoopBody, Op, UOp};
use svod_ir::size::{Size, Variable};

/// The most iterations that are written out on a host, those of loops inside of them counted.
const MOST_ON_HOSTS: i64 = 32;

/// Likewise on other devices, which are handed a list of launches at once.
const MOST_ELSEWHERE: i64 = 1 << 12;

/// The graph with steps in place of its long loops.
pub(crate) fn as_steps(graph: Graph) -> Result<Graph> {
    if !graph.nodes().iter().any(is_long) {
        return Ok(graph);
    }
    // Results of one loop are those of one step.
    let mut known: FxHashMap<([u8; 32], Vec<u64>), Vec<UOp>> = FxHashMap::default();
    replaced(&graph, |node, operands| {
        let Op::Loop(body, output) = node.op() else { return Ok(None) };
        if !is_long(node) {
            return Ok(None);
        }
        let results = match known.entry((*body.structure(), operands.iter().map(UOp::id).collect())) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(step(body, node.device(), operands)?),
        };
        results[*output].inherit_origin(node);
        Ok(Some(results[*output].clone()))
    })
}

/// Whether a node is a long loop whose values are all on one device, and of types that steps take.
fn is_long(node: &UOp) -> bool {
    let Op::Loop(body, _) = node.op() else { return false };
    let Some(device) = body.params().first().map(|param| param.data().device()) else { return false };
    let params = body.params().iter().all(|param| param.data().device() == device && !param.dtype().is_complex());
    let is_there = |result: &UOp| result.device().is_none_or(|place| *place == device) && result.sharding().is_none();
    let results = body.results().iter().all(|result| is_there(result) && !result.dtype().is_complex());
    let most = if device.is_host() { MOST_ON_HOSTS } else { MOST_ELSEWHERE };
    params && results && iterations(body) > most
}

/// How often the innermost loop of a body is run.
fn iterations(body: &LoopBody) -> i64 {
    let inner = |node: &UOp| if let Op::Loop(body, _) = node.op() { iterations(body) } else { 1 };
    let most = Graph::new(body.results()).nodes().iter().map(inner).max().unwrap_or(1);
    body.trips().saturating_mul(most)
}

/// The results of a loop as a step, on a device unless all that it reads is on none.
fn step(body: &LoopBody, device: Option<&Device>, sources: &[UOp]) -> Result<Vec<UOp>> {
    let region = Region {
        params: body.params().to_vec(),
        results: body.results().to_vec(),
        flags: Vec::new(),
        failed: Arc::new(|_| Arc::new(Error::Stale)),
    };
    let kind = Kind::Loop {
        trips: Trips::Count(Size::from(body.trips())),
        number: Some(Variable::clone(body.var())),
        carried: body.carried(),
        sliced: 0,
        backwards: false,
    };
    let there = |value: &UOp| match device {
        Some(device) if value.place().is_none() => value.copy_to(device),
        _ => Ok(value.clone()),
    };
    let operands = sources.iter().map(there).collect::<Result<Vec<_>, _>>()?;
    Ok(UOp::host(Control::new("iterate", kind, vec![region])?, &operands)?)
}
