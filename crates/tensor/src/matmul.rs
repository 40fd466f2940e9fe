//! Contractions.

use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::graph::{Shape, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

use crate::complex;
use crate::error::{Result, TensorError, show_operands};
use crate::memory::as_computed;
use crate::operand::{Operand, common_dtype, common_shape};
use crate::reduce::{carried_in, folded};
use crate::tensor::Tensor;

impl Tensor {
    /// The matrix product over the last dimension of `self` and the last but one of `other`, with
    /// NumPy's rules: other dimensions broadcast, a 1-d operand is a row or a column that
    /// vanishes from the result. Narrow floats are summed in `float32`.
    pub fn matmul(&self, other: &Tensor) -> Result<Tensor> {
        let dtype = common_dtype("matmul", &[Operand::from(self), Operand::from(other)])?;
        if dtype.is_complex() {
            return complex::multilinear(&[self, other], dtype, &|parts| parts[0].matmul(parts[1]));
        }
        let (a, b) = (self.uop(), other.uop());
        product(&a, &b, dtype).or_else(|misfit| match as_computed(&[a, b]).as_deref() {
            Some([a, b]) => product(a, b, dtype).map_err(|_| misfit),
            _ => Err(misfit),
        })
    }

    /// As [`Tensor::matmul`].
    pub fn dot(&self, other: &Tensor) -> Result<Tensor> {
        self.matmul(other)
    }

    /// The products of each element of one 1-d tensor with each of another.
    pub fn outer(&self, other: &Tensor) -> Result<Tensor> {
        if self.rank() != 1 || other.rank() != 1 {
            let given = show_operands(&[self.uop(), other.uop()]);
            return Err(TensorError::shape("outer", format!("needs 1-d operands, not {given}")));
        }
        self.unsqueeze(1)?.mul(other)
    }
}

/// The product of two operands, multiplied in this type.
fn product(a: &UOp, b: &UOp, dtype: DType) -> Result<Tensor> {
    let misfit = |why: &str| {
        let given = show_operands(&[a.clone(), b.clone()]);
        Err(TensorError::shape("matmul", format!("{given}: {why}")))
    };
    if a.rank() == 0 || b.rank() == 0 {
        return misfit("operands need at least 1 dimension");
    }
    // Both as [batch.., row, column].
    let left = if a.rank() == 1 { a.reshape([Size::ONE, a.shape()[0].clone()])? } else { a.clone() };
    let right = if b.rank() == 1 { b.reshape([b.shape()[0].clone(), Size::ONE])? } else { b.clone() };
    let (left_batch, left_matrix) = left.shape().split_at(left.rank() - 2);
    let (right_batch, right_matrix) = right.shape().split_at(right.rank() - 2);
    let (m, k, n) = (left_matrix[0].clone(), left_matrix[1].clone(), right_matrix[1].clone());
    match k.eq(&right_matrix[0]) {
        Some(true) => {}
        Some(false) => return misfit(&format!("inner extents {k} and {} differ", right_matrix[0])),
        None => return misfit(&format!("whether {k} and {} are equal cannot be decided", right_matrix[0])),
    }

    let with = |batch: &[Size], matrix: [&Size; 3]| -> Vec<Size> { batch.iter().chain(matrix).cloned().collect() };
    let one = Size::ONE;
    let rows = left.reshape(with(left_batch, [&m, &one, &k]))?;
    let mut order: Vec<usize> = (0..right.rank()).collect();
    order.swap(right.rank() - 2, right.rank() - 1);
    let columns = right.permute(&order)?.reshape(with(right_batch, [&one, &n, &k]))?;
    let shape: Shape = match common_shape(&[rows.shape(), columns.shape()]) {
        Ok(shape) => shape.into(),
        Err(why) => return misfit(&format!("dimensions before the last two do not broadcast, {why}")),
    };
    // Bools multiply by `and` and add by `or`.
    let carried = if dtype.is_float() { carried_in(dtype) } else { dtype };
    let operands = [rows.cast(carried)?.expand(shape.clone())?, columns.cast(carried)?.expand(shape.clone())?];
    let product = UOp::alu(Alu::Mul, &operands)?;
    let by = if dtype.is_bool() { Monoid::Any } else { Monoid::Sum };
    let sum = folded(&product, by, &[shape.len() - 1])?;

    let batch = &sum.shape()[..sum.rank() - 2];
    let mut result = batch.to_vec();
    result.extend((a.rank() > 1).then_some(m));
    result.extend((b.rank() > 1).then_some(n));
    Ok(Tensor::from_uop(sum.reshape(result)?.cast(dtype)?))
}
