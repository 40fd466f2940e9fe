//! Scheduling: from the tensor graph to kernels, and from kernels to loops.
//!
//! The folders, each of which uses only those above it:
//!
//! * `costs`: what decisions on kernels go by.
//! * [`language`]: schedules as values.
//! * `kernel`: one kernel, what kind it is, its normal form.
//! * `reduction`: how reductions are computed, before anything is said about loops.
//! * `graph`: values of several devices become values of single ones.
//! * `fusion`: what shares a kernel.
//! * `rangeify`: nodes of a graph, evaluated at indices, become a kernel.
//! * `calls`: calls of kernels, their order and their memory.
//! * `pipeline`: all of that in order, from a graph to calls of kernels.
//! * `apply`: a schedule's steps, applied to a kernel.
//! * `lower`: loops.
//! * `choose`: which schedule.
//! * [`analysis`]: a plan that is looked at.

pub mod analysis;
mod apply;
mod calls;
mod choose;
mod costs;
mod fusion;
mod graph;
mod kernel;
pub mod language;
pub mod lower;
mod pipeline;
mod rangeify;
mod reduction;

pub use apply::{PackJob, ScheduleError};
pub use calls::in_place::replaceable;
pub use calls::joined::{Joined, joined};
pub use calls::preschedule::{BufferSpec, Item, KernelInvocation, PreSchedule, Slot};
pub use calls::schedule_graph::{self, ScheduleGraph, ScheduleGraphError};
pub use choose::{heuristic, heuristic_variants, neighbours, strict_heuristic};
pub use costs::{Caches, Decision, Estimate, OPERATIONS_PER_BYTE, Verdict};
pub use fusion::Purpose;
pub use kernel::contraction::has_product;
pub use kernel::sized::at_values;
pub use language::{MAX_VARIANTS, ParseScheduleError, Schedule, Variants};
pub use lower::{LowerError, Program, lower, lower_variants, values_at};
pub use pipeline::{PreScheduleError, create_pre_schedule, create_schedule_graph, pre_schedule};
pub use rangeify::RangeifyError;
