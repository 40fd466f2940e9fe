//! Derivatives of lookups and writes at positions.

use svod_dtype::Const;
use svod_ir::graph::UOp;
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

use super::algebra::{choose, div, equal, mul, number, only, sub, zeros};
use super::table::Step;
use crate::error::Result;

/// That of `x` indexed along an axis by positions of any shape: each element goes back to where it was read, and sums.
pub fn taken(x: &UOp, index: &UOp, g: &UOp, axis: usize) -> Result<UOp> {
    let count: Size = index.shape().iter().product();
    let mut shape = x.shape().to_vec();
    shape[axis] = count.clone();
    let mut along = vec![Size::ONE; x.rank() - axis];
    along[0] = count;
    let index = index.reshape(along)?.expand(shape.clone())?;
    Ok(zeros(x)?.scatter(axis, &index, &g.reshape(shape)?, Some(Monoid::Sum))?)
}

/// That of a value into which others were written or combined, by that value (operand 0) or by the others (2).
pub fn scattered(step: &Step<'_>, axis: usize, by: Option<Monoid>, i: usize) -> Result<UOp> {
    let Step { y, x, g, .. } = *step;
    let (base, index, values) = (&x[0], &x[1], &x[2]);
    match by {
        None if i == 0 => Ok(g.scatter(axis, index, &zeros(values)?, None)?),
        Some(Monoid::Sum) if i == 0 => Ok(g.clone()),
        Some(Monoid::Sum) => Ok(g.gather(axis, index)?),
        None => {
            // Of several that go to one place the last one stays: its number is the one that is found there.
            let count: Size = values.shape().iter().product();
            let own = UOp::range(count)?.reshape(values.shape().to_vec())?;
            let nobody = UOp::full(Const::zero(own.dtype()), base.shape_arc())?;
            let last = nobody.scatter(axis, index, &own, None)?.gather(axis, index)?;
            only(&equal(&last, &own)?, &g.gather(axis, index)?)
        }
        Some(Monoid::Prod) => {
            // The product of all others: without the zeros where there is none. Where there is one, that is a factor, for the
            // sake of second derivatives.
            let one = |of: &UOp| number(of, 1.0);
            let is_zero = |of: &UOp| equal(of, &zeros(of)?);
            let (base_zero, value_zero) = (is_zero(base)?, is_zero(values)?);
            let rest = choose(&base_zero, &one(base)?, base)?;
            let rest = rest.scatter(axis, index, &choose(&value_zero, &one(values)?, values)?, Some(Monoid::Prod))?;
            let count = base_zero.cast(base.dtype())?;
            let count = count.scatter(axis, index, &value_zero.cast(base.dtype())?, Some(Monoid::Sum))?;
            let (own, own_zero) = if i == 0 { (base, &base_zero) } else { (values, &value_zero) };
            let at = |of: &UOp| if i == 0 { Ok(of.clone()) } else { of.gather(axis, index) };
            let others = sub(&at(&count)?, &own_zero.cast(base.dtype())?)?;
            let product = div(&at(&rest)?, &choose(own_zero, &one(own)?, own)?)?;
            let of_zeros =
                only(&base_zero, base)?.scatter(axis, index, &only(&value_zero, values)?, Some(Monoid::Sum))?;
            let zero = mul(&product, &sub(&at(&of_zeros)?, &only(own_zero, own)?)?)?;
            let is_one = equal(&others, &number(&others, 1.0)?)?;
            mul(&at(g)?, &choose(&is_zero(&others)?, &product, &only(&is_one, &zero)?)?)
        }
        Some(_) => {
            // Those that are the extremum share what comes, equally.
            let (is_base, is_value) = (equal(base, y)?, equal(values, &y.gather(axis, index)?)?);
            let count = is_base.cast(base.dtype())?;
            let count = count.scatter(axis, index, &is_value.cast(base.dtype())?, Some(Monoid::Sum))?;
            let share = div(g, &count)?;
            if i == 0 { only(&is_base, &share) } else { only(&is_value, &share.gather(axis, index)?) }
        }
    }
}
