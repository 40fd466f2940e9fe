//! Discrete Fourier transforms of rows, of any length, without a factor.

use std::any::Any;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use realfft::RealFftPlanner;
use rustfft::num_complex::Complex;
use rustfft::{FftDirection, FftNum, FftPlanner};

use crate::{Parallel, rows};

/// Which transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transform {
    /// Of complex numbers, with e^(-2πijk/n).
    Forward,
    /// Of complex numbers, with e^(2πijk/n).
    Backward,
    /// Forward, of real numbers: the first n/2 + 1 results, of which the others are the conjugates.
    Half,
    /// Backward, of the first n/2 + 1 of n conjugate pairs: n real numbers.
    Real,
}

impl Transform {
    /// Numbers that an operand's row has, and that a result's has; of complex ones each counts twice.
    pub fn widths(self, n: usize) -> (usize, usize) {
        let half = 2 * (n / 2 + 1);
        match self {
            Transform::Forward | Transform::Backward => (2 * n, 2 * n),
            Transform::Half => (n, half),
            Transform::Real => (half, n),
        }
    }
}

/// A type of floats, whose plans are made once for each length.
pub trait Float: FftNum {
    #[doc(hidden)]
    fn planners() -> &'static Mutex<(FftPlanner<Self>, RealFftPlanner<Self>)>;
}

macro_rules! floats {
    ($($float:ty)*) => {$(
        impl Float for $float {
            fn planners() -> &'static Mutex<(FftPlanner<Self>, RealFftPlanner<Self>)> {
                type Planners = Mutex<(FftPlanner<$float>, RealFftPlanner<$float>)>;
                static PLANNERS: LazyLock<Planners> =
                    LazyLock::new(|| Mutex::new((FftPlanner::new(), RealFftPlanner::new())));
                &PLANNERS
            }
        }
    )*};
}

floats!(f32 f64);

/// Transforms rows of n numbers; complex ones are pairs of real ones. Operand and result have as many rows, of
/// [`Transform::widths`].
pub fn transform<T: Float + Any>(kind: Transform, n: usize, from: &[T], to: &mut [T], parallel: &Parallel<'_>) {
    let (wide, narrow) = kind.widths(n);
    let operations = 5 * n * (n.max(2).ilog2() as usize + 1);
    let planners = || T::planners().lock().unwrap_or_else(PoisonError::into_inner);
    match kind {
        Transform::Forward | Transform::Backward => {
            let direction = if kind == Transform::Forward { FftDirection::Forward } else { FftDirection::Inverse };
            let plan = planners().0.plan_fft(n, direction);
            rows((from, wide), (to, narrow), operations, parallel, |from, to| {
                to.copy_from_slice(from);
                plan.process(complex_mut(to));
            });
        }
        Transform::Half => {
            let plan = planners().1.plan_fft_forward(n);
            rows((from, wide), (to, narrow), operations, parallel, |from, to| {
                let mut row = from.to_vec();
                // Refused are only other lengths than planned.
                let _ = Arc::clone(&plan).process(&mut row, complex_mut(to));
            });
        }
        Transform::Real => {
            let plan = planners().1.plan_fft_inverse(n);
            rows((from, wide), (to, narrow), operations, parallel, |from, to| {
                let mut row: Vec<Complex<T>> = from.chunks_exact(2).map(|z| Complex::new(z[0], z[1])).collect();
                // What is its own conjugate is real.
                row[0].im = T::zero();
                if n.is_multiple_of(2) {
                    row[n / 2].im = T::zero();
                }
                let _ = plan.process(&mut row, to);
            });
        }
    }
}

/// Pairs as complex numbers.
fn complex_mut<T>(pairs: &mut [T]) -> &mut [Complex<T>] {
    let count = pairs.len() / 2;
    // SAFETY: a complex number is two of its parts, one after the other (`repr(C)`), of their alignment; there are
    // so many pairs, and nobody else has them as long as they are borrowed.
    unsafe { std::slice::from_raw_parts_mut(pairs.as_mut_ptr().cast(), count) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn serial(tasks: usize, f: &(dyn Fn(usize) + Sync)) {
        (0..tasks).for_each(f);
    }

    #[test]
    fn transforms_are_sums() {
        for n in [1usize, 2, 3, 4, 5, 7, 12, 31, 64] {
            let x: Vec<f64> = (0..2 * n * 3).map(|i| ((i * 7919) % 101) as f64 / 50.0 - 1.0).collect();
            let mut y = vec![0.0; x.len()];
            transform(Transform::Forward, n, &x, &mut y, &serial);
            for (x, y) in x.chunks(2 * n).zip(y.chunks(2 * n)) {
                for k in 0..n {
                    let (mut re, mut im) = (0.0, 0.0);
                    for j in 0..n {
                        let (sin, cos) = (-std::f64::consts::TAU * ((j * k) % n) as f64 / n as f64).sin_cos();
                        re += x[2 * j] * cos - x[2 * j + 1] * sin;
                        im += x[2 * j] * sin + x[2 * j + 1] * cos;
                    }
                    assert!((re - y[2 * k]).abs() < 1e-12 && (im - y[2 * k + 1]).abs() < 1e-12, "{n} {k}");
                }
            }
            let mut back = vec![0.0; x.len()];
            transform(Transform::Backward, n, &y, &mut back, &serial);
            assert!(back.iter().zip(&x).all(|(b, x)| (b / n as f64 - x).abs() < 1e-12));
            let mut half = vec![0.0; 6 * Transform::Half.widths(n).1];
            transform(Transform::Half, n, &x, &mut half, &serial);
            let mut real = vec![0.0; x.len()];
            transform(Transform::Real, n, &half, &mut real, &serial);
            assert!(real.iter().zip(&x).all(|(b, x)| (b / n as f64 - x).abs() < 1e-12), "{n}");
        }
    }
}
