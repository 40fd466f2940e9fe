//! Extents and positions that vary together, as variables.
//!
//! Numbers whose differences among graphs are multiples of one another follow from one integer, as all extents and
//! boundaries do in a sequence that grows: they are *linear* in a variable. A [`Model`] says for each number of an
//! outline whether it stays, of which variables it is which linear function (as the length of two parts that are joined is
//! of theirs), or of which two such functions it is the product, as the elements of a matrix are of its rows and columns.
//! Positions vary independently; extents have to follow from few variables, and are taken to vary where none of them is four
//! times another, or there were many. Numbers are taken to vary together where they did in all graphs that are remembered, as far as there is
//! such a model: of few graphs alone, numbers that have nothing to do with one another may seem to.
//!
//! A variable's bounds are those at which all parts are inside of what they are parts of ([`Bounds`]), found from
//! the graph with the variable in place; extents grow up to a power of two, beyond which a new model is made.

use super::bounds::Bounds;
use super::classes::{Extents, are_near, laws};
use super::counted::bytes_of;
use super::form::{Made, Number, Numbers};
use super::law::{Law, Linear, Variables};
use super::{Entry, MANY, TAPS, Values, constants_of, leaves_of, varying};
use crate::error::Result;
use svod_device::Device;
use svod_ir::graph::outline::{Outline, Replacements, Role, SizeAt};
use svod_ir::graph::{Graph, Op, UOp};
use svod_ir::size::{BoundVariable, Size, Variable};

/// Graphs that are made to find the bounds of a model's variables, at most.
const MOST_NARROWED: usize = 16;

/// How the sizes of an outline vary.
pub(super) struct Model {
    variables: Variables,
    sizes: Vec<Number>,
    /// For each constant, of those that are positions.
    positions: Vec<Option<Linear>>,
    constants: Vec<Values>,
    /// The numbers of the latest graph.
    latest: Entry,
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
        self.variables.solve(outline, &self.sizes)
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
            let holds = |linear: &Linear| self.variables.at(linear, &values) == Some(at.value.as_i64());
            *position = position.take().filter(holds);
        }
        let mut leaves = varying(graph, outline, &mut self.constants);
        leaves.iter_mut().zip(&self.positions).for_each(|(leaf, position)| *leaf &= position.is_none());
        let constants = leaves_of(outline, &leaves, device)?;
        let nodes = self.nodes(graph, outline, &self.variables.sizes(), constants.clone(), &mut |_, _| {})?;
        let numbers = Numbers {
            variables: self.variables.clone(),
            sizes: self.sizes.clone(),
            constants: constants_of(outline, &leaves, &self.positions),
        };
        self.latest = Entry::new(outline);
        Made::new(graph, outline, nodes, constants, numbers, values)
    }

    /// The nodes of the graph with these sizes for variables, and leaves in place of constants.
    fn nodes(
        &self,
        graph: &Graph,
        outline: &Outline,
        variables: &[Size],
        mut constants: Vec<Option<UOp>>,
        tell: &mut dyn FnMut(&Op, &[&[Size]]),
    ) -> Result<Vec<UOp>> {
        for (constant, position) in constants.iter_mut().zip(&self.positions) {
            if let Some(linear) = position {
                *constant = Some(UOp::size(linear.of(variables))?);
            }
        }
        let sizes: Vec<Option<Size>> = self.sizes.iter().map(|number| Some(number.law()?.of(variables))).collect();
        Ok(outline.replace_telling(graph, &Replacements { constants: &constants, sizes: &sizes }, tell)?)
    }

    /// The nodes of the graph with variables of wide bounds, which the model has from then on. What is known of variables at
    /// their values says little of quotients, so that what fails with wide bounds narrows these, too.
    fn widened(&mut self, graph: &Graph, outline: &Outline, bounds: &mut Bounds) -> Option<Vec<UOp>> {
        for _ in 0..MOST_NARROWED {
            let found = bounds.variables()?;
            (self.variables.list, self.variables.capped) = (found.list, found.capped);
            let sizes = self.variables.sizes();
            let extents = self.sizes.iter().zip(&outline.sizes).filter(|(_, at)| at.role != Role::Start);
            let extents = extents.filter_map(|(number, _)| Some(number.law()?.of(&sizes) - 2));
            let mut failed: Vec<Size> = extents.filter(|size| size.variables().len() == 1).collect();
            failed.retain(|size| !size.is_extent());
            let mut last = Vec::new();
            let nodes = self.nodes(graph, outline, &sizes, vec![None; outline.constants.len()], &mut |op, below| {
                last.clear();
                conditions(op, below, &mut |size| last.push(size));
            });
            match nodes {
                Ok(nodes) if failed.is_empty() => return Some(nodes),
                Ok(_) => {}
                Err(_) => failed.extend(last.into_iter().filter(|size| !size.is_extent())),
            }
            if failed.is_empty() {
                return None;
            }
            failed.into_iter().for_each(|size| bounds.require(size));
        }
        None
    }
}

/// The model of a graph and of others before it, the latest first, where there is one.
pub(super) fn fit(graph: &Graph, outline: &Outline, others: &[&Entry]) -> Option<Model> {
    let differs =
        |entry: &Entry, role: fn(Role) -> bool| differing(outline, entry).any(|at| role(outline.sizes[at].role));
    let bounded = |others: &[&Entry]| bounded(graph, outline, others, Extents::Near);
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
    if let Some(model) = pairs.find_map(|pair| bounded(&pair)) {
        return Some(model);
    }
    // What comes in so many sizes is one problem.
    if others.len() < MANY { None } else { self::bounded(graph, outline, others, Extents::Any) }
}

/// Whether the extents of an outline and of an entry are those of like problems.
fn is_near(outline: &Outline, entry: &Entry) -> bool {
    let mut sizes = outline.sizes.iter().zip(&entry.sizes);
    sizes.all(|(at, other)| at.role == Role::Start || are_near(at.value, *other))
}

/// The numbers in which an outline and an entry differ.
fn differing<'a>(outline: &'a Outline, entry: &'a Entry) -> impl Iterator<Item = usize> + 'a {
    (0..outline.sizes.len()).filter(|&at| outline.sizes[at].value != entry.sizes[at])
}

/// The model of a graph and of some others, with the bounds of its variables; none where the graph has no symbolic form.
fn bounded(graph: &Graph, outline: &Outline, others: &[&Entry], extents: Extents) -> Option<Model> {
    let laws = laws(outline, others, extents)?;
    let mut constants = others.first()?.constants.clone();
    for other in others {
        constants.iter_mut().zip(&other.latest).for_each(|(values, value)| values.add(*value));
    }
    let number = |(law, at): (Option<Law>, &SizeAt)| law.map_or(Number::Kept(at.value), Number::Follows);
    let sizes = laws.sizes.into_iter().zip(&outline.sizes).map(number).collect();
    // With a dot, no user's variable is of this name.
    let exact = |(i, value): (usize, &i64)| Variable::internal(&format!("size.{i}"), *value, *value).ok();
    let exact: Vec<Variable> = laws.values.iter().enumerate().map(exact).collect::<Option<_>>()?;
    let latest = Entry::new(outline);
    let variables = Variables { list: exact.clone(), quotients: laws.quotients, capped: Vec::new() };
    let here = variables.sizes();
    let mut model = Model { variables, sizes, positions: laws.positions, constants, latest };
    let nodes = model.nodes(graph, outline, &here, vec![None; outline.constants.len()], &mut |_, _| {}).ok()?;
    let mut bounds = Bounds::new(exact, laws.values.clone());
    for (i, (number, at)) in model.sizes.iter().zip(&outline.sizes).enumerate() {
        if let (Some(law), Role::Extent | Role::Taps) = (number.law(), at.role) {
            let size = law.of(&here);
            bounds.require(&size - 2);
            if size.variables().len() == 1 {
                let greatest = others.iter().map(|other| other.sizes[i]).fold(at.value, i64::max);
                let most = u64::try_from(greatest).ok()?.checked_mul(2)?.checked_next_power_of_two()?;
                bounds.require(Size::from(i64::try_from(most).ok()?) - size);
            }
        }
    }
    for at in 0..graph.len() {
        let below: Vec<&[Size]> = graph.sources(at as u32).iter().map(|s| nodes[*s as usize].shape()).collect();
        conditions(nodes[at].op(), &below, &mut |size| bounds.require(size));
    }
    let nodes = model.widened(graph, outline, &mut bounds)?;
    let bind = |(variable, value): (&Variable, &i64)| variable.bind(*value).ok();
    let bound: Vec<BoundVariable> = model.variables.list.iter().zip(&laws.values).map(bind).collect::<Option<_>>()?;
    let same = |at: &u32| {
        let (new, old) = (nodes[*at as usize].shape(), graph.nodes()[*at as usize].shape());
        new.iter().zip(old).all(|(new, old)| new.eval_bound(&bound).ok() == old.as_const() || new == old)
    };
    graph.roots().iter().all(same).then_some(model)
}

/// What is not negative where the data of a node fits operands of these shapes.
fn conditions(op: &Op, below: &[&[Size]], tell: &mut dyn FnMut(Size)) {
    match op {
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
