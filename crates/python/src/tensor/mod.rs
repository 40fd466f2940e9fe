//! The class `Tensor`: making one, looking at it, and taking values out.
//!
//! Its operations are in the files beside this one, by subject.

mod complex;
mod elementwise;
mod factors;
mod indexed;
mod layers;
mod movement;
mod operators;
pub mod pair;
mod protocols;
mod reduce;
mod spectral;
mod window;

use std::collections::BTreeSet;

use parking_lot::Mutex;
use pyo3::exceptions::{PyBufferError, PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyList, PyString, PyTuple};
use pyo3::{IntoPyObjectExt, PyTraverseError, PyVisit};
use svod_device::DeviceSpec;
use svod_runtime::{Context, PrepareConfig};
use svod_tensor::{DType, Tensor};

use crate::array::{Reader, array_of, copy_of, scalar, shared_of, tensor_of};
use crate::collect;
use crate::config::configured;
use crate::convert::{Axis, Names, Tensors, number, one_axis};
use crate::dlpack;
use crate::dtype::{AnyDType, PyDType, is_foreign, numpy};
use crate::error::{Class, Result};
use crate::explained::parts;
use crate::gil::allow;
use crate::plan::PyPlan;
use crate::scalar::{Text, flag};
use crate::size::{counted, shape, shown, without_value};

/// An array whose value is computed when it is asked for.
///
/// `Tensor(data)` copies NumPy arrays of any order, strides and byte order, nested sequences,
/// scalars, and other tensors; `svod.from_numpy` borrows. Operations have PyTorch's names and
/// NumPy's broadcasting; Python scalars take the type of the tensor they meet.
///
/// A tensor is a value. Assignment (`x[i] = v`, `assign`, methods with `_` at the end) gives `x` a new one: what was
/// built on the earlier one keeps it, parts and other shapes of `x` too. So assigning to one of these, as in
/// `x[0][1] = 5`, is an error while `x` is in use: `x[0, 1] = 5` is what it should be. `y = x; x += 1` makes `x` the
/// name of another tensor and leaves `y` as it was.
///
/// >>> import svod
/// >>> x = svod.Tensor([[1.0, 2.0], [3.0, 4.0]])
/// >>> x.sum(0)
/// Tensor([4., 6.], shape=(2,), dtype=float32, device=CPU)
/// >>> x.sum(0).tolist()
/// [4.0, 6.0]
#[pyclass(name = "Tensor", module = "svod", frozen, weakref)]
#[derive(Clone)]
pub struct PyTensor(pub Tensor);

/// What Python is given: notes the line that asked for it.
impl From<Tensor> for PyTensor {
    fn from(tensor: Tensor) -> Self {
        let tensor = tensor.told_apart();
        crate::origin::note(&tensor);
        PyTensor(tensor)
    }
}

/// Elements of a tensor that is computed in order to be printed, at most; NumPy shows as many without leaving any out.
const MOST_COMPUTED: i64 = 1000;

/// The result of an operation.
pub type Made = Result<PyTensor>;

/// The result of one that assigns: the tensor itself.
pub type MadeSelf<'py> = Result<Bound<'py, PyTensor>>;

/// The result of one that gives a tensor, or several.
pub type MadeAny<'py> = Result<Bound<'py, PyAny>>;

/// The result of one that gives several tensors.
pub type MadeList = Result<Vec<PyTensor>>;

impl PyTensor {
    /// The elements as an array of a type that NumPy has by itself, of any value the same; realizes the tensor.
    fn readable<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        match is_foreign(self.0.dtype()) {
            true => {
                allow(py, || self.0.realize())?;
                array_of(py, &self.0.cast(DType::F32)?)
            }
            false => Ok(shared_of(py, &self.0, Reader::Told)?.0),
        }
    }

    /// What an operation took from this tensor: assigning to it is an error while this one is in use.
    fn view_by(&self, op: &'static str, made: Made) -> Made {
        Ok(PyTensor(made?.0.viewing(&self.0, op)))
    }

    /// The elements of this tensor in another shape, for which they may have to be copied.
    fn reshaped_by(&self, op: &'static str, made: Made) -> Made {
        Ok(PyTensor(made?.0.viewing_in_shape(&self.0, op)))
    }
}

/// Adds the functions that go with methods to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    svod_tensor::before_refusals(let_go);
    pair::register(module)?;
    complex::register(module)?;
    elementwise::register(module)?;
    reduce::register(module)
}

/// Lets tensors go that nobody has but jitted functions and garbage.
fn let_go() {
    Python::attach(|py| {
        let done = py.import(pyo3::intern!(py, "svod._jit")).and_then(|module| module.call_method0("_let_go"));
        // A write is refused where that fails.
        if let Err(error) = done {
            error.write_unraisable(py, None);
        }
    });
}

/// A device by name; an error for an unknown one.
pub fn device(name: &str) -> Result<DeviceSpec> {
    let spec: DeviceSpec = name.parse().map_err(svod_tensor::TensorError::from)?;
    Context::global().devices().get(&spec).map_err(svod_tensor::TensorError::from)?;
    Ok(spec)
}

/// The device of data that no argument places.
pub fn default_device() -> Result<DeviceSpec> {
    Ok(PrepareConfig::of_reads().device.clone().unwrap_or_default())
}

/// A name that is there for good: one of the table of methods that assign, so that there are only so many.
pub fn kept_name(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock();
    match names.get(name) {
        Some(kept) => kept,
        None => {
            let kept: &'static str = name.to_owned().leak();
            names.insert(kept);
            kept
        }
    }
}

/// What a pickled tensor is made from: its elements, the names of its devices, the axis that is split, and
/// whether it gathers its gradient.
type Kept<'py> = (Bound<'py, PyAny>, Vec<String>, Option<usize>, Option<bool>);

/// What a constructor made, on the device that it names.
pub fn placed(device: Option<&str>, made: svod_tensor::Result<Tensor>) -> svod_tensor::Result<Tensor> {
    match device {
        Some(name) => made?.to(name),
        None => made,
    }
}

/// [`placed`], for Python.
pub fn on(device: Option<&str>, made: svod_tensor::Result<Tensor>) -> Made {
    Ok(placed(device, made)?.into())
}

#[explained]
#[pymethods]
impl PyTensor {
    #[new]
    #[pyo3(signature = (data, dtype=None, device=None))]
    pub fn new(data: &Bound<'_, PyAny>, dtype: Option<AnyDType>, device: Option<Text>) -> Made {
        let device = device.as_deref();
        let dtype = dtype.map(|d| d.0);
        // Memory that the host does not see stays where it is.
        let copied = || match dlpack::gpu::value(data)? {
            Some(there) => Ok(there),
            None => {
                let device = device.map_or_else(default_device, self::device)?;
                parts(data.py(), "Tensor", "data", tensor_of(data, &device, dtype))
            }
        };
        let tensor = match data.cast::<PyTensor>() {
            Ok(tensor) => tensor.get().0.kept()?,
            Err(_) if data.hasattr("__array__")? => copied()?,
            Err(_) => match number(data)? {
                Some(number) => return on(device, Tensor::scalar(number, dtype).map(Tensor::own_constant)),
                None => copied()?,
            },
        };
        on(device, tensor.cast(dtype.unwrap_or(tensor.dtype())))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        collect::tell(&visit, |held| self.0.hold_functions(held))
    }

    /// What tells the value that this one has now from others: another handle to it, but for what a function of the
    /// host computes, whose number is enough: the collector is told of functions by their only handle.
    fn _snapshot<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let value = self.0.uop();
        Ok(match value.calls() && !value.is_memory() {
            true => value.id().into_bound_py_any(py)?,
            false => Bound::new(py, PyTensor::from(Tensor::from_uop(value)))?.into_any(),
        })
    }

    /// Extents.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyTuple>> {
        shape(py, &self.0.shape())
    }

    /// Number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.0.rank()
    }

    /// Number of dimensions.
    fn dim(&self) -> usize {
        self.0.rank()
    }

    /// Element type.
    #[getter]
    fn dtype(&self) -> PyDType {
        PyDType(self.0.dtype())
    }

    /// Name of the device, such as `CPU`; a tuple of names where the value is spread over several.
    #[getter]
    fn device<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        match self.0.sharding() {
            Some(sharding) => Ok(PyTuple::new(py, sharding.devices().iter().map(|device| device.name()))?.into_any()),
            None => Ok(PyString::new(py, self.0.device().name()).into_any()),
        }
    }

    /// The axis along which devices have parts of the value; none where each has the whole.
    #[getter]
    fn shard_axis(&self) -> Option<usize> {
        Some(self.0.sharding()?.split()?.axis)
    }

    /// What each device has of a value that is spread over several, on that device.
    #[getter]
    fn shards(&self) -> Result<Vec<PyTensor>> {
        let parts = self.0.uop().parts().map_err(svod_tensor::TensorError::from)?;
        Ok(parts.into_iter().map(|part| Tensor::from_uop(part).into()).collect())
    }

    /// Number of elements.
    fn numel<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        shown(py, &self.0.numel())
    }

    /// Number of bytes of an element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.dtype().bytes()
    }

    /// Number of bytes of the elements.
    #[getter]
    fn nbytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        shown(py, &(self.0.numel() * self.0.dtype().bytes()))
    }

    /// Number of elements, an integer. Called, it gives the extents, or that of one axis, as PyTorch's method:
    /// `x.size(0)`.
    ///
    /// >>> import svod
    /// >>> x = svod.ones(2, 3)
    /// >>> x.size, x.size(), x.size(0)
    /// (6, (2, 3), 2)
    #[getter]
    fn size<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        counted(py, &self.0.shape(), self.0.numel())
    }

    /// Whether the value is in memory.
    #[getter]
    fn is_realized(&self) -> bool {
        self.0.is_realized()
    }

    /// The pending expression as text.
    fn graph(&self) -> String {
        self.0.graph()
    }

    /// Computes the value, unless that is done, and gives the tensor itself.
    /// `options` are those of `PrepareConfig`.
    #[pyo3(signature = (**options))]
    fn realize<'py>(slf: Bound<'py, Self>, options: Option<&Bound<'py, PyDict>>) -> Result<Bound<'py, Self>> {
        let (tensor, config) = (&slf.get().0, configured(options)?);
        tensor.check_known("realize()")?;
        allow(slf.py(), || tensor.realize_with(&config))?;
        Ok(slf)
    }

    /// Prepares the computation to be run many times: schedules, compiles, allocates.
    ///
    /// The tensor then follows the plan: it shows the latest run. What is made of it keeps the value that it has seen; what
    /// is made of it before the first run has the value of that. `inputs` are tensors whose content runs may be given, of
    /// which the value has to be made, unless `unused_inputs` says otherwise; everything else is constant. `schedules` gives kernels, by their
    /// name or their position in the plan's `kernels`, a `Schedule` or its text in place of the chosen
    /// one; or a list of up to three, by size: pairs of a condition on variables, such as `"n <= 4"`, and a
    /// schedule, and last one without. `options` are those of `PrepareConfig`.
    #[pyo3(signature = (inputs=None, *, unused_inputs=false, schedules=None, **options))]
    fn prepare(
        &self,
        py: Python<'_>,
        inputs: Option<Tensors>,
        #[pyo3(from_py_with = flag)] unused_inputs: bool,
        schedules: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> Result<PyPlan> {
        let config = crate::schedule::config(schedules, options)?;
        let inputs = inputs.map(|given| given.0).unwrap_or_default();
        let given: Vec<&Tensor> = inputs.iter().map(|t| &t.get().0).collect();
        let prepare = if unused_inputs { Tensor::prepare_with_unused } else { Tensor::prepare_with };
        PyPlan::new(allow(py, || prepare(&self.0, &given, &config))?)
    }

    /// The elements as a NumPy array; realizes the tensor.
    ///
    /// The memory of a realized tensor never changes, nor does what an array has seen of a plan's output: the array shares
    /// it, read-only. `copy()` what you want to write. Of a borrowed array it is a writable copy; `np.asarray(x)` shares its
    /// memory.
    fn numpy<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        self.0.check_known("numpy()")?;
        array_of(py, &self.0)
    }

    /// The only element as a Python scalar; realizes the tensor.
    fn item<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        self.0.check_known("item()")?;
        if self.0.dtype().is_complex() {
            let [re, im] = allow(py, || self.0.item_complex())?;
            return Ok(PyComplex::from_doubles(py, re, im).into_any());
        }
        let value = allow(py, || self.0.item_const())?;
        scalar(py, value)
    }

    /// The elements as nested lists; realizes the tensor.
    fn tolist<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        self.0.check_known("tolist()")?;
        Ok(self.readable(py)?.call_method0("tolist")?)
    }

    #[classattr]
    #[allow(non_upper_case_globals)]
    const __array_priority__: f64 = 1000.0;

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> Result<Bound<'py, PyAny>> {
        self.0.check_known("a NumPy array")?;
        let (array, copied) = match copy {
            Some(true) => (copy_of(py, &self.0)?, true),
            _ => shared_of(py, &self.0, Reader::Told)?,
        };
        if copied && copy == Some(false) {
            let message = format!("a tensor on {} as an array of NumPy needs a copy", self.device(py)?.str()?);
            return Err(Class::Argument.raise(message));
        }
        let Some(dtype) = dtype.filter(|d| !d.is_none()) else { return Ok(array) };
        let to = numpy(py)?.getattr("dtype")?.call1((dtype,))?;
        if array.getattr("dtype")?.eq(&to)? {
            return Ok(array);
        }
        if copy == Some(false) {
            return Err(
                Class::Argument.raise(format!("a tensor of {} as an array of {to} needs a copy", self.0.dtype()))
            );
        }
        Ok(array.call_method1("astype", (to,))?)
    }

    /// The memory as a DLPack capsule, marked as read-only: that of a realized tensor never changes. Consumers that do not
    /// know of read-only memory get a copy, but JAX, which never writes it; some share it and ignore the mark, such as
    /// PyTorch: `clone()` there what you want to write. Borrowed memory is handed on as it is.
    #[pyo3(signature = (**options))]
    fn __dlpack__<'py>(&self, py: Python<'py>, options: Option<Bound<'py, PyDict>>) -> Result<Bound<'py, PyAny>> {
        self.0.check_known("DLPack's view")?;
        let (options, on_gpu) = dlpack::gpu::asked(&self.0, options)?;
        if on_gpu {
            return dlpack::gpu::export(py, &self.0, options.as_ref());
        }
        let (dtype, wanted) = (self.0.dtype(), dlpack::wanted(py, options.as_ref())?);
        let (mut array, copied) = shared_of(py, &self.0, wanted.reader)?;
        let is_hidden =
            wanted.reader == Reader::MayWrite && !array.getattr("flags")?.getattr("writeable")?.is_truthy()?;
        if wanted.copy == Some(false) && (copied || is_hidden) {
            let why = if copied { "its memory is not the host's" } else { "the reader knows of no read-only memory" };
            let told = format!("DLPack's view of a tensor on {} with copy=False: {why}", self.device(py)?.str()?);
            return Err(PyBufferError::new_err(told).into());
        }
        if is_hidden {
            array = copy_of(py, &self.0)?;
        }
        dlpack::export(&array, dtype, options.as_ref())
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        dlpack::gpu::code(&self.0)
    }

    /// Where the elements are in the memory of a GPU, as other libraries than PyTorch and JAX ask: read-only, and complete.
    /// Tensors of other devices have no such attribute.
    #[getter]
    fn __cuda_array_interface__<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyDict>> {
        dlpack::gpu::interface(slf, &slf.get().0)
    }

    /// Exports the memory, as `__array__` does.
    ///
    /// # Safety
    /// As Python's protocol says.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut pyo3::ffi::Py_buffer,
        flags: std::ffi::c_int,
    ) -> Result<()> {
        slf.get().0.check_known("the buffer")?;
        let (array, copied) = shared_of(slf.py(), &slf.get().0, Reader::Told)?;
        if copied {
            let device = slf.get().device(slf.py())?.str()?;
            let told = format!("the buffer of a tensor on {device} would be a copy: `x.numpy()` makes one");
            return Err(PyBufferError::new_err(told).into());
        }
        // SAFETY: the interpreter gives a view to fill, which then holds the array and is released
        // through it.
        match unsafe { pyo3::ffi::PyObject_GetBuffer(array.as_ptr(), view, flags) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py()).into()),
        }
    }

    /// On another device, or as another type: whichever is named, or both, or those of another tensor. The copy is made
    /// where it is needed; `realize` the result to keep it. PyTorch's `non_blocking` and `copy`, by name or behind the
    /// others, change nothing: a tensor is a value. What is on the device in the type already can be assigned to after a
    /// `copy`, or once this tensor is no longer in use.
    #[pyo3(signature = (*target, dtype=None, device=None, non_blocking=false, copy=false))]
    fn to(
        &self,
        target: &Bound<'_, PyTuple>,
        dtype: Option<AnyDType>,
        device: Option<&str>,
        #[pyo3(from_py_with = flag)] non_blocking: bool,
        #[pyo3(from_py_with = flag)] copy: bool,
    ) -> Made {
        let _always = non_blocking;
        let mut dtype = dtype.map(|d| d.0);
        let mut name = device.map(str::to_owned);
        for target in target.iter().filter(|one| !one.is_none() && !one.is_instance_of::<PyBool>()) {
            if let Ok(other) = target.cast::<PyTensor>() {
                let other = &other.get().0;
                (dtype, name) = (Some(other.dtype()), Some(other.device().name().to_owned()));
                continue;
            }
            let text = target.cast::<PyString>().ok().map(|s| s.to_string());
            match (target.extract::<AnyDType>(), text) {
                (Ok(given), _) => dtype = Some(given.0),
                (_, Some(text)) => name = Some(text),
                (Err(error), None) => return parts(target.py(), "to", "target", Err(error.into())),
            }
        }
        let made = on(name.as_deref(), self.0.cast(dtype.unwrap_or(self.0.dtype())));
        let is_same = made
            .as_ref()
            .is_ok_and(|made| (made.0.dtype(), made.0.device().name()) == (self.0.dtype(), self.0.device().name()));
        // PyTorch gives the tensor itself, which is written to with it.
        if is_same && !copy { self.view_by("to", made) } else { made }
    }

    /// Another handle for the value, as what a function of this name took from another tensor.
    fn _view_of(&self, base: &PyTensor, by: String) -> PyTensor {
        PyTensor(Tensor::from_uop(self.0.uop()).viewing(&base.0, by))
    }

    /// The value spread over devices: cut along `axis` into one part for each, or whole on each.
    ///
    /// Where the extent is no multiple of the number of devices, the first parts are larger by one.
    /// Operations on tensors that are spread run on every device, and move nothing where they can. A
    /// fold along the split axis, such as the sum of a matrix product, leaves each device with the whole
    /// result. What needs elements of other devices, such as a sort along that axis, has them gathered before,
    /// and gives the whole result on each. `to`, and looking at the values, gathers.
    ///
    /// >>> import svod
    /// >>> x = svod.Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).shard(["CPU", "CPU:1"], axis=0)
    /// >>> [s.shape for s in x.shards]
    /// [(2, 2), (1, 2)]
    /// >>> (x * 2).sum(0).to("CPU").tolist()
    /// [18.0, 24.0]
    #[pyo3(signature = (devices, axis=None, *, dim=None))]
    fn shard(&self, devices: Names, axis: Option<Axis>, dim: Option<Axis>) -> Made {
        let axis = one_axis(axis, dim)?;
        let Names(devices) = devices;
        let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
        Ok(self.0.shard(&devices, axis)?.into())
    }

    fn __len__(&self) -> Result<usize> {
        let shape = self.0.shape();
        let Some(first) = shape.first() else { return Err(PyTypeError::new_err("len() of a 0-d tensor").into()) };
        first.as_usize().ok_or_else(|| {
            let what = format!("len() of a tensor of shape {shape:?} (as iteration asks for it)");
            let outside = || Class::Shape.raise(format!("{what}: its first extent is symbolic; `shape[0]` is a size"));
            without_value(first, &what).unwrap_or_else(outside)
        })
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        if self.0.rank() == 0 {
            return Err(PyTypeError::new_err("iteration over a 0-d tensor").into());
        }
        let rows: Vec<PyTensor> = (0..self.__len__()?)
            .map(|i| self.view_by("[]", Ok(self.0.get(&[(i as i64).into()])?.into())))
            .collect::<Result<_>>()?;
        Ok(PyList::new(py, rows.into_iter().map(|r| Py::new(py, r)).collect::<PyResult<Vec<_>>>()?)?
            .try_iter()?
            .into_any())
    }

    fn __bool__(&self, py: Python<'_>) -> Result<bool> {
        self.0.check_known("the truth (as `if`, `and` and `not` ask for it)")?;
        allow(py, || self.0.truth())
    }

    fn __float__(&self, py: Python<'_>) -> Result<f64> {
        self.0.check_known("float()")?;
        Ok(allow(py, || self.0.item_const())?.as_f64())
    }

    fn __int__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        self.0.check_known("int()")?;
        let value = allow(py, || self.0.item_const())?;
        let number = scalar(py, value)?;
        match number.is_instance_of::<PyFloat>() {
            true => Ok(number.call_method0("__int__")?),
            false => Ok(value.as_i128().into_bound_py_any(py)?),
        }
    }

    fn __index__(&self, py: Python<'_>) -> Result<i128> {
        if !self.0.dtype().is_int() {
            return Err(Class::DType.raise(format!("an index is an integer, not {}", self.0.dtype())));
        }
        self.0.check_known("an index")?;
        Ok(allow(py, || self.0.item_const())?.as_i128())
    }

    fn __hash__(slf: Bound<'_, Self>) -> isize {
        slf.as_ptr() as isize >> 4
    }

    /// As its number, of a 0-d tensor; any other one is shown as text.
    fn __format__<'py>(slf: &Bound<'py, Self>, spec: &str) -> Result<Bound<'py, PyAny>> {
        let (py, tensor) = (slf.py(), slf.get());
        if spec.is_empty() {
            return Ok(slf.str()?.into_any());
        }
        if tensor.0.rank() > 0 {
            let message = format!("format: '{spec}' is for a number, which {} is not", slf.repr()?);
            return Err(Class::ArgumentType.raise(message));
        }
        tensor.0.check_known("format()")?;
        if tensor.0.dtype().is_complex() {
            return Ok(tensor.item(py)?.call_method1("__format__", (spec,))?);
        }
        let value = allow(py, || tensor.0.item_const())?;
        Ok(scalar(py, value)?.call_method1("__format__", (spec,))?)
    }

    fn __repr__(&self, py: Python<'_>) -> Result<String> {
        let about = format!(
            "shape={}, dtype={}, device={}",
            shape(py, &self.0.shape())?.repr()?,
            self.0.dtype(),
            self.device(py)?.str()?
        );
        match self.0.traced_from().as_deref() {
            Some([]) => return Ok(format!("Tensor({about}, traced)")),
            Some(names) => return Ok(format!("Tensor({about}, traced from {})", names.join(" and "))),
            None => {}
        }
        let small = self.0.numel().as_const().is_some_and(|n| n <= MOST_COMPUTED);
        if !small && !self.0.is_realized() {
            return Ok(format!("Tensor({about}, lazy)"));
        }
        let array = match self.readable(py) {
            Ok(array) => array,
            Err(error) => {
                let why = PyErr::from(error);
                return match () {
                    // Ctrl-C and its like.
                    () if !why.is_instance_of::<PyException>(py) => Err(why.into()),
                    () if Class::Stale.matches(&why, py) => Ok(format!("Tensor({about}, lazy)")),
                    () => Ok(format!("Tensor({about}, {})", why.value(py))),
                };
            }
        };
        let options = PyDict::new(py);
        options.set_item("separator", ", ")?;
        options.set_item("prefix", "Tensor(")?;
        let values = numpy(py)?.getattr("array2string")?.call((array,), Some(&options))?;
        Ok(format!("Tensor({values}, {about})"))
    }

    /// The elements, and where they are.
    fn __reduce__<'py>(slf: Bound<'py, Self>, py: Python<'py>) -> Result<(Bound<'py, PyAny>, Kept<'py>)> {
        let tensor = &slf.get().0;
        tensor.check_known("a copy (as by `copy` and `pickle`)")?;
        let devices = match tensor.sharding() {
            Some(sharding) => sharding.devices().iter().map(|device| device.name().to_owned()).collect(),
            // Files are only read.
            None if device(tensor.device().name())?.is_disk() => vec![DeviceSpec::CPU.to_string()],
            None => vec![tensor.device().name().to_owned()],
        };
        let restore = slf.get_type().getattr(pyo3::intern!(py, "_restore"))?;
        let is_leaf = tensor.requires_grad() && tensor.is_leaf();
        let is_required = (is_leaf || tensor.is_fixed()).then_some(is_leaf);
        Ok((restore, (copy_of(py, tensor)?, devices, slf.get().shard_axis(), is_required)))
    }

    /// What was pickled: on one device, or spread over several.
    #[staticmethod]
    #[pyo3(signature = (elements, devices, axis, is_required=None))]
    fn _restore(
        elements: &Bound<'_, PyAny>,
        devices: Vec<String>,
        axis: Option<i64>,
        is_required: Option<bool>,
    ) -> Made {
        let made = match &devices[..] {
            [device] => tensor_of(elements, &self::device(device)?, None)?.into(),
            _ => PyTensor(tensor_of(elements, &DeviceSpec::CPU, None)?).shard(Names(devices), axis.map(Axis), None)?,
        };
        if let Some(is_required) = is_required {
            made.0.set_requires_grad(is_required)?;
        }
        Ok(made)
    }

    /// Makes the tensor stand for another value, broadcast and cast; gives the tensor itself.
    fn assign<'py>(slf: Bound<'py, Self>, value: crate::convert::AnyOperand) -> MadeSelf<'py> {
        slf.get().0.assign(value.0)?;
        Ok(slf)
    }

    /// Becomes the result of an operation on it, whose name errors tell.
    fn _become<'py>(slf: Bound<'py, Self>, name: &str, value: &Bound<'py, PyTensor>) -> Result<Bound<'py, Self>> {
        slf.get().0.become_same_kind(kept_name(name), &value.get().0)?;
        Ok(slf)
    }

    /// Becomes itself in another type or place; says whether it can.
    fn _become_moved(&self, value: &Bound<'_, PyTensor>) -> Result<bool> {
        Ok(self.0.become_moved(&value.get().0)?)
    }

    /// As `assign`, by PyTorch's name.
    fn copy_<'py>(slf: Bound<'py, Self>, value: crate::convert::AnyOperand) -> MadeSelf<'py> {
        Self::assign(slf, value)
    }
}
