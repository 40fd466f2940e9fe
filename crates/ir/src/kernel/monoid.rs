//! The combining operations of reductions: a table, and what follows from it.

use crate::alu::Alu;
use std::fmt;
use svod_dtype::{Const, DType};

/// What the value that changes nothing is, of each type.
type Identity = fn(DType) -> Const;

macro_rules! monoids {
    ($($(#[$doc:meta])* $monoid:ident $name:literal, $op:expr, $identity:expr;)*) => {
        /// The combining operation of a reduction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Monoid { $($(#[$doc])* $monoid,)* }

        /// Of each: its name, the scalar operation if it is one, and its identity.
        const TABLE: &[(Monoid, &str, Option<Alu>, Identity)] = &[$((Monoid::$monoid, $name, $op, $identity),)*];

        impl Monoid {
            /// Every monoid.
            pub const ALL: &'static [Monoid] = &[$(Monoid::$monoid,)*];
        }
    };
}

monoids! {
    /// Sum; identity 0.
    Sum "sum", Some(Alu::Add), Const::zero;
    /// Product; identity 1.
    Prod "prod", Some(Alu::Mul), Const::one;
    /// Maximum, NaN propagating; identity is the least value (-inf).
    Max "max", Some(Alu::Max), Const::min_value;
    /// Minimum, NaN propagating; identity is the greatest value (+inf).
    Min "min", Some(Alu::Min), Const::max_value;
    /// Logical or.
    Any "any", Some(Alu::Or), Const::zero;
    /// Logical and.
    All "all", Some(Alu::And), Const::one;
    /// The index (carry of type i64, element = index) at which the carry just before it, a `Max`,
    /// last moved: the first index of the maximum.
    ArgMax "argmax", None, Const::zero;
    /// As `ArgMax`, after a `Min`.
    ArgMin "argmin", None, Const::zero;
    /// Mean and sum of squared deviations (three carries in a row: count, mean, m2; Welford 1962,
    /// Chan et al. 1979 for merging). The element of all three is the sample.
    Welford "welford", None, Const::zero;
}

impl Monoid {
    fn row(self) -> &'static (Monoid, &'static str, Option<Alu>, Identity) {
        &TABLE[self as usize]
    }

    /// The scalar operation, for the monoids that are one.
    pub fn alu(self) -> Option<Alu> {
        self.row().2
    }

    /// The value that changes nothing.
    pub fn identity(self, dtype: DType) -> Const {
        (self.row().3)(dtype)
    }

    /// The monoid with this name in the text form.
    pub fn parse(name: &str) -> Option<Monoid> {
        TABLE.iter().find(|(_, known, ..)| *known == name).map(|(monoid, ..)| *monoid)
    }
}

impl fmt::Display for Monoid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().1)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Small whole numbers, whose sums and products every type has exactly, and the extremes.
    fn samples(dtype: DType) -> Vec<Const> {
        let numbers = (0..3).map(|n| Const::i64(dtype, n));
        numbers.chain([Const::min_value(dtype), Const::max_value(dtype)]).collect()
    }

    /// The equations of a commutative monoid, for each row that is a scalar operation, on each type that it takes.
    #[test]
    fn the_equations_of_the_table_hold() {
        let mut checked = 0;
        for (at, monoid) in Monoid::ALL.iter().enumerate() {
            assert_eq!(*monoid as usize, at);
            assert_eq!(Monoid::parse(&monoid.to_string()), Some(*monoid));
            let Some(op) = monoid.alu() else { continue };
            // What computes with complex numbers are pairs of real ones; `any` and `all` are of bools alone.
            let bools = matches!(monoid, Monoid::Any | Monoid::All);
            let takes = |d: &&DType| {
                let known = op.result(&[**d; 2]) == Some(**d) && op.eval(&[Const::one(**d); 2]).is_some();
                known && (!bools || **d == DType::Bool)
            };
            for &dtype in DType::ALL.iter().filter(takes) {
                let plus = |a: Const, b: Const| op.eval(&[a, b]).unwrap();
                for a in samples(dtype) {
                    assert_eq!(plus(monoid.identity(dtype), a), a, "{monoid} of {dtype}");
                    for b in samples(dtype) {
                        assert_eq!(plus(a, b), plus(b, a), "{monoid} of {dtype}");
                        let extreme = |c: &Const| samples(dtype)[3..].contains(c) && dtype.is_float();
                        for c in samples(dtype).into_iter().filter(|c| ![a, b, *c].iter().any(extreme)) {
                            assert_eq!(plus(plus(a, b), c), plus(a, plus(b, c)), "{monoid} of {dtype}");
                            checked += 1;
                        }
                    }
                }
            }
        }
        assert!(checked > 1000, "{checked}");
    }
}
