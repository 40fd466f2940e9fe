//! Which totals share rows with what else reads the same values.

use super::rows::{block, holds, points, rows};
use super::{ByRows, Cut, InTwo, Totals, deviations, is_order, is_reordered};
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

/// The shape of a node.
fn shape_of(graph: &Graph, node: NodeIndex) -> &[Size] {
    graph.nodes()[node as usize].shape()
}

/// A total in two, what it shares rows with, and the bytes that this spares.
struct Shared {
    first: InTwo,
    beside: NodeIndex,
    spared: i64,
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
            let Some(Shared { first, beside, spared }) = self.first(total) else { continue };
            if self.is_fold(beside) {
                folded.push(beside);
            } else if *shape_of(self.graph, beside) != first.over[..] {
                let rows = totals.rows.entry(beside).or_insert(ByRows { over: first.over.clone(), axes: Vec::new() });
                if rows.over != first.over {
                    continue;
                }
            }
            totals.decisions.push(self.decision(total, spared));
            totals.folds.insert(total, first);
        }
        for fold in kept {
            let free = |n: NodeIndex| !folded.contains(&n) && !totals.rows.contains_key(&n);
            let Some((cut, beside, spared)) = self.crossed(fold, &free) else { continue };
            totals.decisions.push(self.decision(fold, spared));
            let source = self.graph.sources(fold)[0];
            let over = cut.of(shape_of(self.graph, source));
            let outer = vec![cut.axis];
            totals
                .folds
                .insert(fold, InTwo { over: over.clone(), inner: cut.after(self.axes(fold)), outer, centred: false });
            for node in beside {
                totals.rows.insert(node, ByRows { over: over.clone(), axes: cut.after(self.axes(node)) });
            }
        }
        totals
    }

    /// A total in two, if it is better so, beside what shares most with it.
    fn first(&mut self, total: NodeIndex) -> Option<Shared> {
        let begins = self.begins(total);
        let mut best: Option<Shared> = None;
        let mut source = self.graph.sources(total)[0];
        while is_order(self.graph.nodes()[source as usize].op()) {
            source = self.graph.sources(source)[0];
        }
        for base in self.memory(source)? {
            self.look_from(base);
            let made = &self.made[&base];
            // Totals of which one waits for the other are folded together, each part of memory at once.
            if made.iter().any(|m| is_total(self.graph, *m) && self.begins(*m) != begins) {
                return None;
            }
            let before = || made.iter().copied().filter(|m| self.level[*m as usize] <= begins);
            let maps = before().filter(|m| !self.is_fold(*m)).count() as i64;
            for beside in before() {
                let Some((first, sums)) = self.beside(total, base, beside) else { continue };
                // Of several maps by rows all but one are written through the caches, which read what was there.
                let through = if self.is_fold(beside) { 0 } else { maps - 1 };
                let spared = bytes(self.graph, base) * (1 - through) - sums;
                if spared > KERNEL && best.as_ref().is_none_or(|best| spared > best.spared) {
                    best = Some(Shared { first, beside, spared });
                }
            }
        }
        best
    }

    /// The blocks of a dimension in which a fold that ends outputs is better computed beside another that keeps it, or
    /// beside maps, and folds what this keeps; these others; and the bytes that this spares.
    fn crossed(&mut self, fold: NodeIndex, free: &dyn Fn(NodeIndex) -> bool) -> Option<(Cut, Vec<NodeIndex>, i64)> {
        let (across, source) = (self.axes(fold).to_vec(), self.graph.sources(fold)[0]);
        if !free(fold) {
            return None;
        }
        let after = self.ends(fold)?;
        let shape = shape_of(self.graph, source).to_vec();
        let long = |a: &&usize| shape[**a] != Size::ONE;
        let axis = *across.iter().find(long)?;
        for base in self.memory(source)?.into_iter().filter(|b| *shape_of(self.graph, *b) == shape[..]) {
            self.look_from(base);
            // Rows that both keep, and that a cache holds, are shared as they are.
            if points(&shape[..axis]) >= FEWEST_ROWS && holds(&shape[axis..]) {
                continue;
            }
            let Some(length) = block(&shape, axis) else { continue };
            let blocks = points(&shape[axis..=axis]) / length;
            let sums = bytes(self.graph, fold).saturating_mul(2 * blocks);
            // Sums of blocks are read and written across lines of memory: that is worth more than a kernel.
            let spared = bytes(self.graph, base) - sums;
            if spared <= 2 * KERNEL || points(&shape[..=axis]) / length < FEWEST_ROWS {
                continue;
            }
            let (folds, maps): (Vec<NodeIndex>, Vec<NodeIndex>) =
                self.made[&base].iter().filter(|m| **m != fold).partition(|m| self.is_fold(**m));
            let crosses = |m: &NodeIndex| {
                let along = self.axes(*m);
                let next = along.iter().find(long);
                let same = *shape_of(self.graph, self.graph.sources(*m)[0]) == shape[..];
                let crossed = next.is_some_and(|next| axis < *next) && along.iter().any(|a| !across.contains(a));
                same && crossed && !along.contains(&axis) && is_long(self.graph, *m)
            };
            let apart = |m: &NodeIndex| free(*m) && self.ends(*m).is_some();
            let beside = match folds.iter().find(|m| crosses(m) && apart(m)) {
                Some(other) => vec![*other],
                None => {
                    let kept = (axis + 1..shape.len()).any(|a| shape[a] != Size::ONE && !across.contains(&a));
                    let level = self.level[source as usize];
                    let alike = |m: &NodeIndex| {
                        self.level[*m as usize] <= level && !after.contains(m) && apart(m) && !self.waits(*m, &folds)
                    };
                    if kept && maps.iter().all(alike) { maps } else { Vec::new() }
                }
            };
            if !beside.is_empty() {
                return Some((Cut { axis, length }, beside, spared));
            }
        }
        None
    }

    /// How many totals that depend on one another a total waits for before it begins.
    fn begins(&self, total: NodeIndex) -> u32 {
        let values = self.centred(total).unwrap_or(self.graph.sources(total)[0]);
        self.level[values as usize]
    }

    /// The values of which a total sums squared deviations that nothing else reads, from what waits for more totals
    /// than they do.
    fn centred(&self, total: NodeIndex) -> Option<NodeIndex> {
        let value = &self.graph.nodes()[total as usize];
        let mut square = self.graph.sources(total)[0];
        while is_reordered(self.graph.nodes()[square as usize].op()) {
            square = self.graph.sources(square)[0];
        }
        deviations(&self.graph.nodes()[square as usize])?;
        let deviation = self.graph.sources(square)[0];
        let [values, centre] = self.graph.sources(deviation)[..] else { return None };
        let inner = [square, deviation].iter().all(|n| !self.root[*n as usize]);
        let later = self.level[centre as usize] > self.level[values as usize];
        (matches!(value.op(), Op::Reduce(Monoid::Sum, _)) && inner && later).then_some(values)
    }

    /// The dimensions that a node folds.
    fn axes(&self, node: NodeIndex) -> &[usize] {
        match self.graph.nodes()[node as usize].op() {
            Op::Reduce(_, axes) => axes,
            _ => &[],
        }
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

    /// What operations on elements make of a value, if that is outputs and nothing else reads it.
    fn ends(&self, node: NodeIndex) -> Option<Vec<NodeIndex>> {
        let (mut work, mut seen) = (vec![node], Vec::new());
        while let Some(node) = work.pop() {
            let users = &self.users[node as usize];
            seen.push(node);
            if seen.len() == MAX_SEEN
                || (users.is_empty() && !self.root[node as usize])
                || !users.iter().all(|u| self.keeps_order(*u))
            {
                return None;
            }
            work.extend(users);
        }
        Some(seen)
    }

    /// Whether what is computed without memory needs one of some folds, with which it would rather share rows.
    fn waits(&self, node: NodeIndex, folds: &[NodeIndex]) -> bool {
        let (mut work, mut seen) = (vec![node], Vec::new());
        while let Some(node) = work.pop() {
            if folds.contains(&node) || seen.len() == MAX_NODES {
                return true;
            }
            if !seen.contains(&node) {
                seen.push(node);
                let inner = !is_memory(self.graph.nodes()[node as usize].op());
                work.extend(self.graph.sources(node).iter().filter(|_| inner));
            }
        }
        false
    }

    /// Whether a node has an element for each of its operands', in their order.
    fn keeps_order(&self, node: NodeIndex) -> bool {
        let op = self.graph.nodes()[node as usize].op();
        op.is_elementwise() || matches!(op, Op::Reshape(_))
    }

    /// The values in memory, of as many elements, of which operations on elements make a value.
    fn memory(&self, of: NodeIndex) -> Option<Vec<NodeIndex>> {
        let count = self.graph.nodes()[of as usize].numel();
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
            if !self.root[node as usize] && self.keeps_order(node) {
                work.extend(self.graph.sources(node));
            } else if value.numel() == count && (self.root[node as usize] || is_memory(value.op())) {
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
            if self.is_fold(node) && node != base {
                found.push(node);
                continue;
            }
            let users = &self.users[node as usize];
            let elementwise = self.graph.nodes()[node as usize].op().is_elementwise();
            let reshaped = |u: &NodeIndex| {
                self.root[*u as usize] && !self.graph.nodes()[*u as usize].op().is_elementwise() && self.keeps_order(*u)
            };
            if elementwise && (self.root[node as usize] || users.iter().any(reshaped)) {
                found.push(node);
            }
            if node == base || self.keeps_order(node) {
                work.extend(users);
            }
        }
        self.made.insert(base, found);
    }

    /// A total in two beside another use of the same points, and the bytes that totals of rows move.
    fn beside(&self, total: NodeIndex, base: NodeIndex, other: NodeIndex) -> Option<(InTwo, i64)> {
        let [value, beside] = [total, other].map(|n| &self.graph.nodes()[n as usize]);
        let [source, read] = [total, other].map(|n| self.graph.sources(n)[0]);
        let each = value.dtype().bytes() as i64;
        // Sums, sums of deviations and of their squares.
        let (centred, arrays) = if self.centred(total).is_some() { (true, 3) } else { (false, 1) };
        let two = |over: &[Size], inner: Vec<usize>| {
            let outer = (0..over.len()).filter(|a| !inner.contains(a)).collect();
            InTwo { over: over.to_vec(), inner, outer, centred }
        };
        let (Op::Reduce(by, _), Op::Reduce(with, inner)) = (value.op(), beside.op()) else {
            let shape = shape_of(self.graph, base);
            let rows = rows(shape)?;
            let first = two(&rows.over, (rows.from..rows.over.len()).collect());
            return Some((first, 2 * arrays * each * (points(shape) / rows.points)));
        };
        let over = shape_of(self.graph, read);
        // A row has a mean before its deviations: it has points, and is read twice, along memory.
        let last = over.len().checked_sub(1)?;
        let has_mean = inner.contains(&last) && inner.iter().all(|a| over[*a].bounds().0 > 0);
        if is_total(self.graph, other) || (centred && !has_mean) {
            return None;
        }
        let times = if read == source && by == with { 1 } else { 2 * arrays };
        Some((two(over, inner.to_vec()), times * each * points(beside.shape())))
    }
}
