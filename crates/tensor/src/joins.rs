//! What is joined of parts of memory and of numbers, as `cat`, `roll` and `stack` do: copied by the host, where it is read.
//!
//! A join is an operation of its own ([`Op::Concat`], [`Op::Stack`]); where extents are variables or parts are spread over devices, it is
//! a chain of choices by position along one axis, each between all that comes before and one more part, which lies padded at its place
//! (`UOp::concat`), as it is to kernels: one that reads a join of few reads its parts. The parts of a join of many are put into
//! one memory before a kernel reads it: the kernel is the same for any number of parts, as those of a list that grows, and chooses
//! nothing. The few of them that are yet to be computed are computed apart.

use smallvec::SmallVec;
use svod_device::Buffer;
use svod_ir::alu::Alu;
use svod_ir::graph::{Graph, Leaf, Op, UOp};
use svod_ir::size::Size;
use svod_runtime::sources_of;

use crate::error::Result;
use crate::kept;
use crate::memory::{class_of, device_of, leaf_over};
use crate::pieces::{self, MOST_BYTES, MOST_COPIED, MOST_FOR_CODE};
use crate::realize::viewed;
use crate::sources;

/// Parts from which on a join is put into one memory before a kernel reads it.
pub(crate) const MANY: usize = 5;

/// Parts that a chain of choices joins at most.
const MOST_PARTS: usize = 64;

/// Of so many parts of a join one may be computed apart: more of them may have work in common with each other, and with what
/// reads the join.
pub(crate) const PENDING: usize = 4;

/// Values one after the other along an axis.
struct Join {
    axis: usize,
    extents: SmallVec<[usize; 4]>,
    /// The last one first, each with its extent along the axis.
    parts: SmallVec<[(UOp, usize); 4]>,
}

/// Whether a node joins so many parts that a kernel is to read one memory.
fn is_of_many(node: &UOp) -> bool {
    matches!(node.op(), Op::Concat(_, parts) | Op::Stack(_, parts) if *parts >= MANY)
}

/// The join that a node is.
fn join(node: &UOp) -> Option<Join> {
    if let Op::Concat(axis, _) = *node.op() {
        let extents = node.shape().iter().map(Size::as_usize).collect::<Option<_>>()?;
        let with_extent = |part: &UOp| Some((part.clone(), part.shape()[axis].as_usize()?));
        let parts = node.sources().iter().rev().map(with_extent).collect::<Option<_>>()?;
        return Some(Join { axis, extents, parts });
    }
    if let Op::Stack(axis, _) = *node.op() {
        let extents = node.shape().iter().map(Size::as_usize).collect::<Option<_>>()?;
        return Some(Join { axis, extents, parts: node.sources().into_iter().rev().map(|part| (part, 1)).collect() });
    }
    let Op::Alu(Alu::Where) = node.op() else { return None };
    let axis = split_axis(node.sources().first()?)?;
    let extents: SmallVec<[usize; 4]> = node.shape().iter().map(Size::as_usize).collect::<Option<_>>()?;
    let (mut end, mut parts, mut node) = (extents[axis], SmallVec::new(), node.clone());
    while let Op::Alu(Alu::Where) = node.op() {
        let sources = node.sources();
        let [is_before, before, part] = &sources[..] else { return None };
        let (part, start, length) = placed(part, axis)?;
        let follows = start + length == end && is_split(is_before, axis, &extents, start);
        if !follows || parts.len() == MOST_PARTS {
            return None;
        }
        parts.push((part, length));
        (end, node) = (start, before.clone());
    }
    let (part, start, length) = placed(&node, axis)?;
    parts.push((part, length));
    (start == 0 && length == end).then_some(Join { axis, extents, parts })
}

/// A value that is padded with zeros along an axis only: where it begins, and how long it is.
fn placed(node: &UOp, axis: usize) -> Option<(UOp, usize, usize)> {
    let Op::Pad(by, _) = node.op() else { return None };
    let others = || by.iter().enumerate().filter(|(i, _)| *i != axis);
    if others().any(|(_, (before, after))| *before != Size::ZERO || *after != Size::ZERO) {
        return None;
    }
    let part = node.source()?;
    let length = part.shape()[axis].as_usize()?;
    Some((part, by[axis].0.as_usize()?, length))
}

/// The axis along which a condition tells positions from others.
fn split_axis(condition: &UOp) -> Option<usize> {
    let Op::Alu(Alu::Lt) = condition.op() else { return None };
    let mut position = condition.source()?;
    let rank = position.rank();
    while let Op::Expand(_) = position.op() {
        position = position.source()?;
    }
    // Its other extents are 1, as far as there are any.
    let own = position.shape().iter().position(|n| *n != Size::ONE)?;
    Some(rank - position.rank() + own)
}

/// Whether a condition holds for the positions along an axis that are below a number.
fn is_split(condition: &UOp, axis: usize, extents: &[usize], at: usize) -> bool {
    let sources = condition.sources();
    let [position, boundary] = &sources[..] else { return false };
    let is_boundary = boundary.uniform().is_some_and(|n| n.dtype().is_int() && n.as_i128() == at as i128);
    if !is_boundary || split_axis(condition) != Some(axis) {
        return false;
    }
    let mut node = position.clone();
    loop {
        node = match (node.op(), node.source()) {
            (Op::Range(count), _) => return count.as_usize() == Some(extents[axis]),
            // Dimensions of one element around the positions, as the axis says that there are no others.
            (Op::Expand(_), Some(source)) => source,
            (Op::Reshape(_), Some(source)) if source.rank() == 1 => source,
            _ => return false,
        }
    }
}

/// What joins parts of memory that does not change, and numbers, as the value of a node that has these elements; nothing of
/// any other node, nor where it has many bytes.
fn copied(node: &UOp, of: &UOp) -> Result<Option<UOp>> {
    if node.trace() != 0 || node.sharding().is_some() {
        return Ok(None);
    }
    let element = node.dtype().bytes();
    let Some(Join { axis, extents, parts }) = join(node) else { return Ok(None) };
    let bytes = extents.iter().fold(element, |n, extent| n.saturating_mul(*extent));
    let most = if is_of_many(node) { MOST_FOR_CODE } else { MOST_BYTES };
    if bytes == 0 || bytes > most {
        return Ok(None);
    }
    let mut to = vec![0u8; bytes];
    // Elements behind the axis, and what a step along the dimensions before it is.
    let behind = element * extents[axis + 1..].iter().product::<usize>();
    let row = behind * extents[axis];
    let mut leaves: SmallVec<[Leaf; 4]> = SmallVec::new();
    let mut end = row;
    for (part, length) in parts {
        let (width, start) = (length * behind, end - length * behind);
        end = start;
        if width == 0 {
            continue;
        }
        if let Some(number) = part.uniform() {
            let number = number.to_le_bytes();
            let rows = to.chunks_exact_mut(row).flat_map(|row| row[start..start + width].chunks_exact_mut(element));
            rows.for_each(|place| place.copy_from_slice(&number[..element]));
            continue;
        }
        let mut copy = |from: &[u8]| {
            let rows = to.chunks_exact_mut(row).zip(from.chunks_exact(width));
            rows.for_each(|(row, from)| row[start..start + width].copy_from_slice(from));
        };
        let Some(leaf) = pieces::with_elements(&part, most, &mut copy)? else { return Ok(None) };
        leaves.push(leaf);
    }
    // What is made of numbers alone follows from constants.
    if leaves.is_empty() {
        return Ok(None);
    }
    let memory = Buffer::from_bytes(device_of(node)?.allocator(), node.dtype(), &to)?;
    let value = leaf_over(memory.into(), class_of(of), of.shape_arc().clone())?;
    sources::note(&value, &sources_of(leaves.iter()))?;
    Ok(Some(value))
}

/// The value of a node that joins small parts of memory, or has the elements of a join under another shape, where a read needs
/// no kernel for it.
pub(crate) fn value(node: &UOp) -> Result<Option<UOp>> {
    let mut joined = node.clone();
    while let Op::Reshape(_) | Op::Contiguous = joined.op() {
        let Some(source) = joined.source() else { return Ok(None) };
        joined = source;
    }
    copied(&joined, node)
}

/// The joins that a graph reads or is and that may be copied before: those of many parts, and small ones. Operands before users.
pub(crate) fn of_graph(graph: &Graph) -> Vec<UOp> {
    let bytes = |node: &UOp| node.numel().as_usize().map_or(usize::MAX, |n| n.saturating_mul(node.dtype().bytes()));
    let may = |node: &&UOp| match node.op() {
        op if op.is_join() => is_of_many(node) || bytes(node) <= MOST_COPIED,
        Op::Alu(Alu::Where) => bytes(node) <= MOST_COPIED && join(node).is_some(),
        _ => false,
    };
    graph.nodes().iter().filter(may).cloned().collect()
}

/// Those parts of a join of many that are to be computed before they can be copied; nothing where the join is left to kernels.
pub(crate) fn pending(node: &UOp) -> Result<Option<Vec<UOp>>> {
    if !is_of_many(node) {
        return Ok(None);
    }
    let parts = node.sources();
    let (mut found, mut computed): (Vec<UOp>, usize) = (Vec::new(), 0);
    for part in &parts {
        if part.uniform().is_some() || pieces::is_lasting(part)? {
            continue;
        }
        let base = pieces::moved(part);
        let elements = |node: &UOp| node.numel().as_usize().unwrap_or(usize::MAX);
        let part = if elements(&base) <= elements(part) { base } else { part.clone() };
        // A variable is memory that needs no more than a look.
        computed += usize::from(viewed(&part).is_none());
        if part.is_value() || computed * PENDING > parts.len() {
            return Ok(None);
        }
        if !found.contains(&part) {
            found.push(part);
        }
    }
    Ok((found.is_empty() || kept::are_lasting(&Graph::new(&found))).then_some(found))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::tensor::Tensor;

    fn joined(tensor: &Tensor) -> Option<Vec<f32>> {
        let value = value(&tensor.uop()).unwrap()?;
        Some(Tensor::from_uop(value).to_vec().unwrap())
    }

    fn tensor(from: i32, shape: &[usize]) -> Tensor {
        let count: usize = shape.iter().product();
        let elements: Vec<f32> = (from..).take(count).map(|n| n as f32).collect();
        Tensor::from_slice(&elements, shape).unwrap()
    }

    #[test]
    fn parts_of_memory_and_numbers_are_joined() {
        let (a, b) = (tensor(1, &[2, 2]), tensor(5, &[2, 1]));
        let zeros = Tensor::full(&[2, 1], 0.0, Some(svod_dtype::DType::F32)).unwrap();
        assert_eq!(joined(&Tensor::cat(&[&a, &a], 0).unwrap()).unwrap(), [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(joined(&Tensor::cat(&[&a, &b], 1).unwrap()).unwrap(), [1.0, 2.0, 5.0, 3.0, 4.0, 6.0]);
        let three = Tensor::cat(&[&zeros, &a, &b], 1).unwrap();
        assert_eq!(joined(&three).unwrap(), [0.0, 1.0, 2.0, 5.0, 0.0, 3.0, 4.0, 6.0]);
        assert_eq!(joined(&Tensor::stack(&[&b, &b], 1).unwrap()).unwrap(), [5.0, 5.0, 6.0, 6.0]);
        assert_eq!(joined(&tensor(0, &[5]).roll(2, 0).unwrap()).unwrap(), [3.0, 4.0, 0.0, 1.0, 2.0]);
        assert_eq!(joined(&a.transpose(0, 1).unwrap().roll(1, 0).unwrap()).unwrap(), [2.0, 4.0, 1.0, 3.0]);
    }

    #[test]
    fn other_choices_are_left_to_kernels() {
        let (a, b) = (tensor(1, &[2]), tensor(5, &[2]));
        assert_eq!(joined(&Tensor::cat(&[&a, &b.add(1.0).unwrap()], 0).unwrap()), None);
        let position = Tensor::from_uop(UOp::range(4).unwrap());
        let pad = |t: &Tensor, before: i64| {
            let by = vec![(Size::from(before), Size::from(2 - before))];
            Tensor::from_uop(t.uop().pad(by, svod_dtype::Const::zero(t.dtype())).unwrap())
        };
        let chosen = |limit: i64| pad(&a, 0).where_(&position.lt(limit).unwrap(), pad(&b, 2)).unwrap();
        assert_eq!(joined(&chosen(2)).unwrap(), [1.0, 2.0, 5.0, 6.0]);
        assert_eq!(joined(&chosen(1)), None);
        assert_eq!(joined(&chosen(3)), None);
        assert_eq!(chosen(3).to_vec::<f32>().unwrap(), [1.0, 2.0, 0.0, 6.0]);
        // Conditions of another kind, whose operands may have other shapes.
        let rows = tensor(0, &[3, 4]);
        for condition in
            [rows.cast(svod_dtype::DType::Bool).unwrap().any(Some(&[0]), false).unwrap(), position.eq(1).unwrap()]
        {
            assert_eq!(joined(&pad(&a, 0).where_(&condition, pad(&b, 2)).unwrap()), None);
        }
        assert_eq!(
            joined(
                &Tensor::full::<i64>(&[], 1.0, None)
                    .unwrap()
                    .where_(&rows.any(Some(&[0, 1]), false).unwrap(), 2.0)
                    .unwrap()
            ),
            None
        );
    }
}
