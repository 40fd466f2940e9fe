//! A kernel's iteration space, hints and reductions, from what is computed and how.

use super::model::{Across, AxisInfo, Hint, IterationSpace, LoopInfo, Mapping, Reduction, Role, Within};
use crate::language::{LoopRef, Opt, Schedule, To};
use svod_ir::kernel::{Body, Kernel, Monoid};

/// One loop over an axis of a stage.
struct Part {
    number: u32,
    mapping: Mapping,
    /// Points, of inner loops.
    points: Option<u64>,
}

/// The axes of a kernel's stages, and how a schedule visits them.
pub fn iteration_space(kernel: &Kernel, schedule: &Schedule) -> IterationSpace {
    let mut space = IterationSpace::default();
    for stage in &kernel.stages {
        let own = stage.over.iter().map(|a| (a, Role::Normal));
        let inner = stage.body.inner().iter().map(|a| (a, Role::Reduction));
        for (axis, role) in own.chain(inner) {
            let axis = &kernel.axes[axis.index()];
            let name = axis.var.name();
            let parts = parts(schedule, &stage.name, name);
            let at = space.axes.len();
            space.axes.push(AxisInfo { name: format!("{}.{name}", stage.name), extent: axis.extent.clone(), role });
            space.tiles.push(parts.iter().filter_map(|p| p.points).collect());
            space.mapping.extend(parts.iter().map(|p| LoopInfo { axis: at, to: p.mapping }));
        }
    }
    space
}

/// The loops over one axis, outermost first.
fn parts(schedule: &Schedule, stage: &str, axis: &str) -> Vec<Part> {
    let mut parts = vec![Part { number: 0, mapping: Mapping::Serial, points: None }];
    let mine = |at: &LoopRef| at.stage == stage && at.axis == axis;
    for opt in &schedule.0 {
        match opt {
            Opt::Split { at, by, .. } if mine(at) => {
                let fresh = parts.len() as u32;
                let place = parts.iter().position(|p| p.number == at.part).unwrap_or(parts.len() - 1);
                parts.insert(place + 1, Part { number: fresh, mapping: Mapping::Serial, points: Some(*by) });
            }
            Opt::Bind { at, to } if mine(at) => {
                let mapping = match to {
                    To::Task | To::Block => Mapping::Block,
                    To::Warp | To::Lane => Mapping::Thread,
                    To::Vector => Mapping::Vector,
                    To::Unroll => Mapping::Serial,
                };
                parts.iter_mut().filter(|p| p.number == at.part).for_each(|p| p.mapping = mapping);
            }
            _ => {}
        }
    }
    parts
}

/// What a schedule says about how to run, each once. A loop without a tile counts with its axis.
pub fn hints(kernel: &Kernel, schedule: &Schedule) -> Vec<Hint> {
    let points = |at: &LoopRef| {
        let part = parts(schedule, &at.stage, &at.axis).into_iter().find(|p| p.number == at.part)?;
        let axis = kernel.axes.iter().find(|a| a.var.name() == at.axis);
        part.points.or_else(|| u64::try_from(axis?.extent.upper_bound()?).ok()).filter(|n| *n > 0)
    };
    let mut hints: Vec<Hint> = Vec::new();
    for opt in &schedule.0 {
        let hint = match opt {
            Opt::Bind { at, to: To::Vector } => points(at).map(Hint::Vectorize),
            Opt::Bind { at, to: To::Unroll } => points(at).map(Hint::Unroll),
            Opt::Prefetch { read, ahead, .. } => {
                Some(Hint::Prefetch { read: read.to_string(), ahead: u64::from(*ahead).max(1) })
            }
            Opt::Micro { rows, .. } => Some(Hint::Unroll(u64::from(*rows).max(1))),
            _ => None,
        };
        hints.extend(hint.filter(|h| !hints.contains(h)));
    }
    hints
}

/// How a kernel's reductions are combined.
pub fn reductions(kernel: &Kernel, schedule: &Schedule) -> Vec<Reduction> {
    let mut found = Vec::new();
    for stage in &kernel.stages {
        let Body::Reduce { carries, .. } = &stage.body else { continue };
        let factored = schedule.0.iter().any(|o| matches!(o, Opt::Rfactor { at } if at.stage == stage.name));
        let lanes = |o: &Opt| matches!(o, Opt::Bind { at, to: To::Warp | To::Lane } if at.stage == stage.name);
        let inner: Vec<&str> = stage.body.inner().iter().map(|a| kernel.axes[a.index()].var.name()).collect();
        let tasks = |o: &Opt| {
            let reduces = |at: &LoopRef| at.stage == stage.name && inner.contains(&at.axis.as_str());
            matches!(o, Opt::Bind { at, to: To::Task | To::Block } if reduces(at))
        };
        let within = match carries.first().map(|c| c.op) {
            Some(Monoid::Welford) => Within::Welford,
            _ if schedule.0.iter().any(lanes) => Within::Shuffle,
            _ if factored => Within::Tree,
            _ => Within::Sequential,
        };
        let across = schedule.0.iter().any(tasks).then_some(Across::Grid);
        let by = carries.first().map(|c| c.op.to_string()).unwrap_or_default();
        found.push(Reduction { stage: stage.name.clone(), by, within, across });
    }
    found
}
