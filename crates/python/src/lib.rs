//! `svod._svod`: the Python classes over the Rust core.
//!
//! Thin: arguments are converted, errors become exceptions, and the interpreter's lock is given
//! back while svod works. The package `svod` in `python/` re-exports all of it.
//!
//! | file | subject |
//! |---|---|
//! | `tensor` | the class `Tensor` |
//! | `config`, `scope` | `PrepareConfig`, and what is in force where |
//! | `size` | `Variable` and `Size` |
//! | `plan` | `ExecutionPlan`, its inputs, kernels and times |
//! | `schedule` | `Schedule`, and the settings `strict` and `target` |
//! | `functions` | the module's functions |
//! | `random` | random numbers |
//! | `gradient` | derivatives |
//! | `step` | loops, and Python functions as parts of plans |
//! | `array`, `dlpack`, `dtype`, `convert` | NumPy arrays, those of other libraries, element types, other arguments |
//! | `trace` | functions that `jit` traces, and what it tells their arguments apart by |
//! | `reach`, `guard`, `state` | what such functions find outside of their arguments; objects as text |
//! | `call` | the same of the calls that nearly all are, in one pass |
//! | `hints` | names of other libraries, and what to write here |
//! | `worker` | processes that run candidates of a search |
//! | `graph` | `Graph`: pending expressions as text |
//! | `onnx` | models of ONNX |
//! | `origin` | the user's lines that operations are called from |
//! | `explained` | arguments that do not fit: errors name function and parameter |
//! | `error`, `gil`, `fork` | exceptions; the interpreter's lock and Ctrl-C; processes that fork |
//! | `collect` | what the garbage collector is told |

#[macro_use]
extern crate svod_python_macros;

mod array;
mod before;
mod call;
mod collect;
mod config;
mod convert;
mod dlpack;
mod dtype;
mod error;
mod explained;
mod fork;
mod functions;
mod gil;
mod gradient;
mod graph;
mod guard;
mod hints;
mod onnx;
mod origin;
mod plan;
mod random;
mod reach;
mod scalar;
mod schedule;
mod scope;
mod size;
mod state;
mod step;
mod template;
mod tensor;
mod trace;
mod worker;

/// The extension module.
#[pyo3::pymodule]
mod _svod {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::array::_borrowed;
    #[pymodule_export]
    use crate::before::PyBefore;
    #[pymodule_export]
    use crate::call::_call;
    #[pymodule_export]
    use crate::config::PyPrepareConfig;
    #[pymodule_export]
    use crate::dlpack::gpu::{_handed_over, _order};
    #[pymodule_export]
    use crate::dtype::PyDType;
    #[pymodule_export]
    use crate::fork::{_after_fork, _before_fork};
    #[pymodule_export]
    use crate::functions::{
        _operands, _prepare_writing, _tensor, arange, caches, cat, clear_caches, compile_times, devices, einsum, empty,
        eye, from_dlpack, from_numpy, full, get_default_device, get_threads, linspace, load_safetensors,
        measure_machine, memory, ones, prepare, realize, set_default_device, set_threads, stack, synchronize, where_,
        zeros,
    };
    #[pymodule_export]
    use crate::gradient::{
        _batched, _checkpointed, _may_be_differentiated, _pullback, _pushforward, _released, _set_grad_enabled,
        _stand_ins, _unwatch, _variables, _watch, _with_derivative, _with_derivatives, PyBackward, is_grad_enabled,
    };
    #[pymodule_export]
    use crate::graph::{PyGraph, PyHostFunction};
    #[pymodule_export]
    use crate::guard::{_changed, _unchanged};
    #[pymodule_export]
    use crate::onnx::{_onnx_operators, PyOnnxModel};
    #[pymodule_export]
    use crate::origin::{at_line, enter_module, leave_module};
    #[pymodule_export]
    use crate::plan::{PyInput, PyKept, PyKernel, PyPlan, PyProfile, PyTiming};
    #[pymodule_export]
    use crate::random::{PyGenerator, get_rng_state, manual_seed, rand, randint, randn, set_rng_state};
    #[pymodule_export]
    use crate::reach::{_positions, _reach};
    #[pymodule_export]
    use crate::schedule::{PyDetectNan, PySchedule, PyStrict, PyTarget};
    #[pymodule_export]
    use crate::size::{PyCount, PySize, PyVariable};
    #[pymodule_export]
    use crate::step::{_cond, _custom, _iterate, _scan, _while_loop};
    #[pymodule_export]
    use crate::template::_template;
    #[pymodule_export]
    use crate::tensor::PyTensor;
    #[pymodule_export]
    use crate::trace::{
        _constants, _is_tracing, _same, _signature, _take_written, _values_of, _with_constants, _with_values, PyDraws,
        PyFacts, PyKinds, PyTaken, PyTrace,
    };
    #[pymodule_export]
    use crate::worker::_serve;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        for dtype in crate::dtype::all() {
            module.add(dtype.name(), PyDType(dtype))?;
        }
        // Loaded here, where an interrupt of its import is an exception of this one.
        module.py().import("numpy")?;
        numpy::dtype::<u8>(module.py());
        crate::fork::register(module)?;
        crate::tensor::register(module)?;
        crate::worker::register(module.py())?;
        crate::error::register(module)
    }
}
