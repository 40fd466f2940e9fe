//! Why a node cannot be built.

use super::op::{Op, Shape, ShowShape};
use super::uop::UOp;
use std::fmt;
use svod_dtype::DType;

/// An operation that its operands do not allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct GraphError {
    /// Text name of the operation.
    pub op: &'static str,
    /// Type and shape of each operand.
    pub operands: Vec<(DType, Shape)>,
    /// What is wrong.
    pub reason: Reason,
}

/// What is wrong with an operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Too few or too many operands.
    #[error("expected {expected} operands")]
    Arity {
        /// The number that the op takes.
        expected: usize,
    },
    /// Operands of a type that the op does not take.
    #[error("expected {expected}")]
    DType {
        /// The types that it takes.
        expected: String,
    },
    /// Shapes that do not fit each other or the argument.
    #[error("{0}")]
    Shape(String),
    /// A dimension that is not there, or there twice.
    #[error("axis {axis} is out of range or repeated (rank {rank})")]
    Axis {
        /// The axis as given.
        axis: usize,
        /// Number of dimensions.
        rank: usize,
    },
    /// Operands on different devices.
    #[error("operands are on {0} and {1}; copy one of them")]
    Device(String, String),
    /// Parts on several devices that do not go together, or that an operation would have to move.
    #[error("{0}; gather it first, with `to` or by sharding it along no axis")]
    Sharding(String),
    /// A value on several devices where one of a single device is needed.
    #[error("it takes values of one device, not of {0}; copy it to one, with `to`")]
    Spread(String),
    /// A node that is not what the operation needs, such as a thunk forced to an expression.
    #[error("{0}")]
    Node(&'static str),
}

impl GraphError {
    /// The error of `op` over `sources`.
    pub(super) fn new(op: &Op, sources: &[UOp], reason: Reason) -> Self {
        let operands = sources.iter().map(|s| (s.dtype(), s.shape_arc().clone())).collect();
        GraphError { op: op.name(), operands, reason }
    }

    /// The error under the name by which the user knows the operation.
    pub fn of(self, op: &'static str) -> Self {
        GraphError { op, ..self }
    }

    /// Whether the types are at fault, rather than shapes or structure.
    pub fn is_dtype(&self) -> bool {
        matches!(self.reason, Reason::DType { .. })
    }
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.op)?;
        for (i, (dtype, shape)) in self.operands.iter().enumerate() {
            write!(f, "{}{}{}", if i == 0 { " of " } else { ", " }, dtype, ShowShape(shape))?;
        }
        write!(f, ": {}", self.reason)
    }
}
