//! Operands that lie across the vectors of a map, where threads share these: what a loop that is laid out reads of one is
//! a block, whose rows are consecutive in memory and whose columns are vectors.
//!
//! A block is copied where its first column is read, and stays what it is as long as that loop is open. Where accesses
//! have masks, only what is of the operand at all is copied: any position that a mask lets through is. Where columns stop at
//! a last one, `min(last, column)`, so do those of the block.

use super::memory::Memory;
use super::{LowerError, Lowering};
use svod_dtype::DType;
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::linear::{Block, BlockId, Inst, Place, Val};
use svod_ir::size::{Atom, Size, Variable};

/// A block that has been copied.
pub(super) struct Copied {
    id: BlockId,
    place: Place,
    start: Size,
    step: Size,
    /// How many loops and conditionals were open.
    pub depth: usize,
}

/// Where a block is.
struct Found {
    start: Size,
    step: Size,
    columns: u32,
    /// The column that is read.
    column: u32,
    within: Option<[Size; 2]>,
}

/// Lanes from which on a thread has several, so that it reads squares.
const LANES: u32 = 64;
/// Bytes of a row: at least a sector, at most two lines.
const ROW: std::ops::RangeInclusive<usize> = 32..=256;
/// Bytes of all blocks at most: less than what a block of threads has without asking for more.
const MOST: u32 = 32 << 10;

impl Lowering<'_> {
    /// What a load reads, if it is a column of a block; `guarded` says that it may have no memory to read.
    pub(super) fn column(
        &mut self,
        dtype: DType,
        from: Mem,
        index: &[ExprId],
        guarded: bool,
    ) -> Result<Option<Val>, LowerError> {
        let Some(found) = self.find_block(dtype, from, index, guarded) else { return Ok(None) };
        let Memory::Flat { place, .. } = *self.memory(from) else { return Ok(None) };
        let (depth, rows) = (self.b.depth(), self.lanes());
        let same = |c: &&Copied| c.place == place && c.start == found.start && c.step == found.step;
        if let Some(copied) = self.blocks.iter().find(same) {
            return Ok(Some(self.b.column(copied.id, found.column)));
        }
        let block = Block { dtype, rows, columns: found.columns };
        if self.b.bytes_of_blocks() + block.bytes() > MOST {
            return Ok(None);
        }
        let (at, step) = (self.size(&found.start)?, self.size(&found.step)?);
        let within = match &found.within {
            Some([rows, columns]) => Some([self.size(rows)?, self.size(columns)?]),
            None => None,
        };
        let to = self.b.block(block);
        self.b.effect(Inst::Copy { to, from: place, at, step, within });
        self.blocks.push(Copied { id: to, place, start: found.start, step: found.step, depth });
        Ok(Some(self.b.column(to, found.column)))
    }

    fn find_block(&self, dtype: DType, from: Mem, index: &[ExprId], guarded: bool) -> Option<Found> {
        let (lane, lanes) = self.vector.as_ref().filter(|_| self.spreads())?;
        let Mem::Param(param) = from else { return None };
        let Memory::Flat { strides, .. } = self.memory(from) else { return None };
        if *lanes < LANES || !lanes.is_power_of_two() || self.written.contains(&from) {
            return None;
        }
        // The loop that is laid out must be the innermost one, so that all of its iterations see what it copies.
        let (along, count, now) = self.laid_out.last().filter(|_| self.b.depth() == self.depth_of_laid_out)?;
        let columns = u32::try_from(*count).ok().filter(|n| n.is_power_of_two())?;
        if !ROW.contains(&(dtype.bytes() * columns as usize)) {
            return None;
        }
        let sizes: Vec<&Size> = index.iter().map(|id| self.index_size(*id)).collect::<Option<_>>()?;
        let (column, outer) = sizes.split_last()?;
        if outer.iter().any(|size| moves(size, along)) || moves(column, lane) {
            return None;
        }
        let (last, position) = stop(column, along).map_or((None, (*column).clone()), |(last, at)| (Some(last), at));
        if position != &first(&position, along) + along {
            return None;
        }
        let total: Size = sizes.iter().zip(strides).map(|(size, stride)| *size * stride).sum();
        let (start, step) = self.affine(&total).filter(|(_, step)| !matches!(step.as_const(), Some(0 | 1)))?;
        let stop = last.map(|last| (last + 1 - first(&position, along)).max(1));
        let all = Size::from(i64::from(*lanes));
        let within = match (guarded, stop) {
            (false, None) => None,
            (false, Some(stop)) => Some([all, stop]),
            (true, stop) => {
                let [rows, columns] = self.within(&sizes, self.shapes[param.index()], lane, along)?;
                Some([rows, stop.map_or(columns.clone(), |stop| stop.min(columns))])
            }
        };
        Some(Found { start: first(&start, along), step, columns, column: u32::try_from(*now).ok()?, within })
    }

    fn index_size(&self, id: ExprId) -> Option<&Size> {
        match self.phase.exprs.get(id) {
            Expr::Index(size) => Some(size),
            _ => None,
        }
    }

    /// How many rows and columns of a block are of the operand, if rows go along one of its dimensions, columns along the last,
    /// and nothing else can be outside.
    fn within(&self, sizes: &[&Size], shape: &[Size], lane: &Variable, along: &Variable) -> Option<[Size; 2]> {
        let (column, outer) = sizes.split_last()?;
        let row = outer.iter().position(|size| moves(size, lane))?;
        let inside = |(size, extent): (&&Size, &Size)| size.bounds().0 >= 0 && (extent - *size).bounds().0 >= 1;
        let others = outer.iter().zip(shape).enumerate().filter(|(d, _)| *d != row);
        let starts = [first(outer[row], lane), first(column, along)];
        let steps = *outer[row] == &starts[0] + lane && starts.iter().all(|start| start.bounds().0 >= 0);
        let free = others.into_iter().all(|(_, (size, extent))| !moves(size, lane) && inside((size, extent)));
        let [first_row, first_column] = starts;
        (steps && free).then(|| [&shape[row] - &first_row, shape.last().unwrap_or(&Size::ONE) - &first_column])
    }
}

/// Whether a size depends on a variable.
fn moves(size: &Size, var: &Variable) -> bool {
    size.variables().contains(var)
}

/// A size where a loop begins.
fn first(size: &Size, var: &Variable) -> Size {
    size.substitute(&|v| (v == var).then_some(Size::ZERO))
}

/// The parts of `min(last, position)`, of which the position moves along a loop and the last one does not.
fn stop(size: &Size, along: &Variable) -> Option<(Size, Size)> {
    let terms = size.terms()?;
    let [term] = &terms[..] else { return None };
    let ([atom @ Atom::Min(..)], 1) = (term.factors(), term.coefficient()) else { return None };
    let (a, b) = atom.operands()?;
    match (moves(a, along), moves(b, along)) {
        (false, true) => Some((a.clone(), b.clone())),
        (true, false) => Some((b.clone(), a.clone())),
        _ => None,
    }
}
