//! The loops that compute a kernel: the result of applying a schedule to it.
//!
//! A [`Lowered`] is a list of [`Phase`]s with a barrier between them (a launch each, on a GPU). A
//! phase is a grid of independent tasks and, per task, a tree of statements. Indices are one
//! expression per dimension until code generation flattens them.
//!
//! A kernel whose sizes are variables may have several *variants*, each of some phases that compute all of it:
//! a run takes the first whose [`Guard`] holds, else the last.
//!
//! Semantics of the loop kinds: `Serial` and `Unroll` visit `0..extent` in order; `Vector` visits
//! all lanes of a statement before the next statement. A `Vector` loop has a constant extent and
//! contains only stores (and `Unroll` loops of them). A `Register` temporary is indexed only by
//! constants, `Unroll` and `Vector` loops, the vector loop in its last dimension.
//!
//! Invariants, checked by [`Lowered::verify`]: extents of loops and shapes of temporaries name only
//! outer loops and variables; temporaries are used only in their phase; no two tasks of a phase
//! write the same element; unmasked accesses are in range (the interpreter checks these two).

mod attention;
pub mod cost;
mod guard;
mod interp;
mod parse;
mod product;
mod rename;
mod sort;
pub mod text;
mod verify;

pub use attention::{Attention, AttentionOperand, AttentionPart};
pub use guard::Guard;
pub use product::{Product, ProductOperand};
pub use sort::Sort;
pub use verify::{PhaseError, VerifyError};

use crate::expr::{Expr, ExprId, ExprPool, Mem, ParamId, TempId};
use crate::kernel::Param;
use crate::size::{Size, Variable};
use svod_dtype::{Const, DType};

/// How a loop runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoopKind {
    /// One after the other.
    Serial,
    /// Laid out in full; the extent is constant.
    Unroll,
    /// As lanes of vectors; the extent is constant.
    Vector,
}

/// A loop over `0..extent`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loop {
    /// The counter, unique in the phase.
    pub var: Variable,
    /// Number of iterations, in terms of outer loops and variables; at most 0 means none.
    pub extent: Size,
    /// How it runs.
    pub kind: LoopKind,
}

/// Where a temporary lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Home {
    /// In registers: a small array of scalars or vectors.
    Register,
    /// In the task's scratch memory, 64-byte aligned.
    Scratch,
}

/// A temporary of a phase, private to a task; its content is undefined at the start.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Temp {
    /// For listings.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Extent of each dimension, dense and row-major, in terms of variables only.
    pub shape: Vec<Size>,
    /// Where it lives.
    pub home: Home,
}

/// One operand of a contraction tile: the address of element (0, 0), and its strides.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TileOperand {
    /// The memory.
    pub mem: Mem,
    /// Element (0, 0), one index per dimension.
    pub index: Vec<Size>,
    /// Distance in elements between rows (of A and C), or steps of the depth (of B).
    pub stride: Size,
}

/// `c[r, j] = (init ? 0 : c[r, j]) + sum over k < depth of a[r, k] * b[k, j]` for `r < rows`,
/// `j < cols`. Columns of B and C are contiguous; A is contiguous in k (its stride is between
/// rows) or, with `a_panel`, in r (its stride is between steps of k). B's rows are `stride` apart or,
/// with `b_offsets`, at any distance from its first. Accumulates in C's type.
///
/// With `pairs`, A and B are of [`DType::U32`], words of two steps of the depth, the earlier one in the
/// lower half: what is added at each `k` is the product of the lower halves, then that of the upper ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Micro {
    /// Rows of the tile.
    pub rows: u32,
    /// Columns of the tile.
    pub cols: u32,
    /// Type of A and B, of their halves where these are words.
    pub dtype: DType,
    /// Whether A and B are words of two elements, each of 2 bytes.
    pub pairs: bool,
    /// Type of C.
    pub acc: DType,
    /// Steps of the depth.
    pub depth: Size,
    /// The tile starts from 0 where this is 0, else from C.
    pub start: Size,
    /// Whether A is contiguous in r.
    pub a_panel: bool,
    /// A: rows × depth.
    pub a: TileOperand,
    /// B: depth × cols.
    pub b: TileOperand,
    /// C: rows × cols.
    pub c: TileOperand,
    /// A temporary `i32[depth]` that says for each step how far B's row lies from `b`, in elements;
    /// where absent, rows are `b.stride` apart.
    pub b_offsets: Option<TempId>,
    /// What it brings into the caches meanwhile.
    pub fetch: Option<Fetch>,
}

/// Memory that a tile brings into the caches while it computes, a part at each step of the depth, so that it waits
/// for none. No value depends on it, and the memory need not exist.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fetch {
    /// The argument.
    pub from: ParamId,
    /// Where it begins: one index per dimension.
    pub index: Vec<Size>,
    /// Bytes of a step.
    pub step: Size,
}

impl Fetch {
    /// Lines that a step brings, whose bytes come together: as many as the shortest one has.
    pub fn lines(&self) -> u32 {
        u32::try_from(self.step.bounds().0.max(1)).map_or(u32::MAX, |bytes| bytes.div_ceil(crate::linear::LINE))
    }
}

impl Micro {
    /// What A and B are in memory: elements, or words of two.
    pub fn stored(&self) -> DType {
        if self.pairs { DType::U32 } else { self.dtype }
    }

    /// What a step of the depth has in an element of A or B: the element, or its halves, in order.
    pub fn factors(pairs: bool, dtype: DType, stored: Const) -> impl Iterator<Item = Const> {
        let halves = if pairs { 0..2 } else { 0..1 };
        halves.map(move |half| {
            let bits = || Const::i64(DType::U16, (stored.as_i64() >> (16 * half)) & 0xFFFF);
            if pairs { bits().bitcast(dtype).unwrap_or(Const::zero(dtype)) } else { stored }
        })
    }
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Stmt {
    /// A loop.
    Loop(Loop, Vec<Stmt>),
    /// The body where the condition (uniform over vector loops) holds.
    If(ExprId, Vec<Stmt>),
    /// `to[index] = value`, where `valid` holds (always, when absent). The value's loads read
    /// memory as it is when the statement runs.
    Store {
        /// The memory.
        to: Mem,
        /// One index per dimension.
        index: Vec<ExprId>,
        /// What is stored.
        value: ExprId,
        /// Where it is stored.
        valid: Option<ExprId>,
    },
    /// A contraction tile.
    Micro(Micro),
    /// Fetches an element of a buffer argument into the caches. It has no effect on values, and the
    /// element need not exist.
    Prefetch {
        /// The argument.
        from: ParamId,
        /// One index per dimension.
        index: Vec<Size>,
    },
}

/// A grid of independent tasks.
#[derive(Clone, Debug, Default)]
pub struct Phase {
    /// The variant that it belongs to, by position in [`Lowered::guards`], or after them.
    pub variant: usize,
    /// The grid, outermost first; kinds are `Serial`, extents name variables only. The flat task
    /// index is row-major over it.
    pub grid: Vec<Loop>,
    /// Arguments that are written past the caches (non-temporally).
    pub streams: Vec<ParamId>,
    /// Temporaries; `Mem::Temp(t, 0)` refers to them.
    pub temps: Vec<Temp>,
    /// Every expression of the phase.
    pub exprs: ExprPool,
    /// What one task does.
    pub body: Vec<Stmt>,
}

/// A kernel with a schedule applied.
#[derive(Clone, Debug, Default)]
pub struct Lowered {
    /// A short name, also the entry point's.
    pub name: String,
    /// Buffer arguments.
    pub params: Vec<Param>,
    /// Symbolic variables.
    pub vars: Vec<Variable>,
    /// Whether every product and sum is rounded on its own; else the two may become one
    /// multiply-add.
    pub strict: bool,
    /// When each variant runs, the last one excepted, which runs when no guard holds.
    pub guards: Vec<Guard>,
    /// Those of a variant run one after the other, and variants follow one another.
    pub phases: Vec<Phase>,
}

impl Lowered {
    /// Whether an index has no value, because the loops that it is made of make its expression longer than sizes are.
    pub fn has_faulty_index(&self) -> bool {
        let is_faulty = |expr: &Expr| matches!(expr, Expr::Index(size) if size.fault().is_some());
        self.phases.iter().any(|phase| phase.exprs.iter().any(|(_, expr)| is_faulty(expr)))
    }
}
