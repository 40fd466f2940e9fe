//! Division of floats with remainder.

use super::Lowering;
use super::math_ops::MathOps;
use crate::math::{Ops, flip_sign, sign_bit, two_prod};
use svod_ir::alu::Alu;
use svod_ir::linear::Val;

impl Lowering<'_> {
    /// The floored quotient and its remainder, of the divisor's sign, as Python's `divmod`: |x| mod |y| is exact,
    /// however large the quotient, and rounded once where the signs of x and y differ.
    pub(super) fn float_divmod(&mut self, x: Val, y: Val) -> (Val, Val) {
        let dtype = self.b.ty(x).dtype;
        MathOps::new(&mut self.b, dtype, self.target).divmod(x, y)
    }
}

impl MathOps<'_> {
    fn divmod(&mut self, x: Val, y: Val) -> (Val, Val) {
        let (zero, one, infinity) = (self.fconst(0.0), self.fconst(1.0), self.fconst(f64::INFINITY));
        let (a, d) = (self.fabs(x), self.fabs(y));
        let signed = self.fdiv(x, y);
        let exact = self.fabs(signed);
        let (q, m) = self.step(a, d, exact);

        // Beyond, a quotient that was rounded is too far from the exact one.
        let limit = self.fconst((f64::from(self.float().mantissa_bits())).exp2());
        let (large, finite, divides) = (self.fle(limit, exact), self.flt(a, infinity), self.flt(zero, d));
        let when = self.and(large, finite);
        let when = self.and(when, divides);
        let [q, m] = self.rarely(when, [q, m], [a, d], |ops, [a, d]| {
            let m = ops.long_remainder(a, d);
            let whole = ops.fsub(a, m);
            [ops.fdiv(whole, d), m]
        });
        // 0 times infinity is no number, nor is what is left of infinity.
        let endless = self.feq(d, infinity);
        let endless = self.and(endless, finite);
        let m = self.select(endless, a, m);
        let by_zero = self.feq(d, zero);
        let known = self.or(finite, by_zero);
        let (not_finite, nan) = (self.not(known), self.fconst(f64::NAN));
        let q = self.select(not_finite, nan, q);

        let (x_negative, y_negative) = (self.flt(x, zero), self.flt(y, zero));
        let (differ, some) = (self.b.alu(Alu::Ne, &[x_negative, y_negative]), self.flt(zero, m));
        let opposite = self.and(differ, some);
        let (sign_of_q, sign_of_x, sign_of_y) = (sign_bit(self, signed), sign_bit(self, x), sign_bit(self, y));
        let q = flip_sign(self, q, sign_of_q);
        let less = self.fsub(q, one);
        let q = self.select(opposite, less, q);
        // Of nothing, the divisor's sign.
        let (of_x, none) = (flip_sign(self, m, sign_of_x), flip_sign(self, zero, sign_of_y));
        let (more, is_none) = (self.fadd(of_x, y), self.feq(m, zero));
        let rest = self.select(opposite, more, of_x);
        (q, self.select(is_none, none, rest))
    }

    /// The whole quotient of numbers that are not negative, and the exact remainder, given the rounded
    /// quotient, which is less than 2^mantissa.
    fn step(&mut self, a: Val, d: Val, quotient: Val) -> (Val, Val) {
        let (zero, one) = (self.fconst(0.0), self.fconst(1.0));
        let q = self.b.alu(Alu::Floor, &[quotient]);
        // A quotient that was rounded up may have a product that is no number, while what is left of `a` is one.
        let (q, rest) = if self.fused() {
            let negative = self.fneg(q);
            (q, self.mul_add(negative, d, a))
        } else {
            let (product, infinity) = (self.fmul(q, d), self.fconst(f64::INFINITY));
            let (over, less) = (self.feq(product, infinity), self.fsub(q, one));
            let q = self.select(over, less, q);
            let (product, error) = two_prod(self, q, d);
            let rest = self.fsub(a, product);
            (q, self.fsub(rest, error))
        };
        // The quotient may have been rounded up to an integer, never below one.
        let short = self.flt(rest, zero);
        let (less, more) = (self.fsub(q, one), self.fadd(rest, d));
        (self.select(short, less, q), self.select(short, more, rest))
    }

    /// The remainder of finite a by d > 0: that by d 2^k, with less of k in each round, as many digits of the
    /// quotient at a time as are exact.
    fn long_remainder(&mut self, a: Val, d: Val) -> Val {
        let digits = i64::from(self.float().mantissa_bits());
        let (bias, at_once) = (self.float().exponent_bias(), digits - 2);
        let mantissa = self.iconst(digits);
        // Subnormals get an exponent of their own.
        let (normal, scale) = (self.fconst(self.float().min_normal()), self.fconst((digits as f64 + 1.0).exp2()));
        let (small, scaled) = (self.flt(d, normal), self.fmul(d, scale));
        let normal = self.select(small, scaled, d);
        let (by, none) = (self.iconst(digits + 1), self.iconst(0));
        let by = self.select(small, by, none);
        let bits = self.as_int(normal);
        let exponent = self.lshr(bits, mantissa);
        let exponent = self.isub(exponent, by);

        let lanes = self.b.ty(a).lanes.max(self.b.ty(d).lanes);
        let a = self.b.widen(a, lanes);
        let slot = self.b.slot(self.b.ty(a));
        self.b.write(slot, a);
        let rounds = self.b.index((2 * bias + digits) / at_once + 1);
        self.b.range(rounds, Vec::new(), vec![slot], true);
        let rest = self.b.read(slot);
        let of_rest = self.as_int(rest);
        let (of_rest, at_once) = (self.lshr(of_rest, mantissa), self.iconst(at_once));
        let k = self.isub(of_rest, exponent);
        let k = self.isub(k, at_once);
        let negative = self.b.alu(Alu::Lt, &[k, none]);
        let k = self.select(negative, none, k);
        let raised = self.isub(k, by);
        let raised = self.ishl(raised, mantissa);
        let raised = self.iadd(bits, raised);
        let raised = self.as_float(raised);
        let bias = self.iconst(bias);
        let power = self.iadd(k, bias);
        let power = self.ishl(power, mantissa);
        let power = self.as_float(power);
        let (product, still) = (self.fmul(d, power), self.b.alu(Alu::Le, &[by, k]));
        let divisor = self.select(still, raised, product);
        let quotient = self.fdiv(rest, divisor);
        let (_, rest) = self.step(rest, divisor, quotient);
        let rest = self.b.widen(rest, lanes);
        self.b.write(slot, rest);
        self.b.close();
        let rest = self.b.read(slot);
        let quotient = self.fdiv(rest, d);
        self.step(rest, d, quotient).1
    }
}
