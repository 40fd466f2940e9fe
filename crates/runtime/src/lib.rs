//! Running graphs: plans, devices, caches and the task pool.
//!
//! Top down:
//!
//! * a [`Context`] holds what plans share, and [`Context::plan`] makes an [`ExecutionPlan`] of a
//!   graph: scheduled ([`svod_schedule`]), compiled (`code`), attached to buffers
//!   (`instantiate`), constants packed (`prepack`), ordered ([`plan`]);
//! * an [`ExecutionPlan`] runs many times without allocating, hashing or waiting for others;
//! * [`Memory`] is what leaves of graphs stand for;
//! * [`beam`] searches for schedules by timing candidates in other processes;
//! * [`pool`] runs the tasks of kernels.

mod arguments;
pub mod beam;
mod code;
mod config;
mod context;
pub mod control;
mod cpu;
mod cuda;
mod disk_cache;
mod error;
mod host;
mod instantiate;
mod interrupt;
mod lines;
mod machine;
mod memory;
#[cfg(test)]
#[path = "../../ir/tests/support/mutate.rs"]
mod mutate;
pub mod plan;
pub mod pool;
mod prepack;
mod repeat;
mod rows;
mod schedules;
mod sized;
mod sources;

pub use code::KernelCode;
pub use config::{ConfigError, GivenSchedules, KERNEL_CACHE, KernelRef, Planner, PrepareConfig, Strategy, debug_level};
pub use context::{Context, ContextStats};
pub use error::{Error, NoElement, OUT_OF_RANGE, Result, UNBOUND, VariableError, device_kind_text};
pub use host::{Function, HostArgs, HostRule, HostValue};
pub use instantiate::{create_schedule, instantiate_schedule};
pub use interrupt::StopCheck;
pub use machine::MachineSpeed;
pub use memory::Memory;
pub use plan::{
    Awaited, Donated, Donation, ExecutionPlan, ExecutionPlanBuilder, Feed, PlanKernel, PlanOutput, Profile, ReadOutput,
    Timing,
};
pub use repeat::Repeated;
pub use sources::{Sources, sources_of, with_source};
pub use svod_codegen::host::{TargetError, named as target_named};
pub use svod_cuda::Info as GpuInfo;
pub use svod_ir::target::{MatrixUnits, Target};
pub use svod_schedule::analysis;
pub use svod_schedule::{
    OPERATIONS_PER_BYTE, ParseScheduleError, Purpose, Schedule, ScheduleGraph, ScheduleGraphError, create_pre_schedule,
    create_schedule_graph, schedule_graph,
};
