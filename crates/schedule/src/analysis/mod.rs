//! What a schedule is and costs, as data: the items of a plan with their iteration spaces, memory,
//! hints and estimates, and what follows from all of them together.
//!
//! * [`model`] is the data, all of it derived from kernels, schedules, loops and plans;
//! * [`space`] derives a kernel's iteration space, hints and reduction plans from kernel and schedule;
//! * [`path`] finds the critical path and the peak of memory;
//! * [`validate`] checks every invariant that the model's types leave open;
//! * [`explain`] writes it all as a table, [`detail`] one item in full.
//!
//! Nothing here changes what runs.

mod detail;
mod explain;
mod model;
mod path;
mod space;
#[cfg(test)]
mod tests;
mod validate;

pub use crate::costs::limits::report::PACKING_CORES;
pub use model::*;
pub use space::{hints, iteration_space, reductions};
pub use validate::AnalysisError;
