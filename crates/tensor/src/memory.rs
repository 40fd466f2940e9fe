//! Memory behind leaves.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use svod_device::{Allocator, Block, Buffer, CpuAllocator, DeviceSpec};
use svod_dtype::DType;
use svod_ir::graph::{Device, Leaf, LeafClass, LeafData, Shape, UOp};

use crate::error::Result;
use crate::tensor::Tensor;

/// A buffer as the memory of leaves.
#[derive(Debug)]
pub struct Memory {
    buffer: Arc<Buffer>,
    class: LeafClass,
    version: AtomicU64,
}

impl Memory {
    /// Memory of a class, at version 0.
    pub fn new(buffer: Arc<Buffer>, class: LeafClass) -> Arc<Memory> {
        Arc::new(Memory { buffer, class, version: AtomicU64::new(0) })
    }

    /// The buffer.
    pub fn buffer(&self) -> &Arc<Buffer> {
        &self.buffer
    }
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
        Device::new(&self.buffer.device().to_string())
    }

    fn alignment(&self) -> u64 {
        let storage = self.buffer.storage();
        match storage.as_ptr().filter(|_| storage.is_borrowed()) {
            Some(ptr) => 1 << ptr.as_ptr().addr().trailing_zeros().min(Block::ALIGN.trailing_zeros()),
            None => Block::ALIGN as u64,
        }
    }
}

impl Memory {
    /// Elements of this memory as a tensor.
    pub(crate) fn tensor(self: &Arc<Self>, offset: u64, dtype: DType, shape: Shape) -> Result<Tensor> {
        let leaf = Leaf::new(self.clone(), offset, dtype, shape);
        Ok(Tensor::from_uop(UOp::leaf(leaf)?))
    }
}

/// The host's memory.
pub(crate) fn host_allocator() -> &'static Arc<dyn Allocator> {
    static HOST: LazyLock<Arc<dyn Allocator>> = LazyLock::new(|| Arc::new(CpuAllocator::new(DeviceSpec::CPU)));
    &HOST
}
