//! What each scalar operation means: the reference that every target and interpreter agrees with.
//!
//! Each function gives `None` where the operation is not defined for the operands' dtypes, which
//! must be equal unless said otherwise; it never panics. Float operations round once to the dtype
//! (correctly for `+ - * / sqrt` and the fused multiply-add, within one unit in the last place for
//! transcendentals), and a NaN that they make is the quiet, positive one.
//!
//! On `Bool`, `add` is "or" and `mul` is "and", as in NumPy; other arithmetic is not defined.

use std::cmp::Ordering;

use crate::float::add_to_odd;
use crate::{Const, DType};

/// The operands of an operation on equal dtypes.
enum Pair {
    Bool(bool, bool),
    Int(DType, i128, i128),
    Float(DType, f64, f64),
}

fn pair(a: Const, b: Const) -> Option<Pair> {
    let dtype = a.dtype();
    if dtype != b.dtype() || dtype == DType::Void || dtype.is_complex() {
        return None;
    }
    Some(if dtype.is_bool() {
        Pair::Bool(a.as_bool(), b.as_bool())
    } else if dtype.is_float() {
        Pair::Float(dtype, a.as_f64(), b.as_f64())
    } else {
        Pair::Int(dtype, a.as_i128(), b.as_i128())
    })
}

fn int(dtype: DType, value: i128) -> Option<Const> {
    Some(Const::from_i128(dtype, value))
}

fn float(dtype: DType, value: f64) -> Option<Const> {
    Some(Const::f64(dtype, if value.is_nan() { f64::NAN } else { value }))
}

fn boolean(value: bool) -> Option<Const> {
    Some(Const::bool(value))
}

macro_rules! arithmetic {
    ($($(#[$doc:meta])* $name:ident: $($bool:expr)?, $int:expr, $float:expr;)*) => {
        $($(#[$doc])*
        pub fn $name(a: Const, b: Const) -> Option<Const> {
            match pair(a, b)? {
                $(Pair::Bool(x, y) => boolean($bool(x, y)),)?
                Pair::Int(dtype, x, y) => int(dtype, $int(x, y)),
                Pair::Float(dtype, x, y) => float(dtype, $float(x, y)),
                #[allow(unreachable_patterns)]
                Pair::Bool(..) => None,
            }
        })*
    };
}

arithmetic! {
    /// `a + b`; integers wrap.
    add: |x, y| x | y, i128::wrapping_add, |x: f64, y: f64| x + y;
    /// `a - b`; integers wrap.
    sub: , i128::wrapping_sub, |x: f64, y: f64| x - y;
    /// `a * b`; integers wrap.
    mul: |x, y| x & y, i128::wrapping_mul, |x: f64, y: f64| x * y;
    /// The remainder of the quotient rounded to zero, with the sign of `a`; 0 for integers where
    /// `b` is 0.
    mod_trunc: , |x: i128, y| x.checked_rem(y).unwrap_or(0), |x: f64, y: f64| x % y;
    /// The largest integer not above `a / b`; 0 for integers where `b` is 0, `a / b` for floats.
    floordiv: , int_floordiv, |x, y| float_divmod(x, y).0;
    /// The remainder of [`floordiv`], with the sign of `b`; 0 for integers where `b` is 0.
    floormod: , |x: i128, y: i128| if y == 0 { 0 } else { x - y * int_floordiv(x, y) },
        |x, y| float_divmod(x, y).1;
    /// The lesser; NaN where either is, and -0 is less than 0.
    min: |x, y| x & y, i128::min, |x, y| pick(x, y, Ordering::Less);
    /// The greater; NaN where either is, and 0 is greater than -0.
    max: |x, y| x | y, i128::max, |x, y| pick(x, y, Ordering::Greater);
    /// `a` to the power `b`. Integers wrap; a negative exponent is 1 over the positive power,
    /// rounded to zero.
    pow: , int_pow, libm::pow;
}

/// `a / b` for floats.
pub fn div(a: Const, b: Const) -> Option<Const> {
    match pair(a, b)? {
        Pair::Float(dtype, x, y) => float(dtype, x / y),
        _ => None,
    }
}

/// The quotient of integers rounded to zero; 0 where `b` is 0, and `MIN / -1` wraps.
pub fn idiv(a: Const, b: Const) -> Option<Const> {
    match pair(a, b)? {
        Pair::Int(dtype, x, y) => int(dtype, x.checked_div(y).unwrap_or(0)),
        _ => None,
    }
}

fn int_floordiv(x: i128, y: i128) -> i128 {
    match y {
        0 => 0,
        _ => x.div_euclid(y) - i128::from(y < 0 && x.rem_euclid(y) != 0),
    }
}

/// Floored quotient and remainder, as Python's `divmod` on floats.
fn float_divmod(x: f64, y: f64) -> (f64, f64) {
    if y == 0.0 {
        return (x / y, f64::NAN);
    }
    let truncated = x % y;
    let opposite = truncated != 0.0 && (truncated < 0.0) != (y < 0.0);
    let remainder = match truncated == 0.0 {
        true => 0f64.copysign(y),
        false => truncated + if opposite { y } else { 0.0 },
    };
    let quotient = (x - truncated) / y - f64::from(opposite);
    // The quotient is an integer but for rounding.
    let quotient = if quotient == 0.0 { 0f64.copysign(x / y) } else { quotient.round() };
    (quotient, remainder)
}

fn pick(x: f64, y: f64, wanted: Ordering) -> f64 {
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    if x.total_cmp(&y) == wanted { x } else { y }
}

fn int_pow(base: i128, exponent: i128) -> i128 {
    match (base, exponent) {
        (1, _) => 1,
        (-1, e) => 1 - 2 * (e & 1),
        (_, ..0) => 0,
        _ => {
            let (mut power, mut square, mut e) = (1i128, base, exponent);
            while e > 0 {
                if e & 1 == 1 {
                    power = power.wrapping_mul(square);
                }
                square = square.wrapping_mul(square);
                e >>= 1;
            }
            power
        }
    }
}

/// The order of two values; `None` inside where one is NaN.
fn order(a: Const, b: Const) -> Option<Option<Ordering>> {
    Some(match pair(a, b)? {
        Pair::Bool(x, y) => Some(x.cmp(&y)),
        Pair::Int(_, x, y) => Some(x.cmp(&y)),
        Pair::Float(_, x, y) => x.partial_cmp(&y),
    })
}

/// `a < b`, a `Bool`; false with NaN.
pub fn cmp_lt(a: Const, b: Const) -> Option<Const> {
    boolean(order(a, b)? == Some(Ordering::Less))
}

/// `a == b`, a `Bool`; false with NaN.
pub fn cmp_eq(a: Const, b: Const) -> Option<Const> {
    boolean(order(a, b)? == Some(Ordering::Equal))
}

/// `a != b`, a `Bool`; true with NaN.
pub fn cmp_ne(a: Const, b: Const) -> Option<Const> {
    boolean(order(a, b)? != Some(Ordering::Equal))
}

fn bitwise(a: Const, b: Const, apply: fn(u64, u64) -> u64) -> Option<Const> {
    let dtype = a.dtype();
    let allowed = dtype == b.dtype() && (dtype.is_int() || dtype.is_bool());
    allowed.then(|| Const::from_bits(dtype, apply(a.bits(), b.bits())))
}

/// Bitwise "and" of integers or `Bool`s.
pub fn and(a: Const, b: Const) -> Option<Const> {
    bitwise(a, b, |x, y| x & y)
}

/// Bitwise "or" of integers or `Bool`s.
pub fn or(a: Const, b: Const) -> Option<Const> {
    bitwise(a, b, |x, y| x | y)
}

/// Bitwise "exclusive or" of integers or `Bool`s.
pub fn xor(a: Const, b: Const) -> Option<Const> {
    bitwise(a, b, |x, y| x ^ y)
}

/// Bitwise complement of an integer, or the opposite `Bool`.
pub fn not(a: Const) -> Option<Const> {
    bitwise(a, a, |x, _| !x)
}

/// The amount of a shift where it is inside the width of the integer `a`.
fn amount(a: Const, by: Const) -> Option<Option<u32>> {
    let defined = a.dtype().is_int() && by.dtype().is_int();
    let inside = || u32::try_from(by.as_i128()).ok().filter(|&n| n < a.dtype().bits());
    defined.then(inside)
}

/// The integer `a` shifted left by an integer of any dtype; 0 by the width or more.
pub fn shl(a: Const, by: Const) -> Option<Const> {
    let amount = amount(a, by)?;
    int(a.dtype(), amount.map_or(0, |n| a.as_i128() << n))
}

/// The integer `a` shifted right by an integer of any dtype, filled with the sign where signed; 0
/// by the width or more.
pub fn shr(a: Const, by: Const) -> Option<Const> {
    let amount = amount(a, by)?;
    int(a.dtype(), amount.map_or(0, |n| a.as_i128() >> n))
}

/// `-a`; integers wrap.
pub fn neg(a: Const) -> Option<Const> {
    match a.dtype() {
        d if d.is_float() => flip_sign(a, !a.as_f64().is_sign_negative()),
        d if d.is_int() => int(d, -a.as_i128()),
        _ => None,
    }
}

/// The magnitude of `a`; the least integer is its own.
pub fn abs(a: Const) -> Option<Const> {
    match a.dtype() {
        d if d.is_float() => flip_sign(a, false),
        d if d.is_int() => int(d, a.as_i128().abs()),
        _ => None,
    }
}

/// A float with the sign given: operations on the sign keep a NaN's payload.
fn flip_sign(a: Const, negative: bool) -> Option<Const> {
    let sign = 1u64 << (a.dtype().bits() - 1);
    let magnitude = a.bits() & !sign;
    Some(Const::from_bits(a.dtype(), magnitude | if negative { sign } else { 0 }))
}

macro_rules! float_functions {
    ($($(#[$doc:meta])* $name:ident $function:expr;)*) => {
        $($(#[$doc])*
        pub fn $name(a: Const) -> Option<Const> {
            let dtype = a.dtype();
            if !dtype.is_float() {
                return None;
            }
            let function: fn(f64) -> f64 = $function;
            float(dtype, function(a.as_f64()))
        })*
    };
}

float_functions! {
    /// The square root.
    sqrt f64::sqrt;
    /// `1 / a`.
    recip |x| 1.0 / x;
    /// e to the power `a`.
    exp libm::exp;
    /// 2 to the power `a`.
    exp2 libm::exp2;
    /// e to the power `a`, less 1.
    expm1 libm::expm1;
    /// The natural logarithm.
    log libm::log;
    /// The logarithm to base 2.
    log2 libm::log2;
    /// The logarithm to base 10.
    log10 libm::log10;
    /// The natural logarithm of `1 + a`.
    log1p libm::log1p;
    /// The sine of an angle in radians.
    sin libm::sin;
    /// The cosine of an angle in radians.
    cos libm::cos;
    /// The tangent of an angle in radians.
    tan libm::tan;
    /// The arc tangent, in radians.
    atan libm::atan;
    /// The hyperbolic tangent.
    tanh libm::tanh;
    /// The error function.
    erf libm::erf;
}

macro_rules! roundings {
    ($($(#[$doc:meta])* $name:ident $function:expr;)*) => {
        $($(#[$doc])*
        pub fn $name(a: Const) -> Option<Const> {
            match a.dtype() {
                d if d.is_float() => float(d, $function(a.as_f64())),
                d if d.is_int() => Some(a),
                _ => None,
            }
        })*
    };
}

roundings! {
    /// The largest integer not above `a`, in the dtype of `a`.
    floor f64::floor;
    /// The least integer not below `a`, in the dtype of `a`.
    ceil f64::ceil;
    /// The nearest integer, ties to even, in the dtype of `a`.
    round f64::round_ties_even;
    /// `a` without its fraction, in the dtype of `a`.
    trunc f64::trunc;
}

/// `a * b + c`, rounded once for floats.
pub fn mul_add(a: Const, b: Const, c: Const) -> Option<Const> {
    let Pair::Float(dtype, x, y) = pair(a, b)? else {
        return add(mul(a, b)?, c);
    };
    let z = (c.dtype() == dtype).then(|| c.as_f64())?;
    // The product of two narrower floats is exact in binary64, and a sum rounded to odd rounds on
    // to the dtype as if once.
    float(dtype, if dtype == DType::F64 { x.mul_add(y, z) } else { add_to_odd(x * y, z) })
}

/// `a` where the `Bool` `condition` holds, else `b`; bits are untouched.
pub fn where_(condition: Const, a: Const, b: Const) -> Option<Const> {
    let defined = condition.dtype().is_bool() && a.dtype() == b.dtype();
    defined.then(|| if condition.as_bool() { a } else { b })
}

#[cfg(test)]
#[path = "eval_tests.rs"]
mod tests;
