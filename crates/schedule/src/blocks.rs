//! Work that is one long chain, cut into blocks that run side by side.
//!
//! * A scan of few, long rows: the totals of its blocks, a scan of these, and a scan of each block
//!   that starts from what precedes it (reduce, then scan; Merrill and Garland 2016).
//! * A fold of much into little: each block is folded, then what that gives. Of an extremum's position
//!   the block is found first, and the position in that block then: elements are read once.
//! * A scatter of many points into few elements: each block of points is combined into elements of
//!   its own, which are combined in turn.
//!
//! Where the blocks lie follows from the shapes alone, so that results do not depend on the number
//! of threads.

use smallvec::SmallVec;
use std::sync::LazyLock;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{GraphError, Op, Shape, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::rewrite::{Family, RuleSet};
use svod_ir::size::Size;

/// The rules, tried once tensor algebra has nothing left to simplify.
pub(crate) static BLOCKS: LazyLock<RuleSet> = LazyLock::new(|| {
    RuleSet::new(&[Family { name: "blocks", holds_for: |_| true, equations: "", function: Some(block) }])
});

/// As many rows run side by side without blocks.
const ROWS: i64 = 16;

/// Elements of a block of a scan: its second reading finds them in a cache.
const SCANNED: i64 = 1 << 14;

/// Elements of a block of a fold: folding it is worth handing to another thread.
const FOLDED: i64 = 1 << 16;

/// Blocks of a fold at most.
const FOLDS: i64 = 256;

/// Points of a block of a scatter at least.
const SCATTERED: i64 = 1 << 16;

/// Blocks of a scatter at most: each has elements of its own, to be initialised and combined.
const PRIVATE: i64 = 8;

/// Whether a rule may apply to a node.
pub(crate) fn is_chain(op: &Op) -> bool {
    matches!(op, Op::Scan(..) | Op::Scatter(..) | Op::Reduce(..))
}

fn block(node: &UOp) -> Result<Option<(&'static str, UOp)>, GraphError> {
    let found = match node.op() {
        Op::Scan(by, axis, inclusive) => scan(node, *by, *axis, *inclusive)?.map(|n| ("scan in blocks", n)),
        Op::Reduce(by @ (Monoid::ArgMax | Monoid::ArgMin), _) => {
            position(node, *by)?.map(|n| ("position in blocks", n))
        }
        Op::Reduce(by, axes) => fold(node, *by, axes)?.map(|n| ("fold in blocks", n)),
        Op::Scatter(axis, Some(by)) => scatter(node, *axis, *by)?.map(|n| ("scatter in blocks", n)),
        _ => None,
    };
    Ok(found)
}

fn constant(shape: &[Size]) -> Option<SmallVec<[i64; 6]>> {
    shape.iter().map(Size::as_const).collect()
}

fn shape(extents: &[i64]) -> Shape {
    extents.iter().map(|n| Size::from(*n)).collect()
}

/// The largest number of at most `most` equal blocks, at least half as many; else `most`, of which
/// the last is short.
fn blocks(n: i64, most: i64) -> i64 {
    (most / 2..=most).rev().find(|b| *b > 0 && n % b == 0).unwrap_or(most)
}

fn scan(node: &UOp, by: Monoid, axis: usize, inclusive: bool) -> Result<Option<UOp>, GraphError> {
    let (Some(source), Some(extents), Some(op)) = (node.source(), constant(node.shape()), by.alu()) else {
        return Ok(None);
    };
    let (n, dtype) = (extents[axis], node.dtype());
    let rows = extents.iter().product::<i64>() / n.max(1);
    if rows >= ROWS || n < 4 * SCANNED {
        return Ok(None);
    }
    let count = blocks(n, n / SCANNED);
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
        let mut moved: Vec<(Size, Size)> = cut.iter().map(|n| (Size::ZERO, Size::from(*n))).collect();
        moved[axis + 1].1 = Size::from(length - 1);
        let mut pad: Vec<(Size, Size)> = vec![(Size::ZERO, Size::ZERO); cut.len()];
        pad[axis + 1].0 = Size::ONE;
        let moved = x.shrink(moved)?.pad(pad, identity)?;
        UOp::alu(Alu::Where, &[starts, before, moved])?.scan(by, axis + 1, true)?
    };
    let whole = [&extents[..axis], &[count * length], &extents[axis + 1..]].concat();
    let part: Vec<(Size, Size)> = extents.iter().map(|n| (Size::ZERO, Size::from(*n))).collect();
    Ok(Some(x.reshape(shape(&whole))?.shrink(part)?))
}

/// Number of blocks in which `n` elements are folded into `kept` results.
fn folds(n: i64, kept: i64) -> Option<i64> {
    (kept < ROWS && n >= 4 * FOLDED).then(|| (n / FOLDED).min(FOLDS))
}

fn fold(node: &UOp, by: Monoid, axes: &[usize]) -> Result<Option<UOp>, GraphError> {
    let Some(source) = node.source() else { return Ok(None) };
    let (Some(extents), Some(_), Some(&first)) = (constant(source.shape()), by.alu(), axes.first()) else {
        return Ok(None);
    };
    let n: i64 = axes.iter().map(|a| extents[*a]).product();
    let kept = extents.iter().product::<i64>() / n.max(1);
    let Some(most) = folds(n, kept) else { return Ok(None) };
    // Neighbours of the first axis, as many as it takes to cut their points into blocks.
    let mut end = first + 1;
    let mut points = extents[first];
    while points < most && axes.contains(&end) {
        points *= extents[end];
        end += 1;
    }
    let count = blocks(points, most.min(points));
    if count < 2 {
        return Ok(None);
    }
    let length = (points + count - 1) / count;
    let flat = source.reshape(shape(&[&extents[..first], &[points], &extents[end..]].concat()))?;
    let mut by_end: Vec<(Size, Size)> = vec![(Size::ZERO, Size::ZERO); flat.rank()];
    by_end[first].1 = Size::from(count * length - points);
    let cut = [&extents[..first], &[count, length], &extents[end..]].concat();
    let x = flat.pad(by_end, by.identity(source.dtype()))?.reshape(shape(&cut))?;
    // Axes that follow were moved by those that became two.
    let rest = axes.iter().filter(|a| **a >= end).map(|a| a + first + 2 - end);
    let inner: Vec<usize> = std::iter::once(first + 1).chain(rest).collect();
    let parts = x.reduce(by, &inner)?.contiguous()?;
    Ok(Some(parts.reduce(by, &[first])?))
}

fn position(node: &UOp, by: Monoid) -> Result<Option<UOp>, GraphError> {
    let Some(source) = node.source() else { return Ok(None) };
    let Some(n) = constant(source.shape()).map(|e| e.iter().product::<i64>()) else { return Ok(None) };
    let extremum = if by == Monoid::ArgMax { Monoid::Max } else { Monoid::Min };
    let Some(most) = folds(n, 1).filter(|_| node.numel() == Size::ONE && !source.dtype().is_bool()) else {
        return Ok(None);
    };
    let count = blocks(n, most);
    let length = (n + count - 1) / count;
    let by_end = vec![(Size::ZERO, Size::from(count * length - n))];
    let flat = source.reshape(shape(&[n]))?.pad(by_end, extremum.identity(source.dtype()))?;
    let x = flat.reshape(shape(&[count, length]))?;
    let best = x.reduce(extremum, &[1])?.contiguous()?.reduce(by, &[0])?.contiguous()?;
    let inside = x.take(0, &best)?.reduce(by, &[0])?;
    let start = UOp::alu(Alu::Mul, &[best, UOp::full(Const::i64(DType::I64, length), &shape(&[]))?])?;
    Ok(Some(UOp::alu(Alu::Add, &[start, inside])?.reshape(node.shape_arc().clone())?))
}

fn scatter(node: &UOp, axis: usize, by: Monoid) -> Result<Option<UOp>, GraphError> {
    let [base, index, values] = &node.sources()[..] else { return Ok(None) };
    let (Some(into), Some(from), Some(op)) = (constant(base.shape()), constant(index.shape()), by.alu()) else {
        return Ok(None);
    };
    let points = from.iter().product::<i64>();
    let elements = into.iter().product::<i64>();
    // Rows apart already give enough to do side by side.
    let apart = points / from[axis].max(1);
    let count = (points / SCATTERED).min(points / elements.max(1) / 4).min(PRIVATE).min(from[axis]);
    if apart >= ROWS || count < 2 {
        return Ok(None);
    }
    // A power of two: as many for each of two or four threads.
    let count = 1 << count.ilog2();
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
