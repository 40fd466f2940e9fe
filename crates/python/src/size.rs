//! Symbolic sizes: the classes `Variable` and `Size`, and arguments that may be either or a number.

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyBool, PyFloat, PyInt, PySequence, PyTuple, PyType};
use pyo3::{IntoPyObjectExt, PyTypeInfo};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use svod_ir::size::{BoundVariable, Size, SizeError, Variable};
use svod_tensor::{Comparison, Operand, Tensor, TensorError, Trace};

use crate::convert::{class_of, integer};
use crate::error::{Class, Raised, Result};
use crate::scalar::{Text, expected};
use crate::tensor::{Made, PyTensor};

/// A named integer between two bounds, both included: a size that each run of a plan may choose.
///
/// Used in shapes as numbers are. `bind` gives it a value until a run says otherwise. Memory is
/// sized for the upper bound.
///
/// >>> import svod
/// >>> n = svod.Variable("n", 1, 512)
/// >>> x = svod.arange(512)[:n.bind(3)] * 2
/// >>> x.shape
/// (n,)
/// >>> plan = x.prepare()
/// >>> plan.execute()
/// >>> x.tolist()
/// [0, 2, 4]
/// >>> plan.execute(n=4)
/// >>> x.tolist()
/// [0, 2, 4, 6]
#[pyclass(name = "Variable", module = "svod", frozen, from_py_object)]
#[derive(Clone)]
pub struct PyVariable(Variable);

/// An integer expression over variables: an extent of a tensor of symbolic shape.
///
/// Arithmetic gives sizes, `//` and `%` floor; with floats, and where it divides by `/`, a 0-d tensor. A
/// size whose variables have values is an integer to Python, and is compared as one. Else an order is known
/// where the bounds of the variables decide it, and raises `ShapeError` where they do not; sizes that may differ
/// are not equal. While `jit` traces a function, sizes compare as they do in the call that it traces for; what is
/// compiled serves the calls in which they compare alike. There they are no numbers (`int(n)`, `range(n)`), nor keys of
/// dicts, unless a comparison says which.
///
/// >>> import svod
/// >>> n = svod.Variable("n", 1, 512)
/// >>> n * 2 + 1
/// n*2 + 1
/// >>> n + 1 > 0
/// True
/// >>> n > 5
/// Traceback (most recent call last):
///     ...
/// svod.ShapeError: n > 5 is true or false as n in 1..512 is chosen
/// >>> n == 5, n.bind(5) == 5, n.bind(5) > 4, list(range(n.bind(2)))
/// (False, True, True, [0, 1])
#[pyclass(name = "Size", module = "svod", frozen, subclass)]
#[derive(Clone)]
pub struct PySize {
    size: Size,
    /// Values for this run of variables of it.
    values: Vec<BoundVariable>,
}

/// The number of a tensor's elements, where that is no number yet; called, the extents, as PyTorch's method.
#[pyclass(name = "_SymbolicCount", module = "svod", extends = PySize, frozen)]
pub struct PyCount {
    shape: Py<PyTuple>,
}

#[pymethods]
impl PyCount {
    /// The extents, or that of one axis.
    #[pyo3(signature = (dim=None, *, axis=None))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        dim: Option<Bound<'py, PyAny>>,
        axis: Option<Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        let module = py.import(intern!(py, "svod._count"))?;
        Ok(module.call_method1(intern!(py, "extents"), (&self.shape, dim, axis))?)
    }
}

/// Values of variables.
type Values = Vec<(PyVariable, i64)>;

/// What `_made` makes a size of: its text, its variables, and values.
type Parts = (String, Vec<PyVariable>, Values);

/// An integer, that of a tensor included, a variable or a size.
#[derive(Clone)]
pub struct AnySize {
    /// The number.
    pub size: Size,
    /// Values for this run of variables of it.
    pub values: Vec<BoundVariable>,
}

/// What a size is computed with: an integer, a variable or a size. The integer of a tensor is not read: with that a size is
/// another tensor.
struct Beside(AnySize);

/// Extents, and the values for this run of their variables.
#[derive(Clone, Default)]
pub struct Extents {
    /// The numbers.
    pub sizes: Vec<Size>,
    values: Vec<BoundVariable>,
}

impl Extents {
    /// Extents given one by one or as one sequence.
    pub fn of(given: &Bound<'_, PyTuple>) -> Result<Extents> {
        // Asking an integer whether it is a sequence takes longer than all the rest.
        if given.len() == 1
            && let one = given.get_item(0)?
            && !one.is_instance_of::<PyInt>()
            && (one.cast::<PySequence>().is_ok() || is_line(&one))
        {
            return match one.cast::<PyTuple>() {
                Ok(tuple) => Extents::each(tuple.iter().map(Ok)),
                Err(_) => Extents::each(one.try_iter()?),
            };
        }
        Extents::each(given.iter().map(Ok))
    }

    /// Extents given one by one or as one sequence; none is negative.
    pub fn positive(given: &Bound<'_, PyTuple>) -> Result<Extents> {
        let extents = Extents::of(given)?;
        match extents.sizes.iter().find(|n| n.as_const().is_some_and(|n| n < 0)) {
            None => Ok(extents),
            Some(n) => Err(Class::Shape.raise(format!("extent {n} of {:?} is negative", extents.sizes))),
        }
    }

    fn each<'py>(given: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>) -> Result<Extents> {
        let mut extents = Extents::default();
        for one in given {
            extents.push(one?.extract()?);
        }
        Ok(extents)
    }

    /// Adds an extent.
    pub fn push(&mut self, one: AnySize) {
        self.sizes.push(one.size);
        self.values.extend(one.values);
    }

    /// The values for this run.
    pub fn values(&self) -> &[BoundVariable] {
        &self.values
    }

    /// What an operation with these extents gives, where their variables have these values.
    pub fn bind(&self, made: svod_tensor::Result<Tensor>) -> Made {
        Ok(made?.with_values(&self.values)?.into())
    }
}

impl AnySize {
    /// What an operation with this number gives, where its variables have these values.
    pub fn bind(&self, made: svod_tensor::Result<Tensor>) -> Made {
        Ok(made?.with_values(&self.values)?.into())
    }
}

impl From<i64> for AnySize {
    fn from(number: i64) -> AnySize {
        AnySize { size: number.into(), values: Vec::new() }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for AnySize {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Some(size) = symbolic(&given) {
            return Ok(size);
        }
        let flag = given.is_instance_of::<PyBool>();
        let number = if flag { Err(PyTypeError::new_err("")) } else { given.extract::<i64>() };
        number.map(AnySize::from).map_err(|error| {
            let py = given.py();
            if error.is_instance_of::<PyOverflowError>(py) {
                return expected("a size", &given, error);
            }
            // What else a tensor fails at, such as that it is traced, stays as it is.
            if !error.get_type(py).is(py.get_type::<PyTypeError>()) && !Class::DType.matches(&error, py) {
                return error;
            }
            let class = class_of(&given);
            let message = format!("a size is an integer, a svod.Variable or a svod.Size, not {class}");
            PyErr::from(Class::ArgumentType.raise(message))
        })
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Beside {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match given.cast::<PyTensor>() {
            Ok(_) => Err(PyTypeError::new_err("")),
            Err(_) => given.extract().map(Beside),
        }
    }
}

/// Whether it is a tensor or an array of one dimension, which may stand for several numbers.
fn is_line(given: &Bound<'_, PyAny>) -> bool {
    given.cast::<PyTensor>().is_ok_and(|tensor| tensor.get().0.rank() == 1)
        || given.cast::<PyUntypedArray>().is_ok_and(|array| array.ndim() == 1)
}

/// The object as a size, if it is a variable or a size.
pub fn symbolic(given: &Bound<'_, PyAny>) -> Option<AnySize> {
    if let Ok(size) = given.cast::<PySize>() {
        return Some(size.get().any());
    }
    Some(given.cast::<PyVariable>().ok()?.get().any())
}

/// A size as Python sees it: an `int` where it is a number.
pub fn shown<'py>(py: Python<'py>, size: &Size) -> Result<Bound<'py, PyAny>> {
    match size.as_const() {
        Some(number) => Ok(number.into_bound_py_any(py)?),
        None => Ok(PySize { size: size.clone(), values: Vec::new() }.into_bound_py_any(py)?),
    }
}

/// The number of elements of a tensor of this shape, which is called for its extents too: see `svod._count`.
pub fn counted<'py>(py: Python<'py>, extents: &[Size], count: Size) -> Result<Bound<'py, PyAny>> {
    let shape = shape(py, extents)?;
    match count.as_const() {
        Some(number) => {
            Ok(py.import(intern!(py, "svod._count"))?.call_method1(intern!(py, "Count"), (number, shape))?)
        }
        None => {
            let size = PyClassInitializer::from(PySize { size: count, values: Vec::new() });
            Ok(Bound::new(py, size.add_subclass(PyCount { shape: shape.unbind() }))?.into_any())
        }
    }
}

/// A shape as Python sees it.
pub fn shape<'py>(py: Python<'py>, extents: &[Size]) -> Result<Bound<'py, PyTuple>> {
    let extents = extents.iter().map(|n| shown(py, n)).collect::<Result<Vec<_>>>()?;
    Ok(PyTuple::new(py, extents)?)
}

/// The result of arithmetic: an `int` where it is a number.
fn made<'py>(py: Python<'py>, size: Size, a: &AnySize, b: &AnySize) -> Result<Bound<'py, PyAny>> {
    if let Some(fault) = size.fault() {
        return Err(TensorError::Size(fault.into()).into());
    }
    if let Some(number) = size.as_const() {
        return Ok(number.into_bound_py_any(py)?);
    }
    let mut values = a.values.clone();
    for bound in &b.values {
        match values.iter().find(|v| v.variable() == bound.variable()) {
            None => values.push(bound.clone()),
            Some(known) if known == bound => {}
            Some(known) => {
                let message = format!("bind mismatch: {known} and {bound} in one size");
                return Err(Class::Argument.raise_as("bind mismatch", message));
            }
        }
    }
    let named = size.variables();
    values.retain(|v| named.contains(v.variable()));
    Ok(PySize { size, values }.into_bound_py_any(py)?)
}

/// The size where its variables have their values, as far as they have.
fn at_values(AnySize { size, values }: &AnySize) -> Size {
    let value = |v: &Variable| values.iter().find(|bound| bound.variable() == v).map(|bound| bound.value().into());
    if values.is_empty() { size.clone() } else { size.substitute(&value) }
}

/// Whether a comparison holds: at all sizes that the variables may have, or in the call that a function is traced for.
///
/// # Errors
/// Where that differs from iteration to iteration of a loop whose body is traced.
fn decided(a: &Size, by: Comparison, b: &Size, text: &dyn Fn() -> String) -> Result<Option<bool>> {
    let known = by.decided(a, b).or_else(|| Trace::decide(a, by, b));
    if known.is_none()
        && let Some(error) = within_body(&[a.variables(), b.variables()].concat(), &text())
    {
        return Err(error);
    }
    Ok(known)
}

/// The error of what looks at sizes with the number of an iteration of a loop whose body is traced.
fn within_body(variables: &[Variable], what: &str) -> Option<Raised> {
    let of = variables.iter().find(|v| v.is_internal())?;
    Some(Class::Trace.raise(format!(
        "{what}: the body of a loop runs once, to be recorded, and {of}, the number of the iteration, has no value to \
         look at (a tensor of it does: `where(svod.Tensor(i) > 1, a, b)` chooses by it, `custom` calls a function with \
         it)"
    )))
}

/// The error of `what`, which looks at a size that has no value, if this thread traces something where it may have.
pub fn without_value(size: &Size, what: &str) -> Option<Raised> {
    let of_body = within_body(&size.variables(), what);
    if of_body.is_some() {
        return of_body;
    }
    let why = format!(
        "{what}: a traced function runs once, to be recorded, for all sizes, and {size} is another number from call to \
         call (arithmetic with it gives sizes, and 0-d tensors with floats, as `{size} ** 0.5` does; shapes, slices and \
         `arange` take it; after `if {size} == 4:` it is a number; `custom` calls a function with it)"
    );
    Trace::refuse(&why).then(|| Class::Trace.raise(why))
}

/// The value of a size, for `what`.
fn number(AnySize { size, values }: &AnySize, what: &str) -> Result<i64> {
    size.eval_bound(values).map_err(|error| match (&error, without_value(size, &format!("{what} of {size}"))) {
        (SizeError::Unbound(_), Some(traced)) => traced,
        (SizeError::Unbound(name), None) => Class::Argument.raise_as(
            svod_runtime::UNBOUND,
            format!("{what} of {size}: variable {name} is not bound: `bind` gives it a value"),
        ),
        _ => TensorError::Size(error).into(),
    })
}

/// A size times itself.
fn power(base: &Size, exponent: u32) -> Size {
    let (mut product, mut square, mut rest) = (Size::ONE, base.clone(), exponent);
    while rest > 0 && product.fault().is_none() {
        if rest % 2 == 1 {
            product = &product * &square;
        }
        rest /= 2;
        if rest > 0 {
            square = &square * &square;
        }
    }
    product
}

/// What says that a comparison has no answer.
fn undecided(a: &Size, b: &Size, text: &str) -> Raised {
    let mut variables = [a.variables(), b.variables()].concat();
    variables.sort();
    variables.dedup();
    let ranges: Vec<String> = variables.iter().map(|v| format!("{v} in {}..{}", v.min(), v.max())).collect();
    Class::Shape.raise(format!("{text} is true or false as {} is chosen", ranges.join(", ")))
}

/// The order of two sizes. Whether they are equal is answered also where that depends on the variables, for sizes are
/// compared in shapes and looked for in lists: then they are not.
fn compared(a: &AnySize, op: CompareOp, b: &AnySize) -> Result<bool> {
    let (a, b) = (&at_values(a), &at_values(b));
    let (sign, by, is) = match op {
        CompareOp::Lt => ("<", Comparison::Less, true),
        CompareOp::Ge => (">=", Comparison::Less, false),
        CompareOp::Le => ("<=", Comparison::LessEqual, true),
        CompareOp::Gt => (">", Comparison::LessEqual, false),
        CompareOp::Eq => ("==", Comparison::Equal, true),
        CompareOp::Ne => ("!=", Comparison::Equal, false),
    };
    let text = || format!("{a} {sign} {b}");
    match decided(a, by, b, &text)? {
        Some(answer) => Ok(answer == is),
        None if by == Comparison::Equal => Ok(!is),
        None => Err(undecided(a, b, &text())),
    }
}

/// Whether a size is not 0.
fn is_some(size: &AnySize) -> Result<bool> {
    let (size, zero) = (&at_values(size), &Size::ZERO);
    let text = || format!("{size} != 0");
    match decided(size, Comparison::Equal, zero, &text)? {
        Some(answer) => Ok(!answer),
        None => Err(undecided(size, zero, &text())),
    }
}

/// What an operator of tensors makes of a size and a float; other objects know for themselves.
fn with_float<'py>(own: AnySize, operator: &str, other: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    match other.is_instance_of::<PyFloat>() {
        true => as_tensor(own, operator, other),
        false => Ok(other.py().NotImplemented().into_bound(other.py())),
    }
}

/// What an operator of tensors makes of a size, as a 0-d one.
fn as_tensor<'py>(own: AnySize, operator: &str, other: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    let value = Tensor::scalar(Operand::Size(own.size, own.values), None)?;
    Ok(Bound::new(other.py(), PyTensor::from(value))?.call_method1(operator, (other,))?)
}

/// The operators of a class whose instances are sizes.
macro_rules! operators {
    ($class:ty) => {
        #[explained]
        #[pymethods]
        impl $class {
            fn __add__<'py>(&self, other: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
                let (own, py) = (self.any(), other.py());
                match other.extract::<Beside>() {
                    Ok(Beside(other)) => made(py, &own.size + &other.size, &own, &other),
                    Err(_) => with_float(own, "__add__", other),
                }
            }

            fn __radd__<'py>(&self, other: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
                self.__add__(other)
            }

            fn __truediv__<'py>(&self, other: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
                as_tensor(self.any(), "__truediv__", other)
            }

            fn __rtruediv__<'py>(&self, other: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
                as_tensor(self.any(), "__rtruediv__", other)
            }

            fn __pow__<'py>(
                &self,
                other: &Bound<'py, PyAny>,
                modulo: Option<&Bound<'py, PyAny>>,
            ) -> Result<Bound<'py, PyAny>> {
                let (own, py) = (self.any(), other.py());
                if modulo.is_some() {
                    return Ok(py.NotImplemented().into_bound(py));
                }
                match other.cast::<PyInt>() {
                    Ok(exponent) if other.ge(0)? => {
                        let fits = exponent.extract::<u32>().map_err(|_| {
                            Class::Overflow.raise(format!("{} ** {exponent}: a size overflows 64 bits", own.size))
                        })?;
                        made(py, power(&own.size, fits), &own, &own)
                    }
                    Ok(exponent) => as_tensor(own, "__pow__", &exponent.call_method0("__float__")?),
                    Err(_) => as_tensor(own, "__pow__", other),
                }
            }

            fn __rpow__<'py>(
                &self,
                other: &Bound<'py, PyAny>,
                _modulo: Option<&Bound<'py, PyAny>>,
            ) -> Result<Bound<'py, PyAny>> {
                as_tensor(self.any(), "__rpow__", other)
            }

            fn __sub__<'py>(&self, other: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
                let (own, py) = (self.any(), other.py());
                match other.extract::<Beside>() {
                    Ok(Beside(other)) => made(py, &own.size - &other.size, &own, &other),
                    Err(_) => with_float(own, "__sub__", other),
                }
            }

            fn __rsub__<'py>(&self, other: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
                let (own, py) = (self.any(), other.py());
                match other.extract::<Beside>() {
                    Ok(Beside(other)) => made(py, &other.size - &own.size, &own, &other),
                    Err(_) => with_float(own, "__rsub__", other),
                }
            }

            fn __floordiv__<'py>(&self, py: Python<'py>, other: Beside) -> Result<Bound<'py, PyAny>> {
                let (own, Beside(other)) = (self.any(), other);
                made(py, own.size.floordiv(&other.size), &own, &other)
            }

            fn __rfloordiv__<'py>(&self, py: Python<'py>, other: Beside) -> Result<Bound<'py, PyAny>> {
                let (own, Beside(other)) = (self.any(), other);
                made(py, other.size.floordiv(&own.size), &own, &other)
            }

            fn __mod__<'py>(&self, py: Python<'py>, other: Beside) -> Result<Bound<'py, PyAny>> {
                let (own, Beside(other)) = (self.any(), other);
                made(py, own.size.modulo(&other.size), &own, &other)
            }

            fn __rmod__<'py>(&self, py: Python<'py>, other: Beside) -> Result<Bound<'py, PyAny>> {
                let (own, Beside(other)) = (self.any(), other);
                made(py, other.size.modulo(&own.size), &own, &other)
            }

            fn __neg__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
                let own = self.any();
                made(py, -&own.size, &own, &own)
            }

            fn __mul__<'py>(&self, other: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
                let (own, py) = (self.any(), other.py());
                match other.extract::<Beside>() {
                    Ok(Beside(other)) => made(py, &own.size * &other.size, &own, &other),
                    Err(_) => with_float(own, "__mul__", other),
                }
            }

            fn __rmul__<'py>(&self, other: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
                self.__mul__(other)
            }

            fn __richcmp__<'py>(&self, other: &Bound<'py, PyAny>, op: CompareOp) -> Result<Bound<'py, PyAny>> {
                let py = other.py();
                match other.extract::<Beside>() {
                    Ok(Beside(other)) => Ok(compared(&self.any(), op, &other)?.into_bound_py_any(py)?),
                    Err(_) => Ok(py.NotImplemented().into_bound(py)),
                }
            }

            /// Equal numbers have equal hashes; what is equal to a number in some calls only has none.
            fn __hash__(&self, py: Python<'_>) -> Result<isize> {
                let size = at_values(&self.any());
                if let Some(number) = size.as_const() {
                    return Ok(number.into_bound_py_any(py)?.hash()?);
                }
                let what = format!("{size} as a key of a dict or item of a set");
                if let Some(error) = without_value(&size, &what) {
                    return Err(error);
                }
                let mut hasher = DefaultHasher::new();
                size.hash(&mut hasher);
                Ok(hasher.finish() as isize)
            }

            /// Whether it is not 0.
            fn __bool__(&self) -> Result<bool> {
                is_some(&self.any())
            }

            /// The value; raises unless every variable has one.
            fn __int__(&self) -> Result<i64> {
                number(&self.any(), "int()")
            }

            /// As `int`.
            fn __index__(&self) -> Result<i64> {
                number(&self.any(), "a Python integer (as `range`, lists and NumPy ask for it)")
            }

            /// The value as a float; raises unless every variable has one: in a graph it is `svod.asarray(size)`.
            fn __float__(&self) -> Result<f64> {
                let size = self.any();
                let what = "a float of Python's (as `float` and `math.sqrt` ask for it; `svod.asarray` makes a tensor)";
                Ok(number(&size, what)? as f64)
            }

            /// As an integer where it has a value, else as text.
            fn __format__<'py>(&self, py: Python<'py>, spec: &str) -> Result<Bound<'py, PyAny>> {
                let size = at_values(&self.any());
                Ok(match size.as_const() {
                    Some(number) => number.into_bound_py_any(py)?.call_method1("__format__", (spec,))?,
                    None => {
                        let spec = spec.strip_suffix('d').unwrap_or(spec);
                        size.to_string().into_bound_py_any(py)?.call_method1("__format__", (spec,))?
                    }
                })
            }
        }
    };
}

operators!(PyVariable);
operators!(PySize);

impl From<AnySize> for PySize {
    fn from(AnySize { size, values }: AnySize) -> PySize {
        PySize { size, values }
    }
}

impl PyVariable {
    fn any(&self) -> AnySize {
        AnySize { size: Trace::known(&Size::from(&self.0)), values: Vec::new() }
    }
}

impl PySize {
    /// The size as a trace has it that this thread is in; one with values of its own is what it is.
    pub fn any(&self) -> AnySize {
        let PySize { size, values } = self.clone();
        AnySize { size: if values.is_empty() { Trace::known(&size) } else { size }, values }
    }
}

#[explained]
#[pymethods]
impl PyVariable {
    #[new]
    fn new(name: Text, min: &Bound<'_, PyAny>, max: &Bound<'_, PyAny>) -> Result<PyVariable> {
        let name: &str = &name;
        let bound = |which, given| integer(&format!("Variable '{name}', {which}"), given);
        let (min, max) = (bound("min", min)?, bound("max", max)?);
        Ok(PyVariable(Variable::new(name, min, max).map_err(TensorError::Size)?))
    }

    /// The size that it is, with a value until a run says otherwise.
    fn bind(&self, value: &Bound<'_, PyAny>) -> Result<PySize> {
        let value = integer(&format!("{}.bind", self.0.name()), value)?;
        let bound = self.0.bind(value).map_err(TensorError::Size)?;
        Ok(PySize { size: Size::from(&self.0), values: vec![bound] })
    }

    /// The name, by which runs give it a value.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// The least value.
    #[getter]
    fn min(&self) -> i64 {
        Variable::min(&self.0)
    }

    /// The greatest value.
    #[getter]
    fn max(&self) -> i64 {
        Variable::max(&self.0)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (&str, i64, i64)) {
        (PyVariable::type_object(py), (self.0.name(), self.min(), self.max()))
    }

    fn __repr__(&self) -> String {
        format!("Variable('{}', {}, {})", self.0.name(), self.min(), self.max())
    }
}

#[explained]
#[pymethods]
impl PySize {
    /// The least value that it may have, as far as that is known.
    #[getter]
    fn min(&self) -> i64 {
        self.size.bounds().0
    }

    /// The greatest value that it may have, as far as that is known.
    #[getter]
    fn max(&self) -> i64 {
        self.size.bounds().1
    }

    /// The variables that it mentions.
    #[getter]
    fn variables(&self) -> Vec<PyVariable> {
        self.size.variables().into_iter().map(PyVariable).collect()
    }

    /// The same without values of its variables.
    fn _free(&self) -> PySize {
        PySize { size: self.size.clone(), values: Vec::new() }
    }

    /// The values of its variables, by name, as far as they have one.
    pub fn _values(&self) -> BTreeMap<String, i64> {
        self.values.iter().map(|bound| (bound.variable().name().to_owned(), bound.value())).collect()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> Result<(Bound<'py, PyAny>, Parts)> {
        let values = self.values.iter().map(|bound| (PyVariable(bound.variable().clone()), bound.value())).collect();
        let make = PySize::type_object(py).getattr("_made")?;
        Ok((make, (self.size.to_string(), self.variables(), values)))
    }

    /// The size of this text, over these variables, some of which have a value.
    #[staticmethod]
    fn _made(text: &str, variables: Vec<PyVariable>, values: Values) -> Result<PySize> {
        let of = |name: &str| variables.iter().find(|v| v.0.name() == name).map(|v| v.0.clone());
        let size = Size::parse(text, &of).map_err(TensorError::Size)?;
        let values =
            values.iter().map(|(variable, value)| variable.0.bind(*value)).collect::<std::result::Result<_, _>>();
        Ok(PySize { size, values: values.map_err(TensorError::Size)? })
    }

    fn __repr__(&self) -> String {
        match &self.values[..] {
            [] => self.size.to_string(),
            values => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                format!("{} where {}", self.size, values.join(", "))
            }
        }
    }
}
