//! The linear list: one phase of a kernel as typed instructions, one step above machine code.
//!
//! A [`Linear`] runs once per task. Its instructions are in execution order; control is structured,
//! by pairs of [`Inst::Range`] and [`Inst::EndRange`], [`Inst::If`] and [`Inst::EndIf`]. Every
//! value is assigned once; what changes over time lives in memory ([`Place`]) or in an accumulator
//! ([`Slot`]), which a backend keeps in a register.
//!
//! Semantics are those of [`crate::alu`], lane by lane, with two liberties: the sign of a zero that
//! `max` or `min` gives is open where zeros of both signs meet, and a `muladd` may round twice on a
//! target without the instruction. Two different parameters never share memory.
//!
//! Invariants, checked by [`Linear::verify`]:
//! * an operand is defined before its use, in the same range or conditional or one around it;
//! * ranges and conditionals are closed in the order they were opened, and none stays open;
//! * the operands of an operation have the types that the table of [`crate::alu`] allows, and equal
//!   lanes (the condition of a `where` may be a scalar);
//! * arithmetic on narrow floats does not occur: a `f16`, `bf16` or `f8` is loaded, stored, moved,
//!   selected, cast and bitcast, and nothing else;
//! * indices and extents are scalars of type `index`, except the index of a gather or scatter, which
//!   is a vector; a mask is a `bool`, scalar or with the lanes of the access;
//! * a memory's, a slot's and a value's types agree; lanes, extracted or inserted, exist;
//! * nothing is written to a parameter that is only read;
//! * the columns of a block have as many lanes as it has rows, and are read where it has been copied.

mod interp;
mod parse;
mod text;
mod verify;

pub use interp::LinearError;
pub use verify::VerifyError;

use crate::alu::Alu;
use crate::expr::ParamId;
use crate::size::Variable;
use smallvec::SmallVec;
use std::fmt;
use svod_dtype::{Const, DType};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in the table that this id indexes.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}

ids! {
    /// The value of an instruction; prints as `v3`.
    Val "v";
    /// An accumulator; prints as `a0`.
    Slot "a";
    /// An array in the task's scratch block; prints as `s0`.
    ScratchId "s";
    /// A block of an operand that lies across; prints as `b0`.
    BlockId "b";
}

/// A scalar, or a vector of several lanes; prints as `f32` or `f32x8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ty {
    /// Element type.
    pub dtype: DType,
    /// Number of lanes, 1 for a scalar.
    pub lanes: u32,
}

impl Ty {
    /// A scalar of this type.
    pub fn scalar(dtype: DType) -> Self {
        Ty { dtype, lanes: 1 }
    }

    /// As many lanes of another type.
    pub fn with(self, dtype: DType) -> Self {
        Ty { dtype, ..self }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lanes {
            1 => f.write_str(self.dtype.short()),
            lanes => write!(f, "{}x{lanes}", self.dtype.short()),
        }
    }
}

/// What a load reads and a store writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A buffer argument.
    Param(ParamId),
    /// Scratch memory.
    Scratch(ScratchId),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Param(p) => p.fmt(f),
            Place::Scratch(s) => s.fmt(f),
        }
    }
}

/// What a kernel is told about where it runs. Without groups of threads, `Block` of axis 0 is the
/// index of the task and all others are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// The task, or group of threads.
    Block,
    /// The thread in its group.
    Local,
    /// The number of threads of a group.
    Workgroup,
}

/// Bytes of a line of the caches, or less: an address in each such piece brings all.
pub const LINE: u32 = 64;

/// The shape and types of a contraction tile; see [`crate::lowered::Micro`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TileSpec {
    /// Rows of the tile.
    pub rows: u32,
    /// Columns of the tile.
    pub cols: u32,
    /// Type of A and B.
    pub dtype: DType,
    /// Whether a step of the depth is a word of two elements of A and B, as in [`crate::lowered::Micro`].
    pub pairs: bool,
    /// Type of C, in which products are summed.
    pub acc: DType,
    /// Whether A is contiguous along the rows, else along the depth.
    pub a_panel: bool,
    /// Whether a table says where B's rows lie, else they are a stride apart.
    pub b_offsets: bool,
    /// Lines that it brings into the caches at each step of the depth.
    pub fetches: u32,
}

impl TileSpec {
    /// What A and B are in memory: elements, or words of two.
    pub fn stored(&self) -> DType {
        if self.pairs { DType::U32 } else { self.dtype }
    }
}

/// An operand of a contraction tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileOperand {
    /// The memory.
    pub place: Place,
    /// Position of element (0, 0).
    pub at: Val,
    /// Elements between rows (of A and C) or steps of the depth (of B, and of A in a panel).
    pub stride: Val,
}

/// A contraction tile at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    /// Shape and types.
    pub spec: TileSpec,
    /// Steps of the depth.
    pub depth: Val,
    /// The tile starts from 0 where this is 0, else from C.
    pub start: Val,
    /// C, A and B.
    pub operands: [TileOperand; 3],
    /// Where B's rows lie, in elements from its position, for each step of the depth; there if and
    /// only if the specification says so.
    pub offsets: Option<Place>,
    /// What it brings into the caches; there if and only if the specification says so.
    pub fetch: Option<TileFetch>,
}

/// Memory that a tile brings into the caches while it computes; see [`crate::lowered::Fetch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileFetch {
    /// The memory.
    pub place: Place,
    /// Position of its first element.
    pub at: Val,
    /// Bytes of a step.
    pub step: Val,
}

/// An instruction. Those that give a value are so marked; [`Linear::values`] holds its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Inst {
    /// Value: a constant in every lane.
    Const(Const),
    /// Value: symbolic variable `n`, of type `index`.
    Var(u32),
    /// Value: where the code runs, of type `index`; axes are 0 to 2.
    Special(Special, u8),
    /// Value: 0, 1, 2 … in the lanes, of an integer type.
    Iota,
    /// Value: a scalar operation, lane by lane.
    Alu(Alu, SmallVec<[Val; 3]>),
    /// Value: converted lane by lane.
    Cast(Val),
    /// Value: the same bits as another type of the same width.
    Bitcast(Val),
    /// Value: a scalar in every lane.
    Splat(Val),
    /// Value: a vector of these scalars.
    Vector(Vec<Val>),
    /// Value: lanes picked from two vectors of one type, those of the second counted after those of
    /// the first.
    Shuffle(Val, Val, SmallVec<[u32; 8]>),
    /// Value: one lane of a vector.
    Extract(Val, u32),
    /// Value: a vector with one lane replaced by a scalar.
    Insert(Val, u32, Val),
    /// Value: all lanes combined as a tree of halves, lane i with lane i + n/2 first. The number of
    /// lanes is a power of two. Where threads share a vector, each combines its own lanes first.
    Reduce(Alu, Val),
    /// Value: each lane combined with all before it, in order as far as the result can tell. The number of lanes is a
    /// power of two. Where threads share a vector, each combines its own lanes, and then what precedes them comes to them.
    Scan(Alu, Val),
    /// Value: in how many lanes of a vector of `u32`, of at most 32 lanes, a power of two, is what is in this one, as a
    /// `u32`; with `true`, only lanes before this one count.
    Alike(Val, bool),
    /// Value: what an accumulator holds.
    Read(Slot),
    /// Value: the elements from position `at`, one per lane; where `at` is a vector, the elements
    /// at its lanes (a gather). Where the mask does not hold, `other`, and no memory is touched.
    Load {
        /// The memory.
        from: Place,
        /// Position in elements.
        at: Val,
        /// Where it reads; everywhere, when absent.
        mask: Option<Val>,
        /// The value elsewhere.
        other: Const,
    },
    /// Writes as [`Inst::Load`] reads; lanes that write to one element write the same value.
    Store {
        /// The memory.
        to: Place,
        /// Position in elements.
        at: Val,
        /// What is written.
        value: Val,
        /// Where it is written; everywhere, when absent.
        mask: Option<Val>,
    },
    /// Copies a block of a memory, row after row: row `r` is what follows position `at + r * step`. A GPU copies along the
    /// rows and reads along the columns, so that all of each line is used that comes from memory.
    Copy {
        /// The block.
        to: BlockId,
        /// The memory, which nothing writes.
        from: Place,
        /// Position of the first element.
        at: Val,
        /// Elements between rows.
        step: Val,
        /// How many rows and columns there are, if not all: rows beyond are not read, and hold anything; columns beyond are
        /// as the last one. Without any rows or columns nothing is read.
        within: Option<[Val; 2]>,
    },
    /// Value: a column of a block, an element of each row in each lane.
    Column(BlockId, u32),
    /// Sets an accumulator.
    Write(Slot, Val),
    /// Value: the counter of a loop over `0..extent`, of type `index`.
    Range(Val),
    /// Ends the innermost range.
    EndRange,
    /// Runs what follows where a scalar `bool` holds.
    If(Val),
    /// Ends the innermost conditional.
    EndIf,
    /// All threads of a group arrive here before one goes on; nothing where tasks are one thread.
    Barrier,
    /// A contraction tile.
    Tile(Box<Tile>),
    /// Fetches a position of a memory into the caches, if there is one.
    Prefetch(Place, Val),
}

impl Inst {
    /// Whether it gives a value.
    pub fn has_value(&self) -> bool {
        use Inst::{Barrier, Copy, EndIf, EndRange, If, Prefetch, Store, Tile, Write};
        let effect = matches!(self, Store { .. } | Write(..) | Copy { .. } | Barrier | Tile(_) | Prefetch(..));
        !(effect || matches!(self, EndRange | If(_) | EndIf))
    }

    /// Whether it does nothing but give a value that depends on nothing but its operands.
    pub fn is_pure(&self) -> bool {
        self.has_value() && !matches!(self, Inst::Read(_) | Inst::Load { .. } | Inst::Column(..) | Inst::Range(_))
    }

    /// The operands, in the order of the text.
    pub fn operands(&self) -> SmallVec<[Val; 4]> {
        let mut found = SmallVec::new();
        self.clone().for_each_operand(&mut |v| found.push(*v));
        found
    }

    /// Visits the operands, which may be replaced, in the order of the text.
    pub fn for_each_operand(&mut self, visit: &mut dyn FnMut(&mut Val)) {
        match self {
            Inst::Const(_) | Inst::Var(_) | Inst::Special(..) | Inst::Iota | Inst::Read(_) => {}
            Inst::EndRange | Inst::EndIf | Inst::Barrier | Inst::Column(..) => {}
            Inst::Alu(_, args) => args.iter_mut().for_each(visit),
            Inst::Vector(args) => args.iter_mut().for_each(visit),
            Inst::Cast(v) | Inst::Bitcast(v) | Inst::Splat(v) | Inst::Extract(v, _) => visit(v),
            Inst::Reduce(_, v) | Inst::Scan(_, v) | Inst::Alike(v, _) => visit(v),
            Inst::Write(_, v) | Inst::Range(v) | Inst::If(v) | Inst::Prefetch(_, v) => visit(v),
            Inst::Insert(a, _, b) | Inst::Shuffle(a, b, _) => [a, b].into_iter().for_each(visit),
            Inst::Load { at, mask, .. } => std::iter::once(at).chain(mask).for_each(visit),
            Inst::Store { at, value, mask, .. } => [at, value].into_iter().chain(mask).for_each(visit),
            Inst::Copy { at, step, within, .. } => {
                [at, step].into_iter().chain(within.iter_mut().flatten()).for_each(visit);
            }
            Inst::Tile(t) => {
                visit(&mut t.depth);
                visit(&mut t.start);
                for operand in &mut t.operands {
                    visit(&mut operand.at);
                    visit(&mut operand.stride);
                }
                if let Some(fetch) = &mut t.fetch {
                    visit(&mut fetch.at);
                    visit(&mut fetch.step);
                }
            }
        }
    }
}

/// A buffer argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Element type.
    pub dtype: DType,
    /// Whether the phase writes it.
    pub written: bool,
    /// Whether whole vectors are written past the caches.
    pub stream: bool,
}

/// An array in the task's scratch block, which is 64-byte aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scratch {
    /// Element type.
    pub dtype: DType,
    /// Number of elements.
    pub len: u64,
    /// First byte, a multiple of 64.
    pub offset: u64,
}

/// A block of an operand that lies across: a vector of the task goes along its rows' first elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Element type.
    pub dtype: DType,
    /// Number of rows.
    pub rows: u32,
    /// Number of columns.
    pub columns: u32,
}

impl Block {
    /// Size in bytes.
    pub fn bytes(&self) -> u32 {
        self.rows * self.columns * self.dtype.bytes() as u32
    }
}

/// One phase of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linear {
    /// The entry point's name.
    pub name: String,
    /// Buffer arguments.
    pub params: Vec<Param>,
    /// Symbolic variables.
    pub vars: Vec<Variable>,
    /// Scratch memory.
    pub scratch: Vec<Scratch>,
    /// Blocks, undefined at the start.
    pub blocks: Vec<Block>,
    /// Accumulators, undefined at the start.
    pub slots: Vec<Ty>,
    /// Type of each value, in order of definition.
    pub values: Vec<Ty>,
    /// The instructions; the n-th that gives a value defines `Val(n)`.
    pub insts: Vec<Inst>,
}

impl Linear {
    /// Size of the task's scratch block.
    pub fn scratch_bytes(&self) -> u64 {
        self.scratch.iter().map(|s| s.offset + s.len * s.dtype.bytes() as u64).max().unwrap_or(0)
    }

    /// Type of a value.
    pub fn ty(&self, value: Val) -> Ty {
        self.values[value.index()]
    }

    /// The contraction tiles that it calls, each once.
    pub fn tiles(&self) -> Vec<TileSpec> {
        let mut specs: Vec<TileSpec> = Vec::new();
        for inst in &self.insts {
            if let Inst::Tile(tile) = inst {
                specs.push(tile.spec);
            }
        }
        specs.sort();
        specs.dedup();
        specs
    }
}
