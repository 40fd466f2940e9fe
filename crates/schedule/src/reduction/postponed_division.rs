//! Division after the sum: `sum_k (x[k] / d) * y[k]` becomes `(sum_k x[k] * y[k]) / d`.
//!
//! An equation up to rounding, where `d` does not vary with `k`. In attention it saves a pass over
//! the weights, and divides one value per column where it was one per key. The dividend is then
//! often a stage that exists already, and the quotient's own stage goes away.

use crate::kernel::rewrite::rewrite;
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, TempId};
use svod_ir::kernel::{Body, Emit, Kernel, Monoid, Out};
use svod_ir::size::{Size, Variable};

/// A factor of a sum's products that is a quotient, in a stage of its own.
struct Quotient {
    /// The stage whose value is the quotient.
    stage: usize,
    /// That value without the division.
    dividend: ExprId,
    /// `Div`, or `Mul` where the quotient is a product with a reciprocal.
    op: Alu,
    /// What it is divided by, in terms of the sum's axes.
    by: ExprId,
}

/// Postpones every such division.
pub(crate) fn postpone_divisions(mut kernel: Kernel) -> Kernel {
    let mut sum = 0;
    while sum < kernel.stages.len() {
        sum += 1;
        let Some(found) = quotient(&mut kernel, sum - 1) else { continue };
        kernel.stages[found.stage].body = Body::map(found.dividend);
        kernel = divide(kernel, sum - 1, &found);
        let Some(dividend) = kernel.stages[found.stage].body.mapped() else { continue };
        if let Expr::Load { from: from @ Mem::Temp(..), index, valid: None, .. } = kernel.exprs.get(dividend) {
            let (from, index) = (*from, index.to_vec());
            kernel = forward(kernel, found.stage, from, &index);
            sum -= 1;
        }
    }
    kernel
}

/// The sum's factor that is a quotient by what the sum does not vary with.
fn quotient(kernel: &mut Kernel, sum: usize) -> Option<Quotient> {
    let Body::Reduce { axes, carries, emit: Emit::Last, results } = &kernel.stages[sum].body else { return None };
    let ([carry], [result]) = (&carries[..], &results[..]) else { return None };
    let plain = *kernel.exprs.get(*result) == Expr::Carry(0, carry.dtype);
    if !plain || carry.op != Monoid::Sum || carry.fix.is_some() || !carry.dtype.is_float() {
        return None;
    }
    if !matches!(kernel.stages[sum].outs[..], [Out::Temp]) {
        return None;
    }
    let Expr::Alu(Alu::Mul, factors) = kernel.exprs.get(carry.element) else { return None };
    let (stage, at, range) = factors.iter().find_map(|f| {
        let (load, range) = uncast(kernel, *f);
        only_read(kernel, sum, load).map(|(stage, at)| (stage, at, range))
    })?;
    let value = kernel.stages[stage].body.mapped()?;
    let place: Vec<(Variable, Size)> =
        kernel.stages[stage].over.iter().zip(at).map(|(a, size)| (kernel.axes[a.index()].var.clone(), size)).collect();
    let inner: Vec<Variable> = axes.iter().map(|a| kernel.axes[a.index()].var.clone()).collect();
    let varies = |e: ExprId| {
        let along =
            |v: &Variable| place.iter().any(|(p, at)| p == v && at.variables().iter().any(|x| inner.contains(x)));
        kernel.exprs.variables_used(&[e]).iter().any(along)
    };
    let (quotient, narrowed) = uncast(kernel, value);
    if range.min(narrowed) < exponent_bits(kernel.exprs.dtype(quotient)) {
        return None;
    }
    let (op, dividend, by) = match kernel.exprs.get(quotient) {
        Expr::Alu(Alu::Div, of) if varies(of[0]) && !varies(of[1]) => (Alu::Div, of[0], of[1]),
        Expr::Alu(Alu::Mul, of) if varies(of[0]) && !varies(of[1]) => (Alu::Mul, of[0], of[1]),
        Expr::Alu(Alu::Mul, of) if varies(of[1]) && !varies(of[0]) => (Alu::Mul, of[1], of[0]),
        _ => return None,
    };
    let to = kernel.exprs.dtype(value);
    let dividend = kernel.exprs.cast(to, dividend);
    let old = kernel.exprs.clone();
    let replace = |v: &Variable| place.iter().find(|(p, _)| p == v).map(|(_, at)| at.clone());
    let by = kernel.exprs.copy(&old, &[by], &replace)[0];
    Some(Quotient { stage, dividend, op, by })
}

/// An expression below conversions from float to float, and the exponent bits of the narrowest range among its type and
/// theirs: a quotient may be inside of a range in which the dividend is not.
fn uncast(kernel: &Kernel, mut e: ExprId) -> (ExprId, u32) {
    let mut range = exponent_bits(kernel.exprs.dtype(e));
    while let Expr::Cast(to, from) = kernel.exprs.get(e) {
        let of = kernel.exprs.dtype(*from);
        if !to.is_float() || !of.is_float() {
            break;
        }
        e = *from;
        range = range.min(exponent_bits(of));
    }
    (e, range)
}

/// How wide the range of a type of floats is.
fn exponent_bits(dtype: DType) -> u32 {
    match dtype {
        DType::F64 => 11,
        DType::F32 | DType::BF16 => 8,
        DType::F16 | DType::F8E5M2 => 5,
        _ => 4,
    }
}

/// The stage that `factor` is a load of, and at which index, if this is the only load of it.
fn only_read(kernel: &Kernel, reader: usize, factor: ExprId) -> Option<(usize, Vec<Size>)> {
    let Expr::Load { from: from @ Mem::Temp(stage, _), index, valid: None, .. } = kernel.exprs.get(factor) else {
        return None;
    };
    let sizes: Option<Vec<Size>> = index
        .iter()
        .map(|i| match kernel.exprs.get(*i) {
            Expr::Index(size) => Some(size.clone()),
            _ => None,
        })
        .collect();
    let loads = |s: usize| {
        let roots = kernel.stages[s].roots();
        let loads = kernel.exprs.loads(&roots).into_iter();
        loads.filter(|l| matches!(kernel.exprs.get(*l), Expr::Load { from: f, .. } if f == from)).count()
    };
    let alone = (0..kernel.stages.len()).all(|s| loads(s) == usize::from(s == reader));
    sizes.filter(|_| alone).map(|at| (stage.index(), at))
}

/// Divides every value that is read of the sum.
fn divide(kernel: Kernel, sum: usize, found: &Quotient) -> Kernel {
    let over: Vec<Variable> = kernel.stages[sum].over.iter().map(|a| kernel.axes[a.index()].var.clone()).collect();
    let from = kernel.exprs.clone();
    rewrite(kernel, |pool, node, dtype| {
        let at = match &node {
            Expr::Load { from: Mem::Temp(t, _), index, .. } if t.index() == sum => sizes(pool, index),
            _ => None,
        };
        let value = pool.add(node, dtype);
        let Some(at) = at else { return value };
        let replace = |v: &Variable| over.iter().position(|o| o == v).map(|d| at[d].clone());
        let by = pool.copy(&from, &[found.by], &replace)[0];
        let by = pool.cast(dtype, by);
        pool.alu(found.op, &[value, by])
    })
}

/// Replaces what is read of `stage`, whose value is a load of another stage, and removes it.
fn forward(kernel: Kernel, stage: usize, source: Mem, index: &[ExprId]) -> Kernel {
    let over: Vec<Variable> = kernel.stages[stage].over.iter().map(|a| kernel.axes[a.index()].var.clone()).collect();
    let old = kernel.exprs.clone();
    let renumber = |mem: Mem| match mem {
        Mem::Temp(t, field) if t.index() > stage => Mem::Temp(TempId(t.0 - 1), field),
        mem => mem,
    };
    let mut kernel = kernel;
    kernel.stages.remove(stage);
    rewrite(kernel, |pool, node, dtype| match node {
        Expr::Load { from: Mem::Temp(t, _), index: ref read, .. } if t.index() == stage => {
            let at = sizes(pool, read).unwrap_or_default();
            let replace = |v: &Variable| over.iter().position(|o| o == v).and_then(|d| at.get(d).cloned());
            let index = pool.copy(&old, index, &replace);
            pool.load(dtype, renumber(source), &index)
        }
        Expr::Load { from, ref index, valid, other } => pool.load_valid(dtype, renumber(from), index, valid, other),
        node => pool.add(node, dtype),
    })
}

/// The sizes that indices are.
fn sizes(pool: &ExprPool, index: &[ExprId]) -> Option<Vec<Size>> {
    let size = |i: &ExprId| if let Expr::Index(size) = pool.get(*i) { Some(size.clone()) } else { None };
    index.iter().map(size).collect()
}
