//! Arithmetic on indices: a [`Size`] wherever it is known, else operations on data.

use super::{Build, Index};
use smallvec::SmallVec;
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId};
use svod_ir::size::Size;

impl Build<'_> {
    /// `inside` and `0 <= i < extent`, as far as that is not known to hold.
    pub(super) fn within(&mut self, inside: Option<ExprId>, i: ExprId, extent: &Size) -> Option<ExprId> {
        let (low, high) = match self.kernel.exprs.get(i) {
            Expr::Index(size) => (size.ge(&Size::from(0)) == Some(true), size.lt(extent) == Some(true)),
            _ => (false, false),
        };
        let pool = &mut self.kernel.exprs;
        let mut inside = inside;
        let mut and = |pool: &mut svod_ir::expr::ExprPool, c: ExprId| {
            inside = Some(inside.map_or(c, |x| pool.alu(Alu::And, &[x, c])));
        };
        if !low {
            let zero = pool.index(0i64);
            let c = pool.alu(Alu::Le, &[zero, i]);
            and(pool, c);
        }
        if !high {
            let end = pool.index(extent.clone());
            let c = pool.alu(Alu::Lt, &[i, end]);
            and(pool, c);
        }
        inside
    }

    /// Whether a condition on positions holds, where it is the same everywhere.
    pub(super) fn truth(&self, condition: ExprId) -> Option<bool> {
        let Expr::Alu(op, of) = self.kernel.exprs.get(condition) else { return None };
        match (op, &of[..]) {
            (Alu::And, [a, b]) => match (self.truth(*a), self.truth(*b)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (a, b) => Some(a? && b?),
            },
            (Alu::Lt, [a, b]) => self.size_of(*a)?.lt(&self.size_of(*b)?),
            (Alu::Le, [a, b]) => self.size_of(*a)?.le(&self.size_of(*b)?),
            _ => None,
        }
    }

    pub(super) fn integer(&mut self, size: Size) -> ExprId {
        for v in size.variables() {
            if !self.kernel.vars.contains(&v) {
                self.kernel.vars.push(v);
            }
        }
        let at = self.kernel.exprs.index(size);
        self.kernel.exprs.cast(DType::I64, at)
    }

    pub(super) fn size_of(&self, i: ExprId) -> Option<Size> {
        match self.kernel.exprs.get(i) {
            Expr::Index(size) => Some(size.clone()),
            _ => None,
        }
    }

    /// The size that an integer of 64 bits is, if it comes from positions.
    pub(super) fn position(&self, e: ExprId) -> Option<Size> {
        let exprs = &self.kernel.exprs;
        match exprs.get(e) {
            Expr::Cast(DType::I64, i) => self.size_of(*i),
            Expr::Const(c) if c.dtype() == DType::I64 => Some(Size::from(c.as_i64())),
            Expr::Alu(Alu::Add, of) if exprs.dtype(e) == DType::I64 => {
                Some(self.position(of[0])? + self.position(of[1])?)
            }
            _ => None,
        }
    }

    pub(super) fn plus(&mut self, i: ExprId, by: Size) -> ExprId {
        match self.size_of(i) {
            Some(size) => self.kernel.exprs.index(size + by),
            None if by == Size::from(0) => i,
            None => {
                let by = self.kernel.exprs.index(by);
                self.kernel.exprs.alu(Alu::Add, &[i, by])
            }
        }
    }

    pub(super) fn times(&mut self, i: ExprId, by: usize) -> ExprId {
        match self.size_of(i) {
            Some(size) => self.kernel.exprs.index(size * Size::from(by)),
            None => {
                let by = self.kernel.exprs.index(by);
                self.kernel.exprs.alu(Alu::Mul, &[i, by])
            }
        }
    }

    pub(super) fn sum(&mut self, a: ExprId, b: ExprId) -> ExprId {
        match (self.size_of(a), self.size_of(b)) {
            (Some(x), Some(y)) => self.kernel.exprs.index(x + y),
            _ => self.kernel.exprs.alu(Alu::Add, &[a, b]),
        }
    }

    pub(super) fn minus(&mut self, a: ExprId, b: ExprId) -> ExprId {
        match (self.size_of(a), self.size_of(b)) {
            (Some(x), Some(y)) => self.kernel.exprs.index(x - y),
            _ => self.kernel.exprs.alu(Alu::Sub, &[a, b]),
        }
    }

    /// The row-major position of an index in a shape.
    pub(super) fn flat(&mut self, index: &[ExprId], shape: &[Size]) -> ExprId {
        let mut position = self.kernel.exprs.index(0i64);
        for (i, extent) in index.iter().zip(shape) {
            position = match (self.size_of(position), self.size_of(*i)) {
                (Some(p), Some(i)) => self.kernel.exprs.index(p * extent + i),
                _ => {
                    let extent = self.kernel.exprs.index(extent.clone());
                    let scaled = self.kernel.exprs.alu(Alu::Mul, &[position, extent]);
                    self.kernel.exprs.alu(Alu::Add, &[scaled, *i])
                }
            };
        }
        position
    }

    /// An index into `outer` as one into `inner`, a shape of the same elements.
    pub(super) fn reshape(&mut self, index: &[ExprId], outer: &[Size], inner: &[Size]) -> Index {
        let mut result: Index = SmallVec::new();
        let (mut o, mut i) = (0, 0);
        // Groups of dimensions with equal products are independent of each other.
        while i < inner.len() || o < outer.len() {
            let (first_o, first_i) = (o, i);
            let (mut left, mut right) = (Size::from(1), Size::from(1));
            loop {
                let grow_left =
                    i == inner.len() || (o < outer.len() && no_larger(&left, &right) && (left != right || i > first_i));
                if grow_left {
                    left = left * &outer[o];
                    o += 1;
                } else {
                    right = right * &inner[i];
                    i += 1;
                }
                if (left == right && o > first_o && i > first_i) || (o == outer.len() && i == inner.len()) {
                    break;
                }
            }
            while o < outer.len() && outer[o].as_const() == Some(1) {
                o += 1;
            }
            while i < inner.len() && inner[i].as_const() == Some(1) {
                i += 1;
            }
            let position = self.flat(&index[first_o..o], &outer[first_o..o]);
            result.extend(self.unflat(position, &inner[first_i..i]));
        }
        result
    }

    fn unflat(&mut self, position: ExprId, shape: &[Size]) -> Index {
        let mut index = SmallVec::new();
        let mut left = position;
        for (d, extent) in shape.iter().enumerate().rev() {
            if d == 0 {
                index.push(left);
            } else if extent.as_const() == Some(1) {
                index.push(self.kernel.exprs.index(0i64));
            } else if let Some(size) = self.size_of(left) {
                index.push(self.kernel.exprs.index(size.modulo(extent)));
                left = self.kernel.exprs.index(size.floordiv(extent));
            } else {
                let by = self.kernel.exprs.index(extent.clone());
                index.push(self.kernel.exprs.alu(Alu::FloorMod, &[left, by]));
                left = self.kernel.exprs.alu(Alu::FloorDiv, &[left, by]);
            }
        }
        index.reverse();
        index
    }
}

/// Whether one product of extents is no larger than another; where an extent may be 0, as if none were.
fn no_larger(a: &Size, b: &Size) -> bool {
    a.le(b).unwrap_or_else(|| a.upper_bound() <= b.upper_bound())
}
