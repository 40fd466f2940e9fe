//! Eigenvectors by substitution that stays in range: those of long chains, as of Jordan's blocks, grow by the reciprocal of
//! the rounding error at each step (Anderson 1991, on LAPACK's `latrs`).

use faer::c64;

use crate::linalg::Number;

/// Numbers beyond which a vector is scaled down.
const LARGE: f64 = 1e100;

/// Replaces the columns of `v` that left the range of the type by eigenvectors of this matrix, of any length, to its
/// eigenvalues `w`.
pub fn repair<T: Number>(n: usize, a: &[T], w: &[T::Complex], v: &mut [T::Complex]) {
    let lost: Vec<usize> = (0..n).filter(|&j| !is_direction((0..n).map(|i| v[i * n + j].size()))).collect();
    if lost.is_empty() {
        return;
    }
    // Of numbers around 1, what is nothing beside the greatest is known, and no square leaves the range.
    let unit = a.iter().map(|x| x.size()).fold(0.0, f64::max).log2().floor().exp2();
    let wide: Vec<c64> = a.iter().map(|x| x.wide() / unit).collect();
    let is_triangle = (0..n).all(|i| (0..i).all(|j| wide[i * n + j] == c64::new(0.0, 0.0)));
    for j in lost {
        let value = w[j].wide() / unit;
        let found = match is_triangle && value == wide[j * n + j] {
            true => of_triangle(n, &wide, j, T::ROUNDING),
            false => by_inverse_iteration(n, &wide, value, T::ROUNDING),
        };
        let greatest = found.iter().map(|x| x.norm()).fold(0.0, f64::max);
        (0..n).for_each(|i| v[i * n + j] = T::narrow(found[i] / greatest));
    }
}

/// Whether numbers of these sizes are a direction.
fn is_direction(mut sizes: impl Iterator<Item = f64> + Clone) -> bool {
    sizes.clone().all(f64::is_finite) && sizes.any(|size| size > 0.0)
}

/// The eigenvector of an upper triangle to its `j`-th value.
fn of_triangle(n: usize, a: &[c64], j: usize, least: f64) -> Vec<c64> {
    let mut x = vec![c64::new(0.0, 0.0); n];
    (0..j).for_each(|i| x[i] = -a[i * n + j]);
    x[j] = c64::new(1.0, 0.0);
    substitute(n, a, a[j * n + j], j, least, &mut x);
    x
}

/// The vector that A less the eigenvalue, with pivots of at least `least`, makes smallest, but for a step.
fn by_inverse_iteration(n: usize, a: &[c64], value: c64, least: f64) -> Vec<c64> {
    let mut u = a.to_vec();
    (0..n).for_each(|i| u[i * n + i] -= value);
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| u[i * n + k].norm().total_cmp(&u[j * n + k].norm())).unwrap_or(k);
        (0..n).for_each(|c| u.swap(k * n + c, pivot * n + c));
        if u[k * n + k].norm() < least {
            u[k * n + k] = c64::new(least, 0.0);
        }
        for i in k + 1..n {
            let by = u[i * n + k] / u[k * n + k];
            (k..n).for_each(|c| u[i * n + c] = u[i * n + c] - by * u[k * n + c]);
        }
    }
    let mut x = vec![c64::new(1.0, 0.0); n];
    substitute(n, &u, c64::new(0.0, 0.0), n, least, &mut x);
    x
}

/// Solves the first `k` rows of a triangle less `value`, with a diagonal of at least `least`, for `x` in its place, all of
/// which is scaled where it grows.
fn substitute(n: usize, u: &[c64], value: c64, k: usize, least: f64, x: &mut [c64]) {
    for i in (0..k).rev() {
        let pivot = u[i * n + i] - value;
        x[i] /= if pivot.norm() < least { c64::new(least, 0.0) } else { pivot };
        let size = x[i].norm();
        if size > LARGE {
            x.iter_mut().for_each(|x| *x /= size);
        }
        let known = x[i];
        (0..i).for_each(|r| x[r] -= u[r * n + i] * known);
    }
}
