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

    // Nor is one of them, where only that is named.
    let error = loss(&x, &y).gradient(&[&x], None).unwrap_err();
    assert!(error.to_string().contains("an expression that the program has built more than once"), "{error}");

    // One tensor may be named twice, and others are told apart.
    let x = w.mul(4.0).unwrap();
    let both = loss(&x, &x).gradient(&[&x, &x, &w], None).unwrap();
    check(Ok(both[0].clone()), &[2], &[10.0, 16.0]);
    check(Ok(both[1].clone()), &[2], &[10.0, 16.0]);
    check(Ok(both[2].clone()), &[2], &[40.0, 64.0]);

    let y = w.mul(3.0).unwrap();
    let each = loss(&x, &y).gradient(&[&x, &y], None).unwrap();
    check(Ok(each[0].clone()), &[2], &[3.0, 5.0]);
    check(Ok(each[1].clone()), &[2], &[7.0, 11.0]);
}

#[test]
fn tensors_that_are_told_apart_have_gradients_of_their_own() {
    let w = Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
    let x = w.mul(2.0).unwrap();
    let y = w.mul(2.0).unwrap().told_apart();
    let each = loss(&x, &y).gradient(&[&x, &y, &w], None).unwrap();
    check(Ok(each[0].clone()), &[2], &[3.0, 5.0]);
    check(Ok(each[1].clone()), &[2], &[7.0, 11.0]);
    check(Ok(each[2].clone()), &[2], &[20.0, 32.0]);

    // What leaves a value as it is gives the same one.
    let z = x.cast(x.dtype()).unwrap().told_apart();
    let both = loss(&x, &z).gradient(&[&x], None).unwrap();
    check(Ok(both[0].clone()), &[2], &[10.0, 16.0]);
    check(Ok(loss(&x, &y)), &[], &[84.0]);
}

#[test]
fn an_expression_that_was_there_without_a_name_is_not_told_apart() {
    let w = Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
    let before = w.mul(2.0).unwrap().sum(None, false).unwrap();
    let x = w.mul(2.0).unwrap().told_apart();
    let error = before.add(x.sum(None, false).unwrap()).unwrap().gradient(&[&x], None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Value);
    assert!(error.to_string().contains("an expression that the program has built more than once"), "{error}");

    // What a derivative was taken by is told from what is built later.
    let x = w.mul(3.0).unwrap();
    let loss = || x.mul(&x).unwrap().sum(None, false).unwrap();
    let held = loss();
    check(Ok(held.gradient(&[&x], None).unwrap()[0].clone()), &[2], &[6.0, 12.0]);
    let again = w.mul(3.0).unwrap();
    assert_ne!(again.uop(), x.uop());
}
