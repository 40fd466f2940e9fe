//! Values of expressions.

use super::LowerError;
use super::Lowering;
use rustc_hash::{FxHashMap, FxHashSet};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId};
use svod_ir::linear::{Inst, Ty, Val};
use svod_ir::size::{Size, Variable};

/// How expressions are used by others.
struct Uses {
    count: FxHashMap<ExprId, u32>,
    /// See [`Lowering::exponents`].
    exponents: FxHashSet<ExprId>,
}

impl Lowering<'_> {
    /// The values of some expressions: vectors where they depend on the vector loop.
    pub(super) fn eval(&mut self, roots: &[ExprId]) -> Result<Vec<Val>, LowerError> {
        let order = self.phase.exprs.outside_lanes(roots);
        let mut uses: FxHashMap<ExprId, u32> = FxHashMap::default();
        for id in order.iter().flat_map(|id| self.phase.exprs.get(*id).operands()).chain(roots.iter().copied()) {
            *uses.entry(id).or_default() += 1;
        }
        let uses = Uses { count: uses, exponents: self.exponents(&order) };
        let mut values: FxHashMap<ExprId, Val> = FxHashMap::default();
        for id in order {
            let value = self.node(id, &values, &uses)?;
            values.insert(id, value);
        }
        Ok(roots.iter().map(|root| values[root]).collect())
    }

    fn node(&mut self, id: ExprId, values: &FxHashMap<ExprId, Val>, uses: &Uses) -> Result<Val, LowerError> {
        let pool = &self.phase.exprs;
        match pool.get(id) {
            Expr::Const(c) => Ok(self.b.constant(*c)),
            Expr::Index(size) => self.size(size),
            Expr::Alu(op @ (Alu::Lt | Alu::Le), args) => {
                if let (Expr::Index(a), Expr::Index(b)) = (pool.get(args[0]), pool.get(args[1]))
                    && let Some(mask) = self.bound(a - b + i64::from(*op == Alu::Lt))?
                {
                    return Ok(mask);
                }
                Ok(self.alu(*op, &[values[&args[0]], values[&args[1]]]))
            }
            Expr::Alu(op, args) => {
                if let Some(fused) = self.multiply_add(id, *op, args, values, uses) {
                    return Ok(fused);
                }
                let args: Vec<Val> = args.iter().map(|a| values[a]).collect();
                Ok(self.alu(*op, &args))
            }
            Expr::Cast(to, v) => Ok(self.convert(*to, values[v])),
            Expr::Bitcast(to, v) => Ok(self.reinterpret(*to, values[v])),
            Expr::Load { from, index, valid, other } => {
                let at: Vec<Val> = index.iter().map(|i| values[i]).collect();
                self.load(pool.dtype(id), *from, index, &at, valid.map(|v| (v, values[&v])), *other)
            }
            Expr::Lanes { op, lanes, value } => {
                let (op, lanes, value) = (*op, lanes.clone(), *value);
                let count = Variable::max(&lanes) + 1;
                if self.vector.is_some() {
                    return self.reduce_unrolled(op, &lanes, count, value);
                }
                self.vector = (count > 1).then(|| (lanes.clone(), count as u32));
                if count <= 1 {
                    let zero = self.b.index(0);
                    self.env.insert(lanes, zero);
                }
                let value = self.eval(&[value]);
                self.vector = None;
                let value = self.b.widen(value?[0], count.max(1) as u32);
                Ok(self.reduce(op, value))
            }
            Expr::Alike { value, before, .. } => {
                let (value, lanes) = (values[value], self.lanes());
                if lanes == 1 {
                    return Ok(self.b.constant(Const::i64(DType::U32, i64::from(!before))));
                }
                let value = self.b.widen(value, lanes);
                Ok(self.b.pure(self.b.ty(value), Inst::Alike(value, *before)))
            }
            Expr::Running { op, value, .. } => {
                let value = self.b.widen(values[value], self.lanes());
                Ok(self.scan(*op, value))
            }
            Expr::Carry(..) | Expr::Old(..) | Expr::New(..) => Err(LowerError::Expr(id)),
        }
    }

    /// Lanes inside of a vector loop: one vector for each lane, combined as a tree of halves.
    fn reduce_unrolled(&mut self, op: Alu, lanes: &Variable, count: i64, value: ExprId) -> Result<Val, LowerError> {
        let mut values = Vec::new();
        for lane in 0..count.max(1) {
            let lane = self.b.index(lane);
            self.env.insert(lanes.clone(), lane);
            values.push(self.eval(&[value])?[0]);
        }
        while values.len() > 1 {
            let upper = values.split_off(values.len() / 2);
            values = values.iter().zip(upper).map(|(a, b)| self.alu(op, &[*a, b])).collect();
        }
        Ok(values[0])
    }

    /// The lanes in which `excess <= 0`, for an excess that grows or falls by one from lane to lane:
    /// a comparison of 32-bit lane numbers with a scalar.
    fn bound(&mut self, excess: Size) -> Result<Option<Val>, LowerError> {
        let Some((start, step)) = self.affine(&excess) else { return Ok(None) };
        let lanes = self.lanes();
        let Some(step @ (1 | -1)) = step.as_const() else { return Ok(None) };
        // Growing: lane <= -start. Falling: start <= lane.
        let limit = if step == 1 { Size::ONE - start } else { start };
        let limit = self.size(&limit)?;
        let (zero, most) = (self.b.index(0), self.b.index(lanes.into()));
        let limit = self.b.alu(Alu::Max, &[limit, zero]);
        let limit = self.b.alu(Alu::Min, &[limit, most]);
        let limit = self.b.cast(DType::I32, limit);
        let lane = self.b.pure(Ty { dtype: DType::I32, lanes }, Inst::Iota);
        Ok(Some(match step {
            1 => self.b.alu(Alu::Lt, &[lane, limit]),
            _ => self.b.alu(Alu::Le, &[limit, lane]),
        }))
    }

    /// The sums of which exponentials are taken, maybe times something.
    fn exponents(&self, order: &[ExprId]) -> FxHashSet<ExprId> {
        let pool = &self.phase.exprs;
        let mut found = FxHashSet::default();
        for id in order.iter().rev() {
            match pool.get(*id) {
                Expr::Alu(Alu::Exp | Alu::Exp2, args) => found.extend(args),
                Expr::Alu(Alu::Mul | Alu::Where, args) if found.contains(id) => found.extend(args),
                Expr::Cast(_, v) if found.contains(id) => {
                    found.insert(*v);
                }
                _ => {}
            }
        }
        found
    }

    /// A sum with a product that nothing else uses, as one multiply-add.
    ///
    /// Not in an exponent: there a row's maximum of rounded products is subtracted from what has to be no larger,
    /// and the exponential of an excess of a unit in the last place of a large number is infinite.
    fn multiply_add(
        &mut self,
        id: ExprId,
        op: Alu,
        args: &[ExprId],
        values: &FxHashMap<ExprId, Val>,
        uses: &Uses,
    ) -> Option<Val> {
        let pool = &self.phase.exprs;
        if !self.fuse || !matches!(op, Alu::Add | Alu::Sub) || !pool.dtype(args[0]).is_float() {
            return None;
        }
        if uses.exponents.contains(&id) {
            return None;
        }
        let product = |id: ExprId| match pool.get(id) {
            Expr::Alu(Alu::Mul, factors) if uses.count[&id] == 1 => Some((values[&factors[0]], values[&factors[1]])),
            _ => None,
        };
        let (left, right) = (values[&args[0]], values[&args[1]]);
        if self.b.as_const(left).is_some() && self.b.as_const(right).is_some() {
            return None;
        }
        match (op, product(args[0]), product(args[1])) {
            (Alu::Add, Some((a, b)), _) => Some(self.alu(Alu::MulAdd, &[a, b, right])),
            (Alu::Add, None, Some((a, b))) => Some(self.alu(Alu::MulAdd, &[a, b, left])),
            (_, Some((a, b)), _) => {
                let right = self.alu(Alu::Neg, &[right]);
                Some(self.alu(Alu::MulAdd, &[a, b, right]))
            }
            (_, None, Some((a, b))) => {
                let a = self.alu(Alu::Neg, &[a]);
                Some(self.alu(Alu::MulAdd, &[a, b, left]))
            }
            (_, None, None) => None,
        }
    }

    pub(super) fn reinterpret(&mut self, to: DType, v: Val) -> Val {
        match (self.b.ty(v).dtype, to) {
            (from, to) if from == to => v,
            // A bool has its own registers: through the byte it would be in memory.
            (DType::Bool, _) => {
                let byte = self.b.cast(DType::U8, v);
                self.b.bitcast(to, byte)
            }
            (_, DType::Bool) => {
                let byte = self.b.bitcast(DType::U8, v);
                let zero = self.b.constant(Const::zero(DType::U8));
                self.b.alu(Alu::Ne, &[byte, zero])
            }
            _ => self.b.bitcast(to, v),
        }
    }
}
