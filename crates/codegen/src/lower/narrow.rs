//! Narrow floats from and to binary32, in integer arithmetic.

use super::Lowering;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::linear::Val;

/// Layout of a narrow float.
struct Format {
    mantissa: u32,
    exponent: u32,
    /// Without infinities only the all-ones pattern is NaN.
    infinite: bool,
}

impl Format {
    fn of(dtype: DType) -> Format {
        let (exponent, mantissa) = match dtype {
            DType::F16 => (5, 10),
            DType::F8E5M2 => (5, 2),
            DType::F8E4M3 => (4, 3),
            _ => (8, 7),
        };
        Format { mantissa, exponent, infinite: dtype != DType::F8E4M3 }
    }

    fn bias(&self) -> u32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// The least pattern, without its sign, that is no finite number.
    fn top(&self) -> u32 {
        match self.infinite {
            true => ((1 << self.exponent) - 1) << self.mantissa,
            false => (1 << (self.exponent + self.mantissa)) - 1,
        }
    }

    fn nan(&self) -> u32 {
        if self.infinite { self.top() | 1 << (self.mantissa - 1) } else { self.top() }
    }
}

/// The integer type that holds the bits of a narrow float.
fn bits_of(dtype: DType) -> DType {
    if dtype.bytes() == 1 { DType::U8 } else { DType::U16 }
}

impl Lowering<'_> {
    /// The binary32 value of a narrow float.
    pub(super) fn decode(&mut self, v: Val) -> Val {
        let dtype = self.b.ty(v).dtype;
        if dtype == DType::F16 && self.half {
            return self.half_cast(DType::F32, v);
        }
        let bits = self.b.bitcast(bits_of(dtype), v);
        let bits = self.b.cast(DType::U32, bits);
        if dtype == DType::BF16 {
            let bits = self.bits_op(Alu::Shl, bits, 16);
            return self.b.bitcast(DType::F32, bits);
        }
        let format = Format::of(dtype);
        let (width, up) = (format.mantissa + format.exponent, 23 - format.mantissa);
        let sign = self.bits_op(Alu::And, bits, 1 << width);
        let sign = self.bits_op(Alu::Shl, sign, 31 - width);
        let magnitude = self.bits_op(Alu::And, bits, (1 << width) - 1);
        // Moving the exponent's bias is a multiplication, which is exact for subnormals too.
        let moved = self.bits_op(Alu::Shl, magnitude, up);
        let moved_float = self.b.bitcast(DType::F32, moved);
        let scale = self.b.constant(Const::from_bits(DType::F32, u64::from(254 - format.bias()) << 23));
        let finite = self.b.alu(Alu::Mul, &[moved_float, scale]);
        let finite = self.b.bitcast(DType::U32, finite);
        let special = self.bits_op(Alu::Or, moved, if format.infinite { 0x7f80_0000 } else { 0x7fc0_0000 });
        let limit = self.bits(format.top());
        let is_finite = self.b.alu(Alu::Lt, &[magnitude, limit]);
        let value = self.b.alu(Alu::Where, &[is_finite, finite, special]);
        let value = self.b.alu(Alu::Or, &[value, sign]);
        self.b.bitcast(DType::F32, value)
    }

    /// A value in binary32, of which rounding to a narrow float gives the same as rounding the value itself.
    pub(super) fn before_encoding(&mut self, to: DType, v: Val) -> Val {
        let format = Format::of(to);
        match self.b.ty(v).dtype {
            DType::F32 => v,
            DType::F64 => {
                // Two bits more than the format's decide how it rounds. The third keeps what is subnormal in binary32 and
                // not 0 in the format exact.
                let bits = self.b.bitcast(DType::U64, v);
                let odd = self.round_to_odd(52 - (format.mantissa + 3), bits);
                let odd = self.b.bitcast(DType::F64, odd);
                self.b.cast(DType::F32, odd)
            }
            // Integers that binary32 does not have are above 2^24, and beyond all numbers of a small exponent.
            from if from.bits() <= 16 || format.exponent < 8 => self.b.cast(DType::F32, v),
            DType::I32 => {
                let exact = self.of_bits(24, v);
                self.b.cast(DType::F32, exact)
            }
            from => {
                let exact = if from.bits() > 32 { self.of_bits(53, v) } else { v };
                let wide = self.b.cast(DType::F64, exact);
                self.before_encoding(to, wide)
            }
        }
    }

    /// An integer as one that a float of so many significant bits has.
    fn of_bits(&mut self, bits: u32, v: Val) -> Val {
        let dtype = self.b.ty(v).dtype;
        let most = self.b.constant(Const::i64(dtype, (1 << bits) - 1));
        // That of the least integer wraps; it is a power of 2, and exact.
        let size = if dtype.is_signed() { self.b.alu(Alu::Abs, &[v]) } else { v };
        let is_large = self.b.alu(Alu::Lt, &[most, size]);
        let odd = self.round_to_odd(dtype.bits() - bits, v);
        self.b.alu(Alu::Where, &[is_large, odd, v])
    }

    /// An integer, or the bits of a float, without so many of the last bits: where these are not 0, the last one that stays
    /// is 1. Rounding the result is as exact as rounding the value (Boldo and Melquiond, 2008).
    fn round_to_odd(&mut self, dropped: u32, v: Val) -> Val {
        let dtype = self.b.ty(v).dtype;
        let low = self.b.constant(Const::i64(dtype, (1 << dropped) - 1));
        let high = self.b.constant(Const::i64(dtype, -1 << dropped));
        let rest = self.b.alu(Alu::And, &[v, low]);
        let carried = self.b.alu(Alu::Add, &[rest, low]);
        let odd = self.b.alu(Alu::Or, &[v, carried]);
        self.b.alu(Alu::And, &[odd, high])
    }

    /// A binary32 value rounded to a narrow float, to nearest even.
    pub(super) fn encode(&mut self, to: DType, v: Val) -> Val {
        // GPUs of compute capability 8.0 and later round to bf16 in one instruction.
        if (to == DType::F16 && self.half) || (to == DType::BF16 && self.spreads()) {
            return self.half_cast(to, v);
        }
        let format = Format::of(to);
        let (width, down) = (format.mantissa + format.exponent, 23 - format.mantissa);
        let bits = self.b.bitcast(DType::U32, v);
        let sign = self.bits_op(Alu::Shr, bits, 31 - width);
        let sign = self.bits_op(Alu::And, sign, 1 << width);
        let magnitude = self.bits_op(Alu::And, bits, 0x7fff_ffff);
        let is_number = self.b.alu(Alu::Eq, &[v, v]);

        let last = self.bits_op(Alu::Shr, magnitude, down);
        let last = self.bits_op(Alu::And, last, 1);
        let rebias = (127 - format.bias()) << 23;
        let rounded = self.bits_op(Alu::Add, magnitude, ((1u32 << (down - 1)) - 1).wrapping_sub(rebias));
        let rounded = self.b.alu(Alu::Add, &[rounded, last]);
        let mut value = self.bits_op(Alu::Shr, rounded, down);
        if format.exponent < 8 {
            // A float addition rounds subnormals where their last place is.
            let magic = (127 - format.bias() + down + 1) << 23;
            let (float, big) = (self.b.bitcast(DType::F32, magnitude), self.bits(magic));
            let big = self.b.bitcast(DType::F32, big);
            let small = self.b.alu(Alu::Add, &[float, big]);
            let small = self.b.bitcast(DType::U32, small);
            let small = self.bits_op(Alu::Sub, small, magic);
            let least = self.bits(rebias + (1 << 23));
            let is_small = self.b.alu(Alu::Lt, &[magnitude, least]);
            value = self.b.alu(Alu::Where, &[is_small, small, value]);
        }
        let top = self.bits(format.top());
        let value = self.b.alu(Alu::Min, &[value, top]);
        let nan = self.bits(format.nan());
        let value = self.b.alu(Alu::Where, &[is_number, value, nan]);
        let value = self.b.alu(Alu::Or, &[value, sign]);
        let value = self.b.cast(bits_of(to), value);
        self.b.bitcast(to, value)
    }

    fn bits(&mut self, value: u32) -> Val {
        self.b.constant(Const::i64(DType::U32, value.into()))
    }

    fn bits_op(&mut self, op: Alu, v: Val, by: u32) -> Val {
        let by = self.bits(by);
        self.b.alu(op, &[v, by])
    }
}
