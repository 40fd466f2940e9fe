//! Flags, numbers, names and lists of Python's as arguments. Errors say what is expected, and PyO3 notes for which argument.
//!
//! The functions are for arguments with a default (`from_py_with`), which signatures are to show; the types for others.

use std::ops::Deref;

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyComplexMethods, PyFloat, PyString};

use crate::error::Class;

/// Letters of an argument that an error shows.
const MOST_SHOWN: usize = 100;

/// Text.
pub struct Text(String);

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// A real number.
pub struct Real(pub f64);

/// A real or complex number, by its parts.
#[derive(Clone, Copy)]
pub struct Parts(pub f64, pub f64);

/// An integer of 64 bits.
pub struct Integer(pub i64);

/// Several things of a kind, in a list or a tuple or what else gives them one after the other, and has a length.
pub struct Several<T>(pub Vec<T>);

/// True or false, NumPy's included.
pub fn flag(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    given.extract().map_err(|error| expected("True or False", given, error))
}

/// A number as a float.
pub fn real(given: &Bound<'_, PyAny>) -> PyResult<f64> {
    // A float in PyTorch's sense; that of a string is not one in Python's.
    given.extract().map_err(|error| expected("a number", given, error))
}

/// An integer of 64 bits: neither a flag, nor a float without a fraction.
pub fn whole(given: &Bound<'_, PyAny>) -> PyResult<i64> {
    let wrong = |what: PyErr| expected("an integer", given, what);
    let is_array = given.cast::<PyUntypedArray>().is_ok_and(|array| array.ndim() > 0);
    if given.is_instance_of::<PyBool>() || is_array {
        return Err(wrong(PyTypeError::new_err("")));
    }
    given.extract().map_err(wrong)
}

impl<'a, 'py> FromPyObject<'a, 'py> for Text {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match given.cast::<PyString>() {
            Ok(text) => Ok(Text(text.to_str()?.to_owned())),
            Err(_) => Err(expected("text", &given, PyTypeError::new_err(""))),
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Real {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        real(&given).map(Real)
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Parts {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        // NumPy's complex numbers of 32 bits are none of Python's.
        let complex = match given.cast::<PyComplex>() {
            Ok(complex) => Some(complex.to_owned()),
            Err(_) if given.is_instance_of::<PyFloat>() => None,
            Err(_) => given.call_method0("__complex__").ok().and_then(|made| made.cast_into().ok()),
        };
        match complex {
            Some(complex) => Ok(Parts(complex.real(), complex.imag())),
            None => Ok(Parts(real(&given)?, 0.0)),
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Integer {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        whole(&given).map(Integer)
    }
}

impl<'a, 'py, T> FromPyObject<'a, 'py> for Several<T>
where
    T: for<'b> FromPyObject<'b, 'py, Error: Into<PyErr>>,
{
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        given.extract().map(Several).map_err(|error| expected("a list", &given, error))
    }
}

/// The error of an argument, which says what is expected where its type is another one, and that an integer is too large.
pub fn expected(what: &str, given: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = given.py();
    let shown = || {
        let text = format!("{given:?}");
        text.char_indices().nth(MOST_SHOWN).map_or(text.clone(), |(at, _)| format!("{}...", &text[..at]))
    };
    if [Class::ArgumentType, Class::Overflow, Class::Argument].iter().any(|class| class.matches(&error, py)) {
        return error;
    }
    if error.is_instance_of::<PyTypeError>(py) {
        return Class::ArgumentType.raise(format!("{what} is expected, not {}", shown())).into();
    }
    if error.is_instance_of::<PyOverflowError>(py) {
        return Class::Overflow.raise(format!("{what} of at most 64 bits is expected, not {}", shown())).into();
    }
    error
}
