//! Numbers that differ from one graph to the next become arguments: learning rates, offsets, extents.
//!
//! Numbers are part of a graph's structure, since code that has them is the best code. Graphs that are alike
//! but for numbers, such as those of a loop over batches, would be compiled as often, though. So a context keeps, by
//! [`Outline`], what numbers graphs had ([`Record`]). A graph that has no schedule yet looks there:
//!
//! * the first graph of an outline is compiled as it is;
//! * *constants* in which graphs of the same extents differ become 0-d leaves, from the second value on; one that
//!   rules of rewriting know (0, 1, 2), or by which integers are divided, from the third;
//! * *positions* in which graphs differ become variables, from the second value on;
//! * so do *extents*, from the third graph on, where all that differs follows from one of them ([`sizes`]).
//!
//! The graph with arguments has a key of its own, which is that of all others that differ in these numbers only: its schedule
//! is the cache's from then on. At the variables' values it is the given graph, so that what is computed stays the
//! same; folds over extents that vary may associate in another order, as for any symbolic size.
//!
//! The variables are those of this run only: nothing sees them, neither the shapes of results nor
//! the memory, which is as large as it has to be at their values.

mod sizes;

use crate::error::Result;
use crate::memory::Memory;
use parking_lot::Mutex;
use sizes::Model;
use std::collections::VecDeque;
use std::sync::Arc;
use svod_device::{Buffer, Device};
use svod_dtype::{Const, DType};
use svod_ir::graph::outline::{ConstantAt, Outline, Replacements};
use svod_ir::graph::{Graph, Leaf, LeafClass, UOp};
use svod_ir::size::BoundVariable;

/// Different sizes that are remembered of an outline.
const ENTRIES: usize = 8;
/// Ways in which the sizes of an outline vary.
const MODELS: usize = 4;
/// Fits of an outline's sizes, until its graphs are taken to have nothing in common.
const MOST_FITS: usize = 24;

/// What numbers the graphs of an outline had.
#[derive(Default)]
pub(crate) struct Record {
    /// By sizes, the latest first.
    entries: VecDeque<Entry>,
    /// The latest first.
    models: VecDeque<Model>,
    fits: usize,
    /// Whether a graph with arguments could not be compiled.
    refused: bool,
}

impl Record {
    /// Compiles graphs of the outline as they are from now on.
    pub(crate) fn refuse(&mut self) {
        *self = Record { refused: true, ..Record::default() };
    }
}

/// The record of an outline, shared.
pub(crate) type Seen = Arc<Mutex<Record>>;

/// Graphs of the same sizes.
#[derive(Clone)]
struct Entry {
    sizes: Vec<i64>,
    /// The constants of the latest one.
    latest: Vec<Const>,
    constants: Vec<Values>,
}

/// The values that a constant had.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Values {
    One(Const),
    Two(Const, Const),
    Many,
}

/// A graph whose numbers are arguments, and their values.
pub(crate) struct WithArguments {
    pub graph: Graph,
    pub bindings: Vec<BoundVariable>,
}

impl Values {
    fn add(&mut self, value: Const) {
        *self = match *self {
            Values::One(a) if a != value => Values::Two(a, value),
            Values::Two(a, b) if value != a && value != b => Values::Many,
            same => same,
        };
    }

    /// Whether a constant that had these values is an argument now.
    fn vary(self, at: &ConstantAt) -> bool {
        match self {
            Values::One(_) => false,
            Values::Two(..) => !at.costly && !is_common(at.value),
            Values::Many => true,
        }
    }
}

/// Values that rules of rewriting and instructions know.
fn is_common(value: Const) -> bool {
    const COMMON: [f64; 6] = [0.0, 1.0, -1.0, 2.0, -2.0, 0.5];
    COMMON.contains(&value.as_f64())
}

impl Entry {
    fn new(outline: &Outline) -> Entry {
        let latest: Vec<Const> = outline.constants.iter().map(|c| c.value).collect();
        let constants = latest.iter().copied().map(Values::One).collect();
        Entry { sizes: outline.sizes.iter().map(|s| s.value).collect(), latest, constants }
    }
}

/// Counts the graph's constants, and tells which are to be leaves.
fn varying(outline: &Outline, constants: &mut [Values]) -> Vec<bool> {
    let counted = outline.constants.iter().zip(constants).map(|(at, values)| {
        values.add(at.value);
        values.vary(at)
    });
    counted.collect()
}

/// The graph with arguments, where an outline's record has those; `sizes` says whether extents and positions may be some,
/// and `device` is the host, on which constants are.
pub(crate) fn with_arguments(
    graph: &Graph,
    outline: &Outline,
    seen: &Seen,
    sizes: bool,
    device: &Device,
) -> Result<Option<WithArguments>> {
    if outline.constants.is_empty() && outline.sizes.is_empty() {
        return Ok(None);
    }
    let mut record = seen.lock();
    if record.refused {
        return Ok(None);
    }
    if let Some((at, values)) = record.models.iter().enumerate().find_map(|(i, m)| Some((i, m.read(outline)?))) {
        let Some(mut model) = record.models.remove(at) else { return Ok(None) };
        let made = model.apply(graph, outline, values, device);
        record.models.push_front(model);
        return made.map(Some);
    }
    let same = |entry: &Entry| entry.sizes.iter().copied().eq(outline.sizes.iter().map(|s| s.value));
    if let Some(at) = record.entries.iter().position(same) {
        let Some(mut entry) = record.entries.remove(at) else { return Ok(None) };
        let leaves = varying(outline, &mut entry.constants);
        entry.latest = outline.constants.iter().map(|c| c.value).collect();
        record.entries.push_front(entry);
        drop(record);
        if !leaves.contains(&true) {
            return Ok(None);
        }
        let constants = leaves_of(outline, &leaves, device)?;
        let none = vec![None; outline.sizes.len()];
        let nodes = outline.replace(graph, &Replacements { constants: &constants, sizes: &none })?;
        return Ok(Some(WithArguments { graph: rooted(graph, &nodes), bindings: Vec::new() }));
    }
    let others = record.models.iter().map(Model::latest).chain(&record.entries);
    let fits = sizes && record.fits < MOST_FITS;
    let fitted = if fits { sizes::fit(graph, outline, &others.collect::<Vec<_>>()) } else { None };
    let Some(mut model) = fitted else {
        record.entries.push_front(Entry::new(outline));
        record.entries.truncate(ENTRIES);
        return Ok(None);
    };
    record.fits += 1;
    let Some(values) = model.read(outline) else { return Ok(None) };
    let made = model.apply(graph, outline, values, device);
    record.models.push_front(model);
    record.models.truncate(MODELS);
    made.map(Some)
}

/// The graph of new nodes in place of a graph's.
fn rooted(graph: &Graph, nodes: &[UOp]) -> Graph {
    let roots: Vec<UOp> = graph.roots().iter().map(|r| nodes[*r as usize].clone()).collect();
    Graph::new(&roots)
}

/// 0-d leaves in place of some constants, in memory side by side.
fn leaves_of(outline: &Outline, which: &[bool], device: &Device) -> Result<Vec<Option<UOp>>> {
    const EACH: usize = 8;
    let chosen = || outline.constants.iter().zip(which).filter(|(_, chosen)| **chosen);
    let bytes: Vec<u8> = chosen().flat_map(|(at, _)| at.value.bits().to_le_bytes()).collect();
    if bytes.is_empty() {
        return Ok(vec![None; which.len()]);
    }
    let buffer = Arc::new(Buffer::from_bytes(device.allocator(), DType::U8, &bytes)?);
    let mut offset = buffer.offset();
    let memory = Arc::new(Memory::new(buffer, LeafClass::Literal));
    let leaf = |(at, chosen): (&ConstantAt, &bool)| {
        if !chosen {
            return Ok(None);
        }
        let leaf = Leaf::new(memory.clone(), offset as u64, at.value.dtype(), Vec::new().into());
        offset += EACH;
        Ok(Some(UOp::leaf(leaf)?))
    };
    outline.constants.iter().zip(which).map(leaf).collect()
}
