//! The kernel: *what* one kernel computes, with no loops and no order.
//!
//! A [`Kernel`] is a list of [`Stage`]s over named axes. Each stage defines one value (or several)
//! per point of the axes it ranges over: a map, or a reduction over further axes. A stage's value goes
//! to a buffer argument, or to a temporary that later stages read by index. Nothing says in which
//! order points are visited, where temporaries live, or how often a value is recomputed: that is
//! the schedule's business, and the loops' ([`crate::lowered`]).
//!
//! Invariants, checked by [`Kernel::verify`]:
//! * a stage reads only temporaries of earlier stages;
//! * an index expression names only the stage's own axes, its reduction's axes and the kernel's
//!   variables; there is one index per dimension;
//! * every element of an output is written by one stage, once (the interpreter checks this), and by
//!   scatters after that;
//! * extents are never negative.

mod interp;
mod monoid;
mod parse;
pub mod text;
mod verify;

pub use monoid::Monoid;
pub use verify::{StageError, VerifyError};

pub(crate) use interp::param_shapes;

use crate::expr::{Expr, ExprId, ExprPool, ParamId};
use crate::size::{Size, Variable};
use svod_dtype::DType;

/// An axis of a kernel; prints as its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AxisId(pub u32);

impl AxisId {
    /// The position in [`Kernel::axes`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A named range `0..extent`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Axis {
    /// The axis as it appears in [`crate::expr::Expr::Index`]; its bounds are `0` and the largest
    /// `extent - 1`.
    pub var: Variable,
    /// Number of points.
    pub extent: Size,
}

/// A buffer argument, dense and row-major over `shape`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Param {
    /// Element type.
    pub dtype: DType,
    /// Extent of each dimension.
    pub shape: Vec<Size>,
    /// Whether the content is the same at every run of a plan, so that it may be packed once.
    pub constant: bool,
}

/// One running value of a reduction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Carry {
    /// Type of the running value.
    pub dtype: DType,
    /// What is combined at each point; it may refer to [`crate::expr::Expr::New`] of earlier
    /// carries.
    pub element: ExprId,
    /// How.
    pub op: Monoid,
    /// A factor by which the running value is multiplied before the element is combined, in terms
    /// of [`crate::expr::Expr::Old`] and [`crate::expr::Expr::New`] of earlier carries: with
    /// m: Max, the fix `exp(old m - new m)` makes an online softmax (Milakov and Gimelshein 2018).
    /// A NaN factor (both -inf) counts as 1.
    pub fix: Option<ExprId>,
}

impl Carry {
    /// Whether parts of the reduction can be computed apart and combined by one scalar operation.
    pub fn is_plain(&self) -> bool {
        self.op.alu().is_some() && self.fix.is_none()
    }
}

/// Which steps of a reduction give a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Emit {
    /// A reduction: one value after the last step.
    Last,
    /// A scan: a value at each step, this element included. The (single) reduction axis is then also an
    /// axis of the result, its last one.
    Inclusive,
    /// A scan: a value at each step, this element not included.
    Exclusive,
}

/// How a stage computes its values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Body {
    /// Expressions per point, one a value; they have their points in common, and so the loops over them.
    Map(Vec<ExprId>),
    /// A reduction over `axes`, visited in row-major order as far as the result can tell.
    Reduce {
        /// The axes reduced away (kept, by scans).
        axes: Vec<AxisId>,
        /// The running values.
        carries: Vec<Carry>,
        /// Which steps give a value.
        emit: Emit,
        /// The stage's values, in terms of [`crate::expr::Expr::Carry`] and the stage's axes.
        results: Vec<ExprId>,
    },
    /// `out[at] = combine(out[at], value)` for each point of the stage's axes, in row-major order
    /// as far as the result can tell. The stage has one destination, an [`Out::Param`], whose index
    /// may depend on data; points at which it is out of range are dropped. An earlier stage gives
    /// each element of the buffer the value that it starts from.
    Scatter {
        /// What is combined in.
        value: ExprId,
        /// How; `None` overwrites, so that of several points at one element the last one stays.
        combine: Option<Monoid>,
    },
    /// The points of axis `along` in the order of their keys, equal ones in their own order. Axis
    /// `to`, one of the stage's and no longer than `along`, counts the places in that order.
    Sort {
        /// The axis that is sorted.
        along: AxisId,
        /// The axis of the result.
        to: AxisId,
        /// An unsigned integer for each point of `along`, which ascends in the order.
        key: ExprId,
        /// The stage's values at each place: carry 0 stands for the key there, carry 1 (`i64`) for the
        /// point of `along` that it is the key of.
        results: Vec<ExprId>,
    },
}

/// Where one value of a stage goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Out {
    /// A temporary over the stage's axes.
    Temp,
    /// Element `index` of a buffer argument; one index per dimension.
    Param {
        /// The buffer.
        param: ParamId,
        /// One index per dimension, in terms of the stage's axes; only a scatter's may depend on data.
        index: Vec<ExprId>,
    },
}

/// A value, or several, per point of some axes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stage {
    /// Unique in the kernel; schedules refer to it.
    pub name: String,
    /// The axes it ranges over; a temporary's dimensions, in order.
    pub over: Vec<AxisId>,
    /// How.
    pub body: Body,
    /// Where to, for each of the body's values.
    pub outs: Vec<Out>,
}

impl Body {
    /// A map of one value.
    pub fn map(value: ExprId) -> Body {
        Body::Map(vec![value])
    }

    /// The value of a map that has just one.
    pub fn mapped(&self) -> Option<ExprId> {
        match self {
            Body::Map(values) => <[ExprId; 1]>::try_from(&values[..]).ok().map(|[value]| value),
            _ => None,
        }
    }

    /// The axes that it visits at each point of the stage's: those that are reduced or sorted.
    pub fn inner(&self) -> &[AxisId] {
        match self {
            Body::Map(_) | Body::Scatter { .. } => &[],
            Body::Reduce { axes, .. } => axes,
            Body::Sort { along, .. } => std::slice::from_ref(along),
        }
    }

    /// As [`Body::inner`], to be renamed.
    pub fn for_each_axis(&mut self, f: &mut dyn FnMut(&mut AxisId)) {
        match self {
            Body::Map(_) | Body::Scatter { .. } => {}
            Body::Reduce { axes, .. } => axes.iter_mut().for_each(f),
            Body::Sort { along, to, .. } => [along, to].into_iter().for_each(f),
        }
    }
}

/// What one kernel computes.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// A short name for listings; not part of the structure.
    pub name: String,
    /// All axes of all stages.
    pub axes: Vec<Axis>,
    /// Buffer arguments.
    pub params: Vec<Param>,
    /// Symbolic variables.
    pub vars: Vec<Variable>,
    /// Every expression of every stage.
    pub exprs: ExprPool,
    /// Producers before consumers.
    pub stages: Vec<Stage>,
}

impl Stage {
    /// Whether this is a sort, and an axis that of its points or of their places: all others are around them.
    pub fn sorts(&self, axis: AxisId) -> bool {
        matches!(self.body, Body::Sort { along, to, .. } if axis == along || axis == to)
    }
}

impl Kernel {
    /// Whether a stage is a reduction of which parts can be computed apart, and combined by one scalar operation
    /// for each carry.
    pub fn is_plain_reduction(&self, stage: usize) -> bool {
        let Body::Reduce { carries, .. } = &self.stages[stage].body else { return false };
        let elements: Vec<ExprId> = carries.iter().map(|c| c.element).collect();
        let linked = |e: &ExprId| matches!(self.exprs.get(*e), Expr::New(..));
        carries.iter().all(Carry::is_plain)
            && !(carries.len() > 1 && self.exprs.reachable(&elements).iter().any(linked))
    }

    /// Whether an axis or a variable has this name.
    pub fn has_counter(&self, name: &str) -> bool {
        self.axes.iter().map(|a| &a.var).chain(&self.vars).any(|var| var.name() == name)
    }

    /// The arguments that it writes, in ascending order.
    pub fn written(&self) -> Vec<ParamId> {
        let outs = self.stages.iter().flat_map(|s| &s.outs);
        let mut written: Vec<ParamId> = outs
            .filter_map(|o| match o {
                Out::Param { param, .. } => Some(*param),
                Out::Temp => None,
            })
            .collect();
        written.sort_unstable();
        written.dedup();
        written
    }
}
