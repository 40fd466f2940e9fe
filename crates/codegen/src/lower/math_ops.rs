//! The decompositions of transcendental functions, into a linear list.

use super::builder::Builder;
use crate::math::{Float, Ops};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::linear::Val;

/// Emits a decomposition. Constants are scalars and widen where they meet a vector.
pub(super) struct MathOps<'a> {
    pub b: &'a mut Builder,
    pub float: Float,
    pub fused: bool,
}

impl MathOps<'_> {
    fn dtype(&self) -> DType {
        match self.float {
            Float::F32 => DType::F32,
            Float::F64 => DType::F64,
        }
    }

    fn int(&self) -> DType {
        match self.float {
            Float::F32 => DType::I32,
            Float::F64 => DType::I64,
        }
    }

    fn unsigned(&self) -> DType {
        match self.float {
            Float::F32 => DType::U32,
            Float::F64 => DType::U64,
        }
    }
}

macro_rules! forward {
    ($($name:ident($($a:ident),*) -> $out:ident = $op:ident;)*) => {$(
        fn $name(&mut self, $($a: Val),*) -> Val {
            self.b.alu(Alu::$op, &[$($a),*])
        }
    )*};
}

impl Ops for MathOps<'_> {
    type V = Val;
    type M = Val;

    forward! {
        fadd(a, b) -> V = Add;
        fsub(a, b) -> V = Sub;
        fmul(a, b) -> V = Mul;
        fdiv(a, b) -> V = Div;
        mul_add(a, b, c) -> V = MulAdd;
        fneg(a) -> V = Neg;
        fabs(a) -> V = Abs;
        iadd(a, b) -> V = Add;
        isub(a, b) -> V = Sub;
        imul(a, b) -> V = Mul;
        iand(a, b) -> V = And;
        ior(a, b) -> V = Or;
        ixor(a, b) -> V = Xor;
        ishl(a, n) -> V = Shl;
        ashr(a, n) -> V = Shr;
        flt(a, b) -> M = Lt;
        fle(a, b) -> M = Le;
        feq(a, b) -> M = Eq;
        ieq(a, b) -> M = Eq;
        and(a, b) -> M = And;
        or(a, b) -> M = Or;
        not(a) -> M = Not;
        select(m, a, b) -> V = Where;
    }

    fn float(&self) -> Float {
        self.float
    }

    fn fused(&self) -> bool {
        self.fused
    }

    fn fconst(&mut self, value: f64) -> Val {
        self.b.constant(Const::f64(self.dtype(), value))
    }

    fn iconst(&mut self, value: i64) -> Val {
        self.b.constant(Const::i64(self.int(), value))
    }

    fn fmin(&mut self, a: Val, b: Val) -> Val {
        let less = self.flt(a, b);
        self.select(less, a, b)
    }

    fn fmax(&mut self, a: Val, b: Val) -> Val {
        let greater = self.flt(b, a);
        self.select(greater, a, b)
    }

    fn to_float(&mut self, a: Val) -> Val {
        self.b.cast(self.dtype(), a)
    }

    fn as_float(&mut self, a: Val) -> Val {
        self.b.bitcast(self.dtype(), a)
    }

    fn as_int(&mut self, a: Val) -> Val {
        self.b.bitcast(self.int(), a)
    }

    fn lshr(&mut self, a: Val, n: Val) -> Val {
        let (a, n) = (self.b.bitcast(self.unsigned(), a), self.b.bitcast(self.unsigned(), n));
        let shifted = self.b.alu(Alu::Shr, &[a, n]);
        self.b.bitcast(self.int(), shifted)
    }

    /// Jumps around `exact` unless some lane needs it.
    fn rarely<const N: usize>(
        &mut self,
        when: Val,
        usual: [Val; N],
        exact: impl FnOnce(&mut Self) -> [Val; N],
    ) -> [Val; N] {
        if self.b.as_const(when).is_some_and(|c| !c.as_bool()) {
            return usual;
        }
        let lanes = usual.iter().map(|v| self.b.ty(*v).lanes).max().unwrap_or(1).max(self.b.ty(when).lanes);
        let slots = usual.map(|v| {
            let v = self.b.widen(v, lanes);
            let slot = self.b.slot(self.b.ty(v));
            self.b.write(slot, v);
            slot
        });
        let any = self.b.any(when);
        self.b.condition(any, Vec::new(), slots.to_vec());
        let exact = exact(self);
        for (n, slot) in slots.into_iter().enumerate() {
            let value = self.select(when, exact[n], usual[n]);
            let value = self.b.widen(value, lanes);
            self.b.write(slot, value);
        }
        self.b.close();
        slots.map(|slot| self.b.read(slot))
    }
}
