//! Lookups, writes at positions, and orders.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use svod_tensor::{DType, Reduction, Tensor};

use super::pair::{Pair, pair};
use super::{Made, MadeAny, PyTensor};
use crate::convert::{AnyOperand, AnyTensor, Axis, named, one_axis, required};
use crate::error::{Class, Result};
use crate::scalar::{Integer, Text, flag};
use crate::size::AnySize;

fn reduction(name: &str) -> Result<Reduction> {
    let unknown = || Class::Argument.raise(format!("scatter_reduce: '{name}' is none of sum, prod, amax, amin, mean"));
    Reduction::named(name).ok_or_else(unknown)
}

#[explained]
#[pymethods]
impl PyTensor {
    /// An axis indexed by integers of any shape, which takes its place; without one, the flat tensor.
    #[pyo3(signature = (index, axis=None, *, dim=None))]
    fn take(&self, index: AnyTensor, axis: Option<Axis>, dim: Option<Axis>) -> Made {
        match one_axis(axis, dim)? {
            Some(axis) => Ok(self.0.take(&index.0, axis)?.into()),
            None => Ok(self.0.flatten(0, -1)?.take(&index.0, 0)?.into()),
        }
    }

    /// The slices of an axis at a 1-d index.
    #[pyo3(signature = (dim=None, index=None, *, axis=None), text_signature = "($self, dim, index, *, axis=None)")]
    fn index_select(&self, dim: Option<Axis>, index: Option<AnyTensor>, axis: Option<Axis>) -> Made {
        let (op, at) = self.at("index_select", axis, dim)?;
        Ok(self.0.index_select(at, &required(op, "index", index)?.0)?.into())
    }

    /// For each element of `index` the element at its position but, along `dim`, at its value.
    #[pyo3(signature = (dim=None, index=None, *, axis=None), text_signature = "($self, dim, index, *, axis=None)")]
    fn gather(&self, dim: Option<Axis>, index: Option<AnyTensor>, axis: Option<Axis>) -> Made {
        let (op, at) = self.at("gather", axis, dim)?;
        Ok(self.0.gather(at, &required(op, "index", index)?.0)?.into())
    }

    /// As `gather`, broadcast off the axis; without one, of the flat tensor.
    #[pyo3(signature = (indices, dim=None, *, axis=None))]
    fn take_along_dim(&self, indices: AnyTensor, dim: Option<Axis>, axis: Option<Axis>) -> Made {
        match one_axis(axis, dim)? {
            Some(axis) => Ok(self.0.take_along_dim(&indices.0, axis)?.into()),
            None => Ok(self.0.flatten(0, -1)?.take_along_dim(&indices.0.flatten(0, -1)?, 0)?.into()),
        }
    }

    /// With the elements of `src`, or `value`, written at their position but, along `dim`, at the value of
    /// `index`. Where several go to one element, the last one in row-major order stays. With `reduce` "add" or
    /// "multiply", they are added to what is there, or multiplied with it.
    #[pyo3(signature = (dim=None, index=None, src=None, *, axis=None, value=None, reduce=None),
        text_signature = "($self, dim, index, src=None, *, axis=None, value=None, reduce=None)")]
    fn scatter(
        &self,
        dim: Option<Axis>,
        index: Option<AnyTensor>,
        src: Option<AnyOperand>,
        axis: Option<Axis>,
        value: Option<AnyOperand>,
        reduce: Option<Text>,
    ) -> Made {
        let (op, at) = self.at("scatter", axis, dim)?;
        let (index, src) = (required(op, "index", index)?.0, named(op, "src", src, value)?.0);
        Ok(match reduce.as_deref() {
            None => self.0.scatter(at, &index, src)?.into(),
            Some("add") => self.0.scatter_add(at, &index, src)?.into(),
            Some("multiply") => self.0.scatter_reduce(at, &index, src, Reduction::Prod, true)?.into(),
            Some(other) => {
                return Err(Class::Argument.raise(format!("{op}: reduce: '{other}' is neither add nor multiply")));
            }
        })
    }

    /// As `scatter`, added to what is there.
    #[pyo3(signature = (dim=None, index=None, src=None, *, axis=None),
        text_signature = "($self, dim, index, src, *, axis=None)")]
    fn scatter_add(
        &self,
        dim: Option<Axis>,
        index: Option<AnyTensor>,
        src: Option<AnyOperand>,
        axis: Option<Axis>,
    ) -> Made {
        let (op, at) = self.at("scatter_add", axis, dim)?;
        Ok(self.0.scatter_add(at, &required(op, "index", index)?.0, required(op, "src", src)?.0)?.into())
    }

    /// As `scatter`, combined by `reduce` ("sum", "prod", "amax", "amin" or "mean") with what is
    /// there or, without `include_self`, only with each other.
    #[pyo3(signature = (dim=None, index=None, src=None, reduce=None, *, include_self=true, axis=None),
        text_signature = "($self, dim, index, src, reduce, *, include_self=True, axis=None)")]
    fn scatter_reduce(
        &self,
        dim: Option<Axis>,
        index: Option<AnyTensor>,
        src: Option<AnyOperand>,
        reduce: Option<Text>,
        #[pyo3(from_py_with = flag)] include_self: bool,
        axis: Option<Axis>,
    ) -> Made {
        let (op, at) = self.at("scatter_reduce", axis, dim)?;
        let (index, src) = (required(op, "index", index)?.0, required(op, "src", src)?.0);
        let by = reduction(&required(op, "reduce", reduce)?)?;
        Ok(self.0.scatter_reduce(at, &index, src, by, include_self)?.into())
    }

    /// With the slices of `source`, times `alpha`, added, each at its element of a 1-d index.
    #[pyo3(signature = (dim=None, index=None, source=None, *, axis=None, alpha=None),
        text_signature = "($self, dim, index, source, *, axis=None, alpha=None)")]
    fn index_add(
        &self,
        dim: Option<Axis>,
        index: Option<AnyTensor>,
        source: Option<AnyTensor>,
        axis: Option<Axis>,
        alpha: Option<AnyOperand>,
    ) -> Made {
        let (op, at) = self.at("index_add", axis, dim)?;
        let (index, source) = (required(op, "index", index)?.0, required(op, "source", source)?.0);
        let source = alpha.map_or_else(|| Ok(source.clone()), |alpha| source.mul(alpha.0))?;
        Ok(self.0.index_add(at, &index, &source)?.into())
    }

    /// With the slices of `source` written, each at its element of a 1-d index.
    #[pyo3(signature = (dim=None, index=None, source=None, *, axis=None),
        text_signature = "($self, dim, index, source, *, axis=None)")]
    fn index_copy(
        &self,
        dim: Option<Axis>,
        index: Option<AnyTensor>,
        source: Option<AnyTensor>,
        axis: Option<Axis>,
    ) -> Made {
        let (op, at) = self.at("index_copy", axis, dim)?;
        Ok(self.0.index_copy(at, &required(op, "index", index)?.0, &required(op, "source", source)?.0)?.into())
    }

    /// The indices, along each dimension, of the elements that are not zero. Computed now: their
    /// number depends on the values. As PyTorch's, one tensor with a row for each element, or with `as_tuple` a
    /// tensor for each dimension, as `svod.nonzero` and NumPy.
    #[pyo3(signature = (*, as_tuple=false))]
    pub fn nonzero<'py>(&self, py: Python<'py>, #[pyo3(from_py_with = flag)] as_tuple: bool) -> MadeAny<'py> {
        let found = self.0.nonzero()?;
        if as_tuple {
            let found: Vec<PyTensor> = found.into_iter().map(Into::into).collect();
            return Ok(PyTuple::new(py, found)?.into_any());
        }
        let columns: Vec<&Tensor> = found.iter().collect();
        let rows = match columns.is_empty() {
            true => Tensor::zeros(&[i64::from(self.0.to_bool()?.item::<bool>()?), 0], DType::I64)?,
            false => Tensor::stack(&columns, 1)?,
        };
        Ok(Bound::new(py, PyTensor::from(rows))?.into_any())
    }

    /// The elements where a mask of the same shape holds, 1-d. Computed now, as `nonzero` is.
    fn masked_select(&self, mask: AnyTensor) -> Made {
        Ok(self.0.masked_select(&mask.0)?.into())
    }

    /// The values, each once, sorted. Computed now, as `nonzero` is; every NaN counts.
    fn unique(&self) -> Made {
        Ok(self.0.unique()?.into())
    }

    /// How often each integer below `minlength` occurs in this 1-d tensor, or the sum of its `weights`.
    #[pyo3(signature = (weights=None, *, minlength))]
    fn bincount(&self, weights: Option<AnyTensor>, minlength: Integer) -> Made {
        Ok(self.0.bincount(weights.as_ref().map(|w| &w.0), minlength.0)?.into())
    }

    /// The elements along an axis, by default the last, in order, and where they were. The order is stable, whatever
    /// `stable` asks for; NaN is the greatest value.
    #[pyo3(signature = (dim=None, descending=false, *, axis=None, stable=true))]
    fn sort<'py>(
        &self,
        py: Python<'py>,
        dim: Option<Axis>,
        #[pyo3(from_py_with = flag)] descending: bool,
        axis: Option<Axis>,
        #[pyo3(from_py_with = flag)] stable: bool,
    ) -> Pair<'py> {
        let (at, _always) = (one_axis(axis, dim)?.unwrap_or(-1), stable);
        pair(py, (self.0.sort(at, descending)?, self.0.argsort(at, descending)?), None)
    }

    /// Where the elements along an axis are, in order; see `sort`.
    #[pyo3(signature = (dim=None, descending=false, *, axis=None, stable=true))]
    fn argsort(
        &self,
        dim: Option<Axis>,
        #[pyo3(from_py_with = flag)] descending: bool,
        axis: Option<Axis>,
        #[pyo3(from_py_with = flag)] stable: bool,
    ) -> Made {
        let (at, _always) = (one_axis(axis, dim)?.unwrap_or(-1), stable);
        Ok(self.0.argsort(at, descending)?.into())
    }

    /// The `k` largest elements along an axis, by default the last, or the smallest, and where they are: in order,
    /// whatever `sorted` asks for.
    #[pyo3(signature = (k, dim=None, largest=true, sorted=true, *, axis=None))]
    fn topk<'py>(
        &self,
        py: Python<'py>,
        k: AnySize,
        dim: Option<Axis>,
        #[pyo3(from_py_with = flag)] largest: bool,
        #[pyo3(from_py_with = flag)] sorted: bool,
        axis: Option<Axis>,
    ) -> Pair<'py> {
        let (at, _always) = (one_axis(axis, dim)?.unwrap_or(-1), sorted);
        let (values, indices) = self.0.topk(&k.size, at, largest)?;
        pair(py, (values.with_values(&k.values)?, indices.with_values(&k.values)?), None)
    }

    /// Where each value would be put into this sorted 1-d tensor: before the elements equal to it or,
    /// with `right`, behind them.
    #[pyo3(signature = (values, *, right=false))]
    fn searchsorted(&self, values: AnyTensor, #[pyo3(from_py_with = flag)] right: bool) -> Made {
        Ok(self.0.searchsorted(&values.0, right)?.into())
    }
}

impl PyTensor {
    /// The operation, for errors, and the axis along which it is.
    pub fn at(&self, op: &'static str, axis: Option<Axis>, dim: Option<Axis>) -> Result<(&'static str, i64)> {
        Ok((op, self.named_axis(op, axis, dim)?))
    }
}
