//! Lookups by tensors of integers. Negative indices count from the end.
//!
//! An index whose values are in memory is checked when the operation is built. Any other one is
//! masked: outside of its dimension it reads 0.

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{Op, UOp};
use svod_ir::size::Size;

use crate::error::{Result, TensorError, show_operands};
use crate::extremes;
use crate::operand::{axis_of, need_int, size_value};
use crate::read::{host_elements, is_known};
use crate::tensor::Tensor;

impl Tensor {
    /// `axis` indexed by `index` of any shape, which takes its place.
    pub fn take(&self, index: &Tensor, axis: i64) -> Result<Tensor> {
        self.taken("take", index, axis)
    }

    /// [`Tensor::take`] for `op`, which errors name.
    pub(crate) fn taken(&self, op: &'static str, index: &Tensor, axis: i64) -> Result<Tensor> {
        let node = self.uop();
        let axis = axis_of(op, axis, node.rank())?;
        let index = from_start(op, &index.uop(), axis, &node.shape()[axis])?;
        Ok(Tensor::from_uop(node.take(axis, &index)?))
    }

    /// The slices of `axis` at a 1-d `index`.
    pub fn index_select(&self, axis: i64, index: &Tensor) -> Result<Tensor> {
        let op = "index_select";
        if index.rank() != 1 {
            let given = show_operands(&[index.uop()]);
            return Err(TensorError::shape(op, format!("the index must be 1-d, not {given}")));
        }
        if let Some(line) = self.as_line(axis)? {
            return line.taken(op, index, 0)?.reshape(&[] as &[Size]);
        }
        self.taken(op, index, axis)
    }

    /// For each element of `index` the element of `self` at its position but, along `axis`, at its
    /// value. Off `axis`, `index` may be smaller than `self`.
    pub fn gather(&self, axis: i64, index: &Tensor) -> Result<Tensor> {
        if let Some(line) = self.as_line(axis)? {
            let at = if index.rank() == 0 { index.reshape(&[Size::ONE])? } else { Tensor::from_uop(index.uop()) };
            return line.gather(0, &at)?.reshape(&index.shape());
        }
        let (op, node) = ("gather", self.uop());
        let axis = axis_of(op, axis, node.rank())?;
        let index = from_start(op, &index.uop(), axis, &node.shape()[axis])?;
        Ok(Tensor::from_uop(node.gather(axis, &index)?))
    }

    /// As [`Tensor::gather`], with `self` and `index` broadcast off `axis`.
    pub fn take_along_dim(&self, index: &Tensor, axis: i64) -> Result<Tensor> {
        let (op, node, index) = ("take_along_dim", self.uop(), index.uop());
        let at = axis_of(op, axis, node.rank())?;
        if index.rank() != node.rank() {
            let given = show_operands(&[node, index]);
            return Err(TensorError::shape(op, format!("operands must have one rank: {given}")));
        }
        let off_axis = |n: &UOp| {
            let mut shape = n.shape().to_vec();
            shape[at] = Size::ONE;
            UOp::full(Const::zero(DType::Bool), &shape.into())
        };
        let common = crate::operand::broadcast_shape(op, &[off_axis(&node)?, off_axis(&index)?])?;
        let expanded = |n: &UOp| {
            let mut shape = common.to_vec();
            shape[at] = n.shape()[at].clone();
            n.expand(shape)
        };
        check(op, &index, at, &node.shape()[at])?;
        Tensor::from_uop(expanded(&node)?).gather(axis, &Tensor::from_uop(expanded(&index)?))
    }
}

/// Indices counted from 0, checked where their values are known.
pub(crate) fn from_start(op: &'static str, index: &UOp, axis: usize, extent: &Size) -> Result<UOp> {
    need_int(op, "the index", index)?;
    check(op, index, axis, extent)?;
    if index.dtype().is_unsigned() {
        return Ok(index.clone());
    }
    // Also where no value is negative now: a plan may be given others for the same graph.
    let index = index.cast(DType::I64)?;
    let shape = index.shape_arc();
    let zero = UOp::full(Const::zero(DType::I64), shape)?;
    let wrapped = UOp::alu(Alu::Add, &[index.clone(), size_value(extent)?.expand(shape.clone())?])?;
    let negative = UOp::alu(Alu::Lt, &[index.clone(), zero])?;
    Ok(UOp::alu(Alu::Where, &[negative, wrapped, index])?)
}

/// An error where a known index is outside of its dimension.
pub(crate) fn check(op: &'static str, index: &UOp, axis: usize, extent: &Size) -> Result<()> {
    let Some(known) = extent.upper_bound().map(i128::from) else { return Ok(()) };
    let is_outside = |i: &i128| *i >= known || *i < -known;
    let outside = match (index.uniform(), index.op()) {
        (Some(value), _) if index.numel() != Size::ZERO => Some(value.as_i128()).filter(is_outside),
        (_, Op::Leaf(leaf)) if is_known(leaf) => match extremes::of_leaf(leaf)? {
            Some(extremes) if extremes.iter().any(is_outside) => {
                host_elements(leaf)?.into_iter().map(Const::as_i128).find(is_outside)
            }
            _ => None,
        },
        _ => None,
    };
    match outside {
        Some(index) => Err(TensorError::Index { op, index: index as i64, axis, extent: extent.clone(), line: None }),
        None => Ok(()),
    }
}
