//! The schedule that is chosen without a search.
//!
//! Kernels are told apart by structure alone, in this order:
//!
//! * two contractions with rows between them: [`attention`];
//! * a convolution, or a contraction with its epilogue: [`convolution`], [`contraction`], whose tasks are those of
//!   [`grid`]; the gradient of a convolution's kernel: [`kernel_gradient`]; with few rows or columns: [`skinny`]; whose
//!   constant weights are better read in vectors: [`turned`]; for several
//!   sizes: [`variants`];
//! * a reduction across rows of memory: [`columns`], or, of a narrow matrix, [`narrow_columns`];
//! * few results of many points: [`split_reduction`];
//! * a scan, a scatter, a sort: [`scan`], [`scatter`], [`sort`];
//! * everything else, which is rows (stages that reduce a row, and what is made of them), one map or one reduction:
//!   [`rows`]; maps that read across what they write: [`transpose`]; reductions of few neighbours each: [`windows`].
//!   What takes long fetches ahead: [`prefetch`].
//!
//! Where groups of threads do tasks, products are those of [`groups`], and attention is what these have a kernel for.
//!
//! Nothing here knows a kernel by name or a size by value: factors follow from the target's vector width, registers
//! and caches, and from the tables of `costs::limits`. [`neighbours`] are the schedules that a search tries next.

mod attention;
mod columns;
mod contraction;
mod convolution;
mod grid;
mod groups;
mod kernel_gradient;
mod narrow_columns;
mod neighbours;
mod prefetch;
mod rows;
mod scan;
mod scatter;
mod skinny;
mod sort;
mod split_reduction;
mod tasks;
mod transpose;
mod turned;
mod variants;
mod windows;

use crate::kernel::contraction::window::is_convolution;
use crate::kernel::contraction::worth_a_tile;
use crate::kernel::contraction::{Contraction, are_siblings, of_bytes, recognise};
use crate::language::{LoopRef, Opt, Schedule, Tail, To};
pub use neighbours::neighbours;
use svod_ir::kernel::{AxisId, Body, Emit, Kernel, Out};
use svod_ir::target::Target;
pub use variants::heuristic_variants;

/// Chooses a schedule from the kernel's structure and the target's description.
pub fn heuristic(kernel: &Kernel, target: &Target) -> Schedule {
    heuristic_for_panels(kernel, target, None)
}

/// As [`heuristic`], with tiles for panels of a constant operand that are as wide as those there are.
fn heuristic_for_panels(kernel: &Kernel, target: &Target, panels: Option<i64>) -> Schedule {
    match choose(kernel, target, false, panels) {
        (chosen, Some((stage, c))) => skinny::or_in_place(kernel, target, stage, &c, chosen),
        (chosen, None) => chosen,
    }
}

/// A kernel's one contraction, and its stage, where its schedule may be another one.
type Product = Option<(usize, Contraction)>;

/// As [`heuristic`], for reductions from left to right in which every operation is rounded on its own:
/// vectors and tasks divide what is kept, and nothing else.
pub fn strict_heuristic(kernel: &Kernel, target: &Target) -> Schedule {
    choose(kernel, target, true, None).0
}

fn choose(kernel: &Kernel, target: &Target, strict: bool, panels: Option<i64>) -> (Schedule, Product) {
    let opts = if strict { vec![Opt::Strict] } else { Vec::new() };
    let mut choice = Choice { strict, panels, opts, ..Choice::new(kernel, target) };
    let last = kernel.stages.len().saturating_sub(1);
    if target.groups.is_some() {
        choice.for_groups();
        return (choice.opts.into(), None);
    }
    if let Some(found) = attention::attention(kernel) {
        choice.attention(&found);
        let tiles = Schedule::from(choice.opts);
        if strict || !found.has_few_rows(kernel) {
            return (tiles, None);
        }
        let mut choice = Choice { strict, panels, ..Choice::new(kernel, target) };
        if !choice.attention_of_few(&found) {
            // One row after the other.
            choice.opts.clear();
            choice.stage(last);
        }
        return (skinny::faster(kernel, target, choice.opts.into(), tiles), None);
    }
    let mut found: Vec<(usize, Contraction)> = (0..last).filter_map(|s| recognise(kernel, s).map(|c| (s, c))).collect();
    // Tiles are computed in the loops of the last output; another one has loops of its own.
    let tiles = !strict && !(0..last).any(|s| is_output(kernel, s));
    let convolution = || (0..last).find_map(|s| convolution::schedule(kernel, s, target));
    if tiles
        && panels.is_none()
        && let [(stage, c)] = &found[..]
        && !is_convolution(kernel, *stage)
        && let Some((schedule, time)) = turned::schedule(kernel, *stage, target)
        && time < turned::time_as_it_is(kernel, *stage, c, target)
    {
        return (schedule, None);
    }
    if tiles
        && found.len() <= 1
        && let Some(schedule) = convolution()
    {
        return (schedule, None);
    }
    if !tiles || !are_siblings(kernel, &found) {
        found.clear();
    }
    match &found[..] {
        [(_, c), ..] if worth_a_tile(kernel, c) => match contraction::paired(kernel, &found, target, panels) {
            Some(schedule) => choice.opts = schedule.0,
            None if found.len() == 1 && choice.kernel_gradient(found[0].0) => {}
            None => choice.contraction(&found),
        },
        _ if !strict && (choice.columns(None) || choice.in_parts()) => {}
        _ => choice.stage(last),
    }
    let product = if found.len() == 1 { found.pop() } else { None };
    (choice.opts.into(), product)
}

struct Choice<'k> {
    kernel: &'k Kernel,
    target: &'k Target,
    /// Whether reductions keep their order.
    strict: bool,
    /// Columns of the panels that a constant operand of a contraction has to have, if that is settled.
    panels: Option<i64>,
    /// Points of a line of the image that has a contraction's rows, of which a tile's are a part.
    line: Option<i64>,
    /// Whether a row that several stages read may be laid out as a whole, where threads share its vectors.
    rows_in_registers: bool,
    opts: Vec<Opt>,
}

impl<'k> Choice<'k> {
    fn new(kernel: &'k Kernel, target: &'k Target) -> Self {
        Choice { kernel, target, strict: false, panels: None, line: None, rows_in_registers: true, opts: Vec::new() }
    }
}

impl Choice<'_> {
    /// An output, by what kind of stage it is.
    fn stage(&mut self, out: usize) {
        match &self.kernel.stages[out].body {
            Body::Scatter { .. } => {
                (0..out).filter(|s| is_output(self.kernel, *s)).for_each(|s| self.rows(s));
                self.scatter(out);
            }
            Body::Reduce { axes, emit: Emit::Inclusive | Emit::Exclusive, .. } => match self.target.groups {
                Some(_) => self.scan_of_groups(out, axes[0]),
                None => self.scan(out, axes[0]),
            },
            Body::Sort { along, to, .. } => match self.target.groups {
                Some(_) => self.sort_of_groups(out, *along, *to),
                None => self.sort(out, *along, *to),
            },
            _ => self.rows(out),
        }
    }

    /// A kernel for groups of threads.
    fn for_groups(&mut self) {
        let last = self.kernel.stages.len().saturating_sub(1);
        if !self.strict && self.attention_of_groups() {
            return;
        }
        let found = |s: usize| recognise(self.kernel, s).or_else(|| of_bytes(self.kernel, s)).map(|c| (s, c));
        if let Some((stage, c)) = (0..last).find_map(found)
            && !self.strict
            && self.product_of_groups(stage, &c)
        {
            return;
        }
        if self.strict || !(self.columns(None) || self.in_parts()) {
            self.stage(last);
        }
    }

    fn at(&self, stage: usize, axis: AxisId, part: u32) -> LoopRef {
        LoopRef::new(&self.kernel.stages[stage].name, self.kernel.axes[axis.index()].var.name(), part)
    }

    fn split(&mut self, at: LoopRef, by: i64, tail: Tail) {
        self.opts.push(Opt::Split { at, by: by as u64, tail });
    }

    /// What a loop has been split by so far.
    fn factors(&self, at: &LoopRef) -> impl Iterator<Item = i64> {
        self.opts.iter().filter_map(move |opt| match opt {
            Opt::Split { at: split, by, .. } if split == at => Some(*by as i64),
            _ => None,
        })
    }

    fn bind(&mut self, at: LoopRef, to: To) {
        self.opts.push(Opt::Bind { at, to });
    }
}

fn is_output(kernel: &Kernel, stage: usize) -> bool {
    kernel.stages[stage].outs.iter().any(|o| matches!(o, Out::Param { .. }))
}
