//! Contractions: blocks of rows, columns and depth around a tile of registers.

use super::cost::{contiguous, extent, loads_only_constants, round, round_up};
use super::{Choice, TASK};
use crate::contraction::Contraction;
use crate::opt::{Layout, LoopRef, Opt, StageHome, Tail, To};
use svod_ir::kernel::{AxisId, Kernel};
use svod_ir::target::Target;

/// Rows and columns of a contraction's task at most. Larger ones save little more packing, and leave
/// too few tasks to share out evenly.
pub(super) const MAX_ROWS: i64 = 144;
const MAX_COLUMNS: i64 = 512;
/// Tasks of a contraction at most, if blocks can be made small enough.
const MAX_TASKS: i64 = 32;
/// Points of a row that a copy in panels takes at a time: some cache lines, and few enough panels
/// that each has a line in the first-level cache.
const COPIED_AT_ONCE: i64 = 192;
/// Depth that one task of a shared copy covers.
const MAX_COPIED_DEPTH: i64 = 256;
/// Lanes of a vector loop of a copy at most.
const MAX_LANES: i64 = 64;
/// Sums that hide the latency of a multiply-add, with some to spare: two units of some 4 or 5 cycles.
const SUMS_IN_FLIGHT: i64 = 12;

pub(super) fn worth_a_tile(kernel: &Kernel, c: &Contraction) -> bool {
    let depth = c.depth.iter().fold(1, |n: i64, a| n.saturating_mul(extent(kernel, *a)));
    extent(kernel, c.m) >= 2 && extent(kernel, c.n) >= 8 && depth >= 4
}

impl Choice<'_> {
    /// Tiles of registers, panels in caches; see Goto and van de Geijn (2008) and Low et al.
    /// (2016) for how the factors follow from the machine.
    pub(super) fn contraction(&mut self, stage: usize, c: &Contraction) {
        let k = self.kernel;
        let out = k.stages.len() - 1;
        let name = k.stages[stage].name.clone();
        let lanes = self.target.lanes(c.acc.bytes()) as i64;
        let (m, n, depth) = (extent(k, c.m), extent(k, c.n), extent(k, c.k));
        let (rows, vectors) = tile_shape(self.target, m, n, lanes);
        let cols = vectors * lanes;
        let element = c.acc.bytes() as i64;

        // A panel of B fills the first-level cache, a block of A half of the second. A block of rows should
        // be tall, since each panel of B is fetched once for it. Sums that one pass completes are not
        // read again, which is worth a panel that is a little too deep.
        let deepest = (self.target.l1 as i64 / (cols * element)).clamp(64, 512);
        let block_k = if depth <= deepest * 3 / 2 { round_up(depth, 8) } else { round(depth, deepest, 8) };
        let tall = (self.target.l2 as i64 / 2 / (block_k * element)).clamp(rows, MAX_ROWS);
        let others = k.stages[out].over.iter().filter(|a| **a != c.m && **a != c.n);
        let outer: i64 = others.map(|a| extent(k, *a)).product();
        let work = m.saturating_mul(n).saturating_mul(depth).saturating_mul(outer);
        let wanted = (work / (8 * TASK)).clamp(1, 8).max((work / (128 * TASK)).min(MAX_TASKS));
        let mut task_m = round(m, tall, rows);
        let mut task_n = round(n, MAX_COLUMNS, cols);
        let blocks = |n: i64, block: i64| (n + block - 1) / block;
        // Rows first: a block of A is then copied by one task, and B is shared.
        while outer * blocks(m, task_m) * blocks(n, task_n) < wanted && task_m >= 16 * rows {
            task_m = round_up(task_m / 2, rows);
        }
        while outer * blocks(m, task_m) * blocks(n, task_n) < wanted && task_n >= 8 * cols {
            task_n = round_up(task_n / 2, cols);
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
        // Tasks that would each copy the same columns share one copy.
        let copies = blocks(m, task_m);
        let home = match (constant, copies) {
            (true, _) => StageHome::Prepared,
            (false, 1) => StageHome::Task,
            (false, _) => StageHome::Shared,
        };
        let along_rows = contiguous(k, &[c.a], &[], 0) == Some(c.m);
        let a_layout = if along_rows { Layout::Panels(rows as u32) } else { Layout::Rows };
        self.opts.push(Opt::Stage { stage: name.clone(), read: 0.into(), layout: a_layout, home: StageHome::Task });
        self.opts.push(Opt::Stage { stage: name.clone(), read: 1.into(), layout: Layout::Panels(cols as u32), home });
        let a = format!("{name}.a");
        self.opts.push(Opt::At { stage: a.clone(), at: sm.clone() });
        if along_rows {
            self.copy_panels(&a, &c.operand_axes(k, 0, a_layout), rows, false, None);
        } else {
            self.copy_rows(&a, c, rows, lanes);
        }
        let b = format!("{name}.b");
        let over = c.operand_axes(k, 1, Layout::Panels(cols as u32));
        let square = self.square_blocks(c);
        match home {
            StageHome::Task => {
                self.opts.push(Opt::At { stage: b.clone(), at: sk });
                self.copy_panels(&b, &over, cols, false, square);
            }
            StageHome::Shared => self.copy_panels(&b, &over, cols, true, square),
            StageHome::Prepared => {}
        }
        self.opts.push(Opt::Micro { stage: name, rows: rows as u32, cols: cols as u32 });
        if home != StageHome::Task {
            // The next panel comes from the last-level cache or memory.
            self.opts.push(Opt::Prefetch { at: sn, read: 1.into(), ahead: 1 });
        }
    }

    /// Lanes of the square blocks in which the second operand is copied, where memory runs along the
    /// depth.
    pub(super) fn square_blocks(&self, c: &Contraction) -> Option<i64> {
        let lanes = self.target.lanes(c.acc.bytes()) as i64;
        (lanes > 1 && contiguous(self.kernel, &[c.b], &[], 0) == Some(c.k)).then_some(lanes)
    }

    /// The loops of a copy in rows: along the depth in vectors, and scratch for whole tiles of rows.
    pub(super) fn copy_rows(&mut self, stage: &str, c: &Contraction, rows: i64, lanes: i64) {
        let whole = |axis: AxisId| LoopRef::new(stage, self.kernel.axes[axis.index()].var.name(), 0);
        let (row, at) = (whole(c.m), whole(c.k));
        self.split(row, rows, Tail::PadScratch);
        self.split(at.clone(), lanes, Tail::Rest);
        self.bind(LoopRef { part: 1, ..at }, To::Vector);
    }

    /// The loops of a copy in panels: some panels at a time, row by row, so that memory is read in
    /// order. Blocks of some panels and some depth are tasks of their own where all tasks share the copy.
    /// Where memory runs along the depth, in square blocks whose rows are read and whose columns are
    /// written.
    pub(super) fn copy_panels(&mut self, stage: &str, over: &[AxisId], width: i64, shared: bool, square: Option<i64>) {
        let k = self.kernel;
        let whole = |a: &AxisId| LoopRef::new(stage, k.axes[a.index()].var.name(), 0);
        let part = |l: &LoopRef, part| LoopRef { part, ..l.clone() };
        let [outer @ .., depth, last] = over else { return };
        let (depth, last) = (whole(depth), whole(last));
        let mut outer: Vec<LoopRef> = outer.iter().map(whole).collect();
        outer.push(last.clone());
        self.split(last.clone(), round_up(COPIED_AT_ONCE, width), Tail::Rest);
        self.split(part(&last, 1), width, Tail::Rest);
        let mut inner = vec![part(&last, 1), part(&last, 2)];
        let mut along = depth.clone();
        if shared {
            self.split(depth.clone(), MAX_COPIED_DEPTH, Tail::Rest);
            along = part(&depth, 1);
            inner.insert(if square.is_some() { 1 } else { 0 }, along.clone());
        }
        outer.push(depth);
        let mut line = None;
        if let Some(lanes) = square {
            self.split(part(&last, 2), lanes, Tail::Rest);
            self.split(along.clone(), lanes, Tail::Rest);
            let columns = LoopRef { part: along.part + 1, ..along };
            inner.extend([columns.clone(), part(&last, 3)]);
            line = Some(columns);
        }
        let mut vector = inner[inner.len() - 1].clone();
        if square.is_none() && width > MAX_LANES {
            let lanes = (1 << width.trailing_zeros()).min(MAX_LANES);
            self.split(vector.clone(), lanes, Tail::Rest);
            vector.part += 1;
            inner.push(vector.clone());
        }
        let order = outer.iter().chain(&inner).cloned().collect();
        self.opts.push(Opt::Reorder { stage: stage.into(), order });
        if shared {
            outer.into_iter().for_each(|task| self.bind(task, To::Task));
        }
        line.into_iter().for_each(|line| self.bind(line, To::Unroll));
        self.bind(vector, To::Vector);
    }
}

/// Rows of a tile, and its columns in vectors: as many accumulators as there are registers for, in
/// the shape that wastes the least at the edges of `m` × `n`.
pub(super) fn tile_shape(target: &Target, m: i64, n: i64, lanes: i64) -> (i64, i64) {
    let registers = target.vector_registers as i64;
    // Accumulators, a row of B, and an element of A.
    let most = |rows: i64| (registers - 1) / (rows + 1);
    let shapes = (1..registers).flat_map(|rows| (1..=most(rows)).map(move |vectors| (rows, vectors)));
    let cost = |(rows, vectors): &(i64, i64)| {
        let sums = rows * vectors;
        // Fewer sums than hide the latency of a multiply-add leave units idle; loads beside
        // multiply-adds cost a little.
        let idle = (SUMS_IN_FLIGHT - sums).max(0) as f64 / sums as f64;
        let loads = (rows + vectors) as f64 / sums as f64;
        let padded = (round_up(m, *rows) * round_up(n, vectors * lanes)) as f64;
        padded * (1.0 + idle) * (1.0 + loads / 8.0)
    };
    shapes.min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or((1, 1))
}
