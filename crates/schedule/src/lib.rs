//! Scheduling: from the tensor graph to kernels, and from kernels to loops.

pub mod analysis;
mod apply;
mod blocks;
mod collective;
mod contraction;
mod cut;
mod estimate;
mod fuse;
mod heuristic;
mod in_place;
pub mod lower;
mod merge;
mod names;
mod neighbours;
mod normalize;
pub mod opt;
mod order_key;
mod pipeline;
mod place;
mod preschedule;
mod provenance;
mod quotient;
mod rangeify;
mod recentre;
pub mod schedule_graph;
mod settle;
mod shard;
mod threefry;
mod totals;
mod trade;
mod unify;
mod variants;
mod views;

pub use apply::{PackJob, ScheduleError};
pub use estimate::{Caches, Decision, Estimate, OPERATIONS_PER_BYTE, Verdict};
pub use heuristic::{heuristic, heuristic_variants, strict_heuristic};
pub use in_place::replaceable;
pub use lower::{LowerError, Program, lower};
pub use neighbours::neighbours;
pub use opt::{ParseScheduleError, Schedule};
pub use preschedule::{
    BufferSpec, Item, KernelInvocation, PreSchedule, PreScheduleError, Purpose, Slot, create_pre_schedule,
    create_schedule_graph, pre_schedule,
};
pub use rangeify::RangeifyError;
pub use schedule_graph::{ScheduleGraph, ScheduleGraphError};
pub use variants::{MAX_VARIANTS, Variants, lower_variants, values_at};
