//! Tiles that write an output themselves, and tiles at the edge.
//!
//! A tile that lies inside of the region that its task computes stores to the output, or adds to what an
//! earlier block of the depth has left there. One that runs over the region's end goes through a tile of
//! scratch, from which what lies inside is stored. Where the number of rows is known only at run time, the last rows of
//! a region are computed by a tile of half, a quarter, … of the rows, if so many are left at most.

use super::{Lowerer, Made, Nest};
use crate::costs::limits::registers;
use crate::kernel::contraction::{Contraction, recognise};
use svod_dtype::Const;
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::kernel::{AxisId, Out};
use svod_ir::lowered::{Home, Loop, LoopKind, Micro, Stmt, TileOperand};
use svod_ir::size::{Size, Variable};

impl Lowerer<'_> {
    /// Whether another stage's tiles have stored what is left to emit of an output.
    pub(super) fn stored_by_tiles(&self, nest: &Nest) -> bool {
        let inside = |(axis, part)| !nest.loops.iter().any(|l| (l.axis, l.part) == (axis, part));
        self.s.stages.iter().any(|s| {
            let of = s.direct_store.is_some_and(|into| into.output == nest.stage);
            of && s.at.is_some_and(|(_, axis, part)| inside((axis, part)))
        })
    }

    /// The tile at the innermost loops of a contraction, where that is inside of the region along the axes that the
    /// tile does not cover.
    pub(super) fn tile(&mut self, nest: &Nest) -> Made {
        let found = recognise(&self.s.kernel, nest.stage).ok_or("not a contraction")?;
        let kept = |axis: &&AxisId| **axis != found.m && **axis != found.n;
        let mut inside = Vec::new();
        for axis in self.s.kernel.stages[nest.stage].over.iter().filter(kept).filter(|axis| nest.env[axis].masked) {
            let left = self.left(nest, *axis)?;
            if left.bounds().0 < 1 {
                let (zero, left) = (self.phase.exprs.index(0i64), self.phase.exprs.index(left));
                inside.push(self.phase.exprs.alu(Alu::Lt, &[zero, left]));
            }
        }
        let body = self.tile_inside(nest, &found)?;
        Ok(match self.phase.exprs.all_of(inside) {
            Some(all) => vec![Stmt::If(all, body)],
            None => body,
        })
    }

    fn tile_inside(&mut self, nest: &Nest, found: &Contraction) -> Made {
        let Some(into) = self.s.stages[nest.stage].direct_store else {
            let c = self.scratch_of_tile(nest)?;
            let tile = self.micro(nest, c)?;
            return self.narrowed(nest, tile, found.m);
        };
        let to = &self.s.kernel.stages[into.output].outs[0];
        let Out::Param { param, index } = to else { return Err("the tile's output is no parameter".into()) };
        let (param, index) = (*param, index.clone());
        let rows_apart = self.output_index(&index, nest, found.m, &Size::from(1))?;
        let first = self.output_index(&index, nest, found.m, &Size::ZERO)?;
        let shape = &self.s.kernel.params[param.index()].shape;
        let position = |index: &[Size]| index.iter().zip(shape).fold(Size::ZERO, |at, (i, n)| at * n + i);
        let stride = position(&rows_apart) - position(&first);
        let whole = self.micro(nest, TileOperand { mem: Mem::Param(param), index: first, stride })?;
        let (rows, cols) = (self.left(nest, found.m)?, self.left(nest, found.n)?);
        let fits = |left: &Size, side: u32| (left - i64::from(side)).bounds().0 >= 0;
        let over = [(&rows, whole.rows), (&cols, whole.cols)].into_iter().filter(|(left, side)| !fits(left, *side));
        let over: Vec<(&Size, u32)> = over.collect();
        if over.is_empty() {
            return Ok(vec![Stmt::Micro(whole)]);
        }
        let exprs = &mut self.phase.exprs;
        let mut inside = |left: &Size, side: u32| {
            let (left, side) = (exprs.index(left.clone()), exprs.index(i64::from(side)));
            exprs.alu(Alu::Le, &[side, left])
        };
        let inside: Vec<ExprId> = over.into_iter().map(|(left, side)| inside(left, side)).collect();
        let all = self.phase.exprs.all_of(inside).ok_or("no edge")?;
        let not_all = self.phase.exprs.alu(Alu::Not, &[all]);
        let edge = self.edge(nest, &whole, [found.m, found.n], [&rows, &cols], &index)?;
        Ok(vec![Stmt::If(all, vec![Stmt::Micro(whole)]), Stmt::If(not_all, edge)])
    }

    /// The tile in scratch, and the store of what lies inside of the region.
    fn edge(
        &mut self,
        nest: &Nest,
        tile: &Micro,
        [m, n]: [AxisId; 2],
        [rows, cols]: [&Size; 2],
        index: &[ExprId],
    ) -> Made {
        let Mem::Param(param) = tile.c.mem else { return Err("the tile's output is no parameter".into()) };
        let known = self.placed.get(&nest.stage).and_then(|p| p.temps[0]);
        let temp = match known {
            Some(temp) => temp,
            None => {
                let name = format!("{}_edge", self.s.kernel.stages[nest.stage].name);
                let shape = vec![Size::from(i64::from(tile.rows)), Size::from(i64::from(tile.cols))];
                self.temp(name, tile.acc, shape, Home::Scratch)
            }
        };
        let placed = self.placed.get_mut(&nest.stage).ok_or("a tile outside the loop its stage is computed in")?;
        placed.temps[0] = Some(temp);
        let c = TileOperand {
            mem: Mem::Temp(temp, 0),
            index: vec![Size::ZERO; 2],
            stride: Size::from(i64::from(tile.cols)),
        };
        let fresh = tile.start.as_const() == Some(0);
        let micro = Micro { c, start: Size::ZERO, ..tile.clone() };

        let lanes = (1 << tile.cols.trailing_zeros()).min(registers::WIDEST as u32);
        let row = self.fresh("row", i64::from(tile.rows))?;
        let vector = self.fresh("vector", i64::from(tile.cols / lanes))?;
        let lane = self.fresh("lane", i64::from(lanes))?;
        let column = Size::from(&vector) * i64::from(lanes) + Size::from(&lane);
        let mut at = nest.clone();
        at.env.get_mut(&m).ok_or("no rows")?.base = &nest.env[&m].base + Size::from(&row);
        let to = self.output_index(index, &at, n, &column)?;
        let to: Vec<ExprId> = to.into_iter().map(|i| self.phase.exprs.index(i)).collect();
        let exprs = &mut self.phase.exprs;
        let inside = (cols - i64::from(tile.cols)).bounds().0 >= 0;
        let valid = (!inside).then(|| {
            let (column, end) = (exprs.index(column.clone()), exprs.index(cols.clone()));
            exprs.alu(Alu::Lt, &[column, end])
        });
        let from = [exprs.index(Size::from(&row)), exprs.index(column)];
        let mut value = exprs.load(tile.acc, Mem::Temp(temp, 0), &from);
        if !fresh {
            let old = exprs.load_valid(tile.acc, Mem::Param(param), &to, valid, Const::zero(tile.acc));
            let sum = exprs.alu(Alu::Add, &[old, value]);
            let (start, zero) = (exprs.index(tile.start.clone()), exprs.index(0i64));
            let later = exprs.alu(Alu::Lt, &[zero, start]);
            value = exprs.alu(Alu::Where, &[later, sum, value]);
        }
        let store = Stmt::Store { to: Mem::Param(param), index: to, value, valid };
        let over = |var: Variable, extent: Size, kind, body| vec![Stmt::Loop(Loop { var, extent, kind }, body)];
        let body = over(lane, Size::from(i64::from(lanes)), LoopKind::Vector, vec![store]);
        let body = over(vector, Size::from(i64::from(tile.cols / lanes)), LoopKind::Serial, body);
        let body = over(row, rows.min(i64::from(tile.rows)), LoopKind::Serial, body);
        let mut edge = self.narrowed(nest, micro, m)?;
        edge.extend(body);
        Ok(edge)
    }

    /// A tile that need not compute more than the rows that are left: for a number that is known it is the tile itself.
    /// Each row's sums are the same in all of them.
    fn narrowed(&mut self, nest: &Nest, tile: Micro, rows: AxisId) -> Made {
        let left = self.left(nest, rows)?;
        if self.axis_extent(rows).as_const().is_some() || left.bounds().0 >= i64::from(tile.rows) || tile.pairs {
            return Ok(vec![Stmt::Micro(tile)]);
        }
        let widths = std::iter::successors(Some(tile.rows), |rows| Some(rows / 2).filter(|half| *half > 0));
        let mut tiles = Vec::new();
        for rows in widths {
            let exprs = &mut self.phase.exprs;
            let (left, half) = (exprs.index(left.clone()), exprs.index(i64::from(rows / 2)));
            let more = (rows > 1).then(|| exprs.alu(Alu::Lt, &[half, left]));
            let most = exprs.index(i64::from(rows));
            let few = (rows < tile.rows).then(|| exprs.alu(Alu::Le, &[left, most]));
            let Some(when) = exprs.all_of(more.into_iter().chain(few)) else { continue };
            tiles.push(Stmt::If(when, vec![Stmt::Micro(Micro { rows, ..tile.clone() })]));
        }
        Ok(if tiles.is_empty() { vec![Stmt::Micro(tile)] } else { tiles })
    }

    /// Points of an axis from the tile's first one to the end of the region.
    fn left(&self, nest: &Nest, axis: AxisId) -> Made<Size> {
        let placed = self.placed.get(&nest.stage).ok_or("a tile outside the loop its stage is computed in")?;
        let ends = placed.ends.as_ref().ok_or("a stage without a tile")?;
        let over = &self.s.kernel.stages[nest.stage].over;
        let d = over.iter().position(|a| *a == axis).ok_or("no such axis")?;
        Ok(&ends[d] - &nest.env[&axis].base)
    }

    /// The output's index where the stage's axes stand, `further` along one of them.
    fn output_index(&self, index: &[ExprId], nest: &Nest, along: AxisId, further: &Size) -> Made<Vec<Size>> {
        let var = &self.s.kernel.axes[along.index()].var;
        let at = |v: &Variable| self.axis_value(v, nest).map(|at| if v == var { at + further } else { at });
        let size = |i: &ExprId| match self.s.kernel.exprs.get(*i) {
            Expr::Index(size) => Ok(size.substitute(&at)),
            _ => Err("an output's index depends on data".to_string()),
        };
        index.iter().map(size).collect()
    }
}
