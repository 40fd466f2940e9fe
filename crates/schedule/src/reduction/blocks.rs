//! Work that is one long chain, cut into blocks that run side by side.
//!
//! * A scan of few, long rows: the totals of its blocks, a scan of these, and a scan of each block
//!   that starts from what precedes it (reduce, then scan; Merrill and Garland 2016).
//! * A scatter of many points into few elements: each block of points is combined into elements of
//!   its own, which are combined in turn. Where groups of threads do tasks, each block of elements takes the points
//!   that go there.
//! * A sort where groups of threads do tasks: see [`order`](super::order).
//! * A contraction with few results and a long depth: its [`depth`](super::depth) is in blocks. Before, products that one
//!   sum adds are told [`apart`](super::apart).
//!
//! Where the blocks lie follows from the shapes alone, so that results do not depend on the number
//! of threads.

use super::apart::products_apart;
use super::depth::in_blocks_of_depth;
use super::order::Order;
use crate::costs::groups::Extents;
use crate::costs::limits::{groups, memory, registers, tasks};
use smallvec::SmallVec;
use std::sync::LazyLock;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{Device, GraphError, Op, Shape, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::rewrite::{Family, RuleSet, own_dimensions};
use svod_ir::size::Size;

/// The rules, tried once tensor algebra has nothing left to simplify.
pub(crate) static BLOCKS: LazyLock<RuleSet> = LazyLock::new(|| {
    RuleSet::new(&[Family { name: "blocks", holds_for: |_| true, equations: "", function: Some(block) }])
});

/// Whether a rule may apply to a node.
pub(crate) fn is_chain(op: &Op) -> bool {
    matches!(op, Op::Scan(..) | Op::Scatter(..) | Op::Reduce(Monoid::Sum, _) | Op::Sort(..) | Op::ArgSort(..))
}

/// A scan where groups of threads do tasks.
fn scan_of_groups(node: &UOp, by: Monoid, axis: usize, inclusive: bool) -> Result<Option<UOp>, GraphError> {
    let Some(extents) = constant(node.shape()) else { return Ok(None) };
    if !inclusive && extents[axis] > 1 {
        // Lanes of a vector, which threads share, are scanned inclusively.
        let Some(source) = node.source() else { return Ok(None) };
        let moved = moved_on(&source, axis, by.identity(node.dtype()))?;
        return Ok(Some(moved.scan(by, axis, true)?));
    }
    let n = extents[axis];
    let outer: i64 = extents[..axis].iter().product();
    let columns: i64 = extents[axis + 1..].iter().product();
    let most = match columns {
        1 => (n / groups::BLOCK_OF_ROW).min(tasks::GROUPS.parts / outer.max(1)),
        ..groups::WARP => {
            (n / groups::BLOCK_OF_COLUMN).min(groups::WARPS_OF_COLUMNS * groups::WARP / (outer * columns).max(1))
        }
        _ => (n / groups::BLOCK_OF_COLUMN).min(
            groups::WARPS_OF_COLUMNS
                / (outer * ((columns + groups::COLUMNS_OF_WARP - 1) / groups::COLUMNS_OF_WARP)).max(1),
        ),
    };
    // Blocks are at most twice as long, or half as many, as they could be: none of them is cut again.
    if most <= 2 {
        return Ok(None);
    }
    scan(node, by, axis, inclusive, blocks(n, most))
}

/// All elements one further along an axis, the last one left out; the first is `identity`.
fn moved_on(source: &UOp, axis: usize, identity: Const) -> Result<UOp, GraphError> {
    let mut but_last: Vec<(Size, Size)> = source.shape().iter().map(|n| (Size::ZERO, n.clone())).collect();
    but_last[axis].1 = &source.shape()[axis] - 1;
    let mut pad: Vec<(Size, Size)> = vec![(Size::ZERO, Size::ZERO); source.rank()];
    pad[axis].0 = Size::ONE;
    source.shrink(but_last)?.pad(pad, identity)
}

fn block(node: &UOp) -> Result<Option<(&'static str, UOp)>, GraphError> {
    let found = match node.op() {
        Op::Scan(by, axis, inclusive) => {
            let made = match blocks_of_scan(node, *axis) {
                _ if !Device::computes_on_host(node.device()) => scan_of_groups(node, *by, *axis, *inclusive)?,
                Some(count) => scan(node, *by, *axis, *inclusive, count)?,
                None => None,
            };
            made.map(|n| ("scan in blocks", n))
        }
        Op::Scatter(axis, Some(by)) => {
            let made = match Device::computes_on_host(node.device()) {
                true => scatter(node, *axis, *by)?,
                false => scatter_of_groups(node, *axis, *by)?,
            };
            made.map(|n| ("scatter in blocks", n))
        }
        Op::Sort(axis, descending, count) | Op::ArgSort(axis, descending, count)
            if !Device::computes_on_host(node.device()) =>
        {
            let (Some(source), Some(count)) = (node.source(), count.as_const()) else { return Ok(None) };
            let positions = matches!(node.op(), Op::ArgSort(..));
            let order = Order { axis: *axis, descending: *descending, count, positions };
            order.of_groups(&source)?.map(|n| ("sort in blocks", n))
        }
        Op::Reduce(Monoid::Sum, axes) => match Device::computes_on_host(node.device()) {
            _ if let Some(made) = products_apart(node, axes)? => Some(("products apart", made)),
            false if let Some(made) = product_of_windows(node, axes)? => Some(("windows as a matrix", made)),
            _ => in_blocks_of_depth(node, axes)?.map(|n| ("contraction in blocks", n)),
        },
        _ => None,
    };
    Ok(found)
}

pub(super) fn constant(shape: &[Size]) -> Option<SmallVec<[i64; 6]>> {
    shape.iter().map(Size::as_const).collect()
}

pub(super) fn shape(extents: &[i64]) -> Shape {
    extents.iter().map(|n| Size::from(*n)).collect()
}

/// The largest number of at most `most` equal blocks, at least half as many; else `most`, of which
/// the last is short.
pub(super) fn blocks(n: i64, most: i64) -> i64 {
    (most / 2..=most).rev().find(|b| *b > 0 && n % b == 0).unwrap_or(most)
}

/// Blocks of a scan, if it has any.
fn blocks_of_scan(node: &UOp, axis: usize) -> Option<i64> {
    let extents = constant(node.shape())?;
    let n = extents[axis];
    let rows = extents.iter().product::<i64>() / n.max(1);
    (rows < tasks::CPU.results && n >= 4 * memory::READ_AGAIN).then(|| blocks(n, n / memory::READ_AGAIN))
}

fn scan(node: &UOp, by: Monoid, axis: usize, inclusive: bool, count: i64) -> Result<Option<UOp>, GraphError> {
    let (Some(source), Some(extents), Some(op)) = (node.source(), constant(node.shape()), by.alu()) else {
        return Ok(None);
    };
    let (n, dtype) = (extents[axis], node.dtype());
    let length = (n + count - 1) / count;
    let identity = by.identity(dtype);
    let mut by_end: Vec<(Size, Size)> = vec![(Size::ZERO, Size::ZERO); extents.len()];
    by_end[axis].1 = Size::from(count * length - n);
    let cut = [&extents[..axis], &[count, length], &extents[axis + 1..]].concat();
    let x = source.pad(by_end, identity)?.reshape(shape(&cut))?;
    // What precedes each block goes into the block's first element.
    let before = x.reduce(by, &[axis + 1])?.scan(by, axis, false)?;
    let mut first = cut.clone();
    first[axis + 1] = 1;
    let before = before.reshape(shape(&first))?.expand(shape(&cut))?;
    let mut along = vec![1; cut.len()];
    along[axis + 1] = length;
    let position = UOp::range(length)?.reshape(shape(&along))?.expand(shape(&cut))?;
    let zero = UOp::full(Const::zero(DType::I64), &shape(&cut))?;
    let starts = UOp::alu(Alu::Eq, &[position, zero])?;
    let neutral = UOp::full(identity, &shape(&cut))?;
    let x = if inclusive {
        let carried = UOp::alu(Alu::Where, &[starts, before, neutral])?;
        UOp::alu(op, &[carried, x])?.scan(by, axis + 1, true)?
    } else {
        // An exclusive scan of a block never reads its last element: all move on by one.
        let moved = moved_on(&x, axis + 1, identity)?;
        UOp::alu(Alu::Where, &[starts, before, moved])?.scan(by, axis + 1, true)?
    };
    let whole = [&extents[..axis], &[count * length], &extents[axis + 1..]].concat();
    let part: Vec<(Size, Size)> = extents.iter().map(|n| (Size::ZERO, Size::from(*n))).collect();
    Ok(Some(x.reshape(shape(&whole))?.shrink(part)?))
}

fn scatter(node: &UOp, axis: usize, by: Monoid) -> Result<Option<UOp>, GraphError> {
    let [base, index, _] = &node.sources()[..] else { return Ok(None) };
    let (Some(into), Some(from)) = (constant(base.shape()), constant(index.shape())) else { return Ok(None) };
    let points = from.iter().product::<i64>();
    let elements = into.iter().product::<i64>();
    // Rows apart already give enough to do side by side.
    let apart = points / from[axis].max(1);
    let count = (points / tasks::CPU.task).min(points / elements.max(1) / 4).min(tasks::FEW).min(from[axis]);
    if apart >= tasks::CPU.results || count < 2 {
        return Ok(None);
    }
    // A power of two: as many for each of two or four threads.
    scatter_in_parts(node, axis, by, 1 << count.ilog2())
}

/// A scatter where groups of threads do tasks: they find their points by looking at all, so that points are combined in their
/// order. Each owns part of the elements and, where these are few beside the points, sees part of the points: then there are
/// several of each element, which are combined in turn.
fn scatter_of_groups(node: &UOp, axis: usize, by: Monoid) -> Result<Option<UOp>, GraphError> {
    let [base, index, _] = &node.sources()[..] else { return Ok(None) };
    let (Some(into), Some(from)) = (constant(base.shape()), constant(index.shape())) else { return Ok(None) };
    let (n, elements) = (from[axis], into.iter().product::<i64>());
    if n < groups::FEWEST_POINTS || elements == 0 {
        return Ok(None);
    }
    let bytes = elements.saturating_mul(2 * node.dtype().bytes() as i64);
    let parts = ((n as f64 * groups::BYTES_OF_POINT / bytes as f64).sqrt() as i64).clamp(1, tasks::MANY);
    let parts = 1 << parts.min(n / groups::FEWEST_POINTS).max(1).ilog2();
    if parts > 1 {
        return scatter_in_parts(node, axis, by, parts);
    }
    let apart = (from.iter().product::<i64>() / n).max(1);
    let owners = (groups::THREADS / apart).min(into[axis]);
    // Owners are at least half as many as they could be: they are not divided again.
    if owners <= 2 {
        return Ok(None);
    }
    scatter_by_owners(node, axis, by, blocks(into[axis], owners))
}

/// A scatter along an axis of so many parts, each of which takes the points that go there.
fn scatter_by_owners(node: &UOp, axis: usize, by: Monoid, owners: i64) -> Result<Option<UOp>, GraphError> {
    let [base, index, values] = &node.sources()[..] else { return Ok(None) };
    let (Some(into), Some(from)) = (constant(base.shape()), constant(index.shape())) else { return Ok(None) };
    let length = (into[axis] + owners - 1) / owners;
    let mut by_end: Vec<(Size, Size)> = vec![(Size::ZERO, Size::ZERO); into.len()];
    by_end[axis].1 = Size::from(owners * length - into[axis]);
    let owned = shape(&[&into[..axis], &[owners, length], &into[axis + 1..]].concat());
    let seen = [&from[..axis], &[owners], &from[axis..]].concat();
    let once = shape(&[&from[..axis], &[1], &from[axis..]].concat());
    let mut along = vec![1; seen.len()];
    along[axis] = owners;
    let first =
        UOp::alu(Alu::Mul, &[UOp::range(owners)?, UOp::full(Const::i64(DType::I64, length), &shape(&[owners]))?])?;
    let first = first.reshape(shape(&along))?.expand(shape(&seen))?;
    // What is before the part, or behind it, is outside of it.
    let index = index.cast(DType::I64)?.reshape(once.clone())?.expand(shape(&seen))?;
    let index = UOp::alu(Alu::Sub, &[index, first])?;
    let values = values.reshape(once)?.expand(shape(&seen))?;
    let made =
        base.pad(by_end, Const::zero(base.dtype()))?.reshape(owned)?.scatter(axis + 1, &index, &values, Some(by))?;
    let whole = [&into[..axis], &[owners * length], &into[axis + 1..]].concat();
    let part: Vec<(Size, Size)> = into.iter().map(|n| (Size::ZERO, Size::from(*n))).collect();
    Ok(Some(made.reshape(shape(&whole))?.shrink(part)?))
}

/// A scatter of so many parts of the points, each into elements of its own.
fn scatter_in_parts(node: &UOp, axis: usize, by: Monoid, count: i64) -> Result<Option<UOp>, GraphError> {
    let [base, index, values] = &node.sources()[..] else { return Ok(None) };
    let (Some(into), Some(from), Some(op)) = (constant(base.shape()), constant(index.shape()), by.alu()) else {
        return Ok(None);
    };
    let length = (from[axis] + count - 1) / count;
    let mut by_end: Vec<(Size, Size)> = vec![(Size::ZERO, Size::ZERO); from.len()];
    by_end[axis].1 = Size::from(count * length - from[axis]);
    let cut = [&from[..axis], &[count, length], &from[axis + 1..]].concat();
    // A point of a signed index -1 goes nowhere.
    let outside = Const::i64(DType::I64, -1);
    let index = index.cast(DType::I64)?.pad(by_end.clone(), outside)?.reshape(shape(&cut))?;
    let values = values.pad(by_end, Const::zero(values.dtype()))?.reshape(shape(&cut))?;
    let private = [&into[..axis], &[count, into[axis]], &into[axis + 1..]].concat();
    let start = UOp::full(by.identity(node.dtype()), &shape(&private))?;
    let parts = start.scatter(axis + 1, &index, &values, Some(by))?;
    let total = parts.reduce(by, &[axis])?;
    Ok(Some(UOp::alu(op, &[base.clone(), total])?))
}

/// Whether a factor is windows, wherever they lie.
fn is_of_windows(factor: &UOp) -> bool {
    let mut node = factor.clone();
    while node.op().is_movement() || matches!(node.op(), Op::Cast(_)) {
        if matches!(node.op(), Op::Window(..)) {
            return true;
        }
        let Some(source) = node.source() else { return false };
        node = source;
    }
    false
}

/// The product that a reduction is of, whose factors have its dimensions in their order.
fn product_below(node: &UOp) -> Result<Option<UOp>, GraphError> {
    let Some(source) = node.source() else { return Ok(None) };
    match (source.op(), source.source()) {
        (Op::Alu(Alu::Mul), _) => Ok(Some(source)),
        (Op::Permute(order), Some(product)) if *product.op() == Op::Alu(Alu::Mul) => {
            let factors = product.sources();
            let turned = factors.iter().map(|factor| factor.permute(order)).collect::<Result<Vec<UOp>, _>>()?;
            Ok(Some(UOp::alu(Alu::Mul, &turned)?))
        }
        _ => Ok(None),
    }
}

/// A convolution, or a derivative of one, where there are kernels of products: that of two matrices, one of which are the
/// windows in memory (Chellapilla et al. 2006).
fn product_of_windows(node: &UOp, reduced: &[usize]) -> Result<Option<UOp>, GraphError> {
    let Some(product) = product_below(node)?.filter(|p| p.dtype().is_float()) else { return Ok(None) };
    let (Some(extents), factors) = (constant(product.shape()), product.sources()) else { return Ok(None) };
    let own: Vec<Vec<usize>> = factors.iter().map(own_dimensions).collect();
    let which = |of: &dyn Fn(&usize) -> bool| (0..extents.len()).filter(of).collect::<Vec<usize>>();
    let points = |dims: &[usize]| dims.iter().map(|d| extents[*d]).fold(1, i64::saturating_mul);
    let has = |side: usize, d: &usize| own[side].contains(d) || extents[*d] == 1;
    let depth = which(&|d| reduced.contains(d));
    let sides = [0, 1].map(|side| which(&|d| !reduced.contains(d) && has(side, d) && !has(1 - side, d)));
    let outer = which(&|d| !reduced.contains(d) && has(0, d) && has(1, d));
    let [b, k, m, n] = [&outer, &depth, &sides[0], &sides[1]].map(|dims| points(dims));
    let known = outer.len() + depth.len() + sides[0].len() + sides[1].len() == extents.len();
    let whole = known && depth.iter().all(|d| has(0, d) && has(1, d));
    let windows = [0, 1].map(|side| is_of_windows(&factors[side]));
    let bytes = b.saturating_mul(m.max(n)).saturating_mul(k).saturating_mul(product.dtype().bytes() as i64);
    let product_of = Extents { batch: b, rows: m, columns: n, depth: k };
    if !whole
        || windows[0] == windows[1]
        || m.min(n) < registers::FEWEST_LANES
        || bytes > groups::MOST_WINDOWS
        || !product_of.are_worth_operands(bytes, factors.len())
    {
        return Ok(None);
    }
    let matrix = |side: usize| -> Result<UOp, GraphError> {
        let part: Vec<(Size, Size)> = (0..extents.len())
            .map(|d| (Size::ZERO, if has(side, &d) { Size::from(extents[d]) } else { Size::ONE }))
            .collect();
        let order = [&outer[..], &sides[side], &depth, &sides[1 - side]].concat();
        let rows = if side == 0 { m } else { n };
        // Windows of halves are halves: what is widened is widened as it is multiplied.
        let (narrow, wide) = match (factors[side].op(), factors[side].source()) {
            (Op::Cast(_), Some(source)) if source.dtype().is_float() => (source, true),
            _ => (factors[side].clone(), false),
        };
        let made = narrow.shrink(part)?.permute(&order)?.reshape(shape(&[b, rows, k]))?.contiguous()?;
        if wide { made.cast(product.dtype()) } else { Ok(made) }
    };
    let all = shape(&[b, m, n, k]);
    let first = matrix(0)?.reshape(shape(&[b, m, 1, k]))?.expand(all.clone())?;
    let second = matrix(1)?.reshape(shape(&[b, 1, n, k]))?.expand(all)?;
    let sums = UOp::alu(Alu::Mul, &[first, second])?.reduce(Monoid::Sum, &[3])?;
    let kept = [&outer[..], &sides[0], &sides[1]].concat();
    let sums = sums.reshape(shape(&kept.iter().map(|d| extents[*d]).collect::<Vec<_>>()))?;
    let mut order: Vec<usize> = (0..kept.len()).collect();
    order.sort_by_key(|at| kept[*at]);
    // Kernels of products write rows.
    let is_same = order.iter().enumerate().all(|(at, of)| at == *of);
    Ok(Some(if is_same { sums } else { sums.contiguous()?.permute(&order)? }))
}
