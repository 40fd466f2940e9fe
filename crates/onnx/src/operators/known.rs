//! Integers that are known up to variables: what shapes are computed with stays numbers, and no tensor is made of it.

use std::cmp::Ordering;

use svod_dtype::DType;
use svod_tensor::Size;

use crate::call::Call;
use crate::error::Fault;
use crate::value::{Sizes, Value};

/// The result of a node all of whose operands are known integers, if it is one itself; else its rule is to be asked.
pub(crate) fn apply(call: &Call<'_>) -> Result<Option<Sizes>, Fault> {
    if !call.inputs.iter().flatten().any(|value| matches!(value, Value::Sizes(_))) {
        return Ok(None);
    }
    let own: Option<Vec<Sizes>> = call.inputs.iter().map(|v| v.as_ref()?.known_sizes()).collect();
    let Some(own) = own else { return Ok(None) };
    Ok(match (call.node.op.as_str(), own.as_slice()) {
        ("Identity", [x]) => Some(x.clone()),
        ("Cast", [x]) if call.dtype("to")? == Some(DType::I64) => Some(x.clone()),
        ("Add", [a, b]) => binary(a, b, |a, b| Some(a + b)),
        ("Sub", [a, b]) => binary(a, b, |a, b| Some(a - b)),
        ("Mul", [a, b]) => binary(a, b, |a, b| Some(a * b)),
        ("Div", [a, b]) => binary(a, b, quotient),
        ("Mod", [a, b]) if call.int("fmod", 0)? == 0 => binary(a, b, remainder),
        ("Max", [a, b]) => binary(a, b, |a, b| Some(a.max(b))),
        ("Min", [a, b]) => binary(a, b, |a, b| Some(a.min(b))),
        ("Neg", [x]) => Some(Sizes { elements: x.elements.iter().map(|n| Size::ZERO - n).collect(), ..*x }),
        ("Concat", all) if all.iter().all(|x| x.is_vector) => {
            Some(Sizes::vector(all.iter().flat_map(|x| x.elements.clone()).collect()))
        }
        ("Gather", [x, index]) if x.is_vector => gathered(x, index),
        ("Unsqueeze", [x, _]) if !x.is_vector => Some(Sizes::vector(x.elements.clone())),
        ("Squeeze", [x] | [x, _]) if x.is_vector && x.elements.len() == 1 => Some(Sizes::scalar(x.elements[0].clone())),
        ("Slice", [x, starts, ends, rest @ ..]) if x.is_vector => sliced(x, starts, ends, rest.get(1)),
        ("ReduceProd", [x]) if x.is_vector => {
            let product = x.elements.iter().fold(Size::ONE, |product, n| product * n);
            Some(Sizes { is_vector: call.flag("keepdims", true)?, elements: vec![product] })
        }
        _ => None,
    })
}

/// Element by element, a single one with all.
fn binary(a: &Sizes, b: &Sizes, f: impl Fn(&Size, &Size) -> Option<Size>) -> Option<Sizes> {
    let count = match (a.elements.len(), b.elements.len()) {
        (n, m) if n == m => n,
        (1, m) => m,
        (n, 1) => n,
        _ => return None,
    };
    let at = |x: &Sizes, i: usize| x.elements[if x.elements.len() == 1 { 0 } else { i }].clone();
    let elements = (0..count).map(|i| f(&at(a, i), &at(b, i))).collect::<Option<_>>()?;
    Some(Sizes { is_vector: a.is_vector || b.is_vector, elements })
}

/// A quotient, where no sign and no 0 needs thought.
fn quotient(a: &Size, b: &Size) -> Option<Size> {
    (a.bounds().0 >= 0 && b.bounds().0 > 0).then(|| a.floordiv(b.clone()))
}

fn remainder(a: &Size, b: &Size) -> Option<Size> {
    (a.bounds().0 >= 0 && b.bounds().0 > 0).then(|| a.modulo(b.clone()))
}

fn gathered(x: &Sizes, index: &Sizes) -> Option<Sizes> {
    let at = |i: &Size| {
        let i = i.as_const()?;
        let i = if i < 0 { i + x.elements.len() as i64 } else { i };
        x.elements.get(usize::try_from(i).ok()?).cloned()
    };
    let elements = index.elements.iter().map(at).collect::<Option<_>>()?;
    Some(Sizes { is_vector: index.is_vector, elements })
}

/// `x[start:end:step]`, all of them numbers.
fn sliced(x: &Sizes, starts: &Sizes, ends: &Sizes, steps: Option<&Sizes>) -> Option<Sizes> {
    let single = |s: &Sizes| if let [one] = &s.elements[..] { one.as_const() } else { None };
    let (start, end) = (single(starts)?, single(ends)?);
    let step = steps.map_or(Some(1), single)?;
    let count = x.elements.len() as i64;
    let clip = |i: i64, low: i64, high: i64| if i < 0 { i.saturating_add(count).max(low) } else { i.min(high) };
    let positions: Vec<i64> = match step.cmp(&0) {
        Ordering::Equal => return None,
        Ordering::Greater => {
            (clip(start, 0, count)..clip(end, 0, count)).step_by(usize::try_from(step).ok()?).collect()
        }
        Ordering::Less => {
            let (first, last) = (clip(start, -1, count - 1), clip(end, -1, count - 1));
            let step = usize::try_from(step.unsigned_abs()).ok()?;
            (last + 1..=first).rev().step_by(step).collect()
        }
    };
    Some(Sizes::vector(positions.into_iter().map(|i| x.elements[i as usize].clone()).collect()))
}
