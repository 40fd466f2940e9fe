//! Which rows two kernels have in common, and what reading them once spares.
//!
//! A row is what the kernels compute at one point of some axes of both their outputs. They read the same of an
//! argument there, or one reads what the other writes. If that fits a cache, memory is read once; so it
//! is where the two do the same reductions, whatever the size, as these become one.

use super::join::written_by;
use crate::costs::Caches;
use crate::costs::limits::{groups, kernels, memory, registers, tasks};
use crate::kernel::Ranged;
use crate::kernel::access::contiguous;
use svod_ir::expr::{Expr, ExprId, Mem, ParamId};
use svod_ir::graph::Graph;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::kernel::{AxisId, Body, Kernel, Out, Stage};
use svod_ir::size::{Size, Variable};

/// The rows that two kernels have in common.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedRows {
    /// The axes of the rows: of the second kernel, and of the first.
    pub pairs: Vec<(AxisId, AxisId)>,
    /// Bytes that need not be read again.
    pub spared: i64,
    /// Bytes of one row that have to stay in a cache.
    pub row_bytes: i64,
}

/// Bytes that a kernel reads and writes.
pub(super) fn traffic(graph: &Graph, ranged: &Ranged) -> i64 {
    ranged.params.iter().map(|n| bytes(graph, *n)).fold(0, i64::saturating_add)
}

fn bytes(graph: &Graph, node: NodeIndex) -> i64 {
    let value = &graph.nodes()[node as usize];
    let count = value.shape().iter().fold(1i64, |n, e| n.saturating_mul(e.upper_bound().unwrap_or(i64::MAX)));
    count.saturating_mul(value.dtype().bytes() as i64)
}

/// What is read of a parameter: the index.
type Read<'k> = (ParamId, &'k [ExprId]);

/// What rows are of memory that both kernels read.
struct Row {
    /// Bytes of one, or of a few side by side.
    bytes: i64,
    /// Of rows side by side, across those of memory, how many of these they have, and how many bytes they are apart.
    strips: Option<(i64, i64)>,
}

struct Pair<'a> {
    graph: &'a Graph,
    caches: Caches,
    first: &'a Ranged,
    second: &'a Ranged,
    /// The reads of each.
    reads: [Vec<Read<'a>>; 2],
    /// The axes that all outputs of the first have, and those of the second's output.
    rows: [Vec<AxisId>; 2],
    /// Whether a processor computes them, and not groups of threads.
    on_host: bool,
}

impl SharedRows {
    /// The rows that spare most, if there are any and the kernels can be one over them.
    pub fn of(graph: &Graph, caches: Caches, on_host: bool, first: &Ranged, second: &Ranged) -> Option<SharedRows> {
        let rows = [&first.kernel, &second.kernel].map(shared_axes);
        let reads = [&first.kernel, &second.kernel].map(reads);
        let pair = Pair { graph, caches, first, second, reads, rows, on_host };
        let found = pair.pairings().into_iter().filter_map(|pairs| pair.weigh(pairs));
        found.max_by_key(|rows| (rows.spared, rows.pairs.len()))
    }
}

impl Pair<'_> {
    /// Ways in which axes may be the same.
    fn pairings(&self) -> Vec<Vec<(AxisId, AxisId)>> {
        let mut tried: Vec<Vec<(AxisId, AxisId)>> = Vec::new();
        let [ours, theirs] = &self.rows;
        let extents = |k: &Kernel, axes: &[AxisId]| -> Vec<Size> {
            axes.iter().map(|a| k.axes[a.index()].extent.clone()).collect()
        };
        if extents(&self.first.kernel, ours) == extents(&self.second.kernel, theirs) {
            tried.push(theirs.iter().copied().zip(ours.iter().copied()).collect());
        }
        for (p, index) in &self.reads[1] {
            for (_, places) in self.same_node(*p) {
                if tried.len() == kernels::MAX_COMPARED {
                    return tried;
                }
                let pairs = self.pairing(index, places);
                if !pairs.is_empty() && !tried.contains(&pairs) {
                    tried.push(pairs);
                }
            }
        }
        tried
    }

    /// Where the first kernel reads or writes what parameter `p` of the second is; whether it writes.
    fn same_node(&self, p: ParamId) -> Vec<(bool, &[ExprId])> {
        let node = self.second.params[p.index()];
        let shape = &self.second.kernel.params[p.index()].shape;
        let same = |q: &usize| self.first.params[*q] == node && self.first.kernel.params[*q].shape == *shape;
        let Some(of_first) = (0..self.first.params.len()).find(same) else { return Vec::new() };
        let of_first = ParamId(of_first as u32);
        match written_by(&self.first.kernel, of_first) {
            Some((stage, value)) => match &self.first.kernel.stages[stage.index()].outs[value] {
                Out::Param { index, .. } => vec![(true, &index[..])],
                Out::Temp => Vec::new(),
            },
            None => self.reads[0].iter().filter(|(q, _)| *q == of_first).map(|(_, index)| (false, *index)).collect(),
        }
    }

    /// The rows' axes that two indices name at the same dimensions.
    fn pairing(&self, theirs: &[ExprId], ours: &[ExprId]) -> Vec<(AxisId, AxisId)> {
        let mut pairs: Vec<(AxisId, AxisId)> = Vec::new();
        for (b, a) in theirs.iter().zip(ours) {
            let (Some(b), Some(a)) = (axis(&self.second.kernel, *b), axis(&self.first.kernel, *a)) else { continue };
            let rows = self.rows[1].contains(&b) && self.rows[0].contains(&a);
            let extent = |k: &Kernel, x: AxisId| k.axes[x.index()].extent.clone();
            let equal = extent(&self.second.kernel, b) == extent(&self.first.kernel, a);
            if rows && equal && pairs.iter().all(|(x, y)| *x != b && *y != a) {
                pairs.push((b, a));
            }
        }
        pairs.sort_unstable();
        pairs
    }

    /// What it spares to share rows over these axes.
    fn weigh(&self, pairs: Vec<(AxisId, AxisId)>) -> Option<SharedRows> {
        let named = |v: &Variable| {
            let b = self.second.kernel.axes.iter().position(|a| a.var == *v)?;
            let (_, a) = pairs.iter().find(|(x, _)| x.index() == b)?;
            Some(Size::from(&self.first.kernel.axes[a.index()].var))
        };
        let is_row = |kernel: usize, v: &Variable| {
            let at = |a: &AxisId| [&self.first.kernel, &self.second.kernel][kernel].axes[a.index()].var == *v;
            pairs.iter().any(|(b, a)| at(if kernel == 0 { a } else { b }))
        };
        let mut shared: Vec<NodeIndex> = Vec::new();
        for (p, index) in &self.reads[1] {
            let node = self.second.params[p.index()];
            for (written, place) in self.same_node(*p) {
                let along = |d: usize| {
                    let (theirs, ours) = (size(&self.second.kernel, index[d]), size(&self.first.kernel, place[d]));
                    let (Some(theirs), Some(ours)) = (theirs, ours) else { return false };
                    let free = !theirs.variables().iter().any(|v| is_row(1, v))
                        && !ours.variables().iter().any(|v| is_row(0, v));
                    // Between the rows anything goes; a row is where it is.
                    let moved = theirs.variables().iter().all(|v| is_row(1, v)) && theirs.substitute(&named) == *ours;
                    free || moved
                };
                let same = (0..index.len().min(place.len())).all(along);
                if written && !same {
                    return None;
                }
                if same && !shared.contains(&node) {
                    shared.push(node);
                }
            }
        }
        let Row { bytes: row_bytes, strips } = self.row(&shared, &pairs);
        let across = strips.is_some();
        let whole = pairs.len() == self.rows[0].len() && pairs.len() == self.rows[1].len();
        let points = self.rows_count(&pairs);
        let (first_is_map, second_is_map) = (is_map(&self.first.kernel), is_map(&self.second.kernel));
        // What goes across memory from one kernel to the next would be read or written in parts of lines.
        if first_is_map && second_is_map && self.turns(&pairs) {
            return None;
        }
        // A map, or a reduction that waits for another, reads memory again, in strips of columns.
        let written = first_is_map || second_is_map;
        let strips = strips.is_none_or(|(rows, bytes)| self.caches.hold_strips(rows, bytes, written));
        if points > memory::COLUMNS && (written || self.waits()) && !strips {
            return None;
        }
        // Reductions of few results are cut in parts, whose size is chosen so that they fit.
        let parts = whole && points < if across { memory::COLUMNS } else { tasks::FEW };
        let fits = self.caches.holds(row_bytes) || parts || (whole && self.is_one_fold());
        let parallel = points >= tasks::FEW || whole || self.points() <= tasks::CPU.task;
        let many = || points >= tasks::GROUPS.results || self.are_lines(&pairs);
        let parallel =
            parallel && (self.on_host || (many() && self.keeps_groups_busy(&pairs, points, whole || !across)));
        let spared = shared.iter().map(|n| bytes(self.graph, *n)).fold(0, i64::saturating_add);
        let longer = || !self.on_host && self.is_longer_by_row(&pairs, spared);
        (fits && parallel && !longer()).then_some(SharedRows { pairs, spared, row_bytes })
    }

    /// Whether what lies side by side in the output of one kernel lies across that of the other. On GPUs a row is a task: what
    /// lies side by side may not be its points in one kernel, and rows in the other.
    fn turns(&self, pairs: &[(AxisId, AxisId)]) -> bool {
        let last = |kernel: &Kernel, axes: &[AxisId]| axes.iter().rfind(|a| extent(kernel, **a) > 1).copied();
        let (theirs, ours) = (&self.second.kernel, &self.first.kernel);
        let Some((b, a)) = last(theirs, &self.rows[1]).zip(last(ours, &self.rows[0])) else { return false };
        let (by_their_row, by_our_row) =
            (|x: &AxisId| pairs.iter().any(|(b, _)| b == x), |y: &AxisId| pairs.iter().any(|(_, a)| a == y));
        if pairs.contains(&(b, a)) {
            return false;
        }
        let points = |kernel: &Kernel, axes: &[AxisId], is_row: &dyn Fn(&AxisId) -> bool| {
            axes.iter().any(|x| extent(kernel, *x) > 1 && !is_row(x))
        };
        let across = (by_their_row(&b) && points(theirs, &self.rows[1], &by_their_row))
            || (by_our_row(&a) && points(ours, &self.rows[0], &by_our_row));
        (by_their_row(&b) && by_our_row(&a)) || (!self.on_host && across)
    }

    /// Whether reductions take longer as parts of rows than the kernels apart: a row's are done one after the other, but for those
    /// along a run of memory, which its threads share.
    fn is_longer_by_row(&self, pairs: &[(AxisId, AxisId)], spared: i64) -> bool {
        let rows = self.rows_count(pairs) as f64;
        let threads = groups::THREADS as f64;
        let warps = threads / groups::WARP as f64;
        // Of each reduction, rounds in a row, and rounds that it takes by itself.
        let (mut rounds, mut shared) = (Vec::new(), false);
        for (side, k) in [&self.first.kernel, &self.second.kernel].into_iter().enumerate() {
            let is_row = |x: &AxisId| pairs.iter().any(|(b, a)| x == if side == 0 { a } else { b });
            for stage in &k.stages {
                let run = contiguous(k, &stage.roots(), &[], 0).filter(|a| extent(k, *a) >= registers::FEWEST_LANES);
                let run = run.filter(|a| !is_row(a));
                shared |= run.is_some();
                let Body::Reduce { axes, .. } = &stage.body else { continue };
                let points =
                    |axes: &mut dyn Iterator<Item = &AxisId>| axes.map(|a| extent(k, *a) as f64).product::<f64>();
                let lanes = run.map_or(1.0, |a| extent(k, a) as f64);
                let of_row = points(&mut stage.over.iter().chain(axes).filter(|a| !is_row(a))) / lanes;
                let (reduced, results) = (points(&mut axes.iter()), points(&mut stage.over.iter()));
                let alone = match run.filter(|a| axes.contains(a)) {
                    Some(_) => reduced / lanes * (results / warps).max(1.0),
                    None => reduced * (results / threads).max(1.0),
                };
                rounds.push((of_row, alone));
            }
        }
        let tasks = if shared { warps } else { threads };
        let longer: f64 = rounds.iter().map(|(of_row, alone)| of_row * (rows / tasks).max(1.0) - alone).sum();
        longer * groups::NS_OF_ROUND > groups::NS_OF_LAUNCH + spared as f64 / groups::BYTES_OF_NS
    }

    /// Whether the second kernel reads what the first writes.
    fn waits(&self) -> bool {
        self.second.params.iter().any(|n| self.first.outputs.contains(n))
    }

    /// Whether both kernels are a reduction of the same points, and neither waits for the other.
    fn is_one_fold(&self) -> bool {
        if self.waits() {
            return false;
        }
        let reduced = |k: &Kernel| match &k.stages[..] {
            [stage] => match &stage.body {
                Body::Reduce { axes, .. } => {
                    Some(axes.iter().map(|a| k.axes[a.index()].extent.clone()).collect::<Vec<Size>>())
                }
                _ => None,
            },
            _ => None,
        };
        let [a, b] = [reduced(&self.first.kernel), reduced(&self.second.kernel)];
        a.is_some() && a == b
    }

    /// Whether groups of threads have enough rows to share, or all that there are `along` memory. What is reduced over others
    /// than rows is one task's work.
    fn keeps_groups_busy(&self, pairs: &[(AxisId, AxisId)], points: i64, along: bool) -> bool {
        let by_row = |k: &Kernel, is_row: &dyn Fn(&AxisId) -> bool| {
            let rows: Vec<AxisId> = (0..k.axes.len() as u32).map(AxisId).filter(is_row).collect();
            let reduces = |s: &&Stage| matches!(s.body, Body::Reduce { .. });
            k.stages.iter().filter(reduces).all(|s| rows.iter().all(|a| s.over.contains(a)))
        };
        let rows = by_row(&self.first.kernel, &|a| pairs.iter().any(|(_, y)| y == a))
            && by_row(&self.second.kernel, &|a| pairs.iter().any(|(x, _)| x == a));
        let of_row = self.points() / points.max(1);
        let shared = rows && (points >= tasks::GROUPS.results || along && of_row <= tasks::ROW_OF_GROUP);
        shared || self.points() <= tasks::GROUPS.task || self.is_one_fold()
    }

    /// Whether no stage has more than a line of points in a row, which the threads of a block share; the reductions of one that
    /// do the same are as one.
    fn are_lines(&self, pairs: &[(AxisId, AxisId)]) -> bool {
        let line = |k: &Kernel, is_row: &dyn Fn(&AxisId) -> bool| {
            k.stages.iter().all(|stage| {
                let axes = stage.over.iter().chain(stage.body.inner());
                axes.filter(|a| !is_row(a) && extent(k, **a) > 1).count() <= 1
            })
        };
        let first = line(&self.first.kernel, &|a| pairs.iter().any(|(_, x)| x == a));
        let second = line(&self.second.kernel, &|a| pairs.iter().any(|(x, _)| x == a));
        self.is_one_fold() || (first && second)
    }

    fn rows_count(&self, pairs: &[(AxisId, AxisId)]) -> i64 {
        pairs.iter().map(|(_, a)| extent(&self.first.kernel, *a)).fold(1, i64::saturating_mul)
    }

    /// The points of the kernel that has most.
    fn points(&self) -> i64 {
        let of = |k: &Kernel| {
            let stage =
                |s: &Stage| s.over.iter().chain(s.body.inner()).map(|a| extent(k, *a)).fold(1, i64::saturating_mul);
            k.stages.iter().map(stage).max().unwrap_or(1)
        };
        of(&self.first.kernel).max(of(&self.second.kernel))
    }

    /// A row, or a few side by side, of what is shared.
    fn row(&self, shared: &[NodeIndex], pairs: &[(AxisId, AxisId)]) -> Row {
        let second = &self.second.kernel;
        let mut found = Row { bytes: 0, strips: None };
        for (p, index) in &self.reads[1] {
            let node = self.second.params[p.index()];
            if !shared.contains(&node) {
                continue;
            }
            let row = |a: &AxisId| pairs.iter().any(|(b, _)| b == a);
            let axes: Vec<AxisId> = (0..second.axes.len() as u32).map(AxisId).collect();
            let names = |e: ExprId, a: &AxisId| second.exprs.variables_used(&[e]).contains(&second.axes[a.index()].var);
            let is_inner = |a: &AxisId| !row(a) && index.iter().any(|e| names(*e, a));
            let inner: Vec<AxisId> = axes.iter().copied().filter(is_inner).collect();
            let count = inner.iter().map(|a| extent(second, *a)).fold(1, i64::saturating_mul);
            let across = count > 1 && index.last().is_some_and(|e| axes.iter().any(|a| row(a) && names(*e, a)));
            let side = if across { memory::COLUMNS } else { 1 };
            let param = &second.params[p.index()];
            let each = param.dtype.bytes() as i64;
            found.bytes = found.bytes.max(count.saturating_mul(side).saturating_mul(each));
            if across {
                let beside = index.iter().rev().take_while(|e| !inner.iter().any(|a| names(**e, a))).count();
                let columns = param.shape.iter().rev().take(beside).map(|n| n.upper_bound().unwrap_or(i64::MAX));
                let strips = (count, columns.fold(each, i64::saturating_mul));
                found.strips = found.strips.max(Some(strips));
            }
        }
        found
    }
}

/// Whether a kernel reduces nothing.
fn is_map(kernel: &Kernel) -> bool {
    kernel.stages.iter().all(|stage| matches!(stage.body, Body::Map(_)))
}

fn extent(kernel: &Kernel, axis: AxisId) -> i64 {
    kernel.axes[axis.index()].extent.upper_bound().unwrap_or(i64::MAX).max(1)
}

/// The axes that all outputs of a kernel have.
fn shared_axes(kernel: &Kernel) -> Vec<AxisId> {
    let writes = kernel.stages.iter().filter(|s| s.outs.iter().any(|o| matches!(o, Out::Param { .. })));
    let mut over = writes.map(|s| &s.over);
    let Some(first) = over.next_back() else { return Vec::new() };
    let rest: Vec<_> = over.collect();
    first.iter().copied().filter(|a| rest.iter().all(|o| o.contains(a))).collect()
}

/// The reads of a kernel's parameters.
fn reads(kernel: &Kernel) -> Vec<Read<'_>> {
    let roots: Vec<ExprId> = kernel.stages.iter().flat_map(|s| s.roots()).collect();
    let read = |e: &ExprId| match kernel.exprs.get(*e) {
        Expr::Load { from: Mem::Param(p), index, .. } => Some((*p, &index[..])),
        _ => None,
    };
    kernel.exprs.reachable(&roots).iter().filter_map(read).collect()
}

fn size(kernel: &Kernel, e: ExprId) -> Option<&Size> {
    match kernel.exprs.get(e) {
        Expr::Index(size) => Some(size),
        _ => None,
    }
}

/// The axis that an index is.
fn axis(kernel: &Kernel, e: ExprId) -> Option<AxisId> {
    let size = size(kernel, e)?;
    let at = kernel.axes.iter().position(|a| *size == Size::from(&a.var))?;
    Some(AxisId(at as u32))
}
