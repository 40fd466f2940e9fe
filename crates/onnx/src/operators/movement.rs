//! Shapes, and elements at other places.

use svod_tensor::{Index, Operand, Size, Tensor};

use super::{Row, row};
use crate::call::{Call, Outcome, axis_of, counting_along, extent_at, extents, invalid, one, unsupported};
use crate::error::Fault;
use crate::value::{Sizes, Value};

pub(super) const ROWS: &[Row] = &[
    row("CenterCropPad", 18, center_crop_pad),
    row("Concat", 4, |c| {
        let all = c.tensors()?;
        one(Tensor::cat(&all.iter().collect::<Vec<_>>(), c.int("axis", 0)?)?)
    }),
    row("DepthToSpace", 1, depth_to_space),
    row("Expand", 8, expand),
    row("Flatten", 1, flatten),
    row("Pad", 11, pad),
    row("Reshape", 5, reshape),
    row("ReverseSequence", 10, reverse_sequence),
    row("Shape", 1, shape),
    row("Size", 1, |c| one(Sizes::scalar(c.value(0)?.shape()?.iter().product::<Size>()))),
    row("Slice", 10, slice),
    row("SpaceToDepth", 1, space_to_depth),
    row("Split", 2, split),
    row("Squeeze", 1, squeeze),
    row("Tile", 6, tile),
    row("Transpose", 1, |c| {
        let order = c.ints("perm")?;
        c.map(|x| match &order {
            Some(order) => x.permute(order),
            None => x.t(),
        })
    }),
    row("Trilu", 14, trilu),
    row("Unsqueeze", 1, unsqueeze),
];

fn shape(c: &Call<'_>) -> Outcome {
    let shape = c.value(0)?.shape()?;
    let rank = shape.len() as i64;
    let clip = |at: i64| (if at < 0 { at.saturating_add(rank) } else { at }).clamp(0, rank) as usize;
    let (start, end) = (clip(c.int("start", 0)?), clip(c.int("end", rank)?));
    one(Sizes::vector(shape.get(start..end).unwrap_or_default().to_vec()))
}

fn reshape(c: &Call<'_>) -> Outcome {
    let (x, to) = (c.tensor(0)?, c.sizes(1)?.elements);
    let (own, keeps_zero) = (x.shape(), c.flag("allowzero", false)?);
    let mut shape = Vec::with_capacity(to.len());
    for (at, extent) in to.into_iter().enumerate() {
        match own.get(at) {
            Some(same) if extent == Size::ZERO && !keeps_zero => shape.push(same.clone()),
            None if extent == Size::ZERO && !keeps_zero => return invalid(format!("dimension {at} is not there")),
            _ => shape.push(extent),
        }
    }
    one(x.reshape(&shape)?)
}

fn flatten(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let shape = x.shape();
    let rank = shape.len() as i64;
    let axis = c.int("axis", 1)?;
    let at = if axis < 0 { axis.saturating_add(rank) } else { axis };
    let Some(at) = usize::try_from(at).ok().filter(|at| *at <= shape.len()) else {
        return invalid(format!("axis {axis} is out of range for rank {rank}"));
    };
    let rows: Size = shape[..at].iter().product();
    let columns: Size = shape[at..].iter().product();
    one(x.reshape(&[rows, columns])?)
}

fn expand(c: &Call<'_>) -> Outcome {
    let (x, mut to) = (c.tensor(0)?, c.sizes(1)?.elements);
    let own = x.shape();
    // Both broadcast to each other.
    while to.len() < own.len() {
        to.insert(0, Size::ONE);
    }
    let first = to.len() - own.len();
    for (extent, own) in to[first..].iter_mut().zip(&own) {
        if *extent == Size::ONE {
            *extent = own.clone();
        }
    }
    one(x.broadcast_to(&to)?)
}

fn tile(c: &Call<'_>) -> Outcome {
    let (x, times) = (c.tensor(0)?, c.sizes(1)?.elements);
    if times.len() != x.rank() {
        return invalid(format!("{} numbers of repeats for rank {}", times.len(), x.rank()));
    }
    one(x.repeat(&times)?)
}

fn squeeze(c: &Call<'_>) -> Outcome {
    let (x, axes) = (c.tensor(0)?, c.axes(1)?);
    if let Some(axes) = &axes {
        for axis in axes {
            let at = axis_of(*axis, x.rank())?;
            if x.shape()[at] != Size::ONE {
                return invalid(format!("dimension {at} of {} is not 1", x.described()));
            }
        }
    }
    one(x.squeeze(axes.as_deref())?)
}

fn unsqueeze(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let Some(axes) = c.axes(1)? else { return invalid("the axes are missing") };
    let rank = x.rank() + axes.len();
    let mut at = axes.iter().map(|axis| axis_of(*axis, rank)).collect::<Result<Vec<_>, _>>()?;
    at.sort_unstable();
    let mut shape = x.shape();
    for axis in at {
        if axis > shape.len() {
            return invalid(format!("axes {axes:?} name one twice"));
        }
        shape.insert(axis, Size::ONE);
    }
    one(x.reshape(&shape)?)
}

fn split(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let axis = c.axis("axis", 0, x.rank())?;
    let extent = x.shape()[axis].clone();
    let given = match c.ints("split")? {
        Some(parts) => Some(parts.into_iter().map(Size::from).collect()),
        None if c.has(1) => Some(c.sizes(1)?.elements),
        None => None,
    };
    let parts: Vec<Size> = match given {
        Some(parts) => parts,
        None => {
            let count = c.int("num_outputs", c.node.outputs.len() as i64)?;
            if count < 1 || count > c.node.outputs.len() as i64 {
                return invalid(format!("{count} parts for {} results", c.node.outputs.len()));
            }
            let each = extent.ceil_div(count);
            let mut parts = vec![each.clone(); count as usize - 1];
            parts.push(extent - each * (count - 1));
            parts
        }
    };
    Ok(x.split(&parts, axis as i64)?.into_iter().map(Value::from).collect())
}

fn slice(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let (starts, ends) = (c.sizes(1)?.elements, c.sizes(2)?.elements);
    let axes = match c.maybe_numbers(3)? {
        Some(axes) => axes,
        None => (0..starts.len() as i64).collect(),
    };
    let steps = c.maybe_numbers(4)?.unwrap_or_else(|| vec![1; starts.len()]);
    if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
        return invalid("starts, ends, axes and steps should be as many");
    }
    let mut index = vec![Index::FULL; x.rank()];
    for (((start, end), axis), step) in starts.iter().zip(&ends).zip(axes).zip(steps) {
        let at = axis_of(axis, x.rank())?;
        let extent = &x.shape()[at];
        // The least number is before the first element, and the greatest behind the last.
        let far = |size: &Size| size.as_const().is_some_and(|n| n.unsigned_abs() >= i32::MAX as u64);
        let stop = match (far(end), end.as_const()) {
            (true, Some(n)) if (n > 0) == (step > 0) => None,
            (true, _) => Some(if step > 0 { Size::ZERO } else { extent.clone() }),
            // In Python a stop of -1 counts from the end, as here; what is before the first is less than that.
            _ => Some(end.clone()),
        };
        index[at] = Index::Slice { start: Some(start.clone()), stop, step };
    }
    one(x.get(&index)?)
}

fn trilu(c: &Call<'_>) -> Outcome {
    let k = if c.has(1) { c.sizes(1)?.elements.first().cloned().unwrap_or(Size::ZERO) } else { Size::ZERO };
    let is_upper = c.flag("upper", true)?;
    c.map(|x| if is_upper { x.triu(k) } else { x.tril(k) })
}

/// `[n, c·b·b, h, w]` to `[n, c, h·b, w·b]`.
fn depth_to_space(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let Some(b) = c.maybe_int("blocksize")?.filter(|b| *b > 0) else { return invalid("a blocksize is missing") };
    let [n, depth, h, w] = &x.shape()[..] else { return invalid(format!("{} is not of rank 4", x.described())) };
    let channels = depth.floordiv(b * b);
    let b = Size::from(b);
    let (shape, order): (_, &[i64]) = match c.text("mode", "DCR")? {
        "CRD" => ([n.clone(), channels.clone(), b.clone(), b.clone(), h.clone(), w.clone()], &[0, 1, 4, 2, 5, 3]),
        _ => ([n.clone(), b.clone(), b.clone(), channels.clone(), h.clone(), w.clone()], &[0, 3, 4, 1, 5, 2]),
    };
    one(x.reshape(&shape)?.permute(order)?.reshape(&[n.clone(), channels, h * &b, w * &b])?)
}

fn space_to_depth(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let Some(b) = c.maybe_int("blocksize")?.filter(|b| *b > 0) else { return invalid("a blocksize is missing") };
    let [n, channels, h, w] = &x.shape()[..] else { return invalid(format!("{} is not of rank 4", x.described())) };
    let (rows, columns, b) = (h.floordiv(b), w.floordiv(b), Size::from(b));
    let blocks = [n.clone(), channels.clone(), rows.clone(), b.clone(), columns.clone(), b.clone()];
    let order: &[i64] = if c.text("mode", "DCR")? == "CRD" { &[0, 1, 3, 5, 2, 4] } else { &[0, 3, 5, 1, 2, 4] };
    let to = [n.clone(), channels * &b * &b, rows, columns];
    one(x.reshape(&blocks)?.permute(order)?.reshape(&to)?)
}

fn reverse_sequence(c: &Call<'_>) -> Outcome {
    let (x, lengths) = (c.tensor(0)?, c.tensor(1)?);
    let rank = x.rank();
    let (batch, time) = (c.axis("batch_axis", 1, rank)?, c.axis("time_axis", 0, rank)?);
    let shape = x.shape();
    let lengths = lengths.reshape(&extent_at(shape[batch].clone(), batch, rank))?;
    let at = counting_along(shape[time].clone(), time, rank)?;
    let from = Tensor::select(&at.lt(&lengths)?, lengths.sub(1)?.sub(&at)?, &at)?;
    one(x.gather(time as i64, &from.expand(&shape)?)?)
}

/// What is around an operand: `[before.., after..]` of operand 1, along all axes or those of operand 3.
fn pad(c: &Call<'_>) -> Outcome {
    let (x, by) = (c.tensor(0)?, c.sizes(1)?.elements);
    let axes = match c.maybe_numbers(3)? {
        Some(axes) => axes.into_iter().map(|axis| axis_of(axis, x.rank())).collect::<Result<Vec<_>, _>>()?,
        None => (0..x.rank()).collect(),
    };
    if by.len() != 2 * axes.len() {
        return invalid(format!("{} numbers of elements around {} axes", by.len(), axes.len()));
    }
    let pairs = axes.iter().enumerate().map(|(i, axis)| (*axis, by[i].clone(), by[axes.len() + i].clone()));
    let mode = c.text("mode", "constant")?;
    if mode == "constant" {
        let value = match c.optional(2)? {
            Some(value) => Operand::Tensor(value.reshape::<i64>(&[])?.cast(x.dtype())?),
            None => Operand::Int(0),
        };
        return padded(&x, pairs, value);
    }
    let mut x = x;
    for (axis, before, after) in pairs {
        let (Some(before), Some(after)) = (before.as_const(), after.as_const()) else {
            return unsupported(format!("padding of mode {mode} by symbolic numbers of elements"));
        };
        if before == 0 && after == 0 {
            continue;
        }
        let extent = extents(&x)?[axis];
        let at = positions_of(mode, extent, before, after)?;
        x = x.take(&Tensor::from_slice(&at, &[at.len()])?, axis as i64)?;
    }
    one(x)
}

/// Where elements that are put around others come from.
fn positions_of(mode: &str, extent: i64, before: i64, after: i64) -> Result<Vec<i64>, Fault> {
    let count = (-before..extent.saturating_add(after)).take(1 << 24);
    if extent < 1 {
        return invalid("there is nothing to take elements around from");
    }
    Ok(match mode {
        "reflect" => {
            let period = (2 * (extent - 1)).max(1);
            count.map(|i| i.rem_euclid(period)).map(|i| if i < extent { i } else { period - i }).collect()
        }
        "edge" => count.map(|i| i.clamp(0, extent - 1)).collect(),
        "wrap" => count.map(|i| i.rem_euclid(extent)).collect(),
        other => return invalid(format!("attribute 'mode' should be constant, reflect, edge or wrap, not '{other}'")),
    })
}

/// A value around; negative numbers of elements cut off.
fn padded(x: &Tensor, pairs: impl Iterator<Item = (usize, Size, Size)>, value: Operand) -> Outcome {
    let shape = x.shape();
    let mut cut: Vec<(Size, Size)> = shape.iter().map(|extent| (Size::ZERO, extent.clone())).collect();
    let mut by = vec![(Size::ZERO, Size::ZERO); shape.len()];
    for (axis, before, after) in pairs {
        if before.bounds().1 < 0 {
            cut[axis].0 = Size::ZERO - before;
        } else {
            by[axis].0 = before;
        }
        if after.bounds().1 < 0 {
            cut[axis].1 = &shape[axis] + after;
        } else {
            by[axis].1 = after;
        }
    }
    let part = x.shrink(&cut)?;
    let Operand::Tensor(value) = value else { return one(part.pad(&by, value)?) };
    // A value that is computed takes the places that have no element.
    let is_inside = Tensor::full(&part.shape(), true, None)?.pad(&by, false)?;
    one(Tensor::select(&is_inside, part.pad(&by, 0)?, value)?)
}

fn center_crop_pad(c: &Call<'_>) -> Outcome {
    let (x, to) = (c.tensor(0)?, c.numbers(1)?);
    let axes = match c.ints("axes")? {
        Some(axes) => axes.into_iter().map(|axis| axis_of(axis, x.rank())).collect::<Result<Vec<_>, _>>()?,
        None => (0..x.rank()).collect(),
    };
    let own = extents(&x)?;
    let pair = |(axis, to): (&usize, &i64)| {
        let more = to - own[*axis];
        // A part is cut from its middle, rounded down, and put into the middle, rounded down.
        let before = if more < 0 { -((-more) / 2) } else { more / 2 };
        (*axis, Size::from(before), Size::from(more - before))
    };
    padded(&x, axes.iter().zip(&to).map(pair), Operand::Int(0))
}
