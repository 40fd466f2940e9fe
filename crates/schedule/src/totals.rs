//! Totals by rows, where something else reads the same values.
//!
//! A fold of everything has no axis in common with a map of the same values, or with folds of their rows or
//! columns: each would read them from memory. As two folds it has: totals of rows come from the kernel of whatever
//! else is made of these rows ([`crate::merge`]), and are few enough to be folded at the cost of a small kernel.
//! Where another fold gives these very totals, the second fold is all that is left.
//!
//! Folds of columns and folds of rows, or maps, are alike: blocks of rows, folded across, have in common with these that
//! both read a block at a time.
//!
//! Where rows begin and end follows from the shapes alone, so that results do not depend on the number of threads. Of
//! dimensions that are variables all is weighed at the most that they can be, and only what divides every value cuts them.

mod find;
mod rows;

use crate::estimate::Decision;
use find::Finder;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use svod_ir::alu::Alu;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, GraphError, Op, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

/// What becomes of nodes.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    /// The folds that become two.
    folds: BTreeMap<NodeIndex, InTwo>,
    /// What is computed by the same rows: maps, and folds of other dimensions.
    rows: FxHashMap<NodeIndex, ByRows>,
    /// Why.
    pub decisions: Vec<Decision>,
}

/// A fold in two: of the inner dimensions of a shape, and of what is left of the outer ones.
#[derive(Clone, Debug)]
struct InTwo {
    over: Vec<Size>,
    inner: Vec<usize>,
    outer: Vec<usize>,
    /// Whether it sums squared deviations from what is not known while rows are read.
    centred: bool,
}

/// Something computed over a shape of as many elements; for a fold, the dimensions of it that are folded.
#[derive(Clone, Debug)]
struct ByRows {
    over: Vec<Size>,
    axes: Vec<usize>,
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

    /// The dimensions as they are numbered in that shape, of this one that which counts the points of a block.
    fn after(self, axes: &[usize]) -> Vec<usize> {
        axes.iter().map(|a| a + usize::from(*a >= self.axis)).collect()
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
        if let (Some(two), Op::Reduce(by, _)) = (self.folds.get(&at), node.op()) {
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

impl InTwo {
    /// The fold of a value.
    fn of(&self, source: &UOp, by: Monoid) -> Result<UOp, GraphError> {
        let mut source = source.clone();
        let is_total = self.inner.len() + self.outer.len() == self.over.len();
        while is_total
            && (is_order(source.op()) || (self.centred && is_reordered(source.op())))
            && let Some(below) = source.source()
        {
            source = below;
        }
        if let Some((x, centre)) = deviations(&source).filter(|_| self.centred) {
            return self.squares(&x, &centre);
        }
        source.reshape(&self.over[..])?.reduce(by, &self.inner)?.reduce(by, &self.left())
    }

    /// The outer dimensions as they are numbered once the inner ones have gone.
    fn left(&self) -> Vec<usize> {
        self.outer.iter().map(|a| a - self.inner.iter().filter(|i| *i < a).count()).collect()
    }

    /// The sum of squared deviations from a centre: of deviations from each row's
    /// mean `m_r`, mended by how far that is from the centre `c` (Chan, Golub and LeVeque 1979). With `d = x - m_r` for
    /// the n points of a row it is `sum_r (sum d^2 + (m_r - c) (2 sum d + n (m_r - c)))`, whatever `m_r` was rounded to.
    fn squares(&self, x: &UOp, centre: &UOp) -> Result<UOp, GraphError> {
        let x = x.reshape(&self.over[..])?;
        let points: Size = self.inner.iter().map(|a| &self.over[*a]).product();
        let kept: Vec<Size> =
            (0..self.over.len()).filter(|a| !self.inner.contains(a)).map(|a| self.over[a].clone()).collect();
        let number = |n: &Size| UOp::size(n.clone())?.cast(x.dtype())?.expand(&kept[..]);
        let (points, two) = (number(&points)?, number(&Size::from(2))?);
        let mean = UOp::alu(Alu::Div, &[x.reduce(Monoid::Sum, &self.inner)?, points.clone()])?;
        let rows: Vec<Size> = (0..self.over.len())
            .map(|a| if self.inner.contains(&a) { Size::ONE } else { self.over[a].clone() })
            .collect();
        let deviation = UOp::alu(Alu::Sub, &[x.clone(), mean.reshape(rows)?.expand(&self.over[..])?])?;
        let sum = deviation.reduce(Monoid::Sum, &self.inner)?;
        let squares = UOp::alu(Alu::Mul, &[deviation.clone(), deviation])?.reduce(Monoid::Sum, &self.inner)?;
        let centre = centre.reshape(vec![Size::ONE; kept.len()])?.expand(&kept[..])?;
        let off = UOp::alu(Alu::Sub, &[mean, centre])?;
        let twice = UOp::alu(Alu::Mul, &[sum, two])?;
        let moved = UOp::alu(Alu::Add, &[twice, UOp::alu(Alu::Mul, &[points, off.clone()])?])?;
        let mended = UOp::alu(Alu::Add, &[squares, UOp::alu(Alu::Mul, &[off, moved])?])?;
        mended.reduce(Monoid::Sum, &self.left())
    }
}

/// Whether an operation changes only the order of elements, which a total has not.
fn is_order(op: &Op) -> bool {
    matches!(op, Op::Permute(_) | Op::Flip(_))
}

/// Whether an operation changes only the order or the shape of what has as many elements.
fn is_reordered(op: &Op) -> bool {
    is_order(op) || matches!(op, Op::Reshape(_))
}

/// The values, and the centre, of which the squared deviations are.
fn deviations(square: &UOp) -> Option<(UOp, UOp)> {
    let [a, b] = &square.sources()[..] else { return None };
    let [x, centre] = &a.sources()[..] else { return None };
    let squared = *square.op() == Op::Alu(Alu::Mul) && a == b;
    if !squared || *a.op() != Op::Alu(Alu::Sub) || !x.dtype().is_float() {
        return None;
    }
    let mut centre = centre.clone();
    while let Op::Reshape(_) | Op::Expand(_) = centre.op()
        && let Some(below) = centre.source()
    {
        centre = below;
    }
    (centre.numel() == Size::ONE && x.numel() != Size::ONE).then(|| (x.clone(), centre))
}
