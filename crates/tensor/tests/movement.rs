#![allow(clippy::unwrap_used)]
//! Movement, joining, indexing and assignment.

mod support;
use support::*;
use svod_tensor::{ErrorKind, Index, Size, Tensor};

fn s(start: impl Into<Option<i64>>, stop: impl Into<Option<i64>>, step: i64) -> Index {
    Index::Slice { start: start.into().map(Size::from), stop: stop.into().map(Size::from), step }
}

#[test]
fn shapes() {
    let x = iota(&[2, 3]);
    assert_eq!(x.reshape(&[-1, 2]).unwrap().dims().unwrap(), [3, 2]);
    check(x.t(), &[3, 2], &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    check(x.flip(Some(&[-1])), &[2, 3], &[2.0, 1.0, 0.0, 5.0, 4.0, 3.0]);
    check(x.unsqueeze(1).unwrap().squeeze(None), &[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    check(x.pad(&[(1, 0), (0, 1)], 9), &[3, 4], &[9.0, 9.0, 9.0, 9.0, 0.0, 1.0, 2.0, 9.0, 3.0, 4.0, 5.0, 9.0]);
    check(x.movedim(0, -1), &[3, 2], &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    assert_eq!(iota(&[2, 3, 4]).flatten(1, -1).unwrap().dims().unwrap(), [2, 12]);
    assert_eq!(iota(&[2, 12]).unflatten(1, &[3, -1]).unwrap().dims().unwrap(), [2, 3, 4]);
    assert_eq!(iota(&[0, 3]).reshape(&[-1, 3]).unwrap().dims().unwrap(), [0, 3]);
    check(x.tril(0), &[2, 3], &[0.0, 0.0, 0.0, 3.0, 4.0, 0.0]);
    check(x.triu(1), &[2, 3], &[0.0, 1.0, 2.0, 0.0, 0.0, 5.0]);
    check(x.expand(&[2, -1, -1]).unwrap().shrink(&[(1, 2), (0, 1), (1, 3)]), &[1, 1, 2], &[1.0, 2.0]);
}

#[test]
fn misfits_name_what_was_given() {
    let x = iota(&[2, 3]);
    assert_eq!(fails(x.reshape(&[4, 2])), "reshape: float32[2, 3] has 6 elements, which do not fit [4, 2]");
    assert_eq!(x.reshape(&[4, -1]).unwrap_err().kind(), ErrorKind::Shape);
    assert_eq!(fails(x.permute(&[0, 2])), "permute: axis 2 is out of range for rank 2, which takes -2 to 1");
    assert_eq!(fails(x.expand(&[2, 4])), "expand: float32[2, 3] does not expand to [2, 4]");
    assert_eq!(x.permute(&[0, 0]).unwrap_err().kind(), ErrorKind::Value);
    assert_eq!(x.permute(&[0]).unwrap_err().kind(), ErrorKind::Shape);
    assert_eq!(x.shrink(&[(0, 3), (0, 1)]).unwrap_err().kind(), ErrorKind::Shape);
    assert_eq!(Tensor::cat(&[&x, &iota(&[3, 3, 1])], 0).unwrap_err().kind(), ErrorKind::Shape);
    assert_eq!(Tensor::cat(&[], 0).unwrap_err().kind(), ErrorKind::Value);
}

#[test]
fn joining_and_splitting() {
    let (a, b) = (t(&[-0.0, f32::NAN], &[2]), t(&[1.0], &[1]));
    check(Tensor::cat(&[&a, &t(&[], &[0]), &b, &a], 0), &[5], &[-0.0, f64::NAN, 1.0, -0.0, f64::NAN]);
    check(Tensor::stack(&[&iota(&[2]), &iota(&[2])], 1), &[2, 2], &[0.0, 0.0, 1.0, 1.0]);
    let parts = iota(&[5]).split_every(2, 0).unwrap();
    assert_eq!(
        parts.iter().map(|p| values(Ok(p.clone()))).collect::<Vec<_>>(),
        [vec![0.0, 1.0], vec![2.0, 3.0], vec![4.0]]
    );
    assert_eq!(iota(&[5]).chunk(3, 0).unwrap().len(), 3);
    check(iota(&[2]).repeat(&[2, 2]), &[2, 4], &[0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    check(iota(&[2]).repeat_interleave(2, 0), &[4], &[0.0, 0.0, 1.0, 1.0]);
    check(iota(&[4]).roll(-1, 0), &[4], &[1.0, 2.0, 3.0, 0.0]);
}

/// Python's slices of `0..7`, by the definition.
fn python(start: Option<i64>, stop: Option<i64>, step: i64, n: i64) -> Vec<f64> {
    let clip = |i: i64, low: i64, high: i64| (if i < 0 { i + n } else { i }).clamp(low, high);
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let mut i = start.map_or(if step > 0 { 0 } else { n - 1 }, |i| clip(i, low, high));
    let stop = stop.map_or(if step > 0 { n } else { -1 }, |i| clip(i, low, high));
    let mut found = Vec::new();
    while (step > 0 && i < stop) || (step < 0 && i > stop) {
        found.push(i as f64);
        i += step;
    }
    found
}

#[test]
fn every_slice_reads_and_writes_as_in_python() {
    let ends = [None, Some(-9), Some(-3), Some(0), Some(2), Some(6), Some(7), Some(9)];
    for step in [1, 2, 3, 8, -1, -2, -5] {
        for (start, stop) in ends.iter().flat_map(|a| ends.iter().map(move |b| (*a, *b))) {
            let expected = python(start, stop, step, 7);
            check(iota(&[7]).get(&[s(start, stop, step)]), &[expected.len()], &expected);
            let x = iota(&[7]);
            x.set(&[s(start, stop, step)], t(&vec![-1.0; expected.len()], &[expected.len()])).unwrap();
            let written: Vec<f64> =
                (0..7).map(f64::from).map(|i| if expected.contains(&i) { -1.0 } else { i }).collect();
            check(Ok(x), &[7], &written);
        }
    }
}

#[test]
fn basic_indices() {
    let x = iota(&[2, 3, 4]);
    check(x.get(&[Index::from(-1), Index::from(0)]), &[4], &[12.0, 13.0, 14.0, 15.0]);
    check(x.get(&[Index::Ellipsis, Index::from(3)]), &[2, 3], &[3.0, 7.0, 11.0, 15.0, 19.0, 23.0]);
    check(
        x.get(&[Index::from(1), Index::NewAxis, s(1, None, 1), s(None, None, -3)]),
        &[1, 2, 2],
        &[19.0, 16.0, 23.0, 20.0],
    );
    check(x.get(&[Index::from(0), Index::from(0), Index::from(0)]), &[], &[0.0]);
    assert_eq!(fails(x.get(&[Index::from(2)])), "getitem: index 2 is out of range for axis 0 with extent 2");
    let many = x.get(&[Index::FULL, Index::FULL, Index::FULL, Index::from(0)]).unwrap_err();
    assert_eq!(
        (many.kind(), many.to_string().as_str()),
        (ErrorKind::Index, "getitem: 4 indices for a tensor of rank 3")
    );
}

#[test]
fn integer_tensors_as_indices() {
    let x = iota(&[3, 4]);
    let (rows, columns) = (i(&[0, -1], &[2]), i(&[1, 2], &[2]));
    check(x.get(&[Index::from(&rows)]), &[2, 4], &[0.0, 1.0, 2.0, 3.0, 8.0, 9.0, 10.0, 11.0]);
    check(x.get(&[Index::from(&rows), Index::from(&columns)]), &[2], &[1.0, 10.0]);
    check(x.get(&[Index::FULL, Index::from(&columns)]), &[3, 2], &[1.0, 2.0, 5.0, 6.0, 9.0, 10.0]);
    // Separated positions put the lookups' dimensions first.
    let y = iota(&[2, 2, 3]);
    check(y.get(&[Index::from(1), Index::FULL, Index::from(&rows)]), &[2, 2], &[6.0, 9.0, 8.0, 11.0]);
    check(y.get(&[Index::FULL, Index::from(1), Index::from(&rows)]), &[2, 2], &[3.0, 5.0, 9.0, 11.0]);
    check(y.get(&[Index::from(&rows), Index::FULL, Index::from(&rows)]), &[2, 2], &[0.0, 3.0, 8.0, 11.0]);
    let error = x.get(&[Index::from(&i(&[3], &[1]))]).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::Index, "getitem: index 3 is out of range for axis 0 with extent 3")
    );
    let mask = x.gt(3).unwrap();
    check(x.get(&[Index::from(&mask)]), &[8], &[4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
    assert_eq!(x.get(&[Index::from(&t(&[0.0], &[1]))]).unwrap_err().kind(), ErrorKind::DType);
}

#[test]
fn lookups() {
    let x = iota(&[3, 2]);
    check(x.take(&i(&[2, 0, -2], &[3]), 0), &[3, 2], &[4.0, 5.0, 0.0, 1.0, 2.0, 3.0]);
    check(x.gather(1, &i(&[1, 0], &[2, 1])), &[2, 1], &[1.0, 2.0]);
    check(x.take_along_dim(&i(&[1], &[1, 1]), 0), &[1, 2], &[2.0, 3.0]);
    check(x.embedding(&i(&[1, 1], &[2, 1])), &[2, 1, 2], &[2.0, 3.0, 2.0, 3.0]);
    check(i(&[2, 0], &[2]).one_hot(3), &[2, 3], &[0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    let added = x.scatter_add(0, &i(&[1, 1], &[2, 1]), t(&[5.0, 6.0], &[2, 1]));
    assert_eq!(values(added), [0.0, 1.0, 13.0, 3.0, 4.0, 5.0]);
    assert_eq!(x.take(&i(&[3], &[1]), 0).unwrap_err().kind(), ErrorKind::Index);
    assert_eq!(x.take(&x, 0).unwrap_err().kind(), ErrorKind::DType);
    assert_eq!(x.take(&i(&[], &[0]), 0).unwrap().dims().unwrap(), [0, 2]);
}

#[test]
fn assignment_makes_values() {
    let x = iota(&[2, 3]);
    let before = x.get(&[Index::from(0)]).unwrap();
    x.set(&[Index::from(0), s(None, None, 2)], 9).unwrap();
    check(Ok(x.clone()), &[2, 3], &[9.0, 1.0, 9.0, 3.0, 4.0, 5.0]);
    check(Ok(before), &[3], &[0.0, 1.0, 2.0]);
    x.set(&[Index::FULL, Index::from(-1)], t(&[f32::NAN, 7.0], &[2])).unwrap();
    check(Ok(x.clone()), &[2, 3], &[9.0, 1.0, f64::NAN, 3.0, 4.0, 7.0]);
    x.set(&[Index::Ellipsis], i(&[1, 2, 3], &[1, 1, 3])).unwrap();
    check(Ok(x.clone()), &[2, 3], &[1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
    let mask = x.gt(1).unwrap();
    x.set(&[Index::from(&mask)], 0).unwrap();
    check(Ok(x.clone()), &[2, 3], &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(fails(x.set(&[Index::from(0)], iota(&[2]))), "setitem: a value float32[2] does not fit the shape [3]");
    x.assign(i(&[4], &[1])).unwrap();
    check(Ok(x.clone()), &[2, 3], &[4.0; 6]);
    x.copy_in(&[0; 24]).unwrap();
    check(Ok(x.clone()), &[2, 3], &[0.0; 6]);
    assert_eq!(x.copy_in(&[0; 23]).unwrap_err().kind(), ErrorKind::Shape);
}
