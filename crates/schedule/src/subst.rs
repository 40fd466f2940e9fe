//! Copying expressions from one arena to another, with some nodes replaced on the way.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use svod_dtype::DType;
use svod_ir::expr::{Expr, ExprId, ExprPool};
use svod_ir::size::{Size, Variable};

/// What has been copied so far: expressions of one pool, as expressions of another.
pub(crate) type Memo = FxHashMap<ExprId, ExprId>;

/// Copies `root` and all it needs. `replace` sees each node, operands first, with its operands
/// already copied, and may give another expression of `to` for it.
pub(crate) fn copy(
    from: &ExprPool,
    root: ExprId,
    to: &mut ExprPool,
    memo: &mut Memo,
    replace: &mut dyn FnMut(&mut ExprPool, &Expr, DType, &[ExprId]) -> Option<ExprId>,
) -> ExprId {
    for id in needed(from, root, memo) {
        let node = from.get(id);
        let operands: SmallVec<[ExprId; 4]> = node.operands().iter().map(|o| memo[o]).collect();
        let dtype = from.dtype(id);
        let new = replace(to, node, dtype, &operands).unwrap_or_else(|| to.add(node.with_operands(&operands), dtype));
        memo.insert(id, new);
    }
    memo[&root]
}

/// The expressions under `root` that are not in `memo`, ascending: operands before users.
fn needed(from: &ExprPool, root: ExprId, memo: &Memo) -> Vec<ExprId> {
    let mut work = vec![root];
    let mut seen = Vec::new();
    let mut marked = rustc_hash::FxHashSet::default();
    while let Some(id) = work.pop() {
        if memo.contains_key(&id) || !marked.insert(id) {
            continue;
        }
        seen.push(id);
        work.extend(from.get(id).operands());
    }
    seen.sort_unstable();
    seen
}

/// Every expression under `roots`, operands first.
pub(crate) fn reachable(pool: &ExprPool, roots: &[ExprId]) -> Vec<ExprId> {
    let mut all: Vec<ExprId> = Vec::new();
    let mut work: Vec<ExprId> = roots.to_vec();
    let mut marked = rustc_hash::FxHashSet::default();
    while let Some(id) = work.pop() {
        if marked.insert(id) {
            all.push(id);
            work.extend(pool.get(id).operands());
        }
    }
    all.sort_unstable();
    all
}

/// `size` with each variable replaced where `value` gives another expression for it.
pub(crate) fn substitute(size: &Size, value: &dyn Fn(&Variable) -> Option<Size>) -> Size {
    size.substitute(value)
}
