//! Which reductions are better two reductions: those that then read memory with all that reads the same of it.

use super::in_two::InTwo;
use super::readers::{Readers, Reads};
use super::rows::{are_whole, block, holds, is_row, points, rows};
use super::{Blocks, ByRows, TwoStage};
use crate::costs::limits::{memory, tasks};
use crate::costs::{Caches, Decision, Estimate, OPERATIONS_PER_BYTE, Verdict};
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, Op};
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

/// Looks for reductions that are better two.
pub(super) struct Finder<'g> {
    graph: &'g Graph,
    caches: Caches,
    reads: Reads<'g>,
}

/// Nodes with what they become.
#[derive(Default)]
struct Shared {
    reductions: Vec<(NodeIndex, InTwo)>,
    rows: Vec<(NodeIndex, ByRows)>,
    /// Bytes of the reductions of rows: written once, and read once.
    parts: i64,
}

impl<'g> Finder<'g> {
    /// What is better two reductions in a graph.
    pub fn find(graph: &'g Graph, caches: Caches) -> TwoStage {
        let long: Vec<NodeIndex> = (0..graph.len() as NodeIndex).filter(|n| is_long(graph, *n)).collect();
        let mut found = TwoStage::default();
        if long.is_empty() {
            return found;
        }
        let finder = Finder { graph, caches, reads: Reads::of(graph) };
        for reduction in long {
            if found.concerns(reduction) {
                continue;
            }
            let Some(readers) = finder.reads.with(reduction) else { continue };
            let Some(shared) = finder.by_rows(&readers).or_else(|| finder.by_blocks(&readers)) else { continue };
            let spared = finder.spared(&readers, &shared).saturating_sub(shared.parts.saturating_mul(2));
            if spared <= memory::KERNEL
                || spared < memory::WORTH_A_KERNEL.saturating_mul(shared.parts)
                || finder.computes(&readers)
            {
                continue;
            }
            found.decisions.extend(shared.reductions.iter().map(|(reduction, _)| finder.decision(*reduction, spared)));
            found.reductions.extend(shared.reductions);
            found.rows.extend(shared.rows);
        }
        found
    }

    /// Totals beside reductions that keep the same dimensions, or beside one map, or both: all are made of the same rows. More
    /// maps would spare nothing: rows of all but one are written through the caches, which read what was there.
    fn by_rows(&self, readers: &Readers) -> Option<Shared> {
        let long = readers.totals.iter().all(|t| is_long(self.graph, *t));
        if readers.totals.is_empty() || readers.maps.len() > 1 || !long {
            return None;
        }
        let (over, inner) = match readers.reductions.first() {
            Some(first) => (self.source(*first).to_vec(), self.axes(*first).to_vec()),
            None => self.rows(readers)?,
        };
        let alike = |reduction: &NodeIndex| *self.source(*reduction) == over[..] && *self.axes(*reduction) == inner[..];
        let is_end = inner.iter().rev().zip((0..over.len()).rev()).all(|(a, last)| *a == last);
        if !readers.reductions.iter().all(alike) || !(readers.maps.is_empty() || is_end) {
            return None;
        }
        let outer: Vec<usize> = (0..over.len()).filter(|a| !inner.contains(a)).collect();
        let extents = |axes: &[usize]| -> Vec<Size> { axes.iter().map(|a| over[*a].clone()).collect() };
        let (kept, row) = (points(&extents(&outer)), extents(&inner));
        if kept < tasks::FEW {
            return None;
        }
        let mut shared = Shared::default();
        for &total in &readers.totals {
            let centred = self.reads.centred(total).is_some();
            // A row has a mean before its deviations: it has points, and is read twice, along memory.
            if centred && !(is_end && is_row(&row)) {
                return None;
            }
            // Sums, sums of deviations and of their squares.
            let arrays = if centred { 3 } else { 1 };
            let given = readers.reductions.iter().any(|f| self.is_same(*f, total));
            let parts = if given { 0 } else { kept.saturating_mul(arrays * self.each(total)) };
            shared.parts = shared.parts.saturating_add(parts);
            let two = InTwo { over: over.clone(), inner: inner.clone(), outer: outer.clone(), centred };
            shared.reductions.push((total, two));
        }
        let moved = readers.maps.iter().filter(|m| *self.shape(**m) != over[..]);
        shared.rows = moved.map(|m| (*m, ByRows { over: over.clone(), axes: Vec::new() })).collect();
        Some(shared)
    }

    /// The rows of totals beside a map: a shape, and the dimensions of it that a row has.
    fn rows(&self, readers: &Readers) -> Option<(Vec<Size>, Vec<usize>)> {
        let (memory, map) = (&self.graph.nodes()[readers.memory.first()?.0 as usize], *readers.maps.first()?);
        let rows = rows(memory.shape())?;
        // Lines of which rows have parts are written through the caches, which first read them. Sizes that are not known
        // may be small.
        let known = memory.numel().as_const().is_some() && !readers.repeats;
        if known && !are_whole(&rows.over) && self.caches.stream(bytes(self.graph, map)) {
            return None;
        }
        let inner = (rows.from..rows.over.len()).collect();
        Some((rows.over, inner))
    }

    /// Reductions of columns beside reductions of rows: blocks of rows are reduced across by the one, along by the other. What is
    /// larger than the last cache waits for memory either way, and is read best in long strips.
    fn by_blocks(&self, readers: &Readers) -> Option<Shared> {
        let shape = self.source(*readers.reductions.first()?);
        let is_lain_so = |n: NodeIndex| *self.shape(n) == *shape && !self.caches.stream(bytes(self.graph, n));
        let same = readers.memory.iter().all(|(base, _)| is_lain_so(*base));
        let reductions_only = readers.totals.is_empty() && readers.maps.is_empty();
        if !same || !reductions_only || !readers.reductions.iter().all(|f| self.source(*f) == shape) {
            return None;
        }
        let first = |reduction: &NodeIndex| self.axes(*reduction).iter().copied().find(|a| shape[*a] != Size::ONE);
        let axis = readers.reductions.iter().filter_map(first).min()?;
        let (across, along): (Vec<NodeIndex>, Vec<NodeIndex>) =
            readers.reductions.iter().partition(|f| self.axes(**f).contains(&axis));
        let alike = |reductions: &[NodeIndex]| reductions.iter().all(|f| self.axes(*f) == self.axes(reductions[0]));
        let crossed = self.axes(*along.first()?).iter().any(|a| !self.axes(across[0]).contains(a));
        // Rows that both keep, and that a cache holds, are shared as they are.
        let shared = points(&shape[..axis]) >= tasks::FEW && holds(&shape[axis..]);
        let long = across.iter().all(|f| is_long(self.graph, *f));
        if !(crossed && long && alike(&across) && alike(&along)) || shared {
            return None;
        }
        let length = block(shape, axis)?;
        let cut = Blocks { axis, length };
        let (over, blocks) = (cut.of(shape), points(&shape[axis..=axis]) / length);
        if points(&shape[..axis]).saturating_mul(blocks) < tasks::FEW {
            return None;
        }
        let two = |reduction: &NodeIndex| {
            let inner = cut.after(self.axes(*reduction));
            (*reduction, InTwo { over: over.clone(), inner, outer: vec![axis], centred: false })
        };
        let by_rows = |n: &NodeIndex| (*n, ByRows { over: over.clone(), axes: cut.after(self.axes(*n)) });
        Some(Shared {
            reductions: across.iter().map(two).collect(),
            rows: along.iter().map(by_rows).collect(),
            parts: across.iter().map(|f| bytes(self.graph, *f)).fold(0, i64::saturating_add).saturating_mul(blocks),
        })
    }

    /// Bytes that two kernels would read, one of what becomes two reductions and one of the others.
    fn spared(&self, readers: &Readers, shared: &Shared) -> i64 {
        let first = |n: &NodeIndex| shared.reductions.iter().any(|(reduction, _)| reduction == n);
        let twice = readers.memory.iter().filter(|(_, by)| by.iter().any(first) && !by.iter().all(first));
        twice.map(|(base, _)| bytes(self.graph, *base)).fold(0, i64::saturating_add)
    }

    /// Whether it takes longer to compute what the readers make of an element than to move what they share.
    fn computes(&self, readers: &Readers) -> bool {
        let moved =
            readers.memory.iter().map(|(base, _)| self.each(*base)).chain(readers.maps.iter().map(|m| self.each(*m)));
        f64::from(readers.instructions) > moved.sum::<i64>() as f64 * OPERATIONS_PER_BYTE
    }

    /// Whether a reduction gives for each row just what a total combines.
    fn is_same(&self, reduction: NodeIndex, total: NodeIndex) -> bool {
        let [a, b] = [reduction, total].map(|n| match self.graph.nodes()[n as usize].op() {
            Op::Reduce(by, _) => Some(*by),
            _ => None,
        });
        a == b && self.graph.sources(reduction)[0] == self.graph.sources(total)[0]
    }

    /// The dimensions that a node reduces.
    fn axes(&self, node: NodeIndex) -> &[usize] {
        match self.graph.nodes()[node as usize].op() {
            Op::Reduce(_, axes) => axes,
            _ => &[],
        }
    }

    fn shape(&self, node: NodeIndex) -> &[Size] {
        self.graph.nodes()[node as usize].shape()
    }

    /// The shape of what a reduction reduces.
    fn source(&self, reduction: NodeIndex) -> &[Size] {
        self.shape(self.graph.sources(reduction)[0])
    }

    fn each(&self, node: NodeIndex) -> i64 {
        self.graph.nodes()[node as usize].dtype().bytes() as i64
    }

    fn decision(&self, reduction: NodeIndex, spared: i64) -> Decision {
        let extents: Vec<String> = self.source(reduction).iter().map(Size::to_string).collect();
        let read = bytes(self.graph, self.graph.sources(reduction)[0]);
        let estimate = Estimate { bytes: read, spared, ..Estimate::default() };
        Decision { what: format!("reduce {}", extents.join("x")), estimate, verdict: Verdict::InTwo }
    }
}

/// Whether a node reduces many values, in any order, and loses nothing where reductions of rows are written down.
fn is_long(graph: &Graph, node: NodeIndex) -> bool {
    let value = &graph.nodes()[node as usize];
    let Op::Reduce(by, _) = value.op() else { return false };
    let wide = !value.dtype().is_float() || value.dtype().bytes() >= 4 || matches!(by, Monoid::Max | Monoid::Min);
    by.alu().is_some() && wide && bytes(graph, graph.sources(node)[0]) >= memory::KERNEL
}

/// Bytes of a value, at most.
fn bytes(graph: &Graph, node: NodeIndex) -> i64 {
    let value = &graph.nodes()[node as usize];
    points(value.shape()).saturating_mul(value.dtype().bytes() as i64)
}
