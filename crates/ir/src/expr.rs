//! Scalar expressions in an arena: the bodies of kernels and of lowered loops.
//!
//! An [`ExprPool`] is hash-consed, so structurally equal expressions have one [`ExprId`] and
//! common subexpressions cost nothing. Operands always have smaller ids than their users: a pass
//! over a pool is a loop from first to last, never a recursion.

use crate::alu::Alu;
use crate::pass::visit;
use crate::size::{Size, Variable};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::fmt;
use svod_dtype::{Const, DType};

/// An expression of an [`ExprPool`]; prints as `e7`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub u32);

/// A kernel's buffer argument; prints as `p0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParamId(pub u32);

/// A stage of a kernel, or a temporary of a lowered phase; prints as `t0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TempId(pub u32);

macro_rules! printed_id {
    ($ty:ident, $prefix:literal) => {
        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
        impl fmt::Debug for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
        impl $ty {
            /// The position in the table that this id indexes.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
printed_id!(ExprId, "e");
printed_id!(ParamId, "p");
printed_id!(TempId, "t");

/// What a load reads or a store writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mem {
    /// A buffer argument.
    Param(ParamId),
    /// In a kernel: value `field` of a stage. In a lowered phase: a temporary, `field` being 0.
    Temp(TempId, u8),
}

/// One node of an [`ExprPool`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A constant.
    Const(Const),
    /// An integer expression over axes (in a kernel) or loops (when lowered), and symbolic
    /// variables, both named by `Variable`s. Its type is [`DType::Index`].
    Index(Size),
    /// A scalar operation.
    Alu(Alu, SmallVec<[ExprId; 3]>),
    /// A value conversion.
    Cast(DType, ExprId),
    /// A reinterpretation of the bits; both types have the same width.
    Bitcast(DType, ExprId),
    /// `from[index]` where `valid` holds (always, when absent), else `other`; a masked load
    /// touches no memory. One index per dimension of the memory.
    Load {
        /// The memory.
        from: Mem,
        /// One index per dimension.
        index: SmallVec<[ExprId; 4]>,
        /// Where it reads.
        valid: Option<ExprId>,
        /// The value elsewhere.
        other: Const,
    },
    /// Only in a fold's `results` and, for an inclusive or exclusive scan, per step: the value of
    /// carry `n`.
    Carry(u8, DType),
    /// Only in a carry's `fix`: the value of earlier carry `n` before this step's element.
    Old(u8, DType),
    /// Only in a carry's `fix` or element: the value of earlier carry `n` after this step's
    /// element.
    New(u8, DType),
    /// Only when lowered: `value` for each `lanes` in `0..=lanes.max`, a power of two of them,
    /// reduced by `op` as a tree of halves (lane i with lane i + n/2 first). This expression binds
    /// `lanes`, a variable of its own and not a loop; inside, it counts as a vector loop.
    Lanes {
        /// The combining operation.
        op: Alu,
        /// The lanes.
        lanes: Variable,
        /// The value in each lane.
        value: ExprId,
    },
    /// Only when lowered, inside the vector loop `over`: `value` in all lanes up to this one combined by `op`, in
    /// order as far as the result can tell.
    Running {
        /// The combining operation.
        op: Alu,
        /// The counter of the vector loop.
        over: Variable,
        /// The value in each lane.
        value: ExprId,
    },
    /// Only when lowered, inside the vector loop `over`, of at most 32 lanes: in how many lanes `value`, a `u32`, is what
    /// it is in this one, as a `u32`.
    Alike {
        /// The counter of the vector loop.
        over: Variable,
        /// The value in each lane.
        value: ExprId,
        /// Whether only lanes before this one count.
        before: bool,
    },
}

/// A hash-consed arena of expressions.
#[derive(Clone, Debug, Default)]
pub struct ExprPool {
    nodes: Vec<Expr>,
    dtypes: Vec<DType>,
    memo: FxHashMap<Expr, ExprId>,
}

impl ExprPool {
    /// An empty pool.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of expressions.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node with this id.
    pub fn get(&self, id: ExprId) -> &Expr {
        visit(1);
        &self.nodes[id.index()]
    }

    /// The type of an expression.
    pub fn dtype(&self, id: ExprId) -> DType {
        self.dtypes[id.index()]
    }

    /// All expressions, operands before users.
    pub fn iter(&self) -> impl Iterator<Item = (ExprId, &Expr)> {
        self.nodes.iter().enumerate().map(|(i, e)| (ExprId(i as u32), e))
    }

    /// Adds an expression, or finds the equal one; `dtype` must be the type of its value.
    pub fn add(&mut self, expr: Expr, dtype: DType) -> ExprId {
        visit(1);
        if let Some(&id) = self.memo.get(&expr) {
            return id;
        }
        let id = ExprId(self.nodes.len() as u32);
        self.memo.insert(expr.clone(), id);
        self.nodes.push(expr);
        self.dtypes.push(dtype);
        id
    }

    /// Changes the memory that loads name, each in the same way and different ones to different ones: no two
    /// expressions become equal.
    pub fn rename_memory(&mut self, rename: &dyn Fn(&mut Mem)) {
        for node in &mut self.nodes {
            if let Expr::Load { from, .. } = node {
                rename(from);
            }
        }
        self.memo = self.nodes.iter().enumerate().map(|(i, e)| (e.clone(), ExprId(i as u32))).collect();
    }

    /// A constant.
    pub fn constant(&mut self, value: Const) -> ExprId {
        self.add(Expr::Const(value), value.dtype())
    }

    /// An integer expression over axes and variables.
    pub fn index(&mut self, size: impl Into<Size>) -> ExprId {
        self.add(Expr::Index(size.into()), DType::Index)
    }

    /// A scalar operation. Panics when the table of [`Alu`] does not allow the operand types: the
    /// caller (a pass, or a builder that has checked) is wrong.
    pub fn alu(&mut self, op: Alu, operands: &[ExprId]) -> ExprId {
        let types: SmallVec<[DType; 3]> = operands.iter().map(|o| self.dtype(*o)).collect();
        let Some(dtype) = op.result(&types) else { panic!("{} of {types:?}", op.name()) };
        self.add(Expr::Alu(op, operands.into()), dtype)
    }

    /// Whether all conditions hold; `None` where there is none.
    pub fn all_of(&mut self, conditions: impl IntoIterator<Item = ExprId>) -> Option<ExprId> {
        conditions.into_iter().reduce(|all, one| self.alu(Alu::And, &[all, one]))
    }

    /// A conversion; the operand itself when it has the type already.
    pub fn cast(&mut self, to: DType, value: ExprId) -> ExprId {
        if self.dtype(value) == to { value } else { self.add(Expr::Cast(to, value), to) }
    }

    /// An unmasked load of a value of type `dtype`.
    pub fn load(&mut self, dtype: DType, from: Mem, index: &[ExprId]) -> ExprId {
        let other = Const::zero(dtype);
        self.add(Expr::Load { from, index: index.into(), valid: None, other }, dtype)
    }

    /// A load of type `dtype` where `valid` holds, else `other`.
    pub fn load_valid(
        &mut self,
        dtype: DType,
        from: Mem,
        index: &[ExprId],
        valid: Option<ExprId>,
        other: Const,
    ) -> ExprId {
        self.add(Expr::Load { from, index: index.into(), valid, other }, dtype)
    }
}

impl Expr {
    /// The operands, in order.
    pub fn operands(&self) -> SmallVec<[ExprId; 4]> {
        match self {
            Expr::Const(_) | Expr::Index(_) | Expr::Carry(..) | Expr::Old(..) | Expr::New(..) => SmallVec::new(),
            Expr::Alu(_, args) => args.iter().copied().collect(),
            Expr::Cast(_, v) | Expr::Bitcast(_, v) => SmallVec::from_slice(&[*v]),
            Expr::Lanes { value, .. } | Expr::Running { value, .. } | Expr::Alike { value, .. } => {
                SmallVec::from_slice(&[*value])
            }
            Expr::Load { index, valid, .. } => index.iter().copied().chain(*valid).collect(),
        }
    }

    /// The same node over other operands, given in the order of [`Expr::operands`].
    pub fn with_operands(&self, operands: &[ExprId]) -> Expr {
        match self {
            Expr::Const(_) | Expr::Index(_) | Expr::Carry(..) | Expr::Old(..) | Expr::New(..) => self.clone(),
            Expr::Alu(op, _) => Expr::Alu(*op, operands.into()),
            Expr::Cast(to, _) => Expr::Cast(*to, operands[0]),
            Expr::Bitcast(to, _) => Expr::Bitcast(*to, operands[0]),
            Expr::Lanes { op, lanes, .. } => Expr::Lanes { op: *op, lanes: lanes.clone(), value: operands[0] },
            Expr::Running { op, over, .. } => Expr::Running { op: *op, over: over.clone(), value: operands[0] },
            Expr::Alike { over, before, .. } => Expr::Alike { over: over.clone(), value: operands[0], before: *before },
            Expr::Load { from, index, valid, other } => Expr::Load {
                from: *from,
                index: operands[..index.len()].into(),
                valid: valid.map(|_| operands[index.len()]),
                other: *other,
            },
        }
    }
}
