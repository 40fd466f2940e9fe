//! Contraction tiles: a call, or loops for types that no tile is made for.

use super::memory::Memory;
use super::{LowerError, Lowering};
use crate::tile;
use smallvec::{SmallVec, smallvec};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::Mem;
use svod_ir::linear::{Inst, Place, Slot, Tile, TileFetch, TileOperand, TileSpec, Ty, Val};
use svod_ir::lowered::{self, Fetch, Micro};
use svod_ir::size::Size;

impl Lowering<'_> {
    pub(super) fn micro(&mut self, m: &Micro) -> Result<(), LowerError> {
        let Micro { rows, cols, dtype, pairs, acc, a_panel, b_offsets, .. } = *m;
        let fetch = m.fetch.as_ref().map(|f| self.tile_fetch(f)).transpose()?.flatten();
        let fetches = m.fetch.as_ref().filter(|_| fetch.is_some()).map_or(0, |f| f.lines());
        let spec = TileSpec { rows, cols, dtype, pairs, acc, a_panel, b_offsets: b_offsets.is_some(), fetches };
        let operands = [self.operand(&m.c)?, self.operand(&m.a)?, self.operand(&m.b)?];
        let (depth, start) = (self.size(&m.depth)?, self.size(&m.start)?);
        let offsets = b_offsets.map(|t| self.flat(Mem::Temp(t, 0)).map(|(place, _)| place)).transpose()?;
        let tile = Tile { spec, depth, start, operands, offsets, fetch };
        if rows == 0 || cols == 0 {
            return Ok(());
        }
        if !tile::supports(&spec, self.target) {
            self.lay_out(&tile);
            return Ok(());
        }
        self.b.effect(Inst::Tile(Box::new(tile)));
        self.b.written(operands[0].place);
        Ok(())
    }

    fn operand(&mut self, t: &lowered::TileOperand) -> Result<TileOperand, LowerError> {
        let (place, strides) = self.flat(t.mem)?;
        let at = t.index.iter().zip(strides).map(|(i, s)| i * s).sum::<Size>();
        Ok(TileOperand { place, at: self.size(&at)?, stride: self.size(&t.stride)? })
    }

    fn tile_fetch(&mut self, f: &Fetch) -> Result<Option<TileFetch>, LowerError> {
        let position = self.position_of_param(f.from, &f.index)?;
        position.map(|(place, at)| Ok(TileFetch { place, at, step: self.size(&f.step)? })).transpose()
    }

    /// A memory that is no register, and its strides.
    fn flat(&self, mem: Mem) -> Result<(Place, &[Size]), LowerError> {
        match self.memory(mem) {
            Memory::Flat { place, strides } => Ok((*place, strides)),
            Memory::Register { .. } => Err(LowerError::Register(format!("{mem:?}"))),
        }
    }

    /// The tile as loops over its rows and depth, one row of accumulators at a time.
    fn lay_out(&mut self, tile: &Tile) {
        let spec = tile.spec;
        let [c, a, b] = tile.operands;
        let lanes = (self.target.lanes(spec.acc.bytes().max(4)) as u32).min(1 << spec.cols.trailing_zeros());
        let stored = spec.stored();
        let (wide, narrow) = (Ty { dtype: spec.acc, lanes }, Ty { dtype: stored, lanes });
        let slots: Vec<Slot> = (0..spec.cols / lanes).map(|_| self.b.slot(wide)).collect();
        let rows = self.b.index(spec.rows.into());
        let (zero, first) = (self.b.constant(Const::zero(spec.acc)), self.b.index(0));
        let keep = self.b.alu(Alu::Ne, &[tile.start, first]);

        let row = self.b.range(rows, vec![c.place], slots.clone(), true);
        let c_row = self.element(c.at, row, c.stride);
        for (n, slot) in slots.iter().enumerate() {
            let at = self.offset(c_row, n as u32 * lanes);
            let old = self.b.load(wide, c.place, at, Some(keep), Const::zero(spec.acc));
            let sum = self.b.alu(Alu::Where, &[keep, old, zero]);
            self.b.write(*slot, sum);
        }
        let k = self.b.range(tile.depth, Vec::new(), slots.clone(), false);
        let a_at = match spec.a_panel {
            true => {
                let column = self.element(a.at, k, a.stride);
                self.b.alu(Alu::Add, &[column, row])
            }
            false => {
                let start = self.element(a.at, row, a.stride);
                self.b.alu(Alu::Add, &[start, k])
            }
        };
        let left = self.b.load(Ty::scalar(stored), a.place, a_at, None, Const::zero(stored));
        let left = self.factors(spec, left);
        let b_row = match tile.offsets {
            Some(table) => {
                let offset = self.b.load(Ty::scalar(DType::I32), table, k, None, Const::zero(DType::I32));
                let offset = self.b.cast(DType::Index, offset);
                self.b.alu(Alu::Add, &[b.at, offset])
            }
            None => self.element(b.at, k, b.stride),
        };
        for (n, slot) in slots.iter().enumerate() {
            let at = self.offset(b_row, n as u32 * lanes);
            let right = self.b.load(narrow, b.place, at, None, Const::zero(stored));
            let right = self.factors(spec, right);
            let mut sum = self.b.read(*slot);
            for (left, right) in left.iter().zip(right) {
                sum = match spec.acc {
                    DType::Bool => {
                        let product = self.alu(Alu::Mul, &[*left, right]);
                        self.alu(Alu::Add, &[product, sum])
                    }
                    _ => self.alu(Alu::MulAdd, &[*left, right, sum]),
                };
            }
            let sum = self.b.widen(sum, lanes);
            self.b.write(*slot, sum);
        }
        self.b.close();
        for (n, slot) in slots.iter().enumerate() {
            let (at, sum) = (self.offset(c_row, n as u32 * lanes), self.b.read(*slot));
            self.b.store(c.place, at, sum, None);
        }
        self.b.close();
    }

    /// What an element of A or B multiplies, in the type of the sum: itself, or its halves.
    fn factors(&mut self, spec: TileSpec, stored: Val) -> SmallVec<[Val; 2]> {
        if !spec.pairs {
            return smallvec![self.convert(spec.acc, stored)];
        }
        let by = self.b.constant(Const::i64(DType::U32, 16));
        let upper = self.alu(Alu::Shr, &[stored, by]);
        let half = |word: Val| {
            let bits = self.convert(DType::U16, word);
            let half = self.reinterpret(spec.dtype, bits);
            self.convert(spec.acc, half)
        };
        [stored, upper].map(half).into()
    }

    fn element(&mut self, start: Val, n: Val, stride: Val) -> Val {
        let distance = self.b.alu(Alu::Mul, &[n, stride]);
        self.b.alu(Alu::Add, &[start, distance])
    }

    pub(super) fn offset(&mut self, start: Val, by: u32) -> Val {
        let by = self.b.index(by.into());
        self.b.alu(Alu::Add, &[start, by])
    }
}
