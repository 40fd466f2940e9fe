//! A scalar constant of a given dtype.

use std::fmt;
use std::str::FromStr;

use crate::float::{decode, encode, from_int_to_odd};
use crate::{DType, Kind};

/// One value of type `dtype`, keyed by its bits: 0.0 and -0.0 differ, and each NaN equals itself.
///
/// The bits are those in memory, zero-extended to 64; unused high bits are always 0.
/// The derived order is a structural one, not that of the numbers. The only constant of a complex type is 0: others are
/// pairs of real ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Const {
    dtype: DType,
    bits: u64,
}

impl Const {
    /// The constant whose memory holds the low bits of `bits`.
    pub const fn from_bits(dtype: DType, bits: u64) -> Self {
        Const { dtype, bits: bits & dtype.mask() }
    }

    /// `value` rounded to a float `dtype`, or cast to any other as [`Const::cast`] does.
    pub fn f64(dtype: DType, value: f64) -> Self {
        match encode(dtype, value) {
            Some(bits) => Const { dtype, bits },
            None => Const { dtype: DType::F64, bits: value.to_bits() }.cast(dtype),
        }
    }

    /// `value` wrapped to an integer `dtype`, or cast to any other as [`Const::cast`] does.
    pub fn i64(dtype: DType, value: i64) -> Self {
        Self::from_i128(dtype, value.into())
    }

    /// A truth value of dtype `Bool`.
    pub const fn bool(value: bool) -> Self {
        Const { dtype: DType::Bool, bits: value as u64 }
    }

    /// 0 in `dtype`, the identity of a sum.
    pub const fn zero(dtype: DType) -> Self {
        Const { dtype, bits: 0 }
    }

    /// 1 in `dtype`, the identity of a product.
    pub fn one(dtype: DType) -> Self {
        Self::i64(dtype, 1)
    }

    /// The least value, the identity of `max`: -inf where the dtype has one.
    pub fn min_value(dtype: DType) -> Self {
        match dtype.int_range() {
            Some((least, _)) => Self::from_i128(dtype, least),
            None if dtype == DType::F8E4M3 => Self::f64(dtype, -448.0),
            None => Self::f64(dtype, f64::NEG_INFINITY),
        }
    }

    /// The greatest value, the identity of `min`: +inf where the dtype has one.
    pub fn max_value(dtype: DType) -> Self {
        match dtype.int_range() {
            Some((_, greatest)) => Self::from_i128(dtype, greatest),
            None if dtype == DType::F8E4M3 => Self::f64(dtype, 448.0),
            None => Self::f64(dtype, f64::INFINITY),
        }
    }

    /// The greatest finite value.
    pub fn max_finite(dtype: DType) -> Self {
        let max = Self::max_value(dtype);
        match dtype.is_float() && max.as_f64().is_infinite() {
            true => Const { dtype, bits: max.bits - 1 },
            false => max,
        }
    }

    /// The type of the value.
    pub const fn dtype(self) -> DType {
        self.dtype
    }

    /// The value's bits in memory, zero-extended.
    pub const fn bits(self) -> u64 {
        self.bits
    }

    /// The value as binary64: exact for floats, rounded for large integers.
    pub fn as_f64(self) -> f64 {
        match decode(self.dtype, self.bits) {
            Some(value) => value,
            None => self.as_i128() as f64,
        }
    }

    /// The value as a 64-bit integer: integers wrap, floats truncate and saturate, NaN is 0.
    pub fn as_i64(self) -> i64 {
        match decode(self.dtype, self.bits) {
            Some(value) => value as i64,
            None => self.as_i128() as i64,
        }
    }

    /// True where the value is not zero; NaN is true.
    pub fn as_bool(self) -> bool {
        match decode(self.dtype, self.bits) {
            Some(value) => value != 0.0,
            None => self.bits != 0,
        }
    }

    /// The value as an integer that is exact for every integer dtype; floats truncate and saturate.
    pub fn as_i128(self) -> i128 {
        match self.dtype.kind() {
            Kind::Signed => {
                let unused = 64 - self.dtype.bits();
                (((self.bits << unused) as i64) >> unused).into()
            }
            Kind::Float => self.as_f64() as i128,
            Kind::Bool | Kind::Unsigned | Kind::Complex | Kind::Void => self.bits.into(),
        }
    }

    /// True for a float that is NaN.
    pub fn is_nan(self) -> bool {
        self.dtype.is_float() && self.as_f64().is_nan()
    }

    /// The value in another dtype.
    ///
    /// Float to integer truncates and saturates, NaN gives 0; integers wrap; anything to `Bool` is
    /// `!= 0`; to a float rounds once, to nearest even.
    pub fn cast(self, to: DType) -> Self {
        if self.dtype == to {
            return self;
        }
        match to.kind() {
            Kind::Bool => Self::bool(self.as_bool()),
            Kind::Complex | Kind::Void => Self::zero(to),
            Kind::Float if self.dtype.is_float() => Self::f64(to, self.as_f64()),
            Kind::Float | Kind::Signed | Kind::Unsigned => match to.int_range() {
                Some((least, greatest)) if self.dtype.is_float() => {
                    Self::from_i128(to, self.as_i128().clamp(least, greatest))
                }
                _ => Self::from_i128(to, self.as_i128()),
            },
        }
    }

    /// The same bits read as another dtype of the same width; `None` where widths differ, or where
    /// the bits are no `Bool`.
    pub fn bitcast(self, to: DType) -> Option<Self> {
        let fits = self.dtype.bits() == to.bits() && self.bits <= to.mask();
        fits.then_some(Const { dtype: to, bits: self.bits })
    }

    /// The value's bytes in memory, little endian: the first [`DType::bytes`] of sixteen.
    pub const fn to_le_bytes(self) -> [u8; 16] {
        (self.bits as u128).to_le_bytes()
    }

    /// `value` wrapped to an integer dtype, rounded to a float one, `!= 0` for `Bool`.
    pub(crate) fn from_i128(dtype: DType, value: i128) -> Self {
        match dtype.kind() {
            Kind::Bool => Self::bool(value != 0),
            Kind::Complex | Kind::Void => Self::zero(dtype),
            Kind::Signed | Kind::Unsigned => Self::from_bits(dtype, value as u64),
            Kind::Float if dtype == DType::F64 => Self::f64(dtype, value as f64),
            Kind::Float => Self::f64(dtype, from_int_to_odd(value)),
        }
    }

    /// The bits of the NaN that operations give.
    fn canonical_nan(dtype: DType) -> Option<u64> {
        encode(dtype, f64::NAN)
    }
}

/// Prints the value alone, such as `1.5`, `-3`, `true`, `nan`; a NaN other than the usual one as
/// its bits, `nan:0xffc00000`.
struct Value(Const);

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = self.0;
        match c.dtype.kind() {
            Kind::Void => Ok(()),
            Kind::Complex => f.write_str("0"),
            Kind::Bool => write!(f, "{}", c.bits != 0),
            Kind::Signed | Kind::Unsigned => write!(f, "{}", c.as_i128()),
            Kind::Float if c.is_nan() => match Const::canonical_nan(c.dtype) {
                Some(bits) if bits == c.bits => f.write_str("nan"),
                _ => write!(f, "nan:{:#x}", c.bits),
            },
            Kind::Float if c.dtype == DType::F64 => write!(f, "{:?}", c.as_f64()),
            // Every narrower float is a binary32 number, whose shortest digits read back exactly.
            Kind::Float => write!(f, "{:?}", c.as_f64() as f32),
        }
    }
}

impl Const {
    /// The value without its dtype, for messages and generated source: `1.5`, `-3`, `true`, `nan`.
    pub fn value(self) -> impl fmt::Display {
        Value(self)
    }
}

impl fmt::Display for Const {
    /// `f32(1.5)`, `i64(-3)`, `bool(true)`; parses back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.dtype.short(), Value(*self))
    }
}

impl fmt::Debug for Const {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text that is not a constant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a constant such as f32(1.5), or does not fit its dtype")]
pub struct ParseConstError(pub String);

impl FromStr for Const {
    type Err = ParseConstError;

    /// Reads the form that `Display` writes; a dtype's long name will do too.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (name, rest) = text.split_once('(')?;
            let (dtype, value) = (name.parse::<DType>().ok()?, rest.strip_suffix(')')?);
            match dtype.kind() {
                Kind::Void => value.is_empty().then_some(Const::zero(dtype)),
                Kind::Complex => (value == "0").then_some(Const::zero(dtype)),
                Kind::Bool => value.parse().ok().map(Const::bool),
                Kind::Signed | Kind::Unsigned => {
                    let (least, greatest) = dtype.int_range()?;
                    let value = value.parse::<i128>().ok()?;
                    (least..=greatest).contains(&value).then_some(Const::from_i128(dtype, value))
                }
                Kind::Float => match value.strip_prefix("nan:0x") {
                    Some(bits) => {
                        let bits = u64::from_str_radix(bits, 16).ok()?;
                        let nan = Const::from_bits(dtype, bits);
                        (nan.bits == bits && nan.is_nan()).then_some(nan)
                    }
                    None => Some(Const::f64(dtype, value.parse().ok()?)),
                },
            }
        };
        parse().ok_or_else(|| ParseConstError(text.to_owned()))
    }
}
