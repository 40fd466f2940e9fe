//! The memory of a GPU.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

use svod_device::{Allocator, Block, DeviceError, DeviceSpec, MemoryStats, Result, Usage};

use crate::driver::Gpu;

/// Hands out memory of a GPU as its driver does.
#[derive(Debug)]
pub(crate) struct GpuMemory {
    device: DeviceSpec,
    gpu: Arc<dyn Gpu>,
    usage: Usage,
}

impl GpuMemory {
    pub fn new(device: DeviceSpec, gpu: Arc<dyn Gpu>) -> GpuMemory {
        GpuMemory { device, gpu, usage: Usage::default() }
    }

    fn full(&self, bytes: usize) -> DeviceError {
        let own = self.usage.stats().live;
        let held = match self.gpu.free_memory() {
            Ok((free, total)) => format!(
                "svod holds {own} of its {total} bytes, others {}, and {free} are free",
                total.saturating_sub(free).saturating_sub(own)
            ),
            Err(_) => format!("svod holds {own} bytes"),
        };
        DeviceError::OutOfMemory { bytes, device: self.device.clone(), held }
    }
}

fn address(ptr: NonNull<u8>) -> u64 {
    ptr.as_ptr().addr() as u64
}

impl Allocator for GpuMemory {
    fn device(&self) -> &DeviceSpec {
        &self.device
    }

    fn alloc(&self, bytes: usize) -> Result<Block> {
        if bytes == 0 {
            return Ok(Block::empty());
        }
        let found = match isize::try_from(bytes) {
            Ok(_) => self.gpu.alloc(bytes)?,
            Err(_) => None,
        };
        let start = found.and_then(|start| NonNull::new(std::ptr::with_exposed_provenance_mut(start as usize)));
        let ptr = start.ok_or_else(|| self.full(bytes))?;
        self.usage.add(bytes, usize::MAX);
        Ok(Block { ptr, bytes })
    }

    unsafe fn free(&self, block: Block) {
        if block.bytes > 0 {
            // SAFETY: the caller's promise.
            unsafe { self.gpu.free(address(block.ptr)) };
            self.usage.remove(block.bytes);
        }
    }

    unsafe fn copy_in(&self, dst: NonNull<u8>, src: *const u8, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { self.gpu.copy_in(address(dst), src, bytes) }
    }

    unsafe fn copy_out(&self, dst: *mut u8, src: NonNull<u8>, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { self.gpu.copy_out(dst, address(src), bytes) }
    }

    unsafe fn copy_within(&self, dst: NonNull<u8>, src: NonNull<u8>, bytes: usize) -> Option<Result<()>> {
        let (to, from) = (address(dst), address(src));
        if to.abs_diff(from) < bytes as u64 {
            return None;
        }
        // SAFETY: the caller's promise; the ranges do not overlap.
        Some(if bytes == 0 { Ok(()) } else { unsafe { self.gpu.copy_within(to, from, bytes) } })
    }

    fn peer(&self) -> Option<&dyn Any> {
        Some(&self.gpu)
    }

    unsafe fn copy_across(
        &self,
        dst: NonNull<u8>,
        from: &dyn Allocator,
        src: NonNull<u8>,
        bytes: usize,
    ) -> Option<Result<()>> {
        let other: &Arc<dyn Gpu> = from.peer()?.downcast_ref()?;
        if bytes == 0 {
            return Some(Ok(()));
        }
        // SAFETY: the caller's promise.
        unsafe { self.gpu.copy_across(address(dst), &**other, address(src), bytes) }
    }

    fn synchronize(&self) -> Result<()> {
        self.gpu.synchronize()
    }

    fn await_all(&self) -> Result<()> {
        self.gpu.await_all()
    }

    fn stream(&self) -> usize {
        self.gpu.stream()
    }

    fn precede(&self, stream: usize) -> Result<()> {
        self.gpu.precede(stream)
    }

    fn follow(&self, stream: usize) -> Result<()> {
        self.gpu.follow(stream)
    }

    fn host_visible(&self) -> bool {
        false
    }

    fn read_only(&self) -> bool {
        false
    }

    fn stats(&self) -> MemoryStats {
        self.usage.stats()
    }

    fn reset_peak(&self) {
        self.usage.reset_peak();
    }

    fn trim(&self) {}
}
