//! What a step of training goes back to where it fails.

use pyo3::prelude::*;
use svod_tensor::{Before, Tensor};

use crate::error::Result;
use crate::gil::allow;
use crate::tensor::PyTensor;

/// The values that tensors had before a step that writes them.
#[pyclass(name = "_Before", module = "svod._svod", frozen)]
pub struct PyBefore(Before);

#[explained]
#[pymethods]
impl PyBefore {
    #[new]
    fn new(tensors: Vec<Py<PyTensor>>) -> Self {
        PyBefore(Before::of(&tensors.iter().map(|tensor| &tensor.get().0).collect::<Vec<_>>()))
    }

    /// Computes what the tensors were written, and what depends on their values before.
    fn replace(&self, py: Python<'_>, written: Vec<Py<PyTensor>>) -> Result<()> {
        let written: Vec<&Tensor> = written.iter().map(|tensor| &tensor.get().0).collect();
        allow(py, || self.0.replace(&written))
    }

    /// Makes the tensors stand for the values that they had.
    fn restore(&self) {
        self.0.restore();
    }
}
