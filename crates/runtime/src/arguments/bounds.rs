//! Between which bounds variables are such that all parts of a graph are inside of what they are parts of.
//!
//! What has to hold of one variable narrows its bounds. What has to hold of several (a part begins here and is so long)
//! says of one of them what it is at most, given the others: the lesser of both stands for it, which is the variable itself
//! in every graph that there is.

use super::law::Variables;
use std::collections::VecDeque;
use svod_ir::size::{Size, Variable};

/// Conditions on several variables that bounds alone do not meet, at most.
const MOST_JOINT: usize = 64;

pub(super) struct Bounds {
    /// Variables of the same names.
    names: Vec<Variable>,
    /// Their values in one graph.
    values: Vec<i64>,
    within: Vec<(i64, i64)>,
    /// For each what it is at most, given others.
    most: Vec<Vec<Size>>,
    /// What is not to be negative, and follows from several variables.
    joint: VecDeque<Size>,
}

impl Bounds {
    /// All bounds of variables that have these values in one graph.
    pub(super) fn new(names: Vec<Variable>, values: Vec<i64>) -> Bounds {
        let count = names.len();
        let all = (i64::from(i32::MIN), i64::from(i32::MAX));
        Bounds { names, values, within: vec![all; count], most: vec![Vec::new(); count], joint: VecDeque::new() }
    }

    /// Takes in that a size is not negative.
    pub(super) fn require(&mut self, size: Size) {
        let mentioned = size.variables();
        match &mentioned[..] {
            [] => {}
            [variable] => self.narrow(&size, variable),
            _ if self.joint.contains(&size) => {}
            _ => self.joint.push_back(size),
        }
    }

    /// The variables; none where no bounds are found at which all conditions are met, or where these do not hold the values.
    pub(super) fn variables(&mut self) -> Option<Variables> {
        let mut found = 0;
        while let Some(size) = self.joint.pop_front() {
            if !self.holds(&size)? {
                found += 1;
                self.at_most(&size).filter(|()| found <= MOST_JOINT)?;
            }
        }
        let inside = |((low, high), value): (&(i64, i64), &i64)| low <= value && value <= high;
        if !self.within.iter().zip(&self.values).all(inside) {
            return None;
        }
        let list = self.list()?;
        let capped = (0..list.len()).filter(|at| !self.most[*at].is_empty()).map(|at| (at, self.of(at, &list)));
        let capped = capped.filter(|(at, size)| *size != Size::from(&list[*at])).collect();
        Some(Variables { list, quotients: Vec::new(), capped })
    }

    fn list(&self) -> Option<Vec<Variable>> {
        let one = |(own, (low, high)): (&Variable, &(i64, i64))| Variable::internal(own.name(), *low, *high).ok();
        self.names.iter().zip(&self.within).map(one).collect()
    }

    /// Which of the variables it is.
    fn place(&self, variable: &Variable) -> Option<usize> {
        self.names.iter().position(|own| own.name() == variable.name())
    }

    /// What stands for a variable.
    fn of(&self, at: usize, list: &[Variable]) -> Size {
        self.most[at].iter().fold(Size::from(&list[at]), |least, most| least.min(self.bounded(most, list)))
    }

    /// A size of the variables of a list.
    fn bounded(&self, size: &Size, list: &[Variable]) -> Size {
        size.substitute(&|variable| Some(self.of(self.place(variable)?, list)))
    }

    fn holds(&self, size: &Size) -> Option<bool> {
        Some(self.bounded(size, &self.list()?).is_extent())
    }

    /// Narrows the bounds of a variable to those at which a size of it is not negative: exactly where that is linear in it,
    /// else to such as show it.
    fn narrow(&mut self, size: &Size, variable: &Variable) {
        let Some(at) = self.place(variable) else { return };
        let (low, high) = self.within[at];
        let base = at_value(size, variable, 0).as_const();
        let (low, high) = match slope(size, variable).zip(base) {
            Some((0, _)) => (low, high),
            Some((slope, base)) if slope > 0 => (low.max(-base.div_euclid(slope)), high),
            Some((slope, base)) => (low, high.min(base.div_euclid(-slope))),
            None => {
                let value = self.values[at];
                let holds = |low: i64, high: i64| {
                    let within = Variable::internal(variable.name(), low, high);
                    within.is_ok_and(|v| size.substitute(&|_| Some(Size::from(&v))).is_extent())
                };
                let low = first(low, value, |low| holds(low, value));
                (low, -first(-high, -value, |high| holds(low, -high)))
            }
        };
        self.within[at] = (low, high);
    }

    /// Lets one of the variables of a size be as great at most as leaves it not negative: the last one that may be.
    fn at_most(&mut self, size: &Size) -> Option<()> {
        let mentioned: Vec<usize> = size.variables().iter().map(|v| self.place(v)).collect::<Option<_>>()?;
        let own = |at: usize| size.variables().into_iter().find(|v| v.name() == self.names[at].name());
        let falls = |at: &usize| slope(size, &own(*at)?).filter(|slope| *slope < 0).map(|slope| (*at, -slope));
        let is_free = |(at, _): &(usize, i64)| mentioned.iter().all(|other| other == at || !self.depends(*other, *at));
        let (at, factor) = mentioned.iter().filter_map(falls).filter(is_free).max()?;
        let others = at_value(size, &own(at)?, 0);
        self.require(&others - self.within[at].0.checked_mul(factor)?);
        self.most[at].push(others.floordiv(factor));
        Some(())
    }

    /// Whether what stands for a variable depends on another.
    fn depends(&self, at: usize, on: usize) -> bool {
        let mentioned = || self.most[at].iter().flat_map(Size::variables);
        at == on || mentioned().filter_map(|v| self.place(&v)).any(|other| self.depends(other, on))
    }
}

/// By what a size grows with a variable in which it is linear.
fn slope(size: &Size, variable: &Variable) -> Option<i64> {
    let base = at_value(size, variable, 0);
    let slope = (at_value(size, variable, 1) - &base).as_const()?;
    (size - Size::from(variable) * slope == base).then_some(slope)
}

/// A size where a variable has a value, whatever the bounds of that are.
fn at_value(size: &Size, variable: &Variable, value: i64) -> Size {
    size.substitute(&|v| (v == variable).then(|| Size::from(value)))
}

/// The first number of a range from which on something holds, or the last one.
fn first(low: i64, high: i64, holds: impl Fn(i64) -> bool) -> i64 {
    let (mut low, mut high) = (low, high);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    high
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn bounds(values: &[i64]) -> (Bounds, Vec<Size>) {
        let name = |(i, value): (usize, &i64)| Variable::internal(&format!("size.{i}"), *value, *value).unwrap();
        let names: Vec<Variable> = values.iter().enumerate().map(name).collect();
        let sizes = names.iter().map(Size::from).collect();
        (Bounds::new(names, values.to_vec()), sizes)
    }

    #[test]
    fn a_part_of_any_length_that_begins_anywhere_is_inside() {
        let (mut bounds, of) = bounds(&[8, 5]);
        let (length, start) = (&of[0], &of[1]);
        for size in [length - 2, start.clone(), Size::from(20) - length - start] {
            bounds.require(size);
        }
        let found = bounds.variables().unwrap();
        let [length, start] = &found.list[..] else { panic!("two variables") };
        assert_eq!((length.min(), length.max(), start.min()), (2, 20, 0));
        let sizes = found.sizes();
        assert!((Size::from(20) - &sizes[0] - &sizes[1]).is_extent());
        for (n, at) in [(8, 5), (20, 0), (2, 18)] {
            let bound = [length.bind(n).unwrap(), start.bind(at).unwrap()];
            assert_eq!(sizes[1].eval_bound(&bound).unwrap(), at);
        }
    }

    #[test]
    fn quotients_narrow_what_they_are_of() {
        let (mut bounds, of) = bounds(&[9]);
        bounds.require(&of[0] - 2);
        let wide = Variable::internal("size.0", 2, 100).unwrap();
        bounds.require(Size::from(&wide).floordiv(2) - 3);
        let found = &bounds.variables().unwrap().list[0];
        assert_eq!(found.min(), 6);
    }

    #[test]
    fn what_does_not_hold_here_has_no_bounds() {
        let (mut bounds, of) = bounds(&[9]);
        bounds.require(Size::from(5) - &of[0]);
        assert!(bounds.variables().is_none());
    }
}
