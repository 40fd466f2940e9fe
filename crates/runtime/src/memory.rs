//! Memory of tensors, as the leaves of graphs.

use parking_lot::Mutex;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use svod_device::{Block, Buffer, DeviceSpec};
use svod_dtype::DType;
use svod_ir::graph::{Device, Leaf, LeafClass, LeafData, Shape};
use svod_ir::size::{BoundVariable, Size};

use crate::sources::Sources;

/// The memory behind a leaf: a buffer, what may be assumed of it, and how often it was written.
///
/// Offsets of leaves count from the first byte of the buffer's *storage*.
#[derive(Debug)]
pub struct Memory {
    buffer: Arc<Buffer>,
    class: LeafClass,
    device: Device,
    alignment: u64,
    version: AtomicU64,
    bindings: Mutex<Arc<[BoundVariable]>>,
    shape: Option<Shape>,
    trace: u64,
    extremes: Mutex<Option<Extremes>>,
    sources: Mutex<Sources>,
    is_replaced: AtomicBool,
}

/// The least and the greatest of the integers in a part of memory, as it was at a version.
#[derive(Debug)]
struct Extremes {
    part: (Range<usize>, DType),
    version: u64,
    found: Option<[i128; 2]>,
}

impl Memory {
    /// Memory of this class.
    pub fn new(buffer: Arc<Buffer>, class: LeafClass) -> Self {
        let device = device_named_as(buffer.device());
        // Our own blocks are aligned; memory of somebody else is where it is, from the start.
        let address = if buffer.storage().is_borrowed() { buffer.storage().as_ptr() } else { None };
        let alignment = address.map_or(Block::ALIGN as u64, |ptr| {
            1 << (ptr.as_ptr() as usize).trailing_zeros().min(Block::ALIGN.trailing_zeros())
        });
        Memory {
            buffer,
            class,
            device,
            alignment,
            version: AtomicU64::new(0),
            bindings: Mutex::default(),
            shape: None,
            trace: 0,
            extremes: Mutex::default(),
            sources: Mutex::default(),
            is_replaced: AtomicBool::new(false),
        }
    }

    /// This, with elements that lie in memory as these values of a shape's variables say.
    pub fn with_bindings(self, bindings: &[BoundVariable]) -> Self {
        if !bindings.is_empty() {
            self.set_bindings(bindings.into());
        }
        self
    }

    /// What a read computed this from.
    pub fn sources(&self) -> Sources {
        self.sources.lock().clone()
    }

    /// Notes what a read computed this from; nothing makes it a value of its own.
    pub fn set_sources(&self, sources: Sources) {
        *self.sources.lock() = sources;
    }

    /// Whether a step of training has given the tensor that this was the value of another one.
    pub fn is_replaced(&self) -> bool {
        self.is_replaced.load(Ordering::Relaxed)
    }

    /// Notes that one has.
    pub fn set_replaced(&self) {
        self.is_replaced.store(true, Ordering::Relaxed);
    }

    /// Whether a read computed this from that leaf.
    pub fn is_made_of(&self, leaf: &Leaf) -> bool {
        let Some(memory) = leaf.downcast::<Memory>() else { return false };
        let storage = Arc::as_ptr(memory.buffer.storage());
        self.sources.lock().iter().any(|(of, version)| std::ptr::eq(of.as_ptr(), storage) && *version == leaf.version())
    }

    /// This, as a placeholder of the trace with this number.
    pub fn of_trace(self, trace: u64) -> Self {
        Memory { trace, ..self }
    }

    /// This, with elements of these extents, which variables may give.
    pub fn with_shape(self, shape: Option<&Shape>) -> Self {
        Memory { shape: shape.cloned(), ..self }
    }

    /// The extents as they were computed with, where variables give them.
    pub fn symbolic_shape(&self) -> Option<&Shape> {
        self.shape.as_ref().filter(|s| s.iter().any(|n| n.as_const().is_none()))
    }

    /// The extents of the elements in memory, where variables give them.
    pub fn bound_shape(&self) -> Option<Shape> {
        let shape = self.symbolic_shape()?;
        let bindings = self.bindings.lock().clone();
        shape.iter().map(|n| n.eval_bound(&bindings).ok().map(Size::from)).collect()
    }

    /// Tells at which values the elements lie that are written next.
    pub(crate) fn set_bindings(&self, bindings: Arc<[BoundVariable]>) {
        *self.bindings.lock() = bindings;
    }

    /// The least and the greatest of the integers in a part, which nothing writes at this version: what `find` gives,
    /// which is asked once for the part that was last asked for.
    ///
    /// # Errors
    /// Those of `find`.
    pub fn extremes<E>(
        &self,
        part: &Buffer,
        version: u64,
        find: impl FnOnce() -> Result<Option<[i128; 2]>, E>,
    ) -> Result<Option<[i128; 2]>, E> {
        let part = (part.byte_range(), part.dtype());
        if let Some(known) = &*self.extremes.lock()
            && known.part == part
            && known.version == version
        {
            return Ok(known.found);
        }
        let found = find()?;
        *self.extremes.lock() = Some(Extremes { part, version, found });
        Ok(found)
    }

    /// The buffer.
    pub fn buffer(&self) -> &Arc<Buffer> {
        &self.buffer
    }

    /// Counts a write; leaves made before it stand for the content that is gone.
    pub fn bump_version(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }
}

/// The device of graphs that this is. The CPU's name, which most memory is of, is there once.
fn device_named_as(spec: &DeviceSpec) -> Device {
    static CPU: LazyLock<Device> = LazyLock::new(|| Device::new(&DeviceSpec::CPU.to_string()));
    if *spec == DeviceSpec::CPU { CPU.clone() } else { Device::new(&spec.to_string()) }
}

impl LeafData for Memory {
    fn storage_id(&self) -> u64 {
        self.buffer.storage_id().as_u64()
    }

    fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    fn class(&self) -> LeafClass {
        self.class
    }

    fn device(&self) -> Device {
        self.device.clone()
    }

    fn alignment(&self) -> u64 {
        self.alignment
    }

    fn trace(&self) -> u64 {
        self.trace
    }

    fn bindings(&self) -> Vec<BoundVariable> {
        self.bindings.lock().to_vec()
    }
}
