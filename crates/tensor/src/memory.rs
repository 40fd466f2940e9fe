//! Memory for values.

use std::sync::Arc;

use svod_device::{Buffer, Device as OpenDevice, DeviceSpec};
use svod_dtype::Const;
use svod_ir::graph::{Leaf, LeafClass, Op, Shape, UOp};
use svod_ir::size::{BoundVariable, Size};
use svod_runtime::{Context, Memory, PrepareConfig};

use crate::error::{Result, TensorError};

/// The CPU's memory.
pub(crate) fn host() -> Result<Arc<OpenDevice>> {
    Ok(Context::global().devices().get(&DeviceSpec::CPU)?)
}

/// The device of a node's value: its own, else the one that the configuration chooses, else the CPU.
pub(crate) fn device_of(node: &UOp) -> Result<Arc<OpenDevice>> {
    let devices = Context::global().devices();
    Ok(match node.device() {
        Some(device) => devices.open(device.name())?,
        None => devices.get(&PrepareConfig::of_reads().device.clone().unwrap_or_default())?,
    })
}

/// Elements that are filled in one step, of a block that stays in the first cache.
const FILLED_AT_ONCE: usize = 1024;

/// A buffer with one value everywhere.
pub(crate) fn filled(device: &OpenDevice, value: Const, count: usize) -> Result<Arc<Buffer>> {
    let buffer = Buffer::new(device.allocator(), value.dtype(), count)?;
    let element = value.dtype().bytes();
    let block = value.to_le_bytes()[..element].repeat(count.min(FILLED_AT_ONCE));
    for start in (0..count).step_by(FILLED_AT_ONCE) {
        let part = (count - start).min(FILLED_AT_ONCE);
        buffer.view(start * element, value.dtype(), part)?.copy_in(&block[..part * element])?;
    }
    buffer.allocate()?;
    Ok(Arc::new(buffer))
}

/// What may be assumed of memory that a value is found in: what is on no device stays so, wherever its memory is.
pub(crate) fn class_of(node: &UOp) -> LeafClass {
    if node.place().is_none() { LeafClass::Literal } else { LeafClass::Data }
}

/// The leaf of a buffer's elements in a shape.
pub(crate) fn leaf_over(buffer: Arc<Buffer>, class: LeafClass, shape: Shape) -> Result<UOp> {
    bound_leaf(buffer, class, shape, &[])
}

/// The leaf of a buffer's elements in a shape, which lie in it as these values of the shape's
/// variables say.
pub(crate) fn bound_leaf(buffer: Arc<Buffer>, class: LeafClass, shape: Shape, values: &[BoundVariable]) -> Result<UOp> {
    let (dtype, offset) = (buffer.dtype(), buffer.offset() as u64);
    let memory = Memory::new(buffer, class).with_bindings(values).with_shape(Some(&shape));
    Ok(UOp::leaf(Leaf::new(Arc::new(memory), offset, dtype, shape))?)
}

/// The values, memory or casts of it, with the extents that they were computed with, such as `n`, where these
/// are others than in memory: an operand of symbolic size then fits them, and is of the size that they have.
/// Nothing where none are.
pub(crate) fn as_computed(nodes: &[UOp]) -> Option<Vec<UOp>> {
    let mut any = false;
    let mut one = |node: &UOp| {
        let symbolic = symbolic_leaf(node)?;
        any = true;
        if node.dtype() == symbolic.dtype() { Some(symbolic) } else { symbolic.cast(node.dtype()).ok() }
    };
    let nodes: Vec<UOp> = nodes.iter().map(|node| one(node).unwrap_or_else(|| node.clone())).collect();
    any.then_some(nodes)
}

/// The leaf of memory, or of what is cast, with the extents that it was computed with, if others.
fn symbolic_leaf(node: &UOp) -> Option<UOp> {
    let from = if let Op::Cast(_) = node.op() { node.source()? } else { node.clone() };
    let leaf = from.op().leaf()?;
    let memory = leaf.downcast::<Memory>()?;
    let same = memory.bound_shape().is_some_and(|shape| shape == *leaf.shape());
    let shape = memory.symbolic_shape().filter(|_| same && leaf.version() == leaf.data().version())?;
    UOp::leaf(Leaf::at(leaf.data().clone(), leaf.version(), leaf.offset(), leaf.dtype(), shape.clone())).ok()
}

/// The extents of a leaf's elements in memory.
///
/// # Errors
/// Where one has no value.
pub(crate) fn extents_of(leaf: &Leaf) -> Result<Vec<usize>> {
    let bindings = leaf.bindings();
    let extent = |n: &Size| match n.as_usize() {
        Some(n) => Ok(n),
        None => {
            let value = n.eval_bound(&bindings)?;
            let negative = |_| TensorError::shape("shape", format!("extent {n} is {value}"));
            usize::try_from(value).map_err(negative)
        }
    };
    leaf.shape().iter().map(extent).collect()
}
