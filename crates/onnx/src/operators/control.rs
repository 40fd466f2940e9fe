//! Branches and loops. A condition and a number of iterations are looked at while the graph is built: loops are unrolled.

use svod_tensor::{Tensor, Trace};

use super::{Row, row};
use crate::call::{Call, Outcome, axis_of, invalid, unsupported};
use crate::error::Fault;
use crate::interpret;
use crate::value::{Sizes, Value};

pub(super) const ROWS: &[Row] = &[row("If", 1, branch), row("Loop", 1, repeated), row("Scan", 9, scan)];

/// The most iterations that a loop is unrolled into.
const MOST_UNROLLED: usize = 10_000;

/// After so many iterations a loop outside of a trace computes what it carries.
const COMPUTED_EVERY: usize = 64;

fn branch(c: &Call<'_>) -> Outcome {
    let taken = if truth(c.value(0)?)? { "then_branch" } else { "else_branch" };
    Ok(interpret::inside(c.graph(taken)?, Vec::new(), c.scope)?)
}

fn truth(value: &Value) -> Result<bool, Fault> {
    Ok(value.tensor()?.reshape::<i64>(&[])?.truth()?)
}

fn repeated(c: &Call<'_>) -> Outcome {
    let body = c.graph("body")?;
    let most = match c.maybe_numbers(0)? {
        Some(most) => most.first().copied().unwrap_or(0),
        None => i64::MAX,
    };
    let mut goes_on = if c.has(1) { truth(c.value(1)?)? } else { true };
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
    for column in columns {
        if column.is_empty() {
            return unsupported("a result of a loop without iterations");
        }
        carried.push(Tensor::stack(&column.iter().collect::<Vec<_>>(), 0)?.into());
    }
    Ok(carried)
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
    let mut length = None;
    for (input, axis) in inputs.iter().zip(axes) {
        let axis = axis_of(axis, input.rank())?;
        let Some(extent) = input.shape()[axis].as_const() else { return unsupported("a scan of symbolic length") };
        if *length.get_or_insert(extent) != extent {
            return invalid("what is scanned is of several lengths");
        }
        along.push(axis);
    }
    let length = length.unwrap_or(0);
    if length as usize > MOST_UNROLLED {
        return unsupported(format!("a scan of more than {MOST_UNROLLED} elements"));
    }
    let mut carried: Vec<Value> = (0..states).map(|at| c.value(at).cloned()).collect::<Result<_, _>>()?;
    let Some(scanned) = body.outputs.len().checked_sub(states) else {
        return invalid("the body gives fewer values than are carried");
    };
    let (result_axes, result_directions) =
        (list("scan_output_axes", scanned)?, list("scan_output_directions", scanned)?);
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
        if column.is_empty() {
            return unsupported("a result of a scan of no elements");
        }
        if direction != 0 {
            column.reverse();
        }
        carried.push(Tensor::stack(&column.iter().collect::<Vec<_>>(), axis)?.into());
    }
    Ok(carried)
}
