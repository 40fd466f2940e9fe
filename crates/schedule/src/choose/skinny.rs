//! Products with few rows, or few columns: each element of the large operand takes part in few multiply-adds, so
//! that copying it into panels would cost more than the product.
//!
//! The large operand is read as it lies, once: along its kept axis in vectors of results ([`super::columns`]), or,
//! where memory runs along the depth, as dot products, a few of its lines at a time. All rows of the small
//! operand take part in turn. The cost model decides whether that beats the tile.

use super::Choice;
use super::contraction::most_vectors;
use super::variants::time;
use crate::costs::limits::tasks::CPU;
use crate::costs::limits::{products, registers};
use crate::kernel::access::{contiguous, extent, loads_only_constants, round_up};
use crate::kernel::contraction::{Contraction, stage_axes};
use crate::language::{LoopRef, Opt, Schedule, Tail, To};
use crate::lower::lower;
use svod_ir::kernel::{AxisId, Body, Kernel};
use svod_ir::target::Target;

/// The faster one of `chosen` and a schedule that reads the large operand where it lies, if there is one.
pub(super) fn or_in_place(
    kernel: &Kernel,
    target: &Target,
    stage: usize,
    c: &Contraction,
    chosen: Schedule,
) -> Schedule {
    let Some(found) = Few::of(kernel, stage, c) else { return chosen };
    let mut choice = Choice::new(kernel, target);
    let chooses = match found.along_depth {
        true => choice.dots(&found),
        false => choice.columns(Some(found.few)),
    };
    if chooses { faster(kernel, target, choice.opts.into(), chosen) } else { chosen }
}

/// The first of two schedules where the cost model is sure that it is the faster one.
pub(super) fn faster(kernel: &Kernel, target: &Target, new: Schedule, chosen: Schedule) -> Schedule {
    let seconds = |schedule: &Schedule| Some(time(&lower(kernel, schedule).ok()?.lowered, target, &[]));
    match (seconds(&new), seconds(&chosen)) {
        (Some(time), Some(known)) if time < known => new,
        _ => chosen,
    }
}

/// A product with few rows, or columns.
struct Few {
    stage: usize,
    /// The axis with few points, that with many, and the depth.
    few: AxisId,
    many: AxisId,
    depth: AxisId,
    /// Whether the large operand's memory runs along the depth, instead of along what is many.
    along_depth: bool,
}

impl Few {
    /// The kernel's product, if it is of that kind and followed by a map at most.
    fn of(k: &Kernel, stage: usize, c: &Contraction) -> Option<Few> {
        let (m, n) = (extent(k, c.m), extent(k, c.n));
        let (few, many, [small, large]) = if m <= n { (c.m, c.n, [c.a, c.b]) } else { (c.n, c.m, [c.b, c.a]) };
        // A single row has no tile.
        let prepared = m > 1 && few == c.m && loads_only_constants(k, c.b);
        let reductions = matches!(&k.stages[stage].body, Body::Reduce { axes, .. } if axes[..] == [c.k]);
        let mapped = k.stages.len() == 2 && stage == 0 && matches!(k.stages[1].body, Body::Map(_));
        let same = mapped && k.stages[0].over == k.stages[1].over;
        if m.min(n) > products::SKINNY || prepared || !reductions || !same {
            return None;
        }
        let along_depth = match [large, small].map(|operand| contiguous(k, &[operand], &[], 0)) {
            [Some(along), _] if along == many => false,
            [Some(along), other] if along == c.k && other == Some(along) => true,
            _ => return None,
        };
        Some(Few { stage, few, many, depth: c.k, along_depth })
    }
}

impl Choice<'_> {
    /// Dot products along the depth.
    fn dots(&mut self, found: &Few) -> bool {
        if extent(self.kernel, found.depth) < self.lanes(found.stage) {
            return false;
        }

        // The output: blocks of what is many, in which the product is computed, are tasks.
        let &Few { stage, few, many, depth, .. } = found;
        let k = self.kernel;
        let out = k.stages.len() - 1;
        let others: Vec<AxisId> = k.stages[out].over.iter().copied().filter(|a| *a != few && *a != many).collect();
        let outer: i64 = others.iter().map(|a| extent(k, *a)).product();
        let work = [few, many, depth].iter().map(|a| extent(k, *a)).fold(outer, i64::saturating_mul);
        let tasks = (work / CPU.task / outer.max(1)).clamp(1, CPU.most);
        let at = self.at(out, many, 0);
        self.split(at.clone(), round_up((extent(k, many) + tasks - 1) / tasks, registers::CHAINS), Tail::Rest);
        let tasks: Vec<LoopRef> = others.iter().map(|a| self.at(out, *a, 0)).chain([at.clone()]).collect();
        let kept = [self.at(out, few, 0), at.with_part(1)];
        let name = k.stages[out].name.clone();
        self.opts.push(Opt::Reorder { stage: name, order: tasks.iter().chain(&kept).cloned().collect() });
        tasks.into_iter().for_each(|task| self.bind(task, To::Task));
        let name = k.stages[stage].name.clone();
        self.opts.push(Opt::At { stage: name, at });
        self.dot_loops(stage, [few, many, depth]);
        true
    }

    /// The loops of a stage that are dot products along the depth, of some lines of what is many with some rows of what
    /// is few; all rows take part before the next lines do, so that those stay in the first-level cache.
    pub(super) fn dot_loops(&mut self, stage: usize, [few, many, depth]: [AxisId; 3]) {
        let k = self.kernel;
        let lanes = self.lanes(stage);
        let rows = in_equal_blocks(extent(k, few), registers::CHAINS);
        let lines = (registers::SUMS_IN_FLIGHT / rows).clamp(1, registers::CHAINS);
        let (row, line, mut step) = (self.at(stage, few, 0), self.at(stage, many, 0), self.at(stage, depth, 0));
        self.split(row.clone(), rows, Tail::Mask);
        self.split(line.clone(), lines, Tail::Rest);
        let outer = stage_axes(k, stage).into_iter().filter(|a| ![few, many, depth].contains(a));
        let mut order: Vec<LoopRef> = outer.map(|a| self.at(stage, a, 0)).collect();
        order.extend([line.clone(), row.clone(), step.clone()]);
        if let Some(inside) = self.blocks_of_sums(&step, extent(k, depth) / lanes, lanes) {
            step = inside;
            order.push(step.clone());
        }
        self.split(step.clone(), lanes, Tail::Rest);
        step.part += 1;
        let unrolled = [row.with_part(1), line.with_part(1)];
        order.extend(unrolled.iter().cloned().chain([step.clone()]));
        self.opts.push(Opt::Reorder { stage: k.stages[stage].name.clone(), order });
        unrolled.into_iter().for_each(|at| self.bind(at, To::Unroll));
        self.bind(step.clone(), To::Vector);
        self.opts.push(Opt::Rfactor { at: step });
    }

    /// The loops of a stage that reads what is many along its kept axis: sums of all rows of what is few, and of some
    /// vectors of columns, are in registers while the depth goes by.
    pub(super) fn column_loops(&mut self, stage: usize, [few, many, depth]: [AxisId; 3]) {
        let k = self.kernel;
        let lanes = self.lanes(stage);
        let (rows, vectors) = (extent(k, few), round_up(extent(k, many), lanes) / lanes);
        let most = most_vectors(self.target, rows).max(1);
        let parts = (vectors + most - 1) / most;
        let (row, line, step) = (self.at(stage, few, 0), self.at(stage, many, 0), self.at(stage, depth, 0));
        self.split(row.clone(), rows, Tail::Mask);
        self.split(line.clone(), (vectors + parts - 1) / parts * lanes, Tail::Rest);
        self.split(line.with_part(1), lanes, Tail::Rest);
        let outer = stage_axes(k, stage).into_iter().filter(|a| ![few, many, depth].contains(a));
        let mut order: Vec<LoopRef> = outer.map(|a| self.at(stage, a, 0)).collect();
        order.extend([row.clone(), line.clone(), step.clone()]);
        order.extend(self.blocks_of_sums(&step, extent(k, depth), 1).or_else(|| self.halves(&step, extent(k, depth))));
        let unrolled = [row.with_part(1), line.with_part(1)];
        order.extend(unrolled.iter().cloned().chain([line.with_part(2)]));
        self.opts.push(Opt::Reorder { stage: k.stages[stage].name.clone(), order });
        unrolled.into_iter().for_each(|at| self.bind(at, To::Unroll));
        self.bind(line.with_part(2), To::Vector);
    }
}

/// Points of a block where `n` are cut in equal blocks of at most `most`.
fn in_equal_blocks(n: i64, most: i64) -> i64 {
    let blocks = (n + most - 1) / most;
    (n + blocks - 1) / blocks
}
