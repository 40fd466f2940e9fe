//! Values along an axis, and where they are: named pairs, as PyTorch's functions return.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use svod_tensor::Tensor;

use super::PyTensor;
use crate::error::Result;

/// What extremes and orders along an axis return.
pub type Pair<'py> = Result<Bound<'py, PyAny>>;

const NAME: &str = "ValuesAndIndices";

/// `svod.ValuesAndIndices`, a named tuple.
fn class(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let make = || {
        let how = PyDict::new(py);
        how.set_item("module", "svod")?;
        let made = py.import("collections")?.getattr("namedtuple")?;
        let class = made.call((NAME, ("values", "indices")), Some(&how))?.cast_into::<PyType>()?;
        class.setattr("__doc__", "Elements along an axis, and where they are: `values, indices = x.max(dim=1)`.")?;
        Ok::<_, PyErr>(class.unbind())
    };
    Ok(CLASS.get_or_try_init(py, make)?.bind(py).clone())
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
