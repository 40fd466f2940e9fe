//! The class `Schedule`, and the settings under which plans are prepared: `strict` and `target`.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple, PyType};
use svod_runtime::{Context, GivenSchedules, KernelRef, PrepareConfig, Schedule, Target, target_named};

use crate::config::configured;
use crate::convert::{argument, class_of, is_listed};
use crate::error::{Class, Result};
use crate::scalar::{Text, flag};
use crate::scope;

/// How a kernel is computed: a list of steps, as text one a line. See `docs/schedules.md`.
///
/// >>> import svod
/// >>> s = svod.Schedule("VECTORIZE out.a0.0 8")
/// >>> print(s)
/// split out.a0.0 by 8 rest
/// bind out.a0.1 vector
/// >>> s == svod.Schedule(str(s)), len(s)
/// (True, 2)
#[pyclass(name = "Schedule", module = "svod", frozen, eq, hash)]
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct PySchedule(pub Schedule);

impl PySchedule {
    /// A kernel's schedule, whose steps are those that it prints.
    pub fn of(schedule: &Schedule) -> Self {
        PySchedule(schedule.0.clone().into())
    }
}

#[explained]
#[pymethods]
impl PySchedule {
    /// The schedule that a text says.
    #[new]
    #[pyo3(signature = (text=None, /), text_signature = "(text=\"\", /)")]
    fn new(text: Option<Text>) -> Result<Self> {
        let text = text.as_deref().unwrap_or_default();
        text.parse().map(PySchedule).map_err(|e: svod_runtime::ParseScheduleError| Class::Schedule.raise(e.to_string()))
    }

    /// The steps, each as text.
    #[getter]
    fn steps(&self) -> Vec<String> {
        self.0.0.iter().map(ToString::to_string).collect()
    }

    fn __len__(&self) -> usize {
        self.0.0.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyIterator>> {
        Ok(PyList::new(py, self.steps())?.try_iter()?)
    }

    fn __str__(&self) -> String {
        self.steps().join("\n")
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (String,)) {
        (PySchedule::type_object(py), (self.__str__(),))
    }

    fn __repr__(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        format!("Schedule({} steps, {:08x})", self.0.0.len(), hasher.finish() as u32)
    }
}

/// How a call prepares: what its keywords say, else the thread's configuration.
pub fn config(schedules: Option<&Bound<'_, PyAny>>, options: Option<&Bound<'_, PyDict>>) -> Result<PrepareConfig> {
    let mut config = configured(options)?;
    let Some(schedules) = schedules else { return Ok(config) };
    let unfit = |what: &str, given: &Bound<'_, PyAny>| {
        Class::ArgumentType.raise(format!("schedules: {what} is expected, not {}", class_of(given)))
    };
    let schedules = schedules.cast::<PyDict>().map_err(|_| unfit("a dict", schedules))?;
    for (key, value) in schedules {
        let key = match key.extract::<usize>() {
            Ok(index) => KernelRef::Index(index),
            Err(_) => KernelRef::Name(key.extract().map_err(|_| unfit("the name or the position of a kernel", &key))?),
        };
        config.schedules.push((key, given(&value)?));
    }
    Ok(config)
}

/// A schedule or its text; or a list of several, each with a condition, the last without.
fn given(value: &Bound<'_, PyAny>) -> Result<GivenSchedules> {
    if !is_listed(value) {
        return Ok(one(value)?.into());
    }
    let pair = |item: PyResult<Bound<'_, PyAny>>| {
        let item = item?;
        let (when, schedule) = match item.cast::<PyTuple>() {
            Ok(pair) if pair.len() == 2 => (pair.get_item(0)?.extract::<Option<String>>()?, pair.get_item(1)?),
            _ => (None, item),
        };
        Ok((when, one(&schedule)?))
    };
    Ok(GivenSchedules(value.try_iter()?.map(pair).collect::<Result<_>>()?))
}

fn one(value: &Bound<'_, PyAny>) -> Result<Schedule> {
    match value.cast::<PySchedule>() {
        Ok(schedule) => Ok(schedule.get().0.clone()),
        Err(_) => Ok(PySchedule::new(Some(argument("schedules", "a schedule", value)?))?.0),
    }
}

/// The target of this name.
pub fn named(name: &str) -> Result<Target> {
    target_named(name).map_err(|e| Class::Argument.raise(e.to_string()))
}

/// Classes of contexts that switch an option of [`PrepareConfig`].
macro_rules! switches {
    ($($(#[$doc:meta])* $class:ident $name:literal $option:ident;)*) => {$(
        $(#[$doc])*
        #[pyclass(name = $name, module = "svod", frozen)]
        pub struct $class {
            on: bool,
        }

        #[explained]
        #[pymethods]
        impl $class {
            #[new]
            #[pyo3(signature = (on=true, /))]
            fn new(#[pyo3(from_py_with = flag)] on: bool) -> Self {
                $class { on }
            }

            fn __enter__(slf: Bound<'_, Self>) -> Result<Bound<'_, Self>> {
                scope::enter(slf.as_any(), PrepareConfig { $option: slf.get().on, ..PrepareConfig::current() })?;
                Ok(slf)
            }

            #[pyo3(signature = (*_error))]
            fn __exit__(slf: &Bound<'_, Self>, _error: &Bound<'_, PyTuple>) -> Result<()> {
                scope::leave(slf.as_any())
            }
        }
    )*};
}

switches! {
    /// Within this, in this thread or task, what is prepared and realized folds from left to right and rounds
    /// every operation on its own: sums and products are those of a loop, bit for bit, at less speed.
    ///
    /// >>> import svod
    /// >>> x = svod.Tensor([1e8, 1.0, -1e8, 1.0])
    /// >>> with svod.strict():
    /// ...     x.sum().item()
    /// 1.0
    PyStrict "strict" strict;

    /// Within this, in this thread or task, what is prepared, realized and traced by `jit` fails at the first NaN:
    /// the `ExecutionError` names the kernel, where the NaN is, whether what the kernel reads has one already, and, if
    /// not, the operation among those that it computes that made it, with its line. Runs that fail change nothing.
    /// Without it a run pays nothing.
    ///
    /// >>> import svod
    /// >>> x = svod.Tensor([1.0, 0.0])
    /// >>> with svod.detect_nan():
    /// ...     try:
    /// ...         (x / x).tolist()
    /// ...     except svod.ExecutionError as error:
    /// ...         print(str(error).split("; ")[-1].split(", ")[0])
    /// the first is made by `/`
    PyDetectNan "detect_nan" detect_nan;
}

/// A description of the machine that kernels are made for: this one (`native`), or restricted to
/// the instructions of `x86-64-v2` (SSE4), `x86-64-v3` (AVX2) or `x86-64-v4` (AVX-512). Without a
/// name, what is used now. As a context manager it is what is used within.
///
/// >>> import svod
/// >>> with svod.target("native") as t:
/// ...     svod.target().vector_bytes == t.vector_bytes
/// True
#[pyclass(name = "target", module = "svod", frozen)]
pub struct PyTarget {
    target: Target,
}

#[explained]
#[pymethods]
impl PyTarget {
    #[new]
    #[pyo3(signature = (name=None, /))]
    fn new(name: Option<Text>) -> Result<Self> {
        let target = match name {
            Some(name) => named(&name)?,
            None => PrepareConfig::current().target.unwrap_or_else(|| Context::global().target().clone()),
        };
        Ok(PyTarget { target })
    }

    /// LLVM's name of the processor.
    #[getter]
    fn cpu(&self) -> &str {
        &self.target.cpu
    }

    /// Width of a vector register in bytes.
    #[getter]
    fn vector_bytes(&self) -> usize {
        self.target.vector_bytes
    }

    /// Number of vector registers.
    #[getter]
    fn vector_registers(&self) -> usize {
        self.target.vector_registers
    }

    /// Whether multiply-add is one instruction.
    #[getter]
    fn fma(&self) -> bool {
        self.target.fma
    }

    /// Bytes of the caches, first to last level.
    #[getter]
    fn caches(&self) -> (usize, usize, usize) {
        (self.target.l1, self.target.l2, self.target.l3)
    }

    /// Number of processors.
    #[getter]
    fn cores(&self) -> usize {
        self.target.cores
    }

    /// Units for small matrix products: `bf16_dot`, `tiles`.
    #[getter]
    fn matrix_units(&self) -> Vec<&'static str> {
        let units = [("bf16_dot", self.target.matrix.bf16_dot), ("tiles", self.target.matrix.tiles)];
        units.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect()
    }

    fn __enter__(slf: Bound<'_, Self>) -> Result<Bound<'_, Self>> {
        let target = Some(slf.get().target.clone());
        scope::enter(slf.as_any(), PrepareConfig { target, ..PrepareConfig::current() })?;
        Ok(slf)
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(slf: &Bound<'_, Self>, _error: &Bound<'_, PyTuple>) -> Result<()> {
        scope::leave(slf.as_any())
    }

    fn __repr__(&self) -> String {
        let t = &self.target;
        format!(
            "target({}, {} registers of {} bytes, caches {}/{}/{} KiB, {} cores)",
            t.cpu,
            t.vector_registers,
            t.vector_bytes,
            t.l1 >> 10,
            t.l2 >> 10,
            t.l3 >> 10,
            t.cores
        )
    }
}
