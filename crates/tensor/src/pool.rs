//! Pooling: windows reduced to one element.

use svod_dtype::{Const, DType};
use svod_ir::graph::UOp;
use svod_ir::kernel::Monoid;
use svod_ir::size::{Size, gcd};

use crate::derivative::first_maximum;
use crate::error::{Result, TensorError, show_operands};
use crate::operand::size_value;
use crate::reduce::carried_in;
use crate::tensor::Tensor;
use crate::window::{Padding, Span, by_rank, check_reach, spans_of_any_reach, spread, windows};

/// How a window moves over its input. Lists have one number for each spatial dimension, or one for
/// all.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Distance of neighbouring positions; that of the kernel's extents where it is not given.
    pub stride: Option<Vec<i64>>,
    /// What is around the input: at most half of the kernel, so that every window has an element.
    pub padding: Padding,
    /// Distance of neighbouring elements of a window.
    pub dilation: Vec<i64>,
    /// Whether there also is a window that begins inside and ends beyond the padded input.
    pub ceil_mode: bool,
    /// Whether padding counts as elements of an average.
    pub count_include_pad: bool,
}

impl Default for Pool {
    fn default() -> Self {
        let padding = Padding::Valid;
        Pool { stride: None, padding, dilation: vec![1], ceil_mode: false, count_include_pad: true }
    }
}

impl Tensor {
    /// The maximum of each window over the last dimensions, as many as `kernel` has; NaN where
    /// there is one. Of several elements that are it the first, in the order of memory, has the derivative.
    ///
    /// # Errors
    /// A stride or dilation below 1, padding that is negative or more than half of the kernel, and
    /// a kernel larger than the padded input.
    pub fn max_pool(&self, kernel: &[i64], how: &Pool) -> Result<Tensor> {
        let op = by_rank(kernel.len(), ["max_pool", "max_pool1d", "max_pool2d", "max_pool3d"]);
        let x = self.uop();
        let windows_over = pool_spans(op, &x, kernel, how)?.spans;
        let by = if x.dtype().is_bool() { Monoid::Any } else { Monoid::Max };
        let elements = windows(&x, &windows_over, by.identity(x.dtype()))?;
        let folded: Vec<usize> = (x.rank()..elements.rank()).collect();
        let value = elements.reduce(by, &folded)?;
        if !x.dtype().is_inexact() {
            return Ok(Tensor::from_uop(value));
        }
        let is_padded = windows_over.iter().any(|span| span.before != Size::ZERO || span.after != Size::ZERO);
        let inside = || -> Result<UOp> {
            let ones = UOp::full(Const::one(DType::Bool), x.shape_arc())?;
            let inside = windows(&ones, &windows_over, Const::zero(DType::Bool))?;
            Ok(inside.reshape(in_one(&inside, x.rank()))?)
        };
        let inside = if is_padded { Some(inside()?) } else { None };
        let rows = elements.reshape(in_one(&elements, x.rank()))?;
        Ok(Tensor::from_uop(first_maximum("max_pool", &value, &rows, inside)?))
    }

    /// The mean of each window over the last dimensions, as many as `kernel` has; of integers without its fraction, and
    /// of bools in the default float.
    ///
    /// # Errors
    /// As [`Tensor::max_pool`].
    pub fn avg_pool(&self, kernel: &[i64], how: &Pool) -> Result<Tensor> {
        let op = by_rank(kernel.len(), ["avg_pool", "avg_pool1d", "avg_pool2d", "avg_pool3d"]);
        let whole = self.dtype().is_int();
        let x = if whole { self.clone() } else { self.as_float()? };
        let wide = x.cast(carried_in(x.dtype()))?;
        let node = wide.uop();
        let Spans { spans, extra } = pool_spans(op, &node, kernel, how)?;
        let first = node.rank() - spans.len();
        let elements = windows(&node, &spans, Const::zero(node.dtype()))?;
        let folded: Vec<usize> = (node.rank()..elements.rank()).collect();
        let sum = Tensor::from_uop(elements.reduce(Monoid::Sum, &folded)?);

        // All windows have as many elements, unless padding does not count.
        let mut count = Tensor::constant(Const::one(node.dtype()))?;
        for (d, span) in spans.iter().enumerate() {
            let counts = if how.count_include_pad { Size::ZERO } else { span.before.clone() };
            let uncounted = if how.count_include_pad { extra[d].clone() } else { span.after.clone() };
            let along = if counts == Size::ZERO && uncounted == Size::ZERO {
                Tensor::from_uop(size_value(&span.size)?)
            } else {
                let counted = [counts, &node.shape()[first + d] + &span.before + &span.after - uncounted];
                let mut shape = vec![Size::ONE; spans.len() - d];
                shape[0] = span.positions(&node.shape()[first + d]);
                counted_elements(span, &shape[0], counted)?.reshape(&shape)?
            };
            count = count.mul(along.cast(node.dtype())?)?;
        }
        let mean = if whole { sum.trunc_div(count)? } else { sum.div(count)? };
        mean.cast(x.dtype())
    }

    /// The means of `output` parts of the last dimensions, as many as `output` has, that cover
    /// them and are as equal as can be; `None` keeps an extent.
    ///
    /// # Errors
    /// An extent or a number of parts below 1.
    pub fn adaptive_avg_pool(&self, output: &[Option<i64>]) -> Result<Tensor> {
        let names = ["adaptive_avg_pool", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"];
        let op = by_rank(output.len(), names);
        let shape = self.shape();
        let Some(first) = shape.len().checked_sub(output.len()) else {
            let given = show_operands(&[self.uop()]);
            return Err(TensorError::shape(op, format!("{given} has fewer than {} dimensions", output.len())));
        };
        let x = self.as_float()?;
        let mut pooled = x.widened()?;
        for (axis, parts) in (first..).zip(output) {
            let extent = &shape[axis];
            let Some(parts) = parts else { continue };
            // Positions of parts are computed in 64 bits.
            let fits = |extent: i64| extent.checked_add(1).and_then(|n| n.checked_mul(parts.checked_add(1)?)).is_some();
            if *parts < 1 || extent.bounds().0 < 1 || !extent.as_const().is_none_or(fits) {
                let given = show_operands(&[self.uop()]);
                let message = format!("dimension {axis} of {given} has no {parts} parts of at least one element");
                return Err(TensorError::shape(op, message));
            }
            pooled = match extent.divisible_by(*parts) {
                Some(true) => {
                    let parts = [Size::from(*parts), extent.floordiv(*parts)];
                    pooled.unflatten(axis as i64, &parts)?.mean(Some(&[axis as i64 + 1]), false)?
                }
                _ => pooled.mean_of_parts(axis, extent, *parts)?,
            };
        }
        pooled.cast(x.dtype())
    }

    /// The means of parts of one axis that do not divide it: part `i` goes from `floor(i * extent / parts)` to
    /// `ceil((i + 1) * extent / parts)`.
    fn mean_of_parts(&self, axis: usize, extent: &Size, parts: i64) -> Result<Tensor> {
        let longest = longest_part(extent, parts);
        let elements = Tensor::from_uop(size_value(extent)?);
        let part = Tensor::from_uop(UOp::range(parts)?).unsqueeze(1)?;
        let first = part.mul(&elements)?.floor_div(parts)?;
        let length = part.add(1)?.mul(&elements)?.add(parts - 1)?.floor_div(parts)?.sub(&first)?;
        let offset = Tensor::from_uop(UOp::range(longest)?);
        let inside = offset.lt(&length)?;
        let index = first.add(&offset)?.minimum(&elements.sub(1)?)?;
        // [.., part, offset, ..]: elements beyond a part's end are those of the next.
        let after = self.rank() - axis - 1;
        let aligned = |t: &Tensor| t.reshape(&[&t.shape()[..], &vec![Size::ONE; after]].concat());
        let elements = Tensor::from_uop(self.uop().take(axis, &index.uop())?);
        let kept = Tensor::select(&aligned(&inside)?, &elements, 0.0)?;
        let length =
            Tensor::from_uop(length.uop().reshape([&[Size::from(parts)], &vec![Size::ONE; after][..]].concat())?);
        kept.sum(Some(&[axis as i64 + 1]), false)?.div(length.cast(self.dtype())?)
    }
}

/// The shape in which all dimensions from one on are one.
fn in_one(x: &UOp, from: usize) -> Vec<Size> {
    let (kept, folded) = x.shape().split_at(from);
    kept.iter().cloned().chain([folded.iter().product()]).collect()
}

/// At least as many elements as the longest of so many parts has.
fn longest_part(extent: &Size, parts: i64) -> Size {
    let Some(extent) = extent.as_const() else { return extent.ceil_div(parts) + 1 };
    // It begins with the last bit of an element: in lowest terms, a remainder of `of - 1`.
    let shared = gcd(extent.unsigned_abs(), parts.unsigned_abs()) as i64;
    let (elements, of) = (extent / shared, parts / shared);
    Size::from((elements + 2 * of - 2) / of)
}

/// The windows of a pooling, and how much of each padding at the end is there only because of
/// `ceil_mode`.
struct Spans {
    spans: Vec<Span>,
    extra: Vec<Size>,
}

fn pool_spans(op: &'static str, x: &UOp, kernel: &[i64], how: &Pool) -> Result<Spans> {
    let sizes: Vec<Size> = kernel.iter().map(|&k| k.into()).collect();
    let stride = how.stride.as_deref().unwrap_or(kernel);
    let mut spans = spans_of_any_reach(op, x, &sizes, (stride, &how.padding, &how.dilation))?;
    if !how.ceil_mode {
        check_reach(op, x, &spans)?;
    }
    if let Padding::Pairs(pairs) = &how.padding {
        let halves = spread(op, "padding", pairs, spans.len())?.into_iter().zip(kernel);
        if halves.clone().any(|((a, b), k)| a > k / 2 || b > k / 2) {
            let message = format!(
                "padding {pairs:?} of {} is more than half of the kernel {kernel:?}",
                show_operands(std::slice::from_ref(x))
            );
            return Err(TensorError::value(op, message));
        }
    }
    let mut extra = vec![Size::ZERO; spans.len()];
    if how.ceil_mode {
        for (d, span) in spans.iter_mut().enumerate() {
            let extent = &x.shape()[x.rank() - kernel.len() + d];
            let (stride, reach) = (Size::from(span.stride), span.reach());
            let padded = extent + &span.before + &span.after;
            // The last window begins inside the input or the padding before it.
            let all = (&padded - &reach).ceil_div(&stride) + 1;
            let positions = all.min((extent + &span.before).ceil_div(&stride));
            extra[d] = ((positions - 1) * stride + reach - padded).max(Size::ZERO);
            span.after = &span.after + &extra[d];
        }
        // Not one window begins within an input that is so much smaller than it.
        check_reach(op, x, &spans)?;
    }
    Ok(Spans { spans, extra })
}

/// The number of elements of each window along one dimension that lie from the first (inclusive) to
/// the last (exclusive) of `counted`, positions in the padded input; `int64`.
fn counted_elements(span: &Span, positions: &Size, counted: [Size; 2]) -> Result<Tensor> {
    let [first, last] = counted.map(|s| size_value(&s).map(Tensor::from_uop));
    let start = Tensor::from_uop(UOp::range(positions.clone())?).mul(span.stride as i64)?;
    if span.dilation == 1 {
        let end = start.add(Tensor::from_uop(size_value(&span.size)?))?;
        return end.minimum(&last?)?.sub(start.maximum(&first?)?);
    }
    let taps = Tensor::from_uop(UOp::range(span.size.clone())?).mul(span.dilation as i64)?;
    let at = start.unsqueeze(1)?.add(&taps)?;
    let inside = at.ge(&first?)?.logical_and(at.lt(&last?)?)?;
    inside.cast(DType::I64)?.sum(Some(&[1]), false)
}
