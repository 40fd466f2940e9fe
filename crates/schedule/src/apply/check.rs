//! What only several steps of a schedule show: whether loops, places and accumulators go together.

use super::{Applied, LoopState, Runs, Scheduled, StageState};
use crate::kernel::access::reads;
use svod_ir::kernel::{AxisId, Body, Out};

impl Scheduled {
    /// What no later step has combined: the step's number and the reason.
    pub(super) fn check(&self) -> Result<(), (usize, String)> {
        for (stage, state) in self.stages.iter().enumerate() {
            let lane = |l: &LoopState| matches!(l.runs, Runs::Vector | Runs::Lane);
            let alone = |l: &&LoopState| lane(l) && self.reduces(stage, l.axis) && !l.rfactor;
            if let Some(l) = state.loops.iter().find(alone) {
                return Err((l.bound, "lanes of a reduction need accumulators of their own: rfactor the loop".into()));
            }
            let lanes = |i: usize| self.rounds(stage, i).as_const().unwrap_or(0);
            let combined = |i: &usize| state.loops[*i].rfactor && state.loops[*i].runs == Runs::Vector;
            let uneven = |i: &usize| lanes(*i) < 1 || !(lanes(*i) as u64).is_power_of_two();
            if let Some(i) = (0..state.loops.len()).filter(combined).find(uneven) {
                let why = format!("{} lanes cannot be combined as a tree of halves; take a power of two", lanes(i));
                return Err((state.loops[i].bound, why));
            }
            self.check_inside(stage).map_err(|why| (state.placed, why))?;
            self.check_readers(stage).map_err(|why| (state.placed, why))?;
            if let Some(micro) = &state.micro {
                self.check_micro(stage, micro.rows, micro.cols).map_err(|why| (micro.step, why))?;
            }
            if let Some(into) = &state.direct_store {
                self.check_direct_store(stage, into.output).map_err(|why| (into.step, why))?;
            }
            for (i, fetch) in state.prefetches.iter().enumerate() {
                self.check_prefetch(stage, i).map_err(|why| (fetch.step, why))?;
            }
        }
        Ok(())
    }

    /// An output is computed inside the loops of another if they visit each of its points once.
    fn check_inside(&self, stage: usize) -> Applied {
        let own = &self.kernel.stages[stage];
        let Some((consumer, axis, part)) = self.stages[stage].at.filter(|_| self.writes(stage)) else {
            let shared = self.writes(stage) && own.outs.contains(&Out::Temp) && self.is_read_by_tasks(stage);
            return if shared { Err(format!("tasks would all compute the output `{}`", own.name)) } else { Ok(()) };
        };
        if matches!(own.body, Body::Scatter { .. } | Body::Sort { .. }) || own.dims() != own.over {
            return Err("scans, scatters and sorts are computed by themselves".into());
        }
        if self.stages[consumer].at.is_some() || !self.writes(consumer) {
            return Err("an output is computed inside the loops of another output".into());
        }
        let loops = &self.stages[consumer].loops;
        let around = loops.iter().position(|l| (l.axis, l.part) == (axis, part)).map_or(&loops[..], |l| &loops[..=l]);
        if around.iter().all(|l| own.over.contains(&l.axis)) {
            return Ok(());
        }
        Err("the loops around an output are over its own axes".into())
    }

    /// Whether a stage that is computed outside of loops is computed by each of several tasks.
    fn is_read_by_tasks(&self, stage: usize) -> bool {
        let mut readers = vec![stage];
        for &s in &self.order {
            if !readers.contains(&s) && readers.iter().any(|r| reads(&self.kernel, s, *r)) {
                readers.push(s);
                // What is computed in its loops is part of the same tasks.
                readers.extend(self.stages[s].at.map(|(consumer, ..)| consumer));
            }
        }
        readers.into_iter().any(|s| self.stages[s].loops.iter().any(|l| l.runs == Runs::Task))
    }

    /// What is computed inside a loop is read inside it, by its stage or by what is computed in there.
    fn check_readers(&self, stage: usize) -> Applied {
        let Some((consumer, axis, part)) = self.stages[stage].at else { return Ok(()) };
        let position = |(axis, part): (AxisId, u32)| {
            self.stages[consumer].loops.iter().position(|l| (l.axis, l.part) == (axis, part))
        };
        let here = position((axis, part));
        let inside = |reader: usize| {
            let outwards = |at: &usize| self.stages[*at].at.map(|(of, ..)| of);
            let around = std::iter::successors(Some(reader), outwards).take_while(|at| *at != consumer);
            // The stage among those around the reader that is computed in the consumer's own loops.
            let last = around.last().and_then(|at| self.stages[at].at);
            reader == consumer || last.is_some_and(|(of, axis, part)| of == consumer && position((axis, part)) >= here)
        };
        match (0..self.kernel.stages.len()).find(|reader| !inside(*reader) && reads(&self.kernel, *reader, stage)) {
            Some(reader) => Err(format!("stage `{}` reads it outside of the loop", self.kernel.stages[reader].name)),
            None => Ok(()),
        }
    }

    /// Refuses what changes a stage's axes once something else was done to the stage, or in its loops.
    pub(super) fn check_untouched(&self, stage: usize, what: &str) -> Applied {
        let state = &self.stages[stage];
        let loops = state.loops == StageState::new(&self.kernel.stages[stage]).loops;
        let around = self.stages.iter().any(|s| s.at.is_some_and(|(consumer, ..)| consumer == stage));
        if loops && !around && state.operands.iter().all(Option::is_none) && state.prefetches.is_empty() {
            return Ok(());
        }
        Err(format!("{what} before anything else is done to the stage"))
    }
}
