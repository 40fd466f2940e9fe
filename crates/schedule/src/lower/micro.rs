//! The call of a contraction's tile: addresses and strides of its operands.
//!
//! Several loops over the depth are one to the tile. The operand with the rows must lie in their
//! order. Rows of the operand with the columns may lie anywhere, as the taps of a convolution do:
//! where they are not a stride apart, a table made beside the operand's copy says how far each
//! lies from the first.

use super::{Lowerer, Made, Nest};
use crate::kernel::contraction::{Contraction, layout_index, recognise};
use crate::language::Layout;
use svod_dtype::DType;
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::kernel::AxisId;
use svod_ir::lowered::{Fetch, Home, Loop, LoopKind, Micro, Stmt, TileOperand};
use svod_ir::size::{Size, Variable};

impl Lowerer<'_> {
    /// Where the tile's sums are, in a temporary: its columns side by side, whatever axes have a single point there.
    pub(super) fn scratch_of_tile(&self, nest: &Nest) -> Made<TileOperand> {
        let found = recognise(&self.s.kernel, nest.stage).ok_or("not a contraction")?;
        let over = &self.s.kernel.stages[nest.stage].over;
        let point: Vec<Size> = over.iter().map(|x| nest.env[x].base.clone()).collect();
        let index = self.temp_index(nest.stage, &point)?;
        let mem = Mem::Temp(self.placed[&nest.stage].temp(0)?, 0);
        let shape = self.shape(mem);
        let apart = |axis: AxisId| {
            let d = over.iter().position(|a| *a == axis).ok_or("no such axis")?;
            Ok::<Size, String>(shape[d + 1..].iter().fold(Size::ONE, |n, extent| n * extent))
        };
        if apart(found.n)?.as_const() != Some(1) {
            return Err(
                "the tile's columns would not lie side by side; compute it for a point of the later axes".into()
            );
        }
        Ok(TileOperand { mem, index, stride: apart(found.m)? })
    }

    /// The tile that computes a contraction's innermost loops, with its sums in `c`.
    pub(super) fn micro(&mut self, nest: &Nest, c: TileOperand) -> Made<Micro> {
        let tile = self.s.stages[nest.stage].micro.ok_or("not a tiled stage")?;
        let found = recognise(&self.s.kernel, nest.stage).ok_or("not a contraction")?;
        self.starts_a_tile(found.b, nest, found.n, tile.cols)?;
        self.starts_a_tile(found.a, nest, found.m, tile.rows)?;
        let depth: Vec<AxisId> = nest.loops[2..].iter().map(|l| l.axis).collect();
        let a_panel = self.panel(found.a) == Some(i64::from(tile.rows));
        let a_stride = self.distance(found.a, nest, if a_panel { found.k } else { found.m })?;
        let Some(a_step) = self.depth_stride(found.a, nest, &depth)? else {
            return Err("the operand with the rows does not lie in the order of the loops over the depth".into());
        };
        let side_by_side = |distance: &Size, extent: u64| extent == 1 || distance.as_const() == Some(1);
        let steps = depth.iter().map(|a| nest.env[a].remaining.upper_bound().unwrap_or(i64::MAX).max(1) as u64);
        let a_runs = match a_panel {
            true => side_by_side(&self.distance(found.a, nest, found.m)?, u64::from(tile.rows)),
            false => side_by_side(&a_step, steps.fold(1, u64::saturating_mul)),
        };
        if !a_runs || !side_by_side(&self.distance(found.b, nest, found.n)?, u64::from(tile.cols)) {
            return Err("the operands of a tile run along the depth, or in panels along rows and columns".into());
        }
        let b_stride = self.depth_stride(found.b, nest, &depth)?;
        let b_offsets = match b_stride {
            Some(_) => None,
            None => Some(self.table(found.b).ok_or("the operand with the columns has no table of its rows")?),
        };
        let reduced = nest.env.iter().filter(|(axis, _)| self.reduces(nest.stage, **axis));
        let start = reduced.map(|(_, span)| &span.base).sum();
        Ok(Micro {
            rows: tile.rows,
            cols: tile.cols,
            dtype: found.pairs.unwrap_or(self.s.kernel.exprs.dtype(found.a)),
            pairs: found.pairs.is_some(),
            acc: found.acc,
            depth: depth.iter().map(|a| nest.env[a].remaining.clone()).reduce(|n, e| &n * &e).unwrap_or(Size::ONE),
            start,
            a_panel,
            a: self.tile_operand(found.a, nest, a_stride)?,
            b: self.tile_operand(found.b, nest, b_stride.unwrap_or(Size::ZERO))?,
            c,
            b_offsets,
            fetch: self.panels_ahead(nest)?,
        })
    }

    /// The part that a tile fetches of the panel that the loop over panels will come to: all tiles of rows that read
    /// the present one, as many as there are in a run, share it.
    fn panels_ahead(&self, nest: &Nest) -> Made<Option<Fetch>> {
        let s = self.s;
        let state = &s.stages[nest.stage];
        let (Some(tile), Some(fetch)) = (state.micro, state.prefetches.first()) else { return Ok(None) };
        let found = recognise(&s.kernel, nest.stage).ok_or("not a contraction")?;
        let placed = self.placed.get(&nest.stage).ok_or("a tile outside the loop its stage is computed in")?;
        let side =
            |axis: AxisId| s.kernel.stages[nest.stage].over.iter().position(|a| *a == axis).ok_or("no such side");
        let (row, column) = (side(found.m)?, side(found.n)?);
        let mut steps = nest.loops[2..].iter().map(|l| nest.env[&l.axis].remaining.upper_bound());
        let depth = steps.try_fold(1, |n: i64, d| Some(n.saturating_mul(d?))).ok_or("no bound of the depth")?;

        // After the last panel of a block of the depth comes the first of the next block.
        let mut there = nest.clone();
        let mut ahead = &nest.env[&found.n].base + i64::from(fetch.ahead) * i64::from(tile.cols);
        if let ([deep], Some(columns @ 1..)) = (&nest.loops[2..], placed.extents[column].as_const()) {
            let blocks = (&ahead - &placed.base[column]).floordiv(Size::from(columns));
            there.advance(deep.axis, &blocks * depth);
            ahead = ahead - blocks * columns;
        }
        there.advance(found.n, ahead - &nest.env[&found.n].base);
        let (Mem::Param(from), mut index) = self.address(found.b, &|v| self.axis_value(v, &there))? else {
            return Ok(None);
        };

        let element = s.kernel.params[from.index()].dtype.bytes().max(1) as i64;
        let rows = i64::from(tile.rows);
        let left = self.axis_extent(found.m) - &placed.base[row];
        let tiles = placed.extents[row].min(left).ceil_div(rows).max(1);
        let panel = Size::from(depth.saturating_mul(i64::from(tile.cols)));
        let share = panel.floordiv(tiles);
        let which = (&nest.env[&found.m].base - &placed.base[row]).floordiv(Size::from(rows));
        let Some(last) = index.pop() else { return Ok(None) };
        let step = (&share * element).ceil_div(depth.max(1));
        index.push(last + which * share);
        Ok(Some(Fetch { from, index, step }))
    }

    /// A new counter of `n` rounds, unique in the phase.
    pub(super) fn fresh(&mut self, name: &str, n: i64) -> Made<Variable> {
        let name = self.numbered(name);
        Variable::internal(&name, 0, (n - 1).max(0)).map_err(|e| e.to_string())
    }

    /// Refuses a tile that would run over the end of a panel, or of the last row, of a copy that other
    /// tiles read as well: one that starts where no round of the copy does.
    fn starts_a_tile(&self, operand: ExprId, nest: &Nest, axis: AxisId, points: u32) -> Made<()> {
        let Expr::Load { from, .. } = self.s.kernel.exprs.get(operand) else { return Ok(()) };
        if let Mem::Temp(copy, _) = from {
            return self.lies_in_a_copy(copy.index(), nest, axis, points);
        }
        match nest.env[&axis].base.divisible_by(i64::from(points)) {
            Some(true) => Ok(()),
            _ => Err(format!("the tile would start at no multiple of {points}, and run over the end of the copy")),
        }
    }

    /// Refuses a tile that would run over the end of a copy in the task's scratch, or start inside of a
    /// panel. A plane has slack.
    fn lies_in_a_copy(&self, copy: usize, nest: &Nest, axis: AxisId, points: u32) -> Made<()> {
        let Some(placed) = self.placed.get(&copy) else { return Ok(()) };
        if placed.overrun.is_some_and(|consumer| consumer != nest.stage) {
            return Err("the loops around the tile run over the end of what is computed of an operand".into());
        }
        let along = self.s.kernel.stages[copy].dims().iter().position(|a| *a == axis);
        let Some(along) = along else { return Ok(()) };
        let (start, points) = (&nest.env[&axis].base - &placed.base[along], i64::from(points));
        match placed.layout {
            Layout::Rows if (&placed.extents[along] - &start - points).bounds().0 < 0 => Err(format!(
                "the tile would run over the end of a copy; split its rows by {points} with padded scratch"
            )),
            Layout::Panels(_) if start.divisible_by(points) != Some(true) => {
                Err(format!("the tile would start at no multiple of {points}, inside of a panel"))
            }
            Layout::Rows | Layout::Panels(_) | Layout::Plane { .. } => Ok(()),
        }
    }

    fn shape(&self, mem: Mem) -> &[Size] {
        match mem {
            Mem::Param(p) => &self.s.kernel.params[p.index()].shape,
            Mem::Temp(t, _) => &self.phase.temps[t.index()].shape,
        }
    }

    /// The width of an operand's panels, if it is in panels.
    fn panel(&self, operand: ExprId) -> Option<i64> {
        let Expr::Load { from, .. } = self.s.kernel.exprs.get(operand) else { return None };
        match *from {
            // A prepared copy; a panel has 3 dimensions at least and the last is its constant width.
            Mem::Param(p) => {
                let shape = &self.s.kernel.params[p.index()].shape;
                shape.last().filter(|_| shape.len() >= 3).and_then(Size::as_const)
            }
            Mem::Temp(stage, _) => match self.s.stages[stage.index()].layout {
                Layout::Panels(width) => Some(i64::from(width)),
                _ => None,
            },
        }
    }

    fn tile_operand(&self, operand: ExprId, nest: &Nest, stride: Size) -> Made<TileOperand> {
        let (mem, index) = self.address(operand, &|v| self.axis_value(v, nest))?;
        Ok(TileOperand { mem, index, stride })
    }

    /// The memory and index of a staged operand where its axes have the values `at`.
    fn address(&self, operand: ExprId, at: &dyn Fn(&Variable) -> Option<Size>) -> Made<(Mem, Vec<Size>)> {
        let Expr::Load { from, index, .. } = self.s.kernel.exprs.get(operand) else {
            return Err("an operand of the tile is not staged".into());
        };
        let point = index.iter().map(|i| match self.s.kernel.exprs.get(*i) {
            Expr::Index(size) => Ok(size.substitute(at)),
            _ => Err("an operand of the tile is read at an index that depends on data".to_string()),
        });
        let point = point.collect::<Made<Vec<Size>>>()?;
        match *from {
            // The index of a prepared copy has the layout in it already.
            Mem::Param(_) => Ok((*from, point)),
            Mem::Temp(stage, value) => {
                let placed =
                    self.placed.get(&stage.index()).ok_or("an operand is read outside the loop it is staged in")?;
                Ok((
                    Mem::Temp(placed.temp(usize::from(value))?, 0),
                    layout_index(&placed.relative(&point), placed.layout),
                ))
            }
        }
    }

    /// The position of an operand's element in its memory.
    fn position(&self, operand: ExprId, at: &dyn Fn(&Variable) -> Option<Size>) -> Made<Size> {
        let (mem, index) = self.address(operand, at)?;
        let shape = self.shape(mem);
        Ok(index.iter().zip(shape).fold(Size::ZERO, |at, (i, n)| at * n + i))
    }

    /// How far apart two elements are that follow one another along an axis.
    fn distance(&self, operand: ExprId, nest: &Nest, axis: AxisId) -> Made<Size> {
        let var = &self.s.kernel.axes[axis.index()].var;
        let here = self.position(operand, &|v| self.axis_value(v, nest))?;
        let next = |v: &Variable| self.axis_value(v, nest).map(|at| if v == var { at + 1 } else { at });
        Ok(self.position(operand, &next)? - here)
    }

    /// The stride of an operand's steps of the depth, where the loops over it, outermost first, are
    /// as good as one.
    fn depth_stride(&self, operand: ExprId, nest: &Nest, depth: &[AxisId]) -> Made<Option<Size>> {
        let mut stride = None;
        let mut whole = Size::ONE;
        // An axis of a single step is no loop.
        let steps = |axis: &&AxisId| nest.env[axis].remaining.as_const() != Some(1);
        for axis in depth.iter().rev().filter(steps) {
            let step = self.distance(operand, nest, *axis)?;
            let first = stride.get_or_insert_with(|| step.clone());
            if step != &*first * &whole || !self.steps_evenly(operand, nest, *axis, &step)? {
                return Ok(None);
            }
            whole = &whole * &nest.env[axis].remaining;
        }
        let alone = || depth.last().map(|axis| self.distance(operand, nest, *axis)).transpose();
        let stride = if stride.is_some() { stride } else { alone()? };
        Ok(stride)
    }

    /// Whether all of an operand's steps along an axis are as long as the first: those over a convolution's
    /// taps are not where they go from phase to phase.
    fn steps_evenly(&self, operand: ExprId, nest: &Nest, axis: AxisId, step: &Size) -> Made<bool> {
        let var = &self.s.kernel.axes[axis.index()].var;
        let last = nest.env[&axis].remaining.upper_bound().ok_or("a depth without an upper bound")? - 1;
        let nth = Variable::new("nth", 0, last.max(0)).map_err(|e| e.to_string())?;
        let here = self.position(operand, &|v| self.axis_value(v, nest))?;
        let there =
            |v: &Variable| self.axis_value(v, nest).map(|at| if v == var { at + &Size::from(&nth) } else { at });
        Ok(self.position(operand, &there)? - here == step * &Size::from(&nth))
    }

    /// The table of an operand's rows.
    fn table(&self, operand: ExprId) -> Option<svod_ir::expr::TempId> {
        let Expr::Load { from: Mem::Temp(stage, _), .. } = self.s.kernel.exprs.get(operand) else { return None };
        self.placed.get(&stage.index())?.offsets
    }

    /// Makes the table of the rows of `copy`, a stage that has just been computed, if a tile needs it.
    pub(super) fn offsets(&mut self, copy: usize) -> Made {
        let reads = |found: &Contraction| matches!(self.s.kernel.exprs.get(found.b), Expr::Load { from: Mem::Temp(t, _), .. } if t.index() == copy);
        let mut tiled = (0..self.s.stages.len()).filter_map(|s| self.s.stages[s].micro.map(|m| (s, m.depth)));
        let reader = tiled.find_map(|(s, depth)| recognise(&self.s.kernel, s).filter(reads).map(|c| (s, depth, c)));
        let Some((reader, depth, found)) = reader else { return Ok(Vec::new()) };
        let loops = &self.s.stages[reader].loops;
        let (around, depth) = loops.split_at(loops.len() - depth);

        // Where each step is, relative to the first, whatever the other axes are.
        let mut counters: Vec<(Variable, Loop)> = Vec::new();
        for l in depth {
            let outer = around.iter().rev().find(|o| o.axis == l.axis);
            let whole = self.axis_extent(l.axis).upper_bound().ok_or("a depth without an upper bound")?;
            let extent = Size::from(outer.map_or(whole, |o| whole.min(o.step as i64)));
            let var = self.counter(copy, l, &extent);
            let loop_ = Loop { var, extent, kind: LoopKind::Serial };
            counters.push((self.s.kernel.axes[l.axis.index()].var.clone(), loop_));
        }
        let step = |v: &Variable| counters.iter().find(|(a, _)| a == v).map(|(_, l)| Size::from(&l.var));
        let first = |v: &Variable| counters.iter().any(|(a, _)| a == v).then_some(Size::ZERO);
        let offset = self.position(found.b, &step)? - self.position(found.b, &first)?;
        if offset.variables().iter().any(|v| !counters.iter().any(|(_, l)| l.var == *v)) {
            return Ok(Vec::new());
        }
        // Blocks of the depth begin where the first one's steps are theirs as well, however often the depth is cut. A loop of
        // one round begins where the one around it does.
        let begins = |v: &Variable| {
            let axis = depth.iter().map(|l| l.axis).find(|a| self.s.kernel.axes[a.index()].var == *v)?;
            let last = self.axis_extent(axis).upper_bound()? - 1;
            let cuts = around.iter().enumerate().filter(|(_, l)| l.axis == axis && l.step as i64 <= last);
            cuts.map(|(n, l)| {
                let number = Variable::new(&format!("block_{n}"), 0, last / l.step as i64).ok()?;
                Some(Size::from(&number) * l.step as i64)
            })
            .try_fold(Size::ZERO, |at, more| Some(at + more?))
        };
        let goes_on = |v: &Variable| Some(begins(v)? + step(v)?);
        if self.position(found.b, &goes_on)? - self.position(found.b, &begins)? != offset {
            return Err(
                "blocks of the depth begin in different phases of a plane; split it by a multiple of those".into()
            );
        }
        let at = counters.iter().fold(Size::ZERO, |at, (_, l)| at * &l.extent + Size::from(&l.var));
        // Steps that are a stride apart need no table: all loops but the outermost run in full.
        if let Some((_, last)) = counters.last() {
            let stride = offset.substitute(&|v| Some(Size::from(i64::from(*v == last.var))));
            if offset == &at * &stride {
                return Ok(Vec::new());
            }
        }
        let steps = counters.iter().fold(Size::ONE, |n, (_, l)| n * &l.extent);
        let name = format!("{}_offsets", self.s.kernel.stages[copy].name);
        let table = self.temp(name, DType::I32, vec![steps], Home::Scratch);
        let (index, value) = (self.phase.exprs.index(at), self.phase.exprs.index(offset));
        let value = self.phase.exprs.cast(DType::I32, value);
        if let Some(placed) = self.placed.get_mut(&copy) {
            placed.offsets = Some(table);
        }
        let fill = vec![Stmt::Store { to: Mem::Temp(table, 0), index: vec![index], value, valid: None }];
        Ok(counters.into_iter().rev().fold(fill, |body, (_, l)| vec![Stmt::Loop(l, body)]))
    }
}
