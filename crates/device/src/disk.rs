//! Files as read-only memory.

use std::fs::File;
use std::path::Path;
use std::ptr::NonNull;

use memmap2::Mmap;

use crate::allocator::{Allocator, Block, MemoryStats};
use crate::error::{DeviceError, Result};
use crate::spec::DeviceSpec;

/// One file, mapped into memory: its only block is the file, from the first byte on.
///
/// The mapping is private to the system's page cache, so reading costs no copy. As with every
/// mapped file, whoever truncates it while it is in use makes reads beyond its new end fail with a
/// signal: files of weights are replaced, not rewritten.
#[derive(Debug)]
pub struct DiskAllocator {
    device: DeviceSpec,
    map: Mmap,
}

impl DiskAllocator {
    /// Maps a regular file.
    pub fn open(path: &Path) -> Result<Self> {
        let io = |message: String| DeviceError::Io { path: path.display().to_string(), message };
        // Asked before opening, which would block on a pipe.
        let metadata = std::fs::metadata(path).map_err(|e| io(e.to_string()))?;
        if !metadata.is_file() {
            return Err(io("not a regular file".into()));
        }
        let file = File::open(path).map_err(|e| io(e.to_string()))?;
        // SAFETY: the mapping is read through raw pointers only, as memory that others may change;
        // the file's truncation is documented above as the one thing that must not happen.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| io(e.to_string()))?;
        Ok(DiskAllocator { device: DeviceSpec::Disk(path.into()), map })
    }

    /// Size of the file.
    pub fn bytes(&self) -> usize {
        self.map.len()
    }
}

impl Allocator for DiskAllocator {
    fn device(&self) -> &DeviceSpec {
        &self.device
    }

    fn alloc(&self, bytes: usize) -> Result<Block> {
        if bytes > self.map.len() {
            return Err(DeviceError::ViewOutOfRange { offset: 0, bytes, base_bytes: self.map.len() });
        }
        match NonNull::new(self.map.as_ptr().cast_mut()) {
            Some(ptr) if bytes > 0 => Ok(Block { ptr, bytes: self.map.len() }),
            _ => Ok(Block::empty()),
        }
    }

    unsafe fn free(&self, _block: Block) {}

    unsafe fn copy_in(&self, _dst: NonNull<u8>, _src: *const u8, _bytes: usize) -> Result<()> {
        Err(DeviceError::ReadOnly { device: self.device.clone() })
    }

    unsafe fn copy_out(&self, dst: *mut u8, src: NonNull<u8>, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { dst.copy_from_nonoverlapping(src.as_ptr(), bytes) };
        Ok(())
    }

    fn evict(&self, ptr: NonNull<u8>, bytes: usize) {
        let start = (ptr.as_ptr() as usize).wrapping_sub(self.map.as_ptr() as usize);
        #[cfg(unix)]
        if start.checked_add(bytes).is_some_and(|end| end <= self.map.len()) {
            // SAFETY: nobody writes the mapping, so that what leaves memory is read from the file again; the call is a
            // hint, whose failure is harmless.
            let _ = unsafe { self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, bytes) };
        }
    }

    fn host_visible(&self) -> bool {
        true
    }

    fn read_only(&self) -> bool {
        true
    }

    fn stats(&self) -> MemoryStats {
        MemoryStats { live: self.map.len(), cached: 0, peak: self.map.len() }
    }

    fn trim(&self) {}
}
