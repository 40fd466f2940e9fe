//! What decisions on kernels go by: the size of code, bytes that are moved, and the tables of all
//! numbers.

mod code;
mod estimate;
pub(crate) mod groups;
pub(crate) mod limits;

pub(crate) use code::{code_of, code_of_stage, longest_chain};
pub(crate) use estimate::Repeated;
pub use estimate::{Caches, Decision, Estimate, Verdict};
pub use limits::memory::OPERATIONS_PER_BYTE;
