//! What was joined step by step, joined at once: `x = cat(x, part)` again and again, and `x[a:b] = part`.
//!
//! Each step is as long as all before it, so that many steps would be quadratic work. From the outermost step the
//! positions of the whole are followed down to the values that they are in the end, through steps that nothing else
//! reads: what several steps set is of the latest. Each step takes its own positions from those that are left, so that
//! the work is near linear in the number of steps, in whatever order they set.

use super::{MOST_RUNS, Run, boundary, moved};
use crate::alu::Alu;
use crate::graph::walk::NodeIndex;
use crate::graph::{Graph, GraphError, Op, Sources, UOp};
use crate::pass::visit;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::mem::take;
use svod_dtype::{Const, DType};

/// Steps and positions that are looked at for each node of a graph, at most.
const MOST_LOOKS: usize = 8;

/// The roots of a graph that was built anew, and what became of each node of the old one, by its id.
pub type Rebuilt = (Vec<UOp>, FxHashMap<u64, UOp>);

/// The roots of a graph with what was joined step by step joined at once, and what became of each node, by its id;
/// nothing where there is no such value.
///
/// # Errors
/// A node that the table rejects: a fault of this function.
pub fn join_at_once(graph: &Graph) -> Result<Option<Rebuilt>, GraphError> {
    let mut chains = Chains::new(graph);
    let found: FxHashMap<NodeIndex, Joined> =
        (0..graph.len() as NodeIndex).rev().filter_map(|node| Some((node, chains.whole(node)?))).collect();
    if found.is_empty() {
        return Ok(None);
    }
    let mut became: Vec<UOp> = Vec::with_capacity(graph.len());
    for (at, (node, sources)) in graph.iter().enumerate() {
        let new: Sources = sources.iter().map(|s| became[*s as usize].clone()).collect();
        let same = sources.iter().all(|s| became[*s as usize] == graph.nodes()[*s as usize]);
        let to = match found.get(&(at as NodeIndex)) {
            Some(Joined { axis, parts }) => {
                let run = |p: &Part| Run { value: became[p.node as usize].clone(), begin: p.begin, end: p.end };
                let parts = parts.iter().map(|p| run(p).cut(*axis)).collect::<Result<Vec<UOp>, GraphError>>()?;
                UOp::concat(&parts, *axis)?
            }
            None if same => node.clone(),
            None => UOp::new(node.op().clone(), &new)?,
        };
        if to != *node {
            to.inherit_origin(node);
        }
        became.push(to);
    }
    let roots = graph.roots().iter().map(|root| became[*root as usize].clone()).collect();
    Ok(Some((roots, graph.nodes().iter().map(UOp::id).zip(became).collect())))
}

/// A value that is these parts, one after the other along an axis.
struct Joined {
    axis: usize,
    parts: Vec<Part>,
}

/// Positions of a value, and where the first of them is in the whole.
#[derive(Clone, Copy)]
struct Part {
    first: i64,
    node: NodeIndex,
    begin: i64,
    end: i64,
}

/// One step: which positions are of which operands.
enum Step {
    /// The first operand up to a position, the second from there on.
    Beside(i64),
    /// The first operand at positions from one to another, the second around them.
    Set(i64, i64),
}

/// Positions of the whole, by where they begin, without overlap.
type Positions = BTreeMap<i64, i64>;

struct Chains<'g> {
    graph: &'g Graph,
    /// How many nodes read each node; one more for a root.
    readers: Vec<usize>,
    /// Steps that were followed from an outer one.
    inside: Vec<bool>,
    /// How many more steps and positions are looked at: those that lie across steps are looked at in each of them.
    budget: usize,
}

/// What is left to follow.
struct Left {
    node: NodeIndex,
    /// How much greater the node's positions are than those of the whole.
    by: i64,
    /// Whether it is the operand of a movement.
    through: bool,
    positions: Positions,
}

impl<'g> Chains<'g> {
    fn new(graph: &'g Graph) -> Chains<'g> {
        let mut readers: Vec<usize> = graph.users().iter().map(Vec::len).collect();
        graph.roots().iter().for_each(|root| readers[*root as usize] += 1);
        Chains { graph, readers, inside: vec![false; graph.len()], budget: MOST_LOOKS * graph.len() }
    }

    fn op(&self, node: NodeIndex) -> &UOp {
        &self.graph.nodes()[node as usize]
    }

    /// What a node is made of, if it is the outermost of many steps.
    fn whole(&mut self, node: NodeIndex) -> Option<Joined> {
        if self.inside[node as usize] {
            return None;
        }
        let (axis, _) = self.step(node)?;
        let extent = self.op(node).shape()[axis].as_const()?;
        let (mut parts, mut steps, mut nested) = (Vec::new(), 0, false);
        let mut left = vec![Left { node, by: 0, through: false, positions: Positions::from([(0, extent)]) }];
        while let Some(Left { node: at, by, through, mut positions }) = left.pop() {
            visit(1);
            let (Some((&first, _)), Some((_, &last))) = (positions.first_key_value(), positions.last_key_value())
            else {
                continue;
            };
            let single = at == node || self.readers[at as usize] == 1;
            if let Some((_, step)) = self.step(at).filter(|(along, _)| single && *along == axis) {
                // The steps of one concatenation follow each other; it is as good as what this makes.
                nested |= at != node && (through || matches!(step, Step::Set(..)));
                let range = match step {
                    Step::Beside(limit) => (i64::MIN, limit - by),
                    Step::Set(begin, end) => (begin - by, end - by),
                };
                let taken = take_from(&mut positions, range);
                self.budget = self.budget.checked_sub(1 + taken.len())?;
                let &[_, within, around] = self.graph.sources(at) else { return None };
                left.push(Left { node: around, by, through: false, positions });
                left.push(Left { node: within, by, through: false, positions: taken });
                self.inside[at as usize] = true;
                steps += 1;
                continue;
            }
            let source = self.graph.sources(at).first().copied().filter(|_| single);
            if let (Some(source), Some(more)) = (source, moved(self.op(at), axis)) {
                let (by, extent) = (by + more, self.op(source).shape()[axis].as_const());
                if first + by >= 0 && extent.is_some_and(|n| last + by <= n) {
                    left.push(Left { node: source, by, through: true, positions });
                    continue;
                }
            }
            parts.extend(positions.iter().map(|(a, b)| Part { first: *a, node: at, begin: a + by, end: b + by }));
        }
        if !nested || steps <= MOST_RUNS {
            return None;
        }
        parts.sort_unstable_by_key(|part| part.first);
        parts.dedup_by(|next, last| {
            let one = next.node == last.node && next.begin == last.end;
            last.end = if one { next.end } else { last.end };
            one
        });
        Some(Joined { axis, parts })
    }

    /// The axis of a step, and what it does; operands 1 and 2 are those of [`Step`].
    fn step(&self, node: NodeIndex) -> Option<(usize, Step)> {
        let value = self.op(node);
        if *value.op() != Op::Alu(Alu::Where) {
            return None;
        }
        if let Some((axis, limit)) = boundary(value) {
            return Some((axis, Step::Beside(limit)));
        }
        let mask = self.op(self.graph.sources(node)[0]);
        let Op::Pad(by, fill) = mask.op() else { return None };
        let mut padded =
            by.iter().enumerate().filter(|(_, by)| by.0.as_const() != Some(0) || by.1.as_const() != Some(0));
        let (Some((axis, (before, behind))), None) = (padded.next(), padded.next()) else { return None };
        let (begin, behind) = (before.as_const()?, behind.as_const()?);
        let inside = mask.source()?.uniform()? == Const::bool(true) && *fill == Const::zero(DType::Bool);
        inside.then_some((axis, Step::Set(begin, mask.shape()[axis].as_const()? - behind)))
    }
}

/// Takes the positions in a range out of others.
fn take_from(positions: &mut Positions, (begin, end): (i64, i64)) -> Positions {
    let Some((&first, _)) = positions.first_key_value() else { return Positions::new() };
    let Some((_, &last)) = positions.last_key_value() else { return Positions::new() };
    if begin <= first && last <= end {
        return take(positions);
    }
    let mut taken = Positions::new();
    // From the last one that begins before the end: what ends before the beginning is not looked at.
    while let Some((&a, &b)) = positions.range(..end).next_back().filter(|(_, b)| **b > begin) {
        visit(1);
        positions.remove(&a);
        if b > end {
            positions.insert(end, b);
        }
        if a < begin {
            positions.insert(a, begin);
        }
        taken.insert(a.max(begin), b.min(end));
    }
    taken
}
