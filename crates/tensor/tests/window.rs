#![allow(clippy::unwrap_used)]
//! Convolution, pooling, Einstein sums, normalisation. Values beside other libraries' are compared in
//! `tests/python`; here is what shapes, types and errors are.

mod support;
use support::*;
use svod_tensor::{Conv, DType, ErrorKind, Padding, Pool, Size, Tensor, Variable};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

fn conv(stride: i64, padding: i64, dilation: i64, groups: i64) -> Conv {
    Conv { stride: vec![stride], padding: Padding::both(&[padding]), dilation: vec![dilation], groups }
}

#[test]
fn convolutions() {
    let x = iota(&[1, 1, 5]);
    let w = t(&[1.0, 10.0, 100.0], &[1, 1, 3]);
    check(x.conv(&w, None, &conv(1, 0, 1, 1)), &[1, 1, 3], &[210.0, 321.0, 432.0]);
    check(x.conv(&w, None, &conv(2, 1, 1, 1)), &[1, 1, 3], &[100.0, 321.0, 43.0]);
    check(x.conv(&w, None, &conv(1, 0, 2, 1)), &[1, 1, 1], &[420.0]);
    check(x.conv(&w, Some(&t(&[0.5], &[1])), &conv(3, 0, 1, 1)), &[1, 1, 1], &[210.5]);
    let same = Conv { padding: Padding::Same, ..Conv::default() };
    check(x.conv(&w, None, &same), &[1, 1, 5], &[100.0, 210.0, 321.0, 432.0, 43.0]);
    let strided = Conv { stride: vec![2], ..same };
    check(x.conv(&t(&[1.0, 10.0], &[1, 1, 2]), None, &strided), &[1, 1, 3], &[10.0, 32.0, 4.0]);
    let uneven = Conv { padding: Padding::Pairs(vec![(0, 2)]), ..Conv::default() };
    check(x.conv(&w, None, &uneven), &[1, 1, 5], &[210.0, 321.0, 432.0, 43.0, 4.0]);
    // Without a batch, and in groups, each of its own channel.
    let x = iota(&[2, 3]);
    check(
        x.conv(&t(&[1.0, 2.0, 3.0, 4.0], &[4, 1, 1]), None, &conv(1, 0, 1, 2)),
        &[4, 3],
        &[0., 1., 2., 0., 2., 4., 9., 12., 15., 12., 16., 20.],
    );
    check(
        Tensor::zeros(&[0, 2, 4], F32).unwrap().conv(&Tensor::ones(&[3, 2, 2], F32).unwrap(), None, &Conv::default()),
        &[0, 3, 3],
        &[],
    );
    check(
        Tensor::zeros(&[1, 0, 4], F32).unwrap().conv(&Tensor::ones(&[1, 0, 2], F32).unwrap(), None, &Conv::default()),
        &[1, 1, 3],
        &[0.0; 3],
    );
}

/// What convolves reads a padded plane, whatever follows it.
#[test]
fn convolutions_have_planes() {
    let planes = |y: &dyn Fn() -> Tensor, kind: &str| {
        let plan = y().prepare(&[]).unwrap();
        let kernels = plan.execution().kernels();
        let [kernel] = &kernels[..] else { panic!("{} kernels", kernels.len()) };
        assert!(kernel.code.name().starts_with(kind), "{}", kernel.code.name());
        assert!(kernel.schedule().contains("plane"), "{}", kernel.schedule());
        let y = y();
        close(&compiled(&y).to_f64(), &interpreted(&y).to_f64());
    };
    let bias = iota(&[6]);
    for (x, channels, kind) in [(iota(&[2, 6, 9, 11]), 1, "depthwise"), (iota(&[1, 3, 7, 18]), 3, "conv")] {
        for stride in [1, 2] {
            let w = iota(&[6, channels, 3, 3]);
            let groups = x.dims().unwrap()[1] / channels;
            let how =
                Conv { stride: vec![stride], padding: Padding::both(&[1]), dilation: vec![1], groups: groups as i64 };
            planes(&|| x.conv(&w, None, &how).unwrap(), kind);
            planes(&|| x.conv(&w, Some(&bias), &how).unwrap().relu().unwrap(), kind);
        }
    }
}

#[test]
fn types_of_convolutions() {
    let of = |dtype: DType| Tensor::full(&[1, 1, 4], 100, Some(dtype)).unwrap();
    let y = of(DType::I8).conv(&Tensor::ones(&[1, 1, 2], DType::I8).unwrap(), None, &Conv::default());
    check(y, &[1, 1, 3], &[-56.0; 3]);
    // 2048 + 1 + 1 is lost step by step in float16.
    let x = t(&[2048.0, 1.0, 1.0], &[1, 1, 3]).cast(DType::F16).unwrap();
    let y = x.conv(&Tensor::ones(&[1, 1, 3], DType::F16).unwrap(), None, &Conv::default()).unwrap();
    assert_eq!(y.dtype(), DType::F16);
    check(Ok(y), &[1, 1, 1], &[2050.0]);
    let y = of(DType::F64).conv(&Tensor::ones(&[1, 1, 4], F32).unwrap(), None, &Conv::default()).unwrap();
    assert_eq!(y.dtype(), DType::F64);
}

#[test]
fn transposed_convolutions() {
    let x = t(&[1.0, 2.0, 3.0], &[1, 1, 3]);
    let w = t(&[1.0, 10.0, 100.0], &[1, 1, 3]);
    let transposed = |how: &Conv, added: i64| x.conv_transpose(&w, None, how, &[added]);
    check(transposed(&conv(1, 0, 1, 1), 0), &[1, 1, 5], &[1.0, 12.0, 123.0, 230.0, 300.0]);
    check(transposed(&conv(2, 0, 1, 1), 0), &[1, 1, 7], &[1.0, 10.0, 102.0, 20.0, 203.0, 30.0, 300.0]);
    check(transposed(&conv(2, 1, 1, 1), 1), &[1, 1, 6], &[10.0, 102.0, 20.0, 203.0, 30.0, 300.0]);
    check(transposed(&conv(1, 2, 1, 1), 0), &[1, 1, 1], &[123.0]);
    check(transposed(&conv(4, 0, 1, 1), 0), &[1, 1, 11], &[1., 10., 100., 0., 2., 20., 200., 0., 3., 30., 300.]);
    // More is cut off than the kernel reaches.
    check(x.conv_transpose(&t(&[1.0], &[1, 1, 1]), None, &conv(1, 1, 1, 1), &[0]), &[1, 1, 1], &[2.0]);
}

#[test]
fn poolings() {
    let x = iota(&[1, 5]);
    let pool = |padding, ceil_mode, count_include_pad| Pool {
        stride: Some(vec![2]),
        padding: Padding::both(&[padding]),
        ceil_mode,
        count_include_pad,
        ..Pool::default()
    };
    check(x.max_pool(&[2], &pool(0, false, true)), &[1, 2], &[1.0, 3.0]);
    check(x.max_pool(&[2], &pool(0, true, true)), &[1, 3], &[1.0, 3.0, 4.0]);
    check(x.max_pool(&[3], &pool(1, false, true)), &[1, 3], &[1.0, 3.0, 4.0]);
    check(
        t(&[NAN as f32, 1.0, 2.0, f32::NEG_INFINITY, f32::NEG_INFINITY, f32::INFINITY], &[6])
            .max_pool(&[2], &Pool::default()),
        &[3],
        &[NAN, 2.0, INF],
    );
    check(i(&[-3, -4, -5], &[3]).max_pool(&[3], &pool(1, false, true)), &[2], &[-3.0, -4.0]);
    check(x.avg_pool(&[2], &pool(0, false, true)), &[1, 2], &[0.5, 2.5]);
    check(x.avg_pool(&[3], &pool(1, false, true)), &[1, 3], &[1.0 / 3.0, 2.0, 7.0 / 3.0]);
    check(x.avg_pool(&[3], &pool(1, false, false)), &[1, 3], &[0.5, 2.0, 3.5]);
    check(x.avg_pool(&[2], &pool(0, true, true)), &[1, 3], &[0.5, 2.5, 4.0]);
    check(iota(&[6]).avg_pool(&[3], &pool(1, true, true)), &[4], &[1.0 / 3.0, 2.0, 4.0, 2.5]);
    check(x.adaptive_avg_pool(&[Some(3)]), &[1, 3], &[0.5, 2.0, 3.5]);
    check(iota(&[2, 4]).adaptive_avg_pool(&[None, Some(2)]), &[2, 2], &[0.5, 2.5, 4.5, 6.5]);
    check(t(&[f32::INFINITY, 1.0, 2.0], &[3]).adaptive_avg_pool(&[Some(2)]), &[2], &[INF, 1.5]);
}

#[test]
fn parts_and_columns() {
    check(iota(&[5]).unfold(0, 3, 2), &[2, 3], &[0., 1., 2., 2., 3., 4.]);
    let columns = iota(&[1, 2, 3]).im2col(&[2], &[1], &Padding::Valid, &[1]);
    check(columns, &[1, 4, 2], &[0., 1., 1., 2., 3., 4., 4., 5.]);
}

#[test]
fn convolution_errors() {
    let x = iota(&[1, 4, 5, 5]);
    let w = |out: usize, ins: usize, k: usize| Tensor::ones(&[out, ins, k, k], F32).unwrap();
    let bad = |w: &Tensor, how: &Conv| {
        let error = x.conv(w, None, how).unwrap_err();
        (error.kind(), error.to_string())
    };
    let (kind, message) = bad(&w(2, 3, 3), &conv(1, 0, 1, 1));
    assert_eq!(kind, ErrorKind::Shape);
    assert_eq!(
        message,
        "conv2d: float32[1, 4, 5, 5], float32[2, 3, 3, 3]: the input has 4 channels, the weight takes 3 * 1 groups"
    );
    let windows = "of windows of [3, 3] over float32[1, 4, 5, 5] must be at least 1";
    assert_eq!(bad(&w(2, 4, 3), &conv(0, 0, 1, 1)), (ErrorKind::Value, format!("conv2d: stride [0] {windows}")));
    assert_eq!(bad(&w(2, 4, 3), &conv(1, 0, -1, 1)).1, format!("conv2d: dilation [-1] {windows}"));
    let negative = "conv2d: padding [(-1, -1)] of float32[1, 4, 5, 5] must not be negative";
    assert_eq!(bad(&w(2, 4, 3), &conv(1, -1, 1, 1)).1, negative);
    assert_eq!(
        bad(&w(2, 4, 3), &conv(1, 1, 4, 1)).1,
        "conv2d: a kernel of [3, 3] that covers [9, 9] elements is larger than the padded input [7, 7] of \
         float32[1, 4, 5, 5]"
    );
    assert!(bad(&w(2, 4, 3), &conv(1, 0, 1, 3)).1.ends_with("3 groups do not divide 4 input channels"));
    assert!(bad(&w(3, 2, 3), &conv(1, 0, 1, 2)).1.ends_with("2 groups do not divide 3 output channels"));
    assert!(bad(&w(2, 4, 3), &conv(1, 0, 1, 0)).1.ends_with("groups must be at least 1, not 0"));
    assert!(bad(&w(2, 4, 0), &conv(1, 0, 1, 1)).1.contains("a kernel of [0, 0]"));
    assert!(bad(&iota(&[2, 4, 3]), &conv(1, 0, 1, 1)).1.contains("as many spatial dimensions"));
    let long = Conv { stride: vec![1, 2, 3], ..Conv::default() };
    assert_eq!(bad(&w(2, 4, 3), &long).1, "conv2d: stride has 3 numbers for 2 spatial dimensions");
    let bias = x.conv(&w(2, 4, 3), Some(&iota(&[3])), &conv(1, 0, 1, 1)).unwrap_err().to_string();
    assert!(bias.ends_with("the bias must be [2], not float32[3]"), "{bias}");
    let transposed = |how: &Conv, added: &[i64]| fails(x.conv_transpose(&w(4, 2, 3), None, how, added));
    assert!(transposed(&conv(2, 0, 1, 1), &[2]).contains("smaller than stride [2, 2] or dilation [1, 1]"));
    assert!(transposed(&conv(1, 4, 1, 1), &[0]).ends_with("the result would have extents [-1, -1]"));
    assert!(
        fails(x.max_pool(&[2, 2], &Pool { padding: Padding::both(&[2]), ..Pool::default() }))
            .contains("more than half")
    );
    assert!(fails(x.max_pool(&[6, 2], &Pool::default())).contains("larger than the padded input [5, 5]"));
    assert!(fails(x.avg_pool(&[0, 2], &Pool::default())).contains("must"));
    assert!(fails(x.adaptive_avg_pool(&[Some(0)])).contains("parts of at least one element"));
    assert!(fails(x.unfold(3, 6, 1)).contains("do not fit"));
    let n = Variable::new("n", 1, 8).unwrap();
    let symbolic = Tensor::zeros(&[Size::from(1), 4.into(), (&n).into(), 5.into()], F32).unwrap();
    assert!(
        fails(symbolic.conv(&w(2, 4, 3), None, &Conv::default()))
            .contains("may be larger than the padded input [n, 5]")
    );
    let batch = Tensor::zeros(&[Size::from(&n), 4.into(), 5.into(), 5.into()], F32).unwrap();
    assert_eq!(batch.conv(&w(2, 4, 3), None, &Conv::default()).unwrap().shape()[0], Size::from(&n));
}

#[test]
fn einstein_sums() {
    let (a, b) = (iota(&[2, 3]), iota(&[3, 2]));
    check(Tensor::einsum("ij,jk->ik", &[&a, &b]), &[2, 2], &[10.0, 13.0, 28.0, 40.0]);
    check(Tensor::einsum("ij, jk", &[&a, &b]), &[2, 2], &[10.0, 13.0, 28.0, 40.0]);
    check(Tensor::einsum("ji", &[&a]), &[3, 2], &[0., 3., 1., 4., 2., 5.]);
    check(Tensor::einsum("ij->", &[&a]), &[], &[15.0]);
    check(Tensor::einsum("ij,ji->", &[&a, &b]), &[], &[50.0]);
    check(Tensor::einsum("ii", &[&iota(&[3, 3])]), &[], &[12.0]);
    check(Tensor::einsum("ii->i", &[&iota(&[3, 3])]), &[3], &[0.0, 4.0, 8.0]);
    check(Tensor::einsum("iji->ij", &[&iota(&[2, 3, 2])]), &[2, 3], &[0., 2., 4., 7., 9., 11.]);
    check(Tensor::einsum("...j,j->...", &[&a, &iota(&[3])]), &[2], &[5.0, 14.0]);
    check(
        Tensor::einsum("i,j,k->kji", &[&iota(&[2]), &iota(&[2]), &iota(&[2])]),
        &[2, 2, 2],
        &[0., 0., 0., 0., 0., 0., 0., 1.],
    );
    check(Tensor::einsum("ij,ij->ij", &[&a, &iota(&[1, 3])]), &[2, 3], &[0., 1., 4., 0., 4., 10.]);
    check(Tensor::einsum("ij->j", &[&Tensor::zeros(&[0, 2], F32).unwrap()]), &[2], &[0.0, 0.0]);
    check(Tensor::einsum("i,i", &[&i(&[1, 2], &[2]), &i(&[3, 4], &[2])]), &[], &[11.0]);
    for (text, why) in [
        ("ij", "einsum: \"ij\" of float32[2, 3], float32[3, 2]: 1 subscripts for 2 operands"),
        ("ij,k->i", "\"k\" does not name 2 dimensions"),
        ("ij,ik->jk", "'i' has the extents 2 and 3"),
        ("ij,jk->il", "the result names 'l', which no operand has"),
        ("ij,jk->ii", "the result names 'i' twice"),
        ("ij,j1->i", "'1' in \"j1\" is neither a letter nor part of one `...`"),
        ("ij,j.->i", "does not name 2 dimensions"),
    ] {
        let message = fails(Tensor::einsum(text, &[&a, &b]));
        assert!(message.ends_with(why), "{message}");
    }
    assert_eq!(Tensor::einsum("ij,ik", &[&a, &b]).unwrap_err().kind(), ErrorKind::Shape);
    assert_eq!(Tensor::einsum("", &[]).unwrap_err().kind(), ErrorKind::Value);
}

#[test]
fn normalisations() {
    let x = iota(&[2, 2, 2]);
    let v = |a: f32, b: f32| t(&[a, b], &[2]);
    let y = x.batch_norm(Some((&v(1.0, 2.0), &v(4.0, 1.0))), Some(&v(2.0, 1.0)), Some(&v(0.0, 5.0)), 0.0);
    check(y, &[2, 2, 2], &[-1.0, 0.0, 5.0, 6.0, 3.0, 4.0, 9.0, 10.0]);
    let own = x.batch_norm(None, None, None, 0.0);
    let e = 1.0 / 4.25f64.sqrt();
    check(own, &[2, 2, 2], &[-2.5 * e, -1.5 * e, -2.5 * e, -1.5 * e, 1.5 * e, 2.5 * e, 1.5 * e, 2.5 * e]);
    let g = 1.0 / 1.25f64.sqrt();
    let row = [-1.5 * g, -0.5 * g, 0.5 * g, 1.5 * g];
    check(x.group_norm(1, None, None, 0.0), &[2, 2, 2], &[row, row].concat());
    check(x.instance_norm(None, Some(&v(1.0, 2.0)), 0.0), &[2, 2, 2], &[0., 2., 1., 3., 0., 2., 1., 3.]);
    assert!(fails(x.group_norm(3, None, None, 0.0)).contains("3 groups do not divide the 2 channels"));
    assert!(fails(x.batch_norm(Some((&iota(&[3]), &v(1.0, 1.0))), None, None, 0.0)).ends_with("the mean must be [2]"));
    assert!(fails(iota(&[2]).group_norm(1, None, None, 0.0)).contains("needs [batch, channels, ..]"));
}
