//! Walks over an [`ExprPool`] and copies between pools.
//!
//! Ids ascend from operands to users, so each of these is a loop over a list of ids in order.

use crate::expr::{Expr, ExprId, ExprPool};
use crate::pass::visit;
use crate::size::{Size, Variable};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use svod_dtype::DType;

impl ExprPool {
    /// The roots and everything below them, operands before users, each once.
    pub fn reachable(&self, roots: &[ExprId]) -> Vec<ExprId> {
        let Some(last) = roots.iter().max() else { return Vec::new() };
        let mut wanted = vec![false; last.index() + 1];
        for root in roots {
            wanted[root.index()] = true;
        }
        for i in (0..wanted.len()).rev() {
            if wanted[i] {
                for operand in self.get(ExprId(i as u32)).operands() {
                    wanted[operand.index()] = true;
                }
            }
        }
        visit(wanted.len());
        (0..wanted.len()).filter(|i| wanted[*i]).map(|i| ExprId(i as u32)).collect()
    }

    /// As [`ExprPool::reachable`], without what is inside of an [`Expr::Lanes`].
    pub fn outside_lanes(&self, roots: &[ExprId]) -> Vec<ExprId> {
        let mut wanted = vec![false; roots.iter().map(|r| r.index() + 1).max().unwrap_or(0)];
        roots.iter().for_each(|root| wanted[root.index()] = true);
        for i in (0..wanted.len()).rev() {
            let node = self.get(ExprId(i as u32));
            if wanted[i] && !matches!(node, Expr::Lanes { .. }) {
                node.operands().iter().for_each(|o| wanted[o.index()] = true);
            }
        }
        (0..wanted.len()).filter(|i| wanted[*i]).map(|i| ExprId(i as u32)).collect()
    }

    /// The loads at or below some roots.
    pub fn loads(&self, roots: &[ExprId]) -> Vec<ExprId> {
        let mut ids = self.reachable(roots);
        ids.retain(|id| matches!(self.get(*id), Expr::Load { .. }));
        ids
    }

    /// The axes, loops and variables named at or below some roots, in order.
    pub fn variables_used(&self, roots: &[ExprId]) -> Vec<Variable> {
        let mut used = BTreeSet::new();
        for id in self.reachable(roots) {
            match self.get(id) {
                Expr::Index(size) => used.extend(size.variables()),
                Expr::Lanes { lanes: counter, .. }
                | Expr::Running { over: counter, .. }
                | Expr::Alike { over: counter, .. } => {
                    used.insert(counter.clone());
                }
                _ => {}
            }
        }
        used.into_iter().collect()
    }

    /// The number of scalar operations and conversions at or below some roots, shared ones once.
    pub fn count_ops(&self, roots: &[ExprId]) -> usize {
        let is_op = |id: &&ExprId| {
            matches!(
                self.get(**id),
                Expr::Alu(..) | Expr::Cast(..) | Expr::Lanes { .. } | Expr::Running { .. } | Expr::Alike { .. }
            )
        };
        self.reachable(roots).iter().filter(is_op).count()
    }

    /// Copies what is reachable from `roots` in `from` into this pool, and gives the copies of the
    /// roots. Variables are replaced by what `replace` gives for them, where it gives something.
    pub fn copy(
        &mut self,
        from: &ExprPool,
        roots: &[ExprId],
        replace: &dyn Fn(&Variable) -> Option<Size>,
    ) -> Vec<ExprId> {
        self.copy_with(from, roots, replace, |pool, node, dtype| pool.add(node, dtype))
    }

    /// As [`ExprPool::copy`], with `rewrite` in place of [`ExprPool::add`]: it is given this pool,
    /// a node whose operands are already here and whose variables are replaced, and its type, and
    /// may return the id of anything of the same type.
    pub fn copy_with(
        &mut self,
        from: &ExprPool,
        roots: &[ExprId],
        replace: &dyn Fn(&Variable) -> Option<Size>,
        mut rewrite: impl FnMut(&mut ExprPool, Expr, DType) -> ExprId,
    ) -> Vec<ExprId> {
        let mut copies: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for id in from.reachable(roots) {
            let node = from.get(id);
            let operands: Vec<ExprId> = node.operands().iter().map(|o| copies[o]).collect();
            let node = match node.with_operands(&operands) {
                Expr::Index(size) => Expr::Index(size.substitute(replace)),
                Expr::Lanes { op, lanes, value } => Expr::Lanes { op, lanes: renamed(lanes, replace), value },
                Expr::Running { op, over, value } => Expr::Running { op, over: renamed(over, replace), value },
                Expr::Alike { over, value, before } => Expr::Alike { over: renamed(over, replace), value, before },
                node => node,
            };
            let copy = rewrite(self, node, from.dtype(id));
            copies.insert(id, copy);
        }
        roots.iter().map(|root| copies[root]).collect()
    }
}

/// What becomes of the counter of a loop.
pub fn renamed(counter: Variable, replace: &dyn Fn(&Variable) -> Option<Size>) -> Variable {
    replace(&counter).and_then(|size| single_variable(&size)).unwrap_or(counter)
}

/// The variable that a size is, if it is one.
pub fn single_variable(size: &Size) -> Option<Variable> {
    let [variable] = <[Variable; 1]>::try_from(size.variables()).ok()?;
    (*size == Size::from(&variable)).then_some(variable)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::alu::Alu;
    use crate::expr::{Mem, ParamId};

    #[test]
    fn copies_with_substitution_and_rewriting() {
        let (i, j) = (Variable::new("i", 0, 7).unwrap(), Variable::new("j", 0, 3).unwrap());
        let mut pool = ExprPool::new();
        let at = pool.index(&i);
        pool.index(&j);
        let x = pool.load(DType::F32, Mem::Param(ParamId(0)), &[at]);
        let y = pool.alu(Alu::Mul, &[x, x]);
        assert_eq!((pool.reachable(&[y]), pool.loads(&[y]), pool.count_ops(&[y, x])), (vec![at, x, y], vec![x], 1));

        let mut other = ExprPool::new();
        let twice = other.copy(&pool, &[y, x], &|v| (*v == i).then(|| Size::from(&j) * 2));
        assert_eq!((other.len(), other.variables_used(&twice)), (3, vec![j]));

        let zero = other.copy_with(&pool, &[y], &|_| None, |pool, node, dtype| match node {
            Expr::Load { .. } => pool.constant(svod_dtype::Const::zero(dtype)),
            node => pool.add(node, dtype),
        });
        assert!(other.loads(&zero).is_empty());
    }

    #[test]
    fn deep_chains_need_no_stack() {
        let mut pool = ExprPool::new();
        let mut x = pool.index(1);
        for _ in 0..1_000_000 {
            x = pool.alu(Alu::Neg, &[x]);
        }
        let mut other = ExprPool::new();
        let copy = other.copy(&pool, &[x], &|_| None);
        assert_eq!((copy[0], other.count_ops(&copy)), (x, 1_000_000));
    }
}
