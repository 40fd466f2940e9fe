//! What a kernel reads, writes and computes, as far as a schedule's choice depends on it.

use crate::costs::limits::{memory, registers};
use crate::kernel::contraction::axes_of;
use std::cmp::Reverse;
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, Mem, ParamId};
use svod_ir::kernel::{AxisId, Kernel, Out, Param};
use svod_ir::size::{Size, Variable};

pub(crate) fn extent(kernel: &Kernel, axis: AxisId) -> i64 {
    kernel.axes[axis.index()].extent.upper_bound().unwrap_or(i64::MAX).max(1)
}

/// Bytes of a parameter at most, or 0 where its sizes have no bound.
pub(crate) fn bytes_of(param: &Param) -> i64 {
    let extents = param.shape.iter().map(|n| n.upper_bound().unwrap_or(0));
    extents.fold(param.dtype.bytes() as i64, i64::saturating_mul)
}

/// Rough number of scalar operations per point.
pub(crate) fn cost(k: &Kernel) -> i64 {
    let of = |e: &Expr| match e {
        Expr::Alu(op, _) if op.is_transcendental() => 16,
        Expr::Alu(Alu::Div | Alu::Sqrt | Alu::Recip, _) => 4,
        Expr::Alu(..) | Expr::Load { .. } => 1,
        _ => 0,
    };
    k.exprs.iter().map(|(_, e)| of(e)).sum::<i64>().max(1)
}

/// Whether a value is the same at every run: it reads constants, and no size of it is a variable's.
pub(crate) fn loads_only_constants(k: &Kernel, value: ExprId) -> bool {
    let known = |v: &Variable| k.axes.iter().any(|a| a.var == *v && a.extent.as_const().is_some());
    k.exprs.reachable(&[value]).iter().all(|e| match k.exprs.get(*e) {
        Expr::Load { from: Mem::Param(p), .. } => k.params[p.index()].constant,
        Expr::Load { .. } => false,
        Expr::Index(size) => size.variables().iter().all(known),
        _ => true,
    })
}

/// The axis along which most reads below `roots` are contiguous, where each of `stores`, last indices of
/// writes, counts `store_weight` times. Of several, one that fills a vector, and along which the fewest
/// other reads move: those go from line to line of memory.
pub(crate) fn contiguous(k: &Kernel, roots: &[ExprId], stores: &[ExprId], store_weight: usize) -> Option<AxisId> {
    let mut votes = vec![0usize; k.axes.len()];
    let mut vote = |last: ExprId, weight: usize| {
        let along = |a: usize| steps_along(k, last, AxisId(a as u32));
        votes.iter_mut().enumerate().filter(|(a, _)| along(*a)).for_each(|(_, votes)| *votes += weight);
    };
    stores.iter().for_each(|s| vote(*s, store_weight));
    let loads = k.exprs.loads(roots);
    let points = |e: &ExprId| axes_of(k, *e).iter().map(|a| extent(k, *a)).fold(1, i64::saturating_mul);
    let most = loads.iter().map(points).max().unwrap_or(1);
    for e in loads {
        if let Expr::Load { index, from, .. } = k.exprs.get(e) {
            // What few points read costs little, however it lies.
            let much = points(&e).saturating_mul(memory::LITTLE) >= most;
            let weight = if much && matches!(from, Mem::Param(_)) { 2 } else { usize::from(much) };
            index.last().into_iter().for_each(|l| vote(*l, weight));
        }
    }
    let best = votes.iter().copied().max().filter(|v| *v > 0)?;
    let tied = (0..k.axes.len() as u32).map(AxisId).filter(|a| votes[a.index()] == best);
    tied.max_by_key(|a| (extent(k, *a) >= registers::FEWEST_LANES, Reverse(strided(k, roots, *a).len()), a.index()))
}

/// The reads of parameters below `roots` that move along an axis, but not from element to element.
pub(crate) fn strided(k: &Kernel, roots: &[ExprId], axis: AxisId) -> Vec<ExprId> {
    let var = &k.axes[axis.index()].var;
    let moves = |i: &ExprId| k.exprs.variables_used(&[*i]).contains(var);
    let jumps =
        |index: &[ExprId]| index.iter().any(moves) && !index.last().is_some_and(|last| steps_along(k, *last, axis));
    let found = |e: &ExprId| match k.exprs.get(*e) {
        Expr::Load { from: Mem::Param(_), index, .. } => jumps(index),
        _ => false,
    };
    k.exprs.reachable(roots).into_iter().filter(found).collect()
}

/// The reads of parameters below `roots` that a schedule's text can name by the parameter alone, which is read in no
/// other way, and that copies and prefetches can take: at known indices, without a mask.
pub(crate) fn named_reads(k: &Kernel, roots: &[ExprId]) -> Vec<(ParamId, ExprId)> {
    let loads = k.exprs.loads(roots);
    let of = |e: &ExprId| match k.exprs.get(*e) {
        Expr::Load { from: Mem::Param(param), .. } => Some(*param),
        _ => None,
    };
    let all: Vec<ParamId> = loads.iter().filter_map(of).collect();
    let named = |e: &ExprId| {
        let Expr::Load { from: Mem::Param(param), index, valid: None, .. } = k.exprs.get(*e) else { return None };
        let known = index.iter().all(|i| matches!(k.exprs.get(*i), Expr::Index(_)));
        let alone = all.iter().filter(|p| *p == param).count() == 1;
        (known && alone).then_some((*param, *e))
    };
    loads.iter().filter_map(named).collect()
}

/// Whether an index grows by one with each point of an axis, or each few points: two arrays that are interleaved are
/// read at `u//2`.
pub(crate) fn steps_along(k: &Kernel, index: ExprId, axis: AxisId) -> bool {
    step_along(k, index, axis) == Some(1) || registers::INTERLEAVED.iter().any(|of| steps_every(k, index, axis, *of))
}

/// Whether an index grows by one with every so many points of an axis, and is the same between.
fn steps_every(k: &Kernel, index: ExprId, axis: AxisId, points: i64) -> bool {
    let Expr::Index(size) = k.exprs.get(index) else { return false };
    let var = &k.axes[axis.index()].var;
    let at = |n: i64| size.substitute(&|v| (v == var).then(|| Size::from(var) * points + n));
    let first = at(0);
    (at(points) - &first).as_const() == Some(1) && (1..points).all(|n| at(n) == first)
}

/// By how much an index grows with each point of an axis, if always by as much.
pub(crate) fn step_along(k: &Kernel, index: ExprId, axis: AxisId) -> Option<i64> {
    let Expr::Index(size) = k.exprs.get(index) else { return None };
    let var = &k.axes[axis.index()].var;
    let next = |v: &Variable| (v == var).then(|| Size::from(var) + 1);
    (size.substitute(&next) - size).as_const()
}

/// `n` in equal blocks of at most about `block`, a multiple of `of`; without a tail where that does
/// not make them less than half as large.
pub(crate) fn round(n: i64, block: i64, of: i64) -> i64 {
    let most = round_up(block.min(n), of);
    let exact = (1..=most / of).rev().map(|b| b * of).take_while(|b| 2 * b >= most);
    if let Some(exact) = exact.into_iter().find(|b| n % b == 0) {
        return exact;
    }
    let blocks = (n + block - 1) / block.max(1);
    round_up((n + blocks - 1) / blocks.max(1), of)
}

pub(crate) fn round_up(n: i64, of: i64) -> i64 {
    (n + of - 1) / of * of
}

/// Whether one stage reads another directly.
pub(crate) fn reads(kernel: &Kernel, reader: usize, read: usize) -> bool {
    !reads_of(kernel, reader, read).is_empty()
}

/// Every access of a kernel: the memory and the index.
pub(crate) fn accesses(kernel: &Kernel) -> Vec<(Mem, Vec<ExprId>)> {
    let all: Vec<ExprId> = kernel.stages.iter().flat_map(|s| s.roots()).collect();
    let load = |e: &ExprId| match kernel.exprs.get(*e) {
        Expr::Load { from, index, .. } => Some((*from, index.to_vec())),
        _ => None,
    };
    let mut accesses: Vec<(Mem, Vec<ExprId>)> = kernel.exprs.reachable(&all).iter().filter_map(load).collect();
    for stage in &kernel.stages {
        for out in &stage.outs {
            if let Out::Param { param, index } = out {
                accesses.push((Mem::Param(*param), index.clone()));
            }
        }
    }
    accesses
}

/// The indices at which stage `reader` reads stage `read`.
pub(crate) fn reads_of(kernel: &Kernel, reader: usize, read: usize) -> Vec<&[ExprId]> {
    let all = kernel.exprs.reachable(&kernel.stages[reader].roots());
    let access = |id: &ExprId| match kernel.exprs.get(*id) {
        Expr::Load { from: Mem::Temp(t, _), index, .. } if t.index() == read => Some(&index[..]),
        _ => None,
    };
    all.iter().filter_map(access).collect()
}
