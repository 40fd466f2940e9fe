//! Folds of some elements, and what they begin with: `where` and `initial` of NumPy's reductions.

use svod_ir::kernel::Monoid;

use crate::error::{Result, TensorError, show_operands};
use crate::operand::Operand;
use crate::reduce::fold;
use crate::tensor::Tensor;

/// Which elements a fold takes, and what is folded in beside them.
#[derive(Clone, Debug, Default)]
pub struct Masked {
    /// Bools, of a shape that expands to that of the elements: where these count. `None` for all.
    pub only: Option<Tensor>,
    /// A scalar, which the result's type rounds.
    pub initial: Option<Operand>,
}

impl Masked {
    /// Whether it is all elements and nothing else.
    pub fn is_plain(&self) -> bool {
        self.only.is_none() && self.initial.is_none()
    }
}

impl Tensor {
    /// [`Tensor::sum`] of elements that are taken.
    pub fn sum_of(&self, axes: Option<&[i64]>, keepdim: bool, taken: &Masked) -> Result<Tensor> {
        let sum = self.masked("sum", taken, 0)?.sum(axes, keepdim)?;
        if let Some(initial) = taken.initial_in("sum", &sum)? { sum.add(initial) } else { Ok(sum) }
    }

    /// [`Tensor::prod`] of elements that are taken.
    pub fn prod_of(&self, axes: Option<&[i64]>, keepdim: bool, taken: &Masked) -> Result<Tensor> {
        let product = self.masked("prod", taken, 1)?.prod(axes, keepdim)?;
        if let Some(initial) = taken.initial_in("prod", &product)? { product.mul(initial) } else { Ok(product) }
    }

    /// [`Tensor::max`] of elements that are taken; with an initial value there may be none.
    pub fn max_of(&self, axes: Option<&[i64]>, keepdim: bool, taken: &Masked) -> Result<Tensor> {
        match taken.is_plain() || self.dtype().is_complex() {
            true => self.max(axes, keepdim),
            false => self.extremum_of("max", Monoid::Max, axes, keepdim, taken, |a, b| a.maximum(b)),
        }
    }

    /// [`Tensor::min`] of elements that are taken; with an initial value there may be none.
    pub fn min_of(&self, axes: Option<&[i64]>, keepdim: bool, taken: &Masked) -> Result<Tensor> {
        match taken.is_plain() || self.dtype().is_complex() {
            true => self.min(axes, keepdim),
            false => self.extremum_of("min", Monoid::Min, axes, keepdim, taken, |a, b| a.minimum(b)),
        }
    }

    /// [`Tensor::any`] of elements that are taken.
    pub fn any_of(&self, axes: Option<&[i64]>, keepdim: bool, taken: &Masked) -> Result<Tensor> {
        self.to_bool()?.masked("any", taken, false)?.any(axes, keepdim)
    }

    /// [`Tensor::all`] of elements that are taken.
    pub fn all_of(&self, axes: Option<&[i64]>, keepdim: bool, taken: &Masked) -> Result<Tensor> {
        self.to_bool()?.masked("all", taken, true)?.all(axes, keepdim)
    }

    /// [`Tensor::logsumexp`] of elements that are taken; -inf of none.
    pub fn logsumexp_of(&self, axes: Option<&[i64]>, keepdim: bool, taken: &Masked) -> Result<Tensor> {
        self.as_float()?.masked("logsumexp", taken, f64::NEG_INFINITY)?.logsumexp(axes, keepdim)
    }

    /// [`Tensor::mean`] of elements that are taken; NaN of none.
    pub fn mean_of(&self, axes: Option<&[i64]>, keepdim: bool, taken: &Masked) -> Result<Tensor> {
        let Some(only) = taken.mask("mean", self)? else { return self.mean(axes, keepdim) };
        let x = self.as_float()?;
        let wide = x.widened()?;
        let count = only.sum(axes, keepdim)?.cast(wide.dtype().real())?;
        Tensor::select(&only, &wide, 0)?.sum(axes, keepdim)?.div(count)?.cast(x.dtype())
    }

    /// [`Tensor::var`] of elements that are taken.
    pub fn var_of(&self, axes: Option<&[i64]>, correction: f64, keepdim: bool, taken: &Masked) -> Result<Tensor> {
        let Some(only) = taken.mask("var", self)? else { return self.var(axes, correction, keepdim) };
        let x = self.as_float()?;
        let wide = x.widened()?;
        let count = only.sum(axes, keepdim)?.cast(wide.dtype().real())?;
        let mean = wide.mean_of(axes, true, taken)?;
        wide.sub(mean)?.masked("var", taken, 0)?.squared_sum(axes, keepdim, &count, correction)?.cast(x.dtype().real())
    }

    /// [`Tensor::std`] of elements that are taken.
    pub fn std_of(&self, axes: Option<&[i64]>, correction: f64, keepdim: bool, taken: &Masked) -> Result<Tensor> {
        self.deviation(|x| x.var_of(axes, correction, keepdim, taken))
    }

    /// `identity` in the places of elements that are not taken.
    fn masked(&self, op: &'static str, taken: &Masked, identity: impl Into<Operand>) -> Result<Tensor> {
        match taken.mask(op, self)? {
            Some(only) => Tensor::select(&only, self, identity),
            None => Ok(Tensor::from_uop(self.uop())),
        }
    }

    fn extremum_of(
        &self,
        op: &'static str,
        by: Monoid,
        axes: Option<&[i64]>,
        keepdim: bool,
        taken: &Masked,
        both: impl FnOnce(&Tensor, Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let Some(initial) = taken.initial_in(op, self)? else {
            return Err(TensorError::value(op, "of no element there is none: beside where, give initial too"));
        };
        let by = match (by, self.dtype().is_bool()) {
            (Monoid::Max, true) => Monoid::Any,
            (Monoid::Min, true) => Monoid::All,
            _ => by,
        };
        let masked = self.masked(op, taken, Tensor::constant(by.identity(self.dtype()))?)?;
        both(&Tensor::from_uop(fold(op, &masked.uop(), by, axes, keepdim)?), initial)
    }
}

impl Masked {
    /// The bools in the shape of what they choose of.
    fn mask(&self, op: &'static str, x: &Tensor) -> Result<Option<Tensor>> {
        let Some(only) = &self.only else { return Ok(None) };
        if !only.dtype().is_bool() {
            let given = show_operands(&[only.uop()]);
            return Err(TensorError::dtype(op, format!("where must be bool, not {given}")));
        }
        only.expand(&x.shape()).map(Some).map_err(|_| {
            let given = show_operands(&[only.uop(), x.uop()]);
            TensorError::shape(op, format!("where does not expand to the elements: {given}"))
        })
    }

    /// The initial value in a result's type.
    fn initial_in(&self, op: &'static str, result: &Tensor) -> Result<Option<Tensor>> {
        let Some(initial) = &self.initial else { return Ok(None) };
        let node = initial.in_type(op, result.dtype())?;
        match node.rank() {
            0 => Ok(Some(Tensor::from_uop(node))),
            _ => Err(TensorError::shape(op, format!("initial is a scalar, not {}", show_operands(&[node])))),
        }
    }
}
