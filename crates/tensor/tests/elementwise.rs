#![allow(clippy::unwrap_used)]
//! Functions of each element: types, broadcasting, special values.

mod support;
use support::*;
use svod_tensor::{DType, ErrorKind, Operand, Tensor};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

#[test]
fn functions_of_special_values() {
    let x = t(&[-1.5, -0.0, 0.0, 2.5, f32::NAN, f32::INFINITY], &[6]);
    check(x.neg(), &[6], &[1.5, 0.0, -0.0, -2.5, NAN, -INF]);
    check(x.abs(), &[6], &[1.5, 0.0, 0.0, 2.5, NAN, INF]);
    // The sign of either zero is 0 (array API standard).
    check(x.sign(), &[6], &[-1.0, 0.0, 0.0, 1.0, NAN, 1.0]);
    // Of two zeros of different signs `max` may give either, so -0 is left out.
    let positive = t(&[-1.5, 0.0, 2.5, f32::NAN, f32::INFINITY], &[5]);
    check(positive.relu(), &[5], &[0.0, 0.0, 2.5, NAN, INF]);
    check(x.round(), &[6], &[-2.0, -0.0, 0.0, 2.0, NAN, INF]);
    check(x.trunc(), &[6], &[-1.0, -0.0, 0.0, 2.0, NAN, INF]);
    check(x.isnan(), &[6], &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    check(x.isinf(), &[6], &[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    check(x.isfinite(), &[6], &[1.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
    check(x.sigmoid(), &[6], &[0.182_425_53, 0.5, 0.5, 0.924_141_8, NAN, 1.0]);
    check(x.clamp(Some(Operand::from(-1)), Some(Operand::from(1.0))), &[6], &[-1.0, -0.0, 0.0, 1.0, NAN, 1.0]);
    check(t(&[-200.0], &[1]).sigmoid(), &[1], &[0.0]);
}

#[test]
fn activations() {
    let x = t(&[-1.0, 0.5, 3.0], &[3]);
    check(x.gelu(), &[3], &[-0.158_655_26, 0.345_731_23, 2.995_950_3]);
    check(x.gelu_tanh(), &[3], &[-0.158_808_01, 0.345_714_0, 2.996_362_7]);
    check(x.silu(), &[3], &[-0.268_941_42, 0.311_229_67, 2.857_722_4]);
    check(x.softplus(), &[3], &[0.313_261_69, 0.974_077_0, 3.048_587_4]);
    check(x.leaky_relu(0.1), &[3], &[-0.1, 0.5, 3.0]);
    check(x.lerp(x.neg().unwrap(), 0.25), &[3], &[-0.5, 0.25, 1.5]);
    check(i(&[4, 16], &[2]).rsqrt(), &[2], &[0.5, 0.25]);
}

#[test]
fn scalars_are_weak() {
    let bytes = Tensor::from_slice(&[1u8, 2], &[2]).unwrap();
    assert_eq!((&bytes + 1).unwrap().dtype(), DType::U8);
    assert_eq!((&bytes + 1.5).unwrap().dtype(), DType::F32);
    assert_eq!(bytes.div(2).unwrap().dtype(), DType::F32);
    assert_eq!(bytes.add(i(&[1], &[1])).unwrap().dtype(), DType::I64);
    let half = bytes.cast(DType::F16).unwrap();
    assert_eq!((&half * 2.0).unwrap().dtype(), DType::F16);
    assert_eq!(half.lt(1).unwrap().dtype(), DType::Bool);
    let error = bytes.add(300).unwrap_err();
    assert_eq!(error.to_string(), "add: 300 does not fit uint8, which holds 0 to 255");
    assert_eq!(error.kind(), ErrorKind::Value);
    check(bytes.rsub(10), &[2], &[9.0, 8.0]);
    check(i(&[2, 3], &[2]).rpow(2), &[2], &[4.0, 8.0]);
    check(i(&[4, -8], &[2]).rdiv(2), &[2], &[0.5, -0.25]);
}

#[test]
fn integers() {
    let x = i(&[7, -7, i64::MIN, 3], &[4]);
    check(x.floor_div(2), &[4], &[3.0, -4.0, -(2f64.powi(62)), 1.0]);
    check(x.modulo(3).unwrap().add(0), &[4], &[1.0, 2.0, 1.0, 0.0]);
    check(x.floor_div(0), &[4], &[0.0; 4]);
    assert_eq!(exact::<i64>(&x.neg().unwrap())[2], i64::MIN);
    check(x.shl(64), &[4], &[0.0; 4]);
    check(x.bitwise_and(2), &[4], &[2.0, 0.0, 0.0, 2.0]);
    assert_eq!(x.sin().unwrap().dtype(), DType::F32);
    assert_eq!(x.floor().unwrap().dtype(), DType::I64);
    check(x.logical_not(), &[4], &[0.0; 4]);
    check(x.to_bool().unwrap().logical_xor(true), &[4], &[0.0; 4]);
    assert!(fails(t(&[1.0], &[1]).bitwise_or(1)).starts_with("bitwise_or: takes integers or bool, not float32[1]"));
    assert_eq!(x.to_bool().unwrap().neg().unwrap_err().kind(), ErrorKind::DType);
}

#[test]
fn casts_saturate_and_wrap() {
    let x = t(&[300.7, -1.0, f32::NAN], &[3]);
    assert_eq!(exact::<u8>(&x.cast(DType::U8).unwrap()), [255, 0, 0]);
    assert_eq!(exact::<u8>(&i(&[300, -1, 0], &[3]).cast(DType::U8).unwrap()), [44, 255, 0]);
    assert_eq!(exact::<u32>(&t(&[1.0], &[1]).bitcast(DType::U32).unwrap()), [0x3f80_0000]);
    assert_eq!(x.bitcast(DType::F64).unwrap_err().kind(), ErrorKind::DType);
    for &dtype in [DType::Bool, DType::I8, DType::U16, DType::F16, DType::BF16, DType::F64].iter() {
        check(t(&[0.0, 1.0], &[2]).cast(dtype), &[2], &[0.0, 1.0]);
    }
}

#[test]
fn broadcasting() {
    let (row, column) = (iota(&[3]), iota(&[2, 1]));
    check(&row + &column, &[2, 3], &[0.0, 1.0, 2.0, 1.0, 2.0, 3.0]);
    check(&row * &t(&[], &[0, 1]), &[0, 3], &[]);
    check(&row + &Tensor::scalar(1, None).unwrap(), &[3], &[1.0, 2.0, 3.0]);
    let error = row.add(iota(&[2, 4])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Shape);
    let expected = "add: shapes do not broadcast: float32[3], float32[2, 4]; extents 3 and 4 differ and neither is 1";
    assert_eq!(error.to_string(), expected);
    check(Tensor::select(&row.gt(1).unwrap(), &column, -1), &[2, 3], &[-1.0, -1.0, 0.0, -1.0, -1.0, 1.0]);
    assert_eq!(Tensor::select(&row, 1, 2).unwrap_err().kind(), ErrorKind::DType);
}
