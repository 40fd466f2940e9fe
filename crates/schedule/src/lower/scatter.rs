//! Scatters: one point combined into the element that data choose.

use super::{Lowerer, Nest, Step};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, Mem, ParamId};
use svod_ir::kernel::Monoid;
use svod_ir::lowered::Stmt;
use svod_ir::size::Size;

impl Lowerer<'_> {
    /// Combines a value into element `at` of a buffer, where that exists.
    pub(super) fn scatter(
        &mut self,
        nest: &Nest,
        param: ParamId,
        at: &[ExprId],
        value: ExprId,
        combine: Option<Monoid>,
    ) -> Step {
        let shape = self.s.kernel.params[param.index()].shape.clone();
        let mut inside = self.guard(nest);
        let mut index = Vec::new();
        for (i, extent) in at.iter().zip(&shape) {
            let i = self.convert(*i, nest, &[])?;
            let i = self.phase.exprs.cast(DType::Index, i);
            inside = self.within(inside, i, extent);
            index.push(i);
        }
        let mut value = self.convert(value, nest, &[])?;
        if let Some(monoid) = combine {
            let op = monoid.alu().ok_or("a scatter combines by sum, prod, max, min, any or all")?;
            let dtype = self.phase.exprs.dtype(value);
            let old = self.phase.exprs.load_valid(dtype, Mem::Param(param), &index, inside, Const::zero(dtype));
            value = self.phase.exprs.alu(op, &[old, value]);
        }
        Ok(vec![Stmt::Store { to: Mem::Param(param), index, value, valid: inside }])
    }

    /// `inside` and `0 <= i < extent`, as far as that is not known to hold.
    fn within(&mut self, inside: Option<ExprId>, i: ExprId, extent: &Size) -> Option<ExprId> {
        let pool = &mut self.phase.exprs;
        let known = match pool.get(i) {
            Expr::Index(at) => [at.ge(&Size::ZERO) == Some(true), at.lt(extent) == Some(true)],
            _ => [false, false],
        };
        let (zero, end) = (pool.index(0i64), pool.index(extent.clone()));
        let checks = [pool.alu(Alu::Le, &[zero, i]), pool.alu(Alu::Lt, &[i, end])];
        let needed = checks.into_iter().zip(known).filter(|(_, known)| !known);
        needed.fold(inside, |all, (check, _)| Some(all.map_or(check, |a| pool.alu(Alu::And, &[a, check]))))
    }
}
