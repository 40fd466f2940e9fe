//! Keys that ascend as unsigned integers in the order in which values are sorted, and back.
//!
//! Of a float's bits all are flipped where the sign is set, else only the sign (Herf 2001). Every NaN
//! has the greatest key. Where the order descends, all bits of the key are flipped.

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, ExprPool};

/// How the values of a type become keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderKey {
    pub dtype: DType,
    pub descending: bool,
}

impl OrderKey {
    /// The keys' type.
    pub fn key(self) -> DType {
        match self.dtype.bytes() {
            1 => DType::U8,
            2 => DType::U16,
            4 => DType::U32,
            _ => DType::U64,
        }
    }

    fn signed(self) -> DType {
        match self.dtype.bytes() {
            1 => DType::I8,
            2 => DType::I16,
            4 => DType::I32,
            _ => DType::I64,
        }
    }

    /// The key whose highest bit alone is set.
    fn sign(self) -> Const {
        Const::from_bits(self.key(), 1 << (self.key().bits() - 1))
    }

    /// The key of a value. With `equal_zeros` those of both signs have one.
    pub fn encode(self, pool: &mut ExprPool, value: ExprId, equal_zeros: bool) -> ExprId {
        let key = self.key();
        let sign = pool.constant(self.sign());
        let ones = pool.constant(Const::max_value(key));
        let mut code = match self.dtype {
            DType::Bool => pool.cast(key, value),
            d if d.is_unsigned() => value,
            d if d.is_int() => {
                let bits = bitcast(pool, key, value);
                pool.alu(Alu::Xor, &[bits, sign])
            }
            _ => {
                let bits = bitcast(pool, key, value);
                let negative = self.spread(pool, bits);
                let flips = pool.alu(Alu::Or, &[negative, sign]);
                let code = pool.alu(Alu::Xor, &[bits, flips]);
                let code = if equal_zeros {
                    let minus_zero = pool.alu(Alu::Eq, &[bits, sign]);
                    pool.alu(Alu::Where, &[minus_zero, sign, code])
                } else {
                    code
                };
                let is_nan = pool.alu(Alu::Ne, &[value, value]);
                pool.alu(Alu::Where, &[is_nan, ones, code])
            }
        };
        if self.descending {
            code = pool.alu(Alu::Xor, &[code, ones]);
        }
        code
    }

    /// The value of a key: a NaN without sign for any NaN.
    pub fn decode(self, pool: &mut ExprPool, code: ExprId) -> ExprId {
        let sign = pool.constant(self.sign());
        let ones = pool.constant(Const::max_value(self.key()));
        let code = if self.descending { pool.alu(Alu::Xor, &[code, ones]) } else { code };
        match self.dtype {
            DType::Bool => pool.cast(DType::Bool, code),
            d if d.is_unsigned() => code,
            d if d.is_int() => {
                let bits = pool.alu(Alu::Xor, &[code, sign]);
                bitcast(pool, d, bits)
            }
            d => {
                let positive = self.spread(pool, code);
                let negative = pool.alu(Alu::Xor, &[positive, ones]);
                let flips = pool.alu(Alu::Or, &[negative, sign]);
                let bits = pool.alu(Alu::Xor, &[code, flips]);
                bitcast(pool, d, bits)
            }
        }
    }

    /// The highest bit in every bit.
    fn spread(self, pool: &mut ExprPool, bits: ExprId) -> ExprId {
        let signed = bitcast(pool, self.signed(), bits);
        let width = pool.constant(Const::i64(self.signed(), i64::from(self.key().bits()) - 1));
        let spread = pool.alu(Alu::Shr, &[signed, width]);
        bitcast(pool, self.key(), spread)
    }
}

fn bitcast(pool: &mut ExprPool, to: DType, value: ExprId) -> ExprId {
    if pool.dtype(value) == to { value } else { pool.add(Expr::Bitcast(to, value), to) }
}
