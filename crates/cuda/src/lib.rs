//! NVIDIA GPUs as devices, through the driver that is found at run time.
//!
//! Top down:
//!
//! * [`Machine`] is what there is: the GPUs of a driver, each opened as a [`svod_device::Device`] named `CUDA:n`;
//! * a device's kernels are rendered, compiled and launched in `program`, its memory is handed out in `memory`;
//! * both know the hardware as a [`driver::Driver`] only: `real` is NVIDIA's, over the functions of `api`,
//!   and `sim` one that runs kernels on the host.
//!
//! Each device has one stream. Launches and copies are handed to it and run in that order; what reads memory back waits for
//! it. Memory that is given up may thus be used again at once. Nothing here panics: a machine without a driver, one that
//! is too old, a GPU that is gone and a kernel that trapped are errors, and the process lives on.

mod api;
pub mod driver;
mod machine;
mod memory;
mod program;
mod real;
mod sim;

pub use driver::Info;
pub use machine::{CodeCache, Machine, NoCache};
pub use svod_codegen::gpu::Runner;
