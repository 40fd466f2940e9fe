//! Functions of elements that Python composes, called once and then built from a template.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use svod_tensor::{Tensor, template::Template};

use crate::convert::AnyTensor;
use crate::dtype::AnyDType;
use crate::error::Result;
use crate::tensor::{Made, PyTensor, kept_name};

/// What a function makes of operands of some types.
#[pyclass(frozen, name = "_Template", module = "svod._svod")]
pub struct PyTemplate {
    name: &'static str,
    template: Template,
}

/// The template of a function, which is called with tensors without dimensions; None where it is not one of elements.
#[pyfunction]
pub fn _template(name: &str, function: &Bound<'_, PyAny>, dtypes: Vec<AnyDType>) -> Result<Option<PyTemplate>> {
    let operands: Vec<Tensor> = dtypes
        .iter()
        .map(|dtype| Tensor::from_bytes(&vec![0; dtype.0.bytes()], dtype.0, &[]))
        .collect::<svod_tensor::Result<_>>()?;
    let given = PyTuple::new(function.py(), operands.iter().map(|one| PyTensor(one.clone())))?;
    let made: AnyTensor = function.call1(given)?.extract()?;
    let template = Template::of(&operands, &made.0);
    Ok(template.map(|template| PyTemplate { name: kept_name(name), template }))
}

#[pymethods]
impl PyTemplate {
    /// The function of these tensors, which broadcast.
    #[pyo3(signature = (*operands))]
    fn __call__(&self, operands: &Bound<'_, PyTuple>) -> Made {
        let operands = operands.iter().map(|one| Ok(one.extract::<AnyTensor>()?.0)).collect::<Result<Vec<Tensor>>>()?;
        Ok(self.template.apply(self.name, &operands)?.into())
    }
}
