//! Few points: the place of each is the number of those before it, which are counted in lanes.

use super::{Array, Order};
use crate::costs::limits::sorts;
use crate::lower::{Lowerer, Made, Nest};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::lowered::{Home, LoopKind};
use svod_ir::size::Size;

/// Whether points are few. Those of one digit have but one histogram.
pub(super) fn is_worth_it(order: &Order) -> bool {
    order.passes() > 1 && order.points.upper_bound().is_some_and(|n| n <= sorts::FEW)
}

impl Lowerer<'_> {
    /// Sorts one row of few points. Of equal keys, earlier points come first: a point counts those earlier ones that
    /// are not greater, and those later ones that are less. Points of its own block of lanes are told apart.
    pub(super) fn rank(&mut self, order: &Order, nest: &Nest) -> Made {
        let dtype = compared(order.dtype);
        let most = order.points.upper_bound().unwrap_or(sorts::FEW).max(1);
        let blocks = Size::from((most + sorts::COMPARED - 1) / sorts::COMPARED);
        let lanes = Size::from(sorts::COMPARED);
        let keys = self.scratch("keys", dtype, &blocks * sorts::COMPARED);

        let greatest = self.phase.exprs.constant(Const::max_value(dtype));
        let mut body = self.repeat(order, &blocks, LoopKind::Serial, &mut |this, b| {
            this.repeat(order, &lanes, LoopKind::Vector, &mut |this, lane| {
                let at = this.phase.exprs.index(&b * sorts::COMPARED + lane);
                Ok(vec![this.write(&keys, Some(at), greatest, None)])
            })
        })?;
        body.extend(self.repeat(order, &order.points.clone(), LoopKind::Serial, &mut |this, i| {
            let key = this.key_at(order, nest, &i)?;
            let at = this.phase.exprs.index(i);
            let key = this.compared(key, dtype);
            Ok(vec![this.write(&keys, Some(at), key, None)])
        })?);

        let temp = self.temp("before".into(), dtype, vec![lanes.clone()], Home::Register);
        let before = Array { mem: Mem::Temp(temp, 0), dtype, row: Vec::new() };
        body.extend(self.repeat(order, &blocks, LoopKind::Serial, &mut |this, b| {
            let first = &b * sorts::COMPARED;
            let own = (&order.points - &first).max(0).min(&lanes);
            this.repeat(order, &own, LoopKind::Serial, &mut |this, r| {
                let i = &first + &r;
                let at = this.phase.exprs.index(i.clone());
                let limit = this.read(&keys, Some(at));
                // All lanes of the earlier blocks, less those that are greater.
                let mut inner = this.repeat(order, &lanes, LoopKind::Vector, &mut |this, lane| {
                    let [lane, earlier] = [lane, b.clone()].map(|n| this.phase.exprs.index(n));
                    let earlier = this.phase.exprs.cast(dtype, earlier);
                    Ok(vec![this.write(&before, Some(lane), earlier, None)])
                })?;
                inner.extend(this.repeat(order, &b, LoopKind::Serial, &mut |this, c| {
                    this.counted(order, &keys, &before, &c, Alu::Sub, &mut |this, key, _| {
                        let greater = this.phase.exprs.alu(Alu::Lt, &[limit, key]);
                        this.as_number(greater, dtype)
                    })
                })?);
                inner.extend(this.counted(order, &keys, &before, &b, Alu::Add, &mut |this, key, lane| {
                    let [less, same] = [Alu::Lt, Alu::Eq].map(|op| this.phase.exprs.alu(op, &[key, limit]));
                    let [lane, own] = [lane, &r].map(|n| {
                        let n = this.phase.exprs.index(n.clone());
                        this.phase.exprs.cast(dtype, n)
                    });
                    let earlier = this.phase.exprs.alu(Alu::Lt, &[lane, own]);
                    // Numbers rather than truths: vectors hold these in the width of what was compared.
                    let [less, earlier] = [less, earlier].map(|flag| this.as_number(flag, dtype));
                    let zero = this.number(dtype, 0);
                    let tie = this.phase.exprs.alu(Alu::Where, &[same, earlier, zero]);
                    this.phase.exprs.alu(Alu::Add, &[less, tie])
                })?);
                inner.extend(this.repeat(order, &(&blocks - &b - 1), LoopKind::Serial, &mut |this, c| {
                    this.counted(order, &keys, &before, &(&b + &c + 1), Alu::Add, &mut |this, key, _| {
                        let less = this.phase.exprs.alu(Alu::Lt, &[key, limit]);
                        this.as_number(less, dtype)
                    })
                })?);
                let place = this.all_lanes(&before, sorts::COMPARED, Alu::Add)?;
                let place = this.phase.exprs.cast(DType::Index, place);
                let key = this.key_at(order, nest, &i)?;
                let position = this.phase.exprs.cast(order.position, at);
                inner.extend(this.results_at(order, nest, [key, position, place], None)?);
                Ok(inner)
            })
        })?);
        Ok(body)
    }

    /// A key as what is compared.
    fn compared(&mut self, key: ExprId, dtype: DType) -> ExprId {
        let pool = &mut self.phase.exprs;
        if pool.dtype(key).bits() < dtype.bits() {
            return pool.cast(dtype, key);
        }
        let lowest = pool.constant(Const::min_value(dtype));
        let key = pool.add(Expr::Bitcast(dtype, key), dtype);
        pool.alu(Alu::Xor, &[key, lowest])
    }

    /// Adds to the counts of all lanes, or takes from them, what a block's keys and lanes give.
    fn counted(
        &mut self,
        order: &Order,
        keys: &Array,
        counts: &Array,
        block: &Size,
        by: Alu,
        count: &mut dyn FnMut(&mut Self, ExprId, &Size) -> ExprId,
    ) -> Made {
        self.repeat(order, &Size::from(sorts::COMPARED), LoopKind::Vector, &mut |this, lane| {
            let at = this.phase.exprs.index(block * sorts::COMPARED + &lane);
            let key = this.read(keys, Some(at));
            let more = count(this, key, &lane);
            let at = this.phase.exprs.index(lane);
            let old = this.read(counts, Some(at));
            let new = this.phase.exprs.alu(by, &[old, more]);
            Ok(vec![this.write(counts, Some(at), new, None)])
        })
    }

    /// 1 where it is so, else 0.
    fn as_number(&mut self, flag: ExprId, dtype: DType) -> ExprId {
        let [one, zero] = [1, 0].map(|n| self.number(dtype, n));
        self.phase.exprs.alu(Alu::Where, &[flag, one, zero])
    }
}

/// What keys are compared as: signed numbers, for which vectors have instructions.
fn compared(key: DType) -> DType {
    if key.bits() <= 32 { DType::I32 } else { DType::I64 }
}
