//! Few points: the place of each is the number of those before it, which are counted in lanes.

use super::{Array, Order};
use crate::lower::{Lowerer, Nest, Step};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::lowered::{Home, LoopKind};
use svod_ir::size::Size;

/// So many points are few: each is compared with all others, which beyond takes longer than the histograms of a
/// radix sort.
const FEW: i64 = 64;

/// Bits of a point's number among few.
const NUMBER: i64 = 6;

/// Lanes in which points are compared.
const LANES: i64 = 8;

/// Whether points are few. Those of one digit have but one histogram.
pub(super) fn is_worth_it(order: &Order) -> bool {
    order.passes() > 1 && order.points.upper_bound().is_some_and(|n| n <= FEW)
}

/// What is compared, as signed numbers of 64 bits: vectors have instructions for those.
struct Compared {
    keys: Array,
    /// The points' numbers, where keys have no room for them.
    numbers: Option<Array>,
}

impl Lowerer<'_> {
    /// Sorts one row of few points.
    pub(super) fn rank(&mut self, order: &Order, nest: &Nest) -> Step {
        let most = order.points.upper_bound().unwrap_or(FEW).max(1);
        let blocks = Size::from((most + LANES - 1) / LANES);
        let extent = blocks.clone() * LANES;
        let keys = self.scratch("keys", DType::I64, extent.clone());
        let wide = i64::from(order.dtype.bits()) + NUMBER >= 64;
        let numbers = wide.then(|| self.scratch("numbers", DType::I64, extent));
        let of = Compared { keys, numbers };

        let mut body = self.beyond_all(order, &of, &blocks)?;
        body.extend(self.repeat(order, &order.points.clone(), LoopKind::Serial, &mut |this, i| {
            let key = this.key_at(order, nest, &i)?;
            let at = this.phase.exprs.index(i);
            let number = this.phase.exprs.cast(DType::I64, at);
            let compared = this.compared(key, number, wide);
            let mut stores = vec![this.write(&of.keys, Some(at), compared, None)];
            if let Some(numbers) = &of.numbers {
                stores.push(this.write(numbers, Some(at), number, None));
            }
            Ok(stores)
        })?);

        let lanes = Size::from(LANES);
        let temp = self.temp("before".into(), DType::I64, vec![lanes.clone()], Home::Register);
        let before = Array { mem: Mem::Temp(temp, 0), dtype: DType::I64, row: Vec::new() };
        body.extend(self.repeat(order, &order.points.clone(), LoopKind::Serial, &mut |this, i| {
            let mut inner = this.repeat(order, &lanes, LoopKind::Vector, &mut |this, lane| {
                let (lane, zero) = (this.phase.exprs.index(lane), this.number(DType::I64, 0));
                Ok(vec![this.write(&before, Some(lane), zero, None)])
            })?;
            let own = this.phase.exprs.index(i.clone());
            inner.extend(this.repeat(order, &blocks, LoopKind::Serial, &mut |this, b| {
                this.repeat(order, &lanes, LoopKind::Vector, &mut |this, lane| {
                    let at = this.phase.exprs.index(b.clone() * LANES + &lane);
                    let lane = this.phase.exprs.index(lane);
                    let is_before = this.is_before(&of, at, own);
                    let [one, zero] = [1, 0].map(|n| this.number(DType::I64, n));
                    let counts = this.phase.exprs.alu(Alu::Where, &[is_before, one, zero]);
                    let old = this.read(&before, Some(lane));
                    let new = this.phase.exprs.alu(Alu::Add, &[old, counts]);
                    Ok(vec![this.write(&before, Some(lane), new, None)])
                })
            })?);
            let place = this.all_lanes(&before, LANES, Alu::Add)?;
            let place = this.phase.exprs.cast(DType::Index, place);
            let key = this.key_at(order, nest, &i)?;
            let position = this.phase.exprs.cast(order.position, own);
            inner.extend(this.results_at(order, nest, key, position, place)?);
            Ok(inner)
        })?);
        Ok(body)
    }

    /// A point's key, with its number below it, or with its highest bit flipped.
    fn compared(&mut self, key: ExprId, number: ExprId, wide: bool) -> ExprId {
        let by = self.number(DType::I64, NUMBER);
        let lowest = self.phase.exprs.constant(Const::min_value(DType::I64));
        let pool = &mut self.phase.exprs;
        if wide {
            let key = pool.add(Expr::Bitcast(DType::I64, key), DType::I64);
            return pool.alu(Alu::Xor, &[key, lowest]);
        }
        let key = pool.cast(DType::I64, key);
        let above = pool.alu(Alu::Shl, &[key, by]);
        pool.alu(Alu::Or, &[above, number])
    }

    /// Fills what is compared with what is before nothing.
    fn beyond_all(&mut self, order: &Order, of: &Compared, blocks: &Size) -> Step {
        self.repeat(order, blocks, LoopKind::Serial, &mut |this, b| {
            this.repeat(order, &Size::from(LANES), LoopKind::Vector, &mut |this, lane| {
                let at = this.phase.exprs.index(b.clone() * LANES + lane);
                let greatest = this.phase.exprs.constant(Const::max_value(DType::I64));
                let arrays = [Some(&of.keys), of.numbers.as_ref()].into_iter().flatten();
                Ok(arrays.map(|array| this.write(array, Some(at), greatest, None)).collect())
            })
        })
    }

    /// Whether one point comes before another: it is less, or as great and an earlier one.
    fn is_before(&mut self, of: &Compared, point: ExprId, other: ExprId) -> ExprId {
        let [key, limit] = [point, other].map(|at| self.read(&of.keys, Some(at)));
        let less = self.phase.exprs.alu(Alu::Lt, &[key, limit]);
        let Some(numbers) = &of.numbers else { return less };
        let [number, own] = [point, other].map(|at| self.read(numbers, Some(at)));
        let pool = &mut self.phase.exprs;
        let (same, earlier) = (pool.alu(Alu::Eq, &[key, limit]), pool.alu(Alu::Lt, &[number, own]));
        let tie = pool.alu(Alu::And, &[same, earlier]);
        pool.alu(Alu::Or, &[less, tie])
    }
}
