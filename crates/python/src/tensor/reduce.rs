//! Folds, scans, products of matrices, layers.

use pyo3::prelude::*;
use svod_tensor::{Attention, Size, Tensor, TensorError};

use super::{Made, PyTensor};
use crate::convert::{AnyTensor, Axes, Axis, either, one_axis, scale};
use crate::dtype::AnyDType;
use crate::error::{Class, Result};

/// What the core makes.
type Computed = std::result::Result<Tensor, TensorError>;

macro_rules! folds {
    ($($name:ident $doc:literal;)*) => {
        #[pymethods]
        impl PyTensor {
            $(
                #[doc = $doc]
                #[pyo3(signature = (axis=None, keepdim=false, *, dim=None))]
                fn $name(&self, axis: Option<Axes>, keepdim: bool, dim: Option<Axes>) -> Made {
                    Ok(self.0.$name(either(axis, dim)?.as_ref().map(|a| &*a.0), keepdim)?.into())
                }
            )*
        }
    };
}

folds! {
    max "The maximum along axes, by default all; NaN where there is one.";
    min "The minimum along axes, by default all; NaN where there is one.";
    any "Whether an element along axes is not zero.";
    all "Whether all elements along axes are not zero.";
    mean "The mean along axes; of integers in the default float.";
    logsumexp "`log(sum(exp(x)))` along axes, without overflow.";
}

macro_rules! positions {
    ($($name:ident $doc:literal;)*) => {
        #[pymethods]
        impl PyTensor {
            $(
                #[doc = $doc]
                #[pyo3(signature = (axis=None, keepdim=false, *, dim=None))]
                fn $name(&self, axis: Option<Axis>, keepdim: bool, dim: Option<Axis>) -> Made {
                    Ok(self.0.$name(one_axis(axis, dim)?, keepdim)?.into())
                }
            )*
        }
    };
}

positions! {
    argmax "The first index of the maximum along an axis, by default of the flat tensor.";
    argmin "The first index of the minimum along an axis, by default of the flat tensor.";
}

macro_rules! along {
    ($($name:ident $doc:literal;)*) => {
        #[pymethods]
        impl PyTensor {
            $(
                #[doc = $doc]
                #[pyo3(signature = (axis=None, *, dim=None))]
                fn $name(&self, axis: Option<Axis>, dim: Option<Axis>) -> Made {
                    Ok(self.0.$name(self.named_axis(stringify!($name), axis, dim)?)?.into())
                }
            )*
        }
    };
}

along! {
    cummax "The maxima of the elements up to each one along an axis.";
    cummin "The minima of the elements up to each one along an axis.";
}

#[pymethods]
impl PyTensor {
    /// The sums of the elements up to each one along an axis; of integers and bools in `int64`.
    #[pyo3(signature = (axis=None, *, dim=None, dtype=None))]
    fn cumsum(&self, axis: Option<Axis>, dim: Option<Axis>, dtype: Option<AnyDType>) -> Made {
        let axis = self.named_axis("cumsum", axis, dim)?;
        self.in_type(dtype, |x| x.cumsum(axis))
    }

    /// The products of the elements up to each one along an axis; of integers and bools in `int64`.
    #[pyo3(signature = (axis=None, *, dim=None, dtype=None))]
    fn cumprod(&self, axis: Option<Axis>, dim: Option<Axis>, dtype: Option<AnyDType>) -> Made {
        let axis = self.named_axis("cumprod", axis, dim)?;
        self.in_type(dtype, |x| x.cumprod(axis))
    }

    /// The sum along axes, by default all; of integers and bools in `int64`.
    #[pyo3(signature = (axis=None, keepdim=false, *, dim=None, dtype=None))]
    fn sum(&self, axis: Option<Axes>, keepdim: bool, dim: Option<Axes>, dtype: Option<AnyDType>) -> Made {
        let axes = either(axis, dim)?;
        let axes = axes.as_ref().map(|a| &*a.0);
        self.in_type(dtype, |x| x.sum(axes, keepdim))
    }

    /// The product along axes, by default all; of integers and bools in `int64`.
    #[pyo3(signature = (axis=None, keepdim=false, *, dim=None, dtype=None))]
    fn prod(&self, axis: Option<Axes>, keepdim: bool, dim: Option<Axes>, dtype: Option<AnyDType>) -> Made {
        let axes = either(axis, dim)?;
        let axes = axes.as_ref().map(|a| &*a.0);
        self.in_type(dtype, |x| x.prod(axes, keepdim))
    }

    /// The variance along axes, the sum divided by the number of elements less `correction`.
    #[pyo3(signature = (axis=None, keepdim=false, *, correction=1.0, dim=None))]
    fn var(&self, axis: Option<Axes>, keepdim: bool, correction: f64, dim: Option<Axes>) -> Made {
        Ok(self.0.var(either(axis, dim)?.as_ref().map(|a| &*a.0), correction, keepdim)?.into())
    }

    /// The standard deviation along axes; see `var`.
    #[pyo3(signature = (axis=None, keepdim=false, *, correction=1.0, dim=None))]
    fn std(&self, axis: Option<Axes>, keepdim: bool, correction: f64, dim: Option<Axes>) -> Made {
        Ok(self.0.std(either(axis, dim)?.as_ref().map(|a| &*a.0), correction, keepdim)?.into())
    }

    /// The `p`-norm along axes, by default all.
    #[pyo3(signature = (p=2.0, axis=None, keepdim=false, *, dim=None))]
    fn norm(&self, p: f64, axis: Option<Axes>, keepdim: bool, dim: Option<Axes>) -> Made {
        Ok(self.0.norm(p, either(axis, dim)?.as_ref().map(|a| &*a.0), keepdim)?.into())
    }

    /// `exp(x)` divided by its sum along an axis.
    #[pyo3(signature = (axis=None, *, dim=None))]
    fn softmax(&self, axis: Option<Axis>, dim: Option<Axis>) -> Made {
        Ok(self.0.softmax(one_axis(axis, dim)?.unwrap_or(-1))?.into())
    }

    /// The logarithm of `softmax`.
    #[pyo3(signature = (axis=None, *, dim=None))]
    fn log_softmax(&self, axis: Option<Axis>, dim: Option<Axis>) -> Made {
        Ok(self.0.log_softmax(one_axis(axis, dim)?.unwrap_or(-1))?.into())
    }

    /// The matrix product, by NumPy's rules.
    fn matmul(&self, other: AnyTensor) -> Made {
        Ok(self.0.matmul(&other.0)?.into())
    }

    /// As `matmul`.
    fn dot(&self, other: AnyTensor) -> Made {
        self.matmul(other)
    }

    /// The products of each element of one 1-d tensor with each of another.
    fn outer(&self, other: AnyTensor) -> Made {
        Ok(self.0.outer(&other.0)?.into())
    }

    /// `self @ weight.T + bias` with weights `[out, in]`.
    #[pyo3(signature = (weight, bias=None))]
    fn linear(&self, weight: AnyTensor, bias: Option<AnyTensor>) -> Made {
        Ok(self.0.linear(&weight.0, bias.as_ref().map(|b| &b.0))?.into())
    }

    /// The last axes, as many as `weight` has and by default one, with mean 0 and variance 1, then
    /// scaled by `weight` and shifted by `bias`; `svod.nn.functional.layer_norm` takes a shape first.
    #[pyo3(signature = (weight=None, bias=None, eps=1e-5))]
    fn layer_norm(&self, weight: Option<&Bound<'_, PyAny>>, bias: Option<AnyTensor>, eps: f64) -> Made {
        let (weight, bias) = (weight.map(|w| scale("layer_norm", w)).transpose()?, bias.map(|b| b.0));
        let shape = self.normalized(weight.as_ref().or(bias.as_ref()));
        Ok(self.0.layer_norm(&shape, weight.as_ref(), bias.as_ref(), eps)?.into())
    }

    /// The last axes divided by the root of their mean square, then scaled by `weight`;
    /// `svod.nn.functional.rms_norm` takes a shape first.
    #[pyo3(signature = (weight=None, eps=1e-6))]
    fn rms_norm(&self, weight: Option<&Bound<'_, PyAny>>, eps: f64) -> Made {
        let weight = weight.map(|w| scale("rms_norm", w)).transpose()?;
        Ok(self.0.rms_norm(&self.normalized(weight.as_ref()), weight.as_ref(), eps)?.into())
    }

    /// Divided by its `p`-norm along an axis, or by `eps` where that is greater.
    #[pyo3(signature = (p=2.0, dim=1, eps=1e-12))]
    fn normalize(&self, p: f64, dim: i64, eps: f64) -> Made {
        Ok(self.0.normalize(p, dim, eps)?.into())
    }

    /// Attention over `[.., length, depth]`: `softmax(self @ key.T * scale + mask) @ value`.
    ///
    /// A bool mask says which keys take part, a float one is added; `is_causal` lets no query see
    /// later keys; `scale` is `1 / sqrt(depth)` unless given. With `enable_gqa` each head of keys and
    /// values (axis -3) serves a group of heads of queries. One kernel; the scores are never in memory.
    #[pyo3(signature = (key, value, attn_mask=None, *, is_causal=false, scale=None, enable_gqa=false))]
    fn scaled_dot_product_attention(
        &self,
        key: AnyTensor,
        value: AnyTensor,
        attn_mask: Option<AnyTensor>,
        is_causal: bool,
        scale: Option<f64>,
        enable_gqa: bool,
    ) -> Made {
        let mask = attn_mask.as_ref().map(|m| &m.0);
        let how = Attention { mask, causal: is_causal, scale, grouped: enable_gqa };
        Ok(self.0.scaled_dot_product_attention(&key.0, &value.0, how)?.into())
    }
}

impl PyTensor {
    /// The axis of an operation that has no default one.
    fn named_axis(&self, op: &str, axis: Option<Axis>, dim: Option<Axis>) -> Result<i64> {
        let missing = || Class::Argument.raise(format!("{op}: along which axis of {}?", self.0.described()));
        one_axis(axis, dim)?.ok_or_else(missing)
    }

    /// What `compute` gives of the elements in `dtype`, in that type; without one, of the elements as they are.
    fn in_type(&self, dtype: Option<AnyDType>, compute: impl FnOnce(&Tensor) -> Computed) -> Made {
        match dtype {
            Some(dtype) => Ok(compute(&self.0.cast(dtype.0)?)?.cast(dtype.0)?.into()),
            None => Ok(compute(&self.0)?.into()),
        }
    }

    /// The shape of the axes that a layer normalizes.
    fn normalized(&self, weight: Option<&Tensor>) -> Vec<Size> {
        match weight {
            Some(weight) => weight.shape(),
            None => self.0.shape().last().cloned().into_iter().collect(),
        }
    }
}
