//! The class `PrepareConfig`.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use svod_runtime::PrepareConfig;

use crate::error::{Class, Result};

/// How tensors are prepared and realized.
///
/// Made of the options given here, else of the surrounding `with`, else of the environment
/// (`SVOD_STRATEGY`, `SVOD_MEMORY_PLANNER`, `SVOD_PLAN_THREADS`, `SVOD_DEVICE`,
/// `SVOD_DISABLE_SCHEDULE_CACHE=1`). As a context manager it holds for what the thread prepares.
///
/// - `strategy`: how kernels are scheduled, "heuristic" or "none";
/// - `planner`: how intermediates share memory, "arena", "remap" or "disabled";
/// - `schedule_cache`: whether schedules of equal graphs are shared;
/// - `threads`: of a plan's runs, by default those of `set_threads`;
/// - `device`: of values that no argument places.
///
/// >>> import svod
/// >>> with svod.PrepareConfig(planner="disabled", threads=1) as config:
/// ...     svod.arange(3).sum().item()
/// 3
/// >>> config
/// PrepareConfig(strategy=heuristic planner=disabled schedule_cache=on threads=1 device=default)
#[pyclass(name = "PrepareConfig", module = "svod", frozen)]
pub struct PyPrepareConfig(PrepareConfig);

/// The present configuration, changed by options.
pub fn configured(options: Option<&Bound<'_, PyDict>>) -> Result<PrepareConfig> {
    let mut config = PrepareConfig::current();
    for (name, value) in options.into_iter().flatten() {
        let text = match value.cast::<PyBool>() {
            Ok(flag) => if flag.is_true() { "on" } else { "off" }.to_owned(),
            Err(_) if value.is_none() => "default".to_owned(),
            Err(_) => value.str()?.to_string(),
        };
        let name: String = name.extract()?;
        config.set(&name, &text).map_err(|error| Class::Argument.raise(error.to_string()))?;
    }
    Ok(config)
}

#[pymethods]
impl PyPrepareConfig {
    #[new]
    #[pyo3(signature = (**options))]
    fn new(options: Option<&Bound<'_, PyDict>>) -> Result<PyPrepareConfig> {
        Ok(PyPrepareConfig(configured(options)?))
    }

    /// How kernels are scheduled.
    #[getter]
    fn strategy(&self) -> String {
        self.0.strategy.to_string()
    }

    /// How intermediates share memory.
    #[getter]
    fn planner(&self) -> String {
        self.0.planner.to_string()
    }

    /// Whether schedules of equal graphs are shared.
    #[getter]
    fn schedule_cache(&self) -> bool {
        !self.0.disable_schedule_cache
    }

    /// Threads of a plan's runs; none for those of `set_threads`.
    #[getter]
    fn threads(&self) -> Option<usize> {
        self.0.threads
    }

    /// The device of values that no argument places; none for the CPU.
    #[getter]
    fn device(&self) -> Option<String> {
        self.0.device.as_ref().map(ToString::to_string)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf.get().0.clone().enter();
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, pyo3::types::PyTuple>) {
        PrepareConfig::leave();
    }

    fn __eq__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match other.cast::<PyPrepareConfig>() {
            Ok(other) => (self.0 == other.get().0).into_bound_py_any(other.py()),
            Err(_) => Ok(other.py().NotImplemented().into_bound(other.py())),
        }
    }

    fn __repr__(&self) -> String {
        format!("PrepareConfig({})", self.0)
    }
}
