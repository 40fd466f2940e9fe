//! The derivative of windows: what overlaps is summed.
//!
//! An element is read by the windows `p` at their elements `t` with `p * stride + t * dilation` its position. So the sum at a
//! position goes over the elements `t` of shifted windows: it is itself a fold of windows, over the cotangent with zeros
//! around it. Where the cotangent is a sum of products, as that of a convolution's input is, both sums are one,
//! and the whole is a contraction again: nothing like columns of the input is ever in memory. Where one factor is the
//! same in every window, as weights are, and the other at every element of a window, that contraction is a convolution
//! with the weights turned round, over all dimensions at once.
//!
//! With a stride, and a small image, the products of all windows are in memory after all, as a matrix product, and its columns are
//! summed where they overlap. Otherwise position `q * stride + phase` is read by the elements `t = u * stride + phase` of the windows `q - u`: for
//! each phase these are windows of stride 1.

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{Op, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

use super::algebra::{inverse, mul, padded, sum};
use super::table::Step;
use crate::error::Result;

/// How many times more than there is the phases of windows may compute.
const MOST_WASTE: f64 = 2.0;

/// Positions that fill vectors by themselves.
const FILLED: usize = 16;

/// Windows along one dimension of a value.
struct Slide {
    axis: usize,
    size: Size,
    stride: usize,
    dilation: usize,
    /// Elements of the dimension.
    extent: Size,
}

impl Slide {
    fn new(op: &Op, of: &UOp) -> Option<Slide> {
        let Op::Window(axis, size, stride, dilation) = op else { return None };
        let (extent, size) = (of.shape()[*axis].clone(), size.clone());
        Some(Slide { axis: *axis, size, stride: *stride, dilation: *dilation, extent })
    }

    /// From the first element of a window to its last.
    fn reach(&self) -> Size {
        (&self.size - 1) * Size::from(self.dilation)
    }

    /// Whether it is taken apart into windows of stride 1 for each phase.
    fn has_phases(&self) -> bool {
        self.stride > 1 && self.dilation <= 1 && !self.has_gaps()
    }

    /// Whether windows are single elements with others between them.
    fn has_gaps(&self) -> bool {
        self.stride > 1 && self.size == Size::ONE
    }

    /// Elements of the windows of one phase.
    fn rounds(&self) -> Size {
        self.size.ceil_div(Size::from(self.stride))
    }
}

/// The value that windows lie over, where they lie over windows: all of these are one map. `stays` tells values that are
/// asked for.
pub fn base(windows: &UOp, stays: impl Fn(&UOp) -> bool) -> Option<UOp> {
    let mut base = windows.source()?;
    while matches!(base.op(), Op::Window(..)) && !stays(&base) {
        base = base.source()?;
    }
    Some(base)
}

/// The cotangent of what windows lie over, whose last dimensions are their elements.
pub fn overlapped(step: &Step<'_>) -> Result<UOp> {
    let (g, base) = (step.g, &step.x[0]);
    let mut slides: Vec<Slide> = Vec::new();
    let (mut op, mut above) = (step.op.clone(), step.y.clone());
    while slides.len() < g.rank() - base.rank() {
        let source = if slides.len() + 1 == g.rank() - base.rank() { Some(base.clone()) } else { above.source() };
        let Some(source) = source else { break };
        slides.extend(Slide::new(&op, &source));
        op = source.op().clone();
        above = source;
    }
    slides.reverse();
    let (terms, summed, dtype) = as_sum(g)?;
    if let Some(product) = Product::new(&terms, &slides, base.rank())? {
        if let Some(columns) = product.columns(&terms, &slides, base.rank())? {
            let mut last_first = slides.iter().rev();
            let total = last_first.try_fold(columns, |g, slide| overlapped_along(&g, slide))?;
            return Ok(total.cast(dtype)?);
        }
        return Ok(product.overlapped(&slides, base.rank(), summed)?.cast(dtype)?);
    }
    let mut last_first = slides.iter().rev();
    last_first.try_fold(g.clone(), |g, slide| overlapped_along(&g, slide))
}

/// The product of a value that is the same at every element of a window, and one that is the same in every window, if
/// there is such a one: each with an extent of 1 there. Dimensions are those of the base, those of windows' elements, and
/// what is summed besides.
struct Product {
    moving: UOp,
    fixed: Option<UOp>,
}

impl Product {
    fn new(terms: &UOp, slides: &[Slide], rank: usize) -> Result<Option<Product>> {
        let taps: Vec<usize> = (rank..rank + slides.len()).collect();
        let axes: Vec<usize> = slides.iter().map(|slide| slide.axis).collect();
        let repeated = |x: &UOp, along: &[usize]| along.iter().all(|axis| is_repeated(x, *axis));
        let first = |x: &UOp, along: &[usize]| along.iter().try_fold(x.clone(), |x, axis| first(&x, *axis));
        if repeated(terms, &taps) {
            return Ok(Some(Product { moving: first(terms, &taps)?, fixed: None }));
        }
        let Some((a, b)) = as_product(terms)? else { return Ok(None) };
        for (moving, fixed) in [(&a, &b), (&b, &a)] {
            if repeated(moving, &taps) && repeated(fixed, &axes) {
                return Ok(Some(Product { moving: first(moving, &taps)?, fixed: Some(first(fixed, &axes)?) }));
            }
        }
        Ok(None)
    }

    /// The products of all windows, summed over what is summed besides, in memory: where phases, which all have windows as large
    /// as the largest, would compute [`MOST_WASTE`] times what there is. That is so of small images.
    fn columns(&self, terms: &UOp, slides: &[Slide], rank: usize) -> Result<Option<UOp>> {
        let Some(fixed) = &self.fixed else { return Ok(None) };
        let count = rank + slides.len();
        let (mut computed, mut wanted, mut positions) = (1.0, 1.0, 1);
        for slide in slides {
            let numbers = [&slide.extent, &slide.size, &terms.shape()[slide.axis]].map(Size::as_usize);
            let [Some(extent), Some(size), Some(windows)] = numbers else { return Ok(None) };
            if slide.has_phases() {
                let each = size.div_ceil(slide.stride) * slide.stride;
                computed *= (extent.div_ceil(slide.stride) * each) as f64;
            } else {
                computed *= (extent * size) as f64;
            }
            wanted *= (windows * size) as f64;
            positions *= windows;
        }
        if !slides.iter().any(Slide::has_phases) || computed <= MOST_WASTE * wanted {
            return Ok(None);
        }
        // Channels and taps, of which weights have both, side by side; or the positions, if these fill vectors.
        let slid = |axis: &usize| slides.iter().any(|slide| slide.axis == *axis);
        let (weights, others): (Vec<usize>, Vec<usize>) =
            (0..rank).filter(|axis| !slid(axis)).partition(|axis| !is_repeated(fixed, *axis));
        let taps = rank..count;
        let places: Vec<usize> = (0..rank).filter(slid).collect();
        let order: Vec<usize> = match positions < FILLED {
            true => others.into_iter().chain(places).chain(weights).chain(taps).collect(),
            false => others.into_iter().chain(weights).chain(taps).chain(places).collect(),
        };
        let folded: Vec<usize> = (count..terms.rank()).collect();
        let total = sum(&terms.permute(&[&order[..], &folded].concat())?, &folded)?.contiguous()?;
        Ok(Some(total.permute(&inverse(&order))?))
    }

    /// The sum where windows overlap, of the base's dimensions.
    fn overlapped(&self, slides: &[Slide], rank: usize, summed: usize) -> Result<UOp> {
        let (mut moving, count) = (self.moving.clone(), slides.len());
        for slide in slides {
            let Slide { axis, stride, .. } = *slide;
            if slide.has_gaps() {
                moving = moving.reshape([moving.shape(), &[Size::ONE]].concat())?;
                continue;
            }
            let (reach, size, dilation, positions) = if slide.has_phases() {
                (slide.rounds() - 1, slide.rounds(), 1, slide.extent.ceil_div(Size::from(stride)))
            } else {
                moving = if stride > 1 { apart(&moving, axis, stride)? } else { moving };
                (slide.reach(), slide.size.clone(), slide.dilation, slide.extent.clone())
            };
            let after = positions - &moving.shape()[axis];
            moving = padded(&moving, axis, reach, after)?.window(axis, size, 1, dilation)?;
        }
        // The windows' elements where those of the base's windows were, and a 1 for each phase before them.
        let phases = slides.iter().filter(|slide| slide.has_phases()).count();
        let shape = moving.shape();
        let (kept, folded) = (&shape[..rank], &shape[rank + count..rank + count + summed]);
        let spread = [kept, &shape[rank + count + summed..], folded].concat();
        let order: Vec<usize> = (0..rank)
            .chain(rank + count + summed..rank + 2 * count + summed)
            .chain(rank + count..rank + count + summed)
            .chain(rank..rank + count)
            .collect();
        let mut terms = moving.permute(&order)?.reshape(spread)?;
        if self.fixed.is_some() || phases > 0 {
            let mut fixed = self.turned(slides, rank, &terms)?;
            let with_phases = [&terms.shape()[..rank], &vec![Size::ONE; phases], &terms.shape()[rank..]].concat();
            terms = terms.reshape(with_phases)?;
            if self.fixed.is_some() && phases > 0 {
                // Small beside what it is multiplied by, and then read in order.
                fixed = once(fixed, &terms)?.contiguous()?;
            }
            let extent = |(a, b): (&Size, &Size)| if *a == Size::ONE { b.clone() } else { a.clone() };
            let full: Vec<Size> = terms.shape().iter().zip(fixed.shape()).map(extent).collect();
            terms = mul(&terms.expand(full.clone())?, &fixed.expand(full)?)?;
        }
        // Phases before the dimensions that windows lie over, as channels of a convolution are.
        let outer: Vec<usize> = (0..rank).filter(|axis| slides.iter().all(|slide| slide.axis != *axis)).collect();
        let inner = (0..rank).filter(|axis| !outer.contains(axis));
        let order: Vec<usize> =
            outer.iter().copied().chain(rank..rank + phases).chain(inner).chain(rank + phases..terms.rank()).collect();
        let folded: Vec<usize> = (rank + phases..terms.rank()).collect();
        let total = sum(&terms.permute(&order)?, &folded)?;
        if phases == 0 {
            return with_gaps(total.permute(&inverse(&order[..rank]))?, slides);
        }
        // What is contracted is computed as it is before phases are put side by side.
        let total = if self.fixed.is_some() { total.contiguous()? } else { total };
        let at = |dimension: usize| order.iter().position(|from| *from == dimension);
        let (mut back, mut joined) = (Vec::new(), Vec::new());
        for axis in 0..rank {
            back.extend(at(axis));
            let slide = slides.iter().find(|slide| slide.axis == axis);
            let mut extent = total.shape()[back[back.len() - 1]].clone();
            if let Some(slide) = slide.filter(|slide| slide.has_phases()) {
                back.extend(at(rank + slides.iter().filter(|s| s.has_phases() && s.axis < axis).count()));
                extent = extent * Size::from(slide.stride);
            }
            joined.push(extent);
        }
        let total = with_gaps(total.permute(&back)?.reshape(joined)?, slides)?;
        let kept = |axis: usize| {
            let slide = slides.iter().find(|slide| slide.axis == axis);
            (Size::ZERO, slide.map_or_else(|| total.shape()[axis].clone(), |slide| slide.extent.clone()))
        };
        Ok(total.shrink((0..rank).map(kept).collect::<Vec<_>>())?)
    }

    /// What is the same in every window, turned round: `[.., phases.., elements.., summed..]`.
    fn turned(&self, slides: &[Slide], rank: usize, terms: &UOp) -> Result<UOp> {
        let mut fixed = match &self.fixed {
            Some(fixed) => fixed.clone(),
            // Ones, since beyond the last element is nothing.
            None => {
                let sizes = slides.iter().map(|slide| slide.size.clone());
                let ones = |count: usize| vec![Size::ONE; count];
                let shape = [ones(rank), sizes.collect(), ones(terms.rank() - rank - slides.len())].concat();
                UOp::full(Const::one(terms.dtype()), &shape.into())?
            }
        };
        // From the last one on, so that the places of the others stay.
        for (at, slide) in slides.iter().enumerate().rev() {
            let taps = rank + at;
            if slide.has_phases() {
                fixed = in_rounds(&fixed, taps, slide.stride)?;
            }
            fixed = fixed.flip(&[taps])?;
        }
        // Phases, of which each follows its rounds, in the order of their dimensions before all of these.
        let (mut rounds, mut phases, mut next) = (Vec::new(), Vec::new(), rank);
        for slide in slides {
            rounds.push(next);
            if slide.has_phases() {
                phases.push((slide.axis, next + 1));
            }
            next += 1 + usize::from(slide.has_phases());
        }
        phases.sort_unstable();
        let phases = phases.into_iter().map(|(_, at)| at);
        let order: Vec<usize> = (0..rank).chain(phases).chain(rounds).chain(next..fixed.rank()).collect();
        Ok(fixed.permute(&order)?)
    }
}

/// Zeros between the elements of dimensions whose windows have gaps, and after them.
fn with_gaps(mut total: UOp, slides: &[Slide]) -> Result<UOp> {
    for slide in slides.iter().filter(|slide| slide.has_gaps()) {
        total = apart(&total, slide.axis, slide.stride)?;
        let after = &slide.extent - &total.shape()[slide.axis];
        total = padded(&total, slide.axis, Size::ZERO, after)?;
    }
    Ok(total)
}

/// The transpose of windows along one dimension, whose elements are the last dimension of a cotangent.
fn overlapped_along(g: &UOp, slide: &Slide) -> Result<UOp> {
    let Slide { axis, ref size, stride, dilation, ref extent } = *slide;
    let rank = g.rank() - 1;
    let (terms, summed, dtype) = as_sum(g)?;
    // Elements of windows, then what is summed besides, at the end.
    let (spread, step) = if slide.has_phases() {
        // With an element for each phase of the stride, windows lie side by side.
        (phased(&terms, axis, rank, stride)?, stride)
    } else {
        // Zeros between the windows.
        let terms = if stride > 1 { apart(&terms, axis, stride)? } else { terms };
        (shifted(&terms, axis, rank, size, dilation)?, 1)
    };
    let phases = usize::from(step > 1);
    let folded: Vec<usize> = (rank + phases..rank + phases + 1 + summed).collect();
    let mut total = sum(&spread, &folded)?;
    if step > 1 {
        // [.., q, .., phase] as [.., q, phase, ..], which is the position.
        let mut order: Vec<usize> = (0..rank).collect();
        order.insert(axis + 1, rank);
        let mut shape = total.shape()[..rank].to_vec();
        shape[axis] = &shape[axis] * Size::from(step);
        total = total.permute(&order)?.reshape(shape)?;
    }
    // Elements behind the last window were not read, and those of a phase beyond the end are none.
    let missing = extent - &total.shape()[axis];
    let total = match missing.bounds() {
        (0.., _) => padded(&total, axis, Size::ZERO, missing)?,
        _ => {
            let whole = padded(&total, axis, Size::ZERO, missing.max(Size::ZERO))?;
            let kept = |i: usize| (Size::ZERO, if i == axis { extent.clone() } else { whole.shape()[i].clone() });
            whole.shrink((0..rank).map(kept).collect::<Vec<_>>())?
        }
    };
    Ok(total.cast(dtype)?)
}

/// A value as the sum of a larger one over its last dimensions, so many, and the type to which that sum is converted.
fn as_sum(value: &UOp) -> Result<(UOp, usize, DType)> {
    let (mut node, mut above, dtype) = (value.clone(), Vec::new(), value.dtype());
    loop {
        let Some(source) = node.source() else { return Ok((value.clone(), 0, dtype)) };
        match node.op() {
            Op::Reshape(_) | Op::Permute(_) => above.push(node.op().clone()),
            Op::Cast(to) if to.is_float() && source.dtype().is_float() && to.bytes() <= source.dtype().bytes() => {}
            Op::Reduce(Monoid::Sum, axes) => {
                let kept = (0..source.rank()).filter(|axis| !axes.contains(axis));
                let order: Vec<usize> = kept.chain(axes.iter().copied()).collect();
                let mut terms = source.permute(&order)?;
                let folded = terms.shape()[node.rank()..].to_vec();
                for op in above.iter().rev() {
                    let rank = terms.rank() - folded.len();
                    terms = match op {
                        Op::Reshape(shape) => terms.reshape([&shape[..], &folded].concat())?,
                        Op::Permute(axes) => {
                            terms.permute(&axes.iter().copied().chain(rank..terms.rank()).collect::<Vec<_>>())?
                        }
                        _ => terms,
                    };
                }
                return Ok((terms, folded.len(), dtype));
            }
            _ => return Ok((value.clone(), 0, dtype)),
        }
        node = source;
    }
}

/// The elements at the first position of an axis, which stays.
fn first(x: &UOp, axis: usize) -> Result<UOp> {
    let kept = |i: usize| (Size::ZERO, if i == axis { Size::ONE } else { x.shape()[i].clone() });
    Ok(x.shrink((0..x.rank()).map(kept).collect::<Vec<_>>())?)
}

/// The factors of a product that was only moved.
fn as_product(x: &UOp) -> Result<Option<(UOp, UOp)>> {
    let (mut node, mut above) = (x.clone(), Vec::new());
    while let (Op::Reshape(_) | Op::Permute(_), Some(source)) = (node.op(), node.source()) {
        above.push(node.op().clone());
        node = source;
    }
    let Op::Alu(Alu::Mul) = node.op() else { return Ok(None) };
    let moved = |factor: &UOp| -> Result<UOp> {
        above.iter().rev().try_fold(factor.clone(), |value, op| match op {
            Op::Reshape(shape) => Ok(value.reshape(shape.clone())?),
            Op::Permute(axes) => Ok(value.permute(axes)?),
            _ => Ok(value),
        })
    };
    let factors = node.sources();
    Ok(Some((moved(&factors[0])?, moved(&factors[1])?)))
}

/// A value without what movements repeated in it, where another one that it is multiplied by has as many elements.
fn once(x: UOp, beside: &UOp) -> Result<UOp> {
    let has = |axis: usize| x.shape()[axis] != Size::ONE && x.shape()[axis] == beside.shape()[axis];
    let repeated: Vec<usize> = (0..x.rank()).filter(|axis| has(*axis) && is_repeated(&x, *axis)).collect();
    repeated.into_iter().try_fold(x, |x, axis| first(&x, axis))
}

/// Whether all elements along an axis are known to be one value, which movements repeated.
fn is_repeated(x: &UOp, axis: usize) -> bool {
    let (mut node, mut axis) = (x.clone(), axis);
    loop {
        if node.shape()[axis] == Size::ONE {
            return true;
        }
        let Some(source) = node.source() else { return false };
        match node.op() {
            Op::Expand(_) => {
                let new = node.rank() - source.rank();
                if axis < new || source.shape()[axis - new] != node.shape()[axis] {
                    return true;
                }
                axis -= new;
            }
            Op::Permute(axes) => axis = axes[axis],
            Op::Pad(by, _) if by[axis] != (Size::ZERO, Size::ZERO) => return false,
            // The elements of windows are others than the windows.
            Op::Window(..) if axis == source.rank() => return false,
            Op::Reshape(_) => {
                // The same extent behind as many elements is the same axis.
                let before = |shape: &[Size], axis: usize| -> Size { shape[..axis].iter().product() };
                let (extent, at) = (&node.shape()[axis], before(node.shape(), axis));
                let same = |i: &usize| source.shape()[*i] == *extent && before(source.shape(), *i) == at;
                match (0..source.rank()).find(same) {
                    Some(found) => axis = found,
                    None => return false,
                }
            }
            Op::Cast(_) | Op::Contiguous | Op::Pad(..) | Op::Window(..) | Op::Shrink(_) | Op::Flip(_) => {}
            _ => return false,
        }
        node = source;
    }
}

/// Windows of stride 1, `[.., p, .., t, rest..]`, as what each position sums: `[.., p + t * dilation, .., t, rest..]`.
fn shifted(terms: &UOp, axis: usize, taps: usize, size: &Size, dilation: usize) -> Result<UOp> {
    let reach = (size - 1) * Size::from(dilation);
    let around = padded(terms, axis, reach.clone(), reach)?;
    let last = around.rank();
    let windows = around.window(axis, size.clone(), 1, dilation)?;
    // Position i reads at window element t' what lies t' * dilation behind it, of the tap that lies as far before the last.
    diagonal(&windows.flip(&[last])?, taps, last)
}

/// The elements at equal positions of two dimensions of one extent, of which the last vanishes: every `n + 1`-th of the
/// `n * n`.
fn diagonal(x: &UOp, first: usize, last: usize) -> Result<UOp> {
    let n = x.shape()[first].clone();
    let mut order: Vec<usize> = (0..x.rank()).filter(|axis| *axis != first && *axis != last).collect();
    let others = order.len();
    order.extend([first, last]);
    let moved = x.permute(&order)?;
    let shape = |tail: &[Size]| [&moved.shape()[..others], tail].concat();
    let flat = moved.reshape(shape(&[&n * &n]))?;
    let rows = padded(&flat, others, Size::ZERO, n.clone())?.reshape(shape(&[n.clone(), &n + 1]))?;
    let mut to: Vec<(Size, Size)> = rows.shape().iter().map(|n| (Size::ZERO, n.clone())).collect();
    to[others + 1] = (Size::ZERO, Size::ONE);
    let picked = rows.shrink(to)?.reshape(shape(&[n]))?;
    // Back where the first was.
    let mut back: Vec<usize> = (0..others).collect();
    back.insert(first, others);
    Ok(picked.permute(&back)?)
}

/// Windows of a stride, `[.., p, .., t, rest..]`, with `t = u * stride + phase`, as what each phase of each position sums:
/// `[.., p + u, .., phase, u, rest..]`.
fn phased(terms: &UOp, axis: usize, taps: usize, stride: usize) -> Result<UOp> {
    let apart = in_rounds(terms, taps, stride)?;
    let mut order: Vec<usize> = (0..apart.rank()).collect();
    order.swap(taps, taps + 1);
    shifted(&apart.permute(&order)?, axis, taps + 1, &apart.shape()[taps], 1)
}

/// The elements of windows, `[.., t, ..]`, with `t = u * stride + phase`, as `[.., u, phase, ..]`: zeros behind the last.
fn in_rounds(terms: &UOp, taps: usize, stride: usize) -> Result<UOp> {
    let (size, stride) = (&terms.shape()[taps], Size::from(stride));
    let rounds = size.ceil_div(stride.clone());
    let whole = padded(terms, taps, Size::ZERO, &rounds * &stride - size)?;
    let (before, after) = (&whole.shape()[..taps], &whole.shape()[taps + 1..]);
    Ok(whole.reshape([before, &[rounds, stride], after].concat())?)
}

/// Windows with the zeros between them that a stride leaves.
fn apart(terms: &UOp, axis: usize, stride: usize) -> Result<UOp> {
    let shape = terms.shape();
    let (count, stride) = (shape[axis].clone(), Size::from(stride));
    let column = terms.reshape([&shape[..=axis], &[Size::ONE], &shape[axis + 1..]].concat())?;
    let rows = padded(&column, axis + 1, Size::ZERO, &stride - 1)?;
    let mut flat = shape.to_vec();
    flat[axis] = &count * &stride;
    let flat = rows.reshape(flat)?;
    let mut to: Vec<(Size, Size)> = flat.shape().iter().map(|n| (Size::ZERO, n.clone())).collect();
    to[axis].1 = (count - 1) * &stride + 1;
    Ok(flat.shrink(to)?)
}
