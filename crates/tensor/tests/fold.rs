#![allow(clippy::unwrap_used)]
//! Reductions, scans, products, layers.

mod support;
use std::f64::consts::{FRAC_1_SQRT_2, LN_2};
use support::*;
use svod_tensor::{Attention, DType, ErrorKind, Tensor, manual_seed};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

#[test]
fn reductions() {
    let x = iota(&[2, 3]);
    check(x.sum(None, false), &[], &[15.0]);
    check(x.sum(Some(&[-1]), true), &[2, 1], &[3.0, 12.0]);
    check(x.prod(Some(&[0]), false), &[3], &[0.0, 4.0, 10.0]);
    check(x.max(Some(&[0, 1]), false), &[], &[5.0]);
    check(x.min(Some(&[1]), false), &[2], &[0.0, 3.0]);
    check(x.mean(None, false), &[], &[2.5]);
    check(x.var(Some(&[1]), 1.0, false), &[2], &[1.0, 1.0]);
    check(x.std(None, 0.0, false), &[], &[1.707_825_1]);
    check(x.argmax(None, false), &[], &[5.0]);
    check(x.argmin(Some(1), true), &[2, 1], &[0.0, 0.0]);
    check(t(&[1.0, f32::NAN, f32::NAN, 3.0], &[4]).argmax(None, false), &[], &[1.0]);
    check(t(&[1.0, f32::NAN], &[2]).max(None, false), &[], &[NAN]);
    check(x.any(Some(&[1]), false), &[2], &[1.0, 1.0]);
    check(x.all(Some(&[1]), false), &[2], &[0.0, 1.0]);
    check(x.norm(2.0, None, false), &[], &[7.416_198_5]);
    check(x.norm(f64::INFINITY, Some(&[0]), false), &[3], &[3.0, 4.0, 5.0]);
    check(x.sum(Some(&[]), false), &[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(x.sum(Some(&[2]), false).unwrap_err().kind(), ErrorKind::Shape);
    assert_eq!(x.sum(Some(&[0, -2]), false).unwrap_err().kind(), ErrorKind::Value);
}

#[test]
fn types_of_sums() {
    let dtype = |t: &Tensor| t.sum(None, false).unwrap().dtype();
    assert_eq!(dtype(&Tensor::from_slice(&[200u8, 200], &[2]).unwrap()), DType::I64);
    check(Tensor::from_slice(&[200u8, 200], &[2]).unwrap().sum(None, false), &[], &[400.0]);
    assert_eq!(dtype(&Tensor::from_slice(&[true], &[1]).unwrap()), DType::I64);
    assert_eq!(dtype(&iota(&[2]).cast(DType::F16).unwrap()), DType::F16);
    // 2048 + 1 + 1 is lost step by step in float16, but not in float32.
    check(t(&[2048.0, 1.0, 1.0], &[3]).cast(DType::F16).unwrap().sum(None, false), &[], &[2050.0]);
    assert_eq!(i(&[1, 2], &[2]).mean(None, false).unwrap().dtype(), DType::F32);
}

#[test]
fn nothing_folded() {
    let x = t(&[], &[0, 2]);
    check(x.sum(Some(&[0]), false), &[2], &[0.0, 0.0]);
    check(x.prod(Some(&[0]), true), &[1, 2], &[1.0, 1.0]);
    check(x.mean(Some(&[0]), false), &[2], &[NAN, NAN]);
    check(x.all(None, false), &[], &[1.0]);
    check(x.max(Some(&[1]), false), &[0], &[]);
    check(x.softmax(-1), &[0, 2], &[]);
    check(t(&[1.0], &[1]).var(None, 1.0, false), &[], &[NAN]);
    assert_eq!(x.max(None, false).unwrap_err().kind(), ErrorKind::Value);
    assert_eq!(x.argmax(Some(0), false).unwrap_err().kind(), ErrorKind::Value);
    check(x.t().unwrap().matmul(&t(&[], &[0, 3])), &[2, 3], &[0.0; 6]);
}

#[test]
fn scans() {
    check(iota(&[2, 3]).cumsum(1), &[2, 3], &[0.0, 1.0, 3.0, 3.0, 7.0, 12.0]);
    check(i(&[1, 2, 3], &[3]).cumprod(0), &[3], &[1.0, 2.0, 6.0]);
    check(t(&[1.0, 0.0, 2.0], &[3]).cummax(0), &[3], &[1.0, 1.0, 2.0]);
    assert_eq!(Tensor::from_slice(&[true, true], &[2]).unwrap().cumsum(0).unwrap().dtype(), DType::I64);
}

#[test]
fn softmax_and_its_kin() {
    let x = t(&[1.0, 2.0, 1000.0, 1000.0], &[2, 2]);
    check(x.softmax(-1), &[2, 2], &[0.268_941_42, 0.731_058_6, 0.5, 0.5]);
    check(x.log_softmax(1), &[2, 2], &[-1.313_261_7, -0.313_261_7, -LN_2, -LN_2]);
    check(x.logsumexp(Some(&[1]), false), &[2], &[2.313_261_7, 1_000.693_1]);
    check(t(&[f32::NEG_INFINITY; 2], &[2]).logsumexp(None, false), &[], &[-INF]);
    check(t(&[f32::NEG_INFINITY; 2], &[2]).softmax(0), &[2], &[NAN, NAN]);
}

#[test]
fn products() {
    let (a, b) = (iota(&[2, 3]), iota(&[3, 2]));
    check(a.matmul(&b), &[2, 2], &[10.0, 13.0, 28.0, 40.0]);
    check(a.matmul(&iota(&[3])), &[2], &[5.0, 14.0]);
    check(iota(&[2]).matmul(&a), &[3], &[3.0, 4.0, 5.0]);
    check(iota(&[3]).dot(&iota(&[3])), &[], &[5.0]);
    check(iota(&[2, 1, 1, 2]).matmul(&iota(&[3, 2, 1])), &[2, 3, 1, 1], &[1.0, 3.0, 5.0, 3.0, 13.0, 23.0]);
    check(iota(&[2]).outer(&iota(&[2])), &[2, 2], &[0.0, 0.0, 0.0, 1.0]);
    assert_eq!(i(&[1, 2], &[2]).matmul(&iota(&[2]).cast(DType::F16).unwrap()).unwrap().dtype(), DType::F16);
    let expected = "matmul: float32[2, 3], float32[2, 3]: inner extents 3 and 2 differ";
    assert_eq!(fails(a.matmul(&a)), expected);
    assert_eq!(a.matmul(&Tensor::scalar(1, None).unwrap()).unwrap_err().kind(), ErrorKind::Shape);
}

#[test]
fn layers() {
    let x = t(&[1.0, 3.0, -2.0, 2.0], &[2, 2]);
    check(
        x.layer_norm(&[2], Some(&t(&[1.0, 2.0], &[2])), Some(&t(&[0.0, 1.0], &[2])), 0.0),
        &[2, 2],
        &[-1.0, 3.0, -1.0, 3.0],
    );
    check(x.rms_norm(&[2], None, 0.0), &[2, 2], &[0.447_213_6, 1.341_640_8, -1.0, 1.0]);
    check(x.linear(&t(&[1.0, 1.0], &[1, 2]), Some(&t(&[10.0], &[1]))), &[2, 1], &[14.0, 10.0]);
    check(x.normalize(2.0, -1, 1e-12), &[2, 2], &[0.316_227_77, 0.948_683_3, -FRAC_1_SQRT_2, FRAC_1_SQRT_2]);
    assert_eq!(x.layer_norm(&[3], None, None, 0.0).unwrap_err().kind(), ErrorKind::Shape);
    let mask = Tensor::from_slice(&[true, false], &[2]).unwrap();
    check(
        x.scaled_dot_product_attention(&x, &x, Attention { mask: Some(&mask), ..Attention::default() }),
        &[2, 2],
        &[1.0, 3.0, 1.0, 3.0],
    );
    let causal = values(x.scaled_dot_product_attention(
        &x,
        &x,
        Attention { causal: true, scale: Some(1.0), ..Attention::default() },
    ));
    close(&causal[..2], &[1.0, 3.0]);
}

#[test]
fn creation() {
    let of = |a: f64, b: f64, c: f64| Tensor::arange(a.into(), b.into(), c.into(), None);
    check(Tensor::arange(5.into(), 0.into(), (-2).into(), None), &[3], &[5.0, 3.0, 1.0]);
    check(Tensor::arange(5.into(), 0.into(), 1.into(), None), &[0], &[]);
    check(of(0.0, 1.0, 0.25), &[4], &[0.0, 0.25, 0.5, 0.75]);
    check(Tensor::linspace(0.0, 1.0, 3, None), &[3], &[0.0, 0.5, 1.0]);
    check(Tensor::eye(2, 3, DType::I32), &[2, 3], &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    check(Tensor::full(&[2], -0.0, None), &[2], &[-0.0, -0.0]);
    check(Tensor::zeros(&[2, 0], DType::U8), &[2, 0], &[]);
    assert_eq!(Tensor::ones(&[-1], F32).unwrap_err().kind(), ErrorKind::Shape);
    assert_eq!(Tensor::from_slice(&[1.0f32; 3], &[2]).unwrap_err().kind(), ErrorKind::Shape);
    assert_eq!(Tensor::from_bytes(&[2], DType::Bool, &[1]).unwrap_err().kind(), ErrorKind::Value);
    assert_eq!(Tensor::arange(0.into(), 1.into(), 0.into(), None).unwrap_err().kind(), ErrorKind::Value);
}

#[test]
fn random_values() {
    manual_seed(7);
    let (a, b) = (Tensor::rand(&[1000], None).unwrap(), Tensor::rand(&[1000], None).unwrap());
    let (a, b) = (exact::<f32>(&a), exact::<f32>(&b));
    assert_ne!(a, b);
    assert!(a.iter().all(|v| (0.0..1.0).contains(v)));
    assert!((a.iter().sum::<f32>() / 1000.0 - 0.5).abs() < 0.05);
    manual_seed(7);
    assert_eq!(exact::<f32>(&Tensor::rand(&[1000], None).unwrap()), a);
    let normal = exact::<f64>(&Tensor::randn(&[4000], Some(DType::F64)).unwrap());
    let mean = normal.iter().sum::<f64>() / 4000.0;
    let deviation = normal.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 4000.0;
    assert!(mean.abs() < 0.06 && (deviation - 1.0).abs() < 0.1, "{mean} {deviation}");
    let dice = exact::<i64>(&Tensor::randint(-3, 3, &[600], None).unwrap());
    assert!((-3..3).all(|face| dice.iter().filter(|d| **d == face).count() > 60));
    assert_eq!(Tensor::rand(&[2], Some(DType::I32)).unwrap_err().kind(), ErrorKind::DType);
    // One schedule for all of one shape.
    let graphs = [Tensor::rand(&[3], None), Tensor::rand(&[3], None)].map(|t| t.unwrap().graph());
    assert_eq!(graphs[0], graphs[1]);
}

/// A pairwise sum, as NumPy's, in binary32.
fn pairwise(values: &[f32]) -> f32 {
    if values.len() <= 8 {
        return values.iter().sum();
    }
    let (low, high) = values.split_at(values.len() / 2);
    pairwise(low) + pairwise(high)
}

/// Long sums of like numbers, down the columns of a matrix: errors are about those of pairwise sums.
#[test]
fn long_columns_are_accurate() {
    let unit = |i: usize| ((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f32 / (1 << 24) as f32;
    for depth in [384, 4096] {
        let n = 64;
        let row: Vec<f32> = (0..depth).map(|k| 0.5 + unit(k + 7_000_000)).collect();
        let matrix: Vec<f32> = (0..depth * n).map(unit).collect();
        let product = t(&row, &[1, depth]).matmul(&t(&matrix, &[depth, n])).unwrap();
        let worst = |found: &[f64], factor: &dyn Fn(usize) -> f32| {
            let error = |(j, found): (usize, &f64)| {
                let exact: f64 = (0..depth).map(|k| f64::from(factor(k)) * f64::from(matrix[k * n + j])).sum();
                (found - exact).abs() / exact
            };
            found.iter().enumerate().map(error).fold(0.0, f64::max)
        };
        let by_pairs = |factor: &dyn Fn(usize) -> f32| -> Vec<f64> {
            let column = |j| (0..depth).map(|k| factor(k) * matrix[k * n + j]).collect::<Vec<f32>>();
            (0..n).map(|j| f64::from(pairwise(&column(j)))).collect()
        };
        let factor = |k: usize| row[k];
        let (error, bound) = (worst(&compiled(&product).to_f64(), &factor), worst(&by_pairs(&factor), &factor));
        assert!(error <= 4.0 * bound, "depth {depth}: product {error:e}, pairwise {bound:e}");
        let one = |_: usize| 1.0;
        let sums = t(&matrix, &[depth, n]).sum(Some(&[0]), false).unwrap();
        let (error, bound) = (worst(&compiled(&sums).to_f64(), &one), worst(&by_pairs(&one), &one));
        assert!(error <= 4.0 * bound, "depth {depth}: sum {error:e}, pairwise {bound:e}");
    }
}
