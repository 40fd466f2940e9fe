//! The exponential function and its relatives.
//!
//! x = n ln 2 + r with |r| <= ln 2 / 2 (Cody and Waite); e^r is a polynomial; the result is scaled
//! by 2^n in two steps, so that subnormal results are rounded once and overflow is infinity.
//!
//! Arguments are bounded below where both steps are products with zero, far beyond the least that gives more than
//! zero: a processor takes some hundred cycles for a product that underflows, and masks of attention are infinite or huge.

use super::{Float, Ops, add_const, clamp, poly, scale_add};

/// (e^r - 1 - r) / r²
const EXP_F32: [f64; 5] = [0.49999994, 0.1666654, 0.041668296, 0.008367756, 0.0013824668];
const EXP_F64: [f64; 10] = [
    0.5000000000000006,
    0.16666666666666535,
    0.041666666666574016,
    0.008333333333452373,
    0.0013888888932833431,
    0.00019841269476988984,
    2.480150344531601e-05,
    2.7557762116694293e-06,
    2.7626850216653974e-07,
    2.489067027417222e-08,
];

/// (2^r - 1) / r
const EXP2_F32: [f64; 6] =
    [std::f32::consts::LN_2 as f64, 0.24022648, 0.05550358, 0.009618424, 0.0013392564, 0.0001538466];
const EXP2_F64: [f64; 11] = [
    std::f64::consts::LN_2,
    0.24022650695910108,
    0.05550410866482173,
    0.00961812910760181,
    0.0013333558146547439,
    0.000154035304485872,
    1.5252733619491469e-05,
    1.3215439151528277e-06,
    1.0178176251369113e-07,
    7.073169795713375e-09,
    4.4345390583378097e-10,
];

/// e^x
pub fn exp<B: Ops>(b: &mut B, x: B::V) -> B::V {
    if b.has_power_of_two() {
        return exp_by_instruction(b, x);
    }
    let bias = two_step_bias(b.float());
    let hi = b.float().pick(89.0, 710.0);
    let x = clamp(b, x, -bias as f64 * std::f64::consts::LN_2, hi);
    let (n, r) = reduce_ln2(b, x, bias);
    let em1 = expm1_reduced(b, r);
    scale_by_power(b, em1, n)
}

/// 2^x
pub fn exp2<B: Ops>(b: &mut B, x: B::V) -> B::V {
    if b.has_power_of_two() {
        return b.power_of_two(x);
    }
    let (n, r) = reduce_exp2(b, x);
    let em1 = exp2m1_reduced(b, r);
    scale_by_power(b, em1, n)
}

/// e^x by an instruction for 2^t, where t is x log2 e, rounded: 1 + d ln 2 makes up for the rest d of t.
pub(super) fn exp_by_instruction<B: Ops>(b: &mut B, x: B::V) -> B::V {
    // The sum of both is log2 e to 48 bits.
    const LOG2_E: [f64; 2] = [1.4426950216293335, 1.925963033500888e-08];
    // Beyond, results are 0 and infinity all the same, and nothing is infinity minus itself.
    let x = clamp(b, x, -105.0, 89.0);
    let factor = b.fconst(LOG2_E[0]);
    let t = b.fmul(x, factor);
    let minus = b.fneg(t);
    let rest = b.mul_add(x, factor, minus);
    let rest = scale_add(b, x, LOG2_E[1], rest);
    let one = b.fconst(1.0);
    let correction = scale_add(b, rest, std::f64::consts::LN_2, one);
    let power = b.power_of_two(t);
    b.fmul(power, correction)
}

/// 2^(hi + lo), where lo is small beside hi.
pub(super) fn exp2_sum<B: Ops>(b: &mut B, hi: B::V, lo: B::V) -> B::V {
    let (n, r) = reduce_exp2(b, hi);
    let r = b.fadd(r, lo);
    let em1 = exp2m1_reduced(b, r);
    scale_by_power(b, em1, n)
}

/// e^x - 1
pub fn expm1<B: Ops>(b: &mut B, x: B::V) -> B::V {
    let float = b.float();
    let (lo, hi) = match float {
        Float::F32 => (-18.0, 89.0),
        Float::F64 => (-38.0, 710.0),
    };
    let y = clamp(b, x, lo, hi);
    // Half of 2^n, since 2^n itself overflows before the result does.
    let (n, r) = reduce_ln2(b, y, float.exponent_bias() - 1);
    let em1 = expm1_reduced(b, r);
    let half_scale = power_of_two(b, n);
    let rest = add_const(b, half_scale, -0.5);
    let half = b.mul_add(half_scale, em1, rest);
    let big = b.fadd(half, half);
    // Below this e^x - 1 rounds to x; halving would lose bits of subnormals, and the sign of zero.
    let tiny = b.fconst(float.pick(f32::EPSILON as f64 / 4.0, f64::EPSILON / 4.0));
    let a = b.fabs(x);
    let is_tiny = b.flt(a, tiny);
    b.select(is_tiny, x, big)
}

/// e^-y for 0 <= y, to about 1 ulp besides the error of y, without subnormal results.
pub(super) fn exp_neg<B: Ops>(b: &mut B, y: B::V) -> B::V {
    let bias = b.float().exponent_bias();
    let x = b.fneg(y);
    let (n, r) = reduce_ln2(b, x, bias);
    let em1 = expm1_reduced(b, r);
    let scale = power_of_two(b, n);
    b.mul_add(scale, em1, scale)
}

/// x = n ln 2 + r, |r| <= ln 2 / 2. The first result is an integer whose low bits are n + `bias`.
/// n must fit in 8 bits and a sign (11 for f64).
pub(super) fn reduce_ln2<B: Ops>(b: &mut B, x: B::V, bias: i64) -> (B::V, B::V) {
    // The high part has so many trailing zeros that its product with n is exact.
    let (log2e, high, low) = match b.float() {
        Float::F32 => (1.4426950216293335, 0.693145751953125, 1.428606765330187e-06),
        Float::F64 => (std::f64::consts::LOG2_E, 0.6931471805592082, 7.371002565167799e-13),
    };
    let magic = b.fconst(b.float().round_magic() + bias as f64);
    let z = scale_add(b, x, log2e, magic);
    let n = b.fsub(z, magic);
    let r = scale_add(b, n, -high, x);
    let r = scale_add(b, n, -low, r);
    (b.as_int(z), r)
}

/// e^r - 1 for |r| <= ln 2 / 2.
pub(super) fn expm1_reduced<B: Ops>(b: &mut B, r: B::V) -> B::V {
    let q = exp_quotient(b, r);
    let r2 = b.fmul(r, r);
    b.mul_add(r2, q, r)
}

/// (e^r - 1 - r) / r² for |r| <= ln 2 / 2.
fn exp_quotient<B: Ops>(b: &mut B, r: B::V) -> B::V {
    match b.float() {
        Float::F32 => poly(b, r, &EXP_F32),
        Float::F64 => poly(b, r, &EXP_F64),
    }
}

/// 2^n from an integer whose low bits are n + the exponent bias, for results that are normal.
pub(super) fn power_of_two<B: Ops>(b: &mut B, n: B::V) -> B::V {
    let mantissa = b.iconst(b.float().mantissa_bits().into());
    let bits = b.ishl(n, mantissa);
    b.as_float(bits)
}

/// Twice the exponent bias, so that either half of n + bias is the exponent field of a normal number, or both are zero
/// at the least n.
const fn two_step_bias(float: Float) -> i64 {
    2 * float.exponent_bias()
}

/// x = n + r with |r| <= 1/2; the first result is an integer whose low bits are n + `two_step_bias`.
fn reduce_exp2<B: Ops>(b: &mut B, x: B::V) -> (B::V, B::V) {
    let bias = two_step_bias(b.float()) as f64;
    let hi = b.float().pick(129.0, 1025.0);
    let x = clamp(b, x, -bias, hi);
    let magic = b.fconst(b.float().round_magic() + bias);
    let z = b.fadd(x, magic);
    let n = b.fsub(z, magic);
    let r = b.fsub(x, n);
    (b.as_int(z), r)
}

/// 2^r - 1 for |r| <= 1/2.
fn exp2m1_reduced<B: Ops>(b: &mut B, r: B::V) -> B::V {
    let q = match b.float() {
        Float::F32 => poly(b, r, &EXP2_F32),
        Float::F64 => poly(b, r, &EXP2_F64),
    };
    b.fmul(r, q)
}

/// (1 + p) * 2^n, as two products with the two halves of n: the first rounds as 1 + p does, the second where
/// the result is subnormal.
/// `n` is an integer whose low bits are n + `two_step_bias`; bits above the exponent field fall out.
fn scale_by_power<B: Ops>(b: &mut B, p: B::V, n: B::V) -> B::V {
    let one = b.iconst(1);
    let first = b.lshr(n, one);
    let second = b.isub(n, first);
    let first = power_of_two(b, first);
    let second = power_of_two(b, second);
    let scaled = b.mul_add(p, first, first);
    b.fmul(scaled, second)
}
