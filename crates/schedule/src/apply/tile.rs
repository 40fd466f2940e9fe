//! The tile of a contraction: which loops it takes the place of, and what it reads.

use super::{Applied, LoopState, MicroTile, Operand, Runs, STRICT, Scheduled, StageState};
use crate::costs::limits::steps::MAX_TILE;
use crate::kernel::contraction::{self, Contraction};
use crate::language::{Layout, Read, Tail};
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::kernel::AxisId;
use svod_ir::size::Size;

impl Scheduled {
    /// The step `pairs`.
    pub(super) fn pairs(&mut self, stage: &str) -> Applied {
        let index = self.stage(stage)?;
        if self.strict {
            return Err(STRICT.into());
        }
        self.check_untouched(index, "the depth goes in pairs")?;
        contraction::pairs::pair(&mut self.kernel, index)?;
        self.stages[index].loops = StageState::new(&self.kernel.stages[index]).loops;
        Ok(())
    }

    /// The step `turn`.
    pub(super) fn turn(&mut self, stage: &str) -> Applied {
        let index = self.stage(stage)?;
        if self.strict {
            return Err(STRICT.into());
        }
        (0..self.stages.len()).try_for_each(|s| self.check_untouched(s, "operands change places"))?;
        self.kernel = contraction::turn::turned(&self.kernel, index)?;
        for (state, stage) in self.stages.iter_mut().zip(&self.kernel.stages) {
            state.loops = StageState::new(stage).loops;
        }
        Ok(())
    }

    pub(super) fn micro(&mut self, step: usize, stage: &str, rows: u32, cols: u32) -> Applied {
        let index = self.stage(stage)?;
        if self.strict {
            return Err(STRICT.into());
        }
        if self.stages[index].micro.is_some() {
            return Err(format!("`{stage}` has a tile already"));
        }
        let depth = self.check_micro(index, rows, cols)?;
        self.stages[index].micro = Some(MicroTile { rows, cols, depth, step });
        Ok(())
    }

    /// The number of loops over the depth.
    pub(super) fn check_micro(&self, index: usize, rows: u32, cols: u32) -> Applied<usize> {
        if rows == 0 || cols == 0 || rows > MAX_TILE || cols > MAX_TILE {
            return Err(format!("a tile has 1 to {MAX_TILE} rows and columns"));
        }
        let found = self.contraction(index)?;
        let loops = &self.stages[index].loops;
        let inner = |l: &LoopState| l.step == 1 && l.runs == Runs::Serial;
        let depth = loops.iter().rev().take_while(|l| found.depth.contains(&l.axis) && inner(l)).count();
        let ends = match &loops[..loops.len() - depth] {
            [.., i, j] => depth > 0 && (i.axis, j.axis) == (found.m, found.n) && inner(i) && inner(j),
            _ => false,
        };
        if !ends {
            return Err("the innermost loops must be the innermost parts of rows, columns and depth, serial".into());
        }
        let whole = |l: &LoopState| loops.iter().filter(|o| o.axis == l.axis).count() == 1;
        if !loops[loops.len() - depth + 1..].iter().all(whole) {
            return Err("of several loops over the depth only the outermost may be a part of its axis".into());
        }
        // What the tile covers is a round of the innermost loop around it.
        let padded = |axis: AxisId, by: u32| {
            let around = loops.iter().rev().filter(|l| l.axis == axis).nth(1);
            around.is_some_and(|l| l.step == u64::from(by) && l.tail == Tail::PadScratch)
        };
        if !padded(found.m, rows) || !padded(found.n, cols) {
            return Err(format!("rows and columns must be split by {rows} and {cols} with padded scratch"));
        }
        let over_the_end = |l: &LoopState| {
            let full = matches!(l.tail, Tail::Mask | Tail::PadScratch);
            full && self.kernel.axes[l.axis.index()].extent.divisible_by(l.step as i64) != Some(true)
        };
        if loops.iter().any(|l| l.step > 1 && found.depth.contains(&l.axis) && over_the_end(l)) {
            return Err("full rounds of the depth would run over its end".into());
        }
        for (operand, value, axis, width) in [(0, found.a, found.m, rows), (1, found.b, found.n, cols)] {
            let copy = self.stages[index].operands[operand].or_else(|| self.rows_of_a_stage(operand, value, &found));
            let Some(copy) = copy else { return Err("both operands must be staged first".into()) };
            if !matches!(self.kernel.exprs.get(value), Expr::Load { from, valid: None, .. } if *from == copy.mem) {
                return Err(format!("the copy of operand {operand} is not what is read"));
            }
            // A copy ends with its last tile; a prepared one in rows, with its last row.
            let full = |l: &LoopState| matches!(l.tail, Tail::Mask | Tail::PadScratch);
            if loops.iter().any(|l| l.axis == axis && l.step > u64::from(width) && full(l)) {
                return Err(format!("full rounds of more than a tile run over the end of operand {operand}"));
            }
            match (copy.layout, copy.mem) {
                (Layout::Panels(panel), _) if panel != width => {
                    return Err(format!("operand {operand} is in panels of {panel}, the tile takes {width}"));
                }
                (Layout::Rows, Mem::Param(_)) => {
                    let extent = &self.kernel.axes[axis.index()].extent;
                    let whole =
                        loops.iter().all(|l| l.axis != axis || extent.divisible_by(l.step as i64) == Some(true));
                    if !whole {
                        return Err(format!("full rounds run over the end of the prepared operand {operand}"));
                    }
                }
                (Layout::Plane { slack, .. }, _) if slack < width => {
                    return Err(format!("the plane has {slack} elements after a line, the tile reads {width}"));
                }
                _ => {}
            }
        }
        Ok(depth)
    }

    /// The first operand where it is what another stage computes, rows by depth: that needs no copy. Whatever other
    /// axes it has are outside of the tile.
    pub(super) fn rows_of_a_stage(&self, operand: usize, value: ExprId, found: &Contraction) -> Option<Operand> {
        let Expr::Load { from: mem @ Mem::Temp(t, _), index, .. } = self.kernel.exprs.get(value) else { return None };
        let var = |a: AxisId| &self.kernel.axes[a.index()].var;
        let along = |a: AxisId| {
            let own = |e: &ExprId| *self.kernel.exprs.get(*e) == Expr::Index(Size::from(var(a)));
            let named = |e: &ExprId| self.kernel.exprs.variables_used(&[*e]).contains(var(a));
            let only = index.iter().filter(|e| named(e)).count() == 1;
            index.iter().position(own).filter(|_| only)
        };
        let layout = self.stages[t.index()].layout;
        let plain = operand == 0 && layout == Layout::Rows && found.depth == [found.k];
        (plain && along(found.m)? < along(found.k)?).then_some(Operand { mem: *mem, layout })
    }

    /// The operand whose panels a tile's loop `l` goes through.
    pub(super) fn panels_of_a_tile(&self, stage: usize, l: usize, read: &Read) -> Applied<ExprId> {
        let found = self.contraction(stage)?;
        let state = &self.stages[stage];
        let panels = matches!(state.operands[1], Some(Operand { layout: Layout::Panels(_), .. }));
        let across = |tile: MicroTile| {
            let l = &state.loops[l];
            *read == Read::Operand(1) && l.axis == found.n && l.step == u64::from(tile.cols)
        };
        match state.micro.filter(|tile| panels && across(*tile)) {
            Some(_) => Ok(found.b),
            None => Err("of operands only the panels of 1 are fetched ahead, by a tile's loop over panels".into()),
        }
    }
}
