//! Numbers and parts written at positions, now.
//!
//! `x[i] = 3.0` gives the handle another value, and so does `x[i] = row`, where the row is in memory. Where the handle's value is
//! memory which nobody else has a hold on, the number or the row is written there, so that ten thousand of them cost as many
//! stores, and no graph grows. So is a small value that is still to be computed, such as `x[i] + 1`: as an expression it would be
//! another graph to compile for each sequence of positions. Small memory that is shared is copied before; what is pending is computed once
//! several were written to it.
//!
//! A value that is stored is no expression of the tensors that it came from. So the first few writes to a small tensor that
//! would have it forget another one are expressions, which a plan follows: writes of what is made of other tensors, and those to
//! memory that another tensor shares. Memory that is written to after that knows what it was made of, as
//! what a read computed does, and `prepare` refuses it ([`Sources`]).

use std::sync::Arc;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use svod_device::Buffer;
use svod_dtype::Const;
use svod_ir::graph::{Leaf, LeafClass, Op, UOp};
use svod_ir::size::Size;
use svod_runtime::{Memory, Sources, sources_of, with_source};

use crate::error::{ErrorKind, Result};
use crate::index::{Index, Slice};
use crate::memory::{class_of, device_of, filled, leaf_over};
use crate::operand::Operand;
use crate::pieces::{self, Content, Places, fill};
use crate::read::{buffer_of, is_known, whole_buffer};
use crate::single;
use crate::sources;
use crate::tensor::Tensor;
use crate::trace;

/// Bytes of memory that is copied for a write, and of what is one number everywhere, filled for it.
const COPIED: usize = 1 << 18;
const FILLED: usize = 1 << 26;
/// Places of a number that are written at once, those that are no neighbours, and bytes of elements: more are as well
/// computed.
const WRITTEN: usize = 1 << 12;
const SPREAD: usize = 1 << 16;
const MOVED: usize = 1 << 20;
/// Writes from which on a value that is pending is computed, and others' elements are stored.
const PENDING: u32 = 8;
/// The same of a large value that follows from numbers alone, which no plan could follow.
const OF_NUMBERS: u32 = 2;

/// Elements of a value that is computed to be written, and nodes of its expression.
const COMPUTED: usize = 1 << 12;
const MOST_NODES: usize = 256;

/// What is written, and the memory of other tensors that it is made of.
struct Given {
    content: Content,
    from: SmallVec<[Leaf; 1]>,
}

/// An index whose tensors are single positions that are known without a run, with these in their places, and the memory that
/// they are read from. Nothing of any other index, nor of positions that are not there.
pub(crate) fn known_positions(index: &[Index], extents: &[Size]) -> Result<Option<(Vec<Index>, Vec<Leaf>)>> {
    let (mut known, mut from) = (Vec::with_capacity(index.len()), Vec::new());
    for (axis, entry) in index.iter().enumerate() {
        known.push(match entry {
            Index::Tensor(at) => {
                let node = at.uop();
                let is_single = node.rank() == 0 && node.dtype().is_int();
                let extent = extents.get(axis).and_then(Size::as_const).map(i128::from);
                let found = if is_single { single::value(&node)?.map(Const::as_i128) } else { None };
                let (Some(position), Some(extent)) = (found, extent) else { return Ok(None) };
                if !(-extent..extent).contains(&position) {
                    return Ok(None);
                }
                let Some(below) = leaves_below(&node) else { return Ok(None) };
                from.extend(below.iter().filter_map(|node| node.op().leaf().cloned()));
                Index::from(position as i64)
            }
            // What stands for no dimension, or for several, would have to be counted.
            Index::NewAxis | Index::Ellipsis => return Ok(None),
            other => other.clone(),
        });
    }
    Ok(Some((known, from)))
}

/// Writes a value at positions of a tensor, given by a slice of each dimension, which have this shape, if it is to be done
/// now; the positions may be made of other memory.
pub(crate) fn write(
    tensor: &Tensor,
    slices: &[&Slice],
    shape: &[Size],
    value: &Operand,
    positions: &[Leaf],
) -> Result<bool> {
    tensor.check_writable("setitem")?;
    if trace::current() != 0 {
        return Ok(false);
    }
    let node = tensor.uop();
    // What derivatives need stays as it is.
    if node.is_watched() || tensor.with_variable(|variable| variable.is_some()) {
        return Ok(false);
    }
    let extents: Option<Vec<usize>> = node.shape().iter().map(Size::as_usize).collect();
    let Some(extents) = extents else { return Ok(false) };
    let part: Option<Vec<Places>> = slices.iter().zip(&extents).map(|(s, n)| s.places(*n)).collect();
    let Some(part) = part else { return Ok(false) };
    // Where all is written, the value is the tensor's.
    let is_whole = slices.iter().all(|slice| slice.is_full());
    let mut given = match content(&node, shape, value)? {
        Some(given) => given,
        None if is_whole => return Ok(false),
        None => match computed(tensor, &node, shape, value, has_steps(&part))? {
            Some(given) => given,
            None => return Ok(false),
        },
    };
    given.from.extend(positions.iter().cloned());
    // It may be in memory now.
    let node = match node.is_memory() {
        true => node,
        false => {
            // Nothing is to hold an expression whose memory is written below.
            drop(node);
            tensor.uop()
        }
    };
    let most = match given.content {
        Content::Number(_) if has_steps(&part) => SPREAD,
        Content::Number(_) => WRITTEN,
        Content::Elements(_) if is_whole => 0,
        Content::Elements(_) => MOVED / node.dtype().bytes(),
    };
    if part.iter().map(|places| places.count).product::<usize>() > most || node.sharding().is_some() {
        return Ok(false);
    }
    if !node.is_memory() && everywhere(&node).is_none() {
        let few = if follows_nothing(&node, &extents) { OF_NUMBERS } else { PENDING };
        if tensor.count_writes(true) < few || node.trace() != 0 {
            return Ok(false);
        }
        if !is_computed(tensor)? {
            return Ok(false);
        }
    }
    drop(node);
    let first = tensor.writes() < PENDING;
    let done = tensor.exchange(|node| written(node, &extents, &part, &given, first))?;
    if first || !done {
        tensor.count_writes(!done);
    }
    Ok(done)
}

/// Whether places are no neighbours: in an expression their distance would be in its code.
fn has_steps(part: &[Places]) -> bool {
    part.iter().any(|places| places.step != 1)
}

/// A small value that is still to be computed, or a larger one for places with steps, computed: where it is made of nothing but memory that this tensor alone names, and
/// once several others were written, which are expressions until then. What a derivative needs and functions of the host stay
/// expressions.
fn computed(tensor: &Tensor, to: &UOp, shape: &[Size], value: &Operand, steps: bool) -> Result<Option<Given>> {
    let Operand::Tensor(value) = value else { return Ok(None) };
    let node = value.uop().resolved();
    let most = if steps { MOVED / to.dtype().bytes() } else { COMPUTED };
    let few = |shape: &[Size]| shape.iter().product::<Size>().as_usize().is_some_and(|count| count <= most);
    let here = node.place().is_none() || node.place() == to.place();
    let is_plain = !node.is_memory() && !node.is_watched() && node.trace() == 0 && to.trace() == 0 && !node.calls();
    if !is_plain || !here || !few(shape) || !few(node.shape()) || to.sharding().is_some() || to.dtype().is_complex() {
        return Ok(None);
    }
    let Some(below) = leaves_below(&node) else { return Ok(None) };
    let leaves = || below.iter().filter_map(|node| Some((node, node.op().leaf()?)));
    if !leaves().all(|(_, leaf)| is_known(leaf)) {
        return Ok(None);
    }
    let own = |leaf: &Leaf| to.op().leaf() == Some(leaf) && to.names() == 1;
    let is_other = |node: &UOp, leaf: &Leaf| !own(leaf) && (leaf.class() != LeafClass::Literal || node.names() > 0);
    let others = leaves().filter(|(node, leaf)| is_other(node, leaf));
    let from: SmallVec<[Leaf; 1]> = others.map(|(_, leaf)| leaf.clone()).collect();
    drop(below);
    let is_pending = !to.is_memory() && everywhere(to).is_none();
    if (is_pending || !from.is_empty()) && tensor.writes() < PENDING {
        tensor.count_writes(true);
        return Ok(None);
    }
    if is_pending && !is_computed(tensor)? {
        return Ok(None);
    }
    if node.dtype() == to.dtype()
        && let Some(number) = single::value(&value.uop())?
    {
        return Ok(Some(Given { content: Content::Number(number), from }));
    }
    let value = Tensor::from_uop(Operand::Tensor(value.clone()).in_type("setitem", to.dtype())?);
    drop(node);
    if !is_computed(&value)? {
        return Ok(None);
    }
    let given = elements(to, shape, &value)?;
    Ok(given.map(|given| Given { from, ..given }))
}

/// Whether a value that is too large to be copied is made of numbers only.
fn follows_nothing(node: &UOp, extents: &[usize]) -> bool {
    bytes(node, extents) > COPIED && node.place().is_none() && leaves_below(node).is_some_and(|below| below.is_empty())
}

fn bytes(node: &UOp, extents: &[usize]) -> usize {
    extents.iter().product::<usize>().saturating_mul(node.dtype().bytes())
}

/// Computes a value. An error is told where the value is read, unless it is the user's interruption.
fn is_computed(tensor: &Tensor) -> Result<bool> {
    match tensor.compute() {
        Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
        done => Ok(done.is_ok()),
    }
}

/// The leaves of a small expression.
fn leaves_below(node: &UOp) -> Option<Vec<UOp>> {
    let (mut leaves, mut seen, mut work) = (Vec::new(), FxHashSet::default(), vec![node.clone()]);
    while let Some(node) = work.pop() {
        if !seen.insert(node.id()) {
            continue;
        }
        if seen.len() > MOST_NODES {
            return None;
        }
        match node.op() {
            Op::Leaf(_) => leaves.push(node),
            _ => work.extend(node.sources()),
        }
    }
    Some(leaves)
}

/// The number that an expression is everywhere.
fn everywhere(node: &UOp) -> Option<Const> {
    match node.op() {
        Op::Contiguous => node.source()?.uniform(),
        _ => node.uniform(),
    }
}

/// What is to be written to a node: a number in its type; elements of its type, on its device or on none, and of the shape
/// of the positions, but for leading extents of 1, in memory that the host sees. Nothing of any other value.
fn content(to: &UOp, shape: &[Size], value: &Operand) -> Result<Option<Given>> {
    match value {
        Operand::Bool(_) | Operand::Int(_) | Operand::Float(_) => match *value.in_type("setitem", to.dtype())?.op() {
            Op::Const(value) => Ok(Some(Given { content: Content::Number(value), from: SmallVec::new() })),
            _ => Ok(None),
        },
        Operand::Tensor(tensor) => elements(to, shape, tensor),
        Operand::Listed { rounded, .. } if rounded.dtype() == to.dtype() => elements(to, shape, rounded),
        Operand::Listed { exact, .. } => elements(to, shape, exact),
        _ => Ok(None),
    }
}

fn elements(to: &UOp, shape: &[Size], value: &Tensor) -> Result<Option<Given>> {
    let node = value.uop();
    let trimmed = |shape: &[Size]| shape.iter().skip_while(|n| **n == Size::ONE).cloned().collect::<Vec<_>>();
    let here = node.place().is_none() || node.place() == to.place();
    let fits = here && node.dtype() == to.dtype() && trimmed(node.shape()) == trimmed(shape);
    if !fits || node.is_watched() || node.trace() != 0 {
        return Ok(None);
    }
    let buffer = match whole_buffer(&node) {
        Some((buffer, _)) => Some(buffer),
        None => pieces::part(&node)?.map(|(copy, _)| Arc::new(copy)),
    };
    let seen = |buffer: &Arc<Buffer>| {
        buffer.storage().allocator().host_visible() && !buffer.device().is_disk() && buffer.is_allocated()
    };
    let given =
        |buffer| Given { content: Content::Elements(buffer), from: memory_below(value, &node).into_iter().collect() };
    Ok(buffer.filter(seen).map(given))
}

/// The memory that a value is a part of, if it is a tensor's of the program; none where it is a list or an array.
fn memory_below(value: &Tensor, node: &UOp) -> Option<Leaf> {
    let mut below = node.clone();
    while let Some(source) = below.source() {
        below = source;
    }
    // Numbers that are on no device may be a tensor's all the same.
    let is_named = if below == *node { value.is_shared() } else { below.names() > 0 };
    below.op().leaf().filter(|leaf| leaf.class() != LeafClass::Literal || is_named).cloned()
}

/// The value with others at positions: the same memory, where only this node has it. Nothing where this is one of the first
/// writes and is to be an expression.
fn written(node: &UOp, extents: &[usize], part: &[Places], given: &Given, first: bool) -> Result<Option<UOp>> {
    let Given { content: value, from } = given;
    let bytes = bytes(node, extents);
    let small = bytes <= COPIED;
    if first && small && !from.is_empty() {
        return Ok(None);
    }
    let mut shared = None;
    let fresh = match node.op() {
        Op::Leaf(leaf) if leaf.class().is_constant() => {
            let Some(memory) = leaf.downcast::<Memory>() else { return Ok(None) };
            let buffer = buffer_of(leaf)?;
            if !buffer.storage().allocator().host_visible() || memory.symbolic_shape().is_some() {
                return Ok(None);
            }
            drop(buffer);
            if node.is_sole() && is_own(leaf, memory, 1, 1) {
                fill(memory.buffer(), extents, part, value)?;
                memory.bump_version();
                for leaf in from {
                    memory.set_sources(with_source(memory.sources(), leaf));
                }
                let same = Leaf::new(leaf.data().clone(), leaf.offset(), leaf.dtype(), leaf.shape().clone());
                return Ok(Some(UOp::leaf(same)?));
            }
            let buffer = buffer_of(leaf)?;
            if first || !small || buffer.device().is_disk() {
                return Ok(None);
            }
            shared = Some(leaf);
            Arc::new(buffer.to_device(buffer.storage().allocator())?)
        }
        _ => match everywhere(node) {
            Some(all) if bytes <= FILLED => filled(&*device_of(node)?, all, extents.iter().product())?,
            _ => return Ok(None),
        },
    };
    if !fresh.storage().allocator().host_visible() {
        return Ok(None);
    }
    fill(&fresh, extents, part, value)?;
    let made = leaf_over(fresh, class_of(node), node.shape_arc().clone())?;
    let sources: Sources = sources_of(shared.into_iter().chain(from.iter()));
    if !sources.is_empty() {
        sources::note(&made, &sources)?;
    }
    Ok(Some(made))
}

/// Whether a leaf's memory is its own, all of it, and is nobody else's: so many leaves name it, and so many hold its buffer, all
/// of them the caller's.
pub(crate) fn is_own(leaf: &Leaf, memory: &Memory, leaves: usize, buffers: usize) -> bool {
    let (buffer, storage) = (memory.buffer(), memory.buffer().storage());
    let whole = !buffer.is_view() && leaf.offset() == 0 && leaf.dtype() == buffer.dtype();
    // Without weak references first: from one, as a plan's output has to what was taken of it, another is made any time.
    let sole = Arc::weak_count(leaf.data()) == 0
        && Arc::strong_count(leaf.data()) == leaves
        && Arc::strong_count(buffer) == buffers
        && Arc::strong_count(storage) == 1;
    whole && sole && buffer.is_allocated() && !storage.is_read_only() && !storage.is_borrowed()
}
