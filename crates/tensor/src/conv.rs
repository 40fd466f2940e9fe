//! Convolution and its transpose, over any number of spatial dimensions.
//!
//! Both are one contraction: windows of the padded input, multiplied by the weights and summed over
//! channels and taps. Nothing of the windows or the padding is ever in memory.

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{Pairs, Shape, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

use crate::error::{Result, TensorError, show, show_operands};
use crate::operand::{Operand, common_dtype};
use crate::reduce::carried_in;
use crate::tensor::Tensor;
use crate::window::{Padding, Span, positive, spans, spread, windows};

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
        let op = match weight.rank() {
            3 => "conv1d",
            4 => "conv2d",
            5 => "conv3d",
            _ => "conv",
        };
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

    /// The transpose of a convolution with weights `[in, out / groups, ..]`: what gives the gradient
    /// of its input, and makes `(n - 1) * stride` positions and the kernel's reach out of `n`.
    /// `how.padding` is cut off the result; `output_padding` elements are added at its end.
    ///
    /// # Errors
    /// As [`Tensor::conv`]; and an output padding that is negative or not smaller than stride or
    /// dilation.
    pub fn conv_transpose(
        &self,
        weight: &Tensor,
        bias: Option<&Tensor>,
        how: &Conv,
        output_padding: &[i64],
    ) -> Result<Tensor> {
        let op = match weight.rank() {
            3 => "conv_transpose1d",
            4 => "conv_transpose2d",
            5 => "conv_transpose3d",
            _ => "conv_transpose",
        };
        let given = Given::new(op, self, weight, bias, how.groups)?;
        let (x, w) = (&given.x, &given.weight);
        let spatial = w.rank() - 2;
        given.check_channels(&w.shape()[0], &w.shape()[0].to_string())?;
        let outs = &w.shape()[1] * Size::from(given.groups);
        given.check_bias(bias, &outs)?;

        let stride = positive(op, "stride", &how.stride, &w.shape()[2..], x)?;
        let dilation = positive(op, "dilation", &how.dilation, &w.shape()[2..], x)?;
        let cut = match &how.padding {
            Padding::Valid => vec![(0, 0); spatial],
            Padding::Pairs(pairs) => spread(op, "padding", pairs, spatial)?,
            Padding::Same => return Err(TensorError::value(op, "padding must be given as numbers")),
        };
        if cut.iter().any(|(a, b)| *a < 0 || *b < 0) {
            return Err(TensorError::value(op, format!("padding {cut:?} must not be negative")));
        }
        let added = spread(op, "output padding", output_padding, spatial)?;
        let fits = |d: usize| (0..stride[d].max(dilation[d]) as i64).contains(&added[d]);
        if !(0..spatial).all(fits) {
            let message = format!(
                "output padding {added:?} must be at least 0 and smaller than stride {stride:?} or dilation {dilation:?}"
            );
            return Err(TensorError::value(op, message));
        }

        let (mut phases, mut spans, mut cuts) = (Vec::new(), Vec::new(), Vec::new());
        for d in 0..spatial {
            let taps = w.shape()[2 + d].as_const();
            let Some(taps) = taps.filter(|n| *n > 0) else {
                return Err(given.misfit("a kernel must not be empty, and of constant extents"));
            };
            let by = stride[d] as i64;
            let reach = dilation[d] as i64 * (taps - 1);
            let phase = Phases::new(by, dilation[d], taps);
            let first = cut[d].0 / by;
            let span = Span {
                size: Size::from(phase.taps),
                stride: 1,
                dilation: phase.dilation,
                before: Size::from(phase.dilation as i64 * (phase.taps - 1) - first),
                after: Size::from((reach - cut[d].1 + added[d]).div_euclid(by)),
            };
            let result = (&x.shape()[2 + d] - 1) * by + (reach + 1 + added[d] - cut[d].0 - cut[d].1);
            cuts.push((cut[d].0 - first * by, result));
            phases.push(phase);
            spans.push(span);
        }
        if cuts.iter().any(|(_, n)| n.bounds().0 < 1) {
            let result: Vec<Size> = cuts.into_iter().map(|(_, n)| n).collect();
            return Err(given.misfit(&format!("the result would have extents {}", show(&result))));
        }
        let cropped = crop(op, x, &mut spans)?;
        let windows = windows(&cropped, &spans, Const::zero(x.dtype()))?;
        let (weight, bias) = phased(&transposed(w, given.groups)?, bias, &phases)?;
        let result = given.contract(windows, &weight, bias.as_ref())?;
        if phases.iter().all(|p| p.stride == 1) {
            return Ok(result);
        }
        Ok(Tensor::from_uop(together(&result.contiguous()?.uop(), &phases, &cuts)?))
    }
}

/// The phases of one dimension of a transposed convolution: result `stride * q + t` is made by every
/// `stride`-th tap from `t` on. All phases are one convolution of the input itself, each with output
/// channels of its own, so that nothing is multiplied by zeros between elements.
struct Phases {
    stride: i64,
    /// Taps of a phase, and their distance.
    taps: i64,
    dilation: usize,
    /// Zeros after each tap of the weights, and before all reversed ones.
    between: usize,
    before: i64,
}

impl Phases {
    fn new(stride: i64, dilation: usize, taps: i64) -> Phases {
        if stride == 1 {
            return Phases { stride, taps, dilation, between: 0, before: 0 };
        }
        let all = taps * dilation as i64;
        let each = (all + stride - 1) / stride;
        Phases { stride, taps: each, dilation: 1, between: dilation - 1, before: each * stride - all }
    }
}

/// Weights `[out, in / groups, taps reversed..]` and bias of a transposed convolution as those of the
/// convolution that makes all its phases, `[out * phases, in / groups, taps of a phase..]`.
fn phased(weight: &UOp, bias: Option<&Tensor>, phases: &[Phases]) -> Result<(UOp, Option<Tensor>)> {
    let spatial = phases.len();
    let (outs, ins) = (weight.shape()[0].clone(), weight.shape()[1].clone());
    let mut apart = weight.clone();
    for (d, p) in phases.iter().enumerate() {
        // The zeros after a tap come before it where taps are reversed.
        apart = interleave(&apart.flip(&[2 + d])?, 2 + d, p.between + 1)?.flip(&[2 + d])?;
    }
    let zero = || (Size::ZERO, Size::ZERO);
    let before = phases.iter().map(|p| (Size::from(p.before), Size::ZERO));
    let by: Pairs = [zero(), zero()].into_iter().chain(before).collect();
    let padded = apart.pad(by, Const::zero(weight.dtype()))?;
    // Of the reversed taps of all phases, the first ones are those of the last phase.
    let parts = phases.iter().flat_map(|p| [Size::from(p.taps), Size::from(p.stride)]);
    let split: Shape = [outs.clone(), ins.clone()].into_iter().chain(parts).collect();
    let last: Vec<usize> = (0..spatial).map(|d| 3 + 2 * d).collect();
    let first = (0..spatial).map(|d| 2 + 2 * d);
    let order: Vec<usize> = [0].into_iter().chain(last.iter().copied()).chain([1]).chain(first).collect();
    let count: i64 = phases.iter().map(|p| p.stride).product();
    let channels = &outs * Size::from(count);
    let taps = phases.iter().map(|p| Size::from(p.taps));
    let shape: Shape = [channels.clone(), ins].into_iter().chain(taps).collect();
    let weight = padded.reshape(split)?.flip(&last)?.permute(&order)?.reshape(shape)?;
    let each = |bias: &Tensor| -> Result<Tensor> {
        let column = bias.uop().reshape(vec![outs.clone(), Size::ONE])?;
        Ok(Tensor::from_uop(column.expand(vec![outs.clone(), Size::from(count)])?.reshape(vec![channels.clone()])?))
    };
    Ok((weight, bias.map(each).transpose()?))
}

/// What the phases give, `[.., out * phases, positions..]`, side by side: `[.., out, results..]`, where
/// `cuts` says for each dimension how many results are cut off before the first, and how many there are.
fn together(result: &UOp, phases: &[Phases], cuts: &[(i64, Size)]) -> Result<UOp> {
    let spatial = phases.len();
    let channels = result.rank() - spatial - 1;
    let count: i64 = phases.iter().map(|p| p.stride).product();
    let (batch, positions) = (result.shape()[..channels].to_vec(), result.shape()[channels + 1..].to_vec());
    let outs = result.shape()[channels].floordiv(Size::from(count));
    let strides = phases.iter().map(|p| Size::from(p.stride));
    let split: Shape = batch.iter().chain([&outs]).cloned().chain(strides).chain(positions.iter().cloned()).collect();
    let pair = |d: usize| [channels + 1 + spatial + d, channels + 1 + d];
    let order: Vec<usize> = (0..=channels).chain((0..spatial).flat_map(pair)).collect();
    let whole = positions.iter().zip(phases).map(|(n, p)| n * Size::from(p.stride));
    let shape: Shape = batch.iter().chain([&outs]).cloned().chain(whole).collect();
    let kept = batch.iter().chain([&outs]).map(|n| (Size::ZERO, n.clone()));
    let cuts = cuts.iter().map(|(first, n)| (Size::from(*first), n + *first));
    let to: Vec<(Size, Size)> = kept.chain(cuts).collect();
    Ok(result.reshape(split)?.permute(&order)?.reshape(shape)?.shrink(to)?)
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
        let carried = if self.dtype.is_float() { carried_in(self.dtype) } else { self.dtype };

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
        let channels = weight.shape()[0].clone();
        let mut shape = [&[batch, channels.clone()], &positions[..]].concat();
        let mut result = sum.reshape(shape.clone())?;
        if let Some(bias) = bias {
            let column = [&[channels], &ones[..]].concat();
            let bias = bias.uop().cast(carried)?.reshape(column)?.expand(shape.clone())?;
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

/// Each element of `axis` with `stride - 1` zeros after it.
fn interleave(x: &UOp, axis: usize, stride: usize) -> Result<UOp> {
    if stride == 1 {
        return Ok(x.clone());
    }
    let mut shape = x.shape().to_vec();
    shape.insert(axis + 1, Size::ONE);
    let by: Pairs = (0..shape.len())
        .map(|d| (Size::ZERO, if d == axis + 1 { Size::from(stride - 1) } else { Size::ZERO }))
        .collect();
    let apart = x.reshape(shape)?.pad(by, Const::zero(x.dtype()))?;
    let mut shape = x.shape().to_vec();
    shape[axis] = &shape[axis] * Size::from(stride);
    Ok(apart.reshape(shape)?)
}

/// Cuts off where the padding is negative, which then is 0.
fn crop(op: &'static str, x: &UOp, spans: &mut [Span]) -> Result<UOp> {
    let first = x.rank() - spans.len();
    let mut to: Vec<(Size, Size)> = x.shape().iter().map(|n| (Size::ZERO, n.clone())).collect();
    for (span, (start, end)) in spans.iter_mut().zip(&mut to[first..]) {
        for side in [&span.before, &span.after] {
            let (least, most) = side.bounds();
            if least < 0 && most > 0 {
                return Err(TensorError::shape(
                    op,
                    format!("whether a padding of {side} is negative cannot be decided"),
                ));
            }
        }
        if span.before.bounds().0 < 0 {
            *start = Size::ZERO - std::mem::replace(&mut span.before, Size::ZERO);
        }
        if span.after.bounds().0 < 0 {
            *end = &*end + std::mem::replace(&mut span.after, Size::ZERO);
        }
    }
    Ok(x.shrink(to)?)
}

/// Weights `[in, out / groups, taps..]` as those of the convolution that is the transpose,
/// `[out, in / groups, taps reversed..]`.
fn transposed(weight: &UOp, groups: i64) -> Result<UOp> {
    let (shape, groups) = (weight.shape(), Size::from(groups));
    let (ins, outs, taps) = (shape[0].floordiv(&groups), shape[1].clone(), &shape[2..]);
    let spatial: Vec<usize> = (2..shape.len()).collect();
    let reversed = weight.flip(&spatial)?.reshape([&[groups.clone(), ins.clone(), outs.clone()], taps].concat())?;
    let order: Vec<usize> = [0, 2, 1].into_iter().chain(3..3 + taps.len()).collect();
    Ok(reversed.permute(&order)?.reshape([&[groups * outs, ins], taps].concat())?)
}
