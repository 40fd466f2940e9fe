//! The class `PrepareConfig`.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyTuple};
use std::hash::{DefaultHasher, Hash, Hasher};
use svod_runtime::{PrepareConfig, Strategy};

use crate::error::{Class, Result};
use crate::scope;

/// How tensors are prepared and realized.
///
/// Made of the options given here, else of `config`, which is another one, else of the surrounding `with`, else of
/// the environment (variables in brackets). As a context manager it holds for what is prepared within, in
/// this thread or task of `asyncio`. `prepare`, `realize` and `jit` take the same options, and one made before
/// as `config`.
///
/// - `strategy`: how kernels are scheduled, "heuristic", "none", or the fastest found by timing
///   candidates in another process, "beam" or "beam:8", whose results are kept on disk (`SVOD_STRATEGY`);
///   `beam=8` is the same as the last (`SVOD_BEAM`);
/// - `timeout_secs`: what a candidate may take to compile (`BEAM_TIMEOUT_SEC`);
/// - `max_uops`: instructions of a candidate at most (`BEAM_UOPS_MAX`);
/// - `search_secs`: what a plan's search may take; kernels that it does not come to keep the heuristic's
///   schedule (`SVOD_SEARCH_SECS`);
/// - `planner`: how intermediates share memory, "arena", "remap" or "disabled" (`SVOD_MEMORY_PLANNER`);
/// - `memory_budget`: bytes of intermediates that a plan should have in memory at a time: beyond, what takes the
///   least time per byte is let go and computed again where it is read later, as in a backward pass. A budget that
///   no plan keeps is no error: `plan.memory` says what is needed (`SVOD_MEMORY_BUDGET`);
/// - `schedule_cache`: whether schedules of equal graphs are shared (off with
///   `SVOD_DISABLE_SCHEDULE_CACHE=1`);
/// - `threads`: of a plan's runs, by default those of `set_threads` (`SVOD_PLAN_THREADS`);
/// - `device`: of values that no argument places (`SVOD_DEVICE`);
/// - `strict`: as `svod.strict` (`SVOD_STRICT`);
/// - `detect_nan`: as `svod.detect_nan` (`SVOD_DETECT_NAN`);
/// - `skip`: optional passes to leave out, such as "algebra,merge" (`SVOD_SKIP`);
/// - `target`: the name of a target, as in `svod.target` (`SVOD_TARGET`).
///
/// >>> import svod
/// >>> with svod.PrepareConfig(planner="disabled", threads=1) as config:
/// ...     svod.arange(3).sum().item()
/// 3
/// >>> config
/// PrepareConfig(strategy=heuristic planner=disabled schedule_cache=on threads=1 device=default)
#[pyclass(name = "PrepareConfig", module = "svod", frozen)]
pub struct PyPrepareConfig(pub PrepareConfig);

/// The configuration that `config` among the options is, else the present one, changed by the other options.
pub fn configured(options: Option<&Bound<'_, PyDict>>) -> Result<PrepareConfig> {
    let Some(options) = options else { return Ok(PrepareConfig::current()) };
    let mut config = match options.get_item("config")?.filter(|given| !given.is_none()) {
        None => PrepareConfig::current(),
        Some(given) => match given.cast::<PyPrepareConfig>() {
            Ok(given) => given.get().0.clone(),
            Err(_) => {
                let class = given.get_type().name()?;
                return Err(Class::Argument.raise(format!("config: a PrepareConfig is expected, not {class}")));
            }
        },
    };
    if options.contains("beam")? && options.contains("strategy")? {
        return Err(Class::Argument.raise("beam and strategy say the same: give one of them"));
    }
    for (name, value) in options {
        let name: String = name.extract()?;
        if name == "config" {
            continue;
        }
        let text = match value.cast::<PyBool>() {
            Ok(flag) => if flag.is_true() { "on" } else { "off" }.to_owned(),
            Err(_) if value.is_none() => "default".to_owned(),
            Err(_) => value.str()?.to_string(),
        };
        if let Err(error) = config.set(&name, &text) {
            // What is no flag is told by the value that was given.
            let error =
                if value.is_instance_of::<PyBool>() { config.set(&name, value.str()?.to_str()?) } else { Err(error) };
            let Err(error) = error else { continue };
            // Where a device or a target is named in another way, the same is said of it.
            match name.as_str() {
                "device" => drop(crate::tensor::device(&text)?),
                "target" => drop(crate::schedule::named(&text)?),
                _ => {}
            }
            let meant = LIKE.iter().find(|(written, _)| *written == name);
            let meant = meant.map(|(_, meant)| format!("; or `{meant}`, of `prepare`")).unwrap_or_default();
            return Err(Class::Argument.raise(format!("{error}{meant}")));
        }
    }
    Ok(config)
}

/// What parameters of `prepare` that are no options are taken for.
const LIKE: [(&str, &str); 3] = [("input", "inputs"), ("unused_input", "unused_inputs"), ("schedule", "schedules")];

#[explained]
#[pymethods]
impl PyPrepareConfig {
    #[new]
    #[pyo3(signature = (**options))]
    fn new(options: Option<&Bound<'_, PyDict>>) -> Result<PyPrepareConfig> {
        PrepareConfig::forget_environment();
        Ok(PyPrepareConfig(configured(options)?))
    }

    /// How kernels are scheduled.
    #[getter]
    fn strategy(&self) -> String {
        self.0.strategy.to_string()
    }

    /// Schedules that each round of a search goes on from; none without one.
    #[getter]
    fn width(&self) -> Option<u32> {
        match self.0.strategy {
            Strategy::Beam { width } => Some(width),
            _ => None,
        }
    }

    /// Seconds that a search gives a candidate to compile.
    #[getter]
    fn timeout_secs(&self) -> u32 {
        self.0.timeout_secs
    }

    /// Instructions of a search's candidate at most.
    #[getter]
    fn max_uops(&self) -> usize {
        self.0.max_uops
    }

    /// Seconds that a plan's search takes at most.
    #[getter]
    fn search_secs(&self) -> Option<u32> {
        self.0.search_secs
    }

    /// How intermediates share memory.
    #[getter]
    fn planner(&self) -> String {
        self.0.planner.to_string()
    }

    /// Bytes of intermediates that a plan should have in memory at a time; none for any number.
    #[getter]
    fn memory_budget(&self) -> Option<usize> {
        self.0.memory_budget
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

    /// Whether folds keep their order.
    #[getter]
    fn strict(&self) -> bool {
        self.0.strict
    }

    /// Whether runs fail at the first NaN.
    #[getter]
    fn detect_nan(&self) -> bool {
        self.0.detect_nan
    }

    /// The optional passes that are left out, by name.
    #[getter]
    fn skip(&self) -> String {
        self.0.skip.to_string()
    }

    /// The name of the target; none for the machine's.
    #[getter]
    fn target(&self) -> Option<&str> {
        self.0.target.as_ref().map(|t| t.name.as_str())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Result<Bound<'_, Self>> {
        scope::enter(slf.as_any(), slf.get().0.clone())?;
        Ok(slf)
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(slf: &Bound<'_, Self>, _error: &Bound<'_, PyTuple>) -> Result<()> {
        scope::leave(slf.as_any())
    }

    fn __eq__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match other.cast::<PyPrepareConfig>() {
            Ok(other) => (self.0 == other.get().0).into_bound_py_any(other.py()),
            Err(_) => Ok(other.py().NotImplemented().into_bound(other.py())),
        }
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!("PrepareConfig({})", self.0)
    }
}
