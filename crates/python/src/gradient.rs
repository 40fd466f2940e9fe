//! Derivatives: what `svod.grad` and its like are made of, and the part of `Tensor` that requires gradients.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use svod_tensor::derivative::{
    Backward, Pulled, grad_enabled, pullback, pushforward, released, set_grad_enabled, stand_ins, variables,
    with_derivatives,
};
use svod_tensor::{Operand, Tensor, batched};

use crate::convert::{AnyOperand, one_by_one};
use crate::error::{Class, Raised, Result};
use crate::scalar::flag;
use crate::step::Exception;
use crate::tensor::PyTensor;

/// The functions that take derivatives, by which errors call them.
const FUNCTIONS: [&str; 6] = ["grad", "value_and_grad", "vjp", "jvp", "jacobian", "hessian"];

fn named(function: &str) -> &'static str {
    FUNCTIONS.into_iter().find(|known| *known == function).unwrap_or(FUNCTIONS[0])
}

fn tensors(given: &[Py<PyTensor>]) -> Vec<&Tensor> {
    given.iter().map(|tensor| &tensor.get().0).collect()
}

fn python(made: Vec<Tensor>) -> Vec<PyTensor> {
    made.into_iter().map(Into::into).collect()
}

/// A cotangent: a tensor, or a number for all elements.
fn cotangent(value: &Tensor, given: Option<AnyOperand>) -> Result<Option<Tensor>> {
    Ok(match given {
        None => None,
        Some(AnyOperand(Operand::Tensor(tensor))) => Some(tensor),
        Some(AnyOperand(Operand::Listed { exact, .. })) => Some(exact.cast(value.dtype())?),
        Some(AnyOperand(number)) => Some(Tensor::scalar(number, Some(value.dtype()))?.expand(&value.shape())?),
    })
}

/// Variables of these values.
#[explained]
#[pyfunction]
pub fn _variables(function: &str, values: Vec<Py<PyTensor>>) -> Result<Vec<PyTensor>> {
    Ok(python(variables(named(function), &tensors(&values))?))
}

/// What stands for a function's arguments while it is traced, to take derivatives by.
#[explained]
#[pyfunction]
pub fn _stand_ins(values: Vec<Py<PyTensor>>) -> Result<Vec<PyTensor>> {
    Ok(python(stand_ins(&tensors(&values))?))
}

/// These values without what they remember of variables that nobody takes derivatives by any more.
#[explained]
#[pyfunction]
pub fn _released(values: Vec<Py<PyTensor>>, variables: Vec<Py<PyTensor>>) -> Result<Vec<PyTensor>> {
    Ok(python(released(&tensors(&values), &tensors(&variables))?))
}

/// The cotangents of variables, given those of values.
#[explained]
#[pyfunction]
pub fn _pullback(
    function: &str,
    values: Vec<Py<PyTensor>>,
    cotangents: Vec<Option<Py<PyTensor>>>,
    variables: Vec<Py<PyTensor>>,
) -> Result<Vec<PyTensor>> {
    let name = named(function);
    let mut seeds = Vec::with_capacity(values.len());
    for (value, given) in values.iter().zip(cotangents) {
        seeds.push(match given {
            Some(given) => given.get().0.clone(),
            None => value.get().0.unit(name)?,
        });
    }
    Ok(python(pullback(name, &tensors(&values), &seeds.iter().collect::<Vec<_>>(), &tensors(&variables))?))
}

/// The tangents of values, given those of variables.
#[explained]
#[pyfunction]
pub fn _pushforward(
    function: &str,
    values: Vec<Py<PyTensor>>,
    variables: Vec<Py<PyTensor>>,
    tangents: Vec<Py<PyTensor>>,
) -> Result<Vec<PyTensor>> {
    Ok(python(pushforward(named(function), &tensors(&values), &tensors(&variables), &tensors(&tangents))?))
}

/// What values of one example are for a whole batch; none where they are the same for all examples.
#[explained]
#[pyfunction]
pub fn _batched(
    values: Vec<Py<PyTensor>>,
    examples: Vec<Py<PyTensor>>,
    batches: Vec<Py<PyTensor>>,
) -> Result<Vec<Option<PyTensor>>> {
    let made = batched(&tensors(&values), &tensors(&examples), &tensors(&batches))?;
    Ok(made.into_iter().map(|value| value.map(Into::into)).collect())
}

/// Lets these tensors be variables, but for those that require a gradient already: gives those that were not.
#[explained]
#[pyfunction]
pub fn _watch(tensors: Vec<Py<PyTensor>>) -> Result<Vec<Py<PyTensor>>> {
    let mut watched = Vec::new();
    for tensor in tensors {
        if tensor.get().0.watch()? {
            watched.push(tensor);
        }
    }
    Ok(watched)
}

/// Lets these tensors be variables no longer.
#[explained]
#[pyfunction]
pub fn _unwatch(tensors: Vec<Py<PyTensor>>) {
    tensors.iter().for_each(|tensor| tensor.get().0.unwatch());
}

/// Whether what this thread computes remembers the tensors that require a gradient.
#[explained]
#[pyfunction]
pub fn is_grad_enabled() -> bool {
    grad_enabled()
}

/// Says whether what this thread computes remembers them; gives what was so before.
#[explained]
#[pyfunction]
pub fn _set_grad_enabled(enabled: bool) -> bool {
    set_grad_enabled(enabled)
}

/// Whether somebody may take a derivative of what is made of the tensor.
#[explained]
#[pyfunction]
pub fn _may_be_differentiated(tensor: &PyTensor) -> bool {
    tensor.0.may_be_differentiated()
}

/// A value whose derivative by operands is what a function makes of its cotangent.
#[explained]
#[pyfunction]
pub fn _with_derivative(
    name: &str,
    value: &PyTensor,
    operands: Vec<Py<PyTensor>>,
    function: Py<PyAny>,
) -> Result<PyTensor> {
    let pull = move |g: &Tensor| -> Pulled {
        pulled(|py| function.bind(py).call1((Bound::new(py, PyTensor::from(g.clone()))?,)))
    };
    Ok(value.0.with_derivative(name, &tensors(&operands), pull)?.into())
}

/// The cotangents that a function of Python's gives.
fn pulled(call: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>) -> Pulled {
    Python::attach(|py| -> std::result::Result<Vec<Option<Tensor>>, Raised> {
        let parts: Vec<Option<Py<PyTensor>>> = call(py)?.extract()?;
        Ok(parts.into_iter().map(|part| Some(part?.get().0.clone())).collect())
    })
    .map_err(|raised| Arc::new(Exception::new(raised.into())) as Arc<dyn std::error::Error + Send + Sync>)
}

/// Values in memory that a call of this name has given. What a function makes of their cotangents, none of those that have none, and
/// the operands are the cotangents of these; it is told, third, whether nobody takes derivatives of what it makes.
#[explained]
#[pyfunction]
pub fn _with_derivatives(
    name: &str,
    values: Vec<Py<PyTensor>>,
    operands: Vec<Py<PyTensor>>,
    function: Py<PyAny>,
) -> Result<Vec<PyTensor>> {
    let pull = move |given: &[Option<Tensor>], operands: &[Tensor], is_last: bool| -> Pulled {
        let given: Vec<Option<PyTensor>> = given.iter().map(|g| g.clone().map(Into::into)).collect();
        pulled(|py| function.bind(py).call1((given, python(operands.to_vec()), is_last)))
    };
    Ok(python(with_derivatives(name, &tensors(&values), &tensors(&operands), pull)?))
}

/// The pullback of a graph over inputs, as a graph: of these values, by some of the inputs.
#[pyclass(name = "_Backward", module = "svod._svod", frozen)]
pub struct PyBackward(Backward);

#[explained]
#[pymethods]
impl PyBackward {
    #[new]
    fn new(values: Vec<Py<PyTensor>>, inputs: Vec<Py<PyTensor>>) -> Result<PyBackward> {
        Ok(PyBackward(Backward::of(&tensors(&values), &tensors(&inputs))?))
    }

    /// What stands for the cotangents of the values.
    #[getter]
    fn seeds(&self) -> Vec<PyTensor> {
        python(self.0.seeds.clone())
    }

    /// The cotangents of the inputs; none of what the values do not follow from.
    #[getter]
    fn cotangents(&self) -> Vec<Option<PyTensor>> {
        self.0.cotangents.iter().map(|one| one.clone().map(Into::into)).collect()
    }

    /// Which of some inputs it reads.
    fn reads(&self, inputs: Vec<Py<PyTensor>>) -> Result<Vec<bool>> {
        Ok(self.0.reads(&tensors(&inputs))?)
    }

    /// What it reads of the graph of these values and is dear to compute again, what stands for that, and the cotangents, those
    /// that there are, that read it.
    fn kept(&self, values: Vec<Py<PyTensor>>) -> Result<(Vec<PyTensor>, Vec<PyTensor>, Vec<PyTensor>)> {
        let kept = self.0.kept(&tensors(&values))?;
        Ok((python(kept.values), python(kept.stand_ins), python(kept.cotangents)))
    }
}

/// A function's value, whose derivatives compute what lies between it and the function's arguments again.
#[explained]
#[pyfunction]
pub fn _checkpointed(name: &str, value: &PyTensor, arguments: Vec<Py<PyTensor>>) -> Result<PyTensor> {
    Ok(value.0.checkpointed(name, &tensors(&arguments))?.into())
}

#[explained]
#[pymethods]
impl PyTensor {
    /// Whether derivatives may be taken by the tensor, or by something that it follows from.
    #[getter]
    fn requires_grad(&self) -> bool {
        self.0.requires_grad()
    }

    #[setter]
    fn set_requires_grad(&self, requires: bool) -> Result<()> {
        Ok(self.0.set_requires_grad(requires)?)
    }

    /// Has `backward` gather the derivative by this tensor in its `grad`; gives the tensor itself.
    ///
    /// >>> import svod
    /// >>> w = svod.Tensor([1.0, 2.0]).requires_grad_()
    /// >>> (w * w).sum().backward()
    /// >>> w.grad.tolist()
    /// [2.0, 4.0]
    #[pyo3(signature = (requires_grad=true))]
    fn requires_grad_(
        slf: Bound<'_, Self>,
        #[pyo3(from_py_with = flag)] requires_grad: bool,
    ) -> Result<Bound<'_, Self>> {
        slf.get().0.set_requires_grad(requires_grad)?;
        Ok(slf)
    }

    /// Whether somebody said that the tensor requires no gradient, rather than nothing.
    fn _is_fixed(&self) -> bool {
        self.0.is_fixed()
    }

    /// The gradient that `backward` gathered; none before, and after `t.grad = None`.
    #[getter]
    fn grad(&self) -> Option<PyTensor> {
        self.0.grad().map(PyTensor)
    }

    #[setter]
    fn set_grad(&self, gradient: Option<Py<PyTensor>>) -> Result<()> {
        Ok(self.0.set_grad(gradient.as_ref().map(|g| &g.get().0))?)
    }

    /// Whether it follows from no other tensor that requires a gradient.
    #[getter]
    fn is_leaf(&self) -> bool {
        self.0.is_leaf()
    }

    /// Has `backward` keep the gradient by this tensor, though it follows from others.
    fn retain_grad(&self) -> Result<()> {
        Ok(self.0.retain_grad()?)
    }

    /// Adds to the `grad` of each tensor that requires a gradient, and that this one follows from, the derivative by it.
    ///
    /// `gradient` is the cotangent, of this tensor's shape; a tensor of one element needs none. The tensor then
    /// forgets how it was computed, unless `retain_graph`; with `create_graph` gradients may be differentiated in turn.
    #[pyo3(signature = (gradient=None, *, retain_graph=false, create_graph=false))]
    fn backward(
        &self,
        gradient: Option<AnyOperand>,
        #[pyo3(from_py_with = flag)] retain_graph: bool,
        #[pyo3(from_py_with = flag)] create_graph: bool,
    ) -> Result<()> {
        let seed = cotangent(&self.0, gradient)?;
        Ok(self.0.backward(seed.as_ref(), retain_graph, create_graph)?)
    }

    /// The derivatives of this tensor by others that it follows from, which need not require a gradient: a tensor for
    /// each of them.
    ///
    /// `cotangent` is of this tensor's shape; a tensor of one element needs none.
    ///
    /// >>> import svod
    /// >>> x, w = svod.Tensor([1.0, 2.0]), svod.Tensor([3.0, 4.0])
    /// >>> loss = (x * w).sum()
    /// >>> [g.tolist() for g in loss.gradient(x, w)]
    /// [[3.0, 4.0], [1.0, 2.0]]
    #[pyo3(signature = (*by, cotangent=None))]
    fn gradient<'py>(&self, by: &Bound<'py, PyTuple>, cotangent: Option<AnyOperand>) -> Result<Bound<'py, PyTuple>> {
        if by.is_empty() {
            return Err(Class::Argument.raise("gradient: by which tensors?"));
        }
        let others = one_by_one("gradient", by)?;
        let seed = self::cotangent(&self.0, cotangent)?;
        let found = self.0.gradient(&tensors(&others), seed.as_ref())?;
        let found: Vec<Py<PyTensor>> =
            python(found).into_iter().map(|g| Py::new(by.py(), g)).collect::<PyResult<Vec<_>>>()?;
        Ok(PyTuple::new(by.py(), found)?)
    }
}
