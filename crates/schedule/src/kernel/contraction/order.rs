//! The order in which the stages of two chained products keep their axes.
//!
//! In attention, `softmax(q kᵀ) v`, one stage's values are the rows of a later product. Users may keep the axes of
//! scores in any order (`bhqk`, `bqhk`, `kqb` …); a tile wants to find the rows' steps side by side. What is kept in
//! temporaries is nobody's business: first what both products have in common (batches, heads), in the order of the
//! result, then rows, then columns, of which those of the first product are summed over in the second.

use super::window::kernel_gradient;
use super::{axes_of, factors};
use crate::kernel::rewrite::rebuild;
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::kernel::{AxisId, Body, Emit, Kernel, Out, Stage};

/// The same computation; where a product's operand is what another stage computes, all temporaries have the axes of
/// both operands first, then those of the rows alone, then the others.
pub(crate) fn rows_first(kernel: Kernel) -> Kernel {
    let Some((out, inner)) = kernel.stages.split_last() else { return kernel };
    let Some((weights, other)) = (0..inner.len()).find_map(|s| rows_of(&kernel, s)) else { return kernel };
    let (rows, columns) = (&inner[weights].over, axes_of(&kernel, other));
    let place = |axis: AxisId| {
        let at = out.over.iter().position(|a| *a == axis);
        let group = match (rows.contains(&axis), columns.contains(&axis)) {
            (true, true) if at.is_some() => 0,
            (true, false) => 1,
            _ => 2,
        };
        (group, at.unwrap_or(usize::MAX))
    };
    let orders = orders(&kernel, &|_, axis| place(axis));
    reordered(kernel, &orders)
}

/// The same computation; of the gradient of a convolution's kernel, sums for each tap lie together, as tiles write them.
pub(crate) fn taps_first(kernel: Kernel) -> Kernel {
    let Some((_, inner)) = kernel.stages.split_last() else { return kernel };
    let products: Vec<_> = (0..inner.len()).map(|s| kernel_gradient(&kernel, s)).collect();
    let orders = orders(&kernel, &|stage, axis| match products.get(stage).and_then(Option::as_ref) {
        Some((c, _)) => u8::from(axis == c.m) + 2 * u8::from(axis == c.n),
        None => 0,
    });
    reordered(kernel, &orders)
}

/// Of each stage, which of its present axes stand where, if those of temporaries are sorted by a place for each.
fn orders<P: Ord>(kernel: &Kernel, place: &dyn Fn(usize, AxisId) -> P) -> Vec<Vec<usize>> {
    let of = |(at, stage): (usize, &Stage)| {
        let mut order: Vec<usize> = (0..stage.over.len()).collect();
        if is_free(stage) {
            order.sort_by_key(|d| place(at, stage.over[*d]));
        }
        order
    };
    kernel.stages.iter().enumerate().map(of).collect()
}

/// The same computation, where temporaries have their axes in these orders.
pub(super) fn reordered(mut kernel: Kernel, orders: &[Vec<usize>]) -> Kernel {
    if !orders.iter().any(|order| is_permuted(order)) {
        return kernel;
    }
    for (stage, order) in kernel.stages.iter_mut().zip(orders) {
        stage.over = order.iter().map(|d| stage.over[*d]).collect();
    }
    rebuild(kernel, &|_| None, &|mem, index| match mem {
        Mem::Temp(t, _) if is_permuted(&orders[t.index()]) => orders[t.index()].iter().map(|d| index[*d]).collect(),
        Mem::Temp(..) | Mem::Param(_) => index.to_vec(),
    })
}

/// The stage whose values are one factor of a product that is summed, as they are, and the other factor.
fn rows_of(kernel: &Kernel, stage: usize) -> Option<(usize, ExprId)> {
    let [a, b] = factors(kernel, stage)?;
    [(a, b), (b, a)].into_iter().find_map(|(factor, other)| match kernel.exprs.get(factor) {
        Expr::Load { from: Mem::Temp(t, _), valid: None, .. } => Some((t.index(), other)),
        _ => None,
    })
}

/// Whether nothing but temporaries says in which order a stage keeps its axes.
fn is_free(stage: &Stage) -> bool {
    let plain = matches!(&stage.body, Body::Map(_) | Body::Reduce { emit: Emit::Last, .. });
    plain && stage.outs.iter().all(|out| matches!(out, Out::Temp))
}

fn is_permuted(order: &[usize]) -> bool {
    !order.is_sorted()
}
