//! The schedule language: *how* a kernel is computed, as a value.
//!
//! A [`Schedule`] is a list of [`Opt`]s. Applying it is a walk over the kernel's loops in which
//! each step succeeds or says why not ([`crate::apply`]). It prints and parses one step a line:
//!
//! ```text
//! split out.a0.0 by 64 rest
//! bind out.a0.0 task
//! at mm out.a0.0
//! ```
//!
//! The text may also use the spellings of [`SPELLINGS`], which stand for such steps.

mod lines;
mod text;
mod variants;

use std::hash::{Hash, Hasher};

pub use crate::costs::limits::variants::MAX_VARIANTS;
use lines::Lines;
pub(crate) use lines::Written;
pub use text::ParseScheduleError;
pub use variants::Variants;

/// A loop: part `part` of axis `axis` of stage `stage`; prints as `out.k.1`.
///
/// Before any split an axis is one loop, part 0. A split keeps the number for the outer loop and
/// gives the inner one the axis's next unused number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoopRef {
    /// The stage's name.
    pub stage: String,
    /// The axis's name.
    pub axis: String,
    /// Which part of the axis.
    pub part: u32,
}

impl LoopRef {
    /// Part `part` of an axis.
    pub fn new(stage: &str, axis: &str, part: u32) -> Self {
        LoopRef { stage: stage.into(), axis: axis.into(), part }
    }

    /// Another part of the same axis.
    pub fn with_part(&self, part: u32) -> Self {
        LoopRef { part, ..self.clone() }
    }

    /// The next part of the same axis: the inner loop that the latest split made, of a loop that it split.
    pub fn inner(&self) -> Self {
        self.with_part(self.part + 1)
    }
}

/// What a split does where its factor does not divide the extent. Nothing ever tests for
/// divisibility: a split says this always.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tail {
    /// The factor divides the extent, provably: an error otherwise.
    Exact,
    /// What remains is covered exactly: by a shorter last round of a serial inner loop, or, where
    /// the inner loop is unrolled or a vector, by a copy of the body in narrower steps.
    Rest,
    /// The inner loop always runs in full; what lies outside is not stored, loads there are masked.
    Mask,
    /// The inner loop always runs in full and the stage's scratch is rounded up to hold the
    /// surplus, whose content nobody reads.
    PadScratch,
}

/// What a loop becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum To {
    /// Laid out in full.
    Unroll,
    /// Lanes of a vector.
    Vector,
    /// A dimension of the grid of tasks.
    Task,
    /// A dimension of the grid of groups of threads: a task is such a group.
    Block,
    /// Threads of a group that are in lockstep, on targets that have them; elsewhere as lanes.
    Warp,
    /// The threads of a group. Where a task is a single thread, it takes them in order. Lanes share no
    /// accumulators.
    Lane,
}

/// How a staged copy of an operand is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Row-major over its axes.
    Rows,
    /// Panels of `width` points of the last axis: `[last / width][other axes][last % width]`.
    Panels(u32),
    /// The padded plane of a convolution, by phases of its strides; row-major. Staging it makes the
    /// stage's last two window axes one.
    Plane {
        /// Elements after each line that are read with it but mean nothing.
        slack: u32,
        /// The width of its rows is a multiple of this.
        multiple: u32,
    },
}

/// Where a staged copy of an operand lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StageHome {
    /// In the task's scratch, made anew by each task.
    Task,
    /// In a buffer that all tasks of the kernel read, made by a phase of its own before theirs.
    Shared,
    /// Made once, when the plan is prepared; only for operands that read constant leaves.
    Prepared,
}

/// Which of a stage's reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Read {
    /// An operand of a contraction: 0 has the rows, 1 the columns.
    Operand(u8),
    /// A load of a parameter (`p0`) or of an earlier stage, by name; of several different ones
    /// that the stage makes, the `nth`.
    Load {
        /// The parameter or stage.
        from: String,
        /// Which, from 0.
        nth: u32,
    },
}

impl From<u8> for Read {
    fn from(operand: u8) -> Self {
        Read::Operand(operand)
    }
}

/// One step of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Opt {
    /// Splits a loop in two, the inner one of `by` points.
    Split {
        /// The loop.
        at: LoopRef,
        /// Points of the inner loop.
        by: u64,
        /// What happens where it does not divide.
        tail: Tail,
    },
    /// Orders loops of a stage, outermost first: those named take, in this order, the places
    /// that they have among them; the others stay.
    Reorder {
        /// The stage.
        stage: String,
        /// The loops.
        order: Vec<LoopRef>,
    },
    /// Changes how a loop runs.
    Bind {
        /// The loop.
        at: LoopRef,
        /// What it becomes.
        to: To,
    },
    /// Computes a stage inside a loop of a later stage, for just what is needed there.
    At {
        /// The stage.
        stage: String,
        /// Where it is computed.
        at: LoopRef,
    },
    /// Gives what a stage reads a copy of its own. In the task's scratch it is a new stage, to be
    /// placed with `At`: `stage.a` and `stage.b` for operands (`stage.plane` for a plane, which may then
    /// have a copy itself), else `stage.p0`, for example, and `stage.p0_1` for the second load. It has
    /// the axes that the read names.
    Stage {
        /// The stage that reads.
        stage: String,
        /// What it reads.
        read: Read,
        /// The copy's layout.
        layout: Layout,
        /// Where the copy lives.
        home: StageHome,
    },
    /// Gives each round of a reduction loop an accumulator of its own; they are combined as a tree.
    /// For unrolled and vector loops these are registers. For a serial loop they are scratch, one a
    /// block of the axis: a blocked, pairwise reduction.
    Rfactor {
        /// The loop.
        at: LoopRef,
    },
    /// Cuts a reduced axis in parts of `by` points: a stage of its own, `stage.parts`, reduces each of
    /// them, in a phase before, and writes what they give to a workspace; the stage reduces the parts. An
    /// axis `a` becomes `a_block` in both and `a_point` in the new one. First of the stage's steps.
    ///
    /// A reduction of the same points that needs one which was cut so before shares its `a_block`, if what it
    /// needs can be that of the part, and mended afterwards: `at` then places the earlier one's parts in
    /// its own. Else each of its tasks reduces the earlier one's parts again, as stage `stage.earlier`.
    SplitReduction {
        /// The axis, as its only loop.
        at: LoopRef,
        /// Points of a part.
        by: u64,
    },
    /// Makes the depth of a contraction of widened bf16 or f16 go in pairs: the operands become words of two
    /// steps each, as some machines multiply them, and an axis `k` of the depth becomes `k_pair`. First of the
    /// stage's steps.
    Pairs {
        /// The contraction.
        stage: String,
    },
    /// Has the operands of a contraction change places: its columns become rows, and its rows, which have vectors,
    /// columns. The last two axes over which a convolution's windows slide become one, and taps the outer axes of the depth. The
    /// schedule's first step, or its second.
    Turn {
        /// The contraction.
        stage: String,
    },
    /// Computes the innermost loops of a contraction stage by a generated tile of `rows` × `cols`.
    Micro {
        /// The contraction.
        stage: String,
        /// Rows of the tile.
        rows: u32,
        /// Columns of the tile.
        cols: u32,
    },
    /// A contraction's tiles write the output themselves, in place of a stage that only copies what they
    /// give; comes after `Micro`. The stage is computed inside a loop of that output.
    DirectStore {
        /// The contraction.
        stage: String,
        /// The stage that copies it to the output.
        output: String,
    },
    /// Writes a stage's outputs past the caches (non-temporally): for large ones, not read soon.
    Stream {
        /// The stage.
        stage: String,
    },
    /// Fetches what a stage's load will read `ahead` rounds of a serial loop later into the caches; the
    /// loop has more rounds than that, and moves what is read.
    /// Of a tile's operands it is the panels of 1, by the loop over those; comes after `Micro`.
    Prefetch {
        /// The loop.
        at: LoopRef,
        /// The load, of a parameter; or operand 1 in panels that no task made itself.
        read: Read,
        /// How many rounds ahead.
        ahead: u32,
    },
    /// Loops stay whole: none is cut where a condition changes, and no reduction ends before its axis does. For code
    /// generation that knows a kernel by its loops.
    Whole,
    /// Reductions add up from left to right, in the order of their axes, and products and sums are
    /// rounded one by one, never fused. Comes first; refuses later steps that would change it.
    Strict,
}

/// A list of steps. Schedules are equal where their steps are, whatever the text was that they were read from.
#[derive(Clone, Debug, Default)]
pub struct Schedule(pub Vec<Opt>, Lines);

impl Schedule {
    /// Whether it begins with [`Opt::Strict`].
    pub fn is_strict(&self) -> bool {
        self.0.first() == Some(&Opt::Strict)
    }

    /// The schedule with [`Opt::Strict`] as its first step, which errors do not count where it is not its own.
    pub fn strictly(mut self) -> Self {
        if !self.is_strict() {
            self.1 = self.1.after_another(&self.0);
            self.0.insert(0, Opt::Strict);
        }
        self
    }

    /// The step at a position as it was written.
    pub(crate) fn written(&self, at: usize) -> Written {
        self.1.of(&self.0, at)
    }
}

impl From<Vec<Opt>> for Schedule {
    fn from(opts: Vec<Opt>) -> Self {
        Schedule(opts, Lines::default())
    }
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Schedule {}

impl Hash for Schedule {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// The names that a schedule's text may use besides those of the steps, their arguments, and the
/// steps that they stand for. `l` is a loop, `n` a number of points; `l'` is the part that the split
/// of `l` makes. What is printed are always the steps.
pub const SPELLINGS: &[(&str, &str, &[&str])] = &[
    ("UPCAST", "l n", &["split l by n rest", "bind l' unroll"]),
    ("UNROLL", "l n", &["split l by n rest", "bind l' unroll"]),
    ("VECTORIZE", "l n", &["split l by n rest", "bind l' vector"]),
    ("LOCAL", "l n", &["split l by n rest", "bind l' lane"]),
    ("GROUP", "l n", &["split l by n rest", "bind l' lane", "rfactor l'"]),
    ("THREAD", "l n", &["split l by n rest", "bind l task"]),
    ("SWAP", "outer inner", &["reorder stage inner outer"]),
    ("PADTO", "l n", &["split l by n pad"]),
    ("TC", "stage rows cols", &["micro stage rows cols"]),
    ("TILE", "l m n1 n2", &["split l by n1 rest", "split m by n2 rest", "reorder stage l m l' m'"]),
    ("STAGE", "stage read layout home", &["stage stage read layout home"]),
    ("STREAM", "stage", &["stream stage"]),
    ("PREFETCH", "l read ahead", &["prefetch l read ahead"]),
];
