//! Which operation made the first NaN of a run that failed by it.
//!
//! A run that looks for NaN knows the kernel that wrote it, whose operations leave nothing in memory on their way. So
//! the lines of that kernel are computed once more, of the same inputs, with a bool for each result of an operation:
//! whether it has NaN. From the last one that has, the way goes back over operands that have, to one of which
//! none has. That is done only where a NaN was found.

use rustc_hash::FxHashSet;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, Leaf, Origin, UOp};
use svod_runtime::{Context, Error, ExecutionPlan, Feed, PrepareConfig};

use crate::devices::spread;
use crate::error::{Result, TensorError};
use crate::tensor::Tensor;

/// A run that failed: the plan, and what it was given.
pub(crate) struct Failed<'a> {
    pub plan: &'a ExecutionPlan,
    pub feeds: &'a [Feed<'a>],
    pub variables: &'a [(&'a str, i64)],
}

/// What a plan that looks for NaN computes.
#[derive(Debug)]
pub(crate) struct Computed {
    roots: Vec<UOp>,
    inputs: Vec<Leaf>,
    config: PrepareConfig,
}

impl Computed {
    /// What a plan of these values computes; none for one that does not look for NaN.
    pub(crate) fn new(roots: &[UOp], inputs: &[Leaf], config: &PrepareConfig) -> Option<Computed> {
        config.detect_nan.then(|| {
            let schedules = Vec::new();
            let config = PrepareConfig { detect_nan: false, memory_budget: None, schedules, ..config.clone() };
            Computed { roots: roots.to_vec(), inputs: inputs.to_vec(), config }
        })
    }

    /// The error of a run, which names the operation that made the NaN that it is about, if it is about one.
    pub(crate) fn explained(&self, error: TensorError, run: Option<Failed>) -> TensorError {
        match error {
            // What was given, nobody made.
            TensorError::Runtime(Error::NaN { op, name, origins, found, is_given: false, made: None }) => {
                // Where that fails, what the run has said stands.
                let made = self.first(&origins, run).ok().flatten();
                Error::NaN { op, name, origins, found, is_given: false, made }.into()
            }
            error => error,
        }
    }

    /// The first operation of a kernel of these lines whose result has NaN, and where it was called.
    fn first(&self, lines: &[Origin], run: Option<Failed>) -> Result<Option<(String, Box<Origin>)>> {
        let graph = Graph::new(&self.roots);
        // What an operation makes on its way to its result has no origin of its own.
        let is_result = |node: &UOp| {
            let is_one = node.dtype().is_inexact() && node.op().leaf().is_none();
            is_one && node.origin().is_some_and(|origin| lines.contains(origin))
        };
        let results: Vec<NodeIndex> =
            (0..graph.len() as NodeIndex).filter(|at| is_result(&graph.nodes()[*at as usize])).collect();
        let flag = |at: &NodeIndex| {
            let result = Tensor::from_uop(graph.nodes()[*at as usize].clone());
            Ok(result.isnan()?.any(None, false)?.uop())
        };
        let flags: Vec<UOp> = results.iter().map(flag).collect::<Result<_>>()?;
        let have = self.computed(&flags, run)?;
        let with_nan: FxHashSet<NodeIndex> =
            results.into_iter().zip(have).filter_map(|(at, has)| has.then_some(at)).collect();
        let Some(mut at) = last(&graph, &with_nan, lines) else { return Ok(None) };
        while let Some(operand) = operand_among(&graph, at, &with_nan) {
            at = operand;
        }
        let node = &graph.nodes()[at as usize];
        Ok(node.origin().map(|origin| {
            let called = origin.called.as_deref().unwrap_or(node.op().name());
            (called.to_owned(), Box::new(origin.clone()))
        }))
    }

    /// Whether flags are set, computed of what a run was given.
    fn computed(&self, flags: &[UOp], run: Option<Failed>) -> Result<Vec<bool>> {
        let (roots, places) = spread(flags)?;
        let plan = Context::global().plan(&roots, &self.inputs, &self.config)?;
        match run {
            None => plan.execute()?,
            Some(Failed { plan: failed, feeds, variables }) => {
                // What it was not given it had from before.
                let kept = |i: usize| match feeds.get(i) {
                    None | Some(Feed::Keep) => Some(failed.read_input(i).map(|(content, _)| content)),
                    Some(_) => None,
                };
                let kept = (0..self.inputs.len()).map(|i| kept(i).transpose()).collect::<Result<Vec<_>, _>>()?;
                let fed = kept.iter().enumerate().map(|(i, kept)| match kept {
                    Some(content) => Feed::Buffer(content),
                    None => feeds[i],
                });
                let fed: Vec<Feed> = fed.collect();
                let before = failed.values()?;
                let mut values: Vec<(&str, i64)> = before.iter().map(|b| (b.variable().name(), b.value())).collect();
                values.extend(variables);
                let known: FxHashSet<&str> = plan.variables().map(|variable| variable.name()).collect();
                values.retain(|(name, _)| known.contains(name));
                plan.execute_with(&fed, &values)?;
            }
        }
        let outputs = plan.outputs();
        places.into_iter().map(|place| Ok(outputs[place.start].to_vec()?.iter().any(|byte| *byte != 0))).collect()
    }
}

/// The last of these nodes, of those that a kernel is for if there are such ones: its first line is theirs.
fn last(graph: &Graph, nodes: &FxHashSet<NodeIndex>, lines: &[Origin]) -> Option<NodeIndex> {
    let main = |at: &&NodeIndex| graph.nodes()[**at as usize].origin() == lines.first();
    nodes.iter().filter(main).max().or(nodes.iter().max()).copied()
}

/// The last of these nodes that a node is made of by way of none of them.
fn operand_among(graph: &Graph, of: NodeIndex, nodes: &FxHashSet<NodeIndex>) -> Option<NodeIndex> {
    let mut seen: FxHashSet<NodeIndex> = FxHashSet::default();
    let mut work: Vec<NodeIndex> = graph.sources(of).to_vec();
    let mut found = None;
    while let Some(at) = work.pop() {
        if !seen.insert(at) {
            continue;
        }
        match nodes.contains(&at) {
            true => found = found.max(Some(at)),
            // A result without NaN ends the way: what it is made of had NaN that it has not.
            false if graph.nodes()[at as usize].origin().is_some() => {}
            false => work.extend(graph.sources(at)),
        }
    }
    found
}
