//! The canonical sum of products behind a size that is not a number.

use std::cell::Cell;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;
use smallvec::SmallVec;

use super::bounds::{self, Interval, div_floor};
use super::{Fault, Size, SizeError, Variable, divide};
use crate::pass::visit;

/// The most nodes, counted as a tree, that a size may have: bounds the time of walks over it.
pub const MAX_WEIGHT: u32 = 4096;
/// The most levels of nested atoms: bounds the stack of walks over a size.
pub const MAX_DEPTH: u32 = 64;

/// What a [`Size`] is: a number, an expression that is no number, or a fault.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Repr {
    Const(i64),
    Expr(Arc<Poly>),
    Fault(Fault),
}

/// A factor that is not a number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Atom {
    /// A variable.
    Var(Variable),
    /// The floor of a quotient.
    FloorDiv(Size, Size),
    /// The remainder of a floored quotient; its sign is the divisor's.
    Mod(Size, Size),
    /// The lesser of two, in structural order.
    Min(Size, Size),
    /// The greater of two, in structural order.
    Max(Size, Size),
}

/// The factors of a product, sorted; an atom occurs as often as its power says.
type Factors = SmallVec<[Atom; 2]>;

/// A number times a product of atoms.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    pub(super) coefficient: i64,
    pub(super) factors: Factors,
}

/// A sum of terms that is not a number.
///
/// Invariant: terms are sorted by factors, which are distinct; coefficients are not 0.
pub(super) struct Poly {
    terms: Vec<Term>,
    bounds: Interval,
    hash: u64,
    weight: u32,
    depth: u32,
}

impl Term {
    /// A term without factors.
    pub(super) fn constant(coefficient: i64) -> Self {
        Term { coefficient, factors: SmallVec::new() }
    }

    /// The number.
    pub fn coefficient(&self) -> i64 {
        self.coefficient
    }

    /// The atoms, each as often as its power says; none for a constant.
    pub fn factors(&self) -> &[Atom] {
        &self.factors
    }

    /// This term times `coefficient` and `factors`.
    fn times(&self, coefficient: i64, factors: &[Atom]) -> Result<Term, Fault> {
        let mut product = self.factors.clone();
        product.extend(factors.iter().cloned());
        product.sort();
        let coefficient = self.coefficient.checked_mul(coefficient).ok_or(Fault::Overflow)?;
        Ok(Term { coefficient, factors: product })
    }

    /// This term without the factors of `by` and divided by its coefficient, if that is exact.
    pub(super) fn exact_quotient(&self, by: &Term) -> Option<Term> {
        if self.coefficient.checked_rem(by.coefficient)? != 0 {
            return None;
        }
        let mut factors = self.factors.clone();
        for factor in &by.factors {
            factors.remove(factors.iter().position(|f| f == factor)?);
        }
        Some(Term { coefficient: self.coefficient / by.coefficient, factors })
    }
}

impl Poly {
    pub(super) fn terms(&self) -> &[Term] {
        &self.terms
    }

    pub(super) fn bounds(&self) -> Interval {
        self.bounds
    }
}

impl PartialEq for Poly {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || (self.hash == other.hash && self.terms == other.terms)
    }
}

impl Eq for Poly {}

impl Hash for Poly {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Ord for Poly {
    fn cmp(&self, other: &Self) -> Ordering {
        if std::ptr::eq(self, other) {
            return Ordering::Equal;
        }
        self.terms.cmp(&other.terms)
    }
}

impl PartialOrd for Poly {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Term {
    fn cmp(&self, other: &Self) -> Ordering {
        self.factors.cmp(&other.factors).then(self.coefficient.cmp(&other.coefficient))
    }
}

impl PartialOrd for Term {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Atom {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.operands(), other.operands()) {
            (None, None) => self.variable().cmp(&other.variable()),
            (Some((a, b)), Some((c, d))) => {
                self.rank().cmp(&other.rank()).then_with(|| a.structural_cmp(c)).then_with(|| b.structural_cmp(d))
            }
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Atom {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Atom {
    /// The two operands of an atom that is no variable.
    pub fn operands(&self) -> Option<(&Size, &Size)> {
        match self {
            Atom::Var(_) => None,
            Atom::FloorDiv(a, b) | Atom::Mod(a, b) | Atom::Min(a, b) | Atom::Max(a, b) => Some((a, b)),
        }
    }

    fn variable(&self) -> Option<&Variable> {
        match self {
            Atom::Var(v) => Some(v),
            _ => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Atom::Var(_) => 0,
            Atom::FloorDiv(..) => 1,
            Atom::Mod(..) => 2,
            Atom::Min(..) => 3,
            Atom::Max(..) => 4,
        }
    }
}

impl Size {
    /// The terms, borrowed; a number as `scratch`.
    pub(super) fn borrow_terms<'a>(&'a self, scratch: &'a mut [Term; 1]) -> Result<&'a [Term], Fault> {
        match &self.0 {
            Repr::Const(0) => Ok(&[]),
            Repr::Const(value) => {
                scratch[0].coefficient = *value;
                Ok(scratch)
            }
            Repr::Expr(poly) => Ok(&poly.terms),
            Repr::Fault(fault) => Err(*fault),
        }
    }

    /// The terms of an expression; none for a number.
    pub(super) fn expr_terms(&self) -> &[Term] {
        match &self.0 {
            Repr::Expr(poly) => &poly.terms,
            _ => &[],
        }
    }

    /// A number or a single product as a term.
    pub(super) fn as_term(&self) -> Option<Term> {
        match &self.0 {
            Repr::Const(value) => Some(Term::constant(*value)),
            Repr::Expr(poly) if poly.terms.len() == 1 => Some(poly.terms[0].clone()),
            _ => None,
        }
    }

    /// The greatest common divisor of all coefficients but the constant, and the constant.
    pub(super) fn content(&self) -> Option<(i64, i64)> {
        let (constant, rest) = self.split_constant()?;
        let divisor = rest.iter().fold(0u64, |g, t| gcd(g, t.coefficient.unsigned_abs()));
        Some((i64::try_from(divisor).ok()?, constant))
    }

    /// The constant and the other terms of an expression.
    pub(super) fn split_constant(&self) -> Option<(i64, &[Term])> {
        match &self.0 {
            Repr::Expr(poly) => Some(match poly.terms.split_first() {
                Some((first, rest)) if first.factors.is_empty() => (first.coefficient, rest),
                _ => (0, &poly.terms),
            }),
            _ => None,
        }
    }
}

/// The greatest common divisor; with 0, the other number.
pub fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

pub(super) fn fault(fault: Fault) -> Size {
    Size(Repr::Fault(fault))
}

/// A single atom as a size; the fault of an operand is the fault of the atom.
pub(super) fn atom(atom: Atom) -> Size {
    if let Some(f) = atom.operands().and_then(|(a, b)| a.fault().or(b.fault())) {
        return fault(f);
    }
    from_terms(vec![Term { coefficient: 1, factors: SmallVec::from_iter([atom]) }])
}

/// `min` or `max`, whose operands commute.
pub(super) fn extremum(a: &Size, b: &Size, make: fn(Size, Size) -> Atom) -> Size {
    let (a, b) = if a.structural_cmp(b).is_le() { (a, b) } else { (b, a) };
    atom(make(a.clone(), b.clone()))
}

pub(super) fn add(a: &Size, b: &Size) -> Size {
    combine(a, b, 1)
}

pub(super) fn sub(a: &Size, b: &Size) -> Size {
    combine(a, b, -1)
}

/// `a + sign * b`.
fn combine(a: &Size, b: &Size, sign: i64) -> Size {
    if let (Repr::Const(x), Repr::Const(y)) = (&a.0, &b.0) {
        let sum = y.checked_mul(sign).and_then(|y| x.checked_add(y));
        return sum.map_or(fault(Fault::Overflow), Size::from);
    }
    let terms = || {
        let (mut one, mut two) = ([Term::constant(0)], [Term::constant(0)]);
        let mut terms = a.borrow_terms(&mut one)?.to_vec();
        for t in b.borrow_terms(&mut two)? {
            terms.push(t.times(sign, &[])?);
        }
        Ok(terms)
    };
    terms().map_or_else(fault, from_terms)
}

pub(super) fn mul(a: &Size, b: &Size) -> Size {
    if let (Repr::Const(x), Repr::Const(y)) = (&a.0, &b.0) {
        return x.checked_mul(*y).map_or(fault(Fault::Overflow), Size::from);
    }
    let terms = || {
        let (mut one, mut two) = ([Term::constant(0)], [Term::constant(0)]);
        let (left, right) = (a.borrow_terms(&mut one)?, b.borrow_terms(&mut two)?);
        if left.len() * right.len() > MAX_WEIGHT as usize {
            return Err(Fault::TooComplex);
        }
        let pairs = left.iter().flat_map(|l| right.iter().map(move |r| (l, r)));
        pairs.map(|(l, r)| l.times(r.coefficient, &r.factors)).collect()
    };
    terms().map_or_else(fault, from_terms)
}

/// The sum of `terms`, which come in any order.
///
/// To join quotients others are made, whose own may be joined: what one sum may cost by that is limited.
pub(super) fn from_terms(terms: Vec<Term>) -> Size {
    visit(terms.len());
    let Some(work) = Work::of(&terms) else { return fault(Fault::TooComplex) };
    let sum = canonical(terms).map_or_else(fault, |terms| match terms.as_slice() {
        [] => Size::ZERO,
        [only] if only.factors.is_empty() => only.coefficient.into(),
        _ => finish(terms),
    });
    if work.is_too_much() { fault(Fault::TooComplex) } else { sum }
}

/// The most factors that sums within one sum may have.
const MAX_WORK: u32 = 1 << 14;

thread_local! {
    /// Factors of the sums that this one has been made of so far, and how many sums it is within.
    static WORK: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

/// A sum that is being made.
struct Work;

impl Work {
    /// None where the sum around this one has cost too much.
    fn of(terms: &[Term]) -> Option<Work> {
        let (done, within) = if let (_, 0) = WORK.get() { (0, 0) } else { WORK.get() };
        let own = terms.iter().map(|t| 1 + t.factors.len()).sum::<usize>();
        let done = done.saturating_add(u32::try_from(own).unwrap_or(u32::MAX));
        let enough = within == 0 || done <= MAX_WORK;
        WORK.set((done, within + u32::from(enough)));
        enough.then(|| Work)
    }

    /// Whether sums within this one were left out. One alone is limited by its weight.
    fn is_too_much(&self) -> bool {
        WORK.get().0 > MAX_WORK
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let (done, within) = WORK.get();
        WORK.set((done, within - 1));
    }
}

fn finish(terms: Vec<Term>) -> Size {
    let (mut weight, mut depth) = (0u32, 0u32);
    for term in &terms {
        weight = weight.saturating_add(1);
        for factor in &term.factors {
            weight = weight.saturating_add(1);
            let operands = factor.operands().map(|(a, b)| [a, b]);
            for operand in operands.iter().flatten() {
                if let Repr::Expr(poly) = &operand.0 {
                    weight = weight.saturating_add(poly.weight);
                    depth = depth.max(poly.depth + 1);
                }
            }
        }
    }
    if weight > MAX_WEIGHT || depth > MAX_DEPTH {
        return fault(Fault::TooComplex);
    }
    let mut hasher = FxHasher::default();
    terms.hash(&mut hasher);
    let bounds = bounds::sum(&terms);
    Size(Repr::Expr(Arc::new(Poly { terms, bounds, hash: hasher.finish(), weight, depth })))
}

/// Sorts, merges equal products, and joins quotients with their remainders.
fn canonical(terms: Vec<Term>) -> Result<Vec<Term>, Fault> {
    let mut terms = merge(terms)?;
    // Each step removes a quotient; the cap guards against a pair of rules that undo each other.
    for _ in 0..64 {
        let quotients = |t: &Term| t.factors.iter().any(|f| matches!(f, Atom::FloorDiv(..) | Atom::Mod(..)));
        if !terms.iter().any(quotients) {
            break;
        }
        let next = join_remainder(&terms).or_else(|| join_digits(&terms));
        let next = next.or_else(|| make_remainder(&terms)).or_else(|| make_quotient(&terms));
        match next.or_else(|| join_shares(&terms)) {
            Some(next) => terms = merge(next?)?,
            None => break,
        }
    }
    Ok(terms)
}

fn merge(mut terms: Vec<Term>) -> Result<Vec<Term>, Fault> {
    if !terms.is_sorted_by(|a, b| a.factors < b.factors) {
        terms.sort_by(|a, b| a.factors.cmp(&b.factors));
    }
    let mut merged: Vec<Term> = Vec::with_capacity(terms.len());
    for term in terms {
        match merged.last_mut() {
            Some(last) if last.factors == term.factors => {
                let sum = last.coefficient.checked_add(term.coefficient);
                last.coefficient = sum.ok_or(Fault::Overflow)?;
            }
            _ => merged.push(term),
        }
    }
    merged.retain(|t| t.coefficient != 0);
    Ok(merged)
}

type Rewritten = Option<Result<Vec<Term>, Fault>>;

/// `k*m*(x%c) + k*m*c*(x//c) => k*m*x`
fn join_remainder(terms: &[Term]) -> Rewritten {
    for (i, term) in terms.iter().enumerate() {
        for factor in &term.factors {
            let Atom::Mod(x, c) = factor else { continue };
            let rest = term.without(factor);
            let Some((divisor, quotient)) = c.as_term().zip(divide::floordiv(x, c).as_term()) else {
                continue;
            };
            let partner = rest
                .times(divisor.coefficient, &divisor.factors)
                .and_then(|t| t.times(quotient.coefficient, &quotient.factors));
            let Some(j) = partner.ok().and_then(|p| terms.iter().position(|t| *t == p)) else {
                continue;
            };
            let mut next = terms.to_vec();
            next.remove(i.max(j));
            next.remove(i.min(j));
            return Some(with_multiple(next, &rest, x));
        }
    }
    None
}

/// `(x, a, b)` of an atom `(x//a)%b` with numbers a and b.
fn digit(atom: &Atom) -> Option<(&Size, i64, i64)> {
    let Atom::Mod(quotient, b) = atom else { return None };
    let [term] = quotient.expr_terms() else { return None };
    match &term.factors[..] {
        [Atom::FloorDiv(x, a)] if term.coefficient == 1 => Some((x, a.as_const()?, b.as_const()?)),
        _ => None,
    }
}

/// `k*a*((x//a)%b) + k*(x%a) => k*(x%(a*b))` for numbers a and b above 0
fn join_digits(terms: &[Term]) -> Rewritten {
    for (i, term) in terms.iter().enumerate() {
        for factor in &term.factors {
            let Some((x, a, b)) = digit(factor).filter(|(_, a, b)| *a > 0 && *b > 0) else { continue };
            let Some(scale) = term.without(factor).exact_quotient(&Term::constant(a)) else { continue };
            let Some(both) = a.checked_mul(b) else { continue };
            let Some(low) = divide::modulo(x, &a.into()).as_term() else { continue };
            let partner = scale.times(low.coefficient, &low.factors);
            let Some(j) = partner.ok().and_then(|p| terms.iter().position(|t| *t == p)) else { continue };
            let mut next = terms.to_vec();
            next.remove(i.max(j));
            next.remove(i.min(j));
            return Some(with_multiple(next, &scale, &divide::modulo(x, &both.into())));
        }
    }
    None
}

/// `k*m*x - k*m*c*(x//c) => k*m*(x%c)`, where the constant of x may be absent on the left
fn make_remainder(terms: &[Term]) -> Rewritten {
    for (i, term) in terms.iter().enumerate() {
        for factor in &term.factors {
            let Atom::FloorDiv(x, c) = factor else {
                continue;
            };
            let scale = c.as_term().and_then(|c| term.without(factor).exact_quotient(&c));
            let Some(Ok(scale)) = scale.map(|s| s.times(-1, &[])) else {
                continue;
            };
            let Some((constant, others)) = x.split_constant() else {
                continue;
            };
            let mut next = terms.to_vec();
            next.remove(i);
            let all_present = others.iter().all(|t| {
                let wanted = t.times(scale.coefficient, &scale.factors).ok();
                let found = wanted.and_then(|w| next.iter().position(|n| *n == w));
                found.map(|at| next.remove(at)).is_some()
            });
            if !all_present {
                continue;
            }
            let remainder = divide::modulo(x, c) - constant;
            return Some(with_multiple(next, &scale, &remainder));
        }
    }
    None
}

/// `k*m*(x%c) - k*m*x => -k*m*c*(x//c)` for numbers c, where the constant of x may be absent on the left
fn make_quotient(terms: &[Term]) -> Rewritten {
    for (i, term) in terms.iter().enumerate() {
        for factor in &term.factors {
            let Atom::Mod(x, c) = factor else { continue };
            let (Some(c), Some((constant, others))) = (c.as_const(), x.split_constant()) else { continue };
            let scale = term.without(factor);
            let mut next = terms.to_vec();
            next.remove(i);
            let all_present = others.iter().all(|t| {
                let wanted = t.times(-1, &[]).and_then(|t| t.times(scale.coefficient, &scale.factors)).ok();
                let found = wanted.and_then(|w| next.iter().position(|n| *n == w));
                found.map(|at| next.remove(at)).is_some()
            });
            if !all_present {
                continue;
            }
            let below = Size::from(constant) - divide::floordiv(x, &c.into()) * c;
            return Some(with_multiple(next, &scale, &below));
        }
    }
    None
}

/// Shares of a whole that differ by 1 at most (Hermite's identity), for a number c:
///
/// ```text
/// k*(x//c) + k*((x+1)//c) + … + k*((x+c-1)//c) => k*x
/// k*x - k*((x+i)//c) - …                      => k*((x+j)//c) + …    with the other shares, if they are fewer
/// ```
///
/// The whole may be a quotient itself, y//m, whose shares are (y + i*m)//(m*c).
fn join_shares(terms: &[Term]) -> Rewritten {
    let quotients = terms.iter().filter(|t| has_quotient(t)).count();
    for term in terms {
        for factor in &term.factors {
            let Atom::FloorDiv(x, divisor) = factor else { continue };
            let Some(divisor) = divisor.as_const().filter(|d| (2..=MAX_SHARES).contains(d)) else { continue };
            let Some((constant, _)) = x.split_constant() else { continue };
            let scale = term.without(factor);
            let (most_found, is_opposed) = (shares_at_most(terms, term, &scale), has_opposite(terms, term));
            // One quotient alone is no whole, nor a whole less a share if it is a quotient itself.
            let most = if quotients < 2 { 1 } else { divisor / 2 };
            let enough = |shares: i64| most_found >= shares || is_opposed && 2 * most_found >= shares;
            for m in (1..=most).filter(|m| divisor % m == 0 && enough(divisor / m)) {
                let first = combine(x, &(constant - constant.rem_euclid(m)).into(), -1);
                let joined = join_shares_of(terms, &scale, &first, (m, divisor / m), quotients);
                if joined.is_some() {
                    return joined;
                }
            }
        }
    }
    None
}

fn has_quotient(term: &Term) -> bool {
    term.factors.iter().any(|f| matches!(f, Atom::FloorDiv(..)))
}

/// At least as many as there are shares beside `like`, which is one times `scale`: other quotients times as much, and a
/// number.
fn shares_at_most(terms: &[Term], like: &Term, scale: &Term) -> i64 {
    let is_like = |t: &Term| t.coefficient == like.coefficient && t.factors.len() == like.factors.len();
    let may_be = |t: &&Term| is_like(t) && has_quotient(t) || t.factors == scale.factors;
    terms.iter().filter(may_be).count() as i64
}

/// Whether a term may hold a whole from which `share` is taken away.
fn has_opposite(terms: &[Term], share: &Term) -> bool {
    let least = share.coefficient.unsigned_abs();
    let is_opposite = |t: &Term| t.coefficient.signum() != share.coefficient.signum();
    terms.iter().any(|t| is_opposite(t) && t.coefficient.unsigned_abs() >= least)
}

/// The shares of `first//m` among `quotients` ones, which are multiplied by `scale`.
fn join_shares_of(terms: &[Term], scale: &Term, first: &Size, (m, shares): (i64, i64), quotients: usize) -> Rewritten {
    let whole = if m == 1 { first.clone() } else { divide::floordiv(first, &m.into()) };
    if whole.expr_terms().is_empty() {
        return None;
    }
    let opposite = scale.times(-1, &[]).ok()?;
    let mut next = terms.to_vec();
    // All of the whole, taken out, where it is there.
    let is_less = whole.expr_terms().iter().all(|t| lessened(&mut next, t, &opposite));
    if !is_less {
        if quotients < 2 {
            return None;
        }
        next = terms.to_vec();
    }
    let share = |i: i64| divide::floordiv(&combine(first, &(i * m).into(), 1), &(m * shares).into());
    let (found, missing): (Vec<Size>, Vec<Size>) =
        (0..shares).map(share).partition(|s| s.as_term().is_some_and(|s| taken(&mut next, &s, scale)));
    match is_less {
        false if missing.is_empty() => Some(with_multiple(next, scale, &whole)),
        true if !found.is_empty() && missing.len() <= found.len() => {
            let mut others = Ok(next);
            for share in &missing {
                others = others.and_then(|terms| with_multiple(terms, &opposite, share));
            }
            Some(others)
        }
        _ => None,
    }
}

/// Takes `scale * term` from a multiple of it with the same sign in `terms`, and says whether there was one.
fn lessened(terms: &mut [Term], term: &Term, scale: &Term) -> bool {
    let Ok(wanted) = term.times(scale.coefficient, &scale.factors) else { return false };
    let (sign, least) = (wanted.coefficient.signum(), wanted.coefficient.unsigned_abs());
    let is_more = |t: &Term| t.coefficient.signum() == sign && t.coefficient.unsigned_abs() >= least;
    match terms.iter_mut().find(|t| t.factors == wanted.factors).filter(|t| is_more(t)) {
        Some(found) => {
            found.coefficient -= wanted.coefficient;
            true
        }
        None => false,
    }
}

/// Removes `scale * term` from `terms`, and says whether it was there.
fn taken(terms: &mut Vec<Term>, term: &Term, scale: &Term) -> bool {
    let wanted = term.times(scale.coefficient, &scale.factors).ok();
    let found = wanted.and_then(|w| terms.iter().position(|t| *t == w));
    found.map(|at| terms.remove(at)).is_some()
}

/// Shares of a whole that are looked for.
pub(super) const MAX_SHARES: i64 = 64;

/// `terms + scale * x`
fn with_multiple(mut terms: Vec<Term>, scale: &Term, x: &Size) -> Result<Vec<Term>, Fault> {
    for t in x.borrow_terms(&mut [Term::constant(0)])? {
        terms.push(t.times(scale.coefficient, &scale.factors)?);
    }
    Ok(terms)
}

impl Term {
    /// This term less one occurrence of `factor`.
    fn without(&self, factor: &Atom) -> Term {
        let mut rest = self.clone();
        if let Some(at) = rest.factors.iter().position(|f| f == factor) {
            rest.factors.remove(at);
        }
        rest
    }
}

pub(super) fn collect_variables(size: &Size, found: &mut Vec<Variable>) {
    for factor in size.expr_terms().iter().flat_map(|t| &t.factors) {
        match factor.operands() {
            None => found.extend(factor.variable().cloned()),
            Some((a, b)) => {
                collect_variables(a, found);
                collect_variables(b, found);
            }
        }
    }
}

pub(super) fn eval(size: &Size, lookup: &dyn Fn(&Variable) -> Option<i64>) -> Result<i64, SizeError> {
    let terms = match &size.0 {
        Repr::Const(value) => return Ok(*value),
        Repr::Fault(fault) => return Err((*fault).into()),
        Repr::Expr(poly) => &poly.terms,
    };
    let mut total = 0i128;
    for term in terms {
        let mut product = i128::from(term.coefficient);
        for factor in &term.factors {
            let value = eval_atom(factor, lookup)?;
            product = product.checked_mul(value.into()).ok_or(Fault::Overflow)?;
        }
        total = total.checked_add(product).ok_or(Fault::Overflow)?;
    }
    Ok(i64::try_from(total).map_err(|_| Fault::Overflow)?)
}

fn eval_atom(atom: &Atom, lookup: &dyn Fn(&Variable) -> Option<i64>) -> Result<i64, SizeError> {
    let (a, b) = match atom {
        Atom::Var(v) => {
            let value = lookup(v).ok_or_else(|| SizeError::Unbound(v.name().to_owned()))?;
            v.check(value)?;
            return Ok(value);
        }
        Atom::FloorDiv(a, b) | Atom::Mod(a, b) | Atom::Min(a, b) | Atom::Max(a, b) => {
            (eval(a, lookup)?, eval(b, lookup)?)
        }
    };
    match atom {
        Atom::Min(..) => return Ok(a.min(b)),
        Atom::Max(..) => return Ok(a.max(b)),
        _ if b == 0 => return Err(Fault::DivisionByZero.into()),
        _ => {}
    }
    let (a, b) = (i128::from(a), i128::from(b));
    let quotient = div_floor(a, b);
    let value = if matches!(atom, Atom::Mod(..)) { a - quotient * b } else { quotient };
    Ok(i64::try_from(value).map_err(|_| Fault::Overflow)?)
}

pub(super) fn substitute(size: &Size, replace: &dyn Fn(&Variable) -> Option<Size>) -> Size {
    if size.expr_terms().is_empty() {
        return size.clone();
    }
    let value = |atom: &Atom| match atom {
        Atom::Var(v) => replace(v).unwrap_or_else(|| v.into()),
        Atom::FloorDiv(a, b) => substitute(a, replace).floordiv(substitute(b, replace)),
        Atom::Mod(a, b) => substitute(a, replace).modulo(substitute(b, replace)),
        Atom::Min(a, b) => substitute(a, replace).min(substitute(b, replace)),
        Atom::Max(a, b) => substitute(a, replace).max(substitute(b, replace)),
    };
    let product = |t: &Term| t.factors.iter().map(value).product::<Size>() * t.coefficient;
    size.expr_terms().iter().map(product).sum()
}
