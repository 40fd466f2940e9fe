//! Floored division and remainder in canonical form.
//!
//! With `a = b*q + r`, where `q` takes what divides exactly:
//!
//! ```text
//! a // b               => q + r//b
//! a % b                => r % b
//! r // c               => t                            if t*c <= r < (t+1)*c
//! r % c                => r - t*c                      if t*c <= r < (t+1)*c
//! r // c               => -((c - 1 - r) // c)          if c > 0 and all factors but the constant are below 0
//! (g*x + k) // (g*c)   => (x + k//g) // c
//! (g*x + k) % (g*c)    => g*((x + k//g) % c) + k % g
//! (x//d + k) // c      => (x + k*d) // (c*d)           if d > 0, c > 0
//! (k*(x % d) + r) % c  => (k*x + r) % c                if c divides k*d
//! ```

use super::bounds::{self, div_floor};
use super::poly::{Atom, Term, atom, fault, from_terms, gcd};
use super::{Fault, Size};

pub(super) fn floordiv(a: &Size, b: &Size) -> Size {
    match operands(a, b) {
        Operands::Faulty(f) => fault(f),
        Operands::Numbers(x, y) => number(div_floor(x, y)),
        Operands::NegativeDivisor => floordiv(&-a, &-b),
        Operands::General => {
            let (quotient, rest) = reduce(a, b);
            quotient + quotient_of_rest(&rest, b)
        }
    }
}

pub(super) fn modulo(a: &Size, b: &Size) -> Size {
    match operands(a, b) {
        Operands::Faulty(f) => fault(f),
        Operands::Numbers(x, y) => number(x - y * div_floor(x, y)),
        Operands::NegativeDivisor => -modulo(&-a, &-b),
        Operands::General => remainder_of_rest(&reduce(a, b).1, b),
    }
}

enum Operands {
    Faulty(Fault),
    Numbers(i128, i128),
    NegativeDivisor,
    General,
}

fn operands(a: &Size, b: &Size) -> Operands {
    if let Some(f) = a.fault().or(b.fault()) {
        return Operands::Faulty(f);
    }
    match (a.as_const(), b.as_const()) {
        (_, Some(0)) => Operands::Faulty(Fault::DivisionByZero),
        (Some(a), Some(b)) => Operands::Numbers(a.into(), b.into()),
        (None, Some(..0)) => Operands::NegativeDivisor,
        _ => Operands::General,
    }
}

fn number(value: i128) -> Size {
    i64::try_from(value).map_or(fault(Fault::Overflow), Size::from)
}

fn never_zero(b: &Size) -> bool {
    let (low, high) = b.bounds();
    low > 0 || high < 0
}

/// `(q, r)` with `a = b*q + r`, where `q` is what divides term by term; `(0, a)` where b may be 0.
fn reduce(a: &Size, b: &Size) -> (Size, Size) {
    if let Some(c) = b.as_const() {
        return reduce_by_number(a, c);
    }
    let whole = (Size::ZERO, a.clone());
    if !never_zero(b) {
        return whole;
    }
    if let Some(divisor) = b.as_term() {
        let mut quotient = Vec::new();
        let mut rest = Vec::new();
        for term in a.expr_terms() {
            match term.exact_quotient(&divisor) {
                Some(q) => quotient.push(q),
                None => rest.push(term.clone()),
            }
        }
        return match quotient.is_empty() {
            true => whole,
            false => (from_terms(quotient), from_terms(rest)),
        };
    }
    // A numeric multiple of b as a whole, found by its last term.
    let multiple = b.expr_terms().last().and_then(|lead| {
        let quotients = a.expr_terms().iter().filter_map(|t| t.exact_quotient(lead));
        quotients.filter(|q| q.factors().is_empty()).map(|q| q.coefficient()).next()
    });
    let Some(multiple) = multiple else {
        return whole;
    };
    let rest = a - b * multiple;
    match rest.expr_terms().len() + b.expr_terms().len() <= a.expr_terms().len() + 1 {
        true if rest.fault().is_none() => (multiple.into(), rest),
        _ => whole,
    }
}

fn reduce_by_number(a: &Size, c: i64) -> (Size, Size) {
    let mut quotient = Vec::new();
    let mut rest = Vec::new();
    for term in a.expr_terms() {
        let k = term.coefficient();
        let q = if term.factors().is_empty() { k.div_euclid(c) } else { k / c };
        let with = |coefficient| Term { coefficient, factors: term.factors.clone() };
        quotient.push(with(q));
        rest.push(with(k - q * c));
    }
    // The operand of an existing atom comes here again: it must not pay for a new canonical form.
    if quotient.iter().all(|q| q.coefficient == 0) {
        return (Size::ZERO, a.clone());
    }
    (from_terms(quotient), from_terms(rest))
}

/// The quotient where the bounds of `r` and `b` leave only one.
fn only_quotient(r: &Size, b: &Size) -> Option<i64> {
    if !never_zero(b) {
        return None;
    }
    let (low, high) = bounds::floordiv(r.bounds(), b.bounds())?;
    let in_range = || r.bounds().0 >= 0 && r.lt(b) == Some(true);
    match low == high {
        true => Some(low),
        false => in_range().then_some(0),
    }
}

/// For a divisor that shares a factor g > 1 with all terms of `r` but the constant k:
/// `g`, `(r - k)/g + k//g`, and `k % g`.
fn common_factor(r: &Size, c: i64) -> Option<(i64, Size, i64)> {
    let (content, k) = r.content()?;
    let g = i64::try_from(gcd(content.unsigned_abs(), c.unsigned_abs())).ok()?;
    let (_, others) = r.split_constant()?;
    let divided = |t: &Term| Term { coefficient: t.coefficient / g, factors: t.factors.clone() };
    let inner = || from_terms(others.iter().map(divided).collect()) + k.div_euclid(g);
    (g > 1).then(|| (g, inner(), k.rem_euclid(g)))
}

/// For a divisor c and `r = g*inner + low` with `0 <= low < g` and g a factor of c above 1: `g`, `inner`, `low`.
fn low_part(r: &Size, c: i64) -> Option<(i64, Size, Size)> {
    let terms = r.expr_terms();
    if terms.len() < 2 || c <= 1 {
        return None;
    }
    let shared = |t: &Term| gcd(t.coefficient.unsigned_abs(), c.unsigned_abs());
    terms.iter().filter(|t| !t.factors.is_empty()).find_map(|lead| {
        let g = i64::try_from(shared(lead)).ok().filter(|g| *g > 1)?;
        let (high, low): (Vec<&Term>, Vec<&Term>) = terms.iter().partition(|t| t.coefficient % g == 0);
        let low = from_terms(low.into_iter().cloned().collect());
        let (least, most) = low.bounds();
        let divided = |t: &Term| Term { coefficient: t.coefficient / g, factors: t.factors.clone() };
        (least >= 0 && most < g).then(|| (g, from_terms(high.into_iter().map(divided).collect()), low))
    })
}

/// Whether all terms but the constant are below 0 times something.
fn is_negated(r: &Size) -> bool {
    r.expr_terms().iter().all(|t| t.factors.is_empty() || t.coefficient < 0)
}

/// The constant and the only other term of `r`, if that is a bare atom.
fn bare_atom(r: &Size) -> Option<(i64, &Atom)> {
    match r.split_constant()? {
        (k, [term]) if term.coefficient == 1 && term.factors.len() == 1 => Some((k, &term.factors[0])),
        _ => None,
    }
}

/// What is as `r` modulo c: whole numbers in the place of their remainders by multiples of c. Nothing where there are none.
fn without_remainders(r: &Size, c: i64) -> Option<Size> {
    let whole = |t: &Term| match t.factors.as_slice() {
        [Atom::Mod(x, d)] if d.as_const()?.checked_mul(t.coefficient)? % c == 0 => Some(x * t.coefficient),
        _ => None,
    };
    r.expr_terms()
        .iter()
        .any(|t| whole(t).is_some())
        .then(|| r.expr_terms().iter().map(|t| whole(t).unwrap_or_else(|| from_terms(vec![t.clone()]))).sum())
}

fn quotient_of_rest(r: &Size, b: &Size) -> Size {
    if let Some(only) = only_quotient(r, b) {
        return only.into();
    }
    if let Some(c) = b.as_const() {
        if c > 0 && is_negated(r) {
            return -(Size::from(c - 1) - r).floordiv(c);
        }
        if let Some((g, inner, _)) = common_factor(r, c) {
            return inner.floordiv(c / g);
        }
        if let Some((g, inner, _)) = low_part(r, c) {
            return inner.floordiv(c / g);
        }
        if let Some((k, Atom::FloorDiv(x, d))) = bare_atom(r)
            && d.as_const().is_some_and(|d| d > 0)
        {
            let merged = (x + d * k).floordiv(d * c);
            if merged.fault().is_none() {
                return merged;
            }
        }
    }
    atom(Atom::FloorDiv(r.clone(), b.clone()))
}

fn remainder_of_rest(r: &Size, b: &Size) -> Size {
    if let Some(only) = only_quotient(r, b) {
        return r - b * only;
    }
    if let Some(c) = b.as_const() {
        if let Some((g, inner, low)) = common_factor(r, c) {
            return inner.modulo(c / g) * g + low;
        }
        if let Some((g, inner, low)) = low_part(r, c) {
            return inner.modulo(c / g) * g + low;
        }
        if let Some(congruent) = without_remainders(r, c) {
            return congruent.modulo(c);
        }
    }
    atom(Atom::Mod(r.clone(), b.clone()))
}
