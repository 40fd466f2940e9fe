//! Symbolic integers: numbers of elements, bytes, tasks and flops.
//!
//! A [`Size`] is a polynomial over [`Variable`]s and over the non-linear atoms `a//b`, `a%b`,
//! `min(a, b)` and `max(a, b)`, kept in a canonical form. Division and remainder floor.
//!
//! Invariants:
//! * equal canonical forms have equal values under every binding (not the converse);
//! * [`Size::bounds`] holds every value that [`Size::eval`] can give;
//! * a comparison answers yes, no or unknown, and never guesses;
//! * nothing panics: where arithmetic overflows 64 bits, divides by a constant 0, or an expression
//!   grows past [`MAX_WEIGHT`] or [`MAX_DEPTH`], the result is a *faulty* size: it absorbs what it
//!   is combined with, has unknown bounds, equals no number, and `eval` gives its [`Fault`].

mod bernstein;
mod bounds;
mod compare;
mod divide;
mod poly;
mod text;
mod variable;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::iter::{Product, Sum};
use std::ops::{Add, Mul, Neg, Sub};

use poly::Repr;

pub use poly::{Atom, MAX_DEPTH, MAX_WEIGHT, Term, gcd};
pub use variable::{BoundVariable, CORE_ID, Variable};

/// A canonical integer expression; see the [module](self).
///
/// There is no `Ord`: `<` on sizes would suggest an answer where there may be none. Use
/// [`Size::lt`] and its kin for values, [`Size::structural_cmp`] to sort.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Size(Repr);

/// Why a size has no value whatever its variables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum Fault {
    /// A value does not fit 64 bits.
    #[error("a size overflows 64 bits")]
    Overflow,
    /// A division or remainder by 0.
    #[error("a size divides by zero")]
    DivisionByZero,
    /// An expression beyond the limits on its weight or depth.
    #[error("a size expression is too complex")]
    TooComplex,
}

/// What can go wrong with variables and sizes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// See [`Fault`].
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A name that is not an identifier.
    #[error("'{0}' cannot name a variable")]
    BadName(String),
    /// A name that kernels have for themselves.
    #[error("variable '{0}' has a name that svod gives itself (a0, p0, e0, core_id, if, else): choose another one")]
    Reserved(String),
    /// Bounds that hold no value.
    #[error("variable {name}: minimum {min} is above maximum {max}")]
    EmptyRange {
        /// The variable.
        name: String,
        /// Its lower bound.
        min: i64,
        /// Its upper bound.
        max: i64,
    },
    /// A value outside its variable's bounds.
    #[error("variable {name}: {value} is outside [{min}, {max}]")]
    OutOfRange {
        /// The variable.
        name: String,
        /// The value given.
        value: i64,
        /// The variable's lower bound.
        min: i64,
        /// The variable's upper bound.
        max: i64,
    },
    /// A variable that has no value.
    #[error("variable {0} is not bound")]
    Unbound(String),
    /// Text that is not a size.
    #[error("cannot read size '{text}': {reason}")]
    Parse {
        /// The whole text.
        text: String,
        /// What was wrong with it.
        reason: String,
    },
}

impl Size {
    /// The number 0.
    pub const ZERO: Size = Size(Repr::Const(0));
    /// The number 1.
    pub const ONE: Size = Size(Repr::Const(1));

    /// The value where it depends on no variable.
    pub fn as_const(&self) -> Option<i64> {
        match self.0 {
            Repr::Const(value) => Some(value),
            _ => None,
        }
    }

    /// The value as a count where it depends on no variable and is not negative.
    pub fn as_usize(&self) -> Option<usize> {
        self.as_const().and_then(|v| v.try_into().ok())
    }

    /// Why this size can have no value, if so.
    pub fn fault(&self) -> Option<Fault> {
        match self.0 {
            Repr::Fault(fault) => Some(fault),
            _ => None,
        }
    }

    /// The largest integer not above `self / by`.
    pub fn floordiv(&self, by: impl Into<Size>) -> Size {
        divide::floordiv(self, &by.into())
    }

    /// `self - by * floordiv(self, by)`, which has the sign of `by`.
    pub fn modulo(&self, by: impl Into<Size>) -> Size {
        divide::modulo(self, &by.into())
    }

    /// The least integer not below `self / by`.
    pub fn ceil_div(&self, by: impl Into<Size>) -> Size {
        let by = by.into();
        match by.bounds().0 > 0 {
            true => (self + &by - 1).floordiv(by),
            false => -(-self).floordiv(by),
        }
    }

    /// The least multiple of `to` not below `self`.
    pub fn round_up(&self, to: impl Into<Size>) -> Size {
        let to = to.into();
        self.ceil_div(&to) * to
    }

    /// The lesser of two sizes.
    pub fn min(&self, other: impl Into<Size>) -> Size {
        let other = other.into();
        if self.le(&other) == Some(true) {
            self.clone()
        } else if self.ge(&other) == Some(true) {
            other
        } else {
            poly::extremum(self, &other, Atom::Min)
        }
    }

    /// The greater of two sizes.
    pub fn max(&self, other: impl Into<Size>) -> Size {
        let other = other.into();
        if self.ge(&other) == Some(true) {
            self.clone()
        } else if self.le(&other) == Some(true) {
            other
        } else {
            poly::extremum(self, &other, Atom::Max)
        }
    }

    /// An interval, inclusive, that holds every value under bindings within the variables' bounds.
    ///
    /// `(i64::MIN, i64::MAX)` where nothing is known.
    pub fn bounds(&self) -> (i64, i64) {
        match &self.0 {
            Repr::Const(value) => (*value, *value),
            Repr::Expr(poly) => poly.bounds(),
            Repr::Fault(_) => (i64::MIN, i64::MAX),
        }
    }

    /// The greatest value, for allocation: `None` where no upper bound is known.
    pub fn upper_bound(&self) -> Option<i64> {
        Some(self.bounds().1).filter(|&max| max < i64::MAX)
    }

    /// Whether `self <= other` for all bindings (`Some(true)`), for none (`Some(false)`), or
    /// neither is known.
    pub fn le(&self, other: &Size) -> Option<bool> {
        let ((low, high), (other_low, other_high)) = (self.bounds(), other.bounds());
        let (least, most) = match (self.fault(), other.fault()) {
            (None, None) => (other - self).bounds(),
            _ => return None,
        };
        if least >= 0 || high <= other_low {
            Some(true)
        } else if most < 0 || low > other_high {
            Some(false)
        } else {
            None
        }
    }

    /// Whether `self < other`; see [`Size::le`].
    pub fn lt(&self, other: &Size) -> Option<bool> {
        other.le(self).map(|ge| !ge)
    }

    /// Whether `self >= other`; see [`Size::le`].
    pub fn ge(&self, other: &Size) -> Option<bool> {
        other.le(self)
    }

    /// Whether `self > other`; see [`Size::le`].
    pub fn gt(&self, other: &Size) -> Option<bool> {
        other.lt(self)
    }

    /// Whether `self` and `other` have the same value; see [`Size::le`].
    pub fn eq(&self, other: &Size) -> Option<bool> {
        if self.fault().or(other.fault()).is_some() {
            return None;
        }
        let difference = self - other;
        match difference.as_const() {
            Some(value) => Some(value == 0),
            None if self.lt(other) == Some(true) || self.gt(other) == Some(true) => Some(false),
            // 2n + 1 is never 0: the constant is no multiple of what divides all other terms.
            None => match difference.content() {
                Some((divisor, constant)) if constant % divisor != 0 => Some(false),
                _ => None,
            },
        }
    }

    /// Whether `k` divides every value, none, or neither is known; `None` for 0.
    pub fn divisible_by(&self, k: i64) -> Option<bool> {
        if k == 0 || self.fault().is_some() {
            return None;
        }
        self.modulo(k).eq(&Size::ZERO)
    }

    /// The greatest number that is known to divide every value: 0 for 0, 1 where nothing is known.
    pub fn divisor(&self) -> i64 {
        let Some(terms) = self.terms() else { return 1 };
        let common = terms.iter().fold(0, |g, t| gcd(g, t.coefficient().unsigned_abs()));
        i64::try_from(common).unwrap_or(1)
    }

    /// The variables, each once, in order.
    pub fn variables(&self) -> Vec<Variable> {
        let mut found = Vec::new();
        poly::collect_variables(self, &mut found);
        found.sort();
        found.dedup();
        found
    }

    /// The value where each variable has the value that `lookup` gives.
    ///
    /// # Errors
    /// An unbound variable, a value outside its variable's bounds, overflow, division by zero.
    pub fn eval(&self, lookup: &dyn Fn(&Variable) -> Option<i64>) -> Result<i64, SizeError> {
        poly::eval(self, lookup)
    }

    /// The value under `bindings`; see [`Size::eval`].
    pub fn eval_bound(&self, bindings: &[BoundVariable]) -> Result<i64, SizeError> {
        self.eval(&|v| bindings.iter().find(|b| b.variable() == v).map(BoundVariable::value))
    }

    /// This size with each variable replaced for which `replace` gives a size.
    pub fn substitute(&self, replace: &dyn Fn(&Variable) -> Option<Size>) -> Size {
        poly::substitute(self, replace)
    }

    /// The terms whose sum this is, for lowering; `None` for a faulty size.
    ///
    /// Distinct products of atoms in structural order, the constant (no factors) first.
    pub fn terms(&self) -> Option<Vec<Term>> {
        match &self.0 {
            Repr::Const(0) => Some(Vec::new()),
            Repr::Const(value) => Some(vec![Term::constant(*value)]),
            Repr::Expr(poly) => Some(poly.terms().to_vec()),
            Repr::Fault(_) => None,
        }
    }

    /// Reads what `Display` writes; `lookup` gives the variable of a name.
    ///
    /// # Errors
    /// [`SizeError::Parse`], and the [`Fault`] of a faulty result.
    pub fn parse(text: &str, lookup: &dyn Fn(&str) -> Option<Variable>) -> Result<Size, SizeError> {
        text::parse(text, lookup)
    }

    /// A total order by structure, for sorting; it says nothing about values.
    pub fn structural_cmp(&self, other: &Size) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl From<i64> for Size {
    fn from(value: i64) -> Self {
        Size(Repr::Const(value))
    }
}

impl From<i32> for Size {
    fn from(value: i32) -> Self {
        Size(Repr::Const(value.into()))
    }
}

impl From<usize> for Size {
    fn from(value: usize) -> Self {
        i64::try_from(value).map_or(Size(Repr::Fault(Fault::Overflow)), Size::from)
    }
}

impl From<Variable> for Size {
    fn from(variable: Variable) -> Self {
        poly::atom(Atom::Var(variable))
    }
}

impl From<&Variable> for Size {
    fn from(variable: &Variable) -> Self {
        variable.clone().into()
    }
}

impl From<&Size> for Size {
    fn from(size: &Size) -> Self {
        size.clone()
    }
}

macro_rules! operator {
    ($trait:ident $method:ident $function:path) => {
        impl<T: Into<Size>> $trait<T> for Size {
            type Output = Size;
            fn $method(self, other: T) -> Size {
                $function(&self, &other.into())
            }
        }
        impl<T: Into<Size>> $trait<T> for &Size {
            type Output = Size;
            fn $method(self, other: T) -> Size {
                $function(self, &other.into())
            }
        }
    };
}

operator!(Add add poly::add);
operator!(Sub sub poly::sub);
operator!(Mul mul poly::mul);

impl Neg for Size {
    type Output = Size;
    fn neg(self) -> Size {
        -&self
    }
}

impl Neg for &Size {
    type Output = Size;
    fn neg(self) -> Size {
        poly::mul(self, &Size::from(-1))
    }
}

impl<T: Into<Size>> Sum<T> for Size {
    fn sum<I: Iterator<Item = T>>(sizes: I) -> Size {
        sizes.fold(Size::ZERO, |total, size| total + size)
    }
}

impl<T: Into<Size>> Product<T> for Size {
    fn product<I: Iterator<Item = T>>(sizes: I) -> Size {
        sizes.fold(Size::ONE, |total, size| total * size)
    }
}
