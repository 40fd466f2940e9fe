//! Logarithms.
//!
//! x = 2^e (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2); log(1 + f) is f - f²/2 plus a polynomial in f
//! (f32) or in s = f / (2 + f) (f64; the odd series of log((1 + s) / (1 - s)) needs half the terms).

use super::{Float, Ops, add_const, clear_low_bits, fast_two_sum, mul_const, poly, scale_add, two_sum};

/// (log(1 + f) - f + f²/2) / f³
const LOG_F32: [f64; 9] =
    [0.33333313, -0.25000015, 0.2000203, -0.16667396, 0.14220893, -0.12415711, 0.11887613, -0.1163025, 0.06707015];
/// (log(1 + f) / s - 2) / s² in powers of s², where s = f / (2 + f)
const LOG_F64: [f64; 7] = [
    0.6666666666666735,
    0.3999999999940911,
    0.285714287437919,
    0.2222219841319098,
    0.18183573421083302,
    0.15313798898395517,
    0.1479864883926693,
];
/// log2(1 + f) / f - c, where c is log2(e) rounded to f32
const LOG2_F32: [f64; 10] = [
    1.9200442e-08,
    -0.72134733,
    0.48089823,
    -0.36069867,
    0.28856835,
    -0.23955296,
    0.20448036,
    -0.19154096,
    0.18742438,
    -0.11032914,
];

/// Natural logarithm
pub fn log<B: Ops>(b: &mut B, x: B::V) -> B::V {
    let (e, f) = split_exponent(b, x);
    let sum = match b.float() {
        Float::F32 => {
            let q = poly(b, f, &LOG_F32);
            let f2 = b.fmul(f, f);
            let f3 = b.fmul(f2, f);
            let y = b.fmul(f3, q);
            let y = scale_add(b, e, 1.428606765330187e-06, y);
            let y = scale_add(b, f2, -0.5, y);
            let y = b.fadd(f, y);
            scale_add(b, e, 0.693145751953125, y)
        }
        Float::F64 => {
            let (half_f2, rest) = log1p_f64(b, f);
            let y = scale_add(b, e, 7.371002565167799e-13, rest);
            let y = b.fsub(half_f2, y);
            let y = b.fsub(f, y);
            scale_add(b, e, 0.6931471805592082, y)
        }
    };
    outside_domain(b, x, sum)
}

/// Logarithm to base 2
pub fn log2<B: Ops>(b: &mut B, x: B::V) -> B::V {
    let (e, f) = split_exponent(b, x);
    let sum = match b.float() {
        Float::F32 => {
            let q = poly(b, f, &LOG2_F32);
            let y = b.fmul(f, q);
            let y = scale_add(b, f, 1.4426950216293335, y);
            b.fadd(e, y)
        }
        Float::F64 => {
            let (half_f2, rest) = log1p_f64(b, f);
            // log(1 + f) in two parts, the high one so short that its product with the high part of
            // log2(e) is exact.
            let high = b.fsub(f, half_f2);
            let high = clear_low_bits(b, high, 32);
            let low = b.fsub(f, high);
            let low = b.fsub(low, half_f2);
            let low = b.fadd(low, rest);
            let (c_high, c_low) = (1.4426950407214463, 1.6751713164886512e-10);
            let y_high = mul_const(b, high, c_high);
            let y_low = b.fadd(low, high);
            let y_low = mul_const(b, y_low, c_low);
            let y_low = scale_add(b, low, c_high, y_low);
            let (sum, error) = fast_two_sum(b, e, y_high);
            let y_low = b.fadd(y_low, error);
            b.fadd(sum, y_low)
        }
    };
    outside_domain(b, x, sum)
}

/// Logarithm to base 10, exactly at powers of ten
pub fn log10<B: Ops>(b: &mut B, x: B::V) -> B::V {
    let (e, f) = split_exponent(b, x);
    // Constants in two parts, of which the first is so short that its products are exact.
    let (half_f2, rest, low_bits, [c_high, c_low], [two_high, two_low]) = match b.float() {
        Float::F32 => {
            let q = poly(b, f, &LOG_F32);
            let f2 = b.fmul(f, f);
            let half_f2 = mul_const(b, f2, 0.5);
            let f3 = b.fmul(f2, f);
            let rest = b.fmul(f3, q);
            (half_f2, rest, 12, [0.4342041015625, 9.038033749675378e-05], [0.301025390625, 4.605039066518657e-06])
        }
        Float::F64 => {
            let (half_f2, rest) = log1p_f64(b, f);
            let c = [0.4342944818781689, 2.5082946711645275e-11];
            (half_f2, rest, 32, c, [0.30102999566383914, 1.42050232272661e-13])
        }
    };
    // log(1 + f) in two parts likewise.
    let high = b.fsub(f, half_f2);
    let high = clear_low_bits(b, high, low_bits);
    let low = b.fsub(f, high);
    let low = b.fsub(low, half_f2);
    let low = b.fadd(low, rest);
    let y_high = mul_const(b, high, c_high);
    let y_low = b.fadd(low, high);
    let y_low = mul_const(b, y_low, c_low);
    let y_low = scale_add(b, low, c_high, y_low);
    let y_low = scale_add(b, e, two_low, y_low);
    let of_exponent = mul_const(b, e, two_high);
    let (sum, error) = fast_two_sum(b, of_exponent, y_high);
    let y_low = b.fadd(y_low, error);
    let sum = b.fadd(sum, y_low);
    outside_domain(b, x, sum)
}

/// log(1 + x)
pub fn log1p<B: Ops>(b: &mut B, x: B::V) -> B::V {
    // log(u) for the rounded u = 1 + x, plus the first-order effect of the rounding.
    let one = b.fconst(1.0);
    let (u, error) = two_sum(b, one, x);
    let log_u = log(b, u);
    let correction = b.fdiv(error, u);
    let sum = b.fadd(log_u, correction);
    let (zero, infinity) = (b.fconst(0.0), b.fconst(f64::INFINITY));
    let positive = b.flt(zero, u);
    let finite = b.flt(u, infinity);
    let regular = b.and(positive, finite);
    let result = b.select(regular, sum, log_u);
    let is_zero = b.feq(x, zero);
    b.select(is_zero, x, result)
}

/// x = 2^e (1 + f) as the floats (e, f), with sqrt(1/2) <= 1 + f < sqrt(2), for finite positive x.
pub(super) fn split_exponent<B: Ops>(b: &mut B, x: B::V) -> (B::V, B::V) {
    let float = b.float();
    let (up, sqrt_half) = match float {
        Float::F32 => (25, 0x3f35_04f3),
        Float::F64 => (54, 0x3fe6_a09e_667f_3bcd),
    };
    let zero = b.fconst(0.0);
    let normal = b.fconst(float.min_normal());
    let is_subnormal = b.flt(x, normal);
    let scaled = mul_const(b, x, (1_i64 << up) as f64);
    let x = b.select(is_subnormal, scaled, x);
    let shift = b.fconst(-f64::from(up));
    let shift = b.select(is_subnormal, shift, zero);

    let bits = b.as_int(x);
    let sqrt_half = b.iconst(sqrt_half);
    let mantissa = b.iconst(float.mantissa_bits().into());
    let e = b.isub(bits, sqrt_half);
    let e = b.ashr(e, mantissa);
    let e_bits = b.ishl(e, mantissa);
    let m = b.isub(bits, e_bits);
    let m = b.as_float(m);
    let f = add_const(b, m, -1.0);
    let e = b.to_float(e);
    (b.fadd(e, shift), f)
}

/// (f²/2, log(1 + f) - f + f²/2)
fn log1p_f64<B: Ops>(b: &mut B, f: B::V) -> (B::V, B::V) {
    let divisor = add_const(b, f, 2.0);
    let s = b.fdiv(f, divisor);
    let z = b.fmul(s, s);
    let q = poly(b, z, &LOG_F64);
    let r = b.fmul(z, q);
    let half_f = mul_const(b, f, 0.5);
    let half_f2 = b.fmul(half_f, f);
    let sum = b.fadd(half_f2, r);
    (half_f2, b.fmul(s, sum))
}

/// `y`, except: log(+0) and log(-0) are -inf, log(inf) is inf, NaN below zero, NaN stays.
fn outside_domain<B: Ops>(b: &mut B, x: B::V, y: B::V) -> B::V {
    let zero = b.fconst(0.0);
    let infinity = b.fconst(f64::INFINITY);
    let minus_infinity = b.fconst(f64::NEG_INFINITY);
    let nan = b.fconst(f64::NAN);
    let finite = b.flt(x, infinity);
    let y = b.select(finite, y, x);
    let is_zero = b.feq(x, zero);
    let y = b.select(is_zero, minus_infinity, y);
    let negative = b.flt(x, zero);
    b.select(negative, nan, y)
}
