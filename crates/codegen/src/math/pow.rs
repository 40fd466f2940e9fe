//! Powers.

use super::exp::exp2_sum;
use super::log::split_exponent;
use super::{Float, Ops, clamp, fast_two_sum, flip_sign, poly, scale_add, sign_bit, two_prod};

/// (artanh(s) / s - 1 - s²/3) / s⁴ in powers of s²
const ARTANH_F32: [f64; 3] = [0.20000076, 0.14273539, 0.1171007];
const ARTANH_F64: [f64; 7] = [
    0.20000000000001145,
    0.14285714285041862,
    0.11111111261440428,
    0.09090892048956986,
    0.07693385087628248,
    0.06628254536977307,
    0.06599638331506863,
];

/// x^y as 2^(y log2 x) with the logarithm in doubled precision, and the special cases of IEEE 754
/// (and C's `pow`): x^0 and 1^y are 1 even for NaN, a negative base takes the sign of an odd
/// exponent and is NaN for a fraction.
pub fn pow<B: Ops>(b: &mut B, x: B::V, y: B::V) -> B::V {
    let (zero, one) = (b.fconst(0.0), b.fconst(1.0));
    let infinity = b.fconst(f64::INFINITY);
    let nan = b.fconst(f64::NAN);
    let a = b.fabs(x);

    let (log, log_low) = log2_doubled(b, a);
    // Beyond this every x other than 1 overflows or underflows; the bound keeps infinities out of the
    // exact products.
    let limit = b.float().pick(2.0, 4.0).powi(33);
    let y_bounded = clamp(b, y, -limit, limit);
    let (high, low) = two_prod(b, y_bounded, log);
    let low = b.mul_add(y_bounded, log_low, low);
    let (high, low) = fast_two_sum(b, high, low);
    // Only beyond over- and underflow is it larger.
    let low = clamp(b, low, -0.5, 0.5);
    let power = exp2_sum(b, high, low);

    let is_zero = b.feq(a, zero);
    let is_infinite = b.feq(a, infinity);
    let is_extreme = b.or(is_zero, is_infinite);
    let inverse = b.fdiv(one, a);
    let y_negative = b.flt(y, zero);
    let extreme = b.select(y_negative, inverse, a);
    let power = b.select(is_extreme, extreme, power);

    let (y_integer, y_odd_sign) = parity(b, y);
    let x_sign = sign_bit(b, x);
    let sign = b.iand(x_sign, y_odd_sign);
    let power = flip_sign(b, power, sign);

    let negative = b.flt(x, zero);
    let integer_or_extreme = b.or(y_integer, is_extreme);
    let fraction = b.not(integer_or_extreme);
    let outside = b.and(negative, fraction);
    let x_number = b.feq(x, x);
    let y_number = b.feq(y, y);
    let numbers = b.and(x_number, y_number);
    let not_numbers = b.not(numbers);
    let outside = b.or(outside, not_numbers);
    let power = b.select(outside, nan, power);

    let y_zero = b.feq(y, zero);
    let x_one = b.feq(x, one);
    let unit = b.or(y_zero, x_one);
    b.select(unit, one, power)
}

/// Whether y is an integer, and an integer whose sign bit is set if it is odd.
fn parity<B: Ops>(b: &mut B, y: B::V) -> (B::M, B::V) {
    // Adding 2^mantissa_bits leaves the integer part in the low bits.
    let mantissa_bits = b.float().mantissa_bits();
    let ulp_one = (1_i64 << mantissa_bits) as f64;
    let a = b.fabs(y);
    let threshold = b.fconst(ulp_one);
    let has_fraction_bits = b.flt(a, threshold);
    let sum = b.fadd(a, threshold);
    let rounded = b.fsub(sum, threshold);
    let exact = b.feq(rounded, a);
    let no_fraction_bits = b.fle(threshold, a);
    let integer = b.or(exact, no_fraction_bits);

    let units = b.select(has_fraction_bits, sum, a);
    let even_beyond = b.fconst(2.0 * ulp_one);
    let has_unit_bit = b.flt(units, even_beyond);
    let has_parity = b.and(integer, has_unit_bit);
    let bits = b.as_int(units);
    let up = b.iconst(i64::from(b.float().bits()) - 1);
    let odd = b.ishl(bits, up);
    let even = b.iconst(0);
    (integer, b.select(has_parity, odd, even))
}

/// log2(x) for finite positive x, as a sum of two floats with a relative error of about
/// 2^-(1.5 * significand): 2 log2(e) artanh(s) with s = f / (2 + f), the first two terms of the
/// series and all sums in doubled precision.
fn log2_doubled<B: Ops>(b: &mut B, x: B::V) -> (B::V, B::V) {
    let (e, f) = split_exponent(b, x);
    let (one, two) = (b.fconst(1.0), b.fconst(2.0));

    let (d, d_low) = fast_two_sum(b, two, f);
    let inverse = b.fdiv(one, d);
    let s = b.fmul(f, inverse);
    let (product, error) = two_prod(b, s, d);
    let rest = b.fsub(f, product);
    let rest = b.fsub(rest, error);
    let product_low = b.fmul(s, d_low);
    let rest = b.fsub(rest, product_low);
    let s_low = b.fmul(rest, inverse);

    let (z, z_error) = two_prod(b, s, s);
    let s2 = b.fadd(s, s);
    let z_low = b.mul_add(s2, s_low, z_error);

    let ((third, third_low), (scale, scale_low)) = match b.float() {
        Float::F32 => ((0.3333333432674408, -9.934107758624577e-09), (2.885390043258667, 3.851926067000022e-08)),
        Float::F64 => ((0.3333333333333333, 1.850371707708594e-17), (2.8853900817779268, 4.0710547481862066e-17)),
    };
    let q = match b.float() {
        Float::F32 => poly(b, z, &ARTANH_F32),
        Float::F64 => poly(b, z, &ARTANH_F64),
    };
    let third_value = b.fconst(third);
    let (t, t_error) = two_prod(b, z, third_value);
    let z2 = b.fmul(z, z);
    let t_low = b.mul_add(z2, q, t_error);
    let t_low = scale_add(b, z, third_low, t_low);
    let t_low = scale_add(b, z_low, third, t_low);
    let (u, u_low) = fast_two_sum(b, one, t);
    let u_low = b.fadd(u_low, t_low);

    let scale_value = b.fconst(scale);
    let (k, k_error) = two_prod(b, s, scale_value);
    let k_low = scale_add(b, s, scale_low, k_error);
    let k_low = scale_add(b, s_low, scale, k_low);
    let (g, g_error) = two_prod(b, k, u);
    let g_low = b.mul_add(k, u_low, g_error);
    let g_low = b.mul_add(k_low, u, g_low);

    let (sum, sum_error) = fast_two_sum(b, e, g);
    let low = b.fadd(sum_error, g_low);
    fast_two_sum(b, sum, low)
}
