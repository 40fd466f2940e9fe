//! What the phases of a sort in blocks have in common: the blocks, and the memory that they share.

use super::{Array, Order, Points};
use crate::apply::Scheduled;
use crate::lower::{Lowerer, Made, Nest, Span};
use svod_dtype::DType;
use svod_ir::expr::{Mem, ParamId};
use svod_ir::kernel::{AxisId, Param};
use svod_ir::size::Size;

/// A sort in blocks.
pub(super) struct Blocks<'s> {
    s: &'s Scheduled,
    order: &'s Order,
    rows: Vec<AxisId>,
    /// Points of a block.
    pub block: Size,
    /// Blocks of a row.
    pub count: Size,
    /// Points with their keys, in two copies between which passes go to and fro.
    copies: [[Mem; 2]; 2],
    /// The memory that phases share, to be added to the parameters.
    pub shared: Vec<Param>,
}

impl<'s> Blocks<'s> {
    pub fn of(s: &'s Scheduled, order: &'s Order) -> Made<Blocks<'s>> {
        let state = &s.stages[order.stage];
        let rows = s.kernel.stages[order.stage].over.iter().copied().filter(|a| *a != order.to).collect();
        let along = state.loops.iter().find(|l| l.axis == order.along).ok_or("a sort without points")?;
        let block = Size::from(along.step as i64);
        let count = order.points.ceil_div(&block);
        let nothing = [[Mem::Param(ParamId(0)); 2]; 2];
        let mut blocks = Blocks { s, order, rows, block, count, copies: nothing, shared: Vec::new() };
        let points = [order.points.clone()];
        blocks.copies = [(); 2].map(|()| [order.dtype, order.position].map(|dtype| blocks.share(dtype, &points)));
        Ok(blocks)
    }

    /// Memory with these extents for each row.
    pub fn share(&mut self, dtype: DType, last: &[Size]) -> Mem {
        let kernel = &self.s.kernel;
        let rows = self.rows.iter().map(|a| &kernel.axes[a.index()].extent);
        let shape = rows.chain(last).cloned().collect();
        self.shared.push(Param { dtype, shape, constant: false });
        Mem::Param(ParamId((kernel.params.len() + self.shared.len() - 1) as u32))
    }

    /// The loops of a phase over rows, which are tasks, and the index of the row.
    pub fn rows(&self, lowerer: &mut Lowerer<'_>) -> (Nest, Vec<Size>) {
        let stage = self.order.stage;
        let mut nest = lowerer.row_nest(stage);
        let mut row = Vec::new();
        for axis in &self.rows {
            let at = lowerer.grid(stage, *axis, &self.s.kernel.axes[axis.index()].extent);
            nest.env.insert(*axis, Span { base: at.clone(), remaining: Size::ONE, masked: false });
            row.push(at);
        }
        (nest, row)
    }

    /// The points of a row that a pass has put in order.
    pub fn copy(&self, row: &[Size], pass: u32) -> Points {
        let [keys, positions] = self.copies[pass as usize % 2];
        let array = |mem, dtype| Array { mem, dtype, row: row.to_vec() };
        Points { keys: array(keys, self.order.dtype), positions: array(positions, self.order.position) }
    }

    /// The first point of a block, and how many it has.
    pub fn points(&self, at: &Size) -> (Size, Size) {
        let first = at * &self.block;
        let count = (&self.order.points - &first).min(&self.block);
        (first, count)
    }
}
