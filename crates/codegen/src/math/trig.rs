//! Sine, cosine and tangent.
//!
//! |x| = q π/2 + r; both polynomials on |r| <= π/4 are evaluated, and q tells which one is the
//! result, and its sign.

use super::reduce::reduce_half_pi;
use super::{Float, Ops, fast_two_sum, flip_sign, poly, scale_add, sign_bit, two_prod};

/// (sin r - r) / r³ in powers of r²
const SIN_F32: [f64; 3] = [-0.16666655, 0.008332187, -0.00019517897];
const SIN_F64: [f64; 6] = [
    -0.1666666666666663,
    0.00833333333332184,
    -0.0001984126982935852,
    2.7557313538515886e-06,
    -2.5050734390774784e-08,
    1.5895433461498207e-10,
];
/// (cos r - 1 + r²/2) / r⁴ in powers of r²
const COS_F32: [f64; 3] = [0.041666646, -0.001388731, 2.4432327e-05];
const COS_F64: [f64; 6] = [
    0.041666666666666595,
    -0.0013888888888873307,
    2.480158728896525e-05,
    -2.75573142030933e-07,
    2.0875703142562057e-09,
    -1.1358617215226052e-11,
];

/// Sine of x in radians; NaN for an infinity.
pub fn sin<B: Ops>(b: &mut B, x: B::V) -> B::V {
    let (q, sin, cos) = sin_cos_reduced(b, x);
    let even = is_even(b, q);
    let y = b.select(even, sin, cos);
    let q_sign = sign_of_bit(b, q, 1);
    let x_sign = sign_bit(b, x);
    let sign = b.ixor(q_sign, x_sign);
    flip_sign(b, y, sign)
}

/// Cosine of x in radians; NaN for an infinity.
pub fn cos<B: Ops>(b: &mut B, x: B::V) -> B::V {
    let (q, sin, cos) = sin_cos_reduced(b, x);
    let even = is_even(b, q);
    let y = b.select(even, cos, sin);
    let one = b.iconst(1);
    let next = b.iadd(q, one);
    let sign = sign_of_bit(b, next, 1);
    flip_sign(b, y, sign)
}

/// Tangent of x in radians; NaN for an infinity. The quotient of sine and cosine as sums of two floats each, whose
/// roundings would be seen in it.
pub fn tan<B: Ops>(b: &mut B, x: B::V) -> B::V {
    let a = b.fabs(x);
    let [q, r, low] = reduce_half_pi(b, a);
    let (rest, [most, cos]) = sin_cos_terms(b, r);
    let rest = b.fmul(r, rest);
    let sin = fast_two_sum(b, r, rest);
    let cos = fast_two_sum(b, most, cos);
    // sin (r + low) = sin r + low cos r, and cos (r + low) = cos r - low sin r.
    let sin = (sin.0, b.mul_add(low, cos.0, sin.1));
    let minus = b.fneg(low);
    let cos = (cos.0, b.mul_add(minus, sin.0, cos.1));
    let even = is_even(b, q);
    let above = [b.select(even, sin.0, cos.0), b.select(even, sin.1, cos.1)];
    let below = [b.select(even, cos.0, sin.0), b.select(even, cos.1, sin.1)];
    let y = b.fdiv(above[0], below[0]);
    let (product, error) = two_prod(b, y, below[0]);
    let rest = b.fsub(above[0], product);
    let rest = b.fsub(rest, error);
    let rest = b.fadd(rest, above[1]);
    let minus = b.fneg(y);
    let rest = b.mul_add(minus, below[1], rest);
    let rest = b.fdiv(rest, below[0]);
    let y = b.fadd(y, rest);
    let q_sign = sign_of_bit(b, q, 0);
    let x_sign = sign_bit(b, x);
    let sign = b.ixor(q_sign, x_sign);
    flip_sign(b, y, sign)
}

/// q, sin r and cos r for |x| = q π/2 + r.
fn sin_cos_reduced<B: Ops>(b: &mut B, x: B::V) -> (B::V, B::V, B::V) {
    let a = b.fabs(x);
    let [q, r, _] = reduce_half_pi(b, a);
    let (rest, [most, cos]) = sin_cos_terms(b, r);
    let sin = b.mul_add(r, rest, r);
    (q, sin, b.fadd(most, cos))
}

/// Of a reduced argument, sin r / r - 1, and most of cos r and the rest.
fn sin_cos_terms<B: Ops>(b: &mut B, r: B::V) -> (B::V, [B::V; 2]) {
    let (sin_q, cos_q): (&[f64], &[f64]) = match b.float() {
        Float::F32 => (&SIN_F32, &COS_F32),
        Float::F64 => (&SIN_F64, &COS_F64),
    };
    let z = b.fmul(r, r);
    let p = poly(b, z, sin_q);
    let sin = b.fmul(z, p);
    let p = poly(b, z, cos_q);
    let p = b.fmul(z, p);
    let p = b.fmul(z, p);
    let one = b.fconst(1.0);
    let w = scale_add(b, z, -0.5, one);
    // What rounding w lost.
    let lost = b.fsub(one, w);
    let lost = scale_add(b, z, -0.5, lost);
    (sin, [w, b.fadd(p, lost)])
}

fn is_even<B: Ops>(b: &mut B, q: B::V) -> B::M {
    let (zero, one) = (b.iconst(0), b.iconst(1));
    let low = b.iand(q, one);
    b.ieq(low, zero)
}

/// The given bit of the integer q, moved to the sign bit.
fn sign_of_bit<B: Ops>(b: &mut B, q: B::V, bit: i64) -> B::V {
    let mask = b.iconst(1 << bit);
    let up = b.iconst(i64::from(b.float().bits()) - 1 - bit);
    let q = b.iand(q, mask);
    b.ishl(q, up)
}
