//! Exact conversion between binary64 and the narrower float formats, rounding to nearest even.

use crate::DType;

/// Layout of a float format narrower than binary64.
struct Format {
    mantissa: u32,
    exponent: u32,
    /// Without infinities only the all-ones pattern is NaN, and the top exponent holds numbers.
    infinite: bool,
}

fn format(dtype: DType) -> Option<Format> {
    let (exponent, mantissa, infinite) = match dtype {
        DType::F32 => (8, 23, true),
        DType::F16 => (5, 10, true),
        DType::BF16 => (8, 7, true),
        DType::F8E5M2 => (5, 2, true),
        DType::F8E4M3 => (4, 3, false),
        _ => return None,
    };
    Some(Format { mantissa, exponent, infinite })
}

/// Bits of the significand of a float type, the leading one included.
pub fn significand(dtype: DType) -> Option<u32> {
    if dtype == DType::F64 { Some(f64::MANTISSA_DIGITS) } else { format(dtype).map(|f| f.mantissa + 1) }
}

/// Rounds `value` to the float type `dtype` and gives its bits.
///
/// Too large values become infinite, or NaN in a format without infinities. A NaN keeps its sign.
/// `None` where `dtype` is not a float.
pub fn encode(dtype: DType, value: f64) -> Option<u64> {
    if dtype == DType::F64 {
        return Some(value.to_bits());
    }
    let Format { mantissa, exponent, infinite } = format(dtype)?;
    let sign = u64::from(value.is_sign_negative()) << (mantissa + exponent);
    let top = ((1u64 << exponent) - 1) << mantissa;
    let nan = if infinite { top | (1 << (mantissa - 1)) } else { top | ((1 << mantissa) - 1) };
    let overflow = if infinite { top } else { nan };
    if value.is_nan() {
        return Some(sign | nan);
    }
    let bias = (1i64 << (exponent - 1)) - 1;
    let raw = value.abs().to_bits();
    // The exponent of the result's last place; subnormals share the least normal exponent.
    let scale = ((raw >> 52) as i64 - 1023).max(1 - bias);
    let significand = if raw >> 52 == 0 { 0 } else { (raw & ((1 << 52) - 1)) | (1 << 52) };
    let shift = (scale - ((raw >> 52) as i64 - 1023)) + i64::from(52 - mantissa);
    // binary64 subnormals lie far below half of any narrower subnormal, hence significand 0 above.
    let rounded = match shift {
        54.. => 0,
        _ => {
            let (kept, rest, half) = (significand >> shift, significand & ((1 << shift) - 1), 1u64 << (shift - 1));
            kept + u64::from(rest > half || (rest == half && kept & 1 == 1))
        }
    };
    // A carry out of the mantissa moves into the exponent by itself, also from subnormal to normal.
    let bits = (((scale + bias - 1) as u64) << mantissa).saturating_add(rounded);
    let largest = if infinite { top - 1 } else { nan - 1 };
    Some(sign | if value.is_infinite() || bits > largest { overflow } else { bits })
}

/// The exact value of `bits` in the float type `dtype`; `None` where `dtype` is not a float.
pub fn decode(dtype: DType, bits: u64) -> Option<f64> {
    if dtype == DType::F64 {
        return Some(f64::from_bits(bits));
    }
    let Format { mantissa, exponent, infinite } = format(dtype)?;
    let negative = bits >> (mantissa + exponent) & 1 == 1;
    let field = (bits >> mantissa) & ((1 << exponent) - 1);
    let fraction = bits & ((1 << mantissa) - 1);
    let last = field == (1 << exponent) - 1;
    let bias = (1i32 << (exponent - 1)) - 1;
    let magnitude = if last && infinite {
        if fraction == 0 { f64::INFINITY } else { f64::NAN }
    } else if last && fraction == (1 << mantissa) - 1 {
        f64::NAN
    } else {
        let (significand, power) = match field {
            0 => (fraction, 1 - bias),
            _ => (fraction | (1 << mantissa), field as i32 - bias),
        };
        significand as f64 * exp2i(power - mantissa as i32)
    };
    Some(if negative { -magnitude } else { magnitude })
}

/// `value` rounded to `dtype`, as binary64; `None` where `dtype` is not a float.
pub fn round_to(dtype: DType, value: f64) -> Option<f64> {
    decode(dtype, encode(dtype, value)?)
}

/// An integer as binary64, rounded to odd where it does not fit, so that a second rounding to a
/// narrower format is as exact as a single one (Boldo and Melquiond, 2008).
pub(crate) fn from_int_to_odd(value: i128) -> f64 {
    let magnitude = value.unsigned_abs();
    let excess = (128 - magnitude.leading_zeros()).saturating_sub(53);
    let lost = magnitude & ((1 << excess) - 1) != 0;
    let kept = ((magnitude >> excess) | u128::from(lost)) << excess;
    if value < 0 { -(kept as f64) } else { kept as f64 }
}

/// `a + b` in binary64, rounded to odd; see [`from_int_to_odd`].
pub(crate) fn add_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if !sum.is_finite() {
        return sum;
    }
    // Knuth's two-sum: `error` is exactly what the addition lost.
    let t = sum - a;
    let error = (a - (sum - t)) + (b - t);
    if error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    if error > 0.0 { sum.next_up() } else { sum.next_down() }
}

/// 2 to the power `e`, for normal binary64 exponents.
fn exp2i(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use half::{bf16, f16};
    use proptest::prelude::*;

    #[test]
    fn every_small_float_round_trips() {
        for dtype in [DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2] {
            for bits in 0..1u64 << dtype.bits() {
                let value = decode(dtype, bits).unwrap();
                let back = encode(dtype, value).unwrap();
                assert!(back == bits || value.is_nan(), "{dtype} {bits:#x} {value} {back:#x}");
                assert_eq!(decode(dtype, back).unwrap().is_nan(), value.is_nan());
            }
        }
        for bits in 0..=u16::MAX {
            let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
            assert!(same(decode(DType::F16, bits.into()).unwrap(), f16::from_bits(bits).to_f64()));
            assert!(same(decode(DType::BF16, bits.into()).unwrap(), bf16::from_bits(bits).to_f64()));
        }
    }

    #[test]
    fn known_values() {
        let e4m3 = |v| encode(DType::F8E4M3, v).unwrap();
        assert_eq!([e4m3(448.0), e4m3(464.0), e4m3(465.0), e4m3(-1.0)], [0x7e, 0x7e, 0x7f, 0xb8]);
        assert_eq!([e4m3(f64::INFINITY), e4m3(2f64.powi(-9)), e4m3(2f64.powi(-10))], [0x7f, 1, 0]);
        let e5m2 = |v| encode(DType::F8E5M2, v).unwrap();
        assert_eq!([e5m2(57344.0), e5m2(61440.0), e5m2(61439.0)], [0x7b, 0x7c, 0x7b]);
        // Just above a tie: a detour by binary32 would round down.
        assert_eq!(encode(DType::F16, 1.0 + 2f64.powi(-11) + 2f64.powi(-40)), Some(0x3c01));
        assert_eq!(encode(DType::F32, 5e-324), Some(0));
        assert_eq!(encode(DType::I32, 1.0), None);
    }

    proptest! {
        #[test]
        fn agrees_with_hardware(bits: u64, small: u32) {
            let (v, s) = (f64::from_bits(bits), f32::from_bits(small));
            prop_assume!(!v.is_nan() && !s.is_nan());
            prop_assert_eq!(encode(DType::F32, v).unwrap(), u64::from((v as f32).to_bits()));
            prop_assert_eq!(encode(DType::F32, s.into()).unwrap(), u64::from(small));
            prop_assert_eq!(encode(DType::F16, s.into()).unwrap(), u64::from(f16::from_f32(s).to_bits()));
            prop_assert_eq!(encode(DType::BF16, s.into()).unwrap(), u64::from(bf16::from_f32(s).to_bits()));
        }

        #[test]
        fn integers_round_once(v: i64, w: u64) {
            prop_assert_eq!(from_int_to_odd(v.into()) as f32, v as f32);
            prop_assert_eq!(from_int_to_odd(w.into()) as f32, w as f32);
        }

        #[test]
        fn sums_round_once(a: f32, b: f32, c: f32) {
            let fused = add_to_odd(f64::from(a) * f64::from(b), c.into()) as f32;
            let expected = a.mul_add(b, c);
            prop_assert!(fused.to_bits() == expected.to_bits() || expected.is_nan());
        }
    }
}
