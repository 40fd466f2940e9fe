//! Convolutions: a contraction over a padded plane, whose depth is channels and taps; or, with too
//! few channels for that, each row of the output in vectors of registers.

use super::Choice;
use super::contraction::{in_two_blocks, tile_cost, tile_shape};
use super::grid::{Costs, last_to_end};
use super::tasks::worth;
use super::turned;
use crate::costs::limits::{code, products, registers, tasks};
use crate::kernel::access::{contiguous, extent, loads_only_constants, round, round_up};
use crate::kernel::contraction::window::{Plane, flatten, is_convolution};
use crate::kernel::contraction::worth_a_tile;
use crate::kernel::contraction::{Contraction, recognise};
use crate::language::{Layout, LoopRef, Opt, Schedule, StageHome, Tail, To};
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::kernel::{AxisId, Body, Kernel};
use svod_ir::linear::LINE;
use svod_ir::target::Target;

/// The schedule of a kernel whose stage `stage` is a convolution.
pub(super) fn schedule(kernel: &Kernel, stage: usize, target: &Target) -> Option<Schedule> {
    if !is_convolution(kernel, stage) {
        return None;
    }
    let mut flat = kernel.clone();
    let mut plane = flatten(&mut flat, stage, 1).ok()?;
    let over = &flat.stages[flat.stages.len() - 1].over;
    if ![plane.columns].into_iter().chain(plane.rows).all(|a| over.contains(&a)) {
        return None;
    }
    let fits = |c: &Contraction| worth_a_tile(&flat, c) && over.contains(&c.m) && c.n == plane.flat;
    let tiled = recognise(&flat, stage).filter(fits);
    if tiled.is_none() {
        // Nothing but rows is computed, so they may be whole vectors.
        flat = kernel.clone();
        plane = flatten(&mut flat, stage, lanes_of(kernel, stage, target)?).ok()?;
    }
    let mut choice = Choice::new(&flat, target);
    match tiled {
        Some(c) => {
            let tiles = choice.tiles_of_plane(&c, &plane);
            if let Some((schedule, time)) = turned::schedule(kernel, stage, target)
                && time < tiles.time
            {
                return Some(schedule);
            }
            choice.convolution(stage, &c, &plane, &tiles);
        }
        None => choice.few_channels(stage, &plane),
    }
    Some(choice.opts.into())
}

/// How many points of an axis of the plane a task copies at most, which computes one of each row further out.
fn in_a_task(kernel: &Kernel, plane: &Plane, axis: AxisId) -> i64 {
    plane.outer.iter().find(|(outer, _)| *outer == axis).map_or(extent(kernel, axis), |(_, rows)| *rows)
}

/// Whether a value is of what other stages of its kernel compute.
fn reads_stages(kernel: &Kernel, value: ExprId) -> bool {
    let read = |e: &ExprId| matches!(kernel.exprs.get(*e), Expr::Load { from: Mem::Temp(..), .. });
    kernel.exprs.reachable(&[value]).iter().any(read)
}

/// Lanes of a vector of a reduction's sums.
fn lanes_of(kernel: &Kernel, stage: usize, target: &Target) -> Option<i64> {
    let Body::Reduce { carries, .. } = &kernel.stages[stage].body else { return None };
    Some(target.lanes(carries[0].dtype.bytes()) as i64)
}

/// What one task computes: rows of the weights, rows of the plane (or, of a flat axis that is one axis
/// alone, its points), and how much of the depth's first axis at once.
struct Blocks {
    /// Channels of a task, for which it makes one plane, and of those that are computed at once.
    channels: i64,
    weights: i64,
    lines: i64,
    depth: i64,
    /// Whether columns are copied once more, from the plane into panels: loads from those are
    /// aligned, which is worth the copy where many tiles read it.
    panels: bool,
    /// Points of the plane that tiles compute, those between rows and at the ends of blocks included.
    points: i64,
    /// What is copied and fetched for each multiply-add, in the time of one.
    copies: f64,
}

/// The tiles of a convolution, and the blocks that they are in.
struct Tiles {
    rows: i64,
    cols: i64,
    blocks: Blocks,
    /// How long they take, in the time of the multiply-adds that are wanted.
    time: f64,
}

impl Choice<'_> {
    fn tiles_of_plane(&self, c: &Contraction, plane: &Plane) -> Tiles {
        let k = self.kernel;
        let lanes = self.target.lanes(c.acc.bytes()) as i64;
        let columns = &k.axes[c.n.index()].extent;
        let padded = |cols: i64| match (columns.as_const(), columns.bounds()) {
            (Some(n), _) => round_up(n, cols),
            // Of any number, half a tile is waste on average.
            (None, (least, most)) => ((least.max(1) as f64 * most as f64).sqrt() as i64) + cols / 2,
        };
        let m = extent(k, c.m);
        let (rows, vectors) = tile_shape(self.target, m, &padded, lanes, None);
        let cols = vectors * lanes;
        let blocks = self.blocks(c, plane, rows, cols);
        let taps: i64 = c.depth[1..].iter().map(|a| extent(k, *a)).product();
        let image = plane.rows.map_or(1, |rows| extent(k, rows)).saturating_mul(extent(k, plane.columns));
        let wanted = m as f64 * image as f64;
        let computed = tile_cost(m, &|_| blocks.points, lanes, &(rows, vectors)) / wanted;
        let time = computed * (1.0 + blocks.copies + 2.0 / (blocks.depth * taps) as f64);
        Tiles { rows, cols, blocks, time }
    }

    fn convolution(&mut self, stage: usize, c: &Contraction, plane: &Plane, tiles: &Tiles) {
        let k = self.kernel;
        let out = k.stages.len() - 1;
        let name = k.stages[stage].name.clone();
        let lanes = self.target.lanes(c.acc.bytes()) as i64;
        let &Tiles { rows, cols, ref blocks, .. } = tiles;

        let layout = Layout::Plane { slack: cols as u32, multiple: 1 };
        self.opts.push(Opt::Stage { stage: name.clone(), read: 1.into(), layout, home: StageHome::Task });

        // The output: a grid of tasks, each a block of channels and of rows.
        let over = &k.stages[out].over;
        let blocked = plane.rows.unwrap_or(plane.columns);
        let (om, ob, ov) = (self.at(out, c.m, 0), self.at(out, blocked, 0), self.at(out, plane.columns, 0));
        self.split(om.clone(), blocks.channels, Tail::Rest);
        self.split(ob.clone(), blocks.lines, Tail::Rest);
        let vector = if plane.rows.is_some() { ov.clone() } else { ov.with_part(1) };
        self.split(vector.clone(), lanes, Tail::Rest);
        let lane = vector.inner();
        let own = |a: &AxisId| *a == c.m || *a == blocked || *a == plane.columns;
        let others = over.iter().filter(|a| !own(a)).map(|a| self.at(out, *a, 0));
        let tasks: Vec<LoopRef> = others.chain([om.clone(), ob.clone()]).collect();
        let rest = plane.rows.map(|_| ob.with_part(1)).into_iter();
        let inner: Vec<LoopRef> = [om.with_part(1)].into_iter().chain(rest).chain([vector, lane.clone()]).collect();
        let order = tasks.iter().chain(&inner).cloned().collect();
        self.opts.push(Opt::Reorder { stage: k.stages[out].name.clone(), order });
        for task in tasks {
            self.bind(task, To::Task);
        }
        self.bind(lane, To::Vector);

        // The contraction: blocks of depth, columns, tiles of rows. The columns' part of the plane
        // stays in the first-level cache, while the weights stream from the second.
        self.opts.push(Opt::At { stage: name.clone(), at: ob });
        let (sm, sn, sk) = (self.at(stage, c.m, 0), self.at(stage, c.n, 0), self.at(stage, c.depth[0], 0));
        self.split(sm.clone(), blocks.weights, Tail::Rest);
        self.split(sm.with_part(1), rows, Tail::PadScratch);
        self.split(sn.clone(), cols, Tail::PadScratch);
        self.split(sk.clone(), blocks.depth, Tail::Rest);
        let all = crate::kernel::contraction::stage_axes(k, stage);
        let own = |a: &AxisId| *a == c.m || *a == c.n || c.depth.contains(a);
        let others = all.into_iter().filter(|a| !own(a)).map(|a| self.at(stage, a, 0));
        let tile =
            [sk.clone(), sm.clone(), sn.clone(), sm.with_part(1), sm.with_part(2), sn.with_part(1), sk.with_part(1)];
        let taps = c.depth[1..].iter().map(|a| self.at(stage, *a, 0));
        let order = others.chain(tile).chain(taps).collect();
        self.opts.push(Opt::Reorder { stage: name.clone(), order });

        self.stage_weights(stage, c, rows, sm);
        self.opts.push(Opt::At { stage: plane.copy.name.clone(), at: sk });
        self.copy_plane(plane, lanes);
        if blocks.panels {
            let layout = Layout::Panels(cols as u32);
            self.opts.push(Opt::Stage { stage: name.clone(), read: 1.into(), layout, home: StageHome::Task });
            let b = format!("{name}.b");
            self.opts.push(Opt::At { stage: b.clone(), at: sn });
            self.copy_panels(&b, &c.operand_axes(k, 1, layout), cols, false, None);
        }
        self.opts.push(Opt::Micro { stage: name, rows: rows as u32, cols: cols as u32 });
    }

    /// A copy of the weights in panels. Every task with these channels reads them, one for each part of each image. What another stage
    /// computes is in a task's scratch, copied in loop `at`.
    fn stage_weights(&mut self, stage: usize, c: &Contraction, rows: i64, at: LoopRef) {
        let k = self.kernel;
        let name = k.stages[stage].name.clone();
        let home = if loads_only_constants(k, c.a) {
            StageHome::Prepared
        } else if reads_stages(k, c.a) {
            StageHome::Task
        } else {
            StageHome::Shared
        };
        let layout = Layout::Panels(rows as u32);
        self.opts.push(Opt::Stage { stage: name.clone(), read: 0.into(), layout, home });
        let a = format!("{name}.a");
        match home {
            StageHome::Prepared => {}
            StageHome::Shared => self.copy_weights(&a, c, rows),
            StageHome::Task => {
                self.opts.push(Opt::At { stage: a.clone(), at });
                self.copy_panels(&a, &c.operand_axes(k, 0, layout), rows, false, None);
            }
        }
    }

    /// The loops of a copy of weights that all tasks share: some panels a task. Where memory runs along the depth, a
    /// panel at a time, so that each of its lines is read to its end while it is in the first-level cache.
    fn copy_weights(&mut self, copy: &str, c: &Contraction, rows: i64) {
        let k = self.kernel;
        let whole = |a: &AxisId| LoopRef::new(copy, k.axes[a.index()].var.name(), 0);
        let over = c.operand_axes(k, 0, Layout::Panels(rows as u32));
        let (others, own) = over.split_at(over.len() - c.depth.len() - 1);
        let [depth @ .., m] = own else { return };
        let m = whole(m);
        self.split(m.clone(), products::PANELS_OF_WEIGHTS * rows, Tail::Rest);
        self.split(m.with_part(1), rows, Tail::Rest);
        let tasks: Vec<LoopRef> = others.iter().map(whole).chain([m.clone()]).collect();
        let mut depth: Vec<LoopRef> = depth.iter().map(whole).collect();
        let mut taps = whole(&c.k);
        if extent(k, c.k) > registers::STEPS {
            self.split(taps.clone(), registers::STEPS, Tail::Rest);
            taps = taps.with_part(1);
            depth.push(taps.clone());
        }
        let panels = if contiguous(k, &[c.a], &[], 0) == Some(c.m) { depth.len() - 1 } else { 0 };
        depth.insert(panels, m.with_part(1));
        let order = tasks.iter().chain(&depth).cloned().chain([m.with_part(2)]).collect();
        self.opts.push(Opt::Reorder { stage: copy.into(), order });
        tasks.into_iter().for_each(|task| self.bind(task, To::Task));
        self.bind(taps, To::Unroll);
        self.bind(m.with_part(2), To::Vector);
    }

    /// Every channel for itself: a row of the output at once, all taps of some vectors of it in
    /// registers, from a plane in the first-level cache.
    fn few_channels(&mut self, stage: usize, plane: &Plane) {
        let k = self.kernel;
        let out = k.stages.len() - 1;
        let name = k.stages[stage].name.clone();
        let Body::Reduce { axes, carries, .. } = &k.stages[stage].body else { return };
        let Some(lanes) = lanes_of(k, stage, self.target) else { return };
        let layout = Layout::Plane { slack: plane.overhang as u32, multiple: lanes as u32 };
        self.opts.push(Opt::Stage { stage: name.clone(), read: 1.into(), layout, home: StageHome::Task });

        let over = &k.stages[out].over;
        let blocked = plane.rows.unwrap_or(plane.columns);
        let outer: Vec<AxisId> = over.iter().copied().filter(|a| *a != blocked && *a != plane.columns).collect();
        let lines = self.lines_in_cache(plane, &outer, lanes, carries[0].dtype.bytes() as i64);

        // Tasks of some work each: several channels, or a block of rows.
        let (ob, ov) = (self.at(out, blocked, 0), self.at(out, plane.columns, 0));
        self.split(ob.clone(), lines, Tail::Rest);
        let vector = if plane.rows.is_some() { ov } else { ob.with_part(1) };
        self.split(vector.clone(), lanes, Tail::Rest);
        let lane = vector.inner();
        let of = |axes: &[AxisId]| axes.iter().fold(1i64, |n, a| n.saturating_mul(extent(k, *a)));
        let work = of(over).saturating_mul(of(axes)).saturating_mul(2);
        let wanted = worth(self.target, work);
        let mut tasks: Vec<LoopRef> = Vec::new();
        let mut serial: Vec<LoopRef> = Vec::new();
        let mut left = wanted;
        for axis in &outer {
            let (at, n) = (self.at(out, *axis, 0), extent(k, *axis));
            let by = (n + left - 1) / left;
            left = left * by / n.max(1);
            tasks.push(at.clone());
            if by > 1 {
                self.split(at.clone(), by, Tail::Rest);
                serial.push(at.with_part(1));
            }
        }
        if left > 1 && serial.is_empty() { &mut tasks } else { &mut serial }.push(ob.clone());
        let row = plane.rows.map(|_| ob.with_part(1));
        let order = tasks.iter().chain(&serial).chain(&row).chain([&vector, &lane]).cloned().collect();
        self.opts.push(Opt::Reorder { stage: k.stages[out].name.clone(), order });
        for task in tasks {
            self.bind(task, To::Task);
        }
        self.bind(lane, To::Vector);

        self.opts.push(Opt::At { stage: plane.copy.name.clone(), at: ob.clone() });
        self.opts.push(Opt::At { stage: name.clone(), at: row.unwrap_or(ob) });
        self.taps_in_registers(stage, plane, lanes);
        self.copy_plane(plane, lanes);
    }

    /// Rows of the output at once: as many as keep the plane in the first-level cache, where that is not mostly
    /// what neighbours share.
    fn lines_in_cache(&self, plane: &Plane, outer: &[AxisId], lanes: i64, element: i64) -> i64 {
        let k = self.kernel;
        let points = extent(k, plane.rows.unwrap_or(plane.columns));
        let copied = plane.copy.over.split_last().map_or(&[][..], |(_, others)| others).iter();
        let planes: i64 = copied.filter(|a| !outer.contains(a)).map(|a| in_a_task(k, plane, *a)).product();
        let line = planes * plane.width.max(1) * element;
        let fitting = |cache: usize| cache as i64 / 2 / line - plane.reach;
        let most = fitting(self.target.l1);
        let most = if most > 2 * plane.reach { most } else { fitting(self.target.l2) };
        let lines = round(points, most.max(1), 1);
        if plane.rows.is_some() { lines } else { round_up(lines, 4 * lanes) }
    }

    /// The loops of sums of taps: some vectors of a row, all taps for each.
    fn taps_in_registers(&mut self, stage: usize, plane: &Plane, lanes: i64) {
        let k = self.kernel;
        let Body::Reduce { axes, .. } = &k.stages[stage].body else { return };
        let name = k.stages[stage].name.clone();
        let all = crate::kernel::contraction::stage_axes(k, stage);
        let flat = k.stages[stage].over.last().copied().unwrap_or(plane.columns);
        let sv = self.at(stage, flat, 0);
        // Enough sums to hide the latency of additions, and few that lie beyond the row.
        let vectors = match plane.rows {
            Some(_) => round((extent(k, plane.columns) + lanes - 1) / lanes, registers::ACCUMULATORS, 1),
            None => 4,
        };
        self.split(sv.clone(), vectors * lanes, Tail::PadScratch);
        self.split(sv.with_part(1), lanes, Tail::Rest);
        let kept = all.iter().filter(|a| !axes.contains(a)).map(|a| self.at(stage, *a, 0));
        let summed: Vec<LoopRef> = axes.iter().map(|a| self.at(stage, *a, 0)).collect();
        let order = kept.chain(summed.iter().cloned()).chain([sv.with_part(1), sv.with_part(2)]).collect();
        self.opts.push(Opt::Reorder { stage: name.clone(), order });
        self.bind(sv.with_part(2), To::Vector);
        self.bind(sv.with_part(1), To::Unroll);
        let mut unrolled = vectors;
        for (at, axis) in summed.iter().zip(axes).rev() {
            unrolled *= extent(k, *axis);
            if unrolled > code::ADDED || k.axes[axis.index()].extent.as_const().is_none() {
                break;
            }
            self.bind(at.clone(), To::Unroll);
        }
    }

    /// The plane, row by row, each in vectors; in square blocks where memory runs along another axis.
    fn copy_plane(&mut self, plane: &Plane, lanes: i64) {
        let k = self.kernel;
        let name = &plane.copy.name;
        let whole = |a: &AxisId| LoopRef::new(name, k.axes[a.index()].var.name(), 0);
        let mut order: Vec<LoopRef> = plane.copy.over.iter().map(whole).collect();
        let Some(mut at) = order.last().cloned() else { return };
        let row = plane.rows.map(|_| (plane.width, Tail::PadScratch));
        for (by, tail) in row.into_iter().chain([(lanes, Tail::Rest)]) {
            self.split(at.clone(), by, tail);
            at = at.inner();
            order.push(at.clone());
        }
        let vectors = (plane.width + lanes - 1) / lanes;
        let full = plane.rows.is_none() || plane.width >= lanes;
        if let Some(axis) = self.crossing(plane, lanes).filter(|_| full) {
            self.split(whole(&axis), lanes, Tail::Rest);
            order.insert(order.len() - 1, LoopRef { part: 1, ..whole(&axis) });
            self.opts.push(Opt::Reorder { stage: name.clone(), order });
            self.bind(LoopRef { part: 1, ..whole(&axis) }, To::Unroll);
        } else if plane.rows.is_some() && full && vectors <= products::MAX_COPIES / 2 {
            // Laid out, most vectors of a row lie inside of the operand for sure, and have no mask.
            let of_row = order[order.len() - 2].clone();
            let phases = plane.phase.filter(|p| vectors * extent(k, *p) <= products::MAX_COPIES).map(|p| whole(&p));
            if let Some(phase) = &phases {
                order.retain(|l| l != phase);
                order.insert(order.len() - 2, phase.clone());
                self.opts.push(Opt::Reorder { stage: name.clone(), order });
            }
            for at in phases.into_iter().chain([of_row]) {
                self.bind(at, To::Unroll);
            }
        }
        self.bind(at, To::Vector);
    }

    /// The axis of a plane's copy along which memory runs, if it is another than the plane's and fills
    /// vectors.
    fn crossing(&self, plane: &Plane, lanes: i64) -> Option<AxisId> {
        let k = self.kernel;
        let Body::Map(values) = &plane.copy.body else { return None };
        let axis = contiguous(k, values, &[], 0)?;
        let masked = |e: &ExprId| matches!(k.exprs.get(*e), Expr::Load { valid: Some(_), .. });
        let plain = !k.exprs.reachable(values).iter().any(masked);
        let (_, others) = plane.copy.over.split_last()?;
        (plain && lanes > 1 && others.contains(&axis) && extent(k, axis) >= lanes).then_some(axis)
    }

    fn blocks(&self, c: &Contraction, plane: &Plane, rows: i64, cols: i64) -> Blocks {
        let k = self.kernel;
        let (m, first) = (extent(k, c.m), extent(k, c.depth[0]));
        let element = c.acc.bytes() as i64;
        let (l1, l2) = (self.target.l1 as i64, self.target.l2 as i64);

        // What tiles read again and again, panel or plane, and the weights that stream past it, take
        // three quarters of the first-level cache.
        let panels = c.depth.len() > 1 && m >= products::PANEL_ROWS;
        let taps: i64 = c.depth[1..].iter().map(|a| extent(k, *a)).product();
        let run = c.depth[1..].last().map_or(1, |a| extent(k, *a));
        let columns =
            if panels { taps * cols * element } else { (taps / run) * ((cols + run) * element + i64::from(LINE)) };
        let mut deep = (l1 * 3 / 4 / (columns + rows * taps * element)).clamp(1, first);
        let results = plane.rows.map_or(1, |rows| extent(k, rows)).saturating_mul(extent(k, plane.columns));
        if in_two_blocks(m, results, first * taps) {
            deep = deep.min((first + 1) / 2);
        }
        let rounds = (first + deep - 1) / deep;
        let depth = round_up((first + rounds - 1) / rounds, plane.period(c.depth[0])).min(first);

        // Weights, plane and sums of a task share the second-level cache.
        let tall = (l2 / 4 / (depth * taps * element)).clamp(rows, products::MAX_ROWS);
        let weights = round(m, tall, rows);
        let points = extent(k, plane.rows.unwrap_or(plane.columns));
        let (width, last) = match plane.rows {
            Some(_) => (plane.width, extent(k, plane.columns)),
            None => (1, 1),
        };
        let fixed = |a: &&AxisId| !c.depth.contains(a) && k.stages[k.stages.len() - 1].over.contains(a);
        let copied = plane.copy.over.split_last().map_or(&[][..], |(_, others)| others).iter();
        let own: i64 = copied.filter(|a| !fixed(a)).map(|a| in_a_task(k, plane, *a)).product();
        let of_depth: i64 = c.depth.iter().map(|a| extent(k, *a)).product();
        // What is copied for each point of the depth's first axis, and for how many channels each task
        // copies it: where few taps read an element, for many.
        let planes = (own / first).max(1);
        let enough = (products::MULTIPLIED * own + of_depth - 1) / of_depth;
        let channels = round(m, enough.max(weights), weights).min(round_up(m, weights));
        let of_sums = l2 / 2 / (channels * width * element);
        let of_plane = l2 / 4 / (depth * planes * width * element) - plane.reach;
        let most = of_sums.min(of_plane).clamp(1, points);

        let outer: i64 = k.stages[k.stages.len() - 1]
            .over
            .iter()
            .filter(|a| **a != c.m && **a != plane.columns && Some(**a) != plane.rows)
            .map(|a| extent(k, *a))
            .product();
        let work = [m, points * width, first, taps, outer].iter().fold(1i64, |a, b| a.saturating_mul(*b));
        let wanted = (work / (8 * tasks::CPU.task)).clamp(1, tasks::FEW);
        // The columns that tiles compute in vain, between rows and at a block's end, are few.
        let tiles = |lines: i64| ((lines - 1) * width + last + cols - 1) / cols;
        let all_tiles =
            |lines: i64| points / lines * tiles(lines) + if points % lines > 0 { tiles(points % lines) } else { 0 };
        // Blocks of all but the same size, which threads share evenly, with little copied for each multiply-add; those
        // of one axis alone are whole tiles.
        let whole = |lines: i64| if plane.rows.is_some() { lines } else { round_up(lines, cols) };
        let blocks = |n: i64, most: i64, multiple: i64| {
            let fewest = (n + most - 1) / most;
            (fewest..fewest + 2 * tasks::FEW).map(move |count| round_up((n + count - 1) / count, multiple))
        };
        let (widest, tallest) = (whole(most), channels);
        let long = |lines: &i64| lines * width >= 4 * cols || *lines >= widest.min(points);
        let high = |channels: &i64| *channels >= (2 * rows).min(tallest);
        let choices = blocks(points, most, 1).map(whole).filter(long);
        let choices = choices.flat_map(|lines| blocks(m, tallest, rows).filter(high).map(move |high| (high, lines)));
        let threads: Vec<i64> = (0..).map(|p| 1 << p).take_while(|threads| *threads <= wanted).collect();
        let costs = Costs::of(self.target, false, loads_only_constants(k, c.a));
        let copies = |channels: i64, lines: i64| costs.copy / channels as f64 + costs.fetch[1] / (lines * width) as f64;
        let cost = |&(channels, lines): &(i64, i64)| {
            let columns = outer * ((points + lines - 1) / lines);
            let share = |t: &i64| last_to_end(columns * (m / channels), channels, columns, m % channels, *t) as f64;
            let time = threads.iter().map(share).sum::<f64>() * (outer * all_tiles(lines)) as f64 / columns as f64;
            time * (1.0 + copies(channels, lines))
        };
        let best = choices.min_by(|a, b| cost(a).total_cmp(&cost(b)));
        let (channels, lines) = best.unwrap_or((tallest, widest));
        let (points, copies) = (all_tiles(lines) * cols, copies(channels, lines));
        Blocks { channels, weights: weights.min(channels), lines, depth, panels, points, copies }
    }
}
