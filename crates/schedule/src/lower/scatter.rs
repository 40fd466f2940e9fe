//! Scatters: one point combined into the element that data choose.

use super::{Lowerer, Made, Nest};
use crate::apply::Runs;
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
    ) -> Made {
        let shape = self.s.kernel.params[param.index()].shape.clone();
        let mut inside = self.guard(nest);
        let mut index = Vec::new();
        for (i, extent) in at.iter().zip(&shape) {
            let i = self.convert(*i, nest, &[])?;
            inside = self.within(inside, i, extent);
            index.push(self.phase.exprs.cast(DType::Index, i));
        }
        // Where points come one by one, one test decides about reading and writing.
        let lanes = self.s.stages[nest.stage].loops.iter().any(|l| l.runs == Runs::Vector);
        let valid = inside.filter(|_| lanes);
        let mut value = self.convert(value, nest, &[])?;
        if let Some(monoid) = combine {
            let op = monoid.alu().ok_or("a scatter combines by sum, prod, max, min, any or all")?;
            let dtype = self.phase.exprs.dtype(value);
            let old = self.phase.exprs.load_valid(dtype, Mem::Param(param), &index, valid, Const::zero(dtype));
            value = self.phase.exprs.alu(op, &[old, value]);
        }
        let store = Stmt::Store { to: Mem::Param(param), index, value, valid };
        Ok(match inside {
            Some(inside) if !lanes => vec![Stmt::If(inside, vec![store])],
            _ => vec![store],
        })
    }

    /// `inside` and `0 <= i < extent`, as far as that is not known to hold.
    fn within(&mut self, inside: Option<ExprId>, i: ExprId, extent: &Size) -> Option<ExprId> {
        let pool = &mut self.phase.exprs;
        let at = pool.cast(DType::Index, i);
        let known = match pool.get(at) {
            Expr::Index(at) => [at.ge(&Size::ZERO) == Some(true), at.lt(extent) == Some(true)],
            _ => [false, false],
        };
        let (zero, end) = (pool.index(0i64), pool.index(extent.clone()));
        let check = match known {
            [true, true] => return inside,
            [true, false] => pool.alu(Alu::Lt, &[at, end]),
            [false, true] => pool.alu(Alu::Le, &[zero, at]),
            // Negative numbers are great ones without a sign.
            [false, false] => {
                let (i, end) = (pool.cast(DType::I64, i), pool.cast(DType::U64, end));
                let i = pool.add(Expr::Bitcast(DType::U64, i), DType::U64);
                pool.alu(Alu::Lt, &[i, end])
            }
        };
        Some(inside.map_or(check, |all| pool.alu(Alu::And, &[all, check])))
    }
}
