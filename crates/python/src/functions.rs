//! The module's functions: making tensors, running several at once, settings.

use std::collections::BTreeMap;
use std::path::PathBuf;

use numpy::{PyArrayDescr, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyEllipsis, PyString, PyTuple, PyType};
use svod_device::{DeviceSpec, host_memory};
use svod_dtype::{DEFAULT_COMPLEX, DEFAULT_FLOAT, DType};
use svod_ir::pass;
use svod_runtime::pool::MAX_THREADS;
use svod_runtime::{Context, PrepareConfig};
use svod_tensor::{Operand, Tensor, TensorError};

use crate::array::{borrow, tensor_of};
use crate::config::configured;
use crate::convert::{
    AnyMember, AnyOperand, AnyTensor, Axis, Tensors, class_of, integer, is_listed, named, one_axis, one_by_one,
    required, together,
};
use crate::dlpack;
use crate::dtype::{AnyDType, PyDType};
use crate::error::{Class, Raised, Result};
use crate::explained::{self, argument, parts};
use crate::gil::allow;
use crate::plan::PyPlan;
use crate::scalar::{Parts, Several, Text, flag};
use crate::schedule::config;
use crate::size::{AnySize, Extents};
use crate::tensor::{Made, PyTensor, on, placed};

fn or(dtype: Option<AnyDType>, default: DType) -> DType {
    dtype.map_or(default, |d| d.0)
}

/// A shape that is given as numbers one by one, as one sequence, or by one of its names.
pub fn shape_of<'py>(
    op: &str,
    sizes: &Bound<'py, PyTuple>,
    shape: Option<Bound<'py, PyAny>>,
    size: Option<Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyTuple>> {
    if shape.is_some() && size.is_some() {
        return Err(Class::ArgumentType.raise(format!("{op}: shape and size are one argument: give only one of them")));
    }
    match shape.or(size) {
        None => Ok(sizes.clone()),
        Some(shape) if sizes.is_empty() => Ok(PyTuple::new(sizes.py(), [shape])?),
        Some(_) => Err(Class::ArgumentType.raise(format!("{op}: numbers are given by position and by name"))),
    }
}

/// The extents of such a shape.
pub fn extents_of<'py>(
    op: &str,
    sizes: &Bound<'py, PyTuple>,
    shape: Option<Bound<'py, PyAny>>,
    size: Option<Bound<'py, PyAny>>,
) -> Result<Extents> {
    parts(sizes.py(), op, "shape", Extents::positive(&shape_of(op, sizes, shape, size)?))
}

/// What is given by position: extents, and behind a shape a type, as NumPy's and JAX's callers write it.
fn typed<'py>(
    op: &str,
    sizes: &Bound<'py, PyTuple>,
    dtype: Option<AnyDType>,
) -> Result<(Bound<'py, PyTuple>, Option<AnyDType>)> {
    if dtype.is_some() || sizes.len() != 2 {
        return Ok((sizes.clone(), dtype));
    }
    let last = sizes.get_item(1)?;
    let is_type = last.is_instance_of::<PyDType>()
        || last.is_instance_of::<PyType>()
        || last.is_instance_of::<PyString>()
        || last.is_instance_of::<PyArrayDescr>();
    match is_type {
        true => Ok((sizes.get_slice(0, 1), Some(argument(op, "dtype", &last)?))),
        false => Ok((sizes.clone(), None)),
    }
}

/// What is made, by which derivatives are taken where that is asked for.
pub fn leaf(made: Made, requires_grad: bool) -> Made {
    let made = made?;
    if requires_grad {
        made.0.set_requires_grad(true)?;
    }
    Ok(made)
}

/// Zeros, `float32` unless a type is given; on a device, where one is named.
#[explained]
#[pyfunction]
#[pyo3(signature = (*sizes, shape=None, dtype=None, device=None, size=None, requires_grad=false))]
pub fn zeros(
    sizes: &Bound<'_, PyTuple>,
    shape: Option<Bound<'_, PyAny>>,
    dtype: Option<AnyDType>,
    device: Option<Text>,
    size: Option<Bound<'_, PyAny>>,
    #[pyo3(from_py_with = flag)] requires_grad: bool,
) -> Made {
    let (sizes, dtype) = typed("zeros", sizes, dtype)?;
    let shape = extents_of("zeros", &sizes, shape, size)?;
    leaf(
        shape.bind(placed(
            device.as_deref(),
            Tensor::zeros(&shape.sizes, or(dtype, DEFAULT_FLOAT)).map(Tensor::own_constant),
        )),
        requires_grad,
    )
}

/// Ones, `float32` unless a type is given.
#[explained]
#[pyfunction]
#[pyo3(signature = (*sizes, shape=None, dtype=None, device=None, size=None, requires_grad=false))]
pub fn ones(
    sizes: &Bound<'_, PyTuple>,
    shape: Option<Bound<'_, PyAny>>,
    dtype: Option<AnyDType>,
    device: Option<Text>,
    size: Option<Bound<'_, PyAny>>,
    #[pyo3(from_py_with = flag)] requires_grad: bool,
) -> Made {
    let (sizes, dtype) = typed("ones", sizes, dtype)?;
    let shape = extents_of("ones", &sizes, shape, size)?;
    leaf(
        shape.bind(placed(
            device.as_deref(),
            Tensor::ones(&shape.sizes, or(dtype, DEFAULT_FLOAT)).map(Tensor::own_constant),
        )),
        requires_grad,
    )
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
#[explained]
#[pyfunction]
#[pyo3(signature = (*sizes, shape=None, dtype=None, device=None, size=None, requires_grad=false))]
pub fn empty(
    sizes: &Bound<'_, PyTuple>,
    shape: Option<Bound<'_, PyAny>>,
    dtype: Option<AnyDType>,
    device: Option<Text>,
    size: Option<Bound<'_, PyAny>>,
    #[pyo3(from_py_with = flag)] requires_grad: bool,
) -> Made {
    let (sizes, dtype) = typed("empty", sizes, dtype)?;
    let shape = extents_of("empty", &sizes, shape, size)?;
    let device = device.as_deref().map_or_else(crate::tensor::default_device, crate::tensor::device)?;
    let made = Tensor::empty_on(&device, &shape.sizes, or(dtype, DEFAULT_FLOAT), shape.values())?;
    leaf(Ok(made.into()), requires_grad)
}

/// The extents that an argument `shape` gives.
pub fn shaped(op: &str, shape: &Bound<'_, PyAny>) -> Result<Extents> {
    let py = shape.py();
    parts(py, op, "shape", Extents::positive(&PyTuple::new(py, [shape])?))
}

/// One value everywhere, in its own type unless one is given.
#[explained]
#[pyfunction]
#[pyo3(
    signature = (shape=None, fill_value=None, dtype=None, *, device=None, size=None, requires_grad=false),
    text_signature = "(shape, fill_value, dtype=None, *, device=None, size=None, requires_grad=False)"
)]
pub fn full(
    shape: Option<Bound<'_, PyAny>>,
    fill_value: Option<AnyOperand>,
    dtype: Option<AnyDType>,
    device: Option<Text>,
    size: Option<Bound<'_, PyAny>>,
    #[pyo3(from_py_with = flag)] requires_grad: bool,
) -> Made {
    let shape = shaped("full", &named("full", "shape", shape, size)?)?;
    let fill_value = required("full", "fill_value", fill_value)?.0;
    let made =
        placed(device.as_deref(), Tensor::full(&shape.sizes, fill_value, dtype.map(|d| d.0)).map(Tensor::own_constant));
    leaf(shape.bind(made), requires_grad)
}

/// A number that says how many elements there are: that of a tensor of one element is read.
fn known(AnyOperand(given): AnyOperand) -> Result<Operand> {
    let tensor = match given {
        Operand::Tensor(tensor) => tensor,
        Operand::Listed { exact, .. } => exact,
        number => return Ok(number),
    };
    tensor.check_known("a number of Python's (as `arange` asks for it)")?;
    let value = Python::attach(|py| allow(py, || tensor.item_const()))?;
    Ok(if value.dtype().is_float() { Operand::Float(value.as_f64()) } else { Operand::Int(value.as_i128()) })
}

/// The numbers from `start`, by default 0, before `stop`, in steps of `step`.
#[explained]
#[pyfunction]
#[pyo3(
    signature = (start=None, stop=None, step=None, dtype=None, *, device=None, end=None, requires_grad=false),
    text_signature = "(start, stop=None, step=None, dtype=None, *, device=None, end=None, requires_grad=False)"
)]
pub fn arange(
    start: Option<AnyOperand>,
    stop: Option<AnyOperand>,
    step: Option<AnyOperand>,
    dtype: Option<AnyDType>,
    device: Option<Text>,
    end: Option<AnyOperand>,
    #[pyo3(from_py_with = flag)] requires_grad: bool,
) -> Made {
    if stop.is_some() && end.is_some() {
        return Err(Class::ArgumentType.raise("arange: stop and end are one argument: give only one of them"));
    }
    let (start, stop) = match (start, stop.or(end)) {
        (Some(start), Some(stop)) => (known(start)?, known(stop)?),
        (stop, None) | (None, stop) => (Operand::Int(0), known(required("arange", "stop", stop)?)?),
    };
    let step = step.map_or(Ok(Operand::Int(1)), known)?;
    leaf(on(device.as_deref(), Tensor::arange(start, stop, step, dtype.map(|d| d.0))), requires_grad)
}

/// `num` numbers at equal distances from `start` to `stop`, both included, or without `endpoint` not the last.
#[explained]
#[pyfunction]
#[pyo3(
    signature = (start, stop=None, num=None, *, dtype=None, device=None, endpoint=true, end=None, steps=None, requires_grad=false),
    text_signature = "(start, stop, num=50, *, dtype=None, device=None, endpoint=True, end=None, steps=None, requires_grad=False)"
)]
#[allow(clippy::too_many_arguments)]
pub fn linspace(
    start: Parts,
    stop: Option<Parts>,
    num: Option<AnySize>,
    dtype: Option<AnyDType>,
    device: Option<Text>,
    endpoint: bool,
    end: Option<Parts>,
    steps: Option<AnySize>,
    #[pyo3(from_py_with = flag)] requires_grad: bool,
) -> Made {
    let dtype = dtype.map(|d| d.0);
    let stop = named("linspace", "stop", stop, end)?;
    if num.is_some() && steps.is_some() {
        return Err(Class::ArgumentType.raise("linspace: num and steps are one argument: give only one of them"));
    }
    let num = num.or(steps).unwrap_or_else(|| AnySize { size: 50.into(), values: Vec::new() });
    let line = |start, stop, dtype| match endpoint {
        true => Tensor::linspace(start, stop, &num.size, dtype),
        false => Tensor::linspace_open(start, stop, &num.size, dtype),
    };
    let made = match (start.1, stop.1) {
        (0.0, 0.0) => line(start.0, stop.0, dtype),
        (from, to) => line(start.0, stop.0, Some(DType::F64)).and_then(|real| {
            Tensor::complex(real, line(from, to, Some(DType::F64))?)?.cast(dtype.unwrap_or(DEFAULT_COMPLEX))
        }),
    };
    leaf(on(device.as_deref(), made.and_then(|numbers| numbers.with_values(&num.values))), requires_grad)
}

/// Ones on a diagonal, `k` to the right of the main one, zeros elsewhere.
#[explained]
#[pyfunction]
#[pyo3(
    signature = (n_rows=None, n_cols=None, k=0, dtype=None, *, device=None, n=None, m=None, requires_grad=false),
    text_signature = "(n_rows, n_cols=None, k=0, dtype=None, *, device=None, n=None, m=None, requires_grad=False)"
)]
#[allow(clippy::too_many_arguments)]
pub fn eye(
    n_rows: Option<AnySize>,
    n_cols: Option<AnySize>,
    k: i64,
    dtype: Option<AnyDType>,
    device: Option<Text>,
    n: Option<AnySize>,
    m: Option<AnySize>,
    #[pyo3(from_py_with = flag)] requires_grad: bool,
) -> Made {
    let n_rows = named("eye", "n_rows", n_rows, n)?;
    if n_cols.is_some() && m.is_some() {
        return Err(Class::ArgumentType.raise("eye: n_cols and m are one argument: give only one of them"));
    }
    let n_cols = n_cols.or(m);
    let columns = n_cols.unwrap_or_else(|| n_rows.clone());
    let values = [&n_rows.values[..], &columns.values[..]].concat();
    let made = Tensor::eye_at(n_rows.size, columns.size, k, or(dtype, DEFAULT_FLOAT));
    leaf(on(device.as_deref(), made.and_then(|eye| eye.with_values(&values))), requires_grad)
}

/// The tensors one after the other along an axis.
#[explained]
#[pyfunction]
#[pyo3(signature = (tensors, axis=None, *, dim=None), text_signature = "(tensors, axis=0, *, dim=None)")]
pub fn cat(tensors: Several<AnyMember>, axis: Option<Axis>, dim: Option<Axis>) -> Made {
    let axis = one_axis(axis, dim)?.unwrap_or(0);
    Ok(Tensor::cat(&together(tensors.0)?.iter().collect::<Vec<_>>(), axis)?.into())
}

/// The tensors, of equal shape, along a new dimension.
#[explained]
#[pyfunction]
#[pyo3(signature = (tensors, axis=None, *, dim=None), text_signature = "(tensors, axis=0, *, dim=None)")]
pub fn stack(tensors: Several<AnyMember>, axis: Option<Axis>, dim: Option<Axis>) -> Made {
    let axis = one_axis(axis, dim)?.unwrap_or(0);
    Ok(Tensor::stack(&together(tensors.0)?.iter().collect::<Vec<_>>(), axis)?.into())
}

/// Sums of products over named dimensions: `"ij,jk->ik"` is the matrix product.
///
/// A letter names a dimension of each operand; equal letters have equal extents, and letters that
/// the result lacks are summed over. `...` stands for dimensions without a letter, which broadcast.
/// Without `->`, the result has the letters that occur once, in alphabetical order. Operands may be given as one list, and
/// dimensions as numbers: each operand is then followed by a list of those of its own, and the last list is the result's.
///
/// >>> import svod
/// >>> a, b = svod.Tensor([[1, 2], [3, 4]]), svod.Tensor([10, 1])
/// >>> svod.einsum("ij,j->i", a, b).tolist(), svod.einsum("ij,j->i", [a, b]).tolist()
/// ([12, 34], [12, 34])
/// >>> svod.einsum(a, [0, 1], b, [1], [0]).tolist()
/// [12, 34]
#[explained]
#[pyfunction]
#[pyo3(signature = (subscripts, *operands))]
pub fn einsum(subscripts: &Bound<'_, PyAny>, operands: &Bound<'_, PyTuple>) -> Made {
    let (py, op) = (operands.py(), "einsum");
    let (text, operands) = match subscripts.extract::<Text>() {
        Ok(text) => {
            let listed = in_one_list(&text, operands)?.unwrap_or_else(|| operands.clone());
            (text.to_owned(), listed)
        }
        Err(error) if !operands.get_item(0).is_ok_and(|second| is_listed(&second)) => {
            return Err(explained::named(py, op, "subscripts", error).into());
        }
        Err(_) => interleaved(subscripts, operands)?,
    };
    let all = operands.extract::<Vec<AnyMember>>().map_err(Raised::from);
    let operands_of_one_kind = together(parts(py, op, "operands", all)?)?;
    let made = Tensor::einsum(&text, &operands_of_one_kind.iter().collect::<Vec<_>>())?;
    let only = operands.extract::<(PyRef<'_, PyTensor>,)>();
    Ok(only.map_or(made.clone(), |(only,)| made.viewing_where_moved(&only.0, op)).into())
}

/// The operands of `einsum` where they are given as one list: of several, or of one tensor.
fn in_one_list<'py>(text: &str, operands: &Bound<'py, PyTuple>) -> Result<Option<Bound<'py, PyTuple>>> {
    let [one] = &operands.iter().collect::<Vec<_>>()[..] else { return Ok(None) };
    if !is_listed(one) {
        return Ok(None);
    }
    let members = one.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let is_of_operands = match text.split("->").next().unwrap_or_default().split(',').count() {
        1 => matches!(&members[..], [only] if only.cast::<PyTensor>().is_ok()),
        _ => true,
    };
    Ok(if is_of_operands { Some(PyTuple::new(one.py(), members)?) } else { None })
}

/// The text and the operands of `einsum` whose dimensions are numbers: `einsum(a, [0, 1], b, [1], [0])`.
fn interleaved<'py>(first: &Bound<'py, PyAny>, rest: &Bound<'py, PyTuple>) -> Result<(String, Bound<'py, PyTuple>)> {
    let given: Vec<_> = std::iter::once(first.clone()).chain(rest.iter()).collect();
    let (mut texts, mut operands) = (Vec::new(), Vec::new());
    let pairs = given.chunks_exact(2);
    let result = pairs.remainder().first().map(dimensions).transpose()?;
    for pair in pairs {
        operands.push(pair[0].clone());
        texts.push(dimensions(&pair[1])?);
    }
    let result = result.map_or(String::new(), |result| format!("->{result}"));
    Ok((texts.join(",") + &result, PyTuple::new(first.py(), operands)?))
}

/// Dimensions that are given by numbers, as letters.
fn dimensions(given: &Bound<'_, PyAny>) -> Result<String> {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let unfit = || {
        let message = "a list of its dimensions, numbers from 0 to 51 or `...`, is expected behind each operand";
        Class::ArgumentType.raise(format!("einsum: operands: {message}, not {}", class_of(given)))
    };
    if !is_listed(given) {
        return Err(unfit());
    }
    let mut text = String::new();
    for one in given.try_iter()? {
        let one = one?;
        if one.is_instance_of::<PyEllipsis>() {
            text += "...";
            continue;
        }
        let letter = one.extract::<usize>().ok().and_then(|at| LETTERS.get(at)).ok_or_else(unfit)?;
        text.push(char::from(*letter));
    }
    Ok(text)
}

/// `x` where the condition holds, else `y`; of a condition alone, where it is not zero: a tensor for each dimension.
///
/// >>> import svod
/// >>> svod.where(svod.Tensor([True, False]), 1, 2).tolist()
/// [1, 2]
/// >>> [found.tolist() for found in svod.where(svod.Tensor([True, False]))]
/// [[0]]
#[explained]
#[pyfunction]
#[pyo3(
    name = "where",
    signature = (condition, x=None, y=None, *, input=None, other=None),
    text_signature = "(condition, x=None, y=None)"
)]
pub fn where_<'py>(
    py: Python<'py>,
    condition: AnyTensor,
    x: Option<AnyOperand>,
    y: Option<AnyOperand>,
    input: Option<AnyOperand>,
    other: Option<AnyOperand>,
) -> Result<Bound<'py, PyAny>> {
    if x.is_none() && y.is_none() && input.is_none() && other.is_none() {
        return PyTensor(condition.0).nonzero(py, true);
    }
    let (x, y) = (named("where", "x", x, input)?, named("where", "y", y, other)?);
    Ok(Bound::new(py, PyTensor(Tensor::select(&condition.0, x.0, y.0)?))?.into_any())
}

/// A tensor over a NumPy array's own memory, without a copy.
///
/// The array must be dense, row-major and of native byte order. What is written to it later is seen
/// by what is computed later; it must not be written while something that reads it runs. A plan that was prepared before
/// may have read it already: what changes between runs is an input.
#[explained]
#[pyfunction]
pub fn from_numpy(array: &Bound<'_, PyAny>) -> Made {
    match array.cast::<PyUntypedArray>() {
        Ok(array) => Ok(borrow(array)?.into()),
        Err(_) => Err(Class::ArgumentType
            .raise(format!("from_numpy: array: a numpy.ndarray is expected, not {}", class_of(array)))),
    }
}

/// A tensor over the memory of another library's array, by DLPack; a copy of it where the memory is not dense or the
/// tensor is to be on another device, and with `copy=True`. What would have to be copied is an error with `copy=False`.
///
/// As with `from_numpy`, what is written to the memory is seen by what is computed later. Memory of a GPU is read once the
/// work is done that its library had begun before this call; for what that library writes later, wait before svod reads it.
///
/// >>> import numpy as np, svod
/// >>> svod.from_dlpack(np.arange(3.0)).tolist()
/// [0.0, 1.0, 2.0]
#[explained]
#[pyfunction]
#[pyo3(signature = (x, /, *, device=None, copy=None))]
pub fn from_dlpack(x: &Bound<'_, PyAny>, device: Option<Text>, copy: Option<bool>) -> Made {
    if !x.hasattr("__dlpack__")? {
        let message = format!("from_dlpack: x: an array with `__dlpack__` is expected, not {}", class_of(x));
        return Err(Class::ArgumentType.raise(message));
    }
    let device = device.as_deref();
    if let Some(there) = dlpack::gpu::device_of(x)? {
        return from_gpu(x, &there, device, copy);
    }
    let array = &dlpack::import(x)?;
    if copy == Some(false)
        && let Some(name) = device.filter(|name| *name != DeviceSpec::CPU.to_string())
    {
        return Err(Class::Argument.raise(format!("from_dlpack: copy=False, but the memory is not on {name}")));
    }
    let tensor = match copy.unwrap_or(!array.is_c_contiguous()) {
        true => tensor_of(array, &DeviceSpec::CPU, None)?,
        false => borrow(array)?,
    };
    Ok(placed(device, Ok(tensor))?.into())
}

/// [`from_dlpack`] of memory on a GPU.
fn from_gpu(x: &Bound<'_, PyAny>, there: &DeviceSpec, device: Option<&str>, copy: Option<bool>) -> Made {
    let device = device.map(crate::tensor::device).transpose()?.unwrap_or_else(|| there.clone());
    if copy == Some(false) && device != *there {
        return Err(Class::Argument.raise(format!("from_dlpack: copy=False, but the memory is on {there}")));
    }
    Ok(dlpack::gpu::import(x, there, copy)?.to(&device.to_string())?.into())
}

/// The tensors of a safetensors file by name; their memory is the file's own pages.
#[explained]
#[pyfunction]
pub fn load_safetensors(py: Python<'_>, path: PathBuf) -> Result<BTreeMap<String, PyTensor>> {
    let tensors = allow(py, || Tensor::load_safetensors(&path))?;
    Ok(tensors.into_iter().map(|(name, tensor)| (name, tensor.into())).collect())
}

/// Computes several tensors at once, shared work once. `options` are those of `PrepareConfig`.
#[explained]
#[pyfunction]
#[pyo3(signature = (*tensors, **options))]
pub fn realize(py: Python<'_>, tensors: &Bound<'_, PyTuple>, options: Option<&Bound<'_, PyDict>>) -> Result<()> {
    let (tensors, config) = (one_by_one("realize", tensors)?, configured(options)?);
    let tensors: Vec<&Tensor> = tensors.iter().map(|t| &t.get().0).collect();
    allow(py, || Tensor::realize_batch_with(&tensors, &config))
}

/// Prepares several tensors as one plan, shared work once. See `Tensor.prepare`.
#[explained]
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
#[explained]
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
#[explained]
#[pyfunction]
pub fn get_threads() -> usize {
    Context::global().threads()
}

/// Measures how fast the machine is, in a second or two where nothing else runs: `flops`, operations on 32-bit
/// floats a second, `bandwidth`, bytes a second to and from memory, and `noise`, the share by which times varied: of
/// some 0.25 and more where the machine did other things. `ExecutionPlan.explain` then tells by these figures, in later
/// processes too, until they are measured again or, with `forget`, given up for what is assumed of the machine.
#[explained]
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
#[explained]
#[pyfunction]
pub fn set_threads(threads: &Bound<'_, PyAny>) -> Result<()> {
    let threads = integer("set_threads: threads", threads)?;
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
#[explained]
#[pyfunction]
#[pyo3(signature = (*, reset_peak=false))]
pub fn memory(#[pyo3(from_py_with = flag)] reset_peak: bool) -> BTreeMap<String, BTreeMap<&'static str, usize>> {
    let devices = Context::global().stats().memory.into_iter();
    if reset_peak {
        Context::global().reset_peaks();
    }
    devices.map(|(name, m)| (name, [("live", m.live), ("cached", m.cached), ("peak", m.peak)].into())).collect()
}

/// What devices there are, by their names: the CPU, and each GPU that this process may use, with their `name`,
/// bytes of `memory` and number of `processors`, and of a GPU its compute `capability`. None of them is opened for it.
/// Without a driver that works there are no GPUs; to use one says why.
///
/// >>> import svod
/// >>> sorted(svod.devices()["CPU"])
/// ['memory', 'name', 'processors']
#[explained]
#[pyfunction]
pub fn devices(py: Python<'_>) -> Result<Bound<'_, PyDict>> {
    let found = allow(py, || Ok::<_, TensorError>(Context::gpus().unwrap_or_default()))?;
    let all = PyDict::new(py);
    let entry = |name: &str, memory: usize, processors: usize| -> PyResult<Bound<'_, PyDict>> {
        let entry = PyDict::new(py);
        entry.set_item("name", name)?;
        entry.set_item("memory", memory)?;
        entry.set_item("processors", processors)?;
        Ok(entry)
    };
    let target = Context::global().target();
    all.set_item(DeviceSpec::CPU.to_string(), entry(&target.cpu, host_memory(), target.cores)?)?;
    for (spec, info) in found {
        let gpu = entry(&info.name, info.memory, info.multiprocessors)?;
        gpu.set_item("capability", info.capability)?;
        all.set_item(spec.to_string(), gpu)?;
    }
    Ok(all)
}

/// Makes a device the one of what is made without one, in all threads: of data, constants and random numbers.
/// None makes it that of `SVOD_DEVICE` again, or the CPU. Within a `PrepareConfig` with a device it is that.
///
/// >>> import svod
/// >>> svod.set_default_device("CPU:1")
/// >>> svod.Tensor([1, 2]).device
/// 'CPU:1'
/// >>> svod.set_default_device(None)
#[explained]
#[pyfunction]
pub fn set_default_device(device: Option<Text>) -> Result<()> {
    let device = device.as_deref().map(crate::tensor::device).transpose()?;
    if let Some(file) = device.as_ref().filter(|device| device.is_disk()) {
        return Err(Class::Device.raise(format!("set_default_device: {file} is read-only")));
    }
    PrepareConfig::set_default_device(device);
    Ok(())
}

/// The device of tensors that nothing else places.
///
/// >>> import svod
/// >>> svod.get_default_device()
/// 'CPU'
#[explained]
#[pyfunction]
pub fn get_default_device() -> Result<String> {
    Ok(crate::tensor::default_device()?.to_string())
}

/// Waits for all work that was handed to devices: what fails in it fails here. To read a value waits by itself.
///
/// >>> import svod
/// >>> svod.synchronize()
#[explained]
#[pyfunction]
pub fn synchronize(py: Python<'_>) -> Result<()> {
    allow(py, || Context::global().synchronize().map_err(TensorError::from))
}

/// Number of kernels, schedules and packed constants that are kept.
#[explained]
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
#[explained]
#[pyfunction]
pub fn compile_times(py: Python<'_>) -> Result<Bound<'_, PyDict>> {
    let times = PyDict::new(py);
    for took in pass::times().into_iter().filter(|t| t.count > 0) {
        times.set_item(took.pass.name(), (took.count, took.time.as_secs_f64()))?;
    }
    Ok(times)
}

/// Empties the caches in memory and gives freed memory back to the system; plans live on.
#[explained]
#[pyfunction]
pub fn clear_caches(py: Python<'_>) -> Result<()> {
    allow(py, || {
        Context::global().clear_caches();
        Ok::<_, TensorError>(())
    })
}

/// A tensor, or what becomes one.
#[explained]
#[pyfunction]
pub fn _tensor(x: AnyTensor) -> PyTensor {
    PyTensor(x.0)
}

/// Operands of one operation as tensors of their common type; a scalar takes that of the tensors that it meets.
#[explained]
#[pyfunction]
#[pyo3(signature = (*operands))]
pub fn _operands(operands: Vec<AnyOperand>) -> Result<Vec<PyTensor>> {
    let operands: Vec<Operand> = operands.into_iter().map(|one| one.0).collect();
    Ok(Tensor::promoted(&operands)?.into_iter().map(PyTensor).collect())
}
