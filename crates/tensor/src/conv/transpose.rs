//! The transpose of a convolution.
//!
//! Along a dimension, the result at `stride * q + phase` is made by the taps `j` with `j * dilation`
//! congruent to `phase`: every `step`-th tap from the first one on, `step` being the stride without the
//! factors it shares with the dilation. So the phases with a first tap are as many as `step`, or as the
//! taps; all others are the bias alone. First taps tell the phases apart: those before
//! `taps % step` have one tap more than those after it. Each of these two *parts* of a dimension is a
//! convolution of the input itself with output channels for each of its phases, and several dimensions
//! are the product of their parts: nothing is multiplied by a zero between elements, or by a weight that
//! is not there. What the parts give is put side by side at the end.

use std::ops::Range;

use svod_dtype::Const;
use svod_ir::graph::{Shape, UOp};
use svod_ir::size::Size;

use super::{Conv, Given};
use crate::error::{Result, TensorError, show};
use crate::tensor::Tensor;
use crate::window::{Padding, Span, by_rank, positive, spread, windows};

impl Tensor {
    /// The transpose of a convolution with weights `[in, out / groups, ..]`: what gives the gradient
    /// of its input, and makes `(n - 1) * stride` positions and the kernel's reach out of `n`.
    /// `how.padding` is cut off the result; `output_padding` elements are added at its end.
    ///
    /// A result is the sum of products with the elements that it reads and no other: infinite ones do not get
    /// to its neighbours. Around the input are zeros, however: an infinite weight makes NaN at the borders.
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
        let names = ["conv_transpose", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"];
        let op = by_rank(weight.rank().saturating_sub(2), names);
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

        let mut dimensions = Vec::with_capacity(spatial);
        for d in 0..spatial {
            let taps = w.shape()[2 + d].as_const();
            let Some(taps) = taps.filter(|n| *n > 0) else {
                return Err(given.misfit("a kernel must not be empty, and of constant extents"));
            };
            let (stride, dilation) = (stride[d] as i64, dilation[d] as i64);
            let kept = cut[d].0..dilation * (taps - 1) + 1 + added[d] - cut[d].1;
            dimensions.push(Phases::new(stride, dilation, taps, &x.shape()[2 + d], kept));
        }
        if dimensions.iter().any(|p| p.results.bounds().0 < 1) {
            let results: Vec<Size> = dimensions.into_iter().map(|p| p.results).collect();
            return Err(given.misfit(&format!("the result would have extents {}", show(&results))));
        }

        let weight = by_output(w, given.groups)?;
        let mut made = Vec::new();
        for parts in products(&dimensions) {
            let mut spans: Vec<Span> = parts.iter().map(|p| p.span.clone()).collect();
            let windows = windows(&crop(x, &mut spans)?, &spans, Const::zero(x.dtype()))?;
            let bias = bias.map(|bias| for_parts(bias, &parts)).transpose()?;
            let result = given.contract(windows, &weights_of(&weight, &parts)?, bias.as_ref())?;
            if dimensions.iter().all(|p| p.stride == 1) {
                return Ok(result);
            }
            made.push(split(&result.uop().contiguous()?, &parts)?);
        }
        let ones = vec![Size::ONE; spatial];
        let zero =
            UOp::full(Const::zero(given.carried()), &[&[x.shape()[0].clone(), outs], &ones[..]].concat().into())?;
        let untouched = given.finish(zero, bias)?.uop();
        let untouched = untouched.reshape([untouched.shape(), &ones].concat())?;
        for (d, phases) in dimensions.iter().enumerate().rev() {
            let axes = (untouched.rank() - 2 * spatial + d, untouched.rank() - spatial + d);
            let joined = made.chunks(phases.parts.len()).map(|parts| phases.join(parts, axes, &untouched));
            made = joined.collect::<Result<_>>()?;
        }
        Ok(Tensor::from_uop(together(&made[0], &dimensions)?))
    }
}

/// One dimension of a transposed convolution.
struct Phases {
    stride: i64,
    parts: Vec<Part>,
    /// Where each phase that has taps is, by phase.
    sources: Vec<Source>,
    /// Positions, each of `stride` results.
    positions: Size,
    /// Results that are cut off before the first, and how many there are.
    skipped: i64,
    results: Size,
}

/// Phases of equally many taps, as a convolution with a channel for each.
struct Part {
    /// First taps of the phases, and the distance of a phase's taps.
    first: Range<i64>,
    step: i64,
    /// The windows over the input, which have as many elements as a phase has taps.
    span: Span,
    taps: i64,
}

/// A channel of a part, from one of the part's positions on.
struct Source {
    phase: i64,
    part: usize,
    channel: i64,
    start: i64,
}

impl Phases {
    /// Of `extent` elements. `kept` are the results that are kept of a single one, counted from what its first tap
    /// makes; each further element adds `stride` results.
    fn new(stride: i64, dilation: i64, taps: i64, extent: &Size, kept: Range<i64>) -> Phases {
        let shared = greatest_common_divisor(stride, dilation);
        let (step, apart) = (stride / shared, dilation / shared);
        let (least, rest) = (taps / step, taps % step);
        // Positions begin with the first result that is kept where phases are chosen from two parts, which costs more
        // than a cut. The phases of a single part stay in the order of the taps, and what is before is cut off.
        let single = least == 0 || rest == 0;
        let origin = if single { kept.start - kept.start % stride } else { kept.start };
        // The last position, relative to that of the last element.
        let last = (kept.end - 1 - origin).div_euclid(stride);
        let position = |tap: i64| (tap * dilation - origin).div_euclid(stride);
        let part = |taps: i64, of: Range<i64>| Part {
            span: Span {
                size: Size::from(taps),
                stride: 1,
                dilation: apart as usize,
                before: Size::from(apart * (taps - 1) + position(of.end - 1)),
                after: Size::from(last - position(of.start)),
            },
            first: of,
            step,
            taps,
        };
        let parts = [(least + 1, 0..rest), (least, rest..step)];
        let parts: Vec<Part> =
            parts.into_iter().filter(|(taps, of)| *taps > 0 && !of.is_empty()).map(|(n, of)| part(n, of)).collect();
        let mut sources = Vec::new();
        for (part, of) in parts.iter().enumerate() {
            sources.extend(of.first.clone().map(|tap| Source {
                phase: (tap * dilation - origin).rem_euclid(stride),
                part,
                channel: tap - of.first.start,
                start: position(of.first.end - 1) - position(tap),
            }));
        }
        sources.sort_by_key(|source| source.phase);
        let results = (extent - 1) * stride + (kept.end - kept.start);
        Phases { stride, parts, sources, positions: extent + last, skipped: kept.start - origin, results }
    }

    /// What the parts give along this dimension, as all its phases; `axes` are those of phases and positions. A
    /// phase without taps is `untouched`.
    fn join(&self, parts: &[UOp], axes: (usize, usize), untouched: &UOp) -> Result<UOp> {
        let fill = |phases: i64| {
            let mut shape = parts[0].shape().to_vec();
            (shape[axes.0], shape[axes.1]) = (Size::from(phases), self.positions.clone());
            untouched.expand(shape)
        };
        let (mut joined, mut next) = (Vec::new(), 0);
        for run in self.sources.chunk_by(Source::is_before) {
            let (source, count) = (&run[0], run.len() as i64);
            if source.phase > next {
                joined.push(fill(source.phase - next)?);
            }
            let part = &parts[source.part];
            let mut to: Vec<(Size, Size)> = part.shape().iter().map(|n| (Size::ZERO, n.clone())).collect();
            to[axes.0] = (Size::from(source.channel), Size::from(source.channel + count));
            to[axes.1] = (Size::from(source.start), &self.positions + source.start);
            joined.push(part.shrink(to)?);
            next = source.phase + count;
        }
        if next < self.stride {
            joined.push(fill(self.stride - next)?);
        }
        Ok(UOp::concat(&joined, axes.0)?)
    }
}

impl Source {
    /// Whether `next` is what follows in memory, and the next phase.
    fn is_before(&self, next: &Source) -> bool {
        let after = |source: &Source, by: i64| (source.phase + by, source.part, source.channel + by, source.start);
        after(self, 1) == after(next, 0)
    }
}

fn greatest_common_divisor(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Each choice of a part for every dimension; the last dimension's vary first.
fn products(dimensions: &[Phases]) -> Vec<Vec<&Part>> {
    let mut products = vec![Vec::new()];
    for phases in dimensions {
        let with =
            |others: &Vec<_>| phases.parts.iter().map(|part| [&others[..], &[part]].concat()).collect::<Vec<_>>();
        products = products.iter().flat_map(with).collect();
    }
    products
}

/// Number of channels of parts for each output channel.
fn channels(parts: &[&Part]) -> Vec<Size> {
    parts.iter().map(|p| Size::from(p.first.end - p.first.start)).collect()
}

/// Of weights `[out, in / groups, taps..]`, those of the convolution that makes parts,
/// `[out * channels, in / groups, taps of the parts, reversed..]`.
fn weights_of(weight: &UOp, parts: &[&Part]) -> Result<UOp> {
    let spatial = parts.len();
    let mut apart = weight.clone();
    for (d, part) in parts.iter().enumerate() {
        let mut to: Vec<(Size, Size)> = apart.shape().iter().map(|n| (Size::ZERO, n.clone())).collect();
        let end = part.first.end + (part.taps - 1) * part.step;
        to[2 + d] = (Size::from(part.first.start), Size::from(end));
        let count = part.first.end - part.first.start;
        apart = apart.shrink(to)?.window(2 + d, count, part.step as usize, 1)?.flip(&[2 + d])?;
    }
    let order: Vec<usize> = [0].into_iter().chain(2 + spatial..2 + 2 * spatial).chain(1..2 + spatial).collect();
    let made = &weight.shape()[0] * channels(parts).iter().product::<Size>();
    let shape = [&[made], &apart.shape()[1..2 + spatial]].concat();
    Ok(apart.permute(&order)?.reshape(shape)?)
}

/// A bias `[out]` as that of the convolution that makes parts.
fn for_parts(bias: &Tensor, parts: &[&Part]) -> Result<Tensor> {
    let outs = bias.shape()[0].clone();
    let count: Size = channels(parts).iter().product();
    let column = bias.uop().reshape(vec![outs.clone(), Size::ONE])?;
    let each = column.expand(vec![outs.clone(), count.clone()])?.reshape(vec![outs * count])?;
    Ok(Tensor::from_uop(each))
}

/// What the convolution of parts gives, `[.., out * channels, positions..]`, as `[.., out, channels.., positions..]`.
fn split(result: &UOp, parts: &[&Part]) -> Result<UOp> {
    let channels = channels(parts);
    let (before, positions) = result.shape().split_at(result.rank() - parts.len());
    let (made, batch) = before.split_last().expect("channels come before positions");
    let outs = made.floordiv(channels.iter().product::<Size>());
    Ok(result.reshape([batch, &[outs], &channels, positions].concat())?)
}

/// All phases `[.., phases.., positions..]`, side by side: `[.., results..]`.
fn together(phased: &UOp, dimensions: &[Phases]) -> Result<UOp> {
    let spatial = dimensions.len();
    let first = phased.rank() - 2 * spatial;
    let order: Vec<usize> = (0..first).chain((first..first + spatial).flat_map(|d| [d + spatial, d])).collect();
    let before = &phased.shape()[..first];
    let whole: Shape = before.iter().cloned().chain(dimensions.iter().map(|p| &p.positions * p.stride)).collect();
    let all = before.iter().map(|n| (Size::ZERO, n.clone()));
    let kept = all.chain(dimensions.iter().map(|p| (p.skipped.into(), &p.results + p.skipped)));
    Ok(phased.permute(&order)?.reshape(whole)?.shrink(kept.collect::<Vec<(Size, Size)>>())?)
}

/// Weights `[in, out / groups, taps..]` as `[out, in / groups, taps..]`.
fn by_output(weight: &UOp, groups: i64) -> Result<UOp> {
    let (shape, groups) = (weight.shape(), Size::from(groups));
    let (ins, outs, taps) = (shape[0].floordiv(&groups), shape[1].clone(), &shape[2..]);
    let apart = weight.reshape([&[groups.clone(), ins.clone(), outs.clone()], taps].concat())?;
    let order: Vec<usize> = [0, 2, 1].into_iter().chain(3..3 + taps.len()).collect();
    Ok(apart.permute(&order)?.reshape([&[groups * outs, ins], taps].concat())?)
}

/// Cuts off where the padding is negative, which then is 0. What would be cut off of the other side's padding
/// is left out there.
fn crop(x: &UOp, spans: &mut [Span]) -> Result<UOp> {
    let first = x.rank() - spans.len();
    let mut to: Vec<(Size, Size)> = x.shape().iter().map(|n| (Size::ZERO, n.clone())).collect();
    for (span, (start, end)) in spans.iter_mut().zip(&mut to[first..]) {
        if span.before.bounds().0 < 0 {
            *start = (Size::ZERO - &span.before).min(end.clone());
            span.after = &span.after + &span.before + &*start;
            span.before = Size::ZERO;
        }
        if span.after.bounds().0 < 0 {
            let cut = (Size::ZERO - &span.after).min(&*end - &*start);
            span.before = &span.before + &span.after + &cut;
            span.after = Size::ZERO;
            *end = &*end - cut;
        }
    }
    Ok(x.shrink(to)?)
}
