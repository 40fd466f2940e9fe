//! The hyperbolic tangent.

use super::exp::{exp_by_instruction, expm1_reduced, power_of_two, reduce_ln2};
use super::{Float, Ops, add_const, poly, scale_add, sign_bit};

/// (tanh x - x) / x³ in powers of x², up to `SMALL_LIMIT`
const SMALL_F32: [f64; 5] = [-0.33333316, 0.13332544, -0.053847548, 0.021050714, -0.006242849];
const SMALL_LIMIT: f64 = 0.55;

/// tanh x = 1 - 2 / (e^(2|x|) + 1) where e^x is nearly an instruction, else
/// tanh x = t / (t + 2) with t = e^(2|x|) - 1, and in f32 a polynomial for small x, where the three
/// roundings of the former would add up to more than 2 ulp.
pub fn tanh<B: Ops>(b: &mut B, x: B::V) -> B::V {
    let float = b.float();
    let sign = sign_bit(b, x);
    let a = b.fabs(x);
    let y = b.fadd(a, a);
    // Beyond this the result rounds to 1.
    let limit = b.fconst(float.pick(19.0, 40.0));
    let y = b.fmin(limit, y);
    let mut result = if b.has_power_of_two() {
        let one = b.fconst(1.0);
        let power = exp_by_instruction(b, y);
        let divisor = b.fadd(power, one);
        let inverse = b.fdiv(one, divisor);
        scale_add(b, inverse, -2.0, one)
    } else {
        let (n, r) = reduce_ln2(b, y, float.exponent_bias());
        let em1 = expm1_reduced(b, r);
        let scale = power_of_two(b, n);
        let rest = add_const(b, scale, -1.0);
        let t = b.mul_add(scale, em1, rest);
        let divisor = add_const(b, t, 2.0);
        b.fdiv(t, divisor)
    };
    if float == Float::F32 {
        let z = b.fmul(a, a);
        let q = poly(b, z, &SMALL_F32);
        let q = b.fmul(z, q);
        let small = b.mul_add(a, q, a);
        let limit = b.fconst(SMALL_LIMIT);
        let is_small = b.flt(a, limit);
        result = b.select(is_small, small, result);
    }
    let result = b.as_int(result);
    let result = b.ior(result, sign);
    b.as_float(result)
}
