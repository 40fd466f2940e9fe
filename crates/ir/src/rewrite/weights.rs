//! Weights that are divided by their sum after the product: `(w @ v) / sum(w)` becomes `(w / sum(w)) @ v`.
//!
//! An equation up to rounding. Of weights that follow from a product, as in an attention, the second is what is
//! recognised as one kernel, whatever the spelling; there the division goes after the sum again. Conversions between
//! types of floats are seen through: weights are often narrowed for the product, and the sum is not.

use super::Family;
use super::selection::coordinates::{Map, below, own_dimensions};
use crate::alu::Alu;
use crate::graph::{Axes, GraphError, Op, UOp};
use crate::kernel::Monoid;
use crate::size::Size;
use svod_dtype::promote;

/// Sound up to rounding; not in the exact set.
pub const WEIGHTS: Family = Family { name: "weights", holds_for: |_| true, equations: "", function: Some(apply) };

/// Nodes that are looked at below a divisor, and below weights.
const SEARCHED: usize = 48;

/// A value seen through movements and conversions from float to float: they, outermost first, what is below them, and
/// which dimensions of the whole its own are.
struct Seen {
    path: Vec<UOp>,
    node: UOp,
    map: Map,
}

impl Seen {
    fn through(value: &UOp, map: Map) -> Seen {
        let mut seen = Seen { path: Vec::new(), node: value.clone(), map };
        loop {
            let converts = converts_floats(&seen.node);
            if !converts && !seen.node.op().is_movement() {
                break;
            }
            let map = if converts { Some(seen.map.clone()) } else { below(&seen.node, &seen.map) };
            let (Some(source), Some(map)) = (seen.node.source(), map) else { break };
            let node = std::mem::replace(&mut seen.node, source);
            seen.path.push(node);
            seen.map = map;
        }
        // Dimensions of extent 1 are nobody's.
        let long = seen.node.shape().iter().map(|n| *n != Size::ONE);
        seen.map.iter_mut().zip(long).filter(|(_, long)| !long).for_each(|(d, _)| *d = None);
        seen
    }

    /// Another value in the place of the node.
    fn with(&self, value: UOp) -> Result<UOp, GraphError> {
        self.path.iter().rev().try_fold(value, |value, node| UOp::new(node.op().clone(), &[value]))
    }
}

fn apply(node: &UOp) -> Result<Option<(&'static str, UOp)>, GraphError> {
    let sources = node.sources();
    let sides: &[[usize; 2]] = match node.op() {
        Op::Alu(Alu::Div) => &[[0, 1]],
        Op::Alu(Alu::Mul) => &[[0, 1], [1, 0]],
        _ => return Ok(None),
    };
    for [sum, divisor] in sides {
        if let Some(to) = inside(node, &sources[*sum], &sources[*divisor])? {
            return Ok(Some(("weights-by-their-sum", to)));
        }
    }
    Ok(None)
}

/// The operation on a sum of products and `by`, done to the weights that are summed.
fn inside(node: &UOp, sum: &UOp, by: &UOp) -> Result<Option<UOp>, GraphError> {
    let Op::Alu(op) = node.op() else { return Ok(None) };
    let whole: Map = (0..node.rank()).map(Some).collect();
    let sum = Seen::through(sum, whole.clone());
    let (Op::Reduce(Monoid::Sum, axes), Some(product)) = (sum.node.op(), sum.node.source()) else { return Ok(None) };
    if !node.dtype().is_float() || axes.len() != 1 || !matches!(product.op(), Op::Alu(Alu::Mul)) {
        return Ok(None);
    }
    // The dimensions of the product are those of the result; the summed one is a new one.
    let mut map = sum.map.clone();
    map.insert(axes[0], Some(node.rank()));
    let by = Seen::through(by, whole);
    let factors = product.sources();
    for side in 0..2 {
        let weights = Seen::through(&factors[side], map.clone());
        let own = |d: &Option<usize>| d.is_none() || weights.map.contains(d);
        let fewer = map.iter().any(|d| d.is_some() && !weights.map.contains(d));
        let computed = matches!(weights.node.op(), Op::Alu(_)) && weights.map.contains(&Some(node.rank()));
        if !computed || !fewer || !by.map.iter().all(own) || !is_sum_of(&by.node, &weights.node, *op == Alu::Mul) {
            continue;
        }
        if follows_from_a_product(&weights.node) != Some(true) {
            continue;
        }
        let mut order: Axes = (0..by.map.len()).collect();
        order.sort_by_key(|d| weights.map.iter().position(|w| by.map[*d].is_some() && *w == by.map[*d]));
        let shape: Vec<Size> = weights
            .map
            .iter()
            .zip(weights.node.shape())
            .map(|(d, n)| if d.is_some() && by.map.contains(d) { n.clone() } else { Size::ONE })
            .collect();
        let divisor = by.node.permute(&order)?.reshape(shape)?.expand(weights.node.shape_arc().clone())?;
        let (narrow, Some(wide)) = (weights.node.dtype(), promote(weights.node.dtype(), divisor.dtype())) else {
            continue;
        };
        let quotient = UOp::alu(*op, &[weights.node.cast(wide)?, divisor.cast(wide)?])?.cast(narrow)?;
        let mut factors = factors.clone();
        factors[side] = weights.with(quotient)?;
        let product = UOp::new(product.op().clone(), &factors)?;
        return Ok(Some(sum.with(UOp::new(sum.node.op().clone(), &[product])?)?));
    }
    Ok(None)
}

/// Whether a divisor is made of the weights' sum: of its reciprocal, if it is multiplied by.
fn is_sum_of(by: &UOp, weights: &UOp, inverse: bool) -> bool {
    let mut work = vec![(by.clone(), inverse)];
    for _ in 0..SEARCHED {
        let Some((node, inverse)) = work.pop() else { return false };
        let sources = node.sources();
        match node.op() {
            Op::Reduce(Monoid::Sum, axes) if axes.len() == 1 && !inverse => {
                let summed = Seen::through(&sources[0], (0..sources[0].rank()).map(Some).collect());
                if summed.node == *weights {
                    return true;
                }
            }
            Op::Alu(Alu::Div) => work.push((sources[1].clone(), !inverse)),
            Op::Alu(Alu::Recip) => work.push((sources[0].clone(), !inverse)),
            Op::Alu(Alu::Add | Alu::Max) => work.extend(sources.into_iter().map(|s| (s, inverse))),
            op if op.is_movement() || converts_floats(&node) => {
                work.extend(sources.into_iter().map(|s| (s, inverse)));
            }
            _ => {}
        }
    }
    false
}

/// Whether a node is a conversion from float to float.
fn converts_floats(node: &UOp) -> bool {
    let from_float = || node.source().is_some_and(|source| source.dtype().is_float());
    matches!(node.op(), Op::Cast(to) if to.is_float()) && from_float()
}

/// Whether a value is made of sums of products, by elementwise operations, movements and folds; unknown where too many
/// nodes would have to be looked at.
fn follows_from_a_product(value: &UOp) -> Option<bool> {
    let mut work = vec![value.clone()];
    for _ in 0..SEARCHED {
        let Some(node) = work.pop() else { return Some(false) };
        let sources = node.sources();
        match node.op() {
            Op::Reduce(Monoid::Sum, _) if matches!(sources[0].op(), Op::Alu(Alu::Mul)) => return Some(true),
            Op::Reduce(..) => work.extend(sources),
            op if op.is_elementwise() || op.is_movement() => work.extend(sources),
            _ => {}
        }
    }
    None
}

/// Whether a value may be an attention's weights, whose keys are along dimension `keys`: elementwise operations on sums of
/// products, and on folds of these along the keys; or on sums of products of several heads. So may a value below
/// which too many nodes would have to be looked at.
pub fn may_be_weights(value: &UOp, keys: usize) -> bool {
    let along = |rank: usize, at: usize| (0..rank).map(|d| (d == at).then_some(0)).collect::<Map>();
    let mut work = vec![(value.clone(), along(value.rank(), keys), false)];
    let mut seen: Vec<(UOp, bool)> = Vec::new();
    while let Some((node, map, folded)) = work.pop() {
        if seen.contains(&(node.clone(), folded)) {
            continue;
        }
        if seen.len() == SEARCHED {
            return true;
        }
        seen.push((node.clone(), folded));
        let sources = node.sources();
        let product = sources.first().is_some_and(|s| matches!(s.op(), Op::Alu(Alu::Mul)));
        match node.op() {
            Op::Reduce(Monoid::Sum, axes) if product && (folded || has_heads(&sources[0], axes)) => return true,
            Op::Reduce(Monoid::Sum, _) if product => {}
            // What has keys still is a fold of something else: the features of a layer, for each example.
            Op::Reduce(_, axes) if !map.contains(&Some(0)) => {
                work.push((sources[0].clone(), along(sources[0].rank(), axes[0]), true));
            }
            op if op.is_elementwise() => work.extend(sources.into_iter().map(|s| (s, map.clone(), folded))),
            op if op.is_movement() || op.is_mark() => match below(&node, &map) {
                Some(map) => work.extend(sources.into_iter().map(|s| (s, map.clone(), folded))),
                None => return true,
            },
            _ => {}
        }
    }
    false
}

/// Whether both factors of a product have a dimension that is kept.
fn has_heads(product: &UOp, folded: &Axes) -> bool {
    let [left, right] = &product.sources()[..] else { return false };
    let right = own_dimensions(right);
    own_dimensions(left).iter().any(|d| right.contains(d) && !folded.contains(d))
}
