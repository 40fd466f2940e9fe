//! Names of other libraries that tensors do not have, and what to write here.

use pyo3::exceptions::PyAttributeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::tensor::PyTensor;

const ELSEWHERE: [(&str, &str); 3] = [
    ("data", "t.detach() is the same value"),
    ("ndimension", "write t.ndim"),
    ("type", "write t.dtype, or t.astype(dtype)"),
];

#[explained]
#[pymethods]
impl PyTensor {
    fn __getattr__(&self, name: &str) -> PyResult<()> {
        let hint = ELSEWHERE.iter().find(|(theirs, _)| *theirs == name);
        let hint = hint.map(|(_, hint)| format!(": {hint}")).unwrap_or_default();
        Err(PyAttributeError::new_err(format!("'Tensor' object has no attribute '{name}'{hint}")))
    }

    fn __setattr__(slf: &Bound<'_, Self>, name: &Bound<'_, PyString>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if name == "data" {
            let hint = "write `with svod.no_grad(): t.copy_(value)`";
            return Err(PyAttributeError::new_err(format!("'Tensor' object has no attribute 'data' to set: {hint}")));
        }
        // SAFETY: all three are objects that live, and the interpreter is held.
        match unsafe { ffi::PyObject_GenericSetAttr(slf.as_ptr(), name.as_ptr(), value.as_ptr()) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}
