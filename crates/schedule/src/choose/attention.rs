//! Attention: two contractions, and rows between them.
//!
//! A task has a block of query rows of one head. It copies the head's keys and values into panels
//! once; then, for a few rows at a time, it computes their scores into scratch that stays in the
//! second-level cache, softens them there, and multiplies them by the values. The scores of all rows
//! are never in memory. Panels and tile as for any contraction (Goto and van de Geijn 2008).
//!
//! Few rows, the last queries of a decoder, are not worth copies of keys and values: these are read where they lie,
//! once for all rows of a head, where the cost model finds that faster.

use super::Choice;
use super::contraction::{deepest, most_vectors};
use super::rows::unrolled;
use crate::costs::limits::{products, tasks};
use crate::kernel::access::{contiguous, extent, round, round_up};
use crate::kernel::contraction::{Contraction, axes_of_stage, recognise};
use crate::language::{Layout, LoopRef, Opt, Read, StageHome, Tail, To};
use svod_ir::expr::{Expr, Mem};
use svod_ir::kernel::{AxisId, Body, Kernel};

/// The stages of an attention kernel.
pub(super) struct Attention {
    scores: usize,
    mixed: usize,
    s: Contraction,
    o: Contraction,
}

/// Finds the two contractions: the rows of one are the first operand of the other.
pub(super) fn attention(kernel: &Kernel) -> Option<Attention> {
    let out = kernel.stages.len().checked_sub(1)?;
    let found: Vec<(usize, Contraction)> = (0..out).filter_map(|s| recognise(kernel, s).map(|c| (s, c))).collect();
    let [(scores, s), (mixed, o)] = <[_; 2]>::try_from(found).ok()?;
    let Expr::Load { from: Mem::Temp(weights, _), valid: None, .. } = kernel.exprs.get(o.a) else { return None };
    let rows = kernel.stages[scores].over.iter().filter(|a| **a != s.n);
    let same = rows.clone().all(|a| kernel.stages[mixed].over.contains(a) && kernel.stages[out].over.contains(a));
    let own = kernel.stages[out].over.iter().all(|a| *a == o.n || kernel.stages[scores].over.contains(a));
    let between = weights.index() > scores && weights.index() < mixed && mixed + 1 == out;
    let map = matches!(kernel.stages[out].body, Body::Map(_));
    (same && own && between && map && s.m == o.m).then_some(Attention { scores, mixed, s, o })
}

impl Attention {
    /// Whether copying keys and values may cost more than reading them once for each row.
    pub(super) fn has_few_rows(&self, kernel: &Kernel) -> bool {
        extent(kernel, self.s.m) < products::SKINNY
    }
}

/// Rows and columns of a tile.
type Tile = (i64, i64);

impl Choice<'_> {
    pub(super) fn attention(&mut self, found: &Attention) {
        let k = self.kernel;
        let out = k.stages.len() - 1;
        let Attention { scores, mixed, s, o } = found;
        let lanes = self.target.lanes(s.acc.bytes()) as i64;
        let (m, keys, columns) = (extent(k, s.m), extent(k, s.n), extent(k, o.n));
        let (rows, cols) = self.tile(s, o, lanes);

        let block = round_up(m, rows).min(products::SCORES / rows * rows);
        let outer: Vec<AxisId> = k.stages[out].over.iter().copied().filter(|a| *a != s.m && *a != o.n).collect();
        let heads: i64 = outer.iter().map(|a| extent(k, *a)).product();
        let work = [heads, m, keys, columns + extent(k, s.k)].into_iter().fold(1, i64::saturating_mul);
        // A task has enough rows for the copies of keys and values to cost little; fewer where
        // there would be hardly any tasks.
        let tasks = |most: i64, least_rows: i64| {
            let wanted = (work / (8 * tasks::CPU.task)).clamp(1, most);
            let each = (wanted + heads - 1) / heads;
            ((m + each - 1) / each).max(least_rows)
        };
        let task = round(
            m,
            tasks(tasks::FEW, products::MIN_TASK_ROWS).min(tasks(tasks::MANY, 4 * products::MIN_TASK_ROWS)),
            block,
        );

        let (om, on) = (self.at(out, s.m, 0), self.at(out, o.n, 0));
        self.split(om.clone(), task, Tail::Rest);
        self.split(om.with_part(1), block, Tail::Rest);
        self.split(on.clone(), lanes, Tail::Rest);
        let tasks: Vec<LoopRef> = outer.iter().map(|a| self.at(out, *a, 0)).chain([om.clone()]).collect();
        let inner = [om.with_part(1), om.with_part(2), on.clone(), on.with_part(1)];
        let order = tasks.iter().chain(&inner).cloned().collect();
        self.opts.push(Opt::Reorder { stage: k.stages[out].name.clone(), order });
        for t in &tasks {
            self.bind(t.clone(), To::Task);
        }
        self.bind(on.with_part(1), To::Vector);

        let here = om.with_part(1);
        if self.strict {
            // Every reduction from left to right, at least once a block of rows only.
            let at = |stage: usize| Opt::At { stage: k.stages[stage].name.clone(), at: here.clone() };
            self.opts.extend((0..out).map(at));
            return;
        }
        self.tiles(*mixed, o, (rows, cols), &here);
        // Tasks that would each copy the same keys and values share one copy.
        let at = (task >= m).then_some(&om);
        self.panels(*mixed, o, cols, at);
        self.tiles(*scores, s, (rows, cols), &here);
        self.panels(*scores, s, cols, at);
        let name = k.stages[*scores].name.clone();
        self.opts.push(Opt::Stage {
            stage: name.clone(),
            read: Read::Operand(0),
            layout: Layout::Rows,
            home: StageHome::Task,
        });
        let a = format!("{name}.a");
        self.opts.push(Opt::At { stage: a.clone(), at: here.clone() });
        self.copy_rows(&a, s, rows, lanes);
        self.opts.push(Opt::Micro { stage: name, rows: rows as u32, cols: cols as u32 });
        self.opts.push(Opt::Micro { stage: k.stages[*mixed].name.clone(), rows: rows as u32, cols: cols as u32 });
        for stage in (0..*mixed).filter(|x| x != scores) {
            self.opts.push(Opt::At { stage: k.stages[stage].name.clone(), at: here.clone() });
            self.row_stage(stage, s.m, rows, lanes);
        }
    }

    /// A few rows of each head: its keys and values are read where they lie, once for all rows. Says whether they can
    /// be.
    pub(super) fn attention_of_few(&mut self, found: &Attention) -> bool {
        let k = self.kernel;
        let out = k.stages.len() - 1;
        let Attention { scores, mixed, s, o } = found;
        let lanes = self.lanes(*mixed);
        let along = [s.b, s.a, o.b].map(|operand| contiguous(k, &[operand], &[], 0));
        let dots = along[0] == Some(s.k) && along[1] == Some(s.k) && extent(k, s.k) >= lanes;
        let columns = along[0] == Some(s.n) && extent(k, s.n) >= lanes;
        let plain = |stage: usize| k.stages[stage].body.inner().len() == 1;
        if !(dots || columns) || along[2] != Some(o.n) || extent(k, o.n) < lanes || !plain(*scores) || !plain(*mixed) {
            return false;
        }
        let heads: Vec<AxisId> = k.stages[out].over.iter().copied().filter(|a| *a != s.m && *a != o.n).collect();
        let tasks: Vec<LoopRef> = heads.iter().map(|a| self.at(out, *a, 0)).collect();
        let Some(here) = tasks.last().cloned() else { return false };
        let on = self.at(out, o.n, 0);
        let lane = on.with_part(1);
        self.split(on.clone(), lanes, Tail::Rest);
        let order = tasks.iter().cloned().chain([self.at(out, s.m, 0), on, lane.clone()]).collect();
        self.opts.push(Opt::Reorder { stage: k.stages[out].name.clone(), order });
        tasks.into_iter().for_each(|task| self.bind(task, To::Task));
        self.bind(lane, To::Vector);
        let rows: Vec<AxisId> = heads.into_iter().chain([s.m]).collect();
        for stage in 0..out {
            self.opts.push(Opt::At { stage: k.stages[stage].name.clone(), at: here.clone() });
            match stage {
                _ if stage == *scores && dots => self.dot_loops(stage, [s.m, s.n, s.k]),
                _ if stage == *scores => self.column_loops(stage, [s.m, s.n, s.k]),
                _ if stage == *mixed => self.column_loops(stage, [o.m, o.n, o.k]),
                _ => {
                    self.stage_of_row(stage, &rows, None);
                }
            }
        }
        true
    }

    /// The tile with the least surplus in both products, among those that fill the registers.
    fn tile(&self, s: &Contraction, o: &Contraction, lanes: i64) -> Tile {
        let k = self.kernel;
        let all: [Tile; 5] = [(12, 2), (8, 3), (4, 3), (6, 2), (4, 2)];
        let fits = |(rows, vectors): &&Tile| *vectors <= most_vectors(self.target, *rows);
        let sums = |(rows, vectors): &Tile| rows * vectors;
        let most = all.iter().filter(fits).map(sums).max();
        let tiles = all.iter().filter(fits).filter(|tile| Some(sums(tile)) == most);
        let (m, keys, columns, depth) = (extent(k, s.m), extent(k, s.n), extent(k, o.n), extent(k, s.k));
        let wide = |n: i64, by: i64| round_up(n, by) as f64;
        let surplus = |(rows, vectors): &Tile| {
            let cols = vectors * lanes;
            let points = wide(keys, cols) * depth as f64 + wide(columns, cols) * keys as f64;
            wide(m, *rows) * points
        };
        let best = tiles.min_by(|a, b| surplus(a).total_cmp(&surplus(b)));
        best.map_or((4, 2 * lanes), |(rows, vectors)| (*rows, vectors * lanes))
    }

    /// The loops of a contraction for a few rows: blocks of depth, panels of columns, tiles.
    fn tiles(&mut self, stage: usize, c: &Contraction, (rows, cols): Tile, here: &LoopRef) {
        let k = self.kernel;
        let name = k.stages[stage].name.clone();
        let bytes = c.acc.bytes() as i64;
        let panel = (self.target.l1 as i64 * 3 / 4 / (cols * bytes)).clamp(64, deepest(bytes));
        let depth = round(extent(k, c.k), panel, 8);
        self.opts.push(Opt::At { stage: name.clone(), at: here.clone() });
        let (m, n, d) = (self.at(stage, c.m, 0), self.at(stage, c.n, 0), self.at(stage, c.k, 0));
        self.split(m.clone(), rows, Tail::PadScratch);
        self.split(n.clone(), cols, Tail::PadScratch);
        self.split(d.clone(), depth, Tail::Rest);
        let axes = axes_of_stage(&k.stages[stage]).into_iter();
        let others = axes.filter(|a| ![c.m, c.n, c.k].contains(a)).map(|a| self.at(stage, a, 0));
        let order =
            others.chain([d.clone(), n.clone(), m.clone(), m.with_part(1), n.with_part(1), d.with_part(1)]).collect();
        self.opts.push(Opt::Reorder { stage: name, order });
    }

    /// A copy of a contraction's second operand in panels: made by each task, or once for all of them.
    fn panels(&mut self, stage: usize, c: &Contraction, cols: i64, task: Option<&LoopRef>) {
        let name = self.kernel.stages[stage].name.clone();
        let layout = Layout::Panels(cols as u32);
        let home = if task.is_some() { StageHome::Task } else { StageHome::Shared };
        self.opts.push(Opt::Stage { stage: name.clone(), read: Read::Operand(1), layout, home });
        let b = format!("{name}.b");
        if let Some(at) = task {
            self.opts.push(Opt::At { stage: b.clone(), at: at.clone() });
        }
        let square = self.square_blocks(c, cols);
        self.copy_panels(&b, &c.operand_axes(self.kernel, 1, layout), cols, task.is_none(), square);
    }

    /// The loops of a stage between the products: its rows padded to whole tiles, its keys in
    /// vectors.
    fn row_stage(&mut self, stage: usize, m: AxisId, rows: i64, lanes: i64) {
        let k = self.kernel;
        if k.stages[stage].over.contains(&m) {
            self.split(self.at(stage, m, 0), rows, Tail::PadScratch);
        }
        let mut order: Vec<LoopRef> = Vec::new();
        for axis in axes_of_stage(&k.stages[stage]) {
            order.push(self.at(stage, axis, 0));
            if axis == m {
                order.push(self.at(stage, axis, 1));
            }
        }
        let along = contiguous(k, &k.stages[stage].roots(), &[], 1);
        let reduction = matches!(k.stages[stage].body, Body::Reduce { .. });
        let last = k.stages[stage].over.last().copied();
        match along.or(if reduction { None } else { last }).filter(|a| *a != m && extent(k, *a) >= lanes) {
            Some(axis) if reduction => {
                let binds = self.vectorize(stage, axis, &mut order, lanes, unrolled(k, stage));
                self.opts.push(Opt::Reorder { stage: k.stages[stage].name.clone(), order: order.clone() });
                self.opts.extend(binds);
            }
            Some(axis) if k.stages[stage].over.contains(&axis) => {
                let at = self.at(stage, axis, 0);
                self.split(at.clone(), lanes, Tail::PadScratch);
                let inner = at.with_part(1);
                order.push(inner.clone());
                self.opts.push(Opt::Reorder { stage: k.stages[stage].name.clone(), order: order.clone() });
                self.bind(inner, To::Vector);
            }
            _ => {}
        }
        self.cascade(stage, &order);
    }
}
