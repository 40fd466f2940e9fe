//! How numbers follow from variables.

use super::form::Number;
use smallvec::SmallVec;
use svod_ir::graph::outline::Outline;
use svod_ir::size::{BoundVariable, Size, Variable};

/// `base + Σ factor * variable`, each variable, or quotient, once.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Linear {
    pub base: i64,
    pub terms: Terms,
}

/// Variables by their places, and what they are multiplied by; the places of quotients are behind those of variables.
pub(super) type Terms = SmallVec<[(usize, i64); 2]>;

/// How a number follows from variables.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Law {
    Linear(Linear),
    Product(Linear, Linear),
}

/// `floor(of / by)`, as the length of what windows fit in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Quotient {
    pub of: Linear,
    pub by: i64,
}

/// The variables of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Variables {
    pub list: Vec<Variable>,
    /// Each of variables and of quotients before it.
    pub quotients: Vec<Quotient>,
    /// Of some what stands for them: the lesser of the variable and of what leaves no part outside of what it is a part
    /// of. Where a graph has these sizes, that is the variable.
    pub capped: Vec<(usize, Size)>,
}

impl Linear {
    /// Its value, where `value` gives that of each variable and quotient.
    fn at(&self, value: &dyn Fn(usize) -> Option<i64>) -> Option<i64> {
        self.terms.iter().try_fold(self.base, |sum, (v, factor)| sum.checked_add(factor.checked_mul(value(*v)?)?))
    }

    /// This and so many times another one.
    pub(super) fn plus(mut self, other: &Linear, factor: i64) -> Option<Linear> {
        self.base = self.base.checked_add(other.base.checked_mul(factor)?)?;
        for (variable, own) in &other.terms {
            let more = own.checked_mul(factor)?;
            match self.terms.iter_mut().find(|(v, _)| v == variable) {
                Some((_, sum)) => *sum = sum.checked_add(more)?,
                None => self.terms.push((*variable, more)),
            }
        }
        self.terms.retain(|(_, factor)| *factor != 0);
        Some(self)
    }

    pub(super) fn of(&self, sizes: &[Size]) -> Size {
        self.terms.iter().fold(Size::from(self.base), |sum, (v, factor)| sum + &sizes[*v] * *factor)
    }
}

impl Law {
    /// The variable that this follows from alone, and its value where this is `number`, if there is one.
    fn solve(&self, number: i64) -> Option<(usize, Option<i64>)> {
        let Law::Linear(Linear { base, terms }) = self else { return None };
        let [(variable, factor)] = terms[..] else { return None };
        let exact = |product: i64| (product.checked_rem(factor)? == 0).then(|| product / factor);
        Some((variable, number.checked_sub(*base).and_then(exact)))
    }

    pub(super) fn of(&self, sizes: &[Size]) -> Size {
        match self {
            Law::Linear(linear) => linear.of(sizes),
            Law::Product(a, b) => a.of(sizes) * b.of(sizes),
        }
    }

    fn at(&self, value: &dyn Fn(usize) -> Option<i64>) -> Option<i64> {
        match self {
            Law::Linear(linear) => linear.at(value),
            Law::Product(a, b) => a.at(value)?.checked_mul(b.at(value)?),
        }
    }
}

impl Variables {
    /// What stands for each variable and quotient.
    pub(super) fn sizes(&self) -> Vec<Size> {
        let mut sizes: Vec<Size> = self.list.iter().map(Size::from).collect();
        self.capped.iter().for_each(|(at, size)| sizes[*at] = size.clone());
        for Quotient { of, by } in &self.quotients {
            let quotient = of.of(&sizes).floordiv(*by);
            sizes.push(quotient);
        }
        sizes
    }

    /// The value of a linear function at those of the variables.
    pub(super) fn at(&self, linear: &Linear, values: &[BoundVariable]) -> Option<i64> {
        linear.at(&|at| self.value(at, &|variable| Some(values[variable].value())))
    }

    /// The value of a variable or quotient, where `value` gives that of each variable.
    fn value(&self, at: usize, value: &dyn Fn(usize) -> Option<i64>) -> Option<i64> {
        match at.checked_sub(self.list.len()) {
            None => value(at),
            Some(quotient) => {
                let Quotient { of, by } = &self.quotients[quotient];
                Some(of.at(&|at| self.value(at, value))?.div_euclid(*by))
            }
        }
    }

    /// The values at which an outline's sizes are these numbers. Each variable is all that some number follows from.
    pub(super) fn solve(&self, outline: &Outline, numbers: &[Number]) -> Option<Vec<BoundVariable>> {
        let mut values: SmallVec<[Option<i64>; 8]> = SmallVec::from_elem(None, self.list.len());
        let mut others: SmallVec<[(&Law, i64); 8]> = SmallVec::new();
        for (size, number) in outline.sizes.iter().zip(numbers) {
            match number {
                Number::Kept(value) if *value == size.value => {}
                Number::Kept(_) => return None,
                Number::Follows(law) => match law.solve(size.value).filter(|(at, _)| *at < values.len()) {
                    Some((variable, value)) if values[variable].is_none_or(|known| Some(known) == value) => {
                        values[variable] = Some(value?);
                    }
                    Some(_) => return None,
                    None => others.push((law, size.value)),
                },
            }
        }
        let value = |at: usize| self.value(at, &|variable| values[variable]);
        if others.iter().any(|(law, number)| law.at(&value) != Some(*number)) {
            return None;
        }
        let bind = |(variable, value): (&Variable, &Option<i64>)| variable.bind((*value)?).ok();
        let bound: Vec<BoundVariable> = self.list.iter().zip(&values).map(bind).collect::<Option<_>>()?;
        let is_itself = |(at, size): &(usize, Size)| size.eval_bound(&bound).ok() == Some(bound[*at].value());
        self.capped.iter().all(is_itself).then_some(bound)
    }
}
