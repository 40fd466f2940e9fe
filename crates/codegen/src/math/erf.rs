//! The error function.

use super::exp::exp_neg;
use super::{Float, Ops, add_const, poly, scale_add, sign_bit};

/// erf(x) / x - 1 in powers of x², up to x = 1
const SMALL_F32: [f64; 7] =
    [0.12837917, -0.37612626, 0.11283579, -0.026853347, 0.005187162, -0.0007997853, 7.806904e-05];
const SMALL_F64: [f64; 12] = [
    0.12837916709551256,
    -0.3761263890318352,
    0.11283791670944184,
    -0.02686617064311139,
    0.005223977606117947,
    -0.0008548325929294187,
    0.00012055293576412661,
    -1.4924712294498669e-05,
    1.6447131497515838e-06,
    -1.6206313314195877e-07,
    1.3710978915219464e-08,
    -7.779466416869943e-10,
];
/// erf(u + `CENTRE_F32`) - 1, from 1 to `LIMIT_F32`
const LARGE_F32: [f64; 13] = [
    -0.00046491917,
    0.0024666197,
    -0.006106536,
    0.009253884,
    -0.009404263,
    0.0065329564,
    -0.0029141463,
    0.0005069716,
    0.00035248173,
    -0.00029377066,
    5.502617e-05,
    2.3806931e-05,
    -9.006694e-06,
];
const CENTRE_F32: f64 = 2.4749999046325684;
const LIMIT_F32: f64 = 3.950000047683716;
/// log₂(1 - erf(x)), from 1 to `LARGEST_F32`, beyond which erf rounds to 1
const TAIL_F32: [f64; 7] = [
    -0.000510551268234849,
    -1.6259737014770508,
    -0.9207680225372314,
    -0.1486481875181198,
    0.03145647794008255,
    -0.004240377340465784,
    0.00026765806251205504,
];
const LARGEST_F32: f64 = 4.0;
/// erf of all that is greater rounds to 1 in f32
const LAST_F32: f64 = 3.92;
/// (1 - erf(x)) e^(x²) (1 + 2x) in powers of (x - 2) / (x + 2), from 1 to 6
const LARGE_F64: [f64; 13] = [
    1.2769783815525289,
    -0.09276382658572888,
    -0.1660303976151901,
    0.16405128002675035,
    -0.054220001071036715,
    -0.008034014809864464,
    0.00872266133593999,
    0.0012713613643573335,
    -0.0014569679266728322,
    -0.0004554124231093311,
    0.00020529853227715144,
    0.00015935083652836196,
    2.812896916209541e-05,
];

/// The error function: a polynomial in x² up to 1; beyond, a polynomial in x (f32), 2 to the power of a shorter one where
/// that is an instruction, or e^(-x²) times a polynomial of a rational map of x (f64; Shepherd and Laframboise 1981).
pub fn erf<B: Ops>(b: &mut B, x: B::V) -> B::V {
    let sign = sign_bit(b, x);
    let a = b.fabs(x);
    let z = b.fmul(a, a);
    let (small, large) = match b.float() {
        Float::F32 if b.has_power_of_two() => (in_turn(b, z, &SMALL_F32), large_by_instruction(b, a)),
        Float::F32 => (poly(b, z, &SMALL_F32), large_f32(b, a)),
        Float::F64 => (poly(b, z, &SMALL_F64), large_f64(b, a)),
    };
    let small = b.mul_add(a, small, a);
    let one = b.fconst(1.0);
    let is_small = b.flt(a, one);
    let y = b.select(is_small, small, large);
    let y = b.as_int(y);
    let y = b.ior(y, sign);
    b.as_float(y)
}

fn large_f32<B: Ops>(b: &mut B, x: B::V) -> B::V {
    let limit = b.fconst(LIMIT_F32);
    let a = b.fmin(limit, x);
    let u = add_const(b, a, -CENTRE_F32);
    let p = poly(b, u, &LARGE_F32);
    let y = add_const(b, p, 1.0);
    // Exactly, so that 1 + erf(-x) is 0.
    let (one, last) = (b.fconst(1.0), b.fconst(LAST_F32));
    let beyond = b.flt(last, x);
    b.select(beyond, one, y)
}

/// A polynomial by Horner's rule: the fewest operations, of which other warps hide that each waits for the one before.
fn in_turn<B: Ops>(b: &mut B, x: B::V, c: &[f64]) -> B::V {
    let last = b.fconst(c[c.len() - 1]);
    c[..c.len() - 1].iter().rev().fold(last, |sum, c| {
        let c = b.fconst(*c);
        b.mul_add(sum, x, c)
    })
}

fn large_by_instruction<B: Ops>(b: &mut B, a: B::V) -> B::V {
    let largest = b.fconst(LARGEST_F32);
    let a = b.fmin(largest, a);
    let exponent = in_turn(b, a, &TAIL_F32);
    let (one, rest) = (b.fconst(1.0), b.power_of_two(exponent));
    b.fsub(one, rest)
}

fn large_f64<B: Ops>(b: &mut B, a: B::V) -> B::V {
    let limit = b.fconst(6.0);
    let a = b.fmin(limit, a);
    let one = b.fconst(1.0);
    let sum = add_const(b, a, 2.0);
    let difference = add_const(b, a, -2.0);
    let weight = scale_add(b, a, 2.0, one);
    // One division serves both quotients.
    let divisor = b.fmul(sum, weight);
    let inverse = b.fdiv(one, divisor);
    let of_sum = b.fmul(weight, inverse);
    let of_weight = b.fmul(sum, inverse);
    let t = b.fmul(difference, of_sum);
    let p = poly(b, t, &LARGE_F64);
    let p = b.fmul(p, of_weight);
    let z = b.fmul(a, a);
    let e = exp_neg(b, z);
    let minus = b.fneg(e);
    b.mul_add(minus, p, one)
}
