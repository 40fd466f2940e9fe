//! Reductions: accumulators, the loops that fill them, and what is made of them at the end.
//!
//! The accumulators of a carry are declared where the first reduction loop starts. They have a
//! dimension for each kept loop inside it, and one for each reduction loop that the schedule gave
//! an accumulator per lane (rfactor). Where the innermost of those runs short, in a tail, a second,
//! scalar accumulator takes over. All dimensions are unrolled or vector loops in a good schedule,
//! and the accumulators registers; otherwise they are scratch.
//!
//! A scan has its running values in them. Where its axis is a vector, the accumulator is what precedes the vector's first
//! lane, and the running values of the lanes are a register beside it.

use super::cascade::Cascade;
use super::convert::Bound;
use super::{Lowerer, Made, Nest};
use crate::apply::{LoopState, Runs};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, Mem, TempId};
use svod_ir::kernel::{AxisId, Body, Carry, Emit, Monoid};
use svod_ir::lowered::{Home, Loop, LoopKind, Stmt};
use svod_ir::single_variable;
use svod_ir::size::{Size, Variable};

/// The accumulators of one reduction.
pub(super) struct Accumulators {
    /// The loops that index them, outermost first, with their number of rounds.
    pub(super) loops: Vec<(LoopState, u64)>,
    /// The type in which each carry is accumulated.
    pub(super) dtypes: Vec<DType>,
    /// One temporary a carry.
    pub(super) temps: Vec<TempId>,
    /// One scalar (per kept loop) temporary a carry, for tails of a vector loop.
    pub(super) tails: Vec<TempId>,
    /// The new values of one step, where carries depend on one another.
    news: Vec<TempId>,
    /// Of a scan whose axis is a vector: the running values of the lanes, one temporary a carry.
    running: Vec<TempId>,
    /// Of a line of running values, which serial loops walk: the axes that index it, and where each
    /// starts. `loops` is then empty.
    line: Vec<(AxisId, Size)>,
}

impl Accumulators {
    /// The temporaries of each kind, and the loops that index them.
    pub(super) fn sets(&self) -> impl Iterator<Item = (&[TempId], Vec<(LoopState, u64)>)> {
        let over = |rfactored: bool| self.loops.iter().filter(move |(l, _)| rfactored || !l.rfactor).cloned().collect();
        let sets = [(&self.temps[..], over(true)), (&self.tails[..], over(false))];
        sets.into_iter().filter(|(temps, _)| !temps.is_empty())
    }
}

impl Lowerer<'_> {
    /// A reduction, from its first reduction loop on.
    pub(super) fn reduce(&mut self, nest: Nest) -> Made {
        let Body::Reduce { carries, emit, results, .. } = &self.s.kernel.stages[nest.stage].body else {
            return Err("a reduction loop outside a reduction".into());
        };
        let loops = self.accumulated(&nest)?;
        let cascade = if *emit == Emit::Last { self.cascade(&nest, carries, &loops) } else { None };
        let inside = |l: &LoopState, of: &Cascade| {
            nest.loops[of.position + 1..].iter().any(|i| (i.axis, i.part) == (l.axis, l.part))
        };
        let own = loops.into_iter().filter(|(l, _)| cascade.as_ref().is_none_or(|of| inside(l, of))).collect();
        let accumulators = self.accumulators(&nest, carries, own)?;
        let totals = cascade.as_ref().map_or(&accumulators, |c| &c.totals);
        let mut body = self.initial(&nest, carries, totals);
        body.extend(self.steps(nest.clone(), carries, *emit, results, &accumulators, cascade.as_ref())?);
        if *emit == Emit::Last {
            body.extend(self.results(nest, carries, results, totals)?);
        }
        Ok(body)
    }

    /// Accumulators over `loops`, or over the line that a scan walks.
    fn accumulators(&mut self, nest: &Nest, carries: &[Carry], loops: Vec<(LoopState, u64)>) -> Made<Accumulators> {
        let linked = !self.s.kernel.is_plain_reduction(nest.stage);
        let vector = nest.loops.last().filter(|l| self.is_scan(nest.stage) && self.reduces(nest.stage, l.axis));
        let vector = vector.filter(|l| l.runs == Runs::Vector);
        if self.walks_a_line(nest) {
            return match vector {
                Some(_) => Err("inside of a scan whose axis is a vector, all loops are unrolled".into()),
                None => self.line(nest, carries, linked),
            };
        }
        let dtypes = carries.iter().map(|c| c.dtype).collect();
        let mut accumulators = self.allocate(nest, dtypes, loops, linked, ["_acc", "_tail", "_new"]);
        if vector.is_some() {
            let lanes = points(nest, nest.loops.len() - 1).upper_bound().ok_or("a vector without a number of lanes")?;
            let kept = accumulators.loops.iter().map(|(_, n)| Size::from(*n as i64));
            let shape: Vec<Size> = kept.chain([Size::from(lanes.max(1))]).collect();
            let name = format!("{}_running", self.s.kernel.stages[nest.stage].name);
            let new = |c: &Carry| self.temp(name.clone(), c.dtype, shape.clone(), Home::Register);
            accumulators.running = carries.iter().map(new).collect();
        }
        Ok(accumulators)
    }

    /// Whether a reduction is a scan with kept loops inside it.
    fn walks_a_line(&self, nest: &Nest) -> bool {
        let walked = |l: &LoopState| !self.reduces(nest.stage, l.axis) && matches!(l.runs, Runs::Serial | Runs::Lane);
        self.is_scan(nest.stage) && nest.loops.iter().any(walked)
    }

    /// The loops of a reduction that index accumulators, with their number of rounds; none where they are a line.
    fn accumulated(&self, nest: &Nest) -> Made<Vec<(LoopState, u64)>> {
        if self.walks_a_line(nest) {
            return Ok(Vec::new());
        }
        let mut loops = Vec::new();
        for (i, l) in nest.loops.iter().enumerate() {
            let kept = !self.reduces(nest.stage, l.axis);
            if !kept && (!l.rfactor || self.is_scan(nest.stage)) {
                continue;
            }
            let points = points(nest, i);
            let bound = points.upper_bound().ok_or("a kept loop inside a reduction has no upper bound")?.max(1) as u64;
            if kept && l.step > 1 && points.divisible_by(l.step as i64) != Some(true) {
                let name = self.name_of(nest.stage, l);
                return Err(format!(
                    "inside of a reduction, the last round of `{name}` may not be shorter than the others"
                ));
            }
            loops.push((l.clone(), bound.div_ceil(l.step)));
        }
        Ok(loops)
    }

    pub(super) fn is_scan(&self, stage: usize) -> bool {
        matches!(&self.s.kernel.stages[stage].body, Body::Reduce { emit, .. } if *emit != Emit::Last)
    }

    /// The running values of a scan with kept loops inside it: one for each of their points.
    fn line(&mut self, nest: &Nest, carries: &[Carry], linked: bool) -> Made<Accumulators> {
        let mut axes: Vec<AxisId> = Vec::new();
        for l in nest.loops.iter().filter(|l| !self.reduces(nest.stage, l.axis)) {
            if !axes.contains(&l.axis) {
                axes.push(l.axis);
            }
        }
        let mut shape = Vec::new();
        for axis in &axes {
            let bound = nest.env[axis].remaining.upper_bound().ok_or("a line of running values has no upper bound")?;
            // Rounds that always run in full may run over the line's end.
            let round = self.round(nest.stage, *axis);
            shape.push(Size::from((bound.max(1) as u64).next_multiple_of(round) as i64));
        }
        let name = self.s.kernel.stages[nest.stage].name.clone();
        let mut temps = |suffix: &str| -> Vec<TempId> {
            let new = |c: &Carry| self.temp(format!("{name}{suffix}"), c.dtype, shape.clone(), Home::Scratch);
            carries.iter().map(new).collect()
        };
        let (temps, news) = (temps("_acc"), if linked { temps("_new") } else { Vec::new() });
        let line = axes.into_iter().map(|a| (a, nest.env[&a].base.clone())).collect();
        let dtypes = carries.iter().map(|c| c.dtype).collect();
        let (loops, tails, running) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Accumulators { loops, dtypes, temps, tails, news, running, line })
    }

    /// Accumulators of some types over `loops`; `suffixes` end the names of the three kinds.
    pub(super) fn allocate(
        &mut self,
        nest: &Nest,
        dtypes: Vec<DType>,
        loops: Vec<(LoopState, u64)>,
        linked: bool,
        suffixes: [&str; 3],
    ) -> Accumulators {
        let registers = loops.iter().all(|(l, n)| *n == 1 || matches!(l.runs, Runs::Unroll | Runs::Vector));
        let home = if registers { Home::Register } else { Home::Scratch };
        let shape_of = |loops: &mut dyn Iterator<Item = &(LoopState, u64)>| {
            let shape: Vec<Size> = loops.map(|(_, n)| Size::from(*n as i64)).collect();
            if shape.is_empty() { vec![Size::from(1)] } else { shape }
        };
        let whole = shape_of(&mut loops.iter());
        let kept = shape_of(&mut loops.iter().filter(|(l, _)| !l.rfactor));
        let name = self.s.kernel.stages[nest.stage].name.clone();
        let mut temps = |suffix: &str, shape: &[Size]| -> Vec<TempId> {
            let new = |dtype: &DType| self.temp(format!("{name}{suffix}"), *dtype, shape.to_vec(), home);
            dtypes.iter().map(new).collect()
        };
        let has_tail = loops.iter().any(|(l, _)| l.rfactor && l.runs == Runs::Vector);
        Accumulators {
            temps: temps(suffixes[0], &whole),
            tails: if has_tail { temps(suffixes[1], &kept) } else { Vec::new() },
            news: if linked { temps(suffixes[2], &whole) } else { Vec::new() },
            loops,
            dtypes,
            running: Vec::new(),
            line: Vec::new(),
        }
    }

    /// Gives every accumulator its identity.
    pub(super) fn initial(&mut self, nest: &Nest, carries: &[Carry], acc: &Accumulators) -> Vec<Stmt> {
        let mut body = Vec::new();
        if !acc.line.is_empty() {
            return self.initial_line(nest, carries, acc);
        }
        for (temps, over) in acc.sets() {
            body.extend(self.over(nest.stage, &over, &mut |this, at| {
                let store = |((t, c), dtype): ((&TempId, &Carry), &DType)| {
                    let value = this.phase.exprs.constant(c.op.identity(*dtype));
                    let index = this.indices(at);
                    Stmt::Store { to: Mem::Temp(*t, 0), index, value, valid: None }
                };
                temps.iter().zip(carries).zip(&acc.dtypes).map(store).collect()
            }));
        }
        body
    }

    fn initial_line(&mut self, nest: &Nest, carries: &[Carry], acc: &Accumulators) -> Vec<Stmt> {
        let loops: Vec<Loop> = acc
            .line
            .iter()
            .map(|(axis, _)| {
                let extent = nest.env[axis].remaining.clone();
                let of = nest.loops.iter().find(|l| l.axis == *axis);
                let head = of.expect("a line is indexed by axes of loops that are left");
                Loop { var: self.counter(nest.stage, head, &extent), extent, kind: LoopKind::Serial }
            })
            .collect();
        let at: Vec<Size> = loops.iter().map(|l| Size::from(&l.var)).collect();
        let index = self.indices(&at);
        let store = |(t, c): (&TempId, &Carry)| {
            let value = self.phase.exprs.constant(c.op.identity(c.dtype));
            Stmt::Store { to: Mem::Temp(*t, 0), index: index.clone(), value, valid: None }
        };
        let body = acc.temps.iter().zip(carries).map(store).collect();
        loops.into_iter().rev().fold(body, |body, l| vec![Stmt::Loop(l, body)])
    }

    /// Full loops over the rounds of some loops.
    pub(super) fn over(
        &mut self,
        stage: usize,
        loops: &[(LoopState, u64)],
        inside: &mut dyn FnMut(&mut Self, &[Size]) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let mut at = Vec::new();
        let mut entered = Vec::new();
        for (l, n) in loops {
            if *n == 1 {
                at.push(Size::from(0));
                continue;
            }
            let extent = Size::from(*n as i64);
            let var = self.counter(stage, l, &extent);
            at.push(Size::from(&var));
            let kind = match l.runs {
                Runs::Unroll => LoopKind::Unroll,
                Runs::Vector => LoopKind::Vector,
                Runs::Serial | Runs::Task | Runs::Lane => LoopKind::Serial,
            };
            entered.push(Loop { var, extent, kind });
        }
        if at.is_empty() {
            at.push(Size::from(0));
        }
        let body = inside(self, &at);
        entered.into_iter().rev().fold(body, |body, l| vec![Stmt::Loop(l, body)])
    }

    pub(super) fn indices(&mut self, at: &[Size]) -> Vec<ExprId> {
        at.iter().map(|i| self.phase.exprs.index(i.clone())).collect()
    }

    /// The reduction loops and, inside, one step of every carry.
    fn steps(
        &mut self,
        nest: Nest,
        carries: &[Carry],
        emit: Emit,
        results: &[ExprId],
        acc: &Accumulators,
        cascade: Option<&Cascade>,
    ) -> Made {
        if nest.loops.is_empty() {
            return self.step(&nest, carries, emit, results, acc);
        }
        if nest.loops.len() == 1 && nest.loops[0].runs == Runs::Vector && !acc.running.is_empty() {
            return self.step_of_lanes(nest, carries, results, acc);
        }
        // A tail may have the loop of blocks as its own rounds.
        let outside = |nest: &Nest, c: &Cascade| nest.loops.iter().any(|l| (l.axis, l.part) == c.at);
        let around = cascade.filter(|c| outside(&nest, c));
        self.each(nest, &mut |this, inner| {
            let Some(block) = around.filter(|c| !outside(&inner, c)) else {
                return this.steps(inner, carries, emit, results, acc, cascade);
            };
            let end = this.end_of_block(&inner, carries, acc, &block.totals);
            let mut body = this.initial(&inner, carries, acc);
            body.extend(this.steps(inner, carries, emit, results, acc, cascade)?);
            body.extend(end);
            Ok(body)
        })
    }

    fn step(&mut self, nest: &Nest, carries: &[Carry], emit: Emit, results: &[ExprId], acc: &Accumulators) -> Made {
        let (temps, at) = current(nest, acc);
        let index = self.indices(&at);
        let mut body = Vec::new();
        if emit == Emit::Exclusive {
            body.extend(self.emit(nest, carries, results, temps, &index)?);
        }
        let linked = !acc.news.is_empty();
        let mut bound: Vec<Bound> = Vec::new();
        let mut moved: Vec<(TempId, TempId, DType)> = Vec::new();
        for (i, carry) in carries.iter().enumerate() {
            let n = i as u8;
            let old = self.phase.exprs.load(carry.dtype, Mem::Temp(temps[i], 0), &index);
            bound.push((Expr::Old(n, carry.dtype), old));
            let element = self.element(nest, carry, &bound)?;
            let value = self.update(carries, i, old, element, &bound, nest)?;
            let to = if linked { acc.news[i] } else { temps[i] };
            body.push(Stmt::Store { to: Mem::Temp(to, 0), index: index.clone(), value, valid: None });
            if linked {
                let new = self.phase.exprs.load(carry.dtype, Mem::Temp(to, 0), &index);
                bound.push((Expr::New(n, carry.dtype), new));
                moved.push((to, temps[i], carry.dtype));
            }
        }
        for (from, to, dtype) in moved {
            let value = self.phase.exprs.load(dtype, Mem::Temp(from, 0), &index);
            body.push(Stmt::Store { to: Mem::Temp(to, 0), index: index.clone(), value, valid: None });
        }
        if emit == Emit::Inclusive {
            body.extend(self.emit(nest, carries, results, temps, &index)?);
        }
        Ok(body)
    }

    /// A step of an inclusive scan for all lanes of a vector, and what precedes the next one.
    fn step_of_lanes(&mut self, nest: Nest, carries: &[Carry], results: &[ExprId], acc: &Accumulators) -> Made {
        let head = nest.loops[0].clone();
        let (temps, at) = current(&nest, acc);
        let kept = if acc.loops.is_empty() { Vec::new() } else { at.clone() };
        let total = self.indices(&at);
        let mut body = self.each(nest, &mut |this, inner| {
            let lane = entered(&inner, &head);
            let index = this.indices(&[&kept[..], std::slice::from_ref(&lane)].concat());
            let mut body = Vec::new();
            for (i, carry) in carries.iter().enumerate() {
                let op = carry.op.alu().ok_or("a monoid that is no scalar operation")?;
                let value = this.element(&inner, carry, &[])?;
                let pool = &mut this.phase.exprs;
                let value = match single_variable(&lane) {
                    Some(over) => pool.add(Expr::Running { op, over, value }, carry.dtype),
                    None => value,
                };
                let before = pool.load(carry.dtype, Mem::Temp(temps[i], 0), &total);
                let value = pool.alu(op, &[before, value]);
                body.push(Stmt::Store { to: Mem::Temp(acc.running[i], 0), index: index.clone(), value, valid: None });
            }
            body.extend(this.emit(&inner, carries, results, &acc.running, &index)?);
            Ok(body)
        })?;
        for (i, carry) in carries.iter().enumerate() {
            let lanes = self.phase.temps[acc.running[i].index()].shape.last().cloned().unwrap_or(Size::ONE);
            let last = self.indices(&[&kept[..], &[lanes - 1]].concat());
            let value = self.phase.exprs.load(carry.dtype, Mem::Temp(acc.running[i], 0), &last);
            body.push(Stmt::Store { to: Mem::Temp(temps[i], 0), index: total.clone(), value, valid: None });
        }
        Ok(body)
    }

    /// What one step combines: the identity where the point is masked.
    fn element(&mut self, nest: &Nest, carry: &Carry, bound: &[Bound]) -> Made<ExprId> {
        let element = self.convert(carry.element, nest, bound)?;
        let masked = nest.env.iter().any(|(axis, span)| span.masked && self.reduces(nest.stage, *axis));
        if !masked {
            return Ok(element);
        }
        let Some(guard) = self.guard(nest) else { return Ok(element) };
        let identity = self.phase.exprs.constant(carry.op.identity(carry.dtype));
        Ok(self.phase.exprs.alu(Alu::Where, &[guard, element, identity]))
    }

    /// The new value of carry `i`.
    fn update(
        &mut self,
        carries: &[Carry],
        i: usize,
        old: ExprId,
        element: ExprId,
        bound: &[Bound],
        nest: &Nest,
    ) -> Made<ExprId> {
        let carry = &carries[i];
        let mut old = old;
        if let Some(fix) = carry.fix {
            let factor = self.convert(fix, nest, bound)?;
            let pool = &mut self.phase.exprs;
            let one = pool.constant(Const::one(carry.dtype));
            let nan = pool.alu(Alu::Ne, &[factor, factor]);
            let factor = pool.alu(Alu::Where, &[nan, one, factor]);
            old = pool.alu(Alu::Mul, &[old, factor]);
        }
        let of = |want: &dyn Fn(u8, DType) -> Expr, n: usize| {
            let key = want(n as u8, carries[n].dtype);
            bound.iter().find(|(e, _)| *e == key).map(|(_, v)| *v).ok_or("a carry refers to one that comes later")
        };
        let pool = &mut self.phase.exprs;
        Ok(match carry.op {
            Monoid::ArgMax | Monoid::ArgMin => {
                if i == 0 {
                    return Err("an arg carry follows the max or min it goes with".into());
                }
                let was = of(&Expr::Old, i - 1)?;
                let is = of(&Expr::New, i - 1)?;
                let order = if carry.op == Monoid::ArgMax { [was, is] } else { [is, was] };
                let better = pool.alu(Alu::Lt, &order);
                let (is_nan, was_number) = (pool.alu(Alu::Ne, &[is, is]), pool.alu(Alu::Eq, &[was, was]));
                let first_nan = pool.alu(Alu::And, &[is_nan, was_number]);
                let moved = pool.alu(Alu::Or, &[better, first_nan]);
                pool.alu(Alu::Where, &[moved, element, old])
            }
            Monoid::Welford => {
                let leader = (0..=i).rev().take_while(|n| carries[*n].op == Monoid::Welford).last().unwrap_or(i);
                match (i - leader) % 3 {
                    0 => {
                        let one = pool.constant(Const::one(carry.dtype));
                        pool.alu(Alu::Add, &[old, one])
                    }
                    1 => {
                        let count = of(&Expr::New, i - 1)?;
                        let delta = pool.alu(Alu::Sub, &[element, old]);
                        let share = pool.alu(Alu::Div, &[delta, count]);
                        pool.alu(Alu::Add, &[old, share])
                    }
                    _ => {
                        let (was, is) = (of(&Expr::Old, i - 1)?, of(&Expr::New, i - 1)?);
                        let (before, after) = (pool.alu(Alu::Sub, &[element, was]), pool.alu(Alu::Sub, &[element, is]));
                        let square = pool.alu(Alu::Mul, &[before, after]);
                        pool.alu(Alu::Add, &[old, square])
                    }
                }
            }
            _ => {
                let op = carry.op.alu().ok_or("a monoid that is no scalar operation")?;
                pool.alu(op, &[old, element])
            }
        })
    }

    /// The stage's values after a step of a scan.
    fn emit(&mut self, nest: &Nest, carries: &[Carry], results: &[ExprId], temps: &[TempId], index: &[ExprId]) -> Made {
        let bound: Vec<Bound> = carries
            .iter()
            .enumerate()
            .map(|(i, c)| {
                (Expr::Carry(i as u8, c.dtype), self.phase.exprs.load(c.dtype, Mem::Temp(temps[i], 0), index))
            })
            .collect();
        let values = results.iter().map(|r| self.convert(*r, nest, &bound)).collect::<Made<Vec<_>>>()?;
        self.store(nest, &values)
    }

    /// The stage's values after the last step.
    fn results(&mut self, nest: Nest, carries: &[Carry], results: &[ExprId], acc: &Accumulators) -> Made {
        let mut nest = nest;
        nest.loops.retain(|l| !self.reduces(nest.stage, l.axis));
        for (axis, span) in &mut nest.env {
            if self.reduces(nest.stage, *axis) {
                span.masked = false;
            }
        }
        self.finish(nest, carries, results, acc)
    }

    fn finish(&mut self, nest: Nest, carries: &[Carry], results: &[ExprId], acc: &Accumulators) -> Made {
        if !nest.loops.is_empty() {
            return self.each(nest, &mut |this, inner| this.finish(inner, carries, results, acc));
        }
        let vector = acc.loops.iter().find(|(l, _)| l.rfactor && l.runs == Runs::Vector);
        let lanes = vector.map(|(l, n)| self.counter(nest.stage, l, &Size::from(*n as i64)));
        let bound = carries.iter().enumerate().map(|(i, c)| {
            let value = self.combined(&nest, i, c, acc, lanes.as_ref());
            (Expr::Carry(i as u8, c.dtype), value)
        });
        let bound: Vec<Bound> = bound.collect();
        let values = results.iter().map(|r| self.convert(*r, &nest, &bound)).collect::<Made<Vec<_>>>()?;
        self.store(&nest, &values)
    }

    /// One carry's value at a point of the kept axes: its accumulators combined, as a tree.
    fn combined(
        &mut self,
        nest: &Nest,
        i: usize,
        carry: &Carry,
        acc: &Accumulators,
        lanes: Option<&Variable>,
    ) -> ExprId {
        let points = places(&acc.loops, |l, n| match lanes {
            _ if !l.rfactor => vec![entered(nest, l)],
            Some(var) if l.runs == Runs::Vector => vec![Size::from(var)],
            _ => rounds(n),
        });
        let dtype = acc.dtypes[i];
        let mut value = self.tree(carry, dtype, acc.temps[i], &points);
        let Some(op) = carry.op.alu() else { return value };
        if let Some(lanes) = lanes {
            let zero = Size::from(0);
            value = self.phase.exprs.add(Expr::Lanes { op, lanes: lanes.clone(), value }, dtype);
            let kept: Vec<Size> = acc.loops.iter().filter(|(l, _)| !l.rfactor).map(|(l, _)| entered(nest, l)).collect();
            let index = self.indices(if kept.is_empty() { std::slice::from_ref(&zero) } else { &kept });
            let tail = self.phase.exprs.load(dtype, Mem::Temp(acc.tails[i], 0), &index);
            value = self.phase.exprs.alu(op, &[value, tail]);
        }
        self.phase.exprs.cast(carry.dtype, value)
    }

    /// The accumulators of a carry at some places, combined as a tree.
    pub(super) fn tree(&mut self, carry: &Carry, dtype: DType, temp: TempId, places: &[Vec<Size>]) -> ExprId {
        let mut values: Vec<ExprId> = Vec::with_capacity(places.len());
        for place in places {
            let index = self.indices(place);
            values.push(self.phase.exprs.load(dtype, Mem::Temp(temp, 0), &index));
        }
        let Some(op) = carry.op.alu() else { return values[0] };
        while values.len() > 1 {
            let pair = |pair: &[ExprId]| if pair.len() == 2 { self.phase.exprs.alu(op, pair) } else { pair[0] };
            values = values.chunks(2).map(pair).collect();
        }
        values[0]
    }
}

/// Where accumulators over some loops are, at the points of each loop that `choices` gives.
pub(super) fn places(loops: &[(LoopState, u64)], choices: impl Fn(&LoopState, u64) -> Vec<Size>) -> Vec<Vec<Size>> {
    if loops.is_empty() {
        return vec![vec![Size::ZERO]];
    }
    loops.iter().fold(vec![Vec::new()], |places, (l, n)| {
        let choices = choices(l, *n);
        places.iter().flat_map(|p| choices.iter().map(|c| p.iter().chain([c]).cloned().collect())).collect()
    })
}

/// The points of a loop of so many rounds.
pub(super) fn rounds(n: u64) -> Vec<Size> {
    (0..n).map(|c| Size::from(c as i64)).collect()
}

/// The points that loop `i` of a nest covers at most.
pub(super) fn points(nest: &Nest, i: usize) -> Size {
    let l = &nest.loops[i];
    match nest.loops[..i].iter().filter(|o| o.axis == l.axis).map(|o| o.step).min() {
        Some(round) => Size::from(round as i64),
        None => nest.env[&l.axis].remaining.clone(),
    }
}

/// The accumulators that the current point of the reduction loops uses, and where in them.
fn current<'a>(nest: &Nest, acc: &'a Accumulators) -> (&'a [TempId], Vec<Size>) {
    if !acc.line.is_empty() {
        return (&acc.temps, acc.line.iter().map(|(axis, start)| &nest.env[axis].base - start).collect());
    }
    let counter =
        |l: &LoopState| nest.entered.iter().rev().find(|(key, _)| *key == (l.axis, l.part)).map(|(_, c)| c.clone());
    let narrowed = acc.loops.iter().any(|(l, _)| l.rfactor && l.runs == Runs::Vector && counter(l).is_none());
    let used = acc.loops.iter().filter(|(l, _)| !narrowed || !l.rfactor);
    let mut at: Vec<Size> = used.map(|(l, n)| counter(l).filter(|_| *n > 1).unwrap_or(Size::ZERO)).collect();
    if at.is_empty() {
        at.push(Size::from(0));
    }
    (if narrowed { &acc.tails } else { &acc.temps }, at)
}

/// The counter of a kept loop, or 0.
pub(super) fn entered(nest: &Nest, l: &LoopState) -> Size {
    let key: (AxisId, u32) = (l.axis, l.part);
    nest.entered.iter().rev().find(|(k, _)| *k == key).map_or(Size::from(0), |(_, c)| c.clone())
}
