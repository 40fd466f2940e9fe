//! Parts of complex numbers, and numbers of parts.

use pyo3::prelude::*;
use pyo3::types::PyComplex;
use svod_tensor::Tensor;

use super::{Made, PyTensor};
use crate::convert::{AnyOperand, AnyTensor};
use crate::error::Result;
use crate::gil::allow;

/// Adds the functions of this file to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(complex, module)?)?;
    module.add_function(wrap_pyfunction!(polar, module)?)?;
    module.add_function(wrap_pyfunction!(real, module)?)?;
    module.add_function(wrap_pyfunction!(imag, module)?)?;
    module.add_function(wrap_pyfunction!(is_complex, module)?)?;
    module.add_function(wrap_pyfunction!(view_as_real, module)?)?;
    module.add_function(wrap_pyfunction!(view_as_complex, module)?)
}

#[explained]
#[pymethods]
impl PyTensor {
    /// The real parts; of real numbers themselves.
    #[getter]
    fn real(&self) -> Made {
        self.view_by("real", Ok(self.0.real()?.into()))
    }

    /// The imaginary parts; of real numbers 0.
    #[getter]
    fn imag(&self) -> Made {
        self.view_by("imag", Ok(self.0.imag()?.into()))
    }

    /// Whether the elements are complex numbers.
    fn is_complex(&self) -> bool {
        self.0.dtype().is_complex()
    }

    /// A function of complex numbers by its name, such as `sinh`.
    fn _complex_function(&self, name: &str) -> Made {
        Ok(self.0.complex_function(name)?.into())
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyComplex>> {
        self.0.check_known("complex()")?;
        let [re, im] = allow(py, || self.0.item_complex())?;
        Ok(PyComplex::from_doubles(py, re, im))
    }
}

/// Complex numbers of these real and imaginary parts.
#[explained]
#[pyfunction]
#[pyo3(signature = (real, imag, /))]
pub fn complex(real: AnyOperand, imag: AnyOperand) -> Made {
    Ok(Tensor::complex(real.0, imag.0)?.into())
}

/// Complex numbers of these absolute values and angles.
///
/// >>> import svod
/// >>> svod.polar(2.0, svod.Tensor([0.0])).tolist()
/// [(2+0j)]
#[explained]
#[pyfunction]
#[pyo3(signature = (abs, angle, /))]
pub fn polar(abs: AnyOperand, angle: AnyTensor) -> Made {
    let (cos, sin) = (angle.0.cos()?, angle.0.sin()?);
    Ok(Tensor::complex(cos.mul(abs.0.clone())?, sin.mul(abs.0)?)?.into())
}

/// The real parts; of real numbers themselves.
#[explained]
#[pyfunction]
#[pyo3(signature = (x, /))]
pub fn real(x: AnyTensor) -> Made {
    Ok(x.0.real()?.viewing(&x.0, "real").into())
}

/// The imaginary parts; of real numbers 0.
#[explained]
#[pyfunction]
#[pyo3(signature = (x, /))]
pub fn imag(x: AnyTensor) -> Made {
    Ok(x.0.imag()?.viewing(&x.0, "imag").into())
}

/// Whether the elements are complex numbers.
#[explained]
#[pyfunction]
#[pyo3(signature = (x, /))]
pub fn is_complex(x: AnyTensor) -> bool {
    x.0.dtype().is_complex()
}

/// The real and the imaginary part of each number, along a new last dimension of 2.
///
/// >>> import svod
/// >>> svod.view_as_real(svod.Tensor([1 + 2j])).tolist()
/// [[1.0, 2.0]]
#[explained]
#[pyfunction]
#[pyo3(signature = (x, /))]
pub fn view_as_real(x: AnyTensor) -> Made {
    Ok(x.0.as_real()?.viewing(&x.0, "view_as_real").into())
}

/// The complex numbers whose parts are the last dimension, of 2.
///
/// >>> import svod
/// >>> svod.view_as_complex(svod.Tensor([[1.0, 2.0]])).tolist()
/// [(1+2j)]
#[explained]
#[pyfunction]
#[pyo3(signature = (x, /))]
pub fn view_as_complex(x: AnyTensor) -> Made {
    Ok(x.0.as_complex()?.viewing(&x.0, "view_as_complex").into())
}
