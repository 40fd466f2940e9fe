//! Values that are spread over devices become values of single devices.
//!
//! Each node becomes one node per device over what the device has; copies appear where a value is laid
//! out anew, gathered, or reduced along the axis that is split. Where operations allow it was checked when
//! the nodes were built (`svod_ir::graph`), so that nothing here can be refused. A reduction along the split
//! axis stays a set of addends until it is known whether all devices need all of it.

use crate::graph::collective::{Route, all_gather, all_reduce, reduce_scatter, shrunk};
use crate::graph::rewritten::{Became, Rewritten};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use svod_ir::alu::Alu;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Device, Graph, GraphError, Op, Sharding, Split, UOp};
use svod_ir::size::Size;

/// What a node became.
enum Local {
    /// A value of one device, or of none.
    Whole(UOp),
    /// What each device has: parts of the sharding's axis, or copies.
    Parts(Vec<UOp>, Arc<Sharding>),
    /// On each device an addend of the value that all of them are to have.
    Addends(Alu, Vec<UOp>, Arc<Sharding>),
}

impl Local {
    /// What each device has.
    fn each(&self) -> &[UOp] {
        match self {
            Local::Whole(node) => std::slice::from_ref(node),
            Local::Parts(parts, _) | Local::Addends(_, parts, _) => parts,
        }
    }
}

/// What a node is to those who need what each device has of it.
enum Settled {
    Whole(UOp),
    Parts(Vec<UOp>, Arc<Sharding>),
}

/// The graph without shardings; nothing where it has none. Its roots are on single devices.
pub(crate) fn lower_shards(graph: &Graph) -> Result<Option<Rewritten>, GraphError> {
    if graph.nodes().iter().all(|node| node.sharding().is_none()) {
        return Ok(None);
    }
    let mut lowered = Lowering { graph, nodes: Vec::with_capacity(graph.len()), gathered: FxHashMap::default() };
    for at in 0..graph.len() as NodeIndex {
        let local = lowered.node(at)?;
        local.each().iter().for_each(|node| node.inherit_origin(&graph.nodes()[at as usize]));
        lowered.nodes.push(local);
    }
    let roots = graph.roots().iter().map(|r| lowered.whole(*r)).collect::<Result<Vec<_>, _>>()?;
    let mut became = Became::default();
    for (at, (node, local)) in graph.nodes().iter().zip(&lowered.nodes).enumerate() {
        let combined = lowered.gathered.get(&(at as NodeIndex)).into_iter().flatten();
        became.add(node.id(), &local.each().iter().chain(combined).cloned().collect::<Vec<UOp>>());
    }
    Ok(Some(Rewritten { graph: Graph::new(&roots), became: vec![became], decisions: Vec::new() }))
}

struct Lowering<'g> {
    graph: &'g Graph,
    nodes: Vec<Local>,
    /// Addends that were combined, by their node.
    gathered: FxHashMap<NodeIndex, Vec<UOp>>,
}

impl Lowering<'_> {
    fn node(&mut self, at: NodeIndex) -> Result<Local, GraphError> {
        let node = &self.graph.nodes()[at as usize];
        let sources = self.graph.sources(at).to_vec();
        match (node.op(), node.sharding()) {
            (Op::Copy(to), _) => self.gather(sources[0], to).map(Local::Whole),
            (Op::Part(_, i), _) => match self.settled(sources[0])? {
                Settled::Whole(node) => Ok(Local::Whole(node)),
                Settled::Parts(mut parts, _) => Ok(Local::Whole(parts.swap_remove(*i))),
            },
            (Op::Multi(of), _) => {
                let parts = sources.iter().map(|s| self.whole(*s)).collect::<Result<_, _>>()?;
                Ok(Local::Parts(parts, of.clone()))
            }
            (Op::Shard(to), _) => Ok(Local::Parts(self.lay_out(sources[0], to)?, to.clone())),
            // What is spread is not ordered: it is what it was, and what is computed again of it is shared.
            (Op::After, _) => Ok(match self.settled(sources[0])? {
                Settled::Whole(node) => Local::Whole(node),
                Settled::Parts(parts, of) => Local::Parts(parts, of),
            }),
            (_, None) if sources.is_empty() => Ok(Local::Whole(node.clone())),
            (op, None) => {
                let sources = sources.iter().map(|s| self.whole(*s)).collect::<Result<Vec<_>, _>>()?;
                UOp::new(op.clone(), &sources).map(Local::Whole)
            }
            (op, Some(of)) => self.spread(at, op, of),
        }
    }

    /// The node of each device.
    fn spread(&mut self, at: NodeIndex, op: &Op, of: &Arc<Sharding>) -> Result<Local, GraphError> {
        let node = &self.graph.nodes()[at as usize];
        let sources = self.graph.sources(at).to_vec();
        let operands: Vec<(Vec<UOp>, Option<Split>)> =
            sources.iter().map(|s| self.operand(*s, of)).collect::<Result<_, _>>()?;
        let from = operands.iter().find_map(|(_, split)| split.clone());
        let local = |i: usize| -> Result<UOp, GraphError> {
            let mut own = Vec::with_capacity(operands.len());
            for (operand, (parts, split)) in operands.iter().enumerate() {
                let positions = from.as_ref().filter(|f| split.is_none() && follows(op, operand, f.axis));
                own.push(match positions {
                    Some(from) => shrunk(&parts[i], from, i)?,
                    None => parts[i].clone(),
                });
            }
            let own_op = of_part(op, node, of, from.as_ref(), i);
            // What each device has is the whole where an operation does nothing to it.
            match own_op {
                Op::Reshape(shape) => own[0].reshape(shape),
                Op::Shrink(to) => own[0].shrink(to),
                op => UOp::new(op, &own),
            }
        };
        let parts = (0..of.devices().len()).map(local).collect::<Result<Vec<_>, _>>()?;
        match (op, from) {
            (Op::Reduce(by, axes), Some(from)) if axes.contains(&from.axis) => {
                let by = by.alu().expect("a reduction along a split axis has a scalar operation, or is refused");
                Ok(Local::Addends(by, parts, of.clone()))
            }
            _ => Ok(Local::Parts(parts, of.clone())),
        }
    }

    /// What each device has of an operand, and how that is split.
    fn operand(&mut self, at: NodeIndex, of: &Sharding) -> Result<(Vec<UOp>, Option<Split>), GraphError> {
        Ok(match self.settled(at)? {
            Settled::Whole(node) => (vec![node; of.devices().len()], None),
            Settled::Parts(parts, sharding) => (parts, sharding.split().cloned()),
        })
    }

    /// A value that is on one device, or on none.
    fn whole(&mut self, at: NodeIndex) -> Result<UOp, GraphError> {
        Ok(match self.settled(at)? {
            Settled::Whole(node) => node,
            Settled::Parts(mut parts, _) => parts.swap_remove(0),
        })
    }

    /// A value whose addends are combined.
    fn settled(&mut self, at: NodeIndex) -> Result<Settled, GraphError> {
        let (by, addends, sharding) = match &self.nodes[at as usize] {
            Local::Whole(node) => return Ok(Settled::Whole(node.clone())),
            Local::Parts(parts, sharding) => return Ok(Settled::Parts(parts.clone(), sharding.clone())),
            Local::Addends(by, addends, sharding) => (*by, addends, sharding.clone()),
        };
        let parts = match self.gathered.get(&at) {
            Some(known) => known.clone(),
            None => {
                let devices = sharding.devices();
                let whole = all_reduce(by, addends, devices, Route::of(&addends[0], devices.len()))?;
                self.gathered.insert(at, whole.clone());
                whole
            }
        };
        Ok(Settled::Parts(parts, sharding))
    }

    /// The value on one device.
    fn gather(&mut self, at: NodeIndex, to: &Device) -> Result<UOp, GraphError> {
        let (parts, sharding) = match self.settled(at)? {
            Settled::Whole(node) => return node.copy_to(to),
            Settled::Parts(parts, sharding) => (parts, sharding),
        };
        match sharding.split() {
            None => {
                let own = sharding.devices().iter().position(|d| d == to);
                parts[own.unwrap_or(0)].copy_to(to)
            }
            Some(split) => {
                let copies: Vec<UOp> = parts.iter().map(|p| p.copy_to(to)).collect::<Result<_, _>>()?;
                UOp::concat(&copies, split.axis)
            }
        }
    }

    /// What each device has of a value that is laid out anew.
    fn lay_out(&mut self, at: NodeIndex, to: &Sharding) -> Result<Vec<UOp>, GraphError> {
        let devices = to.devices();
        if let (Local::Addends(by, addends, _), Some(split)) = (&self.nodes[at as usize], to.split())
            && !self.gathered.contains_key(&at)
        {
            return reduce_scatter(*by, addends, devices, split, Route::of(&addends[0], devices.len()));
        }
        let (parts, from) = match self.settled(at)? {
            Settled::Parts(parts, from) => (parts, from),
            Settled::Whole(node) => {
                let part = |i: usize| match to.split() {
                    Some(split) => shrunk(&node, split, i)?.copy_to(&devices[i]),
                    None => node.copy_to(&devices[i]),
                };
                return (0..devices.len()).map(part).collect();
            }
        };
        match (from.split(), to.split()) {
            (from, to) if from == to => Ok(parts),
            (None, Some(to)) => (0..devices.len()).map(|i| shrunk(&parts[i], to, i)).collect(),
            (Some(from), None) => {
                all_gather(&parts, devices, from.axis, Route::of(&self.graph.nodes()[at as usize], devices.len()))
            }
            (Some(from), Some(to)) if from.axis != to.axis => (0..devices.len())
                .map(|i| {
                    let mine = parts.iter().map(|p| shrunk(p, to, i)?.copy_to(&devices[i]));
                    UOp::concat(&mine.collect::<Result<Vec<_>, _>>()?, from.axis)
                })
                .collect(),
            // Other parts of the same axis.
            (Some(from), Some(to)) => all_gather(&parts, devices, from.axis, Route::Naive)?
                .iter()
                .enumerate()
                .map(|(i, whole)| shrunk(whole, to, i))
                .collect(),
            (None, None) => Ok(parts),
        }
    }
}

/// Whether an operand that each device has whole is read at the positions of the device's part.
fn follows(op: &Op, operand: usize, axis: usize) -> bool {
    match op {
        Op::Take(_) => false,
        Op::Gather(over) => operand == 1 || axis != *over,
        _ => true,
    }
}

/// The operation of device `i`, whose operands are parts as `from` says.
fn of_part(op: &Op, node: &UOp, of: &Sharding, from: Option<&Split>, i: usize) -> Op {
    let Some(from) = from else { return op.clone() };
    let last = from.extents.len() - 1;
    match op {
        Op::Reshape(_) => Op::Reshape(of.part_shape(node.shape(), i)),
        Op::Expand(_) => Op::Expand(of.part_shape(node.shape(), i)),
        Op::Pad(by, fill) => {
            let mut by = by.to_vec();
            let (before, after) = &mut by[from.axis];
            if i > 0 {
                *before = Size::ZERO;
            }
            if i < last {
                *after = Size::ZERO;
            }
            Op::Pad(by.into(), *fill)
        }
        Op::Shrink(to) => {
            let (mut to, part) = (to.to_vec(), from.range(i));
            let (first, end) = &to[from.axis];
            to[from.axis] = match (part.start.as_usize(), part.end.as_usize()) {
                (Some(start), Some(last)) => {
                    let within = |bound: &Size| bound.as_usize().map_or(0, |b| b.clamp(start, last) - start);
                    (within(first).into(), within(end).into())
                }
                // All of an axis of symbolic extent: of others it was checked before.
                _ => (Size::ZERO, from.extents[i].clone()),
            };
            Op::Shrink(to.into())
        }
        op => op.clone(),
    }
}
