//! NumPy arrays in and out.

use std::ptr::NonNull;
use std::sync::Arc;

use numpy::npyffi::{_PyArray_GET_ITEM_DATA, NPY_ARRAY_WRITEABLE, NpyTypes, PY_ARRAY_API, get_type_object, npy_intp};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PySequence, PyTuple};
use svod_device::{Buffer, DeviceSpec};
use svod_dtype::{DEFAULT_COMPLEX, DEFAULT_FLOAT, DType, Weak, promote, promote_weak};
use svod_ir::graph::{LeafClass, Op};
use svod_tensor::{Operand, Tensor};

use crate::convert::{class_of, is_listed};
use crate::dlpack;
use crate::dtype::{AnyDType, numpy, numpy_dtype, of_descr};

use crate::error::{Class, Raised, Result};
use crate::gil::allow;
use crate::tensor::{PyTensor, pair};

/// A tensor on a device with a copy of what NumPy makes of an object: an array of any order, strides and byte
/// order, a scalar, nested sequences. Python's floats have the default type, unless one is `named`, to which they are
/// rounded once.
pub fn tensor_of(object: &Bound<'_, PyAny>, device: &DeviceSpec, named: Option<DType>) -> Result<Tensor> {
    let numbers = if named.is_some() { Numbers::All } else { Numbers::Default };
    let (array, dtype) = dense_array(as_array(object, numbers)?.0)?;
    if let Some(named) = named.filter(|named| named.is_int() && dtype.is_int() && *named != dtype) {
        check_range(object, &array, named)?;
    }
    let tensor = Tensor::from_bytes_on(device, bytes_of(&array), dtype, array.shape())?;
    Ok(tensor.cast(named.unwrap_or(dtype))?)
}

/// Whether integers of Python's, in a list, are such as a type holds. What has a type of its own is cast, and wraps.
fn check_range(object: &Bound<'_, PyAny>, array: &Bound<'_, PyUntypedArray>, dtype: DType) -> Result<()> {
    let Some((least, most)) = dtype.int_range() else { return Ok(()) };
    if !is_listed(object) || array.len() == 0 {
        return Ok(());
    }
    for end in ["min", "max"] {
        let value: i128 = array.call_method0(end)?.call_method0("__int__")?.extract()?;
        if !(least..=most).contains(&value) && Members::of(object)?.is_weak() {
            return Err(Class::Overflow.raise(format!("{value} does not fit {dtype}, which holds {least} to {most}")));
        }
    }
    Ok(())
}

/// What NumPy makes of an object that is given where a tensor is expected; what is on a GPU is copied there.
pub fn literal(object: &Bound<'_, PyAny>) -> Result<Tensor> {
    if let Some(there) = dlpack::gpu::value(object)? {
        return Ok(there);
    }
    let (array, dtype) = dense(object)?;
    Ok(Tensor::literal(bytes_of(&array), dtype, array.shape())?)
}

/// What NumPy makes of an object that is given as an operand: floats of Python's keep all their digits until the type in
/// which the operands meet is known.
pub fn listed_operand(object: &Bound<'_, PyAny>) -> Result<Operand> {
    pair::refuse(object)?;
    if let Some(there) = dlpack::gpu::value(object)? {
        return Ok(Operand::Tensor(there));
    }
    let (given, is_weak) = as_array(object, Numbers::Exact)?;
    let (array, dtype) = dense_array(given.clone())?;
    let tensor = Tensor::literal(bytes_of(&array), dtype, array.shape())?;
    if !is_weak {
        return Ok(Operand::Tensor(tensor));
    }
    let (array, dtype) = dense_array(narrowed(&given)?)?;
    Ok(Operand::Listed { rounded: Tensor::literal(bytes_of(&array), dtype, array.shape())?, exact: tensor })
}

/// What NumPy makes of an object, C-contiguous, aligned and of native byte order.
pub fn dense<'py>(object: &Bound<'py, PyAny>) -> Result<(Bound<'py, PyUntypedArray>, DType)> {
    dense_array(as_array(object, Numbers::Default)?.0)
}

/// [`dense`] of an array.
fn dense_array(array: Bound<'_, PyUntypedArray>) -> Result<(Bound<'_, PyUntypedArray>, DType)> {
    let py = array.py();
    let dtype = dtype_of(&array)?;
    if array.is_c_contiguous() && array.is_aligned() && is_native(&array) {
        return Ok((array, dtype));
    }
    let copy = array.call_method1("astype", (numpy_dtype(py, dtype)?, "C"))?;
    Ok((copy.cast_into::<PyUntypedArray>().map_err(PyErr::from)?, dtype))
}

/// [`dense`] of what is given for `what`, which errors name.
pub fn dense_for<'py>(what: &str, object: &Bound<'py, PyAny>) -> Result<(Bound<'py, PyUntypedArray>, DType)> {
    dense(object).map_err(|raised| {
        let (py, error) = (object.py(), PyErr::from(raised));
        // Exceptions of the object's own stay as they are.
        match Class::DType.matches(&error, py) {
            true => {
                let class = object.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string());
                Class::DType.raise(format!("{what}: {} (of {class})", error.value(py)))
            }
            false => error.into(),
        }
    })
}

/// The bytes of a dense array. Python code may write them whenever the interpreter's lock is not
/// held; it is, as long as the array is borrowed from it.
pub fn bytes_of<'a>(array: &'a Bound<'_, PyUntypedArray>) -> &'a [u8] {
    let bytes = array.len() * array.dtype().itemsize();
    match data(array) {
        Some(data) if bytes > 0 => {
            // SAFETY: a C-contiguous array has as many bytes from its first element on, which stay
            // where they are while the array is borrowed.
            unsafe { std::slice::from_raw_parts(data.as_ptr(), bytes) }
        }
        _ => &[],
    }
}

/// A tensor over the array's own memory.
pub fn borrow(array: &Bound<'_, PyUntypedArray>) -> Result<Tensor> {
    let dtype = dtype_of(array)?;
    let cannot = |why: &str| format!("from_numpy: {why} cannot be borrowed; Tensor() copies and converts");
    if !is_native(array) {
        let descr = array.dtype().str().map_or_else(|_| dtype.to_string(), |s| s.to_string());
        return Err(Class::DType.raise(cannot(&format!("an array of {descr}, not of this machine's byte order,"))));
    }
    if !array.is_aligned() {
        return Err(Class::Argument.raise(cannot(&format!("an array of {dtype} that is not aligned"))));
    }
    if !array.is_c_contiguous() {
        let layout = format!("an array of shape {:?} and strides {:?}", array.shape(), array.strides());
        return Err(Class::Argument.raise(cannot(&format!("{layout}, not dense and in row-major order,"))));
    }
    let Some(pointer) = data(array) else { return Ok(Tensor::from_bytes(&[], dtype, array.shape())?) };
    let writable: bool = array.getattr("flags")?.getattr("writeable")?.extract()?;
    let (shape, keep_alive) = (array.shape().to_vec(), Box::new(array.clone().unbind()));
    // SAFETY: the array keeps its memory as long as it lives, and `keep_alive` makes it live. That
    // nobody writes it during a run is what `from_numpy` asks of its caller.
    Ok(unsafe { Tensor::borrowed(pointer, dtype, &shape, !writable, keep_alive) }?)
}

/// A tensor over memory that an object keeps, elements one after the other from an address on: of arrays that say where
/// they lie, without the cost of a capsule; on the CPU, or on another device. The object must keep that memory, and nothing
/// may write it during a run.
#[explained]
#[pyfunction]
#[pyo3(signature = (address, shape, dtype, keep, device=None))]
pub fn _borrowed(
    address: usize,
    shape: Vec<usize>,
    dtype: AnyDType,
    keep: Py<PyAny>,
    device: Option<&str>,
) -> Result<PyTensor> {
    let (dtype, device) = (dtype.0, placed(device)?);
    let Some(pointer) = NonNull::new(address as *mut u8).filter(|_| !shape.contains(&0)) else {
        return Ok(Tensor::from_bytes_on(&device, &[], dtype, &shape)?.into());
    };
    if !address.is_multiple_of(dtype.bytes().max(1)) {
        let message = format!("_borrowed: address: memory of {dtype} that is not aligned cannot be borrowed");
        return Err(Class::Argument.raise(message));
    }
    // SAFETY: that `keep` keeps the memory of these elements, and that nobody writes it during a run, is what this asks of
    // its caller, the frontend for PyTorch, whose tensors answer for their address, shape and type.
    Ok(unsafe { Tensor::borrowed_on(&device, pointer, dtype, &shape, true, Box::new(keep)) }?.into())
}

/// The device of this name; the CPU where there is none.
pub fn placed(name: Option<&str>) -> Result<DeviceSpec> {
    Ok(name.map_or(Ok(DeviceSpec::CPU), |name| name.parse().map_err(svod_tensor::TensorError::from))?)
}

/// The elements as an array of a value; realizes the tensor.
///
/// Memory never changes under whoever has it: the array shares it and is read-only. Only of borrowed memory and of files,
/// which others may write, the array has a copy.
pub fn array_of<'py>(py: Python<'py>, tensor: &Tensor) -> Result<Bound<'py, PyAny>> {
    let (held, dims) = held_of(py, tensor, None)?;
    array_over(py, held, tensor.dtype(), &dims)
}

/// What a reader of a tensor's memory knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// That it is read-only.
    Told,
    /// Nothing, but it writes no memory.
    WritesNone,
    /// Nothing: it may write what its owner may write, memory that is borrowed.
    MayWrite,
}

/// The elements as an array over the tensor's own memory, borrowed memory too, where what others write is seen by the tensor
/// and the reader alike; realizes the tensor. Says whether it is a copy all the same: of what lies in a file or on another
/// device.
pub fn shared_of<'py>(py: Python<'py>, tensor: &Tensor, reader: Reader) -> Result<(Bound<'py, PyAny>, bool)> {
    let (held, dims) = held_of(py, tensor, Some(reader))?;
    let is_copy = matches!(held, Held::Own(_));
    Ok((array_over(py, held, tensor.dtype(), &dims)?, is_copy))
}

/// The memory of the elements, or a copy, and their extents. Borrowed memory is copied unless there is a reader.
fn held_of(py: Python<'_>, tensor: &Tensor, reader: Option<Reader>) -> Result<(Held, Vec<usize>)> {
    allow(py, || {
        // The value of one moment, of what follows a plan.
        let value = tensor.now();
        value.compute()?;
        let class = if let Op::Leaf(leaf) = value.uop().op() { Some(leaf.class()) } else { None };
        let is_borrowed = class == Some(LeafClass::Borrowed);
        if class.is_some_and(LeafClass::is_value) || (is_borrowed && reader.is_some()) {
            let (buffer, extents) = value.snapshot()?;
            let storage = buffer.storage();
            if buffer.is_allocated() && storage.allocator().host_visible() {
                let is_writable = match reader {
                    None | Some(Reader::Told) => false,
                    Some(Reader::WritesNone) => true,
                    Some(Reader::MayWrite) => is_borrowed && !storage.is_read_only(),
                };
                return Ok((if is_writable { Held::Lent(buffer) } else { Held::Shared(buffer) }, extents));
            }
        }
        let (copy, extents) = value.copied()?;
        Ok::<_, svod_tensor::TensorError>((Held::Own(copy), extents))
    })
}

/// The elements as a writable array of its own.
pub fn copy_of<'py>(py: Python<'py>, tensor: &Tensor) -> Result<Bound<'py, PyAny>> {
    let (copy, dims) = allow(py, || tensor.copied())?;
    array_over(py, Held::Own(copy), tensor.dtype(), &dims)
}

/// What an array's memory belongs to.
pub enum Held {
    /// A realized tensor: the reader does not write it.
    Shared(Arc<Buffer>),
    /// The same, of which NumPy is not to know: the reader writes nothing, or may write what is borrowed.
    Lent(Arc<Buffer>),
    /// The array alone.
    Own(Buffer),
}

/// The owner of an array's memory.
#[pyclass(module = "svod", frozen)]
struct Memory {
    /// Only waits for its drop.
    _held: Held,
}

/// Dimensions of an array of NumPy's at most.
const MOST_DIMENSIONS: usize = 64;

/// An array over memory that it keeps alive.
pub fn array_over<'py>(py: Python<'py>, held: Held, dtype: DType, dims: &[usize]) -> Result<Bound<'py, PyAny>> {
    if dims.len() > MOST_DIMENSIONS {
        let message = format!("an array of NumPy has at most {MOST_DIMENSIONS} dimensions, not {}", dims.len());
        return Err(Class::Argument.raise(message));
    }
    let (pointer, flags) = match &held {
        Held::Shared(buffer) => (buffer.as_ptr(), 0),
        Held::Lent(buffer) => (buffer.as_ptr(), NPY_ARRAY_WRITEABLE),
        Held::Own(buffer) => (buffer.as_ptr(), NPY_ARRAY_WRITEABLE),
    };
    let pointer = pointer.map_or(std::ptr::null_mut(), NonNull::as_ptr);
    let descr = numpy_dtype(py, dtype)?;
    if dims.contains(&0) || pointer.is_null() {
        return Ok(numpy(py)?.getattr("empty")?.call1((PyTuple::new(py, dims)?, descr))?);
    }
    let owner = Bound::new(py, Memory { _held: held })?;
    let mut extents: Vec<npy_intp> = dims.iter().map(|&n| n as npy_intp).collect();
    // SAFETY: the memory holds as many elements of that type, row-major, and does not move when its
    // owner does; NumPy takes the references to `descr` and `owner`, whose drop ends the memory's
    // life, and copies the extents. Only memory that nobody else uses is writable, or that is lent as `Reader` says.
    unsafe {
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            get_type_object(py, NpyTypes::PyArray_Type),
            descr.into_ptr().cast(),
            extents.len() as i32,
            extents.as_mut_ptr(),
            std::ptr::null_mut(),
            pointer.cast(),
            flags,
            std::ptr::null_mut(),
        );
        let array = Bound::from_owned_ptr_or_err(py, array)?;
        if PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), owner.into_ptr()) != 0 {
            return Err(PyErr::fetch(py).into());
        }
        Ok(array)
    }
}

/// What floats and complex numbers of Python's become.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// Their default type, or that of the tensors and arrays beside which they are listed.
    Default,
    /// With all their digits, unless something beside them has a type.
    Exact,
    /// With all their digits: they are cast later.
    All,
}

/// What NumPy makes of an object, and whether it has numbers of Python's of a type of their own only.
fn as_array<'py>(object: &Bound<'py, PyAny>, numbers: Numbers) -> Result<(Bound<'py, PyUntypedArray>, bool)> {
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        if is_masked(array)? {
            let message = "a masked array has elements without a value, which a tensor has not: fill it (`filled`)";
            return Err(Class::Argument.raise(message));
        }
        return Ok((array.clone(), false));
    }
    let py = object.py();
    let array = numpy(py)?.getattr("asarray")?.call1((object,)).map_err(|error| {
        match error.is_instance_of::<PyValueError>(py) && object.cast::<PySequence>().is_ok() {
            true => PyErr::from(Class::Shape.raise(format!("tensor: {}", error.value(py)))),
            false => error,
        }
    })?;
    let array = array.cast_into::<PyUntypedArray>().map_err(PyErr::from)?;
    if array.dtype().kind() == b'O'
        && let Some(why) = no_numbers(object)?
    {
        return Err(why);
    }
    let array = match numbers != Numbers::All && is_rounded(object, &array)? {
        true => in_type(object, DType::U64)?,
        false => array,
    };
    if numbers != Numbers::All
        && is_listed(object)
        && array.len() > 0
        && let Some(dtype) = Members::of(object)?.dtype()
    {
        let is_other = dtype_of(&array).is_ok_and(|made| made != dtype);
        return Ok((if is_other { in_type(object, dtype)? } else { array }, false));
    }
    let is_weak = matches!(dtype_of(&array), Ok(DType::F64 | DType::C128)) && is_plain(object);
    match is_weak && numbers == Numbers::Default {
        true => Ok((narrowed(&array)?, true)),
        false => Ok((array, is_weak)),
    }
}

/// Why NumPy makes no numbers of what is no array.
fn no_numbers(object: &Bound<'_, PyAny>) -> Result<Option<Raised>> {
    if object.is_instance_of::<PyInt>() {
        return Ok(Some(Class::Overflow.raise("tensor: an integer of at most 64 bits is expected")));
    }
    if !is_listed(object) {
        let unfit = || Class::DType.raise(format!("tensor: numbers are expected, not {}", class_of(object)));
        return Ok((!object.hasattr("__array__")?).then(unfit));
    }
    Ok(Some(match Members::of(object)?.other {
        Some(class) => Class::DType.raise(format!("tensor: numbers are expected in a list, not {class}")),
        None => Class::Overflow.raise("tensor: an integer of at most 64 bits is expected in a list"),
    }))
}

/// Whether NumPy rounded integers of Python's to floats, as some fit `int64` and some only `uint64`.
fn is_rounded(object: &Bound<'_, PyAny>, array: &Bound<'_, PyUntypedArray>) -> Result<bool> {
    let begins_whole = || first_of(object).is_some_and(|first| first.is_instance_of::<PyInt>());
    if array.dtype().kind() != b'f' || !is_listed(object) || !begins_whole() {
        return Ok(false);
    }
    let members = Members::of(object)?;
    Ok(members.is_weak() && members.weak == Some(Weak::Int))
}

/// What NumPy makes of nested lists in a type.
fn in_type<'py>(object: &Bound<'py, PyAny>, dtype: DType) -> Result<Bound<'py, PyUntypedArray>> {
    let py = object.py();
    let array = numpy(py)?.getattr("asarray")?.call1((object, numpy_dtype(py, dtype)?));
    let array = array.map_err(|error| match error.is_instance_of::<PyOverflowError>(py) {
        true => {
            PyErr::from(Class::Overflow.raise(format!("tensor: {}, where {dtype} is the common type", error.value(py))))
        }
        false => error,
    })?;
    Ok(array.cast_into().map_err(PyErr::from)?)
}

/// What is in nested lists beside numbers of Python's, which are weak.
#[derive(Default)]
struct Members {
    /// The type of tensors, arrays and NumPy's numbers.
    common: Option<DType>,
    weak: Option<Weak>,
    has_tensor: bool,
    /// Whether there is anything of another kind, or types that do not meet.
    unknown: bool,
    /// The class of what has no type.
    other: Option<String>,
}

impl Members {
    fn of(listed: &Bound<'_, PyAny>) -> Result<Members> {
        let mut members = Members::default();
        members.add(listed)?;
        Ok(members)
    }

    /// Adds what is in a list: no deeper one than NumPy made an array of.
    fn add(&mut self, listed: &Bound<'_, PyAny>) -> Result<()> {
        for one in listed.try_iter()? {
            let one = one?;
            if one.is_exact_instance_of::<PyFloat>() {
                self.weak = self.weak.max(Some(Weak::Float));
            } else if one.is_instance_of::<PyBool>() {
                self.weak = self.weak.max(Some(Weak::Bool));
            } else if one.is_instance_of::<PyInt>() {
                self.weak = self.weak.max(Some(Weak::Int));
            } else if one.is_exact_instance_of::<PyComplex>() {
                self.weak = self.weak.max(Some(Weak::Complex));
            } else if is_listed(&one) {
                self.add(&one)?;
            } else {
                self.strong(&one)?;
            }
            if self.unknown {
                return Ok(());
            }
        }
        Ok(())
    }

    fn strong(&mut self, one: &Bound<'_, PyAny>) -> Result<()> {
        let found = match one.cast::<PyTensor>() {
            Ok(tensor) => {
                self.has_tensor = true;
                Some(tensor.get().0.dtype())
            }
            Err(_) => one.getattr_opt("dtype")?.and_then(|dtype| of_descr(&dtype)),
        };
        if found.is_none() {
            self.other = Some(class_of(one));
        }
        let joined = found.and_then(|found| self.common.map_or(Some(found), |common| promote(common, found)));
        (self.common, self.unknown) = (joined, joined.is_none());
        Ok(())
    }

    /// Whether there are numbers of Python's only.
    fn is_weak(&self) -> bool {
        !self.unknown && self.common.is_none()
    }

    /// The type in which all of them meet, where that is another one than NumPy's.
    fn dtype(&self) -> Option<DType> {
        let common = self.common.filter(|_| !self.unknown && (self.has_tensor || self.weak.is_some()))?;
        self.weak.map_or(Some(common), |weak| promote_weak(common, weak))
    }
}

/// An array in the default type of floats, or of complex numbers.
fn narrowed<'py>(array: &Bound<'py, PyUntypedArray>) -> Result<Bound<'py, PyUntypedArray>> {
    let default = if matches!(dtype_of(array), Ok(DType::C128)) { DEFAULT_COMPLEX } else { DEFAULT_FLOAT };
    let narrow = array.call_method1("astype", (numpy_dtype(array.py(), default)?,))?;
    Ok(narrow.cast_into().map_err(PyErr::from)?)
}

/// Whether some elements of an array are masked.
fn is_masked(array: &Bound<'_, PyUntypedArray>) -> PyResult<bool> {
    let class = array.get_type();
    if class.is(array.py().get_type::<PyUntypedArray>()) || !class.hasattr("mask")? {
        return Ok(false);
    }
    array.getattr("mask")?.call_method0("any")?.is_truthy()
}

/// The first of what nested lists and tuples hold, if they hold anything.
fn first_of<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let mut at = object.clone();
    while is_listed(&at) {
        at = at.get_item(0).ok()?;
    }
    Some(at)
}

/// Whether the first number of nested lists and tuples is one of Python's own.
fn is_plain(object: &Bound<'_, PyAny>) -> bool {
    // Subclasses of floats are NumPy's numbers.
    first_of(object).is_none_or(|at| {
        at.is_exact_instance_of::<PyFloat>() || at.is_instance_of::<PyInt>() || at.is_exact_instance_of::<PyComplex>()
    })
}

pub fn dtype_of(array: &Bound<'_, PyUntypedArray>) -> Result<DType> {
    let descr = array.dtype();
    of_descr(descr.as_any()).ok_or_else(|| {
        let expected: Vec<&str> = crate::dtype::all().map(DType::name).collect();
        let message =
            format!("an array of {descr} cannot be a tensor, whose elements are one of {}", expected.join(", "));
        Class::DType.raise(message)
    })
}

fn is_native(array: &Bound<'_, PyUntypedArray>) -> bool {
    // A single byte has no order.
    array.dtype().is_native_byteorder().unwrap_or(true)
}

/// The first byte.
fn data(array: &Bound<'_, PyUntypedArray>) -> Option<NonNull<u8>> {
    // SAFETY: the pointer is that of a live array.
    NonNull::new(unsafe { (*_PyArray_GET_ITEM_DATA(array.as_array_ptr())).data }.cast())
}

/// One value as a Python object.
pub fn scalar(py: Python<'_>, value: svod_dtype::Const) -> Result<Bound<'_, PyAny>> {
    let dtype = value.dtype();
    Ok(if dtype.is_bool() {
        value.as_bool().into_bound_py_any(py)?
    } else if dtype.is_float() {
        value.as_f64().into_bound_py_any(py)?
    } else {
        value.as_i128().into_bound_py_any(py)?
    })
}
