//! Discrete Fourier transforms of lines, of any length, without a factor.

use std::any::Any;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};

use crate::{Parallel, group_of};

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
    /// Numbers that an operand's line has, and that a result's has.
    fn extents(self, n: usize) -> (usize, usize) {
        match self {
            Transform::Forward | Transform::Backward => (n, n),
            Transform::Half => (n, n / 2 + 1),
            Transform::Real => (n / 2 + 1, n),
        }
    }
}

/// A type of floats, whose plans are made once for each length.
pub trait Float: FftNum + Default {
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

/// Transforms lines of n numbers; complex ones are pairs of real ones. The numbers of a line are `behind` apart: operand and
/// result are arrays `[…, n, behind]`, with 1 for rows, and n/2 + 1 for n where a [`Transform`] says so.
///
/// # Panics
///
/// If there are not as many lines in the result as in the operand.
pub fn transform<T: Float + Any>(
    kind: Transform,
    n: usize,
    behind: usize,
    from: &[T],
    to: &mut [T],
    parallel: &Parallel<'_>,
) {
    let mut planners = T::planners().lock().unwrap_or_else(PoisonError::into_inner);
    let lines = Lines { extents: kind.extents(n), behind };
    match kind {
        Transform::Forward | Transform::Backward => {
            let direction = if kind == Transform::Forward { FftDirection::Forward } else { FftDirection::Inverse };
            let plan = planners.0.plan_fft(n, direction);
            drop(planners);
            lines.each(&plan, complex(from), complex_mut(to), parallel);
        }
        Transform::Half => {
            let plan = planners.1.plan_fft_forward(n);
            drop(planners);
            lines.each(&plan, from, complex_mut(to), parallel);
        }
        Transform::Real => {
            let plan = planners.1.plan_fft_inverse(n);
            drop(planners);
            lines.each(&plan, complex(from), to, parallel);
        }
    }
}

/// The transform of one line, from numbers of one type to those of another.
trait Plan<T, In, Out>: Sync {
    /// Complex numbers that it needs beside.
    fn scratch(&self) -> usize;
    /// Transforms a line; nobody reads the operand afterwards.
    fn line(&self, from: &mut [In], to: &mut [Out], scratch: &mut [Complex<T>]);
    /// Transforms a row; `copy` is memory for one.
    fn row(&self, from: &[In], to: &mut [Out], copy: &mut [In], scratch: &mut [Complex<T>])
    where
        In: Copy,
    {
        copy.copy_from_slice(from);
        self.line(copy, to, scratch);
    }
}

impl<T: FftNum> Plan<T, Complex<T>, Complex<T>> for Arc<dyn Fft<T>> {
    fn scratch(&self) -> usize {
        self.get_outofplace_scratch_len().max(self.get_immutable_scratch_len())
    }

    fn line(&self, from: &mut [Complex<T>], to: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        self.process_outofplace_with_scratch(from, to, scratch);
    }

    fn row(&self, from: &[Complex<T>], to: &mut [Complex<T>], _: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        self.process_immutable_with_scratch(from, to, scratch);
    }
}

impl<T: FftNum> Plan<T, T, Complex<T>> for Arc<dyn RealToComplex<T>> {
    fn scratch(&self) -> usize {
        self.get_scratch_len()
    }

    fn line(&self, from: &mut [T], to: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        // Refused are only other lengths than planned.
        let _ = self.process_with_scratch(from, to, scratch);
    }
}

impl<T: FftNum> Plan<T, Complex<T>, T> for Arc<dyn ComplexToReal<T>> {
    fn scratch(&self) -> usize {
        self.get_scratch_len()
    }

    fn line(&self, from: &mut [Complex<T>], to: &mut [T], scratch: &mut [Complex<T>]) {
        // What is its own conjugate is real.
        from[0].im = T::zero();
        if to.len().is_multiple_of(2) {
            from[to.len() / 2].im = T::zero();
        }
        let _ = self.process_with_scratch(from, to, scratch);
    }
}

/// Where the lines of an operand and a result are.
struct Lines {
    /// Numbers of a line of the operand, and of the result.
    extents: (usize, usize),
    /// How far the numbers of a line are apart: so many lines lie beside each other.
    behind: usize,
}

impl Lines {
    /// Transforms all lines, groups of them in parallel.
    fn each<T: Float, In: Copy + Default + Sync, Out: Copy + Default + Send>(
        &self,
        plan: &impl Plan<T, In, Out>,
        from: &[In],
        to: &mut [Out],
        parallel: &Parallel<'_>,
    ) {
        let (wide, narrow) = self.extents;
        let arrays = from.len() / (wide * self.behind).max(1);
        assert_eq!(to.len(), arrays * narrow * self.behind, "as many lines of the result as of the operand");
        // Lines that lie beside each other are taken together: as many as cache lines of memory hold.
        let block = (TOGETHER / size_of::<Complex<T>>()).max(1).min(self.behind);
        let blocks = self.behind.div_ceil(block.max(1));
        let n = wide.max(narrow);
        let operations = 5 * n * (n.max(2).ilog2() as usize + 1) * block;
        let each = group_of(arrays * blocks, operations);
        let result = Shared(to.as_mut_ptr());
        parallel((arrays * blocks).div_ceil(each), &|task| {
            let mut memory = Memory::new(self.extents, block, plan.scratch());
            for at in task * each..((task + 1) * each).min(arrays * blocks) {
                let (array, first) = (at / blocks, at % blocks * block);
                let count = block.min(self.behind - first);
                let from = &from[array * wide * self.behind..][..wide * self.behind];
                // SAFETY: the array is one of the result, whose length was looked at; each pair of an array and a block is
                // one task's alone, which writes the block's lines and nothing else.
                let to = unsafe { result.array(array * narrow * self.behind) };
                if self.behind == 1 {
                    // SAFETY: the only line of the array, as above.
                    let to = unsafe { std::slice::from_raw_parts_mut(to, narrow) };
                    plan.row(from, to, &mut memory.from, &mut memory.scratch);
                    continue;
                }
                for (j, numbers) in from.chunks_exact(self.behind).enumerate() {
                    let line = memory.from[j..].iter_mut().step_by(memory.pitch.0);
                    line.zip(&numbers[first..first + count]).for_each(|(to, from)| *to = *from);
                }
                for line in 0..count {
                    let from = &mut memory.from[line * memory.pitch.0..][..wide];
                    plan.line(from, &mut memory.to[line * memory.pitch.1..][..narrow], &mut memory.scratch);
                }
                for j in 0..narrow {
                    // SAFETY: numbers j of the block's lines, as above.
                    let numbers = unsafe { std::slice::from_raw_parts_mut(to.add(j * self.behind + first), count) };
                    let line = memory.to[j..].iter().step_by(memory.pitch.1);
                    numbers.iter_mut().zip(line).for_each(|(to, from)| *to = *from);
                }
            }
        });
    }
}

/// Bytes of lines that are taken together: two cache lines, which are fetched together.
const TOGETHER: usize = 128;

/// A result that several tasks write, each its own lines.
struct Shared<Out>(*mut Out);

// SAFETY: tasks write different numbers, which may be sent to threads.
unsafe impl<Out: Send> Sync for Shared<Out> {}

impl<Out> Shared<Out> {
    /// Where an array of the result begins.
    ///
    /// # Safety
    ///
    /// The result has more than `start` numbers, or as many.
    unsafe fn array(&self, start: usize) -> *mut Out {
        // SAFETY: as the caller says.
        unsafe { self.0.add(start) }
    }
}

/// What a task transforms lines in.
struct Memory<T, In, Out> {
    from: Vec<In>,
    to: Vec<Out>,
    scratch: Vec<Complex<T>>,
    /// How far lines of the operand and of the result are apart: not by a power of two, so that a cache holds one number of each.
    pitch: (usize, usize),
}

impl<T: Float, In: Copy + Default, Out: Copy + Default> Memory<T, In, Out> {
    fn new((wide, narrow): (usize, usize), block: usize, scratch: usize) -> Self {
        let scratch = vec![Complex::default(); scratch];
        if block <= 1 {
            return Memory { from: vec![In::default(); wide], to: Vec::new(), scratch, pitch: (wide, narrow) };
        }
        let pitch = (wide + TOGETHER / size_of::<In>(), narrow + TOGETHER / size_of::<Out>());
        let (from, to) = (vec![In::default(); block * pitch.0], vec![Out::default(); block * pitch.1]);
        Memory { from, to, scratch, pitch }
    }
}

/// Pairs as complex numbers.
fn complex<T>(pairs: &[T]) -> &[Complex<T>] {
    // SAFETY: as of `complex_mut`.
    unsafe { std::slice::from_raw_parts(pairs.as_ptr().cast(), pairs.len() / 2) }
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
            transform(Transform::Forward, n, 1, &x, &mut y, &serial);
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
            transform(Transform::Backward, n, 1, &y, &mut back, &serial);
            assert!(back.iter().zip(&x).all(|(b, x)| (b / n as f64 - x).abs() < 1e-12));
            let mut half = vec![0.0; 6 * 2 * (n / 2 + 1)];
            transform(Transform::Half, n, 1, &x, &mut half, &serial);
            let mut real = vec![0.0; x.len()];
            transform(Transform::Real, n, 1, &half, &mut real, &serial);
            assert!(real.iter().zip(&x).all(|(b, x)| (b / n as f64 - x).abs() < 1e-12), "{n}");
        }
    }
    #[test]
    fn lines_that_lie_beside_each_other_are_rows_of_the_transpose() {
        let forms =
            [(Transform::Forward, 2, 2), (Transform::Backward, 2, 2), (Transform::Half, 1, 2), (Transform::Real, 2, 1)];
        for (kind, parts, parts_of_result) in forms {
            for (arrays, n, behind) in
                [(1usize, 8usize, 1usize), (2, 8, 3), (3, 5, 17), (1, 1, 40), (2, 6, 16), (0, 4, 2), (2, 4, 0)]
            {
                let (wide, narrow) = kind.extents(n);
                let x: Vec<f32> =
                    (0..arrays * wide * behind * parts).map(|i| ((i * 7919) % 101) as f32 - 50.0).collect();
                let mut y = vec![0.0; arrays * narrow * behind * parts_of_result];
                transform(kind, n, behind, &x, &mut y, &serial);
                let mut rows = vec![0.0; y.len()];
                transform(kind, n, 1, &exchanged(&x, (wide, behind, parts)), &mut rows, &serial);
                let shape = (narrow, behind, parts_of_result);
                assert_eq!(exchanged(&y, shape), rows, "{kind:?} {arrays} {n} {behind}");
            }
        }
    }

    /// Arrays `[n, behind, parts]` as arrays `[behind, n, parts]`.
    fn exchanged(x: &[f32], (n, behind, parts): (usize, usize, usize)) -> Vec<f32> {
        let arrays = x.chunks((n * behind * parts).max(1));
        let at = |i: usize, j: usize, part: usize| (j * behind + i) * parts + part;
        let places = (0..behind).flat_map(|i| (0..n).flat_map(move |j| (0..parts).map(move |part| at(i, j, part))));
        arrays.flat_map(|array| places.clone().map(|place| array[place])).collect()
    }
}
