//! Convolution and its transpose, over any number of spatial dimensions.
//!
//! Both are contractions: windows of the padded input, multiplied by the weights and summed over
//! channels and taps. Nothing of the windows or the padding is ever in memory.

mod transpose;

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{Shape, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

use crate::error::{Result, TensorError, show_operands};
use crate::operand::{Operand, common_dtype};
use crate::reduce::carried_in;
use crate::tensor::Tensor;
use crate::window::{Padding, by_rank, spans, windows};

/// How a kernel moves over its input. Lists have one number for each spatial dimension, or one for
/// all.
#[derive(Clone, Debug)]
pub struct Conv {
    /// Distance of neighbouring positions.
    pub stride: Vec<i64>,
    /// Zeros around the input.
    pub padding: Padding,
    /// Distance of neighbouring taps.
    pub dilation: Vec<i64>,
    /// Number of groups of channels, each of which sees its own part of the input only; as many as
    /// channels is a depthwise convolution.
    pub groups: i64,
}

impl Default for Conv {
    fn default() -> Self {
        Conv { stride: vec![1], padding: Padding::Valid, dilation: vec![1], groups: 1 }
    }
}

impl Tensor {
    /// The convolution (cross-correlation, as is usual in networks) of `[batch, in, ..]` with
    /// weights `[out, in / groups, ..]`, plus a `bias` of `[out]`; the batch is optional. Narrow floats
    /// are summed in `float32`.
    ///
    /// # Errors
    /// Shapes that do not fit, types without a common one, a stride or dilation below 1, negative
    /// padding, groups that do not divide the channels, and a kernel larger than the padded input.
    pub fn conv(&self, weight: &Tensor, bias: Option<&Tensor>, how: &Conv) -> Result<Tensor> {
        let op = by_rank(weight.rank().saturating_sub(2), ["conv", "conv1d", "conv2d", "conv3d"]);
        let given = Given::new(op, self, weight, bias, how.groups)?;
        let (x, w) = (&given.x, &given.weight);
        let channels = &w.shape()[1] * Size::from(given.groups);
        given.check_channels(&channels, &format!("{} * {} groups", w.shape()[1], given.groups))?;
        given.check_groups(&w.shape()[0], "output channels")?;
        given.check_bias(bias, &w.shape()[0])?;
        let spans = spans(op, x, &w.shape()[2..], (&how.stride, &how.padding, &how.dilation))?;
        let windows = windows(x, &spans, Const::zero(x.dtype()))?;
        given.contract(windows, w, bias)
    }
}

/// The operands of a convolution, the input with a batch.
struct Given {
    op: &'static str,
    x: UOp,
    weight: UOp,
    groups: i64,
    dtype: DType,
    batched: bool,
}

impl Given {
    fn new(op: &'static str, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, groups: i64) -> Result<Given> {
        let operands: Vec<Operand> = [x, weight].into_iter().chain(bias).map(Operand::from).collect();
        let dtype = common_dtype(op, &operands)?;
        let (x, weight) = (x.uop(), weight.uop());
        let batched = x.rank() == weight.rank();
        let mut given = Given { op, x, weight, groups, dtype, batched };
        if given.weight.rank() < 3 || !(batched || given.x.rank() + 1 == given.weight.rank()) {
            return Err(given
                .misfit("needs [batch, channels, ..], or without batch, and a weight of as many spatial dimensions"));
        }
        if !batched {
            let shape = [&[Size::ONE], given.x.shape()].concat();
            given.x = given.x.reshape(shape)?;
        }
        if groups < 1 {
            return Err(given.misfit(&format!("groups must be at least 1, not {groups}")));
        }
        given.check_groups(&given.x.shape()[1], "input channels")?;
        Ok(given)
    }

    fn misfit(&self, why: &str) -> TensorError {
        let given = show_operands(&[self.x.clone(), self.weight.clone()]);
        TensorError::shape(self.op, format!("{given}: {why}"))
    }

    fn check_groups(&self, channels: &Size, what: &str) -> Result<()> {
        match channels.divisible_by(self.groups) {
            Some(true) => Ok(()),
            _ => Err(self.misfit(&format!("{} groups do not divide {channels} {what}", self.groups))),
        }
    }

    fn check_channels(&self, expected: &Size, takes: &str) -> Result<()> {
        match self.x.shape()[1].eq(expected) {
            Some(true) => Ok(()),
            _ => Err(self.misfit(&format!("the input has {} channels, the weight takes {takes}", self.x.shape()[1]))),
        }
    }

    fn check_bias(&self, bias: Option<&Tensor>, channels: &Size) -> Result<()> {
        match bias {
            Some(bias) if bias.shape() != [channels.clone()] => {
                let bias = show_operands(&[bias.uop()]);
                Err(self.misfit(&format!("the bias must be [{channels}], not {bias}")))
            }
            _ => Ok(()),
        }
    }

    /// The type of the sums.
    fn carried(&self) -> DType {
        if self.dtype.is_float() { carried_in(self.dtype) } else { self.dtype }
    }

    /// The sum over channels and taps of windows `[batch, in, positions.., taps..]` times weights
    /// `[out, in / groups, taps..]`, plus the bias: `[batch, out, positions..]`.
    fn contract(&self, windows: UOp, weight: &UOp, bias: Option<&Tensor>) -> Result<Tensor> {
        let spatial = weight.rank() - 2;
        let groups = Size::from(self.groups);
        let batch = windows.shape()[0].clone();
        let (ins, taps) = (weight.shape()[1].clone(), weight.shape()[2..].to_vec());
        let outs = weight.shape()[0].floordiv(&groups);
        let positions = windows.shape()[2..2 + spatial].to_vec();
        let ones = vec![Size::ONE; spatial];
        // All as [batch, group, out, positions.., in, taps..].
        let with = |batch: &Size, groups: &Size, outs: &Size, positions: &[Size]| -> Shape {
            let kept = [batch, groups, outs].into_iter().chain(positions);
            kept.chain([&ins]).chain(&taps).cloned().collect()
        };
        let full = with(&batch, &groups, &outs, &positions);
        let carried = self.carried();
        let split: Shape = [&batch, &groups, &ins].into_iter().chain(&positions).chain(&taps).cloned().collect();
        let order: Vec<usize> =
            [0, 1].into_iter().chain(3..3 + spatial).chain([2]).chain(3 + spatial..3 + 2 * spatial).collect();
        let x = windows.reshape(split)?.permute(&order)?;
        let x = x.reshape(with(&batch, &groups, &Size::ONE, &positions))?.cast(carried)?.expand(full.clone())?;
        let w = weight.reshape(with(&Size::ONE, &groups, &outs, &ones))?.cast(carried)?.expand(full.clone())?;
        let folded: Vec<usize> = (3 + spatial..full.len()).collect();
        let by = if self.dtype.is_bool() { Monoid::Any } else { Monoid::Sum };
        let sum = match ins == Size::ZERO {
            true => UOp::full(Const::zero(carried), &full[..3 + spatial].into())?,
            false => UOp::alu(Alu::Mul, &[x, w])?.reduce(by, &folded)?,
        };
        let shape = [&[batch, weight.shape()[0].clone()], &positions[..]].concat();
        self.finish(sum.reshape(shape)?, bias)
    }

    /// A sum `[batch, channels, positions..]` plus the bias, of the result's type, without a batch where the
    /// input had none.
    fn finish(&self, sum: UOp, bias: Option<&Tensor>) -> Result<Tensor> {
        let mut result = sum;
        let mut shape = result.shape().to_vec();
        if let Some(bias) = bias {
            let column = [&shape[1..2], &vec![Size::ONE; shape.len() - 2]].concat();
            let bias = bias.uop().cast(result.dtype())?.reshape(column)?.expand(shape.clone())?;
            let add = if self.dtype.is_bool() { Alu::Or } else { Alu::Add };
            result = UOp::alu(add, &[result, bias])?;
        }
        if !self.batched {
            shape.remove(0);
            result = result.reshape(shape)?;
        }
        Ok(Tensor::from_uop(result.cast(self.dtype)?))
    }
}
