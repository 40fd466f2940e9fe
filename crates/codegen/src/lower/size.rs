//! Integer arithmetic from sizes.

use super::LowerError;
use super::Lowering;
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::linear::{Inst, Ty, Val};
use svod_ir::size::{Atom, Fault, Size, Variable};

impl Lowering<'_> {
    /// The value of a size: a vector where it depends on the vector loop, else a scalar.
    pub(super) fn size(&mut self, size: &Size) -> Result<Val, LowerError> {
        let terms = size.terms().ok_or(size.fault().unwrap_or(Fault::Overflow))?;
        let (mut sums, mut constant) = (Vec::new(), 0);
        for term in &terms {
            if term.factors().is_empty() {
                constant = term.coefficient();
                continue;
            }
            let mut factors = term.factors().iter().map(|a| self.atom(a)).collect::<Result<Vec<Val>, _>>()?;
            factors.sort_by_key(|v| self.rank(*v));
            let coefficient = self.b.index(term.coefficient().checked_abs().ok_or(Fault::Overflow)?);
            let product = factors.into_iter().fold(coefficient, |product, v| self.b.alu(Alu::Mul, &[product, v]));
            sums.push((term.coefficient() < 0, product));
        }
        // Invariant parts first, so that their sums leave the loops in which they do not change;
        // the constant last, where it can be part of an address.
        sums.sort_by_key(|(_, v)| self.rank(*v));
        let zero = self.b.index(0);
        let sum = sums.into_iter().fold(zero, |sum, (negative, v)| match negative {
            true => self.b.alu(Alu::Sub, &[sum, v]),
            false => self.b.alu(Alu::Add, &[sum, v]),
        });
        let constant = self.b.index(constant);
        Ok(self.b.alu(Alu::Add, &[sum, constant]))
    }

    fn rank(&self, v: Val) -> (u32, usize) {
        (self.b.ty(v).lanes, self.b.level(v))
    }

    fn atom(&mut self, atom: &Atom) -> Result<Val, LowerError> {
        let Some((a, b)) = atom.operands() else {
            let Atom::Var(v) = atom else { return Err(Fault::TooComplex.into()) };
            return self.variable(v);
        };
        let (x, y) = (self.size(a)?, self.size(b)?);
        let natural = a.bounds().0 >= 0 && b.bounds().0 > 0;
        let power = b.as_const().filter(|n| n.count_ones() == 1 && *n > 0);
        Ok(match (atom, power) {
            (Atom::FloorDiv(..), Some(n)) => {
                let shift = self.b.index(n.trailing_zeros().into());
                self.b.alu(Alu::Shr, &[x, shift])
            }
            (Atom::Mod(..), Some(n)) => {
                let mask = self.b.index(n - 1);
                self.b.alu(Alu::And, &[x, mask])
            }
            (Atom::FloorDiv(..), None) if natural => self.unsigned(Alu::IDiv, x, y),
            (Atom::Mod(..), None) if natural => self.unsigned(Alu::Rem, x, y),
            (Atom::FloorDiv(..), None) => self.b.alu(Alu::FloorDiv, &[x, y]),
            (Atom::Mod(..), None) => self.b.alu(Alu::FloorMod, &[x, y]),
            (Atom::Min(..), _) => self.b.alu(Alu::Min, &[x, y]),
            (Atom::Max(..), _) => self.b.alu(Alu::Max, &[x, y]),
            (Atom::Var(v), _) => self.variable(v)?,
        })
    }

    /// A division or remainder of numbers that are not negative, which unsigned arithmetic does
    /// in fewer instructions.
    pub(super) fn unsigned(&mut self, op: Alu, a: Val, b: Val) -> Val {
        let (a, b) = (self.b.bitcast(DType::U64, a), self.b.bitcast(DType::U64, b));
        let result = self.b.alu(op, &[a, b]);
        self.b.bitcast(DType::Index, result)
    }

    fn variable(&mut self, v: &Variable) -> Result<Val, LowerError> {
        match &self.vector {
            Some((var, lanes)) if var == v => {
                let ty = Ty { dtype: DType::Index, lanes: *lanes };
                Ok(self.b.pure(ty, Inst::Iota))
            }
            _ => self.env.get(v).copied().ok_or_else(|| LowerError::Unbound(v.name().to_owned())),
        }
    }

    /// The size as `start + step * lane` of the open vector loop, if it is of that form.
    pub(super) fn affine(&self, size: &Size) -> Option<(Size, Size)> {
        let (var, _) = self.vector.as_ref()?;
        let at = |n: i64| size.substitute(&|v| (v == var).then(|| Size::from(n)));
        let start = at(0);
        let step = at(1) - &start;
        (&step * var + &start == *size).then_some((start, step))
    }

    /// The value of a size in terms of constants and unrolled loops, at a lane of the vector loop.
    pub(super) fn fixed(&self, size: &Size, lane: i64) -> Option<i64> {
        let lookup = |v: &Variable| match &self.vector {
            Some((var, _)) if var == v => Some(lane),
            _ => self.env.get(v).and_then(|v| self.b.as_const(*v)).map(|c| c.as_i64()),
        };
        size.eval(&lookup).ok()
    }
}
