//! Where the result of an operation is, given where its operands are.
//!
//! Operands on one device give a result there. Operands that are spread over the same devices give one
//! that is, without moving an element, save that a fold along the split axis combines what the devices
//! have. A copy on each device goes with parts of any axis. Where an operation needs elements of another
//! device's part, such as a sort along the split axis, its operands are laid out anew before ([`super::relay`]).

use super::error::Reason;
use super::iterate::LoopBody;
use super::leaf::LeafClass;
use super::op::{Op, ShowShape};
use super::sharding::{Place, Sharding, Split};
use super::uop::UOp;
use crate::size::Size;
use smallvec::SmallVec;
use std::sync::Arc;

/// How each operand is split.
pub(super) type Splits<'a> = SmallVec<[Option<&'a Split>; 3]>;

/// Where the value of `op` over `sources` is; nothing for constants, literals, and what follows from them.
pub(super) fn place(op: &Op, sources: &[UOp]) -> Result<Option<Place>, Reason> {
    match op {
        Op::Leaf(leaf) if leaf.class() == LeafClass::Literal => return Ok(None),
        Op::Leaf(leaf) => return Ok(Some(Place::One(leaf.data().device()))),
        Op::Copy(to) => return Ok(Some(Place::One(to.clone()))),
        Op::Shard(to) => return laid_out(to, sources).map(Some),
        Op::Multi(of) => return joined(of, sources).map(Some),
        Op::Part(of, i) => return Ok(of.devices().get(*i).cloned().map(Place::One)),
        _ => {}
    }
    // The other operands of a value whose derivative is given, or that comes after them, are only named.
    let sources = if matches!(op, Op::Derived(..) | Op::After) { &sources[..1] } else { sources };
    let mut known = sources.iter().filter_map(UOp::place);
    let Some(first) = known.next() else { return Ok(None) };
    let Place::Many(sharding) = first else {
        return match (known.find(|p| *p != first), op) {
            (None, _) => Ok(Some(first.clone())),
            (Some(_), Op::Loop(body, output)) => of_loop(body, *output, sources).map(Some),
            (Some(other), _) => Err(Reason::Device(first.to_string(), other.to_string())),
        };
    };
    let apart = |p: &&Place| !matches!(p, Place::Many(other) if other.devices() == sharding.devices());
    if let Some(other) = known.find(apart) {
        return Err(Reason::Device(first.to_string(), other.to_string()));
    }
    if matches!(op, Op::Loop(..) | Op::Host(..)) {
        return Err(Reason::Spread(sharding.to_string()));
    }
    let splits: Splits = sources.iter().map(|s| s.sharding()?.split()).collect();
    let split = if splits.iter().all(Option::is_none) { None } else { split(op, sources, &splits)? };
    Ok(Some(Place::Many(sharding.with_split(split))))
}

/// Where a result of a loop over values of several devices is: with its parameter.
fn of_loop(body: &LoopBody, output: usize, sources: &[UOp]) -> Result<Place, Reason> {
    let devices: Vec<Place> = body.params().iter().map(|param| Place::One(param.data().device())).collect();
    let apart = |(source, own): &(&UOp, &Place)| source.place().is_some_and(|place| place != *own);
    if let Some((source, own)) = sources.iter().zip(&devices).find(apart) {
        let place = source.place().map(ToString::to_string).unwrap_or_default();
        return Err(Reason::Device(own.to_string(), place));
    }
    let rank = body.results().len();
    if output >= body.carried() {
        let row = body.results().get(output).ok_or(Reason::Axis { axis: output, rank })?;
        return Ok(row.place().unwrap_or(&devices[0]).clone());
    }
    devices.into_iter().nth(output).ok_or(Reason::Axis { axis: output, rank })
}

fn laid_out(to: &Arc<Sharding>, sources: &[UOp]) -> Result<Place, Reason> {
    let place = Place::Many(to.clone());
    if let Some(split) = to.split()
        && sources[0].shape().get(split.axis) != Some(&split.extent())
    {
        let extents = ShowShape(&split.extents);
        return Err(Reason::Sharding(format!("parts {extents} are not those of axis {}", split.axis)));
    }
    match sources[0].sharding() {
        Some(from) if from.devices() != to.devices() => {
            Err(Reason::Device(Place::Many(from.clone()).to_string(), place.to_string()))
        }
        _ => Ok(place),
    }
}

fn joined(of: &Arc<Sharding>, sources: &[UOp]) -> Result<Place, Reason> {
    for (part, device) in sources.iter().zip(of.devices()) {
        match part.place() {
            Some(Place::One(other)) if other == device => {}
            Some(other) => return Err(Reason::Device(device.to_string(), other.to_string())),
            None => return Err(Reason::Sharding(format!("the part of {device} is on no device"))),
        }
    }
    Ok(Place::Many(of.clone()))
}

/// The split of the result, where an operand has one.
pub(super) fn split(op: &Op, s: &[UOp], splits: &[Option<&Split>]) -> Result<Option<Split>, Reason> {
    let Some(first) = splits.iter().flatten().next().copied() else { return Ok(None) };
    let axis = first.axis;
    let across = |what: &str| Reason::Sharding(format!("{what} axis {axis}, along which the devices have parts"));
    let same = || Ok(Some(first.clone()));
    let along = |axis: usize| Ok(Some(first.along(axis)));
    // All operands have their elements at the same positions.
    let together = || match splits.iter().flatten().find(|other| **other != first) {
        None => Ok(Some(first.clone())),
        Some(other) => {
            let (a, b) = (ShowShape(&first.extents), ShowShape(&other.extents));
            let message = format!("operands have parts {a} of axis {axis} and {b} of axis {}", other.axis);
            Err(Reason::Sharding(message))
        }
    };
    match op {
        Op::Alu(_) => together(),
        Op::Permute(axes) => along(axes.iter().position(|a| *a == axis).unwrap_or(axis)),
        Op::Expand(to) => {
            let new = axis + to.len() - s[0].rank();
            if to[new] == s[0].shape()[axis] { along(new) } else { Err(across("it repeats")) }
        }
        Op::Reshape(to) => match reshaped(s[0].shape(), to, first) {
            Some(split) => Ok(Some(split)),
            None => Err(across("the parts are no parts of one axis after a reshape of")),
        },
        Op::Pad(by, _) => {
            let (before, after) = &by[axis];
            let mut split = first.clone();
            if let [first, ..] = &mut split.extents[..] {
                *first = before + &*first;
            }
            if let [.., last] = &mut split.extents[..] {
                *last = &*last + after;
            }
            Ok(Some(split))
        }
        Op::Shrink(to) if to[axis].0 == Size::ZERO && to[axis].1 == s[0].shape()[axis] => same(),
        Op::Shrink(to) => match (to[axis].0.as_usize(), to[axis].1.as_usize(), first.counts()) {
            (Some(from), Some(to), Some(counts)) => {
                let mut start = 0;
                let kept = |count: usize| {
                    let part = start..start + count;
                    start = part.end;
                    Size::from(part.end.min(to).saturating_sub(part.start.max(from)))
                };
                Ok(Some(Split { axis, extents: counts.into_iter().map(kept).collect() }))
            }
            _ => Err(across("a symbolic part of")),
        },
        Op::Flip(axes) if axes.contains(&axis) => Err(across("it reverses")),
        Op::Window(over, ..) if *over == axis => Err(across("windows over")),
        Op::Reduce(by, axes) if axes.contains(&axis) => match by.alu() {
            Some(_) => Ok(None),
            None => Err(across("it looks for positions along")),
        },
        Op::Reduce(_, axes) => along(axis - axes.iter().filter(|a| **a < axis).count()),
        Op::Scan(_, over, _) if *over == axis => Err(across("it scans")),
        Op::Sort(over, ..) | Op::ArgSort(over, ..) if *over == axis => Err(across("it orders")),
        Op::Concat(over, _) if *over == axis => Err(across("it joins parts along")),
        Op::Concat(..) => together(),
        Op::Stack(over, _) => Ok(together()?.map(|split| split.along(split.axis + usize::from(*over <= split.axis)))),
        Op::Take(over) => match (splits[0], splits[1]) {
            (Some(_), Some(_)) => Err(Reason::Sharding("both the source and the indices are in parts".into())),
            (None, _) => along(over + axis),
            _ if axis == *over => Err(across("it picks from")),
            _ if axis < *over => same(),
            _ => along(axis + s[1].rank() - 1),
        },
        Op::Gather(over) | Op::Scatter(over, _) => {
            let found = together()?;
            let source_moves = axis == *over && (splits[0].is_some() || matches!(op, Op::Scatter(..)));
            if source_moves {
                return Err(across("it picks positions of"));
            }
            match axis == *over || s[0].shape()[axis] == s[1].shape()[axis] {
                true => Ok(found),
                false => Err(across("the indices do not cover")),
            }
        }
        _ => same(),
    }
}

/// The parts of a value in row-major order under other extents: those of the axis before which as many
/// elements lie, where each part is whole rows of it.
pub(super) fn reshaped(from: &[Size], to: &[Size], split: &Split) -> Option<Split> {
    let product = |shape: &[Size]| shape.iter().product::<Size>();
    let (before, inner) = (product(&from[..split.axis]), product(&from[split.axis + 1..]));
    // No element lies before any axis of an empty value: only the parts tell which one is cut.
    let is_empty = from.contains(&Size::ZERO);
    (0..to.len()).find_map(|axis| {
        if product(&to[..axis]) != before {
            return None;
        }
        let rest = product(&to[axis + 1..]);
        let rows = |n: &Size| {
            let elements = n * &inner;
            Some(elements.floordiv(&rest)).filter(|rows| rows.fault().is_none() && rows * &rest == elements)
        };
        let found = match rest == inner {
            true => split.along(axis),
            false => Split { axis, extents: split.extents.iter().map(rows).collect::<Option<_>>()? },
        };
        Some(found).filter(|found| !is_empty || found.extent() == to[axis])
    })
}
