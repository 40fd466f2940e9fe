//! Totals by rows, where something else reads the same values.
//!
//! A fold of everything has no axis in common with a map of the same values, or with folds of their rows or
//! columns: each would read them from memory. As two folds it has: totals of rows come from the kernel of whatever
//! else is made of these rows ([`crate::merge`]), and are few enough to be folded at the cost of a small kernel.
//! Where another fold gives these very totals, the second fold is all that is left.
//!
//! Folds of rows and folds of columns are alike: blocks of rows, folded across, have in common with the totals of
//! rows that both read a block at a time.
//!
//! Where rows begin and end follows from the shapes alone, so that results do not depend on the number of threads. Of
//! dimensions that are variables all is weighed at the most that they can be, and only what divides every value cuts them.

mod find;
mod rows;

use crate::estimate::Decision;
use find::Finder;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, GraphError, Op, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

/// What becomes of nodes.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    /// The folds that become two, and what the first of them folds.
    folds: BTreeMap<NodeIndex, First>,
    /// What is computed by rows that are parts of a dimension: maps, and folds of other dimensions.
    rows: FxHashMap<NodeIndex, Cut>,
    /// Why.
    pub decisions: Vec<Decision>,
}

/// What a total folds first.
#[derive(Clone, Debug)]
enum First {
    /// Some of its axes.
    Axes(Vec<usize>),
    /// All dimensions from this one on.
    Row(usize),
    /// What is inside of blocks of a dimension.
    Block(Cut),
}

/// Blocks of a dimension, of so many points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    axis: usize,
    length: i64,
}

impl Cut {
    /// The shape with the dimension in two.
    fn of(self, shape: &[Size]) -> Vec<Size> {
        let blocks = shape[self.axis].floordiv(self.length);
        [&shape[..self.axis], &[blocks, Size::from(self.length)], &shape[self.axis + 1..]].concat()
    }
}

impl Totals {
    /// The totals of a graph that are better two folds.
    pub fn find(graph: &Graph) -> Totals {
        Finder::of(graph).map_or_else(Totals::default, Finder::find)
    }

    /// Whether none is better two folds.
    pub fn is_empty(&self) -> bool {
        self.folds.is_empty()
    }

    /// Whether a node becomes another over the same operands.
    pub fn concerns(&self, at: NodeIndex) -> bool {
        self.folds.contains_key(&at) || self.rows.contains_key(&at)
    }

    /// What a node over operands becomes, over what its operands have become.
    ///
    /// # Errors
    /// None: shapes fit.
    pub fn apply(&self, at: NodeIndex, node: &UOp, sources: &[UOp]) -> Result<UOp, GraphError> {
        if let (Some(first), Op::Reduce(by, axes)) = (self.folds.get(&at), node.op()) {
            return in_two(&sources[0], *by, axes, first)?.reshape(node.shape_arc().clone());
        }
        match self.rows.get(&at) {
            Some(cut) => {
                let in_rows = |s: &UOp| s.reshape(cut.of(s.shape()));
                let sources = sources.iter().map(in_rows).collect::<Result<Vec<UOp>, _>>()?;
                let op = match node.op() {
                    // Dimensions after the blocks have moved on by one.
                    Op::Reduce(by, axes) => {
                        Op::Reduce(*by, axes.iter().map(|a| a + usize::from(*a > cut.axis)).collect())
                    }
                    op => op.clone(),
                };
                UOp::new(op, &sources)?.reshape(node.shape_arc().clone())
            }
            None => UOp::new(node.op().clone(), sources),
        }
    }
}

/// A fold in two.
fn in_two(source: &UOp, by: Monoid, axes: &[usize], first: &First) -> Result<UOp, GraphError> {
    let (source, axes, inner) = match first {
        First::Axes(inner) => (source.clone(), axes.to_vec(), inner.clone()),
        First::Row(from) => (source.clone(), axes.to_vec(), axes.iter().copied().filter(|a| a >= from).collect()),
        First::Block(cut) => {
            let source = source.reshape(cut.of(source.shape()))?;
            // Dimensions after the blocks have moved on by one.
            let after = |a: &usize| a + usize::from(*a > cut.axis);
            let inner: Vec<usize> = axes.iter().filter(|a| **a >= cut.axis).map(|a| a + 1).collect();
            let mut all: Vec<usize> = axes.iter().map(after).chain([cut.axis + 1]).collect();
            all.sort_unstable();
            (source, all, inner)
        }
    };
    let kept = |a: &usize| (0..*a).filter(|d| !inner.contains(d)).count();
    let outer: Vec<usize> = axes.iter().filter(|a| !inner.contains(a)).map(kept).collect();
    source.reduce(by, &inner)?.reduce(by, &outer)
}
