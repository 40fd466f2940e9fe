//! `t[…]`: integers, slices, new axes, and tensors of integers, by NumPy's rules.

use std::borrow::Cow;

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::UOp;
use svod_ir::size::Size;

use crate::error::{Result, TensorError, show, show_operands};
use crate::gather::from_start;
use crate::movement::{numel, padded, part};
use crate::operand::{broadcast, size_value};
use crate::tensor::Tensor;

/// What stands between the brackets, once for each comma.
#[derive(Clone, Debug)]
pub enum Index {
    /// One position; negative from the end. The dimension vanishes.
    Int(Size),
    /// `start:stop:step`, as in Python.
    Slice {
        /// First position; the first in the step's direction for `None`.
        start: Option<Size>,
        /// Position that is not reached; behind the last one for `None`.
        stop: Option<Size>,
        /// Distance, not 0.
        step: i64,
    },
    /// A new dimension of extent 1.
    NewAxis,
    /// As many full slices as are missing.
    Ellipsis,
    /// Positions from a tensor of integers, whose shape takes the dimension's place; or a mask of bools
    /// over as many dimensions as it has, which stands for its [`Tensor::nonzero`].
    Tensor(Tensor),
}

impl Index {
    /// `:`.
    pub const FULL: Index = Index::Slice { start: None, stop: None, step: 1 };

    /// `start..stop`.
    pub fn range(start: impl Into<Size>, stop: impl Into<Size>) -> Index {
        Index::Slice { start: Some(start.into()), stop: Some(stop.into()), step: 1 }
    }
}

impl From<i64> for Index {
    fn from(i: i64) -> Self {
        Index::Int(i.into())
    }
}

impl From<&Tensor> for Index {
    fn from(index: &Tensor) -> Self {
        Index::Tensor(index.clone())
    }
}

impl Tensor {
    /// `self[index]`; positions of tensors outside of their dimension are errors where they are
    /// known and read 0 where they are computed.
    pub fn get(&self, index: &[Index]) -> Result<Tensor> {
        let op = "getitem";
        let mut node = self.uop();
        let index = &positions(op, self, index)?;
        let selection = Selection::new(op, node.shape(), index)?;
        for (axis, slice) in selection.slices().enumerate() {
            node = slice.of(&node, axis)?;
        }
        let node = node.reshape(selection.result(node.shape()))?;
        match selection.advanced.is_empty() {
            true => Ok(Tensor::from_uop(node)),
            false => advanced(op, node, &selection).map(Tensor::from_uop),
        }
    }
}

/// An index with the positions that masks select in the place of these.
pub(crate) fn positions<'a>(op: &'static str, of: &Tensor, index: &'a [Index]) -> Result<Cow<'a, [Index]>> {
    let is_mask = |i: &Index| matches!(i, Index::Tensor(t) if t.dtype().is_bool());
    if !index.iter().any(is_mask) {
        return Ok(Cow::Borrowed(index));
    }
    let width = |i: &Index| match i {
        Index::Tensor(t) if t.dtype().is_bool() => t.rank(),
        Index::NewAxis | Index::Ellipsis => 0,
        _ => 1,
    };
    let shape = of.shape();
    let given: usize = index.iter().map(width).sum();
    let missing = shape.len().checked_sub(given).ok_or(TensorError::TooManyIndices { op, given, rank: shape.len() })?;
    let (mut axis, mut all) = (0, Vec::new());
    for entry in index {
        match entry {
            Index::Tensor(mask) if mask.dtype().is_bool() => {
                let over = &shape[axis..axis + mask.rank()];
                if mask.rank() == 0 {
                    return Err(TensorError::unsupported(op, "a 0-d bool as index: use where"));
                }
                if over != mask.shape() {
                    let given = show_operands(&[mask.uop()]);
                    return Err(TensorError::shape(op, format!("a mask of {given} over dimensions of {}", show(over))));
                }
                mask.check_known("indexing by a mask")?;
                all.extend(mask.nonzero()?.into_iter().map(Index::Tensor));
            }
            other => all.push(other.clone()),
        }
        axis += if matches!(entry, Index::Ellipsis) { missing } else { width(entry) };
    }
    Ok(Cow::Owned(all))
}

/// An index resolved against a shape: slices of the dimensions, then other dimensions, then
/// lookups.
pub(crate) struct Selection {
    entries: Vec<Entry>,
    /// Dimension after the first two steps, and the positions looked up there.
    advanced: Vec<(usize, UOp)>,
    /// Where the lookups' dimensions go.
    target: usize,
}

enum Entry {
    Slice(Slice),
    /// A slice of one element whose dimension vanishes.
    Int(Slice),
    NewAxis,
}

/// A part of a dimension.
pub(crate) enum Slice {
    Full,
    Range(Size, Size),
    /// Every `step`-th element from a first one, inclusive, to a last one, exclusive, counted from the end
    /// where `backward`.
    Every {
        first: Size,
        last: Size,
        step: i64,
        backward: bool,
    },
}

impl Selection {
    pub(crate) fn new(op: &'static str, shape: &[Size], index: &[Index]) -> Result<Selection> {
        let given = index.iter().filter(|i| !matches!(i, Index::NewAxis | Index::Ellipsis)).count();
        let rank = shape.len();
        let missing = rank.checked_sub(given).ok_or(TensorError::TooManyIndices { op, given, rank })?;
        let ellipses = index.iter().filter(|i| matches!(i, Index::Ellipsis)).count();
        if ellipses > 1 {
            return Err(TensorError::value(op, "an index takes only one ellipsis"));
        }
        let rest = if ellipses == 0 { Some(&Index::Ellipsis) } else { None };
        let lookups = index.iter().any(|i| matches!(i, Index::Tensor(_)));
        let entries = Vec::with_capacity(index.len() + rank);
        let mut selection = Selection { entries, advanced: Vec::new(), target: 0 };
        // The source's dimension, the result's, and the runs of neighbouring integers and tensors.
        let (mut axis, mut out, mut runs, mut in_run) = (0, 0, 0, false);
        for entry in index.iter().chain(rest) {
            let is_advanced = lookups && matches!(entry, Index::Int(_) | Index::Tensor(_));
            if is_advanced && !in_run {
                runs += 1;
                selection.target = if runs == 1 { out } else { 0 };
            }
            in_run = is_advanced;
            match entry {
                Index::Int(i) => {
                    selection.entries.push(Entry::Int(position(op, i, axis, &shape[axis])?));
                    axis += 1;
                }
                Index::Slice { start, stop, step } => {
                    selection.entries.push(Entry::Slice(slice(
                        op,
                        start.as_ref(),
                        stop.as_ref(),
                        *step,
                        &shape[axis],
                    )?));
                    (axis, out) = (axis + 1, out + 1);
                }
                Index::NewAxis => {
                    selection.entries.push(Entry::NewAxis);
                    out += 1;
                }
                Index::Ellipsis => {
                    selection.entries.extend((0..missing).map(|_| Entry::Slice(Slice::Full)));
                    (axis, out) = (axis + missing, out + missing);
                }
                Index::Tensor(t) => {
                    let positions = from_start(op, &t.uop(), axis, &shape[axis])?;
                    selection.entries.push(Entry::Slice(Slice::Full));
                    selection.advanced.push((out, positions));
                    (axis, out) = (axis + 1, out + 1);
                }
            }
        }
        Ok(selection)
    }

    pub(crate) fn has_lookups(&self) -> bool {
        !self.advanced.is_empty()
    }

    /// The slice of each dimension of the source.
    pub(crate) fn slices(&self) -> impl DoubleEndedIterator<Item = &Slice> {
        self.entries.iter().filter_map(Entry::slice)
    }

    /// The shape once integers' dimensions are gone and new ones are there, from that of the
    /// sliced source.
    pub(crate) fn result(&self, sliced: &[Size]) -> Vec<Size> {
        let mut sliced = sliced.iter();
        let extents = self.entries.iter().filter_map(|entry| match entry {
            Entry::Slice(_) => sliced.next().cloned(),
            Entry::Int(_) => sliced.next().and(None),
            Entry::NewAxis => Some(Size::ONE),
        });
        extents.collect()
    }
}

impl Entry {
    fn slice(&self) -> Option<&Slice> {
        match self {
            Entry::Slice(slice) | Entry::Int(slice) => Some(slice),
            Entry::NewAxis => None,
        }
    }
}

impl Slice {
    pub(crate) fn is_full(&self) -> bool {
        matches!(self, Slice::Full)
    }

    /// Number of elements, of a dimension of this extent.
    pub(crate) fn len(&self, extent: &Size) -> Size {
        match self {
            Slice::Full => extent.clone(),
            Slice::Range(first, last) => first.until(last),
            Slice::Every { first, last, step, .. } => first.until(last).ceil_div(*step),
        }
    }

    fn of(&self, node: &UOp, axis: usize) -> Result<UOp> {
        let (first, last, step, backward) = match self {
            Slice::Full => return Ok(node.clone()),
            Slice::Range(first, last) => return part(node, axis, first.clone(), last.clone()),
            Slice::Every { first, last, step, backward } => (first, last, *step, *backward),
        };
        let node = if backward { node.flip(&[axis])? } else { node.clone() };
        let zero = Const::zero(node.dtype());
        let (count, span) = (self.len(&Size::ZERO), self.span());
        // In rows of `step` elements, of which the first one counts. The last row may end behind the axis.
        let whole = match span.as_const() {
            Some(_) => {
                let kept = part(&node, axis, first.clone(), lesser(&(first + &span), &node.shape()[axis]))?;
                padded(&kept, axis, Size::ZERO, &span - &kept.shape()[axis], zero)?
            }
            None => {
                let kept = part(&node, axis, first.clone(), last.clone())?;
                part(&padded(&kept, axis, Size::ZERO, step.into(), zero)?, axis, Size::ZERO, span)?
            }
        };
        let mut shape = whole.shape().to_vec();
        shape.splice(axis..=axis, [count, step.into()]);
        let firsts = part(&whole.reshape(shape.clone())?, axis + 1, Size::ZERO, Size::ONE)?;
        shape.remove(axis + 1);
        Ok(firsts.reshape(shape)?)
    }

    /// The inverse: the elements at their places in a dimension of this extent, `fill` elsewhere.
    pub(crate) fn placed(&self, node: &UOp, axis: usize, whole: &Size, fill: Const) -> Result<UOp> {
        let (first, step, backward) = match self {
            Slice::Full => return Ok(node.clone()),
            Slice::Range(first, _) => {
                return padded(node, axis, first.clone(), whole - first - &node.shape()[axis], fill);
            }
            Slice::Every { first, step, backward, .. } => (first, *step, *backward),
        };
        let span = self.span();
        let mut shape = node.shape().to_vec();
        shape.insert(axis + 1, Size::ONE);
        let spread = padded(&node.reshape(shape.clone())?, axis + 1, Size::ZERO, (step - 1).into(), fill)?;
        shape.remove(axis + 1);
        shape[axis] = span.clone();
        // What the last step takes behind the axis is cut off.
        let rest = whole - first - &span;
        let behind = if rest.as_const().is_some() { rest.max(0) } else { whole.clone() };
        let placed = padded(&spread.reshape(shape)?, axis, first.clone(), behind, fill)?;
        let placed = part(&placed, axis, Size::ZERO, whole.clone())?;
        if backward { Ok(placed.flip(&[axis])?) } else { Ok(placed) }
    }

    /// Number of elements in whole steps, the last of which may end behind the axis.
    fn span(&self) -> Size {
        match self {
            Slice::Every { step, .. } => self.len(&Size::ZERO) * *step,
            Slice::Full | Slice::Range(..) => self.len(&Size::ZERO),
        }
    }
}

/// One position as a slice.
fn position(op: &'static str, i: &Size, axis: usize, extent: &Size) -> Result<Slice> {
    let first = from_front(op, i, extent)?;
    if Size::ZERO.surely_le(&first) && (&first + 1).surely_le(extent) {
        return Ok(Slice::Range(first.clone(), first + 1));
    }
    Err(match i.as_const() {
        Some(index) => TensorError::Index { op, index, axis, extent: extent.clone(), line: None },
        None => {
            TensorError::shape(op, format!("index {i} is or may be out of range for axis {axis} with extent {extent}"))
        }
    })
}

/// A position counted from the front; a negative one counts from the end.
fn from_front(op: &'static str, i: &Size, extent: &Size) -> Result<Size> {
    if Size::ZERO.surely_le(i) {
        return Ok(i.clone());
    }
    if i.surely_le(&Size::from(-1)) {
        return Ok(extent + i);
    }
    Err(TensorError::shape(op, format!("whether index {i} is negative cannot be decided")))
}

/// The lesser of two sizes, where that is clear one of them.
fn lesser(a: &Size, b: &Size) -> Size {
    if a.surely_le(b) {
        return a.clone();
    }
    if b.surely_le(a) { b.clone() } else { a.min(b) }
}

/// A slice by Python's rules: positions are clipped.
fn slice(op: &'static str, start: Option<&Size>, stop: Option<&Size>, step: i64, extent: &Size) -> Result<Slice> {
    if step == 0 {
        return Err(TensorError::value(op, "the step of a slice must not be 0"));
    }
    if start.is_none() && stop.is_none() && step == 1 {
        return Ok(Slice::Full);
    }
    let number = |s: Option<&Size>| match s {
        None => Some(None),
        Some(s) => s.as_const().map(Some),
    };
    let (Some(n), Some(start), Some(stop)) = (extent.as_const(), number(start), number(stop)) else {
        let backward = step < 0;
        let clip = |i: &Size| {
            let i = from_front(op, i, extent)?;
            let i = if backward { extent - 1 - i } else { i };
            let i = if Size::ZERO.surely_le(&i) { i } else { i.max(0) };
            Ok::<_, TensorError>(lesser(&i, extent))
        };
        let first = start.map_or(Ok(Size::ZERO), clip)?;
        let last = stop.map_or(Ok(extent.clone()), clip)?;
        let last = if first.surely_le(&last) { last } else { last.max(&first) };
        return Ok(match step.saturating_abs() {
            1 if !backward => Slice::Range(first, last),
            step => Slice::Every { first, last, step, backward },
        });
    };
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let clip = |i: i64| if i < 0 { i.saturating_add(n).max(low) } else { i.min(high) };
    let start = start.map_or(if step > 0 { low } else { high }, clip);
    let stop = stop.map_or(if step > 0 { high } else { low }, clip);
    let distance = if step > 0 { stop - start } else { start - stop };
    let len = if distance <= 0 { 0 } else { (distance - 1) / step.saturating_abs() + 1 };
    Ok(match (len, step) {
        (0, _) => Slice::Range(Size::ZERO, Size::ZERO),
        (_, 1) if len == n => Slice::Full,
        (_, 1) => Slice::Range(start.into(), stop.into()),
        // Beyond the first element the step does not matter.
        (1, _) => Slice::Range(start.into(), (start + 1).into()),
        _ => {
            let (first, step, backward) = if step > 0 { (start, step, false) } else { (n - 1 - start, -step, true) };
            let last = first + (len - 1) * step + 1;
            Slice::Every { first: first.into(), last: last.into(), step, backward }
        }
    })
}

/// Lookups at several dimensions: they become one, indexed by the row-major position.
fn advanced(op: &'static str, node: UOp, selection: &Selection) -> Result<UOp> {
    let axes: Vec<usize> = selection.advanced.iter().map(|(axis, _)| *axis).collect();
    let mut positions: Vec<UOp> = selection.advanced.iter().map(|(_, p)| p.clone()).collect();
    if positions.len() > 1 {
        positions = positions.into_iter().map(|p| Ok(p.cast(DType::I64)?)).collect::<Result<_>>()?;
        positions = broadcast(op, positions)?;
    }
    let extents: Vec<Size> = axes.iter().map(|&a| node.shape()[a].clone()).collect();
    let rest: Vec<usize> = (0..node.rank()).filter(|a| !axes.contains(a)).collect();
    let others: Vec<Size> = rest.iter().map(|&a| node.shape()[a].clone()).collect();
    let (index, table, at) = match axes.as_slice() {
        [axis] => (positions.remove(0), node, *axis),
        _ => {
            let front = node.permute(&[&*axes, &*rest].concat())?;
            let merged = [&[numel(&extents)], &*others].concat();
            (row_major(&positions, &extents)?, front.reshape(merged)?, 0)
        }
    };
    let looked_up = table.take(at, &index)?;
    let width = index.rank();
    if at == selection.target {
        return Ok(looked_up);
    }
    // The index's dimensions from `at` to the target.
    let mut order: Vec<usize> = (0..at).chain(at + width..looked_up.rank()).collect();
    let target = selection.target.min(order.len());
    order.splice(target..target, at..at + width);
    if order.len() != looked_up.rank() {
        return Err(TensorError::shape(op, format!("{} has too many dimensions", show_operands(&[looked_up]))));
    }
    Ok(looked_up.permute(&order)?)
}

/// The positions in row-major order; -1 where one is outside of its dimension.
fn row_major(positions: &[UOp], extents: &[Size]) -> Result<UOp> {
    let mut sum: Option<(UOp, UOp)> = None;
    for (position, extent) in positions.iter().zip(extents) {
        let shape = position.shape_arc();
        let zero = UOp::full(Const::zero(DType::I64), shape)?;
        let extent = size_value(extent)?.expand(shape.clone())?;
        let inside = UOp::alu(
            Alu::And,
            &[UOp::alu(Alu::Le, &[zero, position.clone()])?, UOp::alu(Alu::Lt, &[position.clone(), extent.clone()])?],
        )?;
        sum = Some(match sum {
            None => (position.clone(), inside),
            Some((before, valid)) => {
                let scaled = UOp::alu(Alu::Mul, &[before, extent])?;
                (UOp::alu(Alu::Add, &[scaled, position.clone()])?, UOp::alu(Alu::And, &[valid, inside])?)
            }
        });
    }
    let Some((flat, valid)) = sum else { return size_value(&Size::ZERO) };
    let outside = UOp::full(Const::i64(DType::I64, -1), flat.shape_arc())?;
    Ok(UOp::alu(Alu::Where, &[valid, flat, outside])?)
}
