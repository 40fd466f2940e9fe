//! From a graph to calls of kernels: simplified, cut, each part lowered to a kernel, loops opened.

use crate::calls::in_place;
use crate::calls::preschedule::{BufferSpec, Item, Slot};
use crate::calls::schedule_graph::{NodeId, ScheduleGraph};
use crate::costs::Decision;
use crate::fusion::Purpose;
use crate::fusion::fuse::{Cut, Fate, fuse, is_step};
use crate::fusion::merge::{Merger, Step};
use crate::graph::place::{is_transfer, only_device};
use crate::kernel::Ranged;
use crate::kernel::names;
use crate::kernel::normalize::squeeze;
use crate::kernel::views::split_params;
use crate::pipeline;
use crate::pipeline::PreScheduleError;
use crate::pipeline::provenance::Provenance;
use crate::rangeify::{RangeifyError, rangeify};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use svod_ir::Key;
use svod_ir::graph::key::GraphKey;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Device, Graph, HostCall, Leaf, LoopBody, Op, Shape, UOp};
use svod_ir::kernel::Kernel;
use svod_ir::pass::Pass;
use svod_ir::size::{Size, Variable};

/// The calls that compute a graph; its key gives the positions of leaves and functions.
pub(crate) fn cut(graph: &Graph, key: &GraphKey, how: Purpose) -> Result<ScheduleGraph, PreScheduleError> {
    let functions = key.functions.iter().enumerate().map(|(i, function)| (function, i)).collect();
    let schedule = ScheduleGraph::default();
    let bodies = graph.bodies().into_iter().map(|(body, _, first)| (*body.structure(), first)).collect();
    let mut cutter = Cutter {
        schedule,
        functions,
        known: FxHashMap::default(),
        came: FxHashMap::default(),
        computes: Vec::new(),
        bodies,
        how,
    };
    let mut places = FxHashMap::default();
    // Where a leaf is of complex numbers, kernels read its pairs.
    let leaves: Vec<Leaf> = key.leaves.iter().map(Leaf::pairs).collect();
    for (i, leaf) in leaves.iter().enumerate() {
        let fixed = leaf.shape().iter().all(|n| n.as_const().is_some());
        let constant = how.prepared && leaf.class().is_constant() && fixed;
        places.insert(leaf, Place { value: cutter.schedule.slot(Slot::Leaf(i)), constant });
    }
    cutter.schedule.outputs = cutter.graph(graph, &places, &Loops::default())?;
    let roots = graph.roots().iter().map(|root| &graph.nodes()[*root as usize]);
    roots.zip(cutter.schedule.outputs.clone()).for_each(|(root, value)| cutter.schedule.as_typed(value, root.dtype()));
    Ok(cutter.schedule)
}

/// Where a leaf is, and whether its content is always the same.
#[derive(Clone, Copy)]
struct Place {
    value: NodeId,
    constant: bool,
}

/// The loops that are open, outermost first, and their variables.
#[derive(Clone, Default)]
struct Loops {
    ranges: Vec<NodeId>,
    vars: Vec<Variable>,
    /// Where the loops are. Parameters of bodies are nowhere themselves.
    device: Option<Device>,
    /// The first number of the innermost body's nodes.
    first: NodeIndex,
}

/// A step with several results, each of which is a node: what it is, and what it reads.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Shared<'g> {
    Loop(&'g [u8; 32], &'g [NodeIndex]),
    Host(&'g HostCall, &'g [NodeIndex]),
}

/// Cuts graphs, and the bodies of their loops, into one schedule.
struct Cutter<'k> {
    schedule: ScheduleGraph,
    /// Positions of the functions of the host.
    functions: FxHashMap<&'k HostCall, usize>,
    /// The numbers of kernels in normal form.
    known: FxHashMap<Key, usize>,
    /// The numbers of kernels as they came.
    came: FxHashMap<Key, usize>,
    /// The nodes that the next call computes, numbered as in [`Graph::bodies`].
    computes: Vec<NodeIndex>,
    /// The first number of each body's nodes, by its structure.
    bodies: FxHashMap<[u8; 32], NodeIndex>,
    how: Purpose,
}

/// Orders that are wanted both as positions and as elements, which one kernel writes: both nodes, by the first of them.
fn orders_with_elements(graph: &Graph, fates: &[Fate]) -> FxHashMap<NodeIndex, [NodeIndex; 2]> {
    let mut sorts: FxHashMap<(NodeIndex, usize, bool), [Option<NodeIndex>; 2]> = FxHashMap::default();
    let mut both = FxHashMap::default();
    for node in (0..graph.len() as NodeIndex).filter(|n| fates[*n as usize] == Fate::Realize) {
        let ((axis, descending), place) = match graph.nodes()[node as usize].op() {
            Op::ArgSort(axis, descending, _) => ((*axis, *descending), 0),
            Op::Sort(axis, descending, _) => ((*axis, *descending), 1),
            _ => continue,
        };
        let pair = sorts.entry((graph.sources(node)[0], axis, descending)).or_default();
        pair[place] = Some(node);
        if let [Some(positions), Some(elements)] = *pair
            && graph.nodes()[positions as usize].shape() == graph.nodes()[elements as usize].shape()
        {
            both.insert(positions.min(elements), [positions, elements]);
        }
    }
    both
}

/// The nodes, operands before users; those that reduce what another reduction gives, and what is made of them, come last: the
/// other reduction finds whatever shares its rows before.
fn reductions_of_reductions_last(graph: &Graph) -> Vec<NodeIndex> {
    let is_reduction = |node: NodeIndex| matches!(graph.nodes()[node as usize].op(), Op::Reduce(..));
    let mut waits: Vec<bool> = Vec::with_capacity(graph.len());
    for (at, (_, sources)) in graph.iter().enumerate() {
        let own = is_reduction(at as NodeIndex) && sources.iter().any(|s| is_reduction(*s));
        waits.push(own || sources.iter().any(|s| waits[*s as usize]));
    }
    let (last, first): (Vec<NodeIndex>, Vec<NodeIndex>) =
        (0..graph.len() as NodeIndex).partition(|node| waits[*node as usize]);
    [first, last].concat()
}

/// A kernel whose parameters have the dimensions that its rows have, by which kernels are compared.
fn in_rows(kernel: Kernel) -> Kernel {
    let rows = kernel.stages.last().is_some_and(|out| !out.over.is_empty());
    if rows { split_params(kernel) } else { kernel }
}

impl Cutter<'_> {
    /// The values of a graph's roots.
    fn graph(
        &mut self,
        graph: &Graph,
        leaves: &FxHashMap<&Leaf, Place>,
        loops: &Loops,
    ) -> Result<Vec<NodeId>, PreScheduleError> {
        let rewritten = pipeline::graph(graph, &|leaf| leaves.contains_key(leaf), self.how)?;
        let provenance = Pass::Trace.time(|| Provenance::new(graph, rewritten.as_ref()));
        let graph = rewritten.as_ref().map_or(graph, |r| &r.graph);
        let loops = &Loops { device: loops.device.clone().or_else(|| only_device(graph)), ..loops.clone() };
        let mut parts = Parts::new(graph, leaves, self.how);
        let (steps, decisions) = parts.steps(self.how)?;
        self.schedule.decisions.extend(rewritten.iter().flat_map(|r| r.decisions.clone()));
        self.schedule.decisions.extend(std::mem::take(&mut parts.cut.decisions));
        self.schedule.decisions.extend(decisions);

        let of_leaves = parts.leaves.iter().map(|(node, place)| (*node, place.value));
        let mut values: FxHashMap<NodeIndex, NodeId> = of_leaves.collect();
        for step in steps {
            let outputs = step.outputs().to_vec();
            let own = Pass::Trace.time(|| provenance.of_kernel(graph, &parts.cut.fates, &outputs));
            self.computes = own.into_iter().map(|node| loops.first + node).collect();
            let results = self.calls(&parts, step, &values, loops)?;
            values.extend(outputs.into_iter().zip(results));
        }
        Ok(graph.roots().iter().map(|r| values[&parts.memory[*r as usize]]).collect())
    }

    /// Adds the calls of a step, and gives the values of its outputs.
    fn calls(
        &mut self,
        parts: &Parts<'_>,
        step: Step,
        values: &FxHashMap<NodeIndex, NodeId>,
        loops: &Loops,
    ) -> Result<Vec<NodeId>, PreScheduleError> {
        let outputs = step.outputs().to_vec();
        let about: Vec<&UOp> = outputs.iter().map(|n| &parts.graph.nodes()[*n as usize]).collect();
        let inputs = match step {
            Step::Copy(from, _) => {
                return Ok(self.step(Item::Copy, &[spec(about[0], loops)], &[values[&from]], loops));
            }
            Step::Kernel(ranged) => {
                let Ranged { kernel, params, .. } = ranged.arranged();
                let at = self.kernel(kernel);
                let read: Vec<NodeId> = params.iter().filter(|p| !outputs.contains(p)).map(|p| values[p]).collect();
                let written: Vec<BufferSpec> = about.iter().map(|node| spec(node, loops)).collect();
                return Ok(self.step(Item::Kernel(at), &written, &read, loops));
            }
            Step::Shared { inputs, .. } => inputs,
        };
        let all = match about[0].op() {
            Op::After => {
                let awaited = inputs[1..].iter().filter(|n| !parts.leaves.contains_key(n)).map(|n| values[n]);
                let awaited: Vec<NodeId> = awaited.collect();
                return Ok(vec![self.schedule.after(values[&inputs[0]], &awaited)]);
            }
            Op::Loop(body, _) => {
                let place = |node| Place { value: values[node], constant: parts.is_constant(*node) };
                let operand = |node| (place(node), parts.is_own(*node, outputs[0]));
                self.repeat(body, &inputs.iter().map(operand).collect::<Vec<_>>(), about[0], loops)?
            }
            Op::Host(function, ..) => {
                let below = parts.graph.sources(outputs[0]).iter().map(|s| parts.graph.nodes()[*s as usize].clone());
                let operands: Vec<NodeId> = inputs.iter().map(|n| values[n]).collect();
                self.host(function, &below.collect::<Vec<_>>(), &operands, about[0], loops)?
            }
            _ => return Err(RangeifyError::Unsupported("a step of another kind with several results").into()),
        };
        Ok(outputs.iter().map(|n| all[output_of(parts.graph, *n)]).collect())
    }

    /// The number among the distinct kernels of what becomes of a kernel.
    fn kernel(&mut self, kernel: Kernel) -> usize {
        // Most are equal as they come, and what becomes of them was found before.
        let came = Pass::Identify.time(|| kernel.key());
        if let Some(at) = self.came.get(&came) {
            return *at;
        }
        let mut kernel = pipeline::kernel(kernel, self.how);
        let at = Pass::Identify.time(|| {
            kernel.name = names::name(&kernel);
            let next = self.schedule.kernels.len();
            let at = *self.known.entry(kernel.key()).or_insert(next);
            if at == next {
                self.schedule.kernels.push(Arc::new(kernel));
            }
            at
        });
        self.came.insert(came, at);
        at
    }

    /// Adds a call that writes new buffers, and gives their values.
    fn step(&mut self, item: Item, written: &[BufferSpec], read: &[NodeId], loops: &Loops) -> Vec<NodeId> {
        let buffers: Vec<NodeId> = written.iter().map(|spec| self.schedule.buffer(spec.clone())).collect();
        self.step_to(item, &buffers, read, loops)
    }

    /// Adds a call that writes these buffers, and gives their values after it.
    fn step_to(&mut self, item: Item, written: &[NodeId], read: &[NodeId], loops: &Loops) -> Vec<NodeId> {
        let named: Vec<usize> = match &item {
            Item::Kernel(kernel) => {
                let vars = &self.schedule.kernels[*kernel].vars;
                (0..loops.vars.len()).filter(|i| vars.contains(&loops.vars[*i])).collect()
            }
            Item::Host { .. } | Item::Row { .. } => (0..loops.vars.len()).collect(),
            Item::Copy | Item::View { .. } => Vec::new(),
        };
        let mut args = match item {
            Item::Kernel(_) => [read, written].concat(),
            _ => [written, read].concat(),
        };
        args.extend(named.into_iter().map(|i| self.schedule.bind(&loops.vars[i], loops.ranges[i])));
        let call = self.schedule.call(item, args, &loops.ranges);
        self.schedule.computes.insert(call, self.computes.clone());
        written.iter().map(|buffer| self.schedule.after(*buffer, &[call])).collect()
    }

    fn host(
        &mut self,
        function: &HostCall,
        below: &[UOp],
        operands: &[NodeId],
        value: &UOp,
        loops: &Loops,
    ) -> Result<Vec<NodeId>, PreScheduleError> {
        let refused = |_| RangeifyError::Unsupported("a host function that refuses operands which it accepted");
        let outputs = function.outputs(below).map_err(refused)?;
        let device = value.device().cloned();
        let spec =
            |(dtype, shape): &(_, Shape)| BufferSpec { dtype: *dtype, shape: shape.to_vec(), device: device.clone() };
        let written: Vec<BufferSpec> = outputs.iter().map(spec).collect();
        let shapes = outputs.iter().map(|(_, shape)| shape).chain(below.iter().map(UOp::shape_arc)).cloned().collect();
        let unknown = RangeifyError::Unsupported("a host function that the graph's key does not name");
        let function = *self.functions.get(function).ok_or(unknown)?;
        let item = Item::Host { function, outputs: written.len(), shapes };
        Ok(self.step(item, &written, operands, loops))
    }

    /// Adds a loop, and gives what the carried values are after it, and what it stacks. `operands` are what the former
    /// begin with and what the body reads from outside, and whether the loop may write them.
    fn repeat(
        &mut self,
        body: &LoopBody,
        operands: &[(Place, bool)],
        value: &UOp,
        loops: &Loops,
    ) -> Result<Vec<NodeId>, PreScheduleError> {
        let (params, count) = (body.params(), body.carried());
        let graph = Graph::new(body.results());
        let devices: Vec<Device> = params.iter().map(|param| param.data().device()).collect();
        // Inside, a value may go to other devices and come back.
        let leaves = |node: &UOp| node.sharding().is_some() || node.device().is_some_and(|d| *d != devices[0]);
        let several = devices.iter().any(|device| *device != devices[0]) || graph.nodes().iter().any(leaves);
        let device = loops.device.as_ref().or(value.device()).filter(|_| !several);
        let buffer_of = |leaf: &Leaf| {
            let device = if several { Some(leaf.data().device()) } else { device.cloned() };
            BufferSpec { dtype: leaf.dtype(), shape: leaf.shape().to_vec(), device }
        };
        let mut places: FxHashMap<&Leaf, Place> = FxHashMap::default();
        for (i, (param, (place, own))) in params.iter().zip(operands).enumerate() {
            let place = match i < count {
                false => *place,
                true if *own => Place { constant: false, ..*place },
                true => {
                    let value = self.step(Item::Copy, &[buffer_of(param)], &[place.value], loops)[0];
                    Place { value, constant: false }
                }
            };
            places.insert(param, place);
        }
        let carried: Vec<NodeId> = params[..count].iter().map(|p| places[p].value).collect();
        let range = self.schedule.range(body.var().min(), body.var().max());
        let inner = Loops {
            ranges: [&loops.ranges[..], &[range]].concat(),
            vars: [&loops.vars[..], std::slice::from_ref(body.var())].concat(),
            device: device.cloned(),
            first: self.bodies.get(body.structure()).copied().unwrap_or_default(),
        };
        // What takes the results to the next iteration is the loop's own.
        let computes = self.computes.clone();
        let begin = self.schedule.nodes.len();
        let rows: Vec<(&UOp, NodeId)> = body.results()[count..]
            .iter()
            .map(|row| {
                let shape = [Size::from(body.trips())].into_iter().chain(row.shape().iter().cloned()).collect();
                let device = if several { row.device() } else { device }.or(devices.first()).cloned();
                (row, self.schedule.buffer(BufferSpec { dtype: row.dtype(), shape, device }))
            })
            .collect();
        // What is carried is read before anything takes its place.
        for (row, to) in &rows {
            if let Some(place) = row.op().leaf().and_then(|leaf| places.get(leaf)) {
                self.row(row, *to, place.value, &inner);
            }
        }
        let mut results = self.graph(&graph, &places, &inner)?;
        let made = results.split_off(count);
        for ((row, to), value) in rows.iter().zip(made) {
            if row.op().leaf().is_none_or(|leaf| !places.contains_key(leaf)) {
                self.row(row, *to, value, &inner);
            }
        }
        self.computes = computes;
        self.carry_on(&carried, results, params, begin, &inner, &buffer_of);
        let inside = (begin..self.schedule.nodes.len()).rfind(|at| self.schedule.is_call(NodeId(*at)));
        let Some(call) = inside else {
            // Nothing is computed: there is no loop.
            self.schedule.nodes.truncate(range.0);
            return Ok(carried);
        };
        let end = self.schedule.end(NodeId(call), range);
        let stacked = rows.into_iter().map(|(_, to)| to);
        Ok(carried.into_iter().chain(stacked).map(|value| self.schedule.after(value, &[end])).collect())
    }

    /// Puts a value where an iteration's row is of what the innermost loop stacks.
    fn row(&mut self, row: &UOp, to: NodeId, value: NodeId, loops: &Loops) {
        let Some(var) = loops.vars.last().cloned() else { return };
        self.step_to(Item::Row { var, each: row.numel() }, &[to], &[value], loops);
    }

    /// At the end of an iteration: the results take the carried values' places.
    fn carry_on(
        &mut self,
        carried: &[NodeId],
        mut results: Vec<NodeId>,
        params: &[Leaf],
        begin: usize,
        loops: &Loops,
        buffer_of: &dyn Fn(&Leaf) -> BufferSpec,
    ) {
        let places: Vec<Option<Slot>> = carried.iter().map(|c| self.schedule.memory(*c).ok()).collect();
        for (i, param) in params[..carried.len()].iter().enumerate() {
            let at = self.schedule.memory(results[i]).ok();
            // Another carried value moves here: it is overwritten before it is read, unless it is kept.
            if at != places[i] && places.contains(&at) {
                results[i] = self.step(Item::Copy, &[buffer_of(param)], &[results[i]], loops)[0];
            }
        }
        let mut copies = Vec::new();
        for i in 0..carried.len() {
            let once =
                results.iter().filter(|r| self.schedule.memory(**r) == self.schedule.memory(results[i])).count() == 1;
            let stays = self.schedule.memory(results[i]).ok() == places[i];
            let done =
                stays || (once && in_place::write(&mut self.schedule, results[i], carried[i], begin, &loops.ranges));
            if !done {
                copies.push(i);
            }
        }
        for i in copies {
            let readers = self.schedule.readers(carried[i], begin);
            let ready = self.schedule.after(results[i], &readers);
            self.step_to(Item::Copy, &[carried[i]], &[ready], loops);
        }
    }
}

/// A graph in parts: what each node becomes, and where its value is.
struct Parts<'g> {
    graph: &'g Graph,
    cut: Cut,
    users: Vec<Vec<NodeIndex>>,
    /// Where leaves are.
    leaves: FxHashMap<NodeIndex, Place>,
    /// The node whose buffer a node is: its own, or that of which it is a reshape.
    memory: Vec<NodeIndex>,
}

impl<'g> Parts<'g> {
    fn new(graph: &'g Graph, places: &FxHashMap<&Leaf, Place>, how: Purpose) -> Parts<'g> {
        let nodes = 0..graph.len() as NodeIndex;
        let place = |node: NodeIndex| Some((node, places[graph.nodes()[node as usize].op().leaf()?]));
        Parts {
            graph,
            cut: Pass::Fuse.run(graph, || fuse(graph, how)),
            users: graph.users(),
            leaves: nodes.clone().filter_map(place).collect(),
            memory: nodes.collect(),
        }
    }

    fn is_constant(&self, node: NodeIndex) -> bool {
        self.leaves.get(&node).is_some_and(|place| place.constant)
    }

    /// The steps that compute it, and why kernels are one that are.
    fn steps(&mut self, how: Purpose) -> Result<(Vec<Step>, Vec<Decision>), PreScheduleError> {
        let graph = self.graph;
        let mut shared: FxHashMap<Shared, Vec<NodeIndex>> = FxHashMap::default();
        for node in (0..graph.len() as NodeIndex).filter(|n| self.cut.fates[*n as usize] == Fate::Realize) {
            if let Some(step) = Shared::of(graph, node) {
                shared.entry(step).or_default().push(node);
            }
        }
        let mut elements = orders_with_elements(graph, &self.cut.fates);
        let mut written: FxHashSet<NodeIndex> = FxHashSet::default();
        let mut merger = Merger::new(graph, how);
        for node in reductions_of_reductions_last(graph) {
            let sources = graph.sources(node);
            match (self.cut.fates[node as usize], graph.nodes()[node as usize].op()) {
                (_, Op::Leaf(_)) | (Fate::Free | Fate::Inline | Fate::Stage, _) => {}
                (Fate::Alias, _) => self.memory[node as usize] = self.memory[sources[0] as usize],
                (Fate::Realize, Op::Copy(_)) if is_transfer(graph, node) => {
                    merger.add(Step::Copy(self.memory[sources[0] as usize], node));
                }
                // An output is memory of its own.
                (Fate::Realize, Op::After) if graph.roots().contains(&node) => {
                    merger.add(Step::Copy(self.memory[sources[0] as usize], node));
                }
                (Fate::Realize, Op::After) => merger.add(self.shared(sources, vec![node])),
                (Fate::Realize, _) => match Shared::of(graph, node).and_then(|step| shared.remove(&step)) {
                    Some(outputs) => merger.add(self.shared(sources, outputs)),
                    None if is_step(graph, node) || written.contains(&node) => {}
                    None => {
                        let ranged = self.ranged(node, elements.remove(&node))?;
                        written.extend(&ranged.outputs);
                        Pass::Merge.time(|| merger.add(Step::Kernel(Box::new(ranged))));
                    }
                },
            }
        }
        let roots: FxHashSet<NodeIndex> = graph.roots().iter().map(|r| self.memory[*r as usize]).collect();
        Ok(Pass::Merge.time(|| merger.finish(|node| roots.contains(&node))))
    }

    /// A step with several results, by the buffers that it reads.
    fn shared(&self, sources: &[NodeIndex], outputs: Vec<NodeIndex>) -> Step {
        Step::Shared { inputs: sources.iter().map(|s| self.memory[*s as usize]).collect(), outputs }
    }

    /// The kernel of a node; or of positions in an order, and of the elements in that order.
    fn ranged(&self, node: NodeIndex, order: Option<[NodeIndex; 2]>) -> Result<Ranged, RangeifyError> {
        let constant = |node: NodeIndex| self.is_constant(node);
        let made = |of, elements| rangeify(self.graph, &self.cut, &constant, of, elements);
        let mut ranged = Pass::Rangeify.run(&(), || {
            let ranged = match order {
                Some([positions, sorted]) => made(positions, Some(sorted)).or_else(|_| made(node, None)),
                None => made(node, None),
            }?;
            Ok::<_, RangeifyError>(Ranged { kernel: in_rows(squeeze(ranged.kernel)), ..ranged })
        })?;
        ranged.params.iter_mut().for_each(|p| *p = self.memory[*p as usize]);
        Ok(ranged)
    }

    /// Whether a node is a buffer that only a loop, of which `result` is a result, wants, once: the loop may
    /// write it.
    fn is_own(&self, node: NodeIndex, result: NodeIndex) -> bool {
        let graph = self.graph;
        let by = Shared::of(graph, result);
        let once = graph.sources(result).iter().filter(|s| **s == node).count() == 1;
        let is_leaf = matches!(graph.nodes()[node as usize].op(), Op::Leaf(_));
        let fresh = self.cut.fates[node as usize] == Fate::Realize && !is_leaf;
        let alone = self.users[node as usize].iter().all(|user| Shared::of(graph, *user) == by);
        once && fresh && alone && !graph.roots().contains(&node)
    }
}

impl<'g> Shared<'g> {
    /// The step that a node is a result of.
    fn of(graph: &'g Graph, node: NodeIndex) -> Option<Shared<'g>> {
        match graph.nodes()[node as usize].op() {
            Op::Loop(body, _) => Some(Shared::Loop(body.structure(), graph.sources(node))),
            Op::Host(function, ..) => Some(Shared::Host(function, graph.sources(node))),
            _ => None,
        }
    }
}

/// Which of its step's results a node is.
fn output_of(graph: &Graph, node: NodeIndex) -> usize {
    match graph.nodes()[node as usize].op() {
        Op::Loop(_, output) | Op::Host(_, _, output) => *output,
        _ => 0,
    }
}

fn spec(value: &UOp, loops: &Loops) -> BufferSpec {
    let device = match value.op() {
        Op::Copy(to) => Some(to),
        _ => loops.device.as_ref().or(value.device()),
    };
    BufferSpec { dtype: value.dtype(), shape: value.shape().to_vec(), device: device.cloned() }
}
