//! How sizes compare in a call, and what a trace takes from that.

use std::fmt;

use svod_ir::size::{Size, SizeError, Variable};

/// How two sizes are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `a == b`
    Equal,
    /// `a < b`
    Less,
    /// `a <= b`
    LessEqual,
}

impl Comparison {
    /// Whether it holds, where the bounds of the variables tell.
    pub fn decided(self, a: &Size, b: &Size) -> Option<bool> {
        match self {
            Comparison::Equal => a.eq(b),
            Comparison::Less => a.lt(b),
            Comparison::LessEqual => a.le(b),
        }
    }

    fn holds(self, a: i64, b: i64) -> bool {
        match self {
            Comparison::Equal => a == b,
            Comparison::Less => a < b,
            Comparison::LessEqual => a <= b,
        }
    }
}

/// What a traced function was told of two sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub(super) a: Size,
    pub(super) by: Comparison,
    pub(super) b: Size,
    pub(super) answer: bool,
}

impl Decision {
    /// What holds at these sizes; none where they do not tell.
    pub(super) fn new(a: &Size, by: Comparison, b: &Size, values: &SizeValues) -> Option<Decision> {
        let answer = by.holds(values.eval(a)?, values.eval(b)?);
        Some(Decision { a: a.clone(), by, b: b.clone(), answer })
    }

    /// What was answered.
    pub fn answer(&self) -> bool {
        self.answer
    }

    /// Whether the answer is the same at these sizes.
    pub fn holds(&self, values: &SizeValues) -> bool {
        Decision::new(&self.a, self.by, &self.b, values).is_some_and(|now| now.answer == self.answer)
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match (self.by, self.answer) {
            (Comparison::Equal, true) => "==",
            (Comparison::Equal, false) => "!=",
            (Comparison::Less, true) => "<",
            (Comparison::Less, false) => ">=",
            (Comparison::LessEqual, true) => "<=",
            (Comparison::LessEqual, false) => ">",
        };
        write!(f, "{} {sign} {}", self.a, self.b)
    }
}

/// Values of variables, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SizeValues(Vec<(String, i64)>);

impl SizeValues {
    /// These values.
    pub fn new(values: impl IntoIterator<Item = (String, i64)>) -> SizeValues {
        SizeValues(values.into_iter().collect())
    }

    /// With those that follow from extents whose numbers are known: one with a single variable that is open gives
    /// that one, and maybe others with it.
    pub fn solve<'a>(&mut self, extents: impl Iterator<Item = (&'a Size, i64)> + Clone) {
        loop {
            let before = self.0.len();
            for (extent, number) in extents.clone() {
                let found = solved(&self.apply(extent), number);
                self.0.extend(found);
            }
            if self.0.len() == before {
                return;
            }
        }
    }

    /// With the value of a variable, unless it has one.
    pub fn add(&mut self, name: &str, value: i64) {
        if !self.has(name) {
            self.0.push((name.to_owned(), value));
        }
    }

    /// The size where its variables have these values, as far as they are known.
    pub fn apply(&self, size: &Size) -> Size {
        size.substitute(&|v| self.get(v).map(Size::from))
    }

    /// An error where a variable of this size has a value that is none of its own.
    pub fn check(&self, size: &Size) -> std::result::Result<(), SizeError> {
        size.variables().iter().try_for_each(|v| self.get(v).map_or(Ok(()), |value| v.check(value)))
    }

    /// All of them.
    pub fn into_pairs(self) -> Vec<(String, i64)> {
        self.0
    }

    pub(super) fn eval(&self, size: &Size) -> Option<i64> {
        size.eval(&|v| self.get(v)).ok()
    }

    /// Whether a variable of this name has a value.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    pub(super) fn get(&self, variable: &Variable) -> Option<i64> {
        self.0.iter().find(|(name, _)| name == variable.name()).map(|(_, value)| *value)
    }
}

/// The value of the only variable of an extent, where it appears linearly and a value fits.
fn solved(extent: &Size, number: i64) -> Option<(String, i64)> {
    let [variable] = &extent.variables()[..] else { return None };
    let at = |n: i64| extent.substitute(&|_| Some(Size::from(n))).as_const();
    let (start, step) = (at(0)?, at(1)?.checked_sub(at(0)?)?);
    let n = number.checked_sub(start)?.checked_div(step)?;
    (at(n) == Some(number)).then(|| (variable.name().to_owned(), n))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a9_extents_tell_variables_one_after_the_other() {
        let (n, m) = (Variable::new("n", 0, 64).unwrap(), Variable::new("m", 0, 64).unwrap());
        let (n, m) = (Size::from(&n), Size::from(&m));
        let mut values = SizeValues::default();
        let extents = [(&n + &m, 7), (&n * 2 + 1, 9), (&n * &m, 12)];
        values.solve(extents.iter().map(|(extent, number)| (extent, *number)));
        assert_eq!(values.clone().into_pairs(), [("n".to_owned(), 4), ("m".to_owned(), 3)]);
        assert_eq!(values.apply(&(&n + &m)), Size::from(7));
        // A value that does not fit tells nothing.
        let mut values = SizeValues::default();
        values.solve([(&(&n * 2), 9)].into_iter());
        assert_eq!(values, SizeValues::default());
    }

    #[test]
    fn a9_a_decision_holds_where_the_answer_is_the_same() {
        let n = Size::from(&Variable::new("n", 0, 64).unwrap());
        let at = |value: i64| SizeValues::new([("n".to_owned(), value)]);
        let five = Size::from(5);
        for (by, at_4, text) in [
            (Comparison::Equal, false, "n != 5"),
            (Comparison::Less, true, "n < 5"),
            (Comparison::LessEqual, true, "n <= 5"),
        ] {
            assert_eq!(by.decided(&n, &five), None);
            let decision = Decision::new(&n, by, &five, &at(4)).unwrap();
            assert_eq!((decision.answer(), decision.to_string().as_str()), (at_4, text));
            assert!(decision.holds(&at(3)) && !decision.holds(&SizeValues::default()));
            assert_eq!(decision.holds(&at(6)), by == Comparison::Equal);
        }
        assert_eq!(Decision::new(&n, Comparison::Less, &five, &SizeValues::default()), None);
    }
}
