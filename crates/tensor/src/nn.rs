//! Layers as plain compositions.

use svod_ir::size::Size;

use crate::error::{Result, TensorError, show_operands};
use crate::operand::{axis_of, need_int};
use crate::tensor::Tensor;
use svod_dtype::DType;
use svod_ir::graph::UOp;

impl Tensor {
    /// `self @ weight.T + bias` over the last dimension, with weights `[out, in]`, or `[in]` for a single
    /// output without a dimension, and one bias for each output.
    ///
    /// # Errors
    /// [`TensorError::Shape`] where the shapes do not fit each other.
    pub fn linear(&self, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        let misfit = |why: &str| {
            let given = show_operands(&[self.uop(), weight.uop()]);
            Err(TensorError::shape("linear", format!("{given}: {why}")))
        };
        let (x, w) = (self.shape(), weight.shape());
        let (Some(given), [outs @ .., takes]) = (x.last(), &w[..]) else {
            return misfit("needs [.., in] and a weight of [out, in]");
        };
        if outs.len() > 1 {
            return misfit("the weight must be [out, in]");
        }
        if given.eq(takes) != Some(true) {
            return misfit(&format!("the input has {given} features, the weight takes {takes}"));
        }
        let fits = |b: &Tensor| {
            b.rank() <= 1 && b.shape().iter().zip(outs).all(|(b, o)| *b == Size::ONE || b.eq(o) == Some(true))
        };
        if let Some(bias) = bias.filter(|b| !fits(b)) {
            let bias = show_operands(&[bias.uop()]);
            return misfit(&format!("the bias must have one element for each output, not be {bias}"));
        }
        let product = self.matmul(&weight.t()?)?;
        match bias {
            Some(bias) => product.add(bias),
            None => Ok(product),
        }
    }

    /// Less its mean and divided by its standard deviation over the last dimensions, which have
    /// this shape, then scaled and shifted (Ba, Kiros and Hinton 2016).
    pub fn layer_norm<S: Clone + Into<Size>>(
        &self,
        normalized: &[S],
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        epsilon: f64,
    ) -> Result<Tensor> {
        let axes = self.trailing("layer_norm", normalized)?;
        let x = self.as_float()?;
        let wide = x.widened()?;
        let centred = wide.sub(wide.mean(Some(&axes), true)?)?;
        let variance = centred.square()?.mean(Some(&axes), true)?;
        let scaled = centred.mul(variance.add(epsilon)?.rsqrt()?)?.cast(x.dtype())?;
        scaled.affine(weight, bias)
    }

    /// Divided by the root of its mean square over the last dimensions, then scaled (Zhang and
    /// Sennrich 2019).
    pub fn rms_norm<S: Clone + Into<Size>>(
        &self,
        normalized: &[S],
        weight: Option<&Tensor>,
        epsilon: f64,
    ) -> Result<Tensor> {
        let axes = self.trailing("rms_norm", normalized)?;
        let x = self.as_float()?;
        let wide = x.widened()?;
        let mean_square = wide.square()?.mean(Some(&axes), true)?;
        wide.mul(mean_square.add(epsilon)?.rsqrt()?)?.cast(x.dtype())?.affine(weight, None)
    }

    /// Divided by its `p`-norm along `axis`, or by `epsilon` where that is greater.
    pub fn normalize(&self, p: f64, axis: i64, epsilon: f64) -> Result<Tensor> {
        self.rounded_once(|x| x.div(x.norm(p, Some(&[axis]), true)?.maximum(epsilon)?))
    }

    /// Rows of the table `self` by index; `ids` of any shape.
    pub fn embedding(&self, ids: &Tensor) -> Result<Tensor> {
        let op = "embedding";
        if self.rank() != 2 {
            let given = show_operands(&[self.uop()]);
            return Err(TensorError::shape(op, format!("the table must be [rows, columns], not {given}")));
        }
        self.taken(op, ids, 0)
    }

    /// 1 at each index along a new last dimension of `classes`, else 0; `int64`.
    pub fn one_hot(&self, classes: impl Into<Size>) -> Result<Tensor> {
        let (node, classes) = (self.uop(), classes.into());
        need_int("one_hot", "the index", &node)?;
        let class = Tensor::from_uop(UOp::range(classes)?);
        self.unsqueeze(-1)?.eq(class)?.cast(DType::I64)
    }

    fn affine(self, weight: Option<&Tensor>, bias: Option<&Tensor>) -> Result<Tensor> {
        let scaled = match weight {
            Some(weight) => self.mul(weight)?,
            None => self,
        };
        match bias {
            Some(bias) => scaled.add(bias),
            None => Ok(scaled),
        }
    }

    /// The last axes, which have this shape.
    fn trailing<S: Clone + Into<Size>>(&self, op: &'static str, normalized: &[S]) -> Result<Vec<i64>> {
        let (shape, normalized) = (self.shape(), crate::operand::sizes(normalized));
        if normalized.is_empty() || !shape.ends_with(&normalized) {
            let (given, expected) = (crate::error::show(&shape), crate::error::show(&normalized));
            return Err(TensorError::shape(op, format!("{given} does not end with {expected}")));
        }
        let first = axis_of(op, -(normalized.len() as i64), shape.len())?;
        Ok((first..shape.len()).map(|a| a as i64).collect())
    }
}
