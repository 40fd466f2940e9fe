//! Memory of GPUs, shared with other libraries of the process by DLPack and `__cuda_array_interface__`.
//!
//! A value that is shared is complete for who reads it: the reader's stream waits for svod's where it is named, else the
//! host. It is marked as read-only, for a value never changes. What is borrowed is read once its library's work is done, and
//! given back once svod's is; memory that others had goes back once all work on the device is done, for nobody says on which
//! streams they used it.

use std::ffi::c_int;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use pyo3::exceptions::{PyAttributeError, PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict, PyTuple};
use svod_device::{Allocator, Buffer, DeviceSpec};
use svod_dtype::DType;
use svod_runtime::Context;
use svod_tensor::{Operand, Tensor};

use super::layout::{
    COPIED, CPU, CUDA, DlTensor, MAJOR, Managed, NAMES, READ_ONLY, TYPES, VERSIONED_NAMES, Versioned, type_of,
};
use crate::array::placed;
use crate::dtype::numpy_dtype;
use crate::error::{Class, Result};
use crate::gil::allow;
use crate::tensor::PyTensor;

/// DLPack's numbers of streams that have no handle: the default stream of old, which is also meant where none is named; and
/// none, so that nobody waits.
const DEFAULT_STREAM: i64 = 1;
const NO_STREAM: i64 = -1;

/// The GPU that an object's memory is on, if it is on one.
pub fn device_of(object: &Bound<'_, PyAny>) -> Result<Option<DeviceSpec>> {
    let Some(tell) = object.getattr_opt("__dlpack_device__")? else { return Ok(None) };
    let Ok(told) = tell.call0() else { return Ok(None) };
    // An enumeration is no integer in every library.
    let named = || Ok::<_, PyErr>((told.get_item(0)?.getattr("value")?.extract()?, told.get_item(1)?.extract()?));
    let found = told.extract().or_else(|_: PyErr| named());
    Ok(match found {
        Ok((CUDA, number)) => Some(DeviceSpec::Cuda(number)),
        _ => None,
    })
}

/// DLPack's name of the device of a tensor; what is spread over several is gathered on the host.
pub fn code(tensor: &Tensor) -> (i32, i32) {
    match place(tensor) {
        Some(DeviceSpec::Cuda(number)) => (CUDA, number as i32),
        _ => (CPU, 0),
    }
}

fn place(tensor: &Tensor) -> Option<DeviceSpec> {
    if tensor.sharding().is_some() { None } else { tensor.device().name().parse().ok() }
}

/// What is left of the options of `__dlpack__` for the exporter, and whether the memory of a GPU is what is asked for.
pub fn asked<'py>(tensor: &Tensor, options: Option<Bound<'py, PyDict>>) -> Result<(Option<Bound<'py, PyDict>>, bool)> {
    let own = code(tensor);
    if own.0 != CUDA {
        return Ok((options, false));
    }
    let Some(options) = options else { return Ok((None, true)) };
    let wanted = options.get_item("dl_device")?.filter(|device| !device.is_none());
    let Some(wanted) = wanted else { return Ok((Some(options), true)) };
    let wanted: (i32, i32) = wanted.extract()?;
    if wanted == own {
        return Ok((Some(options), true));
    }
    let no_copy = options.get_item("copy")?.is_some_and(|copy| copy.extract().is_ok_and(|copy: bool| !copy));
    if wanted.0 != CPU || no_copy {
        let told = format!("a tensor on {} is not exported to device {wanted:?} of DLPack", tensor.device().name());
        return Err(PyBufferError::new_err(told).into());
    }
    // The host has a copy, which has no stream.
    let rest = options.copy()?;
    for name in ["stream", "dl_device", "copy"] {
        if rest.contains(name)? {
            rest.del_item(name)?;
        }
    }
    Ok((Some(rest), false))
}

/// What a capsule's tensor points to, and what keeps its memory.
struct Exported {
    shape: Vec<i64>,
    strides: Vec<i64>,
    buffer: Arc<Buffer>,
    /// The stream in which it is used last; none where nobody says which.
    stream: Option<usize>,
}

impl Exported {
    fn tensor(&mut self, code: u8, bits: u8, (device, number): (i32, i32)) -> DlTensor {
        DlTensor {
            data: self.buffer.as_ptr().map_or(null_mut(), |p| p.as_ptr().cast()),
            device,
            number,
            rank: self.shape.len() as c_int,
            code,
            bits,
            lanes: 1,
            shape: self.shape.as_mut_ptr(),
            strides: self.strides.as_mut_ptr(),
            offset: 0,
        }
    }
}

impl Drop for Exported {
    fn drop(&mut self) {
        // Kernels of whoever had it may still read it. A device that is lost reads nothing.
        let allocator = self.buffer.storage().allocator();
        let _ = match self.stream {
            Some(stream) => allocator.follow(stream),
            None => allocator.await_all(),
        };
    }
}

/// Who reads memory that is shared, and so is to find it complete.
#[derive(Clone, Copy)]
enum Readers {
    /// Somebody who sees to that.
    Unordered,
    /// Work in a stream, which waits there.
    Stream(usize),
    /// Whoever: it is waited for here.
    Any,
}

impl Readers {
    /// Those of the option `stream` of `__dlpack__`.
    fn named(stream: Option<Bound<'_, PyAny>>) -> Result<Readers> {
        let number = stream.as_ref().map(|stream| stream.extract()).transpose()?.unwrap_or(DEFAULT_STREAM);
        match (number, usize::try_from(number)) {
            (NO_STREAM, _) => Ok(Readers::Unordered),
            (1.., Ok(handle)) => Ok(Readers::Stream(handle)),
            _ => {
                let told = format!("__dlpack__: stream: None, -1, 1, 2 or a handle is expected, not {number}");
                Err(PyBufferError::new_err(told).into())
            }
        }
    }
}

/// The elements on their GPU, in memory that nobody writes: the value's own, or a copy where it is somebody else's or one is
/// `wanted`. Says whether it is one.
fn elements(
    py: Python<'_>,
    tensor: &Tensor,
    wanted: bool,
    readers: Readers,
) -> Result<(Arc<Buffer>, Vec<usize>, bool)> {
    allow(py, || {
        // The value of one moment, of what follows a plan.
        let value = tensor.now();
        value.compute()?;
        let own = value.uop().op().leaf().is_some_and(|leaf| leaf.class().is_value());
        let (buffer, extents) = value.snapshot()?;
        let copied = wanted || !own;
        let buffer = match copied {
            true => Arc::new(buffer.to_device(buffer.storage().allocator())?),
            false => buffer,
        };
        buffer.allocate()?;
        let allocator = buffer.storage().allocator();
        match readers {
            Readers::Unordered => {}
            Readers::Stream(stream) => allocator.precede(stream)?,
            Readers::Any => allocator.synchronize()?,
        }
        Ok::<_, svod_tensor::TensorError>((buffer, extents, copied))
    })
}

fn row_major(extents: &[usize]) -> Vec<i64> {
    let mut strides = vec![1; extents.len()];
    for axis in (1..extents.len()).rev() {
        strides[axis - 1] = strides[axis] * extents[axis].max(1) as i64;
    }
    strides
}

/// A capsule of the memory of a tensor on a GPU. Consumers that do not know of read-only memory get a copy there.
pub fn export<'py>(
    py: Python<'py>,
    tensor: &Tensor,
    options: Option<&Bound<'py, PyDict>>,
) -> Result<Bound<'py, PyAny>> {
    let option = |name: &str| -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(options.map(|o| o.get_item(name)).transpose()?.flatten().filter(|value| !value.is_none()))
    };
    let kind = type_code(tensor)?;
    let versioned = match option("max_version")? {
        Some(version) => version.get_item(0)?.extract::<u32>()? >= 1,
        None => false,
    };
    let copy = option("copy")?.map(|copy| copy.extract::<bool>()).transpose()?;
    if copy == Some(false) && !versioned {
        let told = "without a copy the memory of a tensor is read-only, which DLPack knows from version 1.0 on";
        return Err(PyBufferError::new_err(told).into());
    }
    let readers = Readers::named(option("stream")?)?;
    let (buffer, extents, copied) = elements(py, tensor, copy == Some(true) || !versioned, readers)?;
    if copy == Some(false) && copied {
        let told = "a tensor over borrowed memory, which may change, is exported as a copy only";
        return Err(PyBufferError::new_err(told).into());
    }
    let flags = versioned.then_some(if copied { COPIED } else { READ_ONLY });
    capsule_of(py, buffer, &extents, kind, None, flags)
}

/// A capsule of a tensor's memory for PyTorch, which computes with it: memory of its own. On a GPU it does so in a stream, and
/// waits there; the memory comes back to svod's stream when PyTorch lets go of it.
#[explained]
#[pyfunction]
#[pyo3(signature = (tensor, stream=None))]
pub fn _handed_over<'py>(py: Python<'py>, tensor: &PyTensor, stream: Option<usize>) -> Result<Bound<'py, PyAny>> {
    let tensor = &tensor.0;
    let kind = type_code(tensor)?;
    let readers = stream.map_or(Readers::Unordered, Readers::Stream);
    let (buffer, extents, _) = elements(py, tensor, false, readers)?;
    // PyTorch may write it: of what others see, such as the constants of a plan, it gets a copy. The memory has two owners
    // then, so that who gets the same value once more gets a copy, too.
    let storage = buffer.storage();
    let buffer = match storage.is_sole_owner() {
        true => storage.share().and_then(|own| Buffer::over(own, buffer.offset(), buffer.dtype(), buffer.count())),
        false => buffer.to_device(storage.allocator()),
    };
    let buffer = Arc::new(buffer.map_err(svod_tensor::TensorError::from)?);
    capsule_of(py, buffer, &extents, kind, stream, None)
}

/// DLPack's code and bits of a tensor's type.
fn type_code(tensor: &Tensor) -> Result<(u8, u8)> {
    let dtype = tensor.dtype();
    let found = TYPES.iter().find(|row| row.2 == dtype).map(|(code, bits, _)| (*code, *bits));
    found.ok_or_else(|| Class::DType.raise(format!("DLPack has no {dtype}")))
}

/// Has what is computed on a device from now on wait for what a stream of PyTorch's got before; or the stream wait for what
/// was computed before.
#[explained]
#[pyfunction]
pub fn _order(device: &str, stream: usize, stream_waits: bool) -> Result<()> {
    let open = Context::global().devices().get(&placed(Some(device))?).map_err(svod_tensor::TensorError::from)?;
    let allocator = open.allocator();
    let done = if stream_waits { allocator.precede(stream) } else { allocator.follow(stream) };
    Ok(done.map_err(svod_tensor::TensorError::from)?)
}

/// A capsule of elements, of a type by DLPack's code and bits; with flags, one of version 1.
fn capsule_of<'py>(
    py: Python<'py>,
    buffer: Arc<Buffer>,
    extents: &[usize],
    (code, bits): (u8, u8),
    stream: Option<usize>,
    flags: Option<u64>,
) -> Result<Bound<'py, PyAny>> {
    let device = match *buffer.device() {
        DeviceSpec::Cuda(number) => (CUDA, number as c_int),
        DeviceSpec::Cpu(_) => (CPU, 0),
        ref other => return Err(Class::Device.raise(format!("DLPack has no memory on {other}"))),
    };
    let shape = extents.iter().map(|n| *n as i64).collect();
    let mut exported = Box::new(Exported { shape, strides: row_major(extents), buffer, stream });
    let inner = exported.tensor(code, bits, device);
    let owner = Box::into_raw(exported).cast();
    // SAFETY: the names are static, and the destructor is for capsules of this kind.
    let capsule = unsafe {
        match flags {
            Some(flags) => {
                let deleter: Option<unsafe extern "C" fn(*mut Versioned)> = Some(delete_versioned);
                let managed = Versioned { version: [MAJOR, 0], owner, deleter, flags, tensor: inner };
                let pointer = Box::into_raw(Box::new(managed));
                pyo3::ffi::PyCapsule_New(pointer.cast(), VERSIONED_NAMES.0.as_ptr(), Some(drop_versioned))
            }
            None => {
                let managed = Managed { tensor: inner, owner, deleter: Some(delete) };
                let pointer = Box::into_raw(Box::new(managed));
                pyo3::ffi::PyCapsule_New(pointer.cast(), NAMES.0.as_ptr(), Some(drop_unversioned))
            }
        }
    };
    // SAFETY: the interpreter gave a new reference, or none and an exception.
    Ok(unsafe { Bound::from_owned_ptr_or_err(py, capsule)? })
}

/// Ends what [`export`] made.
unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: the consumer calls this once, with what it was given.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.owner.cast::<Exported>()));
    }
}

/// As [`delete`].
unsafe extern "C" fn delete_versioned(managed: *mut Versioned) {
    // SAFETY: as there.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.owner.cast::<Exported>()));
    }
}

/// Ends a capsule that nobody took anything from.
unsafe extern "C" fn drop_unversioned(capsule: *mut pyo3::ffi::PyObject) {
    // SAFETY: the interpreter calls this with a capsule that is ending. One that was taken has another name.
    unsafe {
        if pyo3::ffi::PyCapsule_IsValid(capsule, NAMES.0.as_ptr()) != 0 {
            delete(pyo3::ffi::PyCapsule_GetPointer(capsule, NAMES.0.as_ptr()).cast());
        }
    }
}

/// As [`drop_unversioned`].
unsafe extern "C" fn drop_versioned(capsule: *mut pyo3::ffi::PyObject) {
    // SAFETY: as there.
    unsafe {
        if pyo3::ffi::PyCapsule_IsValid(capsule, VERSIONED_NAMES.0.as_ptr()) != 0 {
            delete_versioned(pyo3::ffi::PyCapsule_GetPointer(capsule, VERSIONED_NAMES.0.as_ptr()).cast());
        }
    }
}

/// What was taken from another library's capsule; its drop gives it back.
#[pyclass(module = "svod", frozen)]
struct Taken {
    managed: Source,
    allocator: Arc<dyn Allocator>,
}

enum Source {
    Unversioned(NonNull<Managed>),
    Versioned(NonNull<Versioned>),
}

// SAFETY: the tensor's library may be given its memory back by any thread that holds the interpreter's lock, as the object's
// last reference does.
unsafe impl Send for Source {}
// SAFETY: nothing is changed through a shared reference.
unsafe impl Sync for Source {}

impl Source {
    /// Takes what is in a capsule.
    fn take(capsule: &Bound<'_, PyCapsule>) -> Result<Source> {
        let (source, used) = if let Ok(managed) = capsule.pointer_checked(Some(VERSIONED_NAMES.0)) {
            (Source::Versioned(managed.cast()), VERSIONED_NAMES.1)
        } else if let Ok(managed) = capsule.pointer_checked(Some(NAMES.0)) {
            (Source::Unversioned(managed.cast()), NAMES.1)
        } else {
            return Err(
                Class::Argument.raise("from_dlpack: x gave a capsule that is none of DLPack, or was used before")
            );
        };
        // SAFETY: the name is static. From now on the capsule's own destructor leaves the tensor to us.
        match unsafe { pyo3::ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } {
            0 => Ok(source),
            _ => Err(PyErr::fetch(capsule.py()).into()),
        }
    }

    fn tensor(&self) -> &DlTensor {
        // SAFETY: the tensor lives until its deleter is called, in our drop.
        unsafe {
            match self {
                Source::Unversioned(managed) => &managed.as_ref().tensor,
                Source::Versioned(managed) => &managed.as_ref().tensor,
            }
        }
    }

    fn is_known(&self) -> bool {
        match self {
            Source::Unversioned(_) => true,
            // SAFETY: as above.
            Source::Versioned(managed) => unsafe { managed.as_ref().version[0] == MAJOR },
        }
    }

    fn is_read_only(&self) -> bool {
        match self {
            Source::Unversioned(_) => false,
            // SAFETY: as above.
            Source::Versioned(managed) => unsafe { managed.as_ref().flags & READ_ONLY != 0 },
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // Kernels of ours may still read it; a device that is lost runs none.
        let _ = self.allocator.synchronize();
        // SAFETY: this is the only call for what was taken.
        unsafe {
            match self.managed {
                Source::Unversioned(managed) => {
                    if let Some(deleter) = managed.as_ref().deleter {
                        deleter(managed.as_ptr());
                    }
                }
                Source::Versioned(managed) => {
                    if let Some(deleter) = managed.as_ref().deleter {
                        deleter(managed.as_ptr());
                    }
                }
            }
        }
    }
}

/// A capsule of an object, whose memory svod's stream may read.
fn capsule<'py>(object: &Bound<'py, PyAny>, allocator: &Arc<dyn Allocator>) -> Result<Bound<'py, PyCapsule>> {
    let py = object.py();
    let options = PyDict::new(py);
    options.set_item("max_version", (1, 0))?;
    let stream = allocator.stream();
    if stream != 0 {
        options.set_item("stream", stream)?;
    }
    let given = match object.call_method("__dlpack__", (), Some(&options)) {
        // Exporters from before version 1 know of no versions.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            options.del_item("max_version")?;
            object.call_method("__dlpack__", (), Some(&options))?
        }
        given => given?,
    };
    Ok(given.cast_into().map_err(PyErr::from)?)
}

/// A value of what an object has on a GPU, and where it is; `None` for what is on none.
pub fn value(object: &Bound<'_, PyAny>) -> Result<Option<Tensor>> {
    match device_of(object)? {
        Some(device) => import(object, &device, Some(true)).map(Some),
        None => Ok(None),
    }
}

/// A tensor over the memory of an object on a GPU: a value of its own where a `copy` is wanted, and where its elements do not
/// lie side by side; with `copy=False` that is an error.
pub fn import(object: &Bound<'_, PyAny>, device: &DeviceSpec, copy: Option<bool>) -> Result<Tensor> {
    let py = object.py();
    let open = allow(py, || Context::global().devices().get(device).map_err(svod_tensor::TensorError::from))?;
    let allocator = open.allocator().clone();
    let managed = Source::take(&capsule(object, &allocator)?)?;
    // Given back from here on, also where it cannot be used.
    let taken = Bound::new(py, Taken { managed, allocator })?;
    let source = &taken.get().managed;
    if !source.is_known() {
        return Err(Class::Unsupported.raise(format!("from_dlpack: x gave a capsule of a DLPack other than {MAJOR}")));
    }
    let tensor = source.tensor();
    let Some(dtype) = type_of(tensor) else {
        let told = format!("type {} of {} bits, {} at a time", tensor.code, tensor.bits, tensor.lanes);
        return Err(Class::DType.raise(format!("from_dlpack: x has elements of DLPack's {told}, which no tensor has")));
    };
    let rank = usize::try_from(tensor.rank).unwrap_or(0);
    let numbers = |at: *const i64| match at.is_null() || rank == 0 {
        true => Vec::new(),
        // SAFETY: the exporter has a number there for each dimension.
        false => unsafe { std::slice::from_raw_parts(at, rank) }.to_vec(),
    };
    let (shape, strides) = (numbers(tensor.shape), numbers(tensor.strides));
    let extents: Vec<usize> = shape.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
    if tensor.device != CUDA || *device != DeviceSpec::Cuda(tensor.number.unsigned_abs()) {
        let told = format!("device {} {} of DLPack", tensor.device, tensor.number);
        return Err(
            Class::Device.raise(format!("from_dlpack: x says that it is on {device}, and gives memory of {told}"))
        );
    }
    if extents.contains(&0) {
        return Ok(Tensor::from_bytes_on(device, &[], dtype, &extents)?);
    }
    let strides = if strides.is_empty() { row_major(&extents) } else { strides };
    let Some(layout) = Layout::of(&extents, &strides) else {
        let told = format!("shape {shape:?} and strides {strides:?} on {device}");
        return Err(Class::Argument.raise(format!("from_dlpack: x has {told}: no stride may be negative")));
    };
    if copy == Some(false) && !layout.is_dense() {
        let told = format!("shape {shape:?} and strides {strides:?} on {device}");
        return Err(Class::Argument.raise(format!("from_dlpack: copy=False, but x has {told}, which is not dense")));
    }
    let start = tensor.data.cast::<u8>().wrapping_add(tensor.offset as usize);
    let start = NonNull::new(start)
        .ok_or_else(|| Class::Argument.raise(format!("from_dlpack: x of shape {shape:?} gave no memory")))?;
    let read_only = source.is_read_only();
    let keep_alive: Box<dyn Send + Sync> = Box::new(taken.clone().unbind());
    // SAFETY: the memory lives until the deleter is called, which `keep_alive` puts off, and a tensor of DLPack has all from
    // its first to its last element. That nobody writes it while it is read is what `from_dlpack` asks of its caller.
    let whole = unsafe { Tensor::borrowed_on(device, start, dtype, &layout.memory(), read_only, keep_alive) }?;
    let tensor = layout.tensor(&whole)?;
    match copy == Some(true) || !layout.is_dense() {
        true => allow(py, || {
            let kept = tensor.kept()?;
            kept.realize().map(|()| kept)
        }),
        false => Ok(tensor),
    }
}

/// How the elements of a tensor lie in memory: axes with an extent and a stride.
struct Layout {
    extents: Vec<usize>,
    strides: Vec<usize>,
    /// The axes from the largest stride to the smallest.
    order: Vec<usize>,
}

impl Layout {
    /// `None` where a stride is negative, or memory that large is beyond any machine.
    fn of(extents: &[usize], strides: &[i64]) -> Option<Layout> {
        // The stride of an axis of one element means nothing.
        let stride = |(n, stride): (&usize, &i64)| if *n > 1 { usize::try_from(*stride).ok() } else { Some(1) };
        let strides: Vec<usize> = extents.iter().zip(strides).map(stride).collect::<Option<_>>()?;
        let mut order: Vec<usize> = (0..extents.len()).collect();
        // Axes of one element go where they are found, and so do equal ones.
        order.sort_by_key(|axis| std::cmp::Reverse(if extents[*axis] > 1 { strides[*axis] } else { usize::MAX }));
        let layout = Layout { extents: extents.to_vec(), strides, order };
        layout.last().is_some().then_some(layout)
    }

    /// The position of the last element.
    fn last(&self) -> Option<usize> {
        let mut pairs = self.extents.iter().zip(&self.strides);
        pairs.try_fold(0usize, |last, (n, stride)| last.checked_add((n - 1).checked_mul(*stride)?))
    }

    /// Whether the elements lie side by side, in whichever order of the axes.
    fn is_dense(&self) -> bool {
        let mut next = 1;
        self.order.iter().rev().all(|axis| {
            let fits = self.extents[*axis] == 1 || self.strides[*axis] == next;
            next *= self.extents[*axis];
            fits
        })
    }

    /// The shape of the memory that is borrowed.
    fn memory(&self) -> Vec<usize> {
        match self.is_dense() {
            true => self.order.iter().map(|axis| self.extents[*axis]).collect(),
            false => vec![self.last().unwrap_or(0) + 1],
        }
    }

    /// The tensor in that memory.
    fn tensor(&self, memory: &Tensor) -> svod_tensor::Result<Tensor> {
        if self.is_dense() {
            let place = |axis: usize| self.order.iter().position(|a| *a == axis).unwrap_or(axis) as i64;
            let axes: Vec<i64> = (0..self.order.len()).map(place).collect();
            return memory.permute(&axes);
        }
        let mut at = Tensor::scalar(Operand::Int(0), Some(DType::I64))?;
        for (extent, stride) in self.extents.iter().zip(&self.strides) {
            let steps = Tensor::arange(0.into(), (*extent as i64).into(), 1.into(), Some(DType::I64))?;
            at = at.unsqueeze(-1)?.add(&steps.mul(*stride as i64)?)?;
        }
        memory.take(&at, 0)
    }
}

/// What an interface told of: it lives as long as the tensor's object.
#[pyclass(module = "svod", frozen)]
struct Shown {
    /// Only waits for its drop.
    _held: Exported,
}

#[explained]
#[pymethods]
impl Shown {
    /// For the end of the tensor, whose drop this object's is.
    fn end(&self) {}
}

/// `__cuda_array_interface__`, version 3, of a tensor on a GPU.
pub fn interface<'py>(object: &Bound<'py, PyAny>, tensor: &Tensor) -> Result<Bound<'py, PyDict>> {
    let py = object.py();
    if code(tensor).0 != CUDA {
        let told = format!("a tensor on {} has no __cuda_array_interface__", tensor.device().name());
        return Err(PyAttributeError::new_err(told).into());
    }
    tensor.check_known("the interface of CUDA arrays")?;
    let dtype = tensor.dtype();
    let (buffer, extents, _) = elements(py, tensor, false, Readers::Any)?;
    let start = buffer.as_ptr().filter(|_| !extents.contains(&0)).map_or(0, |p| p.as_ptr().addr());
    // Whoever reads keeps the tensor's object, whose value may become another one: the memory is kept beside it.
    let shown =
        Bound::new(py, Shown { _held: Exported { shape: Vec::new(), strides: Vec::new(), buffer, stream: None } })?;
    let end = py.import("weakref")?.getattr("finalize")?.call1((object, shown.getattr("end")?))?;
    end.setattr("atexit", false)?;
    let interface = PyDict::new(py);
    interface.set_item("shape", PyTuple::new(py, &extents)?)?;
    interface.set_item("typestr", numpy_dtype(py, dtype)?.getattr("str")?)?;
    interface.set_item("data", (start, true))?;
    interface.set_item("strides", py.None())?;
    interface.set_item("version", 3)?;
    // All is there: there is nothing to wait for.
    interface.set_item("stream", py.None())?;
    Ok(interface)
}
