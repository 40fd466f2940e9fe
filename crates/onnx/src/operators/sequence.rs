//! Sequences, and values that may not be there.

use svod_dtype::DType;
use svod_tensor::{Size, Tensor};

use super::{Row, row};
use crate::call::{Call, Outcome, invalid, one};
use crate::error::Fault;
use crate::interpret;
use crate::value::{Sizes, Value};

pub(super) const ROWS: &[Row] = &[
    row("ConcatFromSequence", 11, joined),
    row("Optional", 15, |c| Ok(vec![c.inputs.first().cloned().flatten().unwrap_or(Value::Nothing)])),
    row("OptionalGetElement", 15, |c| match c.value(0)? {
        Value::Nothing => invalid("the optional has no element"),
        value => one(value.clone()),
    }),
    row("OptionalHasElement", 15, |c| {
        let has = !matches!(c.inputs.first().cloned().flatten(), None | Some(Value::Nothing));
        one(Tensor::scalar(has, Some(DType::Bool))?)
    }),
    row("SequenceAt", 11, |c| {
        let all = sequence(c, 0)?;
        let at = position(c, 1, all.len())?;
        match all.get(at) {
            Some(value) => one(value.clone()),
            None => invalid(format!("position {at} in a sequence of {}", all.len())),
        }
    }),
    row("SequenceConstruct", 11, |c| {
        one(Value::Sequence((0..c.inputs.len()).map(|at| c.value(at).cloned()).collect::<Result<_, _>>()?))
    }),
    row("SequenceEmpty", 11, |_| one(Value::Sequence(Vec::new()))),
    row("SequenceErase", 11, |c| {
        let mut all = sequence(c, 0)?;
        let at = if c.has(1) { position(c, 1, all.len())? } else { all.len().saturating_sub(1) };
        if at >= all.len() {
            return invalid(format!("position {at} in a sequence of {}", all.len()));
        }
        all.remove(at);
        one(Value::Sequence(all))
    }),
    row("SequenceInsert", 11, |c| {
        let mut all = sequence(c, 0)?;
        let at = if c.has(2) { position(c, 2, all.len())? } else { all.len() };
        if at > all.len() {
            return invalid(format!("position {at} in a sequence of {}", all.len()));
        }
        all.insert(at, c.value(1)?.clone());
        one(Value::Sequence(all))
    }),
    row("SequenceLength", 11, |c| one(Sizes::scalar((sequence(c, 0)?.len() as i64).into()))),
    row("SequenceMap", 17, mapped),
    row("SplitToSequence", 11, split),
];

fn sequence(c: &Call<'_>, at: usize) -> Result<Vec<Value>, Fault> {
    match c.value(at)? {
        Value::Sequence(all) => Ok(all.clone()),
        _ => invalid(format!("operand {at} should be a sequence")),
    }
}

/// A position in a sequence, counted from its end where it is negative.
fn position(c: &Call<'_>, at: usize, count: usize) -> Result<usize, Fault> {
    let [number] = c.numbers(at)?[..] else { return invalid("a position should be one number") };
    let from_front = if number < 0 { number + count as i64 } else { number };
    usize::try_from(from_front).map_err(|_| Fault::Invalid(format!("position {number} in a sequence of {count}")))
}

fn joined(c: &Call<'_>) -> Outcome {
    let all = sequence(c, 0)?.iter().map(Value::tensor).collect::<Result<Vec<_>, _>>()?;
    let (all, axis) = (all.iter().collect::<Vec<_>>(), c.int("axis", 0)?);
    one(if c.flag("new_axis", false)? { Tensor::stack(&all, axis)? } else { Tensor::cat(&all, axis)? })
}

fn split(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let axis = c.axis("axis", 0, x.rank())? as i64;
    let parts = if c.has(1) {
        let sizes = c.sizes(1)?;
        match (sizes.is_vector, &sizes.elements[..]) {
            (false, [each]) => x.split_every(each.clone(), axis)?,
            _ => x.split(&sizes.elements, axis)?,
        }
    } else {
        x.split_every(Size::ONE, axis)?
    };
    let squeezes = !c.has(1) && !c.flag("keepdims", true)?;
    let parts = parts.into_iter().map(|part| if squeezes { part.squeeze(Some(&[axis])) } else { Ok(part) });
    one(Value::Sequence(parts.map(|part| part.map(Value::from)).collect::<svod_tensor::Result<_>>()?))
}

/// A graph applied to each element of a sequence, and to those of other sequences beside it.
fn mapped(c: &Call<'_>) -> Outcome {
    let body = c.graph("body")?;
    let count = sequence(c, 0)?.len();
    let mut results = vec![Vec::with_capacity(count); body.outputs.len()];
    for at in 0..count {
        let given = (0..c.inputs.len()).map(|i| match c.value(i)? {
            Value::Sequence(all) => match all.get(at) {
                Some(value) => Ok(value.clone()),
                None => invalid("the sequences are of several lengths"),
            },
            value => Ok(value.clone()),
        });
        let given = given.collect::<Result<_, _>>()?;
        for (all, value) in results.iter_mut().zip(interpret::inside(body, given, c.scope)?) {
            all.push(value);
        }
    }
    Ok(results.into_iter().map(Value::Sequence).collect())
}
