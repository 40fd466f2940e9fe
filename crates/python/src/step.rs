//! What is computed step by step or elsewhere: loops over tensors, and Python functions as parts of plans.

use std::fmt;
use std::sync::Arc;

use numpy::PyUntypedArrayMethods;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use svod_dtype::DType;
use svod_ir::graph::Shape;
use svod_ir::size::Size;
use svod_runtime::plan::CustomError;
use svod_runtime::{Function, HostArgs};
use svod_tensor::Tensor;

use crate::array::{Held, array_over, bytes_of, dense_for};
use crate::convert::AnyOperand;
use crate::dtype::AnyDType;
use crate::error::{Class, Raised, Result};
use crate::functions::shaped;
use crate::size::{AnySize, PySize};
use crate::tensor::PyTensor;

/// The values that `init` becomes when `body` computes them anew for each number from `start` to before
/// `stop`, from the number and the values so far; see `svod.iterate`.
#[explained]
#[pyfunction]
pub fn _iterate(start: i64, stop: i64, init: Vec<Py<PyTensor>>, body: &Bound<'_, PyAny>) -> Result<Vec<PyTensor>> {
    let py = body.py();
    let results = Tensor::iterate(start..stop, &all_of(&init), |i, carried| -> Result<Vec<Tensor>> {
        let i = PySize::from(AnySize { size: i, values: Vec::new() });
        called(body, (Bound::new(py, i)?, handles(carried)))
    })?;
    Ok(handles(results))
}

/// What one of two Python functions gives for these values; see `svod.cond`.
#[explained]
#[pyfunction]
pub fn _cond(
    condition: Py<PyTensor>,
    operands: Vec<Py<PyTensor>>,
    taken: &Bound<'_, PyAny>,
    other: &Bound<'_, PyAny>,
) -> Result<Vec<PyTensor>> {
    let results = Tensor::cond(
        &condition.get().0,
        &all_of(&operands),
        |values| called(taken, (handles(values),)),
        |values| called(other, (handles(values),)),
    )?;
    Ok(handles(results))
}

/// What values become while a condition holds; see `svod.while_loop`. `names` are what messages call the values.
#[explained]
#[pyfunction]
pub fn _while_loop(
    init: Vec<Py<PyTensor>>,
    names: Vec<String>,
    condition: &Bound<'_, PyAny>,
    body: &Bound<'_, PyAny>,
) -> Result<Vec<PyTensor>> {
    let holds = |values: Vec<Tensor>| -> Result<Tensor> {
        let result: Py<PyTensor> = condition.call1((handles(values),))?.extract().map_err(PyErr::from)?;
        Ok(result.get().0.clone())
    };
    let results = Tensor::while_loop(&all_of(&init), &names, holds, |values| called(body, (handles(values),)))?;
    Ok(handles(results))
}

/// What values become over the rows of others, and what is made of each row; see `svod.scan`. Without `length` it is that of
/// `xs`.
#[explained]
#[pyfunction]
pub fn _scan(
    init: Vec<Py<PyTensor>>,
    xs: Vec<Py<PyTensor>>,
    length: Option<AnySize>,
    backwards: bool,
    names: Vec<String>,
    body: &Bound<'_, PyAny>,
) -> Result<(Vec<PyTensor>, Vec<PyTensor>)> {
    let py = body.py();
    let rows = xs.first().and_then(|rows| rows.get().0.uop().shape().first().cloned());
    let AnySize { size, values } = length.or(rows.map(|size| AnySize { size, values: Vec::new() })).unwrap_or(0.into());
    // Derivatives read the operands as well: where they are known, so is the length.
    let bound = |all: &[Py<PyTensor>]| -> Result<Vec<Tensor>> {
        all.iter().map(|t| Ok(t.get().0.with_values(&values)?)).collect()
    };
    let (init, xs) = (bound(&init)?, bound(&xs)?);
    let (carried, stacked) = Tensor::scan_over(
        &init.iter().collect::<Vec<_>>(),
        &xs.iter().collect::<Vec<_>>(),
        size,
        backwards,
        &names,
        |i, carried, rows| -> Result<(Vec<Tensor>, Vec<Tensor>)> {
            let i = PySize::from(AnySize { size: i, values: Vec::new() });
            let (next, rows): (Vec<Py<PyTensor>>, Vec<Py<PyTensor>>) =
                body.call1((Bound::new(py, i)?, handles(carried), handles(rows)))?.extract()?;
            let given = |all: Vec<Py<PyTensor>>| all.iter().map(|t| t.get().0.clone()).collect();
            Ok((given(next), given(rows)))
        },
    )?;
    Ok((handles(carried), handles(stacked)))
}

fn all_of(tensors: &[Py<PyTensor>]) -> Vec<&Tensor> {
    tensors.iter().map(|t| &t.get().0).collect()
}

fn handles(values: Vec<Tensor>) -> Vec<PyTensor> {
    values.into_iter().map(PyTensor::from).collect()
}

/// The tensors that a Python function gives.
fn called<'py>(function: &Bound<'py, PyAny>, args: impl pyo3::call::PyCallArgs<'py>) -> Result<Vec<Tensor>> {
    let results: Vec<Py<PyTensor>> = function.call1(args)?.extract()?;
    Ok(results.iter().map(|t| t.get().0.clone()).collect())
}

/// The results of a Python function on these operands, of these shapes and types; see `svod.custom`.
#[explained]
#[pyfunction]
pub fn _custom(
    function: Py<PyAny>,
    name: String,
    operands: Vec<AnyOperand>,
    outputs: Vec<(Bound<'_, PyAny>, AnyDType)>,
) -> Result<Vec<PyTensor>> {
    let mut rule: Vec<(DType, Shape)> = Vec::with_capacity(outputs.len());
    let mut values = Vec::new();
    for (shape, dtype) in outputs {
        let shape = shaped("custom", &shape)?;
        values.extend_from_slice(shape.values());
        rule.push((dtype.0, shape.sizes.into()));
    }
    let host = declared_call(function, name, rule);
    let operands = operands.into_iter().map(|o| Tensor::scalar(o.0, None)).collect::<svod_tensor::Result<Vec<_>>>()?;
    let results = Tensor::host(host, &operands.iter().collect::<Vec<_>>())?;
    results.into_iter().map(|t| Ok(t.with_values(&values)?.into())).collect()
}

/// A Python function as one that graphs may call, which gives values of these types and shapes.
pub fn declared_call(function: Py<PyAny>, name: String, results: Vec<(DType, Shape)>) -> Arc<Function> {
    crate::collect::watch();
    let call = Call { function, name: name.clone() };
    Function::holding(name, call, move |_: &[(DType, &[Size])]| Ok(results.clone()), Call::run)
}

/// A Python function that a plan calls.
pub struct Call {
    function: Py<PyAny>,
    name: String,
}

/// Holds the Python function once more.
impl Clone for Call {
    fn clone(&self) -> Call {
        Python::attach(|py| Call { function: self.function.clone_ref(py), name: self.name.clone() })
    }
}

impl Call {
    /// The Python function.
    pub fn function(&self) -> &Py<PyAny> {
        &self.function
    }

    fn run(&self, args: &HostArgs) -> std::result::Result<(), CustomError> {
        Python::attach(|py| {
            let _resting = crate::fork::rest(py);
            self.attached(py, args)
        })
        .map_err(|raised| CustomError::Raised(Arc::new(Exception(raised.into()))))
    }

    /// Calls the function with copies of the operands, and copies what it gives to the results.
    fn attached(&self, py: Python<'_>, args: &HostArgs) -> Result<()> {
        let mut operands = Vec::with_capacity(args.operands.len());
        for operand in &args.operands {
            let buffer = &operand.buffer;
            let copy = buffer.to_device(buffer.storage().allocator()).map_err(svod_tensor::TensorError::from)?;
            operands.push(array_over(py, Held::Own(copy), buffer.dtype(), &operand.extents)?);
        }
        let given = self.function.bind(py).call1(PyTuple::new(py, operands)?)?;
        let several = args.results.len() > 1;
        let given: Vec<Bound<'_, PyAny>> = if several { given.extract()? } else { vec![given] };
        if given.len() != args.results.len() {
            let message = format!("{}: {} results were declared, {} given", self.name, args.results.len(), given.len());
            return Err(Class::Shape.raise(message));
        }
        for (result, given) in args.results.iter().zip(given) {
            if given.is_none() {
                let (dtype, extents) = (result.buffer.dtype(), &result.extents);
                let message = format!("{}: {dtype}{extents:?} was declared, but the function gave None", self.name);
                return Err(Class::DType.raise(message));
            }
            let given = match given.cast::<PyTensor>() {
                Ok(tensor) => tensor.call_method0("numpy")?,
                Err(_) => given,
            };
            let (array, dtype) = dense_for(&self.name, &given)?;
            let expected = result.buffer.dtype();
            if dtype != expected {
                return Err(Class::DType.raise(format!("{}: {expected} was declared, {dtype} given", self.name)));
            }
            if array.shape() != result.extents {
                let (declared, shape) = (&result.extents, array.shape());
                return Err(
                    Class::Shape.raise(format!("{}: shape {declared:?} was declared, {shape:?} given", self.name))
                );
            }
            result.buffer.copy_in(bytes_of(&array)).map_err(svod_tensor::TensorError::from)?;
        }
        Ok(())
    }
}

/// An exception of a function that a plan called, on its way to whoever executes the plan.
#[derive(Debug)]
pub struct Exception(PyErr);

impl Exception {
    /// An exception that was raised.
    pub fn new(raised: PyErr) -> Exception {
        Exception(raised)
    }

    /// The very exception that was raised.
    pub fn raised(&self) -> Raised {
        Python::attach(|py| Raised::from(self.0.clone_ref(py)))
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::error::Error for Exception {}
