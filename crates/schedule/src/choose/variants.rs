//! Schedules by size: a contraction with few rows wants other loops than one with many.
//!
//! Where rows or columns of a contraction are any number, candidates are what the heuristic chooses for some fixed
//! numbers of them. The cost model says how long each takes at sizes a factor of two apart, and up to two of them
//! become variants for small sizes where that is worth their code.

use super::{heuristic, heuristic_for_panels};
use crate::costs::limits::variants;
use crate::kernel::contraction::recognise;
use crate::language::Variants;
use crate::language::{Layout, LoopRef, Opt, Schedule, StageHome, Tail, To};
use crate::lower::lower;
use crate::lower::values_at;
use svod_ir::kernel::Kernel;
use svod_ir::lowered::cost::{Machine, Rounds};
use svod_ir::lowered::{Guard, Lowered};
use svod_ir::size::{Size, Variable};
use svod_ir::target::Target;

/// Chooses schedules from the kernel's structure and the target's description: one, or several by size.
pub fn heuristic_variants(kernel: &Kernel, target: &Target) -> Variants {
    let rest = heuristic(kernel, target);
    match measure(kernel) {
        Some(measure) => choose(kernel, target, &measure, rest),
        None => rest.into(),
    }
}

/// The number that decides which schedule is best: rows of the kernel's one contraction, else its columns, if that
/// is a variable.
fn measure(kernel: &Kernel) -> Option<Size> {
    let mut found = (0..kernel.stages.len()).filter_map(|stage| recognise(kernel, stage));
    let contraction = found.next().filter(|_| found.next().is_none())?;
    let extents = [contraction.m, contraction.n].map(|axis| &kernel.axes[axis.index()].extent);
    extents.into_iter().find(|extent| extent.as_const().is_none()).cloned()
}

fn choose(kernel: &Kernel, target: &Target, measure: &Size, rest: Schedule) -> Variants {
    let (least, most) = measure.bounds();
    let (least, most) = (least.max(1), most);
    let sizes: Vec<i64> = (0..).map(|p| 1i64 << p).skip_while(|n| *n < least).take_while(|n| *n < most).collect();
    let times = |schedule: &Schedule| -> Option<Vec<f64>> {
        let lowered = lower(kernel, schedule).ok()?.lowered;
        let at = |size: &i64| {
            let mean = |all: [f64; 2]| all.iter().sum::<f64>() / all.len() as f64;
            mean(
                [Variable::min, Variable::max]
                    .map(|other| time(&lowered, target, &values(kernel, measure, *size, other))),
            )
        };
        Some(sizes.iter().map(at).collect())
    };
    // Variants share what is packed when a plan is prepared.
    let panels = rest.0.iter().find_map(|opt| match opt {
        Opt::Stage { layout: Layout::Panels(columns), home: StageHome::Prepared, .. } => Some(i64::from(*columns)),
        _ => None,
    });
    let Some(general) = times(&rest) else { return rest.into() };
    let mut candidates: Vec<(Schedule, Vec<f64>)> = Vec::new();
    for size in (0..variants::CANDIDATES).map(|p| 1i64 << (2 * p)).filter(|n| (least..most).contains(n)) {
        let small = fixed(kernel, &values(kernel, measure, size, Variable::min));
        let schedule = for_fewer(kernel, &small, heuristic_for_panels(&small, target, panels));
        if schedule == rest || candidates.iter().any(|(known, _)| *known == schedule) {
            continue;
        }
        if let Some(times) = times(&schedule) {
            candidates.push((schedule, times));
        }
    }
    // The candidate that is best for the sizes in `from..to`, and what it saves there.
    let best = |from: usize, to: usize| -> Option<(f64, usize)> {
        let saved = |times: &[f64]| (from..to).map(|at| general[at] - times[at] - variants::CERTAIN).sum::<f64>();
        let all = candidates.iter().enumerate().map(|(n, (_, times))| (saved(times), n));
        all.max_by(|a, b| a.0.total_cmp(&b.0))
    };
    // One variant, or two, and the gain.
    let mut chosen: (f64, Vec<(usize, usize)>) = (0.0, Vec::new());
    let mut consider = |gain: f64, variants: Vec<(usize, usize)>| {
        if gain > chosen.0 {
            chosen = (gain, variants);
        }
    };
    for first in 1..=sizes.len() {
        let Some((gain, small)) = best(0, first) else { break };
        consider(gain, vec![(first, small)]);
        for second in first + 1..=sizes.len() {
            if let Some((more, large)) = best(first, second).filter(|(_, large)| *large != small) {
                consider(gain + more, vec![(first, small), (second, large)]);
            }
        }
    }
    let guarded = chosen.1.into_iter().map(|(end, candidate)| {
        let guard = Guard { left: measure.clone(), right: Size::from(sizes[end - 1]) };
        (guard, candidates[candidate].0.clone())
    });
    Variants { guarded: guarded.collect(), rest }
}

/// Values at which the measure is of this size, and `other` for the variables that it does not name.
fn values(kernel: &Kernel, measure: &Size, size: i64, other: fn(&Variable) -> i64) -> Vec<(Variable, i64)> {
    let mut values = values_at(measure, size);
    let others = kernel.vars.iter().filter(|v| !values.iter().any(|(known, _)| known == *v));
    let others: Vec<(Variable, i64)> = others.map(|v| (v.clone(), other(v))).collect();
    values.extend(others);
    values
}

/// The kernel as it is at these values, as far as choices look at it.
fn fixed(kernel: &Kernel, values: &[(Variable, i64)]) -> Kernel {
    let value = |v: &Variable| values.iter().find(|(known, _)| known == v).map(|(_, value)| Size::from(*value));
    let mut kernel = kernel.clone();
    let extents = kernel.axes.iter_mut().map(|axis| &mut axis.extent);
    let shapes = kernel.params.iter_mut().flat_map(|param| &mut param.shape);
    extents.chain(shapes).for_each(|size| *size = size.substitute(&value));
    kernel
}

/// A schedule of a kernel at a fixed size, for runs of fewer rows as well: rows that are laid out together, all of which
/// would be computed however many there are, go in rounds of half as many, a quarter, … where fewer are left.
fn for_fewer(kernel: &Kernel, fixed: &Kernel, schedule: Schedule) -> Schedule {
    let steps = &schedule.0;
    let number =
        |at: &LoopRef| kernel.axes.iter().position(|a| a.var.name() == at.axis && a.extent.as_const().is_none());
    let inner = |at: &LoopRef| at.inner();
    let once = |at: &LoopRef| {
        let same = |l: &LoopRef| (&l.stage, &l.axis) == (&at.stage, &at.axis);
        steps.iter().filter(|opt| matches!(opt, Opt::Split { at, .. } if same(at))).count() == 1
    };
    let laid_out = |l: &LoopRef| steps.iter().any(|o| matches!(o, Opt::Bind { at, to: To::Unroll } if at == l));
    // Loops over such rows, of which there are whole rounds at the fixed size, and the rows of a round.
    let rows = |opt: &Opt| match opt {
        Opt::Split { at, by: by @ ..=variants::HALVED, tail: Tail::Mask } if once(at) && laid_out(&inner(at)) => {
            let full = fixed.axes[number(at)?].extent.divisible_by(*by as i64) == Some(true);
            full.then(|| (at.clone(), *by))
        }
        _ => None,
    };
    let rounds: Vec<(LoopRef, u64)> = steps.iter().filter_map(rows).collect();
    let mut opts = Vec::new();
    for opt in steps {
        let of = |at: &LoopRef| rounds.iter().find(|(outer, _)| outer == at || inner(outer) == *at);
        match opt {
            Opt::Split { at, by, .. } if of(at).is_some() => {
                opts.push(Opt::Split { at: at.clone(), by: *by, tail: Tail::Rest });
            }
            Opt::Bind { at, to: To::Unroll } => {
                let (mut at, mut rows) = (at.clone(), of(at).map_or(1, |(_, rows)| *rows));
                while rows > 2 && rows % 2 == 0 {
                    rows /= 2;
                    opts.push(Opt::Split { at: at.clone(), by: rows, tail: Tail::Rest });
                    opts.push(Opt::Bind { at: at.clone(), to: To::Unroll });
                    at = inner(&at);
                }
                opts.push(Opt::Bind { at, to: To::Unroll });
            }
            opt => opts.push(opt.clone()),
        }
    }
    opts.into()
}

/// The logarithm of the time that a kernel takes at these values.
pub(super) fn time(lowered: &Lowered, target: &Target, values: &[(Variable, i64)]) -> f64 {
    let value = |v: &Variable| values.iter().find(|(known, _)| known == v).map(|(_, value)| *value);
    let costs = lowered.costs(&value, target.into(), Rounds::Middle);
    let seconds = |threads: usize, caches: f64| {
        let machine = Machine::described(target, threads).with_caches(caches);
        machine.call + costs.iter().map(|cost| cost.seconds(&machine)).sum::<f64>()
    };
    let machines =
        variants::THREADS.iter().flat_map(|threads| variants::CACHES.iter().map(|caches| (*threads, *caches)));
    let times: Vec<f64> = machines.map(|(threads, caches)| seconds(threads, caches).ln()).collect();
    times.iter().sum::<f64>() / times.len() as f64
}
