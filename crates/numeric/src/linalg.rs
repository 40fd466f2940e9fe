//! Linear algebra of one matrix at a time, by `faer`: matrices are row-major, dense, of real or complex numbers.
//!
//! Each function writes all of its results. Batches are many calls, on as many threads as the caller likes; within one
//! matrix nothing is parallel.

use std::ops;

use faer::diag::DiagRef;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch};
use faer::linalg::lu::partial_pivoting::solve::{solve_in_place as solve_by_factors, solve_in_place_scratch};
use faer::linalg::solvers::{Llt, LltError, PartialPivLu, Qr, SelfAdjointEigen, Svd};
use faer::traits::ComplexField;
use faer::{Mat, MatMut, MatRef, Par, Side};

use crate::eigen::{of_complex, of_real};
use crate::small;

pub use crate::composed::{adjugate, least_squares};
pub use crate::eigen::eig;
pub use faer::{c32, c64};

/// A number that matrices hold.
pub trait Number:
    ComplexField
    + Copy
    + ops::Sub<Output = Self>
    + ops::Mul<Output = Self>
    + ops::Div<Output = Self>
    + ops::Neg<Output = Self>
{
    /// A complex number of these parts.
    type Complex: Number<Real = Self::Real>;

    /// How far 1 is from the next greater number.
    const ROUNDING: f64;

    /// The logarithm of an absolute value.
    fn ln(size: Self::Real) -> Self::Real;

    /// What has a logarithm.
    fn exp(log: Self::Real) -> Self::Real;

    /// The absolute value, in the widest type.
    fn size(self) -> f64;

    /// The number in the widest type.
    fn wide(self) -> c64;

    /// The number of this type's complex one that is nearest.
    fn narrow(wide: c64) -> Self::Complex;

    /// Times a power of 2, whose range is that of the type.
    fn times(self, power: f64) -> Self;

    /// Divided by a length.
    fn over(self, length: f64) -> Self;

    /// The eigenvalues and, if they are wanted, the eigenvectors, of any length, of a matrix of finite numbers.
    ///
    /// # Errors
    /// [`Failure::NoConvergence`].
    fn eigen(
        a: MatRef<'_, Self>,
        w: &mut [Self::Complex],
        with_vectors: bool,
    ) -> Result<Option<Mat<Self::Complex>>, Failure>;
}

macro_rules! numbers {
    ($($number:ty, $real:ty, $complex:ident, $eigen:ident, $size:expr, $wide:expr;)*) => {$(
        impl Number for $number {
            type Complex = $complex;

            const ROUNDING: f64 = <$real>::EPSILON as f64;

            fn ln(size: $real) -> $real {
                size.ln()
            }

            fn exp(log: $real) -> $real {
                log.exp()
            }

            fn size(self) -> f64 {
                let size: fn($number) -> f64 = $size;
                size(self)
            }

            fn wide(self) -> c64 {
                let wide: fn($number) -> c64 = $wide;
                wide(self)
            }

            fn narrow(wide: c64) -> $complex {
                $complex::new(wide.re as $real, wide.im as $real)
            }

            fn times(self, power: f64) -> Self {
                self * (power as $real)
            }

            fn over(self, length: f64) -> Self {
                self / (length as $real)
            }

            fn eigen(a: MatRef<'_, Self>, w: &mut [$complex], with_vectors: bool) -> Result<Option<Mat<$complex>>, Failure> {
                $eigen(a, w, with_vectors)
            }
        }
    )*};
}

numbers! {
    f32, f32, c32, of_real,    |x| f64::from(x.abs()),                 |x| c64::new(x.into(), 0.0);
    f64, f64, c64, of_real,    |x| x.abs(),                            |x| c64::new(x, 0.0);
    c32, f32, c32, of_complex, |x| f64::from(x.re).hypot(x.im.into()), |x| c64::new(x.re.into(), x.im.into());
    c64, f64, c64, of_complex, |x| x.re.hypot(x.im),                   |x| x;
}

/// Why a matrix has no such factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A factor or a solution that only invertible matrices have: this pivot, counted from 1, is 0.
    Singular(usize),
    /// A Cholesky factor of a matrix that is not positive definite: its leading minor of this order is not positive.
    NotPositiveDefinite(usize),
    /// An iteration came to no end, as where an element is not finite.
    NoConvergence,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Failure::Singular(_) => "the matrix is singular",
            Failure::NotPositiveDefinite(_) => "the matrix is not positive definite",
            Failure::NoConvergence => "the eigenvalues or singular values did not converge",
        })
    }
}

impl std::error::Error for Failure {}

fn matrix<T>(rows: usize, columns: usize, elements: &[T]) -> MatRef<'_, T> {
    MatRef::from_row_major_slice(elements, rows, columns)
}

fn write<T: Copy>(from: MatRef<'_, T>, to: &mut [T]) {
    let mut to = MatMut::from_row_major_slice_mut(to, from.nrows(), from.ncols());
    for j in 0..from.ncols() {
        for i in 0..from.nrows() {
            to[(i, j)] = from[(i, j)];
        }
    }
}

/// The adjoint of a matrix.
fn write_adjoint<T: Number>(from: MatRef<'_, T>, to: &mut [T]) {
    let mut to = MatMut::from_row_major_slice_mut(to, from.ncols(), from.nrows());
    for j in 0..from.ncols() {
        for i in 0..from.nrows() {
            to[(j, i)] = T::conj_impl(&from[(i, j)]);
        }
    }
}

fn write_real<T: Number>(from: DiagRef<'_, T>, to: &mut [T::Real])
where
    T::Real: Copy,
{
    let from = from.column_vector();
    to.iter_mut().enumerate().for_each(|(i, to)| *to = T::real_part_impl(&from[i]));
}

/// The lower triangle L with L Lᴴ = A, of which the lower triangle is read.
///
/// # Errors
/// [`Failure::NotPositiveDefinite`].
pub fn cholesky<T: Number>(n: usize, a: &[T], l: &mut [T]) -> Result<(), Failure> {
    if n <= small::MOST {
        return small::cholesky(n, a, l);
    }
    let factor = Llt::new(matrix(n, n, a), Side::Lower)
        .map_err(|LltError::NonPositivePivot { index }| Failure::NotPositiveDefinite(index + 1))?;
    let lower = factor.L();
    for i in 0..n {
        for j in 0..n {
            l[i * n + j] = if j <= i { lower[(i, j)] } else { T::zero_impl() };
        }
    }
    Ok(())
}

/// Where the rows of A go, and triangles with A[p] = L U, by partial pivoting.
pub fn lu<T: Number>(m: usize, n: usize, a: &[T], p: &mut [i64], l: &mut [T], u: &mut [T]) {
    let factor = PartialPivLu::new(matrix(m, n, a));
    let upper = factor.U();
    // It divides by pivots that are 0.
    if (0..m.min(n)).any(|i| T::abs_impl(&upper[(i, i)]) == T::Real::zero_impl()) {
        return lu_of_singular(m, n, a, p, l, u);
    }
    write(factor.L(), l);
    write(factor.U(), u);
    let (forward, _) = factor.P().arrays();
    p.iter_mut().zip(forward).for_each(|(p, from)| *p = *from as i64);
}

/// [`lu`], where pivots may be 0: nothing is below these.
fn lu_of_singular<T: Number>(m: usize, n: usize, a: &[T], p: &mut [i64], l: &mut [T], u: &mut [T]) {
    let (k, mut rest) = (m.min(n), a.to_vec());
    p.iter_mut().enumerate().for_each(|(i, p)| *p = i as i64);
    for c in 0..k {
        let size = |rest: &[T], row: usize| T::abs_impl(&rest[row * n + c]);
        let row = (c + 1..m).fold(c, |best, row| if size(&rest, row) > size(&rest, best) { row } else { best });
        if row != c {
            p.swap(row, c);
            (0..n).for_each(|j| rest.swap(row * n + j, c * n + j));
        }
        let pivot = rest[c * n + c];
        if T::abs_impl(&pivot) == T::Real::zero_impl() {
            continue;
        }
        for row in c + 1..m {
            let factor = rest[row * n + c] / pivot;
            rest[row * n + c] = factor;
            for j in c + 1..n {
                let part = factor * rest[c * n + j];
                rest[row * n + j] -= part;
            }
        }
    }
    let (zero, one) = (T::zero_impl(), T::one_impl());
    for (e, l) in l.iter_mut().enumerate() {
        let (i, j) = (e / k, e % k);
        *l = if i > j {
            rest[i * n + j]
        } else if i == j {
            one
        } else {
            zero
        };
    }
    for (e, u) in u.iter_mut().enumerate() {
        let (i, j) = (e / n, e % n);
        *u = if i <= j { rest[i * n + j] } else { zero };
    }
}

/// The sign (of complex matrices the direction) of the determinant, and the logarithm of its size.
pub fn slogdet<T: Number>(n: usize, a: &[T]) -> (T, T::Real) {
    if n <= small::MOST {
        let (pivots, odd) = small::pivots(n, a);
        return product(pivots[..n].iter().copied(), odd);
    }
    let factor = PartialPivLu::new(matrix(n, n, a));
    let upper = factor.U();
    product((0..n).map(|i| upper[(i, i)]), is_odd(factor.P().arrays().0))
}

/// The sign and the logarithm of the size of a product, or of its negative where a permutation is odd.
fn product<T: Number>(factors: impl Iterator<Item = T>, odd: bool) -> (T, T::Real) {
    let one = T::one_impl();
    let (mut sign, mut log) = (if odd { -one } else { one }, T::Real::zero_impl());
    for factor in factors {
        let size = T::abs_impl(&factor);
        log += T::ln(size.clone());
        if size == T::Real::zero_impl() {
            return (T::zero_impl(), log);
        }
        sign *= factor / T::from_real_impl(&size);
    }
    (sign, log)
}

/// Whether an odd number of exchanges makes a permutation.
fn is_odd(permutation: &[usize]) -> bool {
    let (mut odd, mut seen) = (false, vec![false; permutation.len()]);
    for start in 0..permutation.len() {
        let (mut at, mut length) = (start, 0);
        while !seen[at] {
            seen[at] = true;
            at = permutation[at];
            length += 1;
        }
        odd ^= length > 0 && length % 2 == 0;
    }
    odd
}

/// X with A X = B, of k columns.
///
/// # Errors
/// [`Failure::Singular`].
pub fn solve<T: Number>(n: usize, k: usize, a: &[T], b: &[T], x: &mut [T]) -> Result<(), Failure> {
    x.copy_from_slice(b);
    solve_in_place(n, k, a, x)
}

/// The inverse of a matrix.
///
/// # Errors
/// [`Failure::Singular`].
pub fn inverse<T: Number>(n: usize, a: &[T], x: &mut [T]) -> Result<(), Failure> {
    x.fill(T::zero_impl());
    (0..n).for_each(|i| x[i * n + i] = T::one_impl());
    solve_in_place(n, n, a, x)
}

/// [`solve`], where X is what B was.
fn solve_in_place<T: Number>(n: usize, k: usize, a: &[T], x: &mut [T]) -> Result<(), Failure> {
    if n <= small::MOST {
        return small::solve(n, k, a, x);
    }
    let (mut factor, mut rows, mut back) = (matrix(n, n, a).to_owned(), vec![0usize; n], vec![0usize; n]);
    let needed = lu_in_place_scratch::<usize, T>(n, n, Par::Seq, Default::default())
        .or(solve_in_place_scratch::<usize, T>(n, k, Par::Seq));
    let mut memory = MemBuffer::new(needed);
    let stack = MemStack::new(&mut memory);
    let (_, rows) = lu_in_place(factor.as_mut(), &mut rows, &mut back, Par::Seq, stack, Default::default());
    // Both triangles lie in one matrix.
    let factor = factor.as_ref();
    if let Some(i) = (0..n).find(|&i| T::abs_impl(&factor[(i, i)]) == T::Real::zero_impl()) {
        return Err(Failure::Singular(i + 1));
    }
    solve_by_factors(factor, factor, rows, MatMut::from_row_major_slice_mut(x, n, k), Par::Seq, stack);
    Ok(())
}

/// Q with orthonormal columns and the upper triangle R with Q R = A: as many columns as needed, or, `complete`, all.
pub fn qr<T: Number>(m: usize, n: usize, complete: bool, a: &[T], q: &mut [T], r: &mut [T]) {
    let factor = Qr::new(matrix(m, n, a));
    let (columns, upper) = match complete {
        true => (factor.compute_Q(), factor.R()),
        false => (factor.compute_thin_Q(), factor.thin_R()),
    };
    write(columns.as_ref(), q);
    r.fill(T::zero_impl());
    for i in 0..upper.nrows() {
        for j in i..n {
            r[i * n + j] = upper[(i, j)];
        }
    }
}

/// U, the singular values, descending, and Vᴴ with U Σ Vᴴ = A; thin ones, or, `full`, square ones.
///
/// # Errors
/// [`Failure::NoConvergence`].
pub fn svd<T: Number>(
    m: usize,
    n: usize,
    full: bool,
    a: &[T],
    u: &mut [T],
    s: &mut [T::Real],
    vh: &mut [T],
) -> Result<(), Failure>
where
    T::Real: Copy,
{
    let a = matrix(m, n, a);
    let factors = if full { Svd::new(a) } else { Svd::new_thin(a) }.map_err(|_| Failure::NoConvergence)?;
    write(factors.U(), u);
    write_real(factors.S(), s);
    write_adjoint(factors.V(), vh);
    Ok(())
}

/// The singular values, descending, as [`svd`] has them.
///
/// # Errors
/// [`Failure::NoConvergence`].
pub fn singular_values<T: Number>(m: usize, n: usize, a: &[T], s: &mut [T::Real]) -> Result<(), Failure>
where
    T::Real: Copy,
{
    s.copy_from_slice(&matrix(m, n, a).singular_values().map_err(|_| Failure::NoConvergence)?);
    Ok(())
}

/// The eigenvalues, ascending, and orthonormal eigenvectors of a matrix that is its own adjoint, of which the lower, or the
/// upper, triangle is read.
///
/// # Errors
/// [`Failure::NoConvergence`].
pub fn eigh<T: Number>(n: usize, lower: bool, a: &[T], w: &mut [T::Real], v: &mut [T]) -> Result<(), Failure>
where
    T::Real: Copy,
{
    let side = if lower { Side::Lower } else { Side::Upper };
    let factors = SelfAdjointEigen::new(matrix(n, n, a), side).map_err(|_| Failure::NoConvergence)?;
    write_real(factors.S(), w);
    write(factors.U(), v);
    Ok(())
}

/// The eigenvalues, ascending, as [`eigh`] has them.
///
/// # Errors
/// [`Failure::NoConvergence`].
pub fn eigenvalues<T: Number>(n: usize, lower: bool, a: &[T], w: &mut [T::Real]) -> Result<(), Failure>
where
    T::Real: Copy,
{
    let side = if lower { Side::Lower } else { Side::Upper };
    w.copy_from_slice(&matrix(n, n, a).self_adjoint_eigenvalues(side).map_err(|_| Failure::NoConvergence)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Numbers around 0, row-major.
    fn draw(count: usize, seed: u64) -> Vec<c64> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / (1u64 << 30) as f64 - 1.0
        };
        (0..count).map(|_| c64::new(next(), next())).collect()
    }

    fn product(m: usize, k: usize, n: usize, a: &[c64], b: &[c64]) -> Vec<c64> {
        let at = |i: usize, j: usize| (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum();
        (0..m * n).map(|e| at(e / n, e % n)).collect()
    }

    fn adjoint(m: usize, n: usize, a: &[c64]) -> Vec<c64> {
        (0..m * n).map(|e| a[(e % m) * n + e / m].conj()).collect()
    }

    fn close(a: &[c64], b: &[c64]) {
        assert_eq!(a.len(), b.len());
        let apart = a.iter().zip(b).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        assert!(apart < 1e-11, "{apart}");
    }

    fn identity(n: usize) -> Vec<c64> {
        (0..n * n).map(|e| c64::new(f64::from(u8::from(e / n == e % n)), 0.0)).collect()
    }

    #[test]
    fn factors_multiply_to_the_matrix() {
        for (m, n) in [(1, 1), (3, 3), (5, 2), (2, 6), (17, 17), (0, 0)] {
            let (a, s) = (draw(m * n, 7), m.min(n));
            let zero = |count: usize| vec![c64::new(f64::NAN, 0.0); count];
            for full in [false, true] {
                let (p, q) = if full { (m, n) } else { (s, s) };
                let (mut columns, mut upper) = (zero(m * p), zero(p * n));
                qr(m, n, full, &a, &mut columns, &mut upper);
                close(&product(m, p, n, &columns, &upper), &a);
                close(&product(p, m, p, &adjoint(m, p, &columns), &columns), &identity(p));
                let (mut u, mut sigma, mut vh) = (zero(m * p), vec![0.0; s], zero(q * n));
                svd(m, n, full, &a, &mut u, &mut sigma, &mut vh).unwrap();
                assert!(sigma.windows(2).all(|w| w[0] >= w[1]));
                let mut alone = vec![f64::NAN; s];
                singular_values(m, n, &a, &mut alone).unwrap();
                assert!(alone.iter().zip(&sigma).all(|(one, other)| (one - other).abs() < 1e-12));
                let scaled: Vec<c64> = (0..m * s).map(|e| u[(e / s) * p + e % s] * sigma[e % s]).collect();
                close(&product(m, s, n, &scaled, &vh[..s * n]), &a);
            }
            let (mut rows, mut l, mut u) = (vec![0; m], zero(m * s), zero(s * n));
            lu(m, n, &a, &mut rows, &mut l, &mut u);
            let permuted: Vec<c64> = (0..m * n).map(|e| a[rows[e / n] as usize * n + e % n]).collect();
            close(&product(m, s, n, &l, &u), &permuted);
        }
    }

    #[test]
    fn square_matrices() {
        for n in [1usize, 2, 5, 16, 17, 40] {
            let a = draw(n * n, 3);
            let zero = || vec![c64::new(f64::NAN, 0.0); n * n];
            let gram: Vec<c64> = product(n, n, n, &a, &adjoint(n, n, &a));
            let (mut x, mut l, mut v, mut w) = (zero(), zero(), zero(), vec![0.0; n]);
            solve(n, n, &a, &gram, &mut x).unwrap();
            close(&x, &adjoint(n, n, &a));
            cholesky(n, &gram, &mut l).unwrap();
            close(&product(n, n, n, &l, &adjoint(n, n, &l)), &gram);
            eigh(n, true, &gram, &mut w, &mut v).unwrap();
            assert!(w.windows(2).all(|w| w[0] <= w[1]));
            for lower in [true, false] {
                let mut alone = vec![f64::NAN; n];
                eigenvalues(n, lower, &gram, &mut alone).unwrap();
                assert!(alone.iter().zip(&w).all(|(one, other)| (one - other).abs() < 1e-11));
            }
            let scaled: Vec<c64> = (0..n * n).map(|e| v[e] * w[e % n]).collect();
            close(&product(n, n, n, &gram, &v), &scaled);
            let mut roots = vec![c64::new(0.0, 0.0); n];
            eig(n, &a, &mut roots, Some(&mut v)).unwrap();
            let scaled: Vec<c64> = (0..n * n).map(|e| v[e] * roots[e % n]).collect();
            close(&product(n, n, n, &a, &v), &scaled);
            let (sign, log) = slogdet(n, &a);
            let determinant: c64 = roots.iter().product();
            assert!((sign * log.exp() / determinant - 1.0).norm() < 1e-11);
        }
    }

    #[test]
    fn what_has_no_factors() {
        let zero = [0.0f64; 4];
        let mut x = [0.0; 4];
        assert_eq!(solve(2, 2, &zero, &zero, &mut x), Err(Failure::Singular(1)));
        assert_eq!(cholesky(2, &[1.0, 2.0, 2.0, 1.0], &mut x), Err(Failure::NotPositiveDefinite(2)));
        // Of small and of large matrices alike, also where nothing is solved.
        for n in [5, 16, 17, 40] {
            let (mut rows, mut l, mut u) = (vec![0; n], vec![f64::NAN; n * n], vec![f64::NAN; n * n]);
            let ones: Vec<f64> = (0..n * n).map(|e| if e % n == 3 { 0.0 } else { (e / n + 1) as f64 }).collect();
            lu(n, n, &ones, &mut rows, &mut l, &mut u);
            let product = |e: usize| (0..n).map(|k| l[e / n * n + k] * u[k * n + e % n]).sum::<f64>();
            assert!((0..n * n).all(|e| (product(e) - ones[rows[e / n] as usize * n + e % n]).abs() < 1e-12));
            let mut diagonal = vec![0.0f64; n * n];
            (0..n).for_each(|i| diagonal[i * n + i] = 1.0);
            diagonal[3 * n + 3] = 0.0;
            assert_eq!(solve(n, 0, &diagonal, &[], &mut []), Err(Failure::Singular(4)));
            let mut lower = vec![0.0; n * n];
            assert_eq!(cholesky(n, &diagonal, &mut lower), Err(Failure::NotPositiveDefinite(4)));
            diagonal[3 * n + 3] = 2.0;
            assert_eq!(solve(n, 0, &diagonal, &[], &mut []), Ok(()));
        }
        assert_eq!(slogdet(2, &zero), (0.0, f64::NEG_INFINITY));
    }
}
