//! Balancing: what is done to a matrix before its eigenvalues are computed, so that these are exact where they are to be seen,
//! as in a triangle whose rows were exchanged, and precise where rows and columns are of other sizes than each other (Parlett
//! and Reinsch 1969; with the 2-norm, James, Langou and Lowery 2014).

use crate::linalg::Number;

/// How far a row is scaled at most, in powers of 2, so that no type's range is left.
const FURTHEST: f64 = (1u64 << 60) as f64;
/// How much smaller norms become at least for it to be worth another scaling.
const WORTH: f64 = 0.95;

/// Where a balanced matrix B = D⁻¹ Pᵀ A P D comes from.
pub struct Balance {
    /// The row and column of A that each one of B is.
    order: Vec<usize>,
    /// The diagonal of D: powers of 2.
    scale: Vec<f64>,
}

/// Balances a matrix of finite numbers in place.
pub fn balance<T: Number>(n: usize, a: &mut [T]) -> Balance {
    let mut order: Vec<usize> = (0..n).collect();
    let rest = isolate(n, a, &mut order);
    let mut scale = vec![1.0; n];
    while scale_once(n, a, rest.clone(), &mut scale) {}
    Balance { order, scale }
}

/// Brings rows that have nothing but their diagonal to the end, and columns to the front, as long as there are any: those
/// rows and columns that are left. The eigenvalues of the others are on the diagonal.
fn isolate<T: Number>(n: usize, a: &mut [T], order: &mut [usize]) -> std::ops::Range<usize> {
    let (mut first, mut end) = (0, n);
    let zero = T::zero_impl();
    let mut exchange = |a: &mut [T], i: usize, j: usize| {
        order.swap(i, j);
        (0..n).for_each(|k| a.swap(k * n + i, k * n + j));
        (0..n).for_each(|k| a.swap(i * n + k, j * n + k));
    };
    while let Some(row) = (first..end).rev().find(|&i| (first..end).all(|j| i == j || a[i * n + j] == zero)) {
        end -= 1;
        exchange(a, row, end);
    }
    while let Some(column) = (first..end).find(|&j| (first..end).all(|i| i == j || a[i * n + j] == zero)) {
        exchange(a, column, first);
        first += 1;
    }
    first..end
}

/// Scales each row and its column by a power of 2 and its inverse, so that their norms are alike; says whether it changed
/// anything.
fn scale_once<T: Number>(n: usize, a: &mut [T], rest: std::ops::Range<usize>, scale: &mut [f64]) -> bool {
    let mut changed = false;
    for i in rest.clone() {
        let column = norm(rest.clone().map(|k| a[k * n + i].size()));
        let row = norm(rest.clone().map(|k| a[i * n + k].size()));
        if column == 0.0 || row == 0.0 {
            continue;
        }
        let (mut by, mut c, mut r) = (1.0, column, row);
        while c < r / 2.0 && by * scale[i] < FURTHEST {
            (by, c, r) = (by * 2.0, c * 2.0, r / 2.0);
        }
        while r <= c / 2.0 && by * scale[i] > FURTHEST.recip() {
            (by, c, r) = (by / 2.0, c / 2.0, r * 2.0);
        }
        if c + r >= WORTH * (column + row) {
            continue;
        }
        scale[i] *= by;
        (0..n).for_each(|k| a[i * n + k] = a[i * n + k].times(by.recip()));
        (0..n).for_each(|k| a[k * n + i] = a[k * n + i].times(by));
        changed = true;
    }
    changed
}

/// The 2-norm of numbers that are not negative.
fn norm(sizes: impl Iterator<Item = f64> + Clone) -> f64 {
    let greatest = sizes.clone().fold(0.0, f64::max);
    if greatest == 0.0 { 0.0 } else { greatest * sizes.map(|size| (size / greatest).powi(2)).sum::<f64>().sqrt() }
}

impl Balance {
    /// Makes eigenvectors of the matrix, the columns, of those of the balanced one, up to their lengths.
    pub fn restore<C: Number>(&self, v: &mut [C]) {
        let n = self.order.len();
        let balanced = v.to_vec();
        for (i, (&to, scale)) in self.order.iter().zip(&self.scale).enumerate() {
            (0..n).for_each(|j| v[to * n + j] = balanced[i * n + j].times(*scale));
        }
    }
}
