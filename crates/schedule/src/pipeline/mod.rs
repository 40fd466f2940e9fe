//! The passes whose order is a list: from graph to graph, and from kernel to kernel.
//!
//! [`svod_ir::pass`] has the table of all passes, and why each stands where it stands.

mod cut;
mod provenance;
mod schedule;

pub use schedule::{PreScheduleError, create_pre_schedule, create_schedule_graph, pre_schedule};

use crate::fusion::Purpose;
use crate::graph::place::place;
use crate::graph::rewritten::{Became, Rewritten};
use crate::graph::shard::lower_shards;
use crate::kernel::normalize::normalize;
use crate::reduction::blocks::{BLOCKS, is_chain};
use crate::reduction::corrected_variance::correct_variances;
use crate::reduction::hoist::hoist;
use crate::reduction::postponed_division::postpone_divisions;
use crate::reduction::two_stage::TwoStage;
use svod_dtype::DType;
use svod_ir::graph::complex::without_complex;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, GraphError, Leaf, Op, UOp};
use svod_ir::kernel::Kernel;
use svod_ir::pass::Pass;
use svod_ir::rewrite::{RuleSet, SIMPLIFY, SIMPLIFY_FINITE, join_at_once, rewrite};

/// What graphs are rewritten for.
struct About<'a> {
    known: &'a dyn Fn(&Leaf) -> bool,
    how: Purpose,
}

/// Gives nothing where the graph stays as it is.
type GraphPass = fn(&Graph, &About) -> Result<Option<Rewritten>, GraphError>;

const GRAPH: &[(Pass, GraphPass)] = &[
    (Pass::Share, |graph, _| shared(graph)),
    (Pass::Concat, |graph, _| choices(graph)),
    (Pass::Complex, |graph, _| complex(graph)),
    (Pass::Shard, |graph, _| lower_shards(graph)),
    (Pass::Join, join),
    (Pass::Algebra, |graph, about| {
        Ok(rewritten(graph, if about.how.strict { &SIMPLIFY } else { &SIMPLIFY_FINITE }, about))
    }),
    (Pass::Blocks, blocks),
    (Pass::TwoStage, two_stage),
    (Pass::Place, |graph, _| place(graph)),
];

type KernelPass = fn(Kernel, Purpose) -> Kernel;

const KERNEL: &[(Pass, KernelPass)] = &[
    (Pass::PostponeDivision, |kernel, how| if how.strict { kernel } else { postpone_divisions(kernel) }),
    (Pass::CorrectVariance, |kernel, how| if how.strict { kernel } else { correct_variances(kernel, how.caches) }),
    (Pass::Hoist, |kernel, _| hoist(kernel)),
    (Pass::Normalize, |kernel, _| normalize(kernel)),
];

/// What becomes of a graph; nothing where it stays as it is. `known` says which leaves it may read.
pub(crate) fn graph(
    graph: &Graph,
    known: &dyn Fn(&Leaf) -> bool,
    how: Purpose,
) -> Result<Option<Rewritten>, GraphError> {
    let about = About { known, how };
    let mut rewritten = None;
    for (pass, work) in GRAPH.iter().filter(|(pass, _)| how.runs(*pass)) {
        let now = rewritten.as_ref().map_or(graph, |r: &Rewritten| &r.graph);
        let next = pass.run(now, || work(now, &about)?.map(|next| on_devices(now, next)).transpose())?;
        rewritten = Rewritten::then(rewritten, next);
    }
    Ok(rewritten)
}

/// The graph in which values that are told apart are one where they are equal; nothing where none are.
fn shared(graph: &Graph) -> Result<Option<Rewritten>, GraphError> {
    let is_apart = |node: &UOp| node.is_apart();
    remade(graph, is_apart, |node, sources| UOp::new(node.op().clone(), sources))
}

/// The graph with choices by position in the places of what puts many parts one after the other; nothing where it has none.
fn choices(graph: &Graph) -> Result<Option<Rewritten>, GraphError> {
    remade(
        graph,
        |node| node.op().is_join(),
        |node, sources| match node.op() {
            Op::Concat(axis, _) => UOp::concat(sources, *axis),
            Op::Stack(axis, _) => UOp::stack(sources, *axis),
            op => UOp::new(op.clone(), sources),
        },
    )
}

/// The graph with what `make` makes of such nodes and all that follow from them; nothing where there are none.
fn remade(
    graph: &Graph,
    is_one: impl Fn(&UOp) -> bool,
    make: impl Fn(&UOp, &[UOp]) -> Result<UOp, GraphError>,
) -> Result<Option<Rewritten>, GraphError> {
    if !graph.nodes().iter().any(&is_one) {
        return Ok(None);
    }
    let mut became = Became::default();
    let mut new: Vec<UOp> = Vec::with_capacity(graph.len());
    for (node, sources) in graph.iter() {
        let same = sources.iter().all(|s| new[*s as usize] == graph.nodes()[*s as usize]);
        let sources = || sources.iter().map(|s| new[*s as usize].clone()).collect::<Vec<UOp>>();
        let made = if same && !is_one(node) { node.clone() } else { make(node, &sources())? };
        made.inherit_origin(node);
        became.add(node.id(), std::slice::from_ref(&made));
        new.push(made);
    }
    let roots: Vec<UOp> = graph.roots().iter().map(|root| new[*root as usize].clone()).collect();
    Ok(Some(Rewritten { graph: Graph::new(&roots), became: vec![became], decisions: Vec::new() }))
}

/// The graph with pairs of real values in the places of complex ones; nothing where it has none.
fn complex(graph: &Graph) -> Result<Option<Rewritten>, GraphError> {
    let Some(real) = without_complex(graph)? else { return Ok(None) };
    let mut became = Became::default();
    for (old, new) in graph.nodes().iter().zip(&real) {
        new.inherit_origin(old);
        became.add(old.id(), std::slice::from_ref(new));
    }
    // Memory is of complex numbers, or of real ones: a root of each has its own.
    let mut types: Vec<(UOp, DType)> = Vec::new();
    let mut roots = Vec::with_capacity(graph.roots().len());
    for root in graph.roots() {
        let (old, new) = (&graph.nodes()[*root as usize], &real[*root as usize]);
        let memory = reshaped_from(new);
        match types.iter().find(|(known, _)| *known == memory) {
            Some((_, dtype)) if *dtype != old.dtype() => roots.push(new.contiguous()?),
            _ if new.is_memory() && !old.is_memory() => roots.push(new.contiguous()?),
            Some(_) => roots.push(new.clone()),
            None => {
                types.push((memory, old.dtype()));
                roots.push(new.clone());
            }
        }
    }
    Ok(Some(Rewritten { graph: Graph::new(&roots), became: vec![became], decisions: Vec::new() }))
}

/// What a value is another shape of.
fn reshaped_from(node: &UOp) -> UOp {
    let mut node = node.clone();
    while let (Op::Reshape(_), Some(source)) = (node.op(), node.source()) {
        node = source;
    }
    node
}

/// The same with its roots on the devices where they were: what turned out to be a constant is on none by itself.
fn on_devices(before: &Graph, mut after: Rewritten) -> Result<Rewritten, GraphError> {
    let root = |graph: &Graph, at: NodeIndex| graph.nodes()[at as usize].clone();
    let pairs = before.roots().iter().zip(after.graph.roots());
    let pairs: Vec<(UOp, UOp)> = pairs.map(|(old, new)| (root(before, *old), root(&after.graph, *new))).collect();
    let mut roots = Vec::with_capacity(pairs.len());
    for (old, new) in &pairs {
        let placed = match (old.device(), new.device()) {
            (Some(device), None) => new.copy_to(device)?,
            _ => new.clone(),
        };
        if let Some(became) = after.became.last_mut().filter(|_| placed != *new) {
            became.add(old.id(), std::slice::from_ref(&placed));
        }
        placed.inherit_origin(old);
        roots.push(placed);
    }
    if pairs.iter().zip(&roots).any(|((_, new), placed)| new != placed) {
        after.graph = Graph::new(&roots);
    }
    Ok(after)
}

/// What becomes of a kernel.
pub(crate) fn kernel(kernel: Kernel, how: Purpose) -> Kernel {
    let passes = KERNEL.iter().filter(|(pass, _)| how.runs(*pass));
    passes.fold(kernel, |kernel, (pass, work)| pass.run_on(kernel, |kernel| work(kernel, how)))
}

/// Long chains in blocks, unless reductions keep their order.
fn blocks(graph: &Graph, about: &About) -> Result<Option<Rewritten>, GraphError> {
    let chains = !about.how.strict && graph.nodes().iter().any(|node| is_chain(node.op()));
    Ok(if chains { rewritten(graph, &BLOCKS, about) } else { None })
}

/// Totals by rows that something else reads, unless reductions keep their order.
fn two_stage(graph: &Graph, about: &About) -> Result<Option<Rewritten>, GraphError> {
    let found = if about.how.strict { TwoStage::default() } else { TwoStage::find(graph, about.how.caches) };
    if found.is_empty() {
        return Ok(None);
    }
    let mut became = Became::default();
    let mut new: Vec<UOp> = Vec::with_capacity(graph.len());
    for (at, (node, sources)) in graph.iter().enumerate() {
        let same = sources.iter().all(|s| new[*s as usize] == graph.nodes()[*s as usize]);
        let sources: Vec<UOp> = sources.iter().map(|s| new[*s as usize].clone()).collect();
        let at = at as NodeIndex;
        let made = if same && !found.concerns(at) { node.clone() } else { found.apply(at, node, &sources)? };
        made.inherit_origin(node);
        became.add(node.id(), std::slice::from_ref(&made));
        new.push(made);
    }
    let roots: Vec<UOp> = graph.roots().iter().map(|r| new[*r as usize].clone()).collect();
    Ok(pictured(&roots, became, about).map(|new| Rewritten { decisions: found.decisions, ..new }))
}

/// What a root that is to be dense is made of, where that is written to a buffer of its own, as all roots are: a copy
/// would be no denser.
fn dense(root: &UOp) -> Option<UOp> {
    let source = if *root.op() == Op::Contiguous { root.source()? } else { return None };
    matches!(source.op(), Op::Scan(..) | Op::Sort(..) | Op::ArgSort(..) | Op::Scatter(..)).then_some(source)
}

/// The graph after some rules. A root that turns out to be memory is a copy of that: a plan's output is a
/// buffer of its own. Nothing, where no rule applies, or as of [`pictured`].
fn rewritten(graph: &Graph, rules: &RuleSet, about: &About) -> Option<Rewritten> {
    let given: Vec<UOp> = graph.roots().iter().map(|r| graph.nodes()[*r as usize].clone()).collect();
    let roots: Vec<UOp> = given.iter().map(|root| dense(root).unwrap_or_else(|| root.clone())).collect();
    let done = rewrite(&roots, rules).ok().filter(|done| !done.applied.is_empty() || roots != given)?;
    let mut became = Became::from(done.became);
    let mut copied = |(new, old): (UOp, &UOp)| {
        if !matches!(new.op(), Op::Leaf(_)) || new == *old {
            return Some(new);
        }
        let copy = new.contiguous().ok()?;
        copy.inherit_origin(old);
        became.add(old.id(), std::slice::from_ref(&copy));
        Some(copy)
    };
    let new = done.roots.into_iter().zip(&roots).map(&mut copied).collect::<Option<Vec<UOp>>>()?;
    pictured(&new, became, about)
}

/// What was joined step by step, joined at once.
fn join(graph: &Graph, about: &About) -> Result<Option<Rewritten>, GraphError> {
    Ok(join_at_once(graph)?.and_then(|(roots, became)| pictured(&roots, became.into(), about)))
}

/// The picture of rewritten roots; nothing, where another thread has forced a part of them meanwhile, so that it would
/// read other leaves.
fn pictured(roots: &[UOp], became: Became, about: &About) -> Option<Rewritten> {
    let graph = Graph::new(roots);
    let known = |node: &UOp| match node.op() {
        Op::Leaf(leaf) => (about.known)(leaf),
        _ => true,
    };
    graph.nodes().iter().all(known).then_some(Rewritten { graph, became: vec![became], decisions: Vec::new() })
}
