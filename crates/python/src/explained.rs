//! Arguments that do not fit: errors name the function and the parameter. `#[explained]` has every argument of the binding
//! converted here.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;

use crate::error::{Class, Result};

/// An argument as what a function takes.
pub fn argument<'a, 'py, T>(function: &str, parameter: &str, given: &'a Bound<'py, PyAny>) -> PyResult<T>
where
    T: FromPyObject<'a, 'py>,
{
    given.extract().map_err(|error: T::Error| named(given.py(), function, parameter, error.into()))
}

/// An argument as what a converter makes of it.
pub fn by<'a, 'py, T>(
    function: &str,
    parameter: &str,
    given: &'a Bound<'py, PyAny>,
    converter: impl Fn(&'a Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<T> {
    converter(given).map_err(|error| named(given.py(), function, parameter, error))
}

/// What is made of arguments that a function takes one by one, which are converted within it.
pub fn parts<T>(py: Python<'_>, function: &str, parameter: &str, made: Result<T>) -> Result<T> {
    made.map_err(|raised| named(py, function, parameter, raised.into()).into())
}

/// The error, which says first what it is about, if that is the argument's type or value. What a device or a run failed
/// at meanwhile stays as it is, and so does what code of the user's raised.
#[cold]
pub fn named(py: Python<'_>, function: &str, parameter: &str, error: PyErr) -> PyErr {
    let ours = Class::of_exception(&error, py);
    if ours.is_some_and(|class| !class.is_about_values()) {
        return error;
    }
    let text = error.value(py).to_string();
    let told = format!("{function}: {parameter}: ");
    let message = match text.strip_prefix(&format!("{function}: ")).unwrap_or(&text) {
        rest if rest.starts_with(&format!("{parameter}: ")) => format!("{function}: {rest}"),
        rest => told + rest,
    };
    if ours.is_some() {
        return match error.value(py).setattr("args", (message,)) {
            Ok(()) => error,
            Err(failed) => failed,
        };
    }
    // PyO3's own: no line of Python raised it.
    if error.traceback(py).is_some() {
        return error;
    }
    let class = error.get_type(py);
    if class.is(py.get_type::<PyTypeError>()) {
        return Class::ArgumentType.raise(message).into();
    }
    if class.is(py.get_type::<PyOverflowError>()) {
        return Class::Overflow.raise(message).into();
    }
    error
}

/// What a function made, or its error by the function's name: those of the operations that it is made of name these.
pub fn by_name<T>(function: &str, made: Result<T>) -> Result<T> {
    made.map_err(|raised| Python::attach(|py| renamed(py, function, raised.into())).into())
}

/// The error of an operation as that of the function that was called: only of what is about arguments, and that begins with
/// a name, behind which stand at most the operands' types (`add of f32[2], f32[3]: ..`).
#[cold]
fn renamed(py: Python<'_>, function: &str, error: PyErr) -> PyErr {
    if !Class::of_exception(&error, py).is_some_and(Class::is_about_values) {
        return error;
    }
    let text = error.value(py).to_string();
    let name = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
    let rest = &text[name.len()..];
    if name.is_empty() || name == function || !(rest.starts_with(": ") || rest.starts_with(" of ")) {
        return error;
    }
    match error.value(py).setattr("args", (format!("{function}{rest}"),)) {
        Ok(()) => error,
        Err(failed) => failed,
    }
}
