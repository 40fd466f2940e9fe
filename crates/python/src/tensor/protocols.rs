//! What other libraries ask a tensor: functions of NumPy that are given one, and JAX's arrays.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::PyTensor;
use crate::array::array_of;
use crate::error::Result;

#[explained]
#[pymethods]
impl PyTensor {
    /// An elementwise function of NumPy, such as `np.exp`: see `svod._numpy`.
    #[pyo3(signature = (ufunc, method, *inputs, **options))]
    fn __array_ufunc__<'py>(
        slf: &Bound<'py, Self>,
        ufunc: &Bound<'py, PyAny>,
        method: &Bound<'py, PyAny>,
        inputs: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyAny>> {
        let py = slf.py();
        let options = options.cloned().unwrap_or_else(|| PyDict::new(py));
        let module = py.import(intern!(py, "svod._numpy"))?;
        Ok(module.call_method1(intern!(py, "elementwise"), (ufunc, method, inputs, options))?)
    }

    /// Another function of NumPy, such as `np.sum`: see `svod._numpy`.
    fn __array_function__<'py>(
        slf: &Bound<'py, Self>,
        func: &Bound<'py, PyAny>,
        types: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> Result<Bound<'py, PyAny>> {
        let _ = types;
        let module = slf.py().import(intern!(slf.py(), "svod._numpy"))?;
        Ok(module.call_method1(intern!(slf.py(), "function"), (func, args, kwargs))?)
    }

    /// The elements as an array of JAX, whose functions then take tensors; realizes the tensor.
    fn __jax_array__<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>> {
        let (py, tensor) = (slf.py(), &slf.get().0);
        tensor.check_known("an array of JAX")?;
        let array = array_of(py, tensor)?;
        Ok(py.import(intern!(py, "jax.numpy"))?.call_method1(intern!(py, "asarray"), (array,))?)
    }
}
