//! What a stage does about caches: outputs that go past them, and loads that are fetched ahead.

use super::{Applied, LoopRef, LoopState, Prefetch, Runs, Scheduled};
use crate::language::Read;
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::kernel::{Body, Out};

impl Scheduled {
    /// The step `stream`.
    pub(super) fn stream(&mut self, stage: &str) -> Applied {
        let index = self.stage(stage)?;
        let outs = &self.kernel.stages[index].outs;
        let once = !matches!(self.kernel.stages[index].body, Body::Scatter { .. } | Body::Sort { .. });
        if !once || !outs.iter().any(|o| matches!(o, Out::Param { .. })) {
            return Err("only outputs that are no scatter and no sort can go past the caches".into());
        }
        if self.stages[index].stream {
            return Err(format!("the outputs of `{stage}` go past the caches already"));
        }
        self.stages[index].stream = true;
        Ok(())
    }

    /// The step `prefetch`, of this number.
    pub(super) fn prefetch(&mut self, step: usize, at: &LoopRef, read: &Read, ahead: u32) -> Applied {
        let (stage, l) = self.find(at)?;
        let load = match read {
            Read::Load { .. } => self.load(stage, read)?,
            Read::Operand(_) => self.panels_of_a_tile(stage, l, read)?,
        };
        if ahead == 0 {
            return Err("a round that reads it now is not ahead; fetch 1 round ahead at least".into());
        }
        let (axis, part) = (self.stages[stage].loops[l].axis, self.stages[stage].loops[l].part);
        let fetches = &mut self.stages[stage].prefetches;
        if fetches.iter().any(|p| (p.axis, p.part, p.load) == (axis, part, load)) {
            return Err(format!("`{read}` is fetched ahead in this loop already"));
        }
        fetches.push(Prefetch { axis, part, load, ahead, step });
        self.check_prefetch(stage, self.stages[stage].prefetches.len() - 1)
    }

    /// Whether a prefetch of a stage fetches what a later round of its loop reads.
    pub(super) fn check_prefetch(&self, stage: usize, which: usize) -> Applied {
        let (state, own) = (&self.stages[stage], &self.kernel.stages[stage]);
        let Prefetch { axis, part, load, ahead, .. } = state.prefetches[which];
        if !self.kernel.exprs.loads(&own.roots()).contains(&load) {
            return Err("the stage reads a copy of it instead".into());
        }
        let known = |i: &ExprId| matches!(self.kernel.exprs.get(*i), Expr::Index(_));
        let index = match self.kernel.exprs.get(load) {
            Expr::Load { from: Mem::Param(_), index, .. } if index.iter().all(known) => index,
            _ => return Err("only a parameter read at indices that do not depend on data can be fetched ahead".into()),
        };
        let named = state.loops.iter().position(|l| (l.axis, l.part) == (axis, part));
        let Some(l) = named.filter(|l| matches!(state.loops[*l].runs, Runs::Serial | Runs::Unroll)) else {
            return Err("only loops whose rounds follow one another, serial or laid out, fetch ahead".into());
        };
        if own.sorts(axis) {
            return Err("a sort brings its own loops".into());
        }
        let var = &self.kernel.axes[axis.index()].var;
        if !self.kernel.exprs.variables_used(index).contains(var) {
            return Err(format!("every round of the loop reads the same, for no index of it names `{}`", var.name()));
        }
        // After the last panel of a block of the depth comes the first of the next block.
        let deep = |o: &LoopState| o.step > 1 && self.reduces(stage, o.axis);
        let goes_on = state.micro.is_some() && state.loops[..l].iter().any(deep);
        // A tile's rounds are those of its loop; elsewhere what one loop does not come to any more, those around it do.
        let along = self.kernel.axes[axis.index()].extent.ceil_div(state.loops[l].step as i64);
        let rounds = if state.micro.is_some() { self.rounds(stage, l) } else { along };
        if !goes_on && rounds.upper_bound().is_some_and(|most| most <= i64::from(ahead)) {
            return Err(format!("of {rounds} rounds none is {ahead} ahead of another"));
        }
        // A tile reads panels, a part of which each of its calls fetches.
        if state.micro.is_some() && (which > 0 || self.contraction(stage)?.b != load) {
            return Err("a tile fetches the panels of operand 1 ahead, by one step, and nothing else".into());
        }
        Ok(())
    }

    /// A stage's load, by the parameter or stage that it reads.
    pub(super) fn load(&self, stage: usize, read: &Read) -> Applied<ExprId> {
        let Read::Load { from, nth } = read else { return Err("expected a parameter or a stage".into()) };
        let mem = |m: &Mem| match m {
            Mem::Param(p) => p.to_string(),
            Mem::Temp(t, _) => self.kernel.stages[t.index()].name.clone(),
        };
        let exprs = &self.kernel.exprs;
        let loads = exprs.loads(&self.kernel.stages[stage].roots());
        let of = |id: &ExprId| matches!(exprs.get(*id), Expr::Load { from: m, .. } if mem(m) == *from);
        let found: Vec<ExprId> = loads.into_iter().filter(of).collect();
        found.get(*nth as usize).copied().ok_or_else(|| match found.len() {
            0 => format!("the stage does not read `{from}`"),
            n => format!("the stage has {n} loads of `{from}`, counted from 0"),
        })
    }
}
