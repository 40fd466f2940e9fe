//! Sums of what the users of a value pass on to it.
//!
//! A value that a loop uses has as many users as iterations, all of one kind. Added one after the other they would be one
//! expression over all of them at every element. Two kinds have a sum of their own: the products that a weight of a
//! recurrent layer gets are one contraction, over time as well, and the parts of a sequence are joined.

use svod_dtype::Const;
use svod_ir::alu::Alu;
use svod_ir::graph::{Op, Pairs, UOp};
use svod_ir::size::Size;

use super::algebra::{add, sum, zeros};
use super::table;
use crate::error::Result;

/// Users of one kind from which their sum is computed as one.
const MANY: usize = 4;

/// By how much a product has to be larger than its operands, for these to be written once more.
const LARGER: i64 = 8;

/// The sum of what some users pass on, in their order but for parts of one sequence.
pub fn total(parts: &[UOp]) -> Result<UOp> {
    let axis = parts.first().and_then(padded_axis);
    let placed: Vec<Option<Placed>> = parts.iter().map(|part| Placed::along(part, axis?)).collect();
    let mut pieces: Vec<&Placed> = placed.iter().flatten().collect();
    let mut rest: Vec<UOp> = parts.to_vec();
    pieces.sort_by_key(|piece| piece.start);
    if let Some(axis) = axis
        && pieces.len() >= MANY
        && pieces.windows(2).all(|pair| pair[0].end <= pair[1].start)
    {
        let whole = &parts[0];
        rest = parts.iter().zip(&placed).filter(|(_, placed)| placed.is_none()).map(|(part, _)| part.clone()).collect();
        rest.insert(0, joined(whole, axis, &pieces)?);
    }
    let mut sum = rest[0].clone();
    for part in &rest[1..] {
        sum = add(&sum, part)?;
    }
    Ok(sum)
}

/// The cotangent of what `Expand` repeated, given those of its result.
pub fn unexpanded(parts: &[UOp], source: &UOp) -> Result<UOp> {
    let Some(Factors(first)) = parts.first().and_then(Factors::of) else {
        return table::unexpanded(&total(parts)?, source);
    };
    let is_alike = |factors: &Factors| factors.0.iter().zip(&first).all(|(a, b)| is_alike(a, b));
    let factors: Vec<Option<Factors>> = parts.iter().map(|part| Factors::of(part).filter(is_alike)).collect();
    let products: Vec<&Factors> = factors.iter().flatten().collect();
    if products.len() < MANY {
        return table::unexpanded(&total(parts)?, source);
    }
    let all = contracted(&products, &parts[0], source)?;
    let rest: Vec<UOp> =
        parts.iter().zip(&factors).filter(|(_, factors)| factors.is_none()).map(|(part, _)| part.clone()).collect();
    match rest.is_empty() {
        true => Ok(all),
        false => add(&all, &table::unexpanded(&total(&rest)?, source)?),
    }
}

/// A part of a sequence, among zeros along one axis.
struct Placed {
    part: UOp,
    start: i64,
    end: i64,
}

impl Placed {
    fn along(value: &UOp, axis: usize) -> Option<Placed> {
        let (Op::Pad(by, _), Some(part)) = (value.op(), value.source()) else { return None };
        if padded_axis(value) != Some(axis) {
            return None;
        }
        let start = by[axis].0.as_const()?;
        let end = start + part.shape()[axis].as_const()?;
        Some(Placed { part, start, end })
    }
}

/// The only axis along which a value is another one among zeros.
fn padded_axis(value: &UOp) -> Option<usize> {
    let Op::Pad(by, with) = value.op() else { return None };
    let mut axes = (0..by.len()).filter(|axis| by[*axis] != (Size::ZERO, Size::ZERO));
    let axis = axes.next().filter(|_| *with == Const::zero(value.dtype()))?;
    axes.next().is_none().then_some(axis)
}

/// Parts of a sequence in their order, with zeros where none is.
fn joined(whole: &UOp, axis: usize, pieces: &[&Placed]) -> Result<UOp> {
    let mut parts = Vec::with_capacity(pieces.len());
    let mut at = Size::ZERO;
    let gap = |from: &Size, to: Size| -> Result<Option<UOp>> {
        if *from == to {
            return Ok(None);
        }
        let kept: Pairs = (0..whole.rank())
            .map(|i| if i == axis { (from.clone(), to.clone()) } else { (Size::ZERO, whole.shape()[i].clone()) })
            .collect();
        Ok(Some(zeros(whole)?.shrink(kept)?))
    };
    for piece in pieces {
        parts.extend(gap(&at, Size::from(piece.start))?);
        parts.push(piece.part.clone());
        at = Size::from(piece.end);
    }
    parts.extend(gap(&at, whole.shape()[axis].clone())?);
    Ok(UOp::concat(&parts, axis)?)
}

/// The operands of a product that is larger than both, each with 1 where it is repeated.
struct Factors([UOp; 2]);

impl Factors {
    fn of(product: &UOp) -> Option<Factors> {
        if !matches!(product.op(), Op::Alu(Alu::Mul)) || product.sharding().is_some() {
            return None;
        }
        let sources = product.sources();
        let [left, right] = [repeated(&sources[0])?, repeated(&sources[1])?];
        let elements = left.numel().as_const()? + right.numel().as_const()?;
        (product.numel().as_const()? >= LARGER * elements).then_some(Factors([left, right]))
    }
}

/// What a value repeats, of its rank.
fn repeated(value: &UOp) -> Option<UOp> {
    let (Op::Expand(_), Some(source)) = (value.op(), value.source()) else { return None };
    let mut shape = vec![Size::ONE; value.rank() - source.rank()];
    shape.extend(source.shape().iter().cloned());
    source.reshape(shape).ok()
}

fn is_alike(a: &UOp, b: &UOp) -> bool {
    (a.shape(), a.dtype(), a.device()) == (b.shape(), b.dtype(), b.device())
}

/// The sum of products, over all of them and over what `source` was repeated along.
fn contracted(products: &[&Factors], like: &UOp, source: &UOp) -> Result<UOp> {
    let along = |shape: &[Size], count: usize| -> Vec<Size> {
        std::iter::once(Size::from(count)).chain(shape.iter().cloned()).collect()
    };
    let side = |which: usize| -> Result<UOp> {
        let layers = products.iter().map(|factors| factors.0[which].reshape(along(factors.0[which].shape(), 1)));
        let all = UOp::concat(&layers.collect::<std::result::Result<Vec<_>, _>>()?, 0)?.contiguous()?;
        Ok(all.expand(along(like.shape(), products.len()))?)
    };
    let product = UOp::alu(Alu::Mul, &[side(0)?, side(1)?])?;
    let axes: Vec<usize> = std::iter::once(0).chain(table::repeated_axes(like, source).map(|axis| axis + 1)).collect();
    Ok(sum(&product, &axes)?.reshape(source.shape_arc().clone())?)
}
