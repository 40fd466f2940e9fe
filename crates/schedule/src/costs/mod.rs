//! What decisions on kernels go by: the size of code, bytes that are moved, and the tables of all
//! numbers.

mod code;
mod estimate;
pub(crate) mod limits;

use svod_ir::graph::Device;

pub(crate) use code::{code_of, code_of_stage, longest_chain};
pub(crate) use estimate::Repeated;
pub use estimate::{Caches, Decision, Estimate, Verdict};
pub use limits::memory::OPERATIONS_PER_BYTE;

/// Whether what is computed on a device is computed by the host's processor: also what is on none.
pub(crate) fn is_on_host(device: Option<&Device>) -> bool {
    device.is_none_or(Device::is_host)
}
