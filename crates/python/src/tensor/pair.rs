//! Values along an axis, and where they are: named pairs, as PyTorch's functions return.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};
use svod_tensor::Tensor;

use super::PyTensor;
use crate::error::{Class, Result};

/// What extremes and orders along an axis return.
pub type Pair<'py> = Result<Bound<'py, PyAny>>;

const NAME: &str = "ValuesAndIndices";

/// `svod.ValuesAndIndices`, a named tuple.
fn class(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    Ok(CLASS.import(py, "svod._pair", NAME)?.clone())
}

/// The error of a pair in the place of a tensor.
pub fn refuse(given: &Bound<'_, PyAny>) -> PyResult<()> {
    if given.is_instance_of::<PyTuple>() && given.is_instance(class(given.py())?.as_any())? {
        let hint = "write `.values`, or svod.amax and svod.amin, which give no pair";
        return Err(Class::ArgumentType
            .raise(format!("{NAME} is two tensors, values and where they are: {hint}"))
            .into());
    }
    Ok(())
}

/// Adds the class to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add(NAME, class(module.py())?)
}

/// Values and their positions; `keepdim` makes room for the axis along which they were, with extent 1.
pub fn pair<'py>(py: Python<'py>, (values, indices): (Tensor, Tensor), kept: Option<i64>) -> Pair<'py> {
    let keep = |one: Tensor| match kept {
        Some(axis) => one.unsqueeze(axis),
        None => Ok(one),
    };
    let both: (PyTensor, PyTensor) = (keep(values)?.into(), keep(indices)?.into());
    Ok(class(py)?.call1(both)?)
}
