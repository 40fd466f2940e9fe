//! Scheduling: from the tensor graph to kernels, and from kernels to loops.

mod apply;
mod blocks;
mod contraction;
mod decision;
mod fuse;
mod heuristic;
pub mod lower;
mod merge;
mod names;
mod neighbours;
mod normalize;
pub mod opt;
mod order;
mod order_key;
mod preschedule;
mod quotient;
mod rangeify;
mod threefry;
mod views;

pub use apply::{PackJob, ScheduleError};
pub use decision::{Decision, Verdict};
pub use heuristic::{heuristic, strict_heuristic};
pub use lower::{LowerError, Program, lower};
pub use neighbours::neighbours;
pub use opt::{ParseScheduleError, Schedule};
pub use order::OrderError;
pub use preschedule::{
    BufferSpec, Item, KernelInvocation, PreSchedule, PreScheduleError, Purpose, Slot, create_pre_schedule,
};
pub use rangeify::RangeifyError;
