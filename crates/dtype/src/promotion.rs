//! The dtype of an operation whose operands differ.

use crate::DType::{self, BF16, Bool, C64, C128, F8E4M3, F8E5M2, F16, F32, F64, Index, Void};

/// The dtype of a float for which nobody named one.
pub const DEFAULT_FLOAT: DType = F32;
/// The dtype of an integer for which nobody named one.
pub const DEFAULT_INT: DType = DType::I64;
/// The dtype of a complex number for which nobody named one.
pub const DEFAULT_COMPLEX: DType = C64;

/// The kind of a Python scalar, which takes the dtype of the tensor it meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Weak {
    /// `True` or `False`.
    Bool,
    /// A Python `int`.
    Int,
    /// A Python `float`.
    Float,
    /// A Python `complex`.
    Complex,
}

/// The common dtype of two tensors, as the Python array API standard says.
///
/// Where the standard leaves the result open: `Bool` takes the other dtype; `U64` with a signed
/// integer is `F64`, as in NumPy; an integer with a float or a complex type is that, as in PyTorch; two float
/// formats of which neither holds the other meet in the narrowest that holds both. `None` where
/// there is no common dtype: `Void`, and `Index` with anything else.
pub fn promote(a: DType, b: DType) -> Option<DType> {
    if a == b {
        return Some(a);
    }
    Some(match (a, b) {
        (Void | Index, _) | (_, Void | Index) => return None,
        (Bool, other) | (other, Bool) => other,
        (C64 | C128, _) | (_, C64 | C128) => join_complex(a, b),
        _ => match (a.is_float(), b.is_float()) {
            (true, true) => join_floats(a, b),
            (true, false) => a,
            (false, true) => b,
            (false, false) => join_ints(a, b),
        },
    })
}

/// The dtype of a tensor of dtype `dtype` combined with a Python scalar.
///
/// A scalar of a higher kind than the tensor's gives the default dtype of that kind. `None` for
/// `Void`, and for `Index` with a float or a complex number.
pub fn promote_weak(dtype: DType, scalar: Weak) -> Option<DType> {
    match (dtype, scalar) {
        (Void, _) | (Index, Weak::Float | Weak::Complex) => None,
        (Bool, Weak::Int) => Some(DEFAULT_INT),
        (_, Weak::Float) if !dtype.is_float() && !dtype.is_complex() => Some(DEFAULT_FLOAT),
        (F64 | C128, Weak::Complex) => Some(C128),
        (_, Weak::Complex) => Some(DEFAULT_COMPLEX),
        _ => Some(dtype),
    }
}

fn join_floats(a: DType, b: DType) -> DType {
    match (a.max(b), a.min(b)) {
        (F8E5M2, F8E4M3) => F16,
        (F8E4M3 | F8E5M2, wide) => wide,
        (BF16, F16) => F32,
        (wide, _) => wide,
    }
}

/// Of which one at least is complex.
fn join_complex(a: DType, b: DType) -> DType {
    if [a, b].iter().any(|d| matches!(d, F64 | C128)) { C128 } else { C64 }
}

fn join_ints(a: DType, b: DType) -> DType {
    if a.is_signed() == b.is_signed() {
        return if a.bits() > b.bits() { a } else { b };
    }
    let (signed, unsigned) = if a.is_signed() { (a, b) } else { (b, a) };
    match signed.bits().max(2 * unsigned.bits()) {
        16 => DType::I16,
        32 => DType::I32,
        64 => DType::I64,
        _ => F64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DType::*;

    #[test]
    fn mixed_operands() {
        let table = [
            (I8, I32, Some(I32)),
            (U8, U64, Some(U64)),
            (I8, U8, Some(I16)),
            (I32, U8, Some(I32)),
            (I32, U32, Some(I64)),
            (I8, U64, Some(F64)),
            (I64, F16, Some(F16)),
            (Bool, U16, Some(U16)),
            (F32, F64, Some(F64)),
            (F16, BF16, Some(F32)),
            (F8E4M3, BF16, Some(BF16)),
            (F8E4M3, F8E5M2, Some(F16)),
            (F8E5M2, F64, Some(F64)),
            (C64, C128, Some(C128)),
            (C64, F64, Some(C128)),
            (C64, F16, Some(C64)),
            (C64, I64, Some(C64)),
            (C128, Bool, Some(C128)),
            (Index, C64, None),
            (Index, I64, None),
            (Void, F32, None),
        ];
        for (a, b, expected) in table {
            assert_eq!(promote(a, b), expected, "{a} {b}");
            assert_eq!(promote(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn promotion_holds_both_operands() {
        for &a in DType::ALL {
            for &b in DType::ALL {
                let Some(c) = promote(a, b) else { continue };
                assert_eq!(promote(a, c), Some(c), "{a} {b}");
            }
        }
    }

    #[test]
    fn python_scalars_are_weak() {
        assert_eq!(promote_weak(F16, Weak::Float), Some(F16));
        assert_eq!(promote_weak(U8, Weak::Int), Some(U8));
        assert_eq!(promote_weak(I64, Weak::Float), Some(F32));
        assert_eq!(promote_weak(Bool, Weak::Int), Some(I64));
        assert_eq!(promote_weak(Bool, Weak::Bool), Some(Bool));
        assert_eq!(promote_weak(C64, Weak::Float), Some(C64));
        assert_eq!(promote_weak(F64, Weak::Complex), Some(C128));
        assert_eq!(promote_weak(I64, Weak::Complex), Some(C64));
        assert_eq!(promote_weak(Void, Weak::Bool), None);
    }
}
