//! The gradient of a convolution's kernel: a product of channels for each tap, whose depth is the points of all images.
//!
//! Taps of the outer dimensions are tasks. Those of the innermost one are computed side by side: a block of the depth's rows
//! is copied once for all of them, and of the columns, which lie elsewhere for each, once for all rows of a task. A block is
//! whole rows of an image, or whole images where these are small, so that a tile runs over all of it.

use super::Choice;
use super::contraction::{Tile, deepest, tile_shape};
use crate::costs::limits::{products, tasks};
use crate::kernel::access::{extent, loads_only_constants, round, round_up};
use crate::kernel::contraction::Contraction;
use crate::kernel::contraction::window::kernel_gradient;
use crate::language::{Layout, LoopRef, Opt, StageHome, Tail};
use svod_ir::kernel::AxisId;

/// What one task computes, of one tap of the outer dimensions.
struct Blocks {
    tile: Tile,
    /// Axes of the depth, the innermost ones, that a block has all of. Of the one before them it has `block_k`.
    whole: usize,
}

impl Choice<'_> {
    /// Whether a stage is such a gradient, of sizes that are numbers; then its schedule is chosen.
    pub(super) fn kernel_gradient(&mut self, stage: usize) -> bool {
        let Some((c, slides)) = kernel_gradient(self.kernel, stage) else { return false };
        let k = self.kernel;
        let out = k.stages.len() - 1;
        let mut taps: Vec<AxisId> = slides.iter().map(|s| s.kept).collect();
        let known = k.stages[stage].over.iter().chain(&c.depth).all(|a| k.axes[a.index()].extent.as_const().is_some());
        let same = k.stages[out].over.len() == k.stages[stage].over.len()
            && k.stages[stage].over.iter().all(|a| k.stages[out].over.contains(a));
        let constant = loads_only_constants(k, c.a) || loads_only_constants(k, c.b);
        let Some(inner) = taps.pop().filter(|_| known && same && !constant) else { return false };
        let blocks = self.blocks_of_gradient(stage, &c, inner);
        let (at, _) = self.grid_of_tasks(out, &c, &blocks.tile, Some(inner));
        self.tiles_of_gradient(stage, &c, inner, &blocks, at);
        true
    }

    fn blocks_of_gradient(&self, stage: usize, c: &Contraction, inner: AxisId) -> Blocks {
        let k = self.kernel;
        let (m, n) = (extent(k, c.m), extent(k, c.n));
        let element = c.acc.bytes() as i64;
        let lanes = self.lanes_of_columns(c);
        let (rows, vectors) = tile_shape(self.target, m, &|cols| round_up(n, cols), lanes, None);
        let cols = vectors * lanes;

        // Panels of columns stay in the first-level cache while all rows go by.
        let most = (self.target.l1 as i64 * 3 / 4 / (cols * element)).clamp(1, deepest(element));
        let (mut whole, mut points) = (0, 1);
        for n in c.depth.iter().rev().map(|a| extent(k, *a)) {
            if points * n > most {
                break;
            }
            points *= n;
            whole += 1;
        }
        let cut = c.depth.len().checked_sub(whole + 1).map(|at| extent(k, c.depth[at]));
        let part = cut.map_or(1, |n| round(n, (most / points).max(1), 1));
        let depth = points * part;

        // Copies of both operands and the sums of all taps share the second-level cache. Rows of a task should be many, since
        // columns are copied for them, but not so many that threads have no tasks.
        let l2 = self.target.l2 as i64;
        let wide = round(n, (l2 / 8 / (depth * element)).max(cols), cols);
        let sums = l2 / 2 / (extent(k, inner) * wide * element);
        let tall = (l2 / 4 / (depth * element)).min(sums).clamp(rows, products::MAX_ROWS);
        let all: i64 = k.stages[stage].over.iter().map(|a| extent(k, *a)).product();
        let others = all / (m * n * extent(k, inner)) * ((n + wide - 1) / wide);
        let wanted = (tasks::FEW + others - 1) / others;
        let shared = ((m + wanted - 1) / wanted).max(products::FEWEST_HIGH / 2);
        let task_m = round(m, tall.min(shared), rows);
        let (shared, by_panels) = (false, false);
        Blocks { tile: Tile { rows, cols, lanes, task_m, task_n: wide, block_k: part, shared, by_panels }, whole }
    }

    /// The sums: blocks of the depth, the innermost taps, panels of columns, tiles; and the operands' copies.
    fn tiles_of_gradient(&mut self, stage: usize, c: &Contraction, inner: AxisId, blocks: &Blocks, at: LoopRef) {
        let k = self.kernel;
        let name = k.stages[stage].name.clone();
        let &Blocks { tile: Tile { rows, cols, task_m, block_k: part, .. }, whole } = blocks;
        self.opts.push(Opt::At { stage: name.clone(), at });
        let (sm, sn, tap) = (self.at(stage, c.m, 0), self.at(stage, c.n, 0), self.at(stage, inner, 0));
        self.split(sm.clone(), task_m, Tail::Rest);
        self.split(sm.with_part(1), rows, Tail::PadScratch);
        self.split(sn.clone(), cols, Tail::PadScratch);
        let (around, within) = c.depth.split_at(c.depth.len() - whole);
        let mut around: Vec<LoopRef> = around.iter().map(|a| self.at(stage, *a, 0)).collect();
        let mut within: Vec<LoopRef> = within.iter().map(|a| self.at(stage, *a, 0)).collect();
        if let Some(cut) = around.last().cloned().filter(|_| part > 1 || whole == 0) {
            self.split(cut.clone(), part, Tail::Rest);
            within.insert(0, cut.with_part(1));
        }
        let own = |a: &AxisId| [c.m, c.n, inner].contains(a) || c.depth.contains(a);
        let all = crate::kernel::contraction::stage_axes(k, stage);
        let mut order: Vec<LoopRef> = all.into_iter().filter(|a| !own(a)).map(|a| self.at(stage, a, 0)).collect();
        order.append(&mut around);
        order.extend([sm.clone(), tap.clone(), sn.clone(), sm.with_part(1), sm.with_part(2), sn.with_part(1)]);
        order.append(&mut within);
        self.opts.push(Opt::Reorder { stage: name.clone(), order });

        let panels = Layout::Panels(cols as u32);
        for (read, layout) in [(0, Layout::Rows), (1, panels)] {
            self.opts.push(Opt::Stage { stage: name.clone(), read: read.into(), layout, home: StageHome::Task });
        }
        let (a, b) = (format!("{name}.a"), format!("{name}.b"));
        self.opts.push(Opt::At { stage: a.clone(), at: sm });
        self.copy_rows(&a, c, rows, self.lanes_of_row(c));
        self.opts.push(Opt::At { stage: b.clone(), at: tap });
        self.copy_panels(&b, &c.operand_axes(k, 1, panels), cols, false, self.square_blocks(c, cols));
        self.opts.push(Opt::Micro { stage: name, rows: rows as u32, cols: cols as u32 });
    }

    /// Lanes of the vectors in which a row of an image is copied: whole ones, where these are not much shorter.
    fn lanes_of_row(&self, c: &Contraction) -> i64 {
        let (lanes, row) = (self.target.lanes(c.acc.bytes()) as i64, extent(self.kernel, c.k));
        (lanes / 2..=lanes.min(row)).rev().find(|by| *by > 0 && row % by == 0).unwrap_or(lanes)
    }
}
