//! Complex values as pairs of real ones.
//!
//! A complex value of shape S is a node like any other, of a complex type and shape S: it is moved, indexed, joined, chosen
//! and summed as others are. No scalar operation takes it. What is computed with it is computed with its *pair*
//! ([`Op::AsReal`]), a real value of shape S + (2,) with the real and the imaginary part of each number side by
//! side, which is also how complex numbers lie in memory; [`Op::AsComplex`] makes the pair a complex value again.
//!
//! Kernels know real values only: before a graph is cut, [`without_complex`] puts its pair in the place of every complex value.
//! A leaf becomes a leaf over the same memory, an operation the same operation with one more dimension, the last, that it
//! leaves alone, and the two views nothing at all.

use super::error::GraphError;
use super::iterate::LoopBody;
use super::leaf::Leaf;
use super::op::{Op, Shape};
use super::uop::UOp;
use super::walk::Graph;
use crate::size::Size;
use svod_dtype::{Const, DType};

impl UOp {
    /// The pair of a complex value: the real and the imaginary part along a new last dimension of 2.
    pub fn as_real(&self) -> Result<UOp, GraphError> {
        match self.resolved().op() {
            Op::AsComplex => Ok(self.resolved().source().expect("a view that is not forced has its source")),
            _ => UOp::new(Op::AsReal, std::slice::from_ref(self)),
        }
    }

    /// The complex value whose parts are a last dimension of 2.
    pub fn as_complex(&self) -> Result<UOp, GraphError> {
        match self.resolved().op() {
            Op::AsReal => Ok(self.resolved().source().expect("a view that is not forced has its source")),
            _ => UOp::new(Op::AsComplex, std::slice::from_ref(self)),
        }
    }

    /// The value under one more dimension of 1, the last.
    pub fn column(&self) -> Result<UOp, GraphError> {
        self.reshape(self.shape().iter().cloned().chain([Size::ONE]).collect::<Vec<_>>())
    }

    /// In another type, one of the two being complex: the parts are converted, that which is missing is 0.
    pub(super) fn converted(&self, to: DType) -> Result<UOp, GraphError> {
        if self.dtype().is_complex() {
            return match to.is_complex() {
                true => self.as_real()?.cast(to.real())?.as_complex(),
                // Refused: which part is meant has to be said.
                false => UOp::new(Op::Cast(to), std::slice::from_ref(self)),
            };
        }
        let real = self.cast(to.real())?;
        let mut by = vec![(Size::ZERO, Size::ZERO); real.rank()];
        by.push((Size::ZERO, Size::ONE));
        real.column()?.pad(by, Const::zero(real.dtype()))?.as_complex()
    }
}

impl Leaf {
    /// The memory of complex numbers as pairs of real ones; of others the leaf itself.
    pub fn pairs(&self) -> Leaf {
        if !self.dtype().is_complex() {
            return self.clone();
        }
        let (data, version, offset) = (self.data().clone(), self.version(), self.offset());
        Leaf::at(data, version, offset, self.dtype().real(), with_pair(self.shape()))
    }

    /// The memory of floats as complex numbers, of two each, under one dimension where the last one is not of 2.
    pub fn complex(&self) -> Leaf {
        let Some(dtype) = self.dtype().complex() else { return self.clone() };
        Leaf::at(self.data().clone(), self.version(), self.offset(), dtype, of_pairs(self.shape()))
    }
}

/// The extents of the pair of a complex value.
pub fn with_pair(shape: &[Size]) -> Shape {
    shape.iter().cloned().chain([Size::from(2)]).collect()
}

/// The extents of as many complex numbers as there are pairs in memory of these, in one dimension where the last one is not
/// that of a pair.
pub fn of_pairs(shape: &[Size]) -> Shape {
    match shape {
        [shape @ .., last] if *last == Size::from(2) => shape.into(),
        shape => [shape.iter().product::<Size>().floordiv(Size::from(2))].into(),
    }
}

/// What each node of a graph becomes where complex values are their pairs; nothing where there are none.
///
/// # Errors
/// Those of nodes that are made anew; none is known.
pub fn without_complex(graph: &Graph) -> Result<Option<Vec<UOp>>, GraphError> {
    if graph.nodes().iter().all(|node| !node.dtype().is_complex()) {
        return Ok(None);
    }
    let mut real: Vec<UOp> = Vec::with_capacity(graph.len());
    for (node, sources) in graph.iter() {
        let of: Vec<UOp> = sources.iter().map(|s| real[*s as usize].clone()).collect();
        let same = sources.iter().zip(&of).all(|(s, new)| graph.nodes()[*s as usize] == *new);
        let new = match node.op() {
            Op::AsReal | Op::AsComplex => of[0].clone(),
            Op::Loop(body, output) if !same => UOp::new(Op::Loop(over_pairs(body)?, *output), &of)?,
            _ if node.dtype().is_complex() => paired(node, &of)?,
            _ if same => node.clone(),
            op => UOp::new(op.clone(), &of)?,
        };
        real.push(new);
    }
    Ok(Some(real))
}

/// The body of a loop over the pairs of its complex parameters.
fn over_pairs(body: &LoopBody) -> Result<LoopBody, GraphError> {
    let graph = Graph::new(body.results());
    let results = match without_complex(&graph)? {
        Some(real) => graph.roots().iter().map(|r| real[*r as usize].clone()).collect(),
        None => body.results().to_vec(),
    };
    let params = body.params().iter().map(Leaf::pairs).collect();
    Ok(LoopBody::new(body.var().clone(), params, results, body.carried())
        .expect("variables have the values that they had"))
}

/// The pair of a complex node, of whose sources the complex ones are pairs.
fn paired(node: &UOp, of: &[UOp]) -> Result<UOp, GraphError> {
    let (rank, real) = (node.rank(), node.dtype().real());
    let along = |by: &[(Size, Size)], last: (Size, Size)| by.iter().cloned().chain([last]).collect::<Vec<_>>();
    match node.op() {
        Op::Const(_) => UOp::full(Const::zero(real), &with_pair(&[])),
        Op::Leaf(leaf) => UOp::leaf(leaf.pairs()),
        Op::Alu(alu) => {
            let condition = beside(&of[0], &of[1])?;
            UOp::alu(*alu, &[condition, of[1].clone(), of[2].clone()])
        }
        Op::Reshape(shape) => of[0].reshape(with_pair(shape)),
        Op::Expand(shape) => of[0].expand(with_pair(shape)),
        Op::Permute(axes) => of[0].permute(&axes.iter().copied().chain([rank]).collect::<Vec<_>>()),
        Op::Pad(by, _) => of[0].pad(along(by, (Size::ZERO, Size::ZERO)), Const::zero(real)),
        Op::Shrink(to) => of[0].shrink(along(to, (Size::ZERO, Size::from(2)))),
        Op::Window(axis, size, stride, dilation) => {
            // The windows' elements come after the pair.
            let windows = of[0].window(*axis, size.clone(), *stride, *dilation)?;
            windows.permute(&(0..rank - 1).chain([rank, rank - 1]).collect::<Vec<_>>())
        }
        Op::Gather(axis) => of[0].gather(*axis, &beside(&of[1], &of[0])?),
        Op::Scatter(axis, by) => of[0].scatter(*axis, &beside(&of[1], &of[2])?, &of[2], *by),
        op => UOp::new(op.clone(), of),
    }
}

/// A value that belongs to both parts of each number of a pair, such as a condition or a factor.
///
/// # Errors
/// A value of other extents.
pub fn beside(value: &UOp, pair: &UOp) -> Result<UOp, GraphError> {
    let last = pair.shape().last().cloned().unwrap_or(Size::ONE);
    let shape: Vec<Size> = value.shape().iter().cloned().chain([last]).collect();
    value.column()?.expand(shape)
}
