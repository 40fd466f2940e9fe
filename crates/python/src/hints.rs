//! Names of other libraries that tensors do not have, and what to write here.

use pyo3::exceptions::PyAttributeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::tensor::PyTensor;

const ELSEWHERE: [(&str, &str); 24] = [
    ("astuple", "write t.tolist()"),
    ("data", "t.detach() is the same value"),
    ("data_ptr", "write t.numpy().ctypes.data"),
    ("detach_", IN_PLACE),
    ("flags", "write t.numpy().flags"),
    ("grad_fn", "write print(t.graph()) for what it is computed by, and t.is_leaf"),
    ("is_cpu", "write t.device == 'CPU'"),
    ("is_cuda", "write t.device.startswith('CUDA')"),
    ("is_pinned", "memory that others lend is copied as it is: nothing is pinned"),
    ("iloc", "write t[i]"),
    ("ndimension", "write t.ndim"),
    ("pin_memory", "memory that others lend is copied as it is: nothing is pinned"),
    ("resize_", IN_PLACE),
    ("retains_grad", "write t.requires_grad"),
    ("share_memory_", "processes read a file together: svod.save_safetensors and svod.load_safetensors"),
    ("squeeze_", IN_PLACE),
    ("swapaxes_", IN_PLACE),
    ("t_", IN_PLACE),
    ("to_dense", "there are no sparse tensors: it is dense"),
    ("to_sparse", "there are no sparse tensors: svod.scatter_add and svod.index_add"),
    ("transpose_", IN_PLACE),
    ("type", "write t.dtype, or t.astype(dtype)"),
    ("unsqueeze_", IN_PLACE),
    ("values", "write t itself, or t.numpy()"),
];

/// Of methods that would change the shape of a tensor, or what it follows from.
const IN_PLACE: &str = "a tensor keeps its shape: write t = t.unsqueeze(0), and its like";

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
