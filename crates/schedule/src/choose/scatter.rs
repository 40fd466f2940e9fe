//! Scatters: tasks and vectors along the axes at whose points different elements are written.

use super::Choice;
use super::rows::stage_vector;
use super::tasks::{Tasks, worth};
use crate::costs::limits::{memory, registers, tasks};
use crate::kernel::access::{cost, extent, round_up};
use crate::kernel::contraction::scattered_axes;
use crate::language::{LoopRef, Opt, Tail, To};

impl Choice<'_> {
    /// The loops of a scatter. Axes that are an index of the destination by themselves come first,
    /// as tasks, and last, as lanes; the others keep their order, in which points are combined.
    pub(super) fn scatter(&mut self, stage: usize) {
        let k = self.kernel;
        let over = &k.stages[stage].over;
        let (apart, ordered) = scattered_axes(k, stage);
        let lanes = self.lanes(stage);
        // Each of a group's threads has elements of its own: one test decides about a point.
        let shared = self.target.groups.is_some() && !ordered.is_empty();
        let vector = stage_vector(k, stage).filter(|a| apart.contains(a) && extent(k, *a) >= lanes && !shared);
        let work = over.iter().map(|a| extent(k, *a)).fold(cost(k), i64::saturating_mul);
        let mut wanted = Tasks { left: worth(self.target, work) };

        let (mut tasks, mut inner) = (Vec::new(), Vec::new());
        let mut binds: Vec<Opt> = Vec::new();
        for axis in &apart {
            let (n, is_vector) = (extent(k, *axis), Some(*axis) == vector);
            let mut at = self.at(stage, *axis, 0);
            let piece = (memory::PIECE / self.target.vector_bytes as i64 * lanes).min(n / tasks::FEW);
            let block = |even: i64| if is_vector { round_up(even.max(piece), lanes) } else { even };
            if let Some(inside) = wanted.cut(self, &at, n, block) {
                binds.push(Opt::Bind { at: at.clone(), to: To::Task });
                tasks.push(std::mem::replace(&mut at, inside));
            }
            if is_vector {
                self.split(at.clone(), lanes, Tail::Rest);
                inner.push(at.clone());
                at = at.inner();
                binds.push(Opt::Bind { at: at.clone(), to: To::Vector });
            }
            inner.push(at);
        }
        // The last axis of the points, where it is apart, runs inside the ordered ones: they walk
        // the index once, and whole rows of values.
        let innermost = vector.or(over.last().copied()).filter(|a| apart.contains(a));
        let inside = |l: &LoopRef| innermost.is_some_and(|a| k.axes[a.index()].var.name() == l.axis);
        let (last, outer): (Vec<LoopRef>, Vec<LoopRef>) = inner.into_iter().partition(inside);
        let mut points: Vec<LoopRef> = ordered.iter().map(|a| self.at(stage, *a, 0)).collect();
        if let Some(at) = points.last().filter(|_| shared).cloned() {
            // Whether points are its own is known of several at one time.
            self.split(at.clone(), registers::STEPS, Tail::Rest);
            binds.push(Opt::Bind { at: at.inner(), to: To::Unroll });
            points.push(at.inner());
        }
        let order: Vec<LoopRef> = tasks.into_iter().chain(outer).chain(points).chain(last).collect();
        self.opts.push(Opt::Reorder { stage: k.stages[stage].name.clone(), order });
        self.opts.extend(binds);
    }
}
