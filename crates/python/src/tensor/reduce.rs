//! Folds, scans, statistics along axes.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PySequence};
use svod_dtype::DType;
use svod_tensor::{Masked, Running, Tensor, TensorError};

use super::pair::{Pair, pair};
use super::{Made, MadeAny, PyTensor};
use crate::convert::{AnyOperand, AnyTensor, Axes, Axis, either, named, one_axis};
use crate::dtype::AnyDType;
use crate::error::{Class, Result};
use crate::scalar::{Real, flag, real};
use crate::size::AnySize;

/// What the core makes.
type Computed = std::result::Result<Tensor, TensorError>;

/// Rows of a fold along axes: a method, with PyTorch's order of arguments, and a function of the array API.
macro_rules! folds {
    ($($name:ident $of:ident $doc:literal;)*) => {
        #[explained]
        #[pymethods]
        impl PyTensor {
            $(
                #[doc = $doc]
                #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false, r#where=None))]
                fn $name(
                    &self,
                    dim: Option<Axes>,
                    #[pyo3(from_py_with = flag)] keepdim: bool,
                    axis: Option<Axes>,
                    #[pyo3(from_py_with = flag)] keepdims: bool,
                    r#where: Option<AnyTensor>,
                ) -> Made {
                    let taken = taken(r#where, None);
                    Ok(self.0.$of(either(axis, dim)?.as_deref(), keepdim || keepdims, &taken)?.into())
                }
            )*
        }

        mod folds {
            use super::*;

            $(
                #[doc = $doc]
                #[explained]
                #[pyfunction]
                #[pyo3(
                    signature = (
                        x=None, /, axis=None, keepdims=false, *, dim=None, keepdim=false, r#where=None, input=None
                    ),
                    text_signature = "(x, /, axis=None, keepdims=False, *, dim=None, keepdim=False, where=None)"
                )]
                pub fn $name(
                    x: Option<AnyTensor>,
                    axis: Option<Axes>,
                    #[pyo3(from_py_with = flag)] keepdims: bool,
                    dim: Option<Axes>,
                    #[pyo3(from_py_with = flag)] keepdim: bool,
                    r#where: Option<AnyTensor>,
                    input: Option<AnyTensor>,
                ) -> Made {
                    PyTensor(named(stringify!($name), "x", x, input)?.0).$name(dim, keepdim, axis, keepdims, r#where)
                }
            )*
        }

        fn register_folds(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!(folds::$name, module)?)?;)*
            Ok(())
        }
    };
}

folds! {
    any any_of "Whether an element along axes is not zero, of those that `where` takes.";
    all all_of "Whether all elements along axes are not zero, of those that `where` takes.";
    logsumexp logsumexp_of "`log(sum(exp(x)))` along axes, without overflow, of those elements that `where` takes.";
}

/// What an extreme is asked for in the place of PyTorch's `dim`.
pub enum Over {
    /// One axis: the values along it and where they are.
    Axis(i64),
    /// Several, of which elements have no one position.
    Axes(Axes),
    /// Another tensor: the same of two elements.
    Other(Tensor),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Over {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(other) = given.cast::<PyTensor>() {
            return Ok(Over::Other(other.get().0.clone()));
        }
        // NumPy's integers too.
        match given.is_instance_of::<PyInt>() || (given.cast::<PySequence>().is_err() && given.extract::<i64>().is_ok())
        {
            true => Ok(Over::Axis(given.extract::<Axis>()?.0)),
            false => Ok(Over::Axes(given.extract()?)),
        }
    }
}

/// What a variance is asked for in the place of its axes.
pub enum Spread {
    /// Axes.
    Axes(Axes),
    /// PyTorch's `unbiased`, of all elements.
    Unbiased(bool),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Spread {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match given.cast::<PyBool>() {
            Ok(unbiased) => Ok(Spread::Unbiased(unbiased.is_true())),
            Err(_) => given.extract().map(Spread::Axes),
        }
    }
}

impl Spread {
    /// Axes, and `unbiased` where it is given in their place or by its name.
    fn apart(
        op: &str,
        given: Option<Spread>,
        unbiased: Option<bool>,
        correction: Option<&Real>,
    ) -> Result<(Option<Axes>, Option<bool>)> {
        match (given, unbiased.is_some() || correction.is_some()) {
            (Some(Spread::Unbiased(given)), true) => {
                let given = if given { "True" } else { "False" };
                let message = format!("{op}: dim: axes are expected beside correction or unbiased, not {given}");
                Err(Class::ArgumentType.raise(message))
            }
            (Some(Spread::Unbiased(unbiased)), false) => Ok((None, Some(unbiased))),
            (Some(Spread::Axes(axes)), _) => Ok((Some(axes), unbiased)),
            (None, _) => Ok((None, unbiased)),
        }
    }
}

/// Rows of an extreme: its values alone, where it is, the same of two elements, and up to each element.
macro_rules! extremes {
    ($($name:ident $of:ident $amax:ident $position:ident $binary:ident $running:ident $least:literal $doc:literal;)*) => {
        #[explained]
        #[pymethods]
        impl PyTensor {
            $(
                #[doc = concat!("The ", $doc, " along axes, by default all; NaN where there is one.\n\n\
                    With `dim`, by name or position, PyTorch's pair of values and the first positions at which they \
                    are; with `axis`, or of several axes, values. With a tensor in its place, that of two elements.\n\n\
                    With `initial`, a number that is one of the elements too, and `where`, bools that say which elements \
                    are, values: NumPy's parameters.")]
                #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false, initial=None, r#where=None))]
                #[allow(clippy::too_many_arguments)]
                fn $name<'py>(
                    &self,
                    py: Python<'py>,
                    dim: Option<Over>,
                    #[pyo3(from_py_with = flag)] keepdim: bool,
                    axis: Option<Axes>,
                    #[pyo3(from_py_with = flag)] keepdims: bool,
                    initial: Option<AnyOperand>,
                    r#where: Option<AnyTensor>,
                ) -> MadeAny<'py> {
                    let (keep, taken) = (keepdim || keepdims, taken(r#where, initial));
                    let axes = match dim {
                        Some(Over::Other(other)) if taken.is_plain() => return one(py, self.0.$binary(other)),
                        Some(Over::Other(_)) => {
                            let name = stringify!($name);
                            let message = format!("{name}: initial and where are of elements along axes, not of two tensors");
                            return Err(Class::ArgumentType.raise(message));
                        }
                        Some(Over::Axis(at)) if taken.is_plain() => {
                            either(axis, Some(Axes(vec![at])))?;
                            let both = (self.0.$name(Some(&[at]), keep)?, self.0.$position(Some(at), keep)?);
                            return pair(py, both, None);
                        }
                        Some(Over::Axis(at)) => either(axis, Some(Axes(vec![at])))?,
                        Some(Over::Axes(axes)) => either(axis, Some(axes))?,
                        None => axis,
                    };
                    one(py, self.0.$of(axes.as_deref(), keep, &taken))
                }

                #[doc = concat!("The ", $doc, " of the elements up to each one along an axis.\n\n\
                    With `dim`, by name or position, PyTorch's pair of values and the last positions at which they \
                    are; with `axis`, values.")]
                #[pyo3(signature = (dim=None, *, axis=None))]
                fn $running<'py>(&self, py: Python<'py>, dim: Option<Axis>, axis: Option<Axis>) -> MadeAny<'py> {
                    let values = dim.is_none();
                    let at = self.named_axis(stringify!($running), axis, dim)?;
                    match values {
                        true => one(py, self.0.$running(at)),
                        false => pair(py, self.0.running_extremes(at, $least)?, None),
                    }
                }

                #[doc = concat!("The ", $doc, " along axes, by default all: values, however the axes are named.")]
                #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false, initial=None, r#where=None))]
                fn $amax(
                    &self,
                    dim: Option<Axes>,
                    #[pyo3(from_py_with = flag)] keepdim: bool,
                    axis: Option<Axes>,
                    #[pyo3(from_py_with = flag)] keepdims: bool,
                    initial: Option<AnyOperand>,
                    r#where: Option<AnyTensor>,
                ) -> Made {
                    let taken = taken(r#where, initial);
                    Ok(self.0.$of(either(axis, dim)?.as_deref(), keepdim || keepdims, &taken)?.into())
                }

                #[doc = concat!("The first position of the ", $doc, " along an axis, by default of the flat tensor.")]
                #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false))]
                fn $position(&self, dim: Option<Axis>, #[pyo3(from_py_with = flag)] keepdim: bool, axis: Option<Axis>, #[pyo3(from_py_with = flag)] keepdims: bool) -> Made {
                    Ok(self.0.$position(one_axis(axis, dim)?, keepdim || keepdims)?.into())
                }
            )*
        }

        mod extremes {
            use super::*;

            $(
                #[doc = concat!("The ", $doc, " along axes, by default all; NaN where there is one.\n\n\
                    With `dim`, by name or position, PyTorch's pair of values and the first positions at which they \
                    are; with `axis`, or of several axes, values. With a tensor in its place, that of two elements.\n\n\
                    With `initial`, a number that is one of the elements too, and `where`, bools that say which elements \
                    are, values: NumPy's parameters.")]
                #[explained]
                #[pyfunction]
                #[pyo3(
                    signature = (
                        x=None, /, dim=None, keepdim=false, *, axis=None, keepdims=false, initial=None, r#where=None, input=None
                    ),
                    text_signature = "(x, /, dim=None, keepdim=False, *, axis=None, keepdims=False, initial=None, where=None)"
                )]
                #[allow(clippy::too_many_arguments)]
                pub fn $name<'py>(
                    py: Python<'py>,
                    x: Option<AnyTensor>,
                    dim: Option<Over>,
                    #[pyo3(from_py_with = flag)] keepdim: bool,
                    axis: Option<Axes>,
                    #[pyo3(from_py_with = flag)] keepdims: bool,
                    initial: Option<AnyOperand>,
                    r#where: Option<AnyTensor>,
                    input: Option<AnyTensor>,
                ) -> MadeAny<'py> {
                    let x = PyTensor(named(stringify!($name), "x", x, input)?.0);
                    x.$name(py, dim, keepdim, axis, keepdims, initial, r#where)
                }

                #[doc = concat!("The ", $doc, " along axes, by default all: values, however the axes are named.")]
                #[explained]
                #[pyfunction]
                #[pyo3(
                    signature = (
                        x=None, /, axis=None, keepdims=false, *, dim=None, keepdim=false, initial=None, r#where=None, input=None
                    ),
                    text_signature = "(x, /, axis=None, keepdims=False, *, dim=None, keepdim=False, initial=None, where=None)"
                )]
                #[allow(clippy::too_many_arguments)]
                pub fn $amax(
                    x: Option<AnyTensor>,
                    axis: Option<Axes>,
                    #[pyo3(from_py_with = flag)] keepdims: bool,
                    dim: Option<Axes>,
                    #[pyo3(from_py_with = flag)] keepdim: bool,
                    initial: Option<AnyOperand>,
                    r#where: Option<AnyTensor>,
                    input: Option<AnyTensor>,
                ) -> Made {
                    let x = PyTensor(named(stringify!($amax), "x", x, input)?.0);
                    x.$amax(dim, keepdim, axis, keepdims, initial, r#where)
                }

                #[doc = concat!("The first position of the ", $doc, " along an axis, by default of the flat tensor.")]
                #[explained]
                #[pyfunction]
                #[pyo3(
                    signature = (x=None, /, axis=None, keepdims=false, *, dim=None, keepdim=false, input=None),
                    text_signature = "(x, /, axis=None, keepdims=False, *, dim=None, keepdim=False)"
                )]
                pub fn $position(
                    x: Option<AnyTensor>,
                    axis: Option<Axis>,
                    #[pyo3(from_py_with = flag)] keepdims: bool,
                    dim: Option<Axis>,
                    #[pyo3(from_py_with = flag)] keepdim: bool,
                    input: Option<AnyTensor>,
                ) -> Made {
                    PyTensor(named(stringify!($position), "x", x, input)?.0).$position(dim, keepdim, axis, keepdims)
                }
            )*
        }

        fn register_extremes(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(
                module.add_function(wrap_pyfunction!(extremes::$name, module)?)?;
                module.add_function(wrap_pyfunction!(extremes::$amax, module)?)?;
                module.add_function(wrap_pyfunction!(extremes::$position, module)?)?;
            )*
            Ok(())
        }
    };
}

extremes! {
    max max_of amax argmax maximum cummax false "maximum";
    min min_of amin argmin minimum cummin true "minimum";
}

/// Adds the functions of this file's tables to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    register_folds(module)?;
    register_extremes(module)?;
    module.add_function(wrap_pyfunction!(sum, module)?)?;
    module.add_function(wrap_pyfunction!(prod, module)?)?;
    module.add_function(wrap_pyfunction!(mean, module)?)?;
    module.add_function(wrap_pyfunction!(var, module)?)?;
    module.add_function(wrap_pyfunction!(deviation, module)?)
}

/// What a fold is of, as NumPy's `where` and `initial` say it.
fn taken(only: Option<AnyTensor>, initial: Option<AnyOperand>) -> Masked {
    Masked { only: only.map(|only| only.0), initial: initial.map(|initial| initial.0) }
}

/// One tensor, where other arguments give a pair.
fn one(py: Python<'_>, made: Computed) -> Result<Bound<'_, PyAny>> {
    Ok(Bound::new(py, PyTensor::from(made?))?.into_any())
}

/// By how much less than the number of elements a sum of squares is divided. `ddof` is NumPy's name for it; `unbiased`,
/// PyTorch's former option, is 1 or 0.
fn corrected(
    op: &str,
    correction: Option<Real>,
    ddof: Option<Real>,
    unbiased: Option<bool>,
    default: f64,
) -> Result<f64> {
    if correction.is_some() && ddof.is_some() {
        let message = format!("{op}: correction and ddof are one argument: give only one of them");
        return Err(Class::ArgumentType.raise(message));
    }
    match (correction.or(ddof), unbiased) {
        (Some(_), Some(_)) => {
            Err(Class::ArgumentType
                .raise(format!("{op}: correction and unbiased are one argument: give only one of them")))
        }
        (Some(correction), None) => Ok(correction.0),
        (None, Some(unbiased)) => Ok(unbiased.into()),
        (None, None) => Ok(default),
    }
}

/// The type of a fold, where the array API's differs from PyTorch's, which the methods have.
fn accumulated(x: &Tensor) -> Option<AnyDType> {
    x.dtype().is_unsigned().then_some(AnyDType(DType::U64))
}

/// Folds in a type that integers are widened to.
macro_rules! widening {
    ($($name:ident $doc:literal;)*) => {
        $(
            #[doc = $doc]
            #[explained]
            #[pyfunction]
            #[pyo3(
                signature = (
                    x=None, /, axis=None, keepdims=false, *, dtype=None, dim=None, keepdim=false, initial=None, r#where=None,
                    input=None
                ),
                text_signature = "(x, /, axis=None, keepdims=False, *, dtype=None, dim=None, keepdim=False, initial=None, where=None)"
            )]
            #[allow(clippy::too_many_arguments)]
            fn $name(
                x: Option<AnyTensor>,
                axis: Option<Axes>,
                #[pyo3(from_py_with = flag)] keepdims: bool,
                dtype: Option<AnyDType>,
                dim: Option<Axes>,
                #[pyo3(from_py_with = flag)] keepdim: bool,
                initial: Option<AnyOperand>,
                r#where: Option<AnyTensor>,
                input: Option<AnyTensor>,
            ) -> Made {
                let x = named(stringify!($name), "x", x, input)?;
                let dtype = dtype.or_else(|| accumulated(&x.0));
                PyTensor(x.0).$name(dim, keepdim, axis, keepdims, dtype, initial, r#where)
            }
        )*
    };
}

widening! {
    sum "The sum along axes, by default all; of unsigned integers in `uint64`, of others and bools in `int64`.\n\n\
        `initial` is added to it; elements where `where`, bools of a shape that expands to theirs, is false are left out.";
    prod "The product along axes, by default all; of unsigned integers in `uint64`, of others and bools in `int64`.\n\n\
        It is multiplied by `initial`; elements where `where`, bools of a shape that expands to theirs, is false are left \
        out.";
}

/// The mean along axes, of those elements that `where` takes; of integers in the default float, unless a type is given.
#[explained]
#[pyfunction]
#[pyo3(
    signature = (
        x=None, /, axis=None, keepdims=false, *, dim=None, keepdim=false, dtype=None, r#where=None, input=None
    ),
    text_signature = "(x, /, axis=None, keepdims=False, *, dim=None, keepdim=False, dtype=None, where=None)"
)]
#[allow(clippy::too_many_arguments)]
fn mean(
    x: Option<AnyTensor>,
    axis: Option<Axes>,
    #[pyo3(from_py_with = flag)] keepdims: bool,
    dim: Option<Axes>,
    #[pyo3(from_py_with = flag)] keepdim: bool,
    dtype: Option<AnyDType>,
    r#where: Option<AnyTensor>,
    input: Option<AnyTensor>,
) -> Made {
    PyTensor(named("mean", "x", x, input)?.0).mean(dim, keepdim, axis, keepdims, dtype, r#where)
}

/// The variance along axes, the sum divided by the number of elements less `correction`, by default 0: that of the method
/// is 1, as PyTorch's. A flag in the place of axes is PyTorch's `unbiased`. Of those elements that `where` takes.
#[explained]
#[pyfunction]
#[pyo3(
    signature = (
        x=None, /, axis=None, unbiased=None, keepdims=false, *, correction=None, dim=None, keepdim=false, ddof=None,
        dtype=None, r#where=None, input=None
    ),
    text_signature = "(x, /, axis=None, unbiased=None, keepdims=False, *, correction=0.0, dim=None, keepdim=False, ddof=None, dtype=None, where=None)"
)]
#[allow(clippy::too_many_arguments)]
fn var(
    x: Option<AnyTensor>,
    axis: Option<Spread>,
    unbiased: Option<bool>,
    #[pyo3(from_py_with = flag)] keepdims: bool,
    correction: Option<Real>,
    dim: Option<Axes>,
    #[pyo3(from_py_with = flag)] keepdim: bool,
    ddof: Option<Real>,
    dtype: Option<AnyDType>,
    r#where: Option<AnyTensor>,
    input: Option<AnyTensor>,
) -> Made {
    let x = named("var", "x", x, input)?.0;
    let (axis, unbiased) = Spread::apart("var", axis, unbiased, correction.as_ref())?;
    let correction = corrected("var", correction, ddof, unbiased, 0.0)?;
    let (axes, taken) = (either(axis, dim)?, taken(r#where, None));
    PyTensor(x).in_type(dtype, |x| x.var_of(axes.as_deref(), correction, keepdim || keepdims, &taken))
}

/// The standard deviation along axes; see `var`.
#[explained]
#[pyfunction(name = "std")]
#[pyo3(
    signature = (
        x=None, /, axis=None, unbiased=None, keepdims=false, *, correction=None, dim=None, keepdim=false, ddof=None,
        dtype=None, r#where=None, input=None
    ),
    text_signature = "(x, /, axis=None, unbiased=None, keepdims=False, *, correction=0.0, dim=None, keepdim=False, ddof=None, dtype=None, where=None)"
)]
#[allow(clippy::too_many_arguments)]
fn deviation(
    x: Option<AnyTensor>,
    axis: Option<Spread>,
    unbiased: Option<bool>,
    #[pyo3(from_py_with = flag)] keepdims: bool,
    correction: Option<Real>,
    dim: Option<Axes>,
    #[pyo3(from_py_with = flag)] keepdim: bool,
    ddof: Option<Real>,
    dtype: Option<AnyDType>,
    r#where: Option<AnyTensor>,
    input: Option<AnyTensor>,
) -> Made {
    let x = named("std", "x", x, input)?.0;
    let (axis, unbiased) = Spread::apart("std", axis, unbiased, correction.as_ref())?;
    let correction = corrected("std", correction, ddof, unbiased, 0.0)?;
    let (axes, taken) = (either(axis, dim)?, taken(r#where, None));
    PyTensor(x).in_type(dtype, |x| x.std_of(axes.as_deref(), correction, keepdim || keepdims, &taken))
}

#[explained]
#[pymethods]
impl PyTensor {
    /// The sums of the elements up to each one along an axis; of integers and bools in `int64`.
    /// Without the element itself where it is `exclusive`; in `reverse` of those behind it.
    #[pyo3(signature = (dim=None, *, axis=None, dtype=None, exclusive=false, reverse=false))]
    fn cumsum(
        &self,
        dim: Option<Axis>,
        axis: Option<Axis>,
        dtype: Option<AnyDType>,
        #[pyo3(from_py_with = flag)] exclusive: bool,
        #[pyo3(from_py_with = flag)] reverse: bool,
    ) -> Made {
        let axis = self.named_axis("cumsum", axis, dim)?;
        self.in_type(dtype, |x| x.cumsum_of(axis, Running { exclusive, reverse }))
    }

    /// The products of the elements up to each one along an axis; of integers and bools in `int64`.
    /// Without the element itself where it is `exclusive`; in `reverse` of those behind it.
    #[pyo3(signature = (dim=None, *, axis=None, dtype=None, exclusive=false, reverse=false))]
    fn cumprod(
        &self,
        dim: Option<Axis>,
        axis: Option<Axis>,
        dtype: Option<AnyDType>,
        #[pyo3(from_py_with = flag)] exclusive: bool,
        #[pyo3(from_py_with = flag)] reverse: bool,
    ) -> Made {
        let axis = self.named_axis("cumprod", axis, dim)?;
        self.in_type(dtype, |x| x.cumprod_of(axis, Running { exclusive, reverse }))
    }

    /// The sum along axes, by default all, of those elements that `where` takes and `initial`; of integers and bools in
    /// `int64`.
    #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false, dtype=None, initial=None, r#where=None))]
    #[allow(clippy::too_many_arguments)]
    fn sum(
        &self,
        dim: Option<Axes>,
        #[pyo3(from_py_with = flag)] keepdim: bool,
        axis: Option<Axes>,
        #[pyo3(from_py_with = flag)] keepdims: bool,
        dtype: Option<AnyDType>,
        initial: Option<AnyOperand>,
        r#where: Option<AnyTensor>,
    ) -> Made {
        let (axes, taken) = (either(axis, dim)?, taken(r#where, initial));
        self.in_type(dtype, |x| x.sum_of(axes.as_deref(), keepdim || keepdims, &taken))
    }

    /// The mean along axes, of those elements that `where` takes; of integers in the default float, unless a type is given.
    #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false, dtype=None, r#where=None))]
    fn mean(
        &self,
        dim: Option<Axes>,
        #[pyo3(from_py_with = flag)] keepdim: bool,
        axis: Option<Axes>,
        #[pyo3(from_py_with = flag)] keepdims: bool,
        dtype: Option<AnyDType>,
        r#where: Option<AnyTensor>,
    ) -> Made {
        let (axes, taken) = (either(axis, dim)?, taken(r#where, None));
        self.in_type(dtype, |x| x.mean_of(axes.as_deref(), keepdim || keepdims, &taken))
    }

    /// The product along axes, by default all, of those elements that `where` takes and `initial`; of integers and bools
    /// in `int64`.
    #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false, dtype=None, initial=None, r#where=None))]
    #[allow(clippy::too_many_arguments)]
    fn prod(
        &self,
        dim: Option<Axes>,
        #[pyo3(from_py_with = flag)] keepdim: bool,
        axis: Option<Axes>,
        #[pyo3(from_py_with = flag)] keepdims: bool,
        dtype: Option<AnyDType>,
        initial: Option<AnyOperand>,
        r#where: Option<AnyTensor>,
    ) -> Made {
        let (axes, taken) = (either(axis, dim)?, taken(r#where, initial));
        self.in_type(dtype, |x| x.prod_of(axes.as_deref(), keepdim || keepdims, &taken))
    }

    /// The variance along axes, the sum divided by the number of elements less `correction`, of those that `where` takes.
    ///
    /// What follows the axes goes by name: libraries have different arguments there. A flag in their place is PyTorch's
    /// `unbiased`.
    #[pyo3(
        signature = (
            dim=None, unbiased=None, keepdim=false, *, axis=None, keepdims=false, correction=None, ddof=None,
            dtype=None, r#where=None
        ),
        text_signature = "($self, dim=None, unbiased=None, keepdim=False, *, axis=None, keepdims=False, correction=1.0, ddof=None, dtype=None, where=None)"
    )]
    #[allow(clippy::too_many_arguments)]
    fn var(
        &self,
        dim: Option<Spread>,
        unbiased: Option<bool>,
        #[pyo3(from_py_with = flag)] keepdim: bool,
        axis: Option<Axes>,
        #[pyo3(from_py_with = flag)] keepdims: bool,
        correction: Option<Real>,
        ddof: Option<Real>,
        dtype: Option<AnyDType>,
        r#where: Option<AnyTensor>,
    ) -> Made {
        let (dim, unbiased) = Spread::apart("var", dim, unbiased, correction.as_ref())?;
        let correction = corrected("var", correction, ddof, unbiased, 1.0)?;
        let (axes, taken) = (either(axis, dim)?, taken(r#where, None));
        self.in_type(dtype, |x| x.var_of(axes.as_deref(), correction, keepdim || keepdims, &taken))
    }

    /// The standard deviation along axes; see `var`.
    #[pyo3(
        signature = (
            dim=None, unbiased=None, keepdim=false, *, axis=None, keepdims=false, correction=None, ddof=None,
            dtype=None, r#where=None
        ),
        text_signature = "($self, dim=None, unbiased=None, keepdim=False, *, axis=None, keepdims=False, correction=1.0, ddof=None, dtype=None, where=None)"
    )]
    #[allow(clippy::too_many_arguments)]
    fn std(
        &self,
        dim: Option<Spread>,
        unbiased: Option<bool>,
        #[pyo3(from_py_with = flag)] keepdim: bool,
        axis: Option<Axes>,
        #[pyo3(from_py_with = flag)] keepdims: bool,
        correction: Option<Real>,
        ddof: Option<Real>,
        dtype: Option<AnyDType>,
        r#where: Option<AnyTensor>,
    ) -> Made {
        let (dim, unbiased) = Spread::apart("std", dim, unbiased, correction.as_ref())?;
        let correction = corrected("std", correction, ddof, unbiased, 1.0)?;
        let (axes, taken) = (either(axis, dim)?, taken(r#where, None));
        self.in_type(dtype, |x| x.std_of(axes.as_deref(), correction, keepdim || keepdims, &taken))
    }

    /// The `p`-norm along axes, by default all.
    #[pyo3(signature = (p=2.0, dim=None, keepdim=false, *, axis=None, keepdims=false))]
    fn norm(
        &self,
        #[pyo3(from_py_with = real)] p: f64,
        dim: Option<Axes>,
        #[pyo3(from_py_with = flag)] keepdim: bool,
        axis: Option<Axes>,
        #[pyo3(from_py_with = flag)] keepdims: bool,
    ) -> Made {
        Ok(self.0.norm(p, either(axis, dim)?.as_deref(), keepdim || keepdims)?.into())
    }

    /// The median, of an even number of elements the lower one of the two in the middle; NaN where there is one.
    ///
    /// Of all elements, or with `dim`, by name or position, PyTorch's pair of values along it and where they are;
    /// with `axis`, values.
    #[pyo3(signature = (dim=None, keepdim=false, *, axis=None, keepdims=false))]
    fn median<'py>(
        &self,
        py: Python<'py>,
        dim: Option<Axis>,
        #[pyo3(from_py_with = flag)] keepdim: bool,
        axis: Option<Axis>,
        #[pyo3(from_py_with = flag)] keepdims: bool,
    ) -> Pair<'py> {
        let (values, keep) = (dim.is_none(), (keepdim || keepdims) && self.0.rank() > 0);
        let Some(at) = one_axis(axis, dim)? else {
            let all = self.0.flatten(0, -1)?.median_value(0)?;
            return one(py, if keep { all.reshape(&vec![1; self.0.rank()]) } else { Ok(all) });
        };
        match (values, keep) {
            (false, _) => pair(py, self.0.median(at)?, keep.then_some(at)),
            (true, true) => one(py, self.0.median_value(at)?.unsqueeze(at)),
            (true, false) => one(py, self.0.median_value(at)),
        }
    }

    /// The `k`-th smallest element along an axis, by default the last, counted from 1, and where it is; with `axis`
    /// the element alone.
    #[pyo3(signature = (k, dim=None, keepdim=false, *, axis=None, keepdims=false))]
    fn kthvalue<'py>(
        &self,
        py: Python<'py>,
        k: AnySize,
        dim: Option<Axis>,
        #[pyo3(from_py_with = flag)] keepdim: bool,
        axis: Option<Axis>,
        #[pyo3(from_py_with = flag)] keepdims: bool,
    ) -> Pair<'py> {
        let (only_values, keep) = (axis.is_some(), (keepdim || keepdims) && self.0.rank() > 0);
        let at = one_axis(axis, dim)?.unwrap_or(-1);
        let (values, indices) = self.0.kthvalue(&k.size, at)?;
        let (values, indices) = (values.with_values(&k.values)?, indices.with_values(&k.values)?);
        match (only_values, keep) {
            (false, _) => pair(py, (values, indices), keep.then_some(at)),
            (true, true) => one(py, values.unsqueeze(at)),
            (true, false) => one(py, Ok(values)),
        }
    }

    /// `exp(x)` divided by its sum along an axis.
    #[pyo3(signature = (dim=None, dtype=None, *, axis=None))]
    fn softmax(&self, dim: Option<Axis>, dtype: Option<AnyDType>, axis: Option<Axis>) -> Made {
        let axis = one_axis(axis, dim)?.unwrap_or(-1);
        self.in_type(dtype, |x| x.softmax(axis))
    }

    /// The logarithm of `softmax`.
    #[pyo3(signature = (dim=None, dtype=None, *, axis=None))]
    fn log_softmax(&self, dim: Option<Axis>, dtype: Option<AnyDType>, axis: Option<Axis>) -> Made {
        let axis = one_axis(axis, dim)?.unwrap_or(-1);
        self.in_type(dtype, |x| x.log_softmax(axis))
    }
}

impl PyTensor {
    /// The axis of an operation that has no default one but that of a vector.
    pub fn named_axis(&self, op: &str, axis: Option<Axis>, dim: Option<Axis>) -> Result<i64> {
        let missing =
            || Class::Argument.raise(format!("{op}: along which axis of {}? Write dim=0, say", self.0.described()));
        match one_axis(axis, dim)? {
            Some(axis) => Ok(axis),
            None if self.0.shape().len() == 1 => Ok(0),
            None => Err(missing()),
        }
    }

    /// What `compute` gives of the elements in `dtype`, in that type; without one, of the elements as they are.
    fn in_type(&self, dtype: Option<AnyDType>, compute: impl FnOnce(&Tensor) -> Computed) -> Made {
        match dtype {
            Some(dtype) => Ok(compute(&self.0.cast(dtype.0)?)?.cast(dtype.0)?.into()),
            None => Ok(compute(&self.0)?.into()),
        }
    }
}
