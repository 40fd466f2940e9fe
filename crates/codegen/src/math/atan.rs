//! The arc tangent.

use super::{Float, Ops, flip_sign, poly, sign_bit};

/// (atan(r) / r - 1) / r² in powers of r², for |r| <= 2/3
const ATAN_F32: [f64; 7] = [
    -0.33333325386047363,
    0.1999940574169159,
    -0.14272336661815643,
    0.10972196608781815,
    -0.08311516046524048,
    0.051632221788167953,
    -0.017768986523151398,
];
const ATAN_F64: [f64; 15] = [
    -0.33333333333333287,
    0.19999999999982498,
    -0.14285714283963546,
    0.11111111029333202,
    -0.09090906892532101,
    0.07692269812351521,
    -0.06666220655040524,
    0.05878615973089586,
    -0.052402878963646246,
    0.046579924623632585,
    -0.03994015733355373,
    0.030929149401712965,
    -0.019459193655819575,
    0.008462472690496227,
    -0.0018412904368734113,
];
/// Where one argument reduction ends and the next begins; each leaves |r| <= 2/3.
const SMALL: f64 = 0.66;
const MIDDLE: f64 = 1.5;

/// The arc tangent: of a, of 1 as seen from the direction of 1, π/4 + atan((a - 1) / (a + 1)), or as seen from that of
/// infinity, π/2 - atan(1 / a). The angles are added in two parts.
pub fn atan<B: Ops>(b: &mut B, x: B::V) -> B::V {
    let float = b.float();
    let sign = sign_bit(b, x);
    let a = b.fabs(x);
    let (zero, one, minus_one) = (b.fconst(0.0), b.fconst(1.0), b.fconst(-1.0));
    let (small, middle) = (b.fconst(SMALL), b.fconst(MIDDLE));
    let is_small = b.fle(a, small);
    let is_middle = b.fle(a, middle);

    let below = b.fadd(a, minus_one);
    let above = b.fadd(a, one);
    let numerator = b.select(is_middle, below, minus_one);
    let divisor = b.select(is_middle, above, a);
    let quotient = b.fdiv(numerator, divisor);
    let r = b.select(is_small, a, quotient);
    // π/4 and π/2, each as a float and the rest.
    let (half, rest) = match float {
        Float::F32 => (1.5707963705062866, -4.371138828673793e-08),
        Float::F64 => (std::f64::consts::FRAC_PI_2, 6.123233995736766e-17),
    };
    let mut angle = |part: f64| {
        let (all, some) = (b.fconst(part), b.fconst(part / 2.0));
        let of_large = b.select(is_middle, some, all);
        b.select(is_small, zero, of_large)
    };
    let (angle, angle_rest) = (angle(half), angle(rest));

    let z = b.fmul(r, r);
    let q = match float {
        Float::F32 => poly(b, z, &ATAN_F32),
        Float::F64 => poly(b, z, &ATAN_F64),
    };
    let r3 = b.fmul(z, r);
    let correction = b.mul_add(r3, q, angle_rest);
    let (sum, error) = super::fast_two_sum(b, angle, r);
    let error = b.fadd(error, correction);
    let large = b.fadd(sum, error);
    let direct = b.mul_add(r3, q, r);
    let y = b.select(is_small, direct, large);
    flip_sign(b, y, sign)
}
