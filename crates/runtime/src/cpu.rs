//! The CPU as a device.

use std::sync::Arc;
use svod_device::{CachingAllocator, CpuAllocator, Device, Devices};
use svod_ir::target::Target;

/// Freed memory that is kept for reuse.
const KEPT: usize = 1 << 30;

/// A description of this machine.
pub(crate) fn host_target() -> Target {
    Target::named("x86-64-v3").expect("in the table of names")
}

/// Lets `devices` open CPUs.
pub(crate) fn register(devices: &Devices, _target: &Target) {
    devices.register("CPU", |spec| {
        let memory = Arc::new(CachingAllocator::new(Arc::new(CpuAllocator::new(spec.clone())), KEPT));
        Ok(Device::new(memory))
    });
}
