//! Loops as the graphs that they stand for: the derivative of a loop is that of its iterations, one after the other.

use rustc_hash::FxHashMap;
use svod_ir::graph::{Graph, LoopBody, Op, UOp};
use svod_ir::size::Size;

use crate::error::{Result, TensorError};

/// Nodes that the iterations of a loop are unrolled to at most.
const MOST_NODES: usize = 1 << 18;

/// What the carried values are after the iterations of a loop over these operands.
///
/// # Errors
/// A loop of so many iterations that they are no graph to work with.
pub fn unrolled(body: &LoopBody, sources: &[UOp]) -> Result<Vec<UOp>> {
    let (var, graph) = (body.var(), Graph::new(body.results()));
    let (least, most) = (svod_ir::size::Variable::min(var), svod_ir::size::Variable::max(var));
    let trips = usize::try_from(most - least + 1).unwrap_or(0);
    if trips.saturating_mul(graph.len()) > MOST_NODES {
        let message =
            format!("a loop of {trips} iterations over {} operations is too long to be differentiated", graph.len());
        return Err(TensorError::unsupported("gradient", message));
    }
    let carried = body.results().len();
    let mut values = sources[..carried].to_vec();
    let outside = &sources[carried..];
    for trip in least..=most {
        let params: FxHashMap<usize, &UOp> = values.iter().chain(outside).enumerate().collect();
        let mut nodes: Vec<UOp> = Vec::with_capacity(graph.len());
        for (node, below) in graph.iter() {
            let leaf = node.op().leaf();
            let param = leaf.and_then(|leaf| body.params().iter().position(|param| param == leaf));
            nodes.push(match param {
                Some(param) => params[&param].clone(),
                None => {
                    let below: Vec<UOp> = below.iter().map(|s| nodes[*s as usize].clone()).collect();
                    let at = |size: &Size| size.substitute(&|v| (v == var).then(|| Size::from(trip)));
                    let node_now = UOp::new(with_sizes(node.op(), &at), &below)?;
                    node_now.inherit_origin(node);
                    node_now
                }
            });
        }
        values = graph.roots().iter().map(|root| nodes[*root as usize].clone()).collect();
    }
    Ok(values)
}

/// An operation with other sizes in its data.
fn with_sizes(op: &Op, at: &dyn Fn(&Size) -> Size) -> Op {
    let shape = |shape: &[Size]| shape.iter().map(at).collect();
    let pairs = |pairs: &[(Size, Size)]| pairs.iter().map(|(a, b)| (at(a), at(b))).collect();
    match op {
        Op::Size(size) => match at(size).as_const() {
            Some(value) => Op::Const(svod_dtype::Const::i64(svod_dtype::DType::I64, value)),
            None => Op::Size(at(size)),
        },
        Op::Range(count) => Op::Range(at(count)),
        Op::Rand(of) => Op::Rand(shape(of)),
        Op::Reshape(to) => Op::Reshape(shape(to)),
        Op::Expand(to) => Op::Expand(shape(to)),
        Op::Pad(by, fill) => Op::Pad(pairs(by), *fill),
        Op::Shrink(to) => Op::Shrink(pairs(to)),
        Op::Window(axis, size, stride, dilation) => Op::Window(*axis, at(size), *stride, *dilation),
        Op::Sort(axis, descending, count) => Op::Sort(*axis, *descending, at(count)),
        Op::ArgSort(axis, descending, count) => Op::ArgSort(*axis, *descending, at(count)),
        op => op.clone(),
    }
}
