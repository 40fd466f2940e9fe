//! What is composed of several factors: adjugates, and least squares.

use faer::linalg::solvers::{Qr, SolveLstsq};
use faer::linalg::triangular_inverse::invert_upper_triangular;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::traits::{ComplexField, RealField};
use faer::{Mat, MatRef, Par};

use crate::linalg::{Failure, Number, inverse, slogdet, svd};

/// The adjugate of a matrix: its inverse times its determinant, and what that tends to where there is no inverse. NaN where
/// elements are not finite.
///
/// Of a singular matrix it is det(U) det(Vᴴ) V adj(Σ) Uᴴ, where adj(Σ) has the products of all other singular values.
pub fn adjugate<T: Number>(n: usize, a: &[T], x: &mut [T])
where
    T::Real: Copy,
{
    if inverse(n, a, x).is_ok() {
        let (sign, log) = slogdet(n, a);
        let determinant = T::mul_real_impl(&sign, &T::exp(log));
        x.iter_mut().for_each(|x| *x *= determinant);
        return;
    }
    let zero = T::zero_impl();
    let (mut u, mut s, mut vh) = (vec![zero; n * n], vec![T::Real::zero_impl(); n], vec![zero; n * n]);
    if svd(n, n, true, a, &mut u, &mut s, &mut vh).is_err() {
        return x.fill(T::nan_impl());
    }
    let direction = slogdet(n, &u).0 * slogdet(n, &vh).0;
    x.fill(zero);
    for k in 0..n {
        let others = (0..n).filter(|&i| i != k).fold(T::Real::one_impl(), |product, i| product * s[i]);
        let by = T::mul_real_impl(&direction, &others);
        if by != zero {
            for (e, x) in x.iter_mut().enumerate() {
                *x += by * T::conj_impl(&vh[k * n + e / n]) * T::conj_impl(&u[(e % n) * n + k]);
            }
        }
    }
}

/// The X of least length that makes the length of A X - B least, where A is of m × n and B has k columns. Singular values of A
/// up to max(m, n) ε times the greatest count as 0.
///
/// # Errors
/// [`Failure::NoConvergence`].
pub fn least_squares<T: Number>(m: usize, n: usize, k: usize, a: &[T], b: &[T], x: &mut [T]) -> Result<(), Failure>
where
    T::Real: Copy,
{
    if m.min(n).min(k) == 0 {
        x.fill(T::zero_impl());
        return Ok(());
    }
    let (matrix, right) = (MatRef::from_row_major_slice(a, m, n), MatRef::from_row_major_slice(b, m, k));
    let least = wide::<T>(T::Real::epsilon_impl()) * m.max(n) as f64;
    let found = if m >= n { of_tall(matrix, right, least) } else { of_wide(matrix, right, least) };
    if let Some(found) = found {
        write(found, x);
        return Ok(());
    }
    let (r, zero) = (m.min(n), T::zero_impl());
    let (mut u, mut s, mut vh) = (vec![zero; m * r], vec![T::Real::zero_impl(); r], vec![zero; r * n]);
    svd(m, n, false, a, &mut u, &mut s, &mut vh)?;
    let cutoff = least * wide::<T>(s[0]);
    let kept = s.iter().take_while(|&&s| wide::<T>(s) > cutoff).count();
    let (u, vh) = (MatRef::from_row_major_slice(&u, m, r), MatRef::from_row_major_slice(&vh, r, n));
    let mut within = u.subcols(0, kept).adjoint() * right;
    for i in 0..kept {
        let by = T::Real::recip_impl(&s[i]);
        (0..k).for_each(|j| within[(i, j)] = T::mul_real_impl(&within[(i, j)], &by));
    }
    write(vh.subrows(0, kept).adjoint() * within, x);
    Ok(())
}

/// [`least_squares`] of no fewer rows than columns by Q R, where that tells that all singular values count.
fn of_tall<T: Number>(a: MatRef<'_, T>, b: MatRef<'_, T>, least: f64) -> Option<Mat<T>> {
    let factor = Qr::new(a);
    is_far_from_singular(factor.thin_R(), least).then(|| factor.solve_lstsq(b))
}

/// [`least_squares`] of fewer rows than columns by Q R of the adjoint, as [`of_tall`].
fn of_wide<T: Number>(a: MatRef<'_, T>, b: MatRef<'_, T>, least: f64) -> Option<Mat<T>> {
    let factor = Qr::new(a.adjoint().to_owned().as_ref());
    let upper = factor.thin_R();
    is_far_from_singular(upper, least).then(|| {
        let mut within = b.to_owned();
        solve_lower_triangular_in_place(upper.adjoint(), within.as_mut(), Par::Seq);
        factor.compute_thin_Q() * within
    })
}

/// Whether the least singular value of a triangle is surely more than `least` times the greatest: it is at least the inverse
/// of the length of the triangle's inverse, and the greatest at most the length of the triangle.
fn is_far_from_singular<T: Number>(upper: MatRef<'_, T>, least: f64) -> bool {
    let mut inverse = Mat::zeros(upper.ncols(), upper.ncols());
    invert_upper_triangular(inverse.as_mut(), upper, Par::Seq);
    // Not so where a length is NaN.
    wide::<T>(inverse.norm_l2()) * wide::<T>(upper.norm_l2()) * least < 1.0
}

fn write<T: Number>(from: Mat<T>, to: &mut [T]) {
    let columns = from.ncols();
    to.iter_mut().enumerate().for_each(|(e, to)| *to = from[(e / columns, e % columns)]);
}

/// A size in the widest type.
fn wide<T: Number>(size: T::Real) -> f64 {
    T::from_real_impl(&size).size()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use faer::c64;

    /// Numbers around 0.
    fn draw(count: usize) -> Vec<c64> {
        (0..count).map(|i| c64::new((i as f64 * 1.7).sin(), (i as f64 * 2.3).cos())).collect()
    }

    fn product(m: usize, k: usize, n: usize, a: &[c64], b: &[c64]) -> Vec<c64> {
        (0..m * n).map(|e| (0..k).map(|l| a[e / n * k + l] * b[l * n + e % n]).sum()).collect()
    }

    /// A matrix of m × n and of a rank.
    fn of_rank(m: usize, n: usize, rank: usize) -> Vec<c64> {
        product(m, rank, n, &draw(m * rank), &draw(rank * n + 5)[5..])
    }

    #[test]
    fn adjugates() {
        for n in 1..6usize {
            for rank in 0..=n {
                let a = of_rank(n, n, rank);
                let mut x = vec![c64::new(f64::NAN, 0.0); n * n];
                adjugate(n, &a, &mut x);
                for (e, x) in x.iter().enumerate() {
                    // The minor without row j and column i.
                    let (i, j) = (e / n, e % n);
                    let minor: Vec<c64> = (0..n * n).filter(|e| e / n != j && e % n != i).map(|e| a[e]).collect();
                    let (sign, log) = slogdet(n - 1, &minor);
                    let cofactor = sign * log.exp() * if (i + j) % 2 == 0 { 1.0 } else { -1.0 };
                    assert!((x - cofactor).norm() < 1e-10, "{n} {rank}: {x} {cofactor}");
                }
            }
        }
        let mut x = [0.0; 16];
        adjugate(4, &[f64::NAN; 16], &mut x);
        assert!(x.iter().all(|x| x.is_nan()));
    }

    #[test]
    fn least_squares_of_any_rank() {
        for (m, n, rank) in [(1, 1, 1), (5, 3, 3), (5, 3, 2), (3, 5, 3), (3, 5, 1), (4, 4, 4), (4, 4, 0), (30, 20, 20)]
        {
            let (a, b) = (of_rank(m, n, rank), draw(m * 2));
            let mut x = vec![c64::new(f64::NAN, 0.0); n * 2];
            least_squares(m, n, 2, &a, &b, &mut x).unwrap();
            // What is left is orthogonal to all columns, and the solution to all that the matrix takes to 0.
            let adjoint: Vec<c64> = (0..m * n).map(|e| a[e % m * n + e / m].conj()).collect();
            let left: Vec<c64> = product(m, n, 2, &a, &x).iter().zip(&b).map(|(ax, b)| ax - b).collect();
            assert!(product(n, m, 2, &adjoint, &left).iter().all(|e| e.norm() < 1e-10), "{m} {n} {rank}");
            let mut again = vec![c64::new(f64::NAN, 0.0); m * 2];
            least_squares(n, m, 2, &adjoint, &x, &mut again).unwrap();
            let apart =
                product(n, m, 2, &adjoint, &again).iter().zip(&x).map(|(b, x)| (b - x).norm()).fold(0.0, f64::max);
            assert!(apart < 1e-10, "{m} {n} {rank}: {apart}");
        }
    }
}
