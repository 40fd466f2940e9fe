//! Counting what a phase touches of its arguments, and how it lies.

use super::{Counter, Mask};
use crate::expr::{Expr, ExprId, Mem, ParamId};
use crate::linear;
use crate::lowered::cost::Traffic;
use crate::lowered::{Home, LoopKind};
use crate::size::Variable;
use svod_dtype::DType;

/// Bytes that memory moves at once.
const LINE: f64 = linear::LINE as f64;

/// Bytes side by side of what is one stream.
pub(super) const STREAM: f64 = 1e9;

/// Bytes that a first-level cache holds.
const FIRST: f64 = 32_768.0;

/// Bytes that a cache next to the processor holds for the next loop.
const NEAR: f64 = 262_144.0;

/// Rounds within which what lies side by side has to be touched.
const ROUNDS: f64 = 4096.0;

/// One way in which a statement touches an argument.
#[derive(Clone)]
pub(super) struct Access {
    traffic: Traffic,
    /// The loops around it: their numbers, outermost first, and how many bytes are touched inside.
    around: Vec<(usize, f64)>,
    /// Elements from one round of each frame to the next.
    steps: Vec<f64>,
    statement: usize,
}

/// How a statement touches memory.
#[derive(Clone, Copy)]
pub(super) struct How {
    pub mask: Mask,
    /// Elements at once.
    pub lanes: f64,
    /// Of those the lanes that an expression binds.
    pub bound: f64,
    pub written: bool,
}

/// What a statement touches of an argument.
pub(super) struct Touch {
    pub param: ParamId,
    pub written: bool,
    pub random: bool,
    /// Bytes side by side.
    pub run: f64,
    /// Elements from one round of each frame to the next.
    pub steps: Vec<f64>,
    /// Elements that are touched at each point of the frames `own`.
    pub block: f64,
    pub own: Mask,
    pub dtype: DType,
    /// Bytes of the argument.
    pub size: f64,
}

impl Counter<'_> {
    /// Slots of one access, of which bytes are noted.
    pub(super) fn access(&mut self, mem: Mem, index: &[ExprId], dtype: DType, how: How) -> f64 {
        let How { mask, lanes, bound, written } = how;
        let shape: Vec<f64> = match mem {
            Mem::Param(p) => self.param(p).shape.iter().map(|n| self.value(n)).collect(),
            Mem::Temp(t, _) => self.phase.temps[t.index()].shape.iter().map(|n| self.value(n)).collect(),
        };
        let register = matches!(mem, Mem::Temp(t, _) if self.phase.temps[t.index()].home == Home::Register);
        let pool = &self.phase.exprs;
        let random = index.iter().any(|i| !matches!(pool.get(*i), Expr::Index(_) | Expr::Const(_)));
        // How far the next lane's element lies.
        let step = if lanes > 1.0 && !random { self.step(index, &shape, mask) } else { 0.0 };
        if let Mem::Param(param) = mem {
            let size: f64 = shape.iter().product::<f64>() * dtype.bytes() as f64;
            let own = if random { mask } else { index.iter().fold(0, |m, i| m | self.mask_of(*i)) };
            let steps: Vec<f64> =
                self.frames.iter().map(|f| self.distance(index, &shape, &|v| *v == f.var).abs()).collect();
            let inner = self.distance(index, &shape, &|v| !self.at.contains_key(v)).abs();
            let run = self.run(&steps, if inner == 1.0 { bound } else { 1.0 }, LINE / dtype.bytes() as f64)
                * dtype.bytes() as f64;
            self.note(Touch { param, written, random, run, steps, block: bound, own, dtype, size });
        }
        if register {
            return 0.0;
        }
        let weight = if written { 2.0 } else { 1.0 };
        let vectors = self.vectors(lanes, dtype.bytes());
        match (lanes > 1.0, random, step.abs()) {
            (false, true, _) => 1.5 * weight,
            (false, false, _) => weight,
            (true, true, _) => 2.0 * weight * lanes,
            (true, false, 0.0) => 0.5,
            (true, false, s) if s <= 1.0 => weight * vectors,
            (true, false, s) if s <= 4.0 => 2.0 * s * vectors,
            _ => 1.5 * weight * lanes,
        }
    }

    /// Notes what is touched.
    pub(super) fn note(&mut self, touch: Touch) {
        let Touch { param, written, random, run, steps, block, own, dtype, size } = touch;
        let width = dtype.bytes() as f64;
        let touched = |inside: Mask, each: f64| match random {
            true => self.points(inside) * block * each,
            false => (self.points(inside) * block * each).min(size.max(width)),
        };
        let around = self.numbers.iter().enumerate();
        let around = around.map(|(at, number)| (*number, touched(own & !((2u64 << at) - 1), width))).collect();
        let bytes = self.share * touched(own, width);
        let again = |at: &usize| own >> at & 1 == 0 && touched(own & !((2u64 << at) - 1), width) > FIRST;
        let serial = |at: &usize| self.frames[*at].grid || self.frames[*at].kind == LoopKind::Serial;
        let rounds = (0..self.frames.len()).filter(serial).filter(again).map(|at| self.frames[at].extent.max(1.0));
        let repeats = if random { 1.0 } else { rounds.product() };
        // Of what does not lie side by side, whole lines are moved.
        let lines = self.share * touched(own, width * (LINE / run.max(width)).max(1.0));
        let traffic = Traffic {
            param,
            written,
            bytes,
            lines,
            footprint: if random { size } else { bytes },
            repeats,
            run: if random { 0.0 } else { run },
            // A line that is written is read first, unless it goes past the caches.
            allocates: written && !self.phase.streams.contains(&param),
        };
        self.accesses.push(Access { traffic, around, steps, statement: self.statements });
    }

    /// Points of these frames.
    fn points(&self, mask: Mask) -> f64 {
        (0..self.frames.len()).filter(|at| mask >> at & 1 == 1).map(|at| self.frames[at].extent).product()
    }

    /// Elements that lie side by side, or in one line, of what is touched in some thousand rounds of the
    /// inner loops.
    fn run(&self, steps: &[f64], start: f64, line: f64) -> f64 {
        let (mut run, mut rounds) = (start, 1.0);
        for (frame, step) in self.frames.iter().zip(steps).rev() {
            if *step > 0.0 && *step <= run.max(line) {
                run += step * (frame.extent - 1.0).max(0.0);
            }
            rounds *= frame.extent.max(1.0);
            if rounds > ROUNDS {
                break;
            }
        }
        run
    }

    fn mask_of(&self, index: ExprId) -> Mask {
        match self.phase.exprs.get(index) {
            Expr::Index(size) => self.frames_of(size),
            _ => 0,
        }
    }

    /// Elements from one lane of the vector loop to the next.
    fn step(&self, index: &[ExprId], shape: &[f64], mask: Mask) -> f64 {
        let vector =
            (0..self.frames.len()).rev().find(|at| mask >> at & 1 == 1 && self.frames[*at].kind == LoopKind::Vector);
        match vector {
            Some(at) => self.distance(index, shape, &|v| *v == self.frames[at].var),
            // The lanes that an expression binds.
            None => self.distance(index, shape, &|v| !self.at.contains_key(v)),
        }
    }

    /// Elements between where the counters are and where one of them is one further.
    fn distance(&self, index: &[ExprId], shape: &[f64], which: &dyn Fn(&Variable) -> bool) -> f64 {
        let mut distance = 0.0;
        let mut stride = 1.0;
        for (i, extent) in index.iter().zip(shape).rev() {
            if let Expr::Index(size) = self.phase.exprs.get(*i) {
                let moved = |by: i64| {
                    let value = |v: &Variable| match which(v) {
                        true => Some(by),
                        false => self.at.get(v).copied().or(Some(0)),
                    };
                    size.eval(&value).unwrap_or(0) as f64
                };
                distance += (moved(1) - moved(0)) * stride;
            }
            stride *= extent.max(1.0);
        }
        distance
    }

    /// What is moved: of accesses to one argument, by one pattern, inside of a common loop whose round
    /// fits a near cache, only the first one is.
    pub(super) fn traffic(&self) -> Vec<Traffic> {
        let mut moved: Vec<Access> = Vec::new();
        for access in &self.accesses {
            let near = moved.iter_mut().find(|m| {
                let same = (m.traffic.param, m.traffic.written) == (access.traffic.param, access.traffic.written);
                let common = m.around.iter().zip(&access.around).take_while(|(a, b)| a.0 == b.0).last();
                let inside = common.map_or(m.traffic.bytes, |(a, b)| a.1.max(b.1));
                let one = m.statement == access.statement;
                same && if one { m.steps == access.steps } else { inside <= NEAR }
            });
            match near {
                Some(m) => {
                    m.traffic.bytes = m.traffic.bytes.max(access.traffic.bytes);
                    m.traffic.lines = m.traffic.lines.max(access.traffic.lines);
                    m.traffic.footprint = m.traffic.footprint.max(access.traffic.footprint);
                    m.traffic.repeats = m.traffic.repeats.max(access.traffic.repeats);
                }
                None => moved.push(access.clone()),
            }
        }
        moved.into_iter().map(|m| m.traffic).collect()
    }
}
