//! Products of matrices, and layers of networks.

use pyo3::prelude::*;
use svod_tensor::{Attention, Size, Tensor, TensorError};

use super::{Made, PyTensor};
use crate::convert::{AnyMember, AnyTensor, Axis, one_axis, scale};
use crate::scalar::{Real, flag, real};

#[explained]
#[pymethods]
impl PyTensor {
    /// The matrix product, by NumPy's rules.
    fn matmul(&self, other: AnyMember) -> Made {
        Ok(self.0.matmul(&self.beside(other)?)?.into())
    }

    /// As `matmul`.
    fn dot(&self, other: AnyMember) -> Made {
        self.matmul(other)
    }

    /// The products of each element of one 1-d tensor with each of another.
    fn outer(&self, other: AnyMember) -> Made {
        Ok(self.0.outer(&self.beside(other)?)?.into())
    }

    /// `self @ weight.T + bias` with weights `[out, in]`.
    #[pyo3(signature = (weight, bias=None))]
    fn linear(&self, weight: AnyMember, bias: Option<AnyMember>) -> Made {
        let bias = bias.map(|bias| self.beside(bias)).transpose()?;
        Ok(self.0.linear(&self.beside(weight)?, bias.as_ref())?.into())
    }

    /// The last axes, as many as `weight` has and by default one, with mean 0 and variance 1, then
    /// scaled by `weight` and shifted by `bias`; `svod.nn.functional.layer_norm` takes a shape first.
    #[pyo3(signature = (weight=None, bias=None, eps=1e-5))]
    fn layer_norm(
        &self,
        weight: Option<&Bound<'_, PyAny>>,
        bias: Option<AnyTensor>,
        #[pyo3(from_py_with = real)] eps: f64,
    ) -> Made {
        let (weight, bias) = (weight.map(|w| scale("layer_norm", w)).transpose()?, bias.map(|b| b.0));
        let shape = self.normalized(weight.as_ref().or(bias.as_ref()));
        Ok(self.0.layer_norm(&shape, weight.as_ref(), bias.as_ref(), eps)?.into())
    }

    /// The last axes divided by the root of their mean square, then scaled by `weight`;
    /// `svod.nn.functional.rms_norm` takes a shape first.
    #[pyo3(signature = (weight=None, eps=1e-6))]
    fn rms_norm(&self, weight: Option<&Bound<'_, PyAny>>, #[pyo3(from_py_with = real)] eps: f64) -> Made {
        let weight = weight.map(|w| scale("rms_norm", w)).transpose()?;
        Ok(self.0.rms_norm(&self.normalized(weight.as_ref()), weight.as_ref(), eps)?.into())
    }

    /// Divided by its `p`-norm along an axis, or by `eps` where that is greater.
    #[pyo3(signature = (p=2.0, dim=None, eps=1e-12, *, axis=None),
        text_signature = "($self, p=2.0, dim=1, eps=1e-12, *, axis=None)")]
    fn normalize(
        &self,
        #[pyo3(from_py_with = real)] p: f64,
        dim: Option<Axis>,
        #[pyo3(from_py_with = real)] eps: f64,
        axis: Option<Axis>,
    ) -> Made {
        Ok(self.0.normalize(p, one_axis(axis, dim)?.unwrap_or(1), eps)?.into())
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
        #[pyo3(from_py_with = flag)] is_causal: bool,
        scale: Option<Real>,
        #[pyo3(from_py_with = flag)] enable_gqa: bool,
    ) -> Made {
        let mask = attn_mask.as_ref().map(|m| &m.0);
        let how = Attention { mask, causal: is_causal, scale: scale.map(|s| s.0), grouped: enable_gqa };
        Ok(self.0.scaled_dot_product_attention(&key.0, &value.0, how)?.into())
    }
}

impl PyTensor {
    /// A member of an operation of this tensor, as a tensor.
    fn beside(&self, member: AnyMember) -> std::result::Result<Tensor, TensorError> {
        Tensor::beside(member.0, &(&self.0).into())
    }

    /// The shape of the axes that a layer normalizes.
    fn normalized(&self, weight: Option<&Tensor>) -> Vec<Size> {
        match weight {
            Some(weight) => weight.shape(),
            None => self.0.shape().last().cloned().into_iter().collect(),
        }
    }
}
