//! Element types: `svod.float32` and its like.

use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyType};
use svod_dtype::{DEFAULT_INT, DType, Kind};

use crate::error::{Class, Result};
use crate::tensor::PyTensor;

/// The type of a tensor's elements; equal to NumPy's dtype of the same name, and to the name.
///
/// Called, it makes a tensor.
///
/// >>> import svod
/// >>> svod.float64(1.5).dtype
/// svod.float64
#[pyclass(name = "DType", module = "svod", frozen)]
#[derive(Clone, Copy)]
pub struct PyDType(pub DType);

/// A type as an argument: ours, NumPy's, PyTorch's, a name, or one of `bool`, `int`, `float` and `complex`, which are NumPy's `bool`,
/// `int64`, `float64` and `complex128`.
pub struct AnyDType(pub DType);

/// The types that tensors have.
pub fn all() -> impl Iterator<Item = DType> {
    DType::ALL.iter().copied().filter(|d| !matches!(d, DType::Index | DType::Void))
}

#[explained]
#[pymethods]
impl PyDType {
    /// The name, such as `float32`.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name()
    }

    /// Size of an element in bytes.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.bytes()
    }

    /// NumPy's dtype; by this attribute NumPy takes the type as one of its own.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        numpy_dtype(py, self.0)
    }

    /// Whether it is a type of complex numbers.
    #[getter]
    fn is_complex(&self) -> bool {
        self.0.is_complex()
    }

    /// Whether it is a floating-point type.
    #[getter]
    fn is_floating_point(&self) -> bool {
        self.0.is_float()
    }

    /// A tensor of this type, as `Tensor(data, dtype)` makes it.
    #[pyo3(signature = (data, /))]
    fn __call__(&self, data: &Bound<'_, PyAny>) -> Result<PyTensor> {
        PyTensor::new(data, Some(AnyDType(self.0)), None)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.extract::<AnyDType>().is_ok_and(|other| other.0 == self.0)
    }

    fn __hash__(&self) -> u64 {
        self.0 as u64
    }

    fn __repr__(&self) -> String {
        format!("svod.{}", self.0)
    }

    fn __str__(&self) -> &'static str {
        self.0.name()
    }

    fn __reduce__(&self) -> &'static str {
        self.0.name()
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for AnyDType {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let py = given.py();
        if let Ok(ours) = given.cast::<PyDType>() {
            return Ok(AnyDType(ours.get().0));
        }
        if let Ok(class) = given.cast::<PyType>() {
            for (builtin, dtype) in [
                (py.get_type::<PyBool>(), DType::Bool),
                (py.get_type::<PyInt>(), DEFAULT_INT),
                (py.get_type::<PyFloat>(), DType::F64),
                (py.get_type::<PyComplex>(), DType::C128),
            ] {
                if class.is(&builtin) {
                    return Ok(AnyDType(dtype));
                }
            }
        }
        let unknown = || PyErr::from(Class::DType.raise(format!("{} is not an element type", shown(&given))));
        if let Ok(name) = given.extract::<String>()
            && let Some(dtype) = all().find(|d| d.name() == name)
        {
            return Ok(AnyDType(dtype));
        }
        // PyTorch's, which is not imported for this.
        if let Ok(class) = given.get_type().getattr("__module__")
            && class.eq("torch")?
            && let Some(dtype) =
                given.to_string().strip_prefix("torch.").and_then(|name| all().find(|d| d.name() == name))
        {
            return Ok(AnyDType(dtype));
        }
        let descr = numpy(py)?.getattr("dtype")?.call1((given,)).map_err(|_| unknown())?;
        of_descr(&descr).map(AnyDType).ok_or_else(unknown)
    }
}

fn shown(object: &Bound<'_, PyAny>) -> String {
    object.repr().map_or_else(|_| "an object".into(), |r| r.to_string())
}

/// The type of a NumPy dtype, of either byte order.
pub fn of_descr(descr: &Bound<'_, PyAny>) -> Option<DType> {
    /// Numbers from here on are types that a package such as `ml_dtypes` has added.
    const USER_TYPES: i32 = 256;
    let known = descr.cast::<PyArrayDescr>().ok()?;
    if known.num() >= USER_TYPES {
        let name: String = descr.getattr("name").ok()?.extract().ok()?;
        return all().find(|d| d.name() == name);
    }
    let kind = match known.kind() {
        b'b' => Kind::Bool,
        b'i' => Kind::Signed,
        b'u' => Kind::Unsigned,
        b'f' => Kind::Float,
        b'c' => Kind::Complex,
        _ => return None,
    };
    all().find(|d| d.kind() == kind && d.bytes() == known.itemsize() && !is_foreign(*d))
}

/// Whether NumPy knows the type by the package `ml_dtypes` only.
pub fn is_foreign(dtype: DType) -> bool {
    matches!(dtype, DType::BF16 | DType::F8E4M3 | DType::F8E5M2)
}

/// NumPy's dtype; those that NumPy itself lacks come from the package `ml_dtypes`.
pub fn numpy_dtype(py: Python<'_>, dtype: DType) -> Result<Bound<'_, PyAny>> {
    if is_foreign(dtype) && py.import("ml_dtypes").is_err() {
        let message = format!("NumPy has no {dtype} unless the package ml_dtypes is installed");
        return Err(Class::Unsupported.raise(message));
    }
    Ok(numpy(py)?.getattr("dtype")?.call1((dtype.name(),))?)
}

/// The module `numpy`.
pub fn numpy(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = NUMPY.get_or_try_init(py, || py.import("numpy").map(Bound::unbind))?;
    Ok(module.bind(py).clone())
}
