//! Branches and loops. What is known of a condition and of a number of iterations while the graph is built decides there: short
//! loops are unrolled. What is not known, and a long loop, is a step of the plan, where values keep their types and shapes; else
//! the elements are asked for.

use svod_tensor::{Size, Tensor, Trace};

use super::{Row, row};
use crate::call::{Call, Outcome, axis_of, invalid, unsupported};
use crate::error::Fault;
use crate::interpret;
use crate::value::{Sizes, Value};

pub(super) const ROWS: &[Row] = &[row("If", 1, branch), row("Loop", 1, repeated), row("Scan", 9, scan)];

/// The most iterations that a loop is unrolled into.
const MOST_UNROLLED: usize = 10_000;

/// Iterations up to which a loop of a known number is unrolled.
pub(super) const SHORT: i64 = 8;

/// After so many iterations a loop outside of a trace computes what it carries.
const COMPUTED_EVERY: usize = 64;

fn branch(c: &Call<'_>) -> Outcome {
    if let Some(results) = branch_of_a_run(c)? {
        return Ok(results);
    }
    let taken = if truth(c.value(0)?)? { "then_branch" } else { "else_branch" };
    Ok(interpret::inside(c.graph(taken)?, Vec::new(), c.scope)?)
}

/// A branch whose condition a run decides; none where it is known, or the branches give values of other types or shapes.
fn branch_of_a_run(c: &Call<'_>) -> Result<Option<Vec<Value>>, Fault> {
    let Value::Tensor(condition) = c.value(0)? else { return Ok(None) };
    if condition.traced_from().is_none() {
        return Ok(None);
    }
    let (taken, other) = (c.graph("then_branch")?, c.graph("else_branch")?);
    let results = |graph| -> Result<Vec<Tensor>, Fault> {
        interpret::inside(graph, Vec::new(), c.scope)?.iter().map(Value::tensor).collect()
    };
    let found = Tensor::cond(condition, &[], |_| results(taken), |_| results(other));
    Ok(found.ok().map(values))
}

fn values(tensors: Vec<Tensor>) -> Vec<Value> {
    tensors.into_iter().map(Value::Tensor).collect()
}

fn truth(value: &Value) -> Result<bool, Fault> {
    Ok(value.tensor()?.reshape::<i64>(&[])?.truth()?)
}

fn repeated(c: &Call<'_>) -> Outcome {
    let begins = begins(c)?;
    if begins != Some(false)
        && let Some(results) = loop_of_a_run(c, begins == Some(true))?
    {
        return Ok(results);
    }
    let body = c.graph("body")?;
    let most = match c.maybe_numbers(0)? {
        Some(most) => most.first().copied().unwrap_or(0),
        None => i64::MAX,
    };
    let mut goes_on = match begins {
        Some(begins) => begins,
        None => truth(c.value(1)?)?,
    };
    let mut carried: Vec<Value> = (2..c.inputs.len()).map(|at| c.value(at).cloned()).collect::<Result<_, _>>()?;
    let Some(scanned) = body.outputs.len().checked_sub(1 + carried.len()) else {
        return invalid("the body gives fewer values than are carried");
    };
    let mut columns: Vec<Vec<Tensor>> = vec![Vec::new(); scanned];
    let mut number = 0;
    while goes_on && number < most {
        if number as usize >= MOST_UNROLLED {
            return unsupported(format!("a loop of more than {MOST_UNROLLED} iterations"));
        }
        let inputs = [Sizes::scalar(number.into()).into(), Value::Tensor(Tensor::scalar(true, None)?)];
        let mut results = interpret::inside(body, inputs.into_iter().chain(carried).collect(), c.scope)?;
        let scans = results.split_off(results.len() - scanned);
        carried = results.split_off(1);
        goes_on = truth(&results[0])?;
        for (column, value) in columns.iter_mut().zip(scans) {
            column.push(value.tensor()?);
        }
        number += 1;
        if !Trace::is_active() && (number as usize).is_multiple_of(COMPUTED_EVERY) {
            let tensors = carried.iter().filter_map(|value| if let Value::Tensor(t) = value { Some(t) } else { None });
            Tensor::realize_batch(&tensors.collect::<Vec<_>>())?;
        }
    }
    if number == 0 && scanned > 0 {
        let inputs = [Sizes::scalar(Size::ZERO).into(), Value::Tensor(Tensor::scalar(true, None)?)];
        let mut first = interpret::inside(body, inputs.into_iter().chain(carried.clone()).collect(), c.scope)?;
        for row in first.split_off(first.len() - scanned) {
            carried.push(none_of(&row.tensor()?, 0)?.into());
        }
        return Ok(carried);
    }
    for column in columns {
        carried.push(Tensor::stack(&column.iter().collect::<Vec<_>>(), 0)?.into());
    }
    Ok(carried)
}

/// No rows of such a row, along an axis of the result.
fn none_of(row: &Tensor, axis: usize) -> Result<Tensor, Fault> {
    let mut shape = row.shape();
    if axis > shape.len() {
        return invalid(format!("axis {axis} is out of range for rank {}", shape.len() + 1));
    }
    shape.insert(axis, Size::ZERO);
    Ok(Tensor::zeros(&shape, row.dtype())?)
}

/// Whether a loop has a first iteration, as far as its condition goes; none where a run decides.
fn begins(c: &Call<'_>) -> Result<Option<bool>, Fault> {
    if !c.has(1) {
        return Ok(Some(true));
    }
    let given = c.value(1)?.tensor()?;
    if given.traced_from().is_some() { Ok(None) } else { Ok(Some(truth(&given.into())?)) }
}

/// A loop as a step of the plan; none where it is short, or its values change their types or shapes. It `begins` where that
/// is known.
fn loop_of_a_run(c: &Call<'_>, begins: bool) -> Result<Option<Vec<Value>>, Fault> {
    let body = c.graph("body")?;
    let most = match c.has(0) {
        true => c.value(0)?.known_sizes().and_then(|sizes| sizes.elements.into_iter().next()),
        false => None,
    };
    let is_short = most.as_ref().and_then(Size::as_const).is_some_and(|most| most <= SHORT);
    // Sequences and optionals are carried from one iteration to the next, but not in a plan.
    let carried = (2..c.inputs.len()).map(|at| c.value(at)?.tensor()).collect::<Result<Vec<_>, Fault>>();
    let Ok(carried) = carried else { return Ok(None) };
    let Some(scanned) = body.outputs.len().checked_sub(1 + carried.len()) else { return Ok(None) };
    let always = Tensor::scalar(true, None)?;
    let goes_on = if c.has(1) { c.value(1)?.tensor()? } else { always.clone() };
    if is_short && begins {
        return Ok(None);
    }
    // A number of iterations that is known when a run begins, of a body that always goes on.
    if let (Some(most), true) = (&most, begins) {
        let init: Vec<&Tensor> = carried.iter().collect();
        let found = Tensor::scan_over(&init, &[], most.clone(), false, &[], |at, now, _| {
            let inputs = [Sizes::scalar(at).into(), Value::Tensor(always.clone())];
            let mut results = interpret::inside(body, inputs.into_iter().chain(values(now)).collect(), c.scope)?;
            let goes_on = results.remove(0).tensor()?;
            if goes_on.traced_from().is_some() || !truth(&goes_on.into())? {
                return unsupported("a loop that may end before");
            }
            let mut results = results.iter().map(Value::tensor).collect::<Result<Vec<_>, Fault>>()?;
            let rows = results.split_off(init.len());
            Ok((results, rows))
        });
        if let Ok((last, rows)) = found {
            return Ok(Some(values(last.into_iter().chain(rows).collect())));
        }
    }
    if scanned > 0 || !Trace::is_active() {
        return Ok(None);
    }
    let most = match (most, c.has(0)) {
        (Some(most), _) => Some(Tensor::from_size(most)?),
        (None, true) => Some(c.value(0)?.tensor()?.reshape::<i64>(&[])?),
        (None, false) => None,
    };
    let number = Tensor::scalar(0i64, None)?;
    let goes_on = goes_on.reshape::<i64>(&[])?;
    let init: Vec<&Tensor> = [&number, &goes_on].into_iter().chain(&carried).collect();
    let condition = |now: Vec<Tensor>| -> Result<Tensor, Fault> {
        Ok(match &most {
            Some(most) => now[1].bitwise_and(&now[0].lt(most)?)?,
            None => now[1].clone(),
        })
    };
    let found = Tensor::while_loop(&init, &[], condition, |now| {
        let mut next = vec![now[0].add(1)?];
        for (at, value) in interpret::inside(body, values(now), c.scope)?.iter().enumerate() {
            next.push(if at == 0 { value.tensor()?.reshape::<i64>(&[])? } else { value.tensor()? });
        }
        Ok::<_, Fault>(next)
    });
    Ok(found.ok().map(|mut found| values(found.split_off(2))))
}

fn scan(c: &Call<'_>) -> Outcome {
    let body = c.graph("body")?;
    let count = c.int("num_scan_inputs", 1)?;
    let Some(states) = usize::try_from(count).ok().and_then(|n| c.inputs.len().checked_sub(n)) else {
        return invalid(format!("num_scan_inputs is {count}"));
    };
    let inputs = (states..c.inputs.len()).map(|at| c.tensor(at)).collect::<Result<Vec<_>, _>>()?;
    let list = |name: &str, count: usize| -> Result<Vec<i64>, Fault> {
        let given = c.ints(name)?.unwrap_or_else(|| vec![0; count]);
        if given.len() == count {
            Ok(given)
        } else {
            invalid(format!("attribute '{name}' should have {count} integers"))
        }
    };
    let (axes, directions) = (list("scan_input_axes", inputs.len())?, list("scan_input_directions", inputs.len())?);
    let mut along = Vec::with_capacity(inputs.len());
    let mut length: Option<Size> = None;
    for (input, axis) in inputs.iter().zip(axes) {
        let axis = axis_of(axis, input.rank())?;
        let extent = input.shape()[axis].clone();
        if *length.get_or_insert_with(|| extent.clone()) != extent {
            return invalid("what is scanned is of several lengths");
        }
        along.push(axis);
    }
    let length = length.unwrap_or(Size::ZERO);
    let mut carried: Vec<Value> = (0..states).map(|at| c.value(at).cloned()).collect::<Result<_, _>>()?;
    let Some(scanned) = body.outputs.len().checked_sub(states) else {
        return invalid("the body gives fewer values than are carried");
    };
    let (result_axes, result_directions) =
        (list("scan_output_axes", scanned)?, list("scan_output_directions", scanned)?);
    if length.as_const().is_none_or(|length| length > SHORT) {
        let mut rows = Vec::with_capacity(inputs.len());
        for ((input, axis), direction) in inputs.iter().zip(&along).zip(&directions) {
            let moved = input.movedim(*axis as i64, 0)?;
            rows.push(if *direction == 0 { moved } else { moved.flip(Some(&[0]))? });
        }
        let init = carried.iter().map(Value::tensor).collect::<Result<Vec<_>, Fault>>()?;
        let (init, rows): (Vec<&Tensor>, Vec<&Tensor>) = (init.iter().collect(), rows.iter().collect());
        let found = Tensor::scan_over(&init, &rows, length.clone(), false, &[], |_, now, rows| {
            let results = interpret::inside(body, values(now.into_iter().chain(rows).collect()), c.scope)?;
            let mut next = results.iter().map(Value::tensor).collect::<Result<Vec<_>, Fault>>()?;
            let rows = next.split_off(states);
            Ok::<_, Fault>((next, rows))
        });
        if let Ok((last, stacked)) = found {
            let mut results = last;
            for ((stacked, axis), direction) in stacked.into_iter().zip(&result_axes).zip(&result_directions) {
                let stacked = if *direction == 0 { stacked } else { stacked.flip(Some(&[0]))? };
                results.push(stacked.movedim(0, *axis)?);
            }
            return Ok(values(results));
        }
    }
    let Some(length) = length.as_const() else { return unsupported("a scan of symbolic length whose state changes") };
    if length as usize > MOST_UNROLLED {
        return unsupported(format!("a scan of more than {MOST_UNROLLED} elements"));
    }
    if length == 0 && scanned > 0 {
        let mut given = carried.clone();
        for (input, axis) in inputs.iter().zip(&along) {
            let mut shape = input.shape();
            shape.remove(*axis);
            given.push(Tensor::zeros(&shape, input.dtype())?.into());
        }
        for (row, axis) in interpret::inside(body, given, c.scope)?.split_off(states).iter().zip(result_axes) {
            let row = row.tensor()?;
            carried.push(none_of(&row, axis_of(axis, row.rank() + 1)?)?.into());
        }
        return Ok(carried);
    }
    let mut columns: Vec<Vec<Tensor>> = vec![Vec::new(); scanned];
    for step in 0..length {
        let mut given = carried;
        for ((input, axis), direction) in inputs.iter().zip(&along).zip(&directions) {
            let at = if *direction == 0 { step } else { length - 1 - step };
            let axis = *axis as i64;
            given.push(input.narrow(axis, at, 1)?.squeeze(Some(&[axis]))?.into());
        }
        carried = interpret::inside(body, given, c.scope)?;
        for (column, value) in columns.iter_mut().zip(carried.split_off(states)) {
            column.push(value.tensor()?);
        }
    }
    for ((mut column, axis), direction) in columns.into_iter().zip(result_axes).zip(result_directions) {
        if direction != 0 {
            column.reverse();
        }
        carried.push(Tensor::stack(&column.iter().collect::<Vec<_>>(), axis)?.into());
    }
    Ok(carried)
}
