//! Folds along dimensions, and scans.
//!
//! Sums and products of `float16` and `bfloat16` are carried in `float32`; those of integers and
//! bools are `int64`.

use svod_dtype::DType;
use svod_ir::graph::UOp;
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

use crate::complex;
use crate::error::{Result, TensorError, show_typed};
use crate::movement::numel;
use crate::operand::{axes_or_none, axis_of, size_value};
use crate::tensor::Tensor;

/// The type in which sums and products of elements of a type are carried.
pub(crate) fn carried_in(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 | DType::F8E4M3 | DType::F8E5M2 => DType::F32,
        DType::U64 | DType::F32 | DType::F64 | DType::C64 | DType::C128 => dtype,
        _ => DType::I64,
    }
}

/// The type of a sum or product.
fn totalled(dtype: DType) -> DType {
    if dtype.is_float() { dtype } else { carried_in(dtype) }
}

/// Which elements a running fold takes beside those before each one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Running {
    /// Without the element itself.
    pub exclusive: bool,
    /// Those behind it, in place of those before it.
    pub reverse: bool,
}

impl Tensor {
    /// The sum along `axes`, all for `None`; `keepdim` keeps them with extent 1.
    pub fn sum(&self, axes: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        self.total("sum", Monoid::Sum, axes, keepdim)
    }

    /// The product along `axes`.
    pub fn prod(&self, axes: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        self.total("prod", Monoid::Prod, axes, keepdim)
    }

    /// The maximum along `axes`, NaN where there is one.
    pub fn max(&self, axes: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        let monoid = if self.dtype().is_bool() { Monoid::Any } else { Monoid::Max };
        self.extremum("max", monoid, axes, keepdim)
    }

    /// The minimum along `axes`, NaN where there is one.
    pub fn min(&self, axes: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        let monoid = if self.dtype().is_bool() { Monoid::All } else { Monoid::Min };
        self.extremum("min", monoid, axes, keepdim)
    }

    /// Whether an element along `axes` is not zero.
    pub fn any(&self, axes: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        fold("any", &self.to_bool()?.uop(), Monoid::Any, axes, keepdim).map(Tensor::from_uop)
    }

    /// Whether all elements along `axes` are not zero.
    pub fn all(&self, axes: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        fold("all", &self.to_bool()?.uop(), Monoid::All, axes, keepdim).map(Tensor::from_uop)
    }

    /// The first index of the maximum along `axis`, of the flat tensor for `None`; `int64`.
    pub fn argmax(&self, axis: Option<i64>, keepdim: bool) -> Result<Tensor> {
        self.position("argmax", Monoid::ArgMax, axis, keepdim)
    }

    /// The first index of the minimum along `axis`, of the flat tensor for `None`; `int64`.
    pub fn argmin(&self, axis: Option<i64>, keepdim: bool) -> Result<Tensor> {
        self.position("argmin", Monoid::ArgMin, axis, keepdim)
    }

    /// The mean along `axes`; of integers in the default float.
    pub fn mean(&self, axes: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        let x = self.as_float()?;
        let (wide, count) = (x.widened()?, x.count("mean", axes)?);
        wide.sum(axes, keepdim)?.div(Tensor::from_uop(count.cast(wide.dtype().real())?))?.cast(x.dtype())
    }

    /// The variance along `axes`, divided by the number of elements less `correction`.
    pub fn var(&self, axes: Option<&[i64]>, correction: f64, keepdim: bool) -> Result<Tensor> {
        let x = self.as_float()?;
        let wide = x.widened()?;
        let count = Tensor::from_uop(x.count("var", axes)?.cast(wide.dtype().real())?);
        let deviations = wide.sub(wide.mean(axes, true)?)?;
        deviations.squared_sum(axes, keepdim, &count, correction)?.cast(x.dtype().real())
    }

    /// The standard deviation along `axes`; see [`Tensor::var`].
    pub fn std(&self, axes: Option<&[i64]>, correction: f64, keepdim: bool) -> Result<Tensor> {
        self.deviation(|x| x.var(axes, correction, keepdim))
    }

    /// The sum of squares of deviations from a mean, of `count` elements, as a variance.
    pub(crate) fn squared_sum(
        &self,
        axes: Option<&[i64]>,
        keepdim: bool,
        count: &Tensor,
        correction: f64,
    ) -> Result<Tensor> {
        // Of complex numbers those of the parts together.
        let squares = match self.dtype().is_complex() {
            true => self.as_real()?.square()?.sum(Some(&[-1]), false)?,
            false => self.square()?,
        };
        squares.sum(axes, keepdim)?.div(count.sub(correction)?.relu()?)
    }

    /// The root of a variance.
    pub(crate) fn deviation(&self, variance: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
        let root = |x: &Tensor| variance(x)?.root_without_slope_at_0();
        // Of complex numbers it is real, as the variance is.
        if self.dtype().is_complex() { root(self) } else { self.rounded_once(root) }
    }

    /// The root, whose derivative at 0 is 0: that of what has a least value there, such as a norm.
    fn root_without_slope_at_0(&self) -> Result<Tensor> {
        let is_zero = self.eq(0)?;
        Tensor::select(&is_zero, 0.0, Tensor::select(&is_zero, 1.0, self)?.sqrt()?)
    }

    /// The `p`-norm along `axes`; `p` may be infinite.
    pub fn norm(&self, p: f64, axes: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        let magnitude = self.as_float()?.abs()?;
        match p {
            f64::INFINITY => magnitude.max(axes, keepdim),
            f64::NEG_INFINITY => magnitude.min(axes, keepdim),
            0.0 => magnitude.ne(0)?.cast(magnitude.dtype())?.sum(axes, keepdim),
            1.0 => magnitude.sum(axes, keepdim),
            // A power, and the sum of powers, may overflow a narrow type where the root of it does not.
            2.0 => (if self.dtype().is_complex() { &magnitude } else { self })
                .rounded_once(|x| x.square()?.sum(axes, keepdim)?.root_without_slope_at_0()),
            _ => magnitude.rounded_once(|x| x.pow(p)?.sum(axes, keepdim)?.pow(1.0 / p)),
        }
    }

    /// `log(sum(exp(x)))` along `axes`, without overflow.
    pub fn logsumexp(&self, axes: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        let x = self.as_float()?;
        let wide = x.widened()?;
        // Of nothing it is -inf, the logarithm of 0.
        let greatest = Tensor::from_uop(fold("logsumexp", &wide.real()?.uop(), Monoid::Max, axes, true)?);
        // Infinities stay out of the difference, which would be NaN.
        // It cancels, and so does what a derivative by it would be.
        let shift = Tensor::select(&greatest.isfinite()?, &greatest, 0.0)?.detach()?;
        let sum = wide.sub(&shift)?.exp()?.sum(axes, true)?.log()?.add(&shift)?;
        let dropped = if keepdim { sum } else { sum.squeeze_folded(axes)? };
        dropped.cast(x.dtype())
    }

    /// `exp(x)` divided by its sum along `axis`.
    pub fn softmax(&self, axis: i64) -> Result<Tensor> {
        let x = self.as_float()?;
        let e = x.below_greatest("softmax", axis)?.exp()?;
        e.div(e.sum(Some(&[axis]), true)?)?.cast(x.dtype())
    }

    /// The logarithm of [`Tensor::softmax`].
    pub fn log_softmax(&self, axis: i64) -> Result<Tensor> {
        let x = self.as_float()?;
        let shifted = x.below_greatest("log_softmax", axis)?;
        shifted.sub(shifted.exp()?.sum(Some(&[axis]), true)?.log()?)?.cast(x.dtype())
    }

    /// The sums of the elements up to each one along `axis`.
    pub fn cumsum(&self, axis: i64) -> Result<Tensor> {
        self.cumsum_of(axis, Running::default())
    }

    /// Sums of the elements before or behind each one along `axis`.
    pub fn cumsum_of(&self, axis: i64, how: Running) -> Result<Tensor> {
        self.scan("cumsum", Monoid::Sum, axis, how)
    }

    /// The products of the elements up to each one along `axis`.
    pub fn cumprod(&self, axis: i64) -> Result<Tensor> {
        self.cumprod_of(axis, Running::default())
    }

    /// Products of the elements before or behind each one along `axis`.
    pub fn cumprod_of(&self, axis: i64, how: Running) -> Result<Tensor> {
        self.scan("cumprod", Monoid::Prod, axis, how)
    }

    /// The maxima of the elements up to each one along `axis`.
    pub fn cummax(&self, axis: i64) -> Result<Tensor> {
        self.scan("cummax", Monoid::Max, axis, Running::default())
    }

    /// The minima of the elements up to each one along `axis`.
    pub fn cummin(&self, axis: i64) -> Result<Tensor> {
        self.scan("cummin", Monoid::Min, axis, Running::default())
    }

    /// In `float32` where the type is a narrower float.
    pub(crate) fn widened(&self) -> Result<Tensor> {
        if self.dtype().is_float() { self.cast(carried_in(self.dtype())) } else { Ok(Tensor::from_uop(self.uop())) }
    }

    /// The elements less the greatest one along `axis`; where there is none, there is nothing to lessen.
    fn below_greatest(&self, op: &'static str, axis: i64) -> Result<Tensor> {
        let wide = self.widened()?;
        if axes_or_none(op, Some(&[axis]), wide.rank())?.iter().any(|&at| wide.shape()[at] == Size::ZERO) {
            return Ok(wide);
        }
        // It cancels, and so does what a derivative by it would be.
        wide.sub(Tensor::from_uop(fold(op, &wide.uop(), Monoid::Max, Some(&[axis]), true)?.detach()?))
    }

    fn total(&self, op: &'static str, by: Monoid, axes: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        let node = self.uop();
        if by == Monoid::Prod && node.dtype().is_complex() {
            let folded = axes_or_none(op, axes, node.rank())?;
            let kept: Vec<Size> = keepdims(node.shape(), &folded);
            let all = complex::product(&node, &folded)?;
            return Ok(Tensor::from_uop(if keepdim { all.reshape(kept)? } else { all }));
        }
        let wide = node.cast(carried_in(node.dtype()))?;
        Ok(Tensor::from_uop(fold(op, &wide, by, axes, keepdim)?.cast(totalled(node.dtype()))?))
    }

    fn extremum(&self, op: &'static str, by: Monoid, axes: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        let node = self.uop();
        let empty = axes_or_none(op, axes, node.rank())?.into_iter().find(|&a| node.shape()[a] == Size::ZERO);
        if let Some(axis) = empty {
            let given = show_typed(node.dtype(), node.shape());
            return Err(TensorError::value(op, format!("no element along axis {axis} of {given}")));
        }
        // Of bools the greatest is whether any is true.
        let called = match by {
            Monoid::Any => Monoid::Max,
            Monoid::All => Monoid::Min,
            by => by,
        };
        let some = node.non_empty(called, &axes_or_none(op, axes, node.rank())?)?;
        fold(op, &some, by, axes, keepdim).map(Tensor::from_uop)
    }

    fn position(&self, op: &'static str, by: Monoid, axis: Option<i64>, keepdim: bool) -> Result<Tensor> {
        let node = self.uop();
        let Some(axis) = axis.filter(|axis| node.rank() > 0 || ![0, -1].contains(axis)) else {
            let flat = self.flatten(0, -1)?.position(op, by, Some(0), false)?;
            return if keepdim { flat.reshape(&vec![1; node.rank()]) } else { Ok(flat) };
        };
        let at = axis_of(op, axis, node.rank())?;
        if node.shape()[at] == Size::ZERO {
            let given = show_typed(node.dtype(), node.shape());
            return Err(TensorError::value(op, format!("no element along axis {at} of {given}")));
        }
        fold(op, &node.non_empty(by, &[at])?, by, Some(&[axis]), keepdim).map(Tensor::from_uop)
    }

    fn scan(&self, op: &'static str, by: Monoid, axis: i64, how: Running) -> Result<Tensor> {
        if let Some(line) = self.as_line(axis)? {
            return line.scan(op, by, 0, how)?.reshape(&[] as &[Size]);
        }
        let node = self.uop();
        let axis = axis_of(op, axis, node.rank())?;
        if how.reverse {
            let forward = Running { reverse: false, ..how };
            let along = axis as i64;
            return self.flip(Some(&[along]))?.scan(op, by, along, forward)?.flip(Some(&[along]));
        }
        if by == Monoid::Prod && node.dtype().is_complex() {
            return complex::running_product(&node, axis, !how.exclusive);
        }
        let (carried, result) = match by {
            Monoid::Sum | Monoid::Prod => (carried_in(node.dtype()), totalled(node.dtype())),
            _ => (node.dtype(), node.dtype()),
        };
        Ok(Tensor::from_uop(node.cast(carried)?.scan(by, axis, !how.exclusive)?.cast(result)?))
    }

    /// Without the axes that a fold with `keepdim` has kept.
    fn squeeze_folded(&self, axes: Option<&[i64]>) -> Result<Tensor> {
        let shape = self.shape();
        let folded = axes_or_none("squeeze", axes, shape.len())?;
        self.reshape(&(0..shape.len()).filter(|i| !folded.contains(i)).map(|i| shape[i].clone()).collect::<Vec<_>>())
    }

    /// Number of elements along `axes`, 0-d `i64`.
    fn count(&self, op: &'static str, axes: Option<&[i64]>) -> Result<UOp> {
        let shape = self.shape();
        let extents: Vec<Size> = axes_or_none(op, axes, shape.len())?.into_iter().map(|a| shape[a].clone()).collect();
        size_value(&numel(&extents))
    }
}

pub(crate) fn fold(op: &'static str, node: &UOp, by: Monoid, axes: Option<&[i64]>, keepdim: bool) -> Result<UOp> {
    let axes = axes_or_none(op, axes, node.rank())?;
    let kept: Vec<Size> = node.shape().to_vec();
    let folded = folded(node, by, &axes)?;
    if !keepdim {
        return Ok(folded);
    }
    Ok(folded.reshape(keepdims(&kept, &axes))?)
}

/// Extents with 1 in the places of axes that are folded.
fn keepdims(shape: &[Size], axes: &[usize]) -> Vec<Size> {
    (0..shape.len()).map(|i| if axes.contains(&i) { Size::ONE } else { shape[i].clone() }).collect()
}

/// A fold of no element at all is its identity, whatever the compiler makes of empty loops. By what requires a gradient
/// it has a derivative, of no element.
pub(crate) fn folded(node: &UOp, by: Monoid, axes: &[usize]) -> Result<UOp> {
    if node.is_watched() || !axes.iter().any(|&a| node.shape()[a] == Size::ZERO) {
        return Ok(node.reduce(by, axes)?);
    }
    let shape: Vec<Size> = (0..node.rank()).filter(|i| !axes.contains(i)).map(|i| node.shape()[i].clone()).collect();
    Ok(UOp::full(by.identity(node.dtype()), &shape.into())?)
}
