//! Elimination of small matrices, on the stack: what takes less time than it takes `faer` to find memory for it.

use faer::traits::ComplexField;

use crate::linalg::{Failure, Number};

/// The most rows and columns of a small matrix.
pub const MOST: usize = 16;

/// A copy of a matrix that is eliminated column by column, with partial pivoting (Golub and Van Loan, section 3.4).
/// There is room for `ROOM` elements.
struct Elimination<T, const ROOM: usize> {
    n: usize,
    a: [T; ROOM],
}

impl<T: Number, const ROOM: usize> Elimination<T, ROOM> {
    fn of(n: usize, matrix: &[T]) -> Self {
        let mut a = [T::zero_impl(); ROOM];
        a[..n * n].copy_from_slice(matrix);
        Elimination { n, a }
    }

    /// Brings the row with the greatest element of a column, from the diagonal on, to the diagonal: that row.
    fn pivot(&mut self, c: usize) -> usize {
        let n = self.n;
        let size = |a: &[T], row: usize| T::abs_impl(&a[row * n + c]);
        let mut row = c;
        for other in c + 1..n {
            if size(&self.a, other) > size(&self.a, row) {
                row = other;
            }
        }
        if row != c {
            (c..n).for_each(|j| self.a.swap(row * n + j, c * n + j));
        }
        row
    }

    /// Takes multiples of row `c` from a row below, so that its element of column `c` is 0: the factor.
    fn eliminate(&mut self, c: usize, row: usize) -> T {
        let n = self.n;
        let factor = self.a[row * n + c] / self.a[c * n + c];
        for j in c + 1..n {
            let part = factor * self.a[c * n + j];
            self.a[row * n + j] -= part;
        }
        factor
    }

    fn diagonal(&self, c: usize) -> T {
        self.a[c * self.n + c]
    }
}

/// X with A X = B, of k columns, in the place of B.
///
/// # Errors
/// [`Failure::Singular`].
pub fn solve<T: Number>(n: usize, k: usize, a: &[T], x: &mut [T]) -> Result<(), Failure> {
    match n {
        0..=4 => solve_in::<T, 16>(n, k, a, x),
        _ => solve_in::<T, { MOST * MOST }>(n, k, a, x),
    }
}

fn solve_in<T: Number, const ROOM: usize>(n: usize, k: usize, a: &[T], x: &mut [T]) -> Result<(), Failure> {
    let mut m = Elimination::<T, ROOM>::of(n, a);
    for c in 0..n {
        let row = m.pivot(c);
        if m.diagonal(c) == T::zero_impl() {
            return Err(Failure::Singular(c + 1));
        }
        if row != c {
            (0..k).for_each(|j| x.swap(row * k + j, c * k + j));
        }
        for below in c + 1..n {
            let factor = m.eliminate(c, below);
            for j in 0..k {
                let part = factor * x[c * k + j];
                x[below * k + j] -= part;
            }
        }
    }
    for c in (0..n).rev() {
        for j in 0..k {
            let known = (c + 1..n).fold(x[c * k + j], |rest, i| rest - m.a[c * n + i] * x[i * k + j]);
            x[c * k + j] = known / m.diagonal(c);
        }
    }
    Ok(())
}

/// The diagonal of the triangle U with A[p] = L U, and whether the permutation p is an odd one.
pub fn pivots<T: Number>(n: usize, a: &[T]) -> ([T; MOST], bool) {
    let mut m = Elimination::<T, { MOST * MOST }>::of(n, a);
    let (mut found, mut odd) = ([T::zero_impl(); MOST], false);
    for (c, found) in found[..n].iter_mut().enumerate() {
        odd ^= m.pivot(c) != c;
        *found = m.diagonal(c);
        if *found == T::zero_impl() {
            break;
        }
        (c + 1..n).for_each(|below| {
            m.eliminate(c, below);
        });
    }
    (found, odd)
}

/// The lower triangle L with L Lᴴ = A, of which the lower triangle is read.
///
/// # Errors
/// [`Failure::NotPositiveDefinite`].
pub fn cholesky<T: Number>(n: usize, a: &[T], l: &mut [T]) -> Result<(), Failure> {
    l.fill(T::zero_impl());
    for j in 0..n {
        for i in j..n {
            let rest = (0..j).fold(a[i * n + j], |rest, c| rest - l[i * n + c] * T::conj_impl(&l[j * n + c]));
            l[i * n + j] = if i > j {
                rest / l[j * n + j]
            } else {
                let square = T::real_part_impl(&rest);
                if square <= T::Real::zero_impl() || T::Real::is_nan_impl(&square) {
                    return Err(Failure::NotPositiveDefinite(j + 1));
                }
                T::from_real_impl(&T::Real::sqrt_impl(&square))
            };
        }
    }
    Ok(())
}
