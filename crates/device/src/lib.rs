//! Devices: memory, compilers and programs behind traits, and the names of devices.
//!
//! Three parts, top down:
//!
//! * a [`Device`] is a [`DeviceSpec`] with an [`Allocator`] and, where it can compute, pairs of
//!   [`Renderer`] and [`Compiler`] with a [`RuntimeFactory`]; [`Devices`] opens them by name;
//! * a kernel ([`svod_ir::lowered::Lowered`]) becomes a [`ProgramSpec`] (rendered), a
//!   [`CompiledSpec`] (code) and, per phase, a [`Program`] (loaded); its launch sizes are
//!   [`LaunchExpr`]s, evaluated at each run;
//! * a [`Buffer`] is a typed view of a [`Storage`], allocated at first use.
//!
//! Nothing here knows how code is generated: the CPU's renderer and compiler register themselves
//! from outside like those of any other device. DISK devices are files that have memory only.

mod allocator;
mod buffer;
mod cache;
mod caching;
mod device;
mod disk;
mod error;
pub mod launch;
pub mod program;
pub mod safetensors;
mod spec;
mod storage;

pub use allocator::{Allocator, Block, CpuAllocator, MemoryStats, Usage, host_memory};
pub use buffer::{Buffer, BufferId};
pub use cache::Cache;
pub use caching::CachingAllocator;
pub use device::{Backend, Device, Devices, Programs};
pub use disk::DiskAllocator;
pub use error::{DeviceError, Result, bytes_text, held_text};
pub use launch::{ConcreteLaunchDims, LaunchExpr, LaunchSizes, launch_dims, resolve_launch_dims};
pub use program::{
    CompiledSpec, Compiler, HostEntry, Listing, Program, ProgramSpec, Recorded, Renderer, RuntimeFactory,
};
pub use spec::DeviceSpec;
pub use storage::{Pinned, Storage, StorageId};
pub use svod_ir::size::Variable;
