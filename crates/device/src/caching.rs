//! Reuse of freed memory.

use std::any::Any;
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::allocator::{Allocator, Block, MemoryStats};
use crate::error::Result;
use crate::spec::DeviceSpec;

/// Keeps freed blocks of another allocator for reuse, by size class, the least recently freed ones
/// going first when they exceed a cap. Fresh pages cost more than most kernels that fill them.
#[derive(Debug)]
pub struct CachingAllocator {
    inner: Arc<dyn Allocator>,
    cap: usize,
    cache: Mutex<Cache>,
    peak: AtomicUsize,
}

#[derive(Debug, Default)]
struct Cache {
    bytes: usize,
    /// Time of the last `free`, counted in calls.
    clock: u64,
    /// Every cached block with when it was freed, ascending, by size. A size that was there stays: there are few.
    classes: FxHashMap<usize, VecDeque<(u64, Block)>>,
}

impl CachingAllocator {
    /// A cache of at most `cap` bytes over `inner`.
    pub fn new(inner: Arc<dyn Allocator>, cap: usize) -> Self {
        CachingAllocator { inner, cap, cache: Mutex::default(), peak: AtomicUsize::new(0) }
    }

    fn evict_to(&self, cap: usize) {
        loop {
            // Freed outside the lock, for giving memory back to the system is slow.
            let Some(block) = self.cache.lock().pop_oldest_above(cap) else { return };
            // SAFETY: `inner` made the block, and its holder gave it up in `free`.
            unsafe { self.inner.free(block) };
        }
    }
}

/// Rounds up to a multiple of an eighth of the power of two below, and of 64: at most an eighth is
/// wasted, and sizes that are nearly equal share a class.
fn size_class(bytes: usize) -> Option<usize> {
    let step = (1usize << bytes.max(1).ilog2()) / 8;
    bytes.checked_next_multiple_of(step.max(Block::ALIGN))
}

impl Cache {
    fn take(&mut self, class: usize) -> Option<Block> {
        let (_, block) = self.classes.get_mut(&class)?.pop_back()?;
        self.bytes -= block.bytes;
        Some(block)
    }

    fn put(&mut self, block: Block) {
        self.clock += 1;
        self.bytes += block.bytes;
        self.classes.entry(block.bytes).or_default().push_back((self.clock, block));
    }

    fn pop_oldest_above(&mut self, cap: usize) -> Option<Block> {
        if self.bytes <= cap {
            return None;
        }
        // To give a block back to the system takes longer than to look at all sizes.
        let oldest = self.classes.values_mut().filter(|blocks| !blocks.is_empty());
        let (_, block) = oldest.min_by_key(|blocks| blocks.front().map(|(freed, _)| *freed))?.pop_front()?;
        self.bytes -= block.bytes;
        Some(block)
    }
}

impl Allocator for CachingAllocator {
    fn device(&self) -> &DeviceSpec {
        self.inner.device()
    }

    fn alloc(&self, bytes: usize) -> Result<Block> {
        // A size with no class is beyond any memory: the inner allocator says so.
        let Some(class) = size_class(bytes).filter(|_| bytes > 0) else {
            return self.inner.alloc(bytes);
        };
        let (found, mut cached) = {
            let mut cache = self.cache.lock();
            (cache.take(class), cache.bytes)
        };
        let block = match found {
            Some(block) => block,
            None => self.inner.alloc(class).or_else(|_| {
                self.trim();
                cached = 0;
                // Exactly what was asked for, so that the error names that.
                self.inner.alloc(bytes)
            })?,
        };
        self.peak.fetch_max(self.inner.stats().live.saturating_sub(cached), Ordering::Relaxed);
        Ok(block)
    }

    unsafe fn free(&self, block: Block) {
        if block.bytes == 0 || block.bytes > self.cap {
            // SAFETY: the caller's promise; only the inner allocator makes blocks.
            return unsafe { self.inner.free(block) };
        }
        let cached = {
            let mut cache = self.cache.lock();
            cache.put(block);
            cache.bytes
        };
        if cached > self.cap {
            self.evict_to(self.cap);
        }
    }

    unsafe fn copy_in(&self, dst: NonNull<u8>, src: *const u8, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise; the inner allocator makes all blocks.
        unsafe { self.inner.copy_in(dst, src, bytes) }
    }

    unsafe fn copy_out(&self, dst: *mut u8, src: NonNull<u8>, bytes: usize) -> Result<()> {
        // SAFETY: as above.
        unsafe { self.inner.copy_out(dst, src, bytes) }
    }

    unsafe fn copy_within(&self, dst: NonNull<u8>, src: NonNull<u8>, bytes: usize) -> Option<Result<()>> {
        // SAFETY: as above.
        unsafe { self.inner.copy_within(dst, src, bytes) }
    }

    fn peer(&self) -> Option<&dyn Any> {
        self.inner.peer()
    }

    unsafe fn copy_across(
        &self,
        dst: NonNull<u8>,
        from: &dyn Allocator,
        src: NonNull<u8>,
        bytes: usize,
    ) -> Option<Result<()>> {
        // SAFETY: as above.
        unsafe { self.inner.copy_across(dst, from, src, bytes) }
    }

    fn synchronize(&self) -> Result<()> {
        self.inner.synchronize()
    }

    fn await_all(&self) -> Result<()> {
        self.inner.await_all()
    }

    fn stream(&self) -> usize {
        self.inner.stream()
    }

    fn precede(&self, stream: usize) -> Result<()> {
        self.inner.precede(stream)
    }

    fn follow(&self, stream: usize) -> Result<()> {
        self.inner.follow(stream)
    }

    fn host_visible(&self) -> bool {
        self.inner.host_visible()
    }

    fn read_only(&self) -> bool {
        self.inner.read_only()
    }

    fn stats(&self) -> MemoryStats {
        let cached = self.cache.lock().bytes;
        let live = self.inner.stats().live.saturating_sub(cached);
        MemoryStats { live, cached, peak: self.peak.load(Ordering::Relaxed).max(live) }
    }

    fn reset_peak(&self) {
        self.inner.reset_peak();
        self.peak.store(self.stats().live, Ordering::Relaxed);
    }

    fn trim(&self) {
        self.evict_to(0);
        self.inner.trim();
    }
}

impl Drop for CachingAllocator {
    fn drop(&mut self) {
        self.evict_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::size_class;

    #[test]
    fn classes_waste_at_most_an_eighth() {
        assert_eq!(size_class(1), Some(64));
        assert_eq!(size_class(1000), Some(1024));
        assert_eq!(size_class(1025), Some(1152));
        assert_eq!(size_class(usize::MAX - 5), None);
        for bytes in (512..100_000).step_by(7) {
            let class = size_class(bytes).expect("small");
            assert!(class >= bytes && class - bytes <= bytes / 8);
        }
    }
}
