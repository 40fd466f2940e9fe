//! Memory that buffers are views of.

use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{RwLock, RwLockReadGuard};

use crate::allocator::{Allocator, Block};
use crate::error::{DeviceError, Result};
use crate::spec::DeviceSpec;

/// Identity of a [`Storage`], unique in the process; prints as `s7`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StorageId(u64);

impl StorageId {
    /// The number, which no other storage of the process ever has.
    pub fn as_u64(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for StorageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

/// A contiguous piece of one device's memory, allocated when it is first needed, or borrowed.
///
/// Allocated memory is counted: [`Storage::share`] gives another storage of the same content without a copy, and
/// whichever of the two is written first moves to memory of its own (copy on write). A storage is thus a value: what
/// is written to one is never seen in another, and memory lives as long as the last storage that has it.
///
/// Its lock guards the content as well as the pointer, so that the safe copies of this crate never
/// race with each other. Code that goes through raw pointers, which is every kernel, does not take
/// the lock: whoever runs it keeps the pointers' storages alive and unreleased, and lets nothing
/// else access the same bytes meanwhile, safe copies included. Plans do that, holding an instance
/// exclusively while it runs.
pub struct Storage {
    id: StorageId,
    allocator: Arc<dyn Allocator>,
    bytes: usize,
    read_only: bool,
    /// What a borrowed address lacks to [`Block::ALIGN`]; 0 for memory of our own.
    misalignment: usize,
    /// The storage of another device whose memory this borrows.
    part_of: Option<Arc<Storage>>,
    memory: RwLock<Memory>,
}

enum Memory {
    Unallocated,
    /// Shared with other storages while its count is above one: then nobody writes it.
    Allocated(Arc<Owned>),
    /// The second field only waits for its drop, which gives the memory back to its owner.
    Borrowed(NonNull<u8>, #[allow(dead_code)] Box<dyn Send + Sync>),
}

/// A block, which goes back to its allocator with the last storage that has it.
struct Owned {
    block: Block,
    allocator: Arc<dyn Allocator>,
}

impl Owned {
    fn new(allocator: &Arc<dyn Allocator>, bytes: usize) -> Result<Owned> {
        Ok(Owned { block: allocator.alloc(bytes)?, allocator: allocator.clone() })
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let block = Block { ptr: self.block.ptr, bytes: self.block.bytes };
        // SAFETY: the allocator made the block, and no storage has it any more; users of raw pointers have promised
        // not to outlive the storage by which they found it.
        unsafe { self.allocator.free(block) };
    }
}

// SAFETY: the pointer of `Borrowed` may be used from any thread, which `Storage::borrowed` demands
// of its caller; all else is Send by itself.
unsafe impl Send for Memory {}
// SAFETY: as above; the memory behind the pointer is accessed only by `unsafe` code.
unsafe impl Sync for Memory {}

/// Keeps a storage's memory where and as it is: while this is held, no safe copy writes it and
/// nobody releases it. A thread may hold several.
pub struct Pinned<'a>(RwLockReadGuard<'a, Memory>);

impl Pinned<'_> {
    /// The storage's first byte; `None` while not allocated.
    pub fn as_ptr(&self) -> Option<NonNull<u8>> {
        self.0.ptr()
    }
}

impl Memory {
    fn ptr(&self) -> Option<NonNull<u8>> {
        match self {
            Memory::Unallocated => None,
            Memory::Allocated(owned) => Some(owned.block.ptr),
            Memory::Borrowed(ptr, _) => Some(*ptr),
        }
    }
}

fn next_id() -> StorageId {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    StorageId(NEXT.fetch_add(1, Ordering::Relaxed))
}

impl Storage {
    /// Memory to be allocated when it is first needed.
    pub fn new(allocator: &Arc<dyn Allocator>, bytes: usize) -> Arc<Storage> {
        Arc::new(Storage {
            id: next_id(),
            read_only: allocator.read_only(),
            allocator: allocator.clone(),
            bytes,
            misalignment: 0,
            part_of: None,
            memory: RwLock::new(Memory::Unallocated),
        })
    }

    /// Memory of somebody else, who gets `keep_alive` dropped when it is no longer needed. The
    /// allocator says which device it belongs to, and copies; it neither made nor frees it.
    ///
    /// # Safety
    /// Until `keep_alive` is dropped, `ptr..ptr + bytes` is valid memory of the allocator's device
    /// for reads from any thread, and for writes unless `read_only`; nothing else writes it, or
    /// reads it where this storage is written, without excluding the copies and runs that use it.
    pub unsafe fn borrowed(
        allocator: &Arc<dyn Allocator>,
        ptr: NonNull<u8>,
        bytes: usize,
        read_only: bool,
        keep_alive: Box<dyn Send + Sync>,
    ) -> Arc<Storage> {
        Arc::new(Storage::over(allocator, ptr, bytes, read_only, keep_alive))
    }

    /// Memory of another device's storage, which is read-only.
    ///
    /// # Safety
    /// As of [`Storage::borrowed`], for as long as the storage lives.
    pub(crate) unsafe fn part_of(
        of: &Arc<Storage>,
        allocator: &Arc<dyn Allocator>,
        ptr: NonNull<u8>,
        bytes: usize,
    ) -> Arc<Storage> {
        let part = Storage::over(allocator, ptr, bytes, true, Box::new(()));
        Arc::new(Storage { part_of: Some(of.clone()), ..part })
    }

    fn over(
        allocator: &Arc<dyn Allocator>,
        ptr: NonNull<u8>,
        bytes: usize,
        read_only: bool,
        keep_alive: Box<dyn Send + Sync>,
    ) -> Storage {
        Storage {
            id: next_id(),
            read_only: read_only || allocator.read_only(),
            allocator: allocator.clone(),
            bytes,
            misalignment: ptr.as_ptr() as usize % Block::ALIGN,
            part_of: None,
            memory: RwLock::new(Memory::Borrowed(ptr, keep_alive)),
        }
    }

    /// [`Allocator::evict`] of a part of the memory, by whoever made it.
    pub(crate) fn evict(&self, ptr: NonNull<u8>, bytes: usize) {
        match &self.part_of {
            Some(of) => of.evict(ptr, bytes),
            None => self.allocator.evict(ptr, bytes),
        }
    }

    /// Identity of the memory.
    pub fn id(&self) -> StorageId {
        self.id
    }

    /// Size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The device whose memory this is.
    pub fn device(&self) -> &DeviceSpec {
        self.allocator.device()
    }

    /// The allocator of the memory.
    pub fn allocator(&self) -> &Arc<dyn Allocator> {
        &self.allocator
    }

    /// Whether it cannot be written.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Whether it is memory of somebody else.
    pub fn is_borrowed(&self) -> bool {
        matches!(*self.memory.read(), Memory::Borrowed(..))
    }

    /// The first byte; `None` while not allocated. Valid until [`Storage::release`] or drop.
    pub fn as_ptr(&self) -> Option<NonNull<u8>> {
        self.memory.read().ptr()
    }

    /// Allocates unless that is done, and gives the first byte.
    pub fn allocate(&self) -> Result<NonNull<u8>> {
        if let Some(ptr) = self.as_ptr() {
            return Ok(ptr);
        }
        let mut memory = self.memory.write();
        if let Some(ptr) = memory.ptr() {
            return Ok(ptr);
        }
        let owned = Owned::new(&self.allocator, self.bytes)?;
        let ptr = owned.block.ptr;
        *memory = Memory::Allocated(Arc::new(owned));
        Ok(ptr)
    }

    /// A storage of its own with the present content, which no write to this one changes, nor the other way round:
    /// the memory is one until then. Memory that nobody can write is the storage itself; what is borrowed is copied.
    ///
    /// Who writes through raw pointers excludes this meanwhile, as all safe copies, and calls [`Storage::own`] before.
    ///
    /// # Errors
    /// [`DeviceError::NotAllocated`], and those of a copy.
    pub fn share(self: &Arc<Self>) -> Result<Arc<Storage>> {
        if self.read_only {
            return Ok(self.clone());
        }
        let shared = Storage::new(&self.allocator, self.bytes);
        {
            let memory = self.memory.read();
            match &*memory {
                Memory::Unallocated => return Err(self.not_allocated()),
                Memory::Allocated(owned) => {
                    *shared.memory.write() = Memory::Allocated(owned.clone());
                    return Ok(shared);
                }
                Memory::Borrowed(..) => {}
            }
        }
        shared.copy(0, self, 0, self.bytes)?;
        Ok(shared)
    }

    /// Whether there is memory of its own that no other storage shares: who writes it changes nothing else.
    pub fn is_sole_owner(&self) -> bool {
        matches!(&*self.memory.read_recursive(), Memory::Allocated(owned) if Arc::strong_count(owned) == 1)
    }

    /// Makes the memory this storage's alone, for whoever is about to write it through a raw pointer: what others
    /// share stays theirs, and this one moves to fresh memory, with its content if that is to be kept, and
    /// arbitrary content else. Allocates what is not. Says whether the first byte is another one now.
    ///
    /// # Errors
    /// Those of the allocator.
    pub fn own(&self, keep: bool) -> Result<bool> {
        let mut memory = self.memory.write();
        let old = self.own_locked(&mut memory, keep)?;
        // What is given back to the system takes a while.
        drop(memory);
        Ok(old.is_some())
    }

    /// [`Storage::own`] under the lock, which gives the memory that was left, if any was.
    fn own_locked(&self, memory: &mut Memory, keep: bool) -> Result<Option<Memory>> {
        let from = match memory {
            Memory::Unallocated => None,
            Memory::Borrowed(..) => return Ok(None),
            _ if self.read_only => return Ok(None),
            Memory::Allocated(owned) => match Arc::get_mut(owned) {
                Some(_) => return Ok(None),
                None => Some(owned.block.ptr),
            },
        };
        let fresh = Owned::new(&self.allocator, self.bytes)?;
        if let Some(from) = from.filter(|_| keep) {
            // SAFETY: both blocks are live and of this size, the one is ours alone and the other is not written while
            // it is shared.
            unsafe { transfer(&*self.allocator, fresh.block.ptr, &*self.allocator, from, self.bytes) }?;
        }
        Ok(Some(std::mem::replace(memory, Memory::Allocated(Arc::new(fresh)))))
    }

    /// Exchanges the memory, and so the content, of two storages of one allocator and size, neither of them borrowed.
    ///
    /// # Errors
    /// [`DeviceError::SizeMismatch`].
    pub fn swap(&self, other: &Storage) -> Result<()> {
        if self.bytes != other.bytes {
            return Err(DeviceError::SizeMismatch { expected: self.bytes, given: other.bytes });
        }
        debug_assert!(!self.is_borrowed() && !other.is_borrowed() && self.device() == other.device());
        // In the order of ids, as in `copy`.
        let (first, second) = if self.id < other.id { (self, other) } else { (other, self) };
        if first.id != second.id {
            let mut first = first.memory.write();
            std::mem::swap(&mut *first, &mut *second.memory.write());
        }
        Ok(())
    }

    /// Keeps writers and [`Storage::release`] waiting while the result is held.
    pub fn pin(&self) -> Pinned<'_> {
        // Recursive: a writer that waits must not come between two pins of one thread.
        Pinned(self.memory.read_recursive())
    }

    /// Gives allocated memory up, which goes back to the allocator unless others share it; the next use
    /// allocates again, with arbitrary content. Borrowed and read-only memory stays. Says whether there was any.
    pub fn release(&self) -> bool {
        let mut memory = self.memory.write();
        if self.read_only || !matches!(*memory, Memory::Allocated(_)) {
            return false;
        }
        let old = std::mem::replace(&mut *memory, Memory::Unallocated);
        drop(memory);
        drop(old);
        true
    }

    /// What an element at `offset` lacks to a multiple of `align`, a power of two up to 64.
    pub(crate) fn misalignment(&self, offset: usize, align: usize) -> usize {
        (self.misalignment % align + offset % align) % align
    }

    /// Copies host bytes to `offset`; the range has been checked.
    pub(crate) fn write(&self, offset: usize, src: &[u8]) -> Result<()> {
        self.check_writable()?;
        let mut memory = self.memory.write();
        let _old = self.own_locked(&mut memory, src.len() < self.bytes)?;
        let ptr = memory.ptr().ok_or_else(|| self.not_allocated())?;
        // SAFETY: the range lies in the storage, the lock excludes other safe copies and those who
        // use raw pointers exclude this one, and a Rust slice does not overlap memory that is
        // accessed through raw pointers.
        unsafe { self.allocator.copy_in(ptr.add(offset), src.as_ptr(), src.len()) }
    }

    /// Copies host bytes to places in a range that has been checked, as [`Buffer::copy_in_parts`] says.
    ///
    /// [`Buffer::copy_in_parts`]: crate::Buffer::copy_in_parts
    pub(crate) fn write_parts(
        &self,
        within: Range<usize>,
        parts: impl FnOnce(&mut dyn FnMut(usize, &[u8])),
    ) -> Result<()> {
        self.check_writable()?;
        let mut memory = self.memory.write();
        let _old = self.own_locked(&mut memory, true)?;
        let ptr = memory.ptr().ok_or_else(|| self.not_allocated())?;
        let mut written = Ok(());
        parts(&mut |offset, src| {
            if written.is_err() {
                return;
            }
            let (bytes, base_bytes) = (src.len(), within.len());
            written = match offset.checked_add(bytes).is_some_and(|end| end <= base_bytes) {
                // SAFETY: as in `write`; the part lies in the range, as was just checked.
                true => unsafe { self.allocator.copy_in(ptr.add(within.start + offset), src.as_ptr(), bytes) },
                false => Err(DeviceError::ViewOutOfRange { offset, bytes, base_bytes }),
            };
        });
        written
    }

    /// Copies bytes from `offset` to the host; the range has been checked.
    pub(crate) fn read(&self, offset: usize, dst: &mut [u8]) -> Result<()> {
        self.allocate_readable()?;
        let memory = self.memory.read();
        let ptr = memory.ptr().ok_or_else(|| self.not_allocated())?;
        // SAFETY: as in `write`.
        unsafe { self.allocator.copy_out(dst.as_mut_ptr(), ptr.add(offset), dst.len()) }
    }

    /// Copies `bytes` bytes between two storages, or within one; the ranges have been checked.
    pub(crate) fn copy(&self, offset: usize, src: &Storage, src_offset: usize, bytes: usize) -> Result<()> {
        self.check_writable()?;
        src.allocate_readable()?;
        // Locks are taken in the order of ids, so that two opposite copies cannot wait for each
        // other.
        let (mut dst_memory, src_memory) = if self.id == src.id {
            (self.memory.write(), None)
        } else if self.id < src.id {
            let dst_memory = self.memory.write();
            (dst_memory, Some(src.memory.read()))
        } else {
            let src_memory = src.memory.read();
            (self.memory.write(), Some(src_memory))
        };
        let _old = self.own_locked(&mut dst_memory, bytes < self.bytes || src_memory.is_none())?;
        let to = dst_memory.ptr().ok_or_else(|| self.not_allocated())?;
        let from = match &src_memory {
            Some(memory) => memory.ptr().ok_or_else(|| src.not_allocated())?,
            None => to,
        };
        // SAFETY: the ranges lie in their storages, and both are locked.
        unsafe { transfer(&*self.allocator, to.add(offset), &*src.allocator, from.add(src_offset), bytes) }
    }

    fn check_writable(&self) -> Result<()> {
        match self.read_only {
            true => Err(DeviceError::ReadOnly { device: self.device().clone() }),
            false => Ok(()),
        }
    }

    /// Read-only memory has its content from the start; other memory only after a write.
    pub(crate) fn allocate_readable(&self) -> Result<()> {
        if self.read_only || self.bytes == 0 {
            self.allocate()?;
        }
        Ok(())
    }

    pub(crate) fn not_allocated(&self) -> DeviceError {
        DeviceError::NotAllocated { bytes: self.bytes, device: self.device().clone() }
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match *self.memory.read() {
            Memory::Unallocated => "unallocated",
            Memory::Allocated(_) => "allocated",
            Memory::Borrowed(..) => "borrowed",
        };
        write!(f, "{:?}({} bytes on {}, {state})", self.id, self.bytes, self.device())
    }
}

/// Bytes that a copy between two devices holds on the host at a time.
const STAGING: usize = 4 << 20;

/// Copies between any two devices, through the host where neither sees the other and they are not the same.
///
/// # Safety
/// Both ranges lie in live memory of their allocators, and nothing else accesses them; they may
/// overlap.
unsafe fn transfer(
    to: &dyn Allocator,
    dst: NonNull<u8>,
    from: &dyn Allocator,
    src: NonNull<u8>,
    bytes: usize,
) -> Result<()> {
    // SAFETY: host-visible memory is accessed through its pointer, and `copy` allows overlap; two
    // ranges of which the host sees only one do not overlap; all else is the caller's promise.
    unsafe {
        match (to.host_visible(), from.host_visible()) {
            (true, true) => {
                dst.as_ptr().copy_from(src.as_ptr(), bytes);
                return Ok(());
            }
            (true, false) => return from.copy_out(dst.as_ptr(), src, bytes),
            (false, true) => return to.copy_in(dst, src.as_ptr(), bytes),
            (false, false) if to.device() == from.device() => {
                if let Some(done) = to.copy_within(dst, src, bytes) {
                    return done;
                }
            }
            (false, false) => {
                if let Some(done) = to.copy_across(dst, from, src, bytes) {
                    return done;
                }
            }
        }
    }
    let mut staging = Vec::new();
    let size = bytes.min(STAGING);
    staging.try_reserve_exact(size).map_err(|_| DeviceError::OutOfMemory {
        bytes: size,
        device: DeviceSpec::CPU,
        held: String::new(),
    })?;
    staging.resize(size, 0u8);
    let chunks = bytes.div_ceil(STAGING);
    for i in 0..chunks {
        // Overlapping ranges are copied from the end that is overwritten last.
        let chunk = if dst <= src { i } else { chunks - 1 - i };
        let at = chunk * STAGING;
        let len = (bytes - at).min(STAGING);
        // SAFETY: `at..at + len` lies in both ranges, and `staging` is memory of our own.
        unsafe {
            from.copy_out(staging.as_mut_ptr(), src.add(at), len)?;
            to.copy_in(dst.add(at), staging.as_ptr(), len)?;
        }
    }
    Ok(())
}
