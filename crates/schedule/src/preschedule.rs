//! The schedule of a graph, independent of concrete buffers and hence cacheable: which kernels, on
//! which arguments, in which order.

use crate::blocks::{BLOCKS, is_chain};
use crate::decision::Decision;
use crate::fuse::{Fate, fuse};
use crate::merge::{Merger, Step};
use crate::names;
use crate::normalize::{normalize, squeeze};
use crate::quotient::postpone_divisions;
use crate::rangeify::{Ranged, RangeifyError, rangeify};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use svod_dtype::DType;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Device, Graph, Leaf, LeafClass, Op, UOp};
use svod_ir::kernel::Kernel;
use svod_ir::rewrite::{SIMPLIFY, rewrite};
use svod_ir::size::Size;

/// What an argument of an invocation stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// A leaf of the graph, by the order of the first visit ([`svod_ir::graph::key::GraphKey::leaves`]).
    Leaf(usize),
    /// A buffer of the schedule's own, by its position in [`PreSchedule::buffers`].
    Buffer(usize),
}

/// A buffer that the schedule needs: dense, row-major, sized for its variables' maxima.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferSpec {
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: Vec<Size>,
    /// Where it is; `None` is the device of the kernel's arguments.
    pub device: Option<Device>,
}

/// What one step of a schedule does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// Runs a kernel, by its position in [`PreSchedule::kernels`]; it writes the arguments that
    /// [`Kernel::written`] names, which are its last ones.
    Kernel(usize),
    /// Copies argument 1 to argument 0, between devices.
    Copy,
}

/// One step: an item on its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelInvocation {
    /// What it does.
    pub item: Item,
    /// On what.
    pub args: Vec<Slot>,
    /// The invocations that it reads from.
    pub dependencies: Vec<usize>,
    /// Invocations that it follows though it reads nothing of theirs.
    pub after: Vec<usize>,
}

/// The kernels of a graph and how they are invoked.
#[derive(Clone, Debug, Default)]
pub struct PreSchedule {
    /// Each distinct kernel once.
    pub kernels: Vec<Arc<Kernel>>,
    /// Intermediate buffers and outputs.
    pub buffers: Vec<BufferSpec>,
    /// Steps, producers before consumers.
    pub invocations: Vec<KernelInvocation>,
    /// Where each root of the graph is, in order.
    pub outputs: Vec<Slot>,
    /// Why kernels are as many as they are.
    pub decisions: Vec<Decision>,
}

impl PreSchedule {
    /// The arguments that an invocation writes.
    pub fn written(&self, invocation: &KernelInvocation) -> Vec<Slot> {
        match invocation.item {
            Item::Kernel(k) => self.kernels[k].written().iter().map(|p| invocation.args[p.index()]).collect(),
            Item::Copy => invocation.args.first().copied().into_iter().collect(),
        }
    }
}

/// Why a graph has no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PreScheduleError {
    /// Nothing has to be computed.
    #[error("no kernel found: the graph has nothing to compute")]
    NoKernels,
    /// A part of the graph has no kernel form.
    #[error(transparent)]
    Rangeify(#[from] RangeifyError),
}

/// How a graph is cut into kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purpose {
    /// Whether leaves of class `Data` count as constant, so that a plan may pack them once.
    pub prepared: bool,
    /// Whether every float operation stays the one that was written, and folds go from left to right.
    pub strict: bool,
}

/// Cuts a graph into kernels; `leaves` gives the position of each leaf.
///
/// # Errors
/// [`PreScheduleError::NoKernels`] where the roots are memory already, and
/// [`PreScheduleError::Rangeify`] where an operation cannot be compiled.
pub fn create_pre_schedule(graph: &Graph, leaves: &[Leaf], how: Purpose) -> Result<PreSchedule, PreScheduleError> {
    let numbers: FxHashMap<&Leaf, usize> = leaves.iter().enumerate().map(|(i, l)| (l, i)).collect();
    let simplified = simplify(graph, &numbers, how.strict);
    let graph = simplified.as_ref().unwrap_or(graph);
    let cut = fuse(graph);
    let constant = |node: NodeIndex| match graph.nodes()[node as usize].op() {
        Op::Leaf(leaf) => {
            let fixed = leaf.shape().iter().all(|n| n.as_const().is_some());
            how.prepared && leaf.class() == LeafClass::Data && fixed
        }
        _ => false,
    };
    let mut merger = Merger::new(graph);
    // The node whose buffer a node is: its own, or that of which it is a reshape.
    let mut memory: Vec<NodeIndex> = (0..graph.len() as NodeIndex).collect();
    for node in 0..graph.len() as NodeIndex {
        let value = &graph.nodes()[node as usize];
        let source = || memory[graph.sources(node)[0] as usize];
        match (cut.fates[node as usize], value.op()) {
            (_, Op::Leaf(_)) => {}
            (Fate::Alias, _) => memory[node as usize] = source(),
            (Fate::Realize, Op::Copy(_)) => merger.add(Step::Copy(source(), node)),
            (Fate::Realize, _) => {
                let mut ranged = rangeify(graph, &cut, &constant, node)?;
                ranged.kernel = squeeze(ranged.kernel);
                ranged.params.iter_mut().for_each(|p| *p = memory[*p as usize]);
                merger.add(Step::Kernel(Box::new(ranged)));
            }
            (Fate::Free | Fate::Inline | Fate::Stage, _) => {}
        }
    }
    let roots: FxHashSet<NodeIndex> = graph.roots().iter().map(|r| memory[*r as usize]).collect();
    let (groups, decisions) = merger.finish(|node| roots.contains(&node));
    let mut schedule = PreSchedule { decisions, ..PreSchedule::default() };
    let mut known: FxHashMap<svod_ir::Key, usize> = FxHashMap::default();
    // The slot of each node in memory, and the invocation that writes it.
    let mut slots: FxHashMap<NodeIndex, (Slot, Option<usize>)> = FxHashMap::default();
    for (node, value) in graph.nodes().iter().enumerate() {
        if let Op::Leaf(leaf) = value.op() {
            slots.insert(node as NodeIndex, (Slot::Leaf(numbers[leaf]), None));
        }
    }
    for (at, group) in groups.iter().enumerate() {
        for node in group.step.outputs() {
            let value = &graph.nodes()[*node as usize];
            let device = value.device().cloned();
            slots.insert(*node, (Slot::Buffer(schedule.buffers.len()), Some(at)));
            schedule.buffers.push(BufferSpec { dtype: value.dtype(), shape: value.shape().to_vec(), device });
        }
    }
    for group in groups {
        let mut dependencies: Vec<usize> = group.step.inputs().iter().filter_map(|n| slots[n].1).collect();
        dependencies.sort_unstable();
        dependencies.dedup();
        let (item, nodes) = match group.step {
            Step::Copy(from, to) => (Item::Copy, vec![to, from]),
            Step::Kernel(ranged) => {
                let Ranged { kernel, params, .. } = ranged.arranged();
                let kernel = if how.strict { kernel } else { postpone_divisions(kernel) };
                let mut kernel = normalize(kernel);
                kernel.name = names::name(&kernel);
                let next = schedule.kernels.len();
                let at = *known.entry(kernel.key()).or_insert(next);
                if at == next {
                    schedule.kernels.push(Arc::new(kernel));
                }
                (Item::Kernel(at), params)
            }
        };
        let args = nodes.iter().map(|n| slots[n].0).collect();
        schedule.invocations.push(KernelInvocation { item, args, dependencies, after: Vec::new() });
    }
    schedule.outputs = graph.roots().iter().map(|r| slots[&memory[*r as usize]].0).collect();
    // What joined an earlier kernel may read what comes after that.
    schedule.sort().expect("what a group reads is written by groups of a smaller depth");
    if schedule.invocations.is_empty() {
        return Err(PreScheduleError::NoKernels);
    }
    Ok(schedule)
}

/// The graph after tensor algebra, long chains in blocks unless folds keep their order. A root that turns out to be memory stays as it was: a plan's
/// output is a buffer of its own. Nothing, where the graph is as simple as it can be, or where
/// another thread has forced a part of it meanwhile, so that it would read other leaves.
fn simplify(graph: &Graph, leaves: &FxHashMap<&Leaf, usize>, strict: bool) -> Option<Graph> {
    let roots: Vec<UOp> = graph.roots().iter().map(|r| graph.nodes()[*r as usize].clone()).collect();
    let simplified = rewrite(&roots, &SIMPLIFY).ok()?;
    let chains = !strict && graph.nodes().iter().any(|node| is_chain(node.op()));
    let blocked = if chains { Some(rewrite(&simplified.roots, &BLOCKS).ok()?) } else { None };
    if simplified.applied.is_empty() && blocked.as_ref().is_none_or(|b| b.applied.is_empty()) {
        return None;
    }
    let rewritten = blocked.unwrap_or(simplified);
    let kept = |(new, old): (UOp, &UOp)| if matches!(new.op(), Op::Leaf(_)) { old.clone() } else { new };
    let new = Graph::new(&rewritten.roots.into_iter().zip(&roots).map(kept).collect::<Vec<UOp>>());
    let known = |node: &UOp| match node.op() {
        Op::Leaf(leaf) => leaves.contains_key(leaf),
        _ => true,
    };
    new.nodes().iter().all(known).then_some(new)
}
