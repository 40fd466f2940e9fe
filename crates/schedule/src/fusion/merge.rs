//! Kernels that share what they read become one, with several outputs.
//!
//! Kernels come in the order of the graph. Each may join one that is there already, if that spares
//! enough memory traffic ([`SharedRows`]) and the result stays within hard caps. Two kernels can be one only if
//! neither depends on the other through a third. Instead of looking for such a path, every group has
//! a depth, one more than the largest of those it reads from: a kernel may join a group that is deeper
//! than all other groups that it reads from, because a group that depends on the joined one is deeper
//! still. So it may where no other group reads from the joined one, which then becomes as deep as it has to be.
//! A group that has grown may join one that it reads from in turn: two softmaxes that meet in a sum. So the
//! work is linear in the graph.

mod join;
mod reductions;
mod rows;

use crate::costs::limits::code;
use crate::costs::limits::kernels::{MAX_COMPARED, MAX_NODES, MAX_OUTPUTS, MAX_PARAMS, MAX_PRODUCTS};
use crate::costs::{Decision, Estimate, Verdict, code_of};
use crate::fusion::Purpose;
use crate::kernel::Ranged;
use crate::kernel::contraction::worth_a_tile;
use crate::kernel::contraction::{are_siblings, of_bytes, recognise, window};
use crate::kernel::rewrite::drop_value;
use join::join;
use reductions::merge_reductions;
use rows::{SharedRows, traffic};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use svod_ir::expr::ParamId;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Device, Graph};
use svod_ir::kernel::{Body, Emit, Kernel, Out, Stage};
use svod_ir::pass::{Pass, visit};

/// A kernel, or a step of another kind, in the making.
#[derive(Clone, Debug)]
struct Group {
    /// What is read and written.
    step: Step,
    depth: u32,
    device: Option<Device>,
    /// Whether another group reads what it writes.
    followed: bool,
    /// Whether it has become a part of another.
    absorbed: bool,
}

/// What a group does.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Runs a kernel.
    Kernel(Box<Ranged>),
    /// Copies a node, to another device for instance: from, to.
    Copy(NodeIndex, NodeIndex),
    /// Something that is no kernel.
    Shared { inputs: Vec<NodeIndex>, outputs: Vec<NodeIndex> },
}

impl Step {
    /// The nodes that it writes.
    pub fn outputs(&self) -> &[NodeIndex] {
        match self {
            Step::Kernel(ranged) => &ranged.outputs,
            Step::Copy(_, to) => std::slice::from_ref(to),
            Step::Shared { outputs, .. } => outputs,
        }
    }

    /// The nodes that it reads.
    pub fn inputs(&self) -> Vec<NodeIndex> {
        match self {
            Step::Kernel(ranged) => ranged.params.iter().copied().filter(|n| !ranged.outputs.contains(n)).collect(),
            Step::Copy(from, _) => vec![*from],
            Step::Shared { inputs, .. } => inputs.clone(),
        }
    }
}

/// Collects kernels, and makes groups of them.
pub(crate) struct Merger<'g> {
    graph: &'g Graph,
    how: Purpose,
    groups: Vec<Group>,
    /// The group that writes a node.
    writers: FxHashMap<NodeIndex, usize>,
    /// The last few groups that read a node.
    readers: FxHashMap<NodeIndex, SmallVec<[usize; MAX_COMPARED]>>,
    decisions: Vec<Decision>,
}

impl<'g> Merger<'g> {
    pub fn new(graph: &'g Graph, how: Purpose) -> Self {
        let (writers, readers) = (FxHashMap::default(), FxHashMap::default());
        Merger { graph, how, groups: Vec::new(), writers, readers, decisions: Vec::new() }
    }

    /// Adds a step; whatever it reads has been added.
    pub fn add(&mut self, mut step: Step) {
        let device = step.outputs().first().and_then(|n| self.graph.nodes()[*n as usize].device().cloned());
        let on_host = Device::computes_on_host(device.as_ref());
        if let Step::Kernel(ranged) = &mut step
            && may_merge(&ranged.kernel, on_host)
        {
            merge_reductions(&mut ranged.kernel);
        }
        // The group that it is part of by now.
        let mut at: Option<usize> = None;
        while let Step::Kernel(ranged) = &step
            && self.how.runs(Pass::Merge)
            && may_merge(&ranged.kernel, on_host)
            && at.is_none_or(|at| !self.groups[at].followed)
            && let Some((into, merged)) = self.best(ranged, at, &device)
        {
            at.into_iter().for_each(|part| self.absorb(part));
            (step, at) = (Step::Kernel(Box::new(merged)), Some(into));
        }
        self.put(step, at, device);
    }

    /// Makes a step that of a group, or a new group.
    fn put(&mut self, step: Step, at: Option<usize>, device: Option<Device>) {
        let (inputs, outputs) = (step.inputs(), step.outputs().to_vec());
        let producers = self.writers_of(&inputs, at);
        let depth = 1 + producers.iter().map(|p| self.groups[*p].depth).max().unwrap_or(0);
        producers.into_iter().for_each(|p| self.groups[p].followed = true);
        let at = match at {
            Some(at) => {
                let group = &mut self.groups[at];
                (group.step, group.depth) = (step, group.depth.max(depth));
                at
            }
            None => {
                self.groups.push(Group { step, depth, device, followed: false, absorbed: false });
                self.groups.len() - 1
            }
        };
        outputs.into_iter().for_each(|n| {
            self.writers.insert(n, at);
        });
        for node in inputs {
            let recent = self.readers.entry(node).or_default();
            if !recent.contains(&at) {
                if recent.len() == MAX_COMPARED {
                    recent.remove(0);
                }
                recent.push(at);
            }
        }
    }

    /// Forgets a group that has become a part of another.
    fn absorb(&mut self, part: usize) {
        self.groups[part].absorbed = true;
        for node in self.groups[part].step.inputs() {
            if let Some(recent) = self.readers.get_mut(&node) {
                recent.retain(|reader| *reader != part);
            }
        }
    }

    /// The groups that write some nodes, but for one.
    fn writers_of(&self, nodes: &[NodeIndex], but: Option<usize>) -> Vec<usize> {
        nodes.iter().filter_map(|n| self.writers.get(n).copied()).filter(|p| Some(*p) != but).collect()
    }

    /// The group that a kernel best joins, and what they are then. Where it is part of a group already, this is one
    /// that it reads from.
    fn best(&mut self, ranged: &Ranged, at: Option<usize>, device: &Option<Device>) -> Option<(usize, Ranged)> {
        let inputs: Vec<NodeIndex> = ranged.params.iter().copied().filter(|n| !ranged.outputs.contains(n)).collect();
        let producers = self.writers_of(&inputs, at);
        let mut candidates = producers.clone();
        if at.is_none() {
            candidates.extend(inputs.iter().flat_map(|node| self.readers.get(node).into_iter().flatten()));
        }
        candidates.sort_unstable();
        candidates.dedup();
        let products = are_products(&ranged.kernel);
        let on_host = Device::computes_on_host(device.as_ref());
        let ahead = |at: &usize| {
            let group = &self.groups[*at];
            let deeper = producers.iter().all(|p| p == at || self.groups[*p].depth < group.depth);
            let free = deeper || !group.followed;
            let alike = |r: &Ranged| may_merge(&r.kernel, on_host) && are_products(&r.kernel) == products;
            let same = matches!(&group.step, Step::Kernel(r) if alike(r)) && group.device == *device;
            free && same
        };
        visit(candidates.len());
        candidates.retain(ahead);
        let mut found: Option<(i64, usize, Ranged)> = None;
        for at in candidates {
            let Step::Kernel(first) = &self.groups[at].step else { continue };
            let (decision, merged) = self.try_join(first, ranged, on_host);
            let spared = decision.estimate.spared;
            self.decisions.push(decision);
            if let Some(merged) = merged.filter(|_| found.as_ref().is_none_or(|(most, ..)| spared > *most)) {
                found = Some((spared, at, merged));
            }
        }
        found.map(|(_, at, merged)| (at, merged))
    }

    /// Weighs making one kernel of two.
    fn try_join(&self, first: &Ranged, second: &Ranged, on_host: bool) -> (Decision, Option<Ranged>) {
        let each = [first, second].map(|r| traffic(self.graph, r));
        let bytes = each[0].saturating_add(each[1]);
        let names = [first, second].map(|r| crate::kernel::names::name(&r.kernel));
        let rows = SharedRows::of(self.graph, self.how.caches, on_host, first, second);
        let (spared, scratch) = rows.as_ref().map_or((0, 0), |r| (r.spared, r.row_bytes));
        let estimate = Estimate { bytes, spared, scratch, repeated: 0 };
        let mut decision = Decision { what: names.join(" + "), estimate, verdict: Verdict::Merge };
        let operations = [first, second].map(|r| operations(&r.kernel)).iter().sum::<usize>();
        let params = first.params.len() + second.params.iter().filter(|n| !first.params.contains(n)).count();
        let outputs = first.outputs.len() + second.outputs.len();
        let code = [first, second].map(|r| code_of(&r.kernel)).iter().sum::<u32>();
        let too_large = operations > MAX_NODES || code > code::MAX_CODE || params > MAX_PARAMS || outputs > MAX_OUTPUTS;
        let why = match (&rows, estimate.why_apart(each[0].min(each[1]))) {
            (None, _) => Some("they have no rows in common"),
            (_, None) if too_large => Some("the kernel would be too large"),
            (_, why) => why,
        };
        decision.verdict = match (&rows, why) {
            (_, Some(why)) => Verdict::Apart(why),
            (None, None) => return (decision, None),
            (Some(rows), None) => {
                return match join(first, second, rows) {
                    Some(merged) if are_products(&first.kernel) && !are_products(&merged.kernel) => {
                        decision.verdict = Verdict::Apart("their products have different columns or depths");
                        (decision, None)
                    }
                    Some(mut merged) => {
                        merge_reductions(&mut merged.kernel);
                        (decision, Some(merged))
                    }
                    None => {
                        decision.verdict = Verdict::Apart("what one writes the other needs in memory");
                        (decision, None)
                    }
                };
            }
        };
        (decision, None)
    }

    /// The steps, producers before consumers, else in the order in which they were begun, and why they are
    /// what they are. What only the kernel that computes it reads is not written, unless `keep` says so.
    pub fn finish(self, keep: impl Fn(NodeIndex) -> bool) -> (Vec<Step>, Vec<Decision>) {
        let mut groups: Vec<Group> = self.groups.into_iter().filter(|group| !group.absorbed).collect();
        let mut read: FxHashMap<NodeIndex, ()> = FxHashMap::default();
        groups.iter().flat_map(|g| g.step.inputs()).for_each(|n| {
            read.insert(n, ());
        });
        for group in &mut groups {
            if let Step::Kernel(ranged) = &mut group.step
                && ranged.outputs.len() > 1
            {
                let own: Vec<NodeIndex> = ranged.outputs.clone();
                own.into_iter().filter(|n| !keep(*n) && !read.contains_key(n)).for_each(|n| drop_output(ranged, n));
                **ranged = std::mem::take(&mut **ranged).arranged();
            }
        }
        (in_order(groups), self.decisions)
    }
}

/// The steps in order (Kahn 1962): what joined an earlier kernel may read what comes after that.
fn in_order(groups: Vec<Group>) -> Vec<Step> {
    let mut writers: FxHashMap<NodeIndex, usize> = FxHashMap::default();
    for (at, group) in groups.iter().enumerate() {
        writers.extend(group.step.outputs().iter().map(|n| (*n, at)));
    }
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); groups.len()];
    let mut waits = vec![0usize; groups.len()];
    for (at, group) in groups.iter().enumerate() {
        for producer in group.step.inputs().iter().filter_map(|n| writers.get(n)) {
            followers[*producer].push(at);
            waits[at] += 1;
        }
    }
    let mut ready: BinaryHeap<Reverse<usize>> = (0..groups.len()).filter(|at| waits[*at] == 0).map(Reverse).collect();
    let mut steps: Vec<Option<Step>> = groups.into_iter().map(|group| Some(group.step)).collect();
    let mut order = Vec::with_capacity(steps.len());
    // What a group reads is written by groups of a smaller depth: all of them become ready.
    while let Some(Reverse(at)) = ready.pop() {
        order.extend(steps[at].take());
        for &next in &followers[at] {
            waits[next] -= 1;
            if waits[next] == 0 {
                ready.push(Reverse(next));
            }
        }
    }
    order
}

/// Whether a kernel is a map of contractions that share their first operand, all at the same points: several
/// heads. Its tasks copy that operand's rows once.
fn are_products(kernel: &Kernel) -> bool {
    let Some((last, products)) = kernel.stages.split_last() else { return false };
    let found: Vec<_> = (0..products.len()).filter_map(|s| recognise(kernel, s).map(|c| (s, c))).collect();
    let [(_, c), ..] = &found[..] else { return false };
    let same = |s: &Stage| s.over == last.over && s.outs == [Out::Temp];
    matches!(last.body, Body::Map(_))
        && found.len() == products.len()
        && found.len() <= MAX_PRODUCTS
        && products.iter().all(same)
        && worth_a_tile(kernel, c)
        && are_siblings(kernel, &found)
        && (0..products.len()).all(|s| !window::is_convolution(kernel, s))
}

/// Whether a kernel may become part of another: it only maps and reduces, and no schedule of its own
/// waits for it. On GPUs each product is a kernel of its own.
fn may_merge(kernel: &Kernel, on_host: bool) -> bool {
    if are_products(kernel) {
        return on_host;
    }
    let plain = |s: usize| match &kernel.stages[s].body {
        Body::Map(_) => true,
        Body::Reduce { emit, .. } => {
            let product = recognise(kernel, s).or_else(|| of_bytes(kernel, s).filter(|_| !on_host));
            *emit == Emit::Last && product.is_none() && !window::is_convolution(kernel, s)
        }
        Body::Scatter { .. } | Body::Sort { .. } => false,
    };
    (0..kernel.stages.len()).all(plain)
}

fn operations(kernel: &Kernel) -> usize {
    let roots: Vec<_> = kernel.stages.iter().flat_map(|s| s.roots()).collect();
    kernel.exprs.count_ops(&roots)
}

/// No longer writes a node, and no longer computes what only that needed.
fn drop_output(ranged: &mut Ranged, node: NodeIndex) {
    let Some(param) = ranged.params.iter().position(|n| *n == node).map(|p| ParamId(p as u32)) else { return };
    let kernel = &mut ranged.kernel;
    let Some((of, value)) = join::written_by(kernel, param) else { return };
    if kernel.stages[of.index()].outs.len() >= 2 {
        drop_value(kernel, of, value);
        ranged.outputs.retain(|n| *n != node);
    }
}
