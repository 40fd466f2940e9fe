//! Reductions that end early: how far along its axis a reduction has anything to combine.
//!
//! The elements of a causal row are hidden from some key on: the maximum takes in -inf there, the
//! sum `exp(-inf)`, the product with the values a weight of 0. Such a reduction ends where its last row's
//! visible elements do, and what it reads is computed only so far, by bounds inference.
//!
//! An equation but for one thing: a weight of 0 that comes from a hidden score hides its value even
//! if that is infinite or NaN. A row with nothing visible stays NaN, as 0 / 0.

use super::{Env, Lowerer};
use crate::apply::{LoopState, Runs};
use crate::costs::limits::{code, kernels};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem};
use svod_ir::kernel::{Body, Emit, Kernel, Monoid};
use svod_ir::size::{Size, Variable};

/// A value that hidden elements have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hidden {
    Zero,
    /// A weight of 0, which hides what it is multiplied by.
    Weight,
    Least,
}

impl Lowerer<'_> {
    /// Shortens the axis that a stage reduces, where the rows of `env` see only a part of it.
    pub(super) fn tighten(&self, stage: usize, env: &mut Env) {
        if self.s.whole {
            return;
        }
        let kernel = &self.s.kernel;
        let Body::Reduce { axes, carries, emit: Emit::Last, .. } = &kernel.stages[stage].body else { return };
        let ([axis], [carry]) = (&axes[..], &carries[..]) else { return };
        // What is laid out has all of its rounds.
        let laid_out = |l: &LoopState| l.axis == *axis && l.part == 0 && matches!(l.runs, Runs::Unroll | Runs::Vector);
        if self.s.stages[stage].loops.iter().any(laid_out) {
            return;
        }
        let hidden: &[Hidden] = match carry.op {
            Monoid::Max if carry.fix.is_none() && carry.dtype.is_float() => &[Hidden::Least],
            Monoid::Sum if carry.fix.is_none() => &[Hidden::Zero, Hidden::Weight],
            _ => return,
        };
        let var = &kernel.axes[axis.index()].var;
        let find =
            |h: &Hidden| Search { kernel, along: var }.from(carry.element, *h, &|_| None, kernels::MAX_LOOKED_THROUGH);
        let Some(mut end) = hidden.iter().find_map(find) else { return };
        for (other, span) in env.iter().filter(|(a, _)| *a != axis) {
            let var = &kernel.axes[other.index()].var;
            let with = |value: &Size, s: &Size| s.substitute(&|v: &Variable| (v == var).then(|| value.clone()));
            let Some(slope) = (with(&(Size::from(var) + 1), &end) - &end).as_const() else { return };
            let last = &span.base + &(&span.remaining - &Size::from(1));
            end = with(if slope >= 0 { &last } else { &span.base }, &end);
        }
        let Some(span) = env.get_mut(axis).filter(|s| s.base == Size::from(0)) else { return };
        span.remaining = span.remaining.min(end.max(0i64).round_up(code::GRAIN));
    }
}

struct Search<'k> {
    kernel: &'k Kernel,
    along: &'k Variable,
}

impl Search<'_> {
    /// The point along the axis from which on an expression has the hidden value; `place` says where
    /// the axes of the stage that it belongs to stand.
    fn from(&self, e: ExprId, hidden: Hidden, place: &dyn Fn(&Variable) -> Option<Size>, depth: usize) -> Option<Size> {
        let depth = depth.checked_sub(1)?;
        let exprs = &self.kernel.exprs;
        let below = |e: ExprId, h: Hidden| self.from(e, h, place, depth);
        match exprs.get(e) {
            Expr::Alu(Alu::Where, of) => {
                if self.is(of[2], hidden) {
                    return self.ends(of[0], true, place).or_else(|| below(of[1], hidden));
                }
                self.is(of[1], hidden).then(|| self.ends(of[0], false, place).or_else(|| below(of[2], hidden)))?
            }
            Expr::Alu(Alu::Exp | Alu::Exp2, of) if hidden == Hidden::Weight => below(of[0], Hidden::Least),
            Expr::Alu(Alu::Add, of) if hidden == Hidden::Least => of.iter().find_map(|x| below(*x, hidden)),
            Expr::Alu(Alu::Sub, of) if hidden == Hidden::Least => below(of[0], hidden),
            Expr::Alu(Alu::Mul, of) if hidden == Hidden::Weight => of.iter().find_map(|x| below(*x, hidden)),
            Expr::Alu(Alu::Div, of) if hidden == Hidden::Weight => below(of[0], hidden),
            Expr::Cast(to, x) if to.is_float() && exprs.dtype(*x).is_float() => below(*x, hidden),
            Expr::Load { from: Mem::Temp(t, n), index, valid: None, .. } => {
                let stage = &self.kernel.stages[t.index()];
                let Body::Map(values) = &stage.body else { return None };
                let value = *values.get(usize::from(*n))?;
                let size = |i: &ExprId| self.size(*i, place);
                let at: Vec<Size> = index.iter().map(size).collect::<Option<_>>()?;
                let inner = |v: &Variable| {
                    let d = stage.over.iter().position(|a| self.kernel.axes[a.index()].var == *v)?;
                    at.get(d).cloned()
                };
                self.from(value, hidden, &inner, depth)
            }
            _ => None,
        }
    }

    fn is(&self, e: ExprId, hidden: Hidden) -> bool {
        let Expr::Const(value) = self.kernel.exprs.get(e) else { return false };
        let dtype = value.dtype();
        match hidden {
            Hidden::Zero => *value == Const::zero(dtype),
            Hidden::Weight => false,
            Hidden::Least => dtype.is_float() && *value == Const::min_value(dtype),
        }
    }

    /// The point from which on a condition is false, or, `when` false, true.
    fn ends(&self, condition: ExprId, when: bool, place: &dyn Fn(&Variable) -> Option<Size>) -> Option<Size> {
        let Expr::Alu(op, of) = self.kernel.exprs.get(condition) else { return None };
        if let (Alu::And, true) | (Alu::Or, false) = (op, when) {
            return of.iter().find_map(|c| self.ends(*c, when, place));
        }
        if *op == Alu::Where {
            // A condition as a value.
            let value =
                |e: ExprId| if let Expr::Const(c) = self.kernel.exprs.get(e) { Some(c.as_bool()) } else { None };
            return match (value(of[1]), value(of[2])) {
                (Some(true), Some(false)) => self.ends(of[0], when, place),
                (Some(false), Some(true)) => self.ends(of[0], !when, place),
                _ => None,
            };
        }
        if *op == Alu::Not {
            return self.ends(of[0], !when, place);
        }
        let strict = match op {
            Alu::Lt => true,
            Alu::Le => false,
            _ => return None,
        };
        let difference = self.size(of[1], place)? - self.size(of[0], place)?;
        let with = |value: Size| difference.substitute(&|v: &Variable| (v == self.along).then(|| value.clone()));
        let slope = (with(Size::from(self.along) + 1) - &difference).as_const()?;
        let start = with(Size::from(0));
        match (slope, when) {
            // start - x > 0, or >= 0: false from there on.
            (-1, true) => Some(start + i64::from(!strict)),
            // start + x > 0, or >= 0: true from there on.
            (1, false) => Some(Size::from(i64::from(strict)) - start),
            _ => None,
        }
    }

    /// An integer expression as a size.
    fn size(&self, e: ExprId, place: &dyn Fn(&Variable) -> Option<Size>) -> Option<Size> {
        size_of(&self.kernel.exprs, e, place)
    }
}

/// An integer expression as a size, its variables replaced by what `place` gives for them.
pub(super) fn size_of(exprs: &ExprPool, e: ExprId, place: &dyn Fn(&Variable) -> Option<Size>) -> Option<Size> {
    match exprs.get(e) {
        Expr::Index(size) => Some(size.substitute(place)),
        Expr::Cast(DType::I64 | DType::Index, x) => size_of(exprs, *x, place),
        Expr::Const(c) if c.dtype().is_int() => Some(Size::from(c.as_i64())),
        Expr::Alu(Alu::Add, of) => Some(size_of(exprs, of[0], place)? + size_of(exprs, of[1], place)?),
        Expr::Alu(Alu::Sub, of) => Some(size_of(exprs, of[0], place)? - size_of(exprs, of[1], place)?),
        _ => None,
    }
}
