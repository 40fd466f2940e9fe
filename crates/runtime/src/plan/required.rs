//! What the sizes of a run have to satisfy, besides the bounds of their variables.
//!
//! A fold that has no value of nothing, such as a maximum, is refused as it is built, with no element to
//! fold. Of a symbolic extent that is known only when a run chooses sizes: the graph says where it matters
//! ([`Op::NonEmpty`]), and a run is refused before it changes anything.

use crate::error::{Error, NoElement, Result};
use std::iter;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, LoopBody, Op, Origin};
use svod_ir::kernel::Monoid;
use svod_ir::size::{Size, Variable};

/// Iterations that are looked at for an error.
const MAX_ITERATIONS: usize = 1 << 16;

/// An axis that must have an element.
#[derive(Clone, Debug)]
pub(crate) struct Required {
    by: Monoid,
    axis: usize,
    extent: Size,
    /// The variables of the extent that runs choose, not loops.
    variables: Vec<Variable>,
    /// Type and extents of what is folded, as text.
    operand: String,
    line: Option<Origin>,
}

impl Required {
    /// What a graph and the bodies of its loops ask for, once for each extent.
    pub fn of(graph: &Graph, bodies: &[(LoopBody, Graph, NodeIndex)]) -> Vec<Required> {
        let mut all: Vec<Required> = Vec::new();
        let loops: Vec<&Variable> = bodies.iter().map(|(body, ..)| body.var()).collect();
        for graph in iter::once(graph).chain(bodies.iter().map(|(_, graph, _)| graph)) {
            let mut origins: Option<Vec<Option<&Origin>>> = None;
            for (at, node) in graph.nodes().iter().enumerate() {
                let Op::NonEmpty(by, axes) = node.op() else { continue };
                for &axis in axes {
                    let extent = node.shape()[axis].clone();
                    if all.iter().any(|known| known.extent == extent) {
                        continue;
                    }
                    let variables = extent.variables().into_iter().filter(|v| !loops.contains(&v)).collect();
                    let extents: Vec<String> = node.shape().iter().map(ToString::to_string).collect();
                    let operand = format!("{}[{}]", node.dtype(), extents.join(", "));
                    let line = origins.get_or_insert_with(|| graph.origins())[at].cloned();
                    all.push(Required { by: *by, axis, extent, variables, operand, line });
                }
            }
        }
        all
    }

    /// The variables that runs choose.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Checks the extent where variables have these values. One that differs from iteration to iteration of a loop
    /// must have elements in all of them.
    pub fn check(&self, value: &dyn Fn(&Variable) -> Option<i64>) -> Result<()> {
        let now = self.extent.substitute(&|v| value(v).map(Size::from));
        if now.bounds().0 > 0 {
            return Ok(());
        }
        let chosen = self.variables.iter().filter_map(|v| Some(format!("{v} = {}", value(v)?)));
        let iteration = first_empty(&now).into_iter().map(|(v, number)| format!("{v} = {number} (an iteration)"));
        Err(Error::NoElement(Box::new(NoElement {
            op: self.by.to_string(),
            axis: self.axis,
            operand: self.operand.clone(),
            values: chosen.chain(iteration).collect(),
            line: self.line.clone(),
        })))
    }
}

/// The numbers of the first iteration, of as many as [`MAX_ITERATIONS`], in which an extent is not positive.
fn first_empty(extent: &Size) -> Vec<(Variable, i64)> {
    let loops = extent.variables();
    let mut numbers: Vec<i64> = loops.iter().map(Variable::min).collect();
    for _ in 0..MAX_ITERATIONS {
        let number = |v: &Variable| loops.iter().position(|known| known == v).map(|at| numbers[at]);
        if extent.eval(&number).is_ok_and(|extent| extent <= 0) {
            return loops.into_iter().zip(numbers).collect();
        }
        // The innermost loop, which is the last one by name, goes first.
        let Some(at) = (0..loops.len()).rev().find(|at| numbers[*at] < Variable::max(&loops[*at])) else { break };
        numbers[at] += 1;
        (at + 1..loops.len()).for_each(|inner| numbers[inner] = Variable::min(&loops[inner]));
    }
    Vec::new()
}
