//! From how few numbers all those follow in which graphs differ.
//!
//! Numbers whose differences among graphs are multiples of one another are a *class*: one variable gives all of them. A
//! class whose numbers are the sum or the difference of those of two others, as the length of two parts that are joined, or
//! a quotient of another's, as how often a window fits in, follows from these and needs no variable.

use super::law::{Law, Linear, Quotient, Terms};
use super::{Entry, FACTOR, MOST_CLASSES, MOST_EXTENTS, MOST_VARIABLES};
use smallvec::SmallVec;
use svod_dtype::{Const, DType};
use svod_ir::graph::outline::{Outline, Role};
use svod_ir::size::gcd;

/// Graphs beside the latest one from which on sums are taken for such whatever is added to them, and quotients for such.
const SURE: usize = 3;
/// Strides that windows are taken to have, at most.
const MOST_STRIDE: i64 = 4;

/// Which extents are taken to vary.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Extents {
    /// Those that are near to one another.
    Near,
    Any,
}

/// How numbers of an outline follow from variables.
pub(super) struct Laws {
    /// The values of the variables in the latest graph.
    pub values: Vec<i64>,
    pub quotients: Vec<Quotient>,
    /// None of numbers that are what they were.
    pub sizes: Vec<Option<Law>>,
    /// Of constants, those that are positions.
    pub positions: Vec<Option<Linear>>,
}

/// How a number differs from what it was in others: `along * factor`, where `along` begins with a positive number and has no
/// common divisor. What was one number in all others is only known to go with what differs by as much.
#[derive(Clone, PartialEq)]
struct Difference {
    along: Along,
    factor: i64,
}

/// A number for each of some graphs.
type Along = SmallVec<[i64; 8]>;

/// Numbers whose differences are multiples of `along * unit`.
struct Class {
    along: Along,
    unit: i64,
    /// One that differs by this itself, in the latest graph and in the others.
    own: Along,
    is_extent: bool,
    /// What that follows from.
    linear: Linear,
}

/// From what the numbers of a graph follow, and those of others; none where too much varies.
pub(super) fn laws(outline: &Outline, others: &[&Entry], extents: Extents) -> Option<Laws> {
    let count = outline.sizes.len();
    let products = products(outline, others);
    let near = |at: usize| {
        extents == Extents::Any || others.iter().all(|other| are_near(outline.sizes[at].value, other.sizes[at]))
    };
    let alike = |at: usize| products[at].is_some() || outline.sizes[at].role == Role::Start || near(at);
    if others.is_empty() || !(0..count).all(alike) {
        return None;
    }
    let of = |at: usize| difference(outline.sizes[at].value, others.iter().map(|other| other.sizes[at]));
    let differences: Vec<Difference> = (0..count).map(of).collect::<Option<_>>()?;
    let differs = |at: &usize| products[*at].is_none() && differences[*at].factor != 0;
    let mut classes = classes(outline, others, &differences, (0..count).filter(differs))?;
    let (values, quotients) = resolve(&mut classes, &kept(outline, &differences))?;
    let follows = |d: &Difference, value: i64| -> Option<Linear> {
        let class = classes.iter().find(|class| class.along == d.along).filter(|class| d.factor % class.unit == 0)?;
        let factor = d.factor / class.unit;
        let base = value.checked_sub(factor.checked_mul(class.own[0])?)?;
        Linear { base, terms: Terms::new() }.plus(&class.linear, factor)
    };
    let line = |at: usize| follows(&differences[at], outline.sizes[at].value);
    let law = |at: usize| match products[at] {
        Some((a, b)) => Some(Some(Law::Product(line(a)?, line(b)?))),
        None if differences[at].factor == 0 => Some(None),
        None => Some(Some(Law::Linear(line(at)?))),
    };
    let sizes = (0..count).map(law).collect::<Option<_>>()?;
    let position = |(at, value): (usize, Const)| -> Option<Linear> {
        let before = others.iter().map(|other| other.latest[at].as_i64());
        let d = difference(value.as_i64(), before).filter(|d| value.dtype() == DType::I64 && d.factor != 0)?;
        follows(&d, value.as_i64())
    };
    let positions = outline.constants.iter().map(|c| c.value).enumerate().map(position).collect();
    Some(Laws { values, quotients, sizes, positions })
}

pub(super) fn are_near(a: i64, b: i64) -> bool {
    a.max(b) < FACTOR.saturating_mul(a.min(b))
}

fn difference(value: i64, others: impl Iterator<Item = i64>) -> Option<Difference> {
    let by: Along = others.map(|other| value.checked_sub(other)).collect::<Option<_>>()?;
    let Some(first) = by.iter().find(|by| **by != 0) else { return Some(Difference { along: by, factor: 0 }) };
    let divisor = by.iter().fold(0, |divisor, by| gcd(divisor, by.unsigned_abs()));
    let divisor = if by.iter().all(|other| other == first) { 1 } else { i64::try_from(divisor).ok()? };
    let factor = if *first < 0 { -divisor } else { divisor };
    Some(Difference { along: by.iter().map(|by| by / factor).collect(), factor })
}

/// The numbers that are what they were.
fn kept(outline: &Outline, differences: &[Difference]) -> Vec<i64> {
    let all = outline.sizes.iter().zip(differences);
    all.filter(|(_, d)| d.factor == 0).map(|(size, _)| size.value).collect()
}

/// A number of an outline, here and in others.
fn values(outline: &Outline, others: &[&Entry], at: usize) -> Along {
    std::iter::once(outline.sizes[at].value).chain(others.iter().map(|other| other.sizes[at])).collect()
}

/// The classes of these numbers, the least first; none where they are too many.
fn classes(
    outline: &Outline,
    others: &[&Entry],
    differences: &[Difference],
    numbers: impl Iterator<Item = usize>,
) -> Option<Vec<Class>> {
    let mut members: Vec<(&Along, Vec<usize>)> = Vec::new();
    for at in numbers {
        let along = &differences[at].along;
        match members.iter_mut().find(|(own, _)| *own == along) {
            Some((_, own)) => own.push(at),
            None => members.push((along, vec![at])),
        }
        if members.len() > MOST_CLASSES {
            return None;
        }
    }
    let class = |(along, members): (&Along, Vec<usize>)| {
        let factor = |at: &usize| differences[*at].factor;
        let least = members.iter().map(|at| factor(at).abs()).min().unwrap_or(1);
        let least = if members.iter().all(|at| factor(at) % least == 0) { least } else { 1 };
        let all = members.iter().filter(|at| factor(at).abs() == least);
        let (own, unit) = all.map(|at| (values(outline, others, *at), factor(at))).min().unwrap_or_else(|| {
            let own = std::iter::once(0).chain(along.iter().map(|by| -by)).collect();
            (own, 1)
        });
        let is_extent = members.iter().any(|at| outline.sizes[*at].role != Role::Start);
        let linear = Linear { base: 0, terms: Terms::new() };
        Class { along: along.clone(), unit, own, is_extent, linear }
    };
    let mut classes: Vec<Class> = members.into_iter().map(class).collect();
    classes.sort_by(|a, b| a.own.cmp(&b.own));
    Some(classes)
}

/// What a class follows from.
enum From {
    /// A variable of its own.
    Variable(usize),
    /// The sum of two classes, with their signs, and of a number.
    Sum([(usize, i64); 2], i64),
    /// The quotient of a class, to which a number is added before, and the sum of that and of a number.
    Quotient { of: usize, plus: i64, by: i64, base: i64 },
}

/// Finds what each class follows from: the values of the variables, those of extents first, and the quotients.
fn resolve(classes: &mut [Class], kept: &[i64]) -> Option<(Vec<i64>, Vec<Quotient>)> {
    let mut from: Vec<Option<From>> = (0..classes.len()).map(|at| quotient(classes, at)).collect();
    for at in 0..classes.len() {
        if from[at].is_none() {
            from[at] = sum(classes, at, kept, &|part| !depends(&from, part, at));
        }
    }
    let mut own: Vec<usize> = (0..classes.len()).filter(|at| from[*at].is_none()).collect();
    own.sort_by_key(|at| !classes[*at].is_extent);
    let extents = own.iter().filter(|at| classes[**at].is_extent).count();
    if own.is_empty() || own.len() > MOST_VARIABLES || extents > MOST_EXTENTS {
        return None;
    }
    own.iter().enumerate().for_each(|(variable, at)| from[*at] = Some(From::Variable(variable)));
    let (mut found, mut quotients) = (vec![None; classes.len()], Vec::new());
    for (at, class) in classes.iter_mut().enumerate() {
        class.linear = linear(&from, at, &mut found, &mut quotients, own.len())?;
    }
    Some((own.iter().map(|at| classes[*at].own[0]).collect(), quotients))
}

/// Whether a class follows from another one.
fn depends(from: &[Option<From>], at: usize, on: usize) -> bool {
    at == on
        || match &from[at] {
            Some(From::Sum(parts, _)) => parts.iter().any(|(part, _)| depends(from, *part, on)),
            Some(From::Quotient { of, .. }) => depends(from, *of, on),
            _ => false,
        }
}

/// What a class is of variables and quotients, which are added to those that there are.
fn linear(
    from: &[Option<From>],
    at: usize,
    found: &mut [Option<Linear>],
    quotients: &mut Vec<Quotient>,
    variables: usize,
) -> Option<Linear> {
    if let Some(known) = &found[at] {
        return Some(known.clone());
    }
    let number = |base: i64| Linear { base, terms: Terms::new() };
    let linear = match from[at].as_ref()? {
        From::Variable(variable) => Linear { base: 0, terms: Terms::from_slice(&[(*variable, 1)]) },
        From::Sum(parts, base) => parts.iter().try_fold(number(*base), |sum, (part, sign)| {
            sum.plus(&linear(from, *part, found, quotients, variables)?, *sign)
        })?,
        From::Quotient { of, plus, by, base } => {
            let of = number(*plus).plus(&linear(from, *of, found, quotients, variables)?, 1)?;
            quotients.push(Quotient { of, by: *by });
            Linear { base: *base, terms: Terms::from_slice(&[(variables + quotients.len() - 1, 1)]) }
        }
    };
    found[at] = Some(linear.clone());
    Some(linear)
}

/// Of which two classes before it, of those that `may` be its parts, one is the sum in all graphs.
fn sum(classes: &[Class], at: usize, kept: &[i64], may: &dyn Fn(usize) -> bool) -> Option<From> {
    const SIGNS: [[i64; 2]; 4] = [[1, 1], [1, -1], [-1, 1], [-1, -1]];
    let own = &classes[at].own;
    let parts: Vec<usize> = (0..at).filter(|part| may(*part)).collect();
    let of = |p: usize, q: usize, [a, b]: [i64; 2]| {
        let (p_own, q_own) = (&classes[p].own, &classes[q].own);
        let mut rest = (0..own.len()).map(|i| own[i].wrapping_sub(a * p_own[i]).wrapping_sub(b * q_own[i]));
        let base = rest.next()?;
        let is_likely = own.len() > SURE || base.abs() <= 1 || kept.contains(&base.abs());
        (is_likely && rest.all(|other| other == base)).then_some(From::Sum([(p, a), (q, b)], base))
    };
    let pairs = || parts.iter().enumerate().flat_map(|(i, q)| parts[..i].iter().map(move |p| (*p, *q)));
    SIGNS.iter().find_map(|signs| pairs().find_map(|(p, q)| of(p, q, *signs)))
}

/// Of which class of greater numbers one is a quotient in all graphs.
fn quotient(classes: &[Class], at: usize) -> Option<From> {
    let own = &classes[at].own;
    if own.len() <= SURE {
        return None;
    }
    let of = |of: usize, by: i64, plus: i64| {
        let whole = &classes[of].own;
        let mut rest = (0..own.len()).map(|i| own[i].wrapping_sub(whole[i].wrapping_add(plus).div_euclid(by)));
        let base = rest.next()?;
        rest.all(|other| other == base).then_some(From::Quotient { of, plus, by, base })
    };
    let strides = || (2..=MOST_STRIDE).flat_map(|by| (0..by).map(move |plus| (by, plus)));
    (at + 1..classes.len()).find_map(|whole| strides().find_map(|(by, plus)| of(whole, by, plus)))
}

/// For each size the two sizes whose product it was in all of several graphs, where it differs from each to the next and
/// neither of the two is a product itself.
fn products(outline: &Outline, others: &[&Entry]) -> Vec<Option<(usize, usize)>> {
    let of = |at: usize| values(outline, others, at);
    let mut found = vec![None; outline.sizes.len()];
    let mut distinct: Vec<usize> = Vec::new();
    for at in (0..outline.sizes.len()).filter(|&at| outline.sizes[at].role == Role::Extent) {
        let values = of(at);
        if others.len() > 1
            && values.windows(2).all(|pair| pair[0] != pair[1])
            && distinct.iter().all(|&other| of(other) != values)
        {
            distinct.push(at);
        }
        if distinct.len() > MOST_VARIABLES {
            return found;
        }
    }
    // A factor is less than what it is a factor of, since extents of 1 are no numbers of an outline.
    distinct.sort_unstable_by_key(|&at| of(at));
    for (k, &whole) in distinct.iter().enumerate() {
        let factors: Vec<usize> = distinct[..k].iter().copied().filter(|&at| found[at].is_none()).collect();
        let is_whole =
            |a: usize, b: usize| of(a).iter().zip(of(b)).zip(of(whole)).all(|((a, b), n)| a.checked_mul(b) == Some(n));
        let mut pairs = factors.iter().enumerate().flat_map(|(i, &a)| factors[i..].iter().map(move |&b| (a, b)));
        let pair = pairs.find(|&(a, b)| is_whole(a, b));
        for at in (0..found.len()).filter(|&at| outline.sizes[at].role == Role::Extent && of(at) == of(whole)) {
            found[at] = pair;
        }
    }
    found
}
