//! Element types, constants and the reference semantics of scalar operations.
//!
//! This crate is the leaf under all others. [`DType`] is the table of element types, [`Const`] one
//! value of such a type keyed by its bits, [`promote`] the rules for mixed operands, and [`eval`]
//! what each scalar operation means. Every target and every interpreter agrees with [`eval`]:
//!
//! * integer arithmetic wraps; division and remainder by zero give 0; `MIN / -1` wraps to `MIN`;
//! * shifts by the width or more (or by a negative amount) give 0;
//! * float to integer truncates and saturates, NaN gives 0;
//! * `min` and `max` propagate NaN;
//! * complex numbers are pairs of floats, which no scalar operation knows;
//! * floats round to their dtype, to nearest even, after each operation.

mod constant;
mod dtype;
pub mod eval;
pub mod float;
mod promotion;

pub use constant::{Const, ParseConstError};
pub use dtype::{DType, Kind, ParseDTypeError};
pub use promotion::{DEFAULT_COMPLEX, DEFAULT_FLOAT, DEFAULT_INT, Weak, promote, promote_weak};
