//! Convolutions that schedules and code are checked on.
#![allow(clippy::unwrap_used)]

use crate::samples;
use svod_dtype::DType;
use svod_ir::kernel::Kernel;
use svod_ir::size::{BoundVariable, Size, Variable};

/// Convolutions of every rank, stride, padding, dilation and grouping.
pub fn each(check: &dyn Fn(&Kernel, &[BoundVariable])) {
    let s = |size, taps| samples::Slide::new(size, taps);
    let slide = |size, taps, stride, padding, dilation| samples::Slide { size, taps, stride, padding, dilation };
    let cases: &[([i64; 3], Vec<samples::Slide>)] = &[
        ([1, 5, 9], vec![slide(6, 3, 1, 1, 1), slide(11, 3, 1, 1, 1)]),
        ([1, 3, 5], vec![slide(9, 7, 2, 3, 1), slide(18, 5, 2, 2, 1)]),
        ([2, 4, 5], vec![slide(9, 3, 3, 0, 2), slide(11, 3, 1, 2, 2)]),
        ([1, 4, 5], vec![slide(7, 1, 2, 0, 1), slide(10, 1, 2, 0, 1)]),
        ([1, 4, 5], vec![s(5, 1), slide(9, 3, 1, 1, 1)]),
        ([1, 1, 8], vec![s(9, 3), s(12, 4)]),
        // So many filters that columns are packed from the plane into panels.
        ([1, 2, 33], vec![slide(5, 3, 1, 1, 1), slide(8, 3, 1, 1, 1)]),
        ([1, 4, 5], vec![slide(40, 5, 1, 2, 3)]),
        ([1, 4, 4], vec![slide(40, 4, 3, 1, 1)]),
        ([1, 2, 5], vec![s(5, 2), slide(6, 3, 2, 1, 1), slide(7, 3, 1, 1, 1)]),
        ([3, 1, 1], vec![slide(5, 3, 1, 1, 1), slide(19, 3, 1, 1, 1)]),
        ([3, 1, 1], vec![slide(5, 3, 2, 1, 1), slide(23, 5, 2, 2, 1)]),
        ([3, 1, 2], vec![slide(30, 4, 1, 0, 2)]),
        // Strides of 3 and 4, in vectors; rows whose width is one more than vectors'.
        ([2, 1, 1], vec![slide(9, 3, 3, 1, 1), slide(61, 5, 3, 2, 1)]),
        ([1, 2, 5], vec![slide(9, 4, 4, 1, 1), slide(70, 3, 4, 1, 1)]),
        ([2, 1, 1], vec![slide(7, 3, 1, 1, 1), slide(7, 3, 1, 1, 1)]),
        ([1, 2, 5], vec![slide(6, 3, 1, 0, 1), slide(7, 3, 1, 1, 1)]),
    ];
    for (channels, dims) in cases {
        check(&samples::convolution(DType::F32, &Size::from(2), *channels, dims), &[]);
    }
    // Weights that are not constant, and a batch that is not known.
    let n = Variable::new("n", 1, 4).unwrap();
    for value in [1, 3] {
        let mut kernel = samples::convolution(DType::F32, &Size::from(&n), cases[0].0, &cases[0].1);
        kernel.params[1].constant = false;
        check(&kernel, &[n.bind(value).unwrap()]);
    }
    check(&samples::convolution(DType::BF16, &Size::from(1), cases[1].0, &cases[1].1), &[]);
}
