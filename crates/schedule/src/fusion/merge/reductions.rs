//! Several reductions of the same points are one reduction with several running values.

use crate::costs::limits::kernels;
use crate::kernel::contraction::recognise;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, TempId};
use svod_ir::kernel::{AxisId, Body, Carry, Emit, Kernel, Stage};
use svod_ir::size::{Size, Variable};

/// Makes one reduction of those that visit the same points and do not need one another.
pub(super) fn merge_reductions(kernel: &mut Kernel) {
    let mut at = 0;
    while at < kernel.stages.len() {
        match (0..at).find(|s| may_merge(kernel, *s, at)) {
            Some(earlier) => merge(kernel, earlier, at),
            None => at += 1,
        }
    }
}

/// The axes and running values of a plain reduction: its lanes can have accumulators of their own.
fn plain(stage: &Stage) -> Option<(&[AxisId], &[Carry])> {
    match &stage.body {
        Body::Reduce { axes, carries, emit: Emit::Last, .. } if carries.iter().all(Carry::is_plain) => {
            Some((axes, carries))
        }
        _ => None,
    }
}

/// Whether the later stage can be computed together with the earlier one.
fn may_merge(kernel: &Kernel, earlier: usize, later: usize) -> bool {
    let (a, b) = (&kernel.stages[earlier], &kernel.stages[later]);
    let (Some((inner, some)), Some((with, more))) = (plain(a), plain(b)) else { return false };
    let extents = |axes: &[AxisId]| -> Vec<&Size> { axes.iter().map(|x| &kernel.axes[x.index()].extent).collect() };
    let reads = kernel.exprs.loads(&b.roots());
    let before = |e: &ExprId| match kernel.exprs.get(*e) {
        Expr::Load { from: Mem::Temp(t, _), .. } => t.index() < earlier,
        _ => true,
    };
    // Contractions have tiles.
    let products = [earlier, later].iter().any(|s| recognise(kernel, *s).is_some());
    a.over == b.over
        && !products
        && extents(inner) == extents(with)
        && some.len() + more.len() <= kernels::MAX_CARRIES
        && reads.iter().all(before)
}

/// Moves the running values of the later stage into the earlier one.
fn merge(kernel: &mut Kernel, earlier: usize, later: usize) {
    let mut moved = kernel.stages.remove(later);
    let (Body::Reduce { axes: to, carries: own, results, .. }, Body::Reduce { axes: from, .. }) =
        (&kernel.stages[earlier].body, &moved.body)
    else {
        return;
    };
    let (first_carry, first_value) = (own.len(), results.len());
    let renamed: Vec<(Variable, Size)> = from
        .iter()
        .zip(to)
        .map(|(b, a)| (kernel.axes[b.index()].var.clone(), Size::from(&kernel.axes[a.index()].var)))
        .collect();
    let rename = |v: &Variable| renamed.iter().find(|(b, _)| b == v).map(|(_, a)| a.clone());
    let shift = |pool: &mut ExprPool, node: Expr, dtype| {
        let node = match node {
            Expr::Carry(n, dtype) => Expr::Carry(n + first_carry as u8, dtype),
            node => node,
        };
        pool.add(node, dtype)
    };
    let old = kernel.exprs.clone();
    let mut roots = kernel.exprs.copy_with(&old, &moved.roots(), &rename, shift).into_iter();
    moved.for_each_root(&mut |root| *root = roots.next().unwrap_or(*root));
    if let (Body::Reduce { carries, results, .. }, Body::Reduce { carries: more, results: added, .. }) =
        (&mut kernel.stages[earlier].body, moved.body)
    {
        carries.extend(more);
        results.extend(added);
    }
    kernel.stages[earlier].outs.extend(moved.outs);

    // Stages after the one that has gone are read by other numbers.
    let place = |t: TempId, n: u8| match t.index() {
        t if t == later => (TempId(earlier as u32), n + first_value as u8),
        t if t > later => (TempId(t as u32 - 1), n),
        _ => (t, n),
    };
    let move_up = |pool: &mut ExprPool, node: Expr, dtype| match node {
        Expr::Load { from: Mem::Temp(t, n), ref index, valid, other } => {
            let (t, n) = place(t, n);
            pool.load_valid(dtype, Mem::Temp(t, n), index, valid, other)
        }
        node => pool.add(node, dtype),
    };
    let old = std::mem::take(&mut kernel.exprs);
    let roots: Vec<ExprId> = kernel.stages.iter().flat_map(Stage::roots).collect();
    let mut new = kernel.exprs.copy_with(&old, &roots, &|_| None, move_up).into_iter();
    for stage in &mut kernel.stages {
        stage.for_each_root(&mut |root| *root = new.next().unwrap_or(*root));
    }
}
