//! Derivatives of graphs over inputs, as graphs: what a compiled function makes the plans of its derivatives of.

use rustc_hash::FxHashSet;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, Op, UOp};

use super::walk::{Target, Walk};
use crate::error::Result;
use crate::tensor::Tensor;
use crate::trace::{Facts, SizeValues, Trace};

/// The pullback of a graph.
pub struct Backward {
    /// What stands for the cotangents of the graph's values.
    pub seeds: Vec<Tensor>,
    /// The cotangents of inputs; none of what the values do not follow from.
    pub cotangents: Vec<Option<Tensor>>,
}

/// Values of a graph that its pullback reads.
pub struct Kept {
    /// Those that are dear to compute again, as the graph has them.
    pub values: Vec<Tensor>,
    /// What stands for them in the pullback.
    pub stand_ins: Vec<Tensor>,
    /// The pullback that reads them.
    pub cotangents: Vec<Tensor>,
}

impl Backward {
    /// Of some values, by inputs of their graph.
    ///
    /// # Errors
    /// Operations without a derivative.
    pub fn of(values: &[&Tensor], inputs: &[&Tensor]) -> Result<Backward> {
        let seeds = stand_ins(values, "a cotangent")?;
        let given: Vec<(UOp, UOp)> = values.iter().zip(&seeds).map(|(value, seed)| (value.uop(), seed.uop())).collect();
        let roots: Vec<UOp> = given.iter().map(|(root, _)| root.clone()).collect();
        let targets: Vec<Target> = inputs.iter().map(|input| Target::of(&input.uop())).collect();
        let found = Walk::new(&roots, false, &targets)?.pull(&given, &targets)?;
        Ok(Backward { seeds, cotangents: found.into_iter().map(|one| one.map(Tensor::from_uop)).collect() })
    }

    /// Which of some inputs it reads.
    pub fn reads(&self, inputs: &[&Tensor]) -> Result<Vec<bool>> {
        let roots: Vec<UOp> = self.cotangents.iter().flatten().map(Tensor::uop).collect();
        let graph = Graph::new(&roots);
        let known: FxHashSet<u64> = graph.nodes().iter().map(UOp::id).collect();
        let is_read = |input: &&Tensor| Ok(input.uop().parts()?.iter().any(|part| known.contains(&part.id())));
        inputs.iter().map(is_read).collect()
    }

    /// What it reads of the graph of these values and is dear to compute again: what folds, sorts or scans. All else is computed
    /// again of that and of inputs.
    ///
    /// # Errors
    /// Those of [`Tensor::placeholder_for`].
    pub fn kept(&self, values: &[&Tensor]) -> Result<Kept> {
        let forward = Graph::new(&values.iter().map(|value| value.uop()).collect::<Vec<_>>());
        let of_forward: FxHashSet<u64> = forward.nodes().iter().map(UOp::id).collect();
        let roots: Vec<UOp> = self.cotangents.iter().flatten().map(Tensor::uop).collect();
        let graph = Graph::new(&roots);
        let seeds: FxHashSet<u64> = parts(&self.seeds)?.iter().map(UOp::id).collect();
        let mut of_seeds = vec![false; graph.len()];
        for (at, (node, sources)) in graph.iter().enumerate() {
            of_seeds[at] = seeds.contains(&node.id()) || sources.iter().any(|s| of_seeds[*s as usize]);
        }
        let is_kept = |at: NodeIndex| {
            let node = &graph.nodes()[at as usize];
            // What follows from no input is a constant of the plan.
            let is_input = matches!(node.op(), Op::Leaf(_)) || node.trace() == 0;
            !of_seeds[at as usize] && !is_input && of_forward.contains(&node.id()) && is_dear(node.op())
        };
        let (mut met, mut found) = (vec![false; graph.len()], Vec::new());
        let mut work: Vec<NodeIndex> = graph.roots().to_vec();
        while let Some(at) = work.pop() {
            if std::mem::replace(&mut met[at as usize], true) {
                continue;
            }
            match is_kept(at) {
                true => found.push(at),
                false => work.extend(graph.sources(at)),
            }
        }
        found.sort_unstable();
        let values: Vec<Tensor> =
            found.iter().map(|at| Tensor::from_uop(graph.nodes()[*at as usize].clone())).collect();
        let stand_ins = stand_ins(&values.iter().collect::<Vec<_>>(), "a value of the way forward")?;
        let mut made: Vec<UOp> = Vec::with_capacity(graph.len());
        for (at, (node, sources)) in graph.iter().enumerate() {
            if let Ok(which) = found.binary_search(&(at as NodeIndex)) {
                made.push(stand_ins[which].uop());
                continue;
            }
            let own: Vec<UOp> = sources.iter().map(|s| made[*s as usize].clone()).collect();
            let is_same = own.iter().zip(sources).all(|(own, s)| *own == graph.nodes()[*s as usize]);
            let node = if is_same { node.clone() } else { remade(node, &own)? };
            made.push(node);
        }
        let cotangents = graph.roots().iter().map(|root| Tensor::from_uop(made[*root as usize].clone())).collect();
        Ok(Kept { values, stand_ins, cotangents })
    }
}

/// What stands for values of these types, shapes and places.
fn stand_ins(values: &[&Tensor], name: &str) -> Result<Vec<Tensor>> {
    let trace = Trace::of_function(SizeValues::default(), Facts::default(), Vec::new());
    let one = |value: &&Tensor| {
        let slot = trace.slots_for(value.sharding().map_or(1, |of| of.devices().len()), name);
        value.placeholder_for(&value.shape(), slot, &trace)
    };
    values.iter().map(one).collect()
}

fn parts(values: &[Tensor]) -> Result<Vec<UOp>> {
    Ok(values.iter().map(|value| value.uop().parts()).collect::<std::result::Result<Vec<_>, _>>()?.concat())
}

fn remade(node: &UOp, sources: &[UOp]) -> Result<UOp> {
    let made = UOp::new(node.op().clone(), sources)?;
    made.inherit_origin(node);
    Ok(made)
}

/// Whether a result is kept rather than computed again.
fn is_dear(op: &Op) -> bool {
    matches!(
        op,
        Op::Reduce(..)
            | Op::Scan(..)
            | Op::Sort(..)
            | Op::ArgSort(..)
            | Op::Scatter(..)
            | Op::Loop(..)
            | Op::Host(..)
            | Op::Copy(_)
            | Op::Shard(_)
            | Op::Contiguous
    )
}
