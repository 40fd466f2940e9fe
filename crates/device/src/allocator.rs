//! Memory of a device, and the CPU's.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::any::Any;
use std::fmt::Debug;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{DeviceError, Result};
use crate::spec::DeviceSpec;

/// A piece of a device's memory, owned by whoever holds it until [`Allocator::free`].
///
/// The pointer means something to the device only, unless [`Allocator::host_visible`].
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// First byte; dangling when `bytes` is 0.
    pub ptr: NonNull<u8>,
    /// Size, at least what was asked for.
    pub bytes: usize,
}

// SAFETY: a block is an address; who may access the memory is up to its owner.
unsafe impl Send for Block {}
// SAFETY: as above; nothing can be reached through a shared reference without `unsafe`.
unsafe impl Sync for Block {}

/// Bytes of a device's memory in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStats {
    /// In blocks that somebody holds.
    pub live: usize,
    /// In freed blocks that are kept for reuse.
    pub cached: usize,
    /// The largest `live` so far.
    pub peak: usize,
}

/// Counts bytes in blocks that somebody holds, for allocators that keep none.
#[derive(Debug, Default)]
pub struct Usage {
    live: AtomicUsize,
    peak: AtomicUsize,
}

impl Usage {
    /// Counts `bytes` more, unless there are more than `limit` then; says whether it did.
    pub fn add(&self, bytes: usize, limit: usize) -> bool {
        let add = |live: usize| live.checked_add(bytes).filter(|sum| *sum <= limit);
        let before = self.live.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        before.map(|before| self.peak.fetch_max(before + bytes, Ordering::Relaxed)).is_ok()
    }

    /// Counts `bytes` less.
    pub fn remove(&self, bytes: usize) {
        self.live.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// What is in use.
    pub fn stats(&self) -> MemoryStats {
        MemoryStats { live: self.live.load(Ordering::Relaxed), cached: 0, peak: self.peak.load(Ordering::Relaxed) }
    }

    /// Makes the most so far what is in use now.
    pub fn reset_peak(&self) {
        self.peak.store(self.live.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Hands out a device's memory and moves bytes between it and the host.
pub trait Allocator: Debug + Send + Sync {
    /// The device whose memory this is.
    fn device(&self) -> &DeviceSpec;

    /// A block of at least `bytes` bytes, whose content is initialized but arbitrary, aligned to
    /// [`Block::ALIGN`]. Fails, and never aborts, when it cannot be had.
    fn alloc(&self, bytes: usize) -> Result<Block>;

    /// Takes back a block.
    ///
    /// # Safety
    /// The block comes from this allocator's `alloc`, and nothing accesses it any more.
    unsafe fn free(&self, block: Block);

    /// Copies `bytes` bytes of host memory to the device.
    ///
    /// # Safety
    /// `src` is readable, `dst..dst + bytes` lies in a live block of this allocator, the two do
    /// not overlap, and nothing else writes the one or accesses the other meanwhile.
    unsafe fn copy_in(&self, dst: NonNull<u8>, src: *const u8, bytes: usize) -> Result<()>;

    /// Copies `bytes` bytes of the device's memory to the host.
    ///
    /// # Safety
    /// As for [`Allocator::copy_in`], with the roles exchanged.
    unsafe fn copy_out(&self, dst: *mut u8, src: NonNull<u8>, bytes: usize) -> Result<()>;

    /// Copies between two ranges of the device's memory, without the host; `None` where the device cannot do that, or not
    /// with these ranges.
    ///
    /// # Safety
    /// Both ranges lie in live blocks of this allocator, and nobody else accesses them meanwhile. They may overlap.
    unsafe fn copy_within(&self, dst: NonNull<u8>, src: NonNull<u8>, bytes: usize) -> Option<Result<()>> {
        let _ = (dst, src, bytes);
        None
    }

    /// Lets memory that something else has too, such as pages of a file, leave the process until it is read again: for
    /// what nobody reads soon. Other memory stays.
    fn evict(&self, ptr: NonNull<u8>, bytes: usize) {
        let _ = (ptr, bytes);
    }

    /// What the device's driver needs of it for copies from its memory to that of another device of the kind.
    fn peer(&self) -> Option<&dyn Any> {
        None
    }

    /// Copies from another device's memory, without the host; `None` where that cannot be done. What is handed to either
    /// device later comes after it.
    ///
    /// # Safety
    /// `dst` lies in a live block of this allocator and `src` in one of the other's, which is `from`; nobody else accesses
    /// them meanwhile.
    unsafe fn copy_across(
        &self,
        dst: NonNull<u8>,
        from: &dyn Allocator,
        src: NonNull<u8>,
        bytes: usize,
    ) -> Option<Result<()>> {
        let _ = (dst, from, src, bytes);
        None
    }

    /// Waits for work that was handed to the device.
    ///
    /// # Errors
    /// What the work failed with.
    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    /// Waits for all work on the device, also what other libraries of the process handed to it.
    ///
    /// # Errors
    /// As [`Allocator::synchronize`].
    fn await_all(&self) -> Result<()> {
        self.synchronize()
    }

    /// The stream that work is handed to, by the number that other libraries of the process know it by; 0 for none.
    fn stream(&self) -> usize {
        0
    }

    /// Has what a stream of another library's gets from now on wait for work that was handed to the device before.
    ///
    /// # Errors
    /// As [`Allocator::synchronize`].
    fn precede(&self, stream: usize) -> Result<()> {
        let _ = stream;
        self.synchronize()
    }

    /// Has work that is handed to the device from now on wait for what a stream of another library's got before.
    ///
    /// # Errors
    /// As [`Allocator::synchronize`].
    fn follow(&self, stream: usize) -> Result<()> {
        let _ = stream;
        self.await_all()
    }

    /// Whether the host can access blocks through their pointers.
    fn host_visible(&self) -> bool;

    /// Whether blocks cannot be written.
    fn read_only(&self) -> bool;

    /// Bytes in use.
    fn stats(&self) -> MemoryStats;

    /// Makes the most that was in use at one time what is in use now, for allocators that know it.
    fn reset_peak(&self) {}

    /// Gives memory that is kept for reuse back to the system.
    fn trim(&self);
}

impl Block {
    /// Alignment of every block that is host visible.
    pub const ALIGN: usize = 64;

    /// The block of no bytes.
    pub fn empty() -> Block {
        Block { ptr: NonNull::<CacheLine>::dangling().cast(), bytes: 0 }
    }
}

#[repr(align(64))]
struct CacheLine;

/// The host's memory, 64-byte aligned and zeroed.
#[derive(Debug)]
pub struct CpuAllocator {
    device: DeviceSpec,
    limit: usize,
    usage: Usage,
}

/// From this size on, blocks are mapped: their pages come zeroed from the system.
const MAPPED: usize = 1 << 20;

impl CpuAllocator {
    /// An allocator that hands out at most the memory that this process may use.
    pub fn new(device: DeviceSpec) -> Self {
        Self::with_limit(device, host_memory())
    }

    /// An allocator that hands out at most `limit` bytes at a time.
    pub fn with_limit(device: DeviceSpec, limit: usize) -> Self {
        CpuAllocator { device, limit, usage: Usage::default() }
    }
}

impl Allocator for CpuAllocator {
    fn device(&self) -> &DeviceSpec {
        &self.device
    }

    fn alloc(&self, bytes: usize) -> Result<Block> {
        if bytes == 0 {
            return Ok(Block::empty());
        }
        let out_of_memory = || DeviceError::OutOfMemory { bytes, device: self.device.clone(), held: String::new() };
        let layout = Layout::from_size_align(bytes, Block::ALIGN).map_err(|_| out_of_memory())?;
        if !self.usage.add(bytes, self.limit) {
            return Err(out_of_memory());
        }
        let ptr = if bytes >= MAPPED {
            map_pages(bytes)
        } else {
            // SAFETY: the layout's size is not 0.
            NonNull::new(unsafe { alloc_zeroed(layout) })
        };
        match ptr {
            Some(ptr) => Ok(Block { ptr, bytes }),
            None => {
                self.usage.remove(bytes);
                Err(out_of_memory())
            }
        }
    }

    unsafe fn free(&self, block: Block) {
        if block.bytes == 0 {
            return;
        }
        if block.bytes >= MAPPED {
            // SAFETY: `alloc` mapped these pages, and the caller has given up the block.
            unsafe { libc::munmap(block.ptr.as_ptr().cast(), block.bytes) };
        } else {
            // SAFETY: `alloc` made this block with the same layout, which was valid there; the
            // caller has given it up.
            unsafe {
                dealloc(block.ptr.as_ptr(), Layout::from_size_align_unchecked(block.bytes, Block::ALIGN));
            }
        }
        self.usage.remove(block.bytes);
    }

    unsafe fn copy_in(&self, dst: NonNull<u8>, src: *const u8, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { dst.as_ptr().copy_from_nonoverlapping(src, bytes) };
        Ok(())
    }

    unsafe fn copy_out(&self, dst: *mut u8, src: NonNull<u8>, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { dst.copy_from_nonoverlapping(src.as_ptr(), bytes) };
        Ok(())
    }

    fn host_visible(&self) -> bool {
        true
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

/// Size of the pages that a mapping is made of where the system has huge ones.
const HUGE_PAGE: usize = 2 << 20;

/// Fresh zeroed pages, in huge ones where the system has them: a fault of a huge page costs a
/// tenth of those of the small pages in its place. Only whole, aligned huge pages are ever huge.
fn map_pages(bytes: usize) -> Option<NonNull<u8>> {
    let spare = if bytes >= HUGE_PAGE { HUGE_PAGE } else { 0 };
    let mapped = bytes.checked_add(spare)?;
    // SAFETY: an anonymous mapping at an address of the system's choice touches no other memory.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            mapped,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANON,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return None;
    }
    let start = start.cast::<u8>();
    let before = if spare == 0 { 0 } else { (start as usize).wrapping_neg() % HUGE_PAGE };
    // The block's last page is given back whole by `free`, and is kept whole here.
    let end = (before + bytes).next_multiple_of(page_size());
    for (at, len) in [(0, before), (end, mapped.saturating_sub(end))] {
        if len > 0 {
            // SAFETY: whole pages of the mapping made just above, outside of the block.
            unsafe { libc::munmap(start.add(at).cast(), len) };
        }
    }
    // SAFETY: `before` is less than what was mapped beyond the block.
    let ptr = unsafe { start.add(before) };
    #[cfg(target_os = "linux")]
    // SAFETY: the pages were mapped just above; the call is a hint, whose failure is harmless.
    unsafe {
        libc::madvise(ptr.cast(), bytes, libc::MADV_HUGEPAGE);
    }
    NonNull::new(ptr)
}

fn page_size() -> usize {
    // SAFETY: `sysconf` only reads its argument.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).map_or(4096, |n| n.max(1))
}

/// Bytes of memory that this process may use: the machine's, or less where a control group says so. Asked once.
pub fn host_memory() -> usize {
    static FOUND: OnceLock<usize> = OnceLock::new();
    *FOUND.get_or_init(find_host_memory)
}

fn find_host_memory() -> usize {
    // SAFETY: `sysconf` only reads its arguments.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let machine = match (usize::try_from(pages), usize::try_from(page)) {
        (Ok(pages), Ok(page)) => pages.saturating_mul(page),
        _ => usize::MAX,
    };
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok()?.trim().parse().ok())
        .fold(machine, usize::min)
}
