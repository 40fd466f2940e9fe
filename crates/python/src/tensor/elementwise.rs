//! Functions of each element.

use pyo3::prelude::*;
use svod_dtype::DType;
use svod_tensor::Tensor;

use super::{Made, PyTensor};
use crate::convert::{AnyOperand, AnyTensor};
use crate::dtype::AnyDType;
use crate::error::Class;

macro_rules! unary {
    ($($name:ident $doc:literal;)*) => {
        #[pymethods]
        impl PyTensor {
            $(#[doc = $doc] fn $name(&self) -> Made {
                Ok(self.0.$name()?.into())
            })*
        }
    };
}

unary! {
    neg "`-x`; wraps on integers.";
    bitwise_not "Each bit inverted; logical on bools.";
    sqrt "Square root.";
    rsqrt "`1 / sqrt(x)`.";
    reciprocal "`1 / x`.";
    square "`x * x`.";
    exp "Natural exponential.";
    exp2 "Exponential with base 2.";
    log "Natural logarithm.";
    log2 "Logarithm to base 2.";
    sin "Sine of an angle in radians.";
    cos "Cosine of an angle in radians.";
    tan "Tangent of an angle in radians.";
    tanh "Hyperbolic tangent.";
    erf "The error function.";
    floor "The largest integer not above, in the same type.";
    ceil "The smallest integer not below, in the same type.";
    round "The nearest integer, ties to even, in the same type.";
    trunc "The integer part, in the same type.";
    abs "`|x|`; wraps on integers.";
    sign "-1, 0 or 1; NaN is kept.";
    sigmoid "`1 / (1 + exp(-x))`.";
    relu "`max(x, 0)`.";
    silu "`x * sigmoid(x)`.";
    softplus "`log(1 + exp(x))`, without overflow.";
    isnan "Whether an element is NaN.";
    isinf "Whether an element is infinite.";
    isfinite "Whether an element is neither infinite nor NaN.";
    logical_not "Whether an element is zero.";
    contiguous "The same value, dense in memory of its own once it is realized.";
}

macro_rules! binary {
    ($($name:ident $function:ident $doc:literal;)*) => {
        #[pymethods]
        impl PyTensor {
            $(#[doc = $doc] fn $name(&self, other: AnyOperand) -> Made {
                Ok(self.0.$function(other.0)?.into())
            })*
        }
    };
}

binary! {
    add add "Sum; logical or on bools.";
    sub sub "Difference.";
    mul mul "Product; logical and on bools.";
    floor_divide floor_div "Quotient rounded down; an integer divided by 0 gives 0.";
    remainder modulo "Remainder of `floor_divide`, of the divisor's sign; by an integer 0 it is 0.";
    pow pow "Power.";
    maximum maximum "The greater; NaN where one is.";
    minimum minimum "The lesser; NaN where one is.";
    bitwise_and bitwise_and "Bitwise and; logical on bools.";
    bitwise_or bitwise_or "Bitwise or; logical on bools.";
    bitwise_xor bitwise_xor "Bitwise exclusive or; logical on bools.";
    bitwise_left_shift shl "Left shift; 0 when shifted by the width or more.";
    bitwise_right_shift shr "Right shift, arithmetic on signed types.";
    eq eq "`self == other`, false with NaN.";
    ne ne "`self != other`, true with NaN.";
    lt lt "`self < other`, false with NaN.";
    le le "`self <= other`, false with NaN.";
    gt gt "`self > other`, false with NaN.";
    ge ge "`self >= other`, false with NaN.";
    logical_and logical_and "Whether both are not zero.";
    logical_or logical_or "Whether one is not zero.";
    logical_xor logical_xor "Whether exactly one is not zero.";
}

macro_rules! casts {
    ($($name:ident $dtype:ident $doc:literal;)*) => {
        #[pymethods]
        impl PyTensor {
            $(#[doc = $doc] fn $name(&self) -> Made {
                Ok(self.0.cast(DType::$dtype)?.into())
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
}

#[pymethods]
impl PyTensor {
    /// The same value without gradient.
    fn detach(&self) -> Made {
        self.view_by("detach", Ok(self.0.detach()?.into()))
    }

    /// True quotient, integers becoming floats; with `rounding_mode` "floor" or "trunc" rounded.
    #[pyo3(signature = (other, *, rounding_mode=None))]
    fn div(&self, other: AnyOperand, rounding_mode: Option<&str>) -> Made {
        Ok(match rounding_mode {
            None => self.0.div(other.0)?,
            Some("floor") => self.0.floor_div(other.0)?,
            Some("trunc") => self.0.div(other.0)?.trunc()?,
            Some(mode) => {
                let message = format!("div: rounding_mode is None, 'floor' or 'trunc', not '{mode}'");
                return Err(Class::Argument.raise(message));
            }
        }
        .into())
    }

    /// Each value as another type: floats truncate and saturate to integers, integers wrap.
    fn cast(&self, dtype: AnyDType) -> Made {
        Ok(self.0.cast(dtype.0)?.into())
    }

    /// As `cast`, by NumPy's name.
    fn astype(&self, dtype: AnyDType) -> Made {
        self.cast(dtype)
    }

    /// As `cast`, by PyTorch's name.
    #[pyo3(name = "type")]
    fn type_(&self, dtype: AnyDType) -> Made {
        self.cast(dtype)
    }

    /// The bits of each value as another type of the same width.
    fn bitcast(&self, dtype: AnyDType) -> Made {
        Ok(self.0.bitcast(dtype.0)?.into())
    }

    /// `x * Φ(x)`, exactly, or with `approximate="tanh"` by its authors' approximation.
    #[pyo3(signature = (approximate="none"))]
    fn gelu(&self, approximate: &str) -> Made {
        match approximate {
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
    fn leaky_relu(&self, negative_slope: f64) -> Made {
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
