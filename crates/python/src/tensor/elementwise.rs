//! Functions of each element.

use pyo3::prelude::*;
use svod_dtype::DType;
use svod_tensor::{Operand, Tensor};

use super::{Made, MadeSelf, PyTensor};
use crate::convert::{AnyOperand, AnyTensor, named};
use crate::dtype::AnyDType;
use crate::error::{Class, Result};
use crate::scalar::{Text, real};

/// Adds the functions of this file's tables to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    register_unary(module)?;
    register_with_multiples(module)?;
    register_binary(module)?;
    module.add_function(wrap_pyfunction!(conj, module)?)?;
    module.add_function(wrap_pyfunction!(contiguous, module)?)?;
    module.add_function(wrap_pyfunction!(round, module)?)
}

/// The numbers with imaginary parts of the opposite sign.
#[explained]
#[pyfunction]
#[pyo3(signature = (x=None, /, *, input=None), text_signature = "(x, /)")]
fn conj(x: Option<AnyTensor>, input: Option<AnyTensor>) -> Made {
    conj_of(&named("conj", "x", x, input)?.0)
}

/// A view, as in PyTorch, of complex numbers too.
fn conj_of(x: &Tensor) -> Made {
    Ok(x.conj()?.viewing(x, "conj").into())
}

/// The same value, dense in memory of its own once it is realized.
///
/// >>> import svod
/// >>> svod.contiguous(svod.ones(2, 3).T).shape
/// (3, 2)
#[explained]
#[pyfunction]
#[pyo3(signature = (x=None, /, *, input=None), text_signature = "(x, /)")]
fn contiguous(x: Option<AnyTensor>, input: Option<AnyTensor>) -> Made {
    contiguous_of(&named("contiguous", "x", x, input)?.0)
}

/// A view where the elements are dense already: PyTorch gives the tensor itself, which is written to with it.
fn contiguous_of(x: &Tensor) -> Made {
    let made = x.contiguous()?;
    Ok(if x.is_dense() { made.viewing(x, "contiguous") } else { made }.into())
}

impl PyTensor {
    /// Each value as another type; a view where it has the type already: PyTorch gives the tensor itself, which is written
    /// to with it.
    fn cast_by(&self, op: &'static str, dtype: DType) -> Made {
        let made = Ok(self.0.cast(dtype)?.into());
        if dtype == self.0.dtype() { self.view_by(op, made) } else { made }
    }
}

/// The nearest integer, ties to even, in the same type; with `decimals` so many places behind the point, or before.
///
/// >>> import svod
/// >>> svod.round(svod.Tensor([1234.5678]), decimals=-2).tolist()
/// [1200.0]
#[explained]
#[pyfunction]
#[pyo3(signature = (x=None, /, decimals=0, *, input=None), text_signature = "(x, /, decimals=0)")]
fn round(x: Option<AnyTensor>, decimals: i64, input: Option<AnyTensor>) -> Made {
    Ok(named("round", "x", x, input)?.0.round_to(decimals)?.into())
}

/// Rows of a function of the core, its names, and what it computes: each name is a method and a function.
macro_rules! unary {
    ($($core:ident: $($name:ident)+, $doc:literal;)*) => {
        #[explained]
        #[pymethods]
        impl PyTensor {
            $($(#[doc = $doc] fn $name(&self) -> Made {
                Ok(self.0.$core()?.into())
            })+)*
        }

        mod unary {
            use super::*;

            $($(#[doc = $doc] #[explained] #[pyfunction] #[pyo3(signature = (x=None, /, *, input=None), text_signature = "(x, /)")]
            pub fn $name(x: Option<AnyTensor>, input: Option<AnyTensor>) -> Made {
                Ok(named(stringify!($name), "x", x, input)?.0.$core()?.into())
            })+)*
        }

        fn register_unary(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $($(module.add_function(wrap_pyfunction!(unary::$name, module)?)?;)+)*
            Ok(())
        }
    };
}

unary! {
    neg: neg negative, "`-x`; wraps on integers.";
    bitwise_not: bitwise_not bitwise_invert, "Each bit inverted; logical on bools.";
    sqrt: sqrt, "Square root.";
    rsqrt: rsqrt, "`1 / sqrt(x)`.";
    reciprocal: reciprocal, "`1 / x`.";
    square: square, "`x * x`.";
    exp: exp, "Natural exponential.";
    exp2: exp2, "Exponential with base 2.";
    expm1: expm1, "`exp(x) - 1`, exactly of small `x` too.";
    log: log, "Natural logarithm.";
    log2: log2, "Logarithm to base 2.";
    log10: log10, "Logarithm to base 10.";
    log1p: log1p, "`log(1 + x)`, exactly of small `x` too.";
    sin: sin, "Sine of an angle in radians.";
    cos: cos, "Cosine of an angle in radians.";
    tan: tan, "Tangent of an angle in radians.";
    atan: atan arctan, "Arc tangent, in radians.";
    tanh: tanh, "Hyperbolic tangent.";
    erf: erf, "The error function.";
    floor: floor, "The largest integer not above, in the same type.";
    ceil: ceil, "The smallest integer not below, in the same type.";
    trunc: trunc, "The integer part, in the same type.";
    abs: abs absolute, "`|x|`; wraps on integers.";
    angle: angle, "The angle of each complex number, from -π to π; of real ones 0 or π, by their sign.";
    sign: sign, "-1, 0 or 1; NaN is kept. Of complex numbers `x / |x|`.";
    sigmoid: sigmoid, "`1 / (1 + exp(-x))`.";
    relu: relu, "`max(x, 0)`.";
    silu: silu, "`x * sigmoid(x)`.";
    softplus: softplus, "`log(1 + exp(x))`, without overflow.";
    isnan: isnan, "Whether an element is NaN.";
    isinf: isinf, "Whether an element is infinite.";
    isfinite: isfinite, "Whether an element is neither infinite nor NaN.";
    logical_not: logical_not, "Whether an element is zero.";
    contiguous_backward: contiguous_backward, "The same value, whose gradient is made dense in memory of its own before it goes on.";
}

/// As [`unary!`], of two operands, either of which may be a scalar; the second one with PyTorch's name for it.
macro_rules! binary {
    ($($core:ident($other:ident): $($name:ident)+, $doc:literal;)*) => {
        #[explained]
        #[pymethods]
        impl PyTensor {
            $($(#[doc = $doc] fn $name(&self, $other: AnyOperand) -> Made {
                Ok(self.0.$core($other.0)?.into())
            })+)*
        }

        mod binary {
            use super::*;

            $($(#[doc = $doc] #[explained] #[pyfunction]
            #[pyo3(signature = (x1=None, x2=None, /, *, input=None, $other=None), text_signature = "(x1, x2, /)")]
            pub fn $name(
                x1: Option<AnyOperand>,
                x2: Option<AnyOperand>,
                input: Option<AnyOperand>,
                $other: Option<AnyOperand>,
            ) -> Made {
                let op = stringify!($name);
                let (x1, x2) = (named(op, "x1", x1, input)?, named(op, "x2", x2, $other)?);
                Ok(Tensor::beside(x1.0, &x2.0)?.$core(x2.0)?.into())
            })+)*
        }

        fn register_binary(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $($(module.add_function(wrap_pyfunction!(binary::$name, module)?)?;)+)*
            Ok(())
        }
    };
}

binary! {
    mul(other): mul multiply, "Product; logical and on bools.";
    floor_div(other): floor_divide, "Quotient rounded down; an integer divided by 0 gives 0.";
    modulo(other): remainder, "Remainder of `floor_divide`, of the divisor's sign; by an integer 0 it is 0.";
    pow(exponent): pow, "Power.";
    maximum(other): maximum, "The greater; NaN where one is.";
    minimum(other): minimum, "The lesser; NaN where one is.";
    bitwise_and(other): bitwise_and, "Bitwise and; logical on bools.";
    bitwise_or(other): bitwise_or, "Bitwise or; logical on bools.";
    bitwise_xor(other): bitwise_xor, "Bitwise exclusive or; logical on bools.";
    shl(other): bitwise_left_shift, "Left shift; 0 when shifted by the width or more.";
    shr(other): bitwise_right_shift, "Right shift, arithmetic on signed types.";
    eq(other): eq equal, "`x == y`, false with NaN.";
    ne(other): ne not_equal, "`x != y`, true with NaN.";
    lt(other): lt less, "`x < y`, false with NaN.";
    le(other): le less_equal, "`x <= y`, false with NaN.";
    gt(other): gt greater, "`x > y`, false with NaN.";
    ge(other): ge greater_equal, "`x >= y`, false with NaN.";
    logical_and(other): logical_and, "Whether both are not zero.";
    logical_or(other): logical_or, "Whether one is not zero.";
    logical_xor(other): logical_xor, "Whether exactly one is not zero.";
}

/// Rows of a method that assigns, of the function of the core whose result it assigns, and of what that takes.
macro_rules! in_place {
    ($($name:ident: $core:ident($($other:ident)?), $doc:literal;)*) => {
        #[explained]
        #[pymethods]
        impl PyTensor {
            $(#[doc = $doc] fn $name<'py>(slf: Bound<'py, Self> $(, $other: AnyOperand)?) -> MadeSelf<'py> {
                let (op, tensor) = (stringify!($name), &slf.get().0);
                tensor.become_same_kind(op, &tensor.$core($($other.0)?)?)?;
                Ok(slf)
            })*
        }
    };
}

in_place! {
    mul_: mul(other), "Becomes `x * other`.";
    div_: div(other), "Becomes `x / other`.";
    floor_divide_: floor_div(other), "Becomes `x // other`.";
    remainder_: modulo(other), "Becomes `x % other`.";
    pow_: pow(other), "Becomes `x ** other`.";
    fill_: filled(value), "Becomes one value everywhere.";
    neg_: neg(), "Becomes `-x`.";
    abs_: abs(), "Becomes `|x|`.";
    exp_: exp(), "Becomes `exp(x)`.";
    log_: log(), "Becomes `log(x)`.";
    sqrt_: sqrt(), "Becomes `sqrt(x)`.";
    reciprocal_: reciprocal(), "Becomes `1 / x`.";
    floor_: floor(), "Becomes the largest integers not above.";
    ceil_: ceil(), "Becomes the smallest integers not below.";
    round_: round(), "Becomes the nearest integers, ties to even.";
    relu_: relu(), "Becomes `max(x, 0)`.";
    sigmoid_: sigmoid(), "Becomes `1 / (1 + exp(-x))`.";
    tanh_: tanh(), "Becomes the hyperbolic tangents.";
}

/// As [`binary!`] and [`in_place!`], of what takes a multiple of the second operand, as PyTorch has it.
macro_rules! with_multiples {
    ($($core:ident: $($name:ident)+, $assigning:ident, $doc:literal, $becomes:literal;)*) => {
        #[explained]
        #[pymethods]
        impl PyTensor {
            $($(#[doc = $doc] #[pyo3(signature = (other, *, alpha=None))]
            fn $name(&self, other: AnyOperand, alpha: Option<AnyOperand>) -> Made {
                Ok(self.0.$core(multiple(&(&self.0).into(), other.0, alpha)?)?.into())
            })+

            #[doc = $becomes]
            #[pyo3(signature = (other, *, alpha=None))]
            fn $assigning<'py>(
                slf: Bound<'py, Self>,
                other: AnyOperand,
                alpha: Option<AnyOperand>,
            ) -> MadeSelf<'py> {
                let (op, tensor) = (stringify!($assigning), &slf.get().0);
                tensor.become_same_kind(op, &tensor.$core(multiple(&tensor.into(), other.0, alpha)?)?)?;
                Ok(slf)
            })*
        }

        mod with_multiples {
            use super::*;

            $($(#[doc = $doc] #[explained] #[pyfunction] #[pyo3(
                signature = (x1=None, x2=None, /, *, alpha=None, input=None, other=None),
                text_signature = "(x1, x2, /, *, alpha=None)"
            )]
            pub fn $name(
                x1: Option<AnyOperand>,
                x2: Option<AnyOperand>,
                alpha: Option<AnyOperand>,
                input: Option<AnyOperand>,
                other: Option<AnyOperand>,
            ) -> Made {
                let op = stringify!($name);
                let (x1, x2) = (named(op, "x1", x1, input)?, named(op, "x2", x2, other)?);
                let x2 = multiple(&x1.0, x2.0, alpha)?;
                Ok(Tensor::beside(x1.0, &x2)?.$core(x2)?.into())
            })+)*
        }

        fn register_with_multiples(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $($(module.add_function(wrap_pyfunction!(with_multiples::$name, module)?)?;)+)*
            Ok(())
        }
    };
}

with_multiples! {
    add: add, add_, "Sum, of `alpha` times the second; logical or on bools.", "Becomes `x + alpha * other`.";
    sub: sub subtract, sub_, "Difference, less `alpha` times the second.", "Becomes `x - alpha * other`.";
}

/// An operand times a number, if there is one, in the type in which the operand meets another.
fn multiple(beside: &Operand, operand: Operand, by: Option<AnyOperand>) -> Result<Operand> {
    let Some(by) = by else { return Ok(operand) };
    let common = Tensor::promoted(&[beside.clone(), operand])?.pop();
    let operand = common.expect("as many tensors as operands are given");
    Ok(Operand::Tensor(operand.mul(by.0)?))
}

macro_rules! casts {
    ($($name:ident $dtype:ident $doc:literal;)*) => {
        #[explained]
        #[pymethods]
        impl PyTensor {
            $(#[doc = $doc] fn $name(&self) -> Made {
                self.cast_by(stringify!($name), DType::$dtype)
            })*
        }
    };
}

casts! {
    bool Bool "As `bool`: whether an element is not zero.";
    half F16 "As `float16`.";
    bfloat16 BF16 "As `bfloat16`.";
    float F32 "As `float32`.";
    double F64 "As `float64`.";
    short I16 "As `int16`.";
    int I32 "As `int32`.";
    long I64 "As `int64`.";
    cfloat C64 "As `complex64`.";
    cdouble C128 "As `complex128`.";
}

#[explained]
#[pymethods]
impl PyTensor {
    /// The numbers with imaginary parts of the opposite sign.
    fn conj(&self) -> Made {
        conj_of(&self.0)
    }

    /// The same value without gradient.
    fn detach(&self) -> Made {
        self.view_by("detach", Ok(self.0.detach()?.into()))
    }

    /// As `div`, by NumPy's names.
    fn divide(&self, other: AnyOperand) -> Made {
        self.div(other, None)
    }

    /// True quotient, a float; with `rounding_mode` "floor" or "trunc" rounded, of integers an integer.
    #[pyo3(signature = (other, *, rounding_mode=None))]
    fn div(&self, other: AnyOperand, rounding_mode: Option<Text>) -> Made {
        Ok(match rounding_mode.as_deref() {
            None => self.0.div(other.0)?,
            Some("floor") => self.0.floor_div(other.0)?,
            Some("trunc") => self.0.trunc_div(other.0)?,
            Some(mode) => {
                let message = format!("div: rounding_mode is None, 'floor' or 'trunc', not '{mode}'");
                return Err(Class::Argument.raise(message));
            }
        }
        .into())
    }

    /// The nearest integer, ties to even, in the same type; with `decimals` so many places behind the point, or before.
    #[pyo3(signature = (decimals=0))]
    fn round(&self, decimals: i64) -> Made {
        Ok(self.0.round_to(decimals)?.into())
    }

    /// Python's `round`, which gives a tensor as `Tensor.round` does.
    #[pyo3(signature = (ndigits=None))]
    fn __round__(&self, ndigits: Option<i64>) -> Made {
        self.round(ndigits.unwrap_or(0))
    }

    /// The same value, dense in memory of its own once it is realized. What is dense already can be assigned to once this
    /// tensor is no longer in use; `clone` it to assign to it before.
    fn contiguous(&self) -> Made {
        contiguous_of(&self.0)
    }

    /// Each value as another type: floats truncate and saturate to integers, integers wrap. What has the type already can
    /// be assigned to once this tensor is no longer in use; `clone` it to assign to it before.
    fn cast(&self, dtype: AnyDType) -> Made {
        self.cast_by("cast", dtype.0)
    }

    /// As `cast`, by NumPy's name: a copy, which can be assigned to.
    fn astype(&self, dtype: AnyDType) -> Made {
        Ok(self.0.cast(dtype.0)?.into())
    }

    /// As `cast`, by PyTorch's name.
    #[pyo3(name = "type")]
    fn type_(&self, dtype: AnyDType) -> Made {
        self.cast_by("type", dtype.0)
    }

    /// The bits of each value as another type of the same width.
    fn bitcast(&self, dtype: AnyDType) -> Made {
        Ok(self.0.bitcast(dtype.0)?.into())
    }

    /// `x * Φ(x)`, exactly, or with `approximate="tanh"` by its authors' approximation.
    #[pyo3(signature = (approximate=None), text_signature = "($self, approximate=\"none\")")]
    fn gelu(&self, approximate: Option<Text>) -> Made {
        match approximate.as_deref().unwrap_or("none") {
            "none" => Ok(self.0.gelu()?.into()),
            "tanh" => Ok(self.0.gelu_tanh()?.into()),
            other => {
                let message = format!("gelu: approximate is 'none' or 'tanh', not '{other}'");
                Err(Class::Argument.raise(message))
            }
        }
    }

    /// `x` where it is positive, else `negative_slope * x`.
    #[pyo3(signature = (negative_slope=0.01))]
    fn leaky_relu(&self, #[pyo3(from_py_with = real)] negative_slope: f64) -> Made {
        Ok(self.0.leaky_relu(negative_slope)?.into())
    }

    /// Not below `min` and not above `max`; NaN stays.
    #[pyo3(signature = (min=None, max=None))]
    fn clamp(&self, min: Option<AnyOperand>, max: Option<AnyOperand>) -> Made {
        if min.is_none() && max.is_none() {
            return Err(Class::Argument.raise("clamp: give min, max or both"));
        }
        Ok(self.0.clamp(min.map(|m| m.0), max.map(|m| m.0))?.into())
    }

    /// As `clamp`, by NumPy's name.
    #[pyo3(signature = (min=None, max=None))]
    fn clip(&self, min: Option<AnyOperand>, max: Option<AnyOperand>) -> Made {
        self.clamp(min, max)
    }

    /// `self + weight * (end - self)`.
    fn lerp(&self, end: AnyOperand, weight: AnyOperand) -> Made {
        Ok(self.0.lerp(end.0, weight.0)?.into())
    }

    /// `self` where the condition holds, else `other`.
    #[pyo3(name = "where")]
    fn where_(&self, condition: AnyTensor, other: AnyOperand) -> Made {
        Ok(self.0.where_(&condition.0, other.0)?.into())
    }

    /// `value` where the mask holds, else `self`.
    fn masked_fill(&self, mask: AnyTensor, value: AnyOperand) -> Made {
        Ok(Tensor::select(&mask.0, value.0, &self.0)?.cast(self.0.dtype())?.into())
    }

    /// Becomes zeros.
    fn zero_(slf: Bound<'_, Self>) -> Result<Bound<'_, Self>> {
        slf.get().0.become_same_kind("zero_", &slf.get().0.filled(0)?)?;
        Ok(slf)
    }

    /// Becomes not below `min` and not above `max`; NaN stays.
    #[pyo3(signature = (min=None, max=None))]
    fn clamp_<'py>(slf: Bound<'py, Self>, min: Option<AnyOperand>, max: Option<AnyOperand>) -> MadeSelf<'py> {
        slf.get().0.become_same_kind("clamp_", &slf.get().clamp(min, max)?.0)?;
        Ok(slf)
    }

    /// One value in this tensor's shape and type.
    fn full_like(&self, fill_value: AnyOperand) -> Made {
        Ok(self.0.full_like(fill_value.0)?.into())
    }

    /// Zeros in this tensor's shape and type.
    fn zeros_like(&self) -> Made {
        Ok(self.0.full_like(0)?.into())
    }

    /// Ones in this tensor's shape and type.
    fn ones_like(&self) -> Made {
        Ok(self.0.full_like(1)?.into())
    }
}
