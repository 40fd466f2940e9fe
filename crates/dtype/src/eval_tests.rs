#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use DType::*;

fn i(dtype: DType, value: i64) -> Const {
    Const::i64(dtype, value)
}

fn f(dtype: DType, value: f64) -> Const {
    Const::f64(dtype, value)
}

type Binary = fn(Const, Const) -> Option<Const>;

#[test]
fn integer_corners() {
    let table: &[(Binary, DType, i64, i64, i64)] = &[
        (add, I8, 127, 1, -128),
        (sub, U8, 0, 1, 255),
        (mul, I32, i32::MAX as i64, 2, -2),
        (mul, U64, -1, -1, 1),
        (idiv, I32, 7, -2, -3),
        (idiv, I32, 7, 0, 0),
        (idiv, I8, -128, -1, -128),
        (mod_trunc, I32, -7, 2, -1),
        (mod_trunc, I64, i64::MIN, -1, 0),
        (mod_trunc, I32, 7, 0, 0),
        (floordiv, I32, -7, 2, -4),
        (floordiv, I32, 7, -2, -4),
        (floordiv, I32, -8, -2, 4),
        (floordiv, I64, i64::MIN, -1, i64::MIN),
        (floordiv, U8, 250, 0, 0),
        (floormod, I32, -7, 2, 1),
        (floormod, I32, 7, -2, -1),
        (floormod, I32, 7, 0, 0),
        (pow, I32, 3, 4, 81),
        (pow, I32, 2, -1, 0),
        (pow, I32, -1, -3, -1),
        (pow, U8, 2, 8, 0),
        (shl, I32, 1, 31, i32::MIN as i64),
        (shl, I32, 1, 32, 0),
        (shl, I32, 1, -1, 0),
        (shr, I32, -8, 1, -4),
        (shr, I32, -8, 32, 0),
        (min, I8, -1, 1, -1),
        (max, U8, -1, 1, 255),
        (xor, I16, -1, 1, -2),
    ];
    for &(op, dtype, a, b, expected) in table {
        assert_eq!(op(i(dtype, a), i(dtype, b)), Some(i(dtype, expected)), "{dtype} {a} {b}");
    }
    assert_eq!(neg(i(I8, -128)), Some(i(I8, -128)));
    assert_eq!(abs(i(I8, -128)), Some(i(I8, -128)));
    assert_eq!(not(i(U8, 1)), Some(i(U8, 254)));
    assert_eq!(not(Const::bool(true)), Some(Const::bool(false)));
}

#[test]
fn float_corners() {
    let nan = f(F32, f64::NAN);
    assert_eq!(min(nan, f(F32, 1.0)), Some(nan));
    assert_eq!(max(f(F32, 1.0), nan), Some(nan));
    assert_eq!(max(f(F32, -0.0), f(F32, 0.0)), Some(f(F32, 0.0)));
    assert_eq!(cmp_lt(nan, nan), Some(Const::bool(false)));
    assert_eq!(cmp_ne(nan, nan), Some(Const::bool(true)));
    assert_eq!(cmp_eq(f(F32, -0.0), f(F32, 0.0)), Some(Const::bool(true)));
    assert_eq!(round(f(F64, 2.5)), Some(f(F64, 2.0)));
    assert_eq!(floordiv(f(F64, -7.5), f(F64, 2.0)), Some(f(F64, -4.0)));
    assert_eq!(floormod(f(F64, -7.5), f(F64, 2.0)), Some(f(F64, 0.5)));
    assert_eq!(floordiv(f(F64, 1.0), f(F64, 0.0)), Some(f(F64, f64::INFINITY)));
    assert_eq!(floormod(f(F64, 1.0), f(F64, f64::NEG_INFINITY)), Some(f(F64, f64::NEG_INFINITY)));
    assert_eq!(floordiv(f(F64, 1.0), f(F64, f64::NEG_INFINITY)), Some(f(F64, -1.0)));
    assert_eq!(neg(f(F16, 0.0)), Some(f(F16, -0.0)));
    assert_eq!(add(f(F16, 2048.0), f(F16, 1.0)), Some(f(F16, 2048.0)));
    assert_eq!(add(f(BF16, 256.0), f(BF16, 1.0)), Some(f(BF16, 256.0)));
    assert_eq!(exp(f(F16, 20.0)), Some(f(F16, f64::INFINITY)));
    assert_eq!(div(f(F64, 0.0), f(F64, 0.0)), Some(f(F64, f64::NAN)));
}

#[test]
fn casts() {
    assert_eq!(f(F32, 300.0).cast(U8), i(U8, 255));
    assert_eq!(f(F32, -1.5).cast(U8), i(U8, 0));
    assert_eq!(f(F32, -1.5).cast(I8), i(I8, -1));
    assert_eq!(f(F64, f64::NAN).cast(I32), i(I32, 0));
    assert_eq!(f(F64, f64::INFINITY).cast(U64), Const::max_value(U64));
    assert_eq!(f(F64, f64::NEG_INFINITY).cast(I64), Const::min_value(I64));
    assert_eq!(f(F32, f64::NAN).cast(Bool), Const::bool(true));
    assert_eq!(i(I32, 300).cast(U8), i(U8, 44));
    assert_eq!(i(I8, -1).cast(U64), Const::max_value(U64));
    assert_eq!(Const::max_value(U64).cast(F32), f(F32, 2f64.powi(64)));
    assert_eq!(Const::bool(true).cast(BF16), f(BF16, 1.0));
    assert_eq!(f(F32, 1.0).bitcast(I32), Some(i(I32, 0x3f80_0000)));
    assert_eq!(f(F32, 1.0).bitcast(I64), None);
}

#[test]
fn identities() {
    for &d in DType::ALL.iter().filter(|&&d| d.is_real() || d == Index) {
        let (low, high) = (Const::min_value(d), Const::max_value(d));
        for c in [low, high, Const::zero(d), Const::one(d), Const::max_finite(d)] {
            assert_eq!(max(low, c), Some(c), "{d}");
            assert_eq!(min(high, c), Some(c), "{d}");
            assert_eq!(add(Const::zero(d), c), Some(c), "{d}");
            assert_eq!(mul(Const::one(d), c), Some(c), "{d}");
        }
    }
    assert_eq!(Const::max_finite(F32).as_f64(), f64::from(f32::MAX));
    assert_eq!(Const::max_finite(F8E4M3).as_f64(), 448.0);
}

#[test]
fn ill_typed_operands_have_no_value() {
    assert_eq!(add(i(I32, 1), i(I64, 1)), None);
    assert_eq!(sub(Const::bool(true), Const::bool(true)), None);
    assert_eq!(div(i(I32, 1), i(I32, 1)), None);
    assert_eq!(idiv(f(F32, 1.0), f(F32, 1.0)), None);
    assert_eq!(exp(i(I32, 1)), None);
    assert_eq!(and(f(F32, 1.0), f(F32, 1.0)), None);
    assert_eq!(shl(Const::bool(true), i(I32, 1)), None);
    assert_eq!(where_(i(I32, 1), i(I32, 1), i(I32, 2)), None);
    assert_eq!(add(Const::zero(Void), Const::zero(Void)), None);
}

#[test]
fn text() {
    let samples = [
        (f(F32, 1.5), "f32(1.5)"),
        (f(F32, 0.1), "f32(0.1)"),
        (f(F64, -0.0), "f64(-0.0)"),
        (f(F16, f64::NEG_INFINITY), "f16(-inf)"),
        (f(F32, f64::NAN), "f32(nan)"),
        (Const::from_bits(F32, 0xffc0_0000), "f32(nan:0xffc00000)"),
        (i(I64, i64::MIN), "i64(-9223372036854775808)"),
        (Const::max_value(U64), "u64(18446744073709551615)"),
        (Const::bool(true), "bool(true)"),
        (Const::zero(Void), "void()"),
        (Const::zero(C128), "c128(0)"),
    ];
    for (c, expected) in samples {
        assert_eq!(c.to_string(), expected);
        assert_eq!(expected.parse::<Const>().unwrap(), c);
    }
    for bad in ["", "f32", "f32(", "i8(128)", "u8(-1)", "f99(1)", "f32(nan:0x1)", "bool(2)", "c64(1)"] {
        assert!(bad.parse::<Const>().is_err(), "{bad}");
    }
}

fn any_const() -> impl Strategy<Value = Const> {
    (prop::sample::select(DType::ALL), any::<u64>()).prop_map(|(d, b)| Const::from_bits(d, b))
}

proptest! {
    #[test]
    fn any_constant_parses_back(c in any_const()) {
        prop_assert_eq!(c.to_string().parse::<Const>(), Ok(c));
    }

    #[test]
    fn casting_to_itself_through_a_wider_type_changes_nothing(c in any_const()) {
        let wide = match c.dtype() {
            d if d.is_float() => F64,
            d if d.is_unsigned() => U64,
            _ => I64,
        };
        if c.dtype() != Void && !c.is_nan() {
            prop_assert_eq!(c.cast(wide).cast(c.dtype()), c);
        }
    }

    #[test]
    fn f32_arithmetic_is_the_machines(a: f32, b: f32, c: f32) {
        let k = |v: f32| f(F32, v.into());
        let same = |x: Option<Const>, y: f32| {
            let x = x.unwrap();
            x.bits() == u64::from(y.to_bits()) || (x.is_nan() && y.is_nan())
        };
        prop_assert!(same(add(k(a), k(b)), a + b));
        prop_assert!(same(sub(k(a), k(b)), a - b));
        prop_assert!(same(mul(k(a), k(b)), a * b));
        prop_assert!(same(div(k(a), k(b)), a / b));
        prop_assert!(same(sqrt(k(a)), a.sqrt()));
        prop_assert!(same(mod_trunc(k(a), k(b)), a % b));
        prop_assert!(same(mul_add(k(a), k(b), k(c)), a.mul_add(b, c)));
        prop_assert_eq!(k(a).cast(I32), i(I32, (a as i32).into()));
        prop_assert_eq!(k(a).cast(U64).bits(), a as u64);
    }

    #[test]
    fn i32_arithmetic_is_the_machines(a: i32, b: i32, n in 0u32..32) {
        let k = |v: i32| Some(i(I32, v.into()));
        let (x, y) = (i(I32, a.into()), i(I32, b.into()));
        prop_assert_eq!(add(x, y), k(a.wrapping_add(b)));
        prop_assert_eq!(mul(x, y), k(a.wrapping_mul(b)));
        prop_assert_eq!(idiv(x, y), k(a.checked_div(b).unwrap_or(0)));
        prop_assert_eq!(pow(x, i(I32, n.into())), k(a.wrapping_pow(n)));
        prop_assert_eq!(shl(x, i(U8, n.into())), k(a << n));
        prop_assert_eq!(shr(x, i(U8, n.into())), k(a >> n));
        prop_assert_eq!(x.cast(F32).as_f64(), f64::from(a as f32));
        if b != 0 {
            let back = add(mul(floordiv(x, y).unwrap(), y).unwrap(), floormod(x, y).unwrap());
            prop_assert_eq!(back, Some(x));
        }
    }

    #[test]
    fn every_operation_is_total(a in any_const(), b in any_const(), c in any_const()) {
        let b = b.cast(a.dtype());
        let binary: &[Binary] = &[
            add, sub, mul, div, idiv, floordiv, floormod, mod_trunc, min, max, pow, cmp_lt, cmp_eq,
            cmp_ne, and, or, xor, shl, shr,
        ];
        let unary: &[fn(Const) -> Option<Const>] = &[
            not, neg, abs, sqrt, recip, exp, exp2, log, log2, sin, cos, tan, tanh, erf, floor, ceil,
            round, trunc,
        ];
        let results = binary.iter().map(|op| op(a, b)).chain(unary.iter().map(|op| op(a)));
        for result in results.chain([mul_add(a, b, c.cast(a.dtype()))]).flatten() {
            prop_assert!(result.dtype() == a.dtype() || result.dtype() == Bool);
        }
    }
}
