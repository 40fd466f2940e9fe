//! `t[…]`: integers, slices, new axes, and tensors of integers, by NumPy's rules.

use std::borrow::Cow;

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{Op, UOp};
use svod_ir::size::Size;

use crate::error::{Result, TensorError, show, show_operands};
use crate::gather::from_start;
use crate::movement::{numel, padded, part};
use crate::operand::{broadcast, size_value};
use crate::pieces::Places;
use crate::read::{host_elements, is_known};
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
        if let Some((of, index)) = with_dimensions_of_flags(op, self, index)? {
            return of.get(&index);
        }
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

/// Whether an entry is a single bool, which has no dimension.
pub(crate) fn is_flag(entry: &Index) -> bool {
    matches!(entry, Index::Tensor(flag) if flag.dtype().is_bool() && flag.rank() == 0)
}

/// The number of dimensions that an entry stands for.
fn width(entry: &Index) -> usize {
    match entry {
        Index::Tensor(t) if t.dtype().is_bool() => t.rank(),
        Index::NewAxis | Index::Ellipsis => 0,
        _ => 1,
    }
}

/// The number of dimensions that an ellipsis stands for.
fn missing(op: &'static str, index: &[Index], rank: usize) -> Result<usize> {
    let given: usize = index.iter().map(width).sum();
    rank.checked_sub(given).ok_or(TensorError::TooManyIndices { op, given, rank })
}

/// Whether all single bools of an index are true, and the rest of it; none without such bools.
pub(crate) fn flags_apart(index: &[Index]) -> Result<Option<(Tensor, Vec<Index>)>> {
    let (flags, rest): (Vec<&Index>, Vec<&Index>) = index.iter().partition(|entry| is_flag(entry));
    let mut flags =
        flags.into_iter().filter_map(|entry| if let Index::Tensor(flag) = entry { Some(flag) } else { None });
    let Some(first) = flags.next() else { return Ok(None) };
    let all = flags.try_fold(first.clone(), |all, flag| all.bitwise_and(flag))?;
    Ok(Some((all, rest.into_iter().cloned().collect())))
}

/// A tensor with a new dimension for each single bool of an index, and the index whose bools are masks over these.
pub(crate) fn with_dimensions_of_flags(
    op: &'static str,
    of: &Tensor,
    index: &[Index],
) -> Result<Option<(Tensor, Vec<Index>)>> {
    if !index.iter().any(is_flag) {
        return Ok(None);
    }
    let missing = missing(op, index, of.rank())?;
    let (mut of, mut axis, mut all) = (of.clone(), 0, Vec::with_capacity(index.len()));
    for entry in index {
        match entry {
            Index::Tensor(flag) if is_flag(entry) => {
                of = of.unsqueeze(axis as i64)?;
                all.push(Index::Tensor(flag.unsqueeze(0)?));
                axis += 1;
            }
            other => {
                all.push(other.clone());
                axis += if matches!(other, Index::Ellipsis) { missing } else { width(other) };
            }
        }
    }
    Ok(Some((of, all)))
}

/// An index with the positions that masks select in the place of these.
pub(crate) fn positions<'a>(op: &'static str, of: &Tensor, index: &'a [Index]) -> Result<Cow<'a, [Index]>> {
    let is_mask = |i: &Index| matches!(i, Index::Tensor(t) if t.dtype().is_bool());
    if !index.iter().any(is_mask) {
        return Ok(Cow::Borrowed(index));
    }
    let shape = of.shape();
    let missing = missing(op, index, shape.len())?;
    let (mut axis, mut all) = (0, Vec::new());
    for entry in index {
        match entry {
            Index::Tensor(mask) if mask.dtype().is_bool() => {
                let over = &shape[axis..axis + mask.rank()];
                if over != mask.shape() {
                    let given = show_operands(&[mask.uop()]);
                    let message = format!("a mask of {given} over dimensions of {}", show(over));
                    return Err(TensorError::Mask { op, message });
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
    advanced: Vec<Lookup>,
    /// Where the lookups' dimensions go.
    target: usize,
}

/// Positions that are looked up.
struct Lookup {
    /// The dimension, after slices and new dimensions.
    axis: usize,
    positions: UOp,
    /// The dimension of the positions along which they are 0, 1, 2 and so on, if that is all that they are.
    counts: Option<usize>,
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
        let tensors = index.iter().filter(|i| matches!(i, Index::Tensor(_))).count();
        let (lookups, several) = (tensors > 0, tensors > 1);
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
                    let given = t.uop();
                    let positions = from_start(op, &given, axis, &shape[axis])?;
                    let counts = if several { counts(&given, &shape[axis])? } else { None };
                    selection.entries.push(Entry::Slice(Slice::Full));
                    selection.advanced.push(Lookup { axis: out, positions, counts });
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

    /// The positions in a dimension of this extent, where they are numbers.
    pub(crate) fn places(&self, extent: usize) -> Option<Places> {
        Some(match self {
            Slice::Full => Places { first: 0, count: extent, step: 1 },
            Slice::Range(first, last) => {
                let first = first.as_usize()?;
                Places { first, count: last.as_usize()?.checked_sub(first)?, step: 1 }
            }
            Slice::Every { first, step, backward, .. } => {
                let (first, count) = (first.as_usize()?, self.len(&Size::ZERO).as_usize()?);
                match backward {
                    true => Places { first: extent.checked_sub(first + 1)?, count, step: step.checked_neg()? },
                    false => Places { first, count, step: *step },
                }
            }
        })
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

/// The dimension of an index along which it counts from 0 within the extent, where it does nothing else.
fn counts(index: &UOp, extent: &Size) -> Result<Option<usize>> {
    let mut long = (0..index.rank()).filter(|d| index.shape()[*d] != Size::ONE);
    let (Some(along), None) = (long.next(), long.next()) else { return Ok(None) };
    if !index.shape()[along].surely_le(extent) {
        return Ok(None);
    }
    let mut node = index.clone();
    loop {
        let below = match node.op() {
            Op::Range(_) => return Ok(Some(along)),
            Op::Leaf(leaf) if leaf.class().is_constant() && is_known(leaf) => {
                let elements = (0..).zip(host_elements(leaf)?);
                return Ok(elements.into_iter().all(|(n, c)| c.as_i128() == n).then_some(along));
            }
            Op::Cast(to) if to.is_int() && to.bits() >= 32 => node.source(),
            // Of one dimension that is not 1.
            Op::Reshape(_) => node.source(),
            _ => None,
        };
        match below {
            Some(below) => node = below,
            None => return Ok(None),
        }
    }
}

/// Lookups at several dimensions: they become one, indexed by the row-major position. Where one of them counts, that
/// dimension is kept, so that each lookup is in a row of its own.
fn advanced(op: &'static str, node: UOp, selection: &Selection) -> Result<UOp> {
    let axes: Vec<usize> = selection.advanced.iter().map(|l| l.axis).collect();
    let mut positions: Vec<UOp> = selection.advanced.iter().map(|l| l.positions.clone()).collect();
    let ranks: Vec<usize> = positions.iter().map(UOp::rank).collect();
    if positions.len() > 1 {
        positions = positions.into_iter().map(|p| Ok(p.cast(DType::I64)?)).collect::<Result<_>>()?;
        positions = broadcast(op, positions)?;
    }
    let extents: Vec<Size> = axes.iter().map(|&a| node.shape()[a].clone()).collect();
    let rest: Vec<usize> = (0..node.rank()).filter(|a| !axes.contains(a)).collect();
    let others: Vec<Size> = rest.iter().map(|&a| node.shape()[a].clone()).collect();
    let width = positions[0].rank();
    let rows = selection.advanced.iter().position(|l| l.counts.is_some());
    let (looked_up, at) = match (axes.as_slice(), rows) {
        ([axis], _) => (node.take(*axis, &positions[0])?, *axis),
        (_, Some(n)) => {
            let along = selection.advanced[n].counts.unwrap_or(0) + width - ranks[n];
            let row = axes[n];
            let kept: Vec<usize> = axes.iter().copied().filter(|a| *a != row).collect();
            let front = node.permute(&[&[row], &*kept, &*rest].concat())?;
            positions.remove(n);
            let extents: Vec<Size> = (0..axes.len()).filter(|i| *i != n).map(|i| extents[i].clone()).collect();
            let table = front.reshape([&[node.shape()[row].clone(), numel(&extents)], &*others].concat())?;
            let index = if positions.len() == 1 { positions.remove(0) } else { row_major(&positions, &extents)? };
            (in_rows(&table, &index, along)?, 0)
        }
        (_, None) => {
            let front = node.permute(&[&*axes, &*rest].concat())?;
            let table = front.reshape([&[numel(&extents)], &*others].concat())?;
            (table.take(0, &row_major(&positions, &extents)?)?, 0)
        }
    };
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

/// The elements of a table of rows and columns, each of some elements, at the columns that an index gives; the rows are its
/// dimension `along`.
fn in_rows(table: &UOp, index: &UOp, along: usize) -> Result<UOp> {
    let rest = &table.shape()[2..];
    let order: Vec<usize> = [along].into_iter().chain((0..index.rank()).filter(|d| *d != along)).collect();
    let first = index.permute(&order)?;
    let (rows, each) = (first.shape()[0].clone(), numel(&first.shape()[1..]));
    let ones = vec![Size::ONE; rest.len()];
    let columns = first.reshape([&[rows.clone(), each.clone()], &*ones].concat())?;
    let columns = columns.expand([&[rows.clone(), each], rest].concat())?;
    let found = part(table, 0, Size::ZERO, rows)?.gather(1, &columns)?;
    let found = found.reshape([first.shape(), rest].concat())?;
    let back: Vec<usize> = (1..=along).chain([0]).chain(along + 1..found.rank()).collect();
    Ok(found.permute(&back)?)
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
