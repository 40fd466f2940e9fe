//! Configurations that hold within a `with`: in a context variable, so that tasks of `asyncio` and threads have their
//! own, and each by what entered it, so that scopes may end in another order than they began, as those of
//! generators do.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use svod_runtime::PrepareConfig;

use crate::config::PyPrepareConfig;
use crate::error::{Class, Result};

/// The variable: a tuple of what was entered, the innermost last, each with its configuration.
fn variable(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static VARIABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = || -> PyResult<Py<PyAny>> {
        let variable = py.import("contextvars")?.getattr("ContextVar")?.call1(("svod.PrepareConfig",))?;
        // Until then nobody asks the interpreter.
        PrepareConfig::set_scopes(current);
        Ok(variable.unbind())
    };
    Ok(VARIABLE.get_or_try_init(py, make)?.bind(py).clone())
}

fn entered(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    Ok(variable(py)?.call_method1("get", (PyTuple::empty(py),))?.cast_into()?)
}

/// Makes this the configuration of what is prepared until `owner` leaves.
pub fn enter(owner: &Bound<'_, PyAny>, config: PrepareConfig) -> Result<()> {
    let py = owner.py();
    let mut scopes: Vec<Bound<'_, PyAny>> = entered(py)?.iter().collect();
    scopes.push(PyTuple::new(py, [owner.clone(), Bound::new(py, PyPrepareConfig(config))?.into_any()])?.into_any());
    variable(py)?.call_method1("set", (PyTuple::new(py, scopes)?,))?;
    Ok(())
}

/// Ends the scope that `owner` entered last.
///
/// # Errors
/// Where there is none.
pub fn leave(owner: &Bound<'_, PyAny>) -> Result<()> {
    let py = owner.py();
    let mut scopes: Vec<Bound<'_, PyAny>> = entered(py)?.iter().collect();
    let mut last = None;
    for (at, scope) in scopes.iter().enumerate() {
        if scope.get_item(0)?.is(owner) {
            last = Some(at);
        }
    }
    let Some(last) = last else {
        let class = owner.get_type().name()?;
        return Err(Class::Argument.raise(format!("{class}: left without being entered, in this context")));
    };
    scopes.remove(last);
    variable(py)?.call_method1("set", (PyTuple::new(py, scopes)?,))?;
    Ok(())
}

/// The configuration of the innermost scope, if there is one.
fn current() -> Option<PrepareConfig> {
    Python::attach(|py| {
        let scopes = entered(py).ok()?;
        let innermost = scopes.get_item(scopes.len().checked_sub(1)?).ok()?.get_item(1).ok()?;
        Some(innermost.cast::<PyPrepareConfig>().ok()?.get().0.clone())
    })
}
