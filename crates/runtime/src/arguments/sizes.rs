//! Extents and positions that vary together, as variables.
//!
//! Numbers whose differences among graphs are multiples of one another follow from one integer, as all extents and
//! boundaries do in a sequence that grows: they are *linear* in a variable. A [`Model`] says for each number of an
//! outline whether it stays, or of which variable it is which linear function, or of which two such functions it is the
//! product, as the elements of a matrix are of its rows and columns. Positions vary independently; extents have to follow
//! from few variables, and are taken to vary where none of them is four times another. Numbers are taken to vary together
//! where they did in all graphs that are remembered, as far as there is such a model: of few graphs alone, numbers that have
//! nothing to do with one another may seem to.
//!
//! A variable's bounds are those at which all parts are inside of what they are parts of, found from
//! the graph with the variable in place; extents grow up to a power of two, beyond which a new model is made.

use super::counted::bytes_of;
use super::form::{Made, Number, Numbers};
use super::{Entry, Values, constants_of, leaves_of, varying};
use crate::error::Result;
use smallvec::SmallVec;
use svod_device::Device;
use svod_dtype::{Const, DType};
use svod_ir::graph::outline::{Outline, Replacements, Role};
use svod_ir::graph::{Graph, Op, UOp};
use svod_ir::size::{BoundVariable, Size, Variable, gcd};

/// Variables of a model at most.
const MOST_VARIABLES: usize = 16;
/// Of these, such as extents follow from, of a box of three dimensions as many: more are other problems, too.
const MOST_EXTENTS: usize = 3;
/// Graphs with other taps from which on these vary: code that knows them is up to several times as fast.
const TAPS: usize = 4;
/// Extents that are so many times others are different problems, for which different code is best.
const FACTOR: i64 = 4;

/// `base + factor * variable`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Linear {
    pub variable: usize,
    base: i64,
    factor: i64,
}

/// How a number follows from variables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Law {
    Linear(Linear),
    Product(Linear, Linear),
}

/// How the sizes of an outline vary.
pub(super) struct Model {
    variables: Vec<Variable>,
    /// For each size what it follows from; none of one that stays.
    sizes: Vec<Option<Law>>,
    /// For each constant, of those that are positions.
    positions: Vec<Option<Linear>>,
    constants: Vec<Values>,
    /// The numbers of the latest graph.
    latest: Entry,
}

impl Linear {
    pub(super) fn at(self, value: i64) -> Option<i64> {
        self.factor.checked_mul(value)?.checked_add(self.base)
    }

    fn of(self, variables: &[Variable]) -> Size {
        Size::from(&variables[self.variable]) * self.factor + self.base
    }

    /// The value of the variable at which this is `number`.
    fn solve(self, number: i64) -> Option<i64> {
        let product = number.checked_sub(self.base)?;
        (product.checked_rem(self.factor)? == 0).then(|| product / self.factor)
    }
}

impl Law {
    fn of(self, variables: &[Variable]) -> Size {
        match self {
            Law::Linear(linear) => linear.of(variables),
            Law::Product(a, b) => a.of(variables) * b.of(variables),
        }
    }
}

impl Model {
    pub(super) fn latest(&self) -> &Entry {
        &self.latest
    }

    pub(super) fn bytes(&self) -> usize {
        bytes_of(&self.sizes) + bytes_of(&self.positions) + bytes_of(&self.constants) + self.latest.bytes()
    }

    /// The variables' values for a graph that varies in this way.
    pub(super) fn read(&self, outline: &Outline) -> Option<Vec<BoundVariable>> {
        solve(&self.variables, outline, self.numbers())
    }

    fn numbers(&self) -> impl Iterator<Item = Number> {
        let one = |(law, latest): (&Option<Law>, &i64)| law.map_or(Number::Kept(*latest), Number::Follows);
        self.sizes.iter().zip(&self.latest.sizes).map(one)
    }

    /// The graph at these values.
    pub(super) fn apply(
        &mut self,
        graph: &Graph,
        outline: &Outline,
        values: Vec<BoundVariable>,
        device: &Device,
    ) -> Result<Made> {
        for (at, position) in outline.constants.iter().zip(&mut self.positions) {
            let holds = |linear: &Linear| linear.at(values[linear.variable].value()) == Some(at.value.as_i64());
            *position = position.filter(holds);
        }
        let mut leaves = varying(graph, outline, &mut self.constants);
        leaves.iter_mut().zip(&self.positions).for_each(|(leaf, position)| *leaf &= position.is_none());
        let constants = leaves_of(outline, &leaves, device)?;
        let nodes = self.nodes(graph, outline, &self.variables, constants.clone())?;
        let numbers = Numbers {
            variables: self.variables.clone(),
            sizes: self.numbers().collect(),
            constants: constants_of(outline, &leaves, &self.positions),
        };
        self.latest = Entry::new(outline);
        Made::new(graph, outline, nodes, constants, numbers, values)
    }

    /// The nodes of the graph with these variables, and leaves in place of constants.
    fn nodes(
        &self,
        graph: &Graph,
        outline: &Outline,
        variables: &[Variable],
        mut constants: Vec<Option<UOp>>,
    ) -> Result<Vec<UOp>> {
        for (constant, position) in constants.iter_mut().zip(&self.positions) {
            if let Some(linear) = position {
                *constant = Some(UOp::size(linear.of(variables))?);
            }
        }
        let sizes: Vec<Option<Size>> = self.sizes.iter().map(|l| l.map(|l| l.of(variables))).collect();
        Ok(outline.replace(graph, &Replacements { constants: &constants, sizes: &sizes })?)
    }
}

/// The variables' values at which an outline's sizes are these numbers.
pub(super) fn solve(
    variables: &[Variable],
    outline: &Outline,
    numbers: impl Iterator<Item = Number>,
) -> Option<Vec<BoundVariable>> {
    let mut values: Vec<Option<i64>> = vec![None; variables.len()];
    let mut products = Vec::new();
    for (size, number) in outline.sizes.iter().zip(numbers) {
        match number {
            Number::Kept(value) if value == size.value => {}
            Number::Kept(_) => return None,
            Number::Follows(Law::Linear(linear)) => match &mut values[linear.variable] {
                Some(value) if linear.at(*value) == Some(size.value) => {}
                Some(_) => return None,
                unknown => *unknown = Some(linear.solve(size.value)?),
            },
            Number::Follows(Law::Product(a, b)) => products.push((a, b, size.value)),
        }
    }
    for (a, b, product) in products {
        let [a, b] = [a, b].map(|linear| linear.at(values[linear.variable]?));
        if a?.checked_mul(b?) != Some(product) {
            return None;
        }
    }
    variables.iter().zip(values).map(|(variable, value)| variable.bind(value?).ok()).collect()
}

/// The model of a graph and of others before it, the latest first, where there is one.
pub(super) fn fit(graph: &Graph, outline: &Outline, others: &[&Entry]) -> Option<Model> {
    let differs =
        |entry: &Entry, role: fn(Role) -> bool| differing(outline, entry).any(|at| role(outline.sizes[at].role));
    let bounded = |others: &[&Entry]| draft(outline, others)?.bounded(graph, outline);
    // What only begins elsewhere.
    let moved: Vec<&Entry> =
        others.iter().copied().filter(|entry| !differs(entry, |role| role != Role::Start)).collect();
    if let Some(model) = bounded(&moved).or_else(|| moved.iter().find_map(|first| bounded(&[*first]))) {
        return Some(model);
    }
    if (1..TAPS).contains(&others.iter().filter(|entry| differs(entry, |role| role == Role::Taps)).count()) {
        return None;
    }
    let near: Vec<&Entry> = others.iter().copied().filter(|entry| is_near(outline, entry)).collect();
    if near.len() > 2
        && let Some(model) = bounded(&near)
    {
        return Some(model);
    }
    let mut pairs = others.iter().enumerate().flat_map(|(i, a)| others[i + 1..].iter().map(move |b| [*a, *b]));
    pairs.find_map(|pair| bounded(&pair))
}

/// Whether the extents of an outline and of an entry are those of like problems.
fn is_near(outline: &Outline, entry: &Entry) -> bool {
    let mut sizes = outline.sizes.iter().zip(&entry.sizes);
    sizes.all(|(at, other)| at.role == Role::Start || are_near(at.value, *other))
}

fn are_near(a: i64, b: i64) -> bool {
    a.max(b) < FACTOR.saturating_mul(a.min(b))
}

/// The numbers in which an outline and an entry differ.
fn differing<'a>(outline: &'a Outline, entry: &'a Entry) -> impl Iterator<Item = usize> + 'a {
    (0..outline.sizes.len()).filter(|&at| outline.sizes[at].value != entry.sizes[at])
}

/// A model without bounds, and its variables' values at the graph that it was made for.
struct Draft {
    model: Model,
    values: Vec<i64>,
}

/// How a number differs from what it was in others: `along * factor`, where `along` begins with a positive number and has no
/// common divisor. What was one number in all others is only known to go with what differs by as much.
#[derive(Clone, PartialEq)]
struct Difference {
    along: Along,
    factor: i64,
}

/// A number for each of some graphs.
type Along = SmallVec<[i64; 4]>;

fn difference(value: i64, others: impl Iterator<Item = i64>) -> Option<Difference> {
    let by: Along = others.map(|other| value.checked_sub(other)).collect::<Option<_>>()?;
    let Some(first) = by.iter().find(|by| **by != 0) else { return Some(Difference { along: by, factor: 0 }) };
    let divisor = by.iter().fold(0, |divisor, by| gcd(divisor, by.unsigned_abs()));
    let divisor = if by.iter().all(|other| other == first) { 1 } else { i64::try_from(divisor).ok()? };
    let factor = if *first < 0 { -divisor } else { divisor };
    Some(Difference { along: by.iter().map(|by| by / factor).collect(), factor })
}

/// The model of a graph and others; none where there is none, and where more varies than a variable says.
fn draft(outline: &Outline, others: &[&Entry]) -> Option<Draft> {
    let first = others.first()?;
    let of = |at: usize| difference(outline.sizes[at].value, others.iter().map(|other| other.sizes[at]));
    let differences: Vec<Difference> = (0..outline.sizes.len()).map(of).collect::<Option<_>>()?;
    let products = products(outline, others);
    let linear = || (0..outline.sizes.len()).filter(|&at| products[at].is_none() && differences[at].factor != 0);
    let mut classes: Vec<&Along> = Vec::new();
    for d in linear().map(|at| &differences[at]) {
        if !classes.contains(&&d.along) {
            classes.push(&d.along);
        }
        if classes.len() > MOST_VARIABLES {
            return None;
        }
    }
    let extents =
        |class: &&&Along| linear().any(|at| differences[at].along == ***class && outline.sizes[at].role != Role::Start);
    let alike = |at: usize| {
        let size = &outline.sizes[at];
        let near = || others.iter().all(|other| are_near(size.value, other.sizes[at]));
        products[at].is_some() || size.role == Role::Start || near()
    };
    let several = classes.iter().filter(extents).count() > MOST_EXTENTS;
    if classes.is_empty() || several || !(0..outline.sizes.len()).all(alike) {
        return None;
    }
    // The number that differs the least is the variable itself, if all others differ by multiples of it.
    let mut values = Vec::with_capacity(classes.len());
    let mut units = Vec::with_capacity(classes.len());
    for class in &classes {
        let own = || {
            let all = linear().map(|at| (&differences[at], &outline.sizes[at]));
            all.filter(|(d, _)| d.along == **class)
        };
        let (least, size) = own().min_by_key(|(d, _)| (d.factor.unsigned_abs(), d.factor < 0))?;
        let all = own().all(|(d, _)| d.factor % least.factor == 0);
        values.push(if all { size.value } else { 0 });
        units.push(if all { least.factor } else { 1 });
    }
    let follows = |d: &Difference, value: i64| -> Option<Linear> {
        let variable = classes.iter().position(|along| **along == d.along)?;
        let factor = d.factor / units[variable];
        Some(Linear { variable, base: value.checked_sub(factor.checked_mul(values[variable])?)?, factor })
    };
    let line = |at: usize| follows(&differences[at], outline.sizes[at].value);
    let law = |at: usize| match products[at] {
        Some((a, b)) => Some(Law::Product(line(a)?, line(b)?)),
        None if differences[at].factor == 0 => None,
        None => line(at).map(Law::Linear),
    };
    let sizes = (0..outline.sizes.len()).map(law).collect();
    let position = |at: usize, value: Const| -> Option<Linear> {
        let before = others.iter().map(|other| other.latest[at].as_i64());
        let d = difference(value.as_i64(), before).filter(|d| value.dtype() == DType::I64 && d.factor != 0)?;
        let unit = units[classes.iter().position(|along| **along == d.along)?];
        if d.factor % unit == 0 { follows(&d, value.as_i64()) } else { None }
    };
    let positions = outline.constants.iter().enumerate().map(|(i, at)| position(i, at.value)).collect();
    let mut constants = first.constants.clone();
    for other in others {
        constants.iter_mut().zip(&other.latest).for_each(|(values, value)| values.add(*value));
    }
    let model = Model { variables: Vec::new(), sizes, positions, constants, latest: Entry::new(outline) };
    Some(Draft { model, values })
}

/// For each size the two sizes whose product it was in all of several graphs, where it differs from each to the next and
/// neither of the two is a product itself.
fn products(outline: &Outline, others: &[&Entry]) -> Vec<Option<(usize, usize)>> {
    let of = |at: usize| -> Along {
        std::iter::once(outline.sizes[at].value).chain(others.iter().map(|other| other.sizes[at])).collect()
    };
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

impl Draft {
    /// The model with bounds of its variables; none where the graph has no symbolic form.
    fn bounded(mut self, graph: &Graph, outline: &Outline) -> Option<Model> {
        let variables = |bounds: &[(i64, i64)]| -> Option<Vec<Variable>> {
            // With a dot, no user's variable is of this name.
            let one = |(i, (low, high)): (usize, &(i64, i64))| Variable::internal(&format!("size.{i}"), *low, *high);
            bounds.iter().enumerate().map(one).collect::<std::result::Result<_, _>>().ok()
        };
        let none = || vec![None; outline.constants.len()];
        let here: Vec<(i64, i64)> = self.values.iter().map(|value| (*value, *value)).collect();
        let exact = variables(&here)?;
        let nodes = self.model.nodes(graph, outline, &exact, none()).ok()?;
        let mut bounds = vec![(i64::from(i32::MIN), i64::from(i32::MAX)); exact.len()];
        for (law, at) in self.model.sizes.iter().zip(&outline.sizes) {
            if let (Some(law), Role::Extent | Role::Taps) = (law, at.role) {
                let size = law.of(&exact);
                let most = u64::try_from(at.value).ok()?.checked_mul(2)?.checked_next_power_of_two()?;
                narrow(&mut bounds, &exact, &(&size - 2));
                narrow(&mut bounds, &exact, &(Size::from(i64::try_from(most).ok()?) - size));
            }
        }
        for at in 0..graph.len() {
            let below: Vec<&[Size]> = graph.sources(at as u32).iter().map(|s| nodes[*s as usize].shape()).collect();
            conditions(&nodes[at], &below, &mut |size| narrow(&mut bounds, &exact, &size));
        }
        let within = |((low, high), value): (&(i64, i64), &i64)| low <= value && value <= high;
        if !bounds.iter().zip(&self.values).all(within) {
            return None;
        }
        self.model.variables = variables(&bounds)?;
        let nodes = self.model.nodes(graph, outline, &self.model.variables, none()).ok()?;
        let bound: Vec<BoundVariable> = self
            .model
            .variables
            .iter()
            .zip(&self.values)
            .map(|(v, value)| v.bind(*value).ok())
            .collect::<Option<_>>()?;
        let same = |at: &u32| {
            let (new, old) = (nodes[*at as usize].shape(), graph.nodes()[*at as usize].shape());
            new.iter().zip(old).all(|(new, old)| new.eval_bound(&bound).ok() == old.as_const() || new == old)
        };
        graph.roots().iter().all(same).then_some(self.model)
    }
}

/// What is not negative where the data of a node fits operands of these shapes.
fn conditions(node: &UOp, below: &[&[Size]], tell: &mut dyn FnMut(Size)) {
    match node.op() {
        Op::Shrink(to) => to.iter().zip(below[0]).for_each(|((first, last), n)| {
            tell(first.clone());
            tell(last - first);
            tell(n - last);
        }),
        Op::Pad(by, _) => by.iter().for_each(|(before, after)| {
            tell(before.clone());
            tell(after.clone());
        }),
        Op::Window(axis, size, _, dilation) => {
            tell(&below[0][*axis] - ((size - 1) * Size::from(*dilation) + 1));
        }
        Op::Sort(axis, _, count) | Op::ArgSort(axis, _, count) => tell(&below[0][*axis] - count),
        Op::Gather(axis) | Op::Scatter(axis, _) => {
            let others = (0..below[0].len()).filter(|i| i != axis);
            others.for_each(|i| tell(&below[0][i] - &below[1][i]));
        }
        _ => {}
    }
}

/// Narrows the bounds of a variable to those at which a size that is linear in it is not negative.
fn narrow(bounds: &mut [(i64, i64)], variables: &[Variable], size: &Size) {
    let mentioned = size.variables();
    let [variable] = &mentioned[..] else { return };
    let Some(at) = variables.iter().position(|v| v.name() == variable.name()) else { return };
    let (Some(base), Some(one)) = (at_value(size, variable, 0), at_value(size, variable, 1)) else { return };
    let (low, high) = &mut bounds[at];
    match one - base {
        0 => {}
        slope if (size - Size::from(variable) * slope).as_const() != Some(base) => {}
        slope if slope > 0 => *low = (*low).max(-base.div_euclid(slope)),
        slope => *high = (*high).min(base.div_euclid(-slope)),
    }
}

/// The value of a size of one variable, whatever the bounds of that are.
fn at_value(size: &Size, variable: &Variable, value: i64) -> Option<i64> {
    size.substitute(&|v| (v == variable).then(|| Size::from(value))).as_const()
}
