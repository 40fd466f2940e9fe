//! What the results of a reduction alone decide is computed with them.
//!
//! The logarithm of a row's sum, the reciprocal root of its variance: where a stage reads results of a reduction at
//! more points than there are results, what it makes of them and of constants alone becomes a result, if it takes
//! long. A row whose elements lie across memory would have it in its innermost loop.

use crate::costs::limits::{code, kernels};
use crate::kernel::contraction::{recognise, stage_axes, window};
use crate::kernel::rewrite::drop_unread;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, TempId};
use svod_ir::kernel::{Body, Emit, Kernel, Out};
use svod_ir::lowered::cost::instructions_of;
use svod_ir::size::Size;

/// Moves what is slow to the reductions that it depends on.
pub(crate) fn hoist(mut kernel: Kernel) -> Kernel {
    for reduction in 0..kernel.stages.len().saturating_sub(1) {
        let plain = matches!(kernel.stages[reduction].body, Body::Reduce { emit: Emit::Last, .. });
        let rows = !kernel.stages[reduction].over.is_empty();
        if !plain || !rows || recognise(&kernel, reduction).is_some() || window::is_convolution(&kernel, reduction) {
            continue;
        }
        let hoisted = hoisted_by(&kernel, reduction);
        if !hoisted.is_empty() && kernel.stages[reduction].outs.len() + hoisted.len() <= kernels::MAX_OUTPUTS {
            move_to(&mut kernel, reduction, &hoisted);
            drop_unread(&mut kernel, reduction);
        }
    }
    kernel
}

/// What an expression is made of.
#[derive(Clone, Copy, PartialEq)]
enum Made {
    /// Constants.
    Constant,
    /// A reduction's results at its own point, and constants; whether that is slow.
    Results { slow: bool },
    /// Other things.
    Other,
}

/// The largest slow expressions of a reduction's results alone, in stages that have more points.
fn hoisted_by(kernel: &Kernel, reduction: usize) -> Vec<ExprId> {
    let over = &kernel.stages[reduction].over;
    let pool = &kernel.exprs;
    let mut made = vec![Made::Other; pool.len()];
    let at_own_point = |index: &[ExprId]| {
        let own = |(i, a): (&ExprId, _)| matches!(pool.get(*i), Expr::Index(size) if *size == Size::from(a));
        index.len() == over.len() && index.iter().zip(over.iter().map(|a| &kernel.axes[a.index()].var)).all(own)
    };
    for (id, node) in pool.iter() {
        made[id.index()] = match node {
            Expr::Const(_) => Made::Constant,
            Expr::Load { from: Mem::Temp(t, _), index, valid: None, .. }
                if t.index() == reduction && at_own_point(index) =>
            {
                Made::Results { slow: false }
            }
            Expr::Alu(..) | Expr::Cast(..) | Expr::Bitcast(..) => {
                let operands = node.operands();
                let slow = match node {
                    Expr::Alu(op, _) => instructions_of(*op, pool.dtype(operands[0])) >= code::SLOW,
                    _ => false,
                };
                let join = |made: Made, other: Made| match (made, other) {
                    (Made::Other, _) | (_, Made::Other) => Made::Other,
                    (Made::Constant, other) | (other, Made::Constant) => other,
                    (Made::Results { slow: a }, Made::Results { slow: b }) => Made::Results { slow: a || b },
                };
                match operands.iter().map(|o| made[o.index()]).fold(Made::Constant, join) {
                    Made::Results { slow: below } => Made::Results { slow: slow || below },
                    of => of,
                }
            }
            _ => Made::Other,
        };
    }
    let slow = |e: &ExprId| made[e.index()] == Made::Results { slow: true };
    let mut found: Vec<ExprId> = Vec::new();
    for (s, stage) in kernel.stages.iter().enumerate().skip(reduction + 1) {
        if stage_axes(kernel, s).iter().all(|a| over.contains(a)) {
            continue;
        }
        let roots = stage.roots();
        found.extend(roots.iter().copied().filter(slow));
        let users = pool.reachable(&roots).into_iter().filter(|e| !slow(e));
        found.extend(users.flat_map(|user| pool.get(user).operands()).filter(slow));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Makes expressions results of a reduction, which is read instead.
fn move_to(kernel: &mut Kernel, reduction: usize, hoisted: &[ExprId]) {
    let Body::Reduce { results, .. } = &kernel.stages[reduction].body else { return };
    let (results, count) = (results.clone(), results.len());
    let over = &kernel.stages[reduction].over;
    let at: Vec<Size> = over.iter().map(|a| Size::from(&kernel.axes[a.index()].var)).collect();
    let old = kernel.exprs.clone();
    let pool = &mut kernel.exprs;
    let at: Vec<ExprId> = at.into_iter().map(|size| pool.index(size)).collect();
    // Of each expression: what it is where stages read it, and in terms of the reduction's carries.
    let mut read: Vec<ExprId> = Vec::with_capacity(old.len());
    let mut own: Vec<ExprId> = Vec::with_capacity(old.len());
    for (id, node) in old.iter() {
        let copy = |pool: &mut ExprPool, copies: &[ExprId]| {
            let operands: Vec<ExprId> = node.operands().iter().map(|o| copies[o.index()]).collect();
            pool.add(node.with_operands(&operands), old.dtype(id))
        };
        let result = match node {
            Expr::Load { from: Mem::Temp(t, field), .. } if t.index() == reduction => results.get(usize::from(*field)),
            _ => None,
        };
        own.push(result.copied().unwrap_or_else(|| copy(pool, &own)));
        read.push(match hoisted.iter().position(|s| *s == id) {
            Some(n) => pool.load(old.dtype(id), Mem::Temp(TempId(reduction as u32), (count + n) as u8), &at),
            None => copy(pool, &read),
        });
    }
    for stage in &mut kernel.stages {
        stage.for_each_root(&mut |root| *root = read[root.index()]);
    }
    let stage = &mut kernel.stages[reduction];
    if let Body::Reduce { results, .. } = &mut stage.body {
        results.extend(hoisted.iter().map(|e| own[e.index()]));
        stage.outs.extend(hoisted.iter().map(|_| Out::Temp));
    }
}
