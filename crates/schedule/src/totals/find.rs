//! Which totals share rows with what else reads the same values.

use super::rows::{block, holds, points, row};
use super::{Cut, First, Totals};
use crate::estimate::{Decision, Estimate, FEWEST_ROWS, MAX_NODES, Verdict};
use rustc_hash::FxHashMap;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, Op, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

/// Bytes that are moved in the time that a kernel takes to begin and end.
const KERNEL: i64 = 1 << 18;

/// Nodes that are looked at on the way from memory to what is made of it.
const MAX_SEEN: usize = 64;

/// Looks for totals that are better two folds.
pub(super) struct Finder<'g> {
    graph: &'g Graph,
    /// Folds of many values.
    folds: Vec<NodeIndex>,
    users: Vec<Vec<NodeIndex>>,
    root: Vec<bool>,
    /// How many totals depend on one another below each node.
    level: Vec<u32>,
    /// What is made of a value in memory, as far as it was looked at: roots and folds at its own points.
    made: FxHashMap<NodeIndex, Vec<NodeIndex>>,
}

/// Whether a node folds many values, in any order.
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

/// Bytes of a value, at most.
fn bytes(graph: &Graph, node: NodeIndex) -> i64 {
    let value = &graph.nodes()[node as usize];
    points(value.shape()).saturating_mul(value.dtype().bytes() as i64)
}

/// Whether a value that is no output is in memory before it is read.
fn is_memory(op: &Op) -> bool {
    let folded = matches!(op, Op::Reduce(..) | Op::Scan(..) | Op::Scatter(..) | Op::Sort(..) | Op::ArgSort(..));
    folded || matches!(op, Op::Leaf(_) | Op::Contiguous | Op::Loop(..) | Op::Host(..))
}

impl<'g> Finder<'g> {
    /// Of a graph, if anything in it might be better two folds.
    pub fn of(graph: &'g Graph) -> Option<Finder<'g>> {
        let folds: Vec<NodeIndex> = (0..graph.len() as NodeIndex).filter(|n| is_long(graph, *n)).collect();
        if folds.is_empty() {
            return None;
        }
        let mut root = vec![false; graph.len()];
        graph.roots().iter().for_each(|r| root[*r as usize] = true);
        let mut level: Vec<u32> = Vec::with_capacity(graph.len());
        for (at, (_, sources)) in graph.iter().enumerate() {
            let own = u32::from(folds.binary_search(&(at as NodeIndex)).is_ok() && is_total(graph, at as NodeIndex));
            level.push(own + sources.iter().map(|s| level[*s as usize]).max().unwrap_or(0));
        }
        Some(Finder { graph, folds, users: graph.users(), root, level, made: FxHashMap::default() })
    }

    /// What is better two folds.
    pub fn find(mut self) -> Totals {
        let mut totals = Totals::default();
        let mut folded: Vec<NodeIndex> = Vec::new();
        let (whole, kept): (Vec<_>, Vec<_>) = self.folds.iter().copied().partition(|n| is_total(self.graph, *n));
        for total in whole {
            let Some((first, beside, spared)) = self.first(total) else { continue };
            totals.decisions.push(self.decision(total, spared));
            match first {
                First::Block(cut) => _ = totals.rows.insert(beside, cut),
                First::Axes(_) => folded.push(beside),
                First::Row(_) => {}
            }
            totals.folds.insert(total, first);
        }
        for fold in kept {
            let free = |n: NodeIndex| !folded.contains(&n) && !totals.rows.contains_key(&n);
            if let Some((cut, beside, spared)) = self.crossed(fold, &free) {
                totals.decisions.push(self.decision(fold, spared));
                totals.folds.insert(fold, First::Block(cut));
                totals.rows.insert(beside, cut);
            }
        }
        totals
    }

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
        let shape = self.graph.nodes()[source as usize].shape();
        let long = |a: &&usize| shape[**a] != Size::ONE;
        for base in self.memory(source)? {
            self.look_from(base);
            for &other in self.made[&base].iter().filter(|m| **m != fold && free(**m) && is_long(self.graph, **m)) {
                let Op::Reduce(_, along) = self.graph.nodes()[other as usize].op() else { continue };
                let (Some(&axis), Some(&next)) = (across.iter().find(long), along.iter().find(long)) else { continue };
                let crosses = axis < next && !along.contains(&axis) && along.iter().any(|a| !across.contains(a));
                // Rows that both keep, and that a cache holds, are shared as they are.
                let shared = points(&shape[..axis]) >= FEWEST_ROWS && holds(&shape[axis..]);
                if !crosses || shared || !self.ends(other) {
                    continue;
                }
                let Some(length) = block(shape, axis) else { continue };
                let blocks = points(&shape[axis..=axis]) / length;
                let sums = bytes(self.graph, fold).saturating_mul(2 * blocks);
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
        let shape = self.graph.nodes()[source as usize].shape();
        let each = value.dtype().bytes() as i64;
        let (Op::Reduce(by, axes), Op::Reduce(with, inner)) = (value.op(), beside.op()) else {
            let (first, row) = row(shape)?;
            return Some((first, 2 * each * (points(shape) / row)));
        };
        if is_total(self.graph, other) || inner.iter().any(|a| !axes.contains(a)) {
            return None;
        }
        let times = if read == source && by == with { 1 } else { 2 };
        Some((First::Axes(inner.to_vec()), times * each * points(beside.shape())))
    }
}
