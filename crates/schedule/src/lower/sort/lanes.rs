//! Points in lanes of vectors, which the threads of a warp share.
//!
//! A warp takes as many points at a time as there are lanes. Of those whose digits are alike, each goes as many places
//! further as there are such lanes before it, so that points keep their order, and all write the same new start of
//! their digit.
//!
//! A row is sorted by one warp in scratch memory, or in blocks, each of them a warp's. Then a pass has four phases: how
//! often each digit occurs in each block; the same in each chunk of blocks; where each block puts the points of each
//! digit, which is a scan over blocks and digits; and the moves.

use super::blocks::Blocks;
use super::{Array, Order, Points};
use crate::apply::Scheduled;
use crate::costs::limits::{registers, sorts};
use crate::lower::{Lowerer, Made, Nest, Span};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::kernel::Param;
use svod_ir::lowered::{Home, LoopKind, Phase, Stmt};
use svod_ir::single_variable;
use svod_ir::size::Size;

/// Registers with an element for each lane; keys and positions are those of several vectors.
struct Lanes {
    key: Array,
    position: Array,
    digit: Array,
    start: Array,
    place: Array,
}

/// The point of a lane.
struct Point {
    at: Size,
    vector: Size,
    lane: Size,
    /// Whether there is one; always, when absent.
    inside: Option<ExprId>,
}

/// The registers of a point's vector, of those that are loaded at one time.
fn of_vector(registers: &Array, point: &Point) -> Array {
    Array { row: vec![point.vector.clone()], ..registers.clone() }
}

/// The points of a task, from the first on.
struct Range {
    first: Size,
    count: Size,
}

/// The phases of a sort in blocks, and the memory that they share.
pub(super) fn blocks(s: &Scheduled, order: &Order, lanes: i64) -> Made<(Vec<Phase>, Vec<Param>)> {
    let stage = order.stage;
    let mut blocks = Blocks::of(s, order)?;
    if blocks.block.divisible_by(lanes * sorts::VECTORS) != Some(true) {
        return Err(format!("a block of a sort is a multiple of {} vectors of its {lanes} lanes", sorts::VECTORS));
    }
    let count = blocks.count.clone();
    let most = count.upper_bound().ok_or("a sort of points without an upper bound")?.max(1);
    let chunk = (((most + sorts::CHUNKS - 1) / sorts::CHUNKS + registers::STEPS - 1) / registers::STEPS
        * registers::STEPS)
        .max(registers::STEPS);
    let chunks = count.ceil_div(chunk);
    let digits = Size::from(order.digits());
    let [counts, starts] = [(); 2].map(|()| blocks.share(order.position, &[count.clone(), digits.clone()]));
    let sums = blocks.share(order.position, &[chunks.clone(), digits]);

    let passes = order.passes();
    let mut phases = Vec::new();
    for pass in 0..passes {
        for step in [Step::Count, Step::Sum, Step::Start, Step::Move] {
            let mut lowerer = Lowerer::new(s);
            let (nest, row) = blocks.rows(&mut lowerer);
            let from = (pass > 0).then(|| blocks.copy(&row, pass - 1));
            let [counts, starts, sums] =
                [counts, starts, sums].map(|mem| Array { mem, dtype: order.position, row: row.clone() });
            let over = if matches!(step, Step::Count | Step::Move) { &count } else { &chunks };
            let at = lowerer.grid(stage, order.along, over);
            let (first, count_of_block) = blocks.points(&at);
            let range = Range { first, count: count_of_block };
            let own = |of: &Array| Array { row: of.row.iter().cloned().chain([at.clone()]).collect(), ..of.clone() };
            lowerer.phase.body = match step {
                Step::Count => {
                    lowerer.counts_in_lanes(order, lanes, &nest, &[(pass, own(&counts))], from.as_ref(), &range)?
                }
                Step::Sum => {
                    let part = lowerer.grid(stage, order.along, &Size::from(order.digits() / sorts::DIGITS));
                    lowerer.sums_of_chunk(order, [&counts, &own(&sums)], [&at, &part], chunk, &count)?
                }
                Step::Start => {
                    lowerer.starts_of_chunk(order, [&counts, &sums, &starts], &at, chunk, [&count, &chunks])?
                }
                Step::Move => {
                    let to = (pass + 1 < passes).then(|| blocks.copy(&row, pass));
                    lowerer.moves_in_lanes(
                        order,
                        lanes,
                        &nest,
                        pass,
                        [from.as_ref(), to.as_ref()],
                        &range,
                        &own(&starts),
                    )?
                }
            };
            phases.push(lowerer.phase);
        }
    }
    Ok((phases, blocks.shared))
}

/// The phases of a pass.
#[derive(Clone, Copy)]
enum Step {
    Count,
    Sum,
    Start,
    Move,
}

impl Lowerer<'_> {
    /// Sorts one row in scratch memory.
    pub(super) fn sort_in_lanes(&mut self, order: &Order, lanes: i64, nest: &Nest) -> Made {
        let copies = [self.copy_of_points(order)?, self.copy_of_points(order)?];
        let passes = order.passes();
        let shape = vec![Size::from(i64::from(passes)), Size::from(order.digits())];
        let starts = Mem::Temp(self.temp("starts".into(), order.position, shape, Home::Scratch), 0);
        let of = |pass: u32| Array { mem: starts, dtype: order.position, row: vec![Size::from(i64::from(pass))] };
        let counted: Vec<(u32, Array)> = (0..passes).map(|pass| (pass, of(pass))).collect();
        let range = Range { first: Size::ZERO, count: order.points.clone() };
        let mut body = self.counts_in_lanes(order, lanes, nest, &counted, None, &range)?;
        for (pass, starts) in counted {
            let from = (pass > 0).then(|| &copies[(pass - 1) as usize % 2]);
            let to = (pass + 1 < passes).then(|| &copies[pass as usize % 2]);
            body.extend(self.starts_of_digits(order, &starts)?);
            body.extend(self.moves_in_lanes(order, lanes, nest, pass, [from, to], &range, &starts)?);
        }
        Ok(body)
    }

    fn lanes(&mut self, order: &Order, lanes: i64) -> Lanes {
        let mut of = |name, dtype, shape: &[i64]| self.lanes_of(name, dtype, shape);
        Lanes {
            key: of("key", order.dtype, &[sorts::VECTORS, lanes]),
            position: of("position", order.position, &[sorts::VECTORS, lanes]),
            digit: of("digit", DType::U32, &[lanes]),
            start: of("start", order.position, &[lanes]),
            place: of("place", order.position, &[lanes]),
        }
    }

    /// Registers, the last extent of which is that of a vector.
    fn lanes_of(&mut self, name: &str, dtype: DType, shape: &[i64]) -> Array {
        let shape = shape.iter().map(|n| Size::from(*n)).collect();
        Array { mem: Mem::Temp(self.temp(name.into(), dtype, shape, Home::Register), 0), dtype, row: Vec::new() }
    }

    /// Loads the points of a range, several vectors at a time, and does something with each vector of them in turn.
    fn each_vector(
        &mut self,
        order: &Order,
        lanes: i64,
        range: &Range,
        load: &mut dyn FnMut(&mut Self, &Point) -> Made,
        inside: &mut dyn FnMut(&mut Self, &Point) -> Made,
    ) -> Made {
        let rounds = range.count.ceil_div(lanes * sorts::VECTORS);
        self.repeat(order, &rounds, LoopKind::Serial, &mut |this, c| {
            let all = |this: &mut Self, each: &mut dyn FnMut(&mut Self, &Point) -> Made| {
                this.repeat(order, &Size::from(sorts::VECTORS), LoopKind::Unroll, &mut |this, vector| {
                    this.repeat(order, &Size::from(lanes), LoopKind::Vector, &mut |this, lane| {
                        let at = &range.first + &c * (lanes * sorts::VECTORS) + &vector * lanes + &lane;
                        let all = (&at + 1).le(&order.points) == Some(true);
                        let is_inside = (!all).then(|| this.is_below(&at, &order.points));
                        each(this, &Point { at, vector: vector.clone(), lane, inside: is_inside })
                    })
                })
            };
            let mut body = all(this, load)?;
            body.extend(all(this, inside)?);
            Ok(body)
        })
    }

    fn is_below(&mut self, at: &Size, end: &Size) -> ExprId {
        let [at, end] = [at, end].map(|n| self.phase.exprs.index(n.clone()));
        self.phase.exprs.alu(Alu::Lt, &[at, end])
    }

    /// An element of an array, or 0 where there is none.
    fn read_where(&mut self, array: &Array, at: ExprId, inside: Option<ExprId>) -> ExprId {
        let index = self.place(array, Some(at));
        self.phase.exprs.load_valid(array.dtype, array.mem, &index, inside, Const::zero(array.dtype))
    }

    /// Stores the key and the digit of a lane's point, and where its digit starts; gives the digit as a position.
    fn digit_of_lane(
        &mut self,
        order: &Order,
        registers: &Lanes,
        point: &Point,
        pass: u32,
        starts: &Array,
    ) -> (Vec<Stmt>, ExprId) {
        let lane = self.phase.exprs.index(point.lane.clone());
        let key = self.read(&of_vector(&registers.key, point), Some(lane));
        let mut digit = self.digit_as(DType::U32, order, pass, key);
        if let Some(inside) = point.inside {
            let none = self.number(DType::U32, order.digits());
            digit = self.phase.exprs.alu(Alu::Where, &[inside, digit, none]);
        }
        let mut body = vec![self.write(&registers.digit, Some(lane), digit, None)];
        let digit = self.read(&registers.digit, Some(lane));
        let digit = self.phase.exprs.cast(DType::Index, digit);
        let start = self.read_where(starts, digit, point.inside);
        body.push(self.write(&registers.start, Some(lane), start, None));
        (body, digit)
    }

    /// Where a lane's digit starts, and so many further as there are lanes like it: all, or those before it.
    fn further(&mut self, order: &Order, registers: &Lanes, point: &Point, before: bool) -> Made<ExprId> {
        let over = single_variable(&point.lane).ok_or("points of a sort in lanes of no loop")?;
        let lane = self.phase.exprs.index(point.lane.clone());
        let (digit, start) = (self.read(&registers.digit, Some(lane)), self.read(&registers.start, Some(lane)));
        let alike = self.phase.exprs.add(Expr::Alike { over, value: digit, before }, DType::U32);
        let alike = self.phase.exprs.cast(order.position, alike);
        Ok(self.phase.exprs.alu(Alu::Add, &[start, alike]))
    }

    /// The key and the position of a lane's point before a pass.
    fn point_of_lane(&mut self, order: &Order, nest: &Nest, from: Option<&Points>, point: &Point) -> Made<[ExprId; 2]> {
        let at = self.phase.exprs.index(point.at.clone());
        if let Some(from) = from {
            return Ok([&from.keys, &from.positions].map(|array| self.read_where(array, at, point.inside)));
        }
        let mut nest = nest.clone();
        let masked = point.inside.is_some();
        nest.env.insert(order.along, Span { base: point.at.clone(), remaining: Size::ONE, masked });
        let key = self.convert(order.key, &nest, &[])?;
        let mut position = self.phase.exprs.cast(order.position, at);
        if let Some(inside) = point.inside {
            let zero = self.number(order.position, 0);
            position = self.phase.exprs.alu(Alu::Where, &[inside, position, zero]);
        }
        Ok([key, position])
    }

    /// How often each digit occurs, for the passes to which some counts belong.
    fn counts_in_lanes(
        &mut self,
        order: &Order,
        lanes: i64,
        nest: &Nest,
        counts: &[(u32, Array)],
        from: Option<&Points>,
        range: &Range,
    ) -> Made {
        let registers = self.lanes(order, lanes);
        let mut body = Vec::new();
        for (_, counts) in counts {
            body.extend(self.digits_of(order, LoopKind::Serial, &mut |this, at, _| {
                let zero = this.number(counts.dtype, 0);
                Ok(vec![this.write(counts, Some(at), zero, None)])
            })?);
        }
        let mut load = |this: &mut Self, point: &Point| {
            let lane = this.phase.exprs.index(point.lane.clone());
            let [key, _] = this.point_of_lane(order, nest, from, point)?;
            Ok(vec![this.write(&of_vector(&registers.key, point), Some(lane), key, None)])
        };
        body.extend(self.each_vector(order, lanes, range, &mut load, &mut |this, point| {
            let mut body = Vec::new();
            for (pass, counts) in counts {
                let (stores, digit) = this.digit_of_lane(order, &registers, point, *pass, counts);
                body.extend(stores);
                let more = this.further(order, &registers, point, false)?;
                body.push(this.write(counts, Some(digit), more, point.inside));
            }
            Ok(body)
        })?);
        Ok(body)
    }

    /// Moves each point to the next free place of its digit, from one copy to another; before the first pass points are
    /// where the key expression finds them, and after the last one they go to the stage's outputs.
    #[allow(clippy::too_many_arguments)]
    fn moves_in_lanes(
        &mut self,
        order: &Order,
        lanes: i64,
        nest: &Nest,
        pass: u32,
        [from, to]: [Option<&Points>; 2],
        range: &Range,
        starts: &Array,
    ) -> Made {
        let (registers, positions) = (self.lanes(order, lanes), self.needs_positions(order));
        let mut load = |this: &mut Self, point: &Point| {
            let lane = this.phase.exprs.index(point.lane.clone());
            let [key, position] = this.point_of_lane(order, nest, from, point)?;
            let mut body = vec![this.write(&of_vector(&registers.key, point), Some(lane), key, None)];
            if positions {
                body.push(this.write(&of_vector(&registers.position, point), Some(lane), position, None));
            }
            Ok(body)
        };
        self.each_vector(order, lanes, range, &mut load, &mut |this, point| {
            let lane = this.phase.exprs.index(point.lane.clone());
            let (mut body, digit) = this.digit_of_lane(order, &registers, point, pass, starts);
            let place = this.further(order, &registers, point, true)?;
            body.push(this.write(&registers.place, Some(lane), place, None));
            let [key, place, position] = [
                of_vector(&registers.key, point),
                registers.place.clone(),
                // Nothing is made of positions that nobody needs.
                of_vector(if positions { &registers.position } else { &registers.key }, point),
            ]
            .map(|array| this.read(&array, Some(lane)));
            let place = this.phase.exprs.cast(DType::Index, place);
            match to {
                Some(to) => {
                    body.push(this.write(&to.keys, Some(place), key, point.inside));
                    if positions {
                        body.push(this.write(&to.positions, Some(place), position, point.inside));
                    }
                }
                None => body.extend(this.results_at(order, nest, [key, position, place], point.inside)?),
            }
            let next = this.further(order, &registers, point, false)?;
            body.push(this.write(starts, Some(digit), next, point.inside));
            Ok(body)
        })
    }

    /// What is done with the digits, in vectors: `inside` is given a digit, and its vector and lane.
    fn digits_of(
        &mut self,
        order: &Order,
        kind: LoopKind,
        inside: &mut dyn FnMut(&mut Self, ExprId, [&Size; 2]) -> Made,
    ) -> Made {
        self.repeat(order, &Size::from(order.digits() / sorts::DIGITS), kind, &mut |this, vector| {
            this.repeat(order, &Size::from(sorts::DIGITS), LoopKind::Vector, &mut |this, lane| {
                let at = this.phase.exprs.index(&vector * sorts::DIGITS + &lane);
                inside(this, at, [&vector, &lane])
            })
        })
    }

    /// Counts become where the points of each digit start.
    fn starts_of_digits(&mut self, order: &Order, counts: &Array) -> Made {
        let (total, running) =
            (self.register("total", counts.dtype), self.lanes_of("running", counts.dtype, &[sorts::DIGITS]));
        let zero = self.number(counts.dtype, 0);
        let mut body = vec![self.write(&total, None, zero, None)];
        body.extend(self.repeat(
            order,
            &Size::from(order.digits() / sorts::DIGITS),
            LoopKind::Serial,
            &mut |this, vector| {
                let mut body =
                    this.repeat(order, &Size::from(sorts::DIGITS), LoopKind::Vector, &mut |this, lane| {
                        let at = this.phase.exprs.index(&vector * sorts::DIGITS + &lane);
                        let count = this.read(counts, Some(at));
                        let mut body = vec![this.running_total(&total, &running, count, &lane)?];
                        let lane = this.phase.exprs.index(lane);
                        let running = this.read(&running, Some(lane));
                        let before = this.phase.exprs.alu(Alu::Sub, &[running, count]);
                        body.push(this.write(counts, Some(at), before, None));
                        Ok(body)
                    })?;
                body.push(this.last_of(&running, &total));
                Ok(body)
            },
        )?);
        Ok(body)
    }

    /// The running totals of a vector's counts, and what precedes them.
    fn running_total(&mut self, total: &Array, running: &Array, count: ExprId, lane: &Size) -> Made<Stmt> {
        let over = single_variable(lane).ok_or("lanes of no loop")?;
        let before = self.read(total, None);
        let scanned = self.phase.exprs.add(Expr::Running { op: Alu::Add, over, value: count }, total.dtype);
        let value = self.phase.exprs.alu(Alu::Add, &[before, scanned]);
        let lane = self.phase.exprs.index(lane.clone());
        Ok(self.write(running, Some(lane), value, None))
    }

    /// The last of the running totals is what precedes the next vector.
    fn last_of(&mut self, running: &Array, total: &Array) -> Stmt {
        let last = self.phase.exprs.index(sorts::DIGITS - 1);
        let value = self.read(running, Some(last));
        self.write(total, None, value, None)
    }

    /// Visits rows of counts, several at a time: `inside` is given the number of each.
    fn rows_of_counts(
        &mut self,
        order: &Order,
        count: &Size,
        inside: &mut dyn FnMut(&mut Self, &Size) -> Made,
    ) -> Made {
        self.repeat(order, &count.ceil_div(registers::STEPS), LoopKind::Serial, &mut |this, s| {
            this.repeat(order, &Size::from(registers::STEPS), LoopKind::Unroll, &mut |this, u| {
                inside(this, &(&s * registers::STEPS + &u))
            })
        })
    }

    /// A count of some digits of a row of counts, 0 where there is no such row.
    fn count_of(&mut self, counts: &Array, row: &Size, end: &Size, at: ExprId) -> ExprId {
        let inside = self.is_below(row, end);
        let of = Array { row: counts.row.iter().chain([row]).cloned().collect(), ..counts.clone() };
        self.read_where(&of, at, Some(inside))
    }

    /// Adds up the counts of a chunk of blocks, for a vector of digits.
    fn sums_of_chunk(
        &mut self,
        order: &Order,
        [counts, sums]: [&Array; 2],
        [own, part]: [&Size; 2],
        chunk: i64,
        blocks: &Size,
    ) -> Made {
        let total = self.lanes_of("total", counts.dtype, &[sorts::DIGITS]);
        let vector = |this: &mut Self, inside: &mut dyn FnMut(&mut Self, ExprId, ExprId) -> Stmt| {
            this.repeat(order, &Size::from(sorts::DIGITS), LoopKind::Vector, &mut |this, lane| {
                let at = this.phase.exprs.index(part * sorts::DIGITS + &lane);
                let lane = this.phase.exprs.index(lane);
                Ok(vec![inside(this, lane, at)])
            })
        };
        let mut body = vector(self, &mut |this, lane, _| {
            let zero = this.number(counts.dtype, 0);
            this.write(&total, Some(lane), zero, None)
        })?;
        body.extend(self.rows_of_counts(order, &Size::from(chunk), &mut |this, n| {
            let block = own * chunk + n;
            vector(this, &mut |this, lane, at| {
                let (old, more) = (this.read(&total, Some(lane)), this.count_of(counts, &block, blocks, at));
                let new = this.phase.exprs.alu(Alu::Add, &[old, more]);
                this.write(&total, Some(lane), new, None)
            })
        })?);
        body.extend(vector(self, &mut |this, lane, at| {
            let value = this.read(&total, Some(lane));
            this.write(sums, Some(at), value, None)
        })?);
        Ok(body)
    }

    /// Where each block of a chunk puts the points of each digit: after all of lesser digits, and those of the same digit
    /// of earlier blocks.
    fn starts_of_chunk(
        &mut self,
        order: &Order,
        [counts, sums, starts]: [&Array; 3],
        own: &Size,
        chunk: i64,
        [blocks, chunks]: [&Size; 2],
    ) -> Made {
        let shape = [order.digits() / sorts::DIGITS, sorts::DIGITS];
        let [totals, before] = ["totals", "before"].map(|name| self.lanes_of(name, counts.dtype, &shape));
        let (total, running) =
            (self.register("total", counts.dtype), self.lanes_of("running", counts.dtype, &[sorts::DIGITS]));
        let of = |array: &Array, vector: &Size| Array { row: vec![vector.clone()], ..array.clone() };
        let zero = self.number(counts.dtype, 0);
        let mut body = self.digits_of(order, LoopKind::Unroll, &mut |this, _, [vector, lane]| {
            let lane = this.phase.exprs.index(lane.clone());
            Ok([&totals, &before].map(|array| this.write(&of(array, vector), Some(lane), zero, None)).into())
        })?;
        body.extend(self.rows_of_counts(order, chunks, &mut |this, n| {
            this.digits_of(order, LoopKind::Unroll, &mut |this, at, [vector, lane]| {
                let lane = this.phase.exprs.index(lane.clone());
                let count = this.count_of(sums, n, chunks, at);
                let earlier = this.is_below(n, own);
                let earlier = this.phase.exprs.alu(Alu::Where, &[earlier, count, zero]);
                let add = |this: &mut Self, array: &Array, more: ExprId| {
                    let array = of(array, vector);
                    let old = this.read(&array, Some(lane));
                    let new = this.phase.exprs.alu(Alu::Add, &[old, more]);
                    this.write(&array, Some(lane), new, None)
                };
                Ok(vec![add(this, &totals, count), add(this, &before, earlier)])
            })
        })?);
        body.push(self.write(&total, None, zero, None));
        body.extend(self.repeat(order, &Size::from(shape[0]), LoopKind::Unroll, &mut |this, vector| {
            let (totals, before) = (of(&totals, &vector), of(&before, &vector));
            let mut body = this.repeat(order, &Size::from(sorts::DIGITS), LoopKind::Vector, &mut |this, lane| {
                let at = this.phase.exprs.index(lane.clone());
                let count = this.read(&totals, Some(at));
                let scanned = this.running_total(&total, &running, count, &lane)?;
                let [earlier, scan] = [&before, &running].map(|array| this.read(array, Some(at)));
                let lesser = this.phase.exprs.alu(Alu::Sub, &[scan, count]);
                let start = this.phase.exprs.alu(Alu::Add, &[earlier, lesser]);
                Ok(vec![scanned, this.write(&before, Some(at), start, None)])
            })?;
            body.push(this.last_of(&running, &total));
            Ok(body)
        })?);
        body.extend(self.rows_of_counts(order, &Size::from(chunk), &mut |this, n| {
            let block = own * chunk + n;
            this.digits_of(order, LoopKind::Unroll, &mut |this, at, [vector, lane]| {
                let lane = this.phase.exprs.index(lane.clone());
                let (inside, before) = (this.is_below(&block, blocks), of(&before, vector));
                let (start, count) = (this.read(&before, Some(lane)), this.count_of(counts, &block, blocks, at));
                let to = Array { row: starts.row.iter().chain([&block]).cloned().collect(), ..starts.clone() };
                let store = this.write(&to, Some(at), start, Some(inside));
                let next = this.phase.exprs.alu(Alu::Add, &[start, count]);
                Ok(vec![store, this.write(&before, Some(lane), next, None)])
            })
        })?);
        Ok(body)
    }
}
