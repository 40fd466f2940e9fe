//! Totals by rows, where something else reads the same values.
//!
//! A fold of everything has no axis in common with a map of the same values, or with folds of their rows or
//! columns: each would read them from memory. As two folds it has: totals of rows come from the kernel of whatever
//! else is made of these rows ([`crate::merge`]), and are few enough to be folded at the cost of a small kernel.
//! Where another fold gives these very totals, the second fold is all that is left.
//!
//! Folds of rows and folds of columns are alike: blocks of rows, folded across, have in common with the totals of
//! rows that both read a block at a time.
//!
//! Where rows begin and end follows from the shapes alone, so that results do not depend on the number of threads.

use crate::estimate::{Decision, Estimate, FEWEST_ROWS, MAX_NODES, Verdict};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, GraphError, Op, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

/// Elements of a row, about: while one is folded, what is made of the one before is on its way to memory. Longer rows
/// would have memory read and written in turn.
const ROW: i64 = 1 << 9;

/// What a row's elements are a multiple of, if they can be: whole vectors, laid out several at once. Other rows have a
/// tail each, and rather about this many elements.
const VECTORS: i64 = 1 << 5;
const LONG: i64 = 1 << 11;

/// Elements of a row at least: what is done once a row is little beside it.
const SHORTEST: i64 = 1 << 6;

/// Elements of a row at most: its second reading finds them in a cache.
const LONGEST: i64 = 1 << 14;

/// Elements of a block of rows at most, and rows that it has at least and at most: it is read from memory once, and
/// what it gives for each column is written.
const BLOCK: i64 = 1 << 16;
const FEWEST: i64 = 4;
const MOST: i64 = 16;

/// Bytes that are moved in the time that a kernel takes to begin and end.
const KERNEL: i64 = 1 << 18;

/// Nodes that are looked at on the way from memory to what is made of it.
const MAX_SEEN: usize = 64;

/// What becomes of nodes.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    /// The folds that become two, and what the first of them folds.
    folds: BTreeMap<NodeIndex, First>,
    /// What is computed by rows that are parts of a dimension: maps, and folds of other dimensions.
    rows: FxHashMap<NodeIndex, Cut>,
    /// Why.
    pub decisions: Vec<Decision>,
}

/// What a total folds first.
#[derive(Clone, Debug)]
enum First {
    /// Some of its axes.
    Axes(Vec<usize>),
    /// All dimensions from this one on.
    Row(usize),
    /// What is inside of blocks of a dimension.
    Block(Cut),
}

/// Blocks of a dimension, of so many points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    axis: usize,
    length: i64,
}

impl Cut {
    /// The shape with the dimension in two.
    fn of(self, shape: &[Size]) -> Vec<Size> {
        let blocks = shape[self.axis].floordiv(self.length);
        [&shape[..self.axis], &[blocks, Size::from(self.length)], &shape[self.axis + 1..]].concat()
    }
}

/// Looks for totals that are better two folds.
struct Finder<'g> {
    graph: &'g Graph,
    users: Vec<Vec<NodeIndex>>,
    root: Vec<bool>,
    /// How many totals depend on one another below each node.
    level: Vec<u32>,
    /// What is made of a value in memory, as far as it was looked at: roots and folds at its own points.
    made: FxHashMap<NodeIndex, Vec<NodeIndex>>,
}

/// Whether a node folds many values, of known number, in any order.
fn is_long(graph: &Graph, node: NodeIndex) -> bool {
    let value = &graph.nodes()[node as usize];
    let Op::Reduce(by, _) = value.op() else { return false };
    by.alu().is_some() && keeps_its_places(*by, value) && bytes(graph, graph.sources(node)[0]) >= KERNEL
}

/// Whether such a node has one result.
fn is_total(graph: &Graph, node: NodeIndex) -> bool {
    graph.nodes()[node as usize].numel() == Size::ONE && is_long(graph, node)
}

/// Whether totals of rows lose nothing by being written down.
fn keeps_its_places(by: Monoid, value: &UOp) -> bool {
    !value.dtype().is_float() || value.dtype().bytes() >= 4 || matches!(by, Monoid::Max | Monoid::Min)
}

/// Bytes of a value of constant shape, else none.
fn bytes(graph: &Graph, node: NodeIndex) -> i64 {
    let value = &graph.nodes()[node as usize];
    let count = extents(value).map_or(0, |e| e.iter().fold(1, |n: i64, e| n.saturating_mul(*e)));
    count.saturating_mul(value.dtype().bytes() as i64)
}

/// Whether a value that is no output is in memory before it is read.
fn is_memory(op: &Op) -> bool {
    let folded = matches!(op, Op::Reduce(..) | Op::Scan(..) | Op::Scatter(..) | Op::Sort(..) | Op::ArgSort(..));
    folded || matches!(op, Op::Leaf(_) | Op::Contiguous | Op::Loop(..) | Op::Host(..))
}

fn extents(value: &UOp) -> Option<SmallVec<[i64; 6]>> {
    value.shape().iter().map(Size::as_const).collect()
}

impl Finder<'_> {
    /// What a total folds first, if it is better two folds, what it shares rows with, and the bytes that this spares.
    fn first(&mut self, total: NodeIndex) -> Option<(First, NodeIndex, i64)> {
        let source = self.graph.sources(total)[0];
        let level = self.level[source as usize];
        let mut best: Option<(i64, First, NodeIndex)> = None;
        for base in self.memory(source)? {
            self.look_from(base);
            let made = &self.made[&base];
            // Totals of which one waits for the other are folded together, each part of memory at once.
            if made.iter().any(|m| self.level[*m as usize] != level + 1 && is_total(self.graph, *m)) {
                return None;
            }
            let before = || made.iter().copied().filter(|m| self.level[*m as usize] <= level);
            let maps = before().filter(|m| !self.is_fold(*m)).count() as i64;
            for beside in before() {
                let Some((first, sums)) = self.beside(total, beside) else { continue };
                // Of several maps by rows all but one are written through the caches, which read what was there.
                let through = if self.is_fold(beside) { 0 } else { maps - 1 };
                let spared = bytes(self.graph, base) * (1 - through) - sums;
                if spared > KERNEL && best.as_ref().is_none_or(|(most, ..)| spared > *most) {
                    best = Some((spared, first, beside));
                }
            }
        }
        best.map(|(spared, first, beside)| (first, beside, spared))
    }

    /// The blocks of a dimension in which a fold that ends outputs is better computed beside another that keeps it, and
    /// folds what this keeps; that other one; and the bytes that this spares.
    fn crossed(&mut self, fold: NodeIndex, free: &dyn Fn(NodeIndex) -> bool) -> Option<(Cut, NodeIndex, i64)> {
        let (value, source) = (&self.graph.nodes()[fold as usize], self.graph.sources(fold)[0]);
        let Op::Reduce(_, across) = value.op() else { return None };
        if !free(fold) || !self.ends(fold) {
            return None;
        }
        let shape = extents(&self.graph.nodes()[source as usize])?;
        let points = |dims: &[i64]| dims.iter().product::<i64>();
        let long = |a: &&usize| shape[**a] > 1;
        for base in self.memory(source)? {
            self.look_from(base);
            for &other in self.made[&base].iter().filter(|m| **m != fold && free(**m) && is_long(self.graph, **m)) {
                let Op::Reduce(_, along) = self.graph.nodes()[other as usize].op() else { continue };
                let (Some(&axis), Some(&next)) = (across.iter().find(long), along.iter().find(long)) else { continue };
                let crosses = axis < next && !along.contains(&axis) && along.iter().any(|a| !across.contains(a));
                // Rows that both keep, and that a cache holds, are shared as they are.
                let shared = points(&shape[..axis]) >= FEWEST_ROWS && points(&shape[axis..]) <= BLOCK;
                if !crosses || shared || !self.ends(other) {
                    continue;
                }
                let fits = |n: &i64| shape[axis] % n == 0 && n * points(&shape[axis + 1..]) <= BLOCK;
                let Some(length) = (FEWEST..=MOST).rev().find(fits) else { continue };
                let sums = 2 * bytes(self.graph, fold).saturating_mul(shape[axis] / length);
                // Sums of blocks are read and written across lines of memory: that is worth more than a kernel.
                let spared = bytes(self.graph, base) - sums;
                if spared > 2 * KERNEL && points(&shape[..=axis]) / length >= FEWEST_ROWS {
                    return Some((Cut { axis, length }, other, spared));
                }
            }
        }
        None
    }

    fn is_fold(&self, node: NodeIndex) -> bool {
        matches!(self.graph.nodes()[node as usize].op(), Op::Reduce(..))
    }

    fn decision(&self, fold: NodeIndex, spared: i64) -> Decision {
        let source = self.graph.sources(fold)[0];
        let extents: Vec<String> = self.graph.nodes()[source as usize].shape().iter().map(Size::to_string).collect();
        let estimate = Estimate { bytes: bytes(self.graph, source), spared, ..Estimate::default() };
        Decision { what: format!("reduce {}", extents.join("x")), estimate, verdict: Verdict::InTwo }
    }

    /// Whether operations on elements make outputs of a value, and nothing else reads it.
    fn ends(&self, node: NodeIndex) -> bool {
        let (mut work, mut seen) = (vec![node], 0);
        while let Some(node) = work.pop() {
            let users = &self.users[node as usize];
            seen += 1;
            let elementwise = |u: &NodeIndex| self.graph.nodes()[*u as usize].op().is_elementwise();
            if seen == MAX_SEEN || (users.is_empty() && !self.root[node as usize]) || !users.iter().all(elementwise) {
                return false;
            }
            work.extend(users);
        }
        true
    }

    /// The values in memory, of as many elements, of which operations on elements make a value.
    fn memory(&self, of: NodeIndex) -> Option<Vec<NodeIndex>> {
        let shape = self.graph.nodes()[of as usize].shape();
        let (mut work, mut seen, mut found) = (vec![of], Vec::new(), Vec::new());
        while let Some(node) = work.pop() {
            if seen.contains(&node) {
                continue;
            }
            if seen.len() == MAX_NODES {
                return None;
            }
            seen.push(node);
            let value = &self.graph.nodes()[node as usize];
            let inner = !self.root[node as usize] && value.op().is_elementwise();
            if inner {
                work.extend(self.graph.sources(node));
            } else if value.shape() == shape && (self.root[node as usize] || is_memory(value.op())) {
                found.push(node);
            }
        }
        Some(found)
    }

    /// Notes what is made of a value in memory.
    fn look_from(&mut self, base: NodeIndex) {
        if self.made.contains_key(&base) {
            return;
        }
        let (mut work, mut seen, mut found) = (vec![base], Vec::new(), Vec::new());
        while let Some(node) = work.pop() {
            if seen.contains(&node) || seen.len() == MAX_SEEN {
                continue;
            }
            seen.push(node);
            let value = &self.graph.nodes()[node as usize];
            let elementwise = value.op().is_elementwise();
            if self.is_fold(node) && node != base {
                found.push(node);
                continue;
            }
            if elementwise && self.root[node as usize] {
                found.push(node);
            }
            if elementwise || node == base {
                work.extend(&self.users[node as usize]);
            }
        }
        self.made.insert(base, found);
    }

    /// What a total folds first beside another use of the same points, and the bytes that totals of rows move.
    fn beside(&self, total: NodeIndex, other: NodeIndex) -> Option<(First, i64)> {
        let [value, beside] = [total, other].map(|n| &self.graph.nodes()[n as usize]);
        let [source, read] = [total, other].map(|n| self.graph.sources(n)[0]);
        let shape = extents(&self.graph.nodes()[source as usize])?;
        let points = shape.iter().product::<i64>();
        let each = value.dtype().bytes() as i64;
        let (Op::Reduce(by, axes), Op::Reduce(with, inner)) = (value.op(), beside.op()) else {
            let (first, row) = row(&shape)?;
            return Some((first, 2 * each * (points / row)));
        };
        if is_total(self.graph, other) || inner.iter().any(|a| !axes.contains(a)) {
            return None;
        }
        let times = if read == source && by == with { 1 } else { 2 };
        Some((First::Axes(inner.to_vec()), times * each * beside.numel().as_const()?))
    }
}

/// The rows of a shape, of many points: whole dimensions, or blocks of one; and how many points a row has.
fn row(shape: &[i64]) -> Option<(First, i64)> {
    let mut points = 1;
    let mut from = shape.len();
    while from > 0 && points * shape[from - 1] <= ROW {
        from -= 1;
        points *= shape[from];
    }
    let axis = from.checked_sub(1)?;
    let divides = |n: &i64| shape[axis] % n == 0;
    let fits = |n: &i64| divides(n) && n * points % VECTORS == 0;
    let about = (ROW / 2 / points).max(1)..=ROW / points;
    let (mut longer, mut long) = (ROW / points + 1..=LONGEST / points, (LONG / points).max(1)..=LONGEST / points);
    let any = (SHORTEST / points).max(1)..=LONG / points;
    let whole = about.rev().find(fits).or_else(|| longer.find(fits));
    let length = whole.or_else(|| long.find(divides)).or_else(|| any.rev().find(divides))?;
    let first = match length {
        1 => First::Row(from),
        n if n == shape[axis] => First::Row(axis),
        length => First::Block(Cut { axis, length }),
    };
    let points = points * length;
    (points >= SHORTEST && shape.iter().product::<i64>() / points >= FEWEST_ROWS).then_some((first, points))
}

impl Totals {
    /// The totals of a graph that are better two folds.
    pub fn find(graph: &Graph) -> Totals {
        let mut totals = Totals::default();
        let folds: Vec<NodeIndex> = (0..graph.len() as NodeIndex).filter(|n| is_long(graph, *n)).collect();
        if folds.is_empty() {
            return totals;
        }
        let candidates: Vec<NodeIndex> = folds.iter().copied().filter(|n| is_total(graph, *n)).collect();
        let mut root = vec![false; graph.len()];
        graph.roots().iter().for_each(|r| root[*r as usize] = true);
        let mut level: Vec<u32> = Vec::with_capacity(graph.len());
        for (at, (_, sources)) in graph.iter().enumerate() {
            let own = u32::from(candidates.binary_search(&(at as NodeIndex)).is_ok());
            level.push(own + sources.iter().map(|s| level[*s as usize]).max().unwrap_or(0));
        }
        let mut finder = Finder { graph, users: graph.users(), root, level, made: FxHashMap::default() };
        let mut folded: Vec<NodeIndex> = Vec::new();
        for total in candidates {
            let Some((first, beside, spared)) = finder.first(total) else { continue };
            totals.decisions.push(finder.decision(total, spared));
            match first {
                First::Block(cut) => _ = totals.rows.insert(beside, cut),
                First::Axes(_) => folded.push(beside),
                First::Row(_) => {}
            }
            totals.folds.insert(total, first);
        }
        for fold in folds.into_iter().filter(|n| graph.nodes()[*n as usize].numel() != Size::ONE) {
            let free = |n: NodeIndex| !folded.contains(&n) && !totals.rows.contains_key(&n);
            if let Some((cut, beside, spared)) = finder.crossed(fold, &free) {
                totals.decisions.push(finder.decision(fold, spared));
                totals.folds.insert(fold, First::Block(cut));
                totals.rows.insert(beside, cut);
            }
        }
        totals
    }

    /// Whether none is better two folds.
    pub fn is_empty(&self) -> bool {
        self.folds.is_empty()
    }

    /// Whether a node becomes another over the same operands.
    pub fn concerns(&self, at: NodeIndex) -> bool {
        self.folds.contains_key(&at) || self.rows.contains_key(&at)
    }

    /// What a node over operands becomes, over what its operands have become.
    ///
    /// # Errors
    /// None: shapes fit.
    pub fn apply(&self, at: NodeIndex, node: &UOp, sources: &[UOp]) -> Result<UOp, GraphError> {
        if let (Some(first), Op::Reduce(by, axes)) = (self.folds.get(&at), node.op()) {
            return in_two(&sources[0], *by, axes, first)?.reshape(node.shape_arc().clone());
        }
        match self.rows.get(&at) {
            Some(cut) => {
                let in_rows = |s: &UOp| s.reshape(cut.of(s.shape()));
                let sources = sources.iter().map(in_rows).collect::<Result<Vec<UOp>, _>>()?;
                let op = match node.op() {
                    // Dimensions after the blocks have moved on by one.
                    Op::Reduce(by, axes) => {
                        Op::Reduce(*by, axes.iter().map(|a| a + usize::from(*a > cut.axis)).collect())
                    }
                    op => op.clone(),
                };
                UOp::new(op, &sources)?.reshape(node.shape_arc().clone())
            }
            None => UOp::new(node.op().clone(), sources),
        }
    }
}

/// A fold in two.
fn in_two(source: &UOp, by: Monoid, axes: &[usize], first: &First) -> Result<UOp, GraphError> {
    let (source, axes, inner) = match first {
        First::Axes(inner) => (source.clone(), axes.to_vec(), inner.clone()),
        First::Row(from) => (source.clone(), axes.to_vec(), axes.iter().copied().filter(|a| a >= from).collect()),
        First::Block(cut) => {
            let source = source.reshape(cut.of(source.shape()))?;
            // Dimensions after the blocks have moved on by one.
            let after = |a: &usize| a + usize::from(*a > cut.axis);
            let inner: Vec<usize> = axes.iter().filter(|a| **a >= cut.axis).map(|a| a + 1).collect();
            let mut all: Vec<usize> = axes.iter().map(after).chain([cut.axis + 1]).collect();
            all.sort_unstable();
            (source, all, inner)
        }
    };
    let kept = |a: &usize| (0..*a).filter(|d| !inner.contains(d)).count();
    let outer: Vec<usize> = axes.iter().filter(|a| !inner.contains(a)).map(kept).collect();
    source.reduce(by, &inner)?.reduce(by, &outer)
}
