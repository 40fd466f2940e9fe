//! Are indices inside of their dimensions?
//!
//! What is known when an operation is built is checked there. This file checks, for a whole graph,
//! what became known since, what a plan's inputs are given, and, by an extra output of the plan for
//! each lookup that may go wrong, what the plan computes. Of an input on another device such an output tells, too: to
//! read its content would wait for all that the device is at work on.

use std::collections::HashMap;

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::outline::uniform;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, Leaf, Op, Origin, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;
use svod_runtime::{Feed, Memory};

use crate::error::{Result, TensorError};
use crate::extremes;
use crate::operand::size_value;
use crate::read::is_known;
use crate::tensor::Tensor;

/// The lookups of a graph that remain to be checked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lookups {
    /// Those by indices that an input of the plan holds.
    inputs: Vec<Given>,
    /// By the position of the extra output that tells of it.
    computed: Vec<(usize, Lookup)>,
    /// Number of extra outputs.
    flags: usize,
}

/// A lookup by what an input is given.
#[derive(Clone, Debug)]
struct Given {
    /// The input's slot.
    slot: usize,
    lookup: Lookup,
    /// The position of the extra output that tells of it, where the input is on another device than the host.
    flag: Option<usize>,
}

#[derive(Clone, Debug)]
struct Lookup {
    /// What it does; by which of the operations that do so, the graph does not know.
    op: &'static str,
    axis: usize,
    extent: Size,
    /// Whether negative indices count from the end.
    wraps: bool,
    /// The line that looks up.
    line: Option<Origin>,
}

/// An interval, inclusive; `None` where nothing is known.
type Bounds = Option<Interval>;
type Interval = (i128, i128);

impl Lookups {
    /// Checks what can be checked now, and gives the rest, with the outputs that tell of lookups by
    /// computed indices whether one was outside. Lookups by the same indices, such as one and its derivative, have one.
    pub(crate) fn of(graph: &Graph, inputs: &[Leaf]) -> Result<(Lookups, Vec<UOp>)> {
        Lookups::found(graph, inputs, false)
    }

    /// Those of a body, which runs later: what is in memory now may be an input of a plan by then.
    pub(crate) fn of_body(graph: &Graph) -> Result<(Lookups, Vec<UOp>)> {
        Lookups::found(graph, &[], true)
    }

    fn found(graph: &Graph, inputs: &[Leaf], is_body: bool) -> Result<(Lookups, Vec<UOp>)> {
        let (mut lookups, mut flags) = (Lookups::default(), Vec::new());
        // Positions of flags, which are kept, by their identity.
        let mut told: HashMap<u64, usize> = HashMap::new();
        let mut bounds: Option<Vec<Bounds>> = None;
        let mut origins: Option<Vec<Option<&Origin>>> = None;
        for (at, (node, sources)) in graph.iter().enumerate() {
            let (Op::Take(axis) | Op::Gather(axis) | Op::Scatter(axis, _)) = *node.op() else { continue };
            let extent = graph.nodes()[sources[0] as usize].shape()[axis].clone();
            let index = &graph.nodes()[sources[1] as usize];
            if index.numel() == Size::ZERO {
                continue;
            }
            if positions(graph, sources[1]).is_some_and(|of| *of == extent) {
                continue;
            }
            let line = origins.get_or_insert_with(|| graph.origins())[at].cloned();
            let op = if matches!(node.op(), Op::Scatter(..)) { "write" } else { "lookup" };
            let lookup = |wraps| Lookup { op, axis, extent: extent.clone(), wraps, line: line.clone() };
            let mut given = None;
            if let Some((at, wraps)) = origin(graph, sources[1])
                && let Op::Leaf(leaf) = graph.nodes()[at as usize].op()
            {
                let slot = inputs.iter().position(|l| l == leaf);
                let is_value = slot.is_none() && is_known(leaf) && !is_body;
                if let Some(slot) = slot {
                    let of_input = Given { slot, lookup: lookup(wraps), flag: None };
                    match leaf.data().device().is_host() {
                        true => lookups.inputs.push(of_input),
                        false => given = Some(of_input),
                    }
                } else if is_value {
                    lookup(wraps).check(extremes::of_leaf(leaf)?.into_iter().flatten())?;
                }
                // How large a dimension is that a variable tells, only the run knows.
                if given.is_none() && extent.as_const().is_some() && (slot.is_some() || is_value) {
                    continue;
                }
            }
            let (least, most) = match &mut bounds {
                Some(known) => known,
                unknown => unknown.insert(all_bounds(graph, inputs, is_body)?),
            }[sources[1] as usize]
                .or(type_bounds(index.dtype()))
                .unwrap_or((i128::MIN, i128::MAX));
            if least >= 0 && extent.bounds().0 as i128 > most {
                continue;
            }
            let signed = Tensor::from_uop(index.cast(DType::I64)?);
            let above = signed.ge(Tensor::from_uop(size_value(&extent)?))?;
            let flag = signed.lt(0)?.bitwise_or(&above)?.any(None, false)?.uop();
            let lookup = lookup(false);
            let at = *told.entry(flag.id()).or_insert_with(|| {
                lookup.line.iter().for_each(|line| flag.set_origin(line));
                flags.push(flag);
                flags.len() - 1
            });
            match given {
                Some(given) => lookups.inputs.push(Given { flag: Some(at), ..given }),
                None => lookups.computed.push((at, lookup)),
            }
        }
        lookups.flags = flags.len();
        Ok((lookups, flags))
    }

    /// Checks what an input of the plan is to be given, as far as it is on the host.
    pub(crate) fn check_input(&self, slot: usize, dtype: DType, feed: Feed) -> Result<()> {
        let lookups = || self.inputs.iter().filter(|given| given.slot == slot);
        match feed {
            Feed::Bytes(bytes) if lookups().next().is_some() => check_content(lookups(), dtype, bytes),
            Feed::Buffer(buffer) if lookups().any(|given| given.flag.is_none()) => {
                buffer.with_bytes(|bytes| check_content(lookups(), dtype, bytes))?
            }
            _ => Ok(()),
        }
    }

    /// Number of extra outputs.
    pub(crate) fn flags(&self) -> usize {
        self.flags
    }

    /// Checks the extra outputs of a run that was given these, once they are written.
    pub(crate) fn check_flags(&self, feeds: &[Feed], flag: impl Fn(usize) -> Result<Vec<u8>>) -> Result<()> {
        let mut known = vec![None; self.flags];
        let mut is_outside = |at: usize| -> Result<bool> {
            if known[at].is_none() {
                known[at] = Some(flag(at)?.iter().any(|byte| *byte != 0));
            }
            Ok(known[at] == Some(true))
        };
        for given in &self.inputs {
            let (feed, Some(at)) = (feeds.get(given.slot), given.flag) else { continue };
            // What comes from the host was looked at there.
            if matches!(feed, Some(Feed::Bytes(_))) || !is_outside(at)? {
                continue;
            }
            if let Some(Feed::Buffer(buffer)) = feed {
                buffer.with_bytes(|bytes| check_content([given].into_iter(), buffer.dtype(), bytes))??;
            }
            return Err(given.lookup.computed());
        }
        self.computed.iter().try_for_each(|(at, lookup)| if is_outside(*at)? { Err(lookup.computed()) } else { Ok(()) })
    }
}

/// Checks lookups by indices of this type, whose bytes are given.
fn check_content<'a>(mut lookups: impl Iterator<Item = &'a Given>, dtype: DType, content: &[u8]) -> Result<()> {
    let Some(extremes) = extremes::of_bytes(dtype, content) else { return Ok(()) };
    lookups.try_for_each(|given| given.lookup.check(extremes.into_iter()))
}

impl Lookup {
    /// The error of an index which nobody knows.
    fn computed(&self) -> TensorError {
        let Lookup { op, axis, ref extent, ref line, .. } = *self;
        TensorError::ComputedIndex { op, axis, extent: extent.clone(), line: line.clone() }
    }

    fn check(&self, mut indices: impl Iterator<Item = i128>) -> Result<()> {
        let Some(extent) = self.extent.upper_bound().map(i128::from) else { return Ok(()) };
        let least = if self.wraps { -extent } else { 0 };
        match indices.find(|i| !(least..extent).contains(i)) {
            None => Ok(()),
            Some(index) => {
                let Lookup { op, axis, ref extent, ref line, .. } = *self;
                let (extent, line) = (extent.clone(), line.clone());
                Err(TensorError::Index { op, index: index as i64, axis, extent, line })
            }
        }
    }
}

/// The leaf whose elements, all or some of them, are the indices, and whether negative ones count
/// from the end.
fn origin(graph: &Graph, index: NodeIndex) -> Option<(NodeIndex, bool)> {
    let (mut at, mut wraps) = (index, false);
    loop {
        let (node, sources) = (&graph.nodes()[at as usize], graph.sources(at));
        at = match node.op() {
            Op::Leaf(_) => return Some((at, wraps)),
            Op::Alu(Alu::Where) if !wraps && negative(graph, at) == Some(sources[2]) => {
                wraps = true;
                sources[2]
            }
            Op::Cast(to) if to.is_int() && graph.nodes()[sources[0] as usize].dtype().is_int() => sources[0],
            Op::Reshape(_) | Op::Permute(_) | Op::Expand(_) | Op::Flip(_) => sources[0],
            Op::Contiguous | Op::Detach | Op::Watch(_) | Op::Let(_) | Op::Copy(_) | Op::Shard(_) => sources[0],
            _ => return None,
        };
    }
}

/// The extent of the dimension in which the indices are positions, where an operation gives them as such.
fn positions(graph: &Graph, index: NodeIndex) -> Option<&Size> {
    let mut at = index;
    loop {
        let (node, sources) = (&graph.nodes()[at as usize], graph.sources(at));
        let extent = |axis: usize| graph.nodes()[sources[0] as usize].shape().get(axis);
        at = match node.op() {
            Op::Range(n) => return Some(n),
            Op::ArgSort(axis, ..) => return extent(*axis),
            Op::Reduce(Monoid::ArgMax | Monoid::ArgMin, axes) if axes.len() == 1 => return extent(axes[0]),
            Op::Alu(Alu::Where) if negative(graph, at) == Some(sources[2]) => sources[2],
            Op::Cast(to) if to.is_int() && to.bits() >= 32 => sources[0],
            Op::Reshape(_) | Op::Permute(_) | Op::Expand(_) | Op::Shrink(_) | Op::Flip(_) => sources[0],
            Op::Contiguous | Op::Detach | Op::Watch(_) | Op::Let(_) | Op::Copy(_) => sources[0],
            _ => return None,
        };
    }
}

/// The node `x` of which a `where` asks whether `x < 0`.
fn negative(graph: &Graph, choice: NodeIndex) -> Option<NodeIndex> {
    let condition = graph.sources(choice)[0];
    let &[x, zero] = graph.sources(condition) else { return None };
    let is_less = *graph.nodes()[condition as usize].op() == Op::Alu(Alu::Lt);
    let is_zero = graph.nodes()[zero as usize].uniform().is_some_and(|c| c.as_i128() == 0 && !c.as_bool());
    (is_less && is_zero).then_some(x)
}

fn type_bounds(dtype: DType) -> Bounds {
    dtype.int_range()
}

/// Which nodes indices of lookups are made of.
fn below_indices(graph: &Graph) -> Vec<bool> {
    let mut below = vec![false; graph.len()];
    for at in (0..graph.len()).rev() {
        let sources = graph.sources(at as NodeIndex);
        if let Op::Take(_) | Op::Gather(_) | Op::Scatter(..) = graph.nodes()[at].op() {
            below[sources[1] as usize] = true;
        }
        if below[at] {
            sources.iter().for_each(|source| below[*source as usize] = true);
        }
    }
    below
}

/// Bounds of integers in memory that does not change and that the host sees, which is looked at once.
fn in_memory(leaf: &Leaf) -> Result<Bounds> {
    let seen = |memory: &Memory| memory.buffer().storage().allocator().host_visible();
    let is_seen = leaf.class().is_value() && is_known(leaf) && leaf.downcast::<Memory>().is_some_and(seen);
    let found = if is_seen { extremes::of_leaf(leaf)? } else { None };
    Ok(found.map(|[least, most]| (least, most)))
}

/// Bounds of integer nodes, as far as a lookup needs them.
fn all_bounds(graph: &Graph, inputs: &[Leaf], is_body: bool) -> Result<Vec<Bounds>> {
    let (needed, uniform) = (below_indices(graph), uniform(graph));
    let mut all: Vec<Bounds> = Vec::with_capacity(graph.len());
    for (i, (node, sources)) in graph.iter().enumerate() {
        let of = |s: usize| all[sources[s] as usize];
        let fits =
            |bounds: Bounds| bounds.filter(|b| type_bounds(node.dtype()).is_some_and(|t| t.0 <= b.0 && b.1 <= t.1));
        let count = |size: &Size| i128::from(size.bounds().1);
        let both = |f: fn(Interval, Interval) -> Interval| of(0).zip(of(1)).map(|(a, b)| f(a, b));
        let number = uniform[i].filter(|_| !node.dtype().is_float()).map(Const::as_i128);
        let bounds = match node.op() {
            _ if number.is_some() => number.map(|n| (n, n)),
            Op::Leaf(leaf) if needed[i] && node.dtype().is_int() && !is_body && !inputs.contains(leaf) => {
                in_memory(leaf)?
            }
            Op::Range(n) => Some((0, count(n) - 1)),
            // Outside of the source it is 0.
            Op::Take(_) | Op::Gather(_) if node.dtype().is_int() => of(0).map(|(a, b)| (a.min(0), b.max(0))),
            Op::Size(size) => Some((i128::from(size.bounds().0), count(size))),
            Op::Reduce(Monoid::ArgMax | Monoid::ArgMin, axes) => {
                let source = &graph.nodes()[sources[0] as usize];
                Some((0, count(&source.shape()[axes[0]]) - 1))
            }
            Op::ArgSort(axis, ..) => Some((0, count(&graph.nodes()[sources[0] as usize].shape()[*axis]) - 1)),
            Op::Cast(_) => fits(of(0).or(type_bounds(graph.nodes()[sources[0] as usize].dtype()))),
            Op::Reshape(_) | Op::Permute(_) | Op::Expand(_) | Op::Shrink(_) | Op::Flip(_) | Op::Window(..) => of(0),
            op if op.is_mark() => of(0),
            Op::Contiguous | Op::Copy(_) | Op::Shard(_) => of(0),
            Op::Pad(_, fill) if !node.dtype().is_float() => {
                of(0).map(|(a, b)| (a.min(fill.as_i128()), b.max(fill.as_i128())))
            }
            Op::Alu(Alu::Add) => fits(both(|a, b| (a.0 + b.0, a.1 + b.1))),
            Op::Alu(Alu::Sub) => fits(both(|a, b| (a.0 - b.1, a.1 - b.0))),
            Op::Alu(Alu::Max) => both(|a, b| (a.0.max(b.0), a.1.max(b.1))),
            Op::Alu(Alu::Min) => both(|a, b| (a.0.min(b.0), a.1.min(b.1))),
            Op::Alu(Alu::FloorMod) => of(1).filter(|n| n.0 > 0).map(|n| (0, n.1 - 1)),
            Op::Alu(Alu::Where) => match (negative(graph, i as NodeIndex), of(1), of(2)) {
                (Some(x), _, Some(b)) if x == sources[2] && b.0 >= 0 => Some(b),
                (Some(x), Some(a), Some(b)) if x == sources[2] => Some((a.0.min(0), b.1.max(a.0 - 1 - b.0))),
                (_, Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
                _ => None,
            },
            _ => None,
        };
        all.push(bounds);
    }
    Ok(all)
}
