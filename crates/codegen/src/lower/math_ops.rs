//! The decompositions of transcendental functions, into a linear list.

use super::builder::Builder;
use crate::math::{Float, Ops};
use smallvec::SmallVec;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::linear::{Inst, Slot, Ty, Val};
use svod_ir::target::Target;

/// Emits a decomposition. Constants are scalars and widen where they meet a vector.
pub(super) struct MathOps<'a> {
    pub b: &'a mut Builder,
    float: Float,
    fused: bool,
    /// Whether threads have instructions for 2^x, and for maxima that are NaN where an operand is.
    gpu: bool,
    /// Of a vector register.
    lanes: u32,
}

impl<'a> MathOps<'a> {
    /// For floats of this type: `f64`, or else `f32`.
    pub fn new(b: &'a mut Builder, dtype: DType, target: &Target) -> Self {
        let float = if dtype == DType::F64 { Float::F64 } else { Float::F32 };
        MathOps { b, float, fused: target.fma, gpu: target.groups.is_some(), lanes: target.lanes(dtype.bytes()) as u32 }
    }

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

    fn has_power_of_two(&self) -> bool {
        self.gpu && self.float == Float::F32
    }

    fn power_of_two(&mut self, x: Val) -> Val {
        self.b.alu(Alu::Exp2, &[x])
    }

    fn fmin(&mut self, a: Val, b: Val) -> Val {
        if self.gpu {
            return self.b.alu(Alu::Min, &[a, b]);
        }
        let less = self.flt(a, b);
        self.select(less, a, b)
    }

    fn fmax(&mut self, a: Val, b: Val) -> Val {
        if self.gpu {
            return self.b.alu(Alu::Max, &[a, b]);
        }
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

    /// Jumps around `exact` unless some lane needs it, and has code for a register of lanes only: long code takes long
    /// to compile.
    fn rarely<const N: usize, const M: usize>(
        &mut self,
        when: Val,
        usual: [Val; N],
        of: [Val; M],
        exact: impl FnOnce(&mut Self, [Val; M]) -> [Val; N],
    ) -> [Val; N] {
        if self.b.as_const(when).is_some_and(|c| !c.as_bool()) {
            return usual;
        }
        let lanes = usual.iter().map(|v| self.b.ty(*v).lanes).max().unwrap_or(1).max(self.b.ty(when).lanes);
        let usual = usual.map(|v| self.b.widen(v, lanes));
        let slots = usual.map(|v| self.slot_of(v));
        let any = self.b.any(when);
        self.b.condition(any, Vec::new(), slots.to_vec());
        let exact = match lanes > self.lanes && lanes.is_multiple_of(self.lanes) {
            true => self.by_registers(lanes, usual, of, exact),
            false => exact(self, of),
        };
        for (n, slot) in slots.into_iter().enumerate() {
            let value = self.select(when, exact[n], usual[n]);
            self.b.write(slot, value);
        }
        self.b.close();
        slots.map(|slot| self.b.read(slot))
    }
}

impl MathOps<'_> {
    /// An accumulator that holds a value.
    fn slot_of(&mut self, v: Val) -> Slot {
        let slot = self.b.slot(self.b.ty(v));
        self.b.write(slot, v);
        slot
    }

    /// Lanes picked from those of two vectors.
    fn picked(&mut self, a: Val, b: Val, lanes: impl Iterator<Item = u32>) -> Val {
        let lanes: SmallVec<[u32; 8]> = lanes.collect();
        let ty = Ty { lanes: lanes.len() as u32, ..self.b.ty(a) };
        self.b.pure(ty, Inst::Shuffle(a, b, lanes))
    }

    /// `exact` in a loop, of the lanes of one register at a time; `like` are of the types of what it gives. Operands
    /// go round by a register, and what it gives is queued: after the last round all are in their places.
    fn by_registers<const N: usize, const M: usize>(
        &mut self,
        lanes: u32,
        like: [Val; N],
        of: [Val; M],
        exact: impl FnOnce(&mut Self, [Val; M]) -> [Val; N],
    ) -> [Val; N] {
        let own = self.lanes;
        let operands = of.map(|v| {
            let v = self.b.widen(v, lanes);
            self.slot_of(v)
        });
        let results = like.map(|v| self.slot_of(v));
        let rounds = self.b.index(i64::from(lanes / own));
        self.b.range(rounds, Vec::new(), [&operands[..], &results[..]].concat(), true);
        let of = operands.map(|slot| {
            let all = self.b.read(slot);
            let rest = self.picked(all, all, (own..lanes).chain(0..own));
            self.b.write(slot, rest);
            self.picked(all, all, 0..own)
        });
        let exact = exact(self, of);
        for (slot, value) in results.into_iter().zip(exact) {
            let queue = self.b.read(slot);
            let value = self.b.widen(value, own);
            let value = self.picked(value, value, (0..lanes).map(|n| n % own));
            let queue = self.picked(queue, value, own..lanes + own);
            self.b.write(slot, queue);
        }
        self.b.close();
        results.map(|slot| self.b.read(slot))
    }
}
