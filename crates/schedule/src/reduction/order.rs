//! Sorts where groups of threads do tasks: rows of whole vectors, and the first of long rows by those of their blocks.

use crate::costs::limits::{groups, sorts};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{GraphError, Shape, UOp};
use svod_ir::size::Size;

/// What a sort is asked for: the first `count` elements along an axis, or where they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pub axis: usize,
    pub descending: bool,
    pub count: i64,
    pub positions: bool,
}

impl Order {
    fn of(self, source: &UOp) -> Result<UOp, GraphError> {
        match self.positions {
            true => source.argsort(self.axis, self.descending, self.count),
            false => source.sort(self.axis, self.descending, self.count),
        }
    }

    /// What comes after everything else, or with it: then it is behind it, as it is at the end.
    fn last(self, dtype: DType) -> Option<Const> {
        match (dtype.is_float(), self.descending) {
            (true, _) if dtype.bytes() < 2 => None,
            (true, true) => Some(Const::f64(dtype, f64::NEG_INFINITY)),
            (true, false) => Some(Const::f64(dtype, f64::NAN)),
            (false, true) => Some(Const::min_value(dtype)),
            (false, false) => Some(Const::max_value(dtype)),
        }
    }

    /// With so many more elements along the axis, which come last.
    fn longer(self, source: &UOp, by: i64) -> Result<Option<UOp>, GraphError> {
        let Some(last) = self.last(source.dtype()) else { return Ok(None) };
        let mut more = vec![(Size::ZERO, Size::ZERO); source.rank()];
        more[self.axis].1 = Size::from(by);
        source.pad(more, last).map(Some)
    }

    /// The same as another graph, where that is faster.
    pub fn of_groups(self, source: &UOp) -> Result<Option<UOp>, GraphError> {
        let Some(extents) = source.shape().iter().map(Size::as_const).collect::<Option<Vec<i64>>>() else {
            return Ok(None);
        };
        let n = extents[self.axis];
        let round = groups::WARP * sorts::VECTORS;
        if n <= groups::BLOCK_OF_ROW {
            let more = (round - n % round) % round;
            // All threads of a block sort a row together that has as many points as fill their vectors.
            return match n > round && more > 0 {
                true => self.longer(source, more)?.map(|longer| self.of(&longer)).transpose(),
                false => Ok(None),
            };
        }
        let is_few =
            self.positions && self.count > 0 && self.count.saturating_mul(sorts::ENOUGH) <= groups::BLOCK_OF_ROW;
        if is_few { self.first_of_blocks(source, &extents) } else { Ok(None) }
    }

    /// The first of the first of each block, which are in the order of the blocks.
    fn first_of_blocks(self, source: &UOp, extents: &[i64]) -> Result<Option<UOp>, GraphError> {
        let (axis, n, length) = (self.axis, extents[self.axis], groups::BLOCK_OF_ROW);
        let blocks = (n + length - 1) / length;
        let Some(source) = self.longer(source, blocks * length - n)? else { return Ok(None) };
        let shape = |middle: &[i64]| -> Shape {
            let all = extents[..axis].iter().chain(middle).chain(&extents[axis + 1..]);
            all.map(|n| Size::from(*n)).collect()
        };
        let within = Order { axis: axis + 1, ..self }.of(&source.reshape(shape(&[blocks, length]))?)?;
        let mut along = vec![1; extents.len() + 1];
        along[axis] = blocks;
        let along: Shape = along.into_iter().map(Size::from).collect();
        let by = UOp::full(Const::i64(DType::I64, length), &[Size::from(blocks)].into_iter().collect())?;
        let first = UOp::alu(Alu::Mul, &[UOp::range(blocks)?, by])?.reshape(along)?;
        let first = first.expand(within.shape_arc().clone())?;
        let found = UOp::alu(Alu::Add, &[first, within])?.reshape(shape(&[blocks * self.count]))?;
        let candidates = source.gather(axis, &found)?;
        let round = groups::WARP * sorts::VECTORS;
        let more = (round - blocks * self.count % round) % round;
        let Some(candidates) = self.longer(&candidates, more)? else { return Ok(None) };
        found.gather(axis, &self.of(&candidates)?).map(Some)
    }
}
