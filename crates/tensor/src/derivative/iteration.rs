//! One iteration of a loop, computed of other values: loops as the graphs that they stand for.

use rustc_hash::FxHashMap;
use svod_ir::graph::{Graph, Leaf, LoopBody, Op, Sources, UOp};
use svod_ir::size::{Size, Variable};

use super::given::Rule;
use crate::error::{Result, TensorError};

/// Nodes that the iterations of a loop are unrolled to at most.
const MOST_NODES: usize = 1 << 18;

/// What the body of a loop computes.
pub struct Iteration<'a> {
    /// The variable with the iteration's number, if it has one.
    var: Option<&'a Variable>,
    graph: Graph,
    /// The nodes that are parameters.
    params: Vec<Option<usize>>,
}

impl<'a> Iteration<'a> {
    /// That of this body.
    pub fn of(body: &'a LoopBody) -> Iteration<'a> {
        Iteration::over(Some(body.var()), body.params(), body.results())
    }

    /// That which gives these results over these parameters.
    pub fn over(var: Option<&'a Variable>, params: &[Leaf], results: &[UOp]) -> Iteration<'a> {
        let graph = Graph::new(results);
        let place = |leaf: &Leaf| params.iter().position(|param| param == leaf);
        let params = graph.nodes().iter().map(|node| node.op().leaf().and_then(place)).collect();
        Iteration { var, graph, params }
    }

    /// The graph of its results.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Which parameter a node is.
    pub fn param(&self, node: u32) -> Option<usize> {
        self.params[node as usize]
    }

    /// The results where the loop's variable is `number` and its parameters are `values`; some nodes are `given`.
    ///
    /// # Errors
    /// None that a program could make.
    pub fn at(&self, number: &Size, values: &[UOp], given: &FxHashMap<u32, UOp>) -> Result<Vec<UOp>> {
        let number = self.var.map(|var| Number { var: var.clone(), at: number.clone() });
        let mut bodies: FxHashMap<[u8; 32], LoopBody> = FxHashMap::default();
        let mut nodes: Vec<UOp> = Vec::with_capacity(self.graph.len());
        for (at, (node, below)) in self.graph.iter().enumerate() {
            let known = self.params[at].map(|param| &values[param]).or_else(|| given.get(&(at as u32)));
            if let Some(known) = known {
                nodes.push(known.clone());
                continue;
            }
            let below: Sources = below.iter().map(|s| nodes[*s as usize].clone()).collect();
            let op = match (&number, node.op()) {
                (None, op) => op.clone(),
                (Some(number), Op::Loop(inner, output)) => {
                    let inner = match bodies.get(inner.structure()) {
                        Some(known) => known.clone(),
                        None => {
                            let made = number.within(inner)?;
                            bodies.insert(*inner.structure(), made.clone());
                            made
                        }
                    };
                    Op::Loop(inner, *output)
                }
                (Some(number), op) => number.of(op)?,
            };
            let now = UOp::new(op, &below)?;
            now.inherit_origin(node);
            nodes.push(now);
        }
        Ok(self.graph.roots().iter().map(|root| nodes[*root as usize].clone()).collect())
    }
}

/// The number of an iteration: what the variable of a loop is there.
#[derive(Clone)]
pub struct Number {
    var: Variable,
    at: Size,
}

impl Number {
    /// An operation in these iterations, one around the other.
    ///
    /// # Errors
    /// A step that reads the number of an iteration around it.
    pub fn all_of(numbers: &[Number], op: &Op) -> Result<Op> {
        numbers.iter().try_fold(op.clone(), |op, number| number.of(&op))
    }

    /// An operation in this iteration.
    fn of(&self, op: &Op) -> Result<Op> {
        let size = |size: &Size| self.size(size);
        let shape = |of: &[Size]| of.iter().map(size).collect();
        let pairs = |of: &[(Size, Size)]| of.iter().map(|(a, b)| (size(a), size(b))).collect();
        Ok(match op {
            Op::Host(call, ..) if call.function().variables().contains(&self.var) => {
                let message = format!("{call} that reads the number of an iteration around it");
                return Err(TensorError::unsupported("gradient", message));
            }
            Op::Loop(inner, output) => Op::Loop(self.within(inner)?, *output),
            Op::Derived(by, operands) => Op::Derived(Rule::within(by, self), *operands),
            Op::Size(of) => match size(of).as_const() {
                Some(value) => Op::Const(svod_dtype::Const::i64(svod_dtype::DType::I64, value)),
                None => Op::Size(size(of)),
            },
            Op::Range(count) => Op::Range(size(count)),
            Op::Rand(of) => Op::Rand(shape(of)),
            Op::Reshape(to) => Op::Reshape(shape(to)),
            Op::Expand(to) => Op::Expand(shape(to)),
            Op::Pad(by, fill) => Op::Pad(pairs(by), *fill),
            Op::Shrink(to) => Op::Shrink(pairs(to)),
            Op::Window(axis, of, stride, dilation) => Op::Window(*axis, size(of), *stride, *dilation),
            Op::Sort(axis, descending, count) => Op::Sort(*axis, *descending, size(count)),
            Op::ArgSort(axis, descending, count) => Op::ArgSort(*axis, *descending, size(count)),
            op => op.clone(),
        })
    }

    /// The body of a loop inside of the iteration; one of the same variable is another loop.
    fn within(&self, body: &LoopBody) -> Result<LoopBody> {
        if *body.var() == self.var || !body.key().variables.contains(&self.var) {
            return Ok(body.clone());
        }
        let graph = Graph::new(body.results());
        let mut nodes: Vec<UOp> = Vec::with_capacity(graph.len());
        for (node, below) in graph.iter() {
            if node.op().leaf().is_some() {
                nodes.push(node.clone());
                continue;
            }
            let below: Sources = below.iter().map(|s| nodes[*s as usize].clone()).collect();
            // As deep as loops are in loops.
            let now = UOp::new(self.of(node.op())?, &below)?;
            now.inherit_origin(node);
            nodes.push(now);
        }
        let results = graph.roots().iter().map(|root| nodes[*root as usize].clone()).collect();
        Ok(LoopBody::new(body.var().clone(), body.params().to_vec(), results, body.carried())?)
    }

    fn size(&self, size: &Size) -> Size {
        size.substitute(&|var| (*var == self.var).then(|| self.at.clone()))
    }
}

/// What the outputs of a loop over these operands are after its iterations.
///
/// # Errors
/// A loop of so many iterations that they are no graph to work with.
pub fn unrolled(body: &LoopBody, sources: &[UOp]) -> Result<Vec<UOp>> {
    let iteration = Iteration::of(body);
    let (trips, count) = (body.trips(), iteration.graph.len());
    if usize::try_from(trips).unwrap_or(usize::MAX).saturating_mul(count) > MOST_NODES {
        let message = format!("a loop of {trips} iterations over {count} operations is too long to be written out");
        return Err(TensorError::unsupported("iterate", message));
    }
    let carried = body.carried();
    let mut values = sources.to_vec();
    let mut rows: Vec<Vec<UOp>> = vec![Vec::new(); body.results().len() - carried];
    for trip in Variable::min(body.var())..=Variable::max(body.var()) {
        let mut results = iteration.at(&Size::from(trip), &values, &FxHashMap::default())?;
        for (rows, row) in rows.iter_mut().zip(results.split_off(carried)) {
            let shape: Vec<Size> = [Size::ONE].into_iter().chain(row.shape().iter().cloned()).collect();
            rows.push(row.reshape(shape)?);
        }
        values[..carried].clone_from_slice(&results);
    }
    values.truncate(carried);
    for rows in &rows {
        values.push(UOp::concat(rows, 0)?);
    }
    Ok(values)
}
