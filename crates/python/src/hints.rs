//! Names of other libraries that tensors do not have, and what to write here.

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;

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
}
