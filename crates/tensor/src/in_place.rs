//! Numbers written at positions, now.
//!
//! `x[i] = 3.0` gives the handle another value. Where that is memory which nobody else has a hold on, the number is written
//! there, so that ten thousand of them cost as many stores, and no graph grows. Small memory that is shared is copied
//! before; what is pending is computed once several numbers were written to it.

use std::sync::Arc;

use svod_dtype::Const;
use svod_ir::graph::{Leaf, Op, UOp};
use svod_ir::size::Size;
use svod_runtime::Memory;

use crate::error::Result;
use crate::index::Slice;
use crate::memory::{class_of, device_of, filled, leaf_over};
use crate::operand::Operand;
use crate::pieces::fill;
use crate::read::buffer_of;
use crate::tensor::Tensor;
use crate::trace;

/// Bytes of memory that is copied for a write.
const COPIED: usize = 1 << 18;
/// Elements that are written at once: more are as well computed.
const WRITTEN: usize = 1 << 12;
/// Writes to a pending value from which on it is computed.
const PENDING: u32 = 8;

/// Writes a number at positions of a tensor, given by a slice of each dimension, if it is to be done now.
pub(crate) fn write(tensor: &Tensor, slices: &[&Slice], value: &Operand) -> Result<bool> {
    tensor.check_writable("setitem")?;
    let dtype = tensor.dtype();
    let number = matches!(value, Operand::Bool(_) | Operand::Int(_) | Operand::Float(_));
    if !number || trace::current() != 0 {
        return Ok(false);
    }
    let Op::Const(value) = *value.in_type("setitem", dtype)?.op() else { return Ok(false) };
    let node = tensor.uop();
    // What derivatives need stays as it is.
    if node.is_watched() || tensor.with_variable(|variable| variable.is_some()) {
        return Ok(false);
    }
    let shape: Option<Vec<usize>> = node.shape().iter().map(Size::as_usize).collect();
    let Some(extents) = shape else { return Ok(false) };
    let part: Option<Vec<(usize, usize)>> = slices.iter().zip(&extents).map(|(s, n)| bounds(s, *n)).collect();
    let Some(part) = part else { return Ok(false) };
    if part.iter().map(|(first, last)| last - first).product::<usize>() > WRITTEN || node.sharding().is_some() {
        return Ok(false);
    }
    if !node.is_memory() && node.uniform().is_none() {
        if tensor.count_writes(true) < PENDING || node.trace() != 0 {
            return Ok(false);
        }
        // An error is told where the value is read.
        if tensor.compute().is_err() {
            return Ok(false);
        }
    }
    drop(node);
    let done = tensor.exchange(|node| written(node, &extents, &part, value))?;
    tensor.count_writes(!done);
    Ok(done)
}

/// The value with a number at positions: the same memory, where only this node has it.
fn written(node: &UOp, extents: &[usize], part: &[(usize, usize)], value: Const) -> Result<Option<UOp>> {
    let small = extents.iter().product::<usize>().saturating_mul(value.dtype().bytes()) <= COPIED;
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
                let same = Leaf::new(leaf.data().clone(), leaf.offset(), leaf.dtype(), leaf.shape().clone());
                return Ok(Some(UOp::leaf(same)?));
            }
            let buffer = buffer_of(leaf)?;
            if !small || buffer.device().is_disk() {
                return Ok(None);
            }
            Arc::new(buffer.to_device(buffer.storage().allocator())?)
        }
        _ => match node.uniform() {
            Some(all) if small => filled(&*device_of(node)?, all, extents.iter().product())?,
            _ => return Ok(None),
        },
    };
    if !fresh.storage().allocator().host_visible() {
        return Ok(None);
    }
    fill(&fresh, extents, part, value)?;
    leaf_over(fresh, class_of(node), node.shape_arc().clone()).map(Some)
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

/// The first position (inclusive) and the last one (exclusive) of a slice, where they are numbers and neighbours.
fn bounds(slice: &Slice, extent: usize) -> Option<(usize, usize)> {
    match slice {
        Slice::Full => Some((0, extent)),
        Slice::Range(first, last) => Some((first.as_usize()?, last.as_usize()?)),
        Slice::Every { .. } => None,
    }
}
