//! Parts of memory at constant positions: copied by the host, without a kernel.
//!
//! Movements over memory that leave every element in its place, but for a distance from one to the next along each
//! dimension, are a *view*: a first element and strides. A small part of memory is read through its view.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};
use svod_device::Buffer;
use svod_dtype::Const;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Device, Graph, Leaf, Op, UOp};
use svod_ir::size::Size;
use svod_runtime::sources_of;

use crate::error::Result;
use crate::kept;
use crate::memory::{class_of, device_of, extents_of, leaf_over};
use crate::read::buffer_of;
use crate::sources;

/// Elements that are copied one by one at most, and bytes that are copied in runs: beyond, a kernel is faster.
const MOST_ELEMENTS: usize = 4096;
pub(crate) const MOST_BYTES: usize = 1 << 18;
/// Bytes of a part that is copied before a kernel reads it.
pub(crate) const MOST_COPIED: usize = 4096;
/// The same where a kernel would be compiled for each part: copying takes less.
pub(crate) const MOST_FOR_CODE: usize = 1 << 22;
/// Bytes of a run that is worth a copy of its own.
const RUN: usize = 64;

/// Dimensions, outermost first: extents, and distances in elements.
type Dims = SmallVec<[(usize, i64); 4]>;

/// A part of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct View {
    first: i64,
    dims: Dims,
    /// A dimension, and how many of its last elements are not in memory (in the last row of the dimension before it, where
    /// it was cut in rows). What is a part of memory has none: `x[::3]` takes the first of each row of three.
    beyond: Option<(usize, usize)>,
}

impl View {
    /// All of memory of these extents.
    fn whole(extents: &[usize]) -> View {
        let mut dims: Dims = extents.iter().map(|n| (*n, 1)).collect();
        for i in (1..dims.len()).rev() {
            dims[i - 1].1 = dims[i].1 * dims[i].0.max(1) as i64;
        }
        View { first: 0, dims, beyond: None }
    }

    /// The view through one more movement, if that is one.
    fn moved(mut self, op: &Op) -> Option<View> {
        match op {
            Op::Shrink(to) => {
                if let Some((axis, beyond)) = self.beyond.take()
                    && to[axis].1.as_usize()? > self.dims[axis].0 - beyond
                {
                    return None;
                }
                for ((first, last), (extent, stride)) in to.iter().zip(&mut self.dims) {
                    let (first, last) = (first.as_usize()?, last.as_usize()?);
                    self.first += first as i64 * *stride;
                    *extent = last.checked_sub(first)?;
                }
            }
            Op::Reshape(shape) if self.beyond.is_some() => return self.in_rows(shape),
            _ if self.beyond.is_some() => return None,
            Op::Pad(by, _) => {
                let mut all =
                    by.iter().enumerate().filter(|(_, (before, after))| *before != Size::ZERO || *after != Size::ZERO);
                let (axis, (before, after)) = all.next()?;
                if *before != Size::ZERO || all.next().is_some() {
                    return None;
                }
                let beyond = after.as_usize()?;
                self.dims[axis].0 += beyond;
                self.beyond = Some((axis, beyond));
            }
            Op::Permute(axes) => self.dims = axes.iter().map(|a| self.dims[*a]).collect(),
            Op::Flip(axes) => {
                for axis in axes {
                    let (extent, stride) = &mut self.dims[*axis];
                    self.first += extent.checked_sub(1)? as i64 * *stride;
                    *stride = -*stride;
                }
            }
            Op::Expand(shape) => {
                let new = shape.len() - self.dims.len();
                let mut dims: Dims = smallvec![(1, 0); new];
                dims.extend_from_slice(&self.dims);
                for (dim, extent) in dims.iter_mut().zip(shape.iter()) {
                    let extent = extent.as_usize()?;
                    if dim.0 != extent {
                        *dim = (extent, 0);
                    }
                }
                self.dims = dims;
            }
            Op::Reshape(shape) => self.dims = reshaped(&self.dims, shape)?,
            Op::Contiguous | Op::Detach | Op::ContiguousBackward => {}
            _ => return None,
        }
        Some(self)
    }

    /// The view with the dimension that ends beyond memory cut in rows, of which only the last one does.
    fn in_rows(mut self, shape: &[Size]) -> Option<View> {
        let (axis, beyond) = self.beyond?;
        let (extent, stride) = self.dims[axis];
        let (count, row) = (shape.get(axis)?.as_usize()?, shape.get(axis + 1)?.as_usize()?);
        if count.checked_mul(row)? != extent || row <= beyond {
            return None;
        }
        let rows = [(count, stride * row as i64), (row, stride)];
        let dims: Dims =
            self.dims[..axis].iter().copied().chain(rows).chain(self.dims[axis + 1..].iter().copied()).collect();
        let same = dims.len() == shape.len() && dims.iter().zip(shape).all(|(dim, n)| n.as_usize() == Some(dim.0));
        (self.dims, self.beyond) = (dims, Some((axis + 1, beyond)));
        same.then_some(self)
    }

    fn count(&self) -> usize {
        self.dims.iter().fold(1, |count: usize, dim| count.saturating_mul(dim.0))
    }

    /// Elements that lie side by side at the end.
    fn run(&self) -> usize {
        let mut run = 1;
        for &(extent, stride) in self.dims.iter().rev().filter(|d| d.0 != 1) {
            if stride != run as i64 {
                break;
            }
            run *= extent;
        }
        run
    }

    /// Writes to the elements of a buffer, run by run: bytes of one run, of which the next ones are so much further on.
    fn write(&self, buffer: &Buffer, bytes: &[u8], step: usize) -> Result<()> {
        let (element, mut at) = (buffer.dtype().bytes(), 0);
        let each = |put: &mut dyn FnMut(usize, &[u8])| {
            self.runs(|start, run| {
                put(start * element, &bytes[at..at + run * element]);
                at += step;
            });
        };
        Ok(buffer.copy_in_parts(each)?)
    }

    /// The elements, of so many bytes each, in row-major order.
    fn copy(&self, from: &[u8], element: usize) -> Vec<u8> {
        let mut to = Vec::with_capacity(self.count() * element);
        let one_by_one = match element {
            1 => copy_steps::<1>,
            2 => copy_steps::<2>,
            4 => copy_steps::<4>,
            8 => copy_steps::<8>,
            16 => copy_steps::<16>,
            _ => {
                self.runs(|start, run| to.extend_from_slice(&from[start * element..(start + run) * element]));
                return to;
            }
        };
        self.lines(|start, count, stride| match stride {
            1 => to.extend_from_slice(&from[start * element..(start + count) * element]),
            _ => one_by_one(&mut to, from, start, count, stride),
        });
        to
    }

    /// Calls a function with the first element and the length of each run, in row-major order.
    fn runs(&self, mut each: impl FnMut(usize, usize)) {
        let run = self.run();
        let (mut outer, mut within) = (Dims::new(), 1);
        for &(extent, stride) in self.dims.iter().rev().filter(|d| d.0 != 1) {
            if within == run {
                outer.push((extent, stride));
            } else {
                within *= extent;
            }
        }
        self.starts(&outer, |start| each(start, run));
    }

    /// Calls a function with the first element, the number and the distance of those that lie along a line, in row-major order:
    /// runs, or, where these are single elements, those along the last dimension.
    fn lines(&self, mut each: impl FnMut(usize, usize, i64)) {
        if self.run() > 1 {
            return self.runs(|start, run| each(start, run, 1));
        }
        let mut dims = self.dims.iter().rev().copied().filter(|d| d.0 != 1);
        let (count, stride) = dims.next().unwrap_or((1, 1));
        let outer: Dims = dims.collect();
        self.starts(&outer, |start| each(start, count, stride));
    }

    /// Calls a function with the first element of each of the parts along dimensions, innermost first.
    fn starts(&self, outer: &[(usize, i64)], mut each: impl FnMut(usize)) {
        if self.count() == 0 {
            return;
        }
        // Counters of the dimensions.
        let (mut at, mut first) = (smallvec![0usize; outer.len()] as SmallVec<[usize; 4]>, self.first);
        loop {
            each(first as usize);
            let mut axis = 0;
            loop {
                let Some(&(extent, stride)) = outer.get(axis) else { return };
                at[axis] += 1;
                first += stride;
                if at[axis] < extent {
                    break;
                }
                first -= extent as i64 * stride;
                at[axis] = 0;
                axis += 1;
            }
        }
    }
}

/// Adds elements, of so many bytes each, that are so far from one another.
fn copy_steps<const BYTES: usize>(to: &mut Vec<u8>, from: &[u8], start: usize, count: usize, stride: i64) {
    let before = to.len();
    to.resize(before + count * BYTES, 0);
    let mut at = start as i64;
    for place in to[before..].chunks_exact_mut(BYTES) {
        let first = at as usize * BYTES;
        place.copy_from_slice(&from[first..first + BYTES]);
        at += stride;
    }
}

/// What is written to a part of memory.
pub(crate) enum Content {
    /// One number, to each place.
    Number(Const),
    /// As many elements as there are places, in row-major order.
    Elements(Arc<Buffer>),
}

/// Positions along one dimension: the first of them, how many there are, and how far the next one is.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    pub first: usize,
    pub count: usize,
    pub step: i64,
}

impl Places {
    /// The same positions, the least one first.
    pub(crate) fn ascending(self) -> Places {
        match self.step < 0 {
            true => {
                let behind = self.count.saturating_sub(1) * self.step.unsigned_abs() as usize;
                Places { first: self.first - behind, count: self.count, step: -self.step }
            }
            false => self,
        }
    }
}

/// Writes to a part of memory of these extents, given by the positions along each.
pub(crate) fn fill(buffer: &Buffer, extents: &[usize], part: &[Places], content: &Content) -> Result<()> {
    let mut view = View::whole(extents);
    for (places, (extent, stride)) in part.iter().zip(&mut view.dims) {
        view.first += places.first as i64 * *stride;
        *extent = places.count;
        *stride *= places.step;
    }
    match content {
        Content::Number(value) => {
            let element = &value.to_le_bytes()[..value.dtype().bytes()];
            view.write(buffer, &element.repeat(view.run()), 0)
        }
        Content::Elements(from) => {
            let run = view.run() * from.dtype().bytes();
            from.with_bytes(|bytes| view.write(buffer, bytes, run))?
        }
    }
}

/// Dimensions under other extents, where that is a view: groups of old and of new ones hold the same elements, and
/// each group of old ones is like one dimension.
fn reshaped(dims: &[(usize, i64)], shape: &[Size]) -> Option<Dims> {
    let shape: SmallVec<[usize; 4]> = shape.iter().map(Size::as_usize).collect::<Option<_>>()?;
    if shape.contains(&0) {
        return Some(View::whole(&shape).dims);
    }
    let mut old = dims.iter().copied().filter(|d| d.0 != 1);
    let mut new = Dims::with_capacity(shape.len());
    let mut at = 0;
    while at < shape.len() {
        if shape[at] == 1 {
            new.push((1, 0));
            at += 1;
            continue;
        }
        let (mut extent, mut stride) = old.next()?;
        let (mut group, mut product): (SmallVec<[usize; 4]>, usize) = (smallvec![shape[at]], shape[at]);
        at += 1;
        while extent != product {
            if extent < product {
                let (inner, step) = old.next()?;
                if stride != step * inner as i64 {
                    return None;
                }
                (extent, stride) = (extent * inner, step);
            } else {
                group.push(*shape.get(at)?);
                product *= shape[at];
                at += 1;
            }
        }
        let mut steps = View::whole(&group).dims;
        steps.iter_mut().for_each(|d| d.1 *= stride);
        new.extend(steps);
    }
    Some(new)
}

/// The movements from a node down to what they move, outermost first; those that add elements where `pads` says so.
fn movements(node: &UOp, pads: bool) -> (SmallVec<[UOp; 4]>, UOp) {
    let (mut through, mut node) = (SmallVec::new(), node.resolved());
    let moves = |op: &Op| match op {
        Op::Pad(..) => pads,
        Op::Shrink(_) | Op::Permute(_) | Op::Flip(_) | Op::Expand(_) | Op::Reshape(_) => true,
        Op::Contiguous | Op::Detach | Op::ContiguousBackward => true,
        _ => false,
    };
    while moves(node.op()) {
        let Some(source) = node.source() else { break };
        through.push(node);
        node = source;
    }
    (through, node)
}

/// What a node has the elements of, moved, on the same device; of a file, the file.
pub(crate) fn moved(node: &UOp) -> UOp {
    of_file(&movements(node, false).1)
}

/// The file of which a node is a copy, where that is computed with; any other node itself.
fn of_file(node: &UOp) -> UOp {
    match node.op() {
        Op::Copy(to) if *to == Device::host() => node.source().filter(UOp::is_file).unwrap_or_else(|| node.clone()),
        _ => node.clone(),
    }
}

/// What a node is a small view of.
fn small_view(node: &UOp) -> Option<(UOp, View)> {
    let (base, view) = view_of(node)?;
    let bytes = view.count().saturating_mul(base.dtype().bytes());
    let in_runs = bytes <= MOST_BYTES && view.run() * base.dtype().bytes() >= RUN;
    (in_runs || view.count() <= MOST_ELEMENTS).then_some((base, view))
}

/// What a node is a view of.
fn view_of(node: &UOp) -> Option<(UOp, View)> {
    let (through, base) = movements(node, true);
    let base = of_file(&base);
    let mut view = whole_view(&base)?;
    for node in through.iter().rev() {
        view = view.moved(node.op())?;
    }
    view.beyond.is_none().then_some((base, view))
}

/// All of a value.
fn whole_view(base: &UOp) -> Option<View> {
    let extents: Vec<usize> = match base.op() {
        Op::Leaf(leaf) => extents_of(leaf).ok()?,
        _ => base.shape().iter().map(Size::as_usize).collect::<Option<_>>()?,
    };
    Some(View::whole(&extents))
}

/// Whether a node has moved elements of another one, and no others.
pub(crate) fn is_moved(node: &UOp, of: &UOp) -> bool {
    let of = of.resolved();
    let (through, base) = movements(node, true);
    base == of || through.contains(&of)
}

/// The movements of a value that has this number, or of what they move last, and all of it.
fn moved_from(node: &UOp, root: u64) -> Option<(SmallVec<[UOp; 4]>, View)> {
    let (mut through, mut base) = movements(node, true);
    if let Some(at) = through.iter().position(|node| node.id() == root) {
        base = through[at].clone();
        through.truncate(at);
    }
    Some((through, whole_view(&base)?))
}

/// Whether the elements of a node lie one after the other in the value that has this number, of which they are.
pub(crate) fn is_dense(node: &UOp, root: u64) -> bool {
    let composed = || {
        let (through, whole) = moved_from(node, root)?;
        through.iter().rev().try_fold(whole, |view, node| view.moved(node.op()))
    };
    composed().is_none_or(|view| view.run() == view.count())
}

/// Whether the elements of a node are those of the value that has this number where they are there: no movement needs a copy.
pub(crate) fn is_in_place(node: &UOp, root: u64) -> bool {
    let Some((through, mut view)) = moved_from(node, root) else { return true };
    for node in through.iter().rev() {
        let Some(next) = view.moved(node.op()) else { return !matches!(node.op(), Op::Reshape(_)) };
        view = next;
    }
    true
}

/// A copy of the small part of memory that a node is, and the leaf that it is a part of; nothing of any other node, and of
/// memory that may change or that the host does not see.
pub(crate) fn part(node: &UOp) -> Result<Option<(Buffer, Leaf)>> {
    if !(node.op().is_movement() || node.op().is_mark() || matches!(node.op(), Op::Contiguous)) {
        return Ok(None);
    }
    let Some((bytes, leaf)) = elements(node)? else { return Ok(None) };
    let copy = Buffer::from_bytes(device_of(node)?.allocator(), leaf.dtype(), &bytes)?;
    Ok(Some((copy, leaf)))
}

/// Calls a function with the elements of memory that does not change, or of a part of it, in row-major order, and gives the leaf
/// whose they are; nothing of any other node, nor of more bytes than these but what is small.
pub(crate) fn with_elements(node: &UOp, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<Option<Leaf>> {
    // All of a small memory, which is its own view.
    if let (Op::Leaf(leaf), Some((_, buffer))) = (node.op(), lasting(node)?)
        && buffer.bytes() <= most
        && leaf.offset() == 0
        && node.numel().as_usize() == Some(buffer.count())
        && leaf.dtype() == buffer.dtype()
    {
        buffer.with_bytes(|from| each(from))?;
        return Ok(Some(leaf.clone()));
    }
    if let Some((base, view)) = view_of(node)
        && view.run() == view.count()
        && view.count().saturating_mul(base.dtype().bytes()) <= most
    {
        let Some((leaf, buffer)) = lasting(&base)? else { return Ok(None) };
        let element = leaf.dtype().bytes();
        let begin = view.first as usize * element;
        buffer.with_bytes(|from| each(&from[begin..begin + view.count() * element]))?;
        return Ok(Some(leaf.clone()));
    }
    Ok(elements(node)?.map(|(bytes, leaf)| {
        each(&bytes);
        leaf
    }))
}

/// Whether a node is memory that does not change and that the host sees, or a view of it.
pub(crate) fn is_lasting(node: &UOp) -> Result<bool> {
    match view_of(node) {
        Some((base, _)) => Ok(lasting(&base)?.is_some()),
        None => Ok(false),
    }
}

/// The elements of memory that does not change, or of a small part of it, in row-major order, and the leaf whose they are;
/// nothing of any other node.
fn elements(node: &UOp) -> Result<Option<(Vec<u8>, Leaf)>> {
    // The distances of others would be in a kernel's code.
    let stepped = || if is_stepped(node) { view_of(node) } else { None };
    match small_view(node).or_else(stepped) {
        Some((base, view)) => elements_of(&base, &view),
        None => Ok(None),
    }
}

/// The elements of a view of memory that does not change, and the leaf.
fn elements_of(base: &UOp, view: &View) -> Result<Option<(Vec<u8>, Leaf)>> {
    let Some((leaf, buffer)) = lasting(base)? else { return Ok(None) };
    let element = leaf.dtype().bytes();
    let bytes = buffer.with_bytes(|from| view.copy(from, element))?;
    Ok(Some((bytes, leaf.clone())))
}

/// The value of a node that has elements of a leaf's, which a plan that is given that one would not follow.
pub(crate) fn made_of(leaf: &Leaf, elements: Buffer, node: &UOp) -> Result<UOp> {
    let value = leaf_over(Arc::new(elements), class_of(node), node.shape_arc().clone())?;
    sources::note(&value, &sources_of(std::iter::once(leaf)))?;
    Ok(value)
}

/// The memory of a node that does not change and that the host sees.
fn lasting(node: &UOp) -> Result<Option<(&Leaf, Arc<Buffer>)>> {
    let Some(leaf) = node.op().leaf().filter(|leaf| leaf.class().is_constant()) else { return Ok(None) };
    let buffer = buffer_of(leaf)?;
    let written = buffer.is_allocated() || buffer.storage().is_read_only();
    let seen = buffer.storage().allocator().host_visible() && written;
    Ok(seen.then_some((leaf, buffer)))
}

/// The one element, of no more than 64 bits, that a node is at a constant position of memory that does not change; nothing of
/// any other node.
pub(crate) fn element(node: &UOp) -> Result<Option<Const>> {
    if node.numel().as_const() == Some(1) { nth(node, 0) } else { Ok(None) }
}

/// The same of the element at a position of a node that has them along one dimension; nothing where it has none there.
pub(crate) fn nth(node: &UOp, at: usize) -> Result<Option<Const>> {
    if !(node.op().is_movement() || matches!(node.op(), Op::Leaf(_))) {
        return Ok(None);
    }
    let Some((base, view)) = view_of(node) else { return Ok(None) };
    let Some((leaf, buffer)) = lasting(&base)? else { return Ok(None) };
    let (dtype, bytes) = (leaf.dtype(), leaf.dtype().bytes());
    let mut along = view.dims.iter().filter(|dim| dim.0 != 1);
    let (extent, stride) = along.next().copied().unwrap_or((1, 0));
    let mut bits = [0u8; 8];
    let (Some(to), None, true) = (bits.get_mut(..bytes), along.next(), at < extent) else { return Ok(None) };
    let at = (view.first + at as i64 * stride) as usize * bytes;
    buffer.with_bytes(|from| to.copy_from_slice(&from[at..at + bytes]))?;
    Ok(Some(Const::from_bits(dtype, u64::from_le_bytes(bits))))
}

/// Copies the small parts of memory that a graph reads, so that its structure does not depend on where they are, and says
/// whether there were any.
pub(crate) fn copy_parts(graph: &Graph) -> Result<bool> {
    Ok(has_parts(graph) && copy_parts_of(graph, MOST_COPIED, &small_view)?)
}

/// Copies larger ones as well, so that its structure depends on their extents only.
pub(crate) fn copy_large_parts(graph: &Graph) -> Result<bool> {
    copy_parts_of(graph, MOST_FOR_CODE, &view_of)
}

/// Whether a graph reads parts of anything.
pub(crate) fn has_parts(graph: &Graph) -> bool {
    graph.nodes().iter().any(|node| matches!(node.op(), Op::Shrink(_)))
}

/// Copies the parts of memory of so many bytes at most that a graph reads and that are a view.
fn copy_parts_of(graph: &Graph, most: usize, view: &dyn Fn(&UOp) -> Option<(UOp, View)>) -> Result<bool> {
    let is_part = |op: &Op| matches!(op, Op::Shrink(_) | Op::Reshape(_) | Op::Permute(_) | Op::Flip(_) | Op::Pad(..));
    // Movements over a leaf of memory.
    let mut over: Vec<Option<&Leaf>> = Vec::with_capacity(graph.len());
    for (node, sources) in graph.iter() {
        over.push(match (node.op(), sources) {
            (Op::Leaf(leaf), _) if leaf.class().is_constant() => Some(leaf),
            (op, [source]) if is_part(op) => over[*source as usize],
            _ => None,
        });
    }
    // Whether something reads them that is no movement, or that is none of a part of memory.
    let mut read = vec![false; graph.len()];
    for at in (0..graph.len()).rev() {
        let node = &graph.nodes()[at];
        let moves = over[at].is_some() && is_part(node.op()) && (!read[at] || view(node).is_some());
        if !moves {
            graph.sources(at as NodeIndex).iter().for_each(|s| read[*s as usize] = true);
        }
    }
    let mut found = false;
    for (node, memory) in graph.nodes().iter().zip(&over).zip(&read).filter(|(_, read)| **read).map(|(both, _)| both) {
        let (Some(leaf), Some(count)) = (*memory, node.numel().as_usize()) else { continue };
        let Some(all) = leaf.shape().iter().product::<Size>().as_usize() else { continue };
        if count == 0 || count >= all || count * node.dtype().bytes() > most {
            continue;
        }
        let Some((base, view)) = view(node) else { continue };
        found |= copy_view(node, &base, &view)?;
    }
    Ok(found)
}

/// Copies a view of memory that does not change, which becomes the value of the node that it is, and says whether it did.
fn copy_view(node: &UOp, base: &UOp, view: &View) -> Result<bool> {
    let Some((bytes, leaf)) = elements_of(base, view)? else { return Ok(false) };
    let Some(claim) = node.try_claim() else { return Ok(false) };
    let copy = Buffer::from_bytes(device_of(node)?.allocator(), leaf.dtype(), &bytes)?;
    claim.force(made_of(&leaf, copy, node)?)?;
    Ok(true)
}

/// Copies the parts of memory that a graph reads, or is, whose distances from one element to the next are in its code, and says
/// whether there were any.
pub(crate) fn copy_steps_of(graph: &Graph) -> Result<bool> {
    let mut found = false;
    for node in graph.nodes().iter().filter(|node| is_stepped(node)) {
        let Some((base, view)) = view_of(node) else { continue };
        found |= copy_view(node, &base, &view)?;
    }
    Ok(found)
}

/// Whether a graph reads such parts.
pub(crate) fn has_steps(graph: &Graph) -> bool {
    has_parts(graph) && graph.nodes().iter().any(is_stepped)
}

/// Whether a node is a part of memory with a distance from one element to the next that no shape tells.
fn is_stepped(node: &UOp) -> bool {
    // `x[::3]` is the first of each row of three.
    let Op::Reshape(_) = node.op() else { return false };
    let Some(first) = node.source().filter(|first| matches!(first.op(), Op::Shrink(_))) else { return false };
    if !first.source().is_some_and(|rows| matches!(rows.op(), Op::Reshape(_))) {
        return false;
    }
    let Some((base, view)) = view_of(node) else { return false };
    let bytes = view.count().saturating_mul(base.dtype().bytes());
    let is_memory = base.op().leaf().is_some_and(|leaf| leaf.class().is_constant());
    is_memory && view.run() < view.count() && bytes > MOST_COPIED && bytes <= MOST_FOR_CODE
}

/// What a node is a small part of, and the graph of that, where all of it is worth computing: other parts of it will be
/// read.
pub(crate) fn whole(node: &UOp) -> Option<(UOp, Graph)> {
    if !matches!(node.op(), Op::Shrink(_) | Op::Reshape(_) | Op::Permute(_) | Op::Flip(_) | Op::Expand(_)) {
        return None;
    }
    let (base, view) = small_view(node)?;
    let all = base.numel().as_usize()?;
    let pending = !base.is_value() && base.sharding().is_none();
    if !pending || view.count() >= all {
        return None;
    }
    let graph = Graph::new(std::slice::from_ref(&base));
    kept::is_whole_worth(&base, &graph).then_some((base, graph))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use svod_ir::graph::Shape;

    fn shape(extents: &[i64]) -> Shape {
        extents.iter().map(|n| Size::from(*n)).collect()
    }

    fn pairs(to: &[(i64, i64)]) -> Op {
        Op::Shrink(to.iter().map(|(a, b)| (Size::from(*a), Size::from(*b))).collect())
    }

    fn copied(extents: &[usize], ops: &[Op]) -> Option<Vec<u8>> {
        let from: Vec<u8> = (0..extents.iter().product::<usize>() as u8).collect();
        let mut view = View::whole(extents);
        for op in ops {
            view = view.moved(op)?;
        }
        view.beyond.is_none().then(|| view.copy(&from, 1))
    }

    #[test]
    fn movements_are_strides() {
        assert_eq!(copied(&[2, 3], &[]).unwrap(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(copied(&[2, 3], &[Op::Permute([1, 0].into_iter().collect())]).unwrap(), [0, 3, 1, 4, 2, 5]);
        assert_eq!(copied(&[2, 3], &[pairs(&[(1, 2), (0, 2)])]).unwrap(), [3, 4]);
        assert_eq!(copied(&[2, 3], &[Op::Flip([1].into_iter().collect())]).unwrap(), [2, 1, 0, 5, 4, 3]);
        assert_eq!(copied(&[2, 1], &[Op::Expand(shape(&[2, 2, 2]))]).unwrap(), [0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(copied(&[2, 3], &[pairs(&[(1, 1), (0, 2)])]).unwrap(), [0u8; 0]);
        assert_eq!(copied(&[], &[]).unwrap(), [0]);
    }

    #[test]
    fn what_ends_beyond_memory_is_a_view_once_that_is_cut_off() {
        let pad = |by: &[(i64, i64)]| {
            Op::Pad(
                by.iter().map(|(a, b)| (Size::from(*a), Size::from(*b))).collect(),
                Const::zero(svod_dtype::DType::F32),
            )
        };
        let rows = || Op::Reshape(shape(&[3, 3]));
        // `x[::3]` of seven elements, and the first two of each three.
        assert_eq!(copied(&[7], &[pad(&[(0, 2)]), rows(), pairs(&[(0, 3), (0, 1)])]).unwrap(), [0, 3, 6]);
        assert_eq!(copied(&[7], &[pad(&[(0, 2)]), rows(), pairs(&[(0, 3), (1, 2)])]), None);
        assert_eq!(copied(&[8], &[pad(&[(0, 1)]), rows(), pairs(&[(0, 3), (0, 2)])]).unwrap(), [0, 1, 3, 4, 6, 7]);
        assert_eq!(copied(&[7], &[pad(&[(0, 2)]), pairs(&[(2, 7)])]).unwrap(), [2, 3, 4, 5, 6]);
        // Of columns, where what is beyond one row is in the next one.
        let columns = || Op::Reshape(shape(&[2, 2, 3]));
        let firsts = pairs(&[(0, 2), (0, 2), (0, 1)]);
        assert_eq!(copied(&[2, 5], &[pad(&[(0, 0), (0, 1)]), columns(), firsts]).unwrap(), [0, 3, 5, 8]);
        // Elements that are not in memory, or may not be.
        assert_eq!(copied(&[7], &[pad(&[(0, 2)])]), None);
        assert_eq!(copied(&[5], &[pad(&[(0, 4)]), rows(), pairs(&[(0, 3), (0, 1)])]), None);
        assert_eq!(copied(&[7], &[pad(&[(1, 1)]), rows(), pairs(&[(0, 3), (0, 1)])]), None);
        assert_eq!(copied(&[2, 2], &[pad(&[(0, 1), (0, 1)])]), None);
    }

    #[test]
    fn reshapes_are_views_where_groups_are_like_one_dimension() {
        let transposed = || Op::Permute([1, 0].into_iter().collect());
        assert_eq!(copied(&[2, 6], &[Op::Reshape(shape(&[3, 4]))]).unwrap(), (0..12).collect::<Vec<u8>>());
        assert_eq!(copied(&[6], &[Op::Reshape(shape(&[2, 1, 3])), pairs(&[(1, 2), (0, 1), (1, 3)])]).unwrap(), [4, 5]);
        assert_eq!(copied(&[4, 2], &[transposed(), Op::Reshape(shape(&[2, 2, 2]))]).unwrap(), [0, 2, 4, 6, 1, 3, 5, 7]);
        assert_eq!(copied(&[4, 2], &[transposed(), Op::Reshape(shape(&[8]))]), None);
        assert_eq!(copied(&[4, 2], &[pairs(&[(0, 4), (0, 1)]), Op::Reshape(shape(&[4]))]).unwrap(), [0, 2, 4, 6]);
        assert_eq!(copied(&[4, 2], &[pairs(&[(0, 4), (0, 1)]), Op::Reshape(shape(&[2, 2]))]).unwrap(), [0, 2, 4, 6]);
    }
}
