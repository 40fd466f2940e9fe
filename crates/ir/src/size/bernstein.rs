//! Whether a polynomial is never negative, by its coefficients in Bernstein's basis (Garloff 1985).
//!
//! Expanded, `(15 - n)*n` is `15*n - n*n`, of which the bounds of the terms say little. Over a box, a polynomial is a sum of
//! products that are not negative there, and if the coefficients of these are none, nor is it. So are those of a product whose
//! factors are sums of terms that are not negative at any corner of the box, as extents are.

use super::bounds::{UNKNOWN, of_atom};
use super::poly::{Atom, Term};

/// Coefficients that are looked at, at most.
const MOST: usize = 64;

/// A factor: how often it occurs at most, its least value, and how much greater it may be.
struct Factor<'a> {
    atom: &'a Atom,
    degree: usize,
    least: i128,
    width: i128,
}

/// Whether a sum is shown to be never negative; each atom may be any number within its bounds. Where no term is a product, the
/// bounds of the terms say as much.
pub(super) fn is_never_negative(terms: &[Term]) -> bool {
    let has_products = terms.iter().any(|t| t.factors().len() > 1);
    has_products && coefficients(terms).is_some_and(|all| all.iter().all(|c| *c >= 0))
}

/// The coefficients in Bernstein's basis, each times a positive number, if there are few and they are no greater than 128 bits.
fn coefficients(terms: &[Term]) -> Option<Vec<i128>> {
    let factors = factors(terms)?;
    let count = factors.iter().try_fold(1usize, |n, f| n.checked_mul(f.degree + 1).filter(|n| *n <= MOST))?;
    let mut all = vec![0i128; count];
    for term in terms {
        let power = |f: &Factor| term.factors().iter().filter(|atom| *atom == f.atom).count();
        all[factors.iter().fold(0, |at, f| at * (f.degree + 1) + power(f))] += i128::from(term.coefficient());
    }
    let mut stride = count;
    for factor in &factors {
        let length = factor.degree + 1;
        stride /= length;
        for first in (0..count).filter(|at| at / stride % length == 0) {
            let line: Vec<i128> = (0..length).map(|i| all[first + i * stride]).collect();
            for (i, value) in along(line, factor)?.into_iter().enumerate() {
                all[first + i * stride] = value;
            }
        }
    }
    Some(all)
}

/// The atoms of a sum; none where nothing is known of one, or there are many.
fn factors(terms: &[Term]) -> Option<Vec<Factor<'_>>> {
    let mut found: Vec<Factor> = Vec::new();
    for term in terms {
        for atom in term.factors() {
            let degree = term.factors().iter().filter(|other| *other == atom).count();
            if let Some(known) = found.iter_mut().find(|f| f.atom == atom) {
                known.degree = known.degree.max(degree);
                continue;
            }
            let bounds = of_atom(atom);
            if bounds.0 == UNKNOWN.0 || bounds.1 == UNKNOWN.1 || found.len() == MOST.ilog2() as usize {
                return None;
            }
            let (least, most) = (i128::from(bounds.0), i128::from(bounds.1));
            found.push(Factor { atom, degree, least, width: most - least });
        }
    }
    Some(found)
}

/// The coefficients by powers of one atom, in Bernstein's basis.
fn along(mut line: Vec<i128>, factor: &Factor) -> Option<Vec<i128>> {
    let degree = factor.degree;
    // By powers of what the atom is more than its least value, as a share of its width.
    for first in 0..degree {
        for i in (first..degree).rev() {
            line[i] = line[i].checked_add(line[i + 1].checked_mul(factor.least)?)?;
        }
    }
    let mut scale = 1i128;
    for value in &mut line[1..] {
        scale = scale.checked_mul(factor.width)?;
        *value = value.checked_mul(scale)?;
    }
    // Of i among n the coefficient is, times how many ways there are to choose i of n, the sum over j of those to choose
    // i - j of n - j.
    let of =
        |i: usize| (0..=i).try_fold(0i128, |sum, j| sum.checked_add(line[j].checked_mul(ways(degree - j, i - j)?)?));
    (0..=degree).map(of).collect()
}

/// The ways to choose `k` of `n`.
fn ways(n: usize, k: usize) -> Option<i128> {
    (0..k).try_fold(1i128, |ways, i| Some(ways.checked_mul((n - i) as i128)? / (i as i128 + 1)))
}
