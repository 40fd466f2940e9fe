//! Kernels that only put whole parameters one after the other: what a stack of steps is.
//!
//! Where the parameters are intermediates, these can be made where they end up, and the kernel need not run.

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem};
use svod_ir::kernel::{Body, Kernel, Out};
use svod_ir::size::{Size, Variable};

use crate::costs::limits::kernels::MAX_COUNTED;

/// A parameter that a kernel puts into its result as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The parameter.
    pub param: usize,
    /// Where it begins in the result, in elements.
    pub at: usize,
}

/// The parameters that a kernel joins along the first axis of its one result, of which nothing else is made; none of any
/// other kernel.
pub fn joined(kernel: &Kernel) -> Option<Vec<Joined>> {
    let [stage] = &kernel.stages[..] else { return None };
    let (Body::Map(values), [Out::Param { param: written, index }]) = (&stage.body, &stage.outs[..]) else {
        return None;
    };
    let [value] = values[..] else { return None };
    if !matches!(kernel.exprs.get(value), Expr::Alu(Alu::Where, _)) || !kernel.vars.is_empty() {
        return None;
    }
    let extents =
        |param: usize| -> Option<Vec<i64>> { kernel.params[param].shape.iter().map(Size::as_const).collect() };
    let shape = extents(written.index())?;
    let axes: Vec<&Variable> = stage.over.iter().map(|axis| &kernel.axes[axis.index()].var).collect();
    let own = |(at, axis): (&ExprId, &&Variable)| *kernel.exprs.get(*at) == Expr::Index(Size::from(*axis));
    let rows = usize::try_from(*shape.first()?).ok()?;
    if axes.len() != shape.len()
        || !index.iter().zip(&axes).all(own)
        || rows.saturating_mul(kernel.exprs.len()) > MAX_COUNTED as usize / 8
    {
        return None;
    }
    let row: i64 = shape[1..].iter().product();
    let mut parts: Vec<(Joined, i64)> = Vec::new();
    for at in 0..rows as i64 {
        let here = |size: &Size| size.substitute(&|v| (v == axes[0]).then(|| Size::from(at)));
        let (param, offset) = read(&kernel.exprs, value, &here, &|param| extents(param))?;
        let place =
            flat(&index.iter().map(|i| index_of(&kernel.exprs, *i, &here)).collect::<Option<Vec<_>>>()?, &shape);
        let begins = (&place - &offset).as_const().and_then(|begins| usize::try_from(begins).ok())?;
        if kernel.params[param].dtype != kernel.params[written.index()].dtype || param == written.index() {
            return None;
        }
        match parts.iter_mut().find(|(part, _)| part.param == param) {
            Some((part, rows)) if part.at == begins => *rows += 1,
            Some(_) => return None,
            None => parts.push((Joined { param, at: begins }, 1)),
        }
    }
    // All of each parameter is there.
    let whole =
        |(part, rows): &(Joined, i64)| extents(part.param).is_some_and(|n| n.iter().product::<i64>() == rows * row);
    (row > 0 && parts.len() > 1 && parts.iter().all(whole)).then(|| parts.into_iter().map(|(part, _)| part).collect())
}

/// An index in a row.
fn index_of(exprs: &ExprPool, index: ExprId, here: &dyn Fn(&Size) -> Size) -> Option<Size> {
    match exprs.get(index) {
        Expr::Index(size) => Some(here(size)),
        _ => None,
    }
}

/// The position of an index in memory.
fn flat(index: &[Size], shape: &[i64]) -> Size {
    index.iter().zip(shape).fold(Size::ZERO, |at, (i, extent)| &(&at * *extent) + i)
}

/// The parameter, and where in it, that a value is in a row: conditions there have to be known.
fn read(
    exprs: &ExprPool,
    value: ExprId,
    here: &dyn Fn(&Size) -> Size,
    extents: &dyn Fn(usize) -> Option<Vec<i64>>,
) -> Option<(usize, Size)> {
    let known = known(exprs, value, here);
    let holds = |condition: ExprId| known[condition.index()].map(Const::as_bool);
    let mut value = value;
    while let Expr::Alu(Alu::Where, operands) = exprs.get(value) {
        value = if holds(operands[0])? { operands[1] } else { operands[2] };
    }
    let Expr::Load { from: Mem::Param(param), index, valid, .. } = exprs.get(value) else { return None };
    if !valid.map_or(Some(true), holds)? {
        return None;
    }
    let at = index.iter().map(|i| index_of(exprs, *i, here)).collect::<Option<Vec<_>>>()?;
    Some((param.index(), flat(&at, &extents(param.index())?)))
}

/// The values, in a row, of the expressions that need nothing else, up to one.
fn known(exprs: &ExprPool, last: ExprId, here: &dyn Fn(&Size) -> Size) -> Vec<Option<Const>> {
    let mut known: Vec<Option<Const>> = Vec::with_capacity(last.index() + 1);
    for (_, expr) in exprs.iter().take(last.index() + 1) {
        let found = match expr {
            Expr::Const(value) => Some(*value),
            Expr::Index(size) => here(size).as_const().map(|at| Const::i64(DType::Index, at)),
            Expr::Alu(op, operands) => {
                let operands: Option<Vec<Const>> = operands.iter().map(|operand| known[operand.index()]).collect();
                operands.and_then(|operands| op.eval(&operands))
            }
            _ => None,
        };
        known.push(found);
    }
    known
}
