//! The intermediate representations of svod and what they share.
//!
//! There are three, each small, each with a text form, a verifier and a reference interpreter:
//!
//! * the **graph** ([`graph`]): tensor operations, shared and hash-consed;
//! * the **kernel** ([`kernel`] for *what* is computed, [`lowered`] for the loops that compute it),
//!   an arena of its own per kernel;
//! * the **linear** list ([`linear`]): structured, typed, one step above machine code.
//!
//! [`alu`] is the table of scalar operations that all three use, [`size`] the canonical integer
//! expression that every extent, index and byte count is made of.

pub mod alu;
pub mod buffer;
pub mod expr;
mod expr_check;
mod expr_eval;
mod expr_util;
pub mod graph;
pub mod kernel;
pub mod linear;
pub mod lowered;
pub mod pass;
pub mod rewrite;
pub mod size;
pub mod target;
mod text;
pub mod waiting;

pub use expr_check::ExprError;
pub use expr_eval::InterpError;
pub use expr_util::{renamed, single_variable};
pub use text::{Key, ParseError};
