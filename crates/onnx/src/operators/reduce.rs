//! Folds and scans along axes, and orders.

use svod_dtype::DType;
use svod_tensor::{Result, Running, Size, Tensor};

use super::elementwise::in_f32;
use super::{Row, row};
use crate::call::{Call, Outcome, axis_of, extents, invalid, one};

pub(super) const ROWS: &[Row] = &[
    row("ArgMax", 11, |c| best(c, Tensor::argmax)),
    row("ArgMin", 11, |c| best(c, Tensor::argmin)),
    row("CumProd", 26, |c| scanned(c, Tensor::cumprod_of)),
    row("CumSum", 11, |c| scanned(c, Tensor::cumsum_of)),
    row("ReduceL1", 1, |c| reduced(c, |x, axes| in_f32(x, |x| x.abs()?.sum(axes, true)))),
    row("ReduceL2", 1, |c| reduced(c, |x, axes| in_f32(x, |x| x.square()?.sum(axes, true)?.sqrt()))),
    row("ReduceLogSum", 1, |c| reduced(c, |x, axes| in_f32(x, |x| x.sum(axes, true)?.log()))),
    row("ReduceLogSumExp", 1, |c| reduced(c, |x, axes| in_f32(x, |x| x.logsumexp(axes, true)))),
    row("ReduceMax", 1, |c| reduced(c, |x, axes| x.max(axes, true))),
    row("ReduceMean", 1, |c| reduced(c, |x, axes| x.mean(axes, true))),
    row("ReduceMin", 1, |c| reduced(c, |x, axes| x.min(axes, true))),
    row("ReduceProd", 1, |c| reduced(c, |x, axes| x.prod(axes, true))),
    row("ReduceSum", 1, |c| reduced(c, |x, axes| x.sum(axes, true))),
    row("ReduceSumSquare", 1, |c| reduced(c, |x, axes| in_f32(x, |x| x.square()?.sum(axes, true)))),
    row("TopK", 10, top),
];

/// Folds along the axes of a node, all if it names none, unless it is to leave the operand then.
fn reduced(c: &Call<'_>, f: impl FnOnce(&Tensor, Option<&[i64]>) -> Result<Tensor>) -> Outcome {
    let (x, axes) = (c.tensor(0)?, c.axes(1)?.filter(|axes| !axes.is_empty()));
    let dtype = x.dtype();
    let folded = match &axes {
        None if c.flag("noop_with_empty_axes", false)? => f(&x, Some(&[]))?,
        // An empty fold of what is greatest has a value, unlike svod's.
        axes => match empty_extreme(c, &x, axes.as_deref())? {
            Some(value) => value,
            None => f(&x, axes.as_deref())?,
        },
    };
    let folded = folded.cast(dtype)?;
    if c.flag("keepdims", true)? {
        return one(folded);
    }
    match (axes, c.flag("noop_with_empty_axes", false)?) {
        (None, true) => one(folded),
        (None, false) => one(folded.reshape::<i64>(&[])?),
        (Some(axes), _) => one(folded.squeeze(Some(&axes))?),
    }
}

/// The fold of no elements by `ReduceMax` and `ReduceMin`: the least and the greatest value of the type.
fn empty_extreme(c: &Call<'_>, x: &Tensor, axes: Option<&[i64]>) -> Result<Option<Tensor>, crate::error::Fault> {
    let is_max = match c.node.op.as_str() {
        "ReduceMax" => true,
        "ReduceMin" => false,
        _ => return Ok(None),
    };
    let mut shape = x.shape();
    let all: Vec<i64> = (0..shape.len() as i64).collect();
    let mut is_empty = false;
    for axis in axes.unwrap_or(&all) {
        let at = axis_of(*axis, shape.len())?;
        is_empty |= shape[at] == Size::ZERO;
        shape[at] = Size::ONE;
    }
    let dtype = x.dtype();
    let value = if is_max { svod_dtype::Const::min_value(dtype) } else { svod_dtype::Const::max_value(dtype) };
    Ok(if is_empty { Some(Tensor::constant(value)?.expand(&shape)?) } else { None })
}

type Arg = fn(&Tensor, Option<i64>, bool) -> Result<Tensor>;

fn best(c: &Call<'_>, f: Arg) -> Outcome {
    let x = c.tensor(0)?;
    let axis = axis_of(c.int("axis", 0)?, x.rank())? as i64;
    let keep = c.flag("keepdims", true)?;
    if !c.flag("select_last_index", false)? {
        return one(f(&x, Some(axis), keep)?);
    }
    let from_end = f(&x.flip(Some(&[axis]))?, Some(axis), keep)?;
    one(from_end.rsub(x.shape()[axis as usize].clone() - 1)?)
}

/// A scan along the axis that operand 1 names; `exclusive` begins with `neutral` and leaves the last out.
fn scanned(c: &Call<'_>, f: fn(&Tensor, i64, Running) -> Result<Tensor>) -> Outcome {
    let x = c.tensor(0)?;
    let [axis] = c.numbers(1)?[..] else { return invalid("operand 1 should be one axis") };
    let axis = axis_of(axis, x.rank())?;
    let dtype = x.dtype();
    let how = Running { exclusive: c.flag("exclusive", false)?, reverse: c.flag("reverse", false)? };
    one(f(&x, axis as i64, how)?.cast(dtype)?)
}

fn top(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let [k] = &c.sizes(1)?.elements[..] else { return invalid("operand 1 should be one number") };
    let axis = axis_of(c.int("axis", -1)?, x.rank())?;
    extents(&x)?;
    let (values, positions) = x.topk(k.clone(), axis as i64, c.flag("largest", true)?)?;
    Ok(vec![values.into(), positions.cast(DType::I64)?.into()])
}
