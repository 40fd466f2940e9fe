//! Rewriting all expressions of a kernel.

use rustc_hash::FxHashMap;
use svod_dtype::DType;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, TempId};
use svod_ir::kernel::{Body, Kernel, Out, Stage};
use svod_ir::size::{Size, Variable};

/// Copies every expression, with variables renamed and the indices of accesses changed; `pick`
/// gives an access's new indices for its old ones: old ones, or [`Expr::Index`] of the old pool.
pub(crate) fn rebuild(
    kernel: Kernel,
    rename: &dyn Fn(&Variable) -> Option<Size>,
    pick: &dyn Fn(Mem, &[ExprId]) -> Vec<ExprId>,
) -> Kernel {
    let old = kernel.exprs.clone();
    let mut pool = ExprPool::new();
    let mut memo: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    let mut kernel = kernel;
    let roots: Vec<ExprId> = kernel.stages.iter().flat_map(|s| s.roots()).collect();
    for id in old.reachable(&roots) {
        let node = old.get(id);
        let new = match node {
            Expr::Index(size) => pool.index(size.substitute(rename)),
            Expr::Load { from, index, valid, other } => {
                let index: Vec<ExprId> =
                    pick(*from, index).iter().map(|i| copied(&old, &mut pool, &memo, rename, *i)).collect();
                pool.load_valid(old.dtype(id), *from, &index, valid.map(|v| memo[&v]), *other)
            }
            _ => {
                let operands: Vec<ExprId> = node.operands().iter().map(|o| memo[o]).collect();
                pool.add(node.with_operands(&operands), old.dtype(id))
            }
        };
        memo.insert(id, new);
    }
    for stage in &mut kernel.stages {
        match &mut stage.body {
            Body::Map(values) => values.iter_mut().for_each(|v| *v = memo[v]),
            Body::Scatter { value, .. } => *value = memo[value],
            Body::Reduce { carries, results, .. } => {
                carries.iter_mut().for_each(|c| {
                    c.element = memo[&c.element];
                    c.fix = c.fix.map(|f| memo[&f]);
                });
                results.iter_mut().for_each(|r| *r = memo[r]);
            }
            Body::Sort { key, results, .. } => std::iter::once(key).chain(results).for_each(|e| *e = memo[e]),
        }
        for out in &mut stage.outs {
            if let Out::Param { param, index } = out {
                let picked = pick(Mem::Param(*param), index);
                *index = picked.iter().map(|i| copied(&old, &mut pool, &memo, rename, *i)).collect();
            }
        }
    }
    kernel.exprs = pool;
    kernel
}

/// The copy of an expression that `rebuild` has visited, or of an index that it need not have.
fn copied(
    old: &ExprPool,
    pool: &mut ExprPool,
    memo: &FxHashMap<ExprId, ExprId>,
    rename: &dyn Fn(&Variable) -> Option<Size>,
    index: ExprId,
) -> ExprId {
    match (memo.get(&index), old.get(index)) {
        (None, Expr::Index(size)) => pool.index(size.substitute(rename)),
        _ => memo[&index],
    }
}

/// Every expression of a kernel anew.
pub(crate) fn rewrite(mut kernel: Kernel, mut change: impl FnMut(&mut ExprPool, Expr, DType) -> ExprId) -> Kernel {
    let old = std::mem::take(&mut kernel.exprs);
    let mut pool = ExprPool::new();
    let ids: Vec<ExprId> = kernel.stages.iter().flat_map(Stage::roots).collect();
    let mut new = pool.copy_with(&old, &ids, &|_| None, &mut change).into_iter();
    for stage in &mut kernel.stages {
        // Both name the roots in one order.
        stage.for_each_root(&mut |root| *root = new.next().unwrap_or(*root));
    }
    kernel.exprs = pool;
    kernel
}

/// No longer computes a value of a stage, one of several, that nothing reads.
pub(crate) fn drop_value(kernel: &mut Kernel, of: TempId, value: usize) {
    let stage = &mut kernel.stages[of.index()];
    let (Body::Map(values) | Body::Reduce { results: values, .. } | Body::Sort { results: values, .. }) =
        &mut stage.body
    else {
        return;
    };
    values.remove(value);
    stage.outs.remove(value);
    // The values after it have moved up.
    let renumber = |pool: &mut ExprPool, node: Expr, dtype| match node {
        Expr::Load { from: Mem::Temp(t, n), ref index, valid, other } if t == of && usize::from(n) > value => {
            pool.load_valid(dtype, Mem::Temp(t, n - 1), index, valid, other)
        }
        node => pool.add(node, dtype),
    };
    let old = std::mem::take(&mut kernel.exprs);
    let roots: Vec<ExprId> = kernel.stages.iter().flat_map(Stage::roots).collect();
    let mut new = kernel.exprs.copy_with(&old, &roots, &|_| None, renumber).into_iter();
    for stage in &mut kernel.stages {
        stage.for_each_root(&mut |root| *root = new.next().unwrap_or(*root));
    }
}

/// Drops values of a stage that nothing reads.
pub(crate) fn drop_unread(kernel: &mut Kernel, stage: usize) {
    let of = TempId(stage as u32);
    for value in (0..kernel.stages[stage].outs.len()).rev() {
        let roots: Vec<ExprId> = kernel.stages.iter().flat_map(Stage::roots).collect();
        let reads =
            |e: &ExprId| matches!(kernel.exprs.get(*e), Expr::Load { from, .. } if *from == Mem::Temp(of, value as u8));
        let read = kernel.exprs.loads(&roots).iter().any(reads);
        if !read && kernel.stages[stage].outs[value] == Out::Temp {
            drop_value(kernel, of, value);
        }
    }
}
