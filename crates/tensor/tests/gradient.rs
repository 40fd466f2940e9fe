#![allow(clippy::unwrap_used)]
//! What a derivative is taken by.

mod support;
use support::*;
use svod_tensor::{ErrorKind, Tensor};

/// `x * p + y * q`, summed.
fn loss(x: &Tensor, y: &Tensor) -> Tensor {
    let (p, q) =
        (Tensor::from_slice(&[3.0f32, 5.0], &[2]).unwrap(), Tensor::from_slice(&[7.0f32, 11.0], &[2]).unwrap());
    x.mul(&p).unwrap().add(y.mul(&q).unwrap()).unwrap().sum(None, false).unwrap()
}

#[test]
fn tensors_that_are_computed_alike_are_not_told_apart() {
    let w = Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
    let (x, y) = (w.mul(2.0).unwrap(), w.mul(2.0).unwrap());
    let error = loss(&x, &y).gradient(&[&w, &x, &y], None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Value);
    assert!(error.to_string().contains("is given twice, by two tensors that are computed alike"), "{error}");

    // One tensor may be named twice, and others are told apart.
    let both = loss(&x, &y).gradient(&[&x, &x, &w], None).unwrap();
    check(Ok(both[0].clone()), &[2], &[10.0, 16.0]);
    check(Ok(both[1].clone()), &[2], &[10.0, 16.0]);
    check(Ok(both[2].clone()), &[2], &[20.0, 32.0]);

    let y = w.mul(3.0).unwrap();
    let each = loss(&x, &y).gradient(&[&x, &y], None).unwrap();
    check(Ok(each[0].clone()), &[2], &[3.0, 5.0]);
    check(Ok(each[1].clone()), &[2], &[7.0, 11.0]);
}
