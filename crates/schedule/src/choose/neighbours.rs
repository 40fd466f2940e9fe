//! Schedules that are one action away from another: where a search goes on from it.
//!
//! An action changes a number (a split's factor, a tile, how far is fetched ahead), takes a step out,
//! or adds one: unroll, vector, task, order, rfactor, stage, placement, stream, prefetch. Which are
//! legal, and what they are worth, [`crate::lower`] and a clock tell.

use crate::apply::{LoopState, Runs, Scheduled, apply};
use crate::costs::limits::code;
use crate::language::{Layout, LoopRef, Opt, Read, Schedule, StageHome, Tail, To};
use svod_dtype::DType;
use svod_ir::expr::{Expr, Mem};
use svod_ir::kernel::{Body, Kernel, Out};
use svod_ir::target::Target;

/// Schedules that differ from `schedule` by one action, each once, the changes of what is there first.
/// None where `schedule` itself is illegal.
pub fn neighbours(kernel: &Kernel, target: &Target, schedule: &Schedule) -> Vec<Schedule> {
    let Ok(state) = apply(kernel, schedule) else { return Vec::new() };
    let mut found = Found { schedule, all: Vec::new() };
    for (i, opt) in schedule.0.iter().enumerate() {
        found.change(i, opt, target);
    }
    for stage in 0..state.stages.len() {
        found.extend(&state, stage, target);
    }
    found.all
}

struct Found<'s> {
    schedule: &'s Schedule,
    all: Vec<Schedule>,
}

impl Found<'_> {
    fn add(&mut self, opts: Vec<Opt>) {
        let found = Schedule::from(opts);
        if found != *self.schedule && !self.all.contains(&found) {
            self.all.push(found);
        }
    }

    /// The schedule with other steps in place of step `i`.
    fn replaced(&mut self, i: usize, by: &[Opt]) {
        let steps = &self.schedule.0;
        self.add([&steps[..i], by, &steps[i + 1..]].concat());
    }

    fn appended(&mut self, steps: &[Opt]) {
        self.add([&self.schedule.0[..], steps].concat());
    }

    fn is_vector(&self, l: &LoopRef) -> bool {
        self.schedule.0.iter().any(|o| matches!(o, Opt::Bind { at, to: To::Vector } if at == l))
    }

    /// Other values of a step, or none.
    fn change(&mut self, i: usize, opt: &Opt, target: &Target) {
        match opt {
            Opt::Split { at, by, tail } => {
                // The factors of a tile and of panels hang together: see `Opt::Micro`.
                if *tail != Tail::PadScratch {
                    for by in [by * 2, by / 2, by * 4, by / 4] {
                        if by > 1 {
                            self.replaced(i, &[Opt::Split { at: at.clone(), by, tail: *tail }]);
                        }
                    }
                }
                let other = match tail {
                    Tail::Rest => Tail::Mask,
                    Tail::Mask => Tail::Rest,
                    Tail::Exact | Tail::PadScratch => return,
                };
                self.replaced(i, &[Opt::Split { at: at.clone(), by: *by, tail: other }]);
            }
            Opt::Micro { rows, cols, .. } => {
                let lanes = target.lanes(4) as u32;
                for (rows_by, cols_by) in [(2, 0), (-2, 0), (0, 1), (0, -1), (-2, 1), (2, -1), (4, -1), (-4, 1)] {
                    let other = |n: u32, by: i64| u32::try_from(i64::from(n) + by).ok().filter(|n| *n > 0);
                    if let (Some(r), Some(c)) = (other(*rows, rows_by), other(*cols, cols_by * i64::from(lanes))) {
                        self.retile((*rows, *cols), (r, c));
                    }
                }
            }
            Opt::Stage { stage, read, layout, home } => {
                let home = match home {
                    StageHome::Task => StageHome::Shared,
                    StageHome::Shared => StageHome::Prepared,
                    StageHome::Prepared => StageHome::Shared,
                };
                self.replaced(i, &[Opt::Stage { stage: stage.clone(), read: read.clone(), layout: *layout, home }]);
                self.unstage(i, stage, read);
            }
            Opt::Prefetch { at, read, ahead } => {
                for ahead in [ahead * 2, ahead / 2] {
                    if ahead > 0 {
                        self.replaced(i, &[Opt::Prefetch { at: at.clone(), read: read.clone(), ahead }]);
                    }
                }
                self.replaced(i, &[]);
            }
            Opt::SplitReduction { at, by } => {
                for by in [by * 2, by / 2] {
                    if by > 1 {
                        self.replaced(i, &[Opt::SplitReduction { at: at.clone(), by }]);
                    }
                }
            }
            // Lanes of a reduction need accumulators.
            Opt::Rfactor { at } if self.is_vector(at) => {}
            Opt::Bind { to: To::Unroll | To::Task, .. } | Opt::Rfactor { .. } => self.replaced(i, &[]),
            Opt::Reorder { .. } | Opt::At { .. } | Opt::DirectStore { .. } | Opt::Stream { .. } => {
                self.replaced(i, &[])
            }
            Opt::Bind { .. } | Opt::Pairs { .. } | Opt::Turn { .. } | Opt::Whole | Opt::Strict => {}
        }
    }

    /// Another tile, with the panels and the splits that go with it.
    fn retile(&mut self, old: (u32, u32), new: (u32, u32)) {
        if old.0 == old.1 {
            return;
        }
        let side = |n: u64| match n {
            n if n == u64::from(old.0) => Some((u64::from(old.0), u64::from(new.0))),
            n if n == u64::from(old.1) => Some((u64::from(old.1), u64::from(new.1))),
            _ => None,
        };
        // The axes that are split by the tile: blocks of them are whole tiles, in what reads the tiles as well.
        let tiled = |at: &LoopRef| {
            let of = |o: &Opt| match o {
                Opt::Split { at: l, by, tail: Tail::PadScratch } if l.axis == at.axis => side(*by),
                _ => None,
            };
            self.schedule.0.iter().find_map(of)
        };
        let change = |opt: &Opt| match opt {
            Opt::Split { at, by, tail } => {
                let by = match (tiled(at), tail) {
                    (Some((from, to)), Tail::PadScratch) if *by == from => to,
                    (Some((from, to)), _) if by.is_multiple_of(from) => (by / to).max(1) * to,
                    _ => *by,
                };
                Opt::Split { at: at.clone(), by, tail: *tail }
            }
            Opt::Stage { stage, read, layout: Layout::Panels(width), home } => {
                let width = side(u64::from(*width)).map_or(*width, |(_, to)| to as u32);
                Opt::Stage { stage: stage.clone(), read: read.clone(), layout: Layout::Panels(width), home: *home }
            }
            Opt::Micro { stage, .. } => Opt::Micro { stage: stage.clone(), rows: new.0, cols: new.1 },
            other => other.clone(),
        };
        self.add(self.schedule.0.iter().map(change).collect());
    }

    /// The schedule without a copy, and without the steps about its loops.
    fn unstage(&mut self, i: usize, stage: &str, read: &Read) {
        let name = copy_name(stage, read);
        let about = |opt: &Opt| match opt {
            Opt::Split { at, .. }
            | Opt::Bind { at, .. }
            | Opt::Rfactor { at }
            | Opt::SplitReduction { at, .. }
            | Opt::Prefetch { at, .. } => at.stage == name,
            Opt::Reorder { stage, .. } | Opt::At { stage, .. } | Opt::Stage { stage, .. } => *stage == name,
            Opt::Micro { stage, .. }
            | Opt::DirectStore { stage, .. }
            | Opt::Stream { stage }
            | Opt::Pairs { stage }
            | Opt::Turn { stage } => *stage == name,
            Opt::Whole | Opt::Strict => false,
        };
        let steps = self.schedule.0.iter().enumerate();
        self.add(steps.filter(|(n, o)| *n != i && !about(o)).map(|(_, o)| o.clone()).collect());
    }

    /// More steps about a stage.
    fn extend(&mut self, state: &Scheduled, stage: usize, target: &Target) {
        let (kernel, loops) = (&state.kernel, &state.stages[stage].loops);
        let body = &kernel.stages[stage];
        let name = |l: &LoopState| LoopRef::new(&body.name, kernel.axes[l.axis.index()].var.name(), l.part);
        let reductions = |l: &LoopState| matches!(&body.body, Body::Reduce { axes, .. } if axes.contains(&l.axis));
        let output = body.outs.iter().any(|o| matches!(o, Out::Param { .. }));
        let bytes = body.roots().iter().map(|r| kernel.exprs.dtype(*r)).map(DType::bytes).max().unwrap_or(4);
        let lanes = target.lanes(bytes.max(1)) as u64;
        if state.stages[stage].micro.is_some() {
            return;
        }
        for (i, l) in loops.iter().enumerate().filter(|(_, l)| l.runs == Runs::Serial) {
            let (at, last) = (name(l), i + 1 == loops.len());
            let inner = LoopRef {
                part: 1 + loops.iter().filter(|o| o.axis == l.axis).map(|o| o.part).max().unwrap_or(0),
                ..at.clone()
            };
            let split = |by: u64| Opt::Split { at: at.clone(), by, tail: Tail::Rest };
            let bind = |l: &LoopRef, to: To| Opt::Bind { at: l.clone(), to };
            let rounds = state.rounds(stage, i);
            if rounds.as_const().is_some_and(|n| n > 1 && n <= code::SHORT_LOOP) {
                self.appended(&[bind(&at, To::Unroll)]);
                if reductions(l) {
                    self.appended(&[bind(&at, To::Unroll), Opt::Rfactor { at: at.clone() }]);
                }
            }
            let most = rounds.upper_bound().unwrap_or(i64::MAX);
            for by in [2, 4, 8].into_iter().filter(|by| (*by as i64) < most) {
                let steps = [split(by), bind(&inner, To::Unroll), Opt::Rfactor { at: inner.clone() }];
                self.appended(&steps[..if reductions(l) { 3 } else { 2 }]);
            }
            if last && (1..most).contains(&(lanes as i64)) {
                for by in [lanes, lanes * 2] {
                    let steps = [split(by), bind(&inner, To::Vector), Opt::Rfactor { at: inner.clone() }];
                    self.appended(&steps[..if reductions(l) { 3 } else { 2 }]);
                }
            }
            if output && !reductions(l) && loops[..i].iter().all(|o| o.runs == Runs::Task) {
                self.appended(&[bind(&at, To::Task)]);
                for by in [4, 16, 64].into_iter().filter(|by| (*by as i64) < most) {
                    self.appended(&[split(by), bind(&at, To::Task)]);
                }
            }
            if let Some(next) = loops.get(i + 1).filter(|n| n.runs == Runs::Serial && n.axis != l.axis) {
                self.appended(&[Opt::Reorder { stage: body.name.clone(), order: vec![name(next), at.clone()] }]);
            }
            self.around(state, stage, &at);
        }
        let streams = |o: &Opt| matches!(o, Opt::Stream { stage } if *stage == body.name);
        if output && !self.schedule.0.iter().any(streams) {
            self.appended(&[Opt::Stream { stage: body.name.clone() }]);
        }
    }

    /// What may happen at a serial loop besides the stage's own work: a stage is computed there, an
    /// operand copied, a load fetched ahead.
    fn around(&mut self, state: &Scheduled, stage: usize, at: &LoopRef) {
        let kernel = &state.kernel;
        let body = &kernel.stages[stage];
        let mut params: Vec<u32> = Vec::new();
        for load in kernel.exprs.loads(&body.roots()) {
            match kernel.exprs.get(load) {
                Expr::Load { from: Mem::Temp(t, _), .. } => {
                    let of = kernel.stages[t.index()].name.clone();
                    self.appended(&[Opt::At { stage: of, at: at.clone() }]);
                }
                Expr::Load { from: Mem::Param(p), .. } if !params.contains(&p.0) => {
                    params.push(p.0);
                    let read = Read::Load { from: p.to_string(), nth: 0 };
                    self.appended(&[Opt::Prefetch { at: at.clone(), read: read.clone(), ahead: 4 }]);
                    let copy = copy_name(&body.name, &read);
                    let stage =
                        Opt::Stage { stage: body.name.clone(), read, layout: Layout::Rows, home: StageHome::Task };
                    self.appended(&[stage, Opt::At { stage: copy, at: at.clone() }]);
                }
                _ => {}
            }
        }
    }
}

/// The name of the stage that copies what a stage reads.
fn copy_name(stage: &str, read: &Read) -> String {
    match read {
        Read::Operand(0) => format!("{stage}.a"),
        Read::Operand(_) => format!("{stage}.b"),
        Read::Load { from, nth: 0 } => format!("{stage}.{from}"),
        Read::Load { from, nth } => format!("{stage}.{from}_{nth}"),
    }
}
