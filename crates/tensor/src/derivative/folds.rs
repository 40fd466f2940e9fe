//! Derivatives of folds and scans.

use std::sync::Arc;

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::UOp;
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

use super::algebra::{both, choose, div, equal, inverse, mul, number, only, padded, positions, repeated, sum, zeros};
use super::given::derived;
use crate::error::Result;
use crate::tensor::Tensor;

/// That of a maximum or minimum `y` along axes: the elements that are it share what comes, equally. It is NaN where `y` is.
pub fn extremum(x: &UOp, y: &UOp, g: &UOp, axes: &[usize]) -> Result<UOp> {
    let found = equal(x, &repeated(y, axes, x)?)?;
    let count = sum(&found.cast(x.dtype())?, axes)?;
    let rest = choose(&equal(y, y)?, &zeros(y)?, &number(y, f64::NAN)?)?;
    choose(&found, &repeated(&div(g, &count)?, axes, x)?, &repeated(&rest, axes, x)?)
}

/// The maximum `value` of rows along their last dimension, whose derivative goes to the first element that is it. Elements that
/// are not `inside` are none of a row.
///
/// # Errors
/// None that a program could make.
pub fn first_maximum(name: &str, value: &UOp, rows: &UOp, inside: Option<UOp>) -> Result<UOp> {
    let axis = rows.rank() - 1;
    let pull = move |g: &UOp, rows: &UOp, value: &UOp| -> Result<UOp> {
        let is_nan = UOp::alu(Alu::Ne, &[rows.clone(), rows.clone()])?;
        let found = UOp::alu(Alu::Or, &[equal(rows, &repeated(value, &[axis], rows)?)?, is_nan])?;
        let found = if let Some(inside) = &inside { both(&found, inside)? } else { found };
        let first = found.reduce(Monoid::ArgMax, &[axis])?;
        let is_first = equal(&positions(rows, axis)?, &repeated(&first, &[axis], rows)?)?;
        only(&is_first, &repeated(g, &[axis], rows)?)
    };
    derived(name, value, &[rows.clone(), value.clone()], move |g, now| {
        let part = pull(&g.uop(), &now.operands[0], &now.operands[1]);
        part.map(|part| vec![Some(Tensor::from_uop(part)), None]).map_err(|error| Arc::new(error) as _)
    })
}

/// That of a product along axes: at each element the product of all others, those before it times those after it.
pub fn product(x: &UOp, g: &UOp, axes: &[usize]) -> Result<UOp> {
    // The axes as one, the last.
    let kept: Vec<usize> = (0..x.rank()).filter(|axis| !axes.contains(axis)).collect();
    let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
    let moved = x.permute(&order)?;
    let mut shape = moved.shape()[..kept.len()].to_vec();
    shape.push(moved.shape()[kept.len()..].iter().product());
    let (rows, axis) = (moved.reshape(shape)?, kept.len());
    let before = rows.scan(Monoid::Prod, axis, false)?;
    let after = rows.flip(&[axis])?.scan(Monoid::Prod, axis, false)?.flip(&[axis])?;
    let others = mul(&before, &after)?.reshape(moved.shape_arc().clone())?;
    mul(&repeated(g, axes, x)?, &others.permute(&inverse(&order))?)
}

/// That of running products along an axis.
///
/// The product up to `k` changes with element `i` by itself divided by that element, so that the sum over `k` is one scan
/// from the end. Where an element is 0, all products from there on are; only the first such element has a
/// derivative, by the products without it. That of the second one is 0 as well, but changes with the first: it is written
/// as a multiple of that, for the sake of second derivatives.
pub fn running_product(x: &UOp, g: &UOp, axis: usize, inclusive: bool) -> Result<UOp> {
    let g = if inclusive { g.clone() } else { shifted_back(g, axis)? };
    let from_end =
        |a: &UOp| Ok::<UOp, crate::TensorError>(a.flip(&[axis])?.scan(Monoid::Sum, axis, true)?.flip(&[axis])?);
    let one = UOp::full(Const::one(x.dtype()), x.shape_arc())?;
    let is_zero = equal(x, &zeros(x)?)?;
    let earlier = is_zero.cast(DType::I64)?.scan(Monoid::Sum, axis, false)?;
    let is_nth = |n: i64| {
        let before = UOp::full(Const::i64(DType::I64, n), x.shape_arc())?;
        both(&is_zero, &equal(&earlier, &before)?)
    };
    let (is_first, is_second) = (is_nth(0)?, is_nth(1)?);
    let products = x.scan(Monoid::Prod, axis, true)?;
    let usual = div(&from_end(&mul(&g, &products)?)?, &choose(&is_zero, &one, x)?)?;
    let others = choose(&is_first, &one, x)?;
    let at_first = from_end(&mul(&g, &others.scan(Monoid::Prod, axis, true)?)?)?;
    let others = choose(&is_second, &one, &others)?;
    let first = only(&is_first, x)?.scan(Monoid::Sum, axis, true)?;
    let at_second = mul(&first, &from_end(&mul(&g, &others.scan(Monoid::Prod, axis, true)?)?)?)?;
    let usual = only(&equal(&is_zero, &zeros(&is_zero)?)?, &usual)?;
    choose(&is_first, &at_first, &choose(&is_second, &at_second, &usual)?)
}

/// That of running maxima or minima along an axis: each goes to the last element so far that is it.
pub fn running_extremum(x: &UOp, g: &UOp, by: Monoid, axis: usize, inclusive: bool) -> Result<UOp> {
    let g = if inclusive { g.clone() } else { shifted_back(g, axis)? };
    let so_far = x.scan(by, axis, true)?;
    let at = positions(x, axis)?;
    let none = UOp::full(Const::i64(DType::I64, -1), x.shape_arc())?;
    // NaN is what it meets from there on: its first position stays.
    let is_nan = UOp::alu(Alu::Ne, &[x.clone(), x.clone()])?;
    let earlier = is_nan.cast(DType::I64)?.scan(Monoid::Sum, axis, false)?;
    let first_nan = both(&is_nan, &equal(&earlier, &zeros(&earlier)?)?)?;
    let is_it = UOp::alu(Alu::Or, &[equal(x, &so_far)?, first_nan])?;
    let from = choose(&is_it, &at, &none)?.scan(Monoid::Max, axis, true)?;
    Ok(zeros(x)?.scatter(axis, &from, &g, Some(Monoid::Sum))?)
}

/// Of cotangents of results that each leave its own element out, those of the results with it.
fn shifted_back(g: &UOp, axis: usize) -> Result<UOp> {
    let n = &g.shape()[axis];
    if *n == Size::ZERO {
        return Ok(g.clone());
    }
    let kept =
        (0..g.rank()).map(|i| if i == axis { (Size::ONE, n.clone()) } else { (Size::ZERO, g.shape()[i].clone()) });
    padded(&g.shrink(kept.collect::<Vec<_>>())?, axis, Size::ZERO, Size::ONE)
}
