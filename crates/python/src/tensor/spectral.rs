//! Fourier transforms along an axis, without a factor: what `svod.fft` is made of.

use pyo3::prelude::*;

use super::{Made, PyTensor};

#[explained]
#[pymethods]
impl PyTensor {
    /// The transform of complex numbers along an axis.
    fn _fft(&self, axis: i64, backward: bool) -> Made {
        Ok(self.0.fft(axis, backward)?.into())
    }

    /// The first half of the transform of real numbers along an axis.
    fn _rfft(&self, axis: i64) -> Made {
        Ok(self.0.rfft(axis)?.into())
    }

    /// Real numbers of the first half of their transform, an odd number of them or an even one.
    fn _irfft(&self, axis: i64, odd: bool) -> Made {
        Ok(self.0.irfft(axis, odd)?.into())
    }
}
