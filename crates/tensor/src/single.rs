//! Few operations on single elements of memory, which are computed where the result is read: a kernel that does so little takes
//! less time than finding it.
//!
//! A program that goes through the elements of a tensor, as Python's `min` and `sorted` do, asks for the truth of a comparison at
//! each step. What kernels compute differently from the reference arithmetic, to the last bit, is left to them: transcendental
//! functions, and floats that are rounded more than once, of which a kernel may round a product and a sum together.

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{Op, UOp};
use svod_runtime::PrepareConfig;

use crate::error::Result;
use crate::pieces;

/// Nodes that are looked at at most.
const MOST: usize = 64;

/// What is left to do.
struct Budget {
    nodes: usize,
    /// Whether a float may still be rounded.
    rounds: bool,
}

/// The only element of a node that follows, by few operations, from numbers and elements of memory that does not change; none
/// of any other node.
pub(crate) fn value(node: &UOp) -> Result<Option<Const>> {
    if node.trace() != 0 || node.numel().as_const() != Some(1) || node.dtype().is_complex() {
        return Ok(None);
    }
    let found = Budget { nodes: MOST, rounds: true }.value(node)?;
    // Who looks for NaN is told by a run.
    Ok(found.filter(|value| !value.is_nan() || node.op().leaf().is_some() || !PrepareConfig::of_reads().detect_nan))
}

/// The same where no float is rounded on the way.
pub(crate) fn unrounded(node: &UOp) -> Result<Option<Const>> {
    match node.numel().as_const() == Some(1) && !node.dtype().is_complex() {
        true => Budget { nodes: MOST, rounds: false }.value(node),
        false => Ok(None),
    }
}

impl Budget {
    fn value(&mut self, node: &UOp) -> Result<Option<Const>> {
        let Some(left) = self.nodes.checked_sub(1) else { return Ok(None) };
        self.nodes = left;
        let node = node.resolved();
        match node.op() {
            Op::Const(value) => Ok(Some(*value)),
            // What is not chosen is not looked at.
            Op::Alu(Alu::Where) => {
                let [condition, one, other] = &node.sources()[..] else { return Ok(None) };
                match self.value(condition)? {
                    Some(holds) => self.value(if holds.as_bool() { one } else { other }),
                    None => Ok(None),
                }
            }
            Op::Alu(alu) if self.may(*alu, &node) => {
                let mut operands = [Const::bool(false); 3];
                for (operand, source) in operands.iter_mut().zip(node.sources()) {
                    let Some(value) = self.value(&source)? else { return Ok(None) };
                    *operand = value;
                }
                Ok(alu.eval(&operands[..alu.arity()]))
            }
            Op::Cast(to) if !to.is_complex() => {
                let Some(source) = node.source().filter(|source| !source.dtype().is_complex()) else { return Ok(None) };
                Ok(self.value(&source)?.map(|value| value.cast(*to)))
            }
            // A position outside is an error of who looks it up.
            Op::Take(_) => {
                let [of, at] = &node.sources()[..] else { return Ok(None) };
                let Some(at) = self.value(at)? else { return Ok(None) };
                match usize::try_from(at.as_i128()) {
                    Ok(at) => pieces::nth(of, at),
                    Err(_) => Ok(None),
                }
            }
            Op::Leaf(_) | Op::Shrink(_) | Op::Reshape(_) | Op::Permute(_) | Op::Flip(_) | Op::Expand(_) => {
                if let Some(value) = pieces::element(&node)? {
                    return Ok(Some(value));
                }
                match node.source().filter(|source| source.numel().as_const() == Some(1)) {
                    Some(source) => self.value(&source),
                    None => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    /// Whether the reference arithmetic gives the bits of a kernel.
    fn may(&mut self, alu: Alu, node: &UOp) -> bool {
        let is_float = node.dtype().is_float();
        match alu {
            Alu::Neg | Alu::Abs | Alu::Not | Alu::And | Alu::Or | Alu::Xor => true,
            // Of zeros of both signs a kernel gives either.
            Alu::Max | Alu::Min => !is_float,
            Alu::Lt | Alu::Le | Alu::Eq | Alu::Ne => true,
            Alu::Add | Alu::Sub | Alu::Mul | Alu::Div | Alu::Sqrt if is_float => {
                matches!(node.dtype(), DType::F32 | DType::F64) && std::mem::replace(&mut self.rounds, false)
            }
            Alu::Add | Alu::Sub | Alu::Mul => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::tensor::Tensor;

    fn read(tensor: Tensor) -> Option<f64> {
        value(&tensor.uop()).unwrap().map(Const::as_f64)
    }

    #[test]
    fn elements_are_computed_with() {
        let x = Tensor::from_slice(&[1.5f32, -2.0, 4.0, f32::NAN], &[2, 2]).unwrap();
        let at = |i: i64, j: i64| x.get(&[i.into(), j.into()]).unwrap();
        assert_eq!(read(at(1, 0)), Some(4.0));
        assert_eq!(read(at(0, 0).lt(at(1, 0)).unwrap()), Some(1.0));
        let number = |i: i64, j: i64| at(i, j).cast(DType::I32).unwrap();
        assert_eq!(read(number(0, 0).maximum(number(0, 1)).unwrap().ne(0).unwrap()), Some(1.0));
        assert_eq!(read(at(0, 1).mul(at(0, 0)).unwrap()), Some(-3.0));
        assert_eq!(read(at(0, 1).abs().unwrap().cast(DType::I64).unwrap().mul(3).unwrap().add(1).unwrap()), Some(7.0));
        assert!(!x.get(&[0.into(), 0.into()]).unwrap().mul(2.0).unwrap().is_realized());
    }

    #[test]
    fn what_kernels_round_otherwise_is_theirs() {
        let x = Tensor::from_slice(&[1.5f32, -2.0], &[2]).unwrap();
        let at = |i: i64| x.get(&[i.into()]).unwrap();
        assert_eq!(read(at(0).mul(at(1)).unwrap().add(at(0)).unwrap()), None);
        assert_eq!(read(at(0).exp().unwrap()), None);
        // Of zeros of both signs.
        assert_eq!(read(at(0).maximum(at(1)).unwrap()), None);
        assert_eq!(read(at(0).cast(DType::F16).unwrap().add(at(1).cast(DType::F16).unwrap()).unwrap()), None);
        assert_eq!(read(x.add(1).unwrap()), None);
        // Of many operations a kernel is made.
        let mut long = at(0).cast(DType::I32).unwrap();
        for _ in 0..MOST {
            long = long.add(at(1).cast(DType::I32).unwrap()).unwrap();
        }
        assert_eq!(read(long.clone()), None);
        assert_eq!(long.item::<i32>().unwrap(), 1 - 2 * MOST as i32);
    }
}
