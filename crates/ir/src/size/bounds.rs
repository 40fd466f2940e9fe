//! Interval arithmetic over 64-bit values.
//!
//! Evaluation is checked, so that every atom and every size has a 64-bit value: an interval that
//! leaves 64 bits is clamped, and one that leaves 128 is unknown; both stay sound.

use super::poly::{Atom, Term};

/// An inclusive interval.
pub(super) type Interval = (i64, i64);

/// What is known of a value about which nothing is known.
pub(super) const UNKNOWN: Interval = (i64::MIN, i64::MAX);

/// The interval of a sum of terms.
pub(super) fn sum(terms: &[Term]) -> Interval {
    let total = terms.iter().try_fold((0i128, 0i128), |(low, high), t| {
        let (l, h) = term(t)?;
        Some((low.checked_add(l)?, high.checked_add(h)?))
    });
    total.map_or(UNKNOWN, clamp)
}

/// The interval of `floor(a / b)` over the values of `b` that are not 0; `None` where all are.
pub(super) fn floordiv(a: Interval, b: Interval) -> Option<Interval> {
    // For one sign of the divisor the quotient is monotone in each operand: corners suffice.
    let corners = [(b.0.max(1), b.1), (b.0, b.1.min(-1))]
        .into_iter()
        .filter(|(low, high)| low <= high)
        .flat_map(|(low, high)| [(a.0, low), (a.0, high), (a.1, low), (a.1, high)])
        .map(|(x, y)| div_floor(x.into(), y.into()));
    let (low, high) = corners.fold((i128::MAX, i128::MIN), |(low, high), q| (low.min(q), high.max(q)));
    (low <= high).then(|| clamp((low, high)))
}

/// The floor of `a / b` for `b` not 0 and operands of 64 bits.
pub(super) fn div_floor(a: i128, b: i128) -> i128 {
    a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0)
}

fn term(t: &Term) -> Option<(i128, i128)> {
    let coefficient = i128::from(t.coefficient);
    t.factors.iter().try_fold((coefficient, coefficient), |(low, high), factor| {
        let (l, h) = of_atom(factor);
        let (l, h) = (i128::from(l), i128::from(h));
        let corners = [low.checked_mul(l)?, low.checked_mul(h)?, high.checked_mul(l)?, high.checked_mul(h)?];
        Some((corners.into_iter().min()?, corners.into_iter().max()?))
    })
}

/// The interval of an atom.
pub(super) fn of_atom(a: &Atom) -> Interval {
    match a {
        Atom::Var(v) => (v.min(), v.max()),
        Atom::FloorDiv(a, b) => floordiv(a.bounds(), b.bounds()).unwrap_or(UNKNOWN),
        Atom::Mod(a, b) => modulo(a.bounds(), b.bounds()),
        Atom::Min(a, b) => {
            let (a, b) = (a.bounds(), b.bounds());
            (a.0.min(b.0), a.1.min(b.1))
        }
        Atom::Max(a, b) => {
            let (a, b) = (a.bounds(), b.bounds());
            (a.0.max(b.0), a.1.max(b.1))
        }
    }
}

fn modulo(a: Interval, b: Interval) -> Interval {
    let low = if b.0 < 0 { b.0 + 1 } else { 0 };
    let high = if b.1 > 0 { b.1 - 1 } else { 0 };
    match a.0 >= 0 && b.0 > 0 {
        true => (low, high.min(a.1)),
        false => (low, high),
    }
}

fn clamp((low, high): (i128, i128)) -> Interval {
    let fit = |v: i128| v.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    (fit(low), fit(high))
}
