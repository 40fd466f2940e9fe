//! Why a loop tree has no linear list.

use svod_ir::expr::ExprId;
use svod_ir::linear;
use svod_ir::lowered;
use svod_ir::size::Fault;

/// A failure of lowering.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LowerError {
    /// The loop tree breaks a rule.
    #[error("the loop tree is not well formed: {0}")]
    Lowered(#[from] lowered::VerifyError),
    /// A size has no value.
    #[error(transparent)]
    Size(#[from] Fault),
    /// A temporary whose size has no upper bound.
    #[error("temporary {0} has no largest size")]
    Unbounded(String),
    /// A variable that is neither a loop nor declared.
    #[error("variable {0} is not in scope")]
    Unbound(String),
    /// An expression that has no place in a loop tree, or not where it stands.
    #[error("{0} has no place here in a loop tree")]
    Expr(ExprId),
    /// A register that is accessed outside its shape.
    #[error("an access to temporary {0} is outside its shape")]
    Register(String),
    /// The linear list that lowering made breaks a rule: a bug of the compiler.
    #[error("compiler bug, the linear list is not well formed: {0}")]
    Linear(#[from] linear::VerifyError),
}
