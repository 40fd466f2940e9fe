//! The few operations that derivatives are written in. Operands have one type and one shape.

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{Pairs, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

use crate::error::Result;
use crate::reduce::carried_in;

/// A number of the type and shape of a value.
pub fn number(like: &UOp, value: f64) -> Result<UOp> {
    Ok(UOp::full(Const::f64(like.dtype(), value), like.shape_arc())?)
}

/// Zeros of the type and shape of a value.
pub fn zeros(like: &UOp) -> Result<UOp> {
    Ok(UOp::full(Const::zero(like.dtype()), like.shape_arc())?)
}

macro_rules! operations {
    ($($name:ident($($operand:ident),+) $alu:ident;)*) => {
        $(pub fn $name($($operand: &UOp),+) -> Result<UOp> {
            let operands = [$($operand),+].map(UOp::clone);
            Ok(UOp::alu(Alu::$alu, &operands)?)
        })*
    };
}

operations! {
    neg(a) Neg;
    sub(a, b) Sub;
    mul(a, b) Mul;
    div(a, b) Div;
    equal(a, b) Eq;
    less(a, b) Lt;
    both(a, b) And;
    choose(condition, a, b) Where;
}

/// The sum; of complex values, as cotangents may be, that of their pairs.
pub fn add(a: &UOp, b: &UOp) -> Result<UOp> {
    if a.dtype().is_complex() {
        return Ok(add(&a.as_real()?, &b.as_real()?)?.as_complex()?);
    }
    Ok(UOp::alu(Alu::Add, &[a.clone(), b.clone()])?)
}

/// `a` where the condition holds, else 0.
pub fn only(condition: &UOp, a: &UOp) -> Result<UOp> {
    choose(condition, a, &zeros(a)?)
}

/// `a` times a number.
pub fn scaled(a: &UOp, by: f64) -> Result<UOp> {
    mul(a, &number(a, by)?)
}

/// The sum along some axes, which vanish; carried as sums of users are.
pub fn sum(a: &UOp, axes: &[usize]) -> Result<UOp> {
    if axes.is_empty() {
        return Ok(a.clone());
    }
    if axes.iter().any(|axis| a.shape()[*axis] == Size::ZERO) {
        let kept: Vec<Size> = (0..a.rank()).filter(|i| !axes.contains(i)).map(|i| a.shape()[i].clone()).collect();
        return Ok(UOp::full(Const::zero(a.dtype()), &kept.into())?);
    }
    let carried = if a.dtype().is_float() { carried_in(a.dtype()) } else { a.dtype() };
    Ok(a.cast(carried)?.reduce(Monoid::Sum, axes)?.cast(a.dtype())?)
}

/// What a fold along `axes` of `source` gave, at each element that was folded.
pub fn repeated(folded: &UOp, axes: &[usize], source: &UOp) -> Result<UOp> {
    let kept = |(i, n): (usize, &Size)| if axes.contains(&i) { Size::ONE } else { n.clone() };
    let shape: Vec<Size> = source.shape().iter().enumerate().map(kept).collect();
    Ok(folded.reshape(shape)?.expand(source.shape_arc().clone())?)
}

/// The positions along an axis, `i64`, of the shape of a value.
pub fn positions(like: &UOp, axis: usize) -> Result<UOp> {
    let mut along = vec![Size::ONE; like.rank() - axis];
    along[0] = like.shape()[axis].clone();
    Ok(UOp::range(like.shape()[axis].clone())?.reshape(along)?.expand(like.shape_arc().clone())?)
}

/// A dimension with zeros before and after.
pub fn padded(a: &UOp, axis: usize, before: Size, after: Size) -> Result<UOp> {
    let by: Pairs = (0..a.rank())
        .map(|i| if i == axis { (before.clone(), after.clone()) } else { (Size::ZERO, Size::ZERO) })
        .collect();
    Ok(a.pad(by, Const::zero(a.dtype()))?)
}

/// The order of axes that undoes a permutation.
pub fn inverse(order: &[usize]) -> Vec<usize> {
    let mut back = vec![0; order.len()];
    order.iter().enumerate().for_each(|(to, from)| back[*from] = to);
    back
}

/// Whether derivatives by values of this type exist.
pub fn is_differentiable(dtype: DType) -> bool {
    dtype.is_inexact()
}
