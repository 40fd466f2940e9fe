//! The table of element types.

use std::fmt;
use std::str::FromStr;

/// What sort of number a [`DType`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A truth value.
    Bool,
    /// A two's complement integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// A binary floating-point number.
    Float,
    /// A complex number: two floats side by side, the real part first.
    Complex,
    /// No value at all.
    Void,
}

macro_rules! dtypes {
    ($($variant:ident $name:literal $short:literal $bytes:literal $kind:ident $doc:literal;)*) => {
        /// The type of one element.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DType { $(#[doc = $doc] $variant,)* }

        impl DType {
            /// Every dtype, in declaration order.
            pub const ALL: &[DType] = &[$(DType::$variant,)*];

            /// The NumPy-like name, such as `float32`.
            pub const fn name(self) -> &'static str {
                match self { $(DType::$variant => $name,)* }
            }

            /// The short name used in IR text, such as `f32`.
            pub const fn short(self) -> &'static str {
                match self { $(DType::$variant => $short,)* }
            }

            /// Size of one element in bytes; 0 for [`DType::Void`].
            pub const fn bytes(self) -> usize {
                match self { $(DType::$variant => $bytes,)* }
            }

            /// The sort of number this is.
            pub const fn kind(self) -> Kind {
                match self { $(DType::$variant => Kind::$kind,)* }
            }
        }
    };
}

dtypes! {
    Bool   "bool"          "bool"  1 Bool     "Truth value, stored as a byte that is 0 or 1.";
    I8     "int8"          "i8"    1 Signed   "8-bit signed integer.";
    I16    "int16"         "i16"   2 Signed   "16-bit signed integer.";
    I32    "int32"         "i32"   4 Signed   "32-bit signed integer.";
    I64    "int64"         "i64"   8 Signed   "64-bit signed integer.";
    U8     "uint8"         "u8"    1 Unsigned "8-bit unsigned integer.";
    U16    "uint16"        "u16"   2 Unsigned "16-bit unsigned integer.";
    U32    "uint32"        "u32"   4 Unsigned "32-bit unsigned integer.";
    U64    "uint64"        "u64"   8 Unsigned "64-bit unsigned integer.";
    F16    "float16"       "f16"   2 Float    "IEEE 754 binary16.";
    BF16   "bfloat16"      "bf16"  2 Float    "The upper half of binary32.";
    F32    "float32"       "f32"   4 Float    "IEEE 754 binary32.";
    F64    "float64"       "f64"   8 Float    "IEEE 754 binary64.";
    F8E4M3 "float8_e4m3fn" "f8e4m3" 1 Float   "8-bit float, 4 exponent bits, no infinities, largest value 448 (OCP OFP8).";
    F8E5M2 "float8_e5m2"   "f8e5m2" 1 Float   "8-bit float, 5 exponent bits, with infinities (OCP OFP8).";
    C64    "complex64"     "c64"   8 Complex  "Complex number of two binary32.";
    C128   "complex128"    "c128" 16 Complex  "Complex number of two binary64.";
    Index  "index"         "index" 8 Signed   "Integer of loop counters and addresses; 64 bits wide, never an element of a tensor.";
    Void   "void"          "void"  0 Void     "The type of operations that yield no value.";
}

impl DType {
    /// Width of one element in bits; a `Bool` occupies 8.
    pub const fn bits(self) -> u32 {
        self.bytes() as u32 * 8
    }

    /// True for floating-point types.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float)
    }

    /// True for complex types.
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), Kind::Complex)
    }

    /// True for floating-point and complex types: those that have derivatives.
    pub const fn is_inexact(self) -> bool {
        matches!(self.kind(), Kind::Float | Kind::Complex)
    }

    /// True for what kernels compute with: the bools, integers and floats that tensors have.
    pub const fn is_real(self) -> bool {
        !matches!(self, DType::C64 | DType::C128 | DType::Index | DType::Void)
    }

    /// The type of the real and the imaginary part of a complex type; any other type itself.
    pub const fn real(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            real => real,
        }
    }

    /// The complex type of whose parts this is the type.
    pub const fn complex(self) -> Option<DType> {
        match self {
            DType::F32 => Some(DType::C64),
            DType::F64 => Some(DType::C128),
            _ => None,
        }
    }

    /// True for integers, signed, unsigned or [`DType::Index`]; `Bool` is not one.
    pub const fn is_int(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned)
    }

    /// True for signed integers.
    pub const fn is_signed(self) -> bool {
        matches!(self.kind(), Kind::Signed)
    }

    /// True for unsigned integers.
    pub const fn is_unsigned(self) -> bool {
        matches!(self.kind(), Kind::Unsigned)
    }

    /// True for `Bool`.
    pub const fn is_bool(self) -> bool {
        matches!(self.kind(), Kind::Bool)
    }

    /// The least and greatest value of an integer type or `Bool`; `None` for others.
    pub const fn int_range(self) -> Option<(i128, i128)> {
        match self.kind() {
            Kind::Bool => Some((0, 1)),
            Kind::Signed => Some((-(1i128 << (self.bits() - 1)), (1i128 << (self.bits() - 1)) - 1)),
            Kind::Unsigned => Some((0, (1i128 << self.bits()) - 1)),
            Kind::Float | Kind::Complex | Kind::Void => None,
        }
    }

    /// The bits that a constant of this type may set: none of complex types, whose only constant is 0.
    pub(crate) const fn mask(self) -> u64 {
        match self {
            DType::Bool => 1,
            DType::C64 | DType::C128 => 0,
            _ => match self.bits() {
                0 => 0,
                bits => u64::MAX >> (64 - bits),
            },
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no dtype has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown dtype '{0}'")]
pub struct ParseDTypeError(pub String);

impl FromStr for DType {
    type Err = ParseDTypeError;

    /// Reads a long or a short name.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        DType::ALL
            .iter()
            .copied()
            .find(|d| d.name() == text || d.short() == text)
            .ok_or_else(|| ParseDTypeError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_parse_back() {
        for &d in DType::ALL {
            assert_eq!(d.to_string().parse::<DType>().unwrap(), d);
            assert_eq!(d.short().parse::<DType>().unwrap(), d);
        }
        assert_eq!("float33".parse::<DType>().unwrap_err().to_string(), "unknown dtype 'float33'");
    }

    #[test]
    fn ranges() {
        assert_eq!(DType::I8.int_range(), Some((-128, 127)));
        assert_eq!(DType::U64.int_range(), Some((0, u64::MAX.into())));
        assert_eq!(DType::F32.int_range(), None);
        assert_eq!((DType::Index.bits(), DType::Index.is_signed()), (64, true));
    }

    #[test]
    fn complex_types_and_their_parts() {
        for d in [DType::F32, DType::F64] {
            let complex = d.complex().unwrap();
            assert!(complex.is_complex() && !complex.is_float());
            assert_eq!((complex.real(), complex.bytes()), (d, 2 * d.bytes()));
        }
        assert_eq!((DType::I8.real(), DType::I8.complex(), DType::C64.complex()), (DType::I8, None, None));
    }
}
