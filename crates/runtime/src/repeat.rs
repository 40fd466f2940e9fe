//! Reads that repeat earlier ones.
//!
//! A program that reads in a loop builds a graph of the same structure each time, over other memory. From the second such
//! read on, a context keeps the plan and what the read has decided: the third one walks its graph once, to find the plan by
//! the graph's [`Structure`], and runs it where the graph's memory is. A graph that differs from earlier ones in constants only,
//! which are arguments by then, has the plan of the graph with arguments, and reads these as further memory.
//!
//! What its arguments are is kept with its structure, so that the next graph of the same numbers asks nobody for them.
//!
//! Kept are small plans, as far as they follow from structure alone: all that is read is in this machine's memory, and
//! outputs are written to fresh memory by kernels.

use crate::arguments::{Formed, Source};
use crate::config::{PrepareConfig, debug_level};
use crate::context::{Context, max_count};
use crate::error::{Error, Result};
use crate::instantiate::{self, Scheduled, Use};
use crate::interrupt::Watch;
use crate::memory::Memory;
use crate::plan::{Donated, ExecutionPlan, PlanInput, Required, Role};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::Arc;
use svod_device::{Allocator, Buffer, DeviceSpec, Storage};
use svod_dtype::DType;
use svod_ir::graph::key::GraphKey;
use svod_ir::graph::walk::{Graph, NodeIndex};
use svod_ir::graph::{Leaf, LeafClass, Shape, Structure};
use svod_ir::size::BoundVariable;

/// Plans that are kept.
const MOST_PLANS: usize = 1024;
/// Bytes that a plan holds between its runs at most: for those that need more, a run takes long in any case.
const MOST_BYTES: usize = 1 << 16;
/// Bytes that all of them hold at most.
const MOST_IN_ALL: usize = 16 << 20;
/// Bytes of a plan's tables, about, and of those for each of its buffers.
const TABLES: usize = 1 << 12;
const TABLES_EACH: usize = 1 << 8;
/// Digests of structures that were read once.
const MET: usize = 4096;

/// A plan of graphs of one structure, which runs on the memory of any of them.
pub struct Repeated {
    plan: Arc<ExecutionPlan>,
    further: Box<[NodeIndex]>,
    given: Option<Given>,
}

/// What numbers of a structure are arguments, where the plan is that of graphs with arguments.
struct Given {
    inputs: Box<[Lent]>,
    /// The numbers' memory, which each run has anew: what is kept takes none of the device's.
    numbers: Box<[u8]>,
    allocator: Option<Arc<dyn Allocator>>,
    variables: Vec<BoundVariable>,
}

/// Where an input of the plan is read.
enum Lent {
    /// At a leaf of the graph at hand, in the order of the walk.
    Own(usize),
    /// At this byte of the numbers.
    Number(usize),
}

impl Given {
    /// What was found for a graph, for others of its structure.
    fn of(formed: &Formed) -> Result<Given> {
        let (mut numbers, mut allocator, mut inputs) = (Vec::new(), None, Vec::new());
        for (source, leaf) in formed.sources.iter().zip(&formed.key.leaves) {
            inputs.push(match source {
                Source::Own(at) => Lent::Own(*at),
                Source::Constant(_) => {
                    let memory = leaf.downcast::<Memory>().ok_or(Error::Stale)?;
                    if allocator.is_none() {
                        // All of them lie side by side.
                        numbers = memory.buffer().to_vec()?;
                        allocator = Some(memory.buffer().storage().allocator().clone());
                    }
                    Lent::Number(leaf.offset() as usize)
                }
            });
        }
        let variables = formed.key.bindings.clone();
        Ok(Given { inputs: inputs.into(), numbers: numbers.into(), allocator, variables })
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.inputs) + self.numbers.len() + size_of_val(&*self.variables)
    }
}

/// The reads of a context.
#[derive(Default)]
pub(crate) struct Repeats(Mutex<Reads>);

#[derive(Default)]
struct Reads {
    /// Digests of structures that were read once, by remainder.
    met: Vec<u64>,
    known: FxHashMap<u64, SmallVec<[Known; 1]>>,
    /// The digests of `known` and their bytes, oldest first.
    order: VecDeque<(u64, usize)>,
    /// All of these bytes.
    bytes: usize,
}

/// What graphs have in common that one plan serves.
#[derive(PartialEq, Eq)]
enum Likeness {
    Structure(Structure),
    /// The hash of the graph in which numbers are arguments.
    Form([u8; 32]),
}

/// What was read twice by this configuration, and its plan where there can be one.
struct Known {
    likeness: Likeness,
    config: Arc<PrepareConfig>,
    repeated: Option<Arc<Repeated>>,
}

impl Likeness {
    fn digest(&self) -> u64 {
        match self {
            Likeness::Structure(structure) => structure.digest(),
            Likeness::Form(hash) => hash.iter().fold(0, |digest: u64, byte| digest.rotate_left(8) ^ u64::from(*byte)),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Likeness::Structure(structure) => structure.bytes(),
            Likeness::Form(hash) => hash.len(),
        }
    }
}

impl Known {
    /// Bytes that it holds, about.
    fn bytes(&self) -> usize {
        let of = |repeated: &Arc<Repeated>| match &repeated.given {
            // The plan is that of a form.
            Some(given) => given.bytes(),
            None => held(&repeated.plan) + TABLES + TABLES_EACH * repeated.plan.roles().len(),
        };
        self.likeness.bytes() + self.repeated.as_ref().map_or(0, of)
    }
}

impl Reads {
    /// Whether the structure was read before.
    fn meet(&mut self, structure: &Structure) -> bool {
        if self.met.is_empty() {
            self.met.resize(MET, 0);
        }
        let digest = structure.digest();
        std::mem::replace(&mut self.met[digest as usize % MET], digest) == digest
    }

    /// What is known of graphs of this digest, of the structure or form that is asked for.
    fn find(&self, digest: u64, is: impl Fn(&Likeness) -> bool, config: &Arc<PrepareConfig>) -> Option<&Known> {
        let same = |known: &&Known| is(&known.likeness) && known.config == *config;
        self.known.get(&digest)?.iter().find(same)
    }

    fn find_structure(&self, structure: &Structure, config: &Arc<PrepareConfig>) -> Option<&Known> {
        let same = |of: &Likeness| matches!(of, Likeness::Structure(known) if known == structure);
        self.find(structure.digest(), same, config)
    }

    /// Adds what was not known, and forgets the oldest beyond the bounds.
    fn add(&mut self, known: Known) {
        let (digest, bytes) = (known.likeness.digest(), known.bytes());
        self.bytes += bytes;
        self.known.entry(digest).or_default().push(known);
        self.order.push_back((digest, bytes));
        while self.order.len() > MOST_PLANS || self.bytes > MOST_IN_ALL {
            let Some((oldest, bytes)) = self.order.pop_front() else { break };
            self.bytes -= bytes;
            let Some(bucket) = self.known.get_mut(&oldest) else { continue };
            bucket.remove(0);
            if bucket.is_empty() {
                self.known.remove(&oldest);
            }
        }
    }
}

impl Repeats {
    pub(crate) fn clear(&self) {
        let old = std::mem::take(&mut *self.0.lock());
        drop(old);
    }
}

impl Context {
    /// How a read of a graph of this structure was computed before, by this configuration.
    pub fn repeated(&self, structure: &Structure, config: &Arc<PrepareConfig>) -> Option<Arc<Repeated>> {
        self.repeats.0.lock().find_structure(structure, config)?.repeated.clone()
    }

    /// Notes a read of a graph of this structure, whose plan also computed the values of `further` nodes, which the graph
    /// has as its last roots. The second one makes the plan for those that follow.
    pub fn note_read(
        self: &Arc<Self>,
        structure: Structure,
        graph: &Graph,
        further: Vec<NodeIndex>,
        config: &Arc<PrepareConfig>,
    ) {
        {
            let mut reads = self.repeats.0.lock();
            if !reads.meet(&structure) || reads.find_structure(&structure, config).is_some() {
                return;
            }
        }
        // What cannot be made so is planned anew by each read, and fails there if it has to.
        let further = further.into();
        let repeated = match plan_of(self, graph, config).unwrap_or_default() {
            Some(plan) => Some(Repeated { plan: Arc::new(plan), further, given: None }),
            None => self.with_form(graph, config).unwrap_or_default().and_then(|(formed, known)| {
                Some(Repeated { plan: known.plan.clone(), further, given: Some(Given::of(&formed).ok()?) })
            }),
        };
        self.add_repeated(Likeness::Structure(structure), repeated, config);
    }

    fn add_repeated(
        &self,
        likeness: Likeness,
        repeated: Option<Repeated>,
        config: &Arc<PrepareConfig>,
    ) -> Option<Arc<Repeated>> {
        let repeated = repeated.map(Arc::new);
        self.repeats.0.lock().add(Known { likeness, config: config.clone(), repeated: repeated.clone() });
        repeated
    }

    /// The values of a graph's roots in fresh memory, where numbers are all that it differs in from earlier ones, whose
    /// code has them as arguments; the graph has a [`Structure`].
    ///
    /// # Errors
    /// As [`Repeated::run`].
    pub fn run_with_arguments(
        self: &Arc<Self>,
        graph: &Graph,
        config: &Arc<PrepareConfig>,
    ) -> Result<Option<Vec<Buffer>>> {
        let Some((formed, repeated)) = self.with_form(graph, config)? else { return Ok(None) };
        let leaves: SmallVec<[&Leaf; 8]> = formed.key.leaves.iter().collect();
        run_on(&repeated.plan, &leaves, &formed.key.bindings, &counts(graph, &[]))
    }

    /// The form of a graph in which numbers are arguments, and its plan; none where it has none.
    fn with_form(
        self: &Arc<Self>,
        graph: &Graph,
        config: &Arc<PrepareConfig>,
    ) -> Result<Option<(Formed, Arc<Repeated>)>> {
        let key = GraphKey::new(graph)?;
        let Some((seen, outline)) = self.seen_like(graph, &key, config)? else { return Ok(None) };
        let host = self.devices().get(&DeviceSpec::CPU)?;
        let Some(formed) = seen.lock().formed(&key, &outline, &host)? else { return Ok(None) };
        let likeness = Likeness::Form(formed.key.hash);
        let known = {
            let reads = self.repeats.0.lock();
            reads.find(likeness.digest(), |of| *of == likeness, config).map(|known| known.repeated.clone())
        };
        let repeated = known.unwrap_or_else(|| {
            // Two threads may make it at once; either serves.
            let key = GraphKey { fixed: Vec::new(), ..formed.key.clone() };
            let plan = plan_over(self, &formed.scheduled, key, &formed.shapes, graph, config).unwrap_or_default();
            let made = plan.map(|plan| Repeated { plan: Arc::new(plan), further: Box::default(), given: None });
            self.add_repeated(likeness, made, config)
        });
        Ok(repeated.map(|repeated| (formed, repeated)))
    }
}

impl Repeated {
    /// Positions of the nodes whose values the plan computes beside those of the graph's roots.
    pub fn further(&self) -> &[NodeIndex] {
        &self.further
    }

    /// The values of a graph's roots, and of the further nodes, in fresh memory. None while another thread runs the plan,
    /// and where there is no memory for that.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn run(&self, graph: &Graph) -> Result<Option<Vec<Buffer>>> {
        let leaves: SmallVec<[&Leaf; 8]> = graph.nodes().iter().filter_map(|node| node.op().leaf()).collect();
        let counts = counts(graph, &self.further);
        let Some(given) = &self.given else { return run_on(&self.plan, &leaves, &[], &counts) };
        let numbers = match &given.allocator {
            Some(allocator) => Some(Buffer::from_bytes(allocator, DType::U8, &given.numbers)?),
            None => None,
        };
        let lent = given.inputs.iter().map(|lent| match lent {
            Lent::Own(at) => leaves.get(*at).and_then(|leaf| memory_of(leaf)),
            Lent::Number(at) => numbers.as_ref().map(|numbers| (numbers.storage(), *at)),
        });
        let Some(memory) = lent.collect::<Option<Lying<'_>>>() else { return Ok(None) };
        run_in(&self.plan, &memory, &given.variables, &counts)
    }
}

/// Elements of each root of a graph whose extents are numbers, and of further nodes.
fn counts(graph: &Graph, further: &[NodeIndex]) -> SmallVec<[usize; 8]> {
    let of = |at: &NodeIndex| graph.nodes()[*at as usize].numel().as_usize().unwrap_or(0);
    graph.roots().iter().chain(further).map(of).collect()
}

/// Runs a plan on the memory of leaves in place of its inputs, where its variables have these values and its outputs so
/// many elements.
fn run_on(
    plan: &ExecutionPlan,
    leaves: &[&Leaf],
    variables: &[BoundVariable],
    counts: &[usize],
) -> Result<Option<Vec<Buffer>>> {
    let Some(memory) = leaves.iter().map(|leaf| memory_of(leaf)).collect::<Option<Lying<'_>>>() else {
        return Ok(None);
    };
    run_in(plan, &memory, variables, counts)
}

/// Storages, and the byte of each from which on it is read.
type Lying<'a> = SmallVec<[(&'a Arc<Storage>, usize); 8]>;

/// Where a leaf lies.
fn memory_of(leaf: &Leaf) -> Option<(&Arc<Storage>, usize)> {
    let memory = leaf.downcast::<Memory>()?;
    Some((memory.buffer().storage(), leaf.offset() as usize))
}

/// [`run_on`], of memory.
fn run_in(
    plan: &ExecutionPlan,
    memory: &Lying<'_>,
    variables: &[BoundVariable],
    counts: &[usize],
) -> Result<Option<Vec<Buffer>>> {
    match plan.repeat(memory, variables, counts).transpose() {
        Err(Error::OutOfMemory { .. }) => Ok(None),
        done => done,
    }
}

/// The plan of a graph whose schedule is known.
fn plan_of(context: &Arc<Context>, graph: &Graph, config: &PrepareConfig) -> Result<Option<ExecutionPlan>> {
    let key = GraphKey::new(graph)?;
    let Some(scheduled) = context.known_schedule(&key, config)? else { return Ok(None) };
    let shapes: Vec<Shape> = key.leaves.iter().map(|leaf| leaf.shape().clone()).collect();
    plan_over(context, &scheduled, key, &shapes, graph, config)
}

/// The plan of a graph of this schedule and key with all its leaves, of these extents, as inputs; none where it is none that
/// a run on other memory is possible for.
fn plan_over(
    context: &Arc<Context>,
    scheduled: &Scheduled,
    key: GraphKey,
    shapes: &[Shape],
    graph: &Graph,
    config: &PrepareConfig,
) -> Result<Option<ExecutionPlan>> {
    let cpu = DeviceSpec::CPU;
    let is_near = |leaf: &Leaf| leaf.downcast::<Memory>().is_some_and(|memory| *memory.buffer().device() == cpu);
    let required = Required::of(graph, &[]);
    if debug_level() > 0 || !config.schedules.is_empty() || !key.leaves.iter().all(is_near) || !required.is_empty() {
        return Ok(None);
    }
    let mut inputs = Vec::with_capacity(key.leaves.len());
    let mut leaves = Vec::with_capacity(key.leaves.len());
    for ((i, leaf), shape) in (0u32..).zip(&key.leaves).zip(shapes) {
        // It is never allocated: runs are on other memory.
        let buffer = Arc::new(context.buffer(&cpu, leaf.dtype(), max_count(shape)?)?);
        let memory = Arc::new(Memory::new(buffer, LeafClass::Input(i)));
        leaves.push(Leaf::new(memory.clone(), 0, leaf.dtype(), shape.clone()));
        inputs.push(PlanInput { memory, shape: shape.clone(), filled: false });
    }
    let key = GraphKey { leaves, ..key };
    let shape = |root: &NodeIndex| graph.nodes()[*root as usize].shape_arc().clone();
    let shapes: Vec<Shape> = graph.roots().iter().map(shape).collect();
    let used = Use {
        key: &key,
        shapes: &shapes,
        inputs: &inputs,
        origins: &[],
        required: &required,
        donated: &Donated::default(),
        lent: true,
    };
    let plan = instantiate::instantiate(context, scheduled, &used, config, &Watch::new(context.stop_check()))?;
    let possible = plan.gives_fresh_outputs() && plan.variables().next().is_none() && held(&plan) <= MOST_BYTES;
    Ok(Some(plan).filter(|_| possible))
}

/// Bytes that a plan holds between runs.
fn held(plan: &ExecutionPlan) -> usize {
    let mut met = FxHashSet::default();
    let own = |(role, buffer): &(&Role, &Arc<Buffer>)| **role == Role::Intermediate && met.insert(buffer.storage_id());
    let buffers = plan.roles().iter().zip(plan.buffers());
    buffers.filter(own).map(|(_, buffer)| buffer.storage().bytes()).sum::<usize>() + plan.scratch()
}
