//! The first few of many points: most are ruled out by a threshold before anything is sorted.
//!
//! Of the least key of each block of points, the k-th least bounds the k-th least key of all: k blocks
//! have a point that low. What is above is not among the first k, and seldom is much left.

use super::{Array, Order, Range};
use crate::costs::limits::{registers, sorts};
use crate::lower::{Lowerer, Made, Nest};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::ExprId;
use svod_ir::lowered::{Home, LoopKind, Stmt};
use svod_ir::size::Size;

/// The points of a block, if blocks of some size outnumber the places enough for a threshold to rule out most points.
pub(super) fn block_of(order: &Order) -> Option<i64> {
    let (points, places) = (order.points.as_const()?, order.places.as_const()?);
    sorts::SELECTED.into_iter().find(|block| places > 0 && points / block >= sorts::ENOUGH * places)
}

impl Lowerer<'_> {
    /// Sorts the first few of a row, in blocks of so many points.
    pub(super) fn select(&mut self, order: &Order, nest: &Nest, block: i64) -> Made {
        // What is sorted in the end are few.
        let order = &Order { bits: sorts::NARROW_DIGIT, ..order.clone() };
        let block = Size::from(block);
        let blocks = order.points.ceil_div(&block);
        let least = self.scratch("least", order.dtype, blocks.clone());
        let mut body = self.least_of_blocks(order, nest, &block, &least)?;
        let threshold = self.register("threshold", order.dtype);
        body.extend(self.threshold(order, &least, &blocks, &threshold)?);

        let candidates = self.copy_of_points(order)?;
        let count = self.register("candidates", order.position);
        let zero = self.number(order.position, 0);
        body.push(self.write(&count, None, zero, None));
        body.extend(self.repeat(order, &blocks, LoopKind::Serial, &mut |this, b| {
            let at = this.phase.exprs.index(b.clone());
            let low = this.read(&least, Some(at));
            let low = this.at_most(low, &threshold);
            let first = &b * &block;
            let points = (&order.points - &first).min(&block);
            let inner = this.repeat(order, &points, LoopKind::Serial, &mut |this, i| {
                let [key, position] = this.point_of(order, nest, None, &(&first + &i))?;
                let stays = this.at_most(key, &threshold);
                let at = this.read(&count, None);
                let at = Some(this.phase.exprs.cast(DType::Index, at));
                let stores = vec![
                    this.write(&candidates.keys, at, key, None),
                    this.write(&candidates.positions, at, position, None),
                    this.increment(&count, None),
                ];
                Ok(vec![Stmt::If(stays, stores)])
            })?;
            Ok(vec![Stmt::If(low, inner)])
        })?);
        let copies = [self.copy_of_points(order)?, candidates.clone()];
        let range = Range::Counted { count, most: order.points.clone() };
        body.extend(self.sort_range(order, nest, Some(&candidates), &copies, &range)?);
        Ok(body)
    }

    fn at_most(&mut self, key: ExprId, limit: &Array) -> ExprId {
        let limit = self.read(limit, None);
        self.phase.exprs.alu(Alu::Le, &[key, limit])
    }

    /// The least key of each block.
    fn least_of_blocks(&mut self, order: &Order, nest: &Nest, block: &Size, least: &Array) -> Made {
        let lanes = Size::from(registers::WIDEST);
        let temp = self.temp("lanes".into(), order.dtype, vec![lanes.clone()], Home::Register);
        let acc = Array { mem: svod_ir::expr::Mem::Temp(temp, 0), dtype: order.dtype, row: Vec::new() };
        let greatest = self.phase.exprs.constant(Const::max_value(order.dtype));
        let whole = order.points.floordiv(block);
        let mut body = self.repeat(order, &whole, LoopKind::Serial, &mut |this, b| {
            let mut inner = this.repeat(order, &lanes, LoopKind::Vector, &mut |this, lane| {
                let at = this.phase.exprs.index(lane);
                Ok(vec![this.write(&acc, Some(at), greatest, None)])
            })?;
            inner.extend(this.repeat(
                order,
                &block.floordiv(registers::WIDEST),
                LoopKind::Unroll,
                &mut |this, part| {
                    let first = &(&b * block) + &(&part * &Size::from(registers::WIDEST));
                    this.repeat(order, &lanes, LoopKind::Vector, &mut |this, lane| {
                        let key = this.key_at(order, nest, &(&first + &lane))?;
                        let at = this.phase.exprs.index(lane);
                        let old = this.read(&acc, Some(at));
                        let new = this.phase.exprs.alu(Alu::Min, &[old, key]);
                        Ok(vec![this.write(&acc, Some(at), new, None)])
                    })
                },
            )?);
            let value = this.all_lanes(&acc, registers::WIDEST, Alu::Min)?;
            let at = this.phase.exprs.index(b);
            inner.push(this.write(least, Some(at), value, None));
            Ok(inner)
        })?;
        let rest = order.points.modulo(block);
        if rest.as_const() != Some(0) {
            let last = self.phase.exprs.index(whole.clone());
            body.push(self.write(least, Some(last), greatest, None));
            body.extend(self.repeat(order, &rest, LoopKind::Serial, &mut |this, i| {
                let key = this.key_at(order, nest, &(&(&whole * block) + &i))?;
                let old = this.read(least, Some(last));
                let new = this.phase.exprs.alu(Alu::Min, &[old, key]);
                Ok(vec![this.write(least, Some(last), new, None)])
            })?);
        }
        Ok(body)
    }

    /// The k-th least of some keys for k places, digit by digit from the most significant one.
    fn threshold(&mut self, order: &Order, keys: &Array, count: &Size, threshold: &Array) -> Made {
        let counts = self.scratch("digits", order.position, Size::from(order.digits()));
        let left = self.register("left", order.position);
        let found = self.register("found", DType::Bool);
        let places = self.phase.exprs.index(order.places.clone());
        let places = self.phase.exprs.cast(order.position, places);
        let zero = self.number(order.dtype, 0);
        let mut body = vec![self.write(&left, None, places, None), self.write(threshold, None, zero, None)];
        for pass in (0..order.passes()).rev() {
            body.extend(self.fill_zero(order, &counts)?);
            // Above the digit, keys agree with what is known of the threshold.
            let above = self.number(order.dtype, i64::from((pass + 1) * order.bits));
            body.extend(self.repeat(order, count, LoopKind::Serial, &mut |this, i| {
                let at = this.phase.exprs.index(i);
                let (key, known) = (this.read(keys, Some(at)), this.read(threshold, None));
                let pool = &mut this.phase.exprs;
                let [a, b] = [key, known].map(|k| pool.alu(Alu::Shr, &[k, above]));
                let agrees = pool.alu(Alu::Eq, &[a, b]);
                let digit = this.digit(order, pass, key);
                Ok(vec![Stmt::If(agrees, vec![this.increment(&counts, Some(digit))])])
            })?);
            let no = self.phase.exprs.constant(Const::bool(false));
            body.push(self.write(&found, None, no, None));
            let shift = self.number(order.dtype, i64::from(pass * order.bits));
            body.extend(self.repeat(order, &Size::from(order.digits()), LoopKind::Serial, &mut |this, d| {
                let d = this.phase.exprs.index(d);
                let (here, left_now) = (this.read(&counts, Some(d)), this.read(&left, None));
                let open = this.read(&found, None);
                let pool = &mut this.phase.exprs;
                let digit = pool.cast(order.dtype, d);
                let digit = pool.alu(Alu::Shl, &[digit, shift]);
                let reached = pool.alu(Alu::Le, &[left_now, here]);
                let yes = pool.constant(Const::bool(true));
                let less = pool.alu(Alu::Sub, &[left_now, here]);
                let no = pool.constant(Const::bool(false));
                let open = pool.alu(Alu::Eq, &[open, no]);
                let known = this.read(threshold, None);
                let known = this.phase.exprs.alu(Alu::Or, &[known, digit]);
                let take = vec![this.write(threshold, None, known, None), this.write(&found, None, yes, None)];
                let passed = this.phase.exprs.alu(Alu::Eq, &[reached, no]);
                let skip = vec![this.write(&left, None, less, None)];
                // What `skip` writes both conditions read.
                let step = vec![Stmt::If(reached, take), Stmt::If(passed, skip)];
                Ok(vec![Stmt::If(open, step)])
            })?);
        }
        Ok(body)
    }
}
