//! The schedule that is chosen without a search.
//!
//! Three shapes of kernel are told apart by structure alone: a contraction with its epilogue, rows
//! (stages that fold a row, and what is made of them), and everything else, which is one map or
//! fold. Nothing here knows a kernel by name or a size by value: factors follow from the target's
//! vector width, registers and caches.

use crate::contraction::{Contraction, recognise, scans};
use crate::lower::{LONGEST_SUM, cascades};
use crate::opt::{Layout, LoopRef, Opt, Schedule, StageHome, Tail, To};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::kernel::{AxisId, Body, Emit, Kernel, Out};
use svod_ir::size::{Size, Variable};
use svod_ir::target::Target;

/// Scalar operations that are worth handing to another thread.
const TASK: i64 = 1 << 16;

/// Tasks of one kernel at most: more only cost time to hand out.
const MAX_TASKS: i64 = 256;

/// Rows and columns of a contraction's task at most. Larger ones save little more packing, and leave
/// too few tasks to share out evenly.
const MAX_ROWS: i64 = 144;
const MAX_COLUMNS: i64 = 512;

/// Chooses a schedule from the kernel's structure and the target's description.
pub fn heuristic(kernel: &Kernel, target: &Target) -> Schedule {
    let last = kernel.stages.len().saturating_sub(1);
    let tiled = (0..last).find_map(|s| recognise(kernel, s).filter(|c| worth_a_tile(kernel, c)).map(|c| (s, c)));
    let mut choice = Choice { kernel, target, opts: Vec::new() };
    match tiled {
        Some((stage, found)) => choice.contraction(stage, &found),
        None => choice.rows(),
    }
    Schedule(choice.opts)
}

fn extent(kernel: &Kernel, axis: AxisId) -> i64 {
    kernel.axes[axis.index()].extent.upper_bound().unwrap_or(i64::MAX).max(1)
}

fn worth_a_tile(kernel: &Kernel, c: &Contraction) -> bool {
    extent(kernel, c.m) >= 4 && extent(kernel, c.n) >= 8 && extent(kernel, c.k) >= 4
}

struct Choice<'k> {
    kernel: &'k Kernel,
    target: &'k Target,
    opts: Vec<Opt>,
}

impl Choice<'_> {
    fn at(&self, stage: usize, axis: AxisId, part: u32) -> LoopRef {
        LoopRef::new(&self.kernel.stages[stage].name, self.kernel.axes[axis.index()].var.name(), part)
    }

    fn split(&mut self, at: LoopRef, by: i64, tail: Tail) {
        self.opts.push(Opt::Split { at, by: by as u64, tail });
    }

    fn bind(&mut self, at: LoopRef, to: To) {
        self.opts.push(Opt::Bind { at, to });
    }

    /// Tiles of registers, panels in caches; see Goto and van de Geijn (2008) and Low et al.
    /// (2016) for how the factors follow from the machine.
    fn contraction(&mut self, stage: usize, c: &Contraction) {
        let k = self.kernel;
        let out = k.stages.len() - 1;
        let name = k.stages[stage].name.clone();
        let lanes = self.target.lanes(c.acc.bytes()) as i64;
        let (rows, cols) = if self.target.vector_registers >= 32 { (12, 2 * lanes) } else { (4, 3 * lanes) };
        let (m, n, depth) = (extent(k, c.m), extent(k, c.n), extent(k, c.k));
        let element = c.acc.bytes() as i64;

        // A panel of B takes three quarters of the first-level cache, a block of A half of the
        // second. A block of rows should be tall, since each panel of B is fetched once for it.
        let block_k = round(depth, (self.target.l1 as i64 * 3 / 4 / (cols * element)).clamp(64, 512), 8);
        let tall = (self.target.l2 as i64 / 2 / (block_k * element)).clamp(rows, MAX_ROWS);
        let outer: i64 =
            k.stages[out].over.iter().filter(|a| **a != c.m && **a != c.n).map(|a| extent(k, *a)).product();
        let work = m.saturating_mul(n).saturating_mul(depth).saturating_mul(outer);
        let wanted = (work / (8 * TASK)).clamp(1, 8);
        let mut task_m = round(m, tall, rows);
        let mut task_n = round(n, MAX_COLUMNS, cols);
        let tasks = |task_m: i64, task_n: i64| outer * (m + task_m - 1) / task_m * ((n + task_n - 1) / task_n);
        while tasks(task_m, task_n) < wanted && task_n >= 8 * cols {
            task_n = round_up(task_n / 2, cols);
        }
        while tasks(task_m, task_n) < wanted && task_m >= 4 * rows {
            task_m = round_up(task_m / 2, rows);
        }

        // The output: a grid of tasks, each a block of rows and columns.
        let (om, on) = (self.at(out, c.m, 0), self.at(out, c.n, 0));
        self.split(om.clone(), task_m, Tail::Rest);
        self.split(on.clone(), task_n, Tail::Rest);
        let vector = LoopRef { part: 1, ..on.clone() };
        self.split(vector.clone(), lanes, Tail::Rest);
        let others: Vec<LoopRef> =
            k.stages[out].over.iter().filter(|a| **a != c.m && **a != c.n).map(|a| self.at(out, *a, 0)).collect();
        let tasks: Vec<LoopRef> = others.into_iter().chain([om.clone(), on.clone()]).collect();
        let inner = [LoopRef { part: 1, ..om.clone() }, vector.clone(), LoopRef { part: 2, ..on.clone() }];
        self.opts.push(Opt::Reorder {
            stage: k.stages[out].name.clone(),
            order: tasks.iter().chain(&inner).cloned().collect(),
        });
        for task in &tasks {
            self.bind(task.clone(), To::Task);
        }
        self.bind(inner[2].clone(), To::Vector);

        // The contraction: blocks of depth, blocks of rows, panels of columns, tiles.
        self.opts.push(Opt::At { stage: name.clone(), at: on });
        let (sm, sn, sk) = (self.at(stage, c.m, 0), self.at(stage, c.n, 0), self.at(stage, c.k, 0));
        self.split(sm.clone(), task_m, Tail::Rest);
        self.split(LoopRef { part: 1, ..sm.clone() }, rows, Tail::PadScratch);
        self.split(sn.clone(), cols, Tail::PadScratch);
        self.split(sk.clone(), block_k, Tail::Rest);
        let all = crate::contraction::stage_axes(k, stage);
        let others = all.into_iter().filter(|a| ![c.m, c.n, c.k].contains(a)).map(|a| self.at(stage, a, 0));
        let part = |l: &LoopRef, part| LoopRef { part, ..l.clone() };
        let order =
            others.chain([sk.clone(), sm.clone(), sn.clone(), part(&sm, 1), part(&sm, 2), part(&sn, 1), part(&sk, 1)]);
        self.opts.push(Opt::Reorder { stage: name.clone(), order: order.collect() });

        let constant = loads_only_constants(k, c.b);
        let home = if constant { StageHome::Prepared } else { StageHome::Task };
        let along_rows = contiguous(k, &[c.a], &[], 0) == Some(c.m);
        let a_layout = if along_rows { Layout::Panels(rows as u32) } else { Layout::Rows };
        self.opts.push(Opt::Stage { stage: name.clone(), operand: 0, layout: a_layout, home: StageHome::Task });
        self.opts.push(Opt::Stage { stage: name.clone(), operand: 1, layout: Layout::Panels(cols as u32), home });
        let a = format!("{name}.a");
        self.opts.push(Opt::At { stage: a.clone(), at: sm.clone() });
        if along_rows {
            self.copy_panels(&a, &c.operand_axes(k, 0, a_layout), rows, false);
        } else {
            self.copy_rows(&a, c, rows, lanes);
        }
        if !constant {
            let b = format!("{name}.b");
            self.opts.push(Opt::At { stage: b.clone(), at: sk });
            self.copy_panels(&b, &c.operand_axes(k, 1, Layout::Panels(cols as u32)), cols, true);
        }
        self.opts.push(Opt::Micro { stage: name, rows: rows as u32, cols: cols as u32 });
    }

    /// The loops of a copy in rows: along the depth in vectors, and scratch for whole tiles of rows.
    fn copy_rows(&mut self, stage: &str, c: &Contraction, rows: i64, lanes: i64) {
        let whole = |axis: AxisId| LoopRef::new(stage, self.kernel.axes[axis.index()].var.name(), 0);
        let (row, at) = (whole(c.m), whole(c.k));
        self.split(row, rows, Tail::PadScratch);
        self.split(at.clone(), lanes, Tail::Rest);
        self.bind(LoopRef { part: 1, ..at }, To::Vector);
    }

    /// The loops of a copy in panels: panel by panel, each point of the depth at once.
    fn copy_panels(&mut self, stage: &str, over: &[AxisId], width: i64, vector: bool) {
        let names: Vec<&str> = over.iter().map(|a| self.kernel.axes[a.index()].var.name()).collect();
        let [outer @ .., depth, last] = &names[..] else { return };
        let loops: Vec<LoopRef> = outer.iter().map(|n| LoopRef::new(stage, n, 0)).collect();
        let (depth, last) = (LoopRef::new(stage, depth, 0), LoopRef::new(stage, last, 0));
        self.split(last.clone(), width, Tail::Rest);
        let inner = LoopRef { part: 1, ..last.clone() };
        let order = loops.into_iter().chain([last, depth, inner.clone()]).collect();
        self.opts.push(Opt::Reorder { stage: stage.into(), order });
        if vector {
            self.bind(inner, To::Vector);
        }
    }

    /// Rows: an output, and the stages that it reads, each computed once a row.
    fn rows(&mut self) {
        let k = self.kernel;
        let out = k.stages.len() - 1;
        if matches!(k.stages[out].body, Body::Scatter { .. }) {
            return;
        }
        let over = &k.stages[out].over;
        let folds: Vec<usize> = (0..out).filter(|s| matches!(k.stages[*s].body, Body::Fold { .. })).collect();
        let is_row = |a: &AxisId| folds.iter().any(|s| k.stages[*s].over.contains(a));
        let (rows, inner): (Vec<AxisId>, Vec<AxisId>) =
            if folds.is_empty() { (Vec::new(), over.clone()) } else { over.iter().copied().partition(is_row) };
        let contiguous = stage_vector(k, out);
        // A row axis along which memory is contiguous, when no other axis is: blocks of rows.
        let across = rows.iter().copied().find(|a| Some(*a) == contiguous);
        let own = crate::contraction::stage_axes(k, out);
        let folded: Vec<AxisId> = own.iter().copied().filter(|a| !over.contains(a)).collect();
        let lanes = self.lanes(out);

        // The axis that is cut into vectors, if any.
        let vector = contiguous.filter(|a| across.is_none() && extent(k, *a) >= lanes && !scans(k, out, *a));
        let work: i64 = own.iter().map(|a| extent(k, *a)).fold(1, i64::saturating_mul).saturating_mul(cost(k));
        // Stages of the whole kernel run once, so that there is one task.
        let whole = rows.is_empty() && !folds.is_empty();
        let tasks = if whole { 1 } else { (work / TASK).clamp(1, MAX_TASKS) };
        let candidates: Vec<AxisId> = if rows.is_empty() { over.clone() } else { rows.clone() };

        let mut order: Vec<LoopRef> = Vec::new();
        let mut bound: Vec<LoopRef> = Vec::new();
        let mut serial: Vec<LoopRef> = Vec::new();
        let mut left = tasks;
        for axis in &candidates {
            let at = self.at(out, *axis, 0);
            let n = extent(k, *axis);
            let is_vector = Some(*axis) == vector || Some(*axis) == across;
            if left > 1 {
                let points = round_up((n + left - 1) / left, if is_vector { 4 * lanes } else { 1 });
                self.split(at.clone(), points, Tail::Rest);
                bound.push(at.clone());
                serial.push(LoopRef { part: 1, ..at });
                left = left * points / n.max(1);
            } else {
                serial.push(at);
            }
        }
        let rest: Vec<LoopRef> =
            inner.iter().filter(|a| !candidates.contains(a)).map(|a| self.at(out, *a, 0)).collect();
        order.extend(bound.iter().cloned());
        let row_loops = if whole { Vec::new() } else { serial.clone() };
        order.extend(serial);
        order.extend(rest);
        order.extend(folded.iter().map(|a| self.at(out, *a, 0)));

        let binds = vector.map_or(Vec::new(), |axis| self.vectorize(out, axis, &mut order, lanes));
        if !order.is_empty() {
            self.opts.push(Opt::Reorder { stage: k.stages[out].name.clone(), order: order.clone() });
        }
        for at in bound {
            self.bind(at, To::Task);
        }
        self.opts.extend(binds);
        self.cascade(out, &order);
        if folds.is_empty() {
            return;
        }
        // The stages of a row are computed where the last row loop has been entered.
        let Some(at) = row_loops.last().cloned() else {
            (0..out).for_each(|s| self.stage_of_row(s));
            return;
        };
        for stage in 0..out {
            self.opts.push(Opt::At { stage: k.stages[stage].name.clone(), at: at.clone() });
            self.stage_of_row(stage);
        }
    }

    /// The loops of a stage that is computed for one row.
    fn stage_of_row(&mut self, stage: usize) {
        let k = self.kernel;
        let own = crate::contraction::stage_axes(k, stage);
        let lanes = self.lanes(stage);
        let mut order: Vec<LoopRef> = own.iter().map(|a| self.at(stage, *a, 0)).collect();
        let folded = |a: &AxisId| matches!(&k.stages[stage].body, Body::Fold { axes, .. } if axes.contains(a));
        let free = |a: &AxisId| (folded(a) && !scans(k, stage, *a)) || matches!(k.stages[stage].body, Body::Map(_));
        if let Some(axis) = stage_vector(k, stage).filter(|a| free(a) && extent(k, *a) >= lanes) {
            let binds = self.vectorize(stage, axis, &mut order, lanes);
            self.opts.push(Opt::Reorder { stage: k.stages[stage].name.clone(), order: order.clone() });
            self.opts.extend(binds);
        }
        self.cascade(stage, &order);
    }

    /// Cuts the loops of a long sum in two near their middle, so that its accumulators cascade:
    /// the lowering adds up what each block gives in accumulators of their own.
    fn cascade(&mut self, stage: usize, order: &[LoopRef]) {
        let k = self.kernel;
        let Body::Fold { carries, emit: Emit::Last, axes, .. } = &k.stages[stage].body else { return };
        if !cascades(carries) {
            return;
        }
        let outermost = |l: &&LoopRef| l.part == 0 && axes.iter().any(|a| k.axes[a.index()].var.name() == l.axis);
        let rounds = |l: &LoopRef| {
            let points = axes.iter().find(|a| k.axes[a.index()].var.name() == l.axis).map_or(1, |a| extent(k, *a));
            let by = |o: &Opt| if let Opt::Split { at, by, .. } = o { (at == l).then_some(*by as i64) } else { None };
            let step: i64 = self.opts.iter().filter_map(by).product();
            (points + step - 1) / step
        };
        let loops: Vec<(&LoopRef, i64)> = order.iter().filter(outermost).map(|l| (l, rounds(l))).collect();
        let total = loops.iter().fold(1, |n: i64, (_, rounds)| n.saturating_mul(*rounds));
        if total <= LONGEST_SUM {
            return;
        }
        let block = (total.isqrt() as u64).next_power_of_two() as i64;
        let mut inside = 1;
        for (at, rounds) in loops.into_iter().rev() {
            let by = block / inside;
            if by < rounds {
                if by > 1 {
                    self.split(at.clone(), by, Tail::Rest);
                }
                return;
            }
            inside *= rounds;
        }
    }

    /// Cuts the innermost part of an axis into vectors, and moves it to the end of `order`; a few
    /// of them at once where that fills the pipeline: folds, and bodies of few operations.
    /// Gives the steps that bind the new loops, to be taken once they are in order.
    fn vectorize(&mut self, stage: usize, axis: AxisId, order: &mut Vec<LoopRef>, lanes: i64) -> Vec<Opt> {
        let k = self.kernel;
        let name = k.axes[axis.index()].var.name();
        let Some(position) = order.iter().rposition(|l| l.axis == name) else { return Vec::new() };
        let fold = matches!(&k.stages[stage].body, Body::Fold { axes, .. } if axes.contains(&axis));
        if fold && !simple_fold(k, stage) {
            return Vec::new();
        }
        let at = order[position].clone();
        // The outer part of a kept axis goes before the loops that fold.
        let kept = |l: &LoopRef| k.stages[stage].over.iter().any(|a| k.axes[a.index()].var.name() == l.axis);
        let first_fold = order.iter().position(|l| !kept(l));
        if let (false, Some(first)) = (fold, first_fold.filter(|f| *f < position)) {
            let moved = order.remove(position);
            order.insert(first, moved);
        }
        let mut binds = Vec::new();
        let mut outer = at.clone();
        let mut cut = |this: &mut Self, by: i64, to: To| {
            this.split(outer.clone(), by, Tail::Rest);
            outer = LoopRef { part: outer.part + 1, ..outer.clone() };
            order.push(outer.clone());
            binds.push(Opt::Bind { at: outer.clone(), to });
            if fold {
                binds.push(Opt::Rfactor { at: outer.clone() });
            }
        };
        if extent(k, axis) >= 4 * lanes && (fold || cost(k) <= 12) {
            cut(self, 4 * lanes, To::Unroll);
        }
        cut(self, lanes, To::Vector);
        // Lanes get accumulators once all loops are bound.
        binds.sort_by_key(|o| matches!(o, Opt::Rfactor { .. }));
        binds
    }

    /// Lanes of a vector of a stage's widest values.
    fn lanes(&self, stage: usize) -> i64 {
        let k = self.kernel;
        let all = k.exprs.reachable(&k.stages[stage].roots());
        let values = all.iter().filter(|e| !matches!(k.exprs.get(**e), Expr::Index(_) | Expr::Const(_)));
        let widest = values.map(|e| k.exprs.dtype(*e).bytes()).max().unwrap_or(4);
        self.target.lanes(widest.max(1)) as i64
    }
}

/// Whether a fold has one plain carry, so that lanes may have accumulators of their own.
fn simple_fold(k: &Kernel, stage: usize) -> bool {
    matches!(&k.stages[stage].body, Body::Fold { carries, .. } if carries.len() == 1 && carries[0].op.alu().is_some())
}

/// Rough number of scalar operations per point.
fn cost(k: &Kernel) -> i64 {
    let of = |e: &Expr| match e {
        Expr::Alu(op, _) if op.is_transcendental() => 16,
        Expr::Alu(Alu::Div | Alu::Sqrt | Alu::Recip, _) => 4,
        Expr::Alu(..) | Expr::Load { .. } => 1,
        _ => 0,
    };
    k.exprs.iter().map(|(_, e)| of(e)).sum::<i64>().max(1)
}

fn loads_only_constants(k: &Kernel, value: ExprId) -> bool {
    k.exprs.reachable(&[value]).iter().all(|e| match k.exprs.get(*e) {
        Expr::Load { from: Mem::Param(p), .. } => k.params[p.index()].constant,
        Expr::Load { .. } => false,
        _ => true,
    })
}

/// The axis along which most of a stage's reads and writes are contiguous.
fn stage_vector(k: &Kernel, stage: usize) -> Option<AxisId> {
    let own = crate::contraction::stage_axes(k, stage);
    let store = |out: &Out| match out {
        Out::Param { index, .. } => index.last().copied(),
        Out::Temp => None,
    };
    let stores: Vec<ExprId> = k.stages[stage].outs.iter().filter_map(store).collect();
    // A fold reads far more than it writes; one whose lanes cannot be split is cut across.
    let weight = if simple_fold(k, stage) { 1 } else { 3 };
    let best = contiguous(k, &k.stages[stage].roots(), &stores, weight);
    let temp = matches!(k.stages[stage].outs[..], [Out::Temp]);
    best.filter(|a| own.contains(a)).or_else(|| if temp { k.stages[stage].over.last().copied() } else { None })
}

/// The axis along which most reads below `roots` are contiguous, where each of `stores`, last indices of
/// writes, counts `store_weight` times.
fn contiguous(k: &Kernel, roots: &[ExprId], stores: &[ExprId], store_weight: usize) -> Option<AxisId> {
    let mut votes = vec![0usize; k.axes.len()];
    let mut vote = |last: ExprId, weight: usize| {
        let Expr::Index(size) = k.exprs.get(last) else { return };
        for (a, axis) in k.axes.iter().enumerate() {
            let step = |v: &Variable| (*v == axis.var).then(|| Size::from(&axis.var) + 1);
            if size.variables().contains(&axis.var) && (size.substitute(&step) - size).as_const() == Some(1) {
                votes[a] += weight;
            }
        }
    };
    stores.iter().for_each(|s| vote(*s, store_weight));
    for e in k.exprs.reachable(roots) {
        if let Expr::Load { index, from, .. } = k.exprs.get(e) {
            let weight = if matches!(from, Mem::Param(_)) { 2 } else { 1 };
            index.last().into_iter().for_each(|l| vote(*l, weight));
        }
    }
    let best = votes.iter().copied().max().filter(|v| *v > 0)?;
    votes.iter().rposition(|v| *v == best).map(|a| AxisId(a as u32))
}

/// `n` in equal blocks of at most about `block`, a multiple of `of`; without a tail where that does
/// not make them less than half as large.
fn round(n: i64, block: i64, of: i64) -> i64 {
    let most = round_up(block.min(n), of);
    let exact = (1..=most / of).rev().map(|b| b * of).take_while(|b| 2 * b >= most);
    if let Some(exact) = exact.into_iter().find(|b| n % b == 0) {
        return exact;
    }
    let blocks = (n + block - 1) / block.max(1);
    round_up((n + blocks - 1) / blocks.max(1), of)
}

fn round_up(n: i64, of: i64) -> i64 {
    (n + of - 1) / of * of
}
