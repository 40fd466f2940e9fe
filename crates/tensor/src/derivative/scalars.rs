//! Derivatives of scalar operations.
//!
//! At kinks and ties: `abs` has 0 at 0. Of two equal operands `max` and `min` give each a half, as PyTorch and JAX do. But a
//! maximum with the constant 0 is a rectifier, with 0 at 0, and with any other constant it is a bound, which passes
//! everything where the operand is within it, both included.

use std::f64::consts::{LN_2, LN_10, PI};

use svod_dtype::Const;
use svod_ir::alu::Alu;
use svod_ir::graph::UOp;

use super::algebra::{add, both, choose, div, equal, less, mul, neg, number, only, scaled, sub, zeros};
use super::table::Step;
use crate::error::Result;

/// The cotangent of operand `i` of a scalar operation.
pub fn cotangent(step: &Step<'_>, alu: Alu, i: usize) -> Result<Option<UOp>> {
    let Step { y, x, g, .. } = *step;
    let a = &x[0];
    let of = |op: Alu, operand: &UOp| UOp::alu(op, std::slice::from_ref(operand));
    Ok(Some(match (alu, i) {
        (Alu::Neg, _) => neg(g)?,
        (Alu::Abs, _) => {
            let zero = zeros(a)?;
            choose(&less(&zero, a)?, g, &only(&less(a, &zero)?, &neg(g)?)?)?
        }
        (Alu::Sqrt, _) => div(g, &scaled(y, 2.0)?)?,
        (Alu::Recip, _) => neg(&mul(g, &mul(y, y)?)?)?,
        (Alu::Exp, _) => mul(g, y)?,
        (Alu::Exp2, _) => mul(g, &scaled(y, LN_2)?)?,
        (Alu::Expm1, _) => mul(g, &of(Alu::Exp, a)?)?,
        (Alu::Log, _) => div(g, a)?,
        (Alu::Log2, _) => div(g, &scaled(a, LN_2)?)?,
        (Alu::Log10, _) => div(g, &scaled(a, LN_10)?)?,
        (Alu::Log1p, _) => div(g, &add(&number(a, 1.0)?, a)?)?,
        (Alu::Sin, _) => mul(g, &of(Alu::Cos, a)?)?,
        (Alu::Cos, _) => neg(&mul(g, &of(Alu::Sin, a)?)?)?,
        (Alu::Tan, _) => mul(g, &add(&number(y, 1.0)?, &mul(y, y)?)?)?,
        (Alu::Atan, _) => div(g, &add(&number(a, 1.0)?, &mul(a, a)?)?)?,
        (Alu::Tanh, _) => mul(g, &sub(&number(y, 1.0)?, &mul(y, y)?)?)?,
        (Alu::Erf, _) => mul(g, &scaled(&of(Alu::Exp, &neg(&mul(a, a)?)?)?, 2.0 / PI.sqrt())?)?,
        (Alu::Add, _) | (Alu::Sub, 0) | (Alu::MulAdd, 2) | (Alu::FloorMod | Alu::Rem, 0) => g.clone(),
        (Alu::Sub, _) => neg(g)?,
        (Alu::Mul | Alu::MulAdd, _) => mul(g, &x[1 - i])?,
        (Alu::Div, 0) => div(g, &x[1])?,
        (Alu::Div, _) => neg(&mul(g, &div(y, &x[1])?)?)?,
        (Alu::FloorMod, _) => neg(&mul(g, &UOp::alu(Alu::FloorDiv, x)?)?)?,
        (Alu::Pow, 0) => {
            // b * a ** (b - 1), and 0 where b is 0, whatever a is: also in derivatives of that.
            let b = &x[1];
            let is_constant = equal(b, &zeros(b)?)?;
            let exponent = choose(&is_constant, &zeros(b)?, &sub(b, &number(b, 1.0)?)?)?;
            let lower = UOp::alu(Alu::Pow, &[a.clone(), exponent])?;
            choose(&is_constant, &zeros(g)?, &mul(g, &mul(b, &lower)?)?)?
        }
        (Alu::Pow, _) => {
            // y * log(a), and 0 where a is 0 and stays so.
            let b = &x[1];
            let stays = both(&equal(a, &zeros(a)?)?, &UOp::alu(Alu::Le, &[zeros(b)?, b.clone()])?)?;
            choose(&stays, &zeros(g)?, &mul(g, &mul(y, &of(Alu::Log, a)?)?)?)?
        }
        (Alu::Max | Alu::Min, _) => extremum(alu, &x[i], &x[1 - i], g)?,
        (Alu::Where, 1) => only(a, g)?,
        (Alu::Where, 2) => choose(a, &zeros(g)?, g)?,
        _ => return Ok(None),
    }))
}

/// The cotangent of one of two operands of which the greater or lesser was taken.
fn extremum(alu: Alu, own: &UOp, other: &UOp, g: &UOp) -> Result<UOp> {
    let is_beaten = if alu == Alu::Max { less(own, other)? } else { less(other, own)? };
    let tie = match other.uniform() {
        Some(zero) if alu == Alu::Max && zero.as_f64() == 0.0 => zeros(g)?,
        Some(_) => g.clone(),
        // The constant's own half.
        None if own.uniform().is_some_and(is_number) => zeros(g)?,
        None => scaled(g, 0.5)?,
    };
    choose(&is_beaten, &zeros(g)?, &choose(&equal(own, other)?, &tie, g)?)
}

fn is_number(value: Const) -> bool {
    !value.as_f64().is_nan()
}
