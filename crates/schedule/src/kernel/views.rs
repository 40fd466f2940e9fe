//! Giving parameters the shape in which a kernel reads them.
//!
//! A kernel that sums over a reshaped tensor names its elements through quotients and remainders:
//! `x[a1*2 + a2//3136, a2%3136]`. Memory is dense, so two adjacent dimensions are as well one, at
//! `a1*6272 + a2`; and one dimension is two wherever every access is `a*c + b` with `b` below `c`:
//! `x[a1, a2]`. What is left of the divisions is what the kernel itself asks for.

use crate::kernel::access::accesses;
use crate::kernel::rewrite::rebuild;
use rustc_hash::FxHashMap;
use svod_ir::expr::{Expr, ExprId, Mem, ParamId};
use svod_ir::kernel::Kernel;
use svod_ir::size::{Atom, Size};

/// The shape of a parameter and its accesses' indices, one list per access.
struct View {
    shape: Vec<Size>,
    indices: Vec<Vec<Size>>,
}

/// The same kernel, with parameters of other shapes where that makes indices simpler.
pub(crate) fn reshape_params(kernel: Kernel) -> Kernel {
    with_views(kernel, View::simplify)
}

/// The same kernel, with dimensions of parameters in two where they are read as such: in rows that are parts of a
/// dimension, say, which other kernels may read, too.
pub(crate) fn split_params(kernel: Kernel) -> Kernel {
    with_views(kernel, View::split_all)
}

fn with_views(mut kernel: Kernel, change: impl Fn(&mut View) -> bool) -> Kernel {
    let accesses = accesses(&kernel);
    let mut picked: FxHashMap<(Mem, Vec<ExprId>), Vec<ExprId>> = FxHashMap::default();
    for p in 0..kernel.params.len() {
        let mem = Mem::Param(ParamId(p as u32));
        let own: Vec<&Vec<ExprId>> = accesses.iter().filter(|(m, _)| *m == mem).map(|(_, index)| index).collect();
        let size = |e: &ExprId| match kernel.exprs.get(*e) {
            Expr::Index(size) => Some(size.clone()),
            _ => None,
        };
        let indices: Option<Vec<Vec<Size>>> = own.iter().map(|index| index.iter().map(size).collect()).collect();
        let Some(indices) = indices else { continue };
        let mut view = View { shape: kernel.params[p].shape.clone(), indices };
        if !change(&mut view) {
            continue;
        }
        for (old, new) in own.into_iter().zip(&view.indices) {
            let new = new.iter().map(|i| kernel.exprs.index(i)).collect();
            picked.insert((mem, old.clone()), new);
        }
        kernel.params[p].shape = view.shape;
    }
    if picked.is_empty() {
        return kernel;
    }
    rebuild(kernel, &|_| None, &|mem, index| {
        picked.get(&(mem, index.to_vec())).cloned().unwrap_or_else(|| index.to_vec())
    })
}

impl View {
    /// Merges dimensions where that removes divisions, and splits those that are two; whether it did.
    fn simplify(&mut self) -> bool {
        let mut changed = false;
        let mut d = self.shape.len().saturating_sub(1);
        while d > 0 {
            d -= 1;
            let before: usize = self.indices.iter().map(|i| divisions(&i[d]) + divisions(&i[d + 1])).sum();
            let merged: Vec<Size> = self.indices.iter().map(|i| &i[d] * &self.shape[d + 1] + &i[d + 1]).collect();
            let extent = &self.shape[d] * &self.shape[d + 1];
            if merged.iter().map(divisions).sum::<usize>() < before && extent.is_extent() {
                self.shape[d] = extent;
                self.shape.remove(d + 1);
                for (index, merged) in self.indices.iter_mut().zip(merged) {
                    index[d] = merged;
                    index.remove(d + 1);
                }
                changed = true;
            }
        }
        self.split_all() || changed
    }

    /// Splits dimensions that are two; whether there are any.
    fn split_all(&mut self) -> bool {
        let mut changed = false;
        for d in (0..self.shape.len()).rev() {
            while self.split(d) {
                changed = true;
            }
        }
        changed
    }

    /// Splits dimension `d` in two, the inner one becoming `d + 1`, where every access allows it.
    fn split(&mut self, d: usize) -> bool {
        let Some(terms) = self.indices.first().and_then(|i| i[d].terms()) else { return false };
        let mut steps: Vec<i64> =
            terms.iter().filter(|t| !t.factors().is_empty()).map(|t| t.coefficient()).filter(|c| *c > 1).collect();
        steps.sort_unstable_by(|a, b| b.cmp(a));
        for c in steps {
            if self.shape[d].divisible_by(c) != Some(true) || self.shape[d].as_const() == Some(c) {
                continue;
            }
            let parts = |index: &Vec<Size>| (index[d].floordiv(c), index[d].modulo(c));
            let split: Vec<(Size, Size)> = self.indices.iter().map(parts).collect();
            let known = |part: &Size| part.as_const().is_some();
            if split.iter().all(|(q, _)| known(q)) || split.iter().all(|(_, r)| known(r)) {
                continue;
            }
            let mut pairs = split.iter().zip(&self.indices);
            if !pairs.all(|((q, r), index)| divisions(q) + divisions(r) <= divisions(&index[d])) {
                continue;
            }
            self.shape[d] = self.shape[d].floordiv(c);
            self.shape.insert(d + 1, Size::from(c));
            for (index, (q, r)) in self.indices.iter_mut().zip(split) {
                index[d] = q;
                index.insert(d + 1, r);
            }
            return true;
        }
        false
    }
}

/// The quotients and remainders in an expression.
fn divisions(size: &Size) -> usize {
    let of = |atom: &Atom| {
        let own = usize::from(matches!(atom, Atom::FloorDiv(..) | Atom::Mod(..)));
        own + atom.operands().map_or(0, |(a, b)| divisions(a) + divisions(b))
    };
    size.terms().unwrap_or_default().iter().flat_map(|t| t.factors().iter()).map(of).sum()
}
