//! Windows that move over dimensions: what convolution and pooling have in common.

use svod_dtype::Const;
use svod_ir::graph::{Pairs, UOp};
use svod_ir::size::Size;

use crate::error::{Result, TensorError, show, show_operands};
use crate::operand::axis_of;
use crate::tensor::Tensor;

/// What is put around the spatial dimensions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Padding {
    /// Nothing.
    #[default]
    Valid,
    /// As much as gives `extent / stride` positions, rounded up; the odd element comes last.
    Same,
    /// So many elements before and after; one pair counts for every dimension.
    Pairs(Vec<(i64, i64)>),
}

impl Padding {
    /// The same number of elements before and after each dimension.
    pub fn both(elements: &[i64]) -> Padding {
        Padding::Pairs(elements.iter().map(|&n| (n, n)).collect())
    }
}

/// The windows along one dimension.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub size: Size,
    pub stride: usize,
    pub dilation: usize,
    pub before: Size,
    pub after: Size,
}

impl Span {
    /// From the first element of a window to its last.
    pub fn reach(&self) -> Size {
        (&self.size - 1) * Size::from(self.dilation) + 1
    }

    /// Number of windows over `extent` elements.
    pub fn positions(&self, extent: &Size) -> Size {
        (extent + &self.before + &self.after - self.reach()).floordiv(Size::from(self.stride)) + 1
    }
}

/// The name of an operation over windows: that of its number of dimensions, where it has one, else the general one,
/// which comes first.
pub(crate) fn by_rank(spatial: usize, names: [&'static str; 4]) -> &'static str {
    names.get(spatial).unwrap_or(&names[0])
}

/// The number for each of `spatial` dimensions; a single one counts for all.
pub(crate) fn spread<T: Clone>(op: &'static str, what: &str, given: &[T], spatial: usize) -> Result<Vec<T>> {
    match given {
        [one] => Ok(vec![one.clone(); spatial]),
        _ if given.len() == spatial => Ok(given.to_vec()),
        _ => {
            let message = format!("{what} has {} numbers for {spatial} spatial dimensions", given.len());
            Err(TensorError::value(op, message))
        }
    }
}

/// A number of at least 1 for each dimension of windows of `sizes` over `x`.
pub(crate) fn positive(op: &'static str, what: &str, given: &[i64], sizes: &[Size], x: &UOp) -> Result<Vec<usize>> {
    let numbers = spread(op, what, given, sizes.len())?;
    let least = |n: i64| usize::try_from(n).ok().filter(|n| *n > 0);
    let too_small = || {
        let (sizes, x) = (show(sizes), show_operands(std::slice::from_ref(x)));
        TensorError::value(op, format!("{what} {given:?} of windows of {sizes} over {x} must be at least 1"))
    };
    numbers.into_iter().map(|n| least(n).ok_or_else(too_small)).collect()
}

/// The windows over the last dimensions of `x`, as many as `sizes` has.
///
/// # Errors
/// A stride or dilation below 1, a negative padding, and windows larger than the padded input.
pub(crate) fn spans(op: &'static str, x: &UOp, sizes: &[Size], how: (&[i64], &Padding, &[i64])) -> Result<Vec<Span>> {
    let spans = spans_of_any_reach(op, x, sizes, how)?;
    check_reach(op, x, &spans)?;
    Ok(spans)
}

/// As [`spans`], which may be larger than the padded input.
pub(crate) fn spans_of_any_reach(
    op: &'static str,
    x: &UOp,
    sizes: &[Size],
    (stride, padding, dilation): (&[i64], &Padding, &[i64]),
) -> Result<Vec<Span>> {
    let spatial = sizes.len();
    let Some(first) = x.rank().checked_sub(spatial) else {
        let given = show_operands(std::slice::from_ref(x));
        return Err(TensorError::shape(op, format!("{given} has fewer than {spatial} dimensions")));
    };
    if sizes.iter().any(|size| size.bounds().0 < 1) {
        let given = show_operands(std::slice::from_ref(x));
        return Err(TensorError::shape(op, format!("a kernel of {} over {given} must not be empty", show(sizes))));
    }
    let stride = positive(op, "stride", stride, sizes, x)?;
    let dilation = positive(op, "dilation", dilation, sizes, x)?;
    let extents = &x.shape()[first..];
    let mut spans: Vec<Span> = Vec::with_capacity(spatial);
    for (d, size) in sizes.iter().enumerate() {
        let none = (Size::ZERO, Size::ZERO);
        let mut span =
            Span { size: size.clone(), stride: stride[d], dilation: dilation[d], before: none.0, after: none.1 };
        if *padding == Padding::Same {
            // Of stride 1, whatever the extent is.
            let total = match stride[d] {
                1 => span.reach() - 1,
                s => {
                    let last = (extents[d].ceil_div(Size::from(s)) - 1) * Size::from(s);
                    (last + span.reach() - &extents[d]).max(Size::ZERO)
                }
            };
            span.before = total.floordiv(Size::from(2));
            span.after = total - &span.before;
        }
        spans.push(span);
    }
    if let Padding::Pairs(pairs) = padding {
        if pairs.iter().any(|(a, b)| *a < 0 || *b < 0) {
            return Err(TensorError::value(
                op,
                format!("padding {pairs:?} of {} must not be negative", show_operands(std::slice::from_ref(x))),
            ));
        }
        for (span, (before, after)) in spans.iter_mut().zip(spread(op, "padding", pairs, spatial)?) {
            (span.before, span.after) = (before.into(), after.into());
        }
    }
    Ok(spans)
}

/// An error unless the windows fit into the padded input.
pub(crate) fn check_reach(op: &'static str, x: &UOp, spans: &[Span]) -> Result<()> {
    let extents = &x.shape()[x.rank() - spans.len()..];
    let padded: Vec<Size> = spans.iter().zip(extents).map(|(s, n)| n + &s.before + &s.after).collect();
    if spans.iter().zip(&padded).all(|(s, n)| s.reach().le(n) == Some(true)) {
        return Ok(());
    }
    let reach: Vec<Size> = spans.iter().map(Span::reach).collect();
    let sizes: Vec<Size> = spans.iter().map(|s| s.size.clone()).collect();
    let (given, padded) = (show_operands(std::slice::from_ref(x)), show(&padded));
    let certain = spans.iter().zip(extents).any(|(s, n)| s.reach().le(&(n + &s.before + &s.after)) == Some(false));
    let verb = if certain { "is" } else { "may be" };
    let message = format!(
        "a kernel of {} that covers {} elements {verb} larger than the padded input {padded} of {given}",
        show(&sizes),
        show(&reach)
    );
    Err(TensorError::shape(op, message))
}

/// `x` with its last dimensions padded by `fill`, and replaced by the windows' positions; the elements
/// of the windows are as many new last dimensions.
pub(crate) fn windows(x: &UOp, spans: &[Span], fill: Const) -> Result<UOp> {
    let first = x.rank() - spans.len();
    let mut windows = x.pad(padding(first, spans), fill)?;
    for (d, span) in spans.iter().enumerate() {
        windows = windows.window(first + d, span.size.clone(), span.stride, span.dilation)?;
    }
    Ok(windows)
}

fn padding(first: usize, spans: &[Span]) -> Pairs {
    let none = std::iter::repeat_n((Size::ZERO, Size::ZERO), first);
    none.chain(spans.iter().map(|s| (s.before.clone(), s.after.clone()))).collect()
}

impl Tensor {
    /// Every part of `size` elements of `axis` that begins at a multiple of `step`: `axis` becomes
    /// the number of the part, and a new last dimension its elements.
    pub fn unfold(&self, axis: i64, size: impl Into<Size>, step: i64) -> Result<Tensor> {
        let (op, node, size) = ("unfold", self.uop(), size.into());
        if let Some(line) = self.as_line(axis)? {
            return match size == Size::ZERO {
                true => line.narrow(0, 0, 0),
                false => line.unfold(0, size.clone(), step)?.reshape(&[size]),
            };
        }
        let axis = axis_of(op, axis, node.rank())?;
        let step = positive(op, "step", &[step], std::slice::from_ref(&size), &node)?[0];
        if size == Size::ZERO {
            let mut shape = node.shape().to_vec();
            shape[axis] = shape[axis].floordiv(step) + 1;
            shape.push(size);
            return self.narrow(axis as i64, 0, 0)?.reshape(&shape);
        }
        if size.le(&node.shape()[axis]) != Some(true) {
            let given = show_operands(&[node]);
            return Err(TensorError::shape(
                op,
                format!("parts of {size} elements of axis {axis} of {given} do not fit"),
            ));
        }
        Ok(Tensor::from_uop(node.window(axis, size, step, 1)?))
    }

    /// The windows of a convolution as columns (im2col): `[batch, channels, ..]` becomes
    /// `[batch, channels * elements of a window, windows]`, the batch being optional.
    pub fn im2col(&self, kernel: &[i64], stride: &[i64], padding: &Padding, dilation: &[i64]) -> Result<Tensor> {
        let (op, node, spatial) = ("unfold", self.uop(), kernel.len());
        let batched = node.rank() == spatial + 2;
        if !batched && node.rank() != spatial + 1 {
            let given = show_operands(&[node]);
            let message = format!("needs [batch, channels, {spatial} spatial] or without batch, not {given}");
            return Err(TensorError::shape(op, message));
        }
        let sizes: Vec<Size> = kernel.iter().map(|&k| k.into()).collect();
        let spans = spans(op, &node, &sizes, (stride, padding, dilation))?;
        let first = node.rank() - spatial;
        let windows = windows(&node, &spans, Const::zero(node.dtype()))?;
        let order = (0..first).chain(first + spatial..first + 2 * spatial).chain(first..first + spatial);
        let windows = windows.permute(&order.collect::<Vec<_>>())?;
        let shape = windows.shape();
        let rows: Size = shape[first - 1..first + spatial].iter().product();
        let columns: Size = shape[first + spatial..].iter().product();
        let shape = [&shape[..first - 1], &[rows, columns]].concat();
        Ok(Tensor::from_uop(windows.reshape(shape)?))
    }
}
