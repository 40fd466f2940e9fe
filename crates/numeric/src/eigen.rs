//! Eigenvalues and eigenvectors of square matrices. Those of real ones are real, or come in conjugate pairs, to the bit.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, evd_cplx, evd_real, evd_scratch};
use faer::traits::{ComplexField, RealField};
use faer::{Mat, MatRef, Par};
use rustfft::num_complex::Complex;

use crate::balance::balance;
use crate::linalg::{Failure, Number};
use crate::repair::repair;

/// The eigenvalues and, unless only these are wanted, the eigenvectors, of length 1, of a matrix.
///
/// # Errors
/// [`Failure::NoConvergence`].
pub fn eig<T: Number>(n: usize, a: &[T], w: &mut [T::Complex], v: Option<&mut [T::Complex]>) -> Result<(), Failure> {
    if !a.iter().all(T::is_finite_impl) {
        return Err(Failure::NoConvergence);
    }
    let mut balanced = a.to_vec();
    let from = balance(n, &mut balanced);
    let vectors = T::eigen(MatRef::from_row_major_slice(&balanced, n, n), w, v.is_some())?;
    if let (Some(v), Some(vectors)) = (v, vectors) {
        (0..n * n).for_each(|e| v[e] = vectors[(e / n, e % n)]);
        repair(n, &balanced, w, v);
        from.restore(v);
        (0..n).for_each(|j| normalize(n, j, v));
    }
    Ok(())
}

/// Divides column `j` by its length.
fn normalize<C: Number>(n: usize, j: usize, v: &mut [C]) {
    let greatest = (0..n).map(|i| v[i * n + j].size()).fold(0.0, f64::max);
    let square: f64 = (0..n).map(|i| (v[i * n + j].size() / greatest).powi(2)).sum();
    let length = greatest * square.sqrt();
    (0..n).for_each(|i| v[i * n + j] = v[i * n + j].over(length));
}

/// [`Number::eigen`] of real matrices, by their real Schur form.
pub(crate) fn of_real<R: RealField + Copy>(
    a: MatRef<'_, R>,
    w: &mut [Complex<R>],
    with_vectors: bool,
) -> Result<Option<Mat<Complex<R>>>, Failure>
where
    Complex<R>: ComplexField<Real = R>,
{
    let n = a.nrows();
    let (mut re, mut im) = (Diag::zeros(n), Diag::zeros(n));
    let mut packed = with_vectors.then(|| Mat::zeros(n, n));
    let mut scratch =
        MemBuffer::new(evd_scratch::<R>(n, ComputeEigenvectors::No, asked(with_vectors), Par::Seq, Default::default()));
    let to = packed.as_mut().map(|packed: &mut Mat<R>| packed.as_mut());
    evd_real(a, re.as_mut(), im.as_mut(), None, to, Par::Seq, MemStack::new(&mut scratch), Default::default())
        .map_err(|_| Failure::NoConvergence)?;
    let mut vectors = with_vectors.then(|| Mat::zeros(n, n));
    let mut j = 0;
    while j < n {
        // A pair has the real parts of its vectors in the first column, and the imaginary parts in the second.
        let is_pair = im[j] != R::zero_impl() && j + 1 < n;
        w[j] = Complex::new(re[j], if is_pair { im[j] } else { R::zero_impl() });
        if is_pair {
            w[j + 1] = Complex::new(re[j], -im[j]);
        }
        if let (Some(to), Some(packed)) = (&mut vectors, &packed) {
            for i in 0..n {
                let (x, y) = (packed[(i, j)], if is_pair { packed[(i, j + 1)] } else { R::zero_impl() });
                to[(i, j)] = Complex::new(x, y);
                if is_pair {
                    to[(i, j + 1)] = Complex::new(x, -y);
                }
            }
        }
        j += if is_pair { 2 } else { 1 };
    }
    Ok(vectors)
}

/// [`Number::eigen`] of complex matrices.
pub(crate) fn of_complex<R: RealField + Copy>(
    a: MatRef<'_, Complex<R>>,
    w: &mut [Complex<R>],
    with_vectors: bool,
) -> Result<Option<Mat<Complex<R>>>, Failure>
where
    Complex<R>: ComplexField<Real = R>,
{
    let n = a.nrows();
    let mut values = Diag::zeros(n);
    let mut vectors = with_vectors.then(|| Mat::zeros(n, n));
    let wanted = asked(with_vectors);
    let mut scratch =
        MemBuffer::new(evd_scratch::<Complex<R>>(n, ComputeEigenvectors::No, wanted, Par::Seq, Default::default()));
    let to = vectors.as_mut().map(|vectors: &mut Mat<Complex<R>>| vectors.as_mut());
    evd_cplx(a, values.as_mut(), None, to, Par::Seq, MemStack::new(&mut scratch), Default::default())
        .map_err(|_| Failure::NoConvergence)?;
    w.iter_mut().enumerate().for_each(|(i, w)| *w = values[i]);
    Ok(vectors)
}

fn asked(with_vectors: bool) -> ComputeEigenvectors {
    if with_vectors { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No }
}
