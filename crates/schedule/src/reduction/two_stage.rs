//! TwoStage by rows, where something else reads the same values.
//!
//! A reduction of everything has no axis in common with a map of the same values, or with reductions of their rows or
//! columns: each would read them from memory. As two reductions it has: totals of rows come from the kernel of whatever
//! else is made of these rows ([`crate::fusion::merge`]), and are few enough to be reduced at the cost of a small kernel.
//! Where another reduction gives these very totals, the second reduction is all that is left.
//!
//! Reductions of rows and reductions of columns are alike: blocks of rows, reduced across, have in common with the totals of
//! rows that both read a block at a time.
//!
//! Three rules say where: all that reads the values can do so together ([`readers`]), memory is read in whole rows
//! ([`rows`]), and what is spared is worth a kernel, and not hidden behind what is computed ([`find`]).
//!
//! Where rows begin and end follows from the shapes alone, so that results do not depend on the number of threads. Of
//! dimensions that are variables all is weighed at the most that they can be, and only what divides every value cuts them.

mod find;
mod in_two;
mod readers;
mod rows;

use crate::costs::{Caches, Decision};
use find::Finder;
use in_two::InTwo;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, GraphError, Op, UOp};
use svod_ir::size::Size;

/// What becomes of nodes.
#[derive(Debug, Default)]
pub(crate) struct TwoStage {
    /// The reductions that become two.
    reductions: BTreeMap<NodeIndex, InTwo>,
    /// What is computed by the same rows: maps, and reductions of other dimensions.
    rows: FxHashMap<NodeIndex, ByRows>,
    /// Why.
    pub decisions: Vec<Decision>,
}

/// Something computed over a shape of as many elements; for a reduction, the dimensions of it that are reduced.
#[derive(Clone, Debug)]
struct ByRows {
    over: Vec<Size>,
    axes: Vec<usize>,
}

/// Blocks of a dimension, of so many points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Blocks {
    axis: usize,
    length: i64,
}

impl Blocks {
    /// The shape with the dimension in two.
    fn of(self, shape: &[Size]) -> Vec<Size> {
        let blocks = shape[self.axis].floordiv(self.length);
        [&shape[..self.axis], &[blocks, Size::from(self.length)], &shape[self.axis + 1..]].concat()
    }

    /// The dimensions as they are numbered in that shape, of this one that which counts the points of a block.
    fn after(self, axes: &[usize]) -> Vec<usize> {
        axes.iter().map(|a| a + usize::from(*a >= self.axis)).collect()
    }
}

impl TwoStage {
    /// The totals of a graph that are better two reductions.
    pub fn find(graph: &Graph, caches: Caches) -> TwoStage {
        Finder::find(graph, caches)
    }

    /// Whether none is better two reductions.
    pub fn is_empty(&self) -> bool {
        self.reductions.is_empty()
    }

    /// Whether a node becomes another over the same operands.
    pub fn concerns(&self, at: NodeIndex) -> bool {
        self.reductions.contains_key(&at) || self.rows.contains_key(&at)
    }

    /// What a node over operands becomes, over what its operands have become.
    ///
    /// # Errors
    /// None: shapes fit.
    pub fn apply(&self, at: NodeIndex, node: &UOp, sources: &[UOp]) -> Result<UOp, GraphError> {
        if let (Some(two), Op::Reduce(by, _)) = (self.reductions.get(&at), node.op()) {
            return two.of(&sources[0], *by)?.reshape(node.shape_arc().clone());
        }
        let Some(rows) = self.rows.get(&at) else { return UOp::new(node.op().clone(), sources) };
        let sources = sources.iter().map(|s| s.reshape(&rows.over[..])).collect::<Result<Vec<UOp>, _>>()?;
        let op = match node.op() {
            Op::Reduce(by, _) => Op::Reduce(*by, rows.axes.iter().copied().collect()),
            op => op.clone(),
        };
        UOp::new(op, &sources)?.reshape(node.shape_arc().clone())
    }
}
