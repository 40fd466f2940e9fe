//! Scans, scatters and sorts.

use crate::check;
use crate::layers::{float, ints, op, random};
use crate::support::{self, leaf, shape};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::buffer::HostBuffer;
use svod_ir::graph::UOp;
use svod_ir::kernel::Monoid;

#[test]
fn scans_along_every_axis() {
    for extents in [&[5i64, 7][..], &[1, 40], &[40, 1], &[3, 19, 37], &[70, 9], &[2, 3, 4, 5], &[300, 33]] {
        let x = random(extents, 7);
        for axis in 0..extents.len() {
            for by in [Monoid::Sum, Monoid::Prod, Monoid::Max] {
                for inclusive in [true, false] {
                    let schedule = check(&[x.scan(by, axis, inclusive).unwrap()]);
                    assert_eq!(schedule.kernels.len(), 1);
                }
            }
        }
    }
    // The element may be any expression, over any layout.
    let x = random(&[33, 40], 3);
    check(&[op(Alu::Mul, &[&x, &x]).permute(&[1, 0]).unwrap().scan(Monoid::Sum, 1, true).unwrap()]);
}

#[test]
fn scatters_combine_in_order() {
    for (base, index, axis) in [
        (&[9i64][..], &[30i64][..], 0usize),
        (&[1], &[5], 0),
        (&[6, 40], &[21, 40], 0),
        (&[6, 40], &[21, 33], 0),
        (&[5, 11], &[5, 30], 1),
        (&[5, 11], &[3, 30], 1),
        (&[2, 6, 9], &[2, 17, 9], 1),
    ] {
        let (x, at, v) = (random(base, 1), ints(index, base[axis] + 1, 5), random(index, 2));
        for by in [Some(Monoid::Sum), Some(Monoid::Prod), Some(Monoid::Max), Some(Monoid::Min), None] {
            check(&[x.scatter(axis, &at, &v, by).unwrap()]);
        }
    }
    // Rows of a table, each added at one index.
    let rows = ints(&[50], 12, 3).reshape(shape(&[50, 1])).unwrap().expand(shape(&[50, 24])).unwrap();
    let zero = UOp::full(Const::zero(DType::F32), &shape(&[12, 24])).unwrap();
    let schedule = check(&[zero.scatter(0, &rows, &random(&[50, 24], 8), Some(Monoid::Sum)).unwrap()]);
    assert_eq!(schedule.kernels.len(), 1);
}

#[test]
fn sorts_are_stable_and_total() {
    for (extents, axis) in
        [(&[1i64][..], 0usize), (&[40], 0), (&[3, 17], 1), (&[17, 3], 0), (&[2, 9, 4], 1), (&[120], 0)]
    {
        let x = random(extents, 4);
        // Few values, many of them equal; NaN, infinities and both zeros among them.
        let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0, -1.0];
        let few = ints(extents, 7, 9);
        let n = extents.iter().product::<i64>() as usize;
        let at = support::value(&few, &[]).data.to_f64();
        let odd = leaf(HostBuffer::from_f64(DType::F32, (0..n).map(|i| special[at[i] as usize])), extents);
        for value in [x, odd, few] {
            let all = extents[axis];
            for descending in [false, true] {
                for count in [all, (all + 1) / 2, 1] {
                    check(&[value.sort(axis, descending, count).unwrap()]);
                    check(&[value.argsort(axis, descending, count).unwrap()]);
                }
            }
        }
    }
    for dtype in [DType::Bool, DType::I8, DType::U16, DType::I64, DType::F16, DType::BF16, DType::F64] {
        let x =
            op(Alu::Mul, &[&random(&[60], 5), &float(if dtype.is_float() { 1.0 } else { 30.0 })]).cast(dtype).unwrap();
        check(&[x.sort(0, false, 60).unwrap(), x.argsort(0, true, 60).unwrap()]);
    }
    // So many that a threshold rules most of them out.
    let x = random(&[2, 3000], 6);
    for (count, descending) in [(3, true), (1, false), (11, true)] {
        check(&[x.argsort(1, descending, count).unwrap(), x.sort(1, descending, count).unwrap()]);
    }
    let equal = UOp::full(Const::f64(DType::F32, 1.5), &shape(&[3001])).unwrap().contiguous().unwrap();
    check(&[equal.argsort(0, true, 5).unwrap()]);
}
