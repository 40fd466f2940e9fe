//! Lookups, writes at positions, and orders.

use pyo3::prelude::*;
use svod_tensor::{DType, Reduction, Tensor};

use super::{Made, PyTensor};
use crate::convert::{AnyOperand, AnyTensor, Axis, one_axis};
use crate::error::{Class, Result};
use crate::size::AnySize;

/// A tensor and the positions that go with it.
type Pair = Result<(PyTensor, PyTensor)>;

fn pair((values, positions): (Tensor, Tensor)) -> (PyTensor, PyTensor) {
    (values.into(), positions.into())
}

/// [`pair`] of an operation with this number, where its variables have these values.
fn bound_pair(number: &AnySize, (values, positions): (Tensor, Tensor)) -> Pair {
    Ok((number.bind(Ok(values))?, number.bind(Ok(positions))?))
}

fn reduction(name: &str) -> Result<Reduction> {
    let unknown = || Class::Argument.raise(format!("scatter_reduce: '{name}' is none of sum, prod, amax, amin, mean"));
    Reduction::named(name).ok_or_else(unknown)
}

#[pymethods]
impl PyTensor {
    /// An axis indexed by integers of any shape, which takes its place.
    #[pyo3(signature = (index, axis=0))]
    fn take(&self, index: AnyTensor, axis: i64) -> Made {
        Ok(self.0.take(&index.0, axis)?.into())
    }

    /// The slices of an axis at a 1-d index.
    fn index_select(&self, dim: i64, index: AnyTensor) -> Made {
        Ok(self.0.index_select(dim, &index.0)?.into())
    }

    /// For each element of `index` the element at its position but, along `dim`, at its value.
    fn gather(&self, dim: i64, index: AnyTensor) -> Made {
        Ok(self.0.gather(dim, &index.0)?.into())
    }

    /// As `gather`, broadcast off the axis.
    fn take_along_dim(&self, indices: AnyTensor, dim: i64) -> Made {
        Ok(self.0.take_along_dim(&indices.0, dim)?.into())
    }

    /// With the elements of `src` written at their position but, along `dim`, at the value of
    /// `index`. Where several go to one element, the last one in row-major order stays.
    fn scatter(&self, dim: i64, index: AnyTensor, src: AnyOperand) -> Made {
        Ok(self.0.scatter(dim, &index.0, src.0)?.into())
    }

    /// As `scatter`, added to what is there.
    fn scatter_add(&self, dim: i64, index: AnyTensor, src: AnyOperand) -> Made {
        Ok(self.0.scatter_add(dim, &index.0, src.0)?.into())
    }

    /// As `scatter`, combined by `reduce` ("sum", "prod", "amax", "amin" or "mean") with what is
    /// there or, without `include_self`, only with each other.
    #[pyo3(signature = (dim, index, src, reduce, *, include_self=true))]
    fn scatter_reduce(&self, dim: i64, index: AnyTensor, src: AnyOperand, reduce: &str, include_self: bool) -> Made {
        Ok(self.0.scatter_reduce(dim, &index.0, src.0, reduction(reduce)?, include_self)?.into())
    }

    /// With the slices of `source` added, each at its element of a 1-d index.
    fn index_add(&self, dim: i64, index: AnyTensor, source: AnyTensor) -> Made {
        Ok(self.0.index_add(dim, &index.0, &source.0)?.into())
    }

    /// With the slices of `source` written, each at its element of a 1-d index.
    fn index_copy(&self, dim: i64, index: AnyTensor, source: AnyTensor) -> Made {
        Ok(self.0.index_copy(dim, &index.0, &source.0)?.into())
    }

    /// The indices, along each dimension, of the elements that are not zero. Computed now: their
    /// number depends on the values. Without `as_tuple` one tensor, with a row for each element.
    #[pyo3(signature = (*, as_tuple=true))]
    fn nonzero<'py>(&self, py: Python<'py>, as_tuple: bool) -> Result<Bound<'py, PyAny>> {
        let found = self.0.nonzero()?;
        if as_tuple {
            let found: Vec<PyTensor> = found.into_iter().map(Into::into).collect();
            return Ok(found.into_pyobject(py)?.into_any());
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
    fn bincount(&self, weights: Option<AnyTensor>, minlength: i64) -> Made {
        Ok(self.0.bincount(weights.as_ref().map(|w| &w.0), minlength)?.into())
    }

    /// The elements along an axis in order, and where they were. The order is stable, whatever `stable`
    /// asks for; NaN is the greatest value.
    #[pyo3(signature = (axis=None, descending=false, *, dim=None, stable=true))]
    fn sort(&self, axis: Option<Axis>, descending: bool, dim: Option<Axis>, stable: bool) -> Pair {
        let (axis, _always) = (one_axis(axis, dim)?.unwrap_or(-1), stable);
        Ok(pair((self.0.sort(axis, descending)?, self.0.argsort(axis, descending)?)))
    }

    /// Where the elements along an axis are, in order; see `sort`.
    #[pyo3(signature = (axis=None, descending=false, *, dim=None, stable=true))]
    fn argsort(&self, axis: Option<Axis>, descending: bool, dim: Option<Axis>, stable: bool) -> Made {
        let (axis, _always) = (one_axis(axis, dim)?.unwrap_or(-1), stable);
        Ok(self.0.argsort(axis, descending)?.into())
    }

    /// The `k` largest elements along an axis, or the smallest, and where they are: in order, whatever
    /// `sorted` asks for.
    #[pyo3(signature = (k, axis=None, largest=true, *, dim=None, sorted=true))]
    fn topk(&self, k: AnySize, axis: Option<Axis>, largest: bool, dim: Option<Axis>, sorted: bool) -> Pair {
        let (axis, _always) = (one_axis(axis, dim)?.unwrap_or(-1), sorted);
        bound_pair(&k, self.0.topk(&k.size, axis, largest)?)
    }

    /// The `k`-th smallest element along an axis, counted from 1, and where it is.
    #[pyo3(signature = (k, axis=None, *, dim=None))]
    fn kthvalue(&self, k: AnySize, axis: Option<Axis>, dim: Option<Axis>) -> Pair {
        bound_pair(&k, self.0.kthvalue(&k.size, one_axis(axis, dim)?.unwrap_or(-1))?)
    }

    /// Where each value would be put into this sorted 1-d tensor: before the elements equal to it or,
    /// with `right`, behind them.
    #[pyo3(signature = (values, *, right=false))]
    fn searchsorted(&self, values: AnyTensor, right: bool) -> Made {
        Ok(self.0.searchsorted(&values.0, right)?.into())
    }
}
