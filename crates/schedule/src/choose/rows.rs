//! Rows, single maps and reductions: tasks, vectors, and a row's stages placed in it.

use super::tasks::{Tasks, worth};
use super::transpose::crossed;
use super::{Choice, is_output};
use crate::costs::limits::{code, groups, memory, registers, steps, sums};
use crate::costs::{code_of_stage, longest_chain};
use crate::kernel::access::{
    bytes_of, contiguous, cost, extent, loads_only_constants, named_reads, round, round_up, steps_along, strided,
};
use crate::kernel::contraction::{axes_of, scans, stage_axes};
use crate::language::{Layout, LoopRef, Opt, Read, StageHome, Tail, To};
use crate::reduction::accumulator::{cascades, longest_sum, totals_are_wider};
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::kernel::{AxisId, Body, Emit, Kernel, Out};
use svod_ir::linear::LINE;
use svod_ir::lowered::cost::{AHEAD, LATENCY};

/// The axes of an output, by what they are to the stages that it reads.
struct RowAxes {
    /// Rows, which are computed one by one or in blocks, and what is inside of one.
    rows: Vec<AxisId>,
    inner: Vec<AxisId>,
    /// Along which memory is contiguous, and may be read in vectors.
    contiguous: Option<AxisId>,
    /// A row axis along which memory is contiguous, when no other axis is: blocks of rows.
    across: Option<AxisId>,
}

impl RowAxes {
    fn of(k: &Kernel, out: usize) -> RowAxes {
        let over = &k.stages[out].over;
        let reductions: Vec<usize> = (0..out).filter(|s| matches!(k.stages[*s].body, Body::Reduce { .. })).collect();
        // A row is what is reduced into one value, and what other outputs have in common with this one.
        let has = |s: &usize, a: &AxisId| k.stages[*s].over.contains(a);
        let common = |a: &AxisId| (0..out).all(|s| has(&s, a) || !(reductions.is_empty() || is_output(k, s)));
        // Of what is reduced with columns of its own, such as weights times values, only rows are.
        let by_row = |s: &&usize| !k.stages[**s].over.is_empty();
        let reduced =
            |a: &AxisId| reductions.iter().any(|s| has(s, a)) && reductions.iter().filter(by_row).all(|s| has(s, a));
        let is_row = |a: &AxisId| common(a) && (reductions.is_empty() || reduced(a));
        let (rows, inner): (Vec<AxisId>, Vec<AxisId>) =
            if out == 0 { (Vec::new(), over.clone()) } else { over.iter().copied().partition(is_row) };
        // Rows are computed one by one, unless their reductions read memory across them.
        let lies_across = |a: &AxisId| !rows.contains(a) || (0..out).any(|s| stage_vector(k, s) == Some(*a));
        let contiguous = stage_vector(k, out).filter(lies_across);
        let across = rows.iter().copied().find(|a| Some(*a) == contiguous);
        RowAxes { rows, inner, contiguous, across }
    }
}

/// How an output is cut into vectors.
struct Vectors {
    lanes: i64,
    /// The axis that is cut, if any.
    along: Option<AxisId>,
    /// The same, where its points are results side by side of few neighbours each.
    beside: Option<AxisId>,
}

/// The loops of an output.
struct RowLoops {
    /// All of them, from outside in.
    order: Vec<LoopRef>,
    /// Those that are tasks, and the others over rows.
    tasks: Vec<LoopRef>,
    rows: Vec<LoopRef>,
    /// Rows side by side in memory that are computed together, a few vectors of them.
    block: Option<LoopRef>,
    /// Rows that are read at once.
    streams: Option<LoopRef>,
}

impl Choice<'_> {
    /// Rows: an output, and the stages that it reads, each computed once a row.
    pub(super) fn rows(&mut self, out: usize) {
        let k = self.kernel;
        let axes = RowAxes::of(k, out);
        let cut = self.vectors(out, &axes);
        let points = |s: usize| stage_axes(k, s).iter().map(|a| extent(k, *a)).fold(1, i64::saturating_mul);
        let work = (0..out).map(points).fold(points(out), i64::max).saturating_mul(cost(k));
        let map = matches!(k.stages[out].body, Body::Map(_));
        if let (true, 0, Some(vector)) = (map, out, cut.along)
            && let Some(across) = crossed(k, out, vector)
        {
            return self.transposed(out, vector, across, work);
        }
        let mut loops = self.row_loops(out, &axes, &cut, work);
        let binds = self.cut_vectors(out, &axes, &cut, &mut loops);
        let RowLoops { order, tasks, rows, .. } = loops;
        if !order.is_empty() {
            self.opts.push(Opt::Reorder { stage: k.stages[out].name.clone(), order: order.clone() });
        }
        for at in tasks {
            self.bind(at, To::Task);
        }
        self.opts.extend(binds);
        self.cascade(out, &order);
        if axes.across.is_none() && (out == 0 || !map) {
            self.fetch_ahead(out, &order, cut.along);
        }
        if axes.across.is_none() && self.goes_past_caches(out, cut.along) {
            self.opts.push(Opt::Stream { stage: k.stages[out].name.clone() });
        }
        self.place_stages(out, &axes, rows.last());
    }

    /// The vectors of an output. A map of short rows takes shorter ones; so do few threads of a reduction of such.
    fn vectors(&self, out: usize, axes: &RowAxes) -> Vectors {
        let (k, contiguous) = (self.kernel, axes.contiguous);
        let map = matches!(k.stages[out].body, Body::Map(_));
        let short = contiguous.map(|a| extent(k, a));
        let short = short.filter(|n| *n >= registers::FEWEST_LANES && *n < self.lanes(out));
        let shared = contiguous.filter(|a| short.is_some() && self.shares_short_rounds(out, *a));
        let lanes = match short {
            Some(n) if map => 1 << n.ilog2(),
            Some(n) if shared.is_some() => groups::WARP.max((n as u64).next_power_of_two() as i64),
            _ => self.lanes(out),
        };
        let beside = contiguous.filter(|_| out == 0).and_then(|_| self.beside(out, contiguous));
        let fills = |a: &AxisId| extent(k, *a) >= lanes || shared == Some(*a) || self.row_of_groups(*a).is_some();
        let along = beside.or(contiguous.filter(|a| fills(a) && !scans(k, out, *a)));
        Vectors { lanes, along, beside }
    }

    /// Whether the threads of a warp reduce along an axis that has fewer points than a vector: where there are so few results
    /// that a thread of each would wait for memory alone.
    fn shares_short_rounds(&self, out: usize, axis: AxisId) -> bool {
        let k = self.kernel;
        let Body::Reduce { axes, emit: Emit::Last, .. } = &k.stages[out].body else { return false };
        let results = k.stages[out].over.iter().map(|a| extent(k, *a)).fold(1, i64::saturating_mul);
        self.target.groups.is_some()
            && !self.strict
            && k.is_plain_reduction(out)
            && axes.contains(&axis)
            && results < groups::THREADS
    }

    /// Cuts rows into tasks, and the innermost ones into blocks.
    fn row_loops(&mut self, out: usize, axes: &RowAxes, cut: &Vectors, work: i64) -> RowLoops {
        let k = self.kernel;
        let over = &k.stages[out].over;
        // Stages of the whole kernel run once, so that there is one task.
        let whole = axes.rows.is_empty() && out > 0;
        // A task without vectors is one thread's, and not a warp's.
        let alone = self.target.groups.is_some() && out == 0 && cut.along.is_none();
        let work = if alone { work.saturating_mul(self.lanes(out)) } else { work };
        let mut tasks = Tasks { left: if whole { 1 } else { worth(self.target, work) } };
        let streams = self.streams(out, cut.along);
        let together = if streams { registers::CHAINS } else { 1 };
        let candidates = if axes.rows.is_empty() { over } else { &axes.rows };
        let (mut bound, mut serial) = (Vec::new(), Vec::new());
        for axis in candidates {
            let at = self.at(out, *axis, 0);
            let is_vector = Some(*axis) == cut.beside.or(axes.contiguous);
            let whole = |even| round_up(even, if is_vector { 4 * cut.lanes } else { together });
            let inside = tasks.cut(self, &at, extent(k, *axis), whole);
            bound.extend(inside.is_some().then(|| at.clone()));
            serial.push(inside.unwrap_or(at));
        }
        let block = axes.across.filter(|a| Some(*a) == cut.along).and_then(|a| {
            let name = k.axes[a.index()].var.name();
            let at = serial.iter().position(|l| l.axis == name)?;
            let block = serial.remove(at);
            self.split(block.clone(), 4 * cut.lanes, Tail::Rest);
            serial.push(block.clone());
            Some(block.inner())
        });
        let streams = streams.then(|| serial.pop()).flatten().map(|row| {
            self.split(row.clone(), registers::CHAINS, Tail::Rest);
            serial.push(row.clone());
            row.inner()
        });
        let rows = if whole { Vec::new() } else { serial.clone() };
        let rest = axes.inner.iter().filter(|a| !candidates.contains(a)).copied();
        let reduced = stage_axes(k, out).into_iter().filter(|a| !over.contains(a));
        let inside = rest.chain(reduced).map(|a| self.at(out, a, 0));
        let order = bound.iter().cloned().chain(serial).chain(inside).chain(streams.clone()).collect();
        RowLoops { order, tasks: bound, rows, block, streams }
    }

    /// Cuts the innermost loops into vectors. Gives the steps that bind the new loops, to be taken once they are in order.
    fn cut_vectors(&mut self, out: usize, axes: &RowAxes, cut: &Vectors, loops: &mut RowLoops) -> Vec<Opt> {
        let k = self.kernel;
        let RowLoops { order, block, streams, .. } = loops;
        let mut binds: Vec<Opt> = streams.iter().map(|at| Opt::Bind { at: at.clone(), to: To::Unroll }).collect();
        match (block.take(), cut.along) {
            (Some(block), _) => {
                self.split(block.clone(), cut.lanes, Tail::Rest);
                let inner = block.inner();
                order.extend([block.clone(), inner.clone()]);
                binds.extend((unrolled(k, out) > 1).then_some(Opt::Bind { at: block, to: To::Unroll }));
                binds.push(Opt::Bind { at: inner, to: To::Vector });
            }
            (None, Some(axis)) => {
                let vectors = if streams.is_some() || cut.beside.is_some() { 1 } else { unrolled(k, out) };
                let few = cut.beside.and(axes.contiguous);
                let laid_out = few.map(|few| Opt::Bind { at: self.at(out, few, 0), to: To::Unroll });
                binds.extend(self.vectorize(out, axis, order, cut.lanes, vectors));
                binds.extend(laid_out);
            }
            (None, None) => {
                let inside = axes.contiguous.filter(|a| out == 0 || !axes.rows.contains(a));
                binds.extend(self.narrow(out, inside, order));
            }
        }
        binds
    }

    /// The stages of a row are computed where the last loop over rows has been entered, `row`; else once.
    fn place_stages(&mut self, out: usize, axes: &RowAxes, row: Option<&LoopRef>) {
        for stage in 0..out {
            let Some(at) = row.cloned() else {
                self.stage_of_row(stage, &axes.rows, None);
                continue;
            };
            self.opts.push(Opt::At { stage: self.kernel.stages[stage].name.clone(), at });
            let vector = self.stage_of_row(stage, &axes.rows, axes.across);
            if let (Some(vector), false) = (vector, self.strict) {
                self.copy_strided(stage, vector, &axes.rows);
            }
        }
    }

    /// Moves an axis of too few points for a vector to the end of `order`, where it is laid out: the code generator
    /// joins neighbours that are only copied.
    fn narrow(&self, out: usize, contiguous: Option<AxisId>, order: &mut Vec<LoopRef>) -> Vec<Opt> {
        let k = self.kernel;
        let few = |a: &AxisId| k.axes[a.index()].extent.as_const().is_some_and(|n| (2..=code::SHORT_LOOP).contains(&n));
        let map = matches!(k.stages[out].body, Body::Map(_));
        let Some(axis) = contiguous.filter(|a| map && cost(k) <= code::SHORT_BODY && few(a)) else { return Vec::new() };
        let name = k.axes[axis.index()].var.name();
        let parts: Vec<usize> = (0..order.len()).filter(|l| order[*l].axis == name).collect();
        // One that is cut into tasks is all that there is.
        let [at] = parts[..] else { return Vec::new() };
        let at = order.remove(at);
        order.push(at.clone());
        vec![Opt::Bind { at, to: To::Unroll }]
    }

    /// Whether what a map or a scan writes is not found in a cache by whoever reads it: larger than the last one. It
    /// is written past them, if in whole lines one after the other; short rows for which others are computed first take
    /// longer for that than a line does.
    pub(super) fn goes_past_caches(&self, out: usize, vector: Option<AxisId>) -> bool {
        let k = self.kernel;
        let body = &k.stages[out].body;
        let each_once = matches!(body, Body::Map(_) | Body::Reduce { emit: Emit::Inclusive | Emit::Exclusive, .. });
        let Some(vector) = vector.filter(|_| each_once) else { return false };
        k.stages[out].outs.iter().all(|o| match o {
            Out::Param { param, index } => {
                let param = &k.params[param.index()];
                let row = param.shape.last().and_then(|n| n.upper_bound()).unwrap_or(0) * param.dtype.bytes() as i64;
                let whole_lines = out == 0 && row > 0 && row % i64::from(LINE) == 0;
                let whole_vectors = row >= memory::STREAMED_ROW && row % self.target.vector_bytes as i64 == 0;
                let along = index.last().is_some_and(|last| steps_along(k, *last, vector));
                along && bytes_of(param) >= self.target.l3 as i64 && (whole_lines || whole_vectors)
            }
            Out::Temp => false,
        })
    }

    /// Whether a kernel is one reduction of long rows, of which several are read at once. Groups of threads do rows one by one:
    /// that many more groups wait for memory side by side.
    fn streams(&self, out: usize, vector: Option<AxisId>) -> bool {
        let k = self.kernel;
        let Body::Reduce { axes, carries, .. } = &k.stages[out].body else { return false };
        let (&[reduced], Some(row)) = (&axes[..], k.stages[out].over.last()) else { return false };
        let bytes = values(k, out).into_iter().map(|e| k.exprs.dtype(e).bytes()).min().unwrap_or(1) as i64;
        out == 0
            && vector == Some(reduced)
            && self.target.groups.is_none()
            && !self.strict
            && k.is_plain_reduction(out)
            && carries.len() <= 2
            && extent(k, reduced).saturating_mul(bytes) >= memory::PAGE
            && extent(k, *row) >= 2 * registers::CHAINS
    }

    /// Copies what a reduction reads across its vectors, such as the columns of a narrow matrix, so that they
    /// lie along them: once for all tasks, or all runs, where it is small and the same for many rows.
    fn copy_strided(&mut self, stage: usize, vector: AxisId, rows: &[AxisId]) {
        let k = self.kernel;
        let roots = k.stages[stage].roots();
        let across = strided(k, &roots, vector);
        for (param, load) in named_reads(k, &roots).into_iter().filter(|(_, load)| across.contains(load)) {
            let axes = axes_of(k, load);
            let small = axes.iter().map(|a| extent(k, *a)).fold(4, i64::saturating_mul) <= self.target.l2 as i64 / 4;
            let same =
                rows.first().is_some_and(|row| !axes.contains(row) && extent(k, *row) >= memory::ROWS_WORTH_A_COPY);
            if axes.last() != Some(&vector) || !(small && same) {
                continue;
            }
            let read = Read::Load { from: param.to_string(), nth: 0 };
            let stage = k.stages[stage].name.clone();
            let home = if loads_only_constants(k, load) { StageHome::Prepared } else { StageHome::Shared };
            self.opts.push(Opt::Stage { stage, read, layout: Layout::Rows, home });
        }
    }

    /// The loops of a stage that is computed for one row, a point of each of `rows`, or for a block of them along
    /// `across`. Gives the axis that is cut into vectors.
    pub(super) fn stage_of_row(&mut self, stage: usize, rows: &[AxisId], across: Option<AxisId>) -> Option<AxisId> {
        let k = self.kernel;
        let own = stage_axes(k, stage);
        let lanes = self.lanes(stage);
        let mut order: Vec<LoopRef> = own.iter().map(|a| self.at(stage, *a, 0)).collect();
        let reduced = |a: &AxisId| matches!(&k.stages[stage].body, Body::Reduce { axes, .. } if axes.contains(a));
        let map = matches!(k.stages[stage].body, Body::Map(_));
        let kept = |a: &AxisId| k.is_plain_reduction(stage) && k.stages[stage].over.contains(a) && !rows.contains(a);
        // Neighbours of the row would need their own reductions.
        let inside = |a: &AxisId| map && !rows.contains(a);
        let free = |a: &AxisId| inside(a) || Some(*a) == across || (reduced(a) && !scans(k, stage, *a)) || kept(a);
        let fills = |a: &AxisId| extent(k, *a) >= lanes || self.row_of_groups(*a).is_some();
        let vector = stage_vector(k, stage).filter(|a| free(a) && fills(a));
        if let Some(axis) = vector {
            let binds = self.vectorize(stage, axis, &mut order, lanes, unrolled(k, stage));
            self.opts.push(Opt::Reorder { stage: k.stages[stage].name.clone(), order: order.clone() });
            self.opts.extend(binds);
        }
        self.cascade(stage, &order);
        if across.is_none() && !rows.is_empty() {
            self.fetch_ahead(stage, &order, vector);
        }
        vector
    }

    /// Cuts the loops of a long sum in two, near their middle or where a block is long enough, so that its accumulators
    /// cascade: the lowering adds up what each block gives in accumulators of their own.
    pub(super) fn cascade(&mut self, stage: usize, order: &[LoopRef]) {
        let k = self.kernel;
        let Body::Reduce { carries, emit: Emit::Last, axes, .. } = &k.stages[stage].body else { return };
        if self.strict || !cascades(carries) {
            return;
        }
        let outermost = |l: &&LoopRef| l.part == 0 && axes.iter().any(|a| k.axes[a.index()].var.name() == l.axis);
        let rounds = |l: &LoopRef| {
            let points = axes.iter().find(|a| k.axes[a.index()].var.name() == l.axis).map_or(1, |a| extent(k, *a));
            let step: i64 = self.factors(l).product();
            (points + step - 1) / step
        };
        let loops: Vec<(&LoopRef, i64)> = order.iter().filter(outermost).map(|l| (l, rounds(l))).collect();
        let total = loops.iter().fold(1, |n: i64, (_, rounds)| n.saturating_mul(*rounds));
        let longest = longest_sum(&k.exprs, carries);
        if total <= longest {
            return;
        }
        let wider = totals_are_wider(&k.exprs, carries);
        let block = if wider { round(total, longest, 1) } else { middle(total).max(sums::SHORTEST) };
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

    /// Cuts a loop of many rounds, each of `step` points, into blocks at whose ends accumulators cascade; the loop
    /// inside of them, if it was cut.
    pub(super) fn blocks_of_sums(&mut self, at: &LoopRef, rounds: i64, step: i64) -> Option<LoopRef> {
        if rounds <= sums::LONGEST {
            return None;
        }
        self.split(at.clone(), middle(rounds) * step, Tail::Rest);
        Some(at.inner())
    }

    /// Cuts a loop of some rounds in two, which have accumulators of their own, as a tile's few results do; the loop
    /// inside.
    pub(super) fn halves(&mut self, at: &LoopRef, rounds: i64) -> Option<LoopRef> {
        if rounds < sums::SHORTEST {
            return None;
        }
        self.split(at.clone(), (rounds + 1) / 2, Tail::Rest);
        Some(at.inner())
    }

    /// Cuts the innermost part of an axis into vectors, and moves it to the end of `order`; a few
    /// (`vectors`) of them at once where that fills the pipeline: reductions, bodies of few operations, and long chains.
    /// Gives the steps that bind the new loops, to be taken once they are in order.
    pub(super) fn vectorize(
        &mut self,
        stage: usize,
        axis: AxisId,
        order: &mut Vec<LoopRef>,
        lanes: i64,
        vectors: i64,
    ) -> Vec<Opt> {
        let k = self.kernel;
        let name = k.axes[axis.index()].var.name();
        let Some(position) = order.iter().rposition(|l| l.axis == name) else { return Vec::new() };
        let reduction = matches!(&k.stages[stage].body, Body::Reduce { axes, .. } if axes.contains(&axis));
        if reduction && (self.strict || !k.is_plain_reduction(stage)) {
            return Vec::new();
        }
        let at = order[position].clone();
        if let Some(lanes) = self.row_of_groups(axis) {
            return self.lay_out_row(at, order, lanes, reduction);
        }
        // The outer part of a kept axis goes before the loops that reduce.
        let kept = |l: &LoopRef| k.stages[stage].over.iter().any(|a| k.axes[a.index()].var.name() == l.axis);
        let first_fold = order.iter().position(|l| !kept(l));
        if let (false, Some(first)) = (reduction, first_fold.filter(|f| *f < position)) {
            let moved = order.remove(position);
            order.insert(first, moved);
        }
        let mut binds = Vec::new();
        let mut outer = at.clone();
        // Threads that share a vector would do each point of a shorter round.
        let shared = self.target.groups.is_some();
        let few = if shared && reduction { self.lanes_of_few(stage, axis, lanes, vectors) } else { lanes };
        let mut cut = |this: &mut Self, by: i64, to: To| {
            let tail = if shared && to == To::Vector { Tail::Mask } else { Tail::Rest };
            this.split(outer.clone(), by, tail);
            outer = outer.inner();
            order.push(outer.clone());
            binds.push(Opt::Bind { at: outer.clone(), to });
            if reduction {
                binds.push(Opt::Rfactor { at: outer.clone() });
            }
        };
        let vectors = if reduction && few == lanes { self.accumulators(stage, lanes, vectors) } else { vectors };
        let lanes = few;
        let short = reduction || cost(k) <= code::SHORT_BODY || k.is_plain_reduction(stage);
        // Operation by operation: a processor does not see the next of several long chains that follow one another.
        let chains = !short && extent(k, axis) >= registers::CHAINS * lanes && waits(k, stage);
        let lanes =
            if chains { (registers::CHAINS * lanes).min(steps::LONGEST_VECTOR as i64).max(lanes) } else { lanes };
        if extent(k, axis) >= vectors * lanes && short && vectors > 1 {
            cut(self, vectors * lanes, To::Unroll);
        }
        cut(self, lanes, To::Vector);
        // Lanes get accumulators once all loops are bound.
        binds.sort_by_key(|o| matches!(o, Opt::Rfactor { .. }));
        binds
    }

    /// Lanes of the vectors of a reduction of few results: twice as many, and so on, while that gives a multiprocessor
    /// warps that it has not, vectors are not more than all of the points, and so many have accumulators of their own.
    fn lanes_of_few(&self, stage: usize, axis: AxisId, mut lanes: i64, vectors: i64) -> i64 {
        let k = self.kernel;
        let results = k.stages[stage].over.iter().map(|a| extent(k, *a)).fold(1, i64::saturating_mul);
        let mut warps = results;
        let most = groups::FEWEST_WARPS * self.target.cores as i64;
        while warps < most && 2 * lanes <= (steps::MAX_LANES as i64 / vectors).min(extent(k, axis)) {
            (lanes, warps) = (2 * lanes, 2 * warps);
        }
        lanes
    }

    /// Vectors of a reduction that have accumulators of their own: `few` of them, or twice as many where sums are then so
    /// short that they need no totals.
    fn accumulators(&self, stage: usize, lanes: i64, few: i64) -> i64 {
        let k = self.kernel;
        let Body::Reduce { carries, axes, .. } = &k.stages[stage].body else { return few };
        let points = axes.iter().map(|a| extent(k, *a)).fold(1, i64::saturating_mul);
        let rounds = |vectors: i64| points / (vectors * lanes);
        let longest = longest_sum(&k.exprs, carries);
        let enough = cascades(carries) && rounds(few) > longest && rounds(2 * few) <= longest;
        if enough && 2 * few * carries.len() as i64 <= registers::ACCUMULATORS { 2 * few } else { few }
    }

    /// Lanes of a vector of a stage's widest values. Where threads share vectors, of two of them if what is in memory is
    /// narrower: memory gives a thread so many bytes at once, and arithmetic has one lane an instruction in any case.
    pub(super) fn lanes(&self, stage: usize) -> i64 {
        let k = self.kernel;
        let values = values(k, stage);
        let widest = values.iter().map(|e| k.exprs.dtype(*e).bytes()).max().unwrap_or(4).max(1);
        let in_memory = |e: &ExprId| matches!(k.exprs.get(*e), Expr::Load { from: Mem::Param(_), .. });
        let narrow = values.iter().any(|e| in_memory(e) && k.exprs.dtype(*e).bytes() < widest);
        let vectors = if narrow && self.target.groups.is_some() { 2 } else { 1 };
        (vectors * self.target.lanes(widest)) as i64
    }
}

/// What a stage computes with at each point: its values and what they are made of. Positions that are looked up count
/// where each lane has its own, but no indices and masks else.
fn values(k: &Kernel, stage: usize) -> Vec<ExprId> {
    let mut open: Vec<ExprId> = match &k.stages[stage].body {
        // What becomes of running values is computed once.
        Body::Reduce { emit: Emit::Last, .. } => Vec::new(),
        body => body.values().to_vec(),
    };
    if let Body::Reduce { carries, .. } = &k.stages[stage].body {
        open.extend(carries.iter().flat_map(|c| [Some(c.element), c.fix]).flatten());
    }
    let vector = stage_vector(k, stage);
    let by_lane = |i: &ExprId| {
        let known = matches!(k.exprs.get(*i), Expr::Index(_) | Expr::Const(_));
        !known && vector.is_some_and(|vector| axes_of(k, *i).contains(&vector))
    };
    let mut seen = vec![false; k.exprs.len()];
    let mut found = Vec::new();
    while let Some(e) = open.pop() {
        if std::mem::replace(&mut seen[e.index()], true) {
            continue;
        }
        match k.exprs.get(e) {
            Expr::Index(_) | Expr::Const(_) => continue,
            Expr::Load { index, .. } => open.extend(index.iter().copied().filter(by_lane)),
            other => open.extend(other.operands()),
        }
        found.push(e);
    }
    found
}

/// Vectors that a loop takes at once, so that each carry has an accumulator of its own for each of them. Long
/// bodies hide what they wait for.
pub(super) fn unrolled(k: &Kernel, stage: usize) -> i64 {
    let room = (code::LAID_OUT / code_of_stage(k, &k.stages[stage]).max(1)).clamp(1, 4).next_power_of_two() as i64;
    match &k.stages[stage].body {
        Body::Reduce { carries, .. } => {
            room.min(1 << (registers::ACCUMULATORS / carries.len().max(1) as i64).max(1).ilog2())
        }
        _ => room.min(4),
    }
}

/// Whether a map of much work computes values that wait for one another, in a body so long that a processor does not
/// see enough of the next round meanwhile.
fn waits(k: &Kernel, stage: usize) -> bool {
    let points = stage_axes(k, stage).iter().map(|a| extent(k, *a)).fold(1, i64::saturating_mul);
    let code = i64::from(code_of_stage(k, &k.stages[stage]));
    // Of `1 + AHEAD / code` rounds at once, a round takes longer than twice its instructions.
    let waits = f64::from(longest_chain(k, stage)) * LATENCY > 2.0 * (code as f64 + AHEAD);
    let map = matches!(k.stages[stage].body, Body::Map(_));
    map && waits && points.saturating_mul(code) >= code::WORTH_MORE
}

/// The axis along which most of a stage's reads and writes are contiguous.
pub(super) fn stage_vector(k: &Kernel, stage: usize) -> Option<AxisId> {
    let own = stage_axes(k, stage);
    let store = |out: &Out| match out {
        Out::Param { index, .. } => index.last().copied(),
        Out::Temp => None,
    };
    let mut stores: Vec<ExprId> = k.stages[stage].outs.iter().filter_map(store).collect();
    let mut weight = 3;
    // A reduction reads far more than it writes, however many its results are; one whose lanes cannot be split is cut across.
    if k.is_plain_reduction(stage) {
        stores.dedup();
        weight = 1;
    }
    let best = contiguous(k, &k.stages[stage].roots(), &stores, weight);
    let temp = matches!(k.stages[stage].outs[..], [Out::Temp]);
    best.filter(|a| own.contains(a)).or_else(|| if temp { k.stages[stage].over.last().copied() } else { None })
}

/// Rounds of a block, of which there are about as many.
fn middle(rounds: i64) -> i64 {
    (rounds.isqrt() as u64).next_power_of_two() as i64
}
