//! Comparisons that look into minima, maxima and quotients, for the shapes that slices make.
//!
//! [`Size::le`] asks for the bounds of a difference, in which `min(n, 5)` and `n` have nothing to do with
//! each other. Here such an atom is replaced by what it may be:
//!
//! ```text
//!  min(x, y) >= 0  if x >= 0 and y >= 0        -min(x, y) >= 0  if -x >= 0 or -y >= 0
//!  max(x, y) >= 0  if x >= 0 or  y >= 0        -max(x, y) >= 0  if -x >= 0 and -y >= 0
//!  x//k      >= 0  if (x - k + 1)/k >= 0       -(x//k)    >= 0  if -x/k >= 0
//!  x - x//k  >= 0  if the other shares of x, (x+1)//k to (x+k-1)//k, are
//! ```

use super::bernstein::is_never_negative;
use super::poly::{MAX_SHARES, atom};
use super::{Atom, Size, Term};

/// Differences that one comparison may look at.
const BUDGET: u32 = 64;

impl Size {
    /// Whether `self <= other` for all bindings; `false` where that is not found.
    pub fn surely_le(&self, other: &Size) -> bool {
        self.le(other) == Some(true) || never_negative(&(other - self), &mut BUDGET.clone())
    }

    /// Whether it is shown to be a number of elements: it is never negative, and no fault.
    pub fn is_extent(&self) -> bool {
        self.fault().is_none() && never_negative(self, &mut BUDGET.clone())
    }

    /// The number of integers from `self` to before `end`, which is not below `self`. Where [`Size::bounds`]
    /// do not tell so, the expression does: no extent may be negative.
    pub fn until(&self, end: &Size) -> Size {
        let count = end - self;
        if count.bounds().0 < 0 { count.max(0) } else { count }
    }
}

fn never_negative(size: &Size, budget: &mut u32) -> bool {
    if size.fault().is_some() || *budget == 0 {
        return false;
    }
    if size.bounds().0 >= 0 {
        return true;
    }
    let terms = size.terms().unwrap_or_default();
    if is_never_negative(&terms) {
        return true;
    }
    *budget -= 1;
    let atoms = terms.iter().filter_map(|t| match t.factors() {
        [atom] => Some((t, atom)),
        _ => None,
    });
    // What holds for both loses nothing: there is no need to try others.
    let both = atoms.clone().find_map(|(t, atom)| match (atom, t.coefficient() > 0) {
        (Atom::Min(x, y), true) | (Atom::Max(x, y), false) => Some((t, x, y)),
        _ => None,
    });
    if let Some((term, x, y)) = both {
        return [x, y].into_iter().all(|by| never_negative(&with(size, term, by), budget));
    }
    atoms.into_iter().any(|(term, atom)| match atom {
        Atom::Min(x, y) | Atom::Max(x, y) => [x, y].into_iter().any(|by| never_negative(&with(size, term, by), budget)),
        Atom::FloorDiv(x, k) => {
            let Some(k) = k.as_const().filter(|k| *k > 0) else { return false };
            // What a share leaves of the whole are the other shares.
            let constant = x.split_constant().map_or(0, |(constant, _)| constant);
            if term.coefficient() < 0 && k <= MAX_SHARES {
                let whole = x - constant;
                let share = |i: i64| (&whole + i).floordiv(k) * -term.coefficient();
                let others = (0..k).fold(size + &whole * term.coefficient(), |sum, i| sum + share(i));
                if others.bounds().0 >= 0 {
                    return true;
                }
            }
            let least = if term.coefficient() > 0 { x - (k - 1) } else { x.clone() };
            let rest = with(size, term, &Size::ZERO);
            never_negative(&(rest * k + least * term.coefficient()), budget)
        }
        Atom::Mod(..) | Atom::Var(_) => false,
    })
}

/// A sum with `by` in the place of a term's atom.
fn with(size: &Size, term: &Term, by: &Size) -> Size {
    let own: Size = term.factors().iter().map(|a| atom(a.clone())).product();
    size + (by - own) * term.coefficient()
}
