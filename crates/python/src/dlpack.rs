//! Element types of DLPack that NumPy, by which capsules are read and made, has not: they travel as integers of their
//! width, and the capsule says what they are. `gpu` is for memory that NumPy cannot see,
//! and `layout` says how that is told of.

pub mod gpu;
mod layout;

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use numpy::PyUntypedArray;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict};
use svod_dtype::DType;

use crate::array::Reader;
use crate::dtype::{numpy, numpy_dtype};
use crate::error::{Class, Result};

/// The names of capsules, of DLPack before version 1 and from it on, and where in them the tensor is: behind nothing, or
/// behind the version, its owner, its deleter and flags.
const CAPSULES: [(&CStr, usize); 2] = [(c"dltensor", 0), (c"dltensor_versioned", 32)];

/// Where in a tensor its type is: behind its address, its device, and the number of its dimensions.
const TYPE: usize = 8 + 8 + 4;

/// DLPack's code of integers without a sign.
const UNSIGNED: u8 = 1;

/// Types by DLPack's code and their number of bits, and NumPy's integers of that width.
const TYPES: [(u8, u8, DType, DType); 3] =
    [(4, 16, DType::BF16, DType::U16), (10, 8, DType::F8E4M3, DType::U8), (12, 8, DType::F8E5M2, DType::U8)];

/// What gives NumPy a capsule, once.
#[pyclass(module = "svod", frozen)]
struct Exporter(Py<PyAny>);

#[explained]
#[pymethods]
impl Exporter {
    #[pyo3(signature = (**_options))]
    fn __dlpack__(&self, py: Python<'_>, _options: Option<Bound<'_, PyDict>>) -> Py<PyAny> {
        self.0.clone_ref(py)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        const CPU: i32 = 1;
        (CPU, 0)
    }
}

/// NumPy's array over what an object exports.
pub fn import<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyUntypedArray>> {
    let py = object.py();
    let from = numpy(py)?.getattr("from_dlpack")?;
    let refused = match from.call1((object,)) {
        Ok(array) => return Ok(array.cast_into().map_err(PyErr::from)?),
        Err(refused) => refused,
    };
    let device: (i32, i32) = object.call_method0("__dlpack_device__")?.extract()?;
    let on_cpu = device.0 == 1;
    let options = PyDict::new(py);
    options.set_item("max_version", (1, 0))?;
    // Exporters from before version 1 know of no versions.
    let exported = object.call_method("__dlpack__", (), Some(&options)).or_else(|_| object.call_method0("__dlpack__"));
    let Some(capsule) = exported.ok().filter(|_| on_cpu) else { return Err(refused.into()) };
    let known = type_in(&capsule).and_then(|at| {
        // SAFETY: the pointer is that of the type in a capsule that nobody has consumed, and `capsule` keeps it.
        let (code, bits) = unsafe { (at.as_ptr().read(), at.as_ptr().add(1).read()) };
        TYPES.iter().find(|row| (row.0, row.1) == (code, bits)).map(|row| (at, row))
    });
    let Some((at, (.., dtype, carrier))) = known else { return Err(refused.into()) };
    // SAFETY: as above; the consumer of a capsule, which this is, owns what it points to.
    unsafe { at.as_ptr().write(UNSIGNED) };
    debug_assert!(carrier.bytes() == dtype.bytes());
    let array = from.call1((Bound::new(py, Exporter(capsule.unbind()))?,))?;
    Ok(array.call_method1("view", (numpy_dtype(py, *dtype)?,))?.cast_into().map_err(PyErr::from)?)
}

/// What is asked of `__dlpack__`, where memory is the host's.
pub struct Wanted {
    /// Who reads it.
    pub reader: Reader,
    /// Whether a copy is asked for, or refused.
    pub copy: Option<bool>,
}

/// The options of `__dlpack__`; a stream and another device than the host are errors, as to NumPy.
pub fn wanted(py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> Result<Wanted> {
    let option = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
        let given = options.map(|options| options.get_item(name)).transpose()?.flatten();
        Ok(given.filter(|given| !given.is_none()))
    };
    if let Some(stream) = option("stream")? {
        let told = format!("DLPack's view: the host's memory has no streams: stream is None, not {stream}");
        return Err(Class::Device.raise(told));
    }
    if let Some(device) = option("dl_device")?
        && device.extract::<(i32, i32)>()? != (layout::CPU, 0)
    {
        let told = format!("a tensor in the host's memory is not exported to device {device} of DLPack");
        return Err(PyBufferError::new_err(told).into());
    }
    let reader = match option("max_version")? {
        Some(_) => Reader::Told,
        None if is_asked_by_jax(py) => Reader::WritesNone,
        None => Reader::MayWrite,
    };
    Ok(Wanted { reader, copy: option("copy")?.map(|copy| copy.extract()).transpose()? })
}

/// Whether JAX asks, which knows of no read-only memory in capsules, and whose arrays never change. Code without a name is
/// not JAX's.
fn is_asked_by_jax(py: Python<'_>) -> bool {
    let name = || -> PyResult<String> {
        let caller = py.import("sys")?.call_method1("_getframe", (0,))?;
        caller.getattr("f_globals")?.get_item("__name__")?.extract()
    };
    name().is_ok_and(|name| name.starts_with("jax."))
}

/// A capsule of a NumPy array, of whichever type a tensor has.
pub fn export<'py>(
    array: &Bound<'py, PyAny>,
    dtype: DType,
    options: Option<&Bound<'py, PyDict>>,
) -> Result<Bound<'py, PyAny>> {
    let py = array.py();
    let Some((code, _, _, carrier)) = TYPES.iter().find(|row| row.2 == dtype) else {
        return Ok(array.call_method("__dlpack__", (), options)?);
    };
    let carried = array.call_method1("view", (numpy_dtype(py, *carrier)?,))?;
    let capsule = carried.call_method("__dlpack__", (), options)?;
    let Some(at) = type_in(&capsule) else {
        return Err(Class::Unsupported.raise(format!("NumPy's capsule of {dtype} is of no known kind")));
    };
    // SAFETY: the pointer is that of the type in a capsule that was made here, and that nobody else has.
    unsafe { at.as_ptr().write(*code) };
    Ok(capsule)
}

/// The code and the number of bits of the elements of a capsule that was not consumed.
fn type_in(capsule: &Bound<'_, PyAny>) -> Option<NonNull<u8>> {
    let capsule = capsule.cast::<PyCapsule>().ok()?;
    CAPSULES.iter().find_map(|(name, tensor)| {
        let managed: NonNull<c_void> = capsule.pointer_checked(Some(name)).ok()?;
        // SAFETY: capsules of this name point to a tensor of DLPack's layout, which is longer than that.
        Some(unsafe { managed.cast::<u8>().add(tensor + TYPE) })
    })
}
