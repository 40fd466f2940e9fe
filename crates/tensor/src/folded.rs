//! Expressions of numbers alone: they are computed where they are read, as rules of rewriting fold them, and need no kernel.
//!
//! A program that iterates with numbers, such as Newton's method, would have a kernel compiled for each value that it reads.

use svod_dtype::Const;
use svod_ir::graph::outline::uniform;
use svod_ir::graph::{Graph, Op, UOp};

use crate::error::Result;
use crate::kept;
use crate::memory::{class_of, device_of, filled, leaf_over};

/// What every element of an expression of numbers is; none of any other one. What handles name on the way is kept, so that the next
/// read, of what a program has made of it, begins there: single numbers as constants, and several elements in memory, unless
/// to write them takes longer than to go through the expression.
pub(crate) fn constant(node: &UOp) -> Result<Option<Const>> {
    if let Some(value) = node.uniform() {
        return Ok(Some(value));
    }
    if node.trace() != 0 || node.is_watched() || !begins_with_number(node) {
        return Ok(None);
    }
    let graph = Graph::new(std::slice::from_ref(node));
    let values = uniform(&graph);
    let Some(value) = values[graph.roots()[0] as usize] else { return Ok(None) };
    let most = kept::SMALL * graph.len() as f64;
    for (at, value) in graph.nodes().iter().zip(values) {
        let Some(value) = value.filter(|_| at.is_named()) else { continue };
        let kept = at.rank() == 0 || at != node && at.sharding().is_none() && kept::bytes(at) <= most;
        // Numbers that are only repeated need no memory.
        if !kept || at.rank() > 0 && at.uniform().is_some() {
            continue;
        }
        let Some(claim) = at.try_claim() else { continue };
        claim.force(if at.rank() == 0 { UOp::constant(value)? } else { repeated(at, value)? })?;
    }
    Ok(Some(value))
}

/// A number in memory as often as a node, of extents that are numbers and on one device, has elements.
pub(crate) fn repeated(node: &UOp, value: Const) -> Result<UOp> {
    let buffer = filled(&*device_of(node)?, value, node.numel().as_usize().unwrap_or(0))?;
    leaf_over(buffer, class_of(node), node.shape_arc().clone())
}

/// Whether what is found below a node, along its first operands, is a number: most expressions of memory end here.
fn begins_with_number(node: &UOp) -> bool {
    let mut node = node.resolved();
    loop {
        match node.op() {
            Op::Const(_) => return true,
            Op::Alu(_) | Op::Cast(_) | Op::Bitcast(_) => {}
            op if op.is_movement() && !matches!(op, Op::Pad(..)) => {}
            _ => return false,
        }
        let Some(first) = node.sources().first().cloned() else { return false };
        node = first;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::tensor::Tensor;

    #[test]
    fn a_state_of_equal_numbers_is_kept_where_one_of_them_is_read() {
        let mut x = Tensor::full(&[4], 0.0, Some(svod_dtype::DType::F32)).unwrap();
        let mut wanted = 0.0f32;
        for i in 0..6 {
            x = x.mul(0.5).unwrap().add(i as f32).unwrap();
            wanted = wanted * 0.5 + i as f32;
            assert_eq!(x.get(&[1.into()]).unwrap().item::<f32>().unwrap(), wanted);
            assert!(x.is_realized());
        }
        assert_eq!(x.to_vec::<f32>().unwrap(), [wanted; 4]);
        // Numbers that are only repeated stay numbers.
        let ones = Tensor::full(&[4], 1.0, Some(svod_dtype::DType::F32)).unwrap();
        assert_eq!(ones.add(1.0).unwrap().get(&[0.into()]).unwrap().item::<f32>().unwrap(), 2.0);
        assert!(!ones.is_realized());
    }
}
