//! Bounds inference: which part of a producer the loops inside some point will read.

use super::{Env, Lowerer, Made, Span};
use crate::apply::LoopState;
use crate::kernel::access::{reads, reads_of};
use crate::language::{Layout, Tail};
use svod_ir::expr::{Expr, ExprId};
use svod_ir::kernel::AxisId;
use svod_ir::size::{Size, Variable};

/// The interval of an index: where it starts, and how many values it can take.
struct Interval {
    min: Size,
    extent: Size,
    masked: bool,
}

impl Lowerer<'_> {
    /// The regions of the stages `placed` (producers first) that are read inside a loop of
    /// `consumer`, whose axes span `env` there: by the consumer, by the stages among `placed`, and by
    /// those computed further inside.
    pub(super) fn regions(&self, consumer: usize, env: &Env, placed: &[usize]) -> Made<Vec<Env>> {
        let position = |axis: AxisId, part: u32| {
            self.s.stages[consumer].loops.iter().position(|l| (l.axis, l.part) == (axis, part))
        };
        let here = placed.first().and_then(|p| self.s.stages[*p].at).and_then(|(_, axis, part)| position(axis, part));
        let mut known: Vec<(usize, Env)> = vec![(consumer, env.clone())];
        let mut regions: Vec<(usize, Env)> = Vec::new();
        for &stage in self.s.order.iter().rev() {
            let inside = self.placed_in(stage, consumer).is_some_and(|(axis, part)| position(axis, part) >= here);
            if inside {
                let region = self.region(stage, &known);
                let parts = |axis| if placed.contains(&stage) { 0 } else { self.parts(stage, axis) };
                known.push((stage, self.visited(stage, region.clone(), &parts)));
                regions.push((stage, region));
            }
        }
        Ok(placed.iter().filter_map(|p| regions.iter().find(|(s, _)| s == p)).map(|(_, env)| env.clone()).collect())
    }

    /// What the loops of a stage visit to compute a region: rounds that always run in full may run
    /// over its end, and over the end of each of the `parts` in which it is computed.
    fn visited(&self, stage: usize, mut region: Env, parts: &dyn Fn(AxisId) -> i64) -> Env {
        for (axis, span) in &mut region {
            let round = self.round(stage, *axis) as i64;
            if round > 1 && parts(*axis) % round != 0 {
                span.remaining = &span.remaining + (round - 1);
                span.masked = true;
            } else if round > 1 && span.remaining.divisible_by(round) != Some(true) {
                span.remaining = span.remaining.ceil_div(round) * round;
                span.masked = true;
            }
        }
        region
    }

    /// Whether the loops of `consumer` inside `l`, where `stage` is computed for the points of `env`, go on
    /// beyond those in rounds that always run in full.
    pub(super) fn overruns(&self, consumer: usize, l: &LoopState, env: &Env, stage: usize) -> bool {
        let kernel = &self.s.kernel;
        let loops = &self.s.stages[consumer].loops;
        let inside = loops.iter().skip_while(|o| (o.axis, o.part) != (l.axis, l.part)).skip(1);
        // What lies beyond a plane's lines is there for rounds as long.
        let slack = match self.s.stages[stage].layout {
            Layout::Plane { slack, .. } => u64::from(slack),
            _ => 0,
        };
        let over = |l: &&LoopState| {
            let full = matches!(l.tail, Tail::PadScratch | Tail::Mask) && l.step > slack;
            full && env.get(&l.axis).is_some_and(|span| span.remaining.divisible_by(l.step as i64) != Some(true))
        };
        let over: Vec<&Variable> = inside.filter(over).map(|l| &kernel.axes[l.axis.index()].var).collect();
        let readers = 0..if over.is_empty() { 0 } else { kernel.stages.len() };
        let read: Vec<ExprId> = readers.flat_map(|reader| reads_of(kernel, reader, stage)).flatten().copied().collect();
        kernel.exprs.variables_used(&read).iter().any(|v| over.contains(&v))
    }

    /// The points of an axis that a stage is computed for at a time; 0 for all of them.
    fn parts(&self, stage: usize, axis: AxisId) -> i64 {
        let Some((consumer, of, part)) = self.s.stages[stage].at else { return 0 };
        let loops = &self.s.stages[consumer].loops;
        let last = loops.iter().position(|l| (l.axis, l.part) == (of, part)).map_or(0, |l| l + 1);
        loops[..last].iter().rev().find(|l| l.axis == axis).map_or(0, |l| l.step as i64)
    }

    /// The loop of `consumer` in which a stage is computed, directly or as part of another stage.
    fn placed_in(&self, stage: usize, consumer: usize) -> Option<(AxisId, u32)> {
        let mut at = stage;
        // Stages are placed in later ones, so this ends.
        loop {
            let (outer, axis, part) = self.s.stages[at].at?;
            if outer == consumer {
                return Some((axis, part));
            }
            at = outer;
        }
    }

    fn region(&self, stage: usize, known: &[(usize, Env)]) -> Env {
        let kernel = &self.s.kernel;
        let over = &kernel.stages[stage].dims();
        let mut region = self.full_env(stage);
        let readers = (0..kernel.stages.len()).filter(|r| reads(kernel, *r, stage));
        if readers.into_iter().any(|r| !known.iter().any(|(k, _)| *k == r)) {
            self.tighten(stage, &mut region);
            return region;
        }
        // What goes to memory is computed at all points of the loops that it is placed in.
        let own = self.s.stages[stage].at.filter(|_| self.s.writes(stage)).map(|(consumer, ..)| consumer);
        let own = known.iter().find(|(k, _)| Some(*k) == own).map(|(_, env)| env);
        for (d, axis) in over.iter().enumerate() {
            let written = own.map(|env| {
                let Span { base: min, remaining: extent, masked } = env.get(axis)?.clone();
                Some(Interval { min, extent, masked })
            });
            let each = known.iter().flat_map(|(reader, env)| {
                reads_of(kernel, *reader, stage).into_iter().map(|index| self.interval(index[d], env))
            });
            let mut union: Option<Interval> = None;
            let mut whole = false;
            for interval in written.into_iter().chain(each) {
                let Some(interval) = interval else {
                    whole = true;
                    break;
                };
                union = Some(match union.take() {
                    None => interval,
                    Some(u) if u.min == interval.min => {
                        let extent = u.extent.max(interval.extent);
                        Interval { extent, masked: u.masked || interval.masked, ..u }
                    }
                    Some(_) => {
                        whole = true;
                        break;
                    }
                });
            }
            if let (false, Some(u)) = (whole, union) {
                region.insert(*axis, Span { base: u.min, remaining: u.extent, masked: u.masked });
            }
        }
        self.tighten(stage, &mut region);
        region
    }

    /// An interval that holds all that the part of an index with `var` can be, which must be a term of
    /// its own: a tap of a convolution with a stride.
    fn widened(&self, interval: Interval, size: &Size, var: &Variable) -> Option<Interval> {
        let without = |s: &Size| s.substitute(&|v: &Variable| (v == var).then_some(Size::ZERO));
        let part = size - without(size);
        let (low, high) = part.bounds();
        if part.variables() != [var.clone()] || low == i64::MIN || high == i64::MAX {
            return None;
        }
        let extent = interval.extent + high.checked_sub(low)?;
        Some(Interval { min: without(&interval.min) + low, extent, ..interval })
    }

    /// The values of an index while a reader's axes range over what remains of them; `None` where
    /// it is not affine.
    fn interval(&self, index: ExprId, env: &Env) -> Option<Interval> {
        let Expr::Index(size) = self.s.kernel.exprs.get(index) else { return None };
        let mut interval = Interval { min: size.clone(), extent: Size::from(1), masked: false };
        for (axis, span) in env {
            let var = &self.s.kernel.axes[axis.index()].var;
            if !size.variables().contains(var) {
                continue;
            }
            let with = |value: &Size, s: &Size| s.substitute(&|v: &Variable| (v == var).then(|| value.clone()));
            if span.remaining.as_const() == Some(1) && !span.masked {
                interval.min = with(&span.base, &interval.min);
                continue;
            }
            let next = with(&(Size::from(var) + 1), size);
            let Some(slope) = (&next - size).as_const() else {
                interval = self.widened(interval, size, var)?;
                continue;
            };
            let last = &span.remaining - &Size::from(1);
            let start = if slope >= 0 { span.base.clone() } else { &span.base + &last };
            interval.min = with(&start, &interval.min);
            interval.extent = &interval.extent + &(last * slope.abs());
            interval.masked |= span.masked;
        }
        Some(interval)
    }
}
