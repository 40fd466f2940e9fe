//! What a trace may take for granted where sizes compare as they do in the call that it is made for.
//!
//! A function asks `if x.shape[0] > 5` because the branch needs it. So a trace that fails may be made again with
//! what it was told: over variables that cannot have other values where the answers hold.
//!
//! ```text
//!  n > 5, n != 1, n//3 >= 2    a variable n of tighter bounds
//!  n == 4                      4
//!  n == m                      m in the place of n
//!  n % 2 == 0                  n_by_2*2, with a variable n_by_2
//!  n <= m                      n + m_more in the place of m, with a variable m_more from 0 on
//! ```
//!
//! Bounds come from shaving (Lhomme 1993; Benhamou et al. 1999): the ends of a variable's interval go on which the
//! bounds of sizes alone say that an answer would be another one. What has no such form, such as `n != 10` between
//! 1 and 64, chooses the branch and is not known in it.

use svod_ir::size::{Atom, Size, Variable};

use super::decision::{Comparison, Decision, SizeValues};

/// How often all answers are looked at, should one go on to tighten what another one says.
const ROUNDS: usize = 8;

/// Answers about sizes, and what follows from them for variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Over the variables of the program.
    decisions: Vec<Decision>,
    /// What variables of the program are.
    known: Vec<(Variable, Size)>,
    /// What the variables in that are, over those of the program.
    origins: Vec<(Variable, Size)>,
}

impl Facts {
    /// What follows where all of this holds, as it does in a call with these sizes.
    pub fn new(decisions: Vec<Decision>, values: &SizeValues) -> Facts {
        let variables = decisions.iter().flat_map(|d| [d.a.variables(), d.b.variables()].concat());
        let mut known: Vec<(Variable, Size)> = variables.map(|v| (v.clone(), Size::from(v))).collect();
        known.sort_by(|a, b| a.0.cmp(&b.0));
        known.dedup();
        let origins = known.clone();
        let mut facts = Facts { decisions, known, origins };
        for _ in 0..ROUNDS {
            // Also those that are added meanwhile.
            let mut at = 0;
            let mut more = false;
            while at < facts.decisions.len() {
                let decision = facts.decisions[at].clone();
                more |= facts.tighten(&decision, values) || facts.replace(&decision, values);
                at += 1;
            }
            if !more {
                break;
            }
        }
        facts
    }

    /// The answers.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// Whether all of it is so at these sizes.
    pub fn hold(&self, values: &SizeValues) -> bool {
        self.decisions.iter().all(|decision| decision.holds(values))
    }

    /// Whether they say the same of variables as others do.
    pub fn agree(&self, other: &Facts) -> bool {
        let says = |facts: &Facts, (variable, is): &(Variable, Size)| facts.apply(&Size::from(variable)) == *is;
        self.known.iter().all(|one| says(other, one)) && other.known.iter().all(|one| says(self, one))
    }

    /// A size of the program over the variables that are left.
    pub fn apply(&self, size: &Size) -> Size {
        if self.known.is_empty() { size.clone() } else { substituted(size, &self.known) }
    }

    /// A size over the variables that are left as one of the program.
    pub(super) fn original(&self, size: &Size) -> Size {
        if self.origins.is_empty() { size.clone() } else { substituted(size, &self.origins) }
    }

    /// Values of the program's variables, and with them those of the variables that are left.
    pub fn values(&self, values: &SizeValues) -> SizeValues {
        let mut all = values.clone();
        for (variable, origin) in &self.origins {
            if let Some(value) = values.eval(origin) {
                all.add(variable.name(), value);
            }
        }
        all
    }

    /// Lets go the ends of variables' intervals at which an answer would be another one; whether there are any.
    fn tighten(&mut self, decision: &Decision, values: &SizeValues) -> bool {
        let mut tighter = false;
        for variable in &self.variables(decision) {
            let (a, b) = (self.apply(&decision.a), self.apply(&decision.b));
            if decision.by.decided(&a, &b).is_some() {
                break;
            }
            let Some(value) = values.eval(&self.original(&Size::from(variable))) else { continue };
            let excluded = |min: i64, max: i64| {
                let within = [(variable.clone(), between(variable, min, max))];
                let answer = decision.by.decided(&substituted(&a, &within), &substituted(&b, &within));
                answer == Some(!decision.answer)
            };
            let (min, max) = (variable.min(), variable.max());
            let below = most_of(value.abs_diff(min), |count| excluded(min, min.saturating_add_unsigned(count - 1)));
            let above = most_of(max.abs_diff(value), |count| excluded(max.saturating_sub_unsigned(count - 1), max));
            let (least, most) = (min.saturating_add_unsigned(below), max.saturating_sub_unsigned(above));
            if (least, most) != (min, max) {
                let narrowed = between(variable, least, most);
                self.set(variable, &narrowed, self.original(&Size::from(variable)));
                tighter = true;
            }
        }
        tighter
    }

    /// Writes a variable by others where two sizes are equal or one is larger; whether that was possible.
    fn replace(&mut self, decision: &Decision, values: &SizeValues) -> bool {
        let difference = self.apply(&decision.a) - self.apply(&decision.b);
        if difference.as_const().is_some() {
            return false;
        }
        let excess = match (decision.by, decision.answer) {
            (Comparison::Equal, _) => None,
            (Comparison::Less, true) => Some(-&difference - 1),
            (Comparison::LessEqual, true) => Some(-&difference),
            (Comparison::Less, false) => Some(difference.clone()),
            (Comparison::LessEqual, false) => Some(&difference - 1),
        };
        if let Some(excess) = excess {
            return self.exceed(&excess, values);
        }
        let variables = if decision.answer { difference.variables() } else { Vec::new() };
        for variable in variables.iter().rev() {
            let own = Size::from(variable);
            for is in [&own - &difference, &own + &difference] {
                // An upper bound that is lost costs memory, a lower one might make an extent negative.
                if !is.variables().contains(variable) && is.bounds().0 >= variable.min() {
                    self.set(variable, &is, Size::ZERO);
                    return true;
                }
            }
        }
        let terms = difference.terms().unwrap_or_default();
        for atom in terms.iter().flat_map(|term| term.factors()) {
            let (Atom::Mod(of, by) | Atom::FloorDiv(of, by)) = atom else { continue };
            // What is not equal leaves one remainder of two.
            let Some(by) = by.as_const().filter(|by| *by == 2 || *by > 2 && decision.answer) else { continue };
            if of.variables().iter().any(|variable| self.divide(decision, variable, by, values)) {
                return true;
            }
        }
        false
    }

    /// Writes a variable as what makes a size 0 and a new variable, where the size is not negative but its bounds do not
    /// say so; whether that was possible.
    fn exceed(&mut self, size: &Size, values: &SizeValues) -> bool {
        let (least, most) = size.bounds();
        if least >= 0 || most <= 0 || most == i64::MAX {
            return false;
        }
        for variable in size.variables() {
            let own = Size::from(&variable);
            let at_least = &own - size;
            // An upper bound that is lost costs memory, a lower one might make an extent negative.
            if at_least.variables().is_empty()
                || at_least.variables().contains(&variable)
                || at_least.bounds().0 < Variable::min(&variable)
            {
                continue;
            }
            let name = self.unused(&format!("{}_more", variable.name()), values);
            let Ok(more) = Variable::new(&name, 0, most) else { continue };
            self.set(&variable, &(at_least + &more), self.original(size));
            return true;
        }
        false
    }

    /// Writes a variable as a multiple of `by`, and what remains in the call, if that answers whether two sizes are equal.
    fn divide(&mut self, decision: &Decision, variable: &Variable, by: i64, values: &SizeValues) -> bool {
        let origin = self.original(&Size::from(variable));
        let Some(value) = values.eval(&origin) else { return false };
        let rest = value.rem_euclid(by);
        let remains = Decision::new(&origin.modulo(by), Comparison::Equal, &Size::from(rest), values);
        let (Some(remains), Some(min)) = (remains, variable.min().checked_sub(rest)) else { return false };
        let (min, max) =
            (min.div_euclid(by) + i64::from(min.rem_euclid(by) > 0), (variable.max() - rest).div_euclid(by));
        let Ok(quotient) = Variable::new(&self.unused(&format!("{}_by_{by}", variable.name()), values), min, max)
        else {
            return false;
        };
        let part = between(&quotient, min, max);
        let whole = [(variable.clone(), &part * by + rest)];
        let (a, b) = (self.apply(&decision.a), self.apply(&decision.b));
        if decision.by.decided(&substituted(&a, &whole), &substituted(&b, &whole)) != Some(decision.answer) {
            return false;
        }
        let [(_, whole)] = whole;
        self.set(variable, &whole, (origin - rest).floordiv(by));
        if !self.decisions.contains(&remains) {
            self.decisions.push(remains);
        }
        true
    }

    /// Writes `is` in the place of a variable. `origin` is what its new variable is, if it has one.
    fn set(&mut self, variable: &Variable, is: &Size, origin: Size) {
        let by = [(variable.clone(), is.clone())];
        self.known.iter_mut().for_each(|(_, known)| *known = substituted(known, &by));
        for new in is.variables() {
            if !self.origins.iter().any(|(known, _)| *known == new) {
                self.origins.push((new, origin.clone()));
            }
        }
    }

    /// The variables of a decision that are left.
    fn variables(&self, decision: &Decision) -> Vec<Variable> {
        let mut all = [self.apply(&decision.a).variables(), self.apply(&decision.b).variables()].concat();
        all.sort();
        all.dedup();
        all
    }

    /// The name, or one like it that no variable has.
    fn unused(&self, name: &str, values: &SizeValues) -> String {
        let mut name = name.to_owned();
        while values.has(&name) || self.origins.iter().any(|(known, _)| known.name() == name) {
            name.push('_');
        }
        name
    }
}

fn substituted(size: &Size, by: &[(Variable, Size)]) -> Size {
    size.substitute(&|v| by.iter().find(|(variable, _)| variable == v).map(|(_, is)| is.clone()))
}

/// The variable within these bounds.
fn between(variable: &Variable, min: i64, max: i64) -> Size {
    match Variable::internal(variable.name(), min, max) {
        _ if min == max => Size::from(min),
        Ok(narrowed) => Size::from(narrowed),
        Err(_) => Size::from(variable),
    }
}

/// The largest number up to `limit` for which something holds that holds for all before it from 1 on; 0 if for none.
fn most_of(limit: u64, holds: impl Fn(u64) -> bool) -> u64 {
    // Most often it holds for none.
    if limit == 0 || !holds(1) {
        return 0;
    }
    let (mut low, mut high) = (1, limit);
    while low < high {
        let middle = high - (high - low) / 2;
        if holds(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const NAMES: [&str; 3] = ["n", "m", "k"];

    fn size(text: &str) -> Size {
        let variable = |name: &str| NAMES.contains(&name).then(|| Variable::new(name, 1, 64).unwrap());
        Size::parse(text, &variable).unwrap()
    }

    /// What is known in a call with these sizes, of which this is asked, each variable with its bounds.
    fn known(asked: &[(&str, Comparison, &str)], sizes: &[i64]) -> (String, Facts) {
        let values = SizeValues::new(NAMES.iter().zip(sizes).map(|(name, value)| ((*name).to_owned(), *value)));
        let decide = |(a, by, b): &(&str, Comparison, &str)| Decision::new(&size(a), *by, &size(b), &values).unwrap();
        let facts = Facts::new(asked.iter().map(decide).collect(), &values);
        assert!(facts.hold(&values));
        let mut texts = Vec::new();
        for (variable, is) in &facts.known {
            // What it is has its value, at all sizes where the answers hold.
            assert_eq!(facts.values(&values).eval(is), values.eval(&Size::from(variable)), "{variable}");
            assert_eq!(facts.original(is).eval(&|v| values.get(v)).ok(), values.get(variable), "{variable}");
            let bounds: Vec<String> =
                is.variables().iter().map(|v| format!(", {v} in {}..{}", v.min(), v.max())).collect();
            texts.push(format!("{variable} = {is}{}", bounds.concat()));
        }
        (texts.join("; "), facts)
    }

    #[test]
    fn a9_answers_tighten_variables() {
        use Comparison::{Equal, Less, LessEqual};
        for (asked, sizes, expected) in [
            (vec![("5", Less, "n")], [7, 1, 1], "n = n, n in 6..64"),
            (vec![("n", LessEqual, "5")], [3, 1, 1], "n = n, n in 1..5"),
            (vec![("n", Equal, "1")], [3, 1, 1], "n = n, n in 2..64"),
            (vec![("n", Equal, "10")], [3, 1, 1], "n = n, n in 1..64"),
            (vec![("n", Equal, "4")], [4, 1, 1], "n = 4"),
            (vec![("1", Less, "n//2"), ("1", Less, "n//4"), ("1", Less, "n//8")], [9, 1, 1], "n = n, n in 8..15"),
            (vec![("n*n", LessEqual, "10")], [2, 1, 1], "n = n, n in 1..3"),
            (vec![("n", Less, "m")], [2, 9, 1], "m = m_more + n + 1, m_more in 0..62, n in 1..63; n = n, n in 1..63"),
            (vec![("m", LessEqual, "n")], [9, 9, 1], "m = m, m in 1..64; n = m + n_more, m in 1..64, n_more in 0..63"),
            (vec![("2*n", LessEqual, "3*m")], [2, 9, 1], "m = m, m in 1..64; n = n, n in 1..64"),
            (vec![("n", Equal, "m"), ("m", Less, "9")], [4, 4, 1], "m = m, m in 1..8; n = m, m in 1..8"),
            (
                vec![("n", Equal, "m + k")],
                [5, 2, 3],
                "k = k, k in 1..63; m = m, m in 1..63; n = k + m, k in 1..63, m in 1..63",
            ),
            (vec![("n%2", Equal, "0")], [6, 1, 1], "n = n_by_2*2, n_by_2 in 1..32"),
            (vec![("n%3", Equal, "2")], [8, 1, 1], "n = n_by_3*3 + 2, n_by_3 in 0..20"),
            (vec![("n//2*2", Equal, "n"), ("n", Less, "9")], [6, 1, 1], "n = n_by_2*2, n_by_2 in 1..4"),
            (vec![("n%2", Equal, "0"), ("n//2%2", Equal, "0")], [8, 1, 1], "n = n_by_2_by_2*4, n_by_2_by_2 in 1..16"),
            (vec![("n%2", Equal, "0")], [7, 1, 1], "n = n_by_2*2 + 1, n_by_2 in 0..31"),
            (vec![("n%3", Equal, "0")], [7, 1, 1], "n = n, n in 1..64"),
        ] {
            // Each but the last, an answer that is told by no form, where it is so in the call.
            let (text, _) = known(&asked, &sizes);
            assert_eq!(text, expected, "{asked:?}");
        }
    }

    #[test]
    fn a9_facts_agree_where_variables_are_the_same() {
        let (_, above) = known(&[("5", Comparison::Less, "n")], &[7, 1, 1]);
        let (_, twice) = known(&[("5", Comparison::Less, "n"), ("n", Comparison::Equal, "20")], &[7, 1, 1]);
        let (_, more) = known(&[("5", Comparison::Less, "n"), ("n", Comparison::Less, "20")], &[7, 1, 1]);
        let (_, other) = known(&[("m", Comparison::Less, "20")], &[7, 1, 1]);
        let (_, nothing) = known(&[("n", Comparison::Equal, "20")], &[7, 1, 1]);
        assert!(above.agree(&twice) && twice.agree(&above));
        assert!(!above.agree(&more) && !more.agree(&above) && !above.agree(&other));
        assert!(
            nothing.agree(&Facts::default()) && Facts::default().agree(&nothing) && !Facts::default().agree(&other)
        );
    }
}
