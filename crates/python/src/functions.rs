//! The module's functions: making tensors, running several at once, settings.

use std::collections::BTreeMap;
use std::path::PathBuf;

use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use svod_dtype::{DEFAULT_FLOAT, DType};
use svod_ir::pass;
use svod_runtime::Context;
use svod_runtime::pool::MAX_THREADS;
use svod_tensor::{Operand, Tensor, TensorError, with_default_device};

use crate::array::borrow;
use crate::config::configured;
use crate::convert::{AnyOperand, AnyTensor, Axis, Tensors, class_of, integer, one_axis, one_by_one};
use crate::dtype::{AnyDType, numpy};
use crate::error::{Class, Result};
use crate::gil::allow;
use crate::plan::PyPlan;
use crate::scalar::{Real, Several, Text, flag};
use crate::schedule::config;
use crate::size::{AnySize, Extents};
use crate::tensor::{Made, PyTensor, on, placed};

fn or(dtype: Option<AnyDType>, default: DType) -> DType {
    dtype.map_or(default, |d| d.0)
}

/// Random values, drawn on the device that is named.
fn drawn(device: Option<&str>, draw: impl FnOnce() -> svod_tensor::Result<Tensor>) -> svod_tensor::Result<Tensor> {
    match device {
        Some(name) => with_default_device(name, draw),
        None => draw(),
    }
}

/// Zeros, `float32` unless a type is given; on a device, where one is named.
#[pyfunction]
#[pyo3(signature = (*shape, dtype=None, device=None))]
pub fn zeros(shape: &Bound<'_, PyTuple>, dtype: Option<AnyDType>, device: Option<Text>) -> Made {
    let shape = Extents::positive(shape)?;
    shape.bind(placed(device.as_deref(), Tensor::zeros(&shape.sizes, or(dtype, DEFAULT_FLOAT))))
}

/// Ones, `float32` unless a type is given.
#[pyfunction]
#[pyo3(signature = (*shape, dtype=None, device=None))]
pub fn ones(shape: &Bound<'_, PyTuple>, dtype: Option<AnyDType>, device: Option<Text>) -> Made {
    let shape = Extents::positive(shape)?;
    shape.bind(placed(device.as_deref(), Tensor::ones(&shape.sizes, or(dtype, DEFAULT_FLOAT))))
}

/// Memory for a tensor of this shape, `float32` unless a type is given, whose elements are
/// arbitrary. As input of a plan it says what runs are given.
///
/// >>> import numpy as np, svod
/// >>> n = svod.Variable("n", 1, 64)
/// >>> x = svod.empty(n, 3)
/// >>> plan = x.sum(1).prepare(inputs=[x])
/// >>> plan.execute(np.ones((2, 3), np.float32))
/// >>> plan.outputs[0].tolist()
/// [3.0, 3.0]
#[pyfunction]
#[pyo3(signature = (*shape, dtype=None, device=None))]
pub fn empty(shape: &Bound<'_, PyTuple>, dtype: Option<AnyDType>, device: Option<Text>) -> Made {
    let shape = Extents::positive(shape)?;
    let device = device.as_deref().map(crate::tensor::device).transpose()?.unwrap_or_default();
    Ok(Tensor::empty_on(&device, &shape.sizes, or(dtype, DEFAULT_FLOAT), shape.values())?.into())
}

/// The extents that an argument `shape` gives.
pub fn shaped(op: &str, shape: &Bound<'_, PyAny>) -> Result<Extents> {
    let py = shape.py();
    Extents::positive(&PyTuple::new(py, [shape])?).map_err(|raised| {
        let error = PyErr::from(raised);
        match Class::ArgumentType.matches(&error, py) {
            true => Class::ArgumentType.raise(format!("{op}: shape: {}", error.value(py))),
            false => error.into(),
        }
    })
}

/// One value everywhere, in its own type unless one is given.
#[pyfunction]
#[pyo3(signature = (shape, fill_value, *, dtype=None, device=None))]
pub fn full(shape: &Bound<'_, PyAny>, fill_value: AnyOperand, dtype: Option<AnyDType>, device: Option<Text>) -> Made {
    let shape = shaped("full", shape)?;
    shape.bind(placed(device.as_deref(), Tensor::full(&shape.sizes, fill_value.0, dtype.map(|d| d.0))))
}

/// The numbers from `start`, by default 0, before `stop`, in steps of `step`.
#[pyfunction]
#[pyo3(signature = (start, stop=None, step=None, *, dtype=None, device=None))]
pub fn arange(
    start: AnyOperand,
    stop: Option<AnyOperand>,
    step: Option<AnyOperand>,
    dtype: Option<AnyDType>,
    device: Option<Text>,
) -> Made {
    let (start, stop) = match stop {
        Some(stop) => (start.0, stop.0),
        None => (Operand::Int(0), start.0),
    };
    let step = step.map_or(Operand::Int(1), |s| s.0);
    on(device.as_deref(), Tensor::arange(start, stop, step, dtype.map(|d| d.0)))
}

/// `num` numbers at equal distances from `start` to `stop`, both included.
#[pyfunction]
#[pyo3(signature = (start, stop, num, *, dtype=None, device=None))]
pub fn linspace(start: Real, stop: Real, num: AnySize, dtype: Option<AnyDType>, device: Option<Text>) -> Made {
    let made = Tensor::linspace(start.0, stop.0, &num.size, dtype.map(|d| d.0));
    on(device.as_deref(), made.and_then(|numbers| numbers.with_values(&num.values)))
}

/// Ones on the diagonal, zeros elsewhere.
#[pyfunction]
#[pyo3(signature = (n_rows, n_cols=None, *, dtype=None, device=None))]
pub fn eye(n_rows: AnySize, n_cols: Option<AnySize>, dtype: Option<AnyDType>, device: Option<Text>) -> Made {
    let columns = n_cols.unwrap_or_else(|| n_rows.clone());
    let values = [&n_rows.values[..], &columns.values[..]].concat();
    let made = Tensor::eye(n_rows.size, columns.size, or(dtype, DEFAULT_FLOAT));
    on(device.as_deref(), made.and_then(|eye| eye.with_values(&values)))
}

/// Uniformly distributed in [0, 1). The numbers are drawn when this is called: a plan has the same in each run, and so
/// has a function of `jit` in each call, or a loop in each iteration, in which it is called.
#[pyfunction]
#[pyo3(signature = (*shape, dtype=None, device=None))]
pub fn rand(shape: &Bound<'_, PyTuple>, dtype: Option<AnyDType>, device: Option<Text>) -> Made {
    let shape = Extents::positive(shape)?;
    shape.bind(drawn(device.as_deref(), || Tensor::rand(&shape.sizes, dtype.map(|d| d.0))))
}

/// Normally distributed with mean 0 and deviation 1.
#[pyfunction]
#[pyo3(signature = (*shape, dtype=None, device=None))]
pub fn randn(shape: &Bound<'_, PyTuple>, dtype: Option<AnyDType>, device: Option<Text>) -> Made {
    let shape = Extents::positive(shape)?;
    shape.bind(drawn(device.as_deref(), || Tensor::randn(&shape.sizes, dtype.map(|d| d.0))))
}

/// Integers uniformly distributed from `low` to before `high`.
#[pyfunction]
#[pyo3(signature = (low, high, shape, *, dtype=None, device=None))]
pub fn randint(
    low: &Bound<'_, PyAny>,
    high: &Bound<'_, PyAny>,
    shape: &Bound<'_, PyAny>,
    dtype: Option<AnyDType>,
    device: Option<Text>,
) -> Made {
    let (low, high) = (integer("randint: low", low)?, integer("randint: high", high)?);
    let shape = shaped("randint", shape)?;
    shape.bind(drawn(device.as_deref(), || Tensor::randint(low, high, &shape.sizes, dtype.map(|d| d.0))))
}

/// Starts the generator of random numbers anew, so that what it draws can be repeated. A negative seed counts from 2**64.
#[pyfunction]
pub fn manual_seed(seed: &Bound<'_, PyAny>) -> Result<()> {
    // As PyTorch reads it: the same 64 bits.
    let seed = seed.extract::<u64>().map_or_else(|_| integer("manual_seed: seed", seed).map(|seed| seed as u64), Ok)?;
    svod_tensor::manual_seed(seed);
    Ok(())
}

/// The state of the generator of random numbers, a tensor of 2 numbers, which a program saves to go on from later.
/// In a function of `jit` it is that of each call.
///
/// >>> import svod
/// >>> state = svod.get_rng_state()
/// >>> first = svod.rand(3)
/// >>> svod.set_rng_state(state)
/// >>> (svod.rand(3) == first).all().item()
/// True
#[pyfunction]
pub fn get_rng_state() -> Made {
    Ok(Tensor::generator_state()?.into())
}

/// Has the generator of random numbers go on from a state that `get_rng_state` gave.
#[pyfunction]
pub fn set_rng_state(py: Python<'_>, state: AnyTensor) -> Result<()> {
    let state = state.0;
    allow(py, || state.set_generator_state())
}

/// The tensors one after the other along an axis.
#[pyfunction]
#[pyo3(signature = (tensors, axis=None, *, dim=None), text_signature = "(tensors, axis=0, *, dim=None)")]
pub fn cat(tensors: Several<AnyTensor>, axis: Option<Axis>, dim: Option<Axis>) -> Made {
    let axis = one_axis(axis, dim)?.unwrap_or(0);
    Ok(Tensor::cat(&tensors.0.iter().map(|t| &t.0).collect::<Vec<_>>(), axis)?.into())
}

/// The tensors, of equal shape, along a new dimension.
#[pyfunction]
#[pyo3(signature = (tensors, axis=None, *, dim=None), text_signature = "(tensors, axis=0, *, dim=None)")]
pub fn stack(tensors: Several<AnyTensor>, axis: Option<Axis>, dim: Option<Axis>) -> Made {
    let axis = one_axis(axis, dim)?.unwrap_or(0);
    Ok(Tensor::stack(&tensors.0.iter().map(|t| &t.0).collect::<Vec<_>>(), axis)?.into())
}

/// Sums of products over named dimensions: `"ij,jk->ik"` is the matrix product.
///
/// A letter names a dimension of each operand; equal letters have equal extents, and letters that
/// the result lacks are summed over. `...` stands for dimensions without a letter, which broadcast.
/// Without `->`, the result has the letters that occur once, in alphabetical order.
///
/// >>> import svod
/// >>> svod.einsum("ij,j->i", svod.Tensor([[1, 2], [3, 4]]), svod.Tensor([10, 1])).tolist()
/// [12, 34]
#[pyfunction]
#[pyo3(signature = (subscripts, *operands))]
pub fn einsum(subscripts: Text, operands: Vec<AnyTensor>) -> Made {
    Ok(Tensor::einsum(&subscripts, &operands.iter().map(|t| &t.0).collect::<Vec<_>>())?.into())
}

/// `x` where the condition holds, else `y`.
#[pyfunction]
#[pyo3(name = "where")]
pub fn where_(condition: AnyTensor, x: AnyOperand, y: AnyOperand) -> Made {
    Ok(Tensor::select(&condition.0, x.0, y.0)?.into())
}

/// A tensor over a NumPy array's own memory, without a copy.
///
/// The array must be dense, row-major and of native byte order. What is written to it later is seen
/// by what is computed later; it must not be written while something that reads it runs.
#[pyfunction]
pub fn from_numpy(array: &Bound<'_, PyAny>) -> Made {
    match array.cast::<PyUntypedArray>() {
        Ok(array) => Ok(borrow(array)?.into()),
        Err(_) => Err(Class::ArgumentType
            .raise(format!("from_numpy: array: a numpy.ndarray is expected, not {}", class_of(array)))),
    }
}

/// A tensor over the memory of another library's array, without a copy, by DLPack.
#[pyfunction]
pub fn from_dlpack(x: &Bound<'_, PyAny>) -> Made {
    if !x.hasattr("__dlpack__")? {
        let message = format!("from_dlpack: x: an array with `__dlpack__` is expected, not {}", class_of(x));
        return Err(Class::ArgumentType.raise(message));
    }
    let array = numpy(x.py())?.getattr("from_dlpack")?.call1((x,))?;
    Ok(borrow(array.cast().map_err(PyErr::from)?)?.into())
}

/// The tensors of a safetensors file by name; their memory is the file's own pages.
#[pyfunction]
pub fn load_safetensors(py: Python<'_>, path: PathBuf) -> Result<BTreeMap<String, PyTensor>> {
    let tensors = allow(py, || Tensor::load_safetensors(&path))?;
    Ok(tensors.into_iter().map(|(name, tensor)| (name, tensor.into())).collect())
}

/// Computes several tensors at once, shared work once. `options` are those of `PrepareConfig`.
#[pyfunction]
#[pyo3(signature = (*tensors, **options))]
pub fn realize(py: Python<'_>, tensors: &Bound<'_, PyTuple>, options: Option<&Bound<'_, PyDict>>) -> Result<()> {
    let (tensors, config) = (one_by_one("realize", tensors)?, configured(options)?);
    let tensors: Vec<&Tensor> = tensors.iter().map(|t| &t.get().0).collect();
    allow(py, || Tensor::realize_batch_with(&tensors, &config))
}

/// Prepares several tensors as one plan, shared work once. See `Tensor.prepare`.
#[pyfunction]
#[pyo3(signature = (*tensors, inputs=None, unused_inputs=false, schedules=None, **options))]
pub fn prepare(
    py: Python<'_>,
    tensors: &Bound<'_, PyTuple>,
    inputs: Option<Tensors>,
    #[pyo3(from_py_with = flag)] unused_inputs: bool,
    schedules: Option<&Bound<'_, PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> Result<PyPlan> {
    let (tensors, config) = (one_by_one("prepare", tensors)?, config(schedules, options)?);
    let inputs = inputs.map(|given| given.0).unwrap_or_default();
    let tensors: Vec<&Tensor> = tensors.iter().map(|t| &t.get().0).collect();
    let inputs: Vec<&Tensor> = inputs.iter().map(|t| &t.get().0).collect();
    let prepare = if unused_inputs { Tensor::prepare_batch_with_unused } else { Tensor::prepare_batch_with };
    PyPlan::new(allow(py, || prepare(&tensors, &inputs, &config))?)
}

/// `prepare` with all that inputs may be, of a plan whose `_run_writing` may write results over inputs: `written` are
/// positions of an input and of the result.
#[pyfunction]
#[pyo3(signature = (tensors, inputs, written, **options))]
pub fn _prepare_writing(
    py: Python<'_>,
    tensors: Vec<Py<PyTensor>>,
    inputs: Vec<Py<PyTensor>>,
    written: Vec<(usize, usize)>,
    options: Option<&Bound<'_, PyDict>>,
) -> Result<PyPlan> {
    let config = configured(options)?;
    let tensors: Vec<&Tensor> = tensors.iter().map(|t| &t.get().0).collect();
    let inputs: Vec<&Tensor> = inputs.iter().map(|t| &t.get().0).collect();
    PyPlan::new(allow(py, || Tensor::prepare_batch_writing(&tensors, &inputs, &written, &config))?)
}

/// Number of threads of a run.
#[pyfunction]
pub fn get_threads() -> usize {
    Context::global().threads()
}

/// Measures how fast the machine is, in a second or two where nothing else runs: `flops`, operations on 32-bit
/// floats a second, `bandwidth`, bytes a second to and from memory, and `noise`, the share by which times varied: of
/// some 0.25 and more where the machine did other things. `ExecutionPlan.explain` then tells by these figures, in later
/// processes too, until they are measured again or, with `forget`, given up for what is assumed of the machine.
#[pyfunction]
#[pyo3(signature = (*, forget=false))]
pub fn measure_machine(
    py: Python<'_>,
    #[pyo3(from_py_with = flag)] forget: bool,
) -> Result<BTreeMap<&'static str, f64>> {
    let context = Context::global();
    let threads = context.threads();
    let speed = match forget {
        true => allow(py, || Ok::<_, TensorError>(context.forget_machine(threads)))?,
        false => allow(py, || context.measure_machine(threads).map_err(TensorError::from))?,
    };
    let bandwidth = speed.machine.levels.last().map_or(0.0, |level| level.all);
    Ok([("flops", speed.machine.peak(4)), ("bandwidth", bandwidth), ("noise", speed.noise)].into())
}

/// Changes the number of threads of runs that begin from now on.
#[pyfunction]
pub fn set_threads(threads: &Bound<'_, PyAny>) -> Result<()> {
    let threads = integer("set_threads", threads)?;
    match usize::try_from(threads) {
        Ok(threads @ 1..=MAX_THREADS) => {
            Context::global().set_threads(threads);
            Ok(())
        }
        _ => Err(Class::Argument.raise(format!("set_threads: from 1 to {MAX_THREADS} threads, not {threads}"))),
    }
}

/// Bytes of memory of each device that is in use: `live`, held by tensors and plans; `cached`, freed
/// and kept for reuse; `peak`, the most that was live at one time, which `reset_peak` begins anew after it is told.
///
/// >>> import svod
/// >>> sorted(svod.memory()["CPU"])
/// ['cached', 'live', 'peak']
#[pyfunction]
#[pyo3(signature = (*, reset_peak=false))]
pub fn memory(#[pyo3(from_py_with = flag)] reset_peak: bool) -> BTreeMap<String, BTreeMap<&'static str, usize>> {
    let devices = Context::global().stats().memory.into_iter();
    if reset_peak {
        Context::global().reset_peaks();
    }
    devices.map(|(name, m)| (name, [("live", m.live), ("cached", m.cached), ("peak", m.peak)].into())).collect()
}

/// Number of kernels, schedules and packed constants that are kept.
#[pyfunction]
pub fn caches() -> BTreeMap<&'static str, usize> {
    let stats = Context::global().stats();
    [("kernels", stats.kernels), ("schedules", stats.schedules), ("packs", stats.packs)].into()
}

/// Where compile time went in this process: of each pass that ran, how often and for how many
/// seconds. Kernels compiled side by side add up.
///
/// >>> import svod
/// >>> (svod.arange(3) + 1).tolist()
/// [1, 2, 3]
/// >>> count, seconds = svod.compile_times()["lower"]
/// >>> count > 0 and seconds > 0
/// True
#[pyfunction]
pub fn compile_times(py: Python<'_>) -> Result<Bound<'_, PyDict>> {
    let times = PyDict::new(py);
    for took in pass::times().into_iter().filter(|t| t.count > 0) {
        times.set_item(took.pass.name(), (took.count, took.time.as_secs_f64()))?;
    }
    Ok(times)
}

/// Empties the caches in memory and gives freed memory back to the system; plans live on.
#[pyfunction]
pub fn clear_caches(py: Python<'_>) -> Result<()> {
    allow(py, || {
        Context::global().clear_caches();
        Ok::<_, TensorError>(())
    })
}

/// A tensor, or what becomes one.
#[pyfunction]
pub fn _tensor(x: AnyTensor) -> PyTensor {
    PyTensor(x.0)
}

/// Operands of one operation as tensors of their common type; a scalar takes that of the tensors that it meets.
#[pyfunction]
#[pyo3(signature = (*operands))]
pub fn _operands(operands: Vec<AnyOperand>) -> Result<Vec<PyTensor>> {
    let operands: Vec<Operand> = operands.into_iter().map(|one| one.0).collect();
    Ok(Tensor::promoted(&operands)?.into_iter().map(PyTensor).collect())
}
