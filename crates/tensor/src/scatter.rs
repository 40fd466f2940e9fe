//! Writes at positions that data give, and the positions that a mask gives.
//!
//! Points are combined in row-major order of the index, whatever the number of threads: of several
//! written to one element the last one stays, and sums associate in one way.

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::UOp;
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

use crate::error::{Result, TensorError, show, show_operands};
use crate::gather::{check, from_start};
use crate::index::Index;
use crate::operand::{Operand, axis_of, broadcast};
use crate::reduce::carried_in;
use crate::tensor::Tensor;

/// How [`Tensor::scatter_reduce`] combines what meets at one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The sum.
    Sum,
    /// The product.
    Prod,
    /// The maximum, NaN where there is one.
    Max,
    /// The minimum, NaN where there is one.
    Min,
    /// The mean; of integers rounded down.
    Mean,
}

impl Reduction {
    /// The reduction of this name.
    pub fn named(name: &str) -> Option<Reduction> {
        Some(match name {
            "sum" | "add" => Reduction::Sum,
            "prod" | "multiply" => Reduction::Prod,
            "amax" | "max" => Reduction::Max,
            "amin" | "min" => Reduction::Min,
            "mean" => Reduction::Mean,
            _ => return None,
        })
    }

    fn monoid(self) -> Monoid {
        match self {
            Reduction::Sum | Reduction::Mean => Monoid::Sum,
            Reduction::Prod => Monoid::Prod,
            Reduction::Max => Monoid::Max,
            Reduction::Min => Monoid::Min,
        }
    }
}

impl Tensor {
    /// `self` with the elements of `values` written at their position but, along `axis`, at the
    /// value of `index`. Where several go to one element, the last one in row-major order stays.
    pub fn scatter(&self, axis: i64, index: &Tensor, values: impl Into<Operand>) -> Result<Tensor> {
        self.scattered("scatter", axis, index, values.into(), None)
    }

    /// As [`Tensor::scatter`], added to what is there.
    pub fn scatter_add(&self, axis: i64, index: &Tensor, values: impl Into<Operand>) -> Result<Tensor> {
        self.scatter_reduce_as("scatter_add", axis, index, values.into(), Reduction::Sum, true)
    }

    /// As [`Tensor::scatter`], combined with what is there or, without `include_self`, only with each
    /// other; elements that no index names stay as they are.
    pub fn scatter_reduce(
        &self,
        axis: i64,
        index: &Tensor,
        values: impl Into<Operand>,
        by: Reduction,
        include_self: bool,
    ) -> Result<Tensor> {
        self.scatter_reduce_as("scatter_reduce", axis, index, values.into(), by, include_self)
    }

    /// The slices of `source` added, each at its element of a 1-d `index` along `axis`.
    pub fn index_add(&self, axis: i64, index: &Tensor, source: &Tensor) -> Result<Tensor> {
        let op = "index_add";
        let index = self.of_slices(op, axis, index, source)?;
        self.scatter_reduce_as(op, axis, &index, source.into(), Reduction::Sum, true)
    }

    /// The slices of `source` written, each at its element of a 1-d `index` along `axis`.
    pub fn index_copy(&self, axis: i64, index: &Tensor, source: &Tensor) -> Result<Tensor> {
        let op = "index_copy";
        let index = self.of_slices(op, axis, index, source)?;
        self.scattered(op, axis, &index, source.into(), None)
    }

    /// Where the elements that are not zero are: their indices along each dimension, in row-major
    /// order. The result's extent depends on the values: they are computed now, and looked at by the
    /// host.
    pub fn nonzero(&self) -> Result<Vec<Tensor>> {
        self.check_known("nonzero")?;
        let extents = self.dims_for("nonzero")?;
        let (mask, _) = self.to_bool()?.snapshot()?;
        let found = mask.with_bytes(|mask| places(mask, &extents))?;
        // Spread, they would be cut as the mask is: they are whole, and go where they are used.
        let tensor = |at: &Vec<u8>| {
            let made = Tensor::literal(at, DType::I64, &[at.len() / PLACE])?;
            if self.sharding().is_some() { Ok(made) } else { made.placed_like(self) }
        };
        found.iter().map(tensor).collect()
    }

    /// The elements where a mask of the same shape holds, 1-d; see [`Tensor::nonzero`].
    pub fn masked_select(&self, mask: &Tensor) -> Result<Tensor> {
        let (given, own) = (mask.shape(), self.shape());
        if !mask.dtype().is_bool() {
            let given = show_operands(&[mask.uop()]);
            return Err(TensorError::dtype("masked_select", format!("a bool mask of {}, not {given}", show(&own))));
        }
        if given != own || own.is_empty() {
            let both = broadcast("masked_select", vec![self.uop(), mask.uop()])?;
            let [own, mask] = [0, 1].map(|i| Tensor::from_uop(both[i].clone()).flatten(0, -1));
            return own?.get(&[Index::Tensor(mask?)]);
        }
        self.get(&[Index::Tensor(mask.clone())])
    }

    /// The values, each once, sorted; see [`Tensor::nonzero`]. Every NaN is a value of its own.
    pub fn unique(&self) -> Result<Tensor> {
        let sorted = self.flatten(0, -1)?.sort(0, false)?;
        let n = sorted.dims_for("unique")?[0] as i64;
        if n < 2 {
            return Ok(sorted);
        }
        let differs = sorted.narrow(0, 1, n - 1)?.ne(sorted.narrow(0, 0, n - 1)?)?;
        let first = Tensor::from_uop(UOp::full(Const::bool(true), &[Size::ONE].into_iter().collect())?);
        sorted.masked_select(&Tensor::cat(&[&first, &differs], 0)?)
    }

    /// `self[index] = value` at an index with tensors of positions, as a value.
    pub(crate) fn with_set(&self, op: &'static str, index: &[Index], value: &UOp) -> Result<UOp> {
        // The flat positions of what the index selects.
        let shape = self.shape();
        let flat = Tensor::from_uop(UOp::range(self.uop().numel())?.reshape(shape.clone())?);
        let at = flat.get(index)?;
        let value = value.expand(at.shape_arc())?;
        let count = vec![at.uop().numel()];
        let (at, value) = (at.reshape(&count)?, Tensor::from_uop(value.reshape(count)?));
        let written = self.flatten(0, -1)?.scattered(op, 0, &at, (&value).into(), None)?;
        Ok(written.reshape(&shape)?.uop())
    }

    fn of_slices(&self, op: &'static str, axis: i64, index: &Tensor, source: &Tensor) -> Result<Tensor> {
        let (at, shape) = (axis_of(op, axis, self.rank().max(1))?, source.shape());
        if self.rank() == 0 && index.rank() == 1 && shape.is_empty() {
            return index.reshape(&[Size::ONE]);
        }
        let fits = index.rank() == 1 && shape.len() == self.rank() && shape[at] == index.shape()[0];
        if !fits {
            let given = show_operands(&[self.uop(), index.uop(), source.uop()]);
            return Err(TensorError::shape(op, format!("a slice of the source for each of a 1-d index: {given}")));
        }
        // Spread over the slices, its values are not known any more.
        check(op, &index.uop(), at, &self.shape()[at])?;
        let mut one = vec![Size::ONE; shape.len()];
        one[at] = shape[at].clone();
        index.reshape(&one)?.expand(&shape)
    }

    fn scattered(
        &self,
        op: &'static str,
        axis: i64,
        index: &Tensor,
        values: Operand,
        by: Option<Monoid>,
    ) -> Result<Tensor> {
        if let Some(line) = self.as_line(axis)? {
            let one: &[Size] = &[Size::ONE];
            let values = match values {
                Operand::Tensor(alone) if alone.rank() == 0 => Operand::Tensor(alone.reshape(one)?),
                values => values,
            };
            return line.scattered(op, 0, &index.reshape(one)?, values, by)?.reshape(&[] as &[Size]);
        }
        let node = self.uop();
        let axis = axis_of(op, axis, node.rank())?;
        let index = from_start(op, &index.uop(), axis, &node.shape()[axis])?;
        let values = values.in_type(op, node.dtype())?;
        let values = if values.rank() == 0 { values.expand(index.shape_arc().clone())? } else { values };
        let written = node.scatter(axis, &index, &values, by);
        Ok(Tensor::from_uop(written.map_err(|error| error.of(op))?))
    }

    /// [`Tensor::scatter_reduce`] for `op`, which errors name.
    pub(crate) fn scatter_reduce_as(
        &self,
        op: &'static str,
        axis: i64,
        index: &Tensor,
        values: Operand,
        by: Reduction,
        include_self: bool,
    ) -> Result<Tensor> {
        let (own, monoid) = (self.dtype(), by.monoid());
        if own.is_bool() {
            return Err(TensorError::dtype(op, "bools have no sum, product or order; use numbers".to_owned()));
        }
        // Narrow floats are summed in a wider type.
        let sums = monoid == Monoid::Sum || monoid == Monoid::Prod;
        let carried = if sums && own.is_float() { carried_in(own) } else { own };
        let values = Operand::Tensor(Tensor::from_uop(values.in_type(op, own)?.cast(carried)?));
        let base = self.cast(carried)?;
        let shape = self.shape_arc();
        let ones = |dtype| Ok::<_, TensorError>(Tensor::from_uop(UOp::full(Const::one(dtype), &shape)?));
        let counts = |start: Tensor| start.scattered(op, axis, index, Operand::Int(1), Some(Monoid::Sum));
        let zeros = Tensor::from_uop(UOp::full(Const::zero(DType::I64), &shape)?);
        let start = if include_self {
            base.clone()
        } else {
            let hit = counts(zeros.clone())?.gt(0)?;
            let neutral = Tensor::from_uop(UOp::full(monoid.identity(carried), &shape)?);
            Tensor::select(&hit, &neutral, &base)?
        };
        let total = start.scattered(op, axis, index, values, Some(monoid))?;
        let result = if by == Reduction::Mean {
            let count = if include_self { counts(ones(DType::I64)?)? } else { counts(zeros)?.maximum(1)? };
            let count = count.cast(carried)?;
            let op = if carried.is_float() { Alu::Div } else { Alu::FloorDiv };
            Tensor::from_uop(UOp::alu(op, &[total.uop(), count.uop()])?)
        } else {
            total
        };
        result.cast(own)
    }
}

/// Bytes of a position.
const PLACE: usize = size_of::<i64>();

/// The positions along each dimension, `i64` in bytes, at which a mask of these extents is 1, in row-major order. Without a
/// branch for each element, which no processor foresees.
fn places(mask: &[u8], extents: &[usize]) -> Vec<Vec<u8>> {
    let Some((last, outer)) = extents.split_last() else { return Vec::new() };
    let count: usize = mask.iter().map(|holds| usize::from(*holds)).sum();
    // Each element writes where the next one that holds belongs: behind the last of them, too.
    let mut columns = vec![vec![0u8; (count + 1) * PLACE]; extents.len()];
    let mut at = vec![0i64; outer.len()];
    let mut end = 0;
    for row in mask.chunks_exact((*last).max(1)) {
        let first = end;
        let places = &mut columns[outer.len()];
        for (place, holds) in (0i64..).zip(row) {
            places[end * PLACE..][..PLACE].copy_from_slice(&place.to_le_bytes());
            end += usize::from(*holds);
        }
        for (column, place) in columns.iter_mut().zip(&at) {
            let own = &mut column[first * PLACE..end * PLACE];
            own.chunks_exact_mut(PLACE).for_each(|to| to.copy_from_slice(&place.to_le_bytes()));
        }
        for (place, extent) in at.iter_mut().zip(outer).rev() {
            *place += 1;
            if *place < *extent as i64 {
                break;
            }
            *place = 0;
        }
    }
    columns.iter_mut().for_each(|column| column.truncate(count * PLACE));
    columns
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn numbers(column: &[u8]) -> Vec<i64> {
        column.chunks_exact(PLACE).map(|b| i64::from_le_bytes(b.try_into().unwrap())).collect()
    }

    #[test]
    fn places_are_in_row_major_order() {
        let found = places(&[1, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1], &[2, 2, 3]);
        let found: Vec<Vec<i64>> = found.iter().map(|column| numbers(column)).collect();
        assert_eq!(found, [vec![0, 0, 1, 1, 1], vec![0, 0, 0, 0, 1], vec![0, 2, 1, 2, 2]]);
        assert_eq!(places(&[0, 0], &[2]), [Vec::<u8>::new()]);
        assert_eq!(places(&[], &[3, 0]), [Vec::<u8>::new(), Vec::new()]);
        assert!(places(&[1], &[]).is_empty());
    }
}
