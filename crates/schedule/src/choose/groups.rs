//! Targets with groups of threads: what differs from processors with caches.
//!
//! A task is a warp, whose threads share vectors. There are thousands of them at one time, so that nothing is worth a
//! block in a cache: a product's task is a block of results in registers, and rows and columns are read by all that need
//! them.

use super::Choice;
use crate::costs::limits::{groups, registers, steps};
use crate::kernel::access::{contiguous, extent, loads_only_constants};
use crate::kernel::contraction::{Contraction, stage_axes};
use crate::kernel::sized::{greatest, with_values};
use crate::language::{Layout, LoopRef, Opt, Schedule, StageHome, Tail, To};
use crate::lower::lower;
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::kernel::{AxisId, Body, Monoid, Out};

impl Choice<'_> {
    /// Chooses for the one product of a kernel that is followed by a map; says whether there is one.
    pub(super) fn product_of_groups(&mut self, stage: usize, c: &Contraction) -> bool {
        let k = self.kernel;
        let out = k.stages.len() - 1;
        let over = &k.stages[out].over;
        let own = stage_axes(k, stage);
        let sorted = |axes: &[AxisId]| {
            let mut axes = axes.to_vec();
            axes.sort_unstable();
            axes
        };
        let all = k.stages.len() == 2 && stage == 0 && sorted(&k.stages[0].over) == sorted(over);
        let same = all && c.pairs.is_none();
        let (m, n) = (extent(k, c.m), extent(k, c.n));
        let along = contiguous(k, &[c.b], &[], 0) == Some(c.n);
        if !(same && over.contains(&c.m) && over.contains(&c.n)) || (m <= groups::FEW_ROWS && !along) {
            return false;
        }
        if self.has_a_kernel(stage, c) {
            if self.are_dots_faster(c) {
                self.dots_of_groups(stage, c);
            } else {
                self.element_by_element(stage, c);
            }
            return true;
        }
        // Blocks of sums are of floats.
        if !c.acc.is_float() {
            return false;
        }
        let lanes = self.target.lanes(c.acc.bytes()) as i64;
        let lanes = lanes.min(1 << n.max(1).ilog2());
        let others: Vec<AxisId> = over.iter().copied().filter(|a| *a != c.m && *a != c.n).collect();
        let outer = others.iter().map(|a| extent(k, *a)).fold(1, i64::saturating_mul);
        let tasks = |(rows, vectors): &(i64, i64)| outer * ((m + rows - 1) / rows) * (n / (vectors * lanes)).max(1);
        let enough = |b: &&(i64, i64)| {
            b.0 <= m && b.1 * lanes <= n && tasks(b) >= groups::FEWEST_WARPS * self.target.cores as i64
        };
        let least = groups::BLOCKS.iter().find(|b| b.0 <= m.min(4) && b.1 * lanes <= n).unwrap_or(&groups::SMALLEST);
        let &(rows, vectors) = groups::BLOCKS.iter().find(enough).unwrap_or(least);

        // The block of results: tasks of the output, in which the product is computed.
        let outer_of =
            |this: &Self, stage: usize| -> Vec<LoopRef> { others.iter().map(|a| this.at(stage, *a, 0)).collect() };
        let mut order = outer_of(self, out);
        order.extend(self.block(out, c, rows, vectors * lanes, lanes));
        let name = k.stages[out].name.clone();
        self.opts.push(Opt::Reorder { stage: name, order: order.clone() });
        let inner = order.split_off(others.len() + 2);
        let last = order[order.len() - 1].clone();
        order.into_iter().for_each(|at| self.bind(at, To::Task));
        self.lay_out(&inner);

        // The product: its depth, and the same block inside.
        let name = k.stages[stage].name.clone();
        self.opts.push(Opt::At { stage: name.clone(), at: last });
        let reduced: Vec<LoopRef> =
            own.iter().filter(|a| !k.stages[stage].over.contains(a)).map(|a| self.at(stage, *a, 0)).collect();
        let mut order = outer_of(self, stage);
        order.extend(self.block(stage, c, rows, vectors * lanes, lanes));
        let block = order.split_off(others.len() + 2);
        order.extend(reduced.into_iter().chain(block.iter().cloned()));
        self.opts.push(Opt::Reorder { stage: name.clone(), order });
        if !along {
            let home = if loads_only_constants(k, c.b) { StageHome::Prepared } else { StageHome::Shared };
            let layout = Layout::Panels(lanes as u32);
            self.opts.push(Opt::Stage { stage: name.clone(), read: 1.into(), layout, home });
            if home == StageHome::Shared {
                self.copy_of_groups(&format!("{name}.b"), &c.operand_axes(k, 1, layout), lanes);
            }
        }
        self.lay_out(&block);
        true
    }

    /// Whether a product is one of those that code generation has whole kernels for: elements of two arguments, of known
    /// sizes, summed in f32 along one axis, or in i32 of int8 and uint8.
    fn has_a_kernel(&self, stage: usize, c: &Contraction) -> bool {
        let k = self.kernel;
        let factor = |e: ExprId| {
            let load = match k.exprs.get(e) {
                Expr::Cast(to, load) if *to == c.acc => *load,
                _ => e,
            };
            match k.exprs.get(load) {
                Expr::Load { from: Mem::Param(p), valid: None, .. } => Some(k.params[p.index()].dtype),
                _ => None,
            }
        };
        let [a, b] = [factor(c.a), factor(c.b)];
        let known = k.axes.iter().all(|axis| axis.extent.as_const().is_some());
        let alone = matches!(&k.stages[stage].body, Body::Reduce { axes, .. } if axes[..] == [c.k]);
        let outs = &k.stages[k.stages.len() - 1].outs;
        let out = match &outs[..] {
            [Out::Param { param, .. }] => Some(k.params[param.index()].dtype),
            _ => None,
        };
        let multiplies = match (a, b, out) {
            (Some(a), Some(b), Some(out)) => a == b && self.target.multiplies(a, c.acc, out),
            _ => false,
        };
        let work: i64 = [c.m, c.n, c.k].iter().map(|axis| extent(k, *axis)).fold(1, i64::saturating_mul);
        multiplies && known && alone && work >= groups::WORTH_A_KERNEL
    }

    /// Whether a product of f32 is so small that a kernel's tiles would leave most of the GPU idle, and dot products of rows in
    /// memory do not.
    fn are_dots_faster(&self, c: &Contraction) -> bool {
        let k = self.kernel;
        let exact =
            [c.a, c.b].iter().all(|e| k.exprs.dtype(*e) == DType::F32 && !matches!(k.exprs.get(*e), Expr::Cast(..)));
        let along = [c.a, c.b].iter().all(|e| contiguous(k, &[*e], &[], 0) == Some(c.k));
        let [m, n, depth] = [c.m, c.n, c.k].map(|axis| extent(k, axis) as f64);
        let others = k.stages[k.stages.len() - 1].over.iter().filter(|a| **a != c.m && **a != c.n);
        let batch: f64 = others.map(|a| extent(k, *a) as f64).product();
        let tiles = batch * (m / groups::TILE).ceil() * (n / groups::TILE).ceil();
        let by_tiles = (tiles / self.target.cores as f64).ceil() * depth * groups::CYCLES_OF_DEPTH;
        let read = batch * m * n * depth * 8.0 / groups::DOTS as f64;
        exact && along && depth >= self.target.lanes(4) as f64 && read / groups::BYTES_OF_CYCLE < by_tiles
    }

    /// A task has a block of a few rows and columns, each element of which is a dot product: its threads go along the depth.
    fn dots_of_groups(&mut self, stage: usize, c: &Contraction) {
        let k = self.kernel;
        let out = k.stages.len() - 1;
        let (name, result) = (k.stages[stage].name.clone(), k.stages[out].name.clone());
        let lanes = self.target.lanes(c.acc.bytes()) as i64;
        let others: Vec<AxisId> = k.stages[out].over.iter().copied().filter(|a| *a != c.m && *a != c.n).collect();
        let block = |this: &mut Self, stage: usize| {
            let outer = others.iter().map(|a| this.at(stage, *a, 0)).collect::<Vec<_>>();
            let [m, n] = [c.m, c.n].map(|axis| this.at(stage, axis, 0));
            for (at, axis) in [(&m, c.m), (&n, c.n)] {
                let whole = extent(k, axis) % groups::DOTS == 0;
                this.split(at.clone(), groups::DOTS.min(extent(k, axis)), if whole { Tail::Rest } else { Tail::Mask });
            }
            let inner = [m.inner(), n.inner()];
            inner.iter().for_each(|at| this.bind(at.clone(), To::Unroll));
            (outer.into_iter().chain([m, n]).collect::<Vec<_>>(), inner)
        };
        let (tasks, inner) = block(self, out);
        self.opts.push(Opt::Reorder { stage: result, order: tasks.iter().chain(&inner).cloned().collect() });
        let last = tasks[tasks.len() - 1].clone();
        tasks.into_iter().for_each(|at| self.bind(at, To::Task));
        self.opts.push(Opt::At { stage: name.clone(), at: last });
        let (mut order, inner) = block(self, stage);
        let depth = self.at(stage, c.k, 0);
        self.split(depth.clone(), lanes, Tail::Mask);
        let vector = depth.inner();
        order.extend([depth].into_iter().chain(inner).chain([vector.clone()]));
        self.opts.push(Opt::Reorder { stage: name, order });
        self.bind(vector.clone(), To::Vector);
        self.opts.push(Opt::Rfactor { at: vector });
    }

    /// A task for each element, which is what code generation looks for; without a kernel, a thread for each.
    fn element_by_element(&mut self, stage: usize, c: &Contraction) {
        let k = self.kernel;
        let out = k.stages.len() - 1;
        let others = k.stages[out].over.iter().copied().filter(|a| *a != c.m && *a != c.n);
        let order: Vec<LoopRef> = others.chain([c.m, c.n]).map(|a| self.at(out, a, 0)).collect();
        let name = k.stages[out].name.clone();
        self.opts.push(Opt::Reorder { stage: name, order: order.clone() });
        let last = order[order.len() - 1].clone();
        order.into_iter().for_each(|at| self.bind(at, To::Task));
        self.opts.push(Opt::At { stage: k.stages[stage].name.clone(), at: last });
    }

    /// Attention that code generation has a kernel for, which it knows by these loops: a task has a row, and computes one
    /// stage after the other. Says whether the kernel is that.
    pub(super) fn attention_of_groups(&mut self) -> bool {
        let k = self.kernel;
        let Some(columns) = self.columns_of_attention() else { return false };
        let out = k.stages.len() - 1;
        let rows: Vec<LoopRef> =
            k.stages[out].over.iter().filter(|a| **a != columns).map(|a| self.at(out, *a, 0)).collect();
        let Some(last) = rows.last().cloned() else { return false };
        let order = rows.iter().cloned().chain([self.at(out, columns, 0)]).collect();
        let mut opts = vec![Opt::Whole, Opt::Reorder { stage: k.stages[out].name.clone(), order }];
        opts.extend(rows.into_iter().map(|at| Opt::Bind { at, to: To::Task }));
        opts.extend((0..out).map(|stage| Opt::At { stage: k.stages[stage].name.clone(), at: last.clone() }));
        let schedule = Schedule::from(opts);
        // Sizes that are variables are numbers by the time that a kernel is made.
        let sized = with_values(k.clone(), &greatest(k));
        let known = lower(&sized, &schedule).is_ok_and(|made| made.lowered.attention().is_some());
        self.opts.extend(schedule.0.into_iter().filter(|_| known));
        known
    }

    /// The columns of the values, in a kernel that begins with scores of arguments, and ends with weights times values and a map
    /// of these.
    fn columns_of_attention(&self) -> Option<AxisId> {
        let k = self.kernel;
        let (out, mixed) = (k.stages.len().checked_sub(1)?, k.stages.len().checked_sub(2)?);
        if self.target.matrix.warp.is_none() || mixed < 2 || !matches!(k.stages[out].body, Body::Map(_)) {
            return None;
        }
        let factors = |stage: usize| {
            let Body::Reduce { axes, carries, .. } = &k.stages[stage].body else { return None };
            let ([_], [carry]) = (&axes[..], &carries[..]) else { return None };
            let Expr::Alu(Alu::Mul, factors) = k.exprs.get(carry.element) else { return None };
            let sums = carry.op == Monoid::Sum && carry.dtype == DType::F32;
            sums.then(|| [factors[0], factors[1]].map(|e| self.read_narrow(e)))
        };
        let ([q, keys], [a, b]) = (factors(0)?, factors(mixed)?);
        let of_argument =
            |read: Option<Mem>| matches!(read, Some(Mem::Param(p)) if k.params[p.index()].dtype.bytes() == 2);
        let mixes = of_argument(a) != of_argument(b) && [a, b].iter().any(|read| matches!(read, Some(Mem::Temp(..))));
        let (scores, over) = (&k.stages[0].over, &k.stages[out].over);
        let mut columns = over.iter().copied().filter(|a| !scores.contains(a));
        let (column, more) = (columns.next()?, columns.next());
        let rows = scores.iter().filter(|a| !over.contains(a)).count() == 1;
        (of_argument(q) && of_argument(keys) && mixes && rows && more.is_none()).then_some(column)
    }

    /// What a factor is an element of, below its conversions.
    fn read_narrow(&self, mut e: ExprId) -> Option<Mem> {
        while let Expr::Cast(_, from) = self.kernel.exprs.get(e) {
            e = *from;
        }
        match self.kernel.exprs.get(e) {
            Expr::Load { from, valid: None, .. } => Some(*from),
            _ => None,
        }
    }

    /// Lanes of the vectors of a row that several stages read, where threads are: so many that a few vectors are all of
    /// it, which stay in registers from one stage to the next. A group has as many threads as these need.
    pub(super) fn row_of_groups(&self, axis: AxisId) -> Option<i64> {
        let k = self.kernel;
        let warps = self.target.groups.filter(|_| self.rows_in_registers)?.warps() as i64;
        // An axis that a reduction keeps is one of several rows.
        let reduction = |body: &Body| matches!(body, Body::Reduce { .. });
        let keeps = |at: usize| reduction(&k.stages[at].body) && k.stages[at].over.contains(&axis);
        if k.stages.len() < 2 || !k.stages.iter().any(|s| reduction(&s.body)) || (0..k.stages.len()).any(keeps) {
            return None;
        }
        let n = k.axes[axis.index()].extent.as_const().filter(|n| *n >= registers::FEWEST_LANES)?;
        let shortest = (0..k.stages.len()).map(|s| self.lanes(s)).min()?;
        let most = (steps::MAX_LANES as i64).min(shortest * warps);
        let power = |n: i64| n.max(1).unsigned_abs().next_power_of_two() as i64;
        let lanes = if n < shortest {
            power(n)
        } else {
            power((n + groups::VECTORS_OF_ROW - 1) / groups::VECTORS_OF_ROW).clamp(shortest, most)
        };
        ((n + lanes - 1) / lanes <= groups::VECTORS_OF_ROW).then_some(lanes)
    }

    /// Cuts a row in vectors, all of which are laid out.
    pub(super) fn lay_out_row(
        &mut self,
        at: LoopRef,
        order: &mut Vec<LoopRef>,
        lanes: i64,
        reduction: bool,
    ) -> Vec<Opt> {
        self.split(at.clone(), lanes, Tail::Mask);
        let vector = at.inner();
        order.push(vector.clone());
        let mut binds = vec![Opt::Bind { at, to: To::Unroll }, Opt::Bind { at: vector.clone(), to: To::Vector }];
        binds.extend(reduction.then_some(Opt::Rfactor { at: vector }));
        binds
    }

    /// The loops of a copy in panels: each task a block of both axes, vectors along a row of a panel.
    fn copy_of_groups(&mut self, copy: &str, axes: &[AxisId], lanes: i64) {
        let k = self.kernel;
        let whole = |a: &AxisId| LoopRef::new(copy, k.axes[a.index()].var.name(), 0);
        let [outer @ .., depth, last] = axes else { return };
        let (depth, last) = (whole(depth), whole(last));
        self.split(depth.clone(), groups::COPIED_DEPTH, Tail::Rest);
        self.split(last.clone(), lanes, Tail::Mask);
        let tasks: Vec<LoopRef> = outer.iter().map(whole).chain([last.clone(), depth.clone()]).collect();
        let order = tasks.iter().cloned().chain([depth.inner(), last.inner()]).collect();
        self.opts.push(Opt::Reorder { stage: copy.into(), order });
        tasks.into_iter().for_each(|task| self.bind(task, To::Task));
        self.bind(last.inner(), To::Vector);
    }

    /// Cuts rows and columns into blocks, and these into vectors: the loops over blocks, then those of one.
    fn block(&mut self, stage: usize, c: &Contraction, rows: i64, columns: i64, lanes: i64) -> Vec<LoopRef> {
        let (m, n) = (self.at(stage, c.m, 0), self.at(stage, c.n, 0));
        // A block is laid out, also one that has fewer points.
        let tail = |axis: AxisId, by: i64| match self.kernel.axes[axis.index()].extent.as_const() {
            Some(n) if n % by == 0 => Tail::Rest,
            _ => Tail::Mask,
        };
        let (below, beside) = (tail(c.m, rows), tail(c.n, columns));
        self.split(m.clone(), rows, below);
        self.split(n.clone(), columns, beside);
        self.split(n.with_part(1), lanes, Tail::Rest);
        vec![m.clone(), n.clone(), m.with_part(1), n.with_part(1), n.with_part(2)]
    }

    fn lay_out(&mut self, block: &[LoopRef]) {
        let Some((vector, rows)) = block.split_last() else { return };
        rows.iter().for_each(|at| self.bind(at.clone(), To::Unroll));
        self.bind(vector.clone(), To::Vector);
    }
}
