//! Contractions: blocks of rows, columns and depth around a tile of registers.

use super::Choice;
use super::grid::{Costs, Grid};
use crate::apply::copied_by;
use crate::costs::limits::{products, registers, steps};
use crate::kernel::access::{contiguous, extent, loads_only_constants, round, round_up, step_along};
use crate::kernel::contraction::{Contraction, pairs, recognise};
use crate::language::{Layout, LoopRef, Opt, Schedule, StageHome, Tail, To};
use svod_dtype::DType;
use svod_ir::expr::{Expr, ExprId};
use svod_ir::kernel::{AxisId, Kernel, Out};
use svod_ir::target::Target;

/// Depth of a block at most: so many products are summed one after the other. The error of a sum grows with the
/// longest chain of roundings, and no chain is longer than in other libraries, which have fewer of wide elements.
pub(super) const fn deepest(bytes: i64) -> i64 {
    if bytes > 4 { products::DEEPEST_OF_WIDE } else { products::DEEPEST }
}

/// Whether the depth of a product of `m` × `n` results is in two blocks at least.
pub(super) fn in_two_blocks(m: i64, n: i64, depth: i64) -> bool {
    depth >= products::DEEP
        && (m <= products::FEW_ROWS || n <= products::FEW_COLUMNS || m.saturating_mul(n) <= products::FEW_RESULTS)
}

/// The schedule of contractions of widened bf16 whose depth goes in pairs, where the target has instructions
/// for those: everything that is chosen for one of f32 holds for one of words.
pub(super) fn paired(
    kernel: &Kernel,
    found: &[(usize, Contraction)],
    target: &Target,
    panels: Option<i64>,
) -> Option<Schedule> {
    let unit = target.matrix.bf16_dot || target.matrix.tiles;
    if !unit || !found.iter().all(|(stage, _)| pairs::halves_of(kernel, *stage) == Some(DType::BF16)) {
        return None;
    }
    let mut kernel = kernel.clone();
    let mut opts = Vec::new();
    for (stage, _) in found {
        pairs::pair(&mut kernel, *stage).ok()?;
        opts.push(Opt::Pairs { stage: kernel.stages[*stage].name.clone() });
    }
    let found: Option<Vec<_>> = found.iter().map(|(stage, _)| Some((*stage, recognise(&kernel, *stage)?))).collect();
    let mut choice = Choice { panels, opts, ..Choice::new(&kernel, target) };
    choice.contraction(&found?);
    Some(choice.opts.into())
}

impl Choice<'_> {
    /// Tiles of registers, panels in caches; see Goto and van de Geijn (2008) and Low et al.
    /// (2016) for how the factors follow from the machine. Of several contractions with the same rows, a
    /// task computes the same columns of all, from one copy of the rows.
    pub(super) fn contraction(&mut self, found: &[(usize, Contraction)]) {
        let [(first, c), ..] = found else { return };
        let k = self.kernel;
        let out = k.stages.len() - 1;
        let several = found.len();
        let direct = several == 1 && copied_by(k, *first, out);
        let (tile, _) = self.tile_and_blocks(found, c, direct);
        let (on, panels) = self.grid_of_tasks(out, c, &tile, None);
        for (stage, c) in found {
            let rows = match stage == first {
                true if several == 1 && !tile.by_panels => RowsCopy::Own,
                true => RowsCopy::In(on.clone()),
                false => RowsCopy::Known,
            };
            self.product(*stage, c, &tile, panels.as_ref().unwrap_or(&on), rows);
        }
        if direct {
            let (stage, output) = (k.stages[*first].name.clone(), k.stages[out].name.clone());
            self.opts.push(Opt::DirectStore { stage, output });
        }
    }

    /// The tile of some contractions, and the blocks that tiles are in. The depth of a block and a task's rows and columns
    /// follow from caches, and from what is copied and fetched; where sums are not stored directly, from scratch for them. With what is
    /// copied and fetched for each multiply-add, in the time of one.
    pub(super) fn tile_and_blocks(&self, found: &[(usize, Contraction)], c: &Contraction, direct: bool) -> (Tile, f64) {
        let k = self.kernel;
        let out = k.stages.len() - 1;
        let (m, n, depth) = (extent(k, c.m), extent(k, c.n), extent(k, c.k));
        let in_tiles = self.in_tiles(c);
        let lanes = if in_tiles { self.target.lanes(c.acc.bytes()) as i64 } else { self.lanes_of_columns(c) };
        let constant = found.iter().all(|(_, c)| loads_only_constants(k, c.b));
        let vectors = self.panels.filter(|_| constant).map(|columns| columns / lanes);
        let (rows, vectors) = match in_tiles {
            true => (
                m.min(products::IN_TILES),
                vectors.unwrap_or((round_up(n, lanes) / lanes).min(products::IN_TILES / lanes)),
            ),
            false => tile_shape(self.target, self.line.unwrap_or(m), &|cols| round_up(n, cols), lanes, vectors),
        };
        let cols = vectors * lanes;
        let element = c.acc.bytes() as i64;
        let several = found.len() as i64;

        // A panel of B stays in three quarters of the first-level cache while a block of A goes by, from the second,
        // of which that takes three eighths: with half, panels and results, or another thread of the core, push parts
        // of it out. A block of rows should be tall, since each panel of B is fetched once for it.
        let steps = if c.pairs.is_some() { 2 } else { 1 };
        let panel = self.target.l1 as i64 * 3 / 4;
        let mut deepest = (panel / (cols * element)).clamp(64, self::deepest(element) / steps);
        if in_two_blocks(m, n, depth) {
            deepest = (deepest / 2).min((depth + 1) / 2);
        }
        let of = if in_tiles { products::IN_TILES / 2 } else { 8 };
        let block_k = if depth <= deepest { round_up(depth, of) } else { round(depth, deepest, of) };
        // What several contractions read stays for all of the depth.
        let copied = if several > 1 { depth } else { block_k };
        let most = if direct { self.rows_in_a_cache(n * element) } else { products::MAX_ROWS };
        let tall = (self.target.l2 as i64 * 3 / 8 / (copied * element)).min(most).max(rows);
        // With a single block of depth, some panels at a time are all that there is to compute of their sums. Then a task
        // may have all columns: a last panel that is not full counts as one. Other sums in scratch are half of the
        // second-level cache at most.
        let by_panels = several == 1 && !direct && block_k >= depth && c.depth.len() == 1;
        let widest = match direct || by_panels {
            true => round_up(n, cols),
            false => self.target.l2 as i64 / 2 / (several * tall * element),
        };
        let others = k.stages[out].over.iter().filter(|a| **a != c.m && **a != c.n);
        let outer: i64 = others.map(|a| extent(k, *a)).product();
        let symbolic = k.axes[c.m.index()].extent.as_const().is_none();
        let passes = self.passes_through(c);
        let costs = Costs::of(self.target, passes, constant);
        // A block of panels of a task's own is a part of the second-level cache.
        let own = self.target.l2 as i64 * 3 / 8 / (block_k * element);
        let vector = self.target.vector_bytes as i64;
        let grid = Grid { outer, m, symbolic, n, several, depth, rows, cols, tall, widest, own, vector, costs };
        let (task_m, task_n) = grid.blocks();
        let by_panels = by_panels && task_n > products::PANELS_AT_ONCE * cols;
        let shared = grid.shares(task_m, task_n);
        let copies = grid.copies(m, task_m, task_n);
        (Tile { rows, cols, lanes, task_m, task_n, block_k, shared, by_panels }, copies)
    }

    /// Lanes of a vector of columns: no more than there are columns, to a power of two.
    pub(super) fn lanes_of_columns(&self, c: &Contraction) -> i64 {
        let lanes = self.target.lanes(c.acc.bytes()) as i64;
        (extent(self.kernel, c.n).clamp(1, lanes) as u64).next_power_of_two() as i64
    }

    /// The output: a grid of tasks, each a block of rows and columns. Gives the loop of its columns, and that over some panels of
    /// these at a time, if there is one. All of an axis `within` are one task's.
    pub(super) fn grid_of_tasks(
        &mut self,
        out: usize,
        c: &Contraction,
        tile: &Tile,
        within: Option<AxisId>,
    ) -> (LoopRef, Option<LoopRef>) {
        let k = self.kernel;
        let &Tile { cols, lanes, task_m, task_n, by_panels, .. } = tile;
        let (om, on) = (self.at(out, c.m, 0), self.at(out, c.n, 0));
        self.split(om.clone(), task_m, Tail::Rest);
        self.split(on.clone(), task_n, Tail::Rest);
        let mut vector = on.with_part(1);
        let panels = by_panels.then(|| vector.clone());
        if by_panels {
            self.split(vector.clone(), products::PANELS_AT_ONCE * cols, Tail::Rest);
            vector = on.with_part(2);
        }
        let rows = om.with_part(1);
        let square = self.square_of_results(out, c, lanes);
        self.split(vector.clone(), square.unwrap_or(lanes), Tail::Rest);
        let mut lane = vector.inner();
        let mut inner = vec![rows.clone(), vector.clone(), lane.clone()];
        if let Some(lanes) = square {
            self.split(rows.clone(), lanes, Tail::Rest);
            inner = vec![vector, rows.clone(), lane, rows.inner()];
            lane = rows.inner();
        }
        let own = |a: &AxisId| *a == c.m || *a == c.n || Some(*a) == within;
        let others = k.stages[out].over.iter().filter(|a| !own(a)).map(|a| self.at(out, *a, 0));
        let tasks: Vec<LoopRef> = others.chain([om.clone(), on.clone()]).collect();
        let within = within.map(|a| self.at(out, a, 0));
        self.opts.push(Opt::Reorder {
            stage: k.stages[out].name.clone(),
            order: tasks.iter().chain(&panels).chain(&within).chain(&inner).cloned().collect(),
        });
        for task in &tasks {
            self.bind(task.clone(), To::Task);
        }
        if square.is_some() {
            self.bind(inner[2].clone(), To::Unroll);
        }
        self.bind(lane, To::Vector);
        (on, panels)
    }

    /// Lanes of the square blocks in which results go from the tiles' vectors to an output that is written along rows.
    fn square_of_results(&self, out: usize, c: &Contraction, lanes: i64) -> Option<i64> {
        let k = self.kernel;
        let along_rows = |out: &Out| match out {
            Out::Param { index, .. } => index.last().is_some_and(|last| step_along(k, *last, c.m) == Some(1)),
            Out::Temp => false,
        };
        let rows = 1 << extent(k, c.m).max(1).ilog2();
        // Larger squares are little faster, and twice the code.
        let lanes = lanes.min(rows).min(registers::FEWEST_LANES);
        (lanes > 1 && k.stages[out].outs.iter().all(along_rows)).then_some(lanes)
    }

    /// The loops of one contraction, in loop `at` of its output: blocks of depth, blocks of rows, panels of
    /// columns, tiles; and its operands' copies. That of the rows is the first contraction's, if several share it.
    fn product(&mut self, stage: usize, c: &Contraction, tile: &Tile, at: &LoopRef, rows: RowsCopy) {
        let k = self.kernel;
        let name = k.stages[stage].name.clone();
        let lanes = self.target.lanes(c.acc.bytes()) as i64;
        let &Tile { rows: height, cols, task_m, block_k, shared, by_panels, .. } = tile;
        self.opts.push(Opt::At { stage: name.clone(), at: at.clone() });
        let (sm, sn, sk) = (self.at(stage, c.m, 0), self.at(stage, c.n, 0), self.at(stage, c.k, 0));
        self.split(sm.clone(), task_m, Tail::Rest);
        self.split(sm.with_part(1), height, Tail::PadScratch);
        self.split(sn.clone(), cols, Tail::PadScratch);
        self.split(sk.clone(), block_k, Tail::Rest);
        let all = crate::kernel::contraction::stage_axes(k, stage);
        let others = all.into_iter().filter(|a| ![c.m, c.n, c.k].contains(a)).map(|a| self.at(stage, a, 0));
        let order = others.chain([
            sk.clone(),
            sm.clone(),
            sn.clone(),
            sm.with_part(1),
            sm.with_part(2),
            sn.with_part(1),
            sk.with_part(1),
        ]);
        self.opts.push(Opt::Reorder { stage: name.clone(), order: order.collect() });

        let over = c.operand_axes(k, 1, Layout::Panels(cols as u32));
        let home = match (loads_only_constants(k, c.b), shared) {
            (true, _) => StageHome::Prepared,
            (false, false) => StageHome::Task,
            (false, true) => StageHome::Shared,
        };
        // A row of a register of pairs is along the depth. Lines of an image are read as such.
        let along_rows = !self.in_tiles(c) && (self.line.is_some() || contiguous(k, &[c.a], &[], 0) == Some(c.m));
        let a_layout = if along_rows { Layout::Panels(height as u32) } else { Layout::Rows };
        self.opts.push(Opt::Stage { stage: name.clone(), read: 0.into(), layout: a_layout, home: StageHome::Task });
        self.opts.push(Opt::Stage { stage: name.clone(), read: 1.into(), layout: Layout::Panels(cols as u32), home });
        let a = format!("{name}.a");
        let place = match rows {
            RowsCopy::Own => Some(sm),
            RowsCopy::In(place) => Some(place),
            RowsCopy::Known => None,
        };
        if let Some(place) = place {
            self.opts.push(Opt::At { stage: a.clone(), at: place });
            if along_rows {
                self.copy_panels(&a, &c.operand_axes(k, 0, a_layout), height, false, None);
            } else {
                self.copy_rows(&a, c, height, lanes);
            }
        }
        let b = format!("{name}.b");
        if home == StageHome::Task {
            self.opts.push(Opt::At { stage: b.clone(), at: sk });
        }
        let shared = home == StageHome::Shared;
        match home {
            StageHome::Prepared => {}
            _ if self.columns_of_digits(c) => self.copy_columns(&b, &over, cols, shared),
            _ => self.copy_panels(&b, &over, cols, shared, self.square_blocks(c, cols)),
        }
        self.opts.push(Opt::Micro { stage: name.clone(), rows: height as u32, cols: cols as u32 });
        // A panel that comes from memory, or from another core's cache, is fetched while the one before it is read.
        if home != StageHome::Task && !by_panels && (extent(k, c.n) > cols || extent(k, c.k) > block_k) {
            self.opts.push(Opt::Prefetch { at: sn, read: 1.into(), ahead: 1 });
        }
    }

    /// Whether operands, a copy and the result pass through the second-level cache: none of the copy is sure to be
    /// there when it is read.
    fn passes_through(&self, c: &Contraction) -> bool {
        let extent = |a: AxisId| extent(self.kernel, a);
        let matrix = |a: AxisId, b: AxisId| extent(a).saturating_mul(extent(b)).saturating_mul(c.acc.bytes() as i64);
        let all = [(c.m, c.k), (c.k, c.n), (c.k, c.n), (c.m, c.n)];
        all.iter().map(|(a, b)| matrix(*a, *b)).fold(0, i64::saturating_add) > self.target.l2 as i64
    }

    /// Rows at most that stay in the second-level cache from one block of the depth to the next, if they lie so many
    /// bytes apart: a power of two leaves few of its sets for them.
    fn rows_in_a_cache(&self, apart: i64) -> i64 {
        let aligned = 1 << apart.max(1).trailing_zeros();
        (self.target.l2 as i64 / 4 / aligned).clamp(products::FEWEST_HIGH, products::MAX_ROWS)
    }

    /// Whether a contraction's sums are in registers of tiles.
    fn in_tiles(&self, c: &Contraction) -> bool {
        c.pairs.is_some() && self.target.matrix.tiles
    }

    /// Lanes of the square blocks in which the second operand is copied in panels of some columns, where memory runs
    /// along the depth.
    pub(super) fn square_blocks(&self, c: &Contraction, cols: i64) -> Option<i64> {
        let lanes = (self.target.lanes(c.acc.bytes()) as i64).min(1 << cols.trailing_zeros());
        (lanes > 1 && contiguous(self.kernel, &[c.b], &[], 0) == Some(c.k)).then_some(lanes)
    }

    /// The loops of a copy in rows: along the depth in vectors, and scratch for whole tiles of rows.
    pub(super) fn copy_rows(&mut self, stage: &str, c: &Contraction, rows: i64, lanes: i64) {
        let whole = |axis: AxisId| LoopRef::new(stage, self.kernel.axes[axis.index()].var.name(), 0);
        let (row, at) = (whole(c.m), whole(c.k));
        self.split(row, rows, Tail::PadScratch);
        self.split(at.clone(), lanes, Tail::Rest);
        self.bind(at.with_part(1), To::Vector);
    }

    /// Whether columns are read at quotients and remainders of their number, and the depth in steps: a vector of columns would
    /// divide for each lane.
    fn columns_of_digits(&self, c: &Contraction) -> bool {
        let k = self.kernel;
        let loads = k.exprs.loads(&[c.b]).into_iter();
        let indices =
            loads.filter_map(|e| if let Expr::Load { index, .. } = k.exprs.get(e) { Some(index) } else { None });
        let all: Vec<ExprId> = indices.flatten().copied().collect();
        let steps = |axis: AxisId| all.iter().all(|i| step_along(k, *i, axis).is_some());
        !steps(c.n) && steps(c.k)
    }

    /// The loops of a copy in panels whose columns are read each for itself, along the depth in vectors.
    fn copy_columns(&mut self, stage: &str, over: &[AxisId], width: i64, shared: bool) {
        let k = self.kernel;
        let whole = |a: &AxisId| LoopRef::new(stage, k.axes[a.index()].var.name(), 0);
        let [outer @ .., depth, last] = over else { return };
        let lanes = self.target.lanes(4) as i64;
        let (depth, last) = (whole(depth), whole(last));
        self.split(last.clone(), width, Tail::Rest);
        self.split(depth.clone(), lanes, Tail::Rest);
        let tasks: Vec<LoopRef> = outer.iter().map(whole).chain([last.clone()]).collect();
        let inner = [last.with_part(1), depth.clone(), depth.with_part(1)];
        self.opts.push(Opt::Reorder { stage: stage.into(), order: tasks.iter().chain(&inner).cloned().collect() });
        if shared {
            tasks.into_iter().for_each(|task| self.bind(task, To::Task));
        }
        self.bind(depth.with_part(1), To::Vector);
    }

    /// The loops of a copy in panels: some panels at a time, row by row, so that memory is read in
    /// order. Blocks of some panels and some depth are tasks of their own where all tasks share the copy.
    /// Where memory runs along the depth, in square blocks whose rows are read and whose columns are
    /// written.
    pub(super) fn copy_panels(&mut self, stage: &str, over: &[AxisId], width: i64, shared: bool, square: Option<i64>) {
        let k = self.kernel;
        let whole = |a: &AxisId| LoopRef::new(stage, k.axes[a.index()].var.name(), 0);
        let [outer @ .., depth, last] = over else { return };
        let (depth, last) = (whole(depth), whole(last));
        let mut outer: Vec<LoopRef> = outer.iter().map(whole).collect();
        outer.push(last.clone());
        self.split(last.clone(), round_up(products::COPIED_AT_ONCE, width), Tail::Rest);
        self.split(last.with_part(1), width, Tail::Rest);
        let mut inner = vec![last.with_part(1), last.with_part(2)];
        let mut along = depth.clone();
        if shared {
            self.split(depth.clone(), products::MAX_COPIED_DEPTH, Tail::Rest);
            along = depth.with_part(1);
            inner.insert(if square.is_some() { 1 } else { 0 }, along.clone());
        }
        outer.push(depth);
        let mut line = None;
        if let Some(lanes) = square {
            self.split(last.with_part(2), lanes, Tail::Rest);
            self.split(along.clone(), lanes, Tail::Rest);
            let columns = along.inner();
            inner.extend([columns.clone(), last.with_part(3)]);
            line = Some(columns);
        }
        if square.is_none() && width < products::FEWEST_AT_ONCE {
            // Some rows of a panel at once: a line of it is written whole before other panels are.
            self.split(along.clone(), registers::STEPS, Tail::Rest);
            let rows = along.inner();
            inner.insert(inner.len() - 1, rows.clone());
            line = Some(rows);
        }
        let mut vector = inner[inner.len() - 1].clone();
        if square.is_none() && width > steps::LONGEST_VECTOR as i64 {
            let lanes = (1 << width.trailing_zeros()).min(steps::LONGEST_VECTOR as i64);
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

/// Tiles, and the blocks that they are in.
pub(super) struct Tile {
    /// Rows and columns of a tile, and lanes of a vector of these.
    pub rows: i64,
    pub cols: i64,
    pub lanes: i64,
    /// Rows and columns of a task.
    pub task_m: i64,
    pub task_n: i64,
    /// Depth of a block.
    pub block_k: i64,
    /// Whether tasks share one copy of the columns.
    pub shared: bool,
    /// Whether only some panels are computed at a time.
    pub by_panels: bool,
}

/// Whose copy of the rows a contraction reads.
enum RowsCopy {
    /// Its own, of a block of the depth.
    Own,
    /// Its own, of all of the depth, made in this loop of the output: for the others, or other panels, as well.
    In(LoopRef),
    /// That of the first of several.
    Known,
}

/// The most vectors of columns of a tile with these rows: accumulators and a row of B, beside an element
/// of A, a product where it is an instruction of its own, and two for the compiler's moves of many.
pub(super) fn most_vectors(target: &Target, rows: i64) -> i64 {
    let registers = target.vector_registers as i64;
    let spare = i64::from(!target.fma) + 2 * i64::from(registers > 16);
    (registers - 1 - spare) / (rows + 1)
}

/// Rows of a tile, and its columns in vectors: as many accumulators as there are registers for, in
/// the shape that wastes the least at the edges of `m` rows and of the columns, of which tiles of a width compute
/// `columns`; `settled` vectors, if that is given.
pub(super) fn tile_shape(
    target: &Target,
    m: i64,
    columns: &dyn Fn(i64) -> i64,
    lanes: i64,
    settled: Option<i64>,
) -> (i64, i64) {
    let rows = 1..target.vector_registers as i64;
    let shapes = rows.flat_map(|rows| (1..=most_vectors(target, rows)).map(move |vectors| (rows, vectors)));
    let shapes = shapes.filter(|(_, vectors)| settled.is_none_or(|settled| *vectors == settled));
    let cost = |shape: &(i64, i64)| tile_cost(m, columns, lanes, shape);
    shapes.min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or((1, 1))
}

/// How long tiles of some rows and vectors of columns take for a step of the depth, in multiply-adds, if tiles of a width
/// compute `columns`.
pub(super) fn tile_cost(m: i64, columns: &dyn Fn(i64) -> i64, lanes: i64, &(rows, vectors): &(i64, i64)) -> f64 {
    let sums = rows * vectors;
    // Fewer sums than hide the latency of a multiply-add leave units idle; loads beside multiply-adds cost a
    // little, and there are as many units for the ones as for the others.
    let idle = (registers::SUMS_IN_FLIGHT - sums).max(0) as f64 / sums as f64;
    let loads = (rows + vectors) as f64 / sums as f64;
    let padded = (round_up(m, rows) * columns(vectors * lanes)) as f64;
    padded * (1.0 + idle) * (loads.max(1.0) + loads / 8.0)
}
