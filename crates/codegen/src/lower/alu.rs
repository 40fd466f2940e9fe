//! Operations and conversions that become several instructions, or others.

use super::Lowering;
use super::math_ops::MathOps;
use crate::math;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::linear::{Inst, Ty, Val};

/// Whether arithmetic on this type is done in binary32.
pub(super) fn is_narrow(dtype: DType) -> bool {
    dtype.is_float() && dtype.bytes() < 4
}

impl Lowering<'_> {
    /// The value of an operation on operands of any type.
    pub(super) fn alu(&mut self, op: Alu, args: &[Val]) -> Val {
        let dtype = self.b.ty(args[args.len() - 1]).dtype;
        if is_narrow(dtype) && op != Alu::Where {
            let wide: Vec<Val> = args.iter().map(|v| self.convert(DType::F32, *v)).collect();
            let value = self.alu(op, &wide);
            return match self.b.ty(value).dtype {
                DType::Bool => value,
                _ => self.convert(dtype, value),
            };
        }
        if let Some(value) = self.function(op, args, dtype) {
            return value;
        }
        match op {
            Alu::Recip => {
                let one = self.b.constant(Const::one(dtype));
                self.b.alu(Alu::Div, &[one, args[0]])
            }
            Alu::Pow => self.integer_power(args[0], args[1]),
            Alu::FloorDiv if dtype.is_float() => self.float_divmod(args[0], args[1]).0,
            Alu::FloorMod if dtype.is_float() => self.float_divmod(args[0], args[1]).1,
            _ => self.b.alu(op, args),
        }
    }

    /// Transcendental functions, as [`crate::math`] decomposes them.
    fn function(&mut self, op: Alu, args: &[Val], dtype: DType) -> Option<Val> {
        if !matches!(dtype, DType::F32 | DType::F64) {
            return None;
        }
        let (x, mut ops) = (args[0], MathOps::new(&mut self.b, dtype, self.target));
        Some(match op {
            Alu::Exp => math::exp(&mut ops, x),
            Alu::Exp2 => math::exp2(&mut ops, x),
            Alu::Expm1 => math::expm1(&mut ops, x),
            Alu::Log => math::log(&mut ops, x),
            Alu::Log2 => math::log2(&mut ops, x),
            Alu::Log10 => math::log10(&mut ops, x),
            Alu::Log1p => math::log1p(&mut ops, x),
            Alu::Sin => math::sin(&mut ops, x),
            Alu::Cos => math::cos(&mut ops, x),
            Alu::Tan => math::tan(&mut ops, x),
            Alu::Atan => math::atan(&mut ops, x),
            Alu::Tanh => math::tanh(&mut ops, x),
            Alu::Erf => math::erf(&mut ops, x),
            Alu::Pow => math::pow(&mut ops, x, args[1]),
            _ => return None,
        })
    }

    /// All lanes combined as a tree of halves.
    pub(super) fn reduce(&mut self, op: Alu, v: Val) -> Val {
        let ty = self.b.ty(v);
        // Each sum of a narrow type rounds, so that halves are taken one by one.
        if is_narrow(ty.dtype) || matches!(op, Alu::Pow | Alu::FloorDiv | Alu::FloorMod) {
            let mut values: Vec<Val> = (0..ty.lanes).map(|lane| self.b.extract(v, lane)).collect();
            while values.len() > 1 {
                let upper = values.split_off(values.len() / 2);
                values = values.iter().zip(upper).map(|(a, b)| self.alu(op, &[*a, b])).collect();
            }
            return values[0];
        }
        self.b.reduce(op, v)
    }

    /// Each lane combined with all before it. Narrow types are combined in binary32, and rounded at the end.
    pub(super) fn scan(&mut self, op: Alu, v: Val) -> Val {
        let ty = self.b.ty(v);
        if ty.lanes == 1 {
            return v;
        }
        if is_narrow(ty.dtype) {
            let wide = self.convert(DType::F32, v);
            let scanned = self.b.pure(ty.with(DType::F32), Inst::Scan(op, wide));
            return self.convert(ty.dtype, scanned);
        }
        self.b.pure(ty, Inst::Scan(op, v))
    }

    /// By squaring, one step per bit of the exponent. A negative exponent gives the reciprocal,
    /// rounded to zero.
    fn integer_power(&mut self, base: Val, exponent: Val) -> Val {
        let dtype = self.b.ty(base).dtype;
        let lanes = self.b.ty(base).lanes.max(self.b.ty(exponent).lanes);
        let ty = Ty { dtype, lanes };
        let (base, exponent) = (self.b.widen(base, lanes), self.b.widen(exponent, lanes));
        let (zero, one) = (self.b.constant(Const::zero(dtype)), self.b.constant(Const::one(dtype)));
        let slots = [self.b.slot(ty), self.b.slot(ty), self.b.slot(ty)];
        let [power, square, rest] = slots;
        let ones = self.b.widen(one, lanes);
        self.b.write(power, ones);
        self.b.write(square, base);
        self.b.write(rest, exponent);
        let steps = self.b.index(i64::from(dtype.bits()) - i64::from(dtype.is_signed()));
        self.b.range(steps, Vec::new(), slots.to_vec(), true);
        let [p, s, e] = slots.map(|slot| self.b.read(slot));
        let low = self.b.alu(Alu::And, &[e, one]);
        let odd = self.b.alu(Alu::Ne, &[low, zero]);
        let product = self.b.alu(Alu::Mul, &[p, s]);
        let next = self.b.alu(Alu::Where, &[odd, product, p]);
        self.b.write(power, next);
        let next = self.b.alu(Alu::Mul, &[s, s]);
        self.b.write(square, next);
        let next = self.b.alu(Alu::Shr, &[e, one]);
        self.b.write(rest, next);
        self.b.close();
        let value = self.b.read(power);
        if !dtype.is_signed() {
            return value;
        }
        let minus_one = self.b.constant(Const::i64(dtype, -1));
        let negative = self.b.alu(Alu::Lt, &[exponent, zero]);
        let unit = self.b.alu(Alu::Eq, &[base, one]);
        let opposite = self.b.alu(Alu::Eq, &[base, minus_one]);
        let low = self.b.alu(Alu::And, &[exponent, one]);
        let odd = self.b.alu(Alu::Ne, &[low, zero]);
        let sign = self.b.alu(Alu::Where, &[odd, minus_one, one]);
        let inverse = self.b.alu(Alu::Where, &[unit, one, zero]);
        let inverse = self.b.alu(Alu::Where, &[opposite, sign, inverse]);
        self.b.alu(Alu::Where, &[negative, inverse, value])
    }

    /// A value in another type.
    pub(super) fn convert(&mut self, to: DType, v: Val) -> Val {
        let from = self.b.ty(v).dtype;
        if from == to {
            return v;
        }
        if let Some(c) = self.b.as_const(v) {
            let ty = self.b.ty(v).with(to);
            return self.b.constant_of(ty, c.cast(to));
        }
        if let Some(scalar) = self.b.as_splat(v) {
            let lanes = self.b.ty(v).lanes;
            let scalar = self.convert(to, scalar);
            return self.b.widen(scalar, lanes);
        }
        match (is_narrow(from), is_narrow(to)) {
            (false, false) => self.b.cast(to, v),
            (true, _) => {
                let wide = self.decode(v);
                self.convert(to, wide)
            }
            (false, true) => {
                let wide = self.before_encoding(to, v);
                self.encode(to, wide)
            }
        }
    }

    /// One instruction between binary16 and binary32.
    pub(super) fn half_cast(&mut self, to: DType, v: Val) -> Val {
        let ty = self.b.ty(v).with(to);
        self.b.pure(ty, Inst::Cast(v))
    }
}
