//! Python's arguments as the core's.

use std::ops::Deref;

use numpy::PyUntypedArray;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyComplex, PyComplexMethods, PyEllipsis, PyFloat, PyInt, PyList, PySequence, PySlice, PyTuple,
};
use svod_tensor::{DType, Index, Operand, Size, Tensor};

use crate::array::{listed_operand, literal};
use crate::error::{Class, Raised, Result};
use crate::scalar::expected;
use crate::size::{AnySize, Extents, symbolic};
use crate::tensor::{PyTensor, pair};

/// A tensor or what becomes one: an operand that is more than a scalar.
pub struct AnyTensor(pub Tensor);

/// A tensor or what becomes one beside others: floats of a list have these tensors' precision.
pub struct AnyMember(pub Operand);

/// A tensor, an array, or a Python scalar, which takes the type of the tensor it meets.
pub struct AnyOperand(pub Operand);

/// One axis.
pub struct Axis(pub i64);

/// One axis, or several.
pub struct Axes(pub Vec<i64>);

impl Deref for Axes {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        &self.0
    }
}

/// One tensor, or several: a tensor is not taken apart.
pub struct Tensors(pub Vec<Py<PyTensor>>);

/// One name, or several.
pub struct Names(pub Vec<String>);

impl<'a, 'py> FromPyObject<'a, 'py> for Tensors {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match given.cast::<PyTensor>() {
            Ok(one) => Ok(Tensors(vec![one.to_owned().unbind()])),
            Err(_) => given.extract().map(Tensors).map_err(|error| expected("a tensor, or several,", &given, error)),
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Names {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match given.extract::<String>() {
            Ok(one) => Ok(Names(vec![one])),
            Err(_) => given.extract().map(Names).map_err(|error| expected("a name, or several,", &given, error)),
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for AnyTensor {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(tensor) = given.cast::<PyTensor>() {
            return Ok(AnyTensor(tensor.get().0.clone()));
        }
        let made = match symbolic(&given) {
            Some(AnySize { size, values }) => Tensor::scalar(Operand::Size(size, values), None).map_err(Raised::from),
            None => {
                pair::refuse(&given)?;
                literal(&given)
            }
        };
        Ok(AnyTensor(made?))
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for AnyMember {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if (is_listed(&given) || given.is_instance_of::<PyFloat>())
            && let Some(operand) = operand(&given)?
        {
            return Ok(AnyMember(operand));
        }
        given.extract().map(|AnyTensor(tensor)| AnyMember(Operand::Tensor(tensor)))
    }
}

/// The members of one operation as tensors.
pub fn together(members: impl IntoIterator<Item = AnyMember>) -> Result<Vec<Tensor>> {
    Ok(Tensor::together(&members.into_iter().map(|member| member.0).collect::<Vec<_>>())?)
}

impl<'a, 'py> FromPyObject<'a, 'py> for AnyOperand {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        operand(&given)?.map(AnyOperand).ok_or_else(|| {
            let class = class_of(&given);
            let message = format!("a tensor, an array, a list or a number is expected, not {class}");
            PyErr::from(Class::ArgumentType.raise(message))
        })
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Axis {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match given.is_instance_of::<PyBool>() {
            true => Err(no_flag("an integer", &given)),
            false => given.extract().map(Axis).map_err(|error| expected("an integer", &given, error)),
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Axes {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if given.is_instance_of::<PyBool>() {
            return Err(no_flag("an integer, or several,", &given));
        }
        // Asking an integer whether it is a sequence takes longer than all the rest.
        let axes = match given.is_instance_of::<PyInt>() || given.cast::<PySequence>().is_err() {
            true => given.extract().map(|one| Axes(vec![one])),
            false => given.extract().map(Axes),
        };
        axes.map_err(|error| expected("an integer, or several,", &given, error))
    }
}

/// The error of a bool in the place of a number: as an axis it is more likely another argument, at a wrong position.
fn no_flag(what: &str, given: &Bound<'_, PyAny>) -> PyErr {
    Class::ArgumentType.raise(format!("{what} is expected, not {given}")).into()
}

/// Whether it is a list or a tuple, which may be nested and stand for a tensor.
pub fn is_listed(given: &Bound<'_, PyAny>) -> bool {
    given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>()
}

/// An operand; none for an object that is not one, so that Python may ask its other side.
pub fn operand(given: &Bound<'_, PyAny>) -> PyResult<Option<Operand>> {
    if let Ok(tensor) = given.cast::<PyTensor>() {
        return Ok(Some(Operand::Tensor(tensor.get().0.clone())));
    }
    if let Some(number) = number(given)? {
        return Ok(Some(number));
    }
    match is_listed(given) || given.hasattr("__array__")? {
        true => Ok(Some(listed_operand(given)?)),
        false => Ok(None),
    }
}

/// A scalar; none for an object that is not one.
pub fn number(given: &Bound<'_, PyAny>) -> PyResult<Option<Operand>> {
    if let Ok(flag) = given.cast::<PyBool>() {
        return Ok(Some(Operand::Bool(flag.is_true())));
    }
    if given.is_instance_of::<PyFloat>() {
        return Ok(Some(Operand::Float(given.extract()?)));
    }
    if given.is_instance_of::<PyInt>() {
        let number = given.extract().map_err(|error| expected("an integer", given, error))?;
        return Ok(Some(Operand::Int(number)));
    }
    if let Ok(number) = given.cast::<PyComplex>() {
        return Ok(Some(Operand::Complex(number.real(), number.imag())));
    }
    Ok(symbolic(given).map(|AnySize { size, values }| Operand::Size(size, values)))
}

/// The one of two names for an argument that was used.
pub fn either<T>(axis: Option<T>, dim: Option<T>) -> PyResult<Option<T>> {
    match (axis, dim) {
        (Some(_), Some(_)) => {
            Err(Class::ArgumentType.raise("axis and dim are one argument: give only one of them").into())
        }
        (axis, dim) => Ok(axis.or(dim)),
    }
}

/// An argument that has no default value, though one before it has.
pub fn required<T>(op: &str, name: &str, given: Option<T>) -> Result<T> {
    given.ok_or_else(|| Class::ArgumentType.raise(format!("{op}: the argument {name} is missing")))
}

/// An argument that has a second name, of which one has to be used.
pub fn named<T>(op: &str, name: &str, given: Option<T>, other: Option<T>) -> Result<T> {
    match (given, other) {
        (Some(_), Some(_)) => Err(Class::ArgumentType.raise(format!("{op}: the argument {name} is given twice"))),
        (given, other) => required(op, name, given.or(other)),
    }
}

/// The axis of the two names, if either was used.
pub fn one_axis(axis: Option<Axis>, dim: Option<Axis>) -> PyResult<Option<i64>> {
    Ok(either(axis, dim)?.map(|axis| axis.0))
}

/// An argument converted to what it has to be; errors name it and the operation.
pub fn argument<'py, T>(op: &str, name: &str, given: &Bound<'py, PyAny>) -> Result<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    Ok(crate::explained::argument(op, name, given)?)
}

/// An integer of 64 bits, which is the argument of this name.
pub fn integer(name: &str, given: &Bound<'_, PyAny>) -> Result<i64> {
    let unfit = |class: Class, what: String| class.raise(format!("{name}: an integer is expected, not {what}"));
    if given.is_instance_of::<PyBool>() || !given.hasattr("__index__")? {
        return Err(unfit(Class::ArgumentType, given.get_type().name()?.to_string()));
    }
    match given.extract::<i64>() {
        Ok(number) => Ok(number),
        Err(error) if error.is_instance_of::<PyOverflowError>(given.py()) => {
            Err(Class::Overflow.raise(format!("{name}: {given} does not fit 64 bits")))
        }
        // What an array of several, or of none, has in place of a position.
        Err(error) if error.get_type(given.py()).is(given.py().get_type::<PyTypeError>()) => {
            Err(unfit(Class::ArgumentType, given.get_type().name()?.to_string()))
        }
        // That of a tensor's `__index__`.
        Err(error) => Err(error.into()),
    }
}

/// Tensors that a function takes one by one.
pub fn one_by_one(op: &str, given: &Bound<'_, PyTuple>) -> Result<Vec<Py<PyTensor>>> {
    let tensor = |one: Bound<'_, PyAny>| match one.cast::<PyTensor>() {
        Ok(tensor) => Ok(tensor.clone().unbind()),
        Err(_) => {
            let class = class_of(&one);
            Err(Class::ArgumentType.raise(match is_listed(&one) {
                true => format!("{op}: pass tensors, not a {class}: {op}(*tensors)"),
                false => format!("{op}: a tensor is expected, not {class}"),
            }))
        }
    };
    given.iter().map(tensor).collect()
}

/// The weight of a norm, in whose place PyTorch's function of this name has a shape.
pub fn scale(op: &str, given: &Bound<'_, PyAny>) -> Result<Tensor> {
    let is_extent = |one: &Bound<'_, PyAny>| {
        (one.is_instance_of::<PyInt>() && !one.is_instance_of::<PyBool>()) || symbolic(one).is_some()
    };
    let shape = match is_listed(given) {
        true => given.len()? > 0 && given.try_iter()?.all(|one| one.is_ok_and(|one| is_extent(&one))),
        false => is_extent(given),
    };
    match shape {
        true => Err(Class::ArgumentType.raise(format!(
            "{op}: the first argument is the weight, a tensor, not a shape as {given} is: \
             svod.nn.functional.{op}(x, {given}) takes that"
        ))),
        false => Ok(argument::<AnyTensor>(op, "weight", given)?.0),
    }
}

/// Integers given one by one or as one sequence.
pub fn integers(given: &Bound<'_, PyTuple>) -> PyResult<Vec<i64>> {
    let one = if given.len() == 1 { Some(given.get_item(0)?) } else { None };
    let all = one.filter(|one| one.cast::<PySequence>().is_ok()).unwrap_or_else(|| given.as_any().clone());
    all.extract().map_err(|error| expected("an integer, or several,", &all, error))
}

/// The name of an object's class.
pub fn class_of(given: &Bound<'_, PyAny>) -> String {
    given.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string())
}

/// What stands between the brackets, and the values for this run of the variables there.
pub fn index(given: &Bound<'_, PyAny>) -> Result<(Vec<Index>, Extents)> {
    let mut extents = Extents::default();
    let all = match given.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().map(|part| one_index(&part, &mut extents)).collect::<Result<_>>()?,
        Err(_) => vec![one_index(given, &mut extents)?],
    };
    Ok((all, extents))
}

/// What stands between two commas.
fn one_index(part: &Bound<'_, PyAny>, extents: &mut Extents) -> Result<Index> {
    if let Ok(slice) = part.cast::<PySlice>() {
        return sliced(slice, extents);
    }
    if part.is_exact_instance_of::<PyInt>() {
        return Ok(position(part)?.into());
    }
    if part.is_none() {
        return Ok(Index::NewAxis);
    }
    if part.is_instance_of::<PyEllipsis>() {
        return Ok(Index::Ellipsis);
    }
    if let Some(size) = symbolic(part) {
        let index = Index::Int(size.size.clone());
        extents.push(size);
        return Ok(index);
    }
    match is_integer(part)? {
        true => Ok(position(part)?.into()),
        false => Ok(Index::Tensor(positions(part)?)),
    }
}

/// An integer between brackets.
fn position(given: &Bound<'_, PyAny>) -> PyResult<i64> {
    given.extract().map_err(|error| expected("an index", given, error))
}

/// An integer of a slice.
fn bound(given: &Bound<'_, PyAny>) -> PyResult<i64> {
    given.extract().map_err(|error| expected("an integer or None in a slice", given, error))
}

/// Whether an index is one integer, NumPy's included, that is known: not a tensor.
fn is_integer(part: &Bound<'_, PyAny>) -> PyResult<bool> {
    let other = part.is_instance_of::<PyBool>() || part.cast::<PyTensor>().is_ok();
    Ok(!other && !part.is_instance_of::<PyUntypedArray>() && part.hasattr("__index__")?)
}

fn sliced(slice: &Bound<'_, PySlice>, extents: &mut Extents) -> Result<Index> {
    let py = slice.py();
    let mut end = |value: Bound<'_, PyAny>| -> Result<Option<Size>> {
        if value.is_none() {
            return Ok(None);
        }
        let Some(size) = symbolic(&value) else { return Ok(Some(bound(&value)?.into())) };
        extents.push(size.clone());
        Ok(Some(size.size))
    };
    let (start, stop) = (end(slice.getattr(intern!(py, "start"))?)?, end(slice.getattr(intern!(py, "stop"))?)?);
    let step = slice.getattr(intern!(py, "step"))?;
    let step = if step.is_none() { 1 } else { bound(&step)? };
    Ok(Index::Slice { start, stop, step })
}

/// A tensor of positions, or a mask.
fn positions(part: &Bound<'_, PyAny>) -> Result<Tensor> {
    if part.is_instance_of::<PyList>() || part.is_instance_of::<PyBool>() {
        return match part.len() {
            Ok(0) => Ok(Tensor::literal(&[], DType::I64, &[0])?),
            _ => literal(part),
        };
    }
    Ok(match operand(part)? {
        Some(Operand::Tensor(tensor) | Operand::Listed { rounded: tensor, .. }) => tensor,
        _ => {
            let class = part.get_type().name()?;
            let message = format!("an index is an integer, a slice, None, ... or a tensor of integers, not {class}");
            return Err(Class::Index.raise(message));
        }
    })
}
