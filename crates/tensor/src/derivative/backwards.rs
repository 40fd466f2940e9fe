//! What goes backwards through a body, be it a loop's or a branch's: from the cotangents of what it gives to those of what
//! it reads.

use svod_ir::graph::{UOp, Watch};

use super::algebra::{add, zeros};
use super::walk::{Target, Walk};
use crate::error::Result;

/// The cotangents of targets, given those of results, each with its own, of a body that reads `values`; none where nothing
/// is passed on.
///
/// # Errors
/// Operations without a derivative.
pub fn walked(given: &[(UOp, UOp)], values: &[UOp], targets: &[Target]) -> Result<Vec<Option<UOp>>> {
    // Nothing below is looked into twice.
    let ends: Vec<Target> = targets.iter().cloned().chain(values.iter().map(Target::of)).collect();
    let roots: Vec<UOp> = given.iter().map(|(root, _)| root.clone()).collect();
    let (found, _) = Walk::down_to(&roots, &ends)?.passed(given, targets)?;
    Ok(found)
}

/// What a loop backwards carries at first: the cotangents of what the loop carried at its end, where these are `given`, then
/// sums, of nothing yet.
///
/// # Errors
/// Types without a zero.
pub fn begin(given: &[Option<UOp>], sources: &[UOp], carried: &[usize], sums: &[usize]) -> Result<Vec<UOp>> {
    let of_carried = carried.iter().map(|at| match given.get(*at).and_then(Option::as_ref) {
        Some(given) => there(given.clone(), &sources[*at]),
        None => zeros_there(&sources[*at]),
    });
    of_carried.chain(sums.iter().map(|at| zeros_there(&sources[*at]))).collect()
}

/// What it carries further, by what an iteration has found for each: so many cotangents, then sums.
///
/// # Errors
/// Types without a zero.
pub fn further(found: &mut dyn Iterator<Item = Option<UOp>>, now: &[UOp], carried: usize) -> Result<Vec<UOp>> {
    let (cotangents, sums) = now.split_at(carried);
    let mut next = Vec::with_capacity(now.len());
    for before in cotangents {
        next.push(found.next().flatten().map_or_else(|| zeros_there(before), Ok)?);
    }
    for before in sums {
        next.push(match found.next().flatten() {
            Some(part) => add(before, &part)?,
            None => before.clone(),
        });
    }
    Ok(next)
}

/// The value as a variable of its own, which is a target.
///
/// # Errors
/// Values that cannot be watched.
pub fn marked(value: &UOp, targets: &mut Vec<Target>) -> Result<UOp> {
    let value = value.watch(&Watch::new(None))?;
    targets.push(Target::of(&value));
    Ok(value)
}

/// Zeros of a value's type and shape, and where it is.
///
/// # Errors
/// Types without a zero.
pub fn zeros_there(like: &UOp) -> Result<UOp> {
    there(zeros(like)?, like)
}

/// A value, where another one is if it is on no device.
///
/// # Errors
/// Those of a copy.
pub fn there(value: UOp, like: &UOp) -> Result<UOp> {
    Ok(match like.device().filter(|_| value.place().is_none()) {
        Some(device) => value.copy_to(device)?,
        None => value,
    })
}
