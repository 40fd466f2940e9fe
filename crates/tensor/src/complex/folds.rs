//! Products, scans and contractions of complex values, of those of their parts.

use svod_dtype::DType;
use svod_ir::graph::UOp;
use svod_ir::size::Size;

use super::{constant, joined, part};
use crate::error::{Result, TensorError};
use crate::tensor::Tensor;

/// What `of` makes of complex operands, given what it makes of real ones, if it is linear in each of them: the sum over all
/// choices of a part of each operand, times as many i as there are imaginary ones.
pub(crate) fn multilinear(
    operands: &[&Tensor],
    dtype: DType,
    of: &dyn Fn(&[&Tensor]) -> Result<Tensor>,
) -> Result<Tensor> {
    let mut choices: Vec<(Vec<Tensor>, usize)> = vec![(Vec::new(), 0)];
    for operand in operands {
        let parts = parts(operand, dtype)?;
        let with = |(chosen, turns): &(Vec<Tensor>, usize)| {
            let one = |(at, part): (usize, &Tensor)| ([&chosen[..], std::slice::from_ref(part)].concat(), turns + at);
            parts.iter().enumerate().map(one).collect::<Vec<_>>()
        };
        choices = choices.iter().flat_map(with).collect();
    }
    let mut sums: [Option<Tensor>; 2] = [None, None];
    for (chosen, turns) in choices {
        let term = of(&chosen.iter().collect::<Vec<_>>())?;
        let sum = &mut sums[turns % 2];
        *sum = Some(match sum.take() {
            None => term,
            Some(sum) if turns % 4 > 1 => sum.sub(term)?,
            Some(sum) => sum.add(term)?,
        });
    }
    match sums {
        [Some(re), Some(im)] => Ok(Tensor::from_uop(joined(&re.uop(), &im.uop())?)),
        [re, im] => re.or(im).map_or_else(|| of(&[]), |real| real.cast(dtype)),
    }
}

/// The parts of an operand, of a real one itself, in the type of parts.
fn parts(operand: &Tensor, dtype: DType) -> Result<Vec<Tensor>> {
    let node = operand.uop();
    if !node.dtype().is_complex() {
        return Ok(vec![operand.cast(dtype.real())?]);
    }
    let pair = node.cast(dtype)?.as_real()?;
    (0..2).map(|at| Ok(Tensor::from_uop(part(&pair, at)?))).collect()
}

/// The product along some axes, which vanish: of both halves, until one element is left.
///
/// # Errors
/// Axes of symbolic extents.
pub(crate) fn product(value: &UOp, axes: &[usize]) -> Result<UOp> {
    let kept: Vec<usize> = (0..value.rank()).filter(|axis| !axes.contains(axis)).collect();
    let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
    let shape: Vec<Size> = kept.iter().map(|axis| value.shape()[*axis].clone()).collect();
    let count: Size = axes.iter().map(|axis| value.shape()[*axis].clone()).product();
    let Some(mut count) = count.as_usize() else {
        let message = format!("products of complex numbers along an axis of extent {count}, which is a variable");
        return Err(TensorError::unsupported("prod", message));
    };
    let flat = |count: usize| shape.iter().cloned().chain([Size::from(count)]).collect::<Vec<_>>();
    let ones = |count: usize| -> Result<Tensor> {
        Ok(Tensor::from_uop(constant(value.dtype(), 1.0, 0.0)?.expand(flat(count))?))
    };
    if count == 0 {
        return Ok(ones(1)?.uop().reshape(shape.clone())?);
    }
    let mut rest = Tensor::from_uop(value.permute(&order)?.reshape(flat(count))?);
    while count > 1 {
        let half = count.div_ceil(2);
        let mut second = rest.narrow(-1, half, count - half)?;
        if count % 2 == 1 {
            second = Tensor::from_uop(UOp::concat(&[second.uop(), ones(1)?.uop()], shape.len())?);
        }
        rest = rest.narrow(-1, 0, half)?.mul(second)?;
        count = half;
    }
    Ok(rest.uop().reshape(shape)?)
}

/// The products of the elements up to each one along an axis, or of those before it. The products of blocks of 1, 2, 4, … elements are
/// multiplied by those before them (Hillis and Steele 1986).
pub(crate) fn running_product(value: &UOp, axis: usize, inclusive: bool) -> Result<Tensor> {
    let mut products = Tensor::from_uop(value.clone());
    let extent = value.shape()[axis].clone();
    let last = extent.bounds().1;
    let one = Tensor::from_uop(constant(value.dtype(), 1.0, 0.0)?);
    // Those so many positions before, ones where there are none.
    let moved = |products: &Tensor, step: i64| {
        let mut shape = value.shape().to_vec();
        shape[axis] = Size::from(step);
        let ones = Tensor::from_uop(one.uop().expand(shape)?);
        let all = Tensor::from_uop(UOp::concat(&[ones.uop(), products.uop()], axis)?);
        all.narrow(axis as i64, 0, extent.clone())
    };
    let mut step = 1i64;
    while step < last {
        products = products.mul(moved(&products, step)?)?;
        step *= 2;
    }
    if inclusive { Ok(products) } else { moved(&products, 1) }
}
