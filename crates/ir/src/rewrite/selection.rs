//! Folds of which an equation leaves one term: products with one-hot rows, masked picks, histograms.
//!
//! Where the element of a fold is the fold's identity unless `position == index`, and the position counts
//! along a dimension,
//! * a fold along that dimension is the element at the index ([`Op::Gather`], [`Op::Take`]), and the identity
//!   where the index is outside;
//! * a fold along others, on which the index depends, combines each element into one place ([`Op::Scatter`]).
//!
//! Neither visits what the equation rules out. Of floats this is as exact as the factors that zeros multiply
//! are finite: an infinity or a NaN that is not selected does not reach the result.
//!
//! The equation is found in whatever is between the fold and the comparison: products, `where`, conjunctions,
//! conversions and movement. The element is rewritten in coordinates of its own dimensions, with the one
//! that the equation determines at extent 1: what is repeated along others is looked up before it is repeated.

pub(super) mod coordinates;

use super::Family;
use crate::alu::Alu;
use crate::graph::{Axes, GraphError, Op, Shape, UOp};
use crate::kernel::Monoid;
use crate::size::Size;
use coordinates::{Coordinates, Map, Stop, below, broadcast};
use svod_dtype::{Const, DType};

/// Sound for integers, and for floats where the factors of zeros are finite; not in the exact set.
pub const SELECTION: Family = Family { name: "selection", holds_for: |_| true, equations: "", function: Some(select) };

/// Elements at least for which points are scattered: lanes compare with fewer faster.
const SCATTERED: i64 = 16;
/// Nodes between a fold and the comparison that are looked at.
const SEARCHED: usize = 48;

fn select(node: &UOp) -> Result<Option<(&'static str, UOp)>, GraphError> {
    let (Op::Reduce(by, axes), Some(source)) = (node.op(), node.source()) else { return Ok(None) };
    if by.alu().is_none() {
        return Ok(None);
    }
    let equations = equations(&source, *by);
    let one = |folded: bool| equations.iter().find(|e| axes.contains(&e.axis) == folded);
    let found = match (one(true), one(false)) {
        (Some(equation), _) => equation.picked(&source, *by, axes).map(|to| ("one-term", to)),
        (_, Some(equation)) => equation.scattered(&source, *by, axes).map(|to| ("one-place", to)),
        _ => return Ok(None),
    };
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Stop::Unknown) => Ok(None),
        Err(Stop::Graph(error)) => Err(error),
    }
}

/// A comparison that rules out all of a dimension but one position.
struct Equation {
    /// The comparison, and its dimensions.
    at: (UOp, Map),
    /// What it gives at that position.
    there: Const,
    /// The dimension.
    axis: usize,
    /// The position, `i64`, in the source's dimensions but for `axis`, which is 1.
    position: UOp,
}

/// The equations on which it depends whether an element is other than the fold's identity.
fn equations(source: &UOp, by: Monoid) -> Vec<Equation> {
    let mut found = Vec::new();
    // Nodes that, where they have the value beside them, make the element the identity.
    let mut work = vec![(source.clone(), (0..source.rank()).map(Some).collect::<Map>(), by.identity(source.dtype()))];
    let mut visited = 0;
    while let Some((node, map, absent)) = work.pop() {
        visited += 1;
        if visited > SEARCHED {
            break;
        }
        let sources = node.sources();
        if let (Some(source), Some(map)) = (sources.first(), below(&node, &map)) {
            work.push((source.clone(), map, absent));
            continue;
        }
        let is_absent =
            |node: &UOp| node.uniform().is_some_and(|c| c == absent || c.as_f64() == 0.0 && is_zero(absent));
        let truth = |value: bool| Const::i64(DType::Bool, value.into());
        match (node.op(), &sources[..]) {
            (Op::Alu(Alu::Mul), operands) if is_zero(absent) => {
                work.extend(operands.iter().map(|s| (s.clone(), map.clone(), absent)));
            }
            (Op::Alu(Alu::Neg), [x]) if is_zero(absent) => work.push((x.clone(), map, absent)),
            (Op::Cast(_), [x]) if is_zero(absent) => work.push((x.clone(), map, Const::zero(x.dtype()))),
            (Op::Alu(Alu::Where), [condition, x, y]) => {
                if is_absent(y) {
                    work.push((condition.clone(), map.clone(), truth(false)));
                    work.push((x.clone(), map, absent));
                } else if is_absent(x) {
                    work.push((condition.clone(), map.clone(), truth(true)));
                    work.push((y.clone(), map, absent));
                }
            }
            (Op::Alu(Alu::Not), [x]) if node.dtype() == DType::Bool => {
                work.push((x.clone(), map, truth(!absent.as_bool())));
            }
            (Op::Alu(op @ (Alu::And | Alu::Or)), operands)
                if node.dtype() == DType::Bool && absent.as_bool() == (*op == Alu::Or) =>
            {
                work.extend(operands.iter().map(|s| (s.clone(), map.clone(), absent)));
            }
            (Op::Alu(op @ (Alu::Eq | Alu::Ne)), [x, y]) if absent.as_bool() == (*op == Alu::Ne) => {
                let there = truth(!absent.as_bool());
                let sides = [(x, y), (y, x)];
                let all = sides.iter().filter_map(|(counts, index)| Equation::of(source, &map, counts, index));
                let equation = |(axis, position)| Equation { at: (node.clone(), map.clone()), there, axis, position };
                found.extend(all.map(equation));
            }
            _ => {}
        }
    }
    found
}

/// Whether a constant is 0, of either sign.
fn is_zero(value: Const) -> bool {
    value.dtype() != DType::Bool && value.as_f64() == 0.0 || value == Const::zero(value.dtype())
}

impl Equation {
    /// The dimension that one side counts along, and where along it the other side is, if that does not
    /// depend on it.
    fn of(source: &UOp, map: &Map, counts: &UOp, index: &UOp) -> Option<(usize, UOp)> {
        let (axis, counted) = Counted::of(counts, map)?;
        let mut coordinates = Coordinates::new(source.shape(), axis, None);
        let index = coordinates.value(index, map).ok()?.cast(DType::I64).ok()?;
        let first = UOp::full(Const::i64(DType::I64, counted.first), index.shape_arc()).ok()?;
        let operands = if counted.down { [first, index] } else { [index, first] };
        let position = if counted.first == 0 && !counted.down {
            operands[0].clone()
        } else {
            UOp::alu(Alu::Sub, &operands).ok()?
        };
        Some((axis, position))
    }

    /// The element at the position.
    fn element(&self, source: &UOp) -> Result<UOp, Stop> {
        let mut coordinates = Coordinates::new(source.shape(), self.axis, Some(&self.position));
        coordinates.know(&self.at.0, &self.at.1, self.there)?;
        let map = (0..source.rank()).map(Some).collect();
        coordinates.value(source, &map)
    }

    /// The fold of the element at the position, or of the identity where that is outside.
    fn picked(&self, source: &UOp, by: Monoid, axes: &[usize]) -> Result<UOp, Stop> {
        let element = self.element(source)?;
        let [element, position] = broadcast([&element, &self.position])?;
        let shape = position.shape_arc();
        let full = |value| UOp::full(value, shape);
        let extent = UOp::size(source.shape()[self.axis].clone())?.expand(shape.clone())?;
        let after = UOp::alu(Alu::Le, &[full(Const::zero(DType::I64))?, position.clone()])?;
        let before = UOp::alu(Alu::Lt, &[position.clone(), extent])?;
        let inside = UOp::alu(Alu::And, &[after, before])?;
        let identity = full(by.identity(element.dtype()))?;
        let term = UOp::alu(Alu::Where, &[inside, element, identity])?;
        Ok(term.expand(self.shape(source, |_| true))?.reduce(by, axes)?)
    }

    /// Elements combined, each where its position says.
    fn scattered(&self, source: &UOp, by: Monoid, axes: &[usize]) -> Result<UOp, Stop> {
        let few = source.shape()[self.axis].as_const().is_some_and(|n| n < SCATTERED);
        let (points, others): (Axes, Axes) = axes.iter().copied().partition(|&a| self.position.shape()[a] != Size::ONE);
        if few || points.is_empty() {
            return Err(Stop::Unknown);
        }
        // What the position does not depend on is folded first.
        let left: Axes = (0..source.rank()).filter(|d| !others.contains(d)).collect();
        let shape: Shape = left.iter().map(|&d| self.extent(source, d)).collect();
        let element = self.element(source)?.expand(self.shape(source, |_| true))?.reduce(by, &others)?;
        let position = self.position.expand(self.shape(source, |d| !others.contains(&d)))?.reshape(shape)?;
        // The points take the place of the dimension.
        let kept = || (0..source.rank()).filter(|d| !axes.contains(d));
        let order = kept().flat_map(|d| if d == self.axis { points.clone() } else { Axes::from_slice(&[d]) });
        let ends = std::iter::once(self.axis);
        let order: Axes = order.chain(ends).filter_map(|d| left.iter().position(|l| *l == d)).collect();
        let count: Size = points.iter().map(|&p| source.shape()[p].clone()).product();
        let along = |count: &Size| -> Shape {
            let extent = |d: usize| if d == self.axis { count.clone() } else { source.shape()[d].clone() };
            kept().map(extent).collect()
        };
        let by_point = |value: UOp| value.permute(&order)?.reshape(along(&count));
        let (element, position) = (by_point(element)?, by_point(position)?);
        let start = UOp::full(by.identity(element.dtype()), &along(&source.shape()[self.axis]))?;
        let axis = kept().take_while(|d| *d != self.axis).count();
        Ok(start.scatter(axis, &position, &element, Some(by))?)
    }

    /// The extent of a dimension of what is left of the source.
    fn extent(&self, source: &UOp, d: usize) -> Size {
        if d == self.axis { Size::ONE } else { source.shape()[d].clone() }
    }

    /// The shape of what is left of the source, with 1 for dimensions that are not wanted.
    fn shape(&self, source: &UOp, wanted: impl Fn(usize) -> bool) -> Shape {
        (0..source.rank()).map(|d| if wanted(d) { self.extent(source, d) } else { Size::ONE }).collect()
    }
}

/// Consecutive integers along a dimension.
struct Counted {
    /// The value at position 0.
    first: i64,
    /// Whether each is one less than the last.
    down: bool,
}

impl Counted {
    /// Movements and operations on a range that are looked through.
    const DEEP: usize = 12;

    /// The dimension that a value counts along, and how.
    fn of(value: &UOp, map: &Map) -> Option<(usize, Counted)> {
        let (mut node, mut map) = (value.clone(), map.clone());
        // From the value down to the range: what is added, and whether the sign changes; and what types
        // all values have to fit.
        let mut steps: Vec<(UOp, i64)> = Vec::new();
        while steps.len() < Self::DEEP {
            let sources = node.sources();
            if let Op::Range(_) = node.op() {
                let axis = map[0]?;
                return Some((axis, Self::after(value, map[0].and(node.shape()[0].upper_bound())?, &steps)?));
            }
            let number = |n: &UOp| n.uniform().filter(|c| c.dtype().is_int()).map(Const::as_i64);
            let (next, by) = match (node.op(), &sources[..]) {
                (Op::Cast(_), [x]) => (x, 0),
                (Op::Alu(Alu::Neg), [x]) => (x, 0),
                (Op::Alu(Alu::Add), [x, y]) => number(y).map(|by| (x, by)).or(number(x).map(|by| (y, by)))?,
                (Op::Alu(Alu::Sub), [x, y]) => number(y).map(|by| (x, by)).or(number(x).map(|by| (y, by)))?,
                (Op::Shrink(to), [x]) => {
                    let moved = (0..map.len()).filter(|d| x.shape()[*d] != Size::ONE);
                    let [d] = moved.collect::<Vec<usize>>()[..] else { return None };
                    (x, to[d].0.as_const()?)
                }
                (_, [x]) => {
                    let inner = below(&node, &map)?;
                    map = inner;
                    (x, 0)
                }
                _ => return None,
            };
            let next = next.clone();
            steps.push((std::mem::replace(&mut node, next), by));
        }
        None
    }

    /// What steps make of the numbers `0..count`, where each step's values fit its type.
    fn after(value: &UOp, count: i64, steps: &[(UOp, i64)]) -> Option<Counted> {
        let (mut first, mut last, mut down) = (0i64, count.checked_sub(1)?, false);
        for (node, by) in steps.iter().rev() {
            match node.op() {
                Op::Alu(Alu::Neg) => (first, last, down) = (first.checked_neg()?, last.checked_neg()?, !down),
                Op::Alu(Alu::Add) => (first, last) = (first.checked_add(*by)?, last.checked_add(*by)?),
                Op::Alu(Alu::Sub) if node.sources().get(1)?.uniform().is_some() => {
                    (first, last) = (first.checked_sub(*by)?, last.checked_sub(*by)?);
                }
                Op::Alu(_) => (first, last, down) = (by.checked_sub(first)?, by.checked_sub(last)?, !down),
                Op::Shrink(_) => first = if down { first.checked_sub(*by)? } else { first.checked_add(*by)? },
                _ => {}
            }
            let (least, greatest) = node.dtype().int_range()?;
            let (low, high) = (i128::from(first.min(last)), i128::from(first.max(last)));
            if low < least || high > greatest {
                return None;
            }
        }
        value.dtype().is_int().then_some(Counted { first, down })
    }
}
