//! ONNX models: `svod.onnx` wraps this.

use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use svod_device::DeviceSpec;
use svod_dtype::DType;
use svod_onnx::{Extent, Model, OnnxError, Port, Value};

use crate::array::tensor_of;
use crate::dtype::{AnyDType, PyDType};
use crate::error::{Class, Raised, Result};
use crate::gil::allow;
use crate::plan::PyPlan;
use crate::tensor::PyTensor;

/// A model that is read and checked.
#[pyclass(name = "_OnnxModel", module = "svod._svod", frozen)]
pub struct PyOnnxModel(Arc<Model>);

/// Name, element type and extents of an input or an output: numbers, names, or nothing.
type Described<'py> = (String, Option<PyDType>, Option<Bound<'py, PyTuple>>);

#[explained]
#[pymethods]
impl PyOnnxModel {
    /// The model in a file, or in the bytes of one.
    #[new]
    #[pyo3(signature = (path=None, content=None))]
    fn new(py: Python<'_>, path: Option<&str>, content: Option<Vec<u8>>) -> Result<PyOnnxModel> {
        let read = || match (path, content) {
            (Some(path), _) => Model::open(path),
            (None, content) => Model::from_bytes(content.unwrap_or_default()),
        };
        Ok(PyOnnxModel(Arc::new(allow(py, read)?)))
    }

    /// Name, element type and extents of each input.
    fn inputs<'py>(&self, py: Python<'py>) -> Result<Vec<Described<'py>>> {
        self.0.inputs().iter().map(|port| described(py, port)).collect()
    }

    /// Name, element type and extents of each output.
    fn outputs<'py>(&self, py: Python<'py>) -> Result<Vec<Described<'py>>> {
        self.0.outputs().iter().map(|port| described(py, port)).collect()
    }

    /// Name, element type and extents of each input that need not be given.
    fn defaults<'py>(&self, py: Python<'py>) -> Result<Vec<Described<'py>>> {
        self.0.defaults().iter().map(|port| described(py, port)).collect()
    }

    /// Number of plans that are kept.
    fn plans(&self) -> usize {
        self.0.plans()
    }

    /// The results for these inputs.
    fn run<'py>(&self, py: Python<'py>, inputs: Vec<Bound<'py, PyAny>>) -> Result<Bound<'py, PyTuple>> {
        let values = inputs.iter().enumerate().map(|(at, given)| {
            let port = self.0.inputs().iter().chain(self.0.defaults()).nth(at);
            value_of(given, port.and_then(|port| port.dtype)).map_err(|raised| match port {
                Some(port) => named(py, &port.name, raised),
                None => raised,
            })
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        let results = allow(py, || self.0.run(&values))?;
        let results = results.iter().map(|value| object_of(py, value)).collect::<Result<Vec<_>>>()?;
        Ok(PyTuple::new(py, results)?)
    }

    /// The plan for inputs of these types and extents; none of an extent that the model names and that is not given.
    fn prepare(&self, py: Python<'_>, kinds: Vec<(AnyDType, Vec<Option<usize>>)>) -> Result<PyPlan> {
        let kinds: Vec<(DType, Vec<Option<usize>>)> =
            kinds.into_iter().map(|(dtype, extents)| (dtype.0, extents)).collect();
        PyPlan::new(allow(py, || self.0.prepare(&kinds))?)
    }
}

/// The operators that models may use: set, name, first version of the set.
#[explained]
#[pyfunction]
pub fn _onnx_operators() -> Vec<(&'static str, &'static str, i64)> {
    svod_onnx::supported()
}

fn described<'py>(py: Python<'py>, port: &Port) -> Result<Described<'py>> {
    let extent = |extent: &Extent| match extent {
        Extent::Known(n) => n.into_bound_py_any(py),
        Extent::Named(name) => name.into_bound_py_any(py),
        Extent::Any => Ok(py.None().into_bound(py)),
    };
    let shape = match &port.shape {
        Some(shape) => Some(PyTuple::new(py, shape.iter().map(extent).collect::<PyResult<Vec<_>>>()?)?),
        None => None,
    };
    Ok((port.name.clone(), port.dtype.map(PyDType), shape))
}

/// What is given for an input: a tensor or an array, for one that is no tensor also a list of these, or nothing.
fn value_of(given: &Bound<'_, PyAny>, dtype: Option<DType>) -> Result<Option<Value>> {
    if given.is_none() {
        return Ok(None);
    }
    if let Ok(tensor) = given.cast::<PyTensor>() {
        return Ok(Some(Value::Tensor(tensor.get().0.clone())));
    }
    if let (Ok(list), None) = (given.cast::<PyList>(), dtype) {
        let all = list.iter().map(|one| Ok(value_of(&one, None)?.unwrap_or(Value::Nothing)));
        return Ok(Some(Value::Sequence(all.collect::<Result<_>>()?)));
    }
    // Python's own numbers take the type of the input; an array has one.
    let named = if given.hasattr("dtype")? { None } else { dtype };
    Ok(Some(Value::Tensor(tensor_of(given, &DeviceSpec::CPU, named)?)))
}

/// An error that names the input.
fn named(py: Python<'_>, name: &str, raised: Raised) -> Raised {
    let error = PyErr::from(raised);
    match Class::DType.matches(&error, py) {
        true => Class::DType.raise(format!("input '{name}': {}", error.value(py))),
        false => error.into(),
    }
}

fn object_of<'py>(py: Python<'py>, value: &Value) -> Result<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Nothing => py.None().into_bound(py),
        Value::Sequence(all) => {
            let all = all.iter().map(|value| object_of(py, value)).collect::<Result<Vec<_>>>()?;
            PyList::new(py, all)?.into_any()
        }
        tensor => {
            let tensor = tensor.tensor().map_err(|fault| Class::Argument.raise(fault.to_string()))?;
            PyTensor(tensor).into_bound_py_any(py)?
        }
    })
}

impl From<OnnxError> for Raised {
    fn from(error: OnnxError) -> Self {
        match error {
            OnnxError::Tensor(error) => (*error).into(),
            error => Class::of(error.kind()).raise(error.to_string()),
        }
    }
}
