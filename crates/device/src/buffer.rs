//! Typed views of memory.

use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use svod_dtype::DType;

use crate::allocator::{Allocator, Block};
use crate::error::{DeviceError, Result};
use crate::spec::DeviceSpec;
use crate::storage::{Pinned, Storage, StorageId};

/// Identity of a [`Buffer`], unique in the process; prints as `b7`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(u64);

impl fmt::Debug for BufferId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}

/// `count` elements of one type in a [`Storage`], which is allocated at first use.
///
/// Views share the storage of their base and cost nothing, whether it is allocated or not. Every
/// view lies inside its storage and is aligned to its element type.
///
/// ```
/// # use std::sync::Arc;
/// # use svod_device::{Allocator, Buffer, CpuAllocator, DeviceSpec};
/// # use svod_dtype::DType;
/// let cpu: Arc<dyn Allocator> = Arc::new(CpuAllocator::new(DeviceSpec::CPU));
/// let base = Buffer::new(&cpu, DType::F32, 4)?;
/// let tail = base.view(8, DType::F32, 2)?;
/// base.copy_in(&[0; 16])?;
/// tail.copy_in(&[1; 8])?;
/// assert_eq!(base.to_vec()?[4..12], [0, 0, 0, 0, 1, 1, 1, 1]);
/// # Ok::<(), svod_device::DeviceError>(())
/// ```
pub struct Buffer {
    id: BufferId,
    storage: Arc<Storage>,
    dtype: DType,
    count: usize,
    offset: usize,
}

impl Buffer {
    /// `count` elements in a storage of their own.
    pub fn new(allocator: &Arc<dyn Allocator>, dtype: DType, count: usize) -> Result<Buffer> {
        let bytes = count.checked_mul(element_bytes(dtype)?).filter(|b| isize::try_from(*b).is_ok());
        let Some(bytes) = bytes else {
            return Err(DeviceError::OutOfMemory {
                bytes: usize::MAX,
                device: allocator.device().clone(),
                held: String::new(),
            });
        };
        Buffer::over(Storage::new(allocator, bytes), 0, dtype, count)
    }

    /// Elements with a content, in a storage of their own.
    pub fn from_bytes(allocator: &Arc<dyn Allocator>, dtype: DType, bytes: &[u8]) -> Result<Buffer> {
        let buffer = Buffer::new(allocator, dtype, bytes.len() / element_bytes(dtype)?)?;
        buffer.copy_in(bytes)?;
        Ok(buffer)
    }

    /// `count` elements at a byte offset of a storage.
    pub fn over(storage: Arc<Storage>, offset: usize, dtype: DType, count: usize) -> Result<Buffer> {
        let base_bytes = storage.bytes();
        check_view(&storage, 0, base_bytes, offset, dtype, count)?;
        Ok(Buffer::unchecked(storage, offset, dtype, count))
    }

    /// `count` elements at a byte offset of this buffer, sharing its memory.
    pub fn view(&self, offset: usize, dtype: DType, count: usize) -> Result<Buffer> {
        check_view(&self.storage, self.offset, self.bytes(), offset, dtype, count)?;
        Ok(Buffer::unchecked(self.storage.clone(), self.offset + offset, dtype, count))
    }

    fn unchecked(storage: Arc<Storage>, offset: usize, dtype: DType, count: usize) -> Buffer {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = BufferId(NEXT.fetch_add(1, Ordering::Relaxed));
        Buffer { id, storage, dtype, count, offset }
    }

    /// Identity of this view.
    pub fn id(&self) -> BufferId {
        self.id
    }

    /// The memory that this is a view of.
    pub fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// Identity of the memory.
    pub fn storage_id(&self) -> StorageId {
        self.storage.id()
    }

    /// The device whose memory this is.
    pub fn device(&self) -> &DeviceSpec {
        self.storage.device()
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Number of elements.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.count * self.dtype.bytes()
    }

    /// Start in the storage, in bytes.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The bytes of the storage that this covers.
    pub fn byte_range(&self) -> Range<usize> {
        self.offset..self.offset + self.bytes()
    }

    /// Whether the two share at least one byte.
    pub fn overlaps(&self, other: &Buffer) -> bool {
        let (a, b) = (self.byte_range(), other.byte_range());
        self.storage_id() == other.storage_id() && a.start.max(b.start) < a.end.min(b.end)
    }

    /// Whether this is less than its whole storage.
    pub fn is_view(&self) -> bool {
        self.bytes() != self.storage.bytes()
    }

    /// Whether there is memory behind it.
    pub fn is_allocated(&self) -> bool {
        self.storage.as_ptr().is_some()
    }

    /// Allocates unless that is done, and gives the first byte, as [`Buffer::as_ptr`] does.
    pub fn allocate(&self) -> Result<NonNull<u8>> {
        // SAFETY: the view lies inside its storage.
        Ok(unsafe { self.storage.allocate()?.add(self.offset) })
    }

    /// The first byte; `None` while not allocated.
    ///
    /// The address is the device's, and the host's where the allocator is host visible. It stays
    /// valid until the storage is released or dropped. Whoever accesses the memory through it
    /// excludes all others, as [`Storage`] says, and does not write where that is read-only.
    pub fn as_ptr(&self) -> Option<NonNull<u8>> {
        // SAFETY: as above.
        self.storage.as_ptr().map(|ptr| unsafe { ptr.add(self.offset) })
    }

    /// Keeps its memory where and as it is while the result is held, as [`Storage::pin`] does.
    pub fn pin(&self) -> Pinned<'_> {
        self.storage.pin()
    }

    /// Sets the content; `src` has the buffer's size.
    pub fn copy_in(&self, src: &[u8]) -> Result<()> {
        self.check_size(src.len())?;
        self.storage.write(self.offset, src)
    }

    /// Writes parts of the content: the function calls the one that it is given with each of them and the byte at
    /// which it begins. Others see all of them or none.
    ///
    /// # Errors
    /// A part that does not lie in the buffer; those before it are written.
    pub fn copy_in_parts(&self, parts: impl FnOnce(&mut dyn FnMut(usize, &[u8]))) -> Result<()> {
        self.storage.write_parts(self.byte_range(), parts)
    }

    /// Reads the content; `dst` has the buffer's size.
    pub fn copy_out(&self, dst: &mut [u8]) -> Result<()> {
        self.check_size(dst.len())?;
        self.storage.read(self.offset, dst)
    }

    /// The content.
    pub fn to_vec(&self) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        content.try_reserve_exact(self.bytes()).map_err(|_| DeviceError::OutOfMemory {
            bytes: self.bytes(),
            device: DeviceSpec::CPU,
            held: String::new(),
        })?;
        content.resize(self.bytes(), 0);
        self.copy_out(&mut content)?;
        Ok(content)
    }

    /// Gives the content to a function: without a copy, where the host sees it.
    pub fn with_bytes<T>(&self, f: impl FnOnce(&[u8]) -> T) -> Result<T> {
        if !self.storage.allocator().host_visible() {
            return Ok(f(&self.to_vec()?));
        }
        self.storage.allocate_readable()?;
        let pin = self.pin();
        let start = pin.as_ptr().ok_or_else(|| self.storage.not_allocated())?;
        // SAFETY: the buffer lies inside its storage, whose memory is initialized host memory; the
        // pin keeps it there and safe writers out, and those who use raw pointers exclude this.
        Ok(f(unsafe { std::slice::from_raw_parts(start.add(self.offset).as_ptr(), self.bytes()) }))
    }

    /// Copies another buffer of the same size in bytes, on whichever device, to this one.
    pub fn copy_from(&self, src: &Buffer) -> Result<()> {
        self.check_size(src.bytes())?;
        self.storage.copy(self.offset, &src.storage, src.offset, self.bytes())
    }

    /// A copy in the memory of another allocator.
    pub fn to_device(&self, allocator: &Arc<dyn Allocator>) -> Result<Buffer> {
        let copy = Buffer::new(allocator, self.dtype, self.count)?;
        copy.copy_from(self)?;
        Ok(copy)
    }

    /// The same memory as a read-only buffer of another device, without a copy: possible where this
    /// one is read-only and the host sees both, such as a file on the CPU.
    pub fn borrow_on(&self, allocator: &Arc<dyn Allocator>) -> Result<Option<Buffer>> {
        let visible = self.storage.allocator().host_visible() && allocator.host_visible();
        if !visible || !self.storage.is_read_only() {
            return Ok(None);
        }
        let ptr = self.allocate()?;
        // SAFETY: the memory is read-only, host memory that both devices see, of this size from there on, and lives as
        // long as its storage, which is never released.
        let storage = unsafe { Storage::part_of(&self.storage, allocator, ptr, self.bytes()) };
        Buffer::over(storage, 0, self.dtype, self.count).map(Some)
    }

    /// Says that nobody reads this soon: pages of a file leave the process's memory until then. Of other buffers nothing.
    pub fn evict(&self) {
        if let Some(start) = self.storage.as_ptr() {
            // SAFETY: the buffer lies inside its storage.
            self.storage.evict(unsafe { start.add(self.offset) }, self.bytes());
        }
    }

    fn check_size(&self, given: usize) -> Result<()> {
        match given == self.bytes() {
            true => Ok(()),
            false => Err(DeviceError::SizeMismatch { expected: self.bytes(), given }),
        }
    }
}

/// Size of an element; an error for the types that no memory holds.
fn element_bytes(dtype: DType) -> Result<usize> {
    match dtype.bytes() {
        0 => Err(DeviceError::NoElements(dtype)),
        bytes => Ok(bytes),
    }
}

/// Checks a view at byte `offset` of a base that covers `base_bytes` bytes from `base_offset` on.
fn check_view(
    storage: &Storage,
    base_offset: usize,
    base_bytes: usize,
    offset: usize,
    dtype: DType,
    count: usize,
) -> Result<()> {
    let element = element_bytes(dtype)?;
    let bytes = count.saturating_mul(element);
    if offset.checked_add(bytes).is_none_or(|end| end > base_bytes) {
        return Err(DeviceError::ViewOutOfRange { offset, bytes, base_bytes });
    }
    debug_assert!(element <= Block::ALIGN);
    match storage.misalignment(base_offset + offset, element) {
        0 => Ok(()),
        _ => Err(DeviceError::Misaligned { offset: base_offset + offset, dtype }),
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { start, end } = self.byte_range();
        write!(f, "{:?}({} x {}, bytes {start}..{end} of {:?})", self.id, self.count, self.dtype, self.storage)
    }
}
