//! Sorts: stable radix sorts, least significant digit first (Knuth 1998, section 5.2.5).
//!
//! A pass counts how often each digit occurs, and moves each point to where those with its digit
//! go. A row is sorted by one task in scratch memory, or, in blocks, by several: then each block
//! counts in one phase and, knowing the counts of all, moves in the next. Of a row much longer than
//! the places wanted, only the points that may be among the first are sorted ([`select`]); few points are counted
//! instead ([`rank`]). Where points go in lanes of vectors, a warp of a GPU takes as many at a time ([`lanes`]).

mod blocks;
mod lanes;
mod rank;
mod select;

use super::{Lowerer, Made, Nest, Span};
use crate::apply::{LoopState, Runs, Scheduled};
use crate::costs::limits::{registers, sorts};
use blocks::Blocks;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, Mem, TempId};
use svod_ir::kernel::{AxisId, Body, Out, Param};
use svod_ir::lowered::{Home, Loop, LoopKind, Phase, Stmt};
use svod_ir::size::{Size, Variable};

/// What is sorted, and by what.
#[derive(Clone)]
struct Order {
    stage: usize,
    along: AxisId,
    to: AxisId,
    key: ExprId,
    results: Vec<ExprId>,
    /// The keys' type.
    dtype: DType,
    /// Bits of a digit.
    bits: u32,
    /// Points that are lanes of a vector, if any are.
    lanes: Option<i64>,
    /// The type of positions and counts.
    position: DType,
    points: Size,
    places: Size,
}

/// One dimension of some memory; the index of the others.
#[derive(Clone)]
struct Array {
    mem: Mem,
    dtype: DType,
    row: Vec<Size>,
}

/// Points with their keys, in the order of the passes so far.
#[derive(Clone)]
struct Points {
    keys: Array,
    positions: Array,
}

/// Which of the points a loop visits.
#[derive(Clone)]
enum Range {
    /// `count` of them, from the first on.
    Known { first: Size, count: Size },
    /// As many as a register says, of at most so many.
    Counted { count: Array, most: Size },
}

/// Whether a stage is sorted in blocks that are tasks.
pub(super) fn in_blocks(s: &Scheduled, stage: usize) -> bool {
    let Body::Sort { along, .. } = s.kernel.stages[stage].body else { return false };
    s.stages[stage].loops.iter().any(|l| l.axis == along && l.runs == Runs::Task)
}

/// The phases of a sort in blocks, and the memory that they share, to be added to the parameters.
pub(super) fn blocks(s: &Scheduled, stage: usize) -> Made<(Vec<Phase>, Vec<Param>)> {
    let order = Lowerer::new(s).order(stage)?;
    if let Some(lanes) = order.lanes {
        return lanes::blocks(s, &order, lanes);
    }
    let mut blocks = Blocks::of(s, &order)?;
    let counts = blocks.share(order.position, &[blocks.count.clone(), Size::from(order.digits())]);

    let passes = order.passes();
    let mut phases = Vec::new();
    for pass in 0..passes {
        for moves in [false, true] {
            let mut lowerer = Lowerer::new(s);
            let (nest, row) = blocks.rows(&mut lowerer);
            let at = lowerer.grid(stage, order.along, &blocks.count);
            let (first, count) = blocks.points(&at);
            let range = Range::Known { first, count };
            let array = |more: &[Size]| Array { mem: counts, dtype: order.position, row: [&row, more].concat() };
            let from = (pass > 0).then(|| blocks.copy(&row, pass - 1));
            let own = array(std::slice::from_ref(&at));
            lowerer.phase.body = if moves {
                let all = array(&[]);
                let (mut body, starts) = lowerer.starts_in_blocks(&order, &all, &at, &blocks.count);
                let to = (pass + 1 < passes).then(|| blocks.copy(&row, pass));
                body.extend(lowerer.moves(&order, &nest, pass, from.as_ref(), to.as_ref(), &range, &starts)?);
                body
            } else {
                lowerer.counts(&order, &nest, &[(pass, own)], from.as_ref(), &range)?
            };
            phases.push(lowerer.phase);
        }
    }
    Ok((phases, blocks.shared))
}

impl Order {
    fn passes(&self) -> u32 {
        self.dtype.bits().div_ceil(self.bits)
    }

    /// Values of a digit.
    fn digits(&self) -> i64 {
        1 << self.bits
    }
}

impl Lowerer<'_> {
    fn order(&self, stage: usize) -> Made<Order> {
        let kernel = &self.s.kernel;
        let Body::Sort { along, to, key, results } = &kernel.stages[stage].body else {
            return Err("this is no sort".into());
        };
        let points = self.axis_extent(*along);
        let narrow = points.upper_bound().is_some_and(|n| n < i64::from(u32::MAX));
        let many = points.upper_bound().is_none_or(|n| n >= sorts::MANY);
        let dtype = kernel.exprs.dtype(*key);
        let loops = &self.s.stages[stage].loops;
        let vector = (0..loops.len()).find(|l| loops[*l].axis == *along && loops[*l].runs == Runs::Vector);
        let lanes = vector.and_then(|l| self.s.rounds(stage, l).as_const());
        Ok(Order {
            stage,
            along: *along,
            to: *to,
            key: *key,
            results: results.clone(),
            bits: if many && lanes.is_none() && dtype.bits() > 2 * sorts::NARROW_DIGIT {
                sorts::WIDE_DIGIT
            } else {
                sorts::NARROW_DIGIT
            },
            lanes,
            dtype,
            position: if narrow { DType::U32 } else { DType::U64 },
            places: self.axis_extent(*to),
            points,
        })
    }

    /// Sorts one row in scratch memory.
    pub(super) fn sort_row(&mut self, nest: &Nest) -> Made {
        let order = self.order(nest.stage)?;
        if let Some(lanes) = order.lanes {
            return self.sort_in_lanes(&order, lanes, nest);
        }
        if rank::is_worth_it(&order) {
            return self.rank(&order, nest);
        }
        if let Some(block) = select::block_of(&order) {
            return self.select(&order, nest, block);
        }
        let count = order.points.clone();
        let copies = [self.copy_of_points(&order)?, self.copy_of_points(&order)?];
        self.sort_range(&order, nest, None, &copies, &Range::Known { first: Size::ZERO, count })
    }

    /// All passes over points that `first` holds, or that the key expression gives.
    fn sort_range(
        &mut self,
        order: &Order,
        nest: &Nest,
        first: Option<&Points>,
        copies: &[Points; 2],
        range: &Range,
    ) -> Made {
        // How often a digit occurs does not depend on the order: all are counted at once.
        let passes = order.passes();
        let starts = self.temp(
            "starts".into(),
            order.position,
            vec![Size::from(i64::from(passes)), Size::from(order.digits())],
            Home::Scratch,
        );
        let starts = |pass: u32| Array {
            mem: Mem::Temp(starts, 0),
            dtype: order.position,
            row: vec![Size::from(i64::from(pass))],
        };
        let counted: Vec<(u32, Array)> = (0..passes).map(|pass| (pass, starts(pass))).collect();
        let mut body = self.counts(order, nest, &counted, first, range)?;
        for (pass, starts) in counted {
            let from = if pass == 0 { first } else { Some(&copies[(pass - 1) as usize % 2]) };
            let to = (pass + 1 < passes).then(|| &copies[pass as usize % 2]);
            body.extend(self.starts(order, &starts));
            body.extend(self.moves(order, nest, pass, from, to, range, &starts)?);
        }
        Ok(body)
    }

    fn copy_of_points(&mut self, order: &Order) -> Made<Points> {
        let most = order.points.upper_bound().ok_or("a sort of points without an upper bound")?.max(1);
        let keys = self.scratch("keys", order.dtype, Size::from(most));
        let positions = self.scratch("positions", order.position, Size::from(most));
        Ok(Points { keys, positions })
    }

    fn scratch(&mut self, name: &str, dtype: DType, extent: Size) -> Array {
        let temp: TempId = self.temp(name.into(), dtype, vec![extent], Home::Scratch);
        Array { mem: Mem::Temp(temp, 0), dtype, row: Vec::new() }
    }

    fn register(&mut self, name: &str, dtype: DType) -> Array {
        let temp = self.temp(name.into(), dtype, vec![Size::ONE], Home::Register);
        Array { mem: Mem::Temp(temp, 0), dtype, row: Vec::new() }
    }

    /// An environment with nothing narrowed, for the expressions of a stage.
    fn row_nest(&self, stage: usize) -> Nest {
        Nest { stage, loops: Vec::new(), env: self.full_env(stage), entered: Vec::new() }
    }

    fn loop_of(&self, stage: usize, axis: AxisId) -> LoopState {
        let own = self.s.stages[stage].loops.iter().find(|l| l.axis == axis);
        own.cloned().expect("each axis of a stage has a loop")
    }

    /// A new dimension of the grid.
    fn grid(&mut self, stage: usize, axis: AxisId, extent: &Size) -> Size {
        let var = self.counter(stage, &self.loop_of(stage, axis), extent);
        let at = Size::from(&var);
        self.phase.grid.push(Loop { var, extent: extent.clone(), kind: LoopKind::Serial });
        at
    }

    /// A loop of `count` rounds.
    fn repeat(
        &mut self,
        order: &Order,
        count: &Size,
        kind: LoopKind,
        inside: &mut dyn FnMut(&mut Self, Size) -> Made,
    ) -> Made {
        let var = self.counter(order.stage, &self.loop_of(order.stage, order.along), count);
        let body = inside(self, Size::from(&var))?;
        Ok(vec![Stmt::Loop(Loop { var, extent: count.clone(), kind }, body)])
    }

    /// A loop over the points of a range.
    fn each_point(&mut self, order: &Order, range: &Range, inside: &mut dyn FnMut(&mut Self, Size) -> Made) -> Made {
        let (count, most) = match range {
            Range::Known { first, count } => {
                return self.repeat(order, count, LoopKind::Serial, &mut |this, i| inside(this, first + &i));
            }
            Range::Counted { count, most } => (count.clone(), most.clone()),
        };
        // So many points go with one test whether any is left.
        let block = Size::from(sorts::FEW);
        self.repeat(order, &most.ceil_div(&block), LoopKind::Serial, &mut |this, b| {
            let first = &b * &block;
            let rest = (&most - &first).min(&block);
            let inner = this.repeat(order, &rest, LoopKind::Serial, &mut |this, i| {
                let at = &first + &i;
                let left = this.below(&at, &count);
                Ok(vec![Stmt::If(left, inside(this, at)?)])
            })?;
            Ok(vec![Stmt::If(this.below(&first, &count), inner)])
        })
    }

    /// Whether a position is less than a counter.
    fn below(&mut self, at: &Size, count: &Array) -> ExprId {
        let at = self.phase.exprs.index(at.clone());
        let count = self.read(count, None);
        let count = self.phase.exprs.cast(DType::Index, count);
        self.phase.exprs.alu(Alu::Lt, &[at, count])
    }

    fn place(&mut self, array: &Array, at: Option<ExprId>) -> Vec<ExprId> {
        let mut index = self.indices(&array.row);
        index.push(at.unwrap_or_else(|| self.phase.exprs.index(0i64)));
        index
    }

    /// An element of an array, or the content of a register.
    fn read(&mut self, array: &Array, at: Option<ExprId>) -> ExprId {
        let index = self.place(array, at);
        self.phase.exprs.load(array.dtype, array.mem, &index)
    }

    /// The elements of a vector in a register, combined.
    fn all_lanes(&mut self, array: &Array, lanes: i64, op: Alu) -> Made<ExprId> {
        let lanes = Variable::internal(&self.numbered("lanes"), 0, lanes - 1).map_err(|e| e.to_string())?;
        let at = self.phase.exprs.index(&lanes);
        let value = self.read(array, Some(at));
        Ok(self.phase.exprs.add(Expr::Lanes { op, lanes, value }, array.dtype))
    }

    fn write(&mut self, array: &Array, at: Option<ExprId>, value: ExprId, valid: Option<ExprId>) -> Stmt {
        Stmt::Store { to: array.mem, index: self.place(array, at), value, valid }
    }

    fn number(&mut self, dtype: DType, value: i64) -> ExprId {
        self.phase.exprs.constant(Const::i64(dtype, value))
    }

    fn fill_zero(&mut self, order: &Order, array: &Array) -> Made {
        self.repeat(order, &Size::from(order.digits() / registers::WIDEST), LoopKind::Serial, &mut |this, i| {
            this.repeat(order, &Size::from(registers::WIDEST), LoopKind::Vector, &mut |this, lane| {
                let (at, zero) =
                    (this.phase.exprs.index(i.clone() * registers::WIDEST + lane), this.number(array.dtype, 0));
                Ok(vec![this.write(array, Some(at), zero, None)])
            })
        })
    }

    /// The key and the position of point `i` before a pass.
    fn point_of(&mut self, order: &Order, nest: &Nest, from: Option<&Points>, i: &Size) -> Made<[ExprId; 2]> {
        let at = self.phase.exprs.index(i.clone());
        if let Some(from) = from {
            return Ok([self.read(&from.keys, Some(at)), self.read(&from.positions, Some(at))]);
        }
        let key = self.key_at(order, nest, i)?;
        Ok([key, self.phase.exprs.cast(order.position, at)])
    }

    fn key_at(&mut self, order: &Order, nest: &Nest, i: &Size) -> Made<ExprId> {
        let mut nest = nest.clone();
        nest.env.insert(order.along, Span { base: i.clone(), remaining: Size::ONE, masked: false });
        self.convert(order.key, &nest, &[])
    }

    fn digit(&mut self, order: &Order, pass: u32, key: ExprId) -> ExprId {
        self.digit_as(DType::Index, order, pass, key)
    }

    fn digit_as(&mut self, dtype: DType, order: &Order, pass: u32, key: ExprId) -> ExprId {
        let shift = self.number(order.dtype, i64::from(pass * order.bits));
        let mask = self.number(order.dtype, order.digits() - 1);
        let is_highest = (pass + 1) * order.bits >= order.dtype.bits();
        let pool = &mut self.phase.exprs;
        let digit = if pass == 0 { key } else { pool.alu(Alu::Shr, &[key, shift]) };
        let digit = if is_highest { digit } else { pool.alu(Alu::And, &[digit, mask]) };
        pool.cast(dtype, digit)
    }

    /// How often each digit occurs, for the passes to which some counts belong.
    fn counts(
        &mut self,
        order: &Order,
        nest: &Nest,
        counts: &[(u32, Array)],
        from: Option<&Points>,
        range: &Range,
    ) -> Made {
        let mut body = Vec::new();
        for (_, counts) in counts {
            body.extend(self.fill_zero(order, counts)?);
        }
        body.extend(self.each_point(order, range, &mut |this, i| {
            let [key, _] = this.point_of(order, nest, from, &i)?;
            let count = |(pass, counts): &(u32, Array)| {
                let digit = this.digit(order, *pass, key);
                this.increment(counts, Some(digit))
            };
            Ok(counts.iter().map(count).collect())
        })?);
        Ok(body)
    }

    fn increment(&mut self, array: &Array, at: Option<ExprId>) -> Stmt {
        let (old, one) = (self.read(array, at), self.number(array.dtype, 1));
        let new = self.phase.exprs.alu(Alu::Add, &[old, one]);
        self.write(array, at, new, None)
    }

    /// Counts become where the points of each digit start.
    fn starts(&mut self, order: &Order, counts: &Array) -> Vec<Stmt> {
        let (total, count) = (self.register("total", order.position), self.register("count", order.position));
        let zero = self.number(order.position, 0);
        let mut body = vec![self.write(&total, None, zero, None)];
        let each = self.repeat(order, &Size::from(order.digits()), LoopKind::Serial, &mut |this, d| {
            let d = this.phase.exprs.index(d);
            let known = this.read(counts, Some(d));
            let keep = this.write(&count, None, known, None);
            let start = this.read(&total, None);
            let put = this.write(counts, Some(d), start, None);
            let kept = this.read(&count, None);
            let sum = this.phase.exprs.alu(Alu::Add, &[start, kept]);
            Ok(vec![keep, put, this.write(&total, None, sum, None)])
        });
        body.extend(each.into_iter().flatten());
        body
    }

    /// Where block `block` puts the points of each digit, from the counts of all blocks.
    fn starts_in_blocks(&mut self, order: &Order, counts: &Array, block: &Size, blocks: &Size) -> (Vec<Stmt>, Array) {
        let totals = self.scratch("totals", order.position, Size::from(order.digits()));
        let before = self.scratch("before", order.position, Size::from(order.digits()));
        let mut body = Vec::new();
        for (sums, extent) in [(&totals, blocks), (&before, block)] {
            body.extend(self.fill_zero(order, sums).into_iter().flatten());
            let added = self.repeat(order, extent, LoopKind::Serial, &mut |this, b| {
                let of_block = Array { row: counts.row.iter().cloned().chain([b]).collect(), ..counts.clone() };
                this.repeat(order, &Size::from(order.digits() / registers::WIDEST), LoopKind::Serial, &mut |this, i| {
                    this.repeat(order, &Size::from(registers::WIDEST), LoopKind::Vector, &mut |this, lane| {
                        let at = this.phase.exprs.index(i.clone() * registers::WIDEST + lane);
                        let (sum, more) = (this.read(sums, Some(at)), this.read(&of_block, Some(at)));
                        let sum = this.phase.exprs.alu(Alu::Add, &[sum, more]);
                        Ok(vec![this.write(sums, Some(at), sum, None)])
                    })
                })
            });
            body.extend(added.into_iter().flatten());
        }
        body.extend(self.starts(order, &totals));
        let shifted =
            self.repeat(order, &Size::from(order.digits() / registers::WIDEST), LoopKind::Serial, &mut |this, i| {
                this.repeat(order, &Size::from(registers::WIDEST), LoopKind::Vector, &mut |this, lane| {
                    let at = this.phase.exprs.index(i.clone() * registers::WIDEST + lane);
                    let (start, more) = (this.read(&totals, Some(at)), this.read(&before, Some(at)));
                    let start = this.phase.exprs.alu(Alu::Add, &[start, more]);
                    Ok(vec![this.write(&totals, Some(at), start, None)])
                })
            });
        body.extend(shifted.into_iter().flatten());
        (body, totals)
    }

    /// Moves each point to the next free place of its digit: in `to`, or, after the last pass, in the
    /// stage's outputs.
    #[allow(clippy::too_many_arguments)]
    fn moves(
        &mut self,
        order: &Order,
        nest: &Nest,
        pass: u32,
        from: Option<&Points>,
        to: Option<&Points>,
        range: &Range,
        starts: &Array,
    ) -> Made {
        let positions = self.needs_positions(order);
        self.each_point(order, range, &mut |this, i| {
            let [key, position] = this.point_of(order, nest, from, &i)?;
            let digit = this.digit(order, pass, key);
            let place = this.read(starts, Some(digit));
            let at = this.phase.exprs.cast(DType::Index, place);
            let mut body = match to {
                Some(to) => {
                    let mut body = vec![this.write(&to.keys, Some(at), key, None)];
                    if positions {
                        body.push(this.write(&to.positions, Some(at), position, None));
                    }
                    body
                }
                None => this.results_at(order, nest, [key, position, at], None)?,
            };
            body.push(this.increment(starts, Some(digit)));
            Ok(body)
        })
    }

    /// Whether any result tells where a point was.
    fn needs_positions(&self, order: &Order) -> bool {
        let pool = &self.s.kernel.exprs;
        pool.reachable(&order.results).iter().any(|e| matches!(pool.get(*e), Expr::Carry(1, _)))
    }

    /// Stores the stage's values of a point, given its key and position, at a place, where `inside` holds.
    fn results_at(
        &mut self,
        order: &Order,
        nest: &Nest,
        [key, position, place]: [ExprId; 3],
        inside: Option<ExprId>,
    ) -> Made {
        let position = self.phase.exprs.cast(DType::I64, position);
        let bound = [(Expr::Carry(0, order.dtype), key), (Expr::Carry(1, DType::I64), position)];
        let wanted = (order.places != order.points).then(|| {
            let places = self.phase.exprs.index(order.places.clone());
            self.phase.exprs.alu(Alu::Lt, &[place, places])
        });
        let valid = self.phase.exprs.all_of(inside.into_iter().chain(wanted));
        let kernel = &self.s.kernel;
        let to = Expr::Index(Size::from(&kernel.axes[order.to.index()].var));
        let mut body = Vec::new();
        for (result, out) in order.results.iter().zip(&kernel.stages[order.stage].outs) {
            let Out::Param { param, index } = out else { return Err("a sort writes buffers".into()) };
            let value = self.convert(*result, nest, &bound)?;
            let mut at = Vec::new();
            for i in index {
                at.push(if *kernel.exprs.get(*i) == to { place } else { self.convert(*i, nest, &[])? });
            }
            body.push(Stmt::Store { to: Mem::Param(*param), index: at, value, valid });
        }
        Ok(body)
    }
}
