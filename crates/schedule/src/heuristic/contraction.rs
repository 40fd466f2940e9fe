//! Contractions: blocks of rows, columns and depth around a tile of registers.

use super::cost::{contiguous, extent, loads_only_constants, round, round_up};
use super::{Choice, TASK};
use crate::contraction::Contraction;
use crate::opt::{Layout, LoopRef, Opt, StageHome, Tail, To};
use svod_ir::kernel::{AxisId, Kernel};

/// Rows and columns of a contraction's task at most. Larger ones save little more packing, and leave
/// too few tasks to share out evenly.
const MAX_ROWS: i64 = 144;
const MAX_COLUMNS: i64 = 512;

pub(super) fn worth_a_tile(kernel: &Kernel, c: &Contraction) -> bool {
    extent(kernel, c.m) >= 4 && extent(kernel, c.n) >= 8 && extent(kernel, c.k) >= 4
}

impl Choice<'_> {
    /// Tiles of registers, panels in caches; see Goto and van de Geijn (2008) and Low et al.
    /// (2016) for how the factors follow from the machine.
    pub(super) fn contraction(&mut self, stage: usize, c: &Contraction) {
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
    pub(super) fn copy_rows(&mut self, stage: &str, c: &Contraction, rows: i64, lanes: i64) {
        let whole = |axis: AxisId| LoopRef::new(stage, self.kernel.axes[axis.index()].var.name(), 0);
        let (row, at) = (whole(c.m), whole(c.k));
        self.split(row, rows, Tail::PadScratch);
        self.split(at.clone(), lanes, Tail::Rest);
        self.bind(LoopRef { part: 1, ..at }, To::Vector);
    }

    /// The loops of a copy in panels: panel by panel, each point of the depth at once.
    pub(super) fn copy_panels(&mut self, stage: &str, over: &[AxisId], width: i64, vector: bool) {
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
}
