//! Computing values: `realize`.

use std::ops::Range;
use std::sync::Arc;

use svod_device::Buffer;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Claim, Claimed, Device, Graph, Leaf, LeafClass, Op, Structure, UOp};
use svod_runtime::{Context, Memory, PrepareConfig, Repeated};

use crate::devices::{joined, spread};
use crate::error::{ErrorKind, Result, TensorError};
use crate::first_nan::Computed;
use crate::folded;
use crate::joins;
use crate::kept;
use crate::lookups::Lookups;
use crate::memory::{bound_leaf, class_of, device_of, extents_of, leaf_over};
use crate::named;
use crate::output;
use crate::pieces;
use crate::read::{NO_MEMORY, buffer_of};
use crate::sources;
use crate::staged;
use crate::step;
use crate::tensor::Tensor;
use crate::trace;

impl Tensor {
    /// Computes the value, unless that is done. All tensors that share the expression have the
    /// value then.
    pub fn realize(&self) -> Result<()> {
        Tensor::realize_batch(&[self])
    }

    /// [`Tensor::realize`] for a read: a plan that is to follow what the value was made of is refused afterwards.
    pub fn compute(&self) -> Result<()> {
        realize(&[self], PrepareConfig::of_reads)
    }

    /// [`Tensor::realize`] by this configuration.
    pub fn realize_with(&self, config: &PrepareConfig) -> Result<()> {
        Tensor::realize_batch_with(&[self], config)
    }

    /// Computes several values as one graph, shared work once.
    pub fn realize_batch(tensors: &[&Tensor]) -> Result<()> {
        realize(tensors, PrepareConfig::of_reads)?;
        sources::forget(tensors)
    }

    /// [`Tensor::realize_batch`] by this configuration.
    pub fn realize_batch_with(tensors: &[&Tensor], config: &PrepareConfig) -> Result<()> {
        realize(tensors, || Arc::new(config.clone()))?;
        sources::forget(tensors)
    }

    /// Takes a value that was found without computing.
    fn settle(&self, node: &UOp, value: UOp) -> Result<()> {
        if *node != value {
            // Constants stay constants in other expressions.
            let value = if node.uniform().is_none() { node.force(value)? } else { value };
            self.rebind_from(node, value);
        }
        Ok(())
    }
}

/// Computes several values as one graph, by a configuration that is asked for only if there is anything to
/// compute: every read of a tensor comes here.
pub(crate) fn realize(tensors: &[&Tensor], config: impl FnOnce() -> Arc<PrepareConfig>) -> Result<()> {
    let done = realize_beside(tensors, &[], config);
    named::forget();
    if let Err(error) = &done
        && !matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::OutOfMemory)
    {
        step::undo_failed(tensors);
    }
    done
}

/// Computes several values as one graph, and others beside them.
pub(crate) fn realize_beside(
    tensors: &[&Tensor],
    beside: &[UOp],
    config: impl FnOnce() -> Arc<PrepareConfig>,
) -> Result<()> {
    let (mut pending, mut parts, mut walked) = (Vec::new(), Vec::new(), None);
    for tensor in tensors {
        let mut node = tensor.uop();
        if !node.is_memory() {
            trace::check_known("realize", &node)?;
            output::await_run(&node)?;
            node = node.resolved();
        }
        match read_value(&node)? {
            Some(value) => tensor.settle(&node, value)?,
            None => match pieces::whole(&node) {
                Some((whole, graph)) => {
                    pending.push(whole);
                    parts.push((tensor, node));
                    walked = Some(graph).filter(|_| tensors.len() == 1);
                }
                None => pending.push(node),
            },
        }
    }
    for node in beside {
        output::await_run(node)?;
        match read_value(&node.resolved())? {
            Some(value) if node.uniform().is_none() => drop(node.force(value)?),
            Some(_) => {}
            None => pending.push(node.resolved()),
        }
    }
    compute_all(&pending, walked.filter(|_| beside.is_empty()), config)?;
    for (tensor, node) in parts {
        // Of what is in memory now.
        match read_value(&node)? {
            Some(value) => tensor.settle(&node, value)?,
            None => tensor.compute()?,
        }
    }
    // The handles let go of their expressions.
    tensors.iter().for_each(|t| drop(t.uop()));
    Ok(())
}

/// Computes what a node is a small part of, where all of it is worth computing, and says whether it did.
pub(crate) fn compute_whole(node: &UOp) -> Result<bool> {
    let Some((whole, graph)) = pieces::whole(node) else { return Ok(false) };
    compute_all(&[whole], Some(graph), PrepareConfig::of_reads)?;
    Ok(true)
}

/// Computes nodes, whose graph may be walked already, and forces them: as one graph, but for what functions of the host are
/// called with.
pub(crate) fn compute_all(
    nodes: &[UOp],
    walked: Option<Graph>,
    config: impl FnOnce() -> Arc<PrepareConfig>,
) -> Result<()> {
    if !nodes.iter().any(UOp::calls) {
        return compute_together(nodes, walked, config);
    }
    let config = config();
    // Schedules that are given are of the kernels of one graph.
    if config.schedules.is_empty() {
        for step in staged::steps(&walked.unwrap_or_else(|| Graph::new(nodes))) {
            let mut pending = Vec::with_capacity(step.len());
            for node in step {
                match read_value(&node.resolved())? {
                    Some(value) => node.force(value).map(drop)?,
                    None => pending.push(node),
                }
            }
            compute_together(&pending, None, || config.clone())?;
        }
    }
    compute_together(nodes, None, || config)
}

/// Computes nodes as one graph, which may be walked already, and forces them.
fn compute_together(nodes: &[UOp], walked: Option<Graph>, config: impl FnOnce() -> Arc<PrepareConfig>) -> Result<()> {
    let mut mine: Vec<Claim> = Vec::new();
    for (_, claimed) in UOp::claim_all(nodes, &is_stopped) {
        match claimed {
            Claimed::Mine(claim) => mine.push(claim),
            Claimed::Done(_) => {}
            Claimed::Held => return Err(svod_runtime::Error::Reentrant.into()),
            Claimed::Cycle(names) => return Err(svod_runtime::Error::Deadlock(names).into()),
            Claimed::Stopped => return Err(svod_runtime::Error::Interrupted.into()),
        }
    }
    match mine.is_empty() {
        true => Ok(()),
        false => {
            let config = config();
            compute(mine, walked, &config).map_err(|error| match Computed::new(nodes, &[], &config) {
                Some(computed) => computed.explained(error, None),
                None => error,
            })
        }
    }
}

/// Whether a thread that waits is to stop.
pub(crate) fn is_stopped() -> bool {
    Context::global().is_stopped()
}

/// Runs the graph of the claimed nodes, which may be walked already, and forces them, once what they read that is joined of
/// parts in memory is in one memory. An error releases the claims.
fn compute(mut mine: Vec<Claim>, walked: Option<Graph>, config: &Arc<PrepareConfig>) -> Result<()> {
    let asked = || mine.iter().map(|claim| claim.node().clone()).collect::<Vec<UOp>>();
    let graph = walked.unwrap_or_else(|| Graph::new(&asked()));
    let joins = joins::of_graph(&graph);
    // Schedules that are given are of the kernels of one graph.
    if joins.is_empty() || !config.schedules.is_empty() {
        return compute_graph(mine, Some(graph), config);
    }
    let mut changed = false;
    for join in joins {
        let mut value = joins::value(&join)?;
        let pending = if value.is_none() { joins::pending(&join)? } else { None };
        // What another thread computes is left to it, and the join to a kernel.
        let claims = pending.and_then(|parts| parts.iter().map(UOp::try_claim).collect::<Option<Vec<Claim>>>());
        if let Some(claims) = claims {
            let left = unread(claims)?;
            if !left.is_empty() {
                compute_graph(left, None, config)?;
            }
            value = joins::value(&join)?;
            changed = true;
        }
        let Some(value) = value else { continue };
        let own = mine.iter().position(|claim| *claim.node() == join).map(|at| mine.swap_remove(at));
        if let Some(claim) = own.or_else(|| join.try_claim()) {
            claim.force(value)?;
            changed = true;
        }
    }
    if !changed {
        return compute_graph(mine, Some(graph), config);
    }
    drop(graph);
    // What was asked for may be of their elements.
    let left = unread(mine)?;
    if left.is_empty() { Ok(()) } else { compute_graph(left, None, config) }
}

/// Forces the claimed nodes that a read needs no kernel for, and gives the others.
fn unread(claims: Vec<Claim>) -> Result<Vec<Claim>> {
    let mut left = Vec::with_capacity(claims.len());
    for claim in claims {
        match read_value(claim.node())? {
            Some(value) => claim.force(value)?,
            None => left.push(claim),
        }
    }
    Ok(left)
}

/// Runs the graph of the claimed nodes, which may be walked already, and forces them.
fn compute_graph(mut mine: Vec<Claim>, walked: Option<Graph>, config: &Arc<PrepareConfig>) -> Result<()> {
    let asked: Vec<UOp> = mine.iter().map(|c| c.node().clone()).collect();
    let mut graph = walked.unwrap_or_else(|| Graph::new(&asked));
    if output::await_runs(&graph)? {
        graph = Graph::new(&asked);
    }
    if pieces::copy_parts(&graph)? {
        graph = Graph::new(&asked);
    }
    let beside: Vec<Claim> = kept::beside(&graph).iter().filter_map(UOp::try_claim).collect();
    if !beside.is_empty() {
        mine.extend(beside);
        graph = Graph::new(&mine.iter().map(|claim| claim.node().clone()).collect::<Vec<_>>());
    }
    let structure = Structure::of(&graph);
    if let Some(structure) = &structure
        && let Some(earlier) = Context::global().repeated(structure, config)
        && let Some(further) = as_earlier(&graph, structure, &earlier)?
        && let Some(outputs) = earlier.run(&graph)?
    {
        kept::note_run(&graph);
        let graph = {
            let roots = [graph.roots(), earlier.further()].concat();
            graph.with_roots(roots)
        };
        return force(mine.into_iter().chain(further), &graph, outputs);
    }
    if structure.is_some()
        && pieces::has_steps(&graph)
        && Context::global().is_variant(&graph, config)?
        && pieces::copy_steps_of(&graph)?
    {
        return compute_graph(mine, None, config);
    }
    // Parts of other extents each have a schedule each, but for copies of them.
    if structure.is_some()
        && pieces::has_parts(&graph)
        && Context::global().is_unfit(&graph, config)?
        && pieces::copy_large_parts(&graph)?
    {
        return compute_graph(mine, None, config);
    }
    let done = compute_anew(mine, graph, structure.is_some(), config)?;
    if let (Some((graph, further)), Some(structure)) = (done, structure) {
        Context::global().note_read(structure, &graph, further, config);
    }
    Ok(())
}

/// The further roots of an earlier read like this one, claimed. None where the two are not to be computed alike, for
/// indices have to be checked or somebody else computes one of the roots.
fn as_earlier(graph: &Graph, structure: &Structure, earlier: &Repeated) -> Result<Option<Vec<Claim>>> {
    if structure.looks_up() && !Lookups::of(graph, &[])?.1.is_empty() {
        return Ok(None);
    }
    Ok(earlier.further().iter().map(|at| graph.nodes()[*at as usize].try_claim()).collect())
}

/// Plans the graph of the claimed nodes, runs it and forces them. Gives the graph, with what was kept beside them as further
/// roots, and these, where another graph like it would be computed by the like steps.
fn compute_anew(
    mut mine: Vec<Claim>,
    graph: Graph,
    is_plain: bool,
    config: &Arc<PrepareConfig>,
) -> Result<Option<(Graph, Vec<NodeIndex>)>> {
    // What another thread computes is its own to keep.
    let claim = |at: NodeIndex| Some((at, graph.nodes()[at as usize].try_claim()?));
    let (mut further, mut claims): (Vec<NodeIndex>, Vec<Claim>) =
        kept::kept(&graph, config)?.into_iter().filter_map(claim).unzip();
    let asked = graph.roots().to_vec();
    let mut graph = graph.with_roots([&asked[..], &further].concat());
    let run = |graph: &Graph, claims: &[Claim]| {
        let nodes: Vec<UOp> = mine.iter().chain(claims).map(|claim| claim.node().clone()).collect();
        run_anew(&nodes, graph, is_plain, config)
    };
    let (values, checks) = match run(&graph, &claims) {
        // It may be what was to be kept that there is no memory for.
        Err(error) if error.kind() == ErrorKind::OutOfMemory && !claims.is_empty() => {
            (further, claims) = (Vec::new(), Vec::new());
            graph = graph.with_roots(asked);
            run(&graph, &claims)?
        }
        done => done?,
    };
    mine.extend(claims);
    for ((claim, value), sources) in mine.into_iter().zip(values).zip(sources::of_roots(&graph)) {
        sources::note(&value, &sources)?;
        claim.force(value)?;
    }
    Ok((!checks).then_some((graph, further)))
}

/// The values of nodes, the roots of a graph, computed by a plan of their own, and whether it checked indices.
fn run_anew(nodes: &[UOp], graph: &Graph, is_plain: bool, config: &Arc<PrepareConfig>) -> Result<(Vec<UOp>, bool)> {
    check_leaves("realize", graph, &[])?;
    let (lookups, flags) = Lookups::of(graph, &[])?;
    if is_plain
        && flags.is_empty()
        && let Some(values) = Context::global().run_with_arguments(graph, config)?
    {
        kept::note_run(graph);
        return Ok((nodes.iter().zip(values).map(value_over).collect::<Result<_>>()?, false));
    }
    let (roots, mut places) = spread(&[nodes, &flags[..]].concat())?;
    let plan = Context::global().plan(&roots, &[], config)?;
    plan.execute()?;
    kept::note_run(graph);
    let (outputs, values) = (plan.outputs(), plan.values()?);
    if outputs.len() != roots.len() {
        return Err(svod_runtime::Error::BatchMismatch { tensors: roots.len(), outputs: outputs.len() }.into());
    }
    let flags: Vec<usize> = places.drain(nodes.len()..).map(|place| place.start).collect();
    lookups.check_flags(&[], |i| Ok(outputs[flags[i]].to_vec()?))?;
    let leaf = |i: usize| -> Result<UOp> {
        bound_leaf(in_type(outputs[i].clone(), &roots[i])?, class_of(&roots[i]), roots[i].shape_arc().clone(), &values)
    };
    let value = |(node, place): (&UOp, Range<usize>)| joined(node, place.map(leaf).collect::<Result<_>>()?);
    Ok((nodes.iter().zip(places).map(value).collect::<Result<_>>()?, !flags.is_empty()))
}

/// Forces claimed nodes, the roots of a graph, to these values.
fn force(claims: impl Iterator<Item = Claim>, graph: &Graph, values: Vec<Buffer>) -> Result<()> {
    for ((claim, value), sources) in claims.zip(values).zip(sources::of_roots(graph)) {
        let value = value_over((claim.node(), value))?;
        sources::note(&value, &sources)?;
        claim.force(value)?;
    }
    Ok(())
}

/// The value of a node on one device, whose extents are numbers, in memory.
fn value_over((node, memory): (&UOp, Buffer)) -> Result<UOp> {
    leaf_over(in_type(Arc::new(memory), node)?, class_of(node), node.shape_arc().clone())
}

/// Memory in the type of the node whose value it has: one memory is the value of complex numbers and of their pairs,
/// where both are computed.
fn in_type(memory: Arc<Buffer>, node: &UOp) -> Result<Arc<Buffer>> {
    let dtype = node.dtype();
    if memory.dtype() == dtype {
        return Ok(memory);
    }
    Ok(Arc::new(memory.view(0, dtype, memory.bytes() / dtype.bytes())?))
}

/// Checks that a graph's leaves can be read; `op` is what wants them.
///
/// # Errors
/// What a function is being traced for, except as one of `inputs`; leaves that are only declared.
pub(crate) fn check_leaves(op: &'static str, graph: &Graph, inputs: &[Leaf]) -> Result<()> {
    for node in graph.nodes() {
        let Op::Leaf(leaf) = node.op() else { continue };
        if leaf.downcast::<Memory>().is_none() {
            return Err(TensorError::unsupported("realize", NO_MEMORY));
        }
        if matches!(leaf.class(), LeafClass::Input(_)) && !inputs.contains(leaf) {
            return Err(trace::unknown(op, node, leaf.data().trace()));
        }
    }
    Ok(())
}

/// The value of what needs no kernel: memory, constants, nothing at all, and memory under another
/// shape. A value of memory that is not svod's own is copied.
pub(crate) fn without_kernel(node: &UOp) -> Result<Option<UOp>> {
    if node.is_memory() {
        return Ok(Some(node.clone()));
    }
    if let Some(part) = node.stacked_part().filter(UOp::is_memory) {
        return Ok(Some(part));
    }
    if let Some(elsewhere) = unwritten(node)? {
        return Ok(Some(elsewhere));
    }
    if node.sharding().is_some() {
        return Ok(None);
    }
    let Some(count) = node.numel().as_usize() else { return Ok(None) };
    if count == 0 {
        let buffer = Arc::new(Buffer::new(device_of(node)?.allocator(), node.dtype(), 0)?);
        return leaf_over(buffer, class_of(node), node.shape_arc().clone()).map(Some);
    }
    // A copy of a constant only says where it is.
    let value = if let Op::Copy(_) = node.op() {
        node.source().map(|s| folded::constant(&s))
    } else {
        Some(folded::constant(node))
    };
    if let Some(value) = value.transpose()?.flatten() {
        return folded::repeated(node, value).map(Some);
    }
    let Some(leaf) = viewed(node) else { return Ok(None) };
    if leaf.class().is_value() {
        return under_shape_of(node, &leaf).map(Some);
    }
    check_leaves("realize", &Graph::new(std::slice::from_ref(node)), &[])?;
    let copy = buffer_of(&leaf)?.to_device(device_of(node)?.allocator())?;
    pieces::made_of(&leaf, copy, node).map(Some)
}

/// A leaf's elements under a node's shape. They share its memory, but know what they were made of.
fn under_shape_of(node: &UOp, leaf: &Leaf) -> Result<UOp> {
    let own = leaf.downcast::<Memory>().filter(|m| m.buffer().is_allocated() && m.symbolic_shape().is_none());
    let (Some(memory), Some(count)) = (own, node.numel().as_usize()) else {
        return Ok(UOp::leaf(Leaf::new(leaf.data().clone(), leaf.offset(), leaf.dtype(), node.shape_arc().clone()))?);
    };
    let storage = memory.buffer().storage().share()?;
    let elements = Buffer::over(storage, leaf.offset() as usize, leaf.dtype(), count)?;
    pieces::made_of(leaf, elements, node)
}

/// The value of what a read needs no kernel for: [`without_kernel`], and small parts of memory that does not change, one or
/// several of them joined.
fn read_value(node: &UOp) -> Result<Option<UOp>> {
    if let Some(value) = without_kernel(node)? {
        return Ok(Some(value));
    }
    match pieces::part(node)? {
        Some((part, leaf)) => pieces::made_of(&leaf, part, node).map(Some),
        None => joins::value(node),
    }
}

/// Memory of symbolic extents that no run has given a value, nor anybody an element, on the devices to which the
/// node takes it: there is nothing to move.
fn unwritten(node: &UOp) -> Result<Option<UOp>> {
    if !matches!(node.op(), Op::Shard(_) | Op::Copy(_)) {
        return Ok(None);
    }
    let Some(source) = node.source() else { return Ok(None) };
    let Some(leaf) = source.op().leaf().filter(|leaf| leaf.class().is_constant()) else { return Ok(None) };
    let written = leaf.downcast::<Memory>().is_none_or(|memory| memory.buffer().is_allocated());
    if written || source.numel().as_const().is_some() || extents_of(leaf).is_ok() {
        return Ok(None);
    }
    let parts = node.parts()?;
    let anew = |part: &UOp| Ok(Tensor::empty_on(device_of(part)?.spec(), part.shape(), part.dtype(), &[])?.uop());
    joined(node, parts.iter().map(anew).collect::<Result<_>>()?).map(Some)
}

/// The leaf of which the node is another shape, in the node's type: complex numbers and their pairs are one memory.
pub(crate) fn viewed(node: &UOp) -> Option<Leaf> {
    let (dtype, seen) = (node.dtype(), seen(node)?);
    let leaf = seen.op().leaf()?;
    Some(match leaf.dtype() == dtype {
        true => leaf.clone(),
        false if dtype.is_complex() => leaf.complex(),
        false => leaf.pairs(),
    })
}

/// The node of the leaf of which this one is another shape, or, of a file, a copy where it is computed with.
pub(crate) fn seen(node: &UOp) -> Option<UOp> {
    let mut node = node.resolved();
    loop {
        node = match node.op() {
            Op::Leaf(_) => return Some(node),
            Op::Reshape(_) | Op::Contiguous | Op::AsReal | Op::AsComplex => node.source()?,
            Op::Copy(to) if *to == Device::host() => node.source().filter(UOp::is_file)?,
            op if op.is_mark() => node.source()?,
            _ => return None,
        };
    }
}
